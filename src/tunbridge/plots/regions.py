"""Decision regions: which choice is best where, and how the boundary moves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_choice, did_you_mean, listed, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, NEUTRAL, SHAPES, hide_spines, new_axes
from tunbridge.reasoning.decision_problem import DecisionProblem
from tunbridge.reasoning.densities import AnyDensity, Gaussian, as_points
from tunbridge.reasoning.regions import shares_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = ("-", "--", "-.", ":")
_STEPS, _SIDE = 1201, 321
_RINGS = np.exp(-0.5 * np.array([3.0, 2.0, 1.0]) ** 2)
_TAIL = 2e-4
_BAND = 0.07
_LOSSES = (0.01, 100.0)
_LEGEND_LINE, _LEGEND_LINES = 0.12, 5  # height of a line as a share of the highest curve, and how many at most
_LONGEST_LABEL = 42


def decision_regions(
    problem: DecisionProblem,
    ax: Axes | None = None,
    *,
    view: ArrayLike | None = None,
    points: Mapping[Any, ArrayLike] | None = None,
    xlabel: str = "x",
    ylabel: str | None = None,
) -> Axes:
    """Draw which choice is best where, and return the axes.

    Parameters
    ----------
    problem : DecisionProblem
        Of one or two dimensions.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.
    view : (low, high), or ((low, high), (low, high)); optional
        The part to draw. Default: where the classes are.
    points : mapping of class to array-like, optional
        Points to mark, by class.
    xlabel, ylabel : str, optional
        Axis labels. Default: x and y, in one dimension "prior × density" for y.

    Returns
    -------
    matplotlib.axes.Axes
        On the line: P(ω) p(x | ω) of each class, a band below it with the choices, and the wrong decisions hatched;
        that area is the probability of an error. In the plane: areas of choices, and rings where each density has
        fallen as far as that of a Gaussian at one, two and three standard deviations.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import DecisionProblem, Gaussian
    >>> fish = DecisionProblem({"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)})
    >>> ax = tb.plots.decision_regions(fish)
    >>> ax.get_title()
    'P(error) = 0.1587'
    """
    limits, marked = _limits(problem, view), _points_by_class(problem, points)
    if problem.n_dimensions == 1:
        axes = new_axes(ax, 6.8, 4.0)
        _on_line(problem, axes, limits[0], len(marked))
        axes.set(xlabel=xlabel, ylabel="prior × density" if ylabel is None else ylabel)
    else:
        axes = new_axes(ax, 5.8, 5.2)
        _in_plane(problem, axes, limits)
        axes.set(xlabel=xlabel, ylabel="y" if ylabel is None else ylabel)
    for name, given in marked.items():
        _mark(problem, axes, name, given)
    _add_legend(axes, problem.n_dimensions)
    axes.set_title(_title(problem), fontsize=11)
    return axes


def boundaries(
    problem: DecisionProblem,
    ax: Axes | None = None,
    *,
    vary: str = "prior",
    view: ArrayLike | None = None,
    xlabel: str = "x",
) -> Axes:
    """Draw how the boundary between two classes on the line moves with the prior or with the loss; return the axes.

    Parameters
    ----------
    problem : DecisionProblem
        Of two classes and one dimension.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.
    vary : {"prior", "loss"}
        What grows upwards: the prior of the first class, or what it costs to miss it compared with the second.
    view : (low, high), optional
        What part of the line to draw; by default where the classes are.
    xlabel : str
        The axis label.

    Returns
    -------
    matplotlib.axes.Axes
        To the right x, upwards what varies; the boundary is the line between the two areas. The dotted line is at the
        value that the problem itself has.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import DecisionProblem, Gaussian
    >>> fish = DecisionProblem({"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)})
    >>> ax = tb.plots.boundaries(fish)
    >>> ax.get_ylabel()
    'P(salmon)'
    """
    check_choice("vary", vary, ("prior", "loss"))
    low, high = _limits(problem, view)[0]
    if problem.n_dimensions == 2:
        raise DataError("boundaries needs densities in one dimension; these have two.")
    if len(problem.classes) != 2:
        hint = "Use decision_regions for more."
        raise DataError(f"boundaries needs two classes; got {listed(problem.classes)}. {hint}")
    _ = problem.threshold  # which actions do not have, nor mistakes that cost nothing
    axes, x = new_axes(ax, 6.8, 4.0), np.linspace(low, high, _SIDE)
    values, log_thresholds, own = _varied(problem, axes, vary)
    first, second = (np.asarray(density.log_pdf(x)) for density in problem.densities.values())
    nowhere = np.isneginf(first) & np.isneginf(second)
    ratios = np.where(nowhere, np.nan, np.maximum(first, -1e300) - np.maximum(second, -1e300))
    margins = np.clip(ratios[None, :] - log_thresholds[:, None], -1e3, 1e3)
    _areas(axes, problem, problem.classes, [margins, -margins], (x, values))
    axes.axhline(own, color="black", linewidth=1.0, linestyle=":")
    axes.set_xlabel(xlabel)
    return axes


# On the line


def _on_line(problem: DecisionProblem, axes: Axes, limits: tuple[float, float], n_marked: int) -> None:
    ends = [end for density in problem.densities.values() for end in density.support]
    inside = np.array([end for end in [*problem.boundaries(), *ends] if limits[0] < end < limits[1]])
    beside = np.concatenate([np.nextafter(inside, -np.inf), inside, np.nextafter(inside, np.inf)])
    x = np.unique(np.concatenate([np.linspace(*limits, _STEPS), beside]))
    with np.errstate(over="ignore"):
        curves = problem.prior.probabilities[:, None] * np.exp([d.log_pdf(x) for d in problem.densities.values()])
    wrong = _wrong(problem, x, curves)
    highest = _highest(np.maximum(wrong, curves.max(axis=0)))
    n_labels = len(problem.classes) + n_marked + bool(wrong.any()) + (None in problem.choices)
    top = highest * (1.08 + _LEGEND_LINE * min(n_labels, _LEGEND_LINES))  # room for the legend, above the curves
    if wrong.any():
        look: dict[str, Any] = {
            "facecolor": "#e8e8e8",
            "edgecolor": NEUTRAL,
            "linewidth": 0.0,
            "hatch": "////",
            "label": "wrong",
        }
        axes.fill_between(x, 0.0, np.minimum(wrong, 10.0 * top), **look)
    for i, (name, curve) in enumerate(zip(problem.classes, curves, strict=True)):
        style = _LINES[i % len(_LINES)]
        axes.plot(x, curve, color=_colour(i), linestyle=style, linewidth=1.8, label=f"P({name}) p(x | {name})")
    _draw_bands(problem, axes, limits, top, 1.04 * highest)
    axes.set_xlim(*limits)
    axes.set_ylim(-_BAND * top, top)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0.0 <= tick <= top])
    hide_spines(axes)


def _wrong(problem: DecisionProblem, x: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """Return the sum of the curves of the classes that are not chosen at each point; 0 where no class is chosen."""
    found = np.zeros(len(x))
    for region in problem.regions():
        if region.choice in problem.classes:
            here = (x >= region.low) & (x <= region.high)
            others = [i for i, name in enumerate(problem.classes) if name != region.choice]
            found[here] = curves[others][:, here].sum(axis=0)
    return found


def _highest(curve: np.ndarray) -> float:
    """Return how high to draw: up to the top, unless that is a sharp peak, or infinite."""
    usual = float(np.quantile(curve, 0.97))
    top = float(curve.max())
    return (top if top <= 4.0 * usual else usual) or 1.0


def _draw_bands(problem: DecisionProblem, axes: Axes, limits: tuple[float, float], top: float, line_top: float) -> None:
    """Draw the choices as a band below the axis, and a line at each boundary, which ends below the legend."""
    for region in problem.regions():
        low, high = max(region.low, limits[0]), min(region.high, limits[1])
        if low >= high:
            continue
        colour = _choice_colour(problem, region.choice)
        axes.fill_between([low, high], -_BAND * top, 0.0, color=colour, alpha=0.35, linewidth=0)
        if high - low > 0.012 * len(_name(region.choice)) * (limits[1] - limits[0]):
            where = (0.5 * (low + high), -0.5 * _BAND * top)
            axes.annotate(_name(region.choice), where, ha="center", va="center", fontsize=9)
    if None in problem.choices:
        axes.fill([], [], color=NEUTRAL, alpha=0.35, label="no decision")
    for place in problem.boundaries():
        if limits[0] < place < limits[1]:
            ends = [-_BAND * top, line_top]
            axes.plot([place, place], ends, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.axhline(0.0, color="black", linewidth=0.8)


# In the plane


def _in_plane(problem: DecisionProblem, axes: Axes, limits: list[tuple[float, float]]) -> None:
    x, y = (np.linspace(low, high, _SIDE) for low, high in limits)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    logs = np.stack([density.log_pdf(grid) for density in problem.densities.values()])
    with np.errstate(divide="ignore"):
        weights = logs + np.log(problem.prior.probabilities)[:, None, None]
    shares, possible = shares_of(weights)
    risks = np.tensordot(problem.losses.T, shares, 1)
    others = [np.delete(risks, j, axis=0).min(axis=0, initial=risks.max() + 1.0) for j in range(len(risks))]
    margins = [np.where(possible, other - own, np.nan) for own, other in zip(risks, others, strict=True)]
    _areas(axes, problem, problem.choices, margins, (x, y))
    for i, log in enumerate(logs):
        top = float(log.max())
        levels = np.unique(np.exp(top) * _RINGS)
        if len(levels) == len(_RINGS) and float(np.exp(log).min()) < levels[-1]:
            style = _LINES[i % len(_LINES)]
            axes.contour(x, y, np.exp(log), levels=levels, colors=_colour(i), linewidths=1.1, linestyles=style)
    axes.set(xlim=limits[0], ylim=limits[1])


def _areas(
    axes: Axes,
    problem: DecisionProblem,
    choices: Sequence[Any],
    margins: list[np.ndarray],
    at: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill for each choice where its margin is above 0, draw the boundary, and write the choice into its area."""
    for choice, margin in zip(choices, margins, strict=True):
        shown = np.ma.masked_invalid(margin)
        if not (shown > 0.0).any():
            continue
        colour = _choice_colour(problem, choice)
        axes.contourf(*at, shown, levels=[0.0, float(shown.max()) + 1.0], colors=[colour], alpha=0.28)
        if (shown < 0.0).any():
            axes.contour(*at, shown, levels=[0.0], colors="black", linewidths=1.3)
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": colour, "alpha": 0.85}
        axes.annotate(_name(choice), _widest(shown, at), ha="center", va="center", fontsize=9, bbox=box, zorder=5)


def _widest(margin: np.ma.MaskedArray, at: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """Return the place in an area that is farthest from its edge."""
    from scipy.ndimage import distance_transform_edt

    inside = np.pad(np.ma.filled(margin > 0.0, False), 1)
    row, column = np.unravel_index(int(distance_transform_edt(inside).argmax()), inside.shape)
    return float(at[0][int(column) - 1]), float(at[1][int(row) - 1])


# The moving boundary


def _varied(problem: DecisionProblem, axes: Axes, vary: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the values of what varies, ln θ at each, and the value that the problem has."""
    first, second = map(_name, problem.classes)
    p, q = problem.prior.probabilities.tolist()
    cost = problem.with_prior(None).threshold  # what is left of θ: the loss of missing the second over the first
    if vary == "prior":
        values = np.linspace(0.002, 0.998, _SIDE)
        axes.set(ylabel=f"P({first})", ylim=(0.0, 1.0))
        return values, math.log(cost) + np.log((1.0 - values) / values), p
    own = 1.0 / cost
    values = np.geomspace(min(_LOSSES[0], own / 3.0), max(_LOSSES[1], 3.0 * own), _SIDE)
    parts = f"loss of missing {first}", f"of missing {second}"
    label = (" / " if len("".join(parts)) <= _LONGEST_LABEL else " /\n").join(parts)
    axes.set(ylabel=label, ylim=(values[0], values[-1]), yscale="log")
    return values, math.log(max(q, 1e-300)) - math.log(max(p, 1e-300)) - np.log(values), own


# What all of them need


def _limits(problem: object, view: ArrayLike | None) -> list[tuple[float, float]]:
    """Return the part to draw: low and high of each coordinate."""
    if not isinstance(problem, DecisionProblem):
        raise DataError(f"problem must be a DecisionProblem; got {shortened(repr(problem))}.")
    n = problem.n_dimensions
    if view is None:
        spans = np.array([_span(density) for density in problem.densities.values()])
        return [(float(spans[:, k, 0].min()), float(spans[:, k, 1].max())) for k in range(n)]
    try:
        given = np.asarray(view, np.float64).reshape(n, 2)
    except (TypeError, ValueError):
        given = np.full((n, 2), np.nan)
    if not (np.isfinite(given).all() and (given[:, 0] < given[:, 1]).all()):
        rule = "must be (low, high)" if n == 1 else "must be ((low, high), (low, high))"
        raise DataError(f"view {rule}; got {shortened(repr(view))}.")
    return [(low, high) for low, high in given.tolist()]


def _span(density: AnyDensity) -> list[tuple[float, float]]:
    """Return where a density is, in each coordinate."""
    if isinstance(density, Gaussian):
        deviations = np.sqrt(np.diag(np.atleast_2d(density.variance)))
        means = np.atleast_1d(density.mean)
        return [(m - 3.5 * s, m + 3.5 * s) for m, s in zip(means.tolist(), deviations.tolist(), strict=True)]
    grid = density.grid[:: max(1, len(density.grid) // 100)]
    below = density.probability(-np.inf, grid)
    low, high = grid[below <= _TAIL], grid[below >= 1.0 - _TAIL]
    a, b = (low[-1] if len(low) else grid[0]), (high[0] if len(high) else grid[-1])
    return [(float(a - 0.03 * (b - a)), float(b + 0.03 * (b - a)))]


def _points_by_class(problem: DecisionProblem, points: object) -> Mapping[Any, ArrayLike]:
    """Return the points to mark, which must be given by class."""
    if points is None:
        return {}
    if not isinstance(points, Mapping):
        first = problem.classes[0]
        hint = f"Write points={{{first!r}: …}} with those of each class."
        raise DataError(f"points must be a mapping of class to points; got {type(points).__name__}. {hint}")
    for name in points:
        if name not in problem.classes:
            hint = did_you_mean(name, problem.classes)
            raise DataError(f"points must be of classes of the problem; got {name!r}. {hint}")
    return points


def _add_legend(axes: Axes, n_dimensions: int) -> None:
    handles = axes.get_legend_handles_labels()[0]
    if not handles:
        return
    if n_dimensions == 2:
        axes.legend(framealpha=0.9, fontsize=9, loc="best")
    else:
        axes.legend(frameon=False, fontsize=9, loc="upper right", ncols=math.ceil(len(handles) / _LEGEND_LINES))


def _mark(problem: DecisionProblem, axes: Axes, name: object, given: ArrayLike) -> None:
    i = problem.classes.index(name)
    points = as_points(given, problem.n_dimensions).reshape(-1, problem.n_dimensions)
    x, y = points[:, 0], points[:, 1] if problem.n_dimensions == 2 else np.zeros(len(points))
    shape, colour = SHAPES[i % len(SHAPES)], _colour(i)
    axes.scatter(x, y, s=22, marker=shape, color=colour, edgecolor="white", linewidth=0.5, zorder=4, label=str(name))


def _title(problem: DecisionProblem) -> str:
    found, plain = problem.performance(), 1.0 - np.eye(len(problem.classes))
    told = []
    if all(choice is None or choice in problem.classes for choice in problem.choices):
        told.append(f"P(error) = {found.error:.4g}")
    if not np.array_equal(problem.losses, plain):
        told.append(f"risk = {found.risk:.4g}")
    return ", ".join(told)


def _choice_colour(problem: DecisionProblem, choice: object) -> str:
    if choice is None:
        return NEUTRAL
    return _colour((problem.classes if choice in problem.classes else problem.choices).index(choice))


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _name(choice: object) -> str:
    return "no decision" if choice is None else shortened(str(choice), 20)
