from tunbridge.probability.building import as_cpt as as_cpt
from tunbridge.probability.conditional import ConditionalTable as ConditionalTable
from tunbridge.probability.cpt import CPT as CPT, SparseCPT as SparseCPT, deterministic as deterministic
from tunbridge.probability.distribution import Distribution as Distribution
from tunbridge.probability.gaussian import LinearGaussian as LinearGaussian, Mixture as Mixture
from tunbridge.probability.noisy import NoisyMaxCPT as NoisyMaxCPT, noisy_max as noisy_max, noisy_or as noisy_or
from tunbridge.probability.smoothing import (
    Laplace as Laplace,
    MEstimate as MEstimate,
    Smoothing as Smoothing,
    as_smoothing as as_smoothing,
    smooth as smooth,
)
