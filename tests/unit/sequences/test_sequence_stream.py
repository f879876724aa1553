"""Sequences that come in pieces."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, UnseenStateWarning


@pytest.fixture
def clf():
    return tb.SequenceClassifier(order=2).fit(["abab", "aabb", "bbbb", "bbba"], ["x", "x", "y", "y"])


def test_before_anything_comes(clf):
    stream = clf.stream()
    assert stream.n_symbols == 0
    assert not stream.is_finished
    np.testing.assert_allclose(stream.proba, [0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(stream.finish().proba, [0.5, 0.5], rtol=1e-12)


def test_letter_by_letter(clf):
    stream = clf.stream()
    for letter in "abba":
        stream.update(letter)
    np.testing.assert_allclose(stream.finish().log_proba, clf.predict_log_proba(["abba"])[0], rtol=1e-12)
    assert stream.finish().is_finished  # twice is once
    np.testing.assert_allclose(stream.log_joint, clf.predict_joint_log_proba(["abba"])[0], rtol=1e-12)


def test_log_odds(clf):
    stream = clf.stream().update("abb")
    np.testing.assert_allclose(stream.log_odds("x", "y"), np.log(stream.proba[0] / stream.proba[1]), rtol=1e-9)
    with pytest.raises(DataError, match="got 'z'"):
        stream.log_odds("x", "z")


def test_follow(clf):
    found = list(clf.follow(["ab", "", "ba"]))
    stream = clf.stream()
    np.testing.assert_array_equal(found, [stream.update(p).proba for p in ("ab", "", "ba")])


def test_long_pieces():
    rng = np.random.default_rng(0)
    text = rng.integers(97, 99, 1_500_000, dtype=np.uint8).tobytes().decode()
    clf = tb.SequenceClassifier(order=3, ends=False).fit([text[:1000], text[1000:3000]], ["x", "y"])
    stream = clf.stream().update(text[:7]).update(text[7:1_300_000]).update(text[1_300_000:])
    np.testing.assert_allclose(stream.log_joint, clf.predict_joint_log_proba([text])[0], rtol=1e-11)


def test_whole_numbers_and_words():
    clf = tb.SequenceClassifier().fit([[1, 2, 1], [2, 2]], ["x", "y"])
    stream = clf.stream().update(1).update([2]).update(np.array([1]))
    np.testing.assert_allclose(stream.finish().log_proba, clf.predict_log_proba([[1, 2, 1]])[0], rtol=1e-12)
    events = tb.SequenceClassifier(ends=False).fit([["open", "read"], ["fail"]], ["x", "y"])
    stream = events.stream().update(["open"]).update(["read"])
    np.testing.assert_allclose(stream.proba, events.predict_proba([["open", "read"]])[0], rtol=1e-12)


def test_many_symbols():
    clf = tb.SequenceClassifier(order=1).fit([list(range(400)), list(range(400, 0, -1))], ["up", "down"])
    stream = clf.stream().update([5, 6]).update([7])
    assert stream.proba[clf.classes_.tolist().index("up")] > 0.9


def test_unknown_symbols_are_named_once(clf):
    stream = clf.stream()
    with pytest.warns(UnseenStateWarning, match="'z'"):
        stream.update("az")
    stream.update("zb")
    with pytest.warns(UnseenStateWarning, match="'z'"):
        whole = clf.predict_joint_log_proba(["azzb"])[0]
    np.testing.assert_allclose(stream.finish().log_joint, whole, rtol=1e-12)


def test_places():
    clf = tb.SequenceClassifier("position", 1).fit(["abc", "abb", "bcc", "bcb"], ["x", "x", "y", "y"])
    stream = clf.stream().update("a")
    with pytest.raises(DataError, match="must have 3 symbols; it ended after 1"):
        stream.finish()
    stream.update("b").update("c")
    np.testing.assert_allclose(stream.finish().log_proba, clf.predict_log_proba(["abc"])[0], rtol=1e-12)
    with pytest.raises(DataError, match="must have 3 symbols; got 4"):
        clf.stream().update("abcc")


def test_no_symbols_behind_the_end(clf):
    with pytest.raises(DataError, match="must not be updated after finish"):
        clf.stream().update("ab").finish().update("a")


def test_the_impossible_gets_the_prior():
    clf = tb.SequenceClassifier(order=0, smoothing=0, ends=False).fit(["ab", "ac", "c"], ["x", "y", "y"])
    stream = clf.stream().update("bc")
    np.testing.assert_allclose(stream.proba, [1 / 3, 2 / 3], rtol=1e-12)
    np.testing.assert_allclose(stream.log_odds("y", "x"), np.log(2), rtol=1e-12)
