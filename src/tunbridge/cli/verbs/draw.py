"""``tunbridge network draw``: a picture of a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_output, is_a, load_either
from tunbridge.cli.networks import Findings, check_targets
from tunbridge.cli.options import NetworkFile, NetworkFormat
from tunbridge.cli.output import note
from tunbridge.cli.usage import given_for, refuse
from tunbridge.errors import DataError
from tunbridge.plots.networks import SUFFIXES

if TYPE_CHECKING:
    from tunbridge.network import BayesianNetwork


@dataclass(frozen=True)
class Look:
    """Options.

    Parameters
    ----------
    output, -o : FILE
        The .svg, .html, .dot, .png or .pdf file (default: the network's name with .svg).
    monitors
        Show the probabilities of the states in every node (default: with --given or --do).
    strengths
        Draw arcs as wide as the mutual information of their ends.
    against : FILE
        Another network on the same variables: its missing and reversed arcs are marked.
    target, -t : NAME
        A node to emphasise.
    """

    output: Path | None = None
    monitors: bool = False
    strengths: bool = False
    against: Path | None = None
    target: str | None = None


@verb("network draw", rank=33)
def draw(network: NetworkFile, *, look: Look, findings: Findings, format: NetworkFormat = None) -> None:
    """Draw a network, with marginals and evidence.

    Parents are above their children, and arcs cross as little as can be. A picture of more than a hundred nodes is an
    overview without labels. Of a dynamic network a slice is drawn, below the nodes of earlier slices.

    Examples
    --------
    tunbridge network draw alarm.bif
    tunbridge network draw alarm.bif -o alarm.png --given HR=HIGH --target HYPOVOLEMIA
    tunbridge network draw learned.tb -o learned.html --strengths
    tunbridge network draw learned.tb --against alarm.bif -o differences.svg
    """
    path = look.output or Path(network.name.removesuffix(".gz")).with_suffix(".svg")
    check_output(path, [network], SUFFIXES)
    whole = load_either(network, format)
    if is_a("DynamicBayesianNetwork", whole):
        _draw_dynamic(network, whole, look, findings).save(path)
        note(f"The picture is in {path}.")
        return
    if look.target is not None:
        check_targets(whole, [look.target], network)
    net, evidence = findings.applied(whole)
    picture = tb.draw(
        net,
        evidence=evidence,
        monitors=True if look.monitors or findings.do else None,
        strengths="information" if look.strengths else None,
        against=None if look.against is None else _static(look.against),
        target=look.target,
    )
    picture.save(path)
    note(f"The picture is in {path}.")


def _static(path: Path) -> BayesianNetwork:
    """Return the network to compare with; raise for a dynamic one."""
    found: BayesianNetwork = load_either(path)
    if is_a("DynamicBayesianNetwork", found):
        raise DataError(f"--against must name a static network, too; {path.name} is a dynamic one.")
    return found


def _draw_dynamic(path: Path, net: Any, look: Look, findings: Findings) -> tb.plots.Drawing:
    """Return the picture of a dynamic network; raise for options that need one table for each node."""
    given = given_for("evidence", "do", "monitors", "strengths")
    rule = f"{' and '.join(given)} must come with a static network; {path.name} is a dynamic one"
    refuse((bool(given), f"{rule}. tunbridge network convert --slices N makes a static one."))
    if look.target is not None:
        check_targets(net, [look.target], path)
    against = None if look.against is None else load_either(look.against)
    if against is not None and not is_a("DynamicBayesianNetwork", against):
        raise DataError(f"--against must name a dynamic network, too; {look.against.name} is a static one.")  # type: ignore[union-attr]
    return tb.draw(net, target=look.target, against=against)
