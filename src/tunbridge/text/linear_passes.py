"""The passes over the documents of which :mod:`tunbridge.text.linear` is made, by kernels or, over few, by NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tunbridge._threads import map_threads, row_pieces

_FEW, _FEW_CELLS = 200, 20_000  # documents, and weights and values, that are dealt with sooner than a compiler is
_PIECE = 512  # documents that a thread takes at a time
_STEPS, _HALVINGS = 100, 50


class LinearProblem(NamedTuple):
    """What is given, in the order of the kernels: documents by rows, r, λ, ω."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    ratios: np.ndarray
    penalty: float
    masses: np.ndarray

    @classmethod
    def of(
        cls,
        indptr: np.ndarray,
        indices: np.ndarray,
        data: np.ndarray,
        ratios: np.ndarray,
        penalty: float,
        masses: np.ndarray,
    ) -> LinearProblem:
        """Return it with locked arrays of the types that the kernels are compiled for."""
        starts, columns = indptr.astype(np.int64), indices.astype(np.int32, copy=False)
        return cls(_locked(starts), _locked(columns), _locked(data), _locked(ratios), penalty, _locked(masses))

    @property
    def is_small(self) -> bool:
        """Whether it is solved before a kernel is compiled; whether one already is must not change answers."""
        cells = (len(self.data) + len(self.ratios)) * self.ratios.shape[1]
        return len(self.masses) <= _FEW and cells <= _FEW_CELLS

    def matrix(self) -> csr_array:
        """Return the documents."""
        return csr_array((self.data, self.indices, self.indptr), shape=(len(self.masses), len(self.ratios)))


class LinearState(NamedTuple):
    """The shares p of the classes in each document, their entropies, and v and b, which stand for them."""

    shares: np.ndarray
    entropies: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray


def fill_curvatures(problem: LinearProblem, n_jobs: int | None) -> np.ndarray:
    """Return κ_dc = (1 + Σ_f x_df² r_fc²) / λ."""
    if problem.is_small:
        return (1.0 + problem.matrix() ** 2 @ problem.ratios.astype(np.float64) ** 2) / problem.penalty
    from tunbridge.kernels import linear as kernels

    out = np.empty((len(problem.masses), problem.ratios.shape[1]))
    map_threads(lambda piece: kernels.fill_curvatures(*problem[:5], *piece, out), row_pieces(len(out), _PIECE), n_jobs)
    return out


def improve(
    problem: LinearProblem, curvatures: np.ndarray, order: np.ndarray, tol: float, state: LinearState
) -> tuple[float, float]:
    """Give the documents, in their order, the best shares while those of all others stay; return (gap, gain).

    The gap is the one met on the way; the gain is how far the dual objective has risen. Documents whose divergence is a
    tenth of ``tol`` or less stay as they are.
    """
    if not problem.is_small:
        from tunbridge.kernels import linear as kernels

        return kernels.improve_documents(*problem, curvatures, order, tol, *state)
    met = [_visit(problem, int(d), curvatures[d], tol, state) for d in order]
    gap, gain = np.sum(met, axis=0)
    return float(gap), float(gain)


def find_gap(problem: LinearProblem, state: LinearState, n_jobs: int | None) -> float:
    """Return Σ_d ω KL(p_d ‖ softmax s_d)."""
    if problem.is_small:
        scores = problem.matrix() @ state.weights + state.intercept
        divergence = _log_total(scores) - state.entropies - (state.shares * scores).sum(axis=1)
        return float(problem.masses @ np.maximum(divergence, 0.0))
    from tunbridge.kernels import linear as kernels

    given = (*problem[:3], problem.masses, *state)
    pieces = row_pieces(len(problem.masses), _PIECE)
    return sum(map_threads(lambda piece: kernels.sum_divergences(*given, *piece), pieces, n_jobs))


def _locked(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to: for the compiler a type of its own, here the only one."""
    view = array.view()
    view.flags.writeable = False
    return view


def _log_total(scores: np.ndarray) -> np.ndarray:
    """Return log Σ_c exp s_c."""
    top = scores.max(axis=-1)
    return top + np.log(np.exp((scores.T - top).T).sum(axis=-1))


def _visit(
    problem: LinearProblem, d: int, curvature: np.ndarray, tol: float, state: LinearState
) -> tuple[float, float]:
    """Do for one document what the kernel does."""
    own = slice(problem.indptr[d], problem.indptr[d + 1])
    features, values, mass = problem.indices[own], problem.data[own], problem.masses[d]
    scores = state.intercept + values @ state.weights[features]
    shares, entropy = state.shares[d], state.entropies[d]
    divergence = max(float(_log_total(scores) - entropy - shares @ scores), 0.0)
    if divergence <= 0.1 * tol:
        return mass * divergence, 0.0
    solution = _solution(scores + mass * curvature * shares, curvature, mass, 0.01 * tol * mass, scores)
    total = _log_total(solution)
    found = np.exp(solution - total)
    moved, new_entropy = mass * (shares - found), total - found @ solution
    rise = mass * (new_entropy - entropy) - moved @ scores - 0.5 * curvature @ moved**2
    if not rise > 0.0:
        return mass * divergence, 0.0
    state.shares[d], state.entropies[d] = found, new_entropy
    step = moved / problem.penalty
    state.intercept[:] += step
    state.weights[features] += values[:, None] * problem.ratios[features] ** 2 * step
    return mass * divergence, rise


def _solution(goal: np.ndarray, curvature: np.ndarray, mass: float, tol: float, start: np.ndarray) -> np.ndarray:
    """Return the s that minimises φ(s) = Σ_c (s_c − t_c)² / 2κ_c + ω log Σ_c exp s_c, by damped Newton steps."""

    def phi(s: np.ndarray) -> float:
        return float(0.5 * ((s - goal) ** 2 / curvature).sum() + mass * _log_total(s))

    solution, value = start, phi(start)
    for _ in range(_STEPS):
        share = np.exp(solution - _log_total(solution))
        k = mass * curvature * share
        slope = solution + k - goal
        q = (share * slope / (1.0 + k)).sum() / (share / (1.0 + k)).sum()
        step = (slope + k * q) / (1.0 + k)
        promise = float((step * slope / curvature).sum())
        if not promise > tol:
            break
        lengths = (0.5**i for i in range(_HALVINGS))
        lower = (t for t in lengths if phi(solution - t * step) <= value - 1e-4 * t * promise)
        length = next(lower, None)
        if length is None:
            break
        solution = solution - length * step
        value = phi(solution)
    return solution
