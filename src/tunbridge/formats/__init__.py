"""Files: models and networks written and read as data."""

from tunbridge.formats._assembly import NetworkParts
from tunbridge.formats.native import is_other_file, read_model, write_model
from tunbridge.formats.network_files import network_suffixes, read_network_parts, write_network_parts
from tunbridge.formats.uai import read_uai_evidence, write_uai_evidence

__all__ = [
    "NetworkParts",
    "is_other_file",
    "network_suffixes",
    "read_model",
    "read_network_parts",
    "read_uai_evidence",
    "write_model",
    "write_network_parts",
    "write_uai_evidence",
]
