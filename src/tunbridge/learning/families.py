"""Families and their scores: what every search over structures asks for.

A decomposable score of a graph is a sum over its families, a variable with its parents. A search therefore needs three
answers only: the score of one family, the scores of a family with each candidate as a further parent, and those with
each parent left out. :class:`Families` gives them by position (the variables are sorted by name, so that the order of
the columns cannot matter) and remembers them; what is counted, and how, is up to its kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict

import numpy as np

Parents = tuple[int, ...]
"""The positions of a variable's parents, ascending."""

_REMEMBERED_BYTES = 256 * 2**20
_REMEMBERED_SCORES = 1_000_000
_ENTRY_BYTES = 200


class Families(ABC):
    """The scores of the families over one table; variables are known by their position in ``names``, which is sorted.

    Parameters
    ----------
    names : sequence of str
        The variables, sorted.
    n_rows : float
        The number (or weight) of the rows.
    arc_bonus : ndarray of shape (n, n), optional
        ``arc_bonus[c, x]`` is added to the score of x for the parent c: the prior log-odds of the arc.
    """

    def __init__(self, names: tuple[str, ...], n_rows: float, arc_bonus: np.ndarray | None = None) -> None:
        self.names = names
        self.n_rows = n_rows
        self._arc_bonus = arc_bonus
        self._scores: dict[tuple[int, Parents], float] = {}
        self._additions: OrderedDict[tuple[int, Parents], np.ndarray] = OrderedDict()

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.names)

    def score(self, x: int, parents: Parents) -> float:
        """Return the score of one family; −inf for one that cannot be (a number as parent of a category, say)."""
        key = (x, parents)
        found = self._scores.get(key)
        if found is None:
            found = self._score(x, parents) + self._bonus(x, parents)
            self.remember_score(x, parents, found)
        return found

    def remember_score(self, x: int, parents: Parents, score: float) -> None:
        """Keep the score of a family, and forget all others when there are too many."""
        if len(self._scores) >= _REMEMBERED_SCORES:
            self._scores.clear()
        self._scores[x, parents] = score

    def additions(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every variable c the score of x given parents and c.

        −inf stands for the variable itself, its parents, and every c that could not raise the score whatever the rows
        say, because the family would be too large. The array must not be changed.
        """
        key = (x, parents)
        found = self._additions.get(key)
        if found is None:
            return self.remember_additions(x, parents, self._additions_of(x, parents, None))
        self._additions.move_to_end(key)
        return found

    def remember_additions(self, x: int, parents: Parents, found: np.ndarray) -> np.ndarray:
        """Keep the scores of an extended family, and forget the oldest when there are too many."""
        found.flags.writeable = False
        self._additions[x, parents] = found
        if len(self._additions) * (found.nbytes + _ENTRY_BYTES) > _REMEMBERED_BYTES:
            self._additions.popitem(last=False)
        return found

    def additions_of(self, x: int, parents: Parents, candidates: np.ndarray) -> np.ndarray:
        """Return the same for some candidates only (positions, ascending), not remembered."""
        return self._additions_of(x, parents, candidates)

    def removals(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every parent the score of x given the others."""
        return np.array([self.score(x, parents[:i] + parents[i + 1 :]) for i in range(len(parents))])

    @abstractmethod
    def _score(self, x: int, parents: Parents) -> float:
        """Return the score of one family, prior apart."""

    @abstractmethod
    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        """Return the scores with each candidate (all variables: None), prior included."""

    def bonuses(self, x: int, parents: Parents, candidates: np.ndarray) -> np.ndarray | float:
        """Return what the prior adds to the score of x given parents and each candidate."""
        return 0.0 if self._arc_bonus is None else self._arc_bonus[candidates, x] + self._bonus(x, parents)

    def _bonus(self, x: int, parents: Parents) -> float:
        return 0.0 if self._arc_bonus is None else float(self._arc_bonus[list(parents), x].sum())
