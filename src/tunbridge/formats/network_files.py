"""Networks as files: the format by its suffix, the text by its encoding, the whole file or nothing.

    .bif    BIF          .xmlbif, .xml, .bifxml    XMLBIF        .net    Hugin NET
    .dsc    DSC          .uai                      UAI model     .tb     the native file

A text file may be gzipped (``.bif.gz``). Text is read as UTF-8, with or without a byte order mark, as UTF-16 with one,
and when it is no UTF-8 as Windows-1252, or where that has no such letter as Latin-1; an XML file may name another
encoding. It is written as UTF-8.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from tunbridge._check import did_you_mean, listed
from tunbridge.errors import DataError, FileMissingError, FormatError, MemoryForecastError
from tunbridge.formats.assembly import check_size
from tunbridge.formats.bif import read_bif, write_bif
from tunbridge.formats.dsc import read_dsc, write_dsc
from tunbridge.formats.native import file_name, replacement
from tunbridge.formats.native_network import read_native, write_native
from tunbridge.formats.net import read_net, write_net
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.scanner import place_of
from tunbridge.formats.uai import read_uai, write_uai
from tunbridge.formats.xmlbif import read_xmlbif, write_xmlbif

SUFFIXES = {
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".xml": "xmlbif",
    ".bifxml": "xmlbif",
    ".net": "net",
    ".dsc": "dsc",
    ".uai": "uai",
    ".tb": "tb",
}
"""The format of each file name suffix."""

FORMATS = ("bif", "xmlbif", "net", "dsc", "uai", "tb")
"""The names of the formats."""

_READERS: dict[str, Callable[[str], NetworkParts]] = {
    "bif": read_bif,
    "xmlbif": read_xmlbif,
    "net": read_net,
    "dsc": read_dsc,
    "uai": read_uai,
}
_WRITERS: dict[str, Callable[[NetworkParts], str]] = {
    "bif": write_bif,
    "xmlbif": write_xmlbif,
    "net": write_net,
    "dsc": write_dsc,
    "uai": write_uai,
}
_GZIP = b"\x1f\x8b"
_CHUNK = 2**20
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_XML_ENCODINGS = re.compile(
    r"utf-?8|utf-?16|us-ascii|ascii|latin-?1|iso-?8859-\d\d?|(?:windows-|cp)125\d", re.IGNORECASE
)


def read_network_parts(path: str | os.PathLike[str], format: str | None = None) -> NetworkParts:
    """Return the parts of the network in a file.

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    format : {"bif", "xmlbif", "net", "dsc", "uai", "tb"}, optional
        The format, where the suffix does not say it.

    Raises
    ------
    FormatError
        When the file is damaged, hostile or of another format, with line and column where there are any.
    """
    name = file_name(path, "a network")
    chosen = _format(name, format)
    _check_exists(name)
    if chosen == "tb":
        return read_native(name)
    try:
        return _READERS[chosen](_text(_bytes(name), is_xml=chosen == "xmlbif"))
    except FormatError as error:
        prefix = "" if error.line is None else f"line {error.line}, column {error.column}: "
        message = f"{str(error).removeprefix(prefix)} The file is {name!r}."
        raise FormatError(message, line=error.line, column=error.column) from None
    except MemoryForecastError as error:
        raise MemoryForecastError(f"{error} The file is {name!r}.") from None


def write_network_parts(path: str | os.PathLike[str], parts: NetworkParts, format: str | None = None) -> None:
    """Write a network to a file, all of it or nothing.

    Parameters
    ----------
    path : str or path
        Where. A text file whose name ends in ``.gz`` is gzipped. A file that is there is replaced once the new one is
        complete.
    parts : NetworkParts
        The network.
    format : {"bif", "xmlbif", "net", "dsc", "uai", "tb"}, optional
        The format, where the suffix does not say it.
    """
    name = file_name(path, "a network")
    chosen = _format(name, format)
    packed = name.lower().endswith(".gz")
    if chosen == "tb":
        if packed:
            raise DataError(f"a native file is packed already and must not end in '.gz'; got {name!r}.")
        return write_native(name, parts)
    if numbers := [v.name for v in parts.variables if v.is_continuous]:
        are, hint = "is" if len(numbers) == 1 else "are", "Write a '.tb' file, or discretise first."
        rule = f"a network in {chosen} must have states for every variable"
        raise DataError(f"{rule}; {listed(numbers)} {are} continuous. {hint}")
    data = _WRITERS[chosen](parts).encode()
    with replacement(name, "a network") as file:
        file.write(gzip.compress(data, mtime=0) if packed else data)
    return None


def _format(name: str, format: str | None) -> str:
    if format is not None:
        known = {**{suffix[1:]: each for suffix, each in SUFFIXES.items()}, "native": "tb"}
        key = format.lower().removeprefix(".") if isinstance(format, str) else ""
        if key not in known:
            near = did_you_mean(format, FORMATS)
            hint = f" {near}" if near.startswith("Did") else ""  # the formats are listed already
            raise DataError(f"format must be one of {listed(FORMATS)}; got {format!r}.{hint}")
        return known[key]
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        raise FormatError(
            f"the name of a network's file must end in {listed(SUFFIXES)}, or in one of them and '.gz'; "
            f"got {Path(name).name!r}. Give the format, as in format='bif'."
        )
    return SUFFIXES[suffix]


def _check_exists(name: str) -> None:
    if os.path.exists(name):
        return
    folder = Path(name).parent
    if not folder.is_dir():
        raise FileMissingError(f"path must be a file that exists; there is no folder {str(folder)!r}.")
    near = difflib.get_close_matches(Path(name).name, sorted(os.listdir(folder)), n=1, cutoff=0.6)
    hint = f" Did you mean {str(folder / near[0])!r}?" if near else ""
    raise FileMissingError(f"path must be a file that exists; got {name!r}.{hint}")


def _bytes(name: str) -> bytes:
    """Return the content of a file, unpacked; raise before it would not fit into memory."""
    try:
        with open(name, "rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            check_size(os.path.getsize(name))
            return _unpacked(gzip.GzipFile(fileobj=file)) if packed else file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"the file must be a whole gzipped file; it is damaged ({error}).") from None
    except OSError as error:
        raise DataError(f"the file {name!r} must be readable; the system says: {error.strerror}.") from None


def _unpacked(stream: gzip.GzipFile) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        check_size(size)
    return b"".join(pieces)


def _text(data: bytes, *, is_xml: bool) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decoded(data, "utf-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    if is_xml and (declared := _DECLARED.match(data)):
        return _decoded(data, declared[1].decode("ascii"))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _western(data)
    if "\0" in text:
        line, column = place_of(text, text.index("\0"))
        raise FormatError("the file must be text; got NUL, which no text holds.", line=line, column=column)
    return text


def _decoded(data: bytes, encoding: str) -> str:
    if not _XML_ENCODINGS.fullmatch(encoding):
        raise FormatError(f"the file must be in UTF-8 or another usual encoding; it says {encoding!r}.")
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        if encoding.lower() in {"utf-8", "utf8"}:
            return _western(data)
        raise FormatError(f"the file must be {encoding} text, as it says; it is not.") from None


def _western(data: bytes) -> str:
    """Return text in the encoding of old Windows programs, or in the one of which each byte is a letter."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")
