"""Bayes' rule for a finite set of hypotheses.

With P(h) the probability of hypothesis h before, and P(E | h) the probability that it gives to what was then seen,

    P(h | E) = P(E | h) P(h) / P(E),        P(E) = Σ_h P(E | h) P(h)   (total probability).

What is seen next starts from there: the posterior becomes the prior. In odds form the rule is a product,

    P(a | E) / P(b | E) = [P(E | a) / P(E | b)] · [P(a) / P(b)],

posterior odds = Bayes factor × prior odds. Several observations are taken to be independent of each other once the
hypothesis is known, so that their Bayes factors multiply.

References
----------
T. Bayes (1763). An essay towards solving a problem in the doctrine of chances. Philosophical Transactions 53, 370–418.
R. E. Kass, A. E. Raftery (1995). Bayes factors. Journal of the American Statistical Association 90, 773–795.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from tunbridge._check import counted, did_you_mean, listed, shortened
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError, UnknownStateError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.grid import text_grid
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.evolution import Evolution
from tunbridge.reasoning.models import Outcomes, as_observations
from tunbridge.reasoning.numbers import Number, as_float, as_probability, exact_sum, like
from tunbridge.reasoning.priors import as_prior, by_name, check_names, distinct
from tunbridge.reasoning.steps import BayesStep, odds_lines, rule_lines
from tunbridge.reasoning.weights import Weights

_DENSITY = "A density may be larger: use HypothesisSpace."
_SHOWN = 20


def bayes_rule(prior: Any, likelihood: Any, observations: Any = None) -> BayesUpdate:
    """Return the probability of each hypothesis after what was seen, with the way to it.

    Parameters
    ----------
    prior : mapping of hypothesis to probability, Distribution, BayesUpdate, or "uniform"
        P(h). One hypothesis may be left out and gets what the others leave; ``"uniform"`` or ``None`` makes all alike.
    likelihood : mapping of hypothesis to probability, or a sequence of such mappings
        P(E | h) of the one observation, or of each of several. With ``observations``: for each hypothesis the
        probabilities of all outcomes, ``{hypothesis: {outcome: probability}}``.
    observations : iterable of outcomes, optional
        The outcomes that were seen, in their order. A text is read letter by letter, unless it is one of the outcomes.

    Returns
    -------
    BayesUpdate
        A mapping of hypothesis to posterior probability. Numbers that are exact (fractions, decimals, texts such as
        "1/3") give exact fractions; with a float among them the answers are floats, correctly rounded.

    Examples
    --------
    One in 125 people has the cancer; the test finds it in 98 of 100 cases, and cries wolf in 3 of 100:

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
    prior, likelihood = by_name(prior), by_name(likelihood)
    names = _hypotheses(prior, likelihood, observations is not None)
    start = as_prior(prior, names)
    rows = _seen(likelihood, names) if observations is None else _looked_up(likelihood, names, observations)
    if not rows:
        raise DataError("there must be one observation at least; got none.")
    return BayesUpdate(_variable(prior, names), _steps(names, start, rows))


