"""The class column of a Table: whatever its states are, they come out as classes of the same kind."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers._classes import labels_of
from tunbridge.classifiers._reading import split_target
from tunbridge.errors import DataError


def table(states, codes=(0, 1, 1, 0)):
    y = [None if c < 0 else states[c] for c in codes]
    return tb.as_table({"a": ["u", "v", "v", "u"], "y": y}, kinds={"y": "categorical"})


@pytest.mark.parametrize(
    ("states", "kind"),
    [([3, 7], "i"), ([False, True], "b"), (["no", "yes"], "U"), ([1.0, 2.0], "f")],
    ids=["whole", "truth", "text", "numbers"],
)
def test_states_of_every_kind_are_classes(states, kind):
    clf = tb.NaiveBayesClassifier().fit(table(states), "y")
    assert clf.classes_.tolist() == states
    assert clf.classes_.dtype.kind == kind
    assert clf.predict({"a": "v"}).tolist() == [states[1]]
    assert clf.score(table(states), "y") == 1.0


def test_whole_numbers_are_not_objects():
    _, column, _, name = split_target(table([3, 7]), "y", None, None)
    classes = labels_of(column)
    assert (classes.dtype.kind, classes.tolist(), name) == ("i", [3, 7, 7, 3], "y")


@pytest.mark.parametrize("ages", [[0.42, None, 31.5, 22.0], np.array([0.42, np.nan, 31.5, 22.0])])
def test_a_quantity_is_named_before_its_missing_values(ages):
    """Leaving out the rows without an age would not help."""
    with pytest.raises(DataError, match=r"classes must be a few labels that rows share; got 0\.42, 31\.5, 22\.0"):
        tb.NaiveBayesClassifier().fit({"a": ["u", "v", "u", "v"]}, ages)
    with pytest.raises(DataError, match="classes must be a few labels that rows share"):
        tb.NaiveBayesClassifier().fit({"a": ["u", "v", "u", "v"], "age": ages}, "age")


def test_the_pair_that_discretise_returns_is_named():
    pair = tb.discretise({"age": [0.5, 1.5, 2.5], "y": ["u", "v", "u"]})
    with pytest.raises(DataError, match=r"got y='y'\. X is the pair that discretise returns; pass its first element"):
        tb.NaiveBayesClassifier().fit(pair, "y")


def test_a_missing_class_among_whole_numbers_is_told():
    with pytest.raises(DataError, match="every row must have a class; 1 of 4 have none, row 2 first"):
        tb.NaiveBayesClassifier().fit(table([3, 7], (0, -1, 1, 0)), "y")


def test_a_class_column_of_lists_is_refused_and_does_not_matter_for_predictions():
    lists = {"a": ["u", "v"], "y": [[1], [1, 2]]}
    with pytest.raises(DataError, match="the target must have one label in each row; column 'y' holds lists"):
        tb.NaiveBayesClassifier().fit(lists, "y")
    assert len(tb.NaiveBayesClassifier().fit(table([3, 7]), "y").predict(lists)) == 2
