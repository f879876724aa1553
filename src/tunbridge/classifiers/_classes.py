"""The class variable: its labels and codes, its prior P(c), and its posterior P(c | x)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import check_choice, counted, listed, shortened, warn_user
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._rows import ClassPrior, Labels
from tunbridge.data import Column, Variable
from tunbridge.data.columns import column_to_arrow, distinct_values
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, DataWarning

Finish = Callable[[np.ndarray], np.ndarray]
"""What is done with each piece of log P(x, c), class × row."""

_FEW_ROWS = 20


# Labels and codes


def encode_target(y: Labels, classes: Labels, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
    """Return the class variable, its states sorted, and the code of each row.

    ``y`` is an array of labels, or a column of a Table, whose codes are used; ``classes`` are further labels.
    """
    given = y if isinstance(y, Column) else _class_array(y)
    n_given = len(given.values) if isinstance(given, Column) else len(given)
    if n_given != n_rows:
        is_name = n_given == 1 and not isinstance(given, Column) and isinstance(given[0], str)
        hint = f" If it is the name of a column, write y={str(given[0])!r}." if is_name else ""
        got = f"{n_given} class{'' if n_given == 1 else 'es'} for {n_rows} rows"
        raise DataError(f"y must have a class for each row; got {got}.{hint}", parameter="y")
    distinct, codes = _column_labels(given) if isinstance(given, Column) else _distinct(given)
    labels = distinct if classes is None else sorted_labels([*distinct, *_class_array(classes).tolist()])
    place = {label: code for code, label in enumerate(labels)}
    return Variable(name, labels), np.array([place[d] for d in distinct], np.int32)[codes]


def labels_of(y: Labels) -> Any:
    """Return the labels of a column of a Table as an array; anything else as it is."""
    if not isinstance(y, Column):
        return y
    if not y.variable.is_categorical:
        return column_to_arrow(y).to_numpy(zero_copy_only=False)
    states = np.array(y.variable.states or ())
    plain = states.dtype.kind in "iubf" and bool((y.values >= 0).all())
    return (states if plain else np.array([*(y.variable.states or ()), None], object))[y.values]


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Return distinct class labels in sorted order; raise unless they are all text, all numbers or all booleans."""
    distinct = list(dict.fromkeys(labels))
    if len({_label_kind(label) for label in distinct}) > 1:
        raise DataError(
            f"classes must be of one kind, all text or all numbers; got {listed(distinct)}. Convert them all to text.",
            parameter="y",
        )
    return sorted(distinct)


def sorted_target(a: Variable, b: Variable) -> Variable:
    """Return the class variable with the classes of both, in sorted order."""
    if a.states == b.states:
        return a
    return Variable(a.name, sorted_labels([*(a.states or ()), *(b.states or ())]))


def series_name(y: object, features: Iterable[Variable]) -> str | None:
    """Return the name of a Series of classes, unless a feature has it."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name not in {v.name for v in features} else None


def apart_from(target: Variable, features: Iterable[Variable]) -> Variable:
    """Return the class variable under a name that no feature has."""
    names = {v.name for v in features}
    while target.name in names:
        target = Variable(f"{target.name}'", target.states)
    return target


def as_given(values: object) -> np.ndarray:
    """Return values as an array; lists of text and other values together stay objects, which NumPy would make text."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty((), object)
    if array.dtype.kind != "U" or not isinstance(values, (list, tuple)):
        return array
    cells = np.array(values, object)
    return array if all(isinstance(cell, str) for cell in cells.flat) else cells


def _label_kind(label: object) -> str:
    if isinstance(label, bool):
        return "boolean"
    return "number" if isinstance(label, (int, float)) else type(label).__name__


def _column_labels(column: Column) -> tuple[list[Any], np.ndarray]:
    """Return the sorted labels of a column of a Table that rows have, and the code of each row."""
    states: tuple[Any, ...] = column.variable.states or ()
    if not states or {type(s) for s in states} not in ({str}, {int}, {bool}):
        return _distinct(_class_array(labels_of(column)))
    _check_missing(column.values < 0)
    used = np.flatnonzero(np.bincount(column.values, minlength=len(states)))
    ranked = sorted(used.tolist(), key=lambda code: states[code])
    place = np.empty(len(states), np.intp)
    place[ranked] = np.arange(len(ranked))
    return [states[code] for code in ranked], place[column.values]


