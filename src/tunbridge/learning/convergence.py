"""How well Markov chains have mixed: R̂ of split chains, and the effective number of samples.

Chains that have settled have the same mean and spread, and so have their halves. R̂ is the root of the variance that
all halves together show, by that within them: near 1 when they agree. Neighbouring samples of a chain are alike, so
that n samples tell less about a mean than n independent ones; the effective number is n by 1 + 2 Σ of the
autocorrelations.

References
----------
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian Data Analysis, third
edition, sections 11.4 and 11.5.
C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7, 473–483.
"""

from __future__ import annotations

import numpy as np


def split_r_hat(values: np.ndarray) -> float:
    """Return R̂ of a figure over chains (chains × samples), each of which is split into halves.

    Examples
    --------
    >>> round(split_r_hat(np.random.default_rng(0).normal(size=(4, 1000))), 2)
    1.0
    >>> round(split_r_hat(np.array([[0.0, 1, 0, 1], [5, 6, 5, 6]])), 2)
    4.14
    """
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within, between = float(halves.var(axis=1, ddof=1).mean()), float(halves.mean(axis=1).var(ddof=1))
    if between <= 1e-24 * max(1.0, float(np.abs(values).max())) ** 2:
        return 1.0
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else np.inf


def effective_size(values: np.ndarray) -> float:
    """Return how many independent samples would give the mean of a figure (chains × samples) as precisely.

    The autocorrelations are summed in pairs until a pair is negative (Geyer's initial positive sequence, made falling).

    Examples
    --------
    >>> walk = np.random.default_rng(0).normal(size=(4, 1000)).cumsum(axis=1)
    >>> effective_size(walk) < 40
    True
    """
    n_chains, n = values.shape
    covariances = _autocovariances(values).mean(axis=0)
    within = covariances[0] * n / (n - 1)
    pooled = within * (n - 1) / n + (float(values.mean(axis=1).var(ddof=1)) if n_chains > 1 else 0.0)
    if pooled <= 0:
        return float(n_chains * n)
    correlations = 1 - (within - covariances) / pooled
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)
    n_positive = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    time = 2 * np.minimum.accumulate(pairs[: max(1, n_positive)]).sum() - 1
    return float(n_chains * n / max(time, 1 / np.log10(n_chains * n)))


def _autocovariances(values: np.ndarray) -> np.ndarray:
    """Return the autocovariances of every row, by lag."""
    n = values.shape[1]
    spectrum = np.fft.rfft(values - values.mean(axis=1, keepdims=True), 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n
