"""The kernels of sequences: compiled or not they do the same, and the warm-up compiles what real work calls."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.kernels import compiled
from tunbridge.kernels.text import sequences as kernels
from tunbridge.sequences.reader import read_sequences

NAMES = ("add_sparse_scores", "add_symbols", "decode_points", "fill_keys", "gather_rows", "hash_rows", "mark_bytes",
         "mark_known", "translate_bytes")  # fmt: skip


def work():
    """Do what users do, large enough for the kernels."""
    rng = np.random.default_rng(0)
    letters = ["".join(rng.choice(list("acgt"), 300)) for _ in range(20)]
    numbers = [rng.integers(0, 500, 300).tolist() for _ in range(20)]
    y = np.arange(20) % 2
    for X in (letters, [*letters[:-1], "ñ" * 300], numbers):
        for order, weights in ((1, None), (1, rng.random(20)), (4, None)):
            clf = tb.SequenceClassifier(order=order).fit(X, y, sample_weight=weights)
            clf.predict_proba(X)
            clf.explain(X[:1])
            clf.stream().update(X[0]).finish()
        tb.SequenceClassifier("position", "cv", max_order=1).fit(X, y).predict(X)
        read_sequences(X).take(np.arange(5))
    tb.SequenceClassifier(gaps="a").fit(letters, y).predict(letters)


def test_the_warm_up_compiles_everything():
    from tunbridge._warmup import warm_up

    warm_up()
    before = {name: set(getattr(kernels, name).signatures) for name in NAMES}
    work()
    after = {name: set(getattr(kernels, name).signatures) for name in NAMES}
    assert after == before
    assert all(before.values())


def test_uncompiled_kernels_give_the_same(monkeypatch):
    """Small work does not wait for the compiler."""
    X = ["abcab", "", "añb", "cc", "abbbbbbbb"]
    y = ["x", "x", "y", "y", "x"]

    def everything():
        found = []
        for parameters in ({"order": 2}, {"order": 3, "ends": False}, {"gaps": "ñ"}):
            clf = tb.SequenceClassifier(**parameters).fit(X, y, sample_weight=[1, 2, 0.5, 1, 1])
            found += [clf.predict_log_proba(X), clf.stream().update("ab").update("ca").proba]
        wide = [[*range(i, 300 + i)] for i in range(5)]
        found.append(tb.SequenceClassifier(order=2).fit(wide, y).predict_log_proba(wide))
        return found

    by_kernels = everything()
    monkeypatch.setattr(compiled, "is_compiled", lambda kernel: False)
    for a, b in zip(everything(), by_kernels, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("text", ["a", "é", "日", "🙂", "a🙂é日b", "\x00", "\u07ff\u0800\uffff\U0010ffff"])
def test_characters(text):
    rows = read_sequences([text, "", text + "a"])
    assert rows.symbols(0) == list(text)
    assert rows.symbols(1) == []
    assert rows.symbols(2) == [*text, "a"]


def test_lone_surrogates_are_symbols():
    rows = read_sequences(["a\ud800b"])
    assert rows.symbols(0) == ["a", "\ud800", "b"]


def test_bytes_that_are_no_text():
    import pyarrow as pa

    broken = pa.Array.from_buffers(
        pa.large_string(),
        1,
        [None, pa.py_buffer(np.array([0, 4], np.int64).tobytes()), pa.py_buffer(b"\xf7\xbf\xbf\xbf")],
    )
    with pytest.raises(tb.errors.DataError, match="texts must be UTF-8"):
        read_sequences(broken)
    short = pa.Array.from_buffers(
        pa.large_string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int64).tobytes()), pa.py_buffer(b"a\xf0")]
    )
    assert len(read_sequences(short).codes) == 2


class TestRows:
    def test_keys_follow_from_the_symbols(self):
        a, b = read_sequences(["abc", "", "abd", "abc"]), read_sequences([list("abc"), [], list("abd"), list("zq")])
        assert a.keys(0)[0] == a.keys(0)[3] == b.keys(0)[0]
        assert a.keys(0)[2] == b.keys(0)[2]
        assert len(set(a.keys(0).tolist())) == 3
        assert a.keys(0)[0] != a.keys(1)[0]
        assert read_sequences(["1"]).keys(0)[0] != read_sequences([[1]]).keys(0)[0]

    def test_parts(self):
        rows = read_sequences(["abc", "", "de", "f"])
        assert [rows.rows(1, 3).symbols(i) for i in range(2)] == [[], ["d", "e"]]
        mask = np.array([True, False, False, True])
        assert [rows.take(mask).symbols(i) for i in range(2)] == [list("abc"), ["f"]]
        assert [rows.take(np.array([3, 0, 3])).symbols(i) for i in range(3)] == [["f"], list("abc"), ["f"]]
        assert rows.variables == ()
        assert rows.n_rows == 4
        assert rows.lengths.tolist() == [3, 0, 2, 1]
