"""Discretisation against plain enumeration, and what must hold for any data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from oracles.discretise import equal_frequency_by_enumeration, interval_of, mdl_cuts_by_enumeration
from tunbridge.data.discretisation import Discretisation, at_cuts, equal_frequency, equal_width, mdl_cuts

NAN = float("nan")
examples = settings(max_examples=100, deadline=None)
finite = st.floats(allow_nan=False, allow_infinity=False)
few_values = st.one_of(st.integers(-4, 12).map(float), st.just(NAN))  # many ties
any_values = st.one_of(few_values, st.floats(-100, 100), finite)
few_or_any_values = st.one_of(few_values, any_values)
weight = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.5])  # sums of these are exact, in any order
cut_lists = st.lists(finite.map(lambda x: x + 0.0), max_size=12, unique=True).map(sorted)


@st.composite
def labelled_rows(draw, values=few_or_any_values, weights=weight, max_size=40):
    n = draw(st.integers(0, max_size))
    n_classes = draw(st.integers(1, 5))
    x = draw(st.lists(values, min_size=n, max_size=n))
    noise = draw(st.lists(st.integers(-1, n_classes - 1), min_size=n, max_size=n))
    is_informative = draw(st.booleans())  # without a link between value and class there are hardly any cuts
    c = [noise[i] if not is_informative or i % 7 == 0 else _bin(x[i], n_classes) for i in range(n)]
    w = draw(st.lists(weights, min_size=n, max_size=n))
    return np.array(x, float), np.array(c, int), np.array(w, float)


def _bin(value, n_classes):
    return -1 if np.isnan(value) else int(abs(value) // 3) % n_classes


@examples
@given(labelled_rows())
def test_mdl_finds_the_cuts_of_plain_enumeration(rows):
    values, classes, _ = rows
    assert list(mdl_cuts(values, classes).cuts) == mdl_cuts_by_enumeration(values.tolist(), classes.tolist())


@examples
@given(labelled_rows())
def test_weighted_mdl_finds_the_cuts_of_plain_enumeration(rows):
    values, classes, weights = rows
    expected = mdl_cuts_by_enumeration(values.tolist(), classes.tolist(), weights.tolist())
    assert list(mdl_cuts(values, classes, weights).cuts) == expected


@pytest.mark.parametrize("seed", range(5))
def test_mdl_finds_the_cuts_of_plain_enumeration_in_larger_data(seed):
    rng = np.random.default_rng(seed)
    classes = rng.integers(-1, 6, 600)
    values = np.round(rng.normal(3.0 * classes, 1.0), 1 + seed % 2)
    values[rng.random(600) < 0.1] = NAN
    weights = rng.integers(0, 4, 600) * 0.5
    found = mdl_cuts(values, classes, weights)
    assert len(found.cuts) >= 4
    assert list(found.cuts) == mdl_cuts_by_enumeration(values.tolist(), classes.tolist(), weights.tolist())


@examples
@given(labelled_rows(), st.integers(1, 20))
def test_equal_frequency_cuts_the_gap_nearest_to_each_share(rows, n_bins):
    values, _, weights = rows
    expected = equal_frequency_by_enumeration(values.tolist(), n_bins, weights.tolist())
    assert list(equal_frequency(values, n_bins, weights).cuts) == expected


@examples
@given(labelled_rows(weights=st.integers(0, 3)), st.integers(1, 12))
def test_whole_weights_are_replication(rows, n_bins):
    values, classes, weights = rows
    times = weights.astype(int)
    repeated = np.repeat(values, times)
    assert mdl_cuts(values, classes, weights) == mdl_cuts(repeated, np.repeat(classes, times))
    assert equal_width(values, n_bins, weights) == equal_width(repeated, n_bins)
    assert equal_frequency(values, n_bins, weights) == equal_frequency(repeated, n_bins)


@examples
@given(labelled_rows(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_and_the_names_of_the_classes_do_not_matter(rows, n_bins, random):
    values, classes, weights = rows
    order = list(range(values.size))
    random.shuffle(order)
    shuffled = values[order], np.where(classes < 0, -1, 40 - 3 * classes)[order], weights[order]
    assert mdl_cuts(*shuffled) == mdl_cuts(values, classes, weights)
    assert equal_width(shuffled[0], n_bins, shuffled[2]) == equal_width(values, n_bins, weights)
    assert equal_frequency(shuffled[0], n_bins, shuffled[2]) == equal_frequency(values, n_bins, weights)


@examples
@given(cut_lists, st.lists(st.one_of(finite, st.just(NAN)), max_size=40))
def test_codes_are_the_number_of_cuts_below_and_keep_the_order(cuts, values):
    values = [*values, *cuts]
    codes = Discretisation(tuple(cuts)).codes(np.array(values))
    assert codes.tolist() == [interval_of(value, cuts) for value in values]
    present = sorted((v, c) for v, c in zip(values, codes.tolist(), strict=True) if c >= 0)
    assert [c for _, c in present] == sorted(c for _, c in present)


@examples
@given(cut_lists)
def test_labels_are_distinct_one_for_each_interval(cuts):
    discretisation = at_cuts(reversed(cuts))
    assert discretisation.cuts == tuple(cuts)
    assert len(set(discretisation.labels)) == len(discretisation.labels) == len(cuts) + 1


@examples
@given(st.lists(finite, min_size=2, max_size=12, unique=True))
def test_cuts_of_neighbouring_floats_part_what_they_should(starts):
    values = np.unique([x for start in starts for x in (start, np.nextafter(start, 0.0))] + [0.0])
    found = equal_frequency(values, values.size)
    assert found.codes(values).tolist() == list(range(values.size))


@examples
@given(labelled_rows(values=any_values), st.integers(1, 30))
def test_equal_frequency_leaves_no_interval_empty_and_equal_width_stays_in_the_range(rows, n_bins):
    values, _, _ = rows
    present = values[~np.isnan(values)]
    assume(present.size > 0)
    by_frequency, by_width = equal_frequency(values, n_bins), equal_width(values, n_bins)
    assert len(np.unique(by_frequency.codes(present))) == len(by_frequency.labels) <= n_bins
    assert len(by_width.labels) <= n_bins
    assert all(present.min() <= cut < present.max() for cut in by_width.cuts)
