"""Drift detection: do the rows that arrive still look like rows of the network?

While the network holds, the state k of a variable whose parents are in configuration j has log-score ln p_jk, with p_jk
from its table. Every row is compared with its expectation under the table by a likelihood ratio,

    L = −λ ln p_jk − ln Σ_i p_ji^(1−λ),

which grows when rows are less probable than expected (λ > 0), or more (λ < 0). The log-score cannot see a shift between
states of equal probability, so each state is monitored as well: with θ > 1 for «more often» and θ < 1 for «less often»,

    L = [k is the state] ln θ − ln(1 + (θ − 1) p_j,state).

Whatever the parents are, E[e^L] = 1 as long as the network holds. Evidence is accumulated by Page's CUSUM,

    C ← max(0, C + L),

in nats for a change since the row at which C was last 0. There is an alarm when C of one of the m sums reaches
h = ln(m · run_length). Then the mean number of rows before a false alarm is at least ``run_length``, and the
probability of one within n rows at most n / run_length: e^C never exceeds the statistic of Shiryaev and Roberts,
Σ_u e^(L_u + … + L_t), whose mean after n rows is n. There is no normal approximation, so rare states do no harm. λ and
θ affect the power only: they are those of a shift by ``shift`` standard deviations.

A variable with r states has 2 + 2r sums: its log-score lower or higher than expected, and each state more or less often
(for two states «more» is enough). Whole rows have two more. The evidence of a row depends on the configuration of the
parents and the state alone, so it is computed once for each configuration: for all of them if they are few, otherwise
for those that occur in a batch.

References
----------
E. S. Page (1954). Continuous inspection schemes. Biometrika 41, 100–115 (the CUSUM).
D. J. Spiegelhalter, A. P. Dawid, S. L. Lauritzen, R. G. Cowell (1993). Bayesian analysis in expert systems. Statistical
Science 8, 219–247 (monitors of nodes by their log-scores, given their parents).
J. Shin, A. Ramdas, A. Rinaldo (2024). E-detectors: a nonparametric framework for sequential change detection. The New
England Journal of Statistics in Data Science 2, 229–260 (the bound on false alarms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

import numpy as np

from tunbridge._core.check import check_number, counted, listed, shortened
from tunbridge._core.grid import data_frame, text_grid
from tunbridge._core.threads import row_pieces
from tunbridge.counts.radix import configuration_codes, configuration_numbers, number_configurations
from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.learning.arriving.batches import check_discrete, iter_frames, read_batch
from tunbridge.learning.arriving.update import joined_states
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable

if TYPE_CHECKING:
    import pandas

_CELLS = 2**20  # of the evidence of a piece
_SHOWN = 8
_SURE = 1000.0  # nats: the evidence of an impossible row
_LARGEST_TILT = 1.0
_LARGEST_ODDS = np.log(4.0)
_SAMPLES, _SEED = 4096, 0
_NO_VARIANCE = 1e-12
_SMALL = 2**14  # entries of a family's tables that are kept
_THAN = " than expected"

_Tables: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class DriftSignal:
    """The strongest evidence about one variable, or about whole rows.

    Attributes
    ----------
    node : str or None
        The variable; None means the rows as a whole.
    what : str
        The change for which there is evidence.
    evidence : float
        The evidence for it, in nats: the CUSUM, or its value at the alarm.
    since : int
        The row, counted from 1, at which the change seems to have begun.
    alarm : bool
        Whether the evidence reached the threshold at some row.
    log_score, expected : float
        The mean of ln P(state | parents), over the rows in which both are known, and its expectation.
    """

    node: str | None
    what: str
    evidence: float
    since: int
    alarm: bool
    log_score: float
    expected: float


@dataclass(frozen=True, eq=False)
class _Seen:
    """The rows seen so far: the sums of evidence, where each began, the first alarms, and the log-scores."""

    n_rows: int
    evidence: np.ndarray
    since: np.ndarray
    peak: np.ndarray
    alarm_row: np.ndarray
    alarm_since: np.ndarray
    n_known: np.ndarray
    log_scores: np.ndarray
    expected: np.ndarray
    unknown: dict[str, tuple[State, ...]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, n_watched: int, n_nodes: int) -> _Seen:
        """Return the record before the first row."""
        sums, numbers = np.zeros(n_watched), np.zeros(n_watched, np.int64)
        known, scores = np.zeros(n_nodes, np.int64), np.zeros(n_nodes)
        return cls(0, sums, numbers, sums, numbers, numbers, known, scores, scores)


@final
class DriftMonitor:
    """Monitor rows for drift away from a network. It is immutable; :meth:`update` returns the next monitor.

    Parameters
    ----------
    network : BayesianNetwork
        The network that the rows are expected to follow.
    run_length : float
        The mean number of rows without drift before a false alarm is at least this; within n rows the probability of a
        false alarm is at most n / run_length.
    shift : float
        The size of a shift that deserves an alarm, in standard deviations. Smaller shifts are found late or not at all,
        so the errors of a network that was learned from few rows are tolerated.

    Notes
    -----
    A variable is monitored given its parents, so a change of a parent causes no alarm for its children. Rows with a
    missing value in a family say nothing about it. Weights are ignored. A value that is not a state of its variable is
    impossible under the network and causes an alarm at once.

    Examples
    --------
    >>> import tunbridge as tb
    >>> net = tb.example_network("asia")
    >>> monitor = tb.DriftMonitor(net).update(net.sample(5000, random_state=0))
    >>> monitor.alarm
    False
    >>> later = net.do({"smoke": {"yes": 0.8, "no": 0.2}}).sample(1000, random_state=1)
    >>> monitor = monitor.update(later)
    >>> monitor.alarm, monitor.drifted, monitor.alarm_row
    (True, ('smoke',), 5133)
    >>> monitor.signals[0].what, monitor.signals[0].since
    ("'yes' more often than expected", 4984)
    """

    def __init__(self, network: BayesianNetwork, *, run_length: float = 1e6, shift: float = 0.25) -> None:
        if not isinstance(network, BayesianNetwork):
            raise DataError(f"network must be a BayesianNetwork; got {type(network).__name__}.", parameter="network")
        check_discrete(network.cpts, "monitored")
        self._network = network
        self._run_length = check_number("run_length", run_length, low=1)
        self._shift = check_number("shift", shift, above=0)
        self._seen = _Seen.nothing(len(self._watcher.watched), len(network.nodes))

    @property
    def network(self) -> BayesianNetwork:
        """The network that the rows are expected to follow."""
        return self._network

    @property
    def run_length(self) -> float:
        """The smallest mean number of rows before a false alarm."""
        return self._run_length

    @property
    def threshold(self) -> float:
        """The evidence, in nats, that causes an alarm."""
        return math.log(len(self._watcher.watched) * self._run_length)

    @cached_property
    def _watcher(self) -> Watcher:
        return watch_network(self._network, self._shift)

    # Results

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self._seen.n_rows

    @property
    def alarm(self) -> bool:
        """Whether there was an alarm, at any row."""
        return bool(self._seen.alarm_row.any())

    @property
    def alarm_row(self) -> int | None:
        """The row of the first alarm, counted from 1."""
        rows = self._seen.alarm_row
        return int(rows[rows > 0].min()) if rows.any() else None

    @property
    def drifted(self) -> tuple[str, ...]:
        """The variables with an alarm, the strongest evidence first."""
        return tuple(signal.node for signal in self.signals if signal.alarm and signal.node is not None)

    @property
    def score(self) -> float:
        """The mean log-score of a row, over the variables known together with their parents; NaN without rows."""
        return float(self._seen.log_scores.sum() / self.n_rows) if self.n_rows else math.nan

    @property
    def expected_score(self) -> float:
        """The expectation of the mean log-score, given the parents."""
        return float(self._seen.expected.sum() / self.n_rows) if self.n_rows else math.nan

    @property
    def unknown(self) -> dict[str, tuple[State, ...]]:
        """The values that are not states of their variables."""
        return dict(self._seen.unknown)

    @cached_property
    def signals(self) -> tuple[DriftSignal, ...]:
        """The strongest evidence about each variable and about rows as a whole, the strongest first."""
        watched = self._watcher.watched
        strength = np.where(self._seen.alarm_row > 0, self._seen.peak, self._seen.evidence)
        best: dict[str | None, int] = {}
        for i in np.lexsort((-strength, self._seen.alarm_row == 0)).tolist():
            best.setdefault(watched[i].node, i)
        return tuple(self._signal(watched[i], i, float(strength[i])) for i in best.values())

    def _signal(self, watch: _Watch, i: int, evidence: float) -> DriftSignal:
        seen, alarm = self._seen, bool(self._seen.alarm_row[i])
        chosen = slice(None) if watch.node is None else slice(watch.number, watch.number + 1)
        n = self.n_rows if watch.node is None else int(seen.n_known[watch.number])
        means = [float(sums[chosen].sum() / n) if n else math.nan for sums in (seen.log_scores, seen.expected)]
        what = watch.what
        if watch.node in seen.unknown and watch.state is None and watch.is_low:
            what = f"unknown states: {listed(seen.unknown[watch.node], most=3)}"
        since = int(seen.alarm_since[i] if alarm else seen.since[i]) + 1
        return DriftSignal(watch.node, what, evidence, min(since, max(1, self.n_rows)), alarm, *means)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the signals as a pandas DataFrame, the strongest first."""
        return data_frame({f.name: [getattr(signal, f.name) for signal in self.signals] for f in fields(DriftSignal)})

    # Rows

    def update(self, rows: object) -> DriftMonitor:
        """Return the monitor after further rows: a frame, a record, or an iterator of frames."""
        seen, piece_rows = self._seen, max(16, _CELLS // len(self._watcher.watched))
        for frame in iter_frames(rows):
            table, unknown = read_batch(frame, self._network.variables, new_states="mark")
            for start, stop in row_pieces(table.n_rows, piece_rows):
                seen = self._watched(seen, [codes[start:stop] for codes in table.columns])
            seen = replace(seen, unknown=joined_states(seen.unknown, unknown))
        other = object.__new__(DriftMonitor)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "signals"})
        other.__dict__["_seen"] = seen
        return other

    def _watched(self, seen: _Seen, codes: Sequence[np.ndarray]) -> _Seen:
        found = self._watcher.watch(codes)
        sums = cusum(found.evidence, seen.evidence)
        crossed = (sums >= self.threshold).any(axis=0) & (seen.alarm_row == 0)
        alarm_row, alarm_since = seen.alarm_row.copy(), seen.alarm_since.copy()
        for i in np.flatnonzero(crossed).tolist():
            row = int((sums[:, i] >= self.threshold).argmax())
            alarm_row[i] = seen.n_rows + row + 1
            alarm_since[i] = _last_zero(sums[: row + 1, i : i + 1], seen.since[i : i + 1], seen.n_rows)[0]
        return replace(
            seen,
            n_rows=seen.n_rows + len(codes[0]),
            evidence=sums[-1],
            since=_last_zero(sums, seen.since, seen.n_rows),
            peak=np.maximum(seen.peak, sums.max(axis=0)),
            alarm_row=alarm_row,
            alarm_since=alarm_since,
            n_known=seen.n_known + found.n_known,
            log_scores=seen.log_scores + found.log_scores,
            expected=seen.expected + found.expected,
        )

    # As an object

    def __repr__(self) -> str:
        result = "no drift" if not self.alarm else f"drift, first seen at row {self.alarm_row}"
        return f"DriftMonitor over {counted(self.n_rows, 'row')}: {result} (threshold {self.threshold:.1f} nats)"

    def __str__(self) -> str:
        lines = [
            [s.node or "(rows)", s.what.removesuffix(_THAN), f"{s.evidence:.1f}{' !' if s.alarm else ''}", s.since]
            for s in self.signals[:_SHOWN]
        ]
        more = len(self.signals) - _SHOWN
        rest = f"\n… and {counted(more, 'weaker one')}" if more > 0 else ""
        return f"{self!r}\n{text_grid(['variable', _THAN.strip(), 'evidence', 'since row'], lines)}{rest}"


