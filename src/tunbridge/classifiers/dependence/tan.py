"""Tree-augmented naive Bayes: every feature depends on the class and on at most one other feature.

Naive Bayes takes the features as independent given the class. The tree of dependences that explains most of what is
left, among all trees, has the largest sum of conditional information

    I(X_i; X_j | C) = Σ P(x_i, x_j, c) log [P(x_i, x_j | c) / (P(x_i | c) P(x_j | c))],

and is found as a maximum spanning tree, its edges pointing away from a root. The counts of all pairs within the classes
are all that is needed, and one pass over the data gives them.

References
----------
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163 (section 4;
the smoothing of section 4.2 is ``MEstimate(5, "marginal")``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge._check import check_choice
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import HIERARCHICAL, FamilyModel, as_table_prior, family_model
from tunbridge.classifiers.dependence.family_statistics import FamilyStatistics
from tunbridge.classifiers.dependence.pair_statistics import (
    PairStatistics,
    collect_pairs,
    pairs_content,
    pairs_statistics,
)
from tunbridge.classifiers.networks.gaussian_structure import check_root, mixed_information, tree_network
from tunbridge.classifiers.networks.mixed_pairs import (
    MixedPairs,
    collect_mixed,
    mixed_content,
    mixed_statistics,
)
from tunbridge.classifiers.networks.network_columns import NUMERIC_RULES, keeps_numbers, learn_columns
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.classifiers.networks.network_tables import class_network
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES
from tunbridge.classifiers.rows.readers import check_columns
from tunbridge.data import Variable
from tunbridge.learning.trees import Forest, check_forest, pairs_within


class TANClassifier(BayesClassifier):
    """Tree-augmented naive Bayes: the class, and a tree of dependences between the features.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    forest : bool, "bic", "aic", "mean" or number
        Which arcs between features are left out. False: none, a whole tree. ``"bic"`` (or True) and ``"aic"``: those
        that the score does not pay for; ``"mean"``: those of less than the mean information; a number: those of less
        nats.
    root : str, optional
        The feature that the arcs point away from; the first by default. Equivalent trees, slightly different smoothing.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    numeric : {"discretise", "gaussian"}
        What the other columns are. ``"discretise"`` cuts them into intervals by Fayyad & Irani's method, at points that
        the training rows give. ``"gaussian"`` leaves them numbers: each has a linear regression on its parent for every
        class (and state, where the parent is a category), and a category has only a category as its parent.
    smoothing : "hierarchical", number, or prior
        How counts become tables P(x | parent, class). ``"hierarchical"`` draws a configuration with few rows towards
        P(x | class), and that towards P(x); a number is Laplace's γ; ``MEstimate(5, "marginal")`` is the smoothing of
        the paper; else any prior that :func:`fit_parameters` takes.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); ``None`` takes the relative frequencies of the classes.
    missing : {"marginal", "state"}
        What a missing cell is: nothing (at prediction it is summed out exactly), or a state of its own. A number that
        stays a number has no states: where it is missing it is integrated out.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    parents_ : dict
        The feature on which each feature depends beside the class; None for those that depend on the class alone.

    Notes
    -----
    ``partial_fit`` is exact: what is learned from batches is what would be learned from all rows at once, the tree
    included (cut points are those of the first batch). So it is where numbers stay numbers.

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

    kind = "tan"

    def __init__(
        self,
        *,
        forest: Forest = False,
        root: str | None = None,
        categorical: Any = None,
        numeric: str = "discretise",
        smoothing: Any = HIERARCHICAL,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.forest = forest
        self.root = root
        self.categorical = categorical
        self.numeric = numeric
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @property
    def parents_(self) -> dict[str, str | None]:
        """The feature on which each feature depends beside the class."""
        names = [v.name for v in self.variables_]
        return {names[j]: names[p[0]] if p else None for j, p in enumerate(self._model.parents) if p is not None}

    def _check_parameters(self) -> None:
        check_forest(self.forest)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        check_choice("missing", self.missing, MISSING_RULES)
        as_table_prior(self.smoothing)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> PairStatistics | MixedPairs:
        if keeps_numbers(self.numeric, batch, before):
            known = None if before is None else before.columns
            columns = learn_columns(batch, classes, weights, known, numeric="gaussian", missing=self.missing)
            return collect_mixed(batch, classes, target, weights, columns, n_jobs=self.n_jobs)
        return collect_pairs(batch, classes, target, weights, before, missing=self.missing, n_jobs=self.n_jobs)

    def _derive(self, statistics: PairStatistics | MixedPairs, log_prior: np.ndarray) -> FamilyModel | NetworkModel:
        names = [v.name for v in statistics.variables]
        root = None if self.root is None else self._position(names)
        if isinstance(statistics, MixedPairs):
            check_root(root, statistics)
            tree = mixed_information(statistics).tree(self.forest, root=root)
            return class_network(tree_network(statistics, tree), log_prior, self.smoothing)
        parents = pairs_within(statistics.pairs).tree(self.forest, root=root)
        return family_model(tree_families(statistics, parents), log_prior, self.smoothing)

    def _position(self, names: list[str]) -> int:
        check_columns("root", {str(self.root): None}, names, "a feature")
        return names.index(str(self.root))

    @staticmethod
    def _content(statistics: PairStatistics | MixedPairs) -> dict[str, Any]:
        return mixed_content(statistics) if isinstance(statistics, MixedPairs) else pairs_content(statistics)

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> PairStatistics | MixedPairs:
        return mixed_statistics(content) if "moments" in content else pairs_statistics(content)


def tree_families(statistics: PairStatistics, parents: list[int]) -> FamilyStatistics:
    """Return the counts of the families of a tree, given the parent of each feature (−1: none)."""
    used = {j for j, v in enumerate(statistics.coding.coded) if v.n_states}
    parent = {j: p if (p := parents[j]) in used else None for j in sorted(used)}
    structure = tuple(
        None if j not in used else () if parent[j] is None else (parents[j],) for j in range(len(parents))
    )
    counts = {j: statistics.family(j, p) for j, p in parent.items()}
    return FamilyStatistics(statistics.target, statistics.class_weight, statistics.coding, structure, counts)
