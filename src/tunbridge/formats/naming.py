"""Names in files whose grammar cannot say every name.

A variable may be called anything: ``Smoker?``, ``2nd test``, ``"quoted"``, 吸烟. A file that has no way to write such a
name gets a legal one in its place and the true one in a property, percent-encoded as in a web address, so that it can
be written everywhere and needs no quoting:

    tunbridge_name = Smoker%3F              the true name of the node or the network
    tunbridge_states = %3C5 5-12 12%2B      the true states, all of them, in order
    tunbridge_property_0 = a%3B%20b         a property that the file could not hold as it is
    tunbridge_cuts = 37.5 38.5              the cut points of a node whose states are intervals; % for none

Readers put the true names and the cut points back. Other programs see the legal names and, to them, a property like any
other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.formats.parts import NetworkParts

MARKER = "tunbridge_"

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MARKED = re.compile(r'tunbridge_(name|states|property|cuts)(?:_\d+)?\s*=\s*(?:"([^"]*)"|([^"\s][^"]*))')
_EMPTY = "%"  # a percent sign of a text is written %25, so it is free to stand for an empty text


@dataclass(frozen=True)
class Rules:
    """What a format can write as it is: the tests of names, states and properties, and how a marker looks."""

    is_name: Callable[[str], bool]
    is_state: Callable[[str], bool]
    is_property: Callable[[str], bool]
    is_network: Callable[[str], bool]
    marker: Callable[[str, str], str] = "{} = {}".format


class FileNode(NamedTuple):
    """A node as it is written: its names and its properties, markers included."""

    name: str
    states: tuple[str, ...]
    properties: tuple[str, ...]
    is_renamed: bool


class Restored(NamedTuple):
    """What properties say: the true names where they differ, the cut points of a node, and the other properties."""

    name: str | None
    states: tuple[str, ...] | None
    properties: tuple[str, ...]
    cuts: tuple[str, ...] | None = None


def file_network(parts: NetworkParts, rules: Rules) -> tuple[str, tuple[str, ...]]:
    """Return the network's name, or "" when the file cannot say it, and its properties."""
    is_legal = rules.is_network(parts.name)
    marker = () if is_legal else (rules.marker(f"{MARKER}name", encoded(parts.name)),)
    return parts.name if is_legal else "", (*marker, *_properties(parts.properties.get("", ()), rules))


def file_nodes(parts: NetworkParts, rules: Rules) -> dict[str, FileNode]:
    """Return the nodes as they are written, by their true names and in order."""
    names = _legal_names([cpt.variable.name for cpt in parts.cpts], rules.is_name)
    return {
        cpt.variable.name: _file_node(cpt.variable, name, parts.properties.get(cpt.variable.name, ()), rules)
        for cpt, name in zip(parts.cpts, names, strict=True)
    }


def restored(properties: Sequence[str]) -> Restored:
    """Return the true names that properties give, and the properties as they were before they were written.

    Raises
    ------
    ValueError
        When an encoded text is not UTF-8.
    """
    name, states, cuts, kept = None, None, None, []
    for text in properties:
        match = _MARKED.fullmatch(text)
        value = "" if match is None else match[2] if match[3] is None else match[3]
        if match is None:
            kept.append(text)
        elif match[1] == "name":
            name = decoded(value)
        elif match[1] == "states":
            states = tuple(map(decoded, value.split()))
        elif match[1] == "cuts":
            cuts = tuple(filter(None, map(decoded, value.split())))
        else:
            kept.append(decoded(value))
    return Restored(name, states, tuple(kept), cuts)


def state_texts(variable: Variable) -> tuple[str, ...]:
    """Return the states as text, which is what a file holds; raise when two of them read alike."""
    texts = tuple(str(state) for state in variable.states or ())
    if len(set(texts)) < len(texts):
        twice = first_repeated(texts)
        raise DataError(
            f"the states of {variable.name!r} must differ when they are written as text; got {twice!r} more than once. "
            "A native file (.tb) keeps their types."
        )
    return texts


def first_repeated(names: Iterable[str]) -> str:
    """Return the first name that was there before.

    Examples
    --------
    >>> first_repeated(["a", "b", "a"])
    'a'
    """
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def is_identifier(name: str) -> bool:
    """Return whether a name is an identifier in the sense of C."""
    return _IDENTIFIER.fullmatch(name) is not None


def is_line(text: str) -> bool:
    """Return whether a text can stand on a line between quotes."""
    return text.isprintable() and '"' not in text


def encoded(text: str) -> str:
    """Return a text in letters, digits and ``_.-~%`` only.

    Examples
    --------
    >>> encoded("Smoker?"), decoded("Smoker%3F")
    ('Smoker%3F', 'Smoker?')
    """
    try:
        return quote(text, safe="") or _EMPTY
    except UnicodeEncodeError:
        raise DataError(f"a name must be text that UTF-8 can write; got {text!r}.") from None


def decoded(text: str) -> str:
    """Return the text that was encoded."""
    return "" if text == _EMPTY else unquote(text, errors="strict")


def _file_node(variable: Variable, name: str, properties: Sequence[str], rules: Rules) -> FileNode:
    texts = state_texts(variable)
    states = tuple(_legal_names(texts, rules.is_state))
    markers = []
    if name != variable.name:
        markers.append(rules.marker(f"{MARKER}name", encoded(variable.name)))
    if states != texts:
        markers.append(rules.marker(f"{MARKER}states", " ".join(map(encoded, texts))))
    if variable.cuts is not None:
        markers.append(rules.marker(f"{MARKER}cuts", " ".join(map(repr, variable.cuts)) or _EMPTY))
    return FileNode(name, states, (*markers, *_properties(properties, rules)), name != variable.name)


def _properties(properties: Sequence[str], rules: Rules) -> list[str]:
    found = []
    for i, text in enumerate(properties):
        is_legal = rules.is_property(text) and not text.startswith(MARKER)
        found.append(text if is_legal else rules.marker(f"{MARKER}property_{i}", encoded(text)))
    return found


def _legal_names(names: Sequence[str], is_legal: Callable[[str], bool]) -> list[str]:
    """Return the legal names as they are, and for the others legal ones that nobody has."""
    taken, numbers = set(names), Counter[str]()
    return [name if is_legal(name) else _free(_letters(name), taken, numbers, is_legal) for name in names]


def _letters(name: str) -> str:
    """Return the part of a name that every format can write."""
    letters = re.sub(r"\W+", "_", name[:40], flags=re.ASCII).strip("_")
    return letters if letters[:1].isalpha() or not letters else f"n{letters}"


def _free(base: str, taken: set[str], numbers: Counter[str], is_legal: Callable[[str], bool]) -> str:
    """Return a name that is not taken, and take it."""
    name = base
    while not name or name in taken or not is_legal(name):
        numbers[base] += 1
        name = f"{base or 'n'}_{numbers[base]}"
    taken.add(name)
    return name
