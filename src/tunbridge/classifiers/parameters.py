"""The parameters of a classifier as a file: numbers, texts, lists, and the small objects that stand for rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tunbridge.probability.smoothing import Laplace, MEstimate


def parameters_content(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a classifier's parameters as content of a native file."""
    return {name: _plain(value) for name, value in parameters.items()}


def parameters_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a native file holds."""
    return {name: _rule(value) for name, value in content.items()}


def _plain(value: Any) -> Any:
    """Return a parameter as content of a native file."""
    if isinstance(value, Laplace):
        return {"rule": "laplace", "gamma": value.gamma}
    if isinstance(value, MEstimate):
        p = value.p if isinstance(value.p, str) else [list(pair) for pair in value.p.items()]
        return {"rule": "m-estimate", "m": value.m, "p": p}
    if isinstance(value, Mapping):
        return {"rule": "by-column", "columns": [[name, _plain(v)] for name, v in value.items()]}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return np.asarray(value).tolist() if hasattr(value, "__array__") else list(value)
    return value


def _rule(value: Any) -> Any:
    """Return the parameter that ``_plain`` wrote."""
    if not isinstance(value, Mapping):
        return value
    if value["rule"] == "laplace":
        return Laplace(value["gamma"])
    if value["rule"] == "m-estimate":
        guess: Any = value["p"]
        guess = guess if isinstance(guess, str) else dict(guess)
        return MEstimate(value["m"], guess)
    return {name: _rule(v) for name, v in value["columns"]}
