"""Rows with categorical and continuous variables, grouped by what is known, and the factors of their observed values.

Rows are grouped in **patterns**: the same cells known. Then the components of the continuous part are the same for all
of them, each is solved once for the configurations of its categories that occur in any row, and its factor over the
categories that the pattern leaves unknown,

    ln φ_c(row, h) = ln p(observed values of the row | known categories of the row, h),

is computed for all rows at once.

Where hardly two rows know the same cells that would be one pattern per row. So patterns of few rows are merged if the
same continuous variables are known: a category that only some of their rows know is treated as unknown, and in the rows
that know it the factor leaves only the known state possible. That costs some more configurations, and saves many
patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.threads import row_pieces
from tunbridge.counts.radix import configuration_codes, number_configurations
from tunbridge.inference.engine import Engine, Scope
from tunbridge.inference.evidence import Rows
from tunbridge.inference.hybrid.components import WAYS_OUT, Component, Solution, check_solution, solve_some
from tunbridge.inference.hybrid.evidence import LogFactor

PIECE_CELLS = 2**22
"""The cells that are processed at a time."""

_FEW_ROWS = 64  # patterns of fewer rows are merged,
_LOOSE = 128  # as far as the categories that are treated as unknown have no more configurations together,
_MOST_ROWS = 2**10  # and never more rows than these


# Patterns


@dataclass(frozen=True)
class Pattern:
    """Rows in which the same continuous variables are known, and at least the same categories.

    Parameters
    ----------
    rows : ndarray of int
        Which rows.
    known : frozenset of int
        The categories that all of them know.
    observed : frozenset of int
        The continuous variables that are known.
    """

    rows: np.ndarray
    known: frozenset[int]
    observed: frozenset[int]


def patterns(
    engine: Engine, rows: Rows, *, wanted: Sequence[int] = (), scopes: Iterable[Scope] = ()
) -> Iterator[Pattern]:
    """Yield the rows of each pattern.

    Parameters
    ----------
    engine, rows
        The network and the rows.
    wanted : sequence of int
        Continuous variables whose moments will be needed.
    scopes : iterable of tuple of int
        Categories whose joint posteriors will be needed.
    """
    known, asked = rows.codes >= 0, list(scopes)
    few: dict[frozenset[int], list[np.ndarray]] = {}
    for some in _alike(np.concatenate([known, ~np.isnan(rows.values)])):
        observed = frozenset(v for v in engine.part.numbers if not np.isnan(rows.numbers(v)[some[0]]))
        if len(some) < _FEW_ROWS:
            few.setdefault(observed, []).append(some)
            continue
        theirs = _in_all(known[:, some])
        unknown = [[d for d in scope if d not in theirs] for scope in (*asked, *_scopes(engine, observed, wanted))]
        widest = max((n_configurations(engine, scope) for scope in unknown), default=1)
        for start, stop in row_pieces(len(some), max(_FEW_ROWS, PIECE_CELLS // widest)):
            yield Pattern(some[start:stop], theirs, observed)
    for observed, parts in few.items():
        together = np.sort(np.concatenate(parts))
        wide = (s for s in (*asked, *_scopes(engine, observed, wanted)) if n_configurations(engine, s) > _LOOSE)
        tight = sorted({d for scope in wide for d in scope})
        for some in _alike(known[:, together][tight]):
            for start, stop in row_pieces(len(some), _MOST_ROWS):
                piece = together[some[start:stop]]
                yield Pattern(piece, _in_all(known[:, piece]), observed)


def _scopes(engine: Engine, observed: frozenset[int], wanted: Sequence[int]) -> list[Scope]:
    """Return the categories behind each component that matters."""
    return [c.scope for c in (*engine.part.cut(observed), *engine.part.components_of(observed, wanted).values())]


def n_configurations(engine: Engine, scope: Iterable[int]) -> int:
    """Return how many configurations some categories have."""
    return math.prod(engine.n_states[list(scope)].tolist())


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
        The categories that are treated as unknown, of h configurations.
    at : ndarray of shape (n, h), or (1, h)
        The numbers of each row's configurations; the same for all rows where no category is known.
    """

    scope: Scope
    at: np.ndarray


