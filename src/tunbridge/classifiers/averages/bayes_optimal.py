"""The Bayes optimal classifier: every hypothesis votes, weighted by its posterior.

The most probable class of a new row need not be that of the most probable hypothesis. All hypotheses h together give

    P(c | x, D) = Σ_h P(c | x, h) P(h | D),     P(h | D) ∝ P(h) Π_i P(c_i | x_i, h),

and no other method with the same hypotheses and the same prior P(h) is right more often on average. Here a hypothesis
is a classifier. One that was learned from the very rows that are to weigh it would be judged by its memory, and the one
with most parameters would win: so the likelihood is that of cross-validation.

Gibbs' algorithm draws one hypothesis for each row, with probability P(h | D), and takes its answer. It costs one
prediction instead of many, and on average is wrong at most twice as often as the Bayes optimal classifier.

References
----------
T. M. Mitchell (1997). Machine Learning, sections 6.7 and 6.8.
D. Haussler, M. Kearns, R. E. Schapire (1994). Bounds on the sample complexity of Bayesian learning using information
theory and the VC dimension. Machine Learning 14, 83–113.
J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky (1999). Bayesian model averaging: a tutorial. Statistical
Science 14, 382–401.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_integer, did_you_mean, listed, shortened
from tunbridge._core.packing import FloatArray, unpack
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.classifiers._classes import Finish, check_answers, posterior, sorted_target
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.classifiers._parameters import class_of, parameters_content, parameters_of
from tunbridge.classifiers._reading import TableReader, seen_values
from tunbridge.classifiers._rows import Categorical, Examples, TextColumns
from tunbridge.classifiers._statistics import Encoding, Part, Statistics, inner_statistics, placed
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.kdb import KDBClassifier
from tunbridge.classifiers.dependence.tan import TANClassifier
from tunbridge.classifiers.explanation.contributions import Given, Ranges, TableModel, conditional_terms, given_before
from tunbridge.classifiers.explanation.importance import ranges_of_cuts
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.data import Column, Table, Variable
from tunbridge.errors import DataError, TunbridgeWarning

CROSS_VALIDATED, TRAINING = "cross-validated", "training"

_CONFIDENT = 1e-15
_NOTHING = 1e-17  # a model less probable than this changes no digit


Estimators = Sequence[tuple[str, BayesClassifier]] | Mapping[str, BayesClassifier] | None
"""Classifiers by name."""

Shares = str | ArrayLike | Mapping[str, float] | None
"""A number for each classifier, in their order or by name."""


@dataclass(frozen=True, eq=False)
class Hypotheses(Part):
    """The hypotheses, what each has learned, and how well each predicts.

    Parameters
    ----------
    makers : tuple of BayesClassifier
        The hypotheses, not fitted.
    statistics : tuple
        What each has learned.
    log_likelihoods : ndarray of shape (n_hypotheses,)
        Σ log P(c | x, h) over rows that the hypothesis had not seen (with weights="training": had seen).
    """

    name: ClassVar[str] = "hypotheses"

    makers: tuple[BayesClassifier, ...]
    statistics: tuple[Statistics, ...]
    log_likelihoods: FloatArray

    def merge(self, other: Hypotheses) -> Hypotheses:
        """Return what the hypotheses have learned from the rows of both; log-likelihoods add up."""
        found = tuple(a.merge(b) for a, b in zip(self.statistics, other.statistics, strict=True))
        return Hypotheses(self.makers, found, self.log_likelihoods + other.log_likelihoods)

    def fitted(self) -> tuple[BayesClassifier, ...]:
        """Return the hypotheses, fitted."""
        return tuple(unfitted_copy(m).adopt(s, None) for m, s in zip(self.makers, self.statistics, strict=True))

    def content(self) -> dict[str, Any]:
        """Return the hypotheses as content of a file."""
        members = [
            {"kind": m.kind, "parameters": parameters_content(m.get_params(deep=False)), "statistics": s.content()}
            for m, s in zip(self.makers, self.statistics, strict=True)
        ]
        return {"members": members, "log_likelihoods": self.log_likelihoods}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Hypotheses:
        """Return the hypotheses that a file holds."""
        makers, found = [], []
        for each in content["members"]:
            kind = class_of(each["kind"])
            makers.append(kind(**parameters_of(each["parameters"])))
            makers[-1].check_parameters()
            found.append(Statistics.from_content(each["statistics"], kind.parts))
        return cls(tuple(makers), tuple(found), unpack(FloatArray, content["log_likelihoods"]))

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless there is a likelihood for each hypothesis, and all have the same features."""
        if self.log_likelihoods.shape != (len(self.makers),) or not self.makers:
            raise ValueError("its parts do not belong together")
        kinds = [(v.name, v.is_categorical) for v in statistics.variables]
        if any([(v.name, v.is_categorical) for v in s.variables] != kinds for s in self.statistics):
            raise ValueError("its hypotheses have other features")


