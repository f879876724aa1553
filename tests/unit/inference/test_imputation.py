"""Holes filled by a network: against enumeration, whichever path a row takes, and all else left as it was."""

from __future__ import annotations

import datetime as dt
import math
import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2

import tunbridge as tb
from networks import random_network
from oracles.enumeration import Enumeration
from tunbridge.errors import (
    DataError,
    DataWarning,
    MemoryForecastError,
    TunbridgeWarning,
    UnknownVariableError,
    UnseenStateWarning,
    ZeroProbabilityWarning,
)
from tunbridge.inference import imputation
from tunbridge.kernels.inference.rows import MOST_MEMBERS
from tunbridge.probability.gaussian import LinearGaussian

PATHS = pytest.mark.parametrize("most_entries", [2**18, 30, 0], ids=["by elimination", "some by tree", "all by tree"])


@pytest.fixture
def net() -> tb.BayesianNetwork:
    return tb.BayesianNetwork(
        {"sky": ["clear", "grey", "black"], "rain": ["no", "yes"], "wet": ["no", "yes"]},
        [("sky", "rain"), ("rain", "wet")],
        {
            "sky": [0.5, 0.3, 0.2],
            "rain": [[1.0, 0.0], [0.6, 0.4], [0.1, 0.9]],
            "wet": [[0.9, 0.1], [0.0, 1.0]],
        },
    )


def random_rows(rng: np.random.Generator, net: tb.BayesianNetwork, n_rows: int, missing: float) -> dict[str, list]:
    """Return columns of random states, impossible combinations among them, of which a share is missing."""
    columns = {}
    for variable in net.variables:
        codes = rng.integers(0, variable.n_states, n_rows)
        gone = rng.random(n_rows) < missing
        columns[variable.name] = [None if g else variable.states[c] for c, g in zip(codes, gone, strict=True)]
    return columns


def quietly(work, *args, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroProbabilityWarning)
        return work(*args, **keywords)


def split(columns: dict[str, list], row: int) -> tuple[dict[str, str], list[str]]:
    """Return what a row knows, and the names of its holes."""
    given = {name: values[row] for name, values in columns.items() if values[row] is not None}
    return given, [name for name in columns if name not in given]


def values_of(table: tb.Table) -> list[dict]:
    return table.to_arrow().to_pylist()


# Exactness


@PATHS
def test_the_most_probable_completion_equals_enumeration(monkeypatch, most_entries):
    """Variables that are no columns are summed out, not maximised."""
    monkeypatch.setattr(imputation, "_MOST_ENTRIES", most_entries)
    n_checked = n_impossible = n_hidden = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=7, most_cells=600))
        oracle = Enumeration(list(net.cpts.values()))
        columns = random_rows(rng, net, 12, float(rng.choice([0.2, 0.5, 0.9])))
        for name in list(columns)[1:]:
            if rng.random() < 0.4:
                del columns[name]
                n_hidden += 1
        found = values_of(quietly(net.impute, columns))
        for row in range(12):
            given, holes = split(columns, row)
            assert {name: found[row][name] for name in given} == given
            if oracle.probability_of(given) == 0.0:
                assert all(found[row][name] is None for name in holes)
                n_impossible += bool(holes)
            elif holes:
                largest = oracle.unnormalised(holes, given).max()
                reached = oracle.probability_of(given | {name: found[row][name] for name in holes})
                assert reached == pytest.approx(largest, rel=1e-10, abs=0)
                n_checked += 1
    assert min(n_checked, n_impossible, n_hidden) > 15


@PATHS
def test_the_cell_wise_completion_equals_enumeration(monkeypatch, most_entries):
    monkeypatch.setattr(imputation, "_ANSWER_BYTES", most_entries)  # pieces of a few rows, or of one
    for seed in range(12):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=6, most_cells=400))
        oracle = Enumeration(list(net.cpts.values()))
        columns = random_rows(rng, net, 9, 0.5)
        found = values_of(quietly(net.impute, columns, jointly=False))
        for row in range(9):
            given, holes = split(columns, row)
            assert {name: found[row][name] for name in given} == given
            for name in holes:
                if oracle.probability_of(given) == 0.0:
                    assert found[row][name] is None
                    continue
                posterior = oracle.posterior(name, given)
                reached = posterior[net.variable(name).code(found[row][name])]
                assert reached == pytest.approx(posterior.max(), rel=1e-10, abs=0)


