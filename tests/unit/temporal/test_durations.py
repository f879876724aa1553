"""Hidden semi-Markov models: enumeration, the geometric special case, learning, files."""

import numpy as np
import pytest

from oracles.semi_markov import answers
from tunbridge.errors import DataError, DataWarning
from tunbridge.temporal import chain as chains, durations as semi_markov, emissions
from tunbridge.temporal.chain import Frames
from tunbridge.temporal.dynamics import rules_of
from tunbridge.temporal.hmm import HiddenMarkovModel
from tunbridge.temporal.panel import read_panel
from tunbridge.temporal.training import Model, Run, maximised, observed

CLOSE = {"rtol": 1e-12, "atol": 1e-14}


def random_case(seed):
    rng = np.random.default_rng(seed)
    k, longest, n_symbols = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(2, 4))
    matrix = rng.dirichlet(np.ones(k), k) * (1.0 - np.eye(k))
    matrix = matrix / matrix.sum(axis=1, keepdims=True) if k > 1 else np.ones((1, 1))
    durations = rng.dirichlet(np.ones(longest), k)
    if rng.random() < 0.5:
        durations[rng.random(durations.shape) < 0.3] = 0.0
        durations += 1e-3 * (durations.sum(axis=1, keepdims=True) == 0.0)
        durations /= durations.sum(axis=1, keepdims=True)
    x = rng.integers(0, n_symbols, int(rng.integers(1, 7))).astype(float)
    x[rng.random(len(x)) < 0.2] = np.nan
    return rng.dirichlet(np.ones(k)), matrix, durations, rng.dirichlet(np.ones(n_symbols), k), x


@pytest.mark.parametrize("seed", range(150))
def test_everything_equals_enumeration(seed):
    start, matrix, durations, probabilities, x = random_case(seed)
    hmm = HiddenMarkovModel.from_parameters(start, matrix, probabilities, durations=durations)
    likelihoods = np.array([np.ones(len(start)) if np.isnan(v) else probabilities[:, int(v)] for v in x])
    lasting = durations if len(start) > 1 else np.array([[0.0] * len(x) + [1.0]])  # the only state goes on
    total, single, best, _ = answers(start, matrix, lasting, likelihoods)
    assert np.exp(hmm.log_likelihood(x)) == pytest.approx(total, rel=1e-12, abs=0)
    np.testing.assert_allclose(hmm.predict_proba(x), single, **CLOSE)
    logs, _ = hmm._paths(hmm._read(x))
    assert np.exp(logs[0]) == pytest.approx(best, rel=1e-12, abs=0)
    paths = hmm.decode(x, k=3)
    assert np.exp(paths.log_probabilities[0]) == pytest.approx(best, rel=1e-12, abs=0)
    assert len({tuple(p) for p in paths.states.tolist()}) == len(paths.states)  # ages do not repeat a path
    last = answers(start, matrix, lasting, likelihoods[:1])[1]
    np.testing.assert_allclose(hmm.filter(x)[0], last[0], **CLOSE)


