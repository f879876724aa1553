"""64-bit keys that depend only on what rows hold: equal for equal rows, otherwise as good as random."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def text_key(text: str) -> int:
    """Return a 64-bit key of a text."""
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def mixed(keys: np.ndarray) -> np.ndarray:
    """Return 64-bit keys with their bits mixed (Steele, Lea & Flood 2014, SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def seeded(keys: np.ndarray, seed: int) -> np.ndarray:
    """Return keys mixed with a random seed."""
    return mixed(keys ^ np.array([text_key(str(seed))], np.uint64))
