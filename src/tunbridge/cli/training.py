"""Rows to learn from: columns chosen, rows without a class left out, and remarks about what looks like a mistake.

Of texts and sequences the classes are read first, by the rules of :mod:`tunbridge.data.readers`: numbers stay numbers.
The texts come after, word for word, in the same order: whole, or batch by batch if the model can add them up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.lazy import LazyModule
from tunbridge.cli import rows
from tunbridge.cli.options import Reading, check_apart, check_column
from tunbridge.cli.output import UsageError, amount, counted, shortlist, tracked
from tunbridge.cli.rows import FOLDER_TARGET, NOUNS, TEXT
from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import column_to_arrow
from tunbridge.data.formats.request import nulled
from tunbridge.data.frames import with_classes as coded_classes
from tunbridge.data.readers import iter_batches, read_table
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge import evaluation
    from tunbridge.evaluation.labelled import Labelled
else:
    evaluation = LazyModule("tunbridge.evaluation")  # it imports scikit-learn, for which help must not wait

SHOWN = 12
ONE_VALUE, IDENTIFIER = "has only one value", "looks like an identifier"
_FEW_ROWS, _MANY_STATES = 5, 10
_LOOKED_AT, _WORDS = 200, 4
BATCH_ROWS = 8192
_NOT_READ = "(not read yet)"


@dataclass(frozen=True)
class Columns:
    """Columns.

    Parameters
    ----------
    categorical : COL
        A column of numbers that are categories.
    ignore : COL
        A column to leave out.
    weights : COL
        The column of the row weights.
    """

    categorical: list[str] = ()  # type: ignore[assignment]
    ignore: list[str] = ()  # type: ignore[assignment]
    weights: str | None = None

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
    """

    table: Table
    target: str
    whole: Table

    @property
    def left_out(self) -> str:
        """What was left out, in words; empty if nothing was."""
        n = self.whole.n_rows - self.table.n_rows
        return f"{counted(n, 'row')} without {self.target}" if n else ""

    def labelled(self) -> Labelled:
        """Return the rows as models are compared on them."""
        return evaluation.labelled.Labelled(self.table, self.target, self.whole.n_rows - self.table.n_rows)


def read_columns(path: Path, columns: Columns, reading: Reading, target: str | None = None) -> Table:
    """Return the columns of a file that are not ignored, and the weights of its rows."""
    kinds: dict[str, Any] = {}

    def chosen(names: list[str]) -> list[str]:
        columns.check(path, target, names)
        kept = set(columns.categorical) - set(columns.ignore) - {columns.weights}
        kinds.update(dict.fromkeys(sorted(kept), "categorical"))  # which are looked at after the columns are chosen
        return [name for name in names if name not in columns.ignore]

    return read_table(
        path, columns=chosen, kinds=kinds, missing=reading.markers, weights=columns.weights, **reading.how
    )


def with_classes(table: Table, target: str) -> Training:
    """Return the rows that have a class; raise unless there are features and at least two classes."""
    coded, present = coded_classes(table, target, hint=f"use --categorical {target!r} if each value is a class.")
    return Training(coded if present.all() else coded.take(present), target, coded)


def class_lines(model: Any) -> list[str]:
    """Return a line for each class: how many rows have it, and which share."""
    total = model.class_count_.sum()
    return [
        f"{c} {amount(n)} ({100 * n / total:.1f} %)"
        for c, n in zip(model.classes_.tolist(), model.class_count_, strict=True)
    ]


# Texts and sequences


@dataclass(frozen=True)
class Corpus:
    """Documents, or sequences, of which the classes are known and the texts are still to be read.

    Parameters
    ----------
    path : Path
        The table or the folder.
    kind : {"text", "sequence"}
        What they are.
    column : str
        The column that holds them.
    classes : Training
        Their classes and weights.
    reading : Reading
        How the file is read.
    folder : pyarrow.Table, optional
        What a folder holds, which is read at once.
    """

    path: Path
    kind: str
    column: str
    classes: Training
    reading: Reading
    folder: pa.Table | None = None

    @property
    def target(self) -> str:
        """The column of the classes."""
        return self.classes.target

    @property
    def n_rows(self) -> int:
        """The number of documents, those without a class too."""
        return self.classes.whole.n_rows

    @property
    def can_be_streamed(self) -> bool:
        """Whether batches say all: a folder is read at once anyway, and weights would be lost."""
        return self.folder is None and self.classes.whole.weights is None

    def training(self) -> Training:
        """Return all of them as a table of two columns."""
        texts, whole, kept = self._texts(), self.classes.whole, self.classes.whole.codes(self.target) >= 0
        _check_filled(texts.missing.get(self.column, 0), texts.n_rows, self)
        if not isinstance((texts.variable(self.column).states or ("",))[0], str):
            raise _no_texts(self.path, self.column, self.kind, "it holds other values than text")
        found = {**texts.read_as_missing, **whole.read_as_missing}
        both = [texts.column(self.column), whole.column(self.target)]
        table = Table.of(both, weights=whole.weights, read_as_missing=found)
        return Training(table if kept.all() else table.take(kept), self.target, table)

    def _texts(self) -> Table:

        if self.folder is not None:
            return as_table(self.folder.select([self.column]), kinds="categorical")
        kinds: Any = {self.column: "categorical"}
        marks = ("", *(self.reading.missing))
        return read_table(self.path, columns=[self.column], kinds=kinds, missing=marks, **self.reading.how)

    def batches(self) -> Iterator[pa.Table]:
        """Yield those that have a class, as batches of two columns."""
        classes, done = column_to_arrow(self.classes.whole.column(self.target)), 0
        labels = classes.dictionary_decode() if pa.types.is_dictionary(classes.type) else classes
        for batch in iter_batches(self.path, missing=(), batch_rows=BATCH_ROWS, **self.reading.how):
            texts = nulled(batch[self.column], self.reading.missing)
            both = pa.table({self.column: texts, self.target: labels.slice(done, len(batch))})
            done += len(batch)
            kept = both.filter(both[self.target].is_valid())
            if len(kept):
                yield kept


