"""Time: hidden Markov models and dynamic Bayesian networks."""

from tunbridge.temporal import emissions
from tunbridge.temporal.answers import Forecast, Paths, Sampled, StatesChoice, StepExplanation
from tunbridge.temporal.classifier import HMMClassifier, HMMExplanation
from tunbridge.temporal.dynamic import (
    DynamicBayesianNetwork,
    LagStrength,
    MostProbableSlices,
    SlicePosteriors,
    SliceStream,
    fit_dynamic,
    lag_strengths,
    learn_dynamic,
)
from tunbridge.temporal.hmm import HiddenMarkovModel
from tunbridge.temporal.streams import StateStream

__all__ = [
    "DynamicBayesianNetwork",
    "Forecast",
    "HMMClassifier",
    "HMMExplanation",
    "HiddenMarkovModel",
    "LagStrength",
    "MostProbableSlices",
    "Paths",
    "Sampled",
    "SlicePosteriors",
    "SliceStream",
    "StateStream",
    "StatesChoice",
    "StepExplanation",
    "emissions",
    "fit_dynamic",
    "lag_strengths",
    "learn_dynamic",
]
