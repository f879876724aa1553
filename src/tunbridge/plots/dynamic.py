"""What a dynamic network says slice by slice: areas of all states, or lines of one state, of one or several answers.

Probabilities of a slice are a column of unit height, since they hold for that slice and not between two. Lines compare
answers, such as what was known at the time (``filter``) and what is known afterwards (``smooth``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge.errors import DataError
from tunbridge.graph.drawing import short_name
from tunbridge.plots.axes import COLOURS, NEUTRAL, SHAPES, hide_spines, matplotlib, new_axes, plain_labels
from tunbridge.temporal.dynamic.answers import SlicePosteriors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKED = 60  # slices at which lines have marks
_ERRORS = 2.0  # standard errors or deviations that bands show


def slices(
    found: SlicePosteriors | Mapping[str, SlicePosteriors], ax: Axes | None = None, *, state: Any = None
) -> Axes:
    """Draw the distribution of a variable in every slice, and return the axes.

    Parameters
    ----------
    found : SlicePosteriors, or mapping of str to SlicePosteriors
        An answer of a :class:`~tunbridge.DynamicBayesianNetwork`, or several to the same question under their names.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    state : optional
        Draw the probability of this state as a line. Default: areas of all states; of several answers lines of the last
        state.

    Returns
    -------
    matplotlib.axes.Axes
        Of a number the mean, with a band of two standard deviations; of particles bands of two standard errors.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> sky = tb.DynamicBayesianNetwork(
    ...     {"Rain": ["no", "yes"]}, arcs=[("Rain[t-1]", "Rain")], first={"Rain": [0.5, 0.5]},
    ...     cpts={"Rain": [[0.7, 0.3], [0.3, 0.7]]},
    ... )
    >>> tb.plots.slices(sky.smooth([{"Rain": "yes"}, {}], "Rain")).get_ylabel()
    'P(Rain)'
    """
    named = _named(found)
    first = next(iter(named.values()))
    axes = new_axes(ax, 7.0, 3.2)
    names = ", ".join(short_name(v.name) for v in first.variables)
    if first.variables[0].is_continuous:
        _draw_numbers(axes, named)
        axes.set_ylabel(names, parse_math=False)
    else:
        keys = [_text(key) for key, _ in first[0].items()]
        if state is None and len(named) == 1:
            _draw_areas(axes, first, keys)
            axes.set_ylabel(f"P({names})", parse_math=False)
        else:
            chosen = _chosen(state, keys, names)
            _draw_shares(axes, named, chosen)
            axes.set_ylabel(f"P({names} = {short_name(keys[chosen])})", parse_math=False)
        axes.set_ylim(0.0, 1.0)
    begin, end = min(f.start for f in named.values()), max(f.start + len(f) for f in named.values())
    axes.set_xlim(begin - 0.5, end - 0.5)
    axes.xaxis.set_major_locator(matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
    axes.set_xlabel("slice")
    hide_spines(axes)
    return axes


def _named(found: Any) -> dict[str, SlicePosteriors]:
    """Return the answers by name; raise unless they are about the same variables, and have slices."""
    named = dict(found) if isinstance(found, Mapping) else {"": found}
    for answer in named.values():
        if not isinstance(answer, SlicePosteriors):
            hint = "Ask for one variable of one sequence: net.smooth(evidence, 'Rain')."
            rule = "found must be what filter, smooth or predict return for a variable"
            raise DataError(f"{rule}; got {shortened(repr(answer))}. {hint}", parameter="found")
        if not len(answer):
            raise DataError("found must have at least one slice; got none.", parameter="found")
    if not 1 <= len(named) <= len(COLOURS):
        raise DataError(f"found must be one to {len(COLOURS)} answers; got {len(named)}.", parameter="found")
    if len({answer.variables for answer in named.values()}) > 1:
        others = listed([v.name for answer in named.values() for v in answer.variables])
        hint = f"Draw one: found[{next(iter(named))!r}]."
        raise DataError(f"answers that are compared must be about the same variables; got {others}. {hint}")
    return named


def _text(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _chosen(state: Any, keys: list[str], names: str) -> int:
    """Return the place of a state; default: the last."""
    if state is None:
        return len(keys) - 1
    text = _text(tuple(state) if isinstance(state, list | tuple) else state)
    if text not in keys:
        hint = did_you_mean(text, keys)
        raise DataError(f"state must be a state of {names}; got {state!r}. {hint}", parameter="state")
    return keys.index(text)


def _draw_areas(axes: Axes, found: SlicePosteriors, keys: list[str]) -> None:
    """Stack the probabilities of all states; of many the largest, and the others together."""
    shares, labels = found.array.reshape(len(found), -1), keys
    if len(keys) > len(COLOURS):
        kept = np.sort(np.argsort(-shares.sum(axis=0), kind="stable")[: len(COLOURS) - 1])
        rest = 1.0 - shares[:, kept].sum(axis=1, keepdims=True)
        labels = [*(keys[i] for i in kept), f"{len(keys) - len(kept)} others"]
        shares = np.hstack([shares[:, kept], rest])
    edges = found.start - 0.5 + np.arange(len(found) + 1)
    tops = np.cumsum(np.vstack([shares, shares[-1]]), axis=1)
    low = np.zeros(len(tops))
    for i, label in enumerate(labels):
        colour = COLOURS[i] if i < len(COLOURS) - 1 else NEUTRAL
        axes.fill_between(edges, low, tops[:, i], step="post", facecolor=colour, edgecolor="white", linewidth=0.8,
                          alpha=0.8, label=short_name(label))  # fmt: skip
        low = tops[:, i]
    handles, texts = axes.get_legend_handles_labels()
    legend = axes.legend(handles[::-1], texts[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    plain_labels(legend.get_texts())


def _draw_shares(axes: Axes, named: Mapping[str, SlicePosteriors], chosen: int) -> None:
    for n, (name, found) in enumerate(named.items()):
        errors = found.standard_errors
        spread = None if errors is None else _ERRORS * errors.reshape(len(found), -1)[:, chosen]
        _draw_line(axes, n, name, found, found.array.reshape(len(found), -1)[:, chosen], spread)
    _finish_lines(axes, named)


def _draw_numbers(axes: Axes, named: Mapping[str, SlicePosteriors]) -> None:
    for n, (name, found) in enumerate(named.items()):
        deviations = np.sqrt(np.maximum(found.array[:, 1], 0.0))
        _draw_line(axes, n, name, found, found.array[:, 0], _ERRORS * deviations)
    _finish_lines(axes, named)


def _draw_line(axes: Axes, n: int, name: str, found: SlicePosteriors, y: np.ndarray, spread: np.ndarray | None) -> None:
    """Draw one answer, a shape for each, with a band around it."""
    x = found.start + np.arange(len(found))
    marker = SHAPES[n] if len(found) <= _MARKED else ""
    axes.plot(x, y, color=COLOURS[n], marker=marker, markersize=4.5, linewidth=1.6, label=short_name(name))
    if spread is not None:
        axes.fill_between(x, y - spread, y + spread, color=COLOURS[n], alpha=0.18, linewidth=0)


def _finish_lines(axes: Axes, named: Mapping[str, SlicePosteriors]) -> None:
    if list(named) != [""]:
        plain_labels(axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False).get_texts())
