"""The tables of a given graph from the counts of a table.

Each row of a conditional table is estimated from the rows of data in which the parents have that configuration,

    P(k | j) = (n_jk + a_k) / (n_j + a),

with pseudo-counts a_k that keep what was never seen from being impossible. A family whose dense table would be larger
than the data is stored sparsely: the configurations that never occur share one row. Rows that miss a cell of a family
are left out of that family's counts, and of no other's.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tunbridge._check import listed, shortened
from tunbridge.counts import Counter, Counts
from tunbridge.data import Variable, as_table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, Laplace, MEstimate, SparseCPT
from tunbridge.probability.smoothing import Smoothing, as_smoothing, smooth

Prior = Smoothing | float | Literal["mle"]
"""A rule for pseudo-counts, Laplace's γ, or relative frequencies."""

DEFAULT_PRIOR = MEstimate(m=1.0)
"""One row's worth of the uniform distribution for every configuration of the parents."""


def fit_parameters(dag: DAG, frame: Any, prior: Prior = DEFAULT_PRIOR, *, n_jobs: int | None = None) -> BayesianNetwork:
    """Return the network of a graph with tables estimated from data.

    Parameters
    ----------
    dag : DAG
        The graph; its nodes are columns of the frame.
    frame : Table or any frame
        Categorical columns; others than the graph's are left aside.
    prior : MEstimate, Laplace, number or "mle"
        What is added to the counts of each row: unless given, one row's worth of the uniform distribution. A number is
        Laplace's γ, ``"mle"`` adds nothing (a configuration without rows then gets the uniform distribution).
    n_jobs : int, optional
        Threads.

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
    if not isinstance(dag, DAG):
        raise DataError(f"dag must be a DAG; got {shortened(repr(dag))}. learn_structure finds one.")
    rule = as_prior(prior)
    table = as_table(frame)
    columns = set(table.names)
    absent = [node for node in dag.nodes if node not in columns]
    if absent:
        raise DataError(f"the graph's nodes must be columns of the table; got none for {listed(absent)}.")
    counter = Counter(table.select(dag.nodes), n_jobs=n_jobs)
    families = [(node, dag.parents(node)) for node in dag.nodes]
    tables = [_table_of(counts, rule) for counts in counter.families(families)]
    return BayesianNetwork.from_tables(tables)


def as_prior(prior: Prior) -> Smoothing:
    """Return the rule that a prior stands for."""
    if isinstance(prior, str):
        if prior != "mle":
            raise DataError(f"prior must be 'mle', a number (Laplace's γ), MEstimate or Laplace; got {prior!r}.")
        return Laplace(0.0)
    return as_smoothing(prior, "prior")


def _table_of(counts: Counts, rule: Smoothing) -> ConditionalTable:
    """Return the table of a family from its counts."""
    child, parents = counts.child, counts.parents
    if not child.n_states:
        raise DataError(
            f"every column must have a state; {child.name!r} holds nothing but missing cells. Leave it out."
        )
    n = counts.table.astype(np.float64)
    raised = n + rule.pseudo_counts(child, rule.guess(child, n.sum(axis=0)))
    rows = smooth(n, rule, child)
    if counts.configurations is None:
        shape = (*(p.n_states for p in parents), child.n_states)
        return CPT._trusted(child, parents, rows.reshape(shape), _known(raised).reshape(shape))
    return SparseCPT.from_codes(
        child, parents, counts.configurations, rows, default=_unseen(rule, child, n), counts=_known(raised)
    )


def _known(counts: np.ndarray) -> np.ndarray:
    """Return Dirichlet counts, none of them zero in a whole row, for which there is no distribution."""
    return np.where(counts.sum(axis=1, keepdims=True) > 0, counts, 1.0)


def _unseen(rule: Smoothing, child: Variable, n: np.ndarray) -> np.ndarray:
    """Return the row of configurations that never occur."""
    return smooth(np.zeros(child.n_states), rule, child, n.sum(axis=0))
