"""Find-S and version spaces: learning conjunctions from examples without errors.

*Find-S* starts with the empty concept; whenever a positive row is not covered, it generalises the hypothesis just
enough to cover it. Negative rows are ignored: if any conjunction fits the rows, this one does, since all others cover
more.

*Version space.* A hypothesis is consistent if it covers all positive rows and no negative one. The version space holds
all of these. With a uniform prior over the space of hypotheses H and labels without errors, P(D | h) is 1 for its
members and 0 for the others, so

    P(D) = |VS| / |H|,        P(h | D) = 1 / |VS|   for each of its members,
    P(x is in the concept | D) = share of the members that cover x.

The majority vote of the members is the Bayes-optimal answer. Where they are unanimous it is certain, if the concept is
a conjunction and the labels are right. The result of Find-S is a maximum a posteriori hypothesis under a uniform prior,
and under any prior that gives a hypothesis at least as much as each more general one. The version space is never
listed: it is known by its boundaries S and G (:mod:`tunbridge.reasoning.version_space`).

*Candidate elimination* shows how the boundaries close in, row by row. A positive row generalises S just enough to cover
it, and removes from G what does not cover it. A negative row specialises the members of G that cover it, just enough to
exclude it, and removes S if it is covered. The order of the rows changes the steps, not the result.

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, sections 2.4 to 2.7 and 6.3.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from tunbridge._core.check import check_fitted, check_integer, counted, shortened, warn_user
from tunbridge._core.threads import at_once, replacing_state
from tunbridge.errors import DataError, DataWarning, EmptyVersionSpaceError
from tunbridge.reasoning.concept_rows import (
    ConceptRows,
    Known,
    States,
    Target,
    as_labels,
    attributes_and_classes,
    known_rows,
    read_rows,
    row_weights,
)
from tunbridge.reasoning.conjunctions import Conjunction, count_conjunctions
from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    P,
    Term,
    equation,
    number,
    result,
    rounded,
    symbol,
    words,
)
from tunbridge.reasoning.version_space import (
    ConceptEvidence,
    ConceptRow,
    Elimination,
    EliminationStep,
    VersionMembers,
    cells_text,
    hypothesis_text,
)

_MOST_STEPS = 200
_LISTED = 10_000
_H, _DATA = symbol("h"), symbol("D")


class _ConceptLearner(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of the concept learners."""

    _evidence: ConceptEvidence
    _target: Target

    def __init__(self, positive: object = None, *, states: States = None) -> None:
        self.positive = positive
        self.states = states

    @abstractmethod
    def _adopt(self, evidence: ConceptEvidence) -> None:
        """Set the fitted attributes from the evidence."""

    @abstractmethod
    def _covered(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return which rows are predicted to be in the concept."""

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn from rows and their classes; earlier rows are forgotten.

        Parameters
        ----------
        X : frame, dict of columns, Table, list of rows, or array
            The attributes, categorical and without missing values. A Table may have states that no row shows.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them: one class for the rows in the concept, one for
            the others.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are left out; other weights make no difference. Default: the weights of a Table.

        Returns
        -------
        self
        """
        with replacing_state(self) as learner:
            learner._learn(X, y, None, sample_weight, None)
        return self

    def partial_fit(self, X: object, y: object = None, classes: object = None, sample_weight: object = None) -> Self:
        """Learn from further rows, which may have new states. The result is that of all rows at once.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            Both classes, if the first rows may have only one.

        Returns
        -------
        self
        """
        with replacing_state(self) as learner:
            learner._learn(X, y, classes, sample_weight, getattr(learner, "_evidence", None))
        return self

    def _learn(
        self, X: object, y: object, classes: object, sample_weight: object, before: ConceptEvidence | None
    ) -> None:
        known = Known(classes) if before is None else Known(classes, before.variables, self._target, before.n_rows)
        rows, target, n_rows = read_rows(X, y, sample_weight, positive=self.positive, states=self.states, known=known)
        before = ConceptEvidence.none(rows.variables) if before is None else before
        evidence = before.with_rows(rows, n_rows)
        self._check(before, rows, evidence, target)
        self._evidence, self._target = evidence, target
        self.variables_, self.n_features_in_ = evidence.variables, len(evidence.variables)
        self.classes_, self.positive_ = as_labels(target.classes), target.positive
        self.n_rows_, self.trace_ = evidence.n_rows, evidence.trace
        self._adopt(evidence)

    def _check(self, before: ConceptEvidence, rows: ConceptRows, evidence: ConceptEvidence, target: Target) -> None:
        """Raise if the learner cannot use these rows; nothing has changed by then."""

    @at_once
    def predict(self, X: object) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of attribute to value for one row
            Other columns are ignored. An unseen category meets no constraint, with a warning.
        """
        columns, n_rows = self._rows(X)
        labels = as_labels([self._target.negative, self._target.positive])
        return labels[self._covered(columns, n_rows).astype(int)]

    @at_once
    def score(self, X: object, y: object = None, sample_weight: object = None) -> float:
        """Return the accuracy; y may be the name of a column, as in :meth:`fit`."""
        check_fitted(self)
        attributes, labels = attributes_and_classes(X, y, self._target)
        states = np.array([*(labels.variable.states or ()), None], object)
        right = self.predict(attributes) == states[labels.values]
        weights = row_weights(sample_weight, attributes)
        if not weights.any():
            raise DataError("there must be at least one row of a weight above 0; got none.", parameter="X")
        return float(np.average(right, weights=weights))

    def _rows(self, X: object) -> tuple[tuple[np.ndarray, ...], int]:
        check_fitted(self)
        return known_rows(X, self.variables_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags


@final
class FindS(_ConceptLearner):
    """Learn the least general conjunction that covers all positive rows.

    Parameters
    ----------
    positive : label, optional
        The class of the rows that are in the concept. Default: the one called yes, true, 1, + or the like.
    states : mapping of str to list of states, optional
        All states of an attribute, if the rows do not show them all and X is not a Table that has them. They determine
        the number of hypotheses; other values are errors.

    Attributes
    ----------
    hypothesis_ : Conjunction
        The least general hypothesis that covers all positive rows; the empty concept if there is none.
    consistent_ : bool
        Whether it covers no negative row, so that it fits all rows.
    conflict_ : ConceptRow or None
        The first negative row that it covers; after :meth:`partial_fit` the first of those that were kept.
    trace_ : tuple of ConceptRow
        The rows at which it changed, each with the hypothesis after it.
    classes_ : ndarray
        The two classes, sorted.
    positive_ : label
        The class of the concept.
    variables_ : tuple of Variable
        The attributes with all their states.
    n_rows_, n_features_in_ : int
        The numbers of rows and attributes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> learner = tb.FindS().fit(tb.datasets.enjoy_sport(), "enjoy")
    >>> learner.hypothesis_
    ⟨Sunny, Warm, ?, Strong, ?, ?⟩
    >>> for step in learner.trace_:
    ...     print(step.row, step.hypothesis)
    1 ⟨Sunny, Warm, Normal, Strong, Warm, Same⟩
    2 ⟨Sunny, Warm, ?, Strong, Warm, Same⟩
    4 ⟨Sunny, Warm, ?, Strong, ?, ?⟩
    >>> learner.is_map_
    True
    """

    def _adopt(self, evidence: ConceptEvidence) -> None:
        self.hypothesis_, self.conflict_ = evidence.hypothesis, evidence.conflict
        self.consistent_ = self.conflict_ is None
        if self.conflict_ is not None:
            warn_user(
                f"no conjunction fits all rows: {hypothesis_text(self.hypothesis_)} covers negative row "
                f"{self.conflict_.row}, {cells_text(self.conflict_.cells)}. Either a label is wrong or the concept is "
                "no conjunction; a classifier such as NaiveBayesClassifier can handle both.",
                DataWarning,
            )

    def _covered(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        specific = self._evidence.specific
        covered = np.full(n_rows, specific is not None)
        if specific is not None:
            for a in self._evidence.constrained.tolist():
                covered &= columns[a] == specific[a]
        return covered

    @property
    def is_map_(self) -> bool:
        """Whether the hypothesis is a maximum a posteriori one, under the assumptions that :meth:`derivation` shows.

        They are labels without errors, a concept that is a conjunction, and a prior that is uniform or gives a
        hypothesis at least as much as each more general one. Then it is MAP exactly if it fits all rows.
        """
        check_fitted(self)
        return self.consistent_

    def derivation(self) -> Derivation:
        """Return why the hypothesis is a maximum a posteriori one, or why there is none.

        Examples
        --------
        >>> import tunbridge as tb
        >>> print(tb.FindS().fit(tb.datasets.enjoy_sport(), "enjoy").derivation())
        h = ⟨Sunny, Warm, ?, Strong, ?, ?⟩ covers all 3 positive rows and none of 1 negative row.
        P(h) = 1 / |H| = 1/973
        P(D | h) = 1
        P(h | D) = P(D | h) × P(h) / P(D) = P(h) / P(D)
        No likelihood is above 1 and no prior above P(h): h is a MAP hypothesis.
        It is one under every prior that gives a hypothesis at least as much as each more general one.
        """
        check_fitted(self)
        found, size = self._evidence, Fraction(1, count_conjunctions(self.variables_))
        positive, negative = counted(found.n_positive, "positive row"), counted(found.n_negative, "negative row")
        rest = f"none of {negative}" if self.conflict_ is None else f"negative row {self.conflict_.row}"
        lines: list[Equation | str] = [
            f"h = {self.hypothesis_} covers all {positive} and {rest}.",
            equation(P(_H), number(1) / symbol("|H|"), number(size)),
            equation(P(_DATA, _H), number(int(self.consistent_))),
        ]
        if self.consistent_:
            lines += [
                equation(P(_H, _DATA), P(_DATA, _H) * P(_H) / P(_DATA), P(_H) / P(_DATA)),
                "No likelihood is above 1 and no prior above P(h): h is a MAP hypothesis.",
                "It is one under every prior that gives a hypothesis at least as much as each more general one.",
            ]
        else:
            lines += [
                equation(P(_DATA), number(0)),
                "Every conjunction that covers the positive rows also covers that row: none has P(D | h) > 0.",
                "To allow for wrong labels see concept_space(..., noise=...).",
            ]
        return Derivation(tuple(lines))


@final
class VersionSpace(_ConceptLearner):
    """Learn all conjunctions that fit the rows, and predict by their vote.

    Parameters
    ----------
    positive : label, optional
        The class of the rows that are in the concept. Default: the one called yes, true, 1, + or the like.
    states : mapping of str to list of states, optional
        All states of an attribute, if the rows do not show them all and X is not a Table that has them. They determine
        the number of hypotheses; other values are errors.

    Attributes
    ----------
    specific_ : tuple of Conjunction
        S, the least general members: always one.
    general_ : tuple of Conjunction
        G, the most general members.
    size_ : int
        The number of members.
    prior_size_ : int
        The number of all hypotheses, |H|.
    evidence_ : Fraction
        P(D) = |VS| / |H|.
    trace_ : tuple of ConceptRow
        The rows at which S changed, each with S after it; :meth:`steps` shows G as well.
    classes_ : ndarray
        The two classes, sorted.
    positive_ : label
        The class of the concept.
    variables_ : tuple of Variable
        The attributes with all their states.
    n_rows_, n_features_in_ : int
        The numbers of rows and attributes.

    Notes
    -----
    The rows are read once, in any order, and only those that matter are kept: a million rows of twenty attributes take
    about a second. ``general_`` and ``size_`` are computed on first use. Before the first positive row, and with more
    than 24 attributes in which hypotheses differ, that may be too much work; then they raise an error.

    Raises
    ------
    EmptyVersionSpaceError
        From ``fit`` and ``partial_fit`` if no conjunction fits the rows; it names the first row with which none does.
        What was learned before is kept.

    Examples
    --------
    >>> import tunbridge as tb
    >>> space = tb.VersionSpace().fit(tb.datasets.enjoy_sport(), "enjoy")
    >>> space.specific_, space.general_
    ((⟨Sunny, Warm, ?, Strong, ?, ?⟩,), (⟨Sunny, ?, ?, ?, ?, ?⟩, ⟨?, Warm, ?, ?, ?, ?⟩))
    >>> space.size_, space.prior_size_
    (6, 973)
    >>> day = {"sky": "Sunny", "air_temp": "Cold", "humidity": "Normal", "wind": "Strong", "water": "Warm",
    ...     "forecast": "Same"}
    >>> space.predict(day).tolist(), space.votes(day).tolist(), space.unanimous(day).tolist()
    (['no'], [2], [False])
    """

    def _check(self, before: ConceptEvidence, rows: ConceptRows, evidence: ConceptEvidence, target: Target) -> None:
        if evidence.conflict is not None:
            raise _emptied(rows, target, *before.first_conflict(rows))

    def _adopt(self, evidence: ConceptEvidence) -> None:
        self.specific_ = (evidence.hypothesis,)
        self._members = VersionMembers.of(evidence)

    @property
    def general_(self) -> tuple[Conjunction, ...]:
        """The most general members of the version space."""
        check_fitted(self)
        return self._members.general

    @property
    def size_(self) -> int:
        """The number of hypotheses that are consistent with the rows."""
        check_fitted(self)
        return self._members.size

    @property
    def prior_size_(self) -> int:
        """The number of all hypotheses."""
        check_fitted(self)
        return count_conjunctions(self.variables_)

    @property
    def evidence_(self) -> Fraction:
        """P(D), the probability of the classes of all rows under a uniform prior."""
        return Fraction(self.size_, self.prior_size_)

    def __contains__(self, hypothesis: object) -> bool:
        check_fitted(self)
        return isinstance(hypothesis, Conjunction) and hypothesis in self._members

    def hypotheses(self, limit: int = _LISTED) -> tuple[Conjunction, ...]:
        """Return all members, from the least general to the most general ones.

        Parameters
        ----------
        limit : int
            The largest number to list; more raise an error.

        Examples
        --------
        >>> import tunbridge as tb
        >>> for h in tb.VersionSpace().fit(tb.datasets.enjoy_sport(), "enjoy").hypotheses():
        ...     print(h)
        ⟨Sunny, Warm, ?, Strong, ?, ?⟩
        ⟨Sunny, Warm, ?, ?, ?, ?⟩
        ⟨Sunny, ?, ?, Strong, ?, ?⟩
        ⟨?, Warm, ?, Strong, ?, ?⟩
        ⟨Sunny, ?, ?, ?, ?, ?⟩
        ⟨?, Warm, ?, ?, ?, ?⟩
        """
        check_integer("limit", limit, low=1)
        if self.size_ > limit:
            got, hint = counted(self.size_, "member"), "Use a larger limit, or specific_ and general_."
            raise DataError(f"the version space must have at most {limit} members to be listed; it has {got}. {hint}")
        return self._members.listed()

    def posterior(self, hypothesis: Conjunction) -> Fraction:
        """Return P(h | D) under a uniform prior: 1 / |VS| for each member, 0 for any other hypothesis.

        Examples
        --------
        >>> import tunbridge as tb
        >>> space = tb.VersionSpace().fit(tb.datasets.enjoy_sport(), "enjoy")
        >>> space.posterior(space.specific_[0])
        Fraction(1, 6)
        """
        if not isinstance(hypothesis, Conjunction):
            raise DataError(f"a hypothesis must be a Conjunction; got {shortened(repr(hypothesis))}.")
        return Fraction(1, self.size_) if hypothesis in self else Fraction(0)

    def votes(self, X: object) -> np.ndarray:
        """Return for each row how many members of the version space cover it.

        Parameters
        ----------
        X : as in :meth:`predict`
        """
        return self._members.votes(*self._rows(X))

    def _covered(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        return 2 * self._members.votes(columns, n_rows) > self.size_

    @at_once
    def predict_proba(self, X: object) -> np.ndarray:
        """Return for each row the probabilities of the two classes, in the order of ``classes_``.

        That of the positive class is the share of the members that cover the row; :meth:`predict` returns the positive
        class if more than half of them do, and the negative one on a tie.
        """
        share = (self.votes(X) / self.size_).astype(float)
        both = np.stack([1.0 - share, share], axis=1)
        return both if self.classes_[1] == self.positive_ else both[:, ::-1]

    def unanimous(self, X: object) -> np.ndarray:
        """Return for each row whether all members of the version space agree about it."""
        columns, n_rows = self._rows(X)
        return self._members.unanimous(columns, n_rows)

    def steps(self, X: object, y: object = None, sample_weight: object = None) -> Elimination:
        """Return candidate elimination row by row, for a small table; the fitted state does not change.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. Rows that no conjunction fits are no error: the last step shows where none is left.

        Examples
        --------
        >>> import tunbridge as tb
        >>> print(tb.VersionSpace().steps(tb.datasets.enjoy_sport(), "enjoy"))
        before any row
            S  ⟨∅, ∅, ∅, ∅, ∅, ∅⟩
            G  ⟨?, ?, ?, ?, ?, ?⟩
        row 1: ⟨Sunny, Warm, Normal, Strong, Warm, Same⟩ → yes
            S  ⟨Sunny, Warm, Normal, Strong, Warm, Same⟩
            G  ⟨?, ?, ?, ?, ?, ?⟩
        row 2: ⟨Sunny, Warm, High, Strong, Warm, Same⟩ → yes
            S  ⟨Sunny, Warm, ?, Strong, Warm, Same⟩
            G  ⟨?, ?, ?, ?, ?, ?⟩
        row 3: ⟨Rainy, Cold, High, Strong, Warm, Change⟩ → no
            S  ⟨Sunny, Warm, ?, Strong, Warm, Same⟩
            G  ⟨Sunny, ?, ?, ?, ?, ?⟩
               ⟨?, Warm, ?, ?, ?, ?⟩
               ⟨?, ?, ?, ?, ?, Same⟩
        row 4: ⟨Sunny, Warm, High, Strong, Cool, Change⟩ → yes
            S  ⟨Sunny, Warm, ?, Strong, ?, ?⟩
            G  ⟨Sunny, ?, ?, ?, ?, ?⟩
               ⟨?, Warm, ?, ?, ?, ?⟩
        """
        rows, target, _ = read_rows(X, y, sample_weight, positive=self.positive, states=self.states)
        if len(rows.positive) > _MOST_STEPS:
            hint = "Take the first ones, or see trace_, which has the rows at which S changed."
            raise DataError(f"steps shows at most {_MOST_STEPS} rows; got {len(rows.positive)}. {hint}", parameter="X")
        evidence = ConceptEvidence.none(rows.variables)
        steps = [EliminationStep(0, (), None, *_boundaries(evidence))]
        for i in range(len(rows.positive)):
            evidence = evidence.with_rows(rows.part(i, i + 1), 1)
            label = target.positive if rows.positive[i] else target.negative
            found = _boundaries(evidence) if evidence.conflict is None else ((), ())
            steps.append(EliminationStep(int(rows.numbers[i]), rows.cells(i), label, *found))
            if evidence.conflict is not None:
                break
        return Elimination(tuple(steps))

    def derivation(self, case: object = None) -> Derivation:
        """Return the posterior of a member, and of a given case, as formulas with the numbers in them.

        Parameters
        ----------
        case : mapping of attribute to value, optional

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.enjoy_sport()
        >>> space = tb.VersionSpace().fit(table, "enjoy")
        >>> day = {"sky": "Sunny", "air_temp": "Cold", "humidity": "High", "wind": "Strong", "water": "Warm",
        ...     "forecast": "Same"}
        >>> print(space.derivation(day))
        P(h) = 1 / |H| = 1/973
        P(D | h) = 1 if h covers every positive row and no negative one, else 0
        P(D) = |VS| / |H| = 6 / 973 ≈ 0.0061665
        For each h in the version space VS:
        P(h | D) = P(D | h) × P(h) / P(D) = 1/973 / (6/973) = 1/6 ≈ 0.166667
        P(yes | x, D) = members that cover x / |VS| = 2 / 6 = 1/3 ≈ 0.333333
        """
        check_fitted(self)
        share, all_of_them, members = Fraction(1, self.prior_size_), symbol("|H|"), symbol("|VS|")
        lines: list[Equation | str] = [
            equation(P(_H), number(1) / all_of_them, number(share)),
            equation(P(_DATA, _H), words("1 if h covers every positive row and no negative one, else 0")),
            equation(P(_DATA), members / all_of_them, *_ratio(self.size_, self.prior_size_)),
            "For each h in the version space VS:",
            equation(
                P(_H, _DATA),
                P(_DATA, _H) * P(_H) / P(_DATA),
                number(share) / self.evidence_,
                *result(Fraction(1, self.size_)),
            ),
        ]
        if case is not None:
            votes = self.votes(case)
            if len(votes) != 1:
                raise DataError(f"a case must be one row; got {counted(len(votes), 'row')}.", parameter="case")
            covering = words("members that cover x") / members
            lines.append(equation(P(self.positive_, symbol("x, D")), covering, *_ratio(int(votes[0]), self.size_)))
        return Derivation(tuple(lines))


def _boundaries(evidence: ConceptEvidence) -> tuple[tuple[Conjunction, ...], tuple[Conjunction, ...]]:
    """Return S and G of a version space that is not empty."""
    return (evidence.hypothesis,), VersionMembers.of(evidence).general


def _emptied(rows: ConceptRows, target: Target, place: int, conflict: ConceptRow) -> EmptyVersionSpaceError:
    """Return the error about a row with which no conjunction fits all rows."""
    row, cells, hypothesis = int(rows.numbers[place]), rows.cells(place), hypothesis_text(conflict.hypothesis)
    if rows.positive[place]:
        other = f"negative row {conflict.row}, {cells_text(conflict.cells)}"
        label, why = target.positive, f"covering it takes at least {hypothesis}, which covers {other}"
    else:
        least = f"{hypothesis}, the least general conjunction that covers the positive rows"
        label, why = target.negative, f"{least}, covers it too"
    hint = (
        "A label may be wrong, or the concept is no conjunction: reasoning.concept_space(..., noise=0.1) allows for "
        "wrong labels, NaiveBayesClassifier for both."
    )
    where = f"row {row}, {cells_text(cells)} → {label}"
    message = f"a conjunction must fit all rows; none is left at {where}: {why}. {hint}"
    named = dict(zip(conflict.hypothesis.attributes, cells, strict=True))
    return EmptyVersionSpaceError(message, row=row, cells=named)


def _ratio(part: int, whole: int) -> list[Term]:
    """Return a ratio of integers as it is, reduced if it can be, and as a decimal."""
    share = Fraction(part, whole)
    reduced = [number(share)] if share.denominator < whole else []
    return [number(part) / whole, *reduced, rounded(share)]
