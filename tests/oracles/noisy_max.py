"""Noisy-MAX by its definition: every combination of single effects, and the highest of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod

import numpy as np


def noisy_max_row(rows: Sequence[np.ndarray], order: Sequence[int]) -> np.ndarray:
    """Return the distribution of the highest of independent effects, whose codes rise in the given order."""
    out = np.zeros(len(order))
    for codes in itertools.product(*(range(len(row)) for row in rows)):
        out[max(codes, key=order.index)] += prod(row[code] for row, code in zip(rows, codes, strict=True))
    return out
