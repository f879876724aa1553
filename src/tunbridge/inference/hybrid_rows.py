"""Rows of a frame with categories and numbers, in patterns of what is known, and what their numbers say of categories.

Rows are taken together in **patterns**: the same cells known. Then the components of the continuous part are the same
for all of them, each is solved once for the configurations of its categories that occur in any row, and its factor over
the categories that the pattern leaves unknown,

    ln φ_c(row, h) = ln p(observed numbers of the row | known categories of the row, h),

is computed for all rows at once.

Where hardly two rows know the same cells that would be a pattern a row. So patterns of few rows are put together if
they know the same numbers: a category that only some of their rows know is taken for unknown, and in the rows that know
it the factor leaves nothing but the known state. It costs some configurations more, and far fewer patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.counts.configurations import configuration_codes
from tunbridge.counts.radix import number_configurations
from tunbridge.data import encode
from tunbridge.data.frames import frame_columns
from tunbridge.errors import DataError
from tunbridge.inference import batches
from tunbridge.inference.hybrid_components import WAYS_OUT, Component, Solution, check_solution, solve_some
from tunbridge.inference.hybrid_engine import HybridEngine, Scope
from tunbridge.inference.hybrid_factors import LogFactor

PIECE_CELLS = 2**22
"""The numbers that are laid out at a time."""

_FEW_ROWS = 64  # patterns of fewer rows are put together,
_LOOSE = 128  # as far as the categories that are taken for unknown have no more configurations together,
_MOST_ROWS = 2**10  # and never more rows than these


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
        raise DataError(
            f"the data must have a column of the network ({known}); got {listed(columns) or 'none'}. {hint}"
        )
    batches.warn_near_names(columns, hybrid.index)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    size = 8.0 * (2 * hybrid.n_variables + len(hybrid.discrete)) * n_rows
    check_memory("the cells of all rows", size, ways_out="Give the rows in pieces.")
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
    """Rows in which the same numbers are known, and at least the same categories.

    Parameters
    ----------
    rows : ndarray of int
        Which rows.
    known : frozenset of int
        The categories that all of them know, by the engine's numbers.
    observed : frozenset of int
        The numbers that are known, by the network's numbers.
    """

    rows: np.ndarray
    known: frozenset[int]
    observed: frozenset[int]


def patterns(
    hybrid: HybridEngine, rows: Rows, *, wanted: Sequence[int] = (), scopes: Iterable[Scope] = ()
) -> Iterator[Pattern]:
    """Yield the rows of each pattern.

    Parameters
    ----------
    hybrid, rows
        The network and the rows.
    wanted : sequence of int
        Numbers that will be asked for, by the network's numbers.
    scopes : iterable of tuple of int
        Categories that will be asked for together.
    """
    known, numbers, asked = rows.codes >= 0, list(hybrid.part.numbers), list(scopes)
    few: dict[frozenset[int], list[np.ndarray]] = {}
    for some in _alike(np.concatenate([known, ~np.isnan(rows.values[numbers])])):
        observed = frozenset(v for v in numbers if not np.isnan(rows.values[v, some[0]]))
        if len(some) < _FEW_ROWS:
            few.setdefault(observed, []).append(some)
            continue
        theirs = _in_all(known[:, some])
        unknown = [[d for d in scope if d not in theirs] for scope in (*asked, *_scopes(hybrid, observed, wanted))]
        widest = max((_n_configurations(hybrid, scope) for scope in unknown), default=1)
        for start, stop in row_pieces(len(some), max(_FEW_ROWS, PIECE_CELLS // widest)):
            yield Pattern(some[start:stop], theirs, observed)
    for observed, parts in few.items():
        together = np.sort(np.concatenate(parts))
        wide = (s for s in (*asked, *_scopes(hybrid, observed, wanted)) if _n_configurations(hybrid, s) > _LOOSE)
        tight = sorted({d for scope in wide for d in scope})
        for some in _alike(known[:, together][tight]):
            for start, stop in row_pieces(len(some), _MOST_ROWS):
                piece = together[some[start:stop]]
                yield Pattern(piece, _in_all(known[:, piece]), observed)


def _scopes(hybrid: HybridEngine, observed: frozenset[int], wanted: Sequence[int]) -> list[Scope]:
    """Return the categories behind each component that matters, by the engine's numbers."""
    components = (*hybrid.part.cut(observed), *hybrid.part.telling(observed, wanted).values())
    return [tuple(hybrid.place[d] for d in c.scope) for c in components]


def _n_configurations(hybrid: HybridEngine, scope: Iterable[int]) -> int:
    return math.prod(hybrid.engine.n_states[list(scope)].tolist())


def _in_all(known: np.ndarray) -> frozenset[int]:
    return frozenset(np.flatnonzero(known.all(axis=1)).tolist())


def _alike(marks: np.ndarray) -> list[np.ndarray]:
    """Return which columns are alike, in ascending order of their numbers."""
    if not marks.size:
        return [np.arange(marks.shape[1])] if marks.shape[1] else []
    packed = np.packbits(marks, axis=0)
    order = np.lexsort(packed)
    ordered = packed[:, order]
    return np.split(order, np.flatnonzero(np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)) + 1)


