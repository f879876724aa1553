"""What each feature of a classifier tells about the class, from the statistics that it keeps.

For a feature that is counted, I(X; C | parents) is that of the counts n(c, u, x), u the configurations of the parents:

    N · I(X; C | U) = Σ n(c,u,x) log n(c,u,x) − Σ n(c,u) log n(c,u) − Σ n(u,x) log n(u,x) + Σ n(u) log n(u).

For a number with a density in each class it is an integral,

    I(X; C) = Σ_c P(c) ∫ p(x | c) log p(x | c)/p(x) dx,

taken over each class's own density, on a grid of standard deviations: those of the class for a normal density, those of
every bump for a kernel density. Information from counts is too large where there are many configurations and few rows;
the expected weight of evidence uses the smoothed tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge.classifiers.explanation.sampled import sampled_importances
from tunbridge.classifiers.naive.likelihood import Likelihood
from tunbridge.classifiers.naive.statistics import Statistics
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.counts import Counts
from tunbridge.counts.information import entropy, n_log_n
from tunbridge.decisions.importance import Importance, importance
from tunbridge.errors import DataError
from tunbridge.probability.kernel_density import log_density

_FARTHEST, _STEPS = 9.0, 1801
_BUMP, _NODES = 6.0, 25


def importance_of(model: Any, statistics: Any, method: str) -> Importance:
    """Return what each feature tells about the class, by information or by its expected weight of evidence.

    A feature that the model does not use tells nothing. A model that keeps neither counts nor densities that are known
    here may answer by a method ``importances(statistics, method)``: position of a feature → nats.
    """
    fitted = getattr(statistics, "fitted", None)
    if fitted is not None:  # an estimator around another one
        found_inside: Importance = fitted.importance(method)
        return found_inside
    names = [v.name for v in statistics.variables]
    structure = getattr(model, "parents", None) or [()] * len(names)
    if hasattr(model, "importances"):
        found = model.importances(statistics, method)
    elif isinstance(model, NetworkModel):
        found = sampled_importances(model, method)
    else:
        measured = _information if method == "information" else _weights
        found = measured(model, statistics) | _of_densities(model, statistics, method)
    given = [[names[u] for u in (structure[j] or ())] if j in found else [] for j in range(len(names))]
    values = [(name, found.get(j, 0.0), given[j]) for j, name in enumerate(names)]
    return importance(
        values, method=method, target=statistics.target.name, entropy=entropy(np.asarray(statistics.class_weight))
    )


def family_counts(model: Any, statistics: Any) -> Mapping[int, Counts]:
    """Return the counts of each feature given the class and its parents, by the feature's position."""
    statistics = getattr(statistics, "families", statistics)
    if hasattr(statistics, "counts"):
        return dict(statistics.counts)
    if not hasattr(statistics, "family"):
        raise DataError(
            f"importance must be taken from counts; {type(statistics).__name__} keeps none. Use explain on single rows."
        )
    structure = getattr(model, "parents", None) or [() if v.n_states else None for v in statistics.coding.coded]
    return {j: statistics.family(j, p[0] if p else None) for j, p in enumerate(structure) if p is not None}


def _information(model: Any, statistics: Any) -> dict[int, float]:
    n_classes = statistics.target.n_states
    return {j: conditional_information(c, n_classes) for j, c in family_counts(model, statistics).items()}


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


def _weights(model: Any, statistics: Any) -> dict[int, float]:
    """Return the expected weight of evidence of the features with tables, parents as often as they were counted."""
    tables = _tables(model)
    counts = family_counts(model, statistics)
    exponents = getattr(model, "weights", None)
    found = {}
    for j, table in tables.items():
        if not table.size:
            continue
        n = np.asarray(counts[j].dense().table, np.float64).sum(axis=1).reshape(len(table), -1)
        value = _expected_weight(table.reshape(*n.shape, -1), n)
        found[j] = value if exponents is None else float(exponents[j]) * value
    return found


def _tables(model: Any) -> dict[int, np.ndarray]:
    """Return P(x | c, parents) of the features that have tables, the class as the first axis and x as the last."""
    if isinstance(model, Likelihood):
        return {j: np.exp(table[:, 1:]) for j, table in model.tables.items()}
    if not hasattr(model, "cpts"):
        raise DataError(
            "the expected weight of evidence must be taken from one table a feature; this classifier averages several "
            "models. Use method='information'."
        )
    return {j: cpt.probabilities for j, cpt in model.cpts.items()}


def _expected_weight(p: np.ndarray, n: np.ndarray) -> float:
    """Return Σ n(c,u)/N Σ_x p(x|c,u) log p(x|c,u)/p(x|not c,u), p of shape (classes, configurations, states).

    Configurations that go with one class alone settle nothing between the classes, and are left out.
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


def _of_densities(model: Any, statistics: Any, method: str) -> dict[int, float]:
    """Return the same for the numbers with a density in each class."""
    if not isinstance(model, Likelihood) or not isinstance(statistics, Statistics):
        return {}
    normal = [j for j, role in enumerate(model.roles) if role == "gaussian"]
    found = {j: _of_normal(model, statistics.moments.count[:, i], i, method) for i, j in enumerate(normal)}
    for j, densities in model.densities.items():
        weight = np.array([p.total for p in statistics.points[j]])
        found[j] = _of_kernel(densities, weight, method) if weight.sum() > 0 else 0.0
    return found


def _of_normal(model: Likelihood, weight: np.ndarray, which: int, method: str) -> float:
    z = np.linspace(-_FARTHEST, _FARTHEST, _STEPS)
    share = np.exp(-0.5 * z**2)
    mean, variance = model.gaussian.mean[:, which, None], model.gaussian.variance[:, which, None]
    at = mean + np.sqrt(variance) * z  # class × node
    with np.errstate(over="ignore"):
        logs = -0.5 * (np.log(variance)[..., None] + (at[None] - mean[..., None]) ** 2 / variance[..., None])
    return _integrated(logs, np.broadcast_to(share / share.sum(), at.shape), weight, method)


def _of_kernel(densities: Any, weight: np.ndarray, method: str) -> float:
    nodes = np.linspace(-_BUMP, _BUMP, _NODES)
    node_weights = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    values = [(p.values[:, None] + h * nodes).ravel() for p, h in densities]
    shares = [(p.weights[:, None] / p.total * node_weights).ravel() for p, _ in densities]
    total = 0.0
    for c, (at, share) in enumerate(zip(values, shares, strict=True)):
        logs = np.array([log_density(at, p, h) for p, h in densities])
        total += _summed(logs, share, weight, c, method)
    return max(0.0, total)


def _integrated(logs: np.ndarray, shares: np.ndarray, weight: np.ndarray, method: str) -> float:
    """Return the sum over the classes; ``logs[d, c]`` is log p(x | d) at the nodes of class c, up to a constant."""
    if weight.sum() <= 0:
        return 0.0
    return max(0.0, sum(_summed(logs[:, c], shares[c], weight, c, method) for c in range(len(weight))))


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
    top = terms.max(axis=0)
    mixed = top + np.log(np.exp(terms - top).sum(axis=0))
    return float(prior[c] * (share * (logs[c] - mixed)).sum())
