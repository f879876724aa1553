"""Rows that are read several times, batch by batch, because they need not fit into memory.

The first reading finds what a single batch cannot know: all states, all classes, which columns have missing values, and
the bins of numbers. For the bins a sample is drawn evenly from all rows: each row gets a random number, always the same
for the same position, and those with the smallest are kept. From then on every reading gives the same codes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._classes import encode_target, series_name
from tunbridge.classifiers._reading import (
    is_frame,
    is_one_row,
    known_table,
    learn_table,
    numbers_of,
    seen_values,
    split_target,
)
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Encoding, Statistics, numeric_features
from tunbridge.counts import Counter, PairCounts
from tunbridge.data import Discretisation, Table, Variable, mdl_cuts
from tunbridge.data.readers import iter_batches, iter_typed
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError

BATCH_ROWS = 65_536
SAMPLE_ROWS = 100_000

Given = tuple[Any, Any, Any]
"""Features, classes (or the name of their column) and weights of a batch, as users give them."""

Source = str | os.PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]]
"""A file, batches, or a function that gives them."""

Batches = Callable[[], Iterator[Given]]
"""Gives all batches anew."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What the first reading finds.

    Parameters
    ----------
    statistics : Statistics
        The classes, their weights, and how features are encoded.
    target_name : str or None
        The name under which the class was given.
    missing : frozenset of int
        The features that have missing values without a state of their own.
    tables : callable
        Gives the rows as tables of codes, the class first, batch by batch.
    """

    statistics: Statistics
    target_name: str | None
    missing: frozenset[int]
    tables: Callable[[], Iterator[Table]]


def look(estimator: Any, batches: Batches, *, missing: str, sample_rows: int, n_jobs: int | None) -> Seen:
    """Read all rows once for what has to be known before they are counted."""
    kept: Statistics | None = None
    target_name, n_rows, sample = None, 0, _Sample(sample_rows)
    incomplete, unsorted = set[int](), set[int]()
    for given in batches():
        X, y, weights, target_name = split_target(*given, target_name)
        known = None if kept is None else kept.variables
        rows = learn_table(estimator, X, categorical=estimator.categorical_columns(), known=known, n_jobs=n_jobs)
        target, codes = encode_target(y, None, "class", rows.n_rows)
        if kept is None and target_name is None:
            target_name = series_name(y, rows.variables)
        mass = None if weights is None else check_weights(np.asarray(weights), rows.n_rows)
        examples = Examples(rows, codes, target, mass)
        new = Statistics.of(examples, Encoding(rows.variables, {}))
        kept, n_rows = new if kept is None else kept.merge(new), n_rows + rows.n_rows
        incomplete.update(np.flatnonzero(~seen_values(rows).all(axis=1)).tolist())
        unsorted.update(j for j, v in enumerate(rows.variables) if not _is_sorted(v.states or ()))
        sample.add(examples)
    if kept is None:
        raise DataError("source must give at least one batch of rows; got none.", parameter="source")
    target = Variable(target_name or "class", kept.target.states or ())
    # States are sorted where those of every batch were, so that the order of the rows does not matter.
    variables = tuple(v if j in unsorted else _sorted(v) for j, v in enumerate(kept.variables))
    encoding = Encoding(variables, sample.cuts(target), frozenset(incomplete if missing == "state" else ()))
    statistics = Statistics(target, kept.class_weight, encoding)

    def tables() -> Iterator[Table]:
        return _tables(estimator, batches, statistics, target_name, n_rows, n_jobs)

    return Seen(statistics, target_name, frozenset(incomplete - encoding.missing), tables)


def sum_pairs(seen: Seen, n_jobs: int | None) -> PairCounts:
    """Return the counts of all pairs of features within the classes."""
    given, total = seen.statistics.nodes[0], None
    for table in seen.tables():
        counts = Counter(table, n_jobs=n_jobs).pairs_within(given.name)
        total = counts if total is None else replace(counts, matrix=total.matrix + counts.matrix)
    assert total is not None  # the first reading found rows
    return total


def _tables(
    estimator: Any, batches: Batches, seen: Statistics, name: str | None, n_rows: int, n_jobs: int | None
) -> Iterator[Table]:
    """Yield the rows as tables of codes; raise where they are not those of the first reading."""
    read, target = 0, seen.target
    for given in batches():
        X, y, weights, _ = split_target(*given, name)
        rows = known_table(estimator, X, seen.variables, n_jobs)
        same, codes = encode_target(y, target.states, target.name, rows.n_rows)
        read += rows.n_rows
        new = [state for state in same.states or () if state not in (target.states or ())]
        if new:
            raise DataError(f"source must give the same classes each time it is read; {listed(new)} is new.")
        weights = None if weights is None else check_weights(np.asarray(weights), rows.n_rows)
        yield seen.encoding.table(Examples(rows, codes, target, weights))
    if read != n_rows:
        raise DataError(
            f"source must give the same rows each time it is read; it had {n_rows}, then {read}. A generator can be "
            "read only once: give the function that makes it."
        )


def rereadable(source: Source, y: str | None, *, weights: str | None, batch_rows: int) -> Batches:
    """Return what gives the batches of a source, each time from the beginning."""
    if isinstance(source, (str, os.PathLike)):
        return _file_batches(source, y, weights, batch_rows)
    if weights is not None:
        raise DataError(
            f"weights must be left out unless source is a file; got {weights!r}. "
            "Give batches as (X, y, sample_weight), or as Tables with weights."
        )
    if callable(source):
        return lambda: _given(source(), y)
    if hasattr(source, "__next__"):
        raise DataError(
            f"source must be readable several times; got a {type(source).__name__}. "
            "Give the function that makes it, or a list of batches."
        )
    if is_frame(source) and not (
        isinstance(source, list) and not is_one_row(source[0])
    ):  # dicts may be batches or rows
        return lambda: _given([source], y)
    return lambda: _given(source, y)


def _given(batches: object, y: str | None) -> Iterator[Given]:
    if not isinstance(batches, Iterable):
        raise DataError(
            "source must be a file, a list of batches, or a function that returns an iterable of them; got "
            f"{shortened(repr(batches))}."
        )
    for batch in batches:
        if not isinstance(batch, tuple) and y is None:
            raise DataError("a batch without classes must have y name their column; got None. Or give [(X, y), …].")
        if not isinstance(batch, tuple):
            yield batch, y, None
        elif len(batch) in (2, 3):
            yield (*batch, None)[:3]
        else:
            raise DataError(f"a batch must be a frame, (X, y) or (X, y, sample_weight); got {len(batch)} parts.")


def _file_batches(path: str | os.PathLike[str], y: str | None, weights: str | None, batch_rows: int) -> Batches:
    """Return what gives the batches of a file; the first one shows which columns are numbers."""
    if y is None:
        raise DataError("y must name the column of the file that holds the classes; got None.")
    typed = iter_typed(path, batch_rows=batch_rows)
    head = next(typed or iter_batches(path, batch_rows=batch_rows))
    for what, name in {"y": y, "weights": weights}.items():
        if name is not None and name not in head.column_names:
            raise DataError(
                f"{what} must name a column of the file; got {name!r}. {did_you_mean(name, head.column_names)}"
            )
    if weights == y:
        raise DataError(f"weights must be another column than the classes; got {y!r} for both.")
    types = {} if typed else _number_types(head)

    def batches() -> Iterator[Given]:
        own = iter_typed(path, batch_rows=batch_rows)
        for table in own or iter_batches(path, numbers=types, batch_rows=batch_rows):
            table = _as_integers(table, types)
            if weights is None:
                yield table, y, None
            else:
                yield table.drop_columns([weights]), y, table[weights].to_numpy()

    return batches


def _number_types(head: pa.Table) -> dict[str, pa.DataType]:
    """Return the types of the columns of text that hold nothing but numbers."""
    found = {}
    for name, column in zip(head.column_names, head.columns, strict=True):
        if column.null_count == len(column):
            continue
        for kind in (pa.int64(), pa.float64()):
            try:
                pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
            found[name] = kind
            break
    return found


def _as_integers(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a table with integers where the first batch had only these."""
    for name, kind in types.items():
        if kind != pa.int64():
            continue
        try:
            integers = table[name].cast(kind)
        except pa.ArrowInvalid:
            continue
        table = table.set_column(table.column_names.index(name), name, integers)
    return table


