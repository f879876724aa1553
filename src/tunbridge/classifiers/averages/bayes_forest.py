"""A forest of Bayesian networks: many randomised networks around the class, whose probabilities are averaged.

A single network has one set of bins, one order and one choice of parents, all of them estimates. Averaging networks
that differ in these removes most of that variance,

    P(c | x) = 1/M Σ_m P_m(c | x),     P_m(c | x) ∝ P(c) Π_f P_m(x_f | parents, c)^{w_f}.

How a network is drawn: :mod:`tunbridge.classifiers.averages._members`. The idea of an ensemble of networks of
limited dependence with hierarchical smoothing is that of Zhang, Petitjean and Buntine; random bins for each
network, and exponents that are fitted by leave-one-out, are added here.

References
----------
H. Zhang, F. Petitjean, W. Buntine (2020). Bayesian network classifiers using ensembles and smoothing. Knowledge and
Information Systems 62, 3457–3480.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._core.threads import map_threads, n_threads, row_pieces
from tunbridge.classifiers._classes import Finish, log_class_prior, posterior
from tunbridge.classifiers._reading import seen_values
from tunbridge.classifiers._rows import Categorical, ClassPrior, Examples, TextColumns, distinct_rows
from tunbridge.classifiers._statistics import ALL_ROWS, Encoding, Part, Statistics
from tunbridge.classifiers.averages._members import (
    Member,
    Settings,
    compile_beside_growing,
    grow_member,
    member_content,
    member_of,
    training_rows,
)
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Ranges, TableModel, terms_in_order
from tunbridge.classifiers.explanation.importance import ranges_of_cuts
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.kernels.classifiers import forests
from tunbridge.kernels.compiled import announce

_PIECE_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Members(Part):
    """The networks of a forest."""

    name: ClassVar[str] = "networks"

    members: tuple[Member, ...]

    def merge(self, other: Members) -> Members:
        """Raise: a forest learns from all rows at once."""
        raise DataError("a forest must learn from all rows at once; got further rows. Use fit with all of them.")

    def content(self) -> dict[str, Any]:
        """Return the networks as content of a file."""
        return {"members": [member_content(member) for member in self.members]}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Members:
        """Return the networks that a file holds."""
        return cls(tuple(member_of(each, statistics.target.n_states) for each in content["members"]))

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the networks have the features of the forest."""
        if not self.members or any(m.encoding.variables != statistics.variables for m in self.members):
            raise ValueError("its networks do not belong to its features")


@dataclass(frozen=True, eq=False)
class ForestModel(TableModel):
    """The average of networks.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    members : tuple of Member
        The networks.
    """

    parents = None

    log_prior: np.ndarray
    members: tuple[Member, ...]

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(c | x))`` for each row, (n_rows, n_classes)."""
        out = np.empty((rows.n_rows, len(self.log_prior)))

        def fill(piece: tuple[int, int]) -> None:
            out[piece[0] : piece[1]] = finish(self._log_average(rows, slice(*piece)).T).T

        map_threads(fill, row_pieces(rows.n_rows, _PIECE_ROWS, len(self.log_prior)), n_jobs)
        return out

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds to log P(c | x) given those before it, the most used features first."""
        seen = np.maximum.reduce([seen_values(rows), *(m.encoding.codes(rows) >= 0 for m in self.members)])
        return terms_in_order(
            seen, self._order(), lambda which, known: self._log_average(rows.take(which), known=known)
        )

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class given those before it, on average over the networks.

        Every network has its own order. What is averaged are the gains of rows that were left out, so the information
        of all features adds up to what a network tells.
        """
        mean = np.mean([member.told for member in self.members], axis=0)[0 if method == "information" else 1]
        return {j: max(0.0, float(value)) for j, value in enumerate(mean)}

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values the networks cut each number."""
        return ranges_of_cuts(member.encoding.cuts for member in self.members)

    def _order(self) -> list[int]:
        """Return the features by the sum of their exponents, largest first."""
        heard = np.zeros(len(self.members[0].parents))
        for member in self.members:
            heard[member.tries.features] += np.abs(member.tries.exponents)
        return np.argsort(-heard, kind="stable").tolist()

    def _log_average(self, rows: Table, piece: slice = ALL_ROWS, known: np.ndarray | None = None) -> np.ndarray:
        """Return the logarithm of the average of P(c | x), row × class; values that are not known say nothing."""
        total: Any = 0.0
        for member in self.members:
            codes = member.encoding.codes(rows, piece)
            joint = np.repeat(self.log_prior[None], codes.shape[1], axis=0)
            member.add_log_joint(codes if known is None else np.where(known, codes, np.int32(-1)), joint)
            total = total + posterior(joint.T).T
        with np.errstate(divide="ignore"):
            return np.log(total / len(self.members))


