"""Entropy, mutual information and conditional mutual information, in nats, from counts.

With N the rows of a table n_ij, n_i. and n_.j its margins,

    I(X; Y) = Σ_ij (n_ij / N) log(n_ij N / (n_i. n_.j)),

and I(X; Y | Z) is the mean of the I(X; Y) within the states of Z, weighted by their share of the rows. Missing
values are handled pair by pair: every table counts the rows in which its variables are complete (available cases), so
values for different pairs may come from different rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import DTypeLike

from tunbridge._core.lazy import LazyModule
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.counts.columns import Columns, build_planes, has_few_pairs, information_by_planes, offsets
from tunbridge.counts.counter import Counter
from tunbridge.counts.radix import is_dense, joint_table, occurring_counts
from tunbridge.counts.records import Counts, PairCounts
from tunbridge.data import Variable
from tunbridge.errors import DataError

special = LazyModule("scipy.special")

_SMALL_MATRIX = 100_000
"""Up to so many cells NumPy does it at once, before any kernel has to be compiled or loaded."""
_PIECE_CELLS = 1 << 16
"""Cells of a matrix of pair counts that are worked on at once."""
_KNOWN_TERMS = 1 << 16
"""n log n is looked up for smaller counts."""


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


@overload
def mutual_information(counts: PairCounts) -> np.ndarray: ...


@overload
def mutual_information(counts: Counts | np.ndarray) -> float: ...


def mutual_information(counts: Counts | PairCounts | np.ndarray) -> float | np.ndarray:
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


@dataclass(frozen=True, eq=False)
class PairInformation:
    """The mutual information of all pairs of variables, given a further one if there is one.

    Parameters
    ----------
    variables : tuple of Variable
        The variables.
    information : ndarray of shape (n, n)
        I(X; Y) or I(X; Y | Z) in nats; the entropies on the diagonal.
    rows : ndarray of shape (n, n)
        The number (or weight) of the rows without missing values in the two variables and Z.
    with_given : ndarray of shape (n,), optional
        I(X; Z) of each variable, if there is a Z.
    """

    variables: tuple[Variable, ...]
    information: np.ndarray
    rows: np.ndarray
    with_given: np.ndarray | None = None


def pair_information(counter: Counter, given: str | None = None, *, dtype: DTypeLike = np.float64) -> PairInformation:
    """Return the mutual information of all pairs of a counter's variables, conditional on one of them if named.

    The same as ``mutual_information(counter.pairs())`` and ``mutual_information(counter.pairs_within(given))``, but
    for rounding, without the matrix of counts: bit planes are counted, and columns with many states pair by pair. Rows
    with weights, small tables and sums of several tables are counted first.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> found = pair_information(counter, "play")
    >>> [v.name for v in found.variables]
    ['outlook', 'temperature', 'humidity', 'wind']
    >>> found.information[0].round(3).tolist()
    [0.922, 0.291, 0.154, 0.216]
    >>> found.with_given.round(3).tolist()
    [0.171, 0.02, 0.105, 0.033]
    """
    part = counter.parts[0]
    is_small = has_few_pairs(part, int(part.states.sum()), "fill_pair_information")
    if len(counter.parts) == 1 and part.scale == 1.0 and part.weights is None and not is_small:
        return _from_columns(part, None if given is None else part.table.position(given), dtype)
    pairs = counter.pairs() if given is None else counter.pairs_within(given)
    information, rows = information_and_rows(pairs)
    if given is None:
        return PairInformation(pairs.variables, information, rows)
    margins = np.diagonal(pairs.matrix, axis1=1, axis2=2)
    return PairInformation(pairs.variables, information, rows, information_with_given(margins, pairs.first))


def _from_columns(part: Columns, given: int | None, dtype: DTypeLike) -> PairInformation:
    chosen = [v for v in range(len(part.codes)) if v != given]
    check_memory("the information of all pairs", 16.0 * len(chosen) ** 2, ways_out="Use fewer columns.")
    columns, n_states = part.of_members(chosen)
    within = None if given is None else (part.codes[given], int(part.states[given]))
    planes = part.planes if within is None else build_planes(columns, n_states, within=within, n_jobs=part.n_jobs)
    information, rows, margins = information_by_planes(planes, dtype, n_jobs=part.n_jobs)
    with_given = None if within is None else information_with_given(margins, planes.state)

    def measure(*members: int) -> tuple[float, float]:
        return _wide_information(part, [*([] if given is None else [given]), *(chosen[k] for k in members)])

    def fill(pair: tuple[int, int]) -> None:
        i, j = pair
        information[i, j], rows[i, j] = information[j, i], rows[j, i] = measure(i, j)

    wide = np.flatnonzero(~part.narrow[chosen])
    if len(wide):
        rows = rows.copy()
        information[wide], information[:, wide], rows[wide], rows[:, wide] = 0.0, 0.0, 0.0, 0.0
    wide = wide[part.states[chosen][wide] > 0]
    others = np.flatnonzero(part.states[chosen]).tolist()
    map_threads(fill, [(i, j) for i in wide.tolist() for j in others if j <= i or j not in wide], part.n_jobs)
    if with_given is not None:
        with_given[wide] = [measure(i)[0] for i in wide.tolist()]
    return PairInformation(tuple(part.table.variables[v] for v in chosen), information, rows, with_given)


def pair_divergence(counter: Counter, model: Counter, report: Callable[[float], None] | None = None) -> np.ndarray:
    """Return D_KL(P(X, Y) ‖ Q(X, Y)) for all pairs of variables, in single precision, zero on the diagonal.

    Parameters
    ----------
    counter, model : Counter
        P are the frequencies of the one, Q those of the other, of the same variables; one row, spread evenly over the
        cells of a table, is added to the counts of Q.
    report : callable, optional
        Called with the share of the work that is done.
    """
    states = np.array([v.n_states for v in counter.variables], np.int64)
    first, n = offsets(states), len(states)
    check_memory(f"a measure of all pairs of {n} variables", 4.0 * n * n, ways_out="Learn from fewer columns.")
    out = np.zeros((n, n), np.float32)
    for (low, high, ours), (_, _, theirs) in zip(counter.pair_blocks(), model.pair_blocks(), strict=True):
        size = max(1, _PIECE_CELLS * (high - low) // max(1, ours.size))
        pieces = [(low + a, low + b) for a, b in row_pieces(high - low, size)]

        def fill(piece: tuple[int, int], ours=ours, theirs=theirs, low=low) -> None:  # type: ignore[no-untyped-def]
            here, later, cut = slice(*piece), slice(piece[0], None), first[piece[0]] - first[low]
            rows, columns = first[piece[0] : piece[1] + 1] - first[piece[0]], first[later] - first[piece[0]]
            one_row = 1.0 / np.maximum(1, states[here, None] * states[later])
            p = ours[cut : cut + rows[-1], cut:].astype(np.float64)
            q = theirs[cut : cut + rows[-1], cut:] + np.repeat(np.repeat(one_row, states[here], 0), states[later], 1)
            total, modelled, found = (
                _sums_by_variable(rows, _sums_by_variable(columns, x, axis=1), axis=0)
                for x in (p, q, special.xlogy(p, p) - special.xlogy(p, q))
            )
            found = np.divide(found, total, out=np.zeros_like(total), where=total > 0)
            found += np.log(np.divide(modelled, total, out=np.ones_like(total), where=total > 0))
            out[here, later] = np.triu(np.maximum(found, 0.0), 1)

        map_threads(fill, pieces, counter.n_jobs)
        if report is not None:
            report(high / n)
    return out + out.T


def _wide_information(part: Columns, members: Sequence[int]) -> tuple[float, float]:
    """Return the information between the last two columns, given the one before if there is one, and the rows."""
    codes, n_states = part.of_members(members)
    if is_dense(n_states, part.n_rows):
        table = joint_table(codes, n_states, None, n_jobs=1).reshape([1] * (3 - len(n_states)) + n_states)
        counts = [table.sum(axis=axes) for axes in ((), 2, 1, (1, 2))]
    else:
        some = np.flatnonzero(np.logical_and.reduce([c >= 0 for c in codes]))
        *rest, a, b = range(len(members))
        families = ([*rest, a, b], [*rest, a], [*rest, b], rest)
        counts = [occurring_counts([codes[v][some] for v in f], [n_states[v] for v in f], len(some)) for f in families]
    cells, of_a, of_b, of_rest = (float(n_log_n(n).sum()) for n in counts)
    total = float(counts[0].sum())
    return (max(0.0, (cells - of_a - of_b + of_rest) / total) if total > 0 else 0.0), total


def information_and_rows(counts: PairCounts) -> tuple[np.ndarray, np.ndarray]:
    """Return the mutual information of all pairs, conditional if they were counted so, and the rows of each."""
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
    """Return I for all pairs, and the rows of each."""
    n, first = len(counts.variables), counts.first
    if matrix.size > _SMALL_MATRIX:
        from tunbridge.kernels.counting.planes import fill_information

        information, rows = np.empty((n, n)), np.empty((n, n))
        known = n_log_n(np.arange(0.0 if matrix.dtype.kind == "f" else _KNOWN_TERMS))
        pieces = row_pieces(n, max(1, n // 64))
        map_threads(lambda some: fill_information(matrix, first, known, some, information, rows), pieces)
        return information, rows
    # Σ n log n over tables and margins are sums over blocks of the matrix
    matrix = matrix.astype(np.float64)
    margins = _sums_by_variable(first, matrix, axis=1)
    rows, of_margins = (_sums_by_variable(first, x, axis=0) for x in (margins, n_log_n(margins)))
    of_cells = _sums_by_variable(first, _sums_by_variable(first, n_log_n(matrix), axis=1), axis=0)
    total = n_log_n(rows) + of_cells - of_margins - of_margins.T
    return np.maximum(np.divide(total, rows, out=np.zeros_like(rows), where=rows > 0), 0.0), rows


def _sums_by_variable(first: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
    """Return the sums over each variable's states along an axis (0 for a variable without states)."""
    n_states = np.diff(first)
    out = np.zeros((len(n_states), *np.moveaxis(array, axis, 0).shape[1:]))
    if (n_states > 0).any():
        out[n_states > 0] = np.moveaxis(np.add.reduceat(array, first[:-1][n_states > 0], axis=axis), axis, 0)
    return np.moveaxis(out, 0, axis)


def n_log_n(n: np.ndarray) -> np.ndarray:
    """Return n log n, 0 at 0."""
    return special.xlogy(n, n)
