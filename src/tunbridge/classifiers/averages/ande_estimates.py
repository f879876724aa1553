"""From the counts of pairs within classes to the tables of averages, their votes, and what follows from what.

A state is numbered through all features, and the class is the last axis of every array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.classifiers.averages.ande_model import OneModel, first_states, log_of
from tunbridge.classifiers.averages.ande_smoothing import Guess, Rule, drawn, guess_of
from tunbridge.classifiers.dependence.pair_statistics import PairStatistics
from tunbridge.counts.information import information_with_given

NOISE = 1e-12
"""Information below it is a rounding error."""

_ROUNDED = 1e-9  # sums of weights in another order differ by less
_COPIES = 2  # the counts as floats, and the tables


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the pairs of features within the classes say, a state being numbered through all features.

    Parameters
    ----------
    first : ndarray
        Where the states of each feature begin.
    counts : ndarray of shape (n_states, n_states, n_classes)
        The counts of all pairs.
    guess : Guess
        What estimates are drawn to.
    alone : ndarray of shape (n_states, n_classes)
        P(a | c).
    """

    first: np.ndarray
    counts: np.ndarray
    guess: Guess
    alone: np.ndarray

    def given(self, a: slice) -> np.ndarray:
        """Return P(b | a, c) for some states a and all states b."""
        base = self.alone if self.guess.backs_off else self.guess.q
        return drawn(self.counts[a], self.first, base, self.guess.s)


def estimates(statistics: PairStatistics, rule: Rule) -> Estimates:
    """Return the estimates that follow from counts of pairs by a rule for smoothing."""
    n_classes, size, _ = statistics.pairs.matrix.shape
    check_memory(
        f"the tables of all pairs of {size} states for {n_classes} classes",
        8.0 * _COPIES * n_classes * size**2,
        ways_out="Leave out columns with many states.",
    )
    counts = np.ascontiguousarray(np.moveaxis(statistics.pairs.matrix, 0, -1), np.float64)
    first, margins = first_states(statistics.coding), np.diagonal(counts).T
    guess = guess_of(rule, statistics.coding.coded, margins.sum(axis=1))
    base = drawn(margins.sum(axis=1, keepdims=True), first, guess.q, guess.s) if guess.backs_off else guess.q
    return Estimates(first, counts, guess, drawn(margins, first, base, guess.s))


def one_model(
    statistics: PairStatistics,
    found: Estimates,
    log_prior: np.ndarray,
    *,
    min_count: float,
    weighted: bool,
    subsumption: float | None,
) -> OneModel:
    """Return the average over single super-parents; ``subsumption`` is the least count of a value that implies."""
    size, n_classes = found.alone.shape
    tables = np.zeros((size, size, n_classes))
    for some in feature_slices(found.first):
        tables[some] = log_of(found.given(some))
        tables[some, some] = 0.0
    tables[np.arange(size), np.arange(size)] = log_of(found.alone)
    told = told_about_class(statistics)
    count, weight = np.diagonal(found.counts).sum(axis=0), told if weighted else np.ones(len(told))
    shares = np.where((count > 0) & (count >= min_count), np.repeat(weight, np.diff(found.first)), 0.0)
    implied = None if subsumption is None else implied_states(found, subsumption)
    order = np.argsort(-told, kind="stable").tolist()
    return OneModel(log_prior, statistics.coding, order, tables, shares, implied)


def told_about_class(statistics: PairStatistics) -> np.ndarray:
    """Return I(X; C) of each feature."""
    margins = np.diagonal(statistics.pairs.matrix, axis1=1, axis2=2)
    told = information_with_given(margins, statistics.pairs.first)
    return np.where(told > NOISE, told, 0.0)


def implied_states(found: Estimates, least: float) -> np.ndarray:
    """Return which states of other features follow from a state that has ``least`` rows.

    Of two that follow from each other the one that comes first stays.
    """
    together = found.counts.sum(axis=-1)
    alone = np.diagonal(together)
    follows = together >= alone[:, None] * (1.0 - _ROUNDED)
    follows &= (alone >= least)[:, None] & (alone > 0)[:, None]
    for some in feature_slices(found.first):
        follows[some, some] = False
    return follows & ~np.tril(follows & follows.T)


def feature_slices(first: np.ndarray) -> list[slice]:
    """Return the states of each feature."""
    return [slice(a, b) for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)]
