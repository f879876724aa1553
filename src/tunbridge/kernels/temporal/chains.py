"""The forward–backward recursions of hidden Markov chains, their expected counts, best paths and sampled paths.

A piece holds the steps of some sequences, one after the other. ``rows[t]`` says which line of ``frames`` has the
likelihoods of step t, the largest of a line 1, and ``steps[t]`` by which matrix the chain arrives there (if it is
empty, always the first). With

    α_t(j) ∝ b_j(t) Σ_i α_{t−1}(i) A_ij             β_{t−1}(i) ∝ Σ_j A_ij b_j(t) β_t(j)

divided by a number c_t where their sums become small, and d_t = Σ_j α_t(j) β_t(j), the posteriors are

    P(z_t = j) = α_t(j) β_t(j) / d_t        P(z_{t−1} = i, z_t = j) = α_{t−1}(i) A_ij b_j(t) β_t(j) / (c_t d_t).

A division takes longer than a step, so that c_t is 1 as long as sums stay above :data:`SMALL`. A sequence in which a
sum falls below :data:`LEAST` has failed; it is computed again in logarithms. A long sequence is cut into pieces: then
``before`` has α of the step before the piece and ``after`` has β of its last step.

The loops over states run along the lines of a matrix, so that they become vector instructions: β needs the transposed
matrices. Where few transitions are possible they are listed instead: ``ends[starts[i]:starts[i + 1]]`` are the states
that follow i, and ``values[g]`` the weights of all transitions.
"""

import math

import numpy as np

from tunbridge.kernels.caching import njit

SMALL, LEAST = 1e-20, 1e-280


@njit(cache=True, nogil=True)
def fill_forward(start, matrices, frames, largest, rows, steps, offsets, before, floor, alpha, scale, totals):
    """Fill α, its divisors, and ln P(x) of each sequence (NaN where it failed).

    A state that is possible keeps ``floor`` at least. Where that makes a difference, α of a state has become 0 by
    underflow although the state matters later; where all transitions are possible it cannot.

    A first sequence that goes on from ``before``, α of sum 1, has this of length K, otherwise 0. ``largest`` has the
    logarithms of what the lines of ``frames`` were divided by.
    """
    n_states = start.shape[0]
    whole = n_states - n_states % 4
    last, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        log_total, total = 0.0, 1.0
        if goes_on:
            for i in range(n_states):
                last[i] = before[i]
        for t in range(first, offsets[s + 1]):
            row = rows[t]
            if t > first or goes_on:
                g = steps[t] if steps.shape[0] > 0 else 0
                for j in range(n_states):
                    sums[j] = 0.0
                for i in range(0, whole, 4):  # four lines at a time, so that sums seldom go through memory
                    a, b, c, d = last[i], last[i + 1], last[i + 2], last[i + 3]
                    for j in range(n_states):
                        sums[j] += (a * matrices[g, i, j] + b * matrices[g, i + 1, j]) + (
                            c * matrices[g, i + 2, j] + d * matrices[g, i + 3, j]
                        )
                for i in range(whole, n_states):
                    a = last[i]
                    for j in range(n_states):
                        sums[j] += a * matrices[g, i, j]
            else:
                for j in range(n_states):
                    sums[j] = start[j]
            total = 0.0
            for j in range(n_states):
                value = sums[j] * frames[row, j]
                if value < floor and sums[j] > 0.0 and frames[row, j] > 0.0:
                    value = floor
                last[j] = value
                total += value
            log_total += largest[row]
            scale[t] = 1.0
            if not total > SMALL:
                if not total > LEAST:
                    log_total = np.nan
                    break
                scale[t] = total
                log_total += math.log(total)
                for j in range(n_states):
                    last[j] /= total
                total = 1.0
            for j in range(n_states):
                alpha[t, j] = last[j]
        totals[s] = log_total + math.log(total) if total > LEAST else np.nan


