"""How features become what is counted: categories as codes, numbers as bins or as they are, missing values as a state.

A category has its states. A number is discretized by Fayyad & Irani's method, with the classes of the training rows,
unless it stays a number. A missing value has no code, or is a state of its own: that a question was not answered may
tell as much as an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge.classifiers._classes import apart_from
from tunbridge.classifiers._reading import numbers_of
from tunbridge.classifiers._rows import Examples
from tunbridge.counts.records import merge_states
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.data.discretisation import Discretisation
from tunbridge.data.table import natural_type

MISSING_STATE = "(missing)"
MISSING_RULES = ("marginal", "state")
NUMERIC_RULES = ("discretise", "gaussian")

ALL_ROWS = slice(None)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How features become codes or numbers.

    Parameters
    ----------
    variables : tuple of Variable
        The features as they come.
    cuts : mapping of int to Discretisation
        The bins of each feature that is discretized, by its position.
    missing : frozenset of int
        The features whose missing values are a state of their own, the first one.
    """

    variables: tuple[Variable, ...]
    cuts: Mapping[int, Discretisation]
    missing: frozenset[int] = frozenset()

    @cached_property
    def coded(self) -> tuple[Variable, ...]:
        """The features as variables that can be counted; without states where no value was seen."""
        return tuple(self._coded(j) for j in range(len(self.variables)))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The positions of the features that stay numbers."""
        return tuple(j for j, v in enumerate(self.variables) if not v.is_categorical and j not in self.cuts)

    @cached_property
    def categories(self) -> tuple[int, ...]:
        """The positions of the features that are coded."""
        numbers = set(self.numbers)
        return tuple(j for j in range(len(self.variables)) if j not in numbers)

    def _coded(self, j: int) -> Variable:
        v = self.cuts[j].variable(self.variables[j].name) if j in self.cuts else self.variables[j]
        if j not in self.missing:
            return v
        label = MISSING_STATE
        while label in (v.states or ()):
            label = f"({label})"
        return Variable(v.name, [label, *(v.states or ())])

    def named_like(self, other: Encoding) -> tuple[Variable, ...]:
        """Return our coded features with the missing state named as in an encoding with more states.

        It is "(missing)" here and "((missing))" there where a column has come to hold the text "(missing)".
        """
        found = list(self.coded)
        for j in self.missing:
            label, states = (other.coded[j].states or ())[0], found[j].states or ()
            if label != states[0]:
                found[j] = Variable(found[j].name, [label, *states[1:]])
        return tuple(found)

    def nodes(self, target: Variable) -> tuple[Variable, ...]:
        """Return the class, under a name that no feature has, and the coded features."""
        return (apart_from(target, self.variables), *self.coded)

    def column(self, table: Table, j: int, rows: slice = ALL_ROWS) -> np.ndarray:
        """Return the codes of a feature, −1 where there is none, or the numbers of one that stays a number."""
        if j in self.cuts:
            codes = self.cuts[j].codes(numbers_of(table, j, rows))
        elif self.variables[j].is_continuous:
            return numbers_of(table, j, rows)
        else:
            codes = table.columns[j][rows]
        return codes if j not in self.missing else (codes + 1).astype(code_type(self.coded[j].n_states))

    def codes(self, table: Table, rows: slice = ALL_ROWS) -> np.ndarray:
        """Return the codes of all features, (n_features, n_rows); −1 for numbers."""
        start, stop, _ = rows.indices(table.n_rows)
        out = np.full((len(self.variables), stop - start), -1, np.int32)
        for j in self.categories:
            out[j] = self.column(table, j, rows)
        return out

    def table(
        self,
        examples: Examples,
        features: Sequence[int] | None = None,
        codes: Sequence[np.ndarray] | None = None,
        *,
        typed: bool = False,
    ) -> Table:
        """Return the rows as a table to count: the class, then the features (or some); ``codes`` where known.

        Values can be taken out of it again only if it is ``typed``.
        """
        given, *coded = self.nodes(examples.target)
        which = range(len(coded)) if features is None else features
        values = [self.column(examples.rows, j) if codes is None else codes[j] for j in which]
        classes = examples.classes.astype(code_type(given.n_states), copy=False)
        pairs = zip([given, *(coded[j] for j in which)], [classes, *values], strict=True)
        columns = [Column(v, each, natural_type(v) if typed else pa.null()) for v, each in pairs]
        return Table.of(columns, weights=examples.weights)

    def merge(self, other: Encoding) -> Encoding:
        """Return the encoding with the states of both; bins are ours."""
        variables = tuple(
            merge_states(v, w) if v.is_categorical else v for v, w in zip(self.variables, other.variables, strict=True)
        )
        return replace(self, variables=variables)

    def content(self) -> dict[str, Any]:
        """Return the encoding as content of a file."""
        return {
            "variables": list(self.variables),
            "cuts": [{"feature": j, "cuts": list(d.cuts)} for j, d in self.cuts.items()],
            "gaps": sorted(self.missing),
            "numbers": list(self.numbers),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Encoding:
        """Return the encoding that a file holds; raise ValueError where its parts do not belong together."""
        cuts = {d["feature"]: Discretisation(tuple(d["cuts"])) for d in content.get("cuts", ())}
        found = cls(tuple(content["variables"]), cuts, frozenset(content.get("gaps", ())))
        continuous = {j for j, v in enumerate(found.variables) if v.is_continuous}
        numbers = tuple(content.get("numbers", found.numbers))
        if not set(cuts) <= continuous or not found.missing <= set(found.categories) or numbers != found.numbers:
            raise ValueError("its bins do not belong to its features")
        return found


def numeric_features(table: Table) -> tuple[int, ...]:
    """Return the positions of the continuous features."""
    return tuple(j for j, v in enumerate(table.variables) if v.is_continuous)
