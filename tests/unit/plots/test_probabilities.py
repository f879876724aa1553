"""Probabilities as pictures: what is written and drawn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tunbridge as tb
from tunbridge.errors import DataError

tb.plots.draw_off_screen()


@pytest.fixture(scope="module")
def asia():
    return tb.example_network("asia")


def test_a_table_as_a_heat_map(asia):
    axes = tb.plots.cpt(asia, "dysp")
    (image,) = axes.images
    np.testing.assert_allclose(image.get_array(), np.asarray(asia.cpt("dysp").probabilities).reshape(-1, 2))
    assert axes.get_title(loc="left") == "P(dysp | either, bronc)"
    assert [t.get_text() for t in axes.texts][:2] == ["0.9", "0.1"]
    wide = tb.BayesianNetwork(
        {"a": [f"a{i}" for i in range(80)], "b": ["x", "y"]}, [("a", "b")], {"a": [1 / 80] * 80, "b": [[0.5, 0.5]] * 80}
    )
    assert "20 more configurations" in tb.plots.cpt(wide, "b").get_title(loc="left")
    with pytest.raises(DataError, match="a heat map must be of a table of states"):
        tb.plots.cpt(3)


def test_a_posterior_beside_the_prior(asia):
    found = asia.posterior("lung", {"xray": "yes"})
    axes = tb.plots.posterior(found, prior=asia.posterior("lung"))
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(found.probabilities.tolist())
    marks = axes.collections[0].get_offsets()[:, 0]
    assert marks.tolist() == pytest.approx(asia.posterior("lung").probabilities.tolist())
    both = tb.plots.posterior({"smoker": asia.posterior("lung", {"smoke": "yes"}), "all": asia.posterior("lung")})
    assert [t.get_text() for t in both.get_legend().get_texts()] == ["smoker", "all"]
    with pytest.raises(DataError, match="must be the distribution of one variable"):
        tb.plots.posterior(asia.posterior(["lung", "smoke"]))


def test_strengths_from_rows_to_columns(asia):
    found = tb.bootstrap_structure(asia.sample(300, random_state=0), 10, random_state=0)
    axes = tb.plots.strength_matrix(found)
    np.testing.assert_array_equal(axes.images[0].get_array(), found.shares)
    assert [t.get_text() for t in axes.get_yticklabels()] == list(found.nodes)
    with pytest.raises(DataError, match="must be the strengths of arcs"):
        tb.plots.strength_matrix(asia)


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data.assign(large=np.where(data.data.iloc[:, 0] > 6, "yes", "no")), data.target_names[data.target]


class TestLandscapes:
    def test_probabilities_of_a_grid(self, iris):
        X, y = iris
        model = tb.NaiveBayesClassifier().fit(X, y)
        axes = tb.plots.landscape(model, X, "petal length (cm)", "petal width (cm)", label="versicolor")
        p = np.asarray(axes.collections[0].get_array()).reshape(80, 80)
        corner = {"petal length (cm)": X.iloc[:, 2].max(), "petal width (cm)": X.iloc[:, 3].max()}
        assert p[-1, -1] == pytest.approx(model.predict_proba(corner)[0, 1])
        assert p.max() > 0.9

    def test_categories_and_given_values(self, iris):
        X, y = iris
        model = tb.NaiveBayesClassifier().fit(X, y)
        axes = tb.plots.landscape(model, X, "large", "petal width (cm)", given={"petal length (cm)": 4.5})
        assert [t.get_text() for t in axes.get_xticklabels()] == ["no", "yes"]
        assert axes.get_title(loc="left") == "P(virginica)"

    @pytest.mark.parametrize(
        ("x", "how", "message"),
        [
            ("petal", {}, "must be over features of the model; got 'petal'"),
            ("large", {"label": "versicolour"}, "label must be a class of the model; got 'versicolour'. Did you mean"),
        ],
    )
    def test_wrong_names(self, iris, x, how, message):
        X, y = iris
        model = tb.NaiveBayesClassifier().fit(X, y)
        with pytest.raises(DataError, match=message):
            tb.plots.landscape(model, X, x, "petal width (cm)", **how)


def test_the_gallery_has_every_plot():
    hook = Path(__file__).parents[3] / "docs" / "_hooks" / "gallery.py"
    calls = re.findall(r'^    "(\w+)": "tb\.plots\.', hook.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(calls) == set(tb.plots.__all__) - {"Drawing", "draw", "draw_off_screen"}
