"""Probabilities as pictures: conditional tables, distributions, arc strengths, and a class over two columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import counted, did_you_mean, shortened
from tunbridge.data import Frame, Table, Variable, as_table
from tunbridge.errors import DataError
from tunbridge.graph.drawing import short_name
from tunbridge.network import BayesianNetwork
from tunbridge.plots.axes import FOR, NEUTRAL, hide_spines, new_axes, plain_labels
from tunbridge.probability import CPT, Distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.learning import ArcStrengths

_MOST_ROWS, _WRITTEN, _BARS = 60, 240, 40  # configurations, cells with a number, and states, that are shown
_GRID, _MARKED = 80, 500  # numbers of a side of a landscape, and rows that are marked in it


def cpt(table: CPT | BayesianNetwork, name: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a conditional probability table as a heat map, and return the axes.

    Parameters
    ----------
    table : CPT or BayesianNetwork
        The table; of a network that of the variable ``name``.
    name : str, optional
        The variable of a network.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each configuration of the parents (the first 60), a column for each state.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.cpt(tb.example_network("asia"), "dysp")
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['either=yes, bronc=yes', 'either=yes, bronc=no']
    """
    found: Any = table.cpt(name or "") if isinstance(table, BayesianNetwork) else table
    states = getattr(getattr(found, "variable", None), "states", None)
    if states is None or any(v.states is None for v in found.parents):
        raise DataError(f"a heat map must be of a table of states; got {shortened(repr(table))}.")
    values = np.asarray(found.probabilities, np.float64).reshape(-1, len(states))
    rows = _configurations(found, min(len(values), _MOST_ROWS))
    shown = values[: len(rows)]
    axes = new_axes(ax, max(4.4, 1.6 + 0.8 * len(states)), 1.1 + 0.32 * len(rows))
    axes.imshow(shown, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    if shown.size <= _WRITTEN:
        for (i, j), p in np.ndenumerate(shown):
            colour = "white" if p > 0.5 else "black"
            axes.text(j, i, f"{p:.3g}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(states)), [short_name(str(s), 16) for s in states], rotation=45 if len(states) > 5 else 0)
    axes.set_yticks(range(len(rows)), rows)
    plain_labels([*axes.get_xticklabels(), *axes.get_yticklabels()])
    left = len(values) - len(rows)
    more = f" (… and {counted(left, 'more configuration')})" if left else ""
    axes.set_title(f"P({_given(found)}){more}", fontsize=10, loc="left", parse_math=False)
    return axes


def _given(table: Any) -> str:
    names = ", ".join(short_name(v.name) for v in table.parents)
    return short_name(table.variable.name) + (f" | {names}" if names else "")


def _configurations(table: Any, n: int) -> list[str]:
    """Return the first configurations of the parents in words."""
    sizes = [v.n_states for v in table.parents]
    found = []
    for at in range(n):
        places = np.unravel_index(at, sizes) if sizes else ()
        pairs = zip(table.parents, places, strict=True)
        found.append(", ".join(f"{short_name(v.name, 16)}={short_name(str(v.states[i]), 12)}" for v, i in pairs))
    return found


def posterior(
    distribution: Distribution | Mapping[str, Distribution],
    ax: Axes | None = None,
    *,
    prior: Distribution | None = None,
) -> Axes:
    """Draw the probabilities of states as bars, and return the axes.

    Parameters
    ----------
    distribution : Distribution, or mapping of str to Distribution
        One, or several of the same variable under their names.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    prior : Distribution, optional
        A distribution to compare with, drawn as marks.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> net = tb.example_network("asia")
    >>> ax = tb.plots.posterior(net.posterior("lung", {"xray": "yes"}), prior=net.posterior("lung"))
    >>> ax.get_xlabel()
    'P(lung)'
    """
    several: dict[str, Any] = dict(distribution) if _is_several(distribution) else {"": distribution}
    first = next(iter(several.values()), None)
    if not isinstance(first, Distribution) or len(first.variables) != 1:
        raise DataError("what is drawn must be the distribution of one variable, or several by name.")
    states = [str(s) for s in first.variables[0].states or ()]
    order = np.arange(len(states))
    if len(states) > _BARS:
        order = np.sort(np.argsort(-first.probabilities, kind="stable")[:_BARS])
    axes = new_axes(ax, 5.2, 1.2 + 0.3 * len(order) * max(1, len(several)))
    high = 0.8 / len(several)
    for i, (label, each) in enumerate(several.items()):
        at = np.arange(len(order)) + (i - 0.5 * (len(several) - 1)) * high
        shade = FOR if i == 0 else NEUTRAL
        axes.barh(at, each.probabilities[order], height=0.9 * high, color=shade, label=label or None)
        for y, p in zip(at, each.probabilities[order], strict=True):
            axes.text(p + 0.01, y, f"{p:.3g}", va="center", fontsize=8)
    if prior is not None:
        known = prior.probabilities[order]
        axes.scatter(known, np.arange(len(order)), marker="|", s=160, color="black", zorder=3, label="prior")
    axes.set_yticks(range(len(order)), [short_name(states[k]) for k in order])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.12)
    axes.set_xlabel(f"P({first.variables[0].name})", parse_math=False)
    plain_labels(axes.get_yticklabels())
    hide_spines(axes)
    if len(several) > 1 or prior is not None:
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)
    return axes


def _is_several(value: object) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, Distribution)


