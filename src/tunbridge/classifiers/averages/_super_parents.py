"""Averages of models in which all features depend on the class and on the same one or two of them, the super-parents.

    P(x, c) = P(c) Σ_p w_p P(x_p | c) Π_k P(x_k | x_p, c) / Σ_p w_p

The sum runs over the features p of a row, or over its pairs of features, whose values have enough rows.
Where there are none, pairs give way to single features and these to naive Bayes. A missing value is neither
super-parent nor child, whose factor would sum to one. A feature with one state, such as a number in one bin, is no
super-parent either: its model would be naive Bayes, or that of single super-parents, and predictions would depend on
whether a value that tells nothing is known.

Super-parents may weigh the same, or as much as they tell about the class. A value that follows from another one of the
row (pregnant implies female) can be left out, as it tells nothing new: subsumption resolution.

How counts become probabilities: every rule draws a distribution towards another one, the guess q, which is worth s
rows,

    P(k | given) = (n(given, k) + s q(k)) / (n(given) + s).

The m-estimate (s = m, q uniform) and Laplace's rule (s = γ times the number of states) have one guess for all. With
back-off the guess is the estimate that is given less: P(x_k | x_i, c) is drawn towards P(x_k | c), that towards P(x_k),
and that towards the uniform distribution. What is given two features, x_i and x_j, is drawn towards the mean of the
estimates given one of them. Where there are neither rows nor imagined ones the guess is the answer.

All tables are kept as logarithms, a state being numbered through all features, the class the innermost axis; and each
row takes one look into a table for each super-parent and child. The diagonal, where super-parent and child are one,
holds log P(x_p | c), so that a row's entries add up to log P(x | c).

References
----------
G. I. Webb, J. R. Boughton, Z. Wang (2005). Not so naive Bayes: aggregating one-dependence estimators. Machine Learning
58, 5–24.
G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
full-multivariate probability distributions. Machine Learning 86, 233–272.
F. Zheng, G. I. Webb, P. Suraweera, L. Zhu (2012). Subsumption resolution: an efficient and effective technique for
semi-naive Bayesian learning. Machine Learning 87, 93–125.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_number, shortened
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._statistics import MISSING_RULES, Encoding, Statistics
from tunbridge.classifiers.dependence._families import HIERARCHICAL, CountedClassifier
from tunbridge.classifiers.explanation.contributions import CodedModel, Given, given_before
from tunbridge.classifiers.explanation.importance import pair_importances
from tunbridge.counts.information import information_with_given
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.kernels.compiled import is_numpy_quicker
from tunbridge.learning.parameters.backoff import BackOff
from tunbridge.learning.parameters.priors import Prior, as_prior
from tunbridge.probability.smoothing import Laplace, MEstimate

INFORMATION = "mutual information"
M_ESTIMATE = "m-estimate"

NOISE = 1e-12
"""Information below it is a rounding error."""

Rule = MEstimate | Laplace | BackOff

_SURE = 100.0  # rows of a value that are enough to believe that another follows from it
_ROUNDED = 1e-9  # sums of weights in another order differ by less
_COPIES = 2  # the counts as floats, and the tables
_LOOKS = 10  # NumPy is quick enough for so many times the cells if each is looked at once for every feature


@dataclass(kw_only=True, eq=False, repr=False)
class AverageClassifier(CountedClassifier):
    """Base class of averages over super-parents: their parameters."""

    weighting: str | None = None
    subsumption: bool | float = False
    min_count: float = 0
    smoothing: Prior = M_ESTIMATE

    def _check_parameters(self) -> None:
        check_choice("weighting", self.weighting, (None, INFORMATION))
        if not isinstance(self.subsumption, bool | np.bool_):
            check_number("subsumption (True, False, or a number of rows)", self.subsumption, above=0)
        check_number("min_count", self.min_count, low=0)
        check_choice("missing", self.missing, MISSING_RULES)
        as_rule(self.smoothing)

    @property
    def voting(self) -> Voting:
        """How super-parents vote, as the parameters say."""
        given = self.subsumption
        rows = (_SURE if given else None) if isinstance(given, bool | np.bool_) else float(given)
        return Voting(self.min_count, self.weighting == INFORMATION, rows)


class Voting(NamedTuple):
    """How super-parents vote.

    Attributes
    ----------
    min_count : float
        The fewest rows of a value that votes.
    weighted : bool
        Whether a vote weighs as much as the super-parent tells about the class.
    subsumption : float, optional
        The fewest rows of a value from which another one follows; None: none is left out.
    """

    min_count: float
    weighted: bool
    subsumption: float | None


class AveragedModel(CodedModel):
    """Base class of averages over super-parents; features are explained in the order of what they tell."""

    parents = None
    piece_rows = 4096

    def conditions(self, rows: Table) -> list[Given]:
        """Return for each row and feature the features that its term is conditional on."""
        return [given_before(row, self.order) for row in (self.encoding.codes(rows) >= 0).T]

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class by itself."""
        return pair_importances(statistics, method)


