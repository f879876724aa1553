"""Emissions made of others: a mixture of Gaussians in each state, and columns that are independent given the state.

    mixture:        p(x | k) = Σ_m π_km N(x; μ_km, Σ_km)
    independence:   p(x | k) = Π_parts p_part(columns of the part | k)

``fit`` of a mixture is one step of EM within the state: component m of state k gets the weight w_ik r_ikm, where r are
the probabilities of the components given the row under the present parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from typing import Any, Self, final

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge.errors import DataError
from tunbridge.temporal.emissions.base import (
    Conjugate,
    Emission,
    Values,
    as_parameters,
    as_probabilities,
    as_rows,
    as_weights,
    check_known,
    check_settings,
    put,
)
from tunbridge.temporal.emissions.gaussian import Gaussian

_SEED = 0  # of the first components
_SHARED = 0.1  # of each row belongs to all of them at first, so that none begins as a single row


@final
@dataclass(frozen=True, eq=False)
class GaussianMixture(Emission):
    """A mixture of Gaussians in each state.

    Parameters
    ----------
    n_components : int
        How many Gaussians M each state has.
    covariance : "full", "diagonal", "spherical" or "tied"
        As in :class:`Gaussian`.
    prior_weight, floor : float
        As in :class:`Gaussian`; the imagined observations are of each component.
    shares, means, covariances : arrays (K, M), (K, M, d), and (K, M, d, d), (K, M, d), (K, M) or (d, d), optional
        Known parameters: the probabilities of components, and their Gaussians.
    prior_means, prior_variances : arrays (d,), optional
        As in :class:`Gaussian`.

    Notes
    -----
    The first ``fit`` starts from components around centres that k-means++ draws among the rows of each state, with a
    fixed random seed.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [100.0], [101.0], [102.0]])
    >>> mixture = GaussianMixture(2, "spherical")
    >>> for _ in range(10):
    ...     mixture = mixture.fit(x, np.ones((5, 1)))
    >>> sorted(mixture.means.ravel().round(6).tolist()), sorted(mixture.shares.ravel().round(6).tolist())
    ([0.5, 101.0], [0.4, 0.6])
    """

    n_components: int = 2
    covariance: str = "full"
    prior_weight: float = 0.0
    floor: float = 1e-6
    _: KW_ONLY
    shares: Values = None
    means: Values = None
    covariances: Values = None
    prior_means: Values = None
    prior_variances: Values = None

    def __post_init__(self) -> None:
        check_integer("n_components", self.n_components, low=1)
        check_settings(prior_weight=self.prior_weight, floor=self.floor)
        if self.shares is not None:
            shares = as_probabilities("shares", self.shares, (None, self.n_components))
            means = as_parameters("means", self.means, (*shares.shape, None))
            put(self, shares=shares, means=means)
            put(self, covariances=self._gaussian().covariances.reshape(np.shape(self.covariances)))
        elif self.means is not None or self.covariances is not None:
            raise DataError("means and covariances must come with shares; got no shares.", parameter="shares")
        else:
            self._gaussian()

    def _gaussian(self) -> Gaussian:
        """Return all components of all states as one Gaussian emission with K M states."""
        means, covariances = self.means, self.covariances
        if means is not None and covariances is not None:
            shape = np.shape(covariances)
            flat = shape if self.covariance == "tied" else (shape[0] * shape[1] if len(shape) > 1 else -1, *shape[2:])
            means, covariances = means.reshape(-1, means.shape[-1]), np.reshape(covariances, flat)
        prior = {"prior_means": self.prior_means, "prior_variances": self.prior_variances}
        return Gaussian(self.covariance, self.prior_weight, self.floor, means=means, covariances=covariances, **prior)

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return ln Σ_m π_km N(x_i; μ_km, Σ_km) of the known values of each row, in each state."""
        return self._responsibilities(x)[1]

    def _responsibilities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of components given rows (n, K, M), and log-likelihoods (n, K)."""
        check_known(self, self.shares)
        logs = self._gaussian().log_likelihood(x).reshape(-1, *self.shares.shape)
        with np.errstate(divide="ignore"):
            logs += np.log(self.shares)
        parts = [logs[:, :, m] for m in range(self.n_components)]  # NumPy is slow along short axes
        top = reduce(np.maximum, parts)
        logs -= top[:, :, None]
        np.exp(logs, out=logs)
        sums = reduce(np.add, parts)
        logs /= sums[:, :, None]
        return logs, np.log(sums) + top

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission after one step of EM from the present parameters."""
        x, missing = as_rows(x)
        weights = as_weights(weights, len(x), None if self.shares is None else len(self.shares))
        m, k = self.n_components, weights.shape[1]
        if missing is not None:
            x, weights = x[~missing.all(1)], weights[~missing.all(1)]
        r = self._first(x, weights) if self.shares is None else self._responsibilities(x)[0]
        inner = self._gaussian().fit(x, (weights[:, :, None] * r).reshape(len(x), k * m))
        sums = np.einsum("nk,nkm->km", weights, r)
        totals = sums.sum(1, keepdims=True)
        old = np.full((k, m), 1.0 / m) if self.shares is None else self.shares
        shares = np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), old)
        shape = np.shape(inner.covariances)
        covariances = np.reshape(inner.covariances, shape if self.covariance == "tied" else (k, m, *shape[1:]))
        means = inner.means.reshape(k, m, -1)
        priors = {"prior_means": inner.prior_means, "prior_variances": inner.prior_variances}
        return replace(self, shares=shares, means=means, covariances=covariances, **priors)

    def _first(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the component of each row in each state (n, K, M) around centres drawn by k-means++."""
        start = self._gaussian().started(x, weights)[0]
        y = (np.where(np.isnan(x), start.prior_means, x) - start.prior_means) / np.sqrt(start.prior_variances)
        rng, m = np.random.default_rng(_SEED), self.n_components
        out = np.full((len(x), weights.shape[1], m), _SHARED / m)
        for k in range(weights.shape[1]):
            distances, nearest, places = np.ones(len(x)), np.full(len(x), np.inf), np.zeros(len(x), dtype=np.int64)
            for i in range(m):
                chances = np.cumsum(weights[:, k] * distances)
                if not len(x) or not chances[-1] > 0.0:
                    break
                centre = y[np.searchsorted(chances, rng.random() * chances[-1], side="right")]
                distances = ((y - centre) ** 2).sum(1)
                places[distances < nearest] = i
                nearest = distances = np.minimum(distances, nearest)
            out[np.arange(len(x)), k, places] += 1.0 - _SHARED
        return out

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return an observation for each state."""
        check_known(self, self.shares)
        steps = np.cumsum(self.shares, axis=1)
        steps[:, -1] = 1.0
        component = (rng.random(len(states))[:, None] >= steps[states]).sum(1)
        return self._gaussian().sample(states * self.n_components + component, rng)

    @property
    def n_parameters(self) -> int:
        """Those of K M Gaussians, and K (M − 1) probabilities."""
        return 0 if self.shares is None else self._gaussian().n_parameters + self.shares.size - len(self.shares)

    @property
    def expected(self) -> np.ndarray | None:
        """The expected value of each column in each state."""
        if self.shares is None or self.means is None:
            return None
        return np.asarray(np.einsum("km,kmd->kd", self.shares, self.means))

    def log_prior(self) -> float:
        """Return the log-density of the prior of all components."""
        return self._gaussian().log_prior()


@final
@dataclass(frozen=True, eq=False)
class Independent(Emission):
    """Several columns, each or several together with an emission of their own, independent given the state.

    Parameters
    ----------
    parts : tuple of (columns, Emission)
        The columns of each part, counted from 0, and their emission. An emission of one column may be given several
        times, not for several columns at once.

    Examples
    --------
    >>> import numpy as np
    >>> from tunbridge.temporal.emissions import Categorical, Poisson
    >>> x = np.array([[0.0, 3.0], [1.0, 5.0], [1.0, np.nan]])
    >>> mixed = Independent((((0,), Categorical()), ((1,), Poisson()))).fit(x, np.ones((3, 1)))
    >>> mixed.parts[1][1].rates.tolist(), mixed.n_parameters
    ([[4.0]], 2)
    """

    parts: tuple[tuple[tuple[int, ...], Emission], ...] = field(default=())

    def __post_init__(self) -> None:
        put(self, parts=tuple((tuple(int(c) for c in columns), part) for columns, part in self.parts))
        used = sorted(c for columns, _ in self.parts for c in columns)
        if not used or used != list(range(len(used))):
            raise DataError(f"parts must have each column 0, 1, … once; got the columns {used}.", parameter="parts")

    @property
    def lags(self) -> int:
        """The most earlier rows that a part depends on."""
        return max(part.lags for _, part in self.parts)

    def _each(self, x: np.ndarray, call: Callable[[Any, np.ndarray], Any]) -> list[Any]:
        """Return what a call gives for every part and its columns."""
        d = sum(len(columns) for columns, _ in self.parts)
        x, _ = as_rows(x, d * (1 + self.lags))
        at = [[c + lag * d for lag in range(1 + part.lags) for c in columns] for columns, part in self.parts]
        return [call(part, np.ascontiguousarray(x[:, own])) for own, (_, part) in zip(at, self.parts, strict=True)]

    def _with(self, emissions: list[Emission]) -> Independent:
        return Independent(tuple((columns, new) for (columns, _), new in zip(self.parts, emissions, strict=True)))

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return the sum of the log-likelihoods of the parts."""
        return sum(self._each(x, lambda part, own: part.log_likelihood(own)))

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with all parts fitted."""
        return self._with(self._each(x, lambda part, own: part.fit(own, weights)))

    def sample(self, states: np.ndarray, rng: np.random.Generator, earlier: np.ndarray | None = None) -> np.ndarray:
        """Return a row for each state, after the ``earlier`` ones, if a part depends on them."""
        out = np.empty((len(states), sum(len(columns) for columns, _ in self.parts)))
        for columns, part in self.parts:
            if part.lags and earlier is not None:
                own: Any = part
                out[:, columns] = own.sample(states, rng, earlier[-part.lags :, columns])
            else:
                out[:, columns] = part.sample(states, rng)
        return out

    def permuted(self, order: np.ndarray) -> Self:
        """Return the emission with its states in another order."""
        return self._with([part.permuted(order) for _, part in self.parts])

    @property
    def expected(self) -> np.ndarray | None:
        """The expected value of each column in each state, NaN where a part does not say."""
        known = [(columns, part.expected) for columns, part in self.parts if part.expected is not None]
        if not known:
            return None
        found = np.full((len(known[0][1]), sum(len(columns) for columns, _ in self.parts)), np.nan)
        for columns, values in known:
            found[:, columns] = values
        return found

    @property
    def n_parameters(self) -> int:
        """The sum over the parts."""
        return sum(part.n_parameters for _, part in self.parts)

    def log_prior(self) -> float:
        """Return the sum over the parts."""
        return sum(part.log_prior() for _, part in self.parts)

    def posterior(self, x: np.ndarray, weights: np.ndarray) -> IndependentPosterior:
        """Return the posteriors of the parts."""
        return IndependentPosterior(self, tuple(self._each(x, lambda part, own: part.posterior(own, weights))))


@final
@dataclass(frozen=True, eq=False)
class IndependentPosterior(Conjugate):
    """The posteriors of the parts."""

    emission: Independent
    parts: tuple[Conjugate, ...]

    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return the sum of the expected log-likelihoods of the parts."""
        theirs = iter(self.parts)
        return sum(self.emission._each(x, lambda _, own: next(theirs).expected_log_likelihood(own)))

    def divergence(self) -> float:
        """Return the sum over the parts."""
        return sum(part.divergence() for part in self.parts)

    def draw(self, rng: np.random.Generator) -> Independent:
        """Return the emission with parameters drawn from the posteriors."""
        return self.emission._with([part.draw(rng) for part in self.parts])

    def mean(self) -> Independent:
        """Return the emission of the posterior means."""
        return self.emission._with([part.mean() for part in self.parts])
