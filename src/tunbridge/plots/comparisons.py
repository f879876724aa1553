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
    for name, a, b in zip(across, x.tolist(), y.tolist(), strict=True):
        if abs(a - b) > max(_NAMED * max(a, b), 0.03 * most):
            axes.annotate(name, (a, b), xytext=(4, -3), textcoords="offset points", fontsize=8, va="top")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    axes.set_aspect("equal")
    axes.set_xlabel(f"error of {names[0]} (%)")
    axes.set_ylabel(f"error of {names[1]} (%)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _errors(across: Mapping[str, float], up: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    differ = sorted(across.keys() ^ up.keys())
    if differ or not across:
        only = f"only one has {listed(differ)}" if differ else "there are none"
        raise DataError(f"both models must have an error on the same data sets; {only}.")
    x, y = (np.array([check_number(f"the error on {s!r}", of[s], low=0) for s in across]) for of in (across, up))
    return x, y
