"""How each number is modelled, chosen by cross-validation, and how much the numbers weigh: ``numeric="auto"``.

Each number is tried as a normal density, a normal density of its logarithm, a kernel density, bins found from the
classes, and a category of its own for every integer. Up to 1000 rows are dealt to four folds; in each fold every model
is learned from the other three and gives log P(x_f | c) of the rows that were held out. From these

1. each number takes the model with the best log-likelihood of the class, Σ log P(c | x_f), alone;
2. all numbers together get a weight w ≤ 1, which maximises Σ log P(c | x) with P(c | x) ∝ P(c) Π P(x_f | c)^w over the
   numbers: naive Bayes counts what correlated numbers have in common several times, and becomes too sure;
3. each number tries its other models beside all others, which may be better than the best one alone, and w is found
   again.

All copies of a row come into the same fold, and so does a row of weight three: else it would be tested on itself, and
the model that remembers most would win. Folds depend on the ranks of the numbers, so that the unit of a column does
not matter.

Densities are kept from a veto. The variance within a class has that of all classes as one more row, and is at least
that of rounding to the column's resolution. To the n rows of the column one is added that may lie anywhere: a
density is at least 1 / (n + 1) times a broad one, common to all classes. So a value far from all that were learned says
nothing. Where weights are below one, so is that of the added row: it is their mean.

References
----------
G. H. John, P. Langley (1995). Estimating continuous distributions in Bayesian classifiers. UAI, 338–345.
D. J. Hand, K. Yu (2001). Idiot's Bayes: not so stupid after all? International Statistical Review 69, 385–398.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tunbridge._core.threads import map_threads
from tunbridge.classifiers._reading import numbers_of
from tunbridge.classifiers._rows import Examples, distinct_rows
from tunbridge.classifiers.naive._densities import resolution, soft_gaussian, soft_kernel
from tunbridge.counts import moments_within
from tunbridge.data import Table
from tunbridge.data.discretisation import Discretisation, mdl_cuts
from tunbridge.errors import DataError
from tunbridge.probability.kernel_density import points_of

ROLES = ("gaussian", "log-gaussian", "kernel", "discretise", "category")

_FOLDS, _ROWS, FEWEST = 4, 1000, 20
_LARGE = 50_000  # rows of a table that are looked at
_CELLS = 1 << 23  # log-likelihoods that are kept: rows × classes × models of all numbers
_MANY = 64  # numbers for which kernel densities are not tried
_CATEGORIES = 32  # integers that may each have a category
_GAIN = 1e-3  # of the mean log-likelihood, for which a model is changed for another
_LEAST, _HALVINGS = 0.02, 12  # the least weight; steps to find it


@dataclass(frozen=True)
class Automatic:
    """What was chosen for the numbers whose model was not given.

    Parameters
    ----------
    weight : float
        The weight of their log-likelihoods.
    steps : mapping of int to float
        For each of them, by position, the smallest difference of two values: the resolution. In logarithms for those
        that are modelled so.
    lows : mapping of int to float
        For those that are modelled by their logarithm what a value counts as that is smaller: half of the smallest.
    added : float
        The weight of the row that is added to each density and may lie anywhere: one, or the mean weight of the rows
        if that is less.
    """

    weight: float = 1.0
    steps: Mapping[int, float] = field(default_factory=dict)
    lows: Mapping[int, float] = field(default_factory=dict)
    added: float = 1.0


class Choice(NamedTuple):
    """The model of each number, by position, bins and categories included, and what goes with them."""

    roles: dict[int, str]
    cuts: dict[int, Discretisation]
    automatic: Automatic


def choose(examples: Examples, asked: Mapping[int, str], n_jobs: int | None = None) -> Choice:
    """Return the models of some numbers of training rows, chosen for those for which "auto" is asked.

    Equal rows in any order give equal models, whatever the number of threads.
    """
    numbers = [j for j, role in asked.items() if role == "auto"]
    if set(asked.values()) <= {"gaussian", "kernel"}:  # nothing to look at
        return Choice(dict(asked), {}, Automatic())
    whole = _known(examples)
    some = _some(whole)
    added = _added(whole.mass)
    chosen, weight = _chosen(some, numbers, added, n_jobs) if numbers else ({}, 1.0)
    roles = {**asked, **chosen}

    def details(j: int) -> tuple[Discretisation | None, float | None, float | None]:
        """Return the bins or categories of a number, its resolution, and what small values count as."""
        role, known = roles[j], some if j in chosen else whole
        if role in ("gaussian", "kernel") and j not in chosen:
            return None, None, None
        values = numbers_of(known.rows, j)
        cuts = mdl_cuts(values, known.classes, known.weights) if role == "discretise" else None
        distinct, low = np.unique(values[~np.isnan(values)]), None
        if role == "log-gaussian":
            low = _low(distinct, known.rows.variables[j].name)
            distinct = np.log(distinct[distinct > 0.0])
        elif role == "category":
            cuts = _categories(distinct)
        return cuts, resolution(distinct) if j in chosen else None, low

    found = list(zip(roles, map_threads(details, roles, n_jobs), strict=True))
    steps = {j: step for j, (_, step, _) in found if step is not None}
    lows = {j: low for j, (_, _, low) in found if low is not None}
    automatic = Automatic(weight, steps, lows, added)
    return Choice(roles, {j: cuts for j, (cuts, _, _) in found if cuts is not None}, automatic)


def _known(examples: Examples) -> Examples:
    """Return the rows with a class and a weight."""
    known = (examples.classes >= 0) & (examples.mass > 0)
    return examples if known.all() else examples.take(known)


def _some(examples: Examples) -> Examples:
    """Return the rows; of a large table some of them."""
    if examples.n_rows <= _LARGE:
        return examples
    return examples.take(np.flatnonzero(np.random.default_rng(0).permutation(examples.n_rows) < _LARGE))


def _added(mass: np.ndarray) -> float:
    """Return the mean weight of the rows, where a row of a weight above one stands for several of equal weight."""
    return float(mass.sum() / np.ceil(mass).sum()) if len(mass) else 1.0


def _low(distinct: np.ndarray, name: str) -> float:
    """Return half of the least positive value."""
    if not len(distinct) or distinct[-1] <= 0.0:
        raise DataError(
            f"a column modelled by logarithms must have positive numbers; {name!r} has none.", parameter="numeric"
        )
    return 0.5 * float(distinct[distinct > 0.0][0])


def _categories(distinct: np.ndarray) -> Discretisation:
    return Discretisation(tuple((0.5 * (distinct[1:] + distinct[:-1])).tolist()))


# The choice


class _HeldOut(NamedTuple):
    """The rows that were held out, of all folds in a line: classes, weights, and log-likelihoods.

    ``base`` has log P(c) and the terms of the categories; ``terms`` those of each number and model.
    """

    classes: np.ndarray
    mass: np.ndarray
    base: np.ndarray
    prior: np.ndarray
    terms: dict[int, dict[str, np.ndarray]]

    def loss(self, joint: np.ndarray) -> float:
        """Return the mean of −log P(c | x), given log P(c, x) by class and row."""
        top = joint.max(axis=0)
        logs = top + np.log(np.exp(joint - top).sum(axis=0)) - joint[self.classes, np.arange(len(self.classes))]
        return float(logs @ self.mass / self.mass.sum())

    def weight(self, total: np.ndarray) -> float:
        """Return the weight of the numbers' terms, not above one, with the least loss, which is convex in it."""

        def slope(w: float) -> float:
            joint = self.base + w * total
            share = np.exp(joint - joint.max(axis=0))
            share /= share.sum(axis=0)
            expected = (share * total).sum(axis=0) - total[self.classes, np.arange(len(self.classes))]
            return float(expected @ self.mass)

        low, high = _LEAST, 1.0
        if slope(high) <= 0.0:
            return high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if slope(middle) > 0.0 else (middle, high)
        return 0.5 * (low + high)


