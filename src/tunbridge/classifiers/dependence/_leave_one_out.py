"""Leave-one-out of many k-dependence models in one pass: every number of features with every number of parents.

The features are sorted x₁ … x_n, and so are the parents p₁ p₂ … of each, the most telling first. Model (a, k) uses the
first a features, and the first k parents of each,

    P(c | x) ∝ P(c) Π_{f ≤ a} P(x_f | c, p₁ … p_k),

so adding a feature to a model is one multiplication for each class. A row is left out by taking it away from its
counts: in its own class the factor is the one that all other rows of the cell give, in the other classes it is the
usual one. Both depend on the cell, not on the row, and are computed once for each cell; for Laplace's rule they are

    own:  (n_jk − 1 + γ) / (n_j − 1 + γ r),      others:  (n_jk + γ) / (n_j + γ r).

Where tables are drawn towards the marginal P(x) of the feature (``MEstimate(m, "marginal")``), the row is left out of
that too, in all classes; with hierarchical smoothing it is left out of every level of its own class as well. What is
learned from all rows together stays: the order, the parents, bins, states, the pseudo-counts of other priors and the
strengths of the smoothing. What is taken away from a cell is one row, or all that the cell has where rows weigh less.

A row of weight w counts like w rows, each of them left out singly. A row whose class has no other row is not asked:
nothing could predict it. Missing values add nothing; a missing parent, and those after it, are left out of that row's
factor (the model that is chosen sums it out exactly).

References
----------
A. M. Martínez, G. I. Webb, S. Chen, N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers. Journal of
Machine Learning Research 17 (44), 1–35.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.packing import FloatArray
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._statistics import Part, Statistics
from tunbridge.counts import Counter, Counts
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Table
from tunbridge.kernels.classifiers.records import CodedRows, PrefixTables, Shares
from tunbridge.learning.parameters.backoff import BackOff
from tunbridge.learning.parameters.priors import Rule, pseudo_counts, unseen_row
from tunbridge.learning.searches.trees import Pairs
from tunbridge.probability import MEstimate

CRITERIA = ("log-loss", "rmse", "error")
"""How losses are measured: mean −log P(c | x), root of the mean (1 − P(c | x))², share of wrong classes."""

PIECE_ROWS = 8192
"""Rows that are summed together; pieces begin at multiples of it whatever the batches, so that sums are the same."""

_LEAST = 2.0**-52
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Selection(Part):
    """The choice of features and parents, and the losses that it was made by.

    Parameters
    ----------
    selected : tuple of int
        The features that were chosen, in order.
    k : int
        The number of parents that was chosen.
    losses : ndarray of shape (n_ranked + 1, max_k + 1)
        The mean leave-one-out losses of all numbers of features and of parents.
    """

    name: ClassVar[str] = "selection"

    selected: tuple[int, ...]
    k: int
    losses: FloatArray

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the choice belongs to the structure."""
        families = statistics.families
        if sorted(self.selected) != sorted(families.counts) or any(len(p or ()) > self.k for p in families.parents):
            raise ValueError("its choice does not belong to its structure")
        if self.losses.ndim != 2 or len(self.losses) <= len(self.selected):
            raise ValueError("its losses do not belong to its choice")


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, and what is known of them before the choice.

    Parameters
    ----------
    statistics : Statistics
        The classes, their weights, and how features are encoded.
    tables : callable
        Gives the rows as tables of codes, the class first; it is called several times.
    pairs : Pairs
        The information of pairs of features.
    missing : frozenset of int
        The features that have missing values.
    """

    statistics: Statistics
    tables: Callable[[], Iterable[Table]]
    pairs: Pairs
    missing: frozenset[int]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The features in order, and the parents that each may have.

    Parameters
    ----------
    ranked : tuple of int
        The features, the first to be used first.
    parents : tuple of tuple of int
        The parents of each feature in this order, the most telling first.
    """

    ranked: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def families(self, missing: Iterable[int]) -> list[tuple[int, int]]:
        """Return the (feature, number of parents) that have to be counted; the others are sums of them.

        Where values are missing a family counts the rows that miss none of its own members, so that fewer parents have
        more rows, and each number of parents is counted by itself.
        """
        some, found = set(missing), []
        for feature, parents in zip(self.ranked, self.parents, strict=True):
            least = len(parents) if some.isdisjoint(parents) else 0
            found += [(feature, k) for k in range(least, len(parents) + 1)]
        return found


