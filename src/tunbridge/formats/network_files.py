"""Network files: the format by suffix, the text by its encoding, the whole file or nothing.

Every format registers itself next to its reader and writer (``@network_format``), so adding one is one file. Text files
may be gzipped (``.bif.gz``). Text is read as UTF-8, with or without a byte order mark, as UTF-16 with one, and if it is
not UTF-8 as Windows-1252 or else Latin-1; an XML file may declare another encoding. Text is written as UTF-8.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from pathlib import Path

from tunbridge._core.check import did_you_mean, listed, missing_file
from tunbridge._core.registry import Entry, entries
from tunbridge.errors import DataError, FormatError, MemoryForecastError
from tunbridge.formats._assembly import NetworkParts, check_size
from tunbridge.formats._scanner import place_of
from tunbridge.formats.native import file_name, replacement

_GZIP = b"\x1f\x8b"
_CHUNK = 2**20
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""", re.IGNORECASE)
_XML_ENCODINGS = re.compile(
    r"utf-?8|utf-?16|(?:us-)?ascii|latin-?1|iso-?8859-\d\d?|(?:windows-|cp)125\d|"
    r"gb2312|gbk|gb18030|big5|shift_jis|euc-jp|euc-kr|koi8-r",
    re.IGNORECASE,
)


def network_suffixes() -> dict[str, str]:
    """Return the name of the format for each file suffix.

    Examples
    --------
    >>> network_suffixes()[".xml"]
    'xmlbif'
    """
    formats = entries("network_format")
    return {suffix: name for name, entry in formats.items() for suffix in entry.details["suffixes"]}


SUFFIXES = network_suffixes()
"""The suffixes of the formats of this package."""


def read_network_parts(
    path: str | os.PathLike[str], format: str | None = None, *, dialect: str | None = None
) -> NetworkParts:
    """Return the parts of the network in a file.

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    format : {"bif", "xmlbif", "net", "dsc", "dsl", "xdsl", "uai", "tb"}, optional
        The format; by default the suffix decides.
    dialect : {"agrum"}, optional
        The program that wrote a UAI or XDSL file, if it differs from the others: aGrUM orders parents the other way.

    Raises
    ------
    FormatError
        If the file is damaged, hostile or of another format; with line and column where possible.
    """
    name = file_name(path, "a network")
    chosen = _format(name, format)
    options = _options(chosen, dialect)
    if not os.path.exists(name):
        raise missing_file(Path(name))
    reader = chosen.load()
    if chosen.details.get("binary"):
        return reader.read(name)
    try:
        return reader.read(_text(_bytes(name)), **options)
    except FormatError as error:
        prefix = "" if error.line is None else f"line {error.line}, column {error.column}: "
        message = f"{str(error).removeprefix(prefix)} The file is {name!r}."
        raise FormatError(message, line=error.line, column=error.column) from None
    except MemoryForecastError as error:
        raise MemoryForecastError(f"{error} The file is {name!r}.") from None


def write_network_parts(
    path: str | os.PathLike[str], parts: NetworkParts, format: str | None = None, *, dialect: str | None = None
) -> None:
    """Write a network to a file, all of it or nothing.

    Parameters
    ----------
    path : str or path
        The file. A text file whose name ends in ``.gz`` is gzipped. An existing file is replaced once the new one is
        complete.
    parts : NetworkParts
        The network.
    format : {"bif", "xmlbif", "net", "dsc", "dsl", "xdsl", "uai", "tb"}, optional
        The format; by default the suffix decides.
    dialect : {"agrum"}, optional
        The program that is to read a UAI or XDSL file, if it differs from the others.
    """
    name = file_name(path, "a network")
    chosen = _format(name, format)
    options = _options(chosen, dialect)
    writer, is_packed = chosen.load(), name.lower().endswith(".gz")
    if chosen.details.get("binary"):
        if is_packed:
            raise DataError(f"a native file is already compressed and must not end in '.gz'; got {name!r}.")
        writer.write(name, parts)
        return
    numbers = [] if chosen.details.get("continuous") else [v.name for v in parts.variables if v.is_continuous]
    if numbers:
        are, hint = "is" if len(numbers) == 1 else "are", "Write a '.tb' or '.net' file, or discretise first."
        rule = f"a network in {chosen.name} must have categorical variables only"
        raise DataError(f"{rule}; {listed(numbers)} {are} continuous. {hint}")
    data = writer.write(parts, **options).encode()
    with replacement(name, "a network") as file:
        file.write(gzip.compress(data, mtime=0) if is_packed else data)


