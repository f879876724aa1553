"""The log-odds along a sequence: what each symbol adds, and how it adds up from the prior to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import check_whole, counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.sequences import SequenceExplanation

_NARROWEST, _WIDEST, _HEIGHT = 6.0, 11.0, 3.4
_INCHES = 0.15  # of width for each bar
_LETTER, _GAP = 0.07, 0.04  # inches that a letter on the axis needs, and what stands between words
_MOST_BARS, _MOST_MARKS = 120, 80
_LEAST = 0.3  # the share of the picture that an infinite weight has on its side
_NO_SYMBOL = "·"


@dataclass(frozen=True, eq=False)
class Steps:
    """What is added one after the other.

    Parameters
    ----------
    weights : ndarray of shape (n_bars,)
        The weight of each symbol, or of each run of neighbouring symbols.
    places : ndarray of shape (n_bars + 1,)
        The number of symbols before each bar, and that of all symbols.
    letters : tuple of str
        The symbols, where each has a bar.
    further : tuple of (str, float)
        What comes behind the symbols: the end, a calibration.
    """

    weights: np.ndarray
    places: np.ndarray
    letters: tuple[str, ...]
    further: tuple[tuple[str, float], ...]


def log_odds(explanation: SequenceExplanation, ax: Axes | None = None, *, most: int = _MOST_BARS) -> Axes:
    r"""Draw the log-odds along a sequence, and return the axes.

    Bars are what the symbols add: upwards, blue, for the class, downwards, vermilion, against it. The line begins with
    the prior and adds them up; where it ends is the log of the posterior odds. Letters stand on the axis where they
    fit, with the number of every tenth below.

    Parameters
    ----------
    explanation : SequenceExplanation
        What ``explain`` of a classifier of sequences returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of a fitting size.
    most : int
        How many bars there may be. Where there are more symbols, neighbours are added up in one bar, the same number
        in each, so that the bars still add up to the line.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    An infinite weight (a symbol that one class cannot have) has a hatched bar that reaches the edge, and the line ends
    before it.

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
    check_whole("most", most, low=1)
    steps = steps_of(explanation, most=int(most))
    heights = np.concatenate([steps.weights, [weight for _, weight in steps.further]])
    axes = new_axes(ax, min(_WIDEST, max(_NARROWEST, 1.5 + _INCHES * len(heights))), _HEIGHT)
    line = _line(explanation.prior, heights)
    reach = _reach(heights, line)
    _draw_bars(axes, heights, reach)
    marker = "o" if len(line) <= _MOST_MARKS else None
    axes.plot(np.arange(len(line)), line, color="black", linewidth=1.3, marker=marker, markersize=2.2, zorder=3)
    _scale(axes, heights, reach)
    _frame(axes, explanation, steps)
    return axes


def steps_of(explanation: SequenceExplanation, *, most: int) -> Steps:
    """Return the bars of an explanation: one for each symbol, or for runs of equally many where there are too many."""
    weights, n = explanation.weights, explanation.n_symbols
    width = max(1, -(-n // most))
    starts = np.arange(0, n, width)
    letters = tuple(_letter(s) for s in explanation.sequence) if width == 1 else ()
    further = tuple((e.feature, e.weight) for e in explanation.evidence[n:])
    with np.errstate(invalid="ignore"):
        summed = np.add.reduceat(weights, starts) if n else weights
    return Steps(np.where(np.isnan(summed), 0.0, summed), np.append(starts, n), letters, further)


def _letter(symbol: Any) -> str:
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
        finite = isfinite(height)
        colour = FOR if height > 0 else AGAINST
        axes.bar(
            place,
            height if finite else far * (1 if height > 0 else -1),
            width=0.8,
            color=colour if finite else "white",
            edgecolor=colour,
            linewidth=0.0 if finite else 1.0,
            hatch=None if finite else "///",
            zorder=2,
        )


def _scale(axes: Axes, heights: np.ndarray, reach: tuple[float, float]) -> None:
    axes.axhline(0.0, color=NEUTRAL, linewidth=0.8, zorder=1)
    axes.set_xlim(-0.7, len(heights) + 0.7)
    axes.set_ylim(*_limits(reach, heights))


def _limits(reach: tuple[float, float], heights: np.ndarray) -> tuple[float, float]:
    """Return the ends of the vertical axis; infinite bars reach them."""
    low, high = reach
    span = high - low
    low = min(low, -_LEAST * span) if np.isneginf(heights).any() else low
    high = max(high, _LEAST * span) if np.isposinf(heights).any() else high
    return low - 0.06 * span, high + 0.06 * span


def _frame(axes: Axes, explanation: SequenceExplanation, steps: Steps) -> None:
    _put_ticks(axes, steps, _room(axes, len(steps.weights) + len(steps.further)))
    axes.set_title(_title(explanation), fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel(_axis(explanation, steps), fontsize=9)
    axes.set_ylabel("log-odds (nats)", fontsize=9)
    axes.tick_params(axis="y", labelsize=9)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


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
    for place, tick in zip(sorted(found), axes.get_xticklabels(), strict=True):
        tick.set_parse_math(False)  # a dollar sign is a dollar sign
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


def _title(explanation: SequenceExplanation) -> str:
    label, against = (shortened(str(c), 40) for c in (explanation.label, explanation.against))
    return fill(f"{label} rather than {against}: probability {explanation.probabilities[explanation.label]:.3g}", 70)
