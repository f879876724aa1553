"""Files of hidden Markov models: whatever replaces a part of one, it is refused or gives a model that answers."""

import datetime
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.formats.native import write_model

NUMBERS = [np.r_[np.random.default_rng(0).normal(0, 1, 12), np.random.default_rng(1).normal(6, 1, 12)]]
PAIRS = [np.column_stack([NUMBERS[0], NUMBERS[0][::-1]])]
COUNTS = [np.array([1, 0, 2, 1, 9, 8, 9, 7, 0, 1, 1, 8, 9, 9, 1, 0])]
MIXED = {"size": [1.0, 5.0, 1.2, 5.5, 0.9], "kind": ["a", "b", "a", None, "c"], "y": ["lo", "hi", "lo", "hi", "lo"]}
KEPT = 3  # draws of a posterior
SYMBOLS = [list("abcabbaaccab")]
GIBBS = {"bayesian": "gibbs", "n_draws": KEPT, "burn_in": 1}

KINDS = {
    "categorical": ({}, SYMBOLS),
    "gaussian": ({"emissions": "gaussian", "sticky": 1.0}, PAIRS),
    "mixture": ({"emissions": "gaussian-mixture"}, NUMBERS),
    "student": ({"emissions": "student-t"}, NUMBERS),
    "autoregressive": ({"emissions": "autoregressive"}, NUMBERS),
    "tied": ({"emissions": "negative-binomial", "n_states": 3, "ties": [0, 1, 0]}, COUNTS),
    "mixed": ({"columns": ("size", "kind"), "topology": [[True, True], [True, True]]}, MIXED),
    "durations": ({"emissions": "poisson", "durations": "poisson", "max_duration": 5}, COUNTS),
    "draws": ({"emissions": "gaussian", **GIBBS}, NUMBERS),
    "draws of symbols": (GIBBS, SYMBOLS),
}
READ = {"sequence", "time", "columns", "time_unit", "n_jobs"}
"""The parameters that answers read."""
PARTS = {"tied": {"ties"}, "durations": {"durations"}, "draws": {"posterior"}, "draws of symbols": {"posterior"},
         "mixed": {"emission", "topology", "state_names", "variables"}}  # fmt: skip
"""What is damaged in models of a kind: everything in the first one, the emission in others."""


@cache
def fitted(name):
    settings, x = KINDS[name]
    settings = {"n_states": 2, "restarts": 0, "max_iterations": 5, "random_state": 0, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tb.HiddenMarkovModel(**settings).fit(x, "y" if name == "mixed" else None)


def leaves(content, where=()) -> Iterator[tuple]:
    """Yield the places in some content of everything, the containers too; of several draws those of the last one."""
    if where:
        yield where
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*where, key))
    elif isinstance(content, list | tuple):
        several = where == ("posterior", "emissions")
        for i, value in list(enumerate(content))[-1 if several else 0 :]:
            yield from leaves(value, (*where, i))


def at(content, where):
    for key in where:
        content = content[key]
    return content


def replaced(content, where, value):
    """Return content with another value in one place."""
    if not where:
        return value
    first, *rest = where
    if isinstance(content, dict):
        return {**content, first: replaced(content[first], rest, value)}
    return type(content)([*content[:first], replaced(content[first], rest, value), *content[first + 1 :]])


def absent(content, where):
    """Return content without one of its keys."""
    *path, key = where
    return replaced(content, path, {k: v for k, v in at(content, path).items() if k != key})


def damaged(content, where) -> Iterator:
    """Yield content that is wrong in one place."""
    old = at(content, where)
    wrong = [None, "x", -1, 1.5, True, float("nan"), float("inf"), [], {}]
    wrong += [datetime.date(2020, 1, 1), tb.Variable("q"), tb.Variable("q", ["a"])]
    wrong += [np.zeros(0), np.zeros((2, 5)), np.ones(2, int), np.array(["a", "b"])]
    if isinstance(old, np.ndarray):
        wrong += [
            old.astype(int),
            old.astype(bool),
            old.astype(str),
            old[:-1],
            old[None],
            old * 0,
            old + 1,
            old.tolist(),
        ]
        wrong += [old * np.nan, -1.0 * old, 3 * old, np.concatenate([old, old])] if old.dtype.kind == "f" else []
    if isinstance(old, list):
        wrong += [old[:-1], [*old, *old], [*old, old], np.array(old) if isinstance(old[:1], str) else old[::-1]]
    yield from (replaced(content, where, value) for value in wrong)
    if isinstance(where[-1], str):
        yield absent(content, where)


def answers(model, x, where):
    """Ask a model for what it should answer; other data may be asked for where columns have other names or kinds."""
    assert model.describe()
    if hasattr(model, "log_likelihood_"):
        assert np.isfinite([model.bic_, model.aic_]).all()
    try:
        model.predict(x)
        model.log_likelihood(x)
        if hasattr(model, "posterior_"):
            model.predict_proba(x, interval=0.9)
    except tb.errors.ImpossibleEvidenceError:
        pass  # all rates 0
    except tb.errors.DataError:
        if where[0] not in ("parameters", "variables"):
            raise


