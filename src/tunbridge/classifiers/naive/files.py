"""The statistics of naive Bayes as a file: plain data.

Everything else is derived from these again when the file is read, so a model that was loaded can go on learning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge.classifiers.dependence.pair_statistics import are_weights
from tunbridge.classifiers.naive.statistics import NUMERIC_ROLES, Statistics
from tunbridge.counts import Counts, Moments
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.probability.kernel_density import Points


def statistics_content(statistics: Statistics) -> dict[str, Any]:
    """Return what a native file holds of naive Bayes' statistics."""
    s = statistics
    return {
        "target": s.target,
        "class_weight": s.class_weight,
        "variables": list(s.variables),
        "roles": list(s.roles),
        "counts": [{"feature": j, "child": c.child, "table": c.table} for j, c in s.counts.items()],
        "moments": {"count": s.moments.count, "mean": s.moments.mean, "m2": s.moments.m2},
        "points": [{"feature": j, "classes": [[q.values, q.weights] for q in p]} for j, p in s.points.items()],
        "cuts": [{"feature": j, "cuts": list(d.cuts)} for j, d in s.cuts.items()],
        "extent": s.extent,
    }


def statistics_of(content: Mapping[str, Any]) -> Statistics:
    """Return the statistics that a native file holds; raise ValueError where they do not fit each other."""
    target: Variable = content["target"]
    statistics = Statistics(
        target,
        content["class_weight"],
        tuple(content["variables"]),
        tuple(content["roles"]),
        {c["feature"]: Counts(c["child"], (target,), c["table"]) for c in content["counts"]},
        Moments(**content["moments"]),
        {p["feature"]: tuple(Points(*q) for q in p["classes"]) for p in content["points"]},
        {d["feature"]: Discretisation(tuple(d["cuts"])) for d in content["cuts"]},
        content.get("extent"),
    )
    _check_shapes(statistics)
    return statistics


def _check_shapes(s: Statistics) -> None:
    """Raise ValueError unless the parts fit each other: a damaged file must not make a model that answers."""
    n_classes = s.target.n_states
    moments = (s.moments.count, s.moments.mean, s.moments.m2)
    of_role = {role: {j for j, r in enumerate(s.roles) if r == role} for role in ("categorical", *NUMERIC_ROLES)}
    points = [p for group in s.points.values() for p in group]
    fits = [
        s.class_weight.shape == (n_classes,),
        len(s.roles) == len(s.variables) == sum(map(len, of_role.values())),
        of_role["categorical"] == {j for j, v in enumerate(s.variables) if v.is_categorical},
        of_role["categorical"] | of_role["discretise"] == set(s.counts),
        of_role["kernel"] == set(s.points) and of_role["discretise"] == set(s.cuts),
        all(c.table.shape == (n_classes, c.child.n_states) for c in s.counts.values()),
        all(c.child.states == _states(s, j) for j, c in s.counts.items()),
        all(m.shape == (n_classes, len(of_role["gaussian"])) for m in moments),
        all(len(group) == n_classes for group in s.points.values()),
        all(p.values.shape == p.weights.shape and p.values.ndim == 1 for p in points),
        all(np.isfinite(a).all() for a in (s.class_weight, *moments, *(p.values for p in points))),
        all(are_weights(a) for a in (s.class_weight, moments[0], moments[2], *(p.weights for p in points))),
        all(are_weights(c.table) for c in s.counts.values()),
        s.extent is None or (s.extent.shape == (2, len(of_role["gaussian"])) and not np.isinf(s.extent).any()),
    ]
    if not all(fits):
        raise ValueError("its parts do not belong together")


def _states(s: Statistics, feature: int) -> Any:
    return s.cuts[feature].labels if feature in s.cuts else s.variables[feature].states
