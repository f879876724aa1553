"""Description lengths as stacked bars: the bits of each hypothesis, and of the data given it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.reasoning import DescriptionChoice

_PALE = "#9dc6e0"
_MANY = 40
_LONG = 30
_NUMBERED = re.compile(r"(?P<before>\D*?) ?(?P<number>\d+) ?(?P<after>\D*)")


def description_lengths(choice: DescriptionChoice, ax: Axes | None = None) -> Axes:
    """Draw the description length of each candidate, and return the axes.

    For each candidate a column: the bits of the data, and on top of them those of the hypothesis. From simple to
    complex hypotheses the first fall and the second rise, and the sum has its lowest point in between; a triangle marks
    it.

    Parameters
    ----------
    choice : DescriptionChoice
        From :func:`tunbridge.reasoning.shortest_description`, ``choose_polynomial``, … Candidates of infinite length
        have no column.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.

    Notes
    -----
    If the bits of the data differ little between the candidates, the axis does not start at 0, and its label says so.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import shortest_description
    >>> tb.plots.draw_off_screen()
    >>> choice = shortest_description({"degree 0": (10, 90), "degree 1": (20, 50), "degree 2": (30, 45)})
    >>> ax = tb.plots.description_lengths(choice)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('degree', 'bits')
    """
    if not hasattr(choice, "candidates") or not hasattr(choice, "best"):
        raise DataError(f"choice must be a DescriptionChoice; got {shortened(repr(choice))}.")
    axes = new_axes(ax, 6.8, 4.2)
    told = np.array([float(c.hypothesis_bits) for c in choice.candidates])
    data = np.array([float(c.data_bits) for c in choice.candidates])
    known, at = np.isfinite(told + data), np.arange(len(told))
    width = 1.0 if len(at) > _MANY else 0.75
    axes.bar(at[known], data[known], width, color=_PALE, label="data given the hypothesis, L(D | h)")
    axes.bar(at[known], told[known], width, data[known], color=FOR, label="hypothesis, L(h)")
    _frame(axes, [str(name) for name in choice], data[known], (told + data)[known])
    best, (low, high) = choice.candidates.index(choice.best), axes.get_ylim()
    above = choice.best.total + 0.025 * (high - low)
    axes.plot([best], [above], marker="v", markersize=9, color=AGAINST, linestyle="", label="the shortest")
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    return axes


def _frame(axes: Axes, names: Sequence[str], data: np.ndarray, totals: np.ndarray) -> None:
    label, ticks = _shared(names)
    step = 1 if len(names) <= _MANY else len(names) // 10
    turned = sum(map(len, ticks[::step])) > 2 * _LONG
    axes.set_xticks(
        range(0, len(names), step), ticks[::step], rotation=40 if turned else 0, ha="right" if turned else "center"
    )
    for text in axes.get_xticklabels():
        text.set_parse_math(False)
    axes.set_xlabel(label, parse_math=False)
    low, high = _limits(data, totals)
    axes.set_ylim(low, high)
    start = f"{low:,.0f}".replace(",", "\u202f")
    axes.set_ylabel("bits" if low == 0 else f"bits (the axis starts at {start})")
    axes.spines[["top", "right"]].set_visible(False)


def _shared(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return what names have in common and the numbers in which they differ: "degree 0", "degree 1", …"""
    found = [_NUMBERED.fullmatch(name) for name in names]
    parts: list[Any] = [match.groupdict() for match in found if match]
    texts = {(part["before"] + part["after"]).rstrip("s") for part in parts}
    if len(parts) < len(names) or len(texts) > 1:
        return "", [shortened(name, _LONG) for name in names]
    return max((part["before"] + part["after"] for part in parts), key=len), [part["number"] for part in parts]


def _limits(data: np.ndarray, totals: np.ndarray) -> tuple[float, float]:
    """Return where the axis starts and ends: above 0 where the columns would otherwise look all alike."""
    span = float(totals.max() - data.min())
    start = float(data.min()) - 0.5 * span
    if start <= 3.0 * span:
        return 0.0, 1.08 * float(totals.max()) or 1.0
    unit = 10.0 ** np.floor(np.log10(span))
    return float(np.floor(start / unit) * unit), float(totals.max()) + 0.08 * span
