"""What explanations of sequences say, and how they look."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import UnseenStateWarning


@pytest.fixture
def clf():
    return tb.SequenceClassifier(order=0, smoothing=2).fit(["aab", "abb"], ["x", "y"])


class TestContent:
    def test_weights(self, clf):
        told = clf.explain("ab")
        bag = {"x": (8 / 3, 5 / 3, 5 / 3), "y": (5 / 3, 8 / 3, 5 / 3)}
        np.testing.assert_allclose(
            told.weights, [np.log(bag["x"][k] / bag["y"][k]) for k in (0, 1)], rtol=1e-12, atol=1e-12
        )
        assert (told.label, told.against, told.prior, told.end) == ("x", "y", 0.0, 0.0)
        assert told.sequence == ("a", "b")
        assert told.unknown == ()
        np.testing.assert_allclose(told.cumulative, [0.0, np.log(1.6), 0.0], rtol=1e-12, atol=1e-12)
        assert [e.feature for e in told.evidence] == ["1", "2", "end"]

    def test_asked_the_other_way_round(self, clf):
        one, other = clf.explain("aab", "x", "y"), clf.explain("aab", "y", "x")
        np.testing.assert_allclose(one.weights, -other.weights, rtol=1e-12)
        assert one.log_odds == -other.log_odds

    def test_one_or_several(self, clf):
        assert [t.sequence for t in clf.explain(["ab", ""])] == [("a", "b"), ()]
        assert clf.explain({"sequence": "ab"}).sequence == ("a", "b")
        numbers = tb.SequenceClassifier().fit([[1, 2], [2, 2]], ["x", "y"])
        assert numbers.explain([1, 2]).sequence == (1, 2)
        assert numbers.explain(np.array([1, 2])).sequence == (1, 2)
        assert len(numbers.explain([[1, 2]])) == 1

    def test_unknown_symbols_weigh_nothing(self, clf):
        with pytest.warns(UnseenStateWarning, match="'z'"):
            told = clf.explain("azb")
        assert told.unknown == (2,)
        assert told.weights[1] == 0.0
        assert told.sequence == ("a", "z", "b")

    def test_the_order_of_classes_is_by_probability(self):
        clf = tb.SequenceClassifier(order=0).fit(["aaa", "bbb", "ccc"], ["x", "y", "z"])
        told = clf.explain("bbc")
        assert (told.label, told.against) == ("y", "z")

    def test_impossible_symbols(self):
        clf = tb.SequenceClassifier(order=0, smoothing=0, ends=False).fit(["ab", "ac", "d"], ["x", "y", "y"])
        told = clf.explain("ab")
        assert told.weights[1] == np.inf
        assert told.log_odds == np.inf
        assert json.dumps(told.to_dict())
        with pytest.warns(tb.errors.ZeroProbabilityWarning):
            both = clf.explain("bc", "x", "y")
        assert both.log_odds == both.prior
        assert np.isfinite(both.cumulative[-1])
        assert "▲" in str(told)
        assert "rgba" in told._repr_html_()

    def test_what_neither_class_can_produce(self):
        """The prior remains, as it does when they are asked for the probability."""
        clf = tb.SequenceClassifier(order=0, smoothing=0, ends=False, alphabet="abc").fit(["aab", "abb"], ["x", "y"])
        with pytest.warns(tb.errors.ZeroProbabilityWarning):
            told = clf.explain("aac", "x", "y")
        assert told.log_odds == told.prior == 0.0
        assert told.weights.tolist() == [0.0, 0.0, 0.0]

    def test_many_at_once(self, clf):
        several = clf.explain(["aab", "", "b"])
        for told, text in zip(several, ["aab", "", "b"], strict=True):
            assert str(told) == str(clf.explain(text))


class TestShape:
    def test_text(self, clf):
        told = clf.explain("aaab" * 30)
        lines = str(told).splitlines()
        assert lines[0].startswith("x rather than y: P(x) =")
        assert lines[0].endswith("120 symbols")
        assert lines[2] == "      1  " + "aaab" * 15
        assert lines[3] == "         " + "▲▲▲▼" * 15
        assert lines[4].startswith("     61  ")
        assert lines[-1].split() == ["sum", f"{told.log_odds:+.2f}"]

    def test_words(self):
        clf = tb.SequenceClassifier().fit([["up", "down"], ["left", "up"]], ["x", "y"])
        text = str(clf.explain([["up", "left", "down"]])[0])
        assert "up left down" in text

    def test_long_ones_are_cut(self, clf):
        told = clf.explain("ab" * 5000)
        assert len(str(told)) < 6000
        assert "… and 8 800 symbols more" in str(told)
        assert len(told._repr_html_()) < 200_000

    def test_html_is_escaped(self):
        clf = tb.SequenceClassifier().fit(["<b>&", "ab>"], ["<x>", "y"])
        page = clf.explain("<&")._repr_html_()
        assert "&lt;x&gt;" in page
        assert ">&amp;<" in page
        assert "<b>" not in page

    def test_nothing(self, clf):
        told = clf.explain("")
        assert told.weights.tolist() == []
        assert told.log_odds == 0.0
        assert "0 symbols" in str(told)
        assert told._repr_html_()

    def test_to_dict(self, clf):
        told = json.loads(json.dumps(clf.explain("ab").to_dict()))
        assert told["sequence"] == ["a", "b"]
        assert told["label"] == "x"
        assert len(told["weights"]) == 2
        assert [e["feature"] for e in told["further"]] == ["end"]
        np.testing.assert_allclose(sum(told["weights"]) + told["prior"], told["log_odds"], atol=1e-12)
