"""Arcs and tables of a dynamic network in any of the accepted forms, checked once.

The end of an arc names a variable and a slice: ``"Rain[t-1]"`` is Rain one slice earlier, ``"Rain[t]"`` and plain
``"Rain"`` are Rain in the same slice, and ``"Rain'"`` is Rain in the new slice where plain ``"Rain"`` at the other end
is the one before. Only the difference counts: ``("Rain[t]", "Rain[t+1]")`` is the arc ``("Rain[t-1]", "Rain")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.graph import DAG
from tunbridge.network import BayesianNetwork
from tunbridge.network.building import GivenTables, as_tables
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian, as_cpt

_SLICE = re.compile(r"(.+)\[t\s*([+-]\s*\d+)?\]", re.DOTALL)
_HIGHEST = 64


class Node(NamedTuple):
    """A variable, and how many slices before the present one it stands."""

    name: str
    lag: int

    def __str__(self) -> str:
        return f"{self.name}[t-{self.lag}]" if self.lag else self.name


Arc = tuple[Node, str]
"""A parent in this slice or an earlier one, and its child in this slice."""


def node_of(text: object, known: Iterable[str]) -> Node:
    """Return the node that a text such as ``"Rain[t-1]"`` or ``"Rain"`` names; raise unless it is one.

    Examples
    --------
    >>> node_of("Rain[t-2]", ["Rain"])
    Node(name='Rain', lag=2)
    """
    name, offset, _ = _end(text, known)
    return Node(name, -(offset or 0))


def _end(text: object, known: Iterable[str]) -> tuple[str, int | None, bool]:
    """Return the variable of an end of an arc, its slice (None: not given), and whether it is marked as new."""
    names = list(known)
    if text in names:
        return str(text), None, False
    if isinstance(text, str):
        found = _SLICE.fullmatch(text)
        if found and found[1] in names:
            return found[1], int((found[2] or "0").replace(" ", "")), False
        if text.endswith("'") and text[:-1] in names:
            return text[:-1], None, True
    found = _SLICE.fullmatch(str(text))
    hint = did_you_mean(found[1] if found else text, names)
    raise UnknownVariableError(
        f"arcs and tables must name variables, such as 'Rain', 'Rain[t-1]' or \"Rain'\"; got {text!r}. {hint}"
    )


def as_arcs(variables: Sequence[Variable], given: Any) -> list[Arc]:
    """Return the arcs, each once; raise unless they lead forwards in time and form no cycle inside a slice."""
    names = [v.name for v in variables]
    if isinstance(given, DAG):
        given = given.arcs
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise DataError(f"arcs must be a list of pairs (parent, child); got {shortened(repr(given))}.")
    arcs = [_arc(pair, names) for pair in given]
    twice = [f"{parent} → {child}" for i, (parent, child) in enumerate(arcs) if (parent, child) in arcs[:i]]
    if twice:
        raise DataError(f"arcs must be distinct; got {listed(twice)} twice.")
    DAG(names, [(parent.name, child) for parent, child in arcs if not parent.lag])
    return arcs


def _arc(pair: Any, names: list[str]) -> Arc:
    if isinstance(pair, str) or not isinstance(pair, Iterable) or len(ends := tuple(pair)) != 2:
        raise DataError(f"every arc must be a pair (parent, child); got {shortened(repr(pair))}.")
    (parent, at, is_new), (child, child_at, child_is_new) = (_end(end, names) for end in ends)
    if is_new != child_is_new:  # the other end, if plain, is the old slice
        at = -1 if at is None and not is_new else at
        child_at = -1 if child_at is None and not child_is_new else child_at
    lag = (child_at or 0) - (at or 0)
    if lag < 0:
        hint = "The parent must be in the same slice or an earlier one."
        raise DataError(f"arcs must not lead backwards in time; got {ends[0]!r} → {ends[1]!r}. {hint}")
    if lag > _HIGHEST:
        raise DataError(f"arcs must reach back at most {counted(_HIGHEST, 'slice')}; got {ends[0]!r} → {ends[1]!r}.")
    return Node(parent, lag), child


def transition_of(variables: Sequence[Variable], given_arcs: Any, cpts: GivenTables, name: str) -> BayesianNetwork:
    """Return the network of a slice given the slices before it, whose nodes are roots with any table."""
    arcs = as_arcs(variables, given_arcs)
    known = {v.name: v for v in variables}
    earlier = {str(p): known[p.name].renamed(str(p)) for p, _ in arcs if p.lag}
    if clash := [each for each in earlier if each in known]:
        raise DataError(f"no variable may be named like another one in an earlier slice; got {listed(clash)}.")
    graph = DAG([*earlier, *known], [(str(parent), child) for parent, child in arcs])
    given = {node_of(key, known).name: table for key, table in cpts.items()} if isinstance(cpts, Mapping) else cpts
    if isinstance(given, Mapping) and isinstance(cpts, Mapping) and len(given) < len(cpts):
        raise DataError("cpts must have one table for every variable; two keys name the same one.")
    if isinstance(given, Mapping):
        absent = [each for each in known if each not in given]
        if absent:
            as_tables(variables, DAG(list(known)), given)  # raises, and names them
        tables = [_table(known[each], graph, earlier | known, given[each]) for each in known]
    else:
        both = [placeholder(v) for v in earlier.values()]
        tables = list(as_tables([*earlier.values(), *variables], graph, [*both, *given]))[len(earlier) :]
    return with_placeholders(tables, name)


def _table(variable: Variable, graph: DAG, known: Mapping[str, Variable], given: object) -> ConditionalTable:
    """Return one table, by way of a network of its family alone."""
    parents = graph.parents(variable.name)
    family = [*(known[p] for p in parents), variable]
    only = DAG([v.name for v in family], [(p, variable.name) for p in parents])
    return as_tables(family, only, {**{p: placeholder(known[p]) for p in parents}, variable.name: given})[-1]


def with_placeholders(tables: Sequence[ConditionalTable], name: str) -> BayesianNetwork:
    """Return the network of the tables of a slice and of placeholders for the nodes of earlier slices."""
    own = {cpt.variable.name for cpt in tables}
    earlier = {p.name: p for cpt in tables for p in cpt.parents if p.name not in own}
    return BayesianNetwork.from_tables([*map(placeholder, earlier.values()), *tables], name=name)


def placeholder(variable: Variable) -> ConditionalTable:
    """Return a table for a variable that stands for the past: uniform, or a standard Gaussian."""
    if variable.is_categorical:
        return CPT(variable, (), np.full(variable.n_states, 1.0 / variable.n_states))
    return LinearGaussian(variable, (), 0.0, variances=1.0)


def first_of(variables: Sequence[Variable], tables: Mapping[str, ConditionalTable], given: Any) -> BayesianNetwork:
    """Return the network of slice 0: given as a whole, or the tables of the transition with some that differ."""
    if isinstance(given, BayesianNetwork):
        if {v.name: v for v in given.variables} != {v.name: v for v in variables}:
            hint = f"It must have {listed(v.name for v in variables)}."
            raise DataError(f"the first slice must have the variables of a slice; got {listed(given.nodes)}. {hint}")
        return given
    known = {v.name: v for v in variables}
    if given is not None and not isinstance(given, Mapping):
        rule = "a dict from variable to its table in slice 0, or a BayesianNetwork"
        raise DataError(f"first must be {rule}; got {shortened(repr(given))}.", parameter="first")
    named = {node_of(key, known).name: table for key, table in (given or {}).items()}
    absent = [n for n in known if n not in named and any(p.name not in known for p in tables[n].parents)]
    if absent:
        has, hint = "has" if len(absent) == 1 else "have", "There is nothing before slice 0."
        rule = "first must have a table for every variable with parents in earlier slices"
        raise DataError(f"{rule}; {listed(absent)} {has} none. {hint}", parameter="first")
    return BayesianNetwork.from_tables([_first_table(known[n], tables[n], known, named.get(n)) for n in known])


def _first_table(
    variable: Variable, later: ConditionalTable, known: Mapping[str, Variable], given: Any
) -> ConditionalTable:
    if given is None or isinstance(given, ConditionalTable):
        return later if given is None else as_cpt(variable, given.parents, given) if variable.is_categorical else given
    graph = DAG(list(known), [(p.name, variable.name) for p in later.parents if p.name in known])
    return _table(variable, graph, known, given)


# Other variables in a table


def renamed(cpt: ConditionalTable, name: str, parents: Sequence[str]) -> ConditionalTable:
    """Return the same table under other names; parents that get the same name become one.

    Examples
    --------
    >>> a, b = Variable("A", [0, 1]), Variable("B", [0, 1])
    >>> renamed(CPT(b, [a], [[0.5, 0.5], [0.2, 0.8]]), "B[1]", ["A[0]"])
    CPT('B[1]' | 'A[0]': 2 rows of 2 states)
    """
    variable, family = cpt.variable.renamed(name), [p.renamed(n) for p, n in zip(cpt.parents, parents, strict=True)]
    if len(set(parents)) < len(parents):
        return _joined(cpt, variable, family)
    other = object.__new__(type(cpt))
    other.__dict__.update(cpt.__dict__, variable=variable, parents=tuple(family))
    if isinstance(cpt, LinearGaussian):
        other.__dict__.update(discrete_parents=tuple(p for p in family if p.is_categorical))
        other.__dict__.update(continuous_parents=tuple(p for p in family if p.is_continuous))
    return other


def _joined(cpt: ConditionalTable, variable: Variable, family: list[Variable]) -> ConditionalTable:
    """Return the table in which parents of one name are one: its rows where they agree, coefficients added."""
    kept = list({p.name: p for p in family}.values())
    places = [kept.index(p) for p in family]
    if not isinstance(cpt, LinearGaussian):
        table = np.einsum(cpt.table(), [*places, len(kept)], [*range(len(kept)), len(kept)])
        return CPT.of_valid(variable, tuple(kept), np.array(table, order="C"))
    at = [i for i, p in zip(places, family, strict=True) if p.is_categorical]
    axes = sorted(set(at))
    arrays = [np.einsum(a, at, axes) for a in (cpt.intercepts, cpt.variances)]
    end = len(kept)
    slopes = np.einsum(cpt.coefficients, [*at, end], [*axes, end])
    numbers = [p.name for p in kept if p.is_continuous]
    adding = np.array([[p.name == n for n in numbers] for p in family if p.is_continuous], float).reshape(
        -1, len(numbers)
    )
    return LinearGaussian(variable, kept, arrays[0], slopes @ adding, arrays[1])


def unrolled_tables(
    first: BayesianNetwork, tables: Sequence[ConditionalTable], n_slices: int
) -> list[ConditionalTable]:
    """Return the tables of slices 0 to n_slices − 1; a parent before slice 0 is the one in slice 0."""
    known = [cpt.variable.name for cpt in tables]
    made = [
        renamed(cpt, f"{cpt.variable.name}[0]", [f"{p.name}[0]" for p in cpt.parents]) for cpt in first.cpts.values()
    ]
    nodes = {cpt.variable.name: [node_of(p.name, known) for p in cpt.parents] for cpt in tables}
    for t, cpt in product(range(1, n_slices), tables):
        parents = [f"{p.name}[{max(t - p.lag, 0)}]" for p in nodes[cpt.variable.name]]
        made.append(renamed(cpt, f"{cpt.variable.name}[{t}]", parents))
    return made
