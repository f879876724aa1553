"""The best of several models within a time budget: folds are run one by one, and models that cannot win are dropped.

All models learn from the same folds. After each fold the loss of every row, −log P(c | x), is compared with that of the
best model so far; a model whose mean difference is more than three standard errors above zero is dropped. No fold
is begun for which the time would not suffice, by what the models took before. Large tables are represented by some
of their rows. The winner is learned from all rows; if that would take too long, the next best that does not.

Within the budget the result does not depend on the speed of the machine; a table that needs more than the budget may
give another model on a faster one.

References
----------
O. Maron, A. W. Moore (1997). The racing algorithm: model selection for lazy learners. Artificial Intelligence Review
11, 193–225.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunbridge._core.check import counted, shortened
from tunbridge._core.grid import seconds_text
from tunbridge._core.progress import Report
from tunbridge.errors import TunbridgeError, UnseenStateWarning
from tunbridge.evaluation.candidates import Candidate
from tunbridge.evaluation.comparison import Comparison, FoldResult
from tunbridge.evaluation.labelled import Labelled
from tunbridge.evaluation.scores import Scores

RACERS = ("nb", "bayes-forest", "aode", "tan", "skdb")
"""The models that start: a simple one, which always has the time, then those that most often are the best."""

_ROWS, _PROBE = 5_000, 500  # rows of a large table that are looked at, and those that tell the time of a fold
_FAR = 3.0  # standard errors behind the best
_LEAST_GROWTH = 0.3  # of the time of a fold that grows with the rows, at least
_FLOOR = -700.0  # of a log-probability: a zero counts as this


@dataclass
class Race:
    """The state of a race.

    Parameters
    ----------
    rows : Labelled
        The rows.
    candidates : tuple of Candidate
        Those that are still in the race.
    fold_of : ndarray
        The fold of each row; −1 where it is never held out.
    n_folds : int
        The number of folds.
    n_all : int
        The number of rows that the winner is learned from.
    budget : float
        Seconds.
    """

    rows: Labelled
    candidates: tuple[Candidate, ...]
    fold_of: np.ndarray
    n_folds: int
    n_all: int
    budget: float = math.inf
    began: float = field(default_factory=time.perf_counter)
    results: dict[str, list[FoldResult]] = field(default_factory=dict)
    losses: dict[str, list[np.ndarray]] = field(default_factory=dict)
    baseline: list[Scores] = field(default_factory=list)
    masses: list[np.ndarray] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    probes: dict[str, float] = field(default_factory=dict)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.budget - (time.perf_counter() - self.began)

    def run(self, report: Report) -> bool:
        """Run as many folds as the time permits; return whether Ctrl-C ended them."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenStateWarning)  # in held-out rows they are to be expected
                for fold in range(self.n_folds):
                    if fold and not self._has_time():
                        done = f"{counted(fold, 'fold')} of {self.n_folds}"
                        self.notes.append(f"the time budget of {self.budget:g} s sufficed for {done}")
                        break
                    self._run_fold(fold, report)
                    self._drop_far(fold)
        except KeyboardInterrupt:
            if not self.baseline:
                raise
            self.notes.append(f"interrupted after {len(self.baseline)} of {counted(self.n_folds, 'fold')}")
            return True
        return False

    def order(self) -> list[Candidate]:
        """Return the candidates that ran all folds, the one of least loss first."""
        return sorted(self.candidates, key=lambda c: self._mean(c.name))

    def seconds_for_all(self, name: str) -> float:
        """Return about how long it takes to learn a model from all rows, part of which does not grow with the rows."""
        if name == RACERS[0]:
            return 0.0  # one pass over the rows
        n_rows, most = max(1, int((self.fold_of != 0).sum())), max(part.fit_seconds for part in self.results[name])
        if name not in self.probes:
            return most * self.n_all / n_rows
        slope = (most - self.probes[name]) / max(1, n_rows - _PROBE)
        return self.probes[name] + max(slope, _LEAST_GROWTH * most / n_rows) * self.n_all

    def _run_fold(self, fold: int, report: Report) -> None:
        train, held_out = self.rows.take(self.fold_of != fold), self.rows.take(self.fold_of == fold)
        if not fold:
            self.probes = self._probed(train)
        expected = {name: seconds * train.n_rows / _PROBE for name, seconds in self.probes.items() if not fold}
        found: dict[str, tuple[FoldResult, np.ndarray]] = {}
        for n, candidate in enumerate(self.candidates):
            name = candidate.name
            report(f"{name}, fold {fold + 1}", (fold + n / len(self.candidates)) / self.n_folds)
            if found and 1.5 * expected.get(name, 0.0) > self.left:
                self.notes.append(f"{name} left out: a fold would take about {seconds_text(expected[name]).strip()}")
                continue
            try:
                found[name] = _timed(candidate, train, held_out, fold)
            except Exception as error:
                reason = str(error) if isinstance(error, TunbridgeError) else f"{type(error).__name__}: {error}"
                self.failed[name] = shortened(" ".join(reason.split()), 300)
                if not found and candidate is self.candidates[-1]:
                    raise
        self.candidates = tuple(c for c in self.candidates if c.name in found)
        for name, (result, loss) in found.items():
            self.results.setdefault(name, []).append(result)
            self.losses.setdefault(name, []).append(loss)
        self.baseline.append(_class_frequencies(train, held_out))
        self.masses.append(held_out.weights)

    def _probed(self, train: Labelled) -> dict[str, float]:
        """Return how long each model takes for some of the rows, if they are many."""
        if train.n_rows <= 4 * _PROBE or not math.isfinite(self.budget):
            return {}
        few = train.take(np.random.default_rng(0).permutation(train.n_rows)[:_PROBE])
        found = {}
        for candidate in self.candidates:
            began = time.perf_counter()
            try:
                candidate.log_proba(candidate.fitted(few), few)
            except Exception:
                continue
            found[candidate.name] = time.perf_counter() - began
        return found

    def _has_time(self) -> bool:
        last = [self.results[c.name][-1] for c in self.candidates]
        fold = sum(part.fit_seconds + part.predict_seconds for part in last)
        return fold + self.seconds_for_all(self.order()[0].name) <= self.left

    def _mean(self, name: str) -> float:
        mass = np.concatenate(self.masses)
        return float(np.concatenate(self.losses[name]) @ mass / mass.sum())

    def _drop_far(self, fold: int) -> None:
        """Drop the candidates that are far behind the best."""
        best, mass = self.order()[0].name, np.concatenate(self.masses)
        kept = []
        for candidate in self.candidates:
            behind = np.concatenate(self.losses[candidate.name]) - np.concatenate(self.losses[best])
            mean = float(behind @ mass / mass.sum())
            error = math.sqrt(float((behind - mean) ** 2 @ mass / mass.sum()) / max(1, len(mass)))
            if candidate.name == best or mean <= _FAR * error:
                kept.append(candidate)
                continue
            ours, least = self._mean(candidate.name), self._mean(best)
            when = f"after {counted(fold + 1, 'fold')}"
            self.notes.append(f"{candidate.name} left out {when}: log-loss {ours:.3f}, {best} {least:.3f}")
        self.candidates = tuple(kept)


