"""Updating a network: rows a second for complete rows, faded ones and rows with holes, and for the drift alarm.

No peer updates the tables of a network as rows arrive, so what is set against it is what one does instead: fitting the
tables to the same rows from the start, by pyAgrum where it is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.agrum import pyagrum
from benchmarks.harness import Grid, Result, Section, best_of, seconds, skipped
from benchmarks.samples import NO_NETWORKS, network_files
from tunbridge.data import Column

ROWS, FEW = 1_000_000, 10_000
_GOAL = 1_000_000


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    truth = tb.read_network(files["alarm"])
    rows = truth.sample(ROWS, random_state=0)
    net = tb.fit_parameters(truth, rows.take(slice(0, 1000)))
    ours = best_of(lambda: net.update(rows), 3)
    peer = _agrum_fit(rows) if pyagrum is not None else None
    found = Result(
        "update by 1 000 000 complete ALARM rows (a Table)", ours, peer, "pyAgrum, a new fit", "≥ 1 000 000 rows/s",
        ours <= ROWS / _GOAL, f"{ROWS / ours / 1e6:.1f} million rows/s",
    )  # fmt: skip
    return [found, Grid(("work", "rows", "time", "rows a second"), tuple(_others(net, rows)))]


def _others(net: tb.BayesianNetwork, rows: tb.Table) -> list[tuple[str, ...]]:
    arrow, few, some = rows.to_arrow(), rows.take(slice(0, FEW)), rows.take(slice(0, 10 * FEW))
    tables = [few.take(slice(i, i + 1)) for i in range(100)]
    records = few.take(slice(0, 100)).to_arrow().to_pylist()
    little, much = (_with_holes(few, share) for share in (0.1, 0.3))
    works = {
        "an Arrow table of dictionaries": (ROWS, lambda: net.update(arrow)),
        "an Arrow stream of 65 536 rows a batch": (ROWS, lambda: net.update(arrow.to_reader(65536))),
        "with fading": (ROWS, lambda: net.update(rows, fading=0.99999)),
        "10 % of the cells missing": (FEW, lambda: net.update(little)),
        "30 % of the cells missing": (FEW, lambda: net.update(much)),
        "one row at a time, each a Table": (100, lambda: _one_by_one(net, tables)),
        "one row at a time, each a record": (100, lambda: _one_by_one(net, records)),
        "the drift alarm": (10 * FEW, lambda: tb.DriftMonitor(net).update(some)),
    }
    timed = {work: (n, best_of(function, 2)) for work, (n, function) in works.items()}
    return [(work, f"{n:,}", seconds(t), f"{n / t:,.0f}") for work, (n, t) in timed.items()]


def _one_by_one(net: tb.BayesianNetwork, rows: Iterable[Any]) -> None:
    for row in rows:
        net = net.update(row)


def _with_holes(table: tb.Table, share: float) -> tb.Table:
    rng = np.random.default_rng(0)
    return tb.Table.of(
        Column(c.variable, np.where(rng.random(table.n_rows) < share, -1, c.values).astype(np.int8), c.type)
        for c in table
    )


def _agrum_fit(rows: tb.Table) -> float:
    frame = rows.to_pandas()
    net = pyagrum.BayesNet()
    for v in rows.variables:
        net.add(pyagrum.LabelizedVariable(v.name, v.name, [str(s) for s in v.states or ()]))
    truth = tb.read_network(network_files()["alarm"])
    for tail, head in truth.dag.arcs:
        net.addArc(tail, head)

    def fit() -> None:
        learner = pyagrum.BNLearner(frame, net)
        learner.useSmoothingPrior(1.0)
        learner.learnParameters(net.dag())

    return best_of(fit, 1)