def learn_in_batches(model: Any, corpus: Corpus) -> int:
    """Learn from all documents that have a class, which need not fit into memory; return how many are empty."""
    n_empty = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal n_empty
        for step in tracked(map(_Step, corpus.batches()), "learning"):
            texts = step.batch[corpus.column]
            n_empty += texts.null_count + (pc.sum(pc.equal(texts, "")).as_py() or 0)
            yield step.batch

    model.fit(counted(), corpus.target)
    _check_filled(n_empty, corpus.classes.table.n_rows, corpus)
    return n_empty


class _Step(NamedTuple):
    """A batch, as a progress bar counts it."""

    batch: pa.Table

    @property
    def n_rows(self) -> int:
        return int(self.batch.num_rows)


def find_corpus(
    path: Path, target: str | None, kind: str, column: str | None, columns: Columns, reading: Reading
) -> Corpus:
    """Return documents, or sequences, with their classes; raise unless they can be learned from."""
    if path.is_dir():
        return _folder(path, target, kind, column, columns, reading)
    if target is None:
        raise UsageError(f"--target must name the column of the classes when {NOUNS[kind]}s are learned from.")
    if rows.is_loose(path, reading):
        rule = "what is learned from must be a table, or a folder with a subfolder for each class"
        raise DataError(f"{rule}; got the text file {path.name!r}.")
    chosen = _training_column(path, target, kind, column, columns, reading)
    classes = _classes(path, target, columns, reading)
    if target in text_columns(classes.whole):
        raise DataError(f"--target must name the column of the classes; {target!r} holds texts.")
    return Corpus(path, kind, chosen, classes, reading)


def _folder(
    path: Path, target: str | None, kind: str, column: str | None, columns: Columns, reading: Reading
) -> Corpus:

    if kind != TEXT:
        raise UsageError(f"sequences must come in a table; {str(path)!r} is a folder, which holds documents.")
    found = rows.read_folder(path, reading.encoding)
    if target not in (None, FOLDER_TARGET):
        raise UsageError(f"--target must be left out with a folder: its subfolders are the classes; got {target!r}.")
    given = {
        "--column": column,
        **{f"--{name}": getattr(columns, name) for name in ("weights", "ignore", "categorical")},
    }
    check_apart(given, f"come with a table; {str(path)!r} is a folder.")
    if found[FOLDER_TARGET].null_count:
        rule = "a folder that is learned from must have a subfolder for each class"
        raise DataError(f"{rule}; {str(path)!r} holds files only.")
    classes = as_table(found.select([FOLDER_TARGET]), kinds="categorical")
    return Corpus(path, kind, "text", _with_classes(classes, FOLDER_TARGET), reading, found)


def _classes(path: Path, target: str, columns: Columns, reading: Reading) -> Training:

    kinds: Any = {target: "categorical"} if target in (columns.categorical) else {}
    found = read_table(
        path, columns=[target], kinds=kinds, missing=reading.markers, weights=columns.weights, **reading.how
    )
    return _with_classes(found, target)


def _with_classes(classes: Table, target: str) -> Training:
    """Return rows that have a class; a column stands for the texts, which are still to be read."""
    texts = Column(Variable(_NOT_READ), np.zeros(classes.n_rows), None)
    return with_classes(classes.with_column(texts), target)


