"""Axes, colours and labels that the plots share, and the error if Matplotlib is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge._core.check import install_hint
from tunbridge.errors import TunbridgeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

FOR, AGAINST, NEUTRAL = "#0072b2", "#d55e00", "#5a5a5a"
"""Blue, vermilion (Okabe and Ito's) and grey: evidence for, evidence against, and everything else."""

COLOURS = (FOR, AGAINST, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, for several models in one picture."""

SHAPES = ("o", "s", "D", "^", "v", "P", "X")
"""The markers of each of them."""


class NoMatplotlibError(TunbridgeError, ImportError):
    """Matplotlib is needed for a plot and not installed."""


def matplotlib(module: str = "matplotlib") -> Any:
    """Return a module of Matplotlib; raise with what to install if there is none."""
    try:
        return import_module(module)
    except ImportError as error:
        raise NoMatplotlibError(
            f"Matplotlib must be installed for plots; it cannot be imported ({error}). {install_hint('matplotlib')}"
        ) from error


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    figure = matplotlib("matplotlib.pyplot").figure(figsize=(width, height), layout="constrained")
    return figure.subplots()


def draw_off_screen() -> None:
    """Create new figures without a window, for programs that only write files."""
    matplotlib().use("agg")


def hide_spines(axes: Axes, *more: str) -> None:
    """Hide the lines above and to the right of a plot, and those on other sides."""
    axes.spines[["top", "right", *more]].set_visible(False)


def plain_labels(labels: Sequence[Any]) -> None:
    """Show labels literally: a dollar sign in a name is a dollar sign, not mathematics."""
    for label in labels:
        label.set_parse_math(False)


def same_marks(legend: Legend, area: float) -> None:
    """Give the marks in a legend one size."""
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([area])


def middle_out(name: str, width: int) -> str:
    """Return a long name without its middle: names of columns often differ only at the end.

    Examples
    --------
    >>> middle_out("temperature_in_the_morning", 15)
    'tempera…morning'
    """
    head = (width - 1) // 2
    return name if len(name) <= width else f"{name[:head]}…{name[head + 1 - width :]}"


class Placed(NamedTuple):
    """A label: the position of its tick, its text, its middle, and its level (0 is next to the line)."""

    at: float
    text: str
    middle: float
    level: int


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points (1/72 inch)."""
    font = matplotlib("matplotlib.font_manager").FontProperties(size=size)
    width, _, _ = matplotlib("matplotlib.textpath").TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def placed(
    labels: Sequence[tuple[float, str]], widths: Sequence[float], *, low: float, high: float, levels: int, gap: float
) -> list[Placed]:
    """Return the labels that fit, in the given order, each as near to the line as possible.

    Parameters
    ----------
    labels : sequence of (float, str)
        The position and the text of each tick.
    widths : sequence of float
        The width of each label, in the units of the ticks.
    low, high : float
        The limits of the labels.
    levels : int
        The largest number above each other.
    gap : float
        The space between two on one level.

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
