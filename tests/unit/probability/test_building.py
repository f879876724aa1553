from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tunbridge.data import Variable, as_table
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.probability import CPT, Distribution, SparseCPT, as_cpt

YES_NO = ["no", "yes"]
BURGLARY, EARTHQUAKE, ALARM = (Variable(name, YES_NO) for name in ["Burglary", "Earthquake", "Alarm"])
PARENTS = (BURGLARY, EARTHQUAKE)
TABLE = np.array([[[0.999, 0.001], [0.71, 0.29]], [[0.06, 0.94], [0.05, 0.95]]])
EXPECTED = CPT(ALARM, PARENTS, TABLE)

NESTED = {
    "no": {"no": [0.999, 0.001], "yes": [0.71, 0.29]},
    "yes": {"yes": {"yes": 0.95, "no": 0.05}, "no": (0.06, 0.94)},
}
TUPLES = {
    ("no", "no"): [0.999, 0.001],
    ("yes", "no"): np.array([0.06, 0.94]),
    ("no", "yes"): {"no": 0.71, "yes": 0.29},
    ("yes", "yes"): [0.05, 0.95],
}
LONG = {
    "Alarm": ["yes", "no"] * 4,
    "probability": [0.001, 0.999, 0.29, 0.71, 0.94, 0.06, 0.95, 0.05],
    "Earthquake": ["no", "no", "yes", "yes"] * 2,
    "Burglary": ["no"] * 4 + ["yes"] * 4,
}
WIDE = {
    "yes": [0.95, 0.29, 0.94, 0.001],
    "Earthquake": ["yes", "yes", "no", "no"],
    "no": [0.05, 0.71, 0.06, 0.999],
    "Burglary": ["yes", "no", "yes", "no"],
}


@pytest.mark.parametrize("given", [NESTED, TUPLES, TABLE, TABLE.tolist(), TABLE.reshape(4, 2)])
def test_dicts_and_arrays(given):
    assert as_cpt(ALARM, PARENTS, given) == EXPECTED


@pytest.mark.parametrize("columns", [LONG, WIDE])
@pytest.mark.parametrize(
    "frame",
    [dict, pd.DataFrame, pl.DataFrame, pa.table, as_table, lambda d: pl.DataFrame(d).to_dicts()],
    ids=["dict", "pandas", "polars", "arrow", "Table", "records"],
)
def test_frames(frame, columns):
    assert as_cpt(ALARM, PARENTS, frame(columns)) == EXPECTED


def test_half_nested():
    three = [*PARENTS, Variable("Cat", YES_NO)]
    table = np.random.default_rng(0).dirichlet([1, 1], 8).reshape(2, 2, 2, 2)
    expected = CPT(ALARM, three, table)
    codes = [(i, j) for i in range(2) for j in range(2)]
    tuples_last = {YES_NO[i]: {(YES_NO[j], YES_NO[k]): table[i, j, k] for j, k in codes} for i in range(2)}
    tuples_first = {(YES_NO[i], YES_NO[j]): {YES_NO[k]: table[i, j, k] for k in range(2)} for i, j in codes}
    assert as_cpt(ALARM, three, tuples_last) == expected
    assert as_cpt(ALARM, three, tuples_first) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"no": [0.9, 0.1], "yes": [0.0, 1.0]},
        {"yes": {"yes": 1}, "no": {"no": 0.9, "yes": 0.1}},
        {("no",): [0.9, 0.1], ("yes",): [0, 1]},
        [[0.9, 0.1], [0, 1]],
        {"Burglary": ["yes", "no", "no"], "Alarm": ["yes", "yes", "no"], "probability": [1, 0.1, 0.9]},
        {"Burglary": ["yes", "no"], "no": [0, 0.9], "yes": [1, 0.1]},
    ],
)
def test_a_single_parent(given):
    assert as_cpt(ALARM, [BURGLARY], given) == CPT(ALARM, [BURGLARY], [[0.9, 0.1], [0.0, 1.0]])


@pytest.mark.parametrize(
    "given",
    [
        [0.9, 0.1],
        {"yes": 0.1, "no": 0.9},
        {(): [0.9, 0.1]},
        [[0.9, 0.1]],
        {"Alarm": ["yes", "no"], "probability": [0.1, 0.9]},
        pd.DataFrame({"yes": [0.1], "no": [0.9]}),
        pd.Series({"yes": 0.1, "no": 0.9}),
        Distribution(ALARM, [0.9, 0.1]),
    ],
)
def test_no_parents(given):
    assert as_cpt(ALARM, [], given) == CPT(ALARM, [], [0.9, 0.1])


