"""A network as data for a page: its tables and its junction tree, from which ``engine.js`` computes posteriors.

The tables and the cliques are those of the library's own inference. The data are what JSON has:

========= ==============================================================================================
format    1
name      the name of the network
variables for each variable ``{"name": …, "states": [text, …], "parents": [number, …]}``
sizes     the number of states of each variable, then of each auxiliary variable
scopes    the variables of each table, by number; the last one changes fastest
values    all probabilities, exactly: a list of numbers or, if shorter, base64 text of little-endian doubles
cliques   the variables of each clique
up        for each clique the neighbour above it, which comes before it; −1 for the first of a connected part
========= ==============================================================================================

A noisy-MAX table with many parents is a chain of small tables over auxiliary variables, which have no names and are
always summed out. Other tables are written out.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np

from tunbridge._core.grid import spaced
from tunbridge.graph.drawing import state_texts
from tunbridge.inference import Engine
from tunbridge.inference.tree import Triangulation
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT

MOST_ENTRIES = 4_000_000
"""The largest junction tree for a page, by the entries of its cliques: 100 MB, and about 0.1 s a click."""


def engine_script() -> str:
    """Return the script ``engine.js``, whose function ``TunbridgeEngine(data)`` answers questions in a page.

    Examples
    --------
    >>> "const TunbridgeEngine =" in engine_script()
    True
    """
    return (resources.files("tunbridge.report") / "engine.js").read_text("utf-8")


def network_data(net: BayesianNetwork) -> tuple[dict[str, Any] | None, str]:
    """Return a network as data for ``engine.js``, or None and the reason why a page cannot compute its posteriors.

    Parameters
    ----------
    net : BayesianNetwork
        The network. Continuous variables, or a junction tree of more than :data:`MOST_ENTRIES` entries, are reasons.

    Returns
    -------
    data : dict or None
        The data, which ``json.dumps`` takes. Names may be any text, so ``<`` must be escaped in HTML.
    reason : str
        Why there are no data; empty if there are.

    Examples
    --------
    >>> import tunbridge as tb
    >>> data, _ = network_data(tb.example_network("burglary"))
    >>> data["variables"][2]
    {'name': 'Alarm', 'states': ['yes', 'no'], 'parents': [0, 1]}
    >>> data["cliques"]
    [[3, 2], [4, 2], [0, 2, 1]]
    >>> network_data(tb.learn_network({"height": [1.6, 1.7, 1.9, 1.8]}))
    (None, "'height' is continuous")
    """
    tables: list[ConditionalTable] = []
    for name, cpt in net.cpts.items():
        n_entries = cpt.n_configurations * cpt.variable.n_states
        if cpt.variable.is_continuous:
            return None, f"{name!r} is continuous"
        if n_entries > MOST_ENTRIES and not isinstance(cpt, NoisyMaxCPT):
            return None, f"the table of {name!r} is too large for a page ({_entries(n_entries)})"
        tables.append(CPT.of_valid(cpt.variable, cpt.parents, cpt.table()) if type(cpt) is SparseCPT else cpt)
    engine = Engine(tables)
    potentials, found = engine.potentials, engine.whole.found
    if found.n_entries > MOST_ENTRIES:
        return None, f"the junction tree of the network is too large for a page ({_entries(found.n_entries)})"
    cliques, up = _joined(_cliques(found), potentials.n_states.tolist())
    families = zip(net.variables, engine.parents, strict=True)
    return {
        "format": 1,
        "name": net.name,
        "variables": [{"name": v.name, "states": state_texts(v.states or ()), "parents": own} for v, own in families],
        "sizes": potentials.n_states.tolist(),
        "scopes": [s.tolist() for s in np.split(potentials.scope_vars, potentials.scope_start[1:-1]) if len(s)],
        "values": _values(potentials.tables),
        "cliques": cliques,
        "up": up,
    }, ""


def _entries(n: float) -> str:
    """Return a number of entries and the limit in words."""
    amount = f"{round(n):,}".replace(",", " ") if n < 1e10 else f"{n:.2g}"
    return f"{amount} entries; the limit is {spaced(MOST_ENTRIES)}"


def _values(tables: np.ndarray) -> list[float] | str:
    """Return probabilities as numbers or as base64 text, whichever is shorter in JSON."""
    numbers = [int(p) if p in (0.0, 1.0) else p for p in tables.tolist()]
    text = b64encode(tables.astype("<f8").tobytes()).decode()
    return numbers if len(json.dumps(numbers, separators=(",", ":"))) <= len(text) else text


def _cliques(found: Triangulation) -> list[list[int]]:
    """Return the largest cliques of an elimination, the variables of each in the order of their elimination.

    Eliminating a variable makes the clique of it and its neighbours, of which those of the first neighbour to be
    eliminated are part of the next clique on the way to the root. That one adds nothing if it has one variable less.
    """
    step = np.argsort(found.order)
    above = [np.sort(step[found.clique_nodes[low:high]]) for low, high in pairwise(found.clique_start.tolist())]
    parts = {int(some[0]) for some in above if len(some) and len(above[some[0]]) == len(some) - 1}
    return [found.order[[i, *some]].tolist() for i, some in enumerate(above) if i not in parts]


def _joined(cliques: Sequence[list[int]], n_states: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the cliques of a junction tree, and the place of the one above each, which comes before it; −1 for none.

    The tree is a spanning tree of the largest separators (Prim 1957), of equal ones those between small cliques, since
    a large clique with many neighbours costs much (Jensen and Jensen 1994).
    """
    holds = np.zeros((len(cliques), len(n_states)), bool)
    for c, clique in enumerate(cliques):
        holds[c, clique] = True
    sizes = np.array([math.prod(n_states[v] for v in clique) for clique in cliques], float)
    cost = sizes / (4.0 * sizes.max(initial=1.0))  # less than one variable for any two cliques
    gain, nearest, place = np.full(len(cliques), -1.0), np.full(len(cliques), -1), np.full(len(cliques) + 1, -1)
    for i in range(len(cliques)):
        c = int(np.where(place[:-1] < 0, gain, -np.inf).argmax())
        place[c] = i
        shared = holds[:, cliques[c]].sum(axis=1)
        weight = shared - cost - cost[c]
        is_nearer = (shared > 0) & (weight > gain) & (place[:-1] < 0)
        gain[is_nearer], nearest[is_nearer] = weight[is_nearer], c
    order = place[:-1].argsort()
    return [cliques[c] for c in order], place[nearest[order]].tolist()
