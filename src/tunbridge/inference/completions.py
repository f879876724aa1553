"""Rows of codes completed: jointly most probable, most probable cell by cell, or drawn from the exact posterior.

A cell that is to be completed holds −1, one that is hidden and stays so HIDDEN. Of a row with the states e known, the
cells m to be completed, and h that stay hidden,

    most probable:  argmax_m P(m | e) = argmax_m Σ_h P(m, h, e)
    cell by cell:   argmax_{m_i} P(m_i | e)  for each cell i
    drawn:          m ~ P(m | e)

The first is the likeliest row; the second is right in the most cells on average, though its states may not go together;
the third keeps the spread of the data and how the columns hang together. All are exact. Nearly every row is completed
by elimination within its hidden components (:mod:`tunbridge.kernels.completions`); what is too large for that, by a
junction tree for the row alone.

References
----------
D. B. Rubin (1987). Multiple Imputation for Nonresponse in Surveys. Wiley, chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.errors import MemoryForecastError
from tunbridge.inference import batches
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.inference.forward import check_states, sample_codes
from tunbridge.inference.maximum import most_probable_codes
from tunbridge.inference.simulation import conditioned, sample
from tunbridge.kernels import completions
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.completions import HIDDEN
from tunbridge.kernels.rows import distinct_rows

_PIECE = 2**12
_MOST_ENTRIES = 2**18  # of the tables of a component: 2 MiB for each thread
_ANSWER_BYTES = 2**28  # of the marginals of a piece of rows
_NO_SEEDS = np.zeros(2, np.uint64)


@dataclass(frozen=True)
class Completed:
    """Codes with −1 filled in, and which rows are impossible and hence as they were."""

    codes: np.ndarray
    impossible: np.ndarray


def most_probable_completion(engine: Engine, codes: np.ndarray, *, n_jobs: int | None = None) -> Completed:
    """Return each row with the jointly most probable states in its cells of −1; equal rows are completed once."""
    first = np.empty(codes.shape[1], np.int64)
    distinct_rows(codes, first)
    distinct, where = np.unique(first, return_inverse=True)
    filled = np.ascontiguousarray(codes[:, distinct])
    impossible, left = _complete(engine, filled, np.arange(len(distinct)), _NO_SEEDS, n_jobs, draws=False)
    for i in left.tolist():  # one at a time: each may take all the memory there is
        evidence, wanted = _evidence_of(filled[:, i]), np.flatnonzero(filled[:, i] == -1)
        impossible[i] = engine.log_probability(evidence) == -np.inf
        if not impossible[i]:
            filled[wanted, i] = _most_probable_alone(engine, evidence, wanted)
    return Completed(filled[:, where], impossible[where])


def cell_wise_completion(engine: Engine, codes: np.ndarray, *, n_jobs: int | None = None) -> Completed:
    """Return each row with the most probable state of each cell of −1, whatever the other cells get."""
    filled, impossible = codes.copy(), np.zeros(codes.shape[1], bool)
    asked = np.flatnonzero((codes == -1).any(axis=1)).tolist()
    starts = np.cumsum([0, *engine.n_states[asked]])
    size = max(1, int(_ANSWER_BYTES / (16.0 * (int(starts[-1]) + 1))))
    for begin, end in row_pieces(codes.shape[1], size):
        part = slice(begin, end)
        answers = batches.answer(engine, np.maximum(codes[:, part], -1), asked, n_jobs=n_jobs)
        impossible[part] = np.isneginf(answers.log_evidence)
        for v, low, high in zip(asked, starts, starts[1:], strict=False):
            rows = begin + np.flatnonzero((codes[v, part] == -1) & ~impossible[part])
            filled[v, rows] = answers.marginals[rows - begin, low:high].argmax(axis=1)
    return Completed(filled, impossible)


def drawn_completion(
    engine: Engine, codes: np.ndarray, numbers: np.ndarray, entropy: int, draw: int = 0, *, n_jobs: int | None = None
) -> Completed:
    """Return each row with states in its cells of −1 that are drawn from their exact joint distribution given the rest.

    Parameters
    ----------
    engine : Engine
        The network.
    codes : ndarray of shape (n_variables, n_rows)
        The rows.
    numbers : ndarray of shape (n_rows,)
        The number of each row, which with the seed decides what is drawn.
    entropy, draw : int
        The seed, and which of the draws with that seed it is.
    """
    seeds = np.random.SeedSequence(entropy, spawn_key=(draw,)).generate_state(2, np.uint64)
    filled = codes.copy()
    impossible, left = _complete(engine, filled, numbers, seeds, n_jobs, draws=True)
    for rows in _equal_rows(filled, left):
        evidence = _evidence_of(filled[:, rows[0]])
        impossible[rows] = engine.log_probability(evidence) == -np.inf
        if not impossible[rows[0]]:
            own = np.random.SeedSequence(entropy, spawn_key=(draw, int(numbers[rows[0]])))
            drawn = _drawn_alone(engine, evidence, len(rows), int(own.generate_state(1, np.uint64)[0]), n_jobs)
            for v in np.flatnonzero(filled[:, rows[0]] == -1).tolist():
                filled[v, rows] = drawn[v]
    return Completed(filled, impossible)


def _complete(
    engine: Engine, codes: np.ndarray, numbers: np.ndarray, seeds: np.ndarray, n_jobs: int | None, *, draws: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Complete what elimination can in place; return which rows are impossible, and which are left to be completed."""
    n_rows = codes.shape[1]
    if engine.needs_reduction:
        return np.zeros(n_rows, bool), np.arange(n_rows)
    flat = engine.flat
    check_states(flat)
    check_memory("the logarithms of the tables", 8.0 * flat.tables.size, ways_out="Give nodes fewer parents.")
    announce(completions.complete_rows, "imputation")
    with np.errstate(divide="ignore"):
        log_tables = np.log(flat.tables)
    wide = np.full((flat.n_variables, n_rows), HIDDEN, codes.dtype)  # auxiliary variables of noisy tables stay hidden
    wide[: engine.n_variables] = codes
    status, child_arrays = np.empty(n_rows, np.int8), _child_arrays(flat)

    def run(piece: tuple[int, int]) -> None:
        completions.complete_rows(
            flat.n_states, flat.order, flat.parent_start, flat.parents, flat.table_start, log_tables,
            *child_arrays, wide, piece[0], numbers[slice(*piece)], seeds, draws, _MOST_ENTRIES,
            status[slice(*piece)],
        )  # fmt: skip

    map_threads(run, row_pieces(n_rows, _PIECE), n_jobs)
    codes[:] = wide[: engine.n_variables]
    return status == completions.IMPOSSIBLE, np.flatnonzero(status == completions.TOO_LARGE)


