"""What the ways of fitting tables to rows with holes share: how they are asked, and what they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tunbridge._check import check_whole, counted, did_you_mean, listed, shortened, warn_user
from tunbridge.data import Column, State, Table, Variable, as_table, encode
from tunbridge.data.columns import code_type, state_type
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import MISSING
from tunbridge.errors import DataError, DataWarning
from tunbridge.graph import DAG
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior
from tunbridge.learning.progress import Report
from tunbridge.network import BayesianNetwork

Hidden = Mapping[str, int | Sequence[State]]
"""For each variable that is never observed the number of its states, or their names."""


INTERRUPTED = "interrupted: the best tables so far"


@dataclass(frozen=True)
class FitStep:
    """One iteration.

    Parameters
    ----------
    log_likelihood : float
        The natural logarithm of the probability of what was observed.
    objective : float
        What is maximised: the log-likelihood, and the prior's part.
    seconds : float
        When it was reached, from the start.
    """

    log_likelihood: float
    objective: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A network whose tables were found by iteration, and the way to it.

    Attributes
    ----------
    network : BayesianNetwork
        The network.
    trace : tuple of FitStep
        The start of the run that was kept, and its iterations; the last is what the network reaches.
    converged : bool
        Whether it settled before the limit.
    n_rows : float
        The number (or weight) of the rows.
    note : str
        A word about how it ended, where there is something to say.
    """

    network: BayesianNetwork
    trace: tuple[FitStep, ...]
    converged: bool
    n_rows: float
    note: str = ""

    @property
    def log_likelihood(self) -> float:
        """The natural logarithm of the probability of what was observed."""
        return self.trace[-1].log_likelihood

    @property
    def n_iterations(self) -> int:
        """How many iterations led from the start to the network."""
        return len(self.trace) - 1

    @property
    def bic(self) -> float:
        """The log-likelihood less ½ ln n for every free parameter (none for less than a row); larger is better."""
        return self.log_likelihood - 0.5 * float(np.log(max(self.n_rows, 1.0))) * self.network.n_parameters

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.note or "not converged"
        return (
            f"Fit: log-likelihood {self.log_likelihood:.6g} after {counted(self.n_iterations, 'iteration')} ({how})\n"
            f"{self.network!r}"
        )


class Fitter(ABC):
    """A way of finding the tables of a graph from rows with holes."""

    @property
    def counts_suffice(self) -> bool:
        """Whether rows without a hole need no iteration, because counting them gives the same tables."""
        return True

    @abstractmethod
    def fit(
        self,
        dag: DAG | BayesianNetwork,
        frame: Any,
        prior: Prior = DEFAULT_PRIOR,
        *,
        hidden: Hidden | None = None,
        start: BayesianNetwork | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Report | Literal[False] | None = None,
    ) -> Fit:
        """Return the network with its tables, and how they were found.

        Parameters
        ----------
        dag, frame, prior, hidden, random_state, n_jobs, progress
            As for :func:`fit_parameters`.
        start : BayesianNetwork, optional
            Tables to begin from (a warm start); the estimates from the rows in which each family is complete unless
            given.
        """


def graph_and_table(dag: Any, frame: Any, hidden: Hidden | None = None) -> tuple[DAG, Table]:
    """Return a graph and the columns of its nodes, hidden ones with every cell missing; raise where they do not fit.

    The states of a network's variables are those of the columns; a graph takes the states that the columns have.
    """
    graph = dag.dag if isinstance(dag, BayesianNetwork) else dag
    if not isinstance(graph, DAG):
        raise DataError(f"dag must be a DAG or a network; got {shortened(repr(dag))}. learn_structure finds one.")
    if not graph.nodes:
        raise DataError("the graph must have a node; got one without any.")
    table = _table_for(dag, frame) if isinstance(dag, BayesianNetwork) else as_table(frame)
    if not isinstance(dag, BayesianNetwork) and not isinstance(frame, Table):  # whose kinds have been said
        _warn_of_codes(graph, table)
    unseen = _checked_hidden(graph, table, hidden or {})
    columns = set(table.names)
    absent = [node for node in graph.nodes if node not in columns and node not in unseen]
    if absent:
        hint = did_you_mean(absent[0], table.names)
        way = (
            f"A variable that is never observed is named with its number of states, as in hidden={{{absent[0]!r}: 2}}."
        )
        raise DataError(f"the graph's nodes must be columns of the table; got none for {listed(absent)}. {hint} {way}")
    empty = [n for n in graph.nodes if n not in unseen and table.variable(n).states == ()]
    if empty:
        way = f"Leave it out, or name it with its number of states, as in hidden={{{empty[0]!r}: 2}}."
        raise DataError(f"every column must have a state; {empty[0]!r} holds nothing but missing cells. {way}")
    if not unseen:
        return graph, table if table.names == graph.nodes else table.select(graph.nodes)
    chosen = [_empty(unseen[n], table.n_rows) if n in unseen else table.column(n) for n in graph.nodes]
    return graph, Table.of(chosen, weights=table.weights)


