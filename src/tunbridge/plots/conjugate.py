"""Densities of beliefs before and after data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tunbridge._core.check import counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, NEUTRAL, new_axes
from tunbridge.reasoning import BetaBinomial, NormalNormal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 400
_SHOWN = 0.99995  # of each belief, at least
_FINE = 12.0  # standard deviations around a mean in which points are close to each other
_HEADROOM = 1.25
_LINES = ("-", "-.", ":")

Belief: TypeAlias = BetaBinomial | NormalNormal


def updates(beliefs: object, ax: Axes | None = None, *, level: float | None = None, xlabel: str | None = None) -> Axes:
    """Draw the densities of beliefs and return the axes.

    Parameters
    ----------
    beliefs : sequence of BetaBinomial or of NormalNormal, or mapping of label to such
        Up to seven. A belief labelled "prior", or from which others were updated, is dashed. A single posterior is
        drawn with its prior.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.
    level : float, optional
        Shade the equal-tailed interval of this level for each belief that is not dashed.
    xlabel : str, optional
        The axis label.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import tunbridge as tb
    >>> prior = tb.reasoning.BetaBinomial(2, 2)
    >>> ax = tb.plots.updates([prior, prior.update(7, 3), prior.update(70, 30)], level=0.95)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['Beta(2, 2)', 'Beta(9, 5)', 'Beta(72, 32)', '95 % intervals']
    """
    named = _named(beliefs)
    axes, grid = new_axes(ax, 7.0, 4.0), _grid(list(named.values()))
    others = [label for label in named if not _is_prior(label, named)] or list(named)
    for label, belief in named.items():
        i = others.index(label) if label in others else -1
        colour, line = (NEUTRAL, "--") if i < 0 else (COLOURS[i], _LINES[i % len(_LINES)])
        axes.plot(grid, _finite(belief.pdf(grid)), label=label, linewidth=1.8, color=colour, linestyle=line)
    if level is not None:
        for label, colour in zip(others, COLOURS, strict=False):
            _shade(axes, named[label], grid, level, colour)
        axes.fill([], [], color=NEUTRAL, alpha=0.3, label=f"{100.0 * level:g} % interval{'s' * (len(others) > 1)}")
    _finish(axes, list(named.values()), grid, xlabel)
    return axes


def _is_prior(label: str, named: dict[str, Belief]) -> bool:
    """Return whether a belief is called the prior, or is the one that others came from."""
    return label.strip().lower() == "prior" or any(other.prior == named[label] for other in named.values())


def _named(beliefs: object) -> dict[str, Belief]:
    """Return the beliefs by label; raise unless they are of one kind and not too many."""
    if isinstance(beliefs, Belief):
        beliefs = [beliefs] if beliefs.prior is None else [beliefs.prior, beliefs]
    if isinstance(beliefs, str) or not isinstance(beliefs, Iterable):
        raise DataError(f"beliefs must be BetaBinomials or NormalNormals; got {shortened(repr(beliefs))}.")
    found = list(beliefs.values() if isinstance(beliefs, Mapping) else beliefs)
    for belief in found:
        if not isinstance(belief, Belief) or type(belief) is not type(found[0]):
            hint = "Draw marginal(state) of a DirichletMultinomial."
            rule = "beliefs must be all BetaBinomials, or all NormalNormals"
            raise DataError(f"{rule}; got {shortened(repr(belief))}. {hint}")
    if not 1 <= len(found) <= len(COLOURS):
        raise DataError(f"beliefs must be one to {len(COLOURS)}; got {counted(len(found), 'belief')}.")
    labels = [str(key) for key in beliefs] if isinstance(beliefs, Mapping) else [_label(belief) for belief in found]
    return dict(zip(_distinct(labels), found, strict=True))


def _label(belief: Belief) -> str:
    if isinstance(belief, BetaBinomial):
        return f"Beta({float(belief.alpha):.6g}, {float(belief.beta):.6g})"
    return f"N({float(belief.mean):.4g}, {float(belief.variance):.4g})"


def _distinct(labels: list[str]) -> list[str]:
    return [label if label not in labels[:i] else f"{label} ({i + 1})" for i, label in enumerate(labels)]


def _grid(beliefs: list[Belief]) -> np.ndarray:
    """Return where to draw: evenly, and closer where a density is narrow."""
    means, spreads = (np.array([float(v) for v in values]) for values in zip(*map(_moments, beliefs), strict=True))
    ends = np.array([belief.interval(_SHOWN) for belief in beliefs])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if isinstance(beliefs[0], BetaBinomial):
        margin = 0.02 * (high - low)
        low, high = max(0.0, low - margin), min(1.0, high + margin)
    narrow = [np.linspace(m - _FINE * s, m + _FINE * s, _POINTS) for m, s in zip(means, spreads, strict=True)]
    grid = np.unique(np.concatenate([np.linspace(low, high, _POINTS), *narrow]))
    return grid[(grid >= low) & (grid <= high)]


def _moments(belief: Belief) -> tuple[float, float]:
    return float(belief.mean), float(belief.variance) ** 0.5


def _finite(density: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(density), density, np.nan)  # no line where there is no bound


def _shade(axes: Axes, belief: Belief, grid: np.ndarray, level: float, colour: str) -> None:
    low, high = belief.interval(level)
    inside = np.unique(np.concatenate([[low, high], grid[(grid > low) & (grid < high)]]))
    axes.fill_between(inside, _finite(belief.pdf(inside)), color=colour, alpha=0.15, linewidth=0.0)


def _finish(axes: Axes, beliefs: list[Belief], grid: np.ndarray, xlabel: str | None) -> None:
    """Label the axes and limit unbounded densities."""
    kind = "probability p" if isinstance(beliefs[0], BetaBinomial) else "mean θ"
    edge = 0.02 * (grid[-1] - grid[0])
    inner = grid[(grid > grid[0] + edge) & (grid < grid[-1] - edge)]
    unbounded = any(not np.isfinite(belief.pdf(grid)).all() for belief in beliefs)
    shown = inner if unbounded and len(inner) else grid
    top = max(float(np.nanmax(_finite(belief.pdf(shown)))) for belief in beliefs)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(0.0, _HEADROOM * top)
    axes.set_xlabel(kind if xlabel is None else xlabel)
    axes.set_ylabel("density")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
