"""Minimum-risk decisions.

With λ_ij the loss of choosing j when i is true and P(i | x) the posterior, the risk of choosing j is

    R(j | x) = Σ_i λ_ij P(i | x),

and the choice of least risk is the best one can do. The 0–1 loss (λ_ii = 0, else 1) gives the most probable class, and
so the fewest errors; a reject option is one more choice, «no decision», whose loss is the same whatever is true. The
losses may be others in every row, and the choices need not be classes.

References
----------
C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16, 41–46.
C. Elkan (2001). The foundations of cost-sensitive learning. IJCAI, 973–978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_number, counted, did_you_mean, listed, shortened
from tunbridge.decisions.losses import loss_matrix, utility_losses
from tunbridge.errors import DataError

REJECT = -1
"""What stands for «no decision» among the indices of choices."""

_SHOWN = 8
_ROUNDED = 0.005  # what two digits leave out


@dataclass(frozen=True, eq=False)
class Decisions:
    """The choices of least risk for several rows, and what they are expected to cost.

    Parameters
    ----------
    choices : ndarray of int
        Index of what is chosen for each row; −1 for no decision.
    risks : ndarray
        The risk (expected loss) of each choice; NaN in rows that had no probabilities.
    losses : ndarray, optional
        λ_ij, or one such matrix a row.
    reject : ndarray, optional
        The loss of no decision.
    classes, options : tuple
        The labels of the classes, and of what can be chosen.
    """

    choices: np.ndarray
    risks: np.ndarray
    losses: np.ndarray | None = None
    reject: np.ndarray | None = None
    classes: tuple[Any, ...] = ()
    options: tuple[Any, ...] = ()

    @property
    def labels(self) -> np.ndarray:
        """What is chosen for each row; None for no decision."""
        options = np.array(self.options)
        if self.reject is None and (self.choices != REJECT).all():
            return options[self.choices]
        found = options[self.choices].astype(object)
        found[self.choices == REJECT] = None
        return found

    @property
    def total_risk(self) -> float:
        """The sum of the expected losses, over the rows that have one."""
        return float(np.nansum(self.risks))

    @property
    def mean_risk(self) -> float:
        """The expected loss a row."""
        known = int((~np.isnan(self.risks)).sum())
        return self.total_risk / known if known else float("nan")

    @property
    def n_rejected(self) -> int:
        """The number of rows without a decision."""
        return int((self.choices == REJECT).sum())

    def costs(self, true: Any) -> np.ndarray:
        """Return what each decision did cost, given the true classes: the sum is to be compared with ``total_risk``.

        Examples
        --------
        >>> found = decide([[0.2, 0.8], [0.4, 0.6]], ["ill", "well"], {"ill": 10})
        >>> found.labels.tolist(), found.costs(["well", "ill"]).tolist(), found.total_risk
        (['ill', 'ill'], [1.0, 0.0], 1.4)
        """
        codes = _codes(true, self.classes, len(self.choices))
        losses, rows = self.losses, np.arange(len(codes))
        if losses is None:
            raise DataError("costs must follow from losses; these decisions were made without them.")
        taken = losses[codes, self.choices] if losses.ndim == 2 else losses[rows, codes, self.choices]
        asked = np.nan if self.reject is None else self.reject
        return np.where(self.choices == REJECT, asked, taken)

    def __str__(self) -> str:
        chosen = np.bincount(self.choices[self.choices != REJECT], minlength=len(self.options))
        told = [f"{shortened(str(o))} {n}" for o, n in zip(self.options, chosen, strict=False)][:_SHOWN]
        if len(self.options) > _SHOWN:
            told.append("…")
        if self.n_rejected:
            told.append(f"none {self.n_rejected}")
        what = f"{counted(len(self.choices), 'decision')}{': ' if told else ''}{', '.join(told)}"
        return f"{what}; expected loss {self.mean_risk:.4g} a row, {self.total_risk:.4g} in all"

    __repr__ = __str__


def decide(
    probabilities: Any,
    classes: Sequence[Any],
    loss: Any = None,
    *,
    utility: Any = None,
    actions: Sequence[Any] | None = None,
    reject: Any = None,
) -> Decisions:
    """Return the choice of least expected loss for each row of posterior probabilities, from any classifier.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        P(i | x), in the order of the classes.
    classes : sequence
        The class labels.
    loss : None, array-like, pandas frame, or mapping
        What it costs to choose j when i is true, as in :func:`loss_matrix`; ``None`` for the fewest errors.
    utility : array-like, pandas frame, or mapping, optional
        What it is worth, instead, as in :func:`utility_losses`; a risk is then an expected utility below zero.
    actions : sequence, optional
        What can be chosen, where that is not a class.
    reject : float or array-like of shape (n_rows,), optional
        The loss of no decision; rows whose every choice risks more get none.

    Returns
    -------
    Decisions

    Examples
    --------
    >>> posteriors = [[0.04, 0.96], [0.2, 0.8]]
    >>> decide(posteriors, ["ill", "well"], {"ill": {"well": 20}})
    2 decisions: ill 1, well 1; expected loss 0.8 a row, 1.6 in all
    >>> decide(posteriors, ["ill", "well"], [[1, 20], [4, 0]], actions=["treat", "wait"]).labels.tolist()
    ['wait', 'treat']
    >>> decide(posteriors, ["ill", "well"], {"ill": [10, 100]}).labels.tolist()
    ['well', 'ill']
    """
    if loss is not None and utility is not None:
        raise DataError("a decision must have losses or utilities; got both.")
    shares = _probabilities(probabilities)
    labels = list(classes)
    if len(labels) != shares.shape[1]:
        raise DataError(f"classes must name the {shares.shape[1]} columns of the probabilities; got {listed(labels)}.")
    stated, given = (loss_matrix, loss) if utility is None else (utility_losses, utility)
    losses = stated(given, labels, actions=actions, n_rows=len(shares))
    found = minimum_risk(shares, losses, reject=reject)
    options = tuple(labels if actions is None else [actions] if isinstance(actions, str) else actions)
    return Decisions(found.choices, found.risks, losses, found.reject, tuple(labels), options)


def minimum_risk(probabilities: Any, loss: np.ndarray, *, reject: Any = None) -> Decisions:
    """Return the choice of least risk for each row of posterior probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        P(i | x). A row that is not known (NaN) gets no decision.
    loss : array-like of shape (n_classes, n_choices), or (n_rows, n_classes, n_choices)
        λ_ij, the loss of choosing j when i is true.
    reject : float or array-like of shape (n_rows,), optional
        The loss of no decision; rows whose every choice risks more are rejected. ``None``: always decide.

    Examples
    --------
    >>> import numpy as np
    >>> found = minimum_risk(np.array([[0.2, 0.8]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    >>> found.choices.tolist(), found.risks.tolist()
    ([0], [0.8])
    """
    shares, losses = _probabilities(probabilities), _numbers("the losses", loss)
    fits = losses.ndim == 2 or (losses.ndim == 3 and len(losses) == len(shares))
    if not fits or losses.shape[-2] != shares.shape[1]:
        raise DataError(
            f"the losses must be a matrix with a row for each of {shares.shape[1]} classes, or one such matrix for "
            f"each of {len(shares)} rows; got shape {losses.shape}."
        )
    if not np.isfinite(losses).all():
        raise DataError(f"the losses must be finite; got {losses[~np.isfinite(losses)][0]}.")
    risks = shares @ losses if losses.ndim == 2 else np.einsum("ri,rij->rj", shares, losses)
    choices = risks.argmin(axis=1)
    least = risks[np.arange(len(risks)), choices]
    limit = None if reject is None else _reject(reject, len(shares))
    if limit is not None:
        choices, least = np.where(least > limit, REJECT, choices), np.where(least > limit, limit, least)
    return Decisions(np.where(np.isnan(least), REJECT, choices), least, losses, limit)


def _probabilities(given: Any) -> np.ndarray:
    """Return posteriors; raise unless they lie between 0 and 1 and sum to one, but for what rounding does to them."""
    shares = _numbers("probabilities", given)
    if shares.ndim != 2 or not shares.shape[1]:
        raise DataError(f"probabilities must be a table, rows × classes; got shape {shares.shape}.")
    outside = shares[(shares < -_ROUNDED) | (shares > 1 + _ROUNDED)]
    if outside.size:
        raise DataError(f"probabilities must lie between 0 and 1; got {outside[0]:g}.")
    total = shares.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1.0) > _ROUNDED * (1 + shares.shape[1]))
    if off.size:
        raise DataError(f"probabilities must sum to one; those of row {off[0] + 1} sum to {total[off[0]]:g}.")
    return shares


def _numbers(what: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be a table of numbers; got {shortened(repr(given))}.") from None


def _reject(given: Any, n_rows: int) -> np.ndarray:
    if np.ndim(given) == 0:
        return np.full(n_rows, check_number("the loss of a rejection", given))
    limit = _numbers("the loss of a rejection", given)
    if limit.shape != (n_rows,):
        rule = f"the loss of a rejection must be a number, or one for each of {n_rows} rows"
        raise DataError(f"{rule}; got an array of shape {limit.shape}.")
    if not np.isfinite(limit).all():
        raise DataError(f"the loss of a rejection must be finite; it is {limit[~np.isfinite(limit)][0]} in some row.")
    return limit


def _codes(true: Any, classes: Sequence[Any], n_rows: int) -> np.ndarray:
    """Return the places of the true classes among the classes."""
    array = np.asarray(true)
    if array.shape != (n_rows,):
        got = f"{len(array)}" if array.ndim == 1 else f"an array of shape {array.shape}"
        raise DataError(f"there must be a true class for each of {n_rows} decisions; got {got}.")
    values = array.tolist()
    place: dict[Any, int] = {str(c): i for i, c in enumerate(classes)}
    place |= {c: i for i, c in enumerate(classes)}
    for value in set(values):
        if value not in place and str(value) not in place:
            raise DataError(f"the true classes must be classes; got {value!r}. {did_you_mean(value, classes)}")
    return np.array([place[v] if v in place else place[str(v)] for v in values], np.int64)
