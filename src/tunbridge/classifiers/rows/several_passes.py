"""Rows that are read several times, batch by batch, because they need not fit into memory.

The first reading finds what a single batch cannot know: all states, all classes, which columns have missing cells, and
where numbers are to be cut. For the cuts a sample is drawn evenly from all rows: each row gets a random number, always
the same for the same place, and those with the smallest are kept; where there are no more rows than that, all are. From
then on every reading gives the same codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge.classifiers.rows.batch import Batch, known_batch, learn_batch
from tunbridge.classifiers.rows.batch_sources import Batches
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.classifiers.rows.target import encode_target, series_name, sorted_labels, split_target
from tunbridge.counts import Counter, PairCounts
from tunbridge.counts.states import merge_states
from tunbridge.data import Table, Variable, mdl_cuts
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError

SAMPLE_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Seen:
    """What the first reading tells.

    Parameters
    ----------
    coding : Coding
        How features become codes.
    target : Variable
        The class variable.
    target_name : str or None
        The name under which the class was given.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    holes : frozenset of int
        The features that have missing cells.
    tables : callable
        Gives the rows as tables of codes, the class first, batch by batch.
    """

    coding: Coding
    target: Variable
    target_name: str | None
    class_weight: np.ndarray
    holes: frozenset[int]
    tables: Callable[[], Iterator[Table]]


def look(
    estimator: Any, batches: Batches, *, categorical: Any, missing: str, sample_rows: int, n_jobs: int | None
) -> Seen:
    """Read all rows once for what has to be known before they are counted."""
    found, sample, n_rows = _Found(), _Sample(sample_rows), 0
    for given in batches():
        X, y, given_weights, found.target_name = split_target(*given, found.target_name)
        known = found.variables or None
        batch = learn_batch(estimator, X, categorical=categorical, known=known, n_jobs=n_jobs)
        target, codes = encode_target(y, None, "class", batch.n_rows)
        weights = None if given_weights is None else check_weights(np.asarray(given_weights), batch.n_rows)
        if not n_rows and found.target_name is None:
            found.target_name = series_name(y, batch.variables)
        sample.add(batch, found.add(batch, target, codes, weights), weights)
        n_rows += batch.n_rows
    if not n_rows:
        raise DataError("source must give at least one batch of rows; got none.")
    target = Variable(found.target_name or "class", sorted_labels(found.labels))
    coding = Coding(found.sorted_variables(), sample.cuts(found.variables, np.array(found.places(target))))
    if missing == "state":
        coding = replace(coding, gaps=frozenset(found.holes))
    holes = frozenset(found.holes - coding.gaps)

    def tables() -> Iterator[Table]:
        return _tables(estimator, batches, coding, target, found.target_name, n_rows, n_jobs)

    return Seen(coding, target, found.target_name, found.class_weight(target), holes, tables)


def sum_pairs(seen: Seen, n_jobs: int | None) -> PairCounts:
    """Return the counts of all pairs of features within the classes."""
    given, total = seen.coding.class_variable(seen.target), None
    for table in seen.tables():
        counts = Counter(table, n_jobs=n_jobs).pairs_within(given.name)
        total = counts if total is None else replace(counts, matrix=total.matrix + counts.matrix)
    assert total is not None  # the first reading found rows
    return total


def _tables(
    estimator: Any,
    batches: Batches,
    coding: Coding,
    target: Variable,
    name: str | None,
    n_rows: int,
    n_jobs: int | None,
) -> Iterator[Table]:
    """Yield the rows as tables of codes; raise where they are not those of the first reading."""
    read = 0
    for given in batches():
        X, y, weights, _ = split_target(*given, name)
        batch = known_batch(estimator, X, coding.variables, n_jobs)
        same, codes = encode_target(y, target.states, target.name, batch.n_rows)
        read += batch.n_rows
        new = [state for state in same.states or () if state not in (target.states or ())]
        if new:
            raise DataError(f"source must give the same classes each time it is read; {listed(new)} is new.")
        weights = None if weights is None else check_weights(np.asarray(weights), batch.n_rows)
        yield coding.table(batch, codes, target, weights)
    if read != n_rows:
        raise DataError(
            f"source must give the same rows each time it is read; it had {n_rows}, then {read}. A generator can be "
            "read only once: give the function that makes it."
        )


# What is gathered on the first reading


@dataclass
class _Found:
    """Variables, classes and their weights, so far; classes in the order of their appearance."""

    variables: tuple[Variable, ...] = ()
    labels: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    holes: set[int] = field(default_factory=set)
    unsorted: set[int] = field(default_factory=set)
    target_name: str | None = None

    def add(self, batch: Batch, target: Variable, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Take note of a batch; return its classes as places among the labels."""
        known = self.variables or batch.variables
        self.variables = tuple(merge_states(a, b) for a, b in zip(known, batch.variables, strict=True))
        self.holes.update(j for j, c in batch.codes.items() if (c < 0).any())
        self.holes.update(j for j, i in batch.numeric.items() if np.isnan(batch.number_column(i)).any())
        self.unsorted.update(j for j, v in enumerate(batch.variables) if not _is_sorted(v.states or ()))
        states = target.states or ()
        self.labels += [s for s in states if s not in self.labels]
        self.weights += [0.0] * (len(self.labels) - len(self.weights))
        places = np.array([self.labels.index(s) for s in states])
        for place, weight in zip(places, np.bincount(codes, weights, minlength=len(states)), strict=True):
            self.weights[place] += float(weight)
        return places[codes]

    def sorted_variables(self) -> tuple[Variable, ...]:
        """Return the variables with sorted states where those of every batch were: the order of rows is no matter."""
        return tuple(v if j in self.unsorted else _sorted(v) for j, v in enumerate(self.variables))

    def places(self, target: Variable) -> list[int]:
        """Return the code of each label, in the order of their appearance."""
        return [target.code(label) for label in self.labels]

    def class_weight(self, target: Variable) -> np.ndarray:
        """Return the weight of each class."""
        out = np.zeros(target.n_states)
        out[self.places(target)] = self.weights
        return out


