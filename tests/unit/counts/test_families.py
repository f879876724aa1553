"""Counting many families together says the same as the counter, also about what cannot be counted."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.counts import Counter, counter as module
from tunbridge.data import Column
from tunbridge.errors import DataError


def random_table(n_rows: int = 4000, weights: np.ndarray | None = None) -> tb.Table:
    rng = np.random.default_rng(0)
    variables = [tb.Variable(f"v{i}", range(2 + i % 4)) for i in range(9)] + [tb.Variable("wide", range(40))]
    columns = [Column(v, rng.integers(-1, v.n_states, n_rows).astype(np.int8), None) for v in variables]
    return tb.Table.of([*columns, Column(tb.Variable("number"), rng.random(n_rows), None)], weights=weights)


FAMILIES = [(f"v{i}", tuple(f"v{j}" for j in range(max(0, i - i % 4), i))) for i in range(9)] + [
    ("wide", ("v1",)),
    ("v2", ("wide",)),
    ("v8", tuple(f"v{i}" for i in range(8))),
]


@pytest.mark.parametrize("n_rows", [4000, 4001, 50_000])
def test_the_same_as_the_counter(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(n_rows)
    asked = []
    monkeypatch.setattr(
        module,
        "families_by_planes",
        lambda *a, plain=module.families_by_planes, **k: (asked.append(len(a[1])), plain(*a, **k))[1],
    )
    found = Counter(table).families(FAMILIES)
    assert asked == [9]  # the others have too many states or cells
    for one, other in zip(found, [tb.Counter(table).family(*f) for f in FAMILIES], strict=True):
        assert (one.child, one.parents) == (other.child, other.parents)
        np.testing.assert_array_equal(one.table, other.table)
        assert one.is_sparse == other.is_sparse


@pytest.mark.parametrize("table", [random_table(50), random_table(4000, np.ones(4000))], ids=["small", "weighted"])
def test_small_and_weighted_tables_are_left_to_the_counter(table: tb.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "families_by_planes", None)
    for one, other in zip(
        Counter(table).families(FAMILIES), [Counter(table).family(*f) for f in FAMILIES], strict=True
    ):
        np.testing.assert_array_equal(one.table, other.table)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (("v1", ("v99",)), r"must be that of a column of the table; got 'v99'"),
        (("v1", ("v2", "v1")), r"a family must name each variable once; got 'v2', 'v1', 'v1'"),
        (("number", ()), r"variables must be categorical to be counted; 'number' is continuous"),
    ],
)
def test_mistakes_are_named(family: tuple[str, tuple[str, ...]], message: str) -> None:
    for families in ([family], [*FAMILIES, family]):
        with pytest.raises(DataError, match=message):
            Counter(random_table()).families(families)
