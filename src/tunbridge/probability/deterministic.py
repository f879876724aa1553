"""Deterministic tables: the state of the variable follows from the states of its parents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean
from tunbridge._memory import check_memory
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import check_n_axes, checked_family, condition_text
from tunbridge.probability.cpt import CPT

_WAYS_OUT = "Use fewer parents or states; noisy_or and noisy_max need no dense table."


def deterministic(variable: Variable, parents: Any, function: Callable[..., State]) -> CPT:
    """Return the table that gives probability one to what a function says.

    Parameters
    ----------
    variable : Variable
        Whose state the function returns.
    parents : sequence of Variable
        Whose states it takes, as positional arguments in this order.
    function : callable
        It is called once for every configuration.

    Returns
    -------
    CPT

    Examples
    --------
    >>> a, b = Variable("A", [0, 1]), Variable("B", [0, 1])
    >>> print(deterministic(Variable("Sum", [0, 1, 2]), [a, b], lambda a, b: a + b))
    Sum given A, B
    A  B  0  1  2
    0  0  1  0  0
    0  1  0  1  0
    1  0  0  1  0
    1  1  0  0  1
    """
    family = checked_family(variable, parents)
    check_n_axes(variable, family)
    shape = (*(p.n_states for p in family), variable.n_states)
    check_memory(f"the deterministic table of {variable.name!r}", 8 * math.prod(shape), ways_out=_WAYS_OUT)
    if not callable(function):
        raise DataError(f"function must be callable with the states of the parents; got {function!r}.")
    states = itertools.product(*(p.states or () for p in family))
    codes = [_code(variable, family, j, function(*key)) for j, key in enumerate(states)]
    table = np.zeros((len(codes), variable.n_states))
    table[np.arange(len(codes)), codes] = 1.0
    return CPT._trusted(variable, family, table.reshape(shape))


def _code(variable: Variable, parents: tuple[Variable, ...], number: int, state: object) -> int:
    code = variable.find(state)
    if code < 0:
        where = condition_text(parents, number)
        hint = did_you_mean(state, variable.states or ()) if state is not None else "Does it return something always?"
        raise DataError(
            f"the function of {variable.name!r}{where} must return one of its states; got {state!r}. {hint}"
        )
    return code
