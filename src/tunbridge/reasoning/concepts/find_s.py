"""Find-S: the least general conjunction that covers all positive rows.

Start with the empty concept; whenever a positive row is not covered, generalise the hypothesis just enough to cover it.
Negative rows are never looked at: if any conjunction fits the rows, this one does, since all others cover more.

That makes it a maximum a posteriori hypothesis whenever the rows have no wrong labels and the concept is a conjunction.
Then P(D | h) is 1 for the hypotheses that fit the rows and 0 for the others, so that P(h | D) ∝ P(h) among the former;
all have the same posterior if the prior is uniform, and the least general one has none above it under any prior that
gives a hypothesis at least as much as each more general one.

References
----------
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, sections 2.4 and 6.3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import counted, warn_user
from tunbridge.data import State
from tunbridge.errors import DataWarning
from tunbridge.reasoning.concepts.concept_evidence import ConceptEvidence, ConceptRow, cells_text, hypothesis_text
from tunbridge.reasoning.concepts.concept_learner import ConceptLearner
from tunbridge.reasoning.concepts.concept_rows import ConceptRows
from tunbridge.reasoning.concepts.concept_target import Target
from tunbridge.reasoning.concepts.conjunctions import count_conjunctions
from tunbridge.reasoning.derivation import Derivation, Equation, equation, number, probability, product, ratio, symbol

_WHY_MAP = (
    "No likelihood is above 1 and no prior above P(h): h is a MAP hypothesis.",
    "It is one under every prior that gives a hypothesis at least as much as each more general one.",
)
_WHY_NOT = (
    "Every conjunction that covers the positive rows covers that row too, so none has P(D | h) > 0 and none is MAP.",
    "Labels that may be wrong must be part of the likelihood: see concept_space(..., noise=...).",
)


@final
class FindS(ConceptLearner):
    """Learn the least general conjunction that covers all positive rows.

    Parameters
    ----------
    positive : label, optional
        The class of the rows that are in the concept; by default the one called yes, true, 1, + or the like.
    states : mapping of str to list of states, optional
        All states that an attribute can be in, where the rows do not show them all and X is not a Table that knows
        them. They matter for the number of hypotheses; a value that is none of them is an error.

    Attributes
    ----------
    hypothesis_ : Conjunction
        The least general hypothesis that covers all positive rows; the empty concept while there is none.
    consistent_ : bool
        Whether it covers no negative row, so that it fits all rows.
    conflict_ : ConceptRow or None
        The first negative row that it covers, with its number and its cells; after :meth:`partial_fit` the first of
        those that had to be kept.
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

    def __init__(self, positive: Any = None, *, states: Mapping[str, Iterable[State]] | None = None) -> None:
        self.positive = positive
        self.states = states

    def _adopt(self, before: ConceptEvidence, rows: ConceptRows, evidence: ConceptEvidence, target: Target) -> None:
        self._store(evidence, target)
        self.hypothesis_ = evidence.hypothesis
        self.conflict_ = _conflict(evidence)
        self.consistent_ = self.conflict_ is None
        if self.conflict_ is not None:
            warn_user(_inconsistent(self.conflict_), DataWarning)

    def _says_yes(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        specific = self._evidence.specific
        if specific is None:
            return np.zeros(n_rows, bool)
        covered = np.ones(n_rows, bool)
        for a in self._evidence.constrained.tolist():
            covered &= columns[a] == specific[a]
        return covered

    @property
    def is_map_(self) -> bool:
        """Whether the hypothesis is a maximum a posteriori one, under the assumptions that :meth:`derivation` shows.

        They are that labels are never wrong, that the concept is a conjunction, and a prior that is uniform or gives a
        hypothesis at least as much as each more general one. Then it is MAP exactly when it fits all rows.
        """
        check_is_fitted(self)
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
        check_is_fitted(self)
        h, data = symbol("h"), symbol("D")
        given, prior, evidence = probability(data, h), probability(h), probability(data)
        size = Fraction(1, count_conjunctions(self.variables_))
        lines: list[Equation | str] = [
            self._coverage(),
            equation(prior, ratio(number(Fraction(1)), symbol("|H|")), number(size)),
            equation(given, number(Fraction(int(self.consistent_)))),
        ]
        if self.consistent_:
            posterior = equation(probability(h, data), ratio(product(given, prior), evidence), ratio(prior, evidence))
            return Derivation((*lines, posterior, *_WHY_MAP))
        return Derivation((*lines, equation(evidence, number(Fraction(0))), *_WHY_NOT))

    def _coverage(self) -> str:
        found = self._evidence
        positive, negative = counted(found.n_positive, "positive row"), counted(found.n_negative, "negative row")
        rest = f"none of {negative}" if self.conflict_ is None else f"negative row {self.conflict_.row}"
        return f"h = {self.hypothesis_} covers all {positive} and {rest}."


def _conflict(evidence: ConceptEvidence) -> ConceptRow | None:
    """Return the first negative row that S covers."""
    covered = evidence.covered
    if not covered.size:
        return None
    place = int(covered[evidence.numbers[covered].argmin()])
    return ConceptRow(int(evidence.numbers[place]), evidence.cells(place), evidence.hypothesis)


def _inconsistent(conflict: ConceptRow) -> str:
    return (
        f"the hypothesis {hypothesis_text(conflict.hypothesis)} should cover no negative row; it covers row "
        f"{conflict.row}, {cells_text(conflict.cells)}, so no conjunction fits all rows. Either a label is wrong or "
        "the concept is no conjunction; a classifier such as NaiveBayesClassifier can live with both."
    )
