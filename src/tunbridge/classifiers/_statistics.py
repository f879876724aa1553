"""What a classifier keeps of the data: the classes, how features are encoded, and counts and moments by name.

**Encoding.** A category has its states. A number is discretized by Fayyad & Irani's method, with the classes of the
training rows, unless it stays a number. A missing value has no code, or is a state of its own: that a question was not
answered may tell as much as an answer.

**Statistics.** Those of different rows can be merged, so learning from a second batch is: collect its statistics,
merge, and derive the model again. They are also what files hold; everything else follows from them. A :class:`Part` is
one kind of counts or moments. Its fields are written to files by their types (:mod:`tunbridge._core.packing`);
:meth:`Part.check` refuses what does not fit the classes and features.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from tunbridge._core.check import repeated
from tunbridge._core.packing import WeightArray, pack, unpack, unpack_fields
from tunbridge.classifiers._classes import apart_from, sorted_labels, sorted_target
from tunbridge.classifiers._reading import numbers_of
from tunbridge.classifiers._rows import Examples
from tunbridge.counts.records import merge_states
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.data.discretisation import Discretisation, mdl_cuts
from tunbridge.data.table import natural_type

MISSING_STATE = "(missing)"
MISSING_RULES = ("marginal", "state")
NUMERIC_RULES = ("discretise", "gaussian")

ALL_ROWS = slice(None)

Structure = tuple[tuple[int, ...] | None, ...]
"""The parents of each feature, the most telling first; None where a feature is not used."""


# How features are encoded


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
        v = self.variables[j]
        v = self.cuts[j].variable(v.name, dates=v.dates) if j in self.cuts else v
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
        cuts = unpack(dict[int, Discretisation], [(d["feature"], [d["cuts"]]) for d in content.get("cuts", ())])
        variables, missing = unpack(tuple[Variable, ...], content["variables"]), content.get("gaps", [])
        if repeated(v.name for v in variables):
            raise ValueError("its features must have different names")
        found = cls(variables, cuts, unpack(frozenset[int], missing))
        continuous = {j for j, v in enumerate(variables) if v.is_continuous}
        numbers = unpack(tuple[int, ...], content.get("numbers", list(found.numbers)))
        if not set(cuts) <= continuous or not found.missing <= set(found.categories) or numbers != found.numbers:
            raise ValueError("its bins do not belong to its features")
        return found


def numeric_features(table: Table) -> tuple[int, ...]:
    """Return the positions of the continuous features."""
    return tuple(j for j, v in enumerate(table.variables) if v.is_continuous)


def learn_encoding(
    examples: Examples, before: Statistics | None, *, missing: str, numbers: Collection[int] = ()
) -> Encoding:
    """Return how the features of training rows are encoded: as before, with the states of these rows, or learned.

    ``numbers`` are the features that stay numbers.
    """
    table, kept = examples.rows, set(numbers)
    if before is not None:
        return replace(before.encoding, variables=table.variables)
    cuts = {
        j: mdl_cuts(numbers_of(table, j), examples.classes, examples.weights)
        for j, v in enumerate(table.variables)
        if not v.is_categorical and j not in kept
    }
    plain = Encoding(table.variables, cuts)
    if missing != "state":
        return plain
    return replace(plain, missing=frozenset(j for j in plain.categories if (plain.column(table, j) < 0).any()))


# What is kept


class Part:
    """A part of the statistics of a classifier: a dataclass. By default it stays as the first rows made it."""

    name: ClassVar[str]

    def over(self, old: Statistics, new: Statistics) -> Self:
        """Return the part, counted over the classes and states of ``old``, over those of ``new``, which are more."""
        return self

    def merge(self, other: Self) -> Self:
        """Return the part of the rows of both, counted over the same classes and states."""
        return self

    def content(self) -> dict[str, Any]:
        """Return the part as content of a file, by name."""
        packed: dict[str, Any] = pack(self)
        return packed

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Self:
        """Return the part that a file holds."""
        return cls(**unpack_fields(cls, content))

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the part fits the classes and features."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """What a classifier keeps of the data. Parts and their fields are read by name: ``statistics.families.counts``.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    encoding : Encoding
        How features become codes or numbers.
    parts : mapping of str to Part
        The counts and moments.
    """

    target: Variable
    class_weight: np.ndarray
    encoding: Encoding
    parts: Mapping[str, Part] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Examples, encoding: Encoding, *parts: Part) -> Statistics:
        """Return the statistics of some rows."""
        return cls(examples.target, examples.class_weight, encoding, {part.name: part for part in parts})

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        for part in parts.values():
            if name in part.__dict__:
                return part.__dict__[name]
        raise AttributeError(f"these statistics have no part {name!r}")

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.encoding.variables

    @cached_property
    def nodes(self) -> tuple[Variable, ...]:
        """The class, under a name that no feature has, and the encoded features."""
        return self.encoding.nodes(self.target)

    def merge(self, other: Statistics) -> Statistics:
        """Return what would have been learned from the rows of both; classes and states may be new."""
        target, encoding = sorted_target(self.target, other.target), self.encoding.merge(other.encoding)
        new = Statistics(target, np.zeros(target.n_states), encoding)
        ours, theirs = (placed(each.class_weight, [each.target], [target]) for each in (self, other))
        parts = {
            name: part.over(self, new).merge(other.parts[name].over(other, new)) for name, part in self.parts.items()
        }
        return replace(new, class_weight=ours + theirs, parts=parts)

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a file."""
        found = {"target": self.target, "class_weight": self.class_weight, **self.encoding.content()}
        for part in self.parts.values():
            found |= part.content()
        return found

    @classmethod
    def from_content(cls, content: Mapping[str, Any], kinds: Sequence[type[Part]]) -> Statistics:
        """Return the statistics that a file holds; raise ValueError where its parts do not belong together."""
        content = _upgraded(content)
        found = cls(*class_counts(content), Encoding.from_content(content))
        parts = [kind.from_content(content, found) for kind in kinds]
        found = replace(found, parts={part.name: part for part in parts})
        for part in parts:
            part.check(found)
        return found


