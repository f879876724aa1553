from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers.explanation.importance import evidence_scales
from tunbridge.errors import DataError
from tunbridge.plots.axes import placed, text_width
from tunbridge.plots.nomograms import turning_points

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _off_screen():
    tb.plots.draw_off_screen()
    yield
    pyplot.close("all")


def tennis(**parameters):
    return tb.NaiveBayesClassifier(**parameters).fit(tb.datasets.play_tennis(), "play")


def numbers(numeric: str = "gaussian"):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 200)
    rows = {
        "shift": np.concatenate([rng.normal(0, 1, 200), rng.normal(1, 1, 200)]),
        "spread": np.concatenate([rng.normal(0, 1, 200), rng.normal(0, 2, 200)]),
        "far": np.concatenate([rng.normal(0, 1, 200), rng.normal(50, 1, 200)]),
        "kind": np.where(rng.random(400) < 0.3, "u", "v"),
    }
    return tb.NaiveBayesClassifier(numeric=numeric).fit(rows, y)


def texts(axes) -> dict[str, list]:
    found: dict[str, list] = {}
    for text in axes.texts:
        found.setdefault(text.get_text(), []).append(text)
    return found


def boxes(axes):
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()
    return [(t.get_text(), t.get_window_extent(renderer)) for t in axes.texts]


def overlaps(axes) -> list[tuple[str, str]]:
    all_boxes = boxes(axes)
    return [
        (a, b)
        for i, (a, one) in enumerate(all_boxes)
        for b, other in all_boxes[i + 1 :]
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 2
    ]


class TestScales:
    def test_weights_of_all_values_are_those_of_explanations(self):
        clf = tennis()
        found = evidence_scales(clf)
        assert (found.label, found.against) == ("yes", "no")
        assert [s.feature for s in found.scales] == ["outlook", "temperature", "humidity", "wind"]
        for scale in found.scales:
            for value, weight in zip(scale.values, scale.weights, strict=True):
                told = clf.explain({scale.feature: value}, "yes", "no")
                assert told.log_odds == pytest.approx(found.prior + weight, rel=1e-12)

    @pytest.mark.parametrize("numeric", ["gaussian", "kernel", "discretise"])
    def test_numbers(self, numeric):
        clf = numbers(numeric)
        for scale in evidence_scales(clf, "no", "yes").scales:
            if scale.is_number:
                for i in (0, 300, len(scale.values) - 1):
                    told = clf.explain({scale.feature: scale.values[i]}, "no", "yes")
                    assert told.log_odds - told.prior == pytest.approx(scale.weights[i], rel=1e-9)
            elif scale.feature != "kind":
                assert (
                    scale.values
                    == clf.statistics_.encoding.cuts[clf.feature_names_in_.tolist().index(scale.feature)].labels
                )

    def test_missing_as_a_state_has_a_weight(self):
        rows = {"a": ["u", None, "v", None, "u", "v"], "b": [1.0, 2.0, None, None, 5.0, 6.0]}
        y = ["m", "n", "n", "n", "m", "m"]
        clf = tb.KDBClassifier(k=0, missing="state").fit(rows, y)
        found = {s.feature: s for s in evidence_scales(clf).scales}
        assert found["a"].values == ("u", "v", "(missing)")
        assert found["b"].values[-1] == "(missing)"
        told = {e.feature: e.weight for e in clf.explain({"a": None, "b": None}, "n", "m").evidence}
        assert found["a"].weights[-1] == pytest.approx(told["a"], rel=1e-12)
        assert found["b"].weights[-1] == pytest.approx(told["b"], rel=1e-12)

    def test_the_extent_of_numbers_is_kept(self, tmp_path):
        clf = numbers()
        clf.save(tmp_path / "m.tb")
        loaded = tb.load(tmp_path / "m.tb")
        np.testing.assert_array_equal(loaded.statistics_.densities.extent, clf.statistics_.densities.extent)
        positive = tb.NaiveBayesClassifier().fit({"x": [0.0, 0.1, 0.2, 9.0]}, ["a", "b", "a", "b"])
        assert evidence_scales(positive).scales[0].values[0] == 0.0
        more = positive.partial_fit({"x": [-1.0, 20.0]}, ["a", "b"])
        assert more.statistics_.densities.extent.tolist() == [[-1.0], [20.0]]


