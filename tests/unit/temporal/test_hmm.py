"""Hidden Markov models: published numbers, learning, labels, gaps in time, files, bad input."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.hidden_chains import all_paths
from tunbridge.temporal import training
from tunbridge.temporal.emissions import (
    Autoregressive,
    Categorical,
    Emission,
    Gaussian,
    GaussianMixture,
    Independent,
    NegativeBinomial,
    Poisson,
    StudentT,
)

DIARY = [int(c) for c in "233232322313311121113121112332322"]
EARTHQUAKES = (
    "13 14 8 10 16 26 32 27 18 32 36 24 22 23 22 18 25 21 21 14 8 11 14 23 18 17 19 20 22 19 13 26 13 14 22 24 "
    "21 22 26 21 23 24 27 41 31 27 35 26 28 36 39 21 17 22 17 19 15 34 10 15 22 18 15 20 15 22 19 16 30 27 29 23 "
    "20 16 21 21 25 16 18 15 18 14 10 15 8 15 6 11 8 7 18 16 13 12 13 20 15 16 12 18 15 16 13 15 16 11 11 "
)
"""Major earthquakes a year, 1900–2006 (Zucchini, MacDonald and Langrock 2016, table 1.1)."""


def umbrella():
    return tb.HiddenMarkovModel.from_parameters(
        [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], symbols=["u", "n"], states=["rain", "dry"]
    )


def ice_cream(**parameters):
    """Eisner's first guess: cold and hot days, and a state that ends the diary."""
    return tb.HiddenMarkovModel.from_parameters(
        [0.5, 0.5, 0.0],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]],
        [[0.0, 0.7, 0.2, 0.1], [0.0, 0.1, 0.2, 0.7], [1.0, 0.0, 0.0, 0.0]],
        symbols=["stop", 1, 2, 3],
        states=["C", "H", "stop"],
        **parameters,
    )


# Published numbers


def test_umbrella_of_russell_and_norvig():
    hmm, days = umbrella(), [["u", "u", "n", "u", "u"]]
    np.testing.assert_allclose(hmm.filter(days)[0][:, 0], [0.8182, 0.8834, 0.1907, 0.7308, 0.8673], atol=5e-5)
    np.testing.assert_allclose(hmm.predict_proba(days)[0][:, 0], [0.8673, 0.8204, 0.3075, 0.8204, 0.8673], atol=5e-5)
    np.testing.assert_allclose(np.exp(hmm.log_likelihood(days)), 0.0343037005, rtol=1e-8)
    np.testing.assert_allclose(np.exp(hmm.log_likelihood([["u", "u"]])), 0.3515, rtol=1e-12)
    assert hmm.predict(days)[0].tolist() == ["rain", "rain", "dry", "rain", "rain"]
    np.testing.assert_allclose(hmm.forecast([["u", "u"]], 2)[0].states[:, 0], [0.6533, 0.5613], atol=5e-5)
    np.testing.assert_allclose(hmm.predict_proba([["u", "u"]])[0][0, 0], 0.883357, atol=5e-7)


def test_walk_shop_clean():
    hmm = tb.HiddenMarkovModel.from_parameters(
        [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]],
        symbols=["walk", "shop", "clean"], states=["Rainy", "Sunny"],
    )  # fmt: skip
    path = hmm.decode([["walk", "shop", "clean"]])
    np.testing.assert_allclose(np.exp(path.log_probabilities), 0.01344, rtol=1e-12)
    assert path.states.tolist() == [["Sunny", "Rainy", "Rainy"]]
    found = hmm.predict_proba([["walk", "shop", "clean"]])[0][:, 0]
    np.testing.assert_allclose(found, [0.231703, 0.624063, 0.863977], atol=5e-7)


def test_ice_cream_of_jurafsky_and_martin():
    hmm = tb.HiddenMarkovModel.from_parameters(
        [0.2, 0.8], [[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]], symbols=[1, 2, 3], states=["C", "H"]
    )
    np.testing.assert_allclose(np.exp(hmm.log_likelihood([3, 1, 3])), 0.028562, rtol=1e-12)
    best = hmm.decode([3, 1, 3])
    np.testing.assert_allclose(np.exp(best.log_probabilities), 0.0128, rtol=1e-12)
    assert best.states.tolist() == [["H", "C", "H"]]
    forward = hmm.filter([3, 1, 3]) * np.exp([hmm.log_likelihood([3, 1, 3][:t])[0] for t in (1, 2, 3)])[:, None]
    np.testing.assert_allclose(forward, [[0.02, 0.32], [0.069, 0.0404], [0.005066, 0.023496]], rtol=1e-12)


def test_diary_of_eisner():
    days = [[*DIARY, "stop"]]
    np.testing.assert_allclose(ice_cream().log_likelihood(days), -41.537818, atol=5e-7)
    for n, perplexity in ((1, 2.9466), (2, 2.8794), (10, 2.8271)):
        with pytest.warns(tb.ConvergenceWarning, match="did not converge"):
            hmm = ice_cream(warm_start=True, max_iterations=n, tolerance=0.0).fit(days)
        assert abs(np.exp(-hmm.log_likelihood_ / 34) - perplexity) < 5e-5
    hmm = ice_cream(warm_start=True, tolerance=1e-14).fit(days)
    np.testing.assert_allclose(hmm.log_likelihood_, -35.332895, atol=5e-7)
    np.testing.assert_allclose(hmm.emissions_.probabilities[0, 1:], [0.640481, 0.148070, 0.211448], atol=5e-6)
    np.testing.assert_allclose(hmm.emissions_.probabilities[1, 1:3], [0.0, 0.534391], atol=5e-6)
    np.testing.assert_allclose(np.diag(hmm.transitions_)[:2], [0.933779, 0.864944], atol=5e-6)


