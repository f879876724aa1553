"""Softmax regression under a Gaussian prior, by the formula: dense arrays, one document after the other."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize


def log_posterior(x, v, b):
    """Return log P(c | x) ∝ b_c + Σ_f x_f v_fc."""
    scores = [b[c] + sum(x[f] * v[f, c] for f in range(len(x))) for c in range(len(b))]
    top = max(scores)
    total = top + math.log(sum(math.exp(s - top) for s in scores))
    return np.array([s - total for s in scores])


def log_shares(classes, weights, n_classes):
    """Return log (n_c + 1) / (n + number of classes)."""
    totals = [sum(w for y, w in zip(classes, weights, strict=True) if y == c) for c in range(n_classes)]
    return np.log([(n + 1) / (sum(totals) + n_classes) for n in totals])


def objective(X, ratios, classes, weights, w, b, *, penalty, centre):
    """Return what is minimised."""
    loss = sum(-m * log_posterior(x, ratios * w, b)[y] for x, y, m in zip(X, classes, weights, strict=True))
    apart = np.sum((w - centre) ** 2) + np.sum((b - log_shares(classes, weights, len(b))) ** 2)
    return loss + 0.5 * penalty * apart


def fit(X, ratios, classes, weights, *, penalty, centre):
    """Return (v, b, the least objective), found by a general minimiser with gradients by the formula."""
    n_classes = ratios.shape[1]
    own, masses = np.eye(n_classes)[classes], np.asarray(weights, float)
    prior = log_shares(classes, weights, n_classes)

    def both(parameters):
        w, b = parameters[:-n_classes].reshape(ratios.shape), parameters[-n_classes:]
        scores = X @ (ratios * w) + b
        log_p = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        value = -masses @ (own * log_p).sum(axis=1)
        value += 0.5 * penalty * (np.sum((w - centre) ** 2) + np.sum((b - prior) ** 2))
        wrong = masses[:, None] * (np.exp(log_p) - own)
        slope = ratios * (X.T @ wrong) + penalty * (w - centre)
        return value, np.concatenate([slope.ravel(), wrong.sum(axis=0) + penalty * (b - prior)])

    start = np.concatenate([np.full(ratios.size, centre), prior])
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-10, "maxcor": 50}
    found = minimize(both, start, jac=True, method="L-BFGS-B", options=options)
    w, b = found.x[:-n_classes].reshape(ratios.shape), found.x[-n_classes:]
    return ratios * w, b, found.fun
