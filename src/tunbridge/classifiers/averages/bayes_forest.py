"""A forest of Bayesian networks: many randomised networks around the class, whose probabilities are averaged.

A single network has one set of cut points, one order and one choice of parents, all of them estimates. Averaging the
answers of networks that differ in these takes most of that chance out,

    P(c | x) = 1/M Σ_m P_m(c | x),     P_m(c | x) ∝ P(c) Π_f P_m(x_f | parents, c)^{w_f}.

How a network is drawn: :mod:`tunbridge.classifiers.averages.forest_members`. The idea of an ensemble of networks of
limited dependence with hierarchical smoothing is that of Zhang, Petitjean and Buntine; cut points drawn anew for each
network, and exponents that are judged by left-out rows, are added here.

References
----------
H. Zhang, F. Petitjean, W. Buntine (2020). Bayesian network classifiers using ensembles and smoothing. Knowledge and
Information Systems 62, 3457–3480.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_number, check_whole, counted
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, n_threads, row_pieces
from tunbridge.classifiers.averages.forest_members import (
    Member,
    Settings,
    grow_member,
    member_content,
    member_of,
    training_rows,
)
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.pair_statistics import are_weights, class_weights
from tunbridge.classifiers.explanation.contributions import seen_cells, terms_in_order
from tunbridge.classifiers.posteriors import Finish, log_class_prior, posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.distinct_rows import distinct_rows
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.inference.forward import entropy_of
from tunbridge.kernels import forests
from tunbridge.kernels.compiled import announce

_PIECE_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Forest:
    """What a forest has learned.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    variables : tuple of Variable
        The features as they come.
    members : tuple of Member
        The networks.
    """

    target: Variable
    class_weight: np.ndarray
    variables: tuple[Variable, ...]
    members: tuple[Member, ...]

    def merge(self, other: Forest) -> Forest:
        """Raise: a forest learns from all rows at once."""
        raise DataError("a forest must learn from all rows at once; got further rows. Use fit with all of them.")


@dataclass(frozen=True, eq=False)
class ForestModel:
    """The average of networks.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    members : tuple of Member
        The networks.
    """

    log_prior: np.ndarray
    members: tuple[Member, ...]

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(c | x))`` for each row, (n_rows, n_classes)."""
        out = np.empty((batch.n_rows, len(self.log_prior)))

        def fill(rows: tuple[int, int]) -> None:
            out[rows[0] : rows[1]] = finish(self._log_average(batch.rows(*rows)).T).T

        map_threads(fill, row_pieces(batch.n_rows, _PIECE_ROWS), n_jobs)
        return out

    def terms(self, batch: Batch) -> np.ndarray:
        """Return what each feature adds to log P(c | x) beside those before it, the most used features first."""
        seen = np.maximum.reduce([seen_cells(batch), *(m.coding.codes(batch) >= 0 for m in self.members)])
        return terms_in_order(seen, self._order(), lambda rows, told: self._log_average(batch.take(rows), told))

    def importances(self, statistics: Forest, method: str) -> dict[int, float]:
        """Return what each feature tells about the class beside those before it, on average over the networks.

        Every network has its own order, so a feature is told now early, now late. What is averaged are the gains of
        rows that were left out, so the information of all features adds up to what a network tells.
        """
        mean = np.mean([member.told for member in self.members], axis=0)[0 if method == "information" else 1]
        return {j: max(0.0, float(value)) for j, value in enumerate(mean)}

    def _order(self) -> list[int]:
        """Return the features by the sum of their exponents, largest first."""
        heard = np.zeros(len(self.members[0].parents))
        for member in self.members:
            heard[member.tries.features] += np.abs(member.tries.exponents)
        return np.argsort(-heard, kind="stable").tolist()

    def _log_average(self, batch: Batch, told: np.ndarray | None = None) -> np.ndarray:
        """Return the logarithm of the average of P(c | x), row × class; cells that are not told say nothing."""
        total = np.zeros((batch.n_rows, len(self.log_prior)))
        for member in self.members:
            codes = member.coding.codes(batch)
            joint = np.repeat(self.log_prior[None], batch.n_rows, axis=0)
            member.add_log_joint(codes if told is None else np.where(told, codes, np.int32(-1)), joint)
            total += posterior(joint.T).T
        with np.errstate(divide="ignore"):
            return np.log(total / len(self.members))


