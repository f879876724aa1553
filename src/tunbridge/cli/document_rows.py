"""Documents and sequences whose class is asked for, in batches: of a table, a folder, or text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.documents import (
    FIRST_ROWS,
    FOLDER_TARGET,
    READ,
    SEQUENCE,
    TEXT,
    are_numbers,
    chosen_column,
    column_of,
    is_loose,
    kind_read,
    read_files,
    read_folder,
)
from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import near_file
from tunbridge.cli.options import Reading
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


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
    import pyarrow as pa

    from tunbridge.data.readers import iter_batches
    from tunbridge.data.source import find_source
    from tunbridge.data.texts import nulled

    chosen = ""
    is_delimited = find_source(path, reading.format, reading.encoding).format in ("csv", "tsv")
    marks = reading.markers if is_delimited else tuple(reading.missing or ())  # other files have a null of their own
    for batch in iter_batches(path, missing=(), batch_rows=batch_rows, **reading.how()):
        chosen = chosen or _known_column(model, path, batch, column)
        others = {name: nulled(batch[name], marks) for name in batch.column_names}
        yield pa.table(others | {READ: nulled(batch[chosen], reading.missing or ())})


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
