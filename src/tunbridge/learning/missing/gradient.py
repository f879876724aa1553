"""Gradient ascent: tables from rows with missing values, by the gradient of the log-likelihood.

The tables are written as the softmax of numbers η without constraints, θ_jk = exp η_jk / Σ_l exp η_jl, so that any
method of unconstrained optimisation can be used. With the expected counts n that inference computes, and a prior with
pseudo-counts a,

    ∂/∂η_jk [ln P(rows | θ) + Σ a ln θ] = (n_jk + a_jk) − (n_j + a_j) θ_jk

(Russell, Binder, Koller and Kanazawa 1995; Binder and others 1997). It is zero at a maximum, where EM stops too. EM
needs no step length; gradient methods can maximise any objective that has a gradient, above all the conditional
log-likelihood of a class, and L-BFGS needs fewer iterations than plain EM if many values are missing. Cells with θ = 0
have η = −∞ and stay zero.

**The conditional likelihood.** Tables that make the rows likely need not make the *class* likely given the rest. With a
target the objective is

    Σ_rows w ln P(class | rest) = Σ_rows w ln P(class, rest) − Σ_rows w ln P(rest),

the log-likelihood of the rows minus that of the rows with the class hidden; its gradient needs only the difference of
their expected counts. Rows without a class are left out.

**Methods.** The rows of tables differ in how many data they see, and so in how strongly the objective bends. All
methods but the stochastic one work with

    x_jk = η_jk √h_jk,     h_jk = n_j θ_jk (1 − θ_jk),

in which it would bend about equally in all directions if nothing were missing; a step of length one along the gradient
is then about a step of EM (Xu and Jordan 1996). *L-BFGS* (SciPy's) takes h at the start and learns the rest of the
curvature from the last changes of the gradient. *Steepest ascent* takes h at the current point, and halves a step until
it gains enough (Armijo's rule). *Stochastic ascent* takes the gradient from one batch of rows at a time, with Adam's
step lengths; after every epoch, one pass over all batches, it computes the objective of all rows, and if that has not
risen, it returns to the best tables and halves its steps. SciPy has no method for batches, so Adam is written here.

References
----------
S. Russell, J. Binder, D. Koller, K. Kanazawa (1995). Local learning in probabilistic networks with hidden variables.
IJCAI 14, 1146–1152.
J. Binder, D. Koller, S. Russell, K. Kanazawa (1997). Adaptive probabilistic networks with hidden variables. Machine
Learning 29, 213–244, section 5.
R. Greiner, X. Su, B. Shen, W. Zhou (2005). Structural extension to logistic regression: discriminative parameter
learning of belief net classifiers. Machine Learning 59, 297–322.
T. Roos, H. Wettig, P. Grünwald, P. Myllymäki, H. Tirri (2005). On discriminative Bayesian network classifiers and
logistic regression. Machine Learning 59, 267–296.
D. C. Liu, J. Nocedal (1989). On the limited memory BFGS method for large scale optimization. Mathematical Programming
45, 503–528.
L. Armijo (1966). Minimization of functions having Lipschitz continuous first partial derivatives. Pacific Journal of
Mathematics 16, 1–3.
D. P. Kingma, J. Ba (2015). Adam: a method for stochastic optimization. ICLR 3.
L. Xu, M. I. Jordan (1996). On convergence properties of the EM algorithm for Gaussian mixtures. Neural Computation 8,
129–151.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import row_pieces
from tunbridge.data.variable import MISSING
from tunbridge.errors import DataError
from tunbridge.inference.expectations import ExpectedCounts, IncompleteRows
from tunbridge.inference.flat import FlatNetwork
from tunbridge.learning.missing.fitting import FitStep, Fitter, Run
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.missing.mixed import MixedProblem
from tunbridge.learning.searches.problem import Report
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT

_METHODS = ("l-bfgs", "gradient", "stochastic")
_BATCH_ROWS, _STEP = 256, 0.1
_LOWEST = -200.0
"""The smallest η below the largest of its row that has an effect: e^−200 times a similar number is not yet zero."""
_REMEMBERED = 10
"""Changes of the gradient that L-BFGS keeps."""
_LEAST_CURVATURE = 1e-2
"""Limits the first step of cells that hardly any row touches."""
_WORSE = 1e100
"""The loss at a point at which a row is impossible: a line search cannot use infinity."""
_SUFFICIENT = 0.25
"""The share of the predicted gain that a step must bring; more than ½ would reject the best step of a parabola."""
_FURTHEST = 5.0
_MOST_HALVINGS = 50
_PATIENCE = 5
"""Epochs without a gain, each followed by half the step, until stochastic ascent ends."""
_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
_WAYS_OUT = "Use method='gradient', or give the largest table fewer parents."


class _CountedRows(Protocol):
    """Rows with expected counts and a likelihood, joint or conditional."""

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the expected counts under these tables, and the log-likelihood."""


