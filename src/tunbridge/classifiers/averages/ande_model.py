"""Averages of models in which all features depend on the class and on the same one or two of them, the super-parents.

    P(x, c) = P(c) Σ_p w_p P(x_p | c) Π_k P(x_k | x_p, c) / Σ_p w_p

The sum runs over the features p of a row, or over its pairs of features, whose values are common enough to be relied
on. Where there are none, pairs give way to single features and these to naive Bayes. What is missing in a row takes no
part: neither as a super-parent nor as a child, whose factor would sum to one.

Super-parents may weigh the same, or as much as they tell about the class. A value that follows from another one of the
row (whoever is pregnant is a woman) can be left out, as it tells nothing new: subsumption resolution.

All tables are kept as logarithms, a state being numbered through all features, the class the innermost axis; and each
row takes one look into a table for each super-parent and child. On the diagonal, where super-parent and child are one,
stands log P(x_p | c), so that a row's looks add up to log P(x | c).

References
----------
G. I. Webb, J. R. Boughton, Z. Wang (2005). Not so naive Bayes: aggregating one-dependence estimators. Machine Learning
58, 5–24.
G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
full-multivariate probability distributions. Machine Learning 86, 233–272.
F. Zheng, G. I. Webb, P. Suraweera, L. Zhu (2012). Subsumption resolution: an efficient and effective technique for
semi-naive Bayesian learning. Machine Learning 87, 93–125.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.explanation.contributions import Given, conditional_terms
from tunbridge.classifiers.posteriors import Finish
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding
from tunbridge.counts.radix import SMALL_CELLS

_PIECE_ROWS = 4096
_LOOKS = 10  # NumPy is quick enough for so many times the cells if each is looked at once for every feature


class AveragedModel(ABC):
    """What averages have in common."""

    log_prior: np.ndarray
    coding: Coding
    order: Sequence[int]

    @abstractmethod
    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); what is missing is left out."""
        out = np.empty((batch.n_rows, len(self.log_prior)))

        def fill(rows: tuple[int, int]) -> None:
            out[rows[0] : rows[1]] = finish(self.log_joint(self.coding.codes(batch.rows(*rows))).T).T

        map_threads(fill, row_pieces(batch.n_rows, _PIECE_ROWS), n_jobs)
        return out

    def terms(self, batch: Batch) -> np.ndarray:
        """Return what each feature adds beside those that tell more of the class, (n_features, n_classes, n_rows)."""
        return conditional_terms(self, batch, self.order)

    def conditions(self, batch: Batch) -> list[Given]:
        """Return for each row and feature the features beside which its term is meant."""
        seen = self.coding.codes(batch) >= 0
        return [self._told_before(row) for row in seen.T]

    def _told_before(self, seen: np.ndarray) -> Given:
        told = [j for j in self.order if seen[j]]
        out: Given = [()] * len(seen)
        for i, j in enumerate(told):
            out[j] = tuple(told[:i])
        return out


