"""Logistic hypotheses, which predict probabilities: cross-entropy as maximum likelihood.

Each hypothesis gives the probability that y is 1,

    p(x) = 1 / (1 + exp(−a(x))),     a(x) = Σ_k w_k φ_k(x)   (the log-odds).

Points that are independent given the hypothesis have the probability Π p^y (1 − p)^(1 − y), so

    −ln P(D | w) = −Σ_i [y_i ln p(x_i) + (1 − y_i) ln(1 − p(x_i))],

which is the cross-entropy: the hypothesis of maximum likelihood is the one of least cross-entropy. A target may itself
be a probability, the share of ones among many cases at x. A prior w ~ N(0, τ²) adds Σ w_k² / 2τ².

Both sums are convex. They are minimised by Newton's method, which here is least squares with weights p (1 − p) that
change from step to step, and a step is halved until it does good. Where a hypothesis separates the ones from the zeros,
ever larger weights fit ever better, and no likelihood is the largest. That is so exactly if there is a direction d with
d·φ ≥ 0 wherever y > 0, d·φ ≤ 0 wherever y < 1, and d·φ ≠ 0 somewhere (Albert and Anderson): a linear programme finds
it, or that there is none.

References
----------
T. M. Mitchell (1997). Machine Learning, section 6.5 (maximum likelihood for predicting probabilities).
A. Albert, J. A. Anderson (1984). On the existence of maximum likelihood estimates in logistic regression models.
Biometrika 71, 1–10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import counted, shortened
from tunbridge.errors import DataError
from tunbridge.probability.floats import locked
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.likelihood.basis import Basis, as_basis, as_targets, check_finite, is_single
from tunbridge.reasoning.likelihood.family_lines import logistic_lines
from tunbridge.reasoning.likelihood.gaussian_prior import GaussianPrior, read_prior
from tunbridge.reasoning.likelihood.least_squares import check_determined, least_squares
from tunbridge.reasoning.likelihood.linear_fit import weights_text
from tunbridge.reasoning.likelihood.logistic_newton import Optimum, cross_entropy, maximise, probabilities
from tunbridge.reasoning.likelihood.separation import check_overlap


@final
@dataclass(frozen=True, init=False)
class LogisticFamily:
    """The hypotheses P(y = 1 | x) = 1 / (1 + exp(−Σ w_k φ_k(x))).

    Parameters
    ----------
    basis : int, sequence of functions, mapping of name to function, or Basis
        As for :class:`LinearFamily`.

    Examples
    --------
    Hours of study, and whether the exam was passed:

    >>> hours, passed = [1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1]
    >>> fit = LogisticFamily(1).ml(hours, passed)
    >>> fit
    ML fit of 2 weights to 6 points: 1 = -4.2491, x = 1.21403
    cross-entropy 2.47799 nats
    >>> fit.predict_proba([2, 5]).round(3).tolist()
    [0.139, 0.861]
    """

    basis: Basis

    def __init__(self, basis: Any) -> None:
        object.__setattr__(self, "basis", as_basis(basis))

    # Any hypothesis of the family

    def log_likelihood(self, weights: Any, x: Any, y: Any) -> float:
        """Return ln P(D | w) = Σ [y ln p + (1 − y) ln(1 − p)] of the hypothesis with these weights."""
        return -self.cross_entropy(weights, x, y)

    def cross_entropy(self, weights: Any, x: Any, y: Any) -> float:
        """Return −Σ [y ln p + (1 − y) ln(1 − p)], in nats and over all points: −ln P(D | w).

        Parameters
        ----------
        weights : mapping of name to number, or sequence
        x : array-like
            Numbers, or rows of numbers.
        y : array-like
            0 or 1, or a probability, for each of them.
        """
        vector, (design, target) = self.basis.vector(weights), self._read(x, y)
        return cross_entropy(_log_odds(design, vector), target)

    # The best one

    def ml(self, x: Any, y: Any) -> LogisticFit:
        """Return the hypothesis of maximum likelihood, the one of least cross-entropy.

        Raises
        ------
        DataError
            Where the data do not determine the weights, and where a hypothesis separates the ones from the zeros,
            completely or for some points while the others lie on the border: no weights are then the best.
        """
        design, target = self._read(x, y)
        check_determined(least_squares(design, target), self.basis.names, len(target))
        found = maximise(design, target)
        if not found.is_certain:
            check_overlap(design, target, found.weights)
        return self._fit(found, design, target, None)

    def map(self, x: Any, y: Any, *, prior_variance: Any) -> LogisticFit:
        """Return the most probable hypothesis under a Gaussian prior; where all variances are finite, there is one.

        Parameters
        ----------
        x, y : array-like
            As in :meth:`cross_entropy`.
        prior_variance : float, or one for each weight as a mapping or sequence
            τ², the variance of a weight around 0; infinity leaves a weight free.
        """
        belief = read_prior(self.basis, prior_variance)
        design, target = self._read(x, y)
        if not belief.is_proper:
            rows = np.concatenate([design, belief.rows])
            check_determined(least_squares(rows, np.zeros(len(rows))), self.basis.names, len(rows))
        found = maximise(design, target, belief)
        if not belief.is_proper and not found.is_certain:
            check_overlap(design, target, found.weights, belief.rows)
        return self._fit(found, design, target, belief)

    def _fit(self, found: Optimum, design: np.ndarray, target: np.ndarray, prior: GaussianPrior | None) -> LogisticFit:
        log_odds = locked(_log_odds(design, found.weights))
        return LogisticFit(self, locked(found.weights), locked(found.covariance), log_odds, locked(target), prior)

    def _read(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        design = self.basis.design(x)
        rule, hint = "y must be 0, 1 or a probability between", "Write y == label for the labels of two classes."
        labels = [label for label in np.ravel(np.asarray(y, object))[:1] if isinstance(label, str)]
        if labels:
            raise DataError(f"{rule}; got {shortened(repr(labels[0]))}. {hint}")
        target = as_targets(y, len(design))
        wrong = ~((target >= 0.0) & (target <= 1.0))
        if wrong.any():
            i = int(wrong.argmax())
            raise DataError(f"{rule}; got {target[i]:g} at position {i}. {hint}")
        return design, target


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogisticFit:
    """A hypothesis of a :class:`LogisticFamily`, with what it was chosen for.

    Parameters
    ----------
    family : LogisticFamily
    vector : ndarray
        The weights, in the order of the basis functions.
    covariance : ndarray
        The inverse of the second derivatives there: the covariance of the Gaussian that is closest to the posterior at
        its top (Laplace's approximation); after :meth:`LogisticFamily.ml` that of a flat prior.
    log_odds, targets : ndarray
        a(x) and y of each point.
    prior : GaussianPrior or None
        None where likelihood was all that counted.
    """

    family: LogisticFamily
    vector: np.ndarray
    covariance: np.ndarray
    log_odds: np.ndarray
    targets: np.ndarray
    prior: GaussianPrior | None

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of their basis functions."""
        return dict(zip(self.family.basis.names, self.vector.tolist(), strict=True))

    @property
    def n_points(self) -> int:
        """How many points there were."""
        return len(self.targets)

    @property
    def cross_entropy(self) -> float:
        """−Σ [y ln p + (1 − y) ln(1 − p)], in nats and over all points."""
        return cross_entropy(self.log_odds, self.targets)

    @property
    def log_likelihood(self) -> float:
        """The logarithm of P(D | w), the cross-entropy with the other sign."""
        return -self.cross_entropy

    def predict_proba(self, x: Any) -> Any:
        """Return P(y = 1 | x), an array; of a single number a number."""
        found = probabilities(_log_odds(self.family.basis.design(x), self.vector))
        return float(found[0]) if is_single(x) else found

    def derivation(self) -> Derivation:
        """Return why this hypothesis is the best: the likelihood with the numbers in it.

        Examples
        --------
        >>> print(LogisticFamily(0).ml([0, 0, 0, 0], [1, 1, 1, 0]).derivation())
        ln P(D | w) = Σ [y ln p(x) + (1 − y) ln(1 − p(x))] = ln 0.75 + ln 0.75 + ln 0.75 + ln 0.25 = -2.24934
        cross-entropy = −ln P(D | w) = 2.24934
        The larger the cross-entropy, the smaller P(D | w): least cross-entropy is maximum likelihood.
        """
        return logistic_lines(self)

    def __repr__(self) -> str:
        kind = "ML" if self.prior is None else "MAP"
        size = f"{counted(len(self.vector), 'weight')} to {counted(self.n_points, 'point')}"
        return f"{kind} fit of {size}: {weights_text(self.weights)}\ncross-entropy {self.cross_entropy:.6g} nats"


def _log_odds(design: np.ndarray, weights: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        found = design @ weights
    check_finite("the log-odds", found)
    return found
