"""Weighted naive Bayes: an exponent for each feature calibrates the probabilities.

Features that depend on each other make naive Bayes overconfident: the same evidence is counted several times. An
exponent for each feature corrects that,

    P(c | x) ∝ P(c) Π_f P(x_f | c)^{w_f},

0 for a feature that is ignored, 1 for naive Bayes. The tables are those of naive Bayes; the weights maximise
the conditional log-likelihood of the classes, less a penalty that draws them towards 1,

    CLL(w) − ½ λ Σ_f (w_f − 1)²,     CLL(w) = Σ_i log P(c_i | x_i; w),

which is concave, so that there is one best answer, found by L-BFGS. With θ_fic = log P(x_if | c) the gradient is

    ∂CLL / ∂w_f = Σ_i [θ_fic_i − Σ_c P(c | x_i; w) θ_fic].

A table that was estimated with the row itself would be trusted too much, so the row is taken away from the counts
first (:mod:`tunbridge.classifiers.naive._left_out`).

References
----------
N. A. Zaidi, J. Cerquides, M. J. Carman, G. I. Webb (2013). Alleviating naive Bayes attribute independence assumption by
attribute weighting. Journal of Machine Learning Research 14, 1947–1988 (WANBIA with the CLL objective).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tunbridge._core.check import check_integer, check_number, counted, warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.packing import WeightArray
from tunbridge._core.registry import classifier
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Part, Statistics, learn_encoding
from tunbridge.classifiers.dependence._families import (
    CountedClassifier,
    Families,
    FamilyModel,
    Structure,
    collect_families,
    family_model,
)
from tunbridge.classifiers.naive._left_out import LeftOut, factor, left_out_rows
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.learning.parameters.priors import Prior


@dataclass(frozen=True, eq=False)
class Weights(Part):
    """The exponent of each feature, 0 for those without a value, and the number of iterations that found them."""

    name: ClassVar[str] = "exponents"

    weights: WeightArray
    n_iterations: int

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the weights belong to the features."""
        families, weights = statistics.families, self.weights
        if weights.shape != (len(families.parents),):
            raise ValueError("its weights do not belong to its features")
        if any(families.parents[j] for j in families.counts):
            raise ValueError("its features depend on each other")


@classifier("wnb", file="weighted-naive-bayes", rank=13, default="wnb", help="weighted naive Bayes")
@dataclass(kw_only=True, eq=False, repr=False)
class WeightedNaiveBayesClassifier(CountedClassifier):
    """Naive Bayes with an exponent for each feature, found by maximum conditional likelihood (WANBIA).

    Parameters
    ----------
    penalty : float
        λ, how strongly weights are drawn towards 1 (naive Bayes); 0: not at all.
    max_weight : float, optional
        The largest weight; 1 keeps features from counting more than in naive Bayes. No weight is below 0.
    leave_one_out : bool
        Whether each row is left out of the tables that predict it. False is the plain likelihood, which trusts
        features with many states too much.
    max_iter : int
        The maximum number of iterations of L-BFGS.
    tol : float
        The search ends when the largest entry of the mean gradient is below this.
    categorical, text, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are discretized by Fayyad & Irani's method.
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
    A copy of a feature counts once:

    >>> import tunbridge as tb
    >>> answers = {"sunny": ["yes", "yes", "no", "no"] * 25, "played": [True, True, False, True] * 25}
    >>> twice = {"sunny": answers["sunny"], "again": answers["sunny"]}
    >>> clf = tb.WeightedNaiveBayesClassifier().fit(twice, answers["played"])
    >>> {name: round(weight, 2) for name, weight in clf.weights_.items()}
    {'sunny': 0.59, 'again': 0.59}
    """

    parts = (Families, Weights)

    penalty: float = 1.0
    max_weight: float | None = None
    leave_one_out: bool = True
    max_iter: int = 200
    tol: float = 1e-6
    smoothing: Prior = 1.0

    @property
    def weights_(self) -> dict[str, float]:
        """The exponent of each feature that is used."""
        found, used = self.statistics_.exponents.weights.tolist(), self.statistics_.families.counts
        return {v.name: found[j] for j, v in enumerate(self.variables_) if j in used}

    @property
    def n_iter_(self) -> int:
        """The number of iterations of L-BFGS."""
        return int(self.statistics_.exponents.n_iterations)

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty, low=0)
        if self.max_weight is not None:
            check_number("max_weight", self.max_weight, low=0)
        if not isinstance(self.leave_one_out, (bool, np.bool_)):
            raise DataError(f"leave_one_out must be True or False; got {self.leave_one_out!r}.")
        check_integer("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol, above=0)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of the features within the classes, and their weights; further rows keep the weights."""
        encoding = learn_encoding(examples, before, missing=self.missing)
        codes = encoding.codes(examples.rows)
        table = encoding.table(examples, codes=list(codes))
        parents: Structure = ((),) * len(codes) if before is None else before.families.parents
        families = collect_families(table, parents, settled=before is not None, n_jobs=self.n_jobs)
        if before is not None:
            return Statistics.of(examples, encoding, families, before.exponents)
        rows = left_out_rows(examples, encoding, codes, class_prior=self.class_prior, smoothing=self.smoothing)
        return Statistics.of(examples, encoding, families, self._weights(rows))

    def _weights(self, rows: LeftOut) -> Weights:
        found, n_iterations = np.zeros(len(rows.variables)), 1
        found[rows.used] = 1.0
        if rows.asked.any() and rows.used:
            objective = Objective(rows, self.penalty, leave_one_out=bool(self.leave_one_out))
            found[rows.used], n_iterations = best_weights(objective, self.max_weight, self.max_iter, self.tol)
        return Weights(found, n_iterations)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> FamilyModel:
        """Return naive Bayes with an exponent for each feature."""
        return family_model(statistics, statistics.families, log_prior, self.smoothing, statistics.exponents.weights)

    def _described(self) -> dict[str, str]:
        return {"weights": ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights_.items())}


