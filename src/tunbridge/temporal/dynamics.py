"""How hidden states follow each other: the first state and the transitions, their priors and constraints.

    P(z_1 = i) = π_i                P(z_t = j | z_{t−1} = i) = A_ij

Both have Dirichlet priors; A is estimated from expected counts N as the mode A_ij ∝ max(N_ij + α_ij − 1, 0), so that
α = 1 is maximum likelihood. ``sticky`` is added to α of staying in a state. Transitions that are not allowed stay 0.

The first state is free, or has the stationary distribution π = π A; then A is estimated by a search, since π depends on
it. With Z = (I − A + 1 π)⁻¹ the derivative is ∂π_k / ∂A_ij = π_i Z_jk.

A step behind a gap of g time units has the transitions A^g. The expected counts inside gaps follow from those at their
ends: with R_ij = N_ij / (A^g)_ij,

    N = A ∘ Σ_{s<g} (Aᵀ)^s R (Aᵀ)^{g−1−s},

and the sum is the upper right block of a power of the block matrix [[Aᵀ, R], [0, Aᵀ]].

References
----------
C. Van Loan (1978). Computing integrals involving the matrix exponential. IEEE Transactions on Automatic Control 23,
395–404.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, shortened
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError
from tunbridge.temporal.chain import Chain, dense_pairs

TOPOLOGIES = ("full", "left-to-right", "banded", "cyclic")
STARTS = ("free", "stationary")
_STEPS, _LEAST_STEP = 5, 1e-3  # of the search of an M step, which need not reach the maximum


@dataclass(frozen=True, eq=False)
class Rules:
    """The priors and constraints of first states and transitions.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_states, n_states)
        Which transitions are possible.
    starts : ndarray of bool, shape (n_states,)
        Which states may be the first.
    alpha : ndarray, shape (n_states, n_states)
        The Dirichlet parameters of the transitions.
    start_alpha : float
        Those of the first state.
    is_stationary : bool
        Whether the first state has the stationary distribution.
    fixed : frozenset
        ``"start"`` and ``"transitions"`` if they are not estimated.
    """

    allowed: np.ndarray
    starts: np.ndarray
    alpha: np.ndarray
    start_alpha: float = 1.0
    is_stationary: bool = False
    fixed: frozenset[str] = frozenset()


def rules_of(
    n_states: int,
    topology: Any = "full",
    *,
    alpha: float = 1.0,
    start_alpha: float = 1.0,
    sticky: float = 0.0,
    start: str = "free",
    fixed: frozenset[str] = frozenset(),
) -> Rules:
    """Return the rules that parameters of a model say; raise where they are not valid.

    Examples
    --------
    >>> rules_of(3, "left-to-right").allowed.astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    check_choice("start", start, STARTS)
    for what, value in (("alpha", alpha), ("start_alpha", start_alpha), ("sticky", sticky)):
        check_number(what, value, low=0)
    allowed = _allowed(n_states, topology)
    starts = np.ones(n_states, bool)
    if isinstance(topology, str) and topology == "left-to-right":
        starts[1:] = False
    prior = np.full((n_states, n_states), float(alpha)) + sticky * np.eye(n_states)
    return Rules(allowed, starts, prior, float(start_alpha), start == "stationary", fixed)


