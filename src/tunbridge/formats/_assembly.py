"""What all network formats share: the parts of a network, from what a text declares to its tables, and names.

*Reading.* A parser finds which variables a file declares (:class:`Declared`) and which tables it has (:class:`Given`),
each with its place. The numbers are read once all variables are known, because a table may come before the variables
it is about: the second half of the parser is called with the family of the table and returns its rows (:class:`Rows`).
Everything that can be wrong with a well-formed network is found here and reported with its place: a name that is
declared twice or not at all, a node without a table or with two, a cycle, a row that is not a distribution. A table is
never larger than the numbers that the file has for it, so a hostile header costs nothing.

*Rounding.* Many published files were written with six digits, and their rows do not quite sum to one. A row whose sum
differs from one by at most 1e-3 is rescaled; one warning for the file names the worst of them. A row beyond that is an
error. Differences up to 1e-6 are rescaled without a warning.

*Names.* A variable may have any name: ``Smoker?``, ``2nd test``, ``"quoted"``, 吸烟. A format that cannot write such a
name gets a legal one in its place, and the true name in a property, percent-encoded as in a web address:

    tunbridge_name = Smoker%3F              the true name of the node or the network
    tunbridge_states = %3C5 5-12 12%2B      the true states, all of them, in order
    tunbridge_property_0 = a%3B%20b         a property that the format cannot hold
    tunbridge_cuts = 37.5 38.5              the bin edges of a discretised node; % for none
    tunbridge_order = 1 0 2                 the places of the nodes in a file that has parents before children

Readers restore the true names and the bin edges. Other programs see the legal names and an ordinary property.

*Writing.* Numbers are written in the shortest form that reads back as the same number.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, repeated, shortened, warn_user
from tunbridge._core.memory import check_memory
from tunbridge.data import Variable
from tunbridge.data.reading import Reading
from tunbridge.errors import DataError, DataWarning, FormatError
from tunbridge.graph.names import joined
from tunbridge.graph.walks import named_cycle, topological_order
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.reading import TOLERANCE, checked_rows, condition_text, wrong_rows

Place = Any
"""A position in a file; only the parser that made it knows what it means."""

Error = Callable[[str, Place], FormatError]
"""Returns the error for a message and a place."""

MARKER = "tunbridge_"

FILE_TOLERANCE = 1.001e-3
"""The tolerance of the sum of a row in a file: 1e-3, and a little more for 0.333 three times."""

# Upper bounds that were measured on the worst texts: bytes for a byte of text, for a node and for a state.
_TEXT_SHARE, _NODE_SHARE, _STATE_SHARE = 40, 2500, 300
_CELL = 100  # bytes that a number takes while it becomes text, at most
_MOST = 2**62  # configurations, so that their numbers are 64-bit integers
_SHOWN = 58  # characters, and two for the quotes
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MARKED = re.compile(r'tunbridge_(name|states|property|cuts|order)(?:_\d+)?\s*=\s*(?:"([^"]*)"|([^"\s][^"]*))')
_ORDER = f"{MARKER}order"
_EMPTY = "%"  # a percent sign of a text is written %25, so it is free to mean an empty text


@dataclass(frozen=True)
class NetworkParts:
    """What a file holds of a network. Readers return it, writers take it; a network checks that its parts fit.

    Parameters
    ----------
    name : str
        The name of the network, or "".
    cpts : iterable of ConditionalTable
        The table of each node, in the order of the nodes.
    properties : mapping of str to sequence of str, optional
        The properties of nodes by their names, and those of the network under "": lines of text that files carry along.
        They are kept as a read-only mapping.
    reading : Reading, optional
        How the table was read that the network was learned from.

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
    reading: Reading | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpts", tuple(self.cpts))
        properties = {name: tuple(lines) for name, lines in self.properties.items() if lines}
        object.__setattr__(self, "properties", MappingProxyType(properties))

    def __reduce__(self) -> tuple[Any, ...]:
        return NetworkParts, (self.name, self.cpts, dict(self.properties))  # the view cannot be pickled

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the nodes, in order."""
        return tuple(cpt.variable for cpt in self.cpts)


# Reading: what a parser finds


@dataclass
class Declared:
    """A variable as a file declares it; a continuous one has no states."""

    name: str
    states: tuple[str, ...]
    place: Place
    properties: list[str] = field(default_factory=list)
    is_continuous: bool = False


@dataclass(frozen=True)
class Given:
    """A table of a file: its variable, the parents, its place, what the parser needs to read its rows, properties."""

    child: str
    parents: tuple[str, ...]
    place: Place
    body: Any = None
    properties: Sequence[str] = ()


@dataclass
class Draft:
    """Everything that a parser has found, the length of the text, and what the user is warned of.

    ``decisions`` and ``utilities`` are nodes with their places, for the sentence that refuses them. ``n_rounded``
    counts rescaled rows, and ``worst`` is the largest difference of a sum from one, with the row in words.
    """

    length: int
    name: str = ""
    is_begun: bool = False
    properties: list[str] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    decisions: dict[str, Place] = field(default_factory=dict)
    utilities: dict[str, Place] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    n_rounded: int = 0
    worst: tuple[float, str] = (0.0, "")


class Family(NamedTuple):
    """A table to be read: its states and those of its parents as the file names them, and its variables."""

    given: Given
    states: tuple[str, ...]
    parent_states: tuple[tuple[str, ...], ...]
    variable: Variable
    parents: tuple[Variable, ...]

    @property
    def n_states(self) -> int:
        """The number of states of the variable."""
        return len(self.states)

    @property
    def n_configurations(self) -> int:
        """The number of configurations of the parents; some number above 2^62 if there are more than that."""
        return product_up_to(_MOST, map(len, self.parent_states))

    @property
    def shown(self) -> str:
        """The name of the variable for a message."""
        return shown(self.given.child)


class Rows(NamedTuple):
    """The rows of a table: probabilities, their places, and their configurations unless all are there in order."""

    values: np.ndarray
    where: Callable[[int], Place]
    configurations: Sequence[int] | None = None
    default: np.ndarray | None = None


def assemble(draft: Draft, read_rows: Callable[[Family], Rows | ConditionalTable], error: Error) -> NetworkParts:
    """Return the parts of the network that a file describes; warn of rows that were rescaled.

    Parameters
    ----------
    draft : Draft
        What the parser has found.
    read_rows : callable
        Returns the rows of a table, of shape (n, n_states), or the table itself if it is not of rows.
    error : callable
        Returns the FormatError for a message and a place.
    """
    _check_chance(draft, error)
    check_size(draft.length, len(draft.declared), sum(len(each.states) for each in draft.declared))
    declared = _by_name(draft, error)
    for given in draft.given:  # the properties of a table belong to its node
        if given.child in declared:
            declared[given.child].properties.extend(given.properties)
    tables = _tables(draft, declared, error)
    variables = {name: _variable(each, error) for name, each in declared.items()}
    _check_distinct(variables, declared, error)
    if cycle := named_cycle({name: given.parents for name, given in tables.items()}):
        raise error(f"the arcs must not form a cycle; got {joined(cycle)}.", tables[cycle[-1]].place)
    order = _order(draft, len(declared))
    cpts = [_table(draft, _family(tables[name], declared, variables), read_rows, error) for name in declared]
    name, _, own, _ = _restored(draft.properties, error, None)
    properties = {
        variables[name].name: _restored(each.properties, error, each.place)[2] for name, each in declared.items()
    }
    _warn(draft)
    ordered = tuple(cpts[i] for i in order)
    return NetworkParts(draft.name if name is None else name, ordered, {"": own, **properties})


def _order(draft: Draft, n: int) -> Sequence[int]:
    """Return the places of the nodes in the file, in their order; that of the file unless a property says otherwise."""
    texts = (text.partition("=")[2].replace('"', "").split() for text in draft.properties if text.startswith(_ORDER))
    words = next(texts, [])
    order = [int(word) for word in words if word.isdecimal() and len(word) < 10]
    return order if sorted(order) == list(range(n)) else range(n)


def _check_chance(draft: Draft, error: Error) -> None:
    """Raise if the file describes a decision network."""
    kinds = {"decision": draft.decisions, "utility": draft.utilities}
    if found := [f"{listed(names)} ({kind})" for kind, names in kinds.items() if names]:
        rule = f"all nodes must be chance nodes; got {' and '.join(found)}"
        place = next(iter([*draft.decisions.values(), *draft.utilities.values()]))
        raise error(f"{rule}. Decision networks (influence diagrams) are not supported yet.", place)


def _warn(draft: Draft) -> None:
    """Warn once of everything that was read with a change; ``notes`` are sentences with the tables they are about."""
    sentences = [f"{note}: {listed(names)}." for note, names in draft.notes.items()]
    if draft.n_rounded:
        were, worst = ("was", "") if draft.n_rounded == 1 else ("were", "; the worst")
        rows = counted(draft.n_rounded, "row")
        sentences.append(f"{rows} did not sum to 1 and {were} rescaled{worst}: the probabilities of {draft.worst[1]}.")
    if sentences:
        warn_user(" ".join(sentences), DataWarning)


def check_size(length: int, n_nodes: int = 0, n_states: int = 0) -> None:
    """Raise MemoryForecastError if a text of so many bytes, and the network in it, would not fit into memory."""
    n_bytes = _TEXT_SHARE * length + _NODE_SHARE * n_nodes + _STATE_SHARE * n_states
    check_memory("reading the network", n_bytes, ways_out="Set TUNBRIDGE_MEMORY_LIMIT (bytes) if you trust the file.")


def flat_rows(
    family: Family, values: np.ndarray, where: Callable[[int], Place], error: Error, *, child_slowest: bool = False
) -> Rows:
    """Return the rows of a table that lists all numbers, the variable's states fastest; ``where`` is of a number."""
    wanted, n = family.n_configurations * family.n_states, family.n_states
    if len(values) != wanted:
        sizes = [*map(len, family.parent_states), n]
        raise error(numbers_text(f"the table of {family.shown}", sizes, len(values)), family.given.place)
    if child_slowest:
        return Rows(np.ascontiguousarray(values.reshape(n, -1).T), where)
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
    """Return a product, or some number above ``most`` if it is larger: a hostile file gets no huge numbers.

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
    """Raise if the parents have too many configurations to be numbered."""
    if family.n_configurations > _MOST:
        rule = f"the parents of {family.shown} must have at most 2^62 configurations"
        raise error(f"{rule}; got more.", family.given.place)


def check_states(name: str, states: Sequence[str], error: Error, place: Place, declared: int | None = None) -> None:
    """Raise unless there is a state, and as many as the file declares."""
    if not states:
        raise error(f"{shown(name)} must have states; got none.", place)
    if declared is not None and declared != len(states):
        raise error(f"{shown(name)} must have {declared} states, as declared; got {len(states)}.", place)


def shown(name: str) -> str:
    """Return a name for a message, in quotes; a long one is shortened.

    Examples
    --------
    >>> shown("a"), shown("b" * 1000)[-5:], len(shown("b" * 1000))
    ("'a'", "bbb…'", 60)
    """
    return repr(shortened(name, _SHOWN))


# Reading: the variables


def _by_name(draft: Draft, error: Error) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for each in draft.declared:
        if not each.is_continuous:
            check_states(each.name, each.states, error, each.place)
        if each.name in found:
            raise error(f"a variable must be declared once; got {shown(each.name)} again.", each.place)
        found[each.name] = each
    return found


def _variable(declared: Declared, error: Error) -> Variable:
    """Return the variable with its true names, and its bin edges if it has any."""
    name, states, _, texts = _restored(declared.properties, error, declared.place)
    if declared.is_continuous:
        return Variable(declared.name if name is None else name)
    if states is not None and len(states) != len(declared.states):
        rule = f"must be as many as it declares, {len(declared.states)}"
        raise error(f"the true states of {shown(declared.name)} {rule}; got {len(states)}.", declared.place)
    cuts = None if texts is None else [_bin_edge(text, declared, error) for text in texts]
    try:
        return Variable(declared.name if name is None else name, states or declared.states, cuts=cuts)
    except DataError as reason:
        raise error(str(reason), declared.place) from None


def _bin_edge(text: str, declared: Declared, error: Error) -> float:
    try:
        return float(text)
    except ValueError:
        what = f"the bin edges of {shown(declared.name)}"
        raise error(f"{what} must be numbers; got {shown(text)}.", declared.place) from None


def _restored(
    properties: Sequence[str], error: Error, place: Place
) -> tuple[str | None, tuple[str, ...] | None, tuple[str, ...], tuple[str, ...] | None]:
    """Return the true name and states that properties give, the other properties, and the bin edges."""
    found: dict[str, tuple[str, ...]] = {}
    kept: list[str] = []
    try:
        for text in properties:
            match = _MARKED.fullmatch(text)
            if match is None:
                kept.append(text)
                continue
            value = match[2] if match[3] is None else match[3]
            if match[1] == "property":
                kept.append(_decoded(value))
            elif match[1] == "name":
                found["name"] = (_decoded(value),)
            elif match[1] != "order":
                found[match[1]] = tuple(map(_decoded, value.split()))
    except ValueError:
        raise error("a percent-encoded name must be UTF-8; got other bytes.", place) from None
    cuts = tuple(filter(None, found["cuts"])) if "cuts" in found else None
    return found["name"][0] if "name" in found else None, found.get("states"), tuple(kept), cuts


def _check_distinct(variables: dict[str, Variable], declared: dict[str, Declared], error: Error) -> None:
    seen: set[str] = set()
    for name, variable in variables.items():
        if variable.name in seen:
            raise error(f"true names must be distinct; got {shown(variable.name)} again.", declared[name].place)
        seen.add(variable.name)


# Reading: the tables


def _tables(draft: Draft, declared: dict[str, Declared], error: Error) -> dict[str, Given]:
    """Return the table of each variable; raise unless each has one and its family is declared."""
    found: dict[str, Given] = {}
    for given in draft.given:
        family = (given.child, *given.parents)
        for name in family:
            if name not in declared:
                hint = did_you_mean(name, declared)
                raise error(f"a table must be about declared variables; got {shown(name)}. {hint}", given.place)
        if len(set(family)) < len(family):
            twice = shown(repeated(family)[0])
            raise error(f"the variables of a table must be distinct; got {twice} more than once.", given.place)
        if given.child in found:
            raise error(f"a variable must have one table; got another one of {shown(given.child)}.", given.place)
        if not declared[given.child].is_continuous:
            _check_parents(given, declared, error)
        found[given.child] = given
    for name, each in declared.items():
        if name not in found:
            raise error(f"a variable must have a table; {shown(name)} has none.", each.place)
    return found


def _check_parents(given: Given, declared: dict[str, Declared], error: Error) -> None:
    """Raise if a categorical variable has a continuous parent."""
    if numbers := [name for name in given.parents if declared[name].is_continuous]:
        rule = f"the parents of {shown(given.child)} must be categorical, as it is"
        raise error(f"{rule}; got the continuous {listed(numbers)}.", given.place)


def _family(given: Given, declared: dict[str, Declared], variables: dict[str, Variable]) -> Family:
    parent_states = tuple(declared[p].states for p in given.parents)
    parents = tuple(variables[p] for p in given.parents)
    return Family(given, declared[given.child].states, parent_states, variables[given.child], parents)


def _table(
    draft: Draft, family: Family, read_rows: Callable[[Family], Rows | ConditionalTable], error: Error
) -> ConditionalTable:
    rows, place = read_rows(family), family.given.place
    if isinstance(rows, ConditionalTable):
        return rows
    numbers = None if rows.configurations is None else _distinct(family, rows, error)
    values = checked_file_rows(draft, family, rows, numbers, error)
    if numbers is not None and rows.default is not None and family.parents:
        order = np.argsort(numbers)
        default = _default(draft, family, rows.default, error)
        return SparseCPT.of_valid(family.variable, family.parents, numbers[order], values[order], default)
    if numbers is not None:
        values = values[_complete(family, numbers, error)]
    if len(family.parents) > 63:
        raise error(f"a dense table must have at most 63 parents; {family.shown} has more.", place)
    shape = (*(p.n_states for p in family.parents), family.variable.n_states)
    return CPT.of_valid(family.variable, family.parents, values.reshape(shape))


def _distinct(family: Family, rows: Rows, error: Error) -> np.ndarray:
    """Return the numbers of the configurations; raise if one is repeated, or none of the parents'."""
    numbers = np.array(rows.configurations, np.int64)
    outside = np.flatnonzero(numbers >= family.n_configurations)
    if outside.size:
        rule = "must be of a configuration that its parents have"
        raise error(f"a row of {family.shown} {rule}; got one too many.", rows.where(int(outside[0])))
    if len(set(rows.configurations or ())) < len(numbers):
        first = np.unique(numbers, return_index=True)[1]
        again = int(np.setdiff1d(np.arange(len(numbers)), first)[0])
        where = condition_text(family.parents, int(numbers[again]))
        raise error(f"a configuration must have one row; got another one of {family.shown}{where}.", rows.where(again))
    return numbers