def _chosen(
    examples: Examples, numbers: Sequence[int], added: float, n_jobs: int | None
) -> tuple[dict[int, str], float]:
    """Return the model of each number, and the weight of all."""
    roles = dict.fromkeys(numbers, "gaussian")
    sample, folds = _sample(examples, len(numbers))
    if len(folds) < 2:
        return roles, 1.0
    held = _held_out(sample, folds, numbers, added, n_jobs)
    for j, terms in held.terms.items():
        roles[j] = min(terms, key=lambda role: held.loss(held.prior + terms[role]))
    total = sum((held.terms[j][roles[j]] for j in held.terms), np.zeros_like(held.base))
    weight = held.weight(total)
    for j in sorted(held.terms, key=lambda j: sample.rows.variables[j].name):
        total = _improved(held, j, roles, weight, total)
    return roles, held.weight(total)


def _improved(held: _HeldOut, j: int, roles: dict[int, str], weight: float, total: np.ndarray) -> np.ndarray:
    """Give a number the model that is best beside the others; return the terms of all."""
    terms = held.terms[j]
    rest = total - terms[roles[j]]
    losses = {role: held.loss(held.base + weight * (rest + found)) for role, found in terms.items()}
    best = min(losses, key=lambda role: losses[role])
    if losses[best] < losses[roles[j]] - _GAIN:
        roles[j] = best
    return rest + terms[roles[j]]


def _sample(examples: Examples, n_numbers: int) -> tuple[Examples, list[np.ndarray]]:
    """Return up to 1000 different rows with their weights, and the share of each that is held out in each fold."""
    room = _CELLS // (examples.target.n_states * len(ROLES) * max(1, n_numbers))
    ranked = replace(examples, rows=_ranked(examples.rows))
    rows, weights = distinct_rows(ranked)
    some = slice(0, max(FEWEST, min(_ROWS, room)))  # sorted by keys, which are random
    rows, weights = rows[some], weights[some]
    dealt = replace(ranked.take(rows), weights=weights).folds(_FOLDS, 0) if len(rows) >= FEWEST else []
    return replace(examples.take(rows), weights=weights), dealt


