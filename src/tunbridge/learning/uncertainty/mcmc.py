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
needed.

References
----------
J. Kuipers, G. Moffa (2017). Partition MCMC for inference on acyclic digraphs. Journal of the American Statistical
Association 112, 282–299.
N. Friedman, D. Koller (2003). Being Bayesian about network structure. Machine Learning 50, 95–125.
D. Madigan, J. York (1995). Bayesian graphical models for discrete data. International Statistical Review 63, 215–232
(single arcs).
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian Data Analysis, third
edition, section 11.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import map_threads
from tunbridge.errors import DataError, PrecisionWarning
from tunbridge.inference.sampling.forward import checked_size
from tunbridge.learning.constraints import CompiledConstraints, Constraints
from tunbridge.learning.scores.discrete import Score, as_score
from tunbridge.learning.searches.parent_sets import ParentSets, ParentSource, members_of, parent_source
from tunbridge.learning.searches.problem import Graph, Problem, Progress, watched
from tunbridge.learning.structure import checked_table, compiled_constraints, families_of, problem_of
from tunbridge.learning.uncertainty.bootstrap import drawn
from tunbridge.learning.uncertainty.strengths import ArcStrengths, average

_WAYS_OUT = "Learn from fewer variables, set max_parents, forbid arcs, or use the bootstrap."
_MOST_VARIABLES = 53
_MOST_COLUMNS = 25
"""Of a table: with more, the parent sets of all nodes are too many to be scored."""
_CONVERGED = 1.05
"""Chains with a larger R̂ have not converged."""
_LEAST_SAMPLES = 4
_ROUNDS = 50
"""Parts of a run: between them progress is reported, and it can be interrupted."""
_MOST_SWEEPS = 200
"""Sweeps for which random numbers are drawn together."""
_VANISHING = -700.0
"""Smaller weights than e^−700 would be denormal numbers, which are slow."""
_KINDS = 4
"""Kinds of steps, which the kernel counts: a node moves, two swap, layers are split or merged, an arc changes."""


