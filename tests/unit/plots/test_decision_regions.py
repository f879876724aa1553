from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.reasoning import DecisionProblem, Density, Gaussian

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def off_screen():
    import matplotlib.pyplot as plt

    tb.plots.draw_off_screen()
    yield
    plt.close("all")


def two(first=(3, 1), second=(5, 1), **options) -> DecisionProblem:
    known = {name: Gaussian(mean, variance=variance) for name, (mean, variance) in {"a": first, "b": second}.items()}
    return DecisionProblem(known, **options)


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def drawn_lines(axes) -> list[np.ndarray]:
    """Return the lines between areas of the plane, as points."""
    kinds = [c for c in axes.collections if type(c).__name__ == "QuadContourSet" and not c.filled]
    return [np.vstack([path.vertices for path in c.get_paths()]) for c in kinds]


def test_curves_bands_and_the_hatched_area():
    problem = two(prior={"a": 0.7})
    axes = tb.plots.decision_regions(problem)
    for line, (name, density) in zip(axes.lines, problem.densities.items(), strict=False):
        x, y = line.get_data()
        np.testing.assert_allclose(y, problem.prior[name] * density.pdf(x), rtol=1e-12)
        assert line.get_label() == f"P({name}) p(x | {name})"
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle()  # colours are not all that tells them apart
    assert texts(axes) == ["a", "b"]
    assert axes.lines[2].get_xdata()[0] == pytest.approx(problem.boundaries()[0])
    wrong = next(c for c in axes.collections if c.get_label() == "wrong")
    corners = wrong.get_paths()[0].vertices
    area = 0.5 * abs(np.sum(corners[:, 0] * np.roll(corners[:, 1], 1) - corners[:, 1] * np.roll(corners[:, 0], 1)))
    assert area == pytest.approx(problem.error(), rel=2e-3)  # what lies outside the picture is missing
    assert wrong.get_hatch()
    assert axes.get_title() == f"P(error) = {problem.error():.4g}"


def test_no_decision_and_actions():
    axes = tb.plots.decision_regions(two(reject=0.2))
    assert texts(axes) == ["a", "no decision", "b"]
    assert "no decision" in labels(axes)
    assert axes.get_title().startswith("P(error) = ")
    assert ", risk = " in axes.get_title()
    acting = tb.plots.decision_regions(two(loss=[[0, 2], [2, 0]], actions=["go", "stay"]))
    assert texts(acting) == ["go", "stay"]
    assert acting.get_title().startswith("risk = ")
    assert not any(c.get_label() == "wrong" for c in acting.collections)


def test_densities_with_jumps_and_infinite_ones():
    axes = tb.plots.decision_regions(DecisionProblem({"a": stats.uniform(0, 1), "b": stats.beta(0.5, 0.5)}))
    assert axes.get_ylim()[1] < 5
    assert axes.get_xlim()[0] == pytest.approx(0.0, abs=0.05)
    function = Density(stats.expon.pdf, (0, np.inf))
    axes = tb.plots.decision_regions(DecisionProblem({"a": function, "b": Gaussian(3, variance=0.1)}))
    assert 5 < axes.get_xlim()[1] < 20


def test_axes_and_view_may_be_given():
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    assert tb.plots.decision_regions(two(), left, view=(0, 9)) is left
    assert left.get_xlim() == (0, 9)
    assert tb.plots.boundaries(two(), right, view=(1, 7)) is right


def test_areas_of_the_plane():
    problem = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([2, 0], variance=1)}, loss={"a": 2})
    axes = tb.plots.decision_regions(problem, points={"a": [[0, 0], [0.5, 1]], "b": [2, 0]})
    boundary = drawn_lines(axes)[0]
    place = 1 + np.log(2) / 2
    np.testing.assert_allclose(boundary[:, 0], place, rtol=0, atol=2e-3)
    assert labels(axes) == ["a", "b"]
    assert texts(axes) == ["a", "b"]
    assert [problem.decide(text.xy) for text in axes.texts] == ["a", "b"]
    rings = drawn_lines(axes)[-1]
    assert set(np.hypot(rings[:, 0] - 2, rings[:, 1]).round(1).tolist()) <= {0.9, 1.0, 1.9, 2.0, 2.9, 3.0}
    assert axes.get_title() == f"P(error) = {problem.error():.4g}, risk = {problem.risk():.4g}"


def test_points_on_the_line():
    axes = tb.plots.decision_regions(two(), points={"b": [4.0, 5.0]})
    drawn = next(c for c in axes.collections if c.get_label() == "b")
    assert drawn.get_offsets().tolist() == [[4.0, 0.0], [5.0, 0.0]]


def test_points_may_be_frames():
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 2.0]})
    problem = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([2, 0], variance=1)})
    axes = tb.plots.decision_regions(problem, points={"a": frame})
    drawn = next(c for c in axes.collections if c.get_label() == "a")
    assert drawn.get_offsets().tolist() == [[0.0, 1.0], [1.0, 2.0]]


