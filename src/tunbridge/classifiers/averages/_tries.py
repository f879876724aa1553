"""Hierarchical estimates along a trie: P(x | class), P(x | class, p₁), P(x | class, p₁, p₂), …

Each level mixes its own frequencies with the estimate of the level before,

    P_i(x | c, p₁ … p_i) = (n(x, c, p₁ … p_i) + s_i P_{i−1}(x | c, p₁ … p_{i−1})) / (n(c, p₁ … p_i) + s_i),

with P₀(x) = (n(x) + 1/r) / (n + 1). A configuration that does not occur has the estimate of the last one that does, so
there may be many parents: a level has no more nodes than there are rows. The strength s_i of each level is the one,
of a few, under which every row is predicted best when it is left out.

References
----------
F. Petitjean, W. Buntine, G. I. Webb, N. Zaidi (2018). Accurate parameter estimation for Bayesian network classifiers
using hierarchical Dirichlet processes. Machine Learning 107, 1303–1331.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from tunbridge._core.memory import check_memory
from tunbridge.kernels.classifiers import forests
from tunbridge.kernels.classifiers.records import Level as RowsOfLevel, Tries

STRENGTHS = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
LEAST = 2.0
"""A configuration of less weight has no node: a single row that is left out would find it empty."""

_JUDGES = 1000
_CLASS_LEVEL = -1


class TrieRows(NamedTuple):
    """Rows of codes, (n_features, n_rows), their classes and weights, and the numbers of states and classes."""

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    n_states: tuple[int, ...]
    n_classes: int


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a trie.

    Parameters
    ----------
    parent : int
        The feature that leads from the level before to this one; −1: none, this is the level of the class alone.
    strength : float
        s, how many rows the level before is worth.
    child : ndarray of shape (n_nodes before · n_parent_states,)
        The node that follows on a node and the parent's state; −1: none.
    cell : ndarray of shape (n_nodes · n_states,)
        The number of the cell of a node and a state of the feature; −1: it does not occur.
    totals, counts : Entries
        The weight of the rows of each node, and of each cell, in each class.
    """

    parent: int
    strength: float
    child: np.ndarray
    cell: np.ndarray
    totals: Entries
    counts: Entries


class Entries(NamedTuple):
    """The entries above zero of a (group × class) table: group g has those from start[g] to start[g + 1]."""

    start: np.ndarray
    classes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> Entries:
        """Return the entries of a dense table."""
        groups, classes = np.nonzero(table)
        start = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=len(table)))])
        return cls(start.astype(np.int64), classes.astype(np.int32), table[groups, classes])


@dataclass(frozen=True, eq=False)
class Trie:
    """The hierarchical estimate of a feature given the class and its parents.

    Parameters
    ----------
    feature : int
        The feature.
    base : ndarray of shape (n_states,)
        P₀.
    levels : tuple of Level
        That of the class alone, then one for each parent.
    """

    feature: int
    base: np.ndarray
    levels: tuple[Level, ...]


def grow_trie(rows: TrieRows, feature: int, parents: Sequence[int]) -> tuple[Trie, np.ndarray]:
    """Return the trie of a feature, and P(x | c, parents) for each row and class, the row itself left out.

    Rows without a code are not counted, and get 1.
    """
    x, r = rows.codes[feature], rows.n_states[feature]
    base, estimate = _base(rows, x, r)
    node, levels, n_nodes = np.where(x < 0, -1, 0), [], 1
    for parent in (_CLASS_LEVEL, *parents):
        level = _grown(rows, feature, parent, node, n_nodes, estimate)
        if level is None:
            break
        levels.append(level)
        n_nodes = len(level.totals.start) - 1
    return Trie(feature, base, tuple(levels)), estimate


