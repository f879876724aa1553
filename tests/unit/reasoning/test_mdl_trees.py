from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.reasoning import choose_tree, exception_bits

DAYS = tb.datasets.play_tennis()
MANY_DAYS = DAYS.take([*range(14)] * 4)
XOR = {"a": ["0", "0", "1", "1"] * 30, "b": ["0", "1"] * 60, "noise": ["x", "x", "y", "y", "y"] * 24}
XOR["class"] = [str(int(a != b)) for a, b in zip(XOR["a"], XOR["b"], strict=True)]


# All trees of a small table, as nested tuples: a leaf is a class, a test is (attribute, trees)


def all_trees(attributes: tuple[str, ...], states: dict[str, list[str]], classes: list[str]) -> list[object]:
    found: list[object] = list(classes)
    for name in attributes:
        rest = all_trees(tuple(a for a in attributes if a != name), states, classes)
        found += [(name, branches) for branches in itertools.product(rest, repeat=len(states[name]))]
    return found


def tree_bits(tree: object, n_left: int, n_classes: int) -> float:
    if isinstance(tree, str):
        return 1 + math.log2(n_classes)
    return 1 + math.log2(n_left) + sum(tree_bits(branch, n_left - 1, n_classes) for branch in tree[1])


def data_bits(tree: object, rows: list[dict[str, str]], target: str, states: dict[str, list[str]]) -> float:
    if isinstance(tree, str):
        n, wrong, r = len(rows), sum(row[target] != tree for row in rows), len(states[target])
        most = n - math.ceil(n / r)
        return math.inf if wrong > most else exception_bits(n, wrong, most=most, classes=r)
    parts = zip(states[tree[0]], tree[1], strict=True)
    return sum(data_bits(part, [r for r in rows if r[tree[0]] == state], target, states) for state, part in parts)


def test_the_weather_by_quinlan_and_rivest():
    found = choose_tree(DAYS, "play")
    tree = found["depth 2"]
    assert tree.hypothesis_bits == pytest.approx(8 + math.log2(4) + 2 * math.log2(3) + 5, rel=1e-14)
    assert tree.data_bits == pytest.approx(4 * math.log2(2) + math.log2(3), rel=1e-14)
    assert round(tree.hypothesis_bits, 3) == 18.170
    assert found["depth 0"].total == pytest.approx(2 + exception_bits(14, 5, most=7), rel=1e-14)
    assert found.best.name == "depth 0"  # fourteen days are too few


def test_more_days_pay_for_the_tree():
    choice = choose_tree(MANY_DAYS, "play")
    assert choice.model.depth == 2
    assert choice.model.n_leaves == 5
    assert str(choice.model).splitlines()[:3] == [
        "outlook = Overcast: yes (16)",
        "outlook = Rain",
        "  wind = Strong: no (8)",
    ]
    assert choice.model.predict(DAYS).tolist() == DAYS.to_arrow()["play"].to_pylist()


@pytest.mark.parametrize("table", [DAYS, MANY_DAYS], ids=["14 days", "56 days"])
def test_it_is_the_most_probable_tree(table):
    choice = choose_tree(table, "play")
    assert choice.space().update(["D"]).map == choice.posterior.mode == choice.best.name
    assert choice.kraft_sum <= 1


def test_all_trees_together_have_a_code():
    states = {"a": ["0", "1"], "b": ["0", "1", "2"]}
    kraft = sum(2.0 ** -tree_bits(tree, 2, 2) for tree in all_trees(("a", "b"), states, ["no", "yes"]))
    assert 0.5 < kraft <= 1


@pytest.mark.parametrize("seed", range(6))
def test_on_small_tables_it_is_the_shortest_of_all_trees(seed):
    random = np.random.default_rng(seed)
    a, b, noise = random.integers(0, 2, 60), random.integers(0, 3, 60), random.random(60) < 0.1
    signal = [a == 1, b == 2, (a == 1) & (b > 0), (a == 1) ^ (b == 1), a > 1, a < 2][seed]
    frame = {"a": a.astype(str), "b": b.astype(str), "y": np.where(signal ^ noise, "yes", "no")}
    states = {"a": ["0", "1"], "b": ["0", "1", "2"], "y": ["no", "yes"]}
    rows = [dict(zip(frame, map(str, row), strict=True)) for row in zip(*frame.values(), strict=True)]
    trees = all_trees(("a", "b"), states, states["y"])
    best = min(tree_bits(tree, 2, 2) + data_bits(tree, rows, "y", states) for tree in trees)
    assert choose_tree(tb.as_table(frame), "y").best.total == pytest.approx(best, rel=1e-12)


