"""Numbers for each configuration of categorical variables, as people write them: one for all, arrays, mappings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge._check import listed, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import condition_text
from tunbridge.probability.floats import as_float, as_floats


def by_configuration(what: str, given: Any, parents: Sequence[Variable]) -> np.ndarray:
    """Return a new array of numbers with an axis for each parent.

    Parameters
    ----------
    what : str
        For the message.
    given : number, array-like or mapping
        One number for all configurations; an array with an axis for each parent, or with one entry for each
        configuration, the last parent fastest; or a mapping from states, tuples of states for several parents.
    parents : sequence of Variable
        Categorical variables.

    Examples
    --------
    >>> sex = Variable("Sex", ["female", "male"])
    >>> by_configuration("the means", {"male": 178, "female": 165}, [sex]).tolist()
    [165.0, 178.0]
    """
    shape = tuple(p.n_states for p in parents)
    if isinstance(given, Mapping):
        return _from_mapping(what, given, parents, shape)
    array = as_floats(what, given)
    if array.ndim == 0:
        return np.full(shape, float(array))
    if array.shape not in (shape, (math.prod(shape),)):
        named = f" (the states of {listed(p.name for p in parents)})" if parents else ""
        raise DataError(f"{what} must be one number, or have the shape {shape}{named}; got {array.shape}.")
    return array.reshape(shape)


def _from_mapping(what: str, given: Mapping[Any, Any], parents: Sequence[Variable], shape: tuple[int, ...]) -> Any:
    if not parents:
        raise DataError(f"{what} must be one number without categorical parents; got {shortened(repr(given))}.")
    array, seen = np.empty(shape), np.zeros(shape, bool)
    for key, value in given.items():
        states = (key,) if len(parents) == 1 else key
        if not isinstance(states, tuple) or len(states) != len(parents):
            names = listed(p.name for p in parents)
            raise DataError(f"{what} must have tuples with a state of each of {names} as keys; got {key!r}.")
        codes = tuple(p.code(state) for p, state in zip(parents, states, strict=True))
        array[codes], seen[codes] = as_float(what, value), True
    if not seen.all():
        absent = condition_text(parents, int(seen.argmin())).removeprefix(" given ")
        raise DataError(f"{what} must have a number for every configuration; {absent} has none.")
    return array
