"""The way of a search as a curve, and how sure the arcs of many graphs are.

A search for a graph climbs: each move changes an arc (or the place of a variable in an order) and the score. Drawn
against the moves, the curve shows where the easy gains ended, how far a tabu walk went down to get out of a local
optimum, and what a restart brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._check import check_choice, check_whole, counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, matplotlib, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.learning import ArcStrengths, LearnedDAG

_GREEN, _SKY, _ORANGE = "#009e73", "#56b4e9", "#e69f00"
"""Three more of Okabe and Ito's colours."""

_SAME = 1e-6
"""A difference of this share of the score (or of the graphs), and less, is rounding."""

_SIZES, _AREA = (9.0, 30.0), 3000.0
"""The least and the largest marks, and what many of them cover together, in square points."""

_LEGEND_COLUMNS, _LEGEND_HEIGHT = 5, 16
_IN_LEGEND = 32.0


class Look(NamedTuple):
    """How a kind of move is drawn: its word, the shape of its mark and the colour."""

    word: str
    marker: str
    colour: str


_ADDED, _REMOVED, _TURNED = Look("added", "^", FOR), Look("removed", "v", AGAINST), Look("turned round", "D", _GREEN)
_LOOKS = {
    "add": _ADDED,
    "insert": _ADDED,
    "remove": _REMOVED,
    "delete": _REMOVED,
    "reverse": _TURNED,
    "turn": _TURNED,
    "reposition": Look("variable moved", "o", _SKY),
    "disturb": Look("order shuffled", "X", _ORANGE),
    "order": Look("first order", "s", NEUTRAL),
}


class Curve(NamedTuple):
    """A trace as arrays, an entry a move: seconds, the score before and after it, and its look."""

    seconds: np.ndarray
    before: np.ndarray
    after: np.ndarray
    looks: Sequence[Look]

    @property
    def restarts(self) -> np.ndarray:
        """The moves that do not go on from where the one before them ended, by position."""
        gaps = np.abs(self.before[1:] - self.after[:-1])
        return 1 + np.flatnonzero(gaps > _SAME * np.maximum(1.0, np.abs(self.after[:-1])))

    @property
    def best(self) -> int:
        """The first move after which the score is the best of all, but for rounding."""
        top = float(self.after.max())
        return int(np.argmax(self.after >= top - 1e-9 * max(1.0, abs(top))))

    def limits(self, skip: int) -> tuple[float, float]:
        """Return the ends of an axis of scores on which those after so many moves are seen, but for restarts."""
        end = next((i for i in self.restarts.tolist() if i > skip), len(self.after))
        low, high = float(self.after[skip:end].min()), float(self.after.max())
        room = 0.05 * (high - low) or max(1.0, abs(high)) / 1000
        return low - room, high + room


def trace(dag: LearnedDAG, ax: Axes | None = None, *, by: str = "moves", skip: int = 0) -> Axes:
    """Draw the score of a search after each of its moves, and return the axes.

    Parameters
    ----------
    dag : LearnedDAG
        What :func:`tunbridge.learn_structure` returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    by : {"moves", "seconds"}
        What goes to the right: the number of moves, or the time since the start.
    skip : int
        The first moves gain most, and what comes later is seen better without them: the axis of the scores begins
        below those after so many moves.

    Returns
    -------
    matplotlib.axes.Axes
        The shape and colour of a mark tell what the move did. A ring is around the best graph, which is the one that
        was returned, and a vertical line stands where the search began again from another graph.

    Notes
    -----
    The moves of trees ("chow-liu", "tan", "fan") add up to the gain in log-likelihood, which is drawn in place of the
    score.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.example_network("asia").sample(1000, random_state=0), search="tabu")
    >>> ax = tb.plots.trace(dag, skip=5)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('moves', 'score (bic)')
    """
    check_choice("by", by, ["moves", "seconds"])
    curve = curve_of(dag)
    check_whole("skip", skip, low=0)
    if skip >= len(curve.after):
        raise DataError(f"skip must leave moves to draw; got {skip} of {counted(len(curve.after), 'move')}.")
    axes = new_axes(ax, 7.5, 4.2)
    at = np.arange(1.0, len(curve.after) + 1) if by == "moves" else curve.seconds
    _draw_lines(axes, curve, at)
    _draw_marks(axes, curve, at)
    _frame(axes, dag, curve, by)
    if skip:
        axes.set_ylim(*curve.limits(skip))
    return axes


def curve_of(dag: LearnedDAG) -> Curve:
    """Return the trace of a graph as arrays; raise when there is nothing to draw.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis())
    >>> curve = curve_of(dag)
    >>> curve.looks[0].word, bool(np.isclose(curve.after[curve.best], dag.score))
    ('added', True)
    """
    moves = getattr(dag, "trace", None)
    if moves is None:
        hint = "learn_structure gives one."
        raise DataError(f"what is drawn must be a learned graph; got {shortened(repr(dag))}. {hint}")
    if not moves:
        hint = "Some find their graph without steps, and some start at the best they can reach."
        raise DataError(f"a trace must have moves; this one, of search {dag.search!r}, has none. {hint}")
    after, gains = np.array([m.score for m in moves]), np.array([m.gain for m in moves])
    looks = [_LOOKS.get(m.kind, Look(m.kind, "P", NEUTRAL)) for m in moves]
    return Curve(np.array([m.seconds for m in moves]), after - gains, after, looks)