@dataclass(frozen=True)
class GradientAscent(Fitter):
    """Gradient ascent on the log-likelihood, or on the conditional log-likelihood of a class.

    Parameters
    ----------
    method : {"l-bfgs", "gradient", "stochastic"}
        L-BFGS; steepest ascent with a line search; or ascent by batches of rows (Adam), for many rows.
    target : str, optional
        The class. If given, the objective is Σ ln P(class | rest of the row), plus the prior; rows without a class are
        left out. The tables are good at predicting the class; they are no relative frequencies, so they carry no
        counts.
    tolerance : float
        Stop when iterations raise the objective by less than this per row.
    max_iterations : int
        The maximum number of iterations; a warning is issued when it is reached. An iteration of the stochastic method
        is an epoch, one pass over the rows.
    restarts : int, optional
        The number of further starts from random tables; default: 9 if a variable is hidden, otherwise 0.
    batch_rows : int, optional
        For ``"stochastic"``: the rows of a batch; default: 256.
    step : float, optional
        For ``"stochastic"``: the first change of a log-probability by a batch; default: 0.1.

    Notes
    -----
    Cells that are zero in the start tables stay zero, and rows of tables that neither data nor prior touch stay as they
    are. The objective of the result is never below that of the start. With a target, ``log_likelihood`` of the result
    is that of the class given the rest, and ``n_rows`` counts the rows with a class.

    The conditional likelihood with ``prior="mle"`` has no maximum if the rest of a row determines the class; a prior
    keeps the tables finite.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
    >>> fit = tb.GradientAscent().fit(tb.DAG(arcs=[("rain", "wet")]), rows, "mle")
    >>> fit.converged, round(fit.network.cpt("rain").distribution()["yes"], 3)
    (True, 0.4)
    """

    title: ClassVar[str] = "gradient ascent"
    method: Literal["l-bfgs", "gradient", "stochastic"] = "l-bfgs"
    target: str | None = None
    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    batch_rows: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        check_choice("method of gradient ascent", self.method, _METHODS)
        if self.target is not None and not isinstance(self.target, str):
            raise DataError(f"target must name one variable; got {shortened(repr(self.target))}.", parameter="target")
        super().__post_init__()
        check_integer("batch_rows", self.batch_rows, low=1, optional=True)
        if self.step is not None:
            check_number("step", self.step, above=0)
        for name in ("batch_rows", "step"):
            if self.method != "stochastic" and getattr(self, name) is not None:
                rule = f"{name} must be used with method='stochastic'; got method={self.method!r}"
                raise DataError(f"{rule}. Leave {name} out.", parameter=name)

    @property
    def counts_suffice(self) -> bool:
        """Whether counting gives the same tables when no values are missing."""
        return self.target is None

    def _beginning(
        self, problem: DiscreteProblem | MixedProblem, rng: np.random.Generator
    ) -> tuple[Callable[[Any], Run], float]:
        if isinstance(problem, MixedProblem):
            numbers = listed([v.name for v in problem.table.variables if v.is_continuous])
            raise DataError(f"columns for gradient ascent must be categorical; {numbers} are not. Use tb.EM().")
        data, began = _Data(problem, self.target), perf_counter()
        batches = data.batches(self.batch_rows or _BATCH_ROWS, rng) if self.method == "stochastic" else []
        methods: dict[str, Callable[[_Ascent], None]] = {
            "l-bfgs": _climb_by_lbfgs,
            "gradient": _climb_steepest,
            "stochastic": partial(_climb_stochastically, batches=batches, step=self.step or _STEP, rng=rng),
        }

        def begin(tables: np.ndarray) -> Run:
            function = _Objective(problem, data.rows, tables)
            ascent = _Ascent(function, self.tolerance * data.weight, began, methods[self.method])
            problem.check_start(tables, ascent.best.expected)
            return ascent

        return begin, data.weight