def test_states_that_are_numbers_or_tuples():
    size, place = Variable("Size", [1, 2]), Variable("Place", [(0, 0), (0, 1)])
    assert as_cpt(ALARM, [size], {"1": [1, 0], 2.0: [0, 1]}).table().tolist() == [[1, 0], [0, 1]]
    assert as_cpt(ALARM, [place], {(0, 1): [0, 1], (0, 0): [1, 0]}).table().tolist() == [[1, 0], [0, 1]]
    wide = {"Burglary": ["no", "yes"], "1": [0.5, 1], "2": [0.5, 0]}
    assert as_cpt(size, [BURGLARY], wide).table().tolist() == [[0.5, 0.5], [1, 0]]


def test_finished_tables():
    assert as_cpt(ALARM, PARENTS, EXPECTED) is EXPECTED
    sparse = SparseCPT(ALARM, PARENTS, {})
    assert as_cpt(ALARM, PARENTS, sparse) is sparse
    with pytest.raises(DataError, match="must be that of 'Alarm' given 'Burglary', with the same states; got CPT"):
        as_cpt(ALARM, [BURGLARY], EXPECTED)
    with pytest.raises(DataError, match="which has another order of parents or states"):
        as_cpt(ALARM, [EARTHQUAKE, BURGLARY], EXPECTED)


def without(key: str) -> dict:
    return {name: values for name, values in LONG.items() if name != key}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {("no", "no"): [0.9, 0.1], ("yes", "no"): [0.9, 0.1], ("yes", "yes"): [0.9, 0.1]},
            "the table of 'Alarm' must have a row for every configuration of its parents; 1 of 4 is missing, such as "
            "Burglary='no', Earthquake='yes'. SparseCPT accepts some rows",
        ),
        ({"no": {"no": [0.9, 0.1]}}, "3 of 4 are missing"),
        ({}, "4 of 4 are missing"),
        ({"no": {"nein": [0.9, 0.1]}}, "must name states of its parent 'Earthquake'; got 'nein'"),
        ({("no", "yess"): [0.9, 0.1]}, "parent 'Earthquake'; got 'yess'. Did you mean 'yes'"),
        ({("no", "yes", "no"): [0.9, 0.1]}, "must have a state for each of 'Burglary', 'Earthquake'; got"),
        ({("no", "no"): [0.9, 0.1], "no": {"no": [0.9, 0.1]}}, "Earthquake='no' must be given once"),
        (
            {"no": [0.9, 0.1]},
            "given Burglary='no' must be a dict with the states of 'Earthquake'",
        ),
        ({**TUPLES, ("no", "no"): [0.9, 0.05]}, "given Burglary='no', Earthquake='no' must sum to 1; got 0.95"),
        ({**TUPLES, ("no", "no"): [0.9, 0.05, 0.05]}, "must be 2 numbers, for the states 'no', 'yes'; got 3"),
        ({**TUPLES, ("no", "no"): 0.9}, "must be 2 numbers; got 0.9. Give a list in the order of the states"),
        ({**TUPLES, ("no", "no"): {0.9, 0.1}}, "must be 2 numbers; got {"),
        ({**TUPLES, ("no", "no"): {"yes": 0.9}}, "'no' has none, and the others sum to 0.9"),
        ({**TUPLES, ("no", "no"): {"yes": 0.9, "nope": 0.1}}, "must name states of it; got 'nope'"),
        ({**TUPLES, ("no", "no"): [0.9, None]}, "must be numbers; got None"),
        ({**TUPLES, ("no", "no"): [10**400, 0]}, "Earthquake='no' must fit into 64-bit floats"),
        ({**TUPLES, ("no", "no"): {"no": 10**400, "yes": 0}}, "Earthquake='no' must fit into 64-bit floats"),
        ({**TUPLES, ("no", "no"): np.array([1 + 0j, 0])}, "Earthquake='no' must be numbers; got .*1\\+0j"),
        ([[[10**400, 0], [0.5, 0.5]]] * 2, "the table of 'Alarm' must fit into 64-bit floats"),
        ({**TUPLES, ("no", "no"): [float("nan"), 1]}, "Alarm='no' given Burglary='no', Earthquake='no' must be finite"),
        ({key: [50, 50] for key in TUPLES}, "got 100. They look like percentages"),
        (TABLE * 100, "got 100. They look like percentages"),
        (TABLE.reshape(4, 2).T, "It looks like the transpose"),
        (without("Burglary"), "must name states of its parent 'Burglary'; got 'Alarm'. Known: 'no', 'yes'"),
        (pd.DataFrame(without("Burglary")), "must have a column for each parent; 'Burglary' is missing"),
        (pd.DataFrame(without("probability")), "A frame with the column 'Alarm' needs a column 'probability'"),
        (pd.DataFrame(without("Alarm")), "A frame with the column 'probability' needs a column 'Alarm'"),
        ({**LONG, "note": ["x"] * 8}, "got also 'note'. Drop it"),
        (
            {**LONG, "Earthquake": ["no", "no", "maybe", "yes"] * 2},
            "column 'Earthquake' of the frame of 'Alarm' must hold",
        ),
        ({**LONG, "Earthquake": [None, "no", "yes", "yes"] * 2}, "must have a state in every row; row 1 is missing"),
        ({**LONG, "Burglary": ["no"] * 8}, "given Burglary='no', Earthquake='no' must be given once"),
        ({**LONG, "probability": [0.5] * 7 + [None]}, "must be finite; got nan"),
        (pd.DataFrame(LONG)[1:], "Earthquake='no' must give every state a probability; 'yes' has none"),
        (pd.DataFrame(LONG)[2:], "1 of 4 is missing, such as Burglary='no', Earthquake='no'"),
        (pd.DataFrame(WIDE)[1:], "1 of 4 is missing, such as Burglary='yes', Earthquake='yes'"),
        (pd.DataFrame(WIDE).drop(columns="yes"), "a column for each of its states; 'yes' is missing"),
        (pd.DataFrame(WIDE).rename(columns={"yes": "yess"}), "got 'yess'. Did you mean 'yes'"),
        (pd.concat([pd.DataFrame(WIDE)] * 2), "must be given once"),
        (pd.DataFrame(WIDE).assign(no=[5, 71, 6, 99], yes=[95, 29, 94, 1]), "They look like percentages"),
    ],
)
def test_what_people_do_wrong(given, message):
    with pytest.raises(DataError, match=message):
        as_cpt(ALARM, PARENTS, given)


