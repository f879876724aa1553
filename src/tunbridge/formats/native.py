"""The native model file: a ZIP archive of JSON text and NumPy arrays, data only.

A pickle runs whatever code its writer put in it, and breaks when a class moves. A Tunbridge model is therefore data:

    model.json      {"format": "tunbridge", "version": …, "kind": …, "written_by": …, "content": {…}}
    arrays/0.npy    the arrays of the content, in order of appearance
    arrays/1.npy    …

Anything that opens ZIP, JSON and ``.npy`` can read it. Values that JSON does not have are objects with a single key,
the tag, which starts with ``$``; a key of the content that itself starts with ``$`` gets one more in front:

    {"$array": 0}             arrays/0.npy            {"$float": "nan"}          also inf, -inf
    {"$tuple": […]}           a tuple                 {"$int": "0x…"}            beyond ± 2⁵³
    {"$numpy": ["<f8", 0.5]}  a NumPy scalar          {"$decimal": "0.10"}
    {"$variable": {…}}        name, states, ordered   {"$date": "1761-04-07"}    also $datetime

The version is the oldest one that has everything in the content, so that older programs read what they can: 2 if a
variable has bin edges (``cuts``, beside its states), otherwise 1.

A value is read back equal and of the same type, or refused on writing: lists stay lists, tuples tuples, NumPy scalars
NumPy scalars, and subclasses are refused. Dictionaries keep their order, and equal content in equal order gives equal
bytes. Arrays are read in C order and native byte order, writable, and not shared. An aware ``datetime`` keeps its
offset from UTC, not the name of its zone or ``fold``.

A file is not trusted. Sizes are forecast before anything is decompressed, never more is decompressed than declared,
every byte has a checksum, and nothing is extracted to disk.
"""

from __future__ import annotations

import datetime
import gc
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np

from tunbridge._core.check import warn_user
from tunbridge._core.memory import memory_limit, size_text
from tunbridge._core.replacing import replacing
from tunbridge._version import __version__
from tunbridge.data import Variable
from tunbridge.errors import DataError, DataWarning, FileMissingError, FormatError, MemoryForecastError

FORMAT_VERSION = 2
"""The newest version of the format; every older one is read."""

_MODEL = "model.json"
_PICKLES = (".pkl", ".pickle", ".joblib")
_DEEPEST = 64
_MOST_ARRAYS = 100_000
_PIECE = 2**20
_LONGEST_READ = 8 * _PIECE  # the ZIP directory of _MOST_ARRAYS arrays is smaller
_EXACT = 2**53  # every JSON reader keeps integers up to here
_STORABLE = re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<U\d{1,9}")
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n", re.DOTALL
)
_LISTS = {list, type(None)}
_AS_TEXT: dict[type, tuple[str, Callable[[Any], str]]] = {
    Decimal: ("$decimal", str),
    datetime.date: ("$date", datetime.date.isoformat),
    datetime.datetime: ("$datetime", datetime.datetime.isoformat),
    datetime.time: ("$time", datetime.time.isoformat),
    datetime.timedelta: ("$duration", lambda d: f"{d.days} {d.seconds} {d.microseconds}"),
}
_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "$decimal": Decimal,
    "$date": datetime.date.fromisoformat,
    "$datetime": datetime.datetime.fromisoformat,
    "$time": datetime.time.fromisoformat,
    "$duration": lambda text: datetime.timedelta(*map(int, text.split(" "))),
    "$float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
    "$int": lambda text: int(text, 16),
}


class _DamageError(Exception):
    """What is wrong with a file, and a hint."""

    def __init__(self, what: str, hint: str = "Restore a backup, or fit the model again.") -> None:
        super().__init__(what)
        self.hint = hint


# What the libraries below raise for invalid bytes; RuntimeError includes too deep nesting.
_DAMAGE = (
    *(_DamageError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ArithmeticError, LookupError, RuntimeError, TypeError, ValueError),
)


