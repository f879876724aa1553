"""Back-off: what was seldom met in a context is estimated from the context with one item less.

With m imagined symbols at each level,

    P_j(s | context) = (n(context, s) + m_j P_{j−1}(s | shorter context)) / (n(context) + m_j),

down to the bag of letters P_0(s) = (n(s) + m_0 / r) / (n + m_0), which is drawn towards the uniform distribution over
the r outcomes. It is the mean of a Dirichlet distribution around the estimate of the level below (MacKay & Peto 1995),
and the same as backing off: an outcome that was never met in a context gets what the context leaves, m / (n + m), times
its probability in the shorter one; in a context that was never met itself, exactly that probability.

**How strong.** The automatic strength of a level is the one under which every symbol is predicted best by all others:
it maximises the leave-one-out (deleted) likelihood

    Σ n(context, s) log [(n(context, s) − 1 + m P⁻_{j−1}(s)) / (n(context) − 1 + m)] − (log₁₀ m)² / 2,

where P⁻ is the level below without that symbol too. The last term is a weak opinion that m is within a few factors of
ten of one symbol; it decides where there is hardly anything to learn m from. On letters of words, DNA and proteins this
predicted held-out sequences better than m = the number of different outcomes met in a context (Witten & Bell 1991), and
as well as discounting besides (Teh 2006), which costs one more number a level.

References
----------
D. J. C. MacKay, L. C. Peto (1995). A hierarchical Dirichlet language model. Natural Language Engineering 1, 289–308.

I. H. Witten, T. C. Bell (1991). The zero-frequency problem: estimating the probabilities of novel events in adaptive
text compression. IEEE Transactions on Information Theory 37, 1085–1094.

H. Ney, U. Essen, R. Kneser (1995). On the estimation of small probabilities by leaving-one-out. IEEE Transactions on
Pattern Analysis and Machine Intelligence 17, 1202–1212.

Y. W. Teh (2006). A hierarchical Bayesian language model based on Pitman–Yor processes. ACL, 985–992.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tunbridge.sequences.levels import Level

_WEAKEST = 1e-3
_SPREAD = float(np.log(10.0))
_STEPS, _SECTIONS = 9, 8
_GOLDEN = 0.6180339887498949


class Estimate(NamedTuple):
    """The probabilities of one level.

    Attributes
    ----------
    strength : float
        m, the number of imagined symbols.
    cells : ndarray
        P(s | context) of each cell of the level.
    leaves : ndarray
        The probability that each context leaves to the level below.
    without : ndarray
        P(s | context) of each cell, learned from all symbols but one of its own.
    """

    strength: float
    cells: np.ndarray
    leaves: np.ndarray
    without: np.ndarray


def estimates_of(levels: Sequence[Level], n_outcomes: int, strength: float | None) -> list[Estimate]:
    """Return the estimates level by level, with a strength or the best of each level (None).

    Examples
    --------
    >>> from tunbridge.sequences.counting import Counted
    >>> from tunbridge.sequences.layout import Layout
    >>> from tunbridge.sequences.levels import levels_of
    >>> counted = Counted(np.array([0, 5, 6]), np.array([2.0, 1.0, 1.0]))  # a after nothing, b after a, a after b
    >>> bag, pairs = estimates_of(levels_of(counted, Layout(2, 1, ends=False)), 2, 1.0)
    >>> bag.cells.tolist(), pairs.cells.tolist(), pairs.leaves.tolist()
    ([0.7, 0.3], [0.65, 0.85], [0.5, 0.5])
    """
    found: list[Estimate] = []
    for level in levels:
        base = found[-1].cells[level.below] if found else np.full(len(level.cells), 1.0 / max(1, n_outcomes))
        base_without = found[-1].without[level.below] if found else base
        m = _best_strength(level, base_without) if strength is None else strength
        found.append(_estimate(level, base, base_without, m))
    return found


def _estimate(level: Level, base: np.ndarray, base_without: np.ndarray, m: float) -> Estimate:
    n, total, one = level.counts, level.totals[level.context], np.minimum(level.counts, 1.0)
    rest = total - one + m
    without = np.divide(n - one + m * base_without, rest, out=base_without.copy(), where=rest > 0.0)
    return Estimate(m, (n + m * base) / (total + m), m / (level.totals + m), without)


def _best_strength(level: Level, base_without: np.ndarray) -> float:
    """Return the strength under which every symbol is predicted best by the others: on a grid, then by sections."""
    one = np.minimum(level.counts, 1.0)
    rest = level.totals[level.context] - one
    told = rest > 0.0  # a context's only symbol tells nothing about m
    cells = level.counts[told], (level.counts - one)[told], rest[told], base_without[told]
    tried = np.linspace(np.log(_WEAKEST), max(0.0, float(np.log(max(1.0, level.totals.sum())))), _STEPS)
    best = int(np.argmax([_left_out(log_m, *cells) for log_m in tried.tolist()]))
    low, high = tried[max(0, best - 1)], tried[min(_STEPS - 1, best + 1)]
    return float(np.exp(_golden(lambda log_m: _left_out(log_m, *cells), float(low), float(high))))


def _golden(score: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one peak between two points is about greatest."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = score(a), score(b)
    for _ in range(_SECTIONS):
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = score(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = score(b)
    return a if at_a >= at_b else b


def _left_out(log_m: float, n: np.ndarray, others: np.ndarray, rest: np.ndarray, base: np.ndarray) -> float:
    """Return the log-likelihood of every symbol given all others, and the opinion about m."""
    m = np.exp(log_m)
    return float(n @ np.log((others + m * base) / (rest + m))) - 0.5 * (log_m / _SPREAD) ** 2
