"""A network over all columns, class included, as a classifier.

In naive Bayes, TAN and k-DB every feature depends on the class. A plain structure search treats the class as one column
among others: it may have parents, children, both, or neither. The posterior of the class depends on its *Markov
blanket* alone,

    P(c | x)  ∝  P(c | parents of c) · Π over children f of c:  P(x_f | parents of f),

so that such a network also selects features. But the score rewards every dependence between features, most of which do
not matter for the class, and with many features it may neglect the class (Friedman et al. 1997, section 3).
Constraints, or a graph of your own, help where something is known.

References
----------
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131–163 (sections 2.3
and 3, «unsupervised» networks).
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann, section 3.2 (Markov blankets).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from tunbridge._core.check import check_choice, check_integer, did_you_mean, listed, shortened
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState
from tunbridge._core.threads import at_once
from tunbridge.classifiers._classes import check_answers, log_class_prior
from tunbridge.classifiers._rows import Examples, Frame
from tunbridge.classifiers._statistics import MISSING_RULES, NUMERIC_RULES, Statistics, learn_encoding, numeric_features
from tunbridge.classifiers.dependence._families import HIERARCHICAL, CountedClassifier, Families
from tunbridge.classifiers.networks._mixed import collect_network, filled_in, is_seen, network_tables
from tunbridge.classifiers.networks._model import NetworkModel
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning import BackOff, Constraints, NodeAverage, learn_structure
from tunbridge.learning.parameters.priors import Prior, Rule, as_prior
from tunbridge.learning.parameters.regression import check_arcs
from tunbridge.learning.scores.discrete import Score, as_score
from tunbridge.learning.searches.problem import Search
from tunbridge.learning.structure import as_search, checked_constraints
from tunbridge.network import BayesianNetwork

_ENOUGH, _SOME = 0.5, 0.1
"""The share of all rows, and of those of each class, that must be complete for a search to use these only."""


@classifier("bn", file="bayes-net", rank=50, help="a Bayesian network of class and features")
@dataclass(eq=False, repr=False)
class BayesNetClassifier(CountedClassifier):
    """A Bayesian network over all columns; the class is predicted from its Markov blanket.

    Parameters
    ----------
    search : str or Search
        The structure search: a name or an object that :func:`learn_structure` takes. The class is a column like the
        others, under the name of the target (``"class"`` where y has none).
    criterion : str or Score
        The score of the search. It needs complete rows: if half of all rows are complete, and a tenth of those of
        every class, it is computed from these. Otherwise ``"nal"`` is used, which can compare families that are
        counted over different rows, with all rows.
    constraints : Constraints, optional
        Constraints on the arcs.
    max_parents : int, optional
        The maximum number of parents of a node.
    structure : DAG, optional
        A graph to use instead of a search. Its nodes are the class and features; other features are not used. The
        class may have any name, if it is the only node that is no feature.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    text : {"auto", None}, list of columns, or mapping of column to TextClassifier
        Which columns are free text; see :class:`NaiveBayesClassifier`.
    numeric : {"discretise", "gaussian"}
        How numeric columns are modelled: discretized by Fayyad & Irani's method, or as numbers with a linear regression
        on their parents for every configuration of the categorical parents. A category then has only categories as
        parents.
    smoothing : "hierarchical", number, or prior
        How counts become tables. ``"hierarchical"`` draws configurations with few rows towards the estimate with fewer
        parents; else anything that :func:`fit_parameters` takes.
    class_prior : None, "uniform", array-like or mapping of class to probability
        Default: the network's P(c). Otherwise P(c | x) is multiplied by class_prior(c) / P(c), for rows among which
        the classes are more or less common than in the training data.
    missing : {"marginal", "em", "state"}
        How missing values are treated. ``"marginal"``: each family is counted over the rows that have all its values,
        and values missing at prediction are summed out exactly. ``"em"``: the same, but with maximum-likelihood tables
        found by EM; slower. ``"state"``: a missing value is a category of its own.
    random_state : int, Generator, optional
        Random seed of searches that need one.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`; the prior is by default the network's P(c).
    network_ : BayesianNetwork
        The network, with the bins of discretized features as states.
    dag_ : DAG
        Its graph.
    markov_blanket_ : tuple of str
        The parents of the class, its children, and their other parents. Given these, the other features make no
        difference.

    Notes
    -----
    ``partial_fit`` keeps the structure of the first batch, and adds to its counts. With ``missing="em"`` EM runs on
    each batch by itself.

    BIC keeps blankets small. ``criterion=tb.BDeu(10)``, with ``missing="state"`` where values are missing, finds larger
    ones, which may classify better or worse.

    ``predict_joint_log_proba`` uses the whole network, and so takes longer than the other predictions, which need the
    blanket only.

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

    With a given graph:

    >>> dag = tb.DAG(arcs=[("smoke", "bronc"), ("bronc", "dysp")])
    >>> tb.BayesNetClassifier(structure=dag).fit(table, "bronc").markov_blanket_
    ('smoke', 'dysp')
    """

    parts = (Families,)

    search: str | Search = "hill-climbing"
    _: KW_ONLY
    criterion: str | Score = "bic"
    constraints: Constraints | None = None
    max_parents: int | None = None
    structure: DAG | None = None
    numeric: str = "discretise"
    random_state: RandomState = None

    @property
    def dag_(self) -> DAG:
        """The graph of the network."""
        return self.network_.dag

    @property
    def markov_blanket_(self) -> tuple[str, ...]:
        """The features that the class depends on."""
        return tuple(v.name for j, v in enumerate(self.variables_) if j + 1 in self.model_.blanket)

    @at_once
    def predict_joint_log_proba(self, X: Frame) -> np.ndarray:
        """Return log P(x, c) for each row and class, missing features summed out."""
        rows = self._rows(X)
        check_answers(rows.n_rows, len(self.classes_))
        found: np.ndarray = self.model_.exact_joint(rows, self.n_jobs)
        return found

    # Learning

    def _check_parameters(self) -> None:
        as_search(self.search)
        as_score(self.criterion)
        checked_constraints(self.constraints)
        check_integer("max_parents", self.max_parents, low=0, optional=True)
        check_choice("numeric", self.numeric, NUMERIC_RULES)
        check_choice("missing", self.missing, (*MISSING_RULES, "em"))
        _as_rule(self.smoothing)
        if self.structure is not None and not isinstance(self.structure, DAG):
            hint = " Use its .dag." if isinstance(self.structure, BayesianNetwork) else ""
            raise DataError(f"structure must be a DAG; got {shortened(repr(self.structure))}.{hint}")

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the structure that the search finds, or that was given, and the counts of its families."""
        numbers = numeric_features(examples.rows) if self.numeric == "gaussian" else ()
        encoding = learn_encoding(examples, before, missing=self.missing, numbers=numbers)
        table = encoding.table(examples, typed=True)
        parents: Sequence[tuple[int, ...] | None]
        if before is None:
            log_class_prior(self.class_prior, examples.target, examples.class_weight)  # raises before the work
            parents = self._graph(table, table.variables)
        else:
            parents = before.families.parents
        found = collect_network(table, parents, settled=before is not None, n_jobs=self.n_jobs)
        if self.missing == "em":
            found = filled_in(found, table, random_state=self.random_state, n_jobs=self.n_jobs)
        return Statistics.of(examples, encoding, found)

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

    def adopt(self, statistics: Statistics, target_name: str | None) -> BayesNetClassifier:
        """Take the statistics, and build the network from them."""
        families: Families = statistics.families
        tables = network_tables(statistics, families, _as_rule(self.smoothing))
        self._plain = NetworkModel(statistics.encoding, families.parents, tables)
        self.network_ = BayesianNetwork.from_tables(tables.values())
        super().adopt(statistics, target_name)
        return self

    def log_prior(self, statistics: Statistics) -> np.ndarray:
        """Return log P(c): as given, or that of the network."""
        asked = super().log_prior(statistics)
        with np.errstate(divide="ignore"):
            return np.log(self._plain.class_probabilities) if self.class_prior is None else asked

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> NetworkModel:
        """Return the network, with another prior where one is given."""
        return self._plain if self.class_prior is None else replace(self._plain, log_prior=log_prior)

    def _described(self) -> dict[str, str]:
        return {"blanket": ", ".join(self.markov_blanket_) or "no feature", "network": f"{len(self.dag_.arcs)} arcs"}


def _as_rule(smoothing: Prior) -> Rule:
    """Return how counts become tables."""
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff()
    return as_prior(smoothing)


def _whole_rows(table: Table, target: Variable) -> Table | None:
    """Return the complete rows; None where they are too few of all, or of a class, to represent the others."""
    codes, weights = table.codes(target.name), table.weights
    kept = np.where(table.complete, 1.0 if weights is None else weights, 0.0)
    of_class, kept_of_class = (np.bincount(codes, w, minlength=target.n_states) for w in (weights, kept))
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
