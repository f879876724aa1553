"""Weights of evidence: bars of an explanation, the log-odds along a sequence, and the importance of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, hide_spines, middle_out, new_axes, plain_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.decisions import Explanation, FeatureImportance, Importance
    from tunbridge.decisions.evidence import Explained
    from tunbridge.sequences import SequenceExplanation

_NAME_WIDTH, _VALUE_WIDTH = 28, 18
_IMPORTANCE_WIDTH, _CLASS_WIDTH = 44, 40
_BEYOND = 1.25  # the length of an infinite weight, in units of the largest finite one
_ROOM = 0.2  # the space beside the bars for their numbers, as a share of the length of both sides
_NARROWEST, _WIDEST, _HEIGHT = 6.0, 11.0, 3.4
_INCHES = 0.15  # of width for each bar along a sequence
_LETTER, _GAP = 0.07, 0.04  # inches of a letter on the axis, and between words
_MOST_BARS, _MOST_MARKS = 120, 80
_LEAST = 0.3  # the share of the plot that an infinite weight has on its side
_NO_SYMBOL = "·"


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its length, and whether it is a sum of others."""

    label: str
    weight: float
    total: bool = False


def explanation(explanation: Explanation, ax: Axes | None = None, *, most: int = 15) -> Axes:
    """Draw an explanation as horizontal bars, and return the axes.

    At the top is the prior, then the evidence, heaviest first, and at the bottom the sum, which is the log of the
    posterior odds. Bars to the right, blue, are for the class; bars to the left, vermilion, against it.

    Parameters
    ----------
    explanation : Explanation
        The result of ``explain`` of a classifier.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure of a suitable size.
    most : int
        How many features get a bar of their own. The others, the lightest, share one bar, so that the bars still add up
        to the sum.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    An infinite weight (a value that is impossible in one class) has a hatched bar that reaches the edge.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": None}
    >>> ax = tb.plots.explanation(clf.explain(day))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['prior', 'outlook = Sunny', 'humidity = High', 'temperature = Cool', 'wind is missing', 'sum']
    """
    if not hasattr(explanation, "evidence"):
        raise DataError(
            f"an explanation must be drawn alone; got {type(explanation).__name__}. Take one out of it, as in found[0]."
        )
    found = bars(explanation, most=int(check_number("most", most, low=1)))
    axes = new_axes(ax, 7.5, 1.3 + 0.32 * len(found))
    reach = max((abs(b.weight) for b in found if isfinite(b.weight)), default=0.0) or 1.0
    for place, bar in enumerate(found):
        _draw_bar(axes, place, bar, reach)
    _frame(axes, explanation, found, reach)
    return axes


def bars(explanation: Explanation, *, most: int) -> list[Bar]:
    """Return the bars from top to bottom: the prior, the heaviest features, the others together, the sum."""
    evidence = explanation.evidence
    shown = evidence if len(evidence) <= most + 1 else evidence[:most]
    rest = evidence[len(shown) :]
    middle = [Bar(_feature(e.feature, e.value, e.given), e.weight) for e in shown]
    if rest:
        middle.append(Bar(f"{len(rest)} other features", sum(e.weight for e in rest)))
    return [Bar("prior", explanation.prior), *middle, Bar("sum", explanation.log_odds, total=True)]


def _feature(name: str, value: object, given: Sequence[str] = ()) -> str:
    """Return a feature with its value, of a length that leaves room for the bars, and what it is conditional on."""
    if given:
        others = f"{given[0]}{', …' if len(given) > 1 else ''}"
        return f"{_feature(name, value)} | {middle_out(others, _NAME_WIDTH)}"
    if value is None:
        return f"{middle_out(name, _NAME_WIDTH)} is missing"
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return f"{middle_out(name, _NAME_WIDTH + max(0, _VALUE_WIDTH - len(text)))} = {shortened(text, _VALUE_WIDTH)}"


def _draw_bar(axes: Axes, place: int, bar: Bar, reach: float) -> None:
    length, look = _length(bar, reach), _bar_look(bar.weight)
    if bar.total:
        look |= {"linewidth": 1.4, "edgecolor": NEUTRAL if isfinite(bar.weight) else look["edgecolor"]}
    axes.barh(place, length, height=0.72, **look)
    side = 1 if bar.weight >= 0 else -1
    axes.annotate(
        weight_text(bar.weight), (length, place), xytext=(4 * side, 0), textcoords="offset points", va="center",
        ha="left" if side > 0 else "right", fontweight="bold" if bar.total else "normal", fontsize=9,
    )  # fmt: skip


