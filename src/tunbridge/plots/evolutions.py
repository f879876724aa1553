"""The probability of each hypothesis against the number of observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_integer, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, NEUTRAL, SHAPES, matplotlib, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.reasoning import BayesUpdate, Evolution

_NAMED = 30  # observations that are written below the axis
_LETTERS = 4  # of their names, at most
_LOW = 0.5  # where no probability is above it, the axis ends before 1
_MARKED = 60  # observations at which the lines have marks


def evolution(changes: Evolution | BayesUpdate, ax: Axes | None = None, *, most: int = 7) -> Axes:
    """Draw the probability of each hypothesis against the number of observations, and return the axes.

    Parameters
    ----------
    changes : Evolution or BayesUpdate
        From :meth:`HypothesisSpace.evolution` or :func:`bayes_rule`.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.
    most : int
        How many hypotheses get a colour and a name, up to seven: those that were at any time the most probable. The
        others are thin grey lines.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> coins = {"fair": {"H": 0.5, "T": 0.5}, "bent": {"H": 0.7, "T": 0.3}}
    >>> ax = tb.plots.evolution(tb.HypothesisSpace(coins).evolution("HHTHH"))
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('probability', ['fair', 'bent'])
    """
    found: Any = changes.evolution() if hasattr(changes, "evolution") else changes
    if not hasattr(found, "probabilities") or not hasattr(found, "observations"):
        got = shortened(repr(changes))
        raise DataError(f"evolution must be an Evolution or a BayesUpdate; got {got}.")
    check_integer("most", most, low=1)
    axes = new_axes(ax, 6.4, 4.0)
    _draw(axes, found, min(most, len(COLOURS)))
    top = 1.0 if found.probabilities.max() > _LOW else 1.1 * float(found.probabilities.max())
    axes.set(xlabel="observations", ylabel="probability", ylim=(-0.02 * top, 1.02 * top))
    _name_observations(axes, [str(seen) for seen in found.observations])
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _draw(axes: Axes, found: Evolution, most: int) -> None:
    table = found.probabilities
    steps, n_hypotheses = np.arange(len(table)), table.shape[1]
    leading = sorted(np.argsort(-table.max(axis=0), kind="stable")[:most].tolist())
    others = [j for j in range(n_hypotheses) if j not in leading]
    if others:
        lines = axes.plot(steps, table[:, others], color=NEUTRAL, linewidth=0.6, alpha=0.4)
        lines[0].set_label(f"{len(others)} others")
    for j, colour, shape in zip(leading, COLOURS, SHAPES, strict=False):
        mark = shape if len(table) <= _MARKED else ""
        label = shortened(str(found.hypotheses[j]))
        axes.plot(steps, table[:, j], color=colour, marker=mark, markersize=4, label=label)


def _name_observations(axes: Axes, names: list[str]) -> None:
    """Label the observations below the axis if there is room."""
    if 0 < len(names) <= _NAMED and max(map(len, names)) <= _LETTERS:
        axes.set_xticks(range(len(names) + 1), ["prior", *names])
    else:
        axes.xaxis.set_major_locator(matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
