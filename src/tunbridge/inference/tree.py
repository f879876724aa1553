"""A junction tree: potentials triangulated and compiled once into a flat program, and run as often as wanted.

Potentials are tables over some of the variables (their scopes); the joint distribution is their product. Triangulation
(:mod:`tunbridge.kernels.elimination`) and the compiler (:mod:`tunbridge.kernels.junction`) only look at scopes and
numbers of states, so that new numbers, and new findings on the same variables, use the same program.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tunbridge.inference.potentials import Potentials
from tunbridge.kernels import buffer, elimination, junction, program
from tunbridge.kernels.elimination import MOST_ORDERS

_NOTHING = np.empty(0, np.int64)


class Triangulation(NamedTuple):
    """An elimination order with its cliques, and how many entries the tables of all cliques have together."""

    n_entries: float
    order: np.ndarray
    clique_start: np.ndarray
    clique_nodes: np.ndarray
    group: np.ndarray

    def sizes(self, n_states: np.ndarray) -> np.ndarray:
        """Return the entries of the clique of each step, for these numbers of states."""
        logs = np.log(n_states)
        sums = np.concatenate([[0.0], np.cumsum(logs[self.clique_nodes[: self.clique_start[-1]]])])
        return np.exp(np.minimum(logs[self.order] + sums[self.clique_start[1:]] - sums[self.clique_start[:-1]], 700.0))

    def largest_clique(self, n_states: np.ndarray) -> tuple[list[int], float]:
        """Return the variables of the clique with the largest table, and its number of entries."""
        sizes = self.sizes(n_states)
        if not len(sizes):
            return [], 1.0
        step = int(sizes.argmax())
        nodes = self.clique_nodes[self.clique_start[step] : self.clique_start[step + 1]]
        return [int(self.order[step]), *nodes.tolist()], float(sizes[step])


def triangulate(
    potentials: Potentials, *, together: np.ndarray = _NOTHING, last: Any = None, most_orders: int = MOST_ORDERS
) -> Triangulation:
    """Return a good elimination order.

    Parameters
    ----------
    potentials : Potentials
        What is to be eliminated.
    together : ndarray of int
        Variables that are to stand in one clique.
    last : ndarray of bool, optional
        Variables that are eliminated only when all others are.
    most_orders : int
        How many orders are tried at most.
    """
    n = len(potentials.n_states)
    group = np.zeros(n, np.int64) if last is None else np.asarray(last, np.int64)
    starts, scopes = _with_scope(potentials, together)
    n_entries, order, clique_start, nodes = elimination.find_order(
        potentials.n_states, group, starts, scopes, most_orders
    )
    return Triangulation(n_entries, order, clique_start, nodes, group)


def _with_scope(potentials: Potentials, together: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(together):
        return potentials.scope_start, potentials.scope_vars
    scopes = np.concatenate([potentials.scope_vars, together])
    return np.append(potentials.scope_start, len(scopes)), scopes


class Run(NamedTuple):
    """A buffer while it is in use: its layout, the memory, and whose potentials are in it."""

    parts: np.ndarray
    buffer: np.ndarray
    potentials: Potentials


class Shelf:
    """How much memory the trees of a network may keep between runs, all together."""

    __slots__ = ("_lock", "room")

    def __init__(self, room: int) -> None:
        self.room = room
        self._lock = threading.Lock()

    def take(self, n_bytes: int) -> bool:
        """Take room; return whether there was enough."""
        with self._lock:
            if n_bytes > self.room:
                return False
            self.room -= n_bytes
            return True

    def free(self, n_bytes: int) -> None:
        """Give room back."""
        with self._lock:
            self.room += n_bytes


class Tree:
    """A compiled junction tree. Several threads may run it at once, each with a buffer of its own.

    Parameters
    ----------
    program : ndarray
        What the kernels run.
    n_entries : float
        The entries of all cliques' tables.
    shelf : Shelf, optional
        Where buffers are kept between runs; without one they are not.
    """

    __slots__ = ("_kept", "_lock", "_shelf", "n_entries", "program")

    def __init__(self, program: np.ndarray, n_entries: float, shelf: Shelf | None = None) -> None:
        self.program, self.n_entries, self._shelf = program, n_entries, shelf
        self._kept: dict[int, list[Run]] = {}
        self._lock = threading.Lock()

    def section(self, k: Any) -> np.ndarray:
        """Return one section of the program."""
        return self.program[self.program[k] : self.program[k + 1]]

    def n_bytes(self, lanes: int = 1) -> int:
        """Return the bytes that a run takes."""
        return 8 * int(buffer.layout(self.program, lanes)[-1])

    def clique_of(self, variables: Sequence[int]) -> list[int]:
        """Return the variables of the clique in which the first of the variables is eliminated, in its axes' order."""
        home = self.section(program.HOME)[list(variables)].min()
        starts = self.section(program.CLIQUE_START)
        return self.section(program.CLIQUE_VARS)[starts[home] : starts[home + 1]].tolist()

    def take(self, potentials: Potentials, lanes: int = 1, extra: int = 0) -> Run:
        """Lend a buffer with the potentials in it, and ``extra`` entries behind."""
        with self._lock:
            kept = self._kept.get(lanes)
            run = kept.pop() if kept else None
        if run is not None and self._shelf is not None:
            self._shelf.free(run.buffer.nbytes)
        parts = buffer.layout(self.program, lanes) if run is None else run.parts
        if run is None or len(run.buffer) < parts[-1] + extra:
            run = Run(parts, np.empty(int(parts[-1]) + extra), potentials)
            self._load(run)
        elif run.potentials is not potentials:
            run = run._replace(potentials=potentials)
            self._load(run)
        return run

    def give_back(self, run: Run, lanes: int = 1) -> None:
        """Keep a buffer for the next run: to touch new memory costs more than most runs."""
        if self._shelf is not None and self._shelf.take(run.buffer.nbytes):
            with self._lock:
                self._kept.setdefault(lanes, []).append(run)

    def clear(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            runs = [run for kept in self._kept.values() for run in kept]
            self._kept, shelf, self._shelf = {}, self._shelf, None
        if shelf is not None:
            shelf.free(sum(run.buffer.nbytes for run in runs))

    @contextmanager
    def borrow(self, potentials: Potentials, lanes: int = 1, extra: int = 0) -> Iterator[Run]:
        """Lend a buffer for as long as the ``with`` block lasts; after an error it is not kept."""
        run = self.take(potentials, lanes, extra)
        yield run
        self.give_back(run, lanes)

    def _load(self, run: Run) -> None:
        p = run.potentials
        buffer.load_potentials(self.program, p.scope_start, p.scope_vars, p.tables, run.buffer)


def compile_tree(
    potentials: Potentials, triangulation: Triangulation, together: np.ndarray = _NOTHING, shelf: Shelf | None = None
) -> Tree:
    """Return the compiled tree, which takes memory for its structure only."""
    starts, scopes = _with_scope(potentials, together)
    t = triangulation
    program = junction.compile_program(
        potentials.n_states, t.group, starts, scopes, potentials.n_potentials, t.order, t.clique_start, t.clique_nodes
    )
    return Tree(program, t.n_entries, shelf)
