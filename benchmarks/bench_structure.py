"""Structure learning by BIC: hill-climbing and tabu beside pyAgrum's, and bnlearn's recorded times.

bnlearn (R) is not run here: its times come from one run on another machine, on which pyAgrum was timed too; they are
scaled by what pyAgrum takes here against what it took there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ABSENT, pyagrum
from benchmarks.harness import Grid, Section, best_of, ratio, seconds, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

BNLEARN = "bnlearn 4.9 (recorded, scaled)"
_PATIENCE = 30.0
"""Seconds of its climb up to which pyAgrum's tabu search is run too."""


class Case(NamedTuple):
    """A set, and the recorded seconds of plain hill-climbing of bnlearn 4.9 and pyAgrum 3.3 on the other machine."""

    network: str
    n_rows: int
    bnlearn: float
    agrum: float
    is_wide: bool


CASES = [
    Case("alarm", 10_000, 0.40, 0.09, False),
    Case("alarm", 100_000, 3.5, 2.3, True),
    Case("insurance", 100_000, 2.1, 0.8, True),
    Case("hailfinder", 100_000, 6.8, 5.2, True),
    Case("hepar2", 100_000, 11.8, 20.2, True),
    Case("win95pts", 100_000, 18.2, 21.7, True),
    Case("andes", 20_000, 35.2, 26.4, True),
    Case("pigs", 20_000, 106.8, 120.6, True),
]


class Measured(NamedTuple):
    """Seconds and score a row of one search."""

    seconds: float
    score: float


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    if pyagrum is None:
        return skipped(ABSENT)
    rows, speeds, wide, tabu_better, tabu_faster = [], [], [], [], []
    for case in CASES:
        table = tb.read_network(files[case.network]).sample(case.n_rows, random_state=1)
        climbed = _ours(table, "hill-climbing")
        tabu = _ours(table, "tabu")
        agrum = _agrum(table, lambda learner: learner.useGreedyHillClimbing())
        agrum_tabu = None
        if agrum.seconds < _PATIENCE:
            agrum_tabu = _agrum(table, lambda learner: learner.useLocalSearchWithTabuList())
        scaled = case.bnlearn * agrum.seconds / case.agrum
        peer, best = min(agrum.seconds, scaled), max(m.score for m in (agrum, agrum_tabu) if m is not None)
        speeds.append(peer / climbed.seconds)
        wide += [speeds[-1]] if case.is_wide else []
        tabu_better.append(tabu.score >= best - 1e-9 * abs(best))
        tabu_faster.append(tabu.seconds < peer)
        rows.append(
            (
                f"{case.network} {case.n_rows}",
                *(seconds(t) for t in (climbed.seconds, agrum.seconds, scaled)),
                ratio(speeds[-1]),
                *(f"{score:.5f}" for score in (climbed.score, agrum.score)),
                seconds(tabu.seconds),
                f"{tabu.score:.5f}",
                "–" if agrum_tabu is None else f"{agrum_tabu.score:.5f}",
            )
        )
    mean, least = float(np.exp(np.mean(np.log(speeds)))), min(wide)
    goals = (
        ("hill-climbing, least from ALARM 100 000 on", "≥ 20 ×", f"{least:.1f} ×", _word(least >= 20)),
        ("hill-climbing, geometric mean of all", "≥ 40 ×", f"{mean:.1f} ×", _word(mean >= 40)),
        ("tabu, BIC at least the best peer's", "all", f"{sum(tabu_better)} of 8", _word(all(tabu_better))),
        ("tabu, faster than the fastest peer's climb", "all", f"{sum(tabu_faster)} of 8", _word(all(tabu_faster))),
    )
    columns = (
        "set", "climb", "pyAgrum", BNLEARN, "ratio to the faster", "BIC a row", "pyAgrum's", "tabu", "its BIC a row",
        "pyAgrum's tabu",
    )  # fmt: skip
    return [Grid(("goal", "wanted", "found", "reached"), goals), Grid(columns, tuple(rows))]


def _word(reached: bool) -> str:
    return "yes" if reached else "**no**"


def _ours(table: tb.Table, search: str) -> Measured:
    learned: list[tb.LearnedDAG] = []
    taken = best_of(lambda: learned.append(tb.learn_structure(table, search=search, progress=False)), 3)
    return Measured(taken, learned[0].score / table.n_rows)


def _agrum(table: tb.Table, choose: Callable[[object], object]) -> Measured:
    frame, learned = table.to_pandas(), []

    def learn() -> None:
        learner = pyagrum.BNLearner(frame)
        learner.useScoreBIC()
        learner.useNoPrior()
        choose(learner)
        learned.append(learner)

    learn()
    dags: list[object] = []
    taken = timed(lambda: dags.append(learned[0].learnDAG()))
    names = [learned[0].nameFromId(i) for i in range(table.n_columns)]
    dag = tb.DAG(table.names, [(names[a], names[b]) for a, b in dags[0].arcs()])
    return Measured(taken, tb.score_structure(dag, table) / table.n_rows)