# What pandas makes of data

DATA = pd.DataFrame(
    [(b, e, a) for b in YES_NO for e in YES_NO for a, n in (("no", 3), ("yes", 1 + 2 * (b == e))) for _ in range(n)],
    columns=["Burglary", "Earthquake", "Alarm"],
)
SHARES = CPT(ALARM, PARENTS, [[[0.5, 0.5], [0.75, 0.25]], [[0.75, 0.25], [0.5, 0.5]]])
LEVELS = ["Earthquake", "Burglary"]


@pytest.mark.parametrize(
    "given",
    [
        pd.crosstab([DATA.Burglary, DATA.Earthquake], DATA.Alarm, normalize="index"),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True).rename(None),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True).to_frame(),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True).reset_index(),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True).unstack(),
        DATA.groupby(LEVELS).Alarm.value_counts(normalize=True).unstack().reset_index("Burglary"),
    ],
)
def test_tables_that_pandas_makes(given):
    before = given.copy()
    assert as_cpt(ALARM, PARENTS, given) == SHARES
    assert before.equals(given)


@pytest.mark.parametrize("dtype", [object, "category"])
def test_a_cross_table_of_states_that_are_no_texts(dtype):
    n, flag = Variable("n", [0, 1]), Variable("flag", [False, True])
    data = pd.DataFrame({"n": [0, 0, 0, 1], "flag": [True, False, False, False]}).astype(dtype)
    table = as_cpt(n, [flag], pd.crosstab(data.flag, data.n, normalize="index"))
    np.testing.assert_allclose(table.table(), [[2 / 3, 1 / 3], [1, 0]], rtol=1e-15)
    table = as_cpt(flag, [n], pd.crosstab(data.n, data.flag, normalize="index"))
    np.testing.assert_allclose(table.table(), [[2 / 3, 1 / 3], [1, 0]], rtol=1e-15)


@pytest.mark.parametrize("frame", [lambda s: s, pd.Series.to_frame, pd.Series.reset_index])
def test_shares_of_one_column(frame):
    assert as_cpt(ALARM, [], frame(DATA.Alarm.value_counts(normalize=True))) == CPT(ALARM, [], [0.6, 0.4])


