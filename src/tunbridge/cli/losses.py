"""Losses, in: a file, ``TRUE:CHOSEN=LOSS`` options, or both, the options on top."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._check import did_you_mean
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import named_number
from tunbridge.errors import DataError, FormatError

if TYPE_CHECKING:
    import numpy as np


def given_losses(classes: list[Any], file: Path | None, costs: list[str]) -> np.ndarray:
    """Return the matrix of the losses λ_ij of choosing j when i is true.

    Examples
    --------
    >>> given_losses(["ill", "well"], None, ["ill:well=10"]).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    from tunbridge.decisions import loss_matrix

    matrix = loss_matrix({} if file is None else _read(file), classes)
    names = [str(c) for c in classes]
    for cost in costs:
        pair, value = named_number("--cost", "TRUE:CHOSEN=LOSS", cost)
        true, chosen = _pair(pair, names)
        matrix[names.index(true), names.index(chosen)] = value
    return loss_matrix(matrix, classes)


def _pair(text: str, names: list[str]) -> tuple[str, str]:
    """Return the two classes of ``TRUE:CHOSEN``, whose names may hold colons themselves."""
    cuts = [i for i, c in enumerate(text) if c == ":"]
    for i in cuts:
        if text[:i] in names and text[i + 1 :] in names:
            return text[:i], text[i + 1 :]
    if not cuts:
        raise UsageError(f"--cost must be TRUE:CHOSEN=LOSS; got {text!r} without a colon.")
    true, _, chosen = text.partition(":")
    wrong = true if true not in names else chosen
    raise DataError(f"--cost must name classes of the model; got {wrong!r}. {did_you_mean(wrong, names)}")


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
