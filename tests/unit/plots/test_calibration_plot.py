from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.plots.calibration import reliability_bins

pytest.importorskip("matplotlib")


def test_bins_against_a_plain_loop():
    rng = np.random.default_rng(0)
    p = np.append(rng.random(300), [0.0, 1.0])
    y = rng.random(302) < p
    found = reliability_bins(y, p, n_bins=7)
    rows: dict[int, list[tuple[float, bool]]] = {}
    for pair in zip(p, y, strict=True):
        rows.setdefault(min(int(pair[0] * 7), 6), []).append(pair)
    expected = [rows[k] for k in sorted(rows)]
    assert found.n_rows.tolist() == [len(r) for r in expected]
    np.testing.assert_allclose(found.predicted, [np.mean([a for a, _ in r]) for r in expected], rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.observed, [np.mean([b for _, b in r]) for r in expected], rtol=1e-12, atol=0)


def test_points_are_drawn():
    tb.plots.draw_off_screen()
    axes = tb.plots.reliability([True, False, True, True], [0.9, 0.2, 0.7, 0.95], n_bins=10)
    found = axes.collections[0].get_offsets()
    np.testing.assert_allclose(found, [[0.2, 0.0], [0.7, 1.0], [0.925, 1.0]], rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([True], [0.5, 0.5], "equally long"),
        ([], [], "equally long"),
        ([True, False], [0.5, 1.5], "between 0 and 1; got 1.5"),
        ([True, False], [0.5, float("nan")], "between 0 and 1; got nan"),
        ([0, 2], [0.5, 0.5], "a truth value a row"),
    ],
)
def test_bad_input(y, p, message):
    with pytest.raises(DataError, match=message):
        reliability_bins(y, p)
