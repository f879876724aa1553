"""Random seeds: one integer from whatever a caller passes as ``random_state``."""

from __future__ import annotations

import numbers

import numpy as np

from tunbridge._core.check import shortened
from tunbridge.errors import DataError

RandomState = int | np.random.Generator | None
"""A random seed, a generator, or None for a seed from the operating system."""


def entropy_of(random_state: RandomState) -> int:
    """Return the seed that a random state stands for.

    Examples
    --------
    >>> entropy_of(7)
    7
    >>> entropy_of("seven")
    Traceback (most recent call last):
    tunbridge.errors.DataError: random_state must be a non-negative integer, a numpy Generator or None; got 'seven'.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        got = shortened(repr(random_state))
        raise DataError(
            f"random_state must be a non-negative integer, a numpy Generator or None; got {got}.",
            parameter="random_state",
        )
    return int(random_state)
