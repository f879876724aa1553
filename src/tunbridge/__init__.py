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
    from tunbridge.learning import (
        AIC,
        BIC,
        FAN,
        FNML,
        GES,
        K2,
        QNML,
        TAN,
        ArcStrengths,
        BDeu,
        BDs,
        ChowLiu,
        Constraints,
        Exact,
        HillClimbing,
        KDependence,
        LearnedDAG,
        LogLikelihood,
        NodeAverage,
        OrderSearch,
        SparseCandidate,
        Tabu,
        TracedMove,
        bootstrap_structure,
        fit_parameters,
        learn_network,
        learn_structure,
        posterior_structure,
        score_structure,
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
    "AIC",
    "BIC",
    "CPDAG",
    "CPT",
    "DAG",
    "FAN",
    "FNML",
    "GES",
    "K2",
    "QNML",
    "TAN",
    "ArcStrengths",
    "BDeu",
    "BDs",
    "BayesianNetwork",
    "ChowLiu",
    "ConditionalTable",
    "Conflict",
    "Constraints",
    "Counter",
    "Counts",
    "DataError",
    "Discretisation",
    "Discretiser",
    "Distribution",
    "EvidenceExplanation",
    "Exact",
    "Explanation",
    "Forecast",
    "FormatError",
    "GraphComparison",
    "HillClimbing",
    "ImpossibleEvidenceError",
    "KDependence",
    "Laplace",
    "LearnedDAG",
    "LogLikelihood",
    "MEstimate",
    "MemoryForecastError",
    "MostProbable",
    "NaiveBayesClassifier",
    "NodeAverage",
    "NoisyMaxCPT",
    "OrderSearch",
    "PairCounts",
    "Posteriors",
    "PrecisionWarning",
    "SparseCPT",
    "SparseCandidate",
    "Table",
    "Tabu",
    "TracedMove",
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
    "bootstrap_structure",
    "compare_graphs",
    "conditional_mutual_information",
    "datasets",
    "deterministic",
    "discretise",
    "entropy",
    "example_network",
    "fit_parameters",
    "learn_network",
    "learn_structure",
    "load",
    "mutual_information",
    "noisy_max",
    "noisy_or",
    "plots",
    "posterior_structure",
    "read_network",
    "read_table",
    "score_structure",
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
    "learning": (
        "AIC",
        "BIC",
        "FAN",
        "FNML",
        "GES",
        "K2",
        "QNML",
        "TAN",
        "ArcStrengths",
        "BDeu",
        "BDs",
        "ChowLiu",
        "Constraints",
        "Exact",
        "HillClimbing",
        "KDependence",
        "LearnedDAG",
        "LogLikelihood",
        "NodeAverage",
        "OrderSearch",
        "SparseCandidate",
        "Tabu",
        "TracedMove",
        "bootstrap_structure",
        "fit_parameters",
        "learn_network",
        "learn_structure",
        "posterior_structure",
        "score_structure",
    ),
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