# What is gathered on the first reading


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
    """Rows of the numeric columns, drawn evenly from all of them: a random key, class, weight and numbers of each."""

    size: int
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    numeric: tuple[int, ...] = ()
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    n_held: int = 0
    weighted: bool = False

    def add(self, examples: Examples) -> None:
        """Take rows in; most of them leave again when more have come than are wanted."""
        rows, self.numeric = examples.rows, numeric_features(examples.rows)
        if not self.numeric:
            return
        held = 2.0 * self.size + rows.n_rows
        check_memory("the sample", 8.0 * len(self.numeric) * held, ways_out="Use a smaller sample_rows.")
        self.weighted = self.weighted or examples.weights is not None
        labels = np.array(examples.target.states, object)[examples.classes]
        numbers = np.array([numbers_of(rows, j) for j in self.numeric])
        self.parts.append((self.random.random(rows.n_rows), labels, examples.mass, numbers))
        self.n_held += rows.n_rows
        if self.n_held > 2 * self.size:
            self._thin_out()

    def _thin_out(self) -> None:
        arrays = [np.concatenate(each, axis=-1) for each in zip(*self.parts, strict=True)]
        if len(arrays[0]) > self.size:
            kept = np.sort(np.argpartition(arrays[0], self.size)[: self.size])
            arrays = [a[..., kept] for a in arrays]
        self.parts, self.n_held = [tuple(arrays)], len(arrays[0])

    def cuts(self, target: Variable) -> dict[int, Discretisation]:
        """Return the bins of each numeric column."""
        if not self.numeric:
            return {}
        self._thin_out()
        (_, labels, weights, numbers), *_ = self.parts
        place = {label: code for code, label in enumerate(target.states or ())}
        codes, mass = np.array([place[label] for label in labels.tolist()]), weights if self.weighted else None
        return {j: mdl_cuts(column, codes, mass) for j, column in zip(self.numeric, numbers, strict=True)}
