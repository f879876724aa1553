"""Constraints on the arcs of a graph: required, forbidden, or more likely than others.

*Hard* constraints exclude graphs: arcs that are required or forbidden, tiers (later variables are no causes of earlier
ones), roots and leaves, known families, a limit on the parents. *Soft* constraints are a prior over graphs. Here every
arc is present with probability p, independently of the others, and graphs with a cycle are excluded; so the log-prior
of a graph is, up to a constant,

    log P(G) = Σ_{c → x in G} log(p_cx / (1 − p_cx)),

a sum over families that is added to a decomposable score. Arcs without a given probability have p = ½ and add nothing.

:class:`Constraints` holds the constraints by name; :meth:`Constraints.compile` turns them, for the columns of a table,
into the arrays that a search reads, and raises an error if no graph satisfies them.

References
----------
W. Buntine (1991). Theory refinement on Bayesian networks. UAI 7, 52–60 (independent arcs).
R. Castelo, A. Siebes (2000). Priors on network structures: biasing the search for Bayesian networks. International
Journal of Approximate Reasoning 24, 39–57 (probabilities for the three states of a pair, which are not used here).
D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197–243 (priors on structures).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise, product
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError
from tunbridge.graph.names import Names, Pair, as_names, check_distinct, checked_name, joined
from tunbridge.graph.walks import named_cycle
from tunbridge.learning.searches.problem import Graph

Arc = str | Sequence[str]
"""A pair (from, to), or a text such as 'A->B'."""

Limits = int | Mapping[str, int] | None
"""The maximum number of parents of every node, or of some."""

_Index = tuple[int, int]
_Position = dict[str, int]
_ARROW = re.compile("->|→")
_FEWER = "Learn from fewer columns"
_ARCS = ("required", "forbidden", "arc_probability")
_SHOWN = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Constraints:
    """Constraints on the arcs of a graph, and prior probabilities of arcs.

    Arcs are pairs (from, to) or texts, ``"A->B"`` or ``"A→B"``; names are those of the table's columns, and are checked
    when learning starts. A text that is ambiguous because names contain arrows raises an error; use a pair instead.

    Parameters
    ----------
    required : iterable of arcs
        Arcs that every graph must have.
    forbidden : iterable of arcs
        Arcs that no graph may have. Each entry forbids one direction: ``["A->B", "B->A"]`` forbids both.
    tiers : iterable of iterables of str
        Groups of names, the earliest first: no arc leads from a later tier to an earlier one. Names that are in no tier
        are not constrained.
    within_tiers : bool
        Whether arcs inside a tier are allowed.
    order : iterable of str
        Some or all names, the earliest first: no arc leads from a later name to an earlier one. Equivalent to tiers of
        one name each; can be combined with tiers.
    roots : str or iterable of str
        Names without parents.
    leaves : str or iterable of str
        Names without children.
    parents : mapping of str to names
        The exact parents of some names: these arcs are required, all other arcs into the node are forbidden.
    max_parents : int or mapping of str to int, optional
        The maximum number of parents of every node, or of some; 0 is allowed.
    arc_probability : mapping of arc to float
        The prior probability of an arc, above 0 and below 1; its log-odds log(p / (1 − p)) are added to the score of a
        graph that has the arc. Default: one half, which adds nothing.

    Raises
    ------
    DataError
        For invalid arcs, names or numbers, and for tiers and orders that contradict each other; :meth:`compile` checks
        what depends on the columns.

    Notes
    -----
    A → B and B → A can both have a probability; a graph has at most one of the two arcs, and the difference of their
    log-odds is the preference for one direction. So ``{"A->B": 0.9, "B->A": 0.9}`` makes an arc likely without a
    preferred direction; with 0.9 and 0.5, graphs with A → B have nine times the prior of those with B → A, which have
    the same prior as graphs with neither.

    Examples
    --------
    Required and forbidden arcs, two variables that must not be joined:

    >>> Constraints(required=[("Smoking", "Cancer")], forbidden=["Cancer->Age", "Age->Sex", "Sex->Age"])
    Constraints(required=['Smoking' → 'Cancer'], forbidden=['Cancer->Age', 'Age->Sex', 'Sex->Age'])

    Tiers, here without arcs inside a tier:

    >>> time = Constraints(tiers=[["Age", "Sex"], ["Smoking", "Cancer"], ["Cough"]], within_tiers=False)
    >>> columns = ("Age", "Cancer", "Cough", "Sex", "Smoking")
    >>> time.compile(columns).allowed.astype(int)  # from the row's variable to the column's
    array([[0, 1, 1, 0, 1],
           [0, 0, 1, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 1, 1, 0, 1],
           [0, 0, 1, 0, 0]])

    A partial order, nodes without parents or children, a known family, limits:

    >>> known = Constraints(order=["Smoking", "Cancer", "Cough"], roots="Age", leaves=["Cough"])
    >>> known.compile(columns).allowed.astype(int).sum(axis=0)  # candidates for parents
    array([0, 3, 4, 3, 2])
    >>> known = Constraints(parents={"Cancer": ["Age", "Smoking"]}, max_parents={"Cough": 1})
    >>> known.compile(columns).required, known.compile(columns).max_parents
    (((), (0, 4), (), (), ()), array([4, 4, 1, 4, 4]))

    A prior probability; odds of nine to one add 2.2 to the score:

    >>> likely = Constraints(arc_probability={"Smoking->Cancer": 0.9})
    >>> round(float(likely.compile(columns).arc_bonus[4, 1]), 3)
    2.197

    Constraints that no graph can satisfy raise an error:

    >>> Constraints(required=["Cough->Cancer"], order=["Cancer", "Cough"]).compile(columns)
    Traceback (most recent call last):
        ...
    tunbridge.errors.DataError: required arcs must be allowed; got 'Cough' → 'Cancer', but 'Cough' comes after 'Cancer'
    in the order.
    """

    required: Iterable[Arc] = ()
    forbidden: Iterable[Arc] = ()
    tiers: Iterable[Iterable[str]] = ()
    within_tiers: bool = True
    order: Iterable[str] = ()
    roots: Names = ()
    leaves: Names = ()
    parents: Mapping[str, Names] = field(default_factory=dict)
    max_parents: Limits = None
    arc_probability: Mapping[Arc, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("within_tiers", self.within_tiers, [True, False])
        clean = {
            "required": _arcs("required", self.required),
            "forbidden": _arcs("forbidden", self.forbidden),
            "tiers": _tiers(self.tiers),
            "order": _order(self.order),
            "roots": _names("roots", self.roots),
            "leaves": _names("leaves", self.leaves),
            "parents": {checked_name(x): _names("parents", some) for x, some in _mapping("parents", self.parents)},
            "max_parents": _limits(self.max_parents),
            "arc_probability": _probabilities(self.arc_probability),
        }
        self.__dict__.update(clean)
        _check_order(self.order, self.tiers)

    def compile(self, names: tuple[str, ...], *, max_parents: Limits = None) -> CompiledConstraints:
        """Return the constraints as arrays over the columns of a table.

        Parameters
        ----------
        names : tuple of str
            The columns; a variable is its position here.
        max_parents : int or mapping of str to int, optional
            Further limits; the smaller of two limits counts.

        Raises
        ------
        DataError
            For unknown names, and if no graph satisfies the constraints: required arcs that form a cycle or are
            forbidden, more required parents than allowed.

        Notes
        -----
        Takes one byte per pair of columns if anything is forbidden, eight more with arc probabilities.

        Examples
        --------
        >>> compiled = Constraints(required=["B->A"], roots="B", max_parents=2).compile(("A", "B", "C"), max_parents=1)
        >>> compiled.required, compiled.max_parents, compiled.allowed[:, 1]
        (((1,), (), ()), array([1, 1, 1]), array([False, False, False]))
        """
        index = {name: i for i, name in enumerate(names)}
        rules = tuple(self._rules(names, index))
        required = [_positions("required", arc, index) for arc in self.required]
        compiled = CompiledConstraints(
            names=names,
            allowed=_allowed_arcs(len(names), rules),
            required=_lists(len(names), {*self._fixed(index), *required}),
            max_parents=_smallest(index, self.max_parents, _limits(max_parents)),
            arc_bonus=self._bonus(index),
            rules=rules,
        )
        compiled.check_possible()
        return compiled

    def _fixed(self, index: _Position) -> list[_Index]:
        """Return the arcs of the known families."""
        return [_positions("parents", (c, x), index) for x, parents in self.parents.items() for c in parents]

    def _rules(self, names: tuple[str, ...], index: _Position) -> Iterator[_Rule]:
        """Yield the reasons why arcs are forbidden; an error message names the first that applies."""
        n = len(names)
        if self.forbidden:
            ends = _lists(n, [_positions("forbidden", arc, index)[::-1] for arc in self.forbidden])
            yield _Rule(lambda c: _marked(n, ends[c]), lambda c, x: "that is forbidden")
        if self.tiers:
            tier, inside = _levels("tiers", self.tiers, index), "the two are in one tier and within_tiers is False"
            yield _Rule(
                lambda c: (tier >= 0) & ((tier < tier[c]) if self.within_tiers else (tier <= tier[c])),
                lambda c, x: f"{names[c]!r} is in a later tier than {names[x]!r}" if tier[c] > tier[x] else inside,
            )
        if self.order:
            place = _levels("order", [[name] for name in self.order], index)
            yield _Rule(
                lambda c: (place >= 0) & (place < place[c]),
                lambda c, x: f"{names[c]!r} comes after {names[x]!r} in the order",
            )
        if self.roots:
            roots = _marked(n, _all("roots", self.roots, index))
            yield _Rule(lambda c: roots, lambda c, x: f"{names[x]!r} is one of the roots")
        if self.leaves:
            leaves = _marked(n, _all("leaves", self.leaves, index))
            yield _Rule(lambda c: np.full(n, leaves[c]), lambda c, x: f"{names[c]!r} is one of the leaves")
        if self.parents:
            known = _marked(n, _all("parents", self.parents, index))
            kept = _lists(n, [arc[::-1] for arc in self._fixed(index)])
            yield _Rule(
                lambda c: known & ~_marked(n, kept[c]),
                lambda c, x: f"{names[x]!r} has fixed parents, and this is none of them",
            )

    def _bonus(self, index: _Position) -> np.ndarray | None:
        """Return the log-odds of every arc; None when all are zero."""
        odds: dict[_Index, float] = {}
        for arc, p in self.arc_probability.items():
            at = _positions("arc_probability", arc, index)
            if at in odds:
                raise DataError(f"arc_probability must give an arc one probability; got two for {_arc_text(arc)}.")
            odds[at] = math.log(p) - math.log1p(-p)
        if not any(odds.values()):
            return None
        n = len(index)
        check_memory("the prior log-odds of all arcs", 8 * n * n, ways_out=f"{_FEWER} or without arc_probability.")
        bonus = np.zeros((n, n))
        for at, value in odds.items():
            bonus[at] = value
        bonus.flags.writeable = False
        return bonus

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value is not True and value not in ((), {}, None)}
        return f"Constraints({', '.join(f'{name}={_shown(value, name in _ARCS)}' for name, value in given.items())})"


class _Rule(NamedTuple):
    """One reason why arcs are forbidden: which arcs out of c, as a mask over their ends, and a text for c → x."""

    forbids: Callable[[int], np.ndarray]
    why: Callable[[int, int], str]


@dataclass(frozen=True, eq=False)
class CompiledConstraints:
    """Constraints over the columns of one table, by position: what a search reads.

    Parameters
    ----------
    names : tuple of str
        The columns.
    allowed : ndarray of shape (n, n), optional
        Whether the arc c → x is allowed, at [c, x], the diagonal False; None when nothing is forbidden.
    required : tuple of tuples of int
        The parents that each node must have, ascending. This graph satisfies the constraints whenever any graph does.
    max_parents : ndarray of shape (n,)
        The maximum number of parents of each node; n − 1 where there is no limit.
    arc_bonus : ndarray of shape (n, n), optional
        The prior log-odds of the arc c → x, at [c, x]; None when all are zero.
    rules : tuple
        The reasons why arcs are forbidden, for messages.
    """

    names: tuple[str, ...]
    allowed: np.ndarray | None
    required: Graph
    max_parents: np.ndarray
    arc_bonus: np.ndarray | None
    rules: tuple[_Rule, ...] = field(repr=False)

    def check_graph(self, graph: Graph, what: str = "start") -> None:
        """Raise unless a graph, given as the parents of every node, satisfies the constraints.

        Parameters
        ----------
        graph : tuple of tuples of int
            The parents of each node, without a cycle.
        what : str
            The name of the graph in an error message.

        Examples
        --------
        >>> import tunbridge as tb
        >>> compiled = tb.Constraints(leaves="C", max_parents=1).compile(("A", "B", "C"))
        >>> compiled.check_graph(((1,), (), (0,)))
        >>> compiled.check_graph(((2,), (), ()))
        Traceback (most recent call last):
            ...
        tunbridge.errors.DataError: start must have allowed arcs only; got 'C' → 'A', but 'C' is one of the leaves.
        """
        self._check_allowed(f"{what} must have allowed arcs only", graph)
        for x, needed in enumerate(self.required):
            absent = sorted(set(needed).difference(graph[x]))
            if absent:
                raise DataError(f"{what} must have every required arc; got no {self._arc(absent[0], x)}.")
        self._check_limits(what, graph)

    def check_possible(self) -> None:
        """Raise unless the graph of the required arcs satisfies the constraints."""
        self._check_allowed("required arcs must be allowed", self.required)
        self._check_limits("required arcs", self.required)
        parents = {name: [self.names[p] for p in some] for name, some in zip(self.names, self.required, strict=True)}
        if any(self.required) and (cycle := named_cycle(parents)):
            raise DataError(f"required arcs must form no cycle; got {joined(cycle)}. Leave one out or reverse it.")

    def _check_allowed(self, rule: str, graph: Graph) -> None:
        for x, parents in enumerate(graph if self.allowed is not None else ()):
            for c in parents:
                if not self.allowed[c, x]:  # type: ignore[index]
                    reason = next(known.why(c, x) for known in self.rules if known.forbids(c)[x])
                    raise DataError(f"{rule}; got {self._arc(c, x)}, but {reason}.")

    def _check_limits(self, what: str, graph: Graph) -> None:
        over = np.flatnonzero(np.fromiter(map(len, graph), np.int64) > self.max_parents)
        for x in over[:1]:
            found = f"{len(graph[x])} parents of {self.names[x]!r} ({listed(self.names[c] for c in graph[x])})"
            raise DataError(f"{what} must keep to max_parents; got {found}, but at most {self.max_parents[x]} may be.")

    def _arc(self, c: int, x: int) -> str:
        return joined((self.names[c], self.names[x]))


# From names to arrays


def _allowed_arcs(n: int, rules: tuple[_Rule, ...]) -> np.ndarray | None:
    """Return the matrix of the arcs that no rule forbids; None when all are allowed."""
    if not rules:
        return None
    check_memory("the matrix of allowed arcs", n * n, ways_out=f"{_FEWER}.")
    allowed = np.ones((n, n), bool)
    np.fill_diagonal(allowed, False)
    for rule in rules:
        for c in range(n):  # row by row: a second matrix would double the memory
            allowed[c] &= ~rule.forbids(c)
    allowed.flags.writeable = False
    return allowed if np.count_nonzero(allowed) < n * (n - 1) else None


def _lists(n: int, arcs: Iterable[_Index]) -> Graph:
    """Return for every node the starts of the arcs into it, ascending."""
    parents: list[list[int]] = [[] for _ in range(n)]
    for c, x in sorted(arcs):
        parents[x].append(c)
    return tuple(map(tuple, parents))


def _marked(n: int, places: Sequence[int]) -> np.ndarray:
    mask = np.zeros(n, bool)
    mask[list(places)] = True
    return mask


def _smallest(index: _Position, *limits: Limits) -> np.ndarray:
    """Return the maximum number of parents of each node by all limits."""
    n = len(index)
    most = np.full(n, max(0, n - 1), np.int64)
    for limit in limits:
        if isinstance(limit, Mapping):
            for name, k in limit.items():
                at = _position("max_parents", name, index)
                most[at] = min(most[at], k)
        elif limit is not None:
            most = np.minimum(most, min(limit, n))
    most.flags.writeable = False
    return most


def _levels(what: str, groups: Iterable[Iterable[str]], index: _Position) -> np.ndarray:
    """Return the number of each variable's group; −1 for those in none."""
    level = np.full(len(index), -1, np.int64)
    for k, group in enumerate(groups):
        level[list(_all(what, group, index))] = k
    return level


