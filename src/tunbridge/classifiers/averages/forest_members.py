"""One member of a Bayes forest: a randomised network of limited dependence, weighted to give right probabilities.

A member differs from the others by chance, in what it looks at rather than in what it counts:

- **its cut points**: numbers are cut where classes part best in a resample of the rows, more or less finely;
- **its order**: features come in the order of ln(N I(X; C)) plus Gumbel noise, so that telling ones tend to be early;
- **its parents**: each feature depends on up to k earlier ones of largest N I(X; Y | C) in the resample, less what
  chance alone would show, half the degrees of freedom.

Its tables are counted from all rows (:mod:`tunbridge.classifiers.averages.back_off_tries`), and each feature gets an
exponent (:mod:`tunbridge.classifiers.averages.exponents`), judged by rows that are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.classifiers.averages.back_off_tries import FlatTries, Rows, flatten, grow_trie
from tunbridge.classifiers.averages.exponents import fit_exponents, gains
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import Coding, coding_content, coding_of
from tunbridge.counts import PairCounts
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.kernels import forests
from tunbridge.learning.trees import pairs_within

_BINS = 255
_FINENESS = (0.0, 0.25, 0.5, 1.0)
"""What share of Fayyad & Irani's price a cut must gain."""
_FEWEST_INTERVALS, _MOST_INTERVALS = 3, 12
_LEAST_INTERVAL = 3.0
_MOST_TERMS = 10_000_000
_TELLING = 0.05
"""The share of the rows from which on missing cells are a state."""
_ROWS_TOLD = 4096  # of which it is measured what the features tell: enough for three digits
_CERTAIN = 1e12


class Settings(NamedTuple):
    """What all members have in common, and how many of them are grown at the same time."""

    max_parents: int
    penalty: float
    at_once: int


