"""Naive Bayes: one classifier for categorical and numeric columns together.

The features are taken as independent given the class, so that Bayes' rule reads

    P(c | x) ∝ P(c) Π_f P(x_f | c).

Each factor is estimated by itself: smoothed frequencies for a categorical feature; a normal density, a kernel density
or frequencies of bins for a numeric one. Because the factors stand alone, a missing value is simply left out of the
product, at learning and at prediction; an unseen category counts as missing; and a row's posterior odds are a sum of
one weight of evidence for each feature. Everything is computed in logarithms, so that a row with 100 000 features does
not underflow.

References
----------
T. M. Mitchell (1997). Machine Learning, chapter 6.9.
G. H. John, P. Langley (1995). Estimating continuous distributions in Bayesian classifiers. UAI, 338–345.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, Self

import numpy as np

from tunbridge._core.check import check_choice, check_number, counted, listed
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import classifier
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import Finish
from tunbridge.classifiers._reading import check_columns, number_block, number_columns, numbers_of
from tunbridge.classifiers._rows import Categorical, ClassPrior, Examples, Labels, SampleWeight, TextColumns
from tunbridge.classifiers._statistics import Encoding, Part, Statistics, learn_encoding, placed
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence._families import Families
from tunbridge.classifiers.explanation import importance
from tunbridge.classifiers.explanation.contributions import Changes, Ranges, TableModel, changed
from tunbridge.classifiers.naive._automatic import FEWEST, ROLES, Automatic, choose
from tunbridge.classifiers.naive._densities import (
    Curve,
    Gaussian,
    curve_of,
    fit_gaussian,
    soft_gaussian,
    with_bandwidths,
)
from tunbridge.counts import Counter, Moments, moments_within
from tunbridge.counts.moments import are_empty, check_squares
from tunbridge.data import Frame, Table, Variable
from tunbridge.errors import DataWarning
from tunbridge.kernels.compiled import is_numpy_quicker, read_only
from tunbridge.probability.kernel_density import Points, log_density, points_of
from tunbridge.probability.smoothing import Smoothing, as_smoothing, smooth

_NORMAL = ("gaussian", "log-gaussian")

_EXTENT_ROWS, _EXTENT_CELLS = 4096, 1 << 22
_BLOCK_CELLS = 1 << 16
_PIECE_ROWS = 8192


# What is kept of the data


@dataclass(frozen=True, eq=False)
class Densities(Part):
    """What the densities of numbers are estimated from, and how each feature is modelled.

    Parameters
    ----------
    roles : tuple of str
        How each feature is modelled: "categorical", or one of ``ROLES``.
    moments : Moments
        Moments of the Gaussian features, or of their logarithms, in order, within each class.
    points : mapping of int to tuple of Points
        Points of each kernel feature, for each class.
    extent : ndarray of shape (2, n_gaussian), optional
        The least and the greatest value of each Gaussian feature in a sample of the rows. Nothing is estimated from
        them; they say where values lie.
    automatic : Automatic
        What was chosen for numbers whose model was not given.
    """

    name: ClassVar[str] = "densities"

    roles: tuple[str, ...]
    moments: Moments
    points: Mapping[int, tuple[Points, ...]] = field(default_factory=dict)
    extent: np.ndarray | None = None
    automatic: Automatic = field(default_factory=Automatic)

    @property
    def normal(self) -> list[int]:
        """The features with normal densities."""
        return [j for j, role in enumerate(self.roles) if role in _NORMAL]

    def weight(self, j: int) -> float:
        """Return the weight of a feature: below one for numbers whose model was chosen."""
        return self.automatic.weight if j in self.automatic.steps else 1.0

    def over(self, old: Statistics, new: Statistics) -> Densities:
        """Return the same with entries for more classes."""
        if old.target.states == new.target.states:
            return self
        moments = (
            placed(a, [old.target], [new.target]) for a in (self.moments.count, self.moments.mean, self.moments.m2)
        )
        none = Points(np.empty(0), np.empty(0))
        points = {}
        for j, known in self.points.items():
            by_class = dict(zip(old.target.states or (), known, strict=True))
            points[j] = tuple(by_class.get(s, none) for s in new.target.states or ())
        return replace(self, moments=Moments(*moments), points=points)

    def merge(self, other: Densities) -> Densities:
        """Return the moments and points of the rows of both."""
        points = {j: tuple(map(Points.merge, p, other.points[j])) for j, p in self.points.items()}
        a, b = self.extent, other.extent
        both = b if a is None else a if b is None else np.array([np.fmin(a[0], b[0]), np.fmax(a[1], b[1])])
        return replace(self, moments=self.moments.merge(other.moments), points=points, extent=both)

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless the parts fit each other."""
        n_classes, variables = statistics.target.n_states, statistics.variables
        of_role = {role: {j for j, r in enumerate(self.roles) if r == role} for role in ("categorical", *ROLES)}
        points = [p for group in self.points.values() for p in group]
        bins, chosen = of_role["discretise"] | of_role["category"], self.automatic
        extent_shape = (2, len(self.normal))
        fits = [
            len(self.roles) == len(variables) == sum(map(len, of_role.values())),
            of_role["categorical"] == {j for j, v in enumerate(variables) if v.is_categorical},
            of_role["categorical"] | bins == set(statistics.families.counts),
            of_role["kernel"] == set(self.points) and bins == set(statistics.encoding.cuts),
            all(m.shape == (n_classes, len(self.normal)) for m in self.moments.arrays),
            set(chosen.steps) <= set(range(len(variables))) - of_role["categorical"] and 0.0 < chosen.weight <= 1.0,
            all(0.0 <= step < np.inf for step in chosen.steps.values()),
            0.0 < chosen.added <= 1.0,
            set(chosen.lows) == of_role["log-gaussian"] and all(0.0 < low < np.inf for low in chosen.lows.values()),
            are_empty(self.moments.count, self.moments.m2),
            all(len(group) == n_classes for group in self.points.values()),
            all(p.values.shape == p.weights.shape and p.values.ndim == 1 for p in points),
            all((np.diff(p.values) > 0).all() and (p.weights > 0).all() for p in points),
            self.extent is None or (self.extent.shape == extent_shape and self.extent.dtype == np.float64),
            self.extent is None or not (np.isinf(self.extent).any() or (self.extent[0] > self.extent[1]).any()),
        ]
        if not all(fits):
            raise ValueError("its parts do not belong together")


