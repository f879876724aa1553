from __future__ import annotations

import copy
import datetime as dt
import enum
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tunbridge.data import MISSING, Variable
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError


def refusal(*arguments: object) -> str:
    with pytest.raises(DataError) as error:
        Variable(*arguments)  # type: ignore[arg-type]
    return str(error.value)


def test_categorical_and_continuous() -> None:
    sky, wind = Variable("sky", ["clear", "cloudy"]), Variable("wind")
    assert (sky.is_categorical, sky.is_continuous, sky.n_states) == (True, False, 2)
    assert (wind.is_categorical, wind.is_continuous, wind.n_states) == (False, True, 0)
    assert Variable("all missing", []).is_categorical


def test_variables_are_values() -> None:
    one, other = Variable("x", ["a", "b"]), Variable("x", ("a", "b"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Variable("x", ["b", "a"])
    assert one != Variable("x", ["a", "b"], ordered=True)
    with pytest.raises(AttributeError):
        one.name = "y"  # type: ignore[misc]


def test_variables_can_be_pickled_and_copied() -> None:
    variable = Variable("x", ["a", 1, dt.date(2020, 1, 1)], ordered=True)
    assert variable.code("a") == 0  # fills the caches
    for again in (pickle.loads(pickle.dumps(variable)), copy.deepcopy(variable)):
        assert again == variable
        assert again.find(1) == 1


@pytest.mark.parametrize("name", ["", None, 3, ("a", "b")])
def test_a_name_is_text(name: object) -> None:
    assert refusal(name) == f"a variable's name must be a text that is not empty; got {name!r}."


def test_a_name_can_be_written() -> None:
    assert refusal("a\ud800") == "a variable's name must be text that UTF-8 can write; got 'a\\ud800'."


class Colour(str, enum.Enum):  # noqa: UP042 – whose str() is 'Colour.RED'
    RED = "red"


@pytest.mark.parametrize("name", [np.str_("red"), Colour.RED])
def test_names_of_subclasses_become_plain_text(name: str) -> None:
    variable = Variable(name)
    assert type(variable.name) is str
    assert variable.name == "red"


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("abc", "the states of 'x' must be a list; got 'abc'."),
        (7, "the states of 'x' must be a list; got 7."),
        (["a", "b", "a"], "the states of 'x' must be distinct; got 'a' more than once."),
        ([0, 1, True], "the states of 'x' must be distinct; got 1 more than once."),
        ([["a"], ["b"]], "the states of 'x' must be plain values; unhashable type: 'list'."),
        (["a", None], "the states of 'x' must be values; got None. Leave it out: a missing value is in no state."),
        (
            [1.5, float("nan")],
            "the states of 'x' must be values; got nan. Leave it out: a missing value is in no state.",
        ),
        ([pd.NaT], "the states of 'x' must be values; got NaT. Leave it out: a missing value is in no state."),
    ],
)
def test_bad_states_are_refused(states: object, message: str) -> None:
    assert refusal("x", states) == message


@pytest.mark.parametrize(
    ("states", "plain"),
    [
        (np.array(["a", "b"]), ("a", "b")),
        (np.array([3, 1]), (3, 1)),
        (np.array([0.5]), (0.5,)),
        (np.array([False, True]), (False, True)),
        (pa.array(["a", "b"]), ("a", "b")),
        (pd.Index([3, 1]), (3, 1)),
        (iter("ab"), ("a", "b")),
    ],
)
def test_states_become_plain_python_values(states: object, plain: tuple) -> None:
    found = Variable("x", states).states  # type: ignore[arg-type]
    assert found == plain
    assert list(map(type, found)) == list(map(type, plain))


