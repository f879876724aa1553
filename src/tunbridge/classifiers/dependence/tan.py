"""Tree-augmented naive Bayes: every feature depends on the class and on at most one other feature.

Naive Bayes assumes that the features are independent given the class. The tree of dependences that explains most of
what is left, among all trees, has the largest sum of conditional information

    I(X_i; X_j | C) = Σ P(x_i, x_j, c) log [P(x_i, x_j | c) / (P(x_i | c) P(x_j | c))],

and is found as a maximum spanning tree, its edges pointing away from a root. The counts of all pairs within the classes
are all that is needed, and one pass over the data gives them.

References
----------
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163 (section 4;
the smoothing of section 4.2 is ``MEstimate(5, "marginal")``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import check_choice
from tunbridge._core.registry import classifier
from tunbridge.classifiers._reading import check_columns
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import NUMERIC_RULES, Statistics
from tunbridge.classifiers.dependence._families import (
    CountedClassifier,
    Families,
    FamilyModel,
    family_model,
    tree_parents,
)
from tunbridge.classifiers.dependence._pairs import Pairs, collect_pairs
from tunbridge.classifiers.networks._mixed import check_root, class_network, mixed_information, tree_network
from tunbridge.classifiers.networks._model import NetworkModel
from tunbridge.learning.searches.trees import Forest, check_forest, pairs_within


@classifier(
    "tan",
    rank=20,
    default="tan",
    help="tree-augmented naive Bayes",
    variants={"fan": ("TAN as a forest, without the arcs that BIC rejects", {"forest": "bic"})},
)
@dataclass(kw_only=True, eq=False, repr=False)
class TANClassifier(CountedClassifier):
    """Tree-augmented naive Bayes: the class, and a tree of dependences between the features.

    Parameters
    ----------
    forest : bool, "bic", "aic", "mean" or number
        Which arcs between features are left out. False: none, a full tree. ``"bic"`` (or True) and ``"aic"``: those
        that the score rejects; ``"mean"``: those with less than the mean information; a number: those with less nats.
    root : str, optional
        The feature that the arcs point away from; default: the first. Trees with other roots are equivalent, but are
        smoothed slightly differently.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    text : {"auto", None}, list of columns, or mapping of column to TextClassifier
        Which columns are free text; see :class:`NaiveBayesClassifier`.
    numeric : {"discretise", "gaussian"}
        How numeric columns are modelled. ``"discretise"``: by bins found by Fayyad & Irani's method. ``"gaussian"``: as
        numbers, each with a linear regression on its parent for every class (and category of the parent); a category
        has only a category as its parent.
    smoothing : "hierarchical", number, or prior
        How counts become tables P(x | parent, class). ``"hierarchical"`` draws a configuration with few rows towards
        P(x | class), and that towards P(x); a number is Laplace's γ; ``MEstimate(5, "marginal")`` is the smoothing of
        the paper; else any prior that :func:`fit_parameters` takes.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); default: the relative frequencies of the classes.
    missing : {"marginal", "state"}
        How missing values are treated: summed out exactly, or as a category of their own. Numbers with a density are
        always integrated out.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    parents_ : dict
        The feature on which each feature depends beside the class; None for those that depend on the class alone.

    Notes
    -----
    ``partial_fit`` is exact: what is learned from batches is what would be learned from all rows at once, the tree
    included (bins are those of the first batch). This holds for ``numeric="gaussian"`` too.

    References
    ----------
    N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.TANClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> clf.parents_
    {'outlook': None, 'temperature': 'outlook', 'humidity': 'temperature', 'wind': 'outlook'}
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    needs_columns = True
    parts = (Pairs,)

    forest: Forest = False
    root: str | None = None
    numeric: str = "discretise"

    @property
    def parents_(self) -> dict[str, str | None]:
        """The feature on which each feature depends beside the class."""
        return tree_parents(self.variables_, self.model_.parents)

    def _check_parameters(self) -> None:
        check_forest(self.forest)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of all pairs of features within the classes."""
        return collect_pairs(examples, before, missing=self.missing, numeric=self.numeric, n_jobs=self.n_jobs)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> FamilyModel | NetworkModel:
        """Return the tree of largest information, with the tables of its families."""
        root = self._position([v.name for v in statistics.variables])
        if statistics.encoding.numbers:
            check_root(root, statistics.encoding)
            tree = mixed_information(statistics).tree(self.forest, root=root)
            return class_network(tree_network(statistics, tree), log_prior, self.smoothing)
        tree = pairs_within(statistics.pairs.counts).tree(self.forest, root=root)
        return family_model(statistics, tree_families(statistics.pairs, tree), log_prior, self.smoothing)

    def _position(self, names: list[str]) -> int | None:
        if self.root is None:
            return None
        check_columns("root", [self.root], names, "a feature")
        return names.index(self.root)


def tree_families(pairs: Pairs, tree: list[int]) -> Families:
    """Return the counts of the families of a tree, given the parent of each feature (−1: none)."""
    assert pairs.counts is not None  # all features are coded
    used = [v.n_states > 0 for v in pairs.counts.variables]
    parents = tuple((p,) if p >= 0 and used[p] else () for p in tree)
    counts = {j: pairs.family(j, *p) for j, p in enumerate(parents) if used[j]}
    return Families(tuple(p if used[j] else None for j, p in enumerate(parents)), counts)
