"""Models that take part in a comparison: each has a name, learns from labelled rows, and gives log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tunbridge._core.check import listed, shortened
from tunbridge._core.threads import n_threads
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.classifiers._rows import Frame
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.errors import DataError
from tunbridge.evaluation.families import make_classifier
from tunbridge.evaluation.labelled import Coded, Labelled, class_codes, weight_arguments

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_MADE_OF_OTHERS = ("steps", "estimators", "estimator", "base_estimator", "transformers")
_SEEDS = 2**32


Models: TypeAlias = "str | BaseEstimator | Iterable[str | BaseEstimator] | Mapping[str, str | BaseEstimator]"
"""Models by name, or estimators; one, several, or named."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model with a name.

    Parameters
    ----------
    name : str
        What it is called.
    estimator : estimator
        What is cloned and fitted.
    takes_tables : bool
        Whether it takes a Table and the name of the target, as ours do; otherwise it gets the rows as they came.
    """

    name: str
    estimator: BaseEstimator
    takes_tables: bool

    def fitted(self, rows: Labelled) -> BaseEstimator:
        """Return a new model, learned from rows."""
        model = unfitted_copy(self.estimator)
        if self.takes_tables:
            return model.fit(rows.table, rows.target) if rows.is_named else model.fit(rows.features, rows.labels)
        return model.fit(rows.as_they_came(), rows.labels, **weight_arguments(model, rows.table.weights))

    def fitted_on_all(self, rows: Labelled) -> BaseEstimator:
        """Return the model to keep: what came as an array without names is learned from as one."""
        if self.takes_tables and isinstance(rows.source, np.ndarray) and not rows.is_named:
            return unfitted_copy(self.estimator).fit(rows.source, rows.labels, sample_weight=rows.table.weights)
        return self.fitted(rows)

    def log_proba(self, model: BaseEstimator, rows: Labelled) -> np.ndarray:
        """Return log P(c | x) for each row and each of the rows' classes."""
        X = rows.features if self.takes_tables else rows.as_they_came()
        found = log_probabilities(self.name, model, X)
        place = class_codes(rows.classes, model.classes_.tolist())
        out = np.full((len(found), len(rows.classes)), -np.inf)
        out[:, place] = found
        return out


def log_probabilities(name: str, model: BaseEstimator, X: Frame) -> np.ndarray:
    """Return log P(c | x) as a model gives it; raise when it gives no probabilities."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            found = np.asarray(model.predict_log_proba(X), np.float64)
        else:
            found = np.log(np.asarray(model.predict_proba(X), np.float64))
    if np.isnan(found).any():
        raise DataError(f"the probabilities of model {name!r} must be numbers; some are NaN.")
    return found


def as_candidates(models: Models, *, random_state: int = 0, n_jobs: int | None = None) -> tuple[Candidate, ...]:
    """Return the models that were named or given, ready to be fitted.

    Parameters
    ----------
    models : str, estimator, iterable of these, or mapping of names to these
        Names as in :func:`classifier_names` (several in one text with commas between them), or estimators.
    random_state : int
        The seed of those that need one and have none.
    n_jobs : int, optional
        The threads of those that can use several.
    """
    n_threads(n_jobs)
    named = [(name, model) for name, model in _named(models) if not (isinstance(model, str) and not model.strip())]
    if not named:
        raise DataError("models must name one model at least; got none.")
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"models must have different names; got {listed(twice)} twice. Name estimators by a dict of them."
        )
    return tuple(_candidate(name, model, random_state, n_jobs) for name, model in named)


def _named(models: Models) -> list[tuple[str, Any]]:
    if isinstance(models, Mapping):
        return [(str(name), model) for name, model in models.items()]
    several = models.split(",") if isinstance(models, str) else models
    if hasattr(several, "fit") or not isinstance(several, Iterable):
        several = [several]
    return [(_name_of(model), model) for model in several]


def _name_of(model: object) -> str:
    return model.strip().lower() if isinstance(model, str) else shortened(" ".join(repr(model).split()), 40)


def _candidate(name: str, model: str | BaseEstimator, random_state: int, n_jobs: int | None) -> Candidate:
    estimator = make_classifier(model) if isinstance(model, str) else _checked(name, model)
    ours = isinstance(estimator, BayesClassifier | Coded)
    if not ours and not _takes_any_rows(estimator):
        estimator, ours = Coded(estimator), True
    return Candidate(name, _settled(unfitted_copy(estimator), random_state, n_jobs), ours)


def _checked(name: str, model: BaseEstimator) -> BaseEstimator:
    if isinstance(model, type):
        raise DataError(f"a model must be an estimator, not its class; got {name}. Write {model.__name__}().")
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise DataError(f"a model must be the name of one, or a scikit-learn estimator; got {name}.")
    if not hasattr(model, "predict_proba"):
        hint = "Wrap it in scikit-learn's CalibratedClassifierCV."
        raise DataError(f"a model must give probabilities (predict_proba); {name} gives none. {hint}")
    return model


def _takes_any_rows(estimator: BaseEstimator) -> bool:
    """Return whether an estimator is left to read the rows itself: one made of others, or one that takes text."""
    parameters = estimator.get_params(deep=False)
    if any(parameters.get(name) is not None for name in _MADE_OF_OTHERS):
        return True
    from sklearn.utils import get_tags

    return bool(get_tags(estimator).input_tags.string)


def _settled(estimator: BaseEstimator, random_state: int, threads: int | None) -> BaseEstimator:
    """Return the estimator with a seed where it needs one, its parts included, and with its threads where said."""
    given = estimator.get_params()
    seeds = [name for name, value in given.items() if name.split("__")[-1] == "random_state" and value is None]
    settings = dict.fromkeys(seeds, random_state % _SEEDS)
    if threads is not None:
        settings |= {"n_jobs": threads} if "n_jobs" in given else {}
        settings |= {"estimator__n_jobs": threads} if given.get("estimator__n_jobs") is not None else {}
    return estimator.set_params(**settings)
