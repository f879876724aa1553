"""Discretisation: cut points, labels, codes, and tables."""

from __future__ import annotations

import sys

import numpy as np
import pandas
import pyarrow as pa
import pytest

from oracles.discretise import mdl_cuts_by_enumeration
from tunbridge.data import as_table
from tunbridge.data.discretisation import (
    Discretisation,
    at_cuts,
    discretise,
    equal_frequency,
    equal_width,
    learn_cuts,
    mdl_cuts,
)
from tunbridge.errors import DataError, MemoryForecastError

NAN = float("nan")
UNSUPERVISED = [equal_width, equal_frequency]


def of_two_classes(values, weights=None, **options):
    """Return mdl_cuts with the values' halves as classes, so that it can stand beside the other two."""
    return mdl_cuts(values, np.arange(len(values)) * 2 // max(1, len(values)), weights, **options)


METHODS = [equal_width, equal_frequency, of_two_classes]


class TestDiscretisation:
    def test_equals_another_with_the_same_cuts_and_can_be_a_key(self):
        assert Discretisation([1, 2.5]) == Discretisation((1.0, 2.5)) != Discretisation((1.0,))
        assert len({Discretisation((1.0,)), Discretisation((1,))}) == 1

    def test_does_not_change(self):
        with pytest.raises(AttributeError):
            Discretisation((1.0,)).cuts = (2.0,)

    @pytest.mark.parametrize(
        ("cuts", "message"),
        [
            ((2.0, 1.0), "cuts must be strictly increasing; got 1.0 after 2.0"),
            ((1.0, 1.0), "cuts must be strictly increasing; got 1.0 after 1.0"),
            ((-0.0, 0.0), "cuts must be strictly increasing"),
            ((1.0, float("inf")), "a bin edge must be finite; got inf"),
            ((NAN,), "a bin edge must be finite; got nan"),
            (("1",), "a bin edge must be a number; got '1'"),
            ("12", "cuts must be a list of numbers; got '12'"),
            (3.5, "cuts must be a list of numbers; got 3.5"),
            ({1.0: 2.0}, "cuts must be a list of numbers"),
        ],
    )
    def test_refuses_cuts_that_are_no_increasing_finite_numbers(self, cuts, message):
        with pytest.raises(DataError, match=message):
            Discretisation(cuts)

    def test_a_value_at_a_cut_is_in_the_lower_interval_and_missing_ones_have_no_code(self):
        codes = Discretisation((2.5, 4.1)).codes([2.5, 2.5000001, 4.1, 5, NAN, -1e300])
        assert codes.tolist() == [0, 1, 1, 2, -1, 0]

    @pytest.mark.parametrize(("n_cuts", "dtype"), [(126, np.int8), (127, np.int16), (32767, np.int32)])
    def test_codes_have_the_smallest_type(self, n_cuts, dtype):
        codes = Discretisation(tuple(range(n_cuts))).codes([-1.0, n_cuts + 1.0, NAN])
        assert codes.dtype == dtype
        assert codes.tolist() == [0, n_cuts, -1]

    @pytest.mark.parametrize("values", [[1, 3, None], pandas.Series([1.0, 3.0, NAN]), pa.array([1, 3, None])])
    def test_codes_of_any_kind_of_column(self, values):
        assert Discretisation((2.0,)).codes(values).tolist() == [0, 1, -1]

    def test_codes_leave_the_values_alone(self):
        values = np.array([3.0, NAN, 1.0])
        values.flags.writeable = False
        Discretisation((2.0,)).codes(values)
        np.testing.assert_array_equal(values, [3.0, NAN, 1.0])

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1.0, float("inf")], "row 2 contains infinity"),
            (np.zeros((2, 2)), r"values must be one-dimensional; got \(2, 2\)"),
            (1.0, "values must be one-dimensional; got 1.0"),
            (["1", "low"], "row 2 holds 'low'"),
        ],
    )
    def test_codes_refuse_what_is_no_column_of_finite_numbers(self, values, message):
        with pytest.raises(DataError, match=message):
            Discretisation((2.0,)).codes(values)

    def test_a_variable_of_ordered_states(self):
        variable = Discretisation((2.5, 4.1)).variable("petal length")
        assert variable.states == ("≤ 2.5", "2.5 – 4.1", "> 4.1")
        assert variable.ordered

    def test_a_column_goes_out_as_an_ordered_categorical(self):
        column = Discretisation((2.5, 4.1)).column("petal length", [3, None, 9, 1])
        frame = as_table({"n": [1.0, 2.0, 3.0, 4.0]}).with_column(column).to_pandas()
        assert frame["petal length"].tolist()[0] == "2.5 – 4.1"
        assert frame["petal length"].isna().tolist() == [False, True, False, False]
        assert frame["petal length"].cat.ordered
        assert list(frame["petal length"].cat.categories) == ["≤ 2.5", "2.5 – 4.1", "> 4.1"]

    def test_a_column_names_itself_in_errors(self):
        with pytest.raises(DataError, match="column 'age' must hold finite numbers"):
            Discretisation((2.5,)).column("age", [float("inf")])


