"""What counts of words become."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tunbridge as tb
from oracles.text import values_of
from tunbridge.text.tokens import Tokens
from tunbridge.text.weighting import Weighting

TEXTS = ["egg egg spam", "", "ham", None, "spam spam spam egg ham tea"]
COUNTS = [{"egg": 2, "spam": 1}, {}, {"ham": 1}, {}, {"spam": 3, "egg": 1, "ham": 1, "tea": 1}]


@pytest.fixture
def found():
    return Tokens().count(pa.array(TEXTS, pa.large_string()))


@pytest.mark.parametrize("counts", ["raw", "log", "binary"])
@pytest.mark.parametrize("length", [None, "unit", 1, 12.5])
def test_values_are_those_of_plain_python(found, counts, length):
    expected = [v for each in COUNTS for v in values_of(each, counts, length).values()]
    np.testing.assert_allclose(Weighting(counts, length).within(found), expected, rtol=1e-14)


def test_documents_get_the_length_that_is_asked_for(found):
    rows = np.repeat(np.arange(5), np.diff(found.starts))
    held = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    for counts in ("raw", "log", "binary"):
        values = Weighting(counts, 7).within(found)
        np.testing.assert_allclose(np.bincount(rows, values, minlength=5), 7 * held, rtol=1e-14)
        squares = Weighting(counts, "unit").within(found) ** 2
        np.testing.assert_allclose(np.bincount(rows, squares, minlength=5), held, rtol=1e-14)


def test_common_words_weigh_less():
    factors = Weighting(idf=True).factors(np.array([0.0, 1.0, 9.0]), 9.0)
    np.testing.assert_allclose(factors, [1 + np.log(10), 1 + np.log(5), 1.0], rtol=1e-14)
    assert Weighting().factors(np.ones(3), 3.0) is None


def test_lengths_of_what_is_known_come_last_where_that_is_asked_for(found):
    """Words 0 and 1 are known, with factors 1 and 3; Rennie et al. scale after that."""
    words = np.where(found.words < 2, found.words, -1)
    values = Weighting("raw", "unit", idf=True, late=True).of_known(found, words, np.array([1.0, 3.0]))
    egg, spam = 2.0, 3 * 1.0
    size = np.hypot(egg, spam)
    np.testing.assert_allclose(values[:2], [egg / size, spam / size], rtol=1e-14)
    assert values[2] == 0.0  # unknown
    early = Weighting("raw", "unit", idf=True).of_known(found, words, np.array([1.0, 3.0]))
    np.testing.assert_allclose(early[:2], [2 / np.sqrt(5), 3 / np.sqrt(5)], rtol=1e-14)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"counts": "tf"}, "counts must be one of 'raw', 'log', 'binary'; got 'tf'"),
        ({"length": "l2"}, "length must be None, a number of words or 'unit'; got 'l2'"),
        ({"length": 0}, "length must be greater than 0; got 0"),
        ({"length": [1]}, "length must be a number; got"),
    ],
)
def test_settings_that_cannot_be(options, told):
    with pytest.raises(tb.DataError, match=told):
        Weighting(**options)
    with pytest.raises(tb.DataError, match=told):
        tb.TextClassifier(**options).fit(["spam", "egg"], ["a", "b"])