@classifier("bayes-optimal", rank=70, help="naive Bayes, TAN and k-DB averaged by their posterior probabilities")
@dataclass(eq=False, repr=False)
class BayesOptimalClassifier(BayesClassifier[Statistics]):
    """The average of several classifiers, each weighted by its posterior probability (Bayesian model averaging).

    Parameters
    ----------
    estimators : list of (name, classifier), or mapping of name to classifier, optional
        The hypotheses, classifiers of Tunbridge; default: naive Bayes, TAN and k-DB. They are copied, not changed.
        All of them take the same columns as categorical.
    weights : {"cross-validated", "training"}, array-like, or mapping of name to number
        P(h | D): by the cross-validated likelihood, by that of the training rows (which favours hypotheses that
        overfit), or as given.
    prior : array-like, or mapping of name to number, optional
        P(h); default: uniform.
    prefit : bool
        Whether the classifiers have been fitted already. They are then left as they are, each with its own states and
        classes, and the rows given to ``fit`` do nothing but weigh them: take rows that none of them has learned from.
        (scikit-learn's ``clone`` makes classifiers that are not fitted, so this does not go with cross-validation.)
    gibbs : bool
        Whether to draw one hypothesis for each row that is predicted, instead of averaging.
    folds : int
        The number of cross-validation folds.
    random_state : int, numpy Generator or None
        Random seed of the folds and of ``gibbs``; None takes a new one each time.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    class_log_prior_ : ndarray
        The logarithm of the average of the hypotheses' P(c).
    estimators_ : dict
        The hypotheses, learned from all rows, by name.
    weights_ : dict
        P(h | D) by name.
    log_likelihoods_ : dict
        Σ log P(c | x, h), by which they were weighed.

    Notes
    -----
    The likelihood is a product over rows, so with more than a few hundred of them one hypothesis usually has nearly
    all the weight: averaging says which hypothesis is right, it does not combine them to a better one. A probability
    below 1e-15 counts as 1e-15. Learning takes ``folds + 1`` times as long as that of all hypotheses.

    ``partial_fit`` weighs the hypotheses by how well they predict the new rows before they learn from them, which is
    P(h | D, D′) ∝ P(h | D) P(D′ | h, D). Explanations are those of the average, also with ``gibbs``; features
    are added in the order of the columns.

    References
    ----------
    T. M. Mitchell (1997). Machine Learning, sections 6.7 and 6.8.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.play_tennis()
    >>> clf = tb.BayesOptimalClassifier([("naive", tb.NaiveBayesClassifier()), ("tree", tb.TANClassifier())])
    >>> clf = clf.fit(table, "play")
    >>> {name: round(weight, 2) for name, weight in clf.weights_.items()}
    {'naive': 0.79, 'tree': 0.21}
    >>> clf.predict({"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}).tolist()
    ['no']
    """

    has_joint = False

    needs_columns = True
    parts = (Hypotheses,)

    estimators: Estimators = None
    _: KW_ONLY
    weights: Shares = CROSS_VALIDATED
    prior: Shares = None
    prefit: bool = False
    gibbs: bool = False
    folds: int = 5
    random_state: RandomState = 0
    n_jobs: int | None = None

    @property
    def can_continue(self) -> bool:  # type: ignore[override]
        """Whether it can learn from further rows: whether all hypotheses can."""
        return not self.prefit and all(e.can_continue for e in named_estimators(self.estimators).values())

    @property
    def estimators_(self) -> dict[str, BayesClassifier]:
        """The hypotheses, fitted with all rows."""
        return dict(zip(self._names(), self.model_.fitted, strict=True))

    @property
    def weights_(self) -> dict[str, float]:
        """P(h | D)."""
        return dict(zip(self._names(), self.model_.weights.tolist(), strict=True))

    @property
    def log_likelihoods_(self) -> dict[str, float]:
        """Σ log P(c | x, h) of the rows by which the hypotheses were weighted."""
        return dict(zip(self._names(), self.statistics_.hypotheses.log_likelihoods.tolist(), strict=True))

    def _names(self) -> list[str]:
        return list(named_estimators(self.estimators))

    def _check_parameters(self) -> None:
        found = named_estimators(self.estimators)
        shares_of("prior", self.prior, list(found))
        if not (isinstance(self.weights, str) and self.weights in (CROSS_VALIDATED, TRAINING)):
            shares_of("weights", self.weights, list(found))
        check_integer("folds", self.folds, low=2)
        entropy_of(self.random_state)
        for what, value in (("prefit", self.prefit), ("gibbs", self.gibbs)):
            if not isinstance(value, (bool, np.bool_)):
                raise DataError(f"{what} must be True or False; got {shortened(repr(value))}.", parameter=what)
        for estimator in found.values():
            estimator.check_parameters()

    def categorical_columns(self) -> Categorical:
        """Return which columns are categorical, for all hypotheses alike."""
        members = named_estimators(self.estimators)
        if self.prefit:
            return self._same_kinds(members)
        for name, member in members.items():
            if not isinstance(member.reader(), TableReader):
                raise DataError(f"estimators must be classifiers of tables; {name!r} is a {type(member).__name__}.")
        asked = {name: m.categorical_columns() for name, m in members.items()}
        texts = {name: repr(value) for name, value in asked.items()}
        first, *others = texts
        for name in others:
            if texts[name] != texts[first]:
                raise DataError(
                    f"estimators must take the same columns as categorical; {first!r} has categorical="
                    f"{shortened(texts[first])}, {name!r} has {shortened(texts[name])}."
                )
        return asked[first]

    def text_setting(self) -> TextColumns:
        """Return which columns are free text, for all hypotheses alike; none where these were fitted before."""
        if self.prefit:
            return None
        asked = {name: m.text_setting() for name, m in named_estimators(self.estimators).items()}
        first, *others = asked
        for name in others:
            if repr(asked[name]) != repr(asked[first]):
                one, other = (shortened(repr(asked[n])) for n in (first, name))
                rule = "estimators must take the same columns as text"
                raise DataError(f"{rule}; {first!r} has text={one}, {name!r} has {other}.")
        return asked[first]

    @staticmethod
    def _same_kinds(members: Mapping[str, BayesClassifier]) -> dict[str, bool]:
        """Return which features are categorical, as in all of some fitted classifiers."""
        for name, member in members.items():
            if not hasattr(member, "statistics_"):
                raise DataError(f"estimators must have been fitted where prefit is True; {name!r} has not.")
            if member.text_columns_:
                columns = listed(member.text_columns_)
                raise DataError(f"estimators that are prefit must have no free text; {name!r} learned from {columns}.")
        kinds = {name: {v.name: v.is_categorical for v in m.variables_} for name, m in members.items()}
        first, *others = kinds
        for name in others:
            if list(kinds[name].items()) != list(kinds[first].items()):
                raise DataError(
                    f"estimators must have been fitted with the same columns of the same kinds; {first!r} has "
                    f"{listed(kinds[first])}, {name!r} has {listed(kinds[name])}. Say with categorical which are which."
                )
        return kinds[first]

    # Learning

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return what every hypothesis learns, and how well it predicts."""
        estimators = named_estimators(self.estimators).values()
        makers = tuple(unfitted_copy(e).set_params(n_jobs=self.n_jobs) for e in estimators)
        if self.prefit:
            return self._weighed(examples, makers)
        if before is not None:
            known = before.hypotheses
            told = self._log_likelihoods(examples, known.fitted())
            new = tuple(m.collect(examples, s) for m, s in zip(makers, known.statistics, strict=True))
        else:
            new = tuple(m.collect(examples, None) for m in makers)
            told = self._first_log_likelihoods(examples, makers, new)
        return Statistics.of(examples, Encoding(examples.rows.variables, {}), Hypotheses(makers, new, told))

    def _weighed(self, examples: Examples, makers: tuple[BayesClassifier, ...]) -> Statistics:
        """Return the statistics of classifiers that were fitted before, weighted by these rows."""
        fitted = tuple(named_estimators(self.estimators).values())
        kept = tuple(each.statistics_ for each in fitted)
        target = examples.target
        for each in kept:
            target = sorted_target(target, each.target)
        weight = placed(examples.class_weight, [examples.target], [target])
        told = np.zeros(len(fitted)) if self._is_given() else self._log_likelihoods(examples, fitted)
        part = Hypotheses(makers, kept, told)
        return Statistics(target, weight, Encoding(kept[0].variables, {}), {part.name: part})

    def _is_given(self) -> bool:
        return not isinstance(self.weights, str)

    def _first_log_likelihoods(
        self, examples: Examples, makers: Sequence[BayesClassifier], new: tuple[Statistics, ...]
    ) -> np.ndarray:
        if self._is_given():
            return np.zeros(len(makers))
        if self.weights == TRAINING:
            return self._log_likelihoods(examples, Hypotheses(tuple(makers), new, np.zeros(0)).fitted())
        total = np.zeros(len(makers))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # all rows together give the same warnings
            for train, held_out in examples.splits(self.folds, entropy_of(self.random_state)):
                learned = [unfitted_copy(m).adopt(m.collect(train, None), None) for m in makers]  # without texts
                total += self._log_likelihoods(held_out, learned)
        return total

    def _log_likelihoods(self, examples: Examples, fitted: Sequence[BayesClassifier]) -> np.ndarray:
        """Return Σ log P(c | x, h) over the rows whose class some hypothesis knows, for each of the hypotheses."""
        if self._is_given():
            return np.zeros(len(fitted))
        target = examples.target
        for each in fitted:
            target = sorted_target(target, each.statistics_.target)
        place = np.array([target.code(s) for s in examples.target.states or ()], np.intp)[examples.classes]
        known = np.isin(place, [target.code(s) for m in fitted for s in m.statistics_.target.states or ()])
        found = []
        for model in fitted:
            shares = member_posterior(model, examples.rows, target, self.n_jobs)[np.arange(len(place)), place]
            found.append(float((examples.mass * known) @ np.log(np.maximum(shares, _CONFIDENT))))
        return np.array(found)

    def log_prior(self, statistics: Statistics) -> np.ndarray:
        """Return the logarithm of the average of the hypotheses' P(c)."""
        shares, known = np.zeros(statistics.target.n_states), statistics.hypotheses
        for maker, learned, weight in zip(known.makers, known.statistics, self._posterior(known), strict=True):
            at = [statistics.target.code(s) for s in learned.target.states or ()]
            shares[at] += weight * np.exp(maker.log_prior(learned))
        with np.errstate(divide="ignore"):
            return np.log(shares)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> ModelAverage:
        """Return the average of the hypotheses, weighted by P(h | D)."""
        known = statistics.hypotheses
        return ModelAverage(statistics.target, known.fitted(), self._posterior(known))

    def _posterior(self, hypotheses: Hypotheses) -> np.ndarray:
        """Return P(h | D)."""
        found = named_estimators(self.estimators)
        if list(map(type, found.values())) != list(map(type, hypotheses.makers)):
            raise ValueError("its hypotheses do not belong to its estimators")
        names = list(found)
        given = self.weights if self._is_given() else None
        with np.errstate(divide="ignore"):
            logs = np.log(shares_of("prior", self.prior, names)) + np.log(shares_of("weights", given, names))
        logs = logs + hypotheses.log_likelihoods
        if np.isneginf(logs.max()):
            raise DataError("some hypothesis must be possible; prior and weights exclude all of them.")
        weights: np.ndarray = np.exp(logs - logs.max())
        return weights / weights.sum()

    def adopt(self, statistics: Statistics, target_name: str | None) -> BayesOptimalClassifier:
        """Take the statistics; the hypotheses get the names of the columns."""
        super().adopt(statistics, target_name)
        for each in self.model_.fitted:
            each.target_name_ = target_name
            if hasattr(self, "feature_names_in_"):
                each.feature_names_in_ = np.array([v.name for v in statistics.variables], object)
        return self

    def _described(self) -> dict[str, str]:
        return {"weights": ", ".join(f"{name} {weight:.3g}" for name, weight in self.weights_.items())}

    # Prediction

    def answers(self, rows: Any, normalise: Finish) -> np.ndarray:
        """Return what rows are predicted: their posteriors, or with ``gibbs`` those of a drawn hypothesis."""
        if not self.gibbs:
            return super().answers(rows, normalise)
        model: ModelAverage = self.model_
        return model.drawn(rows, normalise, self.n_jobs, entropy_of(self.random_state))


