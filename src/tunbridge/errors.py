"""The exceptions and warnings a user can meet.

Every error that Tunbridge raises on purpose is a :class:`TunbridgeError` and also the built-in exception a
reader would expect (``ValueError``, ``MemoryError``), so that old ``except`` clauses keep working. A message is
one sentence of the form ``<what> must <rule>; got <value>. <hint>``.
"""

from __future__ import annotations

import re

_LONG = 300
_PIECES = re.compile(
    rf"(?<![^\s(\[{{=])(['\"])((?:(?!\1).){{{_LONG},}})\1(?![^\s.,;:)\]}}?])|\S{{{_LONG},}}", re.DOTALL
)


def _readable(message: object) -> object:
    """Return a message with the middle of overlong names and values left out.

    Examples
    --------
    >>> len(_readable(f"the name must be short; got {'x' * 20_000!r}. Rename it."))
    141
    """
    if not isinstance(message, str) or len(message) <= _LONG:
        return message
    return _PIECES.sub(lambda found: f"{found[0][:80]}…{found[0][-20:]}", message)


class TunbridgeError(Exception):
    """Any error that Tunbridge raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    parameter : str, optional
        The parameter that the error is about; the command line names the option instead.
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(_readable(message))
        self.parameter = parameter


class DataError(TunbridgeError, ValueError):
    """The data or an argument are not valid."""


class FileMissingError(DataError, FileNotFoundError):
    """There is no file of that name."""


class UnknownVariableError(DataError, KeyError):
    """There is no variable of that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show the message in quotes


class UnknownStateError(DataError, KeyError):
    """There is no state of that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FormatError(DataError):
    """A file is damaged, hostile, or not of the format it was read as.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    line, column : int, optional
        Where, counted from one. They are put in front of the message.
    parameter : str, optional
        The parameter that the error is about.
    """

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, parameter: str | None = None
    ) -> None:
        where = "" if line is None else f"line {line}: " if column is None else f"line {line}, column {column}: "
        super().__init__(where + message, parameter=parameter)
        self.line = line
        self.column = column


class MemoryForecastError(TunbridgeError, MemoryError):
    """A result would not fit into the memory limit; nothing was allocated."""


class TunbridgeWarning(UserWarning):
    """Something that a user should know, though there is a defined answer."""

    def __init__(self, message: object = "") -> None:
        super().__init__(_readable(message))


class UnseenStateWarning(TunbridgeWarning):
    """Rows hold categories that were not in the training data; they count as missing."""


class ZeroProbabilityWarning(TunbridgeWarning):
    """Rows have probability zero: a classifier gives them the prior, a network no answer (NaN)."""


class DataWarning(TunbridgeWarning):
    """The data are usable but something about them looks like a mistake."""


class ConvergenceWarning(TunbridgeWarning):
    """An algorithm did not converge within its limit of iterations; its last result is returned."""


class ImpossibleEvidenceError(DataError):
    """The evidence has probability zero, so nothing can be concluded from it.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    conflict : mapping
        A smallest part of the evidence that is impossible by itself.
    """

    def __init__(self, message: str, *, conflict: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.conflict = conflict or {}


class EmptyVersionSpaceError(DataError):
    """No hypothesis is consistent with all rows; what was learned before is kept.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    row : int
        The number of the row that left none, counted from 1 over everything that was learned.
    cells : mapping
        Its values by attribute.
    """

    def __init__(self, message: str, *, row: int = 0, cells: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.cells = cells or {}


class PrecisionWarning(TunbridgeWarning):
    """A sampled answer has a larger error than requested."""
