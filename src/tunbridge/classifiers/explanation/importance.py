"""What each feature of a classifier tells about the class, and where the values of numbers lie.

For a feature that is counted, I(X; C | parents) is that of the counts n(c, u, x), u the configurations of the parents:

    N · I(X; C | U) = Σ n(c,u,x) log n(c,u,x) − Σ n(c,u) log n(c,u) − Σ n(u,x) log n(u,x) + Σ n(u) log n(u).

For a number with a density in each class it is an integral,

    I(X; C) = Σ_c P(c) ∫ p(x | c) log p(x | c)/p(x) dx,

taken over each class's own density, on a grid of standard deviations: those of the class for a normal density, those of
every bump for a kernel density. Information from counts is too large where there are many configurations and few rows;
the expected weight of evidence uses the smoothed tables.

A model says what its features tell; the measures are here, whatever the model.

**Scales.** Where features are independent given the class, a value's weight of evidence is the same in every row, so
each feature has a scale: its categories, or numbers over the range in which nearly all values lie, with the weight of
each. The weights of a row's values and the prior add up to the log-odds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._core.check import check_fitted
from tunbridge._core.lazy import LazyModule
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._statistics import MISSING_STATE, Encoding, Statistics, Structure, inner_statistics
from tunbridge.classifiers.explanation.contributions import Fitted, Ranges, TableModel, compared_classes, difference_of
from tunbridge.counts import Counts
from tunbridge.counts.information import entropy, n_log_n
from tunbridge.data import Column, State, Table, Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.data.table import natural_type
from tunbridge.decisions.importance import Importance, importance
from tunbridge.errors import DataError
from tunbridge.probability.kernel_density import Points, log_density

special = LazyModule("scipy.special")

_FARTHEST, _STEPS = 9.0, 1801
_BUMP, _NODES = 6.0, 25
_REACH = 2.0
N_NUMBERS = 1025

Density = Sequence[tuple[Points, float]]
"""A kernel density for each class: its points and their bandwidth."""


def importance_of(model: TableModel, statistics: Statistics, method: str) -> Importance:
    """Return what each feature tells about the class, by information or by its expected weight of evidence.

    A feature that the model does not use tells nothing.
    """
    names, found = [v.name for v in statistics.variables], model.importances(statistics, method)
    structure = model.parents or [()] * len(names)
    given = [[names[u] for u in (structure[j] or ())] if j in found else [] for j in range(len(names))]
    values = [(name, found.get(j, 0.0), given[j]) for j, name in enumerate(names)]
    values += [(each.name, each.importance.get(method, 0.0), []) for each in getattr(model, "texts", ())]
    return importance(
        values, method=method, target=statistics.target.name, entropy=entropy(np.asarray(statistics.class_weight))
    )


# Features that are counted


def family_counts(statistics: Statistics, parents: Structure | None = None) -> Mapping[int, Counts]:
    """Return the counts of each feature given the class and its parents, by the feature's position."""
    if "families" in statistics.parts:
        return dict(statistics.families.counts)
    structure = parents or [() if v.n_states else None for v in statistics.encoding.coded]
    return {j: statistics.pairs.family(j, *p) for j, p in enumerate(structure) if p is not None}


def information_of(counts: Mapping[int, Counts], n_classes: int) -> dict[int, float]:
    """Return I(X; C | parents) of each feature."""
    return {j: conditional_information(c, n_classes) for j, c in counts.items()}


def pair_importances(statistics: Statistics, method: str) -> dict[int, float]:
    """Return I(X; C) of each feature, for models that average several tables of it."""
    if method != "information":
        raise DataError(
            "the expected weight of evidence must be taken from one table a feature; this classifier averages several "
            "models. Use method='information'."
        )
    return information_of(family_counts(statistics), statistics.target.n_states)


