"""The conditional table of a family from its counts and a prior's pseudo-counts.

    P(k | j) = (n_jk + a_jk) / (n_j + a_j).

A family that was counted sparsely becomes a sparse table: the configurations that never occur share one row. The
Dirichlet counts n_jk + a_jk stay with the table, so that intervals and updates work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tunbridge.counts import Counts
from tunbridge.errors import DataError
from tunbridge.learning.priors import Rule, added_and_unseen, added_counts, adds_one_number, completed, unseen_row
from tunbridge.probability import CPT, ConditionalTable, SparseCPT


def table_of(counts: Counts, rule: Rule) -> ConditionalTable:
    """Return the table of a family.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"])
    >>> print(table_of(counts, tb.Laplace(1.0)))
    play given wind
    wind    no   yes
    Strong  0.5  0.5
    Weak    0.3  0.7
    """
    child, parents = counts.child, counts.parents
    if not child.n_states:
        raise DataError(
            f"every column must have a state; {child.name!r} holds nothing but missing cells. Leave it out."
        )
    counts = completed(rule, counts)
    if counts.configurations is None:
        shape = (*(p.n_states for p in parents), child.n_states)
        rows, behind = _estimated(counts.table + added_counts(rule, counts), lambda: unseen_row(rule, counts))
        return CPT._trusted(child, parents, rows.reshape(shape), behind.reshape(shape))
    added, default = added_and_unseen(rule, counts)
    rows, behind = _estimated(counts.table + added, lambda: default)
    return SparseCPT.from_codes(child, parents, counts.configurations, rows, default=default, counts=behind)


def tables_of(families: Sequence[Counts], rule: Rule) -> list[ConditionalTable]:
    """Return the tables of many families; those whose pseudo-counts are alike in all cells are computed together."""
    alike = [i for i, counts in enumerate(families) if counts.child.n_states and _is_plain(rule, counts)]
    if len(alike) < 2:
        return [table_of(counts, rule) for counts in families]
    found = dict(zip(alike, _together([families[i] for i in alike], rule), strict=True))
    return [found[i] if i in found else table_of(counts, rule) for i, counts in enumerate(families)]


def _is_plain(rule: Rule, counts: Counts) -> bool:
    """Whether every cell of a dense family, of which there are some, gets the same pseudo-count."""
    return counts.configurations is None and counts.table.size > 0 and adds_one_number(rule)


def _together(families: Sequence[Counts], rule: Rule) -> list[ConditionalTable]:
    sizes = np.array([counts.table.size for counts in families])
    n_states = np.array([counts.child.n_states for counts in families])
    n = np.concatenate([counts.table.ravel() for counts in families])
    raised = n + np.repeat(np.array([added_counts(rule, counts) for counts in families]), sizes)
    r = np.repeat(n_states, sizes // n_states)
    totals = np.add.reduceat(raised, np.cumsum(r) - r)
    if not totals.min() > 0.0:
        return [table_of(counts, rule) for counts in families]
    rows, ends = raised / np.repeat(totals, r), np.cumsum(sizes).tolist()
    tables: list[ConditionalTable] = []
    for counts, end, size in zip(families, ends, sizes.tolist(), strict=True):
        shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
        part = slice(end - size, end)
        tables.append(
            CPT._trusted(counts.child, counts.parents, rows[part].reshape(shape), raised[part].reshape(shape))
        )
    return tables


def _estimated(raised: np.ndarray, unseen: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows, and the Dirichlet counts behind them."""
    totals = np.add.reduce(raised, axis=1, keepdims=True)
    if not totals.size or np.minimum.reduce(totals, axis=None) > 0.0:
        return raised / totals, raised
    known = totals > 0.0
    rows = np.where(known, raised, unseen())
    return rows / rows.sum(axis=1, keepdims=True), raised
