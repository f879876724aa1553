"""A dynamic Bayesian network: a first slice, and the tables of a slice given the slices before it.

    P(x_0, …, x_T) = Π_v P₀(x_{0,v} | parents) · Π_t Π_v P(x_{t,v} | parents in slices t, t − 1, …, t − k)

Three questions, three words: ``filter`` gives what is known about a slice from the evidence up to it, ``smooth`` from
all evidence, later slices too, and ``predict`` looks beyond the last slice.

A network of order k > 1 has parents up to k slices back. In slices 1 to k − 1 some of these would be before slice 0;
there the values of slice 0 are taken, as though it had always been so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from tunbridge._core.check import check_choice, check_integer, counted, listed, shortened
from tunbridge._core.grid import html_grid
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import model
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.data.table import natural_type
from tunbridge.errors import DataError, FormatError
from tunbridge.formats import NetworkParts
from tunbridge.formats.native import read_model, rebuilding, write_model
from tunbridge.formats.native_network import network_content, network_parts
from tunbridge.graph.drawing import Node, drawn, lines_of, svg_of
from tunbridge.inference.evidence import find_variable
from tunbridge.network import BayesianNetwork
from tunbridge.network.building import GivenTables, GivenVariables, as_variables
from tunbridge.probability import ConditionalTable
from tunbridge.temporal.dynamic import approximate, slices
from tunbridge.temporal.dynamic.answers import MostProbableSlices, SlicePosteriors
from tunbridge.temporal.dynamic.building import (
    Node as Lagged,
    first_of,
    node_of,
    transition_of,
    unrolled_tables,
    with_placeholders,
)
from tunbridge.temporal.dynamic.evidence import Asked, Findings, Names, read_findings
from tunbridge.temporal.dynamic.kalman import LinearModel, compile_linear, kalman
from tunbridge.temporal.dynamic.numbers import absorbed, number_moments, number_tables

KIND = "dynamic-network"
_SHOWN = 100

Targets = str | Sequence[str] | None


class Method(NamedTuple):
    """How questions are answered: the method, and what the approximations need."""

    method: str = "auto"
    clusters: Sequence[Sequence[str]] | None = None
    n_particles: int = 10_000
    random_state: RandomState = None


@model("dynamic-network")
@final
class DynamicBayesianNetwork:
    """An immutable dynamic Bayesian network; methods that change something return a new network.

    Parameters
    ----------
    variables : mapping of str to list of states, or sequence of Variable
        The variables of a slice and their states; None instead of states makes a variable continuous.
    first : mapping of str to table, or BayesianNetwork
        The tables of slice 0 that differ from those of later slices, which those of all variables with parents in
        earlier slices do: given their parents in the same slice. Or the whole network of slice 0.
    arcs : sequence of (parent, child)
        ``("Rain[t-1]", "Rain")`` leads from a slice to the next, and so does ``("Rain", "Rain'")``; ``"Rain[t-2]"`` is
        two slices back. ``("Rain", "Umbrella")`` is inside each slice.
    cpts : mapping of str to table, or sequence of tables
        The tables of a slice given its parents, in the order of the arcs, in any form that :class:`BayesianNetwork`
        takes. In finished tables parents are called ``"Rain[t-1]"``.
    name : str
        The name of the network.

    Raises
    ------
    DataError
        If an arc leads backwards in time, arcs form a cycle inside a slice, or a table does not fit.

    Examples
    --------
    >>> umbrella = DynamicBayesianNetwork(
    ...     {"Rain": ["no", "yes"], "Umbrella": ["no", "yes"]},
    ...     first={"Rain": [0.5, 0.5]},
    ...     arcs=[("Rain[t-1]", "Rain"), ("Rain", "Umbrella")],
    ...     cpts={"Rain": {"no": [0.7, 0.3], "yes": [0.3, 0.7]}, "Umbrella": {"no": [0.8, 0.2], "yes": [0.1, 0.9]}},
    ... )
    >>> umbrella
    DynamicBayesianNetwork: 2 variables, 1 arc in a slice, 1 arc between slices
    >>> seen = [{"Umbrella": "yes"}, {"Umbrella": "yes"}]
    >>> umbrella.filter(seen, "Rain")
    Rain in 2 slices
    slice  no        yes
    0      0.181818  0.818182
    1      0.116643  0.883357
    >>> round(umbrella.smooth(seen, "Rain")[0]["yes"], 6)
    0.883357
    >>> round(umbrella.predict(seen, "Rain", steps=2)[1]["yes"], 6)
    0.561337
    """

    def __init__(
        self, variables: GivenVariables, *, first: Any = None, arcs: Any = (), cpts: GivenTables = (), name: str = ""
    ) -> None:
        checked = as_variables(variables)
        transition = transition_of(checked, arcs, cpts, name)
        tables = {v.name: transition.cpt(v.name) for v in checked}
        self._set(first_of(checked, tables, first), tuple(tables.values()), transition, name)

    @classmethod
    def from_tables(
        cls, first: BayesianNetwork, cpts: Sequence[ConditionalTable], *, name: str = ""
    ) -> DynamicBayesianNetwork:
        """Return the network of a first slice and finished tables, whose parents give the arcs.

        Parameters
        ----------
        first : BayesianNetwork
            The network of slice 0.
        cpts : sequence of ConditionalTable
            A table for each variable; a parent in an earlier slice is called ``"Rain[t-1]"``.
        name : str
            The name.
        """
        tables = list(cpts)
        arcs = [(p.name, cpt.variable.name) for cpt in tables for p in cpt.parents]
        return cls([cpt.variable for cpt in tables], first=first, arcs=arcs, cpts=tables, name=name)

    @classmethod
    def hidden_markov(cls, start: Any, transitions: Any, emissions: Any, **names: Any) -> DynamicBayesianNetwork:
        """Return a hidden Markov model as a network; see :func:`tunbridge.temporal.dynamic.kinds.hmm`.

        Examples
        --------
        >>> net = DynamicBayesianNetwork.hidden_markov(
        ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], states=["rain", "dry"])
        >>> net.filter([{"symbol": 0}], "state")[0].mode
        'rain'
        """
        from tunbridge.temporal.dynamic import kinds

        return kinds.hmm(start, transitions, emissions, **names)

    @classmethod
    def factorial(cls, starts: Any, transitions: Any, emissions: Any, **names: Any) -> DynamicBayesianNetwork:
        """Return a factorial hidden Markov model; see :func:`tunbridge.temporal.dynamic.kinds.factorial`."""
        from tunbridge.temporal.dynamic import kinds

        return kinds.factorial(starts, transitions, emissions, **names)

    @classmethod
    def coupled(cls, starts: Any, transitions: Any, emissions: Any) -> DynamicBayesianNetwork:
        """Return a coupled hidden Markov model; see :func:`tunbridge.temporal.dynamic.kinds.coupled`."""
        from tunbridge.temporal.dynamic import kinds

        return kinds.coupled(starts, transitions, emissions)

    @classmethod
    def input_output(
        cls, start: Any, transitions: Any, emissions: Any, inputs: Any, **names: Any
    ) -> DynamicBayesianNetwork:
        """Return an input–output model; see :func:`tunbridge.temporal.dynamic.kinds.input_output`."""
        from tunbridge.temporal.dynamic import kinds

        return kinds.input_output(start, transitions, emissions, inputs, **names)

    @classmethod
    def from_hmm(cls, model: Any, *, hidden: str = "state") -> DynamicBayesianNetwork:
        """Return a fitted HiddenMarkovModel as a network; see :func:`tunbridge.temporal.dynamic.kinds.from_hmm`."""
        from tunbridge.temporal.dynamic import kinds

        return kinds.from_hmm(model, hidden=hidden)

    def _set(
        self, first: BayesianNetwork, tables: tuple[ConditionalTable, ...], transition: BayesianNetwork, name: str
    ) -> None:
        self._first, self._tables, self._transition, self._name = first, tables, transition, name
        self._names = Names.of([cpt.variable for cpt in tables])

    # Contents

    @property
    def name(self) -> str:
        """The name; may be empty."""
        return self._name

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of a slice, in their order."""
        return tuple(cpt.variable for cpt in self._tables)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables of a slice."""
        return tuple(cpt.variable.name for cpt in self._tables)

    @property
    def cpts(self) -> Mapping[str, ConditionalTable]:
        """The table of each variable in slices after the first."""
        return {cpt.variable.name: cpt for cpt in self._tables}

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """The arcs as pairs (parent, child); a parent in an earlier slice is written ``"Rain[t-1]"``."""
        return tuple((p.name, cpt.variable.name) for cpt in self._tables for p in cpt.parents)

    @cached_property
    def _lagged(self) -> list[Lagged]:
        """The parents in earlier slices, each once, in the order of the variables."""
        nodes = {node_of(p.name, self.nodes) for cpt in self._tables for p in cpt.parents}
        return sorted((n for n in nodes if n.lag), key=lambda n: (self.nodes.index(n.name), n.lag))

    @property
    def order(self) -> int:
        """How many slices back the arcs reach at most."""
        return max((node.lag for node in self._lagged), default=0)

    @property
    def interface(self) -> tuple[str, ...]:
        """The variables with children in later slices: given these, the future does not depend on the past."""
        return tuple(dict.fromkeys(node.name for node in self._lagged))

    @property
    def lags(self) -> dict[str, int]:
        """The nodes of earlier slices in the transition, such as ``Rain[t-1]``, and how many slices back they are."""
        return {str(node): node.lag for node in self._lagged}

    @property
    def first(self) -> BayesianNetwork:
        """The network of slice 0."""
        return self._first

    @property
    def transition(self) -> BayesianNetwork:
        """The network of a later slice; nodes of earlier slices, such as ``Rain[t-1]``, are roots with any table."""
        return self._transition

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of all tables; a table that slice 0 shares is counted once."""
        later = {cpt.variable.name: cpt for cpt in self._tables}
        own = [cpt for name, cpt in self._first.cpts.items() if cpt != later[name]]
        return sum(cpt.n_parameters for cpt in (*self._tables, *own))

    def __repr__(self) -> str:
        between = sum(p.name not in self.nodes for cpt in self._tables for p in cpt.parents)
        inside = len(self.arcs) - between
        order = f", order {self.order}" if self.order > 1 else ""
        name = f" {self._name!r}" if self._name else ""
        sizes = (
            f"{counted(len(self.nodes), 'variable')}, {counted(inside, 'arc')} in a slice, {counted(between, 'arc')}"
        )
        return f"DynamicBayesianNetwork{name}: {sizes} between slices{order}"

    def _repr_svg_(self) -> str:
        nodes = [Node(name) for name in self._transition.nodes]
        return svg_of(drawn(nodes, lines_of(self._transition.dag), lags=self.lags), title=repr(self))

    def _repr_html_(self) -> str:
        rows: list[list[object]] = [
            [name, listed(cpt.variable.states or (), most=6) or "continuous", ", ".join(p.name for p in cpt.parents)]
            for name, cpt in self.cpts.items()
        ]
        table = html_grid(["variable", "states", "parents"], rows[:_SHOWN], caption=repr(self))
        return f"{self._repr_svg_()}<details><summary>variables</summary>{table}</details>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DynamicBayesianNetwork):
            return NotImplemented
        return self._first == other._first and self._tables == other._tables

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return DynamicBayesianNetwork._rebuilt, (self._first, self._tables, self._name)

    @classmethod
    def _rebuilt(cls, first: BayesianNetwork, tables: Sequence[ConditionalTable], name: str) -> DynamicBayesianNetwork:
        return cls.from_tables(first, tables, name=name)

    def unrolled(self, n_slices: int) -> BayesianNetwork:
        """Return the Bayesian network of slices 0 to n_slices − 1, whose nodes are called ``"Rain[0]"`` and so on.

        It can be written to any network format; questions about many slices are answered faster here.
        """
        check_integer("n_slices", n_slices, low=1)
        tables = unrolled_tables(self._first, self._tables, n_slices)
        return BayesianNetwork.from_tables(tables, name=self._name)

    def do(self, setting: Mapping[str, Any]) -> DynamicBayesianNetwork:
        """Return the network after an intervention in every slice (see :meth:`BayesianNetwork.do`).

        The argument ``do`` of the questions sets variables in some slices only.
        """
        if isinstance(setting, Mapping):
            for name in setting:
                find_variable(self._names.index, name, "an intervention")
        changed = self._transition.do(setting)
        tables = [changed.cpt(name) for name in self.nodes]
        return DynamicBayesianNetwork.from_tables(self._first.do(setting), tables, name=self._name)

    # Files

    def write(self, path: str | PathLike[str]) -> None:
        """Write the network to a native file (``.tb``); :func:`tunbridge.load` reads it.

        Other formats have no dynamic networks: ``net.unrolled(10).write("rain.bif")`` writes ten slices.
        """
        if Path(path).suffix not in ("", ".tb"):
            hint = "Other formats have no dynamic networks: net.unrolled(n_slices).write(path) writes some slices."
            raise DataError(f"a dynamic network must be written to a native file (.tb); got {str(path)!r}. {hint}")
        write_model(path, KIND, self.to_content())

    save = write  # as classifiers call it

    def to_content(self) -> dict[str, Any]:
        """Return the network as the content of a native file."""
        parts = [(net.name, tuple(net.cpts.values())) for net in (self._first, self._transition)]
        first, transition = (network_content(NetworkParts(name, cpts, {}, None)) for name, cpts in parts)
        return {"name": self._name, "variables": list(self.nodes), "first": first, "transition": transition}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> DynamicBayesianNetwork:
        """Return the network that the content of a native file describes."""
        nets = [network_parts(content[key]) for key in ("first", "transition")]
        later = {cpt.variable.name: cpt for cpt in nets[1].cpts}
        first = BayesianNetwork.from_tables(nets[0].cpts, name=nets[0].name)
        return cls.from_tables(first, [later[name] for name in content["variables"]], name=content["name"])

    @classmethod
    def load(cls, path: str | PathLike[str]) -> DynamicBayesianNetwork:
        """Return the network of a native file."""
        kind, content = read_model(path)
        if kind != KIND:
            raise FormatError(f"{str(path)!r} must hold a dynamic network; it holds a model of the kind {kind!r}.")
        with rebuilding(str(path), kind):
            return cls.from_content(content)

    # Questions

    def filter(
        self, evidence: Any, targets: Targets = None, *, do: Any = None, sequence: str | None = None,
        time: str | None = None, method: str = "auto", clusters: Sequence[Sequence[str]] | None = None,
        n_particles: int = 10_000, random_state: RandomState = None,
    ) -> Any:  # fmt: skip
        """Return the distribution of variables in each slice given the evidence up to that slice.

        Parameters
        ----------
        evidence : list of dict, list of lists of dict, or frame
            One sequence is a list with a dict for each slice (None or {} without evidence), whose findings are as in
            :meth:`BayesianNetwork.posterior`; or a frame with a row for each slice. Several sequences are a list of
            lists, or a frame with ``sequence``.
        targets : str or list of str, optional
            A variable, or a list of them for their joint distribution; default: every variable.
        do : mapping or list of mapping, optional
            Interventions: the states that variables are set to, in all slices or in each.
        sequence, time : str, optional
            The columns of a frame with the sequence of each row, and its time: rows are sorted by time, and times that
            are left out are slices without evidence.
        method : {"auto", "exact", "boyen-koller", "particle"}
            ``"auto"`` is exact where that fits into memory, and warns where it is not.
        clusters : list of list of str, optional
            For Boyen–Koller: the groups of variables that are kept together; default: each alone.
        n_particles, random_state : int, int or Generator
            For particles: their number, and the random seed.

        Returns
        -------
        SlicePosteriors, or dict of str to SlicePosteriors, or a list of these for several sequences
            A sequence with a Distribution for each slice, or a Mixture of a continuous variable. Without targets a
            dict with one for every variable.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence of a slice has probability zero; the message names it.
        MemoryForecastError
            If an exact answer would not fit into memory; nothing was allocated.
        """
        how = Method(method, clusters, n_particles, random_state)
        return self._answered(evidence, targets, Asked(sequence, time, do), how)

    def smooth(
        self, evidence: Any, targets: Targets = None, *, do: Any = None, sequence: str | None = None,
        time: str | None = None, method: str = "auto", clusters: Sequence[Sequence[str]] | None = None,
        n_particles: int = 10_000, random_state: RandomState = None,
    ) -> Any:  # fmt: skip
        """Return the distribution of variables in each slice given the evidence of all slices (see :meth:`filter`)."""
        how = Method(method, clusters, n_particles, random_state)
        return self._answered(evidence, targets, Asked(sequence, time, do), how, smooth=True)

    def fixed_lag(
        self, evidence: Any, targets: Targets = None, *, lag: int, do: Any = None, sequence: str | None = None,
        time: str | None = None, method: str = "auto", clusters: Sequence[Sequence[str]] | None = None,
    ) -> Any:  # fmt: skip
        """Return the distribution of variables in each slice given the evidence up to ``lag`` slices later.

        ``lag=0`` is filtering; the larger the lag, the nearer to smoothing. See :meth:`filter` for the parameters.
        """
        check_integer("lag", lag, low=0)
        return self._answered(evidence, targets, Asked(sequence, time, do), Method(method, clusters), lag=lag)

    def predict(
        self, evidence: Any = None, targets: Targets = None, *, steps: int = 1, do: Any = None,
        sequence: str | None = None, time: str | None = None, method: str = "auto",
        clusters: Sequence[Sequence[str]] | None = None, n_particles: int = 10_000, random_state: RandomState = None,
    ) -> Any:  # fmt: skip
        """Return the distribution of variables in the next ``steps`` slices after the evidence (see :meth:`filter`).

        Interventions may concern these slices, too.
        """
        check_integer("steps", steps, low=1)
        how = Method(method, clusters, n_particles, random_state)
        found = self._answered(evidence, targets, Asked(sequence, time, do, None, steps), how)

        def last(each: Any) -> Any:
            return (
                {k: a[len(a) - steps :] for k, a in each.items()}
                if isinstance(each, dict)
                else each[len(each) - steps :]
            )

        return [last(each) for each in found] if isinstance(found, list) else last(found)

    def filter_proba(
        self, frame: Any, target: str, *, sequence: str | None = None, time: str | None = None,
        ignore_target: bool = True,
    ) -> np.ndarray:  # fmt: skip
        """Return the exact posterior of a variable for every row of a frame, given the rows up to it.

        Parameters
        ----------
        frame : any frame
            A row for each slice; columns are matched by name.
        target : str
            The variable.
        sequence, time : str, optional
            The columns with the sequence of each row and its time.
        ignore_target : bool
            Whether the column of the target, if the frame has it, is no evidence.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            In the order of the rows; of a continuous variable mean and standard deviation.
        """
        return self._rows_answered(
            frame, target, Asked(sequence, time, None, target if ignore_target else None), smooth=False
        )

    def smooth_proba(
        self, frame: Any, target: str, *, sequence: str | None = None, time: str | None = None,
        ignore_target: bool = True,
    ) -> np.ndarray:  # fmt: skip
        """Return the exact posterior of a variable for every row, given all rows of its sequence (see above)."""
        return self._rows_answered(
            frame, target, Asked(sequence, time, None, target if ignore_target else None), smooth=True
        )

    def log_likelihood(
        self, data: Any, *, do: Any = None, sequence: str | None = None, time: str | None = None, method: str = "auto",
        clusters: Sequence[Sequence[str]] | None = None, n_particles: int = 10_000, random_state: RandomState = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the natural logarithm of the probability of each sequence, −∞ where it is impossible.

        Missing values are summed out. See :meth:`filter` for the parameters.
        """
        found = read_findings(self._names, data, Asked(sequence, time, do))
        if self._is_linear:
            return kalman(self._linear, found, strict=False).log_likelihood
        how = Method(method, clusters, n_particles, random_state)
        chosen, found = self._ready(found, how, 1)
        if chosen == "particle":
            return np.array([each.log_likelihood for each in self._particles(found, [], how, False)])
        return slices.log_probabilities(self._model, found, self._clusters(chosen, how))

    def log_probability(self, evidence: Any, *, do: Any = None) -> float:
        """Return the natural logarithm of the probability of one sequence, −∞ if it is impossible."""
        found = self.log_likelihood(evidence, do=do)
        if len(found) != 1:
            hint = "log_likelihood takes several."
            raise DataError(f"evidence must be one sequence; got {len(found)}. {hint}", parameter="evidence")
        return float(found[0])

    def most_probable(
        self, evidence: Any, *, do: Any = None, sequence: str | None = None, time: str | None = None
    ) -> Any:
        """Return the jointly most probable states of all categorical variables in all slices.

        Returns
        -------
        MostProbableSlices, or a list of them for several sequences
            A sequence with a dict for each slice. Of a network of continuous variables it has the values of highest
            density; next to categorical variables, observed numbers are evidence and missing ones are left out.
        """
        found = read_findings(self._names, evidence, Asked(sequence, time, do))
        if self._is_linear:
            return self._of_sequences(found, self._most_probable_values(found))
        _, found = self._ready(found, Method("exact"), 1)
        codes, logs = slices.most_probable(self._model, found)
        total = slices.log_probabilities(self._model, found)
        made = []
        for s, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
            columns = {}
            for v in (v for v in self.variables if v.is_categorical):
                states = v.states or ()
                columns[v.name] = [states[c] for c in codes[begin:end, self._names.index[v.name]].tolist()]
            made.append(MostProbableSlices(columns, float(logs[s]), float(total[s])))
        return self._of_sequences(found, made)

    def _most_probable_values(self, found: Findings) -> list[MostProbableSlices]:
        """Return the conditional means; the probability of single values is not defined."""
        moments = kalman(self._linear, found, smooth=True)
        made = []
        for s, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
            columns = {n: moments.means[begin:end, self._names.index[n]].tolist() for n in self.nodes}
            made.append(MostProbableSlices(columns, math.nan, float(moments.log_likelihood[s])))
        return made

    def sample(
        self, n_slices: int, n_sequences: int = 1, *, random_state: RandomState = None, sequence: str = "sequence",
        time: str = "time",
    ) -> Table:  # fmt: skip
        """Return sequences sampled from the network, a row for each slice, with columns for the sequence and the time.

        Examples
        --------
        >>> import tunbridge as tb
        >>> from tunbridge.temporal.dynamic import DynamicBayesianNetwork
        >>> walk = DynamicBayesianNetwork(
        ...     {"x": None}, arcs=[("x[t-1]", "x")], first={"x": {"variances": 1.0}},
        ...     cpts={"x": {"coefficients": [1.0], "variances": 0.5}},
        ... )
        >>> walk.sample(3, 2, random_state=0).names
        ('sequence', 'time', 'x')
        """
        check_integer("n_slices", n_slices, low=1)
        check_integer("n_sequences", n_sequences, low=1)
        if clash := [c for c in (sequence, time) if c in self.nodes]:
            raise DataError(f"the columns of sequence and time must not be variables; got {listed(clash)}.")
        size = 16.0 * n_slices * n_sequences * len(self.nodes)
        check_memory("the sampled sequences", size, ways_out="Sample fewer at once.")
        rng = np.random.default_rng(entropy_of(random_state))
        history: approximate.History = []
        values = np.empty((len(self.nodes), n_sequences, n_slices))
        for t in range(n_slices):
            now, _ = approximate.draw_slice(self._drawing, history, rng, (n_sequences,))
            values[:, :, t] = now
            history = [*history, now][-self._drawing.order :]
        return self._as_table(values.reshape(len(self.nodes), -1), n_slices, n_sequences, (sequence, time))

    def _as_table(self, values: np.ndarray, n_slices: int, n_sequences: int, names: tuple[str, str]) -> Table:
        places = (np.repeat(np.arange(n_sequences), n_slices), np.tile(np.arange(n_slices), n_sequences))
        columns = []
        for name, at in zip(names, places, strict=True):
            variable = Variable(name)
            columns.append(Column(variable, at.astype(float), natural_type(variable)))
        for v in self.variables:
            own = values[self._names.index[v.name]]
            if v.is_categorical:
                columns.append(Column(v, own.astype(code_type(v.n_states)), natural_type(v)))
            else:
                columns.append(Column(v, np.ascontiguousarray(own), natural_type(v)))
        return Table.of(columns)

    def stream(self) -> Any:
        """Return a filter that takes one slice after another and keeps only the last one (see :class:`SliceStream`)."""
        from tunbridge.temporal.dynamic.streams import SliceStream

        return SliceStream(self)

    # How answers are made

    @cached_property
    def _model(self) -> slices.SliceModel:
        return slices.compile_slices(self._names, self._first, self._tables)

    @cached_property
    def _linear(self) -> LinearModel:
        return compile_linear(self._names, self._first, self._tables)

    @cached_property
    def _drawing(self) -> approximate.Drawing:
        return approximate.compile_drawing(self._names, self._first, self._tables)

    @property
    def _is_linear(self) -> bool:
        """Whether all variables are continuous."""
        return not self._names.n_categorical

    def _check_categorical(self, what: str) -> None:
        numbers = [v.name for v in self.variables if v.is_continuous]
        if numbers:
            hint = "Discretise first (tb.discretise)."
            raise DataError(
                f"{what} must have a network of categorical variables; continuous: {listed(numbers)}. {hint}"
            )

    def _ready(
        self, found: Findings, how: Method, n_copies: int, questions: Sequence[Sequence[int]] = ()
    ) -> tuple[str, Findings]:
        """Return the method, and the findings as it needs them: observed numbers as densities."""
        if self._names.n_categorical == len(self.nodes):
            return approximate.chosen_method(self._model, found, how.method, n_copies), found
        check_choice("method", how.method, approximate.METHODS)
        seen = None if how.method == "particle" else absorbed(self._names, self._numbers, found, questions)
        if seen is not None:
            return approximate.chosen_method(self._model, seen, how.method, n_copies), seen
        if how.method not in ("auto", "particle"):
            hint = "Where numbers that others depend on are not observed, only method='particle' is possible."
            raise DataError(f"method must be 'auto' or 'particle'; got {how.method!r}. {hint}", parameter="method")
        return "particle", found

    @cached_property
    def _numbers(self) -> Any:
        return number_tables(self._model, self._first, self._tables)

    def _clusters(self, chosen: str, how: Method) -> tuple[slices.Cluster, ...] | None:
        return None if chosen == "exact" else approximate.as_clusters(self._model, how.clusters)

    def _questions(self, targets: Targets) -> dict[str | None, tuple[int, ...]]:
        """Return the numbers of the variables of each answer, by the name of the answer (None: the only one)."""
        if targets is None:
            return {name: (self._names.index[name],) for name in self.nodes}
        names = [targets] if isinstance(targets, str) else list(targets)
        numbers = tuple(find_variable(self._names.index, name, "targets") for name in names)
        if not numbers or len(set(numbers)) < len(numbers):
            raise DataError(
                f"targets must be distinct variables, at least one; got {listed(names)}.", parameter="targets"
            )
        if len(numbers) > 1 and any(v >= self._names.n_categorical for v in numbers):
            hint = "Ask for each continuous variable by its name."
            raise DataError(f"a joint distribution must be of categorical variables; got {listed(names)}. {hint}")
        return {None: numbers}

    def _answered(
        self, evidence: Any, targets: Targets, asked: Asked, how: Method, *, smooth: bool = False,
        lag: int | None = None,
    ) -> Any:  # fmt: skip
        found = read_findings(self._names, evidence, asked)
        questions = self._questions(targets)
        made = list(self._by_sequence(found, questions, how, smooth, lag))
        return self._of_sequences(found, [each.get(None, each) for each in made])

    @staticmethod
    def _of_sequences(found: Findings, made: list[Any]) -> Any:
        return made[0] if found.is_one else made

    def _by_sequence(
        self, found: Findings, questions: Mapping[Any, tuple[int, ...]], how: Method, smooth: bool, lag: int | None
    ) -> Iterator[dict[Any, SlicePosteriors]]:
        """Yield the answers of each sequence."""
        arrays, logs, chosen = self._arrays(found, questions, how, smooth, lag)
        variables = {key: tuple(self._names.variables[v] for v in own) for key, own in questions.items()}
        for s, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
            made = {}
            for key, (array, errors, effective) in arrays.items():
                own = [None if a is None else a[begin:end] for a in (errors, effective)]
                log = float(logs[s])
                made[key] = SlicePosteriors(variables[key], array[begin:end], log, chosen, own[0], own[1])
            yield made

    def _arrays(
        self, found: Findings, questions: Mapping[Any, tuple[int, ...]], how: Method, smooth: bool, lag: int | None
    ) -> tuple[dict[Any, tuple[np.ndarray, Any, Any]], np.ndarray, str]:
        """Return the answers to questions for all slices, ln P(evidence) of each sequence, and the method."""
        if self._is_linear:
            if lag is not None or how.method not in ("auto", "exact", "particle"):
                raise DataError(
                    "a network of continuous variables must be filtered or smoothed, by method='exact' or 'particle'."
                )
            if how.method != "particle":
                moments = kalman(self._linear, found, smooth=smooth)
                pick = {
                    k: np.stack([moments.means[:, v], moments.covariances[:, v, v]], axis=1)
                    for k, (v,) in questions.items()
                }
                return {k: (a, None, None) for k, a in pick.items()}, moments.log_likelihood, "exact"
        chosen, found = self._ready(found, how, 3 if smooth or lag else 1, list(questions.values()))
        if chosen == "particle":
            return self._particle_arrays(found, questions, how, smooth, lag)
        made = slices.messages(self._model, found, smooth=smooth, clusters=self._clusters(chosen, how))
        if lag is not None:
            made = made._replace(rho=slices.lagged_rho(self._model, found, made, lag))
        arrays = {key: (self._posterior(found, made, own), None, None) for key, own in questions.items()}
        return arrays, made.log_likelihood, chosen

    def _posterior(self, found: Findings, made: slices.Messages, own: tuple[int, ...]) -> np.ndarray:
        """Return the answer to one question for all slices."""
        if own[0] >= self._names.n_categorical:
            return number_moments(self._model, self._numbers, found, made, own[0])
        return slices.marginals(self._model, found, made, own)

    def _particles(
        self, found: Findings, asked: Sequence[Sequence[int]], how: Method, smooth: bool
    ) -> Iterator[approximate.Estimates]:
        """Yield the estimates of each sequence."""
        seeds = np.random.SeedSequence(entropy_of(how.random_state)).spawn(len(found.offsets) - 1)
        for s, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
            own = found._replace(
                rows=found.rows[begin:end], values=found.values[begin:end], offsets=np.array([0, end - begin])
            )
            yield approximate.particles(
                self._drawing, self._names, own, asked, smooth=smooth, n_particles=how.n_particles,
                random_state=np.random.default_rng(seeds[s]),
            )  # fmt: skip

    def _particle_arrays(
        self, found: Findings, questions: Mapping[Any, tuple[int, ...]], how: Method, smooth: bool, lag: int | None
    ) -> tuple[dict[Any, tuple[np.ndarray, Any, Any]], np.ndarray, str]:
        if lag is not None:
            raise DataError("fixed_lag must be exact or by method='boyen-koller'; particles filter and smooth.")
        made = list(self._particles(found, list(questions.values()), how, smooth))
        effective, weights = (np.concatenate([getattr(each, a) for each in made]) for a in ("effective", "weights"))
        arrays = {}
        for n, (key, own) in enumerate(questions.items()):
            whole = np.concatenate([each.answers[n] for each in made])
            middle, errors = approximate.combined(whole, weights, self._names.variables[own[0]].is_continuous)
            arrays[key] = (middle, errors, effective)
        return arrays, np.array([each.log_likelihood for each in made]), "particle"

    def _rows_answered(self, frame: Any, target: str, asked: Asked, *, smooth: bool) -> np.ndarray:
        if isinstance(frame, list | tuple):
            raise DataError(f"the data must be a frame; got {shortened(repr(frame))}. filter and smooth take lists.")
        v = find_variable(self._names.index, target, "target")
        found = read_findings(self._names, frame, asked)
        arrays, _, _ = self._arrays(found, {None: (v,)}, Method("exact"), smooth, None)
        assert found.places is not None
        known = found.places >= 0
        out = np.empty_like(arrays[None][0][known])
        out[found.places[known]] = arrays[None][0][known]
        if self._names.variables[v].is_continuous:
            out[:, 1] = np.sqrt(np.maximum(out[:, 1], 0.0))
        return out

    def with_tables(self, first: BayesianNetwork, tables: Sequence[ConditionalTable]) -> DynamicBayesianNetwork:
        """Return the network of the same variables with other tables, known to fit."""
        other = object.__new__(DynamicBayesianNetwork)
        other._set(first, tuple(tables), with_placeholders(tables, self._name), self._name)
        return other