def _class_counts(examples: Examples, encoding: Encoding, n_jobs: int | None) -> Families:
    """Return the counts of the coded features within the classes."""
    coded, numbers = encoding.categories, set(encoding.numbers)
    parents = tuple(None if j in numbers else () for j in range(len(encoding.variables)))
    if not coded:
        return Families(parents, {})
    n_cells = float(examples.target.n_states) * sum(encoding.coded[j].n_states + 1 for j in coded)
    what = f"the tables of {counted(len(coded), 'feature')} for {examples.target.n_states} classes"
    check_memory(what, 24.0 * n_cells, ways_out="Leave out features with many states or bins, or group classes.")
    table = encoding.table(examples, coded)
    given, *names = table.names
    found = Counter(table, n_jobs=n_jobs).families([(name, [given]) for name in names])
    return Families(parents, {j: c.dense() for j, c in zip(coded, found, strict=True)})


def _densities_of(examples: Examples, roles: Sequence[str], automatic: Automatic, n_jobs: int | None) -> Densities:
    """Return the moments of the Gaussian features and the points of the kernel features within the classes."""
    normal, kernel = ([j for j, role in enumerate(roles) if role in own] for own in (_NORMAL, ("kernel",)))
    examples = replace(examples, rows=_in_logarithms(examples.rows, automatic.lows))
    own = [np.flatnonzero(examples.classes == k) for k in range(examples.target.n_states) if kernel]
    of_class = [(rows, examples.mass[rows]) for rows in own]
    columns = {j: numbers_of(examples.rows, j) for j in kernel}
    pieces = [(j, rows, mass) for j in kernel for rows, mass in of_class]
    every = iter(map_threads(lambda each: points_of(columns[each[0]][each[1]], each[2]), pieces, n_jobs))
    points = {j: tuple(islice(every, len(of_class))) for j in kernel}
    moments = _class_moments(examples, normal, n_jobs)
    return Densities(tuple(roles), moments, points, _extent(examples, normal), automatic)