def test_attributes_that_tell_something_only_together():
    found = choose_tree(XOR, "class", patience=2)
    assert found.model.depth == 2
    assert found.best.data_bits == pytest.approx(4 * math.log2(16), rel=1e-12)
    assert choose_tree(XOR, "class", patience=1).model.depth <= 1


def test_several_classes_and_a_pruned_branch():
    random = np.random.default_rng(0)
    kind = random.integers(0, 3, 300)
    side = random.integers(0, 2, 300)
    y = np.where(kind == 0, "x", np.where(kind == 1, np.where(side == 0, "y", "z"), "z"))
    y[random.random(300) < 0.05] = "y"
    choice = choose_tree({"kind": kind.astype(str), "side": side.astype(str), "y": y}, "y")
    assert choice.best.name == "pruned"
    assert choice.best.total == min(candidate.total for candidate in choice.candidates)
    lines = str(choice.model).splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        "kind = 0: x",
        "kind = 1",
        "  side = 0: y",
        "  side = 1: z",
        "kind = 2: z",
    ]
    leaf = choice["depth 0"]
    n, wrong = 300, 300 - max(np.unique(y, return_counts=True)[1])
    assert leaf.hypothesis_bits == pytest.approx(1 + math.log2(3), rel=1e-14)
    assert leaf.data_bits == pytest.approx(exception_bits(n, int(wrong), most=200, classes=3), rel=1e-12)
    assert " exceptions)" in str(leaf.model)


def test_a_column_of_names_is_not_worth_testing():
    names = [f"row {i}" for i in range(56)]
    table = {**{c: MANY_DAYS.to_arrow()[c].to_pylist() for c in MANY_DAYS.names}, "name": names}
    assert "name" not in str(choose_tree(table, "play").model)


def test_branches_without_rows_and_cells_that_are_not_known():
    states = tb.Variable("sky", ["clear", "cloudy", "green"])
    sky, _ = tb.data.encode({"sky": ["clear"] * 20 + ["cloudy"] * 40}, [states])
    table = sky.with_column(tb.as_table({"y": ["a"] * 20 + ["b"] * 40}).column("y"))
    model = choose_tree(table, "y").model
    assert str(model) == "sky = clear: a (20)\nsky = cloudy: b (40)\nsky = green: b (0)"
    assert model.predict({"sky": ["clear", None, "green"]}).tolist() == ["a", "b", "b"]
    with pytest.warns(UnseenStateWarning, match="'sky' has unseen categories: 'blue'"):
        assert model.predict({"sky": ["blue"]}).tolist() == ["b"]


def test_intervals_and_classes_of_several_types():
    ages = np.arange(60.0)
    table, _ = tb.discretise({"age": ages, "y": np.where(ages > 29, "old", "young")}, "mdl", target="y")
    model = choose_tree(table, "y").model
    assert str(model) == "age ≤ 29.5: young (30)\nage > 29.5: old (30)"
    assert model.predict({"age": [10, 50]}).tolist() == ["young", "old"]
    mixed, _ = tb.data.encode(
        {"y": ["1", "1", "a"], "x": ["p", "p", "q"]}, [tb.Variable("y", [1, "a"]), tb.Variable("x", ["p", "q"])]
    )
    assert choose_tree(mixed, "y").model.predict({"x": ["p"]}).tolist() == [1]


@pytest.mark.parametrize(
    ("frame", "bits"),
    [
        ({"y": ["a", "b"]}, 2 + math.log2(2) + math.log2(2)),
        ({"x": ["p", "q"], "y": ["a", "a"]}, 1),
        ({"x": ["p"], "y": ["a"]}, 1),
        ({"x": ["p"] * 9, "y": ["a"] * 8 + ["b"]}, 2 + math.log2(5) + math.log2(9)),
    ],
)
def test_tables_without_anything_to_test(frame, bits):
    choice = choose_tree(frame, "y")
    assert list(choice) == ["depth 0"]
    assert choice.best.total == pytest.approx(bits, rel=1e-14)


