from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability import Laplace, MEstimate, as_smoothing, smooth

WIND = Variable("wind", ["Strong", "Weak"])
N = np.array([[3.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Laplace(0), [[0.75, 0.25], [0.5, 0.5]]),
        (Laplace(0.5), [[0.7, 0.3], [0.5, 0.5]]),
        (Laplace(1), [[4 / 6, 2 / 6], [0.5, 0.5]]),
        (MEstimate(), [[4 / 6, 2 / 6], [0.5, 0.5]]),
        (MEstimate(m=4), [[5 / 8, 3 / 8], [0.5, 0.5]]),
        (MEstimate(m=4, p="marginal"), [[0.75, 0.25], [0.75, 0.25]]),
        (MEstimate(m=4, p={"Weak": 0.9, "Strong": 0.1}), [[3.4 / 8, 4.6 / 8], [0.1, 0.9]]),
        (MEstimate(m=0, p={"Weak": 0.9, "Strong": 0.1}), [[0.75, 0.25], [0.1, 0.9]]),
    ],
)
def test_rules(rule, expected):
    np.testing.assert_allclose(smooth(N, rule, WIND), expected, rtol=1e-12)


def test_numbers_are_laplace():
    assert as_smoothing(0.5) == Laplace(0.5)
    assert as_smoothing(MEstimate(2)) == MEstimate(2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplace(-1), "gamma of Laplace's rule must be at least 0"),
        (lambda: Laplace(float("nan")), "must be"),
        (lambda: MEstimate(-1), "m of the m-estimate must be at least 0"),
        (lambda: MEstimate(1, "even"), "must be 'uniform', 'marginal' or a mapping"),
        (lambda: MEstimate(m=2, p=0.9), "must be 'uniform', 'marginal' or a mapping; got 0.9. Give probabilities by"),
        (lambda: MEstimate(m=2, p=[0.9, 0.1]), r"must be 'uniform', 'marginal' or a mapping; got \[0.9, 0.1\]"),
        (lambda: MEstimate(m=2, p=np.array([0.9, 0.1])), "must be 'uniform', 'marginal' or a mapping; got array"),
        (lambda: MEstimate(m=2, p=None), "must be 'uniform', 'marginal' or a mapping; got None"),
        (lambda: as_smoothing("one"), "smoothing must be a number"),
        (lambda: as_smoothing(None), "smoothing must be a number"),
        (lambda: smooth(N, MEstimate(1, {"Strong": 1.0}), WIND), "'Weak' has none"),
        (lambda: smooth(N, MEstimate(1, {"Strong": 1.0, "Week": 0.0}), WIND), "Did you mean 'Weak'"),
        (lambda: smooth(N, MEstimate(1, {"Strong": 0.5, "Weak": 0.6}), WIND), "must sum to one; got 1.1"),
    ],
)
def test_bad_rules(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_no_states():
    assert smooth(np.zeros((2, 0)), Laplace(1), Variable("empty", [])).shape == (2, 0)


def test_thirds_of_six_digits_sum_to_one():
    sky = Variable("sky", ["clear", "cloudy", "grey"])
    rule = MEstimate(m=3, p=dict.fromkeys(["clear", "cloudy", "grey"], 0.333333))
    np.testing.assert_allclose(smooth(np.zeros(3), rule, sky), 1 / 3, rtol=1e-15)
