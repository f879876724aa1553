"""Hidden Markov models: sequences of observations that depend on a hidden state which follows a Markov chain.

    P(x, z) = π(z_1) Π_t A(z_t−1, z_t) Π_t p(x_t | z_t)

The class reads sequences, calls the algorithms, and holds the result: :mod:`tunbridge.temporal.chain` computes
posteriors and paths, :mod:`tunbridge.temporal.training` learns, :mod:`tunbridge.temporal.emissions` has the
distributions p(x | z).

Four questions have four names. ``filter`` gives P(z_t | x_1..t), what is known at each step from the past;
``predict_proba`` (smoothing) P(z_t | x_1..T), what is known afterwards; ``predict`` the most probable path of all
states together (Viterbi); ``forecast`` states and observations after the last step.

References
----------
L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech recognition. Proceedings of
the IEEE 77, 257–286.
W. Zucchini, I. L. MacDonald, R. Langrock (2016). Hidden Markov Models for Time Series. CRC Press.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import (
    check_choice,
    check_fitted,
    check_integer,
    check_number,
    counted as number_of,
    listed,
    shortened,
    warn_user,
)
from tunbridge._core.progress import Progress
from tunbridge._core.registry import model
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import at_once, n_threads, replacing_state
from tunbridge.classifiers._estimator import Estimator
from tunbridge.data import State, Variable, as_table
from tunbridge.errors import ConvergenceWarning, DataError, DataWarning
from tunbridge.formats import save_model
from tunbridge.learning.searches.problem import watched
from tunbridge.temporal import bayesian, chain as chains, durations as semi_markov, training
from tunbridge.temporal.answers import (
    Paths,
    Sampled,
    StatesChoice,
    choose_states,
    explained,
    forecast_of,
    sampled,
)
from tunbridge.temporal.chain import Chain, Frames
from tunbridge.temporal.choosing import Emissions, emission_for, kind_of, variables_of
from tunbridge.temporal.dynamics import Dynamics, Rules, first_dynamics, normalised, rules_of, stationary
from tunbridge.temporal.emissions import FAMILIES, Categorical, Emission
from tunbridge.temporal.files import content_of, read_into
from tunbridge.temporal.panel import Layout, Panel, frame_column, read_panel, unit_of
from tunbridge.temporal.streams import StateStream
from tunbridge.temporal.summary import summary_html, summary_text
from tunbridge.temporal.training import Model, Observed, Run

_DEFAULT_STATES, _DEFAULT_RESTARTS = 2, 4
_STARTS_TO_A_FINAL = 4  # of every so many further starts one more is iterated to its end
_FIXED = ("start", "transitions", "emissions")


@model("hidden-markov-model")
@dataclass(eq=False, repr=False)
class HiddenMarkovModel(Estimator):
    """Hidden Markov model of one or more sequences.

    Parameters
    ----------
    n_states : int, optional
        The number of hidden states; default: the number of labels if there are any, otherwise 2. See
        :meth:`choose_states`.
    emissions : str, Emission, or mapping of column to one of them
        The distribution of observations in each state: ``"categorical"``, ``"gaussian"``, ``"gaussian-mixture"``,
        ``"poisson"``, ``"negative-binomial"``, ``"student-t"``, ``"autoregressive"``, or an object with settings such
        as ``tb.emissions.Gaussian(covariance="diagonal")``. ``"auto"``: categorical for symbols, Gaussian for numbers,
        and columns that are independent given the state where there are several kinds.
    topology : {"full", "left-to-right", "banded", "cyclic"}, int, or matrix of booleans
        Which transitions are possible; an integer is the width of a band around the diagonal. With ``"left-to-right"``
        the first state is state 0.
    start : {"free", "stationary"}
        Whether the distribution of the first state is a parameter, or the stationary one of the transitions.
    alpha, start_alpha : float
        The Dirichlet parameters of transitions and of the first state; 1 is maximum likelihood.
    sticky : float
        Added to ``alpha`` of staying in a state.
    fixed : sequence of {"start", "transitions", "emissions"}
        What is not estimated (with ``warm_start``).
    ties : sequence of int, optional
        The number of the emission of each state: states with equal numbers share one.
    hard : bool
        Learn from the most probable paths instead of all paths (Viterbi training): faster, biased.
    tolerance : float
        Stop when an iteration raises the objective by less than this per step.
    max_iterations : int
        The maximum number of iterations; a warning is issued when it is reached.
    restarts : int, optional
        The number of further random starts. Default: 4, and 0 with labels.
    warm_start : bool
        Start ``fit`` from the present parameters.
    sequence, time : str, optional
        The columns of a frame that name the sequence and give the time.
    columns : list of str, optional
        The observed columns of a frame; default: all others.
    time_unit : float or str, optional
        The time between two steps, as a number or, of dates, a text such as ``"1d"``; default: found from the data.
    random_state : int, Generator or None
        Random seed of the starts.
    n_jobs : int, optional
        Threads; ``None`` for all cores. Results do not depend on it.
    progress : callable, False or None
        As for :func:`fit_parameters`.
    bayesian : {"variational", "gibbs"}, optional
        Learn the posterior of the parameters instead of the most probable ones: by variational Bayes, or by Gibbs
        sampling. ``alpha``, ``start_alpha``, ``sticky`` and the settings of the emission are the priors; ``n_states``
        is an upper bound. See :mod:`tunbridge.temporal.bayesian`.
    n_draws : int
        The number of Gibbs draws after the burn-in; 200 of them are kept.
    burn_in : int, optional
        The number of Gibbs draws before; default: half of ``n_draws``.
    weak_limit : float, optional
        The concentration of a hierarchical Dirichlet process whose weights are the common prior mean of all rows of
        transitions; ``alpha`` is then the weight of this prior for a whole row. Gibbs sampling only.
    durations : {"poisson", "negative-binomial", "free"}, optional
        The distribution of the time that states last; default: geometric, as in a Markov chain. Then ``transitions_``
        are between different states. See :mod:`tunbridge.temporal.durations`.
    max_duration : int, optional
        The longest duration; default: the longest sequence, 100 at most.

    Attributes
    ----------
    start_ : ndarray of shape (n_states,)
        The distribution of the first state.
    transitions_ : ndarray of shape (n_states, n_states)
        P(next state | state), one row for each state.
    emissions_ : Emission
        The emission with its parameters.
    state_names_ : tuple
        What states are called in answers: the labels, or 0, 1, …
    variables_ : tuple of Variable
        The observed variables.
    log_likelihood_ : float
        ln P(x) of the training sequences, weighted.
    trace_ : tuple of FitStep
        The iterations of the best start.
    occupation_ : ndarray of shape (n_states,)
        The expected share of the training steps in each state.
    converged_ : bool
        Whether it converged within ``max_iterations``.
    durations_ : ndarray of shape (n_states, max_duration)
        P(duration | state) of 1, 2, …, with ``durations``.
    posterior_ : Posterior
        The posterior of the parameters, with ``bayesian``: draws, credible intervals, the number of used states. The
        parameters above are then posterior means.
    elbo_ : float
        The lower bound of the evidence, with ``bayesian="variational"``; ``trace_`` has it for each iteration.

    Notes
    -----
    X is one sequence (an array, a text whose characters are symbols, a list of numbers), several (a list of arrays or
    texts), or a frame with the column ``sequence``. Missing values, and steps without any value, are marginalized
    exactly. Where the ``time`` column has gaps, transitions go over them by powers of the matrix.

    Without labels, states are ordered by their mean of the first numeric column, if all transitions are possible.

    The likelihood has several local maxima; ``restarts`` helps, and so does ``choose_states``. Time and memory of an
    iteration grow with steps × states², or with the number of possible transitions where there are few.

    References
    ----------
    L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech recognition.

    Examples
    --------
    >>> import numpy as np, tunbridge as tb
    >>> counts = np.array([2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8])
    >>> hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(counts)
    >>> hmm.emissions_.rates.round(2).ravel().tolist()
    [1.11, 9.49]
    >>> hmm.predict(counts).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    """

    n_states: int | None = None
    emissions: Emissions = "auto"
    _: KW_ONLY
    topology: Any = "full"
    start: str = "free"
    alpha: float = 1.0
    start_alpha: float = 1.0
    sticky: float = 0.0
    fixed: Sequence[str] = ()
    ties: Sequence[int] | None = None
    hard: bool = False
    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    warm_start: bool = False
    sequence: str | None = None
    time: str | None = None
    columns: Sequence[str] | str | None = None
    time_unit: float | str | None = None
    random_state: RandomState = None
    n_jobs: int | None = None
    progress: Progress = None
    bayesian: str | None = None
    n_draws: int = 1000
    burn_in: int | None = None
    weak_limit: float | None = None
    durations: str | None = None
    max_duration: int | None = None

    kind = "hidden-markov-model"

    # Learning

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences, some or all of whose steps may be labelled with their state.

        Parameters
        ----------
        X : array, text, list of arrays or texts, ragged Arrow column, or frame
            The sequences.
        y : array, list of arrays, or str, optional
            The state of each step, missing where it is not known, or the column of the frame that holds it. Fully
            labelled sequences are counted, without iterations.
        sample_weight : array-like of shape (n_sequences,), optional
            A weight for each sequence.

        Returns
        -------
        self
            After Ctrl-C it has the best parameters so far.
        """
        with replacing_state(self) as learner:
            learner._check_parameters()
            learner._learn(X, y, sample_weight, learner._present() if learner.warm_start else None)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from further sequences in which every step is labelled; the result is that of all at once.

        Sequences without labels cannot be added exactly: fit all of them, or continue from the present parameters with
        ``warm_start=True``.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. The first call fixes the states and symbols.

        Returns
        -------
        self
        """
        with replacing_state(self) as learner:
            learner._check_parameters()
            if learner.bayesian is not None or learner.durations is not None:
                raise DataError("partial_fit must have bayesian=None and durations=None. Fit all sequences together.")
            learner._add(X, y, sample_weight)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_states", self.n_states, low=1, optional=True)
        check_number("tolerance", self.tolerance, low=0)
        check_integer("max_iterations", self.max_iterations, low=1)
        check_integer("restarts", self.restarts, low=0, optional=True)
        for what in ("hard", "warm_start"):
            if not isinstance(getattr(self, what), bool):
                raise DataError(f"{what} must be True or False; got {getattr(self, what)!r}.", parameter=what)
        if not isinstance(self.fixed, str | list | tuple | set | frozenset):
            raise DataError(f"fixed must be a list of {listed(_FIXED)}; got {self.fixed!r}.", parameter="fixed")
        if self.fixed and not (self.warm_start and hasattr(self, "model_")):
            raise DataError(
                "fixed must come with warm_start=True and parameters to keep, from an earlier fit or from_parameters.",
                parameter="fixed",
            )
        if self.time_unit is not None:
            unit_of(self.time_unit)
        n_threads(self.n_jobs)
        bayesian.check(self)
        semi_markov.check(self)
        for part in [self.fixed] if isinstance(self.fixed, str) else self.fixed:
            check_choice("fixed", part, _FIXED)

    def _present(self) -> Model | None:
        """Return the present parameters with the present rules, to start from."""
        if not hasattr(self, "model_"):
            return None
        dynamics: Dynamics = self.model_.dynamics
        n = len(self.state_names_)
        family = dynamics.family if isinstance(dynamics, semi_markov.Durations) else None
        for what, now, before in (("n_states", self.n_states or n, n), ("durations", self.durations, family)):
            if now != before:
                raise DataError(
                    f"warm_start must go on with {what} = {before!r}; got {now!r}. Set warm_start=False to begin anew.",
                    parameter=what,
                )
        rules = self._rules(n) if family is None else semi_markov.without_stays(self._rules(n))
        return self.model_._replace(dynamics=replace(dynamics, rules=rules))

    def _learn(self, X: Any, y: Any, sample_weight: Any, before: Model | None) -> None:
        known = before is not None
        panel, names, data = self._taken(X, y, sample_weight, self.variables_ if known else None, known=known)
        rng = np.random.default_rng(entropy_of(self.random_state))
        n = len(names)
        is_counted = data.labels is not None and bool((data.labels >= 0).all()) and data.steps is None
        is_counted = is_counted and self.bayesian is None and self.durations is None
        data, posterior = (data if self.bayesian is None else bayesian.filled(data)), None
        with watched(self.progress) as report:
            if is_counted and before is None:
                first = self._first(panel, data, n, rng, 0)
                found = training.counted(first, training.label_counts(first, data))
                run = Run(found, data, is_hard=self.hard, n_jobs=self.n_jobs)
                run.converged = True
            elif self.bayesian == "gibbs":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataWarning)
                    first = self._first(panel, data, n, rng, 0) if before is None else before
                numbers = np.array([v.is_continuous for v in panel.table.variables])
                free = self._is_free(data) and not first.dynamics.rules.fixed
                run, posterior = bayesian.gibbs(self, first, data, rng, report, numbers=numbers, free=free)
            else:
                run = self._best_run(panel, data, n, rng, before, report)
        for name in ("_counts", "posterior_", "elbo_"):
            self.__dict__.pop(name, None)
        if is_counted and before is None:
            self._counts = training.label_counts(run.model, data)
        self._keep(panel, names, run)
        if self.bayesian is not None:
            bayesian.keep(self, run, posterior, rng)

    def _best_run(
        self, panel: Panel, data: Observed, n: int, rng: np.random.Generator, before: Model | None, report: Any
    ) -> Run:
        """Return EM from several starts, each iterated a few times and the best to its end."""
        default = 0 if before is not None or data.labels is not None else _DEFAULT_RESTARTS
        restarts = default if self.restarts is None else self.restarts
        best: Run | None = None
        runs: list[Run] = []
        try:
            for i in range(restarts + 1):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataWarning)  # of starts, which say nothing about the result
                    first = before if before is not None and i == 0 else self._first(panel, data, n, rng, i)
                    first = first if self.bayesian is None else bayesian.variational(first, data)
                run = Run(first, data, is_hard=self.hard, tolerance=self.tolerance, n_jobs=self.n_jobs)
                best = best or run
                run.go(min(training.TRIAL, self.max_iterations) if restarts else self.max_iterations, report)
                runs = sorted([*runs, run], key=lambda each: -each.objective)[: 1 + restarts // _STARTS_TO_A_FINAL]
                best = runs[0]
            for run in runs:
                run.go(self.max_iterations, report)
            best = max(runs, key=lambda each: each.objective)
        except KeyboardInterrupt:
            if best is None:
                raise
            best.note = training.INTERRUPTED
        assert best is not None
        return best

    def _keep(self, panel: Panel, names: tuple[State, ...], run: Run) -> None:
        """Keep what was learned, and warn of what should be known."""
        if not run.converged and not run.note:
            warn_user(
                f"The hidden Markov model did not converge in {self.max_iterations} iterations. Raise max_iterations, "
                "or tolerance.",
                ConvergenceWarning,
            )
        for message, category in run.told.items():
            warn_user(message, category)
        self.model_ = self._ordered(run, [v.is_continuous for v in panel.table.variables])
        self.occupation_ = self._occupation(run)
        unused = np.flatnonzero(self.occupation_ * run.by_state.sum() < 1e-6).tolist()
        if unused and self.bayesian is None:
            warn_user(
                f"The hidden Markov model does not use {number_of(len(unused), 'state')} in the data: "
                f"{listed([names[k] for k in unused])}. Try fewer states, or more restarts.",
                DataWarning,
            )
        free = run.model.dynamics.n_parameters + int(getattr(run.model.emission, "n_parameters", 0))
        is_counted = len(run.trace) == 1 and run.data.labels is not None  # nothing was hidden
        if run.data.weight < free and self.bayesian is None and not is_counted:
            warn_user(f"The model has {free} parameters and only {run.data.weight:g} steps to learn from.", DataWarning)
        semi_markov.warn_of_longest(self.model_.dynamics)
        self.state_names_, self.variables_ = names, panel.table.variables
        self.time_unit_, self.n_steps_ = panel.time_unit, run.data.weight
        self.log_likelihood_, self.trace_ = run.trace[-1].log_likelihood, tuple(run.trace)
        self.converged_ = run.converged

    def _occupation(self, run: Run) -> np.ndarray:
        """Return the expected share of the steps in each state."""
        found = run.by_state / max(float(run.by_state.sum()), 1e-300)
        same = self.model_.dynamics is run.model.dynamics
        return found if same else found[self._order]

    def _ordered(self, run: Run, numbers: Sequence[bool]) -> Model:
        """Return the parameters with states ordered by their mean of the first number, where any order will do."""
        is_free = self._is_free(run.data) and not self.warm_start and self.bayesian != "gibbs"
        is_ours = type(run.model.emission) in (*FAMILIES.values(), bayesian.Expected)
        if not (is_free and any(numbers) and is_ours):
            return run.model
        column, weights = run.data.x[:, list(numbers).index(True)], run.by_row
        known = ~np.isnan(column)
        means = weights[known].T @ column[known] / np.maximum(weights[known].sum(axis=0), 1e-300)
        self._order = order = np.argsort(means, kind="stable")
        dynamics = run.model.dynamics.permuted(order)
        return run.model._replace(dynamics=dynamics, emission=run.model.emission.permuted(order))

    def _is_free(self, data: Observed) -> bool:
        """Return whether states may be named in any order."""
        is_full = isinstance(self.topology, str) and self.topology == "full"
        return is_full and self.ties is None and data.labels is None

    def _add(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Add the counts of fully labelled sequences to those so far, and estimate the parameters from all."""
        kept = getattr(self, "_counts", None)
        if kept is None and hasattr(self, "model_"):
            raise DataError(
                "partial_fit must follow partial_fit, or a fit with a label for every step, in the same session; the "
                "counts of this model are not known. Fit all sequences together."
            )
        panel, names, data = self._taken(X, y, sample_weight, self.variables_ if kept else None, known=bool(kept))
        if data.labels is None or (data.labels < 0).any() or data.steps is not None:
            raise DataError(
                "partial_fit must have a label for every step, at regular times. Fit all sequences together, or set "
                "warm_start=True and call fit."
            )
        n, rng = len(names), np.random.default_rng(entropy_of(self.random_state))
        model = self.model_ if kept else self._first(panel, data, n, rng, 0)
        self._counts = counts = training.label_counts(model, data).plus(kept)
        begin = model._replace(dynamics=first_dynamics(model.dynamics.rules), emission=self._emission(panel))
        fitted = training.counted(begin, counts)
        self.model_, self.state_names_, self.variables_ = fitted, names, panel.table.variables
        self.time_unit_, self.converged_ = panel.time_unit, True
        self.n_steps_ = getattr(self, "n_steps_", 0.0) * bool(kept) + data.weight
        self.log_likelihood_, self.trace_ = counts.log_likelihood(fitted), ()
        self.occupation_ = counts.states / max(float(counts.states.sum()), 1e-300)

    # Reading

    def _taken(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        variables: tuple[Variable, ...] | None,
        *,
        known: bool = False,
    ) -> tuple[Panel, tuple[State, ...], Observed]:
        """Return sequences as learning takes them, with the names of the states."""
        ignored = [y] if isinstance(y, str) else []
        layout = self._layout() if variables is None else self._known_layout()
        panel = read_panel(X, layout, kinds=self._kinds(), variables=variables, ignored=ignored)
        if isinstance(y, str):
            y = frame_column(X, y)
        labels = None if y is None else panel.aligned("y", y)
        names, codes = self._states_of(labels, self.state_names_ if known else None)
        weights = None if sample_weight is None else _sequence_weights(sample_weight, panel)
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            steps = np.repeat(weights > 0.0, panel.lengths)
            panel, weights, codes = panel.take(kept), weights[kept], None if codes is None else codes[steps]
        if not len(panel.table):
            raise DataError("there must be a step to learn from; all sequences are empty.")
        return panel, names, training.observed(panel, self._lags(panel), weights, codes)

    def _states_of(
        self, labels: np.ndarray | None, known: tuple[State, ...] | None
    ) -> tuple[tuple[State, ...], np.ndarray | None]:
        """Return the names of the states, and the number of the label of each step."""
        if labels is not None and all(label is None or label != label for label in labels.tolist()):
            labels = None
        if labels is None:
            n = self.n_states or _DEFAULT_STATES
            return (known or tuple(range(n))), None
        column = as_table({"y": labels.tolist()}, kinds="categorical").column("y")
        found = tuple(column.variable.states or ())
        names = known or found
        if self.n_states is not None and known is None:
            if len(found) > self.n_states:
                raise DataError(
                    f"y must have at most n_states = {self.n_states} different labels; got {listed(found)}.",
                    parameter="y",
                )
            free = (f"state {i}" for i in range(self.n_states) if f"state {i}" not in found)
            numbers = iter(i for i in range(2 * self.n_states) if i not in found)
            more = numbers if all(isinstance(v, int) for v in found) else free
            names = (*found, *(next(more) for _ in range(self.n_states - len(found))))
        unknown = [label for label in found if label not in names]
        if unknown:
            raise DataError(f"y must hold the labels {listed(names)}; got {listed(unknown)}.", parameter="y")
        place = np.array([*(names.index(label) for label in found), -1], np.int64)
        return names, place[column.values.astype(np.int64)]

    def _layout(self) -> Layout:
        return Layout(self.sequence, self.time, self.columns, self.time_unit)

    def _known_layout(self) -> Layout:
        """Return which columns are what, times in the unit that was learned."""
        return replace(self._layout(), time_unit=self.time_unit or self.time_unit_)

    def _kinds(self) -> Any:
        """Return the kinds of the columns that the emissions ask for."""
        if isinstance(self.emissions, Mapping):
            return {name: kind_of(one) for name, one in self.emissions.items() if kind_of(one) is not None}
        return kind_of(self.emissions)

    def _emission(self, panel: Panel) -> Emission:
        """Return the emission to be fitted to the columns of a panel."""
        return emission_for(self.emissions, panel.table.variables)

    def _lags(self, panel: Panel) -> int:
        return int(getattr(self._emission(panel), "lags", 0))

    def _rules(self, n: int) -> Rules:
        """Return the priors and constraints of transitions that the parameters say."""
        fixed = frozenset([self.fixed] if isinstance(self.fixed, str) else self.fixed)
        priors = {"alpha": self.alpha, "start_alpha": self.start_alpha, "sticky": self.sticky}
        return rules_of(n, self.topology, **priors, start=self.start, fixed=fixed)

    def _first(self, panel: Panel, data: Observed, n: int, rng: np.random.Generator, i: int) -> Model:
        """Return parameters to start from; the first start has even transitions."""
        numbers = np.array([v.is_continuous for v in panel.table.variables])
        numbers = np.concatenate([numbers, np.zeros(data.x.shape[1] - len(numbers), bool)])
        dynamics, ties = first_dynamics(self._rules(n), rng if i else None), _ties(self.ties, n)
        if self.durations is not None:
            dynamics = semi_markov.first_durations(self, dynamics, data, rng if i else None)
        return training.first_model(self._emission(panel), dynamics, ties, data, numbers, rng, i)

    def _read(self, X: Any) -> Panel:
        check_fitted(self)
        return read_panel(X, self._known_layout(), variables=self.variables_)

    def _framed(self, X: Any) -> tuple[Panel, Chain, Frames]:
        """Return sequences with the chain and frames of the fitted model."""
        panel = self._read(X)
        model = self.model_
        data = training.observed(panel, int(getattr(model.emission, "lags", 0)))
        frames, _ = training.frames_of(data, model.logs(data.x, self.n_jobs), model.dynamics.states)
        return panel, model.dynamics.chain(data.gaps), frames

    # Parameters

    @classmethod
    def from_parameters(
        cls,
        start: ArrayLike,
        transitions: ArrayLike,
        emissions: Emission | ArrayLike,
        *,
        symbols: Sequence[State] | None = None,
        states: Sequence[State] | None = None,
        columns: Sequence[str] | None = None,
        durations: ArrayLike | None = None,
        **parameters: Any,
    ) -> Self:
        """Return a model of known parameters.

        Parameters
        ----------
        start : array-like of shape (n_states,), or "stationary"
            The distribution of the first state.
        transitions : array-like of shape (n_states, n_states)
            P(next state | state), one row for each state.
        emissions : Emission, or array-like of shape (n_states, n_symbols)
            The emission with its parameters, or the probabilities of symbols.
        symbols : sequence, optional
            The symbols of a categorical emission; default: 0, 1, …
        states : sequence, optional
            What the states are called.
        columns : sequence of str, optional
            The names of the observed columns.
        durations : array-like of shape (n_states, max_duration), optional
            P(duration | state) of 1, 2, …; then transitions are to other states.
        **parameters
            Parameters of the class, such as ``n_jobs``.

        Examples
        --------
        >>> import tunbridge as tb
        >>> weather = tb.HiddenMarkovModel.from_parameters(
        ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]],
        ...     symbols=["umbrella", "none"], states=["rain", "dry"])
        >>> weather.filter([["umbrella", "umbrella"]])[0].round(3).tolist()
        [[0.818, 0.182], [0.883, 0.117]]
        """
        matrix = _probabilities("transitions", transitions)
        n = len(matrix)
        if matrix.ndim != 2 or matrix.shape[1] != n:
            raise DataError(
                f"transitions must be a square matrix; got the shape {matrix.shape}.", parameter="transitions"
            )
        is_stationary = isinstance(start, str) and start == "stationary"
        first = stationary(matrix) if is_stationary else _probabilities("start", start)
        if first.shape != (n,):
            raise DataError(f"start must have {n} probabilities, one for each state; got the shape {first.shape}.")
        emission: Any = emissions if hasattr(emissions, "log_likelihood") else Categorical(probabilities=emissions)
        rules = rules_of(n, start="stationary" if is_stationary else "free")
        dynamics = Dynamics(first, matrix, rules)
        if durations is not None:
            if is_stationary:
                raise DataError("start must be probabilities with durations; got 'stationary'.", parameter="start")
            dynamics = semi_markov.given_durations(first, matrix, durations, rules)
            parameters |= {"durations": "free", "max_duration": dynamics.durations.shape[1]}
        self = cls(n, emission, start="stationary" if is_stationary else "free", **parameters)
        self.variables_ = variables_of(emission, symbols, columns)
        self.state_names_ = tuple(range(n)) if states is None else tuple(states)
        if len(set(self.state_names_)) != n:
            raise DataError(f"states must be {n} different names; got {listed(self.state_names_)}.", parameter="states")
        self.model_ = Model(dynamics, emission, np.arange(n))
        self.time_unit_, self.converged_, self.trace_ = None, True, ()
        self._check_emission()
        return self

    def _check_emission(self, model: Model | None = None) -> None:
        """Raise unless the emission has the number of states."""
        model = model or self.model_
        width = len(self.variables_) * (1 + int(getattr(model.emission, "lags", 0)))
        found = model.emission.log_likelihood(np.full((1, width), np.nan)).shape[1]
        if found != int(model.ties.max()) + 1:
            raise DataError(f"emissions must have {len(self.state_names_)} states, as transitions have; got {found}.")

    @property
    def start_(self) -> np.ndarray:
        """The distribution of the first state."""
        return self._fitted.dynamics.start

    @property
    def transitions_(self) -> np.ndarray:
        """P(next state | state), one row for each state."""
        return self._fitted.dynamics.matrix

    @property
    def emissions_(self) -> Emission:
        """The emission with its parameters."""
        return self._fitted.emission

    @property
    def stationary_(self) -> np.ndarray:
        """The stationary distribution of the states; with durations the share of time in each."""
        dynamics = self._fitted.dynamics
        if isinstance(dynamics, semi_markov.Durations):
            return dynamics.stationary
        return stationary(dynamics.matrix)

    @property
    def durations_(self) -> np.ndarray:
        """P(duration | state) of 1, 2, …, one row for each state."""
        dynamics = self._fitted.dynamics
        if not isinstance(dynamics, semi_markov.Durations):
            raise AttributeError(
                "durations_ needs a model with durations; without, state i lasts 1 / (1 - A_ii) steps."
            )
        return dynamics.durations

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters."""
        return self._fitted.dynamics.n_parameters + int(getattr(self._fitted.emission, "n_parameters", 0))

    @property
    def bic_(self) -> float:
        """The training log-likelihood less ½ ln n for every free parameter and n steps; larger is better."""
        return self._log_likelihood - 0.5 * float(np.log(self.n_steps_)) * self.n_parameters_

    @property
    def aic_(self) -> float:
        """The training log-likelihood less the number of free parameters; larger is better."""
        return self._log_likelihood - self.n_parameters_

    @property
    def _log_likelihood(self) -> float:
        if not hasattr(self, "log_likelihood_"):
            raise AttributeError("bic_ and aic_ must have a model that was fitted; this one has given parameters.")
        return float(self.log_likelihood_)

    @property
    def _fitted(self) -> Model:
        check_fitted(self)
        found: Model = self.model_
        return found

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are parameters."""
        return hasattr(self, "model_")

    # Answers

    @at_once
    def log_likelihood(self, X: Any) -> np.ndarray:
        """Return ln P(x) of each sequence, −∞ for an impossible one."""
        _, chain, frames = self._framed(X)
        return chains.log_likelihoods(chain, frames, self.n_jobs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of ln P(x) per step; with ``y`` the share of labelled steps whose state is predicted."""
        if y is None:
            panel = self._read(X)
            own = np.ones(panel.n_sequences) if sample_weight is None else _sequence_weights(sample_weight, panel)
            logs = np.where(own > 0.0, self.log_likelihood(panel), 0.0)
            return float((own * logs).sum() / max(1.0, float((own * panel.lengths).sum())))
        panel = self._read(X)
        labels = panel.aligned("y", frame_column(X, y) if isinstance(y, str) and panel.form == "frame" else y)
        paths = np.concatenate([np.asarray(p) for p in self._paths(panel)[1]]) if panel.n_sequences else np.empty(0)
        known = np.array([label is not None and label == label for label in labels.tolist()], bool)
        if not known.any():
            raise DataError("y must have a label of a step to compare with; all are missing.", parameter="y")
        right = np.array([a == b for a, b in zip(paths[known].tolist(), labels[known].tolist(), strict=True)])
        own = np.ones(panel.n_sequences) if sample_weight is None else _sequence_weights(sample_weight, panel)
        weights = np.repeat(own, panel.lengths)[known]
        return float((weights * right).sum() / weights.sum()) if weights.sum() > 0.0 else float(right.mean())

    @at_once
    def predict(self, X: Any) -> Any:
        """Return the states of the most probable path (Viterbi): one path for each sequence, of all its steps together.

        The state that is most probable at a step by itself is the largest of :meth:`predict_proba`.

        Returns
        -------
        ndarray; a list of them for a list of sequences
            Numbers of states, or their names. For a frame one for each row.
        """
        panel, chain, frames = self._framed(X)
        _, path = chains.best_paths(chain, frames, self.n_jobs)
        return panel.returned(self._named(path))

    def _paths(self, panel: Panel) -> tuple[np.ndarray, list[np.ndarray]]:
        _, chain, frames = self._framed(panel)
        logs, path = chains.best_paths(chain, frames, self.n_jobs)
        return logs, np.split(self._named(path), panel.offsets[1:-1])

    def _named(self, path: np.ndarray) -> np.ndarray:
        """Return numbers of states as their names."""
        path = self.model_.dynamics.states[path]
        names = self.state_names_
        if all(type(name) is int for name in names) and names == tuple(range(len(names))):
            return np.asarray(path)
        if len({type(name) for name in names}) == 1 and isinstance(names[0], str | int | float):
            return np.array(names)[path]
        found = np.empty(len(names), object)  # an array of mixed names would make texts of them
        found[:] = names
        return found[path]

    @at_once
    def decode(self, X: Any, k: int = 1) -> Paths:
        """Return the k most probable paths of one sequence, with their log-probabilities.

        Examples
        --------
        >>> import tunbridge as tb
        >>> ice = tb.HiddenMarkovModel.from_parameters(
        ...     [0.2, 0.8], [[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]],
        ...     symbols=[1, 2, 3], states=["C", "H"])
        >>> ice.decode([3, 1, 3], k=2)
        probability  given the sequence  path
        0.0128       0.448               H C H
        0.009216     0.323               H H H
        """
        check_integer("k", k, low=1)
        panel, chain, frames = self._framed(X)
        if panel.n_sequences != 1:
            raise DataError(f"decode must have one sequence; got {panel.n_sequences}. Use predict for several.")
        logs, paths = chains.several_best_paths(chain, frames, k)
        total = chains.log_likelihoods(chain, frames, self.n_jobs)[0]
        if not len(logs):
            chains.best_paths(chain, frames, self.n_jobs)  # says at which step the sequence is impossible
        return Paths(np.stack([self._named(path) for path in paths]), logs, float(total))

    @at_once
    def predict_proba(self, X: Any, interval: float | None = None) -> Any:
        """Return P(z_t | x_1..T), the probability of each state at each step given the whole sequence (smoothing).

        Parameters
        ----------
        X : as for :meth:`fit`
            The sequences.
        interval : float, optional
            The probability of credible intervals, of models with a posterior: then returns a record of ``mean``,
            ``low`` and ``high`` over draws of the parameters.

        Returns
        -------
        ndarray of shape (n_steps, n_states); a list of them for a list of sequences
        """
        panel = self._read(X)
        if interval is None:
            return panel.returned(self._smoothed(panel))
        if not hasattr(self, "posterior_"):
            raise DataError("interval must have a model learned with bayesian=…; this one has no posterior.")
        return bayesian.credible(self.posterior_, panel, interval)

    def _smoothed(self, panel: Panel) -> np.ndarray:
        _, chain, frames = self._framed(panel)
        return self._by_state(chains.smoothed(chain, frames, self.n_jobs)[1])

    @at_once
    def filter(self, X: Any) -> Any:
        """Return P(z_t | x_1..t), the probability of each state at each step given what came before and at it.

        Returns
        -------
        ndarray of shape (n_steps, n_states); a list of them for a list of sequences
        """
        panel, chain, frames = self._framed(X)
        return panel.returned(self._by_state(chains.filtered(chain, frames, self.n_jobs)[1]))

    def _by_state(self, found: np.ndarray) -> np.ndarray:
        """Return numbers of states of the chain as those of the model."""
        states = self.model_.dynamics.states
        return found if len(states) == len(self.state_names_) else found @ np.eye(len(self.state_names_))[states]

    @at_once
    def forecast(self, X: Any, steps: int = 1) -> Any:
        """Return what follows a sequence: the probabilities of states, and the distribution of observations.

        Parameters
        ----------
        X : as for :meth:`fit`
            The sequence so far, or several.
        steps : int
            How many steps ahead.

        Notes
        -----
        With a posterior, forecasts are averaged over draws of the parameters.

        Returns
        -------
        Forecast; a list of them for several sequences

        Examples
        --------
        >>> import tunbridge as tb
        >>> weather = tb.HiddenMarkovModel.from_parameters(
        ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], symbols=["yes", "no"])
        >>> weather.forecast([["yes", "yes"]], steps=2)[0].states.round(4).tolist()
        [[0.6533, 0.3467], [0.5613, 0.4387]]
        """
        check_integer("steps", steps, low=1)
        if hasattr(self, "posterior_"):
            return bayesian.mixed(self.posterior_, self._read(X), steps)
        return self._forecast(X, steps)

    def _forecast(self, X: Any, steps: int, **draws: int) -> Any:
        panel, chain, frames = self._framed(X)
        _, alpha = chains.filtered(chain, frames, self.n_jobs)
        found = []
        for s in range(panel.n_sequences):
            first, stop = panel.offsets[s : s + 2].tolist()
            last = alpha[stop - 1] if stop > first else None
            found.append(forecast_of(self, panel, last, (first, stop), steps, **draws))
        return found if panel.form == "list" or panel.n_sequences != 1 else found[0]

    @at_once
    def stream(self, lag: int = 0, *, run_length: float = 1e6, shift: float = 0.5) -> StateStream:
        """Return an empty sequence that is going to arrive step by step: online filtering, with an alarm for drift.

        Parameters
        ----------
        lag : int
            How many steps later the state is asked for (fixed-lag smoothing); 0 is filtering.
        run_length, shift : float
            For the alarm: the steps between false alarms, and the shift to detect (see :class:`StateStream`).
        """
        check_fitted(self)
        return StateStream(self, lag, run_length=run_length, shift=shift)

    @at_once
    def sample(self, n_steps: int, n_sequences: int = 1, random_state: RandomState = None) -> Sampled:
        """Return sequences drawn from the model, as ``(observations, states)``; lists of them for several sequences."""
        check_integer("n_steps", n_steps, low=0)
        check_integer("n_sequences", n_sequences, low=1)
        return sampled(self, n_steps, n_sequences, np.random.default_rng(entropy_of(random_state)))

    @at_once
    def explain(self, X: Any, step: int | None = None, state: State | None = None, against: State | None = None) -> Any:
        """Return why steps are in their state: what the past, the observation and the future add to the log-odds.

        With the prediction P(z_t | x_1..t−1), the likelihood p(x_t | z_t) and what follows, the log-odds of two states
        are a sum of three terms.

        Parameters
        ----------
        X : as for :meth:`fit`
            One sequence.
        step : int, optional
            The step to explain, from 0; default: all.
        state, against : optional
            The states to compare; default: the two that are most probable at each step.

        Returns
        -------
        StepExplanation

        Examples
        --------
        >>> import tunbridge as tb
        >>> weather = tb.HiddenMarkovModel.from_parameters(
        ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]],
        ...     symbols=["umbrella", "none"], states=["rain", "dry"])
        >>> weather.explain([["umbrella", "none", "umbrella"]])
        step  observed  state  P         against   past    now  future
        0     umbrella  rain   0.725081  dry      +0.00  +1.50   -0.53
        1     none      dry    0.738536  rain     -0.52  +2.08   -0.52
        2     umbrella  rain   0.725081  dry      -0.53  +1.50   +0.00
        """
        panel, chain, frames = self._framed(X)
        if panel.n_sequences != 1:
            raise DataError(f"explain must have one sequence; got {panel.n_sequences}.")
        return explained(self, panel, chain, frames, step, state, against)

    def choose_states(
        self, X: Any, candidates: Iterable[int] = range(1, 7), criterion: str = "bic", *, n_folds: int = 5
    ) -> StatesChoice:
        """Return models with several numbers of states, and which number is best.

        Parameters
        ----------
        X : as for :meth:`fit`
            The sequences.
        candidates : iterable of int
            The numbers of states to try.
        criterion : {"bic", "aic", "icl", "held-out"}
            ``"bic"``: ln P(x) − ½ d ln n. ``"aic"``: ln P(x) − d. ``"icl"``: BIC less the entropy of the states given
            the data, which prefers states that are well apart. ``"held-out"``: ln P of sequences that were left out;
            needs several sequences.
        n_folds : int
            The number of cross-validation folds for ``"held-out"``.

        Returns
        -------
        StatesChoice
            Its ``model`` is the best one.
        """
        return choose_states(self, X, candidates, criterion, n_folds)

    # What was learned, in words

    @at_once
    def describe(self, *, most: int | None = 30) -> str:
        r"""Return what was learned, as text: the states, what they emit, and how they follow each other.

        Of each state: its share of the time in the long run, how many steps it lasts on average, and the most probable
        symbols or the mean and the standard deviation of each number.

        Parameters
        ----------
        most : int or None
            The number of states to list; None for all.

        Examples
        --------
        >>> import tunbridge as tb
        >>> weather = tb.HiddenMarkovModel.from_parameters(
        ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]],
        ...     symbols=["umbrella", "none"], states=["rain", "dry"])
        >>> print(weather.describe())
        HiddenMarkovModel, 2 states, categorical emissions, of given parameters
        observed   'x'
        first      rain 0.5, dry 0.5
        <BLANKLINE>
        state   share  duration  observations
        rain   50.0 %      3.33  umbrella 0.9, none 0.1
        dry    50.0 %      3.33  none 0.8, umbrella 0.2
        <BLANKLINE>
        from \ to   rain    dry
        rain       0.700  0.300
        dry        0.300  0.700
        """
        check_fitted(self)
        return summary_text(self, most)

    def __str__(self) -> str:
        return self.describe() if self.__sklearn_is_fitted__() else repr(self)

    @property
    def _repr_html_(self) -> Any:
        """The page that a notebook shows: scikit-learn's, and once fitted the summary below it."""
        theirs = super()._repr_html_
        return (lambda: theirs() + summary_html(self)) if self.__sklearn_is_fitted__() else theirs

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if self.__sklearn_is_fitted__() and "text/html" in found:
            found["text/html"] += summary_html(self)
        return found

    # Files

    @at_once
    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, data only; :func:`tunbridge.load` reads it.

        An existing model file is replaced, any other file is not.
        """
        check_fitted(self)
        save_model(path, self.kind, self.to_content)

    write = save
    """The same as :meth:`save`."""

    def to_content(self) -> dict[str, Any]:
        """Return what a file holds of the model."""
        return content_of(self)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the model that a file holds; :func:`tunbridge.load` reads it."""
        return read_into(cls, content)


