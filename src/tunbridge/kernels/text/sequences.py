"""Symbol sequences: their codes, the counts of symbols in contexts, and the log-probabilities of sequences.

Sequences lie end to end in one array of codes; sequence r is ``codes[offsets[r] : offsets[r + 1]]``. A code of
``n_symbols`` or more is not in the alphabet: it is skipped, and contexts start again behind it. Work comes as spans
(row, first, stop), each a part of one sequence, so that long sequences can be split and short ones put together. A span
looks back over the ``order`` symbols before it; the result does not depend on where sequences were split.

Contexts of a letters (a = 0 … order) have the indices ``start[a]`` + the letters as a number in base ``n_symbols``, the
latest letter last. Contexts that reach back to the beginning of a sequence, which counts as a letter, follow from index
``anchor`` on, in the same way for a = 0 … order − 1; ``anchor`` is negative if there are none. If the position in the
sequence is part of the context (``stride`` > 0), all this is repeated for each position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit


class Coded(NamedTuple):
    """Sequences in the codes of a model: end to end, where they begin, and which contain a known symbol."""

    codes: np.ndarray
    offsets: np.ndarray
    known: np.ndarray


class Contexts(NamedTuple):
    """How contexts are numbered; see the module."""

    n_symbols: int
    n_outcomes: int
    order: int
    start: np.ndarray
    anchor: int
    stride: int


class Tree(NamedTuple):
    """The contexts that occur in training, as a tree for each class, the latest item first.

    ``bottom[c, s]`` is log P(s | c) without a context, and ``first_nodes[c, item]`` the node of a context of one item,
    −1 for none. Node i has the children ``children[i, 0] … children[i, 1]``, sorted by their ``items``, the cells
    ``cells[i, 0] … cells[i, 1]``, sorted by their ``outcomes``, with their ``logs``, and ``leaves[i]``, the logarithm
    of the probability that is left to the shorter context.
    """

    bottom: np.ndarray
    first_nodes: np.ndarray
    items: np.ndarray
    children: np.ndarray
    cells: np.ndarray
    leaves: np.ndarray
    outcomes: np.ndarray
    logs: np.ndarray


@njit(cache=True, nogil=True)
def mark_bytes(data, out):
    """Set out[b] for every byte b that occurs."""
    for i in range(data.shape[0]):
        out[data[i]] = True


@njit(cache=True, nogil=True)
def translate_bytes(data, lookup, out):
    """Set out[i] to the code of byte i."""
    for i in range(data.shape[0]):
        out[i] = lookup[data[i]]


@njit(cache=True, nogil=True)
def decode_points(data, offsets, points, ends):
    """Set points to the characters of UTF-8 texts as numbers, and ends[r + 1] to where those of text r end.

    Return how many there are. Bytes that are no UTF-8 give some character or other, never more than one each.
    """
    n = 0
    for row in range(offsets.shape[0] - 1):
        i, stop = offsets[row], offsets[row + 1]
        while i < stop:
            byte = np.int64(data[i])
            more = 0 if byte < 0xC0 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            point = byte if more == 0 else byte & (0x3F >> more)
            i += 1
            while more > 0 and i < stop:
                point = point << 6 | np.int64(data[i]) & 0x3F
                i += 1
                more -= 1
            points[n] = point
            n += 1
        ends[row + 1] = n
    return n


@njit(cache=True, nogil=True)
def gather_rows(codes, starts, offsets, out):
    """Put together sequences that begin at starts, as long as the offsets in ``out`` say."""
    for row in range(starts.shape[0]):
        shift = starts[row] - offsets[row]
        for i in range(offsets[row], offsets[row + 1]):
            out[i] = codes[i + shift]


@njit(cache=True, nogil=True)
def mark_known(codes, offsets, n_symbols, out):
    """Set out[r] where sequence r holds a symbol of the alphabet."""
    for row in range(offsets.shape[0] - 1):
        i = offsets[row]
        while i < offsets[row + 1] and codes[i] >= n_symbols:
            i += 1
        out[row] = i < offsets[row + 1]


@njit(cache=True, nogil=True)
def hash_rows(codes, offsets, marks, out):
    """Set out[r] to a number that follows from the marks of a sequence's symbols and their order.

    The last mark is that of a code that is no symbol.
    """
    last = marks.shape[0] - 1
    for row in range(offsets.shape[0] - 1):
        key = np.uint64(offsets[row + 1] - offsets[row])
        for i in range(offsets[row], offsets[row + 1]):
            key = (key ^ marks[min(np.int64(codes[i]), last)]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        out[row] = key


@njit(cache=True, nogil=True)
def add_symbols(rows, spans, contexts, lines, weights, table, out):
    """Count the symbols of spans in their contexts, or add up their log-probabilities, along one walk.

    A symbol in its context is a cell, context × n_outcomes + symbol. With ``weights`` (and no ``table``) the weight of
    the sequence is added to ``out[lines[t], cell]`` for each symbol of span t; with a ``table`` of cells × classes (and
    no ``weights``) its row ``table[cell]`` is added to ``out[lines[t]]``. The compiler drops the other of the two. With
    an anchor the end of a sequence is one more outcome, behind the symbols, unless no symbol of it is known.

    The inner loop runs as long as only the letters of the context change.
    """
    codes, offsets, known = rows
    n_symbols, n_outcomes, order, start, anchor, stride = contexts
    n, m, back, step, one = (
        np.uint64(n_symbols),
        np.uint64(n_outcomes),
        np.uint64(order),
        np.uint64(stride),
        np.uint64(1),
    )
    top = np.uint64(n_symbols**order)
    for t in range(spans.shape[0]):
        row, first, last = spans[t, 0], np.uint64(spans[t, 1]), np.uint64(spans[t, 2])
        begin, line = max(offsets[row], spans[t, 1] - order), out[lines[t]]
        closes = anchor >= 0 and spans[t, 2] == offsets[row + 1] and known[row]
        anchored, a, letters = anchor >= 0 and begin == offsets[row], 0, np.uint64(0)
        i, origin = np.uint64(begin), np.uint64(offsets[row])
        weight = weights[row] if weights is not None else 0
        while i < last or (i == last and closes):
            s = np.uint64(codes[i]) if i < last else n
            if s >= n and i < last:
                anchored, a, letters = False, 0, np.uint64(0)
                i += one
                continue
            base = np.uint64(start[a] + anchor) if anchored and a < order else np.uint64(start[a])
            while True:
                if i >= first:
                    cell = (base + letters + step * (i - origin)) * m + s
                    if weights is not None:
                        line[cell] += weight
                    if table is not None:
                        for c in range(table.shape[1]):
                            line[c] += table[cell, c]
                letters = letters * n + s
                i += one
                if a < order:
                    a += 1
                    break
                if i > last:
                    break
                letters -= np.uint64(codes[i - one - back]) * top
                if i == last:
                    break
                s = np.uint64(codes[i])
                if s >= n:
                    break


@njit(cache=True, nogil=True)
def fill_keys(rows, spans, contexts, keys, of):
    """Set keys to the context and outcome of each symbol of the spans, and ``of`` to its span; return their number.

    The digits of a key are the position (from 1; left out if contexts have none), the ``order`` latest letters in base
    n_symbols + 2, the latest first: 0 for none, 1 for the beginning, letters from 2; and the outcome.
    """
    codes, offsets, known = rows
    n_symbols, order, anchored, n = contexts.n_symbols, contexts.order, contexts.anchor >= 0, 0
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        end = stop + 1 if anchored and stop == offsets[row + 1] and known[row] else stop
        for i in range(first, end):
            s = np.int64(codes[i]) if i < offsets[row + 1] else n_symbols
            if s >= n_symbols and i < offsets[row + 1]:
                continue
            key = i - offsets[row] + 1 if contexts.stride > 0 else np.int64(0)
            going = True
            for j in range(1, order + 1):
                digit = np.int64(0)
                if going and i - j >= offsets[row]:
                    digit = np.int64(codes[i - j]) + 2
                    if digit >= n_symbols + 2:
                        digit, going = np.int64(0), False
                elif going and i - j == offsets[row] - 1 and anchored:
                    digit, going = np.int64(1), False
                key = key * (n_symbols + 2) + digit
            keys[n] = key * contexts.n_outcomes + s
            of[n] = t
            n += 1
    return n


@njit(cache=True, nogil=True)
def _find(values, low, high, wanted):
    """Return where a value stands in a sorted part of an array; −1 where it does not."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == wanted else np.int64(-1)


