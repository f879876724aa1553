"""Bayesian hidden Markov models: bounds, draws, credible intervals."""

import itertools

import numpy as np
import pytest

import tunbridge as tb
from oracles.bayesian_chains import evidence, log_weights
from tunbridge.errors import DataError
from tunbridge.temporal import bayesian, emissions
from tunbridge.temporal.hmm import HiddenMarkovModel
from tunbridge.temporal.panel import read_panel
from tunbridge.temporal.training import Run, maximised, observed

DIARY = np.array(["2", "3", "3", "2", "3", "2", "3", "2", "2", "3", "1", "3"])
CODES = [int(s) - 1 for s in DIARY]
EVIDENCE = {1: -13.131331, 2: -12.854136, 3: -12.826745}
SAME = {2: 0.408290, 3: 0.258470}  # P(first state = last state)


def hmm_of(n=2, emissions="categorical", **parameters):
    return HiddenMarkovModel(n, emissions, random_state=0, **parameters)


def regimes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = np.repeat(np.arange(n // 50) % 2, 50)
    return z, rng.normal(size=(n, 2)) * np.array([0.5, 1.0])[z][:, None] + np.array([0.0, 4.0])[z][:, None]


def bounds(hmm, x, n_iterations=30):
    """Return the bound after each iteration, without the protection of a fit against falls."""
    panel, names, data = hmm._taken(x, None, None, None)
    data, found = bayesian.filled(data), []
    model = bayesian.variational(hmm._first(panel, data, len(names), np.random.default_rng(0), 1), data)
    for _ in range(n_iterations):
        run = Run(model, data)
        found.append(run.objective)
        model = maximised(model, data, run._found, run._rows)
    return np.array(found)


@pytest.mark.parametrize("n", [1, 2])
def test_oracle_has_the_published_evidence(n):
    paths, log_p = log_weights(CODES, n, 3)
    assert evidence(log_p) == pytest.approx(EVIDENCE[n], abs=5e-7)
    if n > 1:
        same = np.exp(log_p - evidence(log_p))[paths[:, 0] == paths[:, -1]].sum()
        assert same == pytest.approx(SAME[n], abs=5e-7)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_bound_rises_and_is_below_the_evidence(n):
    hmm = hmm_of(n, bayesian="variational", restarts=10, tolerance=1e-10).fit(DIARY)
    assert hmm.elbo_ <= EVIDENCE[n] + 1e-6
    assert np.diff(bounds(hmm, DIARY)).min() >= -1e-9
    if n == 1:
        assert hmm.elbo_ == pytest.approx(EVIDENCE[1], abs=5e-7)  # nothing is hidden


@pytest.mark.parametrize("seed", range(40))
def test_bound_with_missing_values_labels_and_priors(seed):
    rng = np.random.default_rng(seed)
    codes = [None if rng.random() < 0.3 else int(rng.integers(2)) for _ in range(7)]
    codes[:2] = [0, 1]
    text = [None if c is None else "ab"[c] for c in codes]
    alpha, sticky = float(rng.choice([0.3, 1.0, 3.0])), float(rng.choice([0.0, 2.0]))
    _, log_p = log_weights(codes, 2, 2, alpha, sticky)
    hmm = hmm_of(bayesian="variational", alpha=alpha, sticky=sticky, restarts=2, tolerance=1e-9).fit([text])
    assert hmm.elbo_ <= evidence(log_p) + 1e-9
    assert np.diff(bounds(hmm, [text])).min() >= -1e-9


@pytest.mark.parametrize(
    "emission", ["poisson", emissions.Gaussian("diagonal"), emissions.Gaussian("full")], ids=lambda e: str(e)[:20]
)
def test_bound_rises_for_numbers(emission):
    _, x = regimes()
    x = np.rint(np.abs(x)) if emission == "poisson" else x
    if isinstance(emission, str) or emission.covariance != "full":
        x[5:9, 0] = np.nan
    hmm = hmm_of(4, emission, bayesian="variational").fit(x)
    assert np.diff(bounds(hmm, x)).min() >= -1e-9 * abs(hmm.elbo_)
    assert hmm.n_parameters_ > 0
    assert np.isfinite(hmm.log_likelihood_)


def test_variational_posterior_of_labels_is_exact():
    hmm = hmm_of(bayesian="variational").fit(["aab", "ba"], y=[[0, 0, 1], [1, 0]])
    _, log_p = log_weights([0, 0, 1], 2, 2)
    dynamics = hmm.posterior_.dynamics
    assert dynamics.start_shapes.tolist() == [2.0, 2.0]
    assert dynamics.shapes.tolist() == [[2.0, 2.0], [2.0, 1.0]]
    assert hmm.posterior_.emission.shapes.tolist() == [[4.0, 1.0], [1.0, 3.0]]
    assert hmm.start_.tolist() == [0.5, 0.5]
    assert hmm.emissions_.probabilities.tolist() == [[0.8, 0.2], [0.25, 0.75]]
    assert evidence(log_p) < 0


def gibbs_of(n, x=DIARY, n_draws=6000, **settings):
    data = bayesian.filled(observed(read_panel(x)))
    hmm = hmm_of(n, sticky=settings.get("sticky", 0.0))
    panel = read_panel(x)
    first = hmm._first(panel, data, n, np.random.default_rng(0), 1)
    sampler = bayesian.Gibbs(first, data, np.random.default_rng(1), **settings)
    return sampler, itertools.islice(sampler.sweeps(), n_draws)


def batch_error(values, n_batches=30):
    means = [part.mean() for part in np.array_split(np.asarray(values, float), n_batches)]
    return np.mean(means), np.std(means, ddof=1) / np.sqrt(n_batches)


@pytest.mark.parametrize("n", [2, 3])
def test_gibbs_hits_the_exact_posterior(n):
    _, sweeps = gibbs_of(n)
    mean, error = batch_error([s.path[0] == s.path[-1] for s in sweeps])
    assert abs(mean - SAME[n]) <= 3.0 * error
    assert error < 0.02  # a wrong sampler would be found: labels at random give 1/n
    assert abs(mean - 1.0 / n) > 3.0 * error


def test_sticky_gibbs_with_missing_values_hits_the_exact_posterior():
    codes = [0, 0, None, 1, 1, None, 0]
    paths, log_p = log_weights(codes, 2, 2, 1.0, 3.0)
    weights = np.exp(log_p - evidence(log_p))
    exact = weights[paths[:, 0] == paths[:, 3]].sum()
    data = observed(read_panel([[None if c is None else "ab"[c] for c in codes]]))
    hmm = hmm_of(2, sticky=3.0)
    first = hmm._first(read_panel(["aabba"]), data, 2, np.random.default_rng(0), 1)
    sampler = bayesian.Gibbs(first, data, np.random.default_rng(2), sticky=3.0)
    mean, error = batch_error([s.path[0] == s.path[3] for s in itertools.islice(sampler.sweeps(), 4000)])
    assert abs(mean - exact) <= 3.0 * error
    plain = np.exp(log_weights(codes, 2, 2)[1])
    without = plain[paths[:, 0] == paths[:, 3]].sum() / plain.sum()
    assert abs(mean - without) > 3.0 * error


def test_weak_limit_has_the_prior_of_its_weights_where_nothing_is_seen():
    """Without observations β is Dirichlet(γ/K) whatever states are drawn: the mean of Σ β² is known."""
    x = [[None] * 6 + ["a"]]
    sampler, sweeps = gibbs_of(3, x, 8000, weak_limit=2.0, sticky=1.5)
    mean, error = batch_error([(sampler.beta**2).sum() for _ in sweeps])
    exact = (2.0 / 3.0 + 1.0) / (2.0 + 1.0)
    assert abs(mean - exact) <= 3.5 * error
    assert error < 0.02


def test_gibbs_agrees_with_the_truth_and_names_states_alike():
    z, x = regimes()
    hmm = hmm_of(2, "gaussian", bayesian="gibbs", n_draws=150, burn_in=50).fit(x)
    posterior = hmm.posterior_
    assert (hmm.predict(x) == z).mean() > 0.99
    assert len(posterior.draws) == 150
    assert np.std([m.emission.means[0, 0] for m in posterior.draws]) < 0.2  # switched labels would give 2
    assert posterior.occupation.sum(axis=1) == pytest.approx(1.0)
    assert (posterior.occupation.argmax(axis=1) == z).mean() > 0.99
    low, high = posterior.interval("means")[1, 0]
    assert low < hmm.emissions_.means[1, 0] < high
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(150), rel=0.3)
    assert posterior.mean("means") == pytest.approx(hmm.emissions_.means, abs=0.05)
    assert len(posterior.log_joint) == 200


@pytest.mark.parametrize("method", ["variational", "gibbs"])
def test_number_of_used_states(method):
    _, x = regimes()
    settings = {"weak_limit": 1.0} if method == "gibbs" else {"alpha": 0.1}
    hmm = hmm_of(6, emissions.Gaussian("diagonal"), bayesian=method, n_draws=150, **settings).fit(x)
    assert hmm.posterior_.n_used.mode in (2, 3)
    assert sum(hmm.posterior_.n_used.values()) == pytest.approx(1.0)


def test_full_covariances_with_missing_cells_by_gibbs():
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]], 400)
    whole = hmm_of(1, "gaussian", bayesian="gibbs", n_draws=200).fit(x)
    x[rng.random(400) < 0.4, 1] = np.nan
    part = hmm_of(1, "gaussian", bayesian="gibbs", n_draws=200).fit(x)
    assert part.emissions_.covariances == pytest.approx(whole.emissions_.covariances, abs=0.15)
    widths = [np.diff(m.posterior_.interval("means")[0], axis=-1).ravel() for m in (part, whole)]
    assert widths[0][1] > 1.05 * widths[1][1]


