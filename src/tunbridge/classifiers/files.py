"""Naive Bayes as a file: its parameters and its sufficient statistics, as plain data.

Everything else is derived from these again when the file is read, so a model that was loaded can go on learning.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from tunbridge.classifiers.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.statistics import Statistics
from tunbridge.counts import Counts, Moments
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.errors import FormatError
from tunbridge.formats.native import write_model
from tunbridge.probability.kernel_density import Points
from tunbridge.probability.smoothing import Laplace, MEstimate

KIND = "naive-bayes"


def save_naive_bayes(model: NaiveBayesClassifier, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a native file."""
    content = {
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "target_name": model.target_name_,
        "has_feature_names": hasattr(model, "feature_names_in_"),
        "statistics": _statistics_content(model.statistics_),
    }
    write_model(path, KIND, content)


def load_naive_bayes(content: Mapping[str, Any]) -> NaiveBayesClassifier:
    """Return the classifier that a native file holds."""
    try:
        parameters = {name: _rule(value) for name, value in content["parameters"].items()}
        model = NaiveBayesClassifier(**parameters)
        statistics = _statistics(content["statistics"])
        _check_shapes(statistics)
        model._check_parameters()
        model._adopt(statistics, content["target_name"])
        model.n_features_in_ = len(statistics.variables)
        if content["has_feature_names"]:
            model.feature_names_in_ = np.array([v.name for v in statistics.variables], object)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise FormatError(f"the file must hold a naive Bayes model; its content does not fit ({error}).") from error
    return model


def _statistics_content(s: Statistics) -> dict[str, Any]:
    return {
        "target": s.target,
        "class_weight": s.class_weight,
        "variables": list(s.variables),
        "roles": list(s.roles),
        "counts": [{"feature": j, "child": c.child, "table": c.table} for j, c in s.counts.items()],
        "moments": {"count": s.moments.count, "mean": s.moments.mean, "m2": s.moments.m2},
        "points": [{"feature": j, "classes": [[q.values, q.weights] for q in p]} for j, p in s.points.items()],
        "cuts": [{"feature": j, "cuts": list(d.cuts)} for j, d in s.cuts.items()],
    }


def _statistics(content: Mapping[str, Any]) -> Statistics:
    target: Variable = content["target"]
    return Statistics(
        target,
        content["class_weight"],
        tuple(content["variables"]),
        tuple(content["roles"]),
        {c["feature"]: Counts(c["child"], (target,), c["table"]) for c in content["counts"]},
        Moments(**content["moments"]),
        {p["feature"]: tuple(Points(*q) for q in p["classes"]) for p in content["points"]},
        {d["feature"]: Discretisation(tuple(d["cuts"])) for d in content["cuts"]},
    )


def _check_shapes(s: Statistics) -> None:
    """Raise ValueError unless the parts fit each other: a damaged file must not make a model that answers."""
    n_classes, n_features = s.target.n_states, len(s.variables)
    fits = [
        s.class_weight.shape == (n_classes,),
        len(s.roles) == n_features,
        all(c.table.shape == (n_classes, c.child.n_states) for c in s.counts.values()),
        s.moments.count.shape == s.moments.mean.shape == s.moments.m2.shape == (n_classes, s.roles.count("gaussian")),
        all(len(p) == n_classes for p in s.points.values()),
        {j for j, r in enumerate(s.roles) if r in ("categorical", "discretise")} == set(s.counts),
        {j for j, r in enumerate(s.roles) if r == "kernel"} == set(s.points),
        {j for j, r in enumerate(s.roles) if r == "discretise"} == set(s.cuts),
    ]
    if not all(fits):
        raise ValueError("shapes disagree")


def _plain(value: Any) -> Any:
    """Return a parameter as content of a native file."""
    if isinstance(value, Laplace):
        return {"rule": "laplace", "gamma": value.gamma}
    if isinstance(value, MEstimate):
        p = value.p if isinstance(value.p, str) else [list(pair) for pair in value.p.items()]
        return {"rule": "m-estimate", "m": value.m, "p": p}
    if isinstance(value, Mapping):
        return {"rule": "by-column", "columns": [[name, _plain(v)] for name, v in value.items()]}
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
