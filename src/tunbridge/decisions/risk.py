"""Minimum-risk decisions.

With λ_ij the loss of choosing j when i is true and P(i | x) the posterior, the risk of choosing j is

    R(j | x) = Σ_i λ_ij P(i | x),

and the best choice is the one of least risk. The 0–1 loss (λ_ii = 0, else 1) gives the most probable class, and so the
fewest errors; a reject option is one more choice, «no decision», whose loss is the same for every true class. The
losses may differ from row to row, and the choices need not be classes.

References
----------
C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16, 41–46.
C. Elkan (2001). The foundations of cost-sensitive learning. IJCAI, 973–978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, counted, listed, shortened
from tunbridge._core.grid import data_frame
from tunbridge.decisions.losses import Losses, loss_matrix, numbers, true_codes, utility_losses
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas

REJECT = -1
"""The index that means «no decision» among those of the choices."""

_SHOWN = 8
_ROUNDED = 0.005  # the rounding error of two digits


@dataclass(frozen=True, eq=False)
class Decisions:
    """The choices of least risk for several rows, and their expected losses.

    Parameters
    ----------
    choices : ndarray of int
        The index of the choice for each row; −1 for no decision.
    risks : ndarray
        The risk (expected loss) of each choice; NaN in rows without probabilities.
    losses : ndarray, optional
        λ_ij, or one such matrix per row.
    reject : ndarray, optional
        The loss of no decision.
    classes, options : tuple
        The labels of the classes, and of the choices.
    """

    choices: np.ndarray
    risks: np.ndarray
    losses: np.ndarray | None = None
    reject: np.ndarray | None = None
    classes: tuple[Any, ...] = ()
    options: tuple[Any, ...] = ()

    @property
    def labels(self) -> np.ndarray:
        """The choice for each row; None for no decision."""
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
        """The expected loss per row."""
        known = int((~np.isnan(self.risks)).sum())
        return self.total_risk / known if known else float("nan")

    @property
    def n_rejected(self) -> int:
        """The number of rows without a decision."""
        return int((self.choices == REJECT).sum())

    def costs(self, true: ArrayLike) -> np.ndarray:
        """Return the loss of each decision, given the true classes; compare the sum with ``total_risk``.

        Examples
        --------
        >>> found = decide([[0.2, 0.8], [0.4, 0.6]], ["diseased", "healthy"], {"diseased": 10})
        >>> found.labels.tolist(), found.costs(["healthy", "diseased"]).tolist(), found.total_risk
        (['diseased', 'diseased'], [1.0, 0.0], 1.4)
        """
        codes = true_codes(true, self.classes, len(self.choices), "decisions")
        losses, rows = self.losses, np.arange(len(codes))
        if losses is None:
            raise DataError("costs must be computed from losses; these decisions were made without them.")
        taken = losses[codes, self.choices] if losses.ndim == 2 else losses[rows, codes, self.choices]
        rejected = np.nan if self.reject is None else self.reject
        return np.where(self.choices == REJECT, rejected, taken)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per decision: ``choice`` (None for no decision) and ``risk``."""
        labels = self.labels if self.options else self.choices
        return data_frame({"choice": labels, "risk": self.risks})

    def __str__(self) -> str:
        chosen = np.bincount(self.choices[self.choices != REJECT], minlength=len(self.options))
        shown = [f"{shortened(str(o))} {n}" for o, n in zip(self.options, chosen, strict=False)][:_SHOWN]
        if len(self.options) > _SHOWN:
            shown.append("…")
        if self.n_rejected:
            shown.append(f"none {self.n_rejected}")
        what = f"{counted(len(self.choices), 'decision')}{': ' if shown else ''}{', '.join(shown)}"
        return f"{what}; expected loss {self.mean_risk:.4g} a row, {self.total_risk:.4g} in all"

    __repr__ = __str__