@pytest.mark.filterwarnings("ignore")  # of what the data are not
@pytest.mark.parametrize("name", KINDS)
def test_damaged_content_is_refused_or_gives_a_model_that_answers(name, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)  # thousands of files
    model, x, path = fitted(name), KINDS[name][1], tmp_path / "m.tb"
    content = model.to_content()
    read = 0
    for where in leaves(content):
        is_own = name == "categorical" or where[0] in PARTS.get(name, {"emission"})
        if not is_own or (where[0] == "parameters" and not READ & {*where[1:2]}):
            continue
        for changed in damaged(content, where):
            write_model(path, model.kind, changed)
            try:
                found = tb.load(path)
            except tb.errors.FormatError:
                continue
            read += 1
            try:
                answers(found, x, where)
                found.save(path)
            except Exception as error:
                raise AssertionError(f"{where} with {at(changed, where)!r} was read") from error
    assert read  # such as other names of states


ONES = np.ones((2, 2))
WRONG = [
    ("categorical", ("variables",), ["x"], "variables must be"),
    ("categorical", ("variables",), [tb.Variable("x", ["a", "b"])], "2 symbols, and its emission 3"),
    ("categorical", ("variables",), [tb.Variable("x", list("abcd"))], "4 symbols, and its emission 3"),
    ("categorical", ("state_names",), np.arange(2), "a list was expected"),
    ("categorical", ("state_names",), [0, [1]], "distinct plain values"),
    ("categorical", ("state_names",), ["a", "a"], "distinct plain values"),
    ("categorical", ("rules", "allowed"), ONES, "allowed: an array of bool"),
    ("categorical", ("rules", "starts"), np.ones(2, int), "starts: an array of bool"),
    ("categorical", ("rules", "alpha"), -ONES, "alpha: .* at least 0"),
    ("categorical", ("rules", "alpha"), ONES * np.nan, "alpha: .* finite"),
    ("categorical", ("rules", "alpha"), np.ones((2, 3)), r"alpha must not have the shape \(2, 3\)"),
    ("categorical", ("rules", "is_stationary"), 1, "is_stationary: bool"),
    ("categorical", ("rules", "fixed"), ["x"], "fixed: there is no 'x'"),
    ("categorical", ("converged",), "no", "converged: bool"),
    ("categorical", ("n_steps",), None, "must come with a number of steps"),
    ("categorical", ("n_steps",), float("nan"), "n_steps: .* not NaN"),
    ("categorical", ("time_unit",), "1d", "time_unit: a number"),
    ("categorical", ("occupation",), np.array([np.inf, 0.0]), "occupation: .* finite"),
    ("categorical", ("transitions",), ONES, "transitions: probabilities"),
    ("tied", ("ties",), np.array([0, 2, 0]), "ties must be numbers"),
    ("tied", ("ties",), np.array([0, -1, 0]), "ties: .* at least 0"),
    ("gaussian", ("emission", "fields", "prior_means"), np.zeros(3), "what all states share"),
    ("gaussian", ("emission", "fields", "means"), np.zeros((3, 2)), "shape"),
    ("mixture", ("emission", "fields", "covariances"), None, "given together"),
    ("durations", ("durations", "durations"), ONES, "durations: probabilities"),
    ("durations", ("durations", "durations"), np.eye(2, dtype=int), "durations: an array of float64"),
    ("durations", ("durations", "parameters"), np.zeros((2, 3)), "parameters must not have the shape"),
    ("draws", ("posterior", "starts"), ONES / 2.0, "starts must not have the shape"),
    ("draws", ("posterior", "emissions", 1, "fields", "means"), np.zeros((2, 2)), "shape"),
    ("draws", ("posterior", "emissions", 1), {"family": "poisson", "fields": {"rates": np.ones((2, 1))}}, "draws of"),
]


@pytest.mark.parametrize(("name", "where", "value", "message"), WRONG)
def test_what_does_not_belong_together_is_named(name, where, value, message):
    model = fitted(name)
    with pytest.raises(ValueError, match=message):
        type(model).from_content(replaced(model.to_content(), where, value))


def test_files_without_later_parts_are_read():
    model = fitted("gaussian")
    content = {k: v for k, v in model.to_content().items() if k not in ("occupation", "durations", "posterior")}
    assert np.array_equal(type(model).from_content(content).predict(PAIRS)[0], model.predict(PAIRS)[0])


@pytest.mark.filterwarnings("ignore::tunbridge.errors.TunbridgeWarning")
def test_files_keep_symbols_that_no_sequence_had(tmp_path):
    emission = tb.emissions.Categorical(2.0, n_symbols=5)
    model = tb.HiddenMarkovModel(2, emission, restarts=0, max_iterations=3, random_state=0).fit(SYMBOLS)
    model.save(tmp_path / "m.tb")
    read = tb.load(tmp_path / "m.tb")
    assert read.emissions_.n_symbols == 5
    assert np.array_equal(read.log_likelihood(SYMBOLS), model.log_likelihood(SYMBOLS))