def test_jointly_and_cell_by_cell_may_differ():
    """P(a, b): the likeliest pair is (x, x), though y is the likelier state of b by itself."""
    net = tb.BayesianNetwork(
        {"a": ["x", "y", "z"], "b": ["x", "y"]}, [("a", "b")], {"a": [0.4, 0.3, 0.3], "b": [[1, 0], [0, 1], [0, 1]]}
    )
    rows = {"a": [None], "b": [None]}
    assert values_of(net.impute(rows)) == [{"a": "x", "b": "x"}]
    assert values_of(net.impute(rows, jointly=False)) == [{"a": "x", "b": "y"}]


def g_statistic(counts: np.ndarray, expected: np.ndarray) -> float:
    """Return 2 Σ n ln(n / e), infinite where something was drawn that cannot be."""
    seen = counts > 0
    if (expected[seen] == 0).any():
        return math.inf
    return float(2.0 * (counts[seen] * np.log(counts[seen] / expected[seen])).sum())


@PATHS
def test_draws_follow_the_joint_posterior(monkeypatch, most_entries):
    """And are told apart from draws of each cell by itself: the limit is one that chance exceeds once in 10⁹."""
    monkeypatch.setattr(imputation, "_MOST_ENTRIES", most_entries)
    n, n_told_apart = 20_000, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(large_network(rng))
        names = [str(name) for name in rng.permutation(net.nodes)]
        row = values_of(net.sample(1, random_state=seed))[0]
        given = {name: row[name] for name in names[: len(names) // 3]}
        holes = names[len(given) : -1] or names[-1:]  # else the last variable is no column
        frame = {name: [given.get(name)] * n for name in [*given, *holes]}
        drawn = net.impute(frame, "sample", random_state=seed).to_arrow()
        joint = Enumeration(list(net.cpts.values())).posterior(holes, given)
        counts = np.zeros(joint.shape)
        np.add.at(counts, tuple([net.variable(h).find(state) for state in drawn[h].to_pylist()] for h in holes), 1)
        limit = chi2.isf(1e-9, max(1, np.count_nonzero(joint) - 1)) + 5.0  # a little more, for cells of few draws
        assert g_statistic(counts, joint * n) < limit
        n_told_apart += g_statistic(counts, product_of_marginals(joint) * n) > limit
    assert n_told_apart >= 5


def large_network(rng: np.random.Generator) -> list[tb.ConditionalTable]:
    """Return the tables of a random network of five variables at least."""
    while True:
        cpts = random_network(rng, most_variables=7, most_states=3, most_cells=600)
        if len(cpts) >= 5:
            return cpts


def product_of_marginals(joint: np.ndarray) -> np.ndarray:
    """Return the joint distribution of variables that have the same marginals and are independent."""
    product = np.ones(())
    for axis in range(joint.ndim):
        others = tuple(i for i in range(joint.ndim) if i != axis)
        product = np.multiply.outer(product, joint.sum(axis=others))
    return product


def test_rows_are_drawn_independently(net):
    """Neighbouring rows, rows of different imputations, and cells of a row that do not depend on one another."""
    n = 40_000
    frame = {"sky": ["grey"] * n, "rain": [None] * n}
    one, two = (table.codes("rain") for table in net.imputations(frame, 2, random_state=3))
    p = 0.4
    slack = 5.0 * math.sqrt(p * p * (1 - p * p) / n)
    for pair in [(one[:-1], one[1:]), (one, two), (one[:-7], one[7:])]:
        assert abs(np.mean((pair[0] == 1) & (pair[1] == 1)) - p * p) < slack


# Large and extreme networks


def test_a_component_of_more_members_than_a_word_has_bits():
    n = int(MOST_MEMBERS) + 40
    names = [f"x{i}" for i in range(n)]
    rng = np.random.default_rng(2)
    tables = {names[0]: [0.3, 0.7]} | {name: rng.dirichlet([1, 1], 2) for name in names[1:]}
    net = tb.BayesianNetwork({name: ["a", "b"] for name in names}, list(pairwise(names)), tables)
    frame = {name: [None, None] for name in names} | {names[-1]: ["a", "b"]}
    found = values_of(net.impute(frame))
    best = [net.most_probable({names[-1]: state}) for state in "ab"]
    assert found == [dict(b) | {names[-1]: s} for b, s in zip(best, "ab", strict=True)]
    drawn = net.impute(frame, "sample", random_state=0)
    assert drawn.missing == {}
    assert np.isfinite(net.log_likelihood(drawn)).all()


def test_many_findings_do_not_underflow():
    n = 3000
    features = {f"f{i}": [[0.2, 0.8], [0.7, 0.3]] if i % 2 else [[0.8, 0.2], [0.3, 0.7]] for i in range(n)}
    net = tb.BayesianNetwork(
        {"c": ["u", "v"], **{name: ["0", "1"] for name in features}},
        [("c", name) for name in features],
        {"c": [0.5, 0.5], **features},
    )
    frame = {"c": [None, None]} | {
        name: ["1" if i % 2 else "0", "0" if i < 1502 else "1"] for i, name in enumerate(features)
    }
    expected = net.predict(frame, "c").tolist()
    assert net.impute(frame).to_arrow()["c"].to_pylist() == expected
    assert net.impute(frame, "sample", random_state=1).to_arrow()["c"].to_pylist()[0] == expected[0] == "u"


def test_tables_that_cannot_be_written_out(monkeypatch):
    yes_no = ["no", "yes"]
    causes = [tb.Variable(f"c{i}", yes_no) for i in range(40)]
    effect = tb.noisy_or(tb.Variable("x", yes_no), {c: 0.02 * (1 + i % 9) for i, c in enumerate(causes)}, leak=0.01)
    noisy = tb.BayesianNetwork.from_tables([*(tb.CPT(c, [], [0.7, 0.3]) for c in causes), effect])
    rows = {"x": ["yes", "no"], "c3": [None, None], "c8": [None, None]}
    found = values_of(noisy.impute(rows))
    assert found == [{"x": x, **noisy.most_probable({"x": x}, of=["c3", "c8"])} for x in ("yes", "no")]
    n = 20_000
    drawn = noisy.impute({"x": ["yes"] * n, "c8": [None] * n}, "sample", random_state=4).to_arrow()["c8"].to_pylist()
    p = noisy.posterior("c8", {"x": "yes"})["yes"]
    assert abs(drawn.count("yes") / n - p) < 5 * math.sqrt(p * (1 - p) / n) < abs(p - 0.3)

    many = [tb.Variable(f"p{i}", range(20)) for i in range(6)]
    child = tb.SparseCPT(tb.Variable("y", yes_no), many, {(0,) * 6: [0.1, 0.9]}, [0.8, 0.2])
    sparse = tb.BayesianNetwork.from_tables([*(tb.CPT(p, [], np.full(20, 0.05)) for p in many), child])
    rows = {f"p{i}": [0, 0] for i in range(6)} | {"p0": [None, 3], "y": ["yes", None]}
    assert values_of(sparse.impute(rows))[1]["y"] == "no"
    frame = {name: values[:1] * n for name, values in rows.items()}
    drawn = sparse.impute(frame, "sample", random_state=5).to_arrow()["p0"].to_pylist()
    p = 0.9 / (0.9 + 19 * 0.2)
    assert abs(drawn.count(0) / n - p) < 5 * math.sqrt(p * (1 - p) / n)
    all_missing = {f"p{i}": [None] * 3 for i in range(6)} | {"y": pa.nulls(3, pa.string())}
    assert sparse.impute(all_missing, "sample", random_state=5).missing == {}
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e7")
    with pytest.raises(MemoryForecastError, match=r"a row cannot be completed: .* Ways out: jointly=False, method='s"):
        sparse.impute(all_missing)


def test_memory_is_forecast(net, monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "4000")
    with pytest.raises(MemoryForecastError, match=r"500 imputations would need .* Ask for fewer at a time"):
        net.imputations({"sky": [None] * 20, "wet": ["no"] * 20}, 500)
    with pytest.raises(MemoryForecastError, match=r"100000 imputations would need|100 000 imputations would need"):
        net.imputations({"sky": ["clear"]}, 10**5)  # without a hole, too


# Randomness


def test_equal_seeds_give_equal_tables_whatever_the_threads(net, monkeypatch):
    monkeypatch.setattr(imputation, "_PIECE", 64)
    frame = tb.as_table(net.sample(1000, random_state=0)).select(["wet"])
    tables = [net.impute(frame, "sample", columns=["rain", "sky"], random_state=7, n_jobs=k) for k in (1, 2, 5)]
    several = net.imputations(frame, 3, columns=["rain", "sky"], random_state=7)
    others = net.impute(frame, "sample", columns=["rain", "sky"], random_state=8)
    for name in ("rain", "sky"):
        assert all((t.codes(name) == tables[0].codes(name)).all() for t in [*tables, several[0]])
        assert (several[1].codes(name) != several[0].codes(name)).any()
        assert (others.codes(name) != tables[0].codes(name)).any()


def test_a_generator_gives_other_draws_every_time(net):
    frame, rng = {"sky": [None] * 200}, np.random.default_rng(0)
    one, two = (net.impute(frame, "sample", random_state=rng).codes("sky") for _ in range(2))
    again = net.impute(frame, "sample", random_state=np.random.default_rng(0)).codes("sky")
    assert (one != two).any()
    assert (one == again).all()
    assert (net.impute(frame, "sample").codes("sky") != net.impute(frame, "sample").codes("sky")).any()


def test_a_row_is_drawn_the_same_whatever_follows_it(net):
    frame = {"sky": [None] * 300, "wet": ["yes", "no", None] * 100}
    long = net.impute(frame, "sample", random_state=1)
    short = net.impute({name: values[:50] for name, values in frame.items()}, "sample", random_state=1)
    assert values_of(short) == values_of(long)[:50]


# What stays as it was


def test_other_columns_their_order_and_weights_stay(net):
    frame = {
        "id": [7, 8, 9],
        "wet": ["yes", None, "no"],
        "dose": [1.5, None, 2.5],
        "sky": ["clear", "black", None],
        "note": ["a", None, "c"],
    }
    given = tb.as_table(frame, weights=[1.0, 2.0, 0.5])
    found = net.impute(given)
    assert found.names == given.names
    assert found.weights.tolist() == [1.0, 2.0, 0.5]
    assert found.missing == {"dose": 1, "note": 1}
    assert values_of(found)[1] == {"id": 8, "wet": "yes", "dose": None, "sky": "black", "note": None}
    for name in ("id", "dose", "note"):
        assert found.column(name).type == given.column(name).type
        assert found.variable(name) == given.variable(name)
    assert given.missing == {"wet": 1, "dose": 1, "sky": 1, "note": 1}


def test_a_frame_without_holes_comes_back(net):
    frame = tb.as_table({"sky": ["clear", "grey"], "wet": ["no", "no"]})
    for found in (net.impute(frame), net.impute(frame, jointly=False), net.impute(frame, "sample", random_state=0)):
        assert found.to_arrow().equals(frame.to_arrow())
    assert net.impute({"sky": pa.array([], pa.string())}).n_rows == 0


def test_values_that_the_network_does_not_know_stay_and_count_as_missing(net):
    frame = {"sky": ["green", "green", "black"], "rain": ["yes", None, None], "wet": [None, "no", "yes"]}
    with pytest.warns(UnseenStateWarning, match="does not know count as missing: sky: 'green'"):
        found = net.impute(frame, columns=["rain", "wet", "sky"])
    assert values_of(found) == [
        {"sky": "green", "rain": "yes", "wet": "yes"},
        {"sky": "green", "rain": "no", "wet": "no"},
        {"sky": "black", "rain": "yes", "wet": "yes"},
    ]


def test_absent_variables_are_added_when_they_are_named(net):
    frame = {"wet": ["yes", None]}
    assert net.impute(frame).names == ("wet",)
    found = net.impute(frame, columns=["wet", "rain", "sky"])
    assert found.names == ("wet", "rain", "sky")
    assert values_of(found)[0] == {"wet": "yes", "rain": "yes", "sky": "black"}
    assert found.variable("sky") == net.variable("sky")
    assert net.impute(frame, columns=["rain"]).missing == {"wet": 1}


def test_rows_of_nothing_get_what_is_most_probable_of_all(net):
    found = net.impute({"sky": [None], "rain": [None], "wet": [None], "id": [1]})
    assert values_of(found) == [{**net.most_probable(), "id": 1}]


def test_impossible_rows_keep_their_holes(net):
    frame = {"sky": ["clear", "grey", None], "rain": ["yes", None, "yes"], "wet": [None, "no", "no"]}
    for how in ({}, {"jointly": False}, {"method": "sample", "random_state": 0}):
        with pytest.warns(ZeroProbabilityWarning) as caught:
            found = net.impute(frame, **how)
        told = "impossible evidence in 2 of 3 rows (first: row 1); missing values there are not imputed."
        assert [str(w.message) for w in caught] == [told]
        assert found.missing == {"sky": 1, "wet": 1}
    with pytest.warns(ZeroProbabilityWarning) as caught:
        net.imputations(frame, 4, random_state=0)
    assert len(caught) == 1


def test_complete_rows_that_are_impossible_are_no_matter(net):
    frame = {"sky": ["clear", None], "rain": ["yes", "yes"], "wet": ["no", "yes"]}
    assert net.impute(frame).missing == {}


# Types


@pytest.fixture
def numbered() -> tb.BayesianNetwork:
    return tb.BayesianNetwork(
        {"n": [1, 2, 3], "t": ["1", "2"], "b": [False, True]},
        [("n", "t"), ("n", "b")],
        {"n": [0.2, 0.2, 0.6], "t": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], "b": [[1, 0], [1, 0], [0.1, 0.9]]},
    )


def test_numbers_stay_numbers_of_their_type(numbered):
    frame = pa.table(
        {
            "n": pa.array([1, None, 2, None], pa.int16()),
            "t": pa.array([1, None, None, 1], pa.int64()),
            "b": pa.array([False, True, None, None], pa.bool_()),
        }
    )
    found = numbered.impute(frame).to_arrow()
    assert found.schema == frame.schema
    assert found.to_pylist() == [
        {"n": 1, "t": 1, "b": False},
        {"n": 3, "t": 2, "b": True},
        {"n": 2, "t": 2, "b": False},
        {"n": 1, "t": 1, "b": False},
    ]


def test_numbers_written_as_text_stay_text(numbered):
    found = numbered.impute({"n": ["1", None], "b": ["true", "true"]}).to_arrow()
    assert found["n"].to_pylist() == ["1", "3"]
    assert found["b"].to_pylist() == ["true", "true"]


def test_floats_with_nan(numbered):
    frame = np.array([(1.0, np.nan), (np.nan, 1.0)], dtype=[("n", float), ("other", float)])
    found = numbered.impute(frame)
    assert found.to_arrow()["n"].to_pylist() == [1.0, 3.0]
    assert found.variable("n").states == (1.0, 2.0, 3.0)
    assert found.missing == {"other": 1}


def test_pandas_categoricals_keep_the_order_of_their_categories(net):
    column = pd.Categorical(["black", None], categories=["black", "grey", "clear"], ordered=True)
    found = net.impute(pd.DataFrame({"sky": column, "wet": pd.Categorical(["no", "no"])})).to_pandas()
    assert found["sky"].tolist() == ["black", "clear"]
    assert found["sky"].cat.categories.tolist() == ["black", "grey", "clear"]
    assert found["sky"].cat.ordered
    fewer = pd.Categorical(["black", None], categories=["black"], ordered=True)
    found = net.impute(pd.DataFrame({"sky": fewer})).to_pandas()
    assert found["sky"].tolist() == ["black", "clear"]
    assert not found["sky"].cat.ordered


def test_columns_of_nothing_get_the_type_of_the_states(net, numbered):
    assert net.impute({"sky": [None], "wet": ["no"]}).to_arrow().schema.field("sky").type == pa.string()
    assert numbered.impute({"n": pa.nulls(2)}).to_arrow()["n"].to_pylist() == [3, 3]


def test_dates_are_states_like_others():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    net = tb.BayesianNetwork({"day": days}, [], {"day": [0.3, 0.7]})
    found = net.impute({"day": [days[0], None]}).to_arrow()["day"]
    assert found.to_pylist() == days
    assert found.type == pa.date32()


def test_numbers_whose_network_has_other_states_are_left():
    states = ["young", "old"]
    net = tb.BayesianNetwork({"age": states, "ill": ["no", "yes"]}, [], {"age": [0.5, 0.5], "ill": [0.9, 0.1]})
    frame = {"age": [31.5, None, 60.0], "ill": [None, "no", "yes"]}
    with pytest.warns(TunbridgeWarning) as caught:
        found = net.impute(frame)
    assert [w.category for w in caught] == [UnseenStateWarning, DataWarning]
    assert values_of(found) == [
        {"age": a, "ill": i} for a, i in zip([31.5, None, 60.0], ["no", "no", "yes"], strict=True)
    ]
    assert found.variable("age").is_continuous
    told = (
        "column 'age' must hold the network's states to be filled; it holds numbers, and they are 'young', 'old'. "
        "Encode it like the data of the network."
    )
    assert str(caught[1].message) == f"missing values are not imputed: {told}"
    with pytest.raises(DataError, match=re.escape(told)), pytest.warns(UnseenStateWarning):
        net.impute(frame, columns=["age"])
    with (
        pytest.raises(DataError, match="it holds values such as False, True, and they"),
        pytest.warns(UnseenStateWarning),
    ):
        net.impute({"age": pa.array([True, None])}, columns=["age"])


@pytest.fixture
def cut_net():
    """Return a network of an age in two intervals, and an illness of the old."""
    age = tb.Variable("age", cuts=[45.5])
    ill = tb.CPT(tb.Variable("ill", ["no", "yes"]), [age], [[0.9, 0.1], [0.2, 0.8]])
    return tb.BayesianNetwork.from_tables([tb.CPT(age, [], [0.4, 0.6]), ill])


def test_numbers_get_the_middle_one_of_those_in_the_interval(cut_net):
    frame = {"age": [31.5, 33.0, 45.5, 60.0, None, None], "ill": [None, "no", "no", None, "no", "yes"]}
    found = cut_net.impute(frame).to_arrow()
    assert found["age"].to_pylist() == [31.5, 33.0, 45.5, 60.0, 33.0, 60.0]
    assert found["ill"].to_pylist() == ["no", "no", "no", "yes", "no", "yes"]
    whole = cut_net.impute(pa.table({"age": pa.array([30, 70, None]), "ill": ["no", "yes", "yes"]})).to_arrow()
    assert whole["age"].to_pylist() == [30, 70, 70]
    assert whole.schema.field("age").type == pa.int64()
    nobody = cut_net.impute({"age": [30.0, None], "ill": ["no", "yes"]}).to_arrow()
    assert nobody["age"].to_pylist() == [30.0, None]  # no one is older, so no number stands for the interval


def test_numbers_are_drawn_from_those_in_the_interval(cut_net):
    known = [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    frame = {"age": known + [None] * 300, "ill": ["no"] * 6 + ["yes"] * 300}
    one, other = (cut_net.impute(frame, "sample", random_state=s).floats("age")[6:] for s in (0, 1))
    assert set(one) == set(known)
    assert np.mean(one > 45.5) == pytest.approx(0.48 / 0.52, abs=0.06)  # four standard errors
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(one, cut_net.impute(frame, "sample", random_state=0, n_jobs=1).floats("age")[6:])


def test_numbers_as_text_stay_text(cut_net):
    frame = {"age": ["31.50", None, "60", None, "about 50"], "ill": [None, "no", None, "yes", "no"]}
    with pytest.warns(UnseenStateWarning, match="about 50"):
        found = cut_net.impute(frame).to_arrow()
    assert found["ill"].to_pylist() == ["no", "no", "yes", "yes", "no"]
    assert found["age"].to_pylist() == ["31.50", "31.50", "60", "60", "about 50"]


def test_intervals_are_filled_by_intervals(cut_net):
    table, _ = tb.discretise({"age": [31.5, None, 60.0], "ill": [None, "no", None]}, {"age": [45.5]})
    found = cut_net.impute(table)
    assert found.to_arrow()["age"].to_pylist() == ["≤ 45.5", "≤ 45.5", "> 45.5"]
    assert found.variable("age").cuts == (45.5,)
    nothing = cut_net.impute({"age": [None, None], "ill": ["no", "yes"]}).to_arrow()
    assert nothing["age"].to_pylist() == ["≤ 45.5", "> 45.5"]


def test_several_such_columns_are_told_of_once():
    both = {"a": [0.5, 0.5], "b": [0.5, 0.5]}
    net = tb.BayesianNetwork({"a": ["x", "y"], "b": ["x", "y"]}, [], both)
    with pytest.warns(TunbridgeWarning) as caught:
        net.impute({"a": [1.5, None], "b": [2.5, None]})
    rule = "columns 'a', 'b' must hold the network's states to be filled; 'a' holds numbers, and they are"
    told = f"missing values are not imputed: {rule}"
    assert [str(w.message).startswith(told) for w in caught] == [False, True]


def test_a_network_with_numbers_of_its_own_gives_means():
    weight = LinearGaussian(tb.Variable("weight"), [], intercepts=70.0, variances=9.0)
    net = tb.BayesianNetwork.from_tables([weight])
    assert net.impute({"weight": [None, 65.5]}).floats("weight").tolist() == [70.0, 65.5]
    assert net.impute({"weight": [None, 65]}).to_arrow()["weight"].to_pylist() == [70, 65]


def test_a_column_read_from_a_file_forgets_its_markers(net, tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("sky,wet,note\nclear,NA,NA\nblack,yes,x\n")
    found = net.impute(tb.read_table(path))
    assert found.missing == {"note": 1}
    assert set(found.read_as_missing) == {"note"}


# What is wrong


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"method": "mode"}, DataError, "method must be one of 'most-probable', 'sample'; got 'mode'."),
        ({"method": "samples"}, DataError, "got 'samples'. Did you mean 'sample'?"),
        (
            {"method": "sample", "jointly": False},
            DataError,
            "jointly must be True for method='sample'; got False. Values drawn one by one would not fit together.",
        ),
        ({"columns": "sky"}, DataError, "columns must be a list of names; got the text 'sky'. Write ['sky']."),
        ({"columns": 3}, DataError, "columns must be a list of names; got 3."),
        ({"columns": [["sky"]]}, UnknownVariableError, "columns must name variables of the network; got ['sky']."),
        (
            {"columns": ["skye"]},
            UnknownVariableError,
            "columns must name variables of the network; got 'skye'. Did you mean 'sky'?",
        ),
        ({"method": "sample", "random_state": -1}, DataError, "random_state must be a non-negative integer"),
        ({"n_jobs": 0}, DataError, "n_jobs must be an integer other than 0"),
    ],
)
def test_messages(net, keywords, error, message):
    with pytest.raises(error, match=re.escape(message)):
        net.impute({"sky": [None, "clear"]}, **keywords)