@final
@dataclass(frozen=True, eq=False, repr=False)
class BayesUpdate(Mapping[Any, Number]):
    """Posterior probabilities by hypothesis, and each observation that led to them.

    Parameters
    ----------
    variable : Variable
        The hypotheses, as states.
    steps : tuple of BayesStep
        What each observation did: the prior before it, its likelihood, joint probability and evidence, the posterior.
    """

    variable: Variable
    steps: tuple[BayesStep, ...]

    # A mapping

    def __getitem__(self, hypothesis: object) -> Number:
        return self.steps[-1].posterior[self._place(hypothesis)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.hypotheses)

    def __len__(self) -> int:
        return len(self.hypotheses)

    @property
    def hypotheses(self) -> tuple[Hashable, ...]:
        """The hypotheses."""
        return self.variable.states or ()

    @property
    def prior(self) -> Distribution:
        """The distribution before anything was seen."""
        return Distribution(self.variable, [as_float(p) for p in self.steps[0].prior])

    @property
    def posterior(self) -> Distribution:
        """The distribution after all was seen."""
        return Distribution(self.variable, [as_float(p) for p in self.steps[-1].posterior])

    @property
    def map(self) -> Any:
        """The most probable hypothesis (maximum a posteriori); of equal ones the first."""
        return self.hypotheses[self._weights.best]

    @property
    def ml(self) -> Any:
        """The hypothesis that makes what was seen most probable (maximum likelihood); of equal ones the first."""
        return self.hypotheses[self._likelihood.best]

    # What was seen

    @property
    def evidence(self) -> Number:
        """P(E), the probability of all that was seen: the total probability Σ_h P(E | h) P(h)."""
        return self._weights.total

    @property
    def log_evidence(self) -> float:
        """The natural logarithm of the evidence, of any size."""
        return self._weights.log_total

    def likelihood(self, hypothesis: Any) -> Number:
        """Return P(E | h) of all that was seen."""
        return self._likelihood.values[self._place(hypothesis)]

    def prior_odds(self, hypothesis: Any, against: Any = None) -> Number:
        """Return P(h) / P(against), before anything was seen; against all other hypotheses unless one is named."""
        return self._odds(Weights.of(self.steps[0].prior), hypothesis, against)

    def odds(self, hypothesis: Any, against: Any = None) -> Number:
        """Return P(h | E) / P(against | E); against all other hypotheses unless one is named. Infinite if certain."""
        return self._odds(self._weights, hypothesis, against)

    def bayes_factor(self, hypothesis: Any, against: Any = None) -> Number:
        """Return P(E | h) / P(E | against): posterior odds over prior odds.

        Without ``against`` it is P(E | h) / P(E | not h), where what is not h is the mixture of the others by their
        priors.

        Examples
        --------
        >>> bayes_rule({"fair": 0.5}, {"fair": 0.5, "two-headed": 1}).bayes_factor("two-headed")
        2.0
        """
        if against is not None:
            return self._odds(self._likelihood, hypothesis, against)
        i, prior = self._place(hypothesis), list(self.steps[0].prior)
        others = prior[:i] + prior[i + 1 :]
        prior[i] = like(exact_sum(others), others)  # with even odds before, the odds after are the Bayes factor
        if prior[i] == 0:
            raise DataError(f"{hypothesis!r} must leave some prior to the others to be weighed against them; got 1.")
        return self._odds(Weights.of(prior).combined(self._likelihood), hypothesis, None)

    def derivation(self, hypothesis: Any = None, *, form: str = "rule", against: Any = None) -> Derivation:
        """Return the formulas with the numbers in them, observation by observation.

        Parameters
        ----------
        hypothesis : optional
            The hypothesis in question; by default all of them, and in odds form the first.
        form : {"rule", "odds"}
            Bayes' rule, or posterior odds = Bayes factor × prior odds.
        against : optional
            In odds form: the other hypothesis, by default all others together.

        Examples
        --------
        >>> found = bayes_rule({"a": "1/3", "b": "2/3"}, {"a": "1/2", "b": "1/5"})
        >>> print(found.derivation("a", form="odds", against="b"))
        P(a | E) / P(b | E) = (P(E | a) / P(E | b)) × (P(a) / P(b)) = 5/2 × 1/2 = 5/4 = 1.25
        """
        if form == "odds":
            first = self.hypotheses[0] if hypothesis is None else hypothesis
            factors = (self.bayes_factor(first, against), self.prior_odds(first, against), self.odds(first, against))
            return Derivation((odds_lines(first, against, self._given(len(self.steps)), *factors),))
        if form != "rule":
            raise DataError(f"form must be 'rule' or 'odds'; got {form!r}.")
        shown = range(len(self)) if hypothesis is None else [self._place(hypothesis)]
        lines = [
            rule_lines(self.hypotheses, replace(step, observation=label), shown, self._given(i), self._given(i + 1))
            for i, (step, label) in enumerate(zip(self.steps, self._labels, strict=True))
        ]
        return Derivation(tuple(line for part in lines for line in part))

    def evolution(self) -> Evolution:
        """Return the probabilities before and after each observation, to be printed or drawn."""
        shares = [self.steps[0].prior, *(step.posterior for step in self.steps)]
        table = np.array([[as_float(p) for p in row] for row in shares])
        return Evolution(self.hypotheses, tuple(step.observation for step in self.steps), table)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, for JSON or a frame: numbers by hypothesis, and the evidence.

        Examples
        --------
        >>> bayes_rule({"a": "1/2"}, {"a": "1/2", "b": 1}).to_dict()["posterior"]
        {'a': 0.3333333333333333, 'b': 0.6666666666666666}
        """
        columns = [self.steps[0].prior, self._likelihood.values, self.steps[-1].posterior]
        told = [dict(zip(map(str, self.hypotheses), map(as_float, column), strict=True)) for column in columns]
        named = dict(zip(("prior", "likelihood", "posterior"), told, strict=True))
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
        told = f"P(E) = {evidence:.6g}" if evidence else f"ln P(E) = {self.log_evidence:.6g}"
        return "\n".join([text_grid(header, lines), *notes, seen + told])

    # Inside

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
        if place < 0:
            hint = did_you_mean(hypothesis, self.hypotheses)
            raise UnknownStateError(f"the hypothesis must be one of those weighed; got {hypothesis!r}. {hint}")
        return place

    def _odds(self, weights: Weights, hypothesis: Any, against: Any) -> Number:
        i = self._place(hypothesis)
        others = [j for j in range(len(self)) if j != i] if against is None else [self._place(against)]
        if not weights.possible_at([i, *others]):
            rule = "must compare hypotheses of which one at least is possible"
            raise DataError(f"odds {rule}; {hypothesis!r} and {against!r} both have probability 0.")
        return weights.ratio([i], others)

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """What the observations are called in formulas: by their names, numbered where names repeat."""
        names = [step.observation for step in self.steps]
        if len(set(names)) == len(names):
            return tuple(names)
        return tuple(f"{name}({i})" for i, name in enumerate(names, 1))

    def _given(self, n_seen: int) -> str:
        return ", ".join(self._labels[:n_seen])


# What was given


def _hypotheses(prior: Any, likelihood: Any, with_outcomes: bool) -> tuple[Hashable, ...]:
    """Return the hypotheses: those of the prior in its order, then those that only the likelihood names."""
    first = likelihood
    if not with_outcomes and isinstance(likelihood, Sequence) and likelihood:
        first = by_name(likelihood[0])
    if not isinstance(first, Mapping) or not first:
        what = "{hypothesis: {outcome: probability}}" if with_outcomes else "a mapping of hypothesis to probability"
        got = shortened(repr(first)) if first else "an empty one"
        raise DataError(f"the likelihood must be {what}; got {got}.")
    known = list(prior) if isinstance(prior, Mapping) else []
    new = [name for name in first if name not in set(known)]
    if absent := [name for name in known if name not in first]:
        if new:
            check_names("the likelihood", {new[0]: None}, known)
        raise DataError(f"the likelihood must be given for every hypothesis; {listed(absent)} is not there.")
    return distinct([*known, *new])


def _variable(prior: Any, names: tuple[Hashable, ...]) -> Variable:
    if isinstance(prior, BayesUpdate):
        prior = prior.posterior
    if isinstance(prior, Distribution) and len(prior.variables) == 1 and prior.variables[0].states == names:
        return prior.variables[0]
    return Variable("hypothesis", names)


def _seen(likelihood: Any, names: Sequence[Hashable]) -> list[tuple[str, tuple[Number, ...]]]:
    """Return the name and the probabilities of each observation."""
    rows = [likelihood] if isinstance(likelihood, Mapping) else [by_name(row) for row in likelihood]
    labels = ["E"] if len(rows) == 1 else [f"E{i}" for i in range(1, len(rows) + 1)]
    return [(label, _row(label, row, names)) for label, row in zip(labels, rows, strict=True)]


def _row(label: str, row: Any, names: Sequence[Hashable]) -> tuple[Number, ...]:
    if not isinstance(row, Mapping):
        raise DataError(f"the likelihood of {label} must be a mapping of hypothesis to probability; got {row!r}.")
    check_names(f"the likelihood of {label}", row, names)
    absent = [name for name in names if name not in row]
    if absent:
        raise DataError(f"the likelihood of {label} must be given for every hypothesis; {listed(absent)} is not there.")
    return tuple(as_probability(f"P({label} | {name})", row[name], hint=_hint(row[name])) for name in names)


def _hint(value: Any) -> str:
    return _DENSITY if isinstance(value, float | int) and 1 < value < 2 else ""


def _looked_up(
    model: Mapping[Any, Any], names: Sequence[Hashable], observations: Any
) -> list[tuple[str, tuple[Number, ...]]]:
    """Return the name and the probabilities of each observation, from the probabilities of all outcomes."""
    outcomes = Outcomes.of(names, [model[name] for name in names])
    return [(str(seen), tuple(outcomes.likelihoods(seen))) for seen in as_observations(observations, outcomes)]


def _steps(
    names: Sequence[Hashable], start: Sequence[Number], rows: Sequence[tuple[str, tuple[Number, ...]]]
) -> tuple[BayesStep, ...]:
    """Return what each observation does to the probabilities; raise for one that is impossible."""
    weights, prior, steps = Weights.of(start), tuple(start), []
    for i, (label, likelihood) in enumerate(rows):
        weights = weights.times(likelihood)
        if not weights.possible:
            before = f" after {counted(i, 'observation')}" if i else ""
            rule = "must be possible under a hypothesis that is left"
            raise ImpossibleEvidenceError(
                f"what was seen {rule}{before}; {label} has probability 0 under each of "
                f"{listed(name for name, p in zip(names, prior, strict=True) if p)}.",
                conflict={label: 0},
            )
        steps.append(BayesStep(label, prior, likelihood, weights.shares))
        prior = steps[-1].posterior
    return tuple(steps)