def cusum(evidence: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return max(0, C + L) after each row, for every column.

    With S the running sums it is S_t − min(−C₀, min_{u ≤ t} S_u).

    Examples
    --------
    >>> cusum(np.array([[1.0], [-3.0], [2.0]]), np.array([0.5])).ravel().tolist()
    [1.5, 0.0, 2.0]
    """
    sums = np.cumsum(evidence, axis=0)
    return sums - np.minimum(np.minimum.accumulate(sums, axis=0), -start)


def _last_zero(sums: np.ndarray, before: np.ndarray, n_rows: int) -> np.ndarray:
    """Return for each sum after how many rows it was last zero."""
    zero = sums == 0.0
    last = len(sums) - zero[::-1].argmax(axis=0)
    return np.where(zero.any(axis=0), n_rows + last, before)


# The evidence of rows


class _Watch(NamedTuple):
    """One sum of evidence: its variable (None: rows), the variable's number, and the state (None: the log-score)."""

    node: str | None
    number: int
    state: tuple[State] | None
    is_low: bool

    @property
    def what(self) -> str:
        """The change that it is evidence for."""
        way = "less" if self.is_low else "more"
        return (
            f"{way} probable{_THAN}" if self.state is None else f"{shortened(repr(self.state[0]))} {way} often{_THAN}"
        )


class _Found(NamedTuple):
    """The evidence of rows, of shape (n_rows, n_watched), and for each variable the sums of its log-scores."""

    evidence: np.ndarray
    n_known: np.ndarray
    log_scores: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True, eq=False)
