"""A table to learn from: columns chosen, rows without a class left out, and a target that has classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._check import shortened
from tunbridge.cli.options import Learning, Reading, check_column
from tunbridge.cli.output import counted
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers import NaiveBayesClassifier
    from tunbridge.data import Column, Table

_MOST_NUMBERS = 20  # a target of more different whole numbers is taken for a quantity


@dataclass(frozen=True)
class Training:
    """Rows that have a class.

    Parameters
    ----------
    table : Table
        The features and the target, which is categorical.
    target : str
        The column of the classes.
    whole : Table
        The table as it was read, with the rows that were left out because they have no class.
    """

    table: Table
    target: str
    whole: Table

    @property
    def left_out(self) -> str:
        """What was left out, in words; empty when that is nothing."""
        n = self.whole.n_rows - self.table.n_rows
        return f"{counted(n, 'row')} without {self.target}" if n else ""


def read_training(path: Path, target: str, learning: Learning, reading: Reading) -> Training:
    """Return the rows of a file that a classifier can be learned from."""
    return with_classes(read_columns(path, learning, reading, target), target)


def read_columns(path: Path, learning: Learning, reading: Reading, target: str | None = None) -> Table:
    """Return the columns of a file that are not ignored, and the weights of its rows."""
    from tunbridge.data.readers import read_table

    names = reading.column_names(path)
    ignored, categorical = set(learning.ignore or ()), set(learning.categorical or ())
    _check_columns(path, target, learning, names)
    return read_table(
        path,
        columns=[n for n in names if n not in ignored],
        kinds=dict.fromkeys(sorted(categorical - ignored - {learning.weights}), "categorical"),
        missing=reading.markers,
        weights=learning.weights,
        **reading.how(),
    )


def with_classes(table: Table, target: str) -> Training:
    """Return the rows that have a class; raise unless there are features and at least two classes."""
    if table.n_columns < 2:
        raise DataError(f"there must be a column to learn from beside the target {target!r}; got none.")
    coded = table.with_column(_as_classes(table.column(target)))
    present = coded.codes(target) >= 0
    if not present.any():
        raise DataError(f"the target must have classes; every cell of column {target!r} is missing.")
    kept = coded if present.all() else coded.take(present)
    _check_classes(kept, target)
    return Training(kept, target, coded)


def new_classifier(training: Training, learning: Learning) -> NaiveBayesClassifier:
    """Return a classifier with the settings that the options give."""
    from tunbridge.classifiers import NaiveBayesClassifier

    asked = [n for n in learning.categorical or () if n in training.table.names and n != training.target]
    return NaiveBayesClassifier(
        categorical=asked or None,
        numeric=learning.numeric.value,
        smoothing=1.0 if learning.smoothing is None else learning.smoothing,
        class_prior=learning.class_prior,
    )


def _check_columns(path: Path, target: str | None, learning: Learning, names: list[str]) -> None:
    if target is not None:
        check_column("--target", target, path, names)
    for option, chosen in (("--categorical", learning.categorical), ("--ignore", learning.ignore)):
        for name in chosen or ():
            check_column(option, name, path, names)
    if target is not None and target in (learning.ignore or ()):
        raise DataError(f"--ignore must not name the target; got {target!r}.")
    if learning.weights is not None:
        check_column("--weights", learning.weights, path, names)
        if learning.weights == target or learning.weights in (learning.ignore or ()):
            raise DataError(f"--weights must not name the target or an ignored column; got {learning.weights!r}.")


def _as_classes(column: Column) -> Column:
    """Return the target as a categorical column; raise when it is a quantity."""
    from tunbridge.data.columns import column_to_arrow, distinct_values, infer_column

    name = column.variable.name
    if column.variable.is_categorical:
        return column
    values = column_to_arrow(column)
    distinct = distinct_values(name, values)[0]
    if not all(_is_whole(value) for value in distinct):
        what = "numbers that are not whole" if isinstance(distinct[0], int | float) else "dates or times"
        raise _quantity(name, what, distinct)
    if len(distinct) > _MOST_NUMBERS:
        raise _quantity(name, "many different numbers", distinct)
    return infer_column(name, values, "categorical")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _quantity(name: str, what: str, distinct: list[Any]) -> DataError:
    held = f"{len(distinct)} different ones, {distinct[0]} to {distinct[-1]}"
    return DataError(
        f"the target must have classes; column {name!r} holds {what} ({held}). "
        f"Cut it into classes first, or use --categorical {name!r} if each value is a class."
    )


def _check_classes(table: Table, target: str) -> None:
    import numpy as np

    found = np.unique(table.codes(target))
    states = table.variable(target).states or ()
    if len(found) < 2:
        value = shortened(str(states[int(found[0])]))
        raise DataError(f"the target must have at least two classes; every cell of column {target!r} is {value!r}.")
    if target in table.identifiers:
        raise DataError(
            f"the target must have classes that come more than once; column {target!r} has another value in each of "
            f"{table.n_rows} rows."
        )
