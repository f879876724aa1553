"""Sampled structures against the posterior over all graphs of a few nodes.

Tolerances come from the samples: the graphs of several independent runs of chains are compared, and the spread of their
shares gives the standard error of the mean share.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tunbridge as tb
from oracles.learning import PlainFamilies
from oracles.structures import (
    ArbitraryFamilies,
    arc_probabilities,
    arc_shares,
    effective_size,
    fits,
    fitting_graphs,
    free_problem,
    n_orders,
    posterior,
)
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.scores.discrete import BDeu
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.searches.parent_sets import members_of, parent_source
from tunbridge.learning.uncertainty import mcmc
from tunbridge.learning.uncertainty.mcmc import _split_r_hat, sample_structures

SIGMAS = 4.5
"""Of a few hundred shares none should be off by so many standard errors."""


def sampled_graphs(samples):
    flat = samples.graphs.reshape(-1, samples.graphs.shape[-1])
    return [tuple(members_of(int(mask)) for mask in row) for row in flat]


def in_batches(samples, size):
    graphs = sampled_graphs(samples)
    return [graphs[i : i + size] for i in range(0, len(graphs), size)]


def errors_off(batches, expected, *, least=30):
    """Return how many standard errors the shares of graphs are off their probabilities, rare graphs taken together."""
    n = sum(map(len, batches))
    common = [graph for graph, p in expected.items() if p * n >= least]
    counts = [Counter(batch) for batch in batches]
    shares = np.array([[c[g] / len(b) for g in common] for c, b in zip(counts, batches, strict=True)])
    p = np.array([expected[g] for g in common])
    shares, p = np.c_[shares, 1 - shares.sum(axis=1)], np.append(p, 1 - p.sum())
    errors = np.maximum(shares.std(axis=0, ddof=1), np.sqrt(p * (1 - p) * len(batches) / n)) / np.sqrt(len(batches))
    return np.abs(shares.mean(axis=0) - p) / np.maximum(errors, 1e-9)


def by_orders(problem):
    """Return the posterior that sampling orders would give: each graph counted for every order it agrees with."""
    weights = {graph: p * n_orders(graph) for graph, p in posterior(problem).items()}
    total = sum(weights.values())
    return {graph: w / total for graph, w in weights.items()}


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (3, 0), (3, 1), (4, 0), (4, 1)])
def test_graphs_come_as_often_as_their_posterior_says(n, seed):
    problem = free_problem(ArbitraryFamilies(n, seed), seed)
    batches = in_batches(sample_structures(problem, 5000, thin=2, chains=8), 1000)
    assert errors_off(batches, posterior(problem)).max() < SIGMAS
    if n > 2:
        assert errors_off(batches, by_orders(problem)).max() > 3 * SIGMAS


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_arcs_have_their_probabilities_within_the_errors_given(seed):
    problem = free_problem(ArbitraryFamilies(4, seed), seed)
    samples = sample_structures(problem, 3000)
    expected = arc_probabilities(posterior(problem))
    off_diagonal = ~np.eye(4, dtype=bool)
    shares, errors = arc_shares(samples.graphs)
    assert (np.abs(shares - expected)[off_diagonal] / errors[off_diagonal]).max() < SIGMAS
    assert errors.max() < 0.01
    wrong = np.abs(shares - arc_probabilities(by_orders(problem)))[off_diagonal]
    assert (wrong / errors[off_diagonal]).max() > 2 * SIGMAS


def test_the_posterior_of_a_table():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 25)
    columns = {"a": a, "b": np.where(rng.random(25) < 0.75, a, 1 - a), "c": rng.integers(0, 3, 25)}
    problem = free_problem(PlainFamilies(columns, BDeu(ess=3.0)))
    samples = sample_structures(problem, 4000)
    expected = arc_probabilities(posterior(problem))
    shares, errors = arc_shares(samples.graphs)
    np.testing.assert_array_less(np.abs(shares - expected), SIGMAS * errors + 1e-12)


def test_constraints_hold_and_leave_the_right_posterior():
    allowed = np.ones((4, 4), bool)
    allowed[0, 1] = allowed[2, 3] = False
    required = ((), (), (0,), ())
    problem = free_problem(
        ArbitraryFamilies(4, 7),
        allowed=allowed,
        required=required,
        start=required,
        max_parents=np.array([3, 2, 2, 1]),
    )
    samples = sample_structures(problem, 4000, chains=8)
    graphs = sampled_graphs(samples)
    assert all(fits(problem, graph) for graph in set(graphs))
    assert set(graphs) <= set(fitting_graphs(problem))
    shares, _ = arc_shares(samples.graphs)
    assert shares[0, 1] == shares[2, 3] == 0.0
    assert shares[0, 2] == 1.0
    batches = in_batches(samples, 800)
    assert errors_off(batches, posterior(problem)).max() < SIGMAS
    assert errors_off(batches, by_orders(problem)).max() > 2 * SIGMAS


def test_chains_leave_layers_that_no_single_node_can_leave():
    """Where v0 → v1 and v2 → v3 must be there, and only v0 → v2 may, no graph has the layers after v2 alone moved."""
    required, allowed = ((), (0,), (), (2,)), np.zeros((4, 4), bool)
    allowed[0, 1] = allowed[2, 3] = allowed[0, 2] = True
    problem = free_problem(ArbitraryFamilies(4, 0, spread=0.5), allowed=allowed, required=required, start=required)
    samples = sample_structures(problem, 2000)
    p = arc_probabilities(posterior(problem))[0, 2]
    assert 0.05 < p < 0.95
    shares, errors = arc_shares(samples.graphs)
    assert abs(shares[0, 2] - p) < SIGMAS * errors[0, 2]


@pytest.mark.parametrize(("n_steps", "n_arcs"), [(8, 0), (0, 12)])
def test_either_kind_of_steps_alone_leaves_the_posterior_as_it_is(n_steps, n_arcs):
    from tunbridge.kernels.learning.partitions import ARC_DRAWS, STEP_DRAWS, run_sweeps

    n, batches = 4, []
    problem = free_problem(ArbitraryFamilies(n, 2))
    source = parent_source(problem, only_useful=False, ways_out="")
    families = mcmc._Families.of([source.every(x) for x in range(n)])
    layer, counts = np.zeros(n, np.int64), (np.zeros(4, np.int64), np.zeros(4, np.int64))
    for _ in range(30):
        draws = problem.rng.random((3000, STEP_DRAWS * n_steps + n + ARC_DRAWS * n_arcs))
        graphs, scores = np.empty((3000, n), np.int64), np.empty(3000)
        run_sweeps(tuple(families), draws, n_steps, layer, np.empty(n, np.int64), *counts, graphs, scores)
        batches.append([tuple(members_of(m) for m in row) for row in graphs.tolist()])
    assert errors_off(batches[1:], posterior(problem)).max() < SIGMAS
    proposed, accepted = counts
    kinds = slice(0, 3) if n_steps else slice(3, 4)  # a node moves, two swap, layers split or merge; an arc changes
    assert (accepted[kinds] > 0).all()
    assert (accepted[kinds] < proposed[kinds]).all()


def test_scores_that_lie_far_apart_do_not_vanish():
    """A family that is worse by thousands of nats is still there when nothing better fits."""

    class Steep(ArbitraryFamilies):
        def _score(self, x, parents):
            return -3000.0 * (len(parents) < 2) + super()._score(x, parents)

    problem = free_problem(Steep(3, 0))
    samples = sample_structures(problem, 2000)
    expected = arc_probabilities(posterior(problem))
    shares, errors = arc_shares(samples.graphs)
    np.testing.assert_array_less(np.abs(shares - expected), SIGMAS * errors + 1e-12)
    assert samples.r_hat < 1.01


def test_families_too_large_to_raise_the_score_have_their_share():
    problem = free_problem(ArbitraryFamilies(3, 1, step=0.5, spread=0.5))
    assert np.isinf(problem.families.additions(0, (1,))).any()
    samples = sample_structures(problem, 3000)
    expected = arc_probabilities(posterior(problem))
    shares, errors = arc_shares(samples.graphs)
    np.testing.assert_array_less(np.abs(shares - expected), SIGMAS * errors + 1e-12)


def words(n, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    columns = {f"v{i}": rng.integers(0, 2, n_rows) for i in range(n)}
    columns["v1"] = np.where(rng.random(n_rows) < 0.8, columns["v0"], columns["v2"])
    return tb.as_table({name: values.astype(str) for name, values in columns.items()})


def test_equal_seeds_give_equal_samples_whatever_the_threads():
    families = DiscreteFamilies(words(7, 100), BDeu())
    runs = [sample_structures(free_problem(families, 5), 50, burn_in=10, n_jobs=n) for n in (1, 2, 8)]
    assert np.array_equal(runs[0].graphs, runs[1].graphs)
    assert np.array_equal(runs[0].graphs, runs[2].graphs)
    assert not np.array_equal(runs[0].graphs, sample_structures(free_problem(families, 6), 50, burn_in=10).graphs)


def test_what_comes_back():
    problem = free_problem(DiscreteFamilies(words(6, 200), BDeu()))
    samples = sample_structures(problem, 60, burn_in=20, thin=1, chains=3)
    assert samples.names == problem.families.names
    assert samples.graphs.shape == (3, 60, 6)
    assert samples.log_scores.shape == (3, 60)
    graph = tuple(members_of(int(m)) for m in samples.graphs[1, -1])
    assert samples.log_scores[1, -1] == pytest.approx(problem.graph_score(graph), rel=1e-10)
    assert 0.9 < samples.r_hat < 1.2
    assert 10 < effective_size(samples.log_scores) <= 3 * 60 * 3
    assert "r_hat" in repr(samples)
    assert "array" not in repr(samples)


def test_progress_is_told():
    heard = []
    problem = free_problem(ArbitraryFamilies(3, 0), report=lambda what, score: heard.append((what, score)))
    samples = sample_structures(problem, 10, burn_in=4)
    assert heard[-1][1] >= samples.log_scores.max()
    assert heard[0][0] == "burn-in"
    assert heard[-1][0] == "10 of 10 samples"
    assert [score for _, score in heard] == sorted(score for _, score in heard)


def interrupt_at(n):
    def report(what, score):
        if what.startswith(str(n)):
            raise KeyboardInterrupt

    return report


def test_an_interrupt_keeps_what_there_is():
    samples = sample_structures(free_problem(ArbitraryFamilies(3, 0), report=interrupt_at(20)), 50)
    assert samples.graphs.shape == (4, 20, 3)
    assert samples.note == "interrupted after 20 samples of 50"


def test_an_interrupt_before_the_first_samples_goes_on():
    with pytest.raises(KeyboardInterrupt):
        sample_structures(free_problem(ArbitraryFamilies(3, 0), report=interrupt_at("burn")), 50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 3}, "n_samples must be at least 4; got 3"),
        ({"burn_in": -1}, "burn_in must be at least 0; got -1"),
        ({"thin": 0.5}, "thin must be an integer; got 0.5"),
        ({"chains": True}, "chains must be an integer; got True"),
        ({"n_samples": 10**400}, "n_samples must be an integer from 4 to "),
        ({"burn_in": 10**400}, "burn_in must be an integer from 0 to "),
        ({"thin": 10**400}, "thin must be an integer from 1 to "),
        ({"chains": 10**400}, "chains must be an integer from 1 to "),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(DataError, match=message):
        sample_structures(free_problem(ArbitraryFamilies(3, 0)), **options)


@pytest.mark.parametrize("options", [{"burn_in": 2**60}, {"thin": 2**60}, {"chains": 2**60}])
def test_too_many_sweeps_at_a_time_are_forecast(options):
    with pytest.raises(MemoryForecastError, match="the sampled graphs would need"):
        sample_structures(free_problem(ArbitraryFamilies(3, 0)), 10, **options)


def test_too_many_variables_are_refused():
    with pytest.raises(DataError, match="at most 53 to sample; got 54"):
        sample_structures(free_problem(ArbitraryFamilies(54, 0), max_parents=np.full(54, 1)))


def test_memory_is_forecast():
    with pytest.raises(MemoryForecastError, match=r"parent sets would need .* set max_parents"):
        sample_structures(free_problem(ArbitraryFamilies(30, 0)))


def test_a_node_that_cannot_be_scored_is_refused():
    class Impossible(ArbitraryFamilies):
        def _score(self, x, parents):
            return -np.inf if x == 1 else 0.0

    with pytest.raises(DataError, match="must allow parents with which 'v1' can be scored; got none"):
        sample_structures(free_problem(Impossible(3, 0)))


def test_one_variable_has_one_graph():
    samples = sample_structures(free_problem(ArbitraryFamilies(1, 0)), 10)
    assert not samples.graphs.any()
    assert (samples.r_hat, effective_size(samples.log_scores)) == (1.0, 40.0)


# How well the chains have mixed


def test_r_hat_of_chains_that_agree_and_of_some_that_do_not():
    rng = np.random.default_rng(0)
    agreed = rng.normal(size=(4, 500))
    assert _split_r_hat(agreed) == pytest.approx(1.0, abs=0.01)
    assert _split_r_hat(agreed + np.arange(4)[:, None]) > 1.5
    assert _split_r_hat(agreed + np.linspace(0, 3, 500)) > 1.2  # a common drift shows in the halves
    assert _split_r_hat(np.ones((4, 10))) == 1.0
    assert _split_r_hat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression(phi):
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(8, 5000))
    values = np.empty_like(noise)
    values[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for i in range(1, 5000):
        values[:, i] = phi * values[:, i - 1] + noise[:, i]
    expected = 40_000 * (1 - phi) / (1 + phi)
    assert effective_size(values) == pytest.approx(expected, rel=0.15)  # an estimate from the data themselves
