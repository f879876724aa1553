"""Leave-one-out from counts, and searches that are guided by it: what each row would get from all others.

A table that is estimated from counts forgets a row when the row is taken away from the counts,

    P₋ᵢ(x_f | parents, c) = (n_jk − wᵢ + a_jk) / (n_j − wᵢ + a_j),

in the class of the row; the tables of all other classes stay as they are, but for P(c). So the factors of a row are one
look into a table for each class, and one corrected number for its own. Features that were joined are a chain
P(x₁ | c) P(x₂ | x₁, c) …, each link of which forgets the row by itself; missing values are summed out.

A row of weight w counts like w rows, and one of them is left out: w is min(w, 1) above, and the row counts w times. The
states of the features, the bins of numbers, and the pseudo-counts a where they depend on the data, are those of all
rows; with hierarchical smoothing a row is left out of every level, with the strengths that all rows give. A row whose
class has no other row cannot be predicted from the others, and is not asked. A state that only one row has would be
unseen without that row, and is missing here: so a column of keys says nothing.

References
----------
P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import log_class_prior
from tunbridge.classifiers._rows import ClassPrior, Examples
from tunbridge.classifiers._statistics import Encoding, Part, Statistics, learn_encoding
from tunbridge.classifiers.dependence._families import CountedClassifier, Families, as_table_prior, collect_families
from tunbridge.counts import Counts
from tunbridge.data import Variable
from tunbridge.learning.parameters.backoff import BackOff
from tunbridge.learning.parameters.priors import Prior, Rule, table_of, unseen_row

Group = tuple[int, ...]
"""Features that are joined, in the order of the chain that stands for them."""

Groups = tuple[Group, ...]

CRITERIA = ("accuracy", "log-loss")

_PIECE_ROWS = 4096
_LEAST = 1e-300  # stands for probability zero, so that what was added can be taken away again
_APART = 1e-10  # logarithms nearer than this are equal: they are sums in some order
_CLEARLY = 1.0  # nats
_KEPT_BYTES = 1 << 28
_BYTES_A_ROW = 12  # of a factor


class Score(NamedTuple):
    """How well the rows are predicted, each from all others.

    Attributes
    ----------
    accuracy : float
        The share of the rows whose class is more probable than any other.
    log_loss : float
        The mean of −log P(class of the row | features).
    """

    accuracy: float
    log_loss: float


class Factor(NamedTuple):
    """What one feature, or several joined ones, say about every row.

    Attributes
    ----------
    cells : ndarray of shape (n_rows,)
        The row of the table for each row of data.
    table : ndarray of shape (n_cells, n_classes)
        log P(x | c), all rows counted.
    own : ndarray of shape (n_rows,)
        log P(x | c) in the class of the row, which is left out.
    """

    cells: np.ndarray
    table: np.ndarray
    own: np.ndarray


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows of codes to be left out one by one.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        The features; −1 where there is no value, or one that no other row has.
    variables : tuple of Variable
        The features.
    target : Variable
        The class, under a name that no feature has.
    classes : ndarray of shape (n_rows,)
        The code of the class of each row.
    weights : ndarray of shape (n_rows,)
        How many rows each row counts like; none is zero.
    asked : ndarray of shape (n_rows,)
        What each row counts when predictions are judged: its weight, or nothing where its class has no other row.
    log_prior : ndarray of shape (n_classes,)
        log P(c), all rows counted.
    prior : ndarray of shape (n_rows, n_classes)
        log P(c), up to a constant, the row left out.
    rule : prior for tables
        How counts become tables.
    """

    codes: np.ndarray
    variables: tuple[Variable, ...]
    target: Variable
    classes: np.ndarray
    weights: np.ndarray
    asked: np.ndarray
    log_prior: np.ndarray
    prior: np.ndarray
    rule: Rule

    @property
    def removed(self) -> np.ndarray:
        """What of each row is left out."""
        return np.minimum(self.weights, 1.0)

    @property
    def used(self) -> list[int]:
        """The features that have states."""
        return [j for j, v in enumerate(self.variables) if v.n_states]