def _format(name: str, format: str | None) -> Entry:
    formats, suffixes = entries("network_format"), network_suffixes()
    if format is not None:
        known = {**{suffix[1:]: each for suffix, each in suffixes.items()}, "native": "tb"}
        key = format.lower().removeprefix(".") if isinstance(format, str) else ""
        if key not in known:
            near = did_you_mean(format, formats)
            hint = f" {near}" if near.startswith("Did") else ""  # the formats are listed already
            raise DataError(f"format must be one of {listed(formats)}; got {format!r}.{hint}", parameter="format")
        return formats[known[key]]
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in suffixes:
        is_table = any(suffix in each.details["suffixes"] for each in entries("table_format").values())
        hint = (
            "It looks like a table: tb.read_table reads tables." if is_table else "Give the format, as in format='bif'."
        )
        raise FormatError(
            f"the name of a network file must end in {listed(suffixes)}, optionally followed by '.gz'; "
            f"got {Path(name).name!r}. {hint}"
        )
    return formats[suffixes[suffix]]


def _options(chosen: Entry, dialect: str | None) -> dict[str, str]:
    """Return the dialect as an argument of a reader or writer; raise unless the format has it."""
    if dialect is None:
        return {}
    if dialect not in (known := chosen.details.get("dialects", ())):
        rule = f"dialect must be {f'one of {listed(known)}' if known else 'None'} for {chosen.name}"
        raise DataError(f"{rule}; got {dialect!r}.", parameter="dialect")
    return {"dialect": dialect}


def _bytes(name: str) -> bytes:
    """Return the content of a file, decompressed; raise before it would exceed the memory."""
    try:
        with open(name, "rb") as file:
            is_packed = file.read(2) == _GZIP
            file.seek(0)
            check_size(os.path.getsize(name))
            return _unpacked(gzip.GzipFile(fileobj=file)) if is_packed else file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"the file must be a complete gzip file; it is damaged ({error}).") from None
    except OSError as error:
        raise DataError(f"the file {name!r} must be readable; the system reports: {error.strerror}.") from None


def _unpacked(stream: gzip.GzipFile) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        check_size(size)
    return b"".join(pieces)


def _text(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decoded(data, "utf-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    declared = _DECLARED.match(data)
    text = _decoded(data, declared[1].decode("ascii") if declared else "utf-8")
    if "\0" in text:
        line, column = place_of(text, text.index("\0"))
        raise FormatError("the file must be text; got a NUL character.", line=line, column=column)
    return text


def _decoded(data: bytes, encoding: str) -> str:
    """Return the text of bytes; what is not UTF-8 is read in the encoding of old Windows programs, or as Latin-1."""
    if not _XML_ENCODINGS.fullmatch(encoding):
        raise FormatError(f"the file must be in UTF-8 or another common encoding; it declares {encoding!r}.")
    encoding = "utf-8" if encoding.lower() in {"ascii", "us-ascii"} else encoding  # many programs declare it always
    for attempt in (encoding, "cp1252", "latin-1"):
        try:
            return data.decode(attempt)
        except (UnicodeDecodeError, LookupError):
            if encoding.lower() not in {"utf-8", "utf8"}:
                break
    raise FormatError(f"the file must be {encoding} text, as it declares; it is not.")
