"""The probability of success, learned from successes and failures: the beta prior and the binomial likelihood.

Of an unknown probability p the prior Beta(α, β) has the density p^(α−1) (1−p)^(β−1) / B(α, β). α and β are
pseudo-counts, as if so many successes and failures had been seen before. After s successes and f failures, of
probability p^s (1−p)^f in their order,

    p | D ~ Beta(α + s, β + f),     P(next is a success | D) = (α + s) / (α + β + s + f),
    P(D) = B(α + s, β + f) / B(α, β) = α^(s) β^(f) / (α + β)^(s + f)   (rising factorials).

With α = β = 1 all p are alike and the mean is Laplace's rule of succession, (s + 1) / (n + 2).

References
----------
P. S. Laplace (1774). Mémoire sur la probabilité des causes par les événements.
A. Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., section 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from scipy.special import betainc, betainccinv, betaincinv, betaln, xlog1py, xlogy

from tunbridge._check import shortened
from tunbridge._memory import check_memory
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.conjugates.beta_comparison import probability_above
from tunbridge.reasoning.conjugates.conjugate import (
    as_count,
    as_places,
    as_positive,
    check_level,
    evidence,
    log_evidence,
)
from tunbridge.reasoning.conjugates.conjugate_lines import beta_lines
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.numbers import Number, as_float, exact_value, like, number_text

_BYTES_A_STATE = 200


@final
@dataclass(frozen=True, repr=False)
class BetaBinomial:
    """What is believed about a probability: Beta(α, β), to be updated by successes and failures.

    Parameters
    ----------
    alpha, beta : number
        Above 0. Whole numbers give floats; with a fraction or a text ("1/2") what is computed is an exact fraction.
    prior : BetaBinomial, optional
        What was believed before any data; :meth:`update` fills it in.

    Examples
    --------
    >>> coin = BetaBinomial(1, 1).update(7, 3)
    >>> coin
    BetaBinomial(alpha=8, beta=4)
    >>> round(coin.mean, 4), coin.mode
    (0.6667, 0.7)
    >>> BetaBinomial("1/2", "1/2").update(7, trials=10).mean
    Fraction(15, 22)
    >>> [round(end, 3) for end in coin.interval(0.95)]
    [0.39, 0.891]
    """

    alpha: Number = 1
    beta: Number = 1
    prior: BetaBinomial | None = field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_positive("alpha", self.alpha))
        object.__setattr__(self, "beta", as_positive("beta", self.beta))

    # Learning

    def update(self, successes: Any, failures: Any = None, *, trials: Any = None) -> BetaBinomial:
        """Return what is believed after some more successes and failures.

        Parameters
        ----------
        successes, failures : int
            How many of each.
        trials : int, optional
            How many there were of both, instead of failures.

        Examples
        --------
        >>> BetaBinomial().update(120, trials=1000) == BetaBinomial().update(120, 880)
        True
        """
        pairs = zip(self._alphas, _counts(successes, failures, trials), strict=True)
        return BetaBinomial(*(like(exact_value(a) + n, [a]) for a, n in pairs), prior=self._start)

    @property
    def _start(self) -> BetaBinomial:
        return self.prior or self

    @property
    def _seen(self) -> tuple[int, int]:
        """How many successes and failures led here."""
        now, then = self._exact, self._start._exact
        return round(now[0] - then[0]), round(now[1] - then[1])

    @property
    def _alphas(self) -> tuple[Number, Number]:
        return self.alpha, self.beta

    @property
    def _exact(self) -> tuple[Fraction, Fraction]:
        return exact_value(self.alpha), exact_value(self.beta)

    @property
    def _floats(self) -> tuple[float, float]:
        return as_float(self.alpha), as_float(self.beta)

    def _like(self, value: Fraction) -> Number:
        return like(value, self._alphas)

    def _log_density(self, p: np.ndarray) -> np.ndarray:
        a, b = self._floats
        return xlogy(a - 1.0, p) + xlog1py(b - 1.0, -p) - betaln(a, b)

    # What is believed

    @property
    def mean(self) -> Number:
        """α / (α + β): the probability that the next is a success."""
        a, b = self._exact
        return self._like(a / (a + b))

    @property
    def mode(self) -> Number:
        """(α − 1) / (α + β − 2), where the density is highest; it needs α, β ≥ 1, and one of them above 1."""
        a, b = self._exact
        if min(a, b) < 1 or a == b == 1:
            why = "all are alike" if a == b == 1 else "the density has no bound at an end"
            raise DataError(f"the mode must have alpha and beta of 1 and more, not both 1; of {self!r} {why}.")
        return self._like((a - 1) / (a + b - 2))

    @property
    def variance(self) -> Number:
        """αβ / ((α + β)² (α + β + 1))."""
        a, b = self._exact
        return self._like(a * b / ((a + b) ** 2 * (a + b + 1)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds p with this probability and leaves as much below as above."""
        tail = 0.5 * (1.0 - check_level(level))
        return float(betaincinv(*self._floats, tail)), float(betainccinv(*self._floats, tail))

    def pdf(self, p: Any) -> Any:
        """Return the density at p; 0 outside 0 … 1, and infinite at an end where it has no bound."""
        at = as_places("p", p)
        inside = (at >= 0.0) & (at <= 1.0)
        with np.errstate(over="ignore"):
            found = np.where(inside, np.exp(self._log_density(np.where(inside, at, 0.5))), 0.0)
        return float(found) if found.ndim == 0 else found

    def cdf(self, p: Any) -> Any:
        """Return the probability that the unknown one is at most p."""
        found = betainc(*self._floats, as_places("p", p).clip(0.0, 1.0))
        return float(found) if np.ndim(found) == 0 else found

    def probability_above(self, other: BetaBinomial) -> float:
        """Return the probability that this p is larger than that of another belief, independent of this one.

        Examples
        --------
        >>> old, new = BetaBinomial().update(120, trials=1000), BetaBinomial().update(150, trials=1000)
        >>> round(new.probability_above(old), 4)
        0.9751
        """
        if not isinstance(other, BetaBinomial):
            raise DataError(f"the other belief must be a BetaBinomial; got {shortened(repr(other))}.")
        return probability_above(self._floats, other._floats)

    # Data to come, or that came

    def evidence(self, successes: Any, failures: Any = None, *, trials: Any = None) -> Number:
        """Return P(D) of that many successes and failures in a given order; parameters as in :meth:`update`.

        Times the number of orders it is the probability of the counts. Taken without rounding up to 5 000 of them.

        Examples
        --------
        >>> BetaBinomial().evidence(7, 3), BetaBinomial("1", "1").evidence(7, 3)
        (0.0007575757575757576, Fraction(1, 1320))
        """
        return evidence(self._alphas, _counts(successes, failures, trials))

    def log_evidence(self, successes: Any, failures: Any = None, *, trials: Any = None) -> float:
        """Return ln P(D), of any size."""
        return log_evidence(self._alphas, _counts(successes, failures, trials))

    def predictive(self, n: int = 1) -> Distribution:
        """Return the distribution of the number of successes among the next n (the beta-binomial).

        Examples
        --------
        >>> BetaBinomial(8, 4).predictive(2)
        successes
        0          0.128205
        1          0.410256
        2          0.461538
        """
        size = as_count("n", n)
        check_memory(f"a distribution over 0 … {size}", _BYTES_A_STATE * size, ways_out="Ask for fewer, or evidence().")
        k, (a, b) = np.arange(size), self._floats
        steps = np.log(size - k) - np.log1p(k) + np.log(a + k) - np.log(b + (size - k - 1.0))
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        shares = np.exp(logs - logs.max())
        return Distribution(Variable("successes", range(size + 1), ordered=True), shares / shares.sum())

    def derivation(self) -> Derivation:
        """Return posterior ∝ likelihood × prior with the numbers in it.

        Examples
        --------
        >>> print(BetaBinomial().update(7, 3).derivation())
        P(p) ∝ p^(α − 1) (1 − p)^(β − 1) = p^0 (1 − p)^0
        P(D | p) = p^7 (1 − p)^3
        P(p | D) ∝ p^7 (1 − p)^3 × p^0 (1 − p)^0 = p^7 (1 − p)^3
        E(p | D) = α / (α + β) = 8 / (8 + 4) = 0.666667
        P(D) = B(a + n) / B(a) = B(8, 4) / B(1, 1) = 0.000757576
        """
        return beta_lines(self, self._start, *self._seen)

    def __repr__(self) -> str:
        return f"BetaBinomial(alpha={number_text(self.alpha)}, beta={number_text(self.beta)})"


def _counts(successes: Any, failures: Any, trials: Any) -> tuple[int, int]:
    """Return how many successes and failures there were."""
    if (failures is None) == (trials is None):
        got = "none of them" if failures is None else "both"
        hint = "update(7, 3) and update(7, trials=10) are the same."
        raise DataError(f"successes must come with failures, or with trials=; got {got}. {hint}")
    hits = as_count("successes", successes)
    if trials is None:
        return hits, as_count("failures", failures)
    tried = as_count("trials", trials)
    if tried < hits:
        raise DataError(f"trials must be at least as many as successes, {hits}; got {tried}.")
    return hits, tried - hits
