"""Two models on several data sets, drawn."""

from __future__ import annotations

import matplotlib
import pytest

import tunbridge as tb

matplotlib.use("agg")


def test_points_are_the_errors_and_far_ones_are_named():
    axes = tb.plots.versus({"a": 10.0, "b": 20.0, "c": 0.0}, {"a": 10.2, "b": 5.0, "c": 0.0}, names=("x", "y"))
    points = sorted(tuple(p) for collection in axes.collections for p in collection.get_offsets().tolist())
    assert points == [(0.0, 0.0), (10.0, 10.2), (20.0, 5.0)]
    assert [text.get_text() for text in axes.texts] == ["b"]
    assert axes.get_xlim() == axes.get_ylim()


def test_bad_input():
    with pytest.raises(tb.DataError, match="the same data sets; only one has 'b'"):
        tb.plots.versus({"a": 1.0, "b": 2.0}, {"a": 1.0}, names=("x", "y"))
    with pytest.raises(tb.DataError, match="there are none"):
        tb.plots.versus({}, {}, names=("x", "y"))
    with pytest.raises(tb.DataError, match="the error on 'a' must be"):
        tb.plots.versus({"a": "high"}, {"a": 1.0}, names=("x", "y"))
