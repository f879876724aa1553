"""How sure the measures of a diagnostic test are, by the counts behind them.

A measure that is a share of cases has the interval of a proportion (:mod:`tunbridge.reasoning.diagnosis.proportions`).
Ratios of shares have theirs on the logarithmic scale; with n₁ ill and n₀ well cases

    Var ln LR+ = 1/TP − 1/n₁ + 1/FP − 1/n₀,    Var ln LR− = 1/FN − 1/n₁ + 1/TN − 1/n₀,
    Var ln OR  = 1/TP + 1/FP + 1/FN + 1/TN.

Where one of the four counts is 0, ½ is added to each of them first (Anscombe), and the interval is widened to the ratio
itself, which may be 0 or infinite.

A prevalence that is known from elsewhere turns likelihood ratios into predictive values,

    odds(PPV) = LR+ · odds(prevalence),    odds(1 − NPV) = LR− · odds(prevalence),

and their intervals along with them. This is the logit interval of Mercaldo, Lau and Zhou; the prevalence itself is
taken as certain. Accuracy and P(+) are then sums of two independent shares, one of the ill and one of the well, as
Youden's index always is.

References
----------
N. D. Mercaldo, K. F. Lau, X. H. Zhou (2007). Confidence intervals for predictive values with an emphasis to
case–control studies. Statistics in Medicine 26, 2170–2183.
F. J. Anscombe (1956). On estimating binomial response relations. Biometrika 43, 461–464.
"""

from __future__ import annotations

from tunbridge._check import check_choice
from tunbridge.errors import DataError
from tunbridge.reasoning.diagnosis.case_counts import CELLS, CaseCounts
from tunbridge.reasoning.diagnosis.proportions import (
    METHODS,
    Interval,
    proportion_interval,
    ratio_interval,
    sum_interval,
)
from tunbridge.reasoning.numbers import Number, as_float

_TP, _FP, _FN, _TN = CELLS

_OF_A_GROUP = {
    "sensitivity": ((_TP,), (_TP, _FN)),
    "specificity": ((_TN,), (_TN, _FP)),
    "false_positive_rate": ((_FP,), (_TN, _FP)),
    "false_negative_rate": ((_FN,), (_TP, _FN)),
}
_OF_RESULTS = {
    "ppv": ((_TP,), (_TP, _FP)),
    "npv": ((_TN,), (_TN, _FN)),
    "false_discovery_rate": ((_FP,), (_TP, _FP)),
    "false_omission_rate": ((_FN,), (_TN, _FN)),
}
_OF_ALL = {"prevalence": ((_TP, _FN), CELLS), "positive_rate": ((_TP, _FP), CELLS), "accuracy": ((_TP, _TN), CELLS)}
_SHARES = _OF_A_GROUP | _OF_RESULTS | _OF_ALL

_RATIOS = ("positive_likelihood_ratio", "negative_likelihood_ratio", "odds_ratio")
_SUMS = {
    "youden": ("sensitivity", "specificity"),
    "accuracy": ("sensitivity", "specificity"),
    "positive_rate": ("sensitivity", "false_positive_rate"),
}


def measure_interval(
    counts: CaseCounts,
    name: str,
    value: Number,
    *,
    level: float,
    method: str | None = None,
    prevalence: Number | None = None,
) -> Interval:
    """Return the interval of a measure whose value is known.

    Parameters
    ----------
    counts : CaseCounts
    name : str
        A measure of :class:`tunbridge.reasoning.DiagnosticTest`.
    value : number
        What it is; the interval holds it.
    level : float
        How sure, between 0 and 1.
    method : {'wilson', 'beta', 'jeffreys', 'log'}, optional
        ``'log'`` is the only one for ratios, and for predictive values at a prevalence known from elsewhere; others
        have one of :func:`tunbridge.reasoning.proportion_interval`, Wilson's unless said.
    prevalence : number, optional
        The prevalence where it is known from elsewhere; otherwise the counts tell it.

    Examples
    --------
    >>> low, high = measure_interval(CaseCounts(400, 210, 310, 1200), "odds_ratio", 7.373, level=0.95)
    >>> round(low, 2), round(high, 2)
    (5.99, 9.08)
    """
    if has_log_interval(name, prevalence_is_counted=prevalence is None):
        _check_log(name, method)
        bounds = _log_interval(counts, name, level, prevalence)
        return min(bounds[0], as_float(value)), max(bounds[1], as_float(value))
    chosen = method or "wilson"
    check_choice("method", chosen, METHODS)
    if prevalence is not None and name == "prevalence":
        raise DataError("an interval of the prevalence must come from counts; it was given apart from them.")
    if name == "youden" or (prevalence is not None and name in _SUMS):
        return _sum_interval(counts, name, level, chosen, prevalence)
    return _share_interval(counts, name, level, chosen)


