"""Chow–Liu trees and tree-augmented naive Bayes, against bnlearn's recorded times."""

from __future__ import annotations

import numpy as np

import tunbridge as tb
from benchmarks.harness import Result, Section, best_of, skipped
from benchmarks.samples import NO_NETWORKS, network_files
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.searches.problem import Problem, Search, SearchResult
from tunbridge.learning.structure import families_of

SIZES = {"alarm": 100_000, "pigs": 20_000}
BNLEARN = {"alarm": 0.103, "pigs": 2.2}
"""Seconds of bnlearn 4.9's Chow–Liu, recorded beforehand on another machine; its TAN has no figure of its own."""
GOAL = 100


def run() -> Section:
    files = network_files()
    if not SIZES.keys() <= files.keys():
        return skipped(NO_NETWORKS)
    lines: Section = []
    for name, n_rows in SIZES.items():
        table = tb.read_network(files[name]).sample(n_rows, random_state=0)
        size = f"{name.upper()} {n_rows:,} × {table.n_columns}".replace(",", " ")
        lines += [
            against_bnlearn(f"Chow–Liu tree, {size}", table, tb.ChowLiu(), BNLEARN[name]),
            against_bnlearn(f"TAN, {size}", table, tb.TAN(table.names[0]), BNLEARN[name], "peer: its Chow–Liu"),
            whole(f"learn_structure, Chow–Liu, {size}", table),
        ]
    return lines


def against_bnlearn(work: str, table: tb.Table, search: Search, recorded: float, remark: str = "") -> Result:
    """The search by itself, from the table's codes to the arcs."""
    ours = best_of(lambda: searched(table, search), 20)
    remarks = "; ".join(filter(None, [remark, "recorded beforehand, another machine"]))
    return Result(work, ours, recorded, "bnlearn", f"≥ {GOAL} ×", recorded >= GOAL * ours, remarks)


def whole(work: str, table: tb.Table) -> Result:
    ours = best_of(lambda: tb.learn_structure(table, search=tb.ChowLiu(), progress=False), 5)
    return Result(work, ours, remark="with the graph object and the trace")


def searched(table: tb.Table, search: Search) -> SearchResult:
    families = families_of(table, tb.BIC())
    known = Constraints().compile(families.names)
    start, rng = known.required, np.random.default_rng(0)
    return search.run(Problem(families, known.allowed, known.required, known.max_parents, start, rng))
