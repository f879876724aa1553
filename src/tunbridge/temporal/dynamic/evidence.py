"""What was observed in the slices of one or many sequences, as users write it and as arrays.

One sequence is a list with a dict for each slice (None or {} where nothing was observed), several are a list of such
lists. A frame has a row for each slice: one sequence, or several with a column that names the sequence of each row;
where a column of times leaves some out, there are slices without evidence.
Slices with the same findings about categorical variables share one line of likelihoods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_number, listed, shortened, warn_user
from tunbridge._core.memory import check_memory
from tunbridge.data import Variable
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, DataWarning
from tunbridge.inference.evidence import NO_EVIDENCE, Evidence, find_variable, read_evidence, warn_near_names
from tunbridge.temporal.panel import Layout, Panel, read_panel


@dataclass(eq=False)
class Names:
    """The variables of a slice by number, the categorical ones first."""

    variables: tuple[Variable, ...]
    index: dict[str, int]
    n_categorical: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names, by number."""
        return tuple(self.index)

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Names:
        """Return the numbers of variables."""
        ordered = sorted(variables, key=lambda v: v.is_continuous)
        index = {v.name: i for i, v in enumerate(ordered)}
        return cls(tuple(ordered), index, sum(v.is_categorical for v in ordered))


class Findings(NamedTuple):
    """The findings of all slices of all sequences, one after another.

    Attributes
    ----------
    likelihoods : dict of int to ndarray of shape (n_distinct, n_states)
        For each variable with a finding somewhere, the likelihood of its states in each distinct set of findings.
    forced : dict of int to ndarray of shape (n_distinct,)
        For each variable that is set from outside somewhere, where it is; its likelihoods then have a single one.
    logs : ndarray of shape (n_distinct,)
        The logarithm of what the likelihoods were divided by.
    rows : ndarray of int64
        The set of findings of each slice.
    offsets : ndarray of int64
        The slices of sequence s are ``offsets[s]:offsets[s + 1]``.
    values : ndarray of shape (n_slices, n_continuous)
        The values of continuous variables, NaN where they are missing.
    places : ndarray of int64, optional
        The row of the frame of each slice, −1 where it has none.
    is_one : bool
        Whether a single sequence was given as such.
    densities : mapping
        For continuous variables, by number and axes of the categorical parents: the density of the value in each
        configuration of these, for each set of findings.
    """

    likelihoods: dict[int, np.ndarray]
    forced: dict[int, np.ndarray]
    logs: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    places: np.ndarray | None = None
    is_one: bool = False
    densities: Mapping[tuple[int, tuple[int, ...]], np.ndarray] = MappingProxyType({})

    @property
    def n_slices(self) -> int:
        """The number of slices of all sequences."""
        return len(self.rows)

    def positions(self) -> np.ndarray:
        """Return which slice of its sequence each is."""
        lengths = np.diff(self.offsets)
        return np.arange(self.n_slices) - np.repeat(self.offsets[:-1], lengths)

    def place(self, i: int) -> str:
        """Return the place of a slice, as text for a message."""
        s = int(np.searchsorted(self.offsets, i, side="right")) - 1
        row = -1 if self.places is None else int(self.places[i])
        text = f"slice {i - int(self.offsets[s])}" + (f" of sequence {s}" if len(self.offsets) > 2 else "")
        return f"{text} (row {row + 1})" if row >= 0 else text


class Asked(NamedTuple):
    """How a question names its data: columns of a frame, and interventions."""

    sequence: str | None = None
    time: str | None = None
    do: Any = None
    leave_out: str | None = None
    more: int = 0
    """Slices without evidence at the end of every sequence."""


def read_findings(names: Names, data: Any, asked: Asked) -> Findings:
    """Return the findings of a list of dicts, a list of such lists, or a frame."""
    if data is None:
        data = []
    if isinstance(data, list | tuple) and data and all(isinstance(each, str) for each in data):
        example = {names.names[-1]: data[0]}
        raise DataError(f"each slice must be a dict, such as {example!r}; got {data[0]!r}.")
    if _is_listed(data):
        is_one = not any(_is_listed(each) for each in data)
        sequences = [data] if is_one else list(data)
        return _read_lists(names, sequences, asked, is_one)
    if asked.do is not None:
        hint = "The method do() returns the network after an intervention in every slice."
        raise DataError(f"do must be used with a list of dicts; got a frame. {hint}", parameter="do")
    return _read_frame(names, data, asked)


def _is_listed(data: Any) -> bool:
    """Return whether something is a list of what dicts may be, not of the rows of a matrix."""
    if not isinstance(data, list | tuple):
        return False
    return all(each is None or isinstance(each, Mapping) or _is_listed(each) for each in data)


