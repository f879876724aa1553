"""A network over all columns, class included, as a classifier.

Naive Bayes, TAN and k-DB lay down that every feature depends on the class. A search that knows nothing of a class looks
for the network that fits all columns best, and the class is one of them: it may have parents, children, both, or
neither. The posterior of the class depends on its *Markov blanket* alone,

    P(c | x)  ∝  P(c | parents of c) · Π over children f of c:  P(x_f | parents of f),

so that such a network also selects features. It is what the others have to be compared with: the search pays for
every dependence between features, most of which do not matter for the class, and with many features the class can get
lost among them (Friedman et al. 1997, section 3). Constraints, or a graph of one's own, help where something is known.

References
----------
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163 (sections 2.3
and 3, «unsupervised» networks).
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann, section 3.2 (Markov blankets).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_whole, did_you_mean, listed, shortened
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import HIERARCHICAL
from tunbridge.classifiers.dependence.pair_statistics import class_weights
from tunbridge.classifiers.networks.network_columns import NUMERIC_RULES, learn_columns
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.classifiers.networks.network_statistics import (
    NetworkStatistics,
    collect_network,
    is_seen,
    network_content,
    network_statistics,
)
from tunbridge.classifiers.networks.network_tables import filled_in, network_tables
from tunbridge.classifiers.posteriors import log_class_prior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning import BackOff, Constraints, NodeAverage, learn_structure
from tunbridge.learning.priors import Rule, as_prior
from tunbridge.learning.regression import check_arcs
from tunbridge.learning.scores import as_score
from tunbridge.learning.structure import as_search, checked_constraints
from tunbridge.network import BayesianNetwork

_ENOUGH, _SOME = 0.5, 0.1
"""The share of all rows, and of those of each class, that must be without a hole for a search to look at them only."""


class BayesNetClassifier(BayesClassifier):
    """A Bayesian network over all columns; the class is predicted from its Markov blanket.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    search : str or Search
        How the graph is looked for: a name or an object that :func:`learn_structure` takes. The class is a column like
        the others, under the name of the target (``"class"`` where y has none).
    criterion : str or Score
        The score that the search goes by. It needs rows without a hole: where half of the rows are, and a tenth of
        those of every class, it is computed from these. Where fewer are, ``"nal"`` takes its place, which may compare
        families that rest on different rows, and all rows are used.
    constraints : Constraints, optional
        What is known about the arcs.
    max_parents : int, optional
        The most parents of a node.
    structure : DAG, optional
        A graph to use instead of searching: an expert's, say. Its nodes are the class and features; features that are
        no nodes are not used. One node may have any name, if it is the only one that is no feature: the class.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    numeric : {"discretise", "gaussian"}
        What the other columns are: cut into intervals by Fayyad & Irani's method, or numbers with a linear regression
        on their parents for every configuration of the categories among these. A category then has only categories as
        parents.
    smoothing : "hierarchical", number, or prior
        How counts become tables. ``"hierarchical"`` draws configurations with few rows towards the estimate with fewer
        parents; else anything that :func:`fit_parameters` takes.
    class_prior : None, "uniform", array-like or mapping of class to probability
        None takes the network's P(c). Otherwise P(c | x) is multiplied by class_prior(c) / P(c): for rows from where
        the classes are more or less common than in the data.
    missing : {"marginal", "em", "state"}
        What a missing cell is. ``"marginal"``: each family is counted over the rows that show it whole, and what is
        missing at prediction is summed out exactly. ``"em"``: the same, but the tables are those under which the cells
        that are there are most probable; slower. ``"state"``: a state of its own (of categories and intervals).
    random_state : int, Generator, optional
        For searches that use chance.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`; the prior is the network's P(c), unless one was given.
    network_ : BayesianNetwork
        The network, features that are cut with their intervals as states.
    dag_ : DAG
        Its graph.
    markov_blanket_ : tuple of str
        The features that the class depends on: its parents, its children, and their other parents. In a row that shows
        them all the other features make no difference.

    Notes
    -----
    ``partial_fit`` keeps the structure of the first batch, and adds to its counts. With ``missing="em"`` the holes of
    each batch are filled in from that batch.

    BIC keeps blankets small. ``criterion=tb.BDeu(10)``, with ``missing="state"`` where cells are missing, finds larger
    ones, which may classify better or worse.

    ``predict_joint_log_proba`` gives log P(x, c) with all that the network says of x, and so takes longer than the
    other predictions, which need the blanket only.

    References
    ----------
    N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> clf = tb.BayesNetClassifier().fit(table, "bronc")
    >>> clf.markov_blanket_
    ('smoke', 'either', 'dysp')
    >>> clf.predict({"smoke": "yes", "dysp": "yes"}).tolist()
    ['yes']

    A graph of one's own:

    >>> dag = tb.DAG(arcs=[("smoke", "bronc"), ("bronc", "dysp")])
    >>> tb.BayesNetClassifier(structure=dag).fit(table, "bronc").markov_blanket_
    ('smoke', 'dysp')
    """

    kind = "bayes-net"

    def __init__(
        self,
        search: Any = "hill-climbing",
        *,
        criterion: Any = "bic",
        constraints: Constraints | None = None,
        max_parents: int | None = None,
        structure: DAG | None = None,
        categorical: Any = None,
        numeric: str = "discretise",
        smoothing: Any = HIERARCHICAL,
        class_prior: Any = None,
        missing: str = "marginal",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.constraints = constraints
        self.max_parents = max_parents
        self.structure = structure
        self.categorical = categorical
        self.numeric = numeric
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def dag_(self) -> DAG:
        """The graph of the network."""
        return self.network_.dag

    @property
    def markov_blanket_(self) -> tuple[str, ...]:
        """The features that the class depends on."""
        return tuple(v.name for j, v in enumerate(self.variables_) if j + 1 in self._model.blanket)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(x, c) for each row and class, missing features summed out."""
        batch = self._batch(X)
        return self._model.exact_joint(batch, self.n_jobs)

    # Learning

    def _check_parameters(self) -> None:
        as_search(self.search)
        as_score(self.criterion)
        checked_constraints(self.constraints)
        check_whole("max_parents", self.max_parents, low=0, optional=True)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        check_choice("missing", self.missing, (*MISSING_RULES, "em"))
        _as_rule(self.smoothing)
        if self.structure is not None and not isinstance(self.structure, DAG):
            hint = " Use its .dag." if isinstance(self.structure, BayesianNetwork) else ""
            raise DataError(f"structure must be a DAG; got {shortened(repr(self.structure))}.{hint}")

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> NetworkStatistics:
        known = None if before is None else before.columns
        columns = learn_columns(batch, classes, weights, known, numeric=self.numeric, missing=self.missing)
        table = columns.table(batch, classes, target, weights)
        if before is None:
            log_class_prior(self.class_prior, target, class_weights(classes, weights, target))  # raises before the work
            parents = self._graph(table, columns.nodes(target))
        else:
            parents = before.parents
        found = collect_network(table, columns, target, parents, n_jobs=self.n_jobs, settled=before is not None)
        if self.missing != "em":
            return found
        return filled_in(found, table, random_state=self.random_state, n_jobs=self.n_jobs)

    def _graph(self, table: Table, nodes: Sequence[Variable]) -> list[tuple[int, ...] | None]:
        """Return the parents of each node, as searched for or given; None where a feature is not used."""
        names = [v.name for v in nodes]
        dag = self._searched(table, nodes) if self.structure is None else _named(self.structure, names)
        check_arcs(dag, table)
        place = {name: i for i, name in enumerate(names)}
        inside = set(dag.nodes)
        return [tuple(place[p] for p in dag.parents(n)) if n in inside else None for n in names]

    def _searched(self, table: Table, nodes: Sequence[Variable]) -> DAG:
        way, criterion = as_search(self.search), as_score(self.criterion)
        table = table if table.weights is None else table.take(table.weights > 0)
        seen = table.select([v.name for v in nodes if is_seen(table, v)])
        if seen.missing and way.is_scored and not isinstance(criterion, NodeAverage):
            whole = _whole_rows(seen, nodes[0])
            seen, criterion = (seen, NodeAverage()) if whole is None else (whole, criterion)
        return learn_structure(
            seen, criterion, way, self.constraints, max_parents=self.max_parents, random_state=self.random_state,
            n_jobs=self.n_jobs, progress=False,
        )  # fmt: skip

    def _adopt(self, statistics: NetworkStatistics, target_name: str | None) -> None:
        tables = network_tables(statistics, _as_rule(self.smoothing))
        self._plain = NetworkModel(statistics.columns, statistics.parents, tables)
        self.network_ = BayesianNetwork.from_tables(tables.values())
        super()._adopt(statistics, target_name)

    def _log_prior(self, statistics: NetworkStatistics) -> np.ndarray:
        asked = log_class_prior(self.class_prior, statistics.target, statistics.class_weight)
        with np.errstate(divide="ignore"):
            return np.log(self._plain.class_probabilities) if self.class_prior is None else asked

    def _derive(self, statistics: NetworkStatistics, log_prior: np.ndarray) -> NetworkModel:
        return self._plain if self.class_prior is None else replace(self._plain, log_prior=log_prior)

    _content = staticmethod(network_content)
    _statistics = staticmethod(network_statistics)


def _as_rule(smoothing: Any) -> Rule:
    """Return how counts become tables."""
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff()
    return as_prior(smoothing)


def _whole_rows(table: Table, target: Variable) -> Table | None:
    """Return the rows without a hole; None where they are too few of all, or of a class, to speak for the others."""
    codes, weights = table.codes(target.name), table.weights
    kept = np.where(table.complete, 1.0 if weights is None else weights, 0.0)
    of_class, kept_of_class = (class_weights(codes, w, target) for w in (weights, kept))
    if kept.sum() < _ENOUGH * of_class.sum() or (kept_of_class < _SOME * of_class).any():
        return None
    return table.take(table.complete)


def _named(dag: DAG, names: Sequence[str]) -> DAG:
    """Return a graph with the class, the first of the names, as a node; raise for nodes that are no columns."""
    target = names[0]
    foreign = [n for n in dag.nodes if n not in names]
    if target in dag.nodes and foreign:
        hint = did_you_mean(foreign[0], names)
        raise DataError(
            f"the nodes of structure must be the class {target!r} and features; got {listed(foreign)}. {hint}"
        )
    if target not in dag.nodes and len(foreign) != 1:
        got = listed(foreign) if foreign else "features only"
        hint = did_you_mean(target, foreign) if foreign else f"Give it a node {target!r}."
        raise DataError(f"structure must have the class {target!r} as a node, and else features; got {got}. {hint}")
    if target in dag.nodes:
        return dag
    renamed = {foreign[0]: target}
    arcs = [(renamed.get(a, a), renamed.get(b, b)) for a, b in dag.arcs]
    return DAG([renamed.get(n, n) for n in dag.nodes], arcs)