def candidates_of(problem: Problem, max_k: int, max_cells: int) -> Candidates:
    """Return the features by what they tell about the class, each with the parents that its table has room for."""
    n_states = [v.n_states for v in problem.statistics.encoding.coded]
    ranked = tuple(j for j in problem.pairs.ranked() if n_states[j])
    dependences = problem.pairs.dependences(max_k)
    parents: list[tuple[int, ...]] = []
    fitting: tuple[int, ...]
    for j in ranked:
        cells, fitting = problem.statistics.target.n_states * n_states[j], ()
        for u in dependences[j]:
            if n_states[u] and cells * n_states[u] <= max_cells:
                cells, fitting = cells * n_states[u], (*fitting, u)
        parents.append(fitting)
    return Candidates(ranked, tuple(parents))


def count_candidates(problem: Problem, candidates: Candidates, n_jobs: int | None) -> Mapping[tuple[int, int], Counts]:
    """Return the counts of all families that have to be counted, over all rows."""
    given, *coded = problem.statistics.nodes
    parents = dict(zip(candidates.ranked, candidates.parents, strict=True))
    keys = candidates.families(problem.missing)
    check_memory(
        "the tables of all numbers of parents",  # counts, two factors, and those of fewer parents
        8.0 * 6 * sum(
            prod(float(v.n_states) for v in (given, coded[j], *(coded[u] for u in parents[j][:k]))) for j, k in keys
        ),
        ways_out="Use a smaller max_k or max_cells, or leave out columns with many states.",
    )  # fmt: skip
    names = [(coded[j].name, [given.name, *(coded[u].name for u in parents[j][:k])]) for j, k in keys]
    total: dict[tuple[int, int], Counts] = {}
    for table in problem.tables():
        for key, found in zip(keys, Counter(table, n_jobs=n_jobs).families(names), strict=True):
            counts = found.dense()
            total[key] = replace(counts, table=total[key].table + counts.table) if key in total else counts
    return total


# From counts to factors


def prefix_counts(candidates: Candidates, counted: Mapping[tuple[int, int], Counts]) -> dict[int, list[Counts]]:
    """Return the counts of each feature with none, one, … all of its parents."""
    found = {}
    for feature, parents in zip(candidates.ranked, candidates.parents, strict=True):
        levels = [counted[feature, len(parents)]]
        for k in range(len(parents) - 1, -1, -1):
            levels.append(counted.get((feature, k)) or _without_last(levels[-1]))
        found[feature] = levels[::-1]
    return found


def _without_last(counts: Counts) -> Counts:
    r, s = counts.child.n_states, counts.parents[-1].n_states
    return Counts(counts.child, counts.parents[:-1], counts.table.reshape(-1, s, r).sum(axis=1))


def factor_tables(
    candidates: Candidates, counts: Mapping[int, Sequence[Counts]], rule: Rule, max_k: int, n_jobs: int | None
) -> PrefixTables:
    """Return the factors of every feature with every number of parents."""
    levels = [(j, k) for j in candidates.ranked for k in range(len(counts[j]))]
    tables = map_threads(lambda which: _factors(counts[which[0]][which[1]], rule), levels, n_jobs)
    first = np.zeros((len(candidates.ranked), max_k + 1), np.int64)
    ends, place = np.cumsum([0, *(len(own) for own, _ in tables)]), {j: f for f, j in enumerate(candidates.ranked)}
    for (j, k), begin in zip(levels, ends[:-1], strict=True):
        first[place[j], k] = begin
    families = [(j, *p) for j, p in zip(candidates.ranked, candidates.parents, strict=True)]
    sizes = [v.n_states for j in candidates.ranked for v in (counts[j][-1].child, *counts[j][-1].parents[1:])]
    return PrefixTables(
        np.array([u for family in families for u in family], np.int64),
        np.cumsum([0, *map(len, families)]),
        np.array(sizes, np.int64),
        first,
        np.concatenate([own for own, _ in tables]),
        np.concatenate([others for _, others in tables]),
    )


