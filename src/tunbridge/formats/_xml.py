"""XML files as small trees, without anything that a hostile file could use.

XMLBIF and XDSL are XML. Expat reads the text as a stream; only the elements and attributes that a format names are
kept, so that the tree is never much larger than the text. Where a format lists its variables, unknown elements are kept
too, for the reader to refuse, and a variable that is listed elsewhere is an error: none is dropped in silence.

A file that declares its own entities is refused, so nothing is fetched and nothing expands. Old programs write
``<?XML VERSION="1.0"?>``, and some files have blanks before the declaration. Neither is XML, but the text is decoded
already, so the declaration is skipped.

The positions of numbers are not kept: another parse finds them again if there is an error to report.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Any
from xml.parsers import expat

import numpy as np

from tunbridge.errors import FormatError
from tunbridge.formats._assembly import shown
from tunbridge.formats._scanner import check_text, to_numbers

Place = tuple[int, int]

_DEEPEST = 64
_NUMBER = re.compile(r"[^\s,]+")
_DECLARATION = re.compile(r"[\s\ufeff]*+(?:<\?xml(?=\s)[^<>?]*+\?>)?", re.IGNORECASE)
_NONE: dict[str, str] = {}
_LINE_END = re.compile(r"\r\n|\n|\r")
_VISIBLE = re.compile(r"[^\r\n]")


@dataclass(slots=True)
class Element:
    """An element: its name and attributes in the case of the format, its place, its text and the elements in it."""

    name: str
    place: Place
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] | tuple[()] = ()

    def all(self, *names: str) -> Iterator[Element]:
        """Return the elements in it with one of these names, in order."""
        return (child for child in self.children if child.name in names)

    def texts(self, *names: str) -> list[str]:
        """Return the texts of the elements in it with one of these names."""
        return [child.text for child in self.all(*names)]

    def find(self, name: str) -> Element | None:
        """Return the only element in it with this name, or None; raise if there are several."""
        found = list(self.all(name))
        if len(found) > 1:
            raise error(f"<{self.name}> must have one <{name}>; got another one.", found[1].place)
        return found[0] if found else None

    def only(self, name: str) -> Element:
        """Return the only element in it with this name; raise if there is none."""
        if (found := self.find(name)) is None:
            raise error(f"<{self.name}> must have one <{name}>; got none.", self.place)
        return found


def error(message: str, place: Place | None) -> FormatError:
    """Return the error for a message and a place."""
    line, column = place or (1, 1)
    return FormatError(message, line=line, column=column)


def read_xml(
    text: str,
    root: str,
    kept: Collection[str],
    attributes: Collection[str] = (),
    *,
    homes: Mapping[str, str] = MappingProxyType({}),
) -> Element:
    """Return the first element of an XML text, with the elements and attributes that are named; others are dropped.

    Parameters
    ----------
    text : str
        The whole file.
    root : str
        The name that the first element must have. If it is in capitals, all names are read as capitals, otherwise as
        small letters.
    kept : collection of str
        The names of the elements to keep. One inside an element that is not kept is dropped with it.
    attributes : collection of str
        The names of the attributes to keep.
    homes : mapping of str to str
        For some elements, the only element that they may be in, except in ``<extensions>``, which may hold anything.
        All elements in one of these are kept, also those that are not named.
    """
    check_text(text)
    return _Tree(_without_declaration(text), root, kept, attributes, homes).root


def numbers_in(text: str, element: Element) -> tuple[np.ndarray, Callable[[int], Place]]:
    """Return the numbers of an element of a text, and a function that gives the place of each."""

    def where(i: int) -> Place:
        return _number_places(_without_declaration(text), element.place)[i]

    run = words_in(element)
    return to_numbers(run, lambda i: error(f"a table must be of numbers; got {shown(run[i])}.", where(i))), where


def words_in(element: Element) -> list[str]:
    """Return the words of an element, between blanks or commas."""
    return _NUMBER.findall(element.text)


def _without_declaration(text: str) -> str:
    """Return the text with blanks in place of the declaration, so that lines and columns stay."""
    end = _DECLARATION.match(text).end()  # type: ignore[union-attr]  # it matches an empty text
    return _VISIBLE.sub(" ", text[:end]) + text[end:]


class _Tree:
    """The handlers of one parse."""

    def __init__(
        self, text: str, root: str, kept: Collection[str], attributes: Collection[str], homes: Mapping[str, str]
    ) -> None:
        self.case = str.upper if root.isupper() else str.lower
        self.first, self.kept, self.attributes = root, kept, attributes
        self.homes, self.lists = homes, set(homes.values())
        self.open: list[Element] = []
        self.texts: list[list[str]] = []
        self.misplaced: FormatError | None = None  # the first one, raised at the end: a damaged file has better words
        self.n_dropped = 0  # open elements inside one that is not kept, and it
        self.parser = _parser(self._start, self._end, self._text)
        self.parser.buffer_text = True
        self.parser.CommentHandler = lambda _: self._text(" ")  # it separates two numbers
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as reason:
            raise self._damage(text, reason) from None
        if self.misplaced is not None:
            raise self.misplaced

    def _damage(self, text: str, reason: expat.ExpatError) -> FormatError:
        line = [*_LINE_END.split(text), ""][reason.lineno - 1]
        got = f": {shown(line[reason.offset :][:20])}" if reason.code == _INVALID else ""
        message = f"the file must be well-formed XML; {expat.ErrorString(reason.code)}{got}."
        if self.open and not self.n_dropped and reason.code == _MISMATCH:
            element = self.open[-1]
            message += f" <{element.name}> in line {element.place[0]} is not closed before."
        return FormatError(message, line=reason.lineno, column=reason.offset + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place, name = _place(self.parser), self.case(name.rpartition(":")[2])
        if len(self.open) + self.n_dropped >= _DEEPEST:
            raise error(f"elements must be nested at most {_DEEPEST} levels deep.", place)
        if not self.open and name != self.first:
            raise error(f"the first element must be <{self.first}>; got <{name[:40]}>.", place)
        if name in self.homes:
            self._check_home(name, place)
        if self.n_dropped or (self.open and name not in self.kept and self.open[-1].name not in self.lists):
            self.n_dropped += 1
            return
        named = {self.case(key): value for key, value in attributes.items()} if attributes else _NONE
        element = Element(name, place, {key: named[key] for key in self.attributes if key in named} or _NONE)
        if self.open:
            parent = self.open[-1]
            parent.children = parent.children or []
            parent.children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _check_home(self, name: str, place: Place) -> None:
        home, is_extension = self.homes[name], self.case("extensions") in (each.name for each in self.open[1:2])
        if not is_extension and (self.n_dropped or self.open[-1].name != home):
            where = "an unknown element" if self.n_dropped else f"<{self.open[-1].name[:40]}>"
            message = f"<{name}> must be directly in <{home}>; got one in {where}."
            self.misplaced = self.misplaced or error(message, place)

    def _end(self, _: str) -> None:
        if self.n_dropped:
            self.n_dropped -= 1
        else:
            self.open.pop().text = "".join(self.texts.pop()).strip()

    def _text(self, text: str) -> None:
        if self.texts and not self.n_dropped:
            self.texts[-1].append(text)

    def _entity(self, name: str, *_: Any) -> None:
        message = f"the file must not declare or use its own entities; got {shown(name)}."
        raise error(f"{message} Replace it by its text.", _place(self.parser))


_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
_INVALID = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


def _parser(start: Callable[..., None], end: Callable[..., None], text: Callable[[str], None]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    return parser


def _number_places(text: str, table: Place) -> list[Place]:
    """Return the positions of the numbers of an element by another parse: good files do not pay for bad ones."""
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
