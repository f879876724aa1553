"""A Bayesian multinet: every class has a tree of dependences of its own.

TAN joins the features by one tree for all classes. But features may depend on each other in one way in one class and in
another way in the next. A multinet learns the best tree of each class by itself, from its own rows: a maximum spanning
tree of the information within the class,

    I(X_i; X_j | C = c) = Σ P(x_i, x_j | c) log [P(x_i, x_j | c) / (P(x_i | c) P(x_j | c))],

after Chow and Liu, and puts them together by Bayes' rule,

    P(c | x) ∝ P(c) Π_j P(x_j | x_{parent of j in the tree of c}, c).

The counts of all pairs within the classes are all that is needed. Every table of a class with few rows would be a poor
one; so tables are smoothed as those of TAN are, from P(x | parent, c) to P(x | c) to P(x) of all classes.

References
----------
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163 (section 5).
C. K. Chow, C. N. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE Transactions
on Information Theory 14, 462–467.
D. Geiger, D. Heckerman (1996). Knowledge representation and inference in similarity networks and Bayesian multinets.
Artificial Intelligence 82, 45–74.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._core.registry import classifier
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Encoding, Statistics
from tunbridge.classifiers.dependence._families import CountedClassifier, FamilyModel, as_table_prior, tree_parents
from tunbridge.classifiers.dependence._pairs import Pairs, collect_pairs
from tunbridge.classifiers.explanation.contributions import CodedModel
from tunbridge.classifiers.explanation.importance import pair_importances
from tunbridge.counts import PairCounts
from tunbridge.data import Variable
from tunbridge.learning.parameters.priors import Prior, tables_of
from tunbridge.learning.searches.trees import Forest, check_forest, pairs_within
from tunbridge.probability import CPT

Tree = tuple[int | None, ...]
"""The parent of each feature, −1 for none; None where a feature is not used."""


@dataclass(frozen=True, eq=False)
class MultinetModel(CodedModel):
    """A class, and for each of its states a tree of features.

    The trees have no order in common, so the features are explained in the order of what they tell about the class.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    trees : tuple of FamilyModel
        The features given each class: models of one class each.
    order : tuple of int
        The features in the order in which they are explained.
    """

    parents = None

    log_prior: np.ndarray
    trees: tuple[FamilyModel, ...]
    order: tuple[int, ...]

    @property
    def encoding(self) -> Encoding:  # type: ignore[override]
        """How features become codes."""
        return self.trees[0].encoding

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        return np.concatenate([tree.log_joint(codes) for tree in self.trees], axis=1) + self.log_prior

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class by itself."""
        return pair_importances(statistics, method)


@classifier("multinet", rank=40, help="a Chow–Liu tree for each class")
@dataclass(kw_only=True, eq=False, repr=False)
class MultinetClassifier(CountedClassifier):
    """A Bayesian multinet: for each class a Chow–Liu tree of the features, learned from the rows of that class.

    Parameters
    ----------
    forest : bool, "bic", "aic", "mean" or number
        Which arcs between features are left out, within each class; see :class:`TANClassifier`.
    categorical, text, smoothing, class_prior, missing, n_jobs
        As in :class:`TANClassifier`: a table P(x | parent, class) is the one that TAN would have for this arc.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    parents_ : dict
        For each class the feature on which each feature depends in its tree; None for those that depend on none.

    Notes
    -----
    ``partial_fit`` is exact: what is learned from batches is what would be learned from all rows at once, the trees
    included (bins are those of the first batch). Missing values are summed out exactly in every tree.

    References
    ----------
    N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.MultinetClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> clf.parents_["no"]
    {'outlook': None, 'temperature': 'outlook', 'humidity': 'temperature', 'wind': 'outlook'}
    >>> clf.parents_["yes"]
    {'outlook': None, 'temperature': 'outlook', 'humidity': 'temperature', 'wind': 'outlook'}
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    needs_columns = True
    parts = (Pairs,)

    forest: Forest = False

    @property
    def parents_(self) -> dict[Any, dict[str, str | None]]:
        """For each class the feature on which each feature depends in its tree."""
        pairs = zip(self.classes_.tolist(), self.model_.trees, strict=True)
        return {label: tree_parents(self.variables_, tree.parents) for label, tree in pairs}

    def _check_parameters(self) -> None:
        check_forest(self.forest)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of all pairs of features within the classes."""
        return collect_pairs(examples, before, missing=self.missing, n_jobs=self.n_jobs)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> MultinetModel:
        """Return the best tree of each class, with its tables."""
        counts = statistics.pairs.counts
        trees = [class_tree(counts, c, self.forest) for c in range(statistics.target.n_states)]
        order = tuple(j for j in pairs_within(counts).ranked() if trees[0][j] is not None)
        return MultinetModel(log_prior, class_models(statistics, trees, self.smoothing), order)


def class_tree(pairs: PairCounts, c: int, forest: Forest) -> Tree:
    """Return the tree of the features within one class."""
    only = _only(pairs.given, c)
    parents = pairs_within(PairCounts(pairs.variables, pairs.matrix[c : c + 1], only)).tree(forest)
    used = [v.n_states > 0 for v in pairs.variables]
    return tuple((p if p >= 0 and used[p] else -1) if used[j] else None for j, p in enumerate(parents))


def class_models(statistics: Statistics, trees: list[Tree], smoothing: Prior) -> tuple[FamilyModel, ...]:
    """Return the models of the features given each class; arcs that several trees have are estimated once."""
    arcs = sorted({(j, p) for tree in trees for j, p in enumerate(tree) if p is not None})
    counts = [statistics.pairs.family(j, None if p < 0 else p) for j, p in arcs]
    tables = dict(zip(arcs, tables_of(counts, as_table_prior(smoothing)), strict=True))
    return tuple(_class_model(statistics, c, tree, tables) for c, tree in enumerate(trees))


def _class_model(statistics: Statistics, c: int, tree: Tree, tables: Mapping[tuple[int, int], Any]) -> FamilyModel:
    only = _only(statistics.nodes[0], c)
    cpts = {}
    for j, p in enumerate(tree):
        if p is not None:
            table = tables[j, p]
            cpts[j] = CPT(table.variable, (only, *table.parents[1:]), table.probabilities[c : c + 1])
    parents = tuple(None if p is None else () if p < 0 else (p,) for p in tree)
    return FamilyModel(np.zeros(1), only, statistics.encoding, parents, cpts)


def _only(target: Variable | None, c: int) -> Variable:
    """Return the class variable with one of its states."""
    assert target is not None  # pairs within a class
    return Variable(target.name, [(target.states or ())[c]])
