"""Naive Bayes against scikit-learn: time of fit and predict_proba, and memory beyond the input."""

from __future__ import annotations

import json

import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import tunbridge as tb
from benchmarks.harness import Result, interleaved, run_python

N_ROWS, N_COLUMNS, N_CLASSES, N_STATES = 1_000_000, 50, 5, 8

PEAK = """
import json, pathlib, re
import numpy as np
import tunbridge as tb
rng = np.random.default_rng(0)
y = rng.integers(0, {classes}, {rows})
X = rng.random(({rows}, {columns})) if {numeric} else rng.integers(0, {states}, ({rows}, {columns}))
status = pathlib.Path("/proc/self/status")
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text()).group(1)) * 1024
model = tb.NaiveBayesClassifier(categorical=None if {numeric} else "all", numeric="gaussian")
model.fit(X[:40_000], y[:40_000]).predict_proba(X[:40_000])       # loads and compiles everything
before = peak()
model.fit(X, y)
fitted = peak()
model.predict_proba(X)
print(json.dumps([X.nbytes, fitted - before, peak() - before]))
"""


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, N_ROWS)
    return [*gaussian(rng, y), *categorical(rng, y)]


def gaussian(rng: np.random.Generator, y: np.ndarray) -> list[Result]:
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) + 0.1 * y[:, None]
    ours, peer = tb.NaiveBayesClassifier(numeric="gaussian", variance="mle"), GaussianNB()
    return [*compare("Gaussian", ours, peer, X, y, numeric=True), *chosen(X, y, peer)]


def chosen(X: np.ndarray, y: np.ndarray, peer: GaussianNB) -> list[Result]:
    """Time the default, which chooses the model of each number, beside Gaussian naive Bayes, which does less."""
    ours = tb.NaiveBayesClassifier()
    fit = interleaved(lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    predict = interleaved(lambda: ours.predict_proba(X), lambda: peer.predict_proba(X))
    what = 'default (numeric="auto")'
    return [
        Result(f"{what}: fit", *fit, peer_name="scikit-learn, Gaussian"),
        Result(f"{what}: predict_proba", *predict, peer_name="scikit-learn, Gaussian"),
    ]


def categorical(rng: np.random.Generator, y: np.ndarray) -> list[Result]:
    X = rng.integers(0, N_STATES, (N_ROWS, N_COLUMNS))
    return compare(
        "categorical, 8 states", tb.NaiveBayesClassifier(categorical="all"), CategoricalNB(), X, y, numeric=False
    )


def compare(what: str, ours: object, peer: object, X: np.ndarray, y: np.ndarray, *, numeric: bool) -> list[Result]:
    fit = interleaved(lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    predict = interleaved(lambda: ours.predict_proba(X), lambda: peer.predict_proba(X))
    apart = float(np.abs(ours.predict_proba(X) - peer.predict_proba(X)).max())
    assert apart < 1e-5, f"the two sides do not compute the same thing: {apart}"
    code = PEAK.format(classes=N_CLASSES, rows=N_ROWS, columns=N_COLUMNS, states=N_STATES, numeric=numeric)
    size, fitted, total = json.loads(run_python(code))
    least = 5 * np.array([fit[0], predict[0]])
    return [
        Result(f"{what}: fit", *fit, "scikit-learn", "≥ 5 ×", fit[1] >= least[0], _memory(fitted, size)),
        Result(
            f"{what}: predict_proba", *predict, "scikit-learn", "≥ 5 ×", predict[1] >= least[1], _memory(total, size)
        ),
    ]


def _memory(peak: int, size: int) -> str:
    return f"peak memory beyond the input {peak / size:.2f} × its size (goal < 1: {'yes' if peak < size else 'no'})"
