"""Naive Bayes with dependences between features, by counting rows and summing over everything that is not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

Rows = Sequence[Sequence[Any]]


def states_of(rows: Rows) -> list[list[Any]]:
    """Return the values of each feature, in sorted order; None is missing."""
    return [sorted({row[f] for row in rows} - {None}) for f in range(len(rows[0]))]


def count(
    rows: Rows, classes: Sequence[Any], weights: Sequence[float], known: Mapping[int, Any], c: Any = None
) -> float:
    """Return the weight of the rows that have these values (and this class)."""
    return sum(
        w
        for row, k, w in zip(rows, classes, weights, strict=True)
        if (c is None or k == c) and all(row[f] == value for f, value in known.items())
    )


def factor(
    rows: Rows,
    classes: Sequence[Any],
    weights: Sequence[float],
    f: int,
    parents: Sequence[int],
    full: Sequence[Any],
    c: Any,
    gamma: float,
) -> float:
    """Return P(x_f | parents, c) under Laplace's rule, from the rows that miss none of them."""
    states, known = states_of(rows)[f], {p: full[p] for p in parents}
    n = {s: count(rows, classes, weights, {**known, f: s}, c) for s in states}
    return (n[full[f]] + gamma) / (sum(n.values()) + gamma * len(states))


def joint(
    rows: Rows,
    classes: Sequence[Any],
    query: Sequence[Any],
    parents: Mapping[int, Sequence[int]],
    *,
    gamma: float,
    weights: Sequence[float] | None = None,
) -> dict[Any, float]:
    """Return P(query, c): the sum over all completions of the query of P(c) Π P(x_f | parents, c)."""
    ones = [1.0] * len(rows) if weights is None else list(weights)
    states = states_of(rows)
    used = [f for f in range(len(query)) if states[f]]
    options = [[query[f]] if query[f] is not None else states[f] for f in used]
    found = {}
    for c in sorted(set(classes)):
        prior = count(rows, classes, ones, {}, c) / sum(ones)
        total = 0.0
        for values in product(*options):
            full = dict(zip(used, values, strict=True))
            whole = [full.get(f) for f in range(len(query))]
            total += math.prod(factor(rows, classes, ones, f, parents[f], whole, c, gamma) for f in used)
        found[c] = prior * total
    return found


def conditional_information(rows: Rows, classes: Sequence[Any], i: int, j: int) -> float:
    """Return I(X_i; X_j | C) from the rows that miss neither."""
    seen = [(row[i], row[j], c) for row, c in zip(rows, classes, strict=True) if None not in (row[i], row[j])]
    n, total = len(seen), 0.0
    for a, b, c in set(seen):
        n_abc = seen.count((a, b, c))
        n_ac = sum(s[0] == a and s[2] == c for s in seen)
        n_bc = sum(s[1] == b and s[2] == c for s in seen)
        n_c = sum(s[2] == c for s in seen)
        total += n_abc / n * math.log(n_abc * n_c / (n_ac * n_bc))
    return total
