"""From what a file says to the parts of a network: the checks that all formats share.

A parser finds which variables a file declares (:class:`Declared`) and which tables it gives (:class:`Given`), each with
its place. Only when all of them are known are the numbers read, because a table may stand before the variables it is
about: the parser's second half is called with the family of the table and returns its rows (:class:`Rows`).

Everything that can be wrong with a network that is well written is found here, and reported with its place: a name
that is declared twice or not at all, a node without a table or with two, a cycle, a row that is no distribution. A
table is never larger than the numbers that the file has for it, so a hostile header costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import did_you_mean
from tunbridge._memory import check_memory
from tunbridge.data import Variable
from tunbridge.errors import DataError, FormatError
from tunbridge.formats.naming import first_repeated, restored
from tunbridge.formats.parts import NetworkParts, cycle_text, find_cycle
from tunbridge.formats.scanner import shown
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.conditional import checked_rows, condition_text, wrong_rows

Place = Any
"""Where something stands in a file; only the parser that made it knows what it means."""

# What the worst of texts was seen to take, and a little more: bytes for a byte of text, for a node and for a state.
_TEXT_SHARE, _NODE_SHARE, _STATE_SHARE = 40, 2500, 300
_MOST = 2**62  # configurations, so that their numbers are 64-bit integers


@dataclass
class Declared:
    """A variable as a file declares it."""

    name: str
    states: tuple[str, ...]
    place: Place
    properties: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Given:
    """A table that a file gives: whose, given what, and where."""

    child: str
    parents: tuple[str, ...]
    place: Place
    body: Any = None


@dataclass
class Draft:
    """All that a parser has found, and how long the text is."""

    length: int
    name: str = ""
    is_begun: bool = False
    properties: list[str] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)


class Family(NamedTuple):
    """The states of a variable and of its parents, as the file names them."""

    given: Given
    states: tuple[str, ...]
    parent_states: tuple[tuple[str, ...], ...]

    @property
    def n_states(self) -> int:
        """How many states the variable has."""
        return len(self.states)

    @property
    def n_configurations(self) -> int:
        """How many configurations the parents have; some number above 2^62 where they have more than that."""
        return product_up_to(_MOST, map(len, self.parent_states))


class Rows(NamedTuple):
    """The rows of a table: probabilities, their places, and their configurations where not all are there in order."""

    values: np.ndarray
    where: Callable[[int], Place]
    configurations: Sequence[int] | None = None
    default: np.ndarray | None = None


Error = Callable[[str, Place], FormatError]


def assemble(draft: Draft, read_rows: Callable[[Family], Rows], error: Error) -> NetworkParts:
    """Return the parts of the network that a file describes.

    Parameters
    ----------
    draft : Draft
        What the parser has found.
    read_rows : callable
        Returns the rows of a table, of shape (n, n_states).
    error : callable
        Returns the FormatError for a message and a place.
    """
    check_size(draft.length, len(draft.declared), sum(len(each.states) for each in draft.declared))
    declared = _by_name(draft, error)
    tables = _tables(draft, declared, error)
    variables = {name: _variable(each, error) for name, each in declared.items()}
    _check_distinct(variables, declared, error)
    _check_acyclic(tables, error)
    cpts = [_table(_work(tables[name], declared, variables, read_rows), error) for name in declared]
    whole = _restored(draft.properties, error, None)
    properties = {
        variables[name].name: _restored(each.properties, error, each.place).properties
        for name, each in declared.items()
    }
    name = draft.name if whole.name is None else whole.name
    return NetworkParts(name, tuple(cpts), {"": whole.properties, **properties})


def check_size(length: int, n_nodes: int = 0, n_states: int = 0) -> None:
    """Raise MemoryForecastError when a text of so many bytes, and the network in it, would not fit into memory."""
    n_bytes = _TEXT_SHARE * length + _NODE_SHARE * n_nodes + _STATE_SHARE * n_states
    check_memory("reading the network", n_bytes, ways_out="Set TUNBRIDGE_MEMORY_LIMIT (bytes) if you trust the file.")


def flat_rows(family: Family, values: np.ndarray, where: Callable[[int], Place], error: Error) -> Rows:
    """Return the rows of a table that lists all numbers, the variable's states fastest; ``where`` is of a number."""
    wanted, n = family.n_configurations * family.n_states, family.n_states
    if len(values) != wanted:
        sizes = [*map(len, family.parent_states), n]
        raise error(numbers_text(f"the table of {shown(family.given.child)}", sizes, len(values)), family.given.place)
    return Rows(values.reshape(-1, n), lambda row: where(row * n))