@dataclass(frozen=True, eq=False)
class OneModel(AveragedModel):
    """The average over single super-parents.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    encoding : Encoding
        How features become codes.
    order : sequence of int
        The features, those first that tell most about the class.
    tables : ndarray of shape (n_states, n_states, n_classes)
        log P(b | a, c) for states a, b of two features, log P(a | c) where they are one.
    shares : ndarray of shape (n_states,)
        How much a state weighs as a super-parent.
    implied : ndarray of shape (n_states, n_states), optional
        Which states are left out beside which: ``implied[a, b]`` leaves out b beside a.
    """

    log_prior: np.ndarray
    encoding: Encoding
    order: Sequence[int]
    tables: np.ndarray
    shares: np.ndarray
    implied: np.ndarray | None = None

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        return self.averaged(self.without_implied(codes))

    def without_implied(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes without those that follow from others."""
        if self.implied is None or not self.implied.any():
            return codes
        codes = np.array(codes, np.int32, order="C")
        if is_numpy_quicker(codes.size, "classifiers.ande", "drop_implied"):
            return _without_implied(codes, self.first, self.implied)
        from tunbridge.kernels.classifiers.ande import drop_implied

        drop_implied(codes, self.first, self.implied)
        return codes

    def averaged(self, codes: np.ndarray) -> np.ndarray:
        """Return the average for rows of codes that are all used."""
        out = np.empty((codes.shape[1], len(self.log_prior)))
        size = codes.size if codes.size <= SMALL_CELLS else out.size * len(codes) ** 2
        average = _average_one if is_numpy_quicker(size, "classifiers.ande", "average_one") else _kernels().average_one
        average(codes, self.first, self.tables, self._log_shares, self.log_prior, out)
        return out

    @cached_property
    def first(self) -> np.ndarray:
        """Where the states of each feature begin; one entry more than features."""
        return first_states(self.encoding)

    @cached_property
    def _log_shares(self) -> np.ndarray:
        return log_of(self.shares)


@dataclass(frozen=True, eq=False)
class TwoModel(AveragedModel):
    """The average over pairs of super-parents.

    Parameters
    ----------
    one : OneModel
        The average over single super-parents, for rows of which no pair has enough rows.
    pair_first : ndarray of shape (n_features, n_features)
        Where the pairs of states of two features f < g begin among all of them, those of g fastest.
    tables : ndarray of shape (n_pairs of states, n_states, n_classes)
        log P(k | a, b, c) for the states k of the other features; for the first of the two log P(a, b | c).
    shares : ndarray of shape (n_pairs of states,)
        How much a pair weighs as super-parents.
    """

    one: OneModel
    pair_first: np.ndarray
    tables: np.ndarray
    shares: np.ndarray

    @property
    def log_prior(self) -> np.ndarray:  # type: ignore[override]
        """The logarithms of P(c)."""
        return self.one.log_prior

    @property
    def encoding(self) -> Encoding:  # type: ignore[override]
        """How features become codes."""
        return self.one.encoding

    @property
    def order(self) -> Sequence[int]:  # type: ignore[override]
        """The features, those first that tell most about the class."""
        return self.one.order

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""
        codes = self.one.without_implied(codes)
        out, lost = np.empty((codes.shape[1], len(self.log_prior))), np.empty(codes.shape[1], np.bool_)
        average = _average_two if codes.size * len(codes) <= _LOOKS * SMALL_CELLS else _kernels().average_two
        average(codes, self.one.first, self.pair_first, self.tables, self._log_shares, self.log_prior, out, lost)
        if lost.any():
            out[lost] = self.one.averaged(np.ascontiguousarray(codes[:, lost]))
        return out

    @cached_property
    def _log_shares(self) -> np.ndarray:
        return log_of(self.shares)


def first_states(encoding: Encoding) -> np.ndarray:
    """Return where the states of each feature begin among those of all; one entry more than features."""
    return np.concatenate([[0], np.cumsum([v.n_states for v in encoding.coded])]).astype(np.int64)


def log_of(p: np.ndarray) -> np.ndarray:
    """Return log p, −∞ at 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


# From counts to estimates


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the pairs of features within the classes say, a state being numbered through all features.

    Parameters
    ----------
    first : ndarray
        Where the states of each feature begin.
    counts : ndarray of shape (n_states, n_states, n_classes)
        The counts of all pairs.
    guess : Guess
        What estimates are drawn to.
    alone : ndarray of shape (n_states, n_classes)
        P(a | c).
    """

    first: np.ndarray
    counts: np.ndarray
    guess: Guess
    alone: np.ndarray

    def given(self, a: slice) -> np.ndarray:
        """Return P(b | a, c) for some states a and all states b."""
        base = self.alone if self.guess.backs_off else self.guess.q
        return drawn(self.counts[a], self.first, base, self.guess.s)


def estimates(statistics: Statistics, rule: Rule) -> Estimates:
    """Return the estimates that follow from counts of pairs by a rule for smoothing."""
    n_classes, size, _ = statistics.pairs.counts.matrix.shape
    check_memory(
        f"the tables of all pairs of {size} states for {n_classes} classes",
        8.0 * _COPIES * n_classes * size**2,
        ways_out="Leave out columns with many states.",
    )
    counts = np.ascontiguousarray(np.moveaxis(statistics.pairs.counts.matrix, 0, -1), np.float64)
    first, margins = first_states(statistics.encoding), np.diagonal(counts).T
    guess = guess_of(rule, statistics.encoding.coded, margins.sum(axis=1))
    base = drawn(margins.sum(axis=1, keepdims=True), first, guess.q, guess.s) if guess.backs_off else guess.q
    return Estimates(first, counts, guess, drawn(margins, first, base, guess.s))


def one_model(statistics: Statistics, found: Estimates, log_prior: np.ndarray, voting: Voting) -> OneModel:
    """Return the average over single super-parents."""
    size, n_classes = found.alone.shape
    tables = np.zeros((size, size, n_classes))
    for some in feature_slices(found.first):
        tables[some] = log_of(found.given(some))
        tables[some, some] = 0.0
    tables[np.arange(size), np.arange(size)] = log_of(found.alone)
    told = told_about_class(statistics)
    n_states = np.diff(found.first)
    weight = np.where(n_states > 1, told if voting.weighted else 1.0, 0.0)
    count = np.diagonal(found.counts).sum(axis=0)
    shares = np.where((count > 0) & (count >= voting.min_count), np.repeat(weight, n_states), 0.0)
    implied = None if voting.subsumption is None else implied_states(found, voting.subsumption)
    order = np.argsort(-told, kind="stable").tolist()
    return OneModel(log_prior, statistics.encoding, order, tables, shares, implied)


def told_about_class(statistics: Statistics) -> np.ndarray:
    """Return I(X; C) of each feature."""
    margins = np.diagonal(statistics.pairs.counts.matrix, axis1=1, axis2=2)
    told = information_with_given(margins, statistics.pairs.counts.first)
    return np.where(told > NOISE, told, 0.0)


def implied_states(found: Estimates, least: float) -> np.ndarray:
    """Return which states of other features follow from a state that has ``least`` rows.

    Of two that follow from each other the one that comes first stays.
    """
    together = found.counts.sum(axis=-1)
    alone = np.diagonal(together)
    follows = together >= alone[:, None] * (1.0 - _ROUNDED)
    follows &= (alone >= least)[:, None] & (alone > 0)[:, None]
    for some in feature_slices(found.first):
        follows[some, some] = False
    return follows & ~np.tril(follows & follows.T)


def feature_slices(first: np.ndarray) -> list[slice]:
    """Return the states of each feature."""
    return [slice(a, b) for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)]


# Smoothing


class Guess(NamedTuple):
    """Where estimates are drawn to, and how strongly.

    Attributes
    ----------
    q : ndarray of shape (n_states of all features, 1)
        The guess at the bottom.
    s : ndarray of shape (n_states of all features, 1)
        How many rows it is worth, the same for all states of a feature.
    backs_off : bool
        Whether an estimate is drawn towards the one that is given less, rather than towards q.
    """

    q: np.ndarray
    s: np.ndarray
    backs_off: bool


def as_rule(smoothing: Prior) -> Rule:
    """Return the smoothing rule that a parameter names.

    Examples
    --------
    >>> as_rule("m-estimate"), as_rule("hierarchical"), as_rule(0.5)
    (MEstimate(m=1.0, p='uniform'), BackOff(strength=1.0, drop='last'), Laplace(gamma=0.5))
    """
    if isinstance(smoothing, str) and smoothing == M_ESTIMATE:
        return MEstimate(1.0)
    if isinstance(smoothing, str) and smoothing == HIERARCHICAL:
        return BackOff(1.0, "last")
    try:
        rule = as_prior(smoothing)
    except DataError:
        raise _refused(smoothing) from None
    if not isinstance(rule, MEstimate | Laplace | BackOff) or (isinstance(rule, BackOff) and rule.strength == "auto"):
        raise _refused(smoothing)
    return rule


def _refused(smoothing: Prior) -> DataError:
    return DataError(
        "smoothing must be 'm-estimate', 'hierarchical', a number that is not negative (Laplace's γ), or one of "
        f"Laplace, MEstimate and BackOff with a number as its strength; got {shortened(repr(smoothing))}."
    )


def guess_of(rule: Rule, variables: Sequence[Variable], margins: np.ndarray) -> Guess:
    """Return the guess about each state of each variable; ``margins`` are the counts of the states by themselves."""
    q, s, first = np.empty(len(margins)), np.empty(len(margins)), 0
    for v in variables:
        some = slice(first, first + v.n_states)
        q[some], s[some] = _guess(rule, v, margins[some])
        first += v.n_states
    return Guess(q[:, None], s[:, None], isinstance(rule, BackOff))


def _guess(rule: Rule, variable: Variable, margin: np.ndarray) -> tuple[np.ndarray | float, float]:
    r = variable.n_states
    if isinstance(rule, BackOff):
        return 1.0 / max(1, r), float(rule.strength)
    if isinstance(rule, Laplace):
        return 1.0 / max(1, r), rule.gamma * r
    return rule.guess(variable, margin), float(r if rule.m == "n_states" else rule.m)


def drawn(n: np.ndarray, first: np.ndarray, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return (n + s q) / (Σ n + s), the sum over the states of each feature; q where nothing is known."""
    rows = _by_feature(n, first) + s
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (n + s * q) / rows
    return found if rows.size == 0 or rows.min() > 0.0 else np.where(rows > 0.0, found, q)


def _by_feature(n: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return for each state the sum over all states of its feature."""
    n_states = np.diff(first)
    some = n_states > 0
    if not some.any():
        return n.astype(np.float64)
    sums = np.add.reduceat(n, first[:-1][some], axis=-2, dtype=np.float64)
    return np.repeat(sums, n_states[some], axis=-2)


# What the kernels do, in NumPy: for a few rows nothing has to be compiled


def _kernels() -> Any:
    from tunbridge.kernels.classifiers import ande

    return ande


def _without_implied(codes: np.ndarray, first: np.ndarray, implied: np.ndarray) -> np.ndarray:
    seen, states = _states(codes, first)
    out = codes.copy()
    for f in range(len(codes)):
        follows = implied[states, states[f]] & seen
        out[f, follows.any(axis=0)] = -1
    return out


def _average_one(
    codes: np.ndarray,
    first: np.ndarray,
    tables: np.ndarray,
    log_shares: np.ndarray,
    log_prior: np.ndarray,
    out: np.ndarray,
) -> None:
    seen, states = _states(codes, first)
    out[:], log_weight = -np.inf, np.full(codes.shape[1], -np.inf)
    alone = np.zeros_like(out)
    for f in range(len(codes)):
        share = np.where(seen[f], log_shares[states[f]], -np.inf) if log_shares.size else log_weight
        _add(out, log_weight, share, _added_up(tables, states[f], states, seen))
        alone += np.where(seen[f, :, None], tables[states[f], states[f]], 0.0) if tables.size else 0.0
    none = np.isneginf(log_weight)
    out -= np.where(none, 0.0, log_weight)[:, None]
    out[none] = alone[none]
    out += log_prior


def _average_two(
    codes: np.ndarray,
    first: np.ndarray,
    pair_first: np.ndarray,
    tables: np.ndarray,
    log_shares: np.ndarray,
    log_prior: np.ndarray,
    out: np.ndarray,
    lost: np.ndarray,
) -> None:
    seen, states = _states(codes, first)
    n_states = np.diff(first)
    out[:], log_weight = -np.inf, np.full(codes.shape[1], -np.inf)
    for f, g in zip(*np.triu_indices(len(codes), 1), strict=True):
        if not n_states[f] or not n_states[g]:
            continue
        both = seen[f] & seen[g]
        pairs = np.where(both, pair_first[f, g] + codes[f].astype(np.int64) * n_states[g] + codes[g], 0)
        share = np.where(both, log_shares[pairs], -np.inf)
        _add(out, log_weight, share, _added_up(tables, pairs, states, seen))
    lost[:] = np.isneginf(log_weight)
    out += log_prior - np.where(lost, 0.0, log_weight)[:, None]


def _states(codes: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which cells are seen, and the number of each state, 0 where there is none."""
    seen = codes >= 0
    return seen, np.where(seen, codes + first[:-1, None], 0)


def _added_up(tables: np.ndarray, parents: np.ndarray, states: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the sum of what all states of a row add beside its super-parents, (n_rows, n_classes)."""
    if not tables.size:
        return np.zeros((states.shape[1], tables.shape[-1]))
    return np.where(seen[..., None], tables[parents[None], states], 0.0).sum(axis=0)


def _add(out: np.ndarray, log_weight: np.ndarray, share: np.ndarray, found: np.ndarray) -> None:
    """Add super-parents of some weight to the average, in place."""
    np.logaddexp(out, share[:, None] + found, out=out)
    np.logaddexp(log_weight, share, out=log_weight)
