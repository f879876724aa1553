"""The table: columns of small integer codes and of floats, missing cells marked, optional weights.

A categorical column is an array of codes in the smallest integer type that holds them, −1 where the cell is missing;
a continuous one is float64 with NaN. A table never changes: its arrays are read-only, and every method that changes
something returns a new table that shares what stayed the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._check import did_you_mean, listed
from tunbridge.data.columns import Column, code_type, column_to_arrow
from tunbridge.data.variable import MISSING, Variable
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas
    import polars

_IDENTIFIER_ROWS = 10


@dataclass(frozen=True, eq=False)
class Table:
    """An immutable table of categorical codes and floats.

    Most tables come from :func:`as_table` or :func:`read_table`; the constructor takes what these have prepared.

    Parameters
    ----------
    variables : tuple of Variable
        One a column, names distinct.
    columns : tuple of ndarray
        Codes (signed integers, −1 for missing) for categorical variables, float64 (NaN for missing) for continuous.
    types : tuple of pyarrow.DataType
        The types in which the values go out again.
    weights : ndarray, optional
        A non-negative weight for each row.
    read_as_missing : mapping of str to mapping of str to int
        For each column that was read from text: which markers were taken for missing, and how often.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.as_table({"sky": ["clear", "cloudy", None], "wind": [2.5, 7.0, 4.1]})
    >>> table
    Table: 3 rows × 2 columns, 1 missing cell
      sky   categorical  clear, cloudy   1 missing
      wind  continuous   2.5 … 7
    >>> table.codes("sky").tolist()
    [0, 1, -1]
    """

    variables: tuple[Variable, ...]
    columns: tuple[np.ndarray, ...]
    types: tuple[pa.DataType, ...]
    weights: np.ndarray | None = None
    read_as_missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        twice = _repeated(self.names)
        if twice:
            raise DataError(f"column names must be distinct; got {listed(twice)} more than once. Rename one.")
        lengths = {len(values) for values in self.columns}
        if len(lengths) > 1:
            sizes = {v.name: len(c) for v, c in zip(self.variables, self.columns, strict=True)}
            raise DataError(f"columns must be equally long; got {sizes}.")
        for values in self.columns:
            values.flags.writeable = False
        if self.weights is not None:
            object.__setattr__(self, "weights", check_weights(self.weights, self.n_rows))

    @classmethod
    def of(cls, columns: Iterable[Column], **rest: Any) -> Table:
        """Return a table of prepared columns."""
        parts = list(columns)
        # A view, so that marking it read-only leaves the caller's own array as it was.
        return cls(
            tuple(c.variable for c in parts),
            tuple(c.values.view() for c in parts),
            tuple(c.type for c in parts),
            **rest,
        )

    # What is in it

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return tuple(v.name for v in self.variables)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Return the index of a column; raise with a hint when there is none of that name."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise DataError(
                f"the name must be that of a column of the table; got {name!r}. {did_you_mean(name, self.names)}"
            ) from None

    def variable(self, name: str) -> Variable:
        """Return the variable of a column."""
        return self.variables[self.position(name)]

    def column(self, name: str) -> Column:
        """Return a column with its variable and type."""
        i = self.position(name)
        return Column(self.variables[i], self.columns[i], self.types[i])

    def codes(self, name: str) -> np.ndarray:
        """Return the codes of a categorical column (−1 where missing)."""
        if self.variable(name).is_continuous:
            raise DataError(f"column {name!r} must be categorical; it is continuous. Discretise it first.")
        return self.columns[self.position(name)]

    def floats(self, name: str) -> np.ndarray:
        """Return the values of a continuous column (NaN where missing)."""
        if self.variable(name).is_categorical:
            raise DataError(
                f"column {name!r} must be continuous; it is categorical. Use kinds={{{name!r}: 'continuous'}}."
            )
        return self.columns[self.position(name)]

    @cached_property
    def missing(self) -> dict[str, int]:
        """The number of missing cells of each column that has any."""
        counts = {v.name: _count_missing(c) for v, c in zip(self.variables, self.columns, strict=True)}
        return {name: n for name, n in counts.items() if n}

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that look like row identifiers: text or whole numbers, no value twice, none missing."""
        if self.n_rows <= _IDENTIFIER_ROWS:
            return ()
        return tuple(c.variable.name for c in self if _is_identifier(c, self.n_rows))

    def __iter__(self) -> Any:
        return (Column(*parts) for parts in zip(self.variables, self.columns, self.types, strict=True))

    # New tables from this one

    def select(self, names: Iterable[str]) -> Table:
        """Return the table of these columns, in this order."""
        return Table.of([self.column(name) for name in names], weights=self.weights, **self._markers(names))

    def drop(self, names: Iterable[str]) -> Table:
        """Return the table without these columns."""
        gone = {self.position(name) for name in names}
        return self.select([name for i, name in enumerate(self.names) if i not in gone])

    def take(self, rows: Any) -> Table:
        """Return the table of these rows: a slice, indices, or a mask."""
        weights = None if self.weights is None else self.weights[rows]
        columns = [c._replace(values=c.values[rows]) for c in self]
        return Table.of(columns, weights=weights, read_as_missing=self.read_as_missing)

    def with_weights(self, weights: Any) -> Table:
        """Return the table with a weight for each row (``None``: without weights)."""
        return Table.of(self, weights=weights, read_as_missing=self.read_as_missing)

    def with_column(self, column: Column) -> Table:
        """Return the table with a column added, or put in the place of the one with the same name."""
        columns = [column if c.variable.name == column.variable.name else c for c in self]
        if column.variable.name not in self._positions:
            columns.append(column)
        return Table.of(columns, weights=self.weights, read_as_missing=self.read_as_missing)

    def recode(self, variables: Sequence[Variable]) -> Table:
        """Return the columns of these variables with codes in their order of states, which must contain those here."""
        return Table.of([_recoded(self.column(v.name), v) for v in variables], weights=self.weights)

    def _markers(self, names: Iterable[str]) -> dict[str, Any]:
        return {"read_as_missing": {n: self.read_as_missing[n] for n in names if n in self.read_as_missing}}

    # Out again

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow.Table with the values and types that came in (NaN comes back as null)."""
        return pa.table([column_to_arrow(c) for c in self], names=list(self.names))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return a polars.DataFrame."""
        import polars

        return polars.DataFrame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    # For people

    def summary(self) -> str:
        """Return one line a column: kind, states or range, missing cells, and what looks odd."""
        lines = [_column_line(c) for c in self]
        widths = [max((len(line[i]) for line in lines), default=0) for i in range(3)]
        return "\n".join(
            (
                "  "
                + "  ".join(text.ljust(w) for text, w in zip(line[:3], widths, strict=True))
                + "  "
                + self._remarks(line[0])
            ).rstrip()
            for line in lines
        )

    def _remarks(self, name: str) -> str:
        remarks = []
        if name in self.missing:
            markers = self.read_as_missing.get(name)
            found = f" ({', '.join(m if m else 'empty' for m in markers)})" if markers else ""
            remarks.append(f"{self.missing[name]} missing{found}")
        if name in self.identifiers:
            remarks.append("looks like an identifier")
        return ", ".join(remarks)

    def __repr__(self) -> str:
        n_missing = sum(self.missing.values())
        cells = f"{n_missing} missing cell{'' if n_missing == 1 else 's'}"
        weighted = ", weighted" if self.weights is not None else ""
        return f"Table: {self.n_rows} rows × {self.n_columns} columns, {cells}{weighted}\n{self.summary()}".rstrip()


