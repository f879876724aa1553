"""Kernels of partition Markov chains over graphs.

The layers of a graph are its nodes without parents, those whose parents all lie in the first layer, and so on: a node
has a parent in the layer before its own and none in its own or later. ``layer[x]`` is the layer of node x; the nodes in
all layers before it are the mask ``before[x]``, those in the one just before it ``adjacent[x]``, and ``sums[x]`` is the
log-sum of the scores of all parent sets that x may have there.

``families`` are the parent sets of all nodes: those of node x lie at ``first[x] : first[x + 1]`` of ``masks``,
``scores`` and ``weights`` (their probabilities by that of the first), the best first, and again in the order of their
masks in ``known`` and ``known_scores``.
"""

from math import exp, log

import numpy as np

from tunbridge.kernels.caching import njit

STEP_DRAWS = 5
"""Random numbers of a step over partitions."""
ARC_DRAWS = 3
"""Random numbers of a step that changes one arc."""
MOVE, SWAP, SPLIT, ARC = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""Kinds of steps: a node to another layer, two nodes swapped, a layer split or two merged, an arc changed."""

_LANES = 64  # sums kept side by side
_CHUNK = 512  # sets between two looks whether the rest still matters
_NEGLIGIBLE = 1e-23  # that many times the sum, the weights of all sets together are below its rounding
_VANISHED = 50.0  # and so are scores that are less by that
_LEAST = 1e-290  # sums above it have lost nothing to underflow
_LOG_2 = log(2.0)


@njit(cache=True, nogil=True)
def run_sweeps(families, draws, n_steps, layer, graph, proposed, accepted, graphs, log_scores):
    """Make a sweep for each row of draws: n_steps over partitions, a graph of the last one, then steps by one arc.

    ``layer`` is where the chain stands and will stand, ``graph`` room for the parents of every node; ``proposed`` and
    ``accepted`` count the steps of each kind. The graph after each sweep is written to ``graphs``, with its score.
    """
    n, lanes = layer.shape[0], np.empty(_LANES)
    before, adjacent, sums = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    new_layer, new_before, new_adjacent = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    now, new = (layer, before, adjacent, sums), (new_layer, new_before, new_adjacent, np.empty(n))
    for s in range(draws.shape[0]):
        _fill_masks(layer, before, adjacent)
        for x in range(n):
            sums[x] = _log_sum(families, lanes, x, before[x], adjacent[x])
        for i in range(n_steps):
            kind, is_taken = _step(families, lanes, draws[s, STEP_DRAWS * i : STEP_DRAWS * (i + 1)], now, new)
            proposed[kind] += 1
            accepted[kind] += is_taken
        used = STEP_DRAWS * n_steps
        for x in range(n):
            graph[x] = _draw_parents(families, lanes, x, before[x], adjacent[x], draws[s, used + x])
        for i in range(used + n, draws.shape[1] - ARC_DRAWS + 1, ARC_DRAWS):
            _step_by_arc(families, draws[s, i : i + ARC_DRAWS], graph, proposed, accepted)
        _fill_layers(graph, layer)
        log_scores[s] = 0.0
        for x in range(n):
            graphs[s, x] = graph[x]
            log_scores[s] += _score_of(families, x, graph[x])


@njit(cache=True, nogil=True)
def _step(families, lanes, draws, now, new):
    """Propose another partition, and go there with the probability of Metropolis and Hastings.

    Returns the kind of the step, and whether it was made.
    """
    layer, before, adjacent, sums = now
    new_layer, new_before, new_adjacent, new_sums = new
    n = layer.shape[0]
    _copy(layer, new_layer)
    if draws[0] < 0.5:
        kind, log_ratio, is_new = MOVE, 0.0, _move_node(draws, layer, new_layer)
    elif draws[0] < 0.75:
        kind, log_ratio, is_new = SWAP, 0.0, _swap_nodes(draws, new_layer)
    else:
        kind = SPLIT
        log_ratio = _split_or_merge(draws, new_layer)
        is_new = log_ratio != 0.0
    if not is_new:
        return kind, False
    _fill_masks(new_layer, new_before, new_adjacent)
    for x in range(n):
        new_sums[x] = sums[x]
        if new_before[x] != before[x] or new_adjacent[x] != adjacent[x]:
            new_sums[x] = _log_sum(families, lanes, x, new_before[x], new_adjacent[x])
        log_ratio += new_sums[x] - sums[x]
    is_taken = log(1.0 - draws[4]) < log_ratio
    if is_taken:
        _copy(new_layer, layer)
        _copy(new_before, before)
        _copy(new_adjacent, adjacent)
        _copy(new_sums, sums)
    return kind, is_taken


@njit(cache=True, nogil=True)
def _copy(source, out):
    for x in range(source.shape[0]):
        out[x] = source[x]


@njit(cache=True, nogil=True)
def _move_node(draws, layer, out):
    """Take out a node and put it into a layer, or a gap between two, of what is left; return whether that is new.

    All places are alike, and there are as many on the way back.
    """
    n = layer.shape[0]
    x = int(draws[1] * n)
    alone, n_layers = True, 0
    for y in range(n):
        n_layers = max(n_layers, layer[y] + 1)
        alone = alone and (y == x or layer[y] != layer[x])
    n_layers -= alone
    place = int(draws[2] * (2 * n_layers + 1))
    target, opens = place // 2, place % 2 == 0
    for y in range(n):
        own = layer[y] - (alone and layer[y] > layer[x])
        out[y] = own + (opens and own >= target)
    out[x] = target
    return (opens != alone) or target != layer[x]


@njit(cache=True, nogil=True)
def _swap_nodes(draws, out):
    """Let two nodes change places; return whether they lie in different layers."""
    n = out.shape[0]
    if n < 2:
        return False
    x, y = int(draws[1] * n), int(draws[2] * (n - 1))
    y += y >= x
    out[x], out[y] = out[y], out[x]
    return out[x] != out[y]


@njit(cache=True, nogil=True)
def _split_or_merge(draws, out):
    """Split a layer by a coin for each of its nodes, or merge two neighbours; return the log-ratio of the proposals.

    From m layers a split of one of k nodes has probability 1/m · 2^−k, and the merger that undoes it 1/m. Zero: nothing
    has changed.
    """
    n = out.shape[0]
    n_layers = out.max() + 1
    splits = draws[1] < 0.5
    target = int(draws[2] * (n_layers if splits else n_layers - 1))
    if not splits and n_layers == 1:
        return 0.0
    coins, size, n_later = np.int64(draws[3] * 2.0**53), 0, 0
    for y in range(n):
        if splits and out[y] == target:
            size += 1
            out[y] += coins >> y & 1
            n_later += coins >> y & 1
        elif splits and out[y] > target:
            out[y] += 1
        elif not splits:
            size += out[y] == target or out[y] == target + 1
            out[y] -= out[y] > target
    if splits and (n_later == 0 or n_later == size):
        return 0.0
    return size * _LOG_2 if splits else -size * _LOG_2


@njit(cache=True, nogil=True)
def _fill_masks(layer, before, adjacent):
    """Find the nodes in the layers before each node's own, and in the last of these."""
    n = layer.shape[0]
    for x in range(n):
        before[x], adjacent[x] = 0, 0
        for y in range(n):
            before[x] |= np.int64(layer[y] < layer[x]) << y
            adjacent[x] |= np.int64(layer[y] == layer[x] - 1) << y


