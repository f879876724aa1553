"""``tunbridge network convert``: a network from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunbridge._core.check import listed, warn_user
from tunbridge._core.registry import verb
from tunbridge.cli.files import NETWORK_FORMATS, check_output, is_a, load_either, losses, suffix_of
from tunbridge.cli.options import NetworkFile
from tunbridge.cli.output import counted, say
from tunbridge.cli.usage import UsageError, refuse
from tunbridge.errors import DataWarning
from tunbridge.formats import NetworkParts, read_network_parts, write_network_parts

_NAMES = {"net": "Hugin NET", "tb": "Tunbridge"}


@verb("network convert", old="convert", rank=38)
def convert(
    network: NetworkFile,
    output: Path,
    *,
    source: str | None = None,
    target: str | None = None,
    dialect: str | None = None,
    slices: int | None = None,
) -> None:
    """Convert a network to another file format.

    The formats are bif, xmlbif, net (Hugin), dsc, xdsl and dsl (GeNIe), uai and tb (Tunbridge's own, which keeps
    everything). A warning says what the new format cannot hold. A dynamic network becomes one with so many slices.

    Parameters
    ----------
    output : OUTPUT
        The file to write; the end of its name says the format.
    source, --from : NAME
        The format of the network, if the end of its name does not say it.
    target, --to : NAME
        The format to write, if the end of the name does not say it.
    dialect, --dialect : NAME
        agrum if aGrUM wrote the network as uai or xdsl: it orders the parents of a table in the opposite way.
    slices : N >= 1
        Of a dynamic network: how many slices to write, with nodes such as Rain[0] and Rain[1].

    Examples
    --------
    tunbridge network convert alarm.bif alarm.xmlbif
    tunbridge network convert alarm.bif.gz alarm.net
    tunbridge network convert model.txt model.tb --from dsc
    tunbridge network convert grid.uai grid.bif --dialect agrum
    tunbridge network convert rain.tb ten-days.bif --slices 10
    """
    before, after = _format_of("--from", network, source), _format_of("--to", output, target)
    check_output(output, [network])
    parts = _parts(network, before, dialect, slices)
    write_network_parts(output, parts, after)
    if lost := losses(parts, after):
        warn_user(f"{output.name} does not keep {'; '.join(lost)}.", DataWarning)
    arcs = sum(len(cpt.parents) for cpt in parts.cpts)
    sizes = f"{counted(len(parts.cpts), 'variable')}, {counted(arcs, 'arc')}"
    say(f"{network.name}: {sizes} in {output} ({_NAMES.get(after, after.upper())})")


def _parts(path: Path, format: str, dialect: str | None, slices: int | None) -> NetworkParts:
    """Return what a file holds; of a dynamic network some slices."""
    net: Any = load_either(path) if format == "tb" and path.exists() else None
    if not is_a("DynamicBayesianNetwork", net):
        refuse((slices is not None, f"--slices must come with a dynamic network; {path.name} is a static one."))
        return read_network_parts(path, format, dialect=dialect)
    rule = f"a dynamic network must be converted with --slices N, the number of slices; {path.name} is one"
    refuse((slices is None, f"{rule}. Only .tb files hold dynamic networks."))
    wide = net.unrolled(slices)
    return NetworkParts(wide.name, tuple(wide.cpts.values()))


def _format_of(option: str, path: Path, given: str | None) -> str:
    """Return the format of a file, by the option or by the end of its name."""
    known = {suffix[1:]: format for suffix, format in NETWORK_FORMATS.items()}
    if given is None:
        suffix = suffix_of(path)[1:]
        if suffix not in known:
            ends = listed(NETWORK_FORMATS)
            raise UsageError(f"the name {path.name!r} must end in {ends}, or come with {option}, such as {option} bif.")
        return known[suffix]
    name = given.lower().removeprefix(".")
    name = "tb" if name == "native" else name
    if name not in known:
        raise UsageError(f"{option} must be one of {listed(known)}; got {given!r}.")
    return known[name]
