"""Every way to count gives what a look at every row gives: NumPy, histograms, bit planes, sparse tables, threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from oracles.counts import count_cells, count_pairs, count_pairs_within
from tunbridge.counts import Counter, Counts, columns, extensions, radix
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.kernels.compiled import kernels_forced

KERNELS = {"SMALL_CELLS": 0}
NUMPY = {"SMALL_CELLS": 10**9}
PATHS: dict[str, dict[str, int]] = {
    "as shipped": {},
    "NumPy": NUMPY,
    "kernels": KERNELS,
    "kernels in small pieces": KERNELS | {"_BLOCK": 64, "_TILE": 2, "_STRIP": 3, "_WORDS_WORTH_A_THREAD": 1},
    "histograms": KERNELS | {"PLANE_STATES": 0},
    "one copy of a histogram": KERNELS | {"PLANE_STATES": 0, "_DENSE_CELLS": 1},
    "sparse NumPy": NUMPY | {"_DENSE_CELLS": 0, "_KEY_LIMIT": 64, "_PLANE_JOINT": 0},
    "sparse kernels": KERNELS | {"_DENSE_CELLS": 0, "_KEY_LIMIT": 64, "_PLANE_JOINT": 0},
}
ROWS = [0, 1, 2, 5, 63, 64, 65, 127, 128, 129, 700]
MANY_ROWS = [9_999, 10_000, 10_001, 65_535, 65_536, 65_537, 100_000]
STATES = [0, 1, 1, 2, 2, 3, 3, 5, 15, 16, 17, 127, 128, 300]
FEWER_STATES = [0, 1, 2, 3, 5, 16, 17, 40]  # for matrices of all states, one for each state
EXACT = {"rtol": 0.0, "atol": 0.0}
ROUNDED = {"rtol": 1e-12, "atol": 0.0}  # sums of numbers of one sign, in another order

each_path = pytest.mark.parametrize("path", PATHS)
n_jobs = st.sampled_from([1, 2, 3])


def examples(n: int) -> settings:
    return settings(max_examples=n, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def thresholds(path: str) -> Iterator[None]:
    """Set the thresholds at which the engine changes its way of counting."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATHS[path].items():
            for module in (radix, columns, extensions):
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        with kernels_forced() if PATHS[path].get("SMALL_CELLS", 1) <= 0 else nullcontext():
            yield


def make_table(n_rows: int, n_states: Sequence[int], missing: Sequence[float], weights: str, seed: int) -> Table:
    """Return a table with columns a, b, …; states beyond the middle of a wide column are rare or absent."""
    rng = np.random.default_rng(seed)
    columns = []
    for name, n, rate in zip("abcdefgh", n_states, missing, strict=False):
        codes = (n * rng.random(n_rows) ** 2).astype(code_type(n))
        codes[rng.random(n_rows) < (rate if n else 1.0)] = -1
        columns.append(Column(Variable(name, range(n)), codes, pa.int64()))
    w = {
        "none": None,
        "whole": rng.integers(0, 4, n_rows).astype(float),
        "float": rng.random(n_rows) * rng.integers(0, 3, n_rows),
    }
    return Table.of(columns, weights=w[weights])


seeds = st.integers(0, 2**32 - 1)


@st.composite
def tables(
    draw: Any, rows: Sequence[int] = ROWS, states: Sequence[int] = STATES, columns: tuple[int, int] = (1, 7)
) -> Table:
    """Return a table of a chosen size; its columns are left to chance, which spreads them better than a search does."""
    n_columns, n_rows = draw(st.integers(*columns)), draw(st.sampled_from(rows))
    weights, seed = draw(st.sampled_from(["none", "float", "whole", "none"])), draw(seeds)
    rng = np.random.default_rng(seed)
    n_states = rng.choice(states, n_columns).tolist()
    missing = rng.choice([0.0, 0.0, 0.0, 0.1, 0.6, 1.0], n_columns).tolist()
    return make_table(n_rows, n_states, missing, weights, seed)


def tolerance(table: Table) -> dict[str, float]:
    whole = table.weights is None or (table.weights == np.floor(table.weights)).all()
    return EXACT if whole else ROUNDED


