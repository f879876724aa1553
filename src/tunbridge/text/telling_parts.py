"""The parts of a text that tell most: which places are marked, and what is shown of a text that is long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tunbridge.text.explanation import Span

LONGEST_PLACE = 24
"""The most characters of a run of places that is marked as a whole, and of a place in brackets."""

_MARKED = 8  # different words (places that read alike) at most
_WORTH = 0.25  # the share of the heaviest weight from which on a place is marked
_SURROUNDED = 24  # different words at most whose surroundings are shown of a text that is cut
_AROUND = 24  # characters that are shown on each side of them
_BLANK = re.compile(r"\s+")


def runs(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the places that are marked as one: those that touch, as characters of a word do.

    A run of many characters is cut where the sign changes.
    """
    found = []
    for together in _touching(text, spans):
        if together[-1].end - together[0].start <= LONGEST_PLACE:
            found.append(_sum(together))
        else:
            found += [_sum(list(part)) for _, part in groupby(together, key=lambda s: s.weight > 0)]
    return found


def _touching(text: str, spans: Sequence[Span]) -> list[list[Span]]:
    found: list[list[Span]] = []
    for span in spans:
        if text[span.start : span.end].isspace():
            continue
        if found and found[-1][-1].end == span.start:
            found[-1].append(span)
        else:
            found.append([span])
    return found


def _sum(together: Sequence[Span]) -> Span:
    whole = sum(s.weight for s in together)
    return together[0]._replace(end=together[-1].end, weight=whole)


def alike_places(text: str, places: Sequence[Span]) -> list[list[Span]]:
    """Return the places that spoke, those that read alike together, the heaviest together first."""
    found: dict[str, list[Span]] = {}
    for place in places:
        if place.weight != 0.0:
            found.setdefault(text[place.start : place.end].casefold(), []).append(place)
    return sorted(found.values(), key=_weight, reverse=True)


def _weight(together: Sequence[Span]) -> float:
    return abs(sum(place.weight for place in together))


def worth_marking(alike: Sequence[list[Span]]) -> list[list[Span]]:
    """Return the heaviest of places that read alike: few, and none that weighs little beside the first."""
    largest = max((_weight(together) for together in alike if isfinite(_weight(together))), default=0.0)
    return [together for together in alike[:_MARKED] if _weight(together) >= _WORTH * largest]


def windows_of(text: str, alike: Sequence[list[Span]], room: int) -> list[tuple[int, int]]:
    """Return the parts of a long text that are shown: as many surroundings of the heaviest words as there is room for.

    Without such words it is the beginning.
    """
    found = [(0, _last_blank(text, room))]
    for n in range(1, min(len(alike), _SURROUNDED) + 1):
        windows = _surroundings(text, [max(together, key=lambda s: abs(s.weight)) for together in alike[:n]])
        if n > 1 and sum(end - start for start, end in windows) > room:
            break
        found = windows
    return found


def _surroundings(text: str, places: Sequence[Span]) -> list[tuple[int, int]]:
    """Return what stands around places, from a blank to a blank, near ones joined."""
    found: list[tuple[int, int]] = []
    for place in sorted(places):
        start, end = _begin(text, place.start), _end(text, place.end)
        if found and start - found[-1][1] <= _AROUND // 2:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _begin(text: str, place: int) -> int:
    """Return from where on a text is shown before a place: about 24 characters earlier, at the beginning of a word."""
    earliest, about = max(0, place - 2 * _AROUND), place - _AROUND
    if about <= _AROUND // 2:
        return 0
    blanks = [m.end() for m in _BLANK.finditer(text, earliest, place)]
    return min(blanks, key=lambda at: abs(at - about), default=about)


def _end(text: str, place: int) -> int:
    """Return up to where a text is shown behind a place: about 24 characters later, at the end of a word."""
    latest, about = min(len(text), place + 2 * _AROUND), place + _AROUND
    if about >= len(text) - _AROUND // 2:
        return len(text)
    blanks = [m.start() for m in _BLANK.finditer(text, place, latest)]
    return min(blanks, key=lambda at: abs(at - about), default=about)


def _last_blank(text: str, before: int) -> int:
    return max((m.start() for m in _BLANK.finditer(text, before // 2, before)), default=before)
