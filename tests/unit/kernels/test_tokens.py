"""The kernels that read text, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from oracles.text import fnv
from tunbridge.kernels.compiled import plain
from tunbridge.kernels.text import tokens
from tunbridge.text.documents import hash_of
from tunbridge.text.tokens import _character_kinds

TEXTS = ["Ham and ÉGGS, a 1!", "", "naïve  😀\t中文_x", "…", "last WORD"]


def as_bytes(texts):
    encoded = [text.encode() for text in texts]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])


def split(texts, kernel, *settings, units="words"):
    data, offsets = as_bytes(texts)
    buffer, ends = np.zeros(2 * len(data) + len(texts), np.uint8), np.zeros(len(data) + len(texts), np.int32)
    starts = np.zeros(len(texts) + 1, np.int64)
    kernel(data, offsets, _character_kinds(units), *settings, buffer, ends, starts)
    return buffer.tobytes(), ends.tolist(), starts.tolist()


def table(size):
    return np.empty(size, np.uint64), np.full(size, -1, np.int32)


def test_hashes_are_fowler_noll_and_vo_s_with_their_bits_mixed():
    data, bounds = np.frombuffer(b"hamham\x00", np.uint8), [(0, 3), (3, 6), (0, 0), (6, 7)]
    found = [int(plain(tokens._hash)(data, a, b)) for a, b in bounds]
    assert found == [fnv(b"ham"), fnv(b"ham"), fnv(b""), fnv(b"\0")]
    assert found == [hash_of(data.tobytes()[a:b]) for a, b in bounds]


def test_the_hash_before_mixing_is_the_published_one():
    h = 0
    for byte in b"foobar":
        h = ((h or 0xCBF29CE484222325) ^ byte) * 0x100000001B3 % 2**64
    assert h == 0x85944171F73967E8  # the authors' test vector
    mixed = (h ^ h >> 32) * 0xFF51AFD7ED558CCD % 2**64
    assert fnv(b"foobar") == mixed ^ mixed >> 32


def test_slices_are_written_one_behind_the_other():
    data, out = np.frombuffer(b"spam egg", np.uint8), np.zeros(8, np.uint8)
    tokens.copy_slices(data, np.array([5, 0, 3]), np.array([8, 4, 3]), out)
    assert out.tobytes() == b"eggspam\x00"


def test_numbers_come_in_the_order_of_first_appearance():
    hashes, done, firsts = np.array([7, 5, 7, 9, 5], np.uint64), np.zeros(2, np.int64), np.empty(8, np.int64)
    out = np.empty(5, np.int32)
    tokens.number_hashes(hashes, done, *table(16), firsts, out)
    assert (out.tolist(), done.tolist(), firsts[:3].tolist()) == ([0, 1, 0, 2, 1], [5, 3], [0, 1, 3])


def test_numbering_ends_early_when_there_is_no_room_and_goes_on():
    hashes = np.array([3, 3 + 16, 3, 3 + 32, 3 + 16], np.uint64)  # all want the same place
    keys, slots = table(16)
    done, firsts, out = np.zeros(2, np.int64), np.empty(2, np.int64), np.full(5, -7, np.int32)
    tokens.number_hashes(hashes, done, keys, slots, firsts, out)
    assert (done.tolist(), out.tolist()) == ([3, 2], [0, 1, 0, -7, -7])
    firsts = np.concatenate([firsts, np.empty(2, np.int64)])
    tokens.number_hashes(hashes, done, keys, slots, firsts, out)
    assert (done.tolist(), out.tolist(), firsts[:3].tolist()) == ([5, 3], [0, 1, 0, 2, 1], [0, 1, 3])


def test_hashes_are_found_again_and_others_are_not():
    rng = np.random.default_rng(0)
    hashes = np.concatenate([rng.integers(0, 2**63, 500, np.uint64), np.arange(10, dtype=np.uint64) << np.uint64(20)])
    keys, slots = table(1024)
    tokens.index_hashes(hashes, keys, slots)
    order = rng.permutation(len(hashes))
    out = np.empty(len(hashes) + 2, np.int32)
    tokens.find_hashes(keys, slots, np.concatenate([hashes[order], np.array([1, 2**64 - 1], np.uint64)]), out)
    assert out.tolist() == [*order.tolist(), -1, -1]


@njit
def _every_point(data, starts, points, sizes):
    for k in range(starts.shape[0]):
        points[k], sizes[k] = tokens._decoded(data, starts[k])


def test_every_character_is_decoded():
    every = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    encoded = [chr(p).encode() for p in every]
    data, lengths = np.frombuffer(b"".join(encoded), np.uint8), np.array([len(e) for e in encoded])
    points, sizes = np.empty(len(every), np.int64), np.empty(len(every), np.int64)
    _every_point(data, np.cumsum(lengths) - lengths, points, sizes)
    np.testing.assert_array_equal(points, every)
    np.testing.assert_array_equal(sizes, lengths)


@pytest.mark.parametrize(
    ("units", "kinds"),
    [
        ("words", {"a": 1, "é": 1, "7": 1, "_": 1, "中": 1, "٣": 1, " ": 2, "\u3000": 2, "!": 0, "\u0301": 0}),
        ("letters", {"a": 1, "é": 1, "7": 0, "_": 0, "²": 1, "٣": 0, "\n": 2, "!": 0}),
        ("words and marks", {"a": 1, "7": 1, "_": 1, " ": 2, "!": 3, "😀": 3, "\u0301": 3, "\0": 3}),
        ("characters", {"a": 1, "\t": 2, "!": 0}),
    ],
)
def test_kinds_of_characters(units, kinds):
    found = _character_kinds(units)
    assert {c: int(found[ord(c)]) for c in kinds} == kinds


@pytest.mark.parametrize(
    ("shortest", "lower", "words", "starts"),
    [
        (2, True, "ham and Éggs naïve 中文_x last word ", [0, 3, 3, 5, 5, 7]),
        (4, False, "ÉGGS naïve 中文_x last WORD ", [0, 1, 1, 3, 3, 5]),
        (1, False, "Ham and ÉGGS a 1 naïve 中文_x last WORD ", [0, 5, 5, 7, 7, 9]),
    ],
)
def test_words_are_cut(shortest, lower, words, starts):
    """Kernels lower ASCII letters only: texts that have others come in small letters."""
    buffer, ends, found = split(TEXTS, tokens.split_words, lower, shortest)
    assert found == starts
    assert buffer[: ends[starts[-1] - 1]].decode() + " " == words
    cuts = [0, *(e + 1 for e in ends[: starts[-1]])]
    assert [buffer[a:b].decode() for a, b in zip(cuts[:-1], ends, strict=False)] == words.split(" ")[:-1]


def test_marks_are_words_by_themselves():
    buffer, ends, starts = split(["Hi!! (a)"], tokens.split_words, True, 2, units="words and marks")
    assert (buffer[: ends[4]], starts) == (b"hi ! ! ( )", [0, 5])


def test_characters_are_cut_and_white_space_is_one():
    buffer, ends, starts = split(["A\t\n b", "é😀", " "], tokens.split_characters, True)
    assert buffer[: ends[starts[-1] - 1]].decode() == "a bé😀 "
    assert (starts, ends[: starts[-1]]) == ([0, 3, 5, 6], [1, 2, 3, 5, 9, 10])


def test_ngrams_are_slices_of_the_buffer():
    buffer = np.frombuffer(b"ham and eggs tea ", np.uint8)
    ends, starts = np.array([3, 7, 12, 16], np.int32), np.array([0, 3, 3, 4])
    hashes, bounds, sizes = np.empty(6, np.uint64), np.empty((6, 2), np.int32), np.zeros(4, np.int64)
    tokens.hash_ngrams(buffer, ends, starts, 1, 1, 2, hashes, bounds, sizes)
    ngrams = [b"ham", b"and", b"eggs", b"ham and", b"and eggs", b"tea"]
    assert [buffer[a:b].tobytes() for a, b in bounds] == ngrams
    assert (hashes.tolist(), sizes.tolist()) == ([fnv(n) for n in ngrams], [0, 5, 5, 6])


def test_numbers_are_counted_in_each_document():
    numbers, sizes = np.array([2, 0, 2, 2, 1], np.int32), np.array([0, 3, 3, 5])
    words, counts, starts = np.empty(5, np.int32), np.empty(5, np.int32), np.zeros(4, np.int64)
    tokens.count_numbers(numbers, sizes, np.full(3, -1), words, counts, starts)
    assert starts.tolist() == [0, 2, 2, 4]
    assert (words[:4].tolist(), counts[:4].tolist()) == ([2, 0, 2, 1], [2, 1, 1, 1])


def test_what_documents_of_a_class_hold_is_added_up():
    rng = np.random.default_rng(1)
    dense = rng.integers(0, 3, (7, 4)) * rng.random((7, 4))
    starts, words = np.cumsum([0, *(dense > 0).sum(axis=1)]), np.nonzero(dense)[1].astype(np.int32)
    order, limits, weights = np.array([4, 0, 6, 2, 5]), np.array([0, 3, 3, 5]), rng.random(7)
    n = len(words)
    at, out = np.zeros(4, np.int64), (np.empty(n, np.int32), np.empty(n), np.empty(n))
    tokens.add_by_class(order, limits, starts, words, dense[dense > 0], weights, np.full(4, -1), at, *out)
    for c, members in enumerate([[4, 0, 6], [], [2, 5]]):
        sums, documents = np.zeros(4), np.zeros(4)
        sums[out[0][at[c] : at[c + 1]]] = out[1][at[c] : at[c + 1]]
        documents[out[0][at[c] : at[c + 1]]] = out[2][at[c] : at[c + 1]]
        np.testing.assert_allclose(sums, weights[members] @ dense[members], rtol=1e-14)
        np.testing.assert_allclose(documents, weights[members] @ (dense[members] > 0), rtol=1e-14)


def test_scores_are_sums_over_known_words():
    rng = np.random.default_rng(2)
    seen = rng.integers(0, 2, (3, 2)) * rng.random((3, 2))
    rows = np.cumsum([0, *(seen > 0).sum(axis=1)]).astype(np.int32)
    own, each, out = rng.random(3), rng.random((2, 2)), rng.random((3, 2))
    starts, words, values = np.array([0, 3, 3, 4]), np.array([2, -1, 0, 1], np.int32), rng.random(4)
    expected = out.copy()
    for d in range(3):
        for i in range(starts[d], starts[d + 1]):
            if words[i] >= 0:
                expected[d] += values[i] * (seen[words[i]] + own[words[i]] * each[0] + each[1])
    columns = np.nonzero(seen)[1].astype(np.int32)
    tokens.add_scores(starts, words, values, rows, columns, seen[seen > 0], own, each, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)
