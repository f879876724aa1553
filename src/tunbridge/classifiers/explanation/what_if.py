"""Single changes of a row, and what they do to its class.

Every other state of a category is tried; for a discretized number a value of every other bin; for a number with a
density the nearest value at which the class flips, found by a search over the range in which nearly all values lie (two
standard deviations about the means of the classes, as far as values were seen there, or the range of the points of a
kernel density); and for each feature with a value, that it were missing. The changed rows of all features are answered
together. The user can say which features may change, and to what.

The class as a function of one number is constant between boundaries. Their number is not known beforehand (two for
normal densities, any for kernel densities), so the range of the number is searched in steps; between the last value
that keeps the class and the first that changes it the boundary is then closed in, all numbers of a row together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, inf, isfinite, isnan, log10
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, shortened
from tunbridge.classifiers._classes import posterior
from tunbridge.classifiers._reading import value_of
from tunbridge.classifiers._statistics import inner_statistics
from tunbridge.classifiers.explanation.contributions import Changes, Fitted, Ranges
from tunbridge.data import State, Table, Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.data.values import DAY
from tunbridge.data.variable import shown_value
from tunbridge.decisions.evidence import Change, WhatIf, what_if
from tunbridge.errors import DataError

STEPS = 129
_FINER, _ROUNDS = 33, 4

Judge = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(which number, its value) for several trials → (whether the class flips, how probable the class in question is)."""

Changeable = str | Iterable[str] | Mapping[str, object] | None
"""The features that may change; a mapping says what each may become."""


@dataclass(frozen=True, eq=False)
class Case:
    """A row, the model that is asked about it, and the class that is wanted.

    Parameters
    ----------
    row : Table
        One row.
    log_joint : callable
        Returns log P(x, c) of the row with one value changed, for each of several changes, (n_changes, n_classes).
    label : int
        The row's class.
    to : int, optional
        The class that is wanted; any other one by default.
    """

    row: Table
    log_joint: Callable[[Changes], np.ndarray]
    label: int
    to: int | None

    def value(self, feature: int) -> Any:
        """Return the row's value of a feature."""
        return value_of(self.row, feature, 0)

    def posteriors(self, changes: Changes) -> np.ndarray:
        """Return P(c | x) with one value of the row changed, for each change; NaN where no class can have the row."""
        joint = self.log_joint(changes).T
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
    """A change to be tried: the feature, its new code or number, and how it is shown."""

    feature: int
    code: int = -1
    number: float = np.nan
    value: Any = None
    interval: str | None = None


def changes(classifier: Fitted, rows: Table, *, to: State | None, features: Changeable) -> list[WhatIf]:
    """Return what every single change does to the class of each row."""
    model, statistics = classifier.model_, inner_statistics(classifier.statistics_)
    labels, wanted = statistics.target.states or (), None if to is None else statistics.target.code(to)
    cuts, ranges = statistics.encoding.cuts, model.ranges(statistics)
    allowed = changeable(features, rows.variables)
    found = []
    for i in range(rows.n_rows):
        row = rows.take(slice(i, i + 1))
        now = _present(model.log_joint_rows(row, classifier.n_jobs))
        joint = partial(model.changed_joint, row, n_jobs=classifier.n_jobs)
        case = Case(row, joint, int(now.argmax()), wanted)
        trials = [trial for j, may in allowed.items() for trial in _state_trials(case, j, may, cuts.get(j))]
        trials += _density_trials(ranges, case, allowed)
        trials += [_Trial(j) for j, may in allowed.items() if may == Allowed() and case.value(j) is not None]
        told = _told(case, trials, labels) if trials else []
        found.append(what_if(labels[case.label], now[case.label], told, to=None if wanted is None else labels[wanted]))
    return found


def _told(case: Case, trials: Sequence[_Trial], labels: Sequence[State]) -> list[Change]:
    """Return the outcome of each trial, without those that are impossible under every class."""
    asked, reached, flips = case.outcomes(case.posteriors(_arrays(trials)))
    variables = case.row.variables

    def shown(feature: int, value: Any) -> Any:
        return shown_value(variables[feature], value)

    return [
        Change(
            variables[t.feature].name, shown(t.feature, case.value(t.feature)), shown(t.feature, t.value),
            labels[c], p, f, t.interval,
        )
        for t, c, p, f in zip(trials, asked.tolist(), reached.tolist(), flips.tolist(), strict=True)
        if p >= 0
    ]  # fmt: skip


def _present(joint: np.ndarray) -> np.ndarray:
    """Return the posterior of one row; raise where it has none."""
    if np.isneginf(joint.max()):
        raise DataError(
            "a what-if must start from a possible row; this one has probability zero under every "
            "class. Smoothing above 0 avoids it."
        )
    return posterior(joint.T)[:, 0]


