"""The table: columns of small integer codes and of floats, missing values marked, optional weights.

A categorical column is an array of codes in the smallest integer type that holds them, −1 where the cell is missing;
a continuous one is float64 with NaN. A table never changes: its arrays are read-only, and every method that changes
something returns a new table that shares what stayed the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import as_list, did_you_mean, listed, repeated, shortened, warn_user
from tunbridge._core.grid import grid_lines, html_table
from tunbridge._core.hashing import mixed, seeded, text_key
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads
from tunbridge.data.arrow import Values, is_text
from tunbridge.data.columns import (
    Column,
    code_type,
    column_to_arrow,
    encode_column,
    fitting_type,
    state_type,
    to_floats,
)
from tunbridge.data.formats.spelling import Habits, Spelling, spelling_of
from tunbridge.data.reading import NumberForm
from tunbridge.data.summary import (
    Facts,
    counted,
    described,
    facts_of,
    listed_markers,
    looks_like_identifier,
    suspected_markers,
)
from tunbridge.data.variable import MISSING, State, Variable, number_of
from tunbridge.errors import DataError, DataWarning, UnseenStateWarning

if TYPE_CHECKING:
    import pandas
    import polars

    from tunbridge.data.reading import Reading

_SHOWN_COLUMNS, _SHOWN_ROWS = 40, 10
_FEW_STATES = 10
_PRINTED_ROWS, _PRINTED_WIDTH, _CELL_WIDTH = 20, 100, 24


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
        They are not copied; a float column may be a view of an array with strides.
    types : tuple of pyarrow.DataType
        The types in which the values go out again.
    weights : ndarray, optional
        A non-negative weight for each row.
    read_as_missing : mapping of str to mapping of str to int
        For each column that was read from text: which markers were taken for missing, and how often.
    reading : Reading, optional
        How the table was read from a file; ``print(table.reading)`` is the report of what was detected.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.as_table({"sky": ["clear", "cloudy", None], "wind": [2.5, 7.0, 4.1]})
    >>> table
    Table: 3 rows × 2 columns, 1 missing value
      sky   categorical  clear, cloudy  1 missing
      wind  continuous   2.5 … 7
    >>> table.codes("sky").tolist()
    [0, 1, -1]
    """

    variables: tuple[Variable, ...]
    columns: tuple[np.ndarray, ...]
    types: tuple[pa.DataType, ...]
    weights: np.ndarray | None = None
    read_as_missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    reading: Reading | None = None
    names: tuple[str, ...] = field(init=False)
    """The column names."""
    n_rows: int = field(init=False)
    """The number of rows (of a table without columns: of weights)."""
    n_columns: int = field(init=False)
    """The number of columns."""
    positions: Mapping[str, int] = field(init=False)
    """The index of each column, by name."""
    _is_part = False  # whether the rows were taken from another table: then they are printed, if they are few

    def __post_init__(self) -> None:
        self._derive()
        if not len(self.variables) == len(self.columns) == len(self.types):
            sizes = f"{len(self.variables)}, {len(self.columns)} and {len(self.types)}"
            raise DataError(f"variables, columns and types must be equally many; got {sizes}.")
        check_lengths(zip(self.names, self.columns, strict=True))
        for column in self:
            _check_values(column)
        weights = None if self.weights is None else check_weights(self.weights, self.n_rows)
        self.__dict__.update(columns=tuple(map(_locked, self.columns)), weights=weights)  # the class is frozen

    def _derive(self) -> None:
        """Set what follows from the columns, and leave out markers of others; raise if two columns have one name."""
        names = tuple(v.name for v in self.variables)
        positions = {name: i for i, name in enumerate(names)}
        if len(positions) < len(names):
            twice = listed(repeated(names))
            raise DataError(f"column names must be distinct; got {twice} more than once. Rename one.")
        markers = self.read_as_missing
        self.__dict__.update(
            names=names,
            n_rows=_n_rows(self.columns, self.weights),
            n_columns=len(names),
            positions=positions,
            read_as_missing={name: markers[name] for name in names if name in markers},
        )

    @classmethod
    def of(
        cls,
        columns: Iterable[Column],
        *,
        weights: ArrayLike | None = None,
        read_as_missing: Mapping[str, Mapping[str, int]] | None = None,
        reading: Reading | None = None,
    ) -> Table:
        """Return a table of prepared columns."""
        variables, values, types = tuple(zip(*columns, strict=True)) or ((), (), ())
        return cls(variables, values, types, weights, read_as_missing or {}, reading)  # type: ignore[arg-type]

    @classmethod
    def of_valid(cls, columns: Iterable[Column], like: Table | None = None) -> Table:
        """Return a table of columns that need no check, with the weights and markers of another table.

        What classifiers read may hold numbers in other types than float64: an array of integers or of 32-bit floats is
        not copied. :meth:`floats` converts them.
        """
        variables, values, types = tuple(zip(*columns, strict=True)) or ((), (), ())
        self = object.__new__(cls)
        self.__dict__.update(
            variables=variables,
            columns=tuple(map(_locked, values)),
            types=types,
            weights=None if like is None else like.weights,
            read_as_missing={} if like is None else like.read_as_missing,
            reading=None if like is None else like.reading,
        )
        self._derive()
        return self

    # What is in it

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.n_rows, self.n_columns

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.positions

    def __getitem__(self, key: Any) -> Any:
        """Return the values of a column, some columns, one row as a dict, some rows, or ``[rows, columns]``.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.as_table({"sky": ["clear", "grey", None], "wind": [2.5, 7.0, 4.1]})
        >>> table["wind"].tolist(), table["sky"].tolist(), table[0]
        ([2.5, 7.0, 4.1], ['clear', 'grey', None], {'sky': 'clear', 'wind': 2.5})
        >>> table[["wind"]].names, table[1:].shape, table[table["wind"] > 4].shape
        (('wind',), (2, 2), (2, 2))
        """
        if isinstance(key, str):
            return column_to_arrow(self.column(key)).to_numpy(zero_copy_only=False)
        if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
            return self.select(key)
        if isinstance(key, tuple) and len(key) == 2:
            rows, columns = key
            return self[rows] if columns is Ellipsis or columns == slice(None) else self[columns][rows]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return self.take(np.array([key])).to_arrow().to_pylist()[0]
        return self.take(key)

    def head(self, n: int = 5) -> Table:
        """Return the first rows.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.as_table({"sky": ["clear", "grey", None], "wind": [2.5, 7.0, 4.1]}).head(2)
        Table: 2 rows × 2 columns, 0 missing values
        sky    wind
        clear   2.5
        grey      7
        """
        return self.take(slice(0, n))

    def tail(self, n: int = 5) -> Table:
        """Return the last rows."""
        return self.take(slice(max(0, self.n_rows - n), None))

    def position(self, name: str) -> int:
        """Return the index of a column; raise with a hint when there is none of that name."""
        try:
            return self.positions[name]
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
        return self.columns[self.position(name)].astype(np.float64, copy=False)

    @cached_property
    def missing(self) -> dict[str, int]:
        """The number of missing values of each column that has any."""
        return {name: facts.n_missing for name, facts in self._facts.items() if facts.n_missing}

    @property
    def complete(self) -> np.ndarray:
        """Which rows have no missing value, as a mask."""
        known = [c.values >= 0 if c.variable.is_categorical else ~np.isnan(c.values) for c in self]
        return np.logical_and.reduce(known) if known else np.ones(self.n_rows, bool)

    @cached_property
    def _facts(self) -> dict[str, Facts]:
        return {c.variable.name: facts_of(c.values) for c in self}

    @cached_property
    def suspected_missing(self) -> dict[str, dict[str, int]]:
        """Values that may stand for missing ones, though they were not read so, and how often each occurs, by column.

        In columns of text they are texts such as ``n/a``, and up to five texts where most values are numbers, or all
        others dates; in columns of numbers -99 or 999 far from all other values.
        """
        found = {c.variable.name: suspected_markers(c, self._facts[c.variable.name]) for c in self}
        return {name: markers for name, markers in found.items() if markers}

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that look like row identifiers: more than ten rows, no value twice, none missing.

        They are categorical, or integers that are consecutive or a hundred at least.
        """
        return tuple(c.variable.name for c in self if c.variable.name not in self.missing and looks_like_identifier(c))

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """The columns that hold one value only, missing values apart (in a table of two rows or more)."""
        return tuple(name for name, facts in self._facts.items() if self.n_rows > 1 and facts.low == facts.high)

    def __iter__(self) -> Iterator[Column]:
        return (Column(*parts) for parts in zip(self.variables, self.columns, self.types, strict=True))

    # New tables from this one

    def select(self, names: Iterable[str]) -> Table:
        """Return the table of these columns, in this order."""
        return Table.of_valid([self.column(name) for name in as_list("names", names, "column names")], self)

    def drop(self, names: Iterable[str]) -> Table:
        """Return the table without these columns."""
        gone = {self.position(name) for name in as_list("names", names, "column names")}
        return Table.of_valid([column for i, column in enumerate(self) if i not in gone], self)

    def take(self, rows: slice | ArrayLike) -> Table:
        """Return the table of these rows: a slice, indices, or a mask."""
        kept = _checked_rows(rows, self.n_rows)
        columns = tuple(_locked(values[kept]) for values in self.columns)
        weights = None if self.weights is None else _locked(self.weights[kept])
        taken = object.__new__(Table)
        taken.__dict__.update(
            variables=self.variables,
            columns=columns,
            types=self.types,
            weights=weights,
            read_as_missing=self.read_as_missing,
            reading=self.reading,
            names=self.names,
            n_rows=_n_rows(columns, weights),
            n_columns=self.n_columns,
            positions=self.positions,
            _is_part=True,
        )
        return taken

    def with_weights(self, weights: ArrayLike | None) -> Table:
        """Return the table with a weight for each row (``None``: without weights).

        A row of weight zero adds nothing to what is learned, but the variables stay as they are: a state (or a class)
        that only such rows have remains a state, with a share of the smoothing. To learn without it, drop these rows
        before the data become a table.
        """
        return replace(self, weights=weights)  # type: ignore[arg-type]

    def with_columns(self, columns: Iterable[Column]) -> Table:
        """Return the table of other columns of the same rows."""
        return Table.of(columns, weights=self.weights, read_as_missing=self.read_as_missing, reading=self.reading)

    def with_reading(self, reading: Reading | None) -> Table:
        """Return the table with a record of how it was read."""
        found = object.__new__(Table)
        found.__dict__.update(self.__dict__, reading=reading)  # the class is frozen
        return found

    def with_column(self, column: Column) -> Table:
        """Return the table with a column added, or put in the place of the one with the same name."""
        new = column.variable.name
        columns = [column if c.variable.name == new else c for c in self]
        markers = {name: found for name, found in self.read_as_missing.items() if name != new}
        known = columns if new in self.positions else [*columns, column]
        return Table.of(known, weights=self.weights, read_as_missing=markers, reading=self.reading)

    def recode(self, variables: Sequence[Variable]) -> Table:
        """Return the columns of these variables with codes in their order of states, which must contain those here."""
        return self.with_columns([_recoded(self.column(v.name), v) for v in variables])

    def encode(self, variables: Sequence[Variable], *, n_jobs: int | None = None) -> Table:
        """Return the columns of these variables in their codes; unseen categories are missing, with one warning.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.as_table({"sky": ["clear", "cloudy"], "wind": [2.5, 7.0]})
        >>> table.encode([tb.Variable("sky", ["rain", "cloudy", "clear"])]).codes("sky").tolist()
        [2, 1]
        """
        columns = [self.column(v.name) for v in variables]
        found = map_threads(lambda both: encode_values(*both), list(zip(variables, columns, strict=True)), n_jobs)
        warn_unseen({v.name: unseen for v, (_, unseen) in zip(variables, found, strict=True) if unseen})
        types = [fitting_type(v, c.type) if v.is_categorical == c.variable.is_categorical else natural_type(v)
                 for v, c in zip(variables, columns, strict=True)]  # fmt: skip
        parts = zip(variables, (values for values, _ in found), types, strict=True)
        return Table.of_valid((Column(*part) for part in parts), self)

    # Rows that classifiers deal to folds

    @property
    def row_bytes(self) -> float:
        """The bytes that it takes to copy a row and count what it holds, roughly."""
        return 8.0 * self.n_columns

    def keys(self, seed: int) -> np.ndarray:
        """Return a key for each row: equal for equal rows, whatever the order of columns and states, else random."""
        total = np.zeros(self.n_rows, np.uint64)
        for variable, values, _ in self:
            if variable.is_categorical:
                marks = [text_key(f"{variable.name}\0{state}") for state in variable.states or ()]
                total += np.array([*marks, 0], np.uint64)[values]  # −1, a missing value, is the last
            else:
                numbers = np.asarray(values, np.float64) + 0.0  # the two zeros are one number
                bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
                total += mixed(bits ^ np.array([text_key(variable.name)], np.uint64))
        return seeded(total, seed)

    def as_known_to(self, learned: Table) -> Table:
        """Return the rows with categories missing that no row of another table has, as they are at prediction."""
        found = []
        for column, other in zip(self, learned.columns, strict=True):
            values = column.values
            if column.variable.is_categorical:
                seen = np.zeros(column.variable.n_states + 1, np.bool_)
                seen[other] = True
                values = np.where(seen[values], values, -1).astype(values.dtype)
            found.append(column._replace(values=values))
        return Table.of_valid(found, self)

    # Out again

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow.Table with the values and types that came in (NaN comes back as null)."""
        self._check_copy(8.0)
        return pa.table([column_to_arrow(c) for c in self], names=list(self.names))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the columns to a ``.csv``, ``.tsv`` or ``.jsonl`` file (also ``.gz``), or ``.parquet`` or ``.arrow``.

        Examples
        --------
        >>> import pathlib, tempfile, tunbridge as tb
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "sky.csv"
        >>> tb.as_table({"sky": ["clear", None], "wind": [2.5, 7.0]}).write(file)
        >>> tb.read_table(file)
        Table: 2 rows × 2 columns, 1 missing value
          sky   categorical  clear    1 missing (empty), constant
          wind  continuous   2.5 … 7
        """
        from tunbridge.data.writing import write_table

        write_table(path, self)

    save = write
    """The same as :meth:`write`."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas.DataFrame; integers and booleans with missing values have pandas' nullable types."""
        import pandas

        self._check_copy(16.0)
        columns = {c.variable.name: _to_pandas(column_to_arrow(c), pandas) for c in self}
        return pandas.DataFrame(columns, index=pandas.RangeIndex(self.n_rows))

    def to_polars(self) -> polars.DataFrame:
        """Return a polars.DataFrame; ordered states make an Enum, other categoricals a Categorical."""
        import polars

        self._check_copy(16.0)
        frame = polars.DataFrame(self.to_arrow())
        enums: dict[Any, Any] = {c.variable.name: _enum(c.variable, polars) for c in self if _is_enum(c)}
        return frame.cast(enums)

    def _check_copy(self, cell_bytes: float) -> None:
        what = f"a copy of {counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}"
        check_memory(what, cell_bytes * self.n_rows * self.n_columns, ways_out="Select columns, or take fewer rows.")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.variables, self.columns, self.types, self.weights, self.read_as_missing, self.reading)

    # For people

    def summary(self, *, most: int | None = None) -> str:
        """Return one line a column: kind, states or range, missing values, and what looks odd.

        ``most`` is the number of columns after which the rest are only counted.
        """
        shown = list(self)[:most]
        lines = [(*described(c, self._facts[c.variable.name]), self._remarks(c.variable.name)) for c in shown]
        texts = [f"  {text}" for text in grid_lines(lines[0], lines[1:], left=None)] if lines else []
        if len(shown) < self.n_columns:
            texts.append(f"  … and {counted(self.n_columns - len(shown), 'more column')}")
        return "\n".join(texts)

    def describe(self, *, most: int | None = None) -> str:
        """Return the size, the summary of the columns, and what was detected when the table was read from a file.

        Parameters
        ----------
        most : int or None
            The number of columns to list; None for all.

        Examples
        --------
        >>> import tunbridge as tb
        >>> print(tb.datasets.play_tennis().head(3).describe())
        Table: 3 rows × 5 columns, 0 missing values
          outlook      categorical  Overcast, Rain, Sunny
          temperature  categorical  Cool, Hot, Mild        constant
          humidity     categorical  High, Normal           constant
          wind         categorical  Strong, Weak
          play         categorical  no, yes
        """
        notes = () if self.reading is None else self.reading.notes
        detected = ["", "Detected:", *(f"  {note}" for note in notes)] if notes else []
        return "\n".join([self._size, self.summary(most=most), *detected]).rstrip()

    def _remarks(self, name: str) -> str:
        n_missing = self.missing.get(name, 0)
        markers = listed_markers(self.read_as_missing.get(name, {})) if n_missing else ""
        remarks = [
            (n_missing == self.n_rows > 0, f"all missing{markers}"),
            (0 < n_missing < self.n_rows, f"{n_missing} missing{markers}"),
            (name in self.constants, "constant"),
            (name in self.identifiers, "looks like an identifier"),
        ]
        return ", ".join(text for holds, text in remarks if holds)

    @property
    def _size(self) -> str:
        size = f"{counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}"
        cells = counted(sum(self.missing.values()), "missing value")
        return f"Table: {size}, {cells}{', weighted' if self.weights is not None else ''}"

    def __repr__(self) -> str:
        shows_rows = self._is_part and 0 < self.n_rows <= _PRINTED_ROWS and self.n_columns
        return f"{self._size}\n{self._grid() if shows_rows else self.summary(most=_SHOWN_COLUMNS)}".rstrip()

    def _grid(self) -> str:
        """Return the rows as lines of text, with as many columns as fit."""
        shown = self.select(self.names[:_SHOWN_COLUMNS])
        cells = [[_cell_text(value) for value in column.to_pylist()] for column in shown.to_arrow().columns]
        columns = [
            [shortened(text or "missing", _CELL_WIDTH) for text in (name, *texts)]
            for name, texts in zip(shown.names, cells, strict=True)
        ]
        widths = np.cumsum([max(map(len, texts)) + 2 for texts in columns])
        n = max(1, int(np.count_nonzero(widths <= _PRINTED_WIDTH)))
        rows = list(zip(*columns[:n], strict=True))
        left = [j for j, v in enumerate(shown.variables[:n]) if v.is_categorical]
        more = [f"… and {counted(self.n_columns - n, 'more column')}"] if n < self.n_columns else []
        return "\n".join([*grid_lines(rows[0], rows[1:], left=left), *more])

    def _repr_html_(self) -> str:
        """Return the size, and the first rows as a table."""
        shown = self.select(self.names[:_SHOWN_COLUMNS]).head(_SHOWN_ROWS).to_arrow()
        rows = [[_cell_text(value) for value in row.values()] for row in shown.to_pylist()]
        more = f"<p>… and {counted(self.n_rows - _SHOWN_ROWS, 'more row')}</p>" if self.n_rows > _SHOWN_ROWS else ""
        return f"<p>{escape(self._size)}</p>{html_table(shown.column_names, rows, left=None)}{more}"