class BayesForestClassifier(BayesClassifier):
    """The average of many randomised Bayesian networks around the class: the strongest single choice.

    Each network has its own cut points of numbers, its own order of the features and its own parents, up to five for
    each feature, hierarchical smoothing that makes so many parents affordable, and exponents that keep its
    probabilities honest.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    n_networks : int
        How many networks are averaged.
    max_parents : int
        The most features that a feature depends on beside the class.
    penalty : float
        How strongly the exponents of the features are drawn towards 1: as much as so many rows would that are right
        with exponents of 1.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); ``None`` takes the relative frequencies of the classes.
    random_state : int, numpy Generator or None
        What decides how the networks differ; equal seeds give equal forests, whatever the threads and the order of the
        rows.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.

    Notes
    -----
    ``importance`` is the mean over the networks of what a feature tells beside those before it in the network's order,
    measured on rows that are left out: features that tell something only together share it.

    A missing cell is a state of its own where a twentieth of the training rows or more miss it; elsewhere it says
    nothing. Time grows with rows × features² (information of all pairs) and with rows × features × parents, for each
    network; memory with the configurations that occur, times the states of a feature. There is no ``partial_fit``, and
    ``predict_joint_log_proba`` returns log P(c | x): an average of answers has no joint distribution.

    References
    ----------
    H. Zhang, F. Petitjean, W. Buntine (2020). Bayesian network classifiers using ensembles and smoothing. Knowledge and
    Information Systems 62, 3457–3480.

    Examples
    --------
    Two features that tell the class only together:

    >>> import tunbridge as tb
    >>> rows = {"a": ["0", "0", "1", "1"] * 50, "b": ["0", "1", "0", "1"] * 50}
    >>> differs = [a != b for a, b in zip(rows["a"], rows["b"])]
    >>> clf = tb.BayesForestClassifier(random_state=0).fit(rows, differs)
    >>> clf.predict({"a": "1", "b": "0"}).tolist()
    [True]
    """

    kind = "bayes-forest"
    _goes_on = False

    def __init__(
        self,
        n_networks: int = 20,
        *,
        max_parents: int = 5,
        penalty: float = 5.0,
        categorical: Any = None,
        class_prior: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_networks = n_networks
        self.max_parents = max_parents
        self.penalty = penalty
        self.categorical = categorical
        self.class_prior = class_prior
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole("n_networks", self.n_networks, low=1)
        check_whole("max_parents", self.max_parents, low=0)
        check_number("penalty", self.penalty, above=0)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> Forest:
        announce(forests.add_log_estimates, "Bayes forests")
        weight = class_weights(classes, weights, target)
        log_prior = log_class_prior(None, target, weight)
        which, of_row = distinct_rows(batch, classes, weights)
        settings = Settings(self.max_parents, float(self.penalty), min(n_threads(self.n_jobs), self.n_networks))
        check_memory(
            f"what {counted(len(which), 'different row')} say of {target.n_states} classes",
            8.0 * 4 * len(which) * target.n_states * settings.at_once,  # estimates, their logarithms, counts by class
            ways_out="Use fewer rows, or n_jobs=1.",
        )
        rows = training_rows(batch.take(which), classes[which], of_row, target, log_prior)
        seed = entropy_of(self.random_state)

        def grow(member: int) -> Member:
            return grow_member(rows, settings, np.random.default_rng([seed, member]))

        members = map_threads(grow, range(self.n_networks), self.n_jobs)
        return Forest(target, weight, batch.variables, tuple(members))

    def _derive(self, statistics: Forest, log_prior: np.ndarray) -> ForestModel:
        return ForestModel(log_prior, statistics.members)

    @staticmethod
    def _content(statistics: Forest) -> dict[str, Any]:
        return {
            "target": statistics.target,
            "class_weight": statistics.class_weight,
            "variables": list(statistics.variables),
            "members": [member_content(member) for member in statistics.members],
        }

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> Forest:
        target, weight = content["target"], content["class_weight"]
        members = tuple(member_of(each, target.n_states) for each in content["members"])
        variables = tuple(content["variables"])
        if not members or any(m.coding.variables != variables for m in members):
            raise ValueError("its networks do not belong to its features")
        if weight.shape != (target.n_states,) or not are_weights(weight):
            raise ValueError("its counts are not counts")
        return Forest(target, weight, variables, members)
