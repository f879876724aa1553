"""Rows whose classes are known: what models are learned from and evaluated on.

Rows without a class are left out, and counted. The rows are one table, whose columns keep their kinds in every fold; an
estimator of another make may get them as they came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean
from tunbridge.classifiers.rows.batch import is_frame
from tunbridge.data import Table, Variable, as_table
from tunbridge.data.classes import with_classes
from tunbridge.data.columns import infer_column
from tunbridge.errors import DataError


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows that have a class.

    Parameters
    ----------
    table : Table
        The features and the target, which is categorical.
    target : str
        The column of the classes.
    left_out : int
        How many rows had no class.
    is_named : bool
        Whether the target is a column of the data, or was given beside them.
    source : pandas frame or ndarray, optional
        The features of the same rows as they came, for models that are not ours.
    """

    table: Table
    target: str
    left_out: int = 0
    is_named: bool = True
    source: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The classes that rows have, in the order that classifiers give them."""
        states = self.table.variable(self.target).states or ()
        seen = [states[c] for c in np.unique(self.table.codes(self.target))]
        try:
            return tuple(sorted(seen))
        except TypeError:
            return tuple(seen)

    @cached_property
    def codes(self) -> np.ndarray:
        """The position of each row's class among :attr:`classes`."""
        states = self.table.variable(self.target).states or ()
        place = {c: k for k, c in enumerate(self.classes)}
        return np.array([place.get(s, -1) for s in states], np.int64)[self.table.codes(self.target)]

    @property
    def labels(self) -> np.ndarray:
        """The classes of the rows."""
        return np.array(self.classes)[self.codes]

    @property
    def weights(self) -> np.ndarray:
        """The weights of the rows, 1 where there are none."""
        return np.ones(self.n_rows) if self.table.weights is None else self.table.weights

    @property
    def features(self) -> Table:
        """The rows without their classes."""
        return self.table.drop([self.target])

    def as_they_came(self) -> Any:
        """Return the features as scikit-learn takes them: the frame or array that was given, else a pandas frame."""
        return self.features.to_pandas() if self.source is None else self.source

    def take(self, mask: np.ndarray) -> Labelled:
        """Return some of the rows; the classes are known to be those of all."""
        found = replace(self, table=self.table.take(mask), source=rows_of(self.source, mask))
        found.__dict__["classes"] = self.classes
        return found


def labelled(frame: Any, target: Any, *, weights: Any = None) -> Labelled:
    """Return the rows of a frame that have a class.

    Parameters
    ----------
    frame : frame, dict of columns, Table, or array
        The rows.
    target : str or array-like
        The name of the column of the classes, or the classes.
    weights : str or array-like, optional
        The name of the column of the rows' weights, or the weights.
    """
    table = as_table(frame, weights=weights)
    named = isinstance(target, str)
    if named and target not in table.names:
        raise DataError(f"target must name a column of the data; got {target!r}. {did_you_mean(target, table.names)}")
    if not named:
        table, target = _with_target(table, target)
    coded, present = with_classes(table, target)
    gone = {name for name in ([target] if named else []) + [weights] if isinstance(name, str)}
    source = rows_of(_source(frame, gone), present)
    kept = coded if present.all() else coded.take(present)
    return Labelled(kept, target, int((~present).sum()), named, source)


def rows_of(source: Any, mask: np.ndarray) -> Any:
    """Return some rows of a pandas frame or an array."""
    if source is None or mask.all():
        return source
    return source.iloc[np.flatnonzero(mask)] if hasattr(source, "iloc") else source[mask]


def _source(frame: Any, gone: set[str]) -> Any:
    """Return the features of a frame as they came, where scikit-learn knows what they are; otherwise None."""
    if isinstance(frame, np.ndarray) and frame.ndim == 2 and frame.dtype.names is None:
        return frame
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return frame.drop(columns=[name for name in gone if name in frame.columns])
    return None


def _with_target(table: Table, target: Any) -> tuple[Table, str]:
    """Return the table with the classes as a column of a name that is free."""
    name = getattr(target, "name", None)
    name = name if isinstance(name, str) and name.strip() and name not in table.names else "class"
    while name in table.names:
        name += "_"
    if is_frame(target) or np.ndim(target) != 1:
        raise DataError("target must be the name of a column, or one class for each row; got neither.")
    column = infer_column(name, target if hasattr(target, "__array__") else np.asarray(target), None)
    if len(column.values) != table.n_rows:
        raise DataError(f"target must have a class for each row; got {len(column.values)} for {table.n_rows} rows.")
    return table.with_column(column), name


def class_codes(classes: Any, values: Any) -> np.ndarray:
    """Return where each value stands among some classes; −1 for one that is none of them.

    Examples
    --------
    >>> class_codes(["no", "yes"], ["yes", "perhaps"]).tolist()
    [1, -1]
    """
    variable = Variable("class", list(classes))
    return np.array([variable.find(value) for value in values], np.int64)