def _allowed(n_states: int, topology: Any) -> np.ndarray:
    rows, columns = np.indices((n_states, n_states))
    if isinstance(topology, str):
        check_choice("topology", topology, TOPOLOGIES)
        ahead = columns - rows
        masks = {"full": ahead < n_states, "left-to-right": ahead >= 0, "banded": abs(ahead) <= 1,
                 "cyclic": (ahead == 0) | (ahead == 1) | (ahead == 1 - n_states)}  # fmt: skip
        return np.asarray(masks[topology])
    if isinstance(topology, int | np.integer) and not isinstance(topology, bool):
        check_integer("topology (the width of a band)", topology, low=0)
        return np.asarray(abs(columns - rows) <= topology)
    try:
        mask = np.asarray(topology, bool)
    except (TypeError, ValueError):
        mask = np.empty(0)
    if mask.shape != (n_states, n_states):
        got = mask.shape if isinstance(topology, np.ndarray) else shortened(repr(topology))
        raise DataError(
            f"topology must be one of {', '.join(TOPOLOGIES)}, the width of a band, or a matrix of {n_states} × "
            f"{n_states} booleans; got {got}.",
            parameter="topology",
        )
    if not mask.any(axis=1).all():
        row = int(np.flatnonzero(~mask.any(axis=1))[0])
        raise DataError(
            f"every state must have a transition that is allowed; state {row} has none.", parameter="topology"
        )
    return mask


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The first state and the transitions of a chain, with the rules by which they are estimated.

    Parameters
    ----------
    start : ndarray, shape (n_states,)
        π.
    matrix : ndarray, shape (n_states, n_states)
        A.
    rules : Rules
        The priors and constraints.
    """

    start: np.ndarray
    matrix: np.ndarray
    rules: Rules

    @property
    def states(self) -> np.ndarray:
        """The state of the model that each state of :meth:`chain` belongs to."""
        return np.arange(len(self.start))

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        fixed = self.rules.fixed
        rows = 0 if "transitions" in fixed else int((self.rules.allowed.sum(axis=1) - 1).sum())
        free_start = not self.rules.is_stationary and "start" not in fixed
        return rows + (int(self.rules.starts.sum()) - 1 if free_start else 0)

    def chain(self, gaps: np.ndarray) -> Chain:
        """Return the chain whose matrices lead over the gaps."""
        size = 8.0 * len(gaps) * self.matrix.size
        check_memory(f"transitions over {len(gaps)} gaps", 4 * size, ways_out="Round the times, or use fewer states.")
        return Chain(self.start, np.stack([np.linalg.matrix_power(self.matrix, int(g)) for g in gaps]))

    def counts(self, chain: Chain, pairs: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return the expected number of transitions over single time units, from those over gaps."""
        total = np.zeros(self.matrix.shape)
        dense, n = dense_pairs(pairs, chain.arcs), len(self.start)
        for g, power, found in zip(gaps.tolist(), dense_pairs(chain.matrices, chain.arcs), dense, strict=True):
            if g == 1:
                total += found
                continue
            inside = np.divide(found, power, out=np.zeros_like(found), where=power > 0.0)
            block = np.block([[self.matrix.T, inside], [np.zeros((n, n)), self.matrix.T]])
            total += self.matrix * np.linalg.matrix_power(block, g)[:n, n:]
        return total

    def estimated(self, starts: np.ndarray, chain: Chain, pairs: np.ndarray, gaps: np.ndarray) -> Self:
        """Return the dynamics with parameters estimated from expected counts."""
        return self.from_counts(starts, self.counts(chain, pairs, gaps))

    def from_counts(self, starts: np.ndarray, pairs: np.ndarray) -> Self:
        """Return the dynamics with parameters estimated from counts of first states and transitions."""
        rules = self.rules
        start, matrix = self.start, self.matrix
        raised = np.where(rules.allowed, np.maximum(pairs + rules.alpha - 1.0, 0.0), 0.0)
        if "transitions" not in rules.fixed:
            matrix = normalised(raised, matrix)
        if rules.is_stationary:
            if "transitions" not in rules.fixed:
                matrix = _with_stationary_start(self.matrix, matrix, starts, raised)
            start = stationary(matrix)
        elif "start" not in rules.fixed:
            weights = np.where(rules.starts, np.maximum(starts + rules.start_alpha - 1.0, 0.0), 0.0)
            start = normalised(weights[None], start[None])[0]
        return replace(self, start=start, matrix=matrix)

    def log_prior(self) -> float:
        """Return the log-density of the priors, up to a constant; a parameter that is 0 is left out."""
        rules = self.rules
        total = _log_dirichlet(self.matrix, rules.alpha) if "transitions" not in rules.fixed else 0.0
        if not rules.is_stationary and "start" not in rules.fixed:
            total += _log_dirichlet(self.start, np.full(len(self.start), rules.start_alpha))
        return total

    def permuted(self, order: np.ndarray) -> Self:
        """Return the dynamics with the states in another order."""
        return replace(self, start=self.start[order], matrix=self.matrix[np.ix_(order, order)])


