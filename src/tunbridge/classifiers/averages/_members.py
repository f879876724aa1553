"""One member of a Bayes forest: a randomised network of limited dependence, weighted to give right probabilities.

Members differ by random choices, of what they look at rather than of what they count:

- **its bins**: numbers are cut where classes separate best in a resample of the rows, more or less finely;
- **its order**: features come in the order of ln(N I(X; C)) plus Gumbel noise, so that telling ones tend to be early;
- **its parents**: each feature depends on up to k earlier ones of largest N I(X; Y | C) in the resample, less what
  chance alone would show, half the degrees of freedom.

Its tables are counted from all rows (:mod:`tunbridge.classifiers.averages._tries`), and each feature gets an
exponent,

    P(c | x) ∝ P(c) Π_f P(x_f | …, c)^{w_f},

so that the probabilities come out right. The exponents maximise the conditional log-likelihood of the classes, of rows
that are left out, less ½ λ Σ_f (w_f − 1)². That is concave, and Newton's method, whose step is halved where it would
lose, needs a handful of rounds.

References
----------
N. A. Zaidi, J. Cerquides, M. J. Carman, G. I. Webb (2013). Alleviating naive Bayes attribute independence assumption by
attribute weighting. Journal of Machine Learning Research 14, 1947–1988.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from tunbridge._core.memory import check_memory
from tunbridge._core.packing import FloatArray, unpack
from tunbridge.classifiers._reading import numbers_of, seen_values
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Encoding, numeric_features
from tunbridge.classifiers.averages._tries import STRENGTHS, TrieRows, flatten, grow_trie
from tunbridge.counts import PairCounts
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.kernels.beside import compile_beside
from tunbridge.kernels.classifiers import forests
from tunbridge.kernels.classifiers.records import Tries
from tunbridge.learning.searches.trees import pairs_within

_BINS = 255
_FINENESS = (0.0, 0.25, 0.5, 1.0)
"""What share of Fayyad & Irani's price a cut must gain."""
_FEWEST_INTERVALS, _MOST_INTERVALS = 3, 12
_LEAST_INTERVAL = 3.0
_MOST_TERMS = 10_000_000
_TELLING = 0.05
"""The share of rows from which on missing values are a state."""
_ROWS_TOLD = 4096  # of which it is measured what the features tell: enough for three digits
_CERTAIN = 1e12
_ROUNDS = 10
_SMALLEST_STEP = 1e-3
_SETTLED = 1e-5
_FARTHEST = 1e100  # exponents and weights beyond are none of rows


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
    encoding : Encoding
        How features become codes: its own bins.
    parents : tuple of tuple of int
        The features that each feature depends on beside the class; None where a feature is not used.
    tries : Tries
        P(x | class, parents) of the features that are used, and their exponents.
    told : ndarray of shape (2, n_features)
        What each feature tells about the class given those before it, for rows that were left out: information, and
        weight of evidence, in nats.
    """

    encoding: Encoding
    parents: tuple[tuple[int, ...] | None, ...]
    tries: Tries
    told: np.ndarray

    def add_log_joint(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Add Σ_f w_f log P(x_f | …, c) to ``out``, row × class; features without a code say nothing."""
        forests.add_log_estimates(codes, self.tries, out)


class Bins(NamedTuple):
    """Possible bin edges of a column of numbers, and the bin of each row (−1: missing)."""

    edges: np.ndarray
    of_row: np.ndarray


def bins_of(values: np.ndarray, weights: np.ndarray) -> Bins:
    """Return possible bin edges: half-way between neighbours, a few hundred at most, as dense as the rows."""
    seen = ~np.isnan(values)
    distinct, place = np.unique(values[seen], return_inverse=True)
    at = np.arange(max(0, len(distinct) - 1))
    if len(at) > _BINS:
        shares = np.cumsum(np.bincount(place, weights[seen]))
        at = np.unique(np.searchsorted(shares, np.arange(1, _BINS + 1) / (_BINS + 1) * shares[-1]))
        at = at[at < len(distinct) - 1]
    edges = np.unique(distinct[at] * 0.5 + distinct[at + 1] * 0.5)
    return Bins(edges, np.where(seen, np.searchsorted(edges, values), -1))