class TestNomogram:
    def test_states_stand_at_their_points(self):
        axes = tb.plots.nomogram(tennis())
        found = texts(axes)
        scales = {s.feature: s for s in evidence_scales(tennis()).scales}
        longest = max(s.length for s in scales.values())
        for scale in scales.values():
            for value, weight in zip(scale.values, scale.weights, strict=True):
                (label,) = found[value]
                points = 100 * (weight - scale.weights.min()) / longest
                assert abs(label.get_position()[0] - points) < 3  # labels near the ends are moved inwards

    def test_the_probability_below_a_total_is_right(self):
        clf = tennis()
        axes = tb.plots.nomogram(clf)
        scales = evidence_scales(clf).scales
        longest = max(s.length for s in scales)
        day = {"outlook": "Rain", "temperature": "Mild", "humidity": "High", "wind": "Weak"}
        points = sum(100 * (s.weights[s.values.index(day[s.feature])] - s.weights.min()) / longest for s in scales)
        total_y = texts(axes)["Total points"][0].get_position()[1]
        totals = {
            float(t.get_text()): t.get_position()[0] for t in axes.texts if 0 < total_y - t.get_position()[1] < 0.2
        }
        chance_y = texts(axes)["Probability"][0].get_position()[1]
        chances = {
            float(t.get_text()): t.get_position()[0] for t in axes.texts if 0 < chance_y - t.get_position()[1] < 0.2
        }
        place = np.interp(points, list(totals), list(totals.values()))
        p = sorted(chances)
        read = np.interp(place, [chances[c] for c in p], [np.log(c / (1 - c)) for c in p])
        expected = clf.predict_log_proba(day)[0]
        assert read == pytest.approx(expected[1] - expected[0], abs=1e-6)

    @pytest.mark.parametrize("numeric", ["gaussian", "kernel", "discretise"])
    def test_numbers_are_drawn_without_overlaps(self, numeric, tmp_path):
        axes = tb.plots.nomogram(numbers(numeric))
        assert overlaps(axes) == []
        axes.figure.savefig(tmp_path / "n.png")
        for name in ("shift", "spread", "far", "kind"):
            assert len(texts(axes)[name]) == 1

    def test_a_number_that_turns_is_folded_and_one_that_is_far_is_cut(self):
        axes = tb.plots.nomogram(numbers(), features=["spread"])
        marks = [float(t.get_text()) for t in axes.texts if re.fullmatch(r"-?[\d.]+", t.get_text())]
        heights = {round(t.get_position()[1], 3) for t in axes.texts if t.get_text() in ("2", "-2")}
        assert {-2.0, 2.0} <= set(marks)
        assert len(heights) >= 2  # on different lines
        markers = {line.get_marker() for line in tb.plots.nomogram(numbers(), features=["far"]).lines}
        assert {">", "<"} <= markers

    def test_a_range_can_be_given(self):
        axes = tb.plots.nomogram(numbers(), features={"shift": (0, 0.5), "kind": None})
        assert "shift" in texts(axes)
        marks = [float(t.get_text()) for t in axes.texts if re.fullmatch(r"-?0\.\d+", t.get_text())]
        assert marks
        assert "far" not in texts(axes)

    def test_long_names_many_states_and_signs(self, tmp_path):
        rng = np.random.default_rng(0)
        rows = {f"a rather long name of a column, no. {i}": rng.integers(0, 12, 300).astype(str) for i in range(18)}
        rows["$x^{"] = np.array(["a value of many words, more than fit", "$y_{", "<z>"])[rng.integers(0, 3, 300)]
        clf = tb.NaiveBayesClassifier(categorical="all").fit(rows, rng.integers(0, 2, 300).astype(str))
        axes = tb.plots.nomogram(clf)
        assert overlaps(axes) == []
        assert any("Left out, as if unknown: 4 more." in t for t in texts(axes))
        figure = axes.figure
        assert all(box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 for _, box in boxes(axes))

    def test_values_that_settle_it_stand_beyond_the_ends(self):
        axes = tb.plots.nomogram(tennis(smoothing=0))
        assert any(line.get_marker() == ">" and line.get_xdata()[0] > 100 for line in axes.lines)
        assert overlaps(axes) == []

    def test_given_axes(self):
        figure = pyplot.figure(figsize=(8, 6))
        axes = figure.subplots()
        assert tb.plots.nomogram(tennis(), ax=axes) is axes
        assert figure.get_size_inches().tolist() == [8, 6]

    def test_three_classes(self):
        rng = np.random.default_rng(0)
        y = np.repeat(["a", "b", "c"], [10, 30, 20])
        clf = tb.NaiveBayesClassifier().fit({"x": rng.normal(size=60), "s": rng.integers(0, 2, 60).astype(str)}, y)
        assert tb.plots.nomogram(clf).get_title(loc="left") == "b rather than c"
        assert tb.plots.nomogram(clf, against="b").get_title(loc="left") == "c rather than b"
        assert tb.plots.nomogram(clf, "a").get_title(loc="left") == "a rather than b"

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: tb.plots.nomogram(tb.TANClassifier().fit(tb.datasets.play_tennis(), "play")),
             "a nomogram must be of features that are independent given the class, as in naive Bayes; in this "
             "TANClassifier 'temperature' depends on 'outlook'"),
            (lambda: tb.plots.nomogram(tb.AODEClassifier().fit(tb.datasets.play_tennis(), "play")),
             "as in naive Bayes; got AODEClassifier. Explain single rows instead"),
            (lambda: tb.plots.nomogram(tb.NaiveBayesClassifier()), "drawn of a fitted classifier; got NaiveBayesClass"),
            (lambda: tb.plots.nomogram(3), "drawn of a fitted classifier; got int"),
            (lambda: tb.plots.nomogram(tennis(), "yess"), "Did you mean 'yes'"),
            (lambda: tb.plots.nomogram(tennis(), "yes", "yes"), "must compare two different classes; got 'yes'"),
            (lambda: tb.plots.nomogram(tennis(), features=["wnd"]), "Did you mean 'wind'"),
            (lambda: tb.plots.nomogram(tennis(), features=[]), "must have a feature with two values; there is none"),
            (lambda: tb.plots.nomogram(tennis(), most=0), "most must be at least 1"),
            (lambda: tb.plots.nomogram(tb.NaiveBayesClassifier().fit({"a": ["u", "v"]}, ["m", "m"])),
             "a nomogram must compare two classes; the model knows only 'm'"),
            (lambda: tb.plots.nomogram(
                tb.NaiveBayesClassifier(class_prior={"m": 1, "n": 0}).fit({"a": ["u", "v"]}, ["m", "n"])),
             "compare classes that can be; 'n' has prior probability zero"),
        ],
    )  # fmt: skip
    def test_wrong_use(self, make, message):
        with pytest.raises(DataError, match=message):
            make()


