"""Smoothing towards fewer parents, against its definition row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tunbridge as tb
from oracles.backoff import estimate, left_out
from tunbridge.data import Column
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.parameters import backoff
from tunbridge.learning.parameters.backoff import _best_strength, _climb, _left_out, _levels, _voted
from tunbridge.learning.parameters.priors import pseudo_counts, table_of

SIZES = (3, 2, 4, 3)


def random_rows(seed: int, n: int = 25) -> np.ndarray:
    """Return rows of three parents and a child, related, some configurations never seen."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n) for size in SIZES]
    columns[3] = np.where(rng.random(n) < 0.6, columns[0], columns[3])
    return np.column_stack(columns)


def table_from(rows: np.ndarray, weights: np.ndarray | None = None) -> tb.Table:
    names = [*"abc", "x"][-rows.shape[1] :]
    variables = [tb.Variable(name, range(size)) for name, size in zip(names, SIZES[-rows.shape[1] :], strict=True)]
    return tb.Table.of(
        [Column(v, codes.astype(np.int8), None) for v, codes in zip(variables, rows.T, strict=True)], weights=weights
    )


def counts_from(rows: np.ndarray) -> tb.Counts:
    return tb.Counter(table_from(rows)).family("x", ["a", "b", "c"])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("s", [0.3, 2.0, 40.0])