@pytest.mark.parametrize("method", ["variational", "gibbs"])
def test_gaps_are_steps_without_observations(method):
    frame = {"t": [0, 1, 2, 3, 6, 7, 8], "x": list("aababbb")}
    steps = {"x": ["a", "a", "b", "a", None, None, "b", "b", "b"]}
    made = [hmm_of(time="t", bayesian=method, n_draws=100).fit(frame), hmm_of(bayesian=method, n_draws=100).fit(steps)]
    assert made[0].transitions_ == pytest.approx(made[1].transitions_, abs=1e-10)
    assert made[0].log_likelihood(frame) == pytest.approx(made[1].log_likelihood(steps), rel=1e-10)


@pytest.mark.parametrize("method", ["variational", "gibbs"])
def test_answers_mix_over_draws(method):
    _, x = regimes()
    hmm = hmm_of(2, "gaussian", bayesian=method, n_draws=60, restarts=0).fit(x)
    found = hmm.predict_proba([x[:60], x[60:80]], interval=0.9)
    assert [len(part) for part in found.low] == [60, 20]
    assert (found.low[0] <= found.mean[0] + 1e-12).all()
    assert (found.mean[0] <= found.high[0] + 1e-12).all()
    assert found.mean[0].sum(axis=1) == pytest.approx(1.0)
    forecast = hmm.forecast(x, steps=3)
    assert forecast.states.sum(axis=1) == pytest.approx(1.0)
    assert len(forecast.draws) >= 3900
    spread = hmm.posterior_.interval(lambda m: m.log_likelihood(x))
    assert spread.shape == (1, 2)
    assert spread[0, 0] < spread[0, 1]
    assert hmm.posterior_.interval("stationary", 0.5).shape == (2, 2)
    again = hmm_of(2, "gaussian", bayesian=method, n_draws=60, restarts=0).fit(x)
    assert np.array_equal(again.transitions_, hmm.transitions_)


