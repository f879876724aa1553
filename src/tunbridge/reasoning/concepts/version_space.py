"""Version spaces: all conjunctions that fit the rows, between a least general and several most general ones.

A hypothesis is consistent when it covers all positive rows and no negative one. The version space holds them all. With
a uniform prior over the space of hypotheses H and labels that are never wrong, P(D | h) is 1 for its members and 0 for
the others, so

    P(D) = |VS| / |H|,        P(h | D) = 1 / |VS|   for each of its members,
    P(x is in the concept | D) = share of the members that cover x.

To go by the majority of them is the Bayes-optimal answer. Where all of them agree it is certain, as long as the concept
is a conjunction and the labels are right. The version space is never listed: it is known by its boundaries S and G, and
it is counted by a table (:mod:`tunbridge.reasoning.concepts.version_counts`).

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, sections 2.5 to 2.7 and 6.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_whole, counted, shortened
from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.reasoning.concepts.concept_evidence import ConceptEvidence, first_contradiction
from tunbridge.reasoning.concepts.concept_learner import ConceptLearner
from tunbridge.reasoning.concepts.concept_rows import ConceptRows, read_rows
from tunbridge.reasoning.concepts.concept_target import Target
from tunbridge.reasoning.concepts.conjunctions import Conjunction, count_conjunctions
from tunbridge.reasoning.concepts.elimination import Elimination, elimination
from tunbridge.reasoning.concepts.version_lines import emptied, posterior_lines, vote_line
from tunbridge.reasoning.concepts.version_members import VersionMembers
from tunbridge.reasoning.derivation import Derivation

_LISTED = 10_000


@final
class VersionSpace(ConceptLearner):
    """Learn all conjunctions that fit the rows, and let them vote.

    Parameters
    ----------
    positive : label, optional
        The class of the rows that are in the concept; by default the one called yes, true, 1, + or the like.
    states : mapping of str to list of states, optional
        All states that an attribute can be in, where the rows do not show them all and X is not a Table that knows
        them. They matter for the number of hypotheses; a value that is none of them is an error.

    Attributes
    ----------
    specific_ : tuple of Conjunction
        S, the least general members: always one.
    general_ : tuple of Conjunction
        G, the most general members.
    size_ : int
        How many members there are.
    prior_size_ : int
        How many hypotheses there were, |H|.
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
    about a second. ``general_`` and ``size_`` are found when they are first asked for. Before the first positive row,
    and with more than 24 attributes in which hypotheses differ, that may be too much work; then they raise an error.

    Raises
    ------
    EmptyVersionSpaceError
        When learning from rows that no conjunction fits; it names the first row with which none does. What was learned
        before is kept.

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

    def __init__(self, positive: Any = None, *, states: Mapping[str, Iterable[State]] | None = None) -> None:
        self.positive = positive
        self.states = states

    def _adopt(self, before: ConceptEvidence, rows: ConceptRows, evidence: ConceptEvidence, target: Target) -> None:
        if evidence.covered.size and (lost := first_contradiction(before, rows)) is not None:
            raise emptied(lost, target)
        self._store(evidence, target)
        self.specific_ = (evidence.hypothesis,)
        self._members = VersionMembers(evidence)

    # What is left

    @property
    def general_(self) -> tuple[Conjunction, ...]:
        """The most general members of the version space."""
        check_is_fitted(self)
        return self._members.general

    @property
    def size_(self) -> int:
        """The number of hypotheses that are consistent with the rows."""
        check_is_fitted(self)
        return self._members.counts.size

    @property
    def prior_size_(self) -> int:
        """The number of all hypotheses."""
        check_is_fitted(self)
        return count_conjunctions(self.variables_)

    @property
    def evidence_(self) -> Fraction:
        """P(D), the probability of the classes of all rows under a uniform prior."""
        return Fraction(self.size_, self.prior_size_)

    def __contains__(self, hypothesis: object) -> bool:
        check_is_fitted(self)
        return isinstance(hypothesis, Conjunction) and self._members.holds(hypothesis)

    def hypotheses(self, limit: int = _LISTED) -> tuple[Conjunction, ...]:
        """Return all members, from the least general to the most general ones.

        Parameters
        ----------
        limit : int
            More of them are an error.

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
        check_whole("limit", limit, low=1)
        if self.size_ > limit:
            raise DataError(
                f"the version space must have {limit} members at most to be listed; it has "
                f"{counted(self.size_, 'member')}. Give a larger limit, or see specific_ and general_."
            )
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

    # What they say about a case

    def votes(self, X: Any) -> np.ndarray:
        """Return for each row how many members of the version space cover it.

        Parameters
        ----------
        X : as in :meth:`predict`
        """
        columns, n_rows = self._rows(X)
        return self._members.counts.votes(columns, n_rows)

    def _says_yes(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        return 2 * self._members.counts.votes(columns, n_rows) > self.size_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return for each row the probabilities of the two classes, in the order of ``classes_``.

        That of the positive class is the share of the members that cover the row; :meth:`predict` says positive when
        more than half of them do, and negative on a tie.
        """
        share = (self.votes(X) / self.size_).astype(float)
        both = np.stack([1.0 - share, share], axis=1)
        return both if self.classes_[1] == self.positive_ else both[:, ::-1]

    def unanimous(self, X: Any) -> np.ndarray:
        """Return for each row whether all members of the version space agree about it."""
        columns, n_rows = self._rows(X)
        return self._members.agreed(columns, n_rows)

    # How it comes about

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None) -> Elimination:
        """Return candidate elimination row by row, of a small table; nothing is learned or forgotten.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. Rows that no conjunction fits are no error here: the last step shows where none is left.

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
        return elimination(rows, target)

    def derivation(self, case: Any = None) -> Derivation:
        """Return the posterior of a member, and of a case that is given, as formulas with the numbers in them.

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
        check_is_fitted(self)
        lines = posterior_lines(self.size_, self.prior_size_)
        if case is None:
            return Derivation(lines)
        return Derivation((*lines, vote_line(self.positive_, self._one_vote(case), self.size_)))

    def _one_vote(self, case: Any) -> int:
        votes = self.votes(case)
        if len(votes) != 1:
            raise DataError(f"a case must be one row; got {counted(len(votes), 'row')}.")
        return int(votes[0])
