"""Tables after new counts: α ← fⁿ α + n, and the mean of the Dirichlet distributions again."""

from __future__ import annotations

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.counts import Counts
from tunbridge.network.rules import Rules
from tunbridge.probability import CPT, ConditionalTable, SparseCPT
from tunbridge.probability.conditional import numbers_of

_LEAST = 1e-300  # what was possible stays so, however long ago it was
_WAYS_OUT = "Give its variable fewer parents."


def raised(cpt: ConditionalTable, counts: Counts, rules: Rules, n_rows: int) -> ConditionalTable:
    """Return a table after n rows: its counts faded, those of the rows added; rows that got nothing keep their odds."""
    name = cpt.variable.name
    factor = rules.fading[name] ** n_rows
    if isinstance(cpt, CPT):
        n = counts.dense().table.reshape(cpt.shape)
        return _raised_dense(cpt, n, factor)
    assert isinstance(cpt, SparseCPT)
    return _raised_sparse(cpt, counts, factor, rules.ess_of(name))


def _raised_dense(cpt: CPT, n: np.ndarray, factor: float) -> CPT:
    assert cpt.counts is not None
    rows, alpha = _raised_rows(cpt.probabilities, cpt.counts, n, factor)
    return CPT._trusted(cpt.variable, cpt.parents, rows, alpha)


def _raised_sparse(cpt: SparseCPT, counts: Counts, factor: float, ess: float) -> SparseCPT:
    """Return a sparse table; a configuration that was not stored starts with some rows' worth of the default row."""
    assert cpt.counts is not None
    seen = np.flatnonzero(counts.table.any(axis=1))
    numbers = seen if counts.configurations is None else numbers_of(cpt.parents, counts.configurations[seen])
    both = np.union1d(cpt.configurations, numbers).astype(np.int64)
    check_memory(
        f"the sparse table of {cpt.variable.name!r}", 24.0 * both.size * cpt.variable.n_states, ways_out=_WAYS_OUT
    )
    rows, alpha = np.tile(cpt.default, (len(both), 1)), np.tile(ess * cpt.default, (len(both), 1))
    stored = np.searchsorted(both, cpt.configurations)
    rows[stored], alpha[stored] = cpt.probabilities, cpt.counts
    n = np.zeros(rows.shape)
    n[np.searchsorted(both, numbers)] = counts.table[seen]
    rows, alpha = _raised_rows(rows, alpha, n, factor)
    return SparseCPT._trusted(cpt.variable, cpt.parents, both, rows, cpt.default, alpha)


def _raised_rows(rows: np.ndarray, alpha: np.ndarray, n: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (f α + n) / Σ and f α + n; a distribution to which nothing was added stays as it is."""
    if factor < 1.0:
        alpha = np.where(alpha > 0.0, np.maximum(alpha * factor, _LEAST), 0.0)
    alpha = alpha + n
    touched = n.any(axis=-1, keepdims=True)
    totals = np.where(touched, alpha.sum(axis=-1, keepdims=True), 1.0)
    return np.where(touched, alpha / totals, rows), alpha
