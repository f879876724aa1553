"""One exact answer for every row of a frame.

Rows with equal evidence are computed once. A row with few missing values is answered without a tree, by summing over
the few hidden variables that belong together (``kernels.inference.rows``). The others go through the junction tree in
batches, the rows of a batch being the innermost axis of every table, sorted so that rows with the same variables
observed are neighbours. Memory is bounded for any number of rows, and results do not depend on the number of threads.
Networks with continuous variables group rows by what is known (:mod:`tunbridge.inference.hybrid.batches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_rows
from tunbridge.data import Variable
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Rows, find_variable, read_rows
from tunbridge.inference.hybrid.batches import answer_rows, moments
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.inference import rows as kernels

_PIECE = 2**13
_LANES = 256  # rows that NumPy takes through the tree together
_LARGEST_COMPONENT = 256


@dataclass(frozen=True)
class Answers:
    """Marginals of the requested variables for each row, side by side, and ln P(evidence)."""

    marginals: np.ndarray
    log_evidence: np.ndarray


def predict_proba(engine: Engine, frame: object, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the posterior of a categorical variable for every row; NaN where the evidence is impossible."""
    v = _target(engine, target)
    if engine.is_number(v):
        hint = "predict() returns its expected value."
        raise DataError(f"predict_proba() must have a categorical target; {target!r} is continuous. {hint}")
    answers = answer(engine, read_rows(engine, frame, leave_out=v), [v], n_jobs=n_jobs)
    warn_impossible(answers.log_evidence)
    return answers.marginals


def predict(engine: Engine, frame: object, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the most probable state of a variable, or its expected value if it is continuous, for every row.

    Where the evidence is impossible it is None, or NaN.
    """
    v = _target(engine, target)
    if not engine.is_number(v):
        return most_probable_states(engine.variables[v], predict_proba(engine, frame, target, n_jobs=n_jobs))
    log_evidence, found = moments(engine, read_rows(engine, frame, leave_out=v), [v], n_jobs)
    warn_impossible(log_evidence)
    return found[v][:, 0]


def _target(engine: Engine, target: object) -> int:
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.", parameter="target")
    return find_variable(engine.index, target, "target")


def most_probable_states(variable: Variable, found: np.ndarray) -> np.ndarray:
    """Return the most probable state of each row of probabilities; None where they are NaN."""
    states = np.empty(variable.n_states + 1, object)
    states[:-1] = variable.states
    best = np.where(np.isnan(found).any(axis=1), -1, np.nan_to_num(found).argmax(axis=1))
    chosen = states[best]
    if (best < 0).any() or len({type(state) for state in states[:-1]}) > 1:
        return chosen
    return np.array(states[:-1].tolist())[best]  # of a type of their own


def posteriors(engine: Engine, frame: object, *, n_jobs: int | None = None) -> dict[str, np.ndarray]:
    """Return, for every variable and row, the posterior, or mean and standard deviation if it is continuous.

    The posterior of an observed variable is certain.
    """
    rows, starts = read_rows(engine, frame), engine.starts
    answers = answer(engine, rows, list(range(engine.n_variables)), n_jobs=n_jobs)
    warn_impossible(answers.log_evidence)
    found = moments(engine, rows, engine.part.numbers, n_jobs)[1] if engine.part.numbers else {}
    found |= {v: answers.marginals[:, starts[v] : starts[v + 1]] for v in range(engine.n_variables)}
    return {name: found[engine.index[name]] for name in engine.names}


def log_likelihood(engine: Engine, frame: object, *, n_jobs: int | None = None) -> np.ndarray:
    """Return ln P(row) for every row, a density where it has continuous values, and −∞ where it is impossible.

    Missing values are summed or integrated out.
    """
    return answer(engine, read_rows(engine, frame), [], n_jobs=n_jobs).log_evidence


def warn_impossible(log_evidence: np.ndarray) -> None:
    """Warn about rows whose evidence is impossible."""
    n = int(np.isneginf(log_evidence).sum())
    if n:
        first = int(np.isneginf(log_evidence).argmax()) + 1
        shown = f"{n} of {len(log_evidence)} rows (first: row {first})"
        warn_user(f"impossible evidence in {shown}; the posteriors there are NaN.", ZeroProbabilityWarning)


# Answers


def answer(engine: Engine, rows: Rows | np.ndarray, asked: Sequence[int], *, n_jobs: int | None = None) -> Answers:
    """Return the marginals of some categorical variables, side by side, and ln P(evidence), for each row.

    Parameters
    ----------
    engine : Engine
        The network.
    rows : Rows, or ndarray of shape (n_variables, n_rows)
        The evidence; an array holds the codes of a discrete network, −1 where they are missing.
    asked : sequence of int
        The variables, by number.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """
    codes = rows.codes if isinstance(rows, Rows) else rows
    width = int(engine.n_states[list(asked)].sum())
    n_rows = codes.shape[1]
    check_memory("the answers", 2 * 8.0 * n_rows * (width + 1), ways_out="Pass the rows in batches.")
    if isinstance(rows, Rows) and engine.part.numbers:
        log_evidence, marginals = answer_rows(engine, rows, asked, n_jobs)
        return Answers(marginals, log_evidence)
    if engine.is_array_quicker(kernels.answer_rows, n_rows, _LANES):
        log_evidence, marginals = engine.run_rows(codes, asked, lanes=_LANES, n_jobs=1)
        return Answers(marginals, log_evidence)
    announce(kernels.answer_rows, "exact inference for rows", 20)
    first = np.empty(n_rows, np.int64)
    kernels.distinct_rows(codes, first)
    distinct, where = np.unique(first, return_inverse=True)
    found = Answers(np.full((len(distinct), width), np.nan), np.full(len(distinct), -np.inf))
    left = np.arange(len(distinct))
    if engine.is_flat:
        left = np.flatnonzero(_answer_small(engine, codes, distinct, asked, found, n_jobs) == kernels.TOO_LARGE)
    if len(left):
        patterns = np.packbits(codes[:, distinct[left]] >= 0, axis=0)
        left = left[np.lexsort(patterns)]
        log_evidence, marginals = engine.run_rows(codes[:, distinct[left]], asked, n_jobs=n_jobs)
        found.log_evidence[left], found.marginals[left] = log_evidence, marginals
    if len(distinct) == n_rows:
        return found
    return Answers(found.marginals[where], found.log_evidence[where])


def _answer_small(
    engine: Engine, codes: np.ndarray, distinct: np.ndarray, asked: Sequence[int], found: Answers, n_jobs: int | None
) -> np.ndarray:
    """Answer the rows whose hidden components are small; return the status of every row."""
    flat = engine.flat
    out_start, status = np.full(engine.n_variables, -1, np.int64), np.empty(len(distinct), np.int8)
    out_start[list(asked)] = np.cumsum([0, *engine.n_states[list(asked)]])[:-1]

    def run(start: int, stop: int) -> None:
        part = slice(start, stop)
        answers = kernels.Answers(found.marginals[part], found.log_evidence[part], status[part])
        kernels.answer_rows(flat.network, codes, distinct[part], out_start, _LARGEST_COMPONENT, answers)

    map_rows(run, len(distinct), n_jobs, most=_PIECE)
    found.marginals[status != kernels.DONE] = np.nan
    return status
