"""Few short documents without a compiler: regular expressions and Python's whole numbers in place of kernels.

The answers are those of :mod:`tunbridge.kernels.tokens`, hash for hash.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from tunbridge.kernels.compiled import is_compiled

WORDS = {"words": r"\w+", "letters": r"[^\W\d_]+", "words and marks": r"\w+"}
"""What a word is, by the units that documents are cut into."""

PATTERNS = {**WORDS, "words and marks": r"\w+|[^\w\s]"}
"""What is counted: words, and where they are wanted marks such as «!», each by itself."""

_FEW = 20_000  # bytes, or words, that are dealt with sooner than a compiler is
_SEED, _PRIME, _MIX = 0xCBF29CE484222325, 0x100000001B3, 0xFF51AFD7ED558CCD
_BITS = (1 << 64) - 1


def is_worth_a_kernel(kernel: Any, size: int) -> bool:
    """Return whether a kernel should be used: it has been compiled, or the work is large enough to wait for that."""
    return size > _FEW or is_compiled(kernel)


@lru_cache(maxsize=1 << 14)
def hash_of(word: bytes) -> int:
    """Return the 64-bit hash of some bytes."""
    h = _SEED
    for b in word:
        h = ((h ^ b) * _PRIME) & _BITS
    h = ((h ^ (h >> 32)) * _MIX) & _BITS
    return h ^ (h >> 32)


def spans_of_units(text: str, units: str, shortest: int) -> list[tuple[int, int]]:
    """Return from where to where the words of a text stand, or its characters, a run of white space counting as one."""
    found = re.finditer(PATTERNS[units] if units != "characters" else r"\s+|\S", text)
    if units == "characters":
        return [m.span() for m in found]
    return [m.span() for m in found if m.end() - m.start() >= shortest or not re.match(WORDS[units], m.group())]