def _in_logarithms(table: Table, lows: Mapping[int, float]) -> Table:
    """Return a table with the logarithms of some features; values are at least their low."""
    if not lows:
        return table
    columns = list(table)
    for j, low in lows.items():
        columns[j] = columns[j]._replace(values=np.log(np.maximum(numbers_of(table, j), low)))
    return Table.of_valid(columns, table)


def _class_moments(examples: Examples, normal: Sequence[int], n_jobs: int | None) -> Moments:
    n_classes, table = examples.target.n_states, examples.rows
    if not normal:
        return Moments(*(np.zeros((n_classes, 0)) for _ in range(3)))
    columns = number_columns(table, normal)
    moments = moments_within(columns, examples.classes, n_classes, weights=examples.weights, n_jobs=n_jobs)
    used = (examples.classes >= 0) & (examples.mass > 0)
    names = [table.variables[j].name for j in normal]
    _check_moments(moments, names, lambda i: numbers_of(table, normal[i])[used])
    return moments


def _check_moments(moments: Moments, names: Sequence[str], values: Callable[[int], np.ndarray]) -> None:
    whole = moments.pooled()
    check_squares(names, whole.count[0], whole.m2[0], values, parameter="X")


def _extent(examples: Examples, normal: Sequence[int]) -> np.ndarray:
    """Return the least and the greatest value of some numbers in up to 4096 rows, evenly taken; NaN without any."""
    table, weights = examples.rows, examples.weights
    if not normal:
        return np.empty((2, 0))
    rows = np.arange(table.n_rows) if weights is None else np.flatnonzero(weights > 0)
    most = max(64, min(_EXTENT_ROWS, _EXTENT_CELLS // max(1, table.n_columns)))
    some = rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.intp)]
    columns = [np.asarray(table.columns[j][some], np.float64) for j in normal]
    found = [(np.fmin.reduce(c, initial=np.nan), np.fmax.reduce(c, initial=np.nan)) for c in columns]
    return np.array(found).reshape(-1, 2).T