def _ties(ties: Sequence[int] | None, n: int) -> np.ndarray:
    if ties is None:
        return np.arange(n)
    found = np.asarray(ties)
    if (
        found.shape != (n,)
        or found.dtype.kind not in "iu"
        or sorted(set(found.tolist())) != list(range(found.max() + 1))
    ):
        raise DataError(
            f"ties must have the number of an emission, counted from 0, for each of the {n} states; got {ties!r}.",
            parameter="ties",
        )
    return found.astype(np.int64)


def _sequence_weights(weights: Any, panel: Panel) -> np.ndarray:
    try:
        found = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.shape != (panel.n_sequences,) or not (np.isfinite(found) & (found >= 0)).all():
        raise DataError(
            f"sample_weight must have a non-negative number for each of the {panel.n_sequences} sequences; "
            f"got {shortened(repr(weights))}.",
            parameter="sample_weight",
        )
    return found


def _probabilities(what: str, values: ArrayLike) -> np.ndarray:
    """Return rows of probabilities; raise unless each sums to one."""
    try:
        found = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; got {shortened(repr(values))}.", parameter=what) from None
    sums = np.atleast_1d(found.sum(axis=-1))
    if not found.size or not np.isfinite(found).all() or (found < 0).any():
        raise DataError(f"{what} must be probabilities between 0 and 1; got {shortened(repr(values))}.", parameter=what)
    if np.abs(sums - 1.0).max() > 1e-6:
        row = int(np.abs(sums - 1.0).argmax())
        which = f"row {row} of {what}" if found.ndim > 1 else what
        raise DataError(f"{which} must sum to one; got {sums[row]:g}.", parameter=what)
    return normalised(found, found)
