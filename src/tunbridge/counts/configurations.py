"""The numbers of parent configurations: mixed radix, the last variable fastest, for any number of variables.

NumPy's own functions for this stop at 32 or 64 variables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def configuration_numbers(codes: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return the number of each configuration, a row of codes.

    Examples
    --------
    >>> configuration_numbers(np.array([[0, 2], [1, 0]]), [2, 3]).tolist()
    [2, 3]
    """
    numbers = np.zeros(len(codes), np.int64)
    for column, n in zip(codes.T, n_states, strict=True):
        numbers = numbers * n + column
    return numbers


def configuration_codes(numbers: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return the configurations of these numbers, a row of codes each.

    Examples
    --------
    >>> configuration_codes(np.array([2, 3]), [2, 3]).tolist()
    [[0, 2], [1, 0]]
    """
    codes = np.empty((len(numbers), len(n_states)), np.int32)
    for j in reversed(range(len(n_states))):
        numbers, codes[:, j] = np.divmod(numbers, n_states[j])
    return codes


def product_numbers(codes: Sequence[np.ndarray], n_states: Sequence[int]) -> np.ndarray:
    """Return the numbers of all configurations in which each variable has one of its codes.

    Examples
    --------
    >>> product_numbers([np.array([1]), np.array([0, 2])], [2, 3]).tolist()
    [3, 5]
    """
    numbers = np.zeros(1, np.int64)
    for column, n in zip(codes, n_states, strict=True):
        numbers = (numbers[:, None] * n + column).ravel()
    return numbers