def test_weather_of_rabiner():
    matrix = [[0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]
    hmm = tb.HiddenMarkovModel.from_parameters([0, 0, 1], matrix, np.eye(3), symbols=["rain", "cloudy", "sunny"])
    days = [["sunny", "sunny", "sunny", "rain", "rain", "sunny", "cloudy", "sunny"]]
    np.testing.assert_allclose(np.exp(hmm.log_likelihood(days)), 1.536e-4, rtol=1e-12)
    np.testing.assert_allclose(1 / (1 - np.diag(hmm.transitions_)), [5 / 3, 2.5, 5], rtol=1e-12)


@pytest.mark.parametrize(
    ("start", "n", "log_likelihood", "rates"),
    [
        ("stationary", 1, -391.9189, [19.364]),
        ("stationary", 2, -342.3183, [15.472, 26.125]),
        ("stationary", 3, -329.4603, [13.146, 19.721, 29.714]),
        ("stationary", 4, -327.8316, None),
        ("free", 2, -341.8787, None),
        ("free", 3, -328.5275, None),
        ("free", 4, -326.2851, None),
    ],
)
def test_earthquakes_of_zucchini(start, n, log_likelihood, rates):
    x = np.array(EARTHQUAKES.split(), int)
    hmm = tb.HiddenMarkovModel(n, "poisson", start=start, restarts=40, tolerance=1e-9, random_state=1).fit(x)
    assert abs(hmm.log_likelihood_ - log_likelihood) < 1e-4
    free = n * n if start == "stationary" else n * n + n - 1
    assert hmm.n_parameters_ == free
    np.testing.assert_allclose(hmm.aic_, hmm.log_likelihood_ - free, rtol=1e-12)
    if rates:
        np.testing.assert_allclose(hmm.emissions_.rates[:, 0], rates, atol=1.5e-3)


@pytest.mark.shared
def test_speed_of_depmix(shared_data):
    table = tb.read_table(shared_data / "sequences" / "speed.csv")
    rt, correct = table["rt"], table["corr"]
    hmm = tb.HiddenMarkovModel(2, "gaussian", random_state=0, tolerance=1e-9)
    assert abs(hmm.fit(rt).log_likelihood_ + 88.7306) < 6e-5
    np.testing.assert_allclose(hmm.emissions_.means[:, 0], [5.5104, 6.3850], atol=6e-5)
    assert abs(-2 * hmm.bic_ - 220.053) < 6e-4
    series = np.repeat([1, 2, 3], [168, 134, 137])
    assert abs(tb.HiddenMarkovModel(2, "gaussian", random_state=0, tolerance=1e-9, sequence="s").fit(
        {"rt": rt, "s": series}).log_likelihood_ + 84.3417) < 6e-5  # fmt: skip
    both = tb.HiddenMarkovModel(2, random_state=0, tolerance=1e-9, sequence="s")
    assert abs(both.fit({"rt": rt, "corr": correct, "s": series}).log_likelihood_ + 296.1078) < 6e-5
    assert abs(tb.HiddenMarkovModel(1, "gaussian").fit(rt).log_likelihood_ + 305.33) < 5e-3


# Learning


FAMILIES = {
    "categorical": (Categorical(), "symbols"),
    "categorical with prior": (Categorical(alpha=1.5), "symbols"),
    "gaussian": (Gaussian("diagonal"), "numbers"),
    "full": (Gaussian("full"), "numbers"),
    "tied": (Gaussian("tied"), "numbers"),
    "mixture": (GaussianMixture(2, "diagonal"), "numbers"),
    "poisson": (Poisson(), "counts"),
    "negative binomial": (NegativeBinomial(), "counts"),
    "student": (StudentT(), "numbers"),
    "autoregressive": (Autoregressive(1), "numbers"),
}


def sequences(kind, rng):
    lengths = rng.integers(1, 12, rng.integers(1, 5))
    make = {
        "symbols": lambda n: rng.choice(list("abc"), n).astype(object),
        "counts": lambda n: rng.poisson(rng.choice([1.0, 9.0], (n, 1))).astype(float),
        "numbers": lambda n: rng.standard_normal((n, 2)) + rng.choice([0.0, 5.0], (n, 1)),
    }[kind]
    parts = [make(int(n)) for n in lengths]
    for part in parts:
        if kind != "symbols" or len(part) > 1:
            part[rng.random(len(part)) < 0.15] = None if kind == "symbols" else np.nan
    return parts


@pytest.mark.filterwarnings("ignore::tunbridge.errors.TunbridgeWarning")
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_em_never_lowers_its_objective(name, seed):
    emission, kind = FAMILIES[name]
    rng = np.random.default_rng(seed)
    x = sequences(kind, rng)
    n = int(rng.integers(1, 4))
    hmm = tb.HiddenMarkovModel(
        n,
        emission,
        topology=str(rng.choice(["full", "left-to-right", "banded", "cyclic"])),
        start=str(rng.choice(["free", "stationary"])),
        alpha=float(rng.choice([1.0, 1.7])),
        sticky=float(rng.choice([0.0, 2.0])),
        restarts=0,
        max_iterations=25,
        tolerance=0.0,
        random_state=int(seed),
    )
    panel, states, data = hmm._taken(x, None, rng.integers(1, 3, len(x)), None)
    run = training.Run(hmm._first(panel, data, len(states), rng, int(rng.integers(0, 3))), data)
    for _ in range(8):  # fit itself would take a fall back
        before = run.objective
        run.model = training.maximised(run.model, data, run._found, run._rows)
        run._expect()
        assert run.objective >= before - 1e-9 * max(1.0, abs(before))
    hmm.fit(x, sample_weight=data.weights)
    assert np.isfinite([step.objective for step in hmm.trace_]).all()
    assert np.isfinite(hmm.transitions_).all()
    np.testing.assert_allclose(hmm.transitions_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(hmm.start_.sum(), 1.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tunbridge.errors.TunbridgeWarning")
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_alpha_below_one_gives_probabilities(alpha):
    hmm = tb.HiddenMarkovModel(3, Categorical(alpha=alpha), alpha=alpha, start_alpha=alpha, random_state=0)
    hmm.fit(["abcabcaabb", "bca", "a"])
    for rows in (hmm.transitions_, hmm.start_, hmm.emissions_.probabilities):
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=-1), 1.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
def test_constant_columns_one_symbol_one_step_and_empty_sequences():
    for x in ([np.zeros((5, 2)), np.zeros((1, 2))], [np.array([1.0])]):
        hmm = tb.HiddenMarkovModel(2, "gaussian", random_state=0).fit(x)
        assert np.isfinite(hmm.log_likelihood_)
        assert np.isfinite(hmm.predict_proba(x)[0]).all()
    hmm = tb.HiddenMarkovModel(2, random_state=0).fit(["aaaa", "", "a"])
    assert hmm.log_likelihood(["aaaa", "", "a"]).tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert hmm.predict(["", "a"])[0].shape == (0,)


@pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
def test_hard_learning_and_restarts():
    x = umbrella().sample(300, random_state=3).observations
    soft = tb.HiddenMarkovModel(2, random_state=0).fit(x)
    hard = tb.HiddenMarkovModel(2, hard=True, restarts=0, random_state=0).fit(x)
    assert hard.trace_[-1].objective == pytest.approx(hard.decode(x).log_probabilities[0], rel=1e-9)
    assert hard.log_likelihood(x)[0] <= soft.log_likelihood(x)[0] + 1e-6
    again = tb.HiddenMarkovModel(2, random_state=0, n_jobs=1).fit(x)
    np.testing.assert_array_equal(soft.transitions_, again.transitions_)
    few = tb.HiddenMarkovModel(2, restarts=0, random_state=0).fit(x)
    assert few.log_likelihood_ <= soft.log_likelihood_ + 1e-6


def test_labels_are_counted_exactly():
    x = ["abcab", "cc", ""]
    y = [["s", "t", "t", "s", "s"], ["t", "s"], []]
    hmm = tb.HiddenMarkovModel().fit(x, y)
    assert hmm.state_names_ == ("s", "t")
    np.testing.assert_array_equal(hmm.start_, [0.5, 0.5])
    np.testing.assert_array_equal(hmm.transitions_, [[1 / 2, 1 / 2], [2 / 3, 1 / 3]])
    np.testing.assert_array_equal(hmm.emissions_.probabilities, [[2 / 4, 1 / 4, 1 / 4], [0, 1 / 3, 2 / 3]])
    weighted = tb.HiddenMarkovModel(alpha=1.5).fit(x[:2], y[:2], sample_weight=[2, 0])
    np.testing.assert_allclose(weighted.transitions_, [[2.5 / 5, 2.5 / 5], [2.5 / 5, 2.5 / 5]])
    parts = tb.HiddenMarkovModel().partial_fit(x[:1], y[:1]).partial_fit(x[1:], y[1:])
    np.testing.assert_array_equal(parts.transitions_, hmm.transitions_)
    np.testing.assert_array_equal(parts.emissions_.probabilities, hmm.emissions_.probabilities)
    with pytest.raises(tb.DataError, match="a label for every step"):
        tb.HiddenMarkovModel().partial_fit(["ab"], [["s", None]])


def test_some_labels():
    rng = np.random.default_rng(0)
    true = tb.HiddenMarkovModel.from_parameters(
        [1, 0, 0], [[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]], Gaussian("diagonal", means=[[0.0], [3.0], [0.5]],
        covariances=np.ones((3, 1))))  # fmt: skip
    x, z = true.sample(600, random_state=1)
    y = np.array(["low", "high", "middle"], object)[z]
    labels = np.where(rng.random(600) < 0.15, y, None)
    hmm = tb.HiddenMarkovModel(random_state=0).fit(x, labels)
    path = hmm.predict(x)
    assert set(path) <= {"low", "high", "middle"}
    plain = tb.HiddenMarkovModel(random_state=0).fit(x[labels != None], labels[labels != None])  # noqa: E711
    assert (path == y).mean() > 0.8
    assert hmm.score(x, y) == (path == y).mean()
    assert hmm.score(x, y) >= plain.score(x, y) - 0.05
    more = tb.HiddenMarkovModel(4, random_state=0).fit(x, np.where(y == "high", None, labels))
    assert more.state_names_ == ("low", "middle", "state 0", "state 1")
    with pytest.raises(tb.DataError, match="at most n_states = 2"):
        tb.HiddenMarkovModel(2).fit(x, y)


def test_constraints_and_fixed_parameters():
    x = umbrella().sample(200, random_state=1).observations
    hmm = tb.HiddenMarkovModel(3, topology="left-to-right", random_state=0).fit([x])
    assert (np.tril(hmm.transitions_, -1) == 0).all()
    np.testing.assert_array_equal(hmm.start_, [1, 0, 0])
    assert (np.diff(hmm.predict([x])[0]) >= 0).all()
    mask = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    masked = tb.HiddenMarkovModel(3, topology=mask, random_state=0).fit([x])
    assert (masked.transitions_[mask == 0] == 0).all()
    kept = umbrella().set_params(warm_start=True, fixed=["emissions", "start"]).fit([x])
    np.testing.assert_array_equal(kept.emissions_.probabilities, umbrella().emissions_.probabilities)
    np.testing.assert_array_equal(kept.start_, [0.5, 0.5])
    assert not np.allclose(kept.transitions_, umbrella().transitions_)
    tied = tb.HiddenMarkovModel(3, ties=[0, 1, 0], random_state=0).fit([x])
    assert tied.emissions_.probabilities.shape == (2, 2)
    assert tied.n_parameters_ == 2 + 6 + 2


def test_user_written_emission():
    class Exponential(Emission):
        def __init__(self, rates=None):
            self.rates_ = rates

        def log_likelihood(self, x):
            return np.where(np.isnan(x), 0.0, np.log(self.rates_) - self.rates_ * x)

        def fit(self, x, weights):
            seen = ~np.isnan(x)
            return Exponential((weights.T @ seen).ravel() / (weights.T @ np.where(seen, x, 0.0)).ravel())

        def sample(self, states, rng):
            return rng.exponential(1 / self.rates_[states])[:, None]

    rng = np.random.default_rng(0)
    x = np.concatenate([rng.exponential(1.0, 100), rng.exponential(20.0, 100), rng.exponential(1.0, 100)])
    hmm = tb.HiddenMarkovModel(2, Exponential(), random_state=0).fit(x)
    np.testing.assert_allclose(sorted(hmm.emissions_.rates_), [1 / 20, 1.0], rtol=0.4)
    assert hmm.forecast(x, 3).means["x"].shape == (3,)
    with pytest.raises(tb.DataError, match=r"emission of tb\.emissions to be saved"):
        hmm.save("never.tb")


# Missing values and gaps in time


def test_missing_values_are_marginalized():
    hmm = umbrella()
    both = np.logaddexp(hmm.log_likelihood([["u", "u", "n"]])[0], hmm.log_likelihood([["u", "n", "n"]])[0])
    np.testing.assert_allclose(hmm.log_likelihood([["u", None, "n"]])[0], both, rtol=1e-12)
    through = hmm.filter([["u", None]])[0][1]
    np.testing.assert_allclose(through, hmm.forecast([["u"]])[0].states[0], rtol=1e-12)


def test_gaps_in_time_are_missing_steps():
    hmm = umbrella().set_params(time="t", sequence="id", time_unit=1)
    frame = {"id": ["a"] * 4 + ["b"], "t": [0, 1, 4, 5, 7], "x": ["u", "n", "u", "u", "n"]}
    full = [["u", "n", None, None, "u", "u"], ["n"]]
    np.testing.assert_allclose(hmm.log_likelihood(frame), umbrella().log_likelihood(full), rtol=1e-12)
    kept = umbrella().predict_proba(full)
    np.testing.assert_allclose(hmm.predict_proba(frame)[:4], kept[0][[0, 1, 4, 5]], rtol=1e-12)
    options = {"warm_start": True, "tolerance": 1e-10, "max_iterations": 5000}
    fitted = hmm.set_params(**options).fit(frame)
    other = umbrella().set_params(**options).fit(full)
    np.testing.assert_allclose(fitted.log_likelihood_, other.log_likelihood_, rtol=1e-7)
    np.testing.assert_allclose(fitted.transitions_, other.transitions_, atol=1e-3)


def test_months_are_regular_and_answers_keep_the_order_of_rows():
    months = np.array(["2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"], "datetime64[D]")
    hmm = umbrella().set_params(time="month")
    frame = {"month": months, "x": ["u", "u", "n", "u"]}
    expected = umbrella().predict_proba([["u", "u", "n", None, "u"]])[0][[0, 1, 2, 4]]
    np.testing.assert_allclose(hmm.predict_proba(frame), expected, rtol=1e-12)
    order = [2, 0, 3, 1]
    shuffled = {"month": months[order], "x": np.array(frame["x"])[order]}
    np.testing.assert_allclose(hmm.predict_proba(shuffled), expected[order], rtol=1e-12)
    with pytest.warns(tb.DataWarning, match="order of 'month'"):
        tb.HiddenMarkovModel(1, time="month").fit(shuffled)


# Forms of input


def test_forms_of_sequences_agree():
    parts = [np.array([1.0, 2.0, 8.0]), np.array([9.0, 1.0])]
    hmm = tb.HiddenMarkovModel(2, "gaussian", random_state=0).fit([*parts, np.array([1.5, 8.5, 8.0])])
    expected = hmm.log_likelihood(parts)
    frame = {"id": [1, 1, 1, 2, 2], "x": np.concatenate(parts)}
    hmm.set_params(sequence="id")
    np.testing.assert_allclose(hmm.log_likelihood(frame), expected)
    np.testing.assert_allclose(hmm.log_likelihood(tb.as_table(frame)), expected)
    np.testing.assert_allclose(hmm.log_likelihood(pa.table(frame)), expected)
    np.testing.assert_allclose(hmm.log_likelihood(pa.array([p.tolist() for p in parts])), expected)
    np.testing.assert_allclose(hmm.log_likelihood([p[:, None] for p in parts]), expected)
    assert [p.tolist() for p in hmm.predict(parts)] == [[0, 0, 1], [1, 0]]
    assert hmm.predict(frame).tolist() == [0, 0, 1, 1, 0]
    pandas = pytest.importorskip("pandas")
    np.testing.assert_allclose(hmm.log_likelihood(pandas.DataFrame(frame)), expected)


def test_mixed_columns_and_a_mapping_of_emissions():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1, 0], 40)
    frame = {"size": rng.normal(5.0 * z, 1.0), "kind": np.array(["a", "b"])[z], "n": rng.poisson(1 + 8 * z)}
    auto = tb.HiddenMarkovModel(2, random_state=0, columns=["size", "kind"]).fit(frame)
    assert isinstance(auto.emissions_, Independent)
    assert (auto.predict(frame) == z).all()
    hmm = tb.HiddenMarkovModel(2, {"n": "poisson", "size": "student-t"}, random_state=0).fit(frame)
    assert [type(part) for _, part in hmm.emissions_.parts] == [StudentT, Categorical, Poisson]
    assert (hmm.predict(frame) == z).all()
    with pytest.raises(tb.DataError, match="must name columns"):
        tb.HiddenMarkovModel(2, {"weight": "poisson"}).fit(frame)
    drawn = hmm.sample(20, random_state=0).observations
    assert drawn.names == ("size", "kind", "n")


