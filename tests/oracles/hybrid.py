"""Conditional linear Gaussian networks by brute force: every configuration of all categories, and dense algebra.

For each configuration of the categories the numbers have the joint distribution N(m, S), found by writing every number
as a linear function of independent noises. Evidence is conditioned on by the formulas of the multivariate normal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from tunbridge.data import Variable
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian


class HybridEnumeration:
    """A mixed network, written out for every configuration of its categories."""

    def __init__(self, cpts: Sequence[ConditionalTable]) -> None:
        self.cpts = list(cpts)
        self.categories = [c.variable for c in cpts if c.variable.is_categorical]
        self.numbers = [c.variable.name for c in cpts if c.variable.is_continuous]
        self.by_name = {c.variable.name: c for c in cpts}
        self.configurations = list(product(*(v.states for v in self.categories)))

    def log_prior(self, states: Mapping[str, Any]) -> float:
        """Return the logarithm of the probability of a configuration of all categories."""
        total = 0.0
        for v in self.categories:
            cpt = self.by_name[v.name]
            p = cpt.distribution({q.name: states[q.name] for q in cpt.parents})[states[v.name]]
            total += float(np.log(p)) if p else -np.inf
        return total

    def joint(self, states: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all numbers in a configuration of the categories."""
        n = len(self.numbers)
        mean, weights = {}, {}
        while len(mean) < n:
            for name in self.numbers:
                table = self.by_name[name]
                assert isinstance(table, LinearGaussian)
                causes = [p.name for p in table.continuous_parents]
                if name in mean or not all(c in mean for c in causes):
                    continue
                j = tuple(p.code(states[p.name]) for p in table.discrete_parents)
                own = np.zeros(n)
                own[self.numbers.index(name)] = np.sqrt(table.variances[j])
                mean[name], weights[name] = float(table.intercepts[j]), own
                for c, b in zip(causes, table.coefficients[j], strict=True):
                    mean[name] += b * mean[c]
                    weights[name] = weights[name] + b * weights[c]
        root = np.array([weights[name] for name in self.numbers]).reshape(n, n)
        return np.array([mean[name] for name in self.numbers]), root @ root.T

    def agrees(self, states: Mapping[str, Any], evidence: Mapping[str, Any]) -> float:
        """Return the likelihood of the evidence about categories in a configuration."""
        likelihood = 1.0
        for v in self.categories:
            finding = evidence.get(v.name)
            if isinstance(finding, Mapping):
                likelihood *= finding[states[v.name]]
            elif isinstance(finding, list):
                likelihood *= float(states[v.name] in finding)
            elif finding is not None:
                likelihood *= float(states[v.name] == finding)
        return likelihood

    def worlds(self, evidence: Mapping[str, Any]) -> list[tuple[dict[str, Any], float, np.ndarray, np.ndarray]]:
        """Return each configuration with ln p(it, evidence), and mean and covariance of the numbers given both."""
        known = [i for i, name in enumerate(self.numbers) if evidence.get(name) is not None]
        x = np.array([evidence[self.numbers[i]] for i in known], float)
        found = []
        for values in self.configurations:
            states = dict(zip([v.name for v in self.categories], values, strict=True))
            likelihood = self.agrees(states, evidence)
            weight = self.log_prior(states) + float(np.log(likelihood)) if likelihood else -np.inf
            mean, cov = self.joint(states)
            if known:
                inside = cov[np.ix_(known, known)]
                weight += multivariate_normal(mean[known], inside, allow_singular=False).logpdf(x)
                gain = cov[np.ix_(range(len(mean)), known)] @ np.linalg.inv(inside)
                mean, cov = mean + gain @ (x - mean[known]), cov - gain @ cov[known]
                mean[known] = x
            found.append((states, weight, mean, cov))
        return found

    def log_density(self, evidence: Mapping[str, Any]) -> float:
        """Return ln p(evidence)."""
        return float(logsumexp([weight for _, weight, _, _ in self.worlds(evidence)]))

    def posterior(self, targets: Sequence[str], evidence: Mapping[str, Any]) -> np.ndarray:
        """Return the joint distribution of some categories, one axis each."""
        variables = [self.by_name[name].variable for name in targets]
        table, total = np.zeros([v.n_states for v in variables]), self.log_density(evidence)
        for states, weight, _, _ in self.worlds(evidence):
            table[tuple(v.code(states[v.name]) for v in variables)] += np.exp(weight - total)
        return table

    def mixture(self, target: str, evidence: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights, means and variances of a number: one Gaussian for each configuration."""
        i = self.numbers.index(target)
        worlds = self.worlds(evidence)
        weights = np.exp(np.array([weight for _, weight, _, _ in worlds]) - self.log_density(evidence))
        means = np.array([mean[i] for _, _, mean, _ in worlds])
        return weights, means, np.array([cov[i, i] for _, _, _, cov in worlds])

    def moments(self, target: str, evidence: Mapping[str, Any]) -> tuple[float, float]:
        """Return mean and variance of a number."""
        weights, means, variances = self.mixture(target, evidence)
        mean = float(weights @ means)
        return mean, float(weights @ (variances + (means - mean) ** 2))

    def cdf(self, target: str, x: float, evidence: Mapping[str, Any]) -> float:
        """Return P(target ≤ x | evidence)."""
        weights, means, variances = self.mixture(target, evidence)
        return float(weights @ norm.cdf(x, means, np.sqrt(variances)))


def random_hybrid_network(
    rng: np.random.Generator,
    *,
    most_categories: int = 4,
    most_numbers: int = 4,
    zeros: float = 0.0,
    smallest: float = 1.0,
) -> list[ConditionalTable]:
    """Return the tables of a random mixed network, in an order that is not the topological one.

    Parameters
    ----------
    rng : Generator
        Where it comes from.
    most_categories, most_numbers : int
        The largest numbers of variables, which all occur; there is at least one variable.
    zeros : float
        The share of the probabilities that are zero.
    smallest : float
        Probabilities are multiplied by factors from here to 1, drawn uniformly on a logarithmic scale.
    """
    n, m = int(rng.integers(0, most_categories + 1)), int(rng.integers(0, most_numbers + 1))
    n = n if n or m else 1
    categories, numbers, tables = [], [], []
    for i in range(n):
        variable = Variable(f"d{i}", [f"s{k}" for k in range(int(rng.integers(1, 4)))])
        parents = [categories[j] for j in rng.permutation(i)[: rng.integers(0, 3)]]
        shape = (*(p.n_states for p in parents), variable.n_states)
        rows = rng.dirichlet(np.ones(variable.n_states), shape[:-1]) + 0.05
        rows = np.where(rng.random(shape) < zeros, 0.0, rows)
        if smallest < 1.0:
            rows = rows * np.exp(rng.uniform(np.log(smallest), 0.0, shape))
        rows[..., 0] += rows.sum(axis=-1) == 0.0
        categories.append(variable)
        tables.append(CPT(variable, parents, rows / rows.sum(axis=-1, keepdims=True)))
    for i in range(m):
        variable = Variable(f"x{i}")
        known = [*categories, *numbers]
        parents = [known[j] for j in rng.permutation(len(known))[: rng.integers(0, 5)]]
        shape = tuple(p.n_states for p in parents if p.is_categorical)
        k = sum(p.is_continuous for p in parents)
        sizes = {"intercepts": shape, "coefficients": (*shape, k)}
        values = {name: rng.normal(0.0, 2.0, size) for name, size in sizes.items()}
        tables.append(LinearGaussian(variable, parents, **values, variances=rng.uniform(0.1, 3.0, shape)))
        numbers.append(variable)
    return [tables[i] for i in rng.permutation(len(tables))]


def random_evidence(rng: np.random.Generator, cpts: Sequence[ConditionalTable], share: float = 0.5) -> dict[str, Any]:
    """Return findings of all kinds about some of the variables; those about categories may be impossible together."""
    evidence: dict[str, Any] = {}
    for cpt in cpts:
        states = list(cpt.variable.states or ())
        if rng.random() > share:
            continue
        if not states:
            evidence[cpt.variable.name] = float(rng.normal(0.0, 3.0))
        elif rng.random() < 0.6:
            evidence[cpt.variable.name] = states[int(rng.integers(len(states)))]
        elif rng.random() < 0.5:
            evidence[cpt.variable.name] = {s: float(rng.uniform(0.1, 2.0)) for s in states}
        else:
            evidence[cpt.variable.name] = [states[j] for j in rng.permutation(len(states))[: rng.integers(1, 3)]]
    return evidence
