from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, TunbridgeError, UnknownStateError
from tunbridge.probability import Distribution

SKY = Variable("Sky", ["clear", "cloudy", "grey"])
WIND = Variable("Wind", [0, 1])
JOINT = np.array([[0.1, 0.2], [0.3, 0.15], [0.05, 0.2]])


def test_a_mapping_of_one_variable():
    sky = Distribution(SKY, [0.2, 0.5, 0.3])
    assert dict(sky) == {"clear": 0.2, "cloudy": 0.5, "grey": 0.3}
    assert list(sky) == ["clear", "cloudy", "grey"]
    assert len(sky) == 3
    assert sky["cloudy"] == 0.5
    assert type(sky["cloudy"]) is float
    assert "grey" in sky
    assert "green" not in sky
    assert sky.get("green") is None


def test_a_mapping_of_two_variables():
    joint = Distribution([SKY, WIND], JOINT)
    assert joint["cloudy", 1] == 0.15
    assert joint[("cloudy", "1")] == 0.15
    assert list(joint)[:3] == [("clear", 0), ("clear", 1), ("cloudy", 0)]
    assert len(joint) == 6
    assert joint.mode == ("cloudy", 0)
    assert sum(joint.values()) == pytest.approx(1.0, rel=1e-12)


def test_from_a_mapping_what_is_absent_is_zero():
    assert Distribution(SKY, {"grey": 1.0}).probabilities.tolist() == [0.0, 0.0, 1.0]
    assert Distribution([SKY, WIND], {("grey", 1): 1.0})["grey", 1] == 1.0


def test_unknown_states_are_key_errors_with_a_hint():
    sky = Distribution(SKY, [0.2, 0.5, 0.3])
    with pytest.raises(KeyError) as caught:
        sky["cloud"]
    assert str(caught.value) == "the key must be a state of 'Sky'; got 'cloud'. Did you mean 'cloudy'?"
    assert isinstance(caught.value, TunbridgeError)
    with pytest.raises(UnknownStateError, match="a tuple with a state of each of 'Sky', 'Wind'; got 'clear'"):
        Distribution([SKY, WIND], JOINT)["clear"]
    with pytest.raises(UnknownStateError, match="a state of 'Wind'; got 7"):
        Distribution([SKY, WIND], JOINT)["clear", 7]


def test_mode_top_and_entropy():
    sky = Distribution(SKY, [0.4, 0.4, 0.2])
    assert sky.mode == "clear"
    assert sky.top(2) == [("clear", 0.4), ("cloudy", 0.4)]
    assert sky.top(9) == [("clear", 0.4), ("cloudy", 0.4), ("grey", 0.2)]
    expected = -(0.8 * math.log(0.4) + 0.2 * math.log(0.2))
    assert sky.entropy == pytest.approx(expected, rel=1e-12)
    assert Distribution(SKY, [0, 1, 0]).entropy == 0.0
    assert Distribution(SKY, [1 / 3] * 3).entropy == pytest.approx(math.log(3), rel=1e-12)


def test_marginals():
    joint = Distribution([SKY, WIND], JOINT)
    np.testing.assert_allclose(joint.marginal("Wind").probabilities, [0.45, 0.55], rtol=1e-12)
    np.testing.assert_allclose(joint.marginal(["Sky"]).probabilities, [0.3, 0.45, 0.25], rtol=1e-12)
    turned = joint.marginal(["Wind", "Sky"])
    assert turned.variables == (WIND, SKY)
    assert turned[1, "grey"] == joint["grey", 1]
    with pytest.raises(DataError, match="Did you mean 'Sky'"):
        joint.marginal("Sy")
    with pytest.raises(DataError, match="distinct and not empty"):
        joint.marginal(["Sky", "Sky"])


def test_marginals_are_no_views_of_what_can_be_written_to():
    joint = Distribution([SKY, WIND], JOINT)
    for names in (["Sky", "Wind"], ["Wind", "Sky"], ["Wind"]):
        array = joint.marginal(names).probabilities
        assert not array.flags.writeable
        assert array.base is None or not array.base.flags.writeable


