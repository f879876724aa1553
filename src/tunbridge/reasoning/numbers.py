"""Exact numbers, how they are printed, prior probabilities, and weights of hypotheses.

Fractions, decimals and strings (``"1/3"``, ``"0.008"``, ``"0.8 %"``) are exact, and results of exact numbers are
:class:`fractions.Fraction`. Integers mix with both: with fractions the result is a fraction, integers alone give
floats. A float stands for the shortest decimal that reads as it: 0.008 is 8/1000, not the binary number next to it.
Sums and products are computed without rounding; only the result becomes a float again.

The weight of a hypothesis is w_h = P(h) Π_d P(d | h). The posterior is w_h / Σ w, and the sum is P(D), the probability
of the data. Products of many probabilities underflow, so weights are stored as logarithms, and also as exact fractions
as long as these are short. With fractions the results are correct to the last digit.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge._core.grid import probability_text
from tunbridge.errors import DataError
from tunbridge.probability.reading import TOLERANCE

Number: TypeAlias = float | Fraction

ROUNDING = Fraction(1, 10**12)
"""The largest difference of two equal sums that rounding can explain."""

MOST_BITS = 2**14
"""The largest total size of exact weights; beyond it only the logarithms are kept."""

_LARGEST_LOG, _SMALLEST_LOG = math.log(sys.float_info.max), math.log(sys.float_info.min)
_LONGEST = 24
_LARGEST_EXPONENT = 400


# Numbers


def as_number(what: str, value: object) -> Number:
    """Return a finite number: floats as floats, integers as integers, everything else as an exact fraction.

    Examples
    --------
    >>> as_number("x", "1/3"), as_number("x", 2), as_number("x", 0.5), as_number("x", "0.8 %")
    (Fraction(1, 3), 2, 0.5, Fraction(1, 125))
    """
    if isinstance(value, str):
        return _from_text(what, value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise DataError(f"{what} must be a number; got {shortened(repr(value))}.")
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if (isinstance(value, Decimal) and value.is_snan()) or not math.isfinite(value):
        raise DataError(f"{what} must be finite; got {shortened(repr(value))}.")
    if isinstance(value, Decimal):
        return Fraction(value)
    return float(value) if isinstance(value, float) else float(str(value))  # float32(0.9) is 0.9


def as_probability(what: str, value: object, *, hint: str = "") -> Number:
    """Return a number between 0 and 1, exact unless it is a float.

    Examples
    --------
    >>> as_probability("the prevalence", 0.008)
    0.008
    """
    number = as_number(what, value)
    if not 0 <= number <= 1:
        more = hint or ("It looks like a percentage: divide it by 100." if 2 <= number <= 100 else "")
        message = f"{what} must lie between 0 and 1; got {number_text(number)}.{more and ' ' + more}"
        raise DataError(message, parameter=what if what.isidentifier() else None)
    return number


def exact_value(number: Number) -> Fraction:
    """Return the fraction that a number stands for; for a float that of the shortest decimal that reads as it.

    Examples
    --------
    >>> exact_value(0.1) + exact_value(0.2) == exact_value(0.3)
    True
    """
    return Fraction(number) if isinstance(number, int | Fraction) else Fraction(Decimal(repr(float(number))))


def exact_sum(values: Iterable[Number]) -> Fraction:
    """Return the exact sum, over one common denominator: faster than adding one by one.

    Examples
    --------
    >>> exact_sum([0.1, 0.2, Fraction(1, 3)])
    Fraction(19, 30)
    """
    exact = (value if isinstance(value, int | Fraction) else Decimal(repr(float(value))) for value in values)
    ratios = [value.as_integer_ratio() for value in exact]
    common = math.lcm(*(below for _, below in ratios))
    return Fraction(sum(above * (common // below) for above, below in ratios), common)


def complement(probability: Number) -> Number:
    """Return 1 − p, exact if p is.

    Examples
    --------
    >>> complement(0.97), complement(Fraction(1, 3))
    (0.03, Fraction(2, 3))
    """
    return like(1 - exact_value(probability), [probability])


def like(value: Fraction, sources: Iterable[Number]) -> Number:
    """Return a value as the type of its sources: a fraction if they are exact; for integers an int or a float.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> like(third, [third, 1]), like(third, [1, 3]), like(Fraction(4), [1, 3]), like(third, [third, 1.0])
    (Fraction(1, 3), 0.3333333333333333, 4, 0.3333333333333333)
    """
    kinds = {type(source) for source in sources}
    if kinds <= {int, Fraction} and (Fraction in kinds or value.denominator == 1):
        return value if Fraction in kinds else value.numerator
    return as_float(value)


def as_float(number: Number) -> float:
    """Return a float; infinity for numbers that are too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def scalar_or_array(values: ArrayLike) -> Any:
    """Return a float for a single value, otherwise the array."""
    return float(np.asarray(values)) if np.ndim(values) == 0 else values


