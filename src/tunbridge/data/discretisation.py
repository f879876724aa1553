"""Discretisation: continuous values become a few bins, and the bins are ordered states.

Four ways to choose the bin edges:

- **equal width**: bins of one width over the range; easy to read, but may leave bins empty;
- **equal frequency**: about as many rows in every interval, whatever the scale; equal values stay together;
- **given edges**: from a guideline or an expert (a temperature above 38.5 is fever);
- **minimum description length** (Fayyad & Irani 1993), which uses the class of each row. Split a set S of rows at the
  point T where the classes of the two sides are purest, that is where the information gain

      Gain(T; S) = Ent(S) − |S₁|/|S| · Ent(S₁) − |S₂|/|S| · Ent(S₂)

  is largest, and go on with both sides. A split is kept only if it shortens the description of the
  classes: if the bits it saves outweigh the bits that encode the edge and the classes on its sides. A column without an
  edge carries no information about the class by itself.

A value equal to a bin edge belongs to the interval below it. Missing values stay missing. The bin edges stay with the
variable (:class:`~tunbridge.data.Variable`), so that whatever is learned from it still reads numbers.

References
----------
Fayyad, U. M. and Irani, K. B. (1992). On the handling of continuous-valued attributes in decision tree generation.
*Machine Learning* 8, 87–102 (theorem 1: the best cut is a boundary point).

Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued attributes for classification
learning. *Proceedings of the 13th International Joint Conference on Artificial Intelligence*, 1022–1027.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import as_list, check_choice, check_number
from tunbridge._core.memory import check_memory
from tunbridge.data.arrow import Frame, Values
from tunbridge.data.columns import Column, column_to_arrow, infer_column, interval_codes, to_floats
from tunbridge.data.frames import as_table
from tunbridge.data.mdl import mdl_gaps
from tunbridge.data.table import Table, check_weights
from tunbridge.data.variable import Variable, checked_cuts, interval_labels, iterated_cuts
from tunbridge.errors import DataError

Method = Literal["width", "frequency", "mdl"]
METHODS = ("width", "frequency", "mdl")

_MOST_BINS = 1_000_000
_BYTES_A_ROW = 180  # peak of mdl_cuts on values that are all distinct


@dataclass(frozen=True)
class Discretisation:
    """The bin edges of a number, and the intervals between them as ordered states.

    Parameters
    ----------
    cuts : iterable of float
        Finite and strictly increasing. A value x is in interval i when cuts[i − 1] < x ≤ cuts[i]; with no cuts there is
        one interval.

    Examples
    --------
    >>> fever = Discretisation((37.5, 38.5))
    >>> fever.labels
    ('≤ 37.5', '37.5 – 38.5', '> 38.5')
    >>> fever.codes([36.6, 37.5, 39.2, None])
    array([ 0,  0,  2, -1], dtype=int8)
    """

    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", checked_cuts(self.cuts))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the intervals, from low to high, with as many digits as distinguish the bin edges."""
        return interval_labels(self.cuts)

    def variable(self, name: str, *, dates: bool = False) -> Variable:
        """Return the categorical variable whose states are the labels, in order, with the bin edges."""
        return Variable(name, None if dates else self.labels, cuts=self.cuts, dates=dates)

    def codes(self, values: Values) -> np.ndarray:
        """Return the number of each value's interval, counted from 0; −1 where the value is missing."""
        return interval_codes(self.cuts, _floats("values", values))

    def column(self, name: str, values: Values, *, dates: bool = False) -> Column:
        """Return the values as a categorical column, which goes out to frames as an ordered categorical."""
        codes = interval_codes(self.cuts, _floats(name, values))
        arrow_type = pa.dictionary(pa.from_numpy_dtype(codes.dtype), pa.string(), ordered=True)
        return Column(self.variable(name, dates=dates), codes, arrow_type)


Cuts: TypeAlias = Discretisation | Iterable[float]


def at_cuts(cuts: Cuts) -> Discretisation:
    """Return the discretisation at given bin edges, in any order.

    Examples
    --------
    >>> at_cuts([65, 18]).labels
    ('≤ 18', '18 – 65', '> 65')
    """
    if isinstance(cuts, Discretisation):
        return cuts
    return Discretisation(tuple(sorted(check_number("a bin edge", cut) for cut in iterated_cuts(cuts))))


def equal_width(values: Values, n_bins: int = 10, weights: ArrayLike | None = None) -> Discretisation:
    """Return bin edges that divide the range of the values into bins of equal width.

    Parameters
    ----------
    values : array-like of numbers
        Missing values (NaN, None) do not count.
    n_bins : int
        How many intervals. A constant column gets one; a range of fewer floating-point numbers than that gets fewer.
    weights : array-like, optional
        Rows of weight zero do not count; other weights do not change the range.

    Returns
    -------
    Discretisation

    Examples
    --------
    >>> equal_width([0, 1, 1, 2, 8], n_bins=4).cuts
    (2.0, 4.0, 6.0)
    """
    n_bins = _check_bins(n_bins)
    floats = _floats("values", values)
    kept, _ = _counted_rows(floats, weights)
    if not kept.any():
        return Discretisation(())
    present = floats[kept]
    low, high, part = present.min(), present.max(), np.arange(1, n_bins) / n_bins
    cuts = low * (1 - part) + high * part  # a sum of two products: high − low could overflow
    return Discretisation(tuple(np.unique(cuts[(cuts >= low) & (cuts < high)]).tolist()))


