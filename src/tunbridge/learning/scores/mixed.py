"""Scores of families of categorical and continuous variables together: conditional Gaussian networks.

A categorical variable has categorical parents only, and is scored as in a discrete table. A continuous one may have
parents of both kinds: for each configuration of the categorical ones there is a regression of its own on the continuous
ones, with its own intercept, coefficients and residual variance. So its log-likelihood is the sum of those of
:mod:`tunbridge.learning.scores.gaussian` over the groups of rows, and p continuous parents under q configurations make
q (p + 2) parameters, whether or not all configurations occur (bnlearn's «bic-cg»).

**Small groups.** A configuration with fewer than p + 2 rows cannot show its own spread, and its density could be made
as large as one likes; its rows are scored by the variable's overall mean and variance, so that they neither help nor
hinder the parents. A configuration with enough rows but no spread (all values alike, or exactly on a line) has the
pooled residual variance of all configurations of the family: a parent does not win by cutting out rows that are equal.

The sums of squares and products are taken for all configurations in one pass over the rows: for a continuous candidate
in the groups of the present categorical parents, for a categorical one in the finer groups that it makes.

References
----------
S. L. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which are qualitative
and some quantitative. Annals of Statistics 17, 31–57.

S. G. Bøttcher (2001). Learning Bayesian networks with mixed variables. Proceedings of the 8th International Workshop on
Artificial Intelligence and Statistics, PMLR R3, 13–20.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tunbridge.data import Table
from tunbridge.learning.scores.discrete import Score
from tunbridge.learning.scores.families import Families, Parents
from tunbridge.learning.scores.gaussian import Groups, group_sums, price_of, scaled_columns


class MixedFamilies(Families):
    """The scores of the families of a table of categorical and continuous columns.

    Parameters
    ----------
    table : Table
        The columns, in any order; missing values and weights are allowed.
    score : Score
        One with a price for each parameter: the log-likelihood, AIC, BIC, or the node-average likelihood.
    discrete : Families
        Those of the categorical columns (matched by name), without a bonus for arcs.
    arc_bonus : ndarray of shape (n, n), optional
        ``arc_bonus[c, x]`` is added to the score of x for the parent c.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.scores.families import DiscreteFamilies
    >>> from tunbridge.learning.scores.discrete import BIC
    >>> table = tb.as_table({"kind": list("aaabbb"), "size": [1.0, 1.2, 1.1, 3.0, 3.3, 2.9]})
    >>> families = MixedFamilies(table, BIC(), DiscreteFamilies(table.select(["kind"]), BIC()))
    >>> round(families.score(1, ()), 4), round(families.score(1, (0,)), 4), families.score(0, (1,))
    (-10.3062, 0.5189, -inf)
    """

    def __init__(self, table: Table, score: Score, discrete: Families, *, arc_bonus: np.ndarray | None = None) -> None:
        names = tuple(sorted(table.names))
        self._columns = scaled_columns(table, tuple(n for n in names if table.variable(n).is_continuous))
        super().__init__(names, self._columns.total, arc_bonus)
        self._price = price_of(score, len(names), self.n_rows)
        self._discrete = discrete
        continuous = {name: i for i, name in enumerate(self._columns.names)}
        categorical = {name: i for i, name in enumerate(discrete.names)}
        self._continuous = np.array([continuous.get(name, -1) for name in names], np.intp)
        self._categorical = np.array([categorical.get(name, -1) for name in names], np.intp)
        self._codes = [table.codes(name) if name in categorical else np.empty(0, np.int8) for name in names]
        self._states = [table.variable(name).n_states for name in names]
        self._complete = np.array([self._present(v).all() for v in range(len(names))], bool)

    def _score(self, x: int, parents: Parents) -> float:
        if self._is_categorical(x):
            own = self._categorical[list(parents)]
            return -np.inf if (own < 0).any() else self._discrete.score(int(self._categorical[x]), tuple(own.tolist()))
        numbers, categories = self._split(parents)
        if self._columns.constant[self._continuous[x]]:
            return -self._cost(len(numbers), categories)
        return self._likelihood(x, numbers, self._groups(x, parents)) - self._cost(len(numbers), categories)

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        some = np.arange(self.n) if candidates is None else candidates
        if self._is_categorical(x):
            found = self._categorical_additions(x, parents, candidates)
            return self._not_ruled_out(x, parents, some, found) + self.bonuses(x, parents, some)
        out = np.full(len(some), -np.inf)
        free = (some != x) & ~np.isin(some, parents)
        together = free & self._complete[some]
        if together.any():
            out[together] = self._extended(x, parents, some[together])
        for i in np.flatnonzero(free & ~together):
            out[i] = self._score(x, tuple(sorted((*parents, int(some[i])))))
        return out + self.bonuses(x, parents, some)

    def _categorical_additions(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        """Return the scores of the discrete families, −inf for the continuous candidates."""
        asked = self._categorical if candidates is None else self._categorical[candidates]
        known, own = asked >= 0, self._categorical[list(parents)]
        out = np.full(len(asked), -np.inf)
        if (own < 0).any():
            return out
        family = int(self._categorical[x]), tuple(own.tolist())
        if candidates is None:
            out[known] = self._discrete.additions(*family)[asked[known]]
        else:
            out[known] = self._discrete.additions_of(*family, asked[known])
        return out

    def _not_ruled_out(self, x: int, parents: Parents, some: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Return the same with scores for the candidates that were too large but have a positive prior bonus."""
        if self._arc_bonus is not None:
            for i in np.flatnonzero((found == -np.inf) & (self._arc_bonus[some, x] > 0)):
                if some[i] != x and some[i] not in parents:
                    found[i] = self._score(x, tuple(sorted((*parents, int(some[i])))))
        return found

    def _extended(self, x: int, parents: Parents, some: np.ndarray) -> np.ndarray:
        """Return the scores of a continuous x with each candidate; these have no missing values."""
        numbers, categories = self._split(parents)
        groups = self._groups(x, parents)
        constant = bool(self._columns.constant[self._continuous[x]])
        out = np.empty(len(some))
        continuous = self._continuous[some] >= 0
        out[continuous] = -self._cost(len(numbers) + 1, categories)
        if not constant and continuous.any():
            family = (*numbers, int(self._continuous[x]))
            sums = group_sums(self._columns, family, self._continuous[some[continuous]].tolist(), groups)
            out[continuous] += self._columns.likelihoods(family[-1], sums)
        for i in np.flatnonzero(~continuous):
            c = int(some[i])
            out[i] = -self._cost(len(numbers), (*categories, c))
            if not constant:
                out[i] += self._likelihood(x, numbers, groups.divided(self._codes[c], self._states[c]))
        return out

    def _likelihood(self, x: int, numbers: Sequence[int], groups: Groups) -> float:
        family = (*numbers, int(self._continuous[x]))
        return self._columns.likelihood(family[-1], group_sums(self._columns, family, (), groups))

    def _groups(self, x: int, parents: Parents) -> Groups:
        """Return the complete rows of a family in groups by its categorical parents."""
        family = (*parents, x)
        groups = Groups()
        if not self._complete[list(family)].all():
            present = np.all([self._present(v) for v in family], axis=0)
            groups = Groups(np.flatnonzero(present))
        for v in parents:
            if self._is_categorical(v):
                groups = groups.divided(self._codes[v], self._states[v])
        return groups

    def _cost(self, n_numbers: int, categories: Sequence[int]) -> float:
        """Return the price of q (p + 2) parameters."""
        return self._price * prod((float(self._states[v]) for v in categories), start=1.0) * (n_numbers + 2)

    def _split(self, parents: Parents) -> tuple[list[int], tuple[int, ...]]:
        """Return the continuous parents, as positions among the continuous columns, and the categorical ones."""
        numbers = [int(self._continuous[v]) for v in parents if not self._is_categorical(v)]
        return numbers, tuple(v for v in parents if self._is_categorical(v))

    def _is_categorical(self, v: int) -> bool:
        return bool(self._continuous[v] < 0)

    def _present(self, v: int) -> np.ndarray:
        return self._codes[v] >= 0 if self._is_categorical(v) else ~np.isnan(self._columns.values[self._continuous[v]])
