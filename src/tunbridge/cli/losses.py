"""Losses, in: a file, ``TRUE:CHOSEN=LOSS`` options, or both, the options on top.

``TRUE=LOSS`` is the loss of missing a class, whatever is chosen instead. A loss is a number, or the column of the rows
that holds it: the amount of a loan, the value of a part.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._check import did_you_mean
from tunbridge.cli.failures import UsageError
from tunbridge.errors import DataError, FormatError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_FORM = "TRUE:CHOSEN=LOSS"


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses λ_ij of choosing j when i is true, and the columns of the rows that hold some of them.

    Parameters
    ----------
    matrix : ndarray
        The losses that are the same in all rows.
    columns : mapping of (int, int) to str
        Those that the rows hold: the column of each pair.
    """

    matrix: np.ndarray
    columns: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def of(self, rows: pa.Table, path: Path, start: int = 0) -> np.ndarray:
        """Return the matrix, or one a row; ``start`` is the number of rows before these."""
        import numpy as np

        if not self.columns:
            return self.matrix
        out = np.tile(self.matrix, (rows.num_rows, 1, 1))
        for (i, j), name in self.columns.items():
            out[:, i, j] = _amounts(rows, name, path, start)
        return out


def given_losses(classes: list[Any], file: Path | None, costs: list[str], columns: list[str] | None = None) -> Losses:
    """Return the losses that options give; ``columns`` are those of the rows.

    Examples
    --------
    >>> given_losses(["ill", "well"], None, ["ill:well=10"]).matrix.tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    >>> given_losses(["bad", "good"], None, ["bad=5"]).matrix.tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    >>> dict(given_losses(["bad", "good"], None, ["bad=amount"], ["age", "amount"]).columns)
    {(0, 1): 'amount'}
    """
    from tunbridge.decisions import loss_matrix

    matrix = loss_matrix({} if file is None else _read(file), classes)
    names = [str(c) for c in classes]
    held: dict[tuple[int, int], str] = {}
    for cost in costs:
        what, value = _cost(cost, columns or [])
        for pair in _pairs(what, names):
            held.pop(pair, None)
            if isinstance(value, str):
                held[pair] = value
            else:
                matrix[pair] = value
    return Losses(loss_matrix(matrix, classes), held)


def _cost(text: str, columns: list[str]) -> tuple[str, float | str]:
    """Return what an option gives the loss of, and the loss: a number, or the name of a column."""
    for name in sorted(columns, key=len, reverse=True):
        if text.endswith(f"={name}") and not _is_number(name):
            return text[: -len(name) - 1], name
    what, sign, value = text.rpartition("=")
    if sign and what and _is_number(value):
        return what, float(value)
    near = did_you_mean(value, columns) if sign and columns else ""
    hint = f" {near}" if near.startswith("Did") else ""
    raise UsageError(f"--cost must be {_FORM} with a number or a column of the rows; got {text!r}.{hint}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _pairs(text: str, names: list[str]) -> list[tuple[int, int]]:
    """Return the pairs (true, chosen) of ``TRUE:CHOSEN``, or of ``TRUE`` and all others; names may hold colons."""
    if text in names:
        i = names.index(text)
        return [(i, j) for j in range(len(names)) if j != i]
    cuts = [i for i, c in enumerate(text) if c == ":"]
    for i in cuts:
        if text[:i] in names and text[i + 1 :] in names:
            return [(names.index(text[:i]), names.index(text[i + 1 :]))]
    true, _, chosen = text.partition(":")
    wrong = true if true not in names else chosen
    raise DataError(f"--cost must name classes of the model; got {wrong!r}. {did_you_mean(wrong, names)}")


def _amounts(rows: pa.Table, name: str, path: Path, start: int) -> np.ndarray:
    """Return the losses in a column of the rows."""
    import numpy as np

    from tunbridge.data.columns import to_floats

    found = np.asarray(to_floats(name, rows[name]))
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise DataError(
            f"{path.name} must have a number in column {name!r} of every row, because it is a loss; row "
            f"{start + int(bad[0]) + 1} has none."
        )
    return found


def _read(file: Path) -> Any:
    if file.suffix.lower() not in (".json", ".csv"):
        raise DataError(f"--loss must be a .json or .csv file; got {file.name!r}.")
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text) if file.suffix.lower() == ".json" else _table(text, file)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{file.name} must hold losses in {file.suffix[1:].upper()}; {error}.") from None


def _table(text: str, file: Path) -> dict[str, dict[str, float]]:
    """Return the losses in a CSV file: a header with the chosen classes, then a line for each true one."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    header, *lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line] or [[]]
    if len(header) < 2 or not lines:
        raise FormatError(
            f"{file.name} must hold a header with the chosen classes and a line for each true one; got {first!r} and "
            f"{len(lines)} more lines."
        )
    losses: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise FormatError(
                f"{file.name} must have as many fields in every line as in its first, {len(header)}; got {len(line)}.",
                line=number,
            )
        if line[0] in losses:
            raise FormatError(f"{file.name} must have one line for each true class; {line[0]!r} has two.", line=number)
        losses[line[0]] = {chosen: float(value) for chosen, value in zip(header[1:], line[1:], strict=True)}
    return losses