def test_turning_points():
    x = np.linspace(0, 3 * np.pi, 301)
    assert turning_points(np.sin(x), tolerance=0.1) == [50, 150, 250]
    assert turning_points(-np.sin(x), tolerance=0.1) == [50, 150, 250]
    assert turning_points(x + 0.01 * np.sin(50 * x), tolerance=0.1) == []
    assert turning_points(np.zeros(9), tolerance=0.0) == []


def test_labels_keep_their_distance():
    rng = np.random.default_rng(0)
    labels = [(x, "w" * rng.integers(1, 9)) for x in rng.uniform(0, 100, 30).tolist()]
    widths = [text_width(t, 8.0) / 5 for _, t in labels]
    found = placed(labels, widths, low=0, high=100, levels=4, gap=1.0)
    by_text = {
        p.at: (p.middle - w / 2, p.middle + w / 2)
        for p in found
        for (x, _), w in zip(labels, widths, strict=True)
        if x == p.at
    }
    for level in range(4):
        spans = sorted(by_text[p.at] for p in found if p.level == level)
        assert all(b[0] - a[1] >= 1.0 - 1e-9 for a, b in pairwise(spans))
        assert all(low >= -1e-9 and high <= 100 + 1e-9 for low, high in spans)
    assert len({p.level for p in found}) > 1
