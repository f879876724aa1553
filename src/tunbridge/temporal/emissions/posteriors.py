"""Posteriors of the means and covariances of Gaussians, by state.

With weights w_ik, n_k = Σ_i w_ik, means x̄_k and scatters S_k = Σ_i w_ik (x_i − x̄_k)(x_i − x̄_k)ᵀ, the prior
μ | Λ ~ N(m₀, (κ₀ Λ)⁻¹), Λ ~ Wishart(ν₀, Ψ₀⁻¹) becomes

    κ = κ₀ + n,  ν = ν₀ + n,  m = (κ₀ m₀ + n x̄) / κ,  Ψ = Ψ₀ + S + (κ₀ n / κ) (x̄ − m₀)(x̄ − m₀)ᵀ,
    E ln N(x; μ, Λ⁻¹) = ln N(x; m, Ψ / ν) + ½ (Σ_i ψ((ν + 1 − i) / 2) + d ln (2 / ν)) − d / (2 κ).

Variances have the same in one dimension, written with Gamma(a, b) = Gamma(ν / 2, Ψ / 2) for the precision. A part of
the values of a row has the parts of m and Ψ, and ν less by the number of missing values.

References
----------
K. P. Murphy (2007). Conjugate Bayesian analysis of the Gaussian distribution, sections 3 and 8.
C. M. Bishop (2006). Pattern Recognition and Machine Learning, section 10.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from tunbridge.temporal.emissions.base import Conjugate, as_rows, gamma_divergence, special
from tunbridge.temporal.emissions.moments import Moments, diagonal_logs
from tunbridge.temporal.emissions.regression import Regressions, patterns, regression_logs

if TYPE_CHECKING:
    from tunbridge.temporal.emissions.gaussian import Gaussian


@final
@dataclass(frozen=True, eq=False)
class NormalWishartPosterior(Conjugate):
    """The posterior for full covariances: κ (K,), ν (K,), m (K, d), Ψ (K, d, d), and the prior's."""

    emission: Gaussian
    kappa: np.ndarray
    freedom: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    prior: tuple[float, float, np.ndarray]

    @classmethod
    def of(cls, emission: Gaussian, found: Moments, kappa: float, freedom: float, scale: np.ndarray) -> Self:
        """Return the posterior given moments."""
        n, gaps = found.totals, found.means - emission.prior_means
        factors = kappa * n / (kappa + n)
        scales = scale + found.scatters + factors[:, None, None] * gaps[:, :, None] * gaps[:, None, :]
        means = emission.prior_means + (n / (kappa + n))[:, None] * gaps
        return cls(emission, kappa + n, freedom + n, means, scales, (kappa, freedom, scale))

    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return E ln N(x_i; μ_k, Σ_k) of the known values of each row, in each state."""
        x, missing = as_rows(x, self.means.shape[1])
        if missing is None:
            return self._expected(x, np.arange(x.shape[1]))
        out = np.zeros((len(x), len(self.means)))
        for rows, seen in patterns(missing):
            if len(seen):
                out[rows] = self._expected(x[np.ix_(rows, seen)], seen)
        return out

    def _expected(self, x: np.ndarray, seen: np.ndarray) -> np.ndarray:
        d = len(seen)
        nu = self.freedom - (self.means.shape[1] - d)
        covariances = self.scales[:, seen[:, None], seen] / nu[:, None, None]
        plug_in = regression_logs(x, None, Regressions(self.means[:, seen], np.zeros((len(nu), d, 0)), covariances))
        spread = special.digamma((nu[:, None] - np.arange(d)) / 2.0).sum(1) + d * np.log(2.0 / nu)
        return plug_in + (0.5 * spread - 0.5 * d / self.kappa)

    def divergence(self) -> float:
        """Return the divergence of the posterior from the prior."""
        kappa, freedom, scale = self.prior
        nu, d, inverses = self.freedom, self.means.shape[1], np.linalg.inv(self.scales)
        gaps = self.means - self.emission.prior_means
        far = nu * np.einsum("kd,kde,ke->k", gaps, inverses, gaps)
        ratio = kappa / self.kappa
        of_means = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + kappa * far)
        logs, log0 = np.linalg.slogdet(self.scales)[1], np.linalg.slogdet(scale)[1]
        gammas = special.multigammaln(freedom / 2.0, d) - np.array([special.multigammaln(v / 2.0, d) for v in nu])
        digammas = special.digamma((nu[:, None] - np.arange(d)) / 2.0).sum(1)
        traces = np.einsum("ij,kji->k", scale, inverses)
        of_scales = 0.5 * (freedom * (logs - log0) + (nu - freedom) * digammas + nu * (traces - d)) + gammas
        return float((of_means + of_scales).sum())

    def draw(self, rng: np.random.Generator) -> Gaussian:
        """Return a Gaussian emission with parameters drawn from the posterior (Λ by Bartlett's decomposition)."""
        k, d = self.means.shape
        a = np.tril(rng.standard_normal((k, d, d)), -1)
        a[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(self.freedom[:, None] - np.arange(d)))
        roots = np.linalg.solve(a, np.swapaxes(np.linalg.cholesky(self.scales), 1, 2))  # Σ = rootsᵀ roots
        covariances = np.swapaxes(roots, 1, 2) @ roots
        noise = np.einsum("kji,kj->ki", roots, rng.standard_normal((k, d)))
        means = self.means + noise / np.sqrt(self.kappa)[:, None]
        return replace(self.emission, means=means, covariances=(covariances + np.swapaxes(covariances, 1, 2)) / 2.0)

    def mean(self) -> Gaussian:
        """Return the Gaussian emission of the posterior means."""
        divisors = self.freedom - self.means.shape[1] - 1.0
        return replace(self.emission, means=self.means, covariances=self.scales / divisors[:, None, None])


@final
@dataclass(frozen=True, eq=False)
class NormalGammaPosterior(Conjugate):
    """The posterior for variances: κ, a, b and m of each state and column; a and b (K, 1) for spherical ones."""

    emission: Gaussian
    kappa: np.ndarray
    shapes: np.ndarray
    rates: np.ndarray
    means: np.ndarray
    prior: tuple[float, float, Any]

    @classmethod
    def of(cls, emission: Gaussian, found: Moments, kappa: float, shape: float, rates: np.ndarray) -> Self:
        """Return the posterior given moments."""
        n, gaps = found.totals, found.means - emission.prior_means
        halves = 0.5 * (found.scatters + kappa * n / (kappa + n) * gaps**2)
        a, b = 0.5 * n, halves
        if emission.covariance == "spherical":
            a, b, rates = a.sum(1, keepdims=True), b.sum(1, keepdims=True), rates.mean(keepdims=True)
        means = emission.prior_means + n / (kappa + n) * gaps
        return cls(emission, kappa + n, shape + a, rates + b, means, (kappa, shape, rates))

    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return E ln N(x_i; μ_k, Σ_k) of the known values of each row, in each state."""
        x, missing = as_rows(x, self.means.shape[1])
        variances = np.broadcast_to(self.rates / self.shapes, self.means.shape)
        plug_in = diagonal_logs(x, self.means, variances, has_missing=missing is not None)
        added = 0.5 * (special.digamma(self.shapes) - np.log(self.shapes) - 1.0 / self.kappa)
        return plug_in + (added.sum(1) if missing is None else ~missing @ added.T)

    def divergence(self) -> float:
        """Return the divergence of the posterior from the prior."""
        kappa, shape, rates = self.prior
        ratio, gaps = kappa / self.kappa, self.means - self.emission.prior_means
        of_means = 0.5 * (ratio - 1.0 - np.log(ratio) + kappa * self.shapes / self.rates * gaps**2)
        return float(of_means.sum()) + gamma_divergence(self.shapes, self.rates, shape, rates)

    def draw(self, rng: np.random.Generator) -> Gaussian:
        """Return a Gaussian emission with parameters drawn from the posterior."""
        variances = self.rates / rng.gamma(self.shapes)
        means = self.means + rng.standard_normal(self.means.shape) * np.sqrt(variances / self.kappa)
        return self._with(means, variances)

    def mean(self) -> Gaussian:
        """Return the Gaussian emission of the posterior means."""
        return self._with(self.means, self.rates / (self.shapes - 1.0))

    def _with(self, means: np.ndarray, variances: np.ndarray) -> Gaussian:
        is_spherical = self.emission.covariance == "spherical"
        return replace(self.emission, means=means, covariances=variances[:, 0] if is_spherical else variances)
