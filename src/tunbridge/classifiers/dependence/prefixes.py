"""The factors of k-dependence Bayes for every number of parents, with all rows and with one left out.

The parents of a feature stand in an order p₁ p₂ …, and a model with k of them takes the first k. A row is left out by
taking it away from its counts: in its own class the factor P(x | c, p₁ … p_k) is the one that all other rows of the
cell tell, in the other classes it is the usual one. Both are numbers of a cell, not of a row, and so are computed once
for each cell; for Laplace's rule they are

    own:  (n_jk − 1 + γ) / (n_j − 1 + γ r),      others:  (n_jk + γ) / (n_j + γ r).

Where tables are drawn towards the marginal P(x) of the feature (``MEstimate(m, "marginal")``), the row is left out of
that too, in all classes. So it is with hierarchical smoothing, where it is left out of every level of its own class as
well; the strengths are those of all rows (and where the levels count votes, a vote of another class stays). The
pseudo-counts of all other priors are those of all rows.

What is taken away from a cell is one row, or all that the cell has where rows weigh less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.counts import Counts
from tunbridge.learning.backoff import BackOff
from tunbridge.learning.priors import Rule, pseudo_counts, unseen_row
from tunbridge.probability import MEstimate


class Tables(NamedTuple):
    """The factors of all models, laid out as :func:`tunbridge.kernels.leave_one_out.add_losses` takes them."""

    members: np.ndarray
    start: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    own: np.ndarray
    others: np.ndarray


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

    def families(self, holes: Iterable[int]) -> list[tuple[int, int]]:
        """Return the (feature, number of parents) that have to be counted; the others are sums of them.

        Where cells are missing a family counts the rows that miss none of its own members, so that fewer parents have
        more rows, and each number of parents is counted by itself.
        """
        some, found = set(holes), []
        for feature, parents in zip(self.ranked, self.parents, strict=True):
            least = len(parents) if some.isdisjoint(parents) else 0
            found += [(feature, k) for k in range(least, len(parents) + 1)]
        return found


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


def check_prefixes(n_cells: float) -> None:
    """Raise when counts and factors of so many cells, with all parents, would not fit into memory."""
    check_memory(
        "the tables of all numbers of parents",
        8.0 * 6 * n_cells,  # counts, two factors, and those of fewer parents
        ways_out="Use a smaller max_k or max_cells, or leave out columns with many states.",
    )


def factor_tables(
    candidates: Candidates, counts: Mapping[int, Sequence[Counts]], rule: Rule, max_k: int, n_jobs: int | None
) -> Tables:
    """Return the factors of every feature with every number of parents."""
    levels = [(j, k) for j in candidates.ranked for k in range(len(counts[j]))]
    tables = map_threads(lambda which: _factors(counts[which[0]][which[1]], rule), levels, n_jobs)
    first = np.zeros((len(candidates.ranked), max_k + 1), np.int64)
    ends, place = np.cumsum([0, *(len(own) for own, _ in tables)]), {j: f for f, j in enumerate(candidates.ranked)}
    for (j, k), begin in zip(levels, ends[:-1], strict=True):
        first[place[j], k] = begin
    families = [(j, *p) for j, p in zip(candidates.ranked, candidates.parents, strict=True)]
    sizes = [v.n_states for j in candidates.ranked for v in (counts[j][-1].child, *counts[j][-1].parents[1:])]
    return Tables(
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
    return (
        _shares(n - one + added[0], n_j - one + of_row, unseen),
        _shares(n + added[1], n_j + of_row, unseen),
    )


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
