"""``tunbridge convert``: a network from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import NetworkFile
from tunbridge.cli.output import counted, say

if TYPE_CHECKING:
    from tunbridge.formats import NetworkParts

_KEEPS_SPARSE = ("bif", "tb")


def convert(
    network: NetworkFile,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The file to write; the end of its name says the format.")
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="The format of the network, where its name does not say."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="The format to write, where the name does not say.")
    ] = None,
) -> None:
    """Convert a network to another file format.

    The formats are bif, xmlbif, net (Hugin), dsc, uai and tb (Tunbridge's own, which keeps everything). What the new
    format cannot hold is told.

    Examples
    --------
    tunbridge convert alarm.bif alarm.xmlbif
    tunbridge convert alarm.bif.gz alarm.net
    tunbridge convert model.txt model.tb --from dsc
    """
    from tunbridge._check import warn_user
    from tunbridge.cli.writers import check_not_input
    from tunbridge.errors import DataWarning
    from tunbridge.formats import read_network_parts, write_network_parts

    before, after = _format_of("--from", network, source), _format_of("--to", output, target)
    check_not_input(output, [network])
    parts = read_network_parts(network, before)
    write_network_parts(output, parts, after)
    if lost := losses(parts, after):
        warn_user(f"{output.name} does not keep {'; '.join(lost)}.", DataWarning)
    arcs = sum(len(cpt.parents) for cpt in parts.cpts)
    sizes = f"{counted(len(parts.cpts), 'variable')}, {counted(arcs, 'arc')}"
    say(f"{network.name}: {sizes} in {output} ({_NAMES[after]})")


_NAMES = {"bif": "BIF", "xmlbif": "XMLBIF", "net": "Hugin NET", "dsc": "DSC", "uai": "UAI", "tb": "Tunbridge"}


def _format_of(option: str, path: Path, given: str | None) -> str:
    """Return the format of a file, by the option or by the end of its name."""
    from tunbridge.formats.network_files import SUFFIXES

    known: dict[str, str] = {suffix[1:]: format for suffix, format in SUFFIXES.items()}
    if given is None:
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix[1:]
        if suffix not in known:
            raise UsageError(
                f"the name {path.name!r} must end in {listed(SUFFIXES)}, or come with {option}, such as {option} bif."
            )
        return known[suffix]
    name = given.lower().removeprefix(".")
    name = "tb" if name == "native" else name
    if name not in known:
        raise UsageError(f"{option} must be one of {listed(known)}; got {given!r}.")
    return known[name]


def losses(parts: NetworkParts, format: str) -> list[str]:
    """Return, in words, what a format does not keep of a network."""
    if format == "tb":
        return []
    lost = ["the names of variables and states, which become numbers"] if format == "uai" else []
    if format == "uai" and parts.properties:
        lost.append("the properties")
    if format == "uai" and (cut := [v.name for v in parts.variables if v.cuts is not None]):
        lost.append(f"the cut points of {listed(cut)}")
    if n := sum(cpt.counts is not None for cpt in parts.cpts):
        lost.append(f"the counts behind {counted(n, 'table')}")
    odd = {type(state).__name__ for v in parts.variables for state in v.states or () if not isinstance(state, str)}
    if odd and format != "uai":
        lost.append(f"the type of states ({', '.join(sorted(odd))}), which become text")
    return lost + _lost_tables(parts, format)


def _lost_tables(parts: NetworkParts, format: str) -> list[str]:
    from tunbridge.probability import NoisyMaxCPT, SparseCPT

    def number(kind: Any) -> int:
        return sum(isinstance(cpt, kind) for cpt in parts.cpts)

    lost = []
    if n := number(NoisyMaxCPT):
        lost.append(f"the form of {counted(n, 'noisy-MAX table')}, written out in full")
    if (n := number(SparseCPT)) and format not in _KEEPS_SPARSE:
        lost.append(f"the form of {counted(n, 'sparse table')}, written out in full")
    return lost
