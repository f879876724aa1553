"""Decision trees over categorical attributes: a class for each row, after a few tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import listed, warn_user
from tunbridge.data.frames import as_table, encode
from tunbridge.data.variable import Variable
from tunbridge.errors import UnseenStateWarning


@dataclass(frozen=True)
class Node:
    """A node of a tree: a test of an attribute, or a leaf.

    Parameters
    ----------
    counts : tuple of int
        The number of its rows of each class.
    label : int
        The class that it stands for.
    attribute : int, optional
        The number of the attribute that is tested; a leaf has none.
    branches : tuple of Node
        One for each state of the attribute.
    """

    counts: tuple[int, ...]
    label: int
    attribute: int | None = None
    branches: tuple[Node, ...] = ()

    @property
    def depth(self) -> int:
        """How many tests a row meets at most, from here."""
        return 1 + max(branch.depth for branch in self.branches) if self.branches else 0


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTree:
    """A decision tree over categorical attributes.

    It prints as lines, one for each branch, with the number of rows at each leaf and of exceptions among them.

    Parameters
    ----------
    target : Variable
        The classes.
    attributes : tuple of Variable
        What may be tested.
    root : Node
        Where the tests begin.
    """

    target: Variable
    attributes: tuple[Variable, ...]
    root: Node

    @property
    def depth(self) -> int:
        """How many tests a row meets at most."""
        return self.root.depth

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return sum(1 for _ in _leaves(self.root))

    def predict(self, frame: Any) -> np.ndarray:
        """Return the class of each row.

        A row whose cell is missing, or in a state that was not there, at a test gets the most frequent class there.
        """
        used = sorted(_tested(self.root))
        table, unseen = encode(frame, [self.attributes[i] for i in used]) if used else (as_table(frame), {})
        if unseen:
            name, new = next(iter(unseen.items()))
            warn_user(f"{name!r} has states that were not there before: {listed(new)}.", UnseenStateWarning)
        codes = {i: table.codes(self.attributes[i].name) for i in used}
        found = np.zeros(table.n_rows, np.intp)
        for rows, code in _sorted_down(self.root, codes, np.arange(table.n_rows)):
            found[rows] = code
        states = self.target.states or ()
        return np.array(states, None if len(set(map(type, states))) == 1 else object)[found]

    def __repr__(self) -> str:
        return "\n".join(self._lines(self.root, 0))

    def _lines(self, node: Node, level: int) -> Iterator[str]:
        if node.attribute is None:
            yield f"{'  ' * level}{self._leaf(node)}"
            return
        variable = self.attributes[node.attribute]
        for state, branch in zip(variable.states or (), node.branches, strict=True):
            test = f"{'  ' * level}{variable.name} {'= ' if _is_value(state) else ''}{state}"
            if branch.attribute is None:
                yield f"{test}: {self._leaf(branch)}"
            else:
                yield test
                yield from self._lines(branch, level + 1)

    def _leaf(self, node: Node) -> str:
        n = sum(node.counts)
        wrong = n - node.counts[node.label]
        exceptions = f", {wrong} exception{'' if wrong == 1 else 's'}" if wrong else ""
        return f"{(self.target.states or ())[node.label]} ({n}{exceptions})"


def _is_value(state: object) -> bool:
    """Return whether a state is a value, and not one of the ends of a scale, «≤ 37.5» or «> 38.5»."""
    return not str(state).startswith(("≤ ", "> "))


def _leaves(node: Node) -> Iterator[Node]:
    if node.attribute is None:
        yield node
    for branch in node.branches:
        yield from _leaves(branch)


def _tested(node: Node) -> set[int]:
    if node.attribute is None:
        return set()
    return {node.attribute}.union(*(_tested(branch) for branch in node.branches))


def _sorted_down(node: Node, codes: dict[int, np.ndarray], rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the rows that end at each node, with its class."""
    if node.attribute is None:
        yield rows, node.label
        return
    states = codes[node.attribute][rows]
    yield rows[states < 0], node.label
    for k, branch in enumerate(node.branches):
        yield from _sorted_down(branch, codes, rows[states == k])