def _cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def encode_values(
    variable: Variable, values: Column | Values, *, checked: bool = False
) -> tuple[np.ndarray, list[State]]:
    """Return codes or floats of a known variable, and the unseen categories, which are missing.

    Nothing is copied where a column of a Table has the same states, or is continuous as the variable is; nor are
    numbers that have been ``checked``.
    """
    if isinstance(values, Column):
        known = values.variable
        if variable.is_continuous and known.is_continuous:
            return values.values, []
        if variable.is_categorical and (known.states, known.cuts) == (variable.states, variable.cuts):
            return values.values, []
        values = _dictionary(values)
    return (np.asarray(values), []) if checked and variable.is_continuous else encode_column(variable, values)


def natural_type(variable: Variable) -> pa.DataType:
    """Return the Arrow type in which the values of a variable go out when they did not come in some other one."""
    return pa.float64() if variable.is_continuous else state_type(variable)


def warn_unseen(unseen: Mapping[str, Sequence[State]]) -> None:
    """Warn of unseen categories, given by column."""
    if unseen:
        told = "; ".join(f"{name!r} holds {listed(states, most=5)}" for name, states in unseen.items())
        warn_user(f"unseen categories are treated as missing: {told}.", UnseenStateWarning)


def warn_number_texts(columns: Iterable[Column], remedy: str, kind: object) -> None:
    """Warn of columns of text with many states that are all numbers, or all dates: they are categories, and may be
    meant as numbers.

    {} in the remedy stands for a mapping of plain numbers to the kind; numbers with decimal commas and dates must be
    converted before, in pandas. Codes with leading zeros are no numbers, and columns with up to ten states may well be
    categories.
    """
    texts = [c.variable for c in columns if not pa.types.is_dictionary(c.type) and c.variable.n_states > _FEW_STATES]
    found = [v.name for v in texts if _are_numbers(v.states)]
    if found:
        is_one = len(found) == 1
        told = f"{'column' if is_one else 'columns'} {listed(found)} {'holds' if is_one else 'hold'} numbers as text"
        kinds = ", ".join([f"{name!r}: {kind!r}" for name in found[:_FEW_STATES]] + ["…"] * (len(found) > _FEW_STATES))
        reads = f"{remedy.replace('{}', f'{{{kinds}}}')} reads {'it' if is_one else 'them'} as numbers"
        warn_user(f"{told}, read as categories. {reads}.", DataWarning)
    for variable in texts:
        spelled = None if variable.name in found else _spelling(variable.states or ())
        if spelled is not None and spelled.numbers != NumberForm():
            what, converted = _conversion(variable.name, spelled)
            told = f"column {variable.name!r} holds {what} as text, read as categories"
            warn_user(f"{told}. In pandas, data[{variable.name!r}] = {converted} converts them.", DataWarning)