@njit(cache=True, nogil=True)
def _log_sum(families, lanes, x, before, adjacent):
    """Return the log of the summed scores of all parent sets of x in ``before`` that meet ``adjacent``."""
    first, masks, scores, weights, _, _ = families
    if before == 0:
        return _score_of(families, x, np.int64(0))
    total, last = 0.0, first[x + 1]
    for start in range(first[x], last, _CHUNK):
        if weights[start] < _NEGLIGIBLE * total:
            break
        stop = min(start + _CHUNK, last)
        total += _sum_fitting(masks[start:stop], weights[start:stop], ~before, adjacent, lanes)
    if total > _LEAST:
        return scores[first[x]] + log(total)
    return _log_sum_of_poor(families, x, before, adjacent)


@njit(cache=True, nogil=True)
def _sum_fitting(masks, weights, outside, adjacent, lanes):
    """Return the sum of the weights of sets without a member ``outside`` and with one in ``adjacent``."""
    n, width = masks.shape[0], lanes.shape[0]
    lanes[:] = 0.0
    for start in range(0, n - width + 1, width):
        some, theirs = masks[start : start + width], weights[start : start + width]
        for j in range(np.uint64(width)):
            fits = some[j] & outside == 0 and some[j] & adjacent != 0
            lanes[j] += theirs[j] if fits else 0.0
    total = lanes.sum()
    for i in range(n - n % width, n):
        if masks[i] & outside == 0 and masks[i] & adjacent != 0:
            total += weights[i]
    return total


