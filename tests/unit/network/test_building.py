from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, noisy_or

NO_YES = ["no", "yes"]
STATES = {"Rain": NO_YES, "Sprinkler": NO_YES, "Wet": ["dry", "damp", "wet"]}
ARCS = [("Rain", "Sprinkler"), ("Rain", "Wet"), ("Sprinkler", "Wet")]
ROWS = np.array([[[0.9, 0.1, 0.0], [0.1, 0.3, 0.6]], [[0.2, 0.2, 0.6], [0.0, 0.1, 0.9]]])
CPTS = {"Rain": [0.8, 0.2], "Sprinkler": [[0.6, 0.4], [0.99, 0.01]], "Wet": ROWS}


def build(variables=None, arcs=None, cpts=None, **options):
    return BayesianNetwork(variables or STATES, ARCS if arcs is None else arcs, cpts or CPTS, **options)


class TestForms:
    def test_arrays(self):
        net = build()
        assert net.nodes == ("Rain", "Sprinkler", "Wet")
        np.testing.assert_array_equal(net.cpt("Wet").table(), ROWS)

    @pytest.mark.parametrize(
        "wet",
        [
            ROWS.tolist(),
            ROWS.reshape(4, 3),
            {r: {s: ROWS[i, j].tolist() for j, s in enumerate(NO_YES)} for i, r in enumerate(NO_YES)},
            {
                (r, s): dict(zip(STATES["Wet"], ROWS[i, j], strict=True))
                for i, r in enumerate(NO_YES)
                for j, s in enumerate(NO_YES)
            },
            pd.DataFrame(
                [
                    {"Sprinkler": s, "Rain": r, **dict(zip(STATES["Wet"], ROWS[i, j], strict=True))}
                    for j, s in enumerate(NO_YES)
                    for i, r in enumerate(NO_YES)
                ]
            ),
            CPT(
                Variable("Wet", STATES["Wet"]), [Variable("Rain", NO_YES), Variable("Sprinkler", NO_YES)], ROWS
            ),
        ],
        ids=["lists", "matrix", "nested", "tuples", "frame", "table"],
    )  # fmt: skip
    def test_every_way_to_write_a_table_gives_the_same_network(self, wet):
        assert build(cpts=CPTS | {"Wet": wet}) == build()

    def test_variables_as_objects_and_a_graph(self):
        variables = [Variable(name, states) for name, states in STATES.items()]
        assert build(variables, DAG(list(STATES), ARCS)) == build()

    def test_a_list_of_finished_tables(self):
        net = build()
        assert build(cpts=list(net.cpts.values())) == net
        assert BayesianNetwork.from_tables(net.cpts.values()) == net

    def test_the_order_of_arcs_is_that_of_parents(self):
        swapped = [ARCS[0], ARCS[2], ARCS[1]]
        net = build(arcs=swapped, cpts=CPTS | {"Wet": ROWS.transpose(1, 0, 2)})
        assert [p.name for p in net.cpt("Wet").parents] == ["Sprinkler", "Rain"]
        assert net.posterior("Wet") == pytest.approx(dict(build().posterior("Wet")))

    def test_children_may_be_named_before_their_parents(self):
        turned = dict(reversed(STATES.items()))
        net = build(turned)
        assert net.nodes == ("Wet", "Sprinkler", "Rain")
        assert net.posterior("Wet") == pytest.approx(dict(build().posterior("Wet")))

    def test_rounded_rows_are_rescaled(self):
        net = build(cpts=CPTS | {"Rain": [0.3333333, 0.6666666]})
        assert net.cpt("Rain").table().sum() == pytest.approx(1.0, abs=1e-15)

    def test_an_empty_network(self):
        net = BayesianNetwork({})
        assert net.nodes == ()
        assert net.log_probability({}) == 0.0
        assert repr(net) == "BayesianNetwork: 0 variables, 0 arcs, 0 parameters"


