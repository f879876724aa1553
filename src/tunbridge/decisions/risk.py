"""Minimum-risk decisions.

With λ_ij the loss of choosing j when i is true and P(i | x) the posterior, the risk of choosing j is

    R(j | x) = Σ_i λ_ij P(i | x),

and the choice of least risk is the best one can do. The 0–1 loss (λ_ii = 0, else 1) gives the most probable class; a
reject option is one more choice, «no decision», whose loss is the same whatever is true.

References
----------
C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16, 41–46.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_number, did_you_mean, listed
from tunbridge.errors import DataError

REJECT = -1
"""What stands for «no decision» among the indices of choices."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """The choices of least risk for several rows.

    Parameters
    ----------
    choices : ndarray of int
        Index of the class chosen for each row; −1 for no decision.
    risks : ndarray
        The risk (expected loss) of each choice.
    """

    choices: np.ndarray
    risks: np.ndarray


def loss_matrix(loss: Any, classes: Sequence[Any]) -> np.ndarray:
    """Return the matrix λ_ij, rows the true and columns the chosen class, in the order of the classes.

    Parameters
    ----------
    loss : array-like of shape (n_classes, n_classes), pandas frame, or mapping
        An array in the order of the classes; a frame with the true classes as index and the chosen ones as columns; or
        a mapping ``{true: {chosen: loss}}``. Pairs that are not named cost 0 if equal, else 1.
    classes : sequence
        The class labels.

    Examples
    --------
    >>> loss_matrix({"ill": {"well": 10}}, ["ill", "well"]).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    labels = list(classes)
    if hasattr(loss, "index") and hasattr(loss, "columns"):  # a frame: its labels say which row and column is which
        loss = loss.T.to_dict()
    if isinstance(loss, Mapping):
        return _from_mapping(loss, labels)
    try:
        matrix = np.array(loss, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the loss must be a matrix of numbers or a mapping of mappings; got {loss!r}.") from None
    if matrix.shape != (len(labels), len(labels)):
        raise DataError(
            f"the loss matrix must be {len(labels)} × {len(labels)}, a row for each true and a column for each chosen "
            f"class of {listed(labels)}; got shape {matrix.shape}."
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        i, j = bad[0]
        raise DataError(
            f"losses must be finite numbers; that of choosing {labels[j]!r} for {labels[i]!r} is {matrix[i, j]}."
        )
    return matrix


def minimum_risk(probabilities: np.ndarray, loss: np.ndarray, *, reject: float | None = None) -> Decisions:
    """Return the choice of least risk for each row of posterior probabilities.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        P(i | x).
    loss : ndarray of shape (n_classes, n_classes)
        λ_ij, the loss of choosing j when i is true.
    reject : float, optional
        The loss of no decision; rows whose every choice risks more are rejected. ``None``: always decide.

    Examples
    --------
    >>> import numpy as np
    >>> found = minimum_risk(np.array([[0.2, 0.8]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    >>> found.choices.tolist(), found.risks.tolist()
    ([0], [0.8])
    """
    risks = probabilities @ loss
    choices = risks.argmin(axis=1)
    least = risks[np.arange(len(risks)), choices]
    if reject is None:
        return Decisions(choices, least)
    limit = check_number("the loss of a rejection", reject)
    return Decisions(np.where(least > limit, REJECT, choices), np.minimum(least, limit))


def _from_mapping(loss: Mapping[Any, Any], labels: list[Any]) -> np.ndarray:
    matrix = 1.0 - np.eye(len(labels))
    for true, row in loss.items():
        if not isinstance(row, Mapping):
            raise DataError(f"the loss must map each true class to {{chosen: loss}}; got {row!r} for {true!r}.")
        for chosen, value in row.items():
            i, j = _index(true, labels), _index(chosen, labels)
            matrix[i, j] = check_number(f"the loss of choosing {chosen!r} for {true!r}", value)
    return matrix


def _index(label: Any, labels: list[Any]) -> int:
    for i, known in enumerate(labels):
        if known == label or str(known) == str(label):
            return i
    raise DataError(f"the loss must name classes; got {label!r}. {did_you_mean(label, labels)}")
