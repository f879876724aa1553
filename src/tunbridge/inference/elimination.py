"""Plain variable elimination in NumPy: for small networks before the kernels have ever been compiled.

Compiling takes seconds, once after installation; a small network's first answer should not wait for that. One variable
after the other is eliminated, each time the one whose product of tables is smallest: all tables that hold it are
multiplied, and it is summed out. The same numbers as from the junction tree come out, up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from tunbridge.inference.evidence import Evidence
from tunbridge.probability import ConditionalTable

LARGEST = 2**18
"""The entries of the largest table that is written down; above, it is the kernels' turn."""


class TooLargeError(Exception):
    """Plain elimination would write down too large a table."""


class Factor(NamedTuple):
    """A table and the variables its axes stand for, in ascending order."""

    scope: tuple[int, ...]
    table: np.ndarray


def factors_of(cpts: Sequence[ConditionalTable], parents: Sequence[Sequence[int]], evidence: Evidence) -> list[Factor]:
    """Return what the evidence leaves of conditional tables."""
    factors = []
    for v, cpt in enumerate(cpts):
        table = cpt.table()
        if v in evidence.soft:
            table = table * evidence.soft[v]
        scope = [*parents[v], v]
        table = table[tuple(evidence.hard.get(u, slice(None)) for u in scope)]
        left = [u for u in scope if u not in evidence.hard]
        order = np.argsort(left)
        factors.append(Factor(tuple(left[i] for i in order), table.transpose(order)))
    return factors


def eliminate(factors: Iterable[Factor], keep: Iterable[int], n_states: np.ndarray) -> tuple[Factor, float]:
    """Return the product of all factors with every variable but those to keep summed out, and the log of its scale."""
    left, kept, log_scale = list(factors), set(keep), 0.0
    waiting = {v for factor in left for v in factor.scope} - kept
    while waiting:
        size, v = min((_size(u, left, n_states), u) for u in waiting)
        if size > LARGEST:
            raise TooLargeError
        waiting.remove(v)
        product = _multiplied([factor for factor in left if v in factor.scope])
        left = [factor for factor in left if v not in factor.scope]
        summed = product.table.sum(axis=product.scope.index(v))
        largest = float(summed.max())
        log_scale += math.log(largest) if largest > 0.0 else -math.inf
        left.append(Factor(tuple(u for u in product.scope if u != v), summed / (largest or 1.0)))
    return _multiplied(left), log_scale


def _size(v: int, factors: list[Factor], n_states: np.ndarray) -> int:
    """Return the entries of the product of all factors that hold a variable."""
    scope = {u for factor in factors if v in factor.scope for u in factor.scope}
    return math.prod(int(n_states[u]) for u in scope)


def _multiplied(factors: list[Factor]) -> Factor:
    return reduce(_product, factors, Factor((), np.ones(())))


def _product(a: Factor, b: Factor) -> Factor:
    scope = tuple(sorted({*a.scope, *b.scope}))
    return Factor(scope, _widened(a, scope) * _widened(b, scope))


def _widened(factor: Factor, scope: tuple[int, ...]) -> np.ndarray:
    sizes = dict(zip(factor.scope, factor.table.shape, strict=True))
    return factor.table.reshape([sizes.get(v, 1) for v in scope])