def _most_probable_alone(engine: Engine, evidence: Evidence, wanted: np.ndarray) -> np.ndarray:
    """Return the most probable states of some variables by a junction tree."""
    try:
        found, _ = most_probable_codes(engine, evidence, wanted.tolist())
    except MemoryForecastError as error:
        reason = str(error).partition(", and the limit")[0]
        hint = "Ways out: jointly=False, method='sample', or fewer columns."
        raise MemoryForecastError(f"a row cannot be completed: {reason}. {hint}") from None
    return np.maximum(np.array(found)[wanted], 0)  # a variable of one state may have been left out of the tree


def _drawn_alone(engine: Engine, evidence: Evidence, n: int, seed: int, n_jobs: int | None) -> dict[int, np.ndarray]:
    """Return n draws of the variables that are not observed, by a junction tree."""
    if not evidence:
        return dict(enumerate(sample(engine, n, random_state=seed, n_jobs=n_jobs).columns))
    variables, flat = conditioned(engine, evidence)
    return dict(zip(variables.tolist(), sample_codes(flat, n, seed, n_jobs), strict=True))


def _child_arrays(flat: FlatNetwork) -> tuple[np.ndarray, np.ndarray]:
    """Return where the children of each variable begin, and the children of all end to end."""
    owner = np.repeat(np.arange(flat.n_variables), np.diff(flat.parent_start))
    counts = np.bincount(flat.parents, minlength=flat.n_variables)
    return starts_of(counts.tolist()), owner[np.argsort(flat.parents, kind="stable")]


def _evidence_of(row: np.ndarray) -> Evidence:
    return Evidence({v: int(code) for v, code in enumerate(row) if code >= 0}, {})


def _equal_rows(codes: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the rows in groups of equal ones."""
    if not len(rows):
        return []
    first = np.empty(len(rows), np.int64)
    distinct_rows(np.ascontiguousarray(codes[:, rows]), first)
    by_group = np.argsort(first, kind="stable")
    return np.split(rows[by_group], np.flatnonzero(np.diff(first[by_group])) + 1)
