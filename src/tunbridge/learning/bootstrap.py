"""How sure the arcs are: structures learned again and again from resampled rows, or drawn from their posterior.

How would the learned graph have changed had the data been others from the same source? The rows at hand are the best
picture of the source, so rows are drawn from them, with replacement and as many as there are, and a graph is learned
from each such replicate by the same search and score. An arc that is in nearly all of these graphs does not depend on
a few rows; one that comes and goes is not to be relied on (Friedman, Goldszmidt and Wyner 1999). The votes are counted
by :class:`tunbridge.learning.strengths.ArcStrengths`.

Graphs of one equivalence class fit the data alike, so what is counted is the class: its undirected edges vote for both
directions. Where constraints leave fewer graphs, an edge that can go one way only is an arc, and so is every edge whose
other direction would then close a cycle or make a v-structure that the class has not; four rules find them all (Meek
1995).

Replicates are independent of each other: they run on all cores, one to a thread, each with a random stream of its own
that NumPy's ``SeedSequence`` derives from the seed and the replicate's number. So equal seeds give equal votes whatever
the number of threads, and the first of many replicates are those that one gets by asking for fewer.

For few variables there is another answer, which needs no search: how probable is an arc, given the rows at hand and
their score as a marginal likelihood? Graphs drawn from their posterior (:mod:`tunbridge.learning.mcmc`) vote likewise.
The bootstrap says how the learner would waver, the posterior what the data leave open; with many rows they agree.

References
----------
N. Friedman, M. Goldszmidt, A. Wyner (1999). Data analysis with Bayesian networks: a bootstrap approach. Uncertainty in
Artificial Intelligence 15, 196–205.
C. Meek (1995). Causal inference and causal explanation with background knowledge. Uncertainty in Artificial
Intelligence 11, 403–410, rules R1 to R4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import combinations
from threading import Event, Lock
from typing import Any, Literal

import numpy as np

from tunbridge._check import check_whole, counted, warn_user
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, n_threads
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError, PrecisionWarning
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.constraints import CompiledConstraints, Constraints
from tunbridge.learning.equivalence import EquivalenceClass, positions
from tunbridge.learning.mcmc import StructureSamples, sample_structures
from tunbridge.learning.problem import Graph, Problem, Search
from tunbridge.learning.progress import Report, watched
from tunbridge.learning.scores import Score, as_score
from tunbridge.learning.strengths import ArcStrengths, Around, Drawn, average, check_size
from tunbridge.learning.structure import as_search, check_missing, checked_constraints, checked_table, families_of

_PAUSE = 0.1
_MOST_SAMPLED = 25
_SETTLED = 1.05
"""Chains of which R̂ is larger have not settled."""
_REPEATED = 2
"""So many times the rows of a weighted table a replicate has at most; a longer one gets weights instead."""

Replicate = Callable[[np.random.SeedSequence, Report], tuple[Drawn, float]]
"""What gives a graph and its score for a seed; the report is called now and then and may interrupt it."""


def bootstrap_structure(
    frame: Any,
    n: int = 200,
    *,
    score: str | Score = "bic",
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    size: int | None = None,
    cpdag: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> ArcStrengths:
    """Return how often each arc is learned when the rows are drawn anew.

    Parameters
    ----------
    frame : Table or any frame
        As for :func:`learn_structure`. Rows of a weighted table are drawn with probabilities by weight.
    n : int
        The number of replicates.
    score, search, constraints, max_parents
        As for :func:`learn_structure`.
    size : int, optional
        The rows of a replicate; as many as the table has (its weight, if it is weighted) unless given.
    cpdag : bool
        Whether an arc that equivalent graphs have the other way round counts half each way. Without it the direction
        that the search happened to choose counts.
    random_state : int, Generator, optional
        The seed. Equal seeds give equal results, whatever the number of threads.
    n_jobs : int, optional
        Threads, each of which learns from a replicate of its own; all cores unless given.
    progress : callable or False, optional
        Called after each replicate with how many are done and the score of its graph. Unless given, a terminal line
        shows it; ``False`` keeps silent.

    Returns
    -------
    ArcStrengths
        Strengths, directions, the consensus graph and the threshold of significance. After Ctrl-C they are those of the
        replicates that were done, which the note says.

    Notes
    -----
    The cost is that of n searches, divided by the threads. A share p of n replicates has a standard error of
    √(p(1 − p)/n): 0.035 at most for 200.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(1000, random_state=0)
    >>> found = tb.bootstrap_structure(table, 20, random_state=0)
    >>> found.strength("lung", "either"), found.strength("asia", "xray") < 0.5
    (1.0, True)
    >>> found.consensus().n_arcs
    7
    """
    table = checked_table(as_table(frame))
    check_whole("n", n, low=1)
    check_whole("size", size, low=1, optional=True)
    names = tuple(sorted(table.names))
    known = checked_constraints(constraints).compile(names, max_parents=max_parents)
    criterion, way = as_score(score), as_search(search)
    if way.is_scored:
        check_missing(table, criterion)
    source = _Source(table, criterion, way, known, _size(table, size), cpdag)
    _check_memory(source, min(n, n_threads(n_jobs)))
    check_memory(f"the graphs of {counted(n, 'replicate')}", 1000.0 * n, ways_out="A few hundred are enough.")
    seeds = np.random.SeedSequence(entropy_of(random_state)).spawn(n)
    with watched(progress) as report:
        graphs = _gathered(source.replicate, seeds, n_jobs, report)
    note = "" if len(graphs) == n else f"interrupted: {len(graphs)} of {counted(n, 'replicate')}"
    return ArcStrengths(names, average(len(names), graphs), len(graphs), note)


def posterior_structure(
    frame: Any,
    n_samples: int = 1000,
    *,
    score: str | Score = "bdeu",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 4,
    cpdag: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> ArcStrengths:
    """Return how probable each arc is, from graphs drawn from their posterior; for up to 25 variables.

    Parameters
    ----------
    frame, constraints, max_parents, progress
        As for :func:`learn_structure`. All parent sets of every node are scored: above 12
        variables set ``max_parents``.
    n_samples : int
        The graphs kept of each chain, at least 4.
    score : str or Score
        The log marginal likelihood: ``"bdeu"``, ``"bds"``, ``"k2"``, or ``"bic"``, which approximates one.
    burn_in : int
        Sweeps of a chain before the first graph is kept.
    thin : int
        Sweeps from one graph to the next.
    chains : int
        Independent chains.
    cpdag : bool
        Whether an arc that equivalent graphs have the other way round counts half each way. Without it the shares are
        the posterior probabilities of the arcs, all graphs being equally likely beforehand.
    random_state : int, Generator, optional
        The seed. Equal seeds give equal results, whatever the number of threads.
    n_jobs : int, optional
        Threads; all cores unless given.

    Returns
    -------
    ArcStrengths
        Strengths, directions, the consensus graph and the threshold of significance.

    Warns
    -----
    PrecisionWarning
        When the chains do not agree: R̂ of their scores is above 1.05.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(1000, random_state=0)
    >>> found = tb.posterior_structure(table, 100, max_parents=3, random_state=0)
    >>> found.strength("smoke", "bronc") > 0.99
    True
    """
    table = checked_table(as_table(frame))
    if table.n_columns > _MOST_SAMPLED:
        hint = "Use tb.bootstrap_structure, or select the columns that matter."
        rule = f"a table to sample structures for must have at most {_MOST_SAMPLED} columns"
        raise DataError(f"{rule}; got {table.n_columns}. {hint}")
    known = checked_constraints(constraints).compile(tuple(sorted(table.names)), max_parents=max_parents)
    rng = np.random.default_rng(entropy_of(random_state))
    with watched(progress) as report:
        problem = _problem(table, as_score(score), known, rng, report, n_jobs=n_jobs)
        found = sample_structures(problem, n_samples, burn_in=burn_in, thin=thin, chains=chains, n_jobs=n_jobs)
    return _posterior(found, known, cpdag)


def _problem(
    table: Table,
    score: Score,
    known: CompiledConstraints,
    rng: np.random.Generator,
    report: Report | None,
    *,
    n_jobs: int | None,
) -> Problem:
    families = families_of(table, score, arc_bonus=known.arc_bonus, n_jobs=n_jobs)
    limits = known.allowed, known.required, known.max_parents
    return Problem(families, *limits, known.smallest_graph, rng, report)


def _posterior(found: StructureSamples, known: CompiledConstraints, cpdag: bool) -> ArcStrengths:
    """Return the votes of sampled graphs, of which equal ones are looked at once."""
    n = len(found.names)
    masks, times = np.unique(found.graphs.reshape(-1, n), axis=0, return_counts=True)
    graphs = (tuple(tuple(positions(mask)) for mask in row) for row in masks.tolist())
    shares = average(n, (drawn(graph, known, cpdag=cpdag) for graph in graphs), times.tolist())
    unsettled = f"R̂ is {found.r_hat:.3g}: the chains do not agree" if found.r_hat > _SETTLED else ""
    if unsettled:
        warn_user(f"{unsettled}. Use more samples (n_samples) or a longer burn_in.", PrecisionWarning)
    return ArcStrengths(found.names, shares, int(times.sum()), "; ".join(filter(None, [found.note, unsettled])))


@dataclass(frozen=True, eq=False)
class _Source:
    """A table, what is learned from its replicates, and how."""

    table: Table
    score: Score
    search: Search
    known: CompiledConstraints
    size: int
    cpdag: bool

    def replicate(self, seed: np.random.SeedSequence, report: Report) -> tuple[Drawn, float]:
        """Return the graph learned from rows drawn anew, and its score."""
        rng = np.random.default_rng(seed)
        rows = resampled(self.table, self.size, rng)
        problem = _problem(rows, self.score, self.known, rng, report, n_jobs=1)
        found = self.search.run(problem).graph
        return drawn(found, self.known, cpdag=self.cpdag), problem.graph_score(found)


def resampled(table: Table, size: int, rng: np.random.Generator) -> Table:
    """Return so many rows drawn with replacement, each row by its weight if there are weights.

    Examples
    --------
    >>> import tunbridge as tb
    >>> resampled(tb.as_table({"x": ["a", "b", "c"]}), 5, np.random.default_rng(0)).codes("x").tolist()
    [0, 0, 1, 1, 2]
    """
    n = table.n_rows
    if table.weights is None:
        return table.take(np.sort(rng.integers(n, size=size)))  # in order they are read faster
    counts = rng.multinomial(size, table.weights / table.weights.sum())
    if size <= _REPEATED * n:
        return table.with_weights(None).take(np.repeat(np.arange(n), counts))
    seen = np.flatnonzero(counts)
    return table.take(seen).with_weights(counts[seen].astype(float))


def _size(table: Table, size: int | None) -> int:
    """Return the rows of a replicate."""
    total = float(table.n_rows if table.weights is None else table.weights.sum())
    if total == 0:
        raise DataError("the weights of a table must not all be 0: no row could be drawn.")
    return max(1, round(total)) if size is None else size


def _check_memory(source: _Source, threads: int) -> None:
    """Raise when the votes, or the replicates that are learned from at the same time, would not fit into the memory."""
    table = source.table
    check_size(table.n_columns)
    n_rows = source.size if table.weights is None else min(source.size, _REPEATED * table.n_rows)
    columns = zip(table.columns, table.variables, strict=True)
    row = sum(2 * values.itemsize + variable.n_states / 8 for values, variable in columns)  # with bit planes
    what = f"{counted(threads, 'replicate')} of {counted(n_rows, 'row')} at a time"
    check_memory(what, threads * n_rows * row, ways_out="Use fewer threads (n_jobs) or fewer rows (size).")


def _gathered(
    one: Replicate, seeds: Sequence[np.random.SeedSequence], n_jobs: int | None, report: Report | None
) -> list[Drawn]:
    """Return the graphs of all replicates, or after Ctrl-C of those done.

    The caller's thread only waits, so that Ctrl-C meets it and not a search, which would take it for its own.
    """
    votes = _Votes(one, seeds, report)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(map_threads, votes.add, range(len(seeds)), n_jobs)
        try:
            while not wait([running], _PAUSE).done:
                pass
        except KeyboardInterrupt:
            votes.stop.set()
        running.result()
    if not votes.done:
        raise KeyboardInterrupt
    return [votes.done[i] for i in sorted(votes.done)]


class _Votes:
    """The graphs of the replicates that are done."""

    def __init__(self, one: Replicate, seeds: Sequence[np.random.SeedSequence], report: Report | None) -> None:
        self.done: dict[int, Drawn] = {}
        self.stop = Event()
        self._one, self._seeds, self._report = one, seeds, report
        self._lock = Lock()

    def add(self, i: int) -> None:
        """Add the graph of a replicate, unless it is time to stop."""
        if self.stop.is_set():
            return
        try:
            graph, score = self._one(self._seeds[i], self._heed)
            with self._lock:
                if not self.stop.is_set():  # else the search may have been cut short
                    self.done[i] = graph
                    self._tell(score)
        except KeyboardInterrupt:
            self.stop.set()

    def _heed(self, what: str, score: float) -> None:
        """Interrupt a search when it is time to stop."""
        if self.stop.is_set():
            raise KeyboardInterrupt

    def _tell(self, score: float) -> None:
        if self._report is not None:
            self._report(f"{len(self.done)} of {counted(len(self._seeds), 'replicate')}", score)


# Equivalence classes under constraints


def drawn(graph: Graph, known: CompiledConstraints, *, cpdag: bool = True) -> Drawn:
    """Return a graph, or the class of the graphs that are equivalent to it and obey, as arcs and edges.

    Limits on the number of parents apart: by these an edge is never taken for an arc.

    Examples
    --------
    >>> chain = (), (0,), (1,)
    >>> drawn(chain, Constraints().compile(("A", "B", "C")))
    Drawn(arcs=[], edges=[(0, 1), (1, 2)])
    >>> drawn(chain, Constraints(required=["A->B"]).compile(("A", "B", "C")))
    Drawn(arcs=[(0, 1), (1, 2)], edges=[])
    """
    whole = [(p, x) for x, parents in enumerate(graph) for p in parents]
    if not cpdag:
        return Drawn(whole, [])
    compelled = [set(positions(mask)) for mask in EquivalenceClass.of(graph).parents]
    arcs = [(p, x) for p, x in whole if p in compelled[x]]
    edges = [(p, x) for p, x in whole if p not in compelled[x]]
    forced = {(p, x) for p, x in edges if _is_fixed(p, x, known)}
    if not forced:
        return Drawn(arcs, edges)
    around = Around(len(graph), arcs, edges)
    while forced:  # each in the direction that it has in the graph, which obeys
        for p, x in forced:
            around.direct(p, x)
        arcs, edges = [*arcs, *sorted(forced)], [pair for pair in edges if pair not in forced]
        forced = {(p, x) for p, x in edges if _is_forced(p, x, around)}
    return Drawn(arcs, edges)


def _is_fixed(start: int, end: int, known: CompiledConstraints) -> bool:
    """Return whether the constraints do not let an arc be turned round."""
    return start in known.required[end] or (known.allowed is not None and not known.allowed[end, start])


def _is_forced(a: int, b: int, around: Around) -> bool:
    """Return whether the arcs say that an edge can only be a → b (Meek's rules R1 to R4)."""
    beyond = around.joined(b)
    sides = around.edges[a] & around.parents[b]
    return (
        not around.parents[a] <= beyond
        or not around.children[a].isdisjoint(around.parents[b])
        or any(d not in around.joined(c) for c, d in combinations(sides, 2))
        or any(
            not (around.children[d] & around.parents[b]).isdisjoint(around.joined(a))
            for d in around.edges[a] - beyond - {b}
        )
    )
