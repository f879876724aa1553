"""The linear model of NB-SVM against a general minimiser, scikit-learn, and itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from oracles import linear as oracle
from tunbridge.errors import ConvergenceWarning, DataError, MemoryForecastError
from tunbridge.text import nb_svm
from tunbridge.text.nb_svm import LinearWeights, fit_linear

TIGHT = {"tol": 1e-13, "max_iter": 5000}


def corpus(seed=0, n=40, n_features=12, n_classes=3, length=1.0):
    """Return random documents, ratios, classes that follow from them but for some noise, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, n_features)) * rng.uniform(0.5, 1.5, n_features)
    X = length * X / np.maximum(1e-9, np.sqrt((X**2).sum(axis=1, keepdims=True)))
    ratios = rng.normal(size=(n_features, n_classes))
    classes = np.argmax(X @ ratios / length + rng.normal(scale=0.3, size=(n, n_classes)), axis=1)
    return X, ratios, classes, rng.integers(0, 4, n) * 0.5


@pytest.fixture(params=["plain", "compiled"])
def path(request, monkeypatch):
    """Make every problem small, or none."""
    monkeypatch.setattr(nb_svm, "_FEW", 10**9 if request.param == "plain" else -1)
    monkeypatch.setattr(nb_svm, "_FEW_CELLS", 10**9)
    return request.param


def same(one: LinearWeights, other: LinearWeights) -> None:
    """Require equality to the last bit."""
    assert np.array_equal(one.weights, other.weights)
    assert np.array_equal(one.intercept, other.intercept)
    assert (one.trace, one.gap, one.converged) == (other.trace, other.gap, other.converged)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("penalty", "centre", "length"), [(1.0, 0.0, 1.0), (0.2, 0.5, 1.0), (2.0, -1.0, 3.0)])
def test_the_optimum_is_that_of_a_general_minimiser(path, seed, penalty, centre, length):
    X, ratios, classes, weights = corpus(seed, n_classes=2 + seed, length=length)
    found = fit_linear(csr_array(X), ratios, classes, weights, penalty=penalty, centre=centre, **TIGHT)
    v, b, least = oracle.fit(X, ratios, classes, weights, penalty=penalty, centre=centre)
    assert found.converged
    assert found.gap <= 1e-13 * weights.sum()
    np.testing.assert_allclose(found.objective, least, rtol=1e-10)
    # the minimiser, not the ascent, leaves this error: it ends where its objective is flat to the last digit
    np.testing.assert_allclose(found.weights, v, rtol=0, atol=2e-5)
    np.testing.assert_allclose(found.intercept, b, rtol=0, atol=2e-5)


def test_the_gradient_vanishes_by_finite_differences(path):
    X, ratios, classes, weights = corpus(1, n=15, n_features=4)
    found = fit_linear(csr_array(X), ratios, classes, weights, penalty=0.5, centre=0.3, **TIGHT)

    def value(p):
        given = p[:-3].reshape(ratios.shape), p[-3:]
        return oracle.objective(X, ratios, classes, weights, *given, penalty=0.5, centre=0.3)

    at = np.concatenate([(found.weights / ratios).ravel(), found.intercept])
    np.testing.assert_allclose(value(at), found.objective, rtol=1e-12)
    assert check_grad(value, lambda p: np.zeros_like(p), at) < 1e-5  # the step of the differences is 1.5e-8
    assert check_grad(value, lambda p: np.zeros_like(p), at + 0.01) > 1e-3


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_gap_bounds_the_distance_to_the_least_objective(path, tol):
    X, ratios, classes, weights = corpus(2)
    found = fit_linear(csr_array(X), ratios, classes, weights, penalty=0.1, centre=0.5, tol=tol)
    _, _, least = oracle.fit(X, ratios, classes, weights, penalty=0.1, centre=0.5)
    value = oracle.objective(
        X, ratios, classes, weights, found.weights / ratios, found.intercept, penalty=0.1, centre=0.5
    )
    np.testing.assert_allclose(found.objective, value, rtol=1e-9)
    assert found.converged
    assert 0 <= found.gap <= tol * weights.sum()
    assert found.trace[-1] <= least * (1 + 1e-9)
    assert value <= found.trace[-1] + found.gap * (1 + 1e-9)
    assert len(found.trace) == found.n_iter
    assert np.all(np.diff(found.trace) >= 0)


