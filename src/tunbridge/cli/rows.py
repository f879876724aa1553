"""Rows of a file, batch by batch, as a model reads them and as they were written.

A model must read numbers as numbers and know missing markers; whoever gets the predictions wants every other cell back
as it was, ``007`` and ``?`` included. So a file is read twice side by side: once for the model, once word for word.
Where the model reads texts or sequences, the rows may also be files by themselves (:mod:`tunbridge.cli.documents`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.document_rows import check_files, iter_documents
from tunbridge.cli.documents import READ, is_loose, kind_read
from tunbridge.cli.failures import UsageError
from tunbridge.cli.network_rows import NetworkTarget, check_some_columns
from tunbridge.cli.options import Reading
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS, DOCUMENT_ROWS = 65536, 8192
_TYPED = ("parquet", "arrow")


class Rows(NamedTuple):
    """A batch: columns as the model reads them (others, such as the class, as text), and the cells word for word."""

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
    from tunbridge.data.readers import iter_batches

    if kind_read(model):
        yield from iter_documents(model, paths, reading, column, size)
        return
    if column is not None:
        raise UsageError("--column must come with a model of texts or sequences; this one reads several columns.")
    numbers = [v.name for v in model.variables_ if v.is_continuous or _has_number_states(v)]
    read = iter_batches(paths[0], numbers=numbers, missing=reading.markers, batch_rows=size, **reading.how())
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
    """Yield all cells of a file as they are: texts of a text file, values of the file's own types otherwise."""
    from tunbridge.data.readers import iter_batches
    from tunbridge.data.source import find_source
    from tunbridge.data.typed import iter_arrow, iter_parquet

    source = find_source(path, reading.format, reading.encoding)
    if source.format not in _TYPED:
        return iter_batches(path, missing=(), batch_rows=batch_rows, **reading.how())
    return _rebatched(
        iter_parquet(source, batch_rows) if source.format == "parquet" else iter_arrow(source), batch_rows
    )


def _rebatched(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    import pyarrow as pa

    waiting: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while waiting.num_rows >= size:
            yield waiting.slice(0, size)
            waiting = waiting.slice(size)
    if waiting is not None and waiting.num_rows:
        yield waiting
