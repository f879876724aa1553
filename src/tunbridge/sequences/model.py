"""The joint distribution of class and sequence, log P(x, c) = log P(c) + Σ_i log P(x_i | context, c)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.posteriors import Finish
from tunbridge.errors import DataError
from tunbridge.sequences.alphabets import Rules
from tunbridge.sequences.counting import Coded, coded
from tunbridge.sequences.layout import Layout
from tunbridge.sequences.levels import levels_of
from tunbridge.sequences.orders import best_order, bic_scores
from tunbridge.sequences.sequence_rows import Sequences, no_symbol
from tunbridge.sequences.smoothing import estimates_of
from tunbridge.sequences.statistics import SequenceStatistics
from tunbridge.sequences.tables import ScoreTable, log_scores, symbol_scores, table_of

_PIECE_ROWS = 1 << 15
_BYTES_PER_COUNT = 80  # what a level keeps of a context with an outcome, and of its estimate


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """P(c) and P(x_i | context, c).

    Parameters
    ----------
    log_prior : ndarray
        log P(c).
    statistics : SequenceStatistics
        What it was learned from.
    rules : Rules
        What counts as which symbol.
    order : int
        The number of letters of the longest contexts.
    order_scores : tuple of float
        The score of each order, where one was to be chosen.
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
        """Return sequences in the codes of the model; raise where their length does not fit."""
        check_lengths(rows, self.statistics.length)
        return coded(self.codes(rows, n_jobs), rows.offsets, len(self.statistics.alphabet))

    def codes(self, rows: Sequences, n_jobs: int | None = None) -> np.ndarray:
        """Return the symbols as codes; as long as no sequence has shown what places there are, all are unknown."""
        alphabet = self.statistics.alphabet
        found = self.rules.codes(rows, alphabet, n_jobs)
        return np.full_like(found, no_symbol(len(alphabet))) if self.statistics.length == 0 else found

    def joint(self, rows: Sequences, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each sequence, (n_rows, n_classes); finish works on class × row pieces."""
        found = log_scores(self.table, self.coded(rows, n_jobs), len(self.log_prior), n_jobs)
        for start, stop in row_pieces(rows.n_rows, _PIECE_ROWS):
            found[start:stop] = finish((found[start:stop] + self.log_prior).T).T
        return found

    def symbol_terms(self, rows: Coded, row: int) -> np.ndarray:
        """Return what each symbol of one sequence adds to log P(x, c), and at the end what the end adds."""
        start, stop = rows.offsets[row : row + 2].tolist()
        one = Coded(rows.codes[start:stop], np.array([0, stop - start]), rows.known[row : row + 1])
        return symbol_scores(self.table, one, len(self.log_prior))


def model_of(
    statistics: SequenceStatistics,
    log_prior: np.ndarray,
    rules: Rules,
    *,
    strength: float | None,
    by_bic: bool = False,
    n_jobs: int | None = None,
) -> SequenceModel:
    """Return the model that follows from counts, its estimates backed off.

    ``strength`` is the number of imagined symbols of each level, None for the best. The order is that of the counts, or
    the best one up to it by BIC.
    """
    layout = statistics.layout
    check_memory(
        f"the estimates of contexts of {counted(layout.order, 'symbol')}",
        float(_BYTES_PER_COUNT * (layout.depth + 1) * sum(len(each.keys) for each in statistics.counted)),
        ways_out="Lower the order.",
    )
    levels = map_threads(lambda each: levels_of(each, layout), statistics.counted, n_jobs)
    estimates = map_threads(lambda each: estimates_of(each, layout.n_outcomes, strength), levels, n_jobs)
    scores, chosen = np.array(statistics.order_scores), layout.order
    if by_bic:
        scores = sum((bic_scores(layout, each) for each in levels), np.zeros(1))
        chosen = best_order(scores)
    depth = chosen + layout.has_places + 1
    chains = [(a[:depth], b[:depth]) for a, b in zip(levels, estimates, strict=True)]
    strengths = tuple(tuple(e.strength for e in each) for _, each in chains)
    table = table_of(layout.with_order(chosen), chains)
    return SequenceModel(log_prior, statistics, rules, chosen, tuple(scores.tolist()), strengths, table)


def check_lengths(rows: Sequences, length: int | None) -> None:
    """Raise unless the sequences of a position-specific model are all as long as they must be, or empty."""
    if length is None:
        return
    lengths = rows.lengths
    odd = (lengths > 0) & (lengths != length) if length else np.zeros(len(lengths), np.bool_)
    if odd.any():
        row = int(odd.argmax())
        raise DataError(
            f"sequences of a position-specific model must all have one length; row {row + 1} has "
            f"{counted(int(lengths[row]), 'symbol')}, not {length}. Align them, or use model='markov'."
        )
