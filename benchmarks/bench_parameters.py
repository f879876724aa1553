"""Tables of a given graph from data: relative frequencies of PIGS beside pyAgrum's."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ABSENT, agrum_network, pyagrum
from benchmarks.harness import Result, Section, interleaved, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

NETWORK, N_ROWS = "pigs", 20_000
GOAL = 10


def run() -> Section:
    files = network_files()
    if NETWORK not in files:
        return skipped(NO_NETWORKS)
    if pyagrum is None:
        return skipped(ABSENT)
    net = tb.read_network(files[NETWORK])
    table = net.sample(N_ROWS, random_state=1)
    size = f"{NETWORK.upper()} {N_ROWS:,} × {table.n_columns}".replace(",", " ")
    return [*complete(net, table, size)]


def complete(net: tb.BayesianNetwork, table: tb.Table, size: str) -> Section:
    """Return the lines on complete data: the estimation by itself, and from a frame to the network."""
    graph = agrum_network([net.cpt(name) for name in table.names])
    frame = numbered(table)
    learner = agrum_learner(graph, frame)
    first = timed(lambda: tb.fit_parameters(net.dag, table, "mle"))
    ours, peer = interleaved(
        lambda: tb.fit_parameters(net.dag, table, "mle"), lambda: learner.learnParameters(graph.dag()), 15
    )
    check(tb.fit_parameters(net.dag, table, "mle"), learner.learnParameters(graph.dag()), table)
    text = table.to_pandas()
    whole = timed(lambda: tb.fit_parameters(net.dag, text, "mle"))
    peer_whole = timed(lambda: agrum_learner(graph, frame).learnParameters(graph.dag()))
    alone = one_thread(net, table, size, learner, graph)
    reached = peer >= GOAL * ours and alone.peer is not None and alone.peer >= GOAL * alone.ours
    remark = f"data in memory on both sides; first call {first:.2f} s; reached only if the next line reaches it too"
    return [
        Result(f"relative frequencies, {size}", ours, peer, "pyAgrum", f"≥ {GOAL} ×", reached, remark),
        alone,
        Result(f"the same from a pandas frame, {size}", whole, peer_whole, "pyAgrum", remark="reading included"),
        *(Result(f"{name}, {size}", fit_time(net, table, prior)) for name, prior in PRIORS.items()),
    ]


def one_thread(net: tb.BayesianNetwork, table: tb.Table, size: str, learner: Any, graph: Any) -> Result:
    """Return the processor time of one thread on either side.

    Where the cores are busy with other work, pyAgrum's threads wait for each other many times longer than they
    compute, and the ratio of the clock would flatter us; this one it hardly touches.
    """
    learner.setNumberOfThreads(1)
    ours = min(processor_time(lambda: tb.fit_parameters(net.dag, table, "mle", n_jobs=1)) for _ in range(15))
    peer = min(processor_time(lambda: learner.learnParameters(graph.dag())) for _ in range(8))
    return Result(f"the same, one thread, {size}", ours, peer, "pyAgrum", remark="processor time")


def processor_time(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


PRIORS: dict[str, Any] = {"BDeu, ess 10": tb.BDeu(ess=10), "back-off": tb.BackOff()}


def fit_time(net: tb.BayesianNetwork, table: tb.Table, prior: Any) -> float:
    fit: Callable[[], object] = lambda: tb.fit_parameters(net.dag, table, prior)  # noqa: E731
    fit()
    return min(timed(fit) for _ in range(5))


def numbered(table: tb.Table) -> Any:
    """Return a frame with the names of variables and states that :func:`agrum_network` gives them."""
    import pandas as pd

    return pd.DataFrame({f"v{i}": [f"s{k}" for k in table.codes(name)] for i, name in enumerate(table.names)})


def agrum_learner(graph: Any, frame: Any) -> Any:
    learner = pyagrum.BNLearner(frame, graph)
    learner.useNoPrior()
    return learner


def check(ours: tb.BayesianNetwork, peer: Any, table: tb.Table) -> None:
    """Raise unless both sides found the same numbers in every configuration that occurs."""
    position, counter = {name: i for i, name in enumerate(table.names)}, tb.Counter(table)
    for i, name in enumerate(table.names):
        cpt = ours.cpt(name)
        theirs = peer.cpt(i)
        axes = list(reversed(theirs.names))  # the last name is the first axis
        order = [axes.index(f"v{position[v.name]}") for v in (*cpt.parents, cpt.variable)]
        found = np.transpose(theirs.toarray(), order)
        occurs = counter.family(name, [p.name for p in cpt.parents]).array.any(axis=-1)
        if not np.allclose(cpt.table()[occurs], found[occurs], rtol=0, atol=1e-9):
            raise AssertionError(f"{name}: the tables of both sides differ")
