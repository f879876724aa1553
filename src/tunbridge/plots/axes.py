"""Axes to draw into, and what to say when Matplotlib is not there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tunbridge.errors import TunbridgeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR, AGAINST, NEUTRAL = "#0072b2", "#d55e00", "#5a5a5a"
"""Blue, vermilion (Okabe and Ito's) and grey: the colours of what speaks for, against, and of everything else."""

COLOURS = (FOR, AGAINST, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, for several models in one picture."""

SHAPES = ("o", "s", "D", "^", "v", "P", "X")
"""What marks the points of each of them."""


class NoMatplotlibError(TunbridgeError, ImportError):
    """A picture was asked for where Matplotlib is not installed."""


def matplotlib(module: str = "matplotlib") -> Any:
    """Return a module of Matplotlib; raise with what to install when there is none."""
    try:
        return import_module(module)
    except ImportError as error:
        raise NoMatplotlibError(
            f"plots must have Matplotlib; it cannot be imported ({error}). Install it: pip install tunbridge[plots]"
        ) from error


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    figure = matplotlib("matplotlib.pyplot").figure(figsize=(width, height), layout="constrained")
    return figure.subplots()


def draw_off_screen() -> None:
    """Make new figures without a window, for programs that only write files."""
    matplotlib().use("agg")