def write_model(path: str | os.PathLike[str], kind: str, content: Mapping[str, Any]) -> None:
    """Write a model to one file, all of it or nothing.

    Parameters
    ----------
    path : str or path
        The file; the usual suffix is ``.tb``. An existing file is replaced once the new one is complete, and kept if
        anything goes wrong before.
    kind : str
        The kind of model, such as ``"naive-bayes"``.
    content : mapping
        Dictionaries with string keys, lists, tuples, strings, numbers, booleans, ``None``, dates, ``Decimal``,
        :class:`~tunbridge.data.Variable`, and NumPy scalars and arrays of booleans, numbers or fixed-width text, nested
        up to 64 levels deep.

    Examples
    --------
    >>> import numpy as np, tempfile, tunbridge as tb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/coin.tb", "coin", {"side": tb.Variable("side", ["heads", "tails"]), "n": (3, 1)})
    ...     read_model(f"{folder}/coin.tb")
    ('coin', {'side': Variable('side', ['heads', 'tails']), 'n': (3, 1)})
    """
    if type(kind) is not str or not kind or not kind.isprintable():
        raise DataError(f"kind must be a non-empty printable string; got {kind!r}.", parameter="kind")
    if not isinstance(content, Mapping):
        raise DataError(f"content must be a mapping; got an object of type {type(content).__name__}.")
    arrays: list[np.ndarray] = []
    packed = _pack(dict(content), (), arrays)
    header = {"format": "tunbridge", "version": _version(dict(content)), "kind": kind}
    model = {**header, "written_by": f"tunbridge {__version__}", "content": packed}
    text = json.dumps(model, ensure_ascii=False, allow_nan=False).encode()
    with replacement(file_name(path)) as file, zipfile.ZipFile(file, "w") as archive:
        with _member(archive, _MODEL, len(text)) as member:
            member.write(text)
        for n, array in enumerate(arrays):
            little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
            with _member(archive, f"arrays/{n}.npy", little.nbytes) as member:
                np.lib.format.write_array(member, little, version=(1, 0), allow_pickle=False)


def save_model(path: str | os.PathLike[str], kind: str, content: Callable[[], Mapping[str, Any]]) -> None:
    """Write a model where a user says: not over a file that is none, and with a word where the name says pickle."""
    if is_other_file(path):
        raise DataError(
            f"a model must not overwrite a file that is not a model; got {str(path)!r}. Choose another name.",
            parameter="path",
        )
    if str(path).lower().endswith(_PICKLES):
        warn_user(f"{str(path)!r} is no pickle, whatever its name says: tb.load reads it. Call it .tb.", DataWarning)
    write_model(path, kind, content())


def is_other_file(path: str | os.PathLike[str]) -> bool:
    """Return whether the file exists and does not begin like a model."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:
        return False
    return bool(head) and not (head.startswith(b"PK\3\4") and head[30:].startswith(_MODEL.encode()))


def read_model(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return the kind and the content of a model file.

    Raises
    ------
    FormatError
        If the file is not a model, is damaged, was written by a newer version, or exceeds the memory limit.

    Notes
    -----
    Needs little more memory than the content; the forecast that is compared with the limit is an upper bound.
    """
    name, limit = file_name(path), memory_limit()
    try:
        file = _SmallReads(name)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise FileMissingError(f"a model must be a file that exists; got {name!r}.") from None
        raise DataError(f"a model must be a file that can be read; got {name!r} ({_reason(error)}).") from error
    with file:
        try:
            return _read(file, limit)
        except _DAMAGE as error:
            damage = error if isinstance(error, _DamageError) else _DamageError(f"a damaged file ({_reason(error)})")
            raise FormatError(f"{name!r} must be an undamaged Tunbridge model; got {damage}. {damage.hint}") from error


@contextmanager
def uncollected() -> Iterator[None]:
    """Let Python not look for cycles of objects, as it would again and again while a large file becomes many objects.

    Loading 57 MB of nested lists took 17 s, and takes 2.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


@contextmanager
def rebuilding(name: str, kind: str) -> Iterator[None]:
    """Turn whatever is raised while a model is made of the content of a file into a FormatError.

    The content is checked piece by piece; this is the net below. Arithmetic that overflows or is undefined is an error
    here, so that no model answers with what is not a number.
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except MemoryForecastError:
        raise
    except Exception as error:
        what = f"its content does not fit ({_reason(error)})"
        raise FormatError(f"{name} must hold a model of kind {kind!r}; {what}.") from error


# Writing


