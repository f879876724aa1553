"""Confidence intervals of proportions, and the 2 × 2 table of a diagnostic test.

x of n cases had a property. There are two kinds of interval for its share p:

* **Wilson's** score interval contains every p that a test would not reject: the two solutions of

      |x/n − p| = z √(p (1 − p) / n)

  where z is a normal quantile (1.96 for 95 %). It stays between 0 and 1, and works for small n and for shares near 0
  and 1, unlike p̂ ± z √(p̂ (1 − p̂)/n).
* **Beta**: with a Beta(a, a) prior the posterior of p is Beta(x + a, n − x + a), and the interval lies between its
  quantiles. a = 1 is the uniform prior, a = ½ Jeffreys'.

Counts need not be integers, because rows may have weights; so this is not ``scipy.stats.binomtest``.

References
----------
E. B. Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209–212.
L. D. Brown, T. T. Cai, A. DasGupta (2001). Interval estimation for a binomial proportion. Statistical Science 16,
101–133.
D. L. Simel, G. P. Samsa, D. B. Matchar (1991). Likelihood ratios with confidence: sample size estimation for diagnostic
test studies. Journal of Clinical Epidemiology 44, 763–770.
G. Y. Zou, A. Donner (2008). Construction of confidence limits about effect measures: a general approach. Statistics in
Medicine 27, 1693–1702.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from tunbridge._core.check import check_choice, counted, listed, warn_user
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError, DataWarning
from tunbridge.reasoning.numbers import (
    Number,
    as_float,
    as_number,
    as_probability,
    exact_sum,
    exact_value,
    like,
    number_text,
)

Interval: TypeAlias = tuple[float, float]

METHODS = ("wilson", "beta", "jeffreys")
CELLS = ("true_positives", "false_positives", "false_negatives", "true_negatives")

_LARGEST = 1e100  # its square is a float
_PRIORS = {"beta": 1.0, "jeffreys": 0.5}


def proportion_interval(successes: object, total: object, level: object = 0.95, *, method: str = "wilson") -> Interval:
    """Return the confidence interval of a proportion.

    Parameters
    ----------
    successes, total : number
        x and n, with 0 ≤ x ≤ n and n > 0. They need not be integers: a row of weight w counts as w rows.
    level : number
        The confidence level, between 0 and 1.
    method : {'wilson', 'beta', 'jeffreys'}
        Wilson's score interval; the quantiles of the Beta posterior under a uniform prior, or under Jeffreys' prior.

    Returns
    -------
    tuple of float
        The lower and upper limit. For x = 0 the lower limit is 0 and for x = n the upper limit is 1 by every method
        (as Brown, Cai and DasGupta have it for Jeffreys' prior), so the observed share is always inside.

    Examples
    --------
    >>> low, high = proportion_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    >>> [round(end, 4) for end in proportion_interval(8, 10, method="beta")]
    [0.4822, 0.9398]
    >>> proportion_interval(0, 10)[0]
    0.0
    """
    x, n = _checked_counts(successes, total)
    share = as_level(level)
    check_choice("method", method, METHODS)
    low, high = _wilson(x, n, share) if method == "wilson" else _beta(x, n, share, _PRIORS[method])
    return (0.0 if x == 0.0 else low), (1.0 if x == n else high)


def ratio_interval(estimate: float, variance: float, level: float) -> Interval:
    """Return the interval of a ratio from the variance of its logarithm, ratio · exp(± z √variance).

    Examples
    --------
    >>> [round(end, 3) for end in ratio_interval(2.0, 0.04, 0.95)]
    [1.351, 2.96]
    """
    width = math.exp(min(normal_quantile(level) * math.sqrt(variance), 700.0))
    return estimate / width, estimate * width


def sum_interval(parts: Iterable[tuple[float, float, Interval]], constant: float = 0.0) -> Interval:
    """Return the interval of a weighted sum of independent proportions.

    For Σ w p with limits l and u of each p, weights w ≥ 0:

        low = Σ w p̂ − √Σ w² (p̂ − l)²,   high = Σ w p̂ + √Σ w² (u − p̂)²

    Parameters
    ----------
    parts : iterable of (weight, share, interval)
    constant : float
        Added to the sum.

    Examples
    --------
    >>> [round(end, 3) for end in sum_interval([(1, 0.9, (0.8, 0.95)), (1, 0.7, (0.6, 0.78))], -1)]
    [0.459, 0.694]
    """
    known = list(parts)
    middle = sum(w * p for w, p, _ in known) + constant
    below = math.hypot(*(w * (p - low) for w, p, (low, _) in known))
    above = math.hypot(*(w * (high - p) for w, p, (_, high) in known))
    return middle - below, middle + above


def as_level(level: object) -> float:
    """Return a confidence level, between 0 and 1."""
    share = as_float(as_probability("level", level))
    if not 0.0 < share < 1.0:
        message = f"level must lie between 0 and 1, such as 0.95; got {number_text(share)}."
        raise DataError(message, parameter="level")
    return share


def normal_quantile(level: float) -> float:
    """Return z, so that a standard normal variable lies between −z and z with this probability.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return -NormalDist().inv_cdf((1.0 - level) / 2.0)


def _checked_counts(successes: object, total: object) -> tuple[float, float]:
    x, n = as_number("successes", successes), as_number("total", total)
    if n <= 0:
        raise DataError(f"total must be above 0; got {number_text(n)}. A share of no cases is undefined.")
    if not 0 <= x <= n:
        raise DataError(f"successes must lie between 0 and total; got {number_text(x)} of {number_text(n)}.")
    if 0 < x < 1 < n and exact_value(n).denominator == 1:
        raise DataError(f"successes must be a count; got {number_text(x)}, which looks like a share. Give how many.")
    if n > _LARGEST:
        raise DataError(f"total must be at most {_LARGEST:g}; got {number_text(n)}.", parameter="total")
    return as_float(x), as_float(n)


def _wilson(x: float, n: float, level: float) -> Interval:
    """Return the roots of (n + z²) p² − (2 x + z²) p + x²/n = 0, whose product is x² / (n (n + z²))."""
    z = normal_quantile(level)
    whole, share = n + z * z, x / n
    high = (x + z * z / 2.0 + z * math.sqrt(x * (1.0 - share) + z * z / 4.0)) / whole
    return x * share / (whole * high), min(high, 1.0)


def _beta(x: float, n: float, level: float, prior: float) -> Interval:
    from scipy.special import betaincinv  # 0.1 s, and Wilson's interval does not need it

    tail = (1.0 - level) / 2.0
    low, high = betaincinv(x + prior, n - x + prior, [tail, 1.0 - tail])
    return float(low), float(high)


@dataclass(frozen=True)
class CaseCounts:
    """The 2 × 2 table of a diagnostic test.

                    diseased               healthy
    positive        true positives, TP     false positives, FP
    negative        false negatives, FN    true negatives, TN

    Parameters
    ----------
    true_positives, false_positives, false_negatives, true_negatives : number
        At least 0, with at least one diseased and one healthy case. They need not be integers: rows may have weights.

    Examples
    --------
    >>> counts = CaseCounts(400, 210, 310, 1200)
    >>> counts
    CaseCounts(true_positives=400, false_positives=210, false_negatives=310, true_negatives=1200)
    >>> counts.n_diseased, counts.n_healthy
    (710, 1410)
    """

    true_positives: Number
    false_positives: Number
    false_negatives: Number
    true_negatives: Number

    def __post_init__(self) -> None:
        for name in CELLS:
            value = as_number(name, getattr(self, name))
            if not 0 <= value <= _LARGEST:
                message = f"{name} must be at least 0 and at most {_LARGEST:g}; got {number_text(value)}."
                raise DataError(message, parameter=name)
            object.__setattr__(self, name, value)
        for group, n in (("diseased", self.n_diseased), ("healthy", self.n_healthy)):
            if n == 0:
                raise DataError(f"the counts must have {group} cases; got none.")

    @property
    def n_diseased(self) -> Number:
        """The number of diseased cases, TP + FN."""
        return self.total("true_positives", "false_negatives")

    @property
    def n_healthy(self) -> Number:
        """The number of healthy cases, FP + TN."""
        return self.total("false_positives", "true_negatives")

    n_ill, n_well = n_diseased, n_healthy
    """Older names of :attr:`n_diseased` and :attr:`n_healthy`."""

    @property
    def cells(self) -> tuple[Number, Number, Number, Number]:
        """TP, FP, FN and TN."""
        return self.true_positives, self.false_positives, self.false_negatives, self.true_negatives

    def total(self, *names: str) -> Number:
        """Return the sum of some of the counts, by their names."""
        parts = [getattr(self, name) for name in names]
        return like(exact_sum(parts), parts)

    def share(self, some: Sequence[str], whole: Sequence[str]) -> Number:
        """Return the sum of some counts divided by the sum of others.

        Examples
        --------
        >>> CaseCounts(400, 210, 310, 1200).share(["true_positives"], ["true_positives", "false_positives"])
        0.6557377049180327
        """
        exact = self.exact_share(some, whole)
        return exact if isinstance(like(exact, [getattr(self, n) for n in whole]), Fraction) else as_float(exact)

    def exact_share(self, some: Sequence[str], whole: Sequence[str]) -> Fraction:
        """Return :meth:`share` without rounding."""
        return exact_sum(getattr(self, name) for name in some) / exact_sum(getattr(self, name) for name in whole)

    def to_dict(self) -> dict[str, float]:
        """Return the counts by name, as plain numbers."""
        return {name: plain(getattr(self, name)) for name in CELLS}

    def __repr__(self) -> str:
        return f"CaseCounts({', '.join(f'{name}={number_text(getattr(self, name))}' for name in CELLS)})"


def count_cases(data: object, truth: str, result: str, *, diseased: object, positive: object) -> CaseCounts:
    """Return the 2 × 2 table of the rows of a table.

    Parameters
    ----------
    data : Table or any frame
        One row per case. Rows with a missing truth or result are left out, with a warning; rows count by their weights.
    truth, result : str
        The columns with the true state and with the test result.
    diseased, positive : state, or list of states
        Which states of these columns mean diseased and positive. All others mean the opposite.

    Examples
    --------
    >>> import tunbridge as tb
    >>> count_cases(tb.datasets.allergy(), "allergy", "test", diseased="yes", positive="positive")
    CaseCounts(true_positives=400, false_positives=210, false_negatives=310, true_negatives=1200)
    """
    table = as_table(data).select([truth, result])
    is_ill, is_positive = _marked(table, truth, "diseased", diseased), _marked(table, result, "positive", positive)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    complete = table.complete
    if not complete.all():
        left_out = counted(int((~complete).sum()), "row")
        warn_user(f"{left_out} of {table.n_rows} with a missing {truth!r} or {result!r} left out.", DataWarning)
    cells = [(is_ill, is_positive), (~is_ill, is_positive), (is_ill, ~is_positive), (~is_ill, ~is_positive)]
    return CaseCounts(*(float(weights[complete & a & b].sum()) for a, b in cells))


def plain(number: Number) -> float:
    """Return a number for JSON: an int if it is one, otherwise a float, which may be infinite."""
    return as_float(number) if number == math.inf or exact_value(number).denominator > 1 else int(number)


def _marked(table: Table, name: str, what: str, states: object) -> np.ndarray:
    """Return which rows are in one of these states."""
    variable = table.variable(name)
    if variable.is_continuous:
        hint = f"Discretise it (tb.discretise), or use tb.as_table(data, kinds={{{name!r}: 'categorical'}})."
        raise DataError(f"the column {name!r} must be categorical; it is continuous. {hint}")
    given = states if isinstance(states, list | tuple | set | frozenset) else [states]
    codes = {state: variable.find(state) for state in given}
    for state, code in codes.items():
        if code < 0:
            hint = variable.near_states(state)
            raise DataError(f"{what} must be a state of {name!r}; got {state!r}. {hint}", parameter=what)
    if not 0 < len(set(codes.values())) < variable.n_states:
        rule = f"must be some of the states of {name!r}, not all"
        raise DataError(f"{what} {rule}; got {len(codes)} of {variable.n_states}.", parameter=what)
    others = [state for i, state in enumerate(variable.states or ()) if i not in codes.values()]
    if len(others) > 1:
        hint = f"If that is wrong, leave rows out or add states to {what}=."
        warn_user(f"{listed(others)} of {name!r} all count as not {what}. {hint}", DataWarning)
    return np.isin(table.codes(name), list(codes.values()))
