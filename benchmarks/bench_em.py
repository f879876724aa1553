"""EM: ALARM with a fifth of the cells missing beside pyAgrum's, many rows, and hidden variables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ABSENT, pyagrum
from benchmarks.harness import Result, Section, best_of, skipped
from benchmarks.samples import NO_NETWORKS, network_files

TOLERANCE = 1e-4
_LATENT_ROWS, _LATENT_COLUMNS = 10_000, 10


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    net = tb.read_network(files["alarm"])
    return [*_against_peer(net, files["alarm"]), _many_rows(net), _alarm_hidden(net), _latent()]


def with_holes(net: tb.BayesianNetwork, n: int, share: float) -> tb.Table:
    """Return rows of a network with cells missing at random."""
    rows = net.sample(n, random_state=1).to_pandas()
    return tb.as_table(rows.mask(np.random.default_rng(1).random(rows.shape) < share))


def _against_peer(net: tb.BayesianNetwork, file: Path) -> Section:
    """Both to a tolerance of 1e-4 a row, and ours to its usual one, for which the likelihoods are compared."""
    table = with_holes(net, 10_000, 0.2)
    peer = None if pyagrum is None else _agrum(table, file)
    lines: Section = []
    for tolerance in (TOLERANCE, 1e-6):
        settings = tb.EM(tolerance=tolerance)
        seconds, fit = best_of(partial(settings.fit, net, table, 1.0), 5), settings.fit(net, table, 1.0)
        work = f"EM, ALARM 10 000 rows, 20 % missing, Laplace 1, tolerance {tolerance:g} a row"
        remark = f"log-likelihood {fit.log_likelihood:.2f}, {fit.n_iterations} iterations"
        if peer is None:
            lines.append(Result(work, seconds, remark=f"{remark}; {ABSENT}"))
            continue
        theirs = float(peer.network.log_likelihood(table).sum())
        remark += f"; pyAgrum {theirs:.2f}, {peer.n_iterations} iterations ({peer.ended})"
        reached = peer.seconds / seconds >= 20 and fit.log_likelihood >= theirs - tolerance * table.n_rows
        lines.append(Result(work, seconds, peer.seconds, "pyAgrum, 1e-4", "≥ 20 ×", reached, remark))
    return lines


class Peer(NamedTuple):
    """What pyAgrum's EM came to."""

    seconds: float
    network: tb.BayesianNetwork
    n_iterations: int
    ended: str


def _agrum(table: tb.Table, file: Path) -> Peer:
    """Return what pyAgrum's EM comes to."""
    graph = pyagrum.loadBN(str(file))
    with tempfile.TemporaryDirectory() as folder:
        data, learned = Path(folder, "rows.csv"), Path(folder, "learned.bif")
        table.to_pandas().astype(object).fillna("?").to_csv(data, index=False)
        learner = pyagrum.BNLearner(str(data), graph, ["?"])
        learner.useSmoothingPrior(1.0)
        learner.useEMWithDiffCriterion(TOLERANCE * table.n_rows)
        seconds, found = _clocked(lambda: learner.learnParameters(graph.dag()))
        pyagrum.saveBN(found, str(learned))
        return Peer(seconds, tb.read_network(learned), learner.EMnbrIterations(), learner.EMStateMessage())


def _many_rows(net: tb.BayesianNetwork) -> Result:
    table = with_holes(net, 100_000, 0.2)
    seconds = best_of(lambda: tb.EM(tolerance=TOLERANCE).fit(net, table), 3)
    return Result("EM, ALARM 100 000 rows, 20 % missing", seconds, goal="< 20 s", reached=seconds < 20)


def _alarm_hidden(net: tb.BayesianNetwork) -> Result:
    """Three of ALARM's variables are never seen, and a tenth of the other cells."""
    table = with_holes(net, 10_000, 0.1).drop(["LVFAILURE", "HYPOVOLEMIA", "VENTLUNG"])
    settings = tb.EM(tolerance=TOLERANCE)
    seconds, fit = _clocked(lambda: settings.fit(net, table, random_state=0))
    remark = f"10 starts, {fit.n_iterations} iterations of the best"
    return Result("EM, ALARM 10 000 rows, 3 variables never seen, 10 % missing", seconds, remark=remark)


def _latent() -> Result:
    """Ten columns of ten states, no two rows alike, and three hidden variables above them."""
    rng = np.random.default_rng(2)
    names = [f"x{i}" for i in range(_LATENT_COLUMNS)]
    hidden = {"h0": list("abc"), "h1": list("ab"), "h2": list("abcd")}
    variables = hidden | {name: [str(k) for k in range(10)] for name in names}
    arcs = [(f"h{j}", name) for i, name in enumerate(names) for j in sorted({i % 3, (i + 1) % 3})]
    parents = {v: [a for a, b in arcs if b == v] for v in variables}
    tables = {
        v: rng.dirichlet(np.full(len(states), 0.5), [len(variables[p]) for p in parents[v]])
        for v, states in variables.items()
    }
    net = tb.BayesianNetwork(variables, arcs, tables)
    rows = net.sample(3 * _LATENT_ROWS, random_state=0).select(names).to_pandas().drop_duplicates()
    table = tb.as_table(rows.iloc[:_LATENT_ROWS])
    assert table.n_rows == _LATENT_ROWS
    counts = {name: len(states) for name, states in hidden.items()}
    settings = tb.EM(tolerance=TOLERANCE)
    seconds, fit = _clocked(lambda: settings.fit(net.dag, table, hidden=counts, random_state=0))
    remark = f"10 starts, {fit.n_iterations} iterations of the best"
    work = f"EM, 3 hidden variables (3, 2, 4 states), {_LATENT_ROWS} different rows × {_LATENT_COLUMNS}"
    return Result(work, seconds, goal="seconds", reached=seconds < 10, remark=remark)


def _clocked(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that something took, and what it returned."""
    began = perf_counter()
    found = work()
    return perf_counter() - began, found
