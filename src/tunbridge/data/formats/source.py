"""Where a table is read from: the file, its format, its compression and its encoding.

A :class:`Source` is a file that has passed the first questions (is it there, is it a file, is there anything in it,
which format is it, is it compressed) and can be opened any number of times, as bytes or as text, unpacked on the way.
Readers first :func:`scan` a text file: one cheap pass that finds what would go wrong later (bytes that no text has, a
quote that is never closed) and how much memory the text will need. The slow search for the place of a mistake is made
only when there is one.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed, missing_file
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import entries
from tunbridge.data.formats.places import STDIN, place_of, standard_input
from tunbridge.errors import DataError, FormatError

_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x04\x22\x4d\x18": "lz4",
}
_NO_TABLES = {
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x80": "a pickle",
}
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_PACKED_SUFFIXES = (".zip", ".bz2", ".xz", ".zst", ".7z", ".lz4", ".br", ".z", ".rar", ".tar", ".tgz")
_GZIP = b"\x1f\x8b"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK = 1 << 20
_SIGNATURE = 64
_HEAD = 4096
_LONGEST_CODE = 20
_BLOCK = 1 << 16  # which fits into the cache
HEAD = 1 << 14
"""The first bytes of a text file, by which its layout is found."""
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]{3,}")
_NOT_WESTERN = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # no characters of Windows-1252
_FOREIGN = 0.7  # the share of bytes beyond ASCII in words of another alphabet; in Western words it is far lower


def table_suffixes() -> dict[str, str]:
    """Return the format of each file name suffix.

    Examples
    --------
    >>> table_suffixes()[".tab"]
    'tsv'
    """
    return {suffix: name for name, entry in entries("table_format").items() for suffix in entry.details["suffixes"]}


class Scan(NamedTuple):
    """What one pass over the bytes of a text file has found."""

    n_bytes: int
    quotes: int
    quoted_rows: bool
    encoding: str = "utf-8"
    head: bytes = b""


@dataclass(frozen=True)
class Source:
    """A file that can be opened: its path, format, text encoding, whether it is gzipped, and its bytes if held.

    ``detects`` says that the encoding is a guess, which :func:`scan` checks; ``fallback`` is that of text that is not
    UTF-8. ``part`` is the sheet or table that is named, ``delimiter`` that of text which was written here, and
    ``notes`` are lines of the report.
    """

    path: Path
    format: str
    encoding: str
    gzipped: bool
    content: pa.Buffer | None = None
    detects: bool = False
    fallback: str | None = None
    part: str | None = None
    delimiter: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The file's name as messages give it."""
        if self.path == STDIN:
            return "standard input"
        return f"the file {str(self.path)!r}"

    def open(self) -> pa.NativeFile:
        """Return the bytes as a stream, unpacked on the way if they are not held."""
        if self.content is not None:
            return pa.BufferReader(self.content)
        plain = pa.OSFile(str(self.path))
        return pa.CompressedInputStream(plain, "gzip") if self.gzipped else plain

    def text(self) -> TextIO:
        """Return the text as a stream of lines, whose ends are kept as they are."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")

    def unpacked(self) -> Source:
        """Return the source with a gzipped file's bytes held in memory, which can be read again, and in any order."""
        if not self.gzipped or self.content is not None:
            return self
        out = pa.BufferOutputStream()
        with reading(self), self.open() as stream:
            while chunk := stream.read(_CHUNK):
                out.write(chunk)
                check_memory(
                    f"unpacking {self.named}", out.tell(), ways_out="Unpack it to disk, or read it in batches."
                )
        return replace(self, content=out.getvalue())


