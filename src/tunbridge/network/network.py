"""A Bayesian network: a directed acyclic graph, and for every node its distribution given its parents.

    P(x₁, …, x_n) = Π_v P(x_v | parents of v)

The class holds and validates; what is asked of it is answered by :mod:`tunbridge.inference`, and files are the business
of :mod:`tunbridge.formats`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
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
    hybrid_batches,
    hybrid_engine,
    hybrid_forecasting,
    hybrid_queries,
    hybrid_sampling,
    imputation,
    intervals,
    interventions,
    queries,
    simulation,
)
from tunbridge.network.adaptation import update_network
from tunbridge.network.building import as_dag, as_tables, as_variables
from tunbridge.network.merging import DEFAULT_PRIOR, merge_networks
from tunbridge.probability import ConditionalTable
from tunbridge.probability.grid import html_grid

_SHOWN = 60


@final
class BayesianNetwork:
    """A Bayesian network. It never changes; what alters it returns a new one.

    Its variables are categorical; some may be continuous (see the page *Numbers in networks* in the documentation),
    with linear Gaussian tables, as long as no category has a number as its parent.

    Parameters
    ----------
    variables : mapping of str to list of states, or sequence of Variable
        The variables and their states; None in the place of states makes a variable continuous.
    arcs : sequence of (parent, child), or DAG
        Which variables depend directly on which. The order of a node's arcs is the order of its table's parents.
    cpts : mapping of str to table, or sequence of CPTs
        For every variable its distribution for each configuration of its parents: nested dicts, a dict from tuples of
        parent states to rows, an array with one axis for each parent and a last one for the variable, a frame (see
        :func:`as_cpt`), or a finished table such as :func:`noisy_or` makes. A continuous variable has a
        :class:`LinearGaussian`, or a dict with its ``intercepts``, ``coefficients`` and ``variances``.
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
        self._index = {cpt.variable.name: v for v, cpt in enumerate(cpts)}
        is_mixed = any(cpt.variable.is_continuous for cpt in cpts)
        self._hybrid = hybrid_engine.HybridEngine(cpts) if is_mixed else None
        self._discrete = None if is_mixed else Engine(cpts)

    @cached_property
    def _dag(self) -> DAG:
        """The graph, made when somebody looks at it: a network that is updated row by row is mostly not looked at."""
        arcs = [(p.name, cpt.variable.name) for cpt in self._parts.cpts for p in cpt.parents]
        return DAG(list(self._index), arcs)

    @property
    def _engine(self) -> Engine:
        """What answers for categorical variables; where there are others, an error that names the method that asked."""
        if self._discrete is None:
            raise self._refusal(f"{sys._getframe(1).f_code.co_name}()")
        return self._discrete

    def _refusal(self, what: str) -> DataError:
        names = [v.name for v in self.variables if v.is_continuous]
        are = "is" if len(names) == 1 else "are"
        hint = "Discretise first (tb.discretise)."
        return DataError(f"{what} must be asked of a network of categories; {listed(names)} {are} continuous. {hint}")

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
        return self._parts.variables if self._discrete is None else self._discrete.variables

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(self._index)

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
        """How many of the probabilities, and of the numbers of Gaussian tables, are free."""
        return sum(cpt.n_parameters for cpt in self._parts.cpts)

    def variable(self, name: str) -> Variable:
        """Return a variable by its name."""
        return self.variables[self._number(name)]

    def cpt(self, name: str) -> ConditionalTable:
        """Return the table of a variable."""
        return self._parts.cpts[self._number(name)]

    def _number(self, name: str) -> int:
        if name not in self._index:
            raise UnknownVariableError(f"{name!r} must be a variable of the network. {did_you_mean(name, self.nodes)}")
        return self._index[name]

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
    ) -> Any:
        """Return the distribution of a variable, or the joint one of several, given evidence.

        Parameters
        ----------
        target : str or sequence of str
            A variable, or a list of them for their joint distribution.
        evidence : mapping of str to finding
            A finding is a state, a list of possible states, or a mapping from every state to its likelihood; of a
            continuous variable it is a number.
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

        Returns
        -------
        Distribution, or Mixture of a continuous variable

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
        if self._hybrid is not None:
            if method != "exact" or interval is not None:
                raise self._refusal(f"posterior() with {'interval' if method == 'exact' else 'method'}=…")
            return hybrid_queries.posterior(self._hybrid, target, evidence)
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

    def posteriors(
        self, evidence: Any = None, *, n_jobs: int | None = None
    ) -> Posteriors | hybrid_queries.HybridPosteriors | dict[str, np.ndarray]:
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
            Of a continuous variable a Mixture; for rows its mean and standard deviation, of shape (n_rows, 2).
        """
        if self._hybrid is not None:
            if evidence is None or isinstance(evidence, Mapping):
                return hybrid_queries.posteriors(self._hybrid, evidence)
            return hybrid_batches.posteriors(self._hybrid, evidence, n_jobs=n_jobs)
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
        if self._hybrid is not None:
            return hybrid_queries.probability(self._hybrid, event, evidence, of=of)
        return queries.probability(self._engine, event, evidence, of=of)

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """Return the natural logarithm of the probability of evidence; −∞ when it is impossible.

        With numbers among the evidence it is that of a density, which may be positive and depends on their units.
        """
        if self._hybrid is not None:
            return hybrid_queries.log_probability(self._hybrid, evidence)
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
        if self._hybrid is not None:
            return hybrid_queries.most_probable(self._hybrid, evidence, of=of)
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
        if self._hybrid is not None:
            return hybrid_batches.predict_proba(self._hybrid, frame, target, n_jobs=n_jobs)
        return batches.predict_proba(self._engine, frame, target, n_jobs=n_jobs)

    def predict(self, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the most probable state of a variable for every row (None where the evidence is impossible).

        Of a continuous variable it is the expected value (NaN where the evidence is impossible).
        """
        if self._hybrid is not None:
            return hybrid_batches.predict(self._hybrid, frame, target, n_jobs=n_jobs)
        return batches.predict(self._engine, frame, target, n_jobs=n_jobs)

    def log_likelihood(self, frame: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the natural logarithm of the probability of every row; what a row does not say is summed out."""
        if self._hybrid is not None:
            return hybrid_batches.log_likelihood(self._hybrid, frame, n_jobs=n_jobs)
        return batches.log_likelihood(self._engine, frame, n_jobs=n_jobs)

    def impute(
        self,
        frame: Any,
        method: str = "most-probable",
        *,
        jointly: bool = True,
        columns: Iterable[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Table:
        """Return the frame as a Table in which the missing cells of the network's variables are filled.

        What is known stays as it is: values, also such as the network does not know (they count as missing for the
        rest of their row), columns that are no variables, types and weights.

        Parameters
        ----------
        frame : any frame
            Columns are matched by name.
        method : {"most-probable", "sample"}
            The most probable states given the rest of the row, or a draw from their exact joint distribution given it.
        jointly : bool
            Whether "most-probable" means the states of all missing cells of a row together, which do go together.
            False takes each cell for itself, so that as few cells as can be expected are wrong.
        columns : iterable of str, optional
            The variables to fill, by default all that are columns of the frame. Variables that are not are added as
            columns when they are named.
        random_state : int or numpy.random.Generator, optional
            The seed of "sample".
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Returns
        -------
        Table
            A row that is impossible in the network keeps its holes, with one warning.

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
        frame: Any,
        n: int = 5,
        *,
        columns: Iterable[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> tuple[Table, ...]:
        """Return the frame n times as a Table, its missing cells drawn anew each time (multiple imputation).

        What is estimated from each of the tables differs by as much as the missing cells leave open: see the page
        *Imputation* in the documentation for how estimates are pooled. The parameters are those of :meth:`impute`.

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
        if self._hybrid is not None:
            return hybrid_sampling.sample(self._hybrid, n, random_state=random_state, evidence=evidence, n_jobs=n_jobs)
        return simulation.sample(self._engine, n, random_state=random_state, evidence=evidence, n_jobs=n_jobs)

    # What if, why, how large

    def do(self, setting: Mapping[str, Any]) -> BayesianNetwork:
        """Return the network after an intervention: the variables are set, whatever their parents say.

        Parameters
        ----------
        setting : mapping of str to state, or to a distribution over states
            What is done to each variable; a continuous one is set to a number.

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
        if self._hybrid is not None:
            tables = hybrid_queries.do(self._hybrid, setting)
        else:
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
        if self._hybrid is not None:
            return hybrid_queries.explain(self._hybrid, target, evidence, state=state)
        return explaining.explain(self._engine, target, evidence, state=state)

    def conflict(self, evidence: Mapping[str, Any]) -> Conflict:
        """Return how well findings fit together: ln [Π P(finding) / P(all)], above 0 when they disagree."""
        if self._hybrid is not None:
            return hybrid_queries.conflict(self._hybrid, evidence)
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
        if self._hybrid is not None:
            return hybrid_forecasting.forecast(self._hybrid, evidence, target)
        return forecasting.forecast(self._engine, evidence, target)

    # New rows, other networks

    def update(
        self,
        rows: Any,
        *,
        fading: float | Mapping[str, float] = 1.0,
        ess: float | Mapping[str, float] | None = None,
        fixed: str | Iterable[str] = (),
        new_states: str = "add",
        batch_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> BayesianNetwork:
        """Return the network after new rows: they are added to the Dirichlet counts behind its tables.

        Rows without holes make the tables what one fit to all rows would have made them. Of a row with holes what is to
        be expected is added, under the network as it stands before the batch. Nothing here is changed, whatever happens
        on the way.

        Parameters
        ----------
        rows : frame, record, list of records, or iterator of frames
            Columns are matched by name; absent ones are missing in every row. Each frame of an iterator (or of a
            pyarrow reader or dataset) is a batch, and only one is held at a time. A :class:`Table` may have weights.
        fading : float or mapping of str to float
            What an old row weighs against the one after it, above 0: with 0.999 a table is worth 1000 rows at most. A
            mapping says it for single tables; others do not fade.
        ess : float or mapping of str to float, optional
            How many rows of data every row of a table without counts is worth, for all such tables or by variable. In
            a sparse table it holds for the configurations that are not stored, too (one row unless given). Counts that
            are there are never rescaled.
        fixed : str or sequence of str
            The variables whose tables stay as they are.
        new_states : {"add", "missing", "error"}
            Values that are no states of their variable become states behind the others, or count as missing with one
            warning, or are an error.
        batch_rows : int, optional
            Cut frames into batches of so many rows, which matters only where there are holes.
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Raises
        ------
        DataError
            When a table has no counts and ``ess`` does not say what it is worth; when it stores no rows (noisy-MAX)
            and is not fixed.

        Examples
        --------
        >>> import tunbridge as tb
        >>> net = tb.example_network("burglary")
        >>> after = net.update([{"Burglary": "no", "Earthquake": "no", "Alarm": "yes"}] * 10, ess=1000)
        >>> given = {"Burglary": "no", "Earthquake": "no"}
        >>> [round(n.cpt("Alarm").distribution(given)["yes"], 4) for n in (net, after)]
        [0.001, 0.0109]
        """
        return update_network(
            self, rows, fading=fading, ess=ess, fixed=fixed, new_states=new_states, batch_rows=batch_rows, n_jobs=n_jobs
        ).network

    def merge(self, *others: BayesianNetwork, prior: Any = DEFAULT_PRIOR) -> BayesianNetwork:
        """Return the network of the rows behind this one and others together (see :func:`merge_networks`)."""
        return merge_networks([self, *others], prior=prior)

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
        return name in self._index

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._parts,)

    def __repr__(self) -> str:
        counts = [(len(self.nodes), "variable"), (self._dag.n_arcs, "arc"), (self.n_parameters, "parameter")]
        sizes = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"BayesianNetwork{f' {self.name!r}' if self.name else ''}: {sizes}"

    def _repr_html_(self) -> str:
        rows: list[list[object]] = [
            [v.name, listed(v.states or (), most=6) or "continuous", ", ".join(self._dag.parents(v.name))]
            for v in self.variables[:_SHOWN]
        ]
        more = f" (the first {_SHOWN})" if len(self.variables) > _SHOWN else ""
        return html_grid(["variable", "states", "parents"], rows, caption=f"{self!r}{more}")


def _rebuilt(parts: NetworkParts) -> BayesianNetwork:
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties)
