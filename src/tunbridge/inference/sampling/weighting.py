"""Likelihood weighting: posteriors from forward samples that are weighted by the evidence.

Every variable is drawn in topological order. One with evidence λ (a likelihood for each of its states; when it is
certain, one for the state found and zero for the others) is drawn not from its own row but from the row tilted by it,

    q(k) = P(k | parents) λ(k) / z,     z = Σ_k P(k | parents) λ(k),

and the row's weight is the product of the z met. For certain evidence this is the classic scheme, the state held and
its probability the weight; several possible states and soft evidence are the same rule. With weights w_i

    P(x = k | evidence) ≈ p̂_k = Σ_i w_i [x_i = k] / Σ_i w_i,      P(evidence) ≈ Σ_i w_i / n,

and the delta method for a ratio of means gives the variance of p̂_k as Σ_i w_i² ([x_i = k] − p̂_k)² / (Σ_i w_i)². The
effective size (Σ w)² / Σ w² says how many samples without weights these are worth. It is small when the evidence is
improbable given the parents that were drawn; then the estimate is poor and its error is not to be trusted either, which
is why no answer counts as precise below an effective size of 100.

References
----------
R. Fung, K.-C. Chang (1990). Weighing and integrating evidence for stochastic simulation in Bayesian networks. UAI 5.
A. B. Owen (2013). Monte Carlo theory, methods and examples, ch. 9, eq. 9.9 (the error of a self-normalised estimate).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import check_number, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import entropy_of
from tunbridge._core.threads import map_threads
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.graph.walks import closure
from tunbridge.inference.flat import FlatNetwork
from tunbridge.inference.sampling.forward import (
    BLOCK,
    RandomState,
    check_states,
    checked_size,
    limits_of,
    room_of,
    stream,
)
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.inference.sampling import ROWS, Tile, Tilted, sum_weighted

Likelihoods = Mapping[int, np.ndarray]
"""Evidence: for each variable that has some, the likelihood of its states."""

_LEAST_EFFECTIVE = 100.0


@dataclass(frozen=True, eq=False)
class SampledAnswer:
    """Posteriors that were estimated from samples, with their errors.

    Parameters
    ----------
    probabilities : dict of int to ndarray
        For each target the estimated posterior of its states.
    standard_errors : dict of int to ndarray
        The standard error of each of these.
    n_samples : int
        How many samples were drawn (of Gibbs sampling: sweeps of all chains after the burn-in).
    effective_size : float
        How many independent samples they are worth.
    log_evidence : float or None
        The logarithm of the estimated probability of the evidence, where the method gives one.
    reached : bool
        Whether the largest standard error is within the requested precision.
    log_evidence_error : float or None
        The standard error of ``log_evidence``.
    r_hat : float or None
        How much the chains of Gibbs sampling disagree: one when they do not, above 1.1 when no answer is to be trusted.
    """

    probabilities: dict[int, np.ndarray]
    standard_errors: dict[int, np.ndarray]
    n_samples: int
    effective_size: float
    log_evidence: float | None
    reached: bool
    log_evidence_error: float | None = None
    r_hat: float | None = None


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of weights and of their squares (last column: of all samples), times exp(−scale) and exp(−2 scale)."""

    values: np.ndarray
    scale: float
    n_samples: int

    def __add__(self, other: _Sums) -> _Sums:
        scale = max(self.scale, other.scale)
        if scale == -math.inf:
            return _Sums(self.values, scale, self.n_samples + other.n_samples)
        shrink = [np.exp((part.scale - scale) * np.array([[1.0], [2.0]])) for part in (self, other)]
        values = self.values * shrink[0] + other.values * shrink[1]
        return _Sums(values, scale, self.n_samples + other.n_samples)