def _factors(counts: Counts, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`left_out` with the child as the first axis, then the parents, and the class as the last."""
    shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
    order = (len(shape) - 1, *range(1, len(shape) - 1), 0)
    own, others = (p.reshape(shape).transpose(order).reshape(-1, shape[0]) for p in left_out(counts, rule))
    return own, others


def left_out(counts: Counts, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Return P(x | class, parents) for each cell: without one of its rows, and without a row of another class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("wind", ["play"])
    >>> counts.table.tolist()
    [[3, 2], [3, 6]]
    >>> own, others = left_out(counts, tb.Laplace(1.0))
    >>> own[0].tolist() == [3 / 6, 2 / 6], others[0].tolist() == [4 / 7, 3 / 7]
    (True, True)
    """
    if isinstance(rule, BackOff):
        return rule.left_out(counts)
    n = counts.table.astype(np.float64)
    one = np.minimum(n, 1.0)
    if isinstance(rule, MEstimate) and rule.p == "marginal":
        added = [_drawn_to_marginal(n, gone, rule) for gone in (one, np.minimum(n.sum(axis=0), 1.0))]
        of_row = float(n.shape[1] if rule.m == "n_states" else rule.m)
    else:
        added = [pseudo_counts(rule, counts)] * 2
        of_row = added[0].sum(axis=1, keepdims=True)
    n_j, unseen = n.sum(axis=1, keepdims=True), unseen_row(rule, counts)
    return (_shares(n - one + added[0], n_j - one + of_row, unseen), _shares(n + added[1], n_j + of_row, unseen))


def _drawn_to_marginal(n: np.ndarray, gone: np.ndarray, rule: MEstimate) -> np.ndarray:
    """Return m p_k, where p are the frequencies of the states in all rows but one of state k."""
    m, r = n.shape[1] if rule.m == "n_states" else rule.m, max(1, n.shape[1])
    rows = np.broadcast_to(n.sum() - gone, n.shape)
    return m * np.divide(n.sum(axis=0) - gone, rows, out=np.full(n.shape, 1.0 / r), where=rows > 0.0)


def _shares(raised: np.ndarray, totals: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    totals = np.broadcast_to(totals, raised.shape)
    return np.divide(raised, totals, out=np.broadcast_to(unseen, raised.shape).copy(), where=totals > 0.0)


def prior_without(class_weight: np.ndarray, log_prior: np.ndarray, *, counted: bool) -> np.ndarray:
    """Return P(c) without a row of class y, (y, c); a prior that is not counted stays what it is."""
    if not counted:
        return np.tile(np.exp(log_prior), (len(log_prior), 1))
    left = np.tile(class_weight, (len(class_weight), 1)) - np.diag(np.minimum(class_weight, 1.0))
    totals = left.sum(axis=1, keepdims=True)
    return np.where(totals > 0.0, left / np.where(totals > 0.0, totals, 1.0), np.exp(log_prior))


# The pass


def aligned(tables: Iterable[Table], alone: np.ndarray) -> Iterator[CodedRows]:
    """Yield the rows of tables, the class first, in blocks that end at multiples of the piece size, but for the last.

    Rows of classes that are ``alone`` (with one row) weigh nothing.
    """
    waiting: CodedRows | None = None
    for table in tables:
        rows = _rows(table, alone)
        if waiting is not None:
            rows = CodedRows(*(np.concatenate(pair, axis=-1) for pair in zip(waiting, rows, strict=True)))
        whole = len(rows.classes) // PIECE_ROWS * PIECE_ROWS
        if whole:
            yield CodedRows(*(a[..., :whole] for a in rows))
        waiting = CodedRows(*(a[..., whole:] for a in rows))
    if waiting is not None and len(waiting.classes):
        yield waiting


def _rows(table: Table, alone: np.ndarray) -> CodedRows:
    kind = np.result_type(np.int8, *(c.dtype for c in table.columns[1:]))
    check_memory(
        "the codes of all rows",
        float(kind.itemsize) * table.n_columns * table.n_rows,
        ways_out="Learn in batches: fit_batches.",
    )
    codes = np.array(table.columns[1:], kind).reshape(table.n_columns - 1, table.n_rows)
    classes = table.columns[0].astype(np.int64)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    return CodedRows(codes, classes, np.where(alone[classes], 0.0, weights))


def sum_losses(
    blocks: Iterable[CodedRows], tables: PrefixTables, prior: np.ndarray, criterion: str, n_jobs: int | None
) -> np.ndarray:
    """Return the sums of the losses of all rows, (n_features + 1, max_k + 1)."""
    measure = CRITERIA.index(criterion)
    total = np.zeros((len(tables.first) + 1, tables.first.shape[1]))

    def piece_losses(rows: CodedRows) -> np.ndarray:
        return _piece_losses(rows, tables, prior, measure)

    for block in blocks:
        cuts = row_pieces(len(block.classes), PIECE_ROWS, len(prior) * total.shape[1])
        pieces = [CodedRows(*(a[..., i:j] for a in block)) for i, j in cuts]
        for found in map_threads(piece_losses, pieces, n_jobs):
            total += found
    return total


def _piece_losses(rows: CodedRows, tables: PrefixTables, prior: np.ndarray, measure: int) -> np.ndarray:
    n_rows, out = len(rows.classes), np.zeros((len(tables.first) + 1, tables.first.shape[1]))
    if rows.codes.size <= SMALL_CELLS:
        _add_losses(rows, tables, prior, measure, out)
        return out
    from tunbridge.kernels.classifiers.leave_one_out import add_losses

    shape = (n_rows, out.shape[1], len(prior))
    codes, weights = np.ascontiguousarray(rows.codes, np.int32), np.ascontiguousarray(rows.weights)
    room = Shares(np.empty(shape), np.empty(shape, np.int32), np.empty(shape[:2], np.bool_))
    add_losses(CodedRows(codes, rows.classes, weights), tables, prior, measure, room, out)
    return out


def _add_losses(rows: CodedRows, tables: PrefixTables, prior: np.ndarray, measure: int, out: np.ndarray) -> None:
    """Do in NumPy, and in logarithms, what the kernel of this name does: for a few rows nothing has to be compiled."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)[rows.classes]
    joint = [log_prior.copy() for _ in range(out.shape[1])]
    out[0] += _weighed(log_prior, log_prior, rows, measure).sum()
    for f in range(len(tables.first)):
        for k, log_factors in enumerate(_log_factors(rows, tables, f, out.shape[1])):
            joint[k] += log_factors
            out[f + 1, k] += _weighed(joint[k], log_prior, rows, measure).sum()


def _log_factors(rows: CodedRows, tables: PrefixTables, f: int, n_levels: int) -> Iterator[np.ndarray]:
    """Yield what a feature with no, one, … parents adds to log P(x, c) of each row."""
    members = tables.members[tables.start[f] : tables.start[f + 1]]
    sizes = tables.sizes[tables.start[f] : tables.start[f + 1]]
    codes, i = rows.codes[members].astype(np.int64), np.arange(len(rows.classes))
    cell, level = codes[0], np.zeros(len(i), np.int64)
    for k in range(n_levels):
        if 0 < k < len(members):
            deeper = (level == k - 1) & (codes[k] >= 0)
            cell, level = np.where(deeper, cell * sizes[k] + codes[k], cell), np.where(deeper, k, level)
        at = tables.first[f, level] + np.maximum(cell, 0)
        factors = tables.others[at]
        factors[i, rows.classes] = tables.own[at, rows.classes]
        factors[codes[0] < 0] = 1.0
        with np.errstate(divide="ignore"):
            yield np.log(factors)


def _weighed(joint: np.ndarray, log_prior: np.ndarray, rows: CodedRows, measure: int) -> np.ndarray:
    """Return the weighted loss of each row, from log P(x, c)."""
    joint = np.where(np.isneginf(joint.max(axis=1, keepdims=True)), log_prior, joint)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    own = (shares / shares.sum(axis=1, keepdims=True))[np.arange(len(joint)), rows.classes]
    if measure == CRITERIA.index("log-loss"):
        return rows.weights * -np.log(np.maximum(own, _LEAST))
    if measure == CRITERIA.index("rmse"):
        return rows.weights * (1.0 - own) ** 2
    return rows.weights * (joint.argmax(axis=1) != rows.classes)


def mean_losses(sums: np.ndarray, n_rows: float, criterion: str) -> np.ndarray:
    """Return the mean losses; 0 where no row could be left out."""
    means = sums / n_rows if n_rows > 0.0 else np.zeros_like(sums)
    return np.sqrt(means) if criterion == "rmse" else means


def best_model(losses: np.ndarray) -> tuple[int, int]:
    """Return the numbers of features and of parents with the least loss; of equal losses the fewest, features first.

    Examples
    --------
    >>> best_model(np.array([[0.7, 0.7], [0.5, 0.4], [0.4, 0.6]]))
    (1, 1)
    """
    least = losses.min()
    a, k = np.argwhere(losses <= least + _EQUAL * max(1.0, float(least)))[0].tolist()
    return a, k