def _spelling(states: Sequence[State]) -> Spelling | None:
    """Return how texts are written if all are numbers or dates."""
    words = [state for state in states if isinstance(state, str)]
    return spelling_of(words, Habits()) if len(words) == len(states) else None


def _conversion(name: str, spelled: Spelling) -> tuple[str, str]:
    """Return what the texts of a column are, and an expression of pandas that converts them."""
    column, form = f"data[{name!r}]", spelled.numbers
    errors = ", errors='coerce'" if spelled.markers else ""
    if form is None:
        given = "" if str(spelled.date).startswith("%Y-%m-%d") else f", format={spelled.date!r}"
        return "dates", f"pd.to_datetime({column}{given}{errors})"
    for mark in filter(None, (form.thousands, form.unit)):
        column += f".str.replace({mark!r}, '')"
    column += ".str.replace(',', '.')" if form.decimal == "," else ""
    return f"numbers with {form}", f"pd.to_numeric({column}{errors})"


def _are_numbers(states: Sequence[State] | None) -> bool:
    return all(isinstance(s, str) and number_of(s) is not None and not _is_code(s) for s in states or ())


def _is_code(text: str) -> bool:
    return text.startswith("0") and text.isdigit() and len(text) > 1


def _dictionary(column: Column) -> pa.Array:
    """Return a column as an Arrow array, a categorical one as its codes, so that no row is looked at."""
    if column.variable.is_categorical:
        column = column._replace(
            type=pa.dictionary(pa.from_numpy_dtype(column.values.dtype), state_type(column.variable))
        )
    return column_to_arrow(column)


