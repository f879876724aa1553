"""What is kept of sequences, class by class: how often each outcome occurs in its longest context.

**The order**, the number of letters in a context, may be chosen:

* ``"cv"``: the order of greatest cross-validated likelihood of the classes, Σ log P(c | x). Sequences are assigned to
  five folds by a hash, so that equal ones are held out together; sequences of more than 256 symbols are split into
  blocks, which go to the folds in turn and are classified one by one. Each is scored by a model of the other folds,
  including the strengths of back-off.
* ``"bic"``: the order of greatest log-likelihood of the sequences less ½ log n for each free parameter, Σ over classes
  of log P̂(sequences) − ½ d_k log n with d_k = (number of contexts) × (number of outcomes − 1), which finds the true
  order of a chain once there are enough symbols (Csiszár & Shields 2000). Contexts are those of full length, including
  a position or the beginning; all possible ones count.

Cross-validation measures how well classes are separated, BIC how well sequences are described: a longer context may
describe them better and still blur the classes. BIC needs only the counts, and is computed again whenever sequences are
added; cross-validation needs the sequences, and is done with the first ones. One order is chosen for all classes: the
lowest within 2 nats (a factor of e²) of the best.

References
----------
I. Csiszár, P. C. Shields (2000). The consistency of the BIC Markov order estimator. Annals of Statistics 28, 1601–1619.

R. W. Katz (1981). On some criteria for estimating the order of a Markov chain. Technometrics 23, 243–249.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from tunbridge._core.check import counted, warn_user
from tunbridge._core.packing import PlaceArray, WeightArray, unpack
from tunbridge._core.threads import map_threads
from tunbridge.classifiers._classes import log_class_prior, log_posterior, sorted_target
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import class_counts
from tunbridge.data import Variable
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.kernels.text.sequences import Coded
from tunbridge.sequences.contexts import (
    NOTHING,
    Counted,
    Layout,
    Spans,
    class_spans,
    count_contexts,
    fold_spans,
    merged,
    summed,
)
from tunbridge.sequences.smoothing import Chain, Level, estimates_of, levels_of, table_of
from tunbridge.sequences.symbols import Rules, Sequences, Symbol, check_symbols, symbol_list

FOLDS = 5
"""Folds of the cross-validation of the order."""

_CLEARLY = 2.0
_FEW, _SPARSE = 1 << 16, 1000  # a file may have so many positions, or so many for each count: it is read into a table
_CONFIDENT = 1e-15  # a held-out sequence costs no more than −log of this


@dataclass(frozen=True, eq=False)
class SequenceStatistics:
    """The counts of symbols in contexts.

    Parameters
    ----------
    target : Variable
        The class variable.
    class_weight : ndarray
        The number (or weight) of the sequences of each class.
    alphabet : tuple of str or int
        The symbols, sorted.
    counted : tuple of Counted
        For each class how often outcomes occur in their longest contexts.
    order : int
        The largest number of letters in a context.
    ends : bool
        Whether the beginning is part of contexts, and the end an outcome.
    length : int, optional
        The length of the sequences in the position-specific model; 0 before the first non-empty one.
    column : str, optional
        The name of the column of sequences.
    order_scores : tuple of float
        The cross-validated score of each order, if it was chosen by cross-validation.
    """

    target: Variable
    class_weight: np.ndarray
    alphabet: tuple[Symbol, ...]
    counted: tuple[Counted, ...]
    order: int
    ends: bool
    length: int | None = None
    column: str | None = None
    order_scores: tuple[float, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features."""
        return ()

    @property
    def layout(self) -> Layout:
        """The contexts that are counted."""
        return Layout(len(self.alphabet), self.order, self.ends, self.length)

    def merge(self, other: SequenceStatistics) -> SequenceStatistics:
        """Return the statistics of the sequences of both."""
        self._check_alike(other)
        target = sorted_target(self.target, other.target)
        check_symbols({*self.alphabet, *other.alphabet})
        alphabet = tuple(sorted({*self.alphabet, *other.alphabet}))
        length = self.length or other.length if self.length is not None else None
        a, b = (each.in_terms_of(target, alphabet, length) for each in (self, other))
        counted = tuple(merged(list(pair)) for pair in zip(a.counted, b.counted, strict=True))
        weight = a.class_weight + b.class_weight
        return replace(a, class_weight=weight, counted=counted, column=self.column or other.column)

    def in_terms_of(
        self, target: Variable, alphabet: tuple[Symbol, ...], length: int | None = None
    ) -> SequenceStatistics:
        """Return the same counts with more classes and a larger alphabet."""
        place = {symbol: code for code, symbol in enumerate(alphabet)}
        lookup = np.array([place[symbol] for symbol in self.alphabet], np.int64)
        new = Layout(len(alphabet), self.order, self.ends, length)
        new.check()
        old, counted = self.layout, [NOTHING] * target.n_states
        weight = np.zeros(target.n_states)
        for c, state in enumerate(self.target.states or ()):
            code, each = target.code(state), self.counted[c]
            weight[code] = self.class_weight[c]
            keys = each.keys if new == old else old.recoded(each.keys, new, lookup)
            counted[code] = Counted(keys, each.counts)  # sorted alphabets keep the order of keys
        return replace(
            self, target=target, class_weight=weight, alphabet=alphabet, counted=tuple(counted), length=length
        )

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a model file."""
        names = ("target", "class_weight", "order", "ends", "length", "column")
        return {
            **{name: getattr(self, name) for name in names},
            "alphabet": list(self.alphabet),
            "order_scores": list(self.order_scores),
            "ends_of_classes": np.cumsum([len(each.keys) for each in self.counted], dtype=np.int64),
            "keys": np.concatenate([np.empty(0, np.int64), *(each.keys for each in self.counted)]),
            "counts": np.concatenate([np.empty(0), *(each.counts for each in self.counted)]),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> SequenceStatistics:
        """Return the statistics in a model file; raise ValueError if its parts do not belong together."""
        target, class_weight = class_counts(content)
        ends, keys = (unpack(PlaceArray, content[name]) for name in ("ends_of_classes", "keys"))
        counts = unpack(WeightArray, content["counts"])
        if ends.shape != class_weight.shape or (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(keys):
            raise ValueError("its counts do not belong to its classes")
        pairs = zip(np.split(keys, ends[:-1]), np.split(counts, ends[:-1]), strict=True)
        hints = get_type_hints(cls, include_extras=True)
        names = ("alphabet", "order", "ends", "length", "column", "order_scores")
        given = {name: unpack(hints[name], content[name]) for name in names}
        found = cls(target, class_weight, counted=tuple(Counted(*pair) for pair in pairs), **given)
        if not _belongs_together(found, keys, counts):
            raise ValueError("its counts do not belong to its alphabet")
        return found

    def _check_alike(self, other: SequenceStatistics) -> None:
        mine = (self.order, self.ends, self.length is None)
        theirs = (other.order, other.ends, other.length is None)
        if mine != theirs:
            raise DataError(
                "model, order, max_order and ends must not change between calls of partial_fit; got others. "
                "Call fit to start again."
            )
        if self.length and other.length and self.length != other.length:
            raise DataError(
                f"sequences of a position-specific model must all have one length; got {other.length} symbols, "
                f"{self.length} before."
            )


# Learning


class Settings(NamedTuple):
    """The parameters of a classifier as learning takes them.

    Attributes
    ----------
    rules : Rules
        Which values are the same symbol, and which are unknown.
    order : int
        The letters of a context, or the largest number that is tried.
    choose_by : {"cv", "bic"} or None
        How the order is chosen; None for the given one.
    ends, places : bool
        Whether the beginning and the end are known; whether the position is part of every context.
    strength : float or None
        The imagined symbols of each level of back-off; None for the best.
    class_prior : object
        The prior of the classes, as given.
    n_jobs : int or None
        Threads.
    """

    rules: Rules
    order: int
    choose_by: str | None
    ends: bool
    places: bool
    strength: float | None
    class_prior: Any
    n_jobs: int | None


def gather(examples: Examples, before: SequenceStatistics | None, settings: Settings) -> SequenceStatistics:
    """Return the statistics of sequences; after earlier ones their length and their chosen order are kept."""
    if examples.weights is not None and not (examples.weights > 0).all():
        examples = examples.take(examples.weights > 0)
    rows, classes, weights = examples.rows, examples.classes, examples.weights
    rules, by_cv, n_jobs = settings.rules, settings.choose_by == "cv", settings.n_jobs
    length = _length(rows, before) if settings.places else None
    alphabet = rules.alphabet({*rows.met(n_jobs), *rows.expected})
    _warn_of_others(rules, rows, alphabet)
    order = _earlier_order(before) if before is not None and by_cv else settings.order
    layout = Layout(len(alphabet), order, settings.ends and not settings.places, length)
    layout.check()
    own = rows.coded(rules, alphabet, n_jobs)
    weight = examples.class_weight
    found = SequenceStatistics(examples.target, weight, alphabet, (), order, layout.ends, length, rows.column)
    if by_cv and before is None:
        spans = fold_spans(rows.offsets, classes, rows.keys(0), FOLDS)
        return _with_best_order(found, own, spans, weights, settings)
    spans = class_spans(rows.offsets, classes)
    return replace(found, counted=tuple(count_contexts(own, layout, spans, len(weight), weights, n_jobs)))


def check_lengths(rows: Sequences, length: int | None) -> None:
    """Raise unless the sequences of a position-specific model have the right length or are empty."""
    lengths = rows.lengths
    odd = (lengths > 0) & (lengths != length) if length else np.zeros(len(lengths), np.bool_)
    if odd.any():
        row = int(odd.argmax())
        raise DataError(
            f"sequences of a position-specific model must all have one length; row {row + 1} has "
            f"{counted(int(lengths[row]), 'symbol')}, not {length}. Align them, or use model='markov'."
        )


def _length(rows: Sequences, before: SequenceStatistics | None) -> int:
    """Return the length of aligned sequences, 0 if all are empty."""
    some = rows.lengths[rows.lengths > 0]
    length = (before.length if before is not None else None) or (int(some[0]) if len(some) else 0)
    check_lengths(rows, length)
    return length


def _earlier_order(before: SequenceStatistics) -> int:
    """Return the order that cross-validation has chosen before."""
    if not before.order_scores:
        raise DataError(
            "order must not change between calls of partial_fit; got 'cv', which needs the earlier sequences too. "
            "Call fit to start again.",
            parameter="order",
        )
    return before.order


def _warn_of_others(rules: Rules, rows: Sequences, alphabet: tuple[Symbol, ...]) -> None:
    """Warn of symbols that are not in the given alphabet."""
    if rules.given is not None and (others := rules.unknown(rows, alphabet)):
        hint = "If they are gaps, name them in gaps; ignore_case=True treats upper and lower case as the same."
        message = f"symbols that are not in the alphabet count as missing: {symbol_list(others)}. {hint}"
        warn_user(message, UnseenStateWarning)


# The order


def best_order(scores: np.ndarray) -> int:
    """Return the lowest order whose score is within 2 nats of the best.

    Examples
    --------
    >>> best_order(np.array([-120.0, -100.5, -99.9]))
    1
    """
    return int(np.argmax(scores >= scores.max() - _CLEARLY))


def _with_best_order(
    found: SequenceStatistics, rows: Coded, spans: Spans, weights: np.ndarray | None, settings: Settings
) -> SequenceStatistics:
    """Return the statistics with counts of the order that classifies held-out folds best."""
    layout, n_classes = found.layout, found.target.n_states
    log_prior = log_class_prior(settings.class_prior, found.target, found.class_weight)
    lines = count_contexts(rows, layout, spans, n_classes * FOLDS, weights, settings.n_jobs)
    folds = [lines[i : i + FOLDS] for i in range(0, len(lines), FOLDS)]  # class by class

    def score(fold: int) -> np.ndarray:
        """Return for each order the log-likelihood of the classes of a fold, given the other folds."""
        mine = spans.lines % FOLDS == fold
        held_out, classes = spans.spans[mine], spans.lines[mine] // FOLDS
        mass = np.ones(len(held_out)) if weights is None else weights[held_out[:, 0]]
        chains = [_without(parts, fold, layout, settings.strength) for parts in folds]
        found = [_log_shares(rows, held_out, layout, k, chains, log_prior) for k in range(layout.order + 1)]
        return np.array([mass @ np.maximum(s[np.arange(len(s)), classes], np.log(_CONFIDENT)) for s in found])

    scores = np.sum(map_threads(score, range(FOLDS), settings.n_jobs), axis=0)
    order = best_order(scores)
    whole = [merged(parts) for parts in folds]
    counts = tuple(summed(layout.cut(each.keys, order), each.counts) for each in whole)
    return replace(found, counted=counts, order=order, order_scores=tuple(scores.tolist()))


def _without(folds: Sequence[Counted], left_out: int, layout: Layout, strength: float | None) -> Chain:
    """Return the model of a class from all folds but one."""
    levels = levels_of(merged([fold for i, fold in enumerate(folds) if i != left_out]), layout)
    return levels, estimates_of(levels, layout.n_outcomes, strength)


def _log_shares(
    rows: Coded, spans: np.ndarray, layout: Layout, order: int, chains: Sequence[Chain], log_prior: np.ndarray
) -> np.ndarray:
    """Return log P(c | span), (n_spans, n_classes), by contexts of ``order`` letters."""
    depth, shorter = order + layout.has_places + 1, layout.with_order(order)
    scores = np.zeros((len(spans), len(log_prior)))
    table_of(shorter, [(levels[:depth], estimates[:depth]) for levels, estimates in chains]).add(rows, spans, scores)
    joint = (scores + log_prior).T
    lost = np.isneginf(joint.max(axis=0))
    return log_posterior(np.where(lost, log_prior[:, None], joint)).T


def bic_scores(layout: Layout, levels: Sequence[Level]) -> np.ndarray:
    """Return for each order the log-likelihood of a class minus its complexity."""
    frequencies = [level.counts / level.totals[level.context] for level in levels]
    stopped = [_likelihood(level.stopped, p) for level, p in zip(levels, frequencies, strict=True)]
    whole = [_likelihood(level.counts, p) for level, p in zip(levels, frequencies, strict=True)]
    likelihood = np.array([sum(stopped[:j]) + whole[j] for j in range(int(layout.has_places), len(levels))])
    n = float(levels[0].counts.sum())
    return likelihood - 0.5 * np.log(max(1.0, n)) * n_parameters(layout)  # a weight below 1 is no reward


def n_parameters(layout: Layout) -> np.ndarray:
    """Return the number of free parameters of each order.

    Examples
    --------
    >>> n_parameters(Layout(4, 2, ends=False)).tolist()
    [3.0, 12.0, 48.0]
    """
    size, orders = float(layout.n_symbols), range(layout.order + 1)
    if (n := layout.length) is not None:
        contexts = [sum(size**i for i in range(min(n, k))) + max(0, n - k) * size**k for k in orders]
    else:
        contexts = [size**k + (sum(size**a for a in range(k)) if layout.ends else 0.0) for k in orders]
    return np.array(contexts) * max(0, layout.n_outcomes - 1)


def _likelihood(counts: np.ndarray, p: np.ndarray) -> float:
    """Return Σ n log p over the counts above zero."""
    some = counts > 0.0
    return float(counts[some] @ np.log(p[some]))


# Files


def _belongs_together(found: SequenceStatistics, keys: np.ndarray, counts: np.ndarray) -> bool:
    layout = found.layout
    layout.check()
    check_symbols(found.alphabet)
    return bool(
        (found.length is None or (0 <= found.length <= max(_FEW, _SPARSE * len(keys)) and not found.ends))
        and list(found.alphabet) == sorted(set(found.alphabet))
        and keys.shape == counts.shape
        and all((np.diff(each.keys) > 0).all() for each in found.counted)
        and (counts > 0).all()
        and layout.are_contexts(keys // max(1, layout.n_outcomes))
    )