class TestLabels:
    @pytest.mark.parametrize(
        ("cuts", "labels"),
        [
            ((), ("all",)),
            ((2.45,), ("≤ 2.45", "> 2.45")),
            ((2.4500000000000002, 4.75), ("≤ 2.45", "2.45 – 4.75", "> 4.75")),
            ((-0.0,), ("≤ 0", "> 0")),
            ((-3.25, 0, 10), ("≤ -3.25", "-3.25 – 0", "0 – 10", "> 10")),
            ((1 / 3, 2 / 3), ("≤ 0.3333", "0.3333 – 0.6667", "> 0.6667")),
            ((123456.5, 1234567.25), ("≤ 123456", "123456 – 1234567", "> 1234567")),
            ((100000.25, 100000.5), ("≤ 100000.2", "100000.2 – 100000.5", "> 100000.5")),
            ((1e-20, 2.5e20), ("≤ 1e-20", "1e-20 – 2.5e+20", "> 2.5e+20")),
            ((0.000123456,), ("≤ 0.0001235", "> 0.0001235")),
        ],
    )
    def test_read_well(self, cuts, labels):
        assert Discretisation(cuts).labels == labels

    @pytest.mark.parametrize("start", [1.0, -1.0, 1e-5, 123456.789, 1e15, 1e300, 5e-324, -sys.float_info.max])
    def test_neighbouring_floats_stay_distinct(self, start):
        cuts = (start, np.nextafter(start, np.inf), np.nextafter(np.nextafter(start, np.inf), np.inf))
        assert len(set(Discretisation(cuts).labels)) == 4


class TestAtCuts:
    def test_sorts(self):
        assert at_cuts(np.array([65, 18])).cuts == (18.0, 65.0)

    def test_takes_a_discretisation_as_it_is(self):
        discretisation = Discretisation((1.0,))
        assert at_cuts(discretisation) is discretisation

    @pytest.mark.parametrize("cuts", [[1, 1], ["low"], [NAN, 1.0], 5, "5"])
    def test_refuses_repeats_and_what_is_no_number(self, cuts):
        with pytest.raises(DataError, match="must be"):
            at_cuts(cuts)


class TestDefinedAnswers:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("values", [[], [NAN, NAN], [None], [7.0], [7.0] * 5, [NAN, 7.0]])
    def test_no_cut_without_two_distinct_values(self, method, values):
        found = method(np.array(values, float))
        assert found.cuts == ()
        assert found.codes(np.array(values, float)).tolist() == [-1 if v is None or v != v else 0 for v in values]

    @pytest.mark.parametrize("method", METHODS)
    def test_two_rows_are_cut_in_the_middle(self, method):
        options = {} if method is of_two_classes else {"n_bins": 2}
        assert method([1.0, 4.0], **options).cuts == (2.5,)

    @pytest.mark.parametrize("method", METHODS)
    def test_huge_magnitudes_do_not_overflow(self, method):
        options = {} if method is of_two_classes else {"n_bins": 2}
        low, high = -sys.float_info.max, sys.float_info.max
        assert method([1e308, 1.7e308], **options).cuts == pytest.approx((1.35e308,), rel=1e-12)
        assert method([low, high], **options).cuts == (0.0,)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("low", [1.0, np.nextafter(1.0, 2.0), 5e-324, 0.0, -1.0, 1e308, -5e-324])
    def test_neighbouring_floats_are_parted(self, method, low):
        high = np.nextafter(low, np.inf)
        found = method(np.array([low, low, high, high]))
        assert found.codes([low, high]).tolist() == [0, 1]
        assert found.cuts == (low,)

    @pytest.mark.parametrize("method", METHODS)
    def test_infinities_are_refused(self, method):
        with pytest.raises(DataError, match="row 2 contains infinity"):
            method(np.array([1.0, float("inf"), 2.0]))

    @pytest.mark.parametrize("method", METHODS)
    def test_rows_of_weight_zero_do_not_count(self, method):
        values = np.array([1.0, 2.0, 3.0, 4.0, 100.0, 200.0])
        weights = [1, 1, 1, 1, 0, 0]
        classes = [0, 0, 1, 1, 0, 1]
        if method is of_two_classes:
            assert mdl_cuts(values, classes, weights) == mdl_cuts(values[:4], classes[:4])
        else:
            assert method(values, weights=weights) == method(values[:4])

    @pytest.mark.parametrize("method", METHODS)
    def test_weights_all_zero_leave_one_interval(self, method):
        assert method(np.array([1.0, 2.0]), weights=[0, 0]).cuts == ()

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, NAN], "ab"])
    def test_bad_weights_are_refused(self, method, weights):
        with pytest.raises(DataError, match="weights"):
            method(np.array([1.0, 2.0]), weights=weights)

    @pytest.mark.parametrize("method", UNSUPERVISED)
    @pytest.mark.parametrize("n_bins", [0, -1, 2.5, "3", None, True, 10**9])
    def test_n_bins_must_be_a_sensible_number(self, method, n_bins):
        with pytest.raises(DataError, match="n_bins must be"):
            method([1.0, 2.0], n_bins)

    @pytest.mark.parametrize("method", UNSUPERVISED)
    def test_one_bin_is_one_interval(self, method):
        assert method([1.0, 2.0, 3.0], 1).labels == ("all",)


