"""A fitted hypothesis of a linear family: its weights, how well it fits, what it predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tunbridge._check import counted
from tunbridge.errors import DataError
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.likelihood.basis import is_single
from tunbridge.reasoning.likelihood.family_lines import linear_lines
from tunbridge.reasoning.likelihood.gaussian_prior import GaussianPrior

if TYPE_CHECKING:
    from tunbridge.reasoning.likelihood.linear_family import LinearFamily


@final
@dataclass(frozen=True, eq=False, repr=False)
class LinearFit:
    """A hypothesis of a :class:`LinearFamily`, with what it was chosen for.

    Parameters
    ----------
    family : LinearFamily
    vector : ndarray
        The weights, in the order of the basis functions.
    root : ndarray
        A root of the posterior covariance of the weights.
    log_det : float
        The logarithm of the determinant of that covariance.
    noise : float
        The standard deviation σ of the noise, known or estimated.
    errors : ndarray
        y − h(x) of each point.
    prior : GaussianPrior or None
        None where likelihood was all that counted.
    """

    family: LinearFamily
    vector: np.ndarray
    root: np.ndarray
    log_det: float
    noise: float
    errors: np.ndarray
    prior: GaussianPrior | None

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of their basis functions."""
        return dict(zip(self.family.basis.names, self.vector.tolist(), strict=True))

    @property
    def covariance(self) -> np.ndarray:
        """The posterior covariance of the weights; after :meth:`LinearFamily.ml` that of a flat prior with this σ."""
        return self.root @ self.root.T

    @property
    def n_points(self) -> int:
        """How many points there were."""
        return len(self.errors)

    @property
    def squared_error(self) -> float:
        """Σ (y − h(x))²."""
        return sum_of_squares(self.errors)

    @property
    def log_likelihood(self) -> float:
        """The logarithm of P(D | w, σ)."""
        return log_likelihood(self.errors, self.noise)

    @property
    def log_evidence(self) -> float:
        """The logarithm of P(D), the likelihood averaged over the prior: what models are compared by.

        It is ln P(D | ŵ) + ln P(ŵ) − ln P(ŵ | D), which holds at any w and is easy at the most probable one.
        """
        if self.prior is None or not self.prior.is_proper:
            hint = "Use map(…, prior_variance=…), with finite variances."
            raise DataError(f"the evidence must have a prior over every weight; got none. {hint}")
        log_posterior = -0.5 * (len(self.vector) * math.log(2.0 * math.pi) + self.log_det)
        return self.log_likelihood + self.prior.log_density(self.vector) - log_posterior

    def predict(self, x: Any) -> Any:
        """Return h(x), an array; of a single number a number."""
        means = self.family.basis.design(x) @ self.vector
        return float(means[0]) if is_single(x) else means

    def predictive(self, x: Any) -> tuple[Any, Any]:
        """Return mean and standard deviation of a new measurement at x, the doubt about the weights included.

        Examples
        --------
        >>> from tunbridge.reasoning import LinearFamily
        >>> fit = LinearFamily(1, noise=0.2).map([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8], prior_variance=1.0)
        >>> mean, deviation = fit.predictive([1.5, 10])
        >>> mean.round(2).tolist(), deviation.round(2).tolist()
        ([3.99, 20.46], [0.22, 0.78])
        """
        design = self.family.basis.design(x)
        doubt = np.square(design @ self.root).sum(axis=1)
        means, deviations = design @ self.vector, np.sqrt(self.noise**2 + doubt)
        return (float(means[0]), float(deviations[0])) if is_single(x) else (means, deviations)

    def derivation(self) -> Derivation:
        """Return why this hypothesis is the best: the likelihood with the numbers in it.

        Examples
        --------
        >>> from tunbridge.reasoning import LinearFamily
        >>> print(LinearFamily(1).ml([0, 1, 2, 3], [1.1, 2.9, 5.2, 6.8]).derivation())
        SSE = Σ (y − h(x))² = 0.01^2 + (-0.13)^2 + 0.23^2 + (-0.11)^2 = 0.082
        σ² = SSE / n = 0.082 / 4 = 0.0205
        ln P(D | w) = −(n/2) ln(2πσ²) − SSE / 2σ²
                    = −(4/2) ln(2π × 0.0205) − 0.082 / (2 × 0.0205)
                    = 2.09891
        The larger SSE, the smaller P(D | w): least squares is maximum likelihood.
        """
        return linear_lines(self)

    def __repr__(self) -> str:
        kind = "ML" if self.prior is None else "MAP"
        return "\n".join(
            [
                f"{kind} fit of {counted(len(self.vector), 'weight')} to {counted(self.n_points, 'point')}: "
                f"{weights_text(self.weights)}",
                f"noise {self.noise:.6g}, squared error {self.squared_error:.6g}, "
                f"log-likelihood {self.log_likelihood:.6g}",
            ]
        )


def weights_text(weights: Mapping[str, float], most: int = 8) -> str:
    """Return weights for people, the first few of many."""
    shown = [f"{name} = {value:.6g}" for name, value in list(weights.items())[:most]]
    return ", ".join([*shown, f"… ({len(weights)} in all)"] if len(weights) > most else shown)


def root_mean_square(errors: np.ndarray) -> float:
    """Return the root of the mean square, even where squares are too small for a float."""
    largest = float(np.abs(errors).max())
    return largest * math.sqrt(float(np.square(errors / largest).mean())) if largest > 0.0 else 0.0


def sum_of_squares(errors: np.ndarray) -> float:
    """Return Σ e²."""
    return float(np.square(errors).sum())


def log_likelihood(errors: np.ndarray, sigma: float) -> float:
    """Return the sum of ln N(e; 0, σ²)."""
    constant = -len(errors) * (0.5 * math.log(2.0 * math.pi) + math.log(sigma))
    with np.errstate(over="ignore"):
        return constant - 0.5 * float(np.square(errors / sigma).sum())
