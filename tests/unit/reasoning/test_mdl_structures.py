from __future__ import annotations

import itertools
import math

import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.reasoning import choose_structure, structure_description

DAYS = tb.datasets.play_tennis()
NODES = ("outlook", "humidity", "play")


def all_dags() -> dict[str, tb.DAG]:
    pairs = list(itertools.combinations(NODES, 2))
    found = {}
    for ways in itertools.product((None, 1, -1), repeat=len(pairs)):
        arcs = [pair[::way] for pair, way in zip(pairs, ways, strict=True) if way]
        try:
            found[str(arcs)] = tb.DAG(NODES, arcs)
        except DataError:  # a cycle
            continue
    return found


def test_the_shortest_description_is_the_best_bic_and_the_most_probable_graph():
    dags = all_dags()
    assert len(dags) == 25
    table = DAYS.take([*range(14)] * 4)
    choice = choose_structure(dags, table)
    scores = {name: tb.score_structure(dag, table, "bic") for name, dag in dags.items()}
    for name, found in choice.items():
        assert found.total == pytest.approx(-scores[name] / math.log(2), rel=1e-12)
    assert scores[choice.best.name] == pytest.approx(max(scores.values()), rel=1e-12)
    chosen = choice.space().update(["D"]).map
    assert choice[chosen].total == pytest.approx(choice.best.total, rel=1e-12)  # equivalent graphs tie
    assert choice.model is dags[choice.best.name]


def test_the_parts_of_a_description():
    net = tb.example_network("asia")
    table = net.sample(200, random_state=0)
    found = structure_description(net.dag, table)
    fitted = tb.fit_parameters(net.dag, table, prior="mle")
    assert found.data_bits == pytest.approx(-fitted.log_likelihood(table).sum() / math.log(2), rel=1e-9)
    states = {v.name: v.n_states for v in table.variables}
    free = sum((states[n] - 1) * math.prod(states[p] for p in net.dag.parents(n)) for n in net.dag.nodes)
    assert found.hypothesis_bits == pytest.approx(0.5 * math.log2(200) * free, rel=1e-9)


def test_arcs_can_be_told_too():
    dag = tb.DAG(NODES, [("outlook", "play"), ("humidity", "play")])
    plain, told = structure_description(dag, DAYS), structure_description(dag, DAYS, arcs=True, name="with arcs")
    assert told.hypothesis_bits == pytest.approx(plain.hypothesis_bits + 2 * math.log2(3), rel=1e-14)
    assert told.data_bits == plain.data_bits
    assert told.name == "with arcs"
    assert choose_structure([dag], DAYS, arcs=True).best.total == told.total


def test_graphs_in_a_list_have_numbers():
    dags = [tb.DAG(["wind", "play"]), tb.DAG(arcs=[("wind", "play")])]
    assert list(choose_structure(dags, DAYS)) == ["graph 1", "graph 2"]


@pytest.mark.parametrize(
    ("dags", "frame", "message"),
    [
        ([], DAYS, "there must be at least one candidate; got none"),
        (tb.DAG(["play"]), DAYS, "dags must be graphs by name, or a list of graphs; got"),
        ([3], DAYS, "'graph 1' must be a DAG; got 3"),
        ({"n": tb.example_network("asia")}, DAYS, "'n' must be a DAG; got .* Use its .dag."),
        ({"a": tb.DAG(["play"]), "b": tb.DAG(["wind"])}, DAYS, "'b' and the first differ in 'play', 'wind'"),
        ([tb.DAG(["play", "sky"])], DAYS, "must be that of a column of the table; got 'sky'"),
        ([tb.DAG(["x"])], {"x": [1.5, 2.5, 3.5]}, "a network's columns must be categorical; 'x' is continuous"),
        ([tb.DAG(["x"])], {"x": ["a", None]}, "must have no missing values; got some in 'x'"),
    ],
)
def test_bad_input(dags, frame, message):
    with pytest.raises(DataError, match=message):
        choose_structure(dags, frame)
