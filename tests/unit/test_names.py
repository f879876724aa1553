"""The names of the package."""

from __future__ import annotations

import pytest

import tunbridge as tb
from tunbridge import errors
from tunbridge._core import lazy


def test_names_are_listed_without_what_makes_the_list():
    assert "lazy_names" not in dir(tb)
    assert "lazy_names" not in dir(tb.reasoning)
    assert {"BayesianNetwork", "TANClassifier", "__version__"} <= set(dir(tb))


def test_every_error_and_warning_is_a_name():
    ours = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert ours <= set(tb.__all__)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("discretize", "Did you mean 'discretise'?"),
        ("evaluate", "Did you mean 'compare_classifiers'?"),
        ("GaussianNB", "Did you mean 'NaiveBayesClassifier'?"),
        ("GaussianHMM", "Did you mean 'HiddenMarkovModel'?"),
        ("naivebayesclassifier", "Did you mean 'NaiveBayesClassifier'?"),
        ("zzz", "'zzz'"),
    ],
)
def test_an_unknown_name_is_told_the_nearest_one(name, hint):
    with pytest.raises(AttributeError) as error:
        getattr(tb, name)
    assert str(error.value).endswith(hint)


def test_the_names_of_other_libraries_lead_to_names_of_the_package():
    assert set(dir(tb)) >= set(lazy._ELSEWHERE)
    others = [name for names in lazy._ELSEWHERE.values() for name in names.split()]
    assert len(others) == len(set(others))
    assert not set(others) & set(tb.__all__)
