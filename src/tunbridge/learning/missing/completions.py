"""Rows with missing values completed by sampling, for searches that count complete rows.

A score reads counts. If values are missing, it should read the counts expected under a network,

    n_jk = Σ_rows P(j, k | observed values of the row),

also for families that the network itself does not have. So every row is repeated M times, each time with the missing
values drawn from their exact joint distribution given the rest of the row (:mod:`tunbridge.inference.imputation`): the
counts of all these rows divided by M estimate n_jk, without bias, in any family. A spurious arc gains about ½ in
log-likelihood for each parameter by chance in complete rows, and with a share f of the rows drawn about f / 2M more
from the draws. That is far below the ½ log N that BIC asks for a parameter, so that ten draws do as well as hundreds.

The rows have no weights, because these are counted fastest; :class:`_Repeated` divides the counts by M when they are
scored. A score that is computed from integer counts (BDeu, BDs), a table with weights and a search by information get
the distinct rows with weights instead. Both give the same score.

References
----------
N. Friedman (1998). The Bayesian structural EM algorithm. Proceedings of the 14th Conference on Uncertainty in
Artificial Intelligence, 129–138.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge.data import Column, Table
from tunbridge.data.columns import code_type
from tunbridge.inference.engine import Engine
from tunbridge.inference.imputation import drawn_completion
from tunbridge.kernels.inference.rows import distinct_rows
from tunbridge.learning.scores.discrete import Score, Sizes
from tunbridge.network import BayesianNetwork

_WAYS_OUT = "Use fewer completions."


class _Completion(NamedTuple):
    """A table without missing values, and the score that reads it as rows of the original table."""

    table: Table
    score: Score


@dataclass(frozen=True)
class _Repeated(Score):
    """A score of a table in which every row is repeated, as if it were there once.

    Parameters
    ----------
    inner : Score
        The score.
    times : int
        How many times every row is repeated.

    Examples
    --------
    >>> import numpy as np
    >>> import tunbridge as tb
    >>> table = np.array([[3, 1], [0, 2]])
    >>> round(_Repeated(tb.BIC(), 5).family(5 * table, 2, 5 * 6), 4), round(tb.BIC().family(table, 2, 6), 4)
    (-4.0411, -4.0411)
    """

    inner: Score
    times: int

    def __post_init__(self) -> None:
        for name in ("name", "is_equivalent"):
            object.__setattr__(self, name, getattr(self.inner, name))

    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the counts n_jk divided by the repetitions."""
        return self.inner.cell(np.asarray(n) / self.times, q, r)

    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the sums n_j divided by the repetitions."""
        return self.inner.row(np.asarray(n) / self.times, q, r)

    def penalty(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return the penalty of a family for the original rows."""
        return self.inner.penalty(q, r, n_rows / self.times)

    def ceiling(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return an upper bound of the score of any family for the original rows."""
        return self.inner.ceiling(q, r, n_rows / self.times)

    def for_variables(self, n: int) -> Score:
        """Return the score for a table of n variables."""
        return replace(self, inner=self.inner.for_variables(n))


def complete(
    net: BayesianNetwork,
    table: Table,
    score: Score,
    *,
    times: int,
    entropy: int,
    merge: bool = False,
    n_jobs: int | None = None,
) -> _Completion:
    """Return a table with repeated rows in which missing values are drawn, and the score to use with it.

    Parameters
    ----------
    net : BayesianNetwork
        The network to draw from; it gives every row a positive probability.
    table : Table
        A categorical column for each of its variables.
    score : Score
        The score.
    times : int
        How many times each row is completed.
    entropy : int
        The random seed.
    merge : bool
        Whether to merge equal rows into one with a weight for any score.
    n_jobs : int, optional
        The number of threads; the result does not depend on it.
    """
    names = net.nodes
    kind = np.int16 if max(table.variable(name).n_states for name in names) < 2**15 else np.int32
    size = 3.0 * np.dtype(kind).itemsize * len(names) * times * table.n_rows
    check_memory(f"{times} completions of each row", size, ways_out=_WAYS_OUT)
    codes = np.array([table.codes(name) for name in names], kind)
    engine, numbers = Engine(list(net.cpts.values())), np.arange(table.n_rows)
    draws = [drawn_completion(engine, codes, numbers, entropy, i, n_jobs=n_jobs).codes for i in range(times)]
    drawn = np.concatenate(draws, axis=1)
    columns = [table.column(name) for name in names]
    if table.weights is None and not score.is_dirichlet and not merge:
        return _Completion(_filled(columns, drawn), _Repeated(score, times))
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    first, total = _merged(drawn, np.tile(weights, times))
    whole = _Repeated(score, 1) if score.is_average else score  # nothing is missing, so there is nothing to average
    return _Completion(_filled(columns, drawn[:, first], total / times), whole)


def _filled(columns: list[Column], codes: np.ndarray, weights: np.ndarray | None = None) -> Table:
    """Return a table of columns with other codes."""
    parts = zip(columns, codes, strict=True)
    return Table.of([c._replace(values=v.astype(code_type(c.variable.n_states))) for c, v in parts], weights=weights)


def _merged(codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each group of equal rows, and the weight of the group."""
    first = np.empty(codes.shape[1], np.int64)
    distinct_rows(codes, first)
    kinds, where = np.unique(first, return_inverse=True)
    return kinds, np.bincount(where, weights)