def _positions(what: str, arc: Arc, index: _Position) -> _Index:
    """Return the positions of an arc's ends."""
    pair = _read(what, arc, index) if isinstance(arc, str) else arc
    c, x = (_position(what, name, index) for name in pair)
    if c == x:
        raise DataError(f"an arc of {what} must join two different columns; got {pair[0]!r} twice.")
    return c, x


def _all(what: str, names: Iterable[str], index: _Position) -> tuple[int, ...]:
    return tuple(_position(what, name, index) for name in names)


def _position(what: str, name: str, index: _Position) -> int:
    if name not in index:
        raise _unknown(what, name, index)
    return index[name]


def _unknown(what: str, name: str, index: _Position) -> DataError:
    rule = f"{what} must name columns of the table"
    return DataError(f"{rule}; got {shortened(repr(name))}. {did_you_mean(name, index)}")


def _read(what: str, text: str, index: _Position) -> Pair:
    """Return the ends of an arc written as text; raise unless exactly one split at an arrow gives known names."""
    splits = [(text[: arrow.start()], text[arrow.end() :]) for arrow in _ARROW.finditer(text)]
    known = [[_known(end, index) for end in ends] for ends in splits]
    found = sorted({pair for starts, ends in known for pair in product(starts, ends)})
    if not found:
        at = max(range(len(splits)), key=lambda i: sum(map(bool, known[i])))
        raise _unknown(what, splits[at][1 if known[at][0] else 0].strip(), index)
    if len(found) > 1:
        ways = " or ".join(map(joined, found[:3]))
        raise DataError(f"an arc of {what} must be clear; got {shortened(repr(text))}, which is {ways}. Give a pair.")
    return found[0]


