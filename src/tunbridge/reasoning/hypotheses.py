"""A finite space of hypotheses: what data say about each, and what all of them together predict.

With P(h) the prior and P(D | h) = Π_d P(d | h) the likelihood of the data,

    P(h | D) = P(D | h) P(h) / P(D),        P(D) = Σ_h P(D | h) P(h)   (the evidence).

h_MAP is the hypothesis with the largest posterior, h_ML the one with the largest likelihood; with equal priors they are
the same. Evaluating all hypotheses is brute-force MAP learning: exact, and feasible where the space is small.

The most probable hypothesis is not the best answer about a new case x. That is the value which all hypotheses together
make most probable, each weighted by its posterior (the **Bayes-optimal** classifier):

    argmax_v Σ_h P(v | x, h) P(h | D).

No other method with the same space and prior errs less often. The **Gibbs** classifier is cheaper: draw one hypothesis
from the posterior and use its answer. If the truth itself is drawn from the prior, it errs on average at most twice as
often as the Bayes-optimal one: with p_v the probability of value v, 1 − Σ p_v² ≤ 2 (1 − max p_v).

References
----------
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, sections 6.3, 6.7 and 6.8.
D. Haussler, M. Kearns, R. E. Schapire (1994). Bounds on the sample complexity of Bayesian learning using information
theory and the VC dimension. Machine Learning 14, 83–113.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, TypeAlias, TypeGuard, final

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened
from tunbridge._core.grid import text_grid
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.derivation import Derivation, Equation, P, equation, exp, log, number, product, result, total
from tunbridge.reasoning.numbers import (
    Number,
    Weights,
    as_float,
    as_number,
    as_prior,
    as_probability,
    distinct,
    exact_sum,
    exact_value,
    like,
    log_of,
    normalised,
    softmax,
)

Function: TypeAlias = Callable[[Any, Any], Any]

Factor: TypeAlias = tuple[tuple[Number, ...], int]
"""The probabilities of an observation under each hypothesis, and how often it was made."""

_SHOWN = 10
_MOST_TERMS = 6
_ROWS, _COLUMNS = 20, 8
_MOST_FACTORS = 8  # different observations that a derivation shows as a product


@final
@dataclass(frozen=True, eq=False, repr=False, init=False)
class HypothesisSpace:
    """Hypotheses with their probabilities; :meth:`update` returns the space after more data.

    Parameters
    ----------
    hypotheses : mapping of name to hypothesis, or iterable of hypotheses
        A hypothesis is whatever the functions below take; hypotheses in an iterable are their own names.
    prior : None, "uniform", mapping of name to probability, pandas Series, or iterable of numbers
        P(h); ``None`` or ``"uniform"``: all equal. A mapping may leave one out: it gets the rest. A
        :class:`BayesUpdate` is a mapping, and so is a Series with names as its index.
    likelihood : function (hypothesis, observation) → number, optional
        P(d | h), a probability or a density.
    log_likelihood : function (hypothesis, observation) → float, optional
        Its natural logarithm, instead.
    predict : function (hypothesis, case) → value, or mapping of value to probability, optional
        What a hypothesis predicts for a case. Without a likelihood, observations are pairs (case, value).

        Without any of these three functions a hypothesis is a mapping of outcome to probability,
        ``{"H": 0.5, "T": 0.5}``.

    Notes
    -----
    Probabilities are stored as logarithms, so any number of observations can be added, and also as exact fractions as
    long as these are short: then posteriors are correctly rounded, and if all numbers are exact (fractions, integers)
    :attr:`shares` and :attr:`evidence` are fractions.

    Examples
    --------
    A coin shows heads with probability 1/3, 1/2 or 2/3. Heads, heads, tails:

    >>> from fractions import Fraction
    >>> coins = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
    >>> space = HypothesisSpace(coins, likelihood=lambda p, side: p if side == "H" else 1 - p)
    >>> seen = space.update("HHT")
    >>> seen.shares
    {Fraction(1, 3): Fraction(16, 75), Fraction(1, 2): Fraction(9, 25), Fraction(2, 3): Fraction(32, 75)}
    >>> seen.map, seen.evidence
    (Fraction(2, 3), Fraction(25, 216))
    """

    names: tuple[Hashable, ...]
    n_observed: int
    _models: Models
    _prior: tuple[Number, ...]
    _seen: Weights
    _factors: tuple[Factor, ...] | None

    def __init__(
        self,
        hypotheses: Mapping[Any, Any] | Iterable[Any],
        prior: object = None,
        *,
        likelihood: Function | None = None,
        log_likelihood: Function | None = None,
        predict: Function | None = None,
    ) -> None:
        names = distinct(hypotheses)
        values = tuple(hypotheses.values()) if isinstance(hypotheses, Mapping) else names
        if likelihood is not None and log_likelihood is not None:
            raise DataError("a space must have a likelihood or a log_likelihood; got both.", parameter="likelihood")
        if likelihood or log_likelihood or predict:
            models = Models(names, values, likelihood or log_likelihood, predict, log_likelihood is not None)
        else:
            models = Models.of_outcomes(names, values)
        self.__dict__.update(names=names, n_observed=0, _models=models, _factors=())
        self.__dict__.update(_prior=as_prior(prior, names), _seen=Weights.of([Fraction(1)] * len(names)))

    def update(self, data: object) -> HypothesisSpace:
        """Return the space after more observations.

        Parameters
        ----------
        data : iterable of observations
            Outcomes, pairs (case, value), or whatever the likelihood takes. A string is read character by character,
            unless it is itself an outcome.
        """
        observations = self._models.observations(data)
        seen, factors = self._seen, list(self._factors or ())
        for observation, repeats in _repeats(observations):
            likelihoods = self._models.likelihoods(observation)
            seen = self._after(seen, likelihoods, repeats)
            factors = [*factors[:_MOST_FACTORS], (tuple(likelihoods), repeats)]
        weights = Weights.of(self._prior).combined(seen)
        if not weights.any_possible():
            self._raise_impossible(observations)
        kept = tuple(factors) if self._factors is not None and len(factors) <= _MOST_FACTORS else None
        found, n_observed = copy(self), self.n_observed + len(observations)
        found.__dict__.update(n_observed=n_observed, _seen=seen, _factors=kept, _weights=weights)
        return found

    def evolution(self, data: object) -> Evolution:
        """Return the probability of each hypothesis before and after each further observation.

        Examples
        --------
        >>> coins = {"fair": {"H": 0.5, "T": 0.5}, "two-headed": {"H": 1.0}}
        >>> HypothesisSpace(coins).evolution("HHT")
           seen  fair      two-headed
        0        0.5       0.5
        1  H     0.333333  0.666667
        2  H     0.2       0.8
        3  T     1         0
        """
        observations = self._models.observations(data)
        logs = np.vstack([self._weights.logs, *self._log_likelihoods(observations)]).cumsum(axis=0)
        if np.isneginf(logs.max(axis=1)).any():
            self._raise_impossible(observations)
        return Evolution(self.names, tuple(observations), softmax(logs))

    @property
    def shares(self) -> dict[Any, Number]:
        """P(h | D) by hypothesis; fractions if all numbers are exact."""
        return dict(zip(self.names, self._weights.shares, strict=True))

    @property
    def prior(self) -> Distribution:
        """The distribution of the hypotheses before any data."""
        return Distribution(Variable("hypothesis", self.names), [as_float(share) for share in self._prior])

    @property
    def posterior(self) -> Distribution:
        """The distribution of the hypotheses after the data."""
        return Distribution(Variable("hypothesis", self.names), [as_float(share) for share in self._weights.shares])

    @property
    def map(self) -> Any:
        """The most probable hypothesis (maximum a posteriori); of equal ones the first."""
        return self.names[self._weights.best]

    @property
    def ml(self) -> Any:
        """The hypothesis under which the data are most probable (maximum likelihood); of equal ones the first."""
        return self.names[self._seen.best]

    @property
    def evidence(self) -> Number:
        """P(D), the probability of the data under the whole space; 0.0 if it underflows."""
        return self._weights.total

    @property
    def log_evidence(self) -> float:
        """Ln P(D)."""
        return self._weights.log_total

    @property
    def log_likelihoods(self) -> dict[Any, float]:
        """Ln P(D | h) by hypothesis."""
        return dict(zip(self.names, self._seen.logs.tolist(), strict=True))

    def derivation(self, hypothesis: object = None) -> Derivation:
        """Return the posterior of a hypothesis as formulas with the numbers in them.

        Parameters
        ----------
        hypothesis : optional
            The name of the hypothesis; default: all, or the ten most probable.

        Examples
        --------
        >>> coins = {"fair": {"H": "1/2", "T": "1/2"}, "bent": {"H": "2/3", "T": "1/3"}}
        >>> print(HypothesisSpace(coins).update("HHT").derivation())
        P(D | fair) = (1/2)^2 × 1/2 = 1/8
        P(D | bent) = (2/3)^2 × 1/3 = 4/27
        P(D) = P(D | fair) × P(fair) + P(D | bent) × P(bent)
             = 1/8 × 1/2 + 4/27 × 1/2
             = 1/16 + 2/27
             = 59/432
             ≈ 0.136574
        P(fair | D) = P(D | fair) × P(fair) / P(D) = 1/16 / (59/432) = 27/59 ≈ 0.457627
        P(bent | D) = P(D | bent) × P(bent) / P(D) = 2/27 / (59/432) = 32/59 ≈ 0.542373
        """
        if hypothesis is not None and hypothesis not in self.names:
            hint = did_you_mean(hypothesis, self.names)
            raise DataError(f"the hypothesis must be one of the space; got {hypothesis!r}. {hint}")
        shown = self._leading() if hypothesis is None else [self.names.index(hypothesis)]
        if not self._weights.can_be_written:
            return Derivation(tuple(log_equations(self.names, shown, self._prior, self._seen, self._weights)))
        step = BayesStep("D", self._prior, self._seen.values, self._weights.shares)
        products = [
            equation(
                P("D", self.names[i]),
                product(number(row[i]) ** n for row, n in self._factors),
                number(step.likelihood[i]),
            )
            for i in shown
            if self._factors
        ]
        return Derivation((*products, *step.equations(self.names, shown, "", "D")))

    def predictive(self, case: object = None) -> Distribution:
        """Return the probabilities of the values of a case, Σ_h P(v | x, h) P(h | D), or of the next outcome.

        Its mode is the Bayes-optimal answer.

        Examples
        --------
        >>> votes = {"h1": "+", "h2": "-", "h3": "-"}
        >>> space = HypothesisSpace(votes, [0.4, 0.3, 0.3], predict=lambda vote, x: vote)
        >>> space.predictive("x")
        value
        +   0.4
        -   0.6
        """
        exact, add = (exact_value, exact_sum) if self._weights.fractions is not None else (as_float, math.fsum)
        parts: dict[Any, list[Any]] = {}
        for place, share in enumerate(self._weights.shares):
            for value, p in self._models.values(place, case).items():
                parts.setdefault(value, []).append(exact(share) * exact(p))
        return Distribution(Variable("value", list(parts)), [as_float(add(terms)) for terms in parts.values()])

    def bayes_optimal(self, case: object = None) -> Any:
        """Return the most probable value of a case under all hypotheses together; of equal ones the first."""
        return self.predictive(case).mode

    def map_prediction(self, case: object = None) -> Any:
        """Return the value of a case that the most probable hypothesis predicts."""
        table = self._models.values(self._weights.best, case)
        return max(table, key=lambda value: table[value])

    def gibbs(self, case: object = None, *, random_state: int | np.random.Generator | None = None) -> Any:
        """Return the value of a case that a hypothesis drawn from the posterior predicts.

        If the hypothesis gives probabilities, the value is drawn from them.

        Parameters
        ----------
        case : optional
            The case to predict.
        random_state : int or numpy Generator, optional
            Random seed.
        """
        random = np.random.default_rng(random_state)
        table = self._models.values(_drawn(self._weights.shares, random), case)
        return list(table)[_drawn(table.values(), random)]

    def expected_errors(self, case: object = None) -> dict[str, float]:
        """Return the error rate of each kind of answer about a case, if the truth is drawn from the space.

        With p_v the probability of value v: 1 − max p_v for the Bayes-optimal answer, 1 − p of the value that the most
        probable hypothesis predicts, and 1 − Σ p_v² for Gibbs, which is at most twice the first.

        Examples
        --------
        >>> votes = {"h1": "+", "h2": "-", "h3": "-"}
        >>> space = HypothesisSpace(votes, [0.4, 0.3, 0.3], predict=lambda vote, x: vote)
        >>> {way: round(error, 2) for way, error in space.expected_errors("x").items()}
        {'bayes_optimal': 0.4, 'map': 0.6, 'gibbs': 0.48}
        """
        chances = self.predictive(case)
        p = chances.probabilities
        return {
            "bayes_optimal": 1.0 - float(p.max()),
            "map": 1.0 - chances[self.map_prediction(case)],
            "gibbs": max(0.0, 1.0 - float(p @ p)),
        }

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        shares = self._weights.shares
        rows = [[self.names[i], as_float(self._prior[i]), as_float(shares[i])] for i in self._leading()]
        more = f", the {_SHOWN} most probable" if len(self) > _SHOWN else ""
        seen = f"{counted(self.n_observed, 'observation')}, ln P(D) = {self.log_evidence:.6g}"
        return f"{len(self)} hypotheses{more}; {seen}\n{text_grid(['hypothesis', 'prior', 'posterior'], rows)}"

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self._prior).combined(self._seen)

    def _after(self, weights: Weights, likelihoods: Sequence[Number], repeats: int) -> Weights:
        if self._models.in_logs:
            return weights.plus_logs(np.array(likelihoods, np.float64), repeats)
        return weights.times(likelihoods, repeats)

    def _log_likelihoods(self, observations: list[Any]) -> list[np.ndarray]:
        """Return ln P(d | h) of each observation, computed once for equal ones."""
        none = Weights.of([Fraction(1)] * len(self))
        rows = [(d, self._after(none, self._models.likelihoods(d), 1).logs) for d, _ in _repeats(observations)]
        if len(rows) == len(observations):
            return [logs for _, logs in rows]
        known = dict(rows)
        return [known[d] for d in observations]

    def _raise_impossible(self, observations: list[Any]) -> NoReturn:
        """Raise, naming the first observation after which no hypothesis is left."""
        before, i = self._weights, 0
        while (after := self._after(before, self._models.likelihoods(observations[i]), 1)).any_possible():
            before, i = after, i + 1
        left = listed(name for name, log in zip(self.names, before.logs, strict=True) if log > -math.inf)
        rule = "data must be possible under a hypothesis of the space"
        raise ImpossibleEvidenceError(
            f"{rule}; observation {i + 1}, {shortened(repr(observations[i]))}, has probability 0 under each remaining "
            f"hypothesis: {left}.",
            conflict={f"observation {i + 1}": observations[i]},
        )

    def _leading(self) -> list[int]:
        """Return the places of all hypotheses, or of the most probable ones, best first."""
        if len(self) <= _SHOWN:
            return list(range(len(self)))
        return np.argsort(-self._weights.logs, kind="stable")[:_SHOWN].tolist()


# One application of Bayes' rule


@dataclass(frozen=True)
class BayesStep:
    """What one observation does to the probabilities of hypotheses.

    Parameters
    ----------
    observation : str
        Its name.
    prior, likelihood, posterior : tuple of numbers
        P(h), P(E | h) and P(h | E), in the order of the hypotheses.
    """

    observation: str
    prior: tuple[Number, ...]
    likelihood: tuple[Number, ...]
    posterior: tuple[Number, ...]

    @property
    def joint(self) -> tuple[Number, ...]:
        """P(E | h) P(h), in the order of the hypotheses."""
        pairs = zip(self.prior, self.likelihood, strict=True)
        return tuple(like(exact_value(p) * exact_value(q), (p, q)) for p, q in pairs)

    @property
    def evidence(self) -> Number:
        """P(E), the sum of the joint probabilities."""
        return sum_of_products(self.prior, self.likelihood)

    def equations(
        self, hypotheses: Sequence[Hashable], shown: Iterable[int], before: str, after: str
    ) -> list[Equation]:
        """Return the total probability and some of the posteriors as equations.

        ``before`` and ``after`` name the observations that are known by then: "" and "E" for a first one.
        """
        seen, known, joint, evidence = self.observation, before or None, self.joint, self.evidence
        formulas = [P(seen, name) * P(name, known) for name in hypotheses]
        numbers = [number(q) * number(p) for q, p in zip(self.likelihood, self.prior, strict=True)]
        sums = [total(terms, most=_MOST_TERMS, last=True) for terms in (formulas, numbers, list(map(number, joint)))]
        lines = [equation(P(seen, known), *sums, *result(evidence))]
        for i in shown:
            fraction = number(joint[i]) / evidence
            asked = P(hypotheses[i], after)
            lines.append(equation(asked, formulas[i] / P(seen, known), fraction, *result(self.posterior[i])))
        return lines


def sum_of_products(first: Sequence[Number], second: Sequence[Number]) -> Number:
    """Return Σ p q without rounding."""
    pairs = zip(first, second, strict=True)
    return like(exact_sum(exact_value(p) * exact_value(q) for p, q in pairs), (*first, *second))


def log_equations(
    hypotheses: Sequence[Hashable], shown: Iterable[int], prior: Sequence[Number], seen: Weights, weights: Weights
) -> list[Equation]:
    """Return the posteriors in logarithms, for likelihoods that are too small to be written out."""
    whole, shares = log(P("D")), weights.shares
    lines = [equation(whole, number(weights.log_total))]
    for i in shown:
        name = hypotheses[i]
        named = log(P("D", name)) + log(P(name)) - whole
        values = number(float(seen.logs[i])) + log_of(prior[i]) - weights.log_total
        lines.append(equation(P(name, "D"), exp(named), exp(values), number(shares[i])))
    return lines


@dataclass(frozen=True, eq=False, repr=False)
class Evolution:
    """The probability of each hypothesis before and after each observation.

    Parameters
    ----------
    hypotheses : tuple
        The hypotheses.
    observations : tuple
        The observations, in order.
    probabilities : ndarray of shape (n_observations + 1, n_hypotheses)
        The prior in the first row, then the posterior after each observation.
    """

    hypotheses: tuple[Hashable, ...]
    observations: tuple[object, ...]
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)

    def __len__(self) -> int:
        return len(self.observations)

    def __repr__(self) -> str:
        columns = sorted(np.argsort(-self.probabilities[-1], kind="stable")[:_COLUMNS].tolist())
        seen = ["", *(shortened(str(observation)) for observation in self.observations)]
        lines = [
            [i, text, *row]
            for i, (text, row) in enumerate(zip(seen, self.probabilities[:, columns].tolist(), strict=True))
        ]
        if len(lines) > _ROWS:
            dots = ["…", *[""] * (1 + len(columns))]
            lines = [*lines[: _ROWS // 2], dots, *lines[-_ROWS // 2 :]]
        return text_grid(["", "seen", *(self.hypotheses[j] for j in columns)], lines)


# What hypotheses say


@dataclass(frozen=True)
class Models:
    """What hypotheses say: the probability of an observation, and of each value of a case.

    Parameters
    ----------
    names : tuple
    hypotheses : tuple
        What the functions take; without functions mappings of outcome to probability.
    likelihood : function, optional
        P(d | h) or, if ``in_logs``, its logarithm.
    predict : function, optional
        The value of a case, or the probabilities of its values.
    in_logs : bool
    outcomes : dict
        All outcomes, if hypotheses are probabilities of outcomes.
    """

    names: tuple[Hashable, ...]
    hypotheses: tuple[Any, ...]
    likelihood: Function | None = None
    predict: Function | None = None
    in_logs: bool = False
    outcomes: Mapping[Any, None] | None = None

    @classmethod
    def of_outcomes(cls, names: tuple[Hashable, ...], given: Sequence[object]) -> Models:
        """Return hypotheses that are probabilities of outcomes, checked."""
        for name, table in zip(names, given, strict=True):
            if not isinstance(table, Mapping):
                rule = f"the outcomes of {name!r} must be a mapping of value to probability"
                hint = "Otherwise give likelihood(h, d) or predict(h, x)."
                raise DataError(f"{rule}; got {shortened(repr(table))}. {hint}")
        tables = tuple(value_table(f"the outcomes of {name!r}", t) for name, t in zip(names, given, strict=True))
        return cls(names, tables, outcomes={outcome: None for table in tables for outcome in table})

    def likelihoods(self, observation: object) -> list[Number]:
        """Return P(d | h), or its logarithm if ``in_logs``, for each hypothesis."""
        if self.likelihood is not None:
            check = _checked_log if self.in_logs else _checked
            pairs = zip(self.names, self.hypotheses, strict=True)
            return [check(name, self.likelihood(hypothesis, observation)) for name, hypothesis in pairs]
        got = shortened(repr(observation))
        if self.outcomes is not None:
            if not _is_hashable(observation) or observation not in self.outcomes:
                hint = did_you_mean(observation, self.outcomes)
                raise DataError(f"an observation must be an outcome of a hypothesis; got {got}. {hint}")
            return [table.get(observation, Fraction(0)) for table in self.hypotheses]
        if not isinstance(observation, tuple | list) or len(observation) != 2:
            raise DataError(f"an observation must be a pair of a case and its value; got {got}.")
        case, value = observation
        if not _is_hashable(value):
            raise DataError(f"the value of a case must be hashable; got {shortened(repr(value))}.")
        return [self.values(place, case).get(value, Fraction(0)) for place in range(len(self.names))]

    def values(self, place: int, case: object) -> dict[Any, Number]:
        """Return the probabilities of the values of a case, P(v | x, h), for the hypothesis at a place."""
        name = self.names[place]
        if self.predict is None:
            if self.outcomes is None:
                raise DataError("hypotheses must make predictions; give HypothesisSpace a function predict(h, x).")
            if case is not None:
                raise DataError(f"these hypotheses predict without a case; got {shortened(repr(case))}.")
            return dict(self.hypotheses[place])
        given = self.predict(self.hypotheses[place], case)
        if isinstance(given, Mapping):
            return value_table(f"the prediction of {name!r}", given)
        if given is None or not _is_hashable(given):
            rule = "must predict a value, or a mapping of value to probability"
            raise DataError(f"{name!r} {rule}; got {shortened(repr(given))}.")
        return {given: Fraction(1)}

    def observations(self, data: object) -> list[Any]:
        """Return data as a list of observations; raise for a table or counts by outcome.

        Examples
        --------
        >>> coin = Models.of_outcomes(("fair",), [{"H": 0.5, "T": 0.5}])
        >>> coin.observations("HHT"), coin.observations("H")
        (['H', 'H', 'T'], ['H'])
        """
        if self._is_one(data):
            return [data]
        data = data.to_pylist() if hasattr(data, "to_pylist") else data  # Arrow
        is_table = isinstance(data, Mapping) or hasattr(data, "columns")
        if is_table or not isinstance(data, Iterable) or getattr(data, "ndim", 1) == 0:
            got = shortened(" ".join(repr(data).split()))
            hint = "Write a single one as [x]; take one column of a table."
            raise DataError(f"data must be a list of observations; got {got}. {hint}", parameter="data")
        return list(data)

    def _is_one(self, data: object) -> bool:
        """Return whether data that could be several observations are one: an outcome, or a pair."""
        if self.likelihood is not None:
            return False
        if self.outcomes is not None:
            return isinstance(data, str) and data in self.outcomes
        return _is_pair(data) and not all(map(_is_pair, data))


def value_table(what: str, given: object) -> dict[Any, Number]:
    """Return probabilities by value, which must sum to one.

    Examples
    --------
    >>> value_table("the coin", {"H": "1/3", "T": "2/3"})
    {'H': Fraction(1, 3), 'T': Fraction(2, 3)}
    """
    if not isinstance(given, Mapping) or not given:
        raise DataError(f"{what} must be a mapping of value to probability; got {shortened(repr(given))}.")
    found = [as_probability(f"the probability of {value!r} in {what}", p) for value, p in given.items()]
    return dict(zip(given, normalised(what, found), strict=True))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_pair(data: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(data, tuple) and len(data) == 2


def _checked(name: Hashable, value: object) -> Number:
    if isinstance(value, float) and 0.0 <= value < math.inf:  # the fast path
        return float(value)
    found = as_number(f"the likelihood of {name!r}", value)
    if found < 0:
        raise DataError(f"the likelihood of {name!r} must be at least 0; got {value!r}.")
    return found


def _checked_log(name: Hashable, value: object) -> float:
    if isinstance(value, float | np.floating) and value < math.inf:
        return float(value)
    return as_float(as_number(f"the log-likelihood of {name!r}", value))


def _repeats(observations: list[Any]) -> list[tuple[Any, int]]:
    """Return each different observation with its count; unhashable ones one by one."""
    try:
        return list(Counter(observations).items())
    except TypeError:
        return [(observation, 1) for observation in observations]


def _drawn(chances: Iterable[Number], random: np.random.Generator) -> int:
    """Return a place drawn with these probabilities."""
    running = np.cumsum([as_float(chance) for chance in chances])
    return int(np.searchsorted(running, random.random() * running[-1], side="right"))