# Answers


@pytest.mark.parametrize("seed", range(10))
def test_explanation_adds_up(seed):
    x = umbrella().sample(8, random_state=seed).observations.astype(object)
    x[3] = None
    for row, p in zip(umbrella().explain(x).steps, umbrella().predict_proba(x), strict=True):
        odds = np.log(p.max() / p.min())
        assert row.past + row.now + row.future == pytest.approx(odds, abs=1e-9)
        assert row.probability == pytest.approx(p.max())


def test_forecast_of_numbers():
    emission = Gaussian("diagonal", means=[[0.0], [10.0]], covariances=[[1.0], [4.0]])
    hmm = tb.HiddenMarkovModel.from_parameters([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], emission)
    forecast = hmm.forecast(np.array([0.0, 10.0]), 40)
    np.testing.assert_allclose(forecast.means["x"], 10 * forecast.states[:, 1], rtol=1e-12)
    np.testing.assert_allclose(forecast.states[-1], hmm.stationary_, rtol=1e-5)
    low, high = forecast.interval(0.9).T
    assert ((low < forecast.means["x"]) & (forecast.means["x"] < high)).all()
    assert abs((forecast.draws[:, 5, 0] > 5).mean() - forecast.states[5, 1]) < 0.03
    assert forecast.to_pandas().shape == (40, 6)
    with pytest.raises(tb.DataError, match="must name a number"):
        forecast.quantile(0.5, "y")