def _class_array(y: Labels) -> np.ndarray:
    """Return the classes as a one-dimensional array; raise for missing, continuous and odd ones."""
    values = as_given(y)
    if values.dtype.kind in "mMc":
        got = "complex numbers" if values.dtype.kind == "c" else "dates or times"
        raise DataError(f"classes must be text, numbers or booleans; got {got}. Convert them to text.", parameter="y")
    if values.ndim == 2 and values.shape[1] == 1:
        values = _flattened(values)
    if values.ndim != 1:
        got = f"an array of shape {y.shape}" if isinstance(y, np.ndarray) else shortened(repr(y))
        raise DataError(f"y must be one label for each row; got {got}.", parameter="y")
    if values.dtype.kind == "O" and _is_all_text(values):
        return values
    if values.dtype.kind in "Of":
        missing = np.array([is_missing(v) for v in values], bool) if values.dtype.kind == "O" else np.isnan(values)
        known = plain_labels(values[~missing])
        if missing.any() and known.size and known.dtype.kind == "f":
            _check_classes(known)  # first: to leave out rows would not make classes of quantities
        _check_missing(missing)
    if values.dtype.kind == "O":
        sorted_labels(values.tolist())
        values = _whole_labels(values)
    if values.dtype.kind not in "iubU":
        _check_classes(values)
    return values


def _whole_labels(values: np.ndarray) -> np.ndarray:
    """Return objects that all are integers, or all are booleans, in the type that they have in common."""
    plain = plain_labels(values)
    return plain if plain.dtype.kind in "iub" else values


def _flattened(column: np.ndarray) -> np.ndarray:
    """Return a matrix of one column as an array, with scikit-learn's warning."""
    from sklearn.exceptions import DataConversionWarning

    warn_user(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
        "for example using ravel().",
        DataConversionWarning,
    )
    return column.reshape(-1)


def _check_classes(values: np.ndarray) -> None:
    """Raise unless floats or objects are labels, also in scikit-learn's words, which its checks look for."""
    wrong = ""
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            wrong = "Input y contains infinity or a value too large"
        elif not (values == np.trunc(values)).all():
            wrong = "Unknown label type: continuous"
        elif len(values) > _FEW_ROWS and len(np.unique(values)) > len(values) / 2:
            warn_user(
                "more than half of the values of y are distinct; they may be quantities, not classes.", UserWarning
            )
    elif values.size and not isinstance(values[0], str):
        wrong = f"Unknown label type: {type(values[0]).__name__}"
    if wrong:
        raise DataError(
            f"classes must be a few labels that rows share; got {listed(values[:3].tolist())} and so on. Discretize "
            f"numbers first, as in tb.discretise(table, columns=[name])[0]; tb.learn_network predicts them. ({wrong})"
        )


def _check_missing(missing: np.ndarray) -> None:
    if not missing.any():
        return
    if missing.all():
        raise DataError("the target must have classes; every row of it is missing (Input y contains NaN).")
    raise DataError(
        f"every row must have a class; {int(missing.sum())} of {missing.size} have none, "
        f"row {int(missing.argmax()) + 1} first. Leave these rows out, or use SemiSupervisedClassifier. "
        "(Input y contains NaN.)",
        parameter="y",
    )


