"""Files: models written and read as data."""

from tunbridge.formats.native import read_model, write_model

__all__ = ["read_model", "write_model"]
