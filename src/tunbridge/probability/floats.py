"""Numbers as they come in, and arrays that never change: what distributions and tables share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import DataError

TOLERANCE = 1.001e-6
"""How far from one a sum of probabilities may be: 1e-6, and the little more that 0.333333 three times needs."""


def as_floats(what: str, values: Any) -> np.ndarray:
    """Return a new C-ordered array of floats; masked values become NaN, which the checks then refuse."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(object), np.nan)
        array = np.asarray(values)
        if array.dtype.kind != "c" and not (array.dtype.kind == "O" and any(map(_is_complex, array.flat))):
            return np.array(array, np.float64, order="C")
    except OverflowError:
        raise DataError(f"{what} must be numbers that a float can hold; got one that is too large.") from None
    except (TypeError, ValueError):
        pass
    raise DataError(f"{what} must be an array of numbers; got {shortened(repr(values))}.")


def as_float(what: str, value: Any) -> float:
    """Return one number as a float; raise for what is none, or too large to be one."""
    try:
        if not _is_complex(value):
            return float(value)
    except OverflowError:
        raise DataError(f"{what} must be numbers that a float can hold; got one that is too large.") from None
    except (TypeError, ValueError):
        pass
    raise DataError(f"{what} must be numbers; got {shortened(repr(value))}.")


def locked(array: np.ndarray) -> np.ndarray:
    """Return the array, read-only from now on, and so is the one that it is a view of."""
    array.setflags(write=False)
    if isinstance(array.base, np.ndarray):
        array.base.setflags(write=False)
    return array


def _is_complex(value: Any) -> bool:
    return isinstance(value, complex | np.complexfloating)  # NumPy would only warn, and drop a part of it
