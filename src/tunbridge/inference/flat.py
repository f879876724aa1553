"""The tables of a network as flat arrays, the form in which kernels read them.

:class:`FlatNetwork` has one dense table for each variable. Variables are numbered in the order of their tables. The
parents of all variables are concatenated in one array, and so are the tables: parent configurations one after the
other, the first parent changing slowest, and within a configuration the states of the child. So the probability of
state k of variable v is

    tables[table_start[v] + j · n_states[v] + k],     j = (… (x₁ · r₂ + x₂) · r₃ + …) + x_m

for parents in states x₁ … x_m that have r₁ … r_m states.

:class:`Potentials` are what a junction tree multiplies. A table becomes one potential over its parents and its
variable. A noisy-MAX table with many parents becomes an equivalent chain of small ones, with auxiliary variables; a
sparse table too large to be written out is reduced first by evidence about its parents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.memory import check_memory
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.graph.walks import topological_order
from tunbridge.inference.array_propagation import is_python_quicker
from tunbridge.kernels.compiled import plain
from tunbridge.kernels.inference.junction import reduce_potentials
from tunbridge.kernels.inference.rows import Network
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT

_REDUCED = 2e-6  # seconds in which Python takes observed variables out of tables, per entry
_WAYS_OUT = "Sampling and kernels need dense tables: give the largest fewer parents or states."
_LARGEST_NOISY = 2**8  # entries of a noisy table that is written out; larger ones become chains
_LARGEST_SPARSE = 2**20  # entries of a sparse table that is written out


def starts_of(sizes: Iterable[int]) -> np.ndarray:
    """Return the offsets of concatenated parts of these sizes, and last the total.

    Examples
    --------
    >>> starts_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.array([0, *accumulate(sizes)], np.int64)


