"""Structures by enumeration: the best graph and the posterior over all graphs of a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from oracles.learning import all_graphs, graph_score
from tunbridge.learning.scores.families import Families, Parents
from tunbridge.learning.searches.problem import Graph, Problem

graphs_of = cache(all_graphs)


class ArbitraryFamilies(Families):
    """Families whose scores are just numbers, one for each; with a ceiling that falls with the number of parents.

    Above the ceiling is nothing; a candidate whose ceiling lies below the score without it is not scored.
    """

    def __init__(self, n: int, seed: int, *, spread: float = 1.5, step: float = 0.0, bonus: np.ndarray | None = None):
        super().__init__(tuple(f"v{i}" for i in range(n)), 10.0, bonus)
        self.seed, self.spread, self.step = seed, spread, step

    def ceiling(self, n_parents: int) -> float:
        return -self.step * n_parents if self.step else np.inf

    def _score(self, x: int, parents: Parents) -> float:
        number = self.spread * np.random.default_rng([self.seed, x, *parents]).normal()
        return float(self.ceiling(len(parents)) - abs(number) if self.step else number)

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        out = []
        for c in range(self.n) if candidates is None else candidates.tolist():
            larger = tuple(sorted({*parents, c}))
            hopeless = self.ceiling(len(larger)) + self._bonus(x, larger) <= self.score(x, parents)
            out.append(-np.inf if c == x or c in parents or hopeless else self.score(x, larger))
        return np.array(out)


def free_problem(families: Families, seed: int = 0, **changes: object) -> Problem:
    """Return the problem without constraints, apart from the changes."""
    n = families.n
    empty = ((),) * n
    given = {"allowed": None, "required": empty, "max_parents": np.full(n, max(0, n - 1)), "start": empty}
    return Problem(families=families, rng=np.random.default_rng(seed), **(given | changes))


def fits(problem: Problem, graph: Graph) -> bool:
    """Return whether a graph obeys the constraints."""
    return all(
        set(problem.required[x]) <= set(parents)
        and len(parents) <= problem.max_parents[x]
        and all(problem.is_allowed(p, x) for p in parents)
        for x, parents in enumerate(graph)
    )


def fitting_graphs(problem: Problem) -> list[Graph]:
    """Return every graph that obeys the constraints."""
    return [graph for graph in graphs_of(problem.n) if fits(problem, graph)]


def best_score(problem: Problem) -> float:
    """Return the highest score of a graph that obeys the constraints."""
    return max(graph_score(problem.families, graph) for graph in fitting_graphs(problem))


def posterior(problem: Problem) -> dict[Graph, float]:
    """Return the probability of every graph."""
    graphs = fitting_graphs(problem)
    scores = np.array([graph_score(problem.families, graph) for graph in graphs])
    weights = np.exp(scores - scores.max())
    return dict(zip(graphs, weights / weights.sum(), strict=True))


def arc_probabilities(probabilities: dict[Graph, float]) -> np.ndarray:
    """Return the probability of every arc c → x, at [c, x]."""
    n = len(next(iter(probabilities)))
    out = np.zeros((n, n))
    for graph, p in probabilities.items():
        for x, parents in enumerate(graph):
            out[list(parents), x] += p
    return out


def n_orders(graph: Sequence[Parents]) -> int:
    """Return how many orders of the nodes a graph agrees with."""

    @cache
    def count(left: frozenset[int]) -> int:
        last = [x for x in left if not any(x in graph[y] for y in left)]
        return sum(count(left - {x}) for x in last) if left else 1

    return count(frozenset(range(len(graph))))


def arc_shares(graphs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of sampled graphs (chains × samples × nodes, parents as bit masks) with each arc, and errors."""
    n = graphs.shape[-1]
    shares, errors = np.zeros((n, n)), np.zeros((n, n))
    for c in range(n):
        for x in range(n):
            there = (graphs[:, :, x] >> c & 1).astype(float)
            shares[c, x] = p = there.mean()
            errors[c, x] = np.sqrt(p * (1 - p) / effective_size(there))
    return shares, errors


def effective_size(values: np.ndarray) -> float:
    """Return how many independent samples would give the mean of a quantity (chains × samples) as precisely.

    The autocorrelations are summed in pairs until a pair is negative (Geyer's initial monotone sequence).

    C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7, 473–483.
    """
    n_chains, n = values.shape
    spectrum = np.fft.rfft(values - values.mean(axis=1, keepdims=True), 2 * n, axis=1)
    covariances = (np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n).mean(axis=0)
    within = covariances[0] * n / (n - 1)
    pooled = within * (n - 1) / n + (float(values.mean(axis=1).var(ddof=1)) if n_chains > 1 else 0.0)
    if pooled <= 0:
        return float(n_chains * n)
    correlations = 1 - (within - covariances) / pooled
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)
    n_positive = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    time = 2 * np.minimum.accumulate(pairs[: max(1, n_positive)]).sum() - 1
    return float(n_chains * n / max(time, 1 / np.log10(n_chains * n)))
