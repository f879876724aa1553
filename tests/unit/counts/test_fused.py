"""The information of all pairs in one go: sums of tables, weights, names and sizes; figures are tested elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import oracles.trees as oracle
from tunbridge.counts import Counter, columns as counted_columns, mutual_information
from tunbridge.counts.information import PairInformation, pair_information
from tunbridge.data import Table, as_table, datasets
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.kernels.compiled import kernels_forced

TINY = {"rtol": 1e-12, "atol": 1e-13}  # a difference of sums of n log n, divided by n


def columns(n_rows: int, n_columns: int = 4) -> Table:
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(0, 3, (n_columns, n_rows))
    codes[1] = np.where(rng.random(n_rows) < 0.5, codes[0], codes[1])
    names = [f"x{i}" for i in range(n_columns)]
    return as_table(dict(zip(names, codes, strict=True)), kinds="categorical")


def assert_figures(found: PairInformation, table: Table, given: str | None = None) -> None:
    information, rows = oracle.pair_information(table, given)
    np.testing.assert_allclose(found.information, information, **TINY)
    np.testing.assert_allclose(found.rows, rows, **TINY)


@pytest.mark.parametrize("given", [None, "x2"])
@pytest.mark.parametrize("n_rows", [50, 5000])
def test_sums_of_tables_are_one_table(n_rows: int, given: str | None) -> None:
    table = columns(n_rows)
    parts = Counter(table.take(slice(0, 20))).merge(Counter(table.take(slice(20, None))))
    assert_figures(pair_information(parts, given), table, given)


@pytest.mark.parametrize("given", [None, "x0"])
def test_weights_and_decay(given: str | None) -> None:
    table = columns(5000)
    weights = np.random.default_rng(0).random(5000)
    assert_figures(pair_information(Counter(table.with_weights(weights)), given), table.with_weights(weights), given)
    halved = pair_information(Counter(table).decay(0.5), given)
    assert_figures(halved, table.with_weights(np.full(5000, 0.5)), given)


def test_the_figures_are_those_of_the_counts() -> None:
    counter = Counter(columns(5000))
    np.testing.assert_allclose(pair_information(counter).information, mutual_information(counter.pairs()), **TINY)
    within = mutual_information(counter.pairs_within("x3"))
    np.testing.assert_allclose(pair_information(counter, "x3").information, within, **TINY)


def test_a_class_that_is_not_there_gets_a_hint() -> None:
    for table, name in ((datasets.play_tennis(), "plya"), (columns(5000), "x9")):
        with pytest.raises(DataError, match=rf"got '{name}'\. (Did you mean|Known)"):
            pair_information(Counter(table), name)


def test_rows_that_miss_the_class_do_not_count() -> None:
    table = columns(6000)
    holes = [None if i % 3 == 0 else int(c) for i, c in enumerate(table.codes("x2"))]
    frame = {name: table.codes(name) for name in ("x0", "x1", "x3")} | {"x2": holes}
    found = pair_information(Counter(as_table(frame, kinds="categorical")), "x2")
    assert (found.rows == 4000).all()
    kept = columns(6000).take(np.arange(6000) % 3 != 0)
    np.testing.assert_allclose(found.information, pair_information(Counter(kept), "x2").information, **TINY)


def test_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(columns(20_000))
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "10000")
    with kernels_forced(), pytest.raises(MemoryForecastError, match="the bit planes would need"):
        pair_information(counter)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100")
    with pytest.raises(MemoryForecastError, match="the information of all pairs would need"):
        pair_information(counter)


def test_tables_without_columns_or_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_columns, "SMALL_CELLS", -1)
    with kernels_forced():
        check_empty_tables()


def check_empty_tables() -> None:
    assert pair_information(Counter(Table.of([]))).information.shape == (0, 0)
    alone = pair_information(Counter(as_table({"a": ["x", "y", "y"]})), "a")
    assert alone.information.shape == (0, 0)
    assert alone.with_given is not None
    assert alone.with_given.shape == (0,)
    empty = pair_information(Counter(columns(9).take(slice(0, 0))), "x1")
    assert not empty.information.any()
    assert not empty.rows.any()
