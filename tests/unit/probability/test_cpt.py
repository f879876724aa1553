from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT, as_cpt, deterministic

YES_NO = ["no", "yes"]
BURGLARY, EARTHQUAKE, ALARM = (Variable(name, YES_NO) for name in ["Burglary", "Earthquake", "Alarm"])
TABLE = np.array([[[0.999, 0.001], [0.71, 0.29]], [[0.06, 0.94], [0.05, 0.95]]])


def alarm(**kwargs) -> CPT:
    return CPT(ALARM, [BURGLARY, EARTHQUAKE], TABLE, **kwargs)


def test_what_it_is():
    cpt = alarm()
    assert isinstance(cpt, ConditionalTable)
    assert cpt.variable == ALARM
    assert cpt.parents == (BURGLARY, EARTHQUAKE)
    assert cpt.shape == (2, 2, 2)
    assert cpt.n_configurations == 4
    assert cpt.n_parameters == 4
    assert cpt.counts is None
    assert np.array_equal(cpt.table(), TABLE)
    assert cpt.table().flags.c_contiguous
    assert cpt.table().dtype == np.float64


def test_matrix_and_lists():
    assert CPT(ALARM, [BURGLARY, EARTHQUAKE], TABLE.reshape(4, 2)) == alarm()
    assert CPT(ALARM, [BURGLARY, EARTHQUAKE], TABLE.tolist()) == alarm()
    assert CPT(ALARM, [BURGLARY, EARTHQUAKE], np.asfortranarray(TABLE)) == alarm()
    root = CPT(BURGLARY, table=[0.99, 0.01])
    assert root.shape == (2,)
    assert root.n_configurations == 1
    assert CPT(BURGLARY, (), [[0.99, 0.01]]) == root
    assert CPT(ALARM, BURGLARY, [[0.5, 0.5], [0.25, 0.75]]).parents == (BURGLARY,)


def test_rows_by_codes():
    codes = np.array([[1, 0], [0, 1], [1, 0]], np.int8)
    assert alarm().rows(codes).tolist() == [[0.06, 0.94], [0.71, 0.29], [0.06, 0.94]]
    assert alarm().rows(np.empty((0, 2), int)).shape == (0, 2)
    assert CPT(BURGLARY, table=[0.99, 0.01]).rows(np.empty((3, 0), int)).tolist() == [[0.99, 0.01]] * 3


@pytest.mark.parametrize("kind", np.typecodes["AllInteger"])
def test_codes_of_every_integer_type(kind):
    n, m = Variable("n", range(100)), Variable("m", range(5))
    table = np.random.default_rng(0).dirichlet([1, 1], (100, 5))
    codes = np.array([[99, 4], [0, 0], [50, 3]], kind)
    expected = table[[99, 0, 50], [4, 0, 3]]
    np.testing.assert_array_equal(CPT(ALARM, [n, m], table).rows(codes), expected)
    sparse = SparseCPT.from_codes(ALARM, [n, m], codes, expected)
    assert sparse.configurations.dtype == np.int64
    np.testing.assert_array_equal(sparse.rows(codes), expected)
    noisy = NoisyMaxCPT(ALARM, [n, m], [table[:, 0], table[0]])
    np.testing.assert_array_equal(noisy.rows(codes), noisy.rows(codes.astype(np.int64)))
    with pytest.raises(DataError, match="the codes of 'm' must be from 0 to 4; got 5"):
        sparse.rows(np.array([[0, 5]], kind))


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 2]], "the codes of 'Earthquake' must be from 0 to 1; got 2"),
        ([[-1, 0]], "the codes of 'Burglary' must be from 0 to 1; got -1"),
        ([[0.0, 1.0]], "must be integers"),
        ([0, 1], r"must have the shape \(n, 2\); got \(2,\)"),
    ],
)
def test_bad_codes(codes, message):
    with pytest.raises(DataError, match=message):
        alarm().rows(codes)


