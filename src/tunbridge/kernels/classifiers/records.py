"""Arrays that kernels of classifiers take together. No numba here: small inputs use them without compiling anything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class FamilyTables(NamedTuple):
    """Tables P(x | class, parents) end to end.

    Family f is of the features members[start[f]] (the child) … members[start[f + 1] − 1]; the cell of a row is the sum
    of its codes times the strides, and ``tables[first[f] + cell]`` has an entry for each class.
    """

    members: np.ndarray
    strides: np.ndarray
    start: np.ndarray
    first: np.ndarray
    tables: np.ndarray


class CodedRows(NamedTuple):
    """Rows of codes, (n_features, n_rows), and their classes and weights."""

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


class PrefixTables(NamedTuple):
    """The factors of features with none, one, … all of their parents.

    The f-th feature in order is members[start[f]], its parents follow it, the most telling first; sizes are their
    numbers of states. Its table with k parents begins at row first[f, k] of ``others`` and ``own``: the factors of each
    class without a row of another one, and without one row of that cell and class.
    """

    members: np.ndarray
    start: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    own: np.ndarray
    others: np.ndarray


class Shares(NamedTuple):
    """Room for P(c | x) of each row and number of parents: floats, powers of 2⁻⁵¹², and where these are needed."""

    shares: np.ndarray
    steps: np.ndarray
    in_steps: np.ndarray


class Level(NamedTuple):
    """The rows of one level of a trie.

    Each row has a node and a cell (node, state), −1 outside the trie, a class and a weight; ``totals`` and ``counts``
    are the weights of the rows of each node and of each cell in each class.
    """

    node: np.ndarray
    cell: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    counts: np.ndarray


class Tries(NamedTuple):
    """Tries end to end: the hierarchical estimates P(x | class, parents) of features, each with its exponent.

    Feature f has the base estimate from ``base_first[f]`` and the levels from ``level_first[f]`` on. A level has a
    parent (−1: the class alone), a strength, the children of the nodes before it (from ``child_first``), the cells of
    its nodes and the feature's states (from ``cell_first``), and its nodes (from ``node_first``). Node and cell number
    n have the classes and weights from ``*_start[n]`` to ``*_start[n + 1]``.
    """

    features: np.ndarray
    exponents: np.ndarray
    base_first: np.ndarray
    base: np.ndarray
    level_first: np.ndarray
    parents: np.ndarray
    n_parent_states: np.ndarray
    strengths: np.ndarray
    child_first: np.ndarray
    child: np.ndarray
    cell_first: np.ndarray
    cell: np.ndarray
    n_states: np.ndarray
    node_first: np.ndarray
    node_start: np.ndarray
    node_class: np.ndarray
    node_total: np.ndarray
    cell_start: np.ndarray
    cell_class: np.ndarray
    cell_count: np.ndarray
