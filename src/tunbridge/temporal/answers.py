"""Answers of hidden Markov models: paths, forecasts, samples, explanations, and the choice of the number of states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_integer, check_number, did_you_mean, listed
from tunbridge._core.grid import data_frame, grid_lines, html_grid, plain_number, probability_text, text_grid
from tunbridge._core.seeds import entropy_of
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.data import State, Table, Variable
from tunbridge.data.columns import Column, column_to_arrow
from tunbridge.data.table import natural_type
from tunbridge.errors import DataError
from tunbridge.temporal import chain as chains
from tunbridge.temporal.chain import Chain, Frames
from tunbridge.temporal.panel import Panel, read_panel

if TYPE_CHECKING:
    import pandas

    from tunbridge.temporal.hmm import HiddenMarkovModel

N_FUTURES = 4000
_SHOWN = 20
CRITERIA = ("bic", "icl", "held-out")


@dataclass(frozen=True, eq=False, repr=False)
class Paths:
    """The most probable paths of a sequence.

    Attributes
    ----------
    states : ndarray of shape (n_paths, n_steps)
        The states, the most probable path first.
    log_probabilities : ndarray of shape (n_paths,)
        ln P(path, x).
    log_likelihood : float
        ln P(x).
    """

    states: np.ndarray
    log_probabilities: np.ndarray
    log_likelihood: float

    @property
    def posterior(self) -> np.ndarray:
        """P(path | x) of each path."""
        return np.exp(self.log_probabilities - self.log_likelihood)

    def _rows(self) -> list[list[str]]:
        rows = zip(np.exp(self.log_probabilities), self.posterior, self.states.tolist(), strict=True)
        texts = [(f"{p:.4g}", f"{q:.3g}", " ".join(map(str, path[:_SHOWN])), len(path)) for p, q, path in rows]
        return [[p, q, path + (" …" if n > _SHOWN else "")] for p, q, path, n in texts]

    def __repr__(self) -> str:
        header = ["probability", "given the sequence", "path"]
        return "\n".join(grid_lines(header, self._rows(), left=None))


class Sampled(NamedTuple):
    """Sequences drawn from a model: observations and states; lists of them for several sequences."""

    observations: Any
    states: Any


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """What follows a sequence, one line for each step ahead.

    Attributes
    ----------
    states : ndarray of shape (n_steps, n_states)
        The probabilities of the states.
    state_names : tuple
        What states are called.
    variables : tuple of Variable
        The observed variables.
    probabilities : mapping of str to ndarray of shape (n_steps, n_symbols)
        The probabilities of symbols of each categorical variable.
    means : mapping of str to ndarray of shape (n_steps,)
        The expected value of each number.
    draws : ndarray of shape (n_draws, n_steps, n_columns)
        Simulated futures, which :meth:`quantile` uses.
    """

    states: np.ndarray
    state_names: tuple[State, ...]
    variables: tuple[Variable, ...]
    probabilities: Mapping[str, np.ndarray]
    means: Mapping[str, np.ndarray]
    draws: np.ndarray

    def quantile(self, q: float, column: str | None = None) -> np.ndarray:
        """Return a quantile of a number at each step, from simulated futures."""
        check_number("q", q, low=0, high=1)
        return np.quantile(self.draws[:, :, self._number(column)], q, axis=0)

    def interval(self, probability: float = 0.9, column: str | None = None) -> np.ndarray:
        """Return the central interval of a number that has a probability, shape (n_steps, 2)."""
        check_number("probability", probability, low=0, high=1)
        ends = (0.5 - probability / 2, 0.5 + probability / 2)
        return np.stack([self.quantile(q, column) for q in ends], axis=1)

    def _number(self, column: str | None) -> int:
        names = [v.name for v in self.variables]
        numbers = [i for i, v in enumerate(self.variables) if v.is_continuous]
        if column is None and len(numbers) == 1:
            return numbers[0]
        if column not in names or names.index(column) not in numbers:
            known = [names[i] for i in numbers]
            hint = did_you_mean(column, known) if column is not None else ""
            raise DataError(f"column must name a number, one of {listed(known)}; got {column!r}. {hint}".rstrip())
        return names.index(column)

    def columns(self, probability: float = 0.9) -> dict[str, np.ndarray]:
        """Return an entry for each step: state probabilities, symbols' probabilities, means with intervals."""
        ends = [f"{100 * q:g} %" for q in (0.5 - probability / 2, 0.5 + probability / 2)]
        columns: dict[str, Any] = {"step": np.arange(1, len(self.states) + 1)}
        columns |= {f"P(state={name})": self.states[:, k] for k, name in enumerate(self.state_names)}
        for v in self.variables:
            if v.is_categorical:
                columns |= {f"P({v.name}={s})": self.probabilities[v.name][:, i] for i, s in enumerate(v.states or ())}
            else:
                limits = zip(ends, self.interval(probability, v.name).T, strict=True)
                columns |= {v.name: self.means[v.name]} | {f"{v.name} {end}": values for end, values in limits}
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a line for each step: state probabilities, symbols' probabilities, means."""
        return data_frame(self.columns())

    def _grid(self) -> tuple[list[str], list[list[str]]]:
        header = ["step", "state", "P"]
        columns: list[list[str]] = [
            [str(t) for t in range(1, len(self.states) + 1)],
            [str(self.state_names[k]) for k in self.states.argmax(axis=1)],
            [probability_text(float(p)) for p in self.states.max(axis=1)],
        ]
        for v in self.variables:
            if v.is_categorical and v.n_states:
                found = self.probabilities[v.name]
                header += [v.name, "P"]
                columns.append([str((v.states or ())[i]) for i in found.argmax(axis=1)])
                columns.append([probability_text(float(p)) for p in found.max(axis=1)])
            elif v.is_continuous:
                header += [v.name, "5 %", "95 %"]
                columns.append([plain_number(float(m)) for m in self.means[v.name]])
                columns += [[plain_number(float(m)) for m in ends] for ends in self.interval(0.9, v.name).T]
        return header, [list(row) for row in zip(*columns, strict=True)]

    def __repr__(self) -> str:
        return text_grid(*self._grid())

    def _repr_html_(self) -> str:
        return html_grid(*self._grid(), caption="Forecast")


