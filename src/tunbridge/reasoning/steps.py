"""One application of Bayes' rule: the numbers, and the formula with them in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tunbridge.reasoning.derivation import (
    Equation,
    Term,
    difference,
    equation,
    exponential,
    logarithm,
    number,
    power,
    probability,
    product,
    ratio,
    rounded,
    symbol,
    total,
)
from tunbridge.reasoning.numbers import Number, exact_sum, exact_value, like, log_of
from tunbridge.reasoning.weights import Weights

_MOST_TERMS = 6

Factor: TypeAlias = tuple[tuple[Number, ...], int]
"""The probabilities of an observation under each hypothesis, and how often it was made."""


@dataclass(frozen=True)
class BayesStep:
    """What one observation does to the probabilities of hypotheses.

    Parameters
    ----------
    observation : str
        What it is called.
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
        pairs = zip(self.prior, self.likelihood, strict=True)
        return like(exact_sum(exact_value(p) * exact_value(q) for p, q in pairs), (*self.prior, *self.likelihood))


def rule_lines(
    hypotheses: Sequence[Hashable], step: BayesStep, shown: Iterable[int], before: str, after: str
) -> list[Equation]:
    """Return the total probability and the posterior of the hypotheses at some places, as equations.

    ``before`` and ``after`` are what was known by then: nothing and "E" for a first observation.
    """
    known = before or None
    joint, evidence, seen = step.joint, step.evidence, step.observation
    whole, n = probability(seen, known), len(hypotheses)

    def formula(i: int) -> Term:
        return product(probability(seen, hypotheses[i]), probability(hypotheses[i], known))

    lines = [
        equation(
            whole,
            _sum(formula, n),
            _sum(lambda i: product(number(step.likelihood[i]), number(step.prior[i])), n),
            _sum(lambda i: number(joint[i]), n),
            number(evidence),
            rounded(evidence),
        )
    ]
    for i in shown:
        asked = probability(hypotheses[i], after)
        numbers = ratio(number(joint[i]), number(evidence))
        found = step.posterior[i]
        lines.append(equation(asked, ratio(formula(i), whole), numbers, number(found), rounded(found)))
    return lines


def likelihood_lines(
    hypotheses: Sequence[Hashable], shown: Iterable[int], factors: Sequence[Factor] | None, values: Sequence[Number]
) -> list[Equation]:
    """Return P(D | h) of some hypotheses as the product that it is; nothing where the factors are too many to show."""
    if not factors:
        return []
    lines = []
    for i in shown:
        parts = product(*(power(number(likelihoods[i]), repeats) for likelihoods, repeats in factors))
        lines.append(equation(probability("D", hypotheses[i]), parts, number(values[i])))
    return lines


def log_lines(
    hypotheses: Sequence[Hashable],
    shown: Iterable[int],
    prior: Sequence[Number],
    log_likelihoods: np.ndarray,
    weights: Weights,
) -> list[Equation]:
    """Return the posteriors as equations in logarithms, for likelihoods that are too small to be written out."""
    evidence, shares = number(weights.log_total), weights.shares
    whole = logarithm(probability("D"))
    lines = [equation(whole, evidence)]
    for i in shown:
        name = hypotheses[i]
        parts = (logarithm(probability("D", name)), logarithm(probability(name)))
        values = (number(float(log_likelihoods[i])), number(log_of(prior[i])))
        asked, share = probability(name, "D"), number(shares[i])
        lines.append(
            equation(
                asked,
                exponential(difference(total(*parts), whole)),
                exponential(difference(total(*values), evidence)),
                share,
            )
        )
    return lines


def odds_lines(
    hypothesis: Any, against: Any, given: str, bayes_factor: Number, prior_odds: Number, posterior_odds: Number
) -> Equation:
    """Return posterior odds = Bayes factor × prior odds as an equation."""
    other = f"not {hypothesis}" if against is None else against
    return equation(
        ratio(probability(hypothesis, given), probability(other, given)),
        product(
            ratio(probability(given, hypothesis), probability(given, other)),
            ratio(probability(hypothesis), probability(other)),
        ),
        product(number(bayes_factor), number(prior_odds)),
        number(posterior_odds),
        rounded(posterior_odds),
    )


def _sum(term: Callable[[int], Term], n: int) -> Term:
    """Return the sum of n terms, the middle of a long one as dots."""
    if n <= _MOST_TERMS:
        return total(*map(term, range(n)))
    return total(term(0), term(1), symbol("…", r"\dots"), term(n - 1))
