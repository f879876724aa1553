"""Classifiers: scikit-learn estimators on top of the counts."""

from tunbridge.classifiers.discretisers import Discretiser
from tunbridge.classifiers.kdb import KDBClassifier
from tunbridge.classifiers.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.tan import TANClassifier

__all__ = ["Discretiser", "KDBClassifier", "NaiveBayesClassifier", "TANClassifier"]
