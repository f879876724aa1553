"""Files: models written and read as data."""

from tunbridge.formats.native import is_other_file, read_model, write_model

__all__ = ["is_other_file", "read_model", "write_model"]
