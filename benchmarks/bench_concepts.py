"""Concept learning on a million rows of twenty attributes, four states each.

No library that we know of learns version spaces, so the peer is candidate elimination as the textbook has it, row by
row in plain Python, on the first rows only and with the positive ones in front: in that order its boundaries stay small
and its time grows in proportion to the rows. In the order in which they come it needs some 25 seconds before the second
positive row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pyarrow as pa

import tunbridge as tb
from benchmarks.harness import Result, Section, best_of, interleaved, timed
from tunbridge.data import Column

N, N_ATTRIBUTES, STATES, PART = 10**6, 20, ("a", "b", "c", "d"), 100_000
CONCEPT = {0: 1, 1: 2, 2: 0, 3: 3}
GOAL = 3.0


def run() -> Section:
    table, y = _rows()
    first = timed(lambda: tb.VersionSpace().fit(table.take(slice(0, 1000)), y[:1000]))
    found = [
        Result("first fit in a process, 1 000 rows", first),
        _absolute("FindS, fit, 10⁶ × 20", lambda: tb.FindS().fit(table, y)),
        _absolute("VersionSpace, fit, the same", lambda: tb.VersionSpace().fit(table, y).size_),
        *_many_hypotheses(table),
        _contradiction(table, y),
    ]
    frame = table.to_pandas()
    found.append(_absolute("VersionSpace, fit, a pandas frame of texts", lambda: tb.VersionSpace().fit(frame, y)))
    order = np.argsort(y[:PART] == "no", kind="stable")
    some, labels = table.take(order), y[order]
    ours, peer = interleaved(
        lambda: tb.VersionSpace().fit(some, labels).general_, lambda: candidate_elimination(some, labels), repeat=2
    )
    found.append(Result("VersionSpace, fit and G, 100 000 rows", ours, peer, "candidate elimination in plain Python"))
    return found


def _many_hypotheses(table: tb.Table) -> Section:
    """One positive row among a million: all twenty attributes stay open, and thousands of negative rows matter."""
    y = np.full(N, "no", dtype="U3")
    y[N // 2] = "yes"
    fit = _absolute("VersionSpace, fit, one positive row", lambda: tb.VersionSpace("yes").fit(table, y))
    space = tb.VersionSpace("yes").fit(table, y)
    asked = _absolute("VersionSpace, predict_proba, 10⁶ rows", lambda: space.predict_proba(table))
    boundary = best_of(lambda: tb.VersionSpace("yes").fit(table, y).general_, repeat=1)
    size = f"{space.size_} hypotheses, {len(space.general_)} in G"
    return [fit, asked, Result("VersionSpace, fit and G, the same", boundary, remark=size)]


def _contradiction(table: tb.Table, y: np.ndarray) -> Result:
    wrong = y.copy()
    wrong[np.flatnonzero(y == "yes")[-1]] = "no"

    def fit() -> None:
        with suppress(tb.EmptyVersionSpaceError):
            tb.VersionSpace().fit(table, wrong)

    return _absolute("VersionSpace, the row that contradicts", fit)


def _absolute(work: str, function: Callable[[], object]) -> Result:
    took = best_of(function, repeat=3)
    return Result(work, took, goal=f"< {GOAL:g} s", reached=took < GOAL)


def _rows() -> tuple[tb.Table, np.ndarray]:
    """Return random rows, and which of them are in a concept of four constraints."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(STATES), (N_ATTRIBUTES, N), dtype=np.int8)
    inside = np.logical_and.reduce([codes[a] == state for a, state in CONCEPT.items()])
    columns = [Column(tb.Variable(f"x{a}", STATES), column, pa.string()) for a, column in enumerate(codes)]
    return tb.Table.of(columns), np.where(inside, "yes", "no")


def candidate_elimination(table: tb.Table, y: np.ndarray) -> tuple[object, object]:
    """Return S and G, row by row (Mitchell 1997, table 2.5); the first row must be positive."""
    rows = list(zip(*(table.codes(name).tolist() for name in table.names), strict=True))
    specific, general = list(rows[0]), {(None,) * N_ATTRIBUTES}
    for row, label in zip(rows, y, strict=True):
        if label == "yes":
            general = {g for g in general if _covers(g, row)}
            specific = [want if want == have else None for want, have in zip(specific, row, strict=True)]
            continue
        stay = {g for g in general if not _covers(g, row)}
        for g in general - stay:
            for a, want in enumerate(specific):
                if g[a] is None and want is not None and want != row[a]:
                    narrower = (*g[:a], want, *g[a + 1 :])
                    if not any(_at_least(other, narrower) for other in stay):
                        general = general | {narrower}
            general = general - {g}
    return specific, general


def _covers(h: tuple[int | None, ...], row: tuple[int, ...]) -> bool:
    return all(want is None or want == have for want, have in zip(h, row, strict=True))


def _at_least(h: tuple[int | None, ...], g: tuple[int | None, ...]) -> bool:
    return all(a is None or a == b for a, b in zip(h, g, strict=True))
