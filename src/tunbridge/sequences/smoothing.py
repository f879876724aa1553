"""Back-off: the estimate in a rare context is drawn towards that in the context with one item less.

With m imagined symbols at each level,

    P_j(s | context) = (n(context, s) + m_j P_{j−1}(s | shorter context)) / (n(context) + m_j),

down to the bag of letters P_0(s) = (n(s) + m_0 / r) / (n + m_0), which is drawn towards the uniform distribution over
the r outcomes. It is the mean of a Dirichlet distribution around the estimate of the level below (MacKay & Peto 1995),
and the same as backing off: an outcome that never occurs in a context gets what the context leaves, m / (n + m), times
its probability in the shorter one; in a context that never occurs, exactly that probability.

**How strong.** The automatic strength of a level is the one under which each symbol is predicted best by all others: it
maximises the leave-one-out (deleted) likelihood

    Σ n(context, s) log [(n(context, s) − 1 + m P⁻_{j−1}(s)) / (n(context) − 1 + m)] − (log₁₀ m)² / 2,

where P⁻ is the level below without that symbol too. The last term is a weak prior that m is within a few factors of ten
of one symbol; it decides if there is hardly anything to learn m from. On letters of words, DNA and proteins this
predicted held-out sequences better than m = the number of different outcomes in a context (Witten & Bell 1991), and as
well as discounting in addition (Teh 2006), which costs one more number per level.

**Lookup.** If few contexts are possible, a table has P(s | context, c) of all of them: one lookup per symbol. Otherwise
only the contexts that occur are kept, as a tree: a symbol that never occurs in a context is looked up in the shorter
one, multiplied by what the context leaves to it, as in the back-off models of speech recognition.

References
----------
D. J. C. MacKay, L. C. Peto (1995). A hierarchical Dirichlet language model. Natural Language Engineering 1, 289–308.

I. H. Witten, T. C. Bell (1991). The zero-frequency problem: estimating the probabilities of novel events in adaptive
text compression. IEEE Transactions on Information Theory 37, 1085–1094.

H. Ney, U. Essen, R. Kneser (1995). On the estimation of small probabilities by leaving-one-out. IEEE Transactions on
Pattern Analysis and Machine Intelligence 17, 1202–1212.

Y. W. Teh (2006). A hierarchical Bayesian language model based on Pitman–Yor processes. ACL, 985–992.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads
from tunbridge.kernels.text.sequences import Coded, Tree, add_sparse_scores, add_symbols
from tunbridge.sequences.contexts import Counted, Layout, cut_spans, shares_of
from tunbridge.sequences.symbols import ready

_WEAKEST = 1e-3
_SPREAD = float(np.log(10.0))
_STEPS, _SECTIONS = 9, 8
_GOLDEN = 0.6180339887498949
_FEW_CELLS = 1 << 16
_MOST_CELLS = 1 << 26
_CELLS_PER_COUNT = 16


class Level(NamedTuple):
    """The counts of outcomes in contexts of one length.

    A symbol is counted in all shorter contexts too; one whose context has fewer items is not part of the level.

    Attributes
    ----------
    contexts : ndarray of int64
        The contexts that occur, sorted.
    totals : ndarray
        n(context).
    cells : ndarray of int64
        The keys of contexts with the outcomes that occur in them, sorted.
    counts : ndarray
        n(context, s) of each cell.
    context : ndarray of int
        The position of the context of each cell.
    below : ndarray of int
        The position of the same outcome in the context with one item less, among the cells of the level below.
    stopped : ndarray
        The part of each cell's count that has no longer context.
    """

    contexts: np.ndarray
    totals: np.ndarray
    cells: np.ndarray
    counts: np.ndarray
    context: np.ndarray
    below: np.ndarray
    stopped: np.ndarray


def levels_of(counted: Counted, layout: Layout) -> list[Level]:
    """Return the counts level by level, from the bag of letters to the longest contexts.

    Examples
    --------
    >>> counted = Counted(np.array([0, 5, 6]), np.array([2.0, 1.0, 1.0]))  # a after nothing, b after a, a after b
    >>> bag, pairs = levels_of(counted, Layout(2, 1, ends=False))
    >>> bag.counts.tolist(), pairs.counts.tolist(), pairs.totals.tolist()
    ([3.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    """
    contexts, outcomes = np.divmod(counted.keys, max(1, layout.n_outcomes))
    found: list[Level] = []
    for j in range(layout.depth + 1):
        prefix, takes_part = layout.shortened(contexts, j)
        longer = layout.shortened(contexts, j + 1)[1] if j < layout.depth else np.zeros(len(contexts), np.bool_)
        keys = prefix[takes_part] * layout.n_outcomes + outcomes[takes_part]
        counts, stops = counted.counts[takes_part], ~longer[takes_part]
        found.append(_level(keys, counts, stops, layout, found))
    return found


def _level(keys: np.ndarray, counts: np.ndarray, stops: np.ndarray, layout: Layout, lower: list[Level]) -> Level:
    cells, of = np.unique(keys, return_inverse=True)
    total = np.bincount(of, counts, minlength=len(cells))
    stopped = np.bincount(of[stops], counts[stops], minlength=len(cells))
    owner, outcome = np.divmod(cells, max(1, layout.n_outcomes))
    contexts, context = np.unique(owner, return_inverse=True)
    totals = np.bincount(context, total, minlength=len(contexts))
    below = np.zeros(len(cells), np.int64)
    if lower:
        shorter = owner // layout.base if len(lower) > 1 else np.zeros_like(owner)
        below = np.searchsorted(lower[-1].cells, shorter * layout.n_outcomes + outcome)
    return Level(contexts, totals, cells, total, context, below, stopped)


# Estimates


class Estimate(NamedTuple):
    """The probabilities of one level.

    Attributes
    ----------
    strength : float
        m, the number of imagined symbols.
    cells : ndarray
        P(s | context) of each cell of the level.
    leaves : ndarray
        The probability that each context leaves to the level below.
    without : ndarray
        P(s | context) of each cell, learned from all symbols but one of its own.
    """

    strength: float
    cells: np.ndarray
    leaves: np.ndarray
    without: np.ndarray


def estimates_of(levels: Sequence[Level], n_outcomes: int, strength: float | None) -> list[Estimate]:
    """Return the estimates level by level; without a strength each level gets its best one.

    Examples
    --------
    >>> counted = Counted(np.array([0, 5, 6]), np.array([2.0, 1.0, 1.0]))  # a after nothing, b after a, a after b
    >>> bag, pairs = estimates_of(levels_of(counted, Layout(2, 1, ends=False)), 2, 1.0)
    >>> bag.cells.tolist(), pairs.cells.tolist(), pairs.leaves.tolist()
    ([0.7, 0.3], [0.65, 0.85], [0.5, 0.5])
    """
    found: list[Estimate] = []
    for level in levels:
        base = found[-1].cells[level.below] if found else np.full(len(level.cells), 1.0 / max(1, n_outcomes))
        base_without = found[-1].without[level.below] if found else base
        m = _best_strength(level, base_without) if strength is None else strength
        found.append(_estimate(level, base, base_without, m))
    return found


def _estimate(level: Level, base: np.ndarray, base_without: np.ndarray, m: float) -> Estimate:
    n, total, one = level.counts, level.totals[level.context], np.minimum(level.counts, 1.0)
    rest = total - one + m
    without = np.divide(n - one + m * base_without, rest, out=base_without.copy(), where=rest > 0.0)
    return Estimate(m, (n + m * base) / (total + m), m / (level.totals + m), without)


def _best_strength(level: Level, base_without: np.ndarray) -> float:
    """Return the strength under which every symbol is predicted best by the others: on a grid, then by sections."""
    one = np.minimum(level.counts, 1.0)
    rest = level.totals[level.context] - one
    some = rest > 0.0  # the only symbol of a context says nothing about m
    cells = level.counts[some], (level.counts - one)[some], rest[some], base_without[some]
    tried = np.linspace(np.log(_WEAKEST), max(0.0, float(np.log(max(1.0, level.totals.sum())))), _STEPS)
    best = int(np.argmax([_left_out(log_m, *cells) for log_m in tried.tolist()]))
    low, high = tried[max(0, best - 1)], tried[min(_STEPS - 1, best + 1)]
    return float(np.exp(_golden(lambda log_m: _left_out(log_m, *cells), float(low), float(high))))


def _golden(score: Callable[[float], float], low: float, high: float) -> float:
    """Return roughly where a function with one peak between two points is largest."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = score(a), score(b)
    for _ in range(_SECTIONS):
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = score(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = score(b)
    return a if at_a >= at_b else b


def _left_out(log_m: float, n: np.ndarray, others: np.ndarray, rest: np.ndarray, base: np.ndarray) -> float:
    """Return the log-likelihood of every symbol given all others, plus the log-prior of m."""
    m = np.exp(log_m)
    return float(n @ np.log((others + m * base) / (rest + m))) - 0.5 * (log_m / _SPREAD) ** 2


# Lookup

Chain = tuple[Sequence[Level], Sequence[Estimate]]
"""The levels of one class, from the bag of letters upwards, and their estimates."""


@dataclass(frozen=True, eq=False)
class DenseTable:
    """log P(s | context, c) of every possible context; ``logs`` is (contexts × outcomes, classes)."""

    layout: Layout
    logs: np.ndarray

    def add(self, rows: Coded, spans: np.ndarray, out: np.ndarray) -> None:
        """Add the log-probabilities of the symbols of each span to its row of ``out``."""
        run = ready(add_symbols, len(rows.codes))
        run(rows, spans, self.layout.contexts, np.arange(len(spans)), None, self.logs, out)


@dataclass(frozen=True, eq=False)
class SparseTable:
    """log P(s | context, c) of the contexts that occur, as a tree for each class."""

    layout: Layout
    tree: Tree

    def add(self, rows: Coded, spans: np.ndarray, out: np.ndarray) -> None:
        """Add the log-probabilities of the symbols of each span to its row of ``out``."""
        ready(add_sparse_scores, len(rows.codes))(rows, spans, self.layout.contexts, self.tree, out)


ScoreTable = DenseTable | SparseTable


def table_of(layout: Layout, chains: Sequence[Chain]) -> ScoreTable:
    """Return the table of the estimates of all classes, dense if few contexts are possible."""
    n_counts = sum(len(level.cells) for levels, _ in chains for level in levels)
    n_cells = layout.n_cells * len(chains)
    if layout.n_symbols and n_cells <= max(_FEW_CELLS, min(_MOST_CELLS, _CELLS_PER_COUNT * n_counts)):
        return dense_table(layout, chains)
    return sparse_table(layout, chains)


def log_scores(table: ScoreTable, rows: Coded, n_classes: int, n_jobs: int | None = None) -> np.ndarray:
    """Return log P(sequence | c), (n_rows, n_classes); 0 for a sequence without known symbols."""
    spans, begins = cut_spans(rows.offsets)
    scores = np.zeros((len(spans), n_classes))
    map_threads(lambda run: table.add(rows, spans[run], scores[run]), shares_of(begins), n_jobs)
    if len(spans) == len(rows.known):
        return scores
    return np.add.reduceat(scores, np.flatnonzero(np.diff(spans[:, 0], prepend=-1)), axis=0)


def symbol_scores(table: ScoreTable, rows: Coded, n_classes: int) -> np.ndarray:
    """Return what each symbol of one sequence adds to log P(sequence | c), and in the last row what its end adds.

    Every symbol is a span of its own, of a sequence that goes on behind the last one.
    """
    n = int(rows.offsets[1])
    out, each = np.zeros((n + 1, n_classes)), np.arange(n)
    table.add(rows._replace(offsets=np.array([0, n + 1])), np.column_stack([0 * each, each, each + 1]), out[:n])
    table.add(rows, np.array([[0, n, n]]), out[n:])
    return out


def dense_table(layout: Layout, chains: Sequence[Chain]) -> DenseTable:
    """Return a table of all possible contexts."""
    check_memory(
        f"a table of {layout.n_contexts} contexts", 24.0 * layout.n_cells * len(chains), ways_out="Lower the order."
    )
    logs = np.empty((layout.n_cells, len(chains)))
    with np.errstate(divide="ignore"):
        for c, (levels, estimates) in enumerate(chains):
            logs[:, c] = _log_probabilities(layout, levels, estimates)
    return DenseTable(layout, logs)


def _log_probabilities(layout: Layout, levels: Sequence[Level], estimates: Sequence[Estimate]) -> np.ndarray:
    """Return log P(s | context) in the order of the contexts' indices, flat."""
    r, a, places = layout.n_outcomes, layout.n_symbols, 1 if layout.length is None else layout.length
    lower = np.full((1, 1, r), -np.log(r))
    letters, beginnings = [], []
    for j, (level, estimate) in enumerate(zip(levels, estimates, strict=True)):
        size = a ** max(0, j - layout.has_places)
        if layout.ends and j > 0:
            beginnings.append(lower.copy())
        copies = (places if j == layout.has_places else 1, size // lower.shape[1], 1)
        lower = np.tile(lower, copies)
        place, number, anchored = layout.letters_of(level.contexts, j)
        for table, mine in ((lower, ~anchored), *(((beginnings[-1], anchored),) if beginnings else ())):
            _overwrite(table, level, estimate, (place, number, mine), r)
        if j >= layout.has_places:
            letters.append(lower)
    return np.concatenate([*letters, *beginnings], axis=1).reshape(-1)


def _overwrite(
    table: np.ndarray, level: Level, estimate: Estimate, where: tuple[np.ndarray, np.ndarray, np.ndarray], r: int
) -> None:
    """Put the estimates of the contexts that occur into a table that has those of the shorter ones."""
    place, number, mine = where
    table[place[mine], number[mine]] += np.log(estimate.leaves[mine])[:, None]
    cells = mine[level.context]
    at = level.context[cells]
    table[place[at], number[at], level.cells[cells] % r] = np.log(estimate.cells[cells])


def sparse_table(layout: Layout, chains: Sequence[Chain]) -> SparseTable:
    """Return a table of the contexts that occur."""
    width = max(layout.base, layout.n_places)
    check_memory(
        f"a table of the contexts of {layout.n_symbols} symbols",
        16.0 * width * len(chains),
        ways_out="Lower the order.",
    )
    first_nodes = np.full((len(chains), width), -1, np.int64)
    parts, n_nodes, n_cells = [], 0, 0
    for c, (levels, estimates) in enumerate(chains):
        if len(levels) > 1:
            first_nodes[c, levels[1].contexts] = n_nodes + np.arange(len(levels[1].contexts))
        for j in range(1, len(levels)):
            parts.append(_nodes(layout, levels, estimates, j, n_nodes, n_cells))
            n_nodes, n_cells = n_nodes + len(levels[j].contexts), n_cells + len(levels[j].cells)
    pairs, whole, real = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty(0)
    parts.append((whole, pairs, pairs, real, whole, real))  # there may be no others
    with np.errstate(divide="ignore"):
        bottom = np.log([_bag(layout, levels[0], estimates[0]) for levels, estimates in chains])
    return SparseTable(layout, Tree(bottom, first_nodes, *map(np.concatenate, zip(*parts, strict=True))))


def _nodes(
    layout: Layout, levels: Sequence[Level], estimates: Sequence[Estimate], j: int, n_nodes: int, n_cells: int
) -> tuple[np.ndarray, ...]:
    """Return items, children, cells, leaves, outcomes and logs of the contexts of one level of a class.

    The nodes of the level begin at ``n_nodes``, its cells at ``n_cells``.
    """
    level, n = levels[j], len(levels[j].contexts)
    longer = levels[j + 1].contexts // layout.base if j + 1 < len(levels) else np.empty(0, np.int64)
    children = n_nodes + n + _ranges(longer, level.contexts)
    cells = n_cells + _ranges(level.context, np.arange(n))
    items = level.contexts % layout.base if j > 1 else level.contexts
    with np.errstate(divide="ignore"):
        leaves, logs = np.log(estimates[j].leaves), np.log(estimates[j].cells)
    return items, children, cells, leaves, level.cells % max(1, layout.n_outcomes), logs


def _bag(layout: Layout, level: Level, estimate: Estimate) -> np.ndarray:
    """Return P(s | c) of every outcome."""
    left = estimate.leaves[0] if len(estimate.leaves) else 1.0
    found = np.full(layout.n_outcomes, left / max(1, layout.n_outcomes))
    found[level.cells] = estimate.cells
    return found


def _ranges(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return where equal values begin and end in a sorted array, (len(wanted), 2)."""
    return np.column_stack([np.searchsorted(values, wanted, side) for side in ("left", "right")]).astype(np.int64)
