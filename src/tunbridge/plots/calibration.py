"""Reliability: whether what is called 70 % happens in 70 of 100 cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._check import check_number
from tunbridge.errors import DataError
from tunbridge.plots.axes import FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Bins(NamedTuple):
    """For each bin that has rows: the mean probability, the share of rows in which it came true, the number of rows."""

    predicted: np.ndarray
    observed: np.ndarray
    n_rows: np.ndarray


def reliability(came_true: Any, probabilities: Any, ax: Axes | None = None, *, n_bins: int = 10) -> Axes:
    """Draw how often what was predicted came true against its probability, and return the axes.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,)
        The probability that was given to that class.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    n_bins : int
        The number of equally wide bins of probabilities.

    Returns
    -------
    matplotlib.axes.Axes
        A point lies on the diagonal where probabilities are right, below it where they are too high; its area grows
        with the number of rows.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> ax = tb.plots.reliability([True, False, True, True], [0.9, 0.2, 0.7, 0.95])
    >>> ax.get_xlabel()
    'predicted probability'
    """
    bins = reliability_bins(came_true, probabilities, n_bins=n_bins)
    axes = new_axes(ax, 4.6, 4.6)
    axes.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
    area = 20 + 180 * bins.n_rows / bins.n_rows.max()
    axes.plot(bins.predicted, bins.observed, color=FOR, linewidth=1.0, zorder=2)
    axes.scatter(bins.predicted, bins.observed, s=area, color=FOR, edgecolor="white", linewidth=0.8, zorder=3)
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(-0.05, 1.05)
    axes.set_aspect("equal")
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share that came true")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def reliability_bins(came_true: Any, probabilities: Any, *, n_bins: int = 10) -> Bins:
    """Return what was predicted and what came true in equally wide bins of probabilities.

    Examples
    --------
    >>> bins = reliability_bins([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], n_bins=2)
    >>> bins.observed.tolist(), bins.n_rows.tolist()
    ([0.0, 1.0], [1, 3])
    """
    n = int(check_number("n_bins", n_bins, low=1))
    p, y = np.asarray(probabilities, np.float64), np.asarray(came_true).astype(np.float64)
    if p.ndim != 1 or p.shape != y.shape or not p.size:
        raise DataError(f"came_true and probabilities must be equally long lists; got shapes {y.shape} and {p.shape}.")
    if not ((p >= 0) & (p <= 1)).all():
        raise DataError(f"probabilities must lie between 0 and 1; got {p[~((p >= 0) & (p <= 1))][0]}.")
    if not np.isin(y, (0.0, 1.0)).all():
        raise DataError("came_true must be a truth value a row. Compare the classes with one of them first.")
    where = np.minimum((p * n).astype(np.int64), n - 1)
    rows = np.bincount(where, minlength=n)
    used = rows > 0
    mean = [np.bincount(where, weights=values, minlength=n)[used] / rows[used] for values in (p, y)]
    return Bins(mean[0], mean[1], rows[used])