@njit(cache=True, nogil=True)
def fill_backward(transposed, frames, rows, steps, offsets, after, beta, divided, failed):
    """Fill β, and where it was divided by its sum; ``after`` is that of the last step, or of length 0."""
    n_states = beta.shape[1]
    whole = n_states - n_states % 4
    shares, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        end = offsets[s + 1] - 1
        for t in range(end, offsets[s] - 1, -1):
            divided[t] = False
            if t == end:
                for i in range(n_states):
                    sums[i] = after[i] if s == offsets.shape[0] - 2 and after.shape[0] > 0 else 1.0
            else:
                g = steps[t + 1] if steps.shape[0] > 0 else 0
                for i in range(n_states):
                    sums[i] = 0.0
                for j in range(0, whole, 4):
                    a, b, c, d = shares[j], shares[j + 1], shares[j + 2], shares[j + 3]
                    for i in range(n_states):
                        sums[i] += (a * transposed[g, j, i] + b * transposed[g, j + 1, i]) + (
                            c * transposed[g, j + 2, i] + d * transposed[g, j + 3, i]
                        )
                for j in range(whole, n_states):
                    a = shares[j]
                    for i in range(n_states):
                        sums[i] += a * transposed[g, j, i]
                total = 0.0
                for i in range(n_states):
                    total += sums[i]
                if not total > SMALL:
                    if not total > LEAST:
                        failed[s] = True
                        break
                    divided[t] = True
                    for i in range(n_states):
                        sums[i] /= total
            row = rows[t]
            for i in range(n_states):
                beta[t, i] = sums[i]
                shares[i] = sums[i] * frames[row, i]


@njit(cache=True, nogil=True)
def add_pairs(
    frames, rows, steps, slots, offsets, weights, before, alpha, beta, scale, divided, failed, starts, pairs, by_row
):
    """Add posteriors of states to ``by_row[slots[t]]``, and those of pairs, without the factor A_ij, to ``pairs``.

    Between two divisions of α or β the sum d_t stays the same. Return a sequence in which it is too small, or −1.
    """
    n_states = alpha.shape[1]
    shares = np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        if failed[s]:
            continue
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        factor = 0.0
        for t in range(first, offsets[s + 1]):
            if t == first or scale[t] != 1.0 or divided[t - 1]:
                total = 0.0
                for j in range(n_states):
                    total += alpha[t, j] * beta[t, j]
                if not total > LEAST:
                    return s
                factor = weights[s] / total
            row, slot = rows[t], slots[t]
            for j in range(n_states):
                by_row[slot, j] += alpha[t, j] * beta[t, j] * factor
            if t == first and not goes_on:
                for j in range(n_states):
                    starts[j] += alpha[t, j] * beta[t, j] * factor
                continue
            weight = factor if scale[t] == 1.0 else factor / scale[t]
            for j in range(n_states):
                shares[j] = frames[row, j] * beta[t, j] * weight
            g = steps[t] if steps.shape[0] > 0 else 0
            for i in range(n_states):
                share = alpha[t - 1, i] if t > first else before[i]
                for j in range(n_states):
                    pairs[g, i, j] += share * shares[j]
    return -1


# Few transitions: begins[i]:begins[i + 1] are those from state i, to the states ends[…]


@njit(cache=True, nogil=True)
def fill_sparse_forward(
    start, values, begins, ends, frames, largest, rows, steps, offsets, before, floor, alpha, scale, totals
):
    """Fill α, its divisors and ln P(x), as :func:`fill_forward` does, from a list of transitions."""
    n_states = start.shape[0]
    last, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        log_total, total = 0.0, 1.0
        if goes_on:
            for i in range(n_states):
                last[i] = before[i]
        for t in range(first, offsets[s + 1]):
            row = rows[t]
            if t > first or goes_on:
                g = steps[t] if steps.shape[0] > 0 else 0
                for j in range(n_states):
                    sums[j] = 0.0
                for i in range(n_states):
                    share = last[i]
                    if share > 0.0:
                        for e in range(begins[i], begins[i + 1]):
                            sums[ends[e]] += share * values[g, e]
            else:
                for j in range(n_states):
                    sums[j] = start[j]
            total = 0.0
            for j in range(n_states):
                value = sums[j] * frames[row, j]
                if value < floor and sums[j] > 0.0 and frames[row, j] > 0.0:
                    value = floor
                last[j] = value
                total += value
            log_total += largest[row]
            scale[t] = 1.0
            if not total > SMALL:
                if not total > LEAST:
                    log_total = np.nan
                    break
                scale[t] = total
                log_total += math.log(total)
                for j in range(n_states):
                    last[j] /= total
                total = 1.0
            for j in range(n_states):
                alpha[t, j] = last[j]
        totals[s] = log_total + math.log(total) if total > LEAST else np.nan