@classifier(
    "nb",
    file="naive-bayes",
    rank=10,
    default="nb",
    help="naive Bayes",
    variants={
        "nb-gaussian": ("naive Bayes, a normal density in each class for numbers", {"numeric": "gaussian"}),
        "nb-kernel": ("naive Bayes, kernel densities for numbers", {"numeric": "kernel"}),
        "nb-discretise": ("naive Bayes, numbers discretized into bins", {"numeric": "discretise"}),
    },
)
@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayesClassifier(BayesClassifier[Statistics]):
    """Naive Bayes for mixed tables: text, categories, numbers, missing values, weights, batches of rows.

    Rows to predict, decide or explain may be a frame, dict of columns, Table or array, or one row as a mapping of
    features to values; features that it does not name are missing.

    Parameters
    ----------
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical. ``None`` goes by type: text, booleans, categoricals, and integers with at most
        two distinct values are; other numbers are numeric. A list (names, positions or a mask) adds to that; a mapping
        says yes or no for the columns it names. Positions count the features, without the target.
    text : {"auto", None}, list of columns, or mapping of column to TextClassifier
        Which columns are free text, whose words are learned from. ``"auto"``: columns of several words, hardly any text
        twice, of frames and tables (not those that are asked to be categorical). A mapping says which
        :class:`TextClassifier` learns from a column; None is the default: naive Bayes with counts of words in
        logarithms, idf and texts of equal length.
    numeric : {"auto", "gaussian", "log-gaussian", "kernel", "discretise", "category"} or mapping of column to one
        How numeric columns are modelled: a normal density in each class, of the number or of its logarithm, a kernel
        density, frequencies of bins found by Fayyad & Irani's method, or frequencies of every number. ``"auto"``
        chooses for each column by cross-validation, weights the numbers so that probabilities are calibrated, and keeps
        densities from ruling out a class. Columns that a mapping does not name are chosen.
    smoothing : float, Laplace, MEstimate, or mapping of column to one of them
        How frequencies become probabilities; a number is Laplace's γ, added to every count (0: none). Columns that a
        mapping does not name get γ = 1.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); default: the relative frequencies of the classes. An array follows the order of ``classes_``.
    variance : {"unbiased", "mle"}
        Whether variances divide by n − 1 or by n, for columns that are asked to be Gaussian.
    variance_floor : float
        The share of a feature's variance over all rows that is added to its variance in each class, for the same.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    class_count_ : ndarray
        The number (or weight) of the rows of each class.
    class_log_prior_ : ndarray
        log P(c).
    feature_log_prob_ : list of ndarray or None
        For each categorical or discretized feature log P(x | c), of shape (n_classes, n_states); None for the others.
    numeric_ : dict
        How each numeric column is modelled.
    numeric_weight_ : float
        The weight of the numeric columns whose model was chosen.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and variance of each Gaussian feature in each class; NaN for the others.
    variables_ : tuple of Variable
        The features, with their states; without those of free text.
    text_columns_ : tuple of str
        The columns of free text.
    statistics_ : Statistics
        The counts, moments and points the parameters are derived from.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Learning and prediction take one pass over the data, in pieces: beside the data they need one byte a value for
    categorical columns and nothing for numeric ones. A row that has probability zero under every class (without
    smoothing, or with a number very far from the training values) gets the prior, with a warning. Weights are numbers
    of rows: a row of weight 3 counts like three. Smoothing adds γ rows, so weights should not sum to one; densities
    that ``"auto"`` chose do not depend on a common factor below one.

    The log-odds of a text are those of its words, times a weight that maximises the cross-validated likelihood of the
    classes, found when the first rows are learned. :meth:`explain` lists words and columns together.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.play_tennis()
    >>> clf = tb.NaiveBayesClassifier(smoothing=0).fit(table, "play")
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    >>> clf.predict_proba(day).round(3).tolist()
    [[0.795, 0.205]]
    >>> np.exp(clf.feature_log_prob_[3]).round(2).tolist()  # wind: strong, weak; given no, given yes
    [[0.6, 0.4], [0.33, 0.67]]
    """

    parts = (Families, Densities)

    categorical: Categorical = None
    text: TextColumns = "auto"
    numeric: str | Mapping[str, str] = "auto"
    smoothing: float | Smoothing | Mapping[str, float | Smoothing] = 1.0
    class_prior: ClassPrior = None
    variance: str = "unbiased"
    variance_floor: float = 1e-9
    n_jobs: int | None = None

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of categories and bins, the moments or points of numbers, within each class."""
        if before is None:
            roles, cuts, automatic = choose(examples, self._asked(examples.rows.variables), self.n_jobs)
            encoding = Encoding(examples.rows.variables, cuts)
        else:
            roles, automatic = dict(enumerate(before.densities.roles)), before.densities.automatic
            encoding = learn_encoding(examples, before, missing="marginal")
        all_roles = tuple(roles.get(j, "categorical") for j in range(len(encoding.variables)))
        counts = _class_counts(examples, encoding, self.n_jobs)
        return Statistics.of(examples, encoding, counts, _densities_of(examples, all_roles, automatic, self.n_jobs))

    def partial_fit(
        self, X: Frame, y: Labels = None, classes: Labels = None, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from further rows, which may have new categories and new classes.

        The first batch fixes which columns are categorical or text, how numeric ones are modelled, and their bins. With
        ``numeric="auto"`` it must have 20 rows or more for a choice; of fewer all numbers are Gaussian, with a warning.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            Classes that no row has yet.

        Returns
        -------
        self
        """
        is_first = not hasattr(self, "statistics_")
        super().partial_fit(X, y, classes, sample_weight)
        automatic = self.statistics_.densities.automatic
        n_rows = round(float(self.class_count_.sum()) / automatic.added)
        if is_first and automatic.steps and n_rows < FEWEST:
            names = listed([self.variables_[j].name for j in automatic.steps])
            rule = f"the first batch must have {FEWEST} rows or more to choose models of numbers"
            ways_out = "Begin with more rows, or choose with numeric."
            message = f"{rule}; got {counted(n_rows, 'row')}, so {names} will stay Gaussian. {ways_out}"
            warnings.warn(message, DataWarning, stacklevel=2)
        return self

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> Likelihood:
        """Return log P(x | c) of every feature, estimated from the statistics."""
        densities = statistics.densities
        kernels = {j: with_bandwidths(points) for j, points in densities.points.items()}
        tables = self._log_tables(statistics)
        return Likelihood(log_prior, tables, self._gaussian(statistics), kernels, statistics.encoding, densities)

    def _gaussian(self, statistics: Statistics) -> Gaussian:
        """Return the normal densities, soft ones where they were chosen."""
        moments, normal = statistics.densities.moments, statistics.densities.normal
        names = [statistics.variables[j].name for j in normal]
        # The moments are of several batches perhaps, of which each had one value of a number.
        _check_moments(moments, names, lambda i: moments.mean[moments.count[:, i] > 0, i])
        plain = fit_gaussian(moments, self.variance == "unbiased", float(self.variance_floor))
        which = [i for i, j in enumerate(normal) if j in statistics.densities.automatic.steps]
        if not which:
            return plain
        automatic = statistics.densities.automatic
        steps = np.array([automatic.steps[normal[i]] for i in which])
        own = Moments(*(a[:, which] for a in (moments.count, moments.mean, moments.m2)))
        return plain.softened(soft_gaussian(own, steps, automatic.added, automatic.weight), np.array(which))

    def _log_tables(self, statistics: Statistics) -> dict[int, np.ndarray]:
        """Return log P(state | c) of the features that are counted; the first column is a missing value."""
        rules, tables = self.smoothing_rules(statistics), {}
        for j, counts in statistics.families.counts.items():
            tables[j] = np.zeros((len(counts.table), counts.child.n_states + 1))
            with np.errstate(divide="ignore"):
                tables[j][:, 1:] = np.log(smooth(counts.table, rules[j], counts.child))
            tables[j] *= statistics.densities.weight(j)
        return tables

    @property
    def feature_log_prob_(self) -> list[np.ndarray | None]:
        """Log P(x | c) of each feature that is counted."""
        tables, weight = self.model_.tables, self.statistics_.densities.weight
        return [tables[j][:, 1:] / weight(j) if j in tables else None for j in range(len(self.variables_))]

    @property
    def numeric_(self) -> dict[str, str]:
        """How each numeric column is modelled."""
        roles = zip(self.variables_, self.statistics_.densities.roles, strict=True)
        return {variable.name: role for variable, role in roles if role != "categorical"}

    @property
    def numeric_weight_(self) -> float:
        """The weight of the columns whose model was chosen: what they say is multiplied by it."""
        return self.statistics_.densities.automatic.weight

    @property
    def theta_(self) -> np.ndarray:
        """The mean of each Gaussian feature in each class; of the logarithm where that is modelled."""
        return self._over_features(self.model_.gaussian.mean)

    @property
    def var_(self) -> np.ndarray:
        """The variance of each Gaussian feature in each class."""
        return self._over_features(self.model_.gaussian.variance)

    def _over_features(self, values: np.ndarray) -> np.ndarray:
        out = np.full((len(self.classes_), len(self.variables_)), np.nan)
        out[:, self.model_.normal] = values
        return out

    def _check_parameters(self) -> None:
        check_choice("variance", self.variance, ("unbiased", "mle"))
        check_number("variance_floor", self.variance_floor, low=0)
        for role in self.numeric.values() if isinstance(self.numeric, Mapping) else [self.numeric]:
            check_choice("numeric", role, ("auto", *ROLES))

    def check_parameters(self) -> None:
        """Raise for parameters that are not valid; ``fit`` checks smoothing where it is used."""
        super().check_parameters()
        for rule in self.smoothing.values() if isinstance(self.smoothing, Mapping) else [self.smoothing]:
            as_smoothing(rule)

    def _asked(self, variables: tuple[Variable, ...]) -> dict[int, str]:
        """Return how each number shall be modelled."""
        numbers = {j: v.name for j, v in enumerate(variables) if v.is_continuous}
        if not isinstance(self.numeric, Mapping):
            return dict.fromkeys(numbers, self.numeric)
        check_columns("numeric", self.numeric, list(numbers.values()), "numeric columns")
        return {j: self.numeric.get(name, "auto") for j, name in numbers.items()}

    def smoothing_rules(self, statistics: Statistics) -> dict[int, Smoothing]:
        """Return the rule of each feature that is counted, by its position."""
        names = [v.name for v in statistics.variables]
        given = self.smoothing if isinstance(self.smoothing, Mapping) else {}
        coded = statistics.families.counts
        check_columns("smoothing", given, [names[j] for j in coded], "columns that are counted")
        default = as_smoothing(1.0 if isinstance(self.smoothing, Mapping) else self.smoothing)
        return {j: as_smoothing(given.get(names[j], default)) for j in coded}


