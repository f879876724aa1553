"""The order: how many letters before a symbol are worth looking at.

* ``"cv"``: the order of greatest cross-validated likelihood of the classes, Σ log P(c | x). Sequences are dealt to five
  folds by what they hold, so that equal ones are left out together; what is longer than 256 symbols is cut into blocks,
  which go to the folds in turn and are classified one by one. Each is scored by what was learned from the other folds,
  the strengths of back-off included.
* ``"bic"``: the order of greatest log-likelihood of the sequences less ½ log n for each free parameter, Σ over classes
  of log P̂(sequences) − ½ d_k log n with d_k = (number of contexts) × (number of outcomes − 1), which finds the true
  order of a chain once there are enough symbols (Csiszár & Shields 2000). Contexts are those of full length, a place or
  the beginning included; all that are possible count, met or not.

The first asks how well classes are told apart, the second how well sequences are described: a longer context may
describe them better and yet blur the classes. BIC follows from counts alone, and is asked again whenever sequences are
added; cross-validation needs the sequences, and is done with the first ones. One order is chosen for all classes: the
lowest within 2 nats (a factor of e²) of the best.

References
----------
I. Csiszár, P. C. Shields (2000). The consistency of the BIC Markov order estimator. Annals of Statistics 28, 1601–1619.

R. W. Katz (1981). On some criteria for estimating the order of a Markov chain. Technometrics 23, 243–249.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._threads import map_threads
from tunbridge.classifiers.posteriors import log_posterior
from tunbridge.sequences.counting import Coded, Counted, Spans, merged
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.levels import Level, levels_of
from tunbridge.sequences.smoothing import estimates_of
from tunbridge.sequences.tables import Chain, table_of

FOLDS = 5
"""Parts of the data that are left out in turn."""

_CLEARLY = 2.0
_CONFIDENT = 1e-15  # what is left out costs no more than −log of this


class Judged(NamedTuple):
    """How orders are judged: weights of the sequences, log P(c), the strength of back-off (None: the best), threads."""

    weights: np.ndarray | None
    log_prior: np.ndarray
    strength: float | None
    n_jobs: int | None = None


def best_order(scores: np.ndarray) -> int:
    """Return the lowest order whose score is within 2 nats of the best.

    Examples
    --------
    >>> best_order(np.array([-120.0, -100.5, -99.9]))
    1
    """
    return int(np.argmax(scores >= scores.max() - _CLEARLY))


def cross_validated(
    rows: Coded,
    layout: Layout,
    spans: Spans,
    counted: Sequence[Counted],
    judged: Judged,
) -> np.ndarray:
    """Return for each order the log-likelihood of the classes of all spans, each fold given the others.

    ``spans`` go to lines of counts, class by class and in each fold by fold; ``counted`` are these lines.
    """
    log_prior, folds = judged.log_prior, [counted[i : i + FOLDS] for i in range(0, len(counted), FOLDS)]

    def of_fold(fold: int) -> np.ndarray:
        mine = spans.lines % FOLDS == fold
        held_out, classes = spans.spans[mine], spans.lines[mine] // FOLDS
        mass = np.ones(len(held_out)) if judged.weights is None else judged.weights[held_out[:, 0]]
        chains = [_without(parts, fold, layout, judged.strength) for parts in folds]
        scores = [_log_shares(rows, held_out, layout, k, chains, log_prior) for k in range(layout.order + 1)]
        return np.array([mass @ np.maximum(s[np.arange(len(s)), classes], np.log(_CONFIDENT)) for s in scores])

    return np.sum(map_threads(of_fold, range(FOLDS), judged.n_jobs), axis=0)


def _without(folds: Sequence[Counted], left_out: int, layout: Layout, strength: float | None) -> Chain:
    """Return what is learned of a class from all folds but one."""
    levels = levels_of(merged([fold for i, fold in enumerate(folds) if i != left_out]), layout)
    return levels, estimates_of(levels, layout.n_outcomes, strength)


def _log_shares(
    rows: Coded, spans: np.ndarray, layout: Layout, order: int, chains: Sequence[Chain], log_prior: np.ndarray
) -> np.ndarray:
    """Return log P(c | span), (n_spans, n_classes), by contexts of so many letters."""
    depth, shorter = order + layout.has_places + 1, layout.with_order(order)
    scores = np.zeros((len(spans), len(log_prior)))
    table_of(shorter, [(levels[:depth], estimates[:depth]) for levels, estimates in chains]).add(rows, spans, scores)
    joint = (scores + log_prior).T
    lost = np.isneginf(joint.max(axis=0))
    return log_posterior(np.where(lost, log_prior[:, None], joint)).T


def bic_scores(layout: Layout, levels: Sequence[Level]) -> np.ndarray:
    """Return for each order the log-likelihood of a class less its complexity."""
    frequencies = [level.counts / level.totals[level.context] for level in levels]
    stopped = [_likelihood(level.stopped, p) for level, p in zip(levels, frequencies, strict=True)]
    whole = [_likelihood(level.counts, p) for level, p in zip(levels, frequencies, strict=True)]
    likelihood = np.array([sum(stopped[:j]) + whole[j] for j in range(int(layout.has_places), len(levels))])
    n = float(levels[0].counts.sum())
    return likelihood - 0.5 * np.log(max(1.0, n)) * n_parameters(layout)  # less than a symbol is no reward


def n_parameters(layout: Layout) -> np.ndarray:
    """Return the number of free parameters of each order.

    Examples
    --------
    >>> n_parameters(Layout(4, 2, ends=False)).tolist()
    [3.0, 12.0, 48.0]
    """
    size, orders = float(layout.n_symbols), range(layout.order + 1)
    if layout.length is not None:
        contexts = [sum(size ** min(i, k) for i in range(layout.length)) for k in orders]
    else:
        contexts = [size**k + (sum(size**a for a in range(k)) if layout.ends else 0.0) for k in orders]
    return np.array(contexts) * max(0, layout.n_outcomes - 1)


def _likelihood(counts: np.ndarray, p: np.ndarray) -> float:
    """Return Σ n log p over what was met."""
    some = counts > 0.0
    return float(counts[some] @ np.log(p[some]))
