"""Explicit durations: how long a hidden state lasts has a distribution of its own (hidden semi-Markov models).

In a Markov chain the time d that a state lasts is geometric: p(d) = (1 − a) a^{d−1}. Here it is

    Poisson                p_i(d) ∝ λ^{d−1} / (d − 1)!,
    negative binomial      p_i(d) ∝ Γ(d − 1 + r) / (Γ(r) (d − 1)!) q^{d−1},
    free                   any probabilities,

for d = 1, …, D, and transitions lead to other states. The chain of pairs (state i, age a) has the same paths: with the
survival function S_i(a) = P(d ≥ a)

    (i, a) → (i, a + 1)  with S_i(a + 1) / S_i(a),        (i, a) → (j, 1)  with A_ij p_i(a) / S_i(a).

Its transitions are listed, so that an iteration takes time proportional to steps × states² × D. States begin with each
sequence, and the last one may go on after its end: of such a segment of age a the expected duration is distributed as
p_i(d) / S_i(a), d ≥ a. So the counts of durations are those of segments that ended, and these.

A state that no other may follow, such as the last from left to right, lasts for ever.

References
----------
S.-Z. Yu (2010). Hidden semi-Markov models. Artificial Intelligence 174, 215–243.
Y. Guédon (2003). Estimating hidden semi-Markov chains from discrete sequences. Journal of Computational and Graphical
Statistics 12, 604–639.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tunbridge._core.check import check_choice, check_integer, warn_user
from tunbridge.errors import DataError, DataWarning
from tunbridge.temporal.chain import Chain, listed_arcs
from tunbridge.temporal.dynamics import Dynamics, Rules
from tunbridge.temporal.emissions.base import special

FAMILIES = {"poisson": 1, "negative-binomial": 2, "free": 0}
"""The numbers of parameters of the families."""
_LONGEST = 100  # the default of max_duration
_AT_END = 0.05  # the probability of max_duration from which it is warned of
_BOUNDS = ((-40.0, 12.0), (-6.0, 12.0))  # of ln λ or ln q, and ln r
_MOST_Q = -1e-9
_INNER = 20  # iterations of an M step, which need not reach the maximum


def check(hmm: Any) -> None:
    """Raise where the parameters of a model do not go with durations."""
    check_integer("max_duration", hmm.max_duration, low=1, optional=True)
    if hmm.durations is None:
        if hmm.max_duration is not None:
            raise DataError("max_duration must come with durations; got durations=None.", parameter="max_duration")
        return
    check_choice("durations", hmm.durations, tuple(FAMILIES))
    for what, value, free in (("start", hmm.start, "free"), ("sticky", hmm.sticky, 0.0)):
        if value != free:
            raise DataError(f"{what} must be {free!r} with durations={hmm.durations!r}; got {value!r}.", parameter=what)


def without_stays(rules: Rules) -> Rules:
    """Return rules for transitions to other states; a state that has none stays."""
    others = rules.allowed & ~np.eye(len(rules.allowed), dtype=bool)
    return replace(rules, allowed=others | np.diag(~others.any(axis=1)))


@dataclass(frozen=True, eq=False)
class Durations(Dynamics):
    """The first state, the transitions to other states, and the durations.

    Parameters
    ----------
    durations : ndarray, shape (n_states, max_duration)
        P(d | state) for d = 1, 2, …
    family : {"poisson", "negative-binomial", "free"}
        What is estimated of them.
    parameters : ndarray, shape (n_states, 2)
        ln λ, or ln q and ln r.

    Examples
    --------
    >>> from tunbridge.temporal.dynamics import rules_of
    >>> made = given_durations([0.5, 0.5], [[0, 1], [1, 0]], [[0, 1], [0.5, 0.5]], rules_of(2))
    >>> made.chain(np.ones(1)).start.tolist()  # (0, 1), (0, 2), (1, 1), (1, 2)
    [0.5, 0.0, 0.5, 0.0]
    """

    durations: np.ndarray
    family: str
    parameters: np.ndarray

    @property
    def states(self) -> np.ndarray:
        """The state of each pair (state, age)."""
        return np.repeat(np.arange(len(self.start)), self.durations.shape[1])

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        each = FAMILIES[self.family] or int(self.durations.shape[1]) - 1
        lasting = 0 if "transitions" in self.rules.fixed else int((~self._stays).sum())
        return super().n_parameters + each * lasting

    @property
    def stationary(self) -> np.ndarray:
        """The share of time in each state in the long run."""
        from tunbridge.temporal.dynamics import stationary

        if self._stays.any():
            return stationary(self.matrix)
        shares = stationary(self.matrix) * (self.durations @ np.arange(1, self.durations.shape[1] + 1))
        return np.asarray(shares / shares.sum())

    @property
    def _stays(self) -> np.ndarray:
        """Which states last for ever."""
        return np.diagonal(self.rules.allowed)

    def _survival(self) -> np.ndarray:
        return np.cumsum(self.durations[:, ::-1], axis=1)[:, ::-1]

    def chain(self, gaps: np.ndarray) -> Chain:
        """Return the chain of pairs (state, age)."""
        if (np.asarray(gaps) != 1).any():
            raise DataError(
                "times must be regular with durations; there are gaps. Add rows of missing values for them."
            )
        k, longest = self.durations.shape
        survival = self._survival()
        leave = np.divide(self.durations, survival, out=np.ones_like(survival), where=survival > 0.0)
        stay = np.zeros_like(survival)
        np.divide(survival[:, 1:], survival[:, :-1], out=stay[:, :-1], where=survival[:, :-1] > 0.0)
        stay[self._stays] = 1.0
        sources, ends, weights = [], [], []
        for i in range(k):
            others = self._others(i)
            ages = i * longest + np.arange(longest)
            on = np.minimum(ages + 1, i * longest + longest - 1)
            first = np.tile(others * longest, (longest, 1))
            ends.append(np.column_stack([first, on]).ravel())
            sources.append(np.repeat(ages, len(others) + 1))
            weights.append(np.column_stack([np.outer(leave[i], self.matrix[i, others]), stay[i]]).ravel())
        start = np.zeros((k, longest))
        start[:, 0] = self.start
        arcs = listed_arcs(np.concatenate(sources), np.concatenate(ends), k * longest)
        return Chain(start.ravel(), np.concatenate(weights)[None], arcs)

    def _others(self, i: int) -> np.ndarray:
        """Return the states that may follow a state."""
        return np.flatnonzero(self.rules.allowed[i] & (np.arange(len(self.start)) != i))

    def estimated(self, starts: np.ndarray, chain: Chain, pairs: np.ndarray, gaps: np.ndarray) -> Self:
        """Return the dynamics with parameters estimated from expected counts."""
        first, moves, lasting = self.segments(starts, pairs)
        found = self.from_counts(first, moves + np.diag(np.where(self._stays, 1.0, 0.0)))
        return found if "transitions" in self.rules.fixed else found._with_durations(lasting)

    def segments(self, starts: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the expected counts of first states, of moves between states, and of segments by state and duration.

        Parameters
        ----------
        starts, pairs : ndarray
            The expected counts of the chain of pairs (state, age), by transition.
        """
        k, longest = self.durations.shape
        moves, ended, on, place = np.zeros((k, k)), np.zeros((k, longest)), np.zeros((k, longest)), 0
        for i in range(k):
            others = self._others(i)
            own = pairs[0, place : place + longest * (len(others) + 1)].reshape(longest, -1)
            place += own.size
            moves[i, others], ended[i], on[i] = own[:, :-1].sum(axis=0), own[:, :-1].sum(axis=1), own[:, -1]
        first = starts.reshape(k, longest)[:, 0]
        return first, moves, self._duration_counts(first + moves.sum(axis=0), ended, on)

    def _duration_counts(self, begun: np.ndarray, ended: np.ndarray, on: np.ndarray) -> np.ndarray:
        """Return the expected number of segments by duration, from those that ended and those that went on."""
        arrived = np.column_stack([begun, on[:, :-1]])
        cut = np.maximum(arrived - ended - on, 0.0)  # at the end of a sequence
        cut[:, -1] += on[:, -1]
        survival = self._survival()
        shares = np.divide(cut, survival, out=np.zeros_like(cut), where=survival > 0.0)
        return np.asarray(ended + self.durations * np.cumsum(shares, axis=1))

    def _with_durations(self, counts: np.ndarray) -> Self:
        """Return the dynamics with durations estimated from counts; a state without counts keeps its own."""
        durations, parameters = self.durations.copy(), self.parameters.copy()
        for i in np.flatnonzero((counts.sum(axis=1) > 0.0) & ~self._stays).tolist():
            if self.family == "free":
                durations[i] = counts[i] / counts[i].sum()
            else:
                parameters[i] = _fitted(self.family, counts[i] / counts[i].sum(), parameters[i])
                durations[i] = _probabilities(self.family, parameters[i], counts.shape[1])
        return replace(self, durations=durations, parameters=parameters)

    def permuted(self, order: np.ndarray) -> Self:
        """Return the dynamics with the states in another order."""
        found = super().permuted(order)
        return replace(found, durations=self.durations[order], parameters=self.parameters[order])


