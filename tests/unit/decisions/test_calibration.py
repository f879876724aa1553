from __future__ import annotations

import numpy as np
import pytest

from tunbridge.decisions import calibration_table, expected_calibration_error
from tunbridge.errors import DataError


def slow_bins(p, y, w, n_bins):
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for one in zip(p, y, w, strict=True):
        rows.setdefault(min(int(one[0] * n_bins), n_bins - 1), []).append(one)
    return {k: rows[k] for k in sorted(rows)}


def test_table_against_a_plain_loop():
    rng = np.random.default_rng(0)
    p = np.append(rng.random(300) ** 3, [0.0, 1.0])
    y, w = rng.random(302) < p, rng.integers(1, 5, 302)
    found = calibration_table(y, p, n_bins=7, sample_weight=w)
    expected = slow_bins(p, y, w, 7)
    np.testing.assert_allclose(found.low, [k / 7 for k in expected], rtol=1e-12)
    np.testing.assert_allclose(found.high, [(k + 1) / 7 for k in expected], rtol=1e-12)
    sums = [
        [sum(c for _, _, c in r), sum(a * c for a, _, c in r), sum(b * c for _, b, c in r)] for r in expected.values()
    ]
    n, a, b = np.array(sums).T
    np.testing.assert_allclose(found.n_rows, n, rtol=1e-12)
    np.testing.assert_allclose(found.predicted, a / n, rtol=1e-12)
    np.testing.assert_allclose(found.observed, b / n, rtol=1e-12)
    assert found.error == pytest.approx((abs(a - b)).sum() / n.sum(), rel=1e-12)
    assert found.largest_error == pytest.approx((abs(a - b) / n).max(), rel=1e-12)


def test_weights_are_rows():
    p, y, w = np.array([0.1, 0.15, 0.8]), np.array([1, 0, 1]), np.array([3, 1, 2])
    weighted, repeated = calibration_table(y, p, sample_weight=w), calibration_table(y.repeat(w), p.repeat(w))
    assert weighted.error == pytest.approx(repeated.error, rel=1e-12)
    assert weighted.n_rows.tolist() == repeated.n_rows.tolist() == [4, 2]


def test_several_classes_by_the_most_probable():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.75, 0.05]])
    found = expected_calibration_error(["a", "b", "b"], p, classes=["a", "b", "c"])
    assert found == pytest.approx(expected_calibration_error([True, False, True], [0.7, 0.6, 0.75]), rel=1e-12)


def test_text():
    assert str(calibration_table([1, 0], [0.95, 0.02], n_bins=4)).splitlines() == [
        "probability       rows  predicted  came true",
        "0 – 0.25             1      0.020      0.000",
        "0.75 – 1             1      0.950      1.000",
        "expected calibration error 0.0350",
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibration_table([True], [0.5, 0.5]), "equally long"),
        (lambda: calibration_table([], []), "equally long"),
        (lambda: calibration_table([True, False], [0.5, 1.5]), "between 0 and 1; got 1.5"),
        (lambda: calibration_table([True, False], [0.5, float("nan")]), "between 0 and 1; got nan"),
        (lambda: calibration_table([0, 2], [0.5, 0.5]), "a boolean a row"),
        (
            lambda: calibration_table(["x", "y"], [0.5, 0.5]),
            "came_true must be numbers or booleans; got .*Compare the classes",
        ),
        (lambda: calibration_table([0, 1], [0.5, 0.5], n_bins=0), "n_bins must be at least 1"),
        (lambda: calibration_table([0, 1], [0.5, 0.5], sample_weight=[1]), "sample_weight must be 2 finite numbers"),
        (lambda: calibration_table([0, 1], [0.5, 0.5], sample_weight=[0, 0]), "not all 0"),
        (lambda: expected_calibration_error(["a"], [[0.5, 0.5]]), "classes must name the 2 columns"),
        (lambda: expected_calibration_error(["c"], [[0.5, 0.5]], ["a", "b"]), "must be classes; got 'c'"),
        (lambda: expected_calibration_error(["a", "b"], [[0.5, 0.5]], ["a", "b"]), "for each of 1 rows"),
    ],
)
def test_messages(call, message):
    with pytest.raises(DataError, match=message):
        call()
