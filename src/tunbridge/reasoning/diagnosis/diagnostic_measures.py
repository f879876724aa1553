"""The measures of a diagnostic test as functions of its prevalence, sensitivity and specificity, without rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import Number, as_probability, complement, exact_sum, exact_value, like, number_text

ILL, WELL = "ill", "well"


class DiagnosticMeasures:
    """What follows from prevalence, sensitivity and specificity; :class:`DiagnosticTest` is the one to use."""

    prevalence: Number | None
    sensitivity: Number
    specificity: Number

    # Of the ill, of the well

    @property
    def false_positive_rate(self) -> Number:
        """P(+ | well) = 1 − specificity."""
        return complement(self.specificity)

    @property
    def false_negative_rate(self) -> Number:
        """P(− | ill) = 1 − sensitivity."""
        return complement(self.sensitivity)

    @property
    def positive_likelihood_ratio(self) -> Number:
        """LR+ = P(+ | ill) / P(+ | well), by which a positive result multiplies the odds; infinite at specificity 1."""
        return self._ratio("positive_likelihood_ratio", self.sensitivity, self.false_positive_rate)

    @property
    def negative_likelihood_ratio(self) -> Number:
        """LR− = P(− | ill) / P(− | well), by which a negative result multiplies the odds; infinite at specificity 0."""
        return self._ratio("negative_likelihood_ratio", self.false_negative_rate, self.specificity)

    @property
    def odds_ratio(self) -> Number:
        """The diagnostic odds ratio LR+ / LR−: TP · TN / (FP · FN) of counts."""
        right = exact_value(self.sensitivity) * exact_value(self.specificity)
        wrong = (1 - exact_value(self.sensitivity)) * (1 - exact_value(self.specificity))
        if right == wrong == 0:
            raise DataError(f"odds_ratio must not be 0/0; it is at {self._rates_text()}.")
        return math.inf if wrong == 0 else like(right / wrong, [self.sensitivity, self.specificity])

    @property
    def youden(self) -> Number:
        """Youden's index, sensitivity + specificity − 1: 1 for a perfect test, 0 for one that says nothing."""
        both = self.sensitivity, self.specificity
        return like(exact_sum(both) - 1, both)

    # Of all, and of those with a result

    @property
    def joint(self) -> dict[tuple[str, str], Number]:
        """P(result, state): the terms of Bayes' rule, by ("+", "ill"), ("+", "well"), ("-", "ill") and ("-", "well").

        Examples
        --------
        >>> import tunbridge as tb
        >>> joint = tb.DiagnosticTest(0.008, 0.98, 0.97).joint
        >>> joint["+", "ill"], joint["+", "well"]
        (0.00784, 0.02976)
        """
        return {cell: self._like(share) for cell, share in self._exact_joint("joint").items()}

    @property
    def ppv(self) -> Number:
        """The positive predictive value P(ill | +)."""
        return self._share("ppv", "+", ILL)

    @property
    def npv(self) -> Number:
        """The negative predictive value P(well | −)."""
        return self._share("npv", "-", WELL)

    @property
    def false_discovery_rate(self) -> Number:
        """P(well | +) = 1 − PPV."""
        return self._share("false_discovery_rate", "+", WELL)

    @property
    def false_omission_rate(self) -> Number:
        """P(ill | −) = 1 − NPV."""
        return self._share("false_omission_rate", "-", ILL)

    @property
    def positive_rate(self) -> Number:
        """P(+), the total probability of a positive result."""
        return self._sum("positive_rate", ("+", ILL), ("+", WELL))

    @property
    def accuracy(self) -> Number:
        """P(+, ill) + P(−, well), the share of right results."""
        return self._sum("accuracy", ("+", ILL), ("-", WELL))

    def prevalence_for(self, *, ppv: Any = None, npv: Any = None) -> Number:
        """Return the prevalence at which a predictive value is this large.

        Examples
        --------
        >>> import tunbridge as tb
        >>> test = tb.DiagnosticTest(sensitivity="0.98", specificity="0.97")
        >>> test.prevalence_for(ppv="1/2"), test.prevalence_for(npv="0.999")
        (Fraction(3, 101), Fraction(97, 2095))
        """
        if (ppv is None) == (npv is None):
            raise DataError("prevalence_for must be asked for a ppv or for an npv; got both or none of them.")
        name, value = ("ppv", ppv) if npv is None else ("npv", npv)
        wanted = as_probability(name, value)
        ill, well = (exact_value(share) for share in self._rates(name))
        if not (ill and well):
            raise DataError(f"{name} must be one that the test can have; {self._fixed(name)} at every prevalence.")
        share = exact_value(wanted) if name == "ppv" else 1 - exact_value(wanted)
        return like(share * well / (share * well + (1 - share) * ill), [wanted, self.sensitivity, self.specificity])

    # Inside

    def _exact_joint(self, what: str) -> dict[tuple[str, str], Fraction]:
        """Return the terms of :attr:`joint` without any rounding; ``what`` needs them."""
        ill, found, cleared = map(exact_value, (self._needed(what), self.sensitivity, self.specificity))
        return {
            ("+", ILL): found * ill,
            ("+", WELL): (1 - cleared) * (1 - ill),
            ("-", ILL): (1 - found) * ill,
            ("-", WELL): cleared * (1 - ill),
        }

    def _needed(self, what: str) -> Number:
        """Return the prevalence; raise when there is none."""
        if self.prevalence is None:
            raise DataError(f"{what} must have a prevalence; the test has none. Use test.at(prevalence).")
        return self.prevalence

    def _like(self, value: Fraction) -> Number:
        """Return what was computed from prevalence, sensitivity and specificity, exact if they are."""
        return like(value, [self._needed("it"), self.sensitivity, self.specificity])

    def _share(self, name: str, result: str, state: str) -> Number:
        """Return P(state | result)."""
        cells = self._exact_joint(name)
        whole = cells[result, ILL] + cells[result, WELL]
        if not whole:
            kind = "positive" if result == "+" else "negative"
            raise DataError(f"{name} must be asked of a test that is sometimes {kind}; P({result}) is 0 here.")
        return self._like(cells[result, state] / whole)

    def _sum(self, name: str, *cells: tuple[str, str]) -> Number:
        known = self._exact_joint(name)
        return self._like(exact_sum(known[cell] for cell in cells))

    def _ratio(self, name: str, above: Number, below: Number) -> Number:
        if below == 0 and above == 0:
            raise DataError(f"{name} must not be 0/0; it is at {self._rates_text()}.")
        return math.inf if below == 0 else like(exact_value(above) / exact_value(below), [above, below])

    def _rates_text(self) -> str:
        return f"sensitivity {number_text(self.sensitivity)} and specificity {number_text(self.specificity)}"

    def _rates(self, name: str) -> tuple[Number, Number]:
        """Return the probabilities of the result that a predictive value is about, for the ill and for the well."""
        if name == "ppv":
            return self.sensitivity, self.false_positive_rate
        return self.false_negative_rate, self.specificity

    def _fixed(self, name: str) -> str:
        """Return which value a predictive value has, where it does not depend on the prevalence, in words."""
        ill, well = self._rates(name)
        if ill == well == 0:
            return f"with {self._rates_text()} it is undefined"
        return f"with {self._rates_text()} it is {1 if (name == 'ppv') == bool(ill) else 0}"
