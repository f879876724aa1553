"""Calibration: maps from the posteriors of an estimator to calibrated ones.

The maps are learned from held-out rows. With z_c = log P(c | x)/(1 − P(c | x)) the log-odds of a
class against all others,

    temperature   q_c ∝ P(c) [P(x | c)]^β                 one number: how much the evidence is worth
    Platt         q_c = 1/(1 + exp(−(a_c z_c + b_c)))     two numbers a class: a logistic regression on the log-odds
    isotonic      q_c = f_c(z_c), f_c increasing          an increasing step function, with lines between

each class against the rest, and for more than two classes the q_c are made to sum to one. No map reverses an order:
a and β are not below 0. Platt's map is our own Newton iteration: scikit-learn's ``_sigmoid_calibration`` is private.

A few held-out rows must not make anything certain, so every map is smoothed by Laplace's rule: the isotonic one has two
more rows, one of the class and one of the others, at either end of the line; Platt's takes the class of a row as
certain up to 1/(n + 2), n the number of rows on its side; temperature as certain up to 1/(N + number of classes).
Log-odds beyond those of the held-out rows count as the largest of these.

References
----------
J. C. Platt (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 61–74.
B. Zadrozny, C. Elkan (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD,
694–699.
C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017). On calibration of modern neural networks. ICML, 1321–1330.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, log_expit

from tunbridge._core.packing import FloatArray
from tunbridge.classifiers._classes import log_posterior

METHODS = ("none", "temperature", "platt", "isotonic")
"""The simplest first; of equally good ones that is taken."""

_LARGEST_POWER = 64.0
_FARTHEST = 1e300  # log-odds beyond are none of rows
_MOST_STEPS, _SMALLEST_GAIN = 200, 1e-12
_SAME = 1e-15  # log-odds less apart are the same


class HeldOut(NamedTuple):
    """Rows that were held out: log P(x, c), class × row; their classes, weights and folds; and log P(c)."""

    joint: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    log_prior: np.ndarray

    def take(self, which: np.ndarray) -> HeldOut:
        """Return some of the rows."""
        return HeldOut(
            self.joint[:, which], self.classes[which], self.weights[which], self.folds[which], self.log_prior
        )


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map from log P(x, c) to log-posteriors that are right on rows that were held out.

    Parameters
    ----------
    method : {"none", "temperature", "platt", "isotonic"}
        Which kind of map.
    reach : float
        How far the log-odds (or the evidence) of the rows went that it was learned from; beyond, it does not change.
    maps : tuple of ndarray
        Temperature: β. Platt: (a, b) of each class; for two classes, of the second one. Isotonic: the log-odds and the
        probabilities of the corners of each staircase; without corners the class is left as it is.
    """

    method: str
    reach: float = 0.0
    maps: tuple[FloatArray, ...] = ()

    def log_posterior(self, joint: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
        """Return calibrated log P(c | x) from log P(x, c), class × row."""
        if self.method == "none" or len(joint) < 2:
            return log_posterior(joint)
        if self.method == "temperature":
            evidence = _evidence(joint, log_prior, self.reach)
            return log_posterior(log_prior[:, None] + float(self.maps[0][0]) * evidence)
        z = np.clip(log_odds(joint), -self.reach, self.reach)
        if len(joint) == 2:
            return np.stack(_log_shares(self.method, self.maps[0], z[1])[::-1])
        shares = [_log_shares(self.method, each, row)[0] for each, row in zip(self.maps, z, strict=True)]
        return log_posterior(np.stack(shares))

    def fits(self, n_classes: int) -> bool:
        """Return whether the parts belong together: a damaged file must not make a model that answers."""
        n_maps = {"none": 0, "temperature": 1}.get(self.method, 1 if n_classes <= 2 else n_classes)
        shapes: dict[str, Callable[[np.ndarray], bool]] = {
            "temperature": lambda m: m.shape == (1,) and 0 <= m[0] <= _LARGEST_POWER,
            "platt": lambda m: m.shape == (2,) and m[0] >= 0 and max(m[0] * self.reach, abs(m[1])) < _FARTHEST,
            "isotonic": _is_stairs,
        }
        return (
            self.method in METHODS
            and len(self.maps) == n_maps
            and 0 <= self.reach < np.inf
            and all(shapes[self.method](m) for m in self.maps)
        )


def learn_calibration(method: str, rows: HeldOut) -> Calibration:
    """Return the map of a method that is learned from rows that were held out.

    The probabilities of a class that no row has, or that every row has, stay as they are.
    """
    if method == "none" or len(rows.joint) < 2 or not rows.classes.size:
        return Calibration("none")
    if method == "temperature":
        evidence = _evidence(rows.joint, rows.log_prior, np.inf)
        reach = _reach(evidence)
        return Calibration(method, reach, (_learn_power(np.maximum(evidence, -reach), rows),))
    z = log_odds(rows.joint)
    reach = _reach(z)
    z = np.clip(z, -reach, reach)
    learn = _learn_platt if method == "platt" else _learn_isotonic
    which = [1] if len(z) == 2 else range(len(z))
    return Calibration(method, reach, tuple(learn(z[k], rows.classes == k, rows.weights) for k in which))


def best_calibration(rows: HeldOut) -> tuple[str, dict[str, float]]:
    """Return the method of least log-loss, and the log-loss of each, on rows that its map was not learned from."""
    folds = np.unique(rows.folds)
    losses = {}
    for method in METHODS:
        parts = [_loss(method, rows.take(rows.folds != f), rows.take(rows.folds == f)) for f in folds]
        losses[method] = float(sum(parts) / rows.weights.sum()) if parts else 0.0
    return min(METHODS, key=lambda m: losses[m]), losses


def log_odds(joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x)/(1 − P(c | x)) from log P(x, c), class × row, exact where P(c | x) is next to 1.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds(np.array([[0.0], [-50.0], [-np.inf]])).ravel().tolist()
    [50.0, -50.0, -inf]
    """
    columns = np.arange(joint.shape[1])
    top = joint.argmax(axis=0)
    shifted = joint - joint[top, columns]
    shares = np.exp(shifted)
    rest = shifted.copy()
    rest[top, columns] = -np.inf
    second = np.maximum(rest.max(axis=0), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):  # where nothing else is possible the odds are infinite
        out = shifted - np.log(shares.sum(axis=0) - shares)
        out[top, columns] = -(second + np.log(np.exp(rest - second).sum(axis=0)))
    return out


def _loss(method: str, learned_from: HeldOut, rows: HeldOut) -> float:
    found = learn_calibration(method, learned_from).log_posterior(rows.joint, rows.log_prior)
    return float(-rows.weights @ found[rows.classes, np.arange(len(rows.classes))])


def _evidence(joint: np.ndarray, log_prior: np.ndarray, reach: float) -> np.ndarray:
    """Return log P(x | c), the largest of a row 0; what is below −reach is there, what is impossible too."""
    prior = np.where(np.isneginf(log_prior), 0.0, log_prior)  # such a class stays impossible by its prior
    found = joint - prior[:, None]
    return np.maximum(found - found.max(axis=0), -reach)


def _reach(values: np.ndarray) -> float:
    """Return the largest distance from 0 that is finite, or 1 where there is none."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    return largest if largest > 0 else 1.0


def _log_shares(method: str, given: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log q and log(1 − q) of one class against the rest."""
    if method == "isotonic" and given.size:
        q = np.interp(z, given[0], given[1])
        with np.errstate(divide="ignore"):  # beside huge weights q may round to 0 or 1
            return np.log(q), np.log1p(-q)
    a, b = given if method == "platt" else (1.0, 0.0)
    return log_expit(a * z + b), log_expit(-(a * z + b))


def _learn_platt(z: np.ndarray, own: np.ndarray, weights: np.ndarray) -> np.ndarray:
    n, m = weights[own].sum(), weights[~own].sum()
    if not n > 0 or not m > 0:
        return np.array([1.0, 0.0])
    aim = np.where(own, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))
    mean = float(weights @ aim / weights.sum())
    flat = np.array([0.0, np.log(mean) - np.log1p(-mean)])
    centre = float(weights @ z / weights.sum())
    spread = float(np.sqrt(weights @ (z - centre) ** 2 / weights.sum()))
    if spread <= 1e-12 * max(1.0, abs(centre)):
        return flat
    slope, shift = _logistic((z - centre) / spread, aim, weights, start=flat)
    slope /= spread
    return np.array([slope, shift - slope * centre]) if slope > 0 else flat


def _logistic(x: np.ndarray, aim: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return (a, b) of the logistic regression of targets between 0 and 1, by Newton's method with halved steps."""
    design = np.stack([x, np.ones_like(x)])

    def loss(at: np.ndarray) -> float:
        t = at @ design
        return float(weights @ (np.logaddexp(0.0, t) - aim * t))

    found, least = start, loss(start)
    for _ in range(_MOST_STEPS):
        share = expit(found @ design)
        slope = design @ (weights * (share - aim))
        step = np.linalg.lstsq((design * (weights * share * (1.0 - share))) @ design.T, slope, rcond=None)[0]
        if slope @ step <= _SMALLEST_GAIN * least:  # what a step can gain is below what the sum can tell
            return found - step
        while (now := loss(found - step)) > least and np.abs(step).max() > 0:
            step = step / 2.0
        found, least = found - step, now
    return found


def _learn_isotonic(z: np.ndarray, own: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if not weights[own].sum() > 0 or not weights[~own].sum() > 0:
        return np.empty((2, 0))
    some = weights > 0
    ends = [z.min(), z.min(), z.max(), z.max()]
    x = np.concatenate([z[some], ends])
    y = np.concatenate([own[some], [0.0, 1.0, 0.0, 1.0]])
    mass = np.concatenate([weights[some], np.ones(4)])
    order = np.lexsort((y, x))
    x, y, mass = x[order], y[order], mass[order]
    first = np.diff(x, prepend=-np.inf) >= _SAME
    place = np.cumsum(first) - 1
    total = np.bincount(place, mass)
    steps = isotonic_regression(np.bincount(place, y * mass) / total, weights=total).x
    corner = np.ones(len(steps), bool)
    corner[1:-1] = (steps[1:-1] != steps[:-2]) | (steps[1:-1] != steps[2:])
    return np.stack([x[first][corner], steps[corner]])


def _learn_power(evidence: np.ndarray, rows: HeldOut) -> np.ndarray:
    """Return β where the derivative of the log-loss, which is convex in it, is 0."""
    n, total = len(evidence), rows.weights.sum()
    aim = np.full(evidence.shape, 1.0 / (total + n))
    aim[rows.classes, np.arange(len(rows.classes))] = (total + 1.0) / (total + n)
    aim *= rows.weights
    wanted = float((aim * evidence).sum())

    def slope(beta: float) -> float:
        shares = np.exp(log_posterior(rows.log_prior[:, None] + beta * evidence))
        return float((shares * evidence * rows.weights).sum()) - wanted

    return np.array([_root(slope)])


def _root(slope: Callable[[float], float]) -> float:
    """Return where an increasing function crosses 0 between 0 and the largest power, else the nearer end."""
    if slope(0.0) >= 0.0:
        return 0.0
    if slope(_LARGEST_POWER) <= 0.0:
        return _LARGEST_POWER
    return float(brentq(slope, 0.0, _LARGEST_POWER, xtol=1e-13, rtol=1e-13))


def _is_stairs(given: np.ndarray) -> bool:
    if given.ndim != 2 or len(given) != 2:
        return False
    z, q = given
    return bool((np.diff(z) > 0).all() and (np.diff(q) >= 0).all() and ((q > 0) & (q < 1)).all())
