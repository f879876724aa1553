from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.plots.evidence import steps_of
from tunbridge.sequences import SequenceExplanation
from tunbridge.sequences.explanation import sequence_explanation

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _off_screen():
    tb.plots.draw_off_screen()
    yield
    matplotlib.pyplot.close("all")


def told(symbols, weights, *, prior=0.5, end=None, unknown=()) -> SequenceExplanation:
    """Return an explanation with these weights, of which the log-odds need not fit the probabilities."""
    return sequence_explanation(
        ("yes", "no"),
        prior=prior,
        symbols=list(symbols),
        weights=np.array([*weights, 0.0 if end is None else end]),
        ends=end is not None,
        probabilities={"yes": 0.75, "no": 0.25},
        unknown=list(unknown),
    )


def heights(axes) -> list[float]:
    return [bar.get_height() for bar in axes.patches]


def ticks(axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_bars_are_weights_and_the_line_adds_them_up():
    axes = tb.plots.log_odds(told("abc", [1.0, -2.0, 0.25], end=0.5))
    assert heights(axes) == [1.0, -2.0, 0.25, 0.5]
    x, y = axes.lines[0].get_data()
    assert x.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(y, [0.5, 1.5, -0.5, -0.25, 0.25], rtol=1e-12, atol=0)
    assert ticks(axes) == ["prior", "a\n1", "b", "c", "end"]
    assert axes.get_title(loc="left") == "yes rather than no: probability 0.75"
    assert axes.get_xlabel() == "3 symbols"
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def test_the_line_ends_at_the_log_odds_of_a_real_model():
    names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
    clf = tb.SequenceClassifier(order=1).fit(names, ["f", "f", "f", "m", "m", "m"])
    with pytest.warns(tb.UnseenStateWarning, match="'j'"):
        found = clf.explain("joanna")
    axes = tb.plots.log_odds(found)
    np.testing.assert_allclose(axes.lines[0].get_ydata()[-1], found.log_odds, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(axes.lines[0].get_ydata()[:-1], found.cumulative, rtol=1e-9, atol=1e-12)
    assert axes.get_xlabel() == "6 symbols; 1 unknown"


def test_many_symbols_share_bars_and_still_add_up():
    weights = np.random.default_rng(0).normal(size=1003)
    found = told("ACGT" * 250 + "ACG", weights.tolist())
    axes = tb.plots.log_odds(found, most=100)
    assert len(axes.patches) == 92
    np.testing.assert_allclose(heights(axes)[0], weights[:11].sum(), rtol=1e-12, atol=0)
    np.testing.assert_allclose(heights(axes)[-1], weights[1001:].sum(), rtol=1e-12, atol=0)
    np.testing.assert_allclose(axes.lines[0].get_ydata()[-1], found.log_odds, rtol=1e-9, atol=0)
    assert axes.get_xlabel() == "1 003 symbols; each bar adds up 11 of them"
    assert ticks(axes) == ["prior", "200", "400", "600", "800", "1000"]
    at = dict(zip(ticks(axes), axes.get_xticks(), strict=True))
    assert at["200"] == 19  # the bar of symbols 199 to 209


@pytest.mark.parametrize(("most", "n_bars"), [(1, 1), (2, 2), (4, 4), (6, 4), (7, 7), (100, 7)])
def test_no_more_bars_than_asked_for(most, n_bars):
    steps = steps_of(told("abcdefg", range(7)), most=most)
    assert len(steps.weights) == n_bars
    assert steps.weights.sum() == 21
    assert bool(steps.letters) == (n_bars == 7)


def test_letters_that_do_not_fit_give_way_to_numbers():
    wide = [f"event-{i}" for i in range(40)]
    axes = tb.plots.log_odds(told(wide, [0.1] * 40))
    assert ticks(axes) == ["prior", "5", "10", "15", "20", "25", "30", "35", "40"]
    few = tb.plots.log_odds(told(["log in", "log out"], [0.1, 0.2]))
    assert ticks(few) == ["prior", "log in\n1", "log out"]


def test_symbols_that_cannot_be_printed_are_written_out():
    assert ticks(tb.plots.log_odds(told([None, "\n", "$x$"], [0.0, 1.0, 1.0], unknown=[1])))[1:] == [
        "·\n1",
        "\\n",
        "$x$",
    ]


def test_infinite_weights_are_hatched_and_reach_the_edge(tmp_path):
    axes = tb.plots.log_odds(told("abcd", [1.0, -np.inf, np.inf, 2.0]))
    low, high = axes.get_ylim()
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True, True, False]
    assert heights(axes)[1] < low < 0 < high < heights(axes)[2]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.5, 1.5], rtol=1e-12, atol=0)
    axes.figure.savefig(tmp_path / "p.png")


def test_runs_that_exclude_both_classes_say_nothing():
    assert steps_of(told("abcd", [np.inf, -np.inf, 1.0, 2.0]), most=2).weights.tolist() == [0.0, 3.0]


def test_an_empty_sequence_is_the_prior(tmp_path):
    axes = tb.plots.log_odds(told("", []))
    assert axes.lines[0].get_ydata().tolist() == [0.5]
    assert axes.get_xlabel() == "0 symbols"
    axes.figure.savefig(tmp_path / "p.png")


