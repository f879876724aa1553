"""The door to networks: from a table to a graph with its tables, whether or not cells are missing."""

from __future__ import annotations

from typing import Any

from tunbridge._check import check_choice
from tunbridge.errors import DataError
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.em import EM
from tunbridge.learning.fitting import Fitter, Hidden
from tunbridge.learning.parameters import Missing, complete_cases, fit_parameters
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.problem import Search
from tunbridge.learning.scores import NodeAverage, Score, as_score
from tunbridge.learning.structural_em import StructuralEM
from tunbridge.learning.structure import as_search, learn_structure, network_table
from tunbridge.network import BayesianNetwork


def learn_network(
    frame: Any,
    score: str | Score | None = None,
    search: str | Search = "hill-climbing",
    constraints: Constraints | None = None,
    *,
    prior: Prior = DEFAULT_PRIOR,
    missing: Missing = "em",
    hidden: Hidden | None = None,
    **options: Any,
) -> BayesianNetwork:
    """Return a network learned from a table: the graph by :func:`learn_structure`, then its tables.

    Parameters
    ----------
    frame, search, constraints
        As for :func:`learn_structure`. Continuous columns become linear Gaussian variables.
    score : str or Score, optional
        As for :func:`learn_structure`; ``"bic"`` unless given. A table with continuous columns and missing cells is
        scored by ``"nal"``, and by no other.
    prior
        As for :func:`fit_parameters`.
    missing : {"em", "complete", "available"}, EM or GradientAscent
        What is done about missing cells. ``"em"``, or an object with options such as ``tb.EM(tolerance=1e-5)``, finds
        graph and tables together, by :class:`StructuralEM`; under the score ``"nal"``, and for trees, it finds the
        tables only, and the graph comes from the rows that are complete in each family. ``"available"`` takes these
        rows for the tables too, and ``"complete"`` leaves out every row with a hole.
    hidden : mapping of str to int or list of states, optional
        Variables that are never observed, with the number of their states or the states; see :class:`StructuralEM`.
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
    table = network_table(frame, hidden or (), numbers=not hidden)
    as_prior(prior)
    fitter, way = _fitter(missing, hidden), as_search(search)
    has_numbers = any(v.is_continuous for v in table.variables)
    criterion = _criterion(score, fitter is not None and has_numbers and bool(table.missing) and way.is_scored)
    averages = isinstance(criterion, NodeAverage) or not way.is_scored or has_numbers
    if hidden or (table.missing and fitter is not None and not averages):
        settings = StructuralEM(way, criterion, em=fitter or EM())
        return settings.fit(table, prior, constraints=constraints, hidden=hidden, **options).network
    if missing == "complete":
        table = complete_cases(table, "to learn from")
    dag = learn_structure(table, criterion, way, constraints, **options)
    told = {name: options[name] for name in ("n_jobs", "random_state", "progress") if name in options}
    return fit_parameters(dag, table, prior, missing=missing, **told)


def _criterion(score: str | Score | None, averages: bool) -> Score:
    """Return the score; that of averages for numbers with holes, which no other can be computed from."""
    if score is None:
        return NodeAverage() if averages else as_score("bic")
    found = as_score(score)
    if averages and not isinstance(found, NodeAverage):
        rule = "score must be 'nal' where a table with continuous columns has missing cells"
        raise DataError(f"{rule}; got {found.name!r}. Leave it out, or cut the numbers into intervals.")
    return found


def _fitter(missing: Any, hidden: Hidden | None) -> Fitter | None:
    """Return how the tables are found where cells are missing; None where rows with holes are left out."""
    if isinstance(missing, Fitter):
        return missing
    if isinstance(missing, StructuralEM):
        raise DataError(f"missing must be 'em' or a fitter such as tb.EM(); got {missing!r}. Call its fit(frame).")
    check_choice("missing", missing, ("em", "available", "complete"))
    if hidden and missing != "em":
        raise DataError(f"missing must be 'em' where variables are hidden; got {missing!r}.")
    return EM() if missing == "em" else None
