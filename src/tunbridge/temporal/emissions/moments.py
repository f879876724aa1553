"""Weighted moments, and squared distances from the centres of all states, by matrix products.

Each row becomes features 1, y_i and y_i² (or all products y_i y_j), where y = x − c is near zero. Then one product of
matrices gives the weighted moments of all states, and another one gives their squared distances, because

    ‖W_k x − b_k‖²  =  yᵀ P y − 2 (W_kᵀ b) · y + b · b,     P = W_kᵀ W_k,  b = b_k − W_k c,

is linear in the features. That takes a few nanoseconds a row and state. Where the terms are so large that their
difference would lose digits, which the size of the terms shows, distances and moments are computed directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_BLOCK = 2**16  # values of the features that are computed at a time, so that they stay in the cache
_LOSS = 1e6  # times as large as the result may terms be that are subtracted: ten digits are left


class Moments(NamedTuple):
    """Sums over rows by state: weights (K,), means (K, d), and scatters Σ w (x − mean)(x − mean)ᵀ (K, d, d).

    Without cross products scatters are (K, d), and so are weights, because each column has missing values of its own.
    """

    totals: np.ndarray
    means: np.ndarray
    scatters: np.ndarray


def _centre_of(x: np.ndarray) -> np.ndarray:
    """Return the medians of some rows, a point among the data."""
    some = x[:: len(x) // 31 + 1]
    if not len(some):
        return np.zeros(x.shape[1])
    middle = np.sort(some, axis=0)[(len(some) - np.isnan(some).sum(0)) // 2 - 1, np.arange(x.shape[1])]
    return np.where(np.isnan(middle), 0.0, middle)


def _n_features(d: int, kind: str) -> int:
    return {"squares": 1 + 2 * d, "seen": 3 * d, "products": 1 + d + d * (d + 1) // 2}[kind]


def _blocks(x: np.ndarray, centre: np.ndarray, kind: str) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield rows, their features (F, rows) and y (d, rows): ``kind`` is "squares", "products" or "seen".

    "seen" has missing values: its features are whether a value is known, y and y², 0 where it is not.
    """
    d = x.shape[1]
    first, n_features = d if kind == "seen" else 1, _n_features(d, kind)
    step = max(64, _BLOCK // n_features)
    room = np.empty((n_features, min(step, len(x))))
    for start in range(0, len(x), step):
        rows = slice(start, min(start + step, len(x)))
        features = room[:, : rows.stop - start]
        y = features[first : first + d]
        np.subtract(x[rows].T, centre[:, None], out=y)
        if kind == "seen":
            unknown = np.isnan(y)
            np.logical_not(unknown, out=features[:d])
            y[unknown] = 0.0
        else:
            features[0] = 1.0
        if kind == "products":
            place = first + d
            for i in range(d):
                np.multiply(y[i], y[i:], out=features[place : place + d - i])
                place += d - i
        else:
            np.square(y, out=features[first + d :])
        yield rows, features, y


def scatters_of(x: np.ndarray, weights: np.ndarray, *, has_missing: bool = False) -> Moments:
    """Return totals, means and sums of squares of each column by state; missing values are left out."""
    centre, d = _centre_of(x), x.shape[1]
    kind = "seen" if has_missing else "squares"
    sums = _weighted_features(x, weights, centre, kind)
    totals = sums[:, :d] if has_missing else np.repeat(sums[:, :1], d, axis=1)
    first, second = sums[:, -2 * d : -d], sums[:, -d:]
    shifts = first / np.where(totals > 0.0, totals, 1.0)
    scatters = second - shifts * first
    for k in np.flatnonzero((scatters * _LOSS < second).any(1)):
        scatters[k] = _again(x, weights[:, k], centre + shifts[k])
    return Moments(totals, centre + shifts, np.maximum(scatters, 0.0))


def _again(x: np.ndarray, weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    y = np.nan_to_num(x - mean)
    return weights @ (y * y)


def cross_moments(x: np.ndarray, weights: np.ndarray) -> Moments:
    """Return totals, means and cross products by state; no value is missing."""
    centre, d = _centre_of(x), x.shape[1]
    sums = _weighted_features(x, weights, centre, "products")
    totals, first = sums[:, 0], sums[:, 1 : d + 1]
    shifts = first / np.where(totals > 0.0, totals, 1.0)[:, None]
    second = np.empty((len(sums), d, d))
    i, j = np.triu_indices(d)
    second[:, i, j] = second[:, j, i] = sums[:, d + 1 :]
    scatters = second - shifts[:, :, None] * first[:, None, :]
    largest = np.diagonal(second, axis1=1, axis2=2)
    for k in np.flatnonzero((np.diagonal(scatters, axis1=1, axis2=2) * _LOSS < largest).any(1)):
        y = x - (centre + shifts[k])
        scatters[k] = (weights[:, k, None] * y).T @ y
    return Moments(totals, centre + shifts, scatters)


def _weighted_features(x: np.ndarray, weights: np.ndarray, centre: np.ndarray, kind: str) -> np.ndarray:
    """Return the sums of the features by state, (K, F)."""
    sums = np.zeros((_n_features(x.shape[1], kind), weights.shape[1]))
    for rows, features, _ in _blocks(x, centre, kind):
        sums += features @ weights[rows]
    return sums.T


def diagonal_logs(
    x: np.ndarray, means: np.ndarray, variances: np.ndarray, *, has_missing: bool = False, normalized: bool = True
) -> np.ndarray:
    """Return Σ_j ln N(x_j; m_kj, v_kj) over the known values, shape (n, K); without constants if not normalized."""
    centre, out = _centre_of(x), np.empty((len(x), len(means)))
    shifts, inverse = means - centre, 1.0 / variances
    cells = -0.5 * shifts**2 * inverse - (0.5 * np.log(2.0 * np.pi * variances) if normalized else 0.0)
    constants = cells if has_missing else cells.sum(1, keepdims=True)
    coefficients = np.concatenate([constants, shifts * inverse, -0.5 * inverse], axis=1)
    for rows, features, y in _blocks(x, centre, "seen" if has_missing else "squares"):
        np.matmul(features.T, coefficients.T, out=out[rows])
        for k in np.flatnonzero(inverse @ np.abs(y).max(1) ** 2 > _LOSS):
            z = x[rows] - means[k]
            logs = -0.5 * z * z * inverse[k] - (0.5 * np.log(2.0 * np.pi * variances[k]) if normalized else 0.0)
            out[rows, k] = np.where(np.isnan(z), 0.0, logs).sum(1)
    return out


def quadratic_logs(x: np.ndarray, constants: np.ndarray, maps: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return c_k − ½ ‖W_k x − b_k‖², shape (n, K), for constants (K,), maps W (K, r, d) and ends b (K, r)."""
    centre, out = _centre_of(x), np.empty((len(x), len(maps)))
    b = ends - maps @ centre
    products = maps.transpose(0, 2, 1) @ maps
    i, j = np.triu_indices(x.shape[1])
    squares = products[:, i, j] * np.where(i == j, -0.5, -1.0)
    linear = np.einsum("kri,kr->ki", maps, b)
    coefficients = np.concatenate([(constants - 0.5 * (b * b).sum(1))[:, None], linear, squares], axis=1)
    sizes = np.abs(products)
    for rows, features, y in _blocks(x, centre, "products"):
        np.matmul(features.T, coefficients.T, out=out[rows])
        largest = np.abs(y).max(1)
        for k in np.flatnonzero((sizes @ largest) @ largest > _LOSS):
            z = maps[k] @ y - b[k][:, None]
            out[rows, k] = constants[k] - 0.5 * np.einsum("rn,rn->n", z, z)
    return out
