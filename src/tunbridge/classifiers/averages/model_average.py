"""Several models as one: the average of their posteriors, weighted by how probable each model is.

    P(c | x) = Σ_h P(c | x, h) P(h | D)

A model may have been learned from other rows than its neighbours: then it has its own states and classes, and rows are
told to it in its own codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Given, conditional_terms, seen_cells
from tunbridge.classifiers.explanation.ranges import cuts_of, ranges_of, ranges_of_cuts
from tunbridge.classifiers.posteriors import Finish, posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.data import Variable

_NOTHING = 1e-17  # a model less probable than this changes no digit


@dataclass(frozen=True, eq=False)
class ModelAverage:
    """The average of several models.

    Parameters
    ----------
    target : Variable
        The class variable, with the classes of all models.
    fitted : tuple of BayesClassifier
        The models.
    weights : ndarray of shape (n_models,)
        P(h | D).
    """

    target: Variable
    fitted: tuple[BayesClassifier, ...]
    weights: np.ndarray

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(c | x))`` for each row, (n_rows, n_classes)."""
        return self._finished(self._averaged(batch, n_jobs), finish)

    def drawn(self, batch: Batch, finish: Finish, n_jobs: int | None, seed: int) -> np.ndarray:
        """Return ``finish(log P(c | x, h))`` with a model h for each row, drawn with probability P(h | D).

        The draw follows from the seed and from what the row holds: the order of rows does not matter.
        """
        places = batch.keys(seed) / 2.0**64
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), places, side="right"), len(self.weights) - 1)
        out = np.empty((batch.n_rows, self.target.n_states))
        for h in np.unique(chosen).tolist():
            rows = chosen == h
            out[rows] = member_posterior(self.fitted[h], batch.take(rows), self.target, n_jobs)
        return self._finished(out, finish)

    def terms(self, batch: Batch) -> np.ndarray:
        """Return what each feature adds beside those before it, (n_features, n_classes, n_rows)."""
        return conditional_terms(self, batch, range(len(batch.variables)))

    def conditions(self, batch: Batch) -> list[Given]:
        """Return for each row and feature the features beside which its term is meant: those before it."""
        return [_told_before(row) for row in seen_cells(batch).T]

    def importances(self, statistics: Any, method: str) -> dict[int, float]:
        """Return what each feature tells about the class, averaged over the models."""
        names = [v.name for v in statistics.variables]
        found = dict.fromkeys(range(len(names)), 0.0)
        for model, weight in self._present():
            told = model.importance(method)
            for j, name in enumerate(names):
                found[j] += weight * told[name]
        return found

    def ranges(self) -> dict[int, tuple[float, float]]:
        """Return between which values the numbers lie, with a density or cut into intervals."""
        ends: dict[int, list[float]] = {}
        models = [model for model, _ in self._present()]
        known = [ranges_of(model._model, model.statistics_) for model in models]
        for found in (*known, ranges_of_cuts([cuts_of(model._model) for model in models])):
            for j, pair in found.items():
                ends.setdefault(j, []).extend(pair)
        return {j: (min(pairs), max(pairs)) for j, pairs in ends.items()}

    def _present(self) -> list[tuple[BayesClassifier, float]]:
        pairs = zip(self.fitted, self.weights.tolist(), strict=True)
        return [(model, weight) for model, weight in pairs if weight > _NOTHING]

    def _averaged(self, batch: Batch, n_jobs: int | None) -> np.ndarray:
        out = np.zeros((batch.n_rows, self.target.n_states))
        for model, weight in self._present():
            out += weight * member_posterior(model, batch, self.target, n_jobs)
        return out

    @staticmethod
    def _finished(shares: np.ndarray, finish: Finish) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return finish(np.log(shares).T).T


def member_posterior(fitted: BayesClassifier, batch: Batch, target: Variable, n_jobs: int | None) -> np.ndarray:
    """Return P(c | x) of one model for each row and each class of the target; classes that it does not know get 0."""
    log_prior = fitted.class_log_prior_

    def finish(joint: np.ndarray) -> np.ndarray:
        lost = np.isneginf(joint.max(axis=0))
        return posterior(np.where(lost, log_prior[:, None], joint) if lost.any() else joint)

    found = fitted._model.joint(_translated(batch, fitted.variables_), finish, n_jobs)
    known: Variable = fitted.statistics_.target
    if known.states == target.states:
        return found
    out = np.zeros((batch.n_rows, target.n_states))
    out[:, [target.code(s) for s in known.states or ()]] = found
    return out


def _translated(batch: Batch, variables: Sequence[Variable]) -> Batch:
    """Return rows in the codes of other variables; states that these do not have are missing."""
    if all(v is w or v.states == w.states for v, w in zip(batch.variables, variables, strict=True)):
        return replace(batch, variables=tuple(variables))
    codes = dict(batch.codes)
    for j, column in batch.codes.items():
        here, there = batch.variables[j], variables[j]
        if here.states != there.states:
            places = [there.find(s) for s in here.states or ()]
            codes[j] = np.array([*places, -1], np.int32)[column]
    return replace(batch, variables=tuple(variables), codes=codes)


def _told_before(seen: np.ndarray) -> Given:
    told = np.flatnonzero(seen).tolist()
    out: Given = [()] * len(seen)
    for i, j in enumerate(told):
        out[j] = tuple(told[:i])
    return out
