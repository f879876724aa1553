"""Leave-one-out of k-dependence Bayes by counting everything anew without the row: plain loops over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt

from oracles import backoff

Row = tuple[int, ...]
"""The codes of the features, and then the class; −1 where a cell is missing."""

Estimate = Callable[[Sequence[Row], int, Row], list[float]]
"""P(x | configuration) from rows (configuration, x), the number of the states of x, and the configuration."""

LEAST = 2.0**-52


def m_estimate(m: float | None, *, marginal: bool = False) -> Estimate:
    """Return the estimate with m rows' worth of equal shares, or of the shares in all rows; None: one a state."""

    def estimate(rows: Sequence[Row], n_states: int, configuration: Row) -> list[float]:
        strength = n_states if m is None else m
        guess = [1.0 / n_states] * n_states
        if marginal and rows:
            guess = [sum(r[-1] == x for r in rows) / len(rows) for x in range(n_states)]
        found = [r[-1] for r in rows if r[:-1] == configuration]
        if not found and not strength:
            return guess
        return [(found.count(x) + strength * guess[x]) / (len(found) + strength) for x in range(n_states)]

    return estimate


def laplace(gamma: float) -> Estimate:
    """Return Laplace's rule."""

    def estimate(rows: Sequence[Row], n_states: int, configuration: Row) -> list[float]:
        return m_estimate(gamma * n_states)(rows, n_states, configuration)

    return estimate


def back_off(s: float) -> Estimate:
    """Return hierarchical smoothing of a fixed strength, all levels counting rows."""

    def estimate(rows: Sequence[Row], n_states: int, configuration: Row) -> list[float]:
        return backoff.estimate(rows, n_states, configuration, s)

    return estimate


def loss_table(
    rows: Sequence[Row],
    n_states: Sequence[int],
    n_classes: int,
    ranked: Sequence[int],
    parents: Sequence[Sequence[int]],
    max_k: int,
    estimate: Estimate,
    *,
    criterion: str = "log-loss",
    uniform: bool = False,
) -> list[list[float]]:
    """Return the loss of the first 0 … n features with 0 … max_k parents, every row predicted from the others."""
    table = [[0.0] * (max_k + 1) for _ in range(len(ranked) + 1)]
    asked = [i for i, row in enumerate(rows) if sum(r[-1] == row[-1] for r in rows) > 1]
    for i in asked:
        row, others = rows[i], [*rows[:i], *rows[i + 1 :]]
        for a in range(len(ranked) + 1):
            for k in range(max_k + 1):
                shares = []
                for c in range(n_classes):
                    shares.append(1.0 / n_classes if uniform else sum(r[-1] == c for r in others) / len(others))
                    for j, p in list(zip(ranked, parents, strict=True))[:a]:
                        shares[-1] *= _factor(others, row, c, j, p[:k], n_states[j], estimate)
                table[a][k] += _loss(shares, row[-1], criterion)
    means = [[total / max(1, len(asked)) for total in line] for line in table]
    return [[sqrt(mean) for mean in line] for line in means] if criterion == "rmse" else means


def _factor(
    rows: Sequence[Row], row: Row, c: int, j: int, parents: Sequence[int], n_states: int, estimate: Estimate
) -> float:
    if row[j] < 0:
        return 1.0
    seen = [u for n, u in enumerate(parents) if all(row[v] >= 0 for v in parents[: n + 1])]
    members = [*seen, j]
    family = [(r[-1], *(r[u] for u in members)) for r in rows if all(r[u] >= 0 for u in members)]
    return estimate(family, n_states, (c, *(row[u] for u in seen)))[row[j]]


def _loss(shares: Sequence[float], y: int, criterion: str) -> float:
    own = shares[y] / sum(shares)
    if criterion == "log-loss":
        return -log(max(own, LEAST))
    return (1.0 - own) ** 2 if criterion == "rmse" else float(shares.index(max(shares)) != y)