def _complete(family: Family, numbers: np.ndarray, error: Error) -> np.ndarray:
    """Return the order that sorts all configurations; raise if one is missing."""
    order = np.argsort(numbers)
    if len(numbers) < family.n_configurations:
        gap = int(np.flatnonzero(np.append(numbers[order], -1) != np.arange(len(numbers) + 1))[0])
        what = f"a row for every configuration of its parents; there is none{condition_text(family.parents, gap)}"
        raise error(f"the table of {family.shown} must have {what}.", family.given.place)
    return order


def checked_file_rows(draft: Draft, family: Family, rows: Rows, numbers: np.ndarray | None, error: Error) -> np.ndarray:
    """Return the rows, which must be distributions but for rounding, rescaled; the draft counts those it warns of."""
    with suppress(DataError):  # most files need no more
        return checked_rows(family.variable, family.parents, rows.values, numbers, advice=False)
    with np.errstate(invalid="ignore", over="ignore"):
        totals = rows.values.sum(axis=1)
    try:
        checked_rows(family.variable, family.parents, rows.values, numbers, advice=False, tolerance=FILE_TOLERANCE)
    except DataError as reason:
        raise error(str(reason), rows.where(int(wrong_rows(rows.values, FILE_TOLERANCE).argmax()))) from None
    off = np.abs(totals - 1.0)
    i = int(off.argmax())
    number = i if numbers is None else int(numbers[i])
    text = f"{family.shown}{condition_text(family.parents, number)}, with the sum {totals[i]:.10g}"
    draft.n_rounded += int((off > TOLERANCE).sum())
    draft.worst = max(draft.worst, (float(off[i]), text))
    return rows.values


