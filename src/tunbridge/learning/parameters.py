"""The tables of a given graph from the counts of a table.

Each row of a conditional table is estimated from the rows of data in which the parents have that configuration,

    P(k | j) = (n_jk + a_k) / (n_j + a),

with pseudo-counts a_k that keep what was never seen from being impossible. A family whose dense table would be larger
than the data is stored sparsely: the configurations that never occur share one row. Where cells are missing, the tables
are those under which what was observed is most probable (:mod:`tunbridge.learning.em`), or, to compare with, those of
the rows in which a family, or everything, is complete. A continuous variable gets a linear regression on its continuous
parents for each configuration of the others (:mod:`tunbridge.learning.regression`).
"""

from __future__ import annotations

from typing import Any, Literal

from tunbridge._check import check_choice, listed
from tunbridge.counts.families import count_families
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.em import EM
from tunbridge.learning.fitting import Fitter, Hidden, graph_and_table
from tunbridge.learning.gradient import GradientAscent
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior, Rule, as_prior
from tunbridge.learning.progress import Report
from tunbridge.learning.regression import check_arcs, gaussian_table
from tunbridge.learning.tables import tables_of
from tunbridge.network import BayesianNetwork

Missing = Literal["em", "gradient", "available", "complete"] | Fitter
"""What is done about missing cells."""


def fit_parameters(
    dag: DAG | BayesianNetwork,
    frame: Any,
    prior: Prior = DEFAULT_PRIOR,
    *,
    missing: Missing = "em",
    hidden: Hidden | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> BayesianNetwork:
    """Return the network of a graph with tables estimated from data.

    Parameters
    ----------
    dag : DAG or BayesianNetwork
        The graph; its nodes are columns of the frame. A network gives its graph and the states of its variables.
    frame : Table or any frame
        The data; columns other than the graph's are left aside. Rows count by the weights of a Table.
    prior : MEstimate, Laplace, Dirichlet, BDeu, BDs, K2, BackOff, number or name
        What is added to the counts of each row: unless given, one row's worth of the uniform distribution. A number is
        Laplace's γ, ``"mle"`` adds nothing (a configuration without rows then gets the uniform distribution); the other
        names are ``"laplace"``, ``"jeffreys"``, ``"bdeu"``, ``"bds"``, ``"k2"`` and ``"backoff"``.
    missing : {"em", "gradient", "available", "complete"}, EM or GradientAscent
        What is done about missing cells. ``"em"`` finds the tables under which what was observed is most probable, and
        so does ``"gradient"`` in another way; where nothing is missing that is counting. ``"available"`` counts for
        each family the rows in which it is complete, ``"complete"`` for all of them the rows without a hole. An object
        such as ``tb.EM(restarts=5)`` has options.
    hidden : mapping of str to int or list of states, optional
        Nodes that are never observed, with the number of their states or the states.
    random_state : int, Generator, optional
        For random starts, which hidden variables need.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    progress : callable or False, optional
        Called with a word on what is going on and the present objective. Unless given, a line in the terminal shows
        it; ``False`` keeps silent.

    Returns
    -------
    BayesianNetwork
        Its tables carry their counts, so that credible intervals can be asked for.

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
    way = _as_fitter(missing)
    graph, table = graph_and_table(dag, frame, hidden)
    rule = as_prior(prior, graph.nodes)
    if missing == "available":
        _check_seen(table)
    if missing == "available" or (not table.missing and (way is None or way.counts_suffice)):
        return _counted(graph, table, rule, n_jobs)
    if way is not None:
        found = way.fit(graph, table, prior, random_state=random_state, n_jobs=n_jobs, progress=progress)
        return found.network
    return _counted(graph, complete_cases(table), rule, n_jobs)


def _as_fitter(missing: Missing) -> Fitter | None:
    """Return the way to deal with missing cells; None where rows with holes are left out."""
    if isinstance(missing, Fitter):
        return missing
    if isinstance(missing, type) and issubclass(missing, Fitter):
        raise DataError(f"missing must be an object; got the class {missing.__name__}. Write tb.{missing.__name__}().")
    check_choice("missing", missing, ("em", "gradient", "available", "complete"))
    return {"em": EM(), "gradient": GradientAscent()}.get(missing)


def _check_seen(table: Table) -> None:
    """Raise for a variable that no row shows: there is nothing to count."""
    unseen = [name for name, n in table.missing.items() if n == table.n_rows]
    if unseen:
        are = "is" if len(unseen) == 1 else "are"
        raise DataError(
            f"missing='available' must have cells to count; {listed(unseen)} {are} never observed. Use missing='em'."
        )


def complete_cases(table: Table, purpose: str = "to count") -> Table:
    """Return the rows without a hole; raise when there are none."""
    whole = table.take(table.complete)
    if not whole.n_rows:
        raise DataError(f"missing='complete' must leave rows {purpose}; every row has a hole. Use missing='em'.")
    return whole


def _counted(graph: DAG, table: Table, rule: Rule, n_jobs: int | None) -> BayesianNetwork:
    """Return the network with tables from the rows in which each family is complete."""
    numbers = {v.name for v in table.variables if v.is_continuous}
    if numbers:
        check_arcs(graph, table)
    categories = [node for node in graph.nodes if node not in numbers]
    families = [(node, graph.parents(node)) for node in categories]
    discrete = table.select(categories) if numbers else table
    tables = tables_of(count_families(discrete, families, n_jobs=n_jobs), rule) if categories else []
    found: dict[str, Any] = dict(zip(categories, tables, strict=True))
    found |= {node: gaussian_table(table, node, graph.parents(node)) for node in numbers}
    return BayesianNetwork.from_tables([found[node] for node in graph.nodes])