def codes_of(table: Table, names: Sequence[str]) -> list[np.ndarray]:
    return [table.codes(name) for name in names]


def states_of(table: Table, names: Sequence[str]) -> list[int]:
    return [table.variable(name).n_states for name in names]


def cells_of(counts: Counts) -> dict[tuple, float]:
    """Return the cells that are not zero, by the codes of parents and child; check the record on the way."""
    shape = [p.n_states for p in counts.parents]
    if counts.configurations is None:
        configurations = [tuple(map(int, c)) for c in np.ndindex(*shape)] if shape else [()]
    else:
        configurations = [tuple(c) for c in counts.configurations.tolist()]
        assert configurations == sorted(set(configurations))
    assert counts.table.shape == (len(configurations), counts.child.n_states)
    cells = {}
    for configuration, row in zip(configurations, counts.table.tolist(), strict=True):
        cells |= {(*configuration, k): n for k, n in enumerate(row) if n}
    return cells


def assert_family(counts: Counts, table: Table, names: Sequence[str]) -> None:
    """Compare counts of a family, child last, with a look at every row."""
    assert [v.name for v in (*counts.parents, counts.child)] == list(names)
    assert counts.table.dtype == (np.int64 if table.weights is None else np.float64)
    expected = {cell: n for cell, n in count_cells(codes_of(table, names), table.weights).items() if n}
    found = cells_of(counts)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[c] for c in expected], list(expected.values()), **tolerance(table))


@st.composite
def families(draw: Any, table: Table, most: int = 7) -> list[str]:
    """Return up to so many names in any order, the child last."""
    rng = np.random.default_rng(draw(seeds))
    return rng.permutation(table.names)[: rng.integers(1, min(most, len(table.names)) + 1)].tolist()


# Families


@each_path
@examples(40)
@given(data=st.data(), table=tables(), jobs=n_jobs)
def test_family(path: str, data: st.DataObject, table: Table, jobs: int) -> None:
    *parents, child = names = data.draw(families(table))
    with thresholds(path):
        assert_family(Counter(table, n_jobs=jobs).family(child, parents), table, names)


@examples(12)
@given(data=st.data(), table=tables(MANY_ROWS, columns=(1, 4)), jobs=n_jobs)
def test_family_of_many_rows(data: st.DataObject, table: Table, jobs: int) -> None:
    *parents, child = names = data.draw(families(table))
    assert_family(Counter(table, n_jobs=jobs).family(child, parents), table, names)


@examples(15)
@given(data=st.data(), table=tables(), jobs=n_jobs)
def test_families_are_those_counted_one_by_one(data: st.DataObject, table: Table, jobs: int) -> None:
    wanted = [data.draw(families(table)) for _ in range(3)]
    found = Counter(table, n_jobs=jobs).families([(names[-1], names[:-1]) for names in wanted])
    for names, counts in zip(wanted, found, strict=True):
        assert_family(counts, table, names)


@pytest.mark.parametrize("n_rows", [0, 1, 300, 25_000])
@pytest.mark.parametrize("weights", ["none", "float"])
def test_more_parents_than_64_bits_can_number(n_rows: int, weights: str) -> None:
    rng = np.random.default_rng(n_rows)
    names = [f"x{i}" for i in range(41)]
    rows = rng.integers(0, 16, (100, 41), np.int8)[rng.integers(0, 100, n_rows)]  # 100 configurations, repeated
    rows[rng.random(rows.shape) < 0.002] = -1
    columns = [Column(Variable(n, range(16)), rows[:, i], pa.int64()) for i, n in enumerate(names)]
    table = Table.of(columns, weights=rng.random(n_rows) if weights == "float" else None)
    counts = Counter(table).family(names[-1], names[:-1])
    assert counts.is_sparse
    assert_family(counts, table, names)


@each_path
@examples(25)
@given(data=st.data(), table=tables(), jobs=n_jobs)
def test_extend(path: str, data: st.DataObject, table: Table, jobs: int) -> None:
    *parents, child = data.draw(families(table, most=3))
    others = [name for name in table.names if name not in (*parents, child)]
    candidates = data.draw(st.sampled_from([None, others[::-2], others[:1]]))
    with thresholds(path):
        found = Counter(table, n_jobs=jobs).extend(child, parents, candidates)
    assert len(found) == len(others if candidates is None else candidates)
    for name, counts in zip(others if candidates is None else candidates, found, strict=True):
        assert_family(counts, table, [*parents, name, child])


