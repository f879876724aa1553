"""Learning a network: from a table to a graph with its parameters, with or without missing values."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TypedDict, Unpack

from tunbridge._core.check import check_choice, did_you_mean
from tunbridge._core.seeds import RandomState
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.missing.em import EM
from tunbridge.learning.missing.fitting import Fitter, Hidden
from tunbridge.learning.missing.structural_em import StructuralEM
from tunbridge.learning.parameters.fit import Missing, complete_cases, fit_parameters
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.scores.discrete import NodeAverage, Score, as_score
from tunbridge.learning.searches.problem import Progress, Search
from tunbridge.learning.structure import as_search, learn_structure, network_table
from tunbridge.network import BayesianNetwork


class _Options(TypedDict, total=False):
    """The other options of learn_structure."""

    max_parents: int | None
    start: DAG | None
    random_state: RandomState
    n_jobs: int | None
    progress: Progress


def learn_network(
    frame: object,
    score: str | Score | None = None,
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    *,
    prior: Prior = DEFAULT_PRIOR,
    missing: Missing = "em",
    hidden: Hidden | None = None,
    **options: Unpack[_Options],
) -> BayesianNetwork:
    """Return a network learned from a table: the graph by :func:`learn_structure`, then its parameters.

    Parameters
    ----------
    frame, search, constraints
        As for :func:`learn_structure`. Continuous columns become linear Gaussian variables.
    score : str or Score, optional
        As for :func:`learn_structure`; default: ``"bic"``, or ``"nal"`` for continuous columns with missing values,
        which no other score accepts.
    prior
        As for :func:`fit_parameters`.
    missing : {"em", "complete", "available"}, EM or GradientAscent
        How to treat missing values. ``"em"``, or an object with options such as ``tb.EM(tolerance=1e-5)``, learns graph
        and parameters together by :class:`StructuralEM`; with the score ``"nal"``, and for trees, the graph is learned
        from the rows that are complete in each family, and only the parameters by EM. ``"available"`` uses these rows
        for the parameters too, and ``"complete"`` only rows without missing values.
    hidden : mapping of str to int or list of states, optional
        Hidden variables, with the number of their states or the states; see :class:`StructuralEM`.
    **options
        The other options of :func:`learn_structure`.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> net = tb.learn_network(table, search="tabu")
    >>> net
    BayesianNetwork: 8 variables, 8 arcs, 18 parameters
    >>> round(net.posterior("lung", {"xray": "yes"})["yes"], 2)
    0.44
    """
    _check_options(options)
    table = network_table(frame, hidden or (), numbers=not hidden)
    as_prior(prior)
    fitter, method = _fitter(missing, hidden), as_search(search)
    has_numbers = any(v.is_continuous for v in table.variables)
    criterion = _criterion(score, fitter is not None and has_numbers and bool(table.missing) and method.is_scored)
    averages = isinstance(criterion, NodeAverage) or not method.is_scored or has_numbers
    if hidden or (table.missing and fitter is not None and not averages):
        learner = StructuralEM(method, criterion, em=fitter or EM())
        found = learner.fit(table, prior, constraints=constraints, hidden=hidden, **options).network
        return found.with_reading(table.reading)
    if missing == "complete":
        table = complete_cases(table, "to learn from")
    dag = learn_structure(table, criterion, method, constraints, **options)
    return fit_parameters(
        dag, table, prior, missing=missing, n_jobs=options.get("n_jobs"), random_state=options.get("random_state"),
        progress=options.get("progress"),
    )  # fmt: skip


def _check_options(options: Mapping[str, object]) -> None:
    """Raise for keyword arguments that do not exist, as Python does; it would name learn_structure."""
    unknown = [name for name in options if name not in _Options.__annotations__]
    if unknown:
        known = [*[*inspect.signature(learn_network).parameters][:-1], *_Options.__annotations__]
        hint = did_you_mean(unknown[0], known)
        raise TypeError(f"learn_network() got an unexpected keyword argument {unknown[0]!r}. {hint}")


def _criterion(score: str | Score | None, averages: bool) -> Score:
    """Return the score; the node average for continuous columns with missing values."""
    if score is None:
        return NodeAverage() if averages else as_score("bic")
    found = as_score(score)
    if averages and not isinstance(found, NodeAverage):
        rule = "score must be 'nal' if a table with continuous columns has missing values"
        raise DataError(f"{rule}; got {found.name!r}. Leave it out, or discretise the columns.", parameter="score")
    return found


def _fitter(missing: Missing, hidden: Hidden | None) -> Fitter | None:
    """Return the method that fits incomplete rows; None if they are left out."""
    if isinstance(missing, Fitter):
        return missing
    if isinstance(missing, StructuralEM):
        rule = f"missing must be 'em' or a fitter such as tb.EM(); got {missing!r}"
        raise DataError(f"{rule}. Call its fit(frame).", parameter="missing")
    check_choice("missing", missing, ("em", "available", "complete"))
    if hidden and missing != "em":
        raise DataError(f"missing must be 'em' if variables are hidden; got {missing!r}.", parameter="missing")
    return EM() if missing == "em" else None
