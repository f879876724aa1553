"""What the classifiers of pairwise dependence keep: the counts of all pairs of features within each class.

From these alone follow the information I(X_i; X_j | C), every table P(x_j | x_i, c), and P(x_i, c): trees, multinets
and averaged one-dependence estimators need nothing else. They add up, so learning in batches is learning at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding, coding_content, coding_of, known_coding, learn_coding
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.counts import Counter, Counts, PairCounts
from tunbridge.data import Variable


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Counts of all pairs of features within the classes.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    coding : Coding
        How features become codes.
    pairs : PairCounts
        The counts; their variables are those of the coding, in order.
    """

    target: Variable
    class_weight: np.ndarray
    coding: Coding
    pairs: PairCounts

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.coding.variables

    def merge(self, other: PairStatistics) -> PairStatistics:
        """Return the statistics of the rows of both; classes and states may be new."""
        target, coding = sorted_target(self.target, other.target), self.coding.merge(other.coding)
        a, b = (s._over(target, coding) for s in (self, other))
        pairs = replace(a.pairs, matrix=a.pairs.matrix + b.pairs.matrix)
        return PairStatistics(target, a.class_weight + b.class_weight, coding, pairs)

    def _over(self, target: Variable, coding: Coding) -> PairStatistics:
        weight = np.zeros(target.n_states)
        weight[[target.code(s) for s in self.target.states or ()]] = self.class_weight
        ours = replace(self.pairs, variables=self.coding.called_like(coding))
        pairs = ours.over(coding.coded, coding.class_variable(target))
        return PairStatistics(target, weight, coding, pairs)

    def family(self, child: int, parent: int | None = None) -> Counts:
        """Return the counts of a feature given the class, and given one other feature if there is one."""
        n, first = self.pairs.matrix, self.pairs.first
        given, coded = self.pairs.given, self.coding.coded
        assert given is not None  # pairs within a class
        x = slice(first[child], first[child + 1])
        if parent is None:
            return Counts(coded[child], (given,), np.ascontiguousarray(np.diagonal(n[:, x, x], axis1=1, axis2=2)))
        table = n[:, first[parent] : first[parent + 1], x]
        return Counts(coded[child], (given, coded[parent]), table.reshape(-1, coded[child].n_states))


def collect_pairs(
    batch: Batch,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    before: PairStatistics | None,
    *,
    missing: str,
    n_jobs: int | None,
) -> PairStatistics:
    """Return the statistics of a batch of rows; ``classes`` are codes of the target's states."""
    coding = (
        learn_coding(batch, classes, weights, missing=missing) if before is None else known_coding(batch, before.coding)
    )
    table = coding.table(batch, classes, target, weights)
    pairs = Counter(table, n_jobs=n_jobs).pairs_within(coding.class_variable(target).name)
    return PairStatistics(target, class_weights(classes, weights, target), coding, pairs)


def class_weights(classes: np.ndarray, weights: np.ndarray | None, target: Variable) -> np.ndarray:
    """Return the number (or weight) of the rows of each class."""
    return np.bincount(classes, weights, minlength=target.n_states).astype(np.float64)


def are_weights(array: np.ndarray) -> bool:
    """Return whether all of an array may be counts or weights."""
    return bool(array.dtype.kind in "iuf" and np.isfinite(array).all() and (array >= 0).all())


def pairs_content(statistics: PairStatistics) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    return {
        "target": statistics.target,
        "class_weight": statistics.class_weight,
        "coding": coding_content(statistics.coding),
        "pairs": statistics.pairs.matrix,
    }


def pairs_statistics(content: Mapping[str, Any]) -> PairStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    target, coding, matrix = content["target"], coding_of(content["coding"]), content["pairs"]
    given = coding.class_variable(target)
    size, weight = sum(v.n_states for v in coding.coded), content["class_weight"]
    if matrix.shape != (target.n_states, size, size) or weight.shape != (target.n_states,):
        raise ValueError("its counts do not belong to its features and classes")
    if not (are_weights(matrix) and are_weights(weight)):
        raise ValueError("its counts are not counts")
    return PairStatistics(target, weight, coding, PairCounts(coding.coded, matrix, given))
