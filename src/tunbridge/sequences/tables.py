"""Log-probabilities of symbols in contexts, laid out to be looked up.

Where all possible contexts are few, a table has P(s | context, c) of every one of them: one place to look at for each
symbol. Otherwise only what was met is kept, as sorted keys: a symbol that was never met in a context is looked for in
the shorter one, with what the context leaves to it as a factor, as in the back-off models of speech recognition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.sequences.counting import Coded
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.levels import Level
from tunbridge.sequences.sequence_rows import cut_spans, ready, runs_of
from tunbridge.sequences.smoothing import Estimate

_FEW_CELLS = 1 << 16
_MOST_CELLS = 1 << 26
_CELLS_PER_COUNT = 16

Chain = tuple[Sequence[Level], Sequence[Estimate]]
"""The levels of one class, from the bag of letters upwards, and their estimates."""


@dataclass(frozen=True, eq=False)
class DenseTable:
    """log P(s | context, c) of every possible context; ``logs`` is (contexts × outcomes, classes)."""

    layout: Layout
    logs: np.ndarray

    def add(self, rows: Coded, spans: np.ndarray, out: np.ndarray, *, each: bool = False) -> None:
        """Add the log-probabilities of the symbols of spans to the lines of ``out``."""
        from tunbridge.kernels.sequences import add_scores

        at = self.layout
        contexts = at.n_symbols, at.n_outcomes, at.order, at.start, at.anchor, at.stride
        ready(add_scores, len(rows.codes))(*rows, spans, *contexts, self.logs, each, out)


@dataclass(frozen=True, eq=False)
class SparseTable:
    """log P(s | context, c) of what was met, as a tree of contexts for each class, the nearest item first.

    Parameters
    ----------
    layout : Layout
        The contexts.
    bottom : ndarray of shape (n_classes, n_outcomes)
        log P(s | c) without a context.
    first_nodes : ndarray of int64, (n_classes, number of first items)
        The nodes of contexts of one item; −1 for those that were not met.
    items : ndarray of int64
        The last item of each node.
    children, cells : ndarray of int64, (n_nodes, 2)
        Where the longer contexts of each node begin and end, and the outcomes that were met in it.
    leaves : ndarray
        The logarithm of what each node leaves to the shorter context.
    outcomes, logs : ndarray
        The outcomes that were met in nodes, and their log-probabilities.
    """

    layout: Layout
    bottom: np.ndarray
    first_nodes: np.ndarray
    items: np.ndarray
    children: np.ndarray
    cells: np.ndarray
    leaves: np.ndarray
    outcomes: np.ndarray
    logs: np.ndarray

    def add(self, rows: Coded, spans: np.ndarray, out: np.ndarray, *, each: bool = False) -> None:
        """Add the log-probabilities of the symbols of spans to the lines of ``out``."""
        from tunbridge.kernels.sequences import add_sparse_scores

        at = self.layout
        tree = self.bottom, self.first_nodes, self.items, self.children, self.cells, self.leaves
        ready(add_sparse_scores, len(rows.codes))(
            *rows, spans, at.n_symbols, at.order, at.ends, at.n_places, *tree, self.outcomes, self.logs, each, out
        )


ScoreTable = DenseTable | SparseTable


def table_of(layout: Layout, chains: Sequence[Chain]) -> ScoreTable:
    """Return the table of the estimates of all classes, dense where few contexts are possible."""
    met = sum(len(level.cells) for levels, _ in chains for level in levels)
    n_cells = layout.n_cells * len(chains)
    if layout.n_symbols and n_cells <= max(_FEW_CELLS, min(_MOST_CELLS, _CELLS_PER_COUNT * met)):
        return dense_table(layout, chains)
    return sparse_table(layout, chains)


def log_scores(table: ScoreTable, rows: Coded, n_classes: int, n_jobs: int | None = None) -> np.ndarray:
    """Return log P(sequence | c), (n_rows, n_classes); 0 where nothing is known of a sequence."""
    spans, begins = cut_spans(rows.offsets)
    scores = np.zeros((len(spans), n_classes))
    map_threads(lambda run: table.add(rows, spans[run], scores[run]), runs_of(begins), n_jobs)
    if len(spans) == len(rows.known):
        return scores
    return np.add.reduceat(scores, np.flatnonzero(np.diff(spans[:, 0], prepend=-1)), axis=0)


def symbol_scores(table: ScoreTable, rows: Coded, n_classes: int) -> np.ndarray:
    """Return what each symbol of one sequence adds to log P(sequence | c), and at the end what the end adds."""
    start, stop = rows.offsets.tolist()
    out = np.zeros((stop - start + 1, n_classes))
    table.add(rows, np.array([[0, start, stop]]), out, each=True)
    return out


# Dense


def dense_table(layout: Layout, chains: Sequence[Chain]) -> DenseTable:
    """Return the table of every possible context."""
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
    """Put the estimates of contexts that were met into a table that has those of the shorter ones."""
    place, number, mine = where
    table[place[mine], number[mine]] += np.log(estimate.leaves[mine])[:, None]
    cells = mine[level.context]
    at = level.context[cells]
    table[place[at], number[at], level.cells[cells] % r] = np.log(estimate.cells[cells])


# Sparse


def sparse_table(layout: Layout, chains: Sequence[Chain]) -> SparseTable:
    """Return the table of what was met."""
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
    empty = [np.empty(0, np.int64), *[np.empty((0, 2), np.int64)] * 2, np.empty(0), np.empty(0, np.int64), np.empty(0)]
    joined = [
        np.concatenate([e, *each]) for e, each in zip(empty, list(zip(*parts, strict=True)) or [()] * 6, strict=True)
    ]
    with np.errstate(divide="ignore"):
        bottom = np.log([_bag(layout, levels[0], estimates[0]) for levels, estimates in chains])
    return SparseTable(layout, bottom, first_nodes, *joined)


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