def _bar_look(weight: float) -> dict[str, Any]:
    """Return how a bar looks: filled in the colour of its side, hatched if the weight is infinite."""
    colour, finite = FOR if weight > 0 else AGAINST, isfinite(weight)
    fill = {"color": colour, "linewidth": 0.0} if finite else {"color": "white", "linewidth": 1.0, "hatch": "///"}
    return {**fill, "edgecolor": colour}


def weight_text(weight: float) -> str:
    """Return a weight as text for its bar.

    Examples
    --------
    >>> weight_text(0.987), weight_text(-0.5), weight_text(0.0), weight_text(float("inf"))
    ('+0.99', '−0.50', '0.00', '+∞')
    """
    if weight == 0:
        return "0.00"
    if not isfinite(weight):
        return "+∞" if weight == inf else "−∞"
    return f"{weight:+.2f}".replace("-", "−")


def _frame(axes: Axes, explanation: Explanation, found: list[Bar], reach: float) -> None:
    _label_bars(axes, [bar.label for bar in found])
    axes.set_xlim(*_limits([_length(bar, reach) for bar in found]))
    axes.axhline(len(found) - 1.5, color=NEUTRAL, linewidth=0.8)
    axes.set_title(_title(explanation, 48), fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel("weight of evidence (natural logarithm of the odds)", fontsize=9)


def _label_bars(axes: Axes, labels: Sequence[str]) -> None:
    """Label horizontal bars, the first on top."""
    axes.set_yticks(range(len(labels)), labels, fontsize=9)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.tick_params(axis="both", labelsize=9)
    axes.tick_params(axis="y", length=0)
    plain_labels(axes.get_yticklabels())
    hide_spines(axes, "left")


def _title(explanation: Explained, width: int) -> str:
    label, against = (shortened(str(c), _CLASS_WIDTH) for c in (explanation.label, explanation.against))
    probability = explanation.probabilities[explanation.label]
    return fill(f"{label} rather than {against}: probability {probability:.3g}", width)


def _length(bar: Bar, reach: float) -> float:
    return bar.weight if isfinite(bar.weight) else reach * _BEYOND * (1 if bar.weight > 0 else -1)


def _limits(lengths: list[float]) -> tuple[float, float]:
    """Return the ends of the axis: room for bars and numbers on the sides that are used, a little on the other."""
    low, high = min(0.0, *lengths), max(0.0, *lengths)
    pad = _ROOM * (high - low) or 1.0
    return (low - pad if low < 0 else -pad / 8), (high + pad if high > 0 or low == 0 else pad / 8)


# Along a sequence


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps along a sequence.

    Parameters
    ----------
    weights : ndarray of shape (n_bars,)
        The weight of each symbol, or of each run of neighbouring symbols.
    places : ndarray of shape (n_bars + 1,)
        The number of symbols before each bar, and of all symbols.
    letters : tuple of str
        The symbols, if each has a bar.
    further : tuple of (str, float)
        What follows the symbols: the end, a calibration.
    """

    weights: np.ndarray
    places: np.ndarray
    letters: tuple[str, ...]
    further: tuple[tuple[str, float], ...]


def log_odds(explanation: SequenceExplanation, ax: Axes | None = None, *, most: int = _MOST_BARS) -> Axes:
    r"""Draw the log-odds along a sequence, and return the axes.

    Bars are what the symbols add: upwards, blue, for the class, downwards, vermilion, against it. The line starts at
    the prior and adds them up; it ends at the log of the posterior odds. Letters are on the axis if they fit, with the
    number of every tenth below.

    Parameters
    ----------
    explanation : SequenceExplanation
        The result of ``explain`` of a :class:`SequenceClassifier`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure of a suitable size.
    most : int
        The largest number of bars. If there are more symbols, neighbours share a bar, the same number in each, so that
        the bars still add up to the line.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    An infinite weight (a symbol that is impossible in one class) has a hatched bar that reaches the edge, and the line
    ends before it.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
    >>> clf = tb.SequenceClassifier(order=1).fit(names, ["f", "f", "f", "m", "m", "m"])
    >>> ax = tb.plots.log_odds(clf.explain("nora"))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['prior', 'n\n1', 'o', 'r', 'a', 'end']
    """
    if not hasattr(explanation, "cumulative"):
        raise DataError(
            "the log-odds along a sequence must be drawn from one SequenceExplanation; got "
            f"{type(explanation).__name__}. Call explain() of a SequenceClassifier for one sequence."
        )
    check_integer("most", most, low=1)
    steps = steps_of(explanation, most=int(most))
    heights = np.concatenate([steps.weights, [weight for _, weight in steps.further]])
    axes = new_axes(ax, min(_WIDEST, max(_NARROWEST, 1.5 + _INCHES * len(heights))), _HEIGHT)
    line = _line(explanation.prior, heights)
    reach = _reach(heights, line)
    _draw_bars(axes, heights, reach)
    marker = "o" if len(line) <= _MOST_MARKS else None
    axes.plot(np.arange(len(line)), line, color="black", linewidth=1.3, marker=marker, markersize=2.2, zorder=3)
    _scale(axes, heights, reach)
    _sequence_frame(axes, explanation, steps)
    return axes


def steps_of(explanation: SequenceExplanation, *, most: int) -> Steps:
    """Return the bars of an explanation: one for each symbol, or for runs of equally many if there are too many."""
    weights, n = explanation.weights, explanation.n_symbols
    width = max(1, -(-n // most))
    starts = np.arange(0, n, width)
    letters = tuple(_letter(s) for s in explanation.sequence) if width == 1 else ()
    further = tuple((e.feature, e.weight) for e in explanation.evidence[n:])
    with np.errstate(invalid="ignore"):
        summed = np.add.reduceat(weights, starts) if n else weights
    return Steps(np.where(np.isnan(summed), 0.0, summed), np.append(starts, n), letters, further)


def _letter(symbol: object) -> str:
    text = _NO_SYMBOL if symbol is None else str(symbol)
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _line(prior: float, heights: np.ndarray) -> np.ndarray:
    """Return the log-odds before the first bar and after each, up to the first that is infinite."""
    known = np.concatenate([[prior if isfinite(prior) else 0.0], heights])
    finite = np.isfinite(known)
    return np.cumsum(known[: len(known) if finite.all() else int(np.argmin(finite))])


def _reach(heights: np.ndarray, line: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest value, 0 being one of them."""
    drawn = np.concatenate([[0.0], heights[np.isfinite(heights)], line])
    low, high = float(drawn.min()), float(drawn.max())
    return (low, high) if high > low else (-1.0, 1.0)


def _draw_bars(axes: Axes, heights: np.ndarray, reach: tuple[float, float]) -> None:
    far = 2.0 * (reach[1] - reach[0])  # beyond the edge
    for place, height in enumerate(heights.tolist(), start=1):
        length = height if isfinite(height) else far * (1 if height > 0 else -1)
        axes.bar(place, length, width=0.8, zorder=2, **_bar_look(height))


def _scale(axes: Axes, heights: np.ndarray, reach: tuple[float, float]) -> None:
    axes.axhline(0.0, color=NEUTRAL, linewidth=0.8, zorder=1)
    axes.set_xlim(-0.7, len(heights) + 0.7)
    axes.set_ylim(*_span(reach, heights))


def _span(reach: tuple[float, float], heights: np.ndarray) -> tuple[float, float]:
    """Return the ends of the vertical axis; infinite bars reach them."""
    low, high = reach
    span = high - low
    low = min(low, -_LEAST * span) if np.isneginf(heights).any() else low
    high = max(high, _LEAST * span) if np.isposinf(heights).any() else high
    return low - 0.06 * span, high + 0.06 * span


def _sequence_frame(axes: Axes, explanation: SequenceExplanation, steps: Steps) -> None:
    _put_ticks(axes, steps, _room(axes, len(steps.weights) + len(steps.further)))
    axes.set_title(_title(explanation, 70), fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel(_axis(explanation, steps), fontsize=9)
    axes.set_ylabel("log-odds (nats)", fontsize=9)
    axes.tick_params(axis="y", labelsize=9)
    hide_spines(axes, "bottom")


def _room(axes: Axes, n_bars: int) -> float:
    """Return the inches that each bar has on the axis, as far as is known before it is laid out."""
    return axes.bbox.width / axes.figure.dpi / (n_bars + 1.4)


def _put_ticks(axes: Axes, steps: Steps, room: float) -> None:
    """Write on the horizontal axis: letters or numbers, and what is no symbol, upright where there is no room."""
    n = len(steps.weights)
    fits = all(_fits(letter, room) for letter in steps.letters)
    inner = _letters(steps.letters) if steps.letters and fits else _numbers(steps)
    outer = {0: "prior", **{n + 1 + i: name for i, (name, _) in enumerate(steps.further)}}
    found = {**outer, **inner}
    axes.set_xticks(sorted(found), [found[place] for place in sorted(found)], fontsize=9)
    plain_labels(axes.get_xticklabels())
    for place, tick in zip(sorted(found), axes.get_xticklabels(), strict=True):
        tick.set_rotation(0 if place in inner or _fits(found[place], room) else 90)
    axes.tick_params(axis="x", length=0 if inner and steps.letters and fits else 3)


def _fits(word: str, room: float) -> bool:
    return _GAP + _LETTER * len(word) <= room


def _letters(letters: Sequence[str]) -> dict[int, str]:
    """Return letters by their place, the first and every tenth with its number."""
    return {i: f"{s}\n{i}" if i == 1 or i % 10 == 0 else s for i, s in enumerate(letters, start=1)}


def _numbers(steps: Steps) -> dict[int, str]:
    """Return round numbers of symbols by the place of their bars, at most ten of them."""
    n, width = int(steps.places[-1]), max(1, int(steps.places[:2][-1] - steps.places[0]))
    step = next((s for e in range(20) for s in (10**e, 2 * 10**e, 5 * 10**e) if n <= 10 * s), 1)
    return {(k - 1) // width + 1: str(k) for k in range(step, n + 1, step)}


def _axis(explanation: SequenceExplanation, steps: Steps) -> str:
    width = int(steps.places[1] - steps.places[0]) if len(steps.places) > 1 else 1
    bars = "" if width == 1 else f"; each bar adds up {width} of them"
    unknown = f"; {len(explanation.unknown)} unknown" if explanation.unknown else ""
    return f"{counted(explanation.n_symbols, 'symbol')}{bars}{unknown}"


# Importance


def importance(importance: Importance, ax: Axes | None = None, *, most: int = 20) -> Axes:
    """Draw importances as horizontal bars, the most important on top, and return the axes.

    Parameters
    ----------
    importance : Importance
        The result of ``importance`` of a classifier.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure of a suitable size.
    most : int
        The largest number of bars; the axis label says how many features are left out.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> ax = tb.plots.importance(clf.importance())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['outlook', 'humidity', 'wind', 'temperature']
    """
    if not hasattr(importance, "features") or not hasattr(importance, "entropy"):
        raise DataError(
            f"what is drawn must be an Importance; got {type(importance).__name__}. Call importance() of a classifier."
        )
    shown = importance.features[: int(check_number("most", most, low=1))]
    axes = new_axes(ax, 7.5, 1.2 + 0.3 * len(shown))
    reach = max((f.value for f in shown if isfinite(f.value)), default=0.0) or 1.0
    for place, feature in enumerate(shown):
        _importance_bar(axes, place, feature, importance, reach)
    _importance_frame(axes, importance, shown, reach)
    return axes


def _importance_bar(axes: Axes, place: int, feature: FeatureImportance, found: Importance, reach: float) -> None:
    finite = isfinite(feature.value)
    length = feature.value if finite else 1.15 * reach
    axes.barh(place, length, height=0.7, **_bar_look(1.0 if finite else inf))
    share = f" ({100 * found.shares[feature.feature]:.0f} %)" if found.method == "information" else ""
    text = f"{feature.value:.3f}{share}" if finite else "∞"
    axes.annotate(text, (length, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)


def _importance_frame(axes: Axes, found: Importance, shown: tuple[FeatureImportance, ...], reach: float) -> None:
    _label_bars(axes, [middle_out(" ".join(f.name.split()), _IMPORTANCE_WIDTH) for f in shown])
    axes.set_xlim(0.0, 1.3 * reach)
    information = found.method == "information"
    measure = f"information about {found.target} (nats, and share of its entropy)"
    left = len(found.features) - len(shown)
    more = f"; {left} more features are left out" if left else ""
    axes.set_xlabel(
        (measure if information else "expected weight of evidence (nats)") + more, fontsize=9, parse_math=False
    )