def find_source(path: str | os.PathLike[str], format: str | None, encoding: str | None) -> Source:
    """Return the file as a source; raise when it is absent, a folder, empty, or packed in a way not known here.

    The encoding None stands for the one that is detected.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise DataError(f"path must be the name of a file; got {type(path).__name__}. Frames are for as_table.")
    place = place_of(path)
    if place.path == STDIN:
        return _of_standard_input(format, encoding)
    file = place.path
    with _system_errors(file):
        _check_is_file(file)
    format = format or place.format
    known_format = None if format is None else _known_format(format)
    with _system_errors(file), file.open("rb") as stream:
        head = stream.read(_SIGNATURE)
    _check_no_other(file, head)
    chosen = known_format or _format_by_name(file)
    details = entries("table_format")[chosen].details
    if not head:
        raise FormatError(f"the file {str(file)!r} must hold a table; it is empty.")
    gzipped = head.startswith(_GZIP)
    if not gzipped and not details.get("zipped"):
        _check_not_packed(file, head)
    known = "utf-8" if encoding is None else _known_encoding(encoding)
    return Source(file, chosen, known, gzipped, detects=encoding is None, part=place.part)


def _of_standard_input(format: str | None, encoding: str | None) -> Source:
    """Return standard input as a source: CSV, unless another format is given."""
    content = standard_input()
    if not content.size:
        raise FormatError("standard input must hold a table; it is empty.")
    gzipped = bytes(content[:2]) == _GZIP
    known = "utf-8" if encoding is None else _known_encoding(encoding)
    chosen = _known_format(format or "csv")
    found = Source(STDIN, chosen, known, False, content, detects=encoding is None)
    return replace(found, content=pa.py_buffer(gzip.decompress(content))) if gzipped else found


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn what Arrow, the codecs and the system raise about a damaged file into one FormatError."""
    try:
        yield
    except pa.ArrowMemoryError as error:
        raise FormatError(f"{source.named} must fit into memory; it is larger, or damaged ({error}).") from None
    except (DataError, MemoryError):
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        if isinstance(error, UnicodeError) and entries("table_format")[source.format].details.get("text"):
            check_decodes(source)
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        packed = "gzipped " if source.gzipped else ""
        raise FormatError(
            f"{source.named} must be a whole {packed}{source.format} file; it is damaged or something else ({reason})."
        ) from None


def scan(source: Source) -> Scan:
    """Return the size of a text file, how it is quoted, and its encoding; raise for bytes that no text has."""
    size = quotes = 0
    quoted_rows, encoding, pending, head = False, source.encoding, b"", b""
    with reading(source), source.open() as stream:
        while chunk := stream.read(_CHUNK):
            if size == 0:
                head = chunk[:HEAD]
                encoding = (source.detects and _wide_encoding(chunk)) or encoding
            if not encoding.startswith(("utf-16", "utf-32")) and b"\0" in chunk:
                raise _nul_error(source, size + chunk.index(b"\0"))
            if source.detects and encoding == "utf-8" and (pending or not chunk.isascii()):
                pending, is_utf8 = _rest_of_utf8(pending + chunk if pending else chunk)
                encoding = encoding if is_utf8 else _other_encoding(source, chunk)
            if b'"' in chunk:
                # A header is often the only line that is quoted, and it tells nothing about the rows.
                header = chunk.find(b"\n") + 1 if size == 0 else 0
                quoted_rows = quoted_rows or chunk.find(b'"', header) >= 0
                quotes += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == ord('"')))
            size += len(chunk)
    if pending and encoding == "utf-8" and not _is_utf8(pending):
        encoding = _other_encoding(source, pending)
    return Scan(size, quotes, quoted_rows, encoding, head)


def has_leading_zero(source: Source) -> bool:
    """Return whether a text file has a field of digits that starts with a zero, and is no zero itself."""
    tail = b"\n"
    with reading(source), source.open() as stream:
        while chunk := stream.read(_CHUNK):
            if _in_chunk(tail + chunk):
                return True
            tail = chunk[-_LONGEST_CODE:]
    return _in_chunk(tail + b"\n")


def _in_chunk(chunk: bytes) -> bool:
    """Return whether a field of digits, which another field or line follows, starts with a zero."""
    data = np.frombuffer(chunk.replace(b"\0", b"") if b"\0" in chunk else chunk, np.uint8)
    marks = [mark for mark in b";|" if mark in chunk[:_HEAD]]
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK + 2]
        found = block[1:-1] == ord("0")
        found &= _ends_field(block[:-2], marks)
        found &= block[2:] - np.uint8(ord("0")) < 10
        if found.any() and _are_digits(data, np.flatnonzero(found) + start + 3):
            return True
    return False


def _are_digits(data: np.ndarray, places: np.ndarray) -> bool:
    """Return whether from one of the places on there are digits up to the end of a field."""
    for _ in range(_LONGEST_CODE):
        places = places[places < len(data)]
        after = data[places]
        if _ends_field(after, b";|").any():
            return True
        places = places[after - np.uint8(ord("0")) < 10] + 1
        if not places.size:
            break
    return False