def test_number_of_states():
    emission = Poisson(rates=[[1.0], [20.0]])
    x = tb.HiddenMarkovModel.from_parameters([1, 0], [[0.9, 0.1], [0.1, 0.9]], emission).sample(
        60, 6, random_state=0).observations  # fmt: skip
    hmm = tb.HiddenMarkovModel(emissions="poisson", random_state=0)
    for criterion in ("bic", "icl", "held-out"):
        choice = hmm.choose_states(x, range(1, 4), criterion, n_folds=3)
        assert choice.n_states == 2, criterion
        assert len(choice.model.state_names_) == 2
        assert choice.to_pandas().shape == (3, 4)
    with pytest.raises(tb.DataError, match="several sequences"):
        hmm.choose_states(x[0], criterion="held-out")


def test_sample_has_the_frequencies_of_the_model():
    hmm = umbrella()
    x, z = hmm.sample(20_000, random_state=0)
    assert abs((z == "rain").mean() - 0.5) < 0.02
    assert abs((x[z == "rain"] == "u").mean() - 0.9) < 0.01
    assert abs((z[1:] == z[:-1]).mean() - 0.7) < 0.01
    parts, states = hmm.sample(5, 3, random_state=0)
    assert [len(p) for p in parts] == [5, 5, 5]
    assert [len(p) for p in states] == [5, 5, 5]