def _known(text: str, index: _Position) -> list[str]:
    """Return the names that a text can mean, with or without the space around it."""
    return [name for name in {text, text.strip()} if name in index]


# Checks


def _arcs(what: str, arcs: object) -> tuple[Arc, ...]:
    return tuple(_arc(what, arc) for arc in _list(what, "arcs", arcs, "[('A', 'B')] or ['A->B']"))


def _list(what: str, of: str, value: object, example: str, *, ordered: bool = False) -> Iterable[object]:
    """Return a value that is a list; raise for a text, a mapping, and for a set if the order matters."""
    wrong = (str, bytes, Mapping, AbstractSet) if ordered else (str, bytes, Mapping)
    if isinstance(value, wrong) or not isinstance(value, Iterable):
        rule = f"{what} must be a list of {of}"
        raise DataError(f"{rule}; got {shortened(repr(value))}. Write {example}.", parameter=what)
    return value


def _arc(what: str, arc: object) -> Arc:
    """Return a pair of names, or a text with an arrow as it is."""
    if isinstance(arc, str) and _ARROW.search(arc):
        return str(arc)
    if isinstance(arc, Sequence | np.ndarray) and not isinstance(arc, str | bytes) and len(arc) == 2:
        return checked_name(arc[0]), checked_name(arc[1])
    rule = "a pair (from, to) or a text such as 'A->B'"
    raise DataError(f"an arc of {what} must be {rule}; got {shortened(repr(arc))}.")