def conditional_information(counts: Counts, n_classes: int) -> float:
    """Return I(X; C | other parents) from the counts of X given C, the first parent, and others.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> round(conditional_information(counter.family("outlook", ["play"]), 2), 4)
    0.171
    """
    table = np.asarray(counts.dense().table, np.float64)
    if (total := table.sum()) <= 0:
        return 0.0
    n = table.reshape(n_classes, -1, counts.child.n_states)
    cells, within = n_log_n(n).sum(), n_log_n(n.sum(axis=2)).sum()
    over, by_itself = n_log_n(n.sum(axis=0)).sum(), n_log_n(n.sum(axis=(0, 2))).sum()
    return max(0.0, float((cells - within - over + by_itself) / total))


def weights_of(counts: Mapping[int, Counts], tables: Mapping[int, np.ndarray]) -> dict[int, float]:
    """Return the expected weight of evidence of each feature, parents as often as they were counted.

    ``tables`` have P(x | c, parents), the class as the first axis and x as the last.
    """
    found = {}
    for j, table in tables.items():
        if table.size:
            n = np.asarray(counts[j].dense().table, np.float64).sum(axis=1).reshape(len(table), -1)
            found[j] = _expected_weight(table.reshape(*n.shape, -1), n)
    return found


def _expected_weight(p: np.ndarray, n: np.ndarray) -> float:
    """Return Σ n(c,u)/N Σ_x p(x|c,u) log p(x|c,u)/p(x|not c,u), p of shape (classes, configurations, states).

    Configurations that go with one class alone do not compare classes, and are left out.
    """
    joint = n[..., None] * p
    other_n = n.sum(axis=0) - n
    other = np.divide(
        joint.sum(axis=0) - joint, other_n[..., None], out=np.zeros_like(joint), where=other_n[..., None] > 0
    )
    used = (joint > 0) & (other_n[..., None] > 0)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(used, p, 1.0)) - np.log(np.where(used, np.maximum(other, 0.0), 1.0))
    total = n[(n > 0) & (other_n > 0)].sum()
    return max(0.0, float((joint * np.where(used, ratio, 0.0)).sum() / total)) if total > 0 else 0.0


# Numbers with a density in each class


def normal_importance(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray, method: str) -> float:
    """Return what a number tells whose density is normal in each class, given the weight of the classes."""
    z = np.linspace(-_FARTHEST, _FARTHEST, _STEPS)
    share = np.exp(-0.5 * z**2)
    mean, variance = mean[:, None], variance[:, None]
    at = mean + np.sqrt(variance) * z  # class × node
    with np.errstate(over="ignore"):
        logs = -0.5 * (np.log(variance)[..., None] + (at[None] - mean[..., None]) ** 2 / variance[..., None])
    return _integrated([logs[:, c] for c in range(len(weight))], [share / share.sum()] * len(weight), weight, method)


def kernel_importance(densities: Density, weight: np.ndarray, method: str) -> float:
    """Return what a number tells that has a kernel density in each class."""
    nodes = np.linspace(-_BUMP, _BUMP, _NODES)
    node_weights = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    values = [(p.values[:, None] + h * nodes).ravel() for p, h in densities]
    shares = [(p.weights[:, None] / p.total * node_weights).ravel() for p, _ in densities]
    logs = (np.array([log_density(at, p, h) for p, h in densities]) for at in values)
    return _integrated(logs, shares, weight, method)


def _integrated(logs: Iterable[np.ndarray], shares: Sequence[np.ndarray], weight: np.ndarray, method: str) -> float:
    """Return the sum over the classes, given log p(x | d) (up to a constant) at the nodes of each, and their shares."""
    if weight.sum() <= 0:
        return 0.0
    pairs = enumerate(zip(logs, shares, strict=True))
    return max(0.0, sum(_summed(at_nodes, share, weight, c, method) for c, (at_nodes, share) in pairs))