class TestEqualWidth:
    def test_intervals_have_one_width(self):
        cuts = equal_width(np.array([4.3, 5.0, 5.1, 7.9, NAN]), 4).cuts
        np.testing.assert_allclose(cuts, [5.2, 6.1, 7.0], rtol=1e-15, atol=0)

    def test_ten_bins_unless_said_otherwise(self):
        assert equal_width([0.0, 1.0]).cuts == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    def test_a_range_of_few_floats_makes_few_intervals(self):
        assert len(equal_width([1.0, np.nextafter(1.0, 2.0)], 50).labels) == 2


class TestEqualFrequency:
    def test_intervals_hold_equally_many_rows(self):
        values = np.random.default_rng(0).lognormal(size=1000)
        found = equal_frequency(values, 8)
        assert np.bincount(found.codes(values)).tolist() == [125] * 8

    @pytest.mark.parametrize(
        ("values", "n_bins", "cuts"),
        [
            ([0] * 9 + [5], 10, (2.5,)),
            ([1] + [5] * 9, 10, (3.0,)),
            ([1, 2, 2, 2, 2, 3], 2, (1.5,)),  # both gaps are equally near to the half
            ([1, 1, 1, 2, 3, 4], 3, (1.5, 2.5)),
            ([3, 1, 2], 100, (1.5, 2.5)),
        ],
    )
    def test_ties_are_not_split(self, values, n_bins, cuts):
        assert equal_frequency(values, n_bins).cuts == cuts

    def test_weights_shift_the_cut(self):
        assert equal_frequency([1, 2, 3, 4], 2, [1, 1, 1, 9]).cuts == (3.5,)
        assert equal_frequency([1, 2, 3, 4], 2, [0.5, 0.1, 0.1, 0.1]).cuts == (1.5,)


