"""The unit of numbers does not matter: every learner answers as in unit 1, or refuses a unit and names the column.

The squares of numbers below 1e-160 are zero, and of those below 1e-154 they have lost digits; a learner that adds them
up takes such a column for a constant.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import tunbridge as tb
from tunbridge.errors import DataError

N = 60
rng = np.random.default_rng(0)
BASE = rng.normal(size=N)
OTHER = 0.5 * BASE + rng.normal(size=N)
GROUP = np.where(rng.random(N) < 0.5, "u", "v")
CLASS = np.where(BASE + 0.5 * rng.normal(size=N) > 0, "p", "q")
DAG = tb.DAG(["c", "g", "x", "z"], [("c", "g"), ("c", "x"), ("c", "z"), ("x", "z"), ("g", "z")])


def numbers(unit):
    return {"x": BASE * unit, "z": OTHER * unit, "g": GROUP}


def of(cls, **settings):
    def learn(unit, weights=None):
        X = numbers(unit)
        return cls(**settings).fit(X, CLASS, sample_weight=weights).predict_proba(X)

    return learn


def row_by_row(cls, **settings):
    def learn(unit, weights=None):
        X, clf = numbers(unit), cls(**settings)
        for i in range(N):
            mass = None if weights is None else weights[i : i + 1]
            clf.partial_fit({k: v[i : i + 1] for k, v in X.items()}, CLASS[i : i + 1], ["p", "q"], sample_weight=mass)
        return clf.predict_proba(X)

    return learn


def network(unit, weights=None, *, hidden=()):
    X = numbers(unit)
    data = {name: [None if i in hidden else x for i, x in enumerate(column.tolist())] for name, column in X.items()}
    table = tb.as_table(data | {"c": CLASS}).with_weights(weights)
    net = tb.fit_parameters(DAG, table)
    return np.array(net.predict_proba(X, "c"))


def em(unit, weights=None):
    return network(unit, weights, hidden=(3, 17))


EXACT = {  # these need no squares, or scale them: they answer in every unit
    "kernel": of(tb.NaiveBayesClassifier, numeric="kernel"),
    "discretise": of(tb.NaiveBayesClassifier, numeric="discretise"),
}
LEARNERS = {
    **EXACT,
    "auto": of(tb.NaiveBayesClassifier),
    "gaussian": of(tb.NaiveBayesClassifier, numeric="gaussian"),
    "gaussian, no floor": of(tb.NaiveBayesClassifier, numeric="gaussian", variance_floor=0.0),
    "gaussian, row by row": row_by_row(tb.NaiveBayesClassifier, numeric="gaussian", categorical=["g"]),
    "tan": of(tb.TANClassifier, numeric="gaussian"),
    "kdb": of(tb.KDBClassifier, numeric="gaussian"),
    "network classifier": of(tb.BayesNetClassifier, numeric="gaussian"),
    "network": network,
    "em": em,
}
AT_ONE = {name: learn(1.0) for name, learn in LEARNERS.items()}


@pytest.fixture(autouse=True)
def no_foreign_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def answer(name, unit, weights=None):
    """Return the probabilities of the classes, or the message of the refusal."""
    try:
        return LEARNERS[name](unit, weights)
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"auto"}))  # the folds depend on the numbers
@given(exponent=st.integers(-300, 140))
@example(-300)
@example(-162)
@example(-158)
@example(-155)
@example(-150)
@example(-140)
@settings(max_examples=10, deadline=None)
def test_unit_of_numbers(name, exponent):
    found = answer(name, 10.0**exponent)
    if isinstance(found, str):
        assert exponent <= -140
        assert name not in EXACT
        assert re.fullmatch(
            r"numbers must differ by enough to square; those of '[xz]' differ by at most .*\. "
            r"Give them in another unit: multiply them by a power of ten first\.",
            found,
        )
    else:
        np.testing.assert_allclose(found, AT_ONE[name], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", LEARNERS)
@given(exponents=st.lists(st.integers(-320, 290), min_size=N, max_size=N), unit=st.sampled_from([1e-100, 1.0, 1e140]))
@example([0] + [-300] * (N - 1), 1.0)
@example([-300] * N, 1.0)
@example([290] * N, 1e140)
@settings(max_examples=10, deadline=None)
def test_extreme_weights(name, exponents, unit):
    found = answer(name, unit, 10.0 ** np.array(exponents, np.float64))
    if isinstance(found, str):
        assert name not in EXACT
        assert re.search("those of '[xz]'.* weights|those of '[xz]' differ by|weights must be numbers of rows", found)
    else:
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("weight", [1e-290, 1e-100, 1e100, 1e300])
def test_equal_weights_that_are_extreme(weight):
    found = tb.NaiveBayesClassifier(numeric="gaussian", variance="mle", categorical=[]).fit(
        {"x": BASE, "z": OTHER}, CLASS, sample_weight=np.full(N, weight)
    )
    plain = tb.NaiveBayesClassifier(numeric="gaussian", variance="mle", categorical=[]).fit(
        {"x": BASE, "z": OTHER}, CLASS
    )
    X = {"x": BASE, "z": OTHER}
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1e-300, 1e-155, -1e-140, 1.0, 1e140])
@pytest.mark.parametrize("name", ["gaussian", "kernel", "tan", "network classifier", "network"])
def test_constant_columns_tell_nothing(name, constant, monkeypatch):
    monkeypatch.setitem(globals(), "OTHER", np.zeros(N))
    plain = LEARNERS[name](1.0)
    monkeypatch.setitem(globals(), "OTHER", np.full(N, constant))
    np.testing.assert_allclose(LEARNERS[name](1.0), plain, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "gaussian, row by row"])
def test_rows_of_weight_zero_add_nothing(name, monkeypatch):
    kept = np.arange(N) % 3 > 0
    found = LEARNERS[name](1.0, kept.astype(float))
    for column in ("BASE", "OTHER"):  # whatever numbers such rows hold
        monkeypatch.setitem(globals(), column, np.where(kept, globals()[column], 7.0))
    np.testing.assert_allclose(LEARNERS[name](1.0, kept.astype(float))[kept], found[kept], rtol=1e-9)
