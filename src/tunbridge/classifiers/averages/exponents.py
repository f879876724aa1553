"""Exponents of features: how loudly each is heard, so that the probabilities come out right.

    P(c | x) ∝ P(c) Π_f P(x_f | …, c)^{w_f}

The exponents maximise the conditional log-likelihood of the classes less ½ λ Σ_f (w_f − 1)². That is concave, and
Newton's method, whose step is halved where it would lose, needs a handful of rounds.

References
----------
N. A. Zaidi, J. Cerquides, M. J. Carman, G. I. Webb (2013). Alleviating naive Bayes attribute independence assumption by
attribute weighting. Journal of Machine Learning Research 14, 1947–1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tunbridge.kernels.exponents import add_derivatives, fill_shares

_ROUNDS = 10
_SMALLEST_STEP = 1e-3
_SETTLED = 1e-5


def fit_exponents(
    terms: np.ndarray, log_prior: np.ndarray, classes: np.ndarray, weights: np.ndarray, *, penalty: float
) -> np.ndarray:
    """Return the exponent of each feature.

    Parameters
    ----------
    terms : ndarray of shape (n_rows, n_classes, n_features)
        log P(x_f | …, c), each row left out of what it is told by.
    log_prior : ndarray of shape (n_classes,)
        log P(c); classes of probability zero are left out.
    classes : ndarray of shape (n_rows,)
        The codes of the classes.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.
    penalty : float
        λ, above 0.

    Examples
    --------
    The same feature twice counts once:

    >>> once = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]))
    >>> twice = np.repeat(once[:, :, None], 2, axis=2)
    >>> rows = np.full(4, 1000.0)
    >>> fit_exponents(twice, np.log([0.5, 0.5]), np.array([0, 0, 1, 0]), rows, penalty=1.0).round(2).tolist()
    [0.4, 0.4]
    """
    possible = np.isfinite(log_prior)
    place = np.cumsum(possible) - 1
    used = terms if possible.all() else np.ascontiguousarray(terms[:, possible])
    problem = _Problem(used, log_prior[possible], place[classes], weights, penalty)
    w = np.ones(terms.shape[2])
    value, shares = problem.value(w)
    for _ in range(_ROUNDS):
        step = problem.newton_step(w, shares)
        found = _best_part(problem, w, step, value)
        if found is None:
            break
        w, new, shares = found
        settled, value = value - new <= _SETTLED * max(1.0, abs(value)), new
        if settled:
            break
    return w


def _best_part(
    problem: _Problem, w: np.ndarray, step: np.ndarray, value: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return where the step leads, halved until something is gained; None when nothing is."""
    part = 1.0
    while part > _SMALLEST_STEP:
        new, shares = problem.value(w - part * step)
        if new <= value:
            return w - part * step, new, shares
        part /= 2.0
    return None


class _Problem(NamedTuple):
    """What is minimised: the negative conditional log-likelihood and the penalty."""

    terms: np.ndarray
    log_prior: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    penalty: float

    def value(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value, and the probabilities of the classes, row × class."""
        shares = np.empty(self.terms.shape[:2])
        lost = fill_shares(self.terms, self.log_prior, self.classes, self.weights, w, shares)
        return float(lost + 0.5 * self.penalty * ((w - 1.0) ** 2).sum()), shares

    def newton_step(self, w: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the second derivatives' inverse times the first ones."""
        gradient, curvature = self.penalty * (w - 1.0), self.penalty * np.eye(len(w))
        add_derivatives(self.terms, self.classes, self.weights, shares, gradient, curvature)
        whole = np.tril(curvature) + np.tril(curvature, -1).T
        try:
            return np.linalg.solve(whole, gradient)
        except np.linalg.LinAlgError:  # a penalty that drowns beside the rows: of all steps the shortest
            return np.linalg.lstsq(whole, gradient)[0]


def gains(
    terms: np.ndarray,
    exponents: np.ndarray,
    log_prior: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    order: Sequence[int],
) -> np.ndarray:
    """Return what each feature tells when they are told one after another, (2, n_features).

    The first row has the means of log P(c | features so far) − log P(c | those before), c the class of the row, which
    add up to what all features tell together; the second the same of the log-odds of c.

    Parameters
    ----------
    terms, exponents, log_prior, classes, weights
        As in :func:`fit_exponents`, and what it returns.
    order : sequence of int
        The features in the order in which they are told.

    Examples
    --------
    >>> terms = np.log(np.array([[[0.8], [0.2]], [[0.2], [0.8]]]))
    >>> gains(terms, np.ones(1), np.log([0.5, 0.5]), np.array([0, 1]), np.ones(2), [0]).round(3).tolist()
    [[0.47], [1.386]]
    """
    out = np.zeros((2, terms.shape[2]))
    joint = np.repeat(log_prior[None], len(classes), axis=0)
    before = _log_odds_of(joint, classes)
    share = weights / weights.sum()

    def mean(values: np.ndarray) -> float:
        return float((share * values).sum())

    for f in order if np.isfinite(before).all() else ():  # infinite where no other class is possible
        joint += exponents[f] * terms[:, :, f]
        after = _log_odds_of(joint, classes)
        out[:, f] = mean(np.logaddexp(0.0, -before) - np.logaddexp(0.0, -after)), mean(after - before)
        before = after
    return out


def _log_odds_of(joint: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the log-odds of each row's class against all others."""
    at = np.arange(len(classes)), classes
    rest = joint - joint[at][:, None]
    rest[at] = -np.inf
    return np.asarray(-logsumexp(rest, axis=1))
