"""The counts of a batch: counted where nothing has to be inferred, expected elsewhere, and the log-score they give.

The log-likelihood of counted rows needs no look at single rows,

    Σ_rows w ln P(row) = Σ_families Σ_jk n_jk ln P(k | j).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.counts import Counter, Counts
from tunbridge.errors import MemoryForecastError
from tunbridge.inference import Engine, batches
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.network.arriving import FEW_ROWS, Batch
from tunbridge.probability import ConditionalTable


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are taken together, and which of them need no inference."""

    batch: Batch
    simple: np.ndarray


def countable_rows(batch: Batch, tables: Sequence[ConditionalTable]) -> np.ndarray:
    """Return which rows can simply be counted: of every variable that they know they know the parents too.

    What is missing there is barren, and touches no table but its own.
    """
    simple = np.ones(batch.n_rows, bool)
    codes = {v.name: column for v, column in zip(batch.variables, batch.codes, strict=True)}
    holes = {name for name, column in codes.items() if column.min(initial=0) < 0}
    for cpt in tables:
        for parent in cpt.parents:
            if parent.name in holes:
                simple &= (codes[cpt.variable.name] < 0) | (codes[parent.name] >= 0)
    return simple


def cut_into_parts(batch: Batch, simple: np.ndarray, batch_rows: int | None) -> Iterator[Part]:
    """Yield the rows cut as was asked; where nothing needs inference the cuts make no difference, and none are made."""
    if batch_rows is None or simple.all():
        yield Part(batch, simple)
        return
    for start, stop in row_pieces(batch.n_rows, batch_rows):
        yield Part(batch.take(slice(start, stop)), simple[start:stop])


def faded_weights(n_rows: int, factor: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Return what each of n rows still weighs after the last of them.

    Examples
    --------
    >>> faded_weights(3, 0.5).tolist()
    [0.25, 0.5, 1.0]
    """
    faded = factor ** np.arange(n_rows - 1, -1, -1, dtype=np.float64)
    return faded if weights is None else faded * weights


# Counts of a part


@dataclass(frozen=True, eq=False)
class PartCounts:
    """The counts of every family, those of the simple rows alone, and Σ w ln P(row) of the others (may be −∞)."""

    counts: list[Counts]
    simple: list[Counts]
    log_incomplete: float


def family_counts(
    part: Part, tables: Sequence[ConditionalTable], weights: np.ndarray | None, n_jobs: int | None
) -> PartCounts:
    """Return the counts of every family: counted where that is possible, expected elsewhere."""
    families = [(cpt.variable.name, [p.name for p in cpt.parents]) for cpt in tables]
    if part.simple.all():
        n_jobs = 1 if part.batch.n_rows < FEW_ROWS else n_jobs
        simple = Counter(part.batch.table(weights), n_jobs=n_jobs).families(families)
        return PartCounts(simple, simple, 0.0)
    w_simple, w_holes = (None, None) if weights is None else (weights[part.simple], weights[~part.simple])
    simple = Counter(part.batch.take(part.simple).table(w_simple), n_jobs=n_jobs).families(families)
    expected, log_likelihood = _expected(part.batch.take(~part.simple), tables, w_holes, n_jobs)
    return PartCounts([a.merge(b) for a, b in zip(simple, expected, strict=True)], simple, log_likelihood)


def _expected(
    batch: Batch, tables: Sequence[ConditionalTable], weights: np.ndarray | None, n_jobs: int | None
) -> tuple[list[Counts], float]:
    """Return the expected counts of rows with holes, of which those that are impossible are left out."""
    flat = _written_out(tables)
    ways_out = "Give the rows in pieces, or set batch_rows."
    check_memory("the rows with holes", 8.0 * batch.n_rows * len(tables) + 16.0 * len(flat.tables), ways_out=ways_out)
    codes = batch.matrix()
    found = IncompleteRows(flat, codes, weights, n_jobs=n_jobs).expected_counts(flat.tables)
    log_likelihood = found.log_likelihood
    if log_likelihood == -np.inf:
        possible = _log_rows(tables, codes, n_jobs) > -np.inf
        kept = None if weights is None else weights[possible]
        found = IncompleteRows(flat, codes[:, possible], kept, n_jobs=n_jobs).expected_counts(flat.tables)
    bounds = zip(flat.table_start[:-1], flat.table_start[1:], strict=True)
    counts = [
        Counts(cpt.variable, cpt.parents, found.counts[a:b].reshape(-1, cpt.variable.n_states))
        for cpt, (a, b) in zip(tables, bounds, strict=True)
    ]
    return counts, log_likelihood


def _written_out(tables: Sequence[ConditionalTable]) -> FlatNetwork:
    """Return the tables end to end; raise where a sparse one is too large for that."""
    try:
        return flatten(tables)
    except MemoryForecastError as error:
        hint = "Rows with holes need all tables written out: leave these rows out, or fill their holes first."
        raise MemoryForecastError(f"{str(error).partition(' Sampling')[0]} {hint}") from None


def _log_rows(tables: Sequence[ConditionalTable], codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return ln P(row) for every row."""
    return batches.answer(Engine(tables), codes, [], n_jobs=n_jobs).log_evidence


# The log-score


@dataclass(frozen=True)
class Score:
    """Σ w ln P(row) of the possible rows, their weight, how many were impossible, and how many left out for it."""

    log_likelihood: float
    weight: float
    n_impossible: int = 0
    n_left_out: int = 0


def score(part: Part, tables: Sequence[ConditionalTable], found: PartCounts, n_jobs: int | None) -> Score:
    """Return Σ w ln P(row) under the tables as they were: of counted rows from their counts, Σ n_jk ln P(k | j)."""
    weights = part.batch.weights
    counted = sum(_log_likelihood(cpt, counts) for cpt, counts in zip(tables, found.simple, strict=True))
    total = counted + found.log_incomplete
    if total > -np.inf:
        return Score(total, float(part.batch.n_rows if weights is None else weights.sum()))
    log_rows = _log_rows(tables, part.batch.matrix(), n_jobs)
    possible = log_rows > -np.inf
    w = np.ones(len(log_rows)) if weights is None else weights
    left_out = ~possible & ~part.simple
    return Score(
        float(w[possible] @ log_rows[possible]),
        float(w[possible].sum()),
        int(np.count_nonzero(~possible)),
        int(np.count_nonzero(left_out)),
    )


def _log_likelihood(cpt: ConditionalTable, counts: Counts) -> float:
    if counts.configurations is not None:
        rows = cpt.rows(counts.configurations)
    else:
        rows = cpt.table().reshape(-1, cpt.variable.n_states)
    used = counts.table > 0
    with np.errstate(divide="ignore"):
        return float(counts.table[used] @ np.log(rows[used]))
