"""Documents and sequences: those that a model reads, and those that one is learned from.

A model of texts or sequences reads one column, word for word: the usual missing markers are texts here, and only an
empty value, or what ``--missing`` names, is missing. In a folder every subfolder is a class and every file a document
of it. A text file by itself is one document or, for sequences, has one on each line.

To learn, the classes are read first, by the rules of :mod:`tunbridge.data.readers`: numbers stay numbers. The texts
come after, word for word, in the same order: whole, or batch by batch if the model can add them up.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.hashing import text_key
from tunbridge.cli.files import check_exists, check_table, suffix_of
from tunbridge.cli.options import MISSING, Reading, check_column
from tunbridge.cli.output import note, tracked
from tunbridge.cli.training import Columns, Training, with_classes
from tunbridge.cli.usage import UsageError, near_hint, refuse, refuse_options
from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import Kind, column_to_arrow
from tunbridge.data.formats.request import nulled
from tunbridge.data.formats.source import find_source, table_suffixes
from tunbridge.data.readers import iter_batches, read_table
from tunbridge.data.reading import Reading as Record
from tunbridge.data.remarks import text_columns
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.cli.networks import NetworkTarget

TEXT, SEQUENCE = "text", "sequence"
NOUNS = {TEXT: "document", SEQUENCE: "sequence"}
READ = "(what is read)"
"""The column of a batch that holds what the model reads, under a name that no file has."""

BATCH_ROWS = 8192
_FIRST_ROWS = 100
_CLASS = "class"
_PLAIN = (".txt", ".text", ".eml")
_DIGITS = r"^\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_WITH_POINT = r"^\s*([+-][0-9]+|[+-]?[0-9]*[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_LOST = "\ufffd"
_CATEGORICAL: Kind = "categorical"


# Models


def innermost(model: BayesClassifier | NetworkTarget) -> BayesClassifier:
    """Return the classifier inside others: what was calibrated, or learned from rows without a class too."""
    while hasattr(model, "estimator_"):
        model = model.estimator_
    return model  # type: ignore[return-value]


def kind_read(model: BayesClassifier | NetworkTarget) -> str:
    """Return what a model reads: texts, sequences, or, as nothing to be named, rows of a table."""
    kind = getattr(innermost(model), "kind", "")
    return kind if kind in NOUNS else ""


def column_of(model: BayesClassifier) -> str | None:
    """Return the column from which a model of texts or sequences was learned, where it had a name."""
    inner = innermost(model)
    found: str | None = inner.column or inner.statistics_.column
    return found


# Documents for a model


def iter_documents(
    model: BayesClassifier, paths: Sequence[Path], reading: Reading, column: str | None, batch_rows: int
) -> Iterator[pa.Table]:
    """Yield documents in batches: all columns as text, that of the classes with null where it is missing, and READ."""
    if not is_loose(paths[0], reading):
        yield from _table_batches(model, paths[0], reading, column, batch_rows)
        return
    refuse((column is not None, f"--column must come with a table; {str(paths[0])!r} is none."))
    found = _loose(model, paths, reading)
    for start in range(0, found.num_rows, batch_rows):
        yield found.slice(start, batch_rows)


def _loose(model: BayesClassifier, paths: Sequence[Path], reading: Reading) -> pa.Table:
    """Return documents that are files: their names, their classes where there are subfolders, and what is read."""
    kind, known = kind_read(model), reading_of(model)
    of_folder = known is not None and not known.names  # learned from text files, too
    encoding = reading.encoding or (known.encoding if known is not None and of_folder else "utf-8")
    if paths[0].is_dir():
        if kind != TEXT:
            raise DataError(f"sequences must be in a table or in a text file; {str(paths[0])!r} is a folder.")
        found = read_folder(paths[0], encoding)
        names = {"file": "file", _CLASS: model.target_name_ or _CLASS, "text": READ}
        if found[_CLASS].null_count:
            del names[_CLASS]
    else:
        found = _read_files(paths, kind, encoding)
        names = {"file": "file", "text": READ}
        if kind == SEQUENCE:
            found = found.append_column(READ, found["text"])
            names = {"text": column_of(model) or SEQUENCE, READ: READ}
    return found.select(list(names)).rename_columns(list(names.values()))


def _table_batches(
    model: BayesClassifier, path: Path, reading: Reading, column: str | None, batch_rows: int
) -> Iterator[pa.Table]:
    chosen, known = "", reading_of(model)
    is_delimited = find_source(path, reading.format, reading.encoding).format in ("csv", "tsv")
    own = [mark for mark in reading.markers_beside(known) if mark not in MISSING]
    marks = reading.markers_beside(known) if is_delimited else own  # other files have a null of their own
    of_texts = _text_markers(reading, known, column_of(model))
    for batch in iter_batches(path, missing=(), batch_rows=batch_rows, reading=known, **reading.how):
        chosen = chosen or _known_column(model, path, batch, column)
        others = {name: nulled(batch[name], marks) for name in batch.column_names}
        yield pa.table(others | {READ: nulled(batch[chosen], of_texts)})


def reading_of(model: BayesClassifier | NetworkTarget) -> Record | None:
    """Return how the table was read that a model was learned from, if it remembers that."""
    found: Record | None = model.net.reading if hasattr(model, "net") else getattr(model, "reading_", None)
    return found


def _text_markers(reading: Reading, known: Record | None, column: str | None) -> list[str]:
    """Return what is missing among texts: only what options name, now or when the model was learned."""
    before = () if known is None else known.markers.get(column or "", ())
    return [mark for mark in (*before, *reading.missing) if mark not in reading.not_missing]


def _known_column(model: BayesClassifier, path: Path, batch: pa.Table, column: str | None) -> str:
    """Return the column that the model reads: its own where the file has it, or the only one that may be it."""
    own, kind, names = column_of(model), kind_read(model), batch.column_names
    if column is None and own in names:
        return str(own)
    others = batch.select([n for n in names if n != model.target_name_]).slice(0, _FIRST_ROWS)
    texts = [n for n in others.column_names if not _are_numbers(others[n], kind)]
    if column is None and len(texts) != 1 and own is not None:
        rule = f"{path.name} must have the column that the model was learned from, {own!r}; it has {listed(names)}."
        raise DataError(f"{rule}{near_hint(own, names)} --column names another one.")
    return _chosen_column(path, others, kind, column, names)


def key_of(model: BayesClassifier, features: pa.Table) -> int:
    """Return a key of what a model reads of some rows, whatever their order; those of batches may be added."""
    if READ not in features.column_names:
        return model.key_of_rows(features)
    return sum(text_key(str(text)) for text in features[READ].to_pylist())


# Files


def is_loose(path: Path, reading: Reading) -> bool:
    """Return whether a path is documents by themselves rather than a table: a folder, or a text file.

    Examples
    --------
    >>> is_loose(Path("mail.txt"), Reading()), is_loose(Path("mail.txt"), Reading(format="tsv"))
    (True, False)
    """
    return path.is_dir() or (reading.format is None and path.suffix.lower() in _PLAIN)


def check_files(model: BayesClassifier | NetworkTarget, paths: Sequence[Path], reading: Reading) -> None:
    """Raise unless the rows are tables or, for texts and sequences, a table, a folder or text files."""
    kind = kind_read(model)
    if len(paths) > 1 and kind and not all(is_loose(p, reading) and not p.is_dir() for p in paths):
        raise UsageError(f"several files must be text files; got {listed([str(p) for p in paths], most=3)}.")
    for path in paths:
        if kind and is_loose(path, reading):
            check_exists("the rows", path)
        else:
            check_table(path, "the rows")


def read_folder(path: Path, encoding: str) -> pa.Table:
    """Return the documents of a folder: columns text, class and file."""
    return _noted(tb.read_documents(path, encoding=_decoding(encoding)), encoding)


def _read_files(paths: Sequence[Path], kind: str, encoding: str) -> pa.Table:
    """Return text files as a table: a document each, or a sequence on each line; columns text and file."""
    texts, names = [], []
    for path in paths:
        text = path.read_bytes().decode(_decoding(encoding), errors="replace")
        lines = [text] if kind == TEXT else [line.strip() for line in text.splitlines() if line.strip()]
        texts += lines
        names += [str(path)] * len(lines)
    if not texts:
        raise DataError(f"a text file must hold a sequence on each line; {listed([p.name for p in paths])} is empty.")
    columns = [pa.array(texts, pa.large_string()), pa.array(names, pa.string())]
    return _noted(pa.table(columns, names=["text", "file"]), encoding)


def _decoding(encoding: str) -> str:
    """Return a text encoding, a mark at the start of UTF-8 left out; raise for one that there is not."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise DataError(f"--encoding must be a text encoding, such as utf-8 or latin-1; got {encoding!r}.") from None
    return "utf-8-sig" if name == "utf-8" else name


