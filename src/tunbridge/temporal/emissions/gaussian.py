"""The Gaussian emission: in state k observations are N(μ_k, Σ_k).

With n_k = Σ_i w_ik the weight of state k, the estimates are weighted means and covariances

    μ_k = Σ_i w_ik x_i / n_k,     Σ_k = Σ_i w_ik (x_i − μ_k)(x_i − μ_k)ᵀ / n_k;

a diagonal covariance keeps the variances, a spherical one their mean, and a tied one is the mean over states weighted
by n_k. A prior of ``prior_weight`` = p imagined observations in each state, with the mean m and the variances C of the
data, adds p to n_k and p C, and the distance of the means, to the sums: this is the mode under a normal–inverse-Wishart
prior. No variance is below ``floor`` times that of the data, and the estimate is the likeliest one of these.

Missing values: with variances only, every column is estimated from its known values. With full and tied covariances
``fit`` is one step of EM with the present parameters.

References
----------
C. Fraley, A. E. Raftery (2007). Bayesian regularization for normal mixture estimation and model-based clustering.
Journal of Classification 24, 155–181.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, final

import numpy as np

from tunbridge._core.check import check_choice
from tunbridge.errors import DataError
from tunbridge.temporal.emissions.base import (
    Emission,
    Values,
    as_parameters,
    as_positive,
    as_rows,
    as_weights,
    check_known,
    check_settings,
    put,
)
from tunbridge.temporal.emissions.moments import Moments, diagonal_logs, scatters_of
from tunbridge.temporal.emissions.posteriors import NormalGammaPosterior, NormalWishartPosterior
from tunbridge.temporal.emissions.regression import (
    LEAST,
    Regressions,
    as_covariances,
    expected_moments,
    floored,
    pooled,
    regression_logs,
    warn_of_floor,
)

COVARIANCES = ("full", "diagonal", "spherical", "tied")


@final
@dataclass(frozen=True, eq=False)
class Gaussian(Emission):
    """A Gaussian in each state.

    Parameters
    ----------
    covariance : "full", "diagonal", "spherical" or "tied"
        A covariance matrix for each state, variances only, one variance for all columns, or one matrix for all states.
    prior_weight : float
        How many imagined observations with the mean and the variances of the data each state has.
    floor : float
        The least variance, as a fraction of a column's variance in the data.
    means : array (K, d), optional
        Known parameters, together with covariances.
    covariances : array, optional
        Of shape (K, d, d), (K, d), (K,) or (d, d), as ``covariance`` says.
    prior_means, prior_variances : arrays (d,), optional
        The imagined observations; default: those of the data of the first ``fit``, kept from then on.

    Notes
    -----
    Bayesian learning has the prior μ_k | Σ_k ~ N(m, Σ_k / κ), Σ_k ~ inverse-Wishart(ν, Ψ) with κ = p, ν = d + 1 + p and
    Ψ = p diag(C). For p = 0 it is weak: κ = 0.01, ν = d + 2, Ψ = diag(C) / K^(2/d) (Fraley and Raftery, 2007).
    Variances have the same prior in each column alone (d = 1 in ν). Where the covariance is full, missing values are
    completed with their expectations under the present parameters.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0], [3.0], [10.0], [14.0]])
    >>> weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> fitted = Gaussian("diagonal").fit(x, weights)
    >>> fitted.means.ravel().tolist(), fitted.covariances.ravel().tolist()
    ([2.0, 12.0], [1.0, 4.0])
    >>> fitted.log_likelihood(np.array([[2.0]])).round(2).tolist()
    [[-0.92, -14.11]]
    """

    covariance: str = "full"
    prior_weight: float = 0.0
    floor: float = 1e-6
    _: KW_ONLY
    means: Values = None
    covariances: Values = None
    prior_means: Values = None
    prior_variances: Values = None

    def __post_init__(self) -> None:
        check_choice("covariance", self.covariance, COVARIANCES)
        check_settings(prior_weight=self.prior_weight, floor=self.floor)
        if (self.means is None) != (self.covariances is None):
            raise DataError("means and covariances must be given together; got one of them.", parameter="covariances")
        if self.means is not None:
            means = as_parameters("means", self.means, (None, None))
            put(self, means=means, covariances=self._checked(means.shape))
        if self.prior_means is not None:
            put(self, prior_means=as_parameters("prior_means", self.prior_means, (None,)))
        if self.prior_variances is not None:
            put(self, prior_variances=as_positive("prior_variances", self.prior_variances, (None,)))

    def _checked(self, shape: tuple[int, int]) -> np.ndarray:
        k, d = shape
        if self.covariance in ("full", "tied"):
            return as_covariances("covariances", self.covariances, (k, d, d) if self.covariance == "full" else (d, d))
        return as_positive("covariances", self.covariances, shape if self.covariance == "diagonal" else (k,))

    def _variances(self) -> np.ndarray:
        """Return variances (K, d) of a diagonal or spherical covariance."""
        check_known(self, self.means)
        v = self.covariances if self.covariance == "diagonal" else self.covariances[:, None]
        return np.broadcast_to(v, self.means.shape)

    def _regressions(self) -> Regressions:
        """Return means and covariance matrices (K, d, d) of a full or tied covariance."""
        check_known(self, self.means)
        k, d = self.means.shape
        matrices = np.broadcast_to(self.covariances, (k, d, d))
        return Regressions(self.means, np.zeros((k, d, 0)), matrices)

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return ln N(x_i; μ_k, Σ_k) of the known values of each row, in each state."""
        return self.logs(x)

    def logs(self, x: np.ndarray, *, normalized: bool = True) -> np.ndarray:
        """Return the log-likelihood, or without its constants: minus half the squared Mahalanobis distances."""
        check_known(self, self.means)
        x, missing = as_rows(x, self.means.shape[1])
        if self.covariance in ("full", "tied"):
            return regression_logs(x, missing, self._regressions(), normalized=normalized)
        return diagonal_logs(
            x,
            self.means,
            self._variances(),
            has_missing=missing is not None,
            normalized=normalized,
        )

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with its most probable parameters given weighted rows."""
        known, x, missing, weights = self.started(x, weights)
        found = known.moments(x, missing, weights)
        return known.estimated(found, found.totals, self.covariances)

    def started(self, x: np.ndarray, weights: np.ndarray) -> tuple[Self, np.ndarray, np.ndarray | None, np.ndarray]:
        """Return the emission with parameters, of all data together at first; and x, its missing values, weights."""
        x, missing = as_rows(x, None if self.means is None else self.means.shape[1])
        weights = as_weights(weights, len(x), None if self.means is None else len(self.means))
        m, v = self.prior_means, self.prior_variances
        if m is None or v is None:
            means, variances = pooled(x, missing, weights)
            m, v = means if m is None else m, variances if v is None else v
        if self.means is not None:
            return replace(self, prior_means=m, prior_variances=v), x, missing, weights
        k = weights.shape[1]
        cov = {"diagonal": np.tile(v, (k, 1)), "spherical": np.full(k, v.mean()), "tied": np.diag(v)}
        first = cov.get(self.covariance, np.tile(np.diag(v), (k, 1, 1)))
        means = np.tile(m, (k, 1))
        return replace(self, means=means, covariances=first, prior_means=m, prior_variances=v), x, missing, weights

    def moments(
        self, x: np.ndarray, missing: np.ndarray | None, weights: np.ndarray, spread: np.ndarray | None = None
    ) -> Moments:
        """Return the expected moments of weighted rows under the present parameters."""
        if self.covariance in ("full", "tied"):
            return expected_moments(x, missing, weights, self._regressions(), spread)
        return scatters_of(x, weights, has_missing=missing is not None)

    def estimated(self, found: Moments, weights: np.ndarray, before: np.ndarray | None) -> Self:
        """Return the emission with the parameters that moments and the prior give; scatters are divided by weights."""
        p, m0, c0 = self.prior_weight, self.prior_means, self.prior_variances
        is_full = found.scatters.ndim == 3
        totals = found.totals[:, None] if is_full else found.totals  # (K, 1) or (K, d)
        used = totals + p > LEAST
        n = np.where(used, totals + p, 1.0)
        means = np.where(used, (totals * found.means + p * m0) / n, self.means)
        gaps = (found.means - m0) * np.sqrt(totals * p / n)
        added = gaps[:, :, None] * gaps[:, None, :] + p * np.diag(c0) if is_full else gaps**2 + p * c0
        divisors = (weights[:, None] if is_full else weights) + p
        covariances, low = self._covariances(found.scatters + added, divisors, used)
        warn_of_floor("Gaussian", low, before, self._least(), is_matrix=is_full)
        return replace(self, means=means, covariances=covariances)

    def _least(self) -> np.ndarray:
        least = self.floor * self.prior_variances
        return least.mean() if self.covariance == "spherical" else least

    def _covariances(self, s: np.ndarray, n: np.ndarray, used: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return covariances from sums s of weight n, not below the floor, and which ones would have been."""
        if self.covariance == "tied":
            s, n, used = s.sum(0), n.sum(), used.any()
        elif self.covariance == "spherical":
            s, n, used = s.sum(1), np.where(used, n, 0.0).sum(1), used.any(1)
        elif self.covariance == "full":
            n, used = n[..., None], used[..., None]
        means = np.where(used, s / np.where(used, n, 1.0), self.covariances)
        if self.covariance in ("full", "tied"):
            raised, low = floored(means, self._least())
            return raised, low & (used.ravel() if self.covariance == "full" else used)
        return np.maximum(means, self._least()), (means < self._least()) & used

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return an observation for each state."""
        check_known(self, self.means)
        noise = rng.standard_normal((len(states), self.means.shape[1]))
        if self.covariance in ("diagonal", "spherical"):
            return self.means[states] + noise * np.sqrt(self._variances())[states]
        for k, root in enumerate(np.linalg.cholesky(self._regressions().covariances)):
            noise[states == k] = noise[states == k] @ root.T
        return self.means[states] + noise

    @property
    def n_parameters(self) -> int:
        """K d for the means, and the covariances."""
        if self.means is None:
            return 0
        k, d = self.means.shape
        pairs = d * (d + 1) // 2
        return k * d + {"full": k * pairs, "diagonal": k * d, "spherical": k, "tied": pairs}[self.covariance]

    def log_prior(self) -> float:
        """Return the expected log-likelihood of the imagined observations."""
        p, m0, c0 = self.prior_weight, self.prior_means, self.prior_variances
        if p == 0.0 or self.means is None or m0 is None or c0 is None:
            return 0.0
        at_means = self.logs(m0[None]).sum()
        if self.covariance in ("diagonal", "spherical"):
            return float(p * (at_means - 0.5 * (c0 / self._variances()).sum()))
        precisions = np.linalg.inv(self._regressions().covariances)
        return float(p * (at_means - 0.5 * (np.diagonal(precisions, axis1=1, axis2=2) * c0).sum()))

    def posterior(self, x: np.ndarray, weights: np.ndarray) -> NormalWishartPosterior | NormalGammaPosterior:
        """Return the normal–Wishart posterior, or normal–gamma posteriors of columns; not for tied covariances."""
        if self.covariance == "tied":
            raise DataError("covariance must be full, diagonal or spherical for Bayesian learning; got 'tied'.")
        known, x, missing, weights = self.started(x, weights)
        found, p, (k, d) = known.moments(x, missing, weights), self.prior_weight, known.means.shape
        kappa, strength = (p, p) if p > 0.0 else (0.01, 1.0)
        c0 = known.prior_variances * (strength if p > 0.0 else k ** (-2.0 / d))
        if self.covariance == "full":
            return NormalWishartPosterior.of(known, found, kappa, d + 1 + strength, np.diag(c0))
        return NormalGammaPosterior.of(known, found, kappa, 1.0 + strength / 2.0, c0 / 2.0)