def equal_frequency(values: Values, n_bins: int = 10, weights: ArrayLike | None = None) -> Discretisation:
    """Return bin edges that leave about the same weight of rows in every interval.

    Each of the n_bins − 1 wanted shares i / n_bins is cut at the gap between two distinct values that comes nearest to
    it (the lower one of two equally near); wanted shares that meet in one gap give one cut. So equal values are never
    parted, no interval is empty, and ties make fewer intervals.

    Parameters
    ----------
    values : array-like of numbers
        Missing values (NaN, None) do not count.
    n_bins : int
        How many intervals at most.
    weights : array-like, optional
        A non-negative weight for each row; a weight of 2 is the row twice.

    Returns
    -------
    Discretisation

    Examples
    --------
    >>> equal_frequency([1, 2, 3, 4, 50, 600], n_bins=3).cuts
    (2.5, 27.0)
    >>> equal_frequency([0, 0, 0, 0, 0, 7], n_bins=3).cuts
    (3.5,)
    """
    n_bins = _check_bins(n_bins)
    floats = _floats("values", values)
    kept, mass = _counted_rows(floats, weights)
    distinct, rank = np.unique(floats[kept], return_inverse=True)
    if distinct.size < 2:
        return Discretisation(())
    reached = np.cumsum(np.bincount(rank, mass[kept]))
    # Shares are compared as reached · n_bins with i · total: exact for whole weights.
    wanted, gaps = np.arange(1, n_bins) * reached[-1], reached[:-1] * n_bins
    above = np.minimum(np.searchsorted(gaps, wanted), gaps.size - 1)
    below = np.maximum(above - 1, 0)
    nearest = np.unique(np.where(wanted - gaps[below] <= gaps[above] - wanted, below, above))
    return Discretisation(tuple(_midpoint(distinct[i], distinct[i + 1]) for i in nearest))


def mdl_cuts(values: Values, classes: ArrayLike, weights: ArrayLike | None = None) -> Discretisation:
    """Return the bin edges of Fayyad and Irani's recursive minimum-description-length discretisation.

    A set of N rows and k classes is cut where the gain is largest, if

        Gain > [log₂(N − 1) + log₂(3ᵏ − 2) − (k·Ent(S) − k₁·Ent(S₁) − k₂·Ent(S₂))] / N

    and both sides are treated in the same way.

    Parameters
    ----------
    values : array-like of numbers
        Rows whose value is missing (NaN, None) do not count.
    classes : array-like of int
        The class of each row as a code; rows with a negative one (missing) do not count.
    weights : array-like, optional
        A non-negative weight for each row; a weight of 2 is the row twice. They are numbers of cases, not shares: N is
        their sum, and a set that weighs less than two cases is not cut.

    Returns
    -------
    Discretisation
        Without cuts when none is worth its description.

    Notes
    -----
    Only boundary points can have the largest gain (Fayyad & Irani 1992): gaps between distinct values that are not both
    of one and the same class alone. A cut lies in the middle of its gap; of several cuts that are equally good up to
    rounding the lowest is taken. Rows are sorted once; then each set costs time in proportion to its boundary points,
    whatever the number of classes.

    Examples
    --------
    >>> mdl_cuts([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1]).cuts
    (4.5,)
    >>> mdl_cuts([1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 0, 1, 0, 1, 0, 1]).cuts
    ()
    """
    floats = _floats("values", values)
    codes = _check_classes(classes, floats.size)
    check_memory("MDL discretisation", floats.size * _BYTES_A_ROW, ways_out="Give fewer rows, or use equal_frequency.")
    kept, mass = _counted_rows(floats, weights)
    kept &= codes >= 0
    if not kept.any():
        return Discretisation(())
    gaps = mdl_gaps(floats[kept], codes[kept], mass[kept])
    return Discretisation(tuple(_midpoint(low, high) for low, high in gaps))


def learn_cuts(
    values: Values,
    method: Method,
    *,
    classes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
) -> Discretisation:
    """Return what the method of that name makes of one column; ``classes`` are for "mdl", ``n_bins`` for the others."""
    check_choice("method", method, METHODS)
    if method == "mdl":
        if classes is None:
            raise DataError("method 'mdl' must know the classes; got None. Name the target, or use 'frequency'.")
        return mdl_cuts(values, classes, weights)
    return (equal_width if method == "width" else equal_frequency)(values, n_bins, weights)


