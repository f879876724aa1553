"""What all graphs over named nodes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tunbridge.graph.names import position


@dataclass(frozen=True, eq=False, repr=False, init=False)
class NamedGraph(ABC):
    """Named nodes, known by position inside; equality by what is joined, whatever the order."""

    nodes: tuple[str, ...]
    _index: dict[str, int] = field(init=False)

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def index(self, node: str) -> int:
        """Return the position of a node among the nodes."""
        return position(node, self._index)

    @abstractmethod
    def _lines(self) -> Hashable:
        """Return what is joined, in a form without order."""

    @cached_property
    def _key(self) -> Hashable:
        return type(self), frozenset(self.nodes), self._lines()

    def _named(self, indices: Iterable[int]) -> tuple[str, ...]:
        return tuple([self.nodes[i] for i in indices])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, NamedGraph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)
