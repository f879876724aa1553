"""Single changes of a row, and what they do to its class.

Every other state of a category is tried; for a number that is cut into intervals a value of every other interval; for a
number with a density the nearest value at which the class flips, found by a search over the range in which nearly all
values lie (two standard deviations about the means of the classes, as far as values were seen there, or the range of
the points of a kernel density); and for each feature that is known, that it were not. The changed rows of all features
are answered together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tunbridge._threads import row_pieces
from tunbridge.classifiers.explanation.boundaries import inside, nearest_flips, rounded
from tunbridge.classifiers.explanation.changeable import Allowed, changeable
from tunbridge.classifiers.explanation.ranges import cuts_of, ranges_of
from tunbridge.classifiers.naive.likelihood import Likelihood
from tunbridge.classifiers.posteriors import posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.data import Variable
from tunbridge.decisions.what_if import Change, WhatIf, what_if
from tunbridge.errors import DataError

_CELLS_AT_ONCE = 4_000_000

LogJoint = Callable[[Batch], np.ndarray]
"""Rows → log P(x, c)."""

ChangedJoint = Callable[[Batch, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""A row, and for each change of it the feature, its new code and its new number → log P(x, c)."""


@dataclass(frozen=True, eq=False)
class Case:
    """A row, the model that is asked about it, and the class that is wanted.

    Parameters
    ----------
    row : Batch
        One row.
    log_joint : callable
        Returns log P(x, c) of the row with one cell changed, for each of several changes, (n_changes, n_classes).
    label : int
        The row's class.
    to : int, optional
        The class that is wanted; any other one by default.
    at_once : bool
        Whether all changes are answered in one call, whatever their number.
    """

    row: Batch
    log_joint: ChangedJoint
    label: int
    to: int | None
    at_once: bool

    def value(self, feature: int) -> Any:
        """Return the row's value of a feature."""
        return self.row.value(feature, 0)

    def posteriors(self, features: np.ndarray, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return P(c | x) with one cell of the row changed, for each change; NaN where no class can have the row."""
        size = max(1, _CELLS_AT_ONCE // max(1, len(self.row.variables)))
        pieces = [
            self.log_joint(self.row, features[a:b], codes[a:b], numbers[a:b])
            for a, b in row_pieces(len(features), len(features) if self.at_once else size)
        ]
        joint = np.concatenate(pieces).T
        lost = np.isneginf(joint.max(axis=0))
        return np.where(lost, np.nan, posterior(np.where(lost, 0.0, joint))).T

    def outcomes(self, posteriors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each posterior the class in question, its probability, and whether it becomes the row's class."""
        shares = np.nan_to_num(posteriors, nan=-1.0)
        decided = shares.argmax(axis=1)
        others = shares.copy()
        others[:, self.label] = -2.0
        asked = others.argmax(axis=1) if self.to is None else np.full(len(shares), self.to)
        flips = (decided == asked) & (decided != self.label) & (shares.max(axis=1) >= 0)
        return asked, shares[np.arange(len(shares)), asked], flips


@dataclass(frozen=True)
class _Trial:
    """A change to be tried: the feature, its new code or number, and how it is told."""

    feature: int
    code: int = -1
    number: float = np.nan
    value: Any = None
    interval: str | None = None


def changes(model: Any, statistics: Any, rows: Batch, *, log_joint: LogJoint, to: Any, features: Any) -> list[WhatIf]:
    """Return what every single change does to the class of each row."""
    ranges = ranges_of(model, statistics)
    allowed = changeable(features, rows.variables)
    each = (rows.rows(i, i + 1) for i in range(rows.n_rows))
    return [_changes(model, row, log_joint, statistics.target, to, allowed, ranges) for row in each]


def _changes(
    model: Any,
    row: Batch,
    log_joint: LogJoint,
    target: Variable,
    to: Any,
    allowed: Mapping[int, Allowed],
    ranges: Mapping[int, tuple[float, float]],
) -> WhatIf:
    wanted, labels = None if to is None else target.code(to), target.states or ()
    now = _present(log_joint(row))
    alone = isinstance(model, Likelihood)
    changed = partial(changed_terms, model) if alone else lambda *change: log_joint(_changed(*change))
    case = Case(row, changed, int(now.argmax()), wanted, alone)
    trials = [trial for j, may in allowed.items() for trial in _state_trials(model, case, j, may)]
    trials += _density_trials(ranges, case, allowed)
    trials += [_Trial(j) for j, may in allowed.items() if may == Allowed() and case.value(j) is not None]
    told = _told(case, trials, labels) if trials else []
    return what_if(labels[case.label], now[case.label], told, to=None if wanted is None else labels[wanted])


def _told(case: Case, trials: Sequence[_Trial], labels: Sequence[Any]) -> list[Change]:
    """Return what comes of each trial, those left out that no class can have."""
    asked, reached, flips = case.outcomes(case.posteriors(*_arrays(trials)))
    return [
        Change(case.row.variables[t.feature].name, case.value(t.feature), t.value, labels[c], p, f, t.interval)
        for t, c, p, f in zip(trials, asked.tolist(), reached.tolist(), flips.tolist(), strict=True)
        if p >= 0
    ]


def _present(joint: np.ndarray) -> np.ndarray:
    """Return the posterior of one row; raise where it has none."""
    if np.isneginf(joint.max()):
        raise DataError(
            "a what-if must start from a row that some class can have; this one has probability zero under every "
            "class. Smoothing above 0 avoids it."
        )
    return posterior(joint.T)[:, 0]


def _state_trials(model: Any, case: Case, feature: int, allowed: Allowed) -> list[_Trial]:
    """Return every other state of a category, or a value of every other interval of a number that is cut."""
    variable, value = case.row.variables[feature], case.value(feature)
    if variable.is_categorical:
        states = variable.states or () if allowed.values is None else allowed.values
        return [_Trial(feature, variable.code(s), value=s) for s in states if s != value]
    if allowed.values is not None:
        return [_Trial(feature, number=x, value=x) for x in allowed.values if x != value]
    cut = cuts_of(model).get(feature)
    if cut is None or not cut.cuts:
        return []
    near = np.nan if value is None else value
    now = int(cut.codes([near])[0])
    found = [(i, inside(cut.cuts, i, near)) for i in range(len(cut.cuts) + 1) if i != now]
    if allowed.range is not None:
        moved = [(i, min(max(x, allowed.range[0]), allowed.range[1])) for i, x in found]
        found = [(i, x) for i, x in moved if int(cut.codes([x])[0]) == i]
    return [_Trial(feature, number=x, value=x, interval=cut.labels[i]) for i, x in found]


def _density_trials(
    known: Mapping[int, tuple[float, float]], case: Case, allowed: Mapping[int, Allowed]
) -> list[_Trial]:
    """Return for each number with a density the value found by search, with few digits where that does as well."""
    ranges = {j: may.range or known[j] for j, may in allowed.items() if j in known and may.values is None}
    if not ranges:
        return []
    at = np.array(list(ranges), np.intp)
    now = np.array([np.nan if (x := case.value(j)) is None else x for j in ranges])

    def judge(of: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, reached, flips = case.outcomes(case.posteriors(at[of], np.full(len(of), -1), values))
        return flips, reached

    found = nearest_flips(now, list(ranges.values()), judge)
    low, high = np.array(list(ranges.values())).T
    step = 0.02 * (high - low) * np.where(found < now, -1.0, 1.0)
    beyond = np.clip(found + step, low, high)
    beyond = np.where(beyond == found, found - step, beyond)  # at the end of the range
    short = np.array([rounded(x, y) for x, y in zip(found.tolist(), beyond.tolist(), strict=True)])
    both = np.tile(np.arange(len(at)), 2)
    flips = judge(both, np.concatenate([short, found]))[0].reshape(2, -1)
    best = np.where(flips[0] >= flips[1], short, found).tolist()
    return [_Trial(j, number=x, value=x) for j, x in zip(ranges, best, strict=True) if x != case.value(j)]


def _arrays(trials: Sequence[_Trial]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    features = np.array([t.feature for t in trials], np.intp)
    return features, np.array([t.code for t in trials], np.int64), np.array([t.number for t in trials])


def _changed(row: Batch, features: np.ndarray, codes: np.ndarray, numbers: np.ndarray) -> Batch:
    """Return the row once for each change, with that cell changed."""
    n, each = len(features), np.arange(len(features))
    cells = np.empty((len(row.variables), n), np.int32)
    cells[list(row.codes)] = np.array([c[0] for c in row.codes.values()], np.int32).reshape(-1, 1)
    cells[features, each] = codes
    values = np.empty((len(row.variables), n))
    values[list(row.numeric)] = np.array([row.number_column(i)[0] for i in row.numeric.values()]).reshape(-1, 1)
    values[features, each] = numbers
    return Batch(row.variables, {j: cells[j] for j in row.codes}, [values[j] for j in row.numeric], n)


def changed_terms(
    model: Likelihood, row: Batch, features: np.ndarray, codes: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return log P(x, c) of the row with one cell changed, for each change: under naive Bayes one term is replaced.

    The i-th changes of all features share a row, because their terms do not depend on each other.
    """
    order = np.argsort(features, kind="stable")
    first = np.searchsorted(features[order], features[order])
    slot = np.empty(len(features), np.intp)
    slot[order] = np.arange(len(features)) - first
    several = row.take(np.zeros(int(slot.max()) + 1, np.intp))
    cells = {j: c.astype(np.int64) for j, c in several.codes.items()}
    values = {j: several.number_column(i).copy() for j, i in several.numeric.items()}
    for f, s, code, number in zip(features.tolist(), slot.tolist(), codes.tolist(), numbers.tolist(), strict=True):
        (cells if f in cells else values)[f][s] = code if f in cells else number
    new = model.terms(Batch(row.variables, cells, list(values.values()), several.n_rows))[features, :, slot]
    old = model.terms(row)[:, :, 0]
    gone = np.isneginf(old)
    finite = np.where(gone, 0.0, old)
    rest = model.log_prior + finite.sum(axis=0) - finite[features]
    return np.where(gone.sum(axis=0) - gone[features] > 0, -np.inf, rest) + new