def numbers_text(what: str, sizes: Sequence[int], got: int) -> str:
    """Return the message that a table, or a row, has another size than the product of these.

    Examples
    --------
    >>> numbers_text("the table of 'x'", [2, 3], 5)
    "the table of 'x' must have 6 probabilities; got 5."
    """
    wanted = product_up_to(10**15, sizes)
    number = str(wanted) if wanted <= 10**15 else f"about 10^{sum(map(math.log10, sizes)):.0f}"
    return f"{what} must have {number} {'probability' if wanted == 1 else 'probabilities'}; got {got}."


def product_up_to(most: int, sizes: Iterable[int]) -> int:
    """Return a product, or where it is above ``most`` some number that is: a hostile file gets no huge numbers.

    Examples
    --------
    >>> product_up_to(100, [2, 3]), product_up_to(100, [10] * 1_000_000)
    (6, 1000)
    """
    product = 1
    for size in sizes:
        product *= size
        if product > most:
            break
    return product


def check_numberable(family: Family, error: Error) -> None:
    """Raise when the configurations of the parents are too many to be numbered."""
    if family.n_configurations > _MOST:
        rule = f"the parents of {shown(family.given.child)} must have at most 2^62 configurations"
        raise error(f"{rule}; got more.", family.given.place)


def check_states(name: str, states: Sequence[str], declared: int | None, fail: Callable[[str], FormatError]) -> None:
    """Raise unless there is a state, and as many as the file says."""
    if not states:
        raise fail(f"{shown(name)} must have states; got none.")
    if declared is not None and declared != len(states):
        raise fail(f"{shown(name)} must have {declared} states, as declared; got {len(states)}.")


# The variables


def _by_name(draft: Draft, error: Error) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for each in draft.declared:
        if each.name in found:
            raise error(f"a variable must be declared once; got {shown(each.name)} again.", each.place)
        found[each.name] = each
    return found


def _variable(declared: Declared, error: Error) -> Variable:
    """Return the variable with its true names, and its cut points if it has any."""
    name, states, _, texts = _restored(declared.properties, error, declared.place)
    cuts = None if texts is None else [_cut_point(text, declared, error) for text in texts]
    if states is not None and len(states) != len(declared.states):
        rule = f"must be as many as it declares, {len(declared.states)}"
        raise error(f"the true states of {shown(declared.name)} {rule}; got {len(states)}.", declared.place)
    try:
        name, states = declared.name if name is None else name, declared.states if states is None else states
        return Variable(name, states, cuts=cuts)
    except DataError as reason:
        raise error(str(reason), declared.place) from None


def _cut_point(text: str, declared: Declared, error: Error) -> float:
    try:
        return float(text)
    except ValueError:
        what = f"the cut points of {shown(declared.name)}"
        raise error(f"{what} must be numbers; got {shown(text)}.", declared.place) from None


def _restored(properties: Sequence[str], error: Error, place: Place) -> Any:
    try:
        return restored(properties)
    except ValueError:
        raise error("a name that is percent-encoded must be UTF-8; got other bytes.", place) from None


def _check_distinct(variables: dict[str, Variable], declared: dict[str, Declared], error: Error) -> None:
    seen: set[str] = set()
    for name, variable in variables.items():
        if variable.name in seen:
            raise error(f"true names must be distinct; got {shown(variable.name)} again.", declared[name].place)
        seen.add(variable.name)


# The tables


def _tables(draft: Draft, declared: dict[str, Declared], error: Error) -> dict[str, Given]:
    """Return the table of each variable; raise unless each has one and its family is declared."""
    found: dict[str, Given] = {}
    for given in draft.given:
        _check_family(given, declared, error)
        if given.child in found:
            raise error(f"a variable must have one table; got another one of {shown(given.child)}.", given.place)
        found[given.child] = given
    for name, each in declared.items():
        if name not in found:
            raise error(f"a variable must have a table; {shown(name)} has none.", each.place)
    return found


