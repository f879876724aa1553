"""A sequence that is still coming in: the posterior after each piece of it.

The log-odds of a sequence are a sum over its symbols, so that they can be followed while symbols arrive. Contexts are
carried over from piece to piece: any cutting gives what the whole gives. The end is no symbol that arrives; only
``finish`` says that there will be no more, and adds what the end has to say.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tunbridge.classifiers.posteriors import log_posterior, posterior
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.sequences.counting import Coded
from tunbridge.sequences.model import SequenceModel
from tunbridge.sequences.reader import warn_unknown
from tunbridge.sequences.sequence_rows import Symbol, cut_spans, runs_of
from tunbridge.sequences.symbols import read_sequences


class SequenceStream:
    """The posterior of a sequence that comes in pieces; :meth:`SequenceClassifier.stream` begins one.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.SequenceClassifier(order=0, smoothing=1, ends=False).fit(["aab", "abb"], ["x", "y"])
    >>> stream = clf.stream()
    >>> round(stream.update("a").log_odds("x", "y"), 3), stream.update("ba").n_symbols
    (0.511, 3)
    >>> stream.proba.round(3).tolist() == clf.predict_proba(["aba"])[0].round(3).tolist()
    True
    """

    def __init__(self, model: SequenceModel, target: Variable) -> None:
        self._model, self._target = model, target
        self._log_joint = model.log_prior.copy()
        self._tail = model.codes(read_sequences([""]))
        self._n_symbols, self._any_known, self._is_finished = 0, False, False
        self._told: set[Symbol] = set()

    @property
    def n_symbols(self) -> int:
        """The number of symbols so far."""
        return self._n_symbols

    @property
    def is_finished(self) -> bool:
        """Whether the sequence has ended."""
        return self._is_finished

    @property
    def log_joint(self) -> np.ndarray:
        """The logarithm of P(symbols so far, c) for each class."""
        return self._log_joint.copy()

    @property
    def proba(self) -> np.ndarray:
        """P(c | symbols so far), in the order of the classes."""
        return posterior(self._possible)[:, 0]

    @property
    def log_proba(self) -> np.ndarray:
        """The logarithm of P(c | symbols so far), in the order of the classes."""
        return log_posterior(self._possible)[:, 0]

    def log_odds(self, label: Any, against: Any) -> float:
        """Return log P(label | symbols so far)/P(against | symbols so far)."""
        c, d = self._target.code(label), self._target.code(against)
        found = self._possible[:, 0]
        return 0.0 if found[c] == found[d] else float(found[c] - found[d])

    def update(self, piece: Any) -> Self:
        """Take in further symbols: a text, or a list of symbols, of any length."""
        if self._is_finished:
            raise DataError("a stream must not go on once it is finished; got further symbols. Begin a new one.")
        rows = read_sequences([[piece] if isinstance(piece, int | np.integer) else piece])
        model, length = self._model, self._model.statistics.length
        if length and self._n_symbols + len(rows.codes) > length:
            n = self._n_symbols + len(rows.codes)
            raise DataError(f"a sequence of this model must have {length} symbols; got {n}.")
        self._tell(model.rules.unknown(rows, model.statistics.alphabet))
        new = model.codes(rows)
        codes, first = np.concatenate([self._tail, new]), len(self._tail)
        self._any_known = self._any_known or bool((new < len(model.statistics.alphabet)).any())
        self._add(codes, first, len(codes) + 1)
        self._n_symbols += len(new)
        kept = len(codes) if length is not None else model.order + 1  # one more than is looked at: no beginning there
        self._tail = codes[max(0, len(codes) - kept) :]
        return self

    def finish(self) -> Self:
        """Say that the sequence has ended, which tells something where the model knows ends."""
        length = self._model.statistics.length
        if length and 0 < self._n_symbols < length:
            raise DataError(f"a sequence of this model must have {length} symbols; it ended after {self._n_symbols}.")
        if not self._is_finished:
            self._add(self._tail, len(self._tail), len(self._tail))
            self._is_finished = True
        return self

    def _add(self, codes: np.ndarray, first: int, end: int) -> None:
        """Add the symbols from ``first`` on; the sequence ends at ``end``, which may be beyond them."""
        spans, begins = cut_spans(np.array([first, len(codes)]))
        rows = Coded(codes, np.array([0, end]), np.array([self._any_known]))
        for run in runs_of(begins):
            out = np.zeros((len(spans[run]), len(self._log_joint)))
            self._model.table.add(rows, spans[run], out)
            self._log_joint += out.sum(axis=0)

    @property
    def _possible(self) -> np.ndarray:
        """The logarithm of P(symbols so far, c) as a column; the prior where no class can produce them."""
        lost = np.isneginf(self._log_joint.max())
        return (self._model.log_prior if lost else self._log_joint)[:, None]

    def _tell(self, unknown: list[Symbol]) -> None:
        warn_unknown([s for s in unknown if s not in self._told], self._model.statistics.alphabet)
        self._told.update(unknown)
