"""Features that depend on the class and on each other: their counts, and the model that follows from them.

    P(x, c) = P(c) Π_f P(x_f | parents of f, c)

The structure is that of the first rows; further rows add to the counts. A row in which every parent of a known value
is known itself takes one look into a table for each feature. In the others something has to be summed out: they are
answered exactly by the network that the tables are (:mod:`tunbridge.inference`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tunbridge._core.check import check_choice
from tunbridge._core.memory import check_memory
from tunbridge._core.packing import CountArray, unpack
from tunbridge.classifiers._rows import Categorical, ClassPrior, TextColumns
from tunbridge.classifiers._statistics import (
    MISSING_RULES,
    Encoding,
    Part,
    Statistics,
    Structure,
    parents_first,
    placed,
)
from tunbridge.classifiers.base import BayesClassifier, Model
from tunbridge.classifiers.explanation.contributions import CodedModel, Given, conditional_terms, structure_conditions
from tunbridge.classifiers.explanation.importance import family_counts, information_of, weights_of
from tunbridge.counts import Counter, Counts
from tunbridge.counts.moments import CrossMoments, are_empty
from tunbridge.data import Table, Variable
from tunbridge.kernels.classifiers.records import FamilyTables
from tunbridge.kernels.compiled import is_numpy_quicker
from tunbridge.learning.parameters.backoff import BackOff
from tunbridge.learning.parameters.priors import Prior, Rule, as_prior, tables_of
from tunbridge.probability import CPT, ConditionalTable

if TYPE_CHECKING:
    from tunbridge.inference import Engine

HIERARCHICAL = "hierarchical"
_JOINED = 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class CountedClassifier(BayesClassifier[Statistics]):
    """Base class of classifiers that discretize numbers and count families: the parameters that all of them have."""

    categorical: Categorical = None
    text: TextColumns = "auto"
    smoothing: Prior = HIERARCHICAL
    class_prior: ClassPrior = None
    missing: str = "marginal"
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, MISSING_RULES)
        as_table_prior(self.smoothing)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> Model:
        """Return the model with the tables of the families."""
        return family_model(statistics, statistics.families, log_prior, self.smoothing)


# What is kept


@dataclass(frozen=True, eq=False)
class Families(Part):
    """A structure, and the counts and moments of its families.

    Parameters
    ----------
    parents : tuple
        For each feature the features it depends on beside the class, the most telling first; None: it is not used.
    counts : mapping of int to Counts
        The counts of each feature that is used, given the class and its parents.
    moments : mapping of int to CrossMoments
        Those of numbers, within the configurations of their categorical parents.
    with_class : bool
        Whether the class is a node like the others, which may have parents: node 0 is the class, node j + 1 feature j.
    """

    name: ClassVar[str] = "families"

    parents: Structure
    counts: Mapping[int, Counts]
    moments: Mapping[int, CrossMoments] = field(default_factory=dict)
    with_class: bool = False

    def family(self, node: int, nodes: Sequence[Variable]) -> tuple[Variable, tuple[Variable, ...]]:
        """Return the variable of a node and its parents, given the class and the features."""
        parents = self.parents[node] or ()
        if self.with_class:
            return nodes[node], tuple(nodes[p] for p in parents)
        return nodes[node + 1], (nodes[0], *(nodes[p + 1] for p in parents))

    def over(self, old: Statistics, new: Statistics) -> Families:
        """Return the same counts over more classes and states."""
        ours, theirs = (old.nodes[0], *old.encoding.named_like(new.encoding)), new.nodes
        counts, moments = {}, {}
        for i, c in self.counts.items():
            (child, parents), (wide, more) = self.family(i, ours), self.family(i, theirs)
            table = placed(placed(c.table, parents, more).T, [child], [wide]).T
            counts[i] = Counts(wide, more, np.ascontiguousarray(table))
        for i, m in self.moments.items():
            before, after = ([v for v in self.family(i, each)[1] if v.is_categorical] for each in (ours, theirs))
            moments[i] = CrossMoments(*(placed(a, before, after) for a in m.arrays))
        return replace(self, counts=counts, moments=moments)

    def merge(self, other: Families) -> Families:
        """Return the families of both, which have one structure; what only one has counted is taken from it."""
        counts, moments = {**other.counts, **self.counts}, {**other.moments, **self.moments}
        for i in self.counts.keys() & other.counts.keys():
            counts[i] = replace(counts[i], table=self.counts[i].table + other.counts[i].table)
        for i in self.moments.keys() & other.moments.keys():
            moments[i] = self.moments[i].merge(other.moments[i])
        return replace(self, counts=dict(sorted(counts.items())), moments=dict(sorted(moments.items())))

    def content(self) -> dict[str, Any]:
        """Return the families as content of a file."""
        node = "node" if self.with_class else "feature"
        found: dict[str, Any] = {
            "parents": [None if p is None else list(p) for p in self.parents],
            "counts": [{node: i, "child": c.child, "table": c.table} for i, c in self.counts.items()],
        }
        if not self.with_class and len(self.counts) > _JOINED:  # an array of its own for each would take a file long
            tables = [c.table.ravel() for c in self.counts.values()]
            found |= {"counts": [], "joined": {"features": list(self.counts), "tables": np.concatenate(tables)}}
        if self.with_class:
            found["moments"] = [{node: i, "arrays": list(m.arrays)} for i, m in self.moments.items()]
        return found

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Families:
        """Return the families that a file holds."""
        parents = unpack(Structure, content["parents"])
        parents_first(parents)
        with_class = any("node" in each for each in content["counts"])
        moments = unpack(dict[int, CrossMoments], content["moments"]) if with_class else {}
        found = cls(parents, {}, moments, with_class)
        if len(parents) + (not with_class) != len(statistics.nodes):
            raise ValueError("its structure does not belong to its features")
        counts = {}
        for each in (*content["counts"], *found._parted(content.get("joined"), statistics)):
            i = unpack(int, each["node" if with_class else "feature"])
            child, given = found.family(i, statistics.nodes)
            told = unpack(Variable, each.get("child", child))
            if (told.name, told.states) != (child.name, child.states):
                raise ValueError("its counts do not belong to its features")
            counts[i] = Counts(child, given, unpack(CountArray, each["table"]))
        return replace(found, counts=counts)

    def _parted(self, joined: Mapping[str, Any] | None, statistics: Statistics) -> Iterator[dict[str, Any]]:
        """Yield the counts of many features, which a file holds one after the other in one array."""
        if joined is None:
            return
        start, tables = 0, unpack(CountArray, joined["tables"]).ravel()
        for j in unpack(list[int], joined["features"]):
            child, given = self.family(j, statistics.nodes)
            shape = _size(given), child.n_states
            stop = start + prod(shape)
            if stop > tables.size:
                raise ValueError("its counts do not belong to its features")
            yield {"feature": j, "table": np.ascontiguousarray(tables[start:stop]).reshape(shape)}
            start = stop
        if start != tables.size:
            raise ValueError("its counts do not belong to its features")

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless counts are counts, and everything has the size that the structure asks for."""
        used = {i for i, p in enumerate(self.parents) if p is not None}
        if set(self.counts) | set(self.moments) != used or set(self.counts) & set(self.moments):
            raise ValueError("its structure does not belong to its counts")
        fits = [not self.with_class or 0 in used]
        for c in self.counts.values():
            fits += [c.child.is_categorical, c.table.shape == (_size(c.parents), c.child.n_states)]
            fits += [self.with_class or all(p.is_categorical for p in c.parents)]
        for i, m in self.moments.items():
            child, parents = self.family(i, statistics.nodes)
            k, q = 1 + sum(v.is_continuous for v in parents), _size(parents)
            fits += [child.is_continuous, [a.shape for a in m.arrays] == [(q,), (q, k), (q, k, k)]]
            fits += [bool(m.count.any()), are_empty(m.count, m.products)]
        if not all(fits):
            raise ValueError("its counts do not belong to its structure")