def test_messages_about_the_number_and_the_frame(net):
    with pytest.raises(DataError, match=r"n must be at least 1; got 0\."):
        net.imputations({"sky": [None]}, 0)
    with pytest.raises(DataError, match=r"n must be an integer; got 2\.5\."):
        net.imputations({"sky": [None]}, 2.5)
    with pytest.raises(DataError, match=r"n must be an integer from 1 to 2\*\*63 - 1; got one of 1329 bits"):
        net.imputations({"sky": [None]}, 10**400)
    with pytest.raises(MemoryForecastError):
        net.imputations({"sky": [None]}, 2**62)
    with pytest.raises(DataError, match="the data must have a column of the network"):
        net.impute({"cloud": ["white"]})


@pytest.mark.parametrize("kind", ["float64", "Int64", "datetime64[s]", "object"])
def test_missing_values_alone_are_of_no_type(kind):
    alarms = tb.example_network("burglary")
    frame = pd.DataFrame({"Alarm": pd.Series([None] * 2, dtype=kind), "JohnCalls": ["yes", "no"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [alarms.impute(frame), alarms.impute(frame, columns=["Alarm"]), alarms.impute(frame, jointly=False)]
        drawn = alarms.imputations(frame, 20, random_state=0)
    expected = [{"Alarm": "no", "JohnCalls": "yes"}, {"Alarm": "no", "JohnCalls": "no"}]
    assert [values_of(table) for table in found] == [expected] * 3
    assert {row["Alarm"] for table in drawn for row in values_of(table)} == {"yes", "no"}


def test_missing_numbers_alone_stay_numbers_where_the_states_are_some():
    coin = tb.BayesianNetwork({"x": [0, 1]}, [], {"x": [0.25, 0.75]})
    found = coin.impute({"x": np.full(2, np.nan)})
    assert found.column("x").type == pa.float64()
    assert values_of(found) == [{"x": 1.0}] * 2


def test_methods_are_those_of_the_module():
    assert imputation.METHODS == ("most-probable", "sample")
