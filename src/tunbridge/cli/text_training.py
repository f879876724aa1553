"""Texts and sequences with their classes, to learn from: whole, or batch by batch where the model can add them up.

The classes are read first, by the rules of :mod:`tunbridge.data.readers`: numbers stay numbers. The texts come after,
word for word, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge.cli.documents import (
    FIRST_ROWS,
    FOLDER_TARGET,
    NOUNS,
    TEXT,
    are_numbers,
    chosen_column,
    is_loose,
    read_folder,
)
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Learning, Reading, check_column
from tunbridge.cli.output import tracked
from tunbridge.cli.remarks import text_columns
from tunbridge.cli.training import Training, with_classes
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from tunbridge.data import Table

BATCH_ROWS = 8192
_NOT_READ = "(not read yet)"


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
        from tunbridge.data import Table

        texts, whole, kept = self._texts(), self.classes.whole, self.classes.whole.codes(self.target) >= 0
        _check_filled(texts.missing.get(self.column, 0), texts.n_rows, self)
        if not isinstance((texts.variable(self.column).states or ("",))[0], str):
            raise _no_texts(self.path, self.column, self.kind, "it holds other values than text")
        found = {**texts.read_as_missing, **whole.read_as_missing}
        both = [texts.column(self.column), whole.column(self.target)]
        table = Table.of(both, weights=whole.weights, read_as_missing=found)
        return Training(table if kept.all() else table.take(kept), self.target, table)

    def _texts(self) -> Table:
        from tunbridge.data import as_table
        from tunbridge.data.readers import read_table

        if self.folder is not None:
            return as_table(self.folder.select([self.column]), kinds="categorical")
        kinds: Any = {self.column: "categorical"}
        marks = ("", *(self.reading.missing or ()))
        return read_table(self.path, columns=[self.column], kinds=kinds, missing=marks, **self.reading.how())

    def batches(self) -> Iterator[pa.Table]:
        """Yield those that have a class, as batches of two columns."""
        import pyarrow as pa

        from tunbridge.data.columns import column_to_arrow
        from tunbridge.data.readers import iter_batches
        from tunbridge.data.texts import nulled

        classes, done = column_to_arrow(self.classes.whole.column(self.target)), 0
        labels = classes.dictionary_decode() if pa.types.is_dictionary(classes.type) else classes
        for batch in iter_batches(self.path, missing=(), batch_rows=BATCH_ROWS, **self.reading.how()):
            texts = nulled(batch[self.column], self.reading.missing or ())
            both = pa.table({self.column: texts, self.target: labels.slice(done, len(batch))})
            done += len(batch)
            kept = both.filter(both[self.target].is_valid())
            if len(kept):
                yield kept


def learn_in_batches(model: Any, corpus: Corpus) -> int:
    """Learn from all documents that have a class, which need not fit into memory; return how many are empty."""
    import pyarrow.compute as pc

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


@dataclass(frozen=True)
class _Step:
    """A batch, as a bar of progress counts it."""

    batch: pa.Table

    @property
    def n_rows(self) -> int:
        return int(self.batch.num_rows)


def find_corpus(
    path: Path, target: str | None, kind: str, column: str | None, learning: Learning, reading: Reading
) -> Corpus:
    """Return documents, or sequences, with their classes; raise unless they can be learned from."""
    if path.is_dir():
        return _folder(path, target, kind, column, learning, reading)
    if target is None:
        raise UsageError(f"--target must name the column of the classes when {NOUNS[kind]}s are learned from.")
    if is_loose(path, reading):
        rule = "what is learned from must be a table, or a folder with a subfolder for each class"
        raise DataError(f"{rule}; got the text file {path.name!r}.")
    chosen = _training_column(path, target, kind, column, learning, reading)
    classes = _classes(path, target, learning, reading)
    if target in text_columns(classes.whole):
        raise DataError(f"--target must name the column of the classes; {target!r} holds texts.")
    return Corpus(path, kind, chosen, classes, reading)


def _folder(
    path: Path, target: str | None, kind: str, column: str | None, learning: Learning, reading: Reading
) -> Corpus:
    from tunbridge.data import as_table

    if kind != TEXT:
        raise UsageError(f"--sequence must come with a table; {str(path)!r} is a folder, which holds documents.")
    found = read_folder(path, reading.encoding)
    if target not in (None, FOLDER_TARGET):
        raise UsageError(f"--target must be left out with a folder: its subfolders are the classes; got {target!r}.")
    given = {"column": column, **{name: getattr(learning, name) for name in ("weights", "ignore", "categorical")}}
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name} must come with a table; {str(path)!r} is a folder.")
    if found[FOLDER_TARGET].null_count:
        rule = "a folder that is learned from must have a subfolder for each class"
        raise DataError(f"{rule}; {str(path)!r} holds files only.")
    classes = as_table(found.select([FOLDER_TARGET]), kinds="categorical")
    return Corpus(path, kind, "text", _with_classes(classes, FOLDER_TARGET), reading, found)


def _classes(path: Path, target: str, learning: Learning, reading: Reading) -> Training:
    from tunbridge.data.readers import read_table

    kinds: Any = {target: "categorical"} if target in (learning.categorical or ()) else {}
    found = read_table(
        path, columns=[target], kinds=kinds, missing=reading.markers, weights=learning.weights, **reading.how()
    )
    return _with_classes(found, target)


def _with_classes(classes: Table, target: str) -> Training:
    """Return rows that have a class; a column stands for the texts, which are still to be read."""
    import numpy as np

    from tunbridge.data import Variable
    from tunbridge.data.columns import Column

    texts = Column(Variable(_NOT_READ), np.zeros(classes.n_rows), None)
    return with_classes(classes.with_column(texts), target)


def _training_column(
    path: Path, target: str, kind: str, column: str | None, learning: Learning, reading: Reading
) -> str:
    """Return the column of the documents, after a look at the options and the first rows."""
    first = _first_rows(path, reading)
    names, ignored = first.column_names, learning.ignore or ()
    given = [("--target", target), *(("--ignore", name) for name in ignored)]
    for option, name in [*given, *([("--weights", learning.weights)] if learning.weights else [])]:
        check_column(option, name, path, names)
    for name in learning.categorical or ():
        if name != target:
            raise UsageError(f"--categorical must name the target, if anything, with --{kind}; got {name!r}.")
    for option, named in (("--column", [column]), ("--weights", [learning.weights]), ("--ignore", ignored)):
        if target in named:
            raise UsageError(f"{option} must not name the target; got {target!r}.")
    if column is not None and column in (learning.weights, *ignored):
        raise UsageError(f"--column must not name a column that is ignored or holds weights; got {column!r}.")
    others = first.select([n for n in names if n not in (target, learning.weights, *ignored)])
    chosen = chosen_column(path, others, kind, column, names)
    if are_numbers(first[chosen], kind):
        raise _no_texts(path, chosen, kind, "it holds numbers. Name another one with --column")
    return chosen


def _first_rows(path: Path, reading: Reading) -> pa.Table:
    from tunbridge.data.readers import iter_batches

    return next(iter(iter_batches(path, missing=(), batch_rows=FIRST_ROWS, **reading.how())))


def _check_filled(n_empty: int, n_rows: int, corpus: Corpus) -> None:
    if n_empty == n_rows:
        raise _no_texts(corpus.path, corpus.column, corpus.kind, "every cell is empty")


def _no_texts(path: Path, column: str, kind: str, reason: str) -> DataError:
    return DataError(f"column {column!r} of {path.name} must hold {NOUNS[kind]}s; {reason}.")