def missing_states(examples: Examples) -> frozenset[int]:
    """Return the features of which so many values are missing that to be missing is a state like any other.

    A handful of missing values cannot show what it means to be missing, and are left out.
    """
    weights = examples.mass
    gone = ~seen_values(examples.rows) @ weights
    return frozenset(np.flatnonzero((gone >= _TELLING * weights.sum()) & (weights.sum() > 0.0)).tolist())


class Training(NamedTuple):
    """What all members learn from: distinct rows, with their weights, and what is known of them beforehand.

    Attributes
    ----------
    examples : Examples
        The rows, the codes of their classes (64 bits) and their weights.
    log_prior : ndarray
        log P(c).
    bins : mapping of int to Bins
        Possible bin edges of each column of numbers.
    missing : frozenset of int
        The features whose missing values are a state.
    """

    examples: Examples
    log_prior: np.ndarray
    bins: Mapping[int, Bins]
    missing: frozenset[int]


def training_rows(examples: Examples, log_prior: np.ndarray) -> Training:
    """Return distinct rows with what all members need to know of them."""
    table = examples.rows
    bins = {j: bins_of(numbers_of(table, j), examples.mass) for j in numeric_features(table)}
    return Training(examples, log_prior, bins, missing_states(examples))


def compile_beside_growing() -> None:
    """Start to compile the kernels that come last, of exponents and of answers, in another process where that pays."""
    integers, numbers, table = np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 1))
    terms = np.zeros((1, 1, 1))
    compile_beside(
        (forests.fill_shares, (terms, numbers, integers, numbers, numbers, table)),
        (forests.add_derivatives, (terms, integers, numbers, table, numbers, table)),
        (forests.add_log_estimates, (np.zeros((1, 1), np.int32), flatten([], numbers, []), table)),
    )