def test_thirds_of_six_digits_are_rescaled():
    np.testing.assert_allclose(Distribution(SKY, [0.333333] * 3).probabilities, 1 / 3, rtol=1e-15)


def test_marginals_in_any_order_of_three():
    rng = np.random.default_rng(0)
    variables = [Variable(name, range(n)) for name, n in [("a", 2), ("b", 3), ("c", 4)]]
    array = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    joint = Distribution(variables, array)
    turned = joint.marginal(["c", "a", "b"])
    np.testing.assert_allclose(turned.probabilities, array.transpose(2, 0, 1), rtol=1e-12)
    np.testing.assert_allclose(joint.marginal(["c", "a"]).probabilities, array.sum(axis=1).T, rtol=1e-12)


def test_expected_values():
    sky = Distribution(SKY, [0.2, 0.5, 0.3])
    assert sky.expected({"grey": 10, "clear": 0, "cloudy": 1}) == pytest.approx(3.5, rel=1e-12)
    assert sky.expected(len) == pytest.approx(0.2 * 5 + 0.5 * 6 + 0.3 * 4, rel=1e-12)
    assert sky.expected([0, 1, 10]) == pytest.approx(3.5, rel=1e-12)
    assert Distribution(WIND, [0.25, 0.75]).expected() == pytest.approx(0.75, rel=1e-12)
    with pytest.raises(DataError, match="'cloudy' has none"):
        sky.expected({"grey": 10, "clear": 0})
    with pytest.raises(DataError, match="the value of 'clear' must be a number"):
        sky.expected()
    with pytest.raises(UnknownStateError, match="Did you mean 'grey'"):
        sky.expected({"gray": 10})
    for value in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(DataError, match=f"values must be finite; got {value}"):
            sky.expected([value, 1, 2])
    with pytest.raises(DataError, match="values must fit into 64-bit floats"):
        sky.expected([10**400, 1, 2])


def test_intervals_and_standard_errors():
    plain = Distribution(WIND, [0.25, 0.75])
    assert plain.interval is None
    assert plain.standard_errors is None
    sure = Distribution(WIND, [0.25, 0.75], interval={0: (0.2, 0.3), 1: (0.7, 0.8)}, standard_errors=[0.02, 0.02])
    assert sure.interval == {0: (0.2, 0.3), 1: (0.7, 0.8)}
    assert sure.standard_errors == {0: 0.02, 1: 0.02}
    assert "± 0.02  0.2 … 0.3" in repr(sure)
    table = sure.to_arrow()
    assert table.column_names == ["Wind", "probability", "low", "high", "standard_error"]
    assert table["high"].to_pylist() == [0.3, 0.8]


def test_to_dict():
    joint = Distribution([SKY, WIND], JOINT)
    assert joint.to_dict() == dict(joint)
    assert all(type(p) is float for p in joint.to_dict().values())


