"""A nomogram: naive Bayes as a drawing that can be read with a ruler.

If features are independent given the class the log-odds are a sum, which can be computed on paper. Every feature has a
line with its values at their weights of evidence, in points: the value of least weight for the class has 0, and the
longest line has 100. Add up the points of a case, and read the probability below the total:

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_f w_f(x_f),     points_f(x) = 100 (w_f(x) − min w_f)/(longest line).

A number with a density has a line with numbers on it. If its weight first rises and then falls, the line is folded, and
each part is drawn below the one before; if it turns more often, a few round numbers are put on one line. Far out the
weight of a number may be huge, and its line would leave no room for the others: it ends with an arrow where the odds
are some hundred to one.

References
----------
M. Možina, J. Demšar, M. Kattan, B. Zupan (2004). Nomograms for visualization of naive Bayesian classifier. PKDD,
337–348.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_number, listed, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import (
    AGAINST,
    FOR,
    NEUTRAL,
    Placed,
    matplotlib,
    middle_out,
    new_axes,
    placed,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.classifiers.explanation.importance import Scale, Scales

_SIZE = 8.0  # of the letters, in points
_LINE = 0.15  # the height of a line of text, in inches
_BEYOND = 4.0  # how far beyond the ends the values of infinite weight are
_STATE_WIDTH = 16
_MOST_TURNS, _WIGGLE, _SMALL = 2, 0.04, 0.05
_WIDTH = 9.5  # inches
_NAME_WIDTH = 26
_MOST_WEIGHT = 5.0  # of a number, in nats, unless some category has more
_SHOWN = (0.5, 0.1, 0.9, 0.01, 0.99, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.001, 0.999)
_LOW, _HIGH = 0.001, 0.999


def nomogram(
    classifier: BayesClassifier,
    label: object = None,
    against: object = None,
    ax: Axes | None = None,
    *,
    features: Iterable[str] | Mapping[str, object] | None = None,
    most: int = 15,
) -> Axes:
    """Draw a naive Bayes classifier as a nomogram, and return the axes.

    Parameters
    ----------
    classifier : fitted classifier
        One whose features are independent given the class.
    label, against : class, optional
        The class whose probability is read, and the one it is compared with; default: the second of two classes against
        the first, of more the most frequent against the next.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure of a suitable size.
    features : list of str, or mapping of str to (low, high) or None, optional
        The features to draw; default: those with the longest lines. A mapping may give the ends of the line of a
        number.
    most : int
        The largest number of features. The others count as unknown.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Lines of numbers reach two standard deviations beyond the means of the classes, within the range of the data. A
    circle marks weight 0, the weight of a missing value. Values that are impossible in one class are beyond the ends,
    with a triangle: they decide.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> ax = tb.plots.nomogram(tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play"))
    >>> ax.get_title(loc="left")
    'yes rather than no'
    """
    from tunbridge.classifiers.explanation.importance import evidence_scales
    from tunbridge.classifiers.explanation.what_if import changeable

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
    if texts := getattr(classifier, "text_columns_", ()):
        axes.set_title(
            f"{_title(found)}, without the words of {listed(texts)}", fontsize=10, loc="left", parse_math=False
        )
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
    return max(text_width(n, _SIZE + 0.5) for n in names) / 72 + room


def _name(scale: Scale) -> str:
    return middle_out(" ".join(scale.feature.split()), _NAME_WIDTH)


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
    axes.text(left, y + 0.3, _note(sheet), fontsize=_SIZE - 0.5, color=NEUTRAL, va="center")
    axes.set_xlim(left, 100.0 + _BEYOND + 3.0)
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
    axes.text(x, y, text, ha=ha, va="center", fontsize=_SIZE, fontweight=weight, parse_math=False)


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
    height = y + side * (0.11 + _LINE * p.level)
    if p.level or abs(p.middle - p.at) > 0.5:
        axes.plot([p.at, p.middle], [y, height - side * 0.05], color="#b0b0b0", linewidth=0.5, zorder=1)
    axes.text(
        p.middle, height, p.text, ha="center", va="center", fontsize=_SIZE, parse_math=False, zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip


def _answer(axes: Axes, y: float, sheet: Sheet, unit: float) -> float:
    """Draw the totals and the probabilities below them, between 0.001 and 0.999."""
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


# The lines


@dataclass(frozen=True)
class Sheet:
    """What is drawn: the scales, those shown, points per nat, the width of the names in inches, where lines end."""

    found: Scales
    shown: Sequence[Scale]
    factor: float
    left: float
    most_weight: float

    def points(self, scale: Scale, weights: Any) -> Any:
        """Return weights as points on a feature's line."""
        return (weights - scale.finite.min()) * self.factor if scale.finite.size else np.zeros_like(weights)

    @property
    def total(self) -> float:
        """The most points that there can be."""
        return sum(s.length for s in self.shown) * self.factor

    @property
    def base(self) -> float:
        """The log-odds at 0 points."""
        return self.found.prior + sum(float(s.finite.min()) for s in self.shown if s.finite.size)


@dataclass(frozen=True)
class Part:
    """A piece of a feature's line: where it starts and ends, its ticks, its labels above and below, and its arrows."""

    start: float
    stop: float
    ticks: tuple[tuple[float, float], ...]
    above: tuple[Placed, ...]
    below: tuple[Placed, ...] = ()
    arrows: tuple[float, ...] = ()

    @property
    def least(self) -> float:
        """The left end of the line."""
        return min(self.start, self.stop, *(x for x, w in self.ticks if isfinite(w)))

    @property
    def most(self) -> float:
        """The right end of the line."""
        return max(self.start, self.stop, *(x for x, w in self.ticks if isfinite(w)))

    @property
    def top(self) -> float:
        """The height above the line, in inches."""
        return 0.07 + _LINE * (1 + max((p.level for p in self.above), default=-1))

    @property
    def bottom(self) -> float:
        """The depth below the line, in inches."""
        return 0.05 + _LINE * (1 + max((p.level for p in self.below), default=-1))


def cut_off(scale: Scale, most_weight: float) -> Scale:
    """Return the scale of a number without excessive weights; one that turns often, at a few round numbers."""
    weights = np.clip(scale.weights, -most_weight, most_weight)
    if len(_turns(weights)) <= _MOST_TURNS:
        return replace(scale, weights=weights)
    marks = round_marks(scale.values[0], scale.values[-1], 10)
    rough = np.interp(marks, scale.values, weights)
    return replace(scale, values=tuple(f"{x:.6g}" for x in marks), weights=rough, is_number=False)


def _turns(curve: np.ndarray) -> list[int]:
    return turning_points(curve, tolerance=max(_SMALL, _WIGGLE * float(np.ptp(curve))))


def state_part(sheet: Sheet, scale: Scale, unit: float) -> Part:
    """Return the line of a feature with states: labels above and below it, those at one place together."""
    ends = {np.inf: 100.0 + _BEYOND, -np.inf: -_BEYOND}
    at = [ends.get(w, sheet.points(scale, w)) for w in scale.weights.tolist()]
    ticks = sorted(zip(at, scale.weights.tolist(), map(_state, scale.values), strict=True), key=lambda t: t[0])
    groups: list[tuple[float, list[str]]] = []
    for x, _, text in ticks:
        if groups and x - groups[-1][0] < 0.35:
            groups[-1][1].append(text)
        else:
            groups.append((x, [text]))
    labels = [(x, shortened(", ".join(texts), 2 * _STATE_WIDTH)) for x, texts in groups]
    found = placed_labels(labels, unit, levels=6)
    start, stop = (float(f(scale.finite)) if scale.finite.size else 0.0 for f in (np.min, np.max))
    return Part(
        sheet.points(scale, start),
        sheet.points(scale, stop),
        tuple((x, w) for x, w, _ in ticks),
        tuple(p._replace(level=p.level // 2) for p in found if p.level % 2 == 0),
        tuple(p._replace(level=p.level // 2) for p in found if p.level % 2 == 1),
    )


def placed_labels(labels: list[tuple[float, str]], unit: float, *, levels: int) -> list[Placed]:
    """Return where the labels of a line go; ``unit`` is the length of an inch."""
    widths = [text_width(text, _SIZE) / 72 * unit for _, text in labels]
    low = -2.0 if all(x >= 0 for x, _ in labels) else -_BEYOND - 2.0
    return placed(labels, widths, low=low, high=100.0 + _BEYOND + 2.0, levels=levels, gap=0.08 * unit)


def _state(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return shortened(text, _STATE_WIDTH)


def number_parts(sheet: Sheet, scale: Scale, unit: float) -> list[Part]:
    """Return the line of a number, folded where its weight turns, and cut off where it weighs too much."""
    values, points = np.array(scale.values), sheet.points(scale, scale.weights)
    far = np.abs(scale.weights) >= sheet.most_weight
    parts: list[Part] = []
    for a, b in pairwise([0, *_turns(scale.weights), len(values) - 1]):
        inner = np.flatnonzero(~far[a : b + 1]) + a
        first, last = (max(a, inner[0] - 1), min(b, inner[-1] + 1)) if inner.size else (a, b)
        if inner.size or not parts:
            parts.append(
                _number_part(values[first : last + 1], points[first : last + 1], scale, far[[first, last]], unit)
            )
    return parts


def _number_part(values: np.ndarray, points: np.ndarray, scale: Scale, far: np.ndarray, unit: float) -> Part:
    marks = round_marks(float(values[0]), float(values[-1]), 9)
    at, weights = np.interp(marks, values, points), np.interp(marks, scale.values, scale.weights)
    outer_first = np.argsort(-np.abs(marks - (values[0] + values[-1]) / 2), kind="stable")
    labels = placed_labels([(float(at[i]), f"{marks[i]:.6g}") for i in outer_first], unit, levels=1)
    ends = float(points[0]), float(points[-1])
    ticks = tuple(zip(at.tolist(), weights.tolist(), strict=True))
    return Part(*ends, ticks, tuple(labels), arrows=tuple(x for x, is_far in zip(ends, far, strict=True) if is_far))


def turning_points(curve: np.ndarray, *, tolerance: float) -> list[int]:
    """Return where a curve turns between rising and falling by more than a tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> turning_points(np.array([0.0, 2.0, 1.9, 5.0, 1.0]), tolerance=0.5)
    [3]
    """
    turns, low, high, way = [], 0, 0, 0
    for i in range(1, len(curve)):
        low, high = (i if curve[i] <= curve[low] else low), (i if curve[i] >= curve[high] else high)
        if way >= 0 and curve[high] - curve[i] > tolerance:
            turns += [high] if way else []
            way, low, high = -1, i, i
        elif way <= 0 and curve[i] - curve[low] > tolerance:
            turns += [low] if way else []
            way, low, high = 1, i, i
    return turns


def round_marks(low: float, high: float, n: int) -> np.ndarray:
    """Return round numbers between two others."""
    locator = matplotlib("matplotlib.ticker").MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10])
    found = np.asarray(locator.tick_values(low, high))
    kept = found[(found >= low) & (found <= high)]
    return kept if kept.size else np.array([(low + high) / 2])
