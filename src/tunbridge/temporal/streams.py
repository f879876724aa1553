"""Filtering while observations arrive: one at a time or in batches, with a memory that does not grow.

After each observation α(j) ∝ p(x | j) Σ_i α(i) A_ij. With a lag of L steps the last L likelihoods are kept, and the
state L steps ago is known from what came since.

An alarm tells when observations stop being those of the model. The surprise −ln p(x_t | x_1..t−1), standardized by its
mean and deviation in a sequence drawn from the model, is summed by a CUSUM whose false alarms are ``run_length`` steps
apart, roughly, as long as surprises are independent.

References
----------
E. S. Page (1954). Continuous inspection schemes. Biometrika 41, 100–115.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted, did_you_mean
from tunbridge.data import as_table
from tunbridge.data.table import warn_unseen
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.learning.arriving.drift import cusum
from tunbridge.temporal import chain as chains, training
from tunbridge.temporal.chain import Chain, Frames
from tunbridge.temporal.panel import read_panel

if TYPE_CHECKING:
    from tunbridge.temporal.hmm import HiddenMarkovModel

_CALIBRATION = 4000  # steps drawn from the model
_MOST = 4.0  # deviations that a surprise counts at most


class StateStream:
    """The hidden state of a sequence while it arrives.

    Parameters
    ----------
    hmm : HiddenMarkovModel
        The model.
    lag : int
        :meth:`push` returns the probabilities of the state ``lag`` steps ago.
    run_length, shift : float
        Steps between false alarms, and the shift of the mean surprise to detect, in standard deviations.

    Attributes
    ----------
    n_steps : int
        The number of steps so far.
    log_likelihood : float
        ln P of what was observed so far.
    score, threshold : float
        The evidence for drift, and where it raises the alarm (after :meth:`watch`).
    alarm_step : int or None
        The step of the alarm, from 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> weather = tb.HiddenMarkovModel.from_parameters(
    ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], symbols=["yes", "no"])
    >>> stream = weather.stream()
    >>> stream.push("yes").round(3).tolist(), stream.push("yes").round(3).tolist()
    ([0.818, 0.182], [0.883, 0.117])
    >>> stream.update([["no", "yes"]]).round(3).tolist()
    [[0.191, 0.809], [0.731, 0.269]]
    """

    def __init__(self, hmm: HiddenMarkovModel, lag: int = 0, *, run_length: float = 1e6, shift: float = 0.5) -> None:
        check_integer("lag", lag, low=0)
        check_number("run_length", run_length, low=1)
        check_number("shift", shift, low=0)
        self._hmm, self._shift, self.threshold = hmm, float(shift), float(np.log(run_length))
        model = hmm.model_
        chain = model.dynamics.chain(np.ones(1, np.int64))
        self._chain = chain
        self._matrix = chains.dense_pairs(chain.matrices, chain.arcs)[0]
        self._owners = model.ties[model.dynamics.states]
        self._lags = int(getattr(model.emission, "lags", 0))
        self._states = None if len(chain.start) == len(hmm.state_names_) else model.dynamics.states
        self._before = deque[np.ndarray](maxlen=max(1, self._lags))
        self._kept = deque[tuple[np.ndarray, np.ndarray]](maxlen=lag + 1)
        self._codes = [_codes(v) for v in hmm.variables_]
        self._alpha: np.ndarray | None = None
        self.n_steps, self.log_likelihood, self.score = 0, 0.0, 0.0
        self.alarm_step: int | None = None
        self._watched, self._is_watching = np.zeros(1), False
        self._last_time: float | None = None
        self._row, self._unseen = np.empty(0), set[Any]()

    @property
    def probabilities(self) -> np.ndarray:
        """P(z_t | x_1..t); the distribution of the first state before the first step."""
        return self._by_state(self._chain.start if self._alpha is None else self._alpha)

    @property
    def alarm(self) -> bool:
        """Whether observations have stopped being those of the model."""
        return self.alarm_step is not None

    def _by_state(self, found: np.ndarray) -> np.ndarray:
        return found if self._states is None else found @ np.eye(len(self._hmm.state_names_))[self._states]

    def push(self, value: Any) -> np.ndarray:
        """Add one observation: a value, None for a missing one, a row of several columns, or a mapping by column.

        A mapping may have the time, too, if the model has a column of times: then gaps are bridged.

        Returns
        -------
        ndarray of shape (n_states,)
            P(z_t−lag | x_1..t); the first ``lag`` calls give that of the first step.
        """
        return self._push(self._logs(value), self._gap(value), value)

    def _push(self, logs: np.ndarray, gap: int, value: Any) -> np.ndarray:
        """Add an observation by its log-likelihoods; nothing changes where it is impossible."""
        before = self._chain.start if self._alpha is None else self._alpha @ self._over(gap)
        largest = logs.max()
        shares = np.exp(logs - largest) if largest > -np.inf else np.zeros(len(logs))
        now = before * shares
        total = now.sum()
        if not total > 0.0:
            with np.errstate(divide="ignore"):
                now = np.log(before) + logs
            largest = now.max()
            if largest == -np.inf:
                raise ImpossibleEvidenceError(
                    f"the observation must be possible under the model; got {value!r} at step {self.n_steps + 1}."
                )
            now = np.exp(now - largest)
            total = now.sum()
        step = float(largest + np.log(total))
        self._alpha = now / total
        self._kept.append((self._alpha, logs))
        self._remember(value, gap)
        self.n_steps += 1
        self.log_likelihood += step
        self._watch(step)
        return self._lagged() if self._kept.maxlen != 1 else self.probabilities

    def _gap(self, value: Any) -> int:
        """Return the time units since the last observation, where the model has a column of times."""
        name, last = self._hmm.time, self._last_time
        if name is None or not isinstance(value, Mapping) or name not in value:
            return 1
        now = _as_time(name, value[name])
        if last is None:
            return 1
        unit = self._hmm.time_unit_ or 1.0
        gap = round((now - last) / unit)
        if gap < 1:
            raise DataError(f"{name!r} must be later than at the step before; got {value[name]!r}.")
        return gap

    def _remember(self, value: Any, gap: int) -> None:
        """Keep what the next observation needs of this one."""
        if self._lags:
            for _ in range(gap - 1):
                self._before.append(np.full(len(self._codes), np.nan))
            self._before.append(self._row)
        if isinstance(value, Mapping) and self._hmm.time in value:
            self._last_time = _as_time(str(self._hmm.time), value[self._hmm.time])

    def _code(self, i: int, value: Any) -> int:
        """Return the code of a symbol, −1 for an unseen one, with a warning for each."""
        variable = self._hmm.variables_[i]
        code = variable.find(value)
        if code < 0 and value not in self._unseen:
            self._unseen.add(value)
            warn_unseen({variable.name: [value]})
        return code

    def _over(self, gap: int) -> np.ndarray:
        return self._matrix if gap == 1 else np.linalg.matrix_power(self._matrix, gap)

    def __repr__(self) -> str:
        names, p = self._hmm.state_names_, self.probabilities
        state = f"; state {names[int(p.argmax())]} with P = {p.max():.3g}" if self.n_steps else ""
        return f"StateStream: {counted(self.n_steps, 'step')}{state}{'; ALARM' if self.alarm else ''}"

    def _lagged(self) -> np.ndarray:
        """Return the probabilities of the first step that is kept, given those since."""
        beta = np.zeros(len(self._chain.start))
        with np.errstate(divide="ignore"):
            matrix, first = np.log(self._matrix), np.log(self._kept[0][0])
        for _, logs in list(self._kept)[:0:-1]:
            beta = np.logaddexp.reduce(matrix + logs + beta, axis=1)
        found = np.exp(first + beta - np.logaddexp.reduce(first + beta))
        return self._by_state(found)

    def _logs(self, value: Any) -> np.ndarray:
        """Return the log-likelihoods of an observation."""
        if self._table is not None and not isinstance(value, (Mapping, list, tuple, np.ndarray)):
            return self._table[-1 if _is_missing(value) else self._code(0, value)]
        return self._logs_of(self._numbers(value))

    def _logs_of(self, row: np.ndarray) -> np.ndarray:
        """Return the log-likelihoods of an observation as numbers, those before it known."""
        if self._lags:
            none = np.full(len(row), np.nan)
            row = np.concatenate([row, *reversed(self._before), *([none] * (self._lags - len(self._before)))])
        self._row = row[: len(self._codes)]
        return training.log_likelihood_of(self._hmm.model_.emission, row[None])[0][self._owners]

    @cached_property
    def _table(self) -> np.ndarray | None:
        """The log-likelihoods of each symbol, and of a missing one, where there is one column of symbols."""
        if len(self._codes) != 1 or self._codes[0] is None or self._lags:
            return None
        x = np.append(np.arange(self._hmm.variables_[0].n_states, dtype=np.float64), np.nan)[:, None]
        return training.log_likelihood_of(self._hmm.model_.emission, x)[:, self._owners]

    def _numbers(self, value: Any) -> np.ndarray:
        variables = self._hmm.variables_
        if isinstance(value, Mapping):
            known = [*(v.name for v in variables), self._hmm.time, self._hmm.sequence]
            for name in value:
                if name not in known:
                    raise DataError(
                        f"{name!r} must be an observed column. {did_you_mean(name, known[: len(variables)])}"
                    )
            values = [value.get(v.name) for v in variables]
        else:
            values = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
        if len(values) != len(variables):
            raise DataError(f"an observation must have {len(variables)} values; got {len(values)}.")
        row = np.full(len(values), np.nan)
        for i, (one, codes) in enumerate(zip(values, self._codes, strict=True)):
            if _is_missing(one):
                continue
            try:
                number: Any = one
                code = float(number) if codes is None else self._code(i, one)
                row[i] = np.nan if codes is not None and code < 0 else code
            except (TypeError, ValueError):
                raise DataError(f"{variables[i].name!r} must be a number; got {one!r}.") from None
        return row

    def update(self, X: Any) -> np.ndarray:
        """Add several observations of the sequence; return P(z_t | x_1..t) after each, (n_steps, n_states).

        Parameters
        ----------
        X : array, text, frame, or list with one sequence
            The next steps, as for :meth:`HiddenMarkovModel.filter`.
        """
        panel = read_panel(X, self._hmm._layout(), variables=self._hmm.variables_)
        if panel.n_sequences != 1 or panel.gaps is not None:
            raise DataError("a stream must be one sequence with steps at regular times.")
        x = panel.values()
        if self._lags:
            found = [self._push(self._logs_of(row), 1, None) for row in x]
            return np.stack(found) if len(x) else np.empty((0, len(self._hmm.state_names_)))
        data = training.observed(panel)
        logs = self._hmm.model_.logs(data.x, self._hmm.n_jobs)
        before = self._chain.start if self._alpha is None else self._alpha @ self._matrix
        chain = Chain(before, self._chain.matrices, self._chain.arcs)
        (total,), alpha = chains.filtered(chain, Frames(logs, data.rows, data.offsets), self._hmm.n_jobs)
        if len(alpha):
            self._alpha = alpha[-1]
            last = logs[data.rows[-self._kept.maxlen :]]  # type: ignore[operator]
            self._kept.extend(zip(alpha[-len(last) :], last, strict=True))
            self._watch_all(before, alpha, logs[data.rows])
        self.n_steps += len(alpha)
        self.log_likelihood += float(total)
        return self._by_state(alpha)

    # Drift

    @cached_property
    def _usual(self) -> tuple[float, float]:
        """The mean and deviation of ln p(x_t | x_1..t−1) in a sequence drawn from the model."""
        other = StateStream(self._hmm)
        drawn = self._hmm.sample(_CALIBRATION, random_state=0).observations
        rows = drawn.to_arrow().to_pylist() if hasattr(drawn, "to_arrow") else drawn.tolist()
        totals = []
        for row in rows:
            other.push(row)
            totals.append(other.log_likelihood)
        steps = np.diff(totals, prepend=0.0)
        return float(steps.mean()), max(float(steps.std()), 1e-12)

    def watch(self) -> Self:
        """Begin to look for drift: :attr:`alarm` tells from now on; the model is calibrated first."""
        self._usual  # noqa: B018
        self._is_watching = True
        return self

    def _watch(self, step: float) -> None:
        if self._is_watching:
            self._add_surprise(np.array([step]), self.n_steps - 1)

    def _watch_all(self, before: np.ndarray, alpha: np.ndarray, logs: np.ndarray) -> None:
        if self._is_watching:
            predicted = np.vstack([before, alpha[:-1] @ self._matrix])
            with np.errstate(divide="ignore"):
                self._add_surprise(np.logaddexp.reduce(np.log(predicted) + logs, axis=1), self.n_steps)

    def _add_surprise(self, steps: np.ndarray, first: int) -> None:
        mean, deviation = self._usual
        z = np.clip((mean - steps) / deviation, -_MOST, _MOST)
        sums = cusum((self._shift * z - 0.5 * self._shift**2)[:, None], self._watched)[:, 0]
        self._watched = sums[-1:]
        self.score = float(sums[-1])
        if self.alarm_step is None and (sums > self.threshold).any():
            self.alarm_step = first + int(np.argmax(sums > self.threshold))


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _as_time(name: str, value: Any) -> float:
    """Return a time as a number; dates are seconds."""
    return float(as_table({name: [value]}, kinds="continuous").floats(name)[0])


def _codes(variable: Any) -> dict[Any, int] | None:
    return {state: i for i, state in enumerate(variable.states)} if variable.is_categorical else None