def test_stream_equals_filter_and_fixed_lag_equals_smoothing():
    hmm = umbrella()
    x = hmm.sample(40, random_state=0).observations.tolist()
    x[5] = None
    expected = hmm.filter([x])[0]
    stream = hmm.stream()
    np.testing.assert_allclose([stream.push(v) for v in x[:10]], expected[:10], rtol=1e-10)
    np.testing.assert_allclose(stream.update([x[10:]]), expected[10:], rtol=1e-10)
    np.testing.assert_allclose(stream.log_likelihood, hmm.log_likelihood([x])[0], rtol=1e-12)
    lagged = hmm.stream(lag=3)
    found = [lagged.push(v) for v in x]
    for t in range(3, 40):
        np.testing.assert_allclose(found[t], hmm.predict_proba([x[: t + 1]])[0][t - 3], rtol=1e-9)
    emission = Autoregressive(1, intercepts=[[0.0]], coefficients=[[[0.5]]], covariances=[[[1.0]]])
    numbers = tb.HiddenMarkovModel.from_parameters([1.0], [[1.0]], emission)
    series = numbers.sample(30, random_state=0).observations
    stream = numbers.stream()
    stream.update(series)
    np.testing.assert_allclose(stream.log_likelihood, numbers.log_likelihood(series)[0], rtol=1e-12)


