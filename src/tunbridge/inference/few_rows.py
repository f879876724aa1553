"""Expected counts of a few rows with holes in plain NumPy, while no kernel is compiled.

Every joint state of every hidden component is written out as a line of cells, one for each table that holds a member,

    P(joint state, observed) = Π θ[cells of its line],

and all lines are computed at once. That takes room for every line, so it is for small tables; there the first answer
comes without waiting for a compiler.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tunbridge.inference.flat import FlatNetwork

_MOST_CELLS = 20_000  # of the data
_MOST_STATES = 4096  # of one component
_MOST_PLACES = 2_000_000  # cells of all lines


class FewRows:
    """Rows whose hidden parts are written out; see :class:`tunbridge.inference.expectations.IncompleteRows`."""

    def __init__(
        self, complete: np.ndarray, cells: np.ndarray, lines: np.ndarray, starts: np.ndarray, weights: np.ndarray
    ):
        self._complete, self._cells, self._lines, self._starts, self._weights = complete, cells, lines, starts, weights

    def expected_counts(self, tables: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected count of every cell, and the log-likelihood."""
        used = self._complete > 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(tables)
        counts, log_likelihood = self._complete.copy(), float(self._complete[used] @ logs[used])
        if not len(self._starts):
            return counts, log_likelihood
        joint = np.add.reduceat(logs[self._cells], self._lines)
        sizes = np.diff(np.append(self._starts, len(joint)))
        largest = np.maximum.reduceat(joint, self._starts)
        is_possible = largest > -np.inf
        shifted = np.exp(joint - np.repeat(np.where(is_possible, largest, 0.0), sizes))
        totals = np.add.reduceat(shifted, self._starts)
        log_likelihood += float(
            self._weights @ np.where(is_possible, largest + np.log(np.maximum(totals, 1e-300)), -np.inf)
        )
        factors = np.where(is_possible, self._weights / np.where(is_possible, totals, 1.0), 0.0)
        shares = np.repeat(shifted * np.repeat(factors, sizes), np.diff(np.append(self._lines, len(self._cells))))
        counts += np.bincount(self._cells, weights=shares, minlength=len(tables))
        return counts, log_likelihood


def few_rows(flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray) -> FewRows | None:
    """Return the rows with their hidden parts written out; None when that would take much room."""
    if codes.size > _MOST_CELLS:
        return None
    complete, found = np.zeros(len(flat.tables)), defaultdict[tuple[int, ...], float](float)
    for row, weight in zip(codes.T.astype(np.int64), weights.tolist(), strict=True):
        if weight > 0.0:
            for hidden, tables in _components(flat, row):
                bases = [_entry(flat, row, v) for v in tables]
                if hidden:
                    found[(len(hidden), *hidden, *tables, *bases)] += weight
                else:
                    complete[bases] += weight
    blocks, n_places = [], 0
    for key in found:
        members, rest = key[1 : key[0] + 1], key[key[0] + 1 :]
        n_lines = math.prod(int(flat.n_states[v]) for v in members)
        n_places += n_lines * (len(rest) // 2)
        if n_lines > _MOST_STATES or n_places > _MOST_PLACES:
            return None
        blocks.append(_lines(flat, members, rest[: len(rest) // 2], rest[len(rest) // 2 :]))
    return _assembled(complete, blocks, np.array(list(found.values())))


def _assembled(complete: np.ndarray, blocks: list[np.ndarray], weights: np.ndarray) -> FewRows:
    if not blocks:
        nothing = np.empty(0, np.int64)
        return FewRows(complete, nothing, nothing, nothing, weights)
    widths = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    sizes = np.array([len(block) for block in blocks])
    cells = np.concatenate([block.ravel() for block in blocks])
    return FewRows(complete, cells, np.cumsum(widths) - widths, np.cumsum(sizes) - sizes, weights)


def _components(flat: FlatNetwork, row: np.ndarray) -> Iterator[tuple[list[int], list[int]]]:
    """Give the hidden components of a row with their tables; first no members with the tables that are complete."""
    barren = row < 0
    for v in flat.order[::-1].tolist():
        if not barren[v]:
            barren[flat.parents_of(v)] = False
    groups: dict[int, tuple[set[int], list[int]]] = {}
    complete = []
    for v in np.flatnonzero(~barren).tolist():
        members = {u for u in (*flat.parents_of(v).tolist(), v) if row[u] < 0}
        if not members:
            complete.append(v)
            continue
        tables = [v]
        for group in {id(groups[u]): groups[u] for u in members if u in groups}.values():
            members |= group[0]
            tables += group[1]
        joined = (members, tables)
        groups.update((u, joined) for u in members)
    yield [], complete
    for hidden, tables in {id(group): group for group in groups.values()}.values():
        yield sorted(hidden), sorted(tables)


def _entry(flat: FlatNetwork, row: np.ndarray, v: int) -> int:
    """Return where the table of v is read for the observed states; hidden ones count as the first."""
    j = 0
    for u in (*flat.parents_of(v).tolist(), v):
        j = j * int(flat.n_states[u]) + max(int(row[u]), 0)
    return int(flat.table_start[v]) + j


def _lines(flat: FlatNetwork, hidden: tuple[int, ...], tables: tuple[int, ...], bases: tuple[int, ...]) -> np.ndarray:
    """Return the cells of each joint state: an array of shape (joint states, tables)."""
    states, n_lines = {}, 1
    for v in hidden:
        n_lines *= int(flat.n_states[v])
    left = np.arange(n_lines)
    for v in hidden:
        left, states[v] = np.divmod(left, flat.n_states[v])
    cells = np.empty((n_lines, len(tables)), np.int64)
    for t, (v, base) in enumerate(zip(tables, bases, strict=True)):
        cells[:, t], stride = base, 1
        for u in (v, *flat.parents_of(v).tolist()[::-1]):
            if u in states:
                cells[:, t] += states[u] * stride
            stride *= int(flat.n_states[u])
    return cells
