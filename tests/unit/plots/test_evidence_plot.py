from __future__ import annotations

import sys
from math import inf, isfinite

import pytest

import tunbridge as tb
from tunbridge.decisions import Evidence, Explanation
from tunbridge.errors import DataError, TunbridgeError

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _off_screen():
    tb.plots.draw_off_screen()
    yield
    matplotlib.pyplot.close("all")


def an_explanation(weights: list[float], prior: float = 0.5, **rest: object) -> Explanation:
    ordered = sorted(weights, key=lambda w: -abs(w))
    evidence = tuple(Evidence(f"feature {i}", i, w) for i, w in enumerate(ordered))
    return Explanation("yes", "no", prior, evidence, {"yes": 0.7, "no": 0.3}, **rest)


def widths(axes) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def labels(axes) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_bars_are_the_weights_and_add_up():
    found = an_explanation([1.0, -2.0, 0.25])
    axes = tb.plots.explanation(found)
    assert labels(axes) == ["prior", "feature 0 = 0", "feature 1 = 1", "feature 2 = 2", "sum"]
    assert widths(axes) == [0.5, -2.0, 1.0, 0.25, pytest.approx(-0.25, rel=1e-12)]
    assert sum(widths(axes)[:-1]) == pytest.approx(widths(axes)[-1], rel=1e-12)
    assert [t.get_text() for t in axes.texts] == ["+0.50", "−2.00", "+1.00", "+0.25", "−0.25"]
    assert "yes rather than no: probability 0.7" in axes.get_title(loc="left")


def test_the_sides_have_two_colours():
    axes = tb.plots.explanation(an_explanation([1.0, -2.0]))
    colours = {bar.get_facecolor() for bar in axes.patches if bar.get_width() > 0}
    others = {bar.get_facecolor() for bar in axes.patches if bar.get_width() < 0}
    assert len(colours) == len(others) == 1
    assert colours != others


def test_many_features_are_summed_up_in_one_bar():
    found = an_explanation([float(i) for i in range(1, 41)])
    axes = tb.plots.explanation(found)
    assert len(axes.patches) == 1 + 15 + 1 + 1
    assert labels(axes)[-2] == "25 other features"
    assert sum(widths(axes)[:-1]) == pytest.approx(found.log_odds, rel=1e-12)
    assert len(tb.plots.explanation(found, most=3).patches) == 6
    sixteen = tb.plots.explanation(an_explanation([1.0] * 16))
    assert "other" not in " ".join(labels(sixteen))


def test_infinite_weights_reach_the_edge_and_say_so():
    axes = tb.plots.explanation(an_explanation([inf, -inf, 2.0, -1.0]))
    assert all(isfinite(w) for w in widths(axes))
    assert {"+∞", "−∞"} <= {t.get_text() for t in axes.texts}
    assert max(widths(axes)) > 2.0
    low, high = axes.get_xlim()
    assert low < min(widths(axes))
    assert high > max(widths(axes))


@pytest.mark.parametrize("weights", [[], [0.0], [0.0, 0.0], [inf], [-3.0]])
def test_corner_cases_draw(weights, tmp_path):
    axes = tb.plots.explanation(an_explanation(weights, prior=0.0))
    axes.figure.savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_long_and_odd_texts_stay_inside_the_figure(tmp_path):
    evidence = (
        Evidence("a name that goes on and on and on, in $US_1", "a value of many words, more than fit", 2.0),
        Evidence("$x^{", None, -1.0),
        Evidence("line\nbreak", "b\nc", 0.5),
    )
    axes = tb.plots.explanation(Explanation("a class " * 9, "another " * 9, 0.1, evidence, {"a class " * 9: 0.9}))
    figure = axes.figure
    figure.savefig(tmp_path / "p.png")
    renderer = figure.canvas.get_renderer()
    for text in [*axes.get_yticklabels(), *axes.texts, axes.title]:
        box = text.get_window_extent(renderer)
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
    assert labels(axes)[1].startswith("a name that")
    assert labels(axes)[1].split(" = ")[0].endswith("in $US_1")
    assert labels(axes)[2] == "$x^{ is missing"


def test_what_a_bar_is_conditional_on():
    evidence = (Evidence("a", "x", 2.0, ("b",)), Evidence("c", None, 1.0, ("a", "b")), Evidence("b", "y", 0.5))
    axes = tb.plots.explanation(Explanation("yes", "no", 0.1, evidence, {"yes": 0.9}))
    assert labels(axes)[1:4] == ["a = x | b", "c is missing | a, …", "b = y"]


class TestImportance:
    def test_bars_are_the_values(self):
        clf = tb.TANClassifier().fit(tb.datasets.play_tennis(), "play")
        found = clf.importance()
        axes = tb.plots.importance(found)
        assert widths(axes) == list(found.values())
        assert labels(axes) == [f.name for f in found.features]
        assert axes.texts[0].get_text() == f"{found.features[0].value:.3f} ({100 * found.shares['wind']:.0f} %)"

    def test_most_and_infinite(self):
        clf = tb.NaiveBayesClassifier(smoothing=0).fit(tb.datasets.play_tennis(), "play")
        axes = tb.plots.importance(clf.importance("weight"), most=2)
        assert len(axes.patches) == 2
        assert axes.texts[0].get_text() == "∞"
        assert axes.get_xlabel() == "expected weight of evidence (nats); 2 more features are left out"
        assert axes.get_xlim()[1] > widths(axes)[0]

    def test_wrong_use(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        with pytest.raises(DataError, match="what is drawn must be an Importance; got NaiveBayesClassifier"):
            tb.plots.importance(clf)
        with pytest.raises(DataError, match="most must be at least 1"):
            tb.plots.importance(clf.importance(), most=0)


def test_given_axes_are_used():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert tb.plots.explanation(an_explanation([1.0]), axes) is axes


def test_most_is_checked():
    with pytest.raises(DataError, match="most must be at least 1"):
        tb.plots.explanation(an_explanation([1.0]), most=0)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TunbridgeError, match=r"Install it: .* -m pip install matplotlib$") as caught:
        tb.plots.explanation(an_explanation([1.0]))
    monkeypatch.undo()
    assert isinstance(caught.value, ImportError)
