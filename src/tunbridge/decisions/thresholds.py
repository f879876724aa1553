"""Two classes: a loss matrix is a threshold.

Calling a row positive costs λ_tp if it is and λ_fp if it is not; calling it negative λ_fn and λ_tn. With p the
probability that it is positive, the first is the cheaper choice as soon as p λ_tp + (1 − p) λ_fp is no more than
p λ_fn + (1 − p) λ_tn, that is from

    p* = (λ_fp − λ_tn) / ((λ_fp − λ_tn) + (λ_fn − λ_tp))

on. Where right decisions cost nothing only the ratio of the two mistakes counts: if missing a positive costs r times a
false alarm, p* = 1/(1 + r).

References
----------
C. Elkan (2001). The foundations of cost-sensitive learning. IJCAI, 973–978 (equation 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunbridge._check import listed, shortened
from tunbridge.decisions.losses import loss_matrix, position
from tunbridge.errors import DataError


def threshold_from_costs(
    *, false_positive: Any = 1.0, false_negative: Any = 1.0, true_positive: Any = 0.0, true_negative: Any = 0.0
) -> Any:
    """Return the probability of the positive class from which it is cheaper to call a row positive.

    Parameters
    ----------
    false_positive, false_negative : float or array-like
        What a false alarm costs, and what a missed positive costs; arrays for one cost a row.
    true_positive, true_negative : float or array-like
        What right decisions cost; a gain is below zero.

    Returns
    -------
    float, or ndarray where some cost is an array

    Examples
    --------
    >>> threshold_from_costs(false_negative=4)
    0.2
    >>> threshold_from_costs(false_positive=100, false_negative=[100, 900, 1900], true_positive=0).tolist()
    [0.5, 0.1, 0.05]
    """
    tp, fp = _number("true_positive", true_positive), _number("false_positive", false_positive)
    fn, tn = _number("false_negative", false_negative), _number("true_negative", true_negative)
    scale = _power_of_two(tp, fp, fn, tn)  # sums of huge costs are finite, and the others as exact as they were
    alarm, miss = np.broadcast_arrays(fp / scale - tn / scale, fn / scale - tp / scale)
    bad = (alarm < 0) | (miss < 0) | (alarm + miss <= 0)
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        raise DataError(
            "a wrong decision must cost at least as much as the right one, and one of the two more; got "
            f"{alarm[first] * scale:g} more for a false positive and {miss[first] * scale:g} more for a false negative."
        )
    found = alarm / (alarm + miss)
    return float(found) if found.ndim == 0 else found


def threshold_from_loss(loss: Any, classes: Sequence[Any], positive: Any) -> Any:
    """Return the probability of one of two classes from which it is cheaper to choose it.

    Parameters
    ----------
    loss : array-like, pandas frame, or mapping
        The losses, as in :func:`loss_matrix`; where they differ by row, so do the thresholds.
    classes : sequence
        The two class labels.
    positive : object
        The class that the threshold is for.

    Examples
    --------
    >>> threshold_from_loss({"bad": 5, "good": 1}, ["bad", "good"], "bad").__round__(4)
    0.1667
    """
    labels = list(classes)
    if len(labels) != 2:
        raise DataError(f"a threshold must stand between two classes; got {listed(labels)}.")
    p = position("positive must be one of the classes", positive, labels)
    matrix, n = loss_matrix(loss, labels), 1 - p
    return threshold_from_costs(
        true_positive=matrix[..., p, p],
        false_negative=matrix[..., p, n],
        false_positive=matrix[..., n, p],
        true_negative=matrix[..., n, n],
    )


def _power_of_two(*costs: np.ndarray) -> float:
    """Return a power of two near the largest of some costs."""
    largest = max(float(np.abs(cost).max(initial=0.0)) for cost in costs)
    return 2.0 ** min(int(np.frexp(largest)[1]), 1023) if largest > 0 else 1.0


def _number(what: str, value: Any) -> np.ndarray:
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise DataError(f"{what} must be a finite number, or one a row; got {shortened(repr(value))}.")
    return found
