"""Averaged two-dependence estimators: every pair of features in its turn is what all others depend on.

AODE's features depend on one super-parent beside the class. With two of them there is less bias, at the price of more
variance and of counts of all triples of features:

    P(x, c) = 1/|I| Σ_{(i, j) ∈ I} P(c) P(x_i, x_j | c) Π_{k ≠ i, j} P(x_k | x_i, x_j, c),

the sum over the pairs whose values occur together. It pays with many rows. The joint probability of a pair is the mean
of both ways to write it, P(x_i | c) P(x_j | x_i, c) and P(x_j | c) P(x_i | x_j, c), as each is smoothed by itself.

References
----------
G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
full-multivariate probability distributions: decreasingly naive Bayesian classification. Machine Learning 86, 233–272.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from tunbridge._core.check import check_integer, counted
from tunbridge._core.memory import check_memory, memory_limit, size_text
from tunbridge._core.packing import CountArray, unpack
from tunbridge._core.registry import classifier
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Encoding, Part, Statistics
from tunbridge.classifiers.averages._super_parents import (
    NOISE,
    AverageClassifier,
    Estimates,
    TwoModel,
    Voting,
    as_rule,
    drawn,
    estimates,
    feature_slices,
    log_of,
    one_model,
)
from tunbridge.classifiers.dependence._pairs import Pairs, collect_pairs
from tunbridge.counts import Counter
from tunbridge.counts.information import mutual_information
from tunbridge.counts.records import TripleCounts
from tunbridge.data import Variable
from tunbridge.errors import DataError

_WAYS_OUT = "Use AODEClassifier, leave out columns with many states, or give wide columns fewer states."
PIECE_CELLS = 1 << 18
"""Of so many cells tables are computed at once, unless one state with all states of another feature has more."""

_PIECE_COPIES = 6  # arrays of that size that are held meanwhile


@dataclass(frozen=True, eq=False)
class Triples(Part):
    """The counts of all triples of features within the classes."""

    name: ClassVar[str] = "triples"

    counts: TripleCounts

    def over(self, old: Statistics, new: Statistics) -> Triples:
        """Return the same counts over more classes and states."""
        encoding, n_classes = new.encoding, new.target.n_states
        check_triples(encoding, n_classes, merged=True)
        ours, theirs = old.encoding.named_like(encoding), encoding.coded
        if old.target.states == new.target.states and all(
            v.states == w.states for v, w in zip(ours, theirs, strict=True)
        ):
            return self
        place = [_places(v, w) for v, w in zip(ours, theirs, strict=True)]
        classes, out = (
            _places(old.target, new.target),
            TripleCounts.zeros([v.n_states for v in encoding.coded], n_classes, self.counts.cells.dtype),
        )
        for f, g in out.start:
            after = [p + out.first[h] - out.first[g + 1] for h, p in enumerate(place) if h > g]
            if after:
                at = np.ix_(place[f], place[g], np.concatenate(after), classes)
                out.block(f, g)[at] = self.counts.block(f, g)
        return Triples(out)

    def merge(self, other: Triples) -> Triples:
        """Return the counts of the rows of both."""
        ours = self.counts
        return Triples(TripleCounts(ours.n_states, ours.n_classes, ours.cells + other.counts.cells))

    def content(self) -> dict[str, Any]:
        """Return the triples as content of a file."""
        return {"triples": self.counts.cells}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Triples:
        """Return the triples that a file holds."""
        n_states = tuple(v.n_states for v in statistics.encoding.coded)
        return cls(TripleCounts(n_states, statistics.target.n_states, unpack(CountArray, content["triples"])))

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless there is a count for each triple of states."""
        counts = self.counts
        if counts.cells.shape != (n_cells(counts.n_states, counts.n_classes),):
            raise ValueError("its counts of triples do not belong to its features and classes")


