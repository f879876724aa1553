"""The evidence of a hidden Markov model of symbols with Dirichlet priors, by enumeration of all paths."""

import itertools
import math

import numpy as np


def log_dirichlet_multinomial(counts, alpha=1.0):
    """Return ln ∫ Π θ_s^{n_s} Dirichlet(θ; α, …, α) dθ."""
    n, total = len(counts), sum(counts)
    found = math.lgamma(n * alpha) - math.lgamma(n * alpha + total)
    return found + sum(math.lgamma(alpha + c) - math.lgamma(alpha) for c in counts)


def log_weights(symbols, n_states, n_symbols, alpha=1.0, sticky=0.0):
    """Return all paths of one sequence, and ln p(x, z) of each, all parameters integrated out."""
    paths = list(itertools.product(range(n_states), repeat=len(symbols)))
    found = np.empty(len(paths))
    for p, path in enumerate(paths):
        moves, seen = np.zeros((n_states, n_states)), np.zeros((n_states, n_symbols))
        for a, b in itertools.pairwise(path):
            moves[a, b] += 1
        for k, s in zip(path, symbols, strict=True):
            if s is not None:
                seen[k, s] += 1
        found[p] = log_dirichlet_multinomial([float(k == path[0]) for k in range(n_states)])
        for k in range(n_states):
            rows = np.full(n_states, alpha) + sticky * (np.arange(n_states) == k)
            found[p] += math.lgamma(rows.sum()) - math.lgamma(rows.sum() + moves[k].sum())
            found[p] += sum(math.lgamma(a + n) - math.lgamma(a) for a, n in zip(rows, moves[k], strict=True))
            found[p] += log_dirichlet_multinomial(seen[k].tolist())
    return np.array(paths), found


def evidence(log_p):
    """Return ln p(x)."""
    top = log_p.max()
    return float(top + np.log(np.exp(log_p - top).sum()))
