"""How a sequence classifier reads X: a column of sequences, by itself or in a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge._check import warn_user
from tunbridge.classifiers.rows.one_column import chosen_column, split_column
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
    learned_column : str, optional
        What the column was called that was learned from; it is read wherever it is there and no other is asked for.
    """

    column: str | None
    rules: Rules
    n_jobs: int | None
    learned_column: str | None = None

    def split(self, X: Any, y: Any, sample_weight: Any, known: str | None) -> tuple[Any, Any, Any, str | None]:
        """Return (X, classes, weights, target's name), where y may be the name of a column of X."""
        return split_column(X, y, sample_weight, known, _WHAT)

    def learned(self, estimator: Any, X: Any, before: Any) -> Sequences:
        """Return sequences to learn from."""
        reader = self if before is None else replace(self, learned_column=before.column)
        rows = reader._read(X, None)
        if not rows.n_rows:
            raise DataError("X must have at least one sequence; got 0 sample(s) while a minimum of 1 is required.")
        return rows

    def known(self, estimator: Any, X: Any) -> Sequences:
        """Return sequences to predict; symbols that were not learned are named in one warning."""
        learned = _learned(estimator)
        reader = replace(self, learned_column=learned.column)
        rows = reader._read(reader._listed(X), estimator.target_name_)
        warn_unknown(self.rules.unknown(rows, learned.alphabet), learned.alphabet)
        return rows

    def is_one(self, X: Any) -> bool:
        """Return whether X is one sequence: a text, a list of whole numbers, or a row of a frame with one of these."""
        row = self._row(X)
        if not isinstance(row, Mapping):
            return _is_one(row)
        values = [row[self._name]] if self._name in row else list(row.values())
        return bool(values) and all(_is_one(v) or not isinstance(v, Sized) for v in values)

    def _row(self, X: Any) -> Any:
        """Return a row of a pandas frame as a mapping; anything else as it is."""
        is_row = self._name is not None and is_pandas(X, "Series") and self._name in X.index
        return dict(X.items()) if is_row else X

    def _listed(self, X: Any) -> Any:
        """Return X as sequences where it is one."""
        if not self.is_one(X):
            return X
        row = self._row(X)
        return {name: [value] for name, value in row.items()} if isinstance(row, Mapping) else [row]

    @property
    def _name(self) -> str | None:
        return self.column if self.column is not None else self.learned_column

    def _read(self, X: Any, target: str | None) -> Sequences:
        found = chosen_column(X, self.column, target, _WHAT, before=self.learned_column, lists=True)
        return read_sequences(*found, self.n_jobs)


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


def _is_one(X: Any) -> bool:
    """Return whether X can only be one sequence: a text, or whole numbers one after the other."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "iu" and X.size > 0
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(s, int | np.integer) and not isinstance(s, bool) for s in X)
    return isinstance(X, str)


def _learned(estimator: Any) -> Any:
    """Return what a sequence classifier has learned, be it inside others."""
    found = estimator.statistics_
    while hasattr(found, "fitted"):
        found = found.fitted.statistics_
    return found