@classifier("a2de", rank=31, default="a2de", help="averaged two-dependence estimators")
@dataclass(kw_only=True, eq=False, repr=False)
class A2DEClassifier(AverageClassifier):
    """Averaged two-dependence estimators (A2DE): the mean of all models with two super-parents.

    Parameters
    ----------
    weighting : None or "mutual information"
        Whether all pairs of super-parents have the same weight, or each its information I(X_i, X_j; C) about the class.
    subsumption : bool or number
        Whether a value that follows from another one of the row is left out; see :class:`AODEClassifier`.
    min_count : number
        Pairs whose values have fewer rows together do not vote, nor do those that have none. A row without any pair is
        predicted by AODE, and without any super-parent by naive Bayes.
    categorical, text, smoothing, class_prior, missing, n_jobs
        As in :class:`AODEClassifier`. Hierarchical smoothing draws P(x_k | x_i, x_j, class) towards the mean of
        P(x_k | x_i, class) and P(x_k | x_j, class).

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.

    Notes
    -----
    Learning takes one pass over all triples; a row takes O(n³) steps for each class. The memory is forecast before it
    is allocated, see :meth:`forecast`. ``partial_fit`` is exact, as AODE's is.

    References
    ----------
    G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
    full-multivariate probability distributions. Machine Learning 86, 233–272.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.A2DEClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    needs_columns = True
    parts = (Pairs, Triples)

    @staticmethod
    def forecast(features: Sequence[Variable] | Sequence[int], n_classes: int) -> TripleForecast:
        """Return the memory that learning will take, before anything is learned.

        Parameters
        ----------
        features : list of Variable, or of int
            The features, or the number of states of each; a discretized number has as many as bins.
        n_classes : int
            The number of classes.

        Examples
        --------
        >>> import tunbridge as tb
        >>> found = tb.A2DEClassifier.forecast([10] * 16, n_classes=26)
        >>> found.n_triples, found.counts, found.tables
        (560, 116480000, 399360000)
        """
        if isinstance(features, str) or not isinstance(features, Sequence | np.ndarray):
            got = type(features).__name__
            raise DataError(f"features must be a list of variables or of numbers of states; got {got}.")
        for f in features:
            if isinstance(f, Variable) and f.is_continuous:
                raise DataError(
                    f"features must have states; {f.name!r} is continuous. Give the number of intervals it will have."
                )
        n_states = [f.n_states if isinstance(f, Variable) else f for f in features]
        for n in n_states:
            check_integer("the number of states", n, low=0)
        check_integer("n_classes", n_classes, low=1)
        return forecast_triples(n_states, int(n_classes))

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of all pairs and triples of features within the classes."""
        found = collect_pairs(examples, before, missing=self.missing, n_jobs=self.n_jobs)
        triples = count_triples(examples, found.encoding, n_jobs=self.n_jobs)
        return replace(found, parts={**found.parts, triples.name: triples})

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> TwoModel:
        """Return the average over pairs of super-parents."""
        found = estimates(statistics, as_rule(self.smoothing))
        return two_model(statistics, found, log_prior, self.voting, self.n_jobs)


def two_model(
    statistics: Statistics, found: Estimates, log_prior: np.ndarray, voting: Voting, n_jobs: int | None
) -> TwoModel:
    """Return the average over pairs of super-parents."""
    triples, one = statistics.triples.counts, one_model(statistics, found, log_prior, voting)
    given = np.empty_like(found.counts)
    for some in feature_slices(found.first):
        given[some] = found.given(some)
    pair_first, n_pairs = number_pairs(triples.n_states)
    tables, shares = np.empty((n_pairs, *found.alone.shape)), np.empty(n_pairs)

    def fill(piece: tuple[int, int, slice]) -> None:
        f, g, some = piece
        r, start = triples.n_states[g], pair_first[f, g]
        tables[start + some.start * r : start + some.stop * r] = pair_tables(triples, found, given, f, g, some)
        if some.start == 0:
            shares[start : start + triples.n_states[f] * r] = pair_shares(found, f, g, voting)

    map_threads(fill, triples.pieces(), n_jobs)
    return TwoModel(one, pair_first, tables, shares)


