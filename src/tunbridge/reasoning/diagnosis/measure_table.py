"""The measures of a diagnostic test as people read them: a table, and a sentence about so many people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tunbridge._check import check_choice
from tunbridge.errors import DataError
from tunbridge.probability.grid import html_grid, probability_text, text_grid
from tunbridge.reasoning.diagnosis.case_counts import CaseCounts, plain
from tunbridge.reasoning.diagnosis.measure_intervals import has_log_interval
from tunbridge.reasoning.diagnosis.proportions import METHODS, Interval
from tunbridge.reasoning.numbers import Number, as_float, exact_value, number_text

if TYPE_CHECKING:
    from tunbridge.reasoning.diagnosis.diagnostic import DiagnosticTest

MEASURES = {
    "prevalence": ("prevalence", "P(ill)"),
    "sensitivity": ("sensitivity", "P(+ | ill)"),
    "specificity": ("specificity", "P(- | well)"),
    "ppv": ("PPV", "P(ill | +)"),
    "npv": ("NPV", "P(well | -)"),
    "positive_likelihood_ratio": ("likelihood ratio +", "P(+ | ill) / P(+ | well)"),
    "negative_likelihood_ratio": ("likelihood ratio -", "P(- | ill) / P(- | well)"),
    "odds_ratio": ("odds ratio", "LR+ / LR-"),
    "accuracy": ("accuracy", "P(+, ill) + P(-, well)"),
    "positive_rate": ("positive rate", "P(+)"),
    "false_positive_rate": ("false positive rate", "P(+ | well)"),
    "false_negative_rate": ("false negative rate", "P(- | ill)"),
    "false_discovery_rate": ("false discovery rate", "P(well | +)"),
    "false_omission_rate": ("false omission rate", "P(ill | -)"),
    "youden": ("Youden's index", "P(+ | ill) - P(+ | well)"),
}
"""By name: what a measure is called, and what it is."""

_ALSO = {"lr+": "positive_likelihood_ratio", "lr-": "negative_likelihood_ratio", "dor": "odds_ratio"}
_BY_LABEL = {label.casefold(): name for name, (label, _) in MEASURES.items()} | _ALSO

_NEED_PREVALENCE = {
    "prevalence", "ppv", "npv", "accuracy", "positive_rate", "false_discovery_rate", "false_omission_rate",
}  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """A measure of a test.

    Parameters
    ----------
    name : str
        By which :class:`DiagnosticTest` knows it.
    value : number or None
        None where it is 0/0.
    interval : pair of float or None
        None where there are no counts to tell.
    """

    name: str
    value: Number | None
    interval: Interval | None

    def to_dict(self) -> dict[str, object]:
        """Return the measure as plain data; the value is None where it is 0/0."""
        told: dict[str, object] = {"value": None if self.value is None else plain(self.value)}
        if isinstance(self.value, Fraction):
            told["exact"] = str(self.value)
        return told if self.interval is None else {**told, "low": self.interval[0], "high": self.interval[1]}

    @property
    def value_text(self) -> str:
        """The value in four digits."""
        return "undefined" if self.value is None else short_text(self.value)

    @property
    def interval_text(self) -> str:
        """The interval in four digits; no text where there is none."""
        return "" if self.interval is None else " … ".join(map(short_text, self.interval))


def measure_name(given: object) -> str:
    """Return the name of a measure, which may be given as people write it.

    Examples
    --------
    >>> measure_name("PPV"), measure_name("LR+"), measure_name("odds ratio")
    ('ppv', 'positive_likelihood_ratio', 'odds_ratio')
    """
    if isinstance(given, str) and given not in MEASURES:
        given = _BY_LABEL.get(given.casefold(), given)
    check_choice("the measure", given, tuple(MEASURES))
    return str(given)


def measured(test: DiagnosticTest, level: float, method: str) -> list[Measure]:
    """Return all measures that a test has; those that need a prevalence only if it has one."""
    check_choice("method", method, METHODS)
    names = [name for name in MEASURES if test.prevalence is not None or name not in _NEED_PREVALENCE]
    return [Measure(name, value := _value(test, name), _interval(test, name, value, level, method)) for name in names]


def _value(test: DiagnosticTest, name: str) -> Number | None:
    try:
        return test.measure(name)
    except DataError:  # 0/0
        return None


def _interval(test: DiagnosticTest, name: str, value: Number | None, level: float, method: str) -> Interval | None:
    if value is None or test.counts is None or (name == "prevalence" and not test.prevalence_is_counted):
        return None
    by_log = has_log_interval(name, prevalence_is_counted=test.prevalence_is_counted)
    return test.interval(name, level, None if by_log else method)


# A table


def summary_text(test: DiagnosticTest, level: float, method: str) -> str:
    """Return a table of the measures of a test, below that of its counts."""
    found = measured(test, level, method)
    header = ["measure", "", "value", f"{percent_text(level)} interval"]
    rows = [[*MEASURES[m.name], m.value_text, m.interval_text] for m in found]
    if test.counts is None:
        header, rows = header[:3], [row[:3] for row in rows]
    parts = [] if test.counts is None else [counts_text(test.counts), ""]
    if test.prevalence is None:
        rows.append(["PPV, NPV", "", "need a prevalence"])
    return "\n".join([*parts, text_grid(header, rows)])


def counts_text(counts: CaseCounts) -> str:
    """Return the 2 × 2 table as text.

    Examples
    --------
    >>> print(counts_text(CaseCounts(400, 210, 310, 1200)))
              ill  well
    positive  400  210
    negative  310  1200
    """
    tp, fp, fn, tn = map(number_text, counts.cells)
    return text_grid(["", "ill", "well"], [["positive", tp, fp], ["negative", fn, tn]])


def html_table(test: DiagnosticTest) -> str:
    """Return the table of the measures as HTML, for a notebook."""
    rows = [[*MEASURES[m.name], m.value_text, m.interval_text] for m in measured(test, 0.95, "wilson")]
    return html_grid(["measure", "", "value", "95 % interval" if test.counts else ""], rows, caption="DiagnosticTest")


def short_text(value: Number) -> str:
    """Return a number in four digits, never rounded up to 1.

    Examples
    --------
    >>> short_text(Fraction(40, 61)), short_text(1 - 1e-9), short_text(float("inf")), short_text(12345.6)
    ('0.6557', '1 - 1e-09', 'inf', '12346')
    """
    number = as_float(value)
    text = f"{number:.4g}" if abs(number) < 1e4 else f"{number:.0f}" if abs(number) < 1e15 else f"{number:.4g}"
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
    near = f"100 - {as_float(100 - percent):.3g}"  # for what no float tells from 100
    return next((text for text in texts if text != "100" or percent == 100), near) + " %"


# A sentence


def frequencies_text(shares: Sequence[Fraction], test: DiagnosticTest) -> str:
    """Return what a test means for people, of whom there are so many TP, FP, FN and TN, in whole people."""
    tp, fp, fn, tn = people = _rounded(shares)
    lines = [
        f"Of {_spaced(sum(people))} people {_spaced(tp + fn)} are ill and {_spaced(fp + tn)} are well.",
        f"Of the {_spaced(tp + fn)} ill, {_spaced(tp)} test positive and {_spaced(fn)} negative; "
        f"of the {_spaced(fp + tn)} well, {_spaced(fp)} test positive and {_spaced(tn)} negative.",
        f"So {_told(test, 'ppv', tp, tp + fp)}; {_told(test, 'npv', tn, fn + tn)}.",
    ]
    if people != list(shares):
        lines.append("The numbers are rounded to whole people.")
    if any(0 < share < Fraction(1, 2) for share in shares):
        lines.append("Some groups are less than half a person: take more people.")
    return "\n".join(lines)


def _told(test: DiagnosticTest, name: str, right: int, whole: int) -> str:
    """Return what a result means for those who have it."""
    result, state = ("positive", "ill") if name == "ppv" else ("negative", "well")
    value = _value(test, name)
    if value is None:
        return f"nobody tests {result}"
    return f"{_spaced(whole)} test {result}, and {_spaced(right)} of these are {state} ({percent_text(value)})"


def _rounded(shares: Sequence[Fraction]) -> list[int]:
    """Return whole numbers with the same sum: each rounded down, and the largest remainders up."""
    found = [int(share) for share in shares]
    left = int(sum(shares, Fraction(0))) - sum(found)
    for i in sorted(range(len(shares)), key=lambda i: found[i] - shares[i])[:left]:
        found[i] += 1
    return found


def _spaced(n: int) -> str:
    return f"{n:,}".replace(",", " ")
