"""Forward sampling: rows drawn from a network, parents before children.

Every variable is drawn from the row of its table that its parents' states select, so that rows are independent and
follow the joint distribution exactly. Rows come in blocks of a fixed size, each with a random stream of its own that
NumPy's ``SeedSequence`` derives from the seed and the number of the block. Hence equal seeds give equal rows whatever
the number of threads, and also

    the first m of n rows are the m rows that one gets by asking for m.

The generator and how it keeps the probabilities exact are described in :mod:`tunbridge.kernels.sampling`.

References
----------
M. Henrion (1988). Propagating uncertainty in Bayesian networks by probabilistic logic sampling. UAI 2, 149–163.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._check import listed, shortened
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type, state_type
from tunbridge.errors import DataError
from tunbridge.inference.flat import FlatNetwork
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.sampling import LANES, ROWS, fill_limits, fill_samples

BLOCK = 16 * ROWS
"""Rows that share a random stream; a whole number of tiles."""

RandomState = int | np.random.Generator | None
Structure = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

_WAYS_OUT = "Draw the rows in several parts, each with a seed of its own."


def sample_codes(
    flat: FlatNetwork, n: int, random_state: RandomState = None, n_jobs: int | None = None
) -> list[np.ndarray]:
    """Return n rows drawn from the network as one column of codes a variable.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    n : int
        The number of rows.
    random_state : int or numpy.random.Generator, optional
        The seed; a generator is asked for one, and so gives other rows every time; ``None`` takes one from the system.
    n_jobs : int, optional
        The number of threads, all cores by default. It does not change the rows.

    Returns
    -------
    list of ndarray
        Codes in the smallest of int8, int16 and int32 that holds the variable's states.

    Notes
    -----
    The cost is O(n Σ_v log r_v) for r_v states, one to two nanoseconds a cell and core for few states.
    """
    n = checked_size(n)
    check_states(flat)
    widest = code_type(int(flat.n_states.max(initial=0)))
    padded = -(-n // ROWS) * ROWS  # whole tiles, so that the first rows do not depend on how many follow
    check_memory(
        f"{n} rows of {flat.n_variables} variables", padded * flat.n_variables * np.dtype(widest).itemsize,
        ways_out=_WAYS_OUT,
    )  # fmt: skip
    announce(fill_samples, "sampling")
    codes = np.empty((flat.n_variables, padded), widest)
    limits, entropy = limits_of(flat, flat.tables), entropy_of(random_state)

    def fill(piece: tuple[int, int]) -> None:
        state = stream(entropy, piece[0] // BLOCK)
        fill_samples(codes, *structure(flat), limits, state, room_of(flat), *piece)

    map_threads(fill, row_pieces(padded, BLOCK), n_jobs)
    return [codes[v, :n].astype(code_type(r), copy=False) for v, r in enumerate(flat.n_states.tolist())]


def code_table(variables: Sequence[Variable], columns: Sequence[np.ndarray]) -> Table:
    """Return columns of codes as a table that goes out as Arrow dictionaries."""
    return Table.of(Column(v, codes, _dictionary_type(v, codes)) for v, codes in zip(variables, columns, strict=True))


def structure(flat: FlatNetwork, order: np.ndarray | None = None) -> Structure:
    """Return the arrays that say what depends on what, as the kernels take them, for all variables or those given."""
    return flat.order if order is None else order, flat.n_states, flat.parent_start, flat.parents, flat.table_start


def limits_of(flat: FlatNetwork, tables: np.ndarray) -> np.ndarray:
    """Return the whole numbers that draws are compared with, for tables of the network's shape."""
    check_memory("the limits of the tables", 8.0 * tables.size, ways_out="Give the largest table fewer parents.")
    limits = np.empty(tables.size, np.int64)
    fill_limits(tables, flat.n_states, flat.table_start, limits)
    return limits


def room_of(flat: FlatNetwork) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays that a thread works in."""
    kind = np.uint32 if flat.tables.size < 2**32 else np.uint64
    return np.empty(ROWS, np.int64), np.empty(ROWS, kind), np.empty(ROWS, kind)


def stream(entropy: int, block: int) -> np.ndarray:
    """Return the state of the generators for a block."""
    words = np.random.SeedSequence(entropy, spawn_key=(block,)).generate_state(4 * LANES, np.uint64)
    return words.reshape(4, LANES)


def entropy_of(random_state: Any) -> int:
    """Return the seed that a random state stands for.

    Examples
    --------
    >>> entropy_of(7)
    7
    >>> entropy_of("seven")
    Traceback (most recent call last):
    tunbridge.errors.DataError: random_state must be a whole number from 0, a numpy Generator or None; got 'seven'.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        got = shortened(repr(random_state))
        raise DataError(f"random_state must be a whole number from 0, a numpy Generator or None; got {got}.")
    return int(random_state)


def check_states(flat: FlatNetwork) -> None:
    """Raise unless every variable has a state to be in."""
    empty = [flat.variables[v].name for v in np.flatnonzero(flat.n_states == 0)]
    if empty:
        raise DataError(f"every variable must have a state to be drawn; got {listed(empty)} without any.")


def checked_size(n: Any) -> int:
    """Return a number of rows; raise unless it is a whole number from 0."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
        raise DataError(f"the number of rows must be a whole number from 0; got {shortened(repr(n))}.")
    return int(n)


def _dictionary_type(variable: Variable, codes: np.ndarray) -> pa.DataType:
    return pa.dictionary(pa.from_numpy_dtype(codes.dtype), state_type(variable), ordered=variable.ordered)