def test_scikit_learn_agrees_where_the_ratios_are_one(path):
    X, _, _, _ = corpus(3, n=60)
    classes = np.arange(60) % 3  # of equal shares, so that the intercept is penalised about a constant
    found = fit_linear(csr_array(X), np.ones((12, 3)), classes, penalty=0.5, centre=0.0, **TIGHT)
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=100_000)
    peer.fit(np.column_stack([X, np.ones(60)]), classes)
    np.testing.assert_allclose(found.weights.T, peer.coef_[:, :-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.intercept - found.log_shares, peer.coef_[:, -1], rtol=0, atol=1e-6)


def test_both_paths_agree(monkeypatch):
    X, ratios, classes, weights = corpus(4, n=80)
    both = []
    for few in (10**9, -1):
        monkeypatch.setattr(nb_svm, "_FEW", few)
        both.append(fit_linear(csr_array(X), ratios, classes, weights, penalty=0.3, tol=1e-4))
    np.testing.assert_allclose(both[0].weights, both[1].weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(both[0].trace, both[1].trace, rtol=1e-9)


def test_the_path_depends_on_the_size_alone():
    one = np.array([0, 1]), np.array([0]), np.ones(1), np.ones((1, 2)), 1.0, np.ones(1)
    small = nb_svm.Problem(*one)
    assert nb_svm.is_small(small)
    assert not nb_svm.is_small(small._replace(ratios=np.ones((10_000, 2))))
    assert not nb_svm.is_small(small._replace(masses=np.ones(201)))


def test_threads_change_nothing():
    X, ratios, classes, weights = corpus(5, n=3000, n_features=30, n_classes=4)
    given = csr_array(X), ratios, classes, weights
    one, *others = (fit_linear(*given, penalty=1.0, tol=1e-5, n_jobs=n_jobs) for n_jobs in (1, 2, 5, None))
    assert one.n_iter > 1
    for other in others:
        same(one, other)


def test_weights_are_repetitions(path):
    X, ratios, classes, weights = corpus(6)
    times = (2 * weights).astype(int)
    weighted = fit_linear(csr_array(X), ratios, classes, times.astype(float), penalty=1.0, **TIGHT)
    repeated = [np.repeat(each, times, axis=0) for each in (X, classes)]
    plain = fit_linear(csr_array(repeated[0]), ratios, repeated[1], penalty=1.0, **TIGHT)
    np.testing.assert_allclose(weighted.weights, plain.weights, rtol=0, atol=1e-5)  # the gap, 1e-12, is its square
    np.testing.assert_allclose(weighted.objective, plain.objective, rtol=1e-11)
    ignored = fit_linear(csr_array(X), ratios, classes, penalty=1.0, **TIGHT)
    assert np.abs(weighted.weights - ignored.weights).max() > 1e-3


def test_documents_of_weight_zero_say_nothing(path):
    X, ratios, classes, weights = corpus(7)
    some = weights > 0
    with_all = fit_linear(csr_array(X), ratios, classes, weights, penalty=1.0, **TIGHT)
    with_some = fit_linear(csr_array(X[some]), ratios, classes[some], weights[some], penalty=1.0, **TIGHT)
    np.testing.assert_allclose(with_all.weights, with_some.weights, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(with_all.log_shares, with_some.log_shares)


@pytest.mark.parametrize("n", [0, 5])
def test_without_documents_of_any_weight_the_prior_comes_back(path, n):
    X, ratios, classes, _ = corpus(8, n=5)
    found = fit_linear(csr_array(X[:n]), ratios, classes[:n], np.zeros(n), centre=0.5)
    np.testing.assert_array_equal(found.weights, 0.5 * ratios)
    np.testing.assert_allclose(found.intercept, np.log(np.ones(3) / 3), rtol=1e-15)
    assert found.converged
    assert found.n_iter == 0
    assert found.objective == found.gap == 0.0


def test_a_single_class_is_certain(path):
    X, _, _, _ = corpus(9)
    found = fit_linear(csr_array(X), np.zeros((12, 1)), np.zeros(40, int))
    assert not found.weights.any()
    assert found.intercept.tolist() == [0.0]
    assert found.converged


def test_a_class_without_documents_is_unlikely_but_possible(path):
    X, ratios, classes, _ = corpus(10)
    classes = np.where(classes == 1, 0, classes)
    found = fit_linear(csr_array(X), ratios, classes, penalty=0.5, centre=0.0, **TIGHT)
    v, _, _ = oracle.fit(X, ratios, classes, np.ones(40), penalty=0.5, centre=0.0)
    np.testing.assert_allclose(found.weights, v, rtol=0, atol=2e-5)
    assert np.isfinite(found.intercept).all()
    posterior = np.exp([oracle.log_posterior(x, found.weights, found.intercept) for x in X])
    assert 0 < posterior[:, 1].max() < 0.1


def test_features_without_ratio_or_documents_stay_at_the_prior(path):
    X, ratios, classes, _ = corpus(11)
    ratios[3], X[:, 5] = 0.0, 0.0
    found = fit_linear(csr_array(X), ratios, classes, centre=0.5)
    assert not found.weights[3].any()
    np.testing.assert_array_equal(found.weights[5], 0.5 * ratios[5])


def test_empty_documents_move_the_intercept_alone(path):
    classes = np.array([0, 0, 0, 1])
    found = fit_linear(csr_array((4, 2)), np.ones((2, 2)), classes, penalty=0.1, centre=0.0, **TIGHT)
    assert not found.weights.any()
    posterior = np.exp(found.intercept) / np.exp(found.intercept).sum()
    np.testing.assert_allclose(posterior, [0.75, 0.25], rtol=0, atol=0.02)  # the penalty pulls towards 4 : 2
    _, b, _ = oracle.fit(np.zeros((4, 2)), np.ones((2, 2)), classes, np.ones(4), penalty=0.1, centre=0.0)
    np.testing.assert_allclose(found.intercept, b, rtol=0, atol=1e-5)


def test_a_matrix_without_features_is_no_mistake(path):
    found = fit_linear(csr_array((4, 0)), np.ones((0, 2)), np.array([0, 0, 0, 1]))
    assert found.weights.shape == (0, 2)
    assert found.intercept[0] > found.intercept[1]


def test_large_values_and_small_penalties_stay_finite(path):
    X, ratios, classes, weights = corpus(12, length=1000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fit_linear(csr_array(X), ratios, classes, 100 * weights, penalty=1e-6, max_iter=30)
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.intercept).all()
    assert np.isfinite(found.gap)
    assert np.all(np.diff(found.trace) >= 0)


def test_entries_that_come_twice_are_added(path):
    X, ratios, classes, _ = corpus(13)
    whole = csr_array(X)
    twice = csr_array(
        (np.repeat(whole.data, 2) * 0.5, np.repeat(whole.indices, 2), 2 * whole.indptr), shape=whole.shape
    )
    same(fit_linear(whole, ratios, classes), fit_linear(twice, ratios, classes))
    assert twice.nnz == 2 * whole.nnz


def test_single_precision_is_kept_and_close(path):
    X, ratios, classes, weights = corpus(14)
    double = fit_linear(csr_array(X), ratios, classes, weights, penalty=0.5, tol=1e-8)
    single = fit_linear(csr_array(X), ratios.astype(np.float32), classes, weights, penalty=0.5, tol=1e-6)
    assert single.weights.dtype == np.float32
    assert double.weights.dtype == np.float64
    np.testing.assert_allclose(single.weights, double.weights, rtol=0, atol=2e-2)  # the root of the tolerance
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-4)


def test_the_input_stays_as_it_was():
    X, ratios, classes, weights = corpus(15)
    documents = csr_array(X)
    before = [a.copy() for a in (documents.data, ratios, classes, weights)]
    fit_linear(documents, ratios, classes, weights)
    for now, then in zip((documents.data, ratios, classes, weights), before, strict=True):
        np.testing.assert_array_equal(now, then)
        assert now.flags.writeable


@pytest.mark.parametrize("other", [{"penalty": 0.1}, {"centre": 0.2}, {"tol": 1e-8, "max_iter": 500}])
def test_every_parameter_counts(other):
    X, ratios, classes, _ = corpus(16)
    usual, changed = (fit_linear(csr_array(X), ratios, classes, **given) for given in ({}, other))
    assert not np.array_equal(usual.weights, changed.weights)


def test_what_has_not_settled_is_told(path):
    X, ratios, classes, weights = corpus(17)
    rule = r"did not converge in 1 iteration: the gap is .* per document\. Raise max_iter, tol or penalty\."
    with pytest.warns(ConvergenceWarning, match=rule):
        found = fit_linear(csr_array(X), ratios, classes, weights, tol=1e-12, max_iter=1)
    assert not found.converged
    assert found.n_iter == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ratios": np.ones((3, 2))}, r"ratios must have 2 rows, one per feature, .*; got the shape \(3, 2\)"),
        ({"ratios": np.ones((2, 0))}, r"ratios must have 2 rows"),
        ({"ratios": np.ones(2)}, r"ratios must have 2 rows"),
        ({"ratios": np.array([[1.0, np.nan], [1, 1]])}, "documents and ratios must hold finite numbers only"),
        ({"documents": csr_array([[np.inf, 1.0], [1, 1]])}, "documents and ratios must hold finite numbers only"),
        ({"classes": np.array([0, 2])}, "classes must be columns of ratios, one for each of 2 documents"),
        ({"classes": np.array([-1, 0])}, "classes must be columns of ratios"),
        ({"classes": np.array([0])}, "classes must be columns of ratios"),
        ({"weights": np.array([1.0, -1.0])}, "weights must be finite numbers, at least 0, one for each of 2 documents"),
        ({"weights": np.array([1.0, np.nan])}, "weights must be finite numbers"),
        ({"weights": np.ones(3)}, "weights must be finite numbers"),
        ({"penalty": 0.0}, "penalty must be greater than 0; got 0.0"),
        ({"centre": np.inf}, "centre must be finite; got inf"),
        ({"tol": 0}, "tol must be greater than 0; got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
    ],
)
def test_mistakes_are_named(change, message):
    given = {"documents": csr_array(np.eye(2)), "ratios": np.ones((2, 2)), "classes": np.array([0, 1])} | change
    with pytest.raises(DataError, match=message):
        fit_linear(**given)


def test_too_many_weights_are_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    X, ratios, classes, _ = corpus(18)
    rule = "the linear model of 12 features for 40 documents would need .* Use fewer features"
    with pytest.raises(MemoryForecastError, match=rule):
        fit_linear(csr_array(X), ratios, classes)