def test_every_configuration_is_drawn_towards_fewer_parents(seed: int, s: float) -> None:
    rows = random_rows(seed)
    counts = counts_from(rows)
    plain = [tuple(row) for row in rows.tolist()]
    expected = [estimate(plain, 3, c, s) for c in itertools.product(*map(range, SIZES[:3]))]
    rule = tb.BackOff(strength=s, drop="last")
    found = table_of(counts, rule)
    np.testing.assert_allclose(found.table().reshape(-1, 3), expected, rtol=1e-12)
    np.testing.assert_allclose(found.counts.reshape(-1, 3), counts.table + pseudo_counts(rule, counts), rtol=1e-12)
    sparse = table_of(counts.sparse(), rule)
    assert isinstance(sparse, tb.SparseCPT)
    seen = counts.table.any(axis=1)
    np.testing.assert_allclose(sparse.probabilities, np.array(expected)[seen], rtol=1e-12)
    np.testing.assert_allclose(sparse.default, estimate(plain, 3, (), s), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("votes", [False, True])
def test_each_row_is_predicted_from_all_others(seed: int, votes: bool) -> None:
    rows = random_rows(seed)
    plain = [tuple(row) for row in rows.tolist()]
    levels = _levels(counts_from(rows), "last")
    chain = _climb(_voted(levels) if votes else levels, 1.7, votes=votes)
    np.testing.assert_allclose(chain.left_out, left_out(plain, 3, 1.7, votes=votes), rtol=1e-12)
    np.testing.assert_allclose(chain.bottom, estimate(plain, 3, (), 1.7, votes=votes), rtol=1e-12)
    expected = [estimate(plain, 3, c, 1.7, votes=votes) for c in itertools.product(*map(range, SIZES[:2]))]
    borrowed = chain.borrowed.reshape(*SIZES)
    for i in range(SIZES[2]):
        np.testing.assert_allclose(borrowed[:, :, i].reshape(-1, 3), 1.7 * np.array(expected), rtol=1e-12)


def test_the_strength_is_nearly_the_best() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        base = rng.dirichlet(np.ones(4), 30)
        n = rng.poisson(3.0 * rng.dirichlet(np.ones(4), 30)).astype(float)
        s = _best_strength(n, base)
        one, n_j = np.minimum(n, 1), n.sum(axis=1, keepdims=True)
        told = (n > 0) & (n_j > one)
        cells = n[told], (n - one)[told], (n_j - one)[told], base[told]
        best = _left_out(np.geomspace(1e-3, n.sum(), 2000), *cells).max()
        assert _left_out(np.array([s]), *cells)[0] > best - 0.01


def test_many_cells_are_tried_strength_by_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counts_from(random_rows(2, 200))
    at_once = pseudo_counts(tb.BackOff(), counts)
    monkeypatch.setattr(backoff, "_FEW_CELLS", 0)
    np.testing.assert_allclose(pseudo_counts(tb.BackOff(), counts), at_once, rtol=1e-9)


def test_the_strength_follows_the_data() -> None:
    """Configurations that differ need no loan, configurations that do not borrow much."""
    rng = np.random.default_rng(0)
    a = np.repeat(np.arange(20), 30)
    sure, same = a % 2, (rng.random(600) < 0.5).astype(int)
    found = []
    for x in (sure, same):
        table = tb.as_table({"a": a.astype(str), "x": x.astype(str)}, kinds="categorical")
        found.append(pseudo_counts(tb.BackOff(), tb.Counter(table).family("x", ["a"])).sum(axis=1).mean())
    assert found[0] < 0.1
    assert found[1] > 50


def test_the_parent_that_tells_least_is_dropped_first() -> None:
    """A parent with twenty states that tells nothing goes before one with two that tells all, wherever it stands."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 300)
    good = np.where(rng.random(300) < 0.9, x, 1 - x)
    table = tb.as_table(
        {"good": good.astype(str), "noise": rng.integers(0, 20, 300).astype(str), "x": x.astype(str)},
        kinds="categorical",
    )
    counter = tb.Counter(table)
    rule = tb.BackOff(strength=1e12)
    given_good = table_of(counter.family("x", ["good"]), tb.BackOff(strength=1e-12)).table()
    both = [table_of(counter.family("x", p), rule).table() for p in (["good", "noise"], ["noise", "good"])]
    np.testing.assert_allclose(both[0], both[1].swapaxes(0, 1), rtol=1e-9)
    levels = _levels(counter.family("x", ["noise", "good"]), "least")
    np.testing.assert_array_equal(levels[1].table, counter.family("x", ["good"]).table)
    np.testing.assert_allclose(levels[1].table / levels[1].table.sum(axis=1, keepdims=True), given_good, rtol=1e-9)
    last = _levels(counter.family("x", ["noise", "good"]), "last")
    np.testing.assert_array_equal(last[1].table, counter.family("x", ["noise"]).table)


def test_rare_configurations_do_not_follow_the_most_frequent_one() -> None:
    """One configuration has nearly all rows, all in state 0; seven others have both states, one is never seen."""
    a = np.concatenate([np.zeros(1000, int), np.repeat(np.arange(1, 8), 4)])
    x = np.concatenate([np.zeros(1000, int), np.tile([0, 1, 1, 1], 7)])
    variables = tb.Variable("a", range(9)), tb.Variable("x", range(2))
    table = tb.Table.of([Column(v, c.astype(np.int8), None) for v, c in zip(variables, (a, x), strict=True)])
    counts = tb.Counter(table).family("x", ["a"])
    by_votes, by_rows = table_of(counts, tb.BackOff()).table()[8], table_of(counts, tb.BackOff(strength=1)).table()[8]
    assert by_rows[1] < 0.03
    assert 0.4 < by_votes[1] < 0.6


def test_weights_are_rows() -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(5)
    weights = rng.integers(0, 4, len(rows))
    dag = tb.DAG([*"abc", "x"], [(p, "x") for p in "abc"])
    for rule in (tb.BackOff(), tb.BackOff(strength=2.0)):
        one = tb.fit_parameters(dag, table_from(rows, weights.astype(float)), rule, missing="available")
        other = tb.fit_parameters(dag, table_from(np.repeat(rows, weights, axis=0)), rule, missing="available")
        np.testing.assert_allclose(one.cpt("x").table(), other.cpt("x").table(), rtol=1e-12)
        shares = table_from(rows, weights / weights.sum())
        small = tb.fit_parameters(dag, shares, rule).cpt("x").table()
        np.testing.assert_allclose(small.sum(axis=-1), 1.0, rtol=1e-12)


def test_new_rows_are_predicted_better_than_by_any_single_row_prior() -> None:
    """A table with interactions in which most configurations have a row or two."""
    rng = np.random.default_rng(3)
    effect = rng.normal(0.0, 1.5, (4, 6)), rng.normal(0.0, 0.7, (4, 6)), rng.normal(0.0, 0.3, (4, 6))
    score = effect[0][:, None, None] + effect[1][None, :, None] + effect[2][None, None]
    truth = np.exp(score) / np.exp(score).sum(axis=-1, keepdims=True)
    names = ["a", "b", "c"]
    variables = {**dict.fromkeys(names, range(4)), "x": range(6)}
    arcs = [(p, "x") for p in names]
    net = tb.BayesianNetwork(variables, arcs, {**dict.fromkeys(names, (0.4, 0.3, 0.2, 0.1)), "x": truth})
    rows, new = net.sample(150, random_state=0), net.sample(5000, random_state=1)
    scores = {
        str(prior): float(tb.fit_parameters(net.dag, rows, prior).log_likelihood(new).mean())
        for prior in (tb.BackOff(), tb.MEstimate(1.0), "bdeu", tb.BDeu(ess=10), 1.0, "jeffreys")
    }
    best = scores.pop(str(tb.BackOff()))
    assert best > max(scores.values()) + 0.05


def test_size_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "_COPIES", 10**16)
    with pytest.raises(MemoryForecastError, match="smoothing 'x'"):
        pseudo_counts(tb.BackOff(), counts_from(random_rows(0)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0}, r"strength \(a number of rows, or 'auto'\) must be at least 1e-100; got 0\."),
        ({"strength": -1}, r"must be at least 1e-100; got -1\."),
        ({"strength": "strong"}, r"strength \(a number of rows, or 'auto'\) must be a number; got 'strong'\."),
        ({"strength": float("inf")}, r"must be at most 1e\+100; got inf\."),
        ({"drop": "first"}, r"drop must be one of 'least', 'last'; got 'first'\."),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        tb.BackOff(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("drop", ["last", "least"])
@pytest.mark.parametrize("parents", [["a", "b"], []])
def test_a_parent_with_one_state_changes_nothing(drop: str, parents: list[str]) -> None:
    table = table_from(random_rows(0))
    constants = [tb.Variable(f"k{i}", ["always"]) for i in range(60)]
    columns = [Column(v, np.zeros(table.n_rows, np.int8), None) for v in constants]
    counter = tb.Counter(tb.Table.of([*(table.column(name) for name in "abcx"), *columns]))
    rule = tb.BackOff(drop=drop)
    names = [v.name for v in constants]
    with_all, without = (counter.family("x", p) for p in (names[:30] + parents + names[30:], parents))
    np.testing.assert_array_equal(table_of(with_all, rule).table().ravel(), table_of(without, rule).table().ravel())