def sampled(rows: Labelled, seed: int) -> tuple[Labelled, list[str]]:
    """Return up to 5000 rows, and a note if these are not all."""
    if rows.n_rows <= _ROWS:
        return rows, []
    some = np.sort(np.random.default_rng(seed).permutation(rows.n_rows)[:_ROWS])
    return rows.take(some), [f"compared on {_ROWS} of {rows.n_rows} rows"]


def finished(race: Race, rows: Labelled, notes: Sequence[str], seed: int, *, interrupted: bool) -> Comparison:
    """Return the comparison of the models that ran all folds."""
    names = [c.name for c in race.candidates]
    return Comparison(
        rows.target, race.n_folds, seed,
        {name: tuple(race.results[name]) for name in names},
        tuple(race.baseline),
        str(rows.classes[int(np.bincount(rows.codes, rows.weights).argmax())]),
        (*notes, *race.notes), race.failed, interrupted,
    )  # fmt: skip


def winner(race: Race, rows: Labelled) -> tuple[Candidate, Any]:
    """Return the best model that can be learned from all rows in the time that is left, and it learned."""
    order = race.order()
    inside = [c for c in order if race.seconds_for_all(c.name) <= race.left]
    quickest = min(order, key=lambda c: race.seconds_for_all(c.name))
    chosen = inside[0] if inside else quickest
    if chosen is not order[0]:
        race.notes.append(f"{order[0].name} would take too long to learn from all rows")
    return chosen, chosen.fitted_on_all(rows)


def _timed(candidate: Candidate, train: Labelled, held_out: Labelled, fold: int) -> tuple[FoldResult, np.ndarray]:
    """Return the result of a model on held-out rows, and the loss of each row."""
    began = time.perf_counter()
    model = candidate.fitted(train)
    learned = time.perf_counter()
    log_proba = candidate.log_proba(model, held_out)
    predicted = time.perf_counter()
    scores = Scores.of(tuple(map(str, held_out.classes)), held_out.codes, log_proba, held_out.weights)
    loss = -np.maximum(log_proba[np.arange(held_out.n_rows), held_out.codes], _FLOOR)
    return FoldResult(fold, scores, learned - began, predicted - learned), loss


def _class_frequencies(train: Labelled, held_out: Labelled) -> Scores:
    counts = np.bincount(train.codes, train.weights, len(train.classes))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.broadcast_to(np.log(counts / counts.sum()), (held_out.n_rows, len(counts)))
    return Scores.of(tuple(map(str, held_out.classes)), held_out.codes, logs, held_out.weights)
