"""The trace of a structure search or of an iterative fit as a curve, and the distribution of arc strengths.

Each move of a search changes an arc (or the position of a variable in an order) and the score. The curve of the score
shows where the easy gains ended, how far tabu search went down to leave a local optimum, and what a restart gained.

EM and gradient ascent raise what they maximise in every iteration, fast at first. Drawn is how far each iteration still
is from the best value reached by any of the fits, for each row of data and on a logarithmic scale: a straight line is
linear convergence, its slope the rate, and a fit that ends high above the others sits on a lower optimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_integer, counted, shortened
from tunbridge._core.grid import spaced
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, hide_spines, matplotlib, new_axes, same_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.learning import ArcStrengths, Fit, LearnedDAG

_GREEN, _SKY, _ORANGE = "#009e73", "#56b4e9", "#e69f00"
"""Three more of Okabe and Ito's colours."""

_SAME = 1e-6
"""Smaller relative differences of the score (or of the shares of graphs) are rounding."""

_SIZES, _AREA = (9.0, 30.0), 3000.0
"""The smallest and the largest marks, and the total area of many, in square points."""

_STYLES = ((FOR, "o"), (AGAINST, "s"), (_GREEN, "^"), (_ORANGE, "D"), (NEUTRAL, "v"))
"""The colour and the marker of each fit."""

_LEGEND_COLUMNS, _LEGEND_HEIGHT = 5, 16
_IN_LEGEND = 32.0


class Look(NamedTuple):
    """How a kind of move is drawn: its word, its marker and its colour."""

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
        """The positions of the moves that do not continue from the one before."""
        gaps = np.abs(self.before[1:] - self.after[:-1])
        return 1 + np.flatnonzero(gaps > _SAME * np.maximum(1.0, np.abs(self.after[:-1])))

    @property
    def best(self) -> int:
        """The first move after which the score is the best, up to rounding."""
        top = float(self.after.max())
        return int(np.argmax(self.after >= top - 1e-9 * max(1.0, abs(top))))

    def limits(self, skip: int) -> tuple[float, float]:
        """Return the limits of an axis that shows the scores after so many moves, except restarts."""
        end = next((i for i in self.restarts.tolist() if i > skip), len(self.after))
        low, high = float(self.after[skip:end].min()), float(self.after.max())
        room = 0.05 * (high - low) or max(1.0, abs(high)) / 1000
        return low - room, high + room


def trace(dag: LearnedDAG, ax: Axes | None = None, *, by: str = "moves", skip: int = 0) -> Axes:
    """Draw the score of a search after each of its moves, and return the axes.

    Parameters
    ----------
    dag : LearnedDAG
        The result of :func:`tunbridge.learn_structure`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    by : {"moves", "seconds"}
        The horizontal axis: the number of moves, or the time since the start.
    skip : int
        The first moves gain most; the axis of the scores starts below those after so many moves, so that later ones can
        be seen.

    Returns
    -------
    matplotlib.axes.Axes
        The shape and colour of a mark show the kind of move. A ring marks the best graph, the returned one, and a
        vertical line a restart from another graph.

    Notes
    -----
    For trees ("chow-liu", "tan", "fan") the gain in log-likelihood is drawn instead of the score.

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
    check_integer("skip", skip, low=0)
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
    """Return the trace of a graph as arrays; raise if there is nothing to draw.

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
    """Draw the curve from the start graph on, broken at restarts."""
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
    title = f"{dag.search}: {counted(dag.n_arcs, 'arc')}; best {spaced(curve.after[curve.best])} {place}"
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: spaced(value)))
    if by == "moves":
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.tick_params(labelsize=9)
    hide_spines(axes)
    n_rows = _legend(axes)
    axes.set_title(title, fontsize=10, loc="left", pad=8 + _LEGEND_HEIGHT * n_rows, parse_math=False)


def _legend(axes: Axes) -> int:
    """Put the legend between title and plot, where no curve is; return its number of rows."""
    n = len(axes.get_legend_handles_labels()[1])
    n_rows = -(-n // _LEGEND_COLUMNS)
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    above["ncols"] = -(-n // max(1, n_rows))
    legend = axes.legend(fontsize=9, frameon=False, handletextpad=0.3, columnspacing=1.2, **above)
    same_marks(legend, _IN_LEGEND)
    return n_rows


def strengths(strengths: ArcStrengths, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the strengths of all pairs with the threshold of significance, and return the axes.

    Parameters
    ----------
    strengths : ArcStrengths
        The result of :func:`tunbridge.bootstrap_structure` or :func:`tunbridge.posterior_structure`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The share of the pairs of nodes with at most this strength. If the graphs agreed, the curve would be flat
        between 0 and 1. Pairs to the right of the dashed line, joined in more than half of the graphs, are significant;
        marks on the curve are their strengths.

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
    hide_spines(axes)
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


def iterations(fits: Fit | Mapping[str, Fit], ax: Axes | None = None) -> Axes:
    """Draw how far each iteration of a fit is from the best objective, and return the axes.

    Parameters
    ----------
    fits : Fit, or mapping of str to Fit
        What :meth:`tunbridge.EM.fit` or :meth:`tunbridge.GradientAscent.fit` returns; several, by name, are compared.
        They must be of the same rows and prior.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> rows = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
    >>> fit = tb.EM().fit(tb.DAG(arcs=[("rain", "wet")]), rows)
    >>> tb.plots.iterations(fit).get_xlabel()
    'iteration'
    """
    named = dict(fits) if isinstance(fits, Mapping) else {"": fits}
    if not named or not all(hasattr(fit, "trace") and hasattr(fit, "n_rows") for fit in named.values()):
        raise DataError(f"fits must be a Fit, or several by name; got {shortened(repr(fits))}.")
    best = max(step.objective for fit in named.values() for step in fit.trace)
    axes = new_axes(ax, 7.0, 4.0)
    for i, (name, fit) in enumerate(named.items()):
        colour, marker = _STYLES[i % len(_STYLES)]
        gaps = (best - np.array([step.objective for step in fit.trace])) / max(fit.n_rows, 1.0)
        at = np.arange(1, len(gaps) + 1)
        seen = gaps > 0.0  # the best itself has no place on a logarithmic scale
        axes.plot(at[seen], gaps[seen], color=colour, marker=marker, markersize=4, linewidth=1.2, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("iteration")
    axes.set_ylabel("below the best objective, a row")
    axes.locator_params(axis="x", integer=True)
    hide_spines(axes)
    if any(named):
        axes.legend(frameon=False)
    return axes
