"""How the counts of averaged estimators become probabilities.

Every rule here draws a distribution towards another one, the guess q, which is worth s rows:

    P(k | given) = (n(given, k) + s q(k)) / (n(given) + s).

The m-estimate (s = m, q uniform) and Laplace's rule (s = γ times the number of states) have one guess for all. With
back-off the guess is the estimate that is given less: P(x_k | x_i, c) is drawn towards P(x_k | c), that towards P(x_k),
and that towards the uniform distribution. What is given two features, x_i and x_j, is drawn towards the mean of the
estimates given one of them. Where there are neither rows nor imagined ones the guess is the answer.

Arrays have the states of all features along their last axis but one, and the class along the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.learning.backoff import BackOff
from tunbridge.learning.priors import as_prior
from tunbridge.probability.smoothing import Laplace, MEstimate

M_ESTIMATE = "m-estimate"
HIERARCHICAL = "hierarchical"

Rule = MEstimate | Laplace | BackOff


class Guess(NamedTuple):
    """Where estimates are drawn to, and how strongly.

    Attributes
    ----------
    q : ndarray of shape (n_states of all features, 1)
        The guess at the bottom.
    s : ndarray of shape (n_states of all features, 1)
        How many rows it is worth, the same for all states of a feature.
    backs_off : bool
        Whether an estimate is drawn towards the one that is given less, rather than towards q.
    """

    q: np.ndarray
    s: np.ndarray
    backs_off: bool


def as_rule(smoothing: Any) -> Rule:
    """Return the rule that a parameter stands for.

    Examples
    --------
    >>> as_rule("m-estimate"), as_rule("hierarchical"), as_rule(0.5)
    (MEstimate(m=1.0, p='uniform'), BackOff(strength=1.0, drop='last'), Laplace(gamma=0.5))
    """
    if isinstance(smoothing, str) and smoothing == M_ESTIMATE:
        return MEstimate(1.0)
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff(1.0, "last")
    try:
        rule = as_prior(smoothing)
    except DataError:
        raise _refused(smoothing) from None
    if not isinstance(rule, MEstimate | Laplace | BackOff) or (isinstance(rule, BackOff) and rule.strength == "auto"):
        raise _refused(smoothing)
    return rule


def _refused(smoothing: Any) -> DataError:
    return DataError(
        "smoothing must be 'm-estimate', 'hierarchical', a number that is not negative (Laplace's γ), or one of "
        f"Laplace, MEstimate and BackOff with a number as its strength; got {shortened(repr(smoothing))}."
    )


def guess_of(rule: Rule, variables: Sequence[Variable], margins: np.ndarray) -> Guess:
    """Return the guess about each state of each variable; ``margins`` are the counts of the states by themselves."""
    q, s, first = np.empty(len(margins)), np.empty(len(margins)), 0
    for v in variables:
        some = slice(first, first + v.n_states)
        q[some], s[some] = _guess(rule, v, margins[some])
        first += v.n_states
    return Guess(q[:, None], s[:, None], isinstance(rule, BackOff))


def _guess(rule: Rule, variable: Variable, margin: np.ndarray) -> tuple[np.ndarray | float, float]:
    r = variable.n_states
    if isinstance(rule, BackOff):
        return 1.0 / max(1, r), float(rule.strength)
    if isinstance(rule, Laplace):
        return 1.0 / max(1, r), rule.gamma * r
    return rule.guess(variable, margin), float(r if rule.m == "n_states" else rule.m)


def drawn(n: np.ndarray, first: np.ndarray, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return (n + s q) / (Σ n + s), the sum over the states of each feature; q where nothing is known."""
    rows = _by_feature(n, first) + s
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (n + s * q) / rows
    return found if rows.size == 0 or rows.min() > 0.0 else np.where(rows > 0.0, found, q)


def _by_feature(n: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return for each state the sum over all states of its feature."""
    n_states = np.diff(first)
    some = n_states > 0
    if not some.any():
        return n.astype(np.float64)
    sums = np.add.reduceat(n, first[:-1][some], axis=-2, dtype=np.float64)
    return np.repeat(sums, n_states[some], axis=-2)
