"""How documents are cut, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tunbridge as tb
from oracles.text import by_kernels, named
from tunbridge.errors import MemoryForecastError
from tunbridge.text import tokens as module
from tunbridge.text.tokens import Tokens


def cut(text, **options):
    """Return the n-grams of one text."""
    found = Tokens(**options).count(pa.array([text], pa.large_string()))
    return found.vocabulary.names()


@pytest.fixture(params=[False, True], ids=["plain", "kernels"], autouse=True)
def kernels(request):
    with by_kernels(request.param):
        yield request.param


@pytest.mark.parametrize(
    ("options", "ngrams"),
    [
        ({}, ["don", "re", "read", "café", "no_1", "99"]),
        ({"shortest": 1}, ["don", "t", "re", "read", "café", "no_1", "99"]),
        ({"shortest": 3}, ["don", "read", "café", "no_1"]),
        ({"lower_case": False}, ["Don", "re", "read", "CAFÉ", "no_1", "99"]),
        ({"units": "letters"}, ["don", "re", "read", "café", "no"]),
        ({"units": "words and marks", "shortest": 3}, ["don", "’", "-", "read", "café", ":", "no_1", "!"]),
        ({"low": 2, "high": 2, "shortest": 4}, ["read café", "café no_1"]),
        ({"low": 1, "high": 2, "shortest": 4}, ["read", "café", "no_1", "read café", "café no_1"]),
        ({"low": 9, "high": 9}, []),
    ],
)
def test_words(options, ngrams):
    assert cut("Don’t re-read CAFÉ:\n no_1 99!!", **options) == ngrams


@pytest.mark.parametrize(
    ("options", "ngrams"),
    [
        ({}, ["a", " ", "é", "!"]),
        ({"low": 2, "high": 3}, ["a ", " é", "é!", "a é", " é!"]),
        ({"lower_case": False, "low": 4, "high": 4}, ["A É!"]),
    ],
)
def test_characters(options, ngrams):
    assert cut("A\n\t É!", units="characters", **options) == ngrams


def test_small_letters_are_those_of_the_whole_text():
    """A sigma at the end of a word is another letter; a dotted capital I becomes two characters."""
    assert cut("ΟΔΟΣ Σ ΣΑΣ", shortest=1) == ["οδος", "σ", "σας"]
    assert cut("İzmir STRAẞE K") == ["zmir", "straße"]
    assert cut("İzmir STRAẞE K", units="characters", low=2, high=2)[:2] == ["i\u0307", "\u0307z"]
    assert cut("ASCII and K", shortest=1) == ["ascii", "and", "k"]  # the last is the sign of Kelvin


def test_nul_and_marks_split_words():
    assert cut("spam\0egg cafe\u0301s zero\u200dwidth") == ["spam", "egg", "cafe", "zero", "width"]


def test_counts_by_document():
    found = Tokens().count(pa.array(["egg egg spam", None, "", "spam spam"], pa.large_string()))
    assert named(found, found.vocabulary) == [{"egg": 2, "spam": 1}, {}, {}, {"spam": 2}]
    assert (found.words.dtype, found.counts.dtype, found.starts.dtype) == (np.int32, np.int32, np.int64)


def test_no_documents():
    found = Tokens().count(pa.array([], pa.large_string()))
    assert (len(found.vocabulary), found.starts.tolist(), len(found.words)) == (0, [0], 0)


def test_the_array_that_is_read_stays_as_it_was():
    texts = pa.array(["SPAM É", None, "ham"], pa.large_string())
    Tokens().count(texts)
    assert texts.to_pylist() == ["SPAM É", None, "ham"]


def test_places_are_those_in_the_text_as_it_is():
    text = "Ham  and\tEggs"
    assert [(n, text[a:b]) for n, a, b in Tokens(high=2).ngrams(text)] == [
        (b"Ham", "Ham"), (b"and", "and"), (b"Eggs", "Eggs"), (b"Ham and", "Ham  and"), (b"and Eggs", "and\tEggs"),
    ]  # fmt: skip
    assert [(n, text[a:b]) for n, a, b in Tokens("characters", 3, 3).ngrams(text)][1:3] == [
        (b"am ", "am  "), (b"m a", "m  a"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"units": "word"}, r"tokens must be one of 'words', .*'characters'; got 'word'. Did you mean 'words'\?"),
        ({"low": 0}, "ngrams must be at least 1; got 0"),
        ({"low": 1.5}, "ngrams must be an integer; got 1.5"),
        ({"low": 3, "high": 2}, r"ngrams must be \(fewest, most\) units; got \(3, 2\)"),
        ({"high": "2"}, "ngrams must be an integer; got '2'"),
        ({"shortest": 0}, "shortest must be at least 1; got 0"),
        ({"n_buckets": -1}, "n_buckets must be at least 0; got -1"),
        ({"n_buckets": 2**30 + 1}, "n_buckets must be at most 2³⁰; got 1073741825"),
        ({"n_buckets": True}, "n_buckets must be an integer; got True"),
    ],
)
def test_settings_that_cannot_be(options, told):
    with pytest.raises(tb.DataError, match=told):
        Tokens(**options)


@pytest.mark.parametrize("units", ["words", "characters"])
def test_memory_is_forecast(monkeypatch, units):
    monkeypatch.setattr(module, "_PIECE_BYTES", 100)
    texts = pa.array(["spam and eggs " * 10] * 3, pa.large_string())
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100000")
    Tokens(units, high=2).count(texts)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    way_out = "Pass the documents in batches: to fit as an iterator, or to partial_fit."
    with pytest.raises(
        MemoryForecastError, match=f"the {units} of 3 documents would need .*, and the limit is 1000 bytes. {way_out}"
    ):
        Tokens(units, high=2).count(texts)


def test_documents_that_are_too_long_are_named(monkeypatch, kernels):
    if not kernels:
        pytest.skip("so much text goes to the kernels")
    monkeypatch.setattr(module, "_MOST_BYTES", 30)
    texts = pa.array(["spam", None, "spam and eggs " * 3], pa.large_string())
    with pytest.raises(tb.DataError, match="a document must be at most 1 GiB long; document 3 is longer"):
        Tokens().count(texts)


def test_the_forecast_is_above_what_is_taken(monkeypatch, kernels):
    """Natural text of a megabyte: arrays that are kept stay below the forecast."""
    if not kernels:
        pytest.skip("so much text goes to the kernels")
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(20_000)])
    lengths = np.minimum(rng.zipf(1.3, 300 * 1000), 20_000) - 1
    texts = pa.array([" ".join(part) for part in words[lengths].reshape(1000, 300)], pa.large_string())
    forecasts = []
    monkeypatch.setattr(module, "check_memory", lambda what, n_bytes, **_: forecasts.append(n_bytes))
    monkeypatch.setattr(module, "_PIECE_BYTES", 1 << 16)
    for tokens in (Tokens(), Tokens(high=2), Tokens("characters", 3, 4)):
        found = tokens.count(texts)
        kept = [found.starts, found.words, found.counts, found.vocabulary.pool, found.vocabulary.hashes]
        assert sum(a.nbytes for a in kept) < forecasts[-1]