def _check_family(given: Given, declared: dict[str, Declared], error: Error) -> None:
    for name in (given.child, *given.parents):
        if name not in declared:
            hint = did_you_mean(name, declared)
            raise error(f"a table must be about declared variables; got {shown(name)}. {hint}", given.place)
    if len({given.child, *given.parents}) <= len(given.parents):
        twice = first_repeated([given.child, *given.parents])
        raise error(f"the variables of a table must be distinct; got {shown(twice)} more than once.", given.place)


def _check_acyclic(tables: dict[str, Given], error: Error) -> None:
    if cycle := find_cycle({name: given.parents for name, given in tables.items()}):
        raise error(cycle_text(cycle), tables[cycle[-1]].place)


class _Work(NamedTuple):
    """A table in the making: its variables by their true names, and its rows."""

    variable: Variable
    parents: tuple[Variable, ...]
    family: Family
    rows: Rows

    @property
    def name(self) -> str:
        return shown(self.family.given.child)

    @property
    def place(self) -> Place:
        return self.family.given.place


def _work(
    given: Given,
    declared: dict[str, Declared],
    variables: dict[str, Variable],
    read_rows: Callable[[Family], Rows],
) -> _Work:
    family = Family(given, declared[given.child].states, tuple(declared[p].states for p in given.parents))
    return _Work(variables[given.child], tuple(variables[p] for p in given.parents), family, read_rows(family))


def _table(work: _Work, error: Error) -> ConditionalTable:
    if work.rows.configurations is None:
        return _dense(work, _checked(work, error), error)
    if work.rows.default is not None and work.parents:
        return _sparse(work, error)
    return _dense(work, _complete(work, error), error)


def _dense(work: _Work, values: np.ndarray, error: Error) -> CPT:
    if len(work.parents) > 63:
        raise error(f"a dense table must have at most 63 parents; {work.name} has more.", work.place)
    shape = (*(p.n_states for p in work.parents), work.variable.n_states)
    return CPT._trusted(work.variable, work.parents, values.reshape(shape))


def _sparse(work: _Work, error: Error) -> SparseCPT:
    numbers = _distinct(work, error)
    values, order = _checked(work, error), np.argsort(numbers)
    return SparseCPT._trusted(work.variable, work.parents, numbers[order], values[order], _default(work, error))


def _default(work: _Work, error: Error) -> np.ndarray:
    row = np.array([work.rows.default])
    try:
        return checked_rows(work.variable, (), row, advice=False)[0].copy()
    except DataError as reason:
        raise error(f"the default row: {reason}", work.place) from None


def _complete(work: _Work, error: Error) -> np.ndarray:
    """Return all rows in the order of their configurations; raise when one is missing."""
    numbers = _distinct(work, error)
    if len(numbers) < work.family.n_configurations:
        here = np.sort(numbers)
        gap = int(np.flatnonzero(np.append(here, -1) != np.arange(len(here) + 1))[0])
        what = f"a row for every configuration of its parents; there is none{condition_text(work.parents, gap)}"
        raise error(f"the table of {work.name} must have {what}.", work.place)
    values = np.empty_like(work.rows.values)
    values[numbers] = _checked(work, error)
    return values


def _distinct(work: _Work, error: Error) -> np.ndarray:
    """Return the numbers of the configurations; raise when one comes twice, or is none of the parents'."""
    rows, numbers = work.rows, np.array(work.rows.configurations, np.int64)
    outside = np.flatnonzero(numbers >= work.family.n_configurations)
    if outside.size:
        rule = "must be of a configuration that its parents have"
        raise error(f"a row of {work.name} {rule}; got one too many.", rows.where(int(outside[0])))
    if len(set(rows.configurations or ())) < len(numbers):
        first = np.unique(numbers, return_index=True)[1]
        again = int(np.setdiff1d(np.arange(len(numbers)), first)[0])
        where = condition_text(work.parents, int(numbers[again]))
        raise error(f"a configuration must have one row; got another one of {work.name}{where}.", rows.where(again))
    return numbers


def _checked(work: _Work, error: Error) -> np.ndarray:
    """Return the rows, which must be distributions."""
    rows = work.rows
    numbers = None if rows.configurations is None else np.array(rows.configurations)
    try:
        return checked_rows(work.variable, work.parents, rows.values, numbers, advice=False)
    except DataError as reason:
        raise error(str(reason), rows.where(int(wrong_rows(rows.values).argmax()))) from None
