"""Chains agree with the enumeration of all paths, however they are computed."""

import itertools

import numpy as np
import pytest

import tunbridge as tb
from oracles.hidden_chains import all_paths, posteriors
from tunbridge.temporal import chain as chains
from tunbridge.temporal.chain import Chain, Frames

CLOSE = {"rtol": 1e-11, "atol": 1e-13}


def random_case(seed, *, tiny=False):
    rng = np.random.default_rng(seed)
    k, n_rows, n_matrices = rng.integers(1, 5), rng.integers(1, 5), rng.integers(1, 3)
    lengths = rng.integers(0, 7, rng.integers(1, 4))
    start, matrices = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), (n_matrices, k))
    likelihoods = rng.random((n_rows, k))
    if rng.random() < 0.5:
        matrices[rng.random(matrices.shape) < 0.3] = 0.0
        likelihoods[rng.random(likelihoods.shape) < 0.2] = 0.0
    if tiny:
        matrices *= 10.0 ** rng.integers(-300, 1, matrices.shape)
    offsets = np.append(0, np.cumsum(lengths))
    rows, steps = rng.integers(0, n_rows, offsets[-1]), rng.integers(0, n_matrices, offsets[-1])
    return Chain(start, matrices), likelihoods, rows, offsets, steps


def listed(chain):
    allowed = (chain.matrices > 0).any(axis=0)
    return Chain(chain.start, np.ascontiguousarray(chain.matrices[:, allowed]), chains.arcs_of(allowed))


def frames_of(likelihoods, rows, offsets, steps):
    with np.errstate(divide="ignore"):
        return Frames(np.log(likelihoods), rows, offsets, steps)


@pytest.mark.parametrize("seed", range(150))
def test_everything_equals_enumeration(seed):
    chain, likelihoods, rows, offsets, steps = random_case(seed)
    frames, k = frames_of(likelihoods, rows, offsets, steps), len(chain.start)
    weights = np.random.default_rng(seed).random(frames.n_sequences)
    totals, starts, pairs = np.zeros(frames.n_sequences), np.zeros(k), np.zeros(chain.matrices.shape)
    singles, by_row = np.zeros((len(rows), k)), np.zeros(likelihoods.shape)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        paths = all_paths(chain.start, chain.matrices, likelihoods[rows[a:b]], steps[a:b])
        with np.errstate(divide="ignore", invalid="ignore"):
            total, single, both = posteriors(paths, b - a, k)
            totals[s] = np.log(total)
        singles[a:b] = single
        for t in range(a, b):
            by_row[rows[t]] += weights[s] * single[t - a]
            if t > a:
                pairs[steps[t]] += weights[s] * both[t - a - 1]
        if b > a:
            starts += weights[s] * single[0]
    for own in (chain, listed(chain)):
        np.testing.assert_allclose(chains.log_likelihoods(own, frames), totals, **CLOSE)
        if not np.isfinite(totals).all():
            with pytest.raises(tb.ImpossibleEvidenceError, match="at step"):
                chains.expectations(own, frames)
            with pytest.raises(tb.ImpossibleEvidenceError, match="at step"):
                chains.best_paths(own, frames)
            continue
        np.testing.assert_allclose(chains.smoothed(own, frames)[1], singles, **CLOSE)
        found = chains.expectations(own, frames, weights)
        np.testing.assert_allclose(found.log_likelihood, totals, **CLOSE)
        np.testing.assert_allclose(found.starts, starts, **CLOSE)
        np.testing.assert_allclose(chains.dense_pairs(found.pairs, own.arcs), pairs, **CLOSE)
        np.testing.assert_allclose(found.by_row, by_row, **CLOSE)


