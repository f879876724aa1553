"""The probabilities of several states, learned from counts: the Dirichlet prior and the multinomial likelihood.

Of unknown probabilities p_1, …, p_r the prior Dirichlet(a_1, …, a_r) has a density in proportion to Π p_k^(a_k − 1).
The a_k are pseudo-counts, as if state k had been seen a_k times before. After n_k observations of each state

    p | D ~ Dirichlet(a_1 + n_1, …),     P(next is k | D) = (a_k + n_k) / (a + n),     a = Σ a_k,  n = Σ n_k,
    P(D) = Π_k a_k^(n_k) / a^(n)   (rising factorials).

With a_k = m p_k the mean is the m-estimate, with a_k = γ Laplace's rule (:mod:`tunbridge.probability.smoothing`).
Each p_k alone is Beta(a_k, a − a_k): two states are the beta-binomial.

References
----------
A. Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., section 3.4.
T. M. Mitchell (1997). Machine Learning, eq. 6.22 (the m-estimate).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from tunbridge._check import did_you_mean, shortened
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.conjugates.beta_binomial import BetaBinomial
from tunbridge.reasoning.conjugates.conjugate import (
    as_count,
    as_positive,
    evidence,
    log_evidence,
    predictive_probability,
)
from tunbridge.reasoning.conjugates.conjugate_lines import dirichlet_lines
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.numbers import Number, as_float, exact_value, like, number_text

_SHOWN = 8


@final
@dataclass(frozen=True, init=False, repr=False)
class DirichletMultinomial:
    """What is believed about the probabilities of states: Dirichlet(a), to be updated by counts.

    Parameters
    ----------
    alpha : mapping of state to number
        Pseudo-counts a_k, above 0. Whole numbers give floats; with a fraction or a text ("1/2") among them, and no
        float, what is computed is an exact fraction.
    name : str
        What the states are states of.
    prior : DirichletMultinomial, optional
        What was believed before any data; :meth:`update` fills it in.

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
        self, alpha: Mapping[Any, Any], *, name: str = "state", prior: DirichletMultinomial | None = None
    ) -> None:
        if not isinstance(alpha, Mapping) or not alpha:
            hint = "dict.fromkeys(states, 1) gives each the same."
            rule = "alpha must be a mapping of state to pseudo-count, with one state at least"
            raise DataError(f"{rule}; got {shortened(repr(alpha))}. {hint}")
        numbers = tuple(as_positive(f"alpha of {state!r}", value) for state, value in alpha.items())
        self.__dict__.update(variable=Variable(name, alpha), alphas=numbers, prior=prior)

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The states."""
        return self.variable.states or ()

    @property
    def alpha(self) -> dict[Any, Number]:
        """The pseudo-counts by state."""
        return dict(zip(self.states, self.alphas, strict=True))

    # Learning

    def update(self, observed: Any) -> DirichletMultinomial:
        """Return what is believed after more observations.

        Parameters
        ----------
        observed : mapping of state to count, or iterable of states
        """
        pairs = zip(self.alphas, self._counts(observed), strict=True)
        moved = [like(exact_value(a) + n, [a]) for a, n in pairs]
        alpha = dict(zip(self.states, moved, strict=True))
        return DirichletMultinomial(alpha, name=self.variable.name, prior=self._start)

    def _counts(self, observed: Any) -> list[int]:
        """Return how often each state was observed."""
        if isinstance(observed, str) or not isinstance(observed, Iterable):
            hint = "Write a single observation as a list."
            rule = "what was observed must be counts by state, or a list of states"
            raise DataError(f"{rule}; got {shortened(repr(observed))}. {hint}")
        counts = [0] * len(self.alphas)
        pairs = observed.items() if isinstance(observed, Mapping) else ((state, 1) for state in observed)
        for state, count in pairs:
            counts[self._code(state)] += as_count(f"the count of {state!r}", count)
        return counts

    def _code(self, state: Any) -> int:
        code = self.variable.find(state)
        if code < 0:
            hint = did_you_mean(state, self.states)
            raise UnknownStateError(f"the state must be one that has a pseudo-count; got {state!r}. {hint}")
        return code

    @property
    def _start(self) -> DirichletMultinomial:
        return self.prior or self

    @property
    def _seen(self) -> list[int]:
        pairs = zip(self.alphas, self._start.alphas, strict=True)
        return [round(exact_value(now) - exact_value(then)) for now, then in pairs]

    # What is believed

    @property
    def mean(self) -> Distribution:
        """(a_k / a): the distribution of the next observation."""
        total = self._total
        return Distribution(self.variable, [as_float(exact_value(a) / total) for a in self.alphas])

    @property
    def mode(self) -> Distribution:
        """(a_k − 1) / (a − r), where the density is highest; it needs a_k ≥ 1, and one of them above 1."""
        exact = [exact_value(a) for a in self.alphas]
        left = self._total - len(exact)
        if min(exact) < 1 or left == 0:
            why = "all are alike" if left == 0 and min(exact) == 1 else "the density has no bound at an edge"
            raise DataError(f"the mode must have pseudo-counts of 1 and more, not all 1; of {self!r} {why}.")
        return Distribution(self.variable, [as_float((a - 1) / left) for a in exact])

    @property
    def variance(self) -> dict[Any, Number]:
        """The variance of each probability, a_k (a − a_k) / (a² (a + 1))."""
        return {state: self.marginal(state).variance for state in self.states}

    def marginal(self, state: Any) -> BetaBinomial:
        """Return what is believed about the probability of one state: Beta(a_k, a − a_k)."""
        code = self._code(state)
        if len(self.alphas) == 1:
            raise DataError(f"the states must be two at least; {state!r} is the only one, and certain.")
        prior = None if self.prior is None else self.prior.marginal(state)
        rest = like(self._total - exact_value(self.alphas[code]), self.alphas)
        return BetaBinomial(self.alphas[code], rest, prior=prior)

    def interval(self, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return for each state the interval that holds its probability with this one, as much below as above."""
        return {state: self.marginal(state).interval(level) for state in self.states}

    @property
    def _total(self) -> Fraction:
        return sum(map(exact_value, self.alphas), Fraction(0))

    # Data to come, or that came

    def evidence(self, observed: Any) -> Number:
        """Return P(D) of observations in a given order, taken without rounding up to 5 000 of them.

        Examples
        --------
        >>> DirichletMultinomial({"a": "1", "b": "1"}).evidence(["a", "b", "a"])
        Fraction(1, 12)
        """
        return evidence(self.alphas, self._counts(observed))

    def log_evidence(self, observed: Any) -> float:
        """Return ln P(D), of any size."""
        return log_evidence(self.alphas, self._counts(observed))

    def predictive_probability(self, observed: Any) -> Number:
        """Return the probability of these counts among the next observations, in any order.

        Examples
        --------
        >>> DirichletMultinomial({"a": 1, "b": 1}).predictive_probability({"a": 2, "b": 1})
        0.25
        """
        return predictive_probability(self.alphas, self._counts(observed))

    def derivation(self) -> Derivation:
        """Return posterior ∝ likelihood × prior with the numbers in it."""
        return dirichlet_lines(self.states, self._start.alphas, self._seen, self.alphas)

    def __repr__(self) -> str:
        pairs = [f"{state!r}: {number_text(a)}" for state, a in self.alpha.items()]
        shown = pairs if len(pairs) <= _SHOWN else [*pairs[:_SHOWN], f"… ({len(pairs)} in all)"]
        return f"DirichletMultinomial({{{', '.join(shown)}}}, name={self.variable.name!r})"
