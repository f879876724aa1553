"""Learning hidden Markov models: expectation–maximisation, hard EM, and counting where states are labelled.

An iteration of EM computes the expected counts of first states, of transitions and of states by distinct observation
(:func:`tunbridge.temporal.chain.expectations`), and estimates the first state, the transitions and the emission from
them. The objective ln P(x | θ) + ln p(θ) never falls. Hard EM counts the most probable path in place of all paths.

Steps with a label may only be in that state: the log-likelihood of the others is −∞ there. Where all steps of all
sequences are labelled, counting is exact, and nothing is iterated.

Several starts are iterated a few times, and the best of them to its end. Numbers start from k-means++ clusters,
symbols from random weights.

References
----------
L. E. Baum, T. Petrie, G. Soules, N. Weiss (1970). A maximization technique occurring in the statistical analysis of
probabilistic functions of Markov chains. Annals of Mathematical Statistics 41, 164–171.
D. Arthur, S. Vassilvitskii (2007). k-means++: the advantages of careful seeding. SODA, 1027–1035.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.progress import Report
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.learning.missing.fitting import FitStep
from tunbridge.temporal.chain import Chain, Expectations, Frames, Pool, best_paths, expectations, sums_by_row
from tunbridge.temporal.dynamics import Dynamics
from tunbridge.temporal.emissions import Emission
from tunbridge.temporal.panel import Panel, distinct_rows

TRIAL = 15  # iterations of each start before the best is chosen
_ROUNDING = 1e-9  # a relative fall of the objective that counts as rounding
_FUZZY = 0.2  # of the weight of a row that is shared among all states at the start
_ROWS = 2**15  # distinct observations whose likelihoods are computed at a time
_HINT = 0.01  # the weight of a step without a label at the start, where all states have labels
_MOST_FITS, _LEAST_RISE = 200, 1e-8  # fits of an emission to labelled steps; their least rise per step
_ITERATIONS = 15  # that are expected of a run
_REFINED = 10  # iterations of k-means
_SAMPLED = 10_000  # rows that k-means looks at
INTERRUPTED = "interrupted: the best parameters so far"
SPARSE = "stopped before a prior below 1 made the sequences impossible"


class Observed(NamedTuple):
    """Sequences as learning takes them.

    Attributes
    ----------
    x : ndarray of shape (n_distinct, n_columns)
        The distinct observations.
    rows, offsets : ndarray of int64
        Which of them each step has, and the steps of each sequence.
    gaps, steps : ndarray of int64
        The distinct gaps in time units, and which of them leads to each step (None: all are 1).
    weights : ndarray
        The weight of each sequence.
    labels : ndarray of int64, optional
        The state of each step, −1 where it is not labelled.
    """

    x: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    gaps: np.ndarray
    steps: np.ndarray | None
    weights: np.ndarray
    labels: np.ndarray | None = None

    @property
    def weight(self) -> float:
        """The number of steps, by the weights of their sequences; 1 at least."""
        return max(1.0, float((np.diff(self.offsets) * self.weights).sum()))

    @property
    def by_step(self) -> np.ndarray:
        """The weight of each step."""
        return np.repeat(self.weights, np.diff(self.offsets))

    @property
    def by_row(self) -> np.ndarray:
        """The weight of each distinct observation."""
        return np.bincount(self.rows, self.by_step, len(self.x))


def observed(
    panel: Panel, lags: int = 0, weights: np.ndarray | None = None, labels: np.ndarray | None = None
) -> Observed:
    """Return the sequences of a panel as learning takes them."""
    x, rows = distinct_rows(panel.values(lags))
    gaps, steps = (np.ones(1, np.int64), None) if panel.gaps is None else np.unique(panel.gaps, return_inverse=True)
    own = np.ones(panel.n_sequences) if weights is None else weights
    return Observed(x, rows, panel.offsets, gaps, steps, own, labels)


class Model(NamedTuple):
    """The parameters of a hidden Markov model."""

    dynamics: Dynamics
    emission: Emission
    ties: np.ndarray  # the emission of each state

    def log_prior(self) -> float:
        """Return the log-density of the priors."""
        return self.dynamics.log_prior() + float(getattr(self.emission, "log_prior", float)())

    def logs(self, x: np.ndarray, n_jobs: int | None = None, pool: Pool | None = None) -> np.ndarray:
        """Return the log-likelihoods of observations in each state of the chain."""
        logs, owners = log_likelihood_of(self.emission, x, n_jobs, pool), self.ties[self.dynamics.states]
        return logs if len(owners) == logs.shape[1] and (owners == np.arange(len(owners))).all() else logs[:, owners]


def log_likelihood_of(emission: Any, x: np.ndarray, n_jobs: int | None = None, pool: Pool | None = None) -> np.ndarray:
    """Return the log-likelihoods of observations in each state; NaN, as after overflow, is impossible."""

    def part(rows: tuple[int, int]) -> np.ndarray:
        logs = np.asarray(emission.log_likelihood(x[slice(*rows)]), np.float64)
        return np.where(np.isnan(logs), -np.inf, logs) if np.isnan(logs.max(initial=0.0)) else logs

    pieces = row_pieces(len(x), _ROWS) or [(0, 0)]
    first = part(pieces[0])
    if len(pieces) == 1:
        return first
    found = (pool or Pool()).take(len(x), first.shape[1])
    found[: len(first)] = first

    def fill(rows: tuple[int, int]) -> None:
        found[slice(*rows)] = part(rows)

    map_threads(fill, pieces[1:], n_jobs)
    return found


def frames_of(data: Observed, logs: np.ndarray, states: np.ndarray) -> tuple[Frames, np.ndarray]:
    """Return the frames of the chain, and for each of their rows its distinct observation."""
    if data.labels is None:
        return Frames(logs, data.rows, data.offsets, data.steps), np.arange(len(logs))
    n_labels = int(data.labels.max(initial=-1)) + 2
    seen, rows = np.unique(data.rows * n_labels + data.labels + 1, return_inverse=True)
    row, label = np.divmod(seen, n_labels)
    forbidden = (label[:, None] > 0) & (states[None, :] != label[:, None] - 1)
    return Frames(np.where(forbidden, -np.inf, logs[row]), rows, data.offsets, data.steps), row


@dataclass
class Run:
    """EM from one start: the parameters so far and the steps to them."""

    model: Model
    data: Observed
    is_hard: bool = False
    tolerance: float = 1e-6
    n_jobs: int | None = None
    _found: Expectations = field(init=False)
    _rows: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.began, self.converged, self.note = perf_counter(), False, ""
        self.trace: list[FitStep] = []
        self._pool = Pool()
        self.told: dict[str, type[Warning]] = {}
        self.best: Model | None = None
        self._expect()

    @property
    def objective(self) -> float:
        """The objective reached."""
        return self.trace[-1].objective

    def go(self, max_iterations: int, report: Report | None = None) -> None:
        """Iterate until convergence, or until there are ``max_iterations`` in all; keep warnings in ``told``."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._iterate(max_iterations, report)
        self.told |= {str(each.message): each.category for each in caught}

    def _iterate(self, max_iterations: int, report: Report | None) -> None:
        while not self.converged and not self.note and len(self.trace) <= max_iterations:
            before, model = self.objective, self.model
            found = self._found
            self.model = maximised(self.model, self.data, found, self._rows)
            try:
                self._expect()
            except ImpossibleEvidenceError:  # a prior below 1 made probabilities 0 that the data need
                self.model, self._found, self.note = model, found, SPARSE
                return
            rise = self.objective - before
            self.converged = rise <= self.tolerance * self.data.weight
            if rise < -_ROUNDING * abs(before):  # an approximate M step, or a prior that has no maximum
                self.model, self._found = model, found
                self.trace.pop()
            if report is not None:
                report(f"iteration {len(self.trace) - 1}", self.objective)

    def _expect(self) -> None:
        """Compute the expected counts, and note the objective."""
        dynamics = self.model.dynamics
        logs = self.model.logs(self.data.x, self.n_jobs, self._pool)
        frames, self._rows = frames_of(self.data, logs, dynamics.states)
        chain = dynamics.chain(self.data.gaps)
        find = path_counts if self.is_hard else partial(expectations, repeats=_ITERATIONS, pool=self._pool)
        self._found = find(chain, frames, self.data.weights, self.n_jobs)
        self._pool.give(logs)
        log_likelihood = float((self._found.log_likelihood * self.data.weights).sum())
        objective = log_likelihood + self.model.log_prior()
        self.trace.append(FitStep(log_likelihood, objective, perf_counter() - self.began))

    @property
    def by_state(self) -> np.ndarray:
        """The expected weight of each state of the model."""
        states = self.model.dynamics.states
        return np.bincount(states, self._found.by_row.sum(axis=0))

    @property
    def by_row(self) -> np.ndarray:
        """The expected weight of each distinct observation in each emission."""
        model = self.model
        return tied_weights(self._found.by_row, model.ties[model.dynamics.states], self._rows, len(self.data.x))


