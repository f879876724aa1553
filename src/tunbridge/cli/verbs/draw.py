"""``tunbridge network draw``: a picture of a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_output, load_network
from tunbridge.cli.networks import Findings, check_targets
from tunbridge.cli.options import NetworkFile, NetworkFormat
from tunbridge.cli.output import note
from tunbridge.plots.networks import SUFFIXES


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
    overview without labels.

    Examples
    --------
    tunbridge network draw alarm.bif
    tunbridge network draw alarm.bif -o alarm.png --given HR=HIGH --target HYPOVOLEMIA
    tunbridge network draw learned.tb -o learned.html --strengths
    tunbridge network draw learned.tb --against alarm.bif -o differences.svg
    """
    path = look.output or Path(network.name.removesuffix(".gz")).with_suffix(".svg")
    check_output(path, [network], SUFFIXES)
    whole = load_network(network, format)
    if look.target is not None:
        check_targets(whole, [look.target], network)
    net, evidence = findings.applied(whole)
    picture = tb.draw(
        net,
        evidence=evidence,
        monitors=True if look.monitors or findings.do else None,
        strengths="information" if look.strengths else None,
        against=None if look.against is None else load_network(look.against, None),
        target=look.target,
    )
    picture.save(path)
    note(f"The picture is in {path}.")
