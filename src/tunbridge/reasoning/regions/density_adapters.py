"""Distributions of scipy.stats as densities.

Decisions need three things of a density on the line: its logarithm, the probability between two points, and a grid of
points that is fine where the probability is. A distribution has a distribution function and quantiles, and quantiles
are such a grid. Normal distributions become Gaussians, for which the answers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.regions.densities import Gaussian
from tunbridge.reasoning.regions.function_density import Density

_SHARES = np.union1d(1.0 / (1.0 + np.exp(np.linspace(2.0, 30.0, 57))), np.linspace(0.01, 0.5, 50))
_NEEDED = ("logpdf", "cdf", "sf", "ppf", "isf", "support")


@final
@dataclass(frozen=True, eq=False, repr=False)
class KnownDistribution:
    """A distribution of scipy.stats on the line.

    Parameters
    ----------
    distribution
        A frozen continuous distribution, or a histogram of it (``rv_histogram``).
    """

    distribution: Any
    n_dimensions = 1
    precision = 1e-14

    @cached_property
    def support(self) -> tuple[float, float]:
        """The ends of where the density is above 0."""
        low, high = self.distribution.support()
        return float(low), float(high)

    def log_pdf(self, x: Any) -> Any:
        """Return the natural logarithm of the density at points; −∞ outside the support."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.distribution.logpdf(np.asarray(x, np.float64)))
        return np.where(np.isnan(found), -np.inf, found)

    def pdf(self, x: Any) -> Any:
        """Return the density at points."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_pdf(x))

    def probability(self, low: Any, high: Any) -> Any:
        """Return the probability between low and high; small ones at the upper end keep their digits."""
        below, above = ((f(low), f(high)) for f in (self.distribution.cdf, self.distribution.sf))
        return np.maximum(np.where(below[0] > 0.5, above[0] - above[1], below[1] - below[0]), 0.0)

    @cached_property
    def grid(self) -> np.ndarray:
        """Points from end to end of what matters: quantiles, and points just outside the support."""
        points = np.concatenate([self.distribution.ppf(_SHARES), self.distribution.isf(_SHARES), self.support])
        points = np.unique(points[np.isfinite(points)])
        return np.concatenate([[np.nextafter(points[0], -np.inf)], points, [np.nextafter(points[-1], np.inf)]])

    def __repr__(self) -> str:
        given = getattr(self.distribution, "dist", None)
        if given is None:
            return shortened(str(self.distribution).splitlines()[0])
        words = [f"{v:g}" for v in self.distribution.args] + [f"{k}={v:g}" for k, v in self.distribution.kwds.items()]
        return f"{given.name}({', '.join(words)})"


PlaneDensity: TypeAlias = Gaussian | Density
AnyDensity: TypeAlias = PlaneDensity | KnownDistribution


def as_density(name: Any, given: Any) -> AnyDensity:
    """Return what is given for a class as a density; raise with what it may be."""
    if isinstance(given, Gaussian | Density | KnownDistribution):
        return given
    if hasattr(given, "cov") and hasattr(given, "logpdf"):  # scipy's multivariate_normal
        return Gaussian(np.ravel(given.mean), variance=given.cov)
    base = getattr(given, "dist", given)
    if "rv_discrete" in {kind.__name__ for kind in type(base).__mro__}:
        raise DataError(f"the density of {name!r} must be of a continuous distribution; got {base.name}.")
    if all(callable(getattr(given, method, None)) for method in _NEEDED):
        return _known(name, given)
    hint = "Wrap a function and where it is above 0: Density(function, support=(low, high))."
    if isinstance(given, tuple | list | np.ndarray):
        hint = "Write Gaussian(mean, variance=…) for a normal one."
    rule = "must be a Gaussian, a frozen continuous distribution of scipy.stats, or a Density"
    raise DataError(f"the density of {name!r} {rule}; got {shortened(repr(given))}. {hint}")


def _known(name: Any, given: Any) -> Gaussian | KnownDistribution:
    """Return a distribution with a distribution function; raise unless it is one, with its parameters."""
    try:
        n = np.size(given.cdf(0.0))
    except TypeError:
        told = f"{getattr(given, 'name', 'a distribution')} without its parameters"
        raise DataError(f"the density of {name!r} must be frozen; got {told}. Call it with them first.") from None
    if n != 1:
        raise DataError(f"the density of {name!r} must be one distribution; got {n} of them in one.")
    if getattr(getattr(given, "dist", None), "name", "") == "norm":
        return Gaussian(float(given.mean()), variance=float(given.var()))
    return KnownDistribution(given)
