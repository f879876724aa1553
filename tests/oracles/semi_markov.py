"""Hidden semi-Markov chains by enumeration of all segmentations."""

import numpy as np


def segmentations(start, matrix, durations, n_steps):
    """Yield every list of (state, first step, duration, whether it is over) with its prior weight.

    The last segment may go on after the end.
    """

    def further(t, segments, weight):
        if t == n_steps:
            yield segments, weight
            return
        for j in range(len(start)):
            enter = start[j] if not segments else matrix[segments[-1][0], j]
            if enter == 0.0:
                continue
            for d, p in enumerate(durations[j], start=1):
                if t + d < n_steps or t + d == n_steps:
                    yield from further(t + d, [*segments, (j, t, d)], weight * enter * p)
            left = n_steps - t
            going_on = float(np.sum(durations[j][left:]))
            if going_on > 0.0:
                yield [*segments, (j, t, left)], weight * enter * going_on

    yield from further(0, [], 1.0)


def answers(start, matrix, durations, likelihoods):
    """Return P(x), P(z_t = j | x), and ln max P(path, x) with its path, for one sequence."""
    n_steps, n_states = likelihoods.shape
    total, single, by_path = 0.0, np.zeros((n_steps, n_states)), {}
    for segments, weight in segmentations(start, matrix, durations, n_steps):
        path = tuple(j for j, _, d in segments for _ in range(d))
        weight = weight * np.prod([likelihoods[t, j] for t, j in enumerate(path)])
        total += weight
        by_path[path] = by_path.get(path, 0.0) + weight
        for t, j in enumerate(path):
            single[t, j] += weight
    best = max(by_path, key=by_path.get)
    return total, single / total, by_path[best], best