def test_stream_raises_an_alarm_when_the_model_no_longer_fits():
    emission = Gaussian("diagonal", means=[[0.0], [5.0]], covariances=[[1.0], [1.0]])
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0], [[0.9, 0.1], [0.1, 0.9]], emission)
    usual = hmm.sample(2000, random_state=5).observations
    stream = hmm.stream().watch()
    stream.update(usual)
    assert not stream.alarm
    stream.update(usual[:200] + 3.0)
    assert stream.alarm
    assert 2000 <= stream.alarm_step < 2200
    single = hmm.stream().watch()
    for value in np.concatenate([usual, usual[:200] + 3.0]).tolist():
        single.push(value)
    assert single.alarm_step == stream.alarm_step


# Files


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore::tunbridge.errors.TunbridgeWarning")
def test_files_give_the_same_model(name, tmp_path):
    emission, kind = FAMILIES[name]
    x = sequences(kind, np.random.default_rng(4))
    hmm = tb.HiddenMarkovModel(2, emission, sticky=1.0, restarts=0, random_state=0).fit(x)
    hmm.save(tmp_path / "m.tb")
    same = tb.load(tmp_path / "m.tb")
    np.testing.assert_array_equal(hmm.log_likelihood(x), same.log_likelihood(x))
    assert same.get_params()["sticky"] == 1.0
    assert same.bic_ == hmm.bic_
    assert type(same.emissions_) is type(hmm.emissions_)


def test_files_of_others_are_not_overwritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(tb.DataError, match="must not overwrite"):
        umbrella().save(tmp_path / "notes.txt")
    with pytest.warns(tb.DataWarning, match="is no pickle"):
        umbrella().save(tmp_path / "model.pkl")
    assert tb.load(tmp_path / "model.pkl").state_names_ == ("rain", "dry")


@pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
def test_files_of_mixed_columns_and_labels(tmp_path):
    frame = {"size": [1.0, 5.0, 1.2, 5.5], "kind": ["a", "b", "a", None], "state": ["lo", "hi", "lo", "hi"]}
    hmm = tb.HiddenMarkovModel().fit(frame, "state")
    hmm.save(tmp_path / "m.tb")
    same = tb.load(tmp_path / "m.tb")
    assert same.predict(frame).tolist() == hmm.predict(frame).tolist() == ["lo", "hi", "lo", "hi"]


# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: h.fit({"x": [1.0, 2.0]}), "must have a column 'id'"),
        (lambda h: h.fit({"id": [1, None], "t": [1, 2], "x": [1.0, 2.0]}), "to which sequence it belongs"),
        (lambda h: h.fit({"id": [1, 1], "t": [1, 1], "x": [1.0, 2.0]}), "must be distinct; 't' is 1 in several rows"),
        (lambda h: h.fit({"id": [1, 1], "t": [1, None], "x": [1.0, 2.0]}), "every row must have a time"),
        (lambda h: h.fit({"id": [1, 1], "t": [1, 2]}), "a column to observe"),
        (lambda h: h.fit(3), "must be an array, a text"),
        (lambda h: h.fit([np.zeros((2, 2)), np.zeros((2, 3))]), "equally many columns"),
        (lambda h: h.fit([[]]), "all sequences are empty"),
        (lambda h: h.set_params(emissions="poison").fit([1, 2]), "Did you mean 'poisson'"),
        (lambda h: h.set_params(emissions=3).fit([1, 2]), "log_likelihood, fit and sample"),
        (lambda h: h.set_params(topology="line").fit([1, 2]), "topology must be one of"),
        (lambda h: h.set_params(topology=[[1]]).fit([1, 2]), "matrix of 2 × 2"),
        (lambda h: h.set_params(n_states=0).fit([1, 2]), "n_states must be"),
        (lambda h: h.fit([1.0, 2.0], y=[1]), "a value for each of the 2 steps"),
        (lambda h: h.fit([1.0, 2.0], sample_weight=[1, 1]), "each of the 1 sequences"),
        (lambda h: h.predict([1.0]), "fit"),
        (lambda h: h.set_params(ties=[0, 2]).fit([1.0, 2.0]), "ties must have the number"),
        (lambda h: h.from_parameters([0.5, 0.6], np.eye(2), np.eye(2)), "start must sum to one"),
        (lambda h: h.from_parameters([0.5, 0.5], [[1, 0], [0.5, 0.4]], np.eye(2)), "row 1 of transitions must sum"),
        (lambda h: h.from_parameters([0.5, 0.5], np.eye(2), np.eye(3)), "emissions must have 2 states"),
        (lambda h: umbrella().log_likelihood([[["u", "u"]]]), "must have the columns that were learned"),
        (lambda h: umbrella().forecast([["u"]], 0), "steps must be"),
        (lambda h: umbrella().explain([["u"]], step=4), "step must be below"),
        (lambda h: umbrella().explain([["u"]], state="wet"), "must be one of the states"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(tb.DataError, match=message):
        call(tb.HiddenMarkovModel(2, "gaussian", sequence="id", time="t"))


def test_impossible_sequences_name_the_step():
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0], np.eye(2), np.eye(2), symbols=["a", "b"])
    assert hmm.log_likelihood(["aab", "aa"]).tolist() == [-np.inf, 0.0]
    for question in (hmm.predict, hmm.predict_proba, hmm.filter, hmm.forecast):
        with pytest.raises(tb.ImpossibleEvidenceError, match=r"sequence 1 must be possible.* at step 3"):
            question(["aab", "aa"])
    with pytest.warns(tb.UnseenStateWarning, match="'c'"):
        assert hmm.log_likelihood(["ac"])[0] == 0.0


