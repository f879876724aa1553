"""Words and their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from oracles.text import by_kernels, fnv
from tunbridge.text.documents import Vocabulary, locked, numbered, united
from tunbridge.text.tokens import Tokens

WORDS = ["spam", "egg", "naïve", "", "中文", "a b"]


@pytest.fixture(params=[False, True], ids=["plain", "kernels"])
def kernels(request):
    with by_kernels(request.param):
        yield request.param


@pytest.mark.usefixtures("kernels")
class TestWords:
    def test_names_come_back(self):
        words = Vocabulary.of(WORDS)
        assert (len(words), words.names(), words.take(np.array([4, 0])).names()) == (6, WORDS, ["中文", "spam"])
        assert words.hashes.tolist() == [fnv(w.encode()) for w in WORDS]
        assert words.is_whole()

    def test_words_are_found_by_their_hashes(self):
        words = Vocabulary.of(WORDS)
        asked = np.array([fnv(w.encode()) for w in ("中文", "none", "spam", "")], np.uint64)
        for hashes in (asked, locked(asked)):
            found = words.find(hashes)
            assert (found.tolist(), found.dtype) == ([4, -1, 0, 3], np.int32)
        assert words.find(asked[:0]).tolist() == []

    def test_some_words_are_numbered_anew(self):
        words = Vocabulary.of(WORDS)
        for which in (np.array([4, 0, 3]), np.array([False, True, False, False, True, False])):
            taken = words.take(which)
            names = [WORDS[i] for i in (np.flatnonzero(which) if which.dtype == bool else which)]
            assert taken.names() == names
            assert taken.find(Vocabulary.of(names).hashes).tolist() == list(range(len(names)))
            assert taken.is_whole()

    def test_no_words(self):
        none = Vocabulary.of([])
        assert (len(none), none.names(), none.is_whole()) == (0, [], True)
        assert none.find(Vocabulary.of(WORDS).hashes).tolist() == [-1] * 6
        assert none.take(np.array([], np.int64)).names() == []
        both, numbers = united([none, Vocabulary.of(["spam"]), none])
        assert (both.names(), [n.tolist() for n in numbers]) == (["spam"], [[], [0], []])

    def test_vocabularies_are_united_in_order_of_first_appearance(self):
        parts = [Vocabulary.of(["spam", "egg"]), Vocabulary.of(["ham", "egg", "中文"]), Vocabulary.of(["egg"])]
        both, numbers = united(parts)
        assert both.names() == ["spam", "egg", "ham", "中文"]
        assert [n.tolist() for n in numbers] == [[0, 1], [2, 1, 3], [1]]
        assert united([parts[0]])[0] is parts[0]

    def test_without_names_words_are_numbers(self):
        tokens = Tokens(n_buckets=100)
        hashes = tokens.hashes_of([b"spam", b"egg"])
        assert hashes.tolist() == [fnv(b"spam") % 100, fnv(b"egg") % 100]
        words = Vocabulary(hashes, np.empty(0, np.uint8), np.empty(0, np.int64))
        assert words.names() == [f"#{h}" for h in hashes.tolist()]
        assert words.take(np.array([1])).names() == [f"#{fnv(b'egg') % 100}"]
        assert words.is_whole()
        both, numbers = united([words, words.take(np.array([1]))])
        assert (both.names(), [n.tolist() for n in numbers]) == (words.names(), [[0, 1], [1]])

    def test_words_with_and_without_names_are_not_united(self):
        nameless = Vocabulary(np.array([1], np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64))
        with pytest.raises(tb.DataError, match="n_buckets must not change between calls"):
            united([Vocabulary.of(["spam"]), nameless])
        assert len(united([Vocabulary.of([]), nameless])[0]) == 1

    @pytest.mark.parametrize("n", [0, 1, 4095, 4096, 4097, 30_000])
    def test_hashes_are_numbered_however_many_there_are(self, n):
        rng = np.random.default_rng(n)
        different = rng.integers(0, 2**63, n, np.uint64)
        hashes = np.concatenate([different, rng.permutation(different)])
        for some in (hashes, locked(hashes)):
            firsts, numbers = numbered(some)
            assert numbers.dtype == np.int32
            np.testing.assert_array_equal(firsts, np.arange(n))
            np.testing.assert_array_equal(different[numbers], hashes)
        words = Vocabulary(different, np.empty(0, np.uint8), np.empty(0, np.int64))
        np.testing.assert_array_equal(words.find(hashes), numbers)


def test_the_table_of_hashes_is_at_most_half_full():
    for n in (1, 7, 8, 9, 16, 17, 1000, 1024, 1025):
        words = Vocabulary(np.arange(n, dtype=np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64))
        _, slots = words._table
        assert (slots >= 0).sum() == n
        assert 2 * n <= len(slots) <= max(16, 4 * n)


@pytest.mark.parametrize(
    ("hashes", "pool", "ends", "whole"),
    [
        ([1, 2], b"ab", [1, 2], True),
        ([1, 2], b"", [], True),
        ([], b"", [], True),
        ([1], b"ab", [1, 2], False),
        ([1, 2], b"ab", [2], False),
        ([1, 2], b"ab", [2, 1], False),
        ([1, 2], b"ab", [-1, 2], False),
        ([1, 2], b"ab", [1, 3], False),
        ([1, 2], b"ab", [], False),
    ],
)
def test_parts_belong_together_or_not(hashes, pool, ends, whole):
    words = Vocabulary(np.array(hashes, np.uint64), np.frombuffer(pool, np.uint8), np.array(ends, np.int64))
    assert words.is_whole() is whole


def test_a_locked_view_leaves_the_array_as_it_was():
    array = np.zeros(3)
    view = locked(array)
    assert (view.flags.writeable, array.flags.writeable, view.base is array) == (False, True, True)
