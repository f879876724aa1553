"""Classifiers: scikit-learn estimators on top of the counts."""

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