def first_durations(hmm: Any, dynamics: Dynamics, data: Any, rng: np.random.Generator | None = None) -> Durations:
    """Return dynamics to start from: durations with a mean of a quarter of the longest, or a random one."""
    lengths = np.diff(data.offsets)
    longest = int(hmm.max_duration or np.clip(lengths.max(initial=1), 1, _LONGEST))
    rules, k = without_stays(dynamics.rules), len(dynamics.start)
    matrix = np.where(rules.allowed, dynamics.matrix, 0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    means = np.full(k, max(1.5, longest / 4.0))
    if rng is not None:
        means = 1.0 + np.exp(rng.uniform(np.log(0.5), np.log(max(1.0, longest / 2.0)), k))
    parameters = np.zeros((k, 2))
    shown = "negative-binomial" if hmm.durations == "free" else hmm.durations
    parameters[:, 0] = np.log(means - 1.0) if shown == "poisson" else np.log1p(-1.0 / means)
    durations = np.stack([_probabilities(shown, own, longest) for own in parameters])
    return Durations(dynamics.start, matrix, rules, durations, hmm.durations, parameters)


def given_durations(start: Any, matrix: Any, durations: Any, rules: Rules) -> Durations:
    """Return dynamics of known durations; raise where they are not probabilities, or states follow themselves."""
    start, matrix = np.asarray(start, np.float64), np.asarray(matrix, np.float64)
    try:
        found = np.array(durations, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    k = len(start)
    if found.ndim != 2 or len(found) != k or not found.shape[1]:
        raise DataError(f"durations must have {k} rows, one for each state, of P(1), P(2), …", parameter="durations")
    if not np.isfinite(found).all() or (found < 0).any() or np.abs(found.sum(axis=1) - 1.0).max() > 1e-6:
        raise DataError("durations must be probabilities, and each row must sum to one.", parameter="durations")
    stays = np.diagonal(matrix)
    if ((stays > 0.0) & (stays < 1.0)).any():
        i = int(np.argmax((stays > 0.0) & (stays < 1.0)))
        raise DataError(
            f"transitions must be to other states with durations; state {i} stays with probability {stays[i]:g}. "
            "Set the diagonal to 0, and rescale the rows.",
            parameter="transitions",
        )
    own = without_stays(replace(rules, allowed=rules.allowed & (np.eye(k) * stays[:, None] == 0.0)))
    allowed = np.where((stays == 1.0)[:, None], np.eye(k, dtype=bool), own.allowed)
    durations = found / found.sum(axis=1, keepdims=True)
    return Durations(start, matrix, replace(own, allowed=allowed), durations, "free", np.zeros((k, 2)))


def warn_of_longest(dynamics: Any) -> None:
    """Warn where states often last as long as they may."""
    if not isinstance(dynamics, Durations):
        return
    longest = dynamics.durations.shape[1]
    at_end = np.where(dynamics._stays, 0.0, dynamics.durations[:, -1])
    if longest > 1 and at_end.max() > _AT_END:
        warn_user(
            f"State {int(at_end.argmax())} lasts as long as it may, {longest} steps, with probability "
            f"{at_end.max():.2g}. Raise max_duration.",
            DataWarning,
        )


# Families


def _logs(family: str, parameters: np.ndarray, longest: int) -> np.ndarray:
    """Return the unnormalised log-probabilities of 1, …, longest."""
    n = np.arange(longest)
    base = -special.gammaln(n + 1.0)
    if family == "negative-binomial":
        base = base + special.gammaln(n + np.exp(parameters[1]))
    return np.asarray(n * parameters[0] + base)


def _probabilities(family: str, parameters: np.ndarray, longest: int) -> np.ndarray:
    logs = _logs(family, parameters, longest)
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def _fitted(family: str, shares: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the parameters that maximise Σ shares ln p(d), not below those before."""
    from scipy.optimize import minimize

    n, longest, size = np.arange(len(shares)), len(shares), FAMILIES[family]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        logs = _logs(family, parameters, longest)
        top = logs.max()
        weights = np.exp(logs - top)
        total = weights.sum()
        left = shares - weights / total
        slope = [n @ left]
        if size == 2:
            r = np.exp(parameters[1])
            slope.append(r * (special.digamma(n + r) @ left))
        return float(top + np.log(total) - shares @ logs), -np.array(slope)

    bounds = [(_BOUNDS[0][0], _MOST_Q if size == 2 else _BOUNDS[0][1]), _BOUNDS[1]][:size]
    first = np.clip(before[:size], [low for low, _ in bounds], [high for _, high in bounds])
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": _INNER}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    best = found.x if found.fun <= loss(before[:size])[0] else before[:size]
    return np.append(best, before[size:])
