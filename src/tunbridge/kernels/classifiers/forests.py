"""Randomised networks of limited dependence: bin edges from a histogram, back-off along a trie, and its answers.

A family (feature, its parents) is a trie: the first level looks at the class alone, each further level at one parent
more. A node is a configuration of the parents so far; it keeps the weight of its rows in each class, and of each state
of the feature. Only what occurs is stored, classes without rows not at all.
"""

from __future__ import annotations

import numpy as np

from tunbridge.kernels.caching import njit

LEAST_SHARE = 2.0**-1022
"""What a state is given at least: weights of astronomic size would leave nothing of it."""


@njit(cache=True, nogil=True)
def _weigh(cumulated, low, high):
    """Return the weight of the bins low … high − 1, their entropy in bits, and how many classes occur in them."""
    total, logs, n_classes = 0.0, 0.0, 0
    for c in range(cumulated.shape[1]):
        weight = cumulated[high, c] - cumulated[low, c]
        if weight > 0.0:
            total += weight
            logs += weight * np.log2(weight)
            n_classes += 1
    return total, np.log2(total) - logs / total if total > 0.0 else 0.0, n_classes


@njit(cache=True, nogil=True)
def _best_cut(cumulated, low, high, least):
    """Return (gain, bin) of the purest cut of the bins low … high − 1, and bin −1 when there is none."""
    n, entropy, _ = _weigh(cumulated, low, high)
    best, at = -1.0, -1
    for i in range(low + 1, high):
        n_left, entropy_left, _ = _weigh(cumulated, low, i)
        n_right, entropy_right, _ = _weigh(cumulated, i, high)
        if n_left >= least and n_right >= least:
            gain = entropy - (n_left * entropy_left + n_right * entropy_right) / n
            if gain > best + 1e-12:
                best, at = gain, i
    return best, at


@njit(cache=True, nogil=True)
def _price(cumulated, low, at, high):
    """Return the information that a cut must gain to pay for itself (Fayyad & Irani 1993)."""
    n, entropy, k = _weigh(cumulated, low, high)
    _, entropy_left, k_left = _weigh(cumulated, low, at)
    _, entropy_right, k_right = _weigh(cumulated, at, high)
    told = k * entropy - k_left * entropy_left - k_right * entropy_right
    return (np.log2(max(n - 1.0, 1.0)) + k * np.log2(3.0) + np.log2(1.0 - 2.0 / 3.0**k) - told) / n


@njit(cache=True, nogil=True)
def cut_histogram(histogram, factor, least, most, is_cut):
    """Mark where bins are cut, is_cut[b] before bin b: the purest cuts first, ``most`` intervals at most.

    A cut stays when it gains more than ``factor`` times its price, and leaves the weight ``least`` on either side.
    """
    n_bins = histogram.shape[0]
    cumulated = np.zeros((n_bins + 1, histogram.shape[1]))
    for b in range(n_bins):
        for c in range(histogram.shape[1]):
            cumulated[b + 1, c] = cumulated[b, c] + histogram[b, c]
    lows, highs = np.empty(2 * n_bins + 1, np.int64), np.empty(2 * n_bins + 1, np.int64)
    lows[0], highs[0], first, last, n_cuts = 0, n_bins, 0, 1, 0
    while first < last and n_cuts < most - 1:
        low, high = lows[first], highs[first]
        first += 1
        gain, at = _best_cut(cumulated, low, high, least)
        if at >= 0 and gain > 1e-9 and gain > factor * _price(cumulated, low, at, high):
            is_cut[at] = True
            n_cuts += 1
            lows[last], highs[last], lows[last + 1], highs[last + 1] = low, at, at, high
            last += 2


@njit(cache=True, nogil=True)
def count_pairs_within(codes, first, classes, weights, matrix):
    """Add the weight of every row to matrix[class, state of one feature, state of another], for all pairs.

    The states of feature f are first[f] … first[f + 1] − 1; rows of weight zero are left out.
    """
    for i in range(codes.shape[1]):
        if weights[i] > 0.0:
            table = matrix[classes[i]]
            for f in range(codes.shape[0]):
                if codes[f, i] >= 0:
                    a = first[f] + codes[f, i]
                    table[a, a] += weights[i]
                    for g in range(f):
                        if codes[g, i] >= 0:
                            b = first[g] + codes[g, i]
                            table[a, b] += weights[i]
                            table[b, a] += weights[i]


@njit(cache=True, nogil=True)
def grow_level(node, codes, n_states, weights, least, child):
    """Move every row from its node to the child that its code names; return the number of the new nodes.

    ``child[node · n_states + code]`` becomes the number of the new node. Configurations that weigh less than ``least``
    have none (−1), and neither have rows without a code or that left the trie before.
    """
    heavy = np.zeros(child.shape[0])
    for i in range(node.shape[0]):
        if codes[i] < 0:
            node[i] = -1
        if node[i] >= 0:
            heavy[node[i] * n_states + codes[i]] += weights[i]
    n_nodes = 0
    for j in range(child.shape[0]):
        child[j] = -1
        if heavy[j] >= least:
            child[j] = n_nodes
            n_nodes += 1
    for i in range(node.shape[0]):
        if node[i] >= 0:
            node[i] = child[node[i] * n_states + codes[i]]
    return n_nodes


@njit(cache=True, nogil=True)
def number_cells(node, codes, n_states, cell, row_cell):
    """Number the cells (node, state) that occur in ``cell[node · n_states + state]``, −1 else; return how many."""
    for j in range(cell.shape[0]):
        cell[j] = -1
    n_cells = 0
    for i in range(node.shape[0]):
        row_cell[i] = -1
        if node[i] >= 0:
            j = node[i] * n_states + codes[i]
            if cell[j] < 0:
                cell[j] = n_cells
                n_cells += 1
            row_cell[i] = cell[j]
    return n_cells


