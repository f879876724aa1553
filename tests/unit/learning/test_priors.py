"""What each prior adds to the counts, and what is said about priors that mean nothing."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.data import Column
from tunbridge.errors import DataError
from tunbridge.learning.parameters.priors import (
    Rule,
    added_and_unseen,
    as_prior,
    completed,
    pseudo_counts,
    table_of,
    tables_of,
    unseen_row,
)

WIND = tb.Variable("wind", ["Strong", "Weak"])
PLAY = tb.Variable("play", ["no", "yes"])


def counts_of(parents: list[str] | None = None) -> tb.Counts:
    return tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"] if parents is None else parents)


def sparse_family(n_rows: int = 500, weights: np.ndarray | None = None) -> tuple[tb.Table, tb.DAG]:
    """Return rows of a family with 20^6 configurations of the parents."""
    rng = np.random.default_rng(0)
    parents = [tb.Variable(f"p{i}", range(20)) for i in range(6)]
    child = tb.Variable("x", ["a", "b", "never"])
    columns = [Column(p, rng.integers(0, 20, n_rows).astype(np.int8), None) for p in parents]
    columns.append(Column(child, (rng.random(n_rows) < 0.25).astype(np.int8), None))
    table = tb.Table.of(columns, weights=weights)
    return table, tb.DAG(table.names, [(p.name, "x") for p in parents])


# Names and numbers


@pytest.mark.parametrize(
    ("prior", "rule"),
    [
        ("mle", tb.Laplace(0.0)),
        ("MLE", tb.Laplace(0.0)),
        ("laplace", tb.Laplace(1.0)),
        ("jeffreys", tb.Laplace(0.5)),
        ("k2", tb.Laplace(1.0)),
        (tb.K2(), tb.Laplace(1.0)),
        ("bdeu", tb.BDeu(ess=1.0)),
        ("B-Deu", tb.BDeu(ess=1.0)),
        (tb.BDeu(ess=10), tb.BDeu(ess=10)),
        ("bds", tb.BDs(ess=1.0)),
        ("back-off", tb.BackOff()),
        (0, tb.Laplace(0.0)),
        (np.float32(0.5), tb.Laplace(0.5)),
        (tb.MEstimate(m=3), tb.MEstimate(m=3)),
        (tb.Dirichlet(2.0), tb.Dirichlet(2.0)),
    ],
)
def test_short_forms(prior: object, rule: Rule) -> None:
    assert as_prior(prior) == rule


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (
            "bdue",
            r"prior must be 'mle', a number .* 'backoff', MEstimate, .* or BackOff; got 'bdue'. Did you mean 'bdeu'",
        ),
        ("", r"got ''\. Known: 'mle', 'laplace'"),
        (tb.BDeu, r"prior must be an object; got the class BDeu\. Write tb\.BDeu\(\)\."),
        (tb.BIC(), r"got the score BIC\(k=None\)\. It has no pseudo-counts: use 'mle', or BDeu\."),
        ({"play": 1}, r"got \{'play': 1\}\. Pseudo-counts by variable are tb\.Dirichlet"),
        (None, r"prior must be 'mle', a number .*; got None\."),
        ([1, 2], r"or BackOff; got \[1, 2\]\."),
        (True, r"or BackOff; got True\."),
        (-1, r"prior must be at least 0; got -1\."),
        (float("nan"), r"prior must be at least 0; got nan\."),
        (float("inf"), r"prior must be at most 1e\+100; got inf\."),
        (1e308, r"prior must be at most 1e\+100; got 1e\+308\."),
        (tb.Laplace(1e308), r"gamma of Laplace's rule must be at most 1e\+100; got 1e\+308\."),
        (tb.MEstimate(m=1e308), r"m of the m-estimate must be at most 1e\+100; got 1e\+308\."),
    ],
)
def test_what_is_no_prior(prior: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_prior(prior)


def test_a_prior_names_variables_of_the_graph() -> None:
    prior = tb.Dirichlet({"ply": 2.0})
    assert as_prior(prior) == prior
    assert as_prior(prior, ["ply", "wind"]) == prior
    with pytest.raises(DataError, match=r"alpha must name variables of the graph; got 'ply'\. Did you mean 'play'\?"):
        as_prior(prior, ["wind", "play"])


# What is added


@pytest.mark.parametrize(
    ("prior", "added"),
    [
        ("mle", [[0, 0], [0, 0]]),
        (0.25, [[0.25, 0.25], [0.25, 0.25]]),
        ("jeffreys", [[0.5, 0.5], [0.5, 0.5]]),
        ("k2", [[1, 1], [1, 1]]),
        (tb.BDeu(ess=8), [[2, 2], [2, 2]]),
        (tb.BDs(ess=8), [[2, 2], [2, 2]]),
        (tb.MEstimate(m=3), [[1.5, 1.5], [1.5, 1.5]]),
        (tb.MEstimate(), [[1, 1], [1, 1]]),
        (tb.MEstimate(m=14, p="marginal"), [[5, 9], [5, 9]]),
        (tb.Dirichlet(3), [[3, 3], [3, 3]]),
        (tb.BackOff(strength=14), [[6, 8], [6, 8]]),  # 14 rows' worth of (5 + 7) / 28 and (9 + 7) / 28
    ],
)
def test_pseudo_counts(prior: object, added: list[list[float]]) -> None:
    found = pseudo_counts(as_prior(prior), counts_of())
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found, added, rtol=1e-12)
    cpt = tb.fit_parameters(tb.DAG(arcs=[("wind", "play")]), tb.datasets.play_tennis(), prior).cpt("play")
    np.testing.assert_allclose(cpt.counts, counts_of().table + np.array(added), rtol=1e-12)
    np.testing.assert_allclose(cpt.table(), cpt.counts / cpt.counts.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_guess_of_ones_own() -> None:
    rule = tb.MEstimate(m=2, p={"no": 0.25, "yes": 0.75})
    assert pseudo_counts(rule, counts_of()).tolist() == [[0.5, 1.5], [0.5, 1.5]]
    assert unseen_row(rule, counts_of()).tolist() == [0.25, 0.75]


def test_bdeu_divides_by_all_configurations_and_bds_by_those_that_occur() -> None:
    table, dag = sparse_family()
    counts = tb.Counter(table).family("x", dag.parents("x"))
    assert counts.is_sparse
    np.testing.assert_allclose(pseudo_counts(tb.BDeu(ess=6), counts), 6 / 20**6 / 3, rtol=1e-12)
    np.testing.assert_allclose(pseudo_counts(tb.BDs(ess=6), counts), 6 / len(counts.table) / 3, rtol=1e-12)
    dense = tb.Counter({"a": ["u", "u", "v"], "b": ["0", "0", "1"], "c": ["x", "y", "x"]}).family("c", ["a", "b"])
    assert pseudo_counts(tb.BDs(ess=8), dense).tolist() == [[2, 2], [0, 0], [0, 0], [2, 2]]


def test_bdeu_of_more_configurations_than_a_float_can_hold() -> None:
    parents = tuple(tb.Variable(f"p{i}", range(10)) for i in range(400))
    counts = tb.Counts(PLAY, parents, np.array([[1, 2]]), np.zeros((1, 400), np.int32))
    assert pseudo_counts(tb.BDeu(), counts).max() < 1e-299


# Dirichlet


def dirichlet_rows(alpha: object, default: float = 1.0) -> list[list[float]]:
    return pseudo_counts(tb.Dirichlet({"play": alpha}, default=default), counts_of()).tolist()


@pytest.mark.parametrize(
    "alpha",
    [
        [[3, 1], [2, 5]],
        np.array([[3.0, 1.0], [2.0, 5.0]]),
        {"Strong": [3, 1], "Weak": [2, 5]},
        {("Weak",): {"yes": 5, "no": 2}, ("Strong",): (3, 1)},
    ],
)
def test_pseudo_counts_by_cell(alpha: object) -> None:
    assert dirichlet_rows(alpha) == [[3, 1], [2, 5]]


def test_pseudo_counts_of_one_row_for_all_configurations() -> None:
    assert dirichlet_rows([3, 1]) == dirichlet_rows({"yes": 1, "no": 3}) == [[3, 1], [3, 1]]
    assert dirichlet_rows(4) == [[4, 4], [4, 4]]


def test_configurations_and_variables_that_are_left_out_get_the_default() -> None:
    assert dirichlet_rows({"Weak": [2, 2]}, default=0.5) == [[0.5, 0.5], [2, 2]]
    assert pseudo_counts(tb.Dirichlet({"other": 7}, default=0.25), counts_of()).tolist() == [[0.25, 0.25]] * 2
    assert pseudo_counts(tb.Dirichlet({"other": 7}), counts_of()).tolist() == [[1, 1]] * 2


def test_axes_are_the_parents_in_order() -> None:
    counts = counts_of(["outlook", "wind"])
    alpha = np.arange(12.0).reshape(3, 2, 2)
    for given in (alpha, alpha.reshape(6, 2)):
        found = pseudo_counts(tb.Dirichlet({"play": given}), counts)
        assert found.tolist() == alpha.reshape(6, 2).tolist()
    by_name = pseudo_counts(tb.Dirichlet({"play": {("Rain", "Weak"): [7, 8]}}, default=0), counts)
    assert by_name.tolist() == [[0, 0]] * 3 + [[7, 8]] + [[0, 0]] * 2


def test_a_dirichlet_is_a_value() -> None:
    alpha = np.array([[3.0, 1.0], [2.0, 5.0]])
    prior = tb.Dirichlet({"play": alpha, "wind": {"Weak": 1, "Strong": 2}})
    same = tb.Dirichlet({"wind": {"Strong": 2.0, "Weak": 1.0}, "play": alpha.tolist()})
    assert prior == same
    assert hash(prior) == hash(same)
    assert prior != tb.Dirichlet({"play": alpha})
    assert prior != tb.Dirichlet({"play": alpha, "wind": {"Weak": 1, "Strong": 2}}, default=2)
    assert prior != "bdeu"
    alpha[:] = 9.0
    assert prior == same
    assert repr(tb.Dirichlet(2)) == "Dirichlet(alpha=2)"
    assert repr(tb.Dirichlet({"play": [1, 2]})) == "Dirichlet(alpha={'play': [1.0, 2.0]}, default=1)"
    with pytest.raises(ValueError, match="read-only"):
        prior.alpha["play"][0] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([1, 2], r"alpha must be a number, or map variables to pseudo-counts; got \[1, 2\]\. .* \{'name': \[1, 2\]\}"),
        ("1", r"alpha must be a number, or map variables to pseudo-counts; got '1'"),
        (-1, r"alpha must be at least 0; got -1\."),
        (float("inf"), r"alpha must be at most 1e\+100; got inf\."),
        ({1: [1, 2]}, r"alpha must map names of variables to pseudo-counts; got the key 1\."),
        ({"play": None}, r"alpha of 'play' must be a number; got None\."),
        ({"play": "many"}, r"alpha of 'play' must be a number; got 'many'\."),
        ({"play": {}}, r"alpha of 'play' must name states or configurations; got an empty mapping\."),
        ({"play": []}, r"alpha of 'play' must be an array of pseudo-counts; got \[\]\."),
        ({"play": [1, -2]}, r"alpha of 'play' must be at least 0 and finite in every cell; got -2\."),
        ({"play": [1, float("nan")]}, r"alpha of 'play' must be at least 0 and finite in every cell; got nan\."),
        ({"play": ["a", "b"]}, r"alpha of 'play' must be an array of numbers; got \['a', 'b'\]\."),
        ({"play": {"no": -1}}, r"alpha of 'play' for 'no' must be at least 0; got -1\."),
        (
            {"play": {"Weak": [[1, 2]]}},
            r"alpha of 'play' for 'Weak' must be a row of pseudo-counts; got \[\[1, 2\]\]\.",
        ),
        ({"play": {"Weak": {"no": [1]}}}, r"alpha of 'play' for 'Weak' must be a row of pseudo-counts"),
    ],
)
def test_pseudo_counts_that_mean_nothing(alpha: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tb.Dirichlet(alpha)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"default must be at least 0; got -1\."):
        tb.Dirichlet(1.0, default=-1)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([1, 2, 3], r"alpha of 'play' must have the shape \(2,\) or \(2, 2\); got \(3,\)\. The axes are wind, play\."),
        (np.ones((3, 2)), r"alpha of 'play' must have the shape \(2,\) or \(2, 2\); got \(3, 2\)\."),
        ({"no": 1}, r"alpha of 'play' must give every state a number; 'yes' has none\."),
        ({"no": 1, "yes": 1, "maybe": 1}, r"alpha of 'play' must name its states; got 'maybe'\. Known: 'no', 'yes'"),
        ({"Weak": [1, 2, 3]}, r"a row of alpha of 'play' must be 2 numbers, for the states 'no', 'yes'; got 3\."),
        (
            {"Week": [1, 2]},
            r"the table of 'play' must name states of its parent 'wind'; got 'Week'\. Did you mean 'Weak'",
        ),
        ({("Weak", "x"): [1, 2]}, r"must be a tuple with a state of each parent \('wind'\)"),
        (
            {"Weak": [1, 2], ("Weak",): [1, 2]},
            r"alpha of 'play' must name every configuration once; got \('Weak',\) again",
        ),
    ],
)
def test_pseudo_counts_that_do_not_fit(alpha: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pseudo_counts(tb.Dirichlet({"play": alpha}), counts_of())


def test_rows_by_configuration_need_parents() -> None:
    with pytest.raises(DataError, match=r"alpha of 'play' must map its states to numbers; it has no parents"):
        pseudo_counts(tb.Dirichlet({"play": {"Weak": [1, 2]}}), counts_of([]))
    counts = counts_of(["outlook"])
    with pytest.raises(
        DataError, match=r"or \(3, 2\); got \(2, 3\)\. It looks like the transpose: the axes are outlook"
    ):
        pseudo_counts(tb.Dirichlet({"play": np.ones((2, 3))}), counts)
    with pytest.raises(DataError, match=r"must have the shape \(2,\); got \(3,\)\. The axes are play\.$"):
        pseudo_counts(tb.Dirichlet({"play": np.ones(3)}), counts_of([]))


# Large families


def test_sparse_families_under_every_prior() -> None:
    table, dag = sparse_family()
    counts = tb.Counter(table).family("x", dag.parents("x"))
    marginal = counts.table.sum(axis=0)
    uniform = np.full(3, 1 / 3)
    defaults = {
        "mle": uniform,
        "laplace": uniform,
        tb.BDeu(ess=5): uniform,
        "bds": uniform,
        tb.MEstimate(m=2, p="marginal"): marginal / marginal.sum(),
        tb.Dirichlet({"x": [1, 2, 5]}): np.array([1, 2, 5]) / 8,
        tb.Dirichlet({"x": {"never": 2, "a": 1, "b": 1}}): np.array([1, 1, 2]) / 4,
        tb.Dirichlet({"x": [0, 0, 0]}): uniform,
        tb.BackOff(strength=3.0): (marginal + 1.0) / (marginal.sum() + 3.0),
    }
    for prior, default in defaults.items():
        rule = as_prior(prior)
        cpt = tb.fit_parameters(dag, table, prior, missing="available").cpt("x")
        assert isinstance(cpt, tb.SparseCPT)
        raised = counts.table + pseudo_counts(rule, counts)
        np.testing.assert_allclose(cpt.probabilities, raised / raised.sum(axis=1, keepdims=True), rtol=1e-12)
        np.testing.assert_allclose(cpt.counts, raised, rtol=1e-12)
        np.testing.assert_allclose(cpt.default, default, rtol=1e-12)
        added, unseen = added_and_unseen(rule, counts)
        np.testing.assert_allclose(np.broadcast_to(added, raised.shape), pseudo_counts(rule, counts), rtol=1e-12)
        np.testing.assert_allclose(unseen, unseen_row(rule, counts), rtol=1e-12)


def test_what_is_said_about_a_configuration_holds_though_no_row_has_it() -> None:
    table, dag = sparse_family()
    seen = tuple(int(table.codes(f"p{i}")[0]) for i in range(6))
    unseen = (0,) * 6
    prior = tb.Dirichlet({"x": {unseen: [9, 1, 0], seen: 2}}, default=0)
    cpt = tb.fit_parameters(dag, table, prior).cpt("x")
    assert isinstance(cpt, tb.SparseCPT)
    names = [f"p{i}" for i in range(6)]
    assert cpt.distribution(dict(zip(names, unseen, strict=True))).probabilities.tolist() == [0.9, 0.1, 0.0]
    state = table.variable("x").states[table.codes("x")[0]]
    assert cpt.distribution(dict(zip(names, seen, strict=True)))[state] == pytest.approx(3 / 7)
    assert cpt.distribution(dict.fromkeys(names, 1)).probabilities.tolist() == pytest.approx([1 / 3] * 3)
    counts = tb.Counter(table).family("x", names)
    assert pseudo_counts(prior, counts).sum() == 6.0
    assert len(completed(prior, counts).table) == len(counts.table) + 1


def test_pseudo_counts_of_every_cell_make_a_family_dense() -> None:
    rng = np.random.default_rng(1)
    frame = {name: rng.integers(0, 60, 40).astype(str) for name in "ab"} | {"c": rng.integers(0, 30, 40).astype(str)}
    table = tb.as_table(frame, kinds="categorical")
    counts = tb.Counter(table).family("c", ["a", "b"])
    if not counts.is_sparse:
        counts = counts.sparse()
    shape = tuple(table.variable(v).n_states for v in "abc")
    alpha = rng.random(shape)
    cpt = table_of(counts, tb.Dirichlet({"c": alpha}))
    assert isinstance(cpt, tb.CPT)
    np.testing.assert_allclose(cpt.counts, counts.dense().table.reshape(shape) + alpha, rtol=1e-12)
    row = table_of(counts, tb.Dirichlet({"c": alpha[0, 0]}))
    assert isinstance(row, tb.SparseCPT)
    np.testing.assert_allclose(row.default, alpha[0, 0] / alpha[0, 0].sum(), rtol=1e-12)


# Rows that are not there, states that do not occur


def test_states_that_do_not_occur_keep_the_priors_share() -> None:
    sky = tb.Variable("sky", ["clear", "grey", "green"])
    table = tb.Table.of([Column(sky, np.array([0, 0, 1], np.int8), None)])
    for prior, green in [("mle", 0.0), (1.0, 1 / 6), (tb.BDeu(ess=3), 1 / 6), (tb.BackOff(strength=3), 1 / 6)]:
        assert tb.fit_parameters(tb.DAG(["sky"]), table, prior).cpt("sky").distribution()["green"] == pytest.approx(
            green
        )


def test_without_rows_the_prior_is_all_there_is() -> None:
    table = tb.Table.of([Column(v, np.zeros(0, np.int8), None) for v in (WIND, PLAY)])
    dag = tb.DAG(arcs=[("wind", "play")])
    for prior in ("mle", 1.0, "bdeu", "bds", "backoff", tb.BackOff(strength=2), tb.MEstimate(p="marginal")):
        assert tb.fit_parameters(dag, table, prior).cpt("play").table().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    expert = tb.fit_parameters(dag, table, tb.Dirichlet({"play": {"Weak": [1, 3]}}))
    assert expert.cpt("play").table().tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_a_column_without_states_is_named() -> None:
    nothing = tb.Counts(tb.Variable("x", []), (WIND,), np.zeros((2, 0), np.int64))
    for make in (lambda: table_of(nothing, tb.Laplace(1.0)), lambda: tables_of([nothing] * 3, tb.Laplace(1.0))):
        with pytest.raises(DataError, match=r"every column must have a state; 'x' holds only missing values"):
            make()
    for rule in (tb.Laplace(1.0), tb.BDeu(), tb.BDs(), tb.BackOff(), tb.Dirichlet(), tb.MEstimate()):
        assert pseudo_counts(rule, nothing).shape == (2, 0)
        assert unseen_row(rule, nothing).shape == (0,)


def test_parents_without_states_leave_no_configuration() -> None:
    none = tb.Counts(PLAY, (tb.Variable("w", []),), np.zeros((0, 2), np.int64))
    for rule in (tb.Laplace(1.0), tb.BDeu(), tb.BDs(), tb.BackOff(), tb.BackOff(2.0), tb.Dirichlet(), tb.MEstimate()):
        assert pseudo_counts(rule, none).shape == (0, 2)
        assert unseen_row(rule, none).tolist() == [0.5, 0.5]
        assert table_of(none, rule).table().shape == (0, 2)


def test_the_largest_priors_are_distributions() -> None:
    dag, table = tb.DAG(arcs=[("wind", "play")]), tb.datasets.play_tennis()
    for prior in (1e100, tb.MEstimate(m=1e100), tb.Dirichlet(1e100), tb.BackOff(strength=1e100), tb.BDeu(ess=1e8)):
        rows = tb.fit_parameters(dag, table, prior).cpt("play").table()
        np.testing.assert_allclose(rows, 0.5, rtol=1e-6)  # ess is at most 1e8


def test_many_families_together_are_the_same_as_one_by_one() -> None:
    table = tb.datasets.play_tennis()
    counter = tb.Counter(table)
    families = [counter.family("play", p) for p in ([], ["wind"], ["outlook", "wind"], list(table.names[:4]))]
    families.append(counter.family("outlook", ["play"]))
    for prior in ("mle", 1.0, "bdeu", "bds", tb.MEstimate(m=1), tb.MEstimate(p="marginal"), tb.Dirichlet(2), "backoff"):
        rule = as_prior(prior)
        for one, other in zip(tables_of(families, rule), [table_of(c, rule) for c in families], strict=True):
            assert one.variable is other.variable
            assert one.parents == other.parents
            np.testing.assert_allclose(one.table(), other.table(), rtol=1e-14)
            np.testing.assert_allclose(one.counts, other.counts, rtol=1e-14)


@pytest.mark.parametrize("missing", ["em", "available", "complete"])
@pytest.mark.parametrize(
    "prior",
    ["mle", 1.0, "bdeu", "bds", "k2", tb.MEstimate(1, "marginal"), tb.BackOff(), tb.BackOff(strength=2.0),
     tb.Dirichlet({"play": {"Weak": [1, 4]}})],
    ids=str,
)  # fmt: skip
def test_every_prior_goes_with_every_way_about_missing_cells(prior: object, missing: str) -> None:
    frame = tb.datasets.play_tennis().to_pandas()[["wind", "play"]]
    frame.loc[[1, 5], "wind"] = None
    net = tb.fit_parameters(tb.DAG(arcs=[("wind", "play")]), frame, prior, missing=missing)  # type: ignore[arg-type]
    cpt = net.cpt("play")
    np.testing.assert_allclose(cpt.table().sum(axis=-1), 1.0, rtol=1e-12)
    seen = 14 if missing == "em" else 12
    added = pseudo_counts(as_prior(prior), tb.Counter(frame).family("play", ["wind"])).sum()
    if prior == tb.BackOff() and missing == "em":  # its strength is chosen by the expected counts, not by these
        assert cpt.counts.sum() > seen
    else:
        np.testing.assert_allclose(cpt.counts.sum(), seen + added, rtol=1e-9)