@dataclass(frozen=True, eq=False)
class Member:
    """A network of the forest.

    Parameters
    ----------
    coding : Coding
        How features become codes: its own cut points.
    parents : tuple of tuple of int
        The features that each feature depends on beside the class; None where a feature is not used.
    tries : FlatTries
        P(x | class, parents) of the features that are used, and their exponents.
    told : ndarray of shape (2, n_features)
        What each feature tells about the class beside those before it, of rows that were left out: information, and
        weight of evidence, in nats.
    """

    coding: Coding
    parents: tuple[tuple[int, ...] | None, ...]
    tries: FlatTries
    told: np.ndarray

    def add_log_joint(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Add Σ_f w_f log P(x_f | …, c) to ``out``, row × class; features without a code say nothing."""
        forests.add_log_estimates(codes, *self.tries, out)


class Bins(NamedTuple):
    """Where a column of numbers may be cut, and between which of these points each row lies (−1: missing)."""

    edges: np.ndarray
    of_row: np.ndarray


def bins_of(values: np.ndarray, weights: np.ndarray) -> Bins:
    """Return where a column may be cut: half-way between neighbours, a few hundred at most, as dense as the rows."""
    seen = ~np.isnan(values)
    distinct, place = np.unique(values[seen], return_inverse=True)
    at = np.arange(max(0, len(distinct) - 1))
    if len(at) > _BINS:
        shares = np.cumsum(np.bincount(place, weights[seen]))
        at = np.unique(np.searchsorted(shares, np.arange(1, _BINS + 1) / (_BINS + 1) * shares[-1]))
        at = at[at < len(distinct) - 1]
    edges = np.unique(distinct[at] * 0.5 + distinct[at + 1] * 0.5)
    return Bins(edges, np.where(seen, np.searchsorted(edges, values), -1))


def telling_gaps(batch: Batch, weights: np.ndarray) -> frozenset[int]:
    """Return the features of which so many cells are missing that to be missing is a state like any other.

    A handful of missing cells would have to say what it means to be missing, and are better not heard at all.
    """
    missing = {j: codes < 0 for j, codes in batch.codes.items()}
    missing |= {j: np.isnan(batch.number_column(i)) for j, i in batch.numeric.items()}
    return frozenset(j for j, gone in missing.items() if weights[gone].sum() >= _TELLING * weights.sum() > 0.0)


class Training(NamedTuple):
    """What all members learn from: different rows, with their weights, and what is known of them beforehand.

    Attributes
    ----------
    batch, classes, weights
        The rows, the codes of their classes (64 bits) and their weights.
    target : Variable
        The class.
    log_prior : ndarray
        log P(c).
    bins : mapping of int to Bins
        Where each column of numbers may be cut.
    gaps : frozenset of int
        The features whose missing cells are a state.
    """

    batch: Batch
    classes: np.ndarray
    weights: np.ndarray
    target: Variable
    log_prior: np.ndarray
    bins: Mapping[int, Bins]
    gaps: frozenset[int]


def training_rows(
    batch: Batch, classes: np.ndarray, weights: np.ndarray, target: Variable, log_prior: np.ndarray
) -> Training:
    """Return different rows with what all members need to know of them."""
    bins = {j: bins_of(batch.number_column(i), weights) for j, i in batch.numeric.items()}
    return Training(batch, classes.astype(np.int64), weights, target, log_prior, bins, telling_gaps(batch, weights))


def grow_member(training: Training, settings: Settings, rng: np.random.Generator) -> Member:
    """Return a member that differs from others by what is drawn."""
    classes, target = training.classes, training.target
    resample = _resampled(training.weights, rng)
    coding = _random_coding(training, resample, rng)
    codes = coding.codes(training.batch)
    parents, order = _random_structure(coding, codes, classes, target, resample, settings, rng)
    n_states = tuple(v.n_states for v in coding.coded)
    rows = Rows(codes, classes, training.weights, n_states, target.n_states)
    used = [j for j, p in enumerate(parents) if p is not None]
    judges = np.arange(0, len(classes), -(-len(classes) * max(1, len(used)) * target.n_states // _MOST_TERMS))
    terms = np.empty((len(judges), target.n_states, len(used)))
    tries = []
    for f, j in enumerate(used):
        trie, estimate = grow_trie(rows, j, parents[j] or ())
        terms[:, :, f] = np.log(np.maximum(estimate[judges], forests.LEAST_SHARE))
        tries.append(trie)
    judged = training.log_prior, classes[judges], training.weights[judges]
    exponents = fit_exponents(terms, *judged, penalty=settings.penalty)
    told = np.zeros((2, len(parents)))
    told[:, used] = _told(terms, exponents, *judged, [used.index(j) for j in order])
    return Member(coding, parents, flatten(tries, exponents, n_states), told)


def _told(
    terms: np.ndarray,
    exponents: np.ndarray,
    log_prior: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    order: list[int],
) -> np.ndarray:
    """Return what each feature tells beside those before it, measured on some of the rows."""
    some = slice(None, None, -(-len(classes) // _ROWS_TOLD))
    return gains(terms[some], exponents, log_prior, classes[some], weights[some], order)


def _resampled(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how often each row is drawn, its weight on average; rows that weigh very much are all but certain."""
    drawn = rng.poisson(np.minimum(weights, _CERTAIN)).astype(np.float64)
    drawn = np.where(weights < _CERTAIN, drawn, weights)
    return drawn if drawn.any() else weights


def _random_coding(training: Training, weights: np.ndarray, rng: np.random.Generator) -> Coding:
    classes, n_classes = training.classes, training.target.n_states
    cuts = {j: _random_cuts(bins, classes, n_classes, weights, rng) for j, bins in training.bins.items()}
    return Coding(training.batch.variables, cuts, training.gaps)


def _random_cuts(
    bins: Bins, classes: np.ndarray, n_classes: int, weights: np.ndarray, rng: np.random.Generator
) -> Discretisation:
    factor = rng.choice(_FINENESS)
    most = int(rng.integers(_FEWEST_INTERVALS, _MOST_INTERVALS + 1))
    n_bins, seen = len(bins.edges) + 1, bins.of_row >= 0
    cells = bins.of_row[seen] * n_classes + classes[seen]
    histogram = np.bincount(cells, weights[seen], minlength=n_bins * n_classes).reshape(n_bins, n_classes)
    is_cut = np.zeros(len(histogram), np.bool_)
    forests.cut_histogram(histogram, factor, _LEAST_INTERVAL, most, is_cut)
    return Discretisation(tuple(bins.edges[np.flatnonzero(is_cut) - 1].tolist()))


def _random_structure(
    coding: Coding,
    codes: np.ndarray,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
) -> tuple[tuple[tuple[int, ...] | None, ...], list[int]]:
    """Return the parents of each feature, None where it has no states, and the order of those that have."""
    counts = _weighted_pairs(coding, codes, classes, target, weights, settings.at_once)
    pairs = pairs_within(counts)
    n = float(weights.sum())
    gain = n * pairs.information - 0.5 * _degrees_of_freedom(counts)
    told = np.log(n * np.asarray(pairs.with_target) + 1e-3) + rng.gumbel(size=len(codes))
    order = [j for j in np.argsort(-told, kind="stable").tolist() if coding.coded[j].n_states]
    parents: list[tuple[int, ...] | None] = [None] * len(codes)
    for i, j in enumerate(order):
        before = np.array(order[:i], np.intp)
        best = before[np.argsort(-gain[j, before], kind="stable")[: settings.max_parents]].tolist()
        parents[j] = tuple(p for p in best if gain[j, p] > 0.0)
    return tuple(parents), order


def _weighted_pairs(
    coding: Coding, codes: np.ndarray, classes: np.ndarray, target: Variable, weights: np.ndarray, at_once: int
) -> PairCounts:
    """Return the weights of all pairs of states within the classes, for many small tables in turn."""
    size = sum(v.n_states for v in coding.coded)
    check_memory(
        f"the counts of all pairs of {size} states in {target.n_states} classes",
        8.0 * 3 * target.n_states * size**2 * at_once,  # the counts, and what is computed from them
        ways_out="Leave out columns with many states, or use n_jobs=1.",
    )
    counts = PairCounts(coding.coded, np.zeros((target.n_states, size, size)), coding.class_variable(target))
    forests.count_pairs_within(codes, counts.first.astype(np.int64), classes, weights, counts.matrix)
    return counts


def _degrees_of_freedom(counts: PairCounts) -> np.ndarray:
    """Return Σ_c (states of X in c − 1)(states of Y in c − 1), of states that occur."""
    occurs = np.diagonal(counts.matrix, axis1=1, axis2=2) > 0
    first = counts.first
    n = np.stack([occurs[:, first[v] : first[v + 1]].sum(axis=1) for v in range(len(counts.variables))], axis=1)
    free = np.maximum(n - 1.0, 0.0)
    return free.T @ free


def member_content(member: Member) -> dict[str, Any]:
    """Return a member as content of a native file."""
    return {
        "coding": coding_content(member.coding),
        "parents": [None if p is None else list(p) for p in member.parents],
        "tries": member.tries._asdict(),
        "told": member.told,
    }


def member_of(content: Mapping[str, Any], n_classes: int) -> Member:
    """Return the member that a native file holds; raise ValueError where its parts do not belong together."""
    coding = coding_of(content["coding"])
    parents = tuple(None if p is None else tuple(p) for p in content["parents"])
    tries = FlatTries(**content["tries"])
    check_tries(tries, [v.n_states for v in coding.coded], n_classes)
    told = content["told"]
    if len(parents) != len(coding.variables) or told.shape != (2, len(parents)) or not np.isfinite(told).all():
        raise ValueError("its structure does not belong to its features")
    return Member(coding, parents, tries, told)


def check_tries(t: FlatTries, n_states: list[int], n_classes: int) -> None:
    """Raise ValueError unless every number that says where something stands points into what there is."""
    n_features, n_levels = len(t.features), len(t.parents)
    states = np.array([*n_states, 1])  # the last for the level of the class, whose parent is −1
    nodes, cells = len(t.node_start) - 1, len(t.cell_start) - 1
    inside = [
        _within(t.features, 0, len(n_states)) and _within(t.parents, -1, len(n_states)),
        _starts_fit(t.base_first, n_features, len(t.base)) and _starts_fit(t.level_first, n_features, n_levels),
        _starts_fit(t.child_first, n_levels, len(t.child)) and _starts_fit(t.cell_first, n_levels, len(t.cell)),
        _starts_fit(t.node_first, n_levels, nodes),
        _starts_fit(t.node_start, nodes, len(t.node_class)) and _starts_fit(t.cell_start, cells, len(t.cell_class)),
        len(t.exponents) == n_features == len(t.n_states) and len(t.strengths) == len(t.n_parent_states) == n_levels,
        _within(t.node_class, 0, n_classes) and _within(t.cell_class, 0, n_classes) and _within(t.cell, -1, cells),
        len(t.node_total) == len(t.node_class) and len(t.cell_count) == len(t.cell_class),
    ]
    if not all(inside):
        raise ValueError("its tables do not belong to its features")
    n_nodes = np.diff(t.node_first)
    before = np.concatenate([[1], n_nodes[:-1]])
    before[t.level_first[:-1][np.diff(t.level_first) > 0]] = 1
    feature_states = np.repeat(t.n_states, np.diff(t.level_first))
    fits = [
        bool((t.n_states == states[t.features]).all() and (np.diff(t.base_first) == t.n_states).all()),
        bool((t.n_parent_states == states[t.parents]).all()),
        bool((np.diff(t.child_first) == before * t.n_parent_states).all()),
        bool((np.diff(t.cell_first) == n_nodes * feature_states).all()),
        all(_within(t.child[a:b], -1, n) for a, b, n in zip(t.child_first, t.child_first[1:], n_nodes, strict=False)),
        all(bool(np.isfinite(a).all()) for a in (t.exponents, t.base, t.strengths, t.node_total, t.cell_count)),
        bool((t.base > 0).all() and (t.strengths > 0).all() and (t.node_total > 0).all() and (t.cell_count > 0).all()),
    ]
    if not all(fits):
        raise ValueError("its tables do not belong together")


def _within(numbers: np.ndarray, low: int, high: int) -> bool:
    return numbers.dtype.kind == "i" and bool(((numbers >= low) & (numbers < high)).all())


def _starts_fit(starts: np.ndarray, n: int, end: int) -> bool:
    return (
        starts.dtype.kind == "i"
        and starts.shape == (n + 1,)
        and int(starts[0]) == 0
        and int(starts[-1]) == end
        and bool((np.diff(starts) >= 0).all())
    )
