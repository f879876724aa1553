"""The bootstrap: the confidence of arcs, from structures learned from resampled rows.

How would the learned graph change with other data from the same source? The bootstrap draws rows from the table, with
replacement and as many as it has, and learns a graph from each such replicate by the same search and score. An arc that
is in nearly all of these graphs does not depend on a few rows; an arc that comes and goes is uncertain (Friedman,
Goldszmidt and Wyner 1999). :class:`tunbridge.learning.uncertainty.strengths.ArcStrengths` counts the graphs.

Graphs of one equivalence class fit the data equally well, so the class is counted: its undirected edges count half in
each direction. With constraints an edge that can have one direction only is an arc, and so is every edge whose other
direction would then close a cycle or make a v-structure that the class does not have; four rules find them all (Meek
1995).

Replicates are independent: they run on all cores, one per thread, each with its own random stream that NumPy's
``SeedSequence`` derives from the seed and the replicate's number. So equal seeds give equal results whatever the number
of threads, and the first replicates of a longer run are those of a shorter one.

For few variables the posterior probability of an arc can be sampled without a search
(:mod:`tunbridge.learning.uncertainty.mcmc`). The bootstrap shows how much the learner varies, the posterior how much
the data leave open; with many rows they agree.

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

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.inference.sampling.forward import checked_size
from tunbridge.learning.constraints import CompiledConstraints, Constraints
from tunbridge.learning.scores.discrete import Score, as_score
from tunbridge.learning.searches.equivalence import EquivalenceClass, positions
from tunbridge.learning.searches.problem import Graph, Progress, Report, Search, watched
from tunbridge.learning.structure import (
    as_search,
    check_missing,
    checked_table,
    compiled_constraints,
    families_of,
    problem_of,
)
from tunbridge.learning.uncertainty.strengths import ArcStrengths, Around, Drawn, average, check_size

_PAUSE = 0.1
_REPEATED = 2
"""A replicate has at most this many times the rows of a weighted table; a longer one gets weights instead."""

_Replicate = Callable[[np.random.SeedSequence, Report], tuple[Drawn, float]]
"""Returns a graph and its score for a seed; calling the report may interrupt it."""


def bootstrap_structure(
    frame: object,
    n: int = 200,
    *,
    score: str | Score = "bic",
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    max_parents: int | None = None,
    size: int | None = None,
    cpdag: bool = True,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ArcStrengths:
    """Return how often each arc is learned from bootstrap replicates of the rows.

    Parameters
    ----------
    frame : Table or any frame
        As for :func:`learn_structure`. Rows of a weighted table are drawn in proportion to their weights.
    n : int
        The number of replicates.
    score, search, constraints, max_parents
        As for :func:`learn_structure`.
    size : int, optional
        The number of rows of a replicate; default: that of the table (the sum of its weights, if it has weights).
    cpdag : bool
        Whether an arc that equivalent graphs have in the other direction counts half each way. Otherwise the direction
        chosen by the search counts.
    random_state : int, Generator, optional
        The random seed. The result does not depend on the number of threads.
    n_jobs : int, optional
        The number of threads, each of which learns from its own replicate; default: all cores.
    progress : callable or False, optional
        A function that is called after each replicate with a short text and the score of its graph. Default: a line in
        a terminal or notebook; ``False`` shows nothing.

    Returns
    -------
    ArcStrengths
        Strengths, directions, the consensus graph and the threshold of significance. After Ctrl-C those of the finished
        replicates, with a note.

    Notes
    -----
    Takes n searches, divided among the threads. A share p of n replicates has a standard error of √(p(1 − p)/n): at
    most 0.035 for 200.

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
    table = checked_table(frame)
    n = checked_size(n, low=1)
    size = None if size is None else checked_size(size, "size", low=1)
    known = compiled_constraints(constraints, table, max_parents)
    criterion, method = as_score(score), as_search(search)
    if method.is_scored:
        check_missing(table, criterion)
    source = _Source(table, criterion, method, known, _size(table, size), cpdag)
    _check_memory(source, min(n, n_threads(n_jobs)))
    check_memory(f"the graphs of {counted(n, 'replicate')}", 1000.0 * n, ways_out="A few hundred are enough.")
    seeds = np.random.SeedSequence(entropy_of(random_state)).spawn(n)
    with watched(progress) as report:
        graphs = _gathered(source.replicate, seeds, n_jobs, report)
    note = "" if len(graphs) == n else f"interrupted: {len(graphs)} of {counted(n, 'replicate')}"
    return ArcStrengths(known.names, average(len(known.names), graphs), len(graphs), note)


