"""Diagnostic tests: what a positive or a negative result says about a disease.

A test has a **sensitivity** P(+ | diseased) and a **specificity** P(− | healthy). A patient wants to know the reverse,
which also needs the **prevalence** P(diseased). By Bayes' rule the predictive values are

    PPV = P(diseased | +) = sensitivity · prevalence / [sensitivity · prevalence + (1 − specificity)(1 − prevalence)]
    NPV = P(healthy | −) = specificity (1 − prevalence) / [specificity (1 − prevalence) + (1 − sensitivity) prevalence]

In odds it is a product: posterior odds = likelihood ratio × prior odds, where

    LR+ = sensitivity / (1 − specificity),    LR− = (1 − sensitivity) / specificity.

Solved for the prevalence, which shows how rare a disease can be before most positive results are false:

    PPV = p  ⟺  prevalence = p (1 − specificity) / [p (1 − specificity) + (1 − p) sensitivity].

Tests whose results are independent given the true state can be combined: **in series**, all must be positive, the
sensitivities multiply and so do the false positive rates; **in parallel**, one positive is enough, and the
specificities and the false negative rates multiply.

*Intervals.* A measure that is a share of cases has the interval of a proportion
(:mod:`tunbridge.reasoning.proportions`). Ratios have theirs on the log scale; with n₁ diseased and n₀ healthy cases

    Var ln LR+ = 1/TP − 1/n₁ + 1/FP − 1/n₀,    Var ln LR− = 1/FN − 1/n₁ + 1/TN − 1/n₀,
    Var ln OR  = 1/TP + 1/FP + 1/FN + 1/TN.

If one of the four counts is 0, ½ is added to each of them first (Anscombe), and the interval is widened to the ratio
itself, which may be 0 or infinite. A given prevalence turns likelihood ratios into predictive values, odds(PPV) = LR+ ·
odds(prevalence), odds(1 − NPV) = LR− · odds(prevalence), and their intervals with them (the logit interval of Mercaldo,
Lau and Zhou); the prevalence itself is taken as exact. Accuracy and P(+) are then weighted sums of two independent
shares, as Youden's index always is.

References
----------
D. G. Altman, J. M. Bland (1994). Diagnostic tests 1: sensitivity and specificity; 2: predictive values. BMJ 308, 1552;
309, 102.
N. D. Mercaldo, K. F. Lau, X. H. Zhou (2007). Confidence intervals for predictive values with an emphasis to
case–control studies. Statistics in Medicine 26, 2170–2183.
F. J. Anscombe (1956). On estimating binomial response relations. Biometrika 43, 461–464.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from tunbridge._core.check import check_choice, check_integer, shortened
from tunbridge._core.grid import data_frame, html_grid, probability_text, text_grid
from tunbridge.errors import DataError
from tunbridge.reasoning.bayes import BayesUpdate, bayes_rule
from tunbridge.reasoning.derivation import Derivation, Equation, P, Term, equation, number, result, symbol, total
from tunbridge.reasoning.numbers import Number, as_float, as_probability, complement, exact_value, like, number_text
from tunbridge.reasoning.proportions import (
    CELLS,
    METHODS,
    CaseCounts,
    Interval,
    as_level,
    count_cases,
    plain,
    proportion_interval,
    ratio_interval,
    sum_interval,
)

if TYPE_CHECKING:
    import pandas

DISEASED, HEALTHY = "diseased", "healthy"
_OLD_NAMES = {"ill": DISEASED, "well": HEALTHY}

_JOINT = (("+", DISEASED), ("+", HEALTHY), ("-", DISEASED), ("-", HEALTHY))
_CELL = dict(zip(_JOINT, CELLS, strict=True))
_SHORT = dict(zip(CELLS, ("TP", "FP", "FN", "TN"), strict=True))
_SIGNS = {"+": "+", "positive": "+", True: "+", "-": "-", "−": "-", "negative": "-", False: "-"}

MEASURES = {
    "prevalence": ("prevalence", "P(diseased)"),
    "sensitivity": ("sensitivity", "P(+ | diseased)"),
    "specificity": ("specificity", "P(- | healthy)"),
    "ppv": ("PPV", "P(diseased | +)"),
    "npv": ("NPV", "P(healthy | -)"),
    "positive_likelihood_ratio": ("likelihood ratio +", "sens / (1 - spec)"),
    "negative_likelihood_ratio": ("likelihood ratio -", "(1 - sens) / spec"),
    "odds_ratio": ("odds ratio", "LR+ / LR-"),
    "accuracy": ("accuracy", "share of correct results"),
    "positive_rate": ("positive rate", "P(+)"),
    "false_positive_rate": ("false positive rate", "P(+ | healthy)"),
    "false_negative_rate": ("false negative rate", "P(- | diseased)"),
    "false_discovery_rate": ("false discovery rate", "P(healthy | +)"),
    "false_omission_rate": ("false omission rate", "P(diseased | -)"),
    "youden": ("Youden's index", "sens + spec - 1"),
}
"""By name: the label of a measure, and its definition."""

_EVENTS = {
    name: tuple([*definition[2:-1].split(" | "), ""][:2])
    for name, (_, definition) in MEASURES.items()
    if definition.startswith("P(")
}
"""The measures that are P(event | given): event and given, which is "" for P(event)."""

_RATIOS: dict[str, tuple[Term, Callable[..., tuple[Any, Any]]]] = {
    "positive_likelihood_ratio": (symbol("LR+", r"\mathrm{LR}_{+}"), lambda se, fpr, fnr, sp: (se, fpr)),
    "negative_likelihood_ratio": (symbol("LR-", r"\mathrm{LR}_{-}"), lambda se, fpr, fnr, sp: (fnr, sp)),
    "odds_ratio": (symbol("odds ratio", r"\text{odds ratio}"), lambda se, fpr, fnr, sp: (se * sp, fnr * fpr)),
}
"""The measures that are a ratio: symbol, and numerator and denominator from the rates in the order of the cells."""

_SUMS = {"youden": "specificity", "accuracy": "specificity", "positive_rate": "false_positive_rate"}
"""Sums of the sensitivity and another share, weighted by the prevalence unless it is Youden's index."""

