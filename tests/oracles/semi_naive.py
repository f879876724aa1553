"""Naive Bayes with groups of features by the textbook: plain loops, every row left out by counting without it."""

from __future__ import annotations

import itertools
import math

_EQUAL = 1e-10


def log_joint(codes, classes, weights, row, *, groups, gamma, n_states, n_classes):
    """Return log P(c) + Σ log P(x_g | c) of one row for every class, by counts of weighted rows (a feature a list)."""
    total = [0.0] * n_classes
    for c, w in zip(classes, weights, strict=True):
        total[c] += w
    found = []
    for c in range(n_classes):
        value = math.log(total[c]) if total[c] > 0 else -math.inf
        for group in groups:
            value += math.log(_group_probability(codes, classes, weights, row, group, c, gamma, n_states))
        found.append(value)
    return found


def _group_probability(codes, classes, weights, row, group, c, gamma, n_states):
    """Return P(what is seen of a group | c): the chain, summed over all states of the cells that are missing."""
    options = [[codes[f][row]] if codes[f][row] >= 0 else range(n_states[f]) for f in group]
    total = 0.0
    for states in itertools.product(*options):
        p = 1.0
        for i, f in enumerate(group):
            p *= _conditional(codes, classes, weights, group[:i], states[:i], f, states[i], c, gamma, n_states[f])
        total += p
    return total


def _conditional(codes, classes, weights, parents, given, child, state, c, gamma, r):
    hits = all_ = 0.0
    for i, (k, w) in enumerate(zip(classes, weights, strict=True)):
        fits = k == c and all(codes[u][i] == s for u, s in zip(parents, given, strict=True))
        if fits and codes[child][i] >= 0:
            all_ += w
            hits += w * (codes[child][i] == state)
    return (hits + gamma) / (all_ + gamma * r)


def without_lone_states(codes, weights):
    """Return the columns with those states missing (−1) that one row has, and no other."""
    found = []
    for column in codes:
        column = [int(v) for v in column]
        lone = [column.count(v) == 1 and w <= 1.0 for v, w in zip(column, weights, strict=True)]
        found.append([-1 if alone else v for v, alone in zip(column, lone, strict=True)])
    return found


def left_out(codes, classes, weights, **model):
    """Return log P(x, c) of every row, of which one is left out of the counts; lone states are missing."""
    codes, found = without_lone_states(codes, weights), []
    for i in range(len(classes)):
        rest = list(weights)
        rest[i] -= min(rest[i], 1.0)
        found.append(log_joint(codes, classes, rest, i, **model))
    return found


def score(codes, classes, weights, **model):
    """Return leave-one-out accuracy and log-loss; a row whose class has no other row is not asked."""
    right = loss = asked = 0.0
    for i, joint in enumerate(left_out(codes, classes, weights, **model)):
        own, w = classes[i], weights[i]
        others = [v for c, v in enumerate(joint) if c != own]
        if joint[own] == -math.inf:
            continue
        asked += w
        right += w * all(joint[own] > v + _EQUAL for v in others)
        top = max(joint)
        loss += w * (top - joint[own] + math.log(sum(math.exp(v - top) for v in joint)))
    return right / asked, loss / asked


def _better(a, b, margin=0.0):
    """Whether score a beats score b: more rows right, or as many and a log-loss that is lower by more than a margin."""
    if abs(a[0] - b[0]) > _EQUAL:
        return a[0] > b[0]
    return a[1] < b[1] - max(margin, _EQUAL * max(1.0, b[1]))


def _margin(classes, weights):
    """Return one nat for all rows that are asked."""
    return 1.0 / sum(w for c, w in zip(classes, weights, strict=True) if classes.count(c) > 1)


def backward_joining(codes, classes, weights, *, gamma, n_states, n_classes):
    """Return the groups of Pazzani's BSEJ: the best of all removals and joins while one of them helps."""
    model = {"gamma": gamma, "n_states": n_states, "n_classes": n_classes}
    groups = [(f,) for f in range(len(codes))]
    current = reached = score(codes, classes, weights, groups=groups, **model)
    while True:
        options = [(True, [h for h in groups if h != g]) for g in groups]
        for a, b in itertools.combinations(groups, 2):
            options.append((False, [h for h in groups if h not in (a, b)] + [a + b]))
        best = None
        for is_removal, option in options:
            found = score(codes, classes, weights, groups=option, **model)
            if best is None or _better(found, best[0]):
                best = found, is_removal, option
        if best is None:
            return groups, reached
        found, is_removal, option = best
        margin = _margin(classes, weights)
        if not (_better(found, current, margin) or (is_removal and not _better(current, found, margin))):
            return groups, reached
        groups, reached = option, found
        current = found if _better(found, current) else current


def forward_selection(codes, classes, weights, *, gamma, n_states, n_classes):
    """Return the features that greedy forward selection by leave-one-out adds, in order."""
    model = {"gamma": gamma, "n_states": n_states, "n_classes": n_classes}
    chosen = []
    current = score(codes, classes, weights, groups=[], **model)
    while len(chosen) < len(codes):
        best = None
        for f in range(len(codes)):
            if f not in chosen:
                found = score(codes, classes, weights, groups=[(g,) for g in [*chosen, f]], **model)
                if best is None or _better(found, best[0]):
                    best = found, f
        if not _better(best[0], current, _margin(classes, weights)):
            break
        current, chosen = best[0], [*chosen, best[1]]
    return chosen, current


def naive_bayes_em(codes, classes, *, n_states, n_classes, gamma, weight, n_iterations):
    """Return (log P(c), tables, objectives) of EM for naive Bayes; class −1 is unknown, and counts ``weight`` times."""
    import numpy as np

    codes, classes = np.asarray(codes), np.asarray(classes)
    known = classes >= 0
    shares = np.zeros((len(classes), n_classes))
    shares[known, classes[known]] = 1.0
    objectives = []

    def estimate(responsibilities):
        prior = responsibilities.sum(axis=0)
        tables = []
        for f, r in enumerate(n_states):
            n = np.zeros((n_classes, r))
            for i, x in enumerate(codes[f]):
                if x >= 0:
                    n[:, x] += responsibilities[i]
            tables.append((n + gamma) / (n + gamma).sum(axis=1, keepdims=True))
        return np.log(prior / prior.sum()), [np.log(t) for t in tables]

    def joint_of(prior, tables):
        joint = np.repeat(prior[None], len(classes), axis=0)
        for f, table in enumerate(tables):
            seen = codes[f] >= 0
            joint[seen] += table[:, codes[f][seen]].T
        return joint

    prior, tables = estimate(shares)
    for _ in range(n_iterations + 1):
        joint = joint_of(prior, tables)
        top = joint.max(axis=1, keepdims=True)
        evidence = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
        labelled = joint[known, classes[known]].sum()
        objectives.append(labelled + weight * evidence[~known].sum() + gamma * sum(t.sum() for t in tables))
        if len(objectives) > n_iterations:
            break
        shares[~known] = weight * np.exp(joint[~known] - evidence[~known, None])
        prior, tables = estimate(shares)
    return prior, tables, objectives
