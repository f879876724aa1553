"""Tables, out: delimited text and Parquet, batch by batch, and never half a file.

:func:`replacing` gives a temporary file that takes the place of the named one when all is written; until then, and
after Ctrl-C, what was there before stays. Delimited text is composed by Arrow, column by column: a field is quoted only
when it holds the delimiter, a quote or a line end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tunbridge._check import listed
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*_DELIMITERS, *_PARQUET)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file that becomes ``path`` in the end, or goes away when something fails."""
    check_place(path)
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        yield target  # a device or a pipe cannot be replaced, only written to
        return
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (temporary, str(temporary)):
            error.filename = str(path)
        raise


def check_place(path: Path) -> None:
    """Raise unless a file can be made, or replaced, under this name."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"the output must be a file; {str(path)!r} is a folder.")
    if not target.parent.is_dir():
        raise DataError(f"the output must go to a folder that exists; there is no {str(target.parent)!r}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is write-protected", str(path))


def check_output(path: Path | None, *, inputs: Iterable[Path], suffixes: Iterable[str] = TABLE_SUFFIXES) -> None:
    """Raise unless a file name can be written to: its suffix is known, and it is not that of an input."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise DataError(f"the name of the output must end in {listed(suffixes)}; got {path.name!r}.")
    check_not_input(path, inputs)


def check_not_input(path: Path, inputs: Iterable[Path]) -> None:
    """Raise when a file to be written is one of those that are read."""
    for file in inputs:
        if path.exists() and file.exists() and path.samefile(file):
            raise DataError(f"the output must not replace the input; got {str(path)!r} for both. Name another file.")


def write_batches(path: Path | None, batches: Iterator[pa.Table]) -> None:
    """Write batches of equal columns to a file, by its suffix, or as CSV to stdout."""
    if path is None:
        sys.stdout.flush()
        _write_text(sys.stdout.buffer, batches, ",")
        sys.stdout.buffer.flush()
        return
    with replacing(path) as file:
        if path.suffix.lower() in _PARQUET:
            _write_parquet(file, batches)
        else:
            with open(file, "wb") as stream:
                _write_text(stream, batches, _DELIMITERS[path.suffix.lower()])


def _write_text(stream: BinaryIO, batches: Iterator[pa.Table], delimiter: str) -> None:
    for n, batch in enumerate(batches):
        if n == 0:
            import pyarrow as pa

            header = pa.table({f"c{j}": [name] for j, name in enumerate(batch.column_names)})
            stream.write(text_lines(header, delimiter))
        stream.write(text_lines(batch, delimiter))


def text_lines(batch: pa.Table, delimiter: str = ",") -> bytes:
    """Return the rows of a batch as lines of delimited text in UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(text_lines(pa.table({"name": ["Ann", "Bo, the cat", None], "age": [31, None, 62]})).decode().rstrip())
    Ann,31
    "Bo, the cat",
    ,62
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return b""
    fields = [_fields(column, delimiter) for column in batch.columns]
    if len(fields) == 1:  # an empty line would be no row
        fields = [pc.if_else(pc.equal(fields[0], ""), '""', fields[0])]
    end = pa.scalar("\n", pa.large_string())
    fields[-1] = pc.binary_join_element_wise(fields[-1], end, pa.scalar("", pa.large_string()))
    lines = pc.binary_join_element_wise(*fields, pa.scalar(delimiter, pa.large_string())) if fields[1:] else fields[0]
    return _bytes(lines)


def _fields(column: pa.ChunkedArray, delimiter: str) -> pa.Array:
    """Return values as the texts of fields, quoted where that is needed; missing ones are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    words = _bytes(texts)  # a look at all of them at once is far cheaper than one at each
    if not any(mark.encode() in words for mark in (delimiter, '"', "\r", "\n")):
        return texts
    odd = pc.match_substring_regex(texts, f'[{delimiter}"\r\n]')
    doubled = pc.replace_substring(texts, '"', '""')
    quote = pa.scalar('"', pa.large_string())
    return pc.if_else(odd, pc.binary_join_element_wise(quote, doubled, quote, pa.scalar("", pa.large_string())), texts)


def _bytes(lines: pa.Array) -> bytes:
    """Return the bytes of all texts of an array one after the other, as Arrow holds them already."""
    import numpy as np

    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)[[lines.offset, lines.offset + len(lines)]]
    if data is None:
        return b""
    return bytes(memoryview(data)[int(ends[0]) : int(ends[1])])


def _write_parquet(file: Path, batches: Iterator[pa.Table]) -> None:
    from pyarrow import parquet

    writer: Any = None
    try:
        for batch in batches:
            writer = writer or parquet.ParquetWriter(str(file), batch.schema)
            writer.write_table(batch.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
