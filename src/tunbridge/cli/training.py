"""Tables to learn from: columns chosen, rows without a class left out, and remarks about what looks like a mistake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.lazy import LazyModule
from tunbridge.cli.files import check_table
from tunbridge.cli.options import Reading, check_column
from tunbridge.cli.output import amount, counted, lines, shortlist
from tunbridge.data import Table, as_table, remarks
from tunbridge.data.columns import Kind
from tunbridge.data.discretisation import equal_frequency, with_bins
from tunbridge.data.frames import with_classes as coded_classes
from tunbridge.data.readers import iter_batches, read_table
from tunbridge.data.remarks import IDENTIFIER, ONE_VALUE, useless_columns
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge import evaluation
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.data.reading import Reading as Record
    from tunbridge.evaluation.labelled import Labelled
else:
    evaluation = LazyModule("tunbridge.evaluation")  # help must not wait for it

_EVERY = "*"  # all columns
_FEW_ROWS, _MANY_STATES = 5, 10
_SHOWN_LABELS = 6
_SHOWN_NOTES = 8


@dataclass(frozen=True)
class Columns:
    """Columns.

    Parameters
    ----------
    categorical : COL
        A column of numbers that are categories; * for all columns.
    ignore : COL
        A column to leave out.
    weights : COL
        The column of the row weights.

    Other Parameters
    ----------------
    merge_categories : bool
        Take categories that differ in capitals or blanks only as one.
    target_bins : N >= 2
        Make classes of a target of numbers: so many bins with about as many rows each.
    """

    categorical: list[str] = ()  # type: ignore[assignment]
    ignore: list[str] = ()  # type: ignore[assignment]
    weights: str | None = None
    merge_categories: bool = False
    target_bins: int | None = None

    def split(self, path: Path, reading: Reading) -> Columns:
        """Return the columns with ``A,B`` as two, unless a column of the file is called that, and ``*`` as all."""
        if path.is_dir() or not any("," in name or name == _EVERY for name in (*self.categorical, *self.ignore)):
            return self
        known = column_names(path, reading)

        def parts(text: str) -> list[str]:
            several = [name.strip() for name in text.split(",")]
            return several if text not in known and not set(several).isdisjoint(known) else [text]

        found = [[name for text in texts for name in parts(text)] for texts in (self.categorical, self.ignore)]
        if _EVERY in found[0] and _EVERY not in known:
            found[0] = [name for name in known if name not in (*found[1], self.weights)]
        return replace(self, categorical=found[0], ignore=found[1])

    @property
    def kept_categorical(self) -> list[str]:
        """The columns of numbers that are categories and in the table."""
        return sorted(set(self.categorical) - {self.weights, *self.ignore})

    def check(self, path: Path, target: str | None, names: Collection[str]) -> None:
        """Raise unless the options name columns of a file, and do not contradict each other."""
        if target is not None:
            check_column("--target", target, path, names)
        for option, chosen in (("--categorical", self.categorical), ("--ignore", self.ignore)):
            for name in chosen:
                check_column(option, name, path, names)
        if target is not None and target in self.ignore:
            raise DataError(f"--ignore must not name the target; got {target!r}.")
        if self.weights is not None:
            check_column("--weights", self.weights, path, names)
            if self.weights == target or self.weights in self.ignore:
                raise DataError(f"--weights must not name the target or an ignored column; got {self.weights!r}.")


@dataclass(frozen=True)
class Training:
    """Rows that have a class.

    Parameters
    ----------
    table : Table
        The features and the target, which is categorical.
    target : str
        The column of the classes.
    whole : Table
        The table as it was read, with the rows that were left out because they have no class.
    gone, odd : tuple of str
        The columns that were left out, and why; columns that are odd and were not, because there are no others.
    """

    table: Table
    target: str
    whole: Table
    gone: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()

    @classmethod
    def of(cls, whole: Table, target: str) -> Training:
        """Return the rows of a table that have a class."""
        present = whole.codes(target) >= 0
        return cls(whole if present.all() else whole.take(present), target, whole)

    @property
    def left_out(self) -> str:
        """Which rows were left out, in words; empty if none were."""
        n = self.whole.n_rows - self.table.n_rows
        return f"{counted(n, 'row')} without {self.target}" if n else ""

    @property
    def left_out_lines(self) -> list[str]:
        """A line for the rows that were left out, for each column, and what to do about it."""
        hint = ["(--categorical NAME keeps such a column)"] if self.gone else []
        return [*([self.left_out] if self.left_out else []), *self.gone, *hint]

    def useful(self, keep: Collection[str]) -> Training:
        """Return the rows without identifiers and constant columns, except for those to keep; texts are kept, too."""
        found = useless_columns(self.whole, keep={self.target, *keep, *remarks.text_columns(self.whole)})
        gone = tuple(f"{name} {what}" for name, what in found.items())
        if len(found) == self.whole.n_columns - 1:
            return replace(self, odd=gone)
        return Training(self.table.drop(found), self.target, self.whole.drop(found), gone)

    @property
    def is_comparable(self) -> bool:
        """Whether a class has two rows, so that one can be held out."""
        return bool(np.bincount(self.table.codes(self.target)).max(initial=0) > 1)

    def labelled(self) -> Labelled:
        """Return the rows as models are compared on them."""
        return evaluation.labelled.Labelled(self.table, self.target, self.whole.n_rows - self.table.n_rows)


def column_names(path: Path, reading: Reading | None = None) -> list[str]:
    """Return the names of the columns of a file."""
    names: list[str] = next(iter_batches(path, missing=(), batch_rows=1, **(reading or Reading()).how)).column_names
    return names


def read_columns(path: Path, columns: Columns, reading: Reading, target: str | None = None) -> Table:
    """Return the columns of a file that are not ignored, and the weights of its rows."""

    def choose(names: list[str]) -> tuple[list[str], list[str]]:
        columns.check(path, target, names)
        return [name for name in names if name not in columns.ignore], columns.kept_categorical

    table = read_chosen(path, reading, columns.weights, choose, merge=columns.merge_categories)
    return table if columns.target_bins is None else _with_target_bins(table, target, columns.target_bins)


def _with_target_bins(table: Table, target: str | None, n_bins: int) -> Table:
    """Return a table whose target is in bins; raise unless it holds numbers."""
    if target is None or not table.variable(target).is_continuous:
        what = f"the target {target!r} holds categories" if target else "there is none"
        raise DataError(f"--target-bins must come with a target of numbers; {what}. Leave it out.")
    values, weights = table.floats(target), table.weights
    return table.with_column(equal_frequency(values, n_bins, weights).column(target, values))


def read_chosen(
    path: Path,
    reading: Reading,
    weights: str | None,
    choose: Callable[[list[str]], tuple[list[str], list[str]]],
    known: Record | None = None,
    *,
    merge: bool = False,
) -> Table:
    """Return some columns of a file: a function is given all names, and returns those to read and the categorical.

    ``known`` says how another table was read; this one is read like it.
    """
    check_table(path)
    kinds: dict[str, Kind] = {}

    def chosen(names: list[str]) -> list[str]:
        kept, categorical = choose(names)
        kinds.update(dict.fromkeys(categorical, "categorical"))  # looked at after the columns are chosen
        return kept

    how = {
        "weights": weights,
        "reading": known,
        "merge_categories": merge,
        **reading.missing_marks,
        **reading.how_whole,
    }
    return read_table(path, columns=chosen, kinds=kinds, **how)


def with_rows(training: Training, files: Sequence[Path]) -> Table:
    """Return all rows of a table, with and without a class, and those of further files, which are read like it."""
    whole, target = training.whole, training.target
    needed = [name for name in whole.names if name != target]
    parts = [whole.to_arrow()]
    for file in files:
        names = column_names(file)
        if absent := [name for name in needed if name not in names]:
            rule = f"{file.name} must have the columns that are learned from"
            raise DataError(f"{rule}; {absent[0]!r} is not there. {did_you_mean(absent[0], names)}")
        wanted = [name for name in whole.names if name in names]
        parts.append(read_table(file, columns=wanted, reading=whole.reading).to_arrow())
    if not files:
        return whole
    kinds: dict[str, Kind] = {v.name: "categorical" if v.is_categorical else "continuous" for v in whole.variables}
    try:
        joined = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        rule = f"the columns of {listed([file.name for file in files])} must have the types of those learned from"
        raise DataError(f"{rule}; {error}.") from None
    weights = whole.weights
    if weights is not None:
        weights = np.append(weights, np.ones(len(joined) - len(weights)))
    return Table.of(as_table(joined, kinds=kinds), weights=weights, reading=whole.reading)


def with_classes(table: Table, target: str) -> Training:
    """Return the rows that have a class; raise unless there are features and at least two classes."""
    hint = (
        f"--target-bins 3 makes classes of it, --categorical {quote(target)} makes each value a class. To predict the "
        f"values use a network: tunbridge network learn --cuts none, then tunbridge predict --target {quote(target)}."
    )
    return Training.of(coded_classes(table, target, hint=hint)[0], target)


# Columns with states


@dataclass(frozen=True)
class Material:
    """What a network is learned from.

    Parameters
    ----------
    table : Table
        Categorical columns; with ``--cuts none`` continuous ones too.
    read : Table
        The same columns as they were read, numbers not discretized.
    left_out : dict of str to str
        The columns that were left out, and why.
    bins : list of str
        A line for each column of numbers that was discretized.
    """

    table: Table
    read: Table
    left_out: dict[str, str]
    bins: list[str]

    @classmethod
    def of(cls, table: Table, target: str | None, columns: Columns, cuts: str | None, n_bins: int) -> Material:
        """Return the columns from which something can be learned, discretized unless ``cuts`` is ``none``."""
        coded = table if target is None else with_classes(table, target).whole
        asked = {target, *(name for name in columns.categorical if coded.missing.get(name, 0) < coded.n_rows)}
        gone = useless_columns(coded, keep=asked)
        read = coded.drop(gone)
        numbers = [v.name for v in read.variables if v.is_continuous]
        if numbers and cuts is None:
            raise _still_numbers(numbers)
        cut = read
        if numbers and cuts is not None and cuts != "none":
            cut = with_bins(read, numbers, cuts, target, n_bins)  # type: ignore[arg-type]
            flat = [name for name in numbers if cut.variable(name).n_states < 2]
            gone |= dict.fromkeys(flat, "has no cut that separates the classes")
            cut, read = cut.drop(flat), read.drop(flat)
        if cut.n_columns < 2:
            others = shortlist([f"{name} {what}" for name, what in gone.items()])
            rule = "a network must be learned from two columns at least"
            raise DataError(f"{rule}; got {cut.n_columns}.{f' Left out: {others}.' if others else ''}")
        found = [v for v in cut.variables if v.name in numbers and v.is_categorical]
        labels = [f"{v.name}: {shortlist([str(s) for s in v.states or ()], most=_SHOWN_LABELS)}" for v in found]
        return cls(cut, read, gone, labels)

    @property
    def left_out_lines(self) -> list[str]:
        """A line for each column that was left out, and what to do about it."""
        found = [f"{name} {what}" for name, what in self.left_out.items()]
        can_stay = any(what in (ONE_VALUE, IDENTIFIER) for what in self.left_out.values())
        return [*found, *(["(--categorical NAME keeps such a column)"] if can_stay else [])]

    @property
    def oddities(self) -> list[str]:
        """A line for each column that looks like a mistake."""
        many = [c for c in self.table if c.variable.n_states > _MANY_STATES]
        present = [(c.variable, int(np.count_nonzero(c.values >= 0))) for c in many]
        return column_lines(self.read) + [
            f"{v.name} has {v.n_states} states in {counted(n, 'row')}: --ignore {quote(v.name)} leaves it out"
            for v, n in present
            if n < _FEW_ROWS * v.n_states
        ]


def _still_numbers(names: list[str]) -> DataError:
    some = f"{listed(names, most=6)} {'holds' if len(names) == 1 else 'hold'} numbers"
    ways = (
        "--cuts frequency discretizes them, --cuts none makes them Gaussian variables, --categorical COL makes each "
        "value a state"
    )
    return DataError(f"the columns of a network must have states; {some}. {ways}, --ignore COL leaves a column out.")


# Summaries


def class_lines(model: BayesClassifier) -> list[str]:
    """Return a line for each class: how many rows have it, and which share."""
    total = model.class_count_.sum()
    return [
        f"{c} {amount(n)} ({100 * n / total:.1f} %)"
        for c, n in zip(model.classes_.tolist(), model.class_count_, strict=True)
    ]


def table_fields(data: Path, training: Training, columns: Columns, *, partly: bool = False) -> list[tuple[str, str]]:
    """Return what was read, as names and values; ``partly`` if rows without a class are not left out."""
    table, gone = training.whole, training.left_out_lines
    return [
        ("Read", size_text(data, table, columns.ignore)),
        ("Detected", "\n".join(_detected(table, data))),
        ("Left out", lines(gone[1:] if partly and training.left_out else gone)),
        ("Ignored", shortlist(columns.ignore)),
        ("Weights", columns.weights or ""),
        ("Missing", lines(missing_lines(table))),
        ("Check", lines(oddities(training))),
    ]


def _detected(table: Table, data: Path) -> list[str]:
    """Return the first lines of the report of how a table was read, with all that tell which categories were merged."""
    notes = list(table.reading.notes) if table.reading is not None else []
    n_merged = 0 if table.reading is None else sum(map(len, table.reading.spellings.values()))
    most = max(_SHOWN_NOTES, n_merged)
    more = f"… and {counted(len(notes) - most, 'more line')}: tunbridge describe {quote(str(data))}"
    return [*notes[:most], *([more] if len(notes) > most else [])]


def training_key(n_rows: int, key: int) -> str:
    """Return what a model keeps of the rows that it was learned from: their number, and the key of their features.

    Examples
    --------
    >>> training_key(14, 255)
    '14-00000000000000ff'
    """
    return f"{n_rows}-{key % 2**64:016x}"


def size_text(data: Path, table: Table, ignored: Collection[str] = ()) -> str:
    """Return the name and the size of a file, whose columns are counted before any of them is left out."""
    record = table.reading
    n_columns = table.n_columns
    if record is not None and record.names:
        unread = [] if record.delimiter else [name for name in ignored if name not in record.names]
        n_columns = len(record.names) + len(set(unread))
    return f"{data}: {counted(table.n_rows, 'row')}, {counted(n_columns, 'column')}"


def missing_lines(table: Table) -> list[str]:
    """Return a line for each column with missing values, with what was read as missing."""

    def markers(name: str) -> str:
        found = table.read_as_missing.get(name, {}).items()
        return shortlist([f"{repr(mark) if mark else 'empty'} {n}" for mark, n in found], most=5) or "no value"

    return [f"{name}: {n} ({markers(name)})" for name, n in table.missing.items()]


# Remarks


_OPTIONS = {
    "giveaway": " by --ignore {column}",
    "spelling": " (--merge-categories)",
} | dict.fromkeys(remarks.SUSPECTED, "; --missing={value} reads it so")
"""The options that do something about a remark, by its kind."""


def oddities(training: Training) -> list[str]:
    """Return a line for everything that looks like a mistake."""
    found = [*remarks.of_target(training.table, training.target), *remarks.of_columns(training.whole)]
    return [*training.odd, *remarks.in_words(found, _OPTIONS, quote)]


def column_lines(table: Table) -> list[str]:
    """Return a line for everything that looks like a mistake in the values of a column."""
    return remarks.in_words(remarks.of_columns(table), _OPTIONS, quote)
