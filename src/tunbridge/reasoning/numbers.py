"""Numbers as people write them: exact where they can be, and shown with the digits that say something.

Fractions, decimals and texts (``"1/3"``, ``"0.008"``, ``"0.8 %"``) are exact, and what is computed from exact numbers
alone comes back as a :class:`fractions.Fraction`. Whole numbers go with either kind: beside fractions the answer is a
fraction, but counts alone do not ask for one, and give floats. A float stands for the shortest decimal that reads as
it: 0.008 is eight thousandths, as it was typed, not the binary number beside it. Sums and products are then taken
without any rounding, and only the answer becomes a float again.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.probability.grid import probability_text

Number: TypeAlias = float | Fraction

_LONGEST = 24
_MOST_DIGITS = 400


class Rounded(float):
    """A float that knows the fraction it was rounded from, so that nothing is lost when more is computed from it.

    Examples
    --------
    >>> third = Rounded(Fraction(1, 3))
    >>> third, exact_value(third)
    (0.3333333333333333, Fraction(1, 3))
    """

    exact: Fraction

    def __new__(cls, exact: Fraction) -> Rounded:  # noqa: D102
        found = super().__new__(cls, exact)
        found.exact = exact
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Rounded, (self.exact,)


def as_number(what: str, value: Any) -> Number:
    """Return a number, exact unless it is a float; raise for what is none, or not finite.

    Examples
    --------
    >>> as_number("x", "1/3"), as_number("x", 2), as_number("x", 0.5), as_number("x", "0.8 %")
    (Fraction(1, 3), 2, 0.5, Fraction(1, 125))
    """
    if isinstance(value, float) and math.isfinite(value):
        return value if isinstance(value, Rounded) else float(value)
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
    return Fraction(value) if isinstance(value, Decimal) else float(str(value))  # of a short float what it shows


def as_probability(what: str, value: Any, *, hint: str = "") -> Number:
    """Return a number between 0 and 1, exact unless it is a float.

    Examples
    --------
    >>> as_probability("the prevalence", 0.008)
    0.008
    """
    number = as_number(what, value)
    if not 0 <= number <= 1:
        more = hint or ("It looks like a percentage: divide it by 100." if 2 <= number <= 100 else "")
        raise DataError(f"{what} must lie between 0 and 1; got {number_text(number)}.{more and ' ' + more}")
    return number


def exact_value(number: Number) -> Fraction:
    """Return the fraction that a number stands for; of a float the shortest decimal that reads as it.

    Examples
    --------
    >>> exact_value(0.1) + exact_value(0.2) == exact_value(0.3)
    True
    """
    return Fraction(_decimal(number))


def exact_sum(values: Iterable[Number]) -> Fraction:
    """Return the sum of what numbers stand for, over one common denominator: faster than one addition after another.

    Examples
    --------
    >>> exact_sum([0.1, 0.2, Fraction(1, 3)])
    Fraction(19, 30)
    """
    ratios = [_decimal(value).as_integer_ratio() for value in values]
    whole = math.lcm(*(below for _, below in ratios))
    return Fraction(sum(above * (whole // below) for above, below in ratios), whole)


def _decimal(number: Number) -> Fraction | Decimal:
    """Return what a number stands for, of a float as the decimal that it shows, which is made quickly."""
    if isinstance(number, Rounded):
        return number.exact
    return Fraction(number) if isinstance(number, int | Fraction) else Decimal(repr(float(number)))


def complement(probability: Number) -> Number:
    """Return 1 − p, exact if p is.

    Examples
    --------
    >>> complement(0.97), complement(Fraction(1, 3))
    (0.03, Fraction(2, 3))
    """
    return like(1 - exact_value(probability), [probability])


def like(value: Fraction, sources: Iterable[Number]) -> Number:
    """Return a value in the kind of numbers it came from: a fraction if they are exact, of counts an int or a float.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> like(third, [third, 1]), like(third, [1, 3]), like(Fraction(4), [1, 3]), like(third, [third, 1.0])
    (Fraction(1, 3), 0.3333333333333333, 4, 0.3333333333333333)
    """
    kinds = {type(source) for source in sources}
    if kinds <= {int, Fraction} and (Fraction in kinds or value.denominator == 1):
        return value if Fraction in kinds else value.numerator
    return Rounded(value) if Rounded in kinds else as_float(value)


def as_float(number: Number) -> float:
    """Return a float; infinity for what is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def log_of(number: Number) -> float:
    """Return the natural logarithm of a number ≥ 0, of any size; −∞ for 0.

    Examples
    --------
    >>> log_of(Fraction(1, 10**400))
    -921.0340371976182
    """
    if number == 0:
        return -math.inf
    if isinstance(number, Fraction):
        near = as_float(number)
        if 1e-300 < near < 1e300:
            return math.log(near)
        return math.log(number.numerator) - math.log(number.denominator)
    return math.log(number)


def bits(values: Sequence[int | Fraction]) -> int:
    """Return how many bits the numerators and denominators of fractions have together."""
    return sum(value.numerator.bit_length() + value.denominator.bit_length() for value in values)


def number_text(number: Number) -> str:
    """Return a number for people: a fraction as one unless it is long, a float in six digits.

    Examples
    --------
    >>> number_text(Fraction(49, 235)), number_text(0.208510638), number_text(Fraction(2, 1)), number_text(1 - 1e-9)
    ('49/235', '0.208511', '2', '1 - 1e-09')
    """
    if isinstance(number, int | Fraction) and bits([number]) < 4 * _LONGEST and len(text := str(number)) <= _LONGEST:
        return text
    return decimal_text(number)


def decimal_text(number: Number) -> str:
    """Return a number in six digits, a fraction of any size too.

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
    """Return the number that a text spells, with its exponent kept within reason."""
    plain, percent = text.strip(), 1
    if plain.endswith("%"):
        plain, percent = plain[:-1].strip(), 100
    try:
        if "e" in plain.lower() and abs(int(plain.lower().partition("e")[2])) > _MOST_DIGITS:
            raise ValueError
        return Fraction(plain) / percent
    except (ValueError, ZeroDivisionError):
        raise DataError(f"{what} must be a number such as 0.25, 1/4 or 25%; got {shortened(repr(text))}.") from None
