"""How a sequence classifier reads X: a column of sequences, by itself or in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import warn_user
from tunbridge.classifiers.rows.one_column import chosen_column, has_columns, split_column
from tunbridge.data.arrow import is_pandas
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.sequences.alphabets import Rules
from tunbridge.sequences.sequence_rows import Sequences, Symbol
from tunbridge.sequences.symbols import read_sequences, told_symbols

_WHAT = "sequences"


@dataclass(frozen=True)
class SequenceReader:
    """The reader of sequences.

    Parameters
    ----------
    column : str, optional
        Which column of a frame holds the sequences.
    rules : Rules
        What counts as which symbol.
    n_jobs : int, optional
        Threads.
    """

    column: str | None
    rules: Rules
    n_jobs: int | None

    def split(self, X: Any, y: Any, sample_weight: Any, known: str | None) -> tuple[Any, Any, Any, str | None]:
        """Return (X, classes, weights, target's name), where y may be the name of a column of X."""
        return split_column(X, y, sample_weight, known, _WHAT)

    def learned(self, estimator: Any, X: Any, before: Any) -> Sequences:
        """Return sequences to learn from."""
        rows = self._read(X, None if before is None else before.column, None)
        if not rows.n_rows:
            raise DataError("X must have at least one sequence; got 0 sample(s) while a minimum of 1 is required.")
        return rows

    def known(self, estimator: Any, X: Any) -> Sequences:
        """Return sequences to predict; symbols that were not learned are named in one warning."""
        learned = _learned(estimator)
        rows = self._read(X, learned.column, estimator.target_name_)
        warn_unknown(self.rules.unknown(rows, learned.alphabet), learned.alphabet)
        return rows

    def is_one(self, X: Any) -> bool:
        """Return whether X is one sequence: a text, a list of whole numbers, or a mapping of the column to one."""
        X = self._row(X)
        return any(_is_one(value) for value in X.values()) if isinstance(X, Mapping) else _is_one(X)

    def _row(self, X: Any) -> Any:
        """Return a row of a pandas frame as a mapping; anything else as it is."""
        is_row = self.column is not None and is_pandas(X, "Series") and self.column in X.index
        return dict(X.items()) if is_row else X

    def _read(self, X: Any, before: str | None, target: str | None) -> Sequences:
        if isinstance(X := self._row(X), Mapping):
            X = {name: [values] if _is_one(values) else values for name, values in X.items()}
        wanted = self.column if self.column is not None else before if _has(X, before) else None
        return read_sequences(*chosen_column(X, wanted, target, _WHAT), self.n_jobs)


def warn_unknown(unknown: list[Symbol], alphabet: tuple[Symbol, ...]) -> None:
    """Warn of symbols that a model does not know, if there are any."""
    if not unknown:
        return
    alike = {s.lower() for s in alphabet if isinstance(s, str)}
    hint = (
        " ignore_case=True puts capitals and small letters together."
        if alike & {str(s).lower() for s in unknown}
        else ""
    )
    told = f"symbols that were not there at learning count as missing: {told_symbols(unknown)}."
    warn_user(told + hint, UnseenStateWarning)


def one_sequence(X: Any) -> Any:
    """Return a list of the sequence where X is one; X itself otherwise."""
    return [X] if not isinstance(X, Mapping) and _is_one(X) else X


def _is_one(X: Any) -> bool:
    """Return whether X can only be one sequence: a text, or whole numbers one after the other."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "iu" and X.size > 0
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(s, int | np.integer) and not isinstance(s, bool) for s in X)
    return isinstance(X, str)


def _has(X: Any, column: str | None) -> bool:
    """Return whether a frame has a column, as far as it says without being read."""
    if column is None or not has_columns(X):
        return False
    names = getattr(X, "names", None) or getattr(X, "column_names", None) or getattr(X, "columns", None)
    return column in list(X if names is None or isinstance(X, Mapping) else names)


def _learned(estimator: Any) -> Any:
    """Return what a sequence classifier has learned, be it inside others."""
    found = estimator.statistics_
    while hasattr(found, "fitted"):
        found = found.fitted.statistics_
    return found
