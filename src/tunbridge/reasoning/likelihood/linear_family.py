"""Hypotheses that are linear in basis functions, with Gaussian noise: least squares as maximum likelihood.

Each hypothesis is a function h(x) = Σ_k w_k φ_k(x), and what is measured is y = h(x) + e with e ~ N(0, σ²). For n
points that are independent given the hypothesis,

    ln P(D | w) = −(n/2) ln(2πσ²) − (1 / 2σ²) Σ_i (y_i − h(x_i))²,

and w enters through the sum of squared errors SSE(w) only: the hypothesis of maximum likelihood is the one of least
squares, whatever σ is, and the likeliest σ² is SSE / n. A prior w ~ N(0, τ²) adds −Σ w_k² / 2τ²; the most probable
hypothesis minimises SSE(w) + λ Σ w_k² with λ = σ²/τ²: ridge regression. The prior is conjugate, and the posterior is

    w | D ~ N(ŵ, S),     S⁻¹ = I/τ² + ΦᵀΦ/σ²,     ŵ = S Φᵀ y / σ²,

and a new value at x has mean φ(x)ᵀ ŵ and variance σ² + φ(x)ᵀ S φ(x).

References
----------
T. M. Mitchell (1997). Machine Learning, section 6.4 (least squares as maximum likelihood).
C. M. Bishop (2006). Pattern Recognition and Machine Learning, eqs. 3.49–3.59.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import check_number
from tunbridge.errors import DataError
from tunbridge.probability.floats import locked
from tunbridge.reasoning.likelihood.basis import Basis, as_basis, as_targets, check_finite
from tunbridge.reasoning.likelihood.gaussian_prior import GaussianPrior, read_prior
from tunbridge.reasoning.likelihood.least_squares import Solution, check_determined, check_size, least_squares
from tunbridge.reasoning.likelihood.linear_fit import LinearFit, log_likelihood, root_mean_square, sum_of_squares

_EXACT = 64 * 2.0**-52  # below this share of the values, errors are rounding


@final
@dataclass(frozen=True, init=False)
class LinearFamily:
    """The hypotheses Σ w_k φ_k(x) with Gaussian noise around them.

    Parameters
    ----------
    basis : int, sequence of functions, mapping of name to function, or Basis
        The degree of a polynomial; or the basis functions, each of a number x, or of a row of numbers.
    noise : float, optional
        The standard deviation σ of the noise, where it is known. Without it :meth:`ml` estimates it.

    Examples
    --------
    >>> line = LinearFamily(1)
    >>> fit = line.ml([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8])
    >>> fit
    ML fit of 2 weights to 4 points: 1 = 1.09, x = 1.94
    noise 0.143178, squared error 0.082, log-likelihood 2.09891
    >>> fit.predict([4, 5]).round(2).tolist()
    [8.85, 10.79]

    With a prior, and noise that is known:

    >>> LinearFamily(1, noise=0.2).map([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8], prior_variance=1.0)
    MAP fit of 2 weights to 4 points: 1 = 1.08293, x = 1.9375
    noise 0.2, squared error 0.0825005, log-likelihood 1.73074
    """

    basis: Basis
    noise: float | None

    def __init__(self, basis: Any, *, noise: float | None = None) -> None:
        object.__setattr__(self, "basis", as_basis(basis))
        object.__setattr__(self, "noise", None if noise is None else _checked_noise(noise))

    # Any hypothesis of the family

    def squared_error(self, weights: Any, x: Any, y: Any) -> float:
        """Return Σ (y − h(x))² of the hypothesis with these weights, given by name or in order."""
        return sum_of_squares(self._errors(self.basis.vector(weights), *self._read(x, y)))

    def log_likelihood(self, weights: Any, x: Any, y: Any, *, noise: float | None = None) -> float:
        """Return ln P(D | w), the sum of the logarithms of the densities of the points.

        Parameters
        ----------
        weights : mapping of name to number, or sequence
        x, y : array-like
        noise : float, optional
            σ; by default that of the family.
        """
        sigma = self._known_noise("the likelihood") if noise is None else _checked_noise(noise)
        errors = self._errors(self.basis.vector(weights), *self._read(x, y))
        return log_likelihood(errors, sigma)

    # The best one

    def ml(self, x: Any, y: Any) -> LinearFit:
        """Return the hypothesis of maximum likelihood, the one of least squares.

        Parameters
        ----------
        x : array-like
            Numbers, or rows of numbers.
        y : array-like
            A number for each of them.

        Raises
        ------
        DataError
            Where the data do not determine the weights (fewer points than weights, or basis functions that are
            combinations of each other at these points), and where the points lie exactly on the curve while the noise
            is to be estimated: the likelihood then has no maximum.
        """
        design, target = self._read(x, y)
        found = least_squares(design, target)
        check_determined(found, self.basis.names, len(target))
        errors = target - design @ found.weights
        sigma = self._estimated(errors, target) if self.noise is None else self.noise
        return self._fit(found, sigma, errors, None)

    def map(self, x: Any, y: Any, *, prior_variance: Any) -> LinearFit:
        """Return the most probable hypothesis under a Gaussian prior, with the posterior around it.

        Parameters
        ----------
        x, y : array-like
            As in :meth:`ml`.
        prior_variance : float, or one for each weight as a mapping or sequence
            τ², the variance of a weight around 0; infinity leaves a weight free.

        Notes
        -----
        σ must be known, because prior and data are weighed by it. ``ml(x, y).noise`` is an estimate.
        """
        sigma, belief = self._known_noise("the posterior"), read_prior(self.basis, prior_variance)
        design, target = self._read(x, y)
        seen_before = belief.rows * sigma
        rows = np.concatenate([design, seen_before])
        found = least_squares(rows, np.concatenate([target, np.zeros(len(seen_before))]))
        check_determined(found, self.basis.names, len(rows))
        return self._fit(found, sigma, target - design @ found.weights, belief)

    def _fit(self, found: Solution, sigma: float, errors: np.ndarray, prior: GaussianPrior | None) -> LinearFit:
        root = found.root * sigma
        check_size(found.weights, root)
        log_det = found.log_det + 2.0 * len(found.weights) * math.log(sigma)
        return LinearFit(self, locked(found.weights), locked(root), log_det, sigma, locked(errors), prior)

    # What was given

    def _read(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        design = self.basis.design(x)
        target = as_targets(y, len(design))
        check_finite("y", target)
        return design, target

    def _errors(self, weights: np.ndarray, design: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            errors = target - design @ weights
        check_finite("the errors y − h(x)", errors)
        return errors

    def _known_noise(self, what: str) -> float:
        if self.noise is None:
            hint = "Write LinearFamily(…, noise=σ); ml(x, y).noise is an estimate of it."
            raise DataError(f"the noise must be known for {what}; got none. {hint}")
        return self.noise

    def _estimated(self, errors: np.ndarray, target: np.ndarray) -> float:
        largest, sigma = float(np.abs(target).max()), root_mean_square(errors)
        if sigma <= _EXACT * largest:
            hint = "Give the noise of a measurement: LinearFamily(…, noise=σ)."
            raise DataError(
                f"the points must not lie exactly on the curve where the noise is estimated; they do. {hint}"
            )
        return sigma


def _checked_noise(noise: Any) -> float:
    sigma = check_number("the noise", noise, above=0)
    check_finite("the noise", np.array([sigma]))
    return sigma
