"""Evaluation: how good predictions are, models compared by cross-validation, and the best of them chosen."""

from tunbridge.evaluation.choice import ClassifierChoice, classify
from tunbridge.evaluation.comparison import Comparison, Estimate, FoldResult
from tunbridge.evaluation.cross_validation import compare_classifiers
from tunbridge.evaluation.curves import Thresholds
from tunbridge.evaluation.families import classifier_names, make_classifier
from tunbridge.evaluation.labelled import Coded
from tunbridge.evaluation.predictions import Mistake, Predictions, predictions_of
from tunbridge.evaluation.scores import Scores

__all__ = [
    "ClassifierChoice",
    "Coded",
    "Comparison",
    "Estimate",
    "FoldResult",
    "Mistake",
    "Predictions",
    "Scores",
    "Thresholds",
    "classifier_names",
    "classify",
    "compare_classifiers",
    "make_classifier",
    "predictions_of",
]
