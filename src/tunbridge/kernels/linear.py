"""Passes of a dual coordinate ascent for the softmax regression of sparse documents.

The equations are those of :mod:`tunbridge.text.linear`. Document d has a class y, a mass ω, features x and, as its dual
variables, shares p of the classes. The weights of the features follow from the shares of all documents,

    v_fc = μ r_fc + (r_fc² / λ) Σ_d x_df ω_d ([c = y_d] − p_dc),

and are kept in step with them. Every feature occurs once in a document at most. Rows of features lie far apart in
memory, and fetching them is most of the work: so a document's are fetched, used and changed in one visit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_STEPS = np.int64(100)
_HALVINGS = np.int64(50)


@njit(cache=True, nogil=True)
def fill_curvatures(indptr, indices, data, ratios, penalty, start, stop, out):
    """Fill out[d, c] = (1 + Σ_f x_df² r_fc²) / λ: what a change of a document's share does to its own score."""
    for d in range(start, stop):
        own = out[d]
        own[:] = 1.0
        for k in range(indptr[d], indptr[d + 1]):
            squared, ratio = data[k] * data[k], ratios[indices[k]]
            for c in range(own.shape[0]):
                own[c] += squared * ratio[c] * ratio[c]
        for c in range(own.shape[0]):
            own[c] /= penalty


@njit(cache=True, nogil=True)
def improve_documents(
    indptr, indices, data, ratios, penalty, masses, curvatures, order, tol, shares, entropies, weights, intercept
):
    """Give documents, in ``order``, the best shares while those of all others stay; return (gap, gain).

    The gap is Σ_d ω KL(p_d ‖ softmax s_d), each as it was met; the gain is how far the dual objective has risen. A
    document whose own divergence is a tenth of ``tol`` or less stays as it is.
    """
    n_classes = shares.shape[1]
    scores, found, goal = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    solution, trial, step = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    gap, gain = 0.0, 0.0
    for i in range(order.shape[0]):
        d = order[i]
        mass, own, curvature = masses[d], shares[d], curvatures[d]
        _fill_scores(indptr[d], indptr[d + 1], indices, data, weights, intercept, scores)
        total = _fill_softmax(scores, found)
        divergence = total - entropies[d]
        for c in range(n_classes):
            divergence -= own[c] * scores[c]
            goal[c] = scores[c] + mass * curvature[c] * own[c]
            solution[c] = scores[c]
        gap += mass * max(divergence, 0.0)
        if divergence <= 0.1 * tol:
            continue
        entropy = _solve(goal, curvature, mass, total, 0.01 * tol * mass, solution, found, trial, step)
        rise = mass * (entropy - entropies[d])
        for c in range(n_classes):
            moved = mass * (own[c] - found[c])
            rise -= moved * scores[c] + 0.5 * curvature[c] * moved * moved
            step[c] = moved / penalty
        if rise > 0.0:
            gain += rise
            entropies[d] = entropy
            own[:] = found
            _add_document(indptr[d], indptr[d + 1], indices, data, ratios, step, weights, intercept)
    return gap, gain


@njit(cache=True, nogil=True)
def sum_divergences(indptr, indices, data, masses, shares, entropies, weights, intercept, start, stop):
    """Return Σ_d ω KL(p_d ‖ softmax s_d) of some documents."""
    scores, found = np.empty(shares.shape[1]), np.empty(shares.shape[1])
    gap = 0.0
    for d in range(start, stop):
        _fill_scores(indptr[d], indptr[d + 1], indices, data, weights, intercept, scores)
        divergence = _fill_softmax(scores, found) - entropies[d]
        for c in range(shares.shape[1]):
            divergence -= shares[d, c] * scores[c]
        gap += masses[d] * max(divergence, 0.0)
    return gap


@njit(cache=True, nogil=True)
def _fill_scores(first, last, indices, data, weights, intercept, scores):
    """Fill scores[c] = b_c + Σ_f x_f v_fc of one document."""
    scores[:] = intercept
    for k in range(first, last):
        x, row = data[k], weights[indices[k]]
        for c in range(scores.shape[0]):
            scores[c] += x * row[c]


@njit(cache=True, nogil=True)
def _add_document(first, last, indices, data, ratios, step, weights, intercept):
    """Add step[c] x_f r_fc² to the weights of a document's features, and the step itself to the intercept."""
    for c in range(step.shape[0]):
        intercept[c] += step[c]
    for k in range(first, last):
        x, row, ratio = data[k], weights[indices[k]], ratios[indices[k]]
        for c in range(step.shape[0]):
            row[c] += x * ratio[c] * ratio[c] * step[c]


@njit(cache=True, nogil=True)
def _fill_softmax(scores, out):
    """Fill out ∝ exp(scores) and return log Σ exp(scores)."""
    top, total = scores.max(), 0.0
    for c in range(scores.shape[0]):
        out[c] = np.exp(scores[c] - top)
        total += out[c]
    for c in range(scores.shape[0]):
        out[c] /= total
    return top + np.log(total)


@njit(cache=True, nogil=True)
def _solve(goal, curvature, mass, total, tol, solution, found, trial, step):
    """Minimise φ(s) = Σ_c (s_c − t_c)² / 2κ_c + ω log Σ_c exp s_c; return the entropy of softmax s.

    ``solution`` holds s and ``found`` softmax s, at first and at last; ``total`` is log Σ exp s at first. Newton steps,
    halved until they lower φ enough, are made until one promises less than ``tol``.
    """
    value = _phi(goal, curvature, mass, solution, total)
    for _ in range(_STEPS):
        promise = _fill_step(goal, curvature, mass, solution, found, step)
        if not promise > tol:
            break
        length, lower = 1.0, False
        for _ in range(_HALVINGS):
            for c in range(goal.shape[0]):
                trial[c] = solution[c] - length * step[c]
            total = _fill_softmax(trial, found)
            new = _phi(goal, curvature, mass, trial, total)
            lower = new <= value - 1e-4 * length * promise
            if lower:
                break
            length *= 0.5
        if not lower:
            total = _fill_softmax(solution, found)  # no number nearby is lower: this is as far as rounding lets it go
            break
        solution[:] = trial
        value = new
    entropy = total
    for c in range(goal.shape[0]):
        entropy -= found[c] * solution[c]
    return entropy


@njit(cache=True, nogil=True)
def _phi(goal, curvature, mass, solution, total):
    value = mass * total
    for c in range(goal.shape[0]):
        value += 0.5 * (solution[c] - goal[c]) ** 2 / curvature[c]
    return value


@njit(cache=True, nogil=True)
def _fill_step(goal, curvature, mass, solution, found, step):
    """Fill step = (∇²φ)⁻¹ ∇φ and return its product with ∇φ.

    With k = ω κ p the matrix is, but for the factors 1/κ, diag(1 + k) − k pᵀ: a diagonal less a matrix of rank one.
    """
    above, below = 0.0, 0.0
    for c in range(goal.shape[0]):
        k = mass * curvature[c] * found[c]
        above += found[c] * (solution[c] + k - goal[c]) / (1.0 + k)
        below += found[c] / (1.0 + k)
    promise = 0.0
    for c in range(goal.shape[0]):
        k = mass * curvature[c] * found[c]
        slope = solution[c] + k - goal[c]
        step[c] = (slope + k * above / below) / (1.0 + k)
        promise += step[c] * slope / curvature[c]
    return promise
