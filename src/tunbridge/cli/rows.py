"""Rows of a file, batch by batch, as a model reads them and as they were written.

A model must read numbers as numbers and know missing markers; the output has every other value as it was, ``007`` and
``?`` included. So a file is read twice side by side: once for the model, once word for word.

A model of texts or sequences reads one column, word for word: the usual missing markers are texts here, and only an
empty value, or what ``--missing`` names, is missing. In a folder every subfolder is a class and every file a document
of it. A text file by itself is one document or, for sequences, has one on each line.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import tunbridge as tb
from tunbridge._core.check import did_you_mean, listed
from tunbridge.cli.files import near_file
from tunbridge.cli.networks import NetworkTarget, check_some_columns
from tunbridge.cli.options import Described, Reading, check_column
from tunbridge.cli.output import UsageError, note
from tunbridge.data.formats.request import nulled
from tunbridge.data.formats.source import find_source
from tunbridge.data.readers import iter_batches, iter_typed
from tunbridge.errors import DataError

BATCH_ROWS, DOCUMENT_ROWS, FIRST_ROWS = 65536, 8192, 100
TEXT, SEQUENCE = "text", "sequence"
OtherColumn = Annotated[
    str | None,
    Described((), "COL", "The column of the texts or sequences, if its name is not the one learned from.", False),
]
NOUNS = {TEXT: "document", SEQUENCE: "sequence"}
FOLDER_TARGET = "class"
READ = "(what is read)"
"""The column of a batch that holds what the model reads, under a name that no file has."""

_PLAIN = (".txt", ".text", ".eml")
_DIGITS = r"^\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_WITH_POINT = r"^\s*([+-][0-9]+|[+-]?[0-9]*[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_LOST = "\ufffd"


class Rows(NamedTuple):
    """A batch: columns as the model reads them (others, such as the class, as text), and the values word for word."""

    features: pa.Table
    verbatim: pa.Table

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.features.num_rows)


def iter_rows(
    model: Any,
    path: Path | Sequence[Path],
    reading: Reading,
    column: str | None = None,
    *,
    verbatim: bool,
    batch_rows: int | None = None,
) -> Iterator[Rows]:
    """Yield the rows of a file in batches; raise unless it has the columns that the model was learned from.

    A network takes what there is: columns may be absent, but not all. A model of texts or sequences reads one column,
    which ``column`` may name; its rows may be several text files.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    check_files(model, paths, reading)
    size = batch_rows or (DOCUMENT_ROWS if kind_read(model) else BATCH_ROWS)
    read = _iter_read(model, paths, reading, column, size)
    words = _iter_verbatim(paths[0], reading, size) if verbatim and not is_loose(paths[0], reading) else None
    for features in read:
        yield Rows(features, next(words) if words is not None else _without_read(features))


def _iter_read(
    model: Any, paths: Sequence[Path], reading: Reading, column: str | None, size: int
) -> Iterator[pa.Table]:
    """Yield batches as the model reads them."""
    if kind_read(model):
        yield from iter_documents(model, paths, reading, column, size)
        return
    if column is not None:
        raise UsageError("--column must come with a model of texts or sequences; this one reads several columns.")
    numbers = [v.name for v in model.variables_ if v.is_continuous or _has_number_states(v)]
    read = iter_batches(paths[0], numbers=numbers, missing=reading.markers, batch_rows=size, **reading.how)
    for n, features in enumerate(read):
        if n == 0:
            _check_features(model, paths[0], features.column_names)
        yield features


def _without_read(features: pa.Table) -> pa.Table:
    return features.drop_columns([READ]) if READ in features.column_names else features


def _has_number_states(variable: Any) -> bool:
    states = variable.states or ()
    return bool(states) and all(isinstance(s, int | float) and not isinstance(s, bool) for s in states)


def _check_features(model: Any, path: Path, names: list[str]) -> None:
    if isinstance(model, NetworkTarget):
        check_some_columns(model, path, names)
        return
    absent = [v.name for v in model.variables_ if v.name not in names]
    if absent:
        raise DataError(
            f"{path.name} must have the columns that the model was learned from; {listed(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not there. {did_you_mean(absent[0], names)}"
        )


def _iter_verbatim(path: Path, reading: Reading, batch_rows: int) -> Iterator[pa.Table]:
    """Return all values of a file as they are: texts of a text file, values of the file's own types otherwise."""
    typed = iter_typed(path, format=reading.format, batch_rows=batch_rows)
    return typed or iter_batches(path, missing=(), batch_rows=batch_rows, **reading.how)


# Documents and sequences


def iter_documents(
    model: Any, paths: Sequence[Path], reading: Reading, column: str | None, batch_rows: int
) -> Iterator[pa.Table]:
    """Yield documents in batches: all columns as text, that of the classes with null where it is missing, and READ."""
    kind = kind_read(model)
    if not is_loose(paths[0], reading):
        yield from _table_batches(model, paths[0], reading, column, batch_rows)
        return
    if column is not None:
        raise UsageError(f"--column must come with a table; {str(paths[0])!r} is none.")
    found = _loose(model, paths, kind, reading)
    for start in range(0, found.num_rows, batch_rows):
        yield found.slice(start, batch_rows)


