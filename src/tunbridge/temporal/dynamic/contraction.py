"""Sums and maxima over products of small tables, for many cases at once.

A factor is a table with an axis for each variable, and where it differs from case to case a first axis for the case.
Variables are eliminated one by one (Zhang, Poole 1996), the cheapest first: the factors with the variable are
multiplied and it is summed, or maximised, out. What a case has lost in size goes into a logarithm, so that many small
probabilities do not underflow.

References
----------
N. L. Zhang, D. Poole (1996). Exploiting causal independence in Bayesian network inference. JAIR 5, 301–328.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory

CASE = -1
"""The axis of the cases."""

_PIECE = 2**21  # entries of the largest product of a piece of the cases
_NAIVE = 2**15  # entries below which finding an order for einsum costs more than it saves
_MOST_FACTORS = 12  # NumPy takes 32 or 64 operands, and their product may be small
_COPIES = 3.0  # a product, what it is made of, and its sum
WAYS_OUT = "method='boyen-koller' approximates with small tables, method='particle' by sampling."


class Factor(NamedTuple):
    """A table: its variables by number, CASE first where it has one, and the array."""

    axes: tuple[int, ...]
    array: np.ndarray


class Elimination(NamedTuple):
    """The order in which variables leave, and the number of entries of the largest product."""

    order: tuple[int, ...]
    largest: float


@lru_cache(maxsize=4096)
def elimination(scopes: frozenset[frozenset[int]], keep: frozenset[int], sizes: tuple[int, ...]) -> Elimination:
    """Return the greedy order that always makes the smallest product next.

    Examples
    --------
    >>> elimination(frozenset({frozenset({0, 1}), frozenset({1, 2})}), frozenset({0}), (2, 3, 4))
    Elimination(order=(2, 1), largest=12)
    """
    order, largest = [], _size(keep, sizes)
    having: dict[int, set[frozenset[int]]] = {}
    for scope in scopes:
        for v in scope:
            having.setdefault(v, set()).add(scope)
    joined = {v: frozenset().union(*having[v]) for v in sorted(having) if v not in keep}
    costs = {v: _size(joined[v], sizes) for v in joined}
    while costs:
        best = min(costs, key=costs.__getitem__)
        made, gone = joined[best] - {best}, having.pop(best)
        largest = max(largest, costs.pop(best))
        for v in made:
            having[v] = (having[v] - gone) | {made}
        for v in made - keep:
            joined[v] = frozenset().union(*having[v])
            costs[v] = _size(joined[v], sizes)
        order.append(best)
    return Elimination(tuple(order), largest)


def _size(axes: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[v] for v in axes)


def planned(factors: Sequence[Factor], keep: Sequence[int], sizes: tuple[int, ...]) -> Elimination:
    """Return how factors are contracted."""
    scopes = frozenset(frozenset(f.axes) - {CASE} for f in factors)
    return elimination(scopes, frozenset(keep), sizes)


def contract(
    factors: Sequence[Factor], keep: Sequence[int], sizes: tuple[int, ...], n_cases: int, *, maximise: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the product of factors, all variables but some summed (or maximised) out, and the logarithms of its scale.

    Parameters
    ----------
    factors : sequence of Factor
        Non-negative tables.
    keep : sequence of int
        The variables that stay, in the order of the axes of the result.
    sizes : tuple of int
        The number of states of every variable.
    n_cases : int
        The length of the axis of the cases.

    Returns
    -------
    ndarray of shape (n_cases, *sizes of keep), ndarray of shape (n_cases,)
        The largest entry of each case is at most about 1; times e to the second it is the product.
    """
    plan = planned(factors, keep, sizes)
    logs, left = np.zeros(n_cases), list(factors)
    for v in plan.order:
        bucket = [f for f in left if v in f.axes]
        made = _product(_folded(bucket, logs), v, maximise)
        left = [f for f in left if v not in f.axes]
        left.append(_rescaled(made, logs) if CASE in made.axes else made)
    whole = _product(_folded([*left, *_ones(left, keep, sizes, n_cases)], logs), None, False)
    last = _rescaled(Factor(whole.axes, whole.array), logs)
    order = [last.axes.index(v) for v in (CASE, *keep)]
    return last.array.transpose(order), logs


def _ones(left: Sequence[Factor], keep: Sequence[int], sizes: tuple[int, ...], n_cases: int) -> list[Factor]:
    """Return factors of ones for axes of the result that no other factor has."""
    known = {axis for f in left for axis in f.axes}
    lengths = {CASE: n_cases, **{v: sizes[v] for v in keep}}
    return [Factor((axis,), np.ones(n)) for axis, n in lengths.items() if axis not in known]


def _folded(bucket: list[Factor], logs: np.ndarray) -> list[Factor]:
    """Return factors with the same product, few enough to be multiplied at once."""
    while len(bucket) > _MOST_FACTORS:
        made = _product(bucket[:_MOST_FACTORS], None, False)
        bucket = [*bucket[_MOST_FACTORS:], _rescaled(made, logs) if CASE in made.axes else made]
    return bucket


def _product(bucket: Sequence[Factor], without: int | None, maximise: bool) -> Factor:
    """Return the product of factors; one variable is summed or maximised out."""
    lengths = {axis: n for f in bucket for axis, n in zip(f.axes, f.array.shape, strict=True)}
    axes = sorted(lengths)
    place = {axis: i for i, axis in enumerate(axes)}
    kept = [axis for axis in axes if axis != without]
    operands: list[Any] = []
    for f in bucket:
        operands += [f.array, [place[axis] for axis in f.axes]]
    if maximise and without is not None:
        array = np.einsum(*operands, [place[axis] for axis in axes]).max(axis=place[without])
    else:
        is_large = len(bucket) > 1 and math.prod(lengths.values()) > _NAIVE
        array = np.einsum(*operands, [place[axis] for axis in kept], optimize=is_large)
    return Factor(tuple(kept), array)


def _rescaled(factor: Factor, logs: np.ndarray) -> Factor:
    """Return a factor of cases whose largest entries are 1, if they are very small; their logarithms are added."""
    array = factor.array  # CASE is the smallest axis, so it is the first
    tops = array.reshape(len(array), -1).max(axis=1) if array.size else np.ones(len(array))
    if not (tops < 1e-60).any():
        return factor
    scale = np.where(tops > 0.0, tops, 1.0)
    logs += np.log(scale)
    return Factor(factor.axes, array / scale.reshape(-1, *[1] * (array.ndim - 1)))


def n_bytes(largest: float) -> float:
    """Return the memory that a contraction takes for one case."""
    return _COPIES * 8.0 * largest


def check_contraction(what: str, largest: float) -> None:
    """Raise MemoryForecastError where even one case does not fit."""
    check_memory(f"{what} (largest table: {counted(int(min(largest, 1e18)), 'entry')})".replace("entrys", "entries"),
                 n_bytes(largest), ways_out=WAYS_OUT)  # fmt: skip


def in_pieces(n_cases: int, largest: float, run: Callable[[slice], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Return the arrays that a function makes of the cases, piece by piece so that products stay small."""
    parts = [run(piece) for piece in pieces(n_cases, largest)]
    return parts[0] if len(parts) == 1 else tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def pieces(n_cases: int, largest: float) -> Iterator[slice]:
    """Yield slices of the cases; at least one, which may be empty."""
    step = max(1, int(_PIECE // max(largest, 1)))
    for start in range(0, max(n_cases, 1), step):
        yield slice(start, min(start + step, n_cases))
