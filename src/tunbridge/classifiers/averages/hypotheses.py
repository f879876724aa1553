"""Hypotheses: classifiers that are weighed by data, what each has learned, and how well it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.kdb import KDBClassifier
from tunbridge.classifiers.dependence.tan import TANClassifier
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.data import Variable
from tunbridge.errors import DataError

CROSS_VALIDATED, TRAINING = "cross-validated", "training"


@dataclass(frozen=True, eq=False)
class BayesOptimalStatistics:
    """What is kept of the data: the statistics of every hypothesis, and how well each predicts.

    Parameters
    ----------
    target : Variable
        The class variable.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    variables : tuple of Variable
        The features.
    makers : tuple of BayesClassifier
        The hypotheses, not learned.
    statistics : tuple
        What each has learned.
    log_likelihoods : ndarray of shape (n_hypotheses,)
        Σ log P(c | x, h) over rows that the hypothesis had not seen (or had, where that is asked for).
    """

    target: Variable
    class_weight: np.ndarray
    variables: tuple[Variable, ...]
    makers: tuple[BayesClassifier, ...]
    statistics: tuple[Any, ...]
    log_likelihoods: np.ndarray

    def merge(self, other: BayesOptimalStatistics) -> BayesOptimalStatistics:
        """Return the statistics of the rows of both; what was told about either of them adds up."""
        found = tuple(a.merge(b) for a, b in zip(self.statistics, other.statistics, strict=True))
        target = sorted_target(self.target, other.target)
        weight = np.zeros(target.n_states)
        for part in (self, other):
            weight[[target.code(s) for s in part.target.states or ()]] += part.class_weight
        log_likelihoods = self.log_likelihoods + other.log_likelihoods
        return replace(
            self,
            target=target,
            class_weight=weight,
            variables=found[0].variables,
            statistics=found,
            log_likelihoods=log_likelihoods,
        )

    def hypotheses(self) -> tuple[BayesClassifier, ...]:
        """Return the hypotheses, learned."""
        return tuple(learned(m, s) for m, s in zip(self.makers, self.statistics, strict=True))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a class, and their weights; ``classes`` are codes of the target's states."""

    batch: Batch
    classes: np.ndarray
    target: Variable
    weights: np.ndarray | None

    @property
    def mass(self) -> np.ndarray:
        """The rows' weights, ones where there are none."""
        return np.ones(len(self.classes)) if self.weights is None else self.weights

    def weighted(self, shares: np.ndarray) -> Rows:
        """Return the rows that are left when each counts a share of its weight."""
        mass = self.mass * shares
        some = mass > 0
        plain = self.weights is None and (mass[some] == 1.0).all()
        weights = None if plain else mass[some]
        return replace(self, batch=self.batch.take(some), classes=self.classes[some], weights=weights)


def named_estimators(estimators: Any) -> dict[str, BayesClassifier]:
    """Return the hypotheses by name; raise where they are none."""
    if estimators is None:
        return {"naive Bayes": NaiveBayesClassifier(), "TAN": TANClassifier(), "k-DB": KDBClassifier()}
    pairs = list(estimators.items()) if isinstance(estimators, Mapping) else estimators
    rule = "estimators must be pairs of a name and a classifier of Tunbridge"
    hint = "Write [('name', classifier), …]."
    if isinstance(pairs, str) or not hasattr(pairs, "__iter__") or not len(list(pairs)):
        raise DataError(f"{rule}; got {shortened(repr(estimators))}. {hint}")
    found: dict[str, BayesClassifier] = {}
    for each in pairs:
        if not isinstance(each, (tuple, list)) or len(each) != 2 or not isinstance(each[0], str):
            raise DataError(f"{rule}; got {shortened(repr(each))}. {hint}")
        name, estimator = each
        if not isinstance(estimator, BayesClassifier):
            make = f" Make one: {estimator.__name__}()." if isinstance(estimator, type) else ""
            raise DataError(f"{rule}; {name!r} is {shortened(repr(estimator))}.{make}")
        if name in found:
            raise DataError(f"estimators must have different names; got {name!r} twice.")
        found[name] = estimator
    return found


def shares_of(what: str, given: Any, names: list[str]) -> np.ndarray:
    """Return a number for each hypothesis that sums to one; all alike where nothing is given."""
    if given is None:
        return np.full(len(names), 1.0 / len(names))
    if isinstance(given, str):
        choices = f"'{CROSS_VALIDATED}', '{TRAINING}', or " if what == "weights" else ""
        raise DataError(f"{what} must be {choices}numbers; got {given!r}.")
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise DataError(f"{what} must name the estimators; got {name!r}. {did_you_mean(name, names)}")
        absent = [n for n in names if n not in given]
        if absent:
            raise DataError(f"{what} must have a number for each estimator; {listed(absent)} has none.")
        given = [given[n] for n in names]
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; got {shortened(repr(given))}.") from None
    if found.shape != (len(names),):
        raise DataError(f"{what} must have one number for each of {len(names)} estimators; got {found.shape}.")
    if not (np.isfinite(found) & (found >= 0)).all() or found.sum() <= 0:
        raise DataError(f"{what} must be at least 0, and not all 0; got {shortened(repr(found.tolist()))}.")
    return found / found.sum()


def learned(maker: BayesClassifier, statistics: Any) -> BayesClassifier:
    """Return a classifier with what it has learned."""
    copy: BayesClassifier = clone(maker)
    copy._adopt(statistics, None)
    copy._count_features()
    return copy
