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
        ImpossibleEvidenceError,
        MemoryForecastError,
        PrecisionWarning,
        TunbridgeError,
        TunbridgeWarning,
        UnknownStateError,
        UnknownVariableError,
        UnseenStateWarning,
        ZeroProbabilityWarning,
    )
    from tunbridge.graph import (
        CPDAG,
        DAG,
        GraphComparison,
        UndirectedGraph,
        compare_graphs,
        shd,
    )
    from tunbridge.inference import (
        Conflict,
        EvidenceExplanation,
        Forecast,
        MostProbable,
        Posteriors,
    )
    from tunbridge.models import load
    from tunbridge.network import (
        BayesianNetwork,
        example_network,
        read_network,
    )
    from tunbridge.probability import (
        CPT,
        ConditionalTable,
        Distribution,
        Laplace,
        MEstimate,
        NoisyMaxCPT,
        SparseCPT,
        as_cpt,
        deterministic,
        noisy_max,
        noisy_or,
    )

__all__ = [
    "CPDAG",
    "CPT",
    "DAG",
    "BayesianNetwork",
    "ConditionalTable",
    "Conflict",
    "Counter",
    "Counts",
    "DataError",
    "Discretisation",
    "Discretiser",
    "Distribution",
    "EvidenceExplanation",
    "Explanation",
    "Forecast",
    "FormatError",
    "GraphComparison",
    "ImpossibleEvidenceError",
    "Laplace",
    "MEstimate",
    "MemoryForecastError",
    "MostProbable",
    "NaiveBayesClassifier",
    "NoisyMaxCPT",
    "PairCounts",
    "Posteriors",
    "PrecisionWarning",
    "SparseCPT",
    "Table",
    "TunbridgeError",
    "TunbridgeWarning",
    "UndirectedGraph",
    "UnknownStateError",
    "UnknownVariableError",
    "UnseenStateWarning",
    "Variable",
    "ZeroProbabilityWarning",
    "__version__",
    "as_cpt",
    "as_table",
    "compare_graphs",
    "conditional_mutual_information",
    "datasets",
    "deterministic",
    "discretise",
    "entropy",
    "example_network",
    "load",
    "mutual_information",
    "noisy_max",
    "noisy_or",
    "plots",
    "read_network",
    "read_table",
    "shd",
]

_ROOMS = {
    "classifiers": ("Discretiser", "NaiveBayesClassifier"),
    "counts": ("Counter", "Counts", "PairCounts", "conditional_mutual_information", "entropy", "mutual_information"),
    "data": ("Discretisation", "Table", "Variable", "as_table", "discretise", "read_table"),
    "decisions": ("Explanation",),
    "errors": (
        "DataError",
        "FormatError",
        "ImpossibleEvidenceError",
        "MemoryForecastError",
        "PrecisionWarning",
        "TunbridgeError",
        "TunbridgeWarning",
        "UnknownStateError",
        "UnknownVariableError",
        "UnseenStateWarning",
        "ZeroProbabilityWarning",
    ),
    "graph": ("CPDAG", "DAG", "GraphComparison", "UndirectedGraph", "compare_graphs", "shd"),
    "inference": ("Conflict", "EvidenceExplanation", "Forecast", "MostProbable", "Posteriors"),
    "models": ("load",),
    "network": ("BayesianNetwork", "example_network", "read_network"),
    "probability": (
        "CPT",
        "ConditionalTable",
        "Distribution",
        "Laplace",
        "MEstimate",
        "NoisyMaxCPT",
        "SparseCPT",
        "as_cpt",
        "deterministic",
        "noisy_max",
        "noisy_or",
    ),
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
