from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.temporal.dynamic import kinds
from tunbridge.temporal.emissions import Categorical, Gaussian, Independent, Poisson

K = 3


def matrices(rng, d):
    roots = rng.normal(size=(K, d, d))
    return roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(d)


def emission(kind, rng):
    return {
        "categorical": lambda: Categorical(probabilities=rng.dirichlet(np.ones(4), K)),
        "full": lambda: Gaussian("full", means=rng.normal(size=(K, 3)), covariances=matrices(rng, 3)),
        "tied": lambda: Gaussian("tied", means=rng.normal(size=(K, 2)), covariances=matrices(rng, 2)[0]),
        "diagonal": lambda: Gaussian(
            "diagonal", means=rng.normal(size=(K, 2)), covariances=rng.gamma(2.0, size=(K, 2))
        ),
        "spherical": lambda: Gaussian("spherical", means=rng.normal(size=(K, 2)), covariances=rng.gamma(2.0, size=K)),
        "independent": lambda: Independent((
            ((1,), Categorical(probabilities=rng.dirichlet(np.ones(2), K))),
            ((0, 2), Gaussian("full", means=rng.normal(size=(K, 2)), covariances=matrices(rng, 2))),
        )),
    }[kind]()  # fmt: skip


class TestHiddenMarkovModels:
    @pytest.mark.parametrize("kind", ["categorical", "full", "tied", "diagonal", "spherical", "independent"])
    def test_the_network_of_a_model_has_its_numbers(self, kind):
        rng = np.random.default_rng(len(kind))
        model = tb.HiddenMarkovModel.from_parameters(
            rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K), emission(kind, rng), states=["a", "b", "c"]
        )
        net = tb.DynamicBayesianNetwork.from_hmm(model)
        drawn = np.asarray(model.emissions_.sample(rng.integers(0, K, 25), rng))
        if kind in ("categorical", "diagonal", "spherical"):
            drawn[7] = np.nan
        columns = {v.name: [None if np.isnan(x) else x for x in drawn[:, i]] for i, v in enumerate(model.variables_)}
        close = {"rtol": 1e-10, "atol": 1e-12}
        np.testing.assert_allclose(net.log_likelihood(columns), model.log_likelihood(drawn), **close)
        np.testing.assert_allclose(net.filter(columns, "state").array, model.filter(drawn), **close)
        np.testing.assert_allclose(net.smooth(columns, "state").array, model.predict_proba(drawn), **close)
        assert net.most_probable(columns)["state"] == list(model.predict(drawn))
        assert np.abs(net.filter(columns, "state").array - model.predict_proba(drawn)).max() > 1e-6

    def test_a_fitted_model_of_texts(self):
        model = tb.HiddenMarkovModel(2, random_state=0).fit(["aabbab", "abab", "bbbaaa"])
        net = tb.DynamicBayesianNetwork.from_hmm(model, hidden="mood")
        assert net.nodes == ("mood", "x")
        steps = [{"x": letter} for letter in "abba"]
        np.testing.assert_allclose(net.smooth(steps, "mood").array, model.predict_proba("abba"), rtol=1e-10)

    def test_models_that_are_no_network(self):
        with pytest.raises(DataError, match="must be categorical or Gaussian to be a network; got Poisson"):
            tb.DynamicBayesianNetwork.from_hmm(
                tb.HiddenMarkovModel.from_parameters([0.5, 0.5], np.full((2, 2), 0.5), Poisson(rates=[[1.0], [2.0]]))
            )
        with pytest.raises(DataError, match="model must be a fitted HiddenMarkovModel; got str"):
            tb.DynamicBayesianNetwork.from_hmm("rain")
        model = tb.HiddenMarkovModel.from_parameters([1.0], [[1.0]], [[0.5, 0.5]])
        with pytest.raises(DataError, match="hidden must not be the name of a column; got 'x'"):
            tb.DynamicBayesianNetwork.from_hmm(model, hidden="x")


class TestDoors:
    def test_they_lead_to_the_kinds(self):
        net, half = tb.DynamicBayesianNetwork, [0.5, 0.5]
        stay, pair = [[0.8, 0.2], [0.3, 0.7]], {"a": [0.5, 0.5], "b": [0.1, 0.9]}
        both = {name: [[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.2, 0.8]]] for name in pair}
        assert net.hidden_markov(half, stay, stay, hidden="s") == kinds.hmm(half, stay, stay, hidden="s")
        moves = dict.fromkeys(pair, stay)
        assert net.factorial(pair, moves, both["a"]) == kinds.factorial(pair, moves, both["a"])
        seen = dict.fromkeys(pair, stay)
        assert net.coupled(pair, both, seen) == kinds.coupled(pair, both, seen)
        made = net.input_output([half, [0.1, 0.9]], both["a"], stay, ["off", "on"], given="switch")
        assert made == kinds.input_output([half, [0.1, 0.9]], both["a"], stay, ["off", "on"], given="switch")
        assert made.nodes == ("switch", "state", "symbol")
