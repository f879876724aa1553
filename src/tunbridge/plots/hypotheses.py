"""Hypotheses and what data do to them: densities of beliefs, probabilities step by step, description lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tunbridge._core.check import check_integer, counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import (
    AGAINST,
    COLOURS,
    FOR,
    NEUTRAL,
    SHAPES,
    hide_spines,
    matplotlib,
    new_axes,
    plain_labels,
)
from tunbridge.reasoning import BetaBinomial, NormalNormal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.reasoning import BayesUpdate, DescriptionChoice, Evolution

Belief: TypeAlias = BetaBinomial | NormalNormal

_POINTS = 400
_SHOWN = 0.99995  # of each belief, at least
_FINE = 12.0  # standard deviations around a mean in which points are close to each other
_HEADROOM = 1.25
_LINES = ("-", "-.", ":")
_NAMED = 30  # observations that are written below the axis
_LETTERS = 4  # of their names, at most
_LOW = 0.5  # where no probability is above it, the axis ends before 1
_MARKED = 60  # observations at which the lines have marks
_PALE = "#9dc6e0"
_MANY = 40
_LONG = 30
_NUMBERED = re.compile(r"(?P<before>\D*?) ?(?P<number>\d+) ?(?P<after>\D*)")


# Densities of beliefs


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
    hide_spines(axes)
    axes.legend(frameon=False)


# Probabilities step by step


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
    hide_spines(axes)
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


# Description lengths


def description_lengths(choice: DescriptionChoice, ax: Axes | None = None) -> Axes:
    """Draw the description length of each candidate, and return the axes.

    For each candidate a column: the bits of the data, and on top of them those of the hypothesis. From simple to
    complex hypotheses the first fall and the second rise, and the sum has its lowest point in between; a triangle marks
    it.

    Parameters
    ----------
    choice : DescriptionChoice
        From :func:`tunbridge.reasoning.shortest_description`, ``choose_polynomial``, … Candidates of infinite length
        have no column.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.

    Notes
    -----
    If the bits of the data differ little between the candidates, the axis does not start at 0, and its label says so.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import shortest_description
    >>> tb.plots.draw_off_screen()
    >>> choice = shortest_description({"degree 0": (10, 90), "degree 1": (20, 50), "degree 2": (30, 45)})
    >>> ax = tb.plots.description_lengths(choice)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('degree', 'bits')
    """
    if not hasattr(choice, "candidates") or not hasattr(choice, "best"):
        raise DataError(f"choice must be a DescriptionChoice; got {shortened(repr(choice))}.")
    axes = new_axes(ax, 6.8, 4.2)
    told = np.array([float(c.hypothesis_bits) for c in choice.candidates])
    data = np.array([float(c.data_bits) for c in choice.candidates])
    known, at = np.isfinite(told + data), np.arange(len(told))
    width = 1.0 if len(at) > _MANY else 0.75
    axes.bar(at[known], data[known], width, color=_PALE, label="data given the hypothesis, L(D | h)")
    axes.bar(at[known], told[known], width, data[known], color=FOR, label="hypothesis, L(h)")
    _frame(axes, [str(name) for name in choice], data[known], (told + data)[known])
    best, (low, high) = choice.candidates.index(choice.best), axes.get_ylim()
    above = choice.best.total + 0.025 * (high - low)
    axes.plot([best], [above], marker="v", markersize=9, color=AGAINST, linestyle="", label="the shortest")
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    return axes


def _frame(axes: Axes, names: Sequence[str], data: np.ndarray, totals: np.ndarray) -> None:
    label, ticks = _shared(names)
    step = 1 if len(names) <= _MANY else len(names) // 10
    turned = sum(map(len, ticks[::step])) > 2 * _LONG
    axes.set_xticks(
        range(0, len(names), step), ticks[::step], rotation=40 if turned else 0, ha="right" if turned else "center"
    )
    plain_labels(axes.get_xticklabels())
    axes.set_xlabel(label, parse_math=False)
    low, high = _limits(data, totals)
    axes.set_ylim(low, high)
    start = f"{low:,.0f}".replace(",", "\u202f")
    axes.set_ylabel("bits" if low == 0 else f"bits (the axis starts at {start})")
    hide_spines(axes)


def _shared(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return what names have in common and the numbers in which they differ: "degree 0", "degree 1", …"""
    found = [_NUMBERED.fullmatch(name) for name in names]
    parts: list[Any] = [match.groupdict() for match in found if match]
    texts = {(part["before"] + part["after"]).rstrip("s") for part in parts}
    if len(parts) < len(names) or len(texts) > 1:
        return "", [shortened(name, _LONG) for name in names]
    return max((part["before"] + part["after"] for part in parts), key=len), [part["number"] for part in parts]


def _limits(data: np.ndarray, totals: np.ndarray) -> tuple[float, float]:
    """Return where the axis starts and ends: above 0 where the columns would otherwise look all alike."""
    span = float(totals.max() - data.min())
    start = float(data.min()) - 0.5 * span
    if start <= 3.0 * span:
        return 0.0, 1.08 * float(totals.max()) or 1.0
    unit = 10.0 ** np.floor(np.log10(span))
    return float(np.floor(start / unit) * unit), float(totals.max()) + 0.08 * span
