"""A drift alarm: whether the rows that arrive still look like rows of the network.

While the network holds, the state k of a variable whose parents are in configuration j has log-score ln p_jk, with p_jk
from its table. Every row is set against its expectation under the table by a likelihood ratio,

    L = −λ ln p_jk − ln Σ_i p_ji^(1−λ),

which grows when rows are less probable than they should be (λ > 0), or more (λ < 0). The log-score cannot see a shift
between states that were equally probable, so every state is watched by itself too: with θ > 1 for «more often» and
θ < 1 for «less often»,

    L = [k is the state] ln θ − ln(1 + (θ − 1) p_j,state).

Whatever the parents are, E[e^L] = 1 as long as the network holds. Evidence is summed by Page's CUSUM,

    C ← max(0, C + L),

in nats for a change since the row at which C was last 0, and the alarm sounds when C of one of the m sums reaches
h = ln(m · run_length). Then the mean number of rows before a false alarm is at least ``run_length``, and the
probability of one within n rows at most n / run_length: e^C is never above the statistic of Shiryaev and Roberts,
Σ_u e^(L_u + … + L_t), whose mean after n rows is n. No normal approximation is made, so rare states do no harm. What λ
and θ are is a matter of power only: they are those of a shift by ``shift`` standard deviations.

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
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from tunbridge._check import check_number, counted, listed
from tunbridge._threads import row_pieces
from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.network.arriving import Batch, iter_frames, read_batch
from tunbridge.network.network import BayesianNetwork
from tunbridge.network.rules import check_discrete
from tunbridge.network.watching import THAN, Watch, Watcher, cusum, watchers
from tunbridge.probability.grid import text_grid

_CELLS = 2**20  # of the evidence of a piece
_SHOWN = 8


@dataclass(frozen=True)
class DriftSignal:
    """The strongest evidence about one variable, or about whole rows.

    Attributes
    ----------
    node : str or None
        The variable; None stands for the rows as a whole.
    what : str
        What has changed if anything has.
    evidence : float
        For a change, in nats: the CUSUM, or what it was when the alarm sounded.
    since : int
        The row, counted from 1, from which on the change is to be seen.
    alarm : bool
        Whether the evidence has reached the threshold at some row.
    log_score, expected : float
        The mean of ln P(state | parents), over the rows that know both, and what was to be expected of it.
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
    """What a monitor has seen: the sums of evidence, where each began, the first alarms, and the log-scores."""

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


