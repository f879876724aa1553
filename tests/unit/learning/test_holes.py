"""The report on missing cells: its tests against SciPy's, its patterns against plain loops, and what it says."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency, false_discovery_control

import tunbridge as tb
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning import HolePattern
from tunbridge.learning.missing import missingness as holes


def table_with_holes(seed: int, n: int = 600) -> dict[str, list]:
    """Return columns of states and numbers: the holes of x depend on a, those of y on nothing, z has rare states."""
    rng = np.random.default_rng(seed)
    a = rng.choice(["p", "q", "r"], n, p=[0.5, 0.3, 0.2])
    z = rng.choice(["u", "v", "w", "rare", "rarer"], n, p=[0.5, 0.3, 0.17, 0.02, 0.01])
    number = np.round(rng.normal(size=n), 3)
    gone_x = rng.random(n) < np.where(a == "p", 0.1, 0.4)
    gone_y, gone_z = rng.random(n) < 0.15, rng.random(n) < 0.1
    return {
        "a": a.tolist(),
        "x": [None if g else int(v) for g, v in zip(gone_x, rng.integers(0, 2, n), strict=True)],
        "y": [None if g else v for g, v in zip(gone_y, rng.choice(["m", "n"], n), strict=True)],
        "z": [None if g else v for g, v in zip(gone_z, z, strict=True)],
        "number": [None if i < 5 else v for i, v in enumerate(number.tolist())],
    }


def two_way(column: list, other: list) -> dict[object, list[int]]:
    """Return for each state of another column how many rows have a hole in a column, and how many have none."""
    found: dict[object, list[int]] = {}
    for value, state in zip(column, other, strict=True):
        if state is not None:
            found.setdefault(state, [0, 0])[0 if value is None else 1] += 1
    return found


def pooled(cells: dict[object, list[int]]) -> list[list[int]]:
    """Return the cells, those that are expected to be small put together, and with the next smallest if need be."""
    total = [sum(c[side] for c in cells.values()) for side in (0, 1)]
    share = min(total) / sum(total)
    ordered = sorted(cells.values(), key=sum)
    rare = [c for c in ordered if sum(c) * share < 5.0]
    if rare and sum(map(sum, rare)) * share < 5.0:
        rare = ordered[: len(rare) + 1]
    others = [c for c in ordered if not any(c is r for r in rare)]
    return [*others, *([[sum(c[0] for c in rare), sum(c[1] for c in rare)]] if rare else [])]


@pytest.mark.parametrize("seed", range(4))
def test_g_equals_that_of_scipy(seed):
    columns = table_with_holes(seed)
    report = tb.missingness(columns)
    tested = {(t.column, t.on): t for t in report.tests}
    assert {column for column, _ in tested} >= {"x", "y", "z"}
    for column in ("x", "y", "z"):
        for on in ("a", "y", "z", "x"):
            if column == on:
                assert (column, on) not in tested
                continue
            cells = np.array(pooled(two_way(columns[column], columns[on])))
            g, p, dof, _ = chi2_contingency(cells, correction=False, lambda_="log-likelihood")
            found = tested[column, on]
            assert found.dof == dof
            assert found.statistic == pytest.approx(g, rel=1e-9)
            assert found.p_value == pytest.approx(p, rel=1e-9)


def test_numbers_are_cut_at_their_quartiles():
    columns = table_with_holes(1)
    found = next(t for t in tb.missingness(columns).tests if (t.column, t.on) == ("x", "number"))
    present = [v for v in columns["number"] if v is not None]
    cuts = np.quantile(present, [0.25, 0.5, 0.75])
    states = [None if v is None else int(np.searchsorted(cuts, v)) for v in columns["number"]]
    cells = np.array(list(two_way(columns["x"], states).values()))
    assert found.dof == 3
    assert len(found.shares) == 4
    assert found.statistic == pytest.approx(chi2_contingency(cells, lambda_="log-likelihood").statistic, rel=0.05)


def test_p_values_are_adjusted_for_their_number():
    tests = tb.missingness(table_with_holes(2)).tests
    p_values = [t.p_value for t in tests]
    assert p_values == sorted(p_values)
    np.testing.assert_allclose([t.adjusted for t in tests], false_discovery_control(p_values), rtol=1e-12)


def test_holes_that_depend_are_told_from_those_that_do_not():
    """Of 300 tables without any dependence few have a finding at the level, as the level promises."""
    assert all(tb.missingness(table_with_holes(seed)).dependent[0].column == "x" for seed in range(5))
    n_tables, n_found, small = 300, 0, 0  # small: without the adjustment
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        gone = rng.random(400) < 0.2
        columns = {
            "x": [None if g else "s" for g in gone],
            "a": rng.choice(["p", "q", "r"], 400),
            "b": rng.normal(size=400),
        }
        report = tb.missingness(columns)
        n_found += bool(report.dependent)
        small += report.tests[0].p_value < 0.05
    limit = n_tables * 0.05 + 4 * math.sqrt(n_tables * 0.05 * 0.95)
    assert n_found < limit
    assert n_found < small


def test_shares_are_those_of_the_rows():
    columns = table_with_holes(3)
    found = next(t for t in tb.missingness(columns).tests if (t.column, t.on) == ("x", "a"))
    for state, (gone, there) in two_way(columns["x"], columns["a"]).items():
        assert found.shares[state] == pytest.approx(gone / (gone + there), rel=1e-12)
    rare = next(t for t in tb.missingness(columns).tests if (t.column, t.on) == ("y", "z"))
    cells = two_way(columns["y"], columns["z"])
    assert list(rare.shares)[-1] == "another state"
    others = [cells[s] for s in cells if s not in rare.shares]
    assert rare.shares["another state"] == pytest.approx(sum(c[0] for c in others) / sum(map(sum, others)), rel=1e-12)


def test_patterns_equal_plain_counting():
    columns = table_with_holes(0)
    report = tb.missingness(columns)
    rows = zip(*columns.values(), strict=True)
    counted = Counter(tuple(n for n, v in zip(columns, row, strict=True) if v is None) for row in rows)
    assert {p.columns: p.n for p in report.patterns} == counted
    assert [p.n for p in report.patterns] == sorted(counted.values(), reverse=True)
    assert report.n_patterns == len(counted)
    assert report.n_complete == counted[()]
    assert report.missing == {n: sum(v is None for v in columns[n]) for n in ("x", "y", "z", "number")}
    assert report.shares["x"] == report.missing["x"] / 600


def test_more_patterns_than_are_kept(monkeypatch):
    monkeypatch.setattr(holes, "_MOST_PATTERNS", 2)
    columns = table_with_holes(0)
    report = tb.missingness(columns)
    assert len(report.patterns) == 2
    assert report.n_patterns > 4
    assert f"… and {report.n_patterns - 2} more patterns" in repr(report)


def test_more_columns_than_a_byte_has_bits():
    columns = {f"c{i}": [None if i == j else "s" for j in range(20)] for i in range(20)}
    report = tb.missingness(columns)
    assert set(report.patterns) == {HolePattern((f"c{i}",), 1.0) for i in range(20)}
    assert report.n_complete == 0


def test_weights_are_numbers_of_rows():
    columns = table_with_holes(5, 300)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    repeated = {n: [v for v, w in zip(values, weights, strict=True) for _ in range(w)] for n, values in columns.items()}
    one = tb.missingness(tb.as_table(columns, weights=weights.astype(float)))
    other = tb.missingness(repeated)
    assert one.missing == other.missing
    assert {p.columns: p.n for p in one.patterns} == {p.columns: p.n for p in other.patterns}
    assert one.n_complete == other.n_complete
    for mine, theirs in zip(one.tests, other.tests, strict=True):
        assert (mine.column, mine.on, mine.dof) == (theirs.column, theirs.on, theirs.dof)
        assert mine.statistic == pytest.approx(theirs.statistic, rel=1e-9)
    assert f"(weight {int(weights.sum())})" in repr(one)


def test_identifiers_and_columns_of_many_states_are_not_tried():
    n = 500
    rng = np.random.default_rng(0)
    columns = {
        "id": [f"P{i}" for i in range(n)],
        "ticket": [f"T{i}" for i in rng.integers(0, 400, n)],
        "x": [None if rng.random() < 0.3 else "s" for _ in range(n)],
        "a": rng.choice(["p", "q"], n),
    }
    report = tb.missingness(columns)
    assert report.untested == ("id", "ticket")
    assert {t.on for t in report.tests} == {"a"}
    reason = "Not tested as reasons, because nearly every row differs or there are too many states: id, ticket."
    assert reason in repr(report)


# What it says


def test_text_of_a_table_without_holes():
    report = tb.missingness({"a": ["x", "y"]})
    assert repr(report) == "Missingness: 2 rows × 1 column, no missing values"
    assert report.tests == report.dependent == ()
    assert report.n_complete == 2
    assert report.shares == {}


@pytest.mark.parametrize(
    "frame", [{"a": []}, {"a": [None, None]}, {"a": [None, "x"], "b": ["x", "x"]}, {"a": [None], "b": [None]}]
)
def test_small_and_empty_tables_have_a_report(frame):
    report = tb.missingness(frame)
    assert report.tests == ()
    if report.missing:
        assert "There are too few rows or columns to test" in repr(report)
    assert report._repr_html_().startswith("<table>")


def test_text_says_what_speaks_for_and_against():
    told = repr(tb.missingness(table_with_holes(0)))
    assert "so they are not missing completely at random (G-tests, 0.05):" in told
    assert "Whether values are missing depending on the missing values themselves cannot be seen in the data." in told
    rng = np.random.default_rng(2)
    alone = {"x": [None if g else "s" for g in rng.random(500) < 0.2], "a": rng.choice(["p", "q"], 500)}
    assert "no evidence against missing completely at random" in repr(tb.missingness(alone))
    strict = tb.missingness(table_with_holes(0), level=1e-30)
    assert strict.dependent == ()
    assert "(G-tests, 1e-30)" in repr(strict)


def test_long_names_and_many_columns_are_cut_short():
    columns = {f"a very long name of a column, number {i}": [None, "x", "y"] for i in range(25)}
    told = repr(tb.missingness(columns))
    assert "… and 5 more columns" in told
    assert "a very long name of a column, n…" in told
    assert "and 21 more" in told


def test_html_escapes_names():
    html = tb.missingness(
        {"<b>": [None if i % 3 else "x" for i in range(90)], "a": ["<i>", "q", "r"] * 30}
    )._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "Whether values are missing depending" in html
    assert "<p>" in tb.missingness({"a": [None, "x"]})._repr_html_()


# What is wrong


@pytest.mark.parametrize(
    ("level", "message"),
    [(0.0, r"level must be greater than 0\.0; got 0\.0"), (2, r"level must be at most 1\.0; got 2"), ("x", "a number")],
)
def test_bad_levels(level, message):
    with pytest.raises(DataError, match=message):
        tb.missingness({"a": [None, "x"]}, level=level)


def test_memory_is_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError, match=r"missing values of all columns would need .* Leave out columns\."):
        tb.missingness({"a": [None, "x"] * 1000})


def test_weights_of_nothing_are_refused():
    table = tb.as_table({"a": [None, "x"]}).with_weights([0, 0])
    with pytest.raises(DataError, match=r"^weights must have a sum above 0; all are 0\. Leave them out"):
        tb.missingness(table)


def test_huge_weights_are_written_short():
    table = tb.as_table({"a": [None, "x"]}).with_weights([1e150, 1e150])
    assert "(weight 2e+150), 1e+150 missing values (50 %)" in repr(tb.missingness(table))