class _Data:
    """The rows of the objective: all of them, or with a target those whose class is known."""

    def __init__(self, problem: DiscreteProblem, target: str | None) -> None:
        self._flat, self._n_jobs, self._class = problem.start, problem.rows.n_jobs, None
        self._codes, self._weights = problem.rows.codes, problem.rows.weights
        self.rows: _CountedRows = problem.rows
        self.weight = problem.weight
        if target is None:
            return
        names = [variable.name for variable in problem.start.variables]
        if target not in names:
            hint = did_you_mean(target, names)
            raise DataError(f"target must name a node of the graph; got {target!r}. {hint}", parameter="target")
        self._class = names.index(target)
        self._codes, self._weights = _with_class(self._codes, self._weights, self._class)
        self.weight = float(self._codes.shape[1] if self._weights is None else self._weights.sum())
        if self.weight <= 0.0:
            rule = f"target must be known in some row; {target!r} is missing in all"
            raise DataError(f"{rule}. Leave target out to maximise the likelihood of the rows.", parameter="target")
        self.rows = self._prepared(self._codes, self._weights)

    def batches(self, batch_rows: int, rng: np.random.Generator) -> list[_CountedRows]:
        """Return the rows in random batches."""
        order, weights = rng.permutation(self._codes.shape[1]), self._weights
        pieces = [order[a:b] for a, b in row_pieces(len(order), batch_rows)]
        terms = 1 if self._class is None else 2
        n_bytes = terms * (4.0 * self._codes.size + 8.0 * len(pieces) * len(self._flat.tables))
        check_memory("the batches of rows", n_bytes, ways_out="Raise batch_rows, or use method='l-bfgs'.")
        return [self._prepared(self._codes[:, i], None if weights is None else weights[i]) for i in pieces]

    def _prepared(self, codes: np.ndarray, weights: np.ndarray | None) -> _CountedRows:
        if self._class is None:
            return IncompleteRows(self._flat, codes, weights, n_jobs=self._n_jobs)
        return _ClassifiedRows(self._flat, codes, weights, target=self._class, n_jobs=self._n_jobs)


class _ClassifiedRows:
    """Rows prepared for the conditional likelihood of a class.

    A family may be barren in one of the two terms alone, as the table of the class is when nothing below the class is
    observed. It is then counted nowhere in that term: there n_jk = n_j θ_jk, and the derivative is zero.

    Parameters
    ----------
    flat : FlatNetwork
        The network; only its structure is used.
    codes : ndarray of shape (n_variables, n_rows)
        The states, −1 for missing values.
    weights : ndarray of shape (n_rows,), optional
        The weight of each row.
    target : int
        The index of the class.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self,
        flat: FlatNetwork,
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        target: int,
        n_jobs: int | None = None,
    ) -> None:
        codes, weights = _with_class(codes, weights, target)
        hidden = codes.copy()
        hidden[target] = MISSING
        self._seen = IncompleteRows(flat, codes, weights, n_jobs=n_jobs)
        self._unseen = IncompleteRows(flat, hidden, weights, n_jobs=n_jobs)

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the difference of the expected counts, and the conditional log-likelihood."""
        with_class, without = self._seen.expected_counts(tables), self._unseen.expected_counts(tables)
        log_likelihood = with_class.log_likelihood
        if np.isfinite(log_likelihood):  # the rest of a row is at least as likely as the row
            log_likelihood -= without.log_likelihood
        return ExpectedCounts(with_class.counts - without.counts, log_likelihood)