@final
class DriftMonitor:
    """Watches rows for a drift away from a network. It never changes; :meth:`update` returns the next one.

    Parameters
    ----------
    network : BayesianNetwork
        What the rows are expected to follow.
    run_length : float
        The mean number of rows without drift before a false alarm is at least this; within n rows the probability of a
        false alarm is at most n / run_length.
    shift : float
        The shift that is worth an alarm, in standard deviations of what is watched. Smaller ones are found late or
        not at all, and the errors of a network that was learned from few rows are forgiven.

    Notes
    -----
    A variable is watched given its parents, so that a change of a parent is no alarm of its children. Rows that miss
    a cell of a family tell nothing about it. Weights are not looked at. A value that is no state of its variable is
    impossible under the network, and sounds the alarm at once.

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
            raise DataError(f"network must be a BayesianNetwork; got {type(network).__name__}.")
        check_discrete(network.cpts, "watched")
        self._network = network
        self._run_length = check_number("run_length", run_length, low=1)
        self._shift = check_number("shift", shift, above=0)
        self._seen = self._nothing_seen()

    # What it is

    @property
    def network(self) -> BayesianNetwork:
        """What the rows are expected to follow."""
        return self._network

    @property
    def run_length(self) -> float:
        """The least mean number of rows before a false alarm."""
        return self._run_length

    @property
    def threshold(self) -> float:
        """The evidence, in nats, at which the alarm sounds."""
        return math.log(self._watcher.n_watched * self._run_length)

    @cached_property
    def _watcher(self) -> Watcher:
        return watchers(self._network, self._shift)

    # What it has seen

    @property
    def n_rows(self) -> int:
        """How many rows it has seen."""
        return self._seen.n_rows

    @property
    def alarm(self) -> bool:
        """Whether the alarm has sounded, at whichever row."""
        return bool(self._seen.alarm_row.any())

    @property
    def alarm_row(self) -> int | None:
        """The row, counted from 1, at which it sounded first."""
        rows = self._seen.alarm_row
        return int(rows[rows > 0].min()) if rows.any() else None

    @property
    def drifted(self) -> tuple[str, ...]:
        """The variables for which it has sounded, the strongest evidence first."""
        return tuple(signal.node for signal in self.signals if signal.alarm and signal.node is not None)

    @property
    def score(self) -> float:
        """The mean log-score of a row: of what it knows together with the parents; NaN without rows."""
        return float(self._seen.log_scores.sum() / self.n_rows) if self.n_rows else math.nan

    @property
    def expected_score(self) -> float:
        """What was to be expected of it, given the parents."""
        return float(self._seen.expected.sum() / self.n_rows) if self.n_rows else math.nan

    @property
    def unknown(self) -> dict[str, tuple[State, ...]]:
        """The values that are no states of their variables."""
        return dict(self._seen.unknown)

    @cached_property
    def signals(self) -> tuple[DriftSignal, ...]:
        """The strongest evidence about each variable, and about rows as a whole, the strongest of all first."""
        watched = self._watcher.watched
        strength = np.where(self._seen.alarm_row > 0, self._seen.peak, self._seen.evidence)
        best: dict[str | None, int] = {}
        for i in np.lexsort((-strength, self._seen.alarm_row == 0)).tolist():
            best.setdefault(watched[i].node, i)
        return tuple(self._signal(watched[i], i, float(strength[i])) for i in best.values())

    def _signal(self, watch: Watch, i: int, evidence: float) -> DriftSignal:
        seen, alarm = self._seen, bool(self._seen.alarm_row[i])
        chosen = slice(None) if watch.node is None else slice(watch.number, watch.number + 1)
        n = self.n_rows if watch.node is None else int(seen.n_known[watch.number])
        means = [float(sums[chosen].sum() / n) if n else math.nan for sums in (seen.log_scores, seen.expected)]
        what = watch.what
        if watch.node in seen.unknown and watch.state is None and watch.is_low:
            what = f"unknown states: {listed(seen.unknown[watch.node], most=3)}"
        since = int(seen.alarm_since[i] if alarm else seen.since[i]) + 1
        return DriftSignal(watch.node, what, evidence, min(since, max(1, self.n_rows)), alarm, *means)

    # Rows

    def update(self, rows: Any) -> DriftMonitor:
        """Return the monitor after further rows: a frame, a record, or an iterator of frames."""
        monitor = self
        for frame in iter_frames(rows):
            batch = read_batch(frame, self._network.variables, new_states="mark")
            monitor = monitor._after(batch)
        return monitor

    def _after(self, batch: Batch) -> DriftMonitor:
        seen = self._seen
        for start, stop in row_pieces(batch.n_rows, max(16, _CELLS // self._watcher.n_watched)):
            seen = self._watched(seen, batch.take(slice(start, stop)))
        unknown = {
            name: tuple(dict.fromkeys((*seen.unknown.get(name, ()), *batch.unknown.get(name, ()))))
            for name in {**seen.unknown, **batch.unknown}
        }
        return self._with(_replaced(seen, unknown=unknown))

    def _watched(self, seen: _Seen, batch: Batch) -> _Seen:
        found = self._watcher.watch(batch.codes)
        sums = cusum(found.evidence, seen.evidence)
        since = _last_zero(sums, seen.since, seen.n_rows)
        crossed = (sums >= self.threshold).any(axis=0) & (seen.alarm_row == 0)
        alarm_row, alarm_since = seen.alarm_row.copy(), seen.alarm_since.copy()
        for i in np.flatnonzero(crossed).tolist():
            row = int((sums[:, i] >= self.threshold).argmax())
            alarm_row[i] = seen.n_rows + row + 1
            alarm_since[i] = _last_zero(sums[: row + 1, i : i + 1], seen.since[i : i + 1], seen.n_rows)[0]
        return _replaced(
            seen, n_rows=seen.n_rows + batch.n_rows, evidence=sums[-1], since=since,
            peak=np.maximum(seen.peak, sums.max(axis=0)), alarm_row=alarm_row, alarm_since=alarm_since,
            n_known=seen.n_known + found.n_known, log_scores=seen.log_scores + found.log_scores,
            expected=seen.expected + found.expected,
        )  # fmt: skip

    def _with(self, seen: _Seen) -> DriftMonitor:
        other = object.__new__(DriftMonitor)
        other.__dict__.update(
            _network=self._network, _run_length=self._run_length, _shift=self._shift, _watcher=self._watcher, _seen=seen
        )
        return other

    def _nothing_seen(self) -> _Seen:
        m, n = self._watcher.n_watched, len(self._network.nodes)
        whole = [np.zeros(m, np.int64) for _ in range(3)]
        return _Seen(
            0, np.zeros(m), whole[0], np.zeros(m), whole[1], whole[2], np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        )

    # For people

    def __repr__(self) -> str:
        told = "no drift" if not self.alarm else f"drift, first seen at row {self.alarm_row}"
        return f"DriftMonitor over {counted(self.n_rows, 'row')}: {told} (threshold {self.threshold:.1f} nats)"

    def __str__(self) -> str:
        lines = [
            [s.node or "(rows)", s.what.removesuffix(THAN), f"{s.evidence:.1f}{' !' if s.alarm else ''}", s.since]
            for s in self.signals[:_SHOWN]
        ]
        more = len(self.signals) - _SHOWN
        rest = f"\n… and {counted(more, 'weaker one')}" if more > 0 else ""
        return f"{self!r}\n{text_grid(['variable', THAN.strip(), 'evidence', 'since row'], lines)}{rest}"


def _last_zero(sums: np.ndarray, before: np.ndarray, n_rows: int) -> np.ndarray:
    """Return for each sum after how many rows it was last zero."""
    zero = sums == 0.0
    last = len(sums) - zero[::-1].argmax(axis=0)
    return np.where(zero.any(axis=0), n_rows + last, before)


def _replaced(seen: _Seen, **fields: Any) -> _Seen:
    return _Seen(**{**seen.__dict__, **fields})