def first_dynamics(rules: Rules, rng: np.random.Generator | None = None) -> Dynamics:
    """Return dynamics to start from: half of the time states stay; the rest is even, or random."""
    n = len(rules.allowed)
    draws = np.ones((n + 1, n)) if rng is None else rng.dirichlet(np.ones(n), n + 1) + 0.5 / n
    matrix = np.where(rules.allowed, draws[:n] / draws[:n].sum(axis=1, keepdims=True) + np.eye(n), 0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    start = np.where(rules.starts, draws[n], 0.0)
    return Dynamics(stationary(matrix) if rules.is_stationary else start / start.sum(), matrix, rules)


def normalised(weights: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return rows divided by their sums; rows without weight are taken from ``otherwise``."""
    totals = weights.sum(axis=-1, keepdims=True)
    return np.where(totals > 0.0, weights / np.where(totals > 0.0, totals, 1.0), otherwise)


def stationary(matrix: np.ndarray) -> np.ndarray:
    """Return the distribution π = π A; of several the one that is nearest to even.

    Examples
    --------
    >>> stationary(np.array([[0.9, 0.1], [0.3, 0.7]])).round(3).tolist()
    [0.75, 0.25]
    """
    n = len(matrix)
    with suppress(np.linalg.LinAlgError):
        found = np.linalg.solve((np.eye(n) - matrix + 1.0).T, np.ones(n))
        if (found > -1e-12).all() and np.abs(found @ matrix - found).max() < 1e-10:
            found = np.maximum(found, 0.0)
            return found / found.sum()
    system = np.vstack([matrix.T - np.eye(n), np.ones((1, n))])
    even = np.full(n, 1.0 / n)
    right = np.append(np.zeros(n), 1.0) - system @ even
    found = np.maximum(even + np.linalg.lstsq(system, right, rcond=None)[0], 0.0)
    return found / found.sum()


def _log_dirichlet(p: np.ndarray, alpha: np.ndarray) -> float:
    used = (p > 0.0) & (alpha != 1.0)
    return float(((alpha[used] - 1.0) * np.log(p[used])).sum())


def _with_stationary_start(before: np.ndarray, plain: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a matrix with a higher Σ N ln A + Σ s ln π(A) than the one before: steps towards a fixed point.

    Where the gradient with respect to the rows vanishes, A_ij ∝ N_ij + A_ij (g_ij + c) with g the gradient of the
    second term, for any c; it is chosen such that all weights are positive. A step that does not raise the objective is
    halved. The matrix before stays where a step would make a first state impossible.
    """
    free = plain > 0.0

    def value_of(matrix: np.ndarray) -> float:
        first = stationary(matrix)
        used = starts > 0.0
        value = (counts[free] * np.log(matrix[free])).sum() + (starts[used] * np.log(first[used])).sum()
        return float(value) if np.isfinite(value) else -np.inf

    with np.errstate(all="ignore"):
        best, value = before, value_of(before)
        if (found := value_of(plain)) >= value:
            best, value = plain, found
        for _ in range(_STEPS):
            first = np.maximum(stationary(best), 1e-300)
            inverse = np.linalg.pinv(np.eye(len(best)) - best + first)
            slope = np.outer(first, inverse @ (starts / first))
            slope -= slope.min(axis=1, keepdims=True)
            target, share = normalised(np.nan_to_num(counts + best * slope), best), 1.0
            while share > _LEAST_STEP and not (found := value_of(best + share * (target - best))) > value:
                share /= 2.0
            if share <= _LEAST_STEP:
                break
            best, value = best + share * (target - best), found
    return best