def _read_lists(names: Names, sequences: list[Any], asked: Asked, is_one: bool) -> Findings:
    lengths = [len(each or ()) + asked.more for each in sequences]
    slices: Iterable[Any] = chain.from_iterable([*(each or ()), *[None] * asked.more] for each in sequences)
    settings = _settings(asked.do, lengths)
    seen: dict[Any, int] = {}
    found: list[tuple[Evidence, Evidence]] = []
    rows: list[int] = []
    n_numbers = len(names.variables) - names.n_categorical
    values = np.full((sum(lengths), n_numbers), np.nan)
    for t, (given, setting) in enumerate(zip_longest(slices, settings)):
        if n_numbers and given:
            given = _take_numbers(names, given, values[t], t)
        key = _key(given, setting)
        number = seen.get(key, -1) if key is not None else -1
        if number < 0:
            found.append(_read_slice(names, given, setting, t if len(sequences) == 1 else None))
            number = len(found) - 1
            if key is not None:
                seen[key] = number
        rows.append(number)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return _stacked(names, found, np.array(rows, np.int64), offsets, values, is_one)


def _key(given: Any, setting: Any) -> Any:
    """Return what two slices with the same findings have in common; None where that is not known."""
    key = (tuple(given.items()) if given else (), tuple(setting.items()) if setting else ())
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _settings(do: Any, lengths: list[int]) -> list[Any]:
    """Return the intervention of each slice."""
    if do is None:
        return []
    if isinstance(do, Mapping):
        return [do] * sum(lengths)
    if not _is_listed(do) or len(lengths) > 1 or len(do) > lengths[0]:
        rule = "a dict for all slices, or for one sequence a list with at most one dict for each slice"
        raise DataError(f"do must be {rule}; got {shortened(repr(do))}.", parameter="do")
    return list(do)


def _take_numbers(names: Names, given: Any, out: np.ndarray, t: int) -> Any:
    """Return the findings about categorical variables; the values of continuous ones are filled in."""
    if not isinstance(given, Mapping):
        return given
    rest = {}
    for name, value in given.items():
        v = find_variable(names.index, name, f"the evidence of slice {t}")
        if v < names.n_categorical:
            rest[name] = value
        elif not is_missing(value):
            out[v - names.n_categorical] = check_number(f"the value of {name!r} in slice {t}", value)
    return rest


def _read_slice(names: Names, given: Any, setting: Any, t: int | None) -> tuple[Evidence, Evidence]:
    where = "the evidence" if t is None else f"the evidence of slice {t}"
    hint = " Write a list with a dict for each slice."
    if given is not None and not isinstance(given, Mapping):
        raise DataError(f"{where} must be a dict from variable to state; got {shortened(repr(given))}.{hint}")
    evidence = read_evidence(names.variables, names.index, given or None, where)
    if not setting:
        return evidence, NO_EVIDENCE
    forced = read_evidence(names.variables, names.index, setting, "an intervention")
    if forced.soft:
        name = names.variables[next(iter(forced.soft))].name
        raise DataError(f"an intervention in a slice must set a variable to one state; got several for {name!r}.")
    if any(v >= names.n_categorical for v in forced):
        raise DataError("an intervention in a slice must be about categorical variables; do() sets a continuous one.")
    return evidence, forced


def _stacked(
    names: Names,
    found: list[tuple[Evidence, Evidence]],
    rows: np.ndarray,
    offsets: np.ndarray,
    values: np.ndarray,
    is_one: bool,
) -> Findings:
    likelihoods: dict[int, np.ndarray] = {}
    forced: dict[int, np.ndarray] = {}
    logs = np.array([evidence.log_factor for evidence, _ in found])

    def own(v: int) -> np.ndarray:
        if v not in likelihoods:
            likelihoods[v] = np.ones((len(found), names.variables[v].n_states))
        return likelihoods[v]

    for u, (evidence, setting) in enumerate(found):
        for v, code in (*evidence.hard.items(), *setting.hard.items()):
            lines = own(v)
            lines[u] *= np.arange(lines.shape[1]) == code
        for v, likelihood in evidence.soft.items():
            own(v)[u] *= likelihood
        for v in setting:
            forced.setdefault(v, np.zeros(len(found), bool))[u] = True
    return Findings(likelihoods, forced, logs, rows, offsets, values, is_one=is_one)


# Frames


