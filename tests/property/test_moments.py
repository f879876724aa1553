"""Moments within groups are those of exact arithmetic, whatever the layout, the pieces and the threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles.counts as oracle
from tunbridge.counts import Moments, moments, moments_within

PATHS: dict[str, dict[str, int]] = {
    "as shipped": {},
    "NumPy": {"SMALL_CELLS": 10**9},
    "kernels": {"SMALL_CELLS": 0},
    "kernels in pieces": {"SMALL_CELLS": 0, "_PIECE_CELLS": 1, "_ROWS_A_GROUP": 1},
}
ROWS = [0, 1, 2, 65, 300]
LAYOUTS = ["list", "C", "F"]

each_path = pytest.mark.parametrize("path", PATHS)


@contextmanager
def thresholds(path: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATHS[path].items():
            patch.setattr(moments, name, value)
        yield


class Sample(NamedTuple):
    array: np.ndarray
    groups: np.ndarray
    n_groups: int
    weights: np.ndarray | None
    layout: str

    def moments(self, n_jobs: int = 1) -> Moments:
        columns: Any = self.array
        if self.layout == "list":
            columns = [np.ascontiguousarray(column) for column in self.array.T]
        elif self.layout == "F":
            columns = np.asfortranarray(self.array)
        return moments_within(columns, self.groups, self.n_groups, weights=self.weights, n_jobs=n_jobs)

    def take(self, rows: Any) -> Sample:
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(array=self.array[rows], groups=self.groups[rows], weights=weights)


@st.composite
def samples(draw: Any, rows: list[int] = ROWS) -> Sample:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_columns = draw(st.sampled_from(rows)), draw(st.integers(0, 4))
    n_groups = draw(st.integers(0, 4))
    centre = [draw(st.sampled_from([0.0, 1.0, -1e9, 1e9, 1e-6])) for _ in range(n_columns)]
    spread = [draw(st.sampled_from([1.0, 1e-3, 1e6, 0.0])) for _ in range(n_columns)]
    groups = rng.integers(-1, max(n_groups - draw(st.integers(0, 1)), 0), n_rows).astype(
        np.int8
    )  # the last may be empty
    array = (
        np.array(centre) + rng.normal(size=(n_rows, n_columns)) * np.array(spread) + groups[:, None] * np.array(spread)
    )
    array[rng.random(array.shape) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.nan
    weights = draw(
        st.sampled_from(
            [None, rng.random(n_rows) * rng.integers(0, 3, n_rows), rng.integers(0, 4, n_rows).astype(float)]
        )
    )
    return Sample(array, groups, n_groups, weights, draw(st.sampled_from(LAYOUTS)))


def assert_moments(found: Moments, sample: Sample) -> None:
    """Compare with exact arithmetic.

    Means are kept as doubles: one that is wrong by its last place u makes the squared deviations of n values with
    standard deviation s wrong by about 2 n u s where pieces meet.
    """
    count, mean, m2 = oracle.moments(sample.array, sample.groups, sample.n_groups, sample.weights)
    assert found.count.shape == found.mean.shape == found.m2.shape == count.shape
    np.testing.assert_allclose(found.count, count, rtol=1e-13, atol=0)
    last_place = np.spacing(np.nanmax(np.abs(sample.array), axis=0, initial=0.0)) if sample.array.size else 0.0
    assert (np.abs(found.mean - mean) <= 8 * last_place).all()  # sums round: 6.6 at most in 72 000 samples
    deviation = np.sqrt(np.divide(m2, count, out=np.zeros_like(m2), where=count > 0))
    bound = 1e-12 * m2 + 8 * count * last_place * (deviation + last_place)
    assert (np.abs(found.m2 - m2) <= bound).all()


@each_path
@settings(max_examples=80, deadline=None)
@given(sample=samples(), n_jobs=st.sampled_from([1, 2, 3]))
def test_moments(path: str, sample: Sample, n_jobs: int) -> None:
    with thresholds(path):
        assert_moments(sample.moments(n_jobs), sample)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_many_rows(layout: str, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    array = rng.normal(size=(150_000, 3)) * [1.0, 1e-3, 50.0] + [0.0, 1e9, -3.0]
    array[rng.random(array.shape) < 0.1] = np.nan
    groups = rng.integers(-1, 5, len(array)).astype(np.int16)
    sample = Sample(array, groups, 5, rng.random(len(array)) if weighted else None, layout)
    one, two, three = (sample.moments(n_jobs) for n_jobs in (1, 2, 3))
    for a, b, c in zip(one.arrays, two.arrays, three.arrays, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()
    present = ~np.isnan(array)
    w = np.ones(len(array)) if sample.weights is None else sample.weights
    for g in range(5):
        for j in range(3):
            rows = present[:, j] & (groups == g)
            x, v = array[rows, j].astype(np.longdouble), w[rows].astype(np.longdouble)
            mu = (v * x).sum() / v.sum()
            np.testing.assert_allclose(one.count[g, j], float(v.sum()), rtol=1e-12, atol=0)
            np.testing.assert_allclose(one.mean[g, j], float(mu), rtol=1e-12, atol=1e-12)
            # 1e9 ± 1e-3: the last place of the mean is a ten-thousandth of the standard deviation
            np.testing.assert_allclose(one.m2[g, j], float((v * (x - mu) ** 2).sum()), rtol=1e-5 if j == 1 else 1e-11)


@each_path
@settings(max_examples=25, deadline=None)
@given(sample=samples(), data=st.data())
def test_merged_moments_are_those_of_all_rows(path: str, sample: Sample, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample.groups)))
    with thresholds(path):
        first, second = sample.take(slice(None, cut)).moments(), sample.take(slice(cut, None)).moments()
        assert_moments(first.merge(second), sample)
        assert_moments(second + first, sample)


@settings(max_examples=40, deadline=None)
@given(sample=samples(), factor=st.sampled_from([0.0, 0.25, 0.9, 1.0]), data=st.data())
def test_decay_is_a_smaller_weight(sample: Sample, factor: float, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample.groups)))
    found = sample.take(slice(None, cut)).moments().decay(factor).merge(sample.take(slice(cut, None)).moments())
    weights = np.ones(len(sample.groups)) if sample.weights is None else sample.weights.copy()
    weights[:cut] *= factor
    assert_moments(found, sample._replace(weights=weights))


@settings(max_examples=40, deadline=None)
@given(sample=samples())
def test_pooled_moments_are_those_without_groups(sample: Sample) -> None:
    together = np.minimum(sample.groups, 0)
    assert_moments(sample.moments().pooled(), sample._replace(groups=together, n_groups=1))


@each_path
@settings(max_examples=20, deadline=None)
@given(
    value=st.floats(-1e100, 1e100),
    n_rows=st.sampled_from([1, 7, 300, 1000]),
    weighted=st.booleans(),
    seed=st.integers(0, 9),
)
def test_equal_values_have_no_spread_at_all(path: str, value: float, n_rows: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n_rows).astype(np.int8)
    weights = rng.random(n_rows) + 0.1 if weighted else None
    with thresholds(path):
        found = moments_within([np.full(n_rows, value)], groups, 2, weights=weights)
    assert (found.m2 == 0).all()
    assert set(found.mean[found.count > 0]) == {value}
