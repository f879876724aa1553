"""Rows of a file, batch by batch, as a model reads them and as they were written.

A model must read numbers as numbers and know missing markers; the output has every other value as it was, ``007`` and
``?`` included. So a file is read twice side by side: once for the model, once word for word. Models of texts and
sequences read :mod:`tunbridge.cli.documents`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from tunbridge._core.check import listed, warn_user
from tunbridge._core.grid import plain_number
from tunbridge.cli.documents import (
    BATCH_ROWS as DOCUMENT_ROWS,
    READ,
    check_files,
    is_loose,
    iter_documents,
    kind_read,
    reading_of,
)
from tunbridge.cli.networks import NetworkTarget, check_some_columns
from tunbridge.cli.options import Described, Reading
from tunbridge.cli.output import counted, note
from tunbridge.cli.usage import near_hint, refuse
from tunbridge.data import Variable
from tunbridge.data.formats.places import several
from tunbridge.data.readers import dialect_of, iter_batches, iter_typed
from tunbridge.data.remarks import far_values
from tunbridge.data.variable import date_text
from tunbridge.errors import DataError, DataWarning

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.data.reading import Reading as Record

BATCH_ROWS = 65536
_SHOWN_ROWS = 3
_ANSWERS = 2**24  # probabilities of a batch: rows × classes
COLUMN_RULE = "--column must come with a model of texts or sequences; this one reads several columns."
OtherColumn = Annotated[
    str | None,
    Described((), "COL", "The column of the texts or sequences, if its name is not the one learned from.", False),
]


@dataclass(frozen=True)
class Rows:
    """A batch: columns as the model reads them (others, such as the class, as text), and the values word for word."""

    features: pa.Table
    verbatim: pa.Table

    def __len__(self) -> int:
        return int(self.features.num_rows)

    @property
    def read(self) -> pa.Table | pa.ChunkedArray:
        """The part that is given to the model: all columns, or the texts or sequences."""
        return self.features[READ] if READ in self.features.column_names else self.features


def iter_rows(
    model: BayesClassifier | NetworkTarget,
    path: Path | Sequence[Path],
    reading: Reading,
    column: str | None = None,
    *,
    verbatim: bool,
    batch_rows: int | None = None,
) -> Iterator[Rows]:
    """Yield the rows of a file in batches; raise unless it has columns that the model was learned from.

    Columns may be absent, but not most of those of a classifier, and not all of those of a network. A model of texts or
    sequences reads one column, which ``column`` may name; its rows may be several text files.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    check_files(model, paths, reading)
    if isinstance(model, NetworkTarget) or not kind_read(model):
        size = batch_rows or max(1, min(BATCH_ROWS, _ANSWERS // max(1, len(model.classes_))))
        refuse((column, COLUMN_RULE))
        read = _iter_table(model, paths, reading, size)
    else:
        size = batch_rows or DOCUMENT_ROWS
        read = iter_documents(model, paths, reading, column, size)
    words = (
        iter_verbatim(paths, reading, size, reading_of(model)) if verbatim and not is_loose(paths[0], reading) else None
    )
    for features in read:
        shown = features.drop_columns([READ]) if READ in features.column_names else features
        yield Rows(features, shown if words is None else next(words))


class FarValues:
    """The rows of a stream with numbers far outside of those that were learned: how many, and the first."""

    def __init__(self, model: BayesClassifier | NetworkTarget) -> None:
        self.ranges: Mapping[str, tuple[float, float]] = getattr(model, "ranges_", {})
        self.dates = {variable.name for variable in model.variables_ if variable.dates}
        self.seen = self.n = 0
        self.first: list[str] = []

    def add(self, rows: pa.Table) -> None:
        """Look at the rows of a batch."""
        found: dict[str, np.ndarray] = {}
        for name in self.ranges:
            if name in rows.column_names and pa.types.is_floating(rows.schema.field(name).type):
                found[name] = far_values(name, rows[name].to_numpy(), self.ranges)
        far = np.logical_or.reduce([np.zeros(rows.num_rows, bool), *found.values()])
        for i in np.flatnonzero(far)[: _SHOWN_ROWS - len(self.first)].tolist():
            where = f"in row {self.seen + i + 1} " if self.seen + rows.num_rows > 1 else ""
            told = [self._told(name, rows[name][i].as_py()) for name, is_far in found.items() if is_far[i]]
            self.first.append(where + " and ".join(told))
        self.n += int(far.sum())
        self.seen += rows.num_rows

    def _told(self, name: str, value: float) -> str:
        """Return a value with the range that was learned."""
        shown, least, most = (self._shown(name, number) for number in (value, *self.ranges[name]))
        return f"{name} is {shown}, learned were {least} to {most}"

    def _shown(self, name: str, number: float) -> str:
        return date_text(float(number)) if name in self.dates else plain_number(number)

    def say(self) -> None:
        """Print a note about them, if there are any."""
        if self.n:
            holds = "row holds a number" if self.n == 1 else "rows hold numbers"
            more = f"; and {counted(self.n - len(self.first), 'more row')}" if self.n > len(self.first) else ""
            note(f"Note: {self.n} {holds} far outside of what was learned: {'; '.join(self.first)}{more}.")


def row_of(
    model: BayesClassifier, path: Path, reading: Reading, row: int, column: str | None = None
) -> dict[str, object] | int:
    """Return a row of a file, counted from one, as the model reads it; the number of rows if they are fewer."""
    seen = 0
    for batch in iter_rows(model, path, reading, column, verbatim=False):
        if row <= seen + len(batch):
            found: dict[str, object] = batch.features.slice(row - 1 - seen, 1).to_pylist()[0]
            return found
        seen += len(batch)
    return seen


def _iter_table(
    model: BayesClassifier | NetworkTarget, paths: Sequence[Path], reading: Reading, size: int
) -> Iterator[pa.Table]:
    """Yield the batches of a table, or of several with the same columns, which are checked."""
    known = reading_of(model)
    spelled = set() if known is None else {*known.numbers, *known.dates, *known.markers}
    numbers = [v.name for v in model.variables_ if v.is_continuous or _has_number_states(v) or v.name in spelled]
    place, how = paths if len(paths) > 1 else paths[0], {**reading.missing_marks, **reading.how}
    read = iter_batches(place, numbers=numbers, batch_rows=size, reading=known, **how)
    continuous, absent = {v.name for v in model.variables_ if v.is_continuous}, list[str]()
    for n, features in enumerate(read):
        if n == 0:
            absent = _absent_features(model, paths[0], features.column_names)
        for name in absent:
            unknown = pa.nulls(len(features), pa.float64() if name in continuous else pa.string())
            features = features.append_column(name, unknown)
        yield features


def feature_names(model: BayesClassifier) -> list[str]:
    """Return the columns that a classifier reads, those of free text last."""
    return [*(v.name for v in model.variables_), *model.text_columns_]


def _has_number_states(variable: Variable) -> bool:
    states = variable.states or ()
    return bool(states) and all(isinstance(s, int | float) and not isinstance(s, bool) for s in states)


def _absent_features(model: BayesClassifier | NetworkTarget, path: Path, names: list[str]) -> list[str]:
    """Return the features of a classifier that a file does not have, with a warning: they count as missing values.

    Raise if most features are absent, or if one is there under nearly the same name.
    """
    if isinstance(model, NetworkTarget):
        check_some_columns(model, path, names)
        return []
    features = feature_names(model)
    absent = [name for name in features if name not in names]
    others = [name for name in names if name not in features and name != model.target_name_]
    rule, missed = f"{path.name} must have the columns that the model was learned from", listed(absent)
    for name in absent:
        if hint := near_hint(name, others):
            raise DataError(f"{rule}; {name!r} is not there.{hint}")
    if 2 * len(absent) > len(features):
        are = "is" if len(absent) == 1 else "are"
        raise DataError(f"{rule}; {missed} {are} not there. It has {listed(names)}.")
    if absent:
        plural = "" if len(absent) == 1 else "s"
        warn_user(f"{path.name} has no column{plural} {missed}: treated as missing values.", DataWarning)
    return absent


def dialect_of_rows(
    path: Path, reading: Reading, model: BayesClassifier | NetworkTarget | None = None
) -> tuple[str, str] | None:
    """Return the delimiter and the decimal mark of the rows; None where they are not delimited text."""
    if is_loose(path, reading) or several(path) is not None:
        return None
    return dialect_of(path, reading=None if model is None else reading_of(model), **reading.how)


def iter_verbatim(
    paths: Sequence[Path], reading: Reading, batch_rows: int, known: Record | None = None
) -> Iterator[pa.Table]:
    """Return all values of a file as they are: texts of a text file, values of the file's own types otherwise."""
    place = paths if len(paths) > 1 else paths[0]
    typed = iter_typed(place, format=reading.format, batch_rows=batch_rows)
    if typed is not None:
        return typed
    if known is not None:
        known = replace(known, spellings={}, date_parts=())  # values as they were written
    if known is not None and known.header:  # the first column comes out even if it only numbers the rows
        first = next(iter_batches(place, missing=(), batch_rows=1, **reading.how)).column_names[:1]
        kept = tuple(name for name in known.dropped if name not in first)
        known = replace(known, dropped=kept, names=tuple(dict.fromkeys([*known.names, *first])))
    return iter_batches(place, missing=(), batch_rows=batch_rows, reading=known, **reading.how)