def _warn_of_codes(graph: DAG, table: Table) -> None:
    """Warn of columns that are two whole numbers and holes: pandas makes floats of these, which read as quantities."""
    for name in table.missing:
        if name not in graph.nodes or table.variable(name).is_categorical:
            continue
        values = table.floats(name)
        ends = np.array([np.nanmin(values), np.nanmax(values)]) if not np.isnan(values).all() else np.array([0.5])
        if (ends == np.round(ends)).all() and (np.isnan(values) | np.isin(values, ends)).all():
            warn_user(
                f"column {name!r} holds holes and the numbers {listed(np.unique(ends).tolist())}, and is taken for a "
                f"quantity. If they are codes, use tb.as_table(frame, kinds={{{name!r}: 'categorical'}}).",
                DataWarning,
            )


def _table_for(net: BayesianNetwork, frame: Any) -> Table:
    """Return a frame's columns in the states of a network; variables without a column have every cell missing."""
    names = tuple(frame_columns(frame))
    table, unseen = encode(frame, [v for v in net.variables if v.name in names])
    if unseen:
        name, states = next(iter(unseen.items()))
        hint = did_you_mean(states[0], net.cpt(name).variable.states or ())
        way = "Give net.dag to take the states from the data."
        told = f"the states of {name!r} must be those of the network; got {listed(states, most=4)}"
        raise DataError(f"{told}. {hint} {way}")
    absent = [v for v in net.variables if v.name not in names]
    warn_of_absent([v.name for v in absent], [name for name in names if name not in net])
    if len(absent) == len(net.variables):
        raise DataError(f"the data must have a column of the network ({listed(net.nodes)}); got {listed(names)}.")
    return Table.of([*table, *(_empty(v, table.n_rows) for v in absent)], weights=table.weights)


def warn_of_absent(variables: Sequence[str], columns: Sequence[str]) -> None:
    """Warn of variables without a column, which are taken for hidden, where a column nearly has their name."""
    plain = {"".join(name.lower().split()): name for name in columns}
    near: list[str] = []
    for name in variables:
        if found := get_close_matches("".join(name.lower().split()), plain, n=1, cutoff=0.75):
            near.append(f"{shortened(repr(name))} (the table has {shortened(repr(plain[found[0]]))})")
    if near:
        warn_user(f"variables without a column are taken for hidden ones: {', '.join(near[:3])}.", DataWarning)


def _checked_hidden(graph: DAG, table: Table, hidden: Hidden) -> dict[str, Variable]:
    """Return the hidden variables with their states."""
    found = {}
    if not isinstance(hidden, Mapping):
        raise DataError(f"hidden must be a dict from variable to number of states; got {shortened(repr(hidden))}.")
    for name, states in hidden.items():
        if name not in graph.nodes:
            raise DataError(f"hidden must name nodes of the graph; got {name!r}. {did_you_mean(name, graph.nodes)}")
        if name in table.names and table.n_rows > table.missing.get(name, 0):
            raise DataError(f"a hidden variable must have no observed cells; {name!r} has. Leave it out of hidden.")
        found[name] = Variable(name, _hidden_states(name, states))
    return found


def _hidden_states(name: str, states: Any) -> list[State]:
    """Return the states of a hidden variable: those given, or as many as the number says."""
    if isinstance(states, list | tuple) and states:
        return list(states)
    if isinstance(states, list | tuple | str | Mapping) or states is None or isinstance(states, bool):
        rule = f"the states of hidden {name!r} must be a number or a list"
        raise DataError(f"{rule}; got {shortened(repr(states))}. Write hidden={{{name!r}: 2}}.")
    check_whole(f"the number of states of hidden {name!r}", states, low=1)
    return [str(i) for i in range(int(states))]


def _empty(variable: Variable, n_rows: int) -> Column:
    """Return the column of a variable that is never observed."""
    if variable.is_continuous:
        return Column(variable, np.full(n_rows, np.nan), pa.float64())
    kind = code_type(variable.n_states)
    return Column(variable, np.full(n_rows, MISSING, kind), state_type(variable))
