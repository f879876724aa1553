"""An explanation of a text for the terminal: the text with the words marked that spoke, and a table of them.

The heaviest places stand in brackets with their weight, [winner +4.2], which needs no colours. Of a long text only the
surroundings of these are shown. White space is drawn together, and what is not printable is not printed: a text may
come from anywhere.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from math import exp, isfinite, isinf
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, east_asian_width

from tunbridge._check import counted, listed, shortened
from tunbridge.decisions.evidence import Evidence, value_text
from tunbridge.text.telling_parts import LONGEST_PLACE, alike_places, runs, windows_of, worth_marking

if TYPE_CHECKING:
    from rich.text import Text

    from tunbridge.text.explanation import Span, TextExplanation

FOR, AGAINST = "blue", "dark_orange"
_INDENT = "  "
_NARROWEST, _WIDEST = 40, 100
_FAINT = 0.1  # the share of the heaviest weight above which a place is coloured
_LINES = 8  # a longer text is cut
_IN_TABLE = 6  # words for, and words against
_LONGEST_NAME = 32
_BAR = 12
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # kinds of characters that are not printed
_JOINERS = "\u200c\u200d"  # but these, which some scripts and pictures are written with
_FAR, _FARTHEST = 230.0, 700.0  # the exponential of the first has three digits after its e, of the second is too large


class Segment(NamedTuple):
    """A piece of a line: its text, what it weighs if it spoke, and whether it stands in brackets."""

    text: str
    weight: float = 0.0
    marked: bool = False

    @property
    def shown(self) -> str:
        """The text as it is printed."""
        return f"[{self.text} {short_weight(self.weight)}]" if self.marked else self.text


def as_lines(told: TextExplanation) -> list[str]:
    """Return an explanation as lines of text."""
    return ["".join(segment.shown for segment in line) for line in _lines(told)]


def as_rich(told: TextExplanation) -> Text:
    """Return an explanation as coloured text."""
    from rich.text import Text

    text, lines = Text(), _lines(told)
    faint = _FAINT * max((abs(segment.weight) for line in lines for segment in line), default=0.0)
    for line in lines:
        for segment in line:
            colour = FOR if segment.weight > 0 else AGAINST
            coloured = colour if abs(segment.weight) > faint else ""
            text.append(segment.shown, f"bold {colour}" if segment.marked else coloured)
        text.append("\n")
    text.right_crop(1)
    text.stylize("bold", 0, len(lines[0][0].text))
    text.highlight_regex(r"(?m) \++$", f"bold {FOR}")
    text.highlight_regex(r"(?m) -+$", f"bold {AGAINST}")
    return text


def short_weight(weight: float) -> str:
    """Return a weight in few characters.

    Examples
    --------
    >>> short_weight(12.345), short_weight(-0.0123)
    ('+12.3', '-0.012')
    """
    return f"{weight:+.1f}" if abs(weight) >= 0.95 else f"{weight:+.2g}"


class Row(NamedTuple):
    """A line of the table: what it is about, how often that occurs, its weight, and whether it has a bar."""

    name: str
    times: str
    weight: float
    has_bar: bool = False

    @property
    def odds(self) -> str:
        """What the odds are multiplied with."""
        if isinf(self.weight):
            return "∞" if self.weight > 0 else "0"
        if abs(self.weight) >= _FARTHEST:
            return f"e^{self.weight:.0f}"
        return f"{exp(self.weight):.3g}" if abs(self.weight) < _FAR else f"{exp(self.weight):.1g}"


def table_of(told: TextExplanation) -> list[Row]:
    """Return the prior, the heaviest words for and against, the others together, what else there is, and the sum."""
    shown = heaviest(told.words)
    others = len(told.words) - len(shown)
    rest = sum(e.weight for e in told.words) - sum(e.weight for e in shown)
    return [
        Row("prior", "", told.prior, True),
        *(Row(_name(e.feature), str(e.value), e.weight, True) for e in shown),
        *([Row(f"… {counted(others, 'other')}", "", rest)] if others else []),
        *(Row(e.name, value_text(e.value), e.weight) for e in told.further),
        Row("sum", "", told.log_odds),
    ]


def heaviest(words: Sequence[Evidence]) -> list[Evidence]:
    """Return the heaviest words for and the heaviest against, together the heaviest first."""
    for_it = [e for e in words if e.weight > 0][:_IN_TABLE]
    against = [e for e in words if e.weight < 0][:_IN_TABLE]
    return sorted((*for_it, *against), key=lambda e: -abs(e.weight))


def _name(word: str) -> str:
    """Return a word as a table shows it: blanks at its ends, which n-grams of characters have, can be seen."""
    inner = word.strip(" ")
    blanks = len(word) - len(word.lstrip(" ")) if inner else len(word)
    end = len(word) - len(word.rstrip(" ")) if inner else 0
    return shortened("␣" * blanks + printable(inner) + "␣" * end, _LONGEST_NAME)


def printable(text: str) -> str:
    r"""Return a text without what would move the cursor or change colours: control characters become «·».

    Examples
    --------
    >>> printable("a\x1b[1mb")
    'a·[1mb'
    """
    if text.isprintable():
        return text
    return "".join("·" if category(c) in _UNSEEN and c not in _JOINERS else c for c in text)


# Lines


def _lines(told: TextExplanation) -> list[list[Segment]]:
    """Return the lines: a headline, the text, the table, what is unknown."""
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    lines = [[Segment(printable(told.headline))], []]
    lines += [[Segment(_INDENT), *line] for line in wrapped(shown_segments(told, width), width - len(_INDENT) - 1)]
    if told.remark:
        lines += [*([[]] if told.text.strip() else []), [Segment(told.remark)]]
    lines += [[], *([Segment(line)] for line in _table_lines(told))]
    if told.unknown:
        lines.append([Segment(shortened(f"not used: {listed(map(printable, told.unknown))}", width))])
    return lines


def _table_lines(told: TextExplanation) -> list[str]:
    rows = table_of(told)
    names, times = max(len(row.name) for row in rows), max(5, *(len(row.times) for row in rows))
    largest = max((abs(row.weight) for row in rows if row.has_bar and isfinite(row.weight)), default=0.0)
    lines = [f"{'word':<{names}}  {'times':>{times}}  {'weight':>7}  {'odds ×':>8}"]
    for row in rows:
        numbers = f"{row.times:>{times}}  {row.weight:+7.2f}  {row.odds:>8}"
        lines.append(f"{row.name:<{names}}  {numbers}  {_bar(row, largest)}".rstrip())
    return lines


def _bar(row: Row, largest: float) -> str:
    share = 1.0 if isinf(row.weight) else abs(row.weight) / largest if largest else 0.0
    return ("+" if row.weight > 0 else "-") * round(_BAR * share) if row.has_bar else ""


def shown_segments(told: TextExplanation, width: int) -> list[Segment]:
    """Return the text, or what is most telling of a long one, in segments."""
    text, places = told.text, runs(told.text, told.spans)
    alike = alike_places(text, places)
    marked = {place for together in worth_marking(alike) for place in together}
    room = _LINES * width
    windows = [(0, len(text))] if _cells(text[: room + 1]) <= room else windows_of(text, alike, room)
    found: list[Segment] = []
    for start, end in windows:
        if start > 0:
            found.append(Segment(" … "))
        found += _segments(text, start, end, [s for s in places if start <= s.start and s.end <= end], marked)
    return [*found, *([Segment(" …")] if windows[-1][1] < len(text) else [])]


def _segments(text: str, start: int, end: int, inside: Iterable[Span], marked: set[Span]) -> Iterator[Segment]:
    at = start
    for span in inside:
        longest = LONGEST_PLACE if span in marked else 3 * LONGEST_PLACE
        yield Segment(text[at : span.start])
        yield Segment(shortened(text[span.start : span.end], longest), span.weight, span in marked)
        at = span.end
    yield Segment(text[at:end])


# Line breaks


def wrapped(segments: Sequence[Segment], width: int) -> list[list[Segment]]:
    """Return segments in lines of a width, white space drawn together.

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
    """Yield what must stay on one line, and whether a blank stands before it."""
    blank, chunk = False, list[Segment]()
    for segment in segments:
        for i, part in enumerate(re.split(r"\s+", segment.text) if segment.weight == 0.0 else [segment.text]):
            if i > 0:
                yield from _fitting(blank, chunk, width)
                blank, chunk = True, []
            if part:
                chunk.append(segment._replace(text=printable(re.sub(r"\s+", " ", part))))
    yield from _fitting(blank, chunk, width)


def _fitting(blank: bool, chunk: list[Segment], width: int) -> Iterator[tuple[bool, list[Segment]]]:
    """Yield a chunk, in parts where it is too long for a line."""
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