# The model


@dataclass(frozen=True, eq=False)
class Likelihood(TableModel):
    """log P(c) and log P(x_f | c) for every class and feature.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    tables : mapping of int to ndarray of shape (n_classes, n_states + 1)
        For categorical and discretized features, by position: log P(state | c) in column state + 1, and 0, for a
        missing value, in column 0.
    gaussian : Gaussian
        For the Gaussian features in order.
    densities : mapping of int to tuple of (Points, bandwidth)
        For the kernel features: one for each class.
    encoding : Encoding
        How features are encoded.
    kept : Densities
        How each feature is modelled, and what was chosen.
    """

    is_naive = True
    parents = None

    log_prior: np.ndarray
    tables: Mapping[int, np.ndarray]
    gaussian: Gaussian
    densities: Mapping[int, tuple[tuple[Points, float], ...]]
    encoding: Encoding
    kept: Densities

    @property
    def roles(self) -> tuple[str, ...]:
        """How each feature is modelled."""
        return self.kept.roles

    @cached_property
    def curves(self) -> dict[int, Curve]:
        """The kernel densities of features whose model was chosen."""
        chosen = self.kept.automatic
        return {
            j: curve_of(p, chosen.steps[j], chosen.added, chosen.weight)
            for j, p in self.kept.points.items()
            if j in chosen.steps
        }

    @cached_property
    def numeric(self) -> dict[int, int]:
        """Where each continuous feature stands among the continuous ones."""
        continuous = [j for j, role in enumerate(self.roles) if role != "categorical"]
        return {j: i for i, j in enumerate(continuous)}

    @cached_property
    def normal(self) -> list[int]:
        """The Gaussian features."""
        return self.kept.normal

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); finish works on class × row pieces."""
        out, numbers = np.empty((rows.n_rows, len(self.log_prior))), number_columns(rows, list(self.numeric))
        n_numbers = len(self.numeric)
        size = max(256, _BLOCK_CELLS // (n_numbers + len(self.log_prior))) if n_numbers else _PIECE_ROWS

        def fill(piece: tuple[int, int]) -> None:
            out[piece[0] : piece[1]] = finish(self._piece(rows, numbers, *piece)).T

        map_threads(fill, row_pieces(rows.n_rows, size, len(self.log_prior)), n_jobs)
        return out

    def terms(self, rows: Table) -> np.ndarray:
        """Return log P(x_f | c) of every feature, (n_features, n_classes, n_rows): for a few rows, to explain them."""
        block = self._block(rows, number_columns(rows, list(self.numeric)), 0, rows.n_rows)
        out = np.zeros((len(self.roles), len(self.log_prior), rows.n_rows))
        for i, j in enumerate(self.normal):
            out[j] = self.gaussian.log_density(block[self.numeric[j]], i)
        for j, role in enumerate(self.roles):
            if role not in _NORMAL:
                self._add_feature(j, rows, block, 0, out[j])
        return out

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class: from counts, or by an integral over densities."""
        counts, kept = statistics.families.counts, statistics.densities
        if method == "information":
            found = importance.information_of(counts, len(self.log_prior))
        else:
            found = importance.weights_of(counts, {j: np.exp(table[:, 1:]) for j, table in self.tables.items()})
        for j, mean, variance, weight in zip(
            self.normal, self.gaussian.mean.T, self.gaussian.variance.T, kept.moments.count.T, strict=True
        ):
            found[j] = importance.normal_importance(mean, variance, weight, method)
        for j, densities in self.densities.items():
            found[j] = importance.kernel_importance(densities, np.array([p.total for p in kept.points[j]]), method)
        return found

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values nearly all of each number with a density lie."""
        normal = importance.normal_ranges(self.gaussian.mean, self.gaussian.variance, statistics.densities.extent)
        found = dict(zip(self.normal, normal, strict=True))
        found |= {j: (math.exp(found[j][0]), math.exp(found[j][1])) for j in self.kept.automatic.lows}
        found |= {j: importance.kernel_range(densities) for j, densities in self.densities.items()}
        return {j: (low, high) for j, (low, high) in found.items() if low < high}

    def changed_joint(self, row: Table, changes: Changes, n_jobs: int | None = None) -> np.ndarray:
        """Return log P(x, c) of one row with one value changed, for each change: one term is replaced.

        The i-th changes of all features share a row, because their terms do not depend on each other.
        """
        features = changes.features
        order = np.argsort(features, kind="stable")
        first = np.searchsorted(features[order], features[order])
        slot = np.empty(len(features), np.intp)
        slot[order] = np.arange(len(features)) - first
        several = row.take(np.zeros(int(slot.max()) + 1, np.intp))
        new = self.terms(changed(several, slot, changes))[features, :, slot]
        old = self.terms(row)[:, :, 0]
        gone = np.isneginf(old)
        finite = np.where(gone, 0.0, old)
        rest = self.log_prior + finite.sum(axis=0) - finite[features]
        return np.where(gone.sum(axis=0) - gone[features] > 0, -np.inf, rest) + new

    def _block(self, rows: Table, numbers: np.ndarray | list[np.ndarray], start: int, stop: int) -> np.ndarray:
        if not self.numeric:
            return np.empty((0, stop - start))
        block, lows = number_block(numbers, start, stop), self.kept.automatic.lows
        if lows:
            block = block.astype(np.float64)
        for j, low in lows.items():
            block[self.numeric[j]] = np.log(np.maximum(block[self.numeric[j]], low))
        return block

    def _piece(self, rows: Table, numbers: np.ndarray | list[np.ndarray], start: int, stop: int) -> np.ndarray:
        out, block = np.repeat(self.log_prior[:, None], stop - start, axis=1), self._block(rows, numbers, start, stop)
        if self.normal:
            normal = [self.numeric[j] for j in self.normal]
            _add_gaussian(block if len(normal) == len(block) else block[normal], self.gaussian, out)
        for j, role in enumerate(self.roles):
            if role not in _NORMAL:
                self._add_feature(j, rows, block, start, out)
        return out

    def _add_feature(self, j: int, rows: Table, block: np.ndarray, start: int, out: np.ndarray) -> None:
        """Add one feature's log-likelihood of the rows start … start + out.shape[1]."""
        if j in self.curves:
            out += self.curves[j].log_density(block[self.numeric[j]])
        elif j in self.densities:
            for k, (points, h) in enumerate(self.densities[j]):
                out[k] += log_density(block[self.numeric[j]], points, h) if points.values.size else 0.0
        elif j in self.encoding.cuts:
            _add_categorical(self.encoding.cuts[j].codes(block[self.numeric[j]]), self.tables[j], out)
        else:
            _add_categorical(rows.columns[j][start : start + out.shape[1]], self.tables[j], out)


def _add_categorical(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    if is_numpy_quicker(out.size, "classifiers.likelihood", "add_categorical"):
        out += table[:, codes.astype(np.intp) + 1]
        return
    from tunbridge.kernels.classifiers.likelihood import add_categorical

    add_categorical(read_only(codes), table, out)


def _add_gaussian(block: np.ndarray, gaussian: Gaussian, out: np.ndarray) -> None:
    if is_numpy_quicker(out.size * len(block), "classifiers.likelihood", "add_gaussian"):
        for j, x in enumerate(block):
            out += gaussian.log_density(x, j)
        return
    from tunbridge.kernels.classifiers.likelihood import Broad, add_gaussian, add_soft_gaussian

    if gaussian.is_soft:
        broad = Broad(gaussian.centre, gaussian.slope, gaussian.floor, gaussian.lowest)
        add_soft_gaussian(block, gaussian.mean, gaussian.precision, gaussian.constant, broad, out)
    else:
        add_gaussian(block, gaussian.mean, gaussian.precision, gaussian.constant, out)