@examples(10)
@given(table=tables(states=[1, 2, 3, 16], columns=(7, 8)), jobs=n_jobs)
def test_extend_by_few_candidates_in_any_order(table: Table, jobs: int) -> None:
    with thresholds("kernels"):
        for name, counts in zip("gec", Counter(table, n_jobs=jobs).extend("a", [], list("gec")), strict=True):
            assert_family(counts, table, [name, "a"])


@examples(8)
@given(data=st.data(), table=tables(MANY_ROWS, columns=(2, 4)), jobs=n_jobs)
def test_extend_of_many_rows(data: st.DataObject, table: Table, jobs: int) -> None:
    *parents, child = data.draw(families(table, most=len(table.names) - 1))
    others = [name for name in table.names if name not in (*parents, child)]
    for name, counts in zip(others, Counter(table, n_jobs=jobs).extend(child, parents), strict=True):
        assert_family(counts, table, [*parents, name, child])


# Pairs


@each_path
@examples(25)
@given(data=st.data(), table=tables(columns=(0, 6)), jobs=n_jobs)
def test_pairs(path: str, data: st.DataObject, table: Table, jobs: int) -> None:
    wanted = data.draw(st.sampled_from([None, table.names[::-2], table.names[:1] * 2]))
    with thresholds(path):
        found = Counter(table, n_jobs=jobs).pairs(wanted)
    names = [name for name in table.names if wanted is None or name in wanted]
    assert [v.name for v in found.variables] == names
    if names:
        expected = count_pairs(codes_of(table, names), states_of(table, names), table.weights)
        assert found.matrix.dtype == expected.dtype
        np.testing.assert_allclose(found.matrix, expected, **tolerance(table))
    else:
        assert found.matrix.shape == (0, 0)


@examples(6)
@given(table=tables(MANY_ROWS, states=[1, 2, 3, 16, 17, 128], columns=(2, 4)), jobs=n_jobs)
def test_pairs_of_many_rows(table: Table, jobs: int) -> None:
    found = Counter(table, n_jobs=jobs).pairs()
    expected = count_pairs(codes_of(table, table.names), states_of(table, table.names), table.weights)
    np.testing.assert_allclose(found.matrix, expected, **tolerance(table))


@each_path
@examples(20)
@given(data=st.data(), table=tables(states=FEWER_STATES, columns=(1, 5)), jobs=n_jobs)
def test_pairs_within(path: str, data: st.DataObject, table: Table, jobs: int) -> None:
    c = data.draw(st.sampled_from(table.names))
    wanted = data.draw(st.sampled_from([None, table.names[::-2], table.names[:1] * 2]))
    with thresholds(path):
        found = Counter(table, n_jobs=jobs).pairs_within(c, wanted)
    names = [name for name in table.names if name != c and (wanted is None or name in wanted)]
    assert [v.name for v in found.variables] == names
    n_states, n_given = states_of(table, names), table.variable(c).n_states
    assert found.matrix.shape == (n_given, sum(n_states), sum(n_states))
    if names and n_given:
        expected = count_pairs_within(table.codes(c), n_given, codes_of(table, names), n_states, table.weights)
        np.testing.assert_allclose(found.matrix, expected, **tolerance(table))


@pytest.mark.parametrize("weights", ["none", "float"])
def test_pairs_within_a_class_of_many_states(weights: str) -> None:
    table = make_table(5_000, [300, 2, 130], [0.1, 0, 0.1], weights, 0)
    found = Counter(table, n_jobs=2).pairs_within("a").matrix
    expected = count_pairs_within(table.codes("a"), 300, codes_of(table, "bc"), [2, 130], table.weights)
    np.testing.assert_allclose(found, expected, **tolerance(table))


def test_pairs_of_more_columns_than_a_tile_holds() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (70, 500), np.int8)
    codes[::3, ::7] = -1
    columns = [Column(Variable(f"x{i}", range(3)), c, pa.int64()) for i, c in enumerate(codes)]
    found = Counter(Table.of(columns), n_jobs=2).pairs()
    np.testing.assert_array_equal(found.matrix, count_pairs(list(codes), [3] * 70))