def _is_sorted(states: Sequence[Any]) -> bool:
    try:
        return all(a < b for a, b in pairwise(states))
    except TypeError:
        return False


def _sorted(variable: Variable) -> Variable:
    if variable.is_continuous or _is_sorted(variable.states or ()):
        return variable
    try:
        return Variable(variable.name, sorted(variable.states or ()))  # type: ignore[type-var]
    except TypeError:  # numbers in one batch, text in another
        return variable


@dataclass
class _Sample:
    """Rows of the numeric columns, drawn evenly from all of them."""

    size: int
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    n_held: int = 0
    weighted: bool = False

    def add(self, batch: Batch, places: np.ndarray, weights: np.ndarray | None) -> None:
        """Take rows in; most of them leave again when more have come than are wanted."""
        if not batch.numeric:
            return
        held = 2.0 * self.size + batch.n_rows
        check_memory("the sample", 8.0 * len(batch.numeric) * held, ways_out="Use a smaller sample_rows.")
        self.weighted = self.weighted or weights is not None
        numbers = np.array([batch.number_column(i) for i in batch.numeric.values()])
        of_rows = np.ones(batch.n_rows) if weights is None else weights
        self.parts.append((self.random.random(batch.n_rows), places, of_rows, numbers))
        self.n_held += batch.n_rows
        if self.n_held > 2 * self.size:
            self._thin_out()

    def _thin_out(self) -> None:
        keys, *rest = (np.concatenate(arrays, axis=-1) for arrays in zip(*self.parts, strict=True))
        kept = np.sort(np.argpartition(keys, self.size)[: self.size]) if len(keys) > self.size else np.arange(len(keys))
        places, weights, numbers = (a[..., kept] for a in rest)
        self.parts, self.n_held = [(keys[kept], places, weights, numbers)], len(kept)

    def cuts(self, variables: Sequence[Variable], codes: np.ndarray) -> dict[int, Any]:
        """Return how each numeric column is cut, given the code of each class."""
        numeric = [j for j, v in enumerate(variables) if v.is_continuous]
        if not numeric:
            return {}
        self._thin_out()
        (_, places, weights, numbers), *_ = self.parts
        of_rows = weights if self.weighted else None
        return {j: mdl_cuts(column, codes[places], of_rows) for j, column in zip(numeric, numbers, strict=True)}
