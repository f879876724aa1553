"""Probability: distributions, conditional tables, and the rules that turn counts into them."""

from tunbridge.probability.building import as_cpt
from tunbridge.probability.conditional import ConditionalTable
from tunbridge.probability.cpt import CPT
from tunbridge.probability.deterministic import deterministic
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.linear_gaussian import LinearGaussian
from tunbridge.probability.mixture import Mixture
from tunbridge.probability.noisy import NoisyMaxCPT, noisy_max, noisy_or
from tunbridge.probability.smoothing import Laplace, MEstimate, Smoothing, as_smoothing, smooth
from tunbridge.probability.sparse import SparseCPT

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