def _ends_field(data: np.ndarray, marks: Iterable[int]) -> np.ndarray:
    """Return where a field may end: at line ends, blanks, quotes, commas, tabs, and these marks."""
    found: np.ndarray = data < ord("-")
    for mark in marks:
        found |= data == mark
    return found


def marked(source: Source) -> Source:
    """Return a text file with the encoding that its first bytes say, or else UTF-8, which is final then."""
    if source.content is None and not source.path.is_file():
        return source
    with reading(source), source.open() as stream:
        encoding = _wide_encoding(stream.read(_HEAD))
    return replace(source, encoding=encoding or source.encoding, detects=False)


def _wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if the first bytes of a file say so: a mark, or every other byte NUL."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked is not None or b"\0" not in head[:_HEAD]:
        return marked
    even, odd = head[:_HEAD:2], head[1:_HEAD:2]
    for name, nul, other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if nul.count(0) > len(nul) / 2 and other.count(0) < len(other) / 10:
            return name
    return None


def _rest_of_utf8(chunk: bytes) -> tuple[bytes, bool]:
    """Return the last character of a chunk, if it may be cut off, and whether all before it is UTF-8."""
    end = len(chunk)
    while end > max(0, len(chunk) - 3) and chunk[end - 1] & 0xC0 == 0x80:
        end -= 1
    if end and chunk[end - 1] >= 0xC0:
        end -= 1
    else:
        end = len(chunk)
    return chunk[end:], _is_utf8(chunk[:end])


