"""What a classifier keeps whose features depend on the class and on some other features: a structure and its counts.

The structure says for each feature which others it depends on; the counts are those of each feature for every
configuration of the class and these parents. The structure is settled by the first rows; further rows add to the
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.classifiers.dependence.pair_statistics import are_weights, class_weights
from tunbridge.classifiers.rows.coding import Coding, coding_content, coding_of
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.counts import Counts
from tunbridge.counts.families import count_families
from tunbridge.data import Table, Variable

Structure = tuple[tuple[int, ...] | None, ...]
"""The parents of each feature, the most telling first; None where a feature is not used."""


@dataclass(frozen=True, eq=False)
class FamilyStatistics:
    """A structure and the counts of its families.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    coding : Coding
        How features become codes.
    parents : tuple
        For each feature the features it depends on beside the class, the most telling first; None: it is not used.
    counts : mapping of int to Counts
        The counts of each feature that is used, given the class and its parents.
    """

    target: Variable
    class_weight: np.ndarray
    coding: Coding
    parents: Structure
    counts: Mapping[int, Counts]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.coding.variables

    def merge(self, other: FamilyStatistics) -> FamilyStatistics:
        """Return the statistics of the rows of both, which have the same structure; states may be new."""
        target, coding = sorted_target(self.target, other.target), self.coding.merge(other.coding)
        a, b = (s._over(target, coding) for s in (self, other))
        known = {j for j in a.counts if self.parents[j] == other.parents[j]}  # else no row of theirs has the family
        counts = {j: replace(c, table=c.table + b.counts[j].table) if j in known else c for j, c in a.counts.items()}
        return FamilyStatistics(target, a.class_weight + b.class_weight, coding, self.parents, counts)

    def _over(self, target: Variable, coding: Coding) -> FamilyStatistics:
        given, ours = coding.class_variable(target), self.coding.called_like(coding)
        weight = np.zeros(target.n_states)
        weight[[target.code(s) for s in self.target.states or ()]] = self.class_weight
        counts = {}
        for j, c in self.counts.items():
            parents = self.parents[j] or ()
            same = replace(c, child=ours[j], parents=(c.parents[0], *(ours[u] for u in parents)))
            counts[j] = _empty(j, parents, given, coding.coded).merge(same).dense()
        return FamilyStatistics(target, weight, coding, self.parents, counts)


def collect_families(
    table: Table,
    classes: np.ndarray,
    target: Variable,
    coding: Coding,
    parents: Sequence[Sequence[int] | None],
    *,
    n_jobs: int | None,
) -> FamilyStatistics:
    """Return the counts of a structure over a table of codes (see :meth:`Coding.table`).

    Features that were never seen have no states, and are not used.
    """
    coded, given = coding.coded, coding.class_variable(target)
    structure = tuple(
        None if p is None or not coded[j].n_states else tuple(u for u in p if coded[u].n_states)
        for j, p in enumerate(parents)
    )
    families = {j: [given.name, *(coded[u].name for u in p)] for j, p in enumerate(structure) if p is not None}
    check_tables(
        [[target.n_states, coded[j].n_states, *(coded[u].n_states for u in structure[j] or ())] for j in families]
    )
    found = count_families(table, [(coded[j].name, p) for j, p in families.items()], n_jobs=n_jobs)
    counts = {j: c.dense() for j, c in zip(families, found, strict=True)}
    return FamilyStatistics(target, class_weights(classes, table.weights, target), coding, structure, counts)


def check_tables(shapes: Sequence[Sequence[int]]) -> None:
    """Raise when the tables of a structure would not fit into memory, given the numbers of states of each family."""
    check_memory(
        "the tables of the features given the class and their parents",
        8.0 * 4 * sum(float(prod(map(float, shape))) for shape in shapes),
        ways_out="Allow fewer parents, or leave out columns with many states.",
    )


def families_content(statistics: FamilyStatistics) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    return {
        "target": statistics.target,
        "class_weight": statistics.class_weight,
        "coding": coding_content(statistics.coding),
        "parents": [None if p is None else list(p) for p in statistics.parents],
        "counts": [{"feature": j, "table": c.table} for j, c in statistics.counts.items()],
    }


def families_statistics(content: Mapping[str, Any]) -> FamilyStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    target, coding, weight = content["target"], coding_of(content["coding"]), content["class_weight"]
    given, coded = coding.class_variable(target), coding.coded
    parents = tuple(None if p is None else tuple(p) for p in content["parents"])
    check_acyclic(parents)
    counts = {}
    for each in content["counts"]:
        j, table = each["feature"], each["table"]
        known = tuple(coded[u] for u in parents[j] or ())
        if table.shape != (prod(v.n_states for v in (given, *known)), coded[j].n_states):
            raise ValueError("its counts do not belong to its structure")
        counts[j] = Counts(coded[j], (given, *known), table)
    numbers = [weight, *(c.table for c in counts.values())]
    if len(parents) != len(coded) or set(counts) != {j for j, p in enumerate(parents) if p is not None}:
        raise ValueError("its structure does not belong to its features")
    if weight.shape != (target.n_states,) or not all(map(are_weights, numbers)):
        raise ValueError("its counts are not counts")
    return FamilyStatistics(target, weight, coding, parents, counts)


def check_acyclic(parents: Structure) -> list[int]:
    """Return the features that are used, parents before children; raise ValueError where there is no such order."""
    waiting = {j: len(set(p)) for j, p in enumerate(parents) if p is not None}
    children: dict[int, list[int]] = {j: [] for j in waiting}
    for j in waiting:
        for u in set(parents[j] or ()):
            children.setdefault(u, []).append(j)
    order: list[int] = []
    free = [j for j, n in waiting.items() if not n]
    while free:
        order += free
        below = [c for j in free for c in children[j]]
        for c in below:
            waiting[c] -= 1
        free = sorted({c for c in below if not waiting[c]})
    if len(order) < len(waiting):
        raise ValueError("its structure has a cycle, or a parent that is not used")
    return order


def _empty(j: int, parents: Sequence[int], given: Variable, coded: Sequence[Variable]) -> Counts:
    known = (given, *(coded[u] for u in parents))
    return Counts(coded[j], known, np.zeros((prod(v.n_states for v in known), coded[j].n_states), np.int64))