def _size(parents: Sequence[Variable]) -> int:
    return prod(v.n_states for v in parents if v.is_categorical)


def collect_families(
    table: Table, parents: Sequence[Sequence[int] | None], *, settled: bool, n_jobs: int | None
) -> Families:
    """Return the counts of a structure over a table of codes (see :meth:`Encoding.table`).

    Features without a value are not used. A structure that is ``settled`` stays as it is, and only families are
    counted whose members all have values.
    """
    has_states = [v.n_states > 0 for v in table.variables[1:]]
    structure = tuple(
        p if p is None else tuple(p) if settled else tuple(u for u in p if has_states[u]) if has_states[j] else None
        for j, p in enumerate(parents)
    )
    found = Families(structure, {})
    used = [j for j, p in enumerate(structure) if p is not None and all(has_states[u] for u in (j, *p))]
    families = {j: found.family(j, table.variables) for j in used}
    check_tables([[v.n_states for v in (child, *given)] for child, given in families.values()])
    asked = [(child.name, [p.name for p in given]) for child, given in families.values()]
    counts = {j: c.dense() for j, c in zip(families, Counter(table, n_jobs=n_jobs).families(asked), strict=True)}
    return replace(found, counts=counts)


def check_tables(shapes: Sequence[Sequence[int]]) -> None:
    """Raise when the tables of a structure would not fit into memory, given the numbers of states of each family."""
    check_memory(
        "the tables of the features given the class and their parents",
        8.0 * 4 * sum(float(prod(map(float, shape))) for shape in shapes),
        ways_out="Allow fewer parents, or leave out columns with many states.",
    )