def _base(rows: TrieRows, x: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    weights = np.where(x < 0, 0.0, rows.weights)
    n_x, n, one = np.bincount(np.maximum(x, 0), weights, minlength=r), weights.sum(), np.minimum(weights, 1.0)
    left_out = np.where(x < 0, 1.0, (n_x[x] - one + 1.0 / r) / (n - one + 1.0))
    return (n_x + 1.0 / r) / (n + 1.0), np.repeat(left_out[:, None], rows.n_classes, axis=1)


def _grown(
    rows: TrieRows, feature: int, parent: int, node: np.ndarray, n_nodes: int, estimate: np.ndarray
) -> Level | None:
    """Return the next level; nodes and estimates of the rows become those of it. None where it has no node."""
    x, r, is_class = rows.codes[feature], rows.n_states[feature], parent == _CLASS_LEVEL
    codes, n_parent_states = (
        (np.zeros(len(x), np.int32), 1) if is_class else (rows.codes[parent], rows.n_states[parent])
    )
    _check_room(12.0 * n_nodes * n_parent_states)
    child = np.empty(n_nodes * n_parent_states, np.int32)
    n_nodes = forests.grow_level(node, codes, n_parent_states, rows.weights, 0.0 if is_class else LEAST, child)
    if n_nodes == 0:
        return None
    _check_room(4.0 * n_nodes * r)
    cell, row_cell = np.empty(n_nodes * r, np.int32), np.empty(len(x), np.int64)
    n_cells = forests.number_cells(node, x, r, cell, row_cell)
    totals, counts = np.zeros((n_nodes, rows.n_classes)), np.zeros((n_cells, rows.n_classes))
    forests.add_by_class(node, rows.classes, rows.weights, totals)
    forests.add_by_class(row_cell, rows.classes, rows.weights, counts)
    level = RowsOfLevel(node, row_cell, rows.classes, rows.weights, totals, counts)
    strength = float(forests.best_strength(level, estimate, STRENGTHS, max(1, len(x) // _JUDGES)))
    forests.leave_rows_out(level, strength, estimate)
    return Level(parent, strength, child, cell, Entries.of(totals), Entries.of(counts))


def _check_room(n_bytes: float) -> None:
    check_memory(
        "the configurations of a feature and its parents",
        n_bytes,
        ways_out="Use a smaller max_parents, or leave out columns with many states.",
    )


def flatten(tries: Sequence[Trie], exponents: np.ndarray, n_states: Sequence[int]) -> Tries:
    """Return tries as arrays, each with its exponent."""
    levels = [level for trie in tries for level in trie.levels]
    totals, counts = ([getattr(level, name) for level in levels] for name in ("totals", "counts"))
    cells, first_cell = [], _starts([len(c.start) - 1 for c in counts])
    for level, first in zip(levels, first_cell, strict=False):
        cells.append(np.where(level.cell >= 0, level.cell + first, -1))
    return Tries(
        np.array([t.feature for t in tries], np.int64),
        np.asarray(exponents, np.float64),
        _starts([len(t.base) for t in tries]),
        _joined([t.base for t in tries], np.float64),
        _starts([len(t.levels) for t in tries]),
        np.array([level.parent for level in levels], np.int64),
        np.array([1 if level.parent < 0 else n_states[level.parent] for level in levels], np.int64),
        np.array([level.strength for level in levels], np.float64),
        _starts([len(level.child) for level in levels]),
        _joined([level.child for level in levels], np.int32),
        _starts([len(level.cell) for level in levels]),
        _joined(cells, np.int32),
        np.array([len(t.base) for t in tries], np.int64),
        _starts([len(t.start) - 1 for t in totals]),
        *_together(totals),
        *_together(counts),
    )


def _together(entries: Sequence[Entries]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of several tables as those of one, whose groups are all groups end to end."""
    offsets = _starts([len(e.classes) for e in entries])
    start = [e.start[:-1] + first for e, first in zip(entries, offsets, strict=False)]
    ends = _joined([*start, offsets[-1:]], np.int64)
    return ends, _joined([e.classes for e in entries], np.int32), _joined([e.weights for e in entries], np.float64)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(parts: Sequence[np.ndarray], dtype: DTypeLike) -> np.ndarray:
    return np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype)
