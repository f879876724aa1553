"""Dynamic Bayesian networks: a first slice, and a transition that repeats from slice to slice."""

from tunbridge.temporal.dynamic.answers import MostProbableSlices, SlicePosteriors
from tunbridge.temporal.dynamic.learning import LagStrength, fit_dynamic, lag_strengths, learn_dynamic
from tunbridge.temporal.dynamic.network import DynamicBayesianNetwork
from tunbridge.temporal.dynamic.streams import SliceStream

__all__ = [
    "DynamicBayesianNetwork",
    "LagStrength",
    "MostProbableSlices",
    "SlicePosteriors",
    "SliceStream",
    "fit_dynamic",
    "lag_strengths",
    "learn_dynamic",
]
