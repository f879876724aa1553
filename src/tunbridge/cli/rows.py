"""Rows of a file, batch by batch, as a model reads them and as they were written.

A model must read numbers as numbers and know missing markers; whoever gets the predictions wants every other cell back
as it was, ``007`` and ``?`` included. So a file is read twice side by side: once for the model, once word for word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.network_rows import NetworkTarget, check_some_columns
from tunbridge.cli.options import Reading
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 65536
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
    model: Any, path: Path, reading: Reading, *, verbatim: bool, batch_rows: int = BATCH_ROWS
) -> Iterator[Rows]:
    """Yield the rows of a file in batches; raise unless it has the columns that the model was learned from.

    A network takes what there is: columns may be absent, but not all.
    """
    from tunbridge.data.readers import iter_batches

    numbers = [v.name for v in model.variables_ if v.is_continuous or _has_number_states(v)]
    read = iter_batches(path, numbers=numbers, missing=reading.markers, batch_rows=batch_rows, **reading.how())
    words = _iter_verbatim(path, reading, batch_rows) if verbatim else None
    for n, features in enumerate(read):
        if n == 0:
            _check_features(model, path, features.column_names)
        yield Rows(features, features if words is None else next(words))


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
