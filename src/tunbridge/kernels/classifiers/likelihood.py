"""Log-likelihoods of rows under each class, feature by feature: of naive Bayes, and of features with parents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit


@njit(cache=True, nogil=True)
def add_categorical(codes, table, out):
    """Add table[k, codes[i] + 1] to out[k, i]; column 0 of the table is that of a missing value."""
    for k in range(out.shape[0]):
        for i in range(codes.shape[0]):
            out[k, i] += table[k, codes[i] + 1]


@njit(cache=True, nogil=True)
def add_gaussian(block, mean, precision, constant, out):
    """Add constant[k, j] − precision[k, j]·(block[j, i] − mean[k, j])² to out[k, i]; NaN adds nothing."""
    for j in range(block.shape[0]):
        for k in range(out.shape[0]):
            m, s, c = mean[k, j], precision[k, j], constant[k, j]
            for i in range(block.shape[1]):
                d = block[j, i] - m
                term = c - s * d * d
                out[k, i] += term if d == d else 0.0


class Broad(NamedTuple):
    """The broad density of each feature: its centre, precision and constant, and what is taken from it at most."""

    centre: np.ndarray
    slope: np.ndarray
    floor: np.ndarray
    lowest: np.ndarray


@njit(cache=True, nogil=True)
def add_soft_gaussian(block, mean, precision, constant, broad, out):
    """Add the same to out[k, i], at least floor[j] − slope[j]·(block[j, i] − centre[j])²; NaN adds nothing.

    What is taken from floor[j] is at most lowest[j].
    """
    for j in range(block.shape[0]):
        centre, slope, floor, lowest = broad.centre[j], broad.slope[j], broad.floor[j], broad.lowest[j]
        for k in range(out.shape[0]):
            m, s, c = mean[k, j], precision[k, j], constant[k, j]
            for i in range(block.shape[1]):
                d = block[j, i] - m
                e = block[j, i] - centre
                term = max(c - s * d * d, floor - min(slope * e * e, lowest))
                out[k, i] += term if d == d else 0.0


@njit(cache=True, nogil=True)
def add_kernel_density(values, points, log_weights, bandwidth, farthest, out):
    """Add the log of Σ_p w_p N(values[i]; points[p], bandwidth) to out[i]; NaN adds nothing.

    The terms are taken relative to the largest, and no value is farther than ``farthest`` bandwidths from a point, so
    that every log-density is finite.
    """
    constant = -np.log(bandwidth * np.sqrt(2.0 * np.pi))
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            top = -np.inf
            for p in range(points.shape[0]):
                d = min(abs(x - points[p]) / bandwidth, farthest)
                top = max(top, log_weights[p] - 0.5 * d * d)
            total = 0.0
            for p in range(points.shape[0]):
                d = min(abs(x - points[p]) / bandwidth, farthest)
                total += np.exp(log_weights[p] - 0.5 * d * d - top)
            out[i] += constant + top + np.log(total)


@njit(cache=True, nogil=True)
def add_families(codes, families, out, hidden):
    """Add log P(x | parents, c) of every family (see ``FamilyTables``) whose child is known to out[row, c].

    A row in which a child is known but one of its parents is not gets hidden[row] = True: something has to be summed
    out.
    """
    members, strides, start, tables = families.members, families.strides, families.start, families.tables
    for i in range(codes.shape[1]):
        for f in range(start.shape[0] - 1):
            child = codes[members[start[f]], i]
            if child < 0:
                continue
            cell = families.first[f] + child * strides[start[f]]
            seen = True
            for m in range(start[f] + 1, start[f + 1]):
                code = codes[members[m], i]
                seen = seen and code >= 0
                cell += code * strides[m]
            if seen:
                for c in range(out.shape[1]):
                    out[i, c] += tables[cell, c]
            else:
                hidden[i] = True