def test_a_variable_may_be_called_proportion():
    share = Variable("proportion", YES_NO)
    wide = pd.DataFrame({"proportion": YES_NO, "no": [0.9, 0.2], "yes": [0.1, 0.8]})
    assert as_cpt(ALARM, [share], wide) == CPT(ALARM, [share], [[0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize(
    "given",
    [
        pd.crosstab([DATA.Burglary, DATA.Earthquake], DATA.Alarm),
        DATA.groupby(LEVELS).Alarm.value_counts(),
        {key: [3, 3] for key in TUPLES},
    ],
)
def test_counts_are_told_from_probabilities(given):
    with pytest.raises(DataError, match=r"Burglary='no', Earthquake='no' must sum to 1; got 6\. They look like counts"):
        as_cpt(ALARM, PARENTS, given)


def test_counts_of_one_column():
    with pytest.raises(DataError, match=r"'Alarm' must sum to 1; got 20\. They look like counts: divide each row"):
        as_cpt(ALARM, [], DATA.Alarm.value_counts())
    with pytest.raises(
        DataError, match=r"needs a column 'probability'. Counts become .* value_counts\(normalize=True\)"
    ):
        as_cpt(ALARM, PARENTS, DATA.value_counts().reset_index())


def test_several_absences_are_told_in_the_plural():
    with pytest.raises(DataError, match="'Burglary', 'Earthquake' are missing"):
        as_cpt(ALARM, PARENTS, pd.DataFrame({"no": [0.9], "yes": [0.1]}))
    with pytest.raises(DataError, match="'no', 'yes' are missing"):
        as_cpt(ALARM, [BURGLARY], pd.DataFrame({"Burglary": YES_NO}))
    with pytest.raises(DataError, match=r"'b', 'c' have none, and the others sum to 0\.5"):
        as_cpt(Variable("Letter", ["a", "b", "c"]), [], {"a": 0.5})


@pytest.mark.parametrize(
    "given",
    [
        {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.5, "yes": 0.5}},
        {("no",): [0.9, 0.1], ("yes",): [0.5, 0.5]},
        {"no": np.array([0.9, 0.1])},
        [[0.9, 0.1], [0.5, 0.5]],
        np.array([[0.9, 0.1], [0.5, 0.5]]),
    ],
)
def test_a_forgotten_arc_is_guessed(given):
    rule = "the table of 'Alarm' must be one row, since it has no parents; got (?s:.*) Is an arc missing"
    with pytest.raises(DataError, match=rule):
        as_cpt(ALARM, [], given)


def test_without_parents_wrong():
    with pytest.raises(DataError, match=r"'Alarm' must be one row, since it has no parents; got .* Is an arc missing"):
        as_cpt(ALARM, [], {"no": [0.9, 0.1], "yes": [0, 1]})
    with pytest.raises(DataError, match="must name states of it; got 'ja'"):
        as_cpt(ALARM, [], {"no": 0.9, "ja": 0.1})
    with pytest.raises(DataError, match="it is empty"):
        as_cpt(ALARM, [], {"Alarm": [], "probability": []})


def test_too_large_is_refused_by_forecast():
    parents = [Variable(f"p{i}", range(10)) for i in range(14)]
    with pytest.raises(MemoryForecastError, match="SparseCPT stores only some rows"):
        as_cpt(ALARM, parents, {})


THIRDS = [0.333333] * 3


@pytest.mark.parametrize(
    "given", [[THIRDS, THIRDS], {"no": THIRDS, "yes": {"a": 0.333333, "b": 0.333333, "c": 0.333333}}]
)
def test_thirds_of_six_digits_are_a_row(given):
    letters = Variable("Letter", ["a", "b", "c"])
    np.testing.assert_allclose(as_cpt(letters, [BURGLARY], given).table(), 1 / 3, rtol=1e-15)


def test_states_may_be_left_out_where_the_others_sum_to_one_within_the_tolerance():
    letters = Variable("Letter", ["a", "b", "c", "d"])
    assert as_cpt(letters, [], dict.fromkeys("abc", 0.333333)).table()[3] == 0
    long = {"Letter": ["a", "b", "c"], "probability": THIRDS}
    assert as_cpt(letters, [], long).table()[3] == 0
    with pytest.raises(DataError, match=r"'d' has none, and the others sum to 0\.999996"):
        as_cpt(letters, [], dict.fromkeys("abc", 0.333332))
