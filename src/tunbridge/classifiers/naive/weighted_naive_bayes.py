"""Weighted naive Bayes: every feature counts as much as makes the probabilities right.

Features that depend on each other make naive Bayes too sure: the same evidence is counted several times. An exponent
for each feature takes that back,

    P(c | x) ∝ P(c) Π_f P(x_f | c)^{w_f},

0 for a feature that is not heard at all, 1 for naive Bayes. The tables are those of naive Bayes; the weights maximise
the conditional log-likelihood of the classes, less a penalty that draws them towards 1,

    CLL(w) − ½ λ Σ_f (w_f − 1)²,     CLL(w) = Σ_i log P(c_i | x_i; w),

which is concave, so that there is one best answer, found by L-BFGS. With θ_fic = log P(x_if | c) the gradient is

    ∂CLL / ∂w_f = Σ_i [θ_fic_i − Σ_c P(c | x_i; w) θ_fic].

A table has seen the row whose class it is asked for, and would be trusted too much: so the row is taken away from the
counts first (:mod:`tunbridge.classifiers.naive.left_out_factors`).

References
----------
N. A. Zaidi, J. Cerquides, M. J. Carman, G. I. Webb (2013). Alleviating naive Bayes attribute independence assumption by
attribute weighting. Journal of Machine Learning Research 14, 1947–1988 (WANBIA with the CLL objective).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_number, check_whole
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import FamilyModel, as_table_prior, family_model
from tunbridge.classifiers.dependence.family_statistics import (
    FamilyStatistics,
    collect_families,
    families_content,
    families_statistics,
)
from tunbridge.classifiers.dependence.kdb import coding_for
from tunbridge.classifiers.naive.feature_weights import Objective, best_weights
from tunbridge.classifiers.naive.left_out_factors import Rows, rows_of
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES
from tunbridge.counts import Counts
from tunbridge.data import Variable
from tunbridge.errors import DataError


@dataclass(frozen=True, eq=False)
class WeightedStatistics:
    """The counts of the features within the classes, and how much each feature counts.

    Parameters
    ----------
    families : FamilyStatistics
        The counts; no feature depends on another.
    weights : ndarray of shape (n_features,)
        The exponent of each feature; 0 for those that were never seen.
    n_iterations : int
        How many iterations it took to find them.
    """

    families: FamilyStatistics
    weights: np.ndarray
    n_iterations: int

    @property
    def target(self) -> Variable:
        """The class variable."""
        return self.families.target

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return self.families.class_weight

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.families.variables

    @property
    def counts(self) -> Mapping[int, Counts]:
        """The counts of each feature that is used."""
        return self.families.counts

    def merge(self, other: WeightedStatistics) -> WeightedStatistics:
        """Return the statistics of the rows of both; the weights are ours."""
        return replace(self, families=self.families.merge(other.families))


class WeightedNaiveBayesClassifier(BayesClassifier):
    """Naive Bayes with an exponent for each feature, found by maximum conditional likelihood (WANBIA).

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    penalty : float
        λ, how strongly weights are drawn towards 1, naive Bayes: as much as λ rows would be that are right with
        weight 1. 0: not at all.
    max_weight : float, optional
        The largest weight; 1 keeps features from being heard more loudly than naive Bayes hears them. No weight is
        below 0.
    leave_one_out : bool
        Whether weights are judged by rows that the tables have not seen. False is the plain likelihood, which trusts
        features with many states too much.
    max_iter : int
        The most iterations of L-BFGS.
    tol : float
        The largest entry of the gradient, a row, with which the search ends.
    categorical, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are cut into intervals by Fayyad & Irani's method.
    smoothing
        As in :class:`SelectiveNaiveBayesClassifier`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    weights_ : dict
        The exponent of each feature that is used.
    n_iter_ : int
        The number of iterations of L-BFGS.

    Notes
    -----
    Every iteration is one pass over all cells and classes. ``partial_fit`` keeps the weights of the first batch, and
    adds to the counts.

    References
    ----------
    N. A. Zaidi, J. Cerquides, M. J. Carman, G. I. Webb (2013). Alleviating naive Bayes attribute independence
    assumption by attribute weighting. Journal of Machine Learning Research 14, 1947–1988.

    Examples
    --------
    The same question asked twice counts once:

    >>> import tunbridge as tb
    >>> answers = {"sunny": ["yes", "yes", "no", "no"] * 25, "played": [True, True, False, True] * 25}
    >>> twice = {"sunny": answers["sunny"], "again": answers["sunny"]}
    >>> clf = tb.WeightedNaiveBayesClassifier().fit(twice, answers["played"])
    >>> {name: round(weight, 2) for name, weight in clf.weights_.items()}
    {'sunny': 0.59, 'again': 0.59}
    """

    kind = "weighted-naive-bayes"

    def __init__(
        self,
        *,
        penalty: float = 1.0,
        max_weight: float | None = None,
        leave_one_out: bool = True,
        max_iter: int = 200,
        tol: float = 1e-6,
        categorical: Any = None,
        smoothing: Any = 1.0,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.max_weight = max_weight
        self.leave_one_out = leave_one_out
        self.max_iter = max_iter
        self.tol = tol
        self.categorical = categorical
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @property
    def weights_(self) -> dict[str, float]:
        """The exponent of each feature that is used."""
        found, used = self.statistics_.weights.tolist(), self.statistics_.families.counts
        return {v.name: found[j] for j, v in enumerate(self.variables_) if j in used}

    @property
    def n_iter_(self) -> int:
        """The number of iterations of L-BFGS."""
        return self.statistics_.n_iterations

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty, low=0)
        if self.max_weight is not None:
            check_number("max_weight", self.max_weight, low=0)
        if not isinstance(self.leave_one_out, (bool, np.bool_)):
            raise DataError(f"leave_one_out must be True or False; got {self.leave_one_out!r}.")
        check_whole("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol, above=0)
        check_choice("missing", self.missing, MISSING_RULES)
        as_table_prior(self.smoothing)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> WeightedStatistics:
        coding = coding_for(batch, classes, weights, before and before.families, missing=self.missing)
        codes = coding.codes(batch)
        table = coding.table_of(list(codes), classes, target, weights)
        structure: list[tuple[int, ...]] = [()] * len(codes)
        families = collect_families(table, classes, target, coding, structure, n_jobs=self.n_jobs)
        if before is not None:
            return WeightedStatistics(families, before.weights, before.n_iterations)
        rows = rows_of(coding, codes, classes, target, weights, class_prior=self.class_prior, smoothing=self.smoothing)
        return WeightedStatistics(families, *self._weights(rows))

    def _weights(self, rows: Rows) -> tuple[np.ndarray, int]:
        found, n_iterations = np.zeros(len(rows.variables)), 1
        found[rows.used] = 1.0
        if rows.asked.any() and rows.used:
            objective = Objective(rows, self.penalty, leave_one_out=bool(self.leave_one_out))
            found[rows.used], n_iterations = best_weights(objective, self.max_weight, self.max_iter, self.tol)
        return found, n_iterations

    def _derive(self, statistics: WeightedStatistics, log_prior: np.ndarray) -> FamilyModel:
        return family_model(statistics.families, log_prior, self.smoothing, statistics.weights)

    @staticmethod
    def _content(statistics: WeightedStatistics) -> dict[str, Any]:
        return {
            "families": families_content(statistics.families),
            "weights": statistics.weights,
            "n_iterations": statistics.n_iterations,
        }

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> WeightedStatistics:
        families, weights = families_statistics(content["families"]), content["weights"]
        if weights.shape != (len(families.variables),) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("its weights do not belong to its features")
        if any(families.parents[j] for j in families.counts):
            raise ValueError("its features depend on each other")
        return WeightedStatistics(families, weights, int(content["n_iterations"]))
