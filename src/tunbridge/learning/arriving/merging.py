"""Merging networks that were learned in several places, without their rows.

The Dirichlet counts behind a table are those of the rows and of the prior, α = n + a. The counts of several networks
are added, with the prior once:

    α = a + Σ_i (α_i − a_i).

So networks of the same graph that were fitted to parts of a table with the same prior merge into the network that is
fitted to the whole table. The prior of an updated network is the network before its updates: sites that started from
one network and updated it, each with its own rows, are merged with that network as the prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from numbers import Real

import numpy as np

from tunbridge._core.check import listed, shortened
from tunbridge.counts import Counts
from tunbridge.errors import DataError
from tunbridge.learning.arriving.batches import check_discrete
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, Laplace, MEstimate, SparseCPT
from tunbridge.probability.smoothing import Smoothing, as_smoothing

_TOLERANCE = 1e-9


def merge_networks(
    networks: Iterable[BayesianNetwork], *, prior: BayesianNetwork | Smoothing | float | str = DEFAULT_PRIOR
) -> BayesianNetwork:
    """Return the network of the rows behind several networks together.

    Parameters
    ----------
    networks : iterable of BayesianNetwork
        Networks with the same graph, categorical variables, and counts behind their tables. States are matched by
        name; those of the first network come first.
    prior : BayesianNetwork, MEstimate, Laplace, number or "mle"
        The prior with which all networks were fitted, or the network from which all were updated. It is counted once.
        The default is that of :func:`fit_parameters`.

    Raises
    ------
    DataError
        If the graphs differ (the message names the arcs), or the counts are smaller than those of the prior.

    Notes
    -----
    The result is exact up to rounding, with one exception: with a network as the prior, the initial count of a new
    state, or of a new configuration of a sparse table, is counted once for each network in which it occurs. Tables
    without counts (an update leaves them fixed) are kept if they are equal in all networks.

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
    return type(first).from_tables(tables, name=first.name, properties=first.properties, reading=first.reading)


# Checks


def _checked(networks: Iterable[BayesianNetwork]) -> list[BayesianNetwork]:
    nets: list[BayesianNetwork] = list(networks) if isinstance(networks, Iterable) else [networks]
    if not nets:
        raise DataError("networks must not be empty; got none.", parameter="networks")
    for net in nets:
        if not isinstance(net, BayesianNetwork):
            raise DataError(f"networks must be BayesianNetworks; got {shortened(repr(net))}.", parameter="networks")
        check_discrete(net.cpts, "merged")
        _check_same_graph(nets[0], net)
        if net.cpts and all(cpt.counts is None for cpt in net.cpts.values()):
            raise _no_counts(net.nodes[0])
    return nets


def _check_same_graph(a: BayesianNetwork, b: BayesianNetwork, what: str = "networks to be merged") -> None:
    if odd := sorted(set(a.nodes) ^ set(b.nodes)):
        are = "is" if len(odd) == 1 else "are"
        raise DataError(f"{what} must have the same variables; {listed(odd)} {are} in one only.")
    if arcs := sorted(set(a.dag.arcs) ^ set(b.dag.arcs)):
        shown = ", ".join(f"{tail!r} → {head!r}" for tail, head in arcs[:4])
        more = f", … ({len(arcs)} in all)" if len(arcs) > 4 else ""
        raise DataError(f"{what} must have the same arcs; got {shown}{more} in one only.")


def _start(prior: BayesianNetwork | Smoothing | float | str, net: BayesianNetwork) -> BayesianNetwork | Smoothing:
    """Return the prior as a network or as a rule for pseudo-counts."""
    if isinstance(prior, BayesianNetwork):
        _check_same_graph(net, prior, "the prior and the networks")
        return prior
    if isinstance(prior, bool) or not (isinstance(prior, Real | MEstimate | Laplace) or prior == "mle"):
        accepted = "'mle', a number (Laplace's γ), MEstimate, Laplace or a network"
        hint = "For another prior, pass the network that fit_parameters returns for it and a table without rows."
        raise DataError(f"prior must be {accepted}; got {shortened(repr(prior))}. {hint}", parameter="prior")
    rule = as_smoothing(0.0 if prior == "mle" else prior, "prior")
    if isinstance(rule, MEstimate) and rule.p == "marginal":
        message = "prior must not depend on the rows; got p='marginal', which differs from part to part."
        raise DataError(f"{message} Merge Counters instead, and fit once.", parameter="prior")
    return rule


