"""EM over rows of which some have no class, by statistics that can be merged.

The expected statistics of a row without a class are those of one copy of it for each class, weighing λ P(c | x). Copies
that weigh next to nothing are left out, so that a row whose class is as good as known counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tunbridge._threads import row_pieces
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import FamilyModel, as_table_prior
from tunbridge.classifiers.naive.likelihood import Likelihood
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.folds import deal_folds
from tunbridge.counts import Counts
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.learning.priors import added_counts, depends_on_counts

_NOTHING = 1e-12  # shares below this are left out
_BYTES_AT_ONCE = 400_000_000
_LEAST = -1e8  # stands for the logarithm of probability zero
_CONFIDENT = 1e-15  # a held-out row costs no more than −log of this


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows of features of which some have a class.

    Parameters
    ----------
    batch : Batch
        The features.
    classes : ndarray of int
        The code of each row's class; −1 where it has none.
    target : Variable
        The class variable.
    weights : ndarray, optional
        The rows' weights.
    """

    batch: Batch
    classes: np.ndarray
    target: Variable
    weights: np.ndarray | None

    @property
    def mass(self) -> np.ndarray:
        """The rows' weights, ones where there are none."""
        return np.ones(len(self.classes)) if self.weights is None else self.weights

    def n(self, weight: float) -> float:
        """Return the number of rows, those without a class counted by their weight."""
        mass, known = self.mass, self.classes >= 0
        return max(1.0, float(mass[known].sum() + weight * mass[~known].sum()))

    def take(self, which: np.ndarray) -> Labelled:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, batch=self.batch.take(which), classes=self.classes[which], weights=weights)


@dataclass(frozen=True, eq=False)
class SemiSupervisedStatistics:
    """A classifier that was learned from rows with and without a class.

    Parameters
    ----------
    fitted : BayesClassifier
        The classifier.
    unlabelled_weight : float
        λ, the weight of a row without a class.
    trace : tuple of float
        The objective at the start and after each iteration.
    losses : mapping of float to float
        The log-loss of held-out rows for each λ, where one was to be chosen.
    """

    fitted: BayesClassifier
    unlabelled_weight: float
    trace: tuple[float, ...]
    losses: Mapping[float, float]

    @property
    def target(self) -> Variable:
        """The class variable."""
        target: Variable = self.fitted.statistics_.target
        return target

    @property
    def class_weight(self) -> np.ndarray:
        """The weight of the rows of each class, with those expected to have it."""
        return np.asarray(self.fitted.class_count_)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features."""
        return self.fitted.variables_

    def merge(self, other: Any) -> Any:
        """Raise: the rows without a class are not kept, and would have to be looked at again."""
        raise DataError("a semi-supervised classifier must be learned from all rows at once; got further ones.")


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where a climb ended: the classifier, the objective on the way, and whether it settled."""

    fitted: BayesClassifier
    trace: list[float]
    settled: bool