@dataclass(frozen=True, eq=False)
class OneModel(AveragedModel):
    """The average over single super-parents.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    coding : Coding
        How features become codes.
    order : sequence of int
        The features, those first that tell most about the class.
    tables : ndarray of shape (n_states, n_states, n_classes)
        log P(b | a, c) for states a, b of two features, log P(a | c) where they are one.
    shares : ndarray of shape (n_states,)
        How much a state weighs as a super-parent.
    implied : ndarray of shape (n_states, n_states), optional
        Which states are left out beside which: ``implied[a, b]`` leaves out b beside a.
    """

    log_prior: np.ndarray
    coding: Coding
    order: Sequence[int]
    tables: np.ndarray
    shares: np.ndarray
    implied: np.ndarray | None = None

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        return self.averaged(self.told(codes))

    def told(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes without those that follow from others."""
        if self.implied is None or not self.implied.any():
            return codes
        codes = np.array(codes, np.int32, order="C")
        if codes.size <= SMALL_CELLS:
            return _without_implied(codes, self.first, self.implied)
        from tunbridge.kernels.ande import drop_implied

        drop_implied(codes, self.first, self.implied)
        return codes

    def averaged(self, codes: np.ndarray) -> np.ndarray:
        """Return the average for rows of codes that are all used."""
        out = np.empty((codes.shape[1], len(self.log_prior)))
        average = _average_one if codes.size <= SMALL_CELLS else _kernels().average_one
        average(codes, self.first, self.tables, self._log_shares, self.log_prior, out)
        return out

    @cached_property
    def first(self) -> np.ndarray:
        """Where the states of each feature begin; one entry more than features."""
        return first_states(self.coding)

    @cached_property
    def _log_shares(self) -> np.ndarray:
        return log_of(self.shares)


@dataclass(frozen=True, eq=False)
class TwoModel(AveragedModel):
    """The average over pairs of super-parents.

    Parameters
    ----------
    one : OneModel
        The average over single super-parents, for rows of which no pair can be relied on.
    pair_first : ndarray of shape (n_features, n_features)
        Where the pairs of states of two features f < g begin among all of them, those of g fastest.
    tables : ndarray of shape (n_pairs of states, n_states, n_classes)
        log P(k | a, b, c) for the states k of the other features; for the first of the two log P(a, b | c).
    shares : ndarray of shape (n_pairs of states,)
        How much a pair weighs as super-parents.
    """

    one: OneModel
    pair_first: np.ndarray
    tables: np.ndarray
    shares: np.ndarray

    @property
    def log_prior(self) -> np.ndarray:  # type: ignore[override]
        """The logarithms of P(c)."""
        return self.one.log_prior

    @property
    def coding(self) -> Coding:  # type: ignore[override]
        """How features become codes."""
        return self.one.coding

    @property
    def order(self) -> Sequence[int]:  # type: ignore[override]
        """The features, those first that tell most about the class."""
        return self.one.order

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        codes = self.one.told(codes)
        out, lost = np.empty((codes.shape[1], len(self.log_prior))), np.empty(codes.shape[1], np.bool_)
        average = _average_two if codes.size * len(codes) <= _LOOKS * SMALL_CELLS else _kernels().average_two
        average(codes, self.one.first, self.pair_first, self.tables, self._log_shares, self.log_prior, out, lost)
        if lost.any():
            out[lost] = self.one.averaged(np.ascontiguousarray(codes[:, lost]))
        return out

    @cached_property
    def _log_shares(self) -> np.ndarray:
        return log_of(self.shares)


def first_states(coding: Coding) -> np.ndarray:
    """Return where the states of each feature begin among those of all; one entry more than features."""
    return np.concatenate([[0], np.cumsum([v.n_states for v in coding.coded])]).astype(np.int64)


def log_of(p: np.ndarray) -> np.ndarray:
    """Return log p, −∞ at 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


# What the kernels do, in NumPy: for a few rows


def _kernels() -> Any:
    from tunbridge.kernels import ande

    return ande


def _without_implied(codes: np.ndarray, first: np.ndarray, implied: np.ndarray) -> np.ndarray:
    seen, states = _states(codes, first)
    out = codes.copy()
    for f in range(len(codes)):
        follows = implied[states, states[f]] & seen
        out[f, follows.any(axis=0)] = -1
    return out


def _average_one(
    codes: np.ndarray,
    first: np.ndarray,
    tables: np.ndarray,
    log_shares: np.ndarray,
    log_prior: np.ndarray,
    out: np.ndarray,
) -> None:
    seen, states = _states(codes, first)
    out[:], log_weight = -np.inf, np.full(codes.shape[1], -np.inf)
    alone = np.zeros_like(out)
    for f in range(len(codes)):
        share = np.where(seen[f], log_shares[states[f]], -np.inf) if log_shares.size else log_weight
        _add(out, log_weight, share, _added_up(tables, states[f], states, seen))
        alone += np.where(seen[f, :, None], tables[states[f], states[f]], 0.0) if tables.size else 0.0
    none = np.isneginf(log_weight)
    out -= np.where(none, 0.0, log_weight)[:, None]
    out[none] = alone[none]
    out += log_prior


def _average_two(
    codes: np.ndarray,
    first: np.ndarray,
    pair_first: np.ndarray,
    tables: np.ndarray,
    log_shares: np.ndarray,
    log_prior: np.ndarray,
    out: np.ndarray,
    lost: np.ndarray,
) -> None:
    seen, states = _states(codes, first)
    n_states = np.diff(first)
    out[:], log_weight = -np.inf, np.full(codes.shape[1], -np.inf)
    for f, g in zip(*np.triu_indices(len(codes), 1), strict=True):
        if not n_states[f] or not n_states[g]:
            continue
        both = seen[f] & seen[g]
        pairs = np.where(both, pair_first[f, g] + codes[f].astype(np.int64) * n_states[g] + codes[g], 0)
        share = np.where(both, log_shares[pairs], -np.inf)
        _add(out, log_weight, share, _added_up(tables, pairs, states, seen))
    lost[:] = np.isneginf(log_weight)
    out += log_prior - np.where(lost, 0.0, log_weight)[:, None]


def _states(codes: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which cells are seen, and the number of each state, 0 where there is none."""
    seen = codes >= 0
    return seen, np.where(seen, codes + first[:-1, None], 0)


def _added_up(tables: np.ndarray, parents: np.ndarray, states: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the sum of what all states of a row add beside its super-parents, (n_rows, n_classes)."""
    if not tables.size:
        return np.zeros((states.shape[1], tables.shape[-1]))
    return np.where(seen[..., None], tables[parents[None], states], 0.0).sum(axis=0)


def _add(out: np.ndarray, log_weight: np.ndarray, share: np.ndarray, found: np.ndarray) -> None:
    """Add super-parents of some weight to the average, in place."""
    np.logaddexp(out, share[:, None] + found, out=out)
    np.logaddexp(log_weight, share, out=log_weight)
