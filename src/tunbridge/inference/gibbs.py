"""Gibbs sampling: chains that redraw one variable at a time given all others.

The distribution of a variable given all others depends on its Markov blanket only,

    P(x_v = k | rest) ∝ λ_v(k) P(k | parents) Π_{c child of v} P(x_c | parents of c, with x_v = k),

and a sweep redraws every variable in turn from it (λ_v is the likelihood of the evidence; a variable whose evidence is
certain is left alone). The chain's states follow the posterior in the long run. Not the states are averaged but the
distributions that they were drawn from, which have the same mean and vary less (Rao-Blackwell).

Neighbouring sweeps are alike, so the error is judged by **batch means**: the averages over 64 long batches of each
chain are nearly independent, and their spread gives the standard error. Several chains start from independent samples
of positive probability, and **R̂** compares the spread between chains with that within; above 1.1 they disagree.

Tables with zeros can break the method: where two variables determine each other, one alone can never move, and a chain
stays in the part of the space in which it began. Chains that began in different parts disagree, their answer does not
count as precise, and its error is taken from the chains' means; but nothing shows when all began in the same part. Use
likelihood weighting or the exact answer for networks with deterministic tables.

References
----------
S. Geman, D. Geman (1984). Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images. PAMI 6.
J. Pearl (1987). Evidential reasoning using stochastic simulation of causal models. Artificial Intelligence 32, 245–257.
A. Gelman, D. B. Rubin (1992). Inference from iterative simulation using multiple sequences. Stat. Science 7, 457–472.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._check import check_number
from tunbridge._threads import map_threads
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.flat import FlatNetwork
from tunbridge.inference.forward import RandomState, entropy_of, room_of, stream, structure
from tunbridge.inference.lookahead import possible_state
from tunbridge.inference.weighting import (
    Likelihoods,
    SampledAnswer,
    Tilted,
    by_target,
    checked_likelihoods,
    checked_targets,
    sum_starts,
    tilt,
)
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.sampling import ROWS, fill_weighted, sweep

_BATCHES = 64
_FIRST_BATCH = 16
_AGREED = 1.1
_START_TILES = 64
_NOTHING = 1e-24  # variances of probabilities below this are rounding
_NO_START = (
    "Gibbs sampling must start from a state of positive probability; none was found that agrees with the evidence. "
    "It is impossible or too rare for sampling: ask for the exact answer."
)


@dataclass(frozen=True, eq=False)
class _Blankets:
    """What a sweep reads: who is redrawn, by which likelihoods, and how the places of children move with each.

    ``sum_start`` says where a target's distribution is added up; −1 for the others.
    """

    flat: FlatNetwork
    order: np.ndarray
    scan: np.ndarray
    likelihoods: np.ndarray
    state_start: np.ndarray
    child_start: np.ndarray
    children: np.ndarray
    strides: np.ndarray
    sum_start: np.ndarray
    n_sums: int


@dataclass(frozen=True, eq=False)
class _Chain:
    """The present codes of a chain, the places of their probabilities in the tables, and its random stream.

    Sweeps move all three on.
    """

    codes: np.ndarray
    places: np.ndarray
    state: np.ndarray


def sample_gibbs(
    flat: FlatNetwork,
    targets: Sequence[int] | np.ndarray,
    likelihoods: Likelihoods,
    *,
    precision: float = 0.001,
    max_samples: int = 2_000_000,
    n_chains: int = 4,
    burn_in: int = 1000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> SampledAnswer:
    """Return the posteriors of targets given evidence, estimated by Gibbs sampling.

    Sweeps are made in rounds, each as long as all before, until no standard error is above the precision.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    targets : sequence of int
        The variables asked for, by index.
    likelihoods : mapping of int to ndarray
        The evidence: for each variable that has some, a likelihood for every state (hard evidence: 1 and zeros).
    precision : float
        The largest standard error to be content with.
    max_samples : int
        Where to stop in any case, in sweeps of all chains together; 1 024 sweeps a chain are always made.
    n_chains : int
        How many chains; two at least, since only their agreement tells whether they have forgotten their start.
    burn_in : int
        Sweeps of each chain before any counts.
    random_state : int or numpy.random.Generator, optional
        The seed.
    n_jobs : int, optional
        The number of threads, all cores by default; it does not change the answer.

    Returns
    -------
    SampledAnswer
        With ``r_hat`` and without ``log_evidence``, which this method does not give.

    Raises
    ------
    ImpossibleEvidenceError
        When no state of positive probability is found to start from.
    """
    check_number("precision", precision, above=0)
    check_number("max_samples", max_samples, low=1)
    check_number("burn_in", burn_in, low=0)
    check_number("n_chains", n_chains, low=2)
    chosen, entropy = checked_targets(flat, targets), entropy_of(random_state)
    announce(sweep, "Gibbs sampling")
    tilted = tilt(flat, chosen, likelihoods)
    blankets = _blankets(tilted, chosen, likelihoods)
    chains = _started(tilted, blankets, likelihoods, int(n_chains), entropy)
    map_threads(lambda chain: _swept(blankets, chain, int(burn_in)), chains, n_jobs)
    size, means = _FIRST_BATCH, np.empty((len(chains), 0, blankets.n_sums))
    while True:
        means = np.concatenate([means, _batch_means(blankets, chains, _BATCHES - means.shape[1], size, n_jobs)], axis=1)
        answer = _answer(flat, chosen, means, size=size, precision=precision)
        if answer.reached or 2 * answer.n_samples > max_samples:
            return answer
        means, size = 0.5 * (means[:, 0::2] + means[:, 1::2]), 2 * size


def _blankets(tilted: Tilted, targets: np.ndarray, likelihoods: Likelihoods) -> _Blankets:
    """Return the arrays that sweeps over the relevant variables need."""
    flat, certain = tilted.flat, set()
    state_start, starts = sum_starts(flat, np.arange(flat.n_variables)), sum_starts(flat, targets)
    values, sum_start = np.ones(state_start[-1]), np.full(flat.n_variables, -1, np.int64)
    sum_start[targets] = starts[:-1]
    for v, likelihood in checked_likelihoods(flat, likelihoods).items():
        values[state_start[v] : state_start[v + 1]] = likelihood / likelihood.max()
        if np.count_nonzero(likelihood) == 1 and sum_start[v] < 0:  # a target is drawn, to be added up
            certain.add(v)
    scan = np.array([v for v in tilted.order.tolist() if v not in certain], np.int64)
    children = _children(flat, tilted.order)
    return _Blankets(flat, tilted.order, scan, values, state_start, *children, sum_start, int(starts[-1]))


def _children(flat: FlatNetwork, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the children of each variable begin, the children, and how far their places move with its state."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(flat.n_variables)]
    for child in order.tolist():
        stride = int(flat.n_states[child])
        for parent in flat.parents_of(child)[::-1].tolist():
            found[parent].append((child, stride))
            stride *= int(flat.n_states[parent])
    start = np.zeros(flat.n_variables + 1, np.int64)
    np.cumsum([len(pairs) for pairs in found], out=start[1:])
    pairs = np.array([pair for pairs in found for pair in pairs], np.int64).reshape(-1, 2)
    return start, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _started(
    tilted: Tilted, blankets: _Blankets, likelihoods: Likelihoods, n_chains: int, entropy: int
) -> list[_Chain]:
    """Return chains at states of positive probability: weighted samples, or those that looking ahead gives.

    All samples of positive weight are as good as each other here: starts that lie farther apart than the posterior
    make disagreement easier to see.
    """
    found = _weighted_states(tilted, n_chains, stream(entropy, n_chains))
    rng, flat = np.random.default_rng([entropy, n_chains]), tilted.flat
    chains = []
    for c in range(n_chains):
        codes = found[c] if c < len(found) else possible_state(flat, tilted.order, likelihoods, rng)
        if codes is None:
            raise ImpossibleEvidenceError(_NO_START)
        chains.append(_Chain(codes, _places(blankets, codes), stream(entropy, c)))
    return chains


def _weighted_states(tilted: Tilted, wanted: int, state: np.ndarray) -> np.ndarray:
    """Return weighted samples of positive weight, as many as are wanted or turn up in time."""
    flat = tilted.flat
    codes, log_weights = np.zeros((flat.n_variables, ROWS), np.int32), np.empty(ROWS)
    found, room = np.empty((0, flat.n_variables), np.int64), room_of(flat)
    for _ in range(_START_TILES):
        fill_weighted(codes, *structure(flat, tilted.order), *tilted.norms(), state, room, log_weights)
        found = np.concatenate([found, codes[:, log_weights > -np.inf].T[: wanted - len(found)]])
        if len(found) == wanted:
            break
    return found


def _places(blankets: _Blankets, codes: np.ndarray) -> np.ndarray:
    """Return where in the tables the probability of each variable's code lies."""
    flat = blankets.flat
    places = flat.table_start[:-1] + codes
    for v in blankets.order.tolist():
        for c in range(blankets.child_start[v], blankets.child_start[v + 1]):
            places[blankets.children[c]] += codes[v] * blankets.strides[c]
    return places