def _names(what: str, names: object) -> tuple[str, ...]:
    return tuple(map(checked_name, as_names(what, names)))


def _order(order: object) -> tuple[str, ...]:
    names = _names("order", _list("order", "names", order, "['A', 'B']", ordered=True))
    check_distinct("the names in order", names)
    return names


def _tiers(tiers: object) -> tuple[tuple[str, ...], ...]:
    found = tuple(map(_tier, _list("tiers", "lists of names", tiers, "[['A', 'B'], ['C']]", ordered=True)))
    check_distinct("the names in tiers", [*chain(*found)])
    return found


def _tier(tier: object) -> tuple[str, ...]:
    if isinstance(tier, str):
        rest = f"got {shortened(repr(tier))}. Write [[{tier!r}], …], or use order for tiers of one name."
        raise DataError(f"a tier must be a list of names; {rest}")
    return _names("a tier", tier)


def _mapping(what: str, mapping: object) -> Iterable[tuple[object, object]]:
    if not isinstance(mapping, Mapping):
        raise DataError(f"{what} must be a dictionary; got {shortened(repr(mapping))}.")
    return mapping.items()


def _limits(max_parents: object) -> int | dict[str, int] | None:
    if isinstance(max_parents, Mapping):
        return {checked_name(x): _limit(f"max_parents of {x!r}", k) for x, k in max_parents.items()}
    return None if max_parents is None else _limit("max_parents", max_parents)


