"""A Bayesian network: a directed acyclic graph, and for every node its distribution given its parents.

    P(x₁, …, x_n) = Π_v P(x_v | parents of v)

The class holds and validates; what is asked of it is answered by :mod:`tunbridge.inference`, and files are the business
of :mod:`tunbridge.formats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, final

import numpy as np

from tunbridge._check import did_you_mean, listed
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.formats import NetworkParts, write_network_parts
from tunbridge.graph import DAG
from tunbridge.inference import (
    Conflict,
    Engine,
    Event,
    EvidenceExplanation,
    Forecast,
    MostProbable,
    Posteriors,
    approximate,
    batches,
    conflicts,
    explaining,
    forecasting,
    intervals,
    interventions,
    queries,
    simulation,
)
from tunbridge.network.building import as_dag, as_tables, as_variables
from tunbridge.probability import ConditionalTable, Distribution
from tunbridge.probability.grid import html_grid

_SHOWN = 60


@final
class BayesianNetwork:
    """A Bayesian network over discrete variables. It never changes; what alters it returns a new one.

    Parameters
    ----------
    variables : mapping of str to list of states, or sequence of Variable
        The variables and their states.
    arcs : sequence of (parent, child), or DAG
        Which variables depend directly on which. The order of a node's arcs is the order of its table's parents.
    cpts : mapping of str to table, or sequence of CPTs
        For every variable its distribution for each configuration of its parents: nested dicts, a dict from tuples of
        parent states to rows, an array with one axis for each parent and a last one for the variable, a frame (see
        :func:`as_cpt`), or a finished table such as :func:`noisy_or` makes.
    name : str
        What it is called.

    Raises
    ------
    DataError
        With the node and the parent configuration named, when a distribution does not sum to one, does not fit, or is
        missing; with the cycle, when the arcs form one.

    Examples
    --------
    >>> net = BayesianNetwork(
    ...     {"Rain": ["no", "yes"], "Wet": ["no", "yes"]},
    ...     [("Rain", "Wet")],
    ...     {"Rain": {"no": 0.8, "yes": 0.2},
    ...      "Wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}}},
    ... )
    >>> net
    BayesianNetwork: 2 variables, 1 arc, 3 parameters
    >>> net.posterior("Rain", {"Wet": "yes"})
    Rain
    no    0.333333
    yes   0.666667
    """

    def __init__(self, variables: Any, arcs: Any = (), cpts: Any = (), *, name: str = "") -> None:
        checked = as_variables(variables)
        self._settle(as_tables(checked, as_dag(checked, arcs), cpts), name, {})

    @classmethod
    def from_tables(
        cls,
        cpts: Iterable[ConditionalTable],
        *,
        name: str = "",
        properties: Mapping[str, tuple[str, ...]] | None = None,
    ) -> BayesianNetwork:
        """Return the network of finished tables; their parents are the arcs.

        Examples
        --------
        >>> import tunbridge as tb
        >>> rain, wet = tb.Variable("Rain", ["no", "yes"]), tb.Variable("Wet", ["no", "yes"])
        >>> tb.BayesianNetwork.from_tables([tb.CPT(rain, [], [0.8, 0.2]), tb.noisy_or(wet, {rain: 0.8}, leak=0.1)])
        BayesianNetwork: 2 variables, 1 arc, 3 parameters
        """
        self = cls.__new__(cls)
        self._settle(tuple(cpts), name, dict(properties or {}))
        return self

    def _settle(self, cpts: tuple[ConditionalTable, ...], name: str, properties: dict[str, tuple[str, ...]]) -> None:
        parts = NetworkParts(name, cpts, properties)  # which checks that the tables fit together
        self._parts = parts
        self._dag = DAG(
            [cpt.variable.name for cpt in cpts], [(p.name, cpt.variable.name) for cpt in cpts for p in cpt.parents]
        )
        self._engine = Engine(cpts)

    # What it is made of

    @property
    def name(self) -> str:
        """What it is called; may be empty."""
        return self._parts.name

    @property
    def dag(self) -> DAG:
        """The graph."""
        return self._dag

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order in which they were given."""
        return self._engine.variables

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self._dag.nodes

    @property
    def cpts(self) -> Mapping[str, ConditionalTable]:
        """The table of each variable, by its name."""
        return MappingProxyType({cpt.variable.name: cpt for cpt in self._parts.cpts})

    @property
    def properties(self) -> Mapping[str, tuple[str, ...]]:
        """The property lines of the file it came from: of the network under ``""``, of nodes under their names."""
        return MappingProxyType(dict(self._parts.properties))

    @property
    def n_parameters(self) -> int:
        """How many of the probabilities are free."""
        return sum(cpt.n_parameters for cpt in self._parts.cpts)

    def variable(self, name: str) -> Variable:
        """Return a variable by its name."""
        return self.variables[self._number(name)]

    def cpt(self, name: str) -> ConditionalTable:
        """Return the table of a variable."""
        return self._parts.cpts[self._number(name)]

    def _number(self, name: str) -> int:
        if name not in self._engine.index:
            raise UnknownVariableError(f"{name!r} must be a variable of the network. {did_you_mean(name, self.nodes)}")
        return self._engine.index[name]

    def independent(self, a: str | Sequence[str], b: str | Sequence[str], given: str | Sequence[str] = ()) -> bool:
        """Return whether the graph makes two variables (or groups) independent given others (d-separation).

        A network may hold further independences that only its numbers show.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> net.independent("Burglary", "Earthquake"), net.independent("Burglary", "Earthquake", given="Alarm")
        (True, False)
        """
        return self._dag.d_separated(a, b, given)

    # Questions

    def posterior(
        self,
        target: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        interval: float | None = None,
        method: str = "exact",
        precision: float = 0.005,
        max_samples: int | None = None,
        random_state: Any = None,
    ) -> Distribution:
        """Return the distribution of a variable, or the joint one of several, given evidence.

        Parameters
        ----------
        target : str or sequence of str
            A variable, or a list of them for their joint distribution.
        evidence : mapping of str to finding
            A finding is a state, a list of possible states, or a mapping from every state to its likelihood.
        interval : float, optional
            With 0.95, also the 95 % credible interval of each probability. The tables must carry the Dirichlet counts
            they were learned from; the intervals say how far the data behind them determine the answer.
        method : {"exact", "likelihood-weighting", "gibbs", "forward"}
            How it is computed; all but the first draw samples, and give standard errors. Gibbs sampling warns where
            tables hold zeros: its chains may then be stuck, and its errors too small.
        precision : float
            The largest standard error at which sampling stops.
        max_samples : int, optional
            Where sampling stops at the latest, with a warning.
        random_state : int or numpy.random.Generator, optional
            Equal values give equal samples.

        Raises
        ------
        ImpossibleEvidenceError
            When the evidence has probability zero, naming a smallest part of it that has.
        MemoryForecastError
            When the exact answer would not fit into memory; nothing was allocated.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> net.posterior("Burglary", {"JohnCalls": "yes", "MaryCalls": "yes"})
        Burglary
        yes       0.284172
        no        0.715828
        """
        if method != "exact" and interval is not None:
            raise DataError(f"interval must be asked of the exact answer; got method={method!r}.")
        if method != "exact":
            return approximate.posterior(
                self._engine, target, evidence, method=method, precision=precision, max_samples=max_samples,
                random_state=random_state,
            )  # fmt: skip
        if interval is not None:
            return intervals.posterior(self._engine, target, evidence, interval=interval, random_state=random_state)
        return queries.posterior(self._engine, target, evidence)

    def posteriors(self, evidence: Any = None, *, n_jobs: int | None = None) -> Posteriors | dict[str, np.ndarray]:
        """Return the distribution of every variable given evidence, or given each row of a frame.

        Parameters
        ----------
        evidence : mapping, or frame
            A dict is evidence, as in :meth:`posterior`: its lists are possible states, not columns. Any other frame
            (pandas, polars, Arrow, Table) is rows: what a row does not say is unknown.
        n_jobs : int, optional
            Threads, for rows; the result does not depend on it.

        Returns
        -------
        Posteriors, or dict of str to ndarray of shape (n_rows, n_states)
        """
        if evidence is None or isinstance(evidence, Mapping):
            return queries.posteriors(self._engine, evidence)
        return batches.posteriors(self._engine, evidence, n_jobs=n_jobs)

    def probability(self, event: Event, evidence: Mapping[str, Any] | None = None, *, of: Sequence[str] = ()) -> float:
        """Return the probability of any event given evidence.

        Parameters
        ----------
        event : mapping, list of mappings, or function
            A mapping holds when all of its findings do, a list when any of its mappings does. A function gets the
            states of the variables ``of`` and says whether the event holds.
        evidence : mapping, optional
            What is known.
        of : sequence of str
            The variables whose states a function gets.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> round(net.probability([{"JohnCalls": "yes"}, {"MaryCalls": "yes"}]), 6)
        0.061791
        >>> round(net.probability(lambda john, mary: john == mary, of=["JohnCalls", "MaryCalls"]), 6)
        0.940293
        """
        return queries.probability(self._engine, event, evidence, of=of)

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """Return the natural logarithm of the probability of evidence; −∞ when it is impossible."""
        return queries.log_probability(self._engine, evidence)

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None, *, of: str | Iterable[str] | None = None
    ) -> MostProbable:
        """Return the most probable states of all variables together given evidence.

        Parameters
        ----------
        evidence : mapping, optional
            What is known.
        of : str or iterable of str, optional
            Only these variables, the others summed out (marginal MAP).

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> dict(net.most_probable({"JohnCalls": "yes", "MaryCalls": "yes"}, of=["Burglary", "Alarm"]))
        {'Burglary': 'no', 'Alarm': 'yes'}
        """
        return queries.most_probable(self._engine, evidence, of=of)

    # Rows of a frame

    def predict_proba(self, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the exact posterior of a variable for every row.

        Parameters
        ----------
        frame : any frame
            Columns are matched by name; absent columns and missing cells are unknown, and the target's own column is
            not looked at. States the network does not know count as missing, with one warning.
        target : str
            The variable.
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            In the order of the target's states. Rows whose evidence is impossible get NaN, with one warning.
        """
        return batches.predict_proba(self._engine, frame, target, n_jobs=n_jobs)

    def predict(self, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the most probable state of a variable for every row (None where the evidence is impossible)."""
        return batches.predict(self._engine, frame, target, n_jobs=n_jobs)

    def log_likelihood(self, frame: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the natural logarithm of the probability of every row; what a row does not say is summed out."""
        return batches.log_likelihood(self._engine, frame, n_jobs=n_jobs)

    def sample(
        self, n: int, *, random_state: Any = None, evidence: Mapping[str, Any] | None = None, n_jobs: int | None = None
    ) -> Table:
        """Return n rows drawn from the joint distribution, or exactly from the one given evidence.

        Examples
        --------
        >>> import tunbridge as tb
        >>> rows = tb.example_network("burglary").sample(1000, random_state=0, evidence={"Alarm": "yes"})
        >>> rows.n_rows, rows.names[:3]
        (1000, ('Burglary', 'Earthquake', 'Alarm'))
        """
        return simulation.sample(self._engine, n, random_state=random_state, evidence=evidence, n_jobs=n_jobs)

    # What if, why, how large

    def do(self, setting: Mapping[str, Any]) -> BayesianNetwork:
        """Return the network after an intervention: the variables are set, whatever their parents say.

        Parameters
        ----------
        setting : mapping of str to state, or to a distribution over states
            What is done to each variable.

        Examples
        --------
        Seeing the alarm tells about burglars; ringing it oneself does not.

        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> round(net.posterior("Burglary", {"Alarm": "yes"})["yes"], 3)
        0.374
        >>> round(net.do({"Alarm": "yes"}).posterior("Burglary")["yes"], 3)
        0.001
        """
        tables = interventions.do(self._engine, setting)
        return BayesianNetwork.from_tables(tables, name=self.name, properties=self.properties)

    def explain(self, target: str, evidence: Mapping[str, Any], *, state: Any = None) -> EvidenceExplanation:
        """Return how much each finding speaks for a state of the target, and how the answer would be without it.

        Parameters
        ----------
        target : str
            The variable asked about.
        evidence : mapping
            What is known.
        state : optional
            The state in question; by default the most probable one.
        """
        return explaining.explain(self._engine, target, evidence, state=state)

    def conflict(self, evidence: Mapping[str, Any]) -> Conflict:
        """Return how well findings fit together: ln [Π P(finding) / P(all)], above 0 when they disagree."""
        return conflicts.conflict(self._engine, evidence)

    def forecast(
        self, evidence: Mapping[str, Any] | None = None, target: str | Sequence[str] | None = None
    ) -> Forecast:
        """Return the size of the exact computation before it is run.

        Parameters
        ----------
        evidence : mapping, optional
            What will be known.
        target : str or sequence of str, optional
            What will be asked for; by default every variable.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.example_network("burglary").forecast().fits
        True
        """
        return forecasting.forecast(self._engine, evidence, target)

    # Files

    def write(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the network to a file, in the format that its suffix names (see :func:`read_network`)."""
        write_network_parts(path, self._parts, format)

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return dict(self.cpts) == dict(other.cpts)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: object) -> bool:
        """Return whether there is a variable of this name."""
        return name in self._engine.index

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._parts,)

    def __repr__(self) -> str:
        counts = [(len(self.nodes), "variable"), (self._dag.n_arcs, "arc"), (self.n_parameters, "parameter")]
        sizes = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"BayesianNetwork{f' {self.name!r}' if self.name else ''}: {sizes}"

    def _repr_html_(self) -> str:
        rows: list[list[object]] = [
            [v.name, listed(v.states or (), most=6), ", ".join(self._dag.parents(v.name))]
            for v in self.variables[:_SHOWN]
        ]
        more = f" (the first {_SHOWN})" if len(self.variables) > _SHOWN else ""
        return html_grid(["variable", "states", "parents"], rows, caption=f"{self!r}{more}")


def _rebuilt(parts: NetworkParts) -> BayesianNetwork:
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties)
