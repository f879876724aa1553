"""Features as codes: what the classifiers with dependences between features count.

A category has its states. A number is cut into intervals by Fayyad & Irani's method, with the training rows' classes
only, and the intervals are states. A missing cell has no code, or is a state of its own where that is asked for: that
somebody did not answer may say as much as an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.target import apart_from
from tunbridge.counts.states import merge_states
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.data.discretisation import Discretisation, mdl_cuts

MISSING_STATE = "(missing)"
MISSING_RULES = ("marginal", "state")


@dataclass(frozen=True, eq=False)
class Coding:
    """How features become codes.

    Parameters
    ----------
    variables : tuple of Variable
        The features as they come.
    cuts : mapping of int to Discretisation
        How each continuous feature is cut, by its position.
    gaps : frozenset of int
        The features whose missing cells are a state of their own, the first one.
    """

    variables: tuple[Variable, ...]
    cuts: Mapping[int, Discretisation]
    gaps: frozenset[int] = frozenset()

    @cached_property
    def coded(self) -> tuple[Variable, ...]:
        """The features as variables that can be counted; those that were never seen have no states."""
        return tuple(self._coded(j) for j in range(len(self.variables)))

    def _coded(self, j: int) -> Variable:
        v = self.cuts[j].variable(self.variables[j].name) if j in self.cuts else self.variables[j]
        if j not in self.gaps:
            return v
        label = MISSING_STATE
        while label in (v.states or ()):
            label = f"({label})"
        return Variable(v.name, [label, *(v.states or ())])

    def called_like(self, other: Coding) -> tuple[Variable, ...]:
        """Return our features as variables, a missing cell under the name that it has in a coding with more states.

        What is "(missing)" here is "((missing))" there, where a column has come to hold the text "(missing)".
        """
        found = list(self.coded)
        for j in self.gaps:
            label, states = (other.coded[j].states or ())[0], found[j].states or ()
            if label != states[0]:
                found[j] = Variable(found[j].name, [label, *states[1:]])
        return tuple(found)

    def column(self, batch: Batch, j: int) -> np.ndarray:
        """Return the codes of one feature; −1 where there is none."""
        if j in self.cuts:
            codes = self.cuts[j].codes(batch.number_column(batch.numeric[j]))
        else:
            codes = np.asarray(batch.codes[j])
        return codes if j not in self.gaps else (codes + 1).astype(code_type(self.coded[j].n_states))

    def codes(self, batch: Batch) -> np.ndarray:
        """Return the codes of all features, (n_features, n_rows)."""
        out = np.empty((len(self.variables), batch.n_rows), np.int32)
        for j in range(len(out)):
            out[j] = self.column(batch, j)
        return out

    def table(self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None) -> Table:
        """Return the rows as a table to count: the class first, then the features."""
        return self.table_of([self.column(batch, j) for j in range(len(self.variables))], classes, target, weights)

    def table_of(
        self, codes: Sequence[np.ndarray], classes: np.ndarray, target: Variable, weights: np.ndarray | None
    ) -> Table:
        """Return rows that are coded already as a table to count."""
        given = self.class_variable(target)
        columns = [Column(given, classes.astype(code_type(target.n_states), copy=False), pa.null())]
        columns += [Column(v, codes[j], pa.null()) for j, v in enumerate(self.coded)]
        return Table.of(columns, weights=weights)

    def class_variable(self, target: Variable) -> Variable:
        """Return the class under a name that no feature has."""
        return apart_from(target, self.variables)

    def merge(self, other: Coding) -> Coding:
        """Return the coding with the states of both; cut points are ours."""
        variables = tuple(
            merge_states(v, w) if v.is_categorical else v for v, w in zip(self.variables, other.variables, strict=True)
        )
        return replace(self, variables=variables)


def learn_coding(batch: Batch, classes: np.ndarray, weights: np.ndarray | None, *, missing: str) -> Coding:
    """Return how the features of training rows become codes."""
    cuts = {j: mdl_cuts(batch.number_column(i), classes, weights) for j, i in batch.numeric.items()}
    plain = Coding(batch.variables, cuts)
    if missing != "state":
        return plain
    gaps = (j for j in range(len(batch.variables)) if (plain.column(batch, j) < 0).any())
    return replace(plain, gaps=frozenset(gaps))


def known_coding(batch: Batch, before: Coding) -> Coding:
    """Return how the features of further rows become codes: as before, with the states of the batch."""
    return replace(before, variables=batch.variables)


def coding_content(coding: Coding) -> dict[str, Any]:
    """Return a coding as content of a native file."""
    return {
        "variables": list(coding.variables),
        "cuts": [{"feature": j, "cuts": list(d.cuts)} for j, d in coding.cuts.items()],
        "gaps": sorted(coding.gaps),
    }


def coding_of(content: Mapping[str, Any]) -> Coding:
    """Return the coding that a native file holds; raise ValueError where its parts do not belong together."""
    coding = Coding(
        tuple(content["variables"]),
        {d["feature"]: Discretisation(tuple(d["cuts"])) for d in content["cuts"]},
        frozenset(content["gaps"]),
    )
    continuous = {j for j, v in enumerate(coding.variables) if v.is_continuous}
    if set(coding.cuts) != continuous or not coding.gaps <= set(range(len(coding.variables))):
        raise ValueError("its cut points do not belong to its features")
    return coding
