from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import (
    as_number,
    as_probability,
    exact_sum,
    exact_value,
    like,
    log_of,
    number_text,
)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("1/3", Fraction(1, 3)),
        (" 0.008 ", Fraction(1, 125)),
        ("25%", Fraction(1, 4)),
        (".5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 6), Fraction(1, 3)),
    ],
    ids=str,
)
def test_exact_numbers_stay_exact(given: object, found: Fraction) -> None:
    number = as_number("x", given)
    assert isinstance(number, Fraction)
    assert number == found


@pytest.mark.parametrize("given", [0.25, np.float64(0.25), np.float32(0.25)], ids=repr)
def test_floats_stay_floats(given: float) -> None:
    assert type(as_number("x", given)) is float
    assert as_number("x", given) == 0.25


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a third", "x must be a number such as 0.25, 1/4 or 25%; got 'a third'."),
        ("1/0", "x must be a number such as 0.25, 1/4 or 25%; got '1/0'."),
        ("1e999999999", "x must be a number such as 0.25, 1/4 or 25%; got '1e999999999'."),
        ("", "x must be a number such as 0.25, 1/4 or 25%; got ''."),
        (None, "x must be a number; got None."),
        (True, "x must be a number; got True."),
        ([0.5], "x must be a number; got [0.5]."),
        (1j, "x must be a number; got 1j."),
        (float("nan"), "x must be finite; got nan."),
        (Decimal("Infinity"), "x must be finite; got Decimal('Infinity')."),
        (Decimal("sNaN"), "x must be finite; got Decimal('sNaN')."),
    ],
    ids=str,
)
def test_what_is_no_number_is_refused(given: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        as_number("x", given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-0.1, "p must lie between 0 and 1; got -0.1."),
        (98, "p must lie between 0 and 1; got 98. It looks like a percentage: divide it by 100."),
        ("3/2", "p must lie between 0 and 1; got 3/2."),
        (1.5, "p must lie between 0 and 1; got 1.5."),
        (1000, "p must lie between 0 and 1; got 1000."),
    ],
    ids=str,
)
def test_probabilities_lie_between_zero_and_one(given: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        as_probability("p", given)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", [3, np.int64(3), np.uint8(3)], ids=repr)
def test_whole_numbers_stay_whole(given: object) -> None:
    assert type(as_number("x", given)) is int
    assert as_number("x", given) == 3


def test_counts_do_not_ask_for_fractions() -> None:
    half = Fraction(1, 2)
    assert like(half, [1, 2]) == 0.5
    assert type(like(half, [1, 2])) is float
    assert type(like(half, [half, 2])) is Fraction
    assert type(like(Fraction(3), [1, 2])) is int


def test_a_short_float_is_what_it_shows() -> None:
    assert as_number("x", np.float32(0.9)) == 0.9


def test_a_float_stands_for_the_decimal_that_was_typed() -> None:
    assert exact_value(0.008) == Fraction(8, 1000)
    assert exact_value(1e-7) == Fraction(1, 10**7)
    assert exact_value(5e-324) == Fraction("5e-324")


def test_one_float_makes_the_answer_a_float() -> None:
    third = Fraction(1, 3)
    assert like(third, [third, third]) is third
    assert like(third, [third, 0.5]) == 1 / 3
    assert isinstance(like(third, [third, 0.5]), float)


def test_logarithms_of_any_size() -> None:
    assert log_of(Fraction(0)) == -math.inf
    assert log_of(0.5) == math.log(0.5)
    assert log_of(Fraction(10**500)) == pytest.approx(500 * math.log(10), rel=1e-14)
    assert log_of(Fraction(10**9 + 1, 10**9)) == pytest.approx(math.log1p(1e-9), rel=1e-6)  # as exact as the float


def test_numbers_for_people() -> None:
    assert number_text(Fraction(10**40, 3)) == "3.33333e+39"
    assert number_text(Fraction(1, 7)) == "1/7"
    assert number_text(1 / 7) == "0.142857"
    assert number_text(1 + 1e-9) == "1"
    assert number_text(Fraction(1, 3**1000)) == "7.56389e-478"
    assert number_text(Fraction(10**5000)) == "1e+5000"


def test_sums_are_exact() -> None:
    values = [0.1, Fraction(1, 3), 5e-324, 1e300, 0.2]
    assert exact_sum(values) == sum(map(exact_value, values))
    assert exact_sum([]) == 0
