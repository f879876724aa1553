"""A table to learn from: columns chosen, rows without a class left out, and a target that has classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tunbridge.cli.options import Learning, Reading, check_column
from tunbridge.cli.output import counted
from tunbridge.cli.remarks import odd_number_lines, text_columns, useless_columns
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.evaluation.labelled import Labelled


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

    def labelled(self) -> Labelled:
        """Return the rows as models are compared on them."""
        from tunbridge.evaluation.labelled import Labelled

        return Labelled(self.table, self.target, self.whole.n_rows - self.table.n_rows)


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
    from tunbridge.data.classes import with_classes

    coded, present = with_classes(table, target, hint=f"use --categorical {target!r} if each value is a class.")
    return Training(coded if present.all() else coded.take(present), target, coded)


def oddities(training: Training) -> list[str]:
    """Return a line for each column that looks like a mistake."""
    texts = [name for name in text_columns(training.whole) if name != training.target]
    useless = {n: what for n, what in useless_columns(training.whole).items() if n not in (training.target, *texts)}
    lines = [f"{name} holds texts: --text --column {quote(name)} learns from their words" for name in texts]
    lines += [f"{name} {what}: --ignore {quote(name)} leaves it out" for name, what in useless.items()]
    return lines + odd_number_lines(training.whole, but=training.target)


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