def decide(
    probabilities: ArrayLike,
    classes: Sequence[Any],
    loss: Losses = None,
    *,
    utility: Losses = None,
    actions: Sequence[Any] | None = None,
    reject: ArrayLike | None = None,
) -> Decisions:
    """Return the choice of least expected loss for each row of posterior probabilities, from any classifier.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        P(i | x), in the order of the classes.
    classes : sequence
        The class labels.
    loss : None, array-like, pandas frame, or mapping
        The loss of choosing j when i is true, as in :func:`loss_matrix`; ``None`` for the fewest errors.
    utility : array-like, pandas frame, or mapping, optional
        Utilities instead of losses, as in :func:`utility_losses`; a risk is then a negative expected utility.
    actions : sequence, optional
        What can be chosen, if not a class.
    reject : float or array-like of shape (n_rows,), optional
        The loss of no decision; rows in which every choice has a larger risk get no decision.

    Returns
    -------
    Decisions

    Examples
    --------
    >>> posteriors = [[0.04, 0.96], [0.2, 0.8]]
    >>> states = ["diseased", "healthy"]
    >>> decide(posteriors, states, {"diseased": {"healthy": 20}})
    2 decisions: diseased 1, healthy 1; expected loss 0.8 a row, 1.6 in all
    >>> decide(posteriors, states, [[1, 20], [4, 0]], actions=["treat", "wait"]).labels.tolist()
    ['wait', 'treat']
    >>> decide(posteriors, states, {"diseased": [10, 100]}).labels.tolist()
    ['healthy', 'diseased']
    """
    if loss is not None and utility is not None:
        raise DataError("a decision must have losses or utilities; got both.", parameter="utility")
    shares = _probabilities(probabilities)
    labels = list(classes)
    if len(labels) != shares.shape[1]:
        raise DataError(f"classes must name the {shares.shape[1]} columns of the probabilities; got {listed(labels)}.")
    stated, given = (loss_matrix, loss) if utility is None else (utility_losses, utility)
    losses = stated(given, labels, actions=actions, n_rows=len(shares))
    found = minimum_risk(shares, losses, reject=reject)
    options = tuple(labels if actions is None else [actions] if isinstance(actions, str) else actions)
    return Decisions(found.choices, found.risks, losses, found.reject, tuple(labels), options)


def minimum_risk(probabilities: ArrayLike, loss: ArrayLike, *, reject: ArrayLike | None = None) -> Decisions:
    """Return the choice of least risk for each row of posterior probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        P(i | x). A row of NaN gets no decision.
    loss : array-like of shape (n_classes, n_choices), or (n_rows, n_classes, n_choices)
        λ_ij, the loss of choosing j when i is true.
    reject : float or array-like of shape (n_rows,), optional
        The loss of no decision; rows in which every choice has a larger risk are rejected. ``None``: always decide.

    Examples
    --------
    >>> import numpy as np
    >>> found = minimum_risk(np.array([[0.2, 0.8]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    >>> found.choices.tolist(), found.risks.tolist()
    ([0], [0.8])
    """
    shares, losses = _probabilities(probabilities), numbers("the losses", loss, _TABLE)
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


_TABLE = "a table of numbers"


def _probabilities(given: ArrayLike) -> np.ndarray:
    """Return posteriors; raise unless they lie between 0 and 1 and sum to one, up to rounding."""
    shares = numbers("probabilities", given, _TABLE)
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


def _reject(given: ArrayLike, n_rows: int) -> np.ndarray:
    if np.ndim(given) == 0:
        return np.full(n_rows, check_number("the loss of a rejection", given))
    limit = numbers("the loss of a rejection", given, _TABLE)
    if limit.shape != (n_rows,):
        rule = f"the loss of a rejection must be a number, or one for each of {n_rows} rows"
        raise DataError(f"{rule}; got an array of shape {limit.shape}.")
    if not np.isfinite(limit).all():
        raise DataError(f"the loss of a rejection must be finite; it is {limit[~np.isfinite(limit)][0]} in some row.")
    return limit