def forecast_of(
    hmm: HiddenMarkovModel,
    panel: Panel,
    last: np.ndarray | None,
    span: tuple[int, int],
    steps: int,
    *,
    n_draws: int = N_FUTURES,
    seed: int = 0,
) -> Forecast:
    """Return the forecast from the filtered probabilities of the last step, None where there is none."""
    model, rng, (first, stop) = hmm.model_, np.random.default_rng(seed), span
    chain = model.dynamics.chain(np.ones(1, np.int64))
    ahead = []
    for _ in range(steps):
        last = chain.start / chain.start.sum() if last is None else chains.stepped(chain, last)
        ahead.append(last)
    states = np.stack(ahead)
    offsets = np.arange(n_draws + 1) * steps
    paths = chains.simulated_paths(chain._replace(start=ahead[0]), offsets, rng)
    ties = model.ties[model.dynamics.states]
    if lags := int(getattr(model.emission, "lags", 0)):
        earlier = panel.values()[stop - lags : stop] if stop - first >= lags else None
        emission: Any = model.emission
        draws = np.stack([emission.sample(ties[p], rng, earlier) for p in paths.reshape(n_draws, steps)])
    else:
        draws = np.asarray(model.emission.sample(ties[paths], rng)).reshape(n_draws, steps, -1)
    expected = getattr(model.emission, "expected", None)
    by_tie = states @ np.eye(int(ties.max()) + 1)[ties]
    probabilities, means = {}, {}
    for i, v in enumerate(hmm.variables_):
        if v.is_categorical:
            symbols = model.emission.log_likelihood(_one_column(i, v.n_states, len(hmm.variables_)))
            probabilities[v.name] = by_tie @ np.exp(symbols).T
        else:
            known = None if expected is None or not np.isfinite(expected[:, i]).all() else expected[:, i]
            means[v.name] = draws[:, :, i].mean(axis=0) if known is None else by_tie @ known
    return Forecast(hmm._by_state(states), hmm.state_names_, hmm.variables_, probabilities, means, draws)


def _one_column(column: int, n_symbols: int, width: int) -> np.ndarray:
    """Return rows with each symbol of a column, the other columns missing."""
    x = np.full((n_symbols, width), np.nan)
    x[:, column] = np.arange(n_symbols)
    return x


