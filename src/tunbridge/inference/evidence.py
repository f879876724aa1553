"""Evidence: what is known about some variables, as users write it and as kernels read it.

A finding is a state (hard evidence), a list of possible states, or a mapping from states to likelihoods (soft evidence:
how probable the observation is in each state; only ratios matter for posteriors). A list or likelihoods that leave one
state possible are hard evidence too. None and NaN are no evidence, so a row with missing values can be passed as it is.

Rows of a frame are evidence too, one case each: columns are matched to variables by name.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, listed, shortened, warn_user
from tunbridge._core.memory import check_memory
from tunbridge.data import Variable, encode
from tunbridge.data.arrow import is_pandas
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, DataWarning, UnknownVariableError, UnseenStateWarning

Given = Mapping[str, Any] | None
"""Evidence as users write it: a finding for each variable, by name."""


@dataclass(frozen=True)
class Evidence:
    """Findings by the number of their variable.

    Parameters
    ----------
    hard : dict of int to int
        The code of the observed state.
    soft : dict of int to ndarray
        The likelihood of each state, scaled to a maximum of 1.
    log_factor : float
        The logarithm of the product of the scaling factors.
    """

    hard: dict[int, int]
    soft: dict[int, np.ndarray]
    log_factor: float = 0.0

    def __len__(self) -> int:
        return len(self.hard) + len(self.soft)

    def __iter__(self) -> Iterator[int]:
        yield from self.hard
        yield from self.soft

    def codes(self, n: int) -> np.ndarray:
        """Return the codes of n variables, −1 where there is no hard evidence."""
        codes = np.full(n, -1, np.int64)
        for v, code in self.hard.items():
            codes[v] = code
        return codes

    def only(self, variables: Iterable[int]) -> Evidence:
        """Return the findings about these variables, without the factor."""
        kept = set(variables)
        hard = {v: code for v, code in self.hard.items() if v in kept}
        return Evidence(hard, {v: likelihood for v, likelihood in self.soft.items() if v in kept})

    def without(self, variables: Iterable[int]) -> Evidence:
        """Return the findings about all other variables."""
        return self.only(set(self) - set(variables))


NO_EVIDENCE = Evidence({}, {})

_SMALLEST = sys.float_info.min  # smaller shares have fewer digits, or none


def read_evidence(
    variables: Sequence[Variable], index: Mapping[str, int], given: Given, what: str = "evidence"
) -> Evidence:
    """Return evidence by variable number; raise an error that names the problem."""
    if given is None:
        return NO_EVIDENCE
    if is_pandas(given, "Series"):
        given = dict(given.items())
    if not isinstance(given, Mapping):
        shown = shortened(" ".join(repr(given).split()))
        raise DataError(f"{what} must be a dict from variable to state; got {shown}.")
    if not given:
        return NO_EVIDENCE
    hard: dict[int, int] = {}
    soft: dict[int, np.ndarray] = {}
    log_factor = 0.0
    for name, finding in given.items():
        v = find_variable(index, name, what)
        if is_missing(finding):
            continue
        code = variables[v].find(finding)
        if code >= 0:
            hard[v] = code
            continue
        likelihood = _likelihood(variables[v], finding, what)
        largest = float(likelihood.max())
        log_factor += math.log(largest)
        possible = np.flatnonzero(likelihood)
        if len(possible) == 1:
            hard[v] = int(possible[0])
        else:
            soft[v] = likelihood / largest
            if soft[v][possible].min() < _SMALLEST:
                rule = f"the likelihoods of {name!r} must be 0, or at least {_SMALLEST:.3g} of the largest"
                raise DataError(f"{rule}; got {likelihood[possible].min():g} and {largest:g}. Is 0 meant?")
    return Evidence(hard, soft, log_factor)


def find_variable(index: Mapping[str, int], name: object, what: str) -> int:
    """Return the number of a variable; raise an error with the nearest name when there is none."""
    try:
        return index[name]  # type: ignore[index]
    except (KeyError, TypeError):
        hint = did_you_mean(name, index)
        raise UnknownVariableError(f"{what} must name variables of the network; got {name!r}. {hint}") from None


def _likelihood(variable: Variable, finding: object, what: str) -> np.ndarray:
    """Return the likelihood of each state from a list of possible states or a mapping."""
    likelihood = np.zeros(variable.n_states)
    if isinstance(finding, Mapping):
        for state, value in finding.items():
            code = state_of(variable, state, what)
            likelihood[code] = check_number(f"the likelihood of {variable.name!r}={state!r}", value, low=0)
        absent = [s for s in variable.states or () if not any(variable.find(k) == variable.find(s) for k in finding)]
        if absent:
            hint = "Give 0 for those that are impossible."
            what = f"the likelihoods of {variable.name!r}"
            raise DataError(f"{what} must name all of its states; {listed(absent)} is missing. {hint}")
    elif isinstance(finding, list | tuple | set | frozenset) or (
        isinstance(finding, Iterable) and np.asarray(finding).ndim == 1
    ):
        for state in finding:
            likelihood[state_of(variable, state, what)] = 1.0
    else:
        state_of(variable, finding, what)
    if not likelihood.any():
        raise DataError(f"{what} must leave a state of {variable.name!r} possible; got {finding!r}.")
    return likelihood


def state_of(variable: Variable, state: object, what: str) -> int:
    """Return the code of a state; raise an error with the nearest state when it is none."""
    code = variable.find(state)
    if code < 0:
        hint = "Leave out unknown variables." if is_missing(state) else variable.near_states(state)
        raise DataError(f"{what} must give a state of {variable.name!r}; got {shortened(repr(state))}. {hint}")
    return code


# Rows of a frame


class Rows(NamedTuple):
    """Rows of a frame as a network reads them.

    Parameters
    ----------
    codes : ndarray of shape (n_categorical, n_rows)
        The state of each categorical variable, −1 where it is missing.
    values : ndarray of shape (n_continuous, n_rows)
        The value of each continuous variable, NaN where it is missing.
    """

    codes: np.ndarray
    values: np.ndarray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    def numbers(self, v: int) -> np.ndarray:
        """Return the values of the continuous variable with number v."""
        return self.values[v - len(self.codes)]


class Numbered(Protocol):
    """What reading rows needs to know of a network: its variables by number, categorical ones first."""

    variables: tuple[Variable, ...]
    index: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the order of their tables."""