def test_warnings_of_unused_states_and_few_steps():
    with pytest.warns(tb.DataWarning, match="parameters and only 3 steps"):
        tb.HiddenMarkovModel(3, random_state=0).fit(["abc"])


def test_k_best_paths_equal_enumeration():
    hmm = umbrella()
    likelihood = np.array([[0.9, 0.2], [0.1, 0.8]])
    x = ["u", "n", "u", "u"]
    frames = likelihood[[["u", "n"].index(v) for v in x]]
    paths = sorted(all_paths([0.5, 0.5], np.array([[[0.7, 0.3], [0.3, 0.7]]]), frames), key=lambda p: -p[1])
    found = hmm.decode([x], k=16)
    np.testing.assert_allclose(np.exp(found.log_probabilities), [w for _, w in paths], rtol=1e-12)
    np.testing.assert_allclose(found.posterior.sum(), 1.0, rtol=1e-12)
    pairs = itertools.pairwise(found.log_probabilities)
    assert all(a >= b for a, b in pairs)


# What reviewers and newcomers found


def test_series_texts_as_labels_and_lengths():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, 2, 9, 8, 1, 2], name="count")
    hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(series)
    assert hmm.variables_[0].name == "count"
    assert hmm.predict(series).tolist() == [0, 0, 1, 1, 0, 0]
    assert tb.HiddenMarkovModel().fit(["abab", "ba"], ["stst", "ts"]).state_names_ == ("s", "t")
    with pytest.raises(tb.DataError, match="look like lengths"):
        tb.HiddenMarkovModel().fit(np.arange(5.0), [2, 3])
    for wrong in ([None, [1.0]], [5, [1.0]], [[[1, 2], [3]]]):
        with pytest.raises(tb.DataError):
            tb.HiddenMarkovModel().fit(wrong)
    with pytest.raises(tb.DataError, match="y must"):
        tb.HiddenMarkovModel().fit([[1.0, 2.0, 3.0]], [0, 1, 0])
    with pytest.warns(tb.DataWarning, match=r"For one sequence of words write \[words\]"):
        tb.HiddenMarkovModel(1).fit(["wet", "dry", "wet", "wet", "dry", "wet"])
    with pytest.warns(tb.DataWarning, match="say time='year'"):
        tb.HiddenMarkovModel(1).fit({"year": np.arange(2000.0, 2020.0), "n": np.arange(20.0) % 7})


def test_labels_of_other_types_come_back():
    x = ["aabb", "ab"]
    for low, high in ((False, True), (0.0, 1.0), ("lo", "hi")):
        y = [[low, low, high, high], [low, high]]
        found = tb.HiddenMarkovModel().fit(x, y).predict(x)[1].tolist()
        assert found == [low, high]
        assert type(found[0]) is type(low)
    none = tb.HiddenMarkovModel(random_state=0).fit(["aabbaabb" * 3], [[None] * 24])
    assert none.state_names_ == (0, 1)
    mixed = tb.HiddenMarkovModel.from_parameters([0.5, 0.5], np.eye(2), np.eye(2), states=["a", 1])
    assert mixed.predict([0, 0]).tolist() == ["a", "a"]


def test_warm_start_keeps_the_meaning_of_labels_and_sizes():
    hmm = tb.HiddenMarkovModel(alpha=1.5).fit(["ab", "ba"], [["u", "v"], ["v", "u"]]).set_params(warm_start=True)
    again = hmm.fit(["bbba", "bba"], [["v", "v", "v", "u"], ["v", "v", "u"]])
    assert again.emissions_.probabilities.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(tb.DataError, match="y must hold the labels"):
        hmm.fit(["bb"], [["w", "v"]])
    with pytest.raises(tb.DataError, match="warm_start must go on with n_states = 2"):
        hmm.set_params(n_states=3).fit(["bb"])
    with pytest.raises(tb.DataError, match="fixed must come with warm_start"):
        tb.HiddenMarkovModel(fixed=["start"]).fit(["ab"])


@pytest.mark.filterwarnings("ignore::tunbridge.errors.TunbridgeWarning")
def test_labelled_emissions_with_hidden_parts_are_iterated():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    x = rng.standard_t(2, 300) + 6 * z
    hmm = tb.HiddenMarkovModel(emissions="student-t").fit(x, z)
    more = hmm.emissions_.fit(x[:, None], np.eye(2)[z])
    gain = (np.eye(2)[z] * (more.log_likelihood(x[:, None]) - hmm.emissions_.log_likelihood(x[:, None]))).sum()
    assert gain < 1e-3


def test_partial_fit_has_the_likelihood_and_size_of_all():
    parts = (["abcab", "cc"], [["s", "t", "t", "s", "s"], ["t", "s"]])
    whole = tb.HiddenMarkovModel(emissions=Categorical(alpha=1.5)).fit(*parts)
    other = tb.HiddenMarkovModel(emissions=Categorical(alpha=1.5)).partial_fit(parts[0][:1], parts[1][:1])
    other.partial_fit(parts[0][1:], parts[1][1:])
    assert other.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=1e-12)
    assert other.bic_ == pytest.approx(whole.bic_, rel=1e-12)
    more = tb.HiddenMarkovModel(emissions=Categorical(alpha=1.5)).fit(parts[0][:1], parts[1][:1])
    more.partial_fit(parts[0][1:], parts[1][1:])
    np.testing.assert_array_equal(more.transitions_, whole.transitions_)
    with pytest.raises(tb.DataError, match="partial_fit must follow"):
        umbrella().partial_fit(["u"], [["rain"]])


