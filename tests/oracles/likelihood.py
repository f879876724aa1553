"""Likelihoods of rows with holes from the table of the whole joint distribution, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oracles.enumeration import joint_table
from tunbridge.inference.flat import FlatNetwork
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.probability import CPT


def tables_by_loops(flat: FlatNetwork, eta: Sequence[float]) -> list[CPT]:
    """Return the tables whose rows are the softmax of numbers laid out like the flat tables."""
    cpts, place = [], 0
    for v, variable in enumerate(flat.variables):
        parents = [flat.variables[p] for p in flat.parents_of(v)]
        rows = []
        for _ in range(int(np.prod([p.n_states for p in parents]))):
            raised = [np.exp(eta[place + k]) for k in range(variable.n_states)]
            rows.append([r / sum(raised) for r in raised])
            place += variable.n_states
        cpts.append(CPT(variable, parents, rows))
    return cpts


def log_likelihood(cpts: Sequence[CPT], codes: np.ndarray, weights: np.ndarray) -> float:
    """Return Σ w ln P(row), each row a sum over the cells of the joint table that agree with it."""
    joint, total = joint_table(cpts), 0.0
    for row, weight in zip(codes.T, weights, strict=True):
        cells = tuple(slice(None) if code < 0 else code for code in row)
        total += weight * np.log(np.sum(joint[cells]))
    return float(total)


def conditional_log_likelihood(cpts: Sequence[CPT], codes: np.ndarray, weights: np.ndarray, target: int) -> float:
    """Return Σ w ln P(class | rest) over the rows with a class, each a ratio of two sums over the joint table."""
    joint, total = joint_table(cpts), 0.0
    for row, weight in zip(codes.T, weights, strict=True):
        if row[target] < 0:
            continue
        cells = [slice(None) if code < 0 else code for code in row]
        seen = np.sum(joint[tuple(cells)])
        cells[target] = slice(None)
        total += weight * np.log(seen / np.sum(joint[tuple(cells)]))
    return float(total)


def log_prior(cpts: Sequence[CPT], pseudo_counts: np.ndarray) -> float:
    """Return Σ a ln θ."""
    return float(pseudo_counts @ np.log(np.concatenate([cpt.table().ravel() for cpt in cpts])))


def central_differences(function: Callable[[np.ndarray], float], at: np.ndarray, width: float = 1e-5) -> np.ndarray:
    """Return the derivative by each number, from the function a little to either side."""
    found = np.empty(len(at))
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = width
        found[i] = (function(at + step) - function(at - step)) / (2.0 * width)
    return found


def em_by_steps(problem: DiscreteProblem, n_iterations: int) -> np.ndarray:
    """Return the tables after so many plain iterations of EM."""
    tables = problem.start.tables
    for _ in range(n_iterations):
        tables = problem.estimate(problem.expected(tables))
    return tables