def class_counts(content: Mapping[str, Any]) -> tuple[Variable, np.ndarray]:
    """Return the class variable and the weight of each class that a file holds; raise ValueError where they differ."""
    target, weight = unpack(Variable, content["target"]), unpack(WeightArray, content["class_weight"])
    if not target.states or sorted_labels(target.states) != list(target.states):
        raise ValueError("its classes must be sorted labels")
    if weight.shape != (target.n_states,):
        raise ValueError("its class counts do not belong to its classes")
    return target, weight


def inner_statistics(learned: Any) -> Any:
    """Return what a classifier has learned; of one around another one, what that one has learned."""
    while hasattr(learned, "fitted"):
        learned = learned.fitted.statistics_
    return learned


def placed(array: np.ndarray, old: Sequence[Variable], new: Sequence[Variable]) -> np.ndarray:
    """Return an array, whose first axis runs over the configurations of variables, over those with more states.

    Examples
    --------
    >>> placed(np.array([3.0, 4.0]), [Variable("c", ["a", "z"])], [Variable("c", ["a", "k", "z"])]).tolist()
    [3.0, 0.0, 4.0]
    """
    if all(a.states == b.states for a, b in zip(old, new, strict=True)):
        return array
    at, size = np.zeros(1, np.intp), 1
    for a, b in zip(old, new, strict=True):
        at = (at[:, None] * b.n_states + np.array([b.code(s) for s in a.states or ()], np.intp)).ravel()
        size *= b.n_states
    out = np.zeros((size, *array.shape[1:]), array.dtype)
    out[at] = array
    return out


def parents_first(parents: Sequence[Sequence[int] | None]) -> list[int]:
    """Return the features that are used, parents before children; raise ValueError where there is no such order."""
    used = {j: p for j, p in enumerate(parents) if p is not None}
    if any(repeated(p) for p in used.values()):
        raise ValueError("its structure has a parent twice")
    sorter: TopologicalSorter[int] = TopologicalSorter(used)
    order: list[int] = []
    with suppress(CycleError):
        sorter.prepare()
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            order += ready
            sorter.done(*ready)
    if set(order) != set(used):
        raise ValueError("its structure has a cycle, or a parent that is not used")
    return order


def _upgraded(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content in today's layout; earlier versions nested it, and encoded categories apart from numbers."""
    found = dict(content)
    found |= found.pop("families", {})
    if "coding" in found:
        coding = found.pop("coding")
        variables = found.setdefault("variables", coding["variables"])
        numbers = set(found.pop("numbers", ()))
        place = [j for j in range(len(variables)) if j not in numbers]
        found["cuts"] = [{"feature": place[d["feature"]], "cuts": d["cuts"]} for d in coding["cuts"]]
        found["gaps"] = [place[j] for j in coding["gaps"]]
    if "roles" in found and "parents" not in found:
        found["parents"] = [[] if role in ("categorical", "discretise") else None for role in found["roles"]]
    return found
