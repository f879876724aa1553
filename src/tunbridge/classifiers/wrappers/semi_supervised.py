"""Learning from rows of which only some have a class: expectation-maximisation around any classifier that counts.

Rows without a class still show which values go together, and a model P(x, c) can use them: they are rows of the mixture
P(x) = Σ_c P(x, c). EM starts from the rows with a class and alternates two steps.

- E: every row x without a class gets the posterior P(c | x) of the current model;
- M: the model is derived again from the statistics of the rows with a class and, for each class, of those without one,
  which count λ P(c | x).

Neither step lowers

    L = Σ_{rows with a class} log P(x, c) + λ Σ_{rows without} log P(x) + log prior of the tables,

so EM ends in a (local) maximum. λ is the weight of the rows without a class. Where rows differ mostly by class (the
subjects of texts), λ = 1 makes a few labelled rows worth many. Where they do not, the mixture may find other groups
than the classes; use a small λ, or choose it by cross-validation.

Statistics can be merged, so nothing is kept for each row but its posterior, and every classifier with ``partial_fit``
can be inside.

References
----------
K. Nigam, A. K. McCallum, S. Thrun, T. Mitchell (2000). Text classification from labeled and unlabeled documents using
EM. Machine Learning 39, 103–134 (sections 4 and 5.3.1: EM-λ).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from tunbridge._core.check import check_fitted, check_integer, check_number, counted, shortened, warn_user
from tunbridge._core.packing import unpack
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import at_once, row_pieces
from tunbridge.classifiers._classes import check_answers, encode_partly, labels_of, plain_labels, without_class
from tunbridge.classifiers._parameters import fitted_content, fitted_of
from tunbridge.classifiers._rows import Examples, Frame, Labels, Learned, SampleWeight
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence._families import FamilyModel, as_table_prior
from tunbridge.classifiers.explanation.what_if import Changeable
from tunbridge.classifiers.naive.naive_bayes import Likelihood, NaiveBayesClassifier
from tunbridge.classifiers.wrappers._wrapper import Wrapped, WrapperClassifier
from tunbridge.counts import Counts
from tunbridge.data import State, Variable
from tunbridge.decisions.evidence import WhatIf
from tunbridge.errors import ConvergenceWarning, DataError, DataWarning, TunbridgeWarning
from tunbridge.learning.parameters.priors import added_counts, depends_on_counts
from tunbridge.probability.smoothing import Smoothing

AUTO = "auto"
TRIED = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The weights among which ``"auto"`` chooses."""

_NOTHING = 1e-12  # shares below this are left out
_BYTES_AT_ONCE = 400_000_000
_LEAST = -1e8  # stands for the logarithm of probability zero
_CONFIDENT = 1e-15  # a held-out row costs no more than −log of this


@dataclass(frozen=True, eq=False)
class SemiSupervisedStatistics(Wrapped):
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
        The cross-validated log-loss for each λ, where one was to be chosen.
    """

    unlabelled_weight: float
    trace: tuple[float, ...]
    losses: Mapping[float, float]

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a file."""
        return {
            "estimator": fitted_content(self.fitted),
            "unlabelled_weight": self.unlabelled_weight,
            "trace": list(self.trace),
            "losses": [list(pair) for pair in self.losses.items()],
        }


