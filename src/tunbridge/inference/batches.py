"""One exact answer for every row of a frame.

Rows with equal evidence are computed once. A row in which little is missing is answered without a tree, by summing over
the few hidden variables that hang together (:mod:`tunbridge.kernels.rows`). The others go through the junction tree in
batches, the rows of a batch being the innermost axis of every table, sorted so that rows with the same variables
observed meet. Work is cut by its own size: memory is bounded whatever the number of rows, and results do not depend on
the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import listed, shortened, warn_user
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.data import Variable, encode
from tunbridge.data.frames import frame_columns
from tunbridge.errors import DataError, DataWarning, UnseenStateWarning, ZeroProbabilityWarning
from tunbridge.inference.elimination import TooLargeError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, find_variable
from tunbridge.inference.running import run_plainly
from tunbridge.kernels import propagation, rows
from tunbridge.kernels.buffer import MARGINALS, UP
from tunbridge.kernels.compiled import announce, is_compiled

_PIECE = 2**13
_FEW_ROWS = 64  # as long as the kernels have not been compiled
_LARGEST_COMPONENT = 256
_LANES = 16
_LANE_ENTRIES = 2**22  # of all tables of a batch; above, fewer rows go together
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Answers:
    """What is known of each row: marginals of the variables asked for, side by side, and ln P(evidence)."""

    marginals: np.ndarray
    log_evidence: np.ndarray


def predict_proba(engine: Engine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the posterior of a variable for every row; NaN where the evidence is impossible."""
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.")
    v = find_variable(engine.index, target, "target")
    answers = answer(engine, read_rows(engine, frame, leave_out=v), [v], n_jobs=n_jobs)
    warn_impossible(answers.log_evidence)
    return answers.marginals


