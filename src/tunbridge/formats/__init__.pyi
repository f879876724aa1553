from tunbridge.formats._assembly import NetworkParts as NetworkParts
from tunbridge.formats.native import (
    is_other_file as is_other_file,
    read_model as read_model,
    save_model as save_model,
    write_model as write_model,
)
from tunbridge.formats.network_files import (
    network_suffixes as network_suffixes,
    read_network_parts as read_network_parts,
    write_network_parts as write_network_parts,
)
from tunbridge.formats.uai import read_uai_evidence as read_uai_evidence, write_uai_evidence as write_uai_evidence