@njit(cache=True, nogil=True)
def fill_sparse_backward(values, begins, ends, frames, rows, steps, offsets, after, beta, divided, failed):
    """Fill β and where it was divided, as :func:`fill_backward` does, from a list of transitions."""
    n_states = beta.shape[1]
    shares, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        end = offsets[s + 1] - 1
        for t in range(end, offsets[s] - 1, -1):
            divided[t] = False
            total = 0.0
            for i in range(n_states):
                if t == end:
                    value = after[i] if s == offsets.shape[0] - 2 and after.shape[0] > 0 else 1.0
                else:
                    g = steps[t + 1] if steps.shape[0] > 0 else 0
                    value = 0.0
                    for e in range(begins[i], begins[i + 1]):
                        value += values[g, e] * shares[ends[e]]
                sums[i] = value
                total += value
            if not total > SMALL:
                if not total > LEAST:
                    failed[s] = True
                    break
                divided[t] = True
                for i in range(n_states):
                    sums[i] /= total
            row = rows[t]
            for i in range(n_states):
                beta[t, i] = sums[i]
                shares[i] = sums[i] * frames[row, i]


@njit(cache=True, nogil=True)
def add_sparse_pairs(
    begins, ends, frames, rows, steps, slots, offsets, weights, before, alpha, beta, scale, divided, failed, starts,
    pairs, by_row,
):  # fmt: skip
    """Add posteriors, as :func:`add_pairs` does, for a list of transitions."""
    n_states = alpha.shape[1]
    shares = np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        if failed[s]:
            continue
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        for t in range(first, offsets[s + 1]):
            total = 0.0
            for j in range(n_states):
                total += alpha[t, j] * beta[t, j]
            if not total > LEAST:
                return s
            row, slot, factor = rows[t], slots[t], weights[s] / total
            for j in range(n_states):
                by_row[slot, j] += alpha[t, j] * beta[t, j] * factor
            if t == first and not goes_on:
                for j in range(n_states):
                    starts[j] += alpha[t, j] * beta[t, j] * factor
                continue
            factor /= scale[t]
            for j in range(n_states):
                shares[j] = frames[row, j] * beta[t, j] * factor
            g = steps[t] if steps.shape[0] > 0 else 0
            for i in range(n_states):
                share = alpha[t - 1, i] if t > first else before[i]
                if share > 0.0:
                    for e in range(begins[i], begins[i + 1]):
                        pairs[g, e] += share * shares[ends[e]]
    return -1


# In logarithms, for one sequence whose numbers span more than floats do


@njit(cache=True, nogil=True)
def fill_log_forward(log_start, log_values, begins, ends, logs, rows, steps, alpha):
    """Fill ln P(x_1..t, z_t = j); return the first step at which every state is impossible, or −1."""
    n_states = log_start.shape[0]
    most = np.empty(n_states)
    for t in range(rows.shape[0]):
        row = rows[t]
        best = -np.inf
        if t == 0:
            for j in range(n_states):
                alpha[t, j] = log_start[j] + logs[row, j]
                best = max(best, alpha[t, j])
        else:
            g = steps[t] if steps.shape[0] > 0 else 0
            for j in range(n_states):
                most[j] = -np.inf
                alpha[t, j] = 0.0
            for i in range(n_states):
                for e in range(begins[i], begins[i + 1]):
                    most[ends[e]] = max(most[ends[e]], alpha[t - 1, i] + log_values[g, e])
            for i in range(n_states):
                for e in range(begins[i], begins[i + 1]):
                    if most[ends[e]] > -np.inf:
                        alpha[t, ends[e]] += math.exp(alpha[t - 1, i] + log_values[g, e] - most[ends[e]])
            for j in range(n_states):
                alpha[t, j] = most[j] + math.log(alpha[t, j]) + logs[row, j] if most[j] > -np.inf else -np.inf
                best = max(best, alpha[t, j])
        if best == -np.inf:
            return t
    return -1


