"""Smoothing: probabilities from counts by relative frequencies, Laplace's rule or the m-estimate.

All of them add pseudo-counts a_k to the counts n_k of a variable's states,

    P(k) = (n_k + a_k) / (n + a),     n = Σ n_k,  a = Σ a_k.

Laplace's rule with γ has a_k = γ (γ = 0: relative frequencies; ½: Jeffreys; 1: Laplace); the m-estimate has
a_k = m p_k: a prior guess p worth m rows. If n = a = 0 the result is p.

References
----------
T. M. Mitchell (1997). Machine Learning, eq. 6.22 (the m-estimate).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.probability.reading import TOLERANCE


@dataclass(frozen=True)
class MEstimate:
    """The m-estimate (n_k + m p_k) / (n + m).

    Parameters
    ----------
    m : float or "n_states"
        The number of rows that the prior guess is worth; ``"n_states"`` is the number of states, which with uniform p
        gives Laplace's rule.
    p : "uniform", "marginal", or mapping of state to probability
        The prior guess: equal for all states, the variable's relative frequencies in the whole table, or by state.

    Examples
    --------
    >>> import numpy as np
    >>> from tunbridge.data import Variable
    >>> smooth(np.array([3.0, 1.0]), MEstimate(m=2), Variable("wind", ["Strong", "Weak"])).tolist()
    [0.6666666666666666, 0.3333333333333333]
    """

    m: float | Literal["n_states"] = "n_states"
    p: Literal["uniform", "marginal"] | Mapping[State, float] = "uniform"

    def __post_init__(self) -> None:
        if self.m != "n_states":
            check_number("m of the m-estimate", self.m, low=0)
        if not isinstance(self.p, Mapping) and not (isinstance(self.p, str) and self.p in ("uniform", "marginal")):
            rule, hint = (
                "'uniform', 'marginal' or a mapping",
                "Give probabilities by state, as in {'yes': 0.9, 'no': 0.1}.",
            )
            raise DataError(f"p of the m-estimate must be {rule}; got {shortened(repr(self.p))}. {hint}")

    def pseudo_counts(self, variable: Variable, guess: np.ndarray) -> np.ndarray:
        """Return m p_k for each state."""
        m = variable.n_states if self.m == "n_states" else self.m
        return m * guess

    def guess(self, variable: Variable, marginal: np.ndarray) -> np.ndarray:
        """Return the prior guess p for each state, ``marginal`` being the counts in the whole table."""
        if isinstance(self.p, Mapping):
            return _given_probabilities(variable, self.p)
        if self.p == "marginal" and marginal.sum() > 0:
            return marginal / marginal.sum()
        return np.full(variable.n_states, 1.0 / max(1, variable.n_states))


@dataclass(frozen=True)
class Laplace:
    """Laplace's rule (n_k + γ) / (n + γ r) for r states.

    Parameters
    ----------
    gamma : float
        The number added to each count: 0 gives relative frequencies, ½ Jeffreys' rule, 1 Laplace's rule.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_number("gamma of Laplace's rule", self.gamma, low=0)

    def pseudo_counts(self, variable: Variable, guess: np.ndarray) -> np.ndarray:
        """Return γ for each state."""
        return np.full(variable.n_states, float(self.gamma))

    def guess(self, variable: Variable, marginal: np.ndarray) -> np.ndarray:
        """Return the uniform guess."""
        return np.full(variable.n_states, 1.0 / max(1, variable.n_states))


Smoothing = MEstimate | Laplace


def as_smoothing(value: object, what: str = "smoothing") -> Smoothing:
    """Return a rule: itself, or Laplace's rule for a number γ."""
    if isinstance(value, (MEstimate, Laplace)):
        return value
    if isinstance(value, (str, Mapping)) or value is None:
        raise DataError(f"{what} must be a number (Laplace's γ), MEstimate or Laplace; got {value!r}.")
    return Laplace(check_number(what, value, low=0))


def smooth(counts: np.ndarray, rule: Smoothing, variable: Variable, marginal: np.ndarray | None = None) -> np.ndarray:
    """Return the probabilities of a variable's states (last axis) from counts.

    Parameters
    ----------
    counts : ndarray of shape (…, n_states)
        Counts n_k.
    rule : MEstimate or Laplace
        The pseudo-counts.
    variable : Variable
        The variable.
    marginal : ndarray of shape (n_states,), optional
        Counts in the whole table, for ``p="marginal"``; default: the sum of ``counts``.
    """
    n = np.asarray(counts, np.float64)
    guess = rule.guess(variable, n.sum(axis=tuple(range(n.ndim - 1))) if marginal is None else marginal)
    raised = n + rule.pseudo_counts(variable, guess)
    total = raised.sum(axis=-1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), guess)


def _given_probabilities(variable: Variable, given: Mapping[State, float]) -> np.ndarray:
    states, by_code = variable.states or (), {}
    for state, share in given.items():
        code = variable.find(state)
        if code < 0:
            hint = did_you_mean(state, states)
            raise DataError(f"p of {variable.name!r} must name its states; got {state!r}. {hint}")
        by_code[code] = check_number(f"p of state {state!r}", share, low=0)
    absent = [s for code, s in enumerate(states) if code not in by_code]
    if absent:
        raise DataError(f"p of {variable.name!r} must give every state a probability; {listed(absent)} has none.")
    p = np.array([by_code[code] for code in range(len(states))])
    if not abs(p.sum() - 1.0) <= TOLERANCE:
        raise DataError(f"p of {variable.name!r} must sum to one; got {p.sum():g}.")
    return p / p.sum()
