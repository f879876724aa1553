from __future__ import annotations

import matplotlib
import pytest

import tunbridge as tb
from tunbridge.reasoning import shortest_description

matplotlib.use("agg")


def test_columns_are_the_bits_of_data_and_hypothesis():
    choice = shortest_description({"degree 0": (10, 90), "degree 1": (20, 50), "degree 2": (30, 45)})
    axes = tb.plots.description_lengths(choice)
    data, told = axes.containers
    assert [bar.get_height() for bar in data] == [90, 50, 45]
    assert [(bar.get_y(), bar.get_height()) for bar in told] == [(90, 10), (50, 20), (45, 30)]
    (best,) = axes.lines
    assert best.get_xdata() == [1]
    assert 70 < best.get_ydata()[0] < 75
    assert axes.get_xlabel() == "degree"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "1", "2"]
    assert axes.get_ylim()[0] == 0


def test_other_names_stand_below_their_columns():
    axes = tb.plots.description_lengths(shortest_description({"no $arcs$": (1, 9), "the truth": (4, 4)}))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["no $arcs$", "the truth"]
    assert axes.get_xlabel() == ""
    axes.figure.canvas.draw()


def test_bins_are_numbered():
    axes = tb.plots.description_lengths(tb.reasoning.choose_histogram([1, 1, 2, 7, 7, 8]))
    assert axes.get_xlabel() == "bins"


def test_small_differences_are_not_lost():
    axes = tb.plots.description_lengths(shortest_description({"a": (10, 10_050), "b": (30, 10_000)}))
    assert 9_900 < axes.get_ylim()[0] < 10_000
    assert axes.get_ylabel() == "bits (the axis starts at 9\u202f970)"


def test_infinite_lengths_have_no_column():
    axes = tb.plots.description_lengths(shortest_description({"a": (1, float("inf")), "b": (1, 1)}))
    assert len(axes.containers[0]) == 1


def test_nothing_to_tell():
    assert tb.plots.description_lengths(shortest_description({"a": (0, 0)})).get_ylim() == (0, 1)


def test_many_candidates():
    axes = tb.plots.description_lengths(shortest_description({f"{k} bins": (k, 100 / k) for k in range(1, 101)}))
    assert len(axes.get_xticklabels()) <= 11
    assert axes.lines[0].get_xdata() == [9]


def test_axes_may_be_given():
    axes = matplotlib.pyplot.figure().subplots()
    assert tb.plots.description_lengths(shortest_description({"a": (1, 1)}), axes) is axes


@pytest.mark.parametrize("wrong", [None, {"a": 1}, "choice"])
def test_bad_input(wrong):
    with pytest.raises(tb.DataError, match="choice must be a DescriptionChoice; got"):
        tb.plots.description_lengths(wrong)
