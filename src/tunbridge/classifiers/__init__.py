"""Classifiers: scikit-learn estimators on top of the counts. Each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunbridge.classifiers.averages.a2de import A2DEClassifier
    from tunbridge.classifiers.averages.aode import AODEClassifier
    from tunbridge.classifiers.averages.bayes_forest import BayesForestClassifier
    from tunbridge.classifiers.averages.bayes_optimal import BayesOptimalClassifier
    from tunbridge.classifiers.dependence.kdb import KDBClassifier
    from tunbridge.classifiers.dependence.multinet import MultinetClassifier
    from tunbridge.classifiers.dependence.selective_kdb import SelectiveKDBClassifier
    from tunbridge.classifiers.dependence.tan import TANClassifier
    from tunbridge.classifiers.discretisers import Discretiser
    from tunbridge.classifiers.naive.joined_naive_bayes import JoinedNaiveBayesClassifier
    from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
    from tunbridge.classifiers.naive.selective_naive_bayes import SelectiveNaiveBayesClassifier
    from tunbridge.classifiers.naive.weighted_naive_bayes import WeightedNaiveBayesClassifier
    from tunbridge.classifiers.networks.bayes_net import BayesNetClassifier
    from tunbridge.classifiers.wrappers.calibrated import CalibratedClassifier
    from tunbridge.classifiers.wrappers.semi_supervised import SemiSupervisedClassifier

__all__ = [
    "A2DEClassifier",
    "AODEClassifier",
    "BayesForestClassifier",
    "BayesNetClassifier",
    "BayesOptimalClassifier",
    "CalibratedClassifier",
    "Discretiser",
    "JoinedNaiveBayesClassifier",
    "KDBClassifier",
    "MultinetClassifier",
    "NaiveBayesClassifier",
    "SelectiveKDBClassifier",
    "SelectiveNaiveBayesClassifier",
    "SemiSupervisedClassifier",
    "TANClassifier",
    "WeightedNaiveBayesClassifier",
]

_WHERE = {
    "A2DEClassifier": "averages.a2de",
    "AODEClassifier": "averages.aode",
    "BayesForestClassifier": "averages.bayes_forest",
    "BayesOptimalClassifier": "averages.bayes_optimal",
    "KDBClassifier": "dependence.kdb",
    "MultinetClassifier": "dependence.multinet",
    "SelectiveKDBClassifier": "dependence.selective_kdb",
    "TANClassifier": "dependence.tan",
    "Discretiser": "discretisers",
    "JoinedNaiveBayesClassifier": "naive.joined_naive_bayes",
    "NaiveBayesClassifier": "naive.naive_bayes",
    "SelectiveNaiveBayesClassifier": "naive.selective_naive_bayes",
    "WeightedNaiveBayesClassifier": "naive.weighted_naive_bayes",
    "BayesNetClassifier": "networks.bayes_net",
    "CalibratedClassifier": "wrappers.calibrated",
    "SemiSupervisedClassifier": "wrappers.semi_supervised",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
