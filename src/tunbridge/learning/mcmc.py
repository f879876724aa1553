"""Sampling structures: graphs drawn from their posterior, for what the best graph alone does not tell.

With few rows many graphs explain the data nearly as well as the best one. With the score as log marginal likelihood
(BDeu is one, BIC approximates it) and every graph equally likely beforehand,

    P(G | data) ∝ exp score(G),

and the probability of an arc is the share of the sampled graphs that have it. **Partition MCMC** (Kuipers and Moffa
2017) walks over the layers of graphs: nodes without parents, nodes whose parents are all among those, and so on, each
with a parent in the layer just before. Every graph has exactly one such partition λ of the nodes, and the graphs of a
partition are summed up node by node,

    P(λ | data) ∝ Π_x Σ_{P fits λ} exp score(x, P),

so that a step never gets stuck at single arcs, and the graph itself is drawn from its partition afterwards. Sampling
orders instead (Friedman and Koller 2003) counts a graph once for every order that it agrees with, which favours sparse
graphs; partitions have no such bias.

A sweep makes steps over partitions (a node is put elsewhere, two nodes swap, a layer is split or two are merged), draws
a graph, and makes steps by single arcs, so that every graph can be reached under any constraints. Chains start at the
start graph and at graphs along random orders. **R̂** compares the scores between and within the halves of the chains;
above 1.05 they have not settled, and more sweeps are needed.

References
----------
J. Kuipers, G. Moffa (2017). Partition MCMC for inference on acyclic digraphs. Journal of the American Statistical
Association 112, 282–299.
N. Friedman, D. Koller (2003). Being Bayesian about network structure. Machine Learning 50, 95–125.
D. Madigan, J. York (1995). Bayesian graphical models for discrete data. International Statistical Review 63, 215–232
(single arcs).
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.errors import DataError
from tunbridge.learning.convergence import effective_size, split_r_hat
from tunbridge.learning.parent_sets import ParentSets, ParentSource, members_of, parent_source
from tunbridge.learning.problem import Graph, Problem

_WAYS_OUT = "Learn from fewer variables, set max_parents, forbid arcs, or use the bootstrap."
_MOST_VARIABLES = 53
_LEAST_SAMPLES = 4
_ROUNDS = 50
"""Parts of a run: between them progress is told, and it can be interrupted."""
_MOST_SWEEPS = 200
"""Sweeps for which random numbers are drawn at once."""
_VANISHING = -700.0
"""Weights below e^−700 are as good as none, and would be slow numbers."""
_KINDS = ("move", "swap", "split or merge", "arc")


@dataclass(frozen=True, eq=False)
class StructureSamples:
    """Graphs drawn from their posterior.

    Parameters
    ----------
    names : tuple of str
        The variables.
    graphs : ndarray of shape (chains, samples, n)
        The parents of every node as a bit mask: bit c of ``graphs[i, j, x]`` says that c → x is there.
    log_scores : ndarray of shape (chains, samples)
        Their scores.
    arc_probabilities : ndarray of shape (n, n)
        The probability of the arc c → x, at [c, x].
    arc_errors : ndarray of shape (n, n)
        Standard errors of these from the sampling.
    r_hat : float
        R̂ of the scores over split chains: near 1 when the chains agree.
    ess : float
        So many independent samples would tell as much about the mean score.
    acceptance : dict of str to float
        The share of the proposed steps of each kind that were taken.
    best : tuple of tuples of int
        The best graph seen, the parents of every node.
    best_score : float
        Its score.
    note : str
        How the sampling ended, if not as planned.
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
        """The probability that two variables are joined, in whatever direction."""
        return self.arc_probabilities + self.arc_probabilities.T


def sample_structures(
    problem: Problem,
    n_samples: int = 1000,
    *,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 4,
    n_jobs: int | None = None,
    memory_limit: float | None = None,
) -> StructureSamples:
    """Return graphs drawn from their posterior, and the probabilities of arcs.

    Parameters
    ----------
    problem : Problem
        Scores, constraints, the start graph of the first chain, and the source of chance. The prior of every graph that
        the constraints allow is the same, apart from the arc bonuses of the families.
    n_samples : int
        Graphs of each chain, at least 4.
    burn_in : int
        Sweeps before the first is kept.
    thin : int
        Sweeps from one to the next.
    chains : int
        Independent chains; they run beside each other, and the result does not depend on the number of threads.
    n_jobs : int, optional
        Threads; ``None`` takes every core.
    memory_limit : float, optional
        Bytes; without it TUNBRIDGE_MEMORY_LIMIT or half the free memory.

    Notes
    -----
    All parent sets of every node are scored and kept: set ``max_parents`` above 12 variables or so. After Ctrl-C the
    samples so far are given back, if there are any.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.plain import NumpyFamilies
    >>> from tunbridge.learning.scores import BDeu
    >>> families = NumpyFamilies(tb.datasets.play_tennis(), BDeu())
    >>> empty = ((),) * 5
    >>> problem = Problem(families, None, empty, np.full(5, 2), empty, np.random.default_rng(0))
    >>> samples = sample_structures(problem, 500)
    >>> samples.arc_probabilities.shape, samples.r_hat < 1.05
    ((5, 5), True)
    """
    _check_whole("n_samples", n_samples, _LEAST_SAMPLES)
    _check_whole("burn_in", burn_in, 0)
    size = 16.0 * chains * n_samples * (problem.n + 1)
    check_memory("the sampled graphs", size, ways_out="Sample fewer.", limit=memory_limit)
    _check_whole("thin", thin, 1)
    _check_whole("chains", chains, 1)
    if problem.n > _MOST_VARIABLES:
        raise DataError(f"the variables must be at most {_MOST_VARIABLES} to sample; got {problem.n}. {_WAYS_OUT}")
    source = parent_source(problem, only_useful=False, ways_out=_WAYS_OUT, limit=memory_limit)
    families = _Families.of([_possible(source, x) for x in range(problem.n)])
    running = _started(problem, families, chains)
    samples, note = _run(problem, families, running, _Plan(burn_in, n_samples, thin, n_jobs))
    return _summary(problem, running, samples, note)