def read_rows(network: Numbered, frame: object, *, leave_out: int | None = None) -> Rows:
    """Return the cells of a frame, columns matched by name; absent columns and unseen states are missing."""
    columns = frame_columns(frame)
    left_out = None if leave_out is None else network.variables[leave_out].name
    present = [v for v in network.variables if v.name in columns and v.name != left_out]
    if not present and left_out not in columns:
        hint = "Columns are matched to variables by name."
        raise DataError(
            f"the data must have a column of the network ({listed(network.names)}); "
            f"got {listed(columns) or 'none'}. {hint}"
        )
    warn_near_names(columns, network.index)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    rows = _empty_rows(network, n_rows)
    if present:
        table, unseen = encode(frame, present)
        for variable in present:
            v = network.index[variable.name]
            if variable.is_continuous:
                rows.numbers(v)[:] = table.floats(variable.name)
            else:
                rows.codes[v] = table.codes(variable.name)
        warn_unseen(unseen)
    return rows


def _empty_rows(network: Numbered, n_rows: int) -> Rows:
    n_states = [v.n_states for v in network.variables if v.is_categorical]
    n_numbers = len(network.variables) - len(n_states)
    dtype = np.int64 if n_numbers else np.int16 if max(n_states, default=0) < 2**15 else np.int32
    size = float(np.dtype(dtype).itemsize * len(n_states) + 16 * n_numbers) * n_rows
    check_memory("the cells of all rows", size, ways_out="Pass the rows in batches.")
    return Rows(np.full((len(n_states), n_rows), -1, dtype), np.full((n_numbers, n_rows), np.nan))


def warn_unseen(unseen: Mapping[str, Sequence[Any]]) -> None:
    """Warn about unseen categories."""
    if unseen:
        shown = "; ".join(f"{name}: {listed(states, most=3)}" for name, states in list(unseen.items())[:5])
        warn_user(f"states that the network does not know count as missing: {shown}.", UnseenStateWarning)


def warn_near_names(columns: Collection[str], index: Mapping[str, int]) -> None:
    """Warn about ignored columns whose names differ from a variable without a column only in case or spaces."""
    plain = {"".join(name.lower().split()): name for name in index if name not in columns}
    near = [(c, plain[k]) for c in columns if c not in index and (k := "".join(c.lower().split())) in plain]
    if near:
        shown = ", ".join(f"{shortened(repr(c))} (the network has {shortened(repr(name))})" for c, name in near[:3])
        warn_user(f"columns that are not named like a variable are ignored: {shown}.", DataWarning)
