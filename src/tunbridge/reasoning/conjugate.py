"""Conjugate priors: beta-binomial, Dirichlet-multinomial and normal-normal.

A prior is **conjugate** to a likelihood if the posterior is of the same family: learning is then arithmetic on a few
parameters.

*Beta-binomial.* The prior Beta(α, β) of a probability p has the density p^(α−1) (1−p)^(β−1) / B(α, β). α and β are
pseudo-counts of successes and failures. After s successes and f failures

    p | D ~ Beta(α + s, β + f),     P(next is a success | D) = (α + s) / (α + β + s + f).

With α = β = 1 the prior is uniform and the mean is Laplace's rule of succession, (s + 1) / (n + 2).

*Dirichlet-multinomial.* The same for several states with pseudo-counts a_1, …, a_r and counts n_1, …, n_r:

    p | D ~ Dirichlet(a_1 + n_1, …),     P(next is k | D) = (a_k + n_k) / (a + n),     a = Σ a_k,  n = Σ n_k.

With a_k = m p_k the mean is the m-estimate (:mod:`tunbridge.probability.smoothing`). Each p_k alone is
Beta(a_k, a − a_k). In both cases the probability of data is a ratio of rising factorials, P(D) = Π_k a_k^(n_k) / a^(n)
with a^(n) = a (a + 1) … (a + n − 1), computed without rounding for rational a.

*Normal-normal.* An unknown mean θ has the prior N(m, v), and a measurement is x ~ N(θ, s²) with s² known. Precisions
add up: after n values of mean x̄

    1/v' = 1/v + n/s²,     m' = v' (m/v + n x̄/s²),     and the next measurement is N(m', v' + s²).

References
----------
P. S. Laplace (1774). Mémoire sur la probabilité des causes par les événements.
A. Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., sections 2.4, 2.5 and 3.4.
T. M. Mitchell (1997). Machine Learning, eq. 6.22 (the m-estimate).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, expit, ndtr, ndtri, xlog1py, xlogy

from tunbridge._core.check import check_number, did_you_mean, shortened
from tunbridge._core.memory import check_memory
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.reading import as_floats
from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    Term,
    call,
    equation,
    number,
    result,
    symbol,
    words,
)
from tunbridge.reasoning.numbers import (
    Number,
    as_float,
    as_number,
    exact_sum,
    exact_value,
    like,
    log_of,
    number_text,
    scalar_or_array,
)

_MOST_EXACT = 5_000
_BYTES_A_STATE = 200
_SHOWN, _SHOWN_STATES = 6, 8


@final
@dataclass(frozen=True, repr=False)
class BetaBinomial:
    """A belief about a probability: Beta(α, β), updated by successes and failures.

    Parameters
    ----------
    alpha, beta : number
        Pseudo-counts above 0. Integers give floats; with a fraction or a string ("1/2") results are exact fractions.
    prior : BetaBinomial, optional
        The belief before any data; :meth:`update` sets it.

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
        self.__dict__.update({name: _as_positive(name, getattr(self, name)) for name in ("alpha", "beta")})

    def update(self, successes: object, failures: object = None, *, trials: object = None) -> BetaBinomial:
        """Return the belief after more successes and failures.

        Parameters
        ----------
        successes, failures : int
            Their numbers.
        trials : int, optional
            The number of both together, instead of ``failures``.

        Examples
        --------
        >>> BetaBinomial().update(120, trials=1000) == BetaBinomial().update(120, 880)
        True
        """
        counts = _successes_and_failures(successes, failures, trials)
        return BetaBinomial(*_added(self.alphas, counts), prior=self._start)

    @property
    def _start(self) -> BetaBinomial:
        return self.prior or self

    @property
    def alphas(self) -> tuple[Number, Number]:
        """α and β."""
        return self.alpha, self.beta

    @property
    def _floats(self) -> tuple[float, float]:
        return as_float(self.alpha), as_float(self.beta)

    @property
    def mean(self) -> Number:
        """α / (α + β): the probability that the next trial is a success."""
        return like(exact_value(self.alpha) / exact_sum(self.alphas), self.alphas)

    @property
    def mode(self) -> Number:
        """(α − 1) / (α + β − 2), where the density is highest; defined for α, β ≥ 1 that are not both 1."""
        a, b = map(exact_value, self.alphas)
        if min(a, b) < 1 or a == b == 1:
            why = "the density is constant" if a == b == 1 else "the density is unbounded at an end"
            raise DataError(f"the mode needs alpha and beta of at least 1, not both 1; for {self!r} {why}.")
        return like((a - 1) / (a + b - 2), self.alphas)

    @property
    def variance(self) -> Number:
        """αβ / ((α + β)² (α + β + 1))."""
        a, b = map(exact_value, self.alphas)
        return like(a * b / ((a + b) ** 2 * (a + b + 1)), self.alphas)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed interval that contains p with this probability."""
        tail = 0.5 * (1.0 - _check_level(level))
        return float(betaincinv(*self._floats, tail)), float(betainccinv(*self._floats, tail))

    def pdf(self, p: ArrayLike) -> Any:
        """Return the density at p; 0 outside 0 … 1, and infinite at an end where it is unbounded."""
        (a, b), at = self._floats, _as_points("p", p)
        inside = (at >= 0.0) & (at <= 1.0)
        x = np.where(inside, at, 0.5)
        with np.errstate(over="ignore"):
            found = np.where(inside, np.exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b)), 0.0)
        return scalar_or_array(found)

    def cdf(self, p: ArrayLike) -> Any:
        """Return the probability of a value of at most p."""
        return scalar_or_array(betainc(*self._floats, _as_points("p", p).clip(0.0, 1.0)))

    def probability_above(self, other: BetaBinomial) -> float:
        """Return the probability that this p is larger than that of another, independent belief (an A/B test).

        Examples
        --------
        >>> old, new = BetaBinomial().update(120, trials=1000), BetaBinomial().update(150, trials=1000)
        >>> round(new.probability_above(old), 4)
        0.9751
        """
        if not isinstance(other, BetaBinomial):
            raise DataError(f"other must be a BetaBinomial; got {shortened(repr(other))}.", parameter="other")
        return _probability_above(self._floats, (as_float(other.alpha), as_float(other.beta)))

    def evidence(self, successes: object, failures: object = None, *, trials: object = None) -> Number:
        """Return P(D) of that many successes and failures in a given order; parameters as in :meth:`update`.

        Multiplied by the number of orders it is the probability of the counts. Exact up to 5 000 observations.

        Examples
        --------
        >>> BetaBinomial().evidence(7, 3), BetaBinomial("1", "1").evidence(7, 3)
        (0.0007575757575757576, Fraction(1, 1320))
        """
        return _evidence(self.alphas, _successes_and_failures(successes, failures, trials))

    def log_evidence(self, successes: object, failures: object = None, *, trials: object = None) -> float:
        """Return ln P(D); it does not underflow."""
        return _log_evidence(self.alphas, _successes_and_failures(successes, failures, trials))

    def predictive(self, n: int = 1) -> Distribution:
        """Return the distribution of the number of successes in the next n trials (the beta-binomial).

        Examples
        --------
        >>> BetaBinomial(8, 4).predictive(2)
        successes
        0          0.128205
        1          0.410256
        2          0.461538
        """
        size = _as_count("n", n)
        check_memory(
            f"a distribution over 0 … {size}", _BYTES_A_STATE * size, ways_out="Use a smaller n, or evidence()."
        )
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
        counts = [round(n) for n in _seen_counts(self.alphas, self._start.alphas)]
        p, data = symbol("p"), symbol("D") if any(counts) else None
        density = symbol("p^(α − 1) (1 − p)^(β − 1)", r"p^{\alpha - 1} (1 - p)^{\beta - 1}")
        prior, posterior = (_powers(_added(belief.alphas, (-1, -1))) for belief in (self._start, self))
        rule = symbol("α", r"\alpha") / symbol("(α + β)", r"(\alpha + \beta)")
        mean = equation(
            call("E", p, data), rule, number(self.alpha) / (number(self.alpha) + self.beta), *result(self.mean)
        )
        first = equation(_proportional(call("P", p), density), prior)
        if data is None:
            return Derivation((first, mean))
        seen = _powers([Fraction(n) for n in counts])
        likelihood = equation(call("P", data, p), seen)
        updated = equation(_proportional(call("P", p, data), seen * prior), posterior)
        return Derivation((first, likelihood, updated, mean, _evidence_equation(self._start.alphas, counts)))

    def __repr__(self) -> str:
        return f"BetaBinomial(alpha={number_text(self.alpha)}, beta={number_text(self.beta)})"


@final
@dataclass(frozen=True, init=False, repr=False)
class DirichletMultinomial:
    """A belief about the probabilities of states: Dirichlet(a), updated by counts.

    Parameters
    ----------
    alpha : mapping of state to number
        Pseudo-counts a_k above 0. Integers give floats; with a fraction or a string ("1/2") among them, and no float,
        results are exact fractions.
    name : str
        The name of the variable.
    prior : DirichletMultinomial, optional
        The belief before any data; :meth:`update` sets it.

    Examples
    --------
    >>> urn = DirichletMultinomial({"red": 1, "green": 1, "blue": 1}, name="ball")
    >>> seen = urn.update(["red", "red", "blue"])
    >>> seen
    DirichletMultinomial({'red': 3, 'green': 1, 'blue': 2}, name='ball')
    >>> seen.mean
    ball
    red    0.5
    green  0.166667
    blue   0.333333
    >>> seen.update({"green": 4}).marginal("green").mean
    0.5
    """

    variable: Variable
    alphas: tuple[Number, ...]
    prior: DirichletMultinomial | None = field(compare=False)

    def __init__(
        self, alpha: Mapping[Any, object], *, name: str = "state", prior: DirichletMultinomial | None = None
    ) -> None:
        if not isinstance(alpha, Mapping) or not alpha:
            rule = "alpha must be a mapping of state to pseudo-count, with at least one state"
            hint = "dict.fromkeys(states, 1) gives all the same."
            raise DataError(f"{rule}; got {shortened(repr(alpha))}. {hint}", parameter="alpha")
        numbers = tuple(_as_positive(f"alpha of {state!r}", value) for state, value in alpha.items())
        self.__dict__.update(variable=Variable(name, alpha), alphas=numbers, prior=prior)

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The states."""
        return self.variable.states or ()

    @property
    def alpha(self) -> dict[Any, Number]:
        """The pseudo-counts by state."""
        return dict(zip(self.states, self.alphas, strict=True))

    def update(self, observed: object) -> DirichletMultinomial:
        """Return the belief after more observations.

        Parameters
        ----------
        observed : mapping of state to count, or iterable of states
        """
        alpha = dict(zip(self.states, _added(self.alphas, self._counts(observed)), strict=True))
        return DirichletMultinomial(alpha, name=self.variable.name, prior=self.prior or self)

    def _counts(self, observed: object) -> list[int]:
        if isinstance(observed, str) or not isinstance(observed, Iterable):
            rule, hint = (
                "observed must be counts by state, or a list of states",
                "Write a single observation as a list.",
            )
            raise DataError(f"{rule}; got {shortened(repr(observed))}. {hint}", parameter="observed")
        counts = [0] * len(self.alphas)
        pairs = observed.items() if isinstance(observed, Mapping) else ((state, 1) for state in observed)
        for state, count in pairs:
            counts[self._code(state)] += _as_count(f"the count of {state!r}", count)
        return counts

    def _code(self, state: object) -> int:
        code = self.variable.find(state)
        if code < 0:
            hint = did_you_mean(state, self.states)
            raise UnknownStateError(f"the state must be one with a pseudo-count; got {state!r}. {hint}")
        return code

    @property
    def mean(self) -> Distribution:
        """(a_k / a): the distribution of the next observation."""
        total = exact_sum(self.alphas)
        return Distribution(self.variable, [as_float(exact_value(a) / total) for a in self.alphas])

    @property
    def mode(self) -> Distribution:
        """(a_k − 1) / (a − r), where the density is highest; defined for a_k ≥ 1 that are not all 1."""
        exact = [exact_value(a) for a in self.alphas]
        left = sum(exact) - len(exact)
        if min(exact) < 1 or left == 0:
            why = "the density is constant" if left == 0 and min(exact) == 1 else "the density is unbounded at an edge"
            raise DataError(f"the mode needs pseudo-counts of at least 1, not all 1; for {self!r} {why}.")
        return Distribution(self.variable, [as_float((a - 1) / left) for a in exact])

    @property
    def variance(self) -> dict[Any, Number]:
        """The variance of each probability, a_k (a − a_k) / (a² (a + 1))."""
        return {state: self.marginal(state).variance for state in self.states}

    def marginal(self, state: object) -> BetaBinomial:
        """Return the belief about the probability of one state: Beta(a_k, a − a_k)."""
        code = self._code(state)
        if len(self.alphas) == 1:
            raise DataError(f"there must be at least two states; {state!r} is the only one.")
        prior = None if self.prior is None else self.prior.marginal(state)
        rest = like(exact_sum(self.alphas) - exact_value(self.alphas[code]), self.alphas)
        return BetaBinomial(self.alphas[code], rest, prior=prior)

    def interval(self, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return for each state the equal-tailed interval that contains its probability with this level."""
        return {state: self.marginal(state).interval(level) for state in self.states}

    def evidence(self, observed: object) -> Number:
        """Return P(D) of observations in a given order; exact up to 5 000 of them.

        Examples
        --------
        >>> DirichletMultinomial({"a": "1", "b": "1"}).evidence(["a", "b", "a"])
        Fraction(1, 12)
        """
        return _evidence(self.alphas, self._counts(observed))

    def log_evidence(self, observed: object) -> float:
        """Return ln P(D); it does not underflow."""
        return _log_evidence(self.alphas, self._counts(observed))

    def predictive_probability(self, observed: object) -> Number:
        """Return the probability of these counts among the next observations, in any order.

        Examples
        --------
        >>> DirichletMultinomial({"a": 1, "b": 1}).predictive_probability({"a": 2, "b": 1})
        0.25
        """
        counts = self._counts(observed)
        if sum(counts) > _MOST_EXACT:
            orders = math.lgamma(sum(counts) + 1) - math.fsum(math.lgamma(n + 1) for n in counts)
            return math.exp(min(0.0, orders + _log_evidence(self.alphas, counts)))
        orders = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
        return like(orders * _exact_evidence(self.alphas, counts), self.alphas)

    def derivation(self) -> Derivation:
        """Return posterior ∝ likelihood × prior with the numbers in it."""
        before, whole = (self.prior or self).alphas, like(exact_sum(self.alphas), self.alphas)
        counts = [round(n) for n in _seen_counts(self.alphas, before)]
        rule = symbol("(a_k + n_k)") / symbol("(a + n)")
        lines: list[Equation | str] = [
            "Prior, likelihood and posterior are products of p_k, to the powers a_k − 1, n_k and a_k + n_k − 1.",
        ]
        for state, a, n, after in list(zip(self.states, before, counts, self.alphas, strict=True))[:_SHOWN]:
            value = like(exact_value(after) / exact_value(whole), self.alphas)
            asked = call("E", call("p", state), symbol("D"))
            lines.append(equation(asked, rule, (number(a) + Fraction(n)) / whole, *result(value)))
        if len(self.states) > _SHOWN:
            lines.append(f"… ({len(self.states)} states in all)")
        return Derivation((*lines, *([_evidence_equation(before, counts)] if any(counts) else [])))

    def __repr__(self) -> str:
        pairs = [f"{state!r}: {number_text(a)}" for state, a in self.alpha.items()]
        more = [f"… ({len(pairs)} in all)"] if len(pairs) > _SHOWN_STATES else []
        return f"DirichletMultinomial({{{', '.join([*pairs[:_SHOWN_STATES], *more])}}}, name={self.variable.name!r})"


@final
@dataclass(frozen=True, repr=False)
class NormalNormal:
    """A belief about a mean: N(mean, variance), updated by measurements of known noise.

    Parameters
    ----------
    mean : number
        Integers give floats; with fractions or strings ("1/2"), and no float, results are exact fractions.
    variance : number
        Above 0.
    noise_variance : number
        s², the variance of a measurement around the mean; above 0.
    prior : NormalNormal, optional
        The belief before any data; :meth:`update` sets it.
    seen : tuple of int and number, optional
        The number of measurements since the prior, and their sum; :meth:`update` sets it.

    Examples
    --------
    >>> weight = NormalNormal(70, 25, noise_variance=4).update([74, 76, 75])
    >>> round(weight.mean, 4), round(weight.variance, 4), round(weight.predictive_variance, 4)
    (74.7468, 1.2658, 5.2658)
    >>> [round(end, 2) for end in weight.interval(0.95)]
    [72.54, 76.95]
    >>> NormalNormal(70, Fraction(25), noise_variance=4).update([74, 76, 75]).mean
    Fraction(5905, 79)
    """

    mean: Number
    variance: Number
    noise_variance: Number = field(kw_only=True)
    prior: NormalNormal | None = field(default=None, kw_only=True, compare=False)
    seen: tuple[int, Number] = field(default=(0, 0), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        variances = {name: _as_positive(name, getattr(self, name)) for name in ("variance", "noise_variance")}
        self.__dict__.update(variances, mean=as_number("mean", self.mean))

    def update(self, values: object = None, *, mean: object = None, n: object = None) -> NormalNormal:
        """Return the belief after more measurements.

        Parameters
        ----------
        values : array-like or number, optional
            The measurements.
        mean, n : number and int, optional
            Their mean and number, instead.

        Examples
        --------
        >>> prior = NormalNormal(0, 1, noise_variance=1)
        >>> prior.update([1, 2, 3]) == prior.update(mean=2, n=3)
        True
        """
        if (values is None) == (mean is None or n is None) or (mean is None) != (n is None):
            raise DataError("the measurements must be given as values, or as mean= and n=; got neither, or both.")
        if values is not None:
            count, total = _summed(_numbers(values))
        else:
            count, centre = _as_count("n", n), as_number("mean", mean)
            total = like(count * exact_value(centre), [centre])
        m, v, noise = map(exact_value, (self.mean, self.variance, self.noise_variance))
        variance = 1 / (1 / v + count / noise)
        posterior_mean = variance * (m / v + exact_value(total) / noise)
        return NormalNormal(
            like(posterior_mean, [self.mean, self.variance, self.noise_variance, total]),
            like(variance, [self.variance, self.noise_variance]),
            noise_variance=self.noise_variance,
            prior=self.prior or self,
            seen=(self.seen[0] + count, like(exact_sum([self.seen[1], total]), [self.seen[1], total])),
        )

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(as_float(self.variance))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the shortest interval that contains the mean with this probability."""
        return self._interval(self.variance, level)

    def pdf(self, theta: ArrayLike) -> Any:
        """Return the density at theta."""
        z = (_as_points("theta", theta) - as_float(self.mean)) / self.std
        with np.errstate(over="ignore"):
            return scalar_or_array(np.exp(-0.5 * np.square(z)) / (self.std * math.sqrt(2.0 * math.pi)))

    def cdf(self, theta: ArrayLike) -> Any:
        """Return the probability that the mean is at most theta."""
        return scalar_or_array(ndtr((_as_points("theta", theta) - as_float(self.mean)) / self.std))

    @property
    def predictive_variance(self) -> Number:
        """The variance of the next measurement: that of the mean plus that of the noise."""
        both = [self.variance, self.noise_variance]
        return like(exact_sum(both), both)

    def predictive_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that contains the next measurement with this probability."""
        return self._interval(self.predictive_variance, level)

    def _interval(self, variance: Number, level: float) -> tuple[float, float]:
        half = float(ndtri(0.5 + 0.5 * _check_level(level))) * math.sqrt(as_float(variance))
        return as_float(self.mean) - half, as_float(self.mean) + half

    def log_evidence(self, values: object) -> float:
        """Return ln P(D), the log-density of measurements with the mean integrated out.

        Notes
        -----
        Together they are normal with mean m, variance v + s² and covariance v. With x̄ their mean,
        −2 ln P(D) = n ln(2πs²) + ln(1 + n v/s²) + Σ (x − x̄)²/s² + n (x̄ − m)²/(s² + n v).
        """
        x = np.array([as_float(value) for value in _numbers(values)])
        if not len(x):
            return 0.0
        n, m, v, noise = len(x), *map(as_float, (self.mean, self.variance, self.noise_variance))
        centre = math.fsum((x / n).tolist())
        off, deviations = (centre - m) / math.sqrt(noise + n * v), (x - centre) / math.sqrt(noise)
        with np.errstate(over="ignore"):
            spread = float(np.square(deviations).sum()) + n * off * off
        return -0.5 * (n * math.log(2.0 * math.pi * noise) + math.log1p(n * v / noise) + spread)

    def derivation(self) -> Derivation:
        """Return the posterior mean as a weighted average, with the numbers in it."""
        before, (n, summed) = self.prior or self, self.seen
        m, v, noise = map(number, (before.mean, before.variance, before.noise_variance))
        theta, data = symbol("θ", r"\theta"), symbol("D")
        if not n:
            return Derivation((equation(call("E", theta), m), equation(_var(theta), v)))
        count, mean = number(Fraction(n)), number(like(exact_value(summed) / n, [summed]))
        inverse = like(1 / exact_value(self.variance), [self.variance])
        asked = symbol(f"1 / {_var(theta, data).text}", f"1 / {_var(theta, data).latex}")
        rule = symbol("(m/v + n x̄/s²) / (1/v + n/s²)", r"\frac{m/v + n \bar x/s^2}{1/v + n/s^2}")
        average = number(self.variance) * (m / v + count * mean / noise)
        weight = n * exact_value(before.variance)
        share = like(weight / (exact_value(before.noise_variance) + weight), [before.variance, before.noise_variance])
        lines = (
            equation(asked, symbol("1/v + n/s²", "1/v + n/s^2"), number(1) / v + count / noise, number(inverse)),
            equation(call("E", theta, data), rule, average, *result(self.mean)),
            equation(
                words("weight of the data"),
                symbol("nv") / symbol("(s² + nv)", "(s^2 + nv)"),
                count * v / (noise + count * v),
                *result(share),
            ),
        )
        return Derivation(lines)

    def __repr__(self) -> str:
        parts = [f"{k}={number_text(getattr(self, k))}" for k in ("mean", "variance", "noise_variance")]
        return f"NormalNormal({', '.join(parts)})"


# The probability of data


def _evidence(alphas: Sequence[Number], counts: Sequence[int]) -> Number:
    """Return Π_k a_k^(n_k) / a^(n), the probability of states observed in a given order."""
    if sum(counts) > _MOST_EXACT:
        return math.exp(_log_evidence(alphas, counts))
    return like(_exact_evidence(alphas, counts), alphas)


def _log_evidence(alphas: Sequence[Number], counts: Sequence[int]) -> float:
    if sum(counts) <= _MOST_EXACT:
        return log_of(_exact_evidence(alphas, counts))
    floats = [as_float(alpha) for alpha in alphas]
    parts = [_log_rising(a, n) for a, n in zip(floats, counts, strict=True)]
    return math.fsum(parts) - _log_rising(math.fsum(floats), sum(counts))


def _exact_evidence(alphas: Sequence[Number], counts: Sequence[int]) -> Fraction:
    exact = [exact_value(alpha) for alpha in alphas]
    above = math.prod((_rising(a, n) for a, n in zip(exact, counts, strict=True)), start=Fraction(1))
    return above / _rising(sum(exact, Fraction(0)), sum(counts))


def _rising(a: Fraction, n: int) -> Fraction:
    """Return a (a + 1) … (a + n − 1).

    Examples
    --------
    >>> _rising(Fraction(1, 2), 3), _rising(Fraction(3), 0)
    (Fraction(15, 8), Fraction(1, 1))
    """
    p, q = a.numerator, a.denominator
    return Fraction(math.perm(p + n - 1, n) if q == 1 else math.prod(range(p, p + n * q, q)), q**n)


def _log_rising(a: float, n: int) -> float:
    """Return ln Γ(a + n) − ln Γ(a); for large a by Stirling's series, where the two would cancel."""
    if a < 1e4:
        return math.lgamma(a + n) - math.lgamma(a)
    return (a - 0.5) * math.log1p(n / a) + n * (math.log(a + n) - 1.0) + (1.0 / (a + n) - 1.0 / a) / 12.0


def _evidence_equation(alphas: Sequence[Number], counts: Sequence[int]) -> Equation:
    """Return P(D) as a ratio of beta functions, B(a) = Π Γ(a_k) / Γ(Σ a_k); its logarithm if it underflows."""
    value = _evidence(alphas, counts)
    if as_float(value) == 0.0:
        return equation(symbol("ln P(D)", r"\ln P(D)"), number(_log_evidence(alphas, counts)))
    numbers = _beta(_added(alphas, counts)) / _beta(alphas)
    return equation(symbol("P(D)"), symbol("B(a + n)") / symbol("B(a)"), numbers, *result(value))


def _beta(values: Sequence[Number]) -> Term:
    terms = [*map(number, values[:_SHOWN]), *([symbol("…", r"\dots")] if len(values) > _SHOWN else [])]
    return Term(f"B({', '.join(term.text for term in terms)})", f"B({', '.join(term.latex for term in terms)})")


def _powers(exponents: Sequence[Number]) -> Term:
    """Return p^a (1 − p)^b."""
    terms = list(map(number, exponents))
    first, second = (term.text if term.text.isdigit() else f"({term.text})" for term in terms)
    return Term(f"p^{first} (1 − p)^{second}", rf"p^{{{terms[0].latex}}} (1 - p)^{{{terms[1].latex}}}", 1)


def _proportional(what: Term, to: Term) -> Term:
    return symbol(f"{what.text} ∝ {to.text}", rf"{what.latex} \propto {to.latex}")


def _var(what: Term, given: Term | None = None) -> Term:
    found = call("Var", what, given)
    return Term(found.text, found.latex.replace("Var", r"\mathrm{Var}", 1))


# Which of two probabilities is larger

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LOG_UNDERFLOW = 750.0
_LEAST, _LARGEST = 1e-10, 1e10  # outside, the incomplete beta function loses digits


def _probability_above(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return P(p > q) = ∫ f(p) P(q < p) dp of p ~ Beta(a, b) and q ~ Beta(c, d).

    The integral is over s, the log-odds of p minus those of its mean m = a / (a + b). There the density is smooth, has
    its top at 0 and falls off exponentially: f ∝ exp(a s) / (1 + m (exp(s) − 1))^(a + b). Gauss–Legendre panels are
    narrow near both means and grow away from them. The integral of f itself, by the same rule, normalises the result.
    """
    if not all(_LEAST <= value <= _LARGEST for value in (*first, *second)):
        rule = f"alpha and beta must lie between {_LEAST:g} and {_LARGEST:g} for a comparison"
        raise DataError(f"{rule}; got {first} and {second}.")
    (a, b), (c, d) = first, second
    middle, other = math.log(a / b), math.log(c / d)
    widths = [min(1.0, math.sqrt(1.0 / x + 1.0 / y)) for x, y in (first, second)]  # of the log-odds
    edges = _panel_edges(a, b, [(0.0, widths[0]), (other - middle, widths[1]), (-middle, 1.0)])
    half = 0.5 * np.diff(edges)[:, None]
    s = 0.5 * (edges[:-1] + edges[1:])[:, None] + half * _NODES
    density = np.exp(_log_density(s, a, b)) * half * _WEIGHTS
    log_odds = s + middle
    below = np.where(log_odds < 0.0, betainc(c, d, expit(log_odds)), betaincc(d, c, expit(-log_odds)))
    return min(1.0, float((density * below).sum() / density.sum()))


def _log_density(s: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return ln f, 0 at its top, in the form that does not overflow on each side."""

    def log_mixed(m: float, n: float, s: np.ndarray) -> np.ndarray:  # ln(m exp(s) + n) for s ≤ 0, m + n = 1
        fall = m * np.expm1(s)
        return np.where(fall > -0.5, np.log1p(np.maximum(fall, -0.5)), np.log(m * np.exp(s) + n))

    m, n = 1.0 / (1.0 + b / a), 1.0 / (1.0 + a / b)
    left, right = np.minimum(s, 0.0), np.minimum(-s, 0.0)
    return a * left + b * right - (a + b) * (log_mixed(m, n, left) + log_mixed(n, m, right))


def _panel_edges(a: float, b: float, centres: list[tuple[float, float]]) -> np.ndarray:
    """Return panel edges over all s where the density does not underflow."""
    low = -(_LOG_UNDERFLOW + (a + b) * math.log1p(a / b)) / a
    high = (_LOG_UNDERFLOW + (a + b) * math.log1p(b / a)) / b
    found = [np.array([low, high])]
    for centre, width in centres:
        reach = math.asinh(max(centre - low, high - centre, 1.0) / width)
        steps = width * np.sinh(np.arange(0.0, reach + 0.25, 0.25))
        found += [centre - steps, centre + steps]
    return np.unique(np.concatenate(found).clip(low, high))


# Checks


def _as_positive(what: str, value: object) -> Number:
    found = as_number(what, value)
    if not (found > 0 and 0.0 < as_float(found) < math.inf):
        raise DataError(f"{what} must be above 0; got {number_text(found)}.")
    return found


def _as_count(what: str, value: object) -> int:
    found = exact_value(as_number(what, value))
    if found < 0 or found.denominator != 1:
        raise DataError(f"{what} must be an integer of at least 0; got {shortened(repr(value))}.")
    return int(found)


def _check_level(level: object) -> float:
    found = check_number("level", level, above=0)
    if found >= 1:
        raise DataError(f"level must be below 1; got {level!r}. Write 0.95 for 95 %.", parameter="level")
    return found


def _as_points(what: str, values: ArrayLike) -> np.ndarray:
    found = as_floats(what, values)
    if np.isnan(found).any():
        raise DataError(f"{what} must be numbers; got nan.")
    return found


def _added(alphas: Sequence[Number], counts: Sequence[int]) -> list[Number]:
    return [like(exact_value(a) + n, [a]) for a, n in zip(alphas, counts, strict=True)]


def _seen_counts(now: Sequence[Number], then: Sequence[Number]) -> list[Fraction]:
    return [exact_value(a) - exact_value(b) for a, b in zip(now, then, strict=True)]


def _successes_and_failures(successes: object, failures: object, trials: object) -> tuple[int, int]:
    if (failures is None) == (trials is None):
        got = "neither" if failures is None else "both"
        hint = "update(7, 3) and update(7, trials=10) are the same."
        raise DataError(f"successes must come with failures or trials=; got {got}. {hint}")
    hits = _as_count("successes", successes)
    if trials is None:
        return hits, _as_count("failures", failures)
    tried = _as_count("trials", trials)
    if tried < hits:
        raise DataError(f"trials must be at least the number of successes, {hits}; got {tried}.", parameter="trials")
    return hits, tried - hits


def _numbers(values: object) -> list[Number]:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    return [as_number(f"the value at position {i}", value) for i, value in enumerate(values)]


def _summed(values: list[Number]) -> tuple[int, Number]:
    """Return the number and the sum of values, exact if they are."""
    if all(isinstance(value, int | Fraction) for value in values):
        return len(values), sum(values)
    try:
        return len(values), math.fsum(map(as_float, values))
    except OverflowError:
        raise DataError("the sum of the values must be finite; it overflows a float.") from None
