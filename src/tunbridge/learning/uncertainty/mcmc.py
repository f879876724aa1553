"""Sampling structures: graphs drawn from their posterior, to show how uncertain the best graph is.

With few rows many graphs explain the data nearly as well as the best one. With the score as log marginal likelihood
(BDeu is one, BIC approximates it) and every graph equally likely beforehand,

    P(G | data) ∝ exp score(G),

and the probability of an arc is the share of the sampled graphs that have it. **Partition MCMC** (Kuipers and Moffa
2017) moves over the layers of graphs: nodes without parents, nodes whose parents are all among those, and so on, each
with a parent in the layer just before. Every graph has exactly one such partition λ of the nodes, and the graphs of a
partition are summed node by node,

    P(λ | data) ∝ Π_x Σ_{P fits λ} exp score(x, P),

so that a step is not limited to single arcs, and the graph itself is drawn from its partition afterwards. Sampling
orders instead (Friedman and Koller 2003) counts a graph once for every order that it agrees with, which favours sparse
graphs; partitions have no such bias.

A sweep makes steps over partitions (a node moves, two nodes swap, a layer is split or two are merged), draws a graph,
and makes steps by single arcs, so that every graph can be reached under any constraints. Chains start at the start
graph and at graphs along random orders.

**Convergence.** Chains that have converged have the same mean and variance, and so have their halves. R̂ is the root of
the ratio of the variance over all halves to that within them: near 1 when they agree; above 1.05 more sweeps are
needed. Consecutive samples of a chain are correlated, so that n samples give a mean less precisely than n independent
ones; the effective sample size is n divided by 1 + 2 Σ of the autocorrelations.

References
----------
J. Kuipers, G. Moffa (2017). Partition MCMC for inference on acyclic digraphs. Journal of the American Statistical
Association 112, 282–299.
N. Friedman, D. Koller (2003). Being Bayesian about network structure. Machine Learning 50, 95–125.
D. Madigan, J. York (1995). Bayesian graphical models for discrete data. International Statistical Review 63, 215–232
(single arcs).
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian Data Analysis, third
edition, sections 11.4 and 11.5.
C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7, 473–483.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads
from tunbridge.errors import DataError
from tunbridge.learning.searches.parent_sets import ParentSets, ParentSource, members_of, parent_source
from tunbridge.learning.searches.problem import Graph, Problem

_WAYS_OUT = "Learn from fewer variables, set max_parents, forbid arcs, or use the bootstrap."
_MOST_VARIABLES = 53
_LEAST_SAMPLES = 4
_ROUNDS = 50
"""Parts of a run: between them progress is reported, and it can be interrupted."""
_MOST_SWEEPS = 200
"""Sweeps for which random numbers are drawn together."""
_VANISHING = -700.0
"""Smaller weights than e^−700 would be denormal numbers, which are slow."""
_KINDS = ("move", "swap", "split or merge", "arc")


@dataclass(frozen=True, eq=False)
class StructureSamples:
    """Graphs drawn from their posterior.

    Parameters
    ----------
    names : tuple of str
        The variables.
    graphs : ndarray of shape (chains, samples, n)
        The parents of every node as a bit mask: bit c of ``graphs[i, j, x]`` stands for the arc c → x.
    log_scores : ndarray of shape (chains, samples)
        Their scores.
    arc_probabilities : ndarray of shape (n, n)
        The probability of the arc c → x, at [c, x].
    arc_errors : ndarray of shape (n, n)
        Standard errors of these from the sampling.
    r_hat : float
        R̂ of the scores over split chains: near 1 when the chains agree.
    ess : float
        The effective sample size of the mean score.
    acceptance : dict of str to float
        The share of the proposed steps of each kind that were accepted.
    best : tuple of tuples of int
        The best graph seen, the parents of every node.
    best_score : float
        Its score.
    note : str
        How the sampling ended, if it was interrupted.
    """

    names: tuple[str, ...]
    graphs: np.ndarray = field(repr=False)
    log_scores: np.ndarray = field(repr=False)
    arc_probabilities: np.ndarray = field(repr=False)
    arc_errors: np.ndarray = field(repr=False)
    r_hat: float
    ess: float
    acceptance: dict[str, float]
    best: Graph
    best_score: float
    note: str = ""

    @property
    def edge_probabilities(self) -> np.ndarray:
        """The probability that two variables are joined, in either direction."""
        return self.arc_probabilities + self.arc_probabilities.T


def sample_structures(
    problem: Problem,
    n_samples: int = 1000,
    *,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 4,
    n_jobs: int | None = None,
) -> StructureSamples:
    """Return graphs drawn from their posterior, and the probabilities of arcs.

    Parameters
    ----------
    problem : Problem
        Scores, constraints, the start graph of the first chain, and the random generator. Every graph that satisfies
        the constraints has the same prior, apart from the prior probabilities of arcs.
    n_samples : int
        The number of graphs of each chain, at least 4.
    burn_in : int
        The number of sweeps before the first graph is kept.
    thin : int
        The number of sweeps from one graph to the next.
    chains : int
        The number of independent chains; the result does not depend on the number of threads.
    n_jobs : int, optional
        The number of threads; default: all cores.

    Notes
    -----
    All parent sets of every node are scored and kept: set ``max_parents`` above 12 variables or so. After Ctrl-C the
    samples so far are returned, if there are at least 4.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.scores.families import DiscreteFamilies
    >>> from tunbridge.learning.scores.discrete import BDeu
    >>> families = DiscreteFamilies(tb.datasets.play_tennis(), BDeu())
    >>> empty = ((),) * 5
    >>> problem = Problem(families, None, empty, np.full(5, 2), empty, np.random.default_rng(0))
    >>> samples = sample_structures(problem, 500)
    >>> samples.arc_probabilities.shape, samples.r_hat < 1.05
    ((5, 5), True)
    """
    check_integer("n_samples", n_samples, low=_LEAST_SAMPLES)
    check_integer("burn_in", burn_in, low=0)
    check_integer("thin", thin, low=1)
    check_integer("chains", chains, low=1)
    size = 16.0 * chains * n_samples * (problem.n + 1)
    check_memory("the sampled graphs", size, ways_out="Sample fewer.")
    if problem.n > _MOST_VARIABLES:
        raise DataError(f"the variables must be at most {_MOST_VARIABLES} to sample; got {problem.n}. {_WAYS_OUT}")
    source = parent_source(problem, only_useful=False, ways_out=_WAYS_OUT)
    families = _Families.of([_possible(source, x) for x in range(problem.n)])
    running = _started(problem, families, chains)
    parts: list[_Samples] = []
    try:
        for n_sweeps in _shares(burn_in):
            parts.append(_advanced(problem, families, running, n_sweeps, n_sweeps + 1, n_jobs))
            problem.tell("burn-in", max(part.best_score for part in parts))
        for n in _shares(n_samples):
            parts.append(_advanced(problem, families, running, n * thin, thin, n_jobs))
            problem.tell(f"{_n_samples(parts)} of {n_samples} samples", max(part.best_score for part in parts))
    except KeyboardInterrupt:
        if _n_samples(parts) < _LEAST_SAMPLES:
            raise
    cut = _n_samples(parts) < n_samples
    note = f"interrupted after {_n_samples(parts)} samples of {n_samples}" if cut else ""
    return _summary(problem, running, _joined(parts, np.concatenate), note)


def _possible(source: ParentSource, x: int) -> ParentSets:
    """Return every parent set of a node; there is at least one."""
    sets = source.every(x)
    if not len(sets.masks):
        name = source.problem.families.names[x]
        raise DataError(f"the constraints must allow parents with which {name!r} can be scored; got none.")
    return sets


class _Families(NamedTuple):
    """The parent sets of all nodes as :mod:`tunbridge.kernels.learning.partitions` reads them."""

    first: np.ndarray
    masks: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    known: np.ndarray
    known_scores: np.ndarray

    @classmethod
    def of(cls, sets: Sequence[ParentSets]) -> _Families:
        parts = []
        for s in sets:
            by_score, by_mask = np.argsort(-s.scores, kind="stable"), np.argsort(s.masks)
            scores = s.scores[by_score]
            weights = np.exp(np.maximum(scores - scores[:1], _VANISHING))
            parts.append((s.masks[by_score], scores, weights, s.masks[by_mask], s.scores[by_mask]))
        return cls(np.cumsum([0] + [len(s.masks) for s in sets]), *map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class _Chain:
    """The state of a chain (written by the kernels), its random generator, and its steps by kind."""

    rng: np.random.Generator
    layer: np.ndarray
    proposed: np.ndarray = field(default_factory=lambda: np.zeros(len(_KINDS), np.int64))
    accepted: np.ndarray = field(default_factory=lambda: np.zeros(len(_KINDS), np.int64))


class _Samples(NamedTuple):
    """Graphs (chains, samples, n) with their scores, and the best seen on the way."""

    graphs: np.ndarray
    log_scores: np.ndarray
    best: np.ndarray
    best_score: float


def _started(problem: Problem, families: _Families, n_chains: int) -> list[_Chain]:
    """Return chains at the start graph and at graphs drawn along random orders."""
    rngs = problem.rng.spawn(n_chains)
    graphs = [problem.start] + [_graph_of_random_order(problem, families, rng) for rng in rngs[1:]]
    return [_Chain(rng, _layers(graph)) for rng, graph in zip(rngs, graphs, strict=True)]


def _graph_of_random_order(problem: Problem, families: _Families, rng: np.random.Generator) -> Graph:
    """Return a graph along a random order of the variables, with parents drawn by their scores."""
    graph: list[tuple[int, ...]] = [()] * problem.n
    before, left = 0, list(range(problem.n))
    while left:
        ready = [x for x in left if all(before >> p & 1 for p in problem.required[x])]
        x = ready[rng.integers(len(ready))]
        part = slice(families.first[x], families.first[x + 1])
        masks, scores = families.masks[part], families.scores[part]
        fits = np.flatnonzero(masks & ~before == 0)
        weights = np.exp(scores[fits] - scores[fits[0]])
        graph[x] = members_of(int(masks[rng.choice(fits, p=weights / weights.sum())]))
        before |= 1 << x
        left.remove(x)
    return tuple(graph)


def _layers(graph: Graph) -> np.ndarray:
    """Return the layer of every node: one more than the last of its parents'."""
    layer: dict[int, int] = {}
    while len(layer) < len(graph):
        ready = [x for x, parents in enumerate(graph) if x not in layer and all(p in layer for p in parents)]
        layer |= {x: 1 + max((layer[p] for p in graph[x]), default=-1) for x in ready}
    return np.array([layer[x] for x in range(len(graph))], np.int64)