def _with_class(codes: np.ndarray, weights: np.ndarray | None, target: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows whose class is known."""
    known = codes[target] != MISSING
    if known.all():
        return codes, weights
    return np.ascontiguousarray(codes[:, known]), None if weights is None else weights[known]


# The objective and its gradient


@dataclass(frozen=True, eq=False)
class _Point:
    """Values x, their tables, the expected counts under these, the objective and its gradient."""

    x: np.ndarray
    tables: np.ndarray
    expected: ExpectedCounts
    objective: float
    gradient: np.ndarray


class _Objective:
    """The objective as a function of numbers without constraints.

    Parameters
    ----------
    problem : DiscreteProblem
        The graph and the prior.
    rows : CountedRows
        The rows.
    tables : ndarray
        The start; cells that are zero stay so, and rows that neither data nor prior touch do not move.
    """

    def __init__(self, problem: DiscreteProblem, rows: _CountedRows, tables: np.ndarray) -> None:
        self.problem, self.rows = problem, rows
        self.free = (tables > 0.0) & (tables < 1.0)
        with np.errstate(divide="ignore"):
            self._eta = np.log(tables)
        self._touching = problem.totals(problem.expected(tables).counts + problem.pseudo_counts)
        self.scale = np.sqrt(self._curvature(tables, _LEAST_CURVATURE))
        self.start = self._eta[self.free] * self.scale

    def uphill(self, point: _Point) -> np.ndarray:
        """Return a direction from a point: along the gradient, in numbers scaled by the curvature there."""
        change = point.gradient * self.scale / self._curvature(point.tables, _TINY)
        return np.clip(change, -_FURTHEST, _FURTHEST) * self.scale

    def _curvature(self, tables: np.ndarray, least: float) -> np.ndarray:
        """Return h of the cells that move, with the counts at the start."""
        return np.maximum((self._touching * tables * (1.0 - tables))[self.free], least)

    def _softmax(self, eta: np.ndarray) -> np.ndarray:
        """Return the distributions of all rows of all tables; every row has a finite number."""
        starts, sizes = self.problem.row_start, self.problem.row_sizes
        depth = eta - np.repeat(np.maximum.reduceat(eta, starts), sizes)
        raised = np.where(np.isneginf(depth), 0.0, np.exp(np.maximum(depth, _LOWEST)))
        return raised / self.problem.totals(raised)

    def at(self, x: np.ndarray, rows: _CountedRows | None = None, factor: float = 1.0) -> _Point:
        """Return the point x, by all rows, or by a batch whose counts are multiplied by a factor."""
        eta = self._eta.copy()
        eta[self.free] = x / self.scale
        tables = self._softmax(eta)
        expected = (rows or self.rows).expected_counts(tables)
        objective = factor * expected.log_likelihood + self.problem.penalty(tables)
        counts = factor * expected.counts + self.problem.pseudo_counts
        slope = counts - self.problem.totals(counts) * tables
        return _Point(x, tables, expected, objective, slope[self.free] / self.scale)


# The methods


class _Ascent(Run):
    """A run of gradient ascent: the best point so far, and the trace.

    Parameters
    ----------
    function : Objective
        The objective.
    tolerance : float
        A smaller rise of the objective counts as none.
    began : float
        The clock at the start of the fit.
    method : callable
        What climbs until the run is over.
    """

    def __init__(self, function: _Objective, tolerance: float, began: float, method: Callable[[_Ascent], None]) -> None:
        self.function, self.tolerance, self._began, self._method = function, tolerance, began, method
        self.best = function.at(function.start)
        self.trace = []
        self._add_step(None)

    def go(self, max_iterations: int, report: Report | None) -> None:
        """Iterate until convergence, or until there are ``max_iterations`` in all."""
        self._limit, self._report, self._idle = max_iterations, report, 0
        self._method(self)

    def network(self) -> BayesianNetwork:
        """Return the network reached; with a conditional likelihood its tables carry no counts."""
        net = self.function.problem.network(self.best.tables, self.best.expected)
        if self.function.rows is self.function.problem.rows:
            return net
        return BayesianNetwork.of_valid([CPT.of_valid(c.variable, c.parents, c.table()) for c in net.cpts.values()])

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.converged or len(self.trace) > self._limit

    def reach(self, point: _Point, patience: int = 2) -> bool:
        """Record the result of an iteration and return whether it gained; the run ends after ``patience`` without."""
        gain = point.objective - self.best.objective
        if gain >= 0.0:
            self.best = point
        self._add_step(self._report)
        self._idle = 0 if gain > self.tolerance else self._idle + 1
        self.converged = self._idle >= patience
        return gain > self.tolerance

    def _add_step(self, report: Report | None) -> None:
        best = self.best
        self.trace.append(FitStep(best.expected.log_likelihood, best.objective, perf_counter() - self._began))
        if report is not None:
            report(f"iteration {len(self.trace) - 1}", best.objective)


def _climb_by_lbfgs(ascent: _Ascent) -> None:
    """Climb by L-BFGS; when its line search fails it starts again, and ends when that gains nothing either."""
    n_bytes = 8.0 * (2 * _REMEMBERED + 8) * len(ascent.best.x)
    check_memory("the memory of L-BFGS", n_bytes, ways_out=_WAYS_OUT)
    while not ascent.is_over:
        before = ascent.best.objective
        _run_lbfgs(ascent)
        if not ascent.is_over:
            ascent.converged = ascent.best.objective - before <= ascent.tolerance


def _run_lbfgs(ascent: _Ascent) -> None:
    """Run SciPy's L-BFGS from the best point until the run is over or its line search finds nothing better."""
    from scipy.optimize import minimize

    latest, weight = ascent.best, max(ascent.function.problem.weight, 1.0)

    def downhill(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal latest
        latest = ascent.function.at(x.copy())
        loss = -latest.objective / weight if np.isfinite(latest.objective) else _WORSE
        return loss, -latest.gradient / weight

    def arrived(x: np.ndarray) -> None:
        ascent.reach(latest if np.array_equal(x, latest.x) else ascent.function.at(x.copy()))
        if ascent.is_over:
            raise StopIteration

    options = {"maxcor": _REMEMBERED, "ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}
    minimize(downhill, ascent.best.x, jac=True, method="L-BFGS-B", callback=arrived, options=options)


def _climb_steepest(ascent: _Ascent) -> None:
    """Climb along the gradient, halving every step until it gains its share of the predicted gain."""
    length = 1.0
    while not ascent.is_over:
        here = ascent.best
        direction = ascent.function.uphill(here)
        slope = float(here.gradient @ direction)
        for _ in range(_MOST_HALVINGS):
            there = ascent.function.at(here.x + length * direction)
            if there.objective >= here.objective + _SUFFICIENT * length * slope:
                break
            length *= 0.5
        ascent.reach(there)
        length *= 2.0


def _climb_stochastically(
    ascent: _Ascent, batches: Sequence[_CountedRows], step: float, rng: np.random.Generator
) -> None:
    """Climb by batches in random order; after an epoch without a gain return to the best point with half the step."""
    walk = _Adam(ascent.function, ascent.best.x, step)
    while not ascent.is_over:
        for i in rng.permutation(len(batches)):
            walk.follow(batches[i], len(batches))
        if not ascent.reach(ascent.function.at(walk.x), patience=_PATIENCE):
            walk = _Adam(ascent.function, ascent.best.x, 0.5 * walk.step)


class _Adam:
    """Steps along the gradients of batches, with lengths in η that depend on how steady the gradient is."""

    def __init__(self, function: _Objective, x: np.ndarray, step: float) -> None:
        self.function, self.x, self.step = function, x, step
        self._mean, self._square, self._taken = np.zeros_like(x), np.zeros_like(x), 0

    def follow(self, batch: _CountedRows, n_batches: int) -> None:
        """Take a step along the gradient of one of ``n_batches`` batches."""
        function = self.function
        slope = function.at(self.x, batch, n_batches).gradient * function.scale / max(function.problem.weight, 1.0)
        self._taken += 1
        self._mean += (1.0 - _MEAN_DECAY) * (slope - self._mean)
        self._square += (1.0 - _SQUARE_DECAY) * (slope**2 - self._square)
        typical = np.sqrt(self._square / (1.0 - _SQUARE_DECAY**self._taken)) + _TINY
        change = self._mean / (1.0 - _MEAN_DECAY**self._taken) / typical
        self.x = self.x + self.step * function.scale * change
