"""Reliability: whether what is called 70 % happens in 70 of 100 cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tunbridge._check import counted
from tunbridge.decisions import CalibrationTable, calibration_table
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, NEUTRAL, SHAPES, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(
    came_true: Any, probabilities: Any, ax: Axes | None = None, *, n_bins: int = 10, sample_weight: Any = None
) -> Axes:
    """Draw how often what was predicted came true against its probability, and return the axes.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,), or mapping of name to such an array
        The probability that was given to that class; by several models under their names, up to seven.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    n_bins : int
        The number of equally wide bins of probabilities.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    matplotlib.axes.Axes
        A point lies on the diagonal where probabilities are right, below it where they are too high; its area grows
        with the number of rows. The legend has the expected calibration error of each model.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> ax = tb.plots.reliability([True, False, True, True], [0.9, 0.2, 0.7, 0.95])
    >>> ax.get_xlabel()
    'predicted probability'
    >>> ax = tb.plots.reliability([True, False, True, True], {"raw": [0.9, 0.2, 0.7, 1], "flat": [0.75] * 4})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['raw: error 0.15', 'flat: error 0.00']
    """
    given = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    if not 1 <= len(given) <= len(COLOURS):
        raise DataError(f"a diagram must show one to {len(COLOURS)} models; got {counted(len(given), 'model')}.")
    tables = {
        str(name): calibration_table(came_true, p, n_bins=n_bins, sample_weight=sample_weight)
        for name, p in given.items()
    }
    axes = new_axes(ax, 4.6, 4.6)
    axes.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
    for i, (name, table) in enumerate(tables.items()):
        _draw(axes, table, name, COLOURS[i], SHAPES[i])
    _finish(axes, legend=isinstance(probabilities, Mapping))
    return axes


def _draw(axes: Axes, table: CalibrationTable, name: str, colour: str, shape: str) -> None:
    area = 20 + 180 * table.n_rows / table.n_rows.max()
    axes.plot(table.predicted, table.observed, color=colour, linewidth=1.0, zorder=2)
    axes.scatter(
        table.predicted,
        table.observed,
        s=area,
        color=colour,
        marker=shape,
        edgecolor="white",
        linewidth=0.8,
        zorder=3,
        label=f"{name}: error {table.error:.2f}",
    )


def _finish(axes: Axes, *, legend: bool) -> None:
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(-0.05, 1.05)
    axes.set_aspect("equal")
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share that came true")
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        shown = axes.legend(loc="upper left", frameon=False, fontsize=9)
        for handle in shown.legend_handles:
            if handle is not None and hasattr(handle, "set_sizes"):
                handle.set_sizes([45.0])
