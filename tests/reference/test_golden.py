"""Files of earlier versions load, and what they answered then they answer now."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tunbridge as tb
from reference import golden_models as golden

ANSWERS = json.loads((golden.GOLDEN / "answers.json").read_text())


SINGLE = {"text-nb-svm": 1e-6}  # fitted in single precision, whose last digits differ between processors


def assert_agree(now: Any, then: Any, rtol: float = 1e-10) -> None:
    """Compare nested lists and mappings, and numbers to ten digits (fewer in single precision)."""
    if isinstance(then, dict):
        assert set(map(str, now)) == set(then)
        for key, value in now.items():
            assert_agree(value, then[str(key)], rtol)
    elif isinstance(then, list):
        assert len(now) == len(then)
        for a, b in zip(now, then, strict=True):
            assert_agree(a, b, rtol)
    elif isinstance(then, float):
        np.testing.assert_allclose(now, then, rtol=rtol, atol=1e-12)
    else:
        assert now == then


@pytest.mark.parametrize("name", ANSWERS["models"])
def test_model_file_answers_as_it_did(name: str) -> None:
    model = tb.load(golden.GOLDEN / f"{name}.tb")
    assert_agree(golden.probabilities(name, model), ANSWERS["models"][name])


@pytest.mark.parametrize("name", ANSWERS["models"])
def test_model_fitted_now_answers_as_it_did(name: str) -> None:
    model = golden.fitted(name) if name in golden.CLASSIFIERS else golden.OTHERS[name]()
    assert_agree(golden.probabilities(name, model), ANSWERS["models"][name], SINGLE.get(name, 1e-10))


@pytest.mark.parametrize("name", ANSWERS["models"])
def test_model_file_learns_on(name: str) -> None:
    """What a file keeps suffices to learn from further rows, where the classifier can."""
    model = tb.load(golden.GOLDEN / f"{name}.tb")
    if not hasattr(model, "partial_fit") or name in golden.OTHERS:
        pytest.skip("it learns from all rows at once, or its rows are texts")
    before = float(np.sum(model.class_count_))
    model.partial_fit(golden.patients(), "kind")
    assert float(np.sum(model.class_count_)) > before


@pytest.mark.parametrize("name", ANSWERS["networks"])
def test_network_file_answers_as_it_did(name: str) -> None:
    net = tb.load(golden.GOLDEN / f"{name}.tb")
    assert_agree(dict(net.posterior(*golden.QUERIES[name])), ANSWERS["networks"][name])


def test_results_on_fixed_seeds() -> None:
    now = golden.results()
    for name, then in ANSWERS["results"].items():
        assert_agree(now[name], then)
