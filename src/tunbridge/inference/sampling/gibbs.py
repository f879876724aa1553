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

Chains start from weighted samples of positive probability. Where tables hold zeros, evidence can be so rare that no
forward sample agrees with it, though a possible state is easy to find: if an alarm sounds only when all of thirty
switches are on, they are on. So a start can also be found by **looking ahead**: every variable keeps the set of states
that may still lead to a possible state of all variables. A table supports a state of one of its members when some
positive entry has it together with states that remain; a state without support is removed, which can take away the
support of others, until nothing changes (generalised arc consistency, Mackworth 1977). Then the variables are drawn in
topological order from the remaining states of their rows, and after each draw the consequences are removed again. A
draw that leaves some variable without a state is undone. In networks without undirected cycles this never fails; in
others it may, and then starts again.

References
----------
S. Geman, D. Geman (1984). Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images. PAMI 6.
J. Pearl (1987). Evidential reasoning using stochastic simulation of causal models. Artificial Intelligence 32, 245–257.
A. K. Mackworth (1977). Consistency in networks of relations. Artificial Intelligence 8, 99–118.
A. Gelman, D. B. Rubin (1992). Inference from iterative simulation using multiple sequences. Stat. Science 7, 457–472.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import check_number, listed
from tunbridge._core.seeds import entropy_of
from tunbridge._core.threads import map_threads
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.inference.sampling.forward import RandomState, checked_size, stream
from tunbridge.inference.sampling.weighting import (
    Likelihoods,
    SampledAnswer,
    by_target,
    checked_likelihoods,
    checked_targets,
    new_tile,
    sum_starts,
    tilt,
)
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.inference.sampling import ROWS, Blankets, Chain, Tilted, fill_weighted, sweep

