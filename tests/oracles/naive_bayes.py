"""Naive Bayes by the textbook: plain loops over rows, features and classes."""

from __future__ import annotations

import math
from collections import defaultdict


def fit_counts(rows, classes, weights=None):
    """Return class weights and, per feature and class, the weight of each value (None is missing)."""
    weights = weights or [1.0] * len(rows)
    prior = defaultdict(float)
    counts = defaultdict(float)
    totals = defaultdict(float)
    states = defaultdict(set)
    for row, c, w in zip(rows, classes, weights, strict=True):
        prior[c] += w
        for f, value in enumerate(row):
            if value is not None:
                counts[f, c, value] += w
                totals[f, c] += w
                states[f].add(value)
    return prior, counts, totals, states


def posterior(rows, classes, query, *, gamma, weights=None):
    """Return P(c | query) for categorical rows under Laplace's rule with γ > 0."""
    prior, counts, totals, states = fit_counts(rows, classes, weights)
    n = sum(prior.values())
    log_joint = {}
    for c in sorted(prior):
        total = math.log(prior[c] / n)
        for f, value in enumerate(query):
            if value is not None and value in states[f]:
                total += math.log((counts[f, c, value] + gamma) / (totals[f, c] + gamma * len(states[f])))
        log_joint[c] = total
    top = max(log_joint.values())
    shares = {c: math.exp(v - top) for c, v in log_joint.items()}
    return {c: v / sum(shares.values()) for c, v in shares.items()}


def gaussian_posterior(rows, classes, query):
    """Return P(c | query) for numeric rows with unbiased variances (each class has at least two distinct values)."""
    log_joint = {}
    for c in sorted(set(classes)):
        mine = [row for row, k in zip(rows, classes, strict=True) if k == c]
        total = math.log(len(mine) / len(rows))
        for f, x in enumerate(query):
            values = [row[f] for row in mine if row[f] is not None]
            mean = math.fsum(values) / len(values)
            variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
            if x is not None:
                total += -0.5 * math.log(2 * math.pi * variance) - (x - mean) ** 2 / (2 * variance)
        log_joint[c] = total
    top = max(log_joint.values())
    shares = {c: math.exp(v - top) for c, v in log_joint.items()}
    return {c: v / sum(shares.values()) for c, v in shares.items()}
