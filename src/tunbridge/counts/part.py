"""One table of a counter: how each request is counted there, and the factor its rows are counted with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from tunbridge._threads import map_threads
from tunbridge.counts.pairs import all_pairs
from tunbridge.counts.planes import BitPlanes, build_planes, has_planes, joint_tables
from tunbridge.counts.radix import SMALL_CELLS, is_dense, joint_codes, joint_table, sparse_table
from tunbridge.counts.records import Counts
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type

_PLANE_CELLS = 64
"""A family of more joint states is extended by histogram: the ANDs of so many planes cost more than the additions."""


@dataclass(frozen=True, eq=False)
class Part:
    """One table of a counter and the factor its rows are counted with.

    Parameters
    ----------
    table : Table
        Categorical columns only, their codes contiguous and in the smallest type, which is what the kernels read.
    weight : float
        The number (or weight) of its rows, which a table without columns does not know.
    n_jobs : int, optional
        Threads.
    scale : float
        The factor of all its counts.
    """

    table: Table
    weight: float
    n_jobs: int | None
    scale: float = 1.0

    @classmethod
    def of(cls, table: Table, n_jobs: int | None) -> Part:
        """Return the part of a table's categorical columns."""
        columns = [_compact(column) for column in table if column.variable.is_categorical]
        weight = table.n_rows if table.weights is None else float(table.weights.sum())
        kept = Table.of_valid(columns, table) if columns else Table.of([])
        return cls(kept, weight, n_jobs)

    def recode(self, variables: Sequence[Variable], n_jobs: int | None) -> Part:
        """Return the part with its codes in the variables' order of states."""
        return replace(self, table=self.table.recode(variables), n_jobs=n_jobs)

    @property
    def total(self) -> float:
        """The number (or weight) of the rows, scaled."""
        return self.weight if self.scale == 1.0 else self.weight * self.scale

    # Families

    def family(self, names: Sequence[str], n_jobs: int | None) -> Counts:
        """Return the counts of a family, child last."""
        *parents, child = self._variables(names)
        n_states = [v.n_states for v in (*parents, child)]
        configurations = None
        if not parents or is_dense(n_states, self.table.n_rows):
            flat = joint_table(self._codes(names), n_states, self.table.weights, n_jobs=n_jobs)
            table = flat.reshape(prod(n_states[:-1]), child.n_states)
        else:
            configurations, table = sparse_table(self._codes(names), n_states, self.table.weights)
        return Counts(child, tuple(parents), self._scaled(table), configurations)

    def extend(self, names: Sequence[str], candidates: Sequence[str]) -> list[Counts]:
        """Return the counts of a family, child last, with each candidate as a further parent."""
        *parents, child = names
        planes = [c for c in candidates if self._has_planes(c)] if self._planes_pay(names) else []
        found = self._extend_planes(names, planes) if planes else {}
        histogram = [c for c in candidates if c not in found and self._is_dense([*parents, c, child])]
        found |= self._extend_histogram(names, histogram) if histogram else {}
        sparse = [c for c in candidates if c not in found]
        counted = map_threads(lambda c: self.family([*parents, c, child], 1), sparse, self.n_jobs)
        found |= dict(zip(sparse, counted, strict=True))
        return [found[c] for c in candidates]

    def _extend_planes(self, names: Sequence[str], candidates: Sequence[str]) -> dict[str, Counts]:
        planes, position = self._planes
        if 2 * len(candidates) < len(position):  # otherwise a copy of the planes would cost more than it saves
            planes = planes.take([position[c] for c in candidates])
            position = {c: i for i, c in enumerate(candidates)}
        n_states = [v.n_states for v in self._variables(names)]
        tables = joint_tables(self._codes(names), n_states, planes, n_jobs=self.n_jobs)
        return {c: self._extended(names, c, tables[position[c]]) for c in candidates}

    def _extend_histogram(self, names: Sequence[str], candidates: Sequence[str]) -> dict[str, Counts]:
        n_states = [v.n_states for v in self._variables(names)]
        joint = joint_codes(self._codes(names), n_states)

        def count(c: str) -> Counts:
            shape = [prod(n_states), self.table.variable(c).n_states]
            flat = joint_table([joint, self.table.codes(c)], shape, self.table.weights, n_jobs=1)
            return self._extended(names, c, flat)

        return dict(zip(candidates, map_threads(count, candidates, self.n_jobs), strict=True))

    def _extended(self, names: Sequence[str], candidate: str, table: np.ndarray) -> Counts:
        """Return the counts of a family with a further parent from the table (parents, child) × candidate."""
        *parents, child, last = self._variables([*names, candidate])
        n_configurations = prod(p.n_states for p in parents)
        shaped = table.reshape(n_configurations, child.n_states, last.n_states).swapaxes(1, 2)
        flat = np.ascontiguousarray(shaped).reshape(n_configurations * last.n_states, child.n_states)
        return Counts(child, (*parents, last), self._scaled(flat))

    # Pairs

    def pairs(self, variables: Sequence[Variable]) -> np.ndarray:
        """Return the matrix of the counts of all pairs."""
        names = [v.name for v in variables]
        narrow = [v.name for v in self.table.variables if self._has_planes(v.name)]
        reuse = bool(narrow) and self._counts_by_planes and set(narrow) <= set(names)
        planes = self._planes[0] if reuse else None
        n_states = [v.n_states for v in variables]
        return self._scaled(
            all_pairs(self._codes(names), n_states, self.table.weights, n_jobs=self.n_jobs, planes=planes)
        )

    def pairs_within(self, given: Variable, variables: Sequence[Variable]) -> np.ndarray:
        """Return a matrix of the counts of all pairs for each state of a variable."""
        within, weights = self.table.codes(given.name), self.table.weights
        order = np.argsort(within, kind="stable")
        ends = np.searchsorted(within, np.arange(given.n_states + 1), sorter=order)
        columns, n_states = self._codes([v.name for v in variables]), [v.n_states for v in variables]
        out = np.zeros((given.n_states, sum(n_states), sum(n_states)), np.int64 if weights is None else np.float64)
        for state in range(given.n_states):
            rows = order[ends[state] : ends[state + 1]]
            chosen = None if weights is None else weights[rows]
            out[state] = all_pairs([codes[rows] for codes in columns], n_states, chosen, n_jobs=self.n_jobs)
        return self._scaled(out)

    # What the paths share

    def _variables(self, names: Sequence[str]) -> list[Variable]:
        return [self.table.variable(name) for name in names]

    def _codes(self, names: Sequence[str]) -> list[np.ndarray]:
        return [self.table.codes(name) for name in names]

    def _is_dense(self, names: Sequence[str]) -> bool:
        return is_dense([v.n_states for v in self._variables(names)], self.table.n_rows)

    def _has_planes(self, name: str) -> bool:
        return has_planes(self.table.variable(name).n_states)

    def _planes_pay(self, names: Sequence[str]) -> bool:
        n_joint = prod(v.n_states for v in self._variables(names))
        return self._counts_by_planes and n_joint <= _PLANE_CELLS and all(map(self._has_planes, names))

    @property
    def _counts_by_planes(self) -> bool:
        return self.table.weights is None and self.table.n_rows * self.table.n_columns > SMALL_CELLS

    @cached_property
    def _planes(self) -> tuple[BitPlanes, dict[str, int]]:
        """The planes of all columns with few states, and where each column is among them."""
        names = [v.name for v in self.table.variables if self._has_planes(v.name)]
        n_states = [v.n_states for v in self._variables(names)]
        planes = build_planes(self._codes(names), n_states, n_jobs=self.n_jobs)
        return planes, {name: i for i, name in enumerate(names)}

    def _scaled(self, table: np.ndarray) -> np.ndarray:
        return table if self.scale == 1.0 else table * self.scale


def _compact(column: Column) -> Column:
    """Return a column whose codes are contiguous and of the smallest type: no copy for all but hand-made tables."""
    values = np.ascontiguousarray(column.values, code_type(column.variable.n_states))
    values.flags.writeable = False
    return column._replace(values=values)