def check_weights(weights: Any, n_rows: int) -> np.ndarray:
    """Return row weights as a read-only float64 array; raise unless there is a finite, non-negative one for each row."""
    array = np.array(weights, np.float64)
    if array.shape != (n_rows,):
        raise DataError(f"weights must be one number a row; got shape {array.shape} for {n_rows} rows.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise DataError(f"weights must be finite and not negative; row {bad[0] + 1} has {array[bad[0]]}.")
    array.flags.writeable = False
    return array


def _repeated(names: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    return [n for n in names if n in seen or seen.add(n)]  # type: ignore[func-returns-value]


def _count_missing(values: np.ndarray) -> int:
    return int(np.count_nonzero(np.isnan(values) if values.dtype.kind == "f" else values < 0))


def _is_identifier(column: Column, n_rows: int) -> bool:
    variable, values, arrow_type = column
    if variable.is_categorical:
        if variable.n_states < n_rows:
            return False
        return int(values.min()) >= 0 and np.unique(values).size == n_rows
    whole = pa.types.is_integer(arrow_type) and not np.isnan(values).any()
    return whole and np.unique(values).size == n_rows


def _recoded(column: Column, variable: Variable) -> Column:
    if column.variable.states == variable.states:
        return column._replace(variable=variable)
    if column.variable.is_continuous or variable.is_continuous:
        raise DataError(f"column {variable.name!r} must be categorical in both tables; in one it is continuous.")
    codes = np.empty(column.variable.n_states + 1, code_type(variable.n_states))
    codes[:-1] = [variable.code(state) for state in column.variable.states or ()]
    codes[-1] = MISSING
    return column._replace(variable=variable, values=codes[column.values])


def _column_line(column: Column) -> tuple[str, str, str]:
    variable, values, _ = column
    if variable.is_categorical:
        states = [str(s) for s in (variable.states or ())[:5]]
        more = f", … ({variable.n_states} states)" if variable.n_states > 5 else ""
        return variable.name, "categorical", ", ".join(states) + more if states else "no states"
    present = values[~np.isnan(values)]
    span = f"{present.min():g} … {present.max():g}" if present.size else "no values"
    return variable.name, "continuous", span
