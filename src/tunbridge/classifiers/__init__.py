"""Classifiers: scikit-learn estimators on top of the counts."""

from tunbridge.classifiers.a2de import A2DEClassifier
from tunbridge.classifiers.aode import AODEClassifier
from tunbridge.classifiers.bayes_forest import BayesForestClassifier
from tunbridge.classifiers.bayes_net import BayesNetClassifier
from tunbridge.classifiers.bayes_optimal import BayesOptimalClassifier
from tunbridge.classifiers.calibrated import CalibratedClassifier
from tunbridge.classifiers.discretisers import Discretiser
from tunbridge.classifiers.joined_naive_bayes import JoinedNaiveBayesClassifier
from tunbridge.classifiers.kdb import KDBClassifier
from tunbridge.classifiers.multinet import MultinetClassifier
from tunbridge.classifiers.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.selective_kdb import SelectiveKDBClassifier
from tunbridge.classifiers.selective_naive_bayes import SelectiveNaiveBayesClassifier
from tunbridge.classifiers.semi_supervised import SemiSupervisedClassifier
from tunbridge.classifiers.tan import TANClassifier
from tunbridge.classifiers.weighted_naive_bayes import WeightedNaiveBayesClassifier

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
