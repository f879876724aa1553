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
