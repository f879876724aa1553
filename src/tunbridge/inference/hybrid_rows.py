"""Rows of a frame with categories and numbers, in patterns of what is known, and what their numbers say of categories.

Rows are taken together in **patterns**: the same cells known. Then the components of the continuous part are the same
for all of them, each is solved once, and its factor over the categories that the pattern leaves unknown,

    ln φ_c(row, h) = ln p(observed numbers of the row | known categories of the row, h),

is computed for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.counts.configurations import configuration_numbers, product_numbers
from tunbridge.data import encode
from tunbridge.data.frames import frame_columns
from tunbridge.errors import DataError
from tunbridge.inference import batches
from tunbridge.inference.hybrid_components import Component, Solution, n_bytes_of, solve
from tunbridge.inference.hybrid_engine import HybridEngine, Scope
from tunbridge.inference.hybrid_factors import LogFactor

PIECE_CELLS = 2**22
"""The numbers that are laid out at a time."""

_LARGEST_SOLUTION = 2**28  # bytes; a larger one is solved for each row's categories alone


class Rows(NamedTuple):
    """Rows of a frame.

    Parameters
    ----------
    codes : ndarray of shape (n_categorical, n_rows)
        The states of the discrete engine's variables, −1 where unknown.
    values : ndarray of shape (n_variables, n_rows)
        The numbers, NaN where unknown; rows of categorical variables are not used.
    """

    codes: np.ndarray
    values: np.ndarray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]


def read_rows(hybrid: HybridEngine, frame: Any, *, leave_out: int | None = None) -> Rows:
    """Return the cells of a frame, columns matched by name; what is not there is unknown."""
    columns = frame_columns(frame)
    present = [v for i, v in enumerate(hybrid.variables) if v.name in columns and i != leave_out]
    if not present and (leave_out is None or hybrid.variables[leave_out].name not in columns):
        known = listed(v.name for v in hybrid.variables)
        hint = "Columns are matched to variables by name."
        raise DataError(f"the data must have a column of the network ({known}); got {listed(columns)}. {hint}")
    batches.warn_near_names(columns, hybrid.index)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    check_memory("the cells of all rows", 10.0 * hybrid.n_variables * n_rows, ways_out="Give the rows in pieces.")
    codes = np.full((len(hybrid.discrete), n_rows), -1, np.int64)
    values = np.full((hybrid.n_variables, n_rows), np.nan)
    if present:
        table, unseen = encode(frame, present)
        for variable in present:
            v = hybrid.index[variable.name]
            if variable.is_continuous:
                values[v] = table.floats(variable.name)
            else:
                codes[hybrid.place[v]] = table.codes(variable.name)
        batches.warn_unseen(unseen)
    return Rows(codes, values)


# Patterns


@dataclass(frozen=True)
class Pattern:
    """Rows in which the same cells are known.

    Parameters
    ----------
    rows : ndarray of int
        Which rows.
    known : frozenset of int
        The categories that are known, by the engine's numbers.
    observed : frozenset of int
        The numbers that are known, by the network's numbers.
    """

    rows: np.ndarray
    known: frozenset[int]
    observed: frozenset[int]


def patterns(hybrid: HybridEngine, rows: Rows) -> Iterator[Pattern]:
    """Yield the rows of each pattern; those of one pattern in their order."""
    numbers = list(hybrid.part.numbers)
    there = np.concatenate([rows.codes >= 0, ~np.isnan(rows.values[numbers])])
    packed = np.packbits(there, axis=0)
    order = np.lexsort(packed) if len(packed) else np.arange(rows.n_rows)
    sorted_there = packed[:, order]
    starts = np.flatnonzero(np.any(sorted_there[:, 1:] != sorted_there[:, :-1], axis=0)) + 1
    n = len(hybrid.discrete)
    for some in np.split(order, starts):
        if len(some):
            marks = there[:, some[0]]
            observed = frozenset(numbers[i] for i in np.flatnonzero(marks[n:]).tolist())
            yield Pattern(some, frozenset(np.flatnonzero(marks[:n]).tolist()), observed)


# Factors


@dataclass
class Solver:
    """Components solved once for all patterns that share them."""

    hybrid: HybridEngine
    _known: dict[Component, Solution] = field(default_factory=dict)

    def __call__(self, component: Component) -> Solution:
        """Return a component solved for all configurations of its scope."""
        if component not in self._known:
            self._known[component] = solve(self.hybrid.part, component)
        return self._known[component]

    def is_small(self, component: Component) -> bool:
        """Return whether a component can be solved for all configurations of its scope."""
        return n_bytes_of(self.hybrid.part, component, component.scope) <= _LARGEST_SOLUTION


class Places(NamedTuple):
    """Where the configurations of a component stand for rows of a pattern.

    Parameters
    ----------
    scope : tuple of int
        The unknown categories, by the engine's numbers; h are their configurations.
    base : ndarray of shape (n,), or None
        The number of each row's known categories; None where none is known.
    offsets : ndarray of shape (h,)
        What an unknown configuration adds to it.
    """

    scope: Scope
    base: np.ndarray | None
    offsets: np.ndarray


def places(hybrid: HybridEngine, component: Component, pattern: Pattern, rows: Rows) -> Places:
    """Return where the configurations of a component stand."""
    scope = [hybrid.place[d] for d in component.scope]
    sizes = [int(hybrid.engine.n_states[d]) for d in scope]
    own = [
        np.arange(size) if d not in pattern.known else np.zeros(1, np.int64)
        for d, size in zip(scope, sizes, strict=True)
    ]
    hidden = tuple(d for d in scope if d not in pattern.known)
    base = None
    if len(hidden) < len(scope):
        fixed = [rows.codes[d, pattern.rows] if d in pattern.known else np.zeros(len(pattern.rows), int) for d in scope]
        base = configuration_numbers(np.array(fixed).T, sizes)
    return Places(hidden, base, product_numbers(own, sizes))


def design(component: Component, pattern: Pattern, rows: Rows) -> np.ndarray:
    """Return (1, observed numbers) of a component for each row of a pattern: shape (n, 1 + k)."""
    z = np.ones((len(pattern.rows), 1 + len(component.observed)))
    for i, v in enumerate(component.observed):
        z[:, 1 + i] = rows.values[v, pattern.rows]
    return z


def log_factor(hybrid: HybridEngine, solution: Solution, pattern: Pattern, rows: Rows) -> LogFactor:
    """Return what the observed numbers of a component say about the unknown categories, for each row of a pattern."""
    where = places(hybrid, solution.component, pattern, rows)
    z, n = design(solution.component, pattern, rows), len(pattern.rows)
    shape = [int(hybrid.engine.n_states[d]) for d in where.scope]
    size = max(1, solution.residuals[0].size * len(where.offsets))
    logs = np.empty((n, len(where.offsets)))
    for start, stop in row_pieces(n, max(1, PIECE_CELLS // size)):
        part = slice(start, stop)
        if where.base is None:
            logs[part] = solution.log_density(z[part])
        else:
            logs[part] = solution.log_density_at(z[part], where.base[part, None] + where.offsets)
    return LogFactor(where.scope, logs.reshape(n, *shape))


def factors_of(hybrid: HybridEngine, solver: Solver, pattern: Pattern, rows: Rows) -> list[LogFactor]:
    """Return what the observed numbers of a pattern's rows say about their unknown categories."""
    found = []
    for component in hybrid.part.cut(pattern.observed):
        if solver.is_small(component):
            found.append(log_factor(hybrid, solver(component), pattern, rows))
        else:
            found.append(_factor_singly(hybrid, component, pattern, rows))
    return found


def _factor_singly(hybrid: HybridEngine, component: Component, pattern: Pattern, rows: Rows) -> LogFactor:
    """Return the same, the component solved for the known categories of each row by themselves."""
    known = [d for d in component.scope if hybrid.place[d] in pattern.known]
    z, scope = design(component, pattern, rows), Scope()
    parts = []
    for i, row in enumerate(pattern.rows.tolist()):
        fixed = {d: int(rows.codes[hybrid.place[d], row]) for d in known}
        solution = solve(hybrid.part, component, fixed)
        scope = solution.scope
        parts.append(solution.log_density(z[i : i + 1]))
    return LogFactor(
        tuple(hybrid.place[d] for d in scope), np.concatenate(parts).reshape(len(parts), *hybrid.part.shape(scope))
    )