@pytest.mark.parametrize("k", [2, 3])
def test_geometric_durations_are_a_markov_chain(k):
    rng = np.random.default_rng(k)
    matrix, start, rates = rng.dirichlet(np.ones(k), k) + np.eye(k), rng.dirichlet(np.ones(k)), rng.random(k)[:, None]
    matrix /= matrix.sum(axis=1, keepdims=True)
    x = rng.poisson(rates[rng.integers(0, k, 60)] * 8.0)[:, 0].astype(float)
    stays, longest = np.diagonal(matrix), 80
    n = np.arange(longest)
    lasting = (1.0 - stays)[:, None] * stays[:, None] ** n
    lasting[:, -1] = stays ** (longest - 1)
    moves = matrix * (1.0 - np.eye(k))
    moves /= moves.sum(axis=1, keepdims=True)
    emission = emissions.Poisson(rates=8.0 * rates)
    plain = HiddenMarkovModel.from_parameters(start, matrix, emission)
    semi = HiddenMarkovModel.from_parameters(start, moves, emission, durations=lasting)
    assert semi.log_likelihood(x)[0] == pytest.approx(plain.log_likelihood(x)[0], abs=1e-9)
    np.testing.assert_allclose(semi.predict_proba(x), plain.predict_proba(x), atol=1e-10)
    np.testing.assert_allclose(semi.filter(x), plain.filter(x), atol=1e-10)
    np.testing.assert_allclose(semi.forecast(x, 5).states, plain.forecast(x, 5).states, atol=1e-10)
    np.testing.assert_allclose(semi.stationary_, plain.stationary_, atol=1e-6)
    assert semi.predict(x).tolist() == plain.predict(x).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_expected_durations_are_the_slopes_of_the_likelihood(seed):
    """The slope d ln P(x) / d ln p(d), where the other p are rescaled, is n(d) − p(d) Σ n."""
    start, matrix, lasting, probabilities, x = random_case(seed)
    if len(start) == 1 or lasting.shape[1] == 1:
        return
    lasting = (lasting + 0.05) / (lasting + 0.05).sum(axis=1, keepdims=True)
    rules = semi_markov.without_stays(rules_of(len(start)))
    made = semi_markov.given_durations(start, matrix, lasting, rules)
    data = observed(read_panel(x))

    def run_of(own):
        dynamics = semi_markov.given_durations(start, matrix, own, rules)
        logs = np.log(probabilities.T)
        table = np.where(np.isnan(data.x), 0.0, logs[np.nan_to_num(data.x[:, 0]).astype(int)])
        frames = Frames(table[:, dynamics.states], data.rows, data.offsets)
        return dynamics, chains.expectations(dynamics.chain(data.gaps), frames)

    found = run_of(lasting)[1]
    counts = made.segments(found.starts, found.pairs)[2]
    h = 1e-5
    for i in range(len(start)):
        slopes = np.empty(lasting.shape[1])
        for d in range(lasting.shape[1]):
            ends = []
            for sign in (1.0, -1.0):
                own = lasting.copy()
                own[i, d] *= np.exp(sign * h)
                own[i] /= own[i].sum()
                ends.append(run_of(own)[1].log_likelihood.sum())
            slopes[d] = (ends[0] - ends[1]) / (2 * h)
        if not made._stays[i]:
            np.testing.assert_allclose(slopes, counts[i] - lasting[i] * counts[i].sum(), atol=1e-7)
            assert np.abs(slopes).max() < len(x)
    visited = found.starts.sum() + found.pairs[0].sum()
    assert visited == pytest.approx(len(x))


@pytest.mark.parametrize("family", ["poisson", "negative-binomial", "free"])
@pytest.mark.parametrize("seed", range(6))
def test_em_never_lowers_the_objective(family, seed):
    rng = np.random.default_rng(seed)
    x = [rng.integers(0, 3, n).astype(str) for n in (25, 1, 14)]
    hmm = HiddenMarkovModel(
        3, durations=family, max_duration=int(rng.integers(1, 9)), random_state=seed, restarts=0, alpha=1.5
    )
    panel = read_panel(x)
    data = observed(panel)
    model, objectives = hmm._first(panel, data, 3, rng, seed % 2), []
    for _ in range(20):  # without the protection of a fit against falls
        run = Run(model, data)
        objectives.append(run.objective)
        model = maximised(model, data, run._found, run._rows)
    assert np.diff(objectives).min() >= -1e-9
    assert objectives[-1] > objectives[0]
    lasting = model.dynamics.durations
    assert lasting.sum(axis=1) == pytest.approx(1.0)
    assert np.diagonal(run.model.dynamics.matrix).tolist() == [0.0, 0.0, 0.0]