@classifier("bayes-forest", rank=60, default="bayes-forest", help="the average of many randomised Bayesian networks")
@dataclass(eq=False, repr=False)
class BayesForestClassifier(BayesClassifier[Statistics]):
    """The average of many randomised Bayesian networks around the class: the strongest single choice.

    Each network has its own bins of numbers, its own order of the features and its own parents, up to five for each
    feature, hierarchical smoothing that makes so many parents affordable, and exponents that calibrate its
    probabilities.

    Parameters
    ----------
    n_networks : int
        The number of networks.
    max_parents : int
        The most features that a feature depends on beside the class.
    penalty : float
        How strongly the exponents of the features are drawn towards 1: as much as so many rows would that are right
        with exponents of 1.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`NaiveBayesClassifier`.
    text : {"auto", None}, list of columns, or mapping of column to TextClassifier
        Which columns are free text; see :class:`NaiveBayesClassifier`.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); default: the relative frequencies of the classes.
    random_state : int, numpy Generator or None
        Random seed; equal seeds give equal forests, whatever the number of threads and the order of the rows.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.

    Notes
    -----
    ``importance`` is the mean over the networks of what a feature tells given those before it in the network's order,
    measured by leave-one-out: features that are informative only together share the information.

    A missing value is a category of its own where at least 5 % of the training rows miss it; otherwise it is ignored.
    Time grows with rows × features² (information of all pairs) and with rows × features × parents, for each network;
    memory with the configurations that occur, times the states of a feature. There is no ``partial_fit``, and
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

    can_continue = False
    needs_columns = True
    parts = (Members,)

    n_networks: int = 20
    _: KW_ONLY
    max_parents: int = 5
    penalty: float = 5.0
    categorical: Categorical = None
    text: TextColumns = "auto"
    class_prior: ClassPrior = None
    random_state: RandomState = None
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        check_integer("n_networks", self.n_networks, low=1)
        check_integer("max_parents", self.max_parents, low=0)
        check_number("penalty", self.penalty, above=0)

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the networks, each grown from the distinct rows."""
        announce(forests.add_log_estimates, "Bayes forests", 3)
        compile_beside_growing()
        log_prior = log_class_prior(None, examples.target, examples.class_weight)
        which, weights = distinct_rows(examples)
        settings = Settings(self.max_parents, float(self.penalty), min(n_threads(self.n_jobs), self.n_networks))
        n_classes = examples.target.n_states
        check_memory(
            f"the estimates of {counted(len(which), 'distinct row')} for {n_classes} classes",
            8.0 * 4 * len(which) * n_classes * settings.at_once,  # estimates, their logarithms, counts by class
            ways_out="Use fewer rows, or n_jobs=1.",
        )
        distinct = Examples(
            examples.rows.take(which), examples.classes[which].astype(np.int64), examples.target, weights
        )
        rows, seed = training_rows(distinct, log_prior), entropy_of(self.random_state)

        def grow(member: int) -> Member:
            return grow_member(rows, settings, np.random.default_rng([seed, member]))

        members = map_threads(grow, range(self.n_networks), self.n_jobs)
        return Statistics.of(examples, Encoding(examples.rows.variables, {}), Members(tuple(members)))

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> ForestModel:
        """Return the average of the networks."""
        return ForestModel(log_prior, statistics.networks.members)
