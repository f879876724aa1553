"""How good models are: reliability diagrams, two models on several data sets, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, counted, did_you_mean, listed, shortened
from tunbridge.decisions import calibration_table
from tunbridge.errors import DataError
from tunbridge.plots.axes import (
    AGAINST,
    COLOURS,
    FOR,
    NEUTRAL,
    SHAPES,
    hide_spines,
    new_axes,
    plain_labels,
    same_marks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 0.15
"""Data sets are named if the errors differ by more than this share of the larger."""

_Box = tuple[float, float, float, float]


def reliability(
    came_true: ArrayLike,
    probabilities: ArrayLike | Mapping[str, ArrayLike],
    ax: Axes | None = None,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> Axes:
    """Draw a reliability diagram, observed frequencies against predicted probabilities, and return the axes.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,), or mapping of name to such an array
        The predicted probability of that class; of several models under their names, up to seven.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    n_bins : int
        The number of equally wide bins of probabilities.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    matplotlib.axes.Axes
        A point lies on the diagonal if probabilities are calibrated, below it if they are too high; its area grows with
        the number of rows. The legend has the expected calibration error of each model.

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
        axes.plot(table.predicted, table.observed, color=COLOURS[i], linewidth=1.0, zorder=2)
        axes.scatter(
            table.predicted, table.observed, s=20 + 180 * table.n_rows / table.n_rows.max(), color=COLOURS[i],
            marker=SHAPES[i], edgecolor="white", linewidth=0.8, zorder=3, label=f"{name}: error {table.error:.2f}",
        )  # fmt: skip
    axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
    axes.set(xlabel="predicted probability", ylabel="share that came true")
    hide_spines(axes)
    if isinstance(probabilities, Mapping):
        same_marks(axes.legend(loc="upper left", frameon=False, fontsize=9), 45.0)
    return axes


