"""Whether events that are given a probability of 70 % happen in 70 of 100 cases.

Rows are put into bins by their predicted probability. In bin b, with weight w_b, let p_b be the mean probability and
o_b the share of positives. The expected calibration error is their mean distance,

    ECE = Σ_b w_b |p_b − o_b| / Σ_b w_b,

0 for perfectly calibrated probabilities. It does not measure how well they separate the classes: always predicting the
frequency of the class is perfectly calibrated, and useless.

References
----------
M. P. Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning. AAAI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_integer, listed
from tunbridge._core.grid import data_frame, grid_lines
from tunbridge.decisions.losses import numbers, true_codes
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """Predicted and observed frequencies in bins of probabilities; empty bins are left out.

    Parameters
    ----------
    low, high : ndarray
        The edges of each bin.
    predicted, observed : ndarray
        The mean predicted probability, and the share of the rows in which it came true.
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
        """The expected calibration error: the mean distance of predicted and observed frequencies."""
        return float(self.n_rows @ np.abs(self.predicted - self.observed) / self.n_rows.sum())

    @property
    def largest_error(self) -> float:
        """The distance in the worst bin."""
        return float(np.abs(self.predicted - self.observed).max())

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per bin: ``low``, ``high``, ``n_rows``, ``predicted``, ``observed``."""
        return data_frame({n: getattr(self, n) for n in ("low", "high", "n_rows", "predicted", "observed")})

    def __str__(self) -> str:
        bins = zip(self.low, self.high, self.n_rows, self.predicted, self.observed, strict=True)
        cells = [[f"{a:.3g} – {b:.3g}", f"{n:.6g}", f"{p:.3f}", f"{o:.3f}"] for a, b, n, p, o in bins]
        lines = grid_lines(["probability", f"{'rows':>9}", "predicted", "came true"], cells)
        return "\n".join([*lines, f"expected calibration error {self.error:.4f}"])

    __repr__ = __str__


def calibration_table(
    came_true: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 10, sample_weight: ArrayLike | None = None
) -> CalibrationTable:
    """Return predicted and observed frequencies in equally wide bins of probabilities.

    Parameters
    ----------
    came_true : array-like of shape (n_rows,)
        Whether the row is of the class, such as ``y == "yes"``.
    probabilities : array-like of shape (n_rows,)
        The predicted probability of that class.
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
    check_integer("n_bins", n_bins, low=1)
    p, y = _column("probabilities", probabilities), _column("came_true", came_true)
    if p.ndim != 1 or p.shape != y.shape or not p.size:
        raise DataError(f"came_true and probabilities must be equally long lists; got shapes {y.shape} and {p.shape}.")
    outside = p[~((p >= 0) & (p <= 1))]
    if outside.size:
        raise DataError(f"probabilities must lie between 0 and 1; got {outside[0]}.", parameter="probabilities")
    if not np.isin(y, (0.0, 1.0)).all():
        raise DataError(f"came_true must be a boolean a row. {_COMPARE}", parameter="came_true")
    w = np.ones(p.size) if sample_weight is None else _weights(sample_weight, p.size)
    where = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    rows, predicted, observed = (np.bincount(where, weights=v, minlength=n_bins) for v in (w, w * p, w * y))
    used = np.flatnonzero(rows > 0)
    return CalibrationTable(
        used / n_bins, (used + 1) / n_bins, predicted[used] / rows[used], observed[used] / rows[used], rows[used]
    )


def expected_calibration_error(
    true: ArrayLike,
    probabilities: ArrayLike,
    classes: Sequence[Any] | None = None,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean distance of probabilities from the frequencies with which they came true.

    Parameters
    ----------
    true : array-like of shape (n_rows,)
        Whether each row is of the class; or its class, if there are probabilities of several.
    probabilities : array-like of shape (n_rows,) or (n_rows, n_classes)
        The probability of the class. With a column for each class, the largest one of each row is compared with
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
    shares = _column("probabilities", probabilities)
    if shares.ndim == 2:
        labels = [] if classes is None else list(classes)
        if len(labels) != shares.shape[1] or not labels:
            got = "none" if classes is None else listed(labels)
            raise DataError(f"classes must name the {shares.shape[1]} columns of the probabilities; got {got}.")
        true = shares.argmax(axis=1) == true_codes(true, labels, len(shares), "rows")
        shares = shares.max(axis=1)
    return calibration_table(true, shares, n_bins=n_bins, sample_weight=sample_weight).error


_COMPARE = "Compare the classes with one of them first."


def _column(what: str, given: ArrayLike) -> np.ndarray:
    return numbers(what, given, "numbers or booleans", _COMPARE if what == "came_true" else "")


def _weights(given: ArrayLike, n_rows: int) -> np.ndarray:
    w = _column("sample_weight", given)
    if w.shape != (n_rows,) or not (np.isfinite(w) & (w >= 0)).all() or not w.sum() > 0:
        raise DataError(
            f"sample_weight must be {n_rows} finite numbers from 0, not all 0; got shape {w.shape}.",
            parameter="sample_weight",
        )
    return w
