"""Probability: distributions, conditional tables, and smoothing."""

from tunbridge.probability.building import as_cpt
from tunbridge.probability.conditional import ConditionalTable
from tunbridge.probability.cpt import CPT, SparseCPT, deterministic
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.gaussian import LinearGaussian, Mixture
from tunbridge.probability.noisy import NoisyMaxCPT, noisy_max, noisy_or
from tunbridge.probability.smoothing import Laplace, MEstimate, Smoothing, as_smoothing, smooth

__all__ = [
    "CPT",
    "ConditionalTable",
    "Distribution",
    "Laplace",
    "LinearGaussian",
    "MEstimate",
    "Mixture",
    "NoisyMaxCPT",
    "Smoothing",
    "SparseCPT",
    "as_cpt",
    "as_smoothing",
    "deterministic",
    "noisy_max",
    "noisy_or",
    "smooth",
]