def _noted(found: pa.Table, encoding: str) -> pa.Table:
    """Return documents, after a note on how many of them hold bytes that are no text."""
    odd = found.filter(pc.match_substring(found["text"], _LOST))
    if odd.num_rows:
        other = "utf-8" if codecs.lookup(encoding).name != "utf-8" else "latin-1"
        files = listed(odd["file"].unique().to_pylist(), most=3)
        note(f"Note: {files} must be {encoding} text; what is not becomes {_LOST}. --encoding {other} may read it.")
    return found


# Columns


def _chosen_column(path: Path, first: pa.Table, kind: str, column: str | None, names: list[str]) -> str:
    """Return the column that is asked for; else the one called text or sequence, or the only one that may be it."""
    if column is not None:
        check_column("--column", column, path, names)
        return column
    named = [n for n in first.column_names if n.lower() == kind]
    texts = [n for n in first.column_names if not _are_numbers(first[n], kind)]
    for some in (named, texts):
        if len(some) == 1:
            return some[0]
    what = f"the column of the {NOUNS[kind]}s"
    if not texts:
        others = f"{listed(first.column_names)} hold numbers" if first.column_names else "it has no other column"
        raise DataError(f"{path.name} must have {what} beside the target; {others}.")
    longest = max(texts, key=lambda n: pc.mean(pc.utf8_length(first[n])).as_py() or 0.0)
    raise UsageError(f"--column must name {what}; {path.name} has {listed(texts)}. Try --column {quote(longest)}.")