def _read_frame(names: Names, frame: Any, asked: Asked) -> Findings:
    panel, codes, values = read_rows(names, frame, asked)
    distinct, rows = _distinct(codes, names)
    likelihoods = {}
    for v in range(names.n_categorical):
        own = codes[v][distinct]
        if (own >= 0).any():
            n = names.variables[v].n_states
            check_memory("the likelihoods of all slices", 8.0 * n * len(own), ways_out="Pass the sequences in parts.")
            likelihoods[v] = np.where(own[:, None] < 0, 1.0, own[:, None] == np.arange(n))
    places = np.arange(len(rows)) if panel.order is None else panel.order
    is_one = asked.sequence is None
    found = Findings(likelihoods, {}, np.zeros(len(distinct)), rows, panel.offsets, values, places, is_one)
    if panel.gaps is None and not asked.more:
        return found
    gaps = np.ones(len(rows), np.int64) if panel.gaps is None else panel.gaps
    return _spread(found, gaps, asked.more)


def read_rows(names: Names, frame: Any, asked: Asked) -> tuple[Panel, np.ndarray, np.ndarray]:
    """Return the sequences of a frame, and their codes and values, one line a variable and one line a slice."""
    columns = frame_columns(frame)
    left_out = None if asked.leave_out is None else find_variable(names.index, asked.leave_out, "target")
    present = [v for i, v in enumerate(names.variables) if v.name in columns and i != left_out]
    read = present or [v for v in names.variables if v.name in columns]
    if not read:
        rule = f"the data must have a column of the network ({listed(names.names)})"
        raise DataError(f"{rule}; got {listed(columns) or 'none'}. Columns are matched to variables by name.")
    warn_near_names(columns, names.index)
    warn_of_others(columns, names.names, asked.sequence, asked.time)
    panel = read_panel(frame, Layout(asked.sequence, asked.time), variables=read)
    n, n_numbers = panel.table.n_rows, len(names.variables) - names.n_categorical
    codes, values = np.full((names.n_categorical, n), -1, np.int64), np.full((n, n_numbers), np.nan)
    for variable in present:
        v = names.index[variable.name]
        if variable.is_continuous:
            values[:, v - names.n_categorical] = panel.table.floats(variable.name)
        else:
            codes[v] = panel.table.codes(variable.name)
    return panel, codes, values


def warn_of_others(columns: Collection[str], known: Collection[str], sequence: str | None, time: str | None) -> None:
    """Warn of columns that are not used where all rows are one sequence: they may tell sequences or times."""
    others = [name for name in columns if name not in known and name not in (sequence, time)]
    if others and sequence is None:
        warn_user(
            f"{listed(others)} {'is' if len(others) == 1 else 'are'} not in the network and not used, and all rows are "
            "one sequence. Name the columns that tell sequences and times with sequence= and time=.",
            DataWarning,
        )


def _distinct(codes: np.ndarray, names: Names) -> tuple[np.ndarray, np.ndarray]:
    """Return a slice with each distinct set of findings, and the set of each slice."""
    key, n = np.zeros(codes.shape[1], np.int64), 1
    for v, line in enumerate(codes):
        n_states = names.variables[v].n_states + 1
        if n * n_states >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            n = int(key.max(initial=0)) + 1
        key, n = key * n_states + line + 1, n * n_states
    if n > 4 * codes.shape[1] + 1024:
        _, key = np.unique(key, return_inverse=True)
        n = int(key.max(initial=-1)) + 1
    first = np.empty(n, np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    used, rows = compact(key, n)
    return first[used], rows


def compact(numbers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the numbers below n occur, sorted, and the place of each among them, as np.unique does.

    Examples
    --------
    >>> compact(np.array([7, 2, 7]), 10)
    (array([2, 7]), array([1, 0, 1]))
    """
    occurs = np.zeros(n, bool)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def _spread(found: Findings, gaps: np.ndarray, more: int) -> Findings:
    """Return findings with slices without evidence where times are left out, and at the end of every sequence."""
    n, begins = len(found.logs), found.offsets[:-1]
    whole = np.append(0, np.cumsum(gaps))
    lengths = np.diff(found.offsets)
    reach = whole[found.offsets[1:]] - whole[begins] + more
    offsets = np.append(0, np.cumsum(reach)).astype(np.int64)
    at = whole[1:] - 1 - np.repeat(whole[begins] - offsets[:-1], lengths)
    rows, places = np.full(offsets[-1], n, np.int64), np.full(offsets[-1], -1, np.int64)
    values = np.full((int(offsets[-1]), found.values.shape[1]), np.nan)
    rows[at], values[at] = found.rows, found.values
    if found.places is not None:
        places[at] = found.places
    likelihoods = {v: np.vstack([lines, np.ones(lines.shape[1])]) for v, lines in found.likelihoods.items()}
    return Findings(likelihoods, {}, np.append(found.logs, 0.0), rows, offsets, values, places, found.is_one)
