"""What a drift monitor watches, and the evidence of single rows (the equations are in :mod:`tunbridge.network.drift`).

Of a variable with r states 2 + 2r things are watched: whether its log-score is lower or higher than expected, and for
each state whether it comes more or less often (of two states more is enough); of whole rows whether their log-score is
lower or higher. The evidence of a row depends on the configuration of the parents and the state alone, so it is
computed once for each configuration: of all where they are few, else of those that occur in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tunbridge._check import shortened
from tunbridge.counts.configurations import configuration_codes, configuration_numbers
from tunbridge.counts.radix import number_configurations
from tunbridge.data import State
from tunbridge.probability import ConditionalTable

if TYPE_CHECKING:
    from tunbridge.network.network import BayesianNetwork

_SURE = 1000.0  # nats: what an impossible row is worth
_LARGEST_TILT = 1.0
_LARGEST_ODDS = np.log(4.0)
_SAMPLES, _SEED = 4096, 0
_NO_VARIANCE = 1e-12
_SMALL = 2**14  # entries of a family's tables that are kept
THAN = " than expected"

_Tables: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Watch:
    """One thing that is watched: of which variable (None: of rows), its number, and of which state (None: of all)."""

    node: str | None
    number: int
    state: tuple[State] | None
    is_low: bool

    @property
    def what(self) -> str:
        """What has happened when there is evidence for it."""
        way = "less" if self.is_low else "more"
        return f"{way} probable{THAN}" if self.state is None else f"{shortened(repr(self.state[0]))} {way} often{THAN}"


def n_ways(n_states: int) -> int:
    """Return in how many ways the frequencies of states are watched: of two states one is rarer when the other is not.

    Examples
    --------
    >>> [n_ways(n_states) for n_states in (1, 2, 3)]
    [0, 2, 6]
    """
    return 2 * n_states if n_states > 2 else n_states if n_states == 2 else 0


@dataclass(frozen=True, eq=False)
class Found:
    """The evidence of rows, of shape (n_rows, n_watched), and for each variable the sums of its log-scores."""

    evidence: np.ndarray
    n_known: np.ndarray
    log_scores: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True, eq=False)
class FamilyWatch:
    """How one variable is watched: its table, where its parents are, and how far each likelihood ratio is tilted.

    Attributes
    ----------
    cpt : ConditionalTable
        The table.
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
        """Return which rows know the family, and of these the evidence, the log-scores, and what was expected of them.

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
        """Return which row of the tables each row of data has, and the tables."""
        if self._whole is not None:
            codes = np.array(parents, np.int64).reshape(len(parents), n_rows).T
            return configuration_numbers(codes, self.cpt.shape[:-1]), self._whole
        slots, configurations = _configurations(parents, n_rows)
        return slots, self._table(self.cpt.rows(configurations))

    @cached_property
    def _whole(self) -> _Tables | None:
        """The tables of all configurations, where they are few: rows that come one by one need them again and again."""
        n, r = self.cpt.n_configurations, self.cpt.variable.n_states
        if n * (r + 1) * (4 + n_ways(r)) > _SMALL:
            return None
        return self._table(self.cpt.rows(configuration_codes(np.arange(n), self.cpt.shape[:-1])))

    def _table(self, p: np.ndarray) -> _Tables:
        """Return evidence and log-scores for each configuration and state (the last: unknown), and expected scores."""
        n, r = p.shape
        with np.errstate(divide="ignore"):
            log_p = np.log(np.concatenate([p, np.zeros((n, 1))], axis=1))
        safe = np.where(p > 0.0, log_p[:, :r], 0.0)
        out = np.empty((n, r + 1, 4 + n_ways(r)))
        for i, tilt in enumerate((self.row_tilt, -self.row_tilt, self.tilt, -self.tilt)):
            norm = np.log(np.where(p > 0.0, np.exp((1.0 - tilt) * safe), 0.0).sum(axis=1, keepdims=True))
            out[:, :, i] = (-tilt * log_p if tilt else 0.0) - norm
        hit = np.eye(r + 1, r)
        for i, log_odds in zip(range(4, 4 + n_ways(r), r), (self.log_odds, -self.log_odds), strict=False):
            out[:, :, i : i + r] = hit * log_odds - np.log1p(np.expm1(log_odds) * p)[:, None, :]
        return np.clip(out, -_SURE, _SURE).reshape(n * (r + 1), out.shape[2]), log_p, (p * safe).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Watcher:
    """All that is watched."""

    families: tuple[FamilyWatch, ...]
    watched: tuple[Watch, ...]

    @property
    def n_watched(self) -> int:
        """How many things are watched."""
        return len(self.watched)

    def watch(self, codes: Sequence[np.ndarray]) -> Found:
        """Return the evidence of rows, given as codes of every variable."""
        n_rows, n = len(codes[0]), len(self.families)
        evidence = np.zeros((n_rows, self.n_watched))
        n_known, log_scores, expected = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        starts = accumulate((2 + n_ways(f.cpt.variable.n_states) for f in self.families), initial=2)
        for v, (family, start) in enumerate(zip(self.families, starts, strict=False)):
            rows, some, scores, means = family.evidence(codes)
            evidence[rows, :2] += some[:, :2]
            evidence[rows, start : start + some.shape[1] - 2] = some[:, 2:]
            n_known[v], log_scores[v], expected[v] = len(rows), scores.sum(), means.sum()
        return Found(evidence, n_known, log_scores, expected)


def watchers(net: BayesianNetwork, shift: float) -> Watcher:
    """Return what is watched of a network, tilted so that a shift by so many standard deviations is found soonest.

    The deviations are those of rows drawn from the network, always the same ones; nothing but power depends on them.
    """
    drawn = net.sample(_SAMPLES, random_state=_SEED)
    codes = [drawn.codes(name) for name in net.nodes]
    number = {name: i for i, name in enumerate(net.nodes)}
    columns = [tuple(number[v.name] for v in (*cpt.parents, cpt.variable)) for cpt in net.cpts.values()]
    spread = [_variances(cpt, [codes[c] for c in some]) for cpt, some in zip(net.cpts.values(), columns, strict=True)]
    row_tilt = _tilt(shift, sum(of_score for of_score, _ in spread))
    families = tuple(
        FamilyWatch(cpt, some, _tilt(shift, of_score), row_tilt, _log_odds(shift, of_states))
        for cpt, some, (of_score, of_states) in zip(net.cpts.values(), columns, spread, strict=True)
    )
    watched = [Watch(None, -1, None, low) for low in (True, False)]
    for v, variable in enumerate(net.variables):
        states = variable.states or ()
        watched += [Watch(variable.name, v, None, low) for low in (True, False)]
        ways = [Watch(variable.name, v, (state,), low) for low in (False, True) for state in states]
        watched += ways[: n_ways(len(states))]
    return Watcher(families, tuple(watched))


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
