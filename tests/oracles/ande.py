"""Averages over super-parents by the formulas: plain loops over rows, features, pairs and classes."""

from __future__ import annotations

import math
from itertools import combinations


class Average:
    """Rows of values (None is missing) with classes and weights, and what AODE and A2DE make of them."""

    def __init__(self, rows, classes, weights=None, *, prior=None, s=None, gamma=None, back_off=False):
        """Take the rows; ``s`` is the m of an m-estimate or the strength of a back-off, ``gamma`` Laplace's."""
        self.rows, self.labels, self.weights = rows, classes, weights or [1.0] * len(rows)
        self.classes = sorted(set(classes))
        total = sum(self.weights)
        self.prior = prior or {c: self.n({}, c) / total for c in self.classes}
        self.s, self.gamma, self.back_off = s, gamma, back_off
        n_features = len(rows[0])
        self.states = [sorted({r[f] for r in rows if r[f] is not None}) for f in range(n_features)]

    def n(self, given, c=None, also=None):
        """Return the weight of the rows that have the values given, of a class, and a value of feature ``also``."""
        return sum(
            w
            for row, label, w in zip(self.rows, self.labels, self.weights, strict=True)
            if (c is None or label == c)
            and all(row[f] == v for f, v in given.items())
            and (also is None or row[also] is not None)
        )

    def p(self, f, value, given, c):
        """Return P(x_f = value | given, c); c is None for the estimate without class."""
        r = len(self.states[f])
        s = self.gamma * r if self.gamma is not None else self.s
        q = 1.0 / r
        if self.back_off and given:
            below = [self.p(f, value, {g: v for g, v in given.items() if g != out}, c) for out in given]
            q = sum(below) / len(below) if len(given) > 1 else self.p(f, value, {}, c)
        elif self.back_off and c is not None:
            q = self.p(f, value, {}, None)
        rows = self.n(given, c, also=f) + s
        return (self.n({**given, f: value}, c) + s * q) / rows if rows > 0 else q

    def naive(self, x, c):
        """Return P(x, c) of naive Bayes."""
        return self.prior[c] * math.prod(self.p(f, v, {}, c) for f, v in x.items())

    def one(self, x, c, i):
        """Return P(x, c) with super-parent i."""
        children = (self.p(j, v, {i: x[i]}, c) for j, v in x.items() if j != i)
        return self.prior[c] * self.p(i, x[i], {}, c) * math.prod(children)

    def two(self, x, c, i, j):
        """Return P(x, c) with super-parents i and j."""
        forth = self.p(i, x[i], {}, c) * self.p(j, x[j], {i: x[i]}, c)
        back = self.p(j, x[j], {}, c) * self.p(i, x[i], {j: x[j]}, c)
        children = (self.p(k, v, {i: x[i], j: x[j]}, c) for k, v in x.items() if k not in (i, j))
        return self.prior[c] * 0.5 * (forth + back) * math.prod(children)

    def information(self, features):
        """Return the mutual information of the joint value of some features with the class."""
        cells, over, within, total = {}, {}, {}, 0.0
        for row, c, w in zip(self.rows, self.labels, self.weights, strict=True):
            value = tuple(row[f] for f in features)
            if None in value or w == 0:
                continue
            cells[value, c] = cells.get((value, c), 0.0) + w
            over[value] = over.get(value, 0.0) + w
            within[c] = within.get(c, 0.0) + w
            total += w
        found = sum(n / total * math.log(n * total / (over[v] * within[c])) for (v, c), n in cells.items())
        return found if found > 1e-12 else 0.0

    def told(self, row, least):
        """Return the values of a row that are used, by feature; with ``least`` those that follow from others are not.

        Of two values that follow from each other the first stays.
        """
        x = {f: v for f, v in enumerate(row) if v is not None and v in self.states[f]}
        if least is None:
            return x

        def implies(i, j):
            count = self.n({i: x[i]})
            return count >= least and count > 0 and math.isclose(self.n({i: x[i], j: x[j]}), count, rel_tol=1e-9)

        dropped = {j for j in x for i in x if i != j and implies(i, j) and not (implies(j, i) and j < i)}
        return {f: v for f, v in x.items() if f not in dropped}

    def joint(self, row, *, n_parents, min_count=0, weighted=False, least=None):
        """Return P(x, c) for each class, averaged over single super-parents or pairs; one with one state is none."""
        x = self.told(row, least)
        for size in range(n_parents, 0, -1):
            voters = {}
            for parents in combinations([f for f in x if len(self.states[f]) > 1], size):
                count = self.n({f: x[f] for f in parents})
                weight = self.information(parents) if weighted else 1.0
                if count > 0 and count >= min_count and weight > 0:
                    voters[parents] = weight
            if voters:
                model = self.one if size == 1 else self.two
                total = sum(voters.values())
                return {c: sum(w * model(x, c, *p) for p, w in voters.items()) / total for c in self.classes}
        return {c: self.naive(x, c) for c in self.classes}
