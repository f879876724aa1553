"""Entropy, mutual information and conditional mutual information, in nats, from counts.

With N the rows of a table n_ij, n_i. and n_.j its margins,

    I(X; Y) = Σ_ij (n_ij / N) log(n_ij N / (n_i. n_.j)),

and I(X; Y | Z) is the mean of the I(X; Y) within the states of Z, weighted by their share of the rows. Missing cells
are handled pair by pair: every table counts the rows that miss none of its variables (available cases), so figures of
different pairs may rest on different rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.counts.records import Counts, PairCounts
from tunbridge.errors import DataError

_SMALL_MATRIX = 100_000
"""Up to so many cells NumPy does it at once, before any kernel has to be compiled or loaded."""


def entropy(counts: Counts | np.ndarray) -> float:
    """Return the entropy of a variable, H = −Σ_k (n_k / N) log(n_k / N); 0 when there are no rows.

    Of a family it is the entropy of the child by itself, of an array with two axes that of the second.

    Examples
    --------
    >>> import numpy as np
    >>> round(entropy(np.array([5, 9])), 4)
    0.6518
    """
    n = _table_of(counts, 1).sum(axis=0)
    total = n.sum()
    return max(0.0, float(np.log(total) - n_log_n(n).sum() / total)) if total > 0 else 0.0


def mutual_information(counts: Counts | PairCounts | np.ndarray) -> Any:
    """Return the mutual information between child and parents, or the matrix of it for all pairs.

    Parameters
    ----------
    counts : Counts, PairCounts or ndarray
        A family: the information between the child and the joint state of its parents. Pair counts: a symmetric
        matrix, the entropies of the variables on its diagonal; conditional on the variable within whose states they
        were counted, if any. An array: a table of two variables.

    Returns
    -------
    float or ndarray
        Never negative. Pairs without a common row have 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> round(mutual_information(counter.family("play", ["outlook"])), 4)
    0.171
    """
    if isinstance(counts, PairCounts):
        return information_and_rows(counts)[0]
    table = _table_of(counts, 2)
    total = table.sum()
    if total <= 0:
        return 0.0
    margins = n_log_n(table.sum(axis=0)).sum() + n_log_n(table.sum(axis=1)).sum()
    return max(0.0, float((n_log_n(table).sum() - margins) / total + np.log(total)))


def conditional_mutual_information(counts: PairCounts) -> np.ndarray:
    """Return the matrix of I(X; Y | Z) for all pairs counted within the states of Z.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> information = conditional_mutual_information(counter.pairs_within("play"))
    >>> [v.name for v in counter.pairs_within("play").variables]
    ['outlook', 'temperature', 'humidity', 'wind']
    >>> information[0].round(3).tolist()
    [0.922, 0.291, 0.154, 0.216]
    """
    if counts.given is None:
        raise DataError(
            "conditional information must be of pairs counted within a variable; got plain pairs. Use pairs_within."
        )
    return information_and_rows(counts)[0]


def information_and_rows(counts: PairCounts) -> tuple[np.ndarray, np.ndarray]:
    """Return the mutual information of all pairs, conditional if they were counted so, and the rows each rests on."""
    if counts.given is None:
        return _pair_information(counts, counts.matrix)
    n_variables = len(counts.variables)
    information, rows = np.zeros((n_variables, n_variables)), np.zeros((n_variables, n_variables))
    for matrix in counts.matrix:
        within, n = _pair_information(counts, matrix)
        information += n * within
        rows += n
    return np.divide(information, rows, out=np.zeros_like(rows), where=rows > 0), rows


def information_with_given(margins: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return I(X; Z) of several variables X from the counts of their states, one row of them for each state of Z.

    Variable v's states are first[v] … first[v + 1] − 1.
    """
    n = margins.astype(np.float64)
    within = _sums_by_variable(first, n, axis=1)
    rows = within.sum(axis=0)
    cells = _sums_by_variable(first, n_log_n(n).sum(axis=0), axis=0)
    states = _sums_by_variable(first, n_log_n(n.sum(axis=0)), axis=0)
    total = n_log_n(rows) + cells - states - n_log_n(within).sum(axis=0)
    return np.maximum(np.divide(total, rows, out=np.zeros_like(rows), where=rows > 0), 0.0)


def _table_of(counts: Counts | np.ndarray, low: int) -> np.ndarray:
    """Return counts as a table of floats with two axes, the first of length one where there is but one."""
    table = np.asarray(counts.table if isinstance(counts, Counts) else counts, np.float64)
    if not low <= table.ndim <= 2 or not (table >= 0).all():
        axes = "two axes" if low == 2 else "one or two axes"
        raise DataError(f"counts must be a table of {axes} and not negative; got an array of shape {table.shape}.")
    return np.atleast_2d(table)


def _pair_information(counts: PairCounts, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return I for all pairs, and the rows that each rests on."""
    if matrix.size <= _SMALL_MATRIX:
        return _numpy_information(counts, matrix.astype(np.float64))
    from tunbridge.kernels.information import fill_information

    n_variables = len(counts.variables)
    information, rows = np.empty((n_variables, n_variables)), np.empty((n_variables, n_variables))
    pieces = row_pieces(n_variables, max(1, n_variables // 64))
    map_threads(lambda some: fill_information(matrix, counts.first, *some, information, rows), pieces)
    return information, rows


def _numpy_information(counts: PairCounts, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same: Σ n log n over tables and margins are sums over blocks of one matrix."""
    margins = _sums_by_variable(counts.first, matrix, axis=1)
    rows = _sums_by_variable(counts.first, margins, axis=0)
    of_margins = _sums_by_variable(counts.first, n_log_n(margins), axis=0)
    of_cells = _block_sums(counts.first, n_log_n(matrix))
    total = n_log_n(rows) + of_cells - of_margins - of_margins.T
    information = np.divide(total, rows, out=np.zeros_like(rows), where=rows > 0)
    return np.maximum(information, 0.0), rows


def _block_sums(first: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return _sums_by_variable(first, _sums_by_variable(first, matrix, axis=1), axis=0)


def _sums_by_variable(first: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
    """Return the sums over each variable's states along an axis (0 for a variable without states)."""
    n_states = np.diff(first)
    shape = list(array.shape)
    shape[axis] = len(n_states)
    out = np.zeros(shape)
    if (n_states > 0).any():
        at: list[Any] = [slice(None)] * array.ndim
        at[axis] = n_states > 0
        out[tuple(at)] = np.add.reduceat(array, first[:-1][n_states > 0], axis=axis)
    return out


def n_log_n(n: np.ndarray) -> np.ndarray:
    """Return n log n, 0 at 0."""
    return n * np.log(np.where(n > 0, n, 1.0))
