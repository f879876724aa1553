"""Tables that take new states: what stands behind a state, or a configuration, that has never been seen.

Let a table have the Dirichlet counts α_jk, α_j in configuration j. When its variable gets new states, and r in all,
each of them starts with

    α_j,new = min(1, α_j) / r,

its share of one imagined row (of less, where the configuration is worth less). When a parent gets a new state, the
configurations with it start with one imagined row (at most what the others are worth on average),

    α_new,k = min(1, ᾱ) · Σ_x α_xk / Σ_x α_x,

distributed as the rows with the other states x of that parent are together. A sparse table stores no rows for the new
configurations: its default row holds for them, and gets its share of the new states too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.conditional import numbers_of

_WAYS_OUT = "new_states='missing' adds none."


def grown(cpt: ConditionalTable, variables: Mapping[str, Variable], *, is_fixed: bool = False) -> ConditionalTable:
    """Return a table over the same variables with the states they have now, which begin with those they had.

    Parameters
    ----------
    cpt : ConditionalTable
        With Dirichlet counts, unless nothing has to be added.
    variables : mapping of str to Variable
        Its variables as they are now.
    is_fixed : bool
        Whether it must stay as it is; a new state then raises.
    """
    child, parents = variables[cpt.variable.name], tuple(variables[p.name] for p in cpt.parents)
    longer = [v for v, old in zip((*parents, child), (*cpt.parents, cpt.variable), strict=True) if v != old]
    if not longer:
        return cpt
    if is_fixed or not isinstance(cpt, CPT | SparseCPT):
        first = next(old for old in (*cpt.parents, cpt.variable) if old.name == longer[0].name)
        new = (longer[0].states or ())[first.n_states :]
        raise DataError(
            f"the table of {child.name!r} must stay as it is, and has no row for new states; got {listed(new)} of "
            f"{longer[0].name!r}. new_states='missing' counts such cells as missing."
        )
    return _grown_dense(cpt, child, parents) if isinstance(cpt, CPT) else _grown_sparse(cpt, child, parents)


def _grown_dense(cpt: CPT, child: Variable, parents: tuple[Variable, ...]) -> CPT:
    assert cpt.counts is not None
    shape = (*(p.n_states for p in parents), child.n_states)
    check_memory(f"the table of {child.name!r} with its new states", 16.0 * math.prod(shape), ways_out=_WAYS_OUT)
    rows, counts = _with_columns(cpt.probabilities, cpt.counts, child.n_states)
    for axis, parent in enumerate(parents):
        rows, counts = _with_configurations(rows, counts, axis, parent.n_states)
    return CPT._trusted(child, parents, np.ascontiguousarray(rows), np.ascontiguousarray(counts))


def _grown_sparse(cpt: SparseCPT, child: Variable, parents: tuple[Variable, ...]) -> SparseCPT:
    assert cpt.counts is not None
    rows, counts = _with_columns(cpt.probabilities, cpt.counts, child.n_states)
    default, _ = _with_columns(cpt.default, cpt.default, child.n_states)
    most = math.prod(p.n_states for p in parents)
    if most > 2**62:
        raise DataError(f"the parents of {child.name!r} must have at most 2^62 configurations; got about {most:.0e}.")
    numbers = numbers_of(parents, cpt.codes().astype(np.int64))  # codes keep their order, and so do configurations
    return SparseCPT._trusted(child, parents, numbers, rows, default, counts)


def _with_columns(rows: np.ndarray, counts: np.ndarray, n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and counts with further states, each with its share of a row."""
    n_new = n_states - rows.shape[-1]
    if not n_new:
        return rows, counts
    totals = counts.sum(axis=-1, keepdims=True)
    share = np.repeat(np.minimum(1.0, totals) / n_states, n_new, axis=-1)
    weight = np.where(totals > 0.0, totals, 1.0)  # a row without counts keeps its probabilities
    raised = np.concatenate([rows * weight, share], axis=-1)
    return raised / raised.sum(axis=-1, keepdims=True), np.concatenate([counts, share], axis=-1)


def _with_configurations(
    rows: np.ndarray, counts: np.ndarray, axis: int, n_states: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and counts with further states of a parent, alike for all of them."""
    n_old = rows.shape[axis]
    if n_old == n_states:
        return rows, counts
    pooled = counts.sum(axis=axis, keepdims=True)
    totals = pooled.sum(axis=-1, keepdims=True)
    row = np.where(totals > 0.0, pooled / np.where(totals > 0.0, totals, 1.0), rows.mean(axis=axis, keepdims=True))
    behind = np.minimum(1.0, totals / n_old) * row
    more = n_states - n_old
    return (
        np.concatenate([rows, np.repeat(row, more, axis=axis)], axis=axis),
        np.concatenate([counts, np.repeat(behind, more, axis=axis)], axis=axis),
    )
