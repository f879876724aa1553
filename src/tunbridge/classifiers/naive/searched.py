"""What a classifier keeps whose structure was searched for: the structure, its counts, and the way it was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tunbridge._threads import map_threads
from tunbridge.classifiers.dependence.family_statistics import (
    FamilyStatistics,
    collect_families,
    families_content,
    families_statistics,
)
from tunbridge.classifiers.dependence.kdb import coding_for
from tunbridge.classifiers.naive.left_out_factors import (
    Factor,
    Rows,
    Score,
    add,
    factor,
    is_better,
    judged,
    rows_of,
    total,
)
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.counts import Counts
from tunbridge.data import Variable

Group = tuple[int, ...]
"""Features that are put together, in the order of the chain that stands for them."""

CRITERIA = ("accuracy", "log-loss")

_CLEARLY = 1.0  # nats
_KEPT_BYTES = 1 << 28
_BYTES_A_ROW = 12  # of a factor


class SearchStep(NamedTuple):
    """One step of a search, and how well each row is predicted from all others after it.

    Attributes
    ----------
    action : str
        "start", "add", "remove" or "join".
    features : tuple of str
        What was added, removed or joined; at the start the features that are used.
    accuracy : float
        The share of the rows whose class is more probable than any other.
    log_loss : float
        The mean of −log P(class | features).
    """

    action: str
    features: tuple[str, ...]
    accuracy: float
    log_loss: float


class Move(NamedTuple):
    """A change of the groups: what it is called, whom it is about, which groups go and which come."""

    action: str
    features: Group
    gone: tuple[Group, ...] = ()
    new: tuple[Group, ...] = ()


@dataclass(frozen=True, eq=False)
class SearchedStatistics:
    """A structure, the counts of its families, and the steps of the search that found it.

    Parameters
    ----------
    families : FamilyStatistics
        The structure and its counts.
    steps : tuple of SearchStep
        The way there.
    """

    families: FamilyStatistics
    steps: tuple[SearchStep, ...]

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
    def groups(self) -> tuple[Group, ...]:
        """The features that are used, those put together in one group."""
        parents = self.families.parents
        roots = [j for j, p in enumerate(parents) if p == ()]
        rest = sorted((j for j, p in enumerate(parents) if p), key=lambda j: len(parents[j] or ()))
        return tuple((j, *(u for u in rest if (parents[u] or ())[0] == j)) for j in roots)

    @property
    def counts(self) -> Mapping[int, Counts]:
        """The counts of each feature that is used."""
        return self.families.counts

    def merge(self, other: SearchedStatistics) -> SearchedStatistics:
        """Return the statistics of the rows of both, which have the same structure."""
        return replace(self, families=self.families.merge(other.families))


Groups = tuple[Group, ...]
Search = Callable[[Rows], tuple[Groups, list[SearchStep]]]


def collect_searched(
    batch: Batch,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    before: SearchedStatistics | None,
    *,
    search: Search,
    missing: str,
    class_prior: Any,
    smoothing: Any,
    n_jobs: int | None,
) -> SearchedStatistics:
    """Return the counts of the structure that a search finds in a batch of rows, or of that known before."""
    coding = coding_for(batch, classes, weights, before and before.families, missing=missing)
    codes = coding.codes(batch)
    if before is None:
        rows = rows_of(coding, codes, classes, target, weights, class_prior=class_prior, smoothing=smoothing)
        groups, steps = search(rows)
        parents = parents_of(groups, len(codes))
    else:
        parents, steps = before.families.parents, list(before.steps)
    table = coding.table_of(list(codes), classes, target, weights)
    families = collect_families(table, classes, target, coding, parents, n_jobs=n_jobs)
    return SearchedStatistics(families, tuple(steps))


def parents_of(groups: Sequence[Group], n_features: int) -> tuple[Group | None, ...]:
    """Return the structure of groups: each feature depends on those before it in its group."""
    parents: list[Group | None] = [None] * n_features
    for group in groups:
        for i, j in enumerate(group):
            parents[j] = group[:i]
    return tuple(parents)


def search_groups(
    rows: Rows,
    start: Groups,
    moves: Callable[[Groups], list[Move]],
    *,
    criterion: str,
    patience: int = 0,
    most: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Groups, list[SearchStep]]:
    """Return the groups of features that a greedy search finds, and the steps to them.

    The best move is made as long as predictions get better by it, or not worse where it leaves features out; while
    there are more than ``most`` groups; and up to ``patience`` times in a row although they do not get better, in the
    hope of those that come after. Of two log-losses one is better when all rows together are a factor of e more
    probable: less is what any feature gains or loses by chance.
    """
    here, margin = _Position(rows, start), _CLEARLY / max(1.0, float(rows.asked.sum()))
    best, score, best_steps, stalled = start, here.score(), 1, 0
    steps = [_step(rows, Move("start", tuple(j for g in start for j in g)), score)]
    while options := moves(here.groups):
        move, found = _best(options, map_threads(here.tried, options, n_jobs), criterion)
        forced = most is not None and len(best) > most
        better = is_better(found, score, criterion, margin)
        spared = move.action == "remove" and not is_better(score, found, criterion, margin)
        accepted = better or spared or forced
        if not accepted and stalled == patience:
            break
        here.go(move)
        steps.append(_step(rows, move, found))
        stalled = 0 if accepted else stalled + 1
        if accepted:
            best, best_steps = here.groups, len(steps)
            score = found if forced or is_better(found, score, criterion) else score
    return best, steps[:best_steps]


class _Position:
    """Where a search is: the groups, and log P(x, c) of every row that follows from them.

    The factors of groups that were tried are kept as far as there is room: the next step tries most of them again.
    """

    def __init__(self, rows: Rows, groups: Groups) -> None:
        self.rows, self.groups = rows, groups
        self.factors: dict[Group, Factor] = {(j,): factor(rows, (j,)) for j in rows.used}
        self.joint = total(rows, [self.factors[g] for g in groups])
        self._room = len(self.factors) + _KEPT_BYTES // max(1, _BYTES_A_ROW * len(rows.classes))

    def score(self) -> Score:
        return judged(self.rows, self.joint)

    def tried(self, move: Move) -> Score:
        """Return the score that a move would lead to."""
        new = [self._factor(g, keep=len(self.factors) < self._room) for g in move.new]
        return judged(self.rows, self.joint, more=new, less=[self.factors[g] for g in move.gone])

    def go(self, move: Move) -> None:
        """Make a move, and forget what it makes impossible."""
        for g in move.new:
            add(self.rows, self.joint, self._factor(g, keep=True), 1.0)
        for g in move.gone:
            add(self.rows, self.joint, self.factors[g], -1.0)
        self.groups = (*(g for g in self.groups if g not in move.gone), *move.new)
        apart = [set(g) for g in self.groups]
        for g in list(self.factors):
            if len(g) > 1 and not all(s <= set(g) or s.isdisjoint(g) for s in apart):
                del self.factors[g]

    def _factor(self, group: Group, *, keep: bool) -> Factor:
        found = self.factors[group] if group in self.factors else factor(self.rows, group)
        if keep:
            self.factors[group] = found
        return found


def _best(moves: Sequence[Move], scores: Sequence[Score], criterion: str) -> tuple[Move, Score]:
    """Return the move that leads to the best score; of equals the first."""
    best = 0
    for i, score in enumerate(scores):
        if is_better(score, scores[best], criterion):
            best = i
    return moves[best], scores[best]


def _step(rows: Rows, move: Move, score: Score) -> SearchStep:
    return SearchStep(move.action, tuple(rows.variables[j].name for j in move.features), *score)


def searched_content(statistics: SearchedStatistics) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    steps = [[s.action, list(s.features), s.accuracy, s.log_loss] for s in statistics.steps]
    return {"families": families_content(statistics.families), "steps": steps}


def searched_statistics(content: Mapping[str, Any]) -> SearchedStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    steps = [SearchStep(str(a), tuple(f), float(x), float(y)) for a, f, x, y in content["steps"]]
    found = SearchedStatistics(families_statistics(content["families"]), tuple(steps))
    if parents_of(found.groups, len(found.variables)) != found.families.parents:
        raise ValueError("its structure is not one of groups of features")
    return found