def maximised(model: Model, data: Observed, found: Expectations, rows: np.ndarray) -> Model:
    """Return the parameters estimated from expected counts (the M step)."""
    rules = model.dynamics.rules
    chain = model.dynamics.chain(data.gaps)
    dynamics = model.dynamics.estimated(found.starts, chain, found.pairs, data.gaps)
    if "emissions" in rules.fixed:
        return model._replace(dynamics=dynamics)
    weights = tied_weights(found.by_row, model.ties[model.dynamics.states], rows, len(data.x))
    return model._replace(dynamics=dynamics, emission=model.emission.fit(data.x, weights))


def tied_weights(by_row: np.ndarray, ties: np.ndarray, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the weight of each distinct observation in each emission, from those of rows and states of a chain."""
    if len(by_row) != n_rows:
        by_row = np.stack([np.bincount(rows, column, n_rows) for column in by_row.T], axis=1)
    n = int(ties.max()) + 1
    return by_row if n == by_row.shape[1] else by_row @ np.eye(n)[ties]


def path_counts(
    chain: Chain, frames: Frames, weights: np.ndarray | None = None, n_jobs: int | None = None
) -> Expectations:
    """Return the counts of the most probable path of each sequence, with ln P(path, x) as log-likelihood."""
    totals, path = best_paths(chain, frames, n_jobs)
    own = np.ones(frames.n_sequences) if weights is None else weights
    starts, pairs, by_row = counts_of(path, frames, own, len(chain.start), len(chain.matrices))
    if chain.arcs is not None:
        n = len(chain.start)
        pairs = pairs[:, np.repeat(np.arange(n), np.diff(chain.arcs.begins)), chain.arcs.ends]
    return Expectations(totals, starts, pairs, by_row)


def counts_of(
    path: np.ndarray, frames: Frames, weights: np.ndarray, n_states: int, n_matrices: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts of first states, of transitions by matrix, and of states by row, along known paths."""
    by_step = np.repeat(weights, np.diff(frames.offsets))
    first = np.zeros(len(path), bool)
    first[frames.offsets[:-1][np.diff(frames.offsets) > 0]] = True
    starts = np.bincount(path[first], by_step[first], n_states)
    to = np.flatnonzero(~first)
    matrix = np.zeros(len(to), np.int64) if frames.steps is None else frames.steps[to]
    cells = (matrix * n_states + path[to - 1]) * n_states + path[to]
    pairs = np.bincount(cells, by_step[to], n_matrices * n_states**2).reshape(n_matrices, n_states, n_states)
    by_row = np.bincount(frames.rows * n_states + path, by_step, len(frames.logs) * n_states)
    return starts, pairs, by_row.reshape(len(frames.logs), n_states)


class LabelCounts(NamedTuple):
    """What sequences with a label for every step are learned from.

    Attributes
    ----------
    starts, pairs : ndarray
        The weights of first states and of transitions.
    states : ndarray
        The weight of each state.
    x, weights : ndarray
        The distinct observations, and their weights in each emission.
    """

    starts: np.ndarray
    pairs: np.ndarray
    states: np.ndarray
    x: np.ndarray
    weights: np.ndarray

    def plus(self, other: LabelCounts | None) -> LabelCounts:
        """Return the counts of both."""
        if other is None:
            return self
        x, rows = distinct_rows(np.vstack([other.x, self.x]))
        weights = sums_by_row(np.vstack([other.weights, self.weights]), rows, len(x))
        starts, pairs, states = (one + two for one, two in zip(self[:3], other[:3], strict=True))
        return LabelCounts(starts, pairs, states, x, weights)

    def log_likelihood(self, model: Model) -> float:
        """Return ln P of the observations and labels."""
        logs = log_likelihood_of(model.emission, self.x)
        with np.errstate(divide="ignore"):
            parts = ((self.starts, np.log(model.dynamics.start)), (self.pairs, np.log(model.dynamics.matrix)))
        found = sum(float((n[n > 0.0] * terms[n > 0.0]).sum()) for n, terms in (*parts, (self.weights, logs)))
        return float(found)


def label_counts(model: Model, data: Observed) -> LabelCounts:
    """Return the counts of sequences in which every step is labelled."""
    assert data.labels is not None
    frames = Frames(np.zeros((len(data.x), 1)), data.rows, data.offsets)
    starts, pairs, by_row = counts_of(data.labels, frames, data.weights, len(model.dynamics.start))
    weights = tied_weights(by_row, model.ties, np.arange(len(data.x)), len(data.x))
    return LabelCounts(starts, pairs[0], by_row.sum(axis=0), data.x, weights)


def counted(model: Model, counts: LabelCounts) -> Model:
    """Return the parameters estimated from counts; an emission with hidden parts of its own is iterated."""
    dynamics, emission = model.dynamics.from_counts(counts.starts, counts.pairs), model.emission
    value = -np.inf
    for _ in range(_MOST_FITS):
        emission = emission.fit(counts.x, counts.weights)
        known = counts.weights > 0.0
        now = float((counts.weights[known] * log_likelihood_of(emission, counts.x)[known]).sum())
        if not now > value + _LEAST_RISE * max(1.0, float(counts.weights.sum())):
            break
        value = now
    return model._replace(dynamics=dynamics, emission=emission)


# Starts


def first_model(
    emission: Emission,
    dynamics: Dynamics,
    ties: np.ndarray,
    data: Observed,
    numbers: np.ndarray,
    rng: np.random.Generator,
    number: int = 0,
) -> Model:
    """Return parameters to start from.

    Parameters
    ----------
    emission : Emission
        Its settings, or parameters that are fitted further.
    dynamics : Dynamics
        Where transitions start.
    ties : ndarray of int64
        The emission of each state.
    data : Observed
        The sequences.
    numbers : ndarray of bool
        Which columns of x are numbers rather than codes.
    rng : numpy Generator
        The source of randomness.
    number : int
        The number of the start. The first has clusters by k-means; of the others every second one has the clusters of
        random seeds, and the rest random weights: the more starts differ, the better.
    """
    n = int(ties.max()) + 1
    weights = data.by_row
    if numbers.any() and (number == 0 or number % 2):
        shares = _clusters(data.x[:, numbers], weights, n, rng, 0 if number else _REFINED)
    else:
        shares = rng.dirichlet(np.ones(n), len(data.x))
    shares = (1.0 - _FUZZY) * shares + _FUZZY / n
    if data.labels is not None:
        known = data.labels >= 0
        seen = np.zeros((len(data.x), n))
        np.add.at(seen, (data.rows[known], ties[data.labels[known]]), data.by_step[known])
        rest = weights[:, None] - seen.sum(axis=1, keepdims=True)
        is_named = bool((seen.sum(axis=0) > 0.0).all())
        free = _HINT * rest / n if is_named else _FUZZY * rest * shares
        return Model(_from_labels(dynamics, data), emission.fit(data.x, seen + free), ties)
    return Model(dynamics, emission.fit(data.x, shares * weights[:, None]), ties)


def _from_labels(dynamics: Dynamics, data: Observed) -> Dynamics:
    """Return dynamics estimated from the neighbouring labels there are, and a transition spread over each row."""
    assert data.labels is not None
    labels, first = data.labels, data.offsets[:-1][np.diff(data.offsets) > 0]
    inner = np.ones(len(labels), bool)
    inner[first] = False
    to = np.flatnonzero(inner & (labels >= 0) & (np.roll(labels, 1) >= 0))
    n = len(dynamics.start)
    pairs = np.bincount(labels[to - 1] * n + labels[to], minlength=n * n).reshape(n, n)
    starts = np.bincount(labels[first][labels[first] >= 0], minlength=n)
    alpha = dynamics.rules.alpha
    return dynamics.from_counts(starts + dynamics.start, pairs + dynamics.matrix + 1.0 - np.minimum(alpha, 1.0))


def _clusters(x: np.ndarray, weights: np.ndarray, n: int, rng: np.random.Generator, n_refined: int) -> np.ndarray:
    """Return which of n clusters each row is in, as an indicator: k-means++ seeds and a few iterations of k-means."""
    known = ~np.isnan(x)
    n_known = np.maximum(known.sum(axis=0), 1)
    shifted = np.where(known, x - np.where(known, x, 0.0).sum(axis=0) / n_known, 0.0)
    spread = np.sqrt((shifted**2).sum(axis=0) / n_known)
    z = shifted / np.where(spread > 0.0, spread, 1.0)
    chosen = rng.choice(len(z), _SAMPLED, p=weights / weights.sum()) if len(z) > _SAMPLED else np.arange(len(z))
    sample, mass = z[chosen], (np.ones(len(chosen)) if len(z) > _SAMPLED else weights)
    if not len(sample) or not mass.sum() > 0.0:
        return rng.dirichlet(np.ones(n), len(x))
    seeds = sample[[rng.choice(len(sample), p=mass / mass.sum())]]
    while len(seeds) < n:
        far = mass * _distances(sample, seeds).min(axis=1)
        if not far.sum() > 0.0:
            return np.eye(n)[rng.integers(0, n, len(x))]  # fewer distinct rows than clusters
        seeds = np.vstack([seeds, sample[rng.choice(len(sample), p=far / far.sum())]])
    for _ in range(n_refined):
        own = np.eye(n)[_distances(sample, seeds).argmin(axis=1)] * mass[:, None]
        sums = own.sum(axis=0)[:, None]
        seeds = np.where(sums > 0.0, own.T @ sample / np.where(sums > 0.0, sums, 1.0), seeds)
    return np.eye(n)[_distances(z, seeds).argmin(axis=1)]


def _distances(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    found = (x**2).sum(axis=1)[:, None] - 2.0 * x @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(found, 0.0)