@njit(cache=True, nogil=True)
def fill_log_backward(log_values, begins, ends, logs, rows, steps, beta):
    """Fill ln P(x_t+1..T | z_t = i)."""
    n_states = beta.shape[1]
    n_steps = rows.shape[0]
    for t in range(n_steps - 1, -1, -1):
        g = steps[t + 1] if t + 1 < n_steps and steps.shape[0] > 0 else 0
        for i in range(n_states):
            if t == n_steps - 1:
                beta[t, i] = 0.0
                continue
            most, total = -np.inf, 0.0
            for e in range(begins[i], begins[i + 1]):
                most = max(most, log_values[g, e] + logs[rows[t + 1], ends[e]] + beta[t + 1, ends[e]])
            if most > -np.inf:
                for e in range(begins[i], begins[i + 1]):
                    total += math.exp(log_values[g, e] + logs[rows[t + 1], ends[e]] + beta[t + 1, ends[e]] - most)
            beta[t, i] = most + math.log(total) if most > -np.inf else -np.inf


@njit(cache=True, nogil=True)
def add_log_pairs(log_values, begins, ends, logs, rows, steps, weight, log_total, alpha, beta, pairs):
    """Add the posteriors of transitions, with their own weights."""
    for t in range(1, rows.shape[0]):
        g = steps[t] if steps.shape[0] > 0 else 0
        for i in range(alpha.shape[1]):
            if alpha[t - 1, i] > -np.inf:
                for e in range(begins[i], begins[i + 1]):
                    j = ends[e]
                    value = alpha[t - 1, i] + log_values[g, e] + logs[rows[t], j] + beta[t, j] - log_total
                    pairs[g, e] += weight * math.exp(value)


# Best paths


@njit(cache=True, nogil=True)
def fill_best(log_start, log_matrices, logs, rows, steps, offsets, before, delta):
    """Fill max over the states before of ln P(z_1..t, x_1..t) with z_t = j."""
    n_states = log_start.shape[0]
    whole = n_states - n_states % 4
    last, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        if goes_on:
            for i in range(n_states):
                last[i] = before[i]
        for t in range(first, offsets[s + 1]):
            row = rows[t]
            if t > first or goes_on:
                g = steps[t] if steps.shape[0] > 0 else 0
                for j in range(n_states):
                    sums[j] = -np.inf
                for i in range(0, whole, 4):
                    a, b, c, d = last[i], last[i + 1], last[i + 2], last[i + 3]
                    for j in range(n_states):
                        one, two = a + log_matrices[g, i, j], b + log_matrices[g, i + 1, j]
                        three, four = c + log_matrices[g, i + 2, j], d + log_matrices[g, i + 3, j]
                        one = two if two > one else one
                        three = four if four > three else three
                        one = three if three > one else one
                        sums[j] = one if one > sums[j] else sums[j]
                for i in range(whole, n_states):
                    a = last[i]
                    for j in range(n_states):
                        value = a + log_matrices[g, i, j]
                        sums[j] = value if value > sums[j] else sums[j]
            else:
                for j in range(n_states):
                    sums[j] = log_start[j]
            for j in range(n_states):
                last[j] = sums[j] + logs[row, j]
                delta[t, j] = last[j]


@njit(cache=True, nogil=True)
def fill_sparse_best(log_start, log_values, begins, ends, logs, rows, steps, offsets, before, delta):
    """Fill the same from a list of transitions."""
    n_states = log_start.shape[0]
    last, sums = np.empty(n_states), np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        if goes_on:
            for i in range(n_states):
                last[i] = before[i]
        for t in range(first, offsets[s + 1]):
            row = rows[t]
            if t > first or goes_on:
                g = steps[t] if steps.shape[0] > 0 else 0
                for j in range(n_states):
                    sums[j] = -np.inf
                for i in range(n_states):
                    if last[i] > -np.inf:
                        for e in range(begins[i], begins[i + 1]):
                            value = last[i] + log_values[g, e]
                            if value > sums[ends[e]]:
                                sums[ends[e]] = value
            else:
                for j in range(n_states):
                    sums[j] = log_start[j]
            for j in range(n_states):
                last[j] = sums[j] + logs[row, j]
                delta[t, j] = last[j]


