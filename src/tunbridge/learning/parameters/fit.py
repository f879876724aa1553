"""The parameters of a given graph from data.

Each row of a conditional table is estimated from the rows of data in which the parents have that configuration,

    P(k | j) = (n_jk + a_k) / (n_j + a),

with pseudo-counts a_k so that unseen states are not impossible. A family whose dense table would be larger than the
data is stored sparsely: the configurations that never occur share one row. With missing values the tables maximise the
likelihood of the observed values (EM), or use the rows in which a family, or everything, is complete. A continuous
variable gets a linear regression on its continuous parents for each configuration of the categorical ones
(:mod:`tunbridge.learning.parameters.regression`).
"""

from __future__ import annotations

from typing import Literal

from tunbridge._core.check import check_choice, listed
from tunbridge._core.seeds import RandomState
from tunbridge.counts import Counter
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.missing.em import EM
from tunbridge.learning.missing.fitting import Fitter, Hidden, graph_and_table
from tunbridge.learning.missing.gradient import GradientAscent
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior, Rule, as_prior, tables_of
from tunbridge.learning.parameters.regression import check_arcs, gaussian_table
from tunbridge.learning.searches.problem import Progress
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable

Missing = Literal["em", "gradient", "available", "complete"] | Fitter
"""How to treat missing values."""


def fit_parameters(
    dag: DAG | BayesianNetwork,
    frame: object,
    prior: Prior = DEFAULT_PRIOR,
    *,
    missing: Missing = "em",
    hidden: Hidden | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> BayesianNetwork:
    """Return the network of a graph with parameters estimated from data.

    Parameters
    ----------
    dag : DAG or BayesianNetwork
        The graph; its nodes are columns of the frame. A network gives its graph and the states of its variables.
    frame : Table or any frame
        The data; other columns are ignored. Rows count by the weights of a Table.
    prior : MEstimate, Laplace, Dirichlet, BDeu, BDs, K2, BackOff, number or name
        The pseudo-counts of each row of a table; default: one, spread evenly over the states. A number is Laplace's γ,
        ``"mle"`` adds nothing (a configuration without rows then gets the uniform distribution); the other names are
        ``"laplace"``, ``"jeffreys"``, ``"bdeu"``, ``"bds"``, ``"k2"`` and ``"backoff"``.
    missing : {"em", "gradient", "available", "complete"}, EM or GradientAscent
        How to treat missing values. ``"em"`` maximises the likelihood of the observed values by EM, ``"gradient"`` by
        L-BFGS; if nothing is missing both are counting. ``"available"`` counts for each family the rows in which it is
        complete, ``"complete"`` only the rows without missing values. An object such as ``tb.EM(restarts=5)`` has
        options.
    hidden : mapping of str to int or list of states, optional
        Hidden nodes, with the number of their states or the states.
    random_state : int, Generator, optional
        The random seed for random starts, which hidden variables need.
    n_jobs : int, optional
        The number of threads; the result does not depend on it.
    progress : callable or False, optional
        A function that is called with a short text and the current objective. Default: a line in a terminal or
        notebook; ``False`` shows nothing.

    Returns
    -------
    BayesianNetwork
        Its tables carry their counts, for credible intervals and updates.

    Examples
    --------
    >>> import tunbridge as tb
    >>> net = tb.fit_parameters(tb.DAG(["wind", "play"], [("wind", "play")]), tb.datasets.play_tennis(), "mle")
    >>> print(net.cpt("play"))
    play given wind
    wind    no    yes
    Strong  0.5   0.5
    Weak    0.25  0.75
    """
    fitter = _as_fitter(missing)
    graph, table = graph_and_table(dag, frame, hidden)
    rule = as_prior(prior, graph.nodes)
    if missing == "available" and (unseen := [name for name, n in table.missing.items() if n == table.n_rows]):
        are = "is" if len(unseen) == 1 else "are"
        text = f"missing='available' must have values to count; {listed(unseen)} {are} never observed"
        raise DataError(f"{text}. Use missing='em'.", parameter="missing")
    if missing == "available" or (not table.missing and (fitter is None or fitter.counts_suffice)):
        return _counted(graph, table, rule, n_jobs).with_reading(table.reading)
    if fitter is not None:
        found = fitter.fit(graph, table, prior, random_state=random_state, n_jobs=n_jobs, progress=progress)
        return found.network.with_reading(table.reading)
    return _counted(graph, complete_cases(table), rule, n_jobs).with_reading(table.reading)


def _as_fitter(missing: Missing) -> Fitter | None:
    """Return the method that fits incomplete rows; None if they are left out."""
    if isinstance(missing, Fitter):
        return missing
    if isinstance(missing, type) and issubclass(missing, Fitter):
        rule = f"missing must be an object; got the class {missing.__name__}"
        raise DataError(f"{rule}. Write tb.{missing.__name__}().", parameter="missing")
    check_choice("missing", missing, ("em", "gradient", "available", "complete"))
    return {"em": EM(), "gradient": GradientAscent()}.get(missing)


def complete_cases(table: Table, purpose: str = "to count") -> Table:
    """Return the rows without missing values; raise when there are none."""
    whole = table.take(table.complete)
    if not whole.n_rows:
        rule = f"missing='complete' must leave rows {purpose}; every row has a missing value"
        raise DataError(f"{rule}. Use missing='em'.", parameter="missing")
    return whole


def _counted(graph: DAG, table: Table, rule: Rule, n_jobs: int | None) -> BayesianNetwork:
    """Return the network with tables from the rows in which each family is complete."""
    numbers = {v.name for v in table.variables if v.is_continuous}
    if numbers:
        check_arcs(graph, table)
    parents = {x: [graph.nodes[p] for p in some] for x, some in zip(graph.nodes, graph.parent_indices, strict=True)}
    families = [(x, parents[x]) for x in graph.nodes if x not in numbers]
    discrete = table.select([x for x, _ in families]) if numbers else table
    counts = Counter(discrete, n_jobs=n_jobs).families(families) if families else []
    found: dict[str, ConditionalTable] = {cpt.variable.name: cpt for cpt in tables_of(counts, rule)}
    found |= {x: gaussian_table(table, x, parents[x]) for x in numbers}
    return BayesianNetwork.of_valid([found[x] for x in graph.nodes])