def _is_all_text(values: np.ndarray) -> bool:
    """Return whether every value is a text, as Arrow sees it: it refuses mixtures."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return bool(values.size) and column.null_count == 0 and pa.types.is_string(column.type)


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    if values.dtype.kind in "iu" or (values.dtype.kind == "O" and isinstance(values[0], str)):
        return distinct_values("y", values)
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct.tolist(), codes


# Rows without a class


def without_class(y: Labels, mark: object) -> np.ndarray:
    """Return which rows have no class: those that are missing (None, NaN, empty text), and those that have the mark.

    Examples
    --------
    >>> without_class(["spam", None, "ham", ""], -1).tolist()
    [False, True, False, True]
    >>> without_class([0, 1, -1], -1).tolist(), without_class([0, 1, -1], None).tolist()
    ([False, False, True], [False, False, False])
    """
    values = as_given(labels_of(y)).reshape(-1)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind in "iub":
        missing = np.zeros(len(values), bool)
    else:
        missing = np.array([is_missing(v) or (isinstance(v, str) and not v) for v in values.tolist()], bool)
    if mark is None:
        return missing
    return missing | np.array([not m and _is(v, mark) for v, m in zip(values.tolist(), missing, strict=True)], bool)


def encode_partly(y: Labels, classes: Labels, name: str, n_rows: int, mark: object) -> tuple[Variable, np.ndarray]:
    """Return the class variable and the code of each row's class, −1 where it has none.

    Where the mark leaves only one class, as −1 does among −1 and 1, it is taken as a class itself, with a warning: rows
    of one class and rows of none cannot tell classes apart.
    """
    y = labels_of(y)
    absent, values = without_class(y, mark), as_given(y).reshape(-1)
    if len(values) != n_rows or not absent.any():
        return encode_target(y, classes, name, n_rows)
    if absent.all():
        raise DataError(f"some row must have a class; all {n_rows} rows have none (missing or {mark!r}).")
    target, codes = encode_target(plain_labels(values[~absent]), classes, name, int((~absent).sum()))
    if target.n_states < 2 and not (without_class(y, None) == absent).all():
        warn_user(
            f"{mark!r} is taken as a class, because all other rows have {(target.states or ())[0]!r}. Leave the labels "
            "of rows without a class empty (None), or set unlabelled=None.",
            DataWarning,
        )
        return encode_partly(y, classes, name, n_rows, None)
    found = np.full(n_rows, -1, codes.dtype)
    found[~absent] = codes
    return target, found


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels, none of which is missing, in the type that they have in common."""
    values = labels.tolist()
    return np.array(values) if labels.dtype.kind == "O" and len(set(map(type, values))) == 1 else labels


def _is(value: object, mark: object) -> bool:
    return isinstance(value, bool) == isinstance(mark, bool) and bool(value == mark)


# Prior and posterior


def check_answers(n_rows: int, n_classes: int) -> None:
    """Raise MemoryForecastError when P(c | x) of so many rows would not fit."""
    what = f"the answers for {counted(n_rows, 'row')} × {n_classes} classes"
    check_memory(what, 16.0 * n_rows * n_classes, ways_out="Pass the rows in parts.")


def log_class_prior(given: ClassPrior, target: Variable, class_weight: np.ndarray) -> np.ndarray:
    """Return log P(c): relative frequencies, uniform, or as given."""
    n_classes, total = target.n_states, class_weight.sum()
    if total <= 0:
        raise DataError("some row must have a weight above zero; all sample weights are zero.")
    if given is None:
        prior = class_weight / total
    elif isinstance(given, str):
        check_choice("class_prior", given, ("uniform",))
        prior = np.full(n_classes, 1.0 / n_classes)
    else:
        prior = _given_prior(given, target)
    with np.errstate(divide="ignore"):
        return np.log(prior)


def _given_prior(given: ClassPrior, target: Variable) -> np.ndarray:
    what = "class_prior"
    if isinstance(given, Mapping):
        by_code = {target.code(label): value for label, value in given.items()}
        absent = [s for k, s in enumerate(target.states or ()) if k not in by_code]
        if absent:
            raise DataError(f"{what} must give every class a probability; {listed(absent)} has none.", parameter=what)
        given = [by_code[k] for k in range(target.n_states)]
    prior = np.array(given, np.float64)
    if prior.shape != (target.n_states,):
        raise DataError(
            f"{what} must have one probability for each of {target.n_states} classes; got {prior.shape}.",
            parameter=what,
        )
    if not (np.isfinite(prior) & (prior >= 0)).all() or abs(prior.sum() - 1.0) > 1e-6:
        raise DataError(f"{what} must be probabilities that sum to one; got {prior.tolist()}.", parameter=what)
    return prior / prior.sum()


def posterior(joint: np.ndarray) -> np.ndarray:
    """Return P(c | x) from log P(x, c), class × row.

    Own code, because every prediction passes here: on pieces of 8192 rows scipy.special.softmax took as long for two
    classes and ten times as long for ten.
    """
    shares = np.exp(joint - joint.max(axis=0))
    shares /= shares.sum(axis=0)
    return shares


def log_posterior(joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x) from log P(x, c), class × row."""
    shifted = joint - joint.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))
