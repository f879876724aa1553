"""The structure of a Bayesian network by minimum description length.

Hypothesis: the graph G and its tables. Each of the q (r − 1) free parameters of a family, r the states of the child and
q the configurations of its parents, is told to the precision that N rows deserve, ½ log₂ N bits, and the rows then
take −log₂ of the probability that the best tables give them:

    L(G) = ½ log₂ N Σ q (r − 1),        L(D | G) = −Σ n_jk log₂(n_jk / n_j).

Together they are −BIC(G)/ln 2: the graph with the shortest description is the one with the largest BIC, and the most
probable one under the prior P(G) ∝ 2^−L(G). The parents themselves can be told too: Lam and Bacchus take log₂ n bits
for each arc of a graph with n nodes.

References
----------
W. Lam, F. Bacchus (1994). Learning Bayesian belief networks: an approach based on the MDL principle. Computational
Intelligence 10, 269–293.

N. Friedman, M. Goldszmidt (1998). Learning Bayesian networks with local structure. In M. I. Jordan (ed.), Learning in
Graphical Models, MIT Press, 421–459.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tunbridge._check import listed, shortened
from tunbridge.data.table import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.structure import network_table, score_structure
from tunbridge.network import BayesianNetwork
from tunbridge.reasoning.description.code_lengths import naming_bits
from tunbridge.reasoning.description.shortest import DescriptionChoice, DescriptionLength, shortest_description


def structure_description(dag: DAG, frame: Any, *, arcs: bool = False, name: Hashable = "graph") -> DescriptionLength:
    """Return how many bits tell a network over a graph, and the rows once it is known.

    Parameters
    ----------
    dag : DAG
        A graph whose nodes are columns of the frame.
    frame : Table or any frame
        The data: categorical, without missing cells. Columns that are no nodes are left aside.
    arcs : bool
        Whether L(G) has log₂ n bits for each arc, n the number of nodes; without them the sum is −BIC/ln 2.
    name : hashable
        What the graph is called.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import structure_description
    >>> table, dag = tb.datasets.play_tennis(), tb.DAG(arcs=[("outlook", "play")])
    >>> found = structure_description(dag, table)
    >>> found
    graph: 9.51839 + 31.7932 = 41.3116 bits
    >>> round(-sum(tb.score_structure(dag, table, "bic").values()) / math.log(2), 4)
    41.3116
    """
    return _described(name, _checked_dag(name, dag), network_table(frame), arcs=arcs)


def choose_structure(dags: Any, frame: Any, *, arcs: bool = False) -> DescriptionChoice:
    """Return the choice between graphs over the same columns.

    Parameters
    ----------
    dags : mapping of name to DAG, or sequence of DAG
        The graphs, all with the same nodes; of a sequence they are called "graph 1", "graph 2", …
    frame, arcs :
        As for :func:`structure_description`.

    Returns
    -------
    DescriptionChoice
        Its ``model`` is the graph.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import choose_structure
    >>> graphs = {"an arc": tb.DAG(arcs=[("outlook", "play")]), "no arc": tb.DAG(["outlook", "play"])}
    >>> print(choose_structure(graphs, tb.datasets.play_tennis()))
    hypothesis  L(h)     L(D | h)  total    above
    no arc      5.71103  35.2477   40.9587  0
    an arc      9.51839  31.7932   41.3116  0.352857
    """
    named = _named(dags)
    table, nodes = network_table(frame), None
    for name, dag in named.items():
        nodes = set(dag.nodes) if nodes is None else nodes
        if set(dag.nodes) != nodes:
            differ = listed(sorted(set(dag.nodes) ^ nodes))
            raise DataError(f"the graphs must all have the same nodes; {name!r} and the first differ in {differ}.")
    return shortest_description([_described(name, dag, table, arcs=arcs) for name, dag in named.items()])


def _named(dags: Any) -> dict[Hashable, DAG]:
    if isinstance(dags, Sequence) and not isinstance(dags, str):
        dags = {f"graph {i}": dag for i, dag in enumerate(dags, start=1)}
    if not isinstance(dags, Mapping):
        raise DataError(f"dags must be graphs by name, or a list of graphs; got {shortened(repr(dags))}.")
    return {name: _checked_dag(name, dag) for name, dag in dags.items()}


def _checked_dag(name: Hashable, dag: Any) -> DAG:
    if not isinstance(dag, DAG):
        hint = " Use its .dag." if isinstance(dag, BayesianNetwork) else ""
        raise DataError(f"{name!r} must be a DAG; got {shortened(repr(dag))}.{hint}")
    return dag


def _described(name: Hashable, dag: DAG, table: Table, *, arcs: bool) -> DescriptionLength:
    log_likelihood = sum(score_structure(dag, table, "loglik").values())
    bic = sum(score_structure(dag, table, "bic").values())
    told = max(0.0, log_likelihood - bic) / math.log(2)
    arc_bits = len(dag.arcs) * naming_bits(len(dag.nodes)) if arcs else 0.0
    return DescriptionLength(name, told + arc_bits, max(0.0, -log_likelihood) / math.log(2), dag)
