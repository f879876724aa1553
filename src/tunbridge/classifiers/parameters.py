"""The parameters of a classifier as a file: numbers, texts, lists, the small objects that stand for rules, estimators.

An estimator that is a parameter of another one is written as its kind and its own parameters, so that nothing in a file
names code: only classifiers of a known kind are made again. Lists may hold estimators, also in pairs with a name. A
generator of random numbers is not written: it is where chance has come to, not a setting, and None takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from tunbridge.probability.smoothing import Laplace, MEstimate


def parameters_content(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a classifier's parameters as content of a native file."""
    return {name: _plain(value) for name, value in parameters.items()}


def parameters_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a native file holds."""
    return {name: _rule(value) for name, value in content.items()}


def fitted_content(estimator: Any) -> dict[str, Any]:
    """Return a fitted classifier, a part of another one, as content of a native file."""
    return {"kind": estimator.kind, "content": estimator.to_content()}


def fitted_of(content: Mapping[str, Any]) -> Any:
    """Return the fitted classifier that ``fitted_content`` wrote."""
    return class_of(content["kind"]).from_content(content["content"])


def class_of(kind: str) -> Any:
    """Return the classifier of a kind, in whatever room it lives; raise ValueError when there is none."""
    from tunbridge.classifiers.base import BayesClassifier

    known = {getattr(each, "kind", None): each for each in BayesClassifier.__subclasses__()}
    if kind not in known:
        from tunbridge import classifiers

        room = [getattr(classifiers, name) for name in classifiers.__all__]
        known = {getattr(each, "kind", None): each for each in room}
    if kind in known:
        return known[kind]
    raise ValueError(f"there is no classifier of kind {kind!r}")


def _plain(value: Any) -> Any:
    """Return a parameter as content of a native file."""
    if isinstance(value, Laplace):
        return {"rule": "laplace", "gamma": value.gamma}
    if isinstance(value, MEstimate):
        p = value.p if isinstance(value.p, str) else [list(pair) for pair in value.p.items()]
        return {"rule": "m-estimate", "m": value.m, "p": p}
    if isinstance(value, np.random.Generator):
        return None
    if value is None or isinstance(value, str | bool | int | float | list | tuple):
        return _plain_list(value) if isinstance(value, list | tuple) else value
    from tunbridge.classifiers.learning_options import option_content

    if (option := option_content(value, _plain)) is not None:
        return option
    if hasattr(value, "kind") and hasattr(value, "get_params"):
        parameters = parameters_content(value.get_params(deep=False))
        return {"rule": "estimator", "kind": value.kind, "parameters": parameters}
    if isinstance(value, Mapping):
        return {"rule": "by-column", "columns": [[name, _plain(v)] for name, v in value.items()]}
    if isinstance(value, Set):
        return _plain_list(sorted(value, key=repr))  # a set has no order of its own
    if isinstance(value, Iterable):
        return np.asarray(value).tolist() if hasattr(value, "__array__") else _plain_list(value)
    return value


def _plain_list(values: Iterable[Any]) -> list[Any] | tuple[Any, ...]:
    plain = [_plain(v) for v in values]
    return tuple(plain) if isinstance(values, tuple) else plain


def _rule(value: Any) -> Any:
    """Return the parameter that ``_plain`` wrote."""
    if isinstance(value, list | tuple):
        return type(value)(_rule(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    if value["rule"] == "laplace":
        return Laplace(value["gamma"])
    if value["rule"] == "m-estimate":
        guess: Any = value["p"]
        guess = guess if isinstance(guess, str) else dict(guess)
        return MEstimate(value["m"], guess)
    if value["rule"] == "estimator":
        return class_of(value["kind"])(**parameters_of(value["parameters"]))
    if value["rule"] != "by-column":
        from tunbridge.classifiers.learning_options import option_of

        return option_of(value, _rule)
    return {name: _rule(v) for name, v in value["columns"]}
