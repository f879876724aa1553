"""Features as columns of a network: categories and intervals as codes, numbers as codes or as they are.

Where numbers stay numbers, only the other features are coded (:mod:`tunbridge.classifiers.rows.coding`); nodes of the
network are numbered: 0 is the class, j + 1 the feature j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding, coding_of, known_coding, learn_coding
from tunbridge.classifiers.rows.target import apart_from
from tunbridge.counts.states import merge_states
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type, state_type

NUMERIC_RULES = ("discretise", "gaussian")


@dataclass(frozen=True, eq=False)
class Columns:
    """How features become columns of a network: codes, or numbers as they are.

    Parameters
    ----------
    variables : tuple of Variable
        The features as they come.
    coding : Coding
        How those become codes that are not numbers, in their order.
    numbers : tuple of int
        The positions of the features that stay numbers.
    """

    variables: tuple[Variable, ...]
    coding: Coding
    numbers: tuple[int, ...] = ()

    @cached_property
    def categories(self) -> tuple[int, ...]:
        """The positions of the features that are coded."""
        return tuple(j for j in range(len(self.variables)) if j not in set(self.numbers))

    @cached_property
    def columns(self) -> tuple[Variable, ...]:
        """The features as nodes of a network; those that were never seen have no states."""
        return self._with(self.coding.coded)

    def called_like(self, other: Columns) -> tuple[Variable, ...]:
        """Return our features as nodes, a missing cell under the name that it has in columns with more states."""
        return self._with(self.coding.called_like(other.coding))

    def _with(self, coded: Sequence[Variable]) -> tuple[Variable, ...]:
        of_feature = dict(zip(self.categories, coded, strict=True))
        return tuple(of_feature.get(j, v) for j, v in enumerate(self.variables))

    def nodes(self, target: Variable) -> tuple[Variable, ...]:
        """Return the nodes: the class, under a name that no feature has, and the features."""
        return (apart_from(target, self.variables), *self.columns)

    def codes(self, batch: Batch) -> np.ndarray:
        """Return the codes of all nodes, (n_features + 1, n_rows); −1 where there are none, as of class and numbers."""
        out = np.full((len(self.variables) + 1, batch.n_rows), -1, np.int32)
        coded = part_of(batch, self.categories)
        for i, j in enumerate(self.categories):
            out[j + 1] = self.coding.column(coded, i)
        return out

    def values(self, batch: Batch) -> dict[int, np.ndarray]:
        """Return the numbers of the nodes that are numbers; NaN where one is missing."""
        return {j + 1: batch.number_column(batch.numeric[j]) for j in self.numbers}

    def table(self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None) -> Table:
        """Return the rows as a table to learn from: the class first, then the features."""
        nodes, codes, values = self.nodes(target), self.codes(batch), self.values(batch)
        codes[0] = classes
        columns = [
            Column(v, values[i], pa.float64()) if i in values else Column(v, _codes(codes[i], v), state_type(v))
            for i, v in enumerate(nodes)
        ]
        return Table.of(columns, weights=weights)

    def merge(self, other: Columns) -> Columns:
        """Return the columns with the states of both; cut points are ours."""
        variables = tuple(
            merge_states(v, w) if v.is_categorical else v for v, w in zip(self.variables, other.variables, strict=True)
        )
        return replace(self, variables=variables, coding=self.coding.merge(other.coding))


def learn_columns(
    batch: Batch, classes: np.ndarray, weights: np.ndarray | None, before: Columns | None, *, numeric: str, missing: str
) -> Columns:
    """Return how the features of training rows become columns: as before, or as the rows say.

    With ``numeric="gaussian"`` numbers stay numbers, else they are cut into intervals.
    """
    numbers = before.numbers if before is not None else tuple(batch.numeric) if numeric == "gaussian" else ()
    coded = part_of(batch, [j for j in range(len(batch.variables)) if j not in set(numbers)])
    if before is not None:
        return Columns(batch.variables, known_coding(coded, before.coding), numbers)
    return Columns(batch.variables, learn_coding(coded, classes, weights, missing=missing), numbers)


def keeps_numbers(numeric: str, batch: Batch, before: Any) -> bool:
    """Return whether numbers are to stay numbers; what was learned before decides, where something was."""
    return hasattr(before, "columns") if before is not None else numeric == "gaussian" and bool(batch.numeric)


def part_of(batch: Batch, features: Sequence[int]) -> Batch:
    """Return the same rows with some of the features only, in the order given."""
    if len(features) == len(batch.variables):
        return batch
    variables = tuple(batch.variables[j] for j in features)
    codes = {i: batch.codes[j] for i, j in enumerate(features) if j in batch.codes}
    numbers = [batch.number_column(batch.numeric[j]) for j in features if j in batch.numeric]
    return Batch(variables, codes, numbers, batch.n_rows)


def columns_of(content: Mapping[str, Any]) -> Columns:
    """Return the columns that a native file holds; raise ValueError where they do not belong to the features."""
    columns = Columns(tuple(content["variables"]), coding_of(content["coding"]), tuple(content["numbers"]))
    numbers, continuous = set(columns.numbers), {j for j, v in enumerate(columns.variables) if v.is_continuous}
    coded = tuple(columns.variables[j] for j in columns.categories)
    if not numbers <= continuous or coded != columns.coding.variables:
        raise ValueError("its columns do not belong to its features")
    return columns


def _codes(codes: np.ndarray, variable: Variable) -> np.ndarray:
    return codes.astype(code_type(variable.n_states))