def log_of(number: Number) -> float:
    """Return the natural logarithm of a number ≥ 0 of any size; −∞ for 0.

    Examples
    --------
    >>> log_of(Fraction(1, 10**400))
    -921.0340371976182
    """
    if number == 0:
        return -math.inf
    if isinstance(number, Fraction) and not 1e-300 < as_float(number) < 1e300:
        return math.log(number.numerator) - math.log(number.denominator)
    return math.log(number)


def bits(values: Sequence[int | Fraction]) -> int:
    """Return the total number of bits of all numerators and denominators."""
    return sum(value.numerator.bit_length() + value.denominator.bit_length() for value in values)


def number_text(number: Number) -> str:
    """Return a number as text: a fraction as it is unless it is long, a float with six digits.

    Examples
    --------
    >>> number_text(Fraction(49, 235)), number_text(0.208510638), number_text(Fraction(2, 1)), number_text(1 - 1e-9)
    ('49/235', '0.208511', '2', '1 - 1e-09')
    """
    if isinstance(number, int | Fraction) and bits([number]) < 4 * _LONGEST and len(text := str(number)) <= _LONGEST:
        return text
    return decimal_text(number)


def decimal_text(number: Number) -> str:
    """Return a number with six digits, also a fraction of any size.

    Examples
    --------
    >>> decimal_text(Fraction(1, 3)), decimal_text(Fraction(1, 3**1000))
    ('0.333333', '7.56389e-478')
    """
    near = as_float(number)
    if isinstance(number, Fraction) and number and (near == 0 or math.isinf(near)):
        return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():.6g}"
    return probability_text(near) if near < 1.0 else f"{near:.6g}"


