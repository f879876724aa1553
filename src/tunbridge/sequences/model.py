"""The joint distribution of class and sequence, log P(x, c) = log P(c) + Σ_i log P(x_i | context, c), and streams.

The log-odds of a sequence are a sum over its symbols, so they can be updated while symbols arrive. Contexts are carried
over from piece to piece: any way of splitting a sequence gives the same result. The end is no symbol that arrives; only
``finish`` adds its log-probability.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import lock_of, map_threads, row_pieces
from tunbridge.classifiers._classes import Finish, log_posterior, posterior
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.kernels.text.sequences import Coded
from tunbridge.sequences.contexts import Layout, cut_spans, shares_of
from tunbridge.sequences.reader import read_sequences, warn_unknown
from tunbridge.sequences.smoothing import ScoreTable, estimates_of, levels_of, log_scores, symbol_scores, table_of
from tunbridge.sequences.statistics import SequenceStatistics, Settings, best_order, bic_scores, check_lengths
from tunbridge.sequences.symbols import Rules, Sequences, Symbol, no_symbol

_PIECE_ROWS = 1 << 15
_BYTES_PER_COUNT = 80  # of a context with an outcome in a level, and of its estimate


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """P(c) and P(x_i | context, c).

    Parameters
    ----------
    log_prior : ndarray
        log P(c).
    statistics : SequenceStatistics
        The counts that the model is derived from.
    rules : Rules
        Which values are the same symbol, and which are unknown.
    order : int
        The number of letters of the longest contexts.
    order_scores : tuple of float
        The score of each order, if the order was chosen.
    strengths : tuple of tuple of float
        For each class the strength of each level of back-off.
    table : DenseTable or SparseTable
        The log-probabilities.
    """

    log_prior: np.ndarray
    statistics: SequenceStatistics
    rules: Rules
    order: int
    order_scores: tuple[float, ...]
    strengths: tuple[tuple[float, ...], ...]
    table: ScoreTable

    @cached_property
    def layout(self) -> Layout:
        """The contexts."""
        return self.statistics.layout.with_order(self.order)

    def coded(self, rows: Sequences, n_jobs: int | None = None) -> Coded:
        """Return sequences in the codes of the model; raise if their length does not fit."""
        check_lengths(rows, self.statistics.length)
        return self.codes(rows, n_jobs)

    def codes(self, rows: Sequences, n_jobs: int | None = None) -> Coded:
        """Return symbols in the codes of the model; all are unknown as long as the number of positions is."""
        found = rows.coded(self.rules, self.statistics.alphabet, n_jobs)
        if self.statistics.length != 0:
            return found
        unknown = np.full_like(found.codes, no_symbol(len(self.statistics.alphabet)))
        return found._replace(codes=unknown, known=np.zeros_like(found.known))

    def joint(self, rows: Sequences, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each sequence, (n_rows, n_classes); finish works on class × row pieces."""
        found = log_scores(self.table, self.coded(rows, n_jobs), len(self.log_prior), n_jobs)
        for start, stop in row_pieces(rows.n_rows, _PIECE_ROWS, len(self.log_prior)):
            found[start:stop] = finish((found[start:stop] + self.log_prior).T).T
        return found

    def symbol_terms(self, rows: Coded, row: int) -> np.ndarray:
        """Return what each symbol of one sequence adds to log P(x, c), and in the last row what the end adds."""
        start, stop = rows.offsets[row : row + 2].tolist()
        one = Coded(rows.codes[start:stop], np.array([0, stop - start]), rows.known[row : row + 1])
        return symbol_scores(self.table, one, len(self.log_prior))


