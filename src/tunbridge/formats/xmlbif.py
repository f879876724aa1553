"""XMLBIF: the Interchange Format in XML, version 0.3; Weka, JavaBayes and many others write it.

    <VARIABLE TYPE="nature"><NAME>Smoker</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>Cancer</FOR><GIVEN>Smoker</GIVEN><TABLE>0.05 0.95 0.01 0.99</TABLE></DEFINITION>

The numbers of a table run with the variable's outcomes fastest and the first ``GIVEN`` slowest. The XML is read as a
stream by expat; the document type may describe elements, but a file that declares its own entities is refused, so that
nothing is fetched and nothing expands. White space around names is ignored; names that need it, or characters that XML
cannot hold, are written as a property.

References
----------
F. G. Cozman (1998). The Interchange Format for Bayesian Networks, XMLBIF version 0.3.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from tunbridge._core.registry import network_format
from tunbridge.errors import FormatError
from tunbridge.formats._assembly import (
    Declared,
    Draft,
    Family,
    FileNode,
    Given,
    NetworkParts,
    Rows,
    Rules,
    assemble,
    file_network,
    flat_rows,
    row_text,
    shown,
)
from tunbridge.formats._scanner import check_text, to_numbers

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'  # no document type: some readers stop at one
_DEEPEST = 64
_NUMBER = re.compile(r"[^\s,]+")

Place = tuple[int, int]


def read_xmlbif(text: str) -> NetworkParts:
    """Return the network that an XMLBIF text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''<BIF VERSION="0.3"><NETWORK><NAME>toss</NAME>
    ... <VARIABLE TYPE="nature"><NAME>Coin</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>Coin</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>'''
    >>> read_xmlbif(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    reader = _Reader(text)
    return assemble(reader.read(), reader.rows, _error)


def write_xmlbif(parts: NetworkParts) -> str:
    """Return a network as XMLBIF text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_xmlbif(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    <?xml version="1.0" encoding="UTF-8"?>
    <BIF VERSION="0.3">
    <NETWORK>
    <NAME>toss</NAME>
    <VARIABLE TYPE="nature">
      <NAME>Coin</NAME>
      <OUTCOME>heads</OUTCOME>
      <OUTCOME>tails</OUTCOME>
    </VARIABLE>
    <DEFINITION>
      <FOR>Coin</FOR>
      <TABLE>
        0.5 0.5
      </TABLE>
    </DEFINITION>
    </NETWORK>
    </BIF>
    <BLANKLINE>
    """
    network = file_network(parts, _RULES)
    lines = [_HEAD, '<BIF VERSION="0.3">', "<NETWORK>", _element("NAME", network.name)]
    lines += [_element("PROPERTY", text) for text in network.properties]
    for node in network.nodes:
        lines += _variable_lines(node)
    for node in network.nodes:
        lines += _definition_lines(node)
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


# Reading


_ONCE = ("NAME", "FOR", "TABLE")
_MANY = ("OUTCOME", "VALUE", "PROPERTY", "GIVEN")
_KEPT = {*_ONCE, *_MANY}


@dataclass(slots=True)
class _Element:
    """An open element: its text, and what is kept of its children."""

    name: str
    place: Place
    texts: list[str] = field(default_factory=list)
    once: dict[str, tuple[str, Place]] = field(default_factory=dict)
    many: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    def keep(self, part: _Element) -> None:
        if part.name in _MANY:
            self.many.append((part.name, part.text))
        elif part.name in self.once:
            raise _error(f"<{self.name}> must have one <{part.name}>; got another one.", part.place)
        elif part.name in _ONCE:
            self.once[part.name] = "".join(part.texts), part.place

    def only(self, name: str) -> tuple[str, Place]:
        if name not in self.once:
            raise _error(f"<{self.name}> must have one <{name}>; got none.", self.place)
        text, place = self.once[name]
        return text.strip(), place

    def all(self, *names: str) -> list[str]:
        return [text for name, text in self.many if name in names]

    def properties(self) -> list[str]:
        """Return the texts of the properties; some programs write empty ones."""
        return [text for text in self.all("PROPERTY") if text]


class _Reader:
    """The handlers of one parse: elements are collected until their variable or definition is complete."""

    def __init__(self, text: str) -> None:
        check_text(text)
        self.text = text
        self.draft = Draft(len(text))
        self.open: list[_Element] = []
        self.networks = 0
        self.parser = _parser(self._start, self._end, self._text)
        self.parser.buffer_text = True
        self.parser.CommentHandler = self._comment
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity

    def read(self) -> Draft:
        try:
            self.parser.Parse(self.text, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            message = f"the file must be well-formed XML; {reason}."
            raise FormatError(message, line=error.lineno, column=error.offset + 1) from None
        if not self.networks:
            raise FormatError("the file must hold a <NETWORK>; there is none.", line=1, column=1)
        return self.draft

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place, name = _place(self.parser), name.upper()
        if len(self.open) >= _DEEPEST:
            raise _error(f"elements must be nested at most {_DEEPEST} levels deep.", place)
        if not self.open and name != "BIF":
            raise _error(f"the first element must be <BIF>; got <{name[:40]}>.", place)
        kind = attributes.get("TYPE", "nature")
        if name == "VARIABLE" and kind.lower() != "nature":
            raise _error(f"a variable must be of type 'nature'; got {shown(kind)}, which is not supported.", place)
        self.networks += name == "NETWORK"
        if self.networks > 1:
            raise _error("a file must hold one network; got another one.", place)
        self.open.append(_Element(name, place))

    def _end(self, _: str) -> None:
        element = self.open.pop()
        handlers: dict[str, Callable[[_Element], None]] = {
            "NETWORK": self._network,
            "VARIABLE": self._variable,
            "DEFINITION": self._definition,
            "PROBABILITY": self._definition,
        }
        if element.name in handlers:
            handlers[element.name](element)
        elif self.open:
            self.open[-1].keep(element)

    def _text(self, text: str) -> None:
        if self.open and self.open[-1].name in _KEPT:
            self.open[-1].texts.append(text)

    def _comment(self, _: str) -> None:
        if self.open and self.open[-1].name == "TABLE":
            self.open[-1].texts.append(" ")  # it separates two numbers

    def _entity(self, name: str, *_: Any) -> None:
        message = f"the file must not declare or use its own entities; got {shown(name)}."
        raise _error(f"{message} Replace it by its text.", _place(self.parser))

    def _network(self, element: _Element) -> None:
        self.draft.name = element.only("NAME")[0] if "NAME" in element.once else ""
        self.draft.properties = element.properties()

    def _variable(self, element: _Element) -> None:
        name, place = element.only("NAME")
        self.draft.declared.append(Declared(name, tuple(element.all("OUTCOME", "VALUE")), place, element.properties()))

    def _definition(self, element: _Element) -> None:
        child, place = element.only("FOR")
        parents, table = tuple(element.all("GIVEN")), element.only("TABLE")
        self.draft.given.append(Given(child, parents, place, table, element.properties()))

    def rows(self, family: Family) -> Rows:
        """Return the rows of a table."""
        text, place = family.given.body

        def where(i: int) -> Place:
            return _number_places(self.text, place)[i]

        run = _NUMBER.findall(text)
        values = to_numbers(run, lambda i: _error(f"a table must be of numbers; got {shown(run[i])}.", where(i)))
        return flat_rows(family, values, where, _error)


def _parser(start: Callable[..., None], end: Callable[..., None], text: Callable[[str], None]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    return parser


def _number_places(text: str, table: Place) -> list[Place]:
    """Return the positions of the numbers of a table by another parse: good files do not pay for bad ones."""
    pieces: list[tuple[str, Place]] = []
    depth = 0

    def start(*_: Any) -> None:
        nonlocal depth
        depth += depth > 0 or _place(parser) == table

    def end(_: str) -> None:
        nonlocal depth
        depth -= depth > 0

    def piece(found: str) -> None:
        if depth == 1:
            pieces.append((found, _place(parser)))

    parser = _parser(start, end, piece)
    parser.CommentHandler = lambda _: piece(" ")
    parser.Parse(text, True)
    starts = list(accumulate((len(found) for found, _ in pieces), initial=0))
    places = []
    for match in _NUMBER.finditer("".join(found for found, _ in pieces)):
        n = bisect_right(starts, match.start()) - 1
        line, column = pieces[n][1]
        places.append((line, column + match.start() - starts[n]))
    return places


def _place(parser: expat.XMLParserType) -> Place:
    return parser.CurrentLineNumber, parser.CurrentColumnNumber + 1


def _error(message: str, place: Place | None) -> FormatError:
    line, column = place or (1, 1)
    return FormatError(message, line=line, column=column)


# Writing


def _is_text(text: str) -> bool:
    return text.isprintable() and text == text.strip()


def _is_name(text: str) -> bool:
    return bool(text) and _is_text(text)


_RULES = Rules(_is_name, _is_text, is_property=_is_name, is_network=_is_text)


def _element(name: str, text: str, indent: str = "") -> str:
    return f"{indent}<{name}>{escape(text)}</{name}>"


def _variable_lines(node: FileNode) -> Iterator[str]:
    yield '<VARIABLE TYPE="nature">'
    yield _element("NAME", node.name, "  ")
    yield from (_element("OUTCOME", state, "  ") for state in node.states)
    yield from (_element("PROPERTY", text, "  ") for text in node.properties)
    yield "</VARIABLE>"


def _definition_lines(node: FileNode) -> list[str]:
    names = [_element("FOR", node.name, "  "), *(_element("GIVEN", p.name, "  ") for p in node.parents)]
    rows = [f"    {row_text(row, ' ')}" for row in node.rows()]
    return ["<DEFINITION>", *names, "  <TABLE>", *rows, "  </TABLE>", "</DEFINITION>"]


@network_format("xmlbif", suffixes=(".xmlbif", ".xml", ".bifxml"))
class XMLBIF:
    """XMLBIF, the Interchange Format in XML."""

    read, write = staticmethod(read_xmlbif), staticmethod(write_xmlbif)
