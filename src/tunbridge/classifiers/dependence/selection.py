"""The choice of features and parents for k-dependence Bayes, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tunbridge.classifiers.dependence.family_model import as_table_prior
from tunbridge.classifiers.dependence.family_statistics import FamilyStatistics, families_content, families_statistics
from tunbridge.classifiers.dependence.leave_one_out import aligned, best_model, mean_losses, sum_losses
from tunbridge.classifiers.dependence.prefixes import (
    Candidates,
    check_prefixes,
    factor_tables,
    prefix_counts,
    prior_without,
)
from tunbridge.classifiers.posteriors import log_class_prior
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.counts import Counts
from tunbridge.counts.families import count_families
from tunbridge.data import Table, Variable
from tunbridge.learning.trees import Pairs

Counted = Mapping[tuple[int, int], Counts]
"""The counts of features with numbers of parents."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The counts of the features that were chosen, and the losses that chose them.

    Parameters
    ----------
    families : FamilyStatistics
        The structure and its counts; features that were not chosen are not used.
    selected : tuple of int
        The features that were chosen, in order.
    k : int
        The number of parents that was chosen.
    losses : ndarray of shape (n_ranked + 1, max_k + 1)
        The leave-one-out losses a row of all numbers of features and of parents.
    """

    families: FamilyStatistics
    selected: tuple[int, ...]
    k: int
    losses: np.ndarray

    @property
    def target(self) -> Variable:
        """The class variable."""
        return self.families.target

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return self.families.class_weight

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.families.variables

    @property
    def coding(self) -> Coding:
        """How features become codes."""
        return self.families.coding

    def merge(self, other: Selection) -> Selection:
        """Return the statistics of the rows of both; the choice is ours."""
        return replace(self, families=self.families.merge(other.families))


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, and what is known of them before the choice.

    Parameters
    ----------
    tables : callable
        Gives the rows as tables of codes, the class first; it is called several times.
    pairs : Pairs
        What pairs of features tell.
    coding, target
        How features and classes become codes.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    holes : collection of int
        The features that have missing cells.
    """

    tables: Callable[[], Iterable[Table]]
    pairs: Pairs
    coding: Coding
    target: Variable
    class_weight: np.ndarray
    holes: frozenset[int]


def select(
    problem: Problem,
    *,
    max_k: int,
    max_cells: int,
    criterion: str,
    smoothing: Any,
    class_prior: Any,
    n_jobs: int | None,
) -> Selection:
    """Return the model of least leave-one-out loss: two passes, one to count and one to leave out.

    Where no class has more than one row, there is nothing to choose by: all features without parents.
    """
    weight = problem.class_weight
    log_prior = log_class_prior(class_prior, problem.target, weight)
    candidates = candidates_of(problem, max_k, max_cells)
    counts = prefix_counts(candidates, _count(problem, candidates, n_jobs))
    losses, asked = np.zeros((1, max_k + 1)), False
    if candidates.ranked:
        factors = factor_tables(candidates, counts, as_table_prior(smoothing), max_k, n_jobs)
        alone = weight <= 1.0
        prior = prior_without(weight, log_prior, counted=class_prior is None)
        sums = sum_losses(aligned(problem.tables(), alone), factors, prior, criterion, n_jobs)
        losses = mean_losses(sums, float(weight[~alone].sum()), criterion)
        asked = not alone.all()
    a, k = best_model(losses) if asked else (len(candidates.ranked), 0)
    chosen = dict(list(zip(candidates.ranked, candidates.parents, strict=True))[:a])
    structure = tuple(chosen[j][:k] if j in chosen else None for j in range(len(problem.coding.variables)))
    kept = {j: counts[j][len(p)] for j, p in enumerate(structure) if p is not None}
    families = FamilyStatistics(problem.target, weight, problem.coding, structure, kept)
    return Selection(families, tuple(chosen), k, losses)


def candidates_of(problem: Problem, max_k: int, max_cells: int) -> Candidates:
    """Return the features by what they tell about the class, each with the parents that its table has room for."""
    n_states = [v.n_states for v in problem.coding.coded]
    ranked = tuple(j for j in problem.pairs.ranked() if n_states[j])
    dependences = problem.pairs.dependences(max_k)
    parents: list[tuple[int, ...]] = []
    fitting: tuple[int, ...]
    for j in ranked:
        cells, fitting = problem.target.n_states * n_states[j], ()
        for u in dependences[j]:
            if n_states[u] and cells * n_states[u] <= max_cells:
                cells, fitting = cells * n_states[u], (*fitting, u)
        parents.append(fitting)
    return Candidates(ranked, tuple(parents))


def _count(problem: Problem, candidates: Candidates, n_jobs: int | None) -> Counted:
    """Return the counts of all families that have to be counted, over all rows."""
    coded, given = problem.coding.coded, problem.coding.class_variable(problem.target)
    parents = dict(zip(candidates.ranked, candidates.parents, strict=True))
    keys = candidates.families(problem.holes)
    check_prefixes(
        sum(prod(float(v.n_states) for v in (given, coded[j], *(coded[u] for u in parents[j][:k]))) for j, k in keys)
    )
    names = [(coded[j].name, [given.name, *(coded[u].name for u in parents[j][:k])]) for j, k in keys]
    total: dict[tuple[int, int], Counts] = {}
    for table in problem.tables():
        for key, found in zip(keys, count_families(table, names, n_jobs=n_jobs), strict=True):
            counts = found.dense()
            total[key] = replace(counts, table=total[key].table + counts.table) if key in total else counts
    return total


def selection_content(statistics: Selection) -> dict[str, Any]:
    """Return a selection as content of a native file."""
    return {
        "families": families_content(statistics.families),
        "selected": list(statistics.selected),
        "k": statistics.k,
        "losses": statistics.losses,
    }


def selection_of(content: Mapping[str, Any]) -> Selection:
    """Return the selection that a native file holds; raise ValueError where its parts do not belong together."""
    families, selected = families_statistics(content["families"]), tuple(content["selected"])
    if sorted(selected) != sorted(families.counts) or any(len(p or ()) > content["k"] for p in families.parents):
        raise ValueError("its choice does not belong to its structure")
    if content["losses"].ndim != 2 or len(content["losses"]) <= len(selected):
        raise ValueError("its losses do not belong to its choice")
    return Selection(families, selected, content["k"], content["losses"])
