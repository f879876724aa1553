"""Named nodes: names become positions here, and are checked here once.

Users name nodes, the algorithms use positions in the tuple of nodes. The input is a list of names and lists of pairs of
names; the result is a dictionary from name to position and pairs of positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from tunbridge._core.check import did_you_mean, listed, repeated, shortened
from tunbridge.errors import DataError, UnknownVariableError

Names = str | Iterable[str]
"""One name, or several."""

Pair = tuple[str, str]

ARC, EDGE = "→", "–"
_SHOWN = 10
_BYTES_A_PAIR = 300  # of a pair of positions, its two names, and the entries that lead to it


@dataclass(frozen=True, eq=False, repr=False, init=False)
class NamedGraph(ABC):
    """The base class of graphs over named nodes; equal if they join the same nodes, in any order."""

    nodes: tuple[str, ...]
    n_nodes: int = field(init=False)
    """The number of nodes."""
    _index: dict[str, int] = field(init=False)

    def _set_nodes(self, index: dict[str, int]) -> None:
        """Set the nodes of a new graph: the position of each, by name."""
        self.__dict__.update(nodes=tuple(index), n_nodes=len(index), _index=index)

    def index(self, node: str) -> int:
        """Return the position of a node among the nodes."""
        return position(node, self._index)

    @abstractmethod
    def _lines(self) -> Hashable:
        """Return the arcs or edges in a form without order."""

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


def checked_name(name: object) -> str:
    """Return the name of a node as a plain string; raise unless it is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise DataError(f"a node's name must be a non-empty string; got {shortened(repr(name))}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"a node's name must be text that UTF-8 can encode; got {name!r}.") from None
    return str.__str__(name)  # the plain string of a subclass such as numpy.str_


def as_names(what: str, names: object) -> list[object]:
    """Return one name or several as a list; raise if it is neither."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise DataError(f"{what} must be a name or a list of names; got {shortened(repr(names))}.")
    return list(names)


def as_pairs(what: str, pairs: object) -> list[tuple[object, object]]:
    """Return arcs or edges as a list of pairs; raise if one of them is not a pair.

    Examples
    --------
    >>> as_pairs("arc", [["A", "B"]])
    [('A', 'B')]
    """
    if not isinstance(pairs, Iterable) or isinstance(pairs, str | bytes):
        raise DataError(f"{what}s must be a list of pairs of names; got {shortened(repr(pairs))}.")
    return [pair if type(pair) is tuple and len(pair) == 2 else _as_pair(what, pair) for pair in pairs]


def index_nodes(nodes: object, *pairs: Iterable[tuple[object, object]]) -> dict[str, int]:
    """Return the position of each node by name; without a list of nodes they come from the pairs, in order."""
    if nodes is None:
        ends = (end for some in pairs for pair in some for end in pair)
        return {name: i for i, name in enumerate(dict.fromkeys(map(checked_name, ends)))}
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        raise DataError(f"nodes must be a list of names; got {shortened(repr(nodes))}.")
    names = [checked_name(name) for name in nodes]
    check_distinct("nodes", names)
    return {name: i for i, name in enumerate(names)}


def index_pairs(what: str, pairs: Iterable[tuple[object, object]], index: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return pairs of names as pairs of positions; raise for unknown nodes and for a node joined to itself."""
    found = []
    for pair in pairs:
        try:
            i, j = index[pair[0]], index[pair[1]]  # type: ignore[index]
        except (KeyError, TypeError):
            raise _unknown(f"an {what} must join nodes of the graph", pair, index) from None
        if i == j:
            raise DataError(f"an {what} must join two different nodes; got {pair[0]!r} twice.")
        found.append((i, j))
    return found


def position(name: object, index: Mapping[str, int]) -> int:
    """Return the position of a node; raise an error with the nearest name if there is no such node."""
    try:
        return index[name]  # type: ignore[index]
    except (KeyError, TypeError):
        raise _unknown("the node must be one of the graph", [name], index) from None


def positions(what: str, names: object, index: Mapping[str, int]) -> list[int]:
    """Return the positions of one name or several; raise an error with the nearest name for an unknown one."""
    wanted = as_names(what, names)
    try:
        return [index[name] for name in wanted]  # type: ignore[index]
    except (KeyError, TypeError):
        raise _unknown(f"{what} must name nodes of the graph", wanted, index) from None


def check_distinct(what: str, values: Sequence[object]) -> None:
    """Raise if a value is repeated."""
    if len(set(values)) < len(values):
        raise DataError(f"{what} must be distinct; got {listed(repeated(values))} more than once.")


def joined(names: Sequence[str], mark: str = ARC) -> str:
    """Return names with arrows or lines between them, for a message or a repr.

    Examples
    --------
    >>> joined(["A", "B", "C"])
    "'A' → 'B' → 'C'"
    >>> joined([str(i) for i in range(40)])
    "'0' → '1' → '2' → '3' → '4' → '5' → '6' → '7' → … (31 more) → '39'"
    """
    shown = [shortened(repr(name)) for name in names]
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 2], f"… ({len(shown) - _SHOWN + 1} more)", shown[-1]]
    return f" {mark} ".join(shown)


def joined_pairs(pairs: Sequence[Pair], mark: str = ARC, *, most: int = 6) -> str:
    """Return pairs for a repr, the first few of many only.

    Examples
    --------
    >>> joined_pairs([("A", "B"), ("B", "C")], most=1)
    "'A' → 'B', …"
    """
    return ", ".join([joined(pair, mark) for pair in pairs[:most]] + ["…"] * (len(pairs) > most))


def pairs_size(n_pairs: int) -> int:
    """Return about how many bytes so many pairs of nodes take."""
    return n_pairs * _BYTES_A_PAIR


def _as_pair(what: str, pair: object) -> tuple[object, object]:
    """Return a list or array of two as a tuple; a string of two letters or a set is not a pair."""
    if isinstance(pair, Iterable) and not isinstance(pair, str | bytes | AbstractSet | Mapping):
        ends = tuple(pair)
        if len(ends) == 2:
            return ends
    rule = "(from, to)" if what == "arc" else "(one, other)"
    raise DataError(f"an {what} must be a pair of names {rule}; got {shortened(repr(pair))}.")


def _unknown(rule: str, names: Iterable[object], index: Mapping[str, int]) -> UnknownVariableError:
    bad = next(name for name in names if not isinstance(name, str) or name not in index)
    return UnknownVariableError(f"{rule}; got {shortened(repr(bad))}. {did_you_mean(bad, index)}")