def _swept(blankets: _Blankets, chain: _Chain, n_sweeps: int) -> np.ndarray:
    """Move a chain on by sweeps; return the sums of the targets' distributions."""
    flat, sums = blankets.flat, np.zeros(blankets.n_sums)
    draws, chances = np.empty(ROWS, np.int64), np.empty(flat.n_states.max(initial=0))
    sweep(
        flat.tables, blankets.likelihoods, blankets.state_start, blankets.scan, flat.n_states,
        blankets.child_start, blankets.children, blankets.strides,
        chain.codes, chain.places, chain.state, draws, chances, n_sweeps, blankets.sum_start, sums,
    )  # fmt: skip
    return sums


def _batch_means(
    blankets: _Blankets, chains: list[_Chain], n_batches: int, size: int, n_jobs: int | None
) -> np.ndarray:
    """Move every chain on by batches of sweeps; return their means, chains × batches × states of targets."""

    def run(chain: _Chain) -> np.ndarray:
        return np.stack([_swept(blankets, chain, size) / size for _ in range(n_batches)])

    return np.stack(map_threads(run, chains, n_jobs))


def _answer(flat: FlatNetwork, targets: np.ndarray, means: np.ndarray, *, size: int, precision: float) -> SampledAnswer:
    """Return the estimates that batch means give."""
    n_chains, n_batches, _ = means.shape
    within, between = means.var(axis=1, ddof=1).mean(axis=0), means.mean(axis=1).var(axis=0, ddof=1)
    r_hat, p, n = _r_hat(within, between, n_batches), means.mean(axis=(0, 1)), n_chains * n_batches * size
    variances = within / (n_batches * n_chains)
    if r_hat > _AGREED:
        variances = np.maximum(variances, between / n_chains)
    errors, starts, spread = np.sqrt(variances), sum_starts(flat, targets), p * (1.0 - p)
    moving = (variances > _NOTHING) & (spread > _NOTHING)
    effective = min(float(n), float((spread[moving] / variances[moving]).min(initial=np.inf)))
    reached = bool(errors.max(initial=0.0) <= precision and r_hat <= _AGREED)
    estimates, spreads = by_target(targets, starts, p), by_target(targets, starts, errors)
    return SampledAnswer(estimates, spreads, n, effective, None, reached, r_hat=r_hat)


def _r_hat(within: np.ndarray, between: np.ndarray, n_batches: int) -> float:
    """Return the largest R̂ of all states: the root of the pooled variance of batch means by that within chains."""
    still = within <= _NOTHING
    if (between[still] > _NOTHING).any():
        return float("inf")
    share = between[~still] / within[~still]
    return float(np.sqrt((n_batches - 1) / n_batches + share.max(initial=1.0 / n_batches)))