def predict(engine: Engine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the most probable state of a variable for every row; None where the evidence is impossible."""
    found = predict_proba(engine, frame, target, n_jobs=n_jobs)
    return most_probable_states(engine.variables[engine.index[target]], found)


def most_probable_states(variable: Variable, found: np.ndarray) -> np.ndarray:
    """Return the most probable state of each row of probabilities; None where they are not known (NaN)."""
    states = np.empty(variable.n_states + 1, object)
    states[:-1] = variable.states
    best = np.where(np.isnan(found).any(axis=1), -1, np.nan_to_num(found).argmax(axis=1))
    chosen = states[best]
    if (best < 0).any() or len({type(state) for state in states[:-1]}) > 1:
        return chosen
    return np.array(states[:-1].tolist())[best]  # of a type of their own


def posteriors(engine: Engine, frame: Any, *, n_jobs: int | None = None) -> dict[str, np.ndarray]:
    """Return, for every variable, its posterior for every row; that of an observed one is certain."""
    answers = answer(engine, read_rows(engine, frame), list(range(engine.n_variables)), n_jobs=n_jobs)
    warn_impossible(answers.log_evidence)
    parts = zip(engine.variables, engine.starts[:-1], engine.starts[1:], strict=True)
    return {v.name: answers.marginals[:, low:high] for v, low, high in parts}


def log_likelihood(engine: Engine, frame: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Return ln P(row) for every row, −∞ where it is impossible; what is missing is summed out."""
    return answer(engine, read_rows(engine, frame), [], n_jobs=n_jobs).log_evidence


def read_rows(engine: Engine, frame: Any, *, leave_out: int | None = None) -> np.ndarray:
    """Return the codes of every variable and row, −1 where there is none: an array of shape (n_variables, n_rows)."""
    columns = frame_columns(frame)
    left_out = None if leave_out is None else engine.variables[leave_out].name
    present = [v for v in engine.variables if v.name in columns and v.name != left_out]
    if not present and left_out not in columns:
        known = listed(v.name for v in engine.variables)
        hint = "Columns are matched to variables by name."
        raise DataError(f"the data must have a column of the network ({known}); got {listed(columns)}. {hint}")
    warn_near_names(columns, engine.index)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    dtype = np.int16 if int(engine.n_states.max(initial=0)) < 2**15 else np.int32
    size = np.dtype(dtype).itemsize * float(engine.n_variables) * n_rows
    check_memory("the codes of all rows", size, ways_out="Give the rows in pieces.")
    codes = np.full((engine.n_variables, n_rows), -1, dtype)
    if present:
        table, unseen = encode(frame, present)
        for variable in present:
            codes[engine.index[variable.name]] = table.codes(variable.name)
        warn_unseen(unseen)
    return codes


def warn_unseen(unseen: Mapping[str, Sequence[Any]]) -> None:
    """Warn of states that no variable has."""
    if unseen:
        told = "; ".join(f"{name}: {listed(states, most=3)}" for name, states in list(unseen.items())[:5])
        warn_user(f"states that the network does not know count as missing: {told}.", UnseenStateWarning)


def warn_near_names(columns: Any, index: Mapping[str, int]) -> None:
    """Warn of columns that are left out although a variable without a column reads nearly the same."""
    plain = {"".join(name.lower().split()): name for name in index if name not in columns}
    near = [(c, plain[k]) for c in columns if c not in index and (k := "".join(c.lower().split())) in plain]
    if near:
        told = ", ".join(f"{shortened(repr(c))} (the network has {shortened(repr(name))})" for c, name in near[:3])
        warn_user(f"columns that are not called like a variable are left out: {told}.", DataWarning)


def warn_impossible(log_evidence: np.ndarray) -> None:
    """Warn of rows whose evidence is impossible."""
    n = int(np.isneginf(log_evidence).sum())
    if n:
        first = int(np.isneginf(log_evidence).argmax()) + 1
        told = f"{n} of {len(log_evidence)} rows (first: row {first})"
        warn_user(f"impossible evidence in {told}; the posteriors there are NaN.", ZeroProbabilityWarning)


# Answers


def answer(engine: Engine, codes: np.ndarray, asked: Sequence[int], *, n_jobs: int | None = None) -> Answers:
    """Return the marginals of the variables asked for, side by side, and ln P(evidence), for each column of codes."""
    width = int(engine.n_states[list(asked)].sum())
    n_rows = codes.shape[1]
    check_memory("the answers", 2 * 8.0 * n_rows * (width + 1), ways_out="Give the rows in pieces.")
    if n_rows <= _FEW_ROWS and engine.has_small_tables and not is_compiled(rows.answer_rows):
        try:
            return _answer_plainly(engine, codes, asked)
        except TooLargeError:
            pass
    announce(rows.answer_rows, "answers for rows")
    first = np.empty(n_rows, np.int64)
    rows.distinct_rows(codes, first)
    distinct, where = np.unique(first, return_inverse=True)
    found = Answers(np.full((len(distinct), width), np.nan), np.full(len(distinct), -np.inf))
    if engine.is_flat:
        status = _answer_small(engine, codes, distinct, asked, found, n_jobs)
        left = np.flatnonzero(status == rows.TOO_LARGE)
    else:
        left = np.arange(len(distinct))
    if len(left):
        _answer_by_tree(engine, codes, distinct, left, list(asked), found, n_jobs)
    if len(distinct) == n_rows:
        return found
    return Answers(found.marginals[where], found.log_evidence[where])


def _answer_plainly(engine: Engine, codes: np.ndarray, asked: Sequence[int]) -> Answers:
    """Return the same for a few rows by plain elimination, which needs no compiler."""
    parts = [slice(*engine.states.starts[v : v + 2]) for v in asked]
    marginals, log_evidence = [], []
    for row in codes.T.tolist():
        evidence = Evidence({v: code for v, code in enumerate(row) if code >= 0}, {})
        found = run_plainly(engine.cpts, engine.parents, evidence, engine.states, asked, ())
        certain = np.concatenate([found.marginals[part] for part in parts] or [np.empty(0)])
        marginals.append(certain if np.isfinite(found.log_evidence) else np.full_like(certain, np.nan))
        log_evidence.append(found.log_evidence)
    width = int(engine.n_states[list(asked)].sum())
    return Answers(np.array(marginals).reshape(len(log_evidence), width), np.array(log_evidence))


def _answer_small(
    engine: Engine, codes: np.ndarray, distinct: np.ndarray, asked: Sequence[int], found: Answers, n_jobs: int | None
) -> np.ndarray:
    """Answer the rows whose hidden components are small; return the status of every row."""
    flat = engine.flat
    marks, out_start = np.zeros(engine.n_variables, np.uint8), np.zeros(engine.n_variables, np.int64)
    marks[list(asked)] = 1
    out_start[list(asked)] = np.cumsum([0, *engine.n_states[list(asked)]])[:-1]
    child_start, children = engine.child_arrays
    status = np.empty(len(distinct), np.int8)

    def run(piece: tuple[int, int]) -> None:
        part = slice(*piece)
        rows.answer_rows(
            flat.n_states, flat.order, flat.parent_start, flat.parents, flat.table_start, flat.tables, child_start,
            children, codes, distinct[part], marks, _LARGEST_COMPONENT, out_start, found.marginals[part],
            found.log_evidence[part], status[part],
        )  # fmt: skip

    map_threads(run, row_pieces(len(distinct), _PIECE), n_jobs)
    found.marginals[status != rows.DONE] = np.nan
    return status


def _answer_by_tree(
    engine: Engine,
    codes: np.ndarray,
    distinct: np.ndarray,
    left: np.ndarray,
    asked: list[int],
    found: Answers,
    n_jobs: int | None,
) -> None:
    """Answer rows through the junction tree, several together where its tables are small enough."""
    lanes = _lanes(engine)
    if lanes == 1:
        for i in left.tolist():  # one at a time: each may take all the memory there is
            _answer_alone(engine, codes[:, distinct[i]], i, asked, found)
        return
    patterns = np.packbits(codes[:, distinct[left]] >= 0, axis=0)
    left = left[np.lexsort(patterns)]
    map_threads(
        lambda piece: _answer_together(engine, codes, distinct, left[piece[0] : piece[1]], lanes, asked, found),
        row_pieces(len(left), lanes),
        n_jobs,
    )


def _lanes(engine: Engine) -> int:
    """Return how many rows go through the tree together: a power of two, 1 when each needs a tree of its own."""
    if engine.needs_reduction:
        return 1
    room = _LANE_ENTRIES / engine.whole.found.n_entries
    return int(min(_LANES, 2 ** max(0, math.floor(math.log2(room))))) if room >= 1.0 else 1


def _answer_alone(engine: Engine, row: np.ndarray, i: int, asked: list[int], found: Answers) -> None:
    evidence = Evidence({v: int(code) for v, code in enumerate(row) if code >= 0}, {})
    log_evidence = engine.log_probability(evidence)
    found.log_evidence[i] = log_evidence
    if asked and log_evidence > -math.inf:
        marginals = engine.run(evidence, asked).marginals
        found.marginals[i] = np.concatenate([marginals[engine.starts[v] : engine.starts[v + 1]] for v in asked])


def _answer_together(
    engine: Engine,
    codes: np.ndarray,
    distinct: np.ndarray,
    some: np.ndarray,
    lanes: int,
    asked: list[int],
    found: Answers,
) -> None:
    """Answer up to ``lanes`` rows in one run; lanes that are left over repeat the last row."""
    tree, n_states = engine.tree, engine.potentials.n_states
    padded = np.concatenate([some, np.full(lanes - len(some), some[-1])])
    findings = np.full((len(n_states), lanes), -1, np.int64)
    findings[: engine.n_variables] = codes[:, distinct[padded]]
    wanted = np.zeros(len(n_states), np.int64)
    wanted[asked] = 1
    soft, is_soft = np.empty((int(n_states.sum()), lanes)), np.zeros(len(n_states), np.int64)
    log_evidence = np.empty(lanes)
    with tree.borrow(engine.potentials, lanes) as (parts, buffer, _):
        propagation.propagate(tree.program, parts, buffer, findings, soft, is_soft, wanted, _NOTHING, log_evidence)
        marginals = buffer[parts[MARGINALS] : parts[UP]].reshape(-1, lanes)
        chosen = [marginals[engine.starts[v] : engine.starts[v + 1], : len(some)] for v in asked]
        if chosen:
            found.marginals[some] = np.concatenate(chosen).T
    found.log_evidence[some] = log_evidence[: len(some)]
    found.marginals[some[np.isneginf(log_evidence[: len(some)])]] = np.nan
