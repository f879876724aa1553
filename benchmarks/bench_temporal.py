"""Hidden Markov models against hmmlearn: the same data, starts and iterations.

Both sides start from the same parameters and make the same number of iterations of Baum–Welch, without a prior. The
peer of 10⁵ short sequences and of 64 states gets a part of the steps, and its time is scaled: it grows in proportion.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.harness import Result, Section, best_of, interleaved, skipped
from tunbridge.temporal.chain import Chain, Frames, best_paths, expectations
from tunbridge.temporal.emissions import Categorical, Gaussian

ITERATIONS = 10


def run() -> Section:
    try:
        from hmmlearn import hmm
    except ImportError:
        return skipped("hmmlearn is not installed: make bench installs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            *_categorical(hmm),
            *_gaussian(hmm),
            _many_states(hmm),
            *_small(hmm),
            *_answers(hmm),
            _short(hmm),
            *_sparse(),
            *_online(),
        ]


def _parameters(k: int, s: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k) * 2.0, k), rng.dirichlet(np.ones(s) * 2.0, k)


def _symbols(k: int, s: int, lengths: list[int], seed: int = 0) -> list[np.ndarray]:
    model = tb.HiddenMarkovModel.from_parameters(*_parameters(k, s, seed + 7))
    x = model.sample(sum(lengths), random_state=seed).observations.astype(np.int64)
    return np.split(x, np.cumsum(lengths)[:-1])


def _ours(k: int, s: int, x: Any, iterations: int, n_jobs: int) -> Callable[[], object]:
    emission = Categorical(probabilities=_parameters(k, s)[2])
    start = tb.HiddenMarkovModel.from_parameters(*_parameters(k, s)[:2], emission)
    start.set_params(warm_start=True, max_iterations=iterations, tolerance=0.0, n_jobs=n_jobs, progress=False)
    content = start.to_content()
    return lambda: tb.HiddenMarkovModel.from_content(content).fit(x)


def _theirs(hmm: Any, k: int, s: int, x: np.ndarray, lengths: list[int], iterations: int) -> Callable[[], object]:
    first, matrix, emission = _parameters(k, s)

    def fit() -> object:
        model = hmm.CategoricalHMM(k, n_iter=iterations, tol=-np.inf, init_params="")
        model.startprob_, model.transmat_, model.emissionprob_ = first, matrix, emission
        return model.fit(x.reshape(-1, 1), lengths)

    return fit


def _categorical(hmm: Any) -> Section:
    (x,) = _symbols(8, 20, [200_000])
    found = []
    for n_jobs, goal in ((1, 30), (2, 50)):
        ours, peer = interleaved(
            _ours(8, 20, x, ITERATIONS, n_jobs), _theirs(hmm, 8, 20, x, [len(x)], ITERATIONS), repeat=2
        )
        work = f"Baum–Welch, 8 states, 20 symbols, 200 000 steps, {ITERATIONS} iterations, {n_jobs} threads"
        found.append(_compared(work, ours, peer, goal))
    return found


def _compared(work: str, ours: float, peer: float, goal: float, name: str = "hmmlearn", remark: str = "") -> Result:
    return Result(work, ours, peer, name, f"≥ {goal:g} ×", peer / ours >= goal, remark)


def _gaussian(hmm: Any) -> Section:
    rng, k, d, n = np.random.default_rng(0), 8, 4, 200_000
    first, matrix, _ = _parameters(k, 2)
    means = 2.0 * rng.standard_normal((k, d))
    path = tb.HiddenMarkovModel.from_parameters(*_parameters(k, 2)).sample(n, random_state=0).states
    x = means[path] + rng.standard_normal((n, d))
    found = []
    for kind, theirs in (("diagonal", "diag"), ("full", "full")):
        covariances = np.ones((k, d)) if kind == "diagonal" else np.tile(np.eye(d), (k, 1, 1))
        emission = Gaussian(kind, means=means + 0.3, covariances=covariances)
        start = tb.HiddenMarkovModel.from_parameters(first, matrix, emission)
        start.set_params(warm_start=True, max_iterations=ITERATIONS, tolerance=0.0, progress=False)
        content = start.to_content()

        def peer(theirs: str = theirs, covariances: np.ndarray = covariances) -> object:
            model = hmm.GaussianHMM(
                k, theirs, n_iter=ITERATIONS, tol=-np.inf, init_params="", means_prior=0, means_weight=0,
                covars_prior=0, covars_weight=0,
            )  # fmt: skip
            model.startprob_, model.transmat_, model.means_, model.covars_ = first, matrix, means + 0.3, covariances
            return model.fit(x)

        ours, took = interleaved(lambda c=content: tb.HiddenMarkovModel.from_content(c).fit(x), peer, repeat=2)  # type: ignore[misc]
        work = f"the same, {kind} Gaussian, 4 columns"
        found.append(_compared(work, ours, took, 30))
    return found


def _many_states(hmm: Any) -> Result:
    (x,) = _symbols(64, 20, [20_000])
    ours = best_of(_ours(64, 20, x, 2, 2), 3)
    peer = best_of(_theirs(hmm, 64, 20, x, [len(x)], 2), 1)
    return _compared("64 states, 20 symbols, 20 000 steps, 2 iterations", ours, peer, 50)


def _small(hmm: Any) -> Section:
    found = []
    for k in (2, 4, 10):
        parts = _symbols(k, 6, [100] * 50)
        ours, peer = interleaved(
            _ours(k, 6, parts, 20, 2), _theirs(hmm, k, 6, np.concatenate(parts), [100] * 50, 20), repeat=3
        )
        found.append(_compared(f"50 sequences × 100, {k} states, 20 iterations", ours, peer, 1))
    return found


def _answers(hmm: Any) -> Section:
    (x,) = _symbols(64, 20, [1_000_000])
    model = tb.HiddenMarkovModel.from_parameters(*_parameters(64, 20))
    theirs = hmm.CategoricalHMM(64)
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = _parameters(64, 20)
    part = x[: len(x) // 20].reshape(-1, 1)
    found = []
    for work, ours, peer in (
        ("most probable path, 64 states, 10⁶ steps", lambda: model.predict(x), lambda: theirs.predict(part)),
        ("posteriors, 64 states, 10⁶ steps", lambda: model.predict_proba(x), lambda: theirs.predict_proba(part)),
    ):
        found.append(_compared(work, best_of(ours, 2), 20 * best_of(peer, 1), 5, remark="peer: 50 000 steps, × 20"))
    return found


def _short(hmm: Any) -> Result:
    parts = _symbols(4, 10, [20] * 100_000)
    some = parts[:10_000]
    ours = best_of(_ours(4, 10, parts, 5, 2), 2)
    peer = best_of(_theirs(hmm, 4, 10, np.concatenate(some), [20] * len(some), 5), 1)
    work = "100 000 sequences × 20, 4 states, 5 iterations"
    return _compared(work, ours, 10 * peer, 50, remark="peer: 10 000 sequences, × 10")


def _sparse() -> Section:
    """A band of three transitions a state among 1 000 states, against the same matrix without zeros."""
    rng, k, n = np.random.default_rng(0), 1000, 10_000
    band = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) <= 1
    logs = np.log(rng.dirichlet(np.ones(20), k).T)
    frames = Frames(logs, rng.integers(0, 20, n), np.array([0, n]))
    found = []
    start = np.full(k, 1.0 / k)
    dense = Chain(start, rng.dirichlet(np.ones(k), k)[None])
    matrix = band * rng.random((k, k))
    sparse = Chain(start, (matrix / matrix.sum(axis=1, keepdims=True))[None])
    for work, function in (("expected counts", expectations), ("most probable path", best_paths)):
        ours = best_of(lambda f=function: f(sparse, frames), 3)  # type: ignore[misc]
        peer = best_of(lambda f=function: f(dense, frames), 1)  # type: ignore[misc]
        name = f"{work}, 1 000 states, 3 transitions each, 10 000 steps"
        found.append(Result(name, ours, peer, "all transitions", "cost by transitions", peer / ours > 1))
    return found


def _online() -> Section:
    (x,) = _symbols(8, 20, [200_000])
    model = tb.HiddenMarkovModel.from_parameters(*_parameters(8, 20))
    batch = best_of(lambda: model.stream().update(x), 3) / len(x)

    def one_by_one() -> None:
        stream = model.stream()
        for value in x[:20_000].tolist():
            stream.push(value)

    single = best_of(one_by_one, 3) / 20_000
    return [
        Result("online filtering, 8 states, a step in batches", batch, goal="≤ 5 µs", reached=batch <= 5e-6),
        Result("online filtering, 8 states, one step at a time", single, goal="≤ 50 µs", reached=single <= 5e-5),
    ]
