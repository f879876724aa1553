from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError

Y, P = [True, False, True, False, True], [0.9, 0.6, 0.7, 0.1, 0.3]


@pytest.fixture(autouse=True)
def off_screen():
    tb.plots.draw_off_screen()


def test_curves_begin_and_end_where_they_should():
    line = tb.plots.roc(Y, P).lines[1]
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0)
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (1, 1)
    assert tb.plots.lift(Y, P).lines[0].get_ydata()[-1] == pytest.approx(1)
    assert tb.plots.precision_recall(Y, P).lines[0].get_xdata()[-1] == 1


def test_the_cost_curve_has_the_cost_of_each_threshold():
    line = tb.plots.cost_curve(Y, P, false_negative=3).lines[0]
    at = dict(zip(np.round(line.get_xdata(), 3), line.get_ydata(), strict=True))
    assert at[0.5] == pytest.approx((3 * 1 + 1) / 5)
    assert at[1.0] == pytest.approx(9 / 5)


def test_a_page_has_six_panels_and_several_models_differ_without_colour():
    ax = tb.plots.performance(Y, {"$a": P, "b": P[::-1]}, label="$yes$", matrix=([[1, 1], [1, 2]], ["no", "yes"]))
    assert len(ax.figure.axes) == 6
    first, second = ax.lines[1:3]
    assert first.get_linestyle() != second.get_linestyle()
    ax.figure.canvas.draw()


def test_bad_input():
    with pytest.raises(DataError, match="a plot must show one to 7 models; got 8 models"):
        tb.plots.roc(Y, {str(i): P for i in range(8)})
    with pytest.raises(DataError, match="matrix must have a row and a column for each of 2 classes"):
        tb.plots.confusion([[1]], ["a", "b"])


def test_confidence_bands_hold_the_curve():
    rng = np.random.default_rng(0)
    true = rng.random(300) < 0.4
    p = np.clip(0.5 * true + 0.6 * rng.random(300), 0, 1)
    for draw in (tb.plots.roc, tb.plots.precision_recall):
        axes = draw(true, p, band=0.95)
        (band,) = axes.collections
        low, high = band.get_datalim(axes.transData).intervaly
        assert -0.01 <= low < high <= 1.01
        narrow = draw(np.tile(true, 20), np.tile(p, 20), band=0.95).collections[0]
        assert _width(narrow) < 0.5 * _width(band)
        weights = rng.random(300)
        some, same = (draw(true, p, sample_weight=w, band=0.95).collections[0] for w in (weights, 1000 * weights))
        np.testing.assert_allclose(some.get_paths()[0].vertices, same.get_paths()[0].vertices)
    with pytest.raises(tb.errors.DataError, match="band must be"):
        tb.plots.roc(true, p, band=95)


def _width(band):
    """Return the mean width of a band."""
    path = band.get_paths()[0].vertices
    grid = np.linspace(0.05, 0.95, 50)
    half = len(path) // 2
    lower, upper = path[:half], path[half:]
    order = [np.argsort(side[:, 0], kind="stable") for side in (lower, upper)]
    found = [np.interp(grid, side[o, 0], side[o, 1]) for side, o in zip((lower, upper), order, strict=True)]
    return float(np.abs(found[1] - found[0]).mean())
