"""How much there is to learn from: the accuracy of models against the number of rows or documents they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import check_number, counted, did_you_mean, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, SHAPES, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(
    curves: Mapping[str, Mapping[float, Any]],
    ax: Axes | None = None,
    *,
    errors: Mapping[str, Mapping[float, float]] | None = None,
    what: str = "documents",
) -> Axes:
    """Draw the accuracy of models against the number of documents they learned from, and return the axes.

    Parameters
    ----------
    curves : mapping of model to mapping of number to accuracy
        For each model (up to seven) what it reached with how many documents: an accuracy from 0 to 1, or several, one
        of each repetition. Of several the mean is drawn, with bars of one standard error, the standard deviation over
        √(number of repetitions), to either side.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    errors : mapping of model to mapping of number to standard error, optional
        The standard errors, where ``curves`` has means already.
    what : str
        What was learned from, for the horizontal axis, which is logarithmic.

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
            sizes,
            100 * means,
            100 * each,
            label=name,
            color=colour,
            marker=shape,
            markersize=5,
            linewidth=1.4,
            capsize=3,
            elinewidth=1.0,
            zorder=2,
        )
    _frame(axes, sorted({size for sizes, _, _ in drawn.values() for size in sizes.tolist()}), what)
    return axes


def _check_names(curves: Any, errors: Mapping[str, Any]) -> None:
    if not isinstance(curves, Mapping) or not 1 <= len(curves) <= len(COLOURS):
        got = counted(len(curves), "model") if isinstance(curves, Mapping) else type(curves).__name__
        raise DataError(f"curves must be those of one to {len(COLOURS)} models, in a mapping; got {got}.")
    if other := sorted(map(str, errors.keys() - curves.keys())):
        raise DataError(f"errors must be those of the curves; got {other[0]!r} too. {did_you_mean(other[0], curves)}")


def _points(name: str, curve: Any, errors: Mapping[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers of documents in order, mean accuracies and their standard errors."""
    if not isinstance(curve, Mapping) or not curve:
        got = shortened(repr(curve))
        raise DataError(f"the curve of {name!r} must be a mapping of numbers to accuracies; got {got}.")
    points = [(check_number("a number of documents", n, above=0), curve[n], errors.get(n)) for n in curve]
    found = [(n, *_summary(f"{name!r} at {n:g}", values, error)) for n, values, error in sorted(points, key=_first)]
    sizes, means, each = np.array(found).T
    return sizes, means, each


def _first(point: tuple[Any, ...]) -> float:
    return float(point[0])


def _summary(where: str, values: Any, error: float | None) -> tuple[float, float]:
    """Return the mean of accuracies, and its standard error, which may be known."""
    repeated = list(values) if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else [values]
    if not repeated:
        raise DataError(f"{where} must have an accuracy; got an empty list.")
    each = np.array([check_number(f"the accuracy of {where}", v, low=0, high=1) for v in repeated])
    if error is not None:
        return float(each.mean()), check_number(f"the standard error of {where}", error, low=0)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0


def _frame(axes: Axes, sizes: Sequence[float], what: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, [_number(size) for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(what, parse_math=False)
    axes.set_ylabel("accuracy (%)")
    axes.grid(axis="y", color="0.9", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(frameon=False, fontsize=9, loc="lower right")
    for text in legend.get_texts():
        text.set_parse_math(False)


def _number(value: float) -> str:
    """Return a number as it stands on the axis, its thousands apart."""
    return f"{value:,.0f}".replace(",", "\u202f") if value == round(value) else f"{value:g}"
