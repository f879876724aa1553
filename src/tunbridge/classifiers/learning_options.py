"""Searches, scores, priors, constraints and graphs as a file: their name and their fields.

Only what is listed here is made again, so that nothing in a file names code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tunbridge.graph import DAG
from tunbridge.learning import (
    AIC,
    BIC,
    FAN,
    FNML,
    GES,
    K2,
    QNML,
    TAN,
    BackOff,
    BDeu,
    BDs,
    ChowLiu,
    Constraints,
    Dirichlet,
    Exact,
    HillClimbing,
    KDependence,
    LogLikelihood,
    NodeAverage,
    OrderSearch,
    SparseCandidate,
    Tabu,
)

_KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        AIC, BIC, FAN, FNML, GES, K2, QNML, TAN, BackOff, BDeu, BDs, ChowLiu, Constraints, Dirichlet, Exact,
        HillClimbing, KDependence, LogLikelihood, NodeAverage, OrderSearch, SparseCandidate, Tabu,
    )
}  # fmt: skip


def option_content(value: Any, plain: Callable[[Any], Any]) -> dict[str, Any] | None:
    """Return an option as content of a native file, its fields written by ``plain``; None for anything else."""
    if isinstance(value, DAG):
        return {"rule": "dag", "nodes": list(value.nodes), "arcs": [list(arc) for arc in value.arcs]}
    if _KNOWN.get(type(value).__name__) is not type(value):
        return None
    given = {f.name: getattr(value, f.name) for f in fields(type(value))}
    return {
        "rule": "option",
        "name": type(value).__name__,
        "fields": {n: plain(str(v) if isinstance(v, Path) else v) for n, v in given.items()},
    }


def option_of(content: Mapping[str, Any], rule: Callable[[Any], Any]) -> Any:
    """Return the option that a native file holds, its fields read by ``rule``."""
    if content["rule"] == "dag":
        return DAG(content["nodes"], content["arcs"])
    if content["name"] not in _KNOWN:
        raise ValueError(f"there is no option {content['name']!r}")
    return _KNOWN[content["name"]](**{name: rule(v) for name, v in content["fields"].items()})
