"""The weights of features that make their classes most probable: the objective, its gradient, and its minimum.

The formulas stand in :mod:`tunbridge.classifiers.naive.weighted_naive_bayes`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tunbridge._check import counted, warn_user
from tunbridge._memory import check_memory
from tunbridge.classifiers.naive.left_out_factors import Rows, factor
from tunbridge.errors import ConvergenceWarning


class Objective:
    """The penalised conditional log-likelihood of weights, a row, and its gradient, both with the sign turned.

    The rows of the tables stand end to end; a sparse matrix says which of them each row of data looks into, so that
    log P(x, c) is its product with the weighted tables.

    Parameters
    ----------
    rows : Rows
        The rows of data.
    penalty : float
        λ.
    leave_one_out : bool
        Whether each row is left out of the tables that it is predicted by.
    """

    def __init__(self, rows: Rows, penalty: float, *, leave_one_out: bool) -> None:
        n, n_features = len(rows.classes), len(rows.used)
        check_memory(
            "finding the weights of the features",
            8.0 * n * (4 * n_features + 4 * rows.target.n_states),
            ways_out="Learn from a sample of the rows, and give the others to partial_fit.",
        )
        self.rows, self.penalty = rows, float(penalty)
        factors = [factor(rows, (j,)) for j in rows.used]
        self.sizes = np.array([len(f.table) for f in factors])
        first = np.cumsum(self.sizes) - self.sizes
        cells = np.stack([f.cells + a for f, a in zip(factors, first, strict=True)], axis=1, dtype=np.int64)
        starts = np.arange(0, n * n_features + 1, n_features)
        self.looks = csr_array((np.ones(cells.size), cells.ravel(), starts), shape=(n, int(self.sizes.sum())))
        self.tables = np.concatenate([f.table for f in factors])
        own = np.stack([f.own for f in factors], axis=1)
        self.apart = own - self.tables[cells, rows.classes[:, None]] if leave_one_out else None
        self.prior = rows.prior if leave_one_out else rows.log_prior
        self.asked = rows.asked if leave_one_out else rows.weights
        self.n = float(self.asked.sum())

    @cached_property
    def at(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the class of each row stands."""
        return np.arange(len(self.rows.classes)), self.rows.classes

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is minimised, and its gradient."""
        joint = self.prior + self.looks @ (np.repeat(weights, self.sizes)[:, None] * self.tables)
        if self.apart is not None:
            joint[self.at] += self.apart @ weights
        joint -= joint.max(axis=1, keepdims=True)
        own = joint[self.at]
        shares = np.exp(joint, out=joint)
        totals = shares.sum(axis=1)
        loss = self.asked @ (np.log(totals) - own)
        residual = shares * (self.asked / totals)[:, None]
        residual[self.at] -= self.asked
        by_cell = ((self.looks.T @ residual) * self.tables).sum(axis=1)
        gradient = np.add.reduceat(by_cell, np.cumsum(self.sizes) - self.sizes)
        if self.apart is not None:
            gradient += self.apart.T @ residual[self.at]
        pull = weights - 1.0
        loss += 0.5 * self.penalty * float(pull @ pull)
        return float(loss) / self.n, (gradient + self.penalty * pull) / self.n


def best_weights(objective: Objective, max_weight: float | None, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
    """Return the weights that minimise the objective, none below 0, and the number of iterations.

    A search that did not settle is told of.
    """
    start = np.ones(len(objective.sizes)) if max_weight is None else np.full(len(objective.sizes), min(1.0, max_weight))
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, max_weight)] * len(start),
        options={"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxfun": 20 * max_iter},
    )
    if found.nit >= max_iter and not found.success:
        warn_user(
            f"the weights of the features did not settle within {counted(max_iter, 'iteration')}. Raise max_iter or "
            "tol.",
            ConvergenceWarning,
        )
    return found.x, max(1, found.nit)