@njit(cache=True, nogil=True)
def add_by_class(group, classes, weights, out):
    """Add the weight of every row to out[its group, its class]; rows of group −1 are left out."""
    for i in range(group.shape[0]):
        if group[i] >= 0:
            out[group[i], classes[i]] += weights[i]


@njit(cache=True, nogil=True)
def best_strength(level, below, strengths, step):
    """Return the strength under which the states of every ``step``-th row are predicted best when it is left out.

    A weak prior, −½ (log₁₀ s)², decides where there is hardly a row to judge by.
    """
    best, chosen = -np.inf, strengths[0]
    for s in strengths:
        told = -0.5 * np.log10(s) ** 2
        for i in range(0, level.node.shape[0], step):
            if level.node[i] >= 0:
                c, one = level.classes[i], min(1.0, level.weights[i])
                n, n_j = level.counts[level.cell[i], c] - one, level.totals[level.node[i], c] - one
                told += level.weights[i] * np.log((n + s * below[i, c]) / (n_j + s))
        if told > best:
            best, chosen = told, s
    return chosen


@njit(cache=True, nogil=True)
def leave_rows_out(level, strength, estimate):
    """Turn the estimates of the level below, a row × class array, into those of this level, the row itself left out."""
    for i in range(level.node.shape[0]):
        if level.node[i] >= 0:
            for c in range(estimate.shape[1]):
                one = min(1.0, level.weights[i]) if c == level.classes[i] else 0.0
                n, n_j = level.counts[level.cell[i], c] - one, level.totals[level.node[i], c] - one
                estimate[i, c] = (n + strength * estimate[i, c]) / (n_j + strength)


@njit(cache=True, nogil=True)
def add_log_estimates(codes, tries, out):
    """Add w_f log P(x_f | parents, c) of every feature that is known to out[row, c].

    The trie of a family is followed as far as the row's parents are known and the configuration occurs; each level
    mixes its own frequencies with the estimate of the level before, (n + s · estimate) / (n_j + s), for the classes
    that the node has. All in one function: handing twenty arrays on for every level would take longer than the level.
    One feature after the other, so that its trie stays in the processor's cache.
    """
    node_start, node_class, node_total = tries.node_start, tries.node_class, tries.node_total
    cell_start, cell_class, cell_count = tries.cell_start, tries.cell_class, tries.cell_count
    n_classes = out.shape[1]
    estimate = np.empty(n_classes)
    for f in range(tries.features.shape[0]):
        own, exponent, n_states = tries.features[f], tries.exponents[f], tries.n_states[f]
        low, high = tries.level_first[f], tries.level_first[f + 1]
        for i in range(codes.shape[1]):
            x, node = codes[own, i], 0
            if x < 0:
                continue
            for c in range(n_classes):
                estimate[c] = tries.base[tries.base_first[f] + x]
            for level in range(low, high):
                code = codes[tries.parents[level], i] if tries.parents[level] >= 0 else 0
                if code < 0:
                    break
                node = tries.child[tries.child_first[level] + node * tries.n_parent_states[level] + code]
                if node < 0:
                    break
                s, known = tries.strengths[level], tries.node_first[level] + node
                at = tries.cell[tries.cell_first[level] + node * n_states + x]
                for e in range(node_start[known], node_start[known + 1]):
                    estimate[node_class[e]] *= s
                if at >= 0:
                    for e in range(cell_start[at], cell_start[at + 1]):
                        estimate[cell_class[e]] += cell_count[e]
                for e in range(node_start[known], node_start[known + 1]):
                    estimate[node_class[e]] /= node_total[e] + s
            for c in range(n_classes):
                out[i, c] += exponent * np.log(max(estimate[c], LEAST_SHARE))


# Exponents of features. No BLAS: several of these problems are solved at once by threads, and those of BLAS would
# get in their way.


@njit(cache=True, nogil=True)
def fill_shares(terms, log_prior, classes, weights, exponents, shares):
    """Fill shares[row, class] with P(c | x) ∝ P(c) exp Σ_f w_f terms[row, c, f]; return −Σ log P(own class)."""
    lost = 0.0
    for i in range(terms.shape[0]):
        top = -np.inf
        for c in range(terms.shape[1]):
            total = log_prior[c]
            for f in range(terms.shape[2]):
                total += exponents[f] * terms[i, c, f]
            shares[i, c] = total
            top = max(top, total)
        own, total = shares[i, classes[i]] - top, 0.0
        for c in range(terms.shape[1]):
            shares[i, c] = np.exp(shares[i, c] - top)
            total += shares[i, c]
        for c in range(terms.shape[1]):
            shares[i, c] /= total
        lost += weights[i] * (np.log(total) - own)
    return lost


@njit(cache=True, nogil=True)
def add_derivatives(terms, classes, weights, shares, gradient, curvature):
    """Add the first derivatives of the loss to ``gradient`` and the second ones to the lower half of ``curvature``."""
    n_features = terms.shape[2]
    mean, apart = np.empty(n_features), np.empty(n_features)
    for i in range(terms.shape[0]):
        for f in range(n_features):
            mean[f] = 0.0
        for c in range(terms.shape[1]):
            for f in range(n_features):
                mean[f] += shares[i, c] * terms[i, c, f]
        for f in range(n_features):
            gradient[f] += weights[i] * (mean[f] - terms[i, classes[i], f])
        for c in range(terms.shape[1]):
            share = weights[i] * shares[i, c]
            if share > 1e-12:
                for f in range(n_features):
                    apart[f] = terms[i, c, f] - mean[f]
                for f in range(n_features):
                    scaled = share * apart[f]
                    for g in range(f + 1):
                        curvature[f, g] += scaled * apart[g]
