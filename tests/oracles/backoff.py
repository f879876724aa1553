"""Smoothing towards fewer parents from rows, by definition."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

Row = tuple[int, ...]
"""The states of the parents, from the first to the one that is dropped first, and then the child's."""


def estimate(rows: Sequence[Row], n_states: int, configuration: Row, s: float, *, votes: bool = False) -> list[float]:
    """Return P(child | configuration), the parents of which may be fewer than the rows have."""
    seen = list(rows)
    if votes and rows:
        for n_parents in range(len(rows[0]) - 2, len(configuration) - 1, -1):
            distinct = {(row[: n_parents + 1], row[-1]) for row in seen}
            seen = [(*start[:-1], child) for start, child in sorted(distinct)]
    if configuration:
        base = estimate(rows, n_states, configuration[:-1], s, votes=votes)
    else:
        base = [1.0 / n_states] * n_states
    found = [row[-1] for row in seen if row[: len(configuration)] == configuration]
    return [(found.count(k) + s * base[k]) / (len(found) + s) for k in range(n_states)]


def left_out(rows: Sequence[Row], n_states: int, s: float, *, votes: bool = False) -> float:
    """Return the log-likelihood of the rows, each under the estimate from all others."""
    total = 0.0
    for i, row in enumerate(rows):
        others = [*rows[:i], *rows[i + 1 :]]
        total += log(estimate(others, n_states, row[:-1], s, votes=votes)[row[-1]])
    return total
