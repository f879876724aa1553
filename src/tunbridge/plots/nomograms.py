"""A nomogram: naive Bayes as a drawing that can be read with a ruler.

Where features are independent given the class the log-odds are a sum, and a sum can be done on paper. Every feature has
a line on which its values stand at their weights of evidence, in points: the value that speaks least for the class has
0, and the longest line has 100. Who adds up the points of a case and looks below the total reads the probability:

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_f w_f(x_f),     points_f(x) = 100 (w_f(x) − min w_f)/(longest line).

A number with a density has a line with numbers on it. Where its weight first rises and then falls, the line is folded,
and each part is drawn below the one before; where it turns more often, a few round numbers stand on one line. Far out
the weight of a number may be huge, and its line would leave no room for the others: it ends with an arrow where the
odds are some hundred to one.

References
----------
M. Možina, J. Demšar, M. Kattan, B. Zupan (2004). Nomograms for visualization of naive Bayesian classifier. PKDD,
337–348.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import check_number, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes
from tunbridge.plots.label_places import Placed, text_width
from tunbridge.plots.nomogram_parts import (
    BEYOND,
    LINE,
    SIZE,
    Part,
    Sheet,
    cut_off,
    number_parts,
    placed_labels,
    round_marks,
    state_part,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.classifiers.explanation.scales import Scale, Scales

_WIDTH = 9.5  # inches
_NAME_WIDTH = 26
_MOST_WEIGHT = 5.0  # what a number may weigh, in nats, or more where some state does
_SHOWN = (0.5, 0.1, 0.9, 0.01, 0.99, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.001, 0.999)
_LOW, _HIGH = 0.001, 0.999


def nomogram(
    classifier: Any,
    label: Any = None,
    against: Any = None,
    ax: Axes | None = None,
    *,
    features: Any = None,
    most: int = 15,
) -> Axes:
    """Draw a naive Bayes classifier as a nomogram, and return the axes.

    Parameters
    ----------
    classifier : fitted classifier
        One whose features are independent given the class.
    label, against : class, optional
        The class whose probability is read, and the one it is compared with; by default the second of two classes
        against the first, of more the most frequent against the next.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of a fitting size.
    features : list of str, or mapping of str to (low, high) or None, optional
        Which features to draw; by default those with the longest lines. A mapping may say where the line of a number
        starts and ends.
    most : int
        How many at most. Those left out count as unknown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Lines of numbers reach two standard deviations beyond the means of the classes, as far as values were seen there. A
    circle marks weight 0, which is what a missing value has. Values that one class cannot have stand beyond the ends,
    with a triangle: they settle it.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> ax = tb.plots.nomogram(tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play"))
    >>> ax.get_title(loc="left")
    'yes rather than no'
    """
    from tunbridge.classifiers.explanation.changeable import changeable
    from tunbridge.classifiers.explanation.scales import evidence_scales

    if not hasattr(classifier, "class_log_prior_"):
        raise DataError(f"a nomogram must be drawn of a fitted classifier; got {type(classifier).__name__}.")
    wanted = changeable(features, classifier.variables_)
    ranges = {j: may.range for j, may in wanted.items() if may.range is not None}
    found = evidence_scales(classifier, label, against, ranges=ranges)
    names = {classifier.variables_[j].name for j in wanted}
    shown, most_weight = _chosen(found, names, int(check_number("most", most, low=1)))
    sheet = Sheet(found, shown, 100.0 / (max(s.length for s in shown) or 1.0), _left(shown), most_weight)
    axes = new_axes(ax, _WIDTH, 1.0)
    _draw(axes, sheet, own=ax is None)
    return axes


def _chosen(found: Scales, names: Collection[str], most: int) -> tuple[list[Scale], float]:
    """Return the scales to draw, the longest first, and the weight at which those of numbers are cut off."""
    some = [s for s in found.scales if s.feature in names and len(s.values) > 1]
    if not some:
        raise DataError("a nomogram must have a feature with two values; there is none.")
    states = [float(np.abs(s.finite).max()) for s in some if not s.is_number and s.finite.size]
    most_weight = max([_MOST_WEIGHT, *states])
    cut = [cut_off(s, most_weight) if s.is_number else s for s in some]
    return sorted(cut, key=lambda s: -s.length)[:most], most_weight


def _left(shown: Sequence[Scale]) -> float:
    names = [_name(s) for s in shown] + ["Total points"]
    room = 0.55 if any(np.isneginf(s.weights).any() for s in shown) else 0.25
    return max(text_width(n, SIZE + 0.5) for n in names) / 72 + room


def _name(scale: Scale) -> str:
    name = " ".join(scale.feature.split())
    head = (_NAME_WIDTH - 1) // 2
    return name if len(name) <= _NAME_WIDTH else f"{name[:head]}…{name[head + 1 - _NAME_WIDTH :]}"


def _inches(ax: Axes | None, left: float) -> float:
    """Return the length of the lines in inches."""
    if ax is None:
        return _WIDTH - 0.3 - left - 0.5
    box = ax.get_window_extent()
    return max(1.0, box.width / ax.figure.dpi - left - 0.5)


def _draw(axes: Axes, sheet: Sheet, *, own: bool) -> None:
    unit = 100.0 / _inches(None if own else axes, sheet.left)
    left, tens = -sheet.left * unit, np.arange(0.0, 101.0, 10.0)
    top = _ruler(axes, 0.3, "Points", [(x, f"{x:.0f}") for x in tens], left)
    y = top
    for scale in sheet.shown:
        parts = number_parts(sheet, scale, unit) if scale.is_number else [state_part(sheet, scale, unit)]
        zero = sheet.points(scale, 0.0)
        y, middle = _feature(axes, y + 0.06, parts, zero)
        _text(axes, left, middle, _name(scale), ha="left")
    axes.vlines(tens, top, y + 0.05, color="#e4e4e4", linewidth=0.6, zorder=0)
    y = _answer(axes, y + 0.25, sheet, unit)
    axes.text(left, y + 0.3, _note(sheet), fontsize=SIZE - 0.5, color=NEUTRAL, va="center")
    axes.set_xlim(left, 100.0 + BEYOND + 3.0)
    axes.set_ylim(y + 0.45, -0.05)
    axes.set_title(_title(sheet.found), fontsize=10, loc="left", parse_math=False)
    axes.set_axis_off()
    if own:
        axes.figure.set_size_inches(_WIDTH, y + 1.0)  # type: ignore[union-attr]


def _note(sheet: Sheet) -> str:
    left = len(sheet.found.scales) - len(sheet.shown)
    more = f" Left out, as if unknown: {left} more." if left else ""
    return f"Add up the points; the probability stands below the total. ○ is an unknown value.{more}"


def _title(found: Scales) -> str:
    return f"{shortened(str(found.label), 40)} rather than {shortened(str(found.against), 40)}"


def _ruler(axes: Axes, y: float, name: str, ticks: Sequence[tuple[float, str]], left: float) -> float:
    """Draw a line with numbers above it, and return its y."""
    _text(axes, left, y, name, ha="left", weight="bold")
    axes.plot([0, 100], [y, y], color="black", linewidth=1.0)
    for x, text in ticks:
        axes.plot([x, x], [y, y - 0.05], color="black", linewidth=1.0)
        _text(axes, x, y - 0.12, text)
    return y


def _text(axes: Axes, x: float, y: float, text: str, *, ha: str = "center", weight: str = "normal") -> None:
    axes.text(x, y, text, ha=ha, va="center", fontsize=SIZE, fontweight=weight, parse_math=False)


def _feature(axes: Axes, y: float, parts: Sequence[Part], zero: float) -> tuple[float, float]:
    """Draw a feature's lines below y; return where they end, and the height of their middle."""
    first, before = y + parts[0].top, None
    for part in parts:
        y += part.top
        axes.plot([part.least, part.most], [y, y], color="black", linewidth=1.0, solid_capstyle="butt")
        if before is not None and part.start not in part.arrows:
            axes.plot([part.start, part.start], [before, y], color="black", linewidth=1.0, linestyle=":")
        for x, weight in part.ticks:
            _tick(axes, x, y, weight)
        for x in part.arrows:
            axes.plot(x, y, marker=">" if x >= part.most else "<", markersize=4, color="black")
        for side, labels in ((-1, part.above), (1, part.below)):
            for p in labels:
                _label(axes, p, y, side)
        if part.least <= zero <= part.most:
            axes.plot(zero, y, marker="o", markersize=4.5, markerfacecolor="white", color=NEUTRAL, zorder=4)
        before = y
        y += part.bottom
    return y, (first + (first if before is None else before)) / 2


def _tick(axes: Axes, x: float, y: float, weight: float) -> None:
    colour = FOR if weight > 0 else AGAINST if weight < 0 else NEUTRAL
    if np.isinf(weight):
        axes.plot(x, y, marker=">" if weight > 0 else "<", markersize=5, color=colour, zorder=3)
    else:
        axes.plot([x, x], [y - 0.04, y + 0.04], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=3)


def _label(axes: Axes, p: Placed, y: float, side: int) -> None:
    height = y + side * (0.11 + LINE * p.level)
    if p.level or abs(p.middle - p.at) > 0.5:
        axes.plot([p.at, p.middle], [y, height - side * 0.05], color="#b0b0b0", linewidth=0.5, zorder=1)
    axes.text(
        p.middle, height, p.text, ha="center", va="center", fontsize=SIZE, parse_math=False, zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip


def _answer(axes: Axes, y: float, sheet: Sheet, unit: float) -> float:
    """Draw the totals and the probabilities below them; only where something is still open."""
    total = sheet.total or 1.0

    def at(p: float) -> float:
        return (log(p / (1 - p)) - sheet.base) * sheet.factor

    low, high = max(0.0, at(_LOW)), min(total, at(_HIGH))
    if low >= high:
        low, high = 0.0, total
    marks = round_marks(low, high, 10)
    left = -sheet.left * unit
    _ruler(axes, y + 0.15, "Total points", [((m - low) / (high - low) * 100, f"{m:.6g}") for m in marks], left)
    ends = [1 / (1 + exp(-(sheet.base + t / sheet.factor))) for t in (low, high)]
    chances = [*_SHOWN, *round_marks(ends[0], ends[1], 8).tolist()] if ends[0] < ends[1] else []
    spots = {round(p, 6): (at(p) - low) / (high - low) * 100 for p in chances if 0 < p < 1}
    labels = [(x, f"{p:.6g}") for p, x in spots.items() if -1e-9 <= x <= 100 + 1e-9]
    found = placed_labels(labels, unit, levels=1)
    return _ruler(axes, y + 0.6, "Probability", [(p.at, p.text) for p in found], left)
