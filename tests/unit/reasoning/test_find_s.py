"""Find-S: the worked example, conflicts, classes and what it reads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import tunbridge as tb
from tunbridge.errors import DataError, DataWarning, UnseenStateWarning

SPORT = tb.datasets.enjoy_sport()
ROWS = SPORT.drop(["enjoy"])
LABELS = ["yes", "yes", "no", "yes"]


def test_enjoy_sport():
    learner = tb.FindS().fit(SPORT, "enjoy")
    assert str(learner.hypothesis_) == "⟨Sunny, Warm, ?, Strong, ?, ?⟩"
    assert learner.consistent_
    assert learner.conflict_ is None
    assert [(step.row, str(step.hypothesis)) for step in learner.trace_] == [
        (1, "⟨Sunny, Warm, Normal, Strong, Warm, Same⟩"),
        (2, "⟨Sunny, Warm, ?, Strong, Warm, Same⟩"),
        (4, "⟨Sunny, Warm, ?, Strong, ?, ?⟩"),
    ]
    assert str(learner.trace_[0]).startswith("row 1, ⟨Sunny, Warm, Normal, Strong, Warm, Same⟩: ")
    assert learner.predict(SPORT).tolist() == LABELS
    assert learner.score(SPORT) == learner.score(SPORT, "enjoy") == learner.score(ROWS, LABELS) == 1.0
    assert learner.score(ROWS, ["no", *LABELS[1:]], sample_weight=[3, 1, 1, 1]) == 0.5
    assert (learner.n_rows_, learner.n_features_in_) == (4, 6)


def test_play_tennis_is_no_conjunction():
    with pytest.warns(DataWarning, match=r"⟨\?, \?, \?, \?⟩ covers negative row 1, ⟨Sunny, Hot"):
        learner = tb.FindS().fit(tb.datasets.play_tennis(), "play")
    assert not learner.is_map_
    assert (learner.conflict_.row, learner.conflict_.cells) == (1, ("Sunny", "Hot", "High", "Weak"))
    assert [step.row for step in learner.trace_] == [3, 4, 5, 7]
    text = str(learner.derivation())
    assert "P(D | h) = 0\nP(D) = 0\nEvery conjunction that covers" in text
    assert "negative row 1" in text


def test_derivation_says_why_it_is_map():
    learner = tb.FindS().fit(SPORT, "enjoy")
    assert learner.is_map_
    text = str(learner.derivation())
    assert "covers all 3 positive rows and none of 1 negative row." in text
    assert "P(h) = 1 / |H| = 1/973\nP(D | h) = 1\nP(h | D) = P(D | h) × P(h) / P(D) = P(h) / P(D)" in text
    assert "h is a MAP hypothesis" in text
    assert r"P(h \mid D)" in learner.derivation().latex


def test_it_is_as_probable_as_any_hypothesis():
    learner = tb.FindS().fit(SPORT, "enjoy")
    posterior = tb.reasoning.concept_space(SPORT, "enjoy").shares
    assert posterior[learner.hypothesis_] == max(posterior.values())


def test_no_positive_row_leaves_the_empty_concept():
    learner = tb.FindS().fit(ROWS.take([2]), ["no"])
    assert learner.hypothesis_.is_empty
    assert learner.trace_ == ()
    assert learner.classes_.tolist() == ["no", "yes"]
    assert learner.predict(SPORT).tolist() == ["no"] * 4
    assert learner.partial_fit(ROWS.take([0]), ["yes"]).predict(ROWS.take([0, 1])).tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("labels", "positive", "classes", "chosen"),
    [
        (["yes", "no"], None, ["no", "yes"], "yes"),
        (["+", "-"], None, ["+", "-"], "+"),
        ([True, False], None, [False, True], True),
        ([1, 0], None, [0, 1], 1),
        ([1.0, 0.0], None, [0.0, 1.0], 1.0),
        (["1", "0"], 1, ["0", "1"], "1"),
        (["b", "a"], "b", ["a", "b"], "b"),
        (["yes", "no"], "no", ["no", "yes"], "no"),
        (["ok", "ok"], "ok", ["not ok", "ok"], "ok"),
        ([5, 5], 5, [0, 5], 5),
        ([0, 0], None, [0, 1], 1),
        (["bad", "bad"], "ok", ["bad", "ok"], "ok"),
    ],
)
def test_the_positive_class_is_found_or_given(labels, positive, classes, chosen):
    learner = tb.FindS(positive).fit([["a", "x"], ["b", "x"]], labels)
    assert learner.classes_.tolist() == classes
    assert learner.positive_ == chosen
    assert type(learner.predict([["a", "x"]]).tolist()[0]) is type(labels[0])


def test_a_made_up_label_gives_way_to_the_true_one():
    learner = tb.FindS("ok", states={"x0": ["a", "b"]}).fit([["a", "x"]], ["ok"])
    assert learner.predict([["b", "x"]]).tolist() == ["not ok"]
    learner.partial_fit([["b", "y"]], ["faulty"])
    assert learner.classes_.tolist() == ["faulty", "ok"]
    assert learner.predict([["b", "x"]]).tolist() == ["faulty"]
    learner = tb.FindS().fit([["a", "x"]], ["yes"]).partial_fit([["b", "x"]], ["no"])
    with pytest.raises(DataError, match="y must have the classes 'no', 'yes' of earlier rows; got 'nope'"):
        learner.partial_fit([["b", "y"]], ["nope"])
    assert tb.FindS("ok").partial_fit([["a"]], ["ok"], classes=["ok", "faulty"]).classes_.tolist() == ["faulty", "ok"]


def test_frames_of_any_make_and_single_rows():
    frame = SPORT.to_pandas()
    expected = tb.FindS().fit(SPORT, "enjoy").hypothesis_
    assert tb.FindS().fit(frame, "enjoy").hypothesis_ == expected
    assert tb.FindS().fit(SPORT.to_polars(), "enjoy").hypothesis_ == expected
    learner = tb.FindS().fit(frame.drop(columns="enjoy"), frame["enjoy"])
    assert learner.hypothesis_ == expected
    assert learner.predict(frame[frame.columns[::-1]]).tolist() == LABELS
    assert learner.predict(dict(frame.iloc[2])).tolist() == ["no"]
    array = frame.drop(columns="enjoy").to_numpy()
    assert tb.FindS().fit(array, LABELS).hypothesis_.values == expected.values


def test_weightless_rows_are_left_out_and_counted():
    learner = tb.FindS().fit(ROWS, LABELS, sample_weight=[0, 2.5, 1, 1])
    assert str(learner.hypothesis_) == "⟨Sunny, Warm, High, Strong, ?, ?⟩"
    assert [step.row for step in learner.trace_] == [2, 4]
    assert learner.n_rows_ == 4
    assert tb.FindS().fit(ROWS.with_weights([0, 1, 1, 1]), LABELS).hypothesis_ == learner.hypothesis_
    holes = {"a": [None, "x"], "b": ["y", "y"]}
    assert str(tb.FindS().fit(holes, [1, 1], sample_weight=[0, 1]).hypothesis_) == "⟨x, y⟩"


def test_unknown_states_meet_no_constraint():
    learner = tb.FindS().fit([["a", "x"], ["a", "y"]], [1, 1])
    with pytest.warns(UnseenStateWarning, match="meet no constraint: 'x0' holds 'new'; 'x1' holds 'new', 'other'"):
        assert learner.predict([["a", "new"], ["new", "x"], ["a", "other"]]).tolist() == [1, 0, 1]


def test_intervals_are_attributes_too():
    table, _ = tb.discretise({"age": [20.0, 25.0, 60.0], "sex": ["f", "f", "m"]}, "width", n_bins=2)
    learner = tb.FindS().fit(table, [1, 1, 0])
    assert learner.predict({"age": [30.0, 55.0], "sex": ["f", "f"]}).tolist() == [1, 0]
    learner.partial_fit({"age": [33.0], "sex": ["m"]}, [1])
    assert learner.hypothesis_.constraints == {"age": learner.variables_[0].states[0]}


def test_scikit_learn_manners():
    learner = tb.FindS("yes", states={"sky": ["Sunny", "Rainy"]})
    assert clone(learner).get_params() == {"positive": "yes", "states": {"sky": ["Sunny", "Rainy"]}}
    frame = pd.concat([SPORT.to_pandas()] * 3, ignore_index=True)
    scores = cross_val_score(tb.FindS(), frame.drop(columns="enjoy"), frame["enjoy"], cv=3)
    np.testing.assert_array_equal(scores, 1.0)
    with pytest.raises(ValueError, match="not fitted"):
        clone(tb.FindS().fit(SPORT, "enjoy")).predict(SPORT)
    with pytest.raises(ValueError, match="not fitted"):
        tb.FindS().derivation()
    again = tb.FindS().fit(ROWS.take([0]), ["yes"]).fit(SPORT, "enjoy")
    assert again.trace_ == tb.FindS().fit(SPORT, "enjoy").trace_


def _fit(*data, **settings):
    return lambda: tb.FindS(**settings).fit(*data)


def _part(labels, classes):
    return lambda: tb.FindS("ok").partial_fit([["a"]], labels, classes=classes)


def _score(weights):
    return lambda: tb.FindS().fit(ROWS, LABELS).score(ROWS, LABELS, sample_weight=weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_fit(SPORT), "y must be given: the classes, or the name of the column"),
        (_fit(SPORT, "enjoi"), "the target must be a column of the data; got 'enjoi'. Did you mean 'enjoy'?"),
        (_fit(ROWS, 4), "y must be a column of classes, or the name of one; got 4."),
        (_fit(ROWS, SPORT.select(["enjoy"])), "y must be a column of classes, or the name of one; got Table."),
        (
            _fit(SPORT, SPORT.column("enjoy")),
            "must not be among the attributes; got 'enjoy' in both. Give its name",
        ),
        (_fit((SPORT, {}), "enjoy"), "X must be one table; got a tuple that begins with one. tb.discretise ret"),
        (_fit(ROWS, ["yes"]), "y must have a class for each row; got 1 for 4 rows"),
        (_fit(ROWS, ["a", "b", "c", "a"]), "y must have two classes, in the concept or not; got 'a', 'b', 'c'"),
        (_fit(ROWS, ["a", "b", "b", "a"]), "the classes of 'class' are 'a', 'b'. For example positive='b'"),
        (_fit(ROWS, LABELS, positive="yess"), "positive must be one of the classes; got 'yess'. Did you mean 'yes'?"),
        (_fit(ROWS, ["yes", None, "no", "no"]), "every row must have a class; row 2 has none"),
        (_fit({"a": ["x", None]}, [1, 0]), "every row must have a value of every attribute; 'a' is missing in row 2"),
        (_fit({"age": [1.5, 2.5]}, [1, 0]), "attributes must be categorical; 'age' holds numbers. Discretise them"),
        (_fit({"a": ["x"]}, [1], states={"b": ["x"]}), "states must name attributes; got 'b'"),
        (_fit({"a": ["x"]}, [1], states={"a": ["y", "z"]}), "'a' must have one of the given states; got 'x'"),
        (_fit({"a": ["x"]}, [1], states=["x"]), "states must be a mapping of attribute to its states; got ['x']"),
        (_fit({"a": ["x"]}, [1], states={"a": None}), "the states of 'a' must be a list; got None"),
        (_part(["ok"], 5), "column 'classes' must be a list of values; got 5"),
        (_part(["ok"], ["ok", "a", "b"]), "classes must be the two labels of y; got 'a', 'b', 'ok', and rows of 'ok'"),
        (_part(["ok"], ["yes", "no"]), "classes must be the two labels of y; got 'no', 'yes', and rows of 'ok'"),
        (_score([0] * 4), "there must be at least one row of a weight above 0; got none"),
        (_score([1, 1]), "weights must be one number a row; got shape (2,) for 4 rows"),
        (_fit({"y": [1, 0]}, "y"), "there must be at least one attribute; got no column beside the target"),
        (lambda: tb.FindS().fit(ROWS, LABELS, [0] * 4), "there must be at least one row of a weight above 0; got none"),
        (lambda: tb.FindS().fit(ROWS, LABELS, [1, -1, 1, 1]), "weights must be finite and not negative; row 2 has -1"),
        (lambda: tb.FindS().fit(SPORT, "enjoy").predict({"sky": "Sunny"}), "the data must have the columns 'air_temp'"),
        (
            lambda: tb.FindS().fit([["a"], ["b"]], [1, 0]).predict([["a"], [None]]),
            "every row must have a value of every attribute; 'x0' is missing in row 2",
        ),
        (
            lambda: tb.FindS().fit(ROWS, LABELS).partial_fit(ROWS, ["maybe"] * 4),
            "y must have the classes 'no', 'yes' of earlier rows; got 'maybe'",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(DataError) as caught:
        make()
    assert message in str(caught.value)
