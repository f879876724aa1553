"""The model of a class somewhere in a network of categories and numbers.

Of all that a network says of a row only the families with the class in them depend on the class:

    P(c | x)  ∝  P(c | parents of c) · Π over children f of c:  p(x_f | c, other parents of f).

The features in these families are the *Markov blanket* of the class. A row that shows them takes one look into a table
for each family of categories, and for each number one regression

    log N(x; a + b·y, s²) = −½ log 2πs² − (x − a − b·y)² / 2s²,     a, b, s² by class and configuration,

whatever the other features are. Children that are missing with all that is below them say nothing, and are left
out. In the other rows something has to be summed or integrated out: they are answered exactly by the network's engine
(:mod:`tunbridge.inference`).

**Importance.** With numbers that depend on numbers there is no closed form for I(X; C | parents). The network is
sampled, and asked for the posterior of each row with and without the feature:

    I(X; C | U) = E[Σ_c P(c | u, x) log P(c | u, x)/P(c | u)],

and the expected weight of evidence is the same with log-odds instead of logarithms. Only the rows are random, not the
classes within them, so that a few thousand suffice. The sample is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import Finish, log_posterior
from tunbridge.classifiers._statistics import ALL_ROWS, Encoding, Statistics, Structure, parents_first
from tunbridge.classifiers.explanation.contributions import Given, Ranges, TableModel, terms_in_order
from tunbridge.classifiers.explanation.importance import mean_gain
from tunbridge.data import Table
from tunbridge.inference import Engine, batches
from tunbridge.inference.evidence import Rows
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable, LinearGaussian

_PIECE_ROWS = 8192
_SAMPLE_ROWS = 2000
_TAIL = 0.025

_Values = Mapping[int, np.ndarray]
"""The numbers of each node that is a number."""

_Answer = Callable[[np.ndarray, _Values], np.ndarray]


class _Lookup(NamedTuple):
    """A table of categories with the class in it, laid out for many rows at once.

    Attributes
    ----------
    members, strides : tuples of int
        The nodes of the family but for the class, and what a code of each adds to the number of the configuration.
    logs : ndarray of shape (n_configurations, n_classes)
        The logarithms of the table.
    """

    members: tuple[int, ...]
    strides: tuple[int, ...]
    logs: np.ndarray

    def log_densities(self, codes: np.ndarray, values: _Values) -> np.ndarray:
        """Return the logarithms for every row and class, (n_rows, n_classes)."""
        return self.logs[_configurations(codes, self.members, self.strides)]


class _Regression(NamedTuple):
    """The table of a number with the class as a parent, laid out for many rows at once.

    Attributes
    ----------
    members : tuple of int
        The number, and its parents but for the class.
    categories, strides : tuples of int
        Its other categorical parents, and what a code of each adds to the number of their configuration.
    numbers : tuple of int
        Its parents that are numbers.
    intercepts, constants, scales : ndarray of shape (n_configurations, n_classes)
        a, −½ log 2πs², and 1 / s.
    slopes : ndarray of shape (n_numbers, n_configurations, n_classes)
        b.
    """

    members: tuple[int, ...]
    categories: tuple[int, ...]
    strides: tuple[int, ...]
    numbers: tuple[int, ...]
    intercepts: np.ndarray
    constants: np.ndarray
    scales: np.ndarray
    slopes: np.ndarray

    def log_densities(self, codes: np.ndarray, values: _Values) -> np.ndarray:
        """Return log N(x; a + b·y, s²) for every row and class, (n_rows, n_classes)."""
        at = _configurations(codes, self.categories, self.strides)
        with np.errstate(over="ignore", invalid="ignore"):
            away = values[self.members[0]][:, None] - self.intercepts[at]
            for node, slopes in zip(self.numbers, self.slopes, strict=True):
                away -= values[node][:, None] * slopes[at]
            away *= self.scales[at]
            logs = self.constants[at] - 0.5 * away * away
        return np.where(np.isnan(logs), -np.inf, logs)  # numbers that overflow


def _seen(codes: np.ndarray, values: _Values) -> np.ndarray:
    """Return which cells are not missing, (n_nodes, n_rows)."""
    seen = codes >= 0
    for node, column in values.items():
        seen[node] = ~np.isnan(column)
    return seen


def _configurations(codes: np.ndarray, nodes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    at = np.zeros(codes.shape[1], np.intp)
    for node, stride in zip(nodes, strides, strict=True):
        at += stride * codes[node]
    return at


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return what a step along each axis adds to the number of a cell, the last axis fastest."""
    return tuple(np.cumprod([1, *sizes[:0:-1]])[::-1].tolist()) if sizes else ()


