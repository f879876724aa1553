"""EM: ALARM with a fifth of the cells missing beside pyAgrum's, many rows, and hidden variables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ABSENT, pyagrum
from benchmarks.harness import Result, Section, best_of, skipped
from benchmarks.samples import NO_NETWORKS, network_files

TOLERANCE = 1e-4
_PATIENCE = 150.0
"""Seconds after which pyAgrum is asked to stop: its whole run takes a quarter of an hour or more."""

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
    table = with_holes(net, 10_000, 0.2)
    settings = tb.EM(tolerance=TOLERANCE)
    settings.fit(net, table, 1.0)
    ours = best_of(lambda: settings.fit(net, table, 1.0), 5)
    fit = settings.fit(net, table, 1.0)
    work = "EM, ALARM 10 000 rows, 20 % missing, Laplace 1, tolerance 1e-4 a row"
    if pyagrum is None:
        return [Result(work, ours, remark=ABSENT)]
    seconds, learned, n_iterations, settled = _agrum(table, file)
    reached = float(learned.log_likelihood(table).sum())
    remark = f"log-likelihood {fit.log_likelihood:.1f} ({fit.n_iterations} iterations), pyAgrum {reached:.1f} "
    remark += f"({n_iterations} iterations{'' if settled else f', stopped after {_PATIENCE:.0f} s'})"
    reached_goal = seconds / ours >= 20 and fit.log_likelihood >= reached - TOLERANCE * table.n_rows
    return [Result(work, ours, seconds, "pyAgrum", "≥ 20 ×", reached_goal, remark)]


def _agrum(table: tb.Table, file: Path) -> tuple[float, tb.BayesianNetwork, int, bool]:
    """Return the seconds of pyAgrum's EM, its network, its iterations, and whether it ended by its tolerance."""
    graph = pyagrum.loadBN(str(file))
    with tempfile.TemporaryDirectory() as folder:
        data, learned = Path(folder, "rows.csv"), Path(folder, "learned.bif")
        table.to_pandas().astype(object).fillna("?").to_csv(data, index=False)
        learner = pyagrum.BNLearner(str(data), graph, ["?"])
        learner.useSmoothingPrior(1.0)
        learner.useEMWithDiffCriterion(TOLERANCE * table.n_rows)
        learner.EMsetMaxTime(1000.0 * _PATIENCE)
        seconds, found = _clocked(lambda: learner.learnParameters(graph.dag()))
        pyagrum.saveBN(found, str(learned))
        return seconds, tb.read_network(learned), learner.EMnbrIterations(), seconds < _PATIENCE


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