def check_weights(weights: ArrayLike, n_rows: int) -> np.ndarray:
    """Return row weights as a read-only float64 array; raise unless each row has one, finite and not negative."""
    shape = np.shape(weights)
    if shape != (n_rows,):
        text = repr(str(weights)) if shape == () and np.asarray(weights).dtype.kind == "U" else ""
        got = f"the text {text}" if text else f"shape {shape}"
        hint = f" Give the values, as in X[{text}]." if text else ""
        raise DataError(f"weights must be one number a row; got {got} for {counted(n_rows, 'row')}.{hint}")
    array = to_floats("weights", weights)
    bad = np.flatnonzero(~(array >= 0))
    if bad.size:
        raise DataError(f"weights must be finite and not negative; row {bad[0] + 1} has {array[bad[0]]}.")
    with np.errstate(over="ignore"):
        if not np.isfinite(array.sum()):
            raise DataError("weights must have a finite sum; theirs overflows. Divide them by a constant first.")
    return _locked(array.copy() if array.flags.writeable else array)  # what may still change is the caller's


def check_lengths(columns: Iterable[tuple[str, Any]]) -> None:
    """Raise unless columns, given with their names, are equally long."""
    sizes = [(name, len(values)) for name, values in columns]
    for name, size in sizes:
        if size != sizes[0][1]:
            first = f"{sizes[0][0]!r} has {counted(sizes[0][1], 'value')}"
            raise DataError(f"columns must be equally long; {first} and {name!r} has {size}.")


