"""From sequences and their classes to what is kept of them, the order chosen where that needs the sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import warn_user
from tunbridge.classifiers.posteriors import log_class_prior
from tunbridge.data import Variable
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.sequences.alphabets import Rules
from tunbridge.sequences.counting import (
    Coded,
    Spans,
    class_spans,
    coded,
    count_contexts,
    fold_spans,
    merged,
    summed,
)
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.model import check_lengths
from tunbridge.sequences.orders import FOLDS, Judged, best_order, cross_validated
from tunbridge.sequences.sequence_rows import Sequences
from tunbridge.sequences.statistics import SequenceStatistics
from tunbridge.sequences.symbols import told_symbols


class Settings(NamedTuple):
    """How sequences are learned from.

    Attributes
    ----------
    rules : Rules
        What counts as which symbol.
    order : int
        The letters of a context, or the most that are tried.
    cross_validate : bool
        Whether the order is chosen by classifying what is left out.
    ends, places : bool
        Whether the beginning and the end are known; whether the place is part of every context.
    strength : float or None
        The imagined symbols of each level of back-off; None for the best.
    class_prior : object
        The prior of the classes, as it was given.
    n_jobs : int or None
        Threads.
    """

    rules: Rules
    order: int
    cross_validate: bool
    ends: bool
    places: bool
    strength: float | None
    class_prior: Any
    n_jobs: int | None


def gather(
    rows: Sequences,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    before: SequenceStatistics | None,
    settings: Settings,
) -> SequenceStatistics:
    """Return the statistics of sequences; with some from before, of their length and of the order chosen then."""
    rows, classes, weights = _of_weight(rows, classes, weights)
    length = _length(rows, before) if settings.places else None
    alphabet = settings.rules.alphabet({*rows.met(settings.n_jobs), *rows.expected})
    _tell_others(settings.rules, rows, alphabet)
    order = settings.order if before is None or not settings.cross_validate else _settled_order(before)
    layout = Layout(len(alphabet), order, settings.ends and not settings.places, length)
    layout.check()
    own = coded(settings.rules.codes(rows, alphabet, settings.n_jobs), rows.offsets, len(alphabet))
    weight = np.bincount(classes, weights, minlength=target.n_states).astype(np.float64)
    found = SequenceStatistics(target, weight, alphabet, (), order, layout.ends, length, rows.column)
    if settings.cross_validate and before is None:
        spans = fold_spans(rows.offsets, classes, rows.keys(0), FOLDS)
        return _with_best_order(found, own, spans, weights, settings)
    spans = class_spans(rows.offsets, classes)
    return replace(found, counted=tuple(count_contexts(own, layout, spans, len(weight), weights, settings.n_jobs)))


def _with_best_order(
    found: SequenceStatistics, rows: Coded, spans: Spans, weights: np.ndarray | None, settings: Settings
) -> SequenceStatistics:
    """Return the statistics with counts of the order under which parts left out are classified best."""
    layout, n_classes = found.layout, found.target.n_states
    log_prior = log_class_prior(settings.class_prior, found.target, found.class_weight)
    parts = count_contexts(rows, layout, spans, n_classes * FOLDS, weights, settings.n_jobs)
    judged = Judged(weights, log_prior, settings.strength, settings.n_jobs)
    scores = cross_validated(rows, layout, spans, parts, judged)
    order = best_order(scores)
    whole = [merged(parts[c * FOLDS : (c + 1) * FOLDS]) for c in range(n_classes)]
    counted = tuple(summed(layout.cut(each.keys, order), each.counts) for each in whole)
    return replace(found, counted=counted, order=order, order_scores=tuple(scores.tolist()))


def _of_weight(
    rows: Sequences, classes: np.ndarray, weights: np.ndarray | None
) -> tuple[Sequences, np.ndarray, np.ndarray | None]:
    """Return the sequences that weigh anything."""
    if weights is None or (weights > 0).all():
        return rows, classes, weights
    return rows.take(weights > 0), classes[weights > 0], weights[weights > 0]


def _length(rows: Sequences, before: SequenceStatistics | None) -> int:
    """Return the length of aligned sequences, 0 where all are empty."""
    known = before.length if before is not None else None
    some = rows.lengths[rows.lengths > 0]
    length = known or (int(some[0]) if len(some) else 0)
    check_lengths(rows, length)
    return length


def _settled_order(before: SequenceStatistics) -> int:
    """Return the order that cross-validation has chosen before."""
    if not before.order_scores:
        raise DataError(
            "order must stay as it was when further sequences are learned from; got 'cv', which needs the sequences "
            "from before too. Call fit to begin anew."
        )
    return before.order


def _tell_others(rules: Rules, rows: Sequences, alphabet: tuple[Any, ...]) -> None:
    """Warn of symbols that are not in the alphabet that was given."""
    if rules.given is not None and (others := rules.unknown(rows, alphabet)):
        hint = "Call them gaps if that is meant; ignore_case takes capitals and small letters for the same."
        warn_user(
            f"symbols that are not in the alphabet count as missing: {told_symbols(others)}. {hint}",
            UnseenStateWarning,
        )