def has_log_interval(name: str, *, prevalence_is_counted: bool) -> bool:
    """Return whether the interval of a measure is taken on the log scale."""
    return name in _RATIOS or (not prevalence_is_counted and name in _OF_RESULTS)


def counts_of(name: str, *, prevalence_is_counted: bool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return which counts, of the sum of which others, a measure is; None where it is no share of counts.

    Examples
    --------
    >>> counts_of("ppv", prevalence_is_counted=True)
    (('true_positives',), ('true_positives', 'false_positives'))
    """
    return (_SHARES if prevalence_is_counted else _OF_A_GROUP).get(name)


def _check_log(name: str, method: str | None) -> None:
    if method not in (None, "log"):
        why = "which is a ratio" if name in _RATIOS else "at a prevalence that was given apart from the counts"
        raise DataError(f"the method for {name}, {why}, must be 'log'; got {method!r}. Leave it out.")


def _share_interval(counts: CaseCounts, name: str, level: float, method: str) -> Interval:
    some, whole = _SHARES[name]
    return proportion_interval(counts.total(*some), counts.total(*whole), level, method=method)


def _sum_interval(counts: CaseCounts, name: str, level: float, method: str, prevalence: Number | None) -> Interval:
    """Return the interval of a sum of a share of the ill and one of the well."""
    weights, constant = (1.0, 1.0), -1.0
    if name != "youden" and prevalence is not None:
        weights, constant = (as_float(prevalence), 1.0 - as_float(prevalence)), 0.0
    parts = [
        (weight, as_float(counts.share(*_OF_A_GROUP[part])), _share_interval(counts, part, level, method))
        for weight, part in zip(weights, _SUMS[name], strict=True)
    ]
    return sum_interval(parts, constant)


def _log_interval(counts: CaseCounts, name: str, level: float, prevalence: Number | None) -> Interval:
    """Return the interval of a ratio, or of what it makes of a prevalence."""
    if name in _RATIOS or prevalence is None:
        return ratio_interval(*_log_ratio(counts, name), level)
    about_positive = name in ("ppv", "false_discovery_rate")
    ratio = "positive_likelihood_ratio" if about_positive else "negative_likelihood_ratio"
    before = as_float(prevalence)
    low, high = (_updated(before, end) for end in ratio_interval(*_log_ratio(counts, ratio), level))
    return (low, high) if name in ("ppv", "false_omission_rate") else (1.0 - high, 1.0 - low)


def _log_ratio(counts: CaseCounts, name: str) -> tuple[float, float]:
    """Return a ratio and the variance of its logarithm, with ½ added to each count where one of them is 0."""
    a, b, c, d = map(as_float, counts.cells)
    if 0.0 in (a, b, c, d):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    if name == "odds_ratio":
        return (a / b) * (d / c), 1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d
    n_ill, n_well = a + c, b + d
    if name == "negative_likelihood_ratio":
        a, b, c, d = c, d, a, b
    return (a / n_ill) / (b / n_well), (c / a) / n_ill + (d / b) / n_well  # 1/a − 1/(a + c) = c / (a (a + c))


def _updated(prevalence: float, ratio: float) -> float:
    """Return the probability after a result with this likelihood ratio."""
    if ratio == float("inf"):
        return 1.0 if prevalence > 0.0 else 0.0
    return ratio * prevalence / (ratio * prevalence + (1.0 - prevalence)) if prevalence < 1.0 else 1.0
