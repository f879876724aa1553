"""The Student t emission: a Gaussian with heavy tails, so that a few wild observations do not make a state.

In state k an observation has the location μ, the scale matrix Σ and ν degrees of freedom,

    p(x) = Γ((ν + d)/2) / (Γ(ν/2) (νπ)^{d/2} |Σ|^{1/2}) · (1 + δ/ν)^{−(ν + d)/2},     δ = (x − μ)ᵀ Σ⁻¹ (x − μ):

a Gaussian with the covariance Σ / u, where u ~ Gamma(ν/2, ν/2). Given the row, E u = (ν + d) / (ν + δ), and ``fit`` is
one step of EM with these weights under the present parameters: means weighted by w u, scales
Σ w u (x − μ)(x − μ)ᵀ / Σ w, and ν from the expectations of u and ln u. d counts the known values of a row.

References
----------
C. Liu, D. B. Rubin (1995). ML estimation of the t distribution using EM and its extensions, ECM and ECME. Statistica
Sinica 5, 19–39.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self, final

import numpy as np

from tunbridge._core.check import check_choice, check_number
from tunbridge.errors import DataError
from tunbridge.temporal.emissions.base import Emission, Values, as_positive, as_rows, check_known, put, special
from tunbridge.temporal.emissions.gaussian import Gaussian

_FEWEST, _MOST = 0.1, 1e4  # degrees of freedom


@final
@dataclass(frozen=True, eq=False)
class StudentT(Emission):
    """A multivariate t distribution in each state.

    Parameters
    ----------
    covariance : "diagonal", "full", "spherical" or "tied"
        The kind of scale matrix.
    freedom : float, optional
        The degrees of freedom of all states; default: estimated in each.
    floor : float
        The least scale, as a fraction of a column's variance in the data.
    means, scales, freedoms : arrays (K, d), as ``covariance`` says, and (K,), optional
        Known parameters.
    variances : array (d,), optional
        The variances in the data of the first ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0], [100.0]])
    >>> fitted = StudentT(freedom=2)
    >>> for _ in range(50):
    ...     fitted = fitted.fit(x, np.ones((6, 1)))
    >>> fitted.means.round(2).tolist()
    [[0.01]]
    """

    covariance: str = "diagonal"
    freedom: float | None = None
    floor: float = 1e-6
    _: KW_ONLY
    means: Values = None
    scales: Values = None
    freedoms: Values = None
    variances: Values = None

    def __post_init__(self) -> None:
        check_choice("covariance", self.covariance, ("diagonal", "full", "spherical", "tied"))
        if self.freedom is not None:
            check_number("freedom", self.freedom, above=0.0)
        inner = self._gaussian()
        put(self, means=inner.means, scales=inner.covariances, variances=inner.prior_variances)
        if (self.means is None) != (self.freedoms is None):
            raise DataError("means, scales and freedoms must be given together; got some.", parameter="freedoms")
        if self.means is not None:
            put(self, freedoms=as_positive("freedoms", self.freedoms, (len(self.means),)))

    def _gaussian(self) -> Gaussian:
        """Return the Gaussian emission with the same means and the scales as covariances."""
        means = None if self.variances is None else np.zeros(len(self.variances))
        known = {"means": self.means, "covariances": self.scales, "prior_variances": self.variances}
        return Gaussian(self.covariance, floor=self.floor, prior_means=means, **known)

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return the log-density of the known values of each row, in each state."""
        check_known(self, self.means)
        x, missing = as_rows(x)
        distances, d = _distances(self._gaussian(), x)
        volumes = _volumes(self._gaussian(), np.zeros((1, x.shape[1]), dtype=bool) if missing is None else missing)
        half = self.freedoms / 2.0
        constants = special.gammaln(half + d / 2.0) - special.gammaln(half) - d / 2.0 * np.log(half)
        return volumes + constants - (half + d / 2.0) * np.log1p(distances / self.freedoms)

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission after one step of EM from the present parameters."""
        inner, x, missing, weights = self._gaussian().started(x, weights)
        if self.means is None:
            inner = inner.fit(x, weights)  # the moments are where the first step begins
        nu = np.full(weights.shape[1], 10.0 if self.freedom is None else self.freedom)
        nu = nu if self.freedoms is None else self.freedoms
        distances, d = _distances(inner, x)
        weights = weights if missing is None else weights * ~missing.all(1, keepdims=True)
        u = (nu + d) / (nu + distances)
        found = inner.moments(x, missing, weights * u, weights)
        sums = weights.T @ ~missing if missing is not None and found.totals.ndim == 2 else weights.sum(0)
        sums = sums[:, None] + np.zeros_like(found.totals) if sums.ndim < found.totals.ndim else sums
        new = inner.estimated(found, sums, self.scales)
        if self.freedom is None:
            logs = special.digamma((nu + d) / 2.0) - np.log((nu + distances) / 2.0)
            nu = _freedoms(nu, weights.sum(0), (weights * (logs - u)).sum(0))
        scales = new.covariances
        return replace(self, means=new.means, scales=scales, freedoms=nu, variances=new.prior_variances)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return an observation for each state."""
        check_known(self, self.means)
        half = self.freedoms[states] / 2.0
        means = self.means[states]
        return means + (self._gaussian().sample(states, rng) - means) / np.sqrt(rng.gamma(half) / half)[:, None]

    @property
    def n_parameters(self) -> int:
        """Those of a Gaussian, and the degrees of freedom of each state if they are estimated."""
        own = len(self.means) if self.means is not None and self.freedom is None else 0
        return self._gaussian().n_parameters + own


def _distances(inner: Gaussian, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared Mahalanobis distances (n, K), and how many values are known: (n, 1), or (1, 1) for all."""
    x, missing = as_rows(x)
    d = np.full((1, 1), float(x.shape[1])) if missing is None else (~missing).sum(1, keepdims=True, dtype=float)
    return np.maximum(-2.0 * inner.logs(x, normalized=False), 0.0), d


def _volumes(inner: Gaussian, missing: np.ndarray) -> np.ndarray:
    """Return −d/2 ln 2π − ½ ln |Σ| of the known values, (n, K): the log-density of a Gaussian at its mean."""
    kinds, places = np.unique(missing, axis=0, return_inverse=True)
    logs = [inner.logs(np.where(kinds, np.nan, mean))[:, k] for k, mean in enumerate(inner.means)]
    return np.column_stack(logs)[places.ravel()]


def _freedoms(nu: np.ndarray, totals: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the ν with ln(ν/2) − ψ(ν/2) + 1 + mean of (E ln u − u) = 0, by halving the interval of ln ν."""
    mean = 1.0 + sums / np.where(totals > 0.0, totals, 1.0)
    low, high = np.full(len(nu), np.log(_FEWEST / 2.0)), np.full(len(nu), np.log(_MOST / 2.0))
    for _ in range(60):
        middle = (low + high) / 2.0
        is_above = middle - special.digamma(np.exp(middle)) + mean > 0.0  # falls with ν
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.where(totals > 0.0, 2.0 * np.exp((low + high) / 2.0), nu)
