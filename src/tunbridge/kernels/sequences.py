"""Symbol sequences: their codes, the counts of symbols in contexts, and the log-probabilities of sequences.

Sequences lie end to end in one array of codes; sequence r is ``codes[offsets[r] : offsets[r + 1]]``. A code of
``n_symbols`` or more is no symbol of the alphabet: it is passed over, and contexts begin anew behind it. Work comes as
spans (row, first, stop): part of one sequence, so that a long one can be cut and many short ones put together. A span
looks back over the ``order`` symbols before it, and what comes of it does not depend on where it was cut.

Contexts of a letters (a = 0 … order) have the indices ``start[a]`` + the letters as a number in base ``n_symbols``, the
latest letter last. Contexts that reach back to the beginning of a sequence, which is as good as a letter, come behind
them from index ``anchor`` on, in the same way for a = 0 … order − 1; without them ``anchor`` is negative. Where the
place in the sequence is part of the context (``stride`` > 0), all this is repeated for each place.
"""

from __future__ import annotations

import numpy as np
from numba import njit


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
def fill_counts(
    codes, offsets, known, spans, n_symbols, n_outcomes, order, start, anchor, stride, lines, weights, out
):  # fmt: skip
    """Add the weight of each symbol of span t to out[lines[t], context × n_outcomes + symbol].

    ``spans`` is (row, first, stop), one a line. With an anchor the end of a sequence that is not unknown altogether is
    one more outcome, behind the symbols. The inner loop is for contexts of full length, away from beginnings and gaps.
    """
    n, m, back = np.uint64(n_symbols), np.uint64(n_outcomes), np.uint64(order)
    top, full = np.uint64(n_symbols**order), np.uint64(start[order])
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        begin, weight, line = max(offsets[row], first - order), weights[row], out[lines[t]]
        anchored = anchor >= 0 and begin == offsets[row]
        a, letters, i = np.int64(0), np.uint64(0), np.uint64(begin)
        origin, end, step = np.uint64(offsets[row]), np.uint64(stop), np.uint64(stride)
        while i < end:
            s = np.uint64(codes[i])
            if a == order and i >= np.uint64(first):
                while s < n:
                    line[(full + letters + step * (i - origin)) * m + s] += weight
                    letters = letters * n + s - np.uint64(codes[i - back]) * top
                    i += np.uint64(1)
                    if i == end:
                        break
                    s = np.uint64(codes[i])
                if i == end:
                    break
            if s >= n:
                anchored, a, letters = False, np.int64(0), np.uint64(0)
            else:
                if i >= np.uint64(first):
                    context = np.uint64(start[a]) + letters + step * (i - origin)
                    if anchored and a < order:
                        context += np.uint64(anchor)
                    line[context * m + s] += weight
                letters = letters * n + s
                if a == order:
                    letters -= np.uint64(codes[i - back]) * top
                else:
                    a += 1
            i += np.uint64(1)
        if anchor >= 0 and stop == offsets[row + 1] and known[row]:
            context = np.uint64(start[a]) + letters
            if anchored and a < order:
                context += np.uint64(anchor)
            line[context * m + n] += weight


@njit(cache=True, nogil=True)
def fill_keys(codes, offsets, known, spans, n_symbols, n_outcomes, order, base, anchored, n_places, keys, of):
    """Set keys to the context and outcome of each symbol of the spans, and ``of`` to its span; return their number.

    The digits of a key are the place (from 1, in base n_places; left out where that is 0), the ``order`` latest letters
    in base ``base``, the latest first: 0 for none, 1 for the beginning, letters from 2; and the outcome.
    """
    n = 0
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        end = stop + 1 if anchored and stop == offsets[row + 1] and known[row] else stop
        for i in range(first, end):
            s = np.int64(codes[i]) if i < offsets[row + 1] else n_symbols
            if s >= n_symbols and i < offsets[row + 1]:
                continue
            key = i - offsets[row] + 1 if n_places > 0 else np.int64(0)
            going = True
            for j in range(1, order + 1):
                digit = np.int64(0)
                if going and i - j >= offsets[row]:
                    digit = np.int64(codes[i - j]) + 2
                    if digit >= n_symbols + 2:
                        digit, going = np.int64(0), False
                elif going and i - j == offsets[row] - 1 and anchored:
                    digit, going = np.int64(1), False
                key = key * base + digit
            keys[n] = key * n_outcomes + s
            of[n] = t
            n += 1
    return n


