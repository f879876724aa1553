"""The number of states of a hidden variable: EM with each number, compared by BIC.

More states always fit better. BIC penalises their parameters,

    BIC = ln P(rows | θ) − ½ d ln n,

with d free parameters and n rows; the largest wins. Because states can be exchanged (the likelihood has several equal
maxima) the theory behind BIC does not hold strictly; in practice it is the usual choice (Fraley and Raftery 1998).

References
----------
C. Fraley, A. E. Raftery (1998). How many clusters? Which clustering method? Answers via model-based cluster analysis.
The Computer Journal 41, 578–588.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tunbridge._core.check import check_integer, shortened
from tunbridge._core.grid import data_frame, html_grid, text_grid
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.missing.em import EM
from tunbridge.learning.missing.fitting import INTERRUPTED, Fit, Fitter, Hidden
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior
from tunbridge.learning.searches.problem import Progress
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class StateChoice:
    """The number of states of a hidden variable, chosen by BIC.

    Attributes
    ----------
    variable : str
        The hidden variable.
    fits : mapping of int to Fit
        The fit with each number of states.
    n_states : int
        The number with the largest BIC; of equal ones the smallest.
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas.DataFrame with the columns states, log_likelihood, parameters and bic."""
        rows = [(n, f.log_likelihood, f.network.n_parameters, f.bic) for n, f in self.fits.items()]
        names = ("states", "log_likelihood", "parameters", "bic")
        return data_frame(dict(zip(names, zip(*rows, strict=True), strict=True)))

    def _rows(self) -> list[list[object]]:
        found = [(n, fit, "*" if n == self.n_states else "") for n, fit in self.fits.items()]
        return [[n, f"{f.log_likelihood:.2f}", f.network.n_parameters, f"{f.bic:.2f}", mark] for n, f, mark in found]

    def __repr__(self) -> str:
        return text_grid([f"states of {self.variable}", "log-likelihood", "parameters", "BIC", ""], self._rows())

    def _repr_html_(self) -> str:
        header = ["states", "log-likelihood", "parameters", "BIC", ""]
        return html_grid(header, self._rows(), caption=f"States of {self.variable}")


def choose_states(
    dag: DAG,
    frame: object,
    variable: str,
    candidates: Iterable[int] = range(1, 7),
    prior: Prior = DEFAULT_PRIOR,
    *,
    hidden: Hidden | None = None,
    fitter: Fitter | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> StateChoice:
    """Return the number of states of a hidden variable with the largest BIC.

    Parameters
    ----------
    dag : DAG
        The graph, the hidden variable being one of its nodes.
    frame : Table or any frame
        The data.
    variable : str
        The hidden variable.
    candidates : iterable of int
        The numbers of states to try.
    prior, random_state, n_jobs, progress
        As for :func:`fit_parameters`.
    hidden : mapping, optional
        Other hidden variables, with their states.
    fitter : EM, optional
        The fitting method with its options, as in ``tb.EM(restarts=20)``.

    Returns
    -------
    StateChoice
        After Ctrl-C it compares the finished fits.

    Examples
    --------
    Three questions to people of two hidden kinds:

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
        raise DataError(
            f"hidden must not name the variable to choose states for; got {variable!r}.", parameter="hidden"
        )
    if fitter is not None and not isinstance(fitter, Fitter):
        rule = "fitter must be an object such as tb.EM(restarts=20)"
        raise DataError(f"{rule}; got {shortened(repr(fitter))}.", parameter="fitter")
    method, entropy = fitter or EM(), entropy_of(random_state)
    fits: dict[int, Fit] = {}
    for n in numbers:
        states = {**others, variable: n}
        fit = method.fit(dag, frame, prior, hidden=states, random_state=entropy, n_jobs=n_jobs, progress=progress)
        if fit.note == INTERRUPTED:
            if not fits:
                raise KeyboardInterrupt
            break  # an unfinished fit is not compared
        fits[n] = fit
    best = max(fits, key=lambda n: (fits[n].bic, -n))
    return StateChoice(variable, MappingProxyType(fits), best)


def _checked(candidates: Iterable[int]) -> list[int]:
    """Return the numbers of states to try, smallest first."""
    if not isinstance(candidates, Iterable) or isinstance(candidates, str):
        rule = "candidates must be numbers of states, as in range(1, 7)"
        raise DataError(f"{rule}; got {shortened(repr(candidates))}.", parameter="candidates")
    numbers = list(candidates)
    for n in numbers:
        check_integer("a number of states", n, low=1)
    if not numbers:
        raise DataError("candidates must have a number of states; got none.", parameter="candidates")
    return sorted({int(n) for n in numbers})
