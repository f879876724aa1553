"""Missing cells one by one, of networks with categories and numbers: what is filled in, and how sure it is.

A category gets its most probable state given the rest of the row, argmax_s P(s | e), and its probability; a number its
conditional mean E[x | e] and its standard deviation. For random draws, m ~ P(m | e), categories are drawn one after
the other, each given those before it, then numbers: given all categories a number is normal, so the draws are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.threads import row_pieces
from tunbridge.inference.batches import answer
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Rows
from tunbridge.inference.hybrid.batches import moments

_PIECE = 2**14  # rows


class Cells(NamedTuple):
    """The filled cells of a column.

    Parameters
    ----------
    variable : int
        The number of the variable in the network.
    rows : ndarray of int
        The rows of the cells.
    values : ndarray
        Codes of states, or numbers.
    certainty : ndarray
        The probability of each state, or the standard deviation of each number.
    """

    variable: int
    rows: np.ndarray
    values: np.ndarray
    certainty: np.ndarray


def filled_cells(
    engine: Engine,
    rows: Rows,
    wanted: Iterable[int],
    *,
    rng: np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> list[Cells]:
    """Return what the missing cells of some variables are filled with; cells of impossible rows are left out.

    With ``rng`` the values are drawn.
    """
    wanted = list(wanted)
    incomplete = np.zeros(rows.n_rows, bool)
    for v in wanted:
        incomplete |= _missing(engine, rows, v)
    numbers = np.flatnonzero(incomplete)
    parts: dict[int, list[Cells]] = {v: [] for v in wanted}
    for start, stop in row_pieces(len(numbers), _PIECE):
        piece = numbers[start:stop]
        some = Rows(rows.codes[:, piece], rows.values[:, piece])
        found = (
            _most_probable(engine, some, wanted, n_jobs) if rng is None else _drawn(engine, some, wanted, rng, n_jobs)
        )
        for cells in found:
            parts[cells.variable].append(cells._replace(rows=piece[cells.rows]))
    return [_joined(v, each) for v, each in parts.items() if each]


def _joined(v: int, parts: Sequence[Cells]) -> Cells:
    return Cells(v, *(np.concatenate([part[k] for part in parts]) for k in (1, 2, 3)))


def _missing(engine: Engine, rows: Rows, v: int) -> np.ndarray:
    """Return which rows do not know a variable."""
    mask: np.ndarray = np.isnan(rows.numbers(v)) if engine.variables[v].is_continuous else rows.codes[v] < 0
    return mask


def _most_probable(engine: Engine, rows: Rows, wanted: Sequence[int], n_jobs: int | None) -> list[Cells]:
    """Return the most probable states, and the means of numbers, each given what its row knows."""
    categories = [v for v in wanted if engine.variables[v].is_categorical]
    numbers = [v for v in wanted if engine.variables[v].is_continuous]
    found = []
    if categories:
        shares = answer(engine, rows, categories, n_jobs=n_jobs).marginals
        starts = np.cumsum([0, *engine.n_states[categories]]).tolist()
        for v, low, high in zip(categories, starts, starts[1:], strict=False):
            at = np.flatnonzero(_missing(engine, rows, v) & ~np.isnan(shares[:, low]))
            best = shares[at, low:high].argmax(axis=1)
            found.append(Cells(v, at, best, shares[at, low + best]))
    if numbers:
        for v, answers in moments(engine, rows, numbers, n_jobs)[1].items():
            at = np.flatnonzero(_missing(engine, rows, v) & ~np.isnan(answers[:, 0]))
            found.append(Cells(v, at, answers[at, 0], answers[at, 1]))
    return found


def _drawn(
    engine: Engine, rows: Rows, wanted: Sequence[int], rng: np.random.Generator, n_jobs: int | None
) -> list[Cells]:
    """Return draws from the joint distribution of all missing cells of each row, those of the variables wanted."""
    rows, found = Rows(rows.codes.copy(), rows.values.copy()), []
    order = sorted(range(len(engine.variables)), key=lambda v: engine.variables[v].is_continuous)
    for v in order:
        at = np.flatnonzero(_missing(engine, rows, v))
        part = Rows(rows.codes[:, at], rows.values[:, at])
        if not len(at):
            continue
        if engine.variables[v].is_continuous:
            mean, deviation = moments(engine, part, [v], n_jobs)[1][v].T
            values, certainty = rng.normal(mean, np.nan_to_num(deviation)), deviation
            known = ~np.isnan(mean)
            rows.numbers(v)[at[known]] = values[known]
        else:
            shares = answer(engine, part, [v], n_jobs=n_jobs).marginals
            known = ~np.isnan(shares[:, 0])
            reached = rng.random(len(at))[:, None] < np.cumsum(np.nan_to_num(shares), axis=1)
            values = np.where(reached.any(axis=1), reached.argmax(axis=1), shares.shape[1] - 1)
            certainty = shares[np.arange(len(at)), values]
            rows.codes[v, at[known]] = values[known]
        if v in wanted:
            found.append(Cells(v, at[known], values[known], certainty[known]))
    return found
