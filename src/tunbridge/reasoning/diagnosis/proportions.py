"""How sure a share of counts is: intervals for proportions, for their ratios and for their sums.

Of n cases x had a property. The share p̂ = x/n is then known to within an interval, for which there are two schools:

* **Wilson's** score interval holds every p that a test would not reject: the two solutions of

      |p̂ − p| = z √(p (1 − p) / n)

  where z is the quantile of the normal distribution (1.96 for 95 %). It stays between 0 and 1, and it is good for small
  n and for shares near 0 and 1, where p̂ ± z √(p̂ (1 − p̂)/n) is not.
* **Beta**: with a Beta(a, b) prior the posterior of p is Beta(x + a, n − x + b), and the interval lies between its
  quantiles. a = b = 1 is the uniform prior, a = b = ½ Jeffreys'.

The ratio of two shares is nearly normal in its logarithm (:func:`ratio_interval`); the limits of a sum of independent
shares are those of the shares, squared and added (:func:`sum_interval`).

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
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any, TypeAlias

from tunbridge._check import check_choice
from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import as_float, as_number, as_probability, exact_value, number_text

Interval: TypeAlias = tuple[float, float]

METHODS = ("wilson", "beta", "jeffreys")
LARGEST = 1e100
"""The largest count of which an interval is taken: its square must be a float."""
_PRIORS = {"beta": 1.0, "jeffreys": 0.5}


def proportion_interval(successes: Any, total: Any, level: Any = 0.95, *, method: str = "wilson") -> Interval:
    """Return the interval in which a share lies, given how many of how many cases had the property.

    Parameters
    ----------
    successes, total : number
        x and n, with 0 ≤ x ≤ n and n > 0. They need not be whole: a row of weight w counts as w rows.
    level : number
        How sure, above 0 and below 1.
    method : {'wilson', 'beta', 'jeffreys'}
        Wilson's score interval; the quantiles of the Beta posterior under a uniform prior; those under Jeffreys' prior.

    Returns
    -------
    tuple of float
        The low and the high end. At x = 0 the low end is 0 and at x = n the high end is 1 by every method (as Brown,
        Cai and DasGupta have it for Jeffreys' prior), so that the share that was seen is always within.

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
    x, n = _counts(successes, total)
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
    """Return the interval of a weighted sum of independent shares, by their limits squared and added.

    For Σ w p with limits l and u of each p, weights w ≥ 0:

        low = Σ w p̂ − √Σ w² (p̂ − l)²,   high = Σ w p̂ + √Σ w² (u − p̂)²

    Parameters
    ----------
    parts : iterable of (weight, share, interval)
    constant : float
        What is added to the sum.

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


def as_level(level: Any) -> float:
    """Return how sure an interval is to be; raise unless it lies between 0 and 1, neither of them."""
    share = as_float(as_probability("level", level))
    if not 0.0 < share < 1.0:
        raise DataError(f"level must lie between 0 and 1, such as 0.95; got {number_text(share)}.")
    return share


def normal_quantile(level: float) -> float:
    """Return z, so that a standard normal variable lies between −z and z with this probability.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return -NormalDist().inv_cdf((1.0 - level) / 2.0)


def _counts(successes: Any, total: Any) -> tuple[float, float]:
    """Return the successes and their total as floats; raise unless the ones are some of the other."""
    x, n = as_number("successes", successes), as_number("total", total)
    if n <= 0:
        raise DataError(f"total must be above 0; got {number_text(n)}. A share of no cases is undefined.")
    if not 0 <= x <= n:
        raise DataError(f"successes must lie between 0 and total; got {number_text(x)} of {number_text(n)}.")
    if 0 < x < 1 < n and exact_value(n).denominator == 1:
        raise DataError(f"successes must be a count; got {number_text(x)}, which looks like a share. Give how many.")
    if n > LARGEST:
        raise DataError(f"total must be at most {LARGEST:g}; got {number_text(n)}.")
    return as_float(x), as_float(n)


def _wilson(x: float, n: float, level: float) -> Interval:
    """Return the solutions of (n + z²) p² − (2 x + z²) p + x²/n = 0, of which the product is x² / (n (n + z²))."""
    z = normal_quantile(level)
    whole, share = n + z * z, x / n
    high = (x + z * z / 2.0 + z * math.sqrt(x * (1.0 - share) + z * z / 4.0)) / whole
    return x * share / (whole * high), min(high, 1.0)


def _beta(x: float, n: float, level: float, prior: float) -> Interval:
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    low, high = betaincinv(x + prior, n - x + prior, [tail, 1.0 - tail])
    return float(low), float(high)