def _summed(logs: np.ndarray, share: np.ndarray, weight: np.ndarray, c: int, method: str) -> float:
    """Return P(c) E[log p(x | c)/p(x)], or over p(x | not c), given logs (classes × nodes) and the nodes' shares."""
    prior = weight / weight.sum()
    others = prior.copy()
    if method != "information":
        others[c] = 0.0
    if prior[c] <= 0 or others.sum() <= 0:
        return 0.0
    used = others > 0
    terms = logs[used] + np.log(others[used] / others.sum())[:, None]
    return float(prior[c] * (share * (logs[c] - special.logsumexp(terms, axis=0))).sum())


def mean_gain(before: np.ndarray, after: np.ndarray, method: str) -> float:
    """Return how far a feature moves the log-probability, or log-odds, of the class on average, class × row."""
    share = np.exp(after)
    if method == "weight":
        before, after = _log_odds(before), _log_odds(after)
    moved = difference_of(after, before)
    return max(0.0, float(np.where(share > 0, share * np.where(share > 0, moved, 0.0), 0.0).sum(axis=0).mean()))


def _log_odds(log_shares: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return log_shares - np.log(-np.expm1(np.minimum(log_shares, 0.0)))


# Where numbers lie


def normal_ranges(mean: np.ndarray, variance: np.ndarray, extent: np.ndarray | None) -> list[tuple[float, float]]:
    """Return two standard deviations about the means of the classes, but nothing beyond the values that were seen."""
    spread = _REACH * np.sqrt(variance)
    low, high = (mean - spread).min(axis=0), (mean + spread).max(axis=0)
    if extent is not None:
        low, high = np.fmax(low, extent[0]), np.fmin(high, extent[1])
    return list(zip(low.tolist(), high.tolist(), strict=True))


def kernel_range(densities: Density) -> tuple[float, float]:
    """Return the range of the points of all classes."""
    points = np.concatenate([p.values for p, _ in densities])
    return (float(points.min()), float(points.max())) if points.size else (0.0, 0.0)


def ranges_of_cuts(several: Iterable[Mapping[int, Discretisation]]) -> Ranges:
    """Return for each number that several models cut in different places where all those places lie, and a bit more."""
    places: dict[int, list[float]] = {}
    for cuts in several:
        for j, cut in cuts.items():
            places.setdefault(j, []).extend(cut.cuts)
    ends = {j: (min(found), max(found)) for j, found in places.items() if found}
    more = {j: 0.05 * ((high - low) or abs(low) or 1.0) for j, (low, high) in ends.items()}
    return {j: (low - more[j], high + more[j]) for j, (low, high) in ends.items()}


# The weight of evidence of every value


@dataclass(frozen=True, eq=False)
class Scale:
    """The values of a feature and their weights of evidence.

    Parameters
    ----------
    feature : str
        Its name.
    values : tuple
        Categories or bins, in order; for a number with a density, increasing numbers.
    weights : ndarray
        The weight of each value, in nats; infinite where one of the classes cannot have it.
    is_number : bool
        Whether the values are points of a continuous scale.
    """

    feature: str
    values: tuple[Any, ...]
    weights: np.ndarray
    is_number: bool

    @property
    def finite(self) -> np.ndarray:
        """The finite weights."""
        return self.weights[np.isfinite(self.weights)]

    @property
    def length(self) -> float:
        """How far apart the least and the greatest finite weight are."""
        return float(np.ptp(self.finite)) if self.finite.size else 0.0


@dataclass(frozen=True, eq=False)
class Scales:
    """The scales of all features for one class against another.

    Parameters
    ----------
    label, against : object
        The classes.
    prior : float
        The log-odds before any evidence.
    scales : tuple of Scale
        One a feature, in order; features without a known value have none.
    """

    label: State
    against: State
    prior: float
    scales: tuple[Scale, ...]


def evidence_scales(
    classifier: Fitted, label: State | None = None, against: State | None = None, *, ranges: Ranges | None = None
) -> Scales:
    """Return the weights of evidence of all values for one class against another.

    By default the second of two classes is set against the first; of more, the most frequent against the next.
    ``ranges`` says for numbers, by position, where their scale starts and ends. Raises for a classifier whose features
    depend on each other: there a value has no weight by itself.
    """
    check_fitted(classifier)
    _check_independent(classifier)
    model, statistics = classifier.model_, inner_statistics(classifier.statistics_)
    labels = classifier.classes_.tolist()
    frequency = np.array([0.0, 1.0]) if len(labels) == 2 else np.asarray(classifier.class_count_)
    c, d = compared_classes(statistics.target, frequency, label, against, "a nomogram")
    known = model.ranges(statistics) | (ranges or {})
    options = [_values(statistics.encoding, v, j, known.get(j)) for j, v in enumerate(classifier.variables_)]
    n_rows = max((len(values) for values, _, _ in options), default=0)
    check_memory(
        "the weights of all values",
        16.0 * len(labels) * n_rows * len(options),
        ways_out="Leave out features with many states.",
    )
    terms = model.terms(_all_values(classifier.variables_, [cells for _, cells, _ in options], n_rows))[:, [c, d]]
    scales = [
        Scale(v.name, tuple(values), difference_of(*terms[j, :, : len(values)]), is_number)
        for j, (v, (values, _, is_number)) in enumerate(zip(classifier.variables_, options, strict=True))
        if len(values)
    ]
    return Scales(labels[c], labels[d], _prior(classifier, c, d), tuple(scales))


def _check_independent(classifier: Fitted) -> None:
    model, names = classifier.model_, [v.name for v in classifier.variables_]
    if model.is_naive:
        return
    pairs = [(names[j], names[p[0]]) for j, p in enumerate(model.parents or ()) if p]
    name = type(classifier).__name__
    got = f"in this {name} {pairs[0][0]!r} depends on {pairs[0][1]!r}" if pairs else f"got {name}"
    raise DataError(
        f"a nomogram must be of features that are independent given the class, as in naive Bayes; {got}. Explain "
        "single rows instead."
    )


def _prior(classifier: Fitted, c: int, d: int) -> float:
    """Return the log-odds of the prior; raise where it excludes one of the two classes."""
    found = classifier.class_log_prior_
    for k in (c, d):
        if np.isneginf(found[k]):
            excluded = classifier.classes_.tolist()[k]
            raise DataError(f"a nomogram must compare classes that can be; {excluded!r} has prior probability zero.")
    return float(found[c] - found[d])


def _values(
    encoding: Encoding, variable: Variable, j: int, between: tuple[float, float] | None
) -> tuple[list[State], np.ndarray, bool]:
    """Return the values of a feature, the cells that have them (codes or numbers), and whether it is a number."""
    cut = encoding.cuts.get(j)
    gap = [MISSING_STATE] if j in encoding.missing else []
    if variable.is_categorical:
        n = variable.n_states
        return [*(variable.states or ()), *gap], np.append(np.arange(n), [-1] * len(gap)).astype(np.int64), False
    if cut is not None:
        inner = [*cut.cuts, np.inf]
        cells = [x if np.isfinite(x) else (cut.cuts[-1] + 1.0 + abs(cut.cuts[-1]) if cut.cuts else 0.0) for x in inner]
        return [*cut.labels, *gap], np.array([*cells, *([np.nan] * len(gap))]), False
    numbers = np.array([]) if between is None else np.linspace(*between, N_NUMBERS)
    return numbers.tolist(), numbers, True


def _all_values(variables: tuple[Variable, ...], cells: list[np.ndarray], n_rows: int) -> Table:
    """Return rows whose i-th one has the i-th value of every feature: they do not interfere with each other."""
    columns = []
    for variable, own in zip(variables, cells, strict=True):
        missing, kind = (-1, np.int64) if variable.is_categorical else (np.nan, np.float64)
        values = np.append(own, np.full(n_rows - len(own), missing)).astype(kind)
        columns.append(Column(variable, values, natural_type(variable)))
    return Table.of_valid(columns)
