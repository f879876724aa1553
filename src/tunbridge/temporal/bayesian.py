"""Bayesian hidden Markov models: the posterior of the parameters, by variational Bayes or by Gibbs sampling.

The priors are those of maximum a posteriori: Dirichlet distributions of the first state and of each row of transitions,
and the conjugate prior of the emission. ``n_states`` is an upper bound, since states that explain nothing stay empty.

Variational Bayes approximates the posterior by q(z) q(θ) and raises a lower bound of the evidence,

    ln P(x) ≥ ln Z − KL(q(θ) ‖ p(θ)),    Z = Σ_z exp E ln p(x, z | θ).

q(z) is that of a chain with the weights exp E ln θ, whose expected counts are added to the priors. So it is EM with
posteriors in the place of parameters: :class:`Dirichlets` and :class:`Expected` are what EM iterates. The bound never
falls, except with full covariances and rows that are partly missing: their values are completed by expectations.

Gibbs sampling draws all states given the parameters (forward filtering, backward sampling), and the parameters given
the states. States of different draws are matched by the path they share most steps with. With ``weak_limit`` = γ the
rows of transitions have a common mean β, so that states unused anywhere are rarely entered (hierarchical Dirichlet
process, truncated at n_states):

    β ~ Dirichlet(γ/K, …, γ/K),    A_i ~ Dirichlet(α β + κ e_i),    π ~ Dirichlet(α₀ β),

where α is ``alpha``, α₀ ``start_alpha`` and κ ``sticky``. β is drawn given numbers of tables: of n transitions into
state j, drawn with the weight a = α β_j, each opens a table with probability a / (a + transitions before).

Time units inside gaps are steps without observations.

References
----------
M. J. Beal (2003). Variational algorithms for approximate Bayesian inference. PhD thesis, University College London,
chapter 3.
S. L. Scott (2002). Bayesian methods for hidden Markov models. Journal of the American Statistical Association 97,
337–351.
Y. W. Teh, M. I. Jordan, M. J. Beal, D. M. Blei (2006). Hierarchical Dirichlet processes. Journal of the American
Statistical Association 101, 1566–1581.
E. B. Fox, E. B. Sudderth, M. I. Jordan, A. S. Willsky (2011). A sticky HDP-HMM with application to speaker
diarization. Annals of Applied Statistics 5, 1020–1056.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number
from tunbridge._core.memory import check_memory
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.kernels.compiled import kernels_forced
from tunbridge.learning.missing.fitting import FitStep
from tunbridge.probability import Distribution
from tunbridge.temporal.answers import N_FUTURES, Forecast
from tunbridge.temporal.chain import Chain, Frames, dense_pairs, sampled_paths
from tunbridge.temporal.dynamics import Dynamics, Rules
from tunbridge.temporal.emissions import Conjugate, Emission, Gaussian, Independent
from tunbridge.temporal.emissions.base import special
from tunbridge.temporal.panel import Panel
from tunbridge.temporal.training import INTERRUPTED, Model, Observed, Run, counts_of, frames_of, tied_weights

METHODS = ("variational", "gibbs")
KEPT = 200  # draws of parameters that are kept
_STEPS = 2e7  # steps of sampled paths, from which the number of used states is found
_LEAST_LOG = -700.0
_FEW_SWEEPS = 50


def check(hmm: Any) -> None:
    """Raise where the parameters of a model do not allow Bayesian learning."""
    if hmm.bayesian is None:
        if hmm.weak_limit is not None:
            raise DataError("weak_limit must come with bayesian='gibbs'; got bayesian=None.", parameter="weak_limit")
        return
    check_choice("bayesian", hmm.bayesian, METHODS)
    check_integer("n_draws", hmm.n_draws, low=1)
    check_integer("burn_in", hmm.burn_in, low=1, optional=True)
    for what in ("alpha", "start_alpha"):
        check_number(what, getattr(hmm, what), above=0)
    for what, value, free in (
        ("start", hmm.start, "free"),
        ("hard", hmm.hard, False),
        ("durations", hmm.durations, None),
    ):
        if value != free:
            raise DataError(f"{what} must be {free!r} with bayesian={hmm.bayesian!r}; got {value!r}.", parameter=what)
    if hmm.weak_limit is not None:
        check_number("weak_limit", hmm.weak_limit, above=0)
        if hmm.bayesian != "gibbs":
            raise DataError(
                f"weak_limit must come with bayesian='gibbs'; got bayesian={hmm.bayesian!r}.", parameter="weak_limit"
            )


def filled(data: Observed) -> Observed:
    """Return sequences with a step without observations for each time unit inside a gap."""
    if data.steps is None:
        return data
    gaps = data.gaps[data.steps]
    ends = np.append(0, np.cumsum(gaps))
    n = int(ends[-1])
    check_memory("the steps inside gaps", 24.0 * n, ways_out="Choose a larger time_unit, or learn by EM.")
    rows, labels = np.full(n, len(data.x)), np.full(n, -1)
    rows[ends[1:] - 1] = data.rows
    if data.labels is not None:
        labels[ends[1:] - 1] = data.labels
    return data._replace(
        x=np.vstack([data.x, np.full((1, data.x.shape[1]), np.nan)]),
        rows=rows,
        offsets=ends[data.offsets],
        gaps=np.ones(1, np.int64),
        steps=None,
        labels=None if data.labels is None else labels,
    )


def conjugate(emission: Any, x: np.ndarray, weights: np.ndarray) -> Conjugate:
    """Return the posterior of an emission; raise for one that has none."""
    if not hasattr(emission, "posterior"):
        Emission.posterior(emission, x, weights)
    found: Conjugate = emission.posterior(x, weights)
    return found


# Variational Bayes


@dataclass(frozen=True, eq=False)
class Dirichlets(Dynamics):
    """The Dirichlet posteriors of the first state and of each row of transitions; ``start`` and ``matrix`` are means.

    Parameters
    ----------
    start_shapes : ndarray, shape (n_states,)
        The Dirichlet parameters of the first state; 0 where it is not possible.
    shapes : ndarray, shape (n_states, n_states)
        Those of the transitions.
    """

    start_shapes: np.ndarray
    shapes: np.ndarray

    @classmethod
    def around(cls, dynamics: Dynamics) -> Self:
        """Return the priors, with the means of other dynamics."""
        starts, rows = _prior_shapes(dynamics)
        return cls(dynamics.start, dynamics.matrix, dynamics.rules, starts, rows)

    def chain(self, gaps: np.ndarray) -> Chain:
        """Return the chain of the weights exp E ln θ."""
        fixed = self.rules.fixed
        start = self.start if "start" in fixed else _expected_weights(self.start_shapes)
        return Chain(start, (self.matrix if "transitions" in fixed else _expected_weights(self.shapes))[None])

    def estimated(self, starts: np.ndarray, chain: Chain, pairs: np.ndarray, gaps: np.ndarray) -> Self:
        """Return the posteriors given expected counts."""
        return self.from_counts(starts, dense_pairs(pairs, chain.arcs).sum(axis=0))

    def from_counts(self, starts: np.ndarray, pairs: np.ndarray) -> Self:
        """Return the posteriors given counts of first states and transitions."""
        first, rows = _prior_shapes(self)
        first, rows = np.where(first > 0.0, first + starts, 0.0), np.where(rows > 0.0, rows + pairs, 0.0)
        start = self.start if "start" in self.rules.fixed else first / first.sum()
        matrix = self.matrix if "transitions" in self.rules.fixed else rows / rows.sum(axis=1, keepdims=True)
        return replace(self, start=start, matrix=matrix, start_shapes=first, shapes=rows)

    def log_prior(self) -> float:
        """Return minus the divergence of the posteriors from the priors."""
        first, rows = _prior_shapes(self)
        total = 0.0 if "start" in self.rules.fixed else _divergence(self.start_shapes, first)
        return -total - (0.0 if "transitions" in self.rules.fixed else _divergence(self.shapes, rows))

    def permuted(self, order: np.ndarray) -> Self:
        """Return the posteriors with the states in another order."""
        found = super().permuted(order)
        return replace(found, start_shapes=self.start_shapes[order], shapes=self.shapes[np.ix_(order, order)])

    def mean(self) -> Dynamics:
        """Return the posterior means."""
        return Dynamics(self.start, self.matrix, self.rules)

    def draw(self, rng: np.random.Generator) -> Dynamics:
        """Return dynamics drawn from the posteriors."""
        fixed = self.rules.fixed
        start = self.start if "start" in fixed else _drawn(self.start_shapes, rng)
        rows = self.matrix if "transitions" in fixed else np.array([_drawn(row, rng) for row in self.shapes])
        return Dynamics(start, rows, self.rules)


def _prior_shapes(dynamics: Dynamics) -> tuple[np.ndarray, np.ndarray]:
    rules = dynamics.rules
    return np.where(rules.starts, rules.start_alpha, 0.0), np.where(rules.allowed, rules.alpha, 0.0)


def _expected_weights(shapes: np.ndarray) -> np.ndarray:
    """Return exp E ln θ of Dirichlet distributions, one a row."""
    some = np.where(shapes > 0.0, shapes, 1.0)
    logs = special.digamma(some) - special.digamma(shapes.sum(axis=-1, keepdims=True))
    return np.where(shapes > 0.0, np.exp(np.maximum(logs, _LEAST_LOG)), 0.0)


def _divergence(shapes: np.ndarray, prior: np.ndarray) -> float:
    """Return the summed divergence of Dirichlet distributions, one a row, from others."""
    a, b = np.where(shapes > 0.0, shapes, 1.0), np.where(prior > 0.0, prior, 1.0)
    logs = special.digamma(a) - special.digamma(shapes.sum(axis=-1, keepdims=True))
    cells = (a - b) * logs - special.gammaln(a) + special.gammaln(b)
    return float(cells.sum() + (special.gammaln(shapes.sum(axis=-1)) - special.gammaln(prior.sum(axis=-1))).sum())


def _drawn(shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a draw of a Dirichlet distribution; outcomes with the parameter 0 have probability 0."""
    found, some = np.zeros(len(shapes)), shapes > 0.0
    found[some] = rng.dirichlet(shapes[some])
    return found