@classifier("semi-supervised", compared=False)
@dataclass(eq=False, repr=False)
class SemiSupervisedClassifier(WrapperClassifier[SemiSupervisedStatistics]):
    """A classifier that also learns from rows without a class, by expectation-maximisation (EM).

    Parameters
    ----------
    estimator : BayesClassifier, optional
        The classifier inside, any with ``partial_fit`` but :class:`BayesOptimalClassifier`, which has no P(x);
        default: :class:`NaiveBayesClassifier` with Gaussian numbers. It is copied, not changed.
    unlabelled_weight : float or "auto"
        The weight λ of a row without a class, from 0 to 1. ``"auto"`` chooses from 0, 0.01, 0.03, 0.1, 0.3 and 1 by
        the cross-validated log-loss of the rows with a class.
    unlabelled : label, optional
        The label that marks rows without a class, −1 as in scikit-learn. Missing labels (None, NaN, empty text) mark
        them too. None: only missing ones do. Where all other labels are equal, as in −1 and 1, the mark is taken as a
        class, with a warning.
    max_iter : int
        The maximum number of iterations.
    tol : float
        EM stops when an iteration raises the objective by less than this for each row.
    folds : int
        For ``"auto"``: the number of cross-validation folds.
    random_state : int, numpy Generator or None
        Random seed of the folds.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    class_count_ : ndarray
        The rows of each class: those that have it, and those expected to, each of which counts λ.
    estimator_ : BayesClassifier
        The classifier inside, fitted.
    unlabelled_weight_ : float
        λ.
    losses_ : dict
        With ``"auto"`` the cross-validated log-loss for each λ.
    trace_ : tuple of float
        The objective L at the start (fitted with the rows with a class) and after each iteration.
    n_iter_ : int
        The number of iterations.

    Notes
    -----
    Which columns are categorical, and their states, follow from all rows. Bins, and structures that an estimator fixes
    with its first rows, follow from the rows with a class (the tree of :class:`TANClassifier` is found again in every
    iteration). With few such rows Fayyad & Irani's method finds hardly any bins: model numbers as Gaussian.

    L never falls with tables that are smoothed by a number and with Gaussian numbers of ``variance="mle"``. Where an
    estimator does not maximise an objective (unbiased variances, hierarchical smoothing), an iteration that would lower
    L is discarded and ends EM; L is then without a prior. There is no ``partial_fit``.

    References
    ----------
    K. Nigam, A. K. McCallum, S. Thrun, T. Mitchell (2000). Text classification from labeled and unlabeled documents
    using EM. Machine Learning 39, 103–134.

    Examples
    --------
    No labelled text contains «goal», but the unlabelled ones show that it goes with «ball»:

    >>> import tunbridge as tb
    >>> words = {"ball": [1, 1, 0, 0, 1, 1, 1, 0, 0, 0], "goal": [0, 0, 0, 0, 1, 1, 1, 0, 0, 0]}
    >>> subject = ["sports", "sports", "politics", "politics", None, None, None, None, None, None]
    >>> clf = tb.SemiSupervisedClassifier().fit(words, subject)
    >>> clf.classes_.tolist(), clf.predict_proba({"goal": 1}).round(2).tolist()
    (['politics', 'sports'], [[0.24, 0.76]])
    >>> labelled = tb.SemiSupervisedClassifier(unlabelled_weight=0).fit(words, subject)
    >>> labelled.predict_proba({"goal": 1}).round(2).tolist()
    [[0.5, 0.5]]
    """

    default_settings: ClassVar[dict[str, Any]] = {"numeric": "gaussian"}  # EM needs P(x), without weights

    estimator: BayesClassifier | None = None
    _: KW_ONLY
    unlabelled_weight: float | str = 1.0
    unlabelled: State | None = -1
    max_iter: int = 100
    tol: float = 1e-3
    folds: int = 5
    random_state: RandomState = 0
    n_jobs: int | None = None

    @property
    def unlabelled_weight_(self) -> float:
        """λ, the weight of a row without a class."""
        return float(self.statistics_.unlabelled_weight)

    @property
    def losses_(self) -> dict[float, float]:
        """The cross-validated log-loss for each λ, where one was chosen."""
        return dict(self.statistics_.losses)

    @property
    def trace_(self) -> tuple[float, ...]:
        """The objective at the start and after each iteration."""
        return tuple(self.statistics_.trace)

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return max(1, len(self.trace_) - 1)

    def _check_parameters(self) -> None:
        if not (isinstance(self.unlabelled_weight, str) and self.unlabelled_weight == AUTO):
            check_number("unlabelled_weight (λ, or 'auto')", self.unlabelled_weight, low=0, high=1)
        check_integer("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol, low=0)
        check_integer("folds", self.folds, low=2)
        entropy_of(self.random_state)
        inner = self.check_estimator()
        if not inner.has_joint:
            raise DataError(
                "estimator must have a joint distribution P(x, c), so that rows without a class tell P(x); "
                f"{shortened(repr(inner))} has none."
            )
        if not inner.can_continue:
            raise DataError(f"estimator must have partial_fit; {shortened(repr(inner))} has none.")

    def encode_classes(self, y: Labels, classes: Labels, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        """Return the class variable and the code of each row, −1 where it has no class."""
        return encode_partly(y, classes, name, n_rows, self.unlabelled)

    def collect(self, examples: Examples, before: SemiSupervisedStatistics | None) -> SemiSupervisedStatistics:
        """Return the estimator that EM fits to rows with and without a class."""
        examples = replace(examples, rows=self.unfitted().settled(examples.rows, examples.weights))
        weight, losses = self._chosen_weight(examples)
        found = self._climb(examples, weight)
        if not found.converged:
            last = (found.trace[-1] - found.trace[-2]) / _n_rows(examples, weight)
            warn_user(
                f"EM did not converge in {counted(self.max_iter, 'iteration')}: the last raised the objective by "
                f"{last:.2g} a row, above tol = {self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return SemiSupervisedStatistics(found.fitted, weight, tuple(found.trace), losses)

    def _climb(self, examples: Examples, weight: float) -> Climbed:
        return climb(self.unfitted(), examples, weight, max_iter=self.max_iter, tol=self.tol, n_jobs=self.n_jobs)

    def _chosen_weight(self, rows: Examples) -> tuple[float, dict[float, float]]:
        if not isinstance(self.unlabelled_weight, str):
            return float(self.unlabelled_weight), {}
        if not (rows.classes < 0).any():
            return 1.0, {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # all rows together give the same warnings
            seed = entropy_of(self.random_state)
            losses = held_out_losses(rows, TRIED, self._climb, n_folds=self.folds, seed=seed, n_jobs=self.n_jobs)
        if not losses:
            warn_user(
                "unlabelled_weight='auto' must have a class with at least two rows for cross-validation; rows without "
                "a class are not used. Give unlabelled_weight a number.",
                DataWarning,
            )
            return 0.0, {}
        return min(losses, key=lambda weight: (losses[weight], weight)), losses

    def derive(self, statistics: SemiSupervisedStatistics, log_prior: np.ndarray) -> Any:
        """Return the model of the estimator."""
        return statistics.fitted.model_

    @at_once
    def score(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> float:
        """Return the share of the rows with a class whose class is predicted; y may be the name of a column."""
        check_fitted(self)
        X, y, sample_weight, _ = self.reader().split(X, y, sample_weight, self.target_name_)
        y = labels_of(y)
        known = ~without_class(y, None if self.unlabelled in self.classes_.tolist() else self.unlabelled)
        if not known.any():
            raise DataError("some row must have a class to be compared with what is predicted; got none.")
        right = self.predict(X)[known] == plain_labels(np.asarray(y).reshape(-1)[known])
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)[known]))

    def what_if(self, X: Frame, *, to: State | None = None, features: Changeable = None) -> WhatIf | list[WhatIf]:
        """Return which single changes would give each row another class: :meth:`what_if` of the estimator inside."""
        check_fitted(self)
        return self.estimator_.what_if(X, to=to, features=features)

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> SemiSupervisedStatistics:
        return SemiSupervisedStatistics(
            fitted_of(content["estimator"]),
            unpack(float, content["unlabelled_weight"]),
            unpack(tuple[float, ...], content["trace"]),
            unpack(dict[float, float], content["losses"]),
        )


# EM by statistics that can be merged. The expected statistics of a row without a class are those of one copy of it for
# each class, weighing λ P(c | x). Copies that weigh next to nothing are left out, so that a row whose class is as good
# as known counts once.


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where EM ended: the classifier, the objective after each iteration, and whether it converged."""

    fitted: BayesClassifier
    trace: list[float]
    converged: bool


def climb(
    estimator: BayesClassifier, rows: Examples, weight: float, *, max_iter: int, tol: float, n_jobs: int | None
) -> Climbed:
    """Return the estimator learned from rows with and without a class, the latter with a weight λ."""
    known, unknown = rows.take(rows.classes >= 0), rows.take(rows.classes < 0)
    estimator.check_parameters()
    start = estimator.gathered(known, None)
    asked = _Asked(estimator, known, unknown, weight, n_jobs)
    statistics, (shares, objective) = start, asked(start)
    trace, converged = [objective], not unknown.classes.size or weight == 0.0
    while not converged and len(trace) <= max_iter:
        found = start.merge(_expected(estimator, unknown, weight, shares, start))
        shares, objective = asked(found)
        gain = objective - trace[-1]
        converged = gain <= tol * _n_rows(rows, weight)
        if gain < 0.0:
            break
        statistics = found
        trace.append(objective)
    return Climbed(estimator.adopt(statistics, None), trace, converged)


def _n_rows(examples: Examples, weight: float) -> float:
    """Return the number of rows, those without a class counted by their weight."""
    mass, known = examples.mass, examples.classes >= 0
    return max(1.0, float(mass[known].sum() + weight * mass[~known].sum()))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What statistics say: P(c | x) of the rows without a class, and the objective."""

    estimator: BayesClassifier
    known: Examples
    unknown: Examples
    weight: float
    n_jobs: int | None

    def __call__(self, statistics: Learned) -> tuple[np.ndarray, float]:
        model: Any = self.estimator.adopt(statistics, None).model_
        check_answers(self.known.n_rows + self.unknown.n_rows, self.known.target.n_states)
        joint = model.joint(self.known.rows, _bounded, self.n_jobs)
        own = joint[np.arange(len(joint)), self.known.classes]
        objective = float(self.known.mass @ own) + log_table_prior(self.estimator, statistics, model)
        if not self.unknown.classes.size or self.weight == 0.0:
            return np.empty((0, self.known.target.n_states)), objective
        joint = model.joint(self.unknown.rows, _bounded, self.n_jobs)
        evidence = logsumexp(joint, axis=1)
        objective += self.weight * float(self.unknown.mass @ evidence)
        joint -= evidence[:, None]
        return np.exp(joint, out=joint), objective


def _bounded(joint: np.ndarray) -> np.ndarray:
    """Return logarithms none of which is −∞."""
    return np.maximum(joint, _LEAST)


def _expected(estimator: BayesClassifier, rows: Examples, weight: float, shares: np.ndarray, start: Learned) -> Any:
    """Return the statistics of rows without a class, each counted in every class by its share."""
    copies, classes = np.nonzero(shares > _NOTHING)
    weights = weight * rows.mass[copies] * shares[copies, classes]
    found: Any = None
    for begin, end in row_pieces(len(copies), max(1, int(_BYTES_AT_ONCE / max(1.0, rows.rows.row_bytes)))):
        part = slice(begin, end)
        new = estimator.gathered(
            Examples(rows.rows.take(copies[part]), classes[part], rows.target, weights[part]), start
        )
        found = new if found is None else found.merge(new)
    return found


def log_table_prior(estimator: BayesClassifier, statistics: Any, model: object) -> float:
    """Return Σ a log θ, the logarithm of the Dirichlet prior (up to a constant) whose maximum the smoothed tables are.

    Rules whose pseudo-counts depend on the data, and models without tables, are no such prior; they give 0.
    """
    if hasattr(model, "log_table_prior"):
        return float(model.log_table_prior())
    if isinstance(model, Likelihood) and isinstance(estimator, NaiveBayesClassifier):
        rules, counts = estimator.smoothing_rules(statistics), statistics.families.counts
        tables = {j: model.tables[j][:, 1:] / model.kept.weight(j) for j in counts}
        return sum(_of_counts(c.child, rules[j], tables[j]) for j, c in counts.items())
    if not isinstance(model, FamilyModel) or depends_on_counts(rule := as_table_prior(estimator.smoothing)):
        return 0.0
    total = 0.0
    for cpt in model.cpts.values():
        table = cpt.probabilities.reshape(-1, cpt.variable.n_states)
        total += _weighted_logs(added_counts(rule, Counts(cpt.variable, cpt.parents, np.zeros(table.shape))), table)
    return total


def _of_counts(child: Variable, rule: Smoothing, logs: np.ndarray) -> float:
    if getattr(rule, "p", None) == "marginal":
        return 0.0
    added = rule.pseudo_counts(child, rule.guess(child, np.zeros(child.n_states)))
    return _weighted_logs(added, np.exp(logs))


def _weighted_logs(added: float | np.ndarray, table: np.ndarray) -> float:
    weights = np.broadcast_to(added, table.shape)
    some = weights > 0
    return float(weights[some] @ np.log(table[some]))


def held_out_losses(
    rows: Examples,
    tried: Sequence[float],
    learn: Callable[[Examples, float], Climbed],
    *,
    n_folds: int,
    seed: int,
    n_jobs: int | None,
) -> dict[float, float]:
    """Return the mean −log P(c | x) of held-out rows with a class, for each weight of those without one.

    Empty where no class has two rows.
    """
    total, losses = 0.0, dict.fromkeys(tried, 0.0)
    for train, held_out in rows.splits(n_folds, seed):
        total += float(held_out.mass.sum())
        for weight in tried:
            losses[weight] += float(held_out.mass @ _costs(learn(train, weight).fitted, held_out, n_jobs))
    return {weight: loss / total for weight, loss in losses.items()} if total else {}


def _costs(fitted: BayesClassifier, rows: Examples, n_jobs: int | None) -> np.ndarray:
    joint = fitted.model_.joint(rows.rows, _bounded, n_jobs)
    own = joint[np.arange(len(joint)), rows.classes] - logsumexp(joint, axis=1)
    return -np.maximum(own, np.log(_CONFIDENT))