def named_estimators(estimators: Estimators) -> dict[str, BayesClassifier]:
    """Return the hypotheses by name; raise unless they are classifiers of Tunbridge with different names."""
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


def shares_of(what: str, given: Shares, names: list[str]) -> np.ndarray:
    """Return a share for each hypothesis, which sum to one; default: uniform."""
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


# The average of several models


@dataclass(frozen=True, eq=False)
class ModelAverage(TableModel):
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

    parents = None

    target: Variable
    fitted: tuple[BayesClassifier, ...]
    weights: np.ndarray

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(c | x))`` for each row, (n_rows, n_classes)."""
        return self._finished(self._averaged(rows, n_jobs), finish)

    def drawn(self, rows: Table, finish: Finish, n_jobs: int | None, seed: int) -> np.ndarray:
        """Return ``finish(log P(c | x, h))`` with a model h for each row, drawn with probability P(h | D).

        The draw follows from the seed and from what the row holds: the order of rows does not matter.
        """
        places = rows.keys(seed) / 2.0**64
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), places, side="right"), len(self.weights) - 1)
        out = np.empty((rows.n_rows, self.target.n_states))
        for h in np.unique(chosen).tolist():
            some = chosen == h
            out[some] = member_posterior(self.fitted[h], rows.take(some), self.target, n_jobs)
        return self._finished(out, finish)

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds given those before it, (n_features, n_classes, n_rows)."""
        return conditional_terms(self, rows, range(len(rows.variables)))

    def conditions(self, rows: Table) -> list[Given]:
        """Return for each row and feature the features that its term is conditional on: those before it."""
        return [given_before(row, range(len(row))) for row in seen_values(rows).T]

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class, averaged over the models."""
        names = [v.name for v in statistics.variables]
        found = dict.fromkeys(range(len(names)), 0.0)
        for model, weight in self._present():
            told = model.importance(method)
            for j, name in enumerate(names):
                found[j] += weight * told[name]
        return found

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values the numbers lie, with a density or discretized."""
        ends: dict[int, list[float]] = {}
        models = [model for model, _ in self._present()]
        learned = [inner_statistics(model.statistics_) for model in models]
        known = [model.model_.ranges(each) for model, each in zip(models, learned, strict=True)]
        for found in (*known, ranges_of_cuts(each.encoding.cuts for each in learned)):
            for j, pair in found.items():
                ends.setdefault(j, []).extend(pair)
        return {j: (min(pairs), max(pairs)) for j, pairs in ends.items()}

    def _present(self) -> list[tuple[BayesClassifier, float]]:
        pairs = zip(self.fitted, self.weights.tolist(), strict=True)
        return [(model, weight) for model, weight in pairs if weight > _NOTHING]

    def _averaged(self, rows: Table, n_jobs: int | None) -> np.ndarray:
        out = np.zeros((rows.n_rows, self.target.n_states))
        for model, weight in self._present():
            out += weight * member_posterior(model, rows, self.target, n_jobs)
        return out

    @staticmethod
    def _finished(shares: np.ndarray, finish: Finish) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return finish(np.log(shares).T).T


