"""Structure learning at sizes that people asked for: many states, many rows, many columns.

The largest, 500 000 × 10 000 binary columns, is measured in two parts: the pass over all pairs in full, and the Sparse
Candidate search with a tenth of the rows.
"""

from __future__ import annotations

import gc
import resource

import numpy as np

import tunbridge as tb
from benchmarks.harness import Result, Section, timed
from benchmarks.samples import sampled_columns
from tunbridge.counts.information import pair_information


def run() -> Section:
    lines: Section = [
        _climb("25 000 × 30, 20 states each", sampled_columns(30, 25_000, 20, most_parents=1), 2.0),
        _climb("137 000 × 29, 4 states each", sampled_columns(29, 137_000, 4), 2.0),
        _climb("100 000 × 200, 3 states each", sampled_columns(200, 100_000, 3), 30.0),
        _sparse("Sparse Candidate, 50 000 × 3 000 binary", sampled_columns(3_000, 50_000, 2), 120.0),
    ]
    wide = sampled_columns(10_000, 50_000, 2)
    lines.append(_sparse("Sparse Candidate, 50 000 × 10 000 binary (a tenth of the rows)", wide, None))
    del wide
    gc.collect()
    lines.append(_all_pairs(sampled_columns(10_000, 500_000, 2)))
    return lines


def _climb(work: str, table: tb.Table, most: float) -> Result:
    learned: list[tb.LearnedDAG] = []
    tb.learn_structure(table.take(slice(0, 1_000)), progress=False)
    taken = timed(lambda: learned.append(tb.learn_structure(table, progress=False)))
    remark = f"{learned[0].n_arcs} arcs, {len(learned[0].trace)} moves"
    return Result(f"hill-climbing, {work}", taken, goal=f"< {most:g} s", reached=taken < most, remark=remark)


def _sparse(work: str, table: tb.Table, most: float | None) -> Result:
    learned: list[tb.LearnedDAG] = []
    rounds: list[str] = []

    def note(what: str, score: float) -> None:
        rounds.extend([what] if what.startswith("round") else [])

    taken = timed(
        lambda: learned.append(tb.learn_structure(table, search="sparse-candidate", random_state=0, progress=note))
    )
    remark = f"{learned[0].n_arcs} arcs, {len(rounds)} rounds"
    if most is None:
        return Result(work, taken, remark=remark)
    return Result(work, taken, goal=f"< {most:g} s", reached=taken < most, remark=remark)


def _all_pairs(table: tb.Table) -> Result:
    counter = tb.Counter(table)
    taken = timed(lambda: pair_information(counter, dtype=np.float32))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return Result(
        "information of all pairs, 500 000 × 10 000 binary", taken, goal="< 180 s, < 12 GB",
        reached=taken < 180.0 and peak < 12.0, remark=f"peak of the whole process {peak:.1f} GB",
    )  # fmt: skip