def _default(draft: Draft, family: Family, row: np.ndarray, error: Error) -> np.ndarray:
    rows = Rows(np.array([row]), lambda _: family.given.place)
    return checked_file_rows(
        draft, family._replace(parents=()), rows, None, lambda text, place: error(f"the default row: {text}", place)
    )[0].copy()


# Writing


@dataclass(frozen=True)
class Rules:
    """What a format can write: the tests of names, states, properties and network names, and how a marker looks."""

    is_name: Callable[[str], bool]
    is_state: Callable[[str], bool]
    is_property: Callable[[str], bool]
    is_network: Callable[[str], bool]
    is_network_property: Callable[[str], bool] | None = None
    marker: Callable[[str, str], str] = "{} = {}".format


@dataclass(frozen=True, eq=False)
class FileNode:
    """A node as it is written: a legal name, legal states, properties with markers, its table and its parents."""

    name: str
    states: tuple[str, ...]
    properties: tuple[str, ...]
    cpt: ConditionalTable
    parents: list[FileNode] = field(default_factory=list)

    @property
    def full_name(self) -> str | None:
        """The true name, if the format needs another one and can write this one as a text; otherwise None."""
        true = self.cpt.variable.name
        return None if true == self.name else true if is_line(true) else self.name

    def full_name_statement(self, key: str, sign: str) -> list[str]:
        """Return the statement that gives the full name under a key, if there is one to give and none given yet."""
        given = self.full_name is None or any(text.startswith(f"{key} = ") for text in self.properties)
        return [] if given else [f'{key} {sign} "{self.full_name}"']

    def rows(self) -> np.ndarray:
        """Return all rows of the table, of shape (n_configurations, n_states)."""
        return self.cpt.table().reshape(-1, len(self.states))