def discretise(
    table: Frame,
    method: Method | Mapping[str, Cuts] = "frequency",
    *,
    target: str | None = None,
    columns: Iterable[str] | None = None,
    n_bins: int = 10,
) -> tuple[Table, dict[str, Discretisation]]:
    """Return the table with its continuous columns as ordered states, and each one's discretisation.

    Parameters
    ----------
    table : Table or frame
        Categorical columns stay as they are; row weights are respected.
    method : {"frequency", "width", "mdl"} or mapping of str to bin edges
        A mapping gives the bin edges, or a :class:`Discretisation`, for each column that is to be discretised: so
        what was learned on one table is applied to another.
    target : str, optional
        The column of the classes, which "mdl" needs; it stays as it is.
    columns : iterable of str, optional
        The columns to discretise (default: all continuous ones but the target). Not together with a mapping.
    n_bins : int
        For "width" and "frequency": how many intervals.

    Returns
    -------
    table : Table
    discretisations : dict of str to Discretisation

    Examples
    --------
    >>> visits = {"age": [20.0, 31.5, 48.0, 73.0], "drug": ["A", "A", "B", "B"]}
    >>> table, found = discretise(visits, "mdl", target="drug")
    >>> table
    Table: 4 rows × 2 columns, 0 missing values
      age   categorical  ≤ 39.75, > 39.75
      drug  categorical  A, B
    >>> later, _ = discretise({"age": [40.0], "drug": ["A"]}, found)
    >>> later.codes("age").tolist()
    [1]
    """
    table = as_table(table)
    if isinstance(method, Mapping):
        if columns is not None:
            raise DataError("columns must be None when the method is a mapping of columns; got both. Drop one.")
        found = {name: at_cuts(cuts) for name, cuts in method.items()}
    else:
        check_choice("method", method, METHODS)
        classes = None if target is None or method != "mdl" else table.codes(target)
        names = _continuous_names(table, target) if columns is None else as_list("columns", columns)
        found = {
            name: learn_cuts(table.floats(name), method, classes=classes, weights=table.weights, n_bins=n_bins)
            for name in names
        }
    check_memory("the bins of all rows", 4.0 * table.n_rows * len(found), ways_out="Give fewer rows or columns.")
    done = {
        name: each.column(name, table.floats(name), dates=table.variable(name).dates) for name, each in found.items()
    }
    parts = [done.get(column.variable.name, column) for column in table]
    return table.with_columns(parts), found


def with_bins(table: Table, numbers: Iterable[str], method: Method, target: str | None, n_bins: int) -> Table:
    """Return columns of numbers as states for a network: in bins; each value is a state if they are few integers.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = tb.as_table({"rooms": [1, 2, 3, 2, 1, 3], "rent": [400.0, 510.5, 760.0, 530.0, 450.0, 900.0]})
    >>> found = with_bins(rows, rows.names, "frequency", None, 3)
    >>> found.variable("rooms").states, found.variable("rent").states
    ((1, 2, 3), ('≤ 480.2', '480.2 – 645', '> 645'))
    """
    for name in numbers if method != "mdl" else ():
        distinct = np.unique(table.floats(name))
        distinct = distinct[~np.isnan(distinct)]
        if len(distinct) <= n_bins and (distinct == np.round(distinct)).all():
            table = table.with_column(infer_column(name, column_to_arrow(table.column(name)), "categorical"))
    return discretise(table, method, target=target, n_bins=n_bins)[0]


# Checks


def _floats(name: str, values: Values) -> np.ndarray:
    if getattr(values, "ndim", 1) != 1 or isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        shape = getattr(values, "shape", repr(values))
        raise DataError(f"{name} must be one-dimensional; got {shape}. Give one column at a time.")
    return to_floats(name, values)


def _check_bins(n_bins: int) -> int:
    number = check_number("n_bins", n_bins, low=1, high=_MOST_BINS)
    if number != int(number):
        raise DataError(f"n_bins must be an integer; got {n_bins!r}.")
    return int(number)


def _check_classes(classes: ArrayLike, n_rows: int) -> np.ndarray:
    codes = np.asarray(classes)
    if codes.dtype.kind not in "biu" and codes.size:
        raise DataError(f"classes must be integer codes; got {codes.dtype}. Use the codes of a Table's column.")
    if codes.shape != (n_rows,):
        raise DataError(f"classes must be one code a row; got shape {codes.shape} for {n_rows} rows.")
    return codes.astype(np.int64, copy=False)


def _counted_rows(floats: np.ndarray, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the rows that are present and weigh something, and the weight of every row."""
    mass = np.ones(floats.size) if weights is None else check_weights(weights, floats.size)
    return ~np.isnan(floats) & (mass > 0), mass


def _continuous_names(table: Table, target: str | None) -> list[str]:
    if target is not None:
        table.position(target)  # raises with a hint when there is no such column
    return [v.name for v in table.variables if v.is_continuous and v.name != target]


def _midpoint(low: float, high: float) -> float:
    """Return a number m with low ≤ m < high, the middle where there is one."""
    low, high = float(low), float(high)
    middle = (low + high) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return middle if low <= middle < high else low
