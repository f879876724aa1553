"""Whether what is called 70 % happens in 70 of 100 cases.

Rows are put into bins by the probability that was given to them. In bin b, with weight w_b, let p_b be the mean
probability and o_b the share in which it came true. The expected calibration error is their mean distance,

    ECE = Σ_b w_b |p_b − o_b| / Σ_b w_b,

0 where probabilities mean what they say. It says nothing about how far apart they are: who always predicts the
frequency of the class is perfectly calibrated, and useless.

References
----------
M. P. Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning. AAAI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_whole, did_you_mean, listed, shortened
from tunbridge.errors import DataError


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """What was predicted and what came true, in bins of probabilities; bins without rows are left out.

    Parameters
    ----------
    low, high : ndarray
        The borders of each bin.
    predicted, observed : ndarray
        The mean probability, and the share of the rows in which it came true.
    n_rows : ndarray
        The number (or weight) of the rows.
    """

    low: np.ndarray
    high: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    n_rows: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of what was predicted from what came true."""
        return float(self.n_rows @ np.abs(self.predicted - self.observed) / self.n_rows.sum())

    @property
    def largest_error(self) -> float:
        """The distance in the worst bin."""
        return float(np.abs(self.predicted - self.observed).max())

    def __str__(self) -> str:
        heads = ("probability", "rows", "predicted", "came true")
        lines = ["  ".join([f"{heads[0]:<11}", *(f"{h:>9}" for h in heads[1:])])]
        for a, b, p, o, n in zip(self.low, self.high, self.predicted, self.observed, self.n_rows, strict=True):
            between = f"{a:.3g} – {b:.3g}"
            lines.append(f"{between:<11}  {n:>9.6g}  {p:>9.3f}  {o:>9.3f}")
        return "\n".join([*lines, f"expected calibration error {self.error:.4f}"])

    __repr__ = __str__


def calibration_table(
    came_true: Any, probabilities: Any, *, n_bins: int = 10, sample_weight: Any = None
) -> CalibrationTable:
    """Return what was predicted and what came true in equally wide bins of probabilities.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,)
        The probability that was given to that class.
    n_bins : int
        The number of bins between 0 and 1.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Examples
    --------
    >>> calibration_table([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], n_bins=2)
    probability       rows  predicted  came true
    0 – 0.5              1      0.200      0.000
    0.5 – 1              3      0.867      1.000
    expected calibration error 0.1500
    """
    check_whole("n_bins", n_bins, low=1)
    p, y = _numbers("probabilities", probabilities), _numbers("came_true", came_true)
    if p.ndim != 1 or p.shape != y.shape or not p.size:
        raise DataError(f"came_true and probabilities must be equally long lists; got shapes {y.shape} and {p.shape}.")
    if not ((p >= 0) & (p <= 1)).all():
        raise DataError(f"probabilities must lie between 0 and 1; got {p[~((p >= 0) & (p <= 1))][0]}.")
    if not np.isin(y, (0.0, 1.0)).all():
        raise DataError("came_true must be a truth value a row. Compare the classes with one of them first.")
    w = np.ones(p.size) if sample_weight is None else _weights(sample_weight, p.size)
    where = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    rows, predicted, observed = (np.bincount(where, weights=v, minlength=n_bins) for v in (w, w * p, w * y))
    used = np.flatnonzero(rows > 0)
    return CalibrationTable(
        used / n_bins, (used + 1) / n_bins, predicted[used] / rows[used], observed[used] / rows[used], rows[used]
    )


def expected_calibration_error(
    true: Any,
    probabilities: Any,
    classes: Sequence[Any] | None = None,
    *,
    n_bins: int = 10,
    sample_weight: Any = None,
) -> float:
    """Return the mean distance of probabilities from the shares in which they came true.

    Parameters
    ----------
    true : array-like of shape (n_rows,)
        Whether each row is of the class; or its class, where there are probabilities of several.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_classes)
        The probability of the class. With a column for each class, the largest one of each row is held against
        whether that class is the true one.
    classes : sequence, optional
        The labels of the columns.
    n_bins, sample_weight
        As in :func:`calibration_table`.

    Examples
    --------
    >>> round(expected_calibration_error([True, False, True, True], [0.9, 0.2, 0.8, 0.9]), 3)
    0.15
    >>> round(expected_calibration_error(["a", "b"], [[0.9, 0.1], [0.7, 0.3]], classes=["a", "b"]), 3)
    0.4
    """
    shares = _numbers("probabilities", probabilities)
    if shares.ndim == 2:
        true, shares = _most_probable(true, shares, classes)
    return calibration_table(true, shares, n_bins=n_bins, sample_weight=sample_weight).error


def _most_probable(true: Any, shares: np.ndarray, classes: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the most probable class is the true one, and its probability."""
    labels = [] if classes is None else list(classes)
    if len(labels) != shares.shape[1] or not labels:
        got = "none" if classes is None else listed(labels)
        raise DataError(f"classes must name the {shares.shape[1]} columns of the probabilities; got {got}.")
    place = {label: i for i, label in enumerate(labels)}
    array = np.asarray(true)
    if array.shape != (len(shares),):
        raise DataError(f"there must be a true class for each of {len(shares)} rows; got shape {array.shape}.")
    values = array.tolist()
    for value in set(values):
        if value not in place:
            raise DataError(f"the true classes must be classes; got {value!r}. {did_you_mean(value, labels)}")
    return shares.argmax(axis=1) == np.array([place[v] for v in values]), shares.max(axis=1)


def _numbers(what: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given).astype(np.float64)
    except (TypeError, ValueError):
        hint = " Compare the classes with one of them first." if what == "came_true" else ""
        raise DataError(f"{what} must be numbers or truth values; got {shortened(repr(given))}.{hint}") from None


def _weights(given: Any, n_rows: int) -> np.ndarray:
    w = _numbers("sample_weight", given)
    if w.shape != (n_rows,) or not (np.isfinite(w) & (w >= 0)).all() or not w.sum() > 0:
        raise DataError(f"sample_weight must be {n_rows} finite numbers from 0, not all 0; got shape {w.shape}.")
    return w
