"""Back-off: a configuration with few rows is smoothed towards the estimate with fewer parents, and so on.

Let the parents be ranked p₁, p₂, …, p_m. With a strength of s_i rows at each level the row of a configuration is
smoothed towards the estimate with one parent less,

    P_i(k | p₁ … p_i) = (n_i(p₁ … p_i, k) + s_i P_{i−1}(k | p₁ … p_{i−1})) / (n_i(p₁ … p_i) + s_i),

down to the marginal P₀(k) = (n(k) + s₀ / r) / (n + s₀), which is smoothed towards the uniform distribution. A
configuration with many rows keeps its own frequencies; one without rows gets the estimate with one parent less. The
pseudo-counts of the family are s_m P_{m−1}.

**Ranking of the parents.** The ranking begins with the most informative parent, continues with the most informative one
given those ranked already, and the last is the first to be dropped. The information of a parent is N I(X; p | ranked)
less what chance alone would give, half the number of parameters it adds (those of configurations that occur);
otherwise parents with many states would always come first.

**Strength.** The automatic strength is chosen level by level, from the marginal upwards: it maximises the leave-one-out
likelihood

    Σ_jk n_jk ln [(n_jk − 1 + s P⁻_{i−1}(k | j)) / (n_j − 1 + s)] − (ln s)² / (2 (ln 10)²),

where P⁻ is the level below without that row too. The last term is a weak prior that s is within a few factors of ten of
one row; it matters if there are hardly any rows.

**Counting configurations.** If one configuration has nearly all rows, the estimate with fewer parents is nearly that
configuration's own, and says little about the rare ones. So with the automatic strength the levels below count in how
many configurations of the level above a state occurs, as Kneser and Ney do for words, unless counting rows predicts the
left-out rows of the family better by a factor of e² at least. With a given strength rows are counted.

References
----------
R. Kneser, H. Ney (1995). Improved backing-off for m-gram language modeling. Proceedings of ICASSP 1995, 181–184.

D. J. C. MacKay, L. C. Peto (1995). A hierarchical Dirichlet language model. Natural Language Engineering 1, 289–308.

F. Petitjean, W. Buntine, G. I. Webb, N. Zaidi (2018). Accurate parameter estimation for Bayesian network classifiers
using hierarchical Dirichlet processes. Machine Learning 107, 1303–1331.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_number
from tunbridge._core.memory import check_memory
from tunbridge.counts import Counts
from tunbridge.counts.information import n_log_n
from tunbridge.counts.radix import configuration_codes, number_configurations

_LEAST, _MOST = 1e-100, 1e100  # beyond these products overflow or underflow
_WEAKEST = 1e-3
_TINY = float(np.finfo(float).tiny)  # for quotients that underflow beside huge weights
_SPREAD = np.log(10.0)
_STEPS, _ROUNDS = 9, 3
_GRID = np.linspace(0.0, 1.0, _STEPS)
_CLEARLY = 2.0  # nats
_FEW_CELLS = 10_000  # up to this many cells all strengths are tried together
_COPIES = 12  # arrays of the size of the counts at the same time


@dataclass(frozen=True)
class BackOff:
    """Smoothing towards fewer parents: configurations with few rows use the estimate with one parent less.

        P(k | p₁ … p_m) = (n(p₁ … p_m, k) + s P(k | p₁ … p_{m−1})) / (n(p₁ … p_m) + s),

    and so on down to the marginal distribution, which is smoothed towards the uniform one. A configuration without rows
    gets the estimate with fewer parents; in a sparse table, where all of these share one row, the marginal.

    Parameters
    ----------
    strength : number or "auto"
        The weight s of the estimate with fewer parents, in rows; ``"auto"`` chooses it for each level, and whether to
        count rows or configurations, by leave-one-out likelihood.
    drop : "least" or "last"
        Which parent is dropped first: the least informative given the others, or the last in the node's order.

    References
    ----------
    F. Petitjean, W. Buntine, G. I. Webb, N. Zaidi (2018). Accurate parameter estimation for Bayesian network
    classifiers using hierarchical Dirichlet processes. Machine Learning 107, 1303–1331.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.DAG(["outlook", "wind", "play"], [("outlook", "play"), ("wind", "play")])
    >>> net = tb.fit_parameters(dag, tb.datasets.play_tennis(), tb.BackOff(strength=2))
    >>> print(net.cpt("play"))
    play given outlook, wind
    outlook   wind    no        yes
    Overcast  Strong  0.0625    0.9375
    Overcast  Weak    0.0625    0.9375
    Rain      Strong  0.696429  0.303571
    Rain      Weak    0.157143  0.842857
    Sunny     Strong  0.517857  0.482143
    Sunny     Weak    0.614286  0.385714
    """

    strength: float | Literal["auto"] = "auto"
    drop: Literal["least", "last"] = "least"

    def __post_init__(self) -> None:
        if not (isinstance(self.strength, str) and self.strength == "auto"):
            check_number("strength (a number of rows, or 'auto')", self.strength, low=_LEAST, high=_MOST)
        check_choice("drop", self.drop, ("least", "last"))

    def added(self, counts: Counts) -> np.ndarray:
        """Return s P(k | fewer parents) for each cell of a family."""
        return self._chain(counts).borrowed

    def unseen(self, counts: Counts) -> np.ndarray:
        """Return the estimate without parents."""
        return self._chain(counts).bottom

    def added_and_unseen(self, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Return both at the cost of one."""
        return self._chain(counts)[:2]

    def left_out(self, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Return P(k | parents) of each cell without one row of that cell, and without one that differs from it.

        The other row has the same state k, but another state of the first parent, which is dropped last: if rows are
        counted, only the marginal is estimated without it. The strengths are those of all rows.
        """
        return self._chain(counts)[3:]

    def _chain(self, counts: Counts) -> _Chain:
        check_memory(
            f"smoothing {counts.child.name!r}",
            8 * _COPIES * counts.table.size,
            ways_out="Use fewer parents, or another prior.",
        )
        by_rows = _levels(counts, self.drop)
        if self.strength != "auto":
            return _climb(by_rows, float(self.strength))
        of_rows, of_votes = _climb(by_rows, None), _climb(_voted(by_rows), None, votes=True)
        return of_rows if of_rows.left_out > of_votes.left_out + _CLEARLY else of_votes


class _Level(NamedTuple):
    """The counts of a child given some of its parents.

    Attributes
    ----------
    table : ndarray of shape (n_configurations, n_states)
        The counts.
    below : ndarray of shape (n_configurations,)
        Which configuration each is part of at the level with one parent less.
    """

    table: np.ndarray
    below: np.ndarray


class _Groups(NamedTuple):
    """The configurations of a family grouped by some of its parents.

    Attributes
    ----------
    of : ndarray
        The group of each configuration.
    first : ndarray
        A configuration of each group.
    """

    of: np.ndarray
    first: np.ndarray


def _levels(counts: Counts, drop: str) -> list[_Level]:
    """Return the levels of a family, from the child by itself to the family; a parent with one state makes none."""
    table = counts.table.astype(np.float64)
    n_states = [p.n_states for p in counts.parents]
    used = [p for p, n in enumerate(n_states) if n > 1 or len(table) == 0]
    codes = counts.configurations
    if codes is None:
        codes = configuration_codes(np.arange(len(table)), n_states)
    everything = _Groups(np.zeros(len(table), np.intp), np.zeros(min(1, len(table)), np.intp))
    levels = [_Level(table.sum(axis=0, keepdims=True) if used else table, np.zeros(1, np.intp))]
    groups, left = everything, sorted(used, key=lambda p: counts.parents[p].name)
    for first in used:
        if drop == "last" or len(left) == 1:
            chosen = first if drop == "last" else left[0]
        else:
            chosen = _most_informative(table, groups, [(p, codes[:, p], n_states[p]) for p in left])
        left.remove(chosen)
        finer = _split(groups, codes[:, chosen], n_states[chosen]) if left else _each(len(table))
        levels.append(_Level(_summed(table, finer) if left else table, groups.of[finer.first]))
        groups = finer
    return levels


def _each(n: int) -> _Groups:
    return _Groups(np.arange(n), np.arange(n))


def _split(groups: _Groups, codes: np.ndarray, n_states: int) -> _Groups:
    """Return the groups divided by a further parent."""
    return _Groups(*number_configurations([groups.of, codes], [max(1, len(groups.first)), n_states]))


def _summed(table: np.ndarray, groups: _Groups) -> np.ndarray:
    """Return the counts of each group."""
    r = table.shape[1]
    cells = (groups.of[:, None] * r + np.arange(r)).ravel()
    return np.bincount(cells, table.ravel(), minlength=len(groups.first) * r).reshape(len(groups.first), r)


def _most_informative(table: np.ndarray, groups: _Groups, parents: Sequence[tuple[int, np.ndarray, int]]) -> int:
    """Return the most informative parent within the groups; of equal ones the first."""
    found = [_information(_summed(table, _split(groups, codes, n_states))) for _, codes, n_states in parents]
    best = max(found)
    equal = best - 1e-9 * max(1.0, abs(best))  # sums in another order differ in their last digits
    return next(p for (p, _, _), value in zip(parents, found, strict=True) if value >= equal)


def _information(table: np.ndarray) -> float:
    """Return the log-likelihood of the child given the configurations, less the gain by chance."""
    n_j = table.sum(axis=1)
    by_chance = 0.5 * np.count_nonzero(n_j) * (table.shape[1] - 1)
    return float(n_log_n(table).sum() - n_log_n(n_j).sum() - by_chance)


def _voted(levels: Sequence[_Level]) -> list[_Level]:
    """Return the levels with the numbers of configurations one level above in which a state occurs; the last stays."""
    tables = [levels[-1].table]
    for coarse, fine in zip(levels[-2::-1], levels[:0:-1], strict=True):
        groups = _Groups(fine.below, np.arange(len(coarse.table)))
        tables.append(_summed(np.minimum(tables[-1], 1.0), groups))
    return [_Level(table, level.below) for table, level in zip(reversed(tables), levels, strict=True)]


class _Chain(NamedTuple):
    """The estimates of a family from the child by itself upwards.

    Attributes
    ----------
    borrowed : ndarray
        The pseudo-counts s P(k | fewer parents) of the family.
    bottom : ndarray of shape (n_states,)
        The estimate without parents.
    left_out : float
        The log-likelihood of the rows, each given all others.
    without : ndarray
        The estimates of the cells of the family, each given all rows but one of its own.
    without_other : ndarray
        The same, given all rows but one that has nothing but the state in common.
    """

    borrowed: np.ndarray
    bottom: np.ndarray
    left_out: float
    without: np.ndarray
    without_other: np.ndarray


def _climb(levels: Sequence[_Level], strength: float | None, *, votes: bool = False) -> _Chain:
    """Return the estimates level by level, with a strength or the best of each level.

    The leave-one-out estimates are computed too: with ``votes``, a left-out row changes the level below only if no
    other row has that state in the configuration.
    """
    r = levels[0].table.shape[1]
    estimate = without = without_other = np.full((1, r), 1.0 / max(r, 1))
    for i, (n, below) in enumerate(levels):
        n_j, one, base = n.sum(axis=1, keepdims=True), np.minimum(n, 1.0), estimate[below]
        base_without = np.where(n <= 1.0, without[below], base) if votes else without[below]
        s = _best_strength(n, base_without) if strength is None else strength
        estimate = (n + s * base) / (n_j + s)
        without = (n - one + s * base_without) / (n_j - one + s)
        without_other = (n + s * without_other[below]) / (n_j + s) if i or votes else without
        if i == 0:
            bottom = estimate[0]
    seen = n > 0.0
    return _Chain(s * base, bottom, float(n[seen] @ np.log(without[seen])), without, without_other)


def _best_strength(n: np.ndarray, base_without: np.ndarray) -> float:
    """Return the strength with the highest leave-one-out likelihood: on a grid, then on finer ones."""
    n_j, one = n.sum(axis=1, keepdims=True), np.minimum(n, 1.0)
    useful = (n > 0.0) & (n_j > one)  # the only row of a configuration says nothing about s
    cells = n[useful], (n - one)[useful], (n_j - one)[useful], base_without[useful]
    low, high = _WEAKEST, max(1.0, float(n_j.sum()))
    for _ in range(_ROUNDS):
        tried = low * (high / low) ** _GRID
        best = int(np.argmax(_left_out(tried, *cells)))
        low, high = tried[max(0, best - 1)], tried[min(_STEPS - 1, best + 1)]
    return float(tried[best])


def _left_out(
    tried: np.ndarray, n: np.ndarray, others: np.ndarray, others_of_row: np.ndarray, base: np.ndarray
) -> np.ndarray:
    """Return the leave-one-out log-likelihood plus the log-prior of s, for each s that is tried."""
    if n.size <= _FEW_CELLS:
        s = tried[:, None]
        found = np.log(np.maximum((others + s * base) / (others_of_row + s), _TINY)) @ n
    else:
        found = np.array([np.log(np.maximum((others + s * base) / (others_of_row + s), _TINY)) @ n for s in tried])
    return found - 0.5 * (np.log(tried) / _SPREAD) ** 2
