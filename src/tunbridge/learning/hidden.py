"""How many states a hidden variable has: EM with each number, compared by BIC.

More states always fit better. BIC asks whether they fit so much better that their parameters are worth it,

    BIC = ln P(rows | θ) − ½ d ln n,

with d free parameters and n rows, and the largest wins. Where states can be exchanged the theory behind it is not
strict (the likelihood has several equal maxima); in practice it is the usual guide (Fraley and Raftery 1998).

References
----------
C. Fraley, A. E. Raftery (1998). How many clusters? Which clustering method? Answers via model-based cluster analysis.
The Computer Journal 41, 578–588.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from tunbridge._check import check_whole, shortened
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.em import EM
from tunbridge.learning.fitting import INTERRUPTED, Fit, Fitter, Hidden
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior
from tunbridge.learning.progress import Report
from tunbridge.network import BayesianNetwork
from tunbridge.probability.grid import html_grid, text_grid


@dataclass(frozen=True, eq=False, repr=False)
class StateChoice:
    """The number of states of a hidden variable, chosen by BIC.

    Attributes
    ----------
    variable : str
        The hidden variable.
    fits : mapping of int to Fit
        What each number of states came to.
    n_states : int
        The number with the largest BIC; of equals the smallest.
    """

    variable: str
    fits: Mapping[int, Fit]
    n_states: int

    @property
    def best(self) -> Fit:
        """The fit with that number."""
        return self.fits[self.n_states]

    @property
    def network(self) -> BayesianNetwork:
        """The network with that number."""
        return self.best.network

    def _rows(self) -> list[list[object]]:
        return [
            [
                n,
                f"{fit.log_likelihood:.2f}",
                fit.network.n_parameters,
                f"{fit.bic:.2f}",
                "*" if n == self.n_states else "",
            ]
            for n, fit in self.fits.items()
        ]

    def __repr__(self) -> str:
        return text_grid([f"states of {self.variable}", "log-likelihood", "parameters", "BIC", ""], self._rows())

    def _repr_html_(self) -> str:
        header = ["states", "log-likelihood", "parameters", "BIC", ""]
        return html_grid(header, self._rows(), caption=f"States of {self.variable}")


def choose_states(
    dag: DAG,
    frame: Any,
    variable: str,
    candidates: Iterable[int] = range(1, 7),
    prior: Prior = DEFAULT_PRIOR,
    *,
    hidden: Hidden | None = None,
    fitter: Fitter | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> StateChoice:
    """Return how many states of a hidden variable the data speak for.

    Parameters
    ----------
    dag : DAG
        The graph, the hidden variable being one of its nodes.
    frame : Table or any frame
        The data.
    variable : str
        The hidden variable.
    candidates : iterable of int
        The numbers of states that are tried.
    prior, random_state, n_jobs, progress
        As for :func:`fit_parameters`.
    hidden : mapping, optional
        Other variables that are never observed, with their states.
    fitter : EM, optional
        How the tables are found, as in ``tb.EM(restarts=20)``.

    Returns
    -------
    StateChoice
        After Ctrl-C it compares the numbers that were finished.

    Examples
    --------
    Three answers of one hidden kind of person, of which there are two:

    >>> import tunbridge as tb
    >>> kinds = tb.BayesianNetwork(
    ...     {"kind": ["a", "b"], "x": ["no", "yes"], "y": ["no", "yes"], "z": ["no", "yes"]},
    ...     [("kind", "x"), ("kind", "y"), ("kind", "z")],
    ...     {"kind": [0.4, 0.6], **{name: [[0.9, 0.1], [0.2, 0.8]] for name in "xyz"}},
    ... )
    >>> rows = kinds.sample(2000, random_state=0).drop(["kind"])
    >>> tb.choose_states(kinds.dag, rows, "kind", range(1, 4), random_state=0).n_states
    2
    """
    numbers = _checked(candidates)
    others = dict(hidden or {})
    if variable in others:
        raise DataError(f"hidden must name other variables than the one to choose for; got {variable!r}.")
    if fitter is not None and not isinstance(fitter, Fitter):
        raise DataError(f"fitter must be an object such as tb.EM(restarts=20); got {shortened(repr(fitter))}.")
    way, entropy = fitter or EM(), entropy_of(random_state)
    fits: dict[int, Fit] = {}
    for n in numbers:
        states = {**others, variable: n}
        fit = way.fit(dag, frame, prior, hidden=states, random_state=entropy, n_jobs=n_jobs, progress=progress)
        if fit.note == INTERRUPTED:
            if not fits:
                raise KeyboardInterrupt
            break  # what was not finished is not compared
        fits[n] = fit
    best = max(fits, key=lambda n: (fits[n].bic, -n))
    return StateChoice(variable, MappingProxyType(fits), best)


def _checked(candidates: Any) -> list[int]:
    """Return the numbers of states to try, smallest first."""
    if not isinstance(candidates, Iterable) or isinstance(candidates, str):
        raise DataError(f"candidates must be numbers of states, as in range(1, 7); got {shortened(repr(candidates))}.")
    numbers = list(candidates)
    for n in numbers:
        check_whole("a number of states", n, low=1)
    if not numbers:
        raise DataError("candidates must hold a number of states; got none.")
    return sorted({int(n) for n in numbers})
