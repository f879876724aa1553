"""What a score is: a sum over the cells and rows of a family's table, less a penalty; the kinds are in ``scores``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

Sizes = float | np.ndarray
"""A number of configurations, or several."""

_MOST_CONFIGURATIONS = 1e150
_ROWS_A_PARAMETER = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Score(ABC):
    """A decomposable score of families of categorical variables."""

    name: ClassVar[str]
    is_average: ClassVar[bool] = False
    """Whether missing cells are allowed: the likelihood is then the node average times the number of all rows."""
    is_dirichlet: ClassVar[bool] = False
    """Whether the terms depend on the number of configurations q."""
    is_equivalent: ClassVar[bool] = False
    """Whether graphs that stand for the same independences score alike (without missing cells)."""
    is_of_occurring: ClassVar[bool] = False
    """Whether q is the number of the configurations that occur, not of all."""

    @abstractmethod
    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the counts n_jk."""

    @abstractmethod
    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return the terms of the sums n_j."""

    def penalty(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return what a family of q configurations and r states costs, whatever the counts."""
        return 0.0 * q

    def ceiling(self, q: Sizes, r: int, n_rows: float) -> Sizes:
        """Return an upper bound of the score of any family of q configurations and r states, whatever the counts."""
        return -self.penalty(q, r, n_rows)

    def cell_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return the terms of the counts 0 … n_rows, for a score whose terms do not depend on q; not to be changed."""
        return self.cell(np.arange(n_rows + 1.0), 1.0, r)

    def row_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return the terms of the sums 0 … n_rows, for a score whose terms do not depend on q."""
        return self.row(np.arange(n_rows + 1.0), 1.0, r)

    def for_variables(self, n: int) -> Score:
        """Return the score as it is for a table of n variables: itself, unless the penalty depends on their number."""
        return self

    def family(self, table: np.ndarray, q: float, n_rows: float) -> float:
        """Return the score of a family from its table n_jk; configurations that never occur may be left out.

        Parameters
        ----------
        table : ndarray of shape (configurations, r)
            The counts.
        q : float
            The number of all configurations of the parents.
        n_rows : float
            The number (or weight) of all rows of the data, incomplete ones too.
        """
        r = table.shape[1]
        sums = table.sum(axis=1)
        q = max(1, int(np.count_nonzero(sums))) if self.is_of_occurring else min(q, _MOST_CONFIGURATIONS)
        value = float(self.cell(table, q, r).sum() - self.row(sums, q, r).sum())
        if self.is_average:
            total = float(sums.sum())
            value = value * (n_rows / total) if rests_on_enough(total, q, r, n_rows) else -np.inf
        return value - float(self.penalty(q, r, n_rows))


def rests_on_enough(total: Sizes, q: Sizes, r: int, n_rows: float) -> Any:
    """Return whether a family's average over some of the rows may be taken for all of them.

    An average over a handful of rows, which so many parameters fit perfectly, would be multiplied as if all rows were
    like these. So incomplete families rest on five rows for each parameter at least.

    Examples
    --------
    >>> bool(rests_on_enough(3.0, 2.0, 2, 1000.0)), bool(rests_on_enough(3.0, 2.0, 2, 3.0))
    (False, True)
    """
    whole = (1.0 - _ROUNDING) * n_rows  # weights that are added up in another order differ in their last digits
    many = (total >= _ROWS_A_PARAMETER * q * max(r - 1, 1)) | (total >= whole)
    return (total > 0) & (many | (np.asarray(q) <= 1))


@dataclass(frozen=True)
class LikelihoodScore(Score, ABC):
    """A score whose terms are those of the maximised log-likelihood, Σ n_jk log n_jk − Σ n_j log n_j."""

    is_average: ClassVar[bool] = True
    is_equivalent: ClassVar[bool] = True

    def cell(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return n log n."""
        return xlogy(n, n)

    def row(self, n: np.ndarray, q: float, r: int) -> np.ndarray:
        """Return n log n."""
        return xlogy(n, n)

    def cell_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return n log n of the counts 0 … n_rows."""
        return _n_log_n_table(n_rows)

    def row_table(self, n_rows: int, r: int) -> np.ndarray:
        """Return n log n of the sums 0 … n_rows."""
        return _n_log_n_table(n_rows)


@lru_cache(maxsize=4)
def _n_log_n_table(n_rows: int) -> np.ndarray:
    """Return n log n for n = 0 … n_rows, which is shared."""
    n = np.arange(n_rows + 1.0)
    return xlogy(n, n)
