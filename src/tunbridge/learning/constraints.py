"""What a user knows about the arcs: some must be there, some must not, some are more likely than others.

A search over graphs may be told three kinds of things. *Hard* knowledge cuts graphs away: arcs that are required or
forbidden, tiers (what happens later causes nothing earlier), roots and leaves, families that are known, a limit on the
parents. *Soft* knowledge is a prior over graphs. Here every arc is a coin of its own that shows the arc with
probability p, and graphs with a cycle are thrown away; so the log-prior of a graph is, up to a constant,

    log P(G) = Σ_{c → x in G} log(p_cx / (1 − p_cx)),

a sum over families that a decomposable score simply adds. An arc of which nothing is said has p = ½ and adds nothing.

:class:`Constraints` holds what was said, by name; :meth:`Constraints.compile` turns it, for the columns of one table,
into the arrays that a search reads, and refuses what no graph can satisfy.

References
----------
W. Buntine (1991). Theory refinement on Bayesian networks. UAI 7, 52–60 (independent arcs).
R. Castelo, A. Siebes (2000). Priors on network structures: biasing the search for Bayesian networks. International
Journal of Approximate Reasoning 24, 39–57 (the three states of a pair given together, which is not done here).
D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197–243 (priors on structures).
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise, product

import numpy as np

from tunbridge._check import check_choice, check_number, did_you_mean, shortened
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.graph.names import Names, Pair, as_names, check_distinct, checked_name, joined
from tunbridge.learning.rules import (
    CompiledConstraints,
    FixedFamilies,
    Forbidden,
    Index,
    Layers,
    Leaves,
    Rule,
    allowed_arcs,
    check_possible,
    ends_of,
    parent_lists,
)

Arc = str | Sequence[str]
"""A pair (from, to), or a text such as 'A->B'."""

Limits = int | Mapping[str, int] | None
"""The most parents of every node, or of some."""

_Position = dict[str, int]
_ARROW = re.compile("->|→")
_FEWER = "Learn from fewer columns."
_ARCS = ("required", "forbidden", "arc_probability")
_SHOWN = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Constraints:
    """What is known about the arcs before the data are seen.

    Arcs are pairs (from, to) or texts, ``"A->B"`` or ``"A→B"``; names are those of the table's columns, and checked
    against them when the learning starts. A text that can be read in two ways, because names have arrows in them, is
    refused; a pair never is.

    Parameters
    ----------
    required : iterable of arcs
        Arcs that must be there.
    forbidden : iterable of arcs
        Arcs that must not be there. Each forbids one direction: ``["A->B", "B->A"]`` keeps two variables apart.
    tiers : iterable of iterables of str
        Groups of names, the earliest first: no arc leads from a later tier to an earlier one. Names that are in no tier
        are free.
    within_tiers : bool
        Whether arcs inside a tier are allowed.
    order : iterable of str
        Names, the earliest first, all or some: no arc leads back. The same as tiers of one name each; together with
        tiers, both hold.
    roots : str or iterable of str
        Names that get no parents.
    leaves : str or iterable of str
        Names that get no children.
    parents : mapping of str to names
        For some names exactly these parents: they are required, all other arcs into that node forbidden.
    max_parents : int or mapping of str to int, optional
        The most parents of every node, or of some; 0 is allowed.
    arc_probability : mapping of arc to float
        The prior probability, above 0 and below 1, that an arc is there; its log-odds log(p / (1 − p)) are added to the
        score of a graph that has it. One half, the probability of all others, changes nothing. For arcs that are
        required or forbidden anyway it makes no difference.

    Raises
    ------
    DataError
        For what is no arc, no name or no number, and for tiers or orders that contradict themselves or each other;
        :meth:`compile` checks what depends on the columns.

    Notes
    -----
    Where A → B and B → A both have a probability, each has its own log-odds: a graph has one of the two at most, and
    their difference is the preference for one direction. So ``{"A->B": 0.9, "B->A": 0.9}`` says that the two are
    joined, and nothing about the direction; with 0.9 and 0.5 for the two, graphs with A → B have nine times the prior
    of those with B → A, which have that of graphs with neither.

    Examples
    --------
    Arcs, and two variables that are kept apart:

    >>> Constraints(required=[("Smoking", "Cancer")], forbidden=["Cancer->Age", "Age->Sex", "Sex->Age"])
    Constraints(required=['Smoking' → 'Cancer'], forbidden=['Cancer->Age', 'Age->Sex', 'Sex->Age'])

    Time: what comes later causes nothing earlier, and here the members of a tier do not cause each other either.

    >>> time = Constraints(tiers=[["Age", "Sex"], ["Smoking", "Cancer"], ["Cough"]], within_tiers=False)
    >>> columns = ("Age", "Cancer", "Cough", "Sex", "Smoking")
    >>> time.compile(columns).allowed.astype(int)  # from the row's variable to the column's
    array([[0, 1, 1, 0, 1],
           [0, 0, 1, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 1, 1, 0, 1],
           [0, 0, 1, 0, 0]])

    An order of some, nodes without parents or children, a family that is known, limits:

    >>> known = Constraints(order=["Smoking", "Cancer", "Cough"], roots="Age", leaves=["Cough"])
    >>> known.compile(columns).allowed.astype(int).sum(axis=0)  # candidates for parents
    array([0, 3, 4, 3, 2])
    >>> known = Constraints(parents={"Cancer": ["Age", "Smoking"]}, max_parents={"Cough": 1})
    >>> known.compile(columns).required, known.compile(columns).max_parents
    (((), (0, 4), (), (), ()), array([4, 4, 1, 4, 4]))

    A hunch; the odds of nine to one are worth 2.2 in the score:

    >>> hunch = Constraints(arc_probability={"Smoking->Cancer": 0.9})
    >>> round(float(hunch.compile(columns).arc_bonus[4, 1]), 3)
    2.197

    What no graph can satisfy is refused:

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
            Further limits; where there are two the smaller counts.

        Raises
        ------
        DataError
            For a name that no column has, and for what no graph can satisfy: required arcs that form a cycle or are
            forbidden, more required parents than allowed.

        Notes
        -----
        Takes one byte a pair of columns where anything is forbidden, eight more with arc probabilities.

        Examples
        --------
        >>> compiled = Constraints(required=["B->A"], roots="B", max_parents=2).compile(("A", "B", "C"), max_parents=1)
        >>> compiled.required, compiled.max_parents, compiled.allowed[:, 1]
        (((1,), (), ()), array([1, 1, 1]), array([False, False, False]))
        """
        index = {name: i for i, name in enumerate(names)}
        rules = tuple(self._rules(index))
        required = [_positions("required", arc, index) for arc in self.required]
        compiled = CompiledConstraints(
            names=names,
            allowed=allowed_arcs(len(names), rules),
            required=parent_lists(len(names), self._fixed(index).union(required)),
            max_parents=_smallest(index, self.max_parents, _limits(max_parents)),
            arc_bonus=self._bonus(index),
            rules=rules,
        )
        check_possible(compiled)
        return compiled

    def _fixed(self, index: _Position) -> frozenset[Index]:
        """Return the arcs of the families that are known."""
        arcs = ((c, x) for x, parents in self.parents.items() for c in parents)
        return frozenset(_positions("parents", arc, index) for arc in arcs)

    def _rules(self, index: _Position) -> Iterator[Rule]:
        """Yield what forbids arcs, the plainest first: the first that applies is named in a message."""
        if self.forbidden:
            yield Forbidden(frozenset(_positions("forbidden", arc, index) for arc in self.forbidden))
        if self.tiers:
            yield Layers(_levels("tiers", self.tiers, index), self.within_tiers, "is in a later tier than")
        if self.order:
            order = [[name] for name in self.order]
            yield Layers(_levels("order", order, index), True, "comes after", " in the order")
        if self.roots:
            yield FixedFamilies(_all("roots", self.roots, index), frozenset(), "is one of the roots")
        if self.leaves:
            yield Leaves(_all("leaves", self.leaves, index))
        if self.parents:
            words = "has fixed parents, and this is none of them"
            yield FixedFamilies(_all("parents", self.parents, index), self._fixed(index), words)

    def _bonus(self, index: _Position) -> np.ndarray | None:
        """Return the log-odds of every arc; None when all are zero."""
        odds: dict[Index, float] = {}
        for arc, p in self.arc_probability.items():
            at = _positions("arc_probability", arc, index)
            if at in odds:
                raise DataError(f"arc_probability must give an arc one probability; got two for {_arc_text(arc)}.")
            odds[at] = math.log(p) - math.log1p(-p)
        if not any(odds.values()):
            return None
        n = len(index)
        check_memory("the prior log-odds of all arcs", 8 * n * n, ways_out=f"{_FEWER[:-1]} or without arc_probability.")
        bonus = np.zeros((n, n))
        bonus[ends_of(odds)] = list(odds.values())
        bonus.flags.writeable = False
        return bonus

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value is not True and value not in ((), {}, None)}
        return f"Constraints({', '.join(f'{name}={_shown(value, name in _ARCS)}' for name, value in given.items())})"


# From names to arrays


def _smallest(index: _Position, *limits: Limits) -> np.ndarray:
    """Return the most parents of each node by all limits."""
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


def _positions(what: str, arc: Arc, index: _Position) -> Index:
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
    """Return the ends of an arc written as text: the one way to cut it at an arrow that leaves two known names."""
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
    """Return the names that a text can mean, with the space around it or without."""
    return [name for name in {text, text.strip()} if name in index]


# What comes in


def _arcs(what: str, arcs: object) -> tuple[Arc, ...]:
    if isinstance(arcs, str | bytes | Mapping) or not isinstance(arcs, Iterable):
        hint = "Write [('A', 'B')] or ['A->B']."
        raise DataError(f"{what} must be a list of arcs; got {shortened(repr(arcs))}. {hint}")
    return tuple(_arc(what, arc) for arc in arcs)


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
    if isinstance(order, str | bytes | Mapping | AbstractSet) or not isinstance(order, Iterable):
        raise DataError(f"order must be a list of names; got {shortened(repr(order))}. Write ['A', 'B'].")
    names = _names("order", order)
    check_distinct("the names in order", names)
    return names


def _tiers(tiers: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(tiers, str | bytes | Mapping | AbstractSet) or not isinstance(tiers, Iterable):
        rest = f"got {shortened(repr(tiers))}. Write [['A', 'B'], ['C']]."
        raise DataError(f"tiers must be a list of lists of names; {rest}")
    found = tuple(map(_tier, tiers))
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
    if isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 0:
        raise DataError(f"{what} must be a whole number, 0 or more; got {shortened(repr(k))}.")
    return int(k)


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


# What is shown


def _shown(value: object, arcs: bool = False) -> str:
    """Return what was given, the first few of many only; ``arcs`` says that it is a collection of them."""
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