_LABELS = {label.casefold(): name for name, (label, _) in MEASURES.items()}
_LABELS |= {"lr+": "positive_likelihood_ratio", "lr-": "negative_likelihood_ratio", "dor": "odds_ratio"}


class _JointTable(dict[tuple[str, str], Number]):
    """Probabilities by (result, state), where states may also be called "ill" and "well"."""

    def __missing__(self, key: tuple[str, str]) -> Number:
        return self[key[0], _OLD_NAMES[key[1]]]


@final
@dataclass(frozen=True, init=False, repr=False)
class DiagnosticTest:
    """A diagnostic test: its measures, what its results mean, and their confidence intervals.

    Parameters
    ----------
    prevalence : number, optional
        P(diseased), the share of diseased people among those tested. Predictive values need it; :meth:`at` sets it.
    sensitivity : number
        P(+ | diseased).
    specificity : number
        P(− | healthy).

    Attributes
    ----------
    counts : CaseCounts or None
        The 2 × 2 table behind the numbers, if there is one; see :meth:`from_counts`.
    prevalence_is_counted : bool
        Whether the prevalence comes from that table too.

    Notes
    -----
    Exact numbers (fractions, decimals, strings such as ``"1/125"`` or ``"0.8 %"``) give exact fractions; counts and
    floats give correctly rounded floats. A measure that is 0/0, such as the PPV of a test that is never positive,
    raises a ``DataError``; likelihood ratios and the odds ratio are infinite where only the denominator is 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> test = tb.DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97)
    >>> round(test.ppv, 3), round(test.npv, 5), round(test.positive_likelihood_ratio, 1)
    (0.209, 0.99983, 32.7)
    >>> test.posterior("+").map, round(test.posterior("++")["diseased"], 3)
    ('healthy', 0.896)
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

    def __init__(self, prevalence: object = None, sensitivity: object = None, specificity: object = None) -> None:
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
        true_positives: object,
        false_positives: object,
        false_negatives: object,
        true_negatives: object,
        prevalence: object = None,
    ) -> DiagnosticTest:
        """Return the test with the measures of counted cases.

        Parameters
        ----------
        true_positives, false_positives, false_negatives, true_negatives : number
            The diseased and healthy cases with a positive result, then those with a negative one.
        prevalence : number, optional
            The prevalence, if the counts do not show it, for example in a case-control study. Default: the share of
            diseased cases.
        """
        counts = CaseCounts(true_positives, false_positives, false_negatives, true_negatives)  # type: ignore[arg-type]
        return cls._counted(counts, prevalence)

    @classmethod
    def from_table(
        cls,
        data: object,
        truth: str,
        result: str,
        *,
        diseased: object = None,
        positive: object,
        prevalence: object = None,
        ill: object = None,
    ) -> DiagnosticTest:
        """Return the test with the measures of a table of cases.

        Parameters
        ----------
        data : Table or any frame
            One row per case. Rows with a missing truth or result are left out, with a warning; rows count by their
            weights.
        truth, result : str
            The columns with the true state and with the test result.
        diseased, positive : state, or list of states
            Which states of these columns mean diseased and positive. All others mean the opposite, with a warning if
            there are several.
        prevalence : number, optional
            As in :meth:`from_counts`.
        ill : state, or list of states
            An older name of ``diseased``.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.allergy()
        >>> tb.DiagnosticTest.from_table(table, "allergy", "test", diseased="yes", positive="positive").ppv
        0.6557377049180327
        """
        marked = ill if diseased is None else diseased
        return cls._counted(count_cases(data, truth, result, diseased=marked, positive=positive), prevalence)

    @classmethod
    def _counted(cls, counts: CaseCounts, prevalence: object) -> DiagnosticTest:
        given = counts.share(*_cells("prevalence")) if prevalence is None else prevalence
        test = cls(given, counts.share(*_cells("sensitivity")), counts.share(*_cells("specificity")))
        test.__dict__.update(counts=counts, prevalence_is_counted=prevalence is None)
        return test

    def at(self, prevalence: object) -> DiagnosticTest:
        """Return the same test at another prevalence.

        Examples
        --------
        >>> test = DiagnosticTest(sensitivity="0.98", specificity="0.97")
        >>> test.at("1/2").ppv, test.at("1/1000").ppv
        (Fraction(98, 101), Fraction(98, 3095))
        """
        test = DiagnosticTest(prevalence, self.sensitivity, self.specificity)
        test.__dict__.update(counts=self.counts)
        return test

    # Measures

    @property
    def false_positive_rate(self) -> Number:
        """P(+ | healthy) = 1 − specificity."""
        return self._rate("+", HEALTHY)

    @property
    def false_negative_rate(self) -> Number:
        """P(− | diseased) = 1 − sensitivity."""
        return self._rate("-", DISEASED)

    @property
    def positive_likelihood_ratio(self) -> Number:
        """LR+ = P(+ | diseased) / P(+ | healthy), the factor of the odds after a positive result."""
        return self._ratio("positive_likelihood_ratio")

    @property
    def negative_likelihood_ratio(self) -> Number:
        """LR− = P(− | diseased) / P(− | healthy), the factor of the odds after a negative result."""
        return self._ratio("negative_likelihood_ratio")

    @property
    def odds_ratio(self) -> Number:
        """The diagnostic odds ratio LR+ / LR−; for counts TP · TN / (FP · FN)."""
        return self._ratio("odds_ratio")

    @property
    def youden(self) -> Number:
        """Youden's index, sensitivity + specificity − 1: 1 for a perfect test, 0 for a useless one."""
        rates = self._exact_rates
        return like(rates["+", DISEASED] - rates["+", HEALTHY], [self.sensitivity, self.specificity])

    @property
    def joint(self) -> dict[tuple[str, str], Number]:
        """P(result, state), by ("+", "diseased"), ("+", "healthy"), ("-", "diseased") and ("-", "healthy").

        Examples
        --------
        >>> import tunbridge as tb
        >>> joint = tb.DiagnosticTest(0.008, 0.98, 0.97).joint
        >>> joint["+", "diseased"], joint["+", "healthy"]
        (0.00784, 0.02976)
        """
        return _JointTable({cell: self._like(share) for cell, share in self._exact_joint("joint").items()})

    @property
    def ppv(self) -> Number:
        """The positive predictive value P(diseased | +)."""
        return self._share("ppv")

    @property
    def npv(self) -> Number:
        """The negative predictive value P(healthy | −)."""
        return self._share("npv")

    @property
    def false_discovery_rate(self) -> Number:
        """P(healthy | +) = 1 − PPV."""
        return self._share("false_discovery_rate")

    @property
    def false_omission_rate(self) -> Number:
        """P(diseased | −) = 1 − NPV."""
        return self._share("false_omission_rate")

    @property
    def positive_rate(self) -> Number:
        """P(+), the total probability of a positive result."""
        return self._share("positive_rate")

    @property
    def accuracy(self) -> Number:
        """P(+, diseased) + P(−, healthy), the share of correct results."""
        cells = self._exact_joint("accuracy")
        return self._like(cells["+", DISEASED] + cells["-", HEALTHY])

    def measure(self, name: str) -> Number:
        """Return a measure by its name or label (``"ppv"``, ``"PPV"``, ``"LR+"`` …)."""
        known = measure_name(name)
        value: Number | None = getattr(self, known)
        return self._needed(known) if value is None else value

    def prevalence_for(self, *, ppv: object = None, npv: object = None) -> Number:
        """Return the prevalence at which a predictive value has this value.

        Examples
        --------
        >>> import tunbridge as tb
        >>> test = tb.DiagnosticTest(sensitivity="0.98", specificity="0.97")
        >>> test.prevalence_for(ppv="1/2"), test.prevalence_for(npv="0.999")
        (Fraction(3, 101), Fraction(97, 2095))
        """
        if (ppv is None) == (npv is None):
            raise DataError("prevalence_for needs a ppv or an npv; got both or neither.")
        name, value = ("ppv", ppv) if npv is None else ("npv", npv)
        wanted, sign = as_probability(name, value), "+" if name == "ppv" else "-"
        diseased, healthy = (self._exact_rates[sign, state] for state in (DISEASED, HEALTHY))
        if not (diseased and healthy):
            fixed = "undefined" if diseased == healthy else int((name == "ppv") == bool(diseased))
            why = f"with {self._rates_text()} it is {fixed} at every prevalence"
            raise DataError(f"{name} must be a value that the test can have; {why}.", parameter=name)
        share = exact_value(wanted) if name == "ppv" else 1 - exact_value(wanted)
        found = share * healthy / (share * healthy + (1 - share) * diseased)
        return like(found, [wanted, self.sensitivity, self.specificity])

    @property
    def _exact_rates(self) -> dict[tuple[str, str], Fraction]:
        """P(result | state) without rounding."""
        se, sp = exact_value(self.sensitivity), exact_value(self.specificity)
        if self.counts is not None:
            se, sp = (self.counts.exact_share(*_cells(name)) for name in ("sensitivity", "specificity"))
        return dict(zip(_JOINT, (se, 1 - sp, 1 - se, sp), strict=True))

    def _rate(self, result: str, state: str) -> Number:
        """Return P(result | state)."""
        known = self.sensitivity if state == DISEASED else self.specificity
        if (result == "+") == (state == DISEASED):
            return known
        return like(self._exact_rates[result, state], [known])

    def _exact_joint(self, what: str) -> dict[tuple[str, str], Fraction]:
        """Return :attr:`joint` without rounding; ``what`` needs it."""
        prevalence = exact_value(self._needed(what))
        if self.counts is not None and self.prevalence_is_counted:
            prevalence = self.counts.exact_share(*_cells("prevalence"))
        before = {DISEASED: prevalence, HEALTHY: 1 - prevalence}
        return {cell: rate * before[cell[1]] for cell, rate in self._exact_rates.items()}

    def _share(self, name: str) -> Number:
        """Return P(event | given) from the joint probabilities."""
        cells, (some, whole) = self._exact_joint(name), _matching(name)
        below = sum(cells[cell] for cell in whole)
        if not below:
            given = _EVENTS[name][1]
            kind = "positive" if given == "+" else "negative"
            raise DataError(f"{name} is undefined for a test that is never {kind}; P({given}) is 0.")
        return self._like(sum(cells[cell] for cell in some) / below)

    def _ratio(self, name: str) -> Number:
        above, below = _RATIOS[name][1](*self._exact_rates.values())
        if below == 0 and above == 0:
            raise DataError(f"{name} is 0/0 at {self._rates_text()}.")
        return math.inf if below == 0 else like(above / below, [self.sensitivity, self.specificity])

    def _needed(self, what: str) -> Number:
        if self.prevalence is None:
            raise DataError(f"{what} must have a prevalence; the test has none. Use test.at(prevalence).")
        return self.prevalence

    def _like(self, value: Fraction) -> Number:
        return like(value, [self._needed("it"), self.sensitivity, self.specificity])

    def _rates_text(self) -> str:
        return f"sensitivity {number_text(self.sensitivity)} and specificity {number_text(self.specificity)}"

    # Results, and several tests

    def posterior(self, results: object) -> BayesUpdate:
        """Return the probabilities of "diseased" and "healthy" after one or more results.

        Parameters
        ----------
        results : str, bool, or iterable of these
            ``"+"``, ``"-"``, several such signs (``"++-"``), ``"positive"``, ``True`` …; several results are assumed
            to be independent given the true state.

        Examples
        --------
        >>> found = DiagnosticTest("0.008", "0.98", "0.97").posterior(["+", "-"])
        >>> found["diseased"], found.map
        (Fraction(49, 9070), 'healthy')
        """
        before = self._needed("posterior")
        model = {state: {sign: self._rate(sign, state) for sign in "+-"} for state in (DISEASED, HEALTHY)}
        found = bayes_rule({DISEASED: before, HEALTHY: complement(before)}, model, as_results(results))
        return BayesUpdate(found.variable, found.steps, _OLD_NAMES)

    def in_series(self, *others: DiagnosticTest) -> DiagnosticTest:
        """Return the test that is positive only if this one and all others are.

        Sensitivity Π sensitivity, false positive rate Π (1 − specificity): fewer false positives, more missed cases.
        The results must be independent given the true state. Tests without a prevalence take that of the others.

        Examples
        --------
        >>> test = DiagnosticTest(0.008, 0.98, 0.97)
        >>> twice = test.in_series(test)
        >>> twice.sensitivity, twice.specificity, round(twice.ppv, 3)
        (0.9604, 0.9991, 0.896)
        """
        tests = (self, *_checked(others))
        sensitivity, false_positives = _product(tests, "sensitivity"), _product(tests, "false_positive_rate")
        return DiagnosticTest(_common_prevalence(tests), sensitivity, complement(false_positives))

    def in_parallel(self, *others: DiagnosticTest) -> DiagnosticTest:
        """Return the test that is positive if this one or one of the others is.

        Specificity Π specificity, false negative rate Π (1 − sensitivity): fewer missed cases, more false positives.
        The results must be independent given the true state. Tests without a prevalence take that of the others.

        Examples
        --------
        >>> DiagnosticTest(0.01, 0.8, 0.9).in_parallel(DiagnosticTest(0.01, 0.7, 0.95))
        DiagnosticTest(prevalence=0.01, sensitivity=0.94, specificity=0.855)
        """
        tests = (self, *_checked(others))
        missed, specificity = _product(tests, "false_negative_rate"), _product(tests, "specificity")
        return DiagnosticTest(_common_prevalence(tests), complement(missed), specificity)

    # Intervals

    def interval(self, measure: str, level: object = 0.95, method: str | None = None) -> Interval:
        """Return the confidence interval of a measure, from the counts.

        Parameters
        ----------
        measure : str
            The name of a measure, such as ``"ppv"`` or ``"positive_likelihood_ratio"``.
        level : number
            The confidence level, between 0 and 1.
        method : {'wilson', 'beta', 'jeffreys', 'log'}, optional
            For shares of counts Wilson's interval (default), or the quantiles of the Beta posterior under a uniform or
            Jeffreys' prior (:func:`proportion_interval`). Ratios, and predictive values at a given prevalence, only
            have an interval on the log scale.

        Notes
        -----
        A given prevalence is taken as exact.
        """
        name = measure_name(measure)
        value, share = as_float(self.measure(name)), as_level(level)
        if self.counts is None:
            raise DataError(f"an interval of {name} needs counts; the test has none. Use DiagnosticTest.from_counts.")
        if self.has_log_interval(name):
            if method not in (None, "log"):
                why = "a ratio" if name in _RATIOS else "at a given prevalence"
                raise DataError(f"method must be 'log' for {name}, {why}; got {method!r}. Leave it out.")
            low, high = self._log_interval(self.counts, name, share)
            return min(low, value), max(high, value)
        chosen = method or "wilson"
        check_choice("method", chosen, METHODS)
        if name == "youden" or (name in _SUMS and not self.prevalence_is_counted):
            return self._sum_interval(self.counts, name, share, chosen)
        if name == "prevalence" and not self.prevalence_is_counted:
            raise DataError("an interval of the prevalence needs counts; it was given as a number.")
        some, whole = _cells(name)
        return proportion_interval(self.counts.total(*some), self.counts.total(*whole), share, method=chosen)

    def has_log_interval(self, name: str) -> bool:
        """Return whether the interval of a measure is one on the log scale."""
        return name in _RATIOS or (not self.prevalence_is_counted and _EVENTS.get(name, ("", ""))[1] in ("+", "-"))

    def _sum_interval(self, counts: CaseCounts, name: str, level: float, method: str) -> Interval:
        before = as_float(self._needed(name)) if name != "youden" else None
        weights, constant = ((1.0, 1.0), -1.0) if before is None else ((before, 1.0 - before), 0.0)
        shares = ("sensitivity", _SUMS[name])
        parts = [(as_float(counts.share(*_cells(part))), self.interval(part, level, method)) for part in shares]
        return sum_interval([(weight, *part) for weight, part in zip(weights, parts, strict=True)], constant)

    def _log_interval(self, counts: CaseCounts, name: str, level: float) -> Interval:
        if name in _RATIOS:
            return ratio_interval(*_log_ratio(counts, name), level)
        event, given = _EVENTS[name]
        ratio = "positive_likelihood_ratio" if given == "+" else "negative_likelihood_ratio"
        before = as_float(self._needed(name))
        low, high = (_updated(before, end) for end in ratio_interval(*_log_ratio(counts, ratio), level))
        return (low, high) if event == DISEASED else (1.0 - high, 1.0 - low)

    # Derivations

    def derivation(self, measure: str = "ppv") -> Derivation:
        """Return how a measure is computed: the formula, and the same with the numbers in it.

        Examples
        --------
        >>> print(DiagnosticTest(0.008, 0.98, 0.97).derivation())
        P(+, diseased) = P(+ | diseased) × P(diseased) = 0.98 × 0.008 = 0.00784
        P(+, healthy) = P(+ | healthy) × P(healthy) = 0.03 × 0.992 = 0.02976
        P(+) = P(+, diseased) + P(+, healthy) = 0.00784 + 0.02976 = 0.0376
        P(diseased | +) = P(+, diseased) / P(+) = 0.00784 / 0.0376 = 0.208511
        """
        name = measure_name(measure)
        value, (event, given) = self.measure(name), _EVENTS.get(name, ("", ""))
        is_share = name == "accuracy" or name in _EVENTS
        if self.counts is not None and is_share and (self.prevalence_is_counted or given in (DISEASED, HEALTHY)):
            return Derivation((self._share_of_counts(self.counts, name, value),))
        rates = [P(*cell) for cell in _JOINT], [number(self._rate(*cell)) for cell in _JOINT]
        if name == "youden":
            return Derivation((equation(symbol("J"), *(se + sp - 1 for se, _, _, sp in rates), *result(value)),))
        if name in _RATIOS:
            asked, formula = _RATIOS[name]
            ratios = [above / below for above, below in (formula(*each) for each in rates)]
            used = {"positive_likelihood_ratio": ("+", HEALTHY), "negative_likelihood_ratio": ("-", DISEASED)}
            first = [self._complement(*used[name])] if name in used else []
            return Derivation((*first, equation(asked, *ratios, *result(value))))
        if name in ("false_positive_rate", "false_negative_rate"):
            return Derivation((self._complement(event, given),))
        if name in ("prevalence", "sensitivity", "specificity"):
            return Derivation((equation(P(event, given or None), *result(value)),))
        return Derivation(tuple(self._joint_equations(name, value)))

    def _joint_equations(self, name: str, value: Number) -> list[Equation]:
        """Return two joint probabilities, their sum, and for P(state | result) the ratio."""
        event, given = _EVENTS.get(name, ("", ""))
        sign, joint, before = given or "+", self.joint, self._needed(name)
        cells = [("+", DISEASED), ("-", HEALTHY)] if name == "accuracy" else [(sign, DISEASED), (sign, HEALTHY)]
        lines = []
        for seen, state in cells:
            numbers = number(self._rate(seen, state)) * (before if state == DISEASED else complement(before))
            shown = result(joint[seen, state])
            lines.append(equation(P(f"{seen}, {state}"), P(seen, state) * P(state), numbers, *shown))
        whole = self.accuracy if name == "accuracy" else self.positive_rate
        whole = complement(whole) if sign == "-" else whole
        asked = symbol("accuracy", r"\text{accuracy}") if name == "accuracy" else P(sign)
        named = total([P(f"{seen}, {state}") for seen, state in cells])
        lines.append(equation(asked, named, total([number(joint[cell]) for cell in cells]), *result(whole)))
        if given:
            ratio = number(joint[given, event]) / whole
            lines.append(equation(P(event, given), P(f"{given}, {event}") / P(given), ratio, *result(value)))
        return lines

    def _complement(self, sign: str, state: str) -> Equation:
        other = "-" if sign == "+" else "+"
        numbers = number(1) - number(self._rate(other, state))
        return equation(P(sign, state), number(1) - P(other, state), numbers, *result(self._rate(sign, state)))

    def _share_of_counts(self, counts: CaseCounts, name: str, value: Number) -> Equation:
        event, given = _EVENTS.get(name, ("", ""))
        asked = P(event, given or None) if event else symbol(name, rf"\text{{{name}}}")

        def sums(show: Mapping[str, Term]) -> Term:
            some, whole = (total([show[cell] for cell in cells]) for cells in _cells(name))
            return some / whole

        numbers = {cell: number(getattr(counts, cell)) for cell in CELLS}
        return equation(asked, sums({c: symbol(s) for c, s in _SHORT.items()}), sums(numbers), *result(value))

    # Output

    def natural_frequencies(self, of: float | None = None) -> str:
        """Return what the numbers mean for a group of people.

        Parameters
        ----------
        of : int, optional
            The number of people. Default: 1 000, or up to a million if smaller groups would be empty.

        Examples
        --------
        >>> print(DiagnosticTest(0.01, 0.9, 0.9).natural_frequencies())
        Of 1 000 people 10 are diseased and 990 are healthy.
        Of the 10 diseased, 9 test positive and 1 negative; of the 990 healthy, 99 test positive and 891 negative.
        So 108 test positive, and 9 of these are diseased (8.33 %); 892 test negative, and 891 of these are healthy...
        """
        shares = list(self._exact_joint("natural_frequencies").values())
        if of is None:
            least = min(share for share in shares if share)
            of = next((n for n in (10**3, 10**4, 10**5) if n * least >= 1), 10**6)
        people = int(of) if isinstance(of, float) and of.is_integer() else of
        check_integer("of", people, low=1)
        return _frequencies_text([share * Fraction(people) for share in shares], self)

    def to_dict(self, level: object = 0.95, method: str = "wilson") -> dict[str, Any]:
        """Return the measures, their intervals and the counts as plain data for JSON; None for undefined values."""
        found = {m.name: m.to_dict() for m in measured(self, as_level(level), method)}
        return {"measures": found} if self.counts is None else {"counts": self.counts.to_dict(), "measures": found}

    def to_pandas(self, level: object = 0.95, method: str = "wilson") -> pandas.DataFrame:
        """Return a frame with a line for each measure: its value, and the ends of its interval if there are counts."""
        found = measured(self, as_level(level), method)
        ends = [m.interval or (None, None) for m in found]
        values = [None if m.value is None else float(m.value) for m in found]
        columns = {"value": values, "low": [low for low, _ in ends], "high": [high for _, high in ends]}
        return data_frame(columns, index=[m.name for m in found])

    def _rows(self, level: float, method: str) -> list[list[str]]:
        return [[*MEASURES[m.name], m.value_text, m.interval_text] for m in measured(self, level, method)]

    def summary(self, level: object = 0.95, method: str = "wilson") -> str:
        """Return a table of all measures, with their intervals if there are counts; 0/0 is undefined."""
        share = as_level(level)
        header = ["measure", "", "value", f"{percent_text(share)} interval"]
        rows = self._rows(share, method)
        if self.counts is None:
            header, rows = header[:3], [row[:3] for row in rows]
        if self.prevalence is None:
            rows.append(["PPV, NPV", "", "need a prevalence"])
        parts = [text_grid(header, rows)]
        if self.counts is not None:
            tp, fp, fn, tn = map(number_text, self.counts.cells)
            parts = [text_grid(["", DISEASED, HEALTHY], [["positive", tp, fp], ["negative", fn, tn]]), "", *parts]
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        header = ["measure", "", "value", "95 % interval" if self.counts else ""]
        return html_grid(header, self._rows(0.95, "wilson"), caption="DiagnosticTest")

    def __repr__(self) -> str:
        shown = [("prevalence", self.prevalence), ("sensitivity", self.sensitivity), ("specificity", self.specificity)]
        parts = [f"{name}={number_text(value)}" for name, value in shown if value is not None]
        cases = "" if self.counts is None else f", counts={self.counts!r}"
        return f"DiagnosticTest({', '.join(parts)}{cases})"