def test_to_arrow():
    table = Distribution([SKY, WIND], JOINT).to_arrow()
    assert table.column_names == ["Sky", "Wind", "probability"]
    assert table["Sky"].to_pylist() == ["clear", "clear", "cloudy", "cloudy", "grey", "grey"]
    assert table["Wind"].to_pylist() == [0, 1] * 3
    np.testing.assert_allclose(table["probability"].to_numpy(), JOINT.ravel(), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distribution(SKY, [0.2, 0.5, 0.2]), "'Sky' must sum to 1; got 0.9"),
        (lambda: Distribution(SKY, [20, 50, 30]), "got 100. They look like percentages"),
        (lambda: Distribution(SKY, [0.2, 0.9, -0.1]), "at least 0; got -0.1"),
        (lambda: Distribution(SKY, [0.2, 0.8, np.nan]), "finite and at least 0; got nan"),
        (lambda: Distribution(SKY, [1e308, 1e308, 1e308]), "must sum to 1; got inf"),
        (lambda: Distribution(SKY, [0.5, 0.5]), r"the shape \(3,\); got \(2,\)"),
        (lambda: Distribution(SKY, ["x", 0, 1]), "must be an array of numbers"),
        (lambda: Distribution(SKY, [10**400, 0, 0]), "probabilities must fit into 64-bit floats"),
        (lambda: Distribution(SKY, {"clear": 10**400}), "probabilities must fit into 64-bit floats"),
        (lambda: Distribution(SKY, np.array([1 + 0j, 0, 0])), "probabilities must be an array of numbers"),
        (lambda: Distribution(SKY, {"clear": np.complex128(1)}), "probabilities must be numbers; got"),
        (lambda: Distribution(SKY, {"clear": [1, 2]}), r"probabilities must be numbers; got \[1, 2\]"),
        (lambda: Distribution(SKY, [0.333333, 0.333333, 0.333332]), "must sum to 1; got 0.999998"),
        (
            lambda: Distribution(WIND, [0.25, 0.75], interval={0: (0.2, 0.3)}),
            "interval must name every state; 1 is missing",
        ),
        (
            lambda: Distribution([SKY, WIND], JOINT, standard_errors={("clear", 0): 0.1}),
            r"standard_errors must name every state; \('clear', 1\) is missing",
        ),
        (
            lambda: Distribution(WIND, [0.25, 0.75], interval={0: (0.2, 0.3), 1: 0.7}),
            "interval must have 2 numbers for each state; got 0.7",
        ),
        (lambda: Distribution(Variable("Age"), [1.0]), "Variables with states"),
        (lambda: Distribution([SKY, SKY], np.full((3, 3), 1 / 9)), "distinct"),
        (lambda: Distribution([], 1.0), "not empty"),
        (lambda: Distribution(SKY, {"clear": 0.5, "gray": 0.5}), "Did you mean 'grey'"),
    ],
)
def test_bad_distributions(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_it_never_changes():
    given = np.array([0.2, 0.5, 0.3])
    sky = Distribution(SKY, given)
    given[0] = 9.0
    assert sky["clear"] == 0.2
    with pytest.raises(ValueError, match="read-only"):
        sky.probabilities[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        sky.probabilities = given
    with pytest.raises(TypeError):
        hash(sky)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies(again):
    sky = Distribution(SKY, [0.2, 0.5, 0.3], standard_errors=[0.1, 0.1, 0.1])
    other = again(sky)
    assert other == sky
    assert other.standard_errors == sky.standard_errors
    assert not other.probabilities.flags.writeable


def test_equality():
    sky = Distribution(SKY, [0.2, 0.5, 0.3])
    assert sky == Distribution(SKY, [0.2, 0.5, 0.3])
    assert sky != Distribution(SKY, [0.3, 0.5, 0.2])
    assert sky != Distribution(Variable("Sea", SKY.states), [0.2, 0.5, 0.3])
    assert sky == {"clear": 0.2, "cloudy": 0.5, "grey": 0.3}
    assert sky != 3


def test_it_reads_well():
    assert repr(Distribution(SKY, [0.2, 0.5, 0.3])) == "Sky\nclear   0.2\ncloudy  0.5\ngrey    0.3"
    many = Distribution(Variable("n", range(100)), np.arange(100) / 4950)
    lines = repr(many).splitlines()
    assert lines[1].split() == ["99", "0.02"]
    assert lines[-1] == "… the 20 most probable of 100"
    assert len(lines) == 22
    assert "1 - 1e-09" in repr(Distribution(WIND, [1e-9, 1 - 1e-9]))


def test_html_is_escaped():
    html = Distribution(Variable("<b>", ["<5", "≥5"]), [0.25, 0.75])._repr_html_()
    assert "&lt;5" in html
    assert "<caption>&lt;b&gt;</caption>" in html
    assert ">0.75</td>" in html
    assert "<5" not in html


def test_as_a_pandas_frame():
    sky = Distribution(Variable("Sky", ["clear", "grey"]), [0.75, 0.25], standard_errors=[0.1, 0.1])
    frame = sky.to_pandas()
    assert frame.columns.tolist() == ["Sky", "probability", "standard_error"]
    assert frame["Sky"].tolist() == ["clear", "grey"]
    assert frame["probability"].tolist() == [0.75, 0.25]
