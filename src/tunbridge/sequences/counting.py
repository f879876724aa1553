"""Counting symbols in their contexts.

Each symbol of a sequence is counted once, in its longest context; counts in shorter contexts are sums of these. Where
all possible contexts are few, the counts are a table that a kernel adds to, one for each of several shares of the
sequences: the shares follow from the sequences, so that sums of weights are equal whatever the number of threads.
Otherwise the keys of a share are written down, sorted and put together.

Counts are kept in lines: one for each class, or, where parts of the data are to be left out in turn, one for each class
and fold. Equal sequences come into one fold, and long ones are cut into blocks of 256 symbols that go to the folds in
turn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.sequence_rows import cut_spans, ready, runs_of

_FEW_CELLS = 1 << 16
_MOST_CELLS = 1 << 25
_CELLS_PER_SYMBOL = 4
_SHARES = 16
_BLOCK = 1 << 8


class Counted(NamedTuple):
    """How often outcomes were met in their longest contexts.

    Attributes
    ----------
    keys : ndarray of int64
        Contexts with outcomes, sorted.
    counts : ndarray of float64
        Their numbers, or weights; above zero.
    """

    keys: np.ndarray
    counts: np.ndarray


NOTHING = Counted(np.empty(0, np.int64), np.empty(0))


class Coded(NamedTuple):
    """Sequences in the codes of a model: end to end, where they begin, and which hold any symbol that is known."""

    codes: np.ndarray
    offsets: np.ndarray
    known: np.ndarray


class Spans(NamedTuple):
    """Parts of sequences, (row, first, stop), where runs of them begin, and into which line of counts each goes."""

    spans: np.ndarray
    begins: np.ndarray
    lines: np.ndarray


def coded(codes: np.ndarray, offsets: np.ndarray, n_symbols: int) -> Coded:
    """Return sequences in the codes of a model."""
    from tunbridge.kernels.sequences import mark_known

    known = np.zeros(len(offsets) - 1, np.bool_)
    ready(mark_known, len(known))(codes, offsets, n_symbols, known)
    return Coded(codes, offsets, known)


def class_spans(offsets: np.ndarray, classes: np.ndarray) -> Spans:
    """Return spans that are counted class by class."""
    spans, begins = cut_spans(offsets)
    return Spans(spans, begins, classes.astype(np.int64)[spans[:, 0]])


def fold_spans(offsets: np.ndarray, classes: np.ndarray, keys: np.ndarray, n_folds: int) -> Spans:
    """Return spans that are counted class by class and fold by fold; the fold follows from the sequences' keys."""
    spans, begins = cut_spans(offsets, _BLOCK)
    rows = spans[:, 0]
    block = (spans[:, 1] - offsets[rows]) // _BLOCK
    fold = (keys % np.uint64(n_folds)).astype(np.int64)[rows] + block
    return Spans(spans, begins, classes.astype(np.int64)[rows] * n_folds + fold % n_folds)


def count_contexts(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None = None
) -> list[Counted]:
    """Return for each line of counts how often outcomes were met in their longest contexts.

    Examples
    --------
    >>> rows = coded(np.array([0, 1, 0, 0], np.uint8), np.array([0, 3, 4]), 2)
    >>> spans = class_spans(rows.offsets, np.zeros(2, np.int64))
    >>> one, = count_contexts(rows, Layout(2, 1, ends=False), spans, 1, None)
    >>> one.keys.tolist(), one.counts.tolist()  # context × 2 + outcome; digit 0 is no context, 2 and 3 are the letters
    ([0, 5, 6], [2.0, 1.0, 1.0])
    """
    layout.check()
    fits = layout.n_cells * n_lines <= max(_FEW_CELLS, min(_MOST_CELLS, _CELLS_PER_SYMBOL * len(rows.codes)))
    return (_count_table if fits else _count_keys)(rows, layout, spans, n_lines, weights, n_jobs)