def versus(
    across: Mapping[str, float], up: Mapping[str, float], ax: Axes | None = None, *, names: tuple[str, str]
) -> Axes:
    """Draw the errors of two models on several data sets against each other, and return the axes.

    Parameters
    ----------
    across, up : mapping of data set to error
        The errors of the model on the horizontal axis, and of the one on the vertical axis; the same data sets.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    names : pair of str
        The names of the two models.

    Returns
    -------
    matplotlib.axes.Axes
        A point is a data set; below the diagonal the second model has fewer errors. Data sets far from the diagonal are
        named.

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
    axes.set(xlim=(-0.02 * most, most), ylim=(-0.02 * most, most), aspect="equal")
    axes.set(xlabel=f"error of {names[0]} (%)", ylabel=f"error of {names[1]} (%)")
    hide_spines(axes)
    return axes


def _name_points(axes: Axes, points: Mapping[str, tuple[float, float]], most: float) -> None:
    """Write the names beside the points, on the first of four sides where no other name is."""
    taken: list[_Box] = []
    for name, (x, y) in sorted(points.items(), key=lambda each: each[1][1]):
        width, height = 0.021 * most * len(name), 0.035 * most
        sides = [(right, up) for right in (1, -1) for up in (-1, 1)]
        boxes = [_box(x, y, width, height, right, up) for right, up in sides]
        inside = [i for i, box in enumerate(boxes) if min(box[:2]) > -0.02 * most]
        free = [i for i in inside if not any(_overlap(boxes[i], other) for other in taken)] or [0]
        right, up = sides[free[0]]
        taken.append(boxes[free[0]])
        sides_of_text: dict[str, Any] = {"ha": "left" if right > 0 else "right", "va": "bottom" if up > 0 else "top"}
        offset = (4 * right, 3 * up)
        axes.annotate(name, (x, y), xytext=offset, textcoords="offset points", fontsize=8, **sides_of_text)


def _box(x: float, y: float, width: float, height: float, right: int, up: int) -> _Box:
    left, low = x if right > 0 else x - width, y if up > 0 else y - height
    return left, low, left + width, low + height


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _errors(across: Mapping[str, float], up: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    differ = sorted(across.keys() ^ up.keys())
    if differ or not across:
        only = f"only one has {listed(differ)}" if differ else "there are none"
        raise DataError(f"both models must have an error on the same data sets; {only}.")
    x, y = (np.array([check_number(f"the error on {s!r}", of[s], low=0) for s in across]) for of in (across, up))
    return x, y


def learning_curve(
    curves: Mapping[str, Mapping[float, float | Sequence[float]]],
    ax: Axes | None = None,
    *,
    errors: Mapping[str, Mapping[float, float]] | None = None,
    what: str = "documents",
) -> Axes:
    """Draw the accuracy of models against the number of training documents, and return the axes.

    Parameters
    ----------
    curves : mapping of model to mapping of number to accuracy
        For each model (up to seven) the accuracy, from 0 to 1, for each number of documents, or a list of one per
        repetition. For a list the mean is drawn, with error bars of one standard error, the standard deviation over
        √(number of repetitions).
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    errors : mapping of model to mapping of number to standard error, optional
        The standard errors, if ``curves`` has means.
    what : str
        The label of the horizontal axis, which is logarithmic.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> curves = {"multinomial": {100: [0.31, 0.35], 1000: [0.68, 0.7]}, "NB-SVM": {100: 0.4, 1000: 0.74}}
    >>> ax = tb.plots.learning_curve(curves)
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('documents', ['multinomial', 'NB-SVM'])
    """
    known = errors or {}
    _check_names(curves, known)
    drawn = {str(name): _points(str(name), curve, known.get(name, {})) for name, curve in curves.items()}
    axes = new_axes(ax, 6.4, 4.4)
    for (name, (sizes, means, each)), colour, shape in zip(drawn.items(), COLOURS, SHAPES, strict=False):
        axes.errorbar(
            sizes, 100 * means, 100 * each, label=name, color=colour, marker=shape, markersize=5, linewidth=1.4,
            capsize=3, elinewidth=1.0, zorder=2,
        )  # fmt: skip
    _curve_frame(axes, sorted({size for sizes, _, _ in drawn.values() for size in sizes.tolist()}), what)
    return axes


def _check_names(curves: object, errors: Mapping[str, Any]) -> None:
    if not isinstance(curves, Mapping) or not 1 <= len(curves) <= len(COLOURS):
        got = counted(len(curves), "model") if isinstance(curves, Mapping) else type(curves).__name__
        raise DataError(f"curves must be those of one to {len(COLOURS)} models, in a mapping; got {got}.")
    if other := sorted(map(str, errors.keys() - curves.keys())):
        raise DataError(f"errors must be those of the curves; got {other[0]!r} too. {did_you_mean(other[0], curves)}")


def _points(name: str, curve: object, errors: Mapping[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers of documents in order, mean accuracies and their standard errors."""
    if not isinstance(curve, Mapping) or not curve:
        got = shortened(repr(curve))
        raise DataError(f"the curve of {name!r} must be a mapping of numbers to accuracies; got {got}.")
    points = [(check_number("a number of documents", n, above=0), curve[n], errors.get(n)) for n in curve]
    found = [
        (n, *_summary(f"{name!r} at {n:g}", values, error))
        for n, values, error in sorted(points, key=lambda point: point[0])
    ]
    sizes, means, each = np.array(found).T
    return sizes, means, each


def _summary(where: str, values: object, error: float | None) -> tuple[float, float]:
    """Return the mean of accuracies, and its standard error, which may be known."""
    repeated = list(values) if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else [values]
    if not repeated:
        raise DataError(f"{where} must have an accuracy; got an empty list.")
    each = np.array([check_number(f"the accuracy of {where}", v, low=0, high=1) for v in repeated])
    if error is not None:
        return float(each.mean()), check_number(f"the standard error of {where}", error, low=0)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0


def _curve_frame(axes: Axes, sizes: Sequence[float], what: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, [_number(size) for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(what, parse_math=False)
    axes.set_ylabel("accuracy (%)")
    axes.grid(axis="y", color="0.9", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    hide_spines(axes)
    plain_labels(axes.legend(frameon=False, fontsize=9, loc="lower right").get_texts())


def _number(value: float) -> str:
    """Return a number for the axis, with spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f") if value == round(value) else f"{value:g}"