@dataclass(frozen=True, eq=False)
class Expected:
    """An emission as EM sees it, with the posterior of its parameters in their place.

    Parameters
    ----------
    emission : Emission
        The emission with the posterior means.
    posterior : Conjugate, optional
        The posterior; None where the parameters are fixed.
    rows : tuple of x and weights
        What it was learned from.
    """

    emission: Any
    posterior: Conjugate | None = None
    rows: tuple[np.ndarray, np.ndarray] | None = None

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return E ln p(x_i | k)."""
        source: Any = self.posterior
        return self.emission.log_likelihood(x) if source is None else source.expected_log_likelihood(x)

    def fit(self, x: np.ndarray, weights: np.ndarray) -> Expected:
        """Return the emission with the posterior given weighted rows."""
        found = conjugate(self.emission, x, weights)
        return Expected(found.mean(), found, (x, weights))

    def log_prior(self) -> float:
        """Return minus the divergence of the posterior from the prior."""
        return 0.0 if self.posterior is None else -self.posterior.divergence()

    @property
    def n_parameters(self) -> int:
        """Those of the emission."""
        return int(getattr(self.emission, "n_parameters", 0))

    def permuted(self, order: np.ndarray) -> Expected:
        """Return the emission with the states in another order."""
        if self.rows is None:
            return replace(self, emission=self.emission.permuted(order))
        return self.fit(self.rows[0], self.rows[1][:, order])

    def draw(self, rng: np.random.Generator) -> Any:
        """Return an emission drawn from the posterior."""
        return self.emission if self.posterior is None else self.posterior.draw(rng)


def variational(model: Model, data: Observed) -> Model:
    """Return the posteriors given the expected counts under a model: where variational Bayes starts."""
    run = Run(model, data)
    found, chain = run._found, model.dynamics.chain(data.gaps)
    dynamics = Dirichlets.around(model.dynamics).estimated(found.starts, chain, found.pairs, data.gaps)
    emission: Any = Expected(model.emission)
    if "emissions" not in dynamics.rules.fixed:
        emission = emission.fit(data.x, run.by_row)
    return model._replace(dynamics=dynamics, emission=emission)


def variational_posterior(hmm: Any, model: Model, data: Observed, rng: np.random.Generator) -> Posterior:
    """Return the posterior that variational Bayes found, with draws."""
    dynamics: Any = model.dynamics
    emission: Any = model.emission
    draws = [model._replace(dynamics=dynamics.draw(rng), emission=emission.draw(rng)) for _ in range(_kept(hmm))]
    frames, _ = frames_of(data, model.logs(data.x), dynamics.states)
    n_paths = int(np.clip(_STEPS // max(1, len(data.rows)), 1, KEPT))
    chain, n = dynamics.chain(data.gaps), len(dynamics.start)
    sizes = [_n_used(sampled_paths(chain, frames, 1, rng, hmm.n_jobs)[0]) for _ in range(n_paths)]
    return Posterior("variational", tuple(draws), _used(sizes, n), hmm, dynamics=dynamics, emission=emission.posterior)


def _kept(hmm: Any) -> int:
    return min(int(hmm.n_draws), KEPT)


def _n_used(path: np.ndarray) -> int:
    return len(np.unique(path))


def _used(sizes: Sequence[int], n_states: int) -> Distribution:
    shares = np.bincount(sizes, minlength=n_states + 1)[1:] / max(1, len(sizes))
    return Distribution(Variable("used states", range(1, n_states + 1)), shares)


# Gibbs sampling


class Sweep(NamedTuple):
    """A draw of all states and of the parameters given them.

    Attributes
    ----------
    model : Model
        The parameters.
    path : ndarray of int64
        The states.
    mean : Model
        The mean of the parameters given the states.
    log_likelihood, log_joint : float
        ln p(x, z | θ), and the same with the prior of transitions, at the parameters before.
    """

    model: Model
    path: np.ndarray
    mean: Model
    log_likelihood: float
    log_joint: float


@dataclass
class Gibbs:
    """Draws of states and parameters in turn.

    Parameters
    ----------
    model : Model
        The present parameters.
    data : Observed
        The sequences, without gaps.
    rng : numpy Generator
        The source of randomness.
    weak_limit : float, optional
        γ of a hierarchical Dirichlet process.
    sticky : float
        κ.
    n_jobs : int, optional
        Threads.
    """

    model: Model
    data: Observed
    rng: np.random.Generator
    weak_limit: float | None = None
    sticky: float = 0.0
    n_jobs: int | None = None
    reference: np.ndarray | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        n, data = len(self.model.dynamics.start), self.data
        self.beta = np.full(n, 1.0 / n)
        self._frames, self._rows = frames_of(data, np.zeros((len(data.x), n)), np.arange(n))
        incomplete = _needs_completion(self.model.emission, data.x)
        self._partly, self._steps = incomplete, np.flatnonzero(incomplete[data.rows])

    def sweeps(self) -> Iterator[Sweep]:
        """Yield draws without end."""
        while True:
            yield self.sweep()

    def sweep(self) -> Sweep:
        """Draw the states, and then the parameters."""
        model, rng, n = self.model, self.rng, len(self.beta)
        frames = self._frames._replace(logs=self._frames.logs + model.logs(self.data.x)[self._rows])
        path = sampled_paths(model.dynamics.chain(self.data.gaps), frames, 1, rng, self.n_jobs)[0]
        completed = self._completed(path)
        log_likelihood = _complete_log_likelihood(model, frames, path)
        log_joint = log_likelihood + replace(model.dynamics, rules=self._rules()).log_prior()
        if self.reference is not None:
            path = self._matched(path, self.reference)
        starts, pairs, by_row = counts_of(path, frames, np.ones(frames.n_sequences), n)
        if self.weak_limit is not None:
            self._draw_weights(starts, pairs[0])
        own = replace(model.dynamics, rules=self._rules())
        posterior = Dirichlets.around(own).from_counts(starts, pairs[0])
        drawn, mean = self._emissions(path, by_row, completed)
        rules = model.dynamics.rules
        mean_model = model._replace(dynamics=replace(posterior.mean(), rules=rules), emission=mean)
        self.model = model._replace(dynamics=replace(posterior.draw(rng), rules=rules), emission=drawn)
        return Sweep(self.model, path, mean_model, log_likelihood, log_joint)

    def _rules(self) -> Rules:
        """Return the rules with the priors given β."""
        rules = self.model.dynamics.rules
        if self.weak_limit is None:
            return rules
        n, beta = len(self.beta), np.maximum(self.beta, 1e-290)
        stay = self.sticky * np.eye(n)
        weight = float((rules.alpha - stay)[0, 0])
        start: Any = rules.start_alpha * beta
        return replace(rules, alpha=weight * np.tile(beta, (n, 1)) + stay, start_alpha=start)

    def _emissions(self, path: np.ndarray, by_row: np.ndarray, completed: np.ndarray) -> tuple[Any, Any]:
        """Return an emission drawn given the states, and its mean."""
        model, x = self.model, self.data.x
        if "emissions" in model.dynamics.rules.fixed:
            return model.emission, model.emission
        weights = tied_weights(by_row, model.ties, self._rows, len(x))
        if len(self._steps):
            weights = np.where(self._partly[:, None], 0.0, weights)
            own = np.eye(weights.shape[1])[model.ties[path[self._steps]]]
            x, weights = np.vstack([x, completed]), np.vstack([weights, own])
        posterior = conjugate(model.emission, x, weights)
        return posterior.draw(self.rng), posterior.mean()

    def _completed(self, path: np.ndarray) -> np.ndarray:
        """Return the rows that are partly missing, completed by draws, if the emission needs that."""
        x = self.data.x[self.data.rows[self._steps]]
        return _completed(self.model.emission, x, self.model.ties[path[self._steps]], self.rng) if len(x) else x

    def _matched(self, path: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return a path with its states named as in the reference, with as many equal steps as possible."""
        from scipy.optimize import linear_sum_assignment

        n = len(self.beta)
        common = np.bincount(reference * n + path, minlength=n * n).reshape(n, n)
        _, order = linear_sum_assignment(common, maximize=True)
        self.beta = self.beta[order]
        names = np.empty(n, np.int64)
        names[order] = np.arange(n)
        return names[path]

    def _draw_weights(self, starts: np.ndarray, pairs: np.ndarray) -> None:
        """Draw β given the transitions."""
        rules, stays = self._rules(), np.arange(len(starts))
        tables = _tables(pairs, rules.alpha, self.rng)
        tables[stays, stays] -= self.rng.binomial(
            tables[stays, stays], np.minimum(1.0, self.sticky / rules.alpha[stays, stays])
        )
        first = _tables(starts[None], np.asarray(rules.start_alpha)[None], self.rng)[0]
        assert self.weak_limit is not None
        self.beta = self.rng.dirichlet(self.weak_limit / len(starts) + tables.sum(axis=0) + first)