def posterior_structure(
    frame: object,
    n_samples: int = 1000,
    *,
    score: str | Score = "bdeu",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 4,
    cpdag: bool = True,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ArcStrengths:
    """Return the posterior probability of each arc, from sampled graphs; for up to 25 variables.

    Parameters
    ----------
    frame, constraints, max_parents, progress
        As for :func:`learn_structure`. All parent sets of every node are scored: above 12
        variables set ``max_parents``.
    n_samples : int
        The number of graphs of each chain, at least 4.
    score : str or Score
        The log marginal likelihood: ``"bdeu"``, ``"bds"``, ``"k2"``, or ``"bic"``, which approximates one.
    burn_in : int
        The number of sweeps of a chain before the first graph is kept.
    thin : int
        The number of sweeps from one graph to the next.
    chains : int
        The number of independent chains.
    cpdag : bool
        Whether an arc that equivalent graphs have in the other direction counts half each way. Otherwise the shares are
        the posterior probabilities of the arcs, with a uniform prior over graphs.
    random_state : int, Generator, optional
        The random seed. The result does not depend on the number of threads.
    n_jobs : int, optional
        The number of threads; default: all cores.

    Returns
    -------
    ArcStrengths
        Strengths, directions, the consensus graph and the threshold of significance.

    Warns
    -----
    PrecisionWarning
        If the chains did not converge: R̂ of their scores is above 1.05.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(1000, random_state=0)
    >>> found = tb.posterior_structure(table, 100, max_parents=3, random_state=0)
    >>> found.strength("smoke", "bronc") > 0.99
    True
    """
    table = checked_table(frame)
    if table.n_columns > _MOST_COLUMNS:
        hint = "Use tb.bootstrap_structure, or select fewer columns."
        rule = f"a table to sample structures for must have at most {_MOST_COLUMNS} columns"
        raise DataError(f"{rule}; got {table.n_columns}. {hint}")
    known = compiled_constraints(constraints, table, max_parents)
    rng = np.random.default_rng(entropy_of(random_state))
    with watched(progress) as report:
        families = families_of(table, as_score(score), arc_bonus=known.arc_bonus, n_jobs=n_jobs)
        problem = problem_of(families, known, rng, report)
        found = sample_structures(problem, n_samples, burn_in=burn_in, thin=thin, chains=chains, n_jobs=n_jobs)
    return _posterior(found, known, cpdag)


def _posterior(found: StructureSamples, known: CompiledConstraints, cpdag: bool) -> ArcStrengths:
    """Return the strengths of sampled graphs, of which equal ones are counted together."""
    n = len(found.names)
    masks, times = np.unique(found.graphs.reshape(-1, n), axis=0, return_counts=True)
    graphs = (tuple(members_of(mask) for mask in row) for row in masks.tolist())
    shares = average(n, (drawn(graph, known, cpdag=cpdag) for graph in graphs), times.tolist())
    apart = f"R̂ is {found.r_hat:.3g}: the chains did not converge" if found.r_hat > _CONVERGED else ""
    if apart:
        warn_user(f"{apart}. Use more samples (n_samples) or a longer burn_in.", PrecisionWarning)
    return ArcStrengths(found.names, shares, int(times.sum()), "; ".join(filter(None, [found.note, apart])))


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
    r_hat : float
        R̂ of the scores over split chains: near 1 when the chains agree.
    note : str
        How the sampling ended, if it was interrupted.
    """

    names: tuple[str, ...]
    graphs: np.ndarray = field(repr=False)
    log_scores: np.ndarray = field(repr=False)
    r_hat: float
    note: str = ""


def sample_structures(
    problem: Problem,
    n_samples: int = 1000,
    *,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 4,
    n_jobs: int | None = None,
) -> StructureSamples:
    """Return graphs drawn from their posterior, and whether the chains agree.

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
    >>> samples.graphs.shape, samples.r_hat < 1.05
    ((4, 500, 5), True)
    """
    n_samples = checked_size(n_samples, "n_samples", low=_LEAST_SAMPLES)
    burn_in = checked_size(burn_in, "burn_in")
    thin, chains = checked_size(thin, "thin", low=1), checked_size(chains, "chains", low=1)
    n_sweeps = max(burn_in, n_samples * thin) / _ROUNDS  # at a time
    size = 8.0 * chains * (2 * n_samples + n_sweeps) * (problem.n + 1)
    check_memory("the sampled graphs", size, ways_out="Sample fewer, with a smaller burn_in and thin.")
    if problem.n > _MOST_VARIABLES:
        raise DataError(f"the variables must be at most {_MOST_VARIABLES} to sample; got {problem.n}. {_WAYS_OUT}")
    source = parent_source(problem, only_useful=False, ways_out=_WAYS_OUT)
    families = _Families.of([_possible(source, x) for x in range(problem.n)])
    running = _started(problem, families, chains)
    kept: list[_Swept] = []
    best, n_kept = -np.inf, 0
    try:
        for n in _shares(burn_in):
            best = max(best, _advanced(families, running, n, n + 1, n_jobs).best)
            problem.tell("burn-in", best)
        for n in _shares(n_samples):
            kept.append(_advanced(families, running, n * thin, thin, n_jobs))
            best, n_kept = max(best, kept[-1].best), n_kept + n
            problem.tell(f"{n_kept} of {n_samples} samples", best)
    except KeyboardInterrupt:
        if n_kept < _LEAST_SAMPLES:
            raise
    graphs, scores = (np.concatenate(parts, axis=1) for parts in list(zip(*kept, strict=True))[:2])
    note = f"interrupted after {n_kept} samples of {n_samples}" if n_kept < n_samples else ""
    return StructureSamples(problem.families.names, graphs, scores, _split_r_hat(scores), note)


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


class _Chain(NamedTuple):
    """The layer of every node, written by the kernel, and the random generator."""

    rng: np.random.Generator
    layer: np.ndarray


class _Swept(NamedTuple):
    """Graphs (chains, samples, n) with their scores, and the best score on the way."""

    graphs: np.ndarray
    log_scores: np.ndarray
    best: float


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


def _shares(n: int) -> list[int]:
    """Return n split into nearly equal parts."""
    rounds = min(n, _ROUNDS)
    return [n * (i + 1) // rounds - n * i // rounds for i in range(rounds)]


def _advanced(families: _Families, running: Sequence[_Chain], n_sweeps: int, thin: int, n_jobs: int | None) -> _Swept:
    """Return every thin-th graph of some more sweeps of all chains."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.learning.partitions import ARC_DRAWS, STEP_DRAWS, run_sweeps

    announce(run_sweeps, "the sampling of structures", 5)
    n = len(families.first) - 1
    n_steps, n_draws = 2 * n, 2 * n * STEP_DRAWS + n + n * ARC_DRAWS

    def advance(chain: _Chain) -> tuple[np.ndarray, np.ndarray, float]:
        graphs, log_scores = np.empty((n_sweeps, n), np.int64), np.empty(n_sweeps)
        counters, room = (np.zeros(_KINDS, np.int64), np.zeros(_KINDS, np.int64)), np.empty(n, np.int64)
        for start in range(0, n_sweeps, _MOST_SWEEPS):
            some = slice(start, min(start + _MOST_SWEEPS, n_sweeps))
            draws = chain.rng.random((some.stop - start, n_draws))
            run_sweeps(tuple(families), draws, n_steps, chain.layer, room, *counters, graphs[some], log_scores[some])
        return graphs[thin - 1 :: thin], log_scores[thin - 1 :: thin], float(log_scores.max())

    graphs, log_scores, best = zip(*map_threads(advance, running, n_jobs), strict=True)
    return _Swept(np.stack(graphs), np.stack(log_scores), max(best))


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
