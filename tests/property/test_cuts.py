"""Cut points: each number in its interval, whatever it is written as, and networks that read numbers like labels."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.discretise import interval_of
from tunbridge.data import Variable, encode
from tunbridge.data.columns import encode_column
from tunbridge.formats import NetworkParts, read_network_parts, write_network_parts
from tunbridge.formats.native import read_model, write_model
from tunbridge.probability import CPT

examples = settings(max_examples=100, deadline=None)
finite = st.floats(allow_nan=False, allow_infinity=False)
cut_lists = st.lists(st.one_of(st.integers(-5, 5).map(float), finite), max_size=8, unique=True).map(sorted)
cells = st.one_of(st.integers(-6, 6).map(float), finite, st.none())


@st.composite
def variables(draw, name="x"):
    cuts = draw(cut_lists)
    named = draw(st.booleans())
    return Variable(name, [f"s{i}" for i in range(len(cuts) + 1)] if named else None, cuts=cuts)


@st.composite
def columns(draw):
    """Return a variable and values some of which are its cut points."""
    variable = draw(variables())
    values = draw(st.lists(st.one_of(cells, st.sampled_from([*variable.cuts, None])), max_size=20))
    return variable, values


def oracle(variable, value):
    return -1 if value is None else interval_of(value, variable.cuts)


@examples
@given(columns())
def test_a_number_is_in_its_interval_however_it_comes(column):
    variable, values = column
    expected = [oracle(variable, value) for value in values]
    assert [variable.find(value) for value in values] == expected
    assert [variable.find(None if value is None else repr(value)) for value in values] == expected
    floats = np.array([np.nan if value is None else value for value in values], float)
    texts = [None if value is None else repr(value) for value in values]
    for given_as in (floats, pa.array(values, pa.float64()), pa.array(texts, pa.string()), texts):
        codes, unseen = encode_column(variable, given_as)
        assert codes.tolist() == expected
        assert unseen == []


@examples
@given(st.data())
def test_labels_and_numbers_may_stand_in_one_column(data):
    variable, values = data.draw(columns())
    labelled = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    codes = [oracle(variable, value) for value in values]
    pairs = zip(values, codes, labelled, strict=True)
    cells = [None if v is None else variable.states[code] if label else repr(v) for v, code, label in pairs]
    assert encode_column(variable, pa.array(cells, pa.string()))[0].tolist() == codes
    strange = [*cells, "neither", None]
    assert encode_column(variable, pa.array(strange, pa.string()))[0].tolist() == [*codes, -1, -1]
    assert encode_column(variable, pa.array(strange, pa.string()))[1] == ["neither"]


@examples
@given(columns())
def test_whole_numbers_and_decimals_are_cut_alike(column):
    variable, values = column
    whole = [None if value is None or abs(value) > 2**53 else int(value) for value in values]
    expected = [oracle(variable, value) for value in whole]
    assert encode_column(variable, pa.array(whole, pa.int64()))[0].tolist() == expected
    assert encode_column(variable, pa.array(whole, pa.decimal128(38, 4)))[0].tolist() == expected


@examples
@given(columns())
def test_discretised_tables_are_what_encoding_gives(column):
    variable, values = column
    frame = {"x": np.array([np.nan if value is None else value for value in values], float)}
    table, _ = tb.discretise(frame, {"x": variable.cuts})
    np.testing.assert_array_equal(encode(frame, [table.variable("x")])[0].codes("x"), table.codes("x"))
    np.testing.assert_array_equal(encode(table, [table.variable("x")])[0].codes("x"), table.codes("x"))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_networks_answer_numbers_as_they_answer_labels(seed, n_bins):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=60), int(rng.integers(0, 4)))
    y = np.round(x + rng.normal(size=60), int(rng.integers(0, 4)))
    frame = {"x": x, "y": y, "z": np.where(x + y > 0, "up", "down")}
    frame = {name: np.where(rng.random(60) < 0.1, None if name == "z" else np.nan, v) for name, v in frame.items()}
    method = rng.choice(["frequency", "width"])
    cut, _ = tb.discretise(frame, str(method), n_bins=n_bins)
    dag = tb.DAG(["x", "y", "z"], [("x", "y"), ("x", "z"), ("y", "z")])
    tables = [_random_table(rng, cut, name, dag.parents(name)) for name in dag.nodes]
    net = tb.BayesianNetwork.from_tables(tables)
    for target in dag.nodes:
        np.testing.assert_array_equal(net.predict_proba(frame, target), net.predict_proba(cut, target))
    np.testing.assert_array_equal(net.log_likelihood(frame), net.log_likelihood(cut))
    row = {"x": x[0], "y": y[0]}
    labels = {name: cut.variable(name).states[interval_of(v, cut.variable(name).cuts)] for name, v in row.items()}
    assert net.posterior("z", row) == net.posterior("z", labels)


def _random_table(rng, cut, name, parents):
    variable, given_by = cut.variable(name), [cut.variable(p) for p in parents]
    shape = [p.n_states for p in given_by]
    return CPT(
        variable,
        given_by,
        rng.dirichlet(np.ones(variable.n_states), shape) if shape else rng.dirichlet(np.ones(variable.n_states)),
    )


@settings(max_examples=50, deadline=None)
@given(variables("x"), variables('a "b"; 1'))
def test_files_give_the_cut_points_back(x, y):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(y.n_states), x.n_states)
    parts = NetworkParts("n", [CPT(x, [], rng.dirichlet(np.ones(x.n_states))), CPT(y, [x], rows)])
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("tb", "bif", "xmlbif", "net", "dsc", "xdsl", "dsl"):
            write_network_parts(Path(folder) / f"n.{suffix}", parts)
            assert read_network_parts(Path(folder) / f"n.{suffix}").variables == parts.variables
        write_model(Path(folder) / "m.tb", "test", {"v": [x, y]})
        assert read_model(Path(folder) / "m.tb")[1] == {"v": [x, y]}


@examples
@given(variables(), st.lists(finite, min_size=1, max_size=3, unique=True).map(sorted))
def test_equality_tells_cut_points_apart(variable, cuts):
    other = Variable("x", [f"s{i}" for i in range(len(cuts) + 1)], cuts=cuts)
    assert (variable == other) == ((variable.cuts, variable.states) == (other.cuts, other.states))
    again = Variable(variable.name, variable.states, cuts=variable.cuts)
    assert (again, hash(again)) == (variable, hash(variable))


@pytest.mark.parametrize("n_cuts", [1, 3, 126, 127, 200])
def test_a_column_of_many_rows(n_cuts):
    rng = np.random.default_rng(n_cuts)
    cuts, values = np.sort(rng.normal(size=n_cuts)), rng.normal(size=5000)
    values[rng.random(5000) < 0.1] = np.nan
    values[:n_cuts] = cuts
    variable = Variable("x", cuts=cuts)
    expected = [interval_of(value, variable.cuts) for value in values]
    assert encode_column(variable, values)[0].tolist() == expected
