"""pyAgrum's side: the same network, and its two exact engines.

Networks are handed over through its API, variables and states as numbers: it then has the numbers that we read, also
of files whose names it cannot read, and the same numbering.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tunbridge as tb

try:
    import pyagrum
except ImportError:
    pyagrum = None

ENGINES = ("LazyPropagation", "ShaferShenoyInference") if pyagrum is not None else ()
ABSENT = "pyagrum is not installed"


def agrum_network(cpts: Sequence[tb.ConditionalTable]) -> Any:
    """Return the network of these tables; node i is the variable of table i."""
    net, number = pyagrum.BayesNet(), {cpt.variable.name: i for i, cpt in enumerate(cpts)}
    for i, cpt in enumerate(cpts):
        net.add(pyagrum.LabelizedVariable(f"v{i}", "", [f"s{k}" for k in range(cpt.variable.n_states)]))
    for i, cpt in enumerate(cpts):
        for parent in cpt.parents:
            net.addArc(number[parent.name], i)
    for i, cpt in enumerate(cpts):
        n_parents = len(cpt.parents)
        first_is_fastest = [*reversed(range(n_parents)), n_parents]  # among the parents, behind the variable itself
        net.cpt(i).fillWith(np.transpose(cpt.table(), first_is_fastest).ravel().tolist())
    return net


def agrum_engine(kind: str, net: Any) -> Any:
    return getattr(pyagrum, kind)(net)


def all_posteriors(engine: Any, findings: Mapping[int, int], n: int) -> list[Any]:
    """Return the posterior of each of n nodes given the states of some, all by number."""
    engine.setEvidence(findings)
    engine.makeInference()
    return [engine.posterior(i) for i in range(n)]
