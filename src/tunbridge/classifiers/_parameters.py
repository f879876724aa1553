"""The parameters of a classifier as content of a file: numbers, texts, lists, rules for smoothing, options, estimators.

Nothing in a file names code. A search, score, prior or constraint is written as its name and its fields, an estimator
as its kind and its parameters; only those that are registered or listed here are made again. A random generator is not
written: it is a state rather than a setting, and None takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import Field, fields
from typing import Any

import numpy as np

from tunbridge._core.registry import entries, file_entry
from tunbridge.graph import DAG
from tunbridge.probability.smoothing import Laplace, MEstimate

_OTHER_OPTIONS = (
    "AIC", "BDeu", "BDs", "BIC", "BackOff", "Constraints", "Dirichlet", "FNML", "K2", "LogLikelihood", "NodeAverage",
    "QNML",
)  # fmt: skip
"""Options of :mod:`tunbridge.learning` that are neither registered scores nor registered searches."""


def parameters_content(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a classifier's parameters as content of a file."""
    return {name: _plain(value) for name, value in parameters.items()}


def parameters_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file holds."""
    return {name: _made(value) for name, value in content.items()}


def fitted_content(estimator: Any) -> dict[str, Any]:
    """Return a fitted classifier, a part of another one, as content of a file."""
    return {"kind": estimator.kind, "content": estimator.to_content()}


def fitted_of(content: Mapping[str, Any]) -> Any:
    """Return the fitted classifier that ``fitted_content`` wrote."""
    return class_of(content["kind"]).from_content(content["content"])


def class_of(kind: str) -> Any:
    """Return the classifier whose files have a kind; raise ValueError when there is none."""
    found = file_entry("classifier", kind)
    if found is None:
        raise ValueError(f"there is no classifier of kind {kind!r}")
    return found.load()


def _plain(value: Any) -> Any:
    """Return a parameter as content of a file."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return type(value)(_plain(v) for v in value) if type(value) in (list, tuple) else [_plain(v) for v in value]
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, Laplace):
        return {"rule": "laplace", "gamma": value.gamma}
    if isinstance(value, MEstimate):
        p = value.p if isinstance(value.p, str) else [list(pair) for pair in value.p.items()]
        return {"rule": "m-estimate", "m": value.m, "p": p}
    if isinstance(value, DAG):
        return {"rule": "dag", "nodes": list(value.nodes), "arcs": [list(arc) for arc in value.arcs]}
    if _option(type(value).__name__) is type(value):
        plain = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if not _is_path(f)}
        return {"rule": "option", "name": type(value).__name__, "fields": plain}
    if hasattr(value, "kind") and hasattr(value, "get_params"):
        parameters = parameters_content(value.get_params(deep=False))
        return {"rule": "estimator", "kind": value.kind, "parameters": parameters}
    if isinstance(value, Mapping):
        return {"rule": "by-column", "columns": [[name, _plain(v)] for name, v in value.items()]}
    if isinstance(value, Set):
        return [_plain(v) for v in sorted(value, key=repr)]  # a set has no order of its own
    if isinstance(value, Iterable):
        return np.asarray(value).tolist() if hasattr(value, "__array__") else [_plain(v) for v in value]
    return value


def _made(value: Any) -> Any:
    """Return the parameter that ``_plain`` wrote."""
    if isinstance(value, list | tuple):
        return type(value)(_made(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    rule = value["rule"]
    if rule == "laplace":
        return Laplace(value["gamma"])
    if rule == "m-estimate":
        guess: Any = value["p"] if isinstance(value["p"], str) else dict(value["p"])
        return MEstimate(value["m"], guess)
    if rule == "estimator":
        return class_of(value["kind"])(**parameters_of(value["parameters"]))
    if rule == "dag":
        return DAG(value["nodes"], value["arcs"])
    if rule == "by-column":
        return {name: _made(v) for name, v in value["columns"]}
    option = _option(value["name"])
    if option is None:
        raise ValueError(f"there is no option {value['name']!r}")
    paths = {f.name for f in fields(option) if _is_path(f)}
    return option(**{name: each for name, each in parameters_of(value["fields"]).items() if name not in paths})


def _is_path(field: Field[Any]) -> bool:
    """Return whether a field of an option names a file, such as a checkpoint: it is neither written nor read."""
    return "Path" in str(field.type)


def _option(name: str) -> Any:
    """Return the option of a name: a score, a search, a prior or constraints; None when there is none."""
    from tunbridge import learning

    registered = {entry.object for role in ("score", "search") for entry in entries(role).values()}
    return getattr(learning, name) if name in registered or name in _OTHER_OPTIONS else None