def _tables(counts: np.ndarray, shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the number of tables in each cell: customer i of a cell opens one with probability a / (a + i)."""
    n = np.rint(counts).astype(np.int64).ravel()
    a = np.repeat(shapes.ravel(), n)
    before = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    opened = rng.random(len(a)) * (a + before) < a
    cell = np.repeat(np.arange(len(n)), n)
    return np.bincount(cell[opened], minlength=len(n)).reshape(counts.shape)


def _complete_log_likelihood(model: Model, frames: Frames, path: np.ndarray) -> float:
    """Return ln p(x, z | θ)."""
    n = len(model.dynamics.start)
    starts, pairs, _ = counts_of(path, frames, np.ones(frames.n_sequences), n)
    total = frames.logs[frames.rows, path].sum()
    for counts, p in ((starts, model.dynamics.start), (pairs[0], model.dynamics.matrix)):
        used = counts > 0.0
        total += counts[used] @ np.log(p[used])
    return float(total)


def _needs_completion(emission: Any, x: np.ndarray) -> np.ndarray:
    """Return which rows are partly missing in a part with full covariances, whose posterior needs complete rows."""
    if isinstance(emission, Independent):
        parts = [_needs_completion(part, x[:, list(columns)]) for columns, part in emission.parts]
        return np.logical_or.reduce(parts)
    missing = np.isnan(x)
    is_full = isinstance(emission, Gaussian) and emission.covariance == "full"
    return missing.any(axis=1) & ~missing.all(axis=1) if is_full else np.zeros(len(x), bool)


def _completed(emission: Any, x: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with the missing values of full Gaussians drawn given the others."""
    x = x.copy()
    if isinstance(emission, Independent):
        for columns, part in emission.parts:
            x[:, list(columns)] = _completed(part, x[:, list(columns)], states, rng)
        return x
    missing = np.isnan(x)
    if isinstance(emission, Gaussian) and emission.covariance == "full":
        for t in np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1)).tolist():
            gone, seen = np.flatnonzero(missing[t]), np.flatnonzero(~missing[t])
            mean, full = emission.means[states[t]], emission.covariances[states[t]]
            slope = np.linalg.solve(full[np.ix_(seen, seen)], full[np.ix_(seen, gone)]).T
            rest = full[np.ix_(gone, gone)] - slope @ full[np.ix_(seen, gone)]
            centre = mean[gone] + slope @ (x[t, seen] - mean[seen])
            x[t, gone] = rng.multivariate_normal(centre, (rest + rest.T) / 2.0, method="eigh")
    return x