def named_parents(variables: Sequence[Variable], parents: Structure) -> dict[str, tuple[str, ...]]:
    """Return the parents of each feature that is used, by name."""
    names = [v.name for v in variables]
    return {names[j]: tuple(names[u] for u in p) for j, p in enumerate(parents) if p is not None}


def tree_parents(variables: Sequence[Variable], parents: Structure) -> dict[str, str | None]:
    """Return the one parent of each feature that is used, by name."""
    return {name: p[0] if p else None for name, p in named_parents(variables, parents).items()}


# The model


@dataclass(frozen=True, eq=False)
class FamilyModel(CodedModel):
    """A class, and features that depend on it and on each other.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    target : Variable
        The class, under a name that no feature has.
    encoding : Encoding
        How features become codes.
    parents : tuple
        The structure; see :class:`Families`.
    cpts : mapping of int to CPT
        P(x | class, parents) of each feature that is used.
    weights : ndarray of shape (n_features,), optional
        Exponents of the factors, where no feature has parents; 1 by default.
    """

    log_prior: np.ndarray
    target: Variable
    encoding: Encoding
    parents: Structure
    cpts: Mapping[int, CPT]
    weights: np.ndarray | None = None

    @property
    def is_naive(self) -> bool:  # type: ignore[override]
        """Whether no feature depends on another one."""
        return not any(self.parents)

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        out = np.repeat(self.log_prior[None], codes.shape[1], axis=0)
        hidden = np.zeros(codes.shape[1], np.bool_)
        if is_numpy_quicker(codes.size, "classifiers.likelihood", "add_families"):
            _add_families(codes, self.flat, out, hidden)
        else:
            from tunbridge.kernels.classifiers.likelihood import add_families

            add_families(codes, self.flat, out, hidden)
        if hidden.any():
            out[hidden] = self._summed_out(codes[:, hidden])
        return out

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds to log P(x, c), parents before children, (n_features, n_classes, n_rows)."""
        codes = self.encoding.codes(rows)
        out = np.zeros((len(codes), len(self.log_prior), rows.n_rows))
        hidden = np.zeros(rows.n_rows, np.bool_)
        for f, j in enumerate(self.cpts):
            start, stop = self.flat.start[f : f + 2]
            family = self.flat._replace(
                members=self.flat.members[start:stop],
                strides=self.flat.strides[start:stop],
                start=np.array([0, stop - start]),
                first=self.flat.first[f : f + 1],
            )
            found = np.zeros((rows.n_rows, len(self.log_prior)))
            _add_families(codes, family, found, hidden)
            out[j] = found.T
        if hidden.any():
            out[..., hidden] = conditional_terms(self, rows.take(hidden), parents_first(self.parents))
        return out

    def conditions(self, rows: Table) -> list[Given] | None:
        """Return for each row what the term of each feature is conditional on; None where no feature has parents."""
        return None if self.is_naive else structure_conditions(self.parents, self.encoding.codes(rows) >= 0)

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class given its parents."""
        counts = family_counts(statistics, self.parents)
        if method == "information":
            return information_of(counts, len(self.log_prior))
        found = weights_of(counts, {j: cpt.probabilities for j, cpt in self.cpts.items()})
        return found if self.weights is None else {j: float(self.weights[j]) * v for j, v in found.items()}

    @cached_property
    def flat(self) -> FamilyTables:
        """The logarithms of all tables, the class as the last axis, and where the cells of each are."""
        members, strides, start, first, tables = [], [], [0], [0], []
        for j, cpt in self.cpts.items():
            n_states = cpt.probabilities.shape[1:]
            steps = np.cumprod([1, *n_states[::-1]])[-2::-1].tolist()
            members += [j, *(self.parents[j] or ())]
            strides += [steps[-1], *steps[:-1]]
            start.append(len(members))
            with np.errstate(divide="ignore"):
                logs = np.log(np.moveaxis(cpt.probabilities, 0, -1).reshape(-1, len(self.log_prior)))
            tables.append(logs if self.weights is None else self.weights[j] * logs)
            first.append(first[-1] + len(logs))
        whole = np.concatenate(tables) if tables else np.empty((0, len(self.log_prior)))
        numbers = (np.array(a, np.int64) for a in (members, strides, start, first[:-1]))
        return FamilyTables(*numbers, np.ascontiguousarray(whole))  # type: ignore[call-arg]

    @cached_property
    def tables(self) -> tuple[ConditionalTable, ...]:
        """The tables of the network: the class's first, then those of the features that are used."""
        prior = np.exp(self.log_prior)
        return (CPT(self.target, [], prior / prior.sum()), *self.cpts.values())

    @cached_property
    def _engine(self) -> Engine:
        from tunbridge.inference import Engine  # it loads Numba, which rows without missing values do not need

        return Engine(self.tables)

    def _summed_out(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) of rows with missing parents: P(x) P(c | x), answered by the network."""
        from tunbridge.inference import batches

        used = list(self.cpts)
        rows = np.concatenate([np.full((1, codes.shape[1]), -1, codes.dtype), codes[used]])
        found = batches.answer(self._engine, rows, [0], n_jobs=1)
        with np.errstate(divide="ignore"):
            joint = found.log_evidence[:, None] + np.log(np.nan_to_num(found.marginals))
        return np.where(np.isneginf(found.log_evidence)[:, None], -np.inf, joint)


def family_model(
    statistics: Statistics,
    families: Families,
    log_prior: np.ndarray,
    smoothing: Prior,
    weights: np.ndarray | None = None,
) -> FamilyModel:
    """Return the model whose tables are estimated from the counts of families."""
    if families.with_class:
        raise ValueError("its structure must be one of the features alone")
    cpts = tables_of(list(families.counts.values()), as_table_prior(smoothing))
    return FamilyModel(
        log_prior,
        statistics.nodes[0],
        statistics.encoding,
        families.parents,
        dict(zip(families.counts, cpts, strict=True)),  # type: ignore[arg-type]
        weights,
    )


def as_table_prior(smoothing: Prior) -> Rule:
    """Return the rule for class-conditional tables.

    ``"hierarchical"`` backs off from (class, parents) over ever fewer parents to the class, and from the class to the
    feature by itself; else anything that is a prior for the tables of a network.
    """
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff(drop="last")
    return as_prior(smoothing)


def _add_families(codes: np.ndarray, families: FamilyTables, out: np.ndarray, hidden: np.ndarray) -> None:
    """Do in NumPy what the kernel of this name does: for a few rows nothing has to be compiled."""
    for f in range(len(families.first)):
        family = slice(families.start[f], families.start[f + 1])
        of_family = codes[families.members[family]]
        seen, child = (of_family >= 0).all(axis=0), of_family[0] >= 0
        hidden |= child & ~seen
        cells = families.first[f] + families.strides[family] @ of_family[:, seen]
        out[seen] += families.tables[cells]