class Objective:
    """The penalised conditional log-likelihood of weights, a row, and its gradient, both with the sign turned.

    The rows of the tables are end to end; a sparse matrix says which of them each row of data looks into, so that
    log P(x, c) is its product with the weighted tables.

    Parameters
    ----------
    rows : LeftOut
        The rows of data.
    penalty : float
        λ.
    leave_one_out : bool
        Whether each row is left out of the tables that it is predicted by.
    """

    def __init__(self, rows: LeftOut, penalty: float, *, leave_one_out: bool) -> None:
        n, n_features = len(rows.classes), len(rows.used)
        check_memory(
            "finding the weights of the features",
            8.0 * n * (4 * n_features + 4 * rows.target.n_states),
            ways_out="Learn from a sample of the rows, and give the others to partial_fit.",
        )
        self.rows, self.penalty = rows, float(penalty)
        factors = [factor(rows, (j,)) for j in rows.used]
        self.sizes = np.array([len(f.table) for f in factors])
        first = np.cumsum(self.sizes) - self.sizes
        cells = np.stack([f.cells + a for f, a in zip(factors, first, strict=True)], axis=1, dtype=np.int64)
        starts = np.arange(0, n * n_features + 1, n_features)
        self.looks = csr_array((np.ones(cells.size), cells.ravel(), starts), shape=(n, int(self.sizes.sum())))
        self.tables = np.concatenate([f.table for f in factors])
        own = np.stack([f.own for f in factors], axis=1)
        self.apart = own - self.tables[cells, rows.classes[:, None]] if leave_one_out else None
        self.prior = rows.prior if leave_one_out else rows.log_prior
        self.asked = rows.asked if leave_one_out else rows.weights
        self.n = float(self.asked.sum())

    @cached_property
    def at(self) -> tuple[np.ndarray, np.ndarray]:
        """The position of the class of each row."""
        return np.arange(len(self.rows.classes)), self.rows.classes

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is minimised, and its gradient."""
        joint = self.prior + self.looks @ (np.repeat(weights, self.sizes)[:, None] * self.tables)
        if self.apart is not None:
            joint[self.at] += self.apart @ weights
        joint -= joint.max(axis=1, keepdims=True)
        own = joint[self.at]
        shares = np.exp(joint, out=joint)
        totals = shares.sum(axis=1)
        loss = self.asked @ (np.log(totals) - own)
        residual = shares * (self.asked / totals)[:, None]
        residual[self.at] -= self.asked
        by_cell = ((self.looks.T @ residual) * self.tables).sum(axis=1)
        gradient = np.add.reduceat(by_cell, np.cumsum(self.sizes) - self.sizes)
        if self.apart is not None:
            gradient += self.apart.T @ residual[self.at]
        pull = weights - 1.0
        loss += 0.5 * self.penalty * float(pull @ pull)
        return float(loss) / self.n, (gradient + self.penalty * pull) / self.n


def best_weights(objective: Objective, max_weight: float | None, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
    """Return the weights that minimise the objective, none below 0, and the number of iterations."""
    start = np.ones(len(objective.sizes)) if max_weight is None else np.full(len(objective.sizes), min(1.0, max_weight))
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, max_weight)] * len(start),
        options={"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxfun": 20 * max_iter},
    )
    if found.nit >= max_iter and not found.success:
        warn_user(
            f"the weights of the features did not converge in {counted(max_iter, 'iteration')}. Raise max_iter or tol.",
            ConvergenceWarning,
        )
    return found.x, max(1, found.nit)
