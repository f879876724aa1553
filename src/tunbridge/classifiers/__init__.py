"""Classifiers: scikit-learn estimators on top of the counts."""

from tunbridge.classifiers.discretisers import Discretiser
from tunbridge.classifiers.naive_bayes import NaiveBayesClassifier

__all__ = ["Discretiser", "NaiveBayesClassifier"]