def test_autoregression_does_not_look_over_gaps():
    emission = Autoregressive(1, intercepts=[[0.0]], coefficients=[[[0.9]]], covariances=[[[1.0]]])
    hmm = tb.HiddenMarkovModel.from_parameters([1.0], [[1.0]], emission, time="t", time_unit=1, columns=["v"])
    near = hmm.log_likelihood({"t": [0, 1, 2], "v": [1.0, 1.0, 1.0]})[0]
    far = hmm.log_likelihood({"t": [0, 1, 9], "v": [1.0, 1.0, 1.0]})[0]
    assert near != far
    np.testing.assert_allclose(far, hmm.log_likelihood({"t": [0, 1], "v": [1.0, 1.0]})[0])
    assert np.isfinite(hmm.forecast({"t": [0, 1], "v": [1.0, np.nan]}, 2).means["v"]).all()


def test_refit_is_fit():
    hmm = tb.HiddenMarkovModel(1, "gaussian", time="t")
    assert hmm.fit({"t": [0, 1, 2, 3], "v": [1.0, 2.0, 1.0, 3.0]}).time_unit_ == 1.0
    assert hmm.fit({"t": [0, 10, 20, 30], "v": [1.0, 2.0, 1.0, 3.0]}).time_unit_ == 10.0


def test_interruption_keeps_the_best_so_far():
    calls = []

    def stop(*_):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    x = umbrella().sample(200, random_state=0).observations
    hmm = tb.HiddenMarkovModel(2, restarts=0, tolerance=0.0, progress=stop, random_state=0).fit(x)
    assert len(hmm.trace_) == 4
    assert np.isfinite(hmm.log_likelihood(x)[0])


def test_empty_sequences_and_no_steps():
    x = np.random.default_rng(0).normal(size=(50, 2))
    hmm = tb.HiddenMarkovModel(2, random_state=0).fit(x)
    assert hmm.predict(np.empty((0, 2))).shape == (0,)
    assert [len(part) for part in hmm.predict([[], x[:2]])] == [0, 2]
    assert len(hmm.sample(0).states) == 0
    with pytest.raises(tb.MemoryForecastError):
        hmm.forecast(x, 10**9)


def test_forecast_of_a_step_does_not_depend_on_how_many_follow():
    emission = Poisson(rates=[[2.0], [20.0]])
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0], [[0.9, 0.1], [0.1, 0.9]], emission)
    one, many = hmm.forecast([2, 3], 1), hmm.forecast([2, 3], 10)
    assert one.interval(0.9).tolist() == many.interval(0.9)[:1].tolist()


def test_impossible_states_in_an_explanation():
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0], [[0.5, 0.5], [0, 1]], [[0.5, 0.5], [0.9, 0.1]])
    assert "+∞" in repr(hmm.explain([0, 0, 1]))
    assert len(max(repr(hmm.explain([0, 0, 1])).splitlines(), key=len)) < 90


def test_streams_name_what_they_do_not_know_and_bridge_gaps():
    hmm = umbrella()
    with pytest.raises(tb.DataError, match="'y' must be an observed column"):
        hmm.stream().push({"y": "u"})
    with pytest.warns(tb.UnseenStateWarning, match="'maybe'"):
        hmm.stream().push("maybe")
    far = tb.HiddenMarkovModel.from_parameters(
        [1, 0], np.eye(2), Gaussian("diagonal", means=[[0.0], [60.0]], covariances=[[1.0], [1.0]]))  # fmt: skip
    stream = far.stream(lag=1)
    assert [stream.push(60.0).tolist() for _ in range(3)] == [[1.0, 0.0]] * 3
    timed = umbrella().set_params(time="t", time_unit=1)
    stream = timed.stream()
    found = [stream.push({"t": t, "x": x}) for t, x in ((2000, "u"), (2001, "n"), (2010, "u"))]
    np.testing.assert_allclose(found, timed.filter({"t": [2000, 2001, 2010], "x": ["u", "n", "u"]}), rtol=1e-10)
    assert "3 steps" in repr(stream)


def test_units_of_time():
    dates = np.array(["2024-01-01T08:00", "2024-01-02T08:30", "2024-01-05T08:10"], "datetime64[s]")
    hmm = umbrella().set_params(time="day", time_unit="1d")
    expected = umbrella().filter([["u", "n", None, None, "u"]])[0][[0, 1, 4]]
    np.testing.assert_allclose(hmm.filter({"day": dates, "x": ["u", "n", "u"]}), expected, rtol=1e-12)
    with pytest.raises(tb.DataError, match='"1d"'):
        hmm.set_params(time_unit="a day").filter({"day": dates, "x": ["u", "n", "u"]})


@pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
def test_degenerate_models_are_marked_not_chosen():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(120) < 0.3, 4.0, rng.normal(0.0, 1.0, 120))
    choice = tb.HiddenMarkovModel(emissions="gaussian", random_state=0).choose_states(x, [1, 2, 3])
    assert choice.n_states == 1
    assert "a variance near 0" in repr(choice)
