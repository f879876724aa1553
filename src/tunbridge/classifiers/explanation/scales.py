"""The weight of evidence of every value of every feature: what a nomogram is drawn from.

Where features are independent given the class, a value's weight of evidence is the same in every row, so each feature
has a scale: its states, or numbers over the range in which nearly all values lie, with the weight of each. Whoever
adds up the weights of a row's values and the prior has the log-odds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tunbridge._memory import check_memory
from tunbridge.classifiers.dependence.family_model import FamilyModel
from tunbridge.classifiers.explanation.ranges import cuts_of, ranges_of
from tunbridge.classifiers.naive.likelihood import Likelihood
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_STATE
from tunbridge.data import Variable
from tunbridge.errors import DataError

N_NUMBERS = 1025


@dataclass(frozen=True, eq=False)
class Scale:
    """The values of a feature and their weights of evidence.

    Parameters
    ----------
    feature : str
        Its name.
    values : tuple
        States or the names of intervals, in order; for a number with a density, numbers in rising order.
    weights : ndarray
        The weight of each value, in nats; infinite where one of the classes cannot have it.
    is_number : bool
        Whether the values are points of a continuous scale.
    """

    feature: str
    values: tuple[Any, ...]
    weights: np.ndarray
    is_number: bool

    @property
    def finite(self) -> np.ndarray:
        """The finite weights."""
        return self.weights[np.isfinite(self.weights)]

    @property
    def length(self) -> float:
        """How far apart the least and the greatest finite weight are."""
        return float(np.ptp(self.finite)) if self.finite.size else 0.0


@dataclass(frozen=True, eq=False)
class Scales:
    """The scales of all features for one class against another.

    Parameters
    ----------
    label, against : object
        The classes.
    prior : float
        The log-odds before any evidence.
    scales : tuple of Scale
        One a feature, in order; features without a known value have none.
    """

    label: Any
    against: Any
    prior: float
    scales: tuple[Scale, ...]


def evidence_scales(
    classifier: Any,
    label: Any = None,
    against: Any = None,
    *,
    ranges: Mapping[int, tuple[float, float]] | None = None,
) -> Scales:
    """Return the weights of evidence of all values for one class against another.

    By default the second of two classes is set against the first; of more, the most frequent against the next.
    ``ranges`` says for numbers, by position, where their scale starts and ends. Raises for a classifier whose features
    depend on each other: there a value has no weight by itself.
    """
    check_is_fitted(classifier)
    _check_independent(classifier)
    c, d = _classes(classifier, label, against)
    model, labels = classifier._model, classifier.classes_.tolist()
    ranges = ranges_of(model, classifier.statistics_) | dict(ranges or {})
    options = [_values(model, v, j, ranges.get(j)) for j, v in enumerate(classifier.variables_)]
    n_rows = max((len(values) for values, _, _ in options), default=0)
    check_memory(
        "the weights of all values",
        16.0 * len(labels) * n_rows * len(options),
        ways_out="Leave out features with many states.",
    )
    terms = model.terms(_all_values(classifier.variables_, [cells for _, cells, _ in options], n_rows))[:, [c, d]]
    scales = [
        Scale(v.name, tuple(values), _differences(terms[j, :, : len(values)]), is_number)
        for j, (v, (values, _, is_number)) in enumerate(zip(classifier.variables_, options, strict=True))
        if len(values)
    ]
    prior = _prior(classifier, c, d)
    return Scales(labels[c], labels[d], prior, tuple(scales))


def _check_independent(classifier: Any) -> None:
    model, name = classifier._model, type(classifier).__name__
    rule = "a nomogram must be of features that are independent given the class, as in naive Bayes"
    way = "Explain single rows instead."
    if isinstance(model, FamilyModel):
        names = [v.name for v in classifier.variables_]
        pairs = [(names[j], names[p[0]]) for j, p in enumerate(model.parents) if p]
        if pairs:
            raise DataError(f"{rule}; in this {name} {pairs[0][0]!r} depends on {pairs[0][1]!r}. {way}")
    elif not isinstance(model, Likelihood):
        raise DataError(f"{rule}; got {name}. {way}")


def _classes(classifier: Any, label: Any, against: Any) -> tuple[int, int]:
    target, weight = classifier.statistics_.target, np.asarray(classifier.class_count_)
    if target.n_states < 2:
        raise DataError(f"a nomogram must compare two classes; the model knows only {target.states[0]!r}.")
    ranked = [1, 0] if target.n_states == 2 else np.argsort(-weight, kind="stable").tolist()
    d = None if against is None else target.code(against)
    c = target.code(label) if label is not None else next(k for k in ranked if k != d)
    d = next(k for k in ranked if k != c) if d is None else d
    if c == d:
        raise DataError(f"a nomogram must compare two different classes; got {label!r} against {against!r}.")
    return c, d


def _prior(classifier: Any, c: int, d: int) -> float:
    """Return the log-odds of the prior; raise where it excludes one of the two classes."""
    found = classifier.class_log_prior_
    for k in (c, d):
        if np.isneginf(found[k]):
            excluded = classifier.classes_.tolist()[k]
            raise DataError(f"a nomogram must compare classes that can be; {excluded!r} has prior probability zero.")
    return float(found[c] - found[d])


def _values(
    model: Any, variable: Variable, j: int, between: tuple[float, float] | None
) -> tuple[list[Any], np.ndarray, bool]:
    """Return the values of a feature, the cells that have them (codes or numbers), and whether it is a number."""
    cut = cuts_of(model).get(j)
    gap = [MISSING_STATE] if j in getattr(getattr(model, "coding", None), "gaps", ()) else []
    if variable.is_categorical:
        n = variable.n_states
        return [*(variable.states or ()), *gap], np.append(np.arange(n), [-1] * len(gap)).astype(np.int64), False
    if cut is not None:
        inner = [*cut.cuts, np.inf]
        cells = [x if np.isfinite(x) else (cut.cuts[-1] + 1.0 + abs(cut.cuts[-1]) if cut.cuts else 0.0) for x in inner]
        return [*cut.labels, *gap], np.array([*cells, *([np.nan] * len(gap))]), False
    numbers = np.array([]) if between is None else np.linspace(*between, N_NUMBERS)
    return numbers.tolist(), numbers, True


def _all_values(variables: tuple[Variable, ...], cells: list[np.ndarray], n_rows: int) -> Batch:
    """Return rows whose i-th one has the i-th value of every feature: they do not interfere with each other."""
    codes, numbers = {}, []
    for j, (variable, own) in enumerate(zip(variables, cells, strict=True)):
        if variable.is_categorical:
            codes[j] = np.append(own, np.full(n_rows - len(own), -1)).astype(np.int64)
        else:
            numbers.append(np.append(own, np.full(n_rows - len(own), np.nan)))
    return Batch(variables, codes, numbers, n_rows)


def _differences(terms: np.ndarray) -> np.ndarray:
    """Return what the first class has more than the second, 0 where neither can have the value."""
    same = terms[0] == terms[1]
    return np.where(same, 0.0, np.where(same, 0.0, terms[0]) - np.where(same, 0.0, terms[1]))
