"""k-dependence Bayes: every feature depends on the class and on at most k other features.

The features are ranked by what they tell about the class, I(X; C). Each takes as its parents those k before it that
tell most about it, I(X; Y | C). With k = 0 it is naive Bayes; with a larger k it is less biased and needs more rows.

References
----------
M. Sahami (1996). Learning limited dependence Bayesian classifiers. KDD, 335–338.
F. Petitjean, W. Buntine, G. I. Webb, N. Zaidi (2018). Accurate parameter estimation for Bayesian network classifiers
using hierarchical Dirichlet processes. Machine Learning 107, 1303–1331.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_whole
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import HIERARCHICAL, FamilyModel, as_table_prior, family_model
from tunbridge.classifiers.dependence.family_statistics import (
    FamilyStatistics,
    Structure,
    collect_families,
    families_content,
    families_statistics,
)
from tunbridge.classifiers.networks.gaussian_structure import dependence_structure
from tunbridge.classifiers.networks.mixed_pairs import collect_mixed
from tunbridge.classifiers.networks.network_columns import NUMERIC_RULES, keeps_numbers, learn_columns
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.classifiers.networks.network_statistics import (
    NetworkStatistics,
    collect_network,
    network_content,
    network_statistics,
)
from tunbridge.classifiers.networks.network_tables import class_network
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES, Coding, known_coding, learn_coding
from tunbridge.counts import Counter
from tunbridge.counts.fused import pair_information
from tunbridge.data import Table, Variable
from tunbridge.learning.trees import Pairs


class KDBClassifier(BayesClassifier):
    """k-dependence Bayes: each feature depends on the class and on up to k other features.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    k : int
        The most features that a feature depends on beside the class; 0 is naive Bayes.
    categorical, numeric, smoothing, class_prior, missing, n_jobs
        As in :class:`TANClassifier`. Hierarchical smoothing goes from (class, parents) over ever fewer parents, the
        least telling dropped first, to the class, and from there to the feature by itself.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    parents_ : dict
        The features on which each feature depends beside the class, the most telling first.

    Notes
    -----
    ``partial_fit`` keeps the structure of the first batch, and adds to its counts.

    References
    ----------
    M. Sahami (1996). Learning limited dependence Bayesian classifiers. KDD, 335–338.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.KDBClassifier(k=2).fit(tb.datasets.play_tennis(), "play")
    >>> clf.parents_["temperature"]
    ('outlook', 'humidity')
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    kind = "kdb"

    def __init__(
        self,
        k: int = 2,
        *,
        categorical: Any = None,
        numeric: str = "discretise",
        smoothing: Any = HIERARCHICAL,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.categorical = categorical
        self.numeric = numeric
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The features on which each feature depends beside the class, the most telling first."""
        return named_parents(self.variables_, self._model.parents)

    def _check_parameters(self) -> None:
        check_whole("k", self.k, low=0)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        check_choice("missing", self.missing, MISSING_RULES)
        as_table_prior(self.smoothing)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> FamilyStatistics | NetworkStatistics:
        if keeps_numbers(self.numeric, batch, before):
            return self._regressed(batch, classes, target, weights, before)
        coding = coding_for(batch, classes, weights, before, missing=self.missing)
        table = coding.table(batch, classes, target, weights)
        parents: Sequence[Any] = (
            class_pairs(table, coding, target, self.n_jobs).dependences(self.k) if before is None else before.parents
        )
        return collect_families(table, classes, target, coding, parents, n_jobs=self.n_jobs)

    def _regressed(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> NetworkStatistics:
        known = None if before is None else before.columns
        columns = learn_columns(batch, classes, weights, known, numeric="gaussian", missing=self.missing)
        if before is None:
            pairs = collect_mixed(batch, classes, target, weights, columns, n_jobs=self.n_jobs)
            structure = dependence_structure(pairs, self.k)
        else:
            structure = before.parents
        table = columns.table(batch, classes, target, weights)
        return collect_network(table, columns, target, structure, n_jobs=self.n_jobs, settled=before is not None)

    def _derive(
        self, statistics: FamilyStatistics | NetworkStatistics, log_prior: np.ndarray
    ) -> FamilyModel | NetworkModel:
        if isinstance(statistics, NetworkStatistics):
            return class_network(statistics, log_prior, self.smoothing)
        return family_model(statistics, log_prior, self.smoothing)

    @staticmethod
    def _content(statistics: FamilyStatistics | NetworkStatistics) -> dict[str, Any]:
        if isinstance(statistics, NetworkStatistics):
            return network_content(statistics)
        return families_content(statistics)

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> FamilyStatistics | NetworkStatistics:
        return network_statistics(content) if "moments" in content else families_statistics(content)


def coding_for(batch: Batch, classes: np.ndarray, weights: np.ndarray | None, before: Any, *, missing: str) -> Coding:
    """Return how the rows of a batch become codes: learned from them, or as before."""
    if before is not None:
        return known_coding(batch, before.coding)
    return learn_coding(batch, classes, weights, missing=missing)


def class_pairs(table: Table, coding: Coding, target: Variable, n_jobs: int | None) -> Pairs:
    """Return what the pairs of features tell given the class, over a table of codes."""
    found = pair_information(Counter(table, n_jobs=n_jobs), coding.class_variable(target).name)
    n_free = np.array([max(0, v.n_states - 1) for v in found.variables], np.float64)
    return Pairs(found.information, found.rows, n_free, target.n_states, found.with_given)


def named_parents(variables: Sequence[Variable], parents: Structure) -> dict[str, tuple[str, ...]]:
    """Return the parents of each feature that is used, by name."""
    names = [v.name for v in variables]
    return {names[j]: tuple(names[u] for u in p) for j, p in enumerate(parents) if p is not None}
