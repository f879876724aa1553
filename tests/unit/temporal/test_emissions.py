"""Emissions: densities, estimates, missing values, posteriors."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from tunbridge._core.packing import pack, unpack
from tunbridge.errors import DataError, DataWarning
from tunbridge.temporal.emissions import (
    FAMILIES,
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

KINDS = ("full", "diagonal", "spherical", "tied")
NUMBERS = {
    **{f"gaussian {kind}": Gaussian(kind) for kind in KINDS},
    **{f"gaussian {kind} with prior": Gaussian(kind, prior_weight=2.0) for kind in KINDS},
    **{f"mixture {kind}": GaussianMixture(2, kind) for kind in KINDS},
    **{f"student {kind}": StudentT(kind) for kind in KINDS},
    "student fixed": StudentT(freedom=3.0),
    "autoregressive": Autoregressive(1),
}
OTHERS = {
    "categorical": Categorical(1.5),
    "poisson": Poisson(),
    "poisson with prior": Poisson(2.0, 0.5),
    "negative-binomial": NegativeBinomial(),
    "independent": Independent((((1,), Poisson()), ((0,), Categorical()))),
    "independent numbers": Independent((((1,), Gaussian("diagonal")), ((0,), Autoregressive(1)))),
}
ALL = NUMBERS | OTHERS
BAYESIAN = {
    "categorical": Categorical(0.7),
    "poisson": Poisson(),
    "poisson with prior": Poisson(2.0, 0.5),
    **{f"gaussian {kind}": Gaussian(kind) for kind in KINDS[:3]},
    **{f"gaussian {kind} with prior": Gaussian(kind, prior_weight=2.0) for kind in KINDS[:3]},
    "independent": Independent((((1,), Poisson()), ((0,), Categorical()))),
}


def rows_for(emission: Emission, n: int = 60, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if isinstance(emission, Categorical):
        return rng.integers(0, 4, (n, 1)).astype(float)
    if isinstance(emission, (Poisson, NegativeBinomial)):
        return rng.negative_binomial(2.0, 0.3, (n, 2)).astype(float)
    if isinstance(emission, Independent) and isinstance(emission.parts[0][1], Poisson):
        return np.column_stack([rng.integers(0, 3, n), rng.poisson(4.0, n)]).astype(float)
    x = rng.normal(size=(n, 4 if emission.lags else 3)) @ rng.normal(size=(4, 4))[: 4 if emission.lags else 3]
    x = x if emission.lags else x[:, :3]
    return x + np.where(rng.random(n) < 0.4, 5.0, 0.0)[:, None]


def weights_for(n: int, k: int = 2, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(k), n)


def parameters(emission: Emission) -> dict[str, np.ndarray]:
    if isinstance(emission, Independent):
        return {f"{i} {n}": v for i, (_, p) in enumerate(emission.parts) for n, v in parameters(p).items()}
    return {name: value for name, value in vars(emission).items() if isinstance(value, np.ndarray)}


def assert_same(one: Emission, other: Emission, rtol: float = 1e-9) -> None:
    a, b = parameters(one), parameters(other)
    assert a.keys() == b.keys()
    assert a
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=1e-10, err_msg=name)


def objective(emission: Emission, x: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * emission.log_likelihood(x)).sum() + emission.log_prior())


@pytest.fixture(params=ALL, ids=str)
def family(request):
    return ALL[request.param]


# What holds for every family


def test_weights_are_replications(family):
    x, w = rows_for(family, 20), np.tile(np.random.default_rng(2).integers(0, 4, (20, 1)), (1, 2)).astype(float)
    w[:, 1] = w[::-1, 0]
    first = family.fit(x, w)
    rows = [np.repeat(x, w[:, k].astype(int), axis=0) for k in range(2)]
    both = np.concatenate(rows)
    states = np.repeat([0, 1], [len(each) for each in rows])
    if isinstance(family, GaussianMixture):  # its first components are drawn
        first, again = first.fit(x, w), first.fit(both, np.eye(2)[states])
    else:
        again = family.fit(both, np.eye(2)[states])
    assert_same(first, again)


def test_the_order_of_rows_is_irrelevant_and_nothing_changes(family):
    x, w = rows_for(family), weights_for(60)
    first = family.fit(x, w)
    x0, w0, order = x.copy(), w.copy(), np.random.default_rng(0).permutation(60)
    assert_same(first.fit(x, w), first.fit(x[order], w[order]))
    assert np.array_equal(x, x0)
    assert np.array_equal(w, w0)
    np.testing.assert_allclose(first.log_likelihood(x)[order], first.log_likelihood(x[order]), rtol=1e-10, atol=1e-10)
    assert not any(value.flags.writeable for value in parameters(first).values())


def test_steps_never_lower_the_objective(family):
    x, w = rows_for(family), weights_for(60)
    for share in (0.0, 0.25):
        y = np.where(np.random.default_rng(3).random(x.shape) < share, np.nan, x)
        emission = family.fit(y, w)
        values = [objective(emission, y, w)]
        for _ in range(15):
            emission = emission.fit(y, w)
            values.append(objective(emission, y, w))
        assert np.diff(values).min() > -1e-9 * max(1.0, abs(values[0])), share


@pytest.mark.parametrize("seed", range(150))
def test_no_step_of_a_random_run_loses(seed):
    rng = np.random.default_rng(seed)
    n, k, d, kind = rng.integers(1, 25), rng.integers(1, 4), rng.integers(1, 4), KINDS[seed % 4]
    families = [Gaussian(kind, rng.choice([0.0, 0.5])), GaussianMixture(2, kind), StudentT(kind), Autoregressive(1)]
    emission = [*families, Poisson(), NegativeBinomial()][seed % 6]
    if isinstance(emission, (Poisson, NegativeBinomial)):
        x = rng.poisson(rng.choice([0.1, 3.0, 50.0]), (n, d)).astype(float)
    else:
        x = rng.normal(size=(n, d * (1 + emission.lags))) * 10.0 ** rng.integers(-3, 5) + rng.choice([0.0, 10.0, 1e4])
        x = np.round(x) if rng.random() < 0.3 else x
        x[:, -1] = 2.0 * x[:, 0] if rng.random() < 0.3 else x[:, -1]
    x[rng.random(x.shape) < rng.choice([0.0, 0.3, 0.6])] = np.nan
    w = rng.dirichlet(np.full(k, 0.3), n) * rng.integers(0, 3, n)[:, None]
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for _ in range(8):
            emission = emission.fit(x, w)
            logs = emission.log_likelihood(x)
            values.append((w * np.where(w > 0.0, logs, 0.0)).sum() + emission.log_prior())
    assert np.isfinite(values).all()
    assert np.diff(values).min() > -1e-9 * max(1.0, np.abs(values).max())


def test_other_parameters_are_not_better(family):
    x, w = rows_for(family), weights_for(60)
    emission = family
    for _ in range(800 if isinstance(family, (GaussianMixture, StudentT)) else 1):
        emission = emission.fit(x, w)
    if isinstance(emission, Independent):
        return
    best, rng = objective(emission, x, w), np.random.default_rng(4)
    for name in {"means", "rates", "intercepts", "coefficients", "sizes", "covariances", "scales"} & set(
        vars(emission)
    ):
        value = getattr(emission, name)
        if value is not None:
            for factor in (0.98, 1.02):
                assert objective(replace(emission, **{name: value * factor}), x, w) < best + 1e-7, name
    if isinstance(emission, Categorical):
        for _ in range(20):
            other = rng.dirichlet(np.ones(4), 2) * 0.02 + emission.probabilities * 0.98
            assert objective(replace(emission, probabilities=other), x, w) < best


def test_a_row_without_values_says_nothing(family):
    x, w = rows_for(family), weights_for(60)
    fitted = family.fit(x, w)
    nothing = np.full((2, x.shape[1]), np.nan)
    np.testing.assert_allclose(fitted.log_likelihood(nothing), 0.0, atol=1e-15)
    more = family.fit(np.concatenate([x, nothing]), np.concatenate([w, [[9.0, 0.0], [0.0, 7.0]]]))
    again = fitted.fit(np.concatenate([x, nothing]), np.concatenate([w, [[9.0, 0.0], [0.0, 7.0]]]))
    assert_same(again, fitted.fit(x, w))
    if not isinstance(family, GaussianMixture):
        assert_same(more, fitted)


def test_a_state_without_weight_keeps_its_parameters(family):
    x, w = rows_for(family), weights_for(60)
    fitted = family.fit(x, w)
    w = np.column_stack([w.sum(1), np.zeros(60)])
    if "prior" not in str([k for k, v in ALL.items() if v is family]) and not isinstance(family, Categorical):
        again = parameters(fitted.fit(x, w))
        for name, value in parameters(fitted).items():
            if value.shape[0] == 2 and getattr(family, "covariance", "") != "tied":
                np.testing.assert_allclose(again[name][-1:] if value.ndim else value, value[-1:], rtol=1e-12)
    first = family.fit(x, w)
    assert np.isfinite(first.log_likelihood(x)).any(0).all()


def test_degenerate_data_give_numbers(family):
    x = rows_for(family)
    constant = np.repeat(x[:1], 5, axis=0)
    cases = [constant, x[:1], x[:2], x[:0], np.full((3, x.shape[1]), np.nan)]
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = family.fit(case, np.ones((len(case), 2)))
            fitted = fitted.fit(case, np.ones((len(case), 2)))
        if np.isfinite(case).all() and len(case):
            assert np.isfinite(fitted.log_likelihood(case)).all()
        assert all(np.isfinite(value).all() for value in parameters(fitted).values())


def test_samples_come_from_the_distribution(family):
    """Twice the gain in likelihood of refitting is χ² distributed, and large for wrong parameters."""
    x, n = rows_for(family, 300), 20_000
    fitted = family.fit(x, np.ones((300, 1)))
    drawn = fitted.sample(np.zeros(n, dtype=int), np.random.default_rng(0))
    if family.lags:
        drawn = np.column_stack([drawn[1:], drawn[:-1]])
    w = np.ones((len(drawn), 1))
    again = fitted
    for _ in range(100):
        again = again.fit(drawn, w)
    p, right = fitted.n_parameters, fitted.log_likelihood(drawn).sum()
    gain = 2.0 * (again.log_likelihood(drawn).sum() - right)
    assert -1.0 < gain < p + 5.0 * np.sqrt(2.0 * p)
    other = 1.25 * x if family in NUMBERS.values() else x[:20]
    wrong = family.fit(other, w[: len(other)])
    assert 2.0 * (again.log_likelihood(drawn).sum() - wrong.log_likelihood(drawn).sum()) > 3.0 * p + 50.0
    assert fitted.sample(np.zeros(0, dtype=int), np.random.default_rng(0)).shape[0] == 0


def test_samples_of_a_wrong_state_differ(family):
    x = rows_for(family, 400)
    w = np.zeros((400, 2))
    key = x[:, -1] > np.median(x[:, -1])
    w[key, 1], w[~key, 0] = 1.0, 1.0
    fitted, rng = family.fit(x, w), np.random.default_rng(0)
    states = np.repeat([0, 1], 200)
    drawn = fitted.sample(states, rng)
    if family.lags:
        drawn = np.column_stack([drawn, x[:400, drawn.shape[1] :]])
    logs = fitted.log_likelihood(drawn)
    right = logs[np.arange(400), states].mean()
    assert right > logs[np.arange(400), 1 - states].mean()


def test_parameters_are_counted(family):
    assert family.n_parameters == 0
    assert family.fit(rows_for(family), weights_for(60)).n_parameters > 0


def test_files_have_all_parameters(family):
    fitted = family.fit(rows_for(family), weights_for(60))
    if not isinstance(fitted, Independent):
        again = unpack(type(fitted), pack(fitted))
        assert_same(again, fitted, rtol=0)


def test_wrong_shapes_are_refused(family):
    x, w = rows_for(family), weights_for(60)
    fitted = family.fit(x, w)
    with pytest.raises(DataError, match="weights must have the shape"):
        family.fit(x, w[:5])
    with pytest.raises(DataError, match="weights must have the shape"):
        fitted.fit(x, np.ones((60, 3)))
    with pytest.raises(DataError, match="x must have rows and columns"):
        family.fit(x[:, 0], w)
    with pytest.raises(DataError, match=r"x must have .* column"):
        fitted.log_likelihood(np.column_stack([x, x[:, :1]]))
    with pytest.raises(DataError, match="x must hold finite"):
        family.fit(np.where(x == x[0, 0], np.inf, x), w)


@pytest.mark.parametrize("name", FAMILIES)
def test_without_parameters_an_emission_says_what_to_do(name):
    emission = (
        ALL.get(name) or Gaussian() if name == "gaussian" else FAMILIES[name]() if name != "independent" else ALL[name]
    )
    for call in (lambda: emission.log_likelihood(rows_for(emission)), lambda: emission.sample(np.zeros(2, int), None)):
        with pytest.raises(DataError, match=r"must have parameters; this .* has none yet"):
            call()


# Densities


def test_densities_are_scipys():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    m = rng.normal(size=(2, 3))
    a = rng.normal(size=(2, 3, 3))
    full, v = a @ a.transpose(0, 2, 1) + 0.1 * np.eye(3), rng.uniform(0.5, 2, (2, 3))
    cases = [("full", full, full), ("diagonal", v, [np.diag(each) for each in v])]
    cases += [("spherical", v[:, 0], [np.eye(3) * v[k, 0] for k in range(2)]), ("tied", full[0], [full[0]] * 2)]
    for kind, given, matrices in cases:
        logs = Gaussian(kind, means=m, covariances=given).log_likelihood(x)
        expected = [stats.multivariate_normal(m[k], matrices[k]).logpdf(x) for k in range(2)]
        np.testing.assert_allclose(logs, np.transpose(expected), rtol=1e-12, atol=1e-12)
        logs = StudentT(kind, means=m, scales=given, freedoms=[3.0, 0.7]).log_likelihood(x)
        expected = [stats.multivariate_t(m[k], matrices[k], df).logpdf(x) for k, df in enumerate((3.0, 0.7))]
        np.testing.assert_allclose(logs, np.transpose(expected), rtol=1e-11, atol=1e-11)


def test_densities_of_counts_are_scipys():
    x = np.array([[0.0, 3.0], [7.0, 0.0], [100.0, 2.0]])
    m, r = np.array([[2.0, 0.5], [50.0, 3.0]]), np.array([[0.3, 4.0], [1e5, 2.0]])
    expected = stats.poisson.logpmf(x[:, None], m).sum(2)
    np.testing.assert_allclose(Poisson(rates=m).log_likelihood(x), expected, rtol=1e-12)
    expected = stats.nbinom.logpmf(x[:, None], r, r / (r + m)).sum(2)
    np.testing.assert_allclose(NegativeBinomial(means=m, sizes=r).log_likelihood(x), expected, rtol=1e-9)
    silent = Poisson(rates=[[0.0]]).log_likelihood(np.array([[0.0], [1.0], [np.nan]]))
    assert silent.ravel().tolist() == [0.0, -np.inf, 0.0]


def test_missing_values_are_marginalized():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    a = rng.normal(size=(2, 3, 3))
    full, m = a @ a.transpose(0, 2, 1) + 0.1 * np.eye(3), rng.normal(size=(2, 3))
    gone = rng.random(x.shape) < 0.4
    y = np.where(gone, np.nan, x)
    gaussian, student = Gaussian(means=m, covariances=full), StudentT("full", means=m, scales=full, freedoms=[3, 4])
    for i in range(40):
        seen = np.flatnonzero(~gone[i])
        for k in range(2):
            part = m[k, seen], full[k][np.ix_(seen, seen)]
            if len(seen):
                expected = stats.multivariate_normal(*part).logpdf(x[i, seen])
                assert gaussian.log_likelihood(y)[i, k] == pytest.approx(expected, rel=1e-10)
                expected = stats.multivariate_t(*part, df=3 + k).logpdf(x[i, seen])
                assert student.log_likelihood(y)[i, k] == pytest.approx(expected, rel=1e-10)
    diagonal = Gaussian("diagonal", means=m, covariances=np.diagonal(full, axis1=1, axis2=2))
    expected = np.where(gone[:, None], 0.0, stats.norm.logpdf(x[:, None], m, np.sqrt(diagonal.covariances))).sum(2)
    np.testing.assert_allclose(diagonal.log_likelihood(y), expected, rtol=1e-11, atol=1e-12)


def test_a_far_first_row_costs_no_digits():
    x = np.array([[1e5], [0.0], [0.5]])
    logs = StudentT(means=[[0.0]], scales=[[1e-4]], freedoms=[5.0]).log_likelihood(x)
    np.testing.assert_allclose(logs[:, 0], stats.t(5.0, 0.0, 1e-2).logpdf(x[:, 0]), rtol=1e-12)


def test_a_mixture_is_a_sum():
    x, s = np.linspace(-3, 9, 20)[:, None], np.array([[0.25, 0.75]])
    mixture = GaussianMixture(2, "diagonal", shares=s, means=[[[0.0], [5.0]]], covariances=[[[1.0], [4.0]]])
    expected = np.log(0.25 * stats.norm(0, 1).pdf(x) + 0.75 * stats.norm(5, 2).pdf(x))
    np.testing.assert_allclose(mixture.log_likelihood(x), expected, rtol=1e-12)


def test_autoregression_is_a_gaussian_around_its_forecast():
    x = np.array([[3.0, 1.0, 2.0], [np.nan, 1.0, 2.0], [3.0, np.nan, 2.0]])
    emission = Autoregressive(2, intercepts=[[1.0]], coefficients=[[[0.5, 0.25]]], covariances=[[[4.0]]])
    logs = emission.log_likelihood(x)
    assert logs.ravel().tolist() == pytest.approx([stats.norm(2.0, 2.0).logpdf(3.0), 0.0, 0.0], rel=1e-12)
    series = emission.sample(np.zeros(3, dtype=int), np.random.default_rng(0), earlier=np.array([[8.0], [4.0]]))
    noise = np.random.default_rng(0).standard_normal((3, 1))
    assert series[0, 0] == pytest.approx(1.0 + 0.5 * 4.0 + 0.25 * 8.0 + 2.0 * noise[0, 0])
    assert series[1, 0] == pytest.approx(1.0 + 0.5 * series[0, 0] + 0.25 * 4.0 + 2.0 * noise[1, 0])


# Estimates


def test_estimates_are_the_closed_forms():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(30, 3)) + np.array([0.0, 5.0, -5.0]), rng.random((30, 2))
    found = {kind: Gaussian(kind).fit(x, w) for kind in KINDS}
    means = [np.average(x, axis=0, weights=w[:, k]) for k in range(2)]
    matrices = np.array([np.cov(x.T, aweights=w[:, k], ddof=0) for k in range(2)])
    variances = np.diagonal(matrices, axis1=1, axis2=2)
    expected = {"full": matrices, "diagonal": variances, "spherical": variances.mean(1)}
    expected["tied"] = np.average(matrices, axis=0, weights=w.sum(0))
    for kind, emission in found.items():
        np.testing.assert_allclose(emission.means, means, rtol=1e-12)
        np.testing.assert_allclose(emission.covariances, expected[kind], rtol=1e-11)


def test_a_regression_is_least_squares():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)) + 7.0, rng.random((40, 1))
    fitted = Autoregressive().fit(x, w)
    root = np.sqrt(w)
    solution = np.linalg.lstsq(np.column_stack([np.ones(40), x[:, 2:]]) * root, x[:, :2] * root, rcond=None)[0]
    np.testing.assert_allclose(fitted.intercepts[0], solution[0], rtol=1e-9)
    np.testing.assert_allclose(fitted.coefficients[0], solution[1:].T, rtol=1e-9)


def test_large_offsets_cost_no_digits():
    rng = np.random.default_rng(4)
    x, w = np.round(rng.normal(size=(500, 2)) * 256) / 256, weights_for(500)
    for kind in KINDS:
        near, far = Gaussian(kind).fit(x, w), Gaussian(kind).fit(x + 1e8, w)
        np.testing.assert_allclose(far.covariances, near.covariances, rtol=1e-7)
        np.testing.assert_allclose(far.log_likelihood(x + 1e8), near.log_likelihood(x), rtol=1e-6)
    states = np.array([[0.0], [1e8]])  # two states that are far apart
    logs = Gaussian("diagonal", means=states, covariances=[[1.0], [1.0]]).log_likelihood(states + 1.0)
    matrices = Gaussian(means=states, covariances=[[[1.0]], [[1.0]]]).log_likelihood(states + 1.0)
    for found in (logs, matrices):
        np.testing.assert_allclose(np.diag(found), stats.norm.logpdf(1.0), rtol=1e-9)
    two = np.concatenate([x, x + 1e8])
    both = Gaussian("diagonal", floor=1e-20).fit(two, np.repeat(np.eye(2), 500, axis=0))
    np.testing.assert_allclose(both.covariances, [x.var(0)] * 2, rtol=1e-9)


def test_the_size_is_scipys_maximum():
    rng = np.random.default_rng(5)
    x, w = rng.negative_binomial(1.7, 0.2, (200, 1)).astype(float), rng.random((200, 1))
    fitted = NegativeBinomial().fit(x, w)
    m = np.average(x, weights=w)
    loss = lambda log_r: -(w * stats.nbinom.logpmf(x, np.exp(log_r), np.exp(log_r) / (np.exp(log_r) + m))).sum()  # noqa: E731
    best = np.exp(optimize.minimize_scalar(loss, bounds=(-5, 10), method="bounded", options={"xatol": 1e-10}).x)
    assert fitted.sizes[0, 0] == pytest.approx(best, rel=1e-5)
    even = np.array([[4.0], [5.0], [6.0]])
    assert NegativeBinomial().fit(even, np.ones((3, 1))).sizes.tolist() == [[1e6]]


def test_degrees_of_freedom_are_scipys():
    x = stats.t(4.0, 2.0, 3.0).rvs(400, random_state=0)[:, None]
    fitted = StudentT()
    for _ in range(1500):
        fitted = fitted.fit(x, np.ones((400, 1)))
    nu, mean, scale = stats.t.fit(x)
    assert fitted.freedoms[0] == pytest.approx(nu, rel=1e-3)
    assert fitted.means[0, 0] == pytest.approx(mean, rel=1e-3)
    assert np.sqrt(fitted.scales[0, 0]) == pytest.approx(scale, rel=1e-3)


def test_em_with_missing_values_finds_the_maximum():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    x[:20, 0] = np.nan
    x[30:40, 1] = np.nan
    fitted = Gaussian()
    for _ in range(300):
        fitted = fitted.fit(x, np.ones((60, 1)))

    def loss(p):
        root = np.array([[p[2], 0.0], [p[3], p[4]]])
        return -Gaussian(means=[p[:2]], covariances=[root @ root.T + 1e-9 * np.eye(2)]).log_likelihood(x).sum()

    best = optimize.minimize(loss, [0.0, 0.0, 1.0, 0.0, 1.0], method="BFGS")
    assert -fitted.log_likelihood(x).sum() == pytest.approx(best.fun, rel=1e-7)


def test_alpha_below_one_gives_probabilities():
    fitted = Categorical(0.5, 3).fit(np.array([[0.0], [0.0], [1.0]]), np.array([[1.0], [1.0], [0.3]]))
    assert fitted.probabilities.tolist() == [[1.0, 0.0, 0.0]]
    assert Categorical(0.1, 3).fit(np.array([[0.0]]), np.array([[0.2]])).probabilities.sum() == pytest.approx(1.0)


def test_the_floor_is_the_constrained_maximum_and_warns_once():
    x = np.array([[1.0, 2.0], [1.0, 2.0], [5.0, 9.0], [4.0, 3.0]])
    w = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for kind in ("diagonal", "full", "spherical"):
        with pytest.warns(DataWarning, match="the rows of each state must vary"):
            fitted = Gaussian(kind, floor=0.01).fit(x, w)
        again = fitted.fit(x, w)  # no second warning
        assert_same(again, fitted)
        least = 0.01 * x.var(0)
        values = fitted.covariances[0] if kind != "full" else np.diag(fitted.covariances[0])
        np.testing.assert_allclose(values, least.mean() if kind == "spherical" else least, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_imagined_observations(kind):
    x, w = rows_for(Gaussian(), 40), weights_for(40)
    fitted = Gaussian(kind, prior_weight=3.0).fit(x, w)
    c, corners = x.var(0), np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    imagined = x.mean(0) + corners * np.sqrt(c)  # their mean and variances are those of the data
    rows = np.concatenate([x, imagined])
    plain = Gaussian(kind).fit(rows, np.concatenate([w, np.full((8, 2), 3.0 / 8.0)]))
    np.testing.assert_allclose(fitted.means, plain.means, rtol=1e-10)
    np.testing.assert_allclose(fitted.covariances, plain.covariances, rtol=1e-9, atol=1e-12)
    assert fitted.log_prior() == pytest.approx(3.0 / 8.0 * fitted.log_likelihood(imagined).sum())


# Posteriors


@pytest.mark.parametrize("name", BAYESIAN)
def test_posteriors_agree_with_draws(name):
    family = BAYESIAN[name]
    x, w = rows_for(family, 30), weights_for(30)
    if not (isinstance(family, Gaussian) and family.covariance == "full"):
        x[::7, 0] = np.nan
    posterior, rng = family.posterior(x, w), np.random.default_rng(0)
    draws = [posterior.draw(rng) for _ in range(4000)]
    y = np.concatenate([x[:6], np.full((1, x.shape[1]), np.nan)])
    logs = np.array([each.log_likelihood(y) for each in draws])
    errors = logs.std(0) / np.sqrt(len(draws)) + 1e-12
    expected = posterior.expected_log_likelihood(y)
    assert (np.abs(logs.mean(0) - expected) / errors).max() < 5.0
    assert (np.abs(logs.mean(0) - posterior.mean().log_likelihood(y)) / errors).max() > 5.0  # what is not the answer
    mean = parameters(posterior.mean())
    for key, value in mean.items():
        theirs = np.array([parameters(each)[key] for each in draws])
        assert (np.abs(theirs.mean(0) - value) / (theirs.std(0) / np.sqrt(len(draws)) + 1e-9)).max() < 5.5


@pytest.mark.parametrize("name", BAYESIAN)
def test_the_bound_is_the_evidence(name):
    """Σ w E ln p(x | θ) − KL(posterior ‖ prior) is ln p(x) where rows are certain; by the chain rule, row by row."""
    family = BAYESIAN[name]
    x = rows_for(family, 12)
    if isinstance(family, Gaussian):  # the prior must not depend on the rows that come
        family = replace(family, prior_means=x.mean(0), prior_variances=x.var(0))
    if isinstance(family, Poisson):
        family = Poisson(2.0, 0.5)
    if isinstance(family, Categorical):
        family = Categorical(0.7, 4)
    if isinstance(family, Independent):
        family = Independent((((1,), Poisson(2.0, 0.5)), ((0,), Categorical(0.7, 3))))

    def evidence(rows):
        posterior = family.posterior(rows, np.ones((len(rows), 1)))
        return posterior.expected_log_likelihood(rows).sum() - posterior.divergence()

    assert evidence(x[:0]) == pytest.approx(0.0, abs=1e-9)
    draws = np.random.default_rng(0)
    posterior = family.posterior(x[:6], np.ones((6, 1)))
    logs = np.array([posterior.draw(draws).log_likelihood(x[6:8]).sum() for _ in range(5_000)])
    predictive = special.logsumexp(logs) - np.log(len(logs))
    error = np.exp(logs - predictive).std() / np.sqrt(len(logs))
    assert evidence(x[:8]) - evidence(x[:6]) == pytest.approx(predictive, abs=5.0 * error)


def test_the_evidence_of_counts_is_the_analytic_one():
    x = np.array([[3.0], [5.0], [0.0]])
    posterior = Poisson(2.0, 0.5).posterior(x, np.ones((3, 1)))
    found = posterior.expected_log_likelihood(x).sum() - posterior.divergence()
    prior = stats.gamma(2.0, scale=2.0)
    whole = integrate.quad(lambda r: np.exp(stats.poisson.logpmf(x, r).sum()) * prior.pdf(r), 0, 60)[0]
    assert found == pytest.approx(np.log(whole), rel=1e-8)
    symbols = np.array([[0.0], [1.0], [1.0]])
    dirichlet = Categorical(1.0, 2).posterior(symbols, np.ones((3, 1)))
    found = dirichlet.expected_log_likelihood(symbols).sum() - dirichlet.divergence()
    assert found == pytest.approx(np.log(special.beta(2, 3)), rel=1e-12)


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical"])
def test_the_evidence_of_numbers_is_the_analytic_one(kind):
    x = np.array([[1.0], [2.5], [-0.3], [4.0]])
    family = Gaussian(kind, 2.0, prior_means=[0.5], prior_variances=[1.5])
    posterior = family.posterior(x, np.ones((4, 1)))
    found = posterior.expected_log_likelihood(x).sum() - posterior.divergence()
    kappa, a, b, n = 2.0, 2.0, 1.5, 4  # Gamma(ν/2, Ψ/2) with ν = 2 + 2, Ψ = 2 · 1.5
    bn = b + 0.5 * x.var() * n + kappa * n * (x.mean() - 0.5) ** 2 / (2.0 * (kappa + n))
    expected = special.gammaln(a + n / 2) - special.gammaln(a) + a * np.log(b) - (a + n / 2) * np.log(bn)
    expected += 0.5 * np.log(kappa / (kappa + n)) - n / 2 * np.log(2.0 * np.pi)
    assert found == pytest.approx(expected, rel=1e-10)


def test_families_without_a_conjugate_prior_say_so():
    for family in (StudentT(), GaussianMixture(), NegativeBinomial(), Autoregressive()):
        with pytest.raises(DataError, match="must have a conjugate prior"):
            family.posterior(rows_for(family), weights_for(60))
    with pytest.raises(DataError, match="got 'tied'"):
        Gaussian("tied").posterior(rows_for(Gaussian()), weights_for(60))


# What users give


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical(probabilities=[[0.5, 0.6]]), "probabilities must sum to one in each state; got 1.1"),
        (lambda: Categorical(probabilities=[[-0.5, 1.5]]), "probabilities must be at least 0; got -0.5"),
        (lambda: Categorical(probabilities=[0.5, 0.5]), r"probabilities must have the shape \(any, any\); got \(2,\)"),
        (lambda: Categorical(n_symbols=3, probabilities=[[0.5, 0.5]]), r"shape \(any, 3\)"),
        (lambda: Categorical(alpha=-1.0), "alpha must be at least 0"),
        (lambda: Gaussian("fulll"), "Did you mean 'full'"),
        (lambda: Gaussian(means=[[0.0]]), "means and covariances must be given together"),
        (lambda: Gaussian(means=[[0.0]], covariances=[1.0]), r"shape \(1, 1, 1\); got \(1,\)"),
        (lambda: Gaussian(means=[[0.0]], covariances=[[[0.0]]]), "covariances must be positive definite"),
        (lambda: Gaussian(means=[[0.0, 0.0]], covariances=[[[1.0, 0.5], [0.0, 1.0]]]), "must be symmetric"),
        (lambda: Gaussian("diagonal", means=[[0.0]], covariances=[[-1.0]]), "covariances must be greater than 0"),
        (lambda: Gaussian("diagonal", means=[[np.nan]], covariances=[[1.0]]), "means must be finite; got nan"),
        (lambda: Gaussian(means=[["a"]], covariances=[[[1.0]]]), "means must be numbers"),
        (lambda: Poisson(rates=[[-1.0]]), "rates must be at least 0; got -1"),
        (lambda: NegativeBinomial(means=[[1.0]], sizes=[[0.0]]), "sizes must be greater than 0; got 0"),
        (lambda: StudentT(freedom=0.0), "freedom must be greater than 0"),
        (lambda: StudentT(means=[[0.0]], scales=[[1.0]]), "means, scales and freedoms must be given together"),
        (lambda: GaussianMixture(0), "n_components must be at least 1"),
        (lambda: GaussianMixture(shares=[[0.5, 0.6]]), "shares must sum to one"),
        (lambda: GaussianMixture(means=[[[0.0]]]), "must come with shares"),
        (lambda: Autoregressive(intercepts=[[0.0]]), "intercepts must come with coefficients"),
        (lambda: Independent((((0, 2), Gaussian()),)), r"each column 0, 1, … once; got the columns \[0, 2\]"),
        (lambda: Poisson().fit(np.array([[1.5]]), np.ones((1, 1))), "x must hold counts 0, 1, 2, …; got 1.5"),
        (lambda: Categorical(n_symbols=2).fit(np.array([[2.0]]), np.ones((1, 1))), "codes 0 … 1 of symbols; got 2"),
        (lambda: Categorical().fit(np.array([[-1.0]]), np.ones((1, 1))), "x must hold codes"),
        (lambda: Autoregressive(2).fit(np.ones((1, 2)), np.ones((1, 1))), "x must have 3 columns for each"),
    ],
)  # fmt: skip
def test_mistakes_are_named(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_a_family_of_ones_own_needs_three_methods():
    class Fair(Emission):
        def log_likelihood(self, x):
            return np.zeros((len(x), 2))

        def fit(self, x, weights):
            return self

        def sample(self, states, rng):
            return np.zeros((len(states), 1))

    fair = Fair()
    assert (fair.lags, fair.n_parameters, fair.log_prior()) == (0, 0, 0.0)
    with pytest.raises(DataError, match="got Fair"):
        fair.posterior(np.zeros((1, 1)), np.ones((1, 2)))
    mixed = Independent((((0,), fair), ((1,), Poisson()))).fit(np.ones((4, 2)), np.ones((4, 2)))
    assert mixed.log_likelihood(np.ones((1, 2))).shape == (1, 2)
