"""Where labels go along a line so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tunbridge.plots.axes import matplotlib


class Placed(NamedTuple):
    """A label: where its tick is, what it says, where its middle is, and its level (0 stands next to the line)."""

    at: float
    text: str
    middle: float
    level: int


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points (1/72 inch), whatever it will be drawn on."""
    font = matplotlib("matplotlib.font_manager").FontProperties(size=size)
    width, _, _ = matplotlib("matplotlib.textpath").TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def placed(
    labels: Sequence[tuple[float, str]], widths: Sequence[float], *, low: float, high: float, levels: int, gap: float
) -> list[Placed]:
    """Return the labels that find room, in the order in which they are given, each as near to the line as it can be.

    Parameters
    ----------
    labels : sequence of (float, str)
        Where each tick is, and what it says.
    widths : sequence of float
        The width of each label, in the units of the ticks.
    low, high : float
        Between which the labels have to stay.
    levels : int
        How many may stand above each other.
    gap : float
        What is left free between two on one level.

    Examples
    --------
    >>> found = placed([(0, "a"), (1, "b"), (9, "c")], [4, 4, 4], low=-5, high=20, levels=2, gap=0.5)
    >>> [(p.text, p.middle, p.level) for p in found]
    [('a', 0, 0), ('b', 1, 1), ('c', 9, 0)]
    """
    taken: list[list[tuple[float, float]]] = [[] for _ in range(levels)]
    found = []
    for (at, text), width in zip(labels, widths, strict=True):
        middle = min(max(at, low + width / 2), high - width / 2)
        start, stop = middle - width / 2 - gap / 2, middle + width / 2 + gap / 2
        level = next((k for k, used in enumerate(taken) if all(stop <= a or start >= b for a, b in used)), None)
        if level is None:
            continue
        taken[level].append((start, stop))
        found.append(Placed(at, text, middle, level))
    return found