@dataclass
class Occurring:
    """The configurations of components that occur in rows: those that a component has to be solved for.

    First all patterns are placed; then the distinct configurations are numbered.
    """

    engine: Engine
    _codes: dict[Component, list[np.ndarray]] = field(default_factory=dict)
    _sizes: dict[Component, int] = field(default_factory=dict)
    _found: dict[Component, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def place(self, component: Component, pattern: Pattern, rows: Rows) -> Places:
        """Return the configurations of the rows of a pattern, among all that were placed so far."""
        scope = component.scope
        unknown = tuple(d for d in scope if d not in pattern.known)
        known = [d for d in scope if d in pattern.known]
        of, first = np.zeros(1, np.int64), np.zeros(1, np.int64)
        if known:
            columns = [rows.codes[d, pattern.rows] for d in known]
            of, first = number_configurations(columns, [int(self.engine.n_states[d]) for d in known])
        shape = [int(self.engine.n_states[d]) for d in unknown]
        h = math.prod(shape)
        check_solution(self.engine.part, component, component.scope, float(len(first)) * h)
        what = f"{len(pattern.rows)} rows in the {h:.3g} configurations of {self.engine.part.names(component.scope)}"
        check_memory(what, 24.0 * len(pattern.rows) * h, ways_out=WAYS_OUT)
        own = dict(zip(unknown, configuration_codes(np.arange(h), shape).T, strict=True))
        theirs = {d: rows.codes[d, pattern.rows[first]] for d in known}
        codes = [np.repeat(theirs[d], h) if d in theirs else np.tile(own[d], len(first)) for d in scope]
        start, n = self._sizes.get(component, 0), len(first) * h
        self._codes.setdefault(component, []).append(np.array(codes, np.int32).reshape(len(scope), n))
        self._sizes[component] = start + n
        return Places(unknown, start + of[:, None] * h + np.arange(h))

    def numbered(self, component: Component, places: Places) -> Places:
        """Return places among the distinct configurations."""
        return places._replace(at=self._distinct(component)[0][places.at])

    def solved(self, engine: Engine, component: Component) -> Solution:
        """Return a component of a network of this structure, solved for the configurations that occur."""
        return solve_some(engine.part, component, self._distinct(component)[1])

    def _distinct(self, component: Component) -> tuple[np.ndarray, np.ndarray]:
        """Return the rank of every configuration that was placed, and the distinct ones, a row each."""
        if component not in self._found:
            codes = np.concatenate(self._codes.pop(component), axis=1)
            ranks, first = np.zeros(codes.shape[1], np.int64), np.zeros(1, np.int64)
            if component.scope:
                ranks, first = number_configurations(list(codes), self.engine.part.shape(component.scope))
            self._found[component] = ranks, codes[:, first].T
        return self._found[component]


# Factors


def design(component: Component, pattern: Pattern, rows: Rows) -> np.ndarray:
    """Return (1, observed values) of a component for each row of a pattern: shape (n, 1 + k)."""
    z = np.ones((len(pattern.rows), 1 + len(component.observed)))
    for i, v in enumerate(component.observed):
        z[:, 1 + i] = rows.numbers(v)[pattern.rows]
    return z


def log_factor(engine: Engine, solution: Solution, where: Places, pattern: Pattern, rows: Rows) -> LogFactor:
    """Return the factor of a component over the unknown categories, for each row of a pattern."""
    z, n = design(solution.component, pattern, rows), len(pattern.rows)
    shape = [int(engine.n_states[d]) for d in where.scope]
    size = max(1, solution.residuals[0].size * where.at.shape[1])
    logs = np.empty((n, where.at.shape[1]))
    for start, stop in row_pieces(n, max(1, PIECE_CELLS // size)):
        part = slice(start, stop)
        logs[part] = solution.log_density_at(z[part], where.at if len(where.at) == 1 else where.at[part])
    return _as_known(LogFactor(where.scope, logs.reshape(n, *shape)), rows.codes[:, pattern.rows])


def _as_known(factor: LogFactor, codes: np.ndarray) -> LogFactor:
    """Return a factor without the states that rows exclude."""
    logs = factor.logs
    for axis, d in enumerate(factor.scope):
        if (codes[d] >= 0).any():
            possible = (codes[d, :, None] < 0) | (codes[d, :, None] == np.arange(logs.shape[1 + axis]))
            wide = [len(logs), *(1,) * len(factor.scope)]
            wide[1 + axis] = logs.shape[1 + axis]
            logs = np.where(possible.reshape(wide), logs, -np.inf)
    return factor._replace(logs=logs)


class Solver:
    """The components of patterns, each solved once for the configurations that occur in any of them.

    Parameters
    ----------
    engine, rows
        The network and the rows.
    patterns : iterable of Pattern
        The rows by pattern.
    targets : sequence of int
        Continuous variables whose moments are needed where they are not observed.
    """

    def __init__(self, engine: Engine, rows: Rows, patterns: Iterable[Pattern], targets: Sequence[int] = ()) -> None:
        self.engine, self.rows, self.patterns, self.targets = engine, rows, list(patterns), targets
        self._occurring = Occurring(engine)
        self._places: dict[tuple[int, Component], Places] = {}
        self._solved: dict[Component, Solution] = {}
        for pattern in self.patterns:
            for component in dict.fromkeys((*engine.part.cut(pattern.observed), *self.asked(pattern))):
                self._places[id(pattern), component] = self._occurring.place(component, pattern, rows)

    def asked(self, pattern: Pattern) -> dict[Component, list[int]]:
        """Return the components that determine the targets that a pattern does not know, with these targets."""
        found: dict[Component, list[int]] = {}
        for v, component in self.engine.part.components_of(pattern.observed, self.targets).items():
            found.setdefault(component, []).append(v)
        return found

    def solution(self, pattern: Pattern, component: Component) -> tuple[Solution, Places]:
        """Return a solved component, and the configurations of the rows of a pattern."""
        if component not in self._solved:
            self._solved[component] = self._occurring.solved(self.engine, component)
        return self._solved[component], self._occurring.numbered(component, self._places[id(pattern), component])

    def factors(self, pattern: Pattern) -> list[LogFactor]:
        """Return the factors of the observed values of a pattern's rows over their unknown categories."""
        solved = [self.solution(pattern, c) for c in self.engine.part.cut(pattern.observed)]
        return [log_factor(self.engine, solution, where, pattern, self.rows) for solution, where in solved]