@njit(cache=True, nogil=True)
def trace_back(in_values, in_begins, sources, steps, offsets, before, last_state, delta, path):
    """Fill the best states from the last to the first, the earlier of equal ones.

    ``last_state`` is that of the last step, or −1: the best. Return the state before the first step when there is
    ``before``, otherwise −1.
    """
    n_sequences = offsets.shape[0] - 1
    state = -1
    for s in range(n_sequences - 1, -1, -1):
        first = offsets[s]
        goes_on = s == 0 and before.shape[0] > 0
        for t in range(offsets[s + 1] - 1, first - 1, -1):
            if t == offsets[s + 1] - 1:
                state = last_state if s == n_sequences - 1 else -1
                if state < 0:
                    state = 0
                    for j in range(1, delta.shape[1]):
                        if delta[t, j] > delta[t, state]:
                            state = j
            path[t] = state
            if t > first or goes_on:
                g = steps[t] if steps.shape[0] > 0 else 0
                best, chosen = -np.inf, -1
                for e in range(in_begins[state], in_begins[state + 1]):
                    i = sources[e]
                    value = (delta[t - 1, i] if t > first else before[i]) + in_values[g, e]
                    if value > best:
                        best, chosen = value, i
                state = chosen
        if not goes_on:
            state = -1
    return state


@njit(cache=True, nogil=True)
def fill_several_best(log_start, log_matrices, logs, rows, steps, delta, origin):
    """Fill the k best values ``delta[t, j]`` of paths that end in each state, and where each comes from.

    ``origin`` is the number i · k + rank of the state before and of the rank of the path that ends there.
    """
    n_steps, n_states, k = delta.shape
    for t in range(n_steps):
        g = steps[t] if steps.shape[0] > 0 else 0
        for j in range(n_states):
            for r in range(k):
                delta[t, j, r] = -np.inf
                origin[t, j, r] = -1
            if t == 0:
                delta[t, j, 0] = log_start[j] + logs[rows[t], j]
                continue
            for i in range(n_states):
                for before in range(k):
                    value = delta[t - 1, i, before] + log_matrices[g, i, j] + logs[rows[t], j]
                    if not value > delta[t, j, k - 1]:
                        break
                    r = k - 1
                    while r > 0 and value > delta[t, j, r - 1]:
                        delta[t, j, r] = delta[t, j, r - 1]
                        origin[t, j, r] = origin[t, j, r - 1]
                        r -= 1
                    delta[t, j, r] = value
                    origin[t, j, r] = i * k + before


# Sampled paths


@njit(cache=True, nogil=True)
def draw_backward(in_values, in_begins, sources, steps, offsets, alpha, uniforms, path):
    """Draw the states of sequences from the last to the first, given what was observed: P(z_t | z_t+1, x_1..t)."""
    n_states = alpha.shape[1]
    shares = np.empty(n_states)
    for s in range(offsets.shape[0] - 1):
        after = -1
        for t in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
            total = 0.0
            if after < 0:
                for i in range(n_states):
                    shares[i] = alpha[t, i]
                    total += shares[i]
            else:
                g = steps[t + 1] if steps.shape[0] > 0 else 0
                for i in range(n_states):
                    shares[i] = 0.0
                for e in range(in_begins[after], in_begins[after + 1]):
                    i = sources[e]
                    shares[i] = alpha[t, i] * in_values[g, e]
                    total += shares[i]
            left = uniforms[t] * total
            chosen = -1
            for i in range(n_states):
                if shares[i] > 0.0:
                    chosen = i
                    left -= shares[i]
                    if left < 0.0:
                        break
            path[t] = chosen
            after = chosen


@njit(cache=True, nogil=True)
def draw_forward(start, values, begins, ends, offsets, uniforms, path):
    """Draw the states of sequences from the chain, by its first matrix."""
    for s in range(offsets.shape[0] - 1):
        last = -1
        for t in range(offsets[s], offsets[s + 1]):
            left = uniforms[t]
            chosen = -1
            if last < 0:
                for j in range(start.shape[0]):
                    if start[j] > 0.0:
                        chosen = j
                        left -= start[j]
                        if left < 0.0:
                            break
            else:
                for e in range(begins[last], begins[last + 1]):
                    if values[0, e] > 0.0:
                        chosen = ends[e]
                        left -= values[0, e]
                        if left < 0.0:
                            break
            path[t] = chosen
            last = chosen
