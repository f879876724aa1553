from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import tunbridge as tb
from tunbridge.reasoning import BetaBinomial, DirichletMultinomial, NormalNormal

matplotlib.use("agg")
PRIOR = BetaBinomial(2, 2)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_each_line_is_the_density_of_its_belief():
    axes = tb.plots.updates([PRIOR, PRIOR.update(7, 3)])
    for line, belief in zip(axes.lines, [PRIOR, PRIOR.update(7, 3)], strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, belief.pdf(x), rtol=1e-12)
        np.testing.assert_allclose(np.trapezoid(y, x), 1.0, rtol=1e-4)  # lines between points
    assert [line.get_linestyle() for line in axes.lines] == ["--", "-"]
    assert axes.get_xlabel() == "probability p"
    assert axes.get_ylabel() == "density"


def test_a_single_posterior_is_drawn_after_its_prior():
    labels = [t.get_text() for t in tb.plots.updates(PRIOR.update(1, 0)).get_legend().get_texts()]
    assert labels == ["Beta(2, 2)", "Beta(3, 2)"]
    assert len(tb.plots.updates(PRIOR).lines) == 1


def test_normals_labels_and_the_interval():
    prior = NormalNormal(70, 25, noise_variance=4)
    named = {"before": prior, "after": prior.update([74, 76])}
    axes = tb.plots.updates(named, level=0.9, xlabel="weight in kg")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["before", "after", "90 % interval"]
    assert axes.get_xlabel() == "weight in kg"
    shaded = axes.collections[0].get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose([shaded.min(), shaded.max()], named["after"].interval(0.9), rtol=1e-12)
    low, high = axes.get_xlim()
    assert low <= 50
    assert high >= 90


def test_beliefs_to_compare_are_all_drawn_alike_and_where_they_are():
    named = {name: BetaBinomial().update(hits, trials=1000) for name, hits in (("A", 120), ("B", 150))}
    axes = tb.plots.updates(named, level=0.95)
    assert "--" not in [line.get_linestyle() for line in axes.lines]
    assert len({line.get_color() for line in axes.lines}) == 2
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["A", "B", "95 % intervals"]
    for shade, belief in zip(axes.collections, named.values(), strict=True):
        ends = shade.get_paths()[0].vertices[:, 0]
        np.testing.assert_allclose([ends.min(), ends.max()], belief.interval(0.95), rtol=1e-12)
    low, high = axes.get_xlim()
    assert 0.05 < low < 0.1
    assert 0.18 < high < 0.25


def test_what_is_called_the_prior_is_dashed():
    axes = tb.plots.updates({"after": BetaBinomial(9, 5), "Prior": PRIOR}, level=0.9)
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    assert len(axes.collections) == 1
    axes = tb.plots.updates({"prior": PRIOR}, level=0.9)
    assert [line.get_linestyle() for line in axes.lines] == ["-"]


def test_a_narrow_belief_is_still_drawn_as_a_curve():
    narrow = BetaBinomial().update(50_000, 10)
    x, y = tb.plots.updates(narrow).lines[1].get_data()
    np.testing.assert_allclose(np.trapezoid(y, x), 1.0, rtol=1e-3)


def test_a_density_without_bound_is_cut_off():
    axes = tb.plots.updates(BetaBinomial(0.5, 0.5))
    assert axes.get_ylim()[1] < 10
    assert np.isnan(axes.lines[0].get_ydata()[0])


def test_equal_beliefs_keep_a_line_each():
    labels = [t.get_text() for t in tb.plots.updates([PRIOR, PRIOR]).get_legend().get_texts()]
    assert labels == ["Beta(2, 2)", "Beta(2, 2) (2)"]


def test_given_axes_are_used():
    _, ax = plt.subplots()
    assert tb.plots.updates(PRIOR, ax) is ax


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        (3, "beliefs must be BetaBinomials or NormalNormals; got 3"),
        ("prior", "beliefs must be BetaBinomials or NormalNormals; got 'prior'"),
        ([], "beliefs must be one to 7; got 0 beliefs"),
        ([PRIOR] * 8, "beliefs must be one to 7; got 8 beliefs"),
        ([PRIOR, NormalNormal(0, 1, noise_variance=1)], "beliefs must be all BetaBinomials, or all NormalNormals; got"),
        ([DirichletMultinomial({"a": 1, "b": 1})], r"got DirichletMultinomial.* Draw marginal\(state\)"),
    ],
)
def test_bad_beliefs(beliefs, message):
    with pytest.raises(tb.DataError, match=message):
        tb.plots.updates(beliefs)


def test_a_bad_level():
    with pytest.raises(tb.DataError, match="level must be below 1; got 95"):
        tb.plots.updates(PRIOR, level=95)