@dataclass(frozen=True)
class Measure:
    """A measure of a test.

    Parameters
    ----------
    name : str
        Its name in :class:`DiagnosticTest`.
    value : number or None
        None if it is 0/0.
    interval : pair of float or None
        None without counts.
    """

    name: str
    value: Number | None
    interval: Interval | None

    def to_dict(self) -> dict[str, object]:
        """Return the measure as plain data."""
        found: dict[str, object] = {"value": None if self.value is None else plain(self.value)}
        found |= {"exact": str(self.value)} if isinstance(self.value, Fraction) else {}
        return found if self.interval is None else {**found, "low": self.interval[0], "high": self.interval[1]}

    @property
    def value_text(self) -> str:
        """The value with four digits."""
        return "undefined" if self.value is None else short_text(self.value)

    @property
    def interval_text(self) -> str:
        """The interval with four digits; "" without one."""
        return "" if self.interval is None else " … ".join(map(short_text, self.interval))


def measured(test: DiagnosticTest, level: float, method: str) -> list[Measure]:
    """Return all measures of a test; those that need a prevalence only if it has one."""
    check_choice("method", method, METHODS)
    found = []
    for name in MEASURES:
        if test.prevalence is None and (name == "accuracy" or _EVENTS.get(name, ("", "+-"))[1] in ("", "+", "-")):
            continue
        value = _value(test, name)
        sure = value is None or test.counts is None or (name == "prevalence" and not test.prevalence_is_counted)
        chosen = None if test.has_log_interval(name) else method
        found.append(Measure(name, value, None if sure else test.interval(name, level, chosen)))
    return found