@njit(cache=True, nogil=True)
def _log_sum_of_poor(families, x, before, adjacent):
    """Return the same where all that fits is so much worse than the best that its weight vanishes."""
    first, masks, scores, _, _, _ = families
    best, total = -np.inf, 0.0
    for f in range(first[x], first[x + 1]):
        if scores[f] < best - _VANISHED:
            break
        if masks[f] & ~before == 0 and masks[f] & adjacent != 0:
            best = scores[f] if total == 0.0 else best
            total += exp(scores[f] - best)
    return best + log(total) if total > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def _draw_parents(families, lanes, x, before, adjacent, draw):
    """Return a parent set of x in the layers before it, drawn by its score."""
    first, masks, scores, _, _, _ = families
    limit = _log_sum(families, lanes, x, before, adjacent)
    total, last = 0.0, np.int64(0)
    if before != 0:
        for f in range(first[x], first[x + 1]):
            if masks[f] & ~before == 0 and masks[f] & adjacent != 0:
                last = masks[f]
                total += exp(scores[f] - limit)
                if total > draw:
                    break
    return last


@njit(cache=True, nogil=True)
def _step_by_arc(families, draws, graph, proposed, accepted):
    """Propose to add, remove or turn the arc x → y for a random pair, which is as likely to undo it."""
    n = graph.shape[0]
    if n < 2:
        return
    x, y = int(draws[0] * n), int(draws[1] * (n - 1))
    y += y >= x
    parents_x, parents_y = graph[x] & ~(np.int64(1) << y), graph[y] ^ (np.int64(1) << x)
    proposed[ARC] += 1
    ratio = _score_of(families, y, parents_y) - _score_of(families, y, graph[y])
    if parents_x != graph[x]:
        ratio += _score_of(families, x, parents_x) - _score_of(families, x, graph[x])
    if log(1.0 - draws[2]) >= ratio:
        return
    old = graph[x]
    graph[x] = parents_x
    if parents_y >> x & 1 and _ancestors(graph, x) >> y & 1:
        graph[x] = old
        return
    graph[y] = parents_y
    accepted[ARC] += 1


@njit(cache=True, nogil=True)
def _ancestors(graph, x):
    """Return the mask of the ancestors of a node."""
    found, new = np.int64(0), graph[x]
    while new != 0:
        found |= new
        reached = np.int64(0)
        for y in range(graph.shape[0]):
            if new >> y & 1:
                reached |= graph[y]
        new = reached & ~found
    return found


@njit(cache=True, nogil=True)
def _fill_layers(graph, layer):
    """Find the layers of a graph."""
    n = graph.shape[0]
    placed, height = np.int64(0), 0
    while placed != (np.int64(1) << n) - 1:
        reached = placed
        for x in range(n):
            if not placed >> x & 1 and graph[x] & ~placed == 0:
                layer[x] = height
                reached |= np.int64(1) << x
        placed, height = reached, height + 1


@njit(cache=True, nogil=True)
def _score_of(families, x, parents):
    """Return the score of a family, −inf if it is not allowed."""
    first, _, _, _, known, known_scores = families
    low, high = first[x], first[x + 1]
    while low < high:
        middle = (low + high) // 2
        if known[middle] < parents:
            low = middle + 1
        else:
            high = middle
    return known_scores[low] if low < first[x + 1] and known[low] == parents else -np.inf
