"""What every prior has in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import tunbridge as tb
from tunbridge.counts import Counter
from tunbridge.data import Column
from tunbridge.learning.parameters.priors import as_prior, pseudo_counts, table_of, tables_of, unseen_row

NAMES = ("a", "b", "c", "x")
PRIORS: list[Any] = [
    "mle", "jeffreys", 0.3, "k2", tb.BDeu(ess=3), tb.BDs(ess=3), tb.MEstimate(1.0), tb.MEstimate(2.0, "marginal"),
    tb.Dirichlet(0.7), tb.Dirichlet({"x": 2.0}, default=0.1), "backoff", tb.BackOff(2.0), tb.BackOff(drop="last"),
]  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tb.Table:
    """Draw a table of four columns with missing cells; some states may not occur."""
    sizes = [draw(st.integers(1, 4)) for _ in NAMES]
    n = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = []
    for name, size in zip(NAMES, sizes, strict=True):
        codes = rng.integers(0, draw(st.integers(1, size)), n)
        codes[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = -1
        columns.append(Column(tb.Variable(name, range(size)), codes.astype(np.int8), None))
    return tb.Table.of(columns)


def family(table: tb.Table, parents: tuple[str, ...] = ("a", "b", "c")) -> tb.Counts:
    return tb.Counter(table).family("x", parents)


def assert_same(one: np.ndarray, other: np.ndarray, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_rows_sum_to_one_and_rest_on_counts(prior: Any, table: tb.Table) -> None:
    rule, counts = as_prior(prior), family(table)
    for found in (table_of(counts, rule), table_of(counts.sparse(), rule)):
        assert_same(found.table().sum(axis=-1), np.ones(found.shape[:-1]))
        totals = found.counts.sum(axis=-1)
        rows = found.probabilities if isinstance(found, tb.SparseCPT) else found.table()
        seen = totals > 0  # a configuration without rows and pseudo-counts rests on nothing
        assert_same(rows[seen], found.counts[seen] / totals[seen][:, None])
    assert (pseudo_counts(rule, counts) >= 0).all()
    assert unseen_row(rule, counts).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(table=tables(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_weights_are_repeated_rows(prior: Any, table: tb.Table, seed: int) -> None:
    times = np.random.default_rng(seed).integers(0, 4, table.n_rows)
    weighted = table.with_weights(times.astype(float))
    repeated = table.take(np.repeat(np.arange(table.n_rows), times))
    rule = as_prior(prior)
    assert_same(table_of(family(weighted), rule).table(), table_of(family(repeated), rule).table())


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(table=tables(), order=st.permutations(NAMES))
@settings(max_examples=15, deadline=None)
def test_the_order_of_columns_is_irrelevant(prior: Any, table: tb.Table, order: list[str]) -> None:
    if isinstance(prior, tb.BackOff) and prior.drop == "last":
        return  # it goes by the order of the parents
    rule = as_prior(prior)
    parents = tuple(name for name in order if name != "x")
    one = table_of(family(table), rule).table()
    other = table_of(family(table.select(order), parents), rule).table()
    assert_same(one, np.moveaxis(other, [parents.index(p) for p in "abc"], [0, 1, 2]))


@pytest.mark.parametrize(
    "tiny", [tb.MEstimate(1e-12), 1e-12, tb.BDeu(ess=1e-12), tb.Dirichlet(1e-12), tb.BackOff(1e-12)], ids=str
)
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_hardly_any_prior_is_none(tiny: Any, table: tb.Table) -> None:
    counts = family(table)
    seen = counts.table.any(axis=1)
    mle = table_of(counts, as_prior("mle")).table().reshape(counts.table.shape)
    found = table_of(counts, as_prior(tiny)).table().reshape(counts.table.shape)
    np.testing.assert_allclose(found[seen], mle[seen], rtol=0, atol=1e-10)


@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_what_is_borrowed_is_the_smaller_family(table: tb.Table) -> None:
    """A configuration without rows has the smaller family's estimate; under a strong prior every configuration has."""
    assume(table.variable("c").n_states > 1)  # a parent with one state changes nothing, so there is nothing to borrow
    complete = table.take(np.logical_and.reduce([table.codes(name) >= 0 for name in NAMES]))
    counts = family(complete)
    for s in (2.0, 1e13):
        rule = tb.BackOff(s, drop="last")
        large = table_of(counts, rule).table()
        small = np.broadcast_to(table_of(family(complete, ("a", "b")), rule).table()[:, :, None], large.shape)
        chosen = np.full(large.shape[:-1], True) if s > 1e12 else ~counts.array.any(axis=-1)
        assert_same(large[chosen], small[chosen], rtol=1e-10)
        assert_same(pseudo_counts(rule, counts).reshape(large.shape), s * small)


@given(table=tables(), prior=st.sampled_from(PRIORS))
@settings(max_examples=60, deadline=None)
def test_many_families_together(table: tb.Table, prior: Any) -> None:
    families = [family(table, parents) for parents in ((), ("a",), ("b", "a"), ("a", "b", "c"))]
    rule = as_prior(prior)
    for one, other in zip(tables_of(families, rule), [table_of(c, rule) for c in families], strict=True):
        assert_same(one.table(), other.table(), rtol=1e-13)
        assert_same(one.counts, other.counts, rtol=1e-13)


@given(seed=st.integers(0, 2**32 - 1), n=st.sampled_from([3000, 6400, 40_000]), jobs=st.sampled_from([1, 2]))
@settings(max_examples=15, deadline=None)
def test_families_counted_together_are_counted_right(seed: int, n: int, jobs: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 18, 10)
    columns = []
    for i, size in enumerate(sizes):
        codes = rng.integers(0, size, n)
        codes[rng.random(n) < rng.choice([0.0, 0.1])] = -1
        columns.append(Column(tb.Variable(f"v{i}", range(size)), codes.astype(np.int8), None))
    table = tb.Table.of(columns)
    families = []
    for i in range(10):
        others = [j for j in rng.permutation(10).tolist() if j != i][: rng.integers(0, 4)]
        families.append((f"v{i}", tuple(f"v{j}" for j in others)))
    one_by_one = [Counter(table).family(*family) for family in families]
    for one, other in zip(Counter(table, n_jobs=jobs).families(families), one_by_one, strict=True):
        assert (one.child, one.parents) == (other.child, other.parents)
        assert one.table.dtype == other.table.dtype
        np.testing.assert_array_equal(one.table, other.table)
        assert one.is_sparse == other.is_sparse
