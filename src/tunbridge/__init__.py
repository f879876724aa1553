"""Tunbridge: Bayesian learning for Python.

``import tunbridge as tb`` costs next to nothing: every public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tunbridge._version import __version__

if TYPE_CHECKING:
    from tunbridge import plots
    from tunbridge.classifiers import Discretiser, NaiveBayesClassifier
    from tunbridge.counts import (
        Counter,
        Counts,
        PairCounts,
        conditional_mutual_information,
        entropy,
        mutual_information,
    )
    from tunbridge.data import (
        Discretisation,
        Table,
        Variable,
        as_table,
        datasets,
        discretise,
        read_table,
    )
    from tunbridge.decisions import Explanation
    from tunbridge.errors import (
        DataError,
        FormatError,
        MemoryForecastError,
        TunbridgeError,
        TunbridgeWarning,
        UnseenStateWarning,
        ZeroProbabilityWarning,
    )
    from tunbridge.models import load
    from tunbridge.probability import Laplace, MEstimate

__all__ = [
    "Counter",
    "Counts",
    "DataError",
    "Discretisation",
    "Discretiser",
    "Explanation",
    "FormatError",
    "Laplace",
    "MEstimate",
    "MemoryForecastError",
    "NaiveBayesClassifier",
    "PairCounts",
    "Table",
    "TunbridgeError",
    "TunbridgeWarning",
    "UnseenStateWarning",
    "Variable",
    "ZeroProbabilityWarning",
    "__version__",
    "as_table",
    "conditional_mutual_information",
    "datasets",
    "discretise",
    "entropy",
    "load",
    "mutual_information",
    "plots",
    "read_table",
]

_ROOMS = {
    "classifiers": ("Discretiser", "NaiveBayesClassifier"),
    "counts": ("Counter", "Counts", "PairCounts", "conditional_mutual_information", "entropy", "mutual_information"),
    "data": ("Discretisation", "Table", "Variable", "as_table", "discretise", "read_table"),
    "decisions": ("Explanation",),
    "errors": (
        "DataError",
        "FormatError",
        "MemoryForecastError",
        "TunbridgeError",
        "TunbridgeWarning",
        "UnseenStateWarning",
        "ZeroProbabilityWarning",
    ),
    "models": ("load",),
    "probability": ("Laplace", "MEstimate"),
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}
_MODULES = {"datasets": "tunbridge.data.datasets", "errors": "tunbridge.errors", "plots": "tunbridge.plots"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _WHERE:
        value = getattr(importlib.import_module(f"tunbridge.{_WHERE[name]}"), name)
    else:
        raise AttributeError(f"module 'tunbridge' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
