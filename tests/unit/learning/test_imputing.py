from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(0)
    n = 600
    age = np.round(rng.normal(50, 15, n), 1)
    weight = np.round(0.8 * age + rng.normal(0, 5, n), 2)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 55) / 6)), "yes", "no").astype(object)
    visits = rng.integers(0, 30, n)
    income = np.round(np.exp(rng.normal(10, 1, n)), 2)
    return {"age": age, "weight": weight, "ill": ill, "visits": visits, "income": income}


@pytest.fixture(scope="module")
def holes(truth):
    rng = np.random.default_rng(1)
    out = {}
    for name, values in truth.items():
        gone = rng.random(len(values)) < 0.15
        kept = values.astype(object)
        kept[gone] = None
        out[name] = kept.tolist()
    return {**out, "id": [f"P{i}" if i else None for i in range(600)]}


def test_values_are_inferred_from_the_rest_of_their_row(truth, holes):
    found = tb.impute(holes)
    assert set(found.table.missing) == {"id"}
    assert found.skipped == {"id": "has 599 different texts"}
    for name, share in (("age", 0.4), ("weight", 0.4)):
        cells = [c for c in found.cells if c.column == name]
        errors = np.array([c.value - truth[name][c.row] for c in cells])
        assert (errors**2).mean() < share * truth[name].var()
        assert len({c.value for c in cells}) > len(cells) / 2
        inside = np.mean([c.low <= truth[name][c.row] <= c.high for c in cells])
        assert 0.8 < inside <= 1
    cells = [c for c in found.cells if c.column == "ill"]
    assert np.mean([c.value == truth["ill"][c.row] for c in cells]) > 0.7
    assert all(0.5 <= c.probability <= 1 for c in cells)


def test_numbers_look_like_those_of_their_column(truth, holes):
    found = tb.impute(holes)
    frame = found.to_pandas()
    assert (frame["visits"] == frame["visits"].round()).all()
    assert (frame["age"] == frame["age"].round(1)).all()
    assert frame["income"].min() >= truth["income"].min()
    for name, values in holes.items():
        known = [i for i, v in enumerate(values) if v is not None]
        assert [frame[name][i] for i in known] == [values[i] for i in known]


def test_numbers_beyond_the_known_ones_lie_in_their_intervals():
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(50, 10, 400), 1)
    y = np.round(2 * x + rng.normal(0, 3, 400))
    gone = x > 62
    found = tb.impute({"x": x, "y": np.where(gone, np.nan, y)})
    assert all(c.low <= c.value <= c.high for c in found.cells)
    assert sum(c.value > y[~gone].max() for c in found.cells) > len(found.cells) / 3
    assert np.mean([c.low <= y[c.row] <= c.high for c in found.cells]) > 0.8
    drawn = [c.value for c in tb.impute({"x": x, "y": np.where(gone, np.nan, y)}, "sample").cells]
    assert np.mean(np.isclose(drawn, y[~gone].max())) < 0.2


@pytest.mark.parametrize(("sign", "shift", "least"), [(1, 0, 0.0), (1, 1, 1.0), (-1, 0, 0.0), (-1, 1, 1.0)])
def test_numbers_and_intervals_keep_the_sign(sign, shift, least):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 400)
    y = sign * (np.round(np.abs(rng.normal(0, 6, 400))) + shift)
    found = tb.impute({"x": x, "y": np.where(rng.random(400) < 0.3, np.nan, y)}, "sample")
    assert min(sign * c.value for c in found.cells) == least
    assert all(sign * end >= least for c in found.cells for end in (c.low, c.high))


def test_skewed_numbers_get_their_mean():
    rng = np.random.default_rng(0)
    income = np.exp(rng.normal(10, 1.5, 1_000))
    cells = tb.impute({"x": rng.normal(0, 1, 1_000), "income": np.where(np.arange(1_000) < 50, np.nan, income)}).cells
    logs = np.log(income[50:])
    assert np.log(cells[0].value) == pytest.approx(logs.mean() + logs.var() / 2, abs=0.01)
    assert cells[0].value == pytest.approx(income[50:].mean(), rel=0.1)
    few = np.array([1.0, 1.5, 2.0, 100.0] * 10 + [np.nan])  # the mean of such a tail is beyond all values
    assert tb.impute({"x": np.arange(41) % 7 * 1.1, "y": few}).cells[0].value <= 100.0


def test_draws_keep_the_spread_and_repeat_with_their_seed(truth, holes):
    one, same, other = (tb.impute(holes, "sample", random_state=s) for s in (1, 1, 2))
    assert [c.value for c in one.cells] == [c.value for c in same.cells]
    assert [c.value for c in one.cells] != [c.value for c in other.cells]
    drawn = one.to_pandas()
    expected = np.corrcoef(truth["age"], truth["weight"])[0, 1]
    assert np.corrcoef(drawn["age"], drawn["weight"])[0, 1] == pytest.approx(expected, abs=0.04)


def test_columns_and_ignored_ones(holes):
    found = tb.impute(holes, columns=["age"], ignore=["income"])
    assert set(found.counts) == {"age"}
    assert "income" not in found.network.nodes


def test_a_report_has_a_line_for_each_cell(holes):
    found = tb.impute(holes)
    report = found.report().to_pydict()
    assert len(report["row"]) == len(found.cells)
    assert min(report["row"]) >= 1
    assert str(found).splitlines()[-1] == "not imputed: id has 599 different texts"


def test_columns_that_nothing_tells_about_are_named():
    rng = np.random.default_rng(0)
    alone = [None, *rng.normal(size=99).tolist()]
    x = rng.normal(size=100)
    found = tb.impute({"alone": alone, "x": x, "y": x + rng.normal(size=100) / 9})
    assert found.unrelated == ("alone",)
    assert "no other column tells about alone" in str(found)


def test_what_has_no_missing_values_comes_back(truth):
    found = tb.impute(truth)
    assert found.cells == ()
    assert found.network is None


BAD = {
    "column": ({"columns": ["agee"]}, "columns must name columns of the table; got 'agee'. Did you mean 'age'?"),
    "ignore": ({"ignore": ["agee"]}, "ignore must name columns of the table; got 'agee'"),
    "method": ({"method": "mean"}, "method must be one of"),
    "level": ({"level": 1}, "level must be"),
}


@pytest.mark.parametrize(("settings", "message"), BAD.values(), ids=BAD)
def test_bad_settings(holes, settings, message):
    with pytest.raises(DataError) as error:
        tb.impute(holes, **settings)
    assert message in str(error.value)


def test_one_column_alone_tells_nothing():
    with pytest.raises(DataError, match="two columns at least that tell about each other"):
        tb.impute({"x": [1.5, 2.5, None, 4.0]})


def test_networks_with_numbers_impute(holes):
    net = tb.learn_network({name: holes[name] for name in ("age", "weight", "ill")})
    filled = net.impute(holes)
    assert set(filled.missing) == {"visits", "income", "id"}
    expected = net.predict({"weight": [40.0]}, "age")
    assert net.impute({"weight": [40.0, 41.0], "age": [None, 50.5]}).floats("age")[0] == pytest.approx(expected[0])
    assert len(net.imputations(holes, 3, random_state=0)) == 3
    a, b = (net.impute(holes, "sample", random_state=s).floats("age") for s in (0, 1))
    assert not np.array_equal(a, b)
