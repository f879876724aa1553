"""Diagnostic tests: what a positive or a negative result says about an illness, and how rare it may be.

A test has a **sensitivity** P(+ | ill) and a **specificity** P(− | well). What a patient wants to know is the other way
round, and that takes the **prevalence** P(ill) too. By Bayes' rule the predictive values are

    PPV = P(ill | +) = sensitivity · prevalence / [sensitivity · prevalence + (1 − specificity)(1 − prevalence)]
    NPV = P(well | −) = specificity (1 − prevalence) / [specificity (1 − prevalence) + (1 − sensitivity) prevalence]

In odds it is a product: odds after = likelihood ratio × odds before, where

    LR+ = sensitivity / (1 − specificity),    LR− = (1 − sensitivity) / specificity.

Solved for the prevalence, which is how rare an illness may be before most alarms are false:

    PPV = p  ⟺  prevalence = p (1 − specificity) / [p (1 − specificity) + (1 − p) sensitivity].

Tests whose results are independent given whether somebody is ill can be combined: **in series**, all must be positive,
the sensitivities multiply and so do the false positive rates; **in parallel**, one positive is enough, and it is the
specificities and the false negative rates that multiply.

References
----------
D. G. Altman, J. M. Bland (1994). Diagnostic tests 1: sensitivity and specificity; 2: predictive values. BMJ 308, 1552;
309, 102.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from tunbridge._check import check_whole, shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.bayes import BayesUpdate, bayes_rule
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.diagnosis.case_counts import CELLS, CaseCounts, count_cases
from tunbridge.reasoning.diagnosis.diagnostic_measures import ILL, WELL, DiagnosticMeasures
from tunbridge.reasoning.diagnosis.measure_derivations import derive
from tunbridge.reasoning.diagnosis.measure_intervals import measure_interval
from tunbridge.reasoning.diagnosis.measure_table import (
    frequencies_text,
    html_table,
    measure_name,
    measured,
    summary_text,
)
from tunbridge.reasoning.diagnosis.proportions import Interval, as_level
from tunbridge.reasoning.diagnosis.several import as_results, common_prevalence, in_parallel, in_series
from tunbridge.reasoning.numbers import Number, as_probability, complement, number_text


@final
@dataclass(frozen=True, init=False, repr=False)
class DiagnosticTest(DiagnosticMeasures):
    """A test for an illness: its measures, what its results mean, and how sure they are.

    Parameters
    ----------
    prevalence : number, optional
        P(ill), how frequent the illness is among those who are tested. Without one there are no predictive values;
        :meth:`at` gives the test a prevalence.
    sensitivity : number
        P(+ | ill), the share of the ill whom the test finds.
    specificity : number
        P(− | well), the share of the well whom it leaves in peace.

    Attributes
    ----------
    counts : CaseCounts or None
        The 2 × 2 table behind the numbers, where there is one; see :meth:`from_counts`.
    prevalence_is_counted : bool
        Whether the prevalence is the share of the ill in that table too.

    Notes
    -----
    Numbers that are exact (fractions, decimals, texts such as ``"1/125"`` or ``"0.8 %"``) give exact fractions; counts,
    and anything with a float, give floats, correctly rounded. A measure that is 0/0, such as the
    PPV of a test that is never positive, raises a ``DataError`` when it is asked for; likelihood ratios and odds ratio
    are infinite where only what they are divided by is 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> test = tb.DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97)
    >>> round(test.ppv, 3), round(test.npv, 5), round(test.positive_likelihood_ratio, 1)
    (0.209, 0.99983, 32.7)
    >>> test.posterior("+").map, round(test.posterior("++")["ill"], 3)
    ('well', 0.896)
    >>> round(test.prevalence_for(ppv=0.5), 4)
    0.0297
    >>> exact = tb.DiagnosticTest("0.008", "0.98", "0.97")
    >>> exact.ppv
    Fraction(49, 235)

    From counts, with intervals:

    >>> counts = {"true_positives": 400, "false_positives": 210, "false_negatives": 310, "true_negatives": 1200}
    >>> test = tb.DiagnosticTest.from_counts(**counts)
    >>> [round(x, 3) for x in (test.ppv, test.npv, test.sensitivity, test.specificity)]
    [0.656, 0.795, 0.563, 0.851]
    >>> [round(end, 3) for end in test.interval("ppv")]
    [0.617, 0.692]
    """

    prevalence: Number | None
    sensitivity: Number
    specificity: Number
    counts: CaseCounts | None
    prevalence_is_counted: bool

    def __init__(self, prevalence: Any = None, sensitivity: Any = None, specificity: Any = None) -> None:
        self.__dict__.update(
            prevalence=None if prevalence is None else as_probability("prevalence", prevalence),
            sensitivity=as_probability("sensitivity", sensitivity),
            specificity=as_probability("specificity", specificity),
            counts=None,
            prevalence_is_counted=False,
        )

    @classmethod
    def from_counts(
        cls,
        *,
        true_positives: Any,
        false_positives: Any,
        false_negatives: Any,
        true_negatives: Any,
        prevalence: Any = None,
    ) -> DiagnosticTest:
        """Return the test that counted cases tell about.

        Parameters
        ----------
        true_positives, false_positives, false_negatives, true_negatives : number
            The ill and the well with a positive result, then the ill and the well with a negative one.
        prevalence : number, optional
            How frequent the illness is, where the counts do not tell: in a case-control study, say, for which as many
            well as ill people were looked for. By default it is the share of the ill among the cases.
        """
        counts = CaseCounts(true_positives, false_positives, false_negatives, true_negatives)
        return cls._counted(counts, prevalence)

    @classmethod
    def from_table(
        cls, data: Any, truth: str, result: str, *, ill: Any, positive: Any, prevalence: Any = None
    ) -> DiagnosticTest:
        """Return the test that a table of cases tells about.

        Parameters
        ----------
        data : Table or any frame
            A row for each case; rows that miss the truth or the result are left out, with a warning, and rows count
            by their weights.
        truth, result : str
            The columns that hold who is ill, and what the test said.
        ill, positive : state, or list of states
            Which states of these columns mean that. All others mean the opposite; of several others a warning tells.
        prevalence : number, optional
            As in :meth:`from_counts`.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.allergy()
        >>> tb.DiagnosticTest.from_table(table, "allergy", "test", ill="yes", positive="positive").ppv
        0.6557377049180327
        """
        return cls._counted(count_cases(data, truth, result, ill=ill, positive=positive), prevalence)

    @classmethod
    def _counted(cls, counts: CaseCounts, prevalence: Any) -> DiagnosticTest:
        tp, fp, fn, tn = CELLS
        share = counts.share([tp, fn], CELLS) if prevalence is None else prevalence
        test = cls(share, counts.share([tp], [tp, fn]), counts.share([tn], [tn, fp]))
        test.__dict__.update(counts=counts, prevalence_is_counted=prevalence is None)
        return test

    def at(self, prevalence: Any) -> DiagnosticTest:
        """Return the same test where the illness is this frequent.

        Examples
        --------
        >>> test = DiagnosticTest(sensitivity="0.98", specificity="0.97")
        >>> test.at("1/2").ppv, test.at("1/1000").ppv
        (Fraction(98, 101), Fraction(98, 3095))
        """
        test = DiagnosticTest(prevalence, self.sensitivity, self.specificity)
        test.__dict__.update(counts=self.counts)
        return test

    # What results mean

    def posterior(self, results: Any) -> BayesUpdate:
        """Return the probabilities of "ill" and "well" after a result, or after several.

        Parameters
        ----------
        results : str, bool, or iterable of these
            ``"+"``, ``"-"``, a row of such signs (``"++-"``), ``"positive"``, ``True`` …; several results are taken to
            be independent of each other, given whether the patient is ill.

        Examples
        --------
        >>> found = DiagnosticTest("0.008", "0.98", "0.97").posterior(["+", "-"])
        >>> found["ill"], found.map
        (Fraction(49, 9070), 'well')
        """
        before = self._needed("posterior")
        model = {
            ILL: {"+": self.sensitivity, "-": self.false_negative_rate},
            WELL: {"+": self.false_positive_rate, "-": self.specificity},
        }
        return bayes_rule({ILL: before, WELL: complement(before)}, model, as_results(results))

    # Several tests

    def in_series(self, *others: DiagnosticTest) -> DiagnosticTest:
        """Return the test that is positive only if this one and all others are.

        Sensitivity Π sensitivity, false positive rate Π (1 − specificity): fewer false alarms, more cases overlooked.
        The results must be independent of each other given whether somebody is ill. Tests without a prevalence take
        that of the others.

        Examples
        --------
        >>> test = DiagnosticTest(0.008, 0.98, 0.97)
        >>> twice = test.in_series(test)
        >>> twice.sensitivity, twice.specificity, round(twice.ppv, 3)
        (0.9604, 0.9991, 0.896)
        """
        tests = (self, *_checked(others))
        return DiagnosticTest(common_prevalence(tests), *in_series(tests))

    def in_parallel(self, *others: DiagnosticTest) -> DiagnosticTest:
        """Return the test that is positive if this one or one of the others is.

        Specificity Π specificity, false negative rate Π (1 − sensitivity): fewer cases overlooked, more false alarms.
        The results must be independent of each other given whether somebody is ill. Tests without a prevalence take
        that of the others.

        Examples
        --------
        >>> DiagnosticTest(0.01, 0.8, 0.9).in_parallel(DiagnosticTest(0.01, 0.7, 0.95))
        DiagnosticTest(prevalence=0.01, sensitivity=0.94, specificity=0.855)
        """
        tests = (self, *_checked(others))
        return DiagnosticTest(common_prevalence(tests), *in_parallel(tests))

    # How sure, and how come

    def interval(self, measure: str, level: Any = 0.95, method: str | None = None) -> Interval:
        """Return the low and the high end of the interval of a measure, from the counts.

        Parameters
        ----------
        measure : str
            The name of a measure, such as ``"ppv"`` or ``"positive_likelihood_ratio"``.
        level : number
            How sure, between 0 and 1.
        method : {'wilson', 'beta', 'jeffreys', 'log'}, optional
            For shares of counts Wilson's interval unless said, or the quantiles of the Beta posterior under a uniform
            or Jeffreys' prior (:func:`proportion_interval`). Ratios, and predictive values at a prevalence that was
            given apart from the counts, have an interval on the log scale only.

        Notes
        -----
        A prevalence that was given apart from the counts is taken as certain.
        """
        measure = measure_name(measure)
        value, share = self.measure(measure), as_level(level)
        if self.counts is None:
            hint = "Use DiagnosticTest.from_counts."
            raise DataError(f"an interval of {measure} must have counts behind it; the test has none. {hint}")
        apart = None if self.prevalence_is_counted else self.prevalence
        return measure_interval(self.counts, measure, value, level=share, method=method, prevalence=apart)

    def measure(self, name: str) -> Number:
        """Return a measure by its name, or by what the table calls it (``"ppv"``, ``"PPV"``, ``"LR+"`` …)."""
        known = measure_name(name)
        value: Number | None = getattr(self, known)
        return self._needed(known) if value is None else value

    def derivation(self, measure: str = "ppv") -> Derivation:
        """Return how a measure comes about: the formula, and the same with the numbers in it.

        Examples
        --------
        >>> print(DiagnosticTest(0.008, 0.98, 0.97).derivation())
        P(+, ill) = P(+ | ill) × P(ill) = 0.98 × 0.008 = 0.00784
        P(+, well) = P(+ | well) × P(well) = 0.03 × 0.992 = 0.02976
        P(+) = P(+, ill) + P(+, well) = 0.00784 + 0.02976 = 0.0376
        P(ill | +) = P(+, ill) / P(+) = 0.00784 / 0.0376 = 0.208511
        """
        self.measure(measure)
        return derive(self, measure_name(measure))

    def natural_frequencies(self, of: float | None = None) -> str:
        """Return what the numbers mean for so many people, in whole people.

        Parameters
        ----------
        of : whole number, optional
            How many people; by default 1 000, or as many times ten of them (up to a million) as it takes that every
            group has a person.

        Examples
        --------
        >>> print(DiagnosticTest(0.01, 0.9, 0.9).natural_frequencies())
        Of 1 000 people 10 are ill and 990 are well.
        Of the 10 ill, 9 test positive and 1 negative; of the 990 well, 99 test positive and 891 negative.
        So 108 test positive, and 9 of these are ill (8.33 %); 892 test negative, and 891 of these are well (99.9 %).
        """
        shares = list(self._exact_joint("natural_frequencies").values())
        if of is None:
            least = min(share for share in shares if share)
            of = next((n for n in (10**3, 10**4, 10**5) if n * least >= 1), 10**6)
        people = int(of) if isinstance(of, float) and of.is_integer() else of
        check_whole("of", people, low=1)
        return frequencies_text([share * Fraction(people) for share in shares], self)

    def to_dict(self, level: Any = 0.95, method: str = "wilson") -> dict[str, Any]:
        """Return the measures, their intervals and the counts as plain data, for JSON; None for what is undefined."""
        told = {m.name: m.to_dict() for m in measured(self, as_level(level), method)}
        return {"measures": told} if self.counts is None else {"counts": self.counts.to_dict(), "measures": told}

    def summary(self, level: Any = 0.95, method: str = "wilson") -> str:
        """Return a table of all measures, with their intervals where there are counts; what is 0/0 is undefined."""
        return summary_text(self, as_level(level), method)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return html_table(self)

    def __repr__(self) -> str:
        shown = [("prevalence", self.prevalence), ("sensitivity", self.sensitivity), ("specificity", self.specificity)]
        parts = [f"{name}={number_text(value)}" for name, value in shown if value is not None]
        cases = "" if self.counts is None else f", counts={self.counts!r}"
        return f"DiagnosticTest({', '.join(parts)}{cases})"


def _checked(others: Iterable[Any]) -> list[DiagnosticTest]:
    """Return the other tests of a combination, of which there must be some."""
    found = list(others)
    if not found:
        raise DataError("a combination must be of two tests at least; got one.")
    for other in found:
        if not isinstance(other, DiagnosticTest):
            raise DataError(f"a combination must be of DiagnosticTests; got {shortened(repr(other))}.")
    return found
