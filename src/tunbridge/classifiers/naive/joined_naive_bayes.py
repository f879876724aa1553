"""Joined naive Bayes: features that depend on each other are put together into one.

Naive Bayes assumes that the features are independent given the class. Where two of them are not, the pair can be
one feature whose states are the pairs of states,

    P(c | x) ∝ P(c) Π_g P(x_g | c),     P(x_g | c) = P(x₁ | c) P(x₂ | x₁, c) …  for the features of group g,

so that the joint distribution of a group is free within each class. Which features to join, and which to leave out, is
found by a greedy search with leave-one-out.

References
----------
M. J. Pazzani (1996). Searching for dependencies in Bayesian classifiers. In: Learning from Data, AISTATS V, Lecture
Notes in Statistics 112, 239–248.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.registry import classifier
from tunbridge.classifiers.naive._left_out import (
    Group,
    Groups,
    LeftOut,
    Move,
    Plan,
    SearchedClassifier,
    groups_of,
    n_cells,
)

_SEARCHES = ("backward", "forward")


@classifier("jnb", file="joined-naive-bayes", rank=12, help="joined naive Bayes")
@dataclass(eq=False, repr=False)
class JoinedNaiveBayesClassifier(SearchedClassifier):
    """Naive Bayes whose dependent features are joined into one, and useless ones left out.

    Parameters
    ----------
    search : {"backward", "forward"}
        Backward (BSEJ: backward sequential elimination and joining) starts with all features apart, and joins two
        groups or leaves one out. Forward (FSSJ: forward sequential selection and joining) starts with none, and adds a
        feature as a group of its own or to a group that is there.
    criterion : {"accuracy", "log-loss"}
        The leave-one-out criterion: accuracy, with log-loss deciding between equals, or log-loss alone.
    patience : int
        The number of steps without improvement after which the search ends; the best structure is kept.
    max_states : int
        The maximum number of joint states of a group.
    categorical, text, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are discretized by Fayyad & Irani's method.
    smoothing
        As in :class:`SelectiveNaiveBayesClassifier`, for the tables P(x | class, features before it in its group).

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    groups_ : list of tuple of str
        The features that are used, those that were joined in one tuple.
    trace_ : tuple of SearchStep
        The search: what was joined, added or removed, and the leave-one-out accuracy and log-loss after it.

    Notes
    -----
    A step of the search tries all pairs of groups, and costs F²/2 passes over rows and classes for F features: with
    more than a hundred features the forward search, or :class:`TANClassifier`, is faster. Missing values are summed out
    of their group. ``partial_fit`` keeps the groups of the first batch, and adds to their counts.

    References
    ----------
    M. J. Pazzani (1996). Searching for dependencies in Bayesian classifiers. In: Learning from Data, AISTATS V, Lecture
    Notes in Statistics 112, 239–248.

    Examples
    --------
    The class is whether two features differ; neither says anything alone:

    >>> import tunbridge as tb
    >>> left, right = ["a", "a", "b", "b"] * 5, ["a", "b"] * 10
    >>> differ = [l != r for l, r in zip(left, right)]
    >>> clf = tb.JoinedNaiveBayesClassifier().fit({"left": left, "right": right}, differ)
    >>> clf.groups_
    [('left', 'right')]
    >>> clf.predict({"left": "a", "right": "b"}).tolist()
    [True]
    """

    search: str = "backward"
    _: KW_ONLY
    max_states: int = 4096

    @property
    def groups_(self) -> list[tuple[str, ...]]:
        """The features that are used, by group."""
        return [tuple(self.variables_[j].name for j in group) for group in groups_of(self.statistics_.families)]

    def _check_parameters(self) -> None:
        check_choice("search", self.search, _SEARCHES)
        check_integer("max_states", self.max_states, low=1)
        super()._check_parameters()

    def plan(self, rows: LeftOut) -> Plan:
        """Return the plan of a search that joins features, as long as their joint states are not too many."""
        everything = tuple((j,) for j in rows.used)

        def fits(group: Group) -> bool:
            return n_cells(rows, group) <= self.max_states

        def backward(groups: Groups) -> list[Move]:
            removals = [Move("remove", g, gone=(g,)) for g in groups]
            pairs = [(a, b) for a, b in combinations(groups, 2) if fits(a + b)]
            return removals + [Move("join", a + b, gone=(a, b), new=(a + b,)) for a, b in pairs]

        def forward(groups: Groups) -> list[Move]:
            left = [(j,) for j in rows.used if not any(j in g for g in groups)]
            additions = [Move("add", g, new=(g,)) for g in left]
            pairs = [(a, b) for a in groups for b in left if fits(a + b)]
            return additions + [Move("join", a + b, gone=(a,), new=(a + b,)) for a, b in pairs]

        return Plan((), forward) if self.search == "forward" else Plan(everything, backward)