def grow_member(training: Training, settings: Settings, rng: np.random.Generator) -> Member:
    """Return a member that differs from others by what is drawn."""
    classes, target, weights = training.examples.classes, training.examples.target, training.examples.mass
    resample = _resampled(weights, rng)
    encoding = _random_encoding(training, resample, rng)
    codes = encoding.codes(training.examples.rows)
    counts = _weighted_pairs(encoding, codes, classes, target, resample, settings.at_once)
    parents, order = _random_structure(counts, float(resample.sum()), settings.max_parents, rng)
    n_states = tuple(v.n_states for v in encoding.coded)
    rows = TrieRows(codes, classes, weights, n_states, target.n_states)
    used = [j for j, p in enumerate(parents) if p is not None]
    judges = np.arange(0, len(classes), -(-len(classes) * max(1, len(used)) * target.n_states // _MOST_TERMS))
    terms = np.empty((len(judges), target.n_states, len(used)))
    tries = []
    for f, j in enumerate(used):
        trie, estimate = grow_trie(rows, j, parents[j] or ())
        terms[:, :, f] = np.log(np.maximum(estimate[judges], forests.LEAST_SHARE))
        tries.append(trie)
    own, mass = classes[judges], weights[judges]
    exponents = fit_exponents(terms, training.log_prior, own, mass, penalty=settings.penalty)
    told, some = np.zeros((2, len(parents))), slice(None, None, -(-len(own) // _ROWS_TOLD))
    ranked = [used.index(j) for j in order]
    told[:, used] = gains(terms[some], exponents, training.log_prior, own[some], mass[some], ranked)
    return Member(encoding, parents, flatten(tries, exponents, n_states), told)


def _resampled(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how often each row is drawn, its weight on average; rows that weigh very much are all but certain."""
    drawn = rng.poisson(np.minimum(weights, _CERTAIN)).astype(np.float64)
    drawn = np.where(weights < _CERTAIN, drawn, weights)
    return drawn if drawn.any() else weights


def _random_encoding(training: Training, weights: np.ndarray, rng: np.random.Generator) -> Encoding:
    classes, n_classes = training.examples.classes, training.examples.target.n_states
    cuts = {j: _random_cuts(bins, classes, n_classes, weights, rng) for j, bins in training.bins.items()}
    return Encoding(training.examples.rows.variables, cuts, training.missing)


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
    counts: PairCounts, n: float, max_parents: int, rng: np.random.Generator
) -> tuple[tuple[tuple[int, ...] | None, ...], list[int]]:
    """Return the parents of each feature, None where it has no states, and the order of those that have."""
    pairs, variables = pairs_within(counts), counts.variables
    gain = n * pairs.information - 0.5 * _degrees_of_freedom(counts)
    told = np.log(n * np.asarray(pairs.with_target) + 1e-3) + rng.gumbel(size=len(variables))
    order = [j for j in np.argsort(-told, kind="stable").tolist() if variables[j].n_states]
    parents: list[tuple[int, ...] | None] = [None] * len(variables)
    for i, j in enumerate(order):
        before = np.array(order[:i], np.intp)
        best = before[np.argsort(-gain[j, before], kind="stable")[:max_parents]].tolist()
        parents[j] = tuple(p for p in best if gain[j, p] > 0.0)
    return tuple(parents), order


def _weighted_pairs(
    encoding: Encoding, codes: np.ndarray, classes: np.ndarray, target: Variable, weights: np.ndarray, at_once: int
) -> PairCounts:
    """Return the weights of all pairs of states within the classes, for many small tables in turn."""
    size = sum(v.n_states for v in encoding.coded)
    check_memory(
        f"the counts of all pairs of {size} states in {target.n_states} classes",
        8.0 * 3 * target.n_states * size**2 * at_once,  # the counts, and what is computed from them
        ways_out="Leave out columns with many states, or use n_jobs=1.",
    )
    counts = PairCounts(encoding.coded, np.zeros((target.n_states, size, size)), encoding.nodes(target)[0])
    forests.count_pairs_within(codes, counts.first.astype(np.int64), classes, weights, counts.matrix)
    return counts


def _degrees_of_freedom(counts: PairCounts) -> np.ndarray:
    """Return Σ_c (states of X in c − 1)(states of Y in c − 1), of states that occur."""
    occurs = np.diagonal(counts.matrix, axis1=1, axis2=2) > 0
    first = counts.first
    n = np.stack([occurs[:, first[v] : first[v + 1]].sum(axis=1) for v in range(len(counts.variables))], axis=1)
    free = np.maximum(n - 1.0, 0.0)
    return free.T @ free


def fit_exponents(
    terms: np.ndarray, log_prior: np.ndarray, classes: np.ndarray, weights: np.ndarray, *, penalty: float
) -> np.ndarray:
    """Return the exponent of each feature.

    Parameters
    ----------
    terms : ndarray of shape (n_rows, n_classes, n_features)
        log P(x_f | …, c), each row left out of its own estimate.
    log_prior : ndarray of shape (n_classes,)
        log P(c); classes of probability zero are left out.
    classes : ndarray of shape (n_rows,)
        The codes of the classes.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.
    penalty : float
        λ, above 0.

    Examples
    --------
    The same feature twice counts once:

    >>> once = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]))
    >>> twice = np.repeat(once[:, :, None], 2, axis=2)
    >>> rows = np.full(4, 1000.0)
    >>> fit_exponents(twice, np.log([0.5, 0.5]), np.array([0, 0, 1, 0]), rows, penalty=1.0).round(2).tolist()
    [0.4, 0.4]
    """
    possible = np.isfinite(log_prior)
    place = np.cumsum(possible) - 1
    used = terms if possible.all() else np.ascontiguousarray(terms[:, possible])
    problem = _Problem(used, log_prior[possible], place[classes], weights, penalty)
    w = np.ones(terms.shape[2])
    value, shares = problem.value(w)
    for _ in range(_ROUNDS):
        step = problem.newton_step(w, shares)
        found = _best_part(problem, w, step, value)
        if found is None:
            break
        w, new, shares = found
        settled, value = value - new <= _SETTLED * max(1.0, abs(value)), new
        if settled:
            break
    return w


def _best_part(
    problem: _Problem, w: np.ndarray, step: np.ndarray, value: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return where the step leads, halved until something is gained; None when nothing is."""
    part = 1.0
    while part > _SMALLEST_STEP:
        new, shares = problem.value(w - part * step)
        if new <= value:
            return w - part * step, new, shares
        part /= 2.0
    return None


class _Problem(NamedTuple):
    """What is minimised: the negative conditional log-likelihood and the penalty."""

    terms: np.ndarray
    log_prior: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    penalty: float

    def value(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value, and the probabilities of the classes, row × class."""
        shares = np.empty(self.terms.shape[:2])
        lost = forests.fill_shares(self.terms, self.log_prior, self.classes, self.weights, w, shares)
        return float(lost + 0.5 * self.penalty * ((w - 1.0) ** 2).sum()), shares

    def newton_step(self, w: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the second derivatives' inverse times the first ones."""
        gradient, curvature = self.penalty * (w - 1.0), self.penalty * np.eye(len(w))
        forests.add_derivatives(self.terms, self.classes, self.weights, shares, gradient, curvature)
        whole = np.tril(curvature) + np.tril(curvature, -1).T
        try:
            return np.linalg.solve(whole, gradient)
        except np.linalg.LinAlgError:  # a penalty far below rounding errors: of all steps the shortest
            return np.linalg.lstsq(whole, gradient)[0]


def gains(
    terms: np.ndarray,
    exponents: np.ndarray,
    log_prior: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    order: Sequence[int],
) -> np.ndarray:
    """Return what each feature tells when they are added one after another, (2, n_features).

    The first row has the means of log P(c | features so far) − log P(c | those before), c the class of the row, which
    add up to what all features tell together; the second the same for the log-odds of c.

    Parameters
    ----------
    terms, exponents, log_prior, classes, weights
        As in :func:`fit_exponents`, and what it returns.
    order : sequence of int
        The features in the order in which they are added.

    Examples
    --------
    >>> terms = np.log(np.array([[[0.8], [0.2]], [[0.2], [0.8]]]))
    >>> gains(terms, np.ones(1), np.log([0.5, 0.5]), np.array([0, 1]), np.ones(2), [0]).round(3).tolist()
    [[0.47], [1.386]]
    """
    out = np.zeros((2, terms.shape[2]))
    joint = np.repeat(log_prior[None], len(classes), axis=0)
    before = _log_odds_of(joint, classes)
    share = weights / weights.sum()

    def mean(values: np.ndarray) -> float:
        return float((share * values).sum())

    for f in order if np.isfinite(before).all() else ():  # infinite where no other class is possible
        joint += exponents[f] * terms[:, :, f]
        after = _log_odds_of(joint, classes)
        out[:, f] = mean(np.logaddexp(0.0, -before) - np.logaddexp(0.0, -after)), mean(after - before)
        before = after
    return out


def _log_odds_of(joint: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the log-odds of each row's class against all others."""
    at = np.arange(len(classes)), classes
    rest = joint - joint[at][:, None]
    rest[at] = -np.inf
    return np.asarray(-logsumexp(rest, axis=1))


# Files


def member_content(member: Member) -> dict[str, Any]:
    """Return a member as content of a file."""
    return {
        "coding": member.encoding.content(),
        "parents": [None if p is None else list(p) for p in member.parents],
        "tries": member.tries._asdict(),
        "told": member.told,
    }


def member_of(content: Mapping[str, Any], n_classes: int) -> Member:
    """Return the member that a file holds; raise ValueError where its parts do not belong together."""
    encoding = Encoding.from_content(content["coding"])
    parents = unpack(tuple[tuple[int, ...] | None, ...], content["parents"])
    tries = unpack(Tries, content["tries"])
    check_tries(tries, [v.n_states for v in encoding.coded], n_classes)
    told = unpack(FloatArray, content["told"])
    if len(parents) != len(encoding.variables) or told.shape != (2, len(parents)) or (abs(told) > _FARTHEST).any():
        raise ValueError("its structure does not belong to its features")
    return Member(encoding, parents, tries, told)


def check_tries(t: Tries, n_states: list[int], n_classes: int) -> None:
    """Raise ValueError unless all arrays have the types of kernels, and every position points into an array."""
    if any(a.dtype != b.dtype or a.ndim != b.ndim for a, b in zip(t, flatten([], np.empty(0), []), strict=True)):
        raise ValueError("its tables are of other types")
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
        bool((np.abs(t.exponents) < _FARTHEST).all() and np.isin(t.strengths, STRENGTHS).all()),
        all(bool(((a > 0) & (a < _FARTHEST)).all()) for a in (t.base, t.node_total, t.cell_count)),
        all(abs(base.sum() - 1.0) < 1e-6 for base in np.split(t.base, t.base_first[1:-1])),
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
