"""Losses as people say them, as arrays: what it costs to choose j when i is true.

λ_ij may be said as a whole matrix; as the pairs that differ from «0 if right, 1 if wrong»; as what it costs to miss a
class, whatever is chosen instead; for actions that are no classes («treat», «wait»); and each of these row by row,
where the loss of a wrong decision is an amount that the row holds. A utility is a loss with the opposite sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge._check import check_number, did_you_mean, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.errors import DataError


def loss_matrix(
    loss: Any, classes: Sequence[Any], *, actions: Sequence[Any] | None = None, n_rows: int | None = None
) -> np.ndarray:
    """Return the losses λ_ij, rows the true classes and columns the choices; one such matrix a row where they differ.

    Parameters
    ----------
    loss : None, array-like, pandas frame, or mapping
        ``None``: 0 if right, 1 if wrong. An array of shape (n_classes, n_choices) in the order of the classes, or
        (n_rows, n_classes, n_choices); a frame with the true classes as index and the choices as columns; a mapping
        ``{true: {chosen: loss}}``, in which pairs of classes that are not named cost 0 if right and 1 if wrong; or
        ``{true: cost}``, the cost of choosing anything but that class. In a mapping a number may be an array with one
        loss a row.
    classes : sequence
        The class labels.
    actions : sequence, optional
        What can be chosen, where that is not a class; then every loss must be given.
    n_rows : int, optional
        The number of rows, to check losses by row against.

    Returns
    -------
    ndarray of shape (n_classes, n_choices) or (n_rows, n_classes, n_choices)

    Examples
    --------
    >>> loss_matrix({"ill": {"well": 10}}, ["ill", "well"]).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    >>> loss_matrix({"good": 1, "bad": 5}, ["bad", "good"]).tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    >>> loss_matrix({"bad": [200, 9000]}, ["bad", "good"]).tolist()
    [[[0.0, 200.0], [1.0, 0.0]], [[0.0, 9000.0], [1.0, 0.0]]]
    >>> loss_matrix([[1, 20], [4, 0]], ["ill", "well"], actions=["treat", "wait"]).tolist()
    [[1.0, 20.0], [4.0, 0.0]]
    """
    labels = _labels("classes", classes)
    choices = labels if actions is None else _labels("actions", actions)
    if loss is None and actions is not None:
        raise DataError(f"there must be losses for the actions {listed(choices)}; got none.")
    wrong = None if actions is not None else 1.0 - np.eye(len(labels))
    return _matrix("loss", {} if loss is None else loss, labels, choices, wrong, n_rows)


def utility_losses(
    utility: Any, classes: Sequence[Any], *, actions: Sequence[Any] | None = None, n_rows: int | None = None
) -> np.ndarray:
    """Return the losses that utilities stand for: their negatives, in the shapes of :func:`loss_matrix`.

    Parameters
    ----------
    utility : array-like, pandas frame, or mapping
        As the losses of :func:`loss_matrix`, but what is gained: pairs of classes that are not named are worth 1 if
        right and 0 if wrong, and ``{true: gain}`` is what it is worth to recognise that class.
    classes, actions, n_rows
        As there.

    Examples
    --------
    >>> (-utility_losses({"bad": {"good": -5}}, ["bad", "good"])).tolist()
    [[1.0, -5.0], [0.0, 1.0]]
    >>> (-utility_losses({"bad": 3}, ["bad", "good"])).tolist()
    [[3.0, 0.0], [0.0, 1.0]]
    """
    labels = _labels("classes", classes)
    choices = labels if actions is None else _labels("actions", actions)
    right = None if actions is not None else np.eye(len(labels))
    return -_matrix("utility", utility, labels, choices, right, n_rows)


def position(what: str, label: Any, labels: Sequence[Any]) -> int:
    """Return the place of a label, which may be given as its text; raise when it is not there."""
    for same in (lambda known: known == label, lambda known: str(known) == str(label)):
        for i, known in enumerate(labels):
            if same(known):
                return i
    raise DataError(f"{what}; got {label!r}. {did_you_mean(label, labels)}")


def _matrix(
    what: str, given: Any, labels: list[Any], choices: list[Any], default: np.ndarray | None, n_rows: int | None
) -> np.ndarray:
    """Return what is given as an array; entries that a mapping leaves out are those of the default."""
    if hasattr(given, "index") and hasattr(given, "columns"):  # a frame: its labels say which row and column is which
        given = given.T.to_dict()
    if isinstance(given, Mapping):
        return _stacked(what, _entries(what, given, labels, choices, default), labels, choices, n_rows)
    try:
        matrix = np.array(given, np.float64)
    except (TypeError, ValueError):
        got = shortened(repr(given))
        raise DataError(f"the {what} must be a matrix of numbers or a mapping of mappings; got {got}.") from None
    shape = (len(labels), len(choices))
    if matrix.ndim not in (2, 3) or matrix.shape[-2:] != shape:
        raise DataError(
            f"the {what} matrix must be {shape[0]} × {shape[1]}, a row for each true class of {listed(labels)} and a "
            f"column for each choice of {listed(choices)}; got shape {matrix.shape}."
        )
    if matrix.ndim == 3:
        _check_rows(f"the {what} by row", len(matrix), n_rows)
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        *row, i, j = bad[0].tolist()
        where = f" in row {row[0] + 1}" if row else ""
        got = matrix[tuple(bad[0])]
        raise DataError(f"{_plural(what)} must be finite numbers; {_of(what, choices[j], labels[i])}{where} is {got}.")
    return matrix


def _entries(
    what: str, given: Mapping[Any, Any], labels: list[Any], choices: list[Any], default: np.ndarray | None
) -> dict[tuple[int, int], Any]:
    """Return the numbers or columns of numbers by true class and choice."""
    found = {} if default is None else {(i, j): v for (i, j), v in np.ndenumerate(default)}
    for true, row in given.items():
        i = position(f"the {what} must name classes", true, labels)
        if not isinstance(row, Mapping):
            if default is None:
                raise DataError(f"the {what} must map each class to {{action: {what}}}; got {row!r} for {true!r}.")
            one = _entry(f"the {what} of {'missing' if what == 'loss' else 'finding'} {true!r}", row)
            found |= {(i, j): one for j in range(len(choices)) if (i == j) == (what == "utility")}
            continue
        for chosen, value in row.items():
            j = position(f"the {what} must name {'classes' if choices is labels else 'actions'}", chosen, choices)
            found[i, j] = _entry(_of(what, chosen, true), value)
    for i, j in np.ndindex(len(labels), len(choices)):
        if (i, j) not in found:
            raise DataError(f"the {what} of every action must be given; {_of(what, choices[j], labels[i])} is not.")
    return found


def _entry(what: str, value: Any) -> Any:
    """Return a loss as a number, or as an array with one a row."""
    if isinstance(value, str):
        got = shortened(repr(value))
        raise DataError(f"{what} must be a number, or one a row; got {got}. Give a column itself, not its name.")
    if isinstance(value, Mapping) or not (isinstance(value, Iterable) or hasattr(value, "__array__")):
        return check_number(what, value)
    if np.ndim(value) == 0:
        return check_number(what, np.asarray(value).item())
    try:
        column = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be a number, or one a row; got {shortened(repr(value))}.") from None
    if column.ndim != 1:
        raise DataError(f"{what} must be a number, or one a row; got an array of shape {column.shape}.")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise DataError(f"{what} must be finite; it is {column[bad[0]]} in row {bad[0] + 1}.")
    return column


def _stacked(
    what: str, entries: Mapping[tuple[int, int], Any], labels: list[Any], choices: list[Any], n_rows: int | None
) -> np.ndarray:
    columns = {pair: v for pair, v in entries.items() if isinstance(v, np.ndarray)}
    lengths = {pair: len(v) for pair, v in columns.items()}
    for (i, j), length in lengths.items():
        n_rows = length if n_rows is None else n_rows
        _check_rows(_of(what, choices[j], labels[i]), length, n_rows)
    shape: tuple[int, ...] = (len(labels), len(choices))
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
        raise DataError(f"{what} must be different from each other, and one at least; got {listed(labels)}.")
    return labels


def _of(what: str, chosen: Any, true: Any) -> str:
    return f"the {what} of choosing {chosen!r} for {true!r}"


def _plural(what: str) -> str:
    return "losses" if what == "loss" else "utilities"
