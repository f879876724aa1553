"""Dynamic networks: all marginals of a long sequence, filtering of many sequences, and slices too large to be exact.

The peer is pyAgrum on the unrolled umbrella network, as its k-TBN module unrolls it; unrolling is not in its time. From
some thousand slices on the probability of the evidence underflows there, so that a part is measured and multiplied. It
has no batches: filtering of many sequences is a loop over them, measured on some.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

import tunbridge as tb
from benchmarks.agrum import agrum_network, pyagrum
from benchmarks.harness import Result, Section, best_of
from tunbridge.temporal.dynamic import DynamicBayesianNetwork

SLICES, PEER_SLICES, SEQUENCES, LENGTH, SOME = 20_000, 1_000, 10_000, 50, 20


def run() -> Section:
    net = umbrella()
    rows = net.sample(SLICES, random_state=0)
    evidence = [{"Umbrella": state} for state in rows["Umbrella"].tolist()]
    ours = best_of(lambda: net.smooth(evidence), 3)
    peer = None
    if pyagrum is not None:
        one = _agrum(net.unrolled(PEER_SLICES), rows.codes("Umbrella")[:PEER_SLICES], list(range(2 * PEER_SLICES)))
        peer = one * SLICES / PEER_SLICES
    long = Result(
        "umbrella, 20 000 slices, all marginals", ours, peer, "pyAgrum, 1 000 slices × 20", "≥ 20 ×",
        peer is None or peer >= 20 * ours, f"{SLICES / ours / 1e6:.2f} million slices/s",
    )  # fmt: skip
    return [long, _many(net), _dense()]


def umbrella() -> DynamicBayesianNetwork:
    return DynamicBayesianNetwork(
        {"Rain": ["no", "yes"], "Umbrella": ["no", "yes"]}, first={"Rain": [0.5, 0.5]},
        arcs=[("Rain[t-1]", "Rain"), ("Rain", "Umbrella")],
        cpts={"Rain": [[0.7, 0.3], [0.3, 0.7]], "Umbrella": [[0.8, 0.2], [0.1, 0.9]]},
    )  # fmt: skip


def _many(net: DynamicBayesianNetwork) -> Result:
    """Return the time of filtering many sequences; the peer answers the last slice only, of some of them."""
    rows = net.sample(LENGTH, SEQUENCES, random_state=1)
    ours = best_of(lambda: net.filter_proba(rows, "Rain", sequence="sequence", time="time"), 3)
    peer = None
    if pyagrum is not None:
        codes = rows.codes("Umbrella").reshape(SEQUENCES, LENGTH)[:SOME]
        wide = net.unrolled(LENGTH)
        one = sum(_agrum(wide, line, [2 * LENGTH - 2]) for line in codes) / SOME
        peer = one * SEQUENCES
    return Result(
        "filtering, 10 000 sequences of 50 slices", ours, peer, "a pyAgrum loop, last slices only", "≥ 100 ×",
        peer is None or peer >= 100 * ours, f"{SEQUENCES * LENGTH / ours / 1e6:.1f} million slices/s",
    )  # fmt: skip


def _dense() -> Result:
    """Return the time of 20 slices of 26 binary nodes, each with five parents in the slice before."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(26)]
    arcs = [(f"{names[j]}[t-1]", name) for name in names for j in rng.choice(26, 5, replace=False)]
    arcs += list(pairwise(names))
    cpts = {name: rng.dirichlet([1, 1], (2,) * (5 + (name != "x0"))) for name in names}
    first = {name: [0.5, 0.5] if name == "x0" else [[0.5, 0.5], [0.4, 0.6]] for name in names}
    net = DynamicBayesianNetwork({name: [0, 1] for name in names}, first=first, arcs=arcs, cpts=cpts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TunbridgeWarning)
        ours = best_of(lambda: net.filter([{"x3": 1}] * 20, "x0", random_state=0), 1)
        method = net.filter([{"x3": 1}] * 20, "x0", random_state=0).method
    return Result("26 binary nodes, dense interface, 20 slices", ours, None, "", "answered", True, f"method {method}")


def _agrum(wide: tb.BayesianNetwork, codes: np.ndarray, targets: list[int]) -> float:
    """Return the seconds of pyAgrum's lazy propagation for some nodes, by number, given the umbrellas."""
    net = agrum_network(list(wide.cpts.values()))
    evidence = {2 * t + 1: int(code) for t, code in enumerate(codes)}

    def answer() -> None:
        engine = pyagrum.LazyPropagation(net)
        engine.setEvidence(evidence)
        engine.makeInference()
        for node in targets:
            engine.posterior(node)

    return best_of(answer, 2)
