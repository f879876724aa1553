"""What fits and is saved is loaded and answers the same: odd tables, every classifier, with and without weights."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge._core.registry import entries

N = 30
RNG = np.random.default_rng(0)
Y = np.array(["p", "q", "r"] * 10)


def numbers() -> np.ndarray:
    return np.round(RNG.normal(size=N), 1)


FRAMES = {
    "one row": pd.DataFrame({"a": ["x"], "v": [1.5]}),
    "a class without values": pd.DataFrame(
        {"a": np.where(Y == "p", None, "x"), "v": np.where(Y == "q", np.nan, numbers())}
    ),
    "no values": pd.DataFrame({"a": [None] * N, "v": [np.nan] * N, "w": numbers()}),
    "huge and tiny": pd.DataFrame({"v": numbers() * 1e200, "w": numbers() * 1e-200, "a": ["x"] * N}),
    "constant": pd.DataFrame({"v": np.full(N, 0.5), "w": numbers()}),
}


def estimators():
    """Yield every classifier of tables, with every rule for numbers that it has."""
    for name, entry in entries("classifier").items():
        kind = entry.load()
        if name in ("text", "sequence", "hmm"):
            continue
        if "estimator" in inspect.signature(kind).parameters:
            yield name, lambda kind=kind: kind(tb.NaiveBayesClassifier())
            continue
        yield name, kind
        if "numeric" in inspect.signature(kind).parameters:
            for rule in ("gaussian", "kernel", "discretise"):
                yield f"{name}-{rule}", lambda kind=kind, rule=rule: kind(numeric=rule)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("name", "make"), list(estimators()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_saved_model_is_loaded(name, make, frame, tmp_path):
    X, y = FRAMES[frame], Y[: len(FRAMES[frame])]
    for weights in (None, np.where(np.arange(len(y)) % 2, 0.0, 1.0)):
        try:
            model = make().fit(X, y, sample_weight=weights)
            before = model.predict_proba(X)
        except tb.TunbridgeError:  # not a table for this classifier
            continue
        model.save(tmp_path / "m.tb")
        np.testing.assert_allclose(tb.load(tmp_path / "m.tb").predict_proba(X), before, rtol=1e-12, atol=1e-300)
