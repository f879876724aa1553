"""What a file holds of a network: a name, the tables of its nodes in order, and properties.

Readers make such parts and writers take them, whatever the format; a network is built of them, and can be taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tunbridge._check import did_you_mean, listed
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.graph import walks
from tunbridge.graph.names import joined
from tunbridge.probability import ConditionalTable


@dataclass(frozen=True)
class NetworkParts:
    """The parts of a network, which fit each other.

    Parameters
    ----------
    name : str
        The network's name; none is "".
    cpts : iterable of ConditionalTable
        One for each node, in the order of the nodes. Parents are nodes too, and there is no cycle.
    properties : mapping of str to sequence of str, optional
        The properties of nodes by their names, and those of the network under "": lines of text that files carry along.
        They are kept as a mapping that cannot be changed.

    Examples
    --------
    >>> from tunbridge.probability import CPT
    >>> rain = Variable("Rain", ["no", "yes"])
    >>> parts = NetworkParts("lawn", [CPT(rain, [], [0.8, 0.2])], {"Rain": ["unit = day"]})
    >>> parts.variables, parts.properties["Rain"]
    ((Variable('Rain', ['no', 'yes']),), ('unit = day',))
    """

    name: str
    cpts: tuple[ConditionalTable, ...]
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpts", tuple(self.cpts))
        properties = {name: tuple(lines) for name, lines in self.properties.items() if lines}
        object.__setattr__(self, "properties", MappingProxyType(properties))
        if not isinstance(self.name, str):
            raise DataError(f"the name of a network must be a text; got {self.name!r}.")
        _check_tables(self.cpts)
        _check_properties(properties, {"", *(cpt.variable.name for cpt in self.cpts)})

    def __reduce__(self) -> tuple[Any, ...]:
        return NetworkParts, (self.name, self.cpts, dict(self.properties))  # the view cannot be pickled

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the nodes, in order."""
        return tuple(cpt.variable for cpt in self.cpts)


def find_cycle(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the nodes of a cycle, each a parent of the next and the first again at the end; nothing without one.

    Examples
    --------
    >>> find_cycle({"a": ("b",), "b": ("a",), "c": ("a",)})
    ('a', 'b', 'a')
    """
    names = list(parents)
    index = {name: i for i, name in enumerate(names)}
    above = [[index[parent] for parent in some] for some in parents.values()]
    below: list[list[int]] = [[] for _ in names]
    for i, some in enumerate(above):
        for parent in some:
            below[parent].append(i)
    order = walks.topological_order(above, below)
    return tuple(names[i] for i in walks.find_cycle(above, below, order)) if len(order) < len(names) else ()


def cycle_text(cycle: tuple[str, ...]) -> str:
    """Return a cycle in words.

    Examples
    --------
    >>> cycle_text(("a", "b", "a"))
    "the arcs must not form a cycle; got 'a' → 'b' → 'a'."
    """
    return f"the arcs must not form a cycle; got {joined(cycle)}."


def _check_tables(cpts: tuple[ConditionalTable, ...]) -> None:
    known: dict[str, Variable] = {}
    for cpt in cpts:
        if not isinstance(cpt, ConditionalTable):
            raise DataError(f"the tables of a network must be conditional tables; got {type(cpt).__name__}.")
        if cpt.variable.name in known:
            raise DataError(f"the nodes of a network must have distinct names; got {cpt.variable.name!r} twice.")
        known[cpt.variable.name] = cpt.variable
    for cpt in cpts:
        for parent in cpt.parents:
            if parent.name not in known:
                hint = did_you_mean(parent.name, known)
                raise DataError(f"the parents of {cpt.variable.name!r} must be nodes; got {parent.name!r}. {hint}")
            if parent is not known[parent.name] and parent != known[parent.name]:
                what = f"the parent {parent.name!r} of {cpt.variable.name!r}"
                raise DataError(
                    f"{what} must have the states of the node of that name; got {listed(parent.states or ())}."
                )
    if cycle := find_cycle({cpt.variable.name: tuple(p.name for p in cpt.parents) for cpt in cpts}):
        raise DataError(cycle_text(cycle))


def _check_properties(properties: Mapping[str, tuple[str, ...]], known: set[str]) -> None:
    for name, lines in properties.items():
        if name not in known:
            hint = did_you_mean(name, known - {""})
            raise DataError(f"properties must be those of nodes, or of the network (''); got {name!r}. {hint}")
        if not all(isinstance(line, str) for line in lines):
            raise DataError(f"the properties of {name!r} must be texts; got {listed(lines)}.")