def sampled(hmm: HiddenMarkovModel, n_steps: int, n_sequences: int, rng: np.random.Generator) -> Sampled:
    """Return sequences drawn from a model."""
    model, offsets = hmm.model_, np.arange(n_sequences + 1) * n_steps
    chain = model.dynamics.chain(np.ones(1, np.int64))
    path = chains.simulated_paths(chain, offsets, rng)
    ties = model.ties[model.dynamics.states]
    if getattr(model.emission, "lags", 0):
        x = np.vstack([model.emission.sample(ties[part], rng) for part in np.split(path, offsets[1:-1])])
    else:
        x = np.asarray(model.emission.sample(ties[path], rng)).reshape(len(path), -1)
    columns = [_column(v, x[:, i]) for i, v in enumerate(hmm.variables_)]
    values: Any = Table.of(columns)
    if len(columns) == 1:
        values = column_to_arrow(columns[0]).to_numpy(zero_copy_only=False)
    states = hmm._named(path)
    if n_sequences == 1:
        return Sampled(values, states)
    parts = [slice(a, b) for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    return Sampled([values[part] for part in parts], [states[part] for part in parts])


def _column(v: Variable, numbers: np.ndarray) -> Column:
    return Column(v, numbers.astype(np.int64) if v.is_categorical else numbers, natural_type(v))


# Explanations


class _Step(NamedTuple):
    """One step: what it is compared with, and the log-odds."""

    step: int
    observed: str
    state: State
    probability: float
    against: State
    past: float
    now: float
    future: float


@dataclass(frozen=True, eq=False, repr=False)
class StepExplanation:
    """Why steps are in their state: the log-odds of two states as a sum.

    Attributes
    ----------
    steps : tuple of records
        Each has ``step``, ``observed``, ``state``, its ``probability``, ``against``, and what ``past``, ``now`` (the
        observation) and ``future`` add to the log-odds of the two states.
    """

    steps: tuple[_Step, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a line for each step."""
        return data_frame({name: [getattr(s, name) for s in self.steps] for name in _Step._fields})

    def _rows(self) -> list[list[str]]:
        return [
            [str(s.step), s.observed, str(s.state), probability_text(s.probability), str(s.against),
             *(f"{w:+.2f}" for w in (s.past, s.now, s.future))]
            for s in self.steps
        ]  # fmt: skip

    def __repr__(self) -> str:
        header = ["step", "observed", "state", "P", "against", "past", "now", "future"]
        return "\n".join(grid_lines(header, self._rows(), left=(0, 1, 2, 3, 4)))


def explained(
    hmm: HiddenMarkovModel, panel: Panel, chain: Chain, frames: Frames, step: int | None, state: Any, against: Any
) -> StepExplanation:
    """Return why the steps of one sequence are in their state."""
    n = len(frames.rows)
    if step is not None:
        check_integer("step", step, low=0)
        if step >= n:
            raise DataError(f"step must be below the number of steps, {n}; got {step}.", parameter="step")
    _, after = chains.smoothed(chain, frames, hmm.n_jobs)
    _, alpha = chains.filtered(chain, frames, hmm.n_jobs)
    names = list(hmm.state_names_)
    rows = []
    for t in range(n) if step is None else [step]:
        g = 0 if frames.steps is None else int(frames.steps[t])
        before = hmm._by_state(chain.start / chain.start.sum() if t == 0 else chains.stepped(chain, alpha[t - 1], g))
        own, seen = hmm._by_state(after[t]), hmm._by_state(alpha[t])
        order = np.argsort(-own, kind="stable")
        i = _state("state", state, names) if state is not None else int(order[0])
        rest = [k for k in order.tolist() if k != i]
        j = _state("against", against, names) if against is not None else (rest[0] if rest else i)
        with np.errstate(divide="ignore", invalid="ignore"):
            past = np.log(before[i]) - np.log(before[j])
            now = np.log(seen[i]) - np.log(seen[j]) - past
            future = np.log(own[i]) - np.log(own[j]) - past - now
        values = ", ".join(observed_text(c, t) for c in panel.table)
        weights = [float(np.nan_to_num(w, nan=0.0)) for w in (past, now, future)]
        rows.append(_Step(t, values, names[i], float(own[i]), names[j], *weights))
    return StepExplanation(tuple(rows))


def observed_text(column: Column, t: int) -> str:
    """Return the value of a step as text."""
    value = column.values[t]
    if column.variable.is_categorical:
        return "missing" if value < 0 else str((column.variable.states or ())[int(value)])
    return "missing" if np.isnan(value) else plain_number(float(value))


def _state(what: str, state: Any, names: list[State]) -> int:
    if state not in names:
        raise DataError(
            f"{what} must be one of the states {listed(names)}; got {state!r}. {did_you_mean(state, names)}",
            parameter=what,
        )
    return names.index(state)


# The number of states


@dataclass(frozen=True, eq=False, repr=False)
class StatesChoice:
    """Models with several numbers of states, and which number is best.

    Attributes
    ----------
    criterion : str
        The criterion.
    models : mapping of int to HiddenMarkovModel
        The model with each number of states, fitted to all sequences.
    scores : mapping of int to float
        Their criterion; larger is better.
    n_states : int
        The number with the largest; of equal ones the smallest.
    """

    criterion: str
    models: Mapping[int, HiddenMarkovModel]
    scores: Mapping[int, float]
    n_states: int

    @property
    def model(self) -> HiddenMarkovModel:
        """The model with that number."""
        return self.models[self.n_states]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with the columns states, log_likelihood, parameters and the criterion."""
        rows = [(n, m.log_likelihood_, m.n_parameters_, self.scores[n]) for n, m in self.models.items()]
        names = ("states", "log_likelihood", "parameters", self.criterion.replace("-", "_"))
        return data_frame(dict(zip(names, zip(*rows, strict=True), strict=True)))

    def _rows(self) -> list[list[object]]:
        return [
            [n, f"{m.log_likelihood_:.2f}", m.n_parameters_, f"{self.scores[n]:.2f}", "*" if n == self.n_states else ""]
            for n, m in self.models.items()
        ]

    def _header(self) -> list[str]:
        titles = {"bic": "BIC", "icl": "ICL", "held-out": "held-out"}
        return ["states", "log-likelihood", "parameters", titles[self.criterion], ""]

    def __repr__(self) -> str:
        return text_grid(self._header(), self._rows())

    def _repr_html_(self) -> str:
        return html_grid(self._header(), self._rows(), caption="Number of hidden states")


def choose_states(
    hmm: HiddenMarkovModel, X: Any, candidates: Iterable[int], criterion: str, n_folds: int
) -> StatesChoice:
    """Return models with several numbers of states, compared by a criterion."""
    check_choice("criterion", criterion, CRITERIA)
    given = list(candidates)
    for n in given:
        check_integer("a number of states", n, low=1)
    numbers = sorted({int(n) for n in given})
    if not numbers:
        raise DataError("candidates must have a number of states; got none.", parameter="candidates")
    panel = read_panel(X, hmm._layout(), kinds=hmm._kinds())
    if criterion == "held-out" and panel.n_sequences < 2:
        raise DataError("criterion 'held-out' must have several sequences; got 1. Use 'bic', or cut it into parts.")
    entropy, models, scores = entropy_of(hmm.random_state), {}, {}
    for n in numbers:
        models[n] = _with_states(hmm, n, entropy).fit(panel)
        if criterion == "held-out":
            scores[n] = _held_out(hmm, n, entropy, panel, n_folds)
        else:
            scores[n] = models[n].bic_ - (_entropy(models[n], panel) if criterion == "icl" else 0.0)
    best = max(numbers, key=lambda n: (scores[n], -n))
    return StatesChoice(criterion, MappingProxyType(models), MappingProxyType(scores), best)


def _with_states(hmm: HiddenMarkovModel, n: int, entropy: int) -> HiddenMarkovModel:
    copy: HiddenMarkovModel = unfitted_copy(hmm)
    copy.set_params(n_states=n, random_state=entropy, warm_start=False)
    return copy


def _held_out(hmm: HiddenMarkovModel, n: int, entropy: int, panel: Panel, n_folds: int) -> float:
    check_integer("n_folds", n_folds, low=2)
    folds = np.random.default_rng(entropy).permutation(panel.n_sequences) % min(n_folds, panel.n_sequences)
    total = 0.0
    for fold in range(folds.max() + 1):
        fitted = _with_states(hmm, n, entropy).fit(panel.take(np.flatnonzero(folds != fold)))
        total += float(fitted.log_likelihood(panel.take(np.flatnonzero(folds == fold))).sum())
    return total


def _entropy(hmm: HiddenMarkovModel, panel: Panel) -> float:
    """Return −Σ ln P(best path | x), by which ICL is below BIC."""
    _, chain, frames = hmm._framed(panel)
    return float((chains.log_likelihoods(chain, frames) - chains.best_paths(chain, frames)[0]).sum())