def gibbs(
    hmm: Any, model: Model, data: Observed, rng: np.random.Generator, report: Any, *, numbers: np.ndarray, free: bool
) -> tuple[Run, Posterior]:
    """Return the posterior by Gibbs sampling, and a run with its means.

    Parameters
    ----------
    hmm : HiddenMarkovModel
        The parameters of learning.
    model : Model
        Where to start.
    data : Observed
        The sequences, without gaps.
    rng : numpy Generator
        The source of randomness.
    report : callable, optional
        Called after each iteration.
    numbers : ndarray of bool
        Which columns of x are numbers; states are ordered by their mean of the first.
    free : bool
        Whether states may be named in any order.
    """
    if not (data.weights == 1.0).all():
        raise DataError("sample_weight must be None with bayesian='gibbs'. Use bayesian='variational'.")
    sampler = Gibbs(model, data, rng, hmm.weak_limit, hmm.sticky, hmm.n_jobs)
    burn_in = max(1, hmm.n_draws // 2) if hmm.burn_in is None else hmm.burn_in
    spacing, n = -(-hmm.n_draws // KEPT), len(model.dynamics.start)
    kept: list[Sweep] = []
    trace: list[FitStep] = []
    sizes: list[int] = []
    occupied, began, note = np.zeros((len(data.rows), n)), perf_counter(), ""
    best: tuple[float, np.ndarray] = (-np.inf, np.empty(0))
    together = kernels_forced if burn_in + hmm.n_draws > _FEW_SWEEPS else nullcontext  # small work, many times
    try:
        with together():
            for i, sweep in zip(range(burn_in + hmm.n_draws), sampler.sweeps(), strict=False):
                trace.append(FitStep(sweep.log_likelihood, sweep.log_joint, perf_counter() - began))
                if report is not None:
                    report(f"draw {i + 1}", sweep.log_joint)
                if i < burn_in:
                    best = max(best, (sweep.log_joint, sweep.path), key=lambda pair: pair[0])
                    if i == burn_in - 1 and free:
                        sampler.reference = _ordered_path(best[1], data, numbers, n)
                else:
                    occupied[np.arange(len(data.rows)), sweep.path] += 1.0
                    sizes.append(_n_used(sweep.path))
                    if (i - burn_in) % spacing == 0:
                        kept.append(sweep)
    except KeyboardInterrupt:
        if not kept:
            raise
        note = INTERRUPTED
    run = Run(averaged([sweep.mean for sweep in kept]), data, n_jobs=hmm.n_jobs)
    run.converged, run.note, run.trace = True, note, [*trace, run.trace[-1]]
    occupied /= len(sizes)
    models = tuple(sweep.model for sweep in kept)
    return run, Posterior(
        "gibbs", models, _used(sizes, n), hmm, occupation=occupied, log_joint=[s.objective for s in trace]
    )


def _ordered_path(path: np.ndarray, data: Observed, numbers: np.ndarray, n: int) -> np.ndarray:
    """Return a path with its states ordered by their mean of the first number; unused ones are last."""
    if numbers.any():
        column = data.x[data.rows, int(np.argmax(numbers))]
        known = ~np.isnan(column)
        totals = np.bincount(path[known], minlength=n)
        sums = np.bincount(path[known], column[known], n)
        keys = np.where(totals > 0, sums / np.maximum(totals, 1), np.inf)
    else:
        keys = -np.bincount(path, minlength=n)
    names = np.empty(n, np.int64)
    names[np.argsort(keys, kind="stable")] = np.arange(n)
    return names[path]


def averaged(models: Sequence[Model]) -> Model:
    """Return the model with the mean of the parameters of several."""
    dynamics = [m.dynamics for m in models]
    start = np.mean([d.start for d in dynamics], axis=0)
    matrix = np.mean([d.matrix for d in dynamics], axis=0)
    mean = Dynamics(start / start.sum(), matrix / matrix.sum(axis=1, keepdims=True), models[-1].dynamics.rules)
    return models[-1]._replace(dynamics=mean, emission=_averaged([m.emission for m in models]))


def _averaged(emissions: Sequence[Any]) -> Any:
    last = emissions[-1]
    if isinstance(last, Independent):
        parts = zip(*(e.parts for e in emissions), strict=True)
        return Independent(tuple((own[0][0], _averaged([part for _, part in own])) for own in parts))
    if not is_dataclass(last):
        return last
    names = [f.name for f in fields(last) if f.init and isinstance(getattr(last, f.name), np.ndarray)]
    return replace(last, **{name: np.mean([getattr(e, name) for e in emissions], axis=0) for name in names})  # type: ignore[type-var]


# Answers


class Credible(NamedTuple):
    """Posterior means of an answer, with the ends of a credible interval."""

    mean: Any
    low: Any
    high: Any


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior of the parameters of a hidden Markov model.

    Attributes
    ----------
    kind : {"variational", "gibbs"}
        How it was found.
    draws : tuple of Model
        Parameters drawn from it, 200 at most.
    n_used : Distribution
        The posterior of the number of states that the sequences use.
    dynamics : Dirichlets, optional
        The Dirichlet parameters ``start_shapes`` and ``shapes``, of variational Bayes.
    emission : Conjugate, optional
        The posterior of the emission, of variational Bayes.
    occupation : ndarray of shape (n_steps, n_states), optional
        P(z_t = k | x) in the training sequences, by Gibbs sampling; steps inside gaps are included.
    log_joint : sequence of float, optional
        ln p(x, z, θ) of all Gibbs draws, burn-in included, up to a constant and the prior of emissions.

    Examples
    --------
    >>> import numpy as np, tunbridge as tb
    >>> x = np.array([2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8])
    >>> hmm = tb.HiddenMarkovModel(2, "poisson", bayesian="variational", random_state=0).fit(x)
    >>> low, high = hmm.posterior_.interval("rates")[1, 0]
    >>> bool(low < 9.5 < high)
    True
    """

    kind: str
    draws: tuple[Model, ...]
    n_used: Distribution
    template: Any
    dynamics: Dirichlets | None = None
    emission: Conjugate | None = None
    occupation: np.ndarray | None = None
    log_joint: Sequence[float] = ()

    def __post_init__(self) -> None:
        template = copy(self.template)
        template.__dict__.pop("posterior_", None)
        object.__setattr__(self, "template", template)

    def draw(self, rng: np.random.Generator) -> Model:
        """Return parameters drawn from the posterior."""
        if self.dynamics is None or self.emission is None:
            return self.draws[int(rng.integers(len(self.draws)))]
        return self.draws[0]._replace(dynamics=self.dynamics.draw(rng), emission=self.emission.draw(rng))

    def models(self) -> Iterator[Any]:
        """Yield a hidden Markov model for each draw."""
        for drawn in self.draws:
            made = copy(self.template)
            made.model_ = drawn
            yield made

    def values(self, what: str | Callable[[Any], Any]) -> np.ndarray:
        """Return a parameter or an answer for each draw, as one array.

        Parameters
        ----------
        what : str or callable
            A parameter such as ``"transitions"``, ``"start"``, ``"stationary"``, or one of the emission such as
            ``"means"``; or a function that takes a hidden Markov model and returns numbers.
        """
        return np.stack([_value(made, what) for made in self.models()])

    def interval(self, what: str | Callable[[Any], Any], probability: float = 0.95) -> np.ndarray:
        """Return the central credible interval of a parameter or an answer; the last axis has its two ends."""
        check_number("probability", probability, low=0, high=1)
        ends = [0.5 - probability / 2, 0.5 + probability / 2]
        return np.moveaxis(np.quantile(self.values(what), ends, axis=0), 0, -1)

    def mean(self, what: str | Callable[[Any], Any]) -> np.ndarray:
        """Return the posterior mean of a parameter or an answer."""
        return np.asarray(self.values(what).mean(axis=0))

    def __repr__(self) -> str:
        return f"Posterior({self.kind!r}, {len(self.draws)} draws, used states {self.n_used.mode})"


def credible(posterior: Posterior, panel: Panel, probability: float) -> Credible:
    """Return the smoothed probabilities of states, with credible intervals."""
    check_number("interval", probability, low=0, high=1)
    n = len(posterior.draws[0].dynamics.start)
    check_memory(
        "the probabilities of all steps and draws",
        8.0 * len(posterior.draws) * panel.table.n_rows * n,
        ways_out="Ask for fewer steps at a time.",
    )
    values = posterior.values(lambda made: made._smoothed(panel))
    low, high = np.quantile(values, [0.5 - probability / 2, 0.5 + probability / 2], axis=0)
    return Credible(*(panel.returned(found) for found in (values.mean(axis=0), low, high)))


def mixed(posterior: Posterior, panel: Panel, steps: int) -> Any:
    """Return forecasts, averaged over draws of the parameters."""
    n = max(1, N_FUTURES // len(posterior.draws))
    each = [made._forecast(panel, steps, n_draws=n, seed=i) for i, made in enumerate(posterior.models())]
    if isinstance(each[0], list):
        return [_mixture(own) for own in zip(*each, strict=True)]
    return _mixture(each)


def _mixture(forecasts: Sequence[Forecast]) -> Forecast:
    def mean(name: str) -> dict[str, np.ndarray]:
        return {key: np.mean([getattr(f, name)[key] for f in forecasts], axis=0) for key in getattr(forecasts[0], name)}

    return replace(
        forecasts[0],
        states=np.mean([f.states for f in forecasts], axis=0),
        probabilities=mean("probabilities"),
        means=mean("means"),
        draws=np.concatenate([f.draws for f in forecasts]),
    )


def _value(hmm: Any, what: str | Callable[[Any], Any]) -> np.ndarray:
    if callable(what):
        found = what(hmm)
    elif hasattr(hmm, f"{what}_"):
        found = getattr(hmm, f"{what}_")
    elif hasattr(hmm.emissions_, what):
        found = getattr(hmm.emissions_, what)
    else:
        raise DataError(
            f"what must be start, transitions, stationary, a parameter of the emission, or a function of a hidden "
            f"Markov model; got {what!r}.",
            parameter="what",
        )
    try:
        return np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise DataError("what must return numbers of the same shape for each draw.", parameter="what") from None


def keep(hmm: Any, run: Run, posterior: Posterior | None, rng: np.random.Generator) -> None:
    """Turn a fitted model into the posterior means, and keep its posterior."""
    if posterior is None:
        found: Any = hmm.model_
        hmm.elbo_ = run.objective
        hmm.model_ = found._replace(dynamics=found.dynamics.mean(), emission=found.emission.emission)
        posterior = variational_posterior(hmm, found, run.data, rng)
        hmm.log_likelihood_ = Run(hmm.model_, run.data, n_jobs=hmm.n_jobs).trace[-1].log_likelihood
    else:
        posterior = replace(posterior, template=hmm)
        hmm.trace_ = tuple(run.trace[:-1])
    hmm.posterior_ = posterior
