"""A Bayesian network: a directed acyclic graph, and for every node its distribution given its parents.

    P(x₁, …, x_n) = Π_v P(x_v | parents of v)

The class stores and validates. Its methods call :mod:`tunbridge.inference` for queries, :mod:`tunbridge.formats` for
files, and :mod:`tunbridge.learning` for updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from os import PathLike
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened, warn_user
from tunbridge._core.grid import html_grid, text_grid
from tunbridge._core.seeds import RandomState
from tunbridge.data import State, Table, Variable
from tunbridge.errors import DataError, DataWarning, UnknownVariableError
from tunbridge.formats import NetworkParts, read_network_parts, write_network_parts
from tunbridge.graph import DAG
from tunbridge.inference import (
    Conflict,
    Engine,
    Event,
    EvidenceExplanation,
    Forecast,
    MostProbable,
    Posteriors,
    batches,
    explaining,
    forecasting,
    imputation,
    intervals,
    queries,
)
from tunbridge.inference.sampling import approximate, forward
from tunbridge.network.building import GivenArcs, GivenTables, GivenVariables, as_dag, as_tables, as_variables
from tunbridge.probability import ConditionalTable, MEstimate
from tunbridge.probability.conditional import check_network
from tunbridge.probability.smoothing import Smoothing

if TYPE_CHECKING:
    import networkx

    from tunbridge.data.reading import Reading

_HEADER = ["variable", "states", "parents"]
_SHOWN, _SHOWN_TEXT = 60, 20
_DEFAULT_PRIOR = MEstimate(m=1.0)  # that of fit_parameters


@final
class BayesianNetwork:
    """An immutable Bayesian network; methods that change something return a new network.

    Its variables are categorical. Some may be continuous (see the page *Numbers in networks* in the documentation),
    with linear Gaussian tables, as long as no categorical variable has a continuous parent.

    Parameters
    ----------
    variables : mapping of str to list of states, or sequence of Variable
        The variables and their states; None instead of states makes a variable continuous.
    arcs : sequence of (parent, child), or DAG
        The arcs. The order of the arcs into a node is the order of the parents in its table.
    cpts : mapping of str to table, or sequence of CPTs
        For every variable its distribution for each configuration of its parents: nested dicts, a dict from tuples of
        parent states to rows, an array with one axis for each parent and a last one for the variable, a frame (see
        :func:`as_cpt`), or a finished table such as that of :func:`noisy_or`. A continuous variable has a
        :class:`LinearGaussian`, or a dict with its ``intercepts``, ``coefficients`` and ``variances``.
    name : str
        The name of the network.

    Raises
    ------
    DataError
        If a distribution does not sum to one, does not fit or is missing (the message names the node and the parent
        configuration), or if the arcs form a cycle (the message shows it).

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

    def __init__(
        self, variables: GivenVariables, arcs: GivenArcs = (), cpts: GivenTables = (), *, name: str = ""
    ) -> None:
        checked = as_variables(variables)
        tables = as_tables(checked, as_dag(checked, arcs), cpts)
        check_network(name, tables)
        self._set_parts(tables, name, {})

    @classmethod
    def from_tables(
        cls,
        cpts: Iterable[ConditionalTable],
        *,
        name: str = "",
        properties: Mapping[str, Sequence[str]] | None = None,
        reading: Reading | None = None,
    ) -> BayesianNetwork:
        """Return the network of finished tables; their parents give the arcs.

        Examples
        --------
        >>> import tunbridge as tb
        >>> rain, wet = tb.Variable("Rain", ["no", "yes"]), tb.Variable("Wet", ["no", "yes"])
        >>> tb.BayesianNetwork.from_tables([tb.CPT(rain, [], [0.8, 0.2]), tb.noisy_or(wet, {rain: 0.8}, leak=0.1)])
        BayesianNetwork: 2 variables, 1 arc, 3 parameters
        """
        if not isinstance(cpts, Iterable):
            got = shortened(repr(cpts))
            raise DataError(f"cpts must be a list of conditional tables; got {got}.", parameter="cpts")
        tables = tuple(cpts)
        check_network(name, tables, properties)
        return cls.of_valid(tables, name=name, properties=properties, reading=reading)

    @classmethod
    def of_valid(
        cls,
        cpts: Iterable[ConditionalTable],
        *,
        name: str = "",
        properties: Mapping[str, Sequence[str]] | None = None,
        reading: Reading | None = None,
    ) -> BayesianNetwork:
        """Return the network of tables that are known to fit together, as those of a graph do; nothing is checked."""
        self = cls.__new__(cls)
        self._set_parts(cpts, name, properties or {}, reading)
        return self

    def _set_parts(
        self,
        cpts: Iterable[ConditionalTable],
        name: str,
        properties: Mapping[str, Sequence[str]],
        reading: Reading | None = None,
    ) -> None:
        self._name, self._cpts, self._reading = name, {cpt.variable.name: cpt for cpt in cpts}, reading
        self._properties = {owner: tuple(lines) for owner, lines in properties.items() if lines}

    @cached_property
    def _engine(self) -> Engine:
        """What answers questions, built for the first one: a network on its way to a file needs none."""
        return Engine(tuple(self._cpts.values()))

    # Contents

    @property
    def name(self) -> str:
        """The name; may be empty."""
        return self._name

    @property
    def dag(self) -> DAG:
        """The graph."""
        return self._dag

    @cached_property
    def _dag(self) -> DAG:
        return DAG(self._cpts, [(p.name, name) for name, cpt in self._cpts.items() for p in cpt.parents])

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in their order."""
        return tuple(cpt.variable for cpt in self._cpts.values())

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(self._cpts)

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """The arcs as pairs (parent, child)."""
        return self.dag.arcs

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the parents of a variable, in the order of its table.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.example_network("burglary").parents("Alarm")
        ('Burglary', 'Earthquake')
        """
        return tuple(p.name for p in self.cpt(name).parents)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the children of a variable."""
        return self.dag.children(self.variable(name).name)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Return the parents, children and other parents of the children, in the order of the variables.

        Given these a variable is independent of all others.
        """
        return self.dag.markov_blanket(self.variable(name).name)

    @property
    def cpts(self) -> Mapping[str, ConditionalTable]:
        """The table of each variable, by its name."""
        return MappingProxyType(self._cpts)

    @property
    def properties(self) -> Mapping[str, tuple[str, ...]]:
        """The properties from its file: those of the network under ``""``, those of variables under their names."""
        return MappingProxyType(self._properties)

    @property
    def reading(self) -> Reading | None:
        """How the table was read that it was learned from, if that came from a file; ``.tb`` files keep it."""
        return self._reading

    def with_reading(self, reading: Reading | None) -> BayesianNetwork:
        """Return the network with a record of how the rows are read that it is learned from, or asked about."""
        if reading is self._reading:
            return self
        parts = self._parts
        return BayesianNetwork.of_valid(parts.cpts, name=parts.name, properties=parts.properties, reading=reading)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of all tables."""
        return sum(cpt.n_parameters for cpt in self._cpts.values())

    def variable(self, name: str) -> Variable:
        """Return a variable by its name."""
        return self.cpt(name).variable

    def cpt(self, name: str) -> ConditionalTable:
        """Return the table of a variable."""
        if not isinstance(name, str) or name not in self._cpts:
            hint = did_you_mean(name, self.nodes)
            message = f"name must be a variable of the network; got {name!r}. {hint}"
            raise UnknownVariableError(message, parameter="name")
        return self._cpts[name]

    def independent(self, a: str | Sequence[str], b: str | Sequence[str], given: str | Sequence[str] = ()) -> bool:
        """Return whether the graph makes two variables (or groups) independent given others (d-separation).

        The numbers of the tables may imply further independences.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> net.independent("Burglary", "Earthquake"), net.independent("Burglary", "Earthquake", given="Alarm")
        (True, False)
        """
        return self.dag.d_separated(a, b, given)

    # Queries

    def posterior(
        self,
        target: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        interval: float | None = None,
        method: str = "exact",
        precision: float = 0.005,
        max_samples: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """Return the distribution of a variable, or the joint one of several, given evidence.

        Parameters
        ----------
        target : str or sequence of str
            A variable, or a list of them for their joint distribution.
        evidence : mapping of str to finding
            A finding is a state, a list of possible states, or a mapping from every state to its likelihood; for a
            continuous variable it is a number.
        interval : float, optional
            With 0.95, also compute the 95 % credible interval of each probability. The tables must have the Dirichlet
            counts from which they were learned; the intervals show how well these data determine the result.
        method : {"exact", "likelihood-weighting", "gibbs", "forward"}
            The algorithm. All but "exact" draw samples and return standard errors. Gibbs sampling warns if tables have
            zeros: its chains may then be stuck, and its standard errors too small.
        precision : float
            Sampling stops at this standard error.
        max_samples : int, optional
            The maximum number of samples; a warning is given when it is reached.
        random_state : int or numpy.random.Generator, optional
            Random seed.

        Returns
        -------
        Distribution, or Mixture of a continuous variable

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero; the message names a smallest part of it that has.
        MemoryForecastError
            If the exact result would not fit into memory; nothing was allocated.

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
            raise DataError(f"interval must be used with method='exact'; got method={method!r}.", parameter="interval")
        if method != "exact":
            return approximate.posterior(
                self._engine, target, evidence, method=method, precision=precision, max_samples=max_samples,
                random_state=random_state,
            )  # fmt: skip
        if interval is not None:
            return intervals.posterior(self._engine, target, evidence, interval=interval, random_state=random_state)
        return queries.posterior(self._engine, target, evidence)

    query = posterior
    """The same as :meth:`posterior`, as other libraries call it."""

    def posteriors(self, evidence: object = None, *, n_jobs: int | None = None) -> Posteriors | dict[str, np.ndarray]:
        """Return the distribution of every variable given evidence, or given each row of a frame.

        Parameters
        ----------
        evidence : mapping, or frame
            A dict is evidence, as in :meth:`posterior`: its lists are possible states, not columns. Any other frame
            (pandas, polars, Arrow, Table) is rows with missing values.
        n_jobs : int, optional
            Number of threads, for rows; the result does not depend on it.

        Returns
        -------
        Posteriors, or dict of str to ndarray of shape (n_rows, n_states)
            For a continuous variable a Mixture; for rows its mean and standard deviation, of shape (n_rows, 2).
        """
        if evidence is None or isinstance(evidence, Mapping):
            return queries.posteriors(self._engine, evidence)
        return batches.posteriors(self._engine, evidence, n_jobs=n_jobs)

    def probability(self, event: Event, evidence: Mapping[str, Any] | None = None, *, of: Sequence[str] = ()) -> float:
        """Return the probability of any event given evidence.

        Parameters
        ----------
        event : mapping, list of mappings, or function
            A mapping is the event that all of its findings hold, a list that any of its mappings holds. A function gets
            the states of the variables ``of`` and returns whether the event holds.
        evidence : mapping, optional
            The evidence.
        of : sequence of str
            The variables whose states are passed to a function.

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
        """Return the natural logarithm of the probability of evidence; −∞ if it is impossible.

        With continuous evidence it is the logarithm of a density, which may be positive and depends on the units.
        """
        return queries.log_probability(self._engine, evidence)

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None, *, of: str | Iterable[str] | None = None
    ) -> MostProbable:
        """Return the jointly most probable states of all variables given evidence.

        Parameters
        ----------
        evidence : mapping, optional
            The evidence.
        of : str or iterable of str, optional
            Only these variables, with the others summed out (marginal MAP).

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> dict(net.most_probable({"JohnCalls": "yes", "MaryCalls": "yes"}, of=["Burglary", "Alarm"]))
        {'Burglary': 'no', 'Alarm': 'yes'}
        """
        return queries.most_probable(self._engine, evidence, of=of)

    # Rows of a frame

    def predict_proba(self, frame: object, target: str, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the exact posterior of a variable for every row.

        Parameters
        ----------
        frame : any frame
            Columns are matched by name; columns may be absent and values missing. The column of the target is ignored.
            Unseen categories are treated as missing, with one warning.
        target : str
            The variable.
        n_jobs : int, optional
            Number of threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            In the order of the target's states. Rows with impossible evidence get NaN, with one warning.
        """
        return batches.predict_proba(self._engine, frame, target, n_jobs=n_jobs)

    def predict(self, frame: object, target: str, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the most probable state of a variable for every row (None if the evidence is impossible).

        For a continuous variable return the expected value (NaN if the evidence is impossible).
        """
        return batches.predict(self._engine, frame, target, n_jobs=n_jobs)

    def log_likelihood(self, frame: object, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the natural logarithm of the probability of every row; missing values are summed out."""
        return batches.log_likelihood(self._engine, frame, n_jobs=n_jobs)

    def impute(
        self,
        frame: object,
        method: str = "most-probable",
        *,
        jointly: bool = True,
        columns: Iterable[str] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> Table:
        """Return the frame as a Table with the missing values of the network's variables imputed.

        Everything else is kept: known values, unseen categories (for the rest of their row they are treated as
        missing), other columns, types and weights.

        Parameters
        ----------
        frame : any frame
            Columns are matched by name.
        method : {"most-probable", "sample"}
            The most probable states given the rest of the row, or a sample from their exact joint distribution given
            it.
        jointly : bool
            Whether "most-probable" means the jointly most probable states of all missing values of a row, which are
            consistent. False imputes each value separately, which minimises the expected number of errors; a network
            with continuous variables always does, and gives numbers their conditional means.
        columns : iterable of str, optional
            The variables to impute; default: all columns that are variables. Named variables that are not columns
            are added.
        random_state : int or numpy.random.Generator, optional
            Random seed of "sample".
        n_jobs : int, optional
            Number of threads; the result does not depend on it.

        Returns
        -------
        Table
            A row that is impossible in the network keeps its missing values, with one warning.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> calls = {"Burglary": [None, None], "JohnCalls": ["yes", "no"], "MaryCalls": ["yes", None]}
        >>> net.impute(calls).to_arrow().to_pylist()[1]
        {'Burglary': 'no', 'JohnCalls': 'no', 'MaryCalls': 'no'}
        """
        return imputation.impute(
            self._engine, frame, method, jointly=jointly, columns=columns, random_state=random_state, n_jobs=n_jobs
        )

    def imputations(
        self,
        frame: object,
        n: int = 5,
        *,
        columns: Iterable[str] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> tuple[Table, ...]:
        """Return n tables with independently sampled missing values (multiple imputation).

        Estimates from these tables differ by the uncertainty of the missing values; the page *Imputation* in the
        documentation shows how to pool them. The parameters are those of :meth:`impute`.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> tables = net.imputations({"Alarm": ["yes"] * 1000, "Burglary": [None] * 1000}, 3, random_state=0)
        >>> [round(float((table.codes("Burglary") == 0).mean()), 2) for table in tables]
        [0.38, 0.36, 0.38]
        """
        return imputation.imputations(self._engine, frame, n, columns=columns, random_state=random_state, n_jobs=n_jobs)

    def sample(
        self,
        n: int,
        *,
        random_state: RandomState = None,
        evidence: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> Table:
        """Return n rows sampled from the joint distribution, or exactly from that given evidence.

        Examples
        --------
        >>> import tunbridge as tb
        >>> rows = tb.example_network("burglary").sample(1000, random_state=0, evidence={"Alarm": "yes"})
        >>> rows.n_rows, rows.names[:3]
        (1000, ('Burglary', 'Earthquake', 'Alarm'))
        """
        return forward.sample(self._engine, n, random_state=random_state, evidence=evidence, n_jobs=n_jobs)

    # Interventions, explanations, costs

    def do(self, setting: Mapping[str, Any]) -> BayesianNetwork:
        """Return the network after an intervention: the variables are set, and no longer depend on their parents.

        Parameters
        ----------
        setting : mapping of str to state, or to a distribution over states
            The new state of each variable; a continuous variable is set to a number.

        Examples
        --------
        An alarm is evidence of a burglary; an alarm that one rings oneself is not.

        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> round(net.posterior("Burglary", {"Alarm": "yes"})["yes"], 3)
        0.374
        >>> round(net.do({"Alarm": "yes"}).posterior("Burglary")["yes"], 3)
        0.001
        """
        tables = queries.do(self._engine, setting)
        return BayesianNetwork.from_tables(tables, name=self.name, properties=self.properties, reading=self.reading)

    def explain(self, target: str, evidence: Mapping[str, Any], *, state: State | None = None) -> EvidenceExplanation:
        """Return how much each finding supports a state of the target, and the posterior without it.

        Parameters
        ----------
        target : str
            The variable.
        evidence : mapping
            The evidence.
        state : optional
            The state to explain; default: the most probable one.
        """
        return explaining.explain(self._engine, target, evidence, state=state)

    def conflict(self, evidence: Mapping[str, Any]) -> Conflict:
        """Return how well findings fit together: ln [Π P(finding) / P(all)], positive if they disagree."""
        return explaining.conflict(self._engine, evidence)

    def forecast(
        self, evidence: Mapping[str, Any] | None = None, target: str | Sequence[str] | None = None
    ) -> Forecast:
        """Return the cost of an exact query before it is run.

        Parameters
        ----------
        evidence : mapping, optional
            The evidence.
        target : str or sequence of str, optional
            The targets; default: every variable.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.example_network("burglary").forecast().fits
        True
        """
        return forecasting.forecast(self._engine, evidence, target)

    # Learning

    def update(
        self,
        rows: object,
        *,
        fading: float | Mapping[str, float] = 1.0,
        ess: float | Mapping[str, float] | None = None,
        fixed: str | Iterable[str] = (),
        new_states: str = "add",
        batch_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> BayesianNetwork:
        """Return the network after new rows, which are added to the Dirichlet counts behind its tables.

        Complete rows give the same tables as one fit to all rows. A row with missing values adds its expected counts
        under the network before the batch. This network does not change.

        Parameters
        ----------
        rows : frame, record, list of records, or iterator of frames
            Columns are matched by name; absent columns are missing in every row. Each frame of an iterator (or of a
            pyarrow reader or dataset) is a batch, and only one is in memory at a time. A :class:`Table` may have
            weights.
        fading : float or mapping of str to float
            The weight of a row relative to the next one, above 0 and at most 1: with 0.999 a table is worth 1000 rows
            at most. A mapping sets it for some tables; the others do not fade.
        ess : float or mapping of str to float, optional
            The number of rows of data that every row of a table without counts is worth, for all such tables or by
            variable. In a sparse table it also applies to configurations that are not stored (default: one row).
            Existing counts are never rescaled.
        fixed : str or sequence of str
            The variables whose tables do not change.
        new_states : {"add", "missing", "error"}
            Whether values that are not states of their variable become new states or are treated as missing, both with
            one warning, or raise an error. :func:`update_network` adds new states without a warning and returns them.
        batch_rows : int, optional
            Split frames into batches of so many rows; this matters only with missing values.
        n_jobs : int, optional
            Number of threads; the result does not depend on it.

        Raises
        ------
        DataError
            If a table has no counts and ``ess`` does not give its weight, or if it stores no rows (noisy-MAX) and is
            not fixed.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> after = net.update([{"Burglary": "no", "Earthquake": "no", "Alarm": "yes"}] * 10, ess=1000)
        >>> given = {"Burglary": "no", "Earthquake": "no"}
        >>> [round(n.cpt("Alarm").distribution(given)["yes"], 4) for n in (net, after)]
        [0.001, 0.0109]
        """
        seen = arriving().update_network(
            self, rows, fading=fading, ess=ess, fixed=fixed, new_states=new_states, batch_rows=batch_rows,
            n_jobs=n_jobs,
        )  # fmt: skip
        if seen.new_states:  # which the network alone does not show
            added = "; ".join(f"{name}: {listed(states, most=3)}" for name, states in list(seen.new_states.items())[:5])
            hint = "new_states='error' raises an error instead; update_network returns them without this warning."
            warn_user(f"values that are not states of the network became new states: {added}. {hint}", DataWarning)
        updated: BayesianNetwork = seen.network
        return updated

    def merge(
        self, *others: BayesianNetwork, prior: BayesianNetwork | Smoothing | float | str = _DEFAULT_PRIOR
    ) -> BayesianNetwork:
        """Return the network of the rows behind this one and others together (see :func:`merge_networks`)."""
        merged: BayesianNetwork = arriving().merge_networks([self, *others], prior=prior)
        return merged

    # Files

    def write(self, path: str | PathLike[str], format: str | None = None, *, dialect: str | None = None) -> None:
        """Write the network to a file, in the format of its suffix (see :func:`read_network`)."""
        write_network_parts(path, self._parts, format, dialect=dialect)

    save = write  # as classifiers call it

    @property
    def _parts(self) -> NetworkParts:
        """What a file holds of the network."""
        return NetworkParts(self._name, tuple(self._cpts.values()), self._properties, self._reading)

    def to_networkx(self) -> networkx.DiGraph:
        """Return a :class:`networkx.DiGraph` in which every node has its table as the attribute ``cpt``."""
        graph = self.dag.to_networkx()
        graph.graph["name"] = self.name
        for name, cpt in self.cpts.items():
            graph.nodes[name]["cpt"] = cpt
        return graph

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph) -> BayesianNetwork:
        """Return the network of a :class:`networkx.DiGraph` in which every node has its table as the attribute ``cpt``.

        :meth:`DAG.from_networkx` reads a graph without tables; :func:`fit_parameters` learns them from data.
        """
        dag = DAG.from_networkx(graph)
        if absent := [name for name in dag.nodes if "cpt" not in graph.nodes[name]]:
            has, hint = "has" if len(absent) == 1 else "have", "DAG.from_networkx reads a graph without tables."
            raise DataError(f"every node must have a table as attribute 'cpt'; {listed(absent)} {has} none. {hint}")
        net = cls.from_tables([graph.nodes[name]["cpt"] for name in dag.nodes], name=graph.graph.get("name", ""))
        if net.dag != dag:
            raise DataError("the nodes and arcs of graph must be those of its tables; got others.", parameter="graph")
        return net

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self._cpts == dict(other.cpts)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: object) -> bool:
        """Return whether there is a variable of this name."""
        return name in self._cpts

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._parts,)

    def __repr__(self) -> str:
        counts = [(len(self.nodes), "variable"), (self.dag.n_arcs, "arc"), (self.n_parameters, "parameter")]
        sizes = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"BayesianNetwork{f' {self.name!r}' if self.name else ''}: {sizes}"

    def __str__(self) -> str:
        n_more = len(self.nodes) - _SHOWN_TEXT
        more = f"\n… and {counted(n_more, 'more variable')}" if n_more > 0 else ""
        return f"{self!r}\n{text_grid(_HEADER, self._rows(_SHOWN_TEXT))}{more}"

    def _repr_html_(self) -> str:
        more = f" (the first {_SHOWN})" if len(self.variables) > _SHOWN else ""
        table = html_grid(_HEADER, self._rows(_SHOWN), caption=f"{self!r}{more}")
        return f"{self.dag._repr_svg_()}<details><summary>variables</summary>{table}</details>"

    def _rows(self, n: int) -> list[list[object]]:
        """Return states and parents of the first n variables, as text."""
        return [
            [v.name, listed(v.states or (), most=6) or "continuous", ", ".join(self.parents(v.name))]
            for v in self.variables[:n]
        ]


def read_network(
    path: str | PathLike[str], format: str | None = None, *, dialect: str | None = None
) -> BayesianNetwork:
    """Return the network in a file.

    Parameters
    ----------
    path : path
        A file in BIF, XMLBIF (``.xmlbif``, ``.xml``, ``.bifxml``), Hugin NET, DSC, GeNIe's XDSL and DSL, or UAI, each
        optionally gzipped (``.bif.gz``), or a native file (``.tb``).
    format : {"bif", "xmlbif", "net", "dsc", "dsl", "xdsl", "uai", "tb"}, optional
        The format; by default the suffix decides.
    dialect : {"agrum"}, optional
        For a UAI or XDSL file that aGrUM wrote: it orders the parents of a table in the opposite way.

    Warns
    -----
    DataWarning
        If rows were rescaled because they sum to one only within 1e-3.

    Raises
    ------
    FormatError
        If the file is damaged, with line and column.

    Examples
    --------
    >>> import tempfile, pathlib, tunbridge as tb
    >>> rain = tb.BayesianNetwork({"Rain": ["no", "yes"]}, [], {"Rain": [0.8, 0.2]})
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "rain.bif"
    >>> rain.write(file)
    >>> tb.read_network(file)
    BayesianNetwork: 1 variable, 0 arcs, 1 parameter
    """
    return _rebuilt(read_network_parts(path, format, dialect=dialect))


def arriving() -> ModuleType:
    """Return :mod:`tunbridge.learning.arriving`, to which ``update`` and ``merge`` are doors.

    Learning imports networks, so networks must not import learning; the module is loaded when a door is used.
    """
    return import_module("tunbridge.learning.arriving")


def _rebuilt(parts: NetworkParts) -> BayesianNetwork:
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties, reading=parts.reading)
