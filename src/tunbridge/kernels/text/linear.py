"""Passes of dual coordinate ascent for softmax regression on sparse documents.

The equations are those of :mod:`tunbridge.text.nb_svm`. Document d has a class y, a mass ω, features x and, as its dual
variables, shares p of the classes. The weights of the features follow from the shares of all documents,

    v_fc = μ r_fc + (r_fc² / λ) Σ_d x_df ω_d ([c = y_d] − p_dc),

and are updated with them. Every feature occurs at most once in a document. Rows of features are far apart in memory,
and reading them is most of the work: so a document's are read, used and changed in one visit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

_STEPS = np.int64(100)
_HALVINGS = np.int64(50)


class Problem(NamedTuple):
    """What is given: documents × features by rows, r, λ, ω."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    ratios: np.ndarray
    penalty: float
    masses: np.ndarray


class State(NamedTuple):
    """The shares p of the classes in each document, their entropies, and v and b, which follow from them."""

    shares: np.ndarray
    entropies: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray


@njit(cache=True, nogil=True)
def fill_curvatures(problem, start, stop, out):
    """Fill out[d, c] = (1 + Σ_f x_df² r_fc²) / λ: how much a document's score changes with its share."""
    for d in range(start, stop):
        own = out[d]
        own[:] = 1.0
        for k in range(problem.indptr[d], problem.indptr[d + 1]):
            squared, ratio = problem.data[k] * problem.data[k], problem.ratios[problem.indices[k]]
            for c in range(own.shape[0]):
                own[c] += squared * ratio[c] * ratio[c]
        for c in range(own.shape[0]):
            own[c] /= problem.penalty


@njit(cache=True, nogil=True)
def improve_documents(problem, curvatures, order, tol, state):
    """Give documents, in ``order``, the best shares while all others stay fixed; return (gap, gain).

    The gap is Σ_d ω KL(p_d ‖ softmax s_d), each before its visit; the gain is the increase of the dual objective. A
    document whose divergence is at most a tenth of ``tol`` is left alone.
    """
    shares, entropies, n_classes = state.shares, state.entropies, state.shares.shape[1]
    scores, found, goal = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    solution, trial, step = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    gap, gain = 0.0, 0.0
    for i in range(order.shape[0]):
        d = order[i]
        mass, own, curvature = problem.masses[d], shares[d], curvatures[d]
        _fill_scores(problem, d, state, scores)
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
            step[c] = moved / problem.penalty
        if rise > 0.0:
            gain += rise
            entropies[d] = entropy
            for c in range(n_classes):
                own[c] = found[c]
            _add_document(problem, d, step, state)
    return gap, gain


@njit(cache=True, nogil=True)
def sum_divergences(problem, state, start, stop):
    """Return Σ_d ω KL(p_d ‖ softmax s_d) of some documents."""
    shares = state.shares
    scores, found = np.empty(shares.shape[1]), np.empty(shares.shape[1])
    gap = 0.0
    for d in range(start, stop):
        _fill_scores(problem, d, state, scores)
        divergence = _fill_softmax(scores, found) - state.entropies[d]
        for c in range(shares.shape[1]):
            divergence -= shares[d, c] * scores[c]
        gap += problem.masses[d] * max(divergence, 0.0)
    return gap


@njit(cache=True, nogil=True)
def _fill_scores(problem, d, state, scores):
    """Fill scores[c] = b_c + Σ_f x_f v_fc of one document."""
    for c in range(scores.shape[0]):
        scores[c] = state.intercept[c]
    for k in range(problem.indptr[d], problem.indptr[d + 1]):
        x, row = problem.data[k], state.weights[problem.indices[k]]
        for c in range(scores.shape[0]):
            scores[c] += x * row[c]


@njit(cache=True, nogil=True)
def _add_document(problem, d, step, state):
    """Add step[c] x_f r_fc² to the weights of a document's features, and the step itself to the intercept."""
    for c in range(step.shape[0]):
        state.intercept[c] += step[c]
    for k in range(problem.indptr[d], problem.indptr[d + 1]):
        f = problem.indices[k]
        x, row, ratio = problem.data[k], state.weights[f], problem.ratios[f]
        for c in range(step.shape[0]):
            row[c] += x * ratio[c] * ratio[c] * step[c]


@njit(cache=True, nogil=True)
def _fill_softmax(scores, out):
    """Fill out ∝ exp(scores) and return log Σ exp(scores)."""
    top, total = scores[0], 0.0
    for c in range(1, scores.shape[0]):
        top = max(top, scores[c])
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
    halved until they lower φ enough, are made until the promised gain is below ``tol``.
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
            total = _fill_softmax(solution, found)  # rounding allows no lower value nearby
            break
        for c in range(goal.shape[0]):
            solution[c] = trial[c]
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