def weigh_likelihoods(
    flat: FlatNetwork,
    targets: Sequence[int] | np.ndarray,
    likelihoods: Likelihoods,
    *,
    precision: float = 0.001,
    max_samples: int = 10_000_000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> SampledAnswer:
    """Return the posteriors of targets given evidence, estimated by likelihood weighting.

    Samples are drawn in rounds, each as large as all before, until no standard error is above the precision.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    targets : sequence of int
        The target variables, by index.
    likelihoods : mapping of int to ndarray
        The evidence: for each variable that has some, a likelihood for every state (hard evidence: 1 and zeros).
    precision : float
        Stop once no standard error is larger.
    max_samples : int
        The maximal number of samples, rounded up to a multiple of 16 384.
    random_state : int or numpy.random.Generator, optional
        The random seed.
    n_jobs : int, optional
        The number of threads (default: all cores); it does not change the answer.

    Raises
    ------
    ImpossibleEvidenceError
        When no sample agrees with the evidence.

    Notes
    -----
    A state that was drawn never or always has by the formula no error at all; every error is therefore at least one by
    the effective size, which is what one more sample could change.
    """
    check_number("precision", precision, above=0)
    most = -(-checked_size(max_samples, "max_samples", low=1) // BLOCK)
    chosen = checked_targets(flat, targets)
    announce(sum_weighted, "likelihood weighting", 3)
    (tilted, log_scale), entropy = tilt(flat, chosen, likelihoods), entropy_of(random_state)
    done, sums = 0, _Sums(np.zeros((2, sum_starts(flat, chosen)[-1] + 1)), -math.inf, 0)
    while done < most:
        todo = range(done, min(max(1, 2 * done), most))
        parts = map_threads(lambda block: _sum_block(flat, tilted, chosen, stream(entropy, block)), todo, n_jobs)
        done, sums = todo.stop, sum(parts, start=sums)
        if sums.scale > -math.inf and _answer(flat, log_scale, chosen, sums, precision).reached:
            break
    if sums.scale == -math.inf:
        raise _nothing_agreed(flat, likelihoods, sums.n_samples)
    return _answer(flat, log_scale, chosen, sums, precision)


def tilt(flat: FlatNetwork, targets: np.ndarray, likelihoods: Likelihoods) -> tuple[Tilted, float]:
    """Return the network with its tables tilted by the evidence, to be drawn as far as the targets and it depend on it.

    Each likelihood was divided by its largest entry; the logarithm of the product of these is returned, too.
    """
    check_states(flat)
    checked = checked_likelihoods(flat, likelihoods)
    check_memory("a copy of the tables", 8.0 * flat.tables.size, ways_out="Give the largest table fewer parents.")
    tables, norm_start = flat.tables.copy(), np.full(flat.n_variables, -1, np.int64)
    log_norms, size, log_scale = [np.empty(0)], 0, 0.0
    for v, likelihood in checked.items():
        top = float(likelihood.max())
        joint = flat.table_of(v) * (likelihood / top)
        z = joint.sum(axis=1, keepdims=True)
        own = tables[flat.table_start[v] : flat.table_start[v + 1]].reshape(joint.shape)
        np.divide(joint, z, out=own, where=z > 0.0)  # where the evidence is impossible any state will do: weight zero
        norm_start[v], size, log_scale = size, size + z.size, log_scale + math.log(top)
        with np.errstate(divide="ignore"):
            log_norms.append(np.log(z[:, 0]))
    order = relevant(flat, [*targets.tolist(), *checked])
    return Tilted(limits_of(flat, tables), order, norm_start, np.concatenate(log_norms)), log_scale


def relevant(flat: FlatNetwork, nodes: Sequence[int]) -> np.ndarray:
    """Return these variables and their ancestors, parents first; no other has to be drawn."""
    needed = closure([flat.parents_of(v).tolist() for v in range(flat.n_variables)], nodes)
    return np.array([v for v in flat.order.tolist() if v in needed], np.int64)


def checked_targets(flat: FlatNetwork, targets: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return targets as an array of distinct indices; raise for one that is none."""
    chosen = np.array(list(dict.fromkeys(int(t) for t in targets)), np.int64)
    bad = [t for t in chosen.tolist() if not 0 <= t < flat.n_variables]
    if bad:
        raise DataError(f"targets must be indices below {flat.n_variables}; got {listed(bad)}.")
    return chosen


def checked_likelihoods(flat: FlatNetwork, likelihoods: Likelihoods) -> dict[int, np.ndarray]:
    """Return likelihoods as float64 arrays; raise unless each is one finite number ≥ 0 a state, not all zero."""
    checked = {}
    for v, given in likelihoods.items():
        if not 0 <= v < flat.n_variables:
            raise DataError(f"evidence must be about indices below {flat.n_variables}; got {v!r}.")
        name, values = flat.variables[v].name, np.asarray(given, np.float64)
        if values.shape != (flat.n_states[v],) or not (np.isfinite(values) & (values >= 0)).all():
            rule = f"{flat.n_states[v]} finite numbers that are not negative"
            raise DataError(f"the likelihoods of {name!r} must be {rule}; got {shortened(repr(given))}.")
        if not values.any():
            reason = f"the evidence must leave {name!r} a possible state; it rules out all of them."
            raise ImpossibleEvidenceError(reason, conflict={name: given})
        checked[int(v)] = values
    return checked


def sum_starts(flat: FlatNetwork, targets: np.ndarray) -> np.ndarray:
    """Return the offsets of the states of each target when those of all are concatenated, and the total."""
    starts = np.zeros(len(targets) + 1, np.int64)
    np.cumsum(flat.n_states[targets], out=starts[1:])
    return starts


def by_target(targets: np.ndarray, starts: np.ndarray, values: np.ndarray) -> dict[int, np.ndarray]:
    """Return for each target its part of concatenated values."""
    return {int(t): values[starts[i] : starts[i + 1]] for i, t in enumerate(targets)}


def _sum_block(flat: FlatNetwork, tilted: Tilted, targets: np.ndarray, state: np.ndarray) -> _Sums:
    """Return the sums of one block of samples."""
    starts = sum_starts(flat, targets)
    sums = np.zeros((2, starts[-1] + 1))
    scale = sum_weighted(tilted, new_tile(flat, state), BLOCK // ROWS, targets, starts[:-1], sums)
    return _Sums(sums, scale, BLOCK)


def new_tile(flat: FlatNetwork, state: np.ndarray) -> Tile:
    """Return room for a tile of weighted rows."""
    return Tile(np.zeros((flat.n_variables, ROWS), np.int32), state, room_of(flat), np.empty(ROWS))


def _answer(flat: FlatNetwork, log_scale: float, targets: np.ndarray, sums: _Sums, precision: float) -> SampledAnswer:
    """Return the estimates that sums of weights give."""
    (s1, total), (s2, squares) = ((row[:-1], row[-1]) for row in sums.values)
    effective, p = total * total / squares, s1 / total
    delta = np.sqrt(s2 * (1.0 - p) ** 2 + (squares - s2).clip(0.0) * p**2) / total
    errors, starts = np.maximum(delta, 1.0 / effective), sum_starts(flat, targets)
    reached = bool(errors.max(initial=0.0) <= precision and effective >= _LEAST_EFFECTIVE)
    log_evidence = math.log(total / sums.n_samples) + sums.scale + log_scale
    spread = math.sqrt(max(0.0, 1.0 / effective - 1.0 / sums.n_samples))
    estimates, spreads = by_target(targets, starts, p), by_target(targets, starts, errors)
    return SampledAnswer(estimates, spreads, sums.n_samples, float(effective), log_evidence, reached, spread)


def _nothing_agreed(flat: FlatNetwork, likelihoods: Likelihoods, n: int) -> ImpossibleEvidenceError:
    names = listed(flat.variables[v].name for v in likelihoods)
    return ImpossibleEvidenceError(
        f"the evidence on {names} must be possible; none of {n} samples agreed with it. "
        "It is impossible or too rare for sampling: use method='exact'."
    )