def test_a_calibration_is_one_more_bar():
    clf = tb.CalibratedClassifier(tb.SequenceClassifier(order=0), method="temperature")
    clf.fit(["aab", "aaa", "abb", "aba", "bba", "bbb"] * 3, ["x", "x", "y", "x", "y", "y"] * 3)
    found = clf.explain(["aaba"])[0]
    axes = tb.plots.log_odds(found)
    assert ticks(axes)[-2:] == ["end", "calibration"]
    np.testing.assert_allclose(axes.lines[0].get_ydata()[-1], found.log_odds, rtol=1e-9, atol=0)


def test_texts_stay_inside_the_figure():
    axes = tb.plots.log_odds(told("ACGT" * 15, [0.3] * 60, end=1.0))
    figure = axes.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [artist.get_window_extent(renderer) for artist in (axes._left_title, axes.xaxis.label, *labels)]
    assert all(box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y0 >= -1 for box in boxes)
    places = sorted((box.x0, box.x1) for box in boxes[2:])
    assert all(left[1] <= right[0] + 0.5 for left, right in pairwise(places))


def test_given_axes_are_used():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert tb.plots.log_odds(told("ab", [1.0, 2.0]), axes) is axes
    assert tb.plots.learning_curve({"a": {1: 0.5}}, axes) is axes


@pytest.mark.parametrize("wrong", [[told("a", [1.0])], "abc", None])
def test_other_things_are_not_drawn(wrong):
    with pytest.raises(DataError, match=r"must be drawn from one SequenceExplanation; got .* Call explain"):
        tb.plots.log_odds(wrong)


def test_the_number_of_bars_is_checked():
    with pytest.raises(DataError, match="most must be at least 1; got 0"):
        tb.plots.log_odds(told("a", [1.0]), most=0)


# Learning curves


def test_curves_have_means_and_standard_errors():
    axes = tb.plots.learning_curve({"a": {1000: [0.5, 0.7], 100: [0.2, 0.4, 0.6]}, "b": {100: 0.3, 500: 0.6}})
    first, second = axes.containers
    assert first.lines[0].get_xdata().tolist() == [100, 1000]
    np.testing.assert_allclose(first.lines[0].get_ydata(), [40, 60], rtol=1e-12, atol=0)
    bars = np.array([segment[:, 1] for segment in first.lines[2][0].get_segments()])
    np.testing.assert_allclose((bars[:, 1] - bars[:, 0]) / 2, [20 / np.sqrt(3), 10], rtol=1e-9, atol=0)
    assert second.lines[0].get_ydata().tolist() == [30, 60]
    assert axes.get_xscale() == "log"
    assert ticks(axes) == ["100", "500", "1\u202f000"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert axes.get_xlabel() == "documents"


def test_errors_that_are_known_are_drawn():
    axes = tb.plots.learning_curve({"a": {10: 0.4, 20: 0.6}, "b": {10: 0.3}}, errors={"a": {10: 0.05}})
    first, second = ([segment[:, 1] for segment in c.lines[2][0].get_segments()] for c in axes.containers)
    np.testing.assert_allclose(first, [[35, 45], [60, 60]], rtol=1e-12, atol=0)
    np.testing.assert_allclose(second, [[30, 30]], rtol=1e-12, atol=0)
    with pytest.raises(DataError, match=r"errors must be those of the curves; got 'bb' too\. Did you mean"):
        tb.plots.learning_curve({"a": {10: 0.4}, "bbb": {10: 0.3}}, errors={"bb": {10: 0.05}})
    with pytest.raises(DataError, match="the standard error of 'a' at 10 must be"):
        tb.plots.learning_curve({"a": {10: 0.4}}, errors={"a": {10: -1}})


def test_curves_are_told_apart_without_colours():
    axes = tb.plots.learning_curve({name: {10: 0.1, 20: 0.2} for name in "abcdefg"}, what="rows")
    assert len({container.lines[0].get_marker() for container in axes.containers}) == 7
    assert len({container.lines[0].get_color() for container in axes.containers}) == 7
    assert axes.get_xlabel() == "rows"


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "must be those of one to 7 models, in a mapping; got 0 models"),
        ([0.5], "in a mapping; got list"),
        ({str(i): {1: 0.5} for i in range(8)}, "got 8 models"),
        ({"a": [0.5, 0.6]}, "the curve of 'a' must be a mapping of numbers to accuracies; got"),
        ({"a": {}}, "the curve of 'a' must be a mapping"),
        ({"a": {0: 0.5}}, "a number of documents must be greater than 0; got 0"),
        ({"a": {"many": 0.5}}, "a number of documents must be a"),
        ({"a": {10: []}}, "'a' at 10 must have an accuracy; got an empty list"),
        ({"a": {10: [0.5, 87.2]}}, "the accuracy of 'a' at 10 must be"),
        ({"a": {10: "half"}}, "the accuracy of 'a' at 10 must be"),
    ],
)
def test_bad_curves(curves, message):
    with pytest.raises(DataError, match=message):
        tb.plots.learning_curve(curves)
