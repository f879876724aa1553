"""What observed numbers say about categories: factors, kept as logarithms.

A component of the continuous part of a network gives the observed numbers a density for each configuration of its
categories, φ(d) = p(observed | d): a factor like a conditional table, to be multiplied into the discrete network. Only
ratios matter for posteriors, so the largest entry is taken out first, and what was taken out goes into the density of
the evidence. Factors about the same categories, or some of them, are added up as logarithms: a thousand measurements of
one case underflow nowhere.

An entry below 10⁻³⁰⁰ of the largest is too small to be kept beside it. That does no harm, unless the largest entries
are impossible for other reasons: another factor, or a table, says no. So where such entries occur, all factors are
united in one, and the configurations that the discrete network holds for impossible are left out before the largest of
the others is taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

SMALLEST = 1e-300
"""What is possible stays so, however small beside the largest entry."""

LARGEST_UNION = 2**20
"""The entries of the largest factor in which others are united."""

_LOG_SMALLEST = float(np.log(SMALLEST))


class LogFactor(NamedTuple):
    """The logarithms of a factor for each of some rows.

    Parameters
    ----------
    scope : tuple of int
        Categorical variables, in ascending order.
    logs : ndarray of shape (n_rows, *numbers of states)
        ln φ.
    """

    scope: tuple[int, ...]
    logs: np.ndarray


def combined(factors: Iterable[LogFactor], n_rows: int) -> tuple[list[LogFactor], np.ndarray]:
    """Return factors none of whose scopes is part of another's, and the constants: those about no category.

    The product of all, with the constants, is what it was.
    """
    constants, kept = np.zeros(n_rows), list[LogFactor]()
    for factor in sorted(factors, key=lambda f: (-len(f.scope), f.scope)):
        if not factor.scope:
            constants = constants + factor.logs.reshape(n_rows)
            continue
        place = next((i for i, f in enumerate(kept) if set(factor.scope) <= set(f.scope)), None)
        if place is None:
            kept.append(factor)
        else:
            wide = kept[place]
            kept[place] = wide._replace(logs=wide.logs + widened(factor, wide.scope))
    return kept, constants


def widened(factor: LogFactor, scope: tuple[int, ...]) -> np.ndarray:
    """Return the logarithms with an axis for each variable of a wider scope, of length one where it has none."""
    sizes = dict(zip(factor.scope, factor.logs.shape[1:], strict=True))
    return factor.logs.reshape(len(factor.logs), *(sizes.get(v, 1) for v in scope))


def has_small(factors: Iterable[LogFactor]) -> np.ndarray | bool:
    """Return, for each row, whether some entry is too small to be kept beside the largest of its factor."""
    found: np.ndarray | bool = False
    for factor in factors:
        flat = factor.logs.reshape(len(factor.logs), -1)
        least = np.where(flat == -np.inf, np.inf, flat).min(axis=1)
        found = found | (least < flat.max(axis=1) + _LOG_SMALLEST)
    return found


def united(factors: Sequence[LogFactor], n_states: np.ndarray) -> LogFactor:
    """Return the product of factors, over all of their variables."""
    scope = tuple(sorted({v for factor in factors for v in factor.scope}))
    logs = np.zeros((len(factors[0].logs), *(int(n_states[v]) for v in scope)))
    for factor in factors:
        logs = logs + widened(factor, scope)
    return LogFactor(scope, logs)


def scaled(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return factors whose largest entry in each row is 1, flat, and the logarithms of what they were divided by.

    Examples
    --------
    >>> scaled(np.log([[0.2, 0.4]]))
    (array([[0.5, 1. ]]), array([-0.91629073]))
    """
    flat = logs.reshape(len(logs), -1)
    tops = flat.max(axis=1)
    known = np.where(np.isfinite(tops), tops, 0.0)
    with np.errstate(under="ignore"):
        table = np.exp(flat - known[:, None])
    return np.where(flat == -np.inf, 0.0, np.maximum(table, SMALLEST)), tops