def _limit(what: str, k: object) -> int:
    check_integer(what, k, low=0)
    return int(k)  # type: ignore[call-overload]


def _probabilities(given: object) -> dict[Arc, float]:
    found: dict[Arc, float] = {}
    for key, value in _mapping("arc_probability", given):
        arc = _arc("arc_probability", key)
        what = f"arc_probability of {_arc_text(arc)}"
        found[arc] = check_number(what, value)
        if not 0 < found[arc] < 1:
            hint = {0.0: " Use forbidden.", 1.0: " Use required."}.get(found[arc], "")
            raise DataError(f"{what} must be above 0 and below 1; got {value!r}.{hint}")
    return found


def _check_order(order: Iterable[str], tiers: Iterable[Iterable[str]]) -> None:
    """Raise when the order puts a name before one of an earlier tier."""
    tier_of = {name: k for k, tier in enumerate(tiers) for name in tier}
    for before, after in pairwise(name for name in order if name in tier_of):
        if tier_of[before] > tier_of[after]:
            rest = f"{before!r} before {after!r}, which is in an earlier tier"
            raise DataError(f"order must agree with tiers; got {rest}.")


# Text


def _shown(value: object, arcs: bool = False) -> str:
    """Return a value as text, the first few of many only; ``arcs`` says that it is a collection of arcs."""
    one = _arc_text if arcs else _shown
    if isinstance(value, Mapping):
        return f"{{{_some(len(value), (f'{one(key)}: {_shown(item)}' for key, item in value.items()))}}}"
    if isinstance(value, tuple):
        return f"[{_some(len(value), map(one, value))}]"
    return shortened(repr(value))


def _some(n: int, texts: Iterable[str]) -> str:
    return ", ".join([*islice(texts, _SHOWN)] + [f"… ({n} in all)"] * (n > _SHOWN))


def _arc_text(arc: Arc) -> str:
    return shortened(repr(arc)) if isinstance(arc, str) else joined(arc)