def _draw_lines(axes: Axes, curve: Curve, at: np.ndarray) -> None:
    """Draw the curve from the start graph on, broken where the search began again."""
    restarts = curve.restarts.tolist()
    for first, end in zip([0, *restarts], [*restarts, len(at)], strict=True):
        x = [at[first - 1] if first else 0.0, *at[first:end]]
        axes.plot(x, [curve.before[first], *curve.after[first:end]], color=NEUTRAL, linewidth=0.9, zorder=2)
    for n, i in enumerate(restarts):
        label = "began again" if n == 0 else None
        axes.axvline(at[i - 1], color=NEUTRAL, linewidth=0.8, linestyle=":", zorder=1, label=label)


def _draw_marks(axes: Axes, curve: Curve, at: np.ndarray) -> None:
    area = float(np.clip(_AREA / len(at), *_SIZES))
    for look in (look for look in dict.fromkeys([*_LOOKS.values(), *curve.looks]) if look in curve.looks):
        chosen = np.array([other == look for other in curve.looks])
        label = f"{look.word} ({np.count_nonzero(chosen)})"
        axes.scatter(
            at[chosen], curve.after[chosen], s=area, marker=look.marker, color=look.colour, linewidth=0, zorder=3,
            label=label,
        )  # fmt: skip
    best = curve.best
    axes.scatter(
        at[best], curve.after[best], s=130, marker="o", facecolor="none", edgecolor="black", linewidth=1.2, zorder=4,
        label="best",
    )  # fmt: skip


def _frame(axes: Axes, dag: LearnedDAG, curve: Curve, by: str) -> None:
    ticker = matplotlib("matplotlib.ticker")
    likelihood = not dag.family_scores  # trees, which have no other score
    axes.set_xlabel(by)
    axes.set_ylabel("log-likelihood gained" if likelihood else f"score ({dag.criterion})")
    place = f"after {counted(curve.best + 1, 'move')}"
    title = f"{dag.search}: {counted(dag.n_arcs, 'arc')}; best {number_text(curve.after[curve.best])} {place}"
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_text(value)))
    if by == "moves":
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.tick_params(labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    n_rows = _legend(axes)
    axes.set_title(title, fontsize=10, loc="left", pad=8 + _LEGEND_HEIGHT * n_rows, parse_math=False)


def _legend(axes: Axes) -> int:
    """Put the legend between title and picture, where no curve is; return how many rows it has."""
    n = len(axes.get_legend_handles_labels()[1])
    n_rows = -(-n // _LEGEND_COLUMNS)
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    above["ncols"] = -(-n // max(1, n_rows))
    legend = axes.legend(fontsize=9, frameon=False, handletextpad=0.3, columnspacing=1.2, **above)
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([_IN_LEGEND])  # large enough to be seen
    return n_rows


def number_text(value: float) -> str:
    """Return a score as it stands on an axis.

    Examples
    --------
    >>> number_text(-218667.0979), number_text(-7.5), number_text(0.0)
    ('−218 667.1', '−7.5', '0')
    """
    return f"{value:,.7g}".replace(",", " ").replace("-", "−")


def strengths(strengths: ArcStrengths, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the strengths of all pairs with its cut of significance, and return the axes.

    Parameters
    ----------
    strengths : ArcStrengths
        What :func:`tunbridge.bootstrap_structure` or :func:`tunbridge.posterior_structure` returns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The share of the pairs of nodes whose strength is no more than that. If the graphs agreed, the curve would be
        flat between 0 and 1. Significant are the pairs right of the dashed line, which are joined in more than half of
        the graphs; marks on the curve are their strengths.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(500, random_state=0)
    >>> ax = tb.plots.strengths(tb.bootstrap_structure(table, 20, random_state=0))
    >>> ax.get_xlabel()
    'strength: share of the graphs that join the pair'
    """
    if not hasattr(strengths, "strengths"):
        hint = "bootstrap_structure gives them."
        raise DataError(f"what is drawn must be the strengths of arcs; got {shortened(repr(strengths))}. {hint}")
    shares = np.sort(strengths.strengths[np.triu_indices(strengths.n_nodes, 1)])
    if not shares.size:
        raise DataError("strengths must be those of two nodes at least; got one node.")
    axes = new_axes(ax, 5.6, 4.2)
    reached = np.arange(1, len(shares) + 1) / len(shares)
    axes.step([0.0, *shares, 1.0], [0.0, *reached, 1.0], where="post", color=NEUTRAL, linewidth=1.0, zorder=2)
    _draw_significant(axes, shares, reached, strengths)
    axes.set_xlabel("strength: share of the graphs that join the pair")
    axes.set_ylabel("share of the pairs with at most this strength")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(0.0, 1.03)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _draw_significant(axes: Axes, shares: np.ndarray, reached: np.ndarray, strengths: ArcStrengths) -> None:
    kept = shares > 0.5 + _SAME
    axes.axvline(0.5, color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
    axes.text(0.51, 0.02, "half of the graphs", color=NEUTRAL, fontsize=9)
    axes.scatter(shares[kept], reached[kept], s=22, color=FOR, linewidth=0, zorder=3)
    n_kept = int(np.count_nonzero(kept))
    cut = f", at {strengths.threshold:.3g} or more" if n_kept else ""
    verb = "is" if n_kept == 1 else "are"
    title = (
        f"{n_kept} of {counted(len(shares), 'pair')} {verb} significant{cut} ({counted(strengths.n_graphs, 'graph')})"
    )
    axes.set_title(title, fontsize=10, loc="left")