def _are_numbers(values: pa.ChunkedArray, kind: str) -> bool:
    """Return whether all values that hold something are numbers; digits alone may be a sequence."""
    some = values.filter(pc.not_equal(values, ""))
    numbers = pc.match_substring_regex(some, _DIGITS if kind == TEXT else _WITH_POINT)
    return len(some) > 0 and bool(pc.all(numbers).as_py())


# Documents to learn from


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
    others : tuple of str
        The columns of a table that are not read.
    """

    path: Path
    kind: str
    column: str
    classes: Training
    reading: Reading
    folder: pa.Table | None = None
    others: tuple[str, ...] = ()

    @property
    def can_be_streamed(self) -> bool:
        """Whether batches say all: a folder is read at once anyway, and weights would be lost."""
        return self.folder is None and self.classes.whole.weights is None

    @property
    def record(self) -> Record:
        """How it was read, for the model to remember."""
        read = self.classes.whole.reading or Record(encoding=self.reading.encoding or "utf-8")
        return replace(read, markers={**read.markers, self.column: tuple(self.reading.missing)}, notes=())

    def training(self) -> Training:
        """Return all of them as a table of two columns."""
        texts, whole, target = self._texts(), self.classes.whole, self.classes.target
        self._check_filled(texts.missing.get(self.column, 0), texts.n_rows)
        if not isinstance((texts.variable(self.column).states or ("",))[0], str):
            raise _no_texts(self.path, self.column, self.kind, "it holds other values than text")
        found = {**texts.read_as_missing, **whole.read_as_missing}
        both = [texts.column(self.column), whole.column(target)]
        table = Table.of(both, weights=whole.weights, read_as_missing=found)
        return Training.of(table, target)

    def _texts(self) -> Table:
        if self.folder is not None:
            return as_table(self.folder.select([self.column]), kinds="categorical")
        marks = ("", *self.reading.missing)
        kinds = {self.column: _CATEGORICAL}
        return read_table(self.path, columns=[self.column], kinds=kinds, missing=marks, **self.reading.how)

    def fit(self, model: BayesClassifier) -> int:
        """Fit a model batch by batch, so that the texts need not fit into memory; return how many are empty."""
        n_empty = 0

        def batches() -> Iterator[pa.Table]:
            nonlocal n_empty
            for batch in tracked(self._batches(), "learning"):
                texts = batch[self.column]
                n_empty += texts.null_count + (pc.sum(pc.equal(texts, "")).as_py() or 0)
                yield batch

        model.fit(batches(), self.classes.target)
        self._check_filled(n_empty, self.classes.table.n_rows)
        return n_empty

    def _batches(self) -> Iterator[pa.Table]:
        """Yield those that have a class, as batches of two columns."""
        target, done = self.classes.target, 0
        classes = column_to_arrow(self.classes.whole.column(target))
        labels = classes.dictionary_decode() if pa.types.is_dictionary(classes.type) else classes
        for batch in iter_batches(self.path, missing=(), batch_rows=BATCH_ROWS, **self.reading.how):
            texts = nulled(batch[self.column], self.reading.missing)
            both = pa.table({self.column: texts, target: labels.slice(done, len(batch))})
            done += len(batch)
            kept = both.filter(both[target].is_valid())
            if len(kept):
                yield kept

    def _check_filled(self, n_empty: int, n_rows: int) -> None:
        if n_empty == n_rows:
            raise _no_texts(self.path, self.column, self.kind, "every value is empty")


def find_corpus(
    path: Path, target: str | None, kind: str, column: str | None, columns: Columns, reading: Reading
) -> Corpus:
    """Return documents, or sequences, with their classes; raise unless they can be learned from."""
    if path.is_dir():
        return _folder(path, target, kind, reading)
    if target is None:
        raise UsageError(f"--target must name the column of the classes when {NOUNS[kind]}s are learned from.")
    if is_loose(path, reading):
        rule = "what is learned from must be a table, or a folder with a subfolder for each class"
        raise DataError(f"{rule}; got the text file {path.name!r}.")
    chosen, others = _training_column(path, target, kind, column, columns, reading)
    kinds = {target: _CATEGORICAL} if target in columns.categorical else {}
    found = read_table(
        path, columns=[target], kinds=kinds, weights=columns.weights, **reading.missing_marks, **reading.how
    )
    classes = _with_classes(found, target)
    if target in text_columns(classes.whole):
        raise DataError(f"--target must name the column of the classes; {target!r} holds texts.")
    return Corpus(path, kind, chosen, classes, reading, others=others)


def _folder(path: Path, target: str | None, kind: str, reading: Reading) -> Corpus:
    if kind != TEXT:
        raise UsageError(f"sequences must come in a table; {str(path)!r} is a folder, which holds documents.")
    inside = list(path.iterdir())
    if inside and not any(each.is_dir() for each in inside):
        tables = sorted(str(file) for file in inside if suffix_of(file) in table_suffixes())
        hint = f" To learn from a table name it, such as {tables[0]!r}." if tables else ""
        rule = "a folder that is learned from must have a subfolder for each class"
        raise DataError(f"{rule}; {str(path)!r} holds files only.{hint}")
    found = read_folder(path, reading.encoding or "utf-8")
    rule = "--target must be left out with a folder: its subfolders are the classes"
    refuse((target not in (None, _CLASS), f"{rule}; got {target!r}."))
    refuse_options(("column", "weights", "ignore", "categorical"), f"come with a table; {str(path)!r} is a folder.")
    if found[_CLASS].null_count:
        rule = "a folder that is learned from must have a subfolder for each class"
        raise DataError(f"{rule}; {str(path)!r} holds files only.")
    classes = as_table(found.select([_CLASS]), kinds="categorical")
    return Corpus(path, kind, "text", _with_classes(classes, _CLASS), reading, found)


def _with_classes(classes: Table, target: str) -> Training:
    """Return rows that have a class; a column stands for the texts, which are still to be read."""
    texts = Column(Variable("(not read yet)"), np.zeros(classes.n_rows), None)
    return with_classes(classes.with_column(texts), target)


def _training_column(
    path: Path, target: str, kind: str, column: str | None, columns: Columns, reading: Reading
) -> tuple[str, tuple[str, ...]]:
    """Return the column of the documents, and those that are not read, after a look at options and first rows."""
    first = next(iter(iter_batches(path, missing=(), batch_rows=_FIRST_ROWS, **reading.how)))
    names, ignored, weights = first.column_names, columns.ignore, [columns.weights] if columns.weights else []
    for option, some in (("--target", [target]), ("--ignore", ignored), ("--weights", weights)):
        for name in some:
            check_column(option, name, path, names)
    rule = f"--categorical must name the target, if anything, when {NOUNS[kind]}s are learned from"
    refuse(*((name != target, f"{rule}; got {name!r}.") for name in columns.categorical))
    for option, named in (("--column", [column]), ("--weights", weights), ("--ignore", ignored)):
        refuse((target in named, f"{option} must not name the target; got {target!r}."))
    rule = "--column must not name a column that is ignored or holds weights"
    refuse((column in [*weights, *ignored], f"{rule}; got {column!r}."))
    others = first.select([n for n in names if n not in (target, *weights, *ignored)])
    chosen = _chosen_column(path, others, kind, column, names)
    if _are_numbers(first[chosen], kind):
        raise _no_texts(path, chosen, kind, "it holds numbers. Name another one with --column")
    return chosen, tuple(name for name in others.column_names if name != chosen)


def _no_texts(path: Path, column: str, kind: str, reason: str) -> DataError:
    return DataError(f"column {column!r} of {path.name} must hold {NOUNS[kind]}s; {reason}.")