def _count_table(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None
) -> list[Counted]:
    from tunbridge.kernels.sequences import fill_counts

    kind = np.int64 if weights is None else np.float64
    amounts = np.ones(len(rows.known), np.int64) if weights is None else np.array(weights, np.float64)
    cells = n_lines * layout.n_cells
    shares = _shares(spans.begins, max(1, min(_SHARES, _MOST_CELLS // max(1, cells))))
    check_memory(f"the counts of {layout.n_contexts} contexts", 8.0 * cells * len(shares), ways_out="Lower the order.")
    contexts = layout.n_symbols, layout.n_outcomes, layout.order, layout.start, layout.anchor, layout.stride
    run = ready(fill_counts, len(rows.codes))

    def counted(share: slice) -> np.ndarray:
        table = np.zeros((n_lines, layout.n_cells), kind)
        run(*rows, spans.spans[share], *contexts, spans.lines[share], amounts, table)
        return table

    tables = map_threads(counted, shares, n_jobs)
    table = tables[0]
    for other in tables[1:]:
        table += other
    numbers = layout.dense_contexts()
    return [_of_table(line, numbers, layout.n_outcomes) for line in table]


def _shares(begins: np.ndarray, most: int) -> list[slice]:
    """Return the spans in at most so many shares, each of several runs."""
    n_runs = max(1, len(begins) - 1)
    ends = np.linspace(0, len(begins) - 1, min(most, n_runs) + 1).astype(np.int64)
    return [slice(int(begins[a]), int(begins[b])) for a, b in pairwise(ends)]


def _of_table(line: np.ndarray, contexts: np.ndarray, n_outcomes: int) -> Counted:
    cells = np.flatnonzero(line)
    keys = contexts[cells // max(1, n_outcomes)] * n_outcomes + cells % max(1, n_outcomes)
    order = np.argsort(keys)
    return Counted(keys[order], line[cells][order].astype(np.float64))


def _count_keys(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None
) -> list[Counted]:
    from tunbridge.kernels.sequences import fill_keys

    contexts = layout.n_symbols, layout.n_outcomes, layout.order, layout.base, layout.ends, layout.n_places
    run = ready(fill_keys, len(rows.codes))

    def counted(share: slice) -> list[Counted]:
        some, lines = spans.spans[share], spans.lines[share]
        size = int((some[:, 2] - some[:, 1] + 1).sum())
        keys, of = np.empty(size, np.int64), np.empty(size, np.int64)
        n = run(*rows, some, *contexts, keys, of)
        keys, of = keys[:n], of[:n]
        amounts = np.ones(n) if weights is None else np.asarray(weights, np.float64)[some[of, 0]]
        return _by_line(keys, lines[of], amounts, n_lines)

    found, runs = [NOTHING] * n_lines, runs_of(spans.begins)
    for at in range(0, len(runs), _SHARES):
        pieces = map_threads(counted, runs[at : at + _SHARES], n_jobs)
        found = [merged([found[c], *(piece[c] for piece in pieces)]) for c in range(n_lines)]
        check_memory(
            f"the counts of contexts of {layout.order} symbols",
            3.0 * sum(each.keys.nbytes + each.counts.nbytes for each in found),
            ways_out="Lower the order, or learn from fewer sequences.",
        )
    return found


def _by_line(keys: np.ndarray, lines: np.ndarray, amounts: np.ndarray, n_lines: int) -> list[Counted]:
    order = np.argsort(lines, kind="stable")
    ends = np.cumsum(np.bincount(lines, minlength=n_lines))[:-1]
    return [summed(keys[part], amounts[part]) for part in np.split(order, ends)]


def summed(keys: np.ndarray, counts: np.ndarray) -> Counted:
    """Return counts with equal keys put together; those of weight zero are left out."""
    if not len(keys):
        return NOTHING
    distinct, of = np.unique(keys, return_inverse=True)
    totals = np.bincount(of, counts)
    kept = totals > 0.0
    return Counted(distinct, totals) if kept.all() else Counted(distinct[kept], totals[kept])


def merged(parts: list[Counted]) -> Counted:
    """Return the sum of several counts."""
    some = [part for part in parts if len(part.keys)]
    if len(some) < 2:
        return some[0] if some else NOTHING
    return summed(np.concatenate([p.keys for p in some]), np.concatenate([p.counts for p in some]))