def test_axes_may_be_named():
    axes = tb.plots.decision_regions(two(), xlabel="lightness")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lightness", "prior × density")
    plane = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([2, 0], variance=1)})
    axes = tb.plots.decision_regions(plane, xlabel="lightness", ylabel="width")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lightness", "width")
    assert tb.plots.boundaries(two(), xlabel="lightness").get_xlabel() == "lightness"


@pytest.mark.parametrize("n_classes", [1, 2, 4, 7])
def test_boundaries_and_curves_end_below_the_legend(n_classes):
    densities = {f"class {i}": Gaussian(2 * i, variance=1) for i in range(n_classes)}
    axes = tb.plots.decision_regions(DecisionProblem(densities), points={"class 0": [0.0]})
    axes.figure.canvas.draw()
    legend = axes.get_legend().get_window_extent()
    upright = [line for line in axes.lines if line.get_transform() == axes.transData]  # all but the axis at 0
    assert len(upright) == 2 * n_classes - 1
    for line in upright:
        assert axes.transData.transform(line.get_xydata())[:, 1].max() < legend.y0


def test_long_names_of_classes_stay_in_the_picture():
    names = "tested_negative_last_year", "tested_positive_last_year"
    problem = DecisionProblem({name: Gaussian(i, variance=1) for i, name in enumerate(names)})
    axes = tb.plots.boundaries(problem, vary="loss")
    axes.figure.canvas.draw()
    label = axes.yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= axes.figure.bbox.y1
    assert label.x0 >= 0


@pytest.mark.parametrize(("vary", "label"), [("prior", "P(a)"), ("loss", "loss of missing a / of missing b")])
def test_the_moving_boundary(vary, label):
    problem = two((3, 1), (5, 4), prior={"a": 0.3}, loss={"b": 2})
    axes = tb.plots.boundaries(problem, vary=vary)
    points = drawn_lines(axes)[0]
    middle = points[(points[:, 1] > 0.2) & (points[:, 1] < 0.8)]
    assert len(middle) > 20
    for x, value in middle[:: len(middle) // 8]:
        other = problem.with_prior((value, 1 - value)) if vary == "prior" else problem.with_loss([[0, value], [1, 0]])
        assert min(abs(place - x) for place in other.boundaries()) < 0.02
    assert axes.get_ylabel() == label
    own = next(line for line in axes.lines if line.get_linestyle() == ":")
    assert own.get_ydata()[0] == pytest.approx(0.3 if vary == "prior" else 0.5)


def test_moving_boundaries_at_certain_priors():
    for prior in ((0, 1), (1, 0)):
        assert texts(tb.plots.boundaries(two(prior=prior), vary="loss")) == ["b" if prior[1] else "a"]
        assert texts(tb.plots.boundaries(two(prior=prior))) == ["a", "b"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: tb.plots.decision_regions(3), "problem must be a DecisionProblem; got 3."),
        (lambda: tb.plots.decision_regions(two(), view=(1, 0)), "view must be (low, high); got (1, 0)."),
        (
            lambda: tb.plots.decision_regions(two(), points={"c": [1]}),
            "points must be of classes of the problem; got 'c'.",
        ),
        (
            lambda: tb.plots.decision_regions(two(), points=pd.DataFrame({"x": [1.0]})),
            "points must be a mapping of class to points; got DataFrame. Write points={'a': …} with those",
        ),
        (
            lambda: tb.plots.boundaries(DecisionProblem({n: Gaussian(i, variance=1) for i, n in enumerate("abc")})),
            "boundaries needs two classes; got 'a', 'b', 'c'. Use decision_regions",
        ),
        (lambda: tb.plots.boundaries(two(), vary="mean"), "vary must be one of 'prior', 'loss'; got 'mean'."),
        (
            lambda: tb.plots.boundaries(two(loss=[[1, 0], [0, 1]])),
            "a threshold needs losses of mistakes that are greater than those of right choices",
        ),
        (lambda: tb.plots.boundaries(two(reject=0.2)), "must be between choices that are classes"),
        (
            lambda: tb.plots.boundaries(DecisionProblem({"a": Gaussian(0, variance=1)})),
            "boundaries needs two classes; got 'a'.",
        ),
        (
            lambda: tb.plots.boundaries(
                DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([1, 0], variance=1)})
            ),
            "boundaries needs densities in one dimension; these have two.",
        ),
        (
            lambda: tb.plots.decision_regions(DecisionProblem({"a": Gaussian([0, 0], variance=1)}), view=(0, 1)),
            "view must be ((low, high), (low, high)); got (0, 1).",
        ),
    ],
)
def test_bad_pictures(draw, message):
    with pytest.raises(DataError, match=re.escape(message)):
        draw()
