"""Mutations: of bytes, of the tokens of a text format, of the JSON and arrays of a model file, of arguments.

Blind changes of bytes rarely pass a parser's first check. The mutations of tokens keep the grammar mostly intact: they
exchange, repeat, drop and insert words, numbers and brackets, and put numbers at the edges (0, −1, 1e308, nan, 2⁶⁴ …)
where numbers stand.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (
    *("0", "1", "-1", "2", "0.5", "-0.0", "1e-320", "1e-300", "1e308", "1e999", "nan", "inf", "-inf", "255", "65536"),
    *("2147483648", "4294967296", "9223372036854775807", "18446744073709551616", "1" * 400, "0." + "9" * 40, "1e", "."),
)
WORDS = (
    "",
    " ",
    "é",
    "\u202e",
    "\ufeff",
    "\x00",
    "'",
    '"',
    "\\",
    "%",
    "%ff",
    "a" * 5000,
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "|",
    ";",
)
_TOKEN = re.compile(rb"[A-Za-z_][\w.-]*|[-+]?\d[\d.eE+-]*|\s+|.", re.DOTALL)
_LONGEST = 200_000  # bytes of a mutated input


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """Return data with a few bytes changed, inserted, removed, repeated or cut off."""
    for _ in range(rng.randint(1, 4)):
        at, n = rng.randrange(len(data) + 1), min(rng.choice((1, 1, 2, 4, 16, 256)), len(data))
        change = rng.randrange(6)
        if change == 0:
            data = data[:at] + bytes(rng.randrange(256) for _ in range(n)) + data[at + n :]
        elif change == 1:
            data = data[:at] + rng.randbytes(n) + data[at:]
        elif change == 2:
            data = data[:at] + data[at + n :]
        elif change == 3:
            data = data[:at] + data[at : at + n] * rng.choice((2, 3, 50)) + data[at + n :]
        elif change == 4:
            data = data[:at]
        elif data:
            at %= len(data)
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data[:_LONGEST]


def mutate_tokens(data: bytes, rng: Random) -> bytes:
    """Return a text with a few of its tokens exchanged, repeated, dropped, inserted or put at an edge."""
    tokens = _TOKEN.findall(data)
    for _ in range(rng.randint(1, 4)):
        if not tokens:
            return rng.choice(WORDS).encode()
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        change = rng.randrange(7)
        if change == 0:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif change == 1:
            tokens[at] = tokens[other]
        elif change == 2:
            del tokens[at : at + rng.choice((1, 1, 3, 20))]
        elif change == 3:
            tokens[at:at] = tokens[other : other + rng.choice((1, 5, 30))] * rng.choice((1, 2, 40))
        elif change == 4:
            tokens[at] = rng.choice(WORDS).encode("utf-8", "surrogatepass")
        else:
            numbers = [i for i, token in enumerate(tokens) if token[:1].isdigit()] or [at]
            tokens[rng.choice(numbers)] = rng.choice(NUMBERS).encode()
    return b"".join(tokens)[:_LONGEST]


def mutate_text(data: bytes, rng: Random) -> bytes:
    """Return a text mutated by tokens mostly, sometimes by bytes, and now and then compressed."""
    data = (mutate_tokens if rng.random() < 0.8 else mutate_bytes)(data, rng)
    return gzip.compress(data, 1) if rng.random() < 0.02 else data


def mutate_model(data: bytes, rng: Random) -> bytes:
    """Return a model file with the content of its JSON or of an array changed, or a few of its bytes."""
    if rng.random() < 0.15:
        return mutate_bytes(data, rng)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
        members[name] = (_mutate_json if name == "model.json" else _mutate_array)(members[name], rng)
    except (zipfile.BadZipFile, zlib.error, ValueError, LookupError, EOFError, OSError, NotImplementedError):
        return mutate_bytes(data, rng)  # it is no archive any more
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for each, content in members.items():
            archive.writestr(zipfile.ZipInfo(each), content, zipfile.ZIP_DEFLATED, 1)
    return out.getvalue()


def _mutate_json(data: bytes, rng: Random) -> bytes:
    if rng.random() < 0.2:
        return mutate_tokens(data, rng)
    root = json.loads(data)
    places = list(_places(root))
    holder, key = rng.choice(places)
    _, other = rng.choice(places)
    values: list[Any] = [0, -1, 1, 2.5, 2**40, 2**70, -0.5, 1e308, "", "x", None, True, [], {}, [[]], {"$array": 0}]
    values += [{"$float": "nan"}, {"$float": "inf"}, {"$tuple": []}, {"$int": hex(2**80)}, {"$array": 10**6}]
    change = rng.randrange(5)
    if change == 0 and isinstance(holder, list):
        holder.insert(key, rng.choice(values))
    elif change == 1:
        del holder[key]
    elif change == 2:
        source, name = rng.choice(places)
        holder[key] = json.loads(json.dumps(source[name]))
    elif change == 3 and isinstance(holder, dict):
        holder[str(other)] = holder.pop(key)
    else:
        holder[key] = rng.choice(values)
    return json.dumps(root).encode()


def _places(node: Any) -> Any:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items):
        yield node, key
        yield from _places(value)


def _mutate_array(data: bytes, rng: Random) -> bytes:
    array = np.load(io.BytesIO(data), allow_pickle=False)
    change = rng.randrange(6)
    if change == 0 and array.size:
        flat = array.reshape(-1).copy()
        edges = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 1e-320) if flat.dtype.kind == "f" else (0, 1, 127, -1 % 128)
        for _ in range(rng.randint(1, 3)):
            flat[rng.randrange(flat.size)] = flat[0] if flat.dtype.kind not in "fiu" else rng.choice(edges)
        array = flat.reshape(array.shape)
    elif change == 1:
        array = array.reshape(-1)
    elif change == 2 and array.ndim:
        array = array[: len(array) // 2]
    elif change == 3 and array.ndim:
        array = np.concatenate([array, array[:1]])
    elif change == 4:
        array = array.astype(
            rng.choice(["<f8", "<i8", "<i4", "|i1", "|b1", "<f4"]) if array.dtype.kind in "fiub" else "<U1"
        )
    else:
        array = array[None] if rng.random() < 0.5 else array.T
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array))
    return out.getvalue()


def mutate_arguments(data: bytes, rng: Random) -> bytes:
    """Return a command line, one argument a line, with arguments exchanged, repeated, dropped or changed."""
    words = data.decode("utf-8", "replace").split("\n")
    for _ in range(rng.randint(1, 3)):
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        change = rng.randrange(5)
        if change == 0:
            words[at], words[other] = words[other], words[at]
        elif change == 1 and len(words) > 1:
            del words[at]
        elif change == 2:
            words.insert(at, words[other])
        elif change == 3:
            words[at] = rng.choice((*NUMBERS, *WORDS))
        else:
            words[at] = mutate_bytes(words[at].encode(), rng).decode("utf-8", "replace")
    return "\n".join(words).encode("utf-8", "surrogatepass")[:20_000]
