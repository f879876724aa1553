"""Predictive values against prevalence: the curves are those of the test at each prevalence."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError

pytest.importorskip("matplotlib")

TEST = tb.DiagnosticTest(0.008, 0.98, 0.97)


@pytest.fixture(autouse=True)
def off_screen():
    import matplotlib.pyplot as plt

    tb.plots.draw_off_screen()
    yield
    plt.close("all")


def curves(axes):
    """Return the long lines of a picture, the dashed ones apart."""
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 10]
    solid, dashed = ([line for line in lines if line.get_linestyle() == style] for style in ("-", "--"))
    return solid, dashed


def told(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_are_the_values_of_the_test(scale):
    axes = tb.plots.predictive_values(TEST, scale=scale)
    (ppv,), (npv,) = curves(axes)
    assert axes.get_xscale() == scale
    for line, name in ((ppv, "ppv"), (npv, "npv")):
        x, y = line.get_xdata()[1:-1:40], line.get_ydata()[1:-1:40]
        np.testing.assert_allclose(y, [getattr(TEST.at(float(p)), name) for p in x], rtol=1e-9, atol=0)


def test_marks_of_one_test():
    axes = tb.plots.predictive_values(TEST)
    points = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", None)]
    own, ring = sorted(points, key=lambda line: -len(line.get_xdata()))
    np.testing.assert_allclose(own.get_xydata(), [[0.008, TEST.ppv], [0.008, TEST.npv]], rtol=1e-12)
    np.testing.assert_allclose(ring.get_xydata(), [[3 / 101, 0.5]], rtol=1e-12)
    assert told(axes)[2:] == ["at prevalence 0.8 %: PPV 20.9 %, NPV 99.98 %", "PPV 50 % at prevalence 2.97 %"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("prevalence", "predictive value")


def test_several_tests():
    tests = {"once": TEST, "twice": TEST.in_series(TEST), "bare": TEST.at(None)}
    axes = tb.plots.predictive_values(tests)
    ppv, npv = curves(axes)
    assert len(ppv) == len(npv) == 3
    assert len({line.get_color() for line in ppv}) == 3
    assert told(axes) == [
        "once: at prevalence 0.8 % PPV 20.9 %, NPV 99.98 %; PPV 50 % at 2.97 %",
        "twice: at prevalence 0.8 % PPV 89.6 %, NPV 99.97 %; PPV 50 % at 0.0936 %",
        "bare: PPV 50 % at prevalence 2.97 %",
        "NPV",
    ]
    assert told(tb.plots.predictive_values([TEST, TEST], npv=False))[1].startswith(
        "test 2: at prevalence 0.8 % PPV 20.9 %;"
    )
    assert curves(tb.plots.predictive_values(TEST, npv=False))[1] == []


def test_tests_that_are_never_positive_or_never_wrong():
    axes = tb.plots.predictive_values([tb.DiagnosticTest(0.3, 0, 1), tb.DiagnosticTest(0.3, 0.5, 1), TEST.at(None)])
    never, sure, _ = curves(axes)[0]
    assert np.isnan(never.get_ydata()).all()
    assert (sure.get_ydata() == 1).all()
    assert told(axes)[:2] == ["test 1: at prevalence 30 % NPV 70 %", "test 2: at prevalence 30 % PPV 100 %, NPV 82.4 %"]


def test_the_axis_has_room_for_rare_illnesses():
    assert tb.plots.predictive_values(TEST).get_xlim()[0] == pytest.approx(1e-4, rel=1e-9)
    assert tb.plots.predictive_values(TEST.at(3e-7)).get_xlim()[0] == pytest.approx(1e-7, rel=1e-9)
    assert tb.plots.predictive_values(TEST.at(0), lowest=0.01).get_xlim()[0] == pytest.approx(0.01, rel=1e-9)


def test_into_given_axes():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    assert tb.plots.predictive_values(TEST, axes) is axes


@pytest.mark.parametrize(
    ("tests", "settings", "message"),
    [
        ([], {}, "a diagram must show one to 7 tests; got 0 tests"),
        ([TEST] * 8, {}, "a diagram must show one to 7 tests; got 8 tests"),
        (0.98, {}, r"a diagram must show DiagnosticTests; got 0\.98"),
        ("test", {}, "a diagram must show DiagnosticTests; got 'test'"),
        (TEST, {"scale": "logit"}, "scale must be one of 'log', 'linear'; got 'logit'"),
        (TEST, {"lowest": 0}, "lowest must be greater than 0; got 0"),
    ],
)
def test_bad_arguments(tests, settings, message):
    with pytest.raises(DataError, match=message):
        tb.plots.predictive_values(tests, **settings)
