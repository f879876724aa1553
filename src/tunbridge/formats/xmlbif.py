"""XMLBIF: the Interchange Format in XML, version 0.3; Weka, JavaBayes and many others write it.

    <VARIABLE TYPE="nature"><NAME>Smoker</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>Cancer</FOR><GIVEN>Smoker</GIVEN><TABLE>0.05 0.95 0.01 0.99</TABLE></DEFINITION>

The numbers of a table run with the variable's outcomes fastest and the first ``GIVEN`` slowest. The XML is read as a
stream by expat; the document type may describe elements, but a file that declares entities of its own is refused, so
that nothing is fetched and nothing grows. White space around names is no part of them; names that need it, or letters
that XML cannot hold, are written as said in :mod:`tunbridge.formats.naming`.

References
----------
F. G. Cozman (1998). The Interchange Format for Bayesian Networks, XMLBIF version 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from tunbridge.errors import FormatError
from tunbridge.formats.assembly import Declared, Draft, Family, Given, Rows, assemble, check_states, flat_rows
from tunbridge.formats.naming import FileNode, Rules, file_network, file_nodes
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.rows import check_text_size, dense_rows, row_text
from tunbridge.formats.scanner import check_text, place_of, shown, to_numbers
from tunbridge.probability import ConditionalTable

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
    return assemble(_Reader().read(text), _rows, _error)


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
    check_text_size(parts)
    name, properties = file_network(parts, _RULES)
    nodes = file_nodes(parts, _RULES)
    lines = [_HEAD, '<BIF VERSION="0.3">', "<NETWORK>", _element("NAME", name)]
    lines += [_element("PROPERTY", text) for text in properties]
    for node in nodes.values():
        lines += _variable_lines(node)
    for cpt in parts.cpts:
        lines += _definition_lines(cpt, nodes)
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


# Reading


@dataclass
class _Element:
    """An element that is open, or whose texts are kept."""

    name: str
    place: Place
    texts: list[str] = field(default_factory=list)
    parts: list[_Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    def all(self, *names: str) -> list[_Element]:
        return [part for part in self.parts if part.name in names]


class _Reader:
    """The handlers of one parse: elements are collected until their variable or definition is complete."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.open: list[_Element] = []
        self.networks = 0
        self.late: list[tuple[str, str]] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.CommentHandler = self._comment
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity

    def read(self, text: str) -> Draft:
        check_text(text)
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            message = f"the file must be well-formed XML; {reason}."
            raise FormatError(message, line=error.lineno, column=error.offset + 1) from None
        if not self.networks:
            raise FormatError("the file must hold a <NETWORK>; there is none.", line=1, column=1)
        owners = {each.name: each for each in self.draft.declared}
        for name, text_of_property in self.late:  # the properties of tables belong to their nodes
            if name in owners:
                owners[name].properties.append(text_of_property)
        return self.draft

    @property
    def _place(self) -> Place:
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place, name = self._place, name.upper()
        if len(self.open) >= _DEEPEST:
            raise _error(f"elements must be nested at most {_DEEPEST} levels deep.", place)
        if not self.open and name != "BIF":
            raise _error(f"the first element must be <BIF>; got <{name[:40]}>.", place)
        kind = attributes.get("TYPE", "nature")
        if name == "VARIABLE" and kind.lower() != "nature":
            raise _error(f"a variable must be of type 'nature'; got {shown(kind)}, which is not read here.", place)
        self.networks += name == "NETWORK"
        if self.networks > 1:
            raise _error("a file must hold one network; got another one.", place)
        self.open.append(_Element(name, place))

    def _end(self, _: str) -> None:
        element = self.open.pop()
        handlers: dict[str, Callable[[_Element], None]] = {
            "VARIABLE": self._variable,
            "DEFINITION": self._definition,
            "PROBABILITY": self._definition,
        }
        if not self.open:
            return
        if element.name in handlers:
            handlers[element.name](element)
        elif self.open[-1].name != "NETWORK":
            self.open[-1].parts.append(element)
        elif element.name == "NAME":
            self.draft.name = element.text
        elif element.name == "PROPERTY":
            self.draft.properties.append(element.text)

    def _text(self, text: str) -> None:
        if self.open:
            self.open[-1].texts.append(text)

    def _comment(self, text: str) -> None:
        if self.open and self.open[-1].name == "TABLE":  # its lines count, so that numbers can be found again
            self.open[-1].texts.append(" " + "\n" * text.count("\n"))

    def _entity(self, name: str, *_: Any) -> None:
        message = f"the file must not declare or use entities of its own; got {shown(name)}."
        raise _error(f"{message} Write out what it stands for.", self._place)

    def _variable(self, element: _Element) -> None:
        name = _only(element, "NAME")
        states = tuple(part.text for part in element.all("OUTCOME", "VALUE"))
        check_states(name.text, states, None, lambda message: _error(message, element.place))
        properties = [part.text for part in element.all("PROPERTY")]
        self.draft.declared.append(Declared(name.text, states, name.place, properties))

    def _definition(self, element: _Element) -> None:
        child, table = _only(element, "FOR"), _only(element, "TABLE")
        parents = tuple(part.text for part in element.all("GIVEN"))
        self.draft.given.append(Given(child.text, parents, child.place, table))
        self.late += [(child.text, part.text) for part in element.all("PROPERTY")]


def _only(element: _Element, name: str) -> _Element:
    found = element.all(name)
    if len(found) != 1:
        raise _error(f"<{element.name}> must have one <{name}>; got {len(found)}.", element.place)
    return found[0]


def _rows(family: Family) -> Rows:
    table: _Element = family.given.body
    text = "".join(table.texts)

    def where(i: int) -> Place:
        match = next(islice(_NUMBER.finditer(text), i, None))
        line, column = place_of(text, match.start())
        first = table.place[1] + len("<TABLE>") if line == 1 else 1
        return table.place[0] + line - 1, first + column - 1

    run = _NUMBER.findall(text)
    values = to_numbers(run, lambda i: _error(f"a table must be of numbers; got {shown(run[i])}.", where(i)))
    return flat_rows(family, values, where, _error)


def _error(message: str, place: Place | None) -> FormatError:
    line, column = place or (1, 1)
    return FormatError(message, line=line, column=column)


# Writing


def _is_text(text: str) -> bool:
    return text.isprintable() and text == text.strip()


_RULES = Rules(lambda name: bool(name) and _is_text(name), _is_text, _is_text, _is_text)


def _element(name: str, text: str, indent: str = "") -> str:
    return f"{indent}<{name}>{escape(text)}</{name}>"


def _variable_lines(node: FileNode) -> Iterator[str]:
    yield '<VARIABLE TYPE="nature">'
    yield _element("NAME", node.name, "  ")
    yield from (_element("OUTCOME", state, "  ") for state in node.states)
    yield from (_element("PROPERTY", text, "  ") for text in node.properties)
    yield "</VARIABLE>"


def _definition_lines(cpt: ConditionalTable, nodes: dict[str, FileNode]) -> Sequence[str]:
    names = [_element("FOR", nodes[cpt.variable.name].name, "  ")]
    names += [_element("GIVEN", nodes[p.name].name, "  ") for p in cpt.parents]
    rows = [f"    {row_text(row, ' ')}" for row in dense_rows(cpt)]
    return ["<DEFINITION>", *names, "  <TABLE>", *rows, "  </TABLE>", "</DEFINITION>"]