def test_distributions():
    found = alarm().distribution({"Earthquake": "no", "Burglary": "yes"})
    assert dict(found) == {"no": 0.06, "yes": 0.94}
    assert found.variables == (ALARM,)
    assert CPT(BURGLARY, table=[0.99, 0.01]).distribution()["yes"] == 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"Burglary": "yes"}, "given must name every parent of 'Alarm'; 'Earthquake' is missing"),
        ({"Burglry": "yes"}, "given must name parents of 'Alarm'; got 'Burglry'. Did you mean 'Burglary'"),
        ({"Burglary": "yess", "Earthquake": "no"}, "'Burglary' must be in one of its states; got 'yess'"),
        ("yes", "given must be a mapping by parent; got 'yes'"),
    ],
)
def test_bad_conditions(given, message):
    with pytest.raises(DataError, match=message):
        alarm().distribution(given)


def test_reduced():
    cpt = alarm(counts=TABLE * 100)
    some = cpt.reduced({"Burglary": 1})
    assert some == CPT(ALARM, [EARTHQUAKE], TABLE[1])
    np.testing.assert_allclose(some.counts, TABLE[1] * 100, rtol=1e-12)
    other = cpt.reduced({"Earthquake": 0})
    assert other == CPT(ALARM, [BURGLARY], TABLE[:, 0])
    assert other.table().flags.c_contiguous
    assert not other.table().flags.writeable
    assert cpt.reduced({"Earthquake": 0, "Burglary": 1}) == CPT(ALARM, (), TABLE[1, 0])
    assert cpt.reduced({}) is cpt
    with pytest.raises(DataError, match="the code of 'Earthquake' must be a code from 0 to 1; got 2"):
        cpt.reduced({"Earthquake": 2})
    with pytest.raises(DataError, match="codes must name parents of 'Alarm'; got 'Alarm'"):
        cpt.reduced({"Alarm": 0})
    for code in ("yes", 0.7, 1.0, None, [1], -1, 10**400):
        with pytest.raises(DataError, match="the code of 'Earthquake' must be a code from 0 to 1; got"):
            cpt.reduced({"Earthquake": code})
    assert cpt.reduced({"Earthquake": np.uint8(1)}) == cpt.reduced({"Earthquake": 1})


