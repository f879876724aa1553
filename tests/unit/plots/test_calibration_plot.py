from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.decisions import calibration_table
from tunbridge.errors import DataError

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def off_screen():
    tb.plots.draw_off_screen()


def test_points_are_drawn():
    axes = tb.plots.reliability([True, False, True, True], [0.9, 0.2, 0.7, 0.95], n_bins=10)
    found = axes.collections[0].get_offsets()
    np.testing.assert_allclose(found, [[0.2, 0.0], [0.7, 1.0], [0.925, 1.0]], rtol=1e-12, atol=0)
    assert axes.get_legend() is None


def test_several_models_in_one_diagram():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    models = {"right": p, "half": p / 2}
    axes = tb.plots.reliability(y, models, n_bins=5)
    for drawn, (name, given) in zip(axes.collections, models.items(), strict=True):
        table = calibration_table(y, given, n_bins=5)
        np.testing.assert_allclose(drawn.get_offsets(), np.column_stack([table.predicted, table.observed]), rtol=1e-12)
        assert drawn.get_label() == f"{name}: error {table.error:.2f}"
    assert [t.get_text() for t in axes.get_legend().get_texts()] == [c.get_label() for c in axes.collections]
    shapes = [c.get_paths()[0].vertices.tolist() for c in axes.collections]
    assert shapes[0] != shapes[1]  # colours are not all that tells them apart


def test_weights_are_rows():
    y, p, w = np.array([True, False, True]), np.array([0.9, 0.92, 0.2]), np.array([2, 1, 3])
    a = tb.plots.reliability(y, p, sample_weight=w).collections[0].get_offsets()
    b = tb.plots.reliability(y.repeat(w), p.repeat(w)).collections[0].get_offsets()
    np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 8])
def test_too_few_and_too_many_models(n):
    with pytest.raises(DataError, match=f"one to 7 models; got {n} models"):
        tb.plots.reliability([True], {str(i): [0.5] for i in range(n)})


def test_bad_probabilities():
    with pytest.raises(DataError, match=r"between 0 and 1; got 1\.5"):
        tb.plots.reliability([True], {"a": [1.5]})
