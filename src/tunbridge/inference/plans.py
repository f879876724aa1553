"""How a question is answered: which tables matter, in which order their variables are eliminated, by which tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.inference.evidence import Evidence
from tunbridge.inference.potentials import Potentials
from tunbridge.inference.tree import Tree, Triangulation, compile_tree
from tunbridge.kernels.elimination import HOPELESS

COUNTABLE = HOPELESS
"""How many entries a tree may have at most to be compiled at all; more were not even counted."""

_NO_LIKELIHOODS = np.empty((0, 1))


class Sketch(NamedTuple):
    """A tree before it is compiled: the tables that matter without the observed variables, and an elimination order.

    Parameters
    ----------
    potentials : Potentials
        The tables.
    variables : ndarray
        The network's number of each variable that is left.
    log_factor : float
        What the tables without any variable left contribute.
    found : Triangulation
        The elimination order.
    together : ndarray
        Variables that stand in one clique.
    """

    potentials: Potentials
    variables: np.ndarray
    log_factor: float
    found: Triangulation
    together: np.ndarray

    def n_bytes(self) -> float:
        """Return the memory that a run takes; where that is beyond measure, what it takes at least."""
        if self.found.n_entries > COUNTABLE:
            return 8.0 * COUNTABLE
        return float(compile_tree(self.potentials, self.found, self.together).n_bytes())


class Plan(NamedTuple):
    """How a question is answered: a tree, its numbers, and which of the network's variables are in it.

    Parameters
    ----------
    tree : Tree
        The compiled tree.
    potentials : Potentials
        Its numbers.
    variables : ndarray or None
        The network's number of each of the tree's variables; None when they are the same.
    log_factor : float
        What the tables without any variable left contribute.
    knows_evidence : bool
        Whether all findings take part.
    """

    tree: Tree
    potentials: Potentials
    variables: np.ndarray | None = None
    log_factor: float = 0.0
    knows_evidence: bool = True

    def places(self, n: int) -> np.ndarray:
        """Return where each of the network's n variables is in the tree, −1 when it is not there."""
        if self.variables is None:
            return np.arange(n)
        places = np.full(max(n, int(self.variables.max(initial=-1)) + 1), -1, np.int64)
        places[self.variables] = np.arange(len(self.variables))
        return places[:n]

    def findings(self, evidence: Evidence, places: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the evidence as the kernels read it: codes, likelihoods, and which variables have likelihoods."""
        n_states = self.potentials.n_states
        codes, is_soft = np.empty((len(n_states), 1), np.int64), np.zeros(len(n_states), np.int64)
        codes.fill(-1)  # np.full takes five times as long for a small array, and most are
        if self.variables is None:
            for v, code in evidence.hard.items():
                codes[v, 0] = code
        if not evidence.soft:
            return codes, _NO_LIKELIHOODS, is_soft
        soft = np.empty((int(n_states.sum()), 1))
        for v, likelihood in evidence.soft.items():
            if (i := v if places is None else int(places[v])) >= 0:
                is_soft[i] = 1
                start = int(n_states[:i].sum())
                soft[start : start + len(likelihood), 0] = likelihood
        return codes, soft, is_soft
