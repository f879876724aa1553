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

from tunbridge._core.check import did_you_mean, listed
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
from tunbridge.cli.output import note
from tunbridge.cli.usage import refuse
from tunbridge.data import Variable
from tunbridge.data.readers import iter_batches, iter_typed
from tunbridge.data.remarks import far_values
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.data.reading import Reading as Record

BATCH_ROWS = 65536
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
    """Yield the rows of a file in batches; raise unless it has the columns that the model was learned from.

    A network takes what there is: columns may be absent, but not all. A model of texts or sequences reads one column,
    which ``column`` may name; its rows may be several text files.
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
        self.seen = self.n = 0
        self.first = ""

    def add(self, rows: pa.Table) -> None:
        """Look at the rows of a batch."""
        far = np.zeros(rows.num_rows, bool)
        for name in self.ranges:
            if name in rows.column_names and pa.types.is_floating(rows.schema.field(name).type):
                values = rows[name].to_numpy()
                found = far_values(name, values, self.ranges)
                if found.any() and not self.first:
                    low, high = self.ranges[name]
                    i = int(found.argmax())
                    where = f"in row {self.seen + i + 1} " if self.seen + rows.num_rows > 1 else ""
                    self.first = f"{where}{name} is {values[i]:.6g}, learned were {low:.6g} to {high:.6g}"
                far |= found
        self.n += int(far.sum())
        self.seen += rows.num_rows

    def say(self) -> None:
        """Print a note about them, if there are any."""
        if self.n:
            holds = "row holds a number" if self.n == 1 else "rows hold numbers"
            note(f"Note: {self.n} {holds} far outside of what was learned: {self.first}.")


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
    markers = reading.markers_beside(known)
    place = paths if len(paths) > 1 else paths[0]
    read = iter_batches(place, numbers=numbers, missing=markers, batch_rows=size, reading=known, **reading.how)
    for n, features in enumerate(read):
        if n == 0:
            _check_features(model, paths[0], features.column_names)
        yield features


def _has_number_states(variable: Variable) -> bool:
    states = variable.states or ()
    return bool(states) and all(isinstance(s, int | float) and not isinstance(s, bool) for s in states)


def _check_features(model: BayesClassifier | NetworkTarget, path: Path, names: list[str]) -> None:
    if isinstance(model, NetworkTarget):
        check_some_columns(model, path, names)
        return
    absent = [v.name for v in model.variables_ if v.name not in names]
    if absent:
        raise DataError(
            f"{path.name} must have the columns that the model was learned from; {listed(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not there. {did_you_mean(absent[0], names)}"
        )


def iter_verbatim(
    paths: Sequence[Path], reading: Reading, batch_rows: int, known: Record | None = None
) -> Iterator[pa.Table]:
    """Return all values of a file as they are: texts of a text file, values of the file's own types otherwise."""
    place = paths if len(paths) > 1 else paths[0]
    typed = iter_typed(place, format=reading.format, batch_rows=batch_rows)
    known = known and replace(known, spellings={}, date_parts=())  # values as they were written
    return typed or iter_batches(place, missing=(), batch_rows=batch_rows, reading=known, **reading.how)
