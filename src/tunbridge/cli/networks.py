"""Network files, in: the same for every verb that takes one."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.network import BayesianNetwork

NetworkFile = Annotated[
    Path,
    typer.Argument(
        metavar="NETWORK", help="The network: .bif, .xmlbif, .xml, .net, .dsc, .uai, also with .gz, or .tb."
    ),
]
NetworkFormat = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="bif, …, where the file's name does not say.")
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=STATE",
        help="A finding: A=x, one of several A=x|y, or likelihoods A=x:0.8,y:0.2; repeatable.",
    ),
]
Do = Annotated[
    list[str] | None,
    typer.Option("--do", metavar="NAME=STATE", help="Set a variable from outside, whatever its parents; repeatable."),
]


def load_network(path: Path, format: str | None = None, *, do: list[str] | None = None) -> BayesianNetwork:
    """Return the network in a file, after the interventions that ``--do`` describes."""
    from tunbridge.cli.findings import read_settings
    from tunbridge.network import read_network

    if not path.exists():
        raise DataError(f"the network must be a file that exists; got {str(path)!r}.{near_file(path)}")
    if format is None and _is_table_name(path):
        hint = "For tables there are tunbridge learn, evaluate, predict and describe."
        raise DataError(f"the network must be a network file; {path.name!r} looks like a table. {hint}")
    net = read_network(path, format)
    return net.do(read_settings(net, do)) if do else net


def is_network_name(path: Path) -> bool:
    """Return whether a file's name is one that only networks have; a ``.tb`` file may hold any model.

    Examples
    --------
    >>> is_network_name(Path("asia.BIF.gz")), is_network_name(Path("asia.tb")), is_network_name(Path("asia.csv"))
    (True, False, False)
    """
    from tunbridge.formats.network_files import SUFFIXES

    return Path(path.name.lower().removesuffix(".gz")).suffix in set(SUFFIXES) - {".tb"}


def _is_table_name(path: Path) -> bool:
    from tunbridge.data.source import SUFFIXES

    return Path(path.name.lower().removesuffix(".gz")).suffix in SUFFIXES


def near_file(path: Path) -> str:
    """Return a hint for a file that is not there: one of nearly that name, or that there is no such folder."""
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        return f" There is no folder {str(path.parent)!r}."
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f" Did you mean {str(path.with_name(near[0]))!r}?" if near else ""