def test_rows_are_rescaled_within_the_tolerance_only():
    cpt = CPT(BURGLARY, table=[0.3333333, 0.6666666])
    assert cpt.table().sum() == pytest.approx(1.0, rel=1e-15)
    assert cpt.table()[0] == pytest.approx(1 / 3, rel=1e-12)
    thirds = CPT(Variable("x", [0, 1, 2]), table=[0.333333] * 3).table()
    np.testing.assert_allclose(thirds, 1 / 3, rtol=1e-15)
    exact = [0.1, 0.2, 0.7]
    assert CPT(Variable("x", [0, 1, 2]), table=exact).table().tolist() == exact
    again = CPT(BURGLARY, table=cpt.table())
    assert again == cpt


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            [[0.9, 0.1], [0.5, 0.5], [0.95, 0.0], [0.5, 0.5]],
            "the probabilities of 'Alarm' given Burglary='yes', Earthquake='no' must sum to 1; got 0.95. "
            "A row gives the probabilities of 'no', 'yes', in this order.",
        ),
        ([[90, 10], [50, 50], [20, 80], [5, 95]], "must sum to 1; got 100. They look like percentages"),
        (
            [[0.5, 0.5], [1.1, -0.1]] * 2,
            "the probability of Alarm='yes' given Burglary='no', Earthquake='yes' must be at",
        ),
        ([[0.5, 0.5], [np.nan, 0.5]] * 2, "Alarm='no' given Burglary='no', Earthquake='yes' must be finite; got nan"),
        ([[np.inf, -np.inf], [0.5, 0.5]] * 2, "must be finite; got inf"),
        ([[0.5, 0.499998]] * 4, "must sum to 1; got 0.999998. .* 4 of 4 rows are wrong"),
        (
            TABLE.reshape(4, 2).T,
            r"must have the shape \(2, 2, 2\) or \(4, 2\); got \(2, 4\). It looks like the transpose",
        ),
        (np.ones((3, 2)), r"got \(3, 2\). The axes are Burglary, Earthquake, Alarm"),
        ([[1, 2], [3]], "must be an array of numbers"),
        ("abc", "must be an array of numbers; got 'abc'"),
        (None, "the table of 'Alarm' must be an array; got nothing"),
        ({"no": 1}, "as_cpt accepts dicts and frames"),
        (np.ma.masked_invalid([[0.5, np.nan]] * 4), "must be finite; got nan"),
        ([[10**400, 0]] * 4, "the table of 'Alarm' must fit into 64-bit floats; got a number that is too large"),
        (TABLE + 0j, "must be an array of numbers; got array"),
        ((TABLE + 0j).astype(object), "must be an array of numbers; got array"),
        ([[np.complex128(0.5), 0.5]] * 4, "must be an array of numbers"),
        ([[0.5, 0.499998998]] * 4, "must sum to 1; got 0.999998998"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(DataError, match=message):
        CPT(ALARM, [BURGLARY, EARTHQUAKE], table)


def test_a_square_table_with_infinities_further_down():
    with pytest.raises(DataError, match=r"given n=0 must sum to 1; got 0\.75"):
        CPT(Variable("x", range(3)), [Variable("n", range(3))], [[0.5, 0.25, 0], [np.inf, 0, 0], [-np.inf, 0, 0]])


def test_a_square_table_the_wrong_way_round():
    with pytest.raises(DataError, match="The columns sum to 1: pass the transpose"):
        CPT(ALARM, [BURGLARY], [[0.9, 0.3], [0.1, 0.7]])


@pytest.mark.parametrize(
    ("variable", "parents", "message"),
    [
        (ALARM, [ALARM], "distinct names; got 'Alarm' more than once"),
        (ALARM, [BURGLARY, BURGLARY], "distinct names; got 'Burglary' more than once"),
        (ALARM, ["Burglary"], "must be Variables; got 'Burglary'"),
        (ALARM, "Burglary", "parents must be a list of Variables; got 'Burglary'"),
        (ALARM, [Variable("Age")], "must have states; 'Age': it is continuous"),
        (Variable("Empty", []), [], "must have states; 'Empty': it has none"),
        ("Alarm", [], "must be Variables; got 'Alarm'"),
        (ALARM, [Variable(f"x{i}", [0]) for i in range(64)], "at most 63 parents; 'Alarm' has 64"),
    ],
)
def test_bad_families(variable, parents, message):
    with pytest.raises(DataError, match=message):
        CPT(variable, parents, TABLE)


def test_counts():
    counts = np.arange(8.0).reshape(2, 2, 2)
    cpt = alarm(counts=counts)
    assert np.array_equal(cpt.counts, counts)
    assert not cpt.counts.flags.writeable
    assert np.array_equal(alarm(counts=counts.reshape(4, 2)).counts, counts)
    other = cpt.with_counts(counts + 1)
    assert np.array_equal(other.counts, counts + 1)
    assert np.array_equal(cpt.counts, counts)
    assert other == cpt
    assert cpt.with_counts(None).counts is None
    with pytest.raises(DataError, match="the counts of 'Alarm' must be finite and at least 0; got -1"):
        cpt.with_counts(-np.ones((2, 2, 2)))
    with pytest.raises(DataError, match="finite"):
        cpt.with_counts(np.full((2, 2, 2), np.nan))
    with pytest.raises(DataError, match=r"must have the shape of the stored rows, \(2, 2, 2\); got \(3,\)"):
        alarm(counts=[1, 2, 3])


def arrays_of(table: ConditionalTable) -> list[np.ndarray]:
    own = [a for value in vars(table).values() for a in (value if isinstance(value, tuple) else (value,))]
    found = [
        *own,
        table.table(),
        table.distribution(dict.fromkeys([p.name for p in table.parents], "yes")).probabilities,
    ]
    return [array for array in found if isinstance(array, np.ndarray)]


def test_no_array_is_a_view_of_one_that_can_be_written_to():
    sparse = SparseCPT(ALARM, [BURGLARY, EARTHQUAKE], {("no", "yes"): [0.9, 0.1]}, [0.5, 0.5], counts=[[9, 1]])
    effects = [[[1, 0], [0.5, 0.5]]] * 2
    tables = [
        *(alarm(counts=TABLE.reshape(4, 2)), CPT(ALARM, [BURGLARY, EARTHQUAKE], TABLE.reshape(4, 2)), sparse),
        *(NoisyMaxCPT(ALARM, [BURGLARY, EARTHQUAKE], effects, [0.9, 0.1]), sparse.with_counts([[1, 2]])),
        deterministic(ALARM, [BURGLARY, EARTHQUAKE], lambda b, e: b),
    ]
    tables += [table.reduced({"Burglary": 0}) for table in tables]
    tables += [table.reduced({"Earthquake": 1}) for table in tables[len(tables) // 2 :]]
    for array in [array for table in tables for array in arrays_of(table)]:
        assert not array.flags.writeable
        assert array.base is None or not array.base.flags.writeable


def test_it_never_changes():
    given = TABLE.copy()
    cpt = CPT(ALARM, [BURGLARY, EARTHQUAKE], given)
    given[:] = 0.0
    assert np.array_equal(cpt.table(), TABLE)
    with pytest.raises(ValueError, match="read-only"):
        cpt.table()[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        cpt.variable = BURGLARY
    with pytest.raises(TypeError):
        hash(cpt)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies(again):
    cpt = alarm(counts=np.ones((2, 2, 2)))
    other = again(cpt)
    assert other == cpt
    assert np.array_equal(other.counts, cpt.counts)
    assert not other.table().flags.writeable
    assert not other.counts.flags.writeable


def test_equality():
    assert alarm() == alarm()
    assert alarm() != CPT(ALARM, [EARTHQUAKE, BURGLARY], TABLE)
    assert alarm() != CPT(ALARM, [BURGLARY, EARTHQUAKE], TABLE[::-1])
    assert alarm() != "alarm"


def test_it_reads_well():
    assert repr(alarm()) == "CPT('Alarm' | 'Burglary', 'Earthquake': 4 rows of 2 states)"
    assert repr(CPT(BURGLARY, table=[0.5, 0.5])) == "CPT('Burglary': 1 row of 2 states)"
    assert str(alarm()).splitlines()[:3] == [
        "Alarm given Burglary, Earthquake",
        "Burglary  Earthquake  no     yes",
        "no        no          0.999  0.001",
    ]
    large = CPT(ALARM, [Variable("n", range(100))], np.full((100, 2), 0.5))
    assert str(large).splitlines()[-1] == "… and 80 more rows"
    assert len(str(large).splitlines()) == 23
    assert "(the first 20 of 100 rows)" in large._repr_html_()
    assert "<th>Burglary</th><th>Earthquake</th><th>no</th><th>yes</th>" in alarm()._repr_html_()


def test_as_a_frame():
    frame = alarm().to_pandas()
    assert frame.columns.tolist() == ["Burglary", "Earthquake", "no", "yes"]
    assert frame.to_numpy().tolist()[1] == ["no", "yes", 0.71, 0.29]
    assert as_cpt(ALARM, [BURGLARY, EARTHQUAKE], frame) == alarm()


def test_unknown_parents_are_unknown_variables():
    with pytest.raises(UnknownVariableError, match="Did you mean 'Burglary'"):
        alarm().distribution({"Burglery": "no", "Earthquake": "no"})
