"""Losses in the forms people state them, as arrays: what it costs to choose j when i is true.

λ_ij may be given as a matrix; as the pairs that differ from «0 if right, 1 if wrong»; as the cost of missing a class,
whatever is chosen instead; for actions that are not classes («treat», «wait»); and each of these row by row, where the
loss of a wrong decision is an amount in the data. A utility is a loss with the opposite sign.

**Two classes: a loss matrix is a threshold.** Calling a row positive costs λ_tp if it is and λ_fp if it is not; calling
it negative costs λ_fn and λ_tn. With p the probability that it is positive, calling it positive is cheaper as soon as
p λ_tp + (1 − p) λ_fp ≤ p λ_fn + (1 − p) λ_tn, that is from

    p* = (λ_fp − λ_tn) / ((λ_fp − λ_tn) + (λ_fn − λ_tp))

on. If right decisions cost nothing only the ratio of the two mistakes counts: if a missed positive costs r times a
false alarm, p* = 1/(1 + r).

References
----------
C. Elkan (2001). The foundations of cost-sensitive learning. IJCAI, 973–978 (equation 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError

Losses = ArrayLike | Mapping[Any, Any] | None
"""A matrix or a frame, or a mapping, as :func:`loss_matrix` describes them."""


def loss_matrix(
    loss: Losses, classes: Sequence[Any], *, actions: Sequence[Any] | None = None, n_rows: int | None = None
) -> np.ndarray:
    """Return the losses λ_ij, rows the true classes and columns the choices; one matrix per row where they differ.

    Parameters
    ----------
    loss : None, array-like, pandas frame, or mapping
        ``None``: 0 if right, 1 if wrong. An array of shape (n_classes, n_choices) in the order of the classes, or
        (n_rows, n_classes, n_choices); a frame with the true classes as index and the choices as columns; a mapping
        ``{true: {chosen: loss}}``, in which missing pairs of classes cost 0 if right and 1 if wrong; or
        ``{true: cost}``, the cost of choosing anything but that class. In a mapping a number may be an array with one
        loss per row.
    classes : sequence
        The class labels.
    actions : sequence, optional
        What can be chosen, if not a class; then every loss must be given.
    n_rows : int, optional
        The number of rows, to check losses by row against.

    Returns
    -------
    ndarray of shape (n_classes, n_choices) or (n_rows, n_classes, n_choices)

    Examples
    --------
    >>> loss_matrix({"diseased": {"healthy": 10}}, ["diseased", "healthy"]).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    >>> loss_matrix({"good": 1, "bad": 5}, ["bad", "good"]).tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    >>> loss_matrix({"bad": [200, 9000]}, ["bad", "good"]).tolist()
    [[[0.0, 200.0], [1.0, 0.0]], [[0.0, 9000.0], [1.0, 0.0]]]
    >>> loss_matrix([[1, 20], [4, 0]], ["diseased", "healthy"], actions=["treat", "wait"]).tolist()
    [[1.0, 20.0], [4.0, 0.0]]
    """
    if loss is None and actions is not None:
        raise DataError(f"there must be losses for the actions {listed(actions)}; got none.", parameter="loss")
    if loss is None:
        n = len(_labels("classes", classes))
        check_memory(f"the losses of all pairs of {n} classes", 16.0 * n * n, ways_out="Use predict.")
        return 1.0 - np.eye(n)
    return _matrix("loss", loss, classes, actions, n_rows)


def utility_losses(
    utility: Losses, classes: Sequence[Any], *, actions: Sequence[Any] | None = None, n_rows: int | None = None
) -> np.ndarray:
    """Return the losses that correspond to utilities: their negatives, in the shapes of :func:`loss_matrix`.

    Parameters
    ----------
    utility : array-like, pandas frame, or mapping
        As the losses of :func:`loss_matrix`, but gains: missing pairs of classes are worth 1 if right and 0 if wrong,
        and ``{true: gain}`` is the gain of recognising that class.
    classes, actions, n_rows
        As there.

    Examples
    --------
    >>> (-utility_losses({"bad": {"good": -5}}, ["bad", "good"])).tolist()
    [[1.0, -5.0], [0.0, 1.0]]
    >>> (-utility_losses({"bad": 3}, ["bad", "good"])).tolist()
    [[3.0, 0.0], [0.0, 1.0]]
    """
    return -_matrix("utility", utility, classes, actions, n_rows)


def position(what: str, label: object, labels: Sequence[Any]) -> int:
    """Return the place of a label, which may be given as its text; raise when it is not there."""
    for same in (lambda known: known == label, lambda known: str(known) == str(label)):
        for i, known in enumerate(labels):
            if same(known):
                return i
    raise DataError(f"{what}; got {label!r}. {did_you_mean(label, labels)}")


def true_codes(true: ArrayLike, classes: Sequence[Any], n: int, what: str) -> np.ndarray:
    """Return the positions of n true classes among the classes; labels may be given as their text."""
    array = np.asarray(true)
    if array.shape != (n,):
        got = f"{len(array)}" if array.ndim == 1 else f"an array of shape {array.shape}"
        raise DataError(f"there must be a true class for each of {n} {what}; got {got}.")
    values = array.tolist()
    codes = {value: position("the true classes must be classes", value, classes) for value in set(values)}
    return np.array([codes[value] for value in values], np.int64)


def numbers(what: str, given: ArrayLike, rule: str, hint: str = "") -> np.ndarray:
    """Return an array of float64; raise «what must be rule» where that cannot be."""
    try:
        return np.asarray(given).astype(np.float64)
    except (TypeError, ValueError):
        got = shortened(repr(given))
        parameter = what if what.isidentifier() else None
        raise DataError(f"{what} must be {rule}; got {got}.{hint and ' ' + hint}", parameter=parameter) from None


# A matrix from what is given


def _matrix(
    what: str, given: Any, classes: Sequence[Any], actions: Sequence[Any] | None, n_rows: int | None
) -> np.ndarray:
    """Return losses or utilities as an array; pairs of classes that a mapping leaves out have their defaults."""
    labels = _labels("classes", classes)
    choices = labels if actions is None else _labels("actions", actions)
    if hasattr(given, "index") and hasattr(given, "columns"):  # a frame: its labels say which row and column is which
        given = given.T.to_dict()
    if isinstance(given, Mapping):
        n_bytes = 200.0 * len(labels) * len(choices)
        check_memory(f"the {what} of all pairs of {len(labels)} classes", n_bytes, ways_out="Give it as an array.")
        return _stacked(what, _entries(what, given, labels, choices, actions is None), labels, choices, n_rows)
    matrix = numbers(f"the {what}", given, "a matrix of numbers or a mapping of mappings")
    shape = (len(labels), len(choices))
    if matrix.ndim not in (2, 3) or matrix.shape[-2:] != shape:
        raise DataError(
            f"the {what} matrix must be {shape[0]} × {shape[1]}, a row for each true class of {listed(labels)} and a "
            f"column for each choice of {listed(choices)}; got shape {matrix.shape}.",
            parameter=what,
        )
    if matrix.ndim == 3:
        _check_rows(f"the {what} by row", len(matrix), n_rows)
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        *row, i, j = bad[0].tolist()
        where, plural = f" in row {row[0] + 1}" if row else "", "losses" if what == "loss" else "utilities"
        got = matrix[tuple(bad[0])]
        raise DataError(f"{plural} must be finite numbers; {_of(what, choices[j], labels[i])}{where} is {got}.")
    return matrix


def _entries(
    what: str, given: Mapping[Any, Any], labels: list[Any], choices: list[Any], among_classes: bool
) -> dict[tuple[int, int], Any]:
    """Return the numbers or columns of numbers by true class and choice."""
    right = what == "utility"  # what is 1 by default: utilities of right choices, losses of wrong ones
    pairs = list(np.ndindex(len(labels), len(choices)))
    found: dict[tuple[int, int], Any] = {(i, j): float((i == j) == right) for i, j in pairs} if among_classes else {}
    for true, row in given.items():
        i = position(f"the {what} must name classes", true, labels)
        if not isinstance(row, Mapping):
            if not among_classes:
                raise DataError(f"the {what} must map each class to {{action: {what}}}; got {row!r} for {true!r}.")
            one = _entry(f"the {what} of {'finding' if right else 'missing'} {true!r}", row)
            found |= {(i, j): one for j in range(len(choices)) if (i == j) == right}
            continue
        for chosen, value in row.items():
            j = position(f"the {what} must name {'classes' if among_classes else 'actions'}", chosen, choices)
            found[i, j] = _entry(_of(what, chosen, true), value)
    for i, j in pairs:
        if (i, j) not in found:
            raise DataError(f"the {what} of every action must be given; {_of(what, choices[j], labels[i])} is not.")
    return found


def _entry(what: str, value: object) -> float | np.ndarray:
    """Return a loss as a number, or as an array with one per row."""
    rule = "a number, or one a row"
    if isinstance(value, str):
        got = shortened(repr(value))
        raise DataError(f"{what} must be {rule}; got {got}. Give a column itself, not its name.")
    if isinstance(value, Mapping) or not (isinstance(value, Iterable) or hasattr(value, "__array__")):
        return check_number(what, value)
    if np.ndim(value) == 0:
        return check_number(what, np.asarray(value).item())
    column = numbers(what, value, rule)
    if column.ndim != 1:
        raise DataError(f"{what} must be {rule}; got an array of shape {column.shape}.")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise DataError(f"{what} must be finite; it is {column[bad[0]]} in row {bad[0] + 1}.")
    return column


def _stacked(
    what: str, entries: Mapping[tuple[int, int], Any], labels: list[Any], choices: list[Any], n_rows: int | None
) -> np.ndarray:
    shape: tuple[int, ...] = (len(labels), len(choices))
    columns = {pair: v for pair, v in entries.items() if isinstance(v, np.ndarray)}
    for (i, j), column in columns.items():
        n_rows = len(column) if n_rows is None else n_rows
        _check_rows(_of(what, choices[j], labels[i]), len(column), n_rows)
    if columns:
        shape = (int(n_rows or 0), *shape)
        check_memory(
            f"a matrix of losses for each of {shape[0]} rows",
            8.0 * float(np.prod([float(n) for n in shape])),
            ways_out="Decide on the rows in parts, or use one matrix for all.",
        )
    out = np.empty(shape)
    for (i, j), value in entries.items():
        out[..., i, j] = value
    return out


def _check_rows(what: str, length: int, n_rows: int | None) -> None:
    if n_rows is not None and length != n_rows:
        raise DataError(f"{what} must be given for each of {n_rows} rows; got {length}.")


def _labels(what: str, given: Sequence[Any]) -> list[Any]:
    labels = [given] if isinstance(given, str) else list(given)
    if not labels or len(set(labels)) < len(labels):
        raise DataError(
            f"{what} must be different from each other, and one at least; got {listed(labels)}.", parameter=what
        )
    return labels


def _of(what: str, chosen: object, true: object) -> str:
    return f"the {what} of choosing {chosen!r} for {true!r}"


# Thresholds


def threshold_from_costs(
    *,
    false_positive: ArrayLike = 1.0,
    false_negative: ArrayLike = 1.0,
    true_positive: ArrayLike = 0.0,
    true_negative: ArrayLike = 0.0,
) -> Any:
    """Return the probability of the positive class from which it is cheaper to call a row positive.

    Parameters
    ----------
    false_positive, false_negative : float or array-like
        The cost of a false alarm, and of a missed positive; arrays for one cost per row.
    true_positive, true_negative : float or array-like
        The cost of right decisions; a gain is negative.

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
    tp, fp = _cost("true_positive", true_positive), _cost("false_positive", false_positive)
    fn, tn = _cost("false_negative", false_negative), _cost("true_negative", true_negative)
    largest = max(float(np.abs(cost).max(initial=0.0)) for cost in (tp, fp, fn, tn))
    # Divided by a power of two sums of huge costs are finite, and all others as exact as they were.
    scale = 2.0 ** min(int(np.frexp(largest)[1]), 1023) if largest > 0 else 1.0
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


def threshold_from_loss(loss: Losses, classes: Sequence[Any], positive: object) -> Any:
    """Return the probability of one of two classes from which it is cheaper to choose it.

    Parameters
    ----------
    loss : array-like, pandas frame, or mapping
        The losses, as in :func:`loss_matrix`; if they differ by row, so do the thresholds.
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
        raise DataError(f"a threshold must be between two classes; got {listed(labels)}.", parameter="classes")
    p = position("positive must be one of the classes", positive, labels)
    matrix, n = loss_matrix(loss, labels), 1 - p
    return threshold_from_costs(
        true_positive=matrix[..., p, p],
        false_negative=matrix[..., p, n],
        false_positive=matrix[..., n, p],
        true_negative=matrix[..., n, n],
    )


def _cost(what: str, value: ArrayLike) -> np.ndarray:
    rule = "a finite number, or one a row"
    found = numbers(what, value, rule)
    if not np.isfinite(found).all():
        raise DataError(f"{what} must be {rule}; got {shortened(repr(value))}.", parameter=what)
    return found
