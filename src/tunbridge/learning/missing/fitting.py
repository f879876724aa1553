"""Fitting parameters to rows with missing values: the result, the base class of EM and gradient ascent, the data.

A :class:`Fitter` starts several :class:`Run` objects, iterates each a few times, and the best of them to its end
(Biernacki, Celeux and Govaert 2003).

References
----------
C. Biernacki, G. Celeux, G. Govaert (2003). Choosing starting values for the EM algorithm for getting the highest
likelihood in multivariate Gaussian mixture models. Computational Statistics & Data Analysis 41, 561–575.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from tunbridge._core.check import check_integer, check_number, counted, did_you_mean, listed, shortened, warn_user
from tunbridge._core.grid import data_frame
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.data import Column, State, Table, Variable, as_table, encode
from tunbridge.data.columns import code_type, state_type
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import MISSING
from tunbridge.errors import ConvergenceWarning, DataError, DataWarning
from tunbridge.graph import DAG
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.missing.mixed import MixedProblem, prepare
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.searches.problem import Progress, Report, watched
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas

Hidden = Mapping[str, int | Sequence[State]]
"""For each hidden variable the number of its states, or their names."""

INTERRUPTED = "interrupted: the best tables so far"
_TRIAL = 15  # iterations of each start before the best is chosen


@dataclass(frozen=True)
class FitStep:
    """One iteration.

    Parameters
    ----------
    log_likelihood : float
        The log-likelihood of the observed values.
    objective : float
        What is maximised: the log-likelihood plus the log-prior.
    seconds : float
        The time from the start.
    """

    log_likelihood: float
    objective: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A network whose parameters were fitted by iteration, and the iterations.

    Attributes
    ----------
    network : BayesianNetwork
        The network.
    trace : tuple of FitStep
        The start and the iterations of the best run; the last step belongs to the network.
    converged : bool
        Whether the fit converged within the maximum number of iterations.
    n_rows : float
        The number of rows, or the sum of their weights.
    note : str
        How the fit ended, if it did not converge.
    """

    network: BayesianNetwork
    trace: tuple[FitStep, ...]
    converged: bool
    n_rows: float
    note: str = ""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the observed values."""
        return self.trace[-1].log_likelihood

    @property
    def n_iterations(self) -> int:
        """The number of iterations from the start to the network."""
        return len(self.trace) - 1

    @property
    def bic(self) -> float:
        """The log-likelihood less ½ ln n for every free parameter (n at least 1); larger is better."""
        return self.log_likelihood - 0.5 * float(np.log(max(self.n_rows, 1.0))) * self.network.n_parameters

    def to_pandas(self) -> pandas.DataFrame:
        """Return the iterations as a pandas.DataFrame with the columns log_likelihood, objective and seconds."""
        return data_frame({f.name: [getattr(step, f.name) for step in self.trace] for f in fields(FitStep)})

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.note or "not converged"
        return (
            f"Fit: log-likelihood {self.log_likelihood:.6g} after {counted(self.n_iterations, 'iteration')} ({how})\n"
            f"{self.network!r}"
        )


class Run(ABC):
    """One run of an iterative fit from one start: the steps so far, and whether it has ended."""

    trace: list[FitStep]
    converged: bool = False
    note: str = ""

    @property
    def objective(self) -> float:
        """The value of the objective reached."""
        return self.trace[-1].objective

    @abstractmethod
    def go(self, max_iterations: int, report: Report | None) -> None:
        """Iterate until convergence, or until there are ``max_iterations`` in all."""

    @abstractmethod
    def network(self) -> BayesianNetwork:
        """Return the network reached."""


class Fitter(ABC):
    """A method that fits the parameters of a graph to rows with missing values."""

    title: ClassVar[str]
    tolerance: float
    max_iterations: int
    restarts: int | None

    def __post_init__(self) -> None:
        check_number(f"tolerance of {self.title}", self.tolerance, low=0)
        check_integer(f"max_iterations of {self.title}", self.max_iterations, low=1)
        check_integer(f"restarts of {self.title}", self.restarts, low=0, optional=True)

    @property
    def counts_suffice(self) -> bool:
        """Whether counting gives the same parameters when no values are missing."""
        return True

    def fit(
        self,
        dag: DAG | BayesianNetwork,
        frame: object,
        prior: Prior = DEFAULT_PRIOR,
        *,
        hidden: Hidden | None = None,
        start: BayesianNetwork | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: Progress = None,
    ) -> Fit:
        """Return the network with the fitted parameters, and the iterations.

        Parameters
        ----------
        dag, frame, prior, hidden, random_state, n_jobs, progress
            As for :func:`fit_parameters`.
        start : BayesianNetwork, optional
            The parameters to start from (a warm start). Default: the estimates from the rows in which each family is
            complete, and random parameters for families that are complete in no row.

        Returns
        -------
        Fit
            After Ctrl-C it is the best so far.
        """
        graph, table = graph_and_table(dag, frame, hidden)
        problem = prepare(graph, table, as_prior(prior, graph.nodes), n_jobs)
        rng = np.random.default_rng(entropy_of(random_state))
        starts = problem.starts(start, self.restarts, rng)
        begin, weight = self._beginning(problem, rng)
        with watched(progress) as report:
            run = self._best([partial(begin, first) for first in starts], report)
        self._warn(run, weight)
        return Fit(run.network(), tuple(run.trace), run.converged, weight, note=run.note)

    @abstractmethod
    def _beginning(
        self, problem: DiscreteProblem | MixedProblem, rng: np.random.Generator
    ) -> tuple[Callable[[Any], Run], float]:
        """Return a function that begins a run from parameters, and the weight of the rows."""

    def _best(self, runs: Sequence[Callable[[], Run]], report: Report | None) -> Run:
        """Return the best run: each makes a few iterations, and the best of them continues to its end."""
        best: Run | None = None
        try:
            for i, begin in enumerate(runs):
                run = begin()
                best = run if best is None else best
                if len(runs) > 1:
                    run.go(min(_TRIAL, self.max_iterations), _named(report, f"{self.title}, start {i + 1}"))
                best = max(best, run, key=lambda r: r.objective)
            assert best is not None
            best.go(self.max_iterations, _named(report, self.title))
        except KeyboardInterrupt:
            if best is None:
                raise
            best.note = INTERRUPTED
        return best

    def _warn(self, run: Run, weight: float) -> None:
        """Warn of a run that did not converge, unless it was interrupted."""
        if run.note and run.note != INTERRUPTED:
            warn_user(f"{self.title} {run.note}.", ConvergenceWarning)
        elif not run.converged and not run.note:
            last = run.trace[-1].objective - run.trace[-2].objective if len(run.trace) > 1 else np.inf
            warn_user(
                f"{self.title} did not converge in {counted(self.max_iterations, 'iteration')}: the last raised the "
                f"objective by {last / max(weight, 1.0):.2g} per row, above the tolerance of {self.tolerance:g}. "
                "Raise max_iterations or the tolerance.",
                ConvergenceWarning,
            )


def _named(report: Report | None, name: str) -> Report | None:
    """Return a report whose texts begin with a name."""
    return None if report is None else lambda what, value: report(f"{name}, {what}", value)


# The data


def graph_and_table(dag: DAG | BayesianNetwork, frame: object, hidden: Hidden | None = None) -> tuple[DAG, Table]:
    """Return a graph and the columns of its nodes, those of hidden variables with all values missing.

    A network gives the states of the columns; with a graph the columns keep their own states.
    """
    graph = dag.dag if isinstance(dag, BayesianNetwork) else dag
    if not isinstance(graph, DAG):
        raise DataError(f"dag must be a DAG or a network; got {shortened(repr(dag))}.", parameter="dag")
    if not graph.nodes:
        raise DataError("dag must have a node; got a graph without any.", parameter="dag")
    table = _table_for(dag, frame) if isinstance(dag, BayesianNetwork) else as_table(frame)
    missing, n_rows = table.missing, table.n_rows
    if not isinstance(dag, BayesianNetwork) and not isinstance(frame, Table):  # a Table has known kinds
        _warn_of_codes(graph, [column for column in table if column.variable.name in missing])
    known = {v.name: v for v in table.variables}
    unseen = _checked_hidden(graph, {name for name in known if missing.get(name, 0) < n_rows}, hidden or {})
    absent = [node for node in graph.nodes if node not in known and node not in unseen]
    if absent:
        hint = did_you_mean(absent[0], table.names)
        way = f"Name hidden variables with their number of states, as in hidden={{{absent[0]!r}: 2}}."
        raise DataError(f"the graph's nodes must be columns of the table; got none for {listed(absent)}. {hint} {way}")
    empty = [n for n in graph.nodes if n not in unseen and known[n].states == ()]
    if empty:
        way = f"Leave it out, or name it with its number of states, as in hidden={{{empty[0]!r}: 2}}."
        raise DataError(f"every column must have a state; {empty[0]!r} holds only missing values. {way}")
    if not unseen:
        return graph, table if table.names == graph.nodes else table.select(graph.nodes)
    chosen = [_empty(unseen[n], n_rows) if n in unseen else table.column(n) for n in graph.nodes]
    return graph, Table.of(chosen, weights=table.weights)


def _warn_of_codes(graph: DAG, incomplete: Sequence[Column]) -> None:
    """Warn of columns of two integers and missing values: pandas turns them into floats, which read as continuous."""
    for variable, values, _ in incomplete:
        name = variable.name
        if name not in graph.nodes or variable.is_categorical:
            continue
        ends = np.array([np.nanmin(values), np.nanmax(values)]) if not np.isnan(values).all() else np.array([0.5])
        if (ends == np.round(ends)).all() and (np.isnan(values) | np.isin(values, ends)).all():
            warn_user(
                f"column {name!r} has missing values and only the numbers {listed(np.unique(ends).tolist())}, and is "
                f"read as continuous. If they are codes, use tb.as_table(frame, kinds={{{name!r}: 'categorical'}}).",
                DataWarning,
            )


def _table_for(net: BayesianNetwork, frame: object) -> Table:
    """Return a frame's columns with the states of a network; variables without a column have all values missing."""
    names = tuple(frame_columns(frame))
    table, unseen = encode(frame, [v for v in net.variables if v.name in names])
    if unseen:
        name, states = next(iter(unseen.items()))
        hint = did_you_mean(states[0], net.cpt(name).variable.states or ())
        way = "Pass net.dag to take the states from the data."
        rule = f"the states of {name!r} must be those of the network; got {listed(states, most=4)}"
        raise DataError(f"{rule}. {hint} {way}")
    absent = [v for v in net.variables if v.name not in names]
    warn_of_absent([v.name for v in absent], [name for name in names if name not in net])
    if len(absent) == len(net.variables):
        raise DataError(f"the data must have a column of the network ({listed(net.nodes)}); got {listed(names)}.")
    return Table.of([*table, *(_empty(v, table.n_rows) for v in absent)], weights=table.weights)