def member_posterior(fitted: BayesClassifier, rows: Table, target: Variable, n_jobs: int | None) -> np.ndarray:
    """Return P(c | x) of one model for each row and each class of the target; classes that it does not know get 0."""
    log_prior = fitted.class_log_prior_
    check_answers(rows.n_rows, target.n_states)

    def finish(joint: np.ndarray) -> np.ndarray:
        lost = np.isneginf(joint.max(axis=0))
        return posterior(np.where(lost, log_prior[:, None], joint) if lost.any() else joint)

    found = fitted.model_.joint(_translated(rows, fitted.variables_), finish, n_jobs)
    known: Variable = fitted.statistics_.target
    if known.states == target.states:
        return found
    out = np.zeros((rows.n_rows, target.n_states))
    out[:, [target.code(s) for s in known.states or ()]] = found
    return out


def _translated(rows: Table, variables: Sequence[Variable]) -> Table:
    """Return rows in the codes of other variables; states that these do not have are missing."""
    if all(v is w or v.states == w.states for v, w in zip(rows.variables, variables, strict=True)):
        return _as_variables(rows, variables)
    columns = list(rows.columns)
    for j, (here, there) in enumerate(zip(rows.variables, variables, strict=True)):
        if here.states != there.states:
            places = [there.find(s) for s in here.states or ()]
            columns[j] = np.array([*places, -1], np.int32)[columns[j]]
    return _as_variables(rows, variables, columns)


def _as_variables(rows: Table, variables: Sequence[Variable], columns: Sequence[np.ndarray] | None = None) -> Table:
    """Return rows as those of other variables."""
    parts = zip(variables, rows.columns if columns is None else columns, rows.types, strict=True)
    return Table.of_valid((Column(*part) for part in parts), rows)
