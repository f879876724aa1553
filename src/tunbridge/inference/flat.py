"""A network as a handful of flat arrays, the form in which kernels read it.

Variables are numbered in the order of their tables. The parents of all variables lie end to end in one array, and so
do the tables, each written out densely: parent configurations one after the other, the first parent changing slowest,
and within a configuration the states of the child. So the probability of state k of variable v is

    tables[table_start[v] + j · n_states[v] + k],     j = (… (x₁ · r₂ + x₂) · r₃ + …) + x_m

for parents in states x₁ … x_m that have r₁ … r_m states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tunbridge._check import did_you_mean, listed
from tunbridge._memory import check_memory
from tunbridge.data import Variable
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.probability import ConditionalTable

_WAYS_OUT = "Sampling and kernels need dense tables: give the largest fewer parents or states."


@dataclass(frozen=True, eq=False)
class FlatNetwork:
    """A network as arrays, whole numbers as int64, all in C order; nobody changes them.

    Parameters
    ----------
    variables : tuple of Variable
        Index i stands for the i-th of them everywhere below.
    n_states : ndarray of shape (n,)
        The number of states of each variable.
    order : ndarray of shape (n,)
        The indices, parents before children.
    parent_start : ndarray of shape (n + 1,)
        The parents of variable v are ``parents[parent_start[v]:parent_start[v + 1]]``.
    parents : ndarray
        Indices of parents, for each variable in the order of its table's axes.
    table_start : ndarray of shape (n + 1,)
        The table of variable v is ``tables[table_start[v]:table_start[v + 1]]``.
    tables : ndarray of float64
        The dense tables, the state of the child changing fastest and the first parent slowest.
    """

    variables: tuple[Variable, ...]
    n_states: np.ndarray
    order: np.ndarray
    parent_start: np.ndarray
    parents: np.ndarray
    table_start: np.ndarray
    tables: np.ndarray

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    def parents_of(self, v: int) -> np.ndarray:
        """Return the indices of a variable's parents, in the order of its table's axes."""
        return self.parents[self.parent_start[v] : self.parent_start[v + 1]]

    def table_of(self, v: int) -> np.ndarray:
        """Return a variable's table as a view of shape (configurations, states)."""
        return self.tables[self.table_start[v] : self.table_start[v + 1]].reshape(-1, self.n_states[v])


def flatten(cpts: Sequence[ConditionalTable]) -> FlatNetwork:
    """Return the network of these tables as arrays, its variables in the order of the tables.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        One a variable; every parent has a table of its own among them.

    Raises
    ------
    MemoryForecastError
        When the tables, written out densely, would not fit.
    DataError
        When a parent has no table, a variable two, or the arcs form a cycle.
    """
    variables = tuple(cpt.variable for cpt in cpts)
    families = _families(cpts, variables)
    sizes = [cpt.n_configurations * cpt.variable.n_states for cpt in cpts]
    check_memory(_largest(variables, sizes), 8.0 * sum(sizes), ways_out=_WAYS_OUT)
    tables = [cpt.table().reshape(-1) for cpt in cpts]
    return FlatNetwork(
        variables,
        np.array([v.n_states for v in variables], np.int64),
        np.array(_topological(variables, families), np.int64),
        starts_of(list(map(len, families))),
        np.array([p for family in families for p in family], np.int64),
        starts_of(sizes),
        np.concatenate(tables).astype(np.float64, copy=False) if tables else np.empty(0),
    )


def _families(cpts: Sequence[ConditionalTable], variables: tuple[Variable, ...]) -> list[list[int]]:
    """Return the indices of each variable's parents."""
    index = {variable.name: i for i, variable in enumerate(variables)}
    if len(index) < len(variables):
        twice = [v.name for i, v in enumerate(variables) if index[v.name] != i]
        raise DataError(f"every variable must have one table; got {listed(twice)} more than once.")
    try:
        return [[index[parent.name] for parent in cpt.parents] for cpt in cpts]
    except KeyError as error:
        name = error.args[0]
        hint = did_you_mean(name, index)
        raise DataError(f"every parent must have a table of its own; got {name!r}, which has none. {hint}") from None


def _topological(variables: tuple[Variable, ...], families: list[list[int]]) -> list[int]:
    """Return the indices with parents before children; raise when the arcs form a cycle."""
    children: list[list[int]] = [[] for _ in families]
    waiting = list(map(len, families))
    for child, family in enumerate(families):
        for parent in family:
            children[parent].append(child)
    order = [v for v, n in enumerate(waiting) if n == 0]
    for v in order:  # it grows while it is read
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(families):
        left = [variables[v].name for v, n in enumerate(waiting) if n]
        raise DataError(f"the arcs must not form a cycle; got one among or above {listed(left)}.")
    return order


def starts_of(sizes: Iterable[int]) -> np.ndarray:
    """Return where parts of these sizes begin when they lie end to end, and last where they end.

    Examples
    --------
    >>> starts_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.array([0, *accumulate(sizes)], np.int64)


def _largest(variables: tuple[Variable, ...], sizes: list[int]) -> str:
    """Return the tables in words, the largest by name, for a message about memory."""
    if not sizes:
        return "the tables"
    size, variable = max(zip(sizes, variables, strict=True), key=lambda pair: pair[0])
    entries = f"{size:,}".replace(",", " ") if size < 1e15 else f"10^{math.log10(size):.0f}"
    return f"the dense tables (the largest, of {variable.name!r}, with {entries} entries)"
