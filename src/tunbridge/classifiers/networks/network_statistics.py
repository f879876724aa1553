"""What a classifier keeps whose class may stand anywhere in a network: the structure, counts, and moments.

Naive Bayes and its kin make the class a parent of every feature. In a network that was searched for, or drawn by an
expert, the class may have parents of its own, and a feature need not depend on it. Nodes are numbered: 0 is the class,
j + 1 the feature j. A node of categories keeps the counts of its family; a number that stays a number keeps the moments
that its regressions are made of (:mod:`tunbridge.learning.regression`). Both add up over batches of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tunbridge.classifiers.dependence.family_statistics import Structure, check_acyclic, check_tables
from tunbridge.classifiers.dependence.pair_statistics import are_weights, class_weights
from tunbridge.classifiers.networks.network_columns import Columns, columns_of
from tunbridge.classifiers.rows.coding import coding_content
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.counts import Counts
from tunbridge.counts.cross_moments import CrossMoments, no_cross_moments
from tunbridge.counts.families import count_families
from tunbridge.data import Table, Variable
from tunbridge.learning.regression import family_moments


@dataclass(frozen=True, eq=False)
class NetworkStatistics:
    """A structure over the class and the features, and what was counted of its families.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    columns : Columns
        How features become columns.
    parents : tuple
        For each node the nodes it depends on; None: it is not used.
    counts : mapping of int to Counts
        The counts of each node of categories that is used.
    moments : mapping of int to CrossMoments
        Those of each number that is used, within the configurations of its categorical parents.
    """

    target: Variable
    class_weight: np.ndarray
    columns: Columns
    parents: Structure
    counts: Mapping[int, Counts]
    moments: Mapping[int, CrossMoments]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.columns.variables

    @cached_property
    def nodes(self) -> tuple[Variable, ...]:
        """The class and the features as nodes of a network."""
        return self.columns.nodes(self.target)

    def family(self, node: int) -> tuple[Variable, ...]:
        """Return the parents of a node that is used."""
        return tuple(self.nodes[p] for p in self.parents[node] or ())

    def merge(self, other: NetworkStatistics) -> NetworkStatistics:
        """Return the statistics of the rows of both, which have the same structure; states may be new.

        Families that only one of them has shown are taken from that one.
        """
        target, columns = sorted_target(self.target, other.target), self.columns.merge(other.columns)
        a, b = (s._over(target, columns) for s in (self, other))
        counts, moments = {**b.counts, **a.counts}, {**b.moments, **a.moments}
        for i in a.counts.keys() & b.counts.keys():
            counts[i] = replace(counts[i], table=a.counts[i].table + b.counts[i].table)
        for i in a.moments.keys() & b.moments.keys():
            moments[i] = a.moments[i].merge(b.moments[i])
        return replace(
            a,
            class_weight=a.class_weight + b.class_weight,
            counts=dict(sorted(counts.items())),
            moments=dict(sorted(moments.items())),
        )

    def _over(self, target: Variable, columns: Columns) -> NetworkStatistics:
        """Return the statistics over at least as many classes and states."""
        weight = np.zeros(target.n_states)
        weight[[target.code(s) for s in self.target.states or ()]] = self.class_weight
        empty = NetworkStatistics(target, weight, columns, self.parents, {}, {})
        ours = (self.nodes[0], *self.columns.called_like(columns))
        families = {i: tuple(ours[p] for p in self.parents[i] or ()) for i in (*self.counts, *self.moments)}
        counts = {
            i: _no_counts(empty.nodes[i], empty.family(i)).merge(Counts(ours[i], families[i], c.table)).dense()
            for i, c in self.counts.items()
        }
        moments = {i: _placed(m, families[i], empty.family(i)) for i, m in self.moments.items()}
        return replace(empty, counts=counts, moments=moments)


def collect_network(
    table: Table,
    columns: Columns,
    target: Variable,
    parents: Sequence[Sequence[int] | None],
    *,
    n_jobs: int | None,
    settled: bool = False,
) -> NetworkStatistics:
    """Return what a structure counts over a table (see :meth:`Columns.table`).

    Features that were never seen are not used. A number of which no row shows the whole family depends on the class
    alone, if it did, or on nothing. A structure that is ``settled`` stays as it is: families that the table does not
    show are not counted.
    """
    nodes = columns.nodes(target)
    seen = {i for i, v in enumerate(nodes) if is_seen(table, v)}
    structure = tuple(parents) if settled else _usable(table, nodes, parents, seen)
    families = {i: tuple(p) for i, p in enumerate(structure) if p is not None and seen.issuperset((i, *p))}
    counts = _family_counts(table, nodes, {i: p for i, p in families.items() if nodes[i].is_categorical}, n_jobs)
    moments = {
        i: family_moments(table, nodes[i].name, [nodes[u].name for u in p])
        for i, p in families.items()
        if nodes[i].is_continuous
    }
    weight = class_weights(table.codes(nodes[0].name), table.weights, target)
    return NetworkStatistics(target, weight, columns, structure, counts, moments)  # type: ignore[arg-type]


def is_seen(table: Table, variable: Variable) -> bool:
    """Return whether a column has something to count: a state or a number, in a row that weighs something."""
    name = variable.name
    present = table.codes(name) >= 0 if variable.is_categorical else ~np.isnan(table.floats(name))
    return bool((present if table.weights is None else present & (table.weights > 0)).any())


def _usable(
    table: Table, nodes: Sequence[Variable], parents: Sequence[Sequence[int] | None], seen: set[int]
) -> Structure:
    """Return a structure without features that were never seen, and without parents that leave a number no row."""
    found: list[tuple[int, ...] | None] = []
    for i, given in enumerate(parents):
        own = None if given is None or i not in seen else tuple(u for u in given if u in seen)
        if own and nodes[i].is_continuous and not _is_together(table, [nodes[u] for u in (i, *own)]):
            own = own[:1] if own[0] == 0 else ()
        found.append(own)
    return tuple(found)


def _is_together(table: Table, family: Sequence[Variable]) -> bool:
    """Return whether some row that weighs something shows all columns of a family."""
    whole = np.ones(table.n_rows, np.bool_) if table.weights is None else table.weights > 0
    for v in family:
        whole &= table.codes(v.name) >= 0 if v.is_categorical else ~np.isnan(table.floats(v.name))
    return bool(whole.any())


def _family_counts(
    table: Table, nodes: Sequence[Variable], families: Mapping[int, tuple[int, ...]], n_jobs: int | None
) -> dict[int, Counts]:
    check_tables([[nodes[u].n_states for u in (i, *p)] for i, p in families.items()])
    discrete = table.select([v.name for v in nodes if v.is_categorical])
    asked = [(nodes[i].name, [nodes[u].name for u in p]) for i, p in families.items()]
    return {i: c.dense() for i, c in zip(families, count_families(discrete, asked, n_jobs=n_jobs), strict=True)}


def network_content(statistics: NetworkStatistics) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    s = statistics
    return {
        "target": s.target,
        "class_weight": s.class_weight,
        "variables": list(s.variables),
        "coding": coding_content(s.columns.coding),
        "numbers": list(s.columns.numbers),
        "parents": [None if p is None else list(p) for p in s.parents],
        "counts": [{"node": i, "table": c.table} for i, c in s.counts.items()],
        "moments": [{"node": i, "arrays": list(m.arrays)} for i, m in s.moments.items()],
    }


def network_statistics(content: Mapping[str, Any]) -> NetworkStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    columns = columns_of(content)
    parents = tuple(None if p is None else tuple(p) for p in content["parents"])
    check_acyclic(parents)
    s = NetworkStatistics(content["target"], content["class_weight"], columns, parents, {}, {})
    used = {i for i, p in enumerate(parents) if p is not None}
    if len(parents) != len(s.nodes) or 0 not in used:
        raise ValueError("its structure does not belong to its features")
    counts = {c["node"]: Counts(s.nodes[c["node"]], s.family(c["node"]), c["table"]) for c in content["counts"]}
    moments = {m["node"]: CrossMoments(*m["arrays"]) for m in content["moments"]}
    whole = replace(s, counts=counts, moments=moments)
    if set(counts) | set(moments) != used or set(counts) & set(moments):
        raise ValueError("its counts do not belong to its structure")
    _check_sizes(whole)
    return whole


def _check_sizes(s: NetworkStatistics) -> None:
    """Raise ValueError unless counts are counts, and everything has the size that the structure asks for."""
    fits = [s.class_weight.shape == (s.target.n_states,), are_weights(s.class_weight)]
    for c in s.counts.values():
        fits += [c.table.shape == (_size(c.parents), c.child.n_states), are_weights(c.table)]
    for i, m in s.moments.items():
        k, q = 1 + sum(v.is_continuous for v in s.family(i)), _size(s.family(i))
        fits += [s.nodes[i].is_continuous, [a.shape for a in m.arrays] == [(q,), (q, k), (q, k, k)]]
        fits += [
            are_weights(m.count) and bool(m.count.any()),
            all(a.dtype == np.float64 and np.isfinite(a).all() for a in m.arrays),
        ]
    if not all(fits):
        raise ValueError("its counts are not those of its structure")


# Pieces


def _size(parents: Sequence[Variable]) -> int:
    return prod(v.n_states for v in parents if v.is_categorical)


def _no_counts(child: Variable, parents: tuple[Variable, ...]) -> Counts:
    return Counts(child, parents, np.zeros((_size(parents), child.n_states), np.int64))


def _placed(moments: CrossMoments, old: Sequence[Variable], new: Sequence[Variable]) -> CrossMoments:
    """Return moments within the configurations of parents that have at least the states of ours."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a.is_categorical]
    if all(a.states == b.states for a, b in pairs):
        return moments
    at = np.zeros(1, np.intp)
    for a, b in pairs:
        at = (at[:, None] * b.n_states + np.array([b.code(s) for s in a.states or ()], np.intp)).ravel()
    wide = no_cross_moments(_size(new), moments.mean.shape[1])
    arrays = [a.copy() for a in wide.arrays]
    for into, given in zip(arrays, moments.arrays, strict=True):
        into[at] = given
    return CrossMoments(*arrays)
