"""Mutations: of bytes, of the tokens of a text format, of arguments; those of model files are beside their seeds.

Blind changes of bytes rarely pass a parser's first check. The mutations of tokens keep the grammar mostly intact: they
exchange, repeat, drop and insert words, numbers and brackets, and put numbers at the edges (0, −1, 1e308, nan, 2⁶⁴ …)
where numbers stand.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from random import Random

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