def _from_text(what: str, text: str) -> Fraction:
    plain = text.strip().removesuffix("%").strip()
    try:
        if "e" in plain.lower() and abs(int(plain.lower().partition("e")[2])) > _LARGEST_EXPONENT:
            raise ValueError
        return Fraction(plain) / (100 if text.strip().endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise DataError(f"{what} must be a number such as 0.25, 1/4 or 25%; got {shortened(repr(text))}.") from None


# Prior probabilities


def as_prior(prior: object, hypotheses: Sequence[Hashable], *, what: str = "the prior") -> tuple[Number, ...]:
    """Return the prior probability of each hypothesis; they sum to one.

    Parameters
    ----------
    prior : None, "uniform", mapping, pandas Series, or iterable of numbers
        ``None`` or ``"uniform"``: all equal. A mapping by hypothesis may leave one out: it gets the rest. An iterable
        is in the order of the hypotheses.
    hypotheses : sequence
    what : str
        Its name in messages.

    Examples
    --------
    >>> as_prior({"cancer": 0.008}, ["cancer", "healthy"])
    (0.008, 0.992)
    >>> as_prior(None, ["a", "b", "c"])
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return (Fraction(1, len(hypotheses)),) * len(hypotheses)
    if isinstance(prior := by_name(prior), Mapping):
        return normalised(what, _prior_by_name(what, prior, hypotheses))
    if isinstance(prior, str) or not isinstance(prior, Iterable):
        rule = "must be a mapping or a sequence of probabilities, or 'uniform'"
        raise DataError(f"{what} {rule}; got {shortened(repr(prior))}.")
    given = list(prior)
    if len(given) != len(hypotheses):
        raise DataError(f"{what} must have a probability for each of {len(hypotheses)} hypotheses; got {len(given)}.")
    pairs = zip(hypotheses, given, strict=True)
    return normalised(what, [as_probability(f"{what} of {name!r}", value) for name, value in pairs])


def by_name(given: object) -> Any:
    """Return a pandas Series as a mapping by its index, unless that is 0, 1, …; anything else unchanged."""
    if isinstance(given, Mapping) or not hasattr(given, "to_dict"):
        return given
    found = given.to_dict()
    return given if list(found) == list(range(len(found))) else found


def normalised(what: str, values: Sequence[Number]) -> tuple[Number, ...]:
    """Return probabilities that sum to exactly one; raise unless they nearly do."""
    whole = exact_sum(values)
    if abs(whole - 1) > TOLERANCE:
        hint = " They look like percentages: divide them by 100." if abs(whole - 100) < 1 else ""
        raise DataError(f"{what} must sum to 1; got {number_text(like(whole, values))}.{hint}")
    return tuple(values) if whole == 1 else tuple(like(exact_value(value) / whole, [value]) for value in values)


def distinct(hypotheses: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return the hypotheses; raise unless there is at least one and all are different."""
    try:
        names = tuple(hypotheses)
        n_different = len(set(names))
    except TypeError as error:
        raise DataError(f"hypotheses must be names or other hashable values; {error}.") from None
    if not names or n_different < len(names):
        raise DataError(f"hypotheses must be distinct, and at least one; got {listed(names) or 'none'}.")
    return names


def check_names(what: str, given: Iterable[Any], hypotheses: Sequence[Hashable]) -> None:
    """Raise unless all names are hypotheses."""
    known = set(hypotheses)
    for name in given:
        if name not in known:
            raise DataError(f"{what} must name hypotheses; got {name!r}. {did_you_mean(name, hypotheses)}")


def _prior_by_name(what: str, prior: Mapping[Any, object], hypotheses: Sequence[Hashable]) -> list[Number]:
    check_names(what, prior, hypotheses)
    given = {name: as_probability(f"{what} of {name!r}", value) for name, value in prior.items()}
    absent = [name for name in hypotheses if name not in given]
    if len(absent) > 1:
        raise DataError(f"{what} must name every hypothesis, or all but one; {listed(absent)} are missing.")
    if absent:
        rest = 1 - exact_sum(given.values())
        if abs(rest) <= ROUNDING:
            raise DataError(f"{what} must leave a probability for {absent[0]!r}; the others sum to 1.")
        if rest < 0:
            shown = number_text(like(1 - rest, given.values()))
            raise DataError(f"{what} must sum to 1; without {absent[0]!r}, which is missing, it sums to {shown}.")
        given[absent[0]] = like(rest, given.values())
    return [given[name] for name in hypotheses]


# Weights of hypotheses


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of hypotheses, as logarithms and, while they are short, as fractions.

    Parameters
    ----------
    logs : ndarray
        ln w_h; −∞ for a hypothesis that the observations rule out.
    fractions : tuple of Fraction or None
        w_h; None if only the logarithms are kept.
    exact : bool
        Whether all inputs were exact, so that results are fractions.
    """

    logs: np.ndarray
    fractions: tuple[Fraction, ...] | None
    exact: bool

    @classmethod
    def of(cls, values: Sequence[Number]) -> Weights:
        """Return the weights that have these values."""
        logs, exact = np.array([log_of(value) for value in values]), not any(isinstance(v, float) for v in values)
        return cls(logs, _short([exact_value(value) for value in values]), exact)

    def times(self, likelihoods: Sequence[Number], repeats: int = 1) -> Weights:
        """Return the weights after an observation with these probabilities, made once or several times."""
        if self.fractions is None:
            return self.plus_logs(np.array([log_of(value) for value in likelihoods]), repeats)
        factor = Weights.of(likelihoods)
        fits = factor.fractions is not None and repeats * bits(factor.fractions) <= MOST_BITS
        powers = tuple(f**repeats for f in factor.fractions) if fits and factor.fractions is not None else None
        return self.combined(Weights(_repeated(factor.logs, repeats), powers, factor.exact))

    def combined(self, other: Weights) -> Weights:
        """Return the products of two sets of weights of the same hypotheses."""
        products = None
        if self.fractions is not None and other.fractions is not None:
            products = _short([a * b for a, b in zip(self.fractions, other.fractions, strict=True)])
        return Weights(self.logs + other.logs, products, self.exact and other.exact)

    def plus_logs(self, log_likelihoods: np.ndarray, repeats: int = 1) -> Weights:
        """Return the weights after an observation with these log-probabilities or log-densities."""
        return Weights(self.logs + _repeated(log_likelihoods, repeats), None, False)

    def any_possible(self, places: Sequence[int] | None = None) -> bool:
        """Return whether any hypothesis, or any at these places, has a weight above 0."""
        return bool((self.logs[list(range(len(self.logs)) if places is None else places)] > -math.inf).any())

    @property
    def best(self) -> int:
        """The place of the largest weight; of equal ones the first."""
        return int(self.logs.argmax()) if self.fractions is None else self.fractions.index(max(self.fractions))

    @property
    def can_be_written(self) -> bool:
        """Whether :attr:`values` can be shown: fractions, or floats that do not underflow."""
        if self.fractions is None or self.exact:
            return self.fractions is not None
        return bool((self.logs[self.logs > -math.inf] > _SMALLEST_LOG).all())

    @property
    def log_total(self) -> float:
        """The logarithm of Σ w."""
        return _log_sum(self.logs) if self.fractions is None else log_of(exact_sum(self.fractions))

    @property
    def total(self) -> Number:
        """Σ w: a fraction if all inputs were exact; 0.0 if it underflows, infinity if it overflows."""
        if self.fractions is None:
            return _exp(self.log_total)
        return self._as_input(exact_sum(self.fractions))

    @property
    def values(self) -> tuple[Number, ...]:
        """The weights themselves, of the same type as :attr:`total`."""
        if self.fractions is None:
            return tuple(np.exp(np.minimum(self.logs, _LARGEST_LOG)).tolist())
        return tuple(map(self._as_input, self.fractions))

    @property
    def shares(self) -> tuple[Number, ...]:
        """w_h / Σ w."""
        if self.fractions is None:
            return tuple(softmax(self.logs).tolist())
        whole = exact_sum(self.fractions)
        return tuple(self._as_input(w / whole) for w in self.fractions)

    def ratio(self, above: Sequence[int], below: Sequence[int]) -> Number:
        """Return the weight of some hypotheses over that of others; infinite if the others have none."""
        if self.fractions is None:
            low = _log_sum(self.logs[list(below)])
            return math.inf if low == -math.inf else _exp(_log_sum(self.logs[list(above)]) - low)
        weight = exact_sum([self.fractions[i] for i in below])
        return self._as_input(exact_sum([self.fractions[i] for i in above]) / weight) if weight else math.inf

    def _as_input(self, value: Fraction) -> Number:
        return value if self.exact else as_float(value)


def softmax(logs: np.ndarray) -> np.ndarray:
    """Return exp(logs), scaled to sum to one over the last axis. (In NumPy: importing scipy.special takes 0.1 s.)"""
    scaled = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))


def _exp(log: float) -> float:
    return math.exp(log) if log < _LARGEST_LOG else math.inf


def _log_sum(logs: np.ndarray) -> float:
    return float(np.logaddexp.reduce(logs, initial=-math.inf))


def _short(values: Sequence[Fraction]) -> tuple[Fraction, ...] | None:
    return tuple(values) if bits(values) <= MOST_BITS else None


def _repeated(logs: np.ndarray, repeats: int) -> np.ndarray:
    return logs if repeats == 1 else np.where(np.isneginf(logs), -math.inf, logs * repeats)
