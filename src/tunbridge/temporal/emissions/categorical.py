"""The categorical emission: in state k symbol s has probability θ_ks.

With n_ks the weight of symbol s in state k, and a Dirichlet(α, …, α) prior, the estimate and the posterior are

    θ_ks = max(n_ks + α − 1, 0) / Σ_s max(n_ks + α − 1, 0),     θ_k | data ~ Dirichlet(n_k1 + α, …, n_kS + α),

so α = 1 gives relative frequencies in EM, and a uniform prior to Bayesian learning.

References
----------
L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech recognition. Proceedings
of the IEEE 77, 257–286, eq. 40c.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Self, final

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge.errors import DataError
from tunbridge.temporal.emissions.base import (
    Conjugate,
    Emission,
    Values,
    as_probabilities,
    as_rows,
    as_weights,
    check_known,
    check_settings,
    put,
    special,
)


@final
@dataclass(frozen=True, eq=False)
class Categorical(Emission):
    """Symbols 0 … S − 1 with their own probabilities in each state.

    Parameters
    ----------
    alpha : float
        The parameter of the Dirichlet prior. 1 is maximum likelihood; below 1 rare symbols get probability 0.
    n_symbols : int, optional
        The number of symbols S; default: the largest in the data of ``fit``, plus one.
    probabilities : array (K, S), optional
        Known parameters.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [1.0], [np.nan]])
    >>> weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> Categorical().fit(x, weights).probabilities.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    alpha: float = 1.0
    n_symbols: int | None = None
    _: KW_ONLY
    probabilities: Values = None

    def __post_init__(self) -> None:
        check_settings(alpha=self.alpha)
        check_integer("n_symbols", self.n_symbols, low=1, optional=True)
        if self.probabilities is not None:
            known = as_probabilities("probabilities", self.probabilities, (None, self.n_symbols))
            put(self, probabilities=known, n_symbols=known.shape[1])

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return ln θ_ks for each row and state."""
        check_known(self, self.probabilities)
        with np.errstate(divide="ignore"):
            return _looked_up(np.log(self.probabilities), x)

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with its most probable parameters given weighted rows."""
        counts = np.maximum(self._counts(x, weights) + (self.alpha - 1.0), 0.0)
        known = self.probabilities
        known = np.full(counts.shape, 1.0 / counts.shape[1]) if known is None else known
        sums = counts.sum(1, keepdims=True)
        return replace(self, probabilities=np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), known))

    def _counts(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each symbol in each state, (K, S)."""
        x, _ = as_rows(x, 1)
        weights = as_weights(weights, len(x), None if self.probabilities is None else len(self.probabilities))
        n, n_states = self.n_symbols, weights.shape[1]
        if n is None:
            n = int(np.nanmax(x)) + 1 if not np.isnan(x).all() else 1
        places = _codes(x, n)[:, None] * n_states + np.arange(n_states)
        return np.bincount(places.ravel(), weights.ravel(), (n + 1) * n_states).reshape(n + 1, n_states)[:n].T

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a symbol for each state."""
        check_known(self, self.probabilities)
        steps = np.cumsum(self.probabilities, axis=1)
        steps[:, -1] = 1.0
        below = rng.random(len(states))[:, None] >= steps[states] if len(states) else np.zeros((0, 1))
        return below.sum(1, dtype=np.float64)[:, None]

    @property
    def n_parameters(self) -> int:
        """K (S − 1)."""
        return 0 if self.probabilities is None else self.probabilities.size - len(self.probabilities)

    def log_prior(self) -> float:
        """Return Σ (α − 1) ln θ_ks over the symbols that are possible, or all where α > 1."""
        if self.alpha == 1.0 or self.probabilities is None:
            return 0.0
        theta = self.probabilities if self.alpha > 1.0 else self.probabilities[self.probabilities > 0.0]
        with np.errstate(divide="ignore"):
            return float((self.alpha - 1.0) * np.log(theta).sum())

    def posterior(self, x: np.ndarray, weights: np.ndarray) -> DirichletPosterior:
        """Return the Dirichlet posterior."""
        if self.alpha <= 0.0:
            raise DataError(f"alpha must be greater than 0 for Bayesian learning; got {self.alpha}.", parameter="alpha")
        return DirichletPosterior(self, self._counts(x, weights) + self.alpha)


@final
@dataclass(frozen=True, eq=False)
class DirichletPosterior(Conjugate):
    """θ_k ~ Dirichlet(a_k1 … a_kS), in each state k.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = Categorical(n_symbols=2).posterior(np.array([[0.0], [0.0]]), np.ones((2, 1)))
    >>> posterior.mean().probabilities.tolist()
    [[0.75, 0.25]]
    """

    emission: Categorical
    shapes: np.ndarray

    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return ψ(a_ks) − ψ(Σ_s a_ks) for each row and state."""
        return _looked_up(self._expected_logs(), x)

    def _expected_logs(self) -> np.ndarray:
        return special.digamma(self.shapes) - special.digamma(self.shapes.sum(1, keepdims=True))

    def divergence(self) -> float:
        """Return the divergence of the posterior from the prior."""
        a, a0 = self.shapes, np.full(self.shapes.shape, float(self.emission.alpha))
        return float(((a - a0) * self._expected_logs()).sum() + (_log_constant(a) - _log_constant(a0)).sum())

    def draw(self, rng: np.random.Generator) -> Categorical:
        """Return a categorical emission with probabilities drawn from the posterior."""
        return replace(self.emission, probabilities=np.array([rng.dirichlet(a) for a in self.shapes]))

    def mean(self) -> Categorical:
        """Return the categorical emission of the posterior means."""
        return replace(self.emission, probabilities=self.shapes / self.shapes.sum(1, keepdims=True))


def _log_constant(a: np.ndarray) -> np.ndarray:
    """Return ln Γ(Σ a_s) − Σ ln Γ(a_s)."""
    return special.gammaln(a.sum(1)) - special.gammaln(a).sum(1)


def _codes(x: np.ndarray, n_symbols: int) -> np.ndarray:
    """Return codes as integers, S for missing values."""
    codes = np.where(np.isnan(x[:, 0]), n_symbols, x[:, 0])
    whole = codes.astype(np.int64)
    if len(x) and ((whole != codes).any() or codes.min() < 0 or (x[:, 0] >= n_symbols).any()):
        wrong = x[(whole != codes) | (codes < 0) | (x[:, 0] >= n_symbols), 0][0]
        raise DataError(f"x must hold codes 0 … {n_symbols - 1} of symbols; got {wrong:g}.")
    return whole


def _looked_up(logs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithms (K, S) of the symbols in x; 0 for missing ones."""
    x, _ = as_rows(x, 1)
    table = np.vstack([logs.T, np.zeros(len(logs))])
    return table[_codes(x, logs.shape[1])]