def _training_column(path: Path, target: str, kind: str, column: str | None, columns: Columns, reading: Reading) -> str:
    """Return the column of the documents, after a look at the options and the first rows."""
    first = _first_rows(path, reading)
    names, ignored = first.column_names, columns.ignore
    given = [("--target", target), *(("--ignore", name) for name in ignored)]
    for option, name in [*given, *([("--weights", columns.weights)] if columns.weights else [])]:
        check_column(option, name, path, names)
    for name in columns.categorical:
        if name != target:
            raise UsageError(
                f"--categorical must name the target, if anything, when {NOUNS[kind]}s are learned from; got {name!r}."
            )
    for option, named in (("--column", [column]), ("--weights", [columns.weights]), ("--ignore", ignored)):
        if target in named:
            raise UsageError(f"{option} must not name the target; got {target!r}.")
    if column is not None and column in (columns.weights, *ignored):
        raise UsageError(f"--column must not name a column that is ignored or holds weights; got {column!r}.")
    others = first.select([n for n in names if n not in (target, columns.weights, *ignored)])
    chosen = rows.chosen_column(path, others, kind, column, names)
    if rows.are_numbers(first[chosen], kind):
        raise _no_texts(path, chosen, kind, "it holds numbers. Name another one with --column")
    return chosen


def _first_rows(path: Path, reading: Reading) -> pa.Table:

    return next(iter(iter_batches(path, missing=(), batch_rows=rows.FIRST_ROWS, **reading.how)))


def _check_filled(n_empty: int, n_rows: int, corpus: Corpus) -> None:
    if n_empty == n_rows:
        raise _no_texts(corpus.path, corpus.column, corpus.kind, "every value is empty")


def _no_texts(path: Path, column: str, kind: str, reason: str) -> DataError:
    return DataError(f"column {column!r} of {path.name} must hold {NOUNS[kind]}s; {reason}.")


# Remarks


def oddities(training: Training) -> list[str]:
    """Return a line for each column that looks like a mistake."""
    texts = [name for name in text_columns(training.whole) if name != training.target]
    useless = {n: what for n, what in useless_columns(training.whole).items() if n not in (training.target, *texts)}
    lines = [
        f"{name} holds texts: tunbridge text learn --column {quote(name)} learns from their words" for name in texts
    ]
    lines += [f"{name} {what}: --ignore {quote(name)} leaves it out" for name, what in useless.items()]
    return lines + odd_number_lines(training.whole, but=training.target)


def size_text(data: Path, table: Table) -> str:
    """Return the name and the size of a table."""
    return f"{data}: {counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}"


def missing_lines(table: Table) -> list[str]:
    """Return a line for each column with missing values, with what was read as missing."""
    return [f"{name}: {n} ({_markers(table.read_as_missing.get(name, {}))})" for name, n in table.missing.items()]


def _markers(found: Any) -> str:
    shown = [f"{repr(mark) if mark else 'empty'} {n}" for mark, n in found.items()]
    return shortlist(shown, most=5) if shown else "no value"


def useless_columns(table: Table) -> dict[str, str]:
    """Return the columns from which nothing can be learned, and what is wrong with each."""
    odd = dict.fromkeys(table.constants, ONE_VALUE)
    odd |= {name: "has only missing values" for name, n in table.missing.items() if n == table.n_rows}
    return odd | dict.fromkeys(table.identifiers, IDENTIFIER)


def text_columns(table: Table) -> list[str]:
    """Return the columns that hold texts rather than categories: hardly a value twice, and several words in each."""
    wordy = [c.variable for c in table if c.variable.n_states > max(_MANY_STATES, table.n_rows / _FEW_ROWS)]
    return [v.name for v in wordy if _mean_words((v.states or ())[:_LOOKED_AT]) >= _WORDS]


def _mean_words(states: Any) -> float:
    return sum(len(str(state).split()) for state in states) / max(1, len(states))


def odd_number_lines(table: Table, *, but: str | None = None) -> list[str]:
    """Return a line for each column of numbers that is categorical because of a few other texts."""
    return [line for column in table if column.variable.name != but and (line := _nearly_numbers(column))]


def _nearly_numbers(column: Column) -> str:
    states = column.variable.states or ()
    odd = [code for code, state in enumerate(states) if isinstance(state, str) and not _is_number(state)]
    if not odd or len(odd) > len(states) / 2 or not all(isinstance(state, str) for state in states):
        return ""
    n_odd, n_all = int(np.isin(column.values, odd).sum()), int((column.values >= 0).sum())
    if n_odd > n_all / 10:
        return ""
    word = str(states[odd[0]])
    numbers = f"{column.variable.name} is categorical, but {n_all - n_odd} of its {n_all} values are numbers"
    return f"{numbers}; {word!r} is none: --missing {quote(word)} makes it a missing value"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def many_state_lines(table: Table) -> list[str]:
    """Return a line for each categorical column with so many states that few rows are left for each."""
    return [line for column in table if (line := _many_states(column))]


def _many_states(column: Column) -> str:
    n_states = column.variable.n_states
    present = int(np.count_nonzero(column.values >= 0)) if n_states > _MANY_STATES else 0
    if present >= _FEW_ROWS * n_states or n_states <= _MANY_STATES:
        return ""
    name = column.variable.name
    return f"{name} has {n_states} states in {counted(present, 'row')}: --ignore {quote(name)} leaves it out"
