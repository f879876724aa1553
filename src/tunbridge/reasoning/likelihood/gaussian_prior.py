"""A Gaussian prior over weights: independent ones around 0, each with its variance.

Its logarithm is, but for a constant, −½ Σ w_k² / τ_k², the squared error of K more points: point k has w_k for its
value, measured as 0 with the deviation τ_k. A prior is data in another form. An infinite variance says nothing about
its weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.probability.floats import as_floats, locked
from tunbridge.reasoning.likelihood.basis import Basis, check_finite


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """A Gaussian prior over weights.

    Parameters
    ----------
    variances : ndarray of shape (K,)
        τ² of each weight; ∞ where it is free.
    """

    variances: np.ndarray

    @property
    def is_proper(self) -> bool:
        """Whether it says something about every weight, so that it is a distribution."""
        return bool(np.isfinite(self.variances).all())

    @property
    def common(self) -> float | None:
        """τ², where it is finite and the same for all weights."""
        first = float(self.variances[0])
        return first if (self.variances == first).all() and math.isfinite(first) else None

    @property
    def rows(self) -> np.ndarray:
        """A root of the precision matrix, a row for each weight about which the prior says something."""
        return np.diag(1.0 / np.sqrt(self.variances))[np.isfinite(self.variances)]

    def distance(self, weights: np.ndarray) -> float:
        """Return Σ w² / τ²."""
        return float((weights * weights / self.variances).sum())

    def log_density(self, weights: np.ndarray) -> float:
        """Return ln P(w) of a proper prior."""
        return -0.5 * (float(np.log(2.0 * math.pi * self.variances).sum()) + self.distance(weights))


def read_prior(basis: Basis, given: Any) -> GaussianPrior:
    """Return the prior of one variance, or of one for each weight by name or in order."""
    values = basis._by_name("prior_variance", given) if isinstance(given, Mapping) else given
    array = as_floats("prior_variance", values)
    if array.shape not in ((), (len(basis),)):
        raise DataError(f"prior_variance must be one number, or {len(basis)} of them; got {shortened(repr(given))}.")
    if not (array > 0.0).all():
        hint = "A small variance keeps weights near 0, an infinite one leaves them free."
        raise DataError(f"prior_variance must be above 0; got {array[~(array > 0.0)].flat[0]:g}. {hint}")
    variances = np.array(np.broadcast_to(array, len(basis)))
    check_finite("prior_variance", variances[np.isfinite(variances)])
    with np.errstate(over="ignore"):
        check_finite("the precision 1 / prior_variance", 1.0 / variances)
    return GaussianPrior(locked(variances))