@pytest.mark.parametrize("seed", range(60))
def test_paths_equal_enumeration(seed):
    chain, likelihoods, rows, offsets, steps = random_case(seed)
    offsets = np.array([0, offsets[-1]]) if offsets[-1] < 8 else np.array([0, 7])
    rows, steps = rows[: offsets[-1]], steps[: offsets[-1]]
    frames = frames_of(likelihoods, rows, offsets, steps)
    paths = sorted(all_paths(chain.start, chain.matrices, likelihoods[rows], steps), key=lambda p: -p[1])
    if not paths[0][1] > 0:
        return
    for own in (chain, listed(chain)):
        log_p, path = chains.best_paths(own, frames)
        np.testing.assert_allclose(log_p, np.log(paths[0][1]), **CLOSE)
        weight = dict(paths)[tuple(path.tolist())]
        np.testing.assert_allclose(weight, paths[0][1], **CLOSE)
        logs, several = chains.several_best_paths(own, frames, 5)
        expected = [w for _, w in paths[:5] if w > 0]
        np.testing.assert_allclose(np.exp(logs), expected, **CLOSE)
        assert len({tuple(one) for one in several.tolist()}) == len(several)
        np.testing.assert_allclose([dict(paths)[tuple(one)] for one in several.tolist()], expected, **CLOSE)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_beyond_floats_are_computed_in_logarithms(seed):
    chain, likelihoods, rows, offsets, steps = random_case(seed, tiny=True)
    rows, steps, offsets = rows[: offsets[1]], steps[: offsets[1]], offsets[:2]
    frames = frames_of(likelihoods, rows, offsets, steps)
    with np.errstate(divide="ignore"):
        scaled = np.log(chain.matrices)
    paths = []
    for path, _ in all_paths(chain.start, np.ones_like(chain.matrices), likelihoods[rows], steps):
        with np.errstate(divide="ignore"):
            logs = [np.log(likelihoods[rows[t], j]) for t, j in enumerate(path)]
            logs += [np.log(chain.start[path[0]])] if path else []
            logs += [scaled[steps[t], path[t - 1], path[t]] for t in range(1, len(path))]
        paths.append((path, float(np.sum(logs))))
    total = np.logaddexp.reduce([w for _, w in paths])
    np.testing.assert_allclose(chains.log_likelihoods(chain, frames), [total], rtol=1e-10, atol=1e-10)
    if np.isfinite(total):
        single = np.zeros((len(rows), len(chain.start)))
        for path, log_w in paths:
            for t, j in enumerate(path):
                single[t, j] += np.exp(log_w - total)
        np.testing.assert_allclose(chains.smoothed(chain, frames)[1], single, rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(chains.smoothed(listed(chain), frames)[1], single, rtol=1e-8, atol=1e-11)


def test_long_sequences_give_the_same_in_spans_and_blocks_and_threads(monkeypatch):
    rng = np.random.default_rng(0)
    n = 30_000
    chain = Chain(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), (2, 3)))
    frames = Frames(np.log(rng.dirichlet(np.ones(3), 9)), rng.integers(0, 9, n), np.array([0, n - 5, n]),
                    rng.integers(0, 2, n))  # fmt: skip
    whole = (
        chains.expectations(chain, frames, n_jobs=1),
        chains.smoothed(chain, frames),
        chains.best_paths(chain, frames),
    )
    again = chains.expectations(chain, frames, n_jobs=2)
    for a, b in zip(whole[0], again, strict=True):
        np.testing.assert_array_equal(a, b)
    monkeypatch.setattr(chains, "_SPAN", 3 * 7_000)
    spans = (chains.expectations(chain, frames), chains.smoothed(chain, frames), chains.best_paths(chain, frames))
    for a, b in zip(whole, spans, strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    sparse = chains.expectations(listed(chain), frames)
    np.testing.assert_allclose(chains.dense_pairs(sparse.pairs, chains.arcs_of(np.ones((3, 3), bool))), whole[0].pairs)
    monkeypatch.setattr(chains, "_SMALL_ROWS", 0)
    np.testing.assert_allclose(chains.expectations(chain, frames).by_row, whole[0].by_row, rtol=1e-9)


def test_a_sequence_that_leaves_the_range_of_floats_for_a_while():
    """A chain that cannot leave its last state, while observations look like the first one: α β underflows."""
    chain = Chain(np.array([0.0, 1.0]), np.array([[[0.5, 0.5], [0.0, 1.0]]]))
    logs = np.array([[0.0, -600.0], [-600.0, 0.0]])
    frames = Frames(logs, np.array([0, 0, 0, 1]), np.array([0, 4]))
    total, found = chains.smoothed(chain, frames)
    np.testing.assert_allclose(total, -1800.0, rtol=1e-14)
    np.testing.assert_array_equal(found, [[0.0, 1.0]] * 4)
    np.testing.assert_allclose(chains.expectations(chain, frames).pairs, [[[0, 0], [0, 3]]])


def test_sampled_paths_have_the_posterior():
    chain, likelihoods, rows, offsets, steps = random_case(3)
    frames = frames_of(likelihoods + 0.1, rows, offsets, steps)
    _, expected = chains.smoothed(chain, frames)
    paths = chains.sampled_paths(chain, frames, 4000, random_state=1)
    for own in (paths, chains.sampled_paths(listed(chain), frames, 4000, random_state=2)):
        shares = np.stack([(own == k).mean(axis=0) for k in range(len(chain.start))], axis=1)
        assert np.abs(shares - expected).max() < 0.04
    np.testing.assert_array_equal(paths, chains.sampled_paths(chain, frames, 4000, random_state=1, n_jobs=1))


def test_simulated_paths_follow_the_chain():
    chain = Chain(np.array([0.25, 0.75]), np.array([[[0.9, 0.1], [0.4, 0.6]]]))
    path = chains.simulated_paths(chain, np.array([0, 1, 20_001]), np.random.default_rng(0))
    after_zero = path[2:][path[1:-1] == 0]
    assert abs(after_zero.mean() - 0.1) < 0.01
    firsts = chains.simulated_paths(listed(chain), np.arange(10_001), np.random.default_rng(0))
    assert abs(firsts.mean() - 0.75) < 0.02


def test_expected_pairs_have_the_shape_of_the_matrices():
    """A band of many states is listed inside, and comes back as a matrix."""
    n = 30
    band = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    matrix = band / band.sum(axis=1, keepdims=True)
    chain = Chain(np.full(n, 1.0 / n), matrix[None])
    frames = Frames(np.zeros((1, n)), np.zeros(40, np.int64), np.array([0, 40]))
    dense, sparse = chains.expectations(chain, frames).pairs, chains.expectations(listed(chain), frames).pairs
    assert dense.shape == chain.matrices.shape
    assert dense.sum() == pytest.approx(39.0)
    np.testing.assert_allclose(dense[:, band], sparse, **CLOSE)
    weights = np.random.default_rng(0).random(n)
    np.testing.assert_allclose(chains.stepped(listed(chain), weights), weights @ matrix, **CLOSE)


@pytest.mark.parametrize("seed", range(20))
def test_states_that_cannot_be_entered_again_are_not_lost(seed):
    """α of a state becomes 0 by underflow, and later observations are possible in that state only."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    matrix = np.triu(rng.dirichlet(np.ones(k), k))
    chain = Chain(rng.dirichlet(np.ones(k)), (matrix / matrix.sum(axis=1, keepdims=True))[None])
    logs = -0.5 * (np.array([0.0, 5.0, 9.0])[:k] - np.array([[0.0], [5.0], [9.0]])) ** 2
    rows = np.repeat(rng.integers(0, 3, 3), rng.integers(60, 200, 3))
    frames = Frames(logs, rows, np.array([0, len(rows)]))
    total, forward = -np.inf, np.log(chain.start) + logs[rows[0]]
    filtered = [forward]
    with np.errstate(divide="ignore"):
        for row in rows[1:]:
            forward = np.logaddexp.reduce(forward[:, None] + np.log(chain.matrices[0]), axis=0) + logs[row]
            filtered.append(forward)
    total = np.logaddexp.reduce(forward)
    expected = np.exp(np.array(filtered) - np.logaddexp.reduce(filtered, axis=1)[:, None])
    for own in (chain, listed(chain)):
        np.testing.assert_allclose(chains.log_likelihoods(own, frames), total, rtol=1e-10)
        np.testing.assert_allclose(chains.filtered(own, frames)[1], expected, atol=1e-9)
        np.testing.assert_allclose(chains.smoothed(own, frames)[0], total, rtol=1e-10)
        assert chains.best_paths(own, frames)[0][0] <= total + 1e-9


def test_spans_do_not_depend_on_threads(monkeypatch):
    """A span that fails going back is known as failed, also when the way forth ends later."""
    monkeypatch.setattr(chains, "_SPAN", 3 * chains._BLOCK)
    n = 3 * chains._BLOCK
    chain = Chain(np.full(3, 1 / 3), np.eye(3)[None])
    logs = np.array([[0.0, 0.0, 0.0], [0.0, -230.0, -667.0]])
    rows = np.zeros(n, int)
    rows[[5, chains._BLOCK, chains._BLOCK + 1]] = 1
    frames = Frames(logs, rows, np.array([0, n]))
    one, two = (chains.smoothed(chain, frames, n_jobs=jobs)[1] for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one[-1], [1.0, 0.0, 0.0], atol=1e-12)