def test_classes_beside_the_data():
    frame = MANY_DAYS.to_arrow().to_pandas()
    X, y = frame.drop(columns="play"), frame["play"]
    wanted = choose_tree(frame, "play")
    for classes in (y, list(y), y.to_numpy(), MANY_DAYS.column("play")):
        found = choose_tree(X, classes)
        assert found.to_dict() == wanted.to_dict()
        assert str(found.model) == str(wanted.model)
    assert wanted.model.target.name == choose_tree(X, y).model.target.name == "play"
    assert choose_tree(X, list(y)).model.target.name == "class"


def test_whole_numbers_are_classes():
    numbers = {"x": ["p", "q", "r"] * 20, "y": [1, 2, 3] * 20}
    for found in (choose_tree(numbers, "y"), choose_tree({"x": numbers["x"]}, np.array(numbers["y"], float))):
        assert found.model.predict({"x": ["q", "p"]}).tolist() == [2, 1]


def test_the_depth_can_be_limited():
    assert choose_tree(MANY_DAYS, "play", max_depth=1).best.name == "depth 1"
    assert list(choose_tree(MANY_DAYS, "play", max_depth=0)) == ["depth 0"]


@pytest.mark.parametrize(
    ("frame", "rest", "message"),
    [
        ({"x": ["p"], "y": ["a"]}, {"y": "why"}, "the target must be a column of the data; got 'why'. Known: 'x', 'y'"),
        ({"x": ["p"]}, {"y": None}, "y must be given: the classes, or the name of the column"),
        ({"x": ["p"]}, {"y": pd.Series(["a", "b"])}, "y must have a class for each row; got 2 for 1 row.$"),
        (
            {"x": ["p"]},
            {"y": pd.DataFrame({"y": ["a"]})},
            "y must be a column of classes, or the name of one; got DataF",
        ),
        (
            {"x": ["p"], "y": ["a"]},
            {"y": pd.Series(["a"], name="y")},
            "not be among the attributes; got 'y' in both",
        ),
        (
            tb.discretise(DAYS),
            {"y": "play"},
            "got a tuple that begins with one. tb.discretise returns a table and its",
        ),
        (
            {"x": [1.5, 2.5]},
            {"y": ["a", "b"]},
            r"'x' is continuous. Discretise them: table, _ = tb.discretise\(X\)",
        ),
        ({"x": ["p", "q"]}, {"y": [1.5, 2.0]}, "the target must be categorical; 'class' holds numbers such as 1.5"),
        ({"x": ["p", "q"]}, {"y": ["a", None]}, "a tree needs data without missing values; got some in 'class'"),
        (
            {"x": [1.5, 2.5], "y": ["a", "b"]},
            {},
            r"'x' is continuous. Discretise them: table, _ = tb.discretise\(table, 'mdl', target='y'\)",
        ),
        ({"x": ["p", "q"], "y": [1.5, 2.5]}, {}, "'y' holds numbers such as 1.5. Discretise them with tb.disc"),
        ({"x": ["p", None], "y": ["a", "b"]}, {}, "a tree needs data without missing values; got some in 'x'"),
        ({"x": ["p", "q"], "y": ["a", None]}, {}, "a tree needs data without missing values; got some in 'y'"),
        (DAYS.take([]), {"y": "play"}, "a tree needs rows"),
        (DAYS.with_weights([1.0] * 14), {"y": "play"}, "the rows must not have weights"),
        (DAYS, {"y": "play", "max_depth": -1}, "max_depth must be at least 0; got -1"),
        (DAYS, {"y": "play", "max_depth": 101}, "max_depth must be at most 100; got 101"),
        (DAYS, {"y": "play", "patience": 0}, "patience must be at least 1; got 0"),
    ],
)
def test_bad_input(frame, rest, message):
    with pytest.raises(DataError, match=message):
        choose_tree(frame, **{"y": "y", **rest})