@njit(cache=True, nogil=True)
def add_scores(codes, offsets, known, spans, n_symbols, n_outcomes, order, start, anchor, stride, table, each, out):
    """Add the log-probabilities of the symbols of span t to out[t], class by class.

    ``table`` is (contexts × outcomes, classes). With ``each`` there is one span, and what symbol i adds goes to its own
    line of ``out``, and what the end adds to the line behind the last.
    """
    n, m, back = np.uint64(n_symbols), np.uint64(n_outcomes), np.uint64(order)
    top, full, n_classes = np.uint64(n_symbols**order), np.uint64(start[order]), table.shape[1]
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        begin = max(offsets[row], first - order)
        anchored = anchor >= 0 and begin == offsets[row]
        a, letters, i, line = np.int64(0), np.uint64(0), np.uint64(begin), out[t]
        origin, end, step = np.uint64(offsets[row]), np.uint64(stop), np.uint64(stride)
        while i < end:
            s = np.uint64(codes[i])
            if a == order and i >= np.uint64(first) and not each:
                while s < n:
                    terms = table[(full + letters + step * (i - origin)) * m + s]
                    for c in range(n_classes):
                        line[c] += terms[c]
                    letters = letters * n + s - np.uint64(codes[i - back]) * top
                    i += np.uint64(1)
                    if i == end:
                        break
                    s = np.uint64(codes[i])
                if i == end:
                    break
            if s >= n:
                anchored, a, letters = False, np.int64(0), np.uint64(0)
            else:
                if i >= np.uint64(first):
                    context = np.uint64(start[a]) + letters + step * (i - origin)
                    if anchored and a < order:
                        context += np.uint64(anchor)
                    line = out[i - np.uint64(first)] if each else line
                    for c in range(n_classes):
                        line[c] += table[context * m + s, c]
                letters = letters * n + s
                if a == order:
                    letters -= np.uint64(codes[i - back]) * top
                else:
                    a += 1
            i += np.uint64(1)
        if anchor >= 0 and stop == offsets[row + 1] and known[row]:
            context = np.uint64(start[a]) + letters
            if anchored and a < order:
                context += np.uint64(anchor)
            line = out[stop - first] if each else line
            for c in range(n_classes):
                line[c] += table[context * m + n, c]


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
def add_sparse_scores(
    codes, offsets, known, spans, n_symbols, order, anchored, n_places,
    bottom, first_nodes, items, children, cells, leaves, outcomes, logs, each, out,
):  # fmt: skip
    """Add the log-probabilities of the symbols of span t to out[t], class by class, from a tree of what was met.

    ``bottom[c, s]`` is log P(s | c) without a context, and ``first_nodes[c, item]`` the node of a context of one item,
    −1 for none. Node i has the children ``children[i, 0] … children[i, 1]``, sorted by their ``items``, the cells
    ``cells[i, 0] … cells[i, 1]``, sorted by their ``outcomes``, with their ``logs``, and ``leaves[i]``, the logarithm
    of what it leaves to the shorter context.
    """
    trail = np.zeros(order + 2, np.int64)
    for t in range(spans.shape[0]):
        row, first, stop = spans[t, 0], spans[t, 1], spans[t, 2]
        end = stop + 1 if anchored and stop == offsets[row + 1] and known[row] else stop
        for i in range(first, end):
            s = np.int64(codes[i]) if i < offsets[row + 1] else np.int64(n_symbols)
            if s >= n_symbols and i < offsets[row + 1]:
                continue
            longest, back = 0, 1
            if n_places > 0:
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
            to = i - first if each else t
            for c in range(out.shape[1]):
                total, depth = bottom[c, s], 1
                node = first_nodes[c, trail[0]] if longest > 0 else np.int64(-1)
                while node >= 0:
                    cell = _find(outcomes, cells[node, 0], cells[node, 1], s)
                    total = logs[cell] if cell >= 0 else total + leaves[node]
                    if depth == longest:
                        break
                    node = _find(items, children[node, 0], children[node, 1], trail[depth])
                    depth += 1
                out[to, c] += total