@dataclass(frozen=True, eq=False)
class _Source:
    """A table, and how graphs are learned from its replicates."""

    table: Table
    score: Score
    search: Search
    known: CompiledConstraints
    size: int
    cpdag: bool

    def replicate(self, seed: np.random.SeedSequence, report: Report) -> tuple[Drawn, float]:
        """Return the graph learned from a replicate of the rows, and its score."""
        rng = np.random.default_rng(seed)
        rows = resampled(self.table, self.size, rng)
        families = families_of(rows, self.score, arc_bonus=self.known.arc_bonus, n_jobs=1)
        problem = problem_of(families, self.known, rng, report)
        found = self.search.run(problem).graph
        return drawn(found, self.known, cpdag=self.cpdag), problem.graph_score(found)


def resampled(table: Table, size: int, rng: np.random.Generator) -> Table:
    """Return ``size`` rows drawn with replacement, in proportion to their weights.

    Examples
    --------
    >>> import tunbridge as tb
    >>> resampled(tb.as_table({"x": ["a", "b", "c"]}), 5, np.random.default_rng(0)).codes("x").tolist()
    [0, 0, 1, 1, 2]
    """
    n = table.n_rows
    if table.weights is None:
        return table.take(np.sort(rng.integers(n, size=size)))  # sorted rows are read faster
    counts = rng.multinomial(size, table.weights / table.weights.sum())
    if size <= _REPEATED * n:
        return table.with_weights(None).take(np.repeat(np.arange(n), counts))
    seen = np.flatnonzero(counts)
    return table.take(seen).with_weights(counts[seen].astype(float))


def _size(table: Table, size: int | None) -> int:
    """Return the rows of a replicate."""
    total = float(table.n_rows if table.weights is None else table.weights.sum())
    if total == 0:
        raise DataError("the weights of a table must have a sum above 0; all are 0.")
    return max(1, round(total)) if size is None else size


def _check_memory(source: _Source, threads: int) -> None:
    """Raise when the strengths, or the replicates of all threads, would not fit into memory."""
    table = source.table
    check_size(table.n_columns)
    n_rows = source.size if table.weights is None else min(source.size, _REPEATED * table.n_rows)
    columns = zip(table.columns, table.variables, strict=True)
    row = sum(2 * values.itemsize + variable.n_states / 8 for values, variable in columns)  # with bit planes
    what = f"{counted(threads, 'replicate')} of {counted(n_rows, 'row')} at a time"
    check_memory(what, threads * n_rows * row, ways_out="Use fewer threads (n_jobs) or fewer rows (size).")


def _gathered(
    one: _Replicate, seeds: Sequence[np.random.SeedSequence], n_jobs: int | None, report: Report | None
) -> list[Drawn]:
    """Return the graphs of all replicates; after Ctrl-C those of the finished ones.

    The caller's thread only waits, so that Ctrl-C does not interrupt a single search instead.
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
    """The graphs of the finished replicates."""

    def __init__(self, one: _Replicate, seeds: Sequence[np.random.SeedSequence], report: Report | None) -> None:
        self.done: dict[int, Drawn] = {}
        self.stop = Event()
        self._one, self._seeds, self._report = one, seeds, report
        self._lock = Lock()

    def add(self, i: int) -> None:
        """Add the graph of a replicate, unless Ctrl-C was pressed."""
        if self.stop.is_set():
            return
        try:
            graph, score = self._one(self._seeds[i], self._check_stop)
            with self._lock:
                if not self.stop.is_set():  # otherwise the search may have been interrupted
                    self.done[i] = graph
                    if self._report is not None:
                        self._report(f"{len(self.done)} of {counted(len(self._seeds), 'replicate')}", score)
        except KeyboardInterrupt:
            self.stop.set()

    def _check_stop(self, what: str, score: float) -> None:
        """Interrupt a search after Ctrl-C."""
        if self.stop.is_set():
            raise KeyboardInterrupt


# Equivalence classes under constraints


def drawn(graph: Graph, known: CompiledConstraints, *, cpdag: bool = True) -> Drawn:
    """Return a graph, or the class of its equivalent graphs that satisfy the constraints, as arcs and edges.

    Limits on the number of parents are ignored.

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
    while forced:  # each in the direction that it has in the graph
        for p, x in forced:
            around.direct(p, x)
        arcs, edges = [*arcs, *sorted(forced)], [pair for pair in edges if pair not in forced]
        forced = {(p, x) for p, x in edges if _is_forced(p, x, around)}
    return Drawn(arcs, edges)


def _is_fixed(start: int, end: int, known: CompiledConstraints) -> bool:
    """Return whether the constraints forbid the reverse of an arc."""
    return start in known.required[end] or (known.allowed is not None and not known.allowed[end, start])


def _is_forced(a: int, b: int, around: Around) -> bool:
    """Return whether an edge can only be the arc a → b (Meek's rules R1 to R4)."""
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
