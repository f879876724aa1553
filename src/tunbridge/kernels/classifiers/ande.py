"""log P(x, c) of rows as an average over super-parents: features, or pairs of them, that all others depend on.

States are numbered through all features: state ``codes[f, i]`` of feature f is number ``first[f] + codes[f, i]``. The
class is the innermost axis of every table. Averages are taken of probabilities whose logarithms are known, in units of
the largest of them: nothing underflows.
"""

from __future__ import annotations

import numpy as np

from tunbridge.kernels.caching import njit

_NOTHING = -np.inf


@njit(cache=True, nogil=True)
def drop_implied(codes, first, implied):
    """Set to −1 every code whose state follows from another state of the row, as ``implied[that, this]`` says."""
    n_features, n_rows = codes.shape
    states = np.empty(n_features, np.int64)
    for i in range(n_rows):
        n_seen = 0
        for f in range(n_features):
            if codes[f, i] >= 0:
                states[n_seen] = first[f] + codes[f, i]
                n_seen += 1
        for f in range(n_features):
            if codes[f, i] < 0:
                continue
            state = first[f] + codes[f, i]
            for s in range(n_seen):
                if implied[states[s], state]:
                    codes[f, i] = -1
                    break


@njit(cache=True, nogil=True)
def average_one(codes, first, tables, log_shares, log_prior, out):
    """Fill out[row, c] with log P(x, c) averaged over single super-parents; without any, that of naive Bayes.

    ``tables[a, b, c]`` is log P(b | a, c) for states of two features, and log P(a | c) where b = a; super-parent a
    weighs ``exp(log_shares[a])``.
    """
    n_features, n_classes = codes.shape[0], log_prior.shape[0]
    seen, states = np.empty(n_features, np.int64), np.empty(n_features, np.uint64)
    found = np.empty((n_features, n_classes))
    for i in range(codes.shape[1]):
        n_seen = _find_states(codes, first, i, seen, states)
        n_found, weight = 0, 0.0
        for p in range(n_seen):
            share = log_shares[states[p]]
            if share > _NOTHING:
                weight += np.exp(share)
                _add_states(tables[states[p]], states, n_seen, share, found[n_found])
                n_found += 1
        if n_found > 0:
            _average(found, n_found, np.log(weight), log_prior, out[i])
            continue
        for c in range(n_classes):
            out[i, c] = log_prior[c]
            for s in range(n_seen):
                out[i, c] += tables[states[s], states[s], c]


@njit(cache=True, nogil=True)
def average_two(codes, first, pair_first, tables, log_shares, log_prior, out, lost):
    """Fill out[row, c] with log P(x, c) averaged over pairs of super-parents; rows without any get lost[row] = True.

    State a of feature f and state b of feature g > f together are number ``pair_first[f, g] + a · states of g + b``;
    ``tables[pair, k, c]`` is what state k adds, so that all states of a row add up to log P(x | c).
    """
    n_features, n_classes = codes.shape[0], log_prior.shape[0]
    seen, states = np.empty(n_features, np.int64), np.empty(n_features, np.uint64)
    found = np.empty((n_features * (n_features - 1) // 2, n_classes))
    for i in range(codes.shape[1]):
        n_seen = _find_states(codes, first, i, seen, states)
        n_found, weight = 0, 0.0
        for p in range(n_seen):
            for q in range(p + 1, n_seen):
                f, g = seen[p], seen[q]
                pair = pair_first[f, g] + codes[f, i] * (first[g + 1] - first[g]) + codes[g, i]
                share = log_shares[pair]
                if share > _NOTHING:
                    weight += np.exp(share)
                    _add_states(tables[pair], states, n_seen, share, found[n_found])
                    n_found += 1
        lost[i] = n_found == 0
        if n_found > 0:
            _average(found, n_found, np.log(weight), log_prior, out[i])


@njit(cache=True, nogil=True)
def _find_states(codes, first, i, seen, states):
    """Write the features that are seen in row i and the numbers of their states; return how many there are."""
    n_seen = 0
    for f in range(codes.shape[0]):
        if codes[f, i] >= 0:
            seen[n_seen], states[n_seen] = f, first[f] + codes[f, i]
            n_seen += 1
    return n_seen


@njit(cache=True, nogil=True)
def _add_states(table, states, n_seen, share, found):
    """Fill found[c] with the share and what all states of a row add to it; two classes stay in registers."""
    if found.shape[0] == 2:
        no, yes = share, share
        for s in range(n_seen):
            no += table[states[s], 0]
            yes += table[states[s], 1]
        found[0], found[1] = no, yes
        return
    found[:] = share
    for s in range(n_seen):
        added = table[states[s]]
        for c in range(added.shape[0]):
            found[c] += added[c]


@njit(cache=True, nogil=True)
def _average(found, n_found, log_weight, log_prior, out):
    """Fill out[c] with log P(c) + log Σ exp(found[:, c]) − log_weight, in units of the largest term."""
    for c in range(out.shape[0]):
        top = _NOTHING
        for p in range(n_found):
            top = max(top, found[p, c])
        if top == _NOTHING:
            out[c] = _NOTHING
            continue
        total = 0.0
        for p in range(n_found):
            total += np.exp(found[p, c] - top)
        out[c] = log_prior[c] + top + np.log(total) - log_weight