def _loose(model: Any, paths: Sequence[Path], kind: str, reading: Reading) -> pa.Table:
    """Return documents that are files: their names, their classes where there are subfolders, and what is read."""
    if paths[0].is_dir():
        if kind != TEXT:
            raise DataError(f"sequences must be in a table or in a text file; {str(paths[0])!r} is a folder.")
        found = read_folder(paths[0], reading.encoding)
        names = ["file", READ] if found["class"].null_count else ["file", model.target_name_ or FOLDER_TARGET, READ]
        order = ["file", "text"] if found["class"].null_count else ["file", "class", "text"]
        return found.select(order).rename_columns(names)
    found = read_files(paths, kind, reading.encoding)
    if kind == TEXT:
        return found.select(["file", "text"]).rename_columns(["file", READ])
    return found.select(["text", "text"]).rename_columns([column_of(model) or SEQUENCE, READ])


def _table_batches(model: Any, path: Path, reading: Reading, column: str | None, batch_rows: int) -> Iterator[pa.Table]:
    chosen = ""
    is_delimited = find_source(path, reading.format, reading.encoding).format in ("csv", "tsv")
    marks = reading.markers if is_delimited else tuple(reading.missing)  # other files have a null of their own
    for batch in iter_batches(path, missing=(), batch_rows=batch_rows, **reading.how):
        chosen = chosen or _known_column(model, path, batch, column)
        others = {name: nulled(batch[name], marks) for name in batch.column_names}
        yield pa.table(others | {READ: nulled(batch[chosen], reading.missing)})


def _known_column(model: Any, path: Path, batch: pa.Table, column: str | None) -> str:
    """Return the column that the model reads: its own where the file has it, or the only one that may be it."""
    own, kind, names = column_of(model), kind_read(model), batch.column_names
    if column is None and own in names:
        return str(own)
    others = batch.select([n for n in names if n != model.target_name_]).slice(0, FIRST_ROWS)
    texts = [n for n in others.column_names if not are_numbers(others[n], kind)]
    if column is None and len(texts) != 1 and own is not None:
        rule = f"{path.name} must have the column that the model was learned from, {own!r}"
        raise DataError(f"{rule}; it has {listed(names)}. {_hint(own, names)}")
    return chosen_column(path, others, kind, column, names)


def _hint(own: str, names: list[str]) -> str:
    near = did_you_mean(own, names)
    return f"{near} --column names another one." if near.startswith("Did") else "--column names another one."


def check_files(model: Any, paths: Sequence[Path], reading: Reading) -> None:
    """Raise unless the rows are one table or, where the model reads texts or sequences, a folder or text files."""
    kind = kind_read(model)
    if len(paths) > 1 and not (kind and all(is_loose(p, reading) and not p.is_dir() for p in paths)):
        rule = "several files must be text files" if kind else "the rows must be one table"
        raise UsageError(f"{rule}; got {listed([str(p) for p in paths], most=3)}.")
    for path in paths:
        if kind and is_loose(path, reading) and not path.exists():
            raise DataError(f"the rows must be a file that exists; got {str(path)!r}.{near_file(path)}")


def innermost(model: Any) -> Any:
    """Return the classifier inside others: what was calibrated, or learned from rows without a class too."""
    while hasattr(model, "estimator_"):
        model = model.estimator_
    return model


def kind_read(model: Any) -> str:
    """Return what a model reads: texts, sequences, or, as nothing to be named, rows of a table."""
    kind = getattr(innermost(model), "kind", "")
    return kind if kind in NOUNS else ""


def column_of(model: Any) -> str | None:
    """Return the column from which a model of texts or sequences was learned, where it had a name."""
    inner = innermost(model)
    found: str | None = inner.column or inner.statistics_.column
    return found


def as_read(batch: pa.Table) -> Any:
    """Return the part of a batch that is given to the model: all of it, or the texts or sequences."""
    return batch[READ] if READ in batch.column_names else batch


# Files


def is_loose(path: Path, reading: Reading) -> bool:
    """Return whether a path is documents by themselves rather than a table: a folder, or a text file.

    Examples
    --------
    >>> is_loose(Path("mail.txt"), Reading()), is_loose(Path("mail.txt"), Reading(format="tsv"))
    (True, False)
    """
    return path.is_dir() or (reading.format is None and path.suffix.lower() in _PLAIN)


def read_folder(path: Path, encoding: str) -> pa.Table:
    """Return the documents of a folder: columns text, class and file."""
    found = tb.read_documents(path, encoding=_decoding(encoding))
    return _noted(found, encoding)


def read_files(paths: Sequence[Path], kind: str, encoding: str) -> pa.Table:
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


def chosen_column(path: Path, first: pa.Table, kind: str, column: str | None, names: list[str]) -> str:
    """Return the column that is asked for; else the one called text or sequence, or the only one that may be it."""
    if column is not None:
        check_column("--column", column, path, names)
        return column
    named = [n for n in first.column_names if n.lower() == kind]
    texts = [n for n in first.column_names if not are_numbers(first[n], kind)]
    for some in (named, texts):
        if len(some) == 1:
            return some[0]
    what = f"the column of the {NOUNS[kind]}s"
    if not texts:
        others = f"{listed(first.column_names)} hold numbers" if first.column_names else "it has no other column"
        raise DataError(f"{path.name} must have {what} beside the target; {others}.")
    longest = max(texts, key=lambda n: _mean_length(first[n]))
    raise UsageError(f"--column must name {what}; {path.name} has {listed(texts)}. Say --column {longest!r}?")


def are_numbers(values: Any, kind: str) -> bool:
    """Return whether all values that hold something are numbers; digits alone may be a sequence."""
    some = values.filter(pc.not_equal(values, ""))
    numbers = pc.match_substring_regex(some, _DIGITS if kind == TEXT else _WITH_POINT)
    return len(some) > 0 and bool(pc.all(numbers).as_py())


def _mean_length(values: Any) -> float:
    return pc.mean(pc.utf8_length(values)).as_py() or 0.0
