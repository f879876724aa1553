"""Before and after the evidence: the prior of the classes, and what log P(x, c) says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tunbridge._check import check_choice, listed
from tunbridge.data import Variable
from tunbridge.errors import DataError

Finish = Callable[[np.ndarray], np.ndarray]
"""What is done with each piece of log P(x, c), class × row."""


def posterior(joint: np.ndarray) -> np.ndarray:
    """Return P(c | x) from log P(x, c), class × row."""
    shares = np.exp(joint - joint.max(axis=0))
    shares /= shares.sum(axis=0)
    return shares


def log_posterior(joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x) from log P(x, c), class × row."""
    shifted = joint - joint.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))


def log_class_prior(given: Any, target: Variable, class_weight: np.ndarray) -> np.ndarray:
    """Return log P(c): relative frequencies, uniform, or as given."""
    n_classes, total = target.n_states, class_weight.sum()
    if total <= 0:
        raise DataError("some row must have a weight above zero; all sample weights are zero.")
    if given is None:
        prior = class_weight / total
    elif isinstance(given, str):
        check_choice("class_prior", given, ("uniform",))
        prior = np.full(n_classes, 1.0 / n_classes)
    else:
        prior = _given_prior(given, target)
    with np.errstate(divide="ignore"):
        return np.log(prior)


def _given_prior(given: Any, target: Variable) -> np.ndarray:
    if isinstance(given, Mapping):
        by_code = {target.code(label): value for label, value in given.items()}
        absent = [s for k, s in enumerate(target.states or ()) if k not in by_code]
        if absent:
            raise DataError(f"class_prior must give every class a probability; {listed(absent)} has none.")
        given = [by_code[k] for k in range(target.n_states)]
    prior = np.array(given, np.float64)
    if prior.shape != (target.n_states,):
        raise DataError(
            f"class_prior must have one probability for each of {target.n_states} classes; got {prior.shape}."
        )
    if not (np.isfinite(prior) & (prior >= 0)).all() or abs(prior.sum() - 1.0) > 1e-6:
        raise DataError(f"class_prior must be probabilities that sum to one; got {prior.tolist()}.")
    return prior / prior.sum()
