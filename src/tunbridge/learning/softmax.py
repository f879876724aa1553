"""Distributions as numbers without constraints: the softmax.

A row θ_j of a conditional table must be positive and sum to one. Written as

    θ_jk = exp η_jk / Σ_l exp η_jl

it is both whatever the numbers η are, so that any method for functions without constraints can look for the best.
A function F with ∂F/∂θ_jk = n_jk / θ_jk, which is what the log-likelihood of rows with expected counts n is, has

    ∂F/∂η_jk = n_jk − n_j θ_jk,     n_j = Σ_k n_jk,

what was counted less what the row would lead one to expect. Adding a constant to a row of η changes nothing. Cells in
which θ is zero have η = −∞ and stay what they are.

References
----------
J. Binder, D. Koller, S. Russell, K. Kanazawa (1997). Adaptive probabilistic networks with hidden variables. Machine
Learning 29, 213–244, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

_LOWEST = -200.0
"""How far below the largest of its row a number may take effect: e^−200 multiplied by its like is no zero yet."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Where the distributions lie in tables written end to end.

    Parameters
    ----------
    starts : ndarray
        Where each begins; each has one state at least.
    n_cells : int
        Where the last ends.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2]), 4)
    >>> rows.softmax(np.log([1.0, 3.0, 2.0, 2.0])).tolist()
    [0.25, 0.75, 0.5, 0.5]
    >>> rows.gradient(np.array([5.0, 3.0, 1.0, 0.0]), np.array([0.25, 0.75, 0.5, 0.5])).tolist()
    [3.0, -3.0, 0.5, -0.5]
    """

    starts: np.ndarray
    n_cells: int

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of states of each."""
        return np.diff(np.append(self.starts, self.n_cells))

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Return for every cell the sum of its row."""
        return np.repeat(np.add.reduceat(values, self.starts), self.sizes) if self.n_cells else values

    def softmax(self, eta: np.ndarray) -> np.ndarray:
        """Return the distributions of these numbers; every row has a finite one at least."""
        if not self.n_cells:
            return eta
        depth = eta - np.repeat(np.maximum.reduceat(eta, self.starts), self.sizes)
        raised = np.where(np.isneginf(depth), 0.0, np.exp(np.maximum(depth, _LOWEST)))
        return raised / self.totals(raised)

    def gradient(self, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return n_jk − n_j θ_jk."""
        return counts - self.totals(counts) * tables

    def curvature(self, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return n_j θ_jk (1 − θ_jk): how F bends downwards in η_jk, were n what was seen."""
        return self.totals(counts) * tables * (1.0 - tables)
