"""The lines of a nomogram: where the values of a feature stand, and where their labels go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.plots.axes import matplotlib
from tunbridge.plots.label_places import Placed, placed, text_width

if TYPE_CHECKING:
    from tunbridge.classifiers.explanation.scales import Scale, Scales

SIZE = 8.0
"""The size of the letters, in points."""

LINE = 0.15
"""The height of a line of text, in inches."""

BEYOND = 4.0
"""How far beyond the ends values stand that settle the matter."""

_STATE_WIDTH = 16
_MOST_TURNS, _WIGGLE, _SMALL = 2, 0.04, 0.05


@dataclass(frozen=True)
class Sheet:
    """What is drawn: the scales, those shown, points a nat, the width of the names in inches, where lines are cut."""

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
        return 0.07 + LINE * (1 + max((p.level for p in self.above), default=-1))

    @property
    def bottom(self) -> float:
        """The depth below the line, in inches."""
        return 0.05 + LINE * (1 + max((p.level for p in self.below), default=-1))


def cut_off(scale: Scale, most_weight: float) -> Scale:
    """Return the scale of a number without excessive weights; one that turns often, at a few round numbers only."""
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
    ends = {np.inf: 100.0 + BEYOND, -np.inf: -BEYOND}
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
    widths = [text_width(text, SIZE) / 72 * unit for _, text in labels]
    low = -2.0 if all(x >= 0 for x, _ in labels) else -BEYOND - 2.0
    return placed(labels, widths, low=low, high=100.0 + BEYOND + 2.0, levels=levels, gap=0.08 * unit)


def _state(value: Any) -> str:
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
