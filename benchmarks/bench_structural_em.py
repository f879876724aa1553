"""How good the graphs are where cells are missing: structural EM beside dropping rows and the node average.

Cells are missing completely at random. Distances are between the classes of the graphs and the true network's, the mean
of three samples; the graph from the same rows without holes is the best that could be hoped for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Section, seconds, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

SEEDS = (1, 2, 3)
SEARCH = "tabu"
CASES = [
    ("asia", 5_000, 0.1),
    ("asia", 5_000, 0.2),
    ("alarm", 5_000, 0.1),
    ("alarm", 5_000, 0.2),
    ("alarm", 10_000, 0.1),
]


class Found(NamedTuple):
    """Distance and seconds, the means over samples; None where no rows were left."""

    shd: float | None
    seconds: float

    def text(self) -> str:
        return "no rows left" if self.shd is None else f"{self.shd:.1f} ({seconds(self.seconds)})"


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    ways: dict[str, Callable[[tb.Table, tb.Table], tb.DAG | None]] = {
        "no holes, bic": lambda whole, holes: tb.learn_structure(whole, "bic", SEARCH),
        "complete rows, bic": lambda whole, holes: _of_complete_rows(holes),
        "node average, nal": lambda whole, holes: tb.learn_structure(holes, "nal", SEARCH),
        "structural EM, bic": lambda whole, holes: tb.StructuralEM(SEARCH).fit(holes, random_state=0).network.dag,
        "structural EM, bdeu": lambda w, holes: tb.StructuralEM(SEARCH, "bdeu").fit(holes, random_state=0).network.dag,
    }
    rows = []
    for name, n_rows, share in CASES:
        net = tb.read_network(files[name])
        found = [_mean(net, n_rows, share, way) for way in ways.values()]
        rows.append((f"{name} {n_rows}, {share:.0%} missing", *(f.text() for f in found)))
    return [Grid((f"SHD ({SEARCH}; seconds)", *ways), tuple(rows))]


def _mean(
    net: tb.BayesianNetwork, n_rows: int, share: float, way: Callable[[tb.Table, tb.Table], tb.DAG | None]
) -> Found:
    found, taken = [], []
    for seed in SEEDS:
        whole = net.sample(n_rows, random_state=seed)
        holes = _with_holes(whole, share, seed)
        graphs: list[tb.DAG | None] = []
        taken.append(timed(lambda w=whole, h=holes, g=graphs: g.append(way(w, h))))
        found.append(None if graphs[0] is None else tb.shd(graphs[0], net.dag))
    distances = [d for d in found if d is not None]
    return Found(float(np.mean(distances)) if len(distances) == len(SEEDS) else None, float(np.mean(taken)))


def _with_holes(table: tb.Table, share: float, seed: int) -> tb.Table:
    rng = np.random.default_rng(seed)
    columns = []
    for column in table:
        gone = rng.random(table.n_rows) < share
        columns.append(column._replace(values=np.where(gone, -1, column.values).astype(column.values.dtype)))
    return tb.Table.of(columns)


def _of_complete_rows(table: tb.Table) -> tb.DAG | None:
    whole = table.take(np.logical_and.reduce([codes >= 0 for codes in table.columns]))
    return tb.learn_structure(whole, "bic", SEARCH) if whole.n_rows else None