def simulated(family, n=6000):
    days = np.arange(1, 41)
    if family == "poisson":
        logs = [(days - 1) * np.log(m) - np.cumsum(np.log(np.maximum(days - 1, 1))) for m in (4.0, 15.0)]
    else:
        logs = [0.0 * days + np.log(np.isin(days, own) + 1e-300) for own in ([3, 4], [2, 12])]
    lasting = np.exp(np.array(logs) - np.max(logs, axis=1, keepdims=True))
    lasting /= lasting.sum(axis=1, keepdims=True)
    known = emissions.Gaussian("diagonal", means=[[0.0], [3.0]], covariances=[[1.0], [1.0]])
    hmm = HiddenMarkovModel.from_parameters([0.5, 0.5], [[0, 1], [1, 0]], known, durations=lasting)
    x, z = hmm.sample(n, random_state=1)
    return hmm, x, z


@pytest.mark.parametrize(
    ("truth", "family"), [("poisson", "poisson"), ("poisson", "negative-binomial"), ("two", "free")]
)
def test_durations_are_recovered(truth, family):
    hmm, x, z = simulated(truth)
    fitted = HiddenMarkovModel(2, "gaussian", durations=family, max_duration=40, random_state=0, restarts=0).fit(x)
    days = np.arange(1, 41)
    assert fitted.durations_ @ days == pytest.approx(hmm.durations_ @ days, rel=0.05)
    assert np.abs(fitted.durations_ - hmm.durations_).sum(axis=1).max() < (0.35 if family == "free" else 0.15)
    assert (fitted.predict(x) == z).mean() > 0.95
    plain = HiddenMarkovModel(2, "gaussian", random_state=0, restarts=0).fit(x)
    assert fitted.bic_ > plain.bic_
    sizes = {"poisson": 2, "negative-binomial": 4, "free": 2 * 39}
    assert fitted.n_parameters_ == sizes[family] + 1 + 4  # no choice of the next state
    assert fitted.stationary_ == pytest.approx(np.bincount(z) / len(z), abs=0.03)


def test_samples_and_forecasts_have_the_durations():
    hmm, _, _ = simulated("two")
    _, z = hmm.sample(20_000, random_state=3)
    cuts = np.flatnonzero(np.diff(z)) + 1
    runs, first = np.diff(cuts), z[cuts[:-1]]
    assert set(runs[first == 0]) == {3, 4}
    assert set(runs[first == 1]) == {2, 12}
    ahead = hmm.forecast(np.array([3.0, 3.0]), 2)  # state 1 has lasted for two steps
    assert ahead.states[0] == pytest.approx([0.5, 0.5], abs=0.05)
    why = hmm.explain(np.array([3.0, 3.0, 0.0])).steps[2]
    assert why.state == 0
    assert why.past == pytest.approx(np.log(ahead.states[0, 0] / ahead.states[0, 1]), abs=0.1)
    assert hmm.score(np.zeros(5)) == pytest.approx(hmm.log_likelihood(np.zeros(5))[0] / 5)


