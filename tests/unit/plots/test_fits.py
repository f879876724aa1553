from __future__ import annotations

import matplotlib
import pytest

import tunbridge as tb

matplotlib.use("agg")

ROWS = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
DAG = tb.DAG(arcs=[("rain", "wet")])


def test_the_distance_from_the_best_is_drawn():
    fit = tb.EM().fit(DAG, ROWS)
    line = tb.plots.iterations(fit).lines[0]
    best = max(step.objective for step in fit.trace)
    expected = [(best - step.objective) / 5 for step in fit.trace if step.objective < best]
    assert line.get_ydata() == pytest.approx(expected)


def test_several_fits_have_a_legend():
    fits = {"leaps": tb.EM().fit(DAG, ROWS), "plain": tb.EM(accelerate=False).fit(DAG, ROWS)}
    axes = tb.plots.iterations(fits)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["leaps", "plain"]


@pytest.mark.parametrize("wrong", [{}, "fit", {"a": 1}])
def test_bad_input(wrong):
    with pytest.raises(tb.DataError, match="fits must be a Fit, or several by name"):
        tb.plots.iterations(wrong)
