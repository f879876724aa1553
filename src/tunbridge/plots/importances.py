"""What the features tell about the class, as bars."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from tunbridge._check import check_number
from tunbridge.errors import DataError
from tunbridge.plots.axes import FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.decisions import FeatureImportance, Importance

_NAME_WIDTH = 44


def importance(importance: Importance, ax: Axes | None = None, *, most: int = 20) -> Axes:
    """Draw importances as horizontal bars, the most important on top, and return the axes.

    Parameters
    ----------
    importance : Importance
        What ``importance`` of a classifier returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of a fitting size.
    most : int
        How many features get a bar; the axis says how many are left out.

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
        _bar(axes, place, feature, importance, reach)
    _frame(axes, importance, shown, reach)
    return axes


def _bar(axes: Axes, place: int, feature: FeatureImportance, found: Importance, reach: float) -> None:
    finite = isfinite(feature.value)
    length = feature.value if finite else 1.15 * reach
    axes.barh(
        place,
        length,
        height=0.7,
        color=FOR if finite else "white",
        edgecolor=FOR,
        linewidth=0 if finite else 1.0,
        hatch=None if finite else "///",
    )
    share = f" ({100 * found.shares[feature.feature]:.0f} %)" if found.method == "information" else ""
    text = f"{feature.value:.3f}{share}" if finite else "∞"
    axes.annotate(text, (length, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)


def _frame(axes: Axes, found: Importance, shown: tuple[FeatureImportance, ...], reach: float) -> None:
    axes.set_yticks(range(len(shown)), [_name(f.name) for f in shown], fontsize=9)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.3 * reach)
    information = found.method == "information"
    measure = f"information about {found.target} (nats, and share of its entropy)"
    left = len(found.features) - len(shown)
    more = f"; {left} more features are left out" if left else ""
    axes.set_xlabel(
        (measure if information else "expected weight of evidence (nats)") + more, fontsize=9, parse_math=False
    )
    axes.tick_params(axis="both", labelsize=9)
    axes.tick_params(axis="y", length=0)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _name(name: str) -> str:
    """Return a name without its middle if it is long."""
    name, head = " ".join(name.split()), (_NAME_WIDTH - 1) // 2
    return name if len(name) <= _NAME_WIDTH else f"{name[:head]}…{name[head + 1 - _NAME_WIDTH :]}"
