"""How each measure of a diagnostic test comes about, with the numbers in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    Term,
    difference,
    equation,
    number,
    probability,
    product,
    ratio,
    rounded,
    symbol,
    total,
)
from tunbridge.reasoning.diagnosis.case_counts import CaseCounts
from tunbridge.reasoning.diagnosis.measure_intervals import counts_of
from tunbridge.reasoning.numbers import Number, complement

if TYPE_CHECKING:
    from tunbridge.reasoning.diagnosis.diagnostic import DiagnosticTest

_SHORT = {"true_positives": "TP", "false_positives": "FP", "false_negatives": "FN", "true_negatives": "TN"}
_OTHER = {"ill": "well", "well": "ill", "+": "-", "-": "+"}
_ASKED = {
    "prevalence": ("ill", None),
    "sensitivity": ("+", "ill"),
    "specificity": ("-", "well"),
    "false_positive_rate": ("+", "well"),
    "false_negative_rate": ("-", "ill"),
    "ppv": ("ill", "+"),
    "npv": ("well", "-"),
    "false_discovery_rate": ("well", "+"),
    "false_omission_rate": ("ill", "-"),
    "positive_rate": ("+", None),
}
"""The measures that are the probability of something given something."""


def derive(test: DiagnosticTest, name: str) -> Derivation:
    """Return the derivation of a measure: from the counts if it is a share of them, else from probabilities."""
    some = None if test.counts is None else counts_of(name, prevalence_is_counted=test.prevalence_is_counted)
    if test.counts is not None and some is not None:
        return Derivation((_counted(test.counts, name, *some, test.measure(name)),))
    return Derivation(tuple(_lines(test, name)))


def _counted(counts: CaseCounts, name: str, some: tuple[str, ...], whole: tuple[str, ...], value: Number) -> Equation:
    """Return the equation of a share of counts."""

    def both(show: Callable[[str], Term]) -> Term:
        return ratio(total(*map(show, some)), total(*map(show, whole)))

    asked = probability(*_ASKED[name]) if name in _ASKED else symbol(name, rf"\text{{{name}}}")
    in_numbers = both(lambda cell: number(getattr(counts, cell)))
    return equation(asked, both(lambda cell: symbol(_SHORT[cell])), in_numbers, *_shown(value))


def _lines(test: DiagnosticTest, name: str) -> list[Equation]:
    """Return the equations of a measure that is computed from prevalence, sensitivity and specificity."""
    if name in ("prevalence", "sensitivity", "specificity"):
        return [equation(probability(*_ASKED[name]), *_shown(test.measure(name)))]
    if name in ("false_positive_rate", "false_negative_rate"):
        return [_complement(test, name)]
    if name in ("positive_likelihood_ratio", "negative_likelihood_ratio"):
        return _likelihood_ratio(test, "+" if name.startswith("positive") else "-")
    if name == "odds_ratio":
        return _odds_ratio(test)
    if name == "youden":
        return [_youden(test)]
    if name == "accuracy":
        return _summed(test, symbol("accuracy", r"\text{accuracy}"), ("+", "ill"), ("-", "well"), test.accuracy)
    result = "+" if name == "positive_rate" else str(_ASKED[name][1])
    cells = (result, "ill"), (result, "well")
    whole = test.positive_rate if result == "+" else complement(test.positive_rate)
    lines = _summed(test, probability(result), *cells, whole)
    return lines if name == "positive_rate" else [*lines, _share(test, name, whole)]


def _share(test: DiagnosticTest, name: str, whole: Number) -> Equation:
    """Return P(state | result) = P(result, state) / P(result)."""
    state, result = _ASKED[name]
    cell = str(result), str(state)
    in_numbers = ratio(number(test.joint[cell]), number(whole))
    return equation(
        probability(state, result), ratio(_joint(*cell), probability(result)), in_numbers, *_shown(test.measure(name))
    )


def _summed(
    test: DiagnosticTest, asked: Term, first: tuple[str, str], second: tuple[str, str], value: Number
) -> list[Equation]:
    """Return the equations of two joint probabilities and of their sum."""
    cells, joint = (first, second), test.joint
    lines = [_joint_line(test, *cell) for cell in cells]
    in_numbers = total(*(number(joint[cell]) for cell in cells))
    return [*lines, equation(asked, total(*(_joint(*cell) for cell in cells)), in_numbers, *_shown(value))]


def _joint_line(test: DiagnosticTest, result: str, state: str) -> Equation:
    """Return P(result, state) = P(result | state) × P(state)."""
    before = test.measure("prevalence")
    share = before if state == "ill" else complement(before)
    formula = product(probability(result, state), probability(state))
    in_numbers = product(number(_rate(test, result, state)), number(share))
    return equation(_joint(result, state), formula, in_numbers, *_shown(test.joint[result, state]))


def _complement(test: DiagnosticTest, name: str) -> Equation:
    result, state = _ASKED[name]
    other, given = _OTHER[result], str(state)
    formula = difference(symbol("1"), probability(other, given))
    return equation(
        probability(result, given),
        formula,
        difference(symbol("1"), number(_rate(test, other, given))),
        *_shown(test.measure(name)),
    )


def _likelihood_ratio(test: DiagnosticTest, result: str) -> list[Equation]:
    sign = "positive" if result == "+" else "negative"
    value = test.measure(f"{sign}_likelihood_ratio")
    formula = ratio(probability(result, "ill"), probability(result, "well"))
    in_numbers = ratio(number(_rate(test, result, "ill")), number(_rate(test, result, "well")))
    given = _complement(test, "false_positive_rate" if result == "+" else "false_negative_rate")
    return [given, equation(_ratio_symbol(result), formula, in_numbers, *_shown(value))]


def _odds_ratio(test: DiagnosticTest) -> list[Equation]:
    right = product(probability("+", "ill"), probability("-", "well"))
    wrong = product(probability("-", "ill"), probability("+", "well"))
    above = product(number(test.sensitivity), number(test.specificity))
    below = product(number(test.false_negative_rate), number(test.false_positive_rate))
    asked = symbol("odds ratio", r"\text{odds ratio}")
    return [equation(asked, ratio(right, wrong), ratio(above, below), *_shown(test.odds_ratio))]


def _youden(test: DiagnosticTest) -> Equation:
    formula = difference(total(probability("+", "ill"), probability("-", "well")), symbol("1"))
    in_numbers = difference(total(number(test.sensitivity), number(test.specificity)), symbol("1"))
    return equation(symbol("J"), formula, in_numbers, *_shown(test.youden))


def _rate(test: DiagnosticTest, result: str, state: str) -> Number:
    """Return P(result | state)."""
    if state == "ill":
        return test.sensitivity if result == "+" else test.false_negative_rate
    return test.specificity if result == "-" else test.false_positive_rate


def _joint(result: str, state: str) -> Term:
    """Return P(result, state) as a term."""
    return probability(f"{result}, {state}")


def _ratio_symbol(result: str) -> Term:
    return symbol(f"LR{result}", rf"\mathrm{{LR}}_{{{result}}}")


def _shown(value: Number) -> tuple[Term, Term]:
    """Return a result as it is and, of a fraction, as a decimal."""
    return number(value), rounded(value)