def model_of(statistics: SequenceStatistics, log_prior: np.ndarray, settings: Settings) -> SequenceModel:
    """Return the model that follows from counts: of their order, or of the best one up to it by BIC."""
    layout, n_jobs = statistics.layout, settings.n_jobs
    check_memory(
        f"the estimates of contexts of {counted(layout.order, 'symbol')}",
        float(_BYTES_PER_COUNT * (layout.depth + 1) * sum(len(each.keys) for each in statistics.counted)),
        ways_out="Lower the order.",
    )
    levels = map_threads(lambda each: levels_of(each, layout), statistics.counted, n_jobs)
    estimates = map_threads(lambda each: estimates_of(each, layout.n_outcomes, settings.strength), levels, n_jobs)
    scores, chosen = np.array(statistics.order_scores), layout.order
    if settings.choose_by == "bic":
        scores = sum((bic_scores(layout, each) for each in levels), np.zeros(1))
        chosen = best_order(scores)
    depth = chosen + layout.has_places + 1
    chains = [(a[:depth], b[:depth]) for a, b in zip(levels, estimates, strict=True)]
    strengths = tuple(tuple(e.strength for e in each) for _, each in chains)
    table = table_of(layout.with_order(chosen), chains)
    return SequenceModel(log_prior, statistics, settings.rules, chosen, tuple(scores.tolist()), strengths, table)


class SequenceStream:
    """The posterior of a sequence that arrives in pieces; :meth:`SequenceClassifier.stream` starts one.

    Attributes
    ----------
    n_symbols : int
        The number of symbols so far.
    is_finished : bool
        Whether the sequence has ended.

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
        self._tail = model.codes(read_sequences([""])).codes
        self.n_symbols, self.is_finished, self._any_known = 0, False, False
        self._warned: set[Symbol] = set()

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

    def log_odds(self, label: object, against: object) -> float:
        """Return log P(label | symbols so far)/P(against | symbols so far)."""
        c, d = self._target.code(label), self._target.code(against)
        found = self._possible[:, 0]
        return 0.0 if found[c] == found[d] else float(found[c] - found[d])

    def update(self, piece: str | int | Iterable[Any]) -> Self:
        """Add further symbols: a text, or a list of symbols, of any length."""
        with lock_of(self):
            self._update(piece)
        return self

    def _update(self, piece: str | int | Iterable[Any]) -> None:
        if self.is_finished:
            raise DataError("a stream must not be updated after finish; got further symbols. Start a new one.")
        rows = read_sequences([[piece] if isinstance(piece, int | np.integer) else piece])
        model, length = self._model, self._model.statistics.length
        if length and self.n_symbols + len(rows.codes) > length:
            n = self.n_symbols + len(rows.codes)
            raise DataError(f"a sequence of this model must have {length} symbols; got {n}.")
        unknown = [s for s in model.rules.unknown(rows, model.statistics.alphabet) if s not in self._warned]
        warn_unknown(unknown, model.statistics.alphabet)
        self._warned.update(unknown)
        new = model.codes(rows)
        codes, first = np.concatenate([self._tail, new.codes]), len(self._tail)
        self._any_known = self._any_known or bool(new.known.any())
        self._add(codes, first, len(codes) + 1)
        self.n_symbols += len(new.codes)
        kept = len(codes) if length is not None else model.order + 1  # one more than contexts need: no beginning there
        self._tail = codes[max(0, len(codes) - kept) :]

    def finish(self) -> Self:
        """End the sequence, which adds evidence if the model knows ends."""
        length = self._model.statistics.length
        with lock_of(self):
            if length and 0 < self.n_symbols < length:
                n = self.n_symbols
                raise DataError(f"a sequence of this model must have {length} symbols; it ended after {n}.")
            if not self.is_finished:
                self._add(self._tail, len(self._tail), len(self._tail))
                self.is_finished = True
        return self

    def _add(self, codes: np.ndarray, first: int, end: int) -> None:
        """Add the symbols from ``first`` on; the sequence ends at ``end``, which may be beyond them."""
        spans, begins = cut_spans(np.array([first, len(codes)]))
        rows = Coded(codes, np.array([0, end]), np.array([self._any_known]))
        for run in shares_of(begins):
            out = np.zeros((len(spans[run]), len(self._log_joint)))
            self._model.table.add(rows, spans[run], out)
            self._log_joint += out.sum(axis=0)

    @property
    def _possible(self) -> np.ndarray:
        """The logarithm of P(symbols so far, c) as a column; the prior if no class can produce them."""
        lost = np.isneginf(self._log_joint.max())
        return (self._model.log_prior if lost else self._log_joint)[:, None]
