"""The way of an iterative fit as a curve.

EM and gradient ascent raise what they maximise in every iteration, fast at first. Drawn is how far each iteration still
is from the best value reached by any of the fits, for each row of data and on a logarithmic scale: a straight line is
linear convergence, its slope the rate, and a fit that ends high above the others sits on a lower optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tunbridge._core.check import shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.learning import Fit

_STYLES = [(FOR, "o"), (AGAINST, "s"), ("#009e73", "^"), ("#e69f00", "D"), (NEUTRAL, "v")]


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
    axes.spines[["top", "right"]].set_visible(False)
    if any(named):
        axes.legend(frameon=False)
    return axes
