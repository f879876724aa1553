"""Two models on several data sets: which errs less, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tunbridge._check import check_number, listed
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 0.15
"""Sets are named where the errors differ by more than this share of the larger."""


def versus(
    across: Mapping[str, float], up: Mapping[str, float], ax: Axes | None = None, *, names: tuple[str, str]
) -> Axes:
    """Draw the errors of two models on several data sets against each other, and return the axes.

    Parameters
    ----------
    across, up : mapping of data set to error
        The errors of the model on the horizontal axis, and of the one on the vertical axis; the same data sets.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    names : pair of str
        What the two models are called.

    Returns
    -------
    matplotlib.axes.Axes
        A point is a data set; below the diagonal the second model errs less. Data sets that are far from the diagonal
        are named.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.versus({"vote": 9.9, "iris": 6.0}, {"vote": 5.0, "iris": 6.7}, names=("naive Bayes", "TAN"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('error of naive Bayes (%)', 'error of TAN (%)')
    """
    x, y = _errors(across, up)
    axes = new_axes(ax, 5.2, 5.2)
    most = 1.05 * max(x.max(), y.max(), 1e-9)
    axes.plot([0, most], [0, most], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
    for which, colour in ((y <= x, FOR), (y > x, AGAINST)):
        axes.scatter(x[which], y[which], s=28, color=colour, edgecolor="white", linewidth=0.6, zorder=3)
    far = np.abs(x - y) > np.maximum(_NAMED * np.maximum(x, y), 0.03 * most)
    _name_points(axes, {name: (x[i], y[i]) for i, name in enumerate(across) if far[i]}, most)
    axes.set_xlim(-0.02 * most, most)
    axes.set_ylim(-0.02 * most, most)
    axes.set_aspect("equal")
    axes.set_xlabel(f"error of {names[0]} (%)")
    axes.set_ylabel(f"error of {names[1]} (%)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _name_points(axes: Axes, points: Mapping[str, tuple[float, float]], most: float) -> None:
    """Write the names beside the points, on the first of four sides where no other name is."""
    taken: list[tuple[float, float, float, float]] = []
    for name, (x, y) in sorted(points.items(), key=lambda each: each[1][1]):
        width, height = 0.021 * most * len(name), 0.035 * most
        sides = [(right, up) for right in (1, -1) for up in (-1, 1)]
        boxes = [_box(x, y, width, height, right, up) for right, up in sides]
        inside = [i for i, box in enumerate(boxes) if min(box[:2]) > -0.02 * most]
        free = [i for i in inside if not any(_overlap(boxes[i], other) for other in taken)] or [0]
        right, up = sides[free[0]]
        taken.append(boxes[free[0]])
        axes.annotate(
            name,
            (x, y),
            xytext=(4 * right, 3 * up),
            textcoords="offset points",
            fontsize=8,
            ha="left" if right > 0 else "right",
            va="bottom" if up > 0 else "top",
        )


def _box(x: float, y: float, width: float, height: float, right: int, up: int) -> tuple[float, float, float, float]:
    left, low = x if right > 0 else x - width, y if up > 0 else y - height
    return left, low, left + width, low + height


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _errors(across: Mapping[str, float], up: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    differ = sorted(across.keys() ^ up.keys())
    if differ or not across:
        only = f"only one has {listed(differ)}" if differ else "there are none"
        raise DataError(f"both models must have an error on the same data sets; {only}.")
    x, y = (np.array([check_number(f"the error on {s!r}", of[s], low=0) for s in across]) for of in (across, up))
    return x, y