@dataclass(frozen=True, eq=False)
class NetworkModel(TableModel):
    """A class in a network.

    Parameters
    ----------
    encoding : Encoding
        How features become codes or numbers.
    structure : tuple
        The parents of each node; node 0 is the class, node j + 1 feature j; None: not used.
    tables : mapping of int to ConditionalTable
        The table of each node that is used, in the order of the nodes.
    log_prior : ndarray of shape (n_classes,), optional
        log P′(c), where the classes are more or less common than the network has it: P(c | x) times P′(c) / P(c).
    """

    encoding: Encoding
    structure: Structure
    tables: Mapping[int, ConditionalTable]
    log_prior: np.ndarray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return NetworkModel, (self.encoding, self.structure, dict(self.tables), self.log_prior)  # engines stay behind

    # Answers

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes), up to a constant of the row.

        Where every feature depends on the class the constant is 0.
        """
        return self._by_pieces(rows, lambda codes, values: finish(self.log_joint_of(codes, values).T).T, n_jobs)

    def exact_joint(self, rows: Table, n_jobs: int | None = None) -> np.ndarray:
        """Return log P(x, c) for each row, (n_rows, n_classes), with what the features say about each other."""
        return self._by_pieces(rows, lambda codes, values: self._answered(codes, values) + self._shift, n_jobs)

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds to log P(x, c), those of the blanket first, (n_features, n_classes, n_rows).

        Up to a constant of the row: what a feature says about other features is left out.
        """
        codes, values = self.values_of(rows)

        def joint(which: np.ndarray, known: np.ndarray) -> np.ndarray:
            some = np.where(np.concatenate([np.zeros_like(known[:1]), known]), codes[:, which], np.int32(-1))
            return self.log_joint_of(some, {i: np.where(known[i - 1], v[which], np.nan) for i, v in values.items()})

        return terms_in_order(_seen(codes, values)[1:], [i - 1 for i in self._telling], joint)

    def conditions(self, rows: Table) -> list[Given]:
        """Return for each row what the term of each feature is conditional on: features before it."""
        place = {i: n for n, i in enumerate(self._telling)}
        given: Given = [()] * (len(self.structure) - 1)
        for i in self._telling:
            above = self.structure[0] or ()
            family = self.structure[i] or () if i in self.children else above if i in above else ()
            given[i - 1] = tuple(p - 1 for p in family if p and place[p] < place[i])
        return [given] * rows.n_rows

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class beside its parents, in a sample of the network."""
        codes, values = self._sample()

        def posterior(nodes: list[int]) -> np.ndarray:
            """Return log P(c | the values of some nodes), class × row."""
            seen = np.full_like(codes, -1)
            seen[nodes] = codes[nodes]
            known = {i: v if i in nodes else np.full_like(v, np.nan) for i, v in values.items()}
            return log_posterior(self.log_joint_of(seen, known).T)

        above = {j: [u + 1 for u in p] for j, p in enumerate(self.parents) if p is not None}
        return {j: mean_gain(posterior(p), posterior([*p, j + 1]), method) for j, p in above.items()}

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values nearly all of each number lie, in a sample of the network."""
        values = self._sample()[1] if self.encoding.numbers else {}
        ends = {i - 1: np.quantile(v, [_TAIL, 1 - _TAIL]).tolist() for i, v in values.items()}
        return {j: (low, high) for j, (low, high) in ends.items() if low < high}

    def _sample(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Return the codes of all nodes, the class unknown, and the numbers, of a sample that is always the same."""
        table = BayesianNetwork.from_tables(self.tables.values()).sample(_SAMPLE_ROWS, random_state=0)
        codes, values = np.full((len(self.structure), _SAMPLE_ROWS), -1, np.int32), {}
        for i, known in self.tables.items():
            if known.variable.is_continuous:
                values[i] = table.floats(known.variable.name)
            elif i:
                codes[i] = table.codes(known.variable.name)
        return codes, values

    def values_of(self, rows: Table, piece: slice = ALL_ROWS) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Return the codes of all nodes, −1 for the class and for numbers, and the numbers, by node."""
        codes = self.encoding.codes(rows, piece)
        codes = np.concatenate([np.full((1, codes.shape[1]), -1, codes.dtype), codes])
        return codes, {j + 1: self.encoding.column(rows, j, piece) for j in self.encoding.numbers}

    def _by_pieces(self, rows: Table, answer: _Answer, n_jobs: int | None) -> np.ndarray:
        out = np.empty((rows.n_rows, self.n_classes))

        def fill(piece: tuple[int, int]) -> None:
            out[piece[0] : piece[1]] = answer(*self.values_of(rows, slice(*piece)))

        map_threads(fill, row_pieces(rows.n_rows, _PIECE_ROWS, self.n_classes), n_jobs)
        return out

    def log_joint_of(self, codes: np.ndarray, values: _Values) -> np.ndarray:
        """Return log P(x, c) of rows given by node, (n_rows, n_classes), up to a constant of the row."""
        seen = _seen(codes, values)
        out = np.repeat(self._start[None], codes.shape[1], axis=0)
        for family in self._families:
            whole = seen[list(family.members)].all(axis=0)
            if whole.all():
                out += family.log_densities(codes, values)
            elif whole.any():
                out[whole] += family.log_densities(codes[:, whole], {i: v[whole] for i, v in values.items()})
        hidden = self._hidden(seen)
        if hidden.any():
            out[hidden] = self._answered(codes[:, hidden], {i: v[hidden] for i, v in values.items()})
        return out + self._shift

    def _hidden(self, seen: np.ndarray) -> np.ndarray:
        """Return the rows in which something has to be summed out."""
        out: np.ndarray = np.logical_not(seen[list(self.structure[0] or ())].all(axis=0))
        known = seen.copy()  # what is seen itself, or has something below it that is
        for i in reversed(self._order):
            for p in self.structure[i] or ():
                known[p] |= known[i]
        for child in self.children:
            others = [p for p in self.structure[child] or () if p]
            out |= seen[child] & ~seen[others].all(axis=0)
            out |= known[child] & ~seen[child]
        return out

    def _answered(self, codes: np.ndarray, values: _Values) -> np.ndarray:
        """Return log P(x) + log P(c | x) of rows, as the network's engine finds them."""
        numbers = [i for i, table in self.tables.items() if table.variable.is_continuous]
        known, unknown = codes[[i for i in self.tables if i not in numbers]], np.full(codes.shape[1], np.nan)
        if numbers:
            known = known.astype(np.int64)
        rows = Rows(known, np.array([values.get(i, unknown) for i in numbers]))
        found = batches.answer(self._engine, rows, [0], n_jobs=1)
        log_evidence, marginals = found.log_evidence, found.marginals
        with np.errstate(divide="ignore"):
            joint = log_evidence[:, None] + np.log(np.nan_to_num(marginals))
        return np.where(np.isneginf(log_evidence)[:, None], -np.inf, joint)

    # What the structure says

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.tables[0].variable.n_states

    @property
    def parents(self) -> Structure:  # type: ignore[override]
        """For each feature the features it depends on; None: it is not used."""
        return tuple(None if p is None else tuple(u - 1 for u in p if u) for p in self.structure[1:])

    @cached_property
    def children(self) -> tuple[int, ...]:
        """The nodes that have the class as a parent."""
        return tuple(i for i in self.tables if 0 in (self.structure[i] or ()))

    @cached_property
    def blanket(self) -> frozenset[int]:
        """The class's parents, its children, and their other parents."""
        beside = {p for i in self.children for p in self.structure[i] or ()}
        return frozenset({*(self.structure[0] or ()), *self.children, *beside} - {0})

    @cached_property
    def class_probabilities(self) -> np.ndarray:
        """P(c) in the network, before anything is seen."""
        if not self.structure[0]:
            return np.asarray(self.tables[0].table())
        return np.exp(self._answered(np.full((len(self.structure), 1), -1, np.int32), {}))[0]

    @cached_property
    def _order(self) -> list[int]:
        """The nodes that are used, parents before children."""
        return parents_first(self.structure)

    @cached_property
    def _telling(self) -> list[int]:
        """The nodes that are used but for the class, those of the blanket first, else parents before children."""
        return sorted((i for i in self._order if i), key=lambda i: i not in self.blanket)

    # What is laid out once

    @cached_property
    def _engine(self) -> Engine:
        tables = list(self.tables.values())
        return Engine(tables)

    @cached_property
    def _start(self) -> np.ndarray:
        """The logarithm of P(c) where the class has no parents; else it is looked up."""
        with np.errstate(divide="ignore"):
            return np.zeros(self.n_classes) if self.structure[0] else np.log(self.tables[0].table())

    @cached_property
    def _shift(self) -> np.ndarray:
        """What is added for another prior, log P′(c) − log P(c); 0 for classes that are impossible, which stay so."""
        if self.log_prior is None:
            return np.zeros(self.n_classes)
        learned = self.class_probabilities
        return np.where(learned > 0.0, self.log_prior - np.log(np.where(learned > 0.0, learned, 1.0)), 0.0)

    @cached_property
    def _families(self) -> list[_Lookup | _Regression]:
        """The families with the class in them."""
        with_class = [0, *self.children] if self.structure[0] else self.children
        return [self._family(i, self.tables[i]) for i in with_class]

    def _family(self, node: int, table: ConditionalTable) -> _Lookup | _Regression:
        parents = self.structure[node] or ()
        if isinstance(table, LinearGaussian):
            return self._regression(node, parents, table)
        members, array = [*parents, node], table.table()
        array = np.moveaxis(array, members.index(0), -1)
        members.remove(0)
        with np.errstate(divide="ignore"):
            logs = np.log(array.reshape(-1, self.n_classes))
        return _Lookup(tuple(members), _strides(array.shape[:-1]), logs)

    def _regression(self, node: int, parents: tuple[int, ...], table: LinearGaussian) -> _Regression:
        categories = [p for p, v in zip(parents, table.parents, strict=True) if v.is_categorical]
        axis, k = categories.index(0), len(table.continuous_parents)

        def by_class(array: np.ndarray) -> np.ndarray:
            return np.ascontiguousarray(np.moveaxis(array, axis, -1).reshape(-1, self.n_classes))

        deviations = np.sqrt(by_class(table.variances))
        slopes = [by_class(table.coefficients[..., i]) for i in range(k)]
        categories.remove(0)
        numbers = tuple(p for p, v in zip(parents, table.parents, strict=True) if v.is_continuous)
        return _Regression(
            (node, *categories, *numbers), tuple(categories),
            _strides([n for i, n in enumerate(table.shape) if i != axis]), numbers, by_class(table.intercepts),
            -0.5 * np.log(2.0 * np.pi) - np.log(deviations), 1.0 / deviations, np.array(slopes),
        )  # fmt: skip