# Configurations


class Places(NamedTuple):
    """Which configurations of a component the rows of a pattern may be in.

    Parameters
    ----------
    scope : tuple of int
        The categories that are taken for unknown, by the engine's numbers; h are their configurations.
    at : ndarray of shape (n, h), or (1, h)
        The number of each row's configurations; of all rows where no category is known.
    """

    scope: Scope
    at: np.ndarray


@dataclass
class Occurring:
    """The configurations of components that occur in rows: what a component has to be solved for.

    Patterns are placed first; then the configurations are settled, and numbered in their order.
    """

    hybrid: HybridEngine
    _codes: dict[Component, list[np.ndarray]] = field(default_factory=dict)
    _sizes: dict[Component, int] = field(default_factory=dict)
    _settled: dict[Component, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def place(self, component: Component, pattern: Pattern, rows: Rows) -> Places:
        """Return where the rows of a pattern stand, among the configurations before they are settled."""
        scope = [self.hybrid.place[d] for d in component.scope]
        unknown = tuple(d for d in scope if d not in pattern.known)
        known = [d for d in scope if d in pattern.known]
        of, first = np.zeros(1, np.int64), np.zeros(1, np.int64)
        if known:
            columns = [rows.codes[d, pattern.rows] for d in known]
            of, first = number_configurations(columns, [int(self.hybrid.engine.n_states[d]) for d in known])
        shape = [int(self.hybrid.engine.n_states[d]) for d in unknown]
        h = math.prod(shape)
        check_solution(self.hybrid.part, component, component.scope, float(len(first)) * h)
        what = f"{len(pattern.rows)} rows in the {h:.3g} configurations of {self.hybrid.part.names(component.scope)}"
        check_memory(what, 24.0 * len(pattern.rows) * h, ways_out=WAYS_OUT)
        own = dict(zip(unknown, configuration_codes(np.arange(h), shape).T, strict=True))
        theirs = {d: rows.codes[d, pattern.rows[first]] for d in known}
        codes = [np.repeat(theirs[d], h) if d in theirs else np.tile(own[d], len(first)) for d in scope]
        start, n = self._sizes.get(component, 0), len(first) * h
        self._codes.setdefault(component, []).append(np.array(codes, np.int32).reshape(len(scope), n))
        self._sizes[component] = start + n
        return Places(unknown, start + of[:, None] * h + np.arange(h))

    def settled(self, component: Component, places: Places) -> Places:
        """Return where rows stand among the distinct configurations."""
        return places._replace(at=self._distinct(component)[0][places.at])

    def solved(self, hybrid: HybridEngine, component: Component) -> Solution:
        """Return a component of a network of this structure, solved for the configurations that occur."""
        return solve_some(hybrid.part, component, self._distinct(component)[1])

    def _distinct(self, component: Component) -> tuple[np.ndarray, np.ndarray]:
        """Return the rank of every configuration that was placed, and the distinct ones, a row each."""
        if component not in self._settled:
            codes = np.concatenate(self._codes.pop(component), axis=1)
            ranks, first = np.zeros(codes.shape[1], np.int64), np.zeros(1, np.int64)
            if component.scope:
                ranks, first = number_configurations(list(codes), self.hybrid.part.shape(component.scope))
            self._settled[component] = ranks, codes[:, first].T
        return self._settled[component]


# Factors


def design(component: Component, pattern: Pattern, rows: Rows) -> np.ndarray:
    """Return (1, observed numbers) of a component for each row of a pattern: shape (n, 1 + k)."""
    z = np.ones((len(pattern.rows), 1 + len(component.observed)))
    for i, v in enumerate(component.observed):
        z[:, 1 + i] = rows.values[v, pattern.rows]
    return z


def log_factor(hybrid: HybridEngine, solution: Solution, where: Places, pattern: Pattern, rows: Rows) -> LogFactor:
    """Return what the observed numbers of a component say about the unknown categories, for each row of a pattern."""
    z, n = design(solution.component, pattern, rows), len(pattern.rows)
    shape = [int(hybrid.engine.n_states[d]) for d in where.scope]
    size = max(1, solution.residuals[0].size * where.at.shape[1])
    logs = np.empty((n, where.at.shape[1]))
    for start, stop in row_pieces(n, max(1, PIECE_CELLS // size)):
        part = slice(start, stop)
        logs[part] = solution.log_density_at(z[part], where.at if len(where.at) == 1 else where.at[part])
    return _as_known(LogFactor(where.scope, logs.reshape(n, *shape)), rows.codes[:, pattern.rows])


def _as_known(factor: LogFactor, codes: np.ndarray) -> LogFactor:
    """Return a factor without the states that rows know not to be theirs."""
    logs = factor.logs
    for axis, d in enumerate(factor.scope):
        if (codes[d] >= 0).any():
            possible = (codes[d, :, None] < 0) | (codes[d, :, None] == np.arange(logs.shape[1 + axis]))
            wide = [len(logs), *(1,) * len(factor.scope)]
            wide[1 + axis] = logs.shape[1 + axis]
            logs = np.where(possible.reshape(wide), logs, -np.inf)
    return factor._replace(logs=logs)