class TestMDL:
    @pytest.mark.parametrize(
        ("column", "cuts"), [(0, [5.55, 6.15]), (1, [2.95, 3.35]), (2, [2.45, 4.75]), (3, [0.8, 1.75])]
    )
    def test_iris(self, column, cuts):
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        found = mdl_cuts(X[:, column], y).cuts
        np.testing.assert_allclose(found, cuts, rtol=1e-12, atol=0)
        assert list(found) == mdl_cuts_by_enumeration(X[:, column].tolist(), y.tolist())

    def test_wine(self):
        from sklearn.datasets import load_wine

        X, y = load_wine(return_X_y=True)
        for column in X.T:
            assert list(mdl_cuts(column, y).cuts) == mdl_cuts_by_enumeration(column.tolist(), y.tolist())

    @pytest.mark.parametrize(("n", "cuts"), [(4, ()), (40, (0.5,))])
    def test_the_criterion_by_hand(self, n, cuts):
        # n rows of class 0, then n rows half and half: the gain is Ent(¼) − ½·1 = 0.3113. For n = 4 the price is
        # (log₂ 7 + log₂ 7 − (2·0.8113 − 1·0 − 2·1)) / 8 = 0.7490, for n = 40 (log₂ 79 + 2.8074 + 0.3774) / 80 = 0.1186.
        assert mdl_cuts([0.0] * n + [1.0] * n, [0] * n + [0, 1] * (n // 2)).cuts == cuts

    def test_rows_without_value_or_class_do_not_count(self):
        values = np.array([1, 2, 3, 4, 5, 6, 2.5, NAN, NAN])
        classes = np.array([0, 0, 0, 1, 1, 1, -1, 0, 1])
        assert mdl_cuts(values, classes).cuts == (3.5,)

    @pytest.mark.parametrize("classes", [[2, 2, 2, 2], [-1, -1, -1, -1], [-1, -1, -1, 5]])
    def test_no_cut_without_two_classes(self, classes):
        assert mdl_cuts([1, 2, 3, 4], classes).cuts == ()

    def test_the_lowest_of_equally_good_cuts(self):
        # The counts are the same from right to left, so that each cut has an equal in the other half.
        values, classes, weights = [0, 1, 2, 2, 3, 4], [1, 0, 0, 1, 0, 1], [10, 12, 1, 13, 12, 10]
        assert mdl_cuts(values, classes, weights).cuts == (0.5, 1.5)

    def test_weights_are_numbers_of_cases(self):
        values, classes = np.arange(6.0), [0, 0, 0, 1, 1, 1]
        assert mdl_cuts(values, classes).cuts == (2.5,)
        assert mdl_cuts(values, classes, np.full(6, 1 / 6)).cuts == ()

    def test_a_class_that_is_absent_from_a_side_weighs_nothing_there(self):
        # Tenths do not add up exactly; a remainder of 1e-17 must not count as a class.
        rng = np.random.default_rng(3)
        values = np.concatenate([rng.normal(0, 1, 90), rng.normal(9, 1, 90), rng.normal(18, 1, 90)])
        classes = np.concatenate([rng.integers(0, 2, 90), np.full(90, 2), rng.integers(3, 5, 90)])
        weights = rng.integers(1, 30, 270) * 0.1
        expected = mdl_cuts_by_enumeration(values.tolist(), classes.tolist(), weights.tolist())
        assert len(expected) == 2
        assert list(mdl_cuts(values, classes, weights).cuts) == expected

    @pytest.mark.filterwarnings("error")
    def test_weights_too_small_to_be_seen_do_no_harm(self):
        values, classes = np.arange(8.0), [0, 0, 0, 2, 1, 1, 1, 1]
        assert mdl_cuts(values, classes, [1e3, 1e3, 1e3, 1e-20, 1e3, 1e3, 1e3, 1e3]).cuts == (2.5,)

    def test_more_cuts_than_python_allows_to_recurse(self):
        n_cuts = sys.getrecursionlimit() + 200
        classes = np.repeat(np.arange(n_cuts + 1) % 2, 60)
        assert len(mdl_cuts(np.arange(classes.size), classes).cuts) == n_cuts

    def test_hundreds_of_classes(self):
        # 3ᵏ is beyond a double for k > 646.
        classes = np.repeat(np.arange(900), 12)
        found = mdl_cuts(np.arange(classes.size), classes)
        assert len(found.cuts) > 100
        np.testing.assert_array_equal(np.mod(found.cuts, 12), 11.5)

    @pytest.mark.parametrize(
        ("classes", "message"),
        [
            ([0.0, 1.0], "classes must be integer codes; got float64"),
            (["a", "b"], "classes must be integer codes"),
            ([0, 1, 1], r"classes must be one code a row; got shape \(3,\) for 2 rows"),
            ([[0, 1]], "classes must be one code a row"),
        ],
    )
    def test_bad_classes_are_refused(self, classes, message):
        with pytest.raises(DataError, match=message):
            mdl_cuts([1.0, 2.0], classes)

    def test_memory_is_forecast(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
        with pytest.raises(MemoryForecastError, match="MDL discretisation would need"):
            mdl_cuts(np.zeros(1000), np.zeros(1000, int))


class TestLearnCuts:
    def test_goes_by_the_name_of_the_method(self):
        values, classes = [1.0, 2.0, 3.0, 10.0], [0, 0, 0, 1]
        assert learn_cuts(values, "width", n_bins=3) == equal_width(values, 3)
        assert learn_cuts(values, "frequency", n_bins=3) == equal_frequency(values, 3)
        assert learn_cuts(values, "mdl", classes=classes) == mdl_cuts(values, classes)

    def test_mdl_needs_classes(self):
        with pytest.raises(DataError, match="method 'mdl' must know the classes"):
            learn_cuts([1.0], "mdl")


class TestDiscretise:
    @pytest.fixture
    def visits(self):
        return as_table(
            {
                "age": [20.0, 31.5, None, 48.0, 73.0, 75.0],
                "weight": [60.0, 71.0, 80.0, 62.5, 90.0, 91.0],
                "sex": ["f", "m", "m", None, "f", "f"],
                "drug": ["A", "A", "A", "B", "B", "B"],
            }
        )

    def test_leaves_categorical_columns_and_the_order_of_columns(self, visits):
        table, found = discretise(visits, "frequency", n_bins=2)
        assert table.names == visits.names
        assert list(found) == ["age", "weight"]
        assert table.variable("sex") == visits.variable("sex")
        assert np.shares_memory(table.codes("sex"), visits.codes("sex"))
        assert table.variable("age").states == found["age"].labels == ("≤ 39.75", "> 39.75")
        assert table.codes("age").tolist() == [0, 0, -1, 1, 1, 1]
        assert all(v.is_categorical for v in table.variables)

    def test_each_method(self, visits):
        for method, function in [("width", equal_width), ("frequency", equal_frequency)]:
            assert discretise(visits, method, n_bins=3)[1]["age"] == function(visits.floats("age"), 3)
        found = discretise(visits, "mdl", target="drug")[1]
        assert found["age"] == mdl_cuts(visits.floats("age"), visits.codes("drug"))

    def test_respects_the_weights_of_the_table(self, visits):
        weights = [3, 1, 1, 0, 2, 5]
        weighted = visits.with_weights(weights)
        for method in ("width", "frequency", "mdl"):
            table, found = discretise(weighted, method, target="drug", n_bins=3)
            repeated = discretise(visits.take(np.repeat(np.arange(6), weights)), method, target="drug", n_bins=3)[1]
            assert found == repeated
            assert table.weights.tolist() == weights

    def test_given_cuts_and_learned_ones_are_applied_to_other_data(self, visits):
        table, found = discretise(visits, {"age": [65, 18], "weight": Discretisation((75.0,))})
        assert found == {"age": Discretisation((18.0, 65.0)), "weight": Discretisation((75.0,))}
        assert table.codes("age").tolist() == [1, 1, -1, 1, 2, 2]
        later, _ = discretise({"age": [70.0, 1.0], "weight": [75.0, 76.0]}, found)
        assert later.codes("age").tolist() == [2, 0]
        assert later.variable("weight") == table.variable("weight")

    def test_a_mapping_leaves_other_columns(self, visits):
        assert discretise(visits, {"age": [40]})[0].variable("weight").is_continuous

    def test_only_the_columns_asked_for(self, visits):
        table, found = discretise(visits, columns=["weight"])
        assert list(found) == ["weight"]
        assert table.variable("age").is_continuous

    def test_a_continuous_target_stays(self, visits):
        assert list(discretise(visits, "width", target="age")[1]) == ["weight"]

    def test_keeps_the_report_of_what_was_read_as_missing(self, visits):
        marked = type(visits).of(visits, read_as_missing={"age": {"?": 1}})
        assert discretise(marked)[0].read_as_missing == {"age": {"?": 1}}

    def test_a_table_without_rows_or_continuous_columns(self):
        assert discretise(as_table({"a": np.empty(0)}))[0].variable("a").states == ("all",)
        assert discretise({"a": ["x", "y"]})[1] == {}

    @pytest.mark.parametrize(
        ("method", "options", "message"),
        [
            ("mld", {}, "method must be one of .* Did you mean 'mdl'"),
            (["mdl"], {}, "method must be one of"),
            ("mdl", {}, "method 'mdl' must know the classes"),
            ("mdl", {"target": "Drug"}, "Did you mean 'drug'"),
            ("mdl", {"target": "age"}, "column 'age' must be categorical"),
            ("width", {"target": "drugs"}, "Did you mean 'drug'"),
            ("width", {"columns": ["sex"]}, "column 'sex' must be continuous"),
            ("width", {"columns": ["agee"]}, "Did you mean 'age'"),
            ("width", {"columns": "age"}, r"columns must be a list of names; got the text 'age'. Write \['age'\]"),
            ({"sex": [1]}, {}, "column 'sex' must be continuous"),
            ({"ag": [1]}, {}, "Did you mean 'age'"),
            ({"age": [1]}, {"columns": ["age"]}, "columns must be None"),
            ({"age": 40}, {}, "cuts must be a list of numbers; got 40"),
        ],
    )
    def test_bad_input(self, visits, method, options, message):
        with pytest.raises(DataError, match=message):
            discretise(visits, method, **options)
