"""Leave-one-out of many models in one pass: every number of features with every number of parents.

The features stand in an order x₁ … x_n, each with its parents, the most telling first. Model (a, k) uses the first a
features, and the first k parents of each,

    P(c | x) ∝ P(c) Π_{f ≤ a} P(x_f | c, p₁ … p_k),

so the factors of all models are entries of the tables of :mod:`tunbridge.classifiers.dependence.prefixes`, computed
once for each cell with one of its rows left out, and adding a feature to a model is one multiplication for each class.
What is learned from all rows together stays: the order, the parents, cut points, states, and the strengths of the
smoothing.

A row of weight w counts like w rows, each of them left out singly. A row whose class has no other row is not asked:
nothing could predict it.

Cells that are missing add nothing; a missing parent, and those after it, are left out of that row's factor (the model
that is chosen sums it out exactly).

References
----------
A. M. Martínez, G. I. Webb, S. Chen, N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers. Journal of
Machine Learning Research 17 (44), 1–35.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.dependence.prefixes import Tables
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Table

CRITERIA = ("log-loss", "rmse", "error")
"""How losses are measured: mean −log P(c | x), root of the mean (1 − P(c | x))², share of wrong classes."""

PIECE_ROWS = 8192
"""Rows that are summed together; pieces begin at multiples of it whatever the batches, so that sums are the same."""

_LEAST = 2.0**-52
_EQUAL = 1e-12


class Rows(NamedTuple):
    """Rows of codes, (n_features, n_rows), and their classes and weights."""

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


# The pass


def aligned(tables: Iterable[Table], alone: np.ndarray) -> Iterator[Rows]:
    """Yield the rows of tables, the class first, in blocks that end at multiples of the piece size, but for the last.

    Rows of classes that are ``alone`` (with one row) weigh nothing.
    """
    waiting: Rows | None = None
    for table in tables:
        rows = _rows(table, alone)
        if waiting is not None:
            rows = Rows(*(np.concatenate(pair, axis=-1) for pair in zip(waiting, rows, strict=True)))
        whole = len(rows.classes) // PIECE_ROWS * PIECE_ROWS
        if whole:
            yield Rows(*(a[..., :whole] for a in rows))
        waiting = Rows(*(a[..., whole:] for a in rows))
    if waiting is not None and len(waiting.classes):
        yield waiting


def _rows(table: Table, alone: np.ndarray) -> Rows:
    kind = np.result_type(np.int8, *(c.dtype for c in table.columns[1:]))
    check_memory(
        "the codes of all rows",
        float(kind.itemsize) * table.n_columns * table.n_rows,
        ways_out="Learn in batches: fit_batches.",
    )
    codes = np.array(table.columns[1:], kind).reshape(table.n_columns - 1, table.n_rows)
    classes = table.columns[0].astype(np.int64)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    return Rows(codes, classes, np.where(alone[classes], 0.0, weights))


def sum_losses(
    blocks: Iterable[Rows], tables: Tables, prior: np.ndarray, criterion: str, n_jobs: int | None
) -> np.ndarray:
    """Return the sums of the losses of all rows, (n_features + 1, max_k + 1)."""
    measure = CRITERIA.index(criterion)
    total = np.zeros((len(tables.first) + 1, tables.first.shape[1]))

    def piece_losses(rows: Rows) -> np.ndarray:
        return _piece_losses(rows, tables, prior, measure)

    for block in blocks:
        pieces = [Rows(*(a[..., i:j] for a in block)) for i, j in row_pieces(len(block.classes), PIECE_ROWS)]
        for found in map_threads(piece_losses, pieces, n_jobs):
            total += found
    return total


def _piece_losses(rows: Rows, tables: Tables, prior: np.ndarray, measure: int) -> np.ndarray:
    n_rows, out = len(rows.classes), np.zeros((len(tables.first) + 1, tables.first.shape[1]))
    if rows.codes.size <= SMALL_CELLS:
        _add_losses(rows, tables, prior, measure, out)
        return out
    from tunbridge.kernels.leave_one_out import add_losses

    shape = (n_rows, out.shape[1], len(prior))
    codes, weights = np.ascontiguousarray(rows.codes, np.int32), np.ascontiguousarray(rows.weights)
    room = np.empty(shape), np.empty(shape, np.int32), np.empty(shape[:2], np.bool_)
    add_losses(codes, rows.classes, weights, *tables, prior, measure, *room, out)
    return out


def _add_losses(rows: Rows, tables: Tables, prior: np.ndarray, measure: int, out: np.ndarray) -> None:
    """Do in NumPy, and in logarithms, what the kernel of this name does."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)[rows.classes]
    joint = [log_prior.copy() for _ in range(out.shape[1])]
    out[0] += _weighed(log_prior, log_prior, rows, measure).sum()
    for f in range(len(tables.first)):
        for k, log_factors in enumerate(_log_factors(rows, tables, f, out.shape[1])):
            joint[k] += log_factors
            out[f + 1, k] += _weighed(joint[k], log_prior, rows, measure).sum()


def _log_factors(rows: Rows, tables: Tables, f: int, n_levels: int) -> Iterator[np.ndarray]:
    """Yield what a feature with no, one, … parents adds to log P(x, c) of each row."""
    members = tables.members[tables.start[f] : tables.start[f + 1]]
    sizes = tables.sizes[tables.start[f] : tables.start[f + 1]]
    codes, i = rows.codes[members].astype(np.int64), np.arange(len(rows.classes))
    cell, level = codes[0], np.zeros(len(i), np.int64)
    for k in range(n_levels):
        if 0 < k < len(members):
            deeper = (level == k - 1) & (codes[k] >= 0)
            cell, level = np.where(deeper, cell * sizes[k] + codes[k], cell), np.where(deeper, k, level)
        at = tables.first[f, level] + np.maximum(cell, 0)
        factors = tables.others[at]
        factors[i, rows.classes] = tables.own[at, rows.classes]
        factors[codes[0] < 0] = 1.0
        with np.errstate(divide="ignore"):
            yield np.log(factors)


def _weighed(joint: np.ndarray, log_prior: np.ndarray, rows: Rows, measure: int) -> np.ndarray:
    """Return the weighted loss of each row, from log P(x, c)."""
    joint = np.where(np.isneginf(joint.max(axis=1, keepdims=True)), log_prior, joint)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    own = (shares / shares.sum(axis=1, keepdims=True))[np.arange(len(joint)), rows.classes]
    if measure == CRITERIA.index("log-loss"):
        return rows.weights * -np.log(np.maximum(own, _LEAST))
    if measure == CRITERIA.index("rmse"):
        return rows.weights * (1.0 - own) ** 2
    return rows.weights * (joint.argmax(axis=1) != rows.classes)


def mean_losses(sums: np.ndarray, n_rows: float, criterion: str) -> np.ndarray:
    """Return the losses a row; 0 where no row could be asked."""
    means = sums / n_rows if n_rows > 0.0 else np.zeros_like(sums)
    return np.sqrt(means) if criterion == "rmse" else means


def best_model(losses: np.ndarray) -> tuple[int, int]:
    """Return the numbers of features and of parents with the least loss; of equals the fewest, features first.

    Examples
    --------
    >>> best_model(np.array([[0.7, 0.7], [0.5, 0.4], [0.4, 0.6]]))
    (1, 1)
    """
    least = losses.min()
    a, k = np.argwhere(losses <= least + _EQUAL * max(1.0, float(least)))[0].tolist()
    return a, k