_BATCHES = 64
_ATTEMPTS = 30  # to find a start by looking ahead
_FIRST_BATCH = 16
_AGREED = 1.1
_START_TILES = 64
_NOTHING = 1e-24  # variances of probabilities below this are rounding
_NO_START = (
    "Gibbs sampling must start from a state of positive probability; none was found that agrees with the evidence. "
    "It is impossible or too rare for sampling: use method='exact'."
)


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
        The target variables, by index.
    likelihoods : mapping of int to ndarray
        The evidence: for each variable that has some, a likelihood for every state (hard evidence: 1 and zeros).
    precision : float
        Stop once no standard error is larger.
    max_samples : int
        The maximal number of sweeps of all chains together; each chain makes at least 1 024.
    n_chains : int
        The number of chains, at least two: their agreement shows whether they have converged.
    burn_in : int
        Sweeps of each chain that are discarded.
    random_state : int or numpy.random.Generator, optional
        The random seed.
    n_jobs : int, optional
        The number of threads (default: all cores); it does not change the answer.

    Returns
    -------
    SampledAnswer
        With ``r_hat`` and without ``log_evidence``, which this method cannot estimate.

    Raises
    ------
    ImpossibleEvidenceError
        When no state of positive probability is found to start from.
    """
    check_number("precision", precision, above=0)
    checked_size(max_samples, "max_samples", low=1)
    checked_size(burn_in, "burn_in")
    n_chains = checked_size(n_chains, "n_chains", low=2)
    chosen, entropy = checked_targets(flat, targets), entropy_of(random_state)
    announce(sweep, "Gibbs sampling", 2)
    tilted, _ = tilt(flat, chosen, likelihoods)
    blankets = _blankets(flat, tilted.order, chosen, likelihoods)
    chains = _started(flat, tilted, blankets, likelihoods, n_chains, entropy)
    n_sums = int(flat.n_states[chosen].sum())
    map_threads(lambda chain: sweep(blankets, chain, int(burn_in), np.zeros(n_sums)), chains, n_jobs)
    size, means = _FIRST_BATCH, np.empty((len(chains), 0, n_sums))
    while True:
        means = np.concatenate(
            [means, _batch_means(blankets, chains, (_BATCHES - means.shape[1], n_sums), size, n_jobs)], axis=1
        )
        answer = _answer(flat, chosen, means, size=size, precision=precision)
        if answer.reached or 2 * answer.n_samples > max_samples:
            return answer
        means, size = 0.5 * (means[:, 0::2] + means[:, 1::2]), 2 * size


def _blankets(flat: FlatNetwork, order: np.ndarray, targets: np.ndarray, likelihoods: Likelihoods) -> Blankets:
    """Return what sweeps over the variables that matter read."""
    state_start, starts, certain = sum_starts(flat, np.arange(flat.n_variables)), sum_starts(flat, targets), set()
    values, sum_start = np.ones(state_start[-1]), np.full(flat.n_variables + 1, -1, np.int64)
    sum_start[targets] = starts[:-1]
    for v, likelihood in checked_likelihoods(flat, likelihoods).items():
        values[state_start[v] : state_start[v + 1]] = likelihood / likelihood.max()
        if np.count_nonzero(likelihood) == 1 and sum_start[v] < 0:  # a target is drawn, to be added up
            certain.add(v)
    scan = np.array([v for v in order.tolist() if v not in certain], np.int64)
    found: list[list[tuple[int, int]]] = [[] for _ in range(flat.n_variables)]  # children, and how far places move
    for child in order.tolist():
        stride = int(flat.n_states[child])
        for parent in flat.parents_of(child)[::-1].tolist():
            found[parent].append((child, stride))
            stride *= int(flat.n_states[parent])
    columns = [np.append(flat.n_states, 0), state_start, starts_of(map(len, found)), sum_start]
    children = np.array([pair for pairs in found for pair in pairs], np.int64).reshape(-1, 2)
    return Blankets(flat.tables, values, np.ascontiguousarray(np.stack(columns, axis=1)), scan, children)


def _started(
    flat: FlatNetwork, tilted: Tilted, blankets: Blankets, likelihoods: Likelihoods, n_chains: int, entropy: int
) -> list[Chain]:
    """Return chains at states of positive probability: weighted samples, or those that looking ahead gives.

    All samples of positive weight are as good as each other here: starts that lie farther apart than the posterior
    make disagreement easier to see.
    """
    found = _weighted_states(flat, tilted, n_chains, stream(entropy, n_chains))
    rng, chains = np.random.default_rng([entropy, n_chains]), []
    for c in range(n_chains):
        codes = found[c] if c < len(found) else possible_state(flat, tilted.order, likelihoods, rng)
        if codes is None:
            raise ImpossibleEvidenceError(_NO_START)
        places = flat.table_start[:-1] + codes
        for v in tilted.order.tolist():
            for child, stride in blankets.children[blankets.variables[v, 2] : blankets.variables[v + 1, 2]]:
                places[child] += codes[v] * stride
        room = np.empty(ROWS, np.int64), np.empty(flat.n_states.max(initial=0))
        chains.append(Chain(codes, places, stream(entropy, c), *room))
    return chains


def _weighted_states(flat: FlatNetwork, tilted: Tilted, wanted: int, state: np.ndarray) -> np.ndarray:
    """Return weighted samples of positive weight, as many as are wanted or turn up in time."""
    found, tile = np.empty((0, flat.n_variables), np.int64), new_tile(flat, state)
    for _ in range(_START_TILES):
        fill_weighted(tilted, tile)
        found = np.concatenate([found, tile.codes[:, tile.log_weights > -np.inf].T[: wanted - len(found)]])
        if len(found) == wanted:
            break
    return found


def _batch_means(
    blankets: Blankets, chains: list[Chain], shape: tuple[int, int], size: int, n_jobs: int | None
) -> np.ndarray:
    """Move every chain on by batches of sweeps; return their means, chains × batches × states of targets."""

    def run(chain: Chain) -> np.ndarray:
        sums = np.zeros(shape)
        for batch in sums:
            sweep(blankets, chain, size, batch)
        return sums / size

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


# Looking ahead


Domains = dict[int, np.ndarray]
"""For each variable, which of its states remain; the arrays are replaced, never modified."""


@dataclass(frozen=True, eq=False)
class _Relations:
    """Which entries of the tables are possible, the variables along their axes, and the tables that each is in."""

    possible: dict[int, np.ndarray]
    members: dict[int, list[int]]
    tables_with: dict[int, list[int]]


def possible_state(
    flat: FlatNetwork, order: np.ndarray, likelihoods: Likelihoods, rng: np.random.Generator
) -> np.ndarray | None:
    """Return codes of positive probability that agree with the evidence; None when none was found.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    order : ndarray
        The variables that matter, with all their ancestors, parents first; the codes of others are zero.
    likelihoods : mapping of int to ndarray
        The evidence.
    rng : numpy.random.Generator
        The random generator.

    Raises
    ------
    ImpossibleEvidenceError
        When the evidence is certainly impossible.
    """
    relations, domains = _relations(flat, order.tolist()), _domains(flat, order.tolist(), likelihoods)
    if not _remove_unsupported(relations, domains, order.tolist()):
        names = listed(flat.variables[v].name for v in likelihoods)
        raise ImpossibleEvidenceError(
            f"the evidence on {names} must be possible; no state of the network agrees with it."
        )
    attempts = (_attempt(flat, order, relations, dict(domains), rng) for _ in range(_ATTEMPTS))
    return next((codes for codes in attempts if codes is not None), None)


def _relations(flat: FlatNetwork, order: list[int]) -> _Relations:
    members = {v: [*flat.parents_of(v).tolist(), v] for v in order}
    possible = {v: (flat.table_of(v) > 0.0).reshape(flat.n_states[members[v]]) for v in order}
    tables_with: dict[int, list[int]] = {v: [] for v in order}
    for table, variables in members.items():
        for v in variables:
            tables_with[v].append(table)
    return _Relations(possible, members, tables_with)


def _domains(flat: FlatNetwork, order: list[int], likelihoods: Likelihoods) -> Domains:
    whole: Domains = {v: np.ones(flat.n_states[v], bool) for v in order}
    return whole | {v: np.asarray(likelihood) > 0.0 for v, likelihood in likelihoods.items()}


def _remove_unsupported(relations: _Relations, domains: Domains, tables: Iterable[int]) -> bool:
    """Remove states without support, from these tables on; return whether every variable keeps a state."""
    waiting = dict.fromkeys(tables)
    while waiting:
        table = next(iter(waiting))
        del waiting[table]
        for v, remains in _supported(relations, domains, table):
            if not remains.any():
                return False
            if remains.sum() < domains[v].sum():
                domains[v] = remains
                waiting.update(dict.fromkeys(t for t in relations.tables_with[v] if t != table))
    return True


def _supported(relations: _Relations, domains: Domains, table: int) -> list[tuple[int, np.ndarray]]:
    """Return for each member of a table which of its states have an entry that supports them."""
    members, allowed = relations.members[table], relations.possible[table]
    axes = range(len(members))
    for axis, v in enumerate(members):
        allowed = allowed & domains[v].reshape([-1 if a == axis else 1 for a in axes])
    return [(v, np.asarray(allowed.any(axis=tuple(a for a in axes if a != axis)))) for axis, v in enumerate(members)]


def _attempt(
    flat: FlatNetwork, order: np.ndarray, relations: _Relations, domains: Domains, rng: np.random.Generator
) -> np.ndarray | None:
    """Return codes drawn in topological order from what remains; None where that fails."""
    codes = np.zeros(flat.n_variables, np.int64)
    for v in order.tolist():
        row = flat.table_of(v)[_configuration(flat, codes, v)]
        while True:
            chances = row * domains[v]
            if not chances.any():
                return None
            codes[v] = rng.choice(row.size, p=chances / chances.sum())
            held = np.arange(row.size) == codes[v]
            trial = domains | {v: held}
            if _remove_unsupported(relations, trial, relations.tables_with[v]):
                domains = trial
                break
            domains = domains | {v: domains[v] & ~held}
    return codes


def _configuration(flat: FlatNetwork, codes: np.ndarray, v: int) -> int:
    number = 0
    for parent in flat.parents_of(v).tolist():
        number = number * int(flat.n_states[parent]) + int(codes[parent])
    return number
