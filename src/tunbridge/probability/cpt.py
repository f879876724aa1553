"""The dense conditional probability table: one row for every configuration of the parents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import (
    ConditionalTable,
    check_n_axes,
    checked_counts,
    checked_family,
    checked_rows,
    numbers_of,
)
from tunbridge.probability.floats import as_floats, locked


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class CPT(ConditionalTable):
    """A conditional probability table with every row stored.

    Parameters
    ----------
    variable : Variable
        Whose probabilities they are.
    parents : sequence of Variable
        What they depend on, in the order of the table's axes.
    table : array-like of shape ``shape`` or (n_configurations, n_states)
        P(variable | parents): an axis for each parent, then the variable's. Every row must be ≥ 0 and sum to one
        within 1e-6; it is then rescaled. :func:`as_cpt` takes dicts and frames.
    counts : array-like, optional
        The Dirichlet counts behind the table, of the same shape.

    Examples
    --------
    >>> rain = Variable("Rain", ["no", "yes"])
    >>> wet = CPT(Variable("Wet", ["no", "yes"]), [rain], [[0.9, 0.1], [0.2, 0.8]])
    >>> wet
    CPT('Wet' | 'Rain': 2 rows of 2 states)
    >>> print(wet)
    Wet given Rain
    Rain  no   yes
    no    0.9  0.1
    yes   0.2  0.8
    >>> wet.distribution({"Rain": "yes"})["yes"]
    0.8
    """

    probabilities: np.ndarray

    def __init__(self, variable: Variable, parents: Any = (), table: Any = None, *, counts: Any = None) -> None:
        family = checked_family(variable, parents)
        shape = (*(p.n_states for p in family), variable.n_states)
        array = _shaped(variable, family, table, shape)
        checked_rows(variable, family, array.reshape(-1, shape[-1]))
        kept = None if counts is None else checked_counts(variable, counts, shape)
        self.__dict__.update(variable=variable, parents=family, counts=kept, probabilities=locked(array))

    @classmethod
    def _trusted(
        cls, variable: Variable, parents: tuple[Variable, ...], array: np.ndarray, counts: np.ndarray | None = None
    ) -> CPT:
        """Return the table of an array of the full shape that needs no check; it is locked, not copied."""
        kept = None if counts is None else locked(counts)
        self = object.__new__(cls)
        self.__dict__.update(variable=variable, parents=parents, counts=kept, probabilities=locked(array))
        return self

    @property
    def n_parameters(self) -> int:
        """How many of the probabilities are free: one less than the states in every row."""
        return self.n_configurations * (self.variable.n_states - 1)

    def table(self) -> np.ndarray:
        """Return the stored array, of shape ``shape`` and read-only."""
        return self.probabilities

    def _table(self) -> np.ndarray:
        return self.probabilities

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        return self.probabilities.reshape(-1, self.variable.n_states)[numbers_of(self.parents, codes)]

    def _reduced(self, fixed: dict[int, int]) -> CPT:
        index = tuple(fixed.get(i, slice(None)) for i in range(len(self.parents)))
        kept = tuple(p for i, p in enumerate(self.parents) if i not in fixed)
        counts = None if self.counts is None else np.array(self.counts[index], order="C")
        return CPT._trusted(self.variable, kept, np.array(self.probabilities[index], order="C"), counts)

    def _values(self) -> tuple[np.ndarray, ...]:
        return (self.probabilities,)


def _shaped(variable: Variable, parents: tuple[Variable, ...], table: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the table as a new array of the full shape."""
    check_n_axes(variable, parents)
    what = f"the table of {variable.name!r}"
    if table is None or isinstance(table, Mapping) or hasattr(table, "columns"):
        shown = "nothing" if table is None else shortened(repr(table))
        raise DataError(f"{what} must be an array; got {shown}. as_cpt takes dicts and frames.")
    array = as_floats(what, table)
    if array.shape != shape and array.shape != (math.prod(shape[:-1]), shape[-1]):
        raise _shape_error(variable, parents, array.shape, shape)
    return array.reshape(shape)


def _shape_error(
    variable: Variable, parents: tuple[Variable, ...], got: tuple[int, ...], shape: tuple[int, ...]
) -> DataError:
    axes = ", ".join(v.name for v in (*parents, variable))
    flat = (math.prod(shape[:-1]), shape[-1])
    also = f" or {flat}" if len(shape) > 2 else ""
    hint = f"The axes are {axes}."
    if got == flat[::-1]:
        hint = "It looks like the transpose: one row for each configuration of the parents is wanted."
    return DataError(f"the table of {variable.name!r} must have the shape {shape}{also}; got {got}. {hint}")