def _pack(value: Any, where: tuple[Any, ...], arrays: list[np.ndarray]) -> Any:
    """Return value as JSON; its arrays are appended to ``arrays``."""
    kind = type(value)
    if len(where) > _DEEPEST:
        raise DataError(f"content must be nested at most {_DEEPEST} levels deep; got more in {_path(where[:3])}.")
    if value is None or kind is bool:
        return value
    if kind is str:
        return _pack_text(value, where)
    if kind is int:
        return value if -_EXACT <= value <= _EXACT else {"$int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is dict:
        return {_pack_key(key, where): _pack(each, (*where, key), arrays) for key, each in value.items()}
    if kind is list or kind is tuple:
        items = [_pack(each, (*where, i), arrays) for i, each in enumerate(value)]
        return items if kind is list else {"$tuple": items}
    if kind is Variable:
        return {"$variable": _pack_variable(value, where, arrays)}
    if kind in _AS_TEXT:
        tag, as_text = _AS_TEXT[kind]
        return {tag: as_text(value)}
    if kind is np.ndarray or isinstance(value, np.generic):
        return _pack_numpy(value, where, arrays)
    raise DataError(f"{_path(where)} must be of a type that a model file can hold; got {kind.__qualname__}.")


def _pack_variable(value: Variable, where: tuple[Any, ...], arrays: list[np.ndarray]) -> dict[str, Any]:
    states = None if value.states is None else _pack(list(value.states), (*where, "states"), arrays)
    cuts = {} if value.cuts is None else {"cuts": list(value.cuts)}
    dates = {"dates": True} if value.dates else {}
    return {"name": _pack_text(value.name, where), "states": states, "ordered": value.ordered, **cuts, **dates}


def _version(value: object) -> int:
    """Return the oldest version of the format that has a value."""
    if isinstance(value, Variable):
        return 1 if value.cuts is None else 2
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return max(map(_version, inside), default=1)


def _pack_text(value: str, where: tuple[Any, ...]) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(f"{_path(where)} must be text that UTF-8 can encode; got {value!r}.") from None
    return value


def _pack_key(key: object, where: tuple[Any, ...]) -> str:
    if type(key) is not str:
        raise DataError(f"the keys of {_path(where)} must be strings; got {key!r}.")
    return _pack_text(f"${key}" if key.startswith("$") else key, (*where, key))


def _pack_numpy(value: np.ndarray | np.generic, where: tuple[Any, ...], arrays: list[np.ndarray]) -> Any:
    descr = value.dtype.newbyteorder("<").str if value.dtype.kind in "biufU" else ""
    if not _STORABLE.fullmatch(descr) or (isinstance(value, np.ndarray) and value.dtype.itemsize == 0):
        rule = "booleans, integers, floats of at most 64 bits or fixed-width text"
        raise DataError(f"{_path(where)} must hold {rule}; got the NumPy type {value.dtype}.")
    if isinstance(value, np.generic):
        return {"$numpy": [descr, _pack(value.item(), where, arrays)]}
    if len(arrays) == _MOST_ARRAYS:
        raise DataError(f"content must hold at most {_MOST_ARRAYS} arrays; got more. Join them to larger ones.")
    arrays.append(value)
    return {"$array": len(arrays) - 1}


def _path(where: tuple[Any, ...]) -> str:
    return "content" + "".join(f"[{key!r}]" for key in where)


def _member(archive: zipfile.ZipFile, name: str, size: int) -> Any:
    info = zipfile.ZipInfo(name)  # dated 1980-01-01 by default: equal content, equal bytes
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    info.file_size = size  # so that large members get the 64-bit fields
    return archive.open(info, "w")


@contextmanager
def replacement(name: str, what: str = "a model") -> Iterator[BinaryIO]:
    """Open a temporary file that replaces another one on success, and is deleted on failure."""
    try:
        with replacing(name) as temporary, open(temporary, "wb") as file:
            yield file
    except OSError as error:
        folder = os.path.dirname(name)
        missing = f" There is no folder {folder!r}: make it first." if folder and not os.path.isdir(folder) else ""
        got = f"{name!r} ({_reason(error)})"
        raise DataError(f"{what} must be written to a writable place; got {got}.{missing}") from error


# Reading


_END = b"PK\5\6" + 18 * b"\0"  # the last record of a ZIP file without comment


class _SmallReads(io.FileIO):
    """A file that refuses large reads: zipfile would read a hostile directory in one piece."""

    def read(self, size: int | None = -1, /) -> Any:
        if size is not None and size > _LONGEST_READ:
            raise _DamageError("a directory of far too many members")
        return super().read(size)


def _read(file: _SmallReads, limit: int) -> tuple[str, dict[str, Any]]:
    archive = _open_archive(file)
    file.seek(-len(_END), io.SEEK_END)
    if file.read(4) != _END[:4]:
        raise _DamageError("a file that continues after its end")
    members = {info.filename: info for info in archive.infolist()}
    unpacked = _check_sizes(archive.infolist(), file.seek(0, io.SEEK_END), limit)
    if _MODEL not in members:
        raise _DamageError(f"a ZIP file without {_MODEL}", "A model is written by save().")
    model = _read_json(_unzip(archive, members[_MODEL]).tobytes().decode(), unpacked, limit)
    _check_header(model)
    expected = {_MODEL, *(f"arrays/{n}.npy" for n in range(len(archive.infolist()) - 1))}
    if expected != set(members):  # a repeated name leaves one of the expected ones out
        raise _DamageError(f"a missing, repeated or foreign member, {min(expected ^ set(members))[:60]!r}")
    del members[_MODEL]

    def array(n: int) -> np.ndarray:
        if (info := members.pop(f"arrays/{n}.npy", None)) is None:
            raise _DamageError(f"array {n} missing or used twice")
        return _read_array(_unzip(archive, info))

    content = _unpack(model["content"], 0, array)
    if members or type(content) is not dict:
        raise _DamageError("an array that is not in the content" if members else "no content")
    return model["kind"], content


def _open_archive(file: _SmallReads) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except _DAMAGE as error:
        file.seek(0)
        start = file.read(64)
        if isinstance(error, _DamageError) or start.startswith(b"PK\x03\x04"):
            raise
        raise _DamageError(*_guess(start)) from error


def _guess(start: bytes) -> tuple[str, str]:
    """Return what a file that is not a ZIP file seems to be, and a hint."""
    if not start:
        return "an empty file", "Writing it may have been interrupted."
    if re.match(rb"\x80[\2-\5]", start):
        return "a pickle", "Pickles can run code and are never read; write the model with save()."
    if start.startswith(b"\x1f\x8b"):
        return "a gzip file", "If a model was compressed again, decompress it first."
    looks = "what looks like JSON text" if re.match(rb"\s*[\[{]", start) else "another kind of file"
    return looks, "A model is written by save(); tables are read by tb.read_table."


def _check_sizes(infos: list[zipfile.ZipInfo], length: int, limit: int) -> int:
    """Return the decompressed size of the members; raise unless their sizes are possible and within the limit."""
    # Deflate makes at most 1032 bytes of one.
    if sum(i.compress_size for i in infos) > length or any(i.file_size > 1032 * i.compress_size for i in infos):
        raise _DamageError("sizes that its bytes cannot have")
    unpacked = sum(info.file_size for info in infos)
    _check_memory(unpacked, limit)
    return unpacked


def _check_memory(needed: int, limit: int) -> None:
    if needed > limit:
        what = f"one that may need {size_text(needed)}, above the memory limit of {size_text(limit)}"
        raise _DamageError(what, "If you trust it, set TUNBRIDGE_MEMORY_LIMIT (bytes).")


def _unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Return the bytes of a member, as many as declared; reading the last one checks the CRC."""
    if info.compress_type != zipfile.ZIP_DEFLATED:
        raise _DamageError(f"a member that is not deflated, {info.filename!r}")
    data = np.empty(info.file_size, np.uint8)
    with archive.open(info) as member:
        for start in range(0, len(data) + 1, _PIECE):
            data.data[start : start + _PIECE] = member.read(min(_PIECE, len(data) - start))
    return data


def _read_json(text: str, others: int, limit: int) -> Any:
    # An upper bound of what Python's objects take for a text of so many commas and brackets, both copies of a dict.
    needed = 9 * len(text) + 120 * (text.count(",") + text.count("[")) + 600 * text.count("{")
    _check_memory(needed + others, limit)

    def refuse(constant: str) -> None:
        raise _DamageError(f"the constant {constant}, which JSON does not have")

    return json.loads(text, parse_constant=refuse)


def _check_header(model: object) -> None:
    if not isinstance(model, dict) or model.get("format") != "tunbridge":
        raise _DamageError(f"a ZIP file with another {_MODEL}", "A model is written by save().")
    version = model.get("version")
    if type(version) is int and version > FORMAT_VERSION:
        raise _DamageError(
            f"version {version:.6g} of the format, written by {str(model.get('written_by'))[:40]!r}",
            f"This is tunbridge {__version__}, which reads up to version {FORMAT_VERSION}; upgrade it.",
        )
    if type(version) is not int or version < 1:
        raise _DamageError("a version that is not a positive integer")
    if type(model.get("kind")) is not str or type(model.get("content")) is not dict:
        raise _DamageError("a header without kind or content")


def _unpack(value: Any, depth: int, array: Callable[[int], np.ndarray]) -> Any:
    """Return the value that :func:`_pack` was given."""
    if depth > _DEEPEST:
        raise _DamageError(f"content nested more than {_DEEPEST} levels deep")
    if type(value) is list:
        for i, each in enumerate(value):  # in place, so that a long list is not copied
            value[i] = _unpack(each, depth + 1, array)
    if type(value) is not dict:
        return value
    if any(key.startswith("$") and not key.startswith("$$") for key in value):
        return _unpack_tagged(value, depth, array)
    return {key.removeprefix("$"): _unpack(each, depth + 1, array) for key, each in value.items()}


def _unpack_tagged(value: dict[str, Any], depth: int, array: Callable[[int], np.ndarray]) -> Any:
    ((tag, inner),) = value.items()
    if tag in _FROM_TEXT and type(inner) is str:
        return _FROM_TEXT[tag](inner)
    if tag == "$tuple" and type(inner) is list:
        return tuple(_unpack(inner, depth, array))
    if tag == "$array" and type(inner) is int:
        return array(inner)
    if tag == "$numpy":
        descr, item = inner
        return _unpack_scalar(descr, _unpack(item, depth, array))
    if tag == "$variable" and type(inner) is dict and {type(inner["states"]), type(inner.get("cuts"))} <= _LISTS:
        states = _unpack(inner["states"], depth + 1, array)
        return Variable(inner["name"], states, inner["ordered"], inner.get("cuts"), inner.get("dates", False))
    raise _DamageError(f"an unknown value tagged {tag[:40]!r}")


def _unpack_scalar(descr: str, item: object) -> Any:
    with np.errstate(all="raise"):
        scalar = _dtype(descr).type(item)
    if type(scalar.item()) is not type(item) or not (scalar == item or item != item):
        raise _DamageError(f"a number that is not of the type {descr}")
    return scalar


def _read_array(data: np.ndarray) -> np.ndarray:
    """Return the array of a ``.npy`` file, which must have exactly the size in its header."""
    header = _HEADER.match(data[:4096].tobytes())
    if header is None:
        raise _DamageError("an array without a valid header")
    dtype, start = _dtype(header[1].decode("ascii")), header.end()
    shape = tuple(int(size) for size in re.findall(rb"\d+", header[2]))
    if dtype.itemsize == 0 or start % 64 or start + math.prod(shape) * dtype.itemsize != len(data):
        raise _DamageError("an array whose size differs from its header")
    body = data[start:].view("<u4") if dtype.kind == "U" else data[start:]
    if dtype.kind in "bU" and body.max(initial=0) > (1 if dtype.kind == "b" else 0x10FFFF):
        raise _DamageError(f"an array with values that {dtype} does not have")
    return np.ndarray(shape, dtype, data, start).astype(dtype.newbyteorder("="), copy=False)


def _dtype(descr: str) -> np.dtype[Any]:
    if not _STORABLE.fullmatch(descr):
        raise _DamageError(f"the NumPy type {descr[:40]!r}")
    return np.dtype(descr)


# Both


def file_name(path: str | os.PathLike[str], what: str = "a model") -> str:
    """Return a path as text; raise if it is not a path, or is a folder or a device."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        name = ""
    if not name or "\0" in name:
        raise DataError(f"path must be the name of a file; got {path!r}.", parameter="path")
    if os.path.exists(name) and not os.path.isfile(name):
        raise DataError(f"{what} must be one file; got {name!r}, which is a folder or a device.")
    return name


def _reason(error: BaseException) -> str:
    text = (error.strerror or "") if isinstance(error, OSError) else ""
    return f"{text or str(error) or type(error).__name__:.200}"