class TestMessages:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"variables": "Rain"}, "variables must be a dict from name to states; got 'Rain'."),
            ({"variables": 5}, "variables must be a dict from name to states; got 5."),
            ({"variables": ["Rain"]}, "variables must be a dict from name to states; got 'Rain'. Write {name: "),
            ({"variables": {"Rain": []}}, "every variable of a network must have states; 'Rain' has none."),
            ({"variables": [Variable("A", NO_YES)] * 2}, "variables must have distinct names; got 'A' twice."),
            ({"variables": {"Rain": ["no", "no"]}}, "the states of 'Rain' must be distinct"),
            ({"variables": [Variable("Rain", [])]}, "every variable of a network must have states; 'Rain' has none."),
            ({"arcs": [("Rain", "Wet"), ("Sprinkle", "Wet")]}, "'Sprinkle'"),
            ({"arcs": [*ARCS, ("Wet", "Rain")]}, "cycle"),
            ({"arcs": DAG(["Rain", "Wet"], [])}, "the graph must have the variables as its nodes; 'Sprinkler' "),
            ({"cpts": {"Rain": [0.8, 0.2]}}, "a table for every variable; 'Sprinkler', 'Wet' have none."),
            ({"cpts": CPTS | {"Wett": [1]}}, "cpts must name variables of the network; got 'Wett'. Did you mean"),
            ({"cpts": "abc"}, "cpts must be a dict from variable to table; got 'abc'."),
            ({"cpts": [[0.5, 0.5]]}, "cpts must be a dict from variable to table; got [[0.5, 0.5]]."),
            ({"cpts": CPTS | {"Rain": [0.8, 0.1]}}, "the probabilities of 'Rain' must sum to 1; got 0.9."),
            ({"cpts": CPTS | {"Rain": [1.2, -0.2]}}, "the probability of Rain='yes' must be at least 0; got -0.2."),
            (
                {"cpts": CPTS | {"Wet": ROWS * [[[1], [1]], [[1], [0.5]]]}},
                "the probabilities of 'Wet' given Rain='yes', Sprinkler='yes' must sum to 1; got 0.5.",
            ),
            ({"cpts": CPTS | {"Wet": np.ones((2, 3)) / 3}}, "'Wet'"),
            ({"cpts": CPTS | {"Wet": {("no", "no"): [1, 0, 0]}}}, "'Wet'"),
            ({"name": 5}, "the name of a network must be a string; got 5."),
        ],
    )  # fmt: skip
    def test_says_what_is_wrong(self, changes, message):
        with pytest.raises(DataError) as caught:
            build(**changes)
        assert message in str(caught.value)

    def test_a_cycle_is_named(self):
        with pytest.raises(DataError) as caught:
            build(arcs=[*ARCS, ("Wet", "Rain")])
        assert all(name in str(caught.value) for name in ("'Rain'", "'Wet'"))

    def test_a_finished_table_must_have_the_parents_of_the_graph(self):
        rain = Variable("Rain", NO_YES)
        with pytest.raises(DataError, match="'Sprinkler'"):
            build(cpts=CPTS | {"Sprinkler": CPT(Variable("Sprinkler", NO_YES), [], [0.5, 0.5])})
        with pytest.raises(DataError, match="'Wet'"):
            build(cpts=CPTS | {"Wet": noisy_or(Variable("Wet", NO_YES), {rain: 0.5})})


class TestFromTables:
    A, B = Variable("A", NO_YES), Variable("B", NO_YES)

    def test_a_parent_without_a_table(self):
        with pytest.raises(DataError, match="the parents of 'B' must be variables; got 'A'"):
            BayesianNetwork.from_tables([CPT(self.B, [self.A], [[0.5, 0.5]] * 2)])

    def test_a_parent_with_other_states(self):
        other = Variable("A", ["0", "1"])
        with pytest.raises(DataError, match="the parent 'A' of 'B' must have the states of that variable"):
            BayesianNetwork.from_tables([CPT(self.A, [], [0.5, 0.5]), CPT(self.B, [other], [[0.5, 0.5]] * 2)])

    def test_two_tables_of_one_variable(self):
        with pytest.raises(DataError, match="the variables of a network must have distinct names; got 'A' twice"):
            BayesianNetwork.from_tables([CPT(self.A, [], [0.5, 0.5])] * 2)

    def test_a_cycle(self):
        tables = [CPT(self.A, [self.B], [[0.5, 0.5]] * 2), CPT(self.B, [self.A], [[0.5, 0.5]] * 2)]
        with pytest.raises(DataError, match=r"the arcs must not form a cycle; got '[AB]' → '[AB]' → '[AB]'"):
            BayesianNetwork.from_tables(tables)

    def test_not_a_table(self):
        with pytest.raises(DataError, match="the tables of a network must be conditional tables; got list"):
            BayesianNetwork.from_tables([[0.5, 0.5]])
        with pytest.raises(DataError, match=r"cpts must be a list of conditional tables; got None\."):
            BayesianNetwork.from_tables(None)


class TestTablesThatDoNotFit:
    """A network checks that its tables fit together."""

    def test_what_does_not_fit_is_refused(self):
        rain, sprinkler = Variable("Rain", NO_YES), Variable("Sprinkler", NO_YES)
        root, child = CPT(rain, [], [0.5, 0.5]), CPT(sprinkler, [rain], [[0.5, 0.5], [0.5, 0.5]])
        other = Variable("Rain", ["0", "1"])
        with pytest.raises(DataError, match="'Rain' twice"):
            BayesianNetwork.from_tables([root, root])
        with pytest.raises(DataError, match="the parents of 'Sprinkler' must be variables; got 'Rain'"):
            BayesianNetwork.from_tables([child])
        with pytest.raises(DataError, match="the parent 'Rain' of 'Sprinkler' must have the states"):
            BayesianNetwork.from_tables([CPT(other, [], [0.5, 0.5]), child])
        with pytest.raises(DataError, match=r"cycle; got .*'Rain' → 'Sprinkler'"):
            BayesianNetwork.from_tables([CPT(rain, [sprinkler], [[0.5, 0.5], [0.5, 0.5]]), child])
        with pytest.raises(DataError, match=r"properties must be .*got 'Rian'\. Did you mean 'Rain'\?"):
            BayesianNetwork.from_tables([root], properties={"Rian": ["x"]})

    def test_a_long_cycle_is_shown_in_part(self):
        v = [Variable(f"v{i}", ["x"]) for i in range(40)]
        with pytest.raises(DataError, match=r"cycle; got 'v0' → 'v1' → .* → … \(32 more\) → 'v0'\.$"):
            BayesianNetwork.from_tables([CPT(v[i], [v[i - 1]], [[1.0]]) for i in range(40)])
