"""Hierarchical estimates by definition: rows are looked for again at every level."""

from __future__ import annotations

from collections.abc import Sequence


def estimate(
    rows: Sequence[tuple[tuple[int, ...], int, int, float]],
    x: int,
    c: int,
    parents: Sequence[int],
    strengths: Sequence[float],
    n_states: int,
    *,
    least: float,
    left_out: int | None = None,
) -> float:
    """Return P(x | c, parents) of (parents, class, state, weight) rows.

    A configuration of less weight than ``least`` ends the descent. ``left_out`` is the position of a row that is taken
    away from the counts, but not from what decides whether a configuration is known.
    """
    weight = [
        w - (min(1.0, w) if left_out is not None and i == left_out else 0.0) for i, (_, _, _, w) in enumerate(rows)
    ]
    total = sum(weight)
    found = (sum(w for (_, _, s, _), w in zip(rows, weight, strict=True) if s == x) + 1 / n_states) / (total + 1)
    for level, s in enumerate(strengths):
        here = [i for i, row in enumerate(rows) if row[0][:level] == tuple(parents[:level])]
        if level and sum(rows[i][3] for i in here) < least:
            break
        n_j = sum(weight[i] for i in here if rows[i][1] == c)
        n = sum(weight[i] for i in here if rows[i][1] == c and rows[i][2] == x)
        found = (n + s * found) / (n_j + s)
    return found
