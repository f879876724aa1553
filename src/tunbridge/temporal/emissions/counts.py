"""Emissions of counts: Poisson and negative binomial, in each column on its own.

    Poisson(λ):                 p(x) = λˣ e^{−λ} / x!
    negative binomial (m, r):   p(x) = Γ(x + r) / (Γ(r) x!) · (r / (r + m))^r (m / (r + m))^x

The second has the mean m and the variance m + m²/r: a Poisson distribution whose rate is gamma distributed, for counts
that vary more. Its size r solves Σ_i w_i (ψ(x_i + r) − ψ(r)) = Σ_i w_i ln(1 + m / r), which has a solution where the
variance of the data is above their mean (Bliss and Fisher); elsewhere r is ``most``, nearly Poisson.

References
----------
C. I. Bliss, R. A. Fisher (1953). Fitting the negative binomial distribution to biological data. Biometrics 9, 176–200.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self, final

import numpy as np

from tunbridge.errors import DataError
from tunbridge.temporal.emissions.base import (
    IMPOSSIBLE,
    Conjugate,
    Emission,
    Values,
    as_counts,
    as_parameters,
    as_positive,
    as_weights,
    check_known,
    check_settings,
    gamma_divergence,
    put,
    special,
)

_ROUNDS = 60  # steps of Newton's method, or halvings of the interval: these alone suffice
_LEAST_SIZE = 1e-6
_SMALL = 4096  # counts below it need no sorting


@final
@dataclass(frozen=True, eq=False)
class Poisson(Emission):
    """A Poisson distribution of each column in each state.

    Parameters
    ----------
    prior_shape, prior_rate : float
        The prior Gamma(a, b) of the rates, whose mode is estimated: (Σ w x + a − 1) / (Σ w + b), at least 0. The
        default a = 1, b = 0 is maximum likelihood. Bayesian learning takes 1 / (mean of the column) for b = 0: an
        exponential prior with the mean of the data.
    rates : array (K, d), optional
        Known parameters λ ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> x, weights = np.array([[0.0], [2.0], [9.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> Poisson().fit(x, weights).rates.tolist()
    [[1.0], [9.0]]
    """

    prior_shape: float = 1.0
    prior_rate: float = 0.0
    _: KW_ONLY
    rates: Values = None

    def __post_init__(self) -> None:
        check_settings(prior_shape=self.prior_shape, prior_rate=self.prior_rate)
        if self.rates is not None:
            put(self, rates=as_parameters("rates", self.rates, (None, None), low=0.0))

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_j ln p(x_ij | λ_kj) over the known values, for each row and state."""
        check_known(self, self.rates)
        return _poisson_logs(x, _log(self.rates), self.rates)

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with its most probable rates given weighted rows."""
        totals, sums = _sums(x, weights, self.rates)
        n = totals + self.prior_rate
        known = sums.sum(0) / np.maximum(totals.sum(0), 1e-300) if self.rates is None else self.rates
        rates = np.maximum(sums + (self.prior_shape - 1.0), 0.0) / np.where(n > 0.0, n, 1.0)
        return replace(self, rates=np.where(n > 0.0, rates, known))

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a row of counts for each state."""
        check_known(self, self.rates)
        return rng.poisson(self.rates[states]).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """K d."""
        return 0 if self.rates is None else self.rates.size

    def log_prior(self) -> float:
        """Return Σ ((a − 1) ln λ − b λ)."""
        if self.rates is None:
            return 0.0
        return float((special.xlogy(self.prior_shape - 1.0, self.rates) - self.prior_rate * self.rates).sum())

    def posterior(self, x: np.ndarray, weights: np.ndarray) -> GammaPosterior:
        """Return the gamma posteriors of the rates."""
        if self.prior_shape <= 0.0:
            raise DataError(f"prior_shape must be greater than 0 for Bayesian learning; got {self.prior_shape}.")
        totals, sums = _sums(x, weights, self.rates)
        pooled = sums.sum(0) / np.maximum(totals.sum(0), 1e-300)
        weak = 1.0 / np.where(pooled > 0.0, pooled, 1.0)
        rate = np.full(len(pooled), self.prior_rate) if self.prior_rate > 0.0 else weak
        return GammaPosterior(self, self.prior_shape + sums, rate + totals, rate)


@final
@dataclass(frozen=True, eq=False)
class GammaPosterior(Conjugate):
    """λ_kj ~ Gamma(a_kj, b_kj), where b are rates.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson(1, 1).posterior(np.array([[3.0]]), np.ones((1, 1))).mean().rates.tolist()
    [[2.0]]
    """

    emission: Poisson
    shapes: np.ndarray
    rates: np.ndarray
    prior_rates: np.ndarray

    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_j (x_ij (ψ(a_kj) − ln b_kj) − a_kj / b_kj − ln x_ij!)."""
        return _poisson_logs(x, special.digamma(self.shapes) - np.log(self.rates), self.shapes / self.rates)

    def divergence(self) -> float:
        """Return the divergence of the posterior from the prior."""
        prior = np.full(self.shapes.shape, float(self.emission.prior_shape))
        return gamma_divergence(self.shapes, self.rates, prior, self.prior_rates)

    def draw(self, rng: np.random.Generator) -> Poisson:
        """Return a Poisson emission with rates drawn from the posterior."""
        return replace(self.emission, rates=rng.gamma(self.shapes) / self.rates)

    def mean(self) -> Poisson:
        """Return the Poisson emission of the posterior means."""
        return replace(self.emission, rates=self.shapes / self.rates)


@final
@dataclass(frozen=True, eq=False)
class NegativeBinomial(Emission):
    """A negative binomial distribution of each column in each state.

    Parameters
    ----------
    most : float
        The largest size r, for counts that vary no more than Poisson's.
    means, sizes : arrays (K, d), optional
        Known parameters m ≥ 0 and r > 0.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [0.0], [1.0], [4.0], [15.0]])
    >>> fitted = NegativeBinomial().fit(x, np.ones((5, 1)))
    >>> fitted.means.tolist(), fitted.sizes.round(3).tolist()
    ([[4.0]], [[0.37]])
    """

    most: float = 1e6
    _: KW_ONLY
    means: Values = None
    sizes: Values = None

    def __post_init__(self) -> None:
        check_settings(most=self.most)
        if (self.means is None) != (self.sizes is None):
            raise DataError("means and sizes must be given together; got one of them.", parameter="sizes")
        if self.means is not None:
            means = as_parameters("means", self.means, (None, None), low=0.0)
            put(self, means=means, sizes=as_positive("sizes", self.sizes, means.shape))

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_j ln p(x_ij | m_kj, r_kj) over the known values, for each row and state."""
        check_known(self, self.means)
        m, r = self.means, self.sizes
        x, missing = as_counts(x, m.shape[1])
        y = x if missing is None else np.where(missing, 0.0, x)
        nothing, success = -r * np.log1p(m / r), _log(m) - np.log(m + r)
        logs = _summed(y, missing, success, nothing)
        for j in range(x.shape[1]):
            values, places = _distinct(y[:, j])
            grown = special.gammaln(values[:, None] + r[:, j]) - special.gammaln(r[:, j])
            logs += (grown - special.gammaln(values + 1.0)[:, None])[places]
        return logs

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with its likeliest means and sizes given weighted rows."""
        totals, sums = _sums(x, weights, self.means)
        x, weights = np.asarray(x, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        used = totals > 0.0
        means = sums / np.where(used, totals, 1.0)
        sizes = np.column_stack([self._sizes(x[:, j], weights, means[:, j]) for j in range(x.shape[1])])
        pooled = np.tile(sums.sum(0) / np.maximum(totals.sum(0), 1e-300), (len(totals), 1))
        old = (pooled, np.full(pooled.shape, self.most)) if self.means is None else (self.means, self.sizes)
        return replace(self, means=np.where(used, means, old[0]), sizes=np.where(used, sizes, old[1]))

    def _sizes(self, x: np.ndarray, weights: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the size of each state by Newton's method for ln r, kept within an interval that has the solution."""
        seen = ~np.isnan(x)
        values, places = _distinct(x[seen])
        k = weights.shape[1]
        cells = places[:, None] * k + np.arange(k)
        sums = np.bincount(cells.ravel(), weights[seen].ravel(), len(values) * k).reshape(-1, k)
        n = sums.sum(0)
        w = sums / np.where(n > 0.0, n, 1.0)
        low, high = np.full(k, np.log(_LEAST_SIZE)), np.full(k, np.log(self.most))
        spread = (w * (values[:, None] - m) ** 2).sum(0) - m
        is_wide = spread > 0.0
        spread = np.where(is_wide, spread, 1.0)
        at = np.clip(2.0 * np.log(np.maximum(m, 1e-300)) - np.log(spread), low, high)
        for _ in range(_ROUNDS):
            slope, bend = _slopes(values[:, None], w, m, np.exp(at))
            low, high = np.where(slope > 0.0, at, low), np.where(slope > 0.0, high, at)
            moved = at - slope / np.where(bend < 0.0, bend, -np.inf)
            before, at = at, np.where((moved > low) & (moved < high) & (bend < 0.0), moved, (low + high) / 2.0)
            if np.abs(at - before).max() < 1e-12:
                break
        return np.where(is_wide, np.exp(at), self.most)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a row of counts for each state."""
        check_known(self, self.means)
        rates = rng.gamma(self.sizes[states]) * (self.means / self.sizes)[states]
        return rng.poisson(rates).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """2 K d."""
        return 0 if self.means is None else 2 * self.means.size


def _slopes(x: np.ndarray, w: np.ndarray, m: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second derivative of the mean log-likelihood with respect to ln r."""
    first = (w * (special.digamma(x + r) - special.digamma(r))).sum(0) - np.log1p(m / r)
    second = (w * (special.polygamma(1, x + r) - special.polygamma(1, r))).sum(0) + m / (r * (r + m))
    return r * first, r * first + r * r * second


def _log(rates: np.ndarray) -> np.ndarray:
    """Return ln λ, a number for ln 0."""
    return np.where(rates > 0.0, np.log(np.where(rates > 0.0, rates, 1.0)), IMPOSSIBLE)


def _sums(x: np.ndarray, weights: np.ndarray, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of known values and their weighted sums, by state and column."""
    x, missing = as_counts(x, None if known is None else known.shape[1])
    weights = as_weights(weights, len(x), None if known is None else len(known))
    if missing is None:
        return np.repeat(weights.sum(0)[:, None], x.shape[1], axis=1), weights.T @ x
    return weights.T @ ~missing, weights.T @ np.where(missing, 0.0, x)


def _distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts among which those of a column are, in order, and the place of each: what is costly is done once."""
    if len(x) and x.max() < _SMALL:
        places = x.astype(np.int64)
        return np.arange(places.max() + 1.0), places
    values, places = np.unique(x, return_inverse=True)
    return values, places


def _poisson_logs(x: np.ndarray, logs: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return Σ_j (x_ij ln λ_kj − λ_kj − ln x_ij!) over the known values, for each row and state."""
    x, missing = as_counts(x, rates.shape[1])
    y = x if missing is None else np.where(missing, 0.0, x)
    out = _summed(y, missing, logs, -rates)
    for j in range(y.shape[1]):
        values, places = _distinct(y[:, j])
        out -= special.gammaln(values + 1.0)[places][:, None]
    return out


def _summed(y: np.ndarray, missing: np.ndarray | None, logs: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Return Σ_j (y_ij l_kj + c_kj) over the known values; −∞ where a count has probability 0."""
    out = y @ logs.T
    out += constants.sum(1) if missing is None else ~missing @ constants.T
    if logs.size and logs.min() <= IMPOSSIBLE / 2.0:
        out[out < IMPOSSIBLE / 2.0] = -np.inf
    return out