def _ranked(table: Table) -> Table:
    """Return a table with the ranks of numbers instead of them: neither units nor constant numbers matter to folds."""
    columns = []
    for j, column in enumerate(table):
        if column.variable.is_continuous:
            values = numbers_of(table, j)
            ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
            column = column._replace(values=np.where(np.isnan(values), np.nan, ranks))
            if not ranks.any():
                continue
        columns.append(column)
    return Table.of_valid(columns, table) if columns else table


def _held_out(
    sample: Examples, folds: Sequence[np.ndarray], numbers: Sequence[int], added: float, n_jobs: int | None
) -> _HeldOut:
    """Return the log-likelihoods of the rows that are held out in each fold, by all models."""
    n_classes, mass = sample.target.n_states, sample.mass
    held = [np.flatnonzero(share > 0.0) for share in folds]
    prior = np.log(np.maximum(sample.class_weight, 1e-9) / sample.class_weight.sum())[:, None]
    rows = np.concatenate(held)
    base = np.repeat(prior, len(rows), axis=1)
    kept = [mass * (1.0 - share) for share in folds]
    for j, variable in enumerate(sample.rows.variables):
        if variable.is_categorical and variable.n_states:
            codes = sample.rows.columns[j].astype(np.intp)
            parts = [
                _table_terms(codes, sample.classes, w, n_classes, variable.n_states)[:, codes[some]]
                for w, some in zip(kept, held, strict=True)
            ]
            base += np.concatenate(parts, axis=1)

    def of_number(j: int) -> dict[str, np.ndarray]:
        values = numbers_of(sample.rows, j)
        possible = tuple(_possible(values, len(numbers)))
        values = _in_unit(values)
        learned = [_Learned.of(values, sample.classes, w) for w in kept] if possible else []
        parts = {
            role: [
                _term(role, known, n_classes, added)(values[some]) for known, some in zip(learned, held, strict=True)
            ]
            for role in possible
        }
        return {role: np.concatenate(each, axis=1) for role, each in parts.items()}

    terms = dict(zip(numbers, map_threads(of_number, numbers, n_jobs), strict=True))
    shares = np.concatenate([(mass / mass.max() * share)[some] for share, some in zip(folds, held, strict=True)])
    return _HeldOut(sample.classes[rows], shares, base, prior, {j: found for j, found in terms.items() if found})


def _possible(values: np.ndarray, n_numbers: int) -> Iterator[str]:
    """Yield the models that a column may have; none for a constant one."""
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) < 2:
        return
    yield "gaussian"
    if distinct[0] > 0.0:
        yield "log-gaussian"
    if n_numbers <= _MANY:
        yield "kernel"
    yield "discretise"
    if len(distinct) <= _CATEGORIES and (distinct == np.round(distinct)).all():
        yield "category"


def _in_unit(values: np.ndarray) -> np.ndarray:
    """Return numbers in a unit in which squares neither vanish nor overflow."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    return np.ldexp(values, -np.frexp(largest)[1]) if largest > 0.0 else values


class _Learned(NamedTuple):
    """The values of a number from which a fold learns: with their classes and weights, and the distinct ones."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    distinct: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, classes: np.ndarray, mass: np.ndarray) -> _Learned:
        """Return those that are known and have a weight."""
        use = np.flatnonzero((mass > 0.0) & ~np.isnan(values))
        return cls(values[use], classes[use], mass[use], np.unique(values[use]))


def _term(role: str, learned: _Learned, n_classes: int, added: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that gives log P(x | c) of values, by class, as learned from others."""
    x, y, w, distinct = learned
    if len(distinct) < 2:
        return lambda new: np.zeros((n_classes, len(new)))
    if role in ("discretise", "category"):
        cuts = mdl_cuts(x, y, w) if role == "discretise" else _categories(distinct)
        table = _table_terms(cuts.codes(x).astype(np.intp), y, w, n_classes, len(cuts.cuts) + 1)
        return lambda new: table[:, cuts.codes(new).astype(np.intp)]
    if role == "kernel":
        points = tuple(points_of(x[y == k], w[y == k]) for k in range(n_classes))
        return partial(soft_kernel, points, resolution(distinct), added)
    low = 0.5 * distinct[0]
    step = resolution(np.log(distinct) if role == "log-gaussian" else distinct)

    def as_modelled(new: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(new, low)) if role == "log-gaussian" else new

    gaussian = soft_gaussian(moments_within([as_modelled(x)], y, n_classes, weights=w), np.array([step]), added)
    return lambda new: gaussian.log_density(as_modelled(new), 0)


def _table_terms(codes: np.ndarray, classes: np.ndarray, mass: np.ndarray, n_classes: int, n_states: int) -> np.ndarray:
    """Return log P(state | c) by Laplace's rule, and zeros in a last column, for missing values."""
    seen = codes >= 0
    counts = np.bincount(classes[seen] * n_states + codes[seen], mass[seen], minlength=n_classes * n_states)
    raised = counts.reshape(n_classes, n_states) + 1.0
    logs = np.log(raised / raised.sum(axis=1, keepdims=True))
    return np.append(logs, np.zeros((n_classes, 1)), axis=1)
