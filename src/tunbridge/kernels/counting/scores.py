"""Sums of terms over the counts of a family: what decomposable scores are made of.

A score is Σ cell(n_jk) − Σ row(n_j) over the cells and rows of a family's table, n_jk the rows with parent
configuration j and child state k, n_j their sum over k. A table is stored with the child's states first: n_jk is cell
k q + j of its block, q the number of configurations.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit


class Terms(NamedTuple):
    """The terms of a score.

    Parameters
    ----------
    cells, rows : ndarray
        cell(n) and row(n) for the counts n = 0 … N, for scores whose terms depend on the count only.
    ess : float
        The equivalent sample size of a Dirichlet score: cell(n) = log Γ(n + a) − log Γ(a) with a = ess/(q r), and
        row(n) likewise with a = ess/q. 0: the terms are in the tables.
    occurring : bool
        Whether q is the number of the configurations that occur.
    """

    cells: np.ndarray
    rows: np.ndarray
    ess: float
    occurring: bool


@njit(cache=True, nogil=True)
def _log_rising(n, a):
    return lgamma(n + a) - lgamma(a) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def _n_occurring(block, r, q):
    found = 0
    for j in range(q):
        n = 0
        for k in range(r):
            n += block[k * q + j]
        found += n > 0
    return max(found, 1)


@njit(cache=True, nogil=True)
def score_tables(table, first, r, terms, values, totals):
    """Set values[i] to Σ cell − Σ row of the block table[first[i] : first[i + 1]], totals[i] to the rows in it."""
    for i in range(values.shape[0]):
        block = table[first[i] : first[i + 1]]
        q = block.shape[0] // r
        value, total = 0.0, 0
        if terms.ess <= 0.0:
            for j in range(q):
                n = 0
                for k in range(r):
                    m = block[k * q + j]
                    n += m
                    value += terms.cells[m]
                value -= terms.rows[n]
                total += n
        else:
            a = terms.ess / (_n_occurring(block, r, q) if terms.occurring else max(q, 1))
            for j in range(q):
                n = 0
                for k in range(r):
                    m = block[k * q + j]
                    n += m
                    value += _log_rising(m, a / r)
                value -= _log_rising(n, a)
                total += n
        values[i], totals[i] = value, total


@njit(cache=True, nogil=True)
def take_pairs(matrix, state, x, chosen, first, out):
    """Fill the tables of a variable x with each of the chosen ones from the counts of all pairs of states."""
    for i in range(chosen.shape[0]):
        c, at = chosen[i], first[i]
        for k in range(state[x], state[x + 1]):
            for t in range(state[c], state[c + 1]):
                out[at] = matrix[k, t]
                at += 1
