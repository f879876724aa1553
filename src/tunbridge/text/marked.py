"""A text with its most telling places marked, in lines for a terminal.

The heaviest places are put into brackets with their weight, [winner +4.2], which needs no colours. Of a long text only
the surroundings of these are shown. Runs of white space become one space, and characters that are not printable are
replaced: a text may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import isfinite
from typing import NamedTuple
from unicodedata import category, east_asian_width

from tunbridge._core.check import shortened

_LONGEST = 24  # characters of a run of places that is marked as a whole, and of a place in brackets
_MARKED = 8  # different words (places that read alike) at most
_WORTH = 0.25  # the share of the heaviest weight from which a place is marked
_SURROUNDED = 24  # different words at most whose surroundings are shown of a long text
_AROUND = 24  # characters that are shown on each side of them
_LINES = 8  # a longer text is cut
_BLANK = re.compile(r"\s+")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # categories of characters that are not printed
_JOINERS = "\u200c\u200d"  # except these, which some scripts and emoji need


class Span(NamedTuple):
    """A place of a text, ``text[start:end]``, and what it adds to the log-odds, in nats."""

    start: int
    end: int
    weight: float


class Segment(NamedTuple):
    """A piece of a line: its text, its weight, and whether it is put into brackets."""

    text: str
    weight: float = 0.0
    marked: bool = False

    @property
    def shown(self) -> str:
        """The text as it is printed."""
        return f"[{self.text} {short_weight(self.weight)}]" if self.marked else self.text


def marked_lines(text: str, spans: Sequence[Span], width: int) -> list[list[Segment]]:
    """Return the lines of a text, or of the most telling parts of a long one, in segments."""
    places = runs(text, spans)
    alike = _alike(text, places)
    largest = max((_weight(together) for together in alike if isfinite(_weight(together))), default=0.0)
    worth = [together for together in alike[:_MARKED] if _weight(together) >= _WORTH * largest]
    marked = {place for together in worth for place in together}
    room = _LINES * width
    windows = [(0, len(text))] if _cells(text[: room + 1]) <= room else _windows(text, alike, room)
    found: list[Segment] = []
    for start, end in windows:
        if start > 0:
            found.append(Segment(" … "))
        found += _segments(text, start, end, [s for s in places if start <= s.start and s.end <= end], marked)
    return wrapped([*found, *([Segment(" …")] if windows[-1][1] < len(text) else [])], width - 3)


def short_weight(weight: float) -> str:
    """Return a weight in few characters.

    Examples
    --------
    >>> short_weight(12.345), short_weight(-0.0123)
    ('+12.3', '-0.012')
    """
    return f"{weight:+.1f}" if abs(weight) >= 0.95 else f"{weight:+.2g}"


def printable(text: str) -> str:
    r"""Return a text without control characters, which could move the cursor or change colours: they become «·».

    Examples
    --------
    >>> printable("a\x1b[1mb")
    'a·[1mb'
    """
    if text.isprintable():
        return text
    return "".join("·" if category(c) in _UNSEEN and c not in _JOINERS else c for c in text)


# The telling places


def runs(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the places that are marked as one: those that touch, as the characters of a word do.

    A long run is split where the sign changes.
    """
    touching: list[list[Span]] = []
    for span in spans:
        if text[span.start : span.end].isspace():
            continue
        if touching and touching[-1][-1].end == span.start:
            touching[-1].append(span)
        else:
            touching.append([span])
    found = []
    for together in touching:
        short = together[-1].end - together[0].start <= _LONGEST
        parts = [together] if short else [list(part) for _, part in groupby(together, key=lambda s: s.weight > 0)]
        found += [part[0]._replace(end=part[-1].end, weight=sum(s.weight for s in part)) for part in parts]
    return found


def _alike(text: str, places: Sequence[Span]) -> list[list[Span]]:
    """Return the places that have a weight, grouped by how they read, the heaviest group first."""
    found: dict[str, list[Span]] = {}
    for place in places:
        if place.weight != 0.0:
            found.setdefault(text[place.start : place.end].casefold(), []).append(place)
    return sorted(found.values(), key=_weight, reverse=True)


def _weight(together: Sequence[Span]) -> float:
    return abs(sum(place.weight for place in together))