def strength_matrix(strengths: ArcStrengths, ax: Axes | None = None) -> Axes:
    """Draw in how many graphs each arc is, from the row to the column, and return the axes.

    Parameters
    ----------
    strengths : ArcStrengths
        What :func:`tunbridge.bootstrap_structure` or :func:`tunbridge.posterior_structure` returns.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> table = tb.example_network("asia").sample(300, random_state=0)
    >>> ax = tb.plots.strength_matrix(tb.bootstrap_structure(table, 10, random_state=0))
    >>> ax.get_xlabel()
    'to'
    """
    if not hasattr(strengths, "shares"):
        hint = "bootstrap_structure gives them."
        raise DataError(f"what is drawn must be the strengths of arcs; got {shortened(repr(strengths))}. {hint}")
    names, shares = [short_name(n, 18) for n in strengths.nodes], strengths.shares
    size = 1.8 + 0.34 * min(len(names), 40)
    axes = new_axes(ax, size, size)
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    if len(names) <= 12:
        for (i, j), share in np.ndenumerate(shares):
            if share >= 0.05:
                colour = "white" if share > 0.5 else "black"
                axes.text(j, i, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8)
    if len(names) <= 80:
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names)
        plain_labels([*axes.get_xticklabels(), *axes.get_yticklabels()])
    axes.set(xlabel="to", ylabel="from")
    axes.set_title(f"% of {counted(strengths.n_graphs, 'graph')} with the arc", fontsize=10)
    return axes


def landscape(
    classifier: BayesClassifier,
    rows: Frame,
    x: str,
    y: str,
    ax: Axes | None = None,
    *,
    label: object = None,
    given: Mapping[str, object] | None = None,
) -> Axes:
    """Draw the probability of a class over two columns, the others unknown or given, and return the axes.

    Parameters
    ----------
    classifier : fitted classifier
        One of tables.
    rows : any frame
        Rows from which the ranges of the two columns are taken, up to 500 of which are marked.
    x, y : str
        The columns.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    label : class, optional
        The class; default: the last one.
    given : mapping, optional
        Values of other columns.

    Returns
    -------
    matplotlib.axes.Axes
        The line is where the probability is one half.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from sklearn.datasets import load_iris
    >>> tb.plots.draw_off_screen()
    >>> iris = load_iris(as_frame=True)
    >>> model = tb.NaiveBayesClassifier().fit(iris.data, iris.target_names[iris.target])
    >>> ax = tb.plots.landscape(model, iris.data, "petal length (cm)", "petal width (cm)", label="versicolor")
    >>> ax.get_title(loc="left")
    'P(versicolor)'
    """
    variables = {v.name: v for v in classifier.variables_}
    table, classes = as_table(rows), classifier.classes_.tolist()
    for name in (x, y, *(given or {})):
        if name not in variables or (name in (x, y) and name not in table):
            hint = did_you_mean(name, variables)
            raise DataError(f"a landscape must be over features of the model; got {name!r}. {hint}")
    shown = classes[-1] if label is None else label
    if shown not in classes:
        raise DataError(f"label must be a class of the model; got {shown!r}. {did_you_mean(shown, classes)}")
    sides = [_side(variables[name], table) for name in (x, y)]
    grid = [each.ravel() for each in np.meshgrid(*(np.arange(len(side)) for side in sides))]
    columns: dict[str, list[Any]] = {name: [(given or {}).get(name)] * len(grid[0]) for name in variables}
    columns |= {name: [side[i] for i in at] for name, side, at in zip((x, y), sides, grid, strict=True)}
    columns |= {name: [None] * len(grid[0]) for name in classifier.text_columns_}
    p = classifier.predict_proba(columns)[:, classes.index(shown)].reshape(len(sides[1]), len(sides[0]))
    axes = new_axes(ax, 5.4, 4.4)
    places = [side if variables[n].is_continuous else range(len(side)) for n, side in zip((x, y), sides, strict=True)]
    mesh = axes.pcolormesh(*places, p, cmap="RdBu", vmin=0.0, vmax=1.0, shading="nearest", rasterized=True)
    axes.figure.colorbar(mesh, ax=axes)
    if all(variables[name].is_continuous for name in (x, y)) and p.min() < 0.5 < p.max():
        axes.contour(*places, p, levels=[0.5], colors="black", linewidths=1.0)
    for name, side, set_ticks in ((x, sides[0], axes.set_xticks), (y, sides[1], axes.set_yticks)):
        if variables[name].is_categorical:
            set_ticks(range(len(side)), [short_name(str(s), 16) for s in side])
    some = table.take(slice(0, _MARKED))
    across, up = (_marks(variables[name], some, side) for name, side in zip((x, y), sides, strict=True))
    axes.scatter(across, up, s=8, color="black", alpha=0.5, linewidth=0)
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(f"P({shown})", fontsize=10, loc="left", parse_math=False)
    return axes


def _side(variable: Variable, table: Table) -> list[Any]:
    """Return the values of a column for which probabilities are computed: states, or numbers between the ends."""
    if variable.is_categorical:
        return list(variable.states or ())
    values = table.floats(variable.name)
    low, high = (float(end(values, initial=np.nan)) for end in (np.fmin.reduce, np.fmax.reduce))
    if not low < high:
        raise DataError(f"column {variable.name!r} must have two different numbers to draw a landscape.")
    return np.linspace(low, high, _GRID).tolist()


def _marks(variable: Variable, table: Table, side: list[Any]) -> np.ndarray:
    """Return where rows are: numbers, or the places of states, a little apart."""
    if variable.is_continuous:
        return np.asarray(table.floats(variable.name))
    place = {state: i for i, state in enumerate(side)}
    states = table.variable(variable.name).states or ()
    at = np.array([*(place.get(s, np.nan) for s in states), np.nan])[table.codes(variable.name)]
    return at + np.random.default_rng(0).uniform(-0.25, 0.25, len(at))
