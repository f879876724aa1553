"""Curves of predictions: ROC, precision–recall, lift, cost by threshold, and all of them on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, counted
from tunbridge.errors import DataError
from tunbridge.evaluation.curves import Thresholds
from tunbridge.plots.axes import COLOURS, NEUTRAL, hide_spines, matplotlib, new_axes, plain_labels
from tunbridge.plots.evaluation import reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Probabilities = ArrayLike | Mapping[str, ArrayLike]
_SAMPLES = 200  # of the rows, for a band
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def roc(
    came_true: ArrayLike,
    probabilities: Probabilities,
    ax: Axes | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    band: float | None = None,
) -> Axes:
    """Draw ROC curves, the share of the positive rows found against that of false alarms, and return the axes.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,), or mapping of name to such an array
        The predicted probability of that class; of several models under their names, up to seven.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    band : float, optional
        The level of pointwise confidence bands, such as 0.95, from 200 bootstrap samples of the rows.

    Returns
    -------
    matplotlib.axes.Axes
        The legend has the area under each curve. Models differ by colour and by dashes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.roc([True, False, True, True], {"nb": [0.9, 0.2, 0.7, 0.1], "tan": [0.9, 0.2, 0.7, 0.5]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['nb: area 0.667', 'tan: area 1.000']
    """
    axes = new_axes(ax, 4.6, 4.6)
    axes.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle=":", zorder=1)
    for style, name, curve, again in _curves(came_true, probabilities, sample_weight):
        label = f"{name}area {curve.auc:.3f}"
        axes.plot(curve.false_positive_rate, curve.recall, label=label, **style)
        _draw_band(axes, again, band, style["color"], lambda c, at: np.interp(at, c.false_positive_rate, c.recall))
    return _framed(axes, "false positive rate", "recall (true positive rate)", "lower right")


def precision_recall(
    came_true: ArrayLike,
    probabilities: Probabilities,
    ax: Axes | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    band: float | None = None,
) -> Axes:
    """Draw precision–recall curves, and return the axes.

    Parameters
    ----------
    came_true, probabilities, ax, sample_weight, band
        As in :func:`roc`.

    Returns
    -------
    matplotlib.axes.Axes
        The legend has the average precision; the dotted line is the share of the class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.precision_recall([True, False, True, True], [0.9, 0.2, 0.7, 0.1])
    >>> ax.get_ylabel()
    'precision'
    """
    axes = new_axes(ax, 4.6, 4.6)
    for style, name, curve, again in _curves(came_true, probabilities, sample_weight):
        label = f"{name}average {curve.average_precision:.3f}"
        axes.plot(curve.recall[1:], curve.precision[1:], label=label, **style)
        _draw_band(axes, again, band, style["color"], lambda c, at: np.interp(at, c.recall[1:], c.precision[1:]))
    axes.axhline(curve.positives / (curve.positives + curve.negatives), color=NEUTRAL, linewidth=0.8, linestyle=":")
    return _framed(axes, "recall", "precision", "lower left")


def lift(
    came_true: ArrayLike,
    probabilities: Probabilities,
    ax: Axes | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Axes:
    """Draw lift curves, and return the axes.

    The lift is how many times more frequent the class is among the rows of the highest probabilities than among all.

    Parameters
    ----------
    came_true, probabilities, ax, sample_weight
        As in :func:`roc`.

    Returns
    -------
    matplotlib.axes.Axes
        The legend has the lift among the tenth of the rows with the highest probabilities.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.lift([True, False, True, False], [0.9, 0.2, 0.7, 0.1])
    >>> ax.get_xlabel()
    'share of the rows, most probable first'
    """
    axes = new_axes(ax, 4.6, 4.6)
    for style, name, curve, _ in _curves(came_true, probabilities, sample_weight):
        tenth = curve.lift[max(1, int(np.searchsorted(curve.share, 0.1, side="right")) - 1)]
        axes.plot(curve.share[1:], curve.lift[1:], label=f"{name}first tenth {tenth:.2f}", **style)
    axes.axhline(1.0, color=NEUTRAL, linewidth=0.8, linestyle=":")
    framed = _framed(axes, "share of the rows, most probable first", "lift", "upper right")
    framed.set_ylim(0.0, None)
    return framed


def cost_curve(
    came_true: ArrayLike,
    probabilities: Probabilities,
    ax: Axes | None = None,
    *,
    false_negative: float = 1.0,
    false_positive: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> Axes:
    """Draw the mean cost of a row against the threshold on its probability, and return the axes.

    Parameters
    ----------
    came_true, probabilities, ax, sample_weight
        As in :func:`roc`.
    false_negative, false_positive : float
        What it costs to miss the class, and a false alarm.

    Returns
    -------
    matplotlib.axes.Axes
        The legend has the threshold of least cost; the dotted line is the one that is best with calibrated
        probabilities, false_positive / (false_positive + false_negative).

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.cost_curve([True, False, True, False], [0.9, 0.2, 0.7, 0.1], false_negative=5)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['least 0.000 at 0.70']
    """
    axes = new_axes(ax, 4.6, 4.6)
    grid, highest = np.linspace(0.0, 1.0, 201), 0.0
    for style, name, curve, _ in _curves(came_true, probabilities, sample_weight):
        cost = curve.cost(false_negative, false_positive)
        best, highest = curve.cheapest(false_negative, false_positive), max(highest, float(cost.max()))
        label = f"{name}least {cost.min():.3f} at {min(best, 1.0):.2f}"
        axes.plot(grid, cost[[curve.place(t) for t in grid.tolist()]], label=label, **style)
    if false_positive + false_negative > 0:
        ideal = false_positive / (false_positive + false_negative)
        axes.axvline(ideal, color=NEUTRAL, linewidth=0.8, linestyle=":")
    framed = _framed(axes, "threshold", "mean cost of a row", "best")
    framed.set_ylim(0.0, 1.05 * highest or 1.0)
    return framed


def confusion(matrix: ArrayLike, classes: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw a confusion matrix, true classes in rows and predicted ones in columns, and return the axes.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The number of rows by true and predicted class, as ``scores.confusion[:-1]``.
    classes : array-like of shape (n_classes,)
        The names of the classes.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.confusion([[8, 2], [1, 9]], ["no", "yes"])
    >>> ax.get_xlabel()
    'predicted class'
    """
    counts, names = np.asarray(matrix, np.float64), [str(c) for c in np.asarray(classes).tolist()]
    if counts.shape != (len(names), len(names)):
        raise DataError(f"matrix must have a row and a column for each of {len(names)} classes; got {counts.shape}.")
    axes = new_axes(ax, 4.6, 4.6)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= _WRITTEN:
        for (i, j), n in np.ndenumerate(counts):
            colour = "white" if shares[i, j] > 0.5 else "black"
            axes.text(j, i, f"{n:g}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(names)), names, rotation=90 if len(names) > _UPRIGHT else 0)
    axes.set_yticks(range(len(names)), names)
    plain_labels([*axes.get_xticklabels(), *axes.get_yticklabels()])
    axes.set(xlabel="predicted class", ylabel="true class")
    return axes


_WRITTEN, _UPRIGHT = 12, 4


def performance(
    came_true: ArrayLike,
    probabilities: Probabilities,
    *,
    label: str = "",
    false_negative: float = 1.0,
    false_positive: float = 1.0,
    sample_weight: ArrayLike | None = None,
    matrix: tuple[ArrayLike, ArrayLike] | None = None,
) -> Axes:
    """Draw ROC, precision–recall, lift, calibration and cost curves on one page, and return the first axes.

    Parameters
    ----------
    came_true, probabilities, sample_weight
        As in :func:`roc`.
    label : str
        The class, for the title.
    false_negative, false_positive : float
        As in :func:`cost_curve`.
    matrix : pair of array-like, optional
        A confusion matrix and its classes, drawn beside the curves (:func:`confusion`).

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` has all six.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.performance([True, False, True, False], [0.9, 0.2, 0.7, 0.1], label="yes")
    >>> len(ax.figure.axes)
    5
    """
    figure: Figure = matplotlib("matplotlib.pyplot").figure(figsize=(13.2, 8.8), layout="constrained")
    places: Any = figure.subplots(2, 3).ravel()
    given: Any = {"sample_weight": sample_weight}
    named = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    roc(came_true, named, places[0], **given)
    precision_recall(came_true, named, places[1], **given)
    lift(came_true, named, places[2], **given)
    reliability(came_true, probabilities, places[3], **given)
    costs: Any = {"false_negative": false_negative, "false_positive": false_positive}
    cost_curve(came_true, named, places[4], **given, **costs)
    titles = ("ROC", "Precision–recall", "Lift", "Calibration", "Cost", "Confusion matrix")
    for axes, title in zip(places, titles, strict=True):
        axes.set_title(title, fontsize=11)
    if matrix is None:
        places[5].remove()
    else:
        confusion(*matrix, ax=places[5])
    if label:
        figure.suptitle(f"Class {label}", parse_math=False)
    first: Axes = places[0]
    return first


Again = Callable[[np.random.Generator], Thresholds]
"""Returns a curve of a bootstrap sample of the rows."""


def _curves(
    came_true: ArrayLike, probabilities: Probabilities, weights: ArrayLike | None
) -> Iterator[tuple[dict[str, Any], str, Thresholds, Again]]:
    """Yield how to draw each model, the beginning of its label, its curve, and how to draw another sample of it."""
    given = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    if not 1 <= len(given) <= len(COLOURS):
        raise DataError(f"a plot must show one to {len(COLOURS)} models; got {counted(len(given), 'model')}.")
    for i, (name, p) in enumerate(given.items()):
        style = {"color": COLOURS[i], "linestyle": _DASHES[i], "linewidth": 1.4, "zorder": 2}
        yield (
            style,
            f"{name}: " if name else "",
            Thresholds.of(came_true, p, weights),
            _resampled(came_true, p, weights),
        )


def _resampled(came_true: ArrayLike, p: ArrayLike, weights: ArrayLike | None) -> Again:
    n = np.size(p)
    given = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    return lambda rng: Thresholds.of(came_true, p, given * rng.poisson(1.0, n))


def _draw_band(
    axes: Axes, again: Again, band: float | None, colour: str, at: Callable[[Thresholds, np.ndarray], np.ndarray]
) -> None:
    """Draw between which values a curve lies in most of 200 bootstrap samples, in which each row counts Poisson(1)."""
    if band is None:
        return
    level = check_number("band", band, above=0, high=1)
    rng, grid = np.random.default_rng(0), np.linspace(0.0, 1.0, 101)
    several = []
    for _ in range(_SAMPLES):
        with suppress(DataError):  # no row of one side was drawn
            several.append(at(again(rng), grid))
    if not several:
        return
    low, high = np.quantile(several, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
    axes.fill_between(grid, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)


def _framed(axes: Axes, x: str, y: str, place: Any) -> Axes:
    axes.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02))
    if axes.get_ylim()[1] <= 1.1:
        axes.set_ylim(-0.02, 1.04)
    hide_spines(axes)
    plain_labels(axes.legend(frameon=False, fontsize=9, loc=place).get_texts())
    return axes
