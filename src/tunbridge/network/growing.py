"""Tables that take new rows, and new states.

Counts are added to those that stand behind a table, which have faded by then, and where something was added the table
is their mean again:

    α ← fⁿ α + n,     P(k | j) = α_jk / α_j.

What stands behind a state, or a configuration, that has never been seen? When a variable gets new states, and r in
all, each of them starts in configuration j of the parents with

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
from tunbridge.counts import Counts
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.conditional import numbers_of

_LEAST = 1e-300  # what was possible stays so, however long ago it was
_FEWER = "Give its variable fewer parents."
_NONE_NEW = "new_states='missing' adds none."


# New rows


def raised(cpt: ConditionalTable, counts: Counts, factor: float, ess: float) -> ConditionalTable:
    """Return a table after new rows.

    Parameters
    ----------
    cpt : CPT or SparseCPT
        With counts.
    counts : Counts
        Those of the rows.
    factor : float
        What the old counts weigh now, fⁿ.
    ess : float
        How many rows' worth of the default row a configuration starts with that a sparse table does not store.
    """
    if isinstance(cpt, CPT):
        assert cpt.counts is not None
        n = counts.dense().table.reshape(cpt.shape)
        rows, alpha = _raised_rows(cpt.probabilities, cpt.counts, n, factor)
        return CPT._trusted(cpt.variable, cpt.parents, rows, alpha)
    assert isinstance(cpt, SparseCPT)
    return _raised_sparse(cpt, counts, factor, ess)


def raised_at(cpt: CPT, place: tuple[int, ...], weight: float, factor: float) -> CPT:
    """Return a dense table after a single row, which was in this cell of it, or in none (the last code is missing)."""
    assert cpt.counts is not None
    rows, alpha = cpt.probabilities, _faded(cpt.counts, factor)
    if weight and place[-1] >= 0:
        rows, alpha = rows.copy(), alpha.copy()
        alpha[place] += weight
        rows[place[:-1]] = alpha[place[:-1]] / alpha[place[:-1]].sum()
    return CPT._trusted(cpt.variable, cpt.parents, rows, alpha)


def _raised_sparse(cpt: SparseCPT, counts: Counts, factor: float, ess: float) -> SparseCPT:
    assert cpt.counts is not None
    seen = np.flatnonzero(counts.table.any(axis=1))
    numbers = seen if counts.configurations is None else numbers_of(cpt.parents, counts.configurations[seen])
    both = np.union1d(cpt.configurations, numbers).astype(np.int64)
    size = 24.0 * both.size * cpt.variable.n_states
    check_memory(f"the sparse table of {cpt.variable.name!r}", size, ways_out=_FEWER)
    rows, alpha = np.tile(cpt.default, (len(both), 1)), np.tile(ess * cpt.default, (len(both), 1))
    stored = np.searchsorted(both, cpt.configurations)
    rows[stored], alpha[stored] = cpt.probabilities, cpt.counts
    n = np.zeros(rows.shape)
    n[np.searchsorted(both, numbers)] = counts.table[seen]
    rows, alpha = _raised_rows(rows, alpha, n, factor)
    return SparseCPT._trusted(cpt.variable, cpt.parents, both, rows, cpt.default, alpha)


def _raised_rows(rows: np.ndarray, alpha: np.ndarray, n: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (f α + n) / Σ and f α + n; a distribution to which nothing was added stays as it is."""
    alpha = _faded(alpha, factor) + n
    touched = n.any(axis=-1, keepdims=True)
    totals = np.where(touched, alpha.sum(axis=-1, keepdims=True), 1.0)
    return np.where(touched, alpha / totals, rows), alpha


def _faded(alpha: np.ndarray, factor: float) -> np.ndarray:
    return np.where(alpha > 0.0, np.maximum(alpha * factor, _LEAST), 0.0) if factor < 1.0 else alpha


# New states


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
    check_memory(f"the table of {child.name!r} with its new states", 16.0 * math.prod(shape), ways_out=_NONE_NEW)
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