def _state_trials(case: Case, feature: int, allowed: Allowed, cut: Discretisation | None) -> list[_Trial]:
    """Return every other state of a category, or a value of every other bin of a discretized number."""
    variable, value = case.row.variables[feature], case.value(feature)
    if variable.is_categorical:
        states = variable.states or () if allowed.values is None else allowed.values
        return [_Trial(feature, variable.code(s), value=s) for s in states if s != value]
    if allowed.values is not None:
        return [_Trial(feature, number=x, value=x) for x in allowed.values if x != value]
    if cut is None or not cut.cuts:
        return []
    near = np.nan if value is None else value
    now = int(cut.codes([near])[0])
    found = [(i, inside(cut.cuts, i, near)) for i in range(len(cut.cuts) + 1) if i != now]
    if allowed.range is not None:
        moved = [(i, min(max(x, allowed.range[0]), allowed.range[1])) for i, x in found]
        found = [(i, x) for i, x in moved if int(cut.codes([x])[0]) == i]
    labels = cut.variable(variable.name, dates=variable.dates).states or ()
    return [_Trial(feature, number=x, value=x, interval=str(labels[i])) for i, x in found]


def _density_trials(known: Ranges, case: Case, allowed: Mapping[int, Allowed]) -> list[_Trial]:
    """Return for each number with a density the value found by search, with few digits where that does as well."""
    ranges = {j: may.range or known[j] for j, may in allowed.items() if j in known and may.values is None}
    if not ranges:
        return []
    at = np.array(list(ranges), np.intp)
    now = np.array([np.nan if (x := case.value(j)) is None else x for j in ranges])

    def judge(of: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, reached, flips = case.outcomes(case.posteriors(Changes(at[of], np.full(len(of), -1), values)))
        return flips, reached

    found = nearest_flips(now, list(ranges.values()), judge)
    low, high = np.array(list(ranges.values())).T
    step = 0.02 * (high - low) * np.where(found < now, -1.0, 1.0)
    beyond = np.clip(found + step, low, high)
    beyond = np.where(beyond == found, found - step, beyond)  # at the end of the range
    short = np.array([rounded(x, y) for x, y in zip(found.tolist(), beyond.tolist(), strict=True)])
    are_days = np.array([case.row.variables[j].dates for j in ranges]) & (np.isnan(now) | (now % DAY == 0))
    days = np.clip(np.where(found < now, np.floor(found / DAY), np.ceil(found / DAY)) * DAY, low, high)
    short = np.where(are_days, days, short)
    both = np.tile(np.arange(len(at)), 2)
    flips = judge(both, np.concatenate([short, found]))[0].reshape(2, -1)
    best = np.where(are_days | (flips[0] >= flips[1]), short, found).tolist()
    return [_Trial(j, number=x, value=x) for j, x in zip(ranges, best, strict=True) if x != case.value(j)]


def _arrays(trials: Sequence[_Trial]) -> Changes:
    features = np.array([t.feature for t in trials], np.intp)
    return Changes(features, np.array([t.code for t in trials], np.int64), np.array([t.number for t in trials]))


# What may change


class Allowed(NamedTuple):
    """What a feature may become: values, or anything in a range; without either, whatever it can be."""

    values: tuple[Any, ...] | None = None
    range: tuple[float, float] | None = None


def changeable(features: Changeable, variables: Sequence[Variable]) -> dict[int, Allowed]:
    """Return what each feature that may change may become, by its position.

    Parameters
    ----------
    features : None, str, iterable of str, or mapping of str to list, (low, high) or None
        The features that may change; None for all.
    variables : sequence of Variable
        The features of the model.

    Examples
    --------
    >>> age, sex = Variable("age"), Variable("sex", ["f", "m"])
    >>> changeable({"age": (18, 65)}, [age, sex])
    {0: Allowed(values=None, range=(18.0, 65.0))}
    """
    at = {v.name: j for j, v in enumerate(variables)}
    if features is None:
        return dict.fromkeys(at.values(), Allowed())
    if not isinstance(features, (str, Iterable)):
        raise DataError(f"features must be names of features; got {features!r}.")
    names = [features] if isinstance(features, str) else list(features)
    for name in names:
        if name not in at:
            raise DataError(f"features must name features of the model; got {name!r}. {did_you_mean(name, at)}")
    said = features if isinstance(features, Mapping) else dict.fromkeys(names)
    return {j: _allowed(variables[j], said[name]) for name, j in at.items() if name in said}


def _allowed(variable: Variable, given: object) -> Allowed:
    if given is None:
        return Allowed()
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    if variable.is_categorical:
        return Allowed(tuple((variable.states or ())[variable.code(state)] for state in given))
    numbers = tuple(check_number(f"what {variable.name!r} may become", x) for x in given)
    if not (isinstance(given, tuple) and len(numbers) == 2):
        return Allowed(numbers)
    if numbers[0] >= numbers[1]:
        rule = f"the range of {variable.name!r} must be (low, high), low below high"
        raise DataError(f"{rule}; got {shortened(repr(given))}. A list gives single values.")
    return Allowed(range=(numbers[0], numbers[1]))


# Boundaries, and numbers that people would write


def nearest_flips(now: np.ndarray, ranges: Sequence[tuple[float, float]], judge: Judge) -> np.ndarray:
    """Return for each number the value nearest to what it is now at which the class flips.

    Where none flips in the range it is the value at which the class in question is most probable; so it is for a number
    that is unknown now (NaN), because nothing is near to that.
    """
    which = np.repeat(np.arange(len(ranges)), STEPS)
    known = np.where(np.isnan(now), [a for a, _ in ranges], now)
    ends = [(min(a, x), max(b, x)) for (a, b), x in zip(ranges, known.tolist(), strict=True)]
    values = np.array([np.linspace(a, b, STEPS) for a, b in ends]).reshape(len(ranges), STEPS)
    flips, reached = (a.reshape(values.shape) for a in judge(which, values.ravel()))
    best = values[np.arange(len(values)), np.where(flips, reached + 1.0, reached).argmax(axis=1)]
    away = np.where(flips, np.abs(values - now[:, None]), inf)
    at = away.argmin(axis=1)
    found = np.flatnonzero(flips.any(axis=1) & ~np.isnan(now))
    if found.size:
        outer = values[found, at[found]]
        before = np.clip(at[found] + np.where(outer > now[found], -1, 1), 0, STEPS - 1)
        inner = values[found, before]
        passed = (inner - now[found]) * (outer - now[found]) < 0  # now lies between the two steps
        best[found] = _closed_in(found, np.where(passed, now[found], inner), outer, judge)
    return best


def _closed_in(which: np.ndarray, inner: np.ndarray, outer: np.ndarray, judge: Judge) -> np.ndarray:
    """Return values that flip, next to a boundary between ``inner``, which does not, and ``outer``, which does."""
    parts, rows = np.linspace(0.0, 1.0, _FINER), np.arange(len(which))
    for _ in range(_ROUNDS):
        values = inner[:, None] + (outer - inner)[:, None] * parts
        values[:, -1] = outer
        flips = judge(np.repeat(which, _FINER), values.ravel())[0].reshape(values.shape)
        flips[:, -1] = True
        first = np.maximum(flips.argmax(axis=1), 1)
        inner, outer = values[rows, first - 1], values[rows, first]
    return outer


def rounded(value: float, towards: float) -> float:
    """Return the shortest number between a value and another one, as near to the value as its digits allow.

    Examples
    --------
    >>> rounded(1.7132466, 1.8), rounded(2.45, 2.3), rounded(12.5, 13.4), rounded(0.0, 1.0)
    (1.8, 2.4, 13.0, 0.0)
    """
    low, high = min(value, towards), max(value, towards)
    if low <= 0.0 <= high or not isfinite(high - low):
        return 0.0 if low <= 0.0 <= high else value
    turn = ceil if value == low else floor
    first = -floor(log10(max(abs(low), abs(high))))
    for digits in range(first, first + 17):
        try:
            short = round(turn(value * 10.0**digits) / 10.0**digits, digits)
        except (OverflowError, ZeroDivisionError):
            break
        if low <= short <= high:
            return float(short)
    return value


def inside(cuts: Sequence[float], interval: int, near: float) -> float:
    """Return a value of an interval that people would write: near to a given one, or in the middle where that is NaN.

    Interval i holds the values above cuts[i − 1], up to and with cuts[i].

    Examples
    --------
    >>> [inside([0.8, 1.75], i, 1.0) for i in range(3)]
    [0.8, 1.0, 1.76]
    """
    low = cuts[interval - 1] if interval > 0 else -inf
    high = cuts[interval] if interval < len(cuts) else inf
    if low < near <= high:
        return near
    span = high - low if isfinite(high - low) else (cuts[-1] - cuts[0]) or abs(cuts[0]) or 1.0
    if isnan(near) and isfinite(high - low):
        return _strictly(rounded(low + span / 2, low + span * 0.7), low, high)
    if near > high or (isnan(near) and low == -inf):
        return _strictly(rounded(high, high - 0.05 * span), low, high)
    above = float(np.nextafter(low, inf))
    return _strictly(rounded(above, low + 0.05 * span), low, high)


def _strictly(value: float, low: float, high: float) -> float:
    """Return the value if it is in the interval, else the lowest or the highest one that is."""
    if value <= low:
        return float(np.nextafter(low, inf))
    return min(value, high)