def left_out_rows(
    examples: Examples, encoding: Encoding, codes: np.ndarray, *, class_prior: ClassPrior, smoothing: Prior
) -> LeftOut:
    """Return the rows of codes that have weight, to be left out one by one."""
    target, classes, w = examples.target, examples.classes, examples.mass
    if not (w > 0).all():
        present = w > 0
        codes, classes, w = codes[:, present], classes[present], w[present]
    check_memory(
        "leaving out every row",
        8.0 * len(classes) * (4 * target.n_states + 2 * len(codes)),
        ways_out="Learn from a sample of the rows, and give the others to partial_fit.",
    )
    codes = _without_lone_states(codes, w)
    n_c = np.bincount(classes, w, minlength=target.n_states)
    rest = n_c[classes] - np.minimum(w, 1.0)
    alone = rest <= _APART
    log_prior = np.maximum(log_class_prior(class_prior, target, n_c), np.log(_LEAST))
    prior = np.repeat(log_prior[None], len(classes), axis=0)
    if class_prior is None:
        prior[np.arange(len(classes)), classes] += np.log(np.where(alone, 1.0, rest / n_c[classes]))
    asked, given = np.where(alone, 0.0, w), encoding.nodes(target)[0]
    return LeftOut(codes, encoding.coded, given, classes, w, asked, log_prior, prior, as_table_prior(smoothing))


