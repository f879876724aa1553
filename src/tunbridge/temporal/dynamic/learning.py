"""Learning dynamic networks from panels of sequences: parameters, structure, and which lags matter.

*Parameters.* In a lagged table every slice has its own values and, in further columns, those of earlier slices, as
``Rain[t-1]``. Where nothing is missing, the tables of the network are estimated from counts in it like those of any
network. A table that slice 0 shares with later slices is estimated from all of them. With missing values or hidden
variables EM maximises the likelihood: the expected count of a family is the sum over slices of its posterior

    n(x, parents) = Σ_t P(x_t, parents | e_0 … e_T),

which smoothing gives for all sequences at once.

*Structure.* The same searches and scores work on the lagged table, with earlier slices as roots and one tier before the
present slice (Friedman, Murphy, Russell 1998). Rows without a full past are left out.

*Strengths.* The bootstrap draws whole sequences with replacement, since slices of one sequence are not independent, and
counts how often an arc is learned.

References
----------
N. Friedman, K. Murphy, S. Russell (1998). Learning the structure of dynamic probabilistic networks. UAI 14, 139–147.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_integer, check_number, did_you_mean, listed, warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.counts.records import Counts
from tunbridge.data import Column, Table, Variable
from tunbridge.data.frames import frame_columns
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.parameters.fit import fit_parameters
from tunbridge.learning.parameters.priors import (
    DEFAULT_PRIOR,
    Prior,
    as_prior,
    depends_on_counts,
    pseudo_counts,
    table_of,
)
from tunbridge.learning.scores.discrete import Score
from tunbridge.learning.searches.problem import Search
from tunbridge.learning.structure import learn_structure
from tunbridge.network import BayesianNetwork
from tunbridge.network.building import as_variables
from tunbridge.probability import CPT, ConditionalTable
from tunbridge.temporal.dynamic import slices
from tunbridge.temporal.dynamic.building import Node, as_arcs, node_of, placeholder
from tunbridge.temporal.dynamic.evidence import Asked, Findings, read_findings, warn_of_others
from tunbridge.temporal.dynamic.network import DynamicBayesianNetwork
from tunbridge.temporal.panel import Layout, Panel, read_panel

_ROUNDING = 1e-9


# The lagged table


def read_slices(
    frame: Any, sequence: str | None, time: str | None, variables: Sequence[Variable] | None = None
) -> Panel:
    """Return the sequences of a frame, observed at regular times."""
    names = None if variables is None else [v for v in variables if v.name in frame_columns(frame)]
    panel = read_panel(frame, Layout(sequence, time), variables=names)
    if panel.gaps is not None:
        raise DataError(
            f"the times must be regular to learn the structure; {time!r} leaves some out. Add rows for these times and "
            "impute their values, or leave out time= if the rows are in order.",
            parameter="time",
        )
    return panel


def lagged_table(panel: Panel, lags: int, *, full: bool = True) -> Table:
    """Return a row for each slice, with the values of ``lags`` earlier slices in columns such as ``Rain[t-1]``.

    Parameters
    ----------
    panel : Panel
        The sequences.
    lags : int
        How many slices back.
    full : bool
        Whether to leave out slices whose past begins before slice 0; otherwise only slice 0 is left out, and what would
        be before slice 0 is as in slice 0.
    """
    place = np.arange(panel.table.n_rows) - np.repeat(panel.offsets[:-1], panel.lengths)
    rows = np.flatnonzero(place >= (max(lags, 1) if full else 1))
    check_memory("the lagged table", 8.0 * len(rows) * panel.table.n_columns * (lags + 1), ways_out="Use fewer lags.")
    columns = []
    for lag in range(lags, -1, -1):
        at = rows - np.minimum(lag, place[rows])
        for column in panel.table:
            variable = column.variable.renamed(str(Node(column.variable.name, lag)))
            columns.append(Column(variable, np.ascontiguousarray(column.values[at]), column.type))
    return Table.of(columns)


# Parameters


class DynamicEM(NamedTuple):
    """The options of EM, named as in :class:`tunbridge.EM`."""

    tolerance: float = 1e-6
    max_iterations: int = 500
    restarts: int = 0


def fit_dynamic(
    structure: DynamicBayesianNetwork | Iterable[Any], frame: Any, prior: Prior = DEFAULT_PRIOR, *,
    sequence: str | None = None, time: str | None = None, hidden: Mapping[str, Any] | None = None,
    tolerance: float = 1e-6, max_iterations: int = 500, restarts: int = 0, random_state: RandomState = None,
) -> DynamicBayesianNetwork:  # fmt: skip
    """Return a dynamic network with parameters estimated from sequences.

    Parameters
    ----------
    structure : DynamicBayesianNetwork, or list of arcs
        The network, or its arcs as pairs such as ``("Rain[t-1]", "Rain")`` over the columns of the frame.
    frame : any frame
        A row for each slice.
    prior : as for :func:`tunbridge.fit_parameters`
        The pseudo-counts of the tables.
    sequence, time : str, optional
        The columns with the sequence of each row and its time.
    hidden : mapping of str to int or list of states, optional
        Variables that are in no column, with the number of their states or the states.
    tolerance, max_iterations, restarts : float, int, int
        For EM, which missing values and hidden variables need: it stops when an iteration raises the objective by less
        than the tolerance per slice. It starts with the network's tables, those of arcs are random, as restarts are.
    random_state : int or numpy.random.Generator, optional
        The random seed.

    Returns
    -------
    DynamicBayesianNetwork

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.temporal.dynamic.learning import fit_dynamic
    >>> days = {"rain": ["no", "no", "yes", "yes", "no", "no"], "wet": ["no", "no", "yes", "yes", "yes", "no"]}
    >>> net = fit_dynamic([("rain[t-1]", "rain"), ("rain", "wet")], days, "mle")
    >>> print(net.cpts["rain"])
    rain given rain[t-1]
    rain[t-1]  no        yes
    no         0.666667  0.333333
    yes        0.5       0.5
    """
    is_network = isinstance(structure, DynamicBayesianNetwork)
    rng = np.random.default_rng(entropy_of(random_state))
    if isinstance(structure, DynamicBayesianNetwork):
        if hidden:
            raise DataError(
                "hidden must be used with arcs; a network has its hidden variables already.", parameter="hidden"
            )
        net = structure
    else:
        net = _from_arcs(structure, frame, sequence, time, hidden or {})
    columns = frame_columns(frame)
    observed = [name for name in net.nodes if name in columns]
    if not observed:
        hint = did_you_mean(net.nodes[0], columns)
        raise DataError(f"the data must have a column of the network; {listed(net.nodes)} are none. {hint}")
    if len(observed) == len(net.nodes):
        warn_of_others(columns, net.nodes, sequence, time)
        panel = read_panel(frame, Layout(sequence, time), variables=net.variables)
        if panel.gaps is None and not panel.table.missing:
            return _counted(net, panel, prior)
    numbers = [v.name for v in net.variables if v.is_continuous]
    if numbers:
        rule = "the data must be complete in a network with continuous variables"
        raise DataError(f"{rule}; continuous: {listed(numbers)}. Impute missing values first.")
    found = read_findings(net._names, frame, Asked(sequence, time))
    options = DynamicEM(check_number("tolerance", tolerance, low=0), max_iterations, restarts)
    check_integer("max_iterations", max_iterations, low=1)
    check_integer("restarts", restarts, low=0)
    start = net if is_network else _randomised(net, rng)
    return _expectation_maximisation(start, found, prior, options, rng)


def _from_arcs(
    given: Iterable[Any], frame: Any, sequence: str | None, time: str | None, hidden: Mapping[str, Any]
) -> DynamicBayesianNetwork:
    """Return a network of arcs with placeholders for tables."""
    table = read_panel(frame, Layout(sequence, time)).table
    extra = as_variables({n: list(range(s)) if isinstance(s, int) else s for n, s in hidden.items()})
    if clash := [v.name for v in extra if v.name in table]:
        raise DataError(f"hidden variables must not be columns; got {listed(clash)}.", parameter="hidden")
    variables = [*table.variables, *extra]
    return _bare(variables, given)


def _bare(variables: Sequence[Variable], given: Iterable[Any]) -> DynamicBayesianNetwork:
    """Return the network of a structure; its tables are uniform, or have coefficients of zero."""
    arcs = as_arcs(variables, given)
    known = {v.name: v for v in variables}
    first, later = [], []
    for v in variables:
        nodes = [parent for parent, child in arcs if child == v.name]
        later.append(_blank(v, [known[n.name].renamed(str(n)) for n in nodes]))
        first.append(_blank(v, [known[n.name] for n in nodes if not n.lag]))
    return DynamicBayesianNetwork.from_tables(BayesianNetwork.from_tables(first), later)


def _blank(variable: Variable, parents: list[Variable]) -> ConditionalTable:
    if not parents:
        return placeholder(variable)
    if variable.is_categorical:
        shape = (*(p.n_states for p in parents), variable.n_states)
        return CPT(variable, parents, np.full(shape, 1.0 / variable.n_states))
    from tunbridge.probability import LinearGaussian

    n = sum(p.is_continuous for p in parents)
    return LinearGaussian(variable, parents, 0.0, [0.0] * n if n else None, 1.0)


def _is_shared(net: DynamicBayesianNetwork, name: str) -> bool:
    """Return whether slice 0 has the same table as later slices: one without parents in earlier slices."""
    first, later = net.first.cpt(name), net.cpts[name]
    return first.parents == later.parents


def _counted(net: DynamicBayesianNetwork, panel: Panel, prior: Prior) -> DynamicBayesianNetwork:
    """Return the network with tables from counts."""
    begins = panel.offsets[:-1][panel.lengths > 0]
    later = lagged_table(panel, net.order, full=False)
    whole = fit_parameters(net.first.dag, panel.table, prior)
    start = fit_parameters(net.first.dag, panel.table.take(begins), prior) if len(begins) else whole
    moved = fit_parameters(net.transition.dag, later.select(net.transition.nodes), prior)
    shared = {name for name in net.nodes if _is_shared(net, name)}
    first = [(whole if name in shared else start).cpt(name) for name in net.nodes]
    tables = [(whole if name in shared else moved).cpt(name) for name in net.nodes]
    return net.with_tables(BayesianNetwork.from_tables(first), tables)


def _randomised(net: DynamicBayesianNetwork, rng: np.random.Generator) -> DynamicBayesianNetwork:
    """Return the network with random tables; what slice 0 shares stays shared."""

    def drawn(cpt: ConditionalTable) -> CPT:
        return CPT.of_valid(cpt.variable, cpt.parents, rng.dirichlet(np.ones(cpt.shape[-1]), cpt.shape[:-1]))

    tables = {name: drawn(cpt) for name, cpt in net.cpts.items()}
    first = [tables[n] if _is_shared(net, n) else drawn(net.first.cpt(n)) for n in net.nodes]
    return net.with_tables(BayesianNetwork.from_tables(first), [tables[n] for n in net.nodes])


def _expectation_maximisation(
    start: DynamicBayesianNetwork, found: Findings, prior: Prior, options: DynamicEM, rng: np.random.Generator
) -> DynamicBayesianNetwork:
    """Return the network with the largest objective of all starts."""
    rule = as_prior(prior, start.nodes)
    if depends_on_counts(rule):
        raise DataError(
            f"prior must not depend on the data where values are missing; got {prior!r}.", parameter="prior"
        )
    begins = [start, *(_randomised(start, rng) for _ in range(options.restarts))]
    runs = [_climb(net, found, rule, options) for net in begins]
    best, _, converged = max(runs, key=lambda run: run[1][-1])
    if not converged:
        hint = "Increase max_iterations or tolerance."
        warn_user(f"EM did not converge in {options.max_iterations} iterations. {hint}", ConvergenceWarning)
    return best


def _climb(
    net: DynamicBayesianNetwork, found: Findings, rule: Any, options: DynamicEM
) -> tuple[DynamicBayesianNetwork, list[float], bool]:
    """Return the network that EM reaches, the objective before every iteration, and whether it converged."""
    trace: list[float] = []
    least = options.tolerance * max(found.n_slices, 1)
    for _ in range(options.max_iterations):
        counts, log = expected_counts(net, found)
        trace.append(log + _penalty(net, counts, rule))
        if len(trace) > 1 and trace[-1] - trace[-2] <= max(least, _ROUNDING * abs(trace[-1])):
            return net, trace, True
        net = _estimated(net, counts, rule)
    return net, trace, False


def expected_counts(
    net: DynamicBayesianNetwork, found: Findings
) -> tuple[tuple[dict[str, np.ndarray], dict[str, np.ndarray]], float]:
    """Return the expected counts of the families of slice 0 and of later ones, and ln P(evidence).

    Each is an array with an axis for each parent and a last one for the variable.
    """
    model = net._model
    made = slices.messages(model, found, smooth=True)
    is_first = np.zeros(found.n_slices, bool)
    is_first[found.offsets[:-1][np.diff(found.offsets) > 0]] = True
    parts = []
    for families, at in ((model.first, np.flatnonzero(is_first)), (model.later, np.flatnonzero(~is_first))):
        own = {}
        for v, factor in families:
            own[model.names.variables[v].name] = slices.joint(model, found, made, factor.axes, at).sum(axis=0)
        parts.append(own)
    return (parts[0], parts[1]), float(made.log_likelihood.sum())


_Expected = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]


def _families(net: DynamicBayesianNetwork, expected: _Expected) -> Iterable[tuple[str, bool, ConditionalTable, Counts]]:
    """Yield every table that is estimated: its variable, whether it is that of later slices, and expected counts."""
    for name in net.nodes:
        later, first = net.cpts[name], net.first.cpt(name)
        shared = _is_shared(net, name)
        total = expected[1][name] + expected[0][name] if shared else expected[1][name]
        yield name, True, later, _as_counts(later, total)
        if not shared:
            yield name, False, first, _as_counts(first, expected[0][name])


def _as_counts(cpt: ConditionalTable, total: np.ndarray) -> Counts:
    return Counts(cpt.variable, cpt.parents, np.ascontiguousarray(total.reshape(-1, cpt.variable.n_states)))


def _penalty(net: DynamicBayesianNetwork, expected: _Expected, rule: Any) -> float:
    """Return the logarithm of the prior density of the tables, up to a constant."""
    total = 0.0
    for _, _, cpt, counts in _families(net, expected):
        added = pseudo_counts(rule, counts)
        logs = np.log(np.maximum(cpt.table().reshape(added.shape), 1e-300))
        total += float((added * logs)[added > 0.0].sum())
    return total


def _estimated(net: DynamicBayesianNetwork, expected: _Expected, rule: Any) -> DynamicBayesianNetwork:
    made: tuple[dict[str, ConditionalTable], dict[str, ConditionalTable]] = ({}, {})
    for name, is_later, _, counts in _families(net, expected):
        made[is_later][name] = table_of(counts, rule)
    first = [made[0].get(name) or made[1][name] for name in net.nodes]
    return net.with_tables(BayesianNetwork.from_tables(first), [made[1][name] for name in net.nodes])


# Structure


def learn_dynamic(
    frame: Any, *, sequence: str | None = None, time: str | None = None, lags: int = 1, score: str | Score = "bic",
    search: str | Search = "hill-climbing", intra_slice: bool = True, constraints: Constraints | None = None,
    prior: Prior = DEFAULT_PRIOR, max_parents: int | None = None, random_state: RandomState = None,
    n_jobs: int | None = None,
) -> DynamicBayesianNetwork:  # fmt: skip
    """Return a dynamic network learned from sequences: the structure by search, then the parameters.

    Parameters
    ----------
    frame : any frame
        A row for each slice, without missing values. Continuous columns become linear Gaussian variables.
    sequence, time : str, optional
        The columns with the sequence of each row and its time.
    lags : int
        How many slices back parents may be.
    score, search, max_parents, random_state, n_jobs
        As for :func:`tunbridge.learn_structure`.
    intra_slice : bool
        Whether there may be arcs inside a slice.
    constraints : Constraints, optional
        Further constraints; nodes of earlier slices are called ``"Rain[t-1]"``.
    prior : as for :func:`tunbridge.fit_parameters`
        The pseudo-counts of the tables.

    Returns
    -------
    DynamicBayesianNetwork

    Examples
    --------
    >>> from tunbridge.temporal.dynamic.learning import learn_dynamic
    >>> days = {"a": [0, 1] * 40, "b": [1, 0] * 40}
    >>> learn_dynamic(days, intra_slice=False, random_state=0).order
    1
    """
    check_integer("lags", lags, low=1)
    panel = read_slices(frame, sequence, time)
    arcs = _learned_arcs(panel, lagged_table(panel, lags), lags, score, search, intra_slice, constraints,
                         max_parents=max_parents, random_state=random_state, n_jobs=n_jobs)  # fmt: skip
    return _counted(_bare(panel.table.variables, arcs), panel, prior)


def _learned_arcs(
    panel: Panel, table: Table, lags: int, score: str | Score, search: str | Search, intra_slice: bool,
    constraints: Constraints | None, **options: Any,
) -> list[tuple[str, str]]:  # fmt: skip
    present = [v.name for v in panel.table.variables]
    past = [name for name in table.names if name not in present]
    if not table.n_rows:
        raise DataError(f"the data must have a sequence of more than {lags} slices; got none.", parameter="frame")
    if table.missing and isinstance(score, str) and score != "nal":
        raise DataError(
            f"the data must have no missing values to learn the structure; got some in {listed(table.missing)}. Use "
            "score='nal', which averages over complete rows, or impute them; fit_dynamic then uses EM for the tables."
        )
    rules = _in_time(past, present, intra_slice, constraints)
    return list(learn_structure(table, score, search, rules, **options).arcs)


def _in_time(past: list[str], present: list[str], intra_slice: bool, given: Constraints | None) -> Constraints:
    """Return the constraints that the past causes the present, and is not explained itself."""
    rules: dict[str, Any] = {"tiers": [past, present], "within_tiers": intra_slice, "roots": past}
    if given is None:
        return Constraints(**rules)
    if given.tiers or given.order:
        raise DataError("constraints must have no tiers or order: the slices are the tiers.", parameter="constraints")
    rules["roots"] = [*past, *given.roots]
    kept = {
        name: getattr(given, name)
        for name in ("required", "forbidden", "leaves", "parents", "max_parents", "arc_probability")
    }
    return Constraints(**rules, **kept)


# Which lags matter


@dataclass(frozen=True)
class LagStrength:
    """How often an arc was learned.

    Attributes
    ----------
    parent, lag, child : str, int, str
        The arc from the parent, ``lag`` slices back, to the child.
    strength : float
        The share of the bootstrap samples with it.
    """

    parent: str
    lag: int
    child: str
    strength: float


def lag_strengths(
    frame: Any, *, sequence: str, time: str | None = None, lags: int = 1, n_samples: int = 100,
    score: str | Score = "bic", search: str | Search = "hill-climbing", intra_slice: bool = True,
    constraints: Constraints | None = None, max_parents: int | None = None, random_state: RandomState = None,
    n_jobs: int | None = None,
) -> list[LagStrength]:  # fmt: skip
    """Return which variable matters to which, at which lag: the strength of every arc between slices or inside one.

    A summary in the sense of Granger: the past of one variable helps to predict another beyond that one's own past. It
    is no proof of a cause.

    Parameters
    ----------
    n_samples : int
        How many times whole sequences are drawn with replacement.
    frame, sequence, time, lags, score, search, intra_slice, constraints, max_parents, random_state, n_jobs
        As for :func:`learn_dynamic`.

    Returns
    -------
    list of LagStrength
        The strongest first.
    """
    check_integer("lags", lags, low=1)
    check_integer("n_samples", n_samples, low=1)
    panel = read_slices(frame, sequence, time)
    if panel.n_sequences < 2:
        hint = "Cut a long one into parts, and name them in a column."
        raise DataError(f"the data must have at least two sequences to draw from; got {panel.n_sequences}. {hint}")
    rng = np.random.default_rng(entropy_of(random_state))
    tally: dict[tuple[str, str], int] = {}
    for _ in range(n_samples):
        drawn = panel.take(rng.integers(0, panel.n_sequences, panel.n_sequences))
        arcs = _learned_arcs(drawn, lagged_table(drawn, lags), lags, score, search, intra_slice, constraints,
                             max_parents=max_parents, random_state=rng, n_jobs=n_jobs, progress=False)  # fmt: skip
        for arc in arcs:
            tally[arc] = tally.get(arc, 0) + 1
    names = [v.name for v in panel.table.variables]
    made = [LagStrength(*node_of(p, names), c, n / n_samples) for (p, c), n in tally.items()]
    return sorted(made, key=lambda s: (-s.strength, names.index(s.child), s.lag, names.index(s.parent)))