def children_of(parents: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return the children of each node, given its parents.

    Examples
    --------
    >>> children_of([[], [0], [0, 1]])
    [[1, 2], [2], []]
    """
    children: list[list[int]] = [[] for _ in parents]
    for child, some in enumerate(parents):
        for parent in some:
            children[parent].append(child)
    return children


@dataclass(frozen=True, eq=False)
class FlatNetwork:
    """A network as arrays in C order, integers as int64; they are never modified.

    Parameters
    ----------
    variables : tuple of Variable
        Index i is the i-th of them everywhere below.
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

    @classmethod
    def of(
        cls, variables: Sequence[Variable], parents: Sequence[Sequence[int]], tables: Sequence[np.ndarray]
    ) -> FlatNetwork:
        """Return the network of dense tables, with the indices of each variable's parents; raise if it has a cycle."""
        return cls(
            tuple(variables),
            np.array([v.n_states for v in variables], np.int64),
            np.array(_topological(variables, parents), np.int64),
            starts_of(map(len, parents)),
            np.array([p for family in parents for p in family], np.int64),
            starts_of(table.size for table in tables),
            np.concatenate([t.reshape(-1) for t in tables]).astype(np.float64, copy=False) if tables else np.empty(0),
        )

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    def parents_of(self, v: int) -> np.ndarray:
        """Return the indices of a variable's parents, in the order of its table's axes."""
        return self.parents[self.parent_start[v] : self.parent_start[v + 1]]

    @cached_property
    def network(self) -> Network:
        """The network as kernels for rows read it."""
        owner = np.repeat(np.arange(self.n_variables), np.diff(self.parent_start))
        children = owner[np.argsort(self.parents, kind="stable")]
        n_children = np.bincount(self.parents, minlength=self.n_variables)
        child_start = len(self.parents) + starts_of(n_children.tolist())
        n_states, order = np.append(self.n_states, 0), np.append(self.order, 0)
        variables = np.stack([n_states, order, self.parent_start, child_start, self.table_start], axis=1)
        return Network(np.ascontiguousarray(variables), np.concatenate([self.parents, children]), self.tables)

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
    return FlatNetwork.of(variables, families, [cpt.table() for cpt in cpts])


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


def _topological(variables: Sequence[Variable], families: Sequence[Sequence[int]]) -> list[int]:
    """Return the indices with parents before children; raise when the arcs form a cycle."""
    sorter = TopologicalSorter(dict.fromkeys(range(len(families)), ()))
    for v, family in enumerate(families):
        sorter.add(v, *family)
    try:
        return list(sorter.static_order())
    except CycleError as error:
        cycle = [variables[v].name for v in error.args[1]]
        raise DataError(f"the arcs must not form a cycle; got {' → '.join(cycle)}.") from None


def _largest(variables: tuple[Variable, ...], sizes: list[int]) -> str:
    """Describe the tables for a message about memory, naming the largest."""
    if not sizes:
        return "the tables"
    size, variable = max(zip(sizes, variables, strict=True), key=lambda pair: pair[0])
    entries = f"{size:,}".replace(",", " ") if size < 1e15 else f"10^{math.log10(size):.0f}"
    return f"the dense tables (the largest, of {variable.name!r}, with {entries} entries)"


# Potentials


class Potentials(NamedTuple):
    """Tables whose product is the joint distribution, concatenated.

    Parameters
    ----------
    n_states : ndarray
        The number of states of each variable; every variable is in some scope.
    scope_start, scope_vars : ndarray
        The scope of potential f is ``scope_vars[scope_start[f]:scope_start[f + 1]]``. Its table has one axis for each
        of these, in that order, the last one fastest.
    tables : ndarray
        The tables.
    owner : ndarray
        The conditional table that each potential came from.
    """

    n_states: np.ndarray
    scope_start: np.ndarray
    scope_vars: np.ndarray
    tables: np.ndarray
    owner: np.ndarray

    @property
    def n_potentials(self) -> int:
        """The number of tables."""
        return len(self.scope_start) - 1

    def observed(self, codes: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, Potentials, float]:
        """Return the kept potentials without the observed variables: (the variables left, potentials, log factor)."""
        reduce = reduce_potentials
        if is_python_quicker(_REDUCED * len(self.tables), reduce):
            reduce = plain(reduce)
        variables, *parts, log_factor = reduce(*self, codes, keep)
        return variables, Potentials(self.n_states[variables], *parts), log_factor

    def as_network(self, variables: Sequence[Variable]) -> FlatNetwork:
        """Return potentials that are conditional tables, each of the last variable of its scope, as a network.

        The states of auxiliary variables are integers.
        """
        ends = self.scope_start[1:] - 1
        own = self.scope_vars[ends]
        by_child = np.argsort(own)
        scopes = [self.scope_vars[self.scope_start[f] : ends[f]] for f in by_child]
        sizes = [
            int(self.n_states[own[f]]) * math.prod(self.n_states[s].tolist())
            for f, s in zip(by_child, scopes, strict=True)
        ]
        parents, starts = [s.tolist() for s in scopes], self._table_starts()
        extra = [Variable(f"auxiliary {v}", range(int(self.n_states[v]))) for v in range(len(variables), len(scopes))]
        return FlatNetwork(
            (*variables, *extra),
            self.n_states,
            np.array(topological_order(parents, children_of(parents)), np.int64),
            starts_of(map(len, scopes)),
            np.concatenate(scopes).astype(np.int64),
            starts_of(sizes),
            np.concatenate([self.tables[starts[f] : starts[f + 1]] for f in by_child]),
        )

    def _table_starts(self) -> np.ndarray:
        n = self.n_potentials
        sizes = [
            math.prod(self.n_states[self.scope_vars[self.scope_start[f] : self.scope_start[f + 1]]].tolist())
            for f in range(n)
        ]
        return starts_of(sizes)


def is_large_sparse(cpt: ConditionalTable) -> bool:
    """Return whether a table has to stay sparse until evidence fixes some parents."""
    return type(cpt) is SparseCPT and cpt.n_configurations * cpt.variable.n_states > _LARGEST_SPARSE


def is_chained(cpt: ConditionalTable) -> bool:
    """Return whether a table is taken apart into a chain of small ones."""
    return type(cpt) is NoisyMaxCPT and cpt.n_configurations * cpt.variable.n_states > _LARGEST_NOISY


def gather_potentials(
    cpts: Sequence[ConditionalTable],
    parents: Sequence[Sequence[int]],
    n_states: np.ndarray,
    *,
    fixed: Mapping[int, int] | None = None,
    needed: np.ndarray | None = None,
    chains: bool = True,
) -> Potentials:
    """Return the potentials of conditional tables.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        Table v is that of variable v.
    parents : sequence of sequence of int
        The numbers of each variable's parents, in the order of its table.
    n_states : ndarray
        Of each variable.
    fixed : mapping of int to int, optional
        Known states; tables too large to be written out are reduced by them.
    needed : ndarray, optional
        Which tables matter; large sparse ones that do not are left out.
    chains : bool
        Whether noisy tables may be taken apart. The auxiliary variables must be summed out, so a search for the most
        probable states must not use them.
    """
    dense = [cpt for cpt in cpts if type(cpt) is CPT]
    if len(dense) == len(cpts):
        return _of_dense_tables(dense, parents, n_states)
    scopes: list[Sequence[int]] = []
    tables: list[np.ndarray] = []
    owner: list[int] = []
    extra: list[int] = []
    for v, cpt in enumerate(cpts):
        if needed is not None and not needed[v] and is_large_sparse(cpt):
            continue
        if chains and type(cpt) is NoisyMaxCPT and is_chained(cpt):
            links = _links(cpt, parents[v], v, len(n_states) + len(extra))
            scopes += [scope for scope, _ in links]
            tables += [table for _, table in links]
            owner += [v] * len(links)
            extra += [cpt.variable.n_states] * (len(links) - 1)
            continue
        scope = [*parents[v], v]
        if fixed and (is_large_sparse(cpt) or is_chained(cpt)):
            known = {p.name: fixed[u] for p, u in zip(cpt.parents, parents[v], strict=True) if u in fixed}
            cpt = cpt.reduced(known)
            scope = [u for u in scope if u == v or u not in fixed]
        scopes.append(scope)
        tables.append(cpt.probabilities if type(cpt) is CPT else cpt.table())
        owner.append(v)
    return Potentials(
        np.concatenate([n_states, np.array(extra, np.int64)]) if extra else n_states,
        starts_of(map(len, scopes)),
        np.array([v for scope in scopes for v in scope], np.int64),
        np.concatenate([table.ravel() for table in tables]) if tables else np.empty(0),
        np.array(owner, np.int64),
    )


def _of_dense_tables(cpts: Sequence[CPT], parents: Sequence[Sequence[int]], n_states: np.ndarray) -> Potentials:
    """Return the potentials of dense tables, the usual case: one for each table."""
    scopes = [v for child, family in enumerate(parents) for v in (*family, child)]
    tables = [cpt.probabilities.ravel() for cpt in cpts]
    return Potentials(
        n_states,
        starts_of([len(family) + 1 for family in parents]),
        np.array(scopes, np.int64),
        np.concatenate(tables) if tables else np.empty(0),
        np.arange(len(cpts)),
    )


def _links(cpt: NoisyMaxCPT, parents: Sequence[int], v: int, first: int) -> list[tuple[list[int], np.ndarray]]:
    """Return the scopes and tables of a noisy table's chain, its auxiliary variables numbered from ``first``."""
    numbers = {p.name: u for p, u in zip(cpt.parents, parents, strict=True)} | {cpt.variable.name: v}
    return [
        ([numbers[axis] if isinstance(axis, str) else first + axis for axis in axes], table)
        for axes, table in cpt.factors()
    ]
