"""Bayes' rule for a finite set of hypotheses, and the rules of probability behind it.

With P(h) the prior probability of hypothesis h, and P(E | h) the probability that it gives to an observation E,

    P(h | E) = P(E | h) P(h) / P(E),        P(E) = Σ_h P(E | h) P(h)   (total probability).

For the next observation the posterior becomes the prior. In odds form the rule is a product,

    P(a | E) / P(b | E) = [P(E | a) / P(E | b)] · [P(a) / P(b)],

posterior odds = Bayes factor × prior odds. Several observations are assumed to be independent given the hypothesis, so
their Bayes factors multiply. Exact numbers give fractions, floats give floats.

References
----------
T. Bayes (1763). An essay towards solving a problem in the doctrine of chances. Philosophical Transactions 53, 370–418.
R. E. Kass, A. E. Raftery (1995). Bayes factors. Journal of the American Statistical Association 90, 773–795.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from tunbridge._core.check import check_choice, counted, did_you_mean, listed, shortened
from tunbridge._core.grid import data_frame, text_grid
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.derivation import Derivation, P, equation, number, result
from tunbridge.reasoning.hypotheses import BayesStep, Evolution, Models, sum_of_products, value_table
from tunbridge.reasoning.numbers import (
    ROUNDING,
    Number,
    Weights,
    as_float,
    as_number,
    as_prior,
    as_probability,
    by_name,
    check_names,
    distinct,
    exact_sum,
    exact_value,
    like,
    number_text,
)

if TYPE_CHECKING:
    import pandas

_SHOWN = 20


def bayes_rule(prior: object, likelihood: object, observations: object = None) -> BayesUpdate:
    """Return the probability of each hypothesis after one or more observations, with its derivation.

    Parameters
    ----------
    prior : mapping of hypothesis to probability, Distribution, BayesUpdate, or "uniform"
        P(h). A mapping may leave one hypothesis out: it gets the rest. ``"uniform"`` or ``None``: all equal.
    likelihood : mapping of hypothesis to probability, or a sequence of such mappings
        P(E | h) of one observation, or of each of several. With ``observations``: the probabilities of all outcomes
        for each hypothesis, ``{hypothesis: {outcome: probability}}``.
    observations : iterable of outcomes, optional
        The observed outcomes, in order. A string is read character by character, unless it is itself an outcome.

    Returns
    -------
    BayesUpdate
        A mapping of hypothesis to posterior probability. Exact numbers (fractions, decimals, strings such as "1/3")
        give exact fractions; with a float among them the results are correctly rounded floats.

    Examples
    --------
    One in 125 people has the cancer; the test detects 98 of 100 cases, and is positive for 3 of 100 healthy people:

    >>> found = bayes_rule({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    >>> round(found["cancer"], 4), found.map, found.ml
    (0.2085, 'healthy', 'cancer')
    >>> print(found.derivation("cancer"))
    P(E) = P(E | cancer) × P(cancer) + P(E | healthy) × P(healthy)
         = 0.98 × 0.008 + 0.03 × 0.992
         = 0.00784 + 0.02976
         = 0.0376
    P(cancer | E) = P(E | cancer) × P(cancer) / P(E) = 0.00784 / 0.0376 = 0.208511

    Two positive tests, and exact numbers:

    >>> test = {"cancer": {"+": "0.98", "-": "0.02"}, "healthy": {"+": "0.03", "-": "0.97"}}
    >>> found = bayes_rule({"cancer": "0.008"}, test, ["+", "+"])
    >>> found["cancer"], found.bayes_factor("cancer", "healthy")
    (Fraction(2401, 2680), Fraction(9604, 9))
    """
    prior, given = by_name(prior), by_name(likelihood)
    names = _hypotheses(prior, given, observations is not None)
    start = as_prior(prior, names)
    if observations is None:
        rows = _given_likelihoods(given, names)
    else:
        models = Models.of_outcomes(names, [given[name] for name in names])
        rows = [(str(seen), tuple(models.likelihoods(seen))) for seen in models.observations(observations)]
    if not rows:
        raise DataError("there must be at least one observation; got none.")
    return BayesUpdate(_variable(prior, names), _steps(names, start, rows))


@final
@dataclass(frozen=True, eq=False, repr=False)
class BayesUpdate(Mapping[Any, Number]):
    """Posterior probabilities by hypothesis, with the observations that led to them.

    Parameters
    ----------
    variable : Variable
        The hypotheses, as states.
    steps : tuple of BayesStep
        For each observation: the prior before it, its likelihood, joint probability and evidence, the posterior.
    aliases : mapping, optional
        Other names of hypotheses, for lookups.
    """

    variable: Variable
    steps: tuple[BayesStep, ...]
    aliases: Mapping[Any, Hashable] = field(default_factory=dict)

    def __getitem__(self, hypothesis: object) -> Number:
        return self.steps[-1].posterior[self._place(hypothesis)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.hypotheses)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with the prior and the posterior probability of each hypothesis."""
        prior, posterior = self.prior, self.posterior
        columns = {"prior": [float(prior[h]) for h in self], "posterior": [float(posterior[h]) for h in self]}
        return data_frame(columns, index=list(self))

    @property
    def hypotheses(self) -> tuple[Hashable, ...]:
        """The hypotheses."""
        return self.variable.states or ()

    @property
    def prior(self) -> Distribution:
        """The distribution before any observation."""
        return Distribution(self.variable, [as_float(p) for p in self.steps[0].prior])

    @property
    def posterior(self) -> Distribution:
        """The distribution after all observations."""
        return Distribution(self.variable, [as_float(p) for p in self.steps[-1].posterior])

    @property
    def map(self) -> Any:
        """The most probable hypothesis (maximum a posteriori); of equal ones the first."""
        return self.hypotheses[self._weights.best]

    @property
    def ml(self) -> Any:
        """The hypothesis that makes the observations most probable (maximum likelihood); of equal ones the first."""
        return self.hypotheses[self._likelihood.best]

    @property
    def evidence(self) -> Number:
        """P(E), the total probability of all observations, Σ_h P(E | h) P(h)."""
        return self._weights.total

    @property
    def log_evidence(self) -> float:
        """The natural logarithm of the evidence; it does not underflow."""
        return self._weights.log_total

    def likelihood(self, hypothesis: object) -> Number:
        """Return P(E | h) of all observations."""
        return self._likelihood.values[self._place(hypothesis)]

    def prior_odds(self, hypothesis: object, against: object = None) -> Number:
        """Return P(h) / P(against) before any observation; default: against all other hypotheses."""
        return self._odds(Weights.of(self.steps[0].prior), hypothesis, against)

    def odds(self, hypothesis: object, against: object = None) -> Number:
        """Return P(h | E) / P(against | E), infinite if certain; default: against all other hypotheses."""
        return self._odds(self._weights, hypothesis, against)

    def bayes_factor(self, hypothesis: object, against: object = None) -> Number:
        """Return P(E | h) / P(E | against): posterior odds over prior odds.

        Without ``against`` it is P(E | h) / P(E | not h), where "not h" is the mixture of the others by their priors.

        Examples
        --------
        >>> bayes_rule({"fair": 0.5}, {"fair": 0.5, "two-headed": 1}).bayes_factor("two-headed")
        2.0
        """
        if against is not None:
            return self._odds(self._likelihood, hypothesis, against)
        i, prior = self._place(hypothesis), list(self.steps[0].prior)
        others = prior[:i] + prior[i + 1 :]
        prior[i] = like(exact_sum(others), others)  # with even prior odds, the posterior odds are the Bayes factor
        if prior[i] == 0:
            raise DataError(f"{hypothesis!r} must leave some prior to the others to be compared with them; got 1.")
        return self._odds(Weights.of(prior).combined(self._likelihood), hypothesis, None)

    def derivation(self, hypothesis: object = None, *, form: str = "rule", against: object = None) -> Derivation:
        """Return the formulas with the numbers in them, observation by observation.

        Parameters
        ----------
        hypothesis : optional
            The hypothesis; default: all of them, in odds form the first.
        form : {"rule", "odds"}
            Bayes' rule, or posterior odds = Bayes factor × prior odds.
        against : optional
            In odds form: the other hypothesis; default: all others together.

        Examples
        --------
        >>> found = bayes_rule({"a": "1/3", "b": "2/3"}, {"a": "1/2", "b": "1/5"})
        >>> print(found.derivation("a", form="odds", against="b"))
        P(a | E) / P(b | E) = (P(E | a) / P(E | b)) × (P(a) / P(b)) = 5/2 × 1/2 = 5/4 = 1.25
        """
        check_choice("form", form, ["rule", "odds"])
        if form == "odds":
            return self._odds_derivation(self.hypotheses[0] if hypothesis is None else hypothesis, against)
        shown = range(len(self)) if hypothesis is None else [self._place(hypothesis)]
        lines = [
            replace(step, observation=label).equations(self.hypotheses, shown, self._seen(i), self._seen(i + 1))
            for i, (step, label) in enumerate(zip(self.steps, self._labels, strict=True))
        ]
        return Derivation(tuple(line for part in lines for line in part))

    def _odds_derivation(self, name: object, against: object) -> Derivation:
        seen, other = self._seen(len(self.steps)), f"not {name}" if against is None else against
        factors = number(self.bayes_factor(name, against)) * self.prior_odds(name, against)
        rule = (P(seen, name) / P(seen, other)) * (P(name) / P(other))
        return Derivation((equation(P(name, seen) / P(other, seen), rule, factors, *result(self.odds(name, against))),))

    def evolution(self) -> Evolution:
        """Return the probabilities before and after each observation, to print or plot."""
        shares = [self.steps[0].prior, *(step.posterior for step in self.steps)]
        table = np.array([[as_float(p) for p in row] for row in shares])
        return Evolution(self.hypotheses, tuple(step.observation for step in self.steps), table)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON or a data frame: numbers by hypothesis, and the evidence.

        Examples
        --------
        >>> bayes_rule({"a": "1/2"}, {"a": "1/2", "b": 1}).to_dict()["posterior"]
        {'a': 0.3333333333333333, 'b': 0.6666666666666666}
        """
        columns = {"prior": self.steps[0].prior, "likelihood": self._likelihood.values}
        columns["posterior"] = self.steps[-1].posterior
        names = list(map(str, self.hypotheses))
        named = {what: dict(zip(names, map(as_float, column), strict=True)) for what, column in columns.items()}
        return {**named, "evidence": as_float(self.evidence), "log_evidence": self.log_evidence}

    def __repr__(self) -> str:
        columns = [self.steps[0].prior, self._likelihood.values, self._weights.values, self.steps[-1].posterior]
        header = [self.variable.name, "prior", "likelihood", "joint", "posterior"]
        lines = [[name, *map(as_float, row)] for name, *row in zip(self.hypotheses, *columns, strict=True)]
        notes = [f"… the {_SHOWN} most probable of {len(self)}"] if len(lines) > _SHOWN else []
        if notes:
            lines = sorted(lines, key=lambda line: -line[-1])[:_SHOWN]
        seen = f"{counted(len(self.steps), 'observation')}, " if len(self.steps) > 1 else ""
        evidence = as_float(self.evidence)
        shown = f"P(E) = {evidence:.6g}" if evidence else f"ln P(E) = {self.log_evidence:.6g}"
        return "\n".join([text_grid(header, lines), *notes, seen + shown])

    @cached_property
    def _likelihood(self) -> Weights:
        found = Weights.of([Fraction(1)] * len(self))
        for step in self.steps:
            found = found.times(step.likelihood)
        return found

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self.steps[0].prior).combined(self._likelihood)

    def _place(self, hypothesis: object) -> int:
        place = self.variable.find(hypothesis)
        if place < 0 and hypothesis in self.aliases:
            place = self.variable.find(self.aliases[hypothesis])
        if place < 0:
            hint = did_you_mean(hypothesis, self.hypotheses)
            raise UnknownStateError(f"the hypothesis must be one of those compared; got {hypothesis!r}. {hint}")
        return place

    def _odds(self, weights: Weights, hypothesis: object, against: object) -> Number:
        i = self._place(hypothesis)
        others = [j for j in range(len(self)) if j != i] if against is None else [self._place(against)]
        if not weights.any_possible([i, *others]):
            rule = "must compare hypotheses of which at least one is possible"
            raise DataError(f"odds {rule}; {hypothesis!r} and {against!r} both have probability 0.")
        return weights.ratio([i], others)

    @cached_property
    def _labels(self) -> list[str]:
        """The names of the observations in formulas, numbered if they repeat."""
        names = [step.observation for step in self.steps]
        return names if len(set(names)) == len(names) else [f"{name}({i})" for i, name in enumerate(names, 1)]

    def _seen(self, n: int) -> str:
        return ", ".join(self._labels[:n])


def _hypotheses(prior: object, likelihood: object, with_outcomes: bool) -> tuple[Hashable, ...]:
    """Return the hypotheses: those of the prior in its order, then those that only the likelihood names."""
    first = likelihood
    if not with_outcomes and isinstance(likelihood, Sequence) and likelihood:
        first = by_name(likelihood[0])
    if not isinstance(first, Mapping) or not first:
        what = "{hypothesis: {outcome: probability}}" if with_outcomes else "a mapping of hypothesis to probability"
        raise DataError(f"the likelihood must be {what}; got {shortened(repr(first)) if first else 'an empty one'}.")
    known = list(prior) if isinstance(prior, Mapping) else []
    new = [name for name in first if name not in set(known)]
    if absent := [name for name in known if name not in first]:
        check_names("the likelihood", new[:1], known)
        raise DataError(f"the likelihood must be given for every hypothesis; {listed(absent)} is missing.")
    return distinct([*known, *new])


def _variable(prior: object, names: tuple[Hashable, ...]) -> Variable:
    prior = prior.posterior if isinstance(prior, BayesUpdate) else prior
    if isinstance(prior, Distribution) and len(prior.variables) == 1 and prior.variables[0].states == names:
        return prior.variables[0]
    return Variable("hypothesis", names)


def _given_likelihoods(
    likelihood: Mapping[Any, object] | Sequence[object], names: Sequence[Hashable]
) -> list[tuple[str, tuple[Number, ...]]]:
    """Return the name and the probabilities of each observation."""
    rows = [likelihood] if isinstance(likelihood, Mapping) else [by_name(row) for row in likelihood]
    labels = ["E"] if len(rows) == 1 else [f"E{i}" for i in range(1, len(rows) + 1)]
    found = []
    for label, row in zip(labels, rows, strict=True):
        if not isinstance(row, Mapping):
            raise DataError(f"the likelihood of {label} must be a mapping of hypothesis to probability; got {row!r}.")
        check_names(f"the likelihood of {label}", row, names)
        if absent := [name for name in names if name not in row]:
            rule = f"the likelihood of {label} must be given for every hypothesis"
            raise DataError(f"{rule}; {listed(absent)} is missing.")
        found.append((label, tuple(_likelihood(f"P({label} | {name})", row[name]) for name in names)))
    return found


def _likelihood(what: str, value: object) -> Number:
    is_density = isinstance(value, float | int) and 1 < value < 2
    return as_probability(what, value, hint="For densities use HypothesisSpace." if is_density else "")


def _steps(
    names: Sequence[Hashable], start: tuple[Number, ...], rows: Sequence[tuple[str, tuple[Number, ...]]]
) -> tuple[BayesStep, ...]:
    """Return what each observation does to the probabilities; raise for one that is impossible."""
    weights, prior, steps = Weights.of(start), start, []
    for i, (label, likelihood) in enumerate(rows):
        weights = weights.times(likelihood)
        if not weights.any_possible():
            left = listed(name for name, p in zip(names, prior, strict=True) if p)
            before = f" after {counted(i, 'observation')}" if i else ""
            rule = f"an observation must be possible under one of the remaining hypotheses{before}"
            raise ImpossibleEvidenceError(f"{rule}; {label} has probability 0 under {left}.", conflict={label: 0})
        steps.append(BayesStep(label, prior, likelihood, weights.shares))
        prior = steps[-1].posterior
    return tuple(steps)


# The rules of probability


@overload
def product_rule(conditional: Mapping[Any, Any], marginal: Mapping[Any, Any] | None) -> Distribution: ...
@overload
def product_rule(conditional: float | Fraction | str, marginal: float | Fraction | str) -> Number: ...
def product_rule(conditional: object, marginal: object) -> Number | Distribution:
    """Return P(A, B) = P(A | B) P(B), of two events or of two variables.

    Parameters
    ----------
    conditional : number, or mapping of B's value to a mapping of A's value to probability
        P(A | B).
    marginal : number, or mapping of B's value to probability
        P(B).

    Returns
    -------
    number, or Distribution of B and A

    Examples
    --------
    >>> product_rule("98/100", "8/1000")
    Fraction(49, 6250)
    >>> product_rule({"rain": {"wet": 0.9, "dry": 0.1}, "sun": {"wet": 0.2, "dry": 0.8}}, {"rain": 0.25, "sun": 0.75})
    B     A
    rain  wet  0.225
    rain  dry  0.025
    sun   wet  0.15
    sun   dry  0.6
    """
    if not isinstance(conditional, Mapping):
        return sum_of_products([as_probability("P(A | B)", conditional)], [as_probability("P(B)", marginal)])
    outer = distinct(conditional)
    shares = as_prior(marginal, outer, what="P(B)")
    tables = [value_table(f"P(A | {b})", conditional[b]) for b in outer]
    inner = list(dict.fromkeys(a for table in tables for a in table))
    cells = [
        [as_float(exact_value(q) * exact_value(table.get(a, 0))) for a in inner]
        for q, table in zip(shares, tables, strict=True)
    ]
    return Distribution([Variable("B", outer), Variable("A", inner)], cells)


def sum_rule(first: object, second: object, both: object) -> Number:
    """Return P(A or B) = P(A) + P(B) − P(A, B).

    Parameters
    ----------
    first, second : number
        P(A) and P(B).
    both : number
        P(A, B); 0 for mutually exclusive events, P(A) P(B) for independent ones.

    Examples
    --------
    >>> sum_rule("1/2", "1/3", "1/6")
    Fraction(2, 3)
    """
    given = as_probability("P(A)", first), as_probability("P(B)", second), as_probability("P(A, B)", both)
    a, b, c = map(exact_value, given)
    low, high = max(Fraction(0), a + b - 1), min(a, b)
    if not low - ROUNDING <= c <= high + ROUNDING:
        rule = f"must lie between {number_text(like(low, given))} and {number_text(like(high, given))}"
        raise DataError(f"P(A, B) {rule}, given P(A) and P(B); got {number_text(given[2])}.")
    return like(a + b - min(max(c, low), high), given)


def total_probability(prior: object, likelihood: Mapping[Any, object]) -> Number:
    """Return P(E) = Σ_h P(E | h) P(h).

    Parameters
    ----------
    prior : mapping of hypothesis to probability, or None
        P(h). It may leave one hypothesis out: it gets the rest. ``None``: all equal.
    likelihood : mapping of hypothesis to probability
        P(E | h).

    Examples
    --------
    >>> total_probability({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    0.0376
    """
    if not isinstance(likelihood := by_name(likelihood), Mapping):
        got = shortened(repr(likelihood))
        raise DataError(f"the likelihood must be a mapping of hypothesis to probability; got {got}.")
    chances = [as_probability(f"P(E | {name})", value) for name, value in likelihood.items()]
    return sum_of_products(chances, as_prior(prior, distinct(likelihood)))


def odds(probability: object) -> Number:
    """Return the odds p / (1 − p) of a probability; infinite for 1.

    Examples
    --------
    >>> odds("1/5"), odds(0.75)
    (Fraction(1, 4), 3.0)
    """
    p = as_probability("the probability", probability)
    return math.inf if p == 1 else like(exact_value(p) / (1 - exact_value(p)), [p])


def from_odds(odds: object) -> Number:
    """Return the probability o / (1 + o) of odds.

    Examples
    --------
    >>> from_odds("1/4"), from_odds(3.0)
    (Fraction(1, 5), 0.75)
    """
    if isinstance(odds, float) and odds == math.inf:
        return 1.0
    o = as_number("odds", odds)
    if o < 0:
        raise DataError(f"odds must be at least 0; got {number_text(o)}.", parameter="odds")
    return like(exact_value(o) / (1 + exact_value(o)), [o])