def _n_rows(columns: Sequence[np.ndarray], weights: np.ndarray | None) -> int:
    rows = columns[0] if columns else weights
    return 0 if rows is None else len(rows)


def _check_values(column: Column) -> None:
    """Raise unless the values are codes of the variable's states, or floats."""
    variable, values, _ = column
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise DataError(f"column {variable.name!r} must be a one-dimensional array; got {shortened(repr(values))}.")
    if variable.is_continuous and values.dtype != np.float64:
        raise DataError(f"column {variable.name!r} is continuous and must be of type float64; got {values.dtype}.")
    if variable.is_categorical and values.dtype.kind != "i":
        raise DataError(f"column {variable.name!r} must hold codes, which are signed integers; got {values.dtype}.")
    if variable.is_categorical and values.size and not MISSING <= values.min() <= values.max() < variable.n_states:
        span = f"{values.min()} … {values.max()}"
        raise DataError(f"the codes of {variable.name!r} must lie between −1 and {variable.n_states - 1}; got {span}.")


def _locked(values: np.ndarray) -> np.ndarray:
    """Return a read-only view: the array itself stays its owner's to change."""
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def _checked_rows(rows: slice | ArrayLike, n_rows: int) -> slice | np.ndarray:
    """Return rows as something that NumPy takes as an index; raise for rows that do not exist."""
    if isinstance(rows, slice):
        return rows
    array = np.asarray(rows)
    if array.size == 0 and array.ndim == 1 and array.dtype != bool:
        return array.astype(np.intp)  # an empty list makes an array of floats
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise DataError(f"rows must be a slice, row numbers or a mask; got {shortened(repr(rows))}.")
    if array.dtype == bool and array.size != n_rows:
        raise DataError(f"a mask must have an entry for each of the {counted(n_rows, 'row')}; got {array.size}.")
    if array.dtype != bool and not -n_rows <= array.min() <= array.max() < n_rows:
        raise DataError(f"rows must be numbers below {n_rows}; got {array.min()} … {array.max()}.")
    return array


