"""Weights of evidence as bars: what speaks for a class, what against it, and how it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from textwrap import fill
from typing import TYPE_CHECKING, Any

from tunbridge._check import check_number, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.decisions import Explanation

_NAME_WIDTH, _VALUE_WIDTH = 28, 18
_CLASS_WIDTH, _TITLE_WIDTH = 40, 48
_BEYOND = 1.25  # how far an infinite weight reaches, in units of the largest finite one
_ROOM = 0.2  # what is left free beside the bars for their numbers, as a share of the length of both sides


@dataclass(frozen=True)
class Bar:
    """A bar: what stands beside it, how long it is, and whether it is a sum of others."""

    label: str
    weight: float
    total: bool = False


def explanation(explanation: Explanation, ax: Axes | None = None, *, most: int = 15) -> Axes:
    """Draw an explanation as horizontal bars, and return the axes.

    On top stands the prior, then the evidence, heaviest first, and at the bottom the sum, which is the log of the
    posterior odds. Bars to the right, blue, speak for the class; bars to the left, vermilion, against it.

    Parameters
    ----------
    explanation : Explanation
        What ``explain`` of a classifier returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of a fitting size.
    most : int
        How many features get a bar of their own. The others, the lightest, are added up in one bar, so that the bars
        still add up to the sum.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    An infinite weight (a value that one class cannot have) has a hatched bar that reaches the edge.

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
        _draw(axes, place, bar, reach)
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


def _feature(name: str, value: Any, given: Sequence[str] = ()) -> str:
    """Return a feature with its value, of a length that leaves room for the bars, and what it is conditional on."""
    if given:
        others = f"{given[0]}{', …' if len(given) > 1 else ''}"
        return f"{_feature(name, value)} | {_middle_out(others, _NAME_WIDTH)}"
    if value is None:
        return f"{_middle_out(name, _NAME_WIDTH)} is missing"
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return f"{_middle_out(name, _NAME_WIDTH + max(0, _VALUE_WIDTH - len(text)))} = {shortened(text, _VALUE_WIDTH)}"


def _middle_out(name: str, width: int) -> str:
    """Return a name without its middle if it is long: names of columns often differ at the end only."""
    head = (width - 1) // 2
    return name if len(name) <= width else f"{name[:head]}…{name[head + 1 - width :]}"


def _draw(axes: Axes, place: int, bar: Bar, reach: float) -> None:
    infinite = not isfinite(bar.weight)
    length = _length(bar, reach)
    colour = FOR if bar.weight > 0 else AGAINST
    axes.barh(
        place,
        length,
        height=0.72,
        color="white" if infinite else colour,
        edgecolor=NEUTRAL if bar.total and not infinite else colour,
        linewidth=1.4 if bar.total else 0.0 if not infinite else 1.0,
        hatch="///" if infinite else None,
    )
    side = 1 if bar.weight >= 0 else -1
    axes.annotate(
        weight_text(bar.weight),
        (length, place),
        xytext=(4 * side, 0),
        textcoords="offset points",
        va="center",
        ha="left" if side > 0 else "right",
        fontweight="bold" if bar.total else "normal",
        fontsize=9,
    )


def weight_text(weight: float) -> str:
    """Return a weight as it stands beside its bar.

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
    axes.set_yticks(range(len(found)), [bar.label for bar in found], fontsize=9)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(*_limits([_length(bar, reach) for bar in found]))
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.axhline(len(found) - 1.5, color=NEUTRAL, linewidth=0.8)
    axes.set_title(_title(explanation), fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel("weight of evidence (natural logarithm of the odds)", fontsize=9)
    axes.tick_params(axis="both", labelsize=9)
    axes.tick_params(axis="y", length=0)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    axes.spines[["top", "right", "left"]].set_visible(False)


def _title(explanation: Explanation) -> str:
    label, against = (shortened(str(c), _CLASS_WIDTH) for c in (explanation.label, explanation.against))
    probability = explanation.probabilities[explanation.label]
    return fill(f"{label} rather than {against}: probability {probability:.3g}", _TITLE_WIDTH)


def _length(bar: Bar, reach: float) -> float:
    return bar.weight if isfinite(bar.weight) else reach * _BEYOND * (1 if bar.weight > 0 else -1)


def _limits(lengths: list[float]) -> tuple[float, float]:
    """Return the ends of the axis: room for bars and numbers on the sides that are used, a little on the other."""
    low, high = min(0.0, *lengths), max(0.0, *lengths)
    pad = _ROOM * (high - low) or 1.0
    return (low - pad if low < 0 else -pad / 8), (high + pad if high > 0 or low == 0 else pad / 8)
