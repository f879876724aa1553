"""Classifiers: scikit-learn estimators on top of the counts. Each is loaded when it is first used."""

from tunbridge.classifiers.averages.a2de import A2DEClassifier as A2DEClassifier
from tunbridge.classifiers.averages.aode import AODEClassifier as AODEClassifier
from tunbridge.classifiers.averages.bayes_forest import BayesForestClassifier as BayesForestClassifier
from tunbridge.classifiers.averages.bayes_optimal import BayesOptimalClassifier as BayesOptimalClassifier
from tunbridge.classifiers.dependence.kdb import KDBClassifier as KDBClassifier
from tunbridge.classifiers.dependence.multinet import MultinetClassifier as MultinetClassifier
from tunbridge.classifiers.dependence.selective_kdb import SelectiveKDBClassifier as SelectiveKDBClassifier
from tunbridge.classifiers.dependence.tan import TANClassifier as TANClassifier
from tunbridge.classifiers.discretisers import Discretiser as Discretiser
from tunbridge.classifiers.naive.joined_naive_bayes import JoinedNaiveBayesClassifier as JoinedNaiveBayesClassifier
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier as NaiveBayesClassifier
from tunbridge.classifiers.naive.selective_naive_bayes import (
    SelectiveNaiveBayesClassifier as SelectiveNaiveBayesClassifier,
)
from tunbridge.classifiers.naive.weighted_naive_bayes import (
    WeightedNaiveBayesClassifier as WeightedNaiveBayesClassifier,
)
from tunbridge.classifiers.networks.bayes_net import BayesNetClassifier as BayesNetClassifier
from tunbridge.classifiers.wrappers.calibrated import CalibratedClassifier as CalibratedClassifier
from tunbridge.classifiers.wrappers.semi_supervised import SemiSupervisedClassifier as SemiSupervisedClassifier