# One family


def _merged(cpts: Sequence[ConditionalTable], start: BayesianNetwork | Smoothing, name: str) -> ConditionalTable:
    """Return the table of one family from those of all networks."""
    if all(cpt.counts is None and cpt == cpts[0] for cpt in cpts):
        return cpts[0]
    if not all(isinstance(cpt, CPT | SparseCPT) for cpt in cpts):
        raise DataError(
            f"tables that store no rows must be equal to be merged; those of {name!r} differ. "
            "Convert them to CPTs with counts first."
        )
    order = [p.name for p in cpts[0].parents]
    counts = [_counts_of(cpt, order) for cpt in cpts]
    if isinstance(start, BayesianNetwork):
        origin = _counts_of(start.cpt(name), order)
        total = reduce(Counts.merge, [*counts, replace(origin, table=origin.table * (1.0 - len(cpts)))])
        return _table(total, np.zeros(total.child.n_states), _default(cpts[0], total))
    total = reduce(Counts.merge, [replace(n, table=_not_negative(n.table - _added(start, n), name)) for n in counts])
    return _table(total, _added(start, total), start.guess(total.child, np.zeros(total.child.n_states)))


def _counts_of(cpt: ConditionalTable, order: Sequence[str]) -> Counts:
    """Return the counts behind a table, its parents in this order."""
    if cpt.counts is None:
        raise _no_counts(cpt.variable.name)
    axes = [[p.name for p in cpt.parents].index(name) for name in order]
    parents = tuple(cpt.parents[i] for i in axes)
    if isinstance(cpt, SparseCPT):
        codes = cpt.codes()[:, axes]
        by_code = np.lexsort(codes.T[::-1]) if axes else np.arange(len(codes))
        return Counts(cpt.variable, parents, cpt.counts[by_code], codes[by_code])
    table = np.ascontiguousarray(cpt.counts.transpose([*axes, len(axes)]))
    return Counts(cpt.variable, parents, table.reshape(-1, cpt.variable.n_states))


def _no_counts(name: str) -> DataError:
    hint = "Fit it to data, or update the network with ess."
    return DataError(f"tables must have counts to be merged; the one of {name!r} has none. {hint}")


def _added(rule: Smoothing, counts: Counts) -> np.ndarray:
    """Return the pseudo-counts of a row."""
    child = counts.child
    return rule.pseudo_counts(child, rule.guess(child, np.zeros(child.n_states)))


def _not_negative(table: np.ndarray, name: str) -> np.ndarray:
    """Return counts without rounding errors below zero; raise if they are smaller than those of the prior."""
    least = table.min(initial=0.0)
    if least < -_TOLERANCE * max(1.0, float(table.max(initial=0.0))):
        raise DataError(
            f"prior must be the one behind all networks; the counts of {name!r} are smaller ({least:g} are left). "
            "Give the prior with which they were fitted, or the network from which they were updated. Counts that have "
            "faded, and states that an update added, are smaller than those of a prior.",
            parameter="prior",
        )
    return np.maximum(table, 0.0)


def _default(cpt: ConditionalTable, total: Counts) -> np.ndarray:
    """Return the row of configurations that are not stored: that of the first network, with 0 for new states."""
    row = np.zeros(total.child.n_states)
    known = cpt.default if isinstance(cpt, SparseCPT) else np.full(cpt.variable.n_states, 1.0)
    row[: len(known)] = known
    return row / row.sum()


def _table(total: Counts, added: np.ndarray, default: np.ndarray) -> ConditionalTable:
    alpha = _not_negative(total.table, total.child.name) + added
    totals = alpha.sum(axis=1, keepdims=True)
    known = totals > 0.0
    rows = np.where(known, alpha / np.where(known, totals, 1.0), default)
    if total.configurations is None:
        shape = (*(p.n_states for p in total.parents), total.child.n_states)
        return CPT.of_valid(total.child, total.parents, rows.reshape(shape), alpha.reshape(shape))
    return SparseCPT.from_codes(total.child, total.parents, total.configurations, rows, default=default, counts=alpha)