class FileNetwork(NamedTuple):
    """A network as it is written: its name ("" if the format cannot write it), its properties and nodes."""

    name: str
    properties: tuple[str, ...]
    nodes: tuple[FileNode, ...]


def file_network(
    parts: NetworkParts, rules: Rules, *, keeps_sparse: bool = False, parents_first: bool = False
) -> FileNetwork:
    """Return the network as it is written; raise if its text would not fit into memory."""
    check_text_size(parts, keeps_sparse=keeps_sparse)
    is_legal = rules.is_network(parts.name)
    markers = [] if is_legal else [rules.marker(f"{MARKER}name", _encoded(parts.name))]
    order = _parents_first(parts) if parents_first else list(range(len(parts.cpts)))
    if order != sorted(order):
        markers.append(rules.marker(_ORDER, " ".join(map(str, np.argsort(order)))))
    is_property = rules.is_network_property or rules.is_property
    properties = (*markers, *_properties(parts.properties.get("", ()), rules, is_property))
    names = _legal_names([v.name for v in parts.variables], rules.is_name)
    nodes = {
        cpt.variable.name: _file_node(cpt, name, parts.properties.get(cpt.variable.name, ()), rules)
        for cpt, name in zip(parts.cpts, names, strict=True)
    }
    for node in nodes.values():
        node.parents.extend(nodes[p.name] for p in node.cpt.parents)
    written = list(nodes.values())
    return FileNetwork(parts.name if is_legal else "", properties, tuple(written[i] for i in order))