# Threads, layouts and types make no difference


@each_path
@examples(8)
@given(table=tables([65, 700, 3_000], FEWER_STATES, columns=(3, 5)))
def test_the_number_of_threads_changes_no_bit(path: str, table: Table) -> None:
    with thresholds(path):
        one, two, three = (everything(Counter(table, n_jobs=jobs)) for jobs in (1, 2, 3))
    for a, b, c in zip(one, two, three, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


def test_the_number_of_threads_changes_no_bit_of_many_weighted_rows() -> None:
    table = make_table(600_000, [2, 3, 300], [0, 0.1, 0.1], "float", 5)
    one, two, three = (Counter(table, n_jobs=jobs) for jobs in (1, 2, 3))
    for names in (["a"], ["b", "a"], ["a", "c"], ["a", "b", "c"]):
        counts = [counter.family(names[-1], names[:-1]).table for counter in (one, two, three)]
        assert counts[0].tobytes() == counts[1].tobytes() == counts[2].tobytes()


def everything(counter: Counter) -> list[np.ndarray]:
    *parents, child = (v.name for v in counter.variables)
    counts = [counter.family(child, parents), *counter.extend(child, parents[:1]), *counter.families([(child, [])])]
    return [c.table for c in counts] + [counter.pairs().matrix, counter.pairs_within(child).matrix]


@each_path
@examples(10)
@given(table=tables([129, 700], FEWER_STATES, columns=(2, 4)), step=st.sampled_from([-1, 2, -3]), wide=st.booleans())
def test_strided_rows_and_wider_codes_are_counted_alike(path: str, table: Table, step: int, wide: bool) -> None:
    view = table.take(slice(None, None, step))
    if wide:
        view = Table.of([c._replace(values=c.values.astype(np.int64)) for c in view], weights=view.weights)
    compact = Table.of([c._replace(values=c.values.copy()) for c in table.take(slice(None, None, step))])
    compact = compact.with_weights(view.weights)
    with thresholds(path):
        for a, b in zip(everything(Counter(view)), everything(Counter(compact)), strict=True):
            np.testing.assert_array_equal(a, b)


@examples(15)
@given(table=tables(ROWS, FEWER_STATES, columns=(2, 4)), seed=seeds)
def test_whole_weights_are_repeated_rows(table: Table, seed: int) -> None:
    repeats = np.random.default_rng(seed).integers(0, 4, table.n_rows)
    weighted, repeated = (
        Counter(table.with_weights(repeats)),
        Counter(table.with_weights(None).take(np.repeat(np.arange(table.n_rows), repeats))),
    )
    assert weighted.total == repeated.total
    for a, b in zip(everything(weighted), everything(repeated), strict=True):
        np.testing.assert_array_equal(a, b)


# Sums of counters


@st.composite
def labelled(draw: Any, names: Sequence[str]) -> Table:
    """Return a table of these columns in any order, each with some of the states s0 … s9 in any order."""
    rng = np.random.default_rng(draw(seeds))
    n_rows = draw(st.sampled_from([30, 65, 1, 0]))
    columns = []
    for name in rng.permutation(list(names)).tolist():
        states = rng.permutation([f"s{i}" for i in range(6)])[: rng.integers(0, 5)].tolist()
        codes = rng.integers(-1, len(states), n_rows).astype(np.int8)
        columns.append(Column(Variable(name, states), codes, pa.string()))
    weights = draw(st.sampled_from([None, rng.integers(0, 5, n_rows)]))
    return Table.of(columns, weights=weights)


def count_labels(tables: Sequence[Table], names: Sequence[str], factors: Sequence[float]) -> dict[tuple, float]:
    """Return how often each combination of states (by name) occurs in several tables together."""
    found: dict[tuple, float] = defaultdict(float)
    for table, factor in zip(tables, factors, strict=True):
        for cell, n in count_cells(codes_of(table, names), table.weights).items():
            found[tuple(table.variable(name).states[k] for name, k in zip(names, cell, strict=True))] += factor * n
    return {labels: n for labels, n in found.items() if n}


def labels_of(counts: Counts) -> dict[tuple, float]:
    variables = (*counts.parents, counts.child)
    return {tuple(v.states[k] for v, k in zip(variables, c, strict=True)): n for c, n in cells_of(counts).items()}


@each_path
@examples(25)
@given(data=st.data(), jobs=n_jobs)
def test_merged_counters_count_all_rows_by_the_names_of_their_states(path: str, data: st.DataObject, jobs: int) -> None:
    parts = [data.draw(labelled("abcd")) for _ in range(data.draw(st.integers(2, 3)))]
    factor = data.draw(st.sampled_from([1.0, 0.5, 0.0]))
    with thresholds(path):
        counter = Counter(parts[0], n_jobs=jobs).decay(factor)
        for table in parts[1:]:
            counter = counter.merge(Counter(table))
        factors = [factor] + [1.0] * (len(parts) - 1)
        assert counter.n_jobs == jobs
        assert counter.total == sum(
            f * (t.n_rows if t.weights is None else t.weights.sum()) for t, f in zip(parts, factors, strict=True)
        )
        assert labels_of(counter.family("a", ["c", "b", "d"])) == count_labels(parts, "cbda", factors)
        candidates = [v.name for v in counter.variables if v.name in "ad"]
        for name, counts in zip(candidates, counter.extend("c", ["b"]), strict=True):
            assert labels_of(counts) == count_labels(parts, f"b{name}c", factors)
        assert_merged_pairs(counter, parts, factors)


def assert_merged_pairs(counter: Counter, parts: Sequence[Table], factors: Sequence[float]) -> None:
    states = {v.name: v.states for v in counter.variables}
    found, within = counter.pairs(), counter.pairs_within("d")
    for pair in ("ab", "ca", "cc"):
        expected = count_labels(parts, pair, factors)
        table = found.table(*pair)
        assert {(s, t): table[i, j] for i, s in enumerate(states[pair[0]]) for j, t in enumerate(states[pair[1]])} == {
            (s, t): expected.get((s, t), 0) for s in states[pair[0]] for t in states[pair[1]]
        }
        expected = count_labels(parts, f"d{pair}", factors)
        for d, matrix in zip(states["d"], within.table(*pair), strict=True):
            for s, row in zip(states[pair[0]], matrix, strict=True):
                assert row.tolist() == [expected.get((d, s, t), 0) for t in states[pair[1]]]


@each_path
@examples(25)
@given(data=st.data())
def test_merged_counts_are_those_of_all_rows(path: str, data: st.DataObject) -> None:
    parts = [data.draw(labelled("abcd")) for _ in range(2)]
    parents = list(data.draw(st.sampled_from(["bc", "d", "", "dcb", "cd"])))
    ways = [data.draw(st.sampled_from([path, "sparse NumPy", "NumPy"])) for _ in parts]
    counted = []
    for way, table in zip(ways, parts, strict=True):
        with thresholds(way):
            counted.append(Counter(table).family("a", parents))
    with thresholds(path):
        merged = counted[0].merge(counted[1])
    assert labels_of(merged) == count_labels(parts, [*parents, "a"], [1.0, 1.0])
    assert labels_of(counted[0].decay(0.25) + counted[1]) == count_labels(parts, [*parents, "a"], [0.25, 1.0])


@examples(20)
@given(data=st.data())
def test_sparse_and_dense_counts_say_the_same(data: st.DataObject) -> None:
    table = data.draw(tables(columns=(2, 5)))
    *parents, child = data.draw(families(table))
    assume(prod(states_of(table, [*parents, child])) <= 10**7)  # a larger dense table may not fit into memory
    with thresholds("sparse NumPy"):
        counts = Counter(table).family(child, parents)
    dense = Counter(table).family(child, parents).dense()
    np.testing.assert_array_equal(counts.dense().table, dense.table)
    assert counts.total == pytest.approx(dense.total, rel=1e-12, abs=0)
    for configuration in list(np.ndindex(*[p.n_states for p in dense.parents]))[:20]:
        states = {p.name: p.states[c] for p, c in zip(dense.parents, configuration, strict=True)}
        np.testing.assert_array_equal(counts.row(states), dense.row(states))
        np.testing.assert_array_equal(dense.array[configuration], dense.row(states))