@njit(cache=True, nogil=True)
def add_sparse_scores(rows, spans, contexts, tree, out):
    """Add the log-probabilities of the symbols of span t to out[t], class by class, from a :class:`Tree`."""
    codes, offsets, known = rows
    n_symbols, order, anchored = contexts.n_symbols, contexts.order, contexts.anchor >= 0
    trail = np.zeros(order + 2, np.int64)
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        end = stop + 1 if anchored and stop == offsets[row + 1] and known[row] else stop
        for i in range(first, end):
            s = np.int64(codes[i]) if i < offsets[row + 1] else np.int64(n_symbols)
            if s >= n_symbols and i < offsets[row + 1]:
                continue
            longest, back = 0, 1
            if contexts.stride > 0:
                trail[0] = i - offsets[row] + 1
                longest = 1
            while back <= order:
                item = np.int64(1)  # the beginning
                if i - back >= offsets[row]:
                    item = np.int64(codes[i - back]) + 2
                elif not anchored or i - back < offsets[row] - 1:
                    break
                if item >= n_symbols + 2:
                    break
                trail[longest] = item
                longest += 1
                back += 1
            for c in range(out.shape[1]):
                total, depth = tree.bottom[c, s], 1
                node = tree.first_nodes[c, trail[0]] if longest > 0 else np.int64(-1)
                while node >= 0:
                    cell = _find(tree.outcomes, tree.cells[node, 0], tree.cells[node, 1], s)
                    total = tree.logs[cell] if cell >= 0 else total + tree.leaves[node]
                    if depth == longest:
                        break
                    node = _find(tree.items, tree.children[node, 0], tree.children[node, 1], trail[depth])
                    depth += 1
                out[t, c] += total