def climb(
    estimator: BayesClassifier, rows: Labelled, weight: float, *, max_iter: int, tol: float, n_jobs: int | None
) -> Climbed:
    """Return the estimator learned from rows with and without a class, the latter with a weight λ."""
    known, unknown = rows.take(rows.classes >= 0), rows.take(rows.classes < 0)
    estimator._check_parameters()
    start = estimator._collect(known.batch, known.classes, rows.target, known.weights, None)
    asked = _Asked(estimator, known, unknown, weight, n_jobs)
    statistics, (shares, objective) = start, asked(start)
    trace, settled = [objective], not unknown.classes.size or weight == 0.0
    while not settled and len(trace) <= max_iter:
        found = start.merge(_expected(estimator, unknown, weight, shares, start))
        shares, objective = asked(found)
        gain = objective - trace[-1]
        settled = gain <= tol * rows.n(weight)
        if gain < 0.0:
            break
        statistics = found
        trace.append(objective)
    estimator._adopt(statistics, None)
    estimator._count_features()
    return Climbed(estimator, trace, settled)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What statistics say: P(c | x) of the rows without a class, and the objective."""

    estimator: BayesClassifier
    known: Labelled
    unknown: Labelled
    weight: float
    n_jobs: int | None

    def __call__(self, statistics: Any) -> tuple[np.ndarray, float]:
        self.estimator._adopt(statistics, None)
        model: Any = self.estimator._model
        joint = model.joint(self.known.batch, _bounded, self.n_jobs)
        own = joint[np.arange(len(joint)), self.known.classes]
        objective = float(self.known.mass @ own) + log_table_prior(self.estimator, statistics, model)
        if not self.unknown.classes.size or self.weight == 0.0:
            return np.empty((0, self.known.target.n_states)), objective
        joint = model.joint(self.unknown.batch, _bounded, self.n_jobs)
        evidence = logsumexp(joint, axis=1)
        objective += self.weight * float(self.unknown.mass @ evidence)
        joint -= evidence[:, None]
        return np.exp(joint, out=joint), objective


def _bounded(joint: np.ndarray) -> np.ndarray:
    """Return logarithms none of which is −∞."""
    return np.maximum(joint, _LEAST)


def _expected(estimator: BayesClassifier, rows: Labelled, weight: float, shares: np.ndarray, start: Any) -> Any:
    """Return the statistics of rows without a class, each counted in every class by its share."""
    copies, classes = np.nonzero(shares > _NOTHING)
    weights = weight * rows.mass[copies] * shares[copies, classes]
    found: Any = None
    for begin, end in row_pieces(len(copies), max(1, int(_BYTES_AT_ONCE / max(1.0, rows.batch.row_bytes)))):
        part = slice(begin, end)
        batch = rows.batch.take(copies[part])
        new = estimator._collect(batch, classes[part], rows.target, weights[part], start)
        found = new if found is None else found.merge(new)
    return found


def log_table_prior(estimator: BayesClassifier, statistics: Any, model: Any) -> float:
    """Return Σ a log θ, the logarithm of the Dirichlet prior (up to a constant) whose maximum the smoothed tables are.

    Rules whose pseudo-counts depend on the data, and models without tables, are no such prior; they give 0.
    """
    if hasattr(model, "log_table_prior"):
        return float(model.log_table_prior())
    if isinstance(model, Likelihood) and isinstance(estimator, NaiveBayesClassifier):
        return sum(_of_counts(c.child, rule, model.tables[j][:, 1:]) for j, rule, c in _rules(estimator, statistics))
    if not isinstance(model, FamilyModel) or depends_on_counts(rule := as_table_prior(estimator.smoothing)):
        return 0.0
    total = 0.0
    for cpt in model.cpts.values():
        table = cpt.probabilities.reshape(-1, cpt.variable.n_states)
        total += _weighted_logs(added_counts(rule, Counts(cpt.variable, cpt.parents, np.zeros(table.shape))), table)
    return total


def _rules(estimator: NaiveBayesClassifier, statistics: Any) -> list[tuple[int, Any, Counts]]:
    rules = estimator._smoothing(statistics)
    return [(j, rules[j], counts) for j, counts in statistics.counts.items()]


def _of_counts(child: Variable, rule: Any, logs: np.ndarray) -> float:
    if getattr(rule, "p", None) == "marginal":
        return 0.0
    added = rule.pseudo_counts(child, rule.guess(child, np.zeros(child.n_states)))
    return _weighted_logs(added, np.exp(logs))


def _weighted_logs(added: Any, table: np.ndarray) -> float:
    weights = np.broadcast_to(added, table.shape)
    some = weights > 0
    return float(weights[some] @ np.log(table[some]))


def held_out_losses(
    rows: Labelled,
    tried: Sequence[float],
    learn: Callable[[Labelled, float], Climbed],
    *,
    n_folds: int,
    seed: int,
    n_jobs: int | None,
) -> dict[float, float]:
    """Return the mean −log P(c | x) of rows with a class that are held out, for each weight of those without one.

    Empty where no class has two rows.
    """
    folds = deal_folds(rows.batch, rows.classes, rows.weights, n_folds=n_folds, seed=seed)
    total, losses = 0.0, dict.fromkeys(tried, 0.0)
    for fold in range(n_folds):
        share = folds.held_out(fold)
        if not (held := share > 0).any():
            continue
        kept = rows.mass * (1.0 - share)
        train = replace(rows, weights=kept).take(kept > 0)
        asked, mass = rows.take(held), (rows.mass * share)[held]
        total += float(mass.sum())
        for weight in tried:
            losses[weight] += float(mass @ _costs(learn(train, weight).fitted, asked, n_jobs))
    return {weight: loss / total for weight, loss in losses.items()} if total else {}


def _costs(fitted: BayesClassifier, rows: Labelled, n_jobs: int | None) -> np.ndarray:
    joint = fitted._model.joint(rows.batch, _bounded, n_jobs)
    own = joint[np.arange(len(joint)), rows.classes] - logsumexp(joint, axis=1)
    return -np.maximum(own, np.log(_CONFIDENT))
