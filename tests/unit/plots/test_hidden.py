"""Pictures of hidden Markov models: what is drawn is what the model says."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS
from tunbridge.temporal.summary import duration_probabilities

matplotlib = pytest.importorskip("matplotlib")
COUNTS = [2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8]


@pytest.fixture(autouse=True)
def _off_screen():
    tb.plots.draw_off_screen()
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def hmm():
    return tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(COUNTS)


class TestStates:
    def test_points_have_the_colour_of_their_state(self, hmm):
        ax = tb.plots.states(hmm, COUNTS)
        path = hmm.predict(COUNTS)
        for k, points in enumerate(ax.collections):
            at = np.flatnonzero(path == k)
            np.testing.assert_allclose(points.get_offsets(), np.column_stack([at, np.array(COUNTS)[at]]))
            assert matplotlib.colors.to_hex(points.get_facecolor()[0]) == COLOURS[k]

    def test_the_bands_are_the_posterior(self, hmm):
        ax = tb.plots.states(hmm, COUNTS)
        below = next(a for a in ax.figure.axes if a is not ax)
        top = below.collections[0].get_paths()[0].vertices[:, 1].max()
        assert top == pytest.approx(hmm.predict_proba(COUNTS)[:, 0].max(), abs=1e-6)
        assert below.get_ylabel() == "P(state)"
        assert below.get_xlabel() == "step"

    def test_a_frame_needs_the_name_of_a_sequence(self):
        frame = {"id": ["a"] * 8 + ["b"] * 9, "n": COUNTS}
        hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0, sequence="id").fit(frame)
        with pytest.raises(DataError, match="X must have one sequence; got 2"):
            tb.plots.states(hmm, frame)
        assert len(tb.plots.states(hmm, frame, sequence="b").lines[0].get_xdata()) == 9
        with pytest.raises(DataError, match="sequence must be one of X"):
            tb.plots.states(hmm, frame, sequence="c")

    def test_a_part_of_the_steps_and_axes_of_a_figure(self, hmm):
        _, (one, other) = matplotlib.pyplot.subplots(1, 2, layout="constrained")
        assert tb.plots.states(hmm, COUNTS, one, steps=(5, 10)) is one
        assert one.lines[0].get_xdata().tolist() == [5, 6, 7, 8, 9]
        by_hand = matplotlib.pyplot.figure().add_axes((0.1, 0.4, 0.8, 0.5))
        assert tb.plots.states(hmm, COUNTS, by_hand) is by_hand
        with pytest.raises(DataError, match="steps must be a range within 0 and 17"):
            tb.plots.states(hmm, COUNTS, other, steps=(5, 50))

    def test_symbols_are_named_and_dollars_are_no_mathematics(self):
        hmm = tb.HiddenMarkovModel.from_parameters(
            [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]], symbols=["$a$", "b"], states=["$x", "y$"]
        )
        ax = tb.plots.states(hmm, [["$a$", "b", None]])
        assert [t.get_text() for t in ax.get_yticklabels()] == ["$a$", "b"]
        ax.figure.canvas.draw()


class TestTransitions:
    def test_cells_are_the_matrix(self, hmm):
        ax = tb.plots.transitions(hmm)
        np.testing.assert_allclose(ax.images[0].get_array(), hmm.transitions_)
        assert [t.get_text() for t in ax.texts] == [f"{p:.2f}" for p in hmm.transitions_.ravel()]
        assert "1.111 ± 1.05" in ax.get_yticklabels()[0].get_text()

    def test_many_states_are_drawn_without_numbers(self):
        n = 20
        many = tb.HiddenMarkovModel.from_parameters(np.full(n, 1 / n), np.full((n, n), 1 / n), np.eye(n))
        assert not tb.plots.transitions(many).texts


class TestDurations:
    def test_bars_are_whole_runs_and_the_line_is_the_model(self, hmm):
        ax = tb.plots.durations(hmm, COUNTS)
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == [0, 0, 0, 1, 0]  # 1 2 0 1: the runs at the ends are cut off
        np.testing.assert_allclose(ax.lines[0].get_ydata(), duration_probabilities(hmm, 5)[0])
        assert len(ax.figure.axes) == 2

    def test_bins_of_long_runs_are_shares_per_step(self):
        hmm = tb.HiddenMarkovModel.from_parameters([1, 0], [[0.99, 0.01], [0.02, 0.98]], [[0.9, 0.1], [0.1, 0.9]])
        x = hmm.sample(20_000, random_state=0).observations
        ax = tb.plots.durations(hmm, x)
        areas = sum(bar.get_height() * bar.get_width() / 0.9 for bar in ax.patches)
        assert areas == pytest.approx(1.0)


class TestForecast:
    def test_bands_are_intervals(self, hmm):
        found = hmm.forecast(COUNTS, steps=5)
        ax = tb.plots.forecast(found, history=COUNTS)
        assert ax.lines[0].get_xdata()[-1] == 0
        assert ax.lines[0].get_ydata().tolist() == COUNTS
        for band, level in zip(ax.collections, (0.5, 0.8, 0.95), strict=True):
            low, high = found.interval(level).T
            ends = band.get_paths()[0].vertices[:, 1]
            assert ends.min() == low.min()
            assert ends.max() == high.max()

    def test_symbols_have_a_line_each(self):
        hmm = tb.HiddenMarkovModel.from_parameters(
            [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]], symbols=["a", "b"]
        )
        found = hmm.forecast("aab", steps=4)
        ax = tb.plots.forecast(found)
        shown = {line.get_label(): line.get_ydata() for line in ax.lines}
        np.testing.assert_allclose(shown["a"], found.probabilities["x"][:, 0])
        with pytest.raises(DataError, match="column must be one of 'x'; got 'y'"):
            tb.plots.forecast(found, column="y")
        with pytest.raises(DataError, match="that of one sequence; got 2"):
            tb.plots.forecast(hmm.forecast(["aa", "b"]))


def test_the_chosen_number_of_states_has_a_ring():
    choice = tb.HiddenMarkovModel(emissions="poisson", random_state=0).choose_states(COUNTS, [1, 2, 3])
    ax = tb.plots.state_choice(choice)
    assert ax.lines[1].get_ydata().tolist() == [choice.scores[n] for n in (1, 2, 3)]
    assert ax.lines[2].get_xdata().tolist() == [choice.n_states] == [2]