def _recoded(column: Column, variable: Variable) -> Column:
    arrow_type = fitting_type(variable, column.type)
    if column.variable.states == variable.states:
        return Column(variable, column.values, arrow_type)
    if column.variable.is_continuous or variable.is_continuous:
        raise DataError(f"column {variable.name!r} must be categorical in both tables; in one it is continuous.")
    codes = np.empty(column.variable.n_states + 1, code_type(variable.n_states))
    codes[:-1] = [variable.code(state) for state in column.variable.states or ()]
    codes[-1] = MISSING
    return Column(variable, codes[column.values], arrow_type)


def _to_pandas(array: pa.Array, pandas: ModuleType) -> Any:
    """Return a pandas column that holds the values as they are."""
    t = pa.types
    nullable = None
    if array.null_count and t.is_integer(array.type):
        nullable = getattr(pandas, str(array.type).replace("int", "Int").replace("u", "U") + "Dtype")()
    elif array.null_count and t.is_boolean(array.type):
        nullable = pandas.BooleanDtype()
    try:
        return array.to_pandas(types_mapper=lambda _: nullable)
    except pa.ArrowException:  # a value that neither NumPy nor Python has, such as a time of day in nanoseconds
        return pandas.Series(pandas.arrays.ArrowExtensionArray(array))


def _enum(variable: Variable, polars: ModuleType) -> Any:
    return polars.Enum([str(state) for state in variable.states or ()])


def _is_enum(column: Column) -> bool:
    t = pa.types
    return t.is_dictionary(column.type) and column.type.ordered and is_text(column.type.value_type)
