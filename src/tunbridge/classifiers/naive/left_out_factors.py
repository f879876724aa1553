"""Leave-one-out from counts: what each row would be told by all others, without learning anything anew.

A table that is estimated from counts forgets a row when the row is taken away from the counts,

    P₋ᵢ(x_f | parents, c) = (n_jk − wᵢ + a_jk) / (n_j − wᵢ + a_j),

in the class of the row; the tables of all other classes stay as they are, but for P(c). So the factors of a row are one
look into a table for each class, and one corrected number for its own. Features that were put together into one are a
chain P(x₁ | c) P(x₂ | x₁, c) …, each link of which forgets the row by itself; cells that are missing are summed out.

A row of weight w counts like w rows, and one of them is left out: w is min(w, 1) above, and the row counts w times. The
states of the features, the points where numbers are cut, and the pseudo-counts a where they depend on the data, are
those of all rows; with hierarchical smoothing a row is left out of every level, with the strengths that all rows give.
A row whose class has no other row cannot be predicted from the others by anything, and is not asked. A state that only
one row has would be unknown without that row, and what is unknown counts as missing when it is predicted: so it is
missing here. A column of keys says nothing then.

References
----------
P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.classifiers.dependence.family_model import as_table_prior
from tunbridge.classifiers.dependence.pair_statistics import class_weights
from tunbridge.classifiers.posteriors import log_class_prior
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.counts import Counts
from tunbridge.data import Variable
from tunbridge.learning.backoff import BackOff
from tunbridge.learning.priors import Rule, unseen_row
from tunbridge.learning.tables import table_of

_PIECE_ROWS = 4096
_LEAST = 1e-300  # stands for probability zero, so that what was added can be taken away again
_APART = 1e-10  # logarithms nearer than this are equal: they are sums in some order


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
    """What one feature, or several put together, says about every row.

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
class Rows:
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


def rows_of(
    coding: Coding,
    codes: np.ndarray,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    *,
    class_prior: Any,
    smoothing: Any,
) -> Rows:
    """Return the rows of codes that have weight, to be left out one by one."""
    if weights is not None and not (weights > 0).all():
        present = weights > 0
        codes, classes, weights = codes[:, present], classes[present], weights[present]
    check_memory(
        "leaving out every row",
        8.0 * len(classes) * (4 * target.n_states + 2 * len(codes)),
        ways_out="Learn from a sample of the rows, and give the others to partial_fit.",
    )
    w = np.ones(len(classes)) if weights is None else weights
    codes = _without_lone_states(codes, w)
    n_c = class_weights(classes, w, target)
    rest = n_c[classes] - np.minimum(w, 1.0)
    alone = rest <= _APART
    log_prior = np.maximum(log_class_prior(class_prior, target, n_c), np.log(_LEAST))
    prior = np.repeat(log_prior[None], len(classes), axis=0)
    if class_prior is None:
        prior[np.arange(len(classes)), classes] += np.log(np.where(alone, 1.0, rest / n_c[classes]))
    asked, given = np.where(alone, 0.0, w), coding.class_variable(target)
    return Rows(codes, coding.coded, given, classes, w, asked, log_prior, prior, as_table_prior(smoothing))


def _without_lone_states(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the codes with those states missing that one row has, and no other."""
    out = codes.copy()
    for column in out:
        seen = column >= 0
        alone = np.bincount(column[seen], minlength=1) == 1
        column[seen] = np.where(alone[column[seen]] & (weights[seen] <= 1.0), -1, column[seen])
    return out


def factor(rows: Rows, members: Sequence[int]) -> Factor:
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


def n_cells(rows: Rows, members: Sequence[int]) -> int:
    """Return the number of joint states of some features."""
    return prod(rows.variables[j].n_states for j in members)


def total(rows: Rows, factors: Sequence[Factor]) -> np.ndarray:
    """Return log P(x, c) for every row, left out, up to a constant of the row, (n_rows, n_classes)."""
    out = rows.prior.copy()
    for each in factors:
        add(rows, out, each, 1.0)
    return out


def add(rows: Rows, joint: np.ndarray, added: Factor, sign: float, start: int = 0) -> None:
    """Add a factor to the rows of log P(x, c) from ``start`` on, or take it away (sign −1)."""
    here = slice(start, start + len(joint))
    found = added.table.take(added.cells[here], axis=0)
    found[np.arange(len(found)), rows.classes[here]] = added.own[here]
    if sign > 0:
        joint += found
    else:
        joint -= found


def judged(rows: Rows, joint: np.ndarray, more: Sequence[Factor] = (), less: Sequence[Factor] = ()) -> Score:
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


def _counted(rows: Rows, members: Sequence[int]) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Return the counts of the last link of a chain, the rows that are in them, and the cell of each of these."""
    variables = [rows.target, *(rows.variables[j] for j in members)]
    seen = np.flatnonzero((rows.codes[list(members)] >= 0).all(axis=0))
    shape = [v.n_states for v in variables]
    numbers = _numbered(np.concatenate([rows.classes[None, seen], rows.codes[list(members)][:, seen]]), shape)
    table = np.bincount(numbers, rows.weights[seen], minlength=prod(shape)).reshape(-1, shape[-1])
    return Counts(variables[-1], tuple(variables[:-1]), table), seen, numbers


def _forgotten(
    rows: Rows, counts: Counts, raised: np.ndarray | None, seen: np.ndarray, numbers: np.ndarray
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
    """Return P(x | c) of all states and missing cells, cell × class; the first state of each feature is «missing»."""
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