def measure_name(given: object) -> str:
    """Return the name of a measure, given by name or label.

    Examples
    --------
    >>> measure_name("PPV"), measure_name("LR+"), measure_name("odds ratio")
    ('ppv', 'positive_likelihood_ratio', 'odds_ratio')
    """
    if isinstance(given, str) and given not in MEASURES:
        given = _LABELS.get(given.casefold(), given)
    check_choice("measure", given, tuple(MEASURES))
    return str(given)


def as_results(results: object) -> list[str]:
    """Return one result or several as a list of "+" and "-".

    Examples
    --------
    >>> as_results("+"), as_results("++-"), as_results(["positive", False])
    (['+'], ['+', '+', '-'], ['+', '-'])
    """
    given = [results] if _sign(results) or not isinstance(results, Iterable) else list(results)
    found = [_sign(each) for each in given]
    if isinstance(results, Mapping) or "" in found:
        wrong = results if isinstance(results, str | Mapping) else given[found.index("")]
        rule = "a result must be '+' or '-', 'positive' or 'negative'"
        raise DataError(f"{rule}; got {shortened(repr(wrong))}.")
    return found


def short_text(value: Number) -> str:
    """Return a number with four digits, never rounded up to 1.

    Examples
    --------
    >>> short_text(Fraction(40, 61)), short_text(1 - 1e-9), short_text(float("inf")), short_text(12345.6)
    ('0.6557', '1 - 1e-09', 'inf', '12346')
    """
    number = as_float(value)
    text = f"{number:.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
    return probability_text(number) if text == "1" and number < 1.0 else text