def _without_lone_states(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the codes with those states missing that one row has, and no other."""
    out = codes.copy()
    for column in out:
        seen = column >= 0
        alone = np.bincount(column[seen], minlength=1) == 1
        column[seen] = np.where(alone[column[seen]] & (weights[seen] <= 1.0), -1, column[seen])
    return out


def factor(rows: LeftOut, members: Sequence[int]) -> Factor:
    """Return what one feature says about every row, or several as a chain."""
    n_states = [rows.variables[j].n_states for j in members]
    check_memory(
        f"the table of {len(members)} joined features",
        8.0 * 4 * rows.target.n_states * prod(n + 1.0 for n in n_states),
        ways_out="Use a smaller max_states, or leave out columns with many states.",
    )
    joint = np.ones((rows.target.n_states, 1))
    correction = np.zeros(len(rows.classes))
    for i in range(len(members)):
        counts, seen, numbers = _counted(rows, members[: i + 1])
        cpt = table_of(counts, rows.rule)
        probabilities = cpt.table().reshape(counts.table.shape)
        joint = (joint.reshape(-1, 1) * probabilities).reshape(len(joint), -1)
        here = np.maximum(probabilities.ravel()[numbers], _LEAST)
        correction[seen] += np.log(_forgotten(rows, counts, cpt.counts, seen, numbers)) - np.log(here)
    table = np.log(np.maximum(_with_missing(joint, n_states), _LEAST))
    cells = _numbered(rows.codes[list(members)] + 1, [n + 1 for n in n_states])
    return Factor(cells.astype(np.int32), table, table[cells, rows.classes] + correction)


def n_cells(rows: LeftOut, members: Sequence[int]) -> int:
    """Return the number of joint states of some features."""
    return prod(rows.variables[j].n_states for j in members)


def total(rows: LeftOut, factors: Sequence[Factor]) -> np.ndarray:
    """Return log P(x, c) for every row, left out, up to a constant of the row, (n_rows, n_classes)."""
    out = rows.prior.copy()
    for each in factors:
        add(rows, out, each, 1.0)
    return out


def add(rows: LeftOut, joint: np.ndarray, added: Factor, sign: float, start: int = 0) -> None:
    """Add a factor to the rows of log P(x, c) from ``start`` on, or take it away (sign −1)."""
    here = slice(start, start + len(joint))
    found = added.table.take(added.cells[here], axis=0)
    found[np.arange(len(found)), rows.classes[here]] = added.own[here]
    if sign > 0:
        joint += found
    else:
        joint -= found


def judged(rows: LeftOut, joint: np.ndarray, more: Sequence[Factor] = (), less: Sequence[Factor] = ()) -> Score:
    """Return how well the rows are predicted by log P(x, c) with some factors added and others taken away."""
    right = loss = 0.0
    for start, stop in row_pieces(len(joint), _PIECE_ROWS):
        piece, classes, w = joint[start:stop].copy(), rows.classes[start:stop], rows.asked[start:stop]
        for each in more:
            add(rows, piece, each, 1.0, start)
        for each in less:
            add(rows, piece, each, -1.0, start)
        gap = _gap(piece, classes)
        right += float(w @ (gap[0] > _APART))
        loss += float(w @ gap[1])
    n = float(rows.asked.sum())
    return Score(right / n, loss / n) if n else Score(0.0, 0.0)


def _gap(joint: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much the class of each row is ahead of the others, and its −log P; the array is used up."""
    at = np.arange(len(classes)), classes
    own = joint[at]
    joint -= own[:, None]
    joint[at] = -np.inf
    best = joint.max(axis=1)
    top = np.maximum(best, 0.0)
    joint -= top[:, None]
    loss = top + np.log(np.exp(-top) + np.exp(joint, out=joint).sum(axis=1))
    return -best, loss


def is_better(one: Score, other: Score, criterion: str, margin: float = 0.0) -> bool:
    """Whether one score beats another: by accuracy, then by log-loss; or by log-loss alone, by more than a margin."""
    if criterion == "accuracy" and abs(one.accuracy - other.accuracy) > _APART:
        return one.accuracy > other.accuracy
    return one.log_loss < other.log_loss - max(margin, _APART * max(1.0, other.log_loss))


def _counted(rows: LeftOut, members: Sequence[int]) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Return the counts of the last link of a chain, the rows that are in them, and the cell of each of these."""
    variables = [rows.target, *(rows.variables[j] for j in members)]
    seen = np.flatnonzero((rows.codes[list(members)] >= 0).all(axis=0))
    shape = [v.n_states for v in variables]
    numbers = _numbered(np.concatenate([rows.classes[None, seen], rows.codes[list(members)][:, seen]]), shape)
    table = np.bincount(numbers, rows.weights[seen], minlength=prod(shape)).reshape(-1, shape[-1])
    return Counts(variables[-1], tuple(variables[:-1]), table), seen, numbers


def _forgotten(
    rows: LeftOut, counts: Counts, raised: np.ndarray | None, seen: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return the probability of the cell of each row when the row is left out of the counts."""
    if isinstance(rows.rule, BackOff):
        return np.maximum(rows.rule.left_out(counts)[1].ravel()[numbers], _LEAST)
    assert raised is not None  # every rule leaves the counts with its table
    table = raised.reshape(counts.table.shape)
    configuration, state = np.divmod(numbers, counts.child.n_states)
    rest = table.sum(axis=1)[configuration] - rows.removed[seen]
    n = np.maximum(table.ravel()[numbers] - rows.removed[seen], 0.0)
    empty = rest <= _APART
    found = n / np.where(empty, 1.0, rest)
    return np.maximum(np.where(empty, unseen_row(rows.rule, counts)[state], found), _LEAST)


def _with_missing(joint: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return P(x | c), cell × class; the first state of each feature is a missing value."""
    table = joint.reshape(len(joint), *n_states)
    for axis in range(1, table.ndim):
        table = np.concatenate([table.sum(axis=axis, keepdims=True), table], axis=axis)
    return np.ascontiguousarray(table.reshape(len(joint), -1).T)


def _numbered(codes: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return the number of the joint state of each row, the last feature running fastest."""
    out = np.zeros(codes.shape[1], np.intp)
    for code, n in zip(codes, n_states, strict=True):
        out *= n
        out += code
    return out


# Searches


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
    """A change of the groups: its name, the features it is about, the groups that go and those that come."""

    action: str
    features: Group
    gone: tuple[Group, ...] = ()
    new: tuple[Group, ...] = ()


class Plan(NamedTuple):
    """Where a search begins, the moves from given groups, and the most groups that it may end with."""

    start: Groups
    moves: Callable[[Groups], list[Move]]
    most: int | None = None


@dataclass(frozen=True, eq=False)
class Steps(Part):
    """The steps of the search that found the structure."""

    name: ClassVar[str] = "search"

    steps: tuple[SearchStep, ...]

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the structure is one of groups of features."""
        families = statistics.families
        if parents_of(groups_of(families), len(families.parents)) != families.parents:
            raise ValueError("its structure is not one of groups of features")


@dataclass(kw_only=True, eq=False, repr=False)
class SearchedClassifier(CountedClassifier):
    """Base class of naive Bayes classifiers that choose or join features by leave-one-out."""

    parts = (Families, Steps)

    criterion: str = "accuracy"
    patience: int = 1
    smoothing: Prior = 1.0

    @abstractmethod
    def plan(self, rows: LeftOut) -> Plan:
        """Return where the search begins, and what it may do."""

    @property
    def trace_(self) -> tuple[SearchStep, ...]:
        """The steps of the search."""
        steps: tuple[SearchStep, ...] = self.statistics_.search.steps
        return steps

    def _check_parameters(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        check_integer("patience", self.patience, low=0)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of the structure that the search finds; further rows keep it."""
        encoding = learn_encoding(examples, before, missing=self.missing)
        codes = encoding.codes(examples.rows)
        if before is None:
            rows = left_out_rows(examples, encoding, codes, class_prior=self.class_prior, smoothing=self.smoothing)
            groups, steps = search_groups(rows, self.plan(rows), self.criterion, self.patience, self.n_jobs)
            parents, search = parents_of(groups, len(codes)), Steps(tuple(steps))
        else:
            parents, search = before.families.parents, before.search
        table = encoding.table(examples, codes=list(codes))
        families = collect_families(table, parents, settled=before is not None, n_jobs=self.n_jobs)
        return Statistics.of(examples, encoding, families, search)

    def _described(self) -> dict[str, str]:
        names = [v.name for v in self.variables_]
        groups = [" and ".join(names[j] for j in group) for group in groups_of(self.statistics_.families)]
        return {"selected": ", ".join(groups) or "no feature"}


def groups_of(families: Families) -> Groups:
    """Return the features that are used, joined ones in one group."""
    parents = families.parents
    rest = sorted((j for j, p in enumerate(parents) if p), key=lambda j: len(parents[j] or ()))
    return tuple((j, *(u for u in rest if (parents[u] or ())[0] == j)) for j, p in enumerate(parents) if p == ())


def parents_of(groups: Sequence[Group], n_features: int) -> tuple[Group | None, ...]:
    """Return the structure of groups: each feature depends on those before it in its group."""
    parents: list[Group | None] = [None] * n_features
    for group in groups:
        for i, j in enumerate(group):
            parents[j] = group[:i]
    return tuple(parents)


def search_groups(
    rows: LeftOut, plan: Plan, criterion: str, patience: int, n_jobs: int | None
) -> tuple[Groups, list[SearchStep]]:
    """Return the groups of features that a greedy search finds, and the steps to them.

    The best move is made as long as predictions get better by it, or not worse where it leaves features out; while
    there are more groups than the plan allows; and up to ``patience`` times in a row although they do not get better.
    One log-loss is better than another when all rows together are a factor of e more probable: any feature gains or
    loses less than that by chance.
    """
    start, most = plan.start, plan.most
    here, margin = _Position(rows, start), _CLEARLY / max(1.0, float(rows.asked.sum()))
    best, score, best_steps, stalled = start, here.score(), 1, 0
    steps = [_step(rows, Move("start", tuple(j for g in start for j in g)), score)]
    while options := plan.moves(here.groups):
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

    def __init__(self, rows: LeftOut, groups: Groups) -> None:
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


def _step(rows: LeftOut, move: Move, score: Score) -> SearchStep:
    return SearchStep(move.action, tuple(rows.variables[j].name for j in move.features), *score)
