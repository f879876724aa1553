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

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.registry import classifier
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import NUMERIC_RULES, Encoding, Statistics, learn_encoding, numeric_features
from tunbridge.classifiers.base import Model
from tunbridge.classifiers.dependence._families import (
    CountedClassifier,
    Families,
    Structure,
    collect_families,
    named_parents,
)
from tunbridge.classifiers.dependence._pairs import pairs_of
from tunbridge.classifiers.networks._mixed import class_network, collect_network, mixed_information
from tunbridge.counts import Counter
from tunbridge.counts.information import pair_information
from tunbridge.data import Table
from tunbridge.learning.searches.trees import Pairs as PairInformation


@classifier(
    "kdb",
    rank=21,
    default="kdb2",
    variants={
        "kdb1": ("k-dependence Bayes, k = 1", {"k": 1}),
        "kdb2": ("k-dependence Bayes, k = 2", {"k": 2}),
        "kdb3": ("k-dependence Bayes, k = 3", {"k": 3}),
        "kdb4": ("k-dependence Bayes, k = 4", {"k": 4}),
        "kdb5": ("k-dependence Bayes, k = 5", {"k": 5}),
    },
)
@dataclass(eq=False, repr=False)
class KDBClassifier(CountedClassifier):
    """k-dependence Bayes: each feature depends on the class and on up to k other features.

    Parameters
    ----------
    k : int
        The most features that a feature depends on beside the class; 0 is naive Bayes.
    categorical, text, numeric, smoothing, class_prior, missing, n_jobs
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

    parts = (Families,)

    k: int = 2
    _: KW_ONLY
    numeric: str = "discretise"

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The features on which each feature depends beside the class, the most telling first."""
        return named_parents(self.variables_, self.model_.parents)

    def _check_parameters(self) -> None:
        check_integer("k", self.k, low=0)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        super()._check_parameters()

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the structure and the counts of its families; further rows keep the structure."""
        numbers = numeric_features(examples.rows) if self.numeric == "gaussian" else ()
        encoding = learn_encoding(examples, before, missing=self.missing, numbers=numbers)
        table = encoding.table(examples)
        if encoding.numbers:
            structure = self._mixed_structure(examples, encoding) if before is None else before.families.parents
            mixed = collect_network(table, structure, settled=before is not None, n_jobs=self.n_jobs)
            return Statistics.of(examples, encoding, mixed)
        parents: Sequence[Sequence[int] | None] = (
            class_pairs(table, self.n_jobs).dependences(self.k) if before is None else before.families.parents
        )
        found = collect_families(table, parents, settled=before is not None, n_jobs=self.n_jobs)
        return Statistics.of(examples, encoding, found)

    def _mixed_structure(self, examples: Examples, encoding: Encoding) -> Structure:
        """Return the parents of the class (none) and of the features, where numbers stay numbers."""
        pairs = Statistics.of(examples, encoding, pairs_of(examples, encoding, n_jobs=self.n_jobs))
        return ((), *((0, *(p + 1 for p in parents)) for parents in mixed_information(pairs).dependences(self.k)))

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> Model:
        """Return the model with the tables of the families."""
        if statistics.encoding.numbers:
            return class_network(statistics, log_prior, self.smoothing)
        return super().derive(statistics, log_prior)


def class_pairs(table: Table, n_jobs: int | None) -> PairInformation:
    """Return what the pairs of features tell given the class, over a table of codes, the class first."""
    found = pair_information(Counter(table, n_jobs=n_jobs), table.names[0])
    n_free = np.array([max(0, v.n_states - 1) for v in found.variables], np.float64)
    return PairInformation(found.information, found.rows, n_free, table.variables[0].n_states, found.with_given)
