"""Conditional tables as potentials: what the junction tree multiplies.

A table becomes one potential over its parents and its variable. A noisy-MAX table with many parents becomes the chain
of small ones it stands for, with auxiliary variables that nobody asks for; a sparse table too large to be written out
must wait until evidence has fixed some of its parents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tunbridge.data import Variable
from tunbridge.graph.walks import topological_order
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.kernels.potentials import reduce_potentials
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT

_LARGEST_NOISY = 2**8
_LARGEST_SPARSE = 2**20


class Potentials(NamedTuple):
    """Tables whose product is the joint distribution, laid end to end.

    Parameters
    ----------
    n_states : ndarray
        The number of states of each variable; every variable stands in some scope.
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
        variables, starts, scopes, tables, owner, log_factor = reduce_potentials(
            self.n_states, self.scope_start, self.scope_vars, self.tables, self.owner, codes, keep
        )
        return variables, Potentials(self.n_states[variables], starts, scopes, tables, owner), log_factor

    def as_network(self, variables: Sequence[Variable]) -> FlatNetwork:
        """Return potentials that are conditional tables, each of the last variable of its scope, as a network.

        Auxiliary variables get numbers for states.
        """
        ends = self.scope_start[1:] - 1
        own = self.scope_vars[ends]
        by_child = np.argsort(own)
        scopes = [self.scope_vars[self.scope_start[f] : ends[f]] for f in by_child]
        sizes = [
            int(self.n_states[own[f]]) * math.prod(self.n_states[s].tolist())
            for f, s in zip(by_child, scopes, strict=True)
        ]
        starts = self._table_starts()
        children: list[list[int]] = [[] for _ in scopes]
        for child, scope in enumerate(scopes):
            for parent in scope.tolist():
                children[parent].append(child)
        extra = [Variable(f"auxiliary {v}", range(int(self.n_states[v]))) for v in range(len(variables), len(scopes))]
        return FlatNetwork(
            (*variables, *extra),
            self.n_states,
            np.array(topological_order([s.tolist() for s in scopes], children), np.int64),
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
        Known states, by which tables too large to be written out are cut down.
    needed : ndarray, optional
        Which tables matter; large sparse ones that do not are left out.
    chains : bool
        Whether noisy tables may be taken apart. The auxiliary variables must be summed out, so a search for the most
        probable states has to do without.
    """
    if all(type(cpt) is CPT for cpt in cpts):
        return _of_dense_tables(cpts, parents, n_states)
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


def _of_dense_tables(cpts: Sequence[Any], parents: Sequence[Sequence[int]], n_states: np.ndarray) -> Potentials:
    """Return the potentials of tables that are all written out, as most are: each is one, evidence or not."""
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
