from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.reasoning import code_length, exception_bits, naming_bits, recorded_precision, whole_number_bits
from tunbridge.reasoning.code_lengths import log2_binomial


def test_what_has_probability_p_takes_minus_log_p_bits():
    assert [code_length(Fraction(1, 2**k)) for k in (0, 1, 3, 5000)] == [0, 1, 3, 5000]
    assert code_length(0) == math.inf
    assert code_length(0.3) == pytest.approx(1.7369655941662063, rel=1e-15)
    assert code_length(1 - Fraction(1, 10**20)) == pytest.approx(1e-20 / math.log(2), rel=1e-12)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), "much", None])
def test_a_probability_is_between_0_and_1(wrong):
    with pytest.raises(DataError, match="the probability must"):
        code_length(wrong)


def test_naming_one_of_n():
    assert naming_bits(1) == 0
    assert naming_bits(1024) == 10
    with pytest.raises(DataError, match="n must be at least 1; got 0"):
        naming_bits(0)


def test_the_universal_code_of_the_whole_numbers():
    assert whole_number_bits(16) == pytest.approx(math.log2(2.8651084158399) + 4 + 2 + 1, rel=1e-15)
    with pytest.raises(DataError, match=r"n must be an integer; got 1\.5"):
        whole_number_bits(1.5)


def test_the_words_of_all_whole_numbers_waste_nothing():
    # With f(x) = 1/(x log₂ x log₂ log₂ x …) the tail T(a) = ∫_a^∞ f obeys T(2^a) = ln 2 · T(a), and T(1) = ln 2 + T(2).
    lengths = np.array([whole_number_bits(n) for n in range(1, 2**16 + 1)])
    assert (np.diff(lengths) > 0).all()
    tail = math.log(2) ** 4 * math.log(2) / (1 - math.log(2)) / 2.8651084158399
    words = 2.0**-lengths
    assert words.sum() - words[-1] / 2 + tail == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("n", "classes"), [(0, 2), (1, 2), (7, 2), (6, 4)])
def test_every_set_of_exceptions_has_its_word_and_no_bit_is_wasted(n, classes):
    words = [math.comb(n, k) * (classes - 1) ** k for k in range(n + 1)]
    kraft = sum(many * 2.0 ** -exception_bits(n, k, classes=classes) for k, many in enumerate(words))
    assert kraft == pytest.approx(1.0, rel=1e-12)


def test_exceptions_by_quinlan_and_rivest():
    assert exception_bits(14, 5) == pytest.approx(math.log2(15 * 2002), rel=1e-14)
    assert exception_bits(14, 5, most=7) == pytest.approx(math.log2(8 * 2002), rel=1e-14)
    assert exception_bits(0, 0) == 0
    assert exception_bits(np.uint8(255), np.uint8(1)) == pytest.approx(math.log2(256 * 255), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3, "k": 4}, "k must be at most n; got k = 4, n = 3"),
        ({"n": 9, "k": 4, "most": 3}, "k must be at most most; got k = 4"),
        ({"n": 9, "k": 1, "classes": 1}, "k must be at most 0 for one class"),
        ({"n": -1, "k": 0}, "n must be at least 0; got -1"),
        ({"n": 10**400, "k": 0}, "n must be at most 9007199254740992; got 1000"),
        ({"n": 1, "k": 0, "classes": 0}, "classes must be at least 1; got 0"),
    ],
)
def test_exceptions_that_cannot_be(arguments, message):
    with pytest.raises(DataError, match=message):
        exception_bits(**arguments)


def test_binomials_of_any_size():
    n, k = np.array([10, 1000, 1000]), np.array([3, 500, 999])
    expected = [math.log2(math.comb(a, b)) for a, b in zip(n.tolist(), k.tolist(), strict=True)]
    np.testing.assert_allclose(log2_binomial(n, k), expected, rtol=1e-12)
    assert float(log2_binomial(10**9, 1)) == pytest.approx(math.log2(10**9), rel=1e-12)
    assert float(log2_binomial(10**9, 0)) == float(log2_binomial(10**9, 10**9)) == 0


@pytest.mark.parametrize(
    ("values", "precision"),
    [
        ([1, 2, 30], 1.0),
        ([0.1, 0.25], 0.01),
        ([0.0], 1.0),
        ([0.3, 0.1 + 0.2], 1e-17),
        ([1e300, 1.0], np.spacing(1e300)),
        ([1e308, 0.5], np.spacing(1e308)),
        ([1e-30], np.spacing(1e-30)),
    ],
)
def test_the_precision_of_what_was_written_down(values, precision):
    assert recorded_precision(values) == pytest.approx(max(precision, np.spacing(max(values))), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values must be a list of at least one number"),
        ([[1.0]], "values must be a list of at least one number; got an array of shape"),
        ([1.0, math.nan], "values must be finite numbers; number 2 is nan. Leave missing values out."),
        ([math.inf], "values must be finite numbers; number 1 is inf."),
        (["a"], "values must be an array of numbers"),
    ],
)
def test_readings_must_be_numbers(values, message):
    with pytest.raises(DataError, match=message):
        recorded_precision(values)