@pytest.mark.parametrize(
    ("states", "value", "code"),
    [
        ([1, 2], 2, 1),
        ([1, 2], 2.0, 1),
        ([1, 2], "2", 1),
        ([1, 2], "2.0", MISSING),
        ([1, 2], np.float32(2), 1),
        ([1, 2], Decimal(2), 1),
        (["1", "2"], 2, 1),
        (["1", "2"], 2.0, 1),
        (["1", "2"], np.float32(2), 1),
        (["1", "2"], 2.5, MISSING),
        (["1.0", "2.0"], 2.0, 1),
        ([1.0, 2.0], "2", 1),
        ([1.0, 2.0], "2.0", 1),
        ([0.5], "0.5", 0),
        ([False, True], "True", 1),
        ([False, True], "true", 1),
        ([False, True], "TRUE", MISSING),
        ([False, True], "1", MISSING),
        ([False, True], 1, 1),
        (["false", "true"], True, 1),
        (["False", "True"], np.True_, 1),
        ([0, 1], True, 1),
        (["a"], "A", MISSING),
        (["a"], "a ", MISSING),
        ([dt.date(2020, 1, 1)], "2020-01-01", 0),
        ([2**53 + 1], float(2**53), MISSING),
    ],
)
def test_a_value_is_in_the_state_that_it_equals_or_reads_like(states: list, value: object, code: int) -> None:
    assert Variable("x", states).find(value) == code


def test_an_equal_state_comes_before_one_that_reads_alike() -> None:
    variable = Variable("x", ["1", 1, "True", True][:3])
    assert (variable.find("1"), variable.find(1), variable.find(1.0)) == (0, 1, 1)
    assert Variable("x", [1.0, "1"]).find("1") == 1


def test_of_states_that_read_alike_the_first_counts() -> None:
    assert Variable("x", [dt.date(2020, 1, 1), Decimal("1.50"), "1.5"]).find(np.str_("1.50")) == 1
    assert Variable("x", ["True", "true"]).find(True) == 0


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.ma.masked])
def test_missing_values_are_in_no_state(value: object) -> None:
    assert is_missing(value)
    assert Variable("x", ["None", "nan", "<NA>", "NaT", "--"]).find(value) == MISSING


@pytest.mark.parametrize("value", [0, "", "nan", False, np.array([1.0, 2.0]), [], object()])
def test_other_values_are_not_missing(value: object) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize("value", [["a"], {"a": 1}, np.array(["a"])])
def test_what_cannot_be_a_state_is_not_found(value: object) -> None:
    assert Variable("x", ["a", "['a']"]).find(value) == MISSING


def test_code_names_the_states_it_knows() -> None:
    variable = Variable("Smoking", ["never", "former", "current"])
    assert variable.code("former") == 1
    with pytest.raises(DataError) as error:
        variable.code("formerly")
    assert str(error.value) == "'Smoking' must be in one of its states; got 'formerly'. Did you mean 'former'?"
    with pytest.raises(DataError, match=r"'Age' must be in one of its states; got 3\. It is continuous\."):
        Variable("Age").code(3)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (Variable("a b"), "Variable('a b', continuous)"),
        (Variable("x", ["a", 1]), "Variable('x', ['a', 1])"),
        (Variable("x", ["a"], ordered=True), "Variable('x', ['a'], ordered)"),
        (Variable("x", range(9)), "Variable('x', [0, 1, 2, 3, 4, 5, 6, 7, … (9 in all)])"),
    ],
)
def test_repr(variable: Variable, text: str) -> None:
    assert repr(variable) == text


def test_a_million_states() -> None:
    variable = Variable("id", [f"id{i}" for i in range(10**6)])
    assert variable.code("id999999") == 999_999
    assert len(repr(variable)) < 200
    with pytest.raises(DataError, match=r"… \(1000000 in all\)"):
        variable.code("nobody")


@pytest.mark.parametrize(
    ("variable", "n_states"),
    [(Variable("x"), 0), (Variable("x", []), 0), (Variable("x", ["ab"]), 1), (Variable("x", cuts=[1, 2]), 3)],
)
def test_the_kind_and_the_number_of_states_are_attributes_that_cannot_be_changed(
    variable: Variable, n_states: int
) -> None:
    for same in (variable, pickle.loads(pickle.dumps(variable)), copy.deepcopy(variable)):
        assert (same.is_continuous, same.is_categorical) == (same.states is None, same.states is not None)
        assert same.n_states == n_states
        assert same == variable
        assert hash(same) == hash(variable)
    for name in ("is_categorical", "is_continuous", "n_states"):
        with pytest.raises(AttributeError):
            setattr(variable, name, None)
