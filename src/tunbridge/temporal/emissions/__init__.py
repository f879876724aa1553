"""Emissions: the distributions of an observation given the hidden state, one file a family."""

from tunbridge.temporal.emissions.base import Conjugate, Emission
from tunbridge.temporal.emissions.categorical import Categorical, DirichletPosterior
from tunbridge.temporal.emissions.composite import GaussianMixture, Independent
from tunbridge.temporal.emissions.counts import GammaPosterior, NegativeBinomial, Poisson
from tunbridge.temporal.emissions.gaussian import Gaussian
from tunbridge.temporal.emissions.posteriors import NormalGammaPosterior, NormalWishartPosterior
from tunbridge.temporal.emissions.regression import Autoregressive
from tunbridge.temporal.emissions.student import StudentT

FAMILIES: dict[str, type[Emission]] = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "gaussian-mixture": GaussianMixture,
    "poisson": Poisson,
    "negative-binomial": NegativeBinomial,
    "student-t": StudentT,
    "autoregressive": Autoregressive,
    "independent": Independent,
}
"""The families by their short names."""

__all__ = [
    "FAMILIES",
    "Autoregressive",
    "Categorical",
    "Conjugate",
    "DirichletPosterior",
    "Emission",
    "GammaPosterior",
    "Gaussian",
    "GaussianMixture",
    "Independent",
    "NegativeBinomial",
    "NormalGammaPosterior",
    "NormalWishartPosterior",
    "Poisson",
    "StudentT",
]