def percent_text(share: Number) -> str:
    """Return a share in percent, never rounded to 0 or 100 when it is neither.

    Examples
    --------
    >>> percent_text(0.2085), percent_text(0.99983), percent_text(1), percent_text(1 - Fraction(1, 10**20))
    ('20.9 %', '99.98 %', '100 %', '100 - 1e-18 %')
    """
    percent = 100 * exact_value(share)
    texts = (f"{as_float(percent):.{digits}g}" for digits in range(3, 18))
    near = f"100 - {as_float(100 - percent):.3g}"  # for what no float can tell from 100
    return next((text for text in texts if text != "100" or percent == 100), near) + " %"


def _matching(name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the cells (result, state) of P(event | given): those of event and given, and those of given."""
    if name == "accuracy":
        return [_JOINT[0], _JOINT[3]], list(_JOINT)
    event, given = _EVENTS[name]
    whole = [cell for cell in _JOINT if not given or given in cell]
    some = [cell for cell in whole if event in cell]
    return some, some + [cell for cell in whole if cell not in some] if given else whole


def _cells(name: str) -> tuple[list[str], list[str]]:
    """Return the names of the counts whose ratio a measure is."""
    some, whole = _matching(name)
    return [_CELL[cell] for cell in some], [_CELL[cell] for cell in whole]


def _value(test: DiagnosticTest, name: str) -> Number | None:
    try:
        return test.measure(name)
    except DataError:  # 0/0
        return None


def _log_ratio(counts: CaseCounts, name: str) -> tuple[float, float]:
    """Return a ratio and the variance of its logarithm, with ½ added to each count if one of them is 0."""
    a, b, c, d = map(as_float, counts.cells)
    if 0.0 in (a, b, c, d):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    if name == "odds_ratio":
        return (a / b) * (d / c), 1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d
    n_diseased, n_healthy = a + c, b + d
    if name == "negative_likelihood_ratio":
        a, b, c, d = c, d, a, b
    return (a / n_diseased) / (b / n_healthy), (c / a) / n_diseased + (d / b) / n_healthy  # 1/a − 1/(a + c)


def _updated(prevalence: float, ratio: float) -> float:
    """Return the probability after a result with this likelihood ratio."""
    if math.isinf(ratio):
        return 1.0 if prevalence > 0.0 else 0.0
    return ratio * prevalence / (ratio * prevalence + (1.0 - prevalence)) if prevalence < 1.0 else 1.0


def _checked(others: Iterable[object]) -> list[DiagnosticTest]:
    found = []
    for other in others:
        if not isinstance(other, DiagnosticTest):
            raise DataError(f"a combination must be of DiagnosticTests; got {shortened(repr(other))}.")
        found.append(other)
    if not found:
        raise DataError("a combination must have at least two tests; got one.")
    return found


def _common_prevalence(tests: Sequence[DiagnosticTest]) -> Number | None:
    """Return the prevalence of tests, which must be the same for all that have one."""
    known = [test.prevalence for test in tests if test.prevalence is not None]
    for other in known[1:]:
        if exact_value(other) != exact_value(known[0]):
            shown = f"{number_text(known[0])} and {number_text(other)}"
            raise DataError(f"combined tests must have the same prevalence; got {shown}. Use test.at(prevalence).")
    return known[0] if known else None


def _product(tests: Sequence[DiagnosticTest], name: str) -> Number:
    factors = [test.measure(name) for test in tests]
    return like(math.prod(map(exact_value, factors), start=Fraction(1)), factors)


def _sign(result: object) -> str:
    try:
        return _SIGNS.get(result.strip().lower() if isinstance(result, str) else result, "")
    except TypeError:  # unhashable
        return ""


def _frequencies_text(shares: Sequence[Fraction], test: DiagnosticTest) -> str:
    tp, fp, fn, tn = people = _rounded(shares)
    n, diseased, healthy = (f"{count:,}".replace(",", " ") for count in (sum(people), tp + fn, fp + tn))
    tps, fps, fns, tns = (f"{count:,}".replace(",", " ") for count in people)
    lines = [
        f"Of {n} people {diseased} are {DISEASED} and {healthy} are {HEALTHY}.",
        f"Of the {diseased} {DISEASED}, {tps} test positive and {fns} negative; "
        f"of the {healthy} {HEALTHY}, {fps} test positive and {tns} negative.",
        f"So {_meaning(test, 'ppv', tp, tp + fp)}; {_meaning(test, 'npv', tn, fn + tn)}.",
    ]
    if people != list(shares):
        lines.append("The numbers are rounded to whole people.")
    if any(0 < share < Fraction(1, 2) for share in shares):
        lines.append("Some groups are less than half a person: take more people.")
    return "\n".join(lines)


def _meaning(test: DiagnosticTest, name: str, right: int, whole: int) -> str:
    sign, state = ("positive", DISEASED) if name == "ppv" else ("negative", HEALTHY)
    value = _value(test, name)
    if value is None:
        return f"no one tests {sign}"
    total, some = (f"{count:,}".replace(",", " ") for count in (whole, right))
    return f"{total} test {sign}, and {some} of these are {state} ({percent_text(value)})"


def _rounded(shares: Sequence[Fraction]) -> list[int]:
    """Return integers with the same sum: each rounded down, and the largest remainders up."""
    found = [int(share) for share in shares]
    left = int(sum(shares, Fraction(0))) - sum(found)
    for i in sorted(range(len(shares)), key=lambda i: found[i] - shares[i])[:left]:
        found[i] += 1
    return found
