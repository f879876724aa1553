"""What a classifier keeps of the data: the classes, how features are encoded, and counts and moments by name.

Statistics of different rows can be merged, so learning from a second batch is: collect its statistics, merge, and
derive the model again. They are also what files hold; everything else follows from them.

A :class:`Part` is one kind of counts or moments. Its fields are written to files by their types
(:mod:`tunbridge._core.packing`); :meth:`Part.check` refuses what does not fit the classes and features.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar, Self

import numpy as np

from tunbridge._core.packing import pack, unpack_fields
from tunbridge.classifiers._classes import sorted_target
from tunbridge.classifiers._encoding import Encoding
from tunbridge.classifiers._reading import numbers_of
from tunbridge.classifiers._rows import Examples
from tunbridge.data import Variable
from tunbridge.data.discretisation import mdl_cuts

Structure = tuple[tuple[int, ...] | None, ...]
"""The parents of each feature, the most telling first; None where a feature is not used."""


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
        found = cls(content["target"], content["class_weight"], Encoding.from_content(content))
        if found.class_weight.shape != (found.target.n_states,) or not are_weights(found.class_weight):
            raise ValueError("its class counts do not belong to its classes")
        parts = [kind.from_content(content, found) for kind in kinds]
        found = replace(found, parts={part.name: part for part in parts})
        for part in parts:
            part.check(found)
        return found


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


def are_weights(*arrays: np.ndarray) -> bool:
    """Return whether all entries of arrays may be counts or weights."""
    return all(a.dtype.kind in "iuf" and bool(np.isfinite(a).all() and (a >= 0).all()) for a in arrays)


def parents_first(parents: Sequence[Sequence[int] | None]) -> list[int]:
    """Return the features that are used, parents before children; raise ValueError where there is no such order."""
    used = {j: p for j, p in enumerate(parents) if p is not None}
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
