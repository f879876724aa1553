"""Expected counts and moments of rows with missing values, in a network with continuous variables.

For the family of a category they are the expected counts of its cells, n_jk = Σ_rows w P(j, k | row). For the family of
a number, given configuration j of its categorical parents, they are the moments that a regression is made of, each row
being spread over what its known cells leave possible: with weights P(d | row), and the mean m_d and covariance V_d of
the family's numbers in configuration d of the categories that matter,

    n_j = Σ w P(d | row),    μ_j = Σ w P(d | row) m_d / n_j,    S_j = Σ w P(d | row) [(m_d − μ_j)(m_d − μ_j)ᵀ + V_d],

summed over the rows and the configurations d that agree with j. These are the expected sufficient statistics of EM
(Lauritzen 1995). Families of barren variables (unknown, with nothing known below) are left out.

References
----------
S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics &
Data Analysis 19, 191–201.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tunbridge._core.threads import row_pieces
from tunbridge.counts.moments import CrossMoments, cross_moments
from tunbridge.counts.radix import configuration_codes, configuration_numbers
from tunbridge.graph.walks import topological_order
from tunbridge.inference.engine import Engine, Scope
from tunbridge.inference.evidence import Rows
from tunbridge.inference.hybrid.batches import Question, answer
from tunbridge.inference.hybrid.components import Component, Solution
from tunbridge.inference.hybrid.rows import Occurring, Pattern, Places, design, log_factor, patterns

_PIECE = 2**20  # values that are processed at a time


@dataclass(frozen=True, eq=False)
class ExpectedStatistics:
    """Expected statistics of rows with missing values.

    Attributes
    ----------
    counts : dict of int to ndarray
        For each categorical variable, by its place among the engine's ``cpts``, the expected count of each cell of its
        table; 0 where no row is informative.
    moments : dict of int to CrossMoments
        For each continuous variable, by its place, those of its continuous parents and itself, for each configuration
        of its categorical parents.
    log_likelihood : float
        Σ w ln p(row), −∞ when some row is impossible; impossible rows are counted nowhere.
    """

    counts: dict[int, np.ndarray]
    moments: dict[int, CrossMoments]
    log_likelihood: float


class _Family(NamedTuple):
    """The cells of a category's table that the rows of a pattern may be in.

    Parameters
    ----------
    scope : tuple of int
        The members of the family that are taken for unknown, in ascending order.
    rows : ndarray of bool
        Which of the pattern's rows count.
    first, offsets : ndarray of int
        The first cell of each of these rows, and what the configurations of the scope add to it.
    """

    scope: Scope
    rows: np.ndarray
    first: np.ndarray
    offsets: np.ndarray


class _Work(NamedTuple):
    """What a pattern needs that does not depend on the tables."""

    pattern: Pattern
    components: list[Component]
    places: list[Places]
    designs: list[np.ndarray]
    families: dict[int, _Family]
    scopes: list[Scope]


class IncompleteMixedRows:
    """Rows prepared for expected statistics under many settings of the tables.

    Parameters
    ----------
    engine : Engine
        The network; only its structure is looked at.
    rows : Rows
        The rows.
    weights : ndarray, optional
        The weight of each row.
    """

    def __init__(self, engine: Engine, rows: Rows, weights: np.ndarray | None = None) -> None:
        self.rows = rows
        self.weights = np.ones(rows.n_rows) if weights is None else np.asarray(weights, np.float64)
        families = [tuple(sorted((*parents, v))) for v, parents in enumerate(engine.parents)]
        self._occurring = Occurring(engine)
        works = [self._prepared(engine, pattern) for pattern in patterns(engine, rows, scopes=families)]
        self._work = [work._replace(places=self._numbered(work)) for work in works]

    def _numbered(self, work: _Work) -> list[Places]:
        return [self._occurring.numbered(c, where) for c, where in zip(work.components, work.places, strict=True)]

    def _prepared(self, engine: Engine, pattern: Pattern) -> _Work:
        components = engine.part.cut(pattern.observed)
        where = [self._occurring.place(c, pattern, self.rows) for c in components]
        counted = self._counted(engine, pattern, {d for c in components for d in c.scope})
        families = {v: self._family(engine, v, pattern, rows) for v, rows in enumerate(counted) if rows.any()}
        scopes = {w.scope for w in where} | {family.scope for family in families.values()}
        return _Work(
            pattern, components, where, [design(c, pattern, self.rows) for c in components], families,
            sorted(scope for scope in scopes if scope),
        )  # fmt: skip

    def _counted(self, engine: Engine, pattern: Pattern, touched: set[int]) -> np.ndarray:
        """Return for each category in which rows of a pattern its family counts: where it, or one below, is known."""
        marks = self.rows.codes[:, pattern.rows] >= 0
        marks[sorted(touched)] = True
        for v in reversed(topological_order(engine.parents, engine.children)):
            for p in engine.parents[v]:
                marks[p] |= marks[v]
        return marks

    def _family(self, engine: Engine, v: int, pattern: Pattern, counted: np.ndarray) -> _Family:
        """Return where the cells of a family are that rows of a pattern may be in."""
        members = [*engine.parents[v], v]
        sizes = [int(engine.n_states[u]) for u in members]
        fixed = [
            self.rows.codes[u, pattern.rows[counted]] if u in pattern.known else np.zeros(counted.sum(), np.int64)
            for u in members
        ]
        scope = tuple(sorted(u for u in members if u not in pattern.known))
        own_sizes = [int(engine.n_states[u]) for u in scope]
        own = configuration_codes(np.arange(math.prod(own_sizes)), own_sizes)
        codes = np.zeros((len(own), len(members)), np.int64)
        for i, u in enumerate(members):
            if u in scope:
                codes[:, i] = own[:, scope.index(u)]
        first, offsets = configuration_numbers(np.array(fixed).T, sizes), configuration_numbers(codes, sizes)
        return _Family(scope, counted, first, offsets)

    def expected(self, engine: Engine, *, n_jobs: int | None = None) -> ExpectedStatistics:
        """Return the expected statistics under the tables of a network of the same structure."""
        counts = [np.zeros(table.shape) for table in engine.tables]
        gathered = {v: _Gatherer(engine, v) for v in engine.part.numbers}
        solved, total = dict[Component, Solution](), 0.0
        for work in self._work:
            for component in work.components:
                if component not in solved:
                    solved[component] = self._occurring.solved(engine, component)
            solutions = [solved[component] for component in work.components]
            placed = zip(solutions, work.places, strict=True)
            factors = [log_factor(engine, solution, where, work.pattern, self.rows) for solution, where in placed]
            found = answer(engine, self.rows, Question(work.pattern, factors, work.scopes), n_jobs)
            weights = self.weights[work.pattern.rows]
            total += float(weights[weights > 0.0] @ found.log_evidence[weights > 0.0])
            weights = np.where(np.isneginf(found.log_evidence), 0.0, weights)
            shares = {s: np.nan_to_num(p) * weights[:, None] for s, p in found.posteriors.items()}
            shares[()] = weights[:, None]
            self._count(engine, work, shares, counts)
            for solution, where, z in zip(solutions, work.places, work.designs, strict=True):
                for v in solution.component.members:
                    gathered[v].add(solution, where.at, z, shares[where.scope])
        moments = {v: whole for v, each in gathered.items() if (whole := each.moments()) is not None}
        place = {v: i for i, name in enumerate(engine.names) for v in [engine.index[name]]}
        return ExpectedStatistics(
            {place[v]: count for v, count in enumerate(counts)}, {place[v]: m for v, m in moments.items()}, total
        )

    def _count(
        self, engine: Engine, work: _Work, shares: Mapping[Scope, np.ndarray], counts: Sequence[np.ndarray]
    ) -> None:
        for v, family in work.families.items():
            out = counts[v]
            cells = (family.first[:, None] + family.offsets).ravel()
            out += np.bincount(cells, shares[family.scope][family.rows].ravel(), out.size).reshape(out.shape)


class _Gatherer:
    """The moments of the family of a number, while they are gathered from many patterns."""

    def __init__(self, engine: Engine, v: int) -> None:
        self.part, self.v, self.numbers = engine.part, v, (*engine.part.causes[v], v)
        self.sizes = engine.part.shape(engine.part.categories[v])
        self.n_groups, k = math.prod(self.sizes), len(self.numbers)
        self._within = np.zeros((self.n_groups, k, k))
        self._lines: dict[Component, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._size = 0
        self._found: CrossMoments | None = None

    def add(self, solution: Solution, at: np.ndarray, z: np.ndarray, shares: np.ndarray) -> None:
        """Add rows z of a component, each in several of its configurations with its shares."""
        lines, covariances, group = self._given(solution)
        h = at.shape[1]
        weights = np.zeros(len(group))
        for start, stop in row_pieces(len(z), max(1, _PIECE // (h * z.shape[1] * len(self.numbers)))):
            part = slice(start, stop)
            own = np.broadcast_to(at if len(at) == 1 else at[part], (stop - start, h))
            columns = np.einsum("nhik,nk->inh", lines[own], z[part]).reshape(len(self.numbers), -1)
            self._wait(columns, group[own].ravel(), shares[part].ravel())
            weights += np.bincount(own.ravel(), shares[part].ravel(), len(group))
        if solution.unknowns:
            some = np.flatnonzero(weights)
            np.add.at(self._within, group[some], weights[some, None, None] * covariances[some])

    def _given(self, solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each configuration of a component, the family's numbers as lines, covariances, and its group."""
        if solution.component not in self._lines:
            k = solution.residuals.shape[2]
            own = np.stack([solution.expressions[u] for u in self.numbers], axis=1)
            spread = own[:, :, k:] @ solution.roots
            places = [solution.scope.index(d) for d in self.part.categories[self.v]]
            group = configuration_numbers(solution.codes[:, places].astype(np.int64), self.sizes)
            lines = own[:, :, :k] + own[:, :, k:] @ solution.means
            self._lines[solution.component] = lines, spread @ spread.transpose(0, 2, 1), group
        return self._lines[solution.component]

    def _wait(self, columns: np.ndarray, groups: np.ndarray, shares: np.ndarray) -> None:
        self._waiting.append((columns, groups, shares))
        self._size += columns.size
        if self._size > _PIECE:
            self._merge()

    def _merge(self) -> None:
        columns, groups, shares = (np.concatenate(each, axis=-1) for each in zip(*self._waiting, strict=True))
        found = cross_moments(columns, groups, self.n_groups, shares)
        self._found = found if self._found is None else self._found + found
        self._waiting, self._size = [], 0

    def moments(self) -> CrossMoments | None:
        """Return what was gathered; None where no row is informative."""
        if self._waiting:
            self._merge()
        if self._found is None:
            return None
        return CrossMoments(self._found.count, self._found.mean, self._found.products + self._within)
