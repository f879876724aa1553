"""Hidden Markov chains by enumeration of all paths."""

import itertools

import numpy as np


def all_paths(start, matrices, frames, steps=None):
    """Return every path of states with its weight P(z, x), for one sequence of likelihoods (steps × states)."""
    n_steps, n_states = frames.shape
    found = []
    for path in itertools.product(range(n_states), repeat=n_steps):
        weight = 1.0
        for t, j in enumerate(path):
            matrix = matrices[0 if steps is None else steps[t]]
            weight *= (start[j] if t == 0 else matrix[path[t - 1], j]) * frames[t, j]
        found.append((path, weight))
    return found


def posteriors(paths, n_steps, n_states):
    """Return P(x), P(z_t = j | x) and P(z_t = i, z_t+1 = j | x)."""
    total = sum(weight for _, weight in paths)
    single, pairs = np.zeros((n_steps, n_states)), np.zeros((max(0, n_steps - 1), n_states, n_states))
    for path, weight in paths:
        for t, j in enumerate(path):
            single[t, j] += weight / total
            if t:
                pairs[t - 1, path[t - 1], j] += weight / total
    return total, single, pairs
