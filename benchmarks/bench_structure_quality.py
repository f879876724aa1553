"""How good the learned graphs are: distance to the truth and BIC, the mean of three samples, beside bnlearn's figures.

bnlearn 4.9's figures were recorded on samples of its own from the same networks; a score a row is therefore compared by
what it lies above or below the true graph's on the same sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Section, seconds, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

SEARCHES = ("hill-climbing", "tabu", "ges", "orders")
SEEDS = (1, 2, 3)


class Recorded(NamedTuple):
    """bnlearn's distances, and BIC a row less that of the true graph, of hill-climbing and tabu."""

    network: str
    n_rows: int
    shd: tuple[float, float]
    bic: tuple[float, float] | None


RECORDED = [
    Recorded("asia", 5_000, (7.7, 4.3), (-2.2402 + 2.2374, -2.2389 + 2.2374)),
    Recorded("alarm", 10_000, (30.3, 27.0), (-10.713 + 10.648, -10.698 + 10.648)),
    Recorded("alarm", 100_000, (34.7, 18.7), (-10.482 + 10.455, -10.473 + 10.455)),
    Recorded("insurance", 10_000, (21.7, 26.7), (-13.382 + 13.473, -13.358 + 13.473)),
    Recorded("insurance", 100_000, (18.0, 15.0), (-13.120 + 13.119, -13.119 + 13.119)),
    Recorded("andes", 10_000, (128.7, 106.3), None),
]


class Found(NamedTuple):
    """Distance, BIC a row less that of the true graph, and seconds, the means over samples."""

    shd: float
    bic: float
    seconds: float


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    rows = []
    for recorded in RECORDED:
        net = tb.read_network(files[recorded.network])
        name = f"{recorded.network} {recorded.n_rows}"
        peers = [
            f"{d:.1f} ({'–' if recorded.bic is None else format(recorded.bic[i], '+.4f')})"
            for i, d in enumerate(recorded.shd)
        ]
        ours = [_mean(net, recorded.n_rows, search) for search in SEARCHES]
        rows.append((name, *peers, *(f"{f.shd:.1f} ({f.bic:+.4f}), {seconds(f.seconds)}" for f in ours)))
    columns = (
        "set",
        "bnlearn hc: SHD (BIC − true)",
        "bnlearn tabu",
        *(f"{search}: SHD (BIC − true), time" for search in SEARCHES),
    )
    return [Grid(columns, tuple(rows))]


def _mean(net: tb.BayesianNetwork, n_rows: int, search: str) -> Found:
    found = []
    for seed in SEEDS:
        table, learned = net.sample(n_rows, random_state=seed), []
        taken = timed(lambda table=table, learned=learned: learned.append(_learn(table, search)))
        true = tb.score_structure(net.dag, table)
        found.append((tb.shd(learned[0], net.dag), (learned[0].score - true) / n_rows, taken))
    return Found(*np.mean(found, axis=0).tolist())


def _learn(table: tb.Table, search: str) -> tb.LearnedDAG:
    return tb.learn_structure(table, search=search, random_state=0, progress=False)