def _n_samples(parts: list[_Samples]) -> int:
    return sum(part.graphs.shape[1] for part in parts)


def _shares(n: int) -> list[int]:
    """Return n split into nearly equal parts."""
    rounds = min(n, _ROUNDS)
    return [n * (i + 1) // rounds - n * i // rounds for i in range(rounds)]


def _advanced(
    problem: Problem, families: _Families, running: list[_Chain], n_sweeps: int, thin: int, n_jobs: int | None
) -> _Samples:
    """Return every thin-th graph of some more sweeps of all chains, and the best graph."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.learning.partitions import ARC_DRAWS, STEP_DRAWS, run_sweeps

    announce(run_sweeps, "the sampling of structures")
    n = problem.n
    n_steps, n_draws = 2 * n, 2 * n * STEP_DRAWS + n + n * ARC_DRAWS

    def advance(chain: _Chain) -> _Samples:
        graphs, log_scores = np.empty((n_sweeps, n), np.int64), np.empty(n_sweeps)
        for start in range(0, n_sweeps, _MOST_SWEEPS):
            some = slice(start, min(start + _MOST_SWEEPS, n_sweeps))
            draws = chain.rng.random((some.stop - start, n_draws))
            counters, room = (chain.proposed, chain.accepted), np.empty(n, np.int64)
            run_sweeps(tuple(families), draws, n_steps, chain.layer, room, *counters, graphs[some], log_scores[some])
        top = int(log_scores.argmax())
        return _Samples(graphs[thin - 1 :: thin], log_scores[thin - 1 :: thin], graphs[top], float(log_scores[top]))

    return _joined(map_threads(advance, running, n_jobs), lambda arrays, axis: np.stack(arrays))


def _joined(parts: list[_Samples], join: Callable[[list[np.ndarray], int], np.ndarray]) -> _Samples:
    """Return samples put together: chains side by side, or parts of a run one after the other."""
    top = max(parts, key=lambda part: part.best_score)
    graphs, scores = join([part.graphs for part in parts], 1), join([part.log_scores for part in parts], 1)
    return _Samples(graphs, scores, top.best, top.best_score)


def _summary(problem: Problem, running: list[_Chain], samples: _Samples, note: str) -> StructureSamples:
    """Return the probabilities of arcs and the diagnostics of the samples."""
    n = problem.n
    arcs, errors = np.zeros((n, n)), np.zeros((n, n))
    for c in range(n):
        for x in range(n):
            there = (samples.graphs[:, :, x] >> c & 1).astype(float)
            arcs[c, x] = p = there.mean()
            errors[c, x] = np.sqrt(p * (1 - p) / _effective_size(there))
    proposed, accepted = (sum(getattr(chain, a) for chain in running) for a in ("proposed", "accepted"))
    rates = {kind: float(a / max(p, 1)) for kind, a, p in zip(_KINDS, accepted, proposed, strict=True)}
    best = tuple(members_of(int(mask)) for mask in samples.best)
    r_hat, ess = _split_r_hat(samples.log_scores), _effective_size(samples.log_scores)
    return StructureSamples(
        problem.families.names, samples.graphs, samples.log_scores, arcs, errors, r_hat, ess, rates, best,
        samples.best_score, note,
    )  # fmt: skip


# Convergence


def _split_r_hat(values: np.ndarray) -> float:
    """Return R̂ of a quantity (chains × samples), each chain split into halves.

    Examples
    --------
    >>> round(_split_r_hat(np.random.default_rng(0).normal(size=(4, 1000))), 2)
    1.0
    >>> round(_split_r_hat(np.array([[0.0, 1, 0, 1], [5, 6, 5, 6]])), 2)
    4.14
    """
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within, between = float(halves.var(axis=1, ddof=1).mean()), float(halves.mean(axis=1).var(ddof=1))
    if between <= 1e-24 * max(1.0, float(np.abs(values).max())) ** 2:
        return 1.0
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else np.inf


def _effective_size(values: np.ndarray) -> float:
    """Return how many independent samples would give the mean of a quantity (chains × samples) as precisely.

    The autocorrelations are summed in pairs until a pair is negative (Geyer's initial monotone sequence).

    Examples
    --------
    >>> walk = np.random.default_rng(0).normal(size=(4, 1000)).cumsum(axis=1)
    >>> _effective_size(walk) < 40
    True
    """
    n_chains, n = values.shape
    covariances = _autocovariances(values).mean(axis=0)
    within = covariances[0] * n / (n - 1)
    pooled = within * (n - 1) / n + (float(values.mean(axis=1).var(ddof=1)) if n_chains > 1 else 0.0)
    if pooled <= 0:
        return float(n_chains * n)
    correlations = 1 - (within - covariances) / pooled
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)
    n_positive = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    time = 2 * np.minimum.accumulate(pairs[: max(1, n_positive)]).sum() - 1
    return float(n_chains * n / max(time, 1 / np.log10(n_chains * n)))


def _autocovariances(values: np.ndarray) -> np.ndarray:
    """Return the autocovariances of every row, by lag."""
    n = values.shape[1]
    spectrum = np.fft.rfft(values - values.mean(axis=1, keepdims=True), 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n