def _parents_first(parts: NetworkParts) -> list[int]:
    """Return the nodes in an order in which parents come before their children."""
    index = {variable.name: i for i, variable in enumerate(parts.variables)}
    parents = [[index[p.name] for p in cpt.parents] for cpt in parts.cpts]
    children: list[list[int]] = [[] for _ in parents]
    for child, above in enumerate(parents):
        for parent in above:
            children[parent].append(child)
    return topological_order(parents, children)


def _file_node(cpt: ConditionalTable, name: str, properties: Sequence[str], rules: Rules) -> FileNode:
    variable = cpt.variable
    texts = tuple(str(state) for state in variable.states or ())
    if len(set(texts)) < len(texts):
        raise DataError(
            f"the states of {variable.name!r} must differ when they are written as text; got "
            f"{repeated(texts)[0]!r} more than once. A native file (.tb) keeps their types."
        )
    states = tuple(_legal_names(texts, rules.is_state))
    marks = {}
    if name != variable.name:
        marks["name"] = _encoded(variable.name)
    if states != texts:
        marks["states"] = " ".join(map(_encoded, texts))
    if variable.cuts is not None:
        marks["cuts"] = " ".join(map(repr, variable.cuts)) or _EMPTY
    markers = [rules.marker(MARKER + key, value) for key, value in marks.items()]
    return FileNode(name, states, (*markers, *_properties(properties, rules, rules.is_property)), cpt)