class Watcher:
    """All sums of evidence of a network."""

    families: tuple[_Family, ...]
    watched: tuple[_Watch, ...]

    def watch(self, codes: Sequence[np.ndarray]) -> _Found:
        """Return the evidence of rows, given as codes of every variable."""
        n_rows, n = len(codes[0]), len(self.families)
        evidence = np.zeros((n_rows, len(self.watched)))
        n_known, log_scores, expected = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        starts = accumulate((2 + _n_ways(f.cpt.variable.n_states) for f in self.families), initial=2)
        for v, (family, start) in enumerate(zip(self.families, starts, strict=False)):
            rows, some, scores, means = family.evidence(codes)
            evidence[rows, :2] += some[:, :2]
            evidence[rows, start : start + some.shape[1] - 2] = some[:, 2:]
            n_known[v], log_scores[v], expected[v] = len(rows), scores.sum(), means.sum()
        return _Found(evidence, n_known, log_scores, expected)


def watch_network(net: BayesianNetwork, shift: float) -> Watcher:
    """Return the sums for a network, tilted so that a shift by so many standard deviations is found soonest.

    The deviations are estimated from rows sampled from the network, always the same ones; they affect the power only.
    """
    drawn = net.sample(_SAMPLES, random_state=_SEED)
    codes = [drawn.codes(name) for name in net.nodes]
    number = {name: i for i, name in enumerate(net.nodes)}
    columns = [tuple(number[v.name] for v in (*cpt.parents, cpt.variable)) for cpt in net.cpts.values()]
    spread = [_variances(cpt, [codes[c] for c in some]) for cpt, some in zip(net.cpts.values(), columns, strict=True)]
    row_tilt = _tilt(shift, sum(of_score for of_score, _ in spread))
    families = tuple(
        _Family(cpt, some, _tilt(shift, of_score), row_tilt, _log_odds(shift, of_states))
        for cpt, some, (of_score, of_states) in zip(net.cpts.values(), columns, spread, strict=True)
    )
    watched = [_Watch(None, -1, None, low) for low in (True, False)]
    for v, variable in enumerate(net.variables):
        states = variable.states or ()
        watched += [_Watch(variable.name, v, None, low) for low in (True, False)]
        ways = [_Watch(variable.name, v, (state,), low) for low in (False, True) for state in states]
        watched += ways[: _n_ways(len(states))]
    return Watcher(families, tuple(watched))