@pytest.mark.parametrize("family", ["poisson", "negative-binomial", "free"])
def test_file(family, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200) + 4.0 * (np.arange(200) // 10 % 2)
    hmm = HiddenMarkovModel(2, "gaussian", durations=family, max_duration=20, random_state=0, restarts=0).fit(x)
    read = HiddenMarkovModel.from_content(hmm.to_content())
    assert np.array_equal(read.durations_, hmm.durations_)
    assert np.array_equal(read.predict_proba(x), hmm.predict_proba(x))
    again = read.set_params(warm_start=True).fit(x)
    assert again.log_likelihood_ == pytest.approx(hmm.log_likelihood_, abs=1e-2)
    assert (np.diagonal(again.transitions_) == np.diagonal(hmm.transitions_)).all()
    content = hmm.to_content()
    content["durations"] = {**content["durations"], "durations": np.ones((2, 20))}
    with pytest.raises(ValueError, match="durations: probabilities must"):
        HiddenMarkovModel.from_content(content)


def test_labels_ties_topologies_and_hard_learning():
    text = "aaabbaaabbbaab"
    labels = [[int(c == "b") for c in text]]
    with pytest.warns(DataWarning, match="lasts as long as it may"):
        hmm = HiddenMarkovModel(durations="free", max_duration=3).fit([text], y=labels)
    # runs: aaa bb aaa bbb aa, and b, which goes on: its duration is that of those before, 2 or 3
    assert hmm.durations_[0] == pytest.approx([0.0, 1 / 3, 2 / 3], abs=1e-4)
    assert hmm.durations_[1] == pytest.approx([0.0, 0.5, 0.5], abs=1e-4)
    assert hmm.start_.tolist() == [1.0, 0.0]
    forward = HiddenMarkovModel(3, durations="poisson", topology="left-to-right", random_state=0).fit(
        ["aaabbc", "aabbcc"]
    )
    assert (np.diff(forward.predict(["aabbbcc"])[0]) >= 0).all()
    assert forward.transitions_[2].tolist() == [0.0, 0.0, 1.0]
    with pytest.warns(DataWarning, match="lasts as long as it may"):
        hard = HiddenMarkovModel(2, durations="free", max_duration=3, hard=True, random_state=0).fit(["aaabbb" * 5])
    assert hard.durations_[:, 2] == pytest.approx(1.0)
    tied = HiddenMarkovModel(3, durations="poisson", ties=[0, 1, 0], random_state=0, max_duration=12).fit(
        ["aaabbb" * 8]
    )
    assert tied.emissions_.probabilities.shape == (2, 2)


def test_em_with_single_steps_and_one_state():
    one = HiddenMarkovModel(1, "poisson", durations="poisson", max_duration=4).fit(np.array([1, 2, 3, 2, 1, 1]))
    plain = HiddenMarkovModel(1, "poisson").fit(np.array([1, 2, 3, 2, 1, 1]))
    assert one.log_likelihood_ == pytest.approx(plain.log_likelihood_)
    assert one.n_parameters_ == plain.n_parameters_
    with pytest.warns(DataWarning, match="parameters"):
        HiddenMarkovModel(2, durations="free", random_state=0).fit(["a", "b"])


def test_longest_duration_is_warned_of():
    x = np.repeat([0.0, 5.0] * 6, 10) + np.random.default_rng(0).normal(size=120)
    with pytest.warns(DataWarning, match="lasts as long as it may, 10 steps"):
        HiddenMarkovModel(2, "gaussian", durations="free", max_duration=10, random_state=0).fit(x)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"durations": "weibull"}, "durations must be one of"),
        ({"durations": "free", "max_duration": 0}, "max_duration must be"),
        ({"max_duration": 5}, "max_duration must come with durations"),
        ({"durations": "free", "start": "stationary"}, "start must be 'free'"),
        ({"durations": "free", "sticky": 1.0}, "sticky must be 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        HiddenMarkovModel(2, **parameters).fit(["abab"])


def test_bad_calls():
    with pytest.raises(DataError, match="times must be regular with durations"):
        HiddenMarkovModel(2, durations="free", time="t", random_state=0).fit({"t": [0, 1, 2, 5, 6], "x": list("abbab")})
    with pytest.raises(DataError, match="partial_fit must have"):
        HiddenMarkovModel(2, durations="free").partial_fit(["ab"], y=[[0, 1]])
    half = np.array([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(DataError, match="transitions must be to other states"):
        HiddenMarkovModel.from_parameters([0.5, 0.5], half, half, durations=half)
    swap = [[0.0, 1.0], [1.0, 0.0]]
    for wrong in ([[1.0]], [[1.0, 1.0], [0.5, 0.5]], "free"):
        with pytest.raises(DataError, match="durations must"):
            HiddenMarkovModel.from_parameters([0.5, 0.5], swap, half, durations=wrong)
    with pytest.raises(DataError, match="start must be probabilities"):
        HiddenMarkovModel.from_parameters("stationary", swap, half, durations=half)
    plain = HiddenMarkovModel.from_parameters([0.5, 0.5], half, half)
    with pytest.raises(AttributeError, match="needs a model with durations"):
        plain.durations_  # noqa: B018
    assert Model(plain.model_.dynamics, plain.emissions_, np.arange(2)).log_prior() == 0.0