def _properties(properties: Sequence[str], rules: Rules, is_property: Callable[[str], bool]) -> list[str]:
    found = []
    for i, text in enumerate(properties):
        is_legal = is_property(text) and not text.startswith(MARKER)
        found.append(text if is_legal else rules.marker(f"{MARKER}property_{i}", _encoded(text)))
    return found


def _legal_names(names: Sequence[str], is_legal: Callable[[str], bool]) -> list[str]:
    """Return the names, with unused legal ones in place of those that are not legal."""
    taken, numbers, found = set(names), Counter[str](), []
    for name in names:
        if not is_legal(name):
            base = re.sub(r"\W+", "_", name[:40], flags=re.ASCII).strip("_")
            name = base = base if base[:1].isalpha() or not base else f"n{base}"
            while not name or name in taken or not is_legal(name):
                numbers[base] += 1
                name = f"{base or 'n'}_{numbers[base]}"
            taken.add(name)
        found.append(name)
    return found


def is_identifier(name: str) -> bool:
    """Return whether a name is an identifier in the sense of C."""
    return _IDENTIFIER.fullmatch(name) is not None


def is_line(text: str) -> bool:
    """Return whether a text can be written on a line between quotes."""
    return text.isprintable() and '"' not in text


def _encoded(text: str) -> str:
    """Return a text in letters, digits and ``_.-~%`` only.

    Examples
    --------
    >>> _encoded("Smoker?"), _decoded("Smoker%3F")
    ('Smoker%3F', 'Smoker?')
    """
    try:
        return quote(text, safe="") or _EMPTY
    except UnicodeEncodeError:
        raise DataError(f"a name must be text that UTF-8 can encode; got {text!r}.") from None


def _decoded(text: str) -> str:
    return "" if text == _EMPTY else unquote(text, errors="strict")


def row_text(row: np.ndarray, comma: str = ", ") -> str:
    """Return numbers as text from which they can be read back exactly."""
    return comma.join(map(repr, row.tolist()))


def check_text_size(parts: NetworkParts, *, keeps_sparse: bool = False) -> None:
    """Raise MemoryForecastError if the text would not fit into memory."""
    n_cells = 0
    for cpt in parts.cpts:
        n_rows = cpt.n_rows + 1 if keeps_sparse and isinstance(cpt, SparseCPT) else cpt.n_configurations
        n_cells += n_rows * (len(cpt.parents) + 2 if cpt.variable.is_continuous else cpt.variable.n_states)
    ways_out = "Write a native file (.tb): it keeps sparse and noisy-MAX tables as they are."
    check_memory("the text of the network", _CELL * n_cells, ways_out=ways_out)