def _windows(text: str, alike: Sequence[list[Span]], room: int) -> list[tuple[int, int]]:
    """Return the parts of a long text that are shown: as many surroundings of the heaviest words as fit.

    Without such words it is the beginning.
    """
    found = [(0, max((m.start() for m in _BLANK.finditer(text, room // 2, room)), default=room))]
    for n in range(1, min(len(alike), _SURROUNDED) + 1):
        windows = _surroundings(text, [max(together, key=lambda s: abs(s.weight)) for together in alike[:n]])
        if n > 1 and sum(end - start for start, end in windows) > room:
            break
        found = windows
    return found


def _surroundings(text: str, places: Sequence[Span]) -> list[tuple[int, int]]:
    """Return the surroundings of places, from word boundary to word boundary, near ones joined."""
    found: list[tuple[int, int]] = []
    for place in sorted(places):
        start, end = _begin(text, place.start), _end(text, place.end)
        if found and start - found[-1][1] <= _AROUND // 2:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _begin(text: str, place: int) -> int:
    """Return the beginning of a word about 24 characters before a place."""
    earliest, about = max(0, place - 2 * _AROUND), place - _AROUND
    if about <= _AROUND // 2:
        return 0
    blanks = [m.end() for m in _BLANK.finditer(text, earliest, place)]
    return min(blanks, key=lambda at: abs(at - about), default=about)


def _end(text: str, place: int) -> int:
    """Return the end of a word about 24 characters after a place."""
    latest, about = min(len(text), place + 2 * _AROUND), place + _AROUND
    if about >= len(text) - _AROUND // 2:
        return len(text)
    blanks = [m.start() for m in _BLANK.finditer(text, place, latest)]
    return min(blanks, key=lambda at: abs(at - about), default=about)


def _segments(text: str, start: int, end: int, inside: Iterable[Span], marked: set[Span]) -> Iterator[Segment]:
    at = start
    for span in inside:
        longest = _LONGEST if span in marked else 3 * _LONGEST
        yield Segment(text[at : span.start])
        yield Segment(shortened(text[span.start : span.end], longest), span.weight, span in marked)
        at = span.end
    yield Segment(text[at:end])


# Line breaks


def wrapped(segments: Sequence[Segment], width: int) -> list[list[Segment]]:
    """Return segments in lines of a width, runs of white space as one space.

    Examples
    --------
    >>> lines = wrapped([Segment("the  cat "), Segment("sat", 1.5, True), Segment(", on the mat")], 14)
    >>> ["".join(segment.shown for segment in line) for line in lines]
    ['the cat', '[sat +1.5], on', 'the mat']
    """
    lines: list[list[Segment]] = []
    used = 0
    for blank, chunk in _chunks(segments, width):
        size = sum(_cells(segment.shown) for segment in chunk)
        if lines and used + blank + size <= width:
            lines[-1] += [Segment(" "), *chunk] if blank else chunk
            used += blank + size
        else:
            lines.append(list(chunk))
            used = size
    return lines


def _chunks(segments: Sequence[Segment], width: int) -> Iterator[tuple[bool, list[Segment]]]:
    """Yield what must stay on one line, and whether there is a space before it."""
    blank, chunk = False, list[Segment]()
    for segment in segments:
        for i, part in enumerate(_BLANK.split(segment.text) if segment.weight == 0.0 else [segment.text]):
            if i > 0:
                yield from _fitting(blank, chunk, width)
                blank, chunk = True, []
            if part:
                chunk.append(segment._replace(text=printable(_BLANK.sub(" ", part))))
    yield from _fitting(blank, chunk, width)


def _fitting(blank: bool, chunk: list[Segment], width: int) -> Iterator[tuple[bool, list[Segment]]]:
    """Yield a chunk, in parts if it is too long for a line."""
    if not chunk or sum(_cells(segment.shown) for segment in chunk) <= width:
        if chunk:
            yield blank, chunk
        return
    size = max(1, width // 2 - 8)
    for k, segment in enumerate(chunk):
        step = len(segment.text) if segment.marked else size
        for i in range(0, len(segment.text), step):
            yield blank and k == i == 0, [segment._replace(text=segment.text[i : i + step])]


def _cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(c) in "WF") for c in text)