def warn_of_absent(variables: Sequence[str], columns: Sequence[str]) -> None:
    """Warn of variables without a column, which are treated as hidden, if a column has a similar name."""
    plain = {"".join(name.lower().split()): name for name in columns}
    near: list[str] = []
    for name in variables:
        if found := get_close_matches("".join(name.lower().split()), plain, n=1, cutoff=0.75):
            near.append(f"{shortened(repr(name))} (the table has {shortened(repr(plain[found[0]]))})")
    if near:
        warn_user(f"variables without a column are treated as hidden: {', '.join(near[:3])}.", DataWarning)


def _checked_hidden(graph: DAG, observed: Container[str], hidden: Hidden) -> dict[str, Variable]:
    """Return the hidden variables with their states."""
    found = {}
    if not isinstance(hidden, Mapping):
        rule = "hidden must be a dict from variable to number of states"
        raise DataError(f"{rule}; got {shortened(repr(hidden))}.", parameter="hidden")
    for name, states in hidden.items():
        if name not in graph.nodes:
            raise DataError(f"hidden must name nodes of the graph; got {name!r}. {did_you_mean(name, graph.nodes)}")
        if name in observed:
            raise DataError(f"a hidden variable must have no observed values; {name!r} has. Leave it out of hidden.")
        found[name] = Variable(name, _hidden_states(name, states))
    return found


def _hidden_states(name: str, states: int | Sequence[State]) -> list[State]:
    """Return the states of a hidden variable: those given, or numbered ones."""
    if isinstance(states, list | tuple) and states:
        return list(states)
    if isinstance(states, list | tuple | str | Mapping) or states is None or isinstance(states, bool):
        rule = f"the states of hidden {name!r} must be a number or a list"
        raise DataError(f"{rule}; got {shortened(repr(states))}. Write hidden={{{name!r}: 2}}.")
    check_integer(f"the number of states of hidden {name!r}", states, low=1)
    n_states = min(int(states), 2**62)  # type: ignore[arg-type]
    check_memory(f"the states of hidden {name!r}", 100.0 * n_states, ways_out="Give it fewer states.")
    return [str(i) for i in range(n_states)]


def _empty(variable: Variable, n_rows: int) -> Column:
    """Return the column of a hidden variable."""
    if variable.is_continuous:
        return Column(variable, np.full(n_rows, np.nan), pa.float64())
    kind = code_type(variable.n_states)
    return Column(variable, np.full(n_rows, MISSING, kind), state_type(variable))