@pytest.mark.parametrize("method", ["variational", "gibbs"])
def test_file_has_the_draws(method, tmp_path):
    _, x = regimes()
    hmm = hmm_of(2, "gaussian", bayesian=method, n_draws=20, restarts=0).fit(x)
    hmm.save(tmp_path / "m.tb")
    read = tb.load(tmp_path / "m.tb")
    assert np.array_equal(read.transitions_, hmm.transitions_)
    assert np.array_equal(read.posterior_.interval("means"), hmm.posterior_.interval("means"))
    assert dict(read.posterior_.n_used) == dict(hmm.posterior_.n_used)
    assert np.array_equal(read.forecast(x, 2).states, hmm.forecast(x, 2).states)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bayesian": "mcmc"}, "bayesian must be one of"),
        ({"bayesian": "gibbs", "hard": True}, "hard must be False"),
        ({"bayesian": "gibbs", "start": "stationary"}, "start must be 'free'"),
        ({"bayesian": "gibbs", "alpha": 0.0}, "alpha must be"),
        ({"bayesian": "gibbs", "n_draws": 0}, "n_draws must be"),
        ({"bayesian": "gibbs", "durations": "free"}, "durations must be None"),
        ({"bayesian": "variational", "weak_limit": 1.0}, "weak_limit must come with bayesian='gibbs'"),
        ({"weak_limit": 1.0}, "weak_limit must come with bayesian='gibbs'"),
        ({"bayesian": "gibbs", "emissions": "student-t"}, "conjugate prior"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        HiddenMarkovModel(2, **parameters).fit(np.arange(10.0))


def test_bad_calls():
    hmm = hmm_of(bayesian="gibbs", n_draws=5)
    with pytest.raises(DataError, match="sample_weight must be None"):
        hmm.fit(["ab", "ba"], sample_weight=[1.0, 2.0])
    with pytest.raises(DataError, match="partial_fit must have"):
        hmm.partial_fit(["ab"], y=[[0, 1]])
    with pytest.raises(DataError, match="interval must have a model learned with bayesian"):
        hmm_of().fit(["abab" * 4]).predict_proba(["ab"], interval=0.9)
    hmm.fit(["abab"])
    with pytest.raises(DataError, match="what must be start"):
        hmm.posterior_.interval("rates")
    with pytest.raises(DataError, match="probability must be"):
        hmm.posterior_.interval("start", 1.5)


def test_weights_are_repetitions():
    twice = hmm_of(bayesian="variational").fit(["aabb", "aabb", "ba"])
    weighted = hmm_of(bayesian="variational").fit(["aabb", "ba"], sample_weight=[2, 1])
    assert weighted.elbo_ == pytest.approx(twice.elbo_, abs=1e-3)


def test_topology_is_kept():
    hmm = hmm_of(3, bayesian="gibbs", topology="left-to-right", n_draws=20).fit(["aabbcc", "abc"])
    for drawn in hmm.posterior_.draws:
        assert np.tril(drawn.dynamics.matrix, -1).sum() == 0.0
        assert drawn.dynamics.start == pytest.approx([1.0, 0.0, 0.0])