def _n_ways(n_states: int) -> int:
    """Return the number of sums for the frequencies of states; of two states one is rarer if the other is not.

    Examples
    --------
    >>> [_n_ways(n_states) for n_states in (1, 2, 3)]
    [0, 2, 6]
    """
    return 2 * n_states if n_states > 2 else n_states if n_states == 2 else 0


@dataclass(frozen=True, eq=False)
class _Family:
    """How one variable is monitored.

    Attributes
    ----------
    cpt : ConditionalTable
        Its table.
    columns : tuple of int
        The numbers of the parents and, last, of the variable.
    tilt, row_tilt : float
        λ of the log-score, its own and that of whole rows.
    log_odds : ndarray of shape (n_states,)
        ln θ of each state.
    """

    cpt: ConditionalTable
    columns: tuple[int, ...]
    tilt: float
    row_tilt: float
    log_odds: np.ndarray

    def evidence(self, codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows in which the family is known, and their evidence, log-scores, and expected log-scores.

        The columns of the evidence are those of whole rows (low, high), of the variable (low, high), and of its states
        (more, then less).
        """
        n_states = [*self.cpt.shape]
        *parents, own = (codes[c] for c in self.columns)
        known = own >= 0
        for column, n in zip(parents, n_states[:-1], strict=True):
            known &= (column >= 0) & (column < n)
        rows = np.flatnonzero(known)
        slots, (table, log_p, expected) = self._looked_up([p[rows] for p in parents], len(rows))
        states = own[rows].astype(np.int64)
        at = slots * (n_states[-1] + 1) + np.minimum(states, n_states[-1])
        return rows, table[at], log_p.ravel()[at], expected[slots]

    def _looked_up(self, parents: Sequence[np.ndarray], n_rows: int) -> tuple[np.ndarray, _Tables]:
        """Return the row of the tables for each row of data, and the tables."""
        if self._whole is not None:
            codes = np.array(parents, np.int64).reshape(len(parents), n_rows).T
            return configuration_numbers(codes, self.cpt.shape[:-1]), self._whole
        slots, configurations = _configurations(parents, n_rows)
        return slots, self._table(self.cpt.rows(configurations))

    @cached_property
    def _whole(self) -> _Tables | None:
        """The tables of all configurations, if they are few: single rows need them again and again."""
        n, r = self.cpt.n_configurations, self.cpt.variable.n_states
        if n * (r + 1) * (4 + _n_ways(r)) > _SMALL:
            return None
        return self._table(self.cpt.rows(configuration_codes(np.arange(n), self.cpt.shape[:-1])))

    def _table(self, p: np.ndarray) -> _Tables:
        """Return evidence and log-scores for each configuration and state (the last: unknown), and expected scores."""
        n, r = p.shape
        with np.errstate(divide="ignore"):
            log_p = np.log(np.concatenate([p, np.zeros((n, 1))], axis=1))
        safe = np.where(p > 0.0, log_p[:, :r], 0.0)
        out = np.empty((n, r + 1, 4 + _n_ways(r)))
        for i, tilt in enumerate((self.row_tilt, -self.row_tilt, self.tilt, -self.tilt)):
            norm = np.log(np.where(p > 0.0, np.exp((1.0 - tilt) * safe), 0.0).sum(axis=1, keepdims=True))
            out[:, :, i] = (-tilt * log_p if tilt else 0.0) - norm
        hit = np.eye(r + 1, r)
        for i, log_odds in zip(range(4, 4 + _n_ways(r), r), (self.log_odds, -self.log_odds), strict=False):
            out[:, :, i : i + r] = hit * log_odds - np.log1p(np.expm1(log_odds) * p)[:, None, :]
        return np.clip(out, -_SURE, _SURE).reshape(n * (r + 1), out.shape[2]), log_p, (p * safe).sum(axis=1)


def _variances(cpt: ConditionalTable, codes: Sequence[np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the mean variance, given the parents, of a variable's log-score and of the indicators of its states."""
    slots, configurations = _configurations(codes[:-1], len(codes[-1]))
    p = cpt.rows(configurations)
    weight = np.bincount(slots, minlength=len(p)) / max(1, len(slots))
    log_p = np.log(np.where(p > 0.0, p, 1.0))
    of_score = (p * log_p**2).sum(axis=1) - (p * log_p).sum(axis=1) ** 2
    return float(weight @ of_score), weight @ (p * (1.0 - p))


def _configurations(parents: Sequence[np.ndarray], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the configurations that occur each row has, and these as rows of codes."""
    if not parents:
        return np.zeros(n_rows, np.int64), np.empty((1, 0), np.int64)
    if not n_rows:
        return np.zeros(0, np.int64), np.empty((0, len(parents)), np.int64)
    wide = [p.astype(np.int64) for p in parents]
    slots, first = number_configurations(wide, [int(p.max()) + 1 for p in wide])
    return slots, np.column_stack([p[first] for p in wide])


def _tilt(shift: float, variance: float) -> float:
    return min(_LARGEST_TILT, shift / np.sqrt(variance)) if variance > _NO_VARIANCE else _LARGEST_TILT


def _log_odds(shift: float, variances: np.ndarray) -> np.ndarray:
    return np.minimum(_LARGEST_ODDS, shift / np.sqrt(np.maximum(variances, _NO_VARIANCE)))
