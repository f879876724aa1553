"""Selective naive Bayes: only the features that help are used.

Naive Bayes counts the evidence of redundant features twice. Leaving one of them out is the simplest remedy. The
features are chosen by a greedy search: forward from none, adding the best one each time, or backward from all, leaving
out the least useful one. Features are judged by leave-one-out. No model has to be fitted again for it: a row is taken
away from the counts (:mod:`tunbridge.classifiers.naive._left_out`), so that trying a feature costs one look into a
table for each row and class.

References
----------
P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.registry import classifier
from tunbridge.classifiers.naive._left_out import Groups, LeftOut, Move, Plan, SearchedClassifier, groups_of

_SEARCHES = ("forward", "backward")


@classifier("snb", file="selective-naive-bayes", rank=11, help="selective naive Bayes")
@dataclass(eq=False, repr=False)
class SelectiveNaiveBayesClassifier(SearchedClassifier):
    """Naive Bayes with the features that help: chosen forward or backward by leave-one-out.

    Parameters
    ----------
    search : {"forward", "backward"}
        Whether features are added or removed one by one. Forward leaves out redundant features; backward finds
        features that help only together, and keeps more.
    criterion : {"accuracy", "log-loss"}
        The leave-one-out criterion: accuracy, with log-loss deciding between equals, or log-loss alone, which stops
        later.
    patience : int
        The number of steps without improvement after which the search ends: this finds features that help only
        together. The best set is kept.
    max_features : int, optional
        The maximum number of features.
    categorical, text, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are discretized by Fayyad & Irani's method.
    smoothing : number, "hierarchical", or prior
        How counts become tables P(x | class); a number is Laplace's γ. Where pseudo-counts depend on the data, as those
        of ``MEstimate(m, "marginal")`` and the strengths of ``"hierarchical"`` do, they are not computed again for
        every row that is left out.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    selected_ : list of str
        The features that are used, in the order of the columns.
    trace_ : tuple of SearchStep
        The search: what was added or removed, and the leave-one-out accuracy and log-loss after it.

    Notes
    -----
    A feature is added if predictions get better, and left out if they do not get worse. Choosing from F
    features takes at most F²/2 passes over rows and classes. ``partial_fit`` keeps the features that the first
    batch chose, and adds to their counts.

    References
    ----------
    P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.SelectiveNaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> clf.selected_
    ['outlook', 'humidity']
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    search: str = "forward"
    _: KW_ONLY
    patience: int = 2
    max_features: int | None = None

    @property
    def selected_(self) -> list[str]:
        """The features that are used."""
        return [self.variables_[j].name for (j,) in groups_of(self.statistics_.families)]

    def _check_parameters(self) -> None:
        check_choice("search", self.search, _SEARCHES)
        check_integer("max_features", self.max_features, low=1, optional=True)
        super()._check_parameters()

    def plan(self, rows: LeftOut) -> Plan:
        """Return the plan of a search in which each feature is a group of its own."""
        everything = tuple((j,) for j in rows.used)

        def additions(chosen: Groups) -> list[Move]:
            left = everything if self.max_features is None or len(chosen) < self.max_features else ()
            return [Move("add", g, new=(g,)) for g in left if g not in chosen]

        def removals(chosen: Groups) -> list[Move]:
            return [Move("remove", g, gone=(g,)) for g in chosen]

        return Plan((), additions) if self.search == "forward" else Plan(everything, removals, self.max_features)