def number_pairs(n_states: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return where the pairs of states of two features f < g begin among those of all pairs, and how many there are."""
    first, n_pairs = np.zeros((len(n_states), len(n_states)), np.int64), 0
    for f, g in combinations(range(len(n_states)), 2):
        first[f, g] = n_pairs
        n_pairs += n_states[f] * n_states[g]
    return first, n_pairs


def pair_tables(triples: TripleCounts, found: Estimates, given: np.ndarray, f: int, g: int, some: slice) -> np.ndarray:
    """Return what every state adds beside each pair of some states of f and all of g > f: pairs × states × classes.

    ``given`` has P(b | a, c) for all states a and b.
    """
    a = slice(found.first[f] + some.start, found.first[f] + some.stop)
    b = slice(found.first[g], found.first[g + 1])
    base = 0.5 * (given[a, None] + given[None, b]) if found.guess.backs_off else found.guess.q
    out = log_of(drawn(triples.beside(f, g, some), found.first, base, found.guess.s))
    out[:, :, found.first[f] : found.first[f + 1]] = out[:, :, b] = 0.0
    forth = found.alone[a, None] * given[a, b]
    back = found.alone[None, b] * given[b, a].swapaxes(0, 1)
    which = np.arange(len(out))
    out[which, :, a.start + which] = log_of(0.5 * (forth + back))
    return out.reshape(-1, *out.shape[2:])


def pair_shares(found: Estimates, f: int, g: int, voting: Voting) -> np.ndarray:
    """Return how much each pair of states of f < g weighs as super-parents."""
    a, b = (slice(found.first[j], found.first[j + 1]) for j in (f, g))
    n = found.counts[a, b].reshape(-1, found.counts.shape[-1])
    rows = n.sum(axis=1)
    weight = mutual_information(n) if voting.weighted and n.size else 1.0
    weight = weight if min(a.stop - a.start, b.stop - b.start) > 1 else 0.0  # one state: a model of one super-parent
    return np.where((rows > 0) & (rows >= voting.min_count), weight if weight > NOISE else 0.0, 0.0)


# Counting triples


def count_triples(examples: Examples, encoding: Encoding, *, n_jobs: int | None) -> Triples:
    """Return the counts of all triples of features within the classes."""
    check_triples(encoding, examples.target.n_states, n_jobs=n_jobs)
    table = encoding.table(examples)
    return Triples(Counter(table, n_jobs=n_jobs).triples_within(table.names[0]))


def check_triples(encoding: Encoding, n_classes: int, *, n_jobs: int | None = None, merged: bool = False) -> None:
    """Raise when the triples of these features would not fit into memory."""
    coded = encoding.coded
    forecast = forecast_triples([v.n_states for v in coded], n_classes, n_jobs=n_jobs)
    widest = max(coded, key=lambda v: v.n_states)
    n_states = counted(sum(v.n_states for v in coded), "state")
    classes = "1 class" if n_classes == 1 else f"{n_classes} classes"
    check_memory(
        f"A2DE of {counted(len(coded), 'feature')} with {n_states} ({widest.name!r} alone has "
        f"{widest.n_states}) for {classes} ({size_text(forecast.counts)} of counts, "
        f"{size_text(forecast.tables)} of tables)",
        forecast.total + (3 * forecast.counts if merged else 0),
        ways_out=_WAYS_OUT,
    )


def _places(old: Variable, new: Variable) -> np.ndarray:
    return np.array([new.code(s) for s in old.states or ()], np.intp)


# The memory that they take


@dataclass(frozen=True)
class TripleForecast:
    """The memory that an average over pairs of super-parents takes, in bytes.

    Parameters
    ----------
    n_triples : int
        The number of triples of features.
    counts : int
        Bytes of the counts of all triples within the classes.
    tables : int
        Bytes of the tables that are looked into.
    work : int
        Bytes that are needed beside these while the tables are computed.
    """

    n_triples: int
    counts: int
    tables: int
    work: int

    @property
    def total(self) -> int:
        """Bytes in all."""
        return self.counts + self.tables + self.work

    @property
    def fits(self) -> bool:
        """Whether the total is within the memory limit."""
        return self.total <= memory_limit()

    def __str__(self) -> str:
        parts = f"counts {size_text(self.counts)}, tables {size_text(self.tables)}, work {size_text(self.work)}"
        verdict = "within" if self.fits else "beyond"
        return (
            f"{counted(self.n_triples, 'triple')} of features: {size_text(self.total)} ({parts}); {verdict} the limit "
            f"of {size_text(memory_limit())}"
        )


def forecast_triples(n_states: Iterable[int], n_classes: int, *, n_jobs: int | None = None) -> TripleForecast:
    """Return the memory that triples of features with these numbers of states will take."""
    sizes = [int(r) for r in n_states]
    total, after = sum(sizes), sum(sizes)
    pair_cells = triple_cells = before = 0
    for r in sizes:  # as the second of a pair
        after -= r
        pair_cells += before * r
        triple_cells += before * r * after
        before += r
    n, (wide, widest) = len(sizes), sorted([0, 0, *sizes])[-2:]
    largest = min(wide * widest * total * n_classes, max(PIECE_CELLS, widest * total * n_classes))
    return TripleForecast(
        n * (n - 1) * (n - 2) // 6,
        8 * n_classes * triple_cells,
        8 * n_classes * pair_cells * total,
        8 * (largest * _PIECE_COPIES * n_threads(n_jobs) + 4 * n_classes * total**2),
    )


def n_cells(n_states: Sequence[int], n_classes: int) -> int:
    """Return how many cells the counts of all triples have."""
    return forecast_triples(n_states, n_classes).counts // 8
