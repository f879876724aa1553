"""Time: hidden Markov models and dynamic Bayesian networks."""

from tunbridge.temporal import emissions
from tunbridge.temporal.answers import Forecast, Paths, Sampled, StatesChoice, StepExplanation
from tunbridge.temporal.classifier import HMMClassifier, HMMExplanation
from tunbridge.temporal.hmm import HiddenMarkovModel

__all__ = [
    "Forecast",
    "HMMClassifier",
    "HMMExplanation",
    "HiddenMarkovModel",
    "Paths",
    "Sampled",
    "StatesChoice",
    "StepExplanation",
    "emissions",
]