def _is_utf8(chunk: bytes) -> bool:
    """Return whether bytes are UTF-8; Arrow finds out faster than Python."""
    ends = pa.py_buffer(np.array([0, len(chunk)], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(chunk)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _other_encoding(source: Source, chunk: bytes) -> str:
    """Return the encoding of text that is not UTF-8; UTF-8 itself for a few damaged bytes, which are reported later."""
    if source.fallback is not None:
        return source.fallback
    text = chunk.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    if sum(not c.isascii() for c in text) > 2 * bad:
        return "utf-8"
    words = [w for w in _WORDS.findall(chunk) if not w.isascii()]
    foreign = sum(map(len, words)) and sum(b > 127 for w in words for b in w) / sum(map(len, words)) > _FOREIGN
    if foreign or _NOT_WESTERN.search(chunk):
        raise FormatError(
            f"{source.named} must be UTF-8, or its encoding must be given; it is neither UTF-8 nor Western text. "
            "Give the encoding, as in encoding='cp1251' (Cyrillic), 'gb18030', 'shift_jis' or 'cp850' (DOS)."
        )
    return "cp1252"


def count_lines(source: Source) -> int:
    """Return how many lines a text file has."""
    lines = 1
    with reading(source), source.open() as stream:
        while chunk := stream.read(_CHUNK):
            lines += chunk.count(b"\n")
    return lines


def check_decodes(source: Source) -> None:
    """Raise a FormatError that names the first byte which is not text in the source's encoding."""
    decoder = codecs.getincrementaldecoder(source.encoding)()
    start, line, pending = 0, 1, b""
    with source.open() as stream:
        while True:
            chunk = stream.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeError as error:
                whole = pending + chunk
                at = getattr(error, "start", 0)
                line += whole[:at].count(b"\n")
                raise _encoding_error(source, start - len(pending) + at, whole[at : at + 1], line) from None
            if not chunk:
                return
            kept = decoder.getstate()[0]
            line += (pending + chunk)[: len(pending) + len(chunk) - len(kept)].count(b"\n")
            pending, start = kept, start + len(chunk)


def _encoding_error(source: Source, offset: int, byte: bytes, line: int) -> FormatError:
    with source.open() as stream:
        head = stream.read(4)
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    fallback = "latin-1" if source.encoding == "utf-8" else "utf-8"
    shown = f"byte {offset} is 0x{byte.hex()}" if byte else f"it ends within a character at byte {offset}"
    hint = f"Its first bytes say encoding={marked!r}." if marked else f"Try encoding={fallback!r}."
    return FormatError(f"{source.named} must be {source.encoding} text; {shown}. {hint}", line=line)


def _nul_error(source: Source, offset: int) -> FormatError:
    line, left = 1, offset
    with source.open() as stream:
        while chunk := stream.read(min(left, _CHUNK)):
            if left == offset and chunk.startswith(tuple(_MARKS)):
                return _encoding_error(source, 0, chunk[:1], 1)
            line, left = line + chunk.count(b"\n"), left - len(chunk)
    return FormatError(
        f"{source.named} must be text; byte {offset} is NUL, which no text holds. "
        "It is binary, or text in another encoding such as encoding='utf-16'.",
        line=line,
    )


def _check_is_file(file: Path) -> None:
    if file.is_dir():
        raise DataError(f"path must be the name of a file; got the folder {str(file)!r}.")
    if file.is_file():
        return
    if file.exists():
        raise DataError(
            f"path must be the name of a regular file; got {str(file)!r}. Write its content to a file first."
        )
    raise missing_file(file)


def _known_format(format: str) -> str:
    suffix = f".{str(format).lower().removeprefix('.')}"
    known = table_suffixes() | {f".{name}": name for name in entries("table_format")}
    if suffix not in known:
        names = sorted(s.removeprefix(".") for s in known)
        raise DataError(
            f"format must be one of {listed(names, most=20)}; got {format!r}. {did_you_mean(format, names)}"
        )
    return known[suffix]


def _format_by_name(file: Path) -> str:
    suffixes = [s.lower() for s in file.suffixes]
    if suffixes and suffixes[-1] in _PACKED_SUFFIXES:
        raise FormatError(
            f"a compressed file must be gzipped (.gz); got {file.name!r}. Unpack it first, or compress it with gzip."
        )
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    known = table_suffixes()
    first = [entry.details["suffixes"][0] for entry in entries("table_format").values()]
    if not suffixes or suffixes[-1] not in known:
        raise FormatError(
            f"the name of a table's file must end in {', '.join(first)}, also with .gz; got {file.name!r}. If it is "
            "one of these formats, name it, as in format='csv'."
        )
    return known[suffixes[-1]]


def _check_no_other(file: Path, head: bytes) -> None:
    """Raise for a document, a picture, a pickle or a page of the web, whatever its name is."""
    what = next((what for magic, what in _NO_TABLES.items() if head.startswith(magic)), "")
    if what == "a pickle" and not re.match(rb"\x80[\2-\5]", head):
        what = ""
    hint = {"a pickle": "Pickles can run code and are never read: write the frame with to_parquet or to_csv."}.get(what)
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)\b", head, re.IGNORECASE):
        what = "a web page"
        hint = "It may ask for a login, or say what went wrong: open it in a browser, and download the table itself."
    if what:
        hint = hint or "Export the table from its program as .csv or .xlsx."
        raise FormatError(f"the file {str(file)!r} must hold a table; it is {what}. {hint}")


def _check_not_packed(file: Path, head: bytes) -> None:
    if file.suffix.lower() in _WORKBOOKS:
        raise FormatError(f"the file {str(file)!r} is a workbook, not text. Leave out the format.")
    if file.suffix.lower() == ".gz":
        raise FormatError(
            f"a file called .gz must be gzipped; {file.name!r} is not. Rename it if it is not compressed."
        )
    for magic, what in _PACKED.items():
        if head.startswith(magic) and (magic != b"BZh" or head[4:8] == b"1AY&"):
            raise FormatError(f"a compressed file must be gzipped; {file.name!r} is {what}. Unpack it first.")


def _known_encoding(encoding: str) -> str:
    try:
        b" ".decode(encoding)
        return codecs.lookup(encoding).name
    except UnicodeError:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise DataError(f"encoding must be a text encoding such as 'utf-8' or 'latin-1'; got {encoding!r}.") from None


@contextmanager
def _system_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"the file {str(file)!r} must be readable; the system says: {error.strerror}.") from None


def check_size(source: Source, n_bytes: float) -> None:
    """Raise MemoryForecastError when a table of about that many bytes would not fit."""
    check_memory(f"reading {source.named}", n_bytes, ways_out="Read fewer columns, or read it in batches.")


def no_rows(source: Source) -> FormatError:
    """Return the error about a file that names columns and holds nothing else."""
    return FormatError(f"{source.named} must hold rows; it holds a header but no rows.")
