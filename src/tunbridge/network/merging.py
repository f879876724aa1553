"""Networks learned in several places, put together without their rows.

The Dirichlet counts behind a table are those of the rows and of the prior, α = n + a. The rows of several networks are
counted together by adding what is theirs, with the prior once:

    α = a + Σ_i (α_i − a_i).

So networks of the same graph that were fitted to parts of a table with the same prior merge into the one that is fitted
to all of it. The prior of a network that was adapted is the network from which it set out: sites that have started from
one network and have updated it, each with its own rows, are merged with that network as the prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import listed, shortened
from tunbridge.counts import Counts
from tunbridge.errors import DataError
from tunbridge.network.rules import check_discrete
from tunbridge.probability import CPT, ConditionalTable, Laplace, MEstimate, SparseCPT
from tunbridge.probability.smoothing import Smoothing, as_smoothing

if TYPE_CHECKING:
    from tunbridge.network.network import BayesianNetwork

DEFAULT_PRIOR = MEstimate(m=1.0)
"""The prior of a fit to data unless another is given."""

_TOLERANCE = 1e-9


def merge_networks(
    networks: Iterable[BayesianNetwork],
    *,
    prior: BayesianNetwork | Smoothing | float | str = DEFAULT_PRIOR,
) -> BayesianNetwork:
    """Return the network of the rows behind several networks together.

    Parameters
    ----------
    networks : iterable of BayesianNetwork
        Of the same graph, over variables with states, with counts behind their tables. States are matched by name;
        those of the first come first.
    prior : BayesianNetwork, MEstimate, Laplace, number or "mle"
        What the counts of each hold besides rows: the prior with which all were fitted (the default of
        :func:`fit_parameters` unless given), or the network from which all were updated. It is counted once.

    Raises
    ------
    DataError
        With the arcs named in which the graphs differ; when the counts hold less than the prior.

    Notes
    -----
    The result is exact up to rounding, with one exception: with a network as the prior, what a new state or a new
    configuration of a sparse table has started with is counted once for each of the networks in which it has turned up.
    Tables without counts, such as an update leaves fixed, are kept where they are equal in all networks.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table, dag = tb.datasets.play_tennis(), tb.DAG(["wind", "play"], [("wind", "play")])
    >>> halves = [tb.fit_parameters(dag, table.take(rows)) for rows in (slice(0, 7), slice(7, None))]
    >>> merged, whole = tb.merge_networks(halves), tb.fit_parameters(dag, table)
    >>> merged.cpt("play").counts.tolist() == whole.cpt("play").counts.tolist()
    True
    """
    nets = _checked(networks)
    start = _start(prior, nets[0])
    tables = [_merged([net.cpt(name) for net in nets], start, name) for name in nets[0].nodes]
    first = nets[0]
    return type(first).from_tables(tables, name=first.name, properties=first.properties)


# Do they fit together?


def _checked(networks: Iterable[Any]) -> list[BayesianNetwork]:
    nets: list[Any] = list(networks) if isinstance(networks, Iterable) else [networks]
    if not nets:
        raise DataError("networks must be at least one; got none.")
    for net in nets:
        if not hasattr(net, "cpts"):
            raise DataError(f"networks must be BayesianNetworks; got {shortened(repr(net))}.")
        check_discrete(net.cpts, "merged")
        _check_same_graph(nets[0], net)
        if net.cpts and all(cpt.counts is None for cpt in net.cpts.values()):
            raise _no_counts(net.nodes[0])
    return nets


def _check_same_graph(a: BayesianNetwork, b: BayesianNetwork, what: str = "networks to be merged") -> None:
    odd = sorted(set(a.nodes) ^ set(b.nodes))
    if odd:
        stands = "stands" if len(odd) == 1 else "stand"
        raise DataError(f"{what} must have the same variables; {listed(odd)} {stands} in one only.")
    arcs = sorted(set(a.dag.arcs) ^ set(b.dag.arcs))
    if arcs:
        shown = ", ".join(f"{tail!r} → {head!r}" for tail, head in arcs[:4])
        more = f", … ({len(arcs)} in all)" if len(arcs) > 4 else ""
        raise DataError(f"{what} must have the same arcs; one has {shown}{more}, and another has not.")


def _start(prior: Any, net: BayesianNetwork) -> BayesianNetwork | Smoothing:
    """Return the prior as a network or as a rule for pseudo-counts."""
    if hasattr(prior, "cpts"):
        _check_same_graph(net, prior, "the prior and the networks")
        start: BayesianNetwork = prior
        return start
    rule: Any = Laplace(0.0) if isinstance(prior, str) and prior == "mle" else prior
    if isinstance(rule, bool) or not isinstance(rule, Real | MEstimate | Laplace):
        accepted = "'mle', a number (Laplace's γ), MEstimate, Laplace or a network"
        hint = "Any other prior is given as the network that fit_parameters makes of it and a table without rows."
        raise DataError(f"prior must be {accepted}; got {shortened(repr(prior))}. {hint}")
    rule = as_smoothing(rule, "prior")
    if isinstance(rule, MEstimate) and rule.p == "marginal":
        hint = "Merge Counters instead, and fit once."
        raise DataError(f"prior must not depend on the rows; got p='marginal', which differs from part to part. {hint}")
    return rule


# One family


def _merged(cpts: Sequence[ConditionalTable], start: BayesianNetwork | Smoothing, name: str) -> ConditionalTable:
    """Return the table of one family from those of all networks."""
    if all(cpt.counts is None and cpt == cpts[0] for cpt in cpts):
        return cpts[0]
    if not all(isinstance(cpt, CPT | SparseCPT) for cpt in cpts):
        raise DataError(
            f"tables that store no rows must be equal to be merged; those of {name!r} differ. "
            "Turn them into CPTs with counts first."
        )
    order = [p.name for p in cpts[0].parents]
    if isinstance(start, MEstimate | Laplace):
        parts = [_less(_counts_of(cpt, order), _added(start, cpt)) for cpt in cpts]
        total = reduce(Counts.merge, parts)
        default = start.guess(total.child, np.zeros(total.child.n_states))
        return _table(total, start.pseudo_counts(total.child, default), default, name)
    origin = _counts_of(start.cpt(name), order)
    once = [_replaced(origin, origin.table * (1.0 - len(cpts)))]
    total = reduce(Counts.merge, [*(_counts_of(cpt, order) for cpt in cpts), *once])
    return _table(total, np.zeros(total.child.n_states), _default(cpts[0], total), name)


def _counts_of(cpt: ConditionalTable, order: Sequence[str]) -> Counts:
    """Return what stands behind a table, its parents in this order."""
    if cpt.counts is None:
        raise _no_counts(cpt.variable.name)
    axes = [[p.name for p in cpt.parents].index(name) for name in order]
    parents = tuple(cpt.parents[i] for i in axes)
    n_states = cpt.variable.n_states
    if isinstance(cpt, SparseCPT):
        codes = cpt.codes()[:, axes]
        by_code = np.lexsort(codes.T[::-1]) if axes else np.arange(len(codes))
        return Counts(cpt.variable, parents, cpt.counts[by_code], codes[by_code])
    table = np.ascontiguousarray(cpt.counts.transpose([*axes, len(axes)])).reshape(-1, n_states)
    return Counts(cpt.variable, parents, table)


def _no_counts(name: str) -> DataError:
    hint = "Fit it to data, or update the network with ess."
    return DataError(f"tables must have counts to be merged; that of {name!r} has none. {hint}")


def _added(rule: Smoothing, cpt: ConditionalTable) -> np.ndarray:
    child = cpt.variable
    return rule.pseudo_counts(child, rule.guess(child, np.zeros(child.n_states)))


def _less(counts: Counts, added: np.ndarray) -> Counts:
    return _replaced(counts, _not_negative(counts.table - added, counts.child.name))


def _not_negative(table: np.ndarray, name: str) -> np.ndarray:
    """Return counts in which the rounding of a difference does not show; raise where there is less than the prior."""
    least = table.min(initial=0.0)
    if least < -_TOLERANCE * max(1.0, float(table.max(initial=0.0))):
        raise DataError(
            f"prior must be the one behind all networks; the counts of {name!r} hold less ({least:g} are left). "
            "Give the prior with which they were fitted, or the network from which they were updated. Counts that have "
            "faded, and states that came with an update, hold less than a prior gives."
        )
    return np.maximum(table, 0.0)


def _replaced(counts: Counts, table: np.ndarray) -> Counts:
    return Counts(counts.child, counts.parents, table, counts.configurations)


def _default(cpt: ConditionalTable, total: Counts) -> np.ndarray:
    """Return the row of configurations that are not stored: that of the first network, new states apart."""
    row = np.zeros(total.child.n_states)
    known = cpt.default if isinstance(cpt, SparseCPT) else np.full(cpt.variable.n_states, 1.0)
    row[: len(known)] = known
    return row / row.sum()


def _table(total: Counts, added: np.ndarray, default: np.ndarray, name: str) -> ConditionalTable:
    alpha = _not_negative(total.table, name) + added
    totals = alpha.sum(axis=1, keepdims=True)
    known = totals > 0.0
    rows = np.where(known, alpha / np.where(known, totals, 1.0), default)
    if total.configurations is None:
        shape = (*(p.n_states for p in total.parents), total.child.n_states)
        return CPT._trusted(total.child, total.parents, rows.reshape(shape), alpha.reshape(shape))
    return SparseCPT.from_codes(total.child, total.parents, total.configurations, rows, default=default, counts=alpha)
