"""d-separation in a directed acyclic graph by the Bayes-ball algorithm.

Two nodes are d-connected given observed ones if a ball can roll from one to the other along the arcs:

* at an unobserved node it rolls on, except from one parent to another;
* at an observed node it only bounces back from a parent to the other parents: a known effect makes its causes compete
  to explain it.

Nodes that no ball reaches are independent, whatever the numbers in the tables. The nodes that send the ball up to their
parents are those whose tables are needed; the others (unobserved descendants, parts separated by evidence) can be
dropped before any table is multiplied.

The functions take positions, and the parents and children of every node as sequences of positions, as in
:attr:`DAG.parent_indices` and :attr:`DAG.child_indices`. Each visits a node at most twice.

References
----------
R. D. Shachter (1998). Bayes-Ball: the rational pastime. Uncertainty in Artificial Intelligence 14, 480–487.
D. Geiger, T. Verma, J. Pearl (1990). Identifying independence in Bayesian networks. Networks 20, 507–534.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tunbridge.graph.walks import Lists, closure


class Requisite(NamedTuple):
    """The part of a network that a query needs.

    Parameters
    ----------
    tables : tuple of int
        The nodes whose conditional tables are needed, in order.
    observations : tuple of int
        The observed nodes whose states are needed, in order; the tables of some of them are needed too.
    """

    tables: tuple[int, ...]
    observations: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All needed nodes, in order, including the parents of every needed table."""
        return tuple(sorted({*self.tables, *self.observations}))


def requisite(
    parents: Lists,
    children: Lists,
    targets: Iterable[int],
    observed: Iterable[int] = (),
    *,
    soft: Iterable[int] = (),
) -> Requisite:
    """Return what P(targets | observed) needs: nodes neither barren nor d-separated from the targets.

    Parameters
    ----------
    parents, children : sequence of sequence of int
        The graph: the positions of the parents and of the children of each node.
    targets : iterable of int
        The targets.
    observed : iterable of int
        Nodes whose state is known.
    soft : iterable of int
        Nodes with soft findings (likelihoods, lists of states): each acts like an observed child, so it blocks nothing.
        Those among the returned ``tables`` matter.

    Notes
    -----
    Linear in the nodes and arcs above the targets and findings; the rest of a large network is not visited.

    Examples
    --------
    In A → B → C → D with B observed, P(C | B) needs the table of C and the state of B, and neither A nor D.

    >>> requisite([[], [0], [1], [2]], [[1], [2], [3], []], [2], [1])
    Requisite(tables=(2,), observations=(1,))
    """
    hard = frozenset(observed)
    # A ball that rolls down to where nothing is observed never comes back.
    marks = _roll(
        parents, children, targets, observed=hard, soft=frozenset(soft), within=closure(parents, hard.union(soft))
    )
    return Requisite(tuple(sorted(marks.up)), tuple(sorted(marks.met)))


def connected(parents: Lists, children: Lists, starts: Iterable[int], observed: Iterable[int] = ()) -> list[int]:
    """Return the nodes that are d-connected to any of the starts given the observed ones, in order.

    They include the starts; observed nodes never belong to them.

    Examples
    --------
    In A → C ← B the causes are connected only when the effect is observed.

    >>> connected([[], [], [0, 1]], [[2], [2], []], [0])
    [0, 2]
    >>> connected([[], [], [0, 1]], [[2], [2], []], [0], [2])
    [0, 1]
    """
    marks = _roll(parents, children, starts, observed=frozenset(observed))
    return sorted(marks.down)


class _Marks(NamedTuple):
    """The nodes from which the ball went up, those from which it went down, and the observed ones it met."""

    up: set[int]
    down: set[int]
    met: set[int]


def _roll(
    parents: Lists,
    children: Lists,
    starts: Iterable[int],
    *,
    observed: frozenset[int],
    soft: frozenset[int] = frozenset(),
    within: set[int] | None = None,
) -> _Marks:
    """Roll the ball from the starts, as if it came from a child of each; ``within``: where it may roll down to."""
    up, down, met = marks = _Marks(set(), set(), set())
    from_child, from_parent = list(starts), list[int]()
    while from_child or from_parent:
        rises = bool(from_child)
        i = from_child.pop() if rises else from_parent.pop()
        is_known = i in observed
        if is_known:
            met.add(i)
        if i not in up and (rises != is_known or (i in soft and not is_known)):
            up.add(i)
            from_child += parents[i]
        if i not in down and not is_known:
            down.add(i)
            from_parent += children[i] if within is None else [j for j in children[i] if j in within]
    return marks