def _possible(source: ParentSource, x: int) -> ParentSets:
    """Return every parent set of a node; there is at least one."""
    sets = source.every(x)
    if not len(sets.masks):
        name = source.problem.families.names[x]
        raise DataError(f"the constraints must leave parents with which {name!r} can be scored; got none.")
    return sets


class _Families(NamedTuple):
    """The parent sets of all nodes as :mod:`tunbridge.kernels.partitions` reads them."""

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
    """Where a chain stands (the kernels write here), its chance, and how many steps it has made."""

    rng: np.random.Generator
    layer: np.ndarray
    proposed: np.ndarray = field(default_factory=lambda: np.zeros(len(_KINDS), np.int64))
    accepted: np.ndarray = field(default_factory=lambda: np.zeros(len(_KINDS), np.int64))


class _Plan(NamedTuple):
    burn_in: int
    n_samples: int
    thin: int
    n_jobs: int | None


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
    """Return a graph that agrees with a random order of the variables, its parents drawn by their scores."""
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


def _run(problem: Problem, families: _Families, running: list[_Chain], plan: _Plan) -> tuple[_Samples, str]:
    """Return the samples of all chains, and a word if they were cut short."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.partitions import run_sweeps

    announce(run_sweeps, "the sampling of structures")
    parts: list[_Samples] = []

    def advance(what: str, n_sweeps: int, thin: int) -> None:
        new = map_threads(lambda chain: _advanced(chain, families, n_sweeps, thin), running, plan.n_jobs)
        parts.append(_joined(new))
        problem.tell(what, max(part.best_score for part in parts))

    try:
        for n in _shares(plan.burn_in):
            advance("burning in", n, n + 1)
        for n in _shares(plan.n_samples):
            advance(f"{_n_samples(parts) + n} of {plan.n_samples} samples", n * plan.thin, plan.thin)
    except KeyboardInterrupt:
        if _n_samples(parts) < _LEAST_SAMPLES:
            raise
    cut = _n_samples(parts) < plan.n_samples
    note = f"interrupted after {_n_samples(parts)} samples of {plan.n_samples}" if cut else ""
    top = max(parts, key=lambda part: part.best_score)
    graphs, scores = [part.graphs for part in parts], [part.log_scores for part in parts]
    return _Samples(np.concatenate(graphs, 1), np.concatenate(scores, 1), top.best, top.best_score), note


def _n_samples(parts: list[_Samples]) -> int:
    return sum(part.graphs.shape[1] for part in parts)


def _shares(n: int) -> list[int]:
    """Return n cut into nearly equal parts."""
    rounds = min(n, _ROUNDS)
    return [n * (i + 1) // rounds - n * i // rounds for i in range(rounds)]


def _advanced(chain: _Chain, families: _Families, n_sweeps: int, thin: int) -> _Samples:
    """Return every thin-th graph of some more sweeps, and the best of all."""
    from tunbridge.kernels.partitions import ARC_DRAWS, STEP_DRAWS, run_sweeps

    n = len(chain.layer)
    n_steps, n_draws = 2 * n, 2 * n * STEP_DRAWS + n + n * ARC_DRAWS
    graphs, log_scores = np.empty((n_sweeps, n), np.int64), np.empty(n_sweeps)
    for start in range(0, n_sweeps, _MOST_SWEEPS):
        some = slice(start, min(start + _MOST_SWEEPS, n_sweeps))
        draws = chain.rng.random((some.stop - start, n_draws))
        counters, room = (chain.proposed, chain.accepted), np.empty(n, np.int64)
        run_sweeps(tuple(families), draws, n_steps, chain.layer, room, *counters, graphs[some], log_scores[some])
    top = int(log_scores.argmax())
    return _Samples(graphs[thin - 1 :: thin], log_scores[thin - 1 :: thin], graphs[top], float(log_scores[top]))


def _joined(parts: list[_Samples]) -> _Samples:
    """Return the samples of all chains."""
    top = max(parts, key=lambda p: p.best_score)
    return _Samples(
        np.stack([p.graphs for p in parts]), np.stack([p.log_scores for p in parts]), top.best, top.best_score
    )


def _summary(problem: Problem, running: list[_Chain], samples: _Samples, note: str) -> StructureSamples:
    """Return what the samples tell."""
    n = problem.n
    arcs, errors = np.zeros((n, n)), np.zeros((n, n))
    for c in range(n):
        for x in range(n):
            there = (samples.graphs[:, :, x] >> c & 1).astype(float)
            arcs[c, x] = p = there.mean()
            errors[c, x] = np.sqrt(p * (1 - p) / effective_size(there))
    proposed, accepted = (sum(getattr(chain, a) for chain in running) for a in ("proposed", "accepted"))
    rates = {kind: float(a / max(p, 1)) for kind, a, p in zip(_KINDS, accepted, proposed, strict=True)}
    best = tuple(members_of(int(mask)) for mask in samples.best)
    r_hat, ess = split_r_hat(samples.log_scores), effective_size(samples.log_scores)
    return StructureSamples(
        problem.families.names,
        samples.graphs,
        samples.log_scores,
        arcs,
        errors,
        r_hat,
        ess,
        rates,
        best,
        samples.best_score,
        note,
    )


def _check_whole(what: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise DataError(f"{what} must be a whole number from {low}; got {value!r}.")
