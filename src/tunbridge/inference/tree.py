"""Junction trees: potentials are triangulated and compiled once into a program, which runs as often as needed.

Potentials are tables over some of the variables (their scopes); the joint distribution is their product. Triangulation
(``kernels.inference.elimination``) and the compiler (``kernels.inference.junction``) look at scopes and numbers of
states only, so new numbers, and new findings about the same variables, use the same program.

A :class:`Sketch` is a tree before it is compiled, a :class:`Plan` a compiled tree with the numbers of one question.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory, memory_limit
from tunbridge.inference import array_propagation as arrays
from tunbridge.inference.array_propagation import LOGARITHMS, is_python_quicker, is_quicker
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.flat import Potentials
from tunbridge.kernels.compiled import announce, is_compiled, plain, ready
from tunbridge.kernels.inference import elimination, junction, propagation
from tunbridge.kernels.inference.elimination import HOPELESS, MOST_ORDERS
from tunbridge.kernels.inference.propagation import HOME, MEMBERS, SAFE, Layout, Program

if TYPE_CHECKING:
    from tunbridge.kernels.compiled import Kernel

COUNTABLE = HOPELESS
"""How many entries a tree may have to be compiled; more are not even counted."""

_NOTHING = np.empty(0, np.int64)
_NO_LIKELIHOODS = np.empty((0, 1))
_LOG_SMALL = -600.0
_ORDERED, _SCHEDULED = 2e-3, 2e-4  # seconds in which Python finds an elimination order and a schedule, per variable
_FEW = 2.0**16  # entries that take little memory however they are multiplied
_MOST_AT_ONCE = 2.0**25  # entries for which NumPy, which writes out whole cliques, takes little memory
_LARGE = 2.0**22  # entries of the cliques for which a better elimination order is worth a compiler
_UNDERFLOW_WAYS_OUT = "Replace very small probabilities (below 1e-100) by 0."


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
    potentials: Potentials,
    *,
    together: np.ndarray = _NOTHING,
    last: np.ndarray | None = None,
    most_orders: int = MOST_ORDERS,
) -> Triangulation:
    """Return a good elimination order; as long as kernels are not compiled, only one is tried where that will do.

    Parameters
    ----------
    potentials : Potentials
        What is to be eliminated.
    together : ndarray of int
        Variables that have to be in one clique.
    last : ndarray of bool, optional
        Variables that are eliminated only when all others are.
    most_orders : int
        How many orders are tried at most.
    """
    group = np.zeros(len(potentials.n_states), np.int64) if last is None else np.asarray(last, np.int64)
    return find_order(potentials.n_states, group, *_with_scope(potentials, together), most_orders)


def find_order(
    n_states: np.ndarray, group: np.ndarray, scope_start: np.ndarray, scope_vars: np.ndarray, most_orders: int
) -> Triangulation:
    """Return a good elimination order for tables with these scopes; variables of group 1 come last."""
    given = (n_states, group, scope_start, scope_vars)
    if is_python_quicker(_ORDERED * len(n_states), elimination.best_order):
        n_entries, order, clique_start, nodes = plain(elimination.find_order)(*given, 1)
        if n_entries <= _LARGE:
            return Triangulation(n_entries, order, clique_start, nodes, group)
    n_entries, order, clique_start, nodes = elimination.find_order(*given, most_orders)
    return Triangulation(n_entries, order, clique_start, nodes, group)


def _with_scope(potentials: Potentials, together: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(together):
        return potentials.scope_start, potentials.scope_vars
    scopes = np.concatenate([potentials.scope_vars, together])
    return np.append(potentials.scope_start, len(scopes)), scopes


class Run(NamedTuple):
    """A buffer in use: its layout, the memory, and the potentials that are in it."""

    at: Layout
    x: np.ndarray
    potentials: Potentials


class Shelf:
    """The memory that all trees of a network together may keep between runs."""

    __slots__ = ("_lock", "room")

    def __init__(self, room: int) -> None:
        self.room = room
        self._lock = threading.Lock()

    def take(self, n_bytes: int) -> bool:
        """Reserve memory; return whether there was enough."""
        with self._lock:
            if n_bytes > self.room:
                return False
            self.room -= n_bytes
            return True

    def free(self, n_bytes: int) -> None:
        """Release memory."""
        with self._lock:
            self.room += n_bytes


class Tree:
    """A compiled junction tree. Several threads may run it at once, each with a buffer of its own.

    Parameters
    ----------
    program : Program
        What the kernels run.
    n_entries : float
        The entries of all cliques' tables.
    shelf : Shelf, optional
        Where buffers are kept between runs; without one they are not.
    """

    __slots__ = ("_kept", "_lock", "_shelf", "n_entries", "program")

    def __init__(self, program: Program, n_entries: float, shelf: Shelf | None = None) -> None:
        self.program, self.n_entries, self._shelf = program, n_entries, shelf
        self._kept: dict[int, list[Run]] = {}
        self._lock = threading.Lock()

    def n_bytes(self, lanes: int = 1) -> int:
        """Return the bytes that a run takes."""
        return 8 * self._layout(lanes).end

    def clique(self, c: int) -> list[int]:
        """Return the variables of a clique, in the order of its axes."""
        low, high = self.program.cliques[c : c + 2, MEMBERS]
        return self.program.members[low:high].tolist()

    def clique_of(self, variables: Sequence[int]) -> list[int]:
        """Return the variables of the clique in which the first of the variables is eliminated."""
        return self.clique(self.program.variables[list(variables), HOME].min())

    def take(self, potentials: Potentials, lanes: int = 1, extra: int = 0) -> Run:
        """Return a buffer with the potentials in it, and ``extra`` entries behind."""
        with self._lock:
            kept = self._kept.get(lanes)
            run = kept.pop() if kept else None
        if run is not None and self._shelf is not None:
            self._shelf.free(run.x.nbytes)
        at = self._layout(lanes) if run is None else run.at
        if run is None or len(run.x) < at.end + extra:
            run = Run(at, np.empty(at.end + extra), potentials)
            self._load(run)
        elif run.potentials is not potentials:
            run = run._replace(potentials=potentials)
            self._load(run)
        return run

    def give_back(self, run: Run, lanes: int = 1) -> None:
        """Keep a buffer for the next run: touching new memory costs more than most runs."""
        if self._shelf is not None and self._shelf.take(run.x.nbytes):
            with self._lock:
                self._kept.setdefault(lanes, []).append(run)

    def clear(self) -> None:
        """Free all buffers."""
        with self._lock:
            runs = [run for kept in self._kept.values() for run in kept]
            self._kept, shelf, self._shelf = {}, self._shelf, None
        if shelf is not None:
            shelf.free(sum(run.x.nbytes for run in runs))

    @contextmanager
    def borrow(self, potentials: Potentials, lanes: int = 1, extra: int = 0) -> Iterator[Run]:
        """Yield a buffer for the ``with`` block; after an error it is not kept."""
        run = self.take(potentials, lanes, extra)
        yield run
        self.give_back(run, lanes)

    def propagate(self, run: Run, findings: propagation.Evidence, wanted: np.ndarray, joint: np.ndarray) -> None:
        """Compute ln P(evidence), the wanted marginals and a joint table in the buffer of a run."""
        if self.is_array_quicker(propagation.propagate, findings.codes.shape[1]):
            arrays.propagate(self.program, run.x, run.at, findings, wanted, joint)
        else:
            announce(propagation.propagate, "exact inference", 20)
            propagation.propagate(self.program, run.x, findings, wanted, joint)
        if not run.x[SAFE]:
            self.propagate_logarithms(run, _with_logarithms(findings), wanted, joint)

    def propagate_logarithms(
        self, run: Run, findings: propagation.Evidence, wanted: np.ndarray, joint: np.ndarray
    ) -> None:
        """Do as :meth:`propagate`, on logarithms: those of the likelihoods are given."""
        self._check_logarithms(findings)
        arrays.propagate(self.program, run.x, run.at, findings, wanted, joint, LOGARITHMS)

    def maximise(self, run: Run, findings: propagation.Evidence, is_maximised: np.ndarray, chosen: np.ndarray) -> float:
        """Fill ``chosen`` with the most probable states of the variables that are maximised; return their ln P."""
        if self.is_array_quicker(propagation.maximise):
            found = arrays.maximise(self.program, run.x, run.at, findings, is_maximised, chosen)
        else:
            announce(propagation.maximise, "most probable states", 20)
            found = propagation.maximise(self.program, run.x, findings, is_maximised, chosen)
        if not run.x[SAFE]:
            findings = _with_logarithms(findings)
            self._check_logarithms(findings)
            found = arrays.maximise(self.program, run.x, run.at, findings, is_maximised, chosen, LOGARITHMS)
        return float(found)

    def condition(self, run: Run, findings: propagation.Evidence, table_start: np.ndarray, tables: np.ndarray) -> float:
        """Fill ``tables`` with the distribution of each variable given its separator; return ln P(evidence)."""
        if self.is_array_quicker(propagation.condition):
            found = arrays.condition(self.program, run.x, run.at, findings, table_start, tables)
        else:
            announce(propagation.condition, "sampling given evidence", 20)
            found = propagation.condition(self.program, run.x, findings, table_start, tables)
        if not run.x[SAFE]:
            findings = _with_logarithms(findings)
            self._check_logarithms(findings)
            found = arrays.condition(self.program, run.x, run.at, findings, table_start, tables, LOGARITHMS)
        return float(found)

    def is_array_quicker(self, kernel: Kernel, lanes: int = 1, runs: int = 1) -> bool:
        """Return whether NumPy does some runs, each for several rows, before a kernel would be compiled."""
        n_entries = self.n_entries * lanes
        if n_entries > _MOST_AT_ONCE or not is_quicker(runs * arrays.seconds(self.program, n_entries), kernel):
            return False
        return n_entries <= _FEW or arrays.peak(self.program, lanes) <= memory_limit()

    def _check_logarithms(self, findings: propagation.Evidence) -> None:
        """Raise MemoryForecastError where the tables that a run on logarithms takes would not fit."""
        n_bytes = arrays.peak(self.program, findings.codes.shape[1])
        check_memory("exact inference with logarithms", n_bytes, ways_out=_UNDERFLOW_WAYS_OUT)

    def _layout(self, lanes: int) -> Layout:
        found: Layout = ready(propagation.layout, 0)(self.program.sizes, lanes)
        return found

    def _load(self, run: Run) -> None:
        given = run.potentials
        if is_compiled(propagation.load_potentials):
            propagation.load_potentials(self.program, given.scope_vars, given.tables, run.x)
        else:
            arrays.load(self.program, given.scope_vars, given.tables, run.x, run.at)


def compile_tree(
    potentials: Potentials,
    triangulation: Triangulation,
    together: np.ndarray = _NOTHING,
    shelf: Shelf | None = None,
) -> Tree:
    """Return the compiled tree, which takes memory for its structure only."""
    starts, scopes = _with_scope(potentials, together)
    compile_program = junction.compile_program
    if is_python_quicker(_SCHEDULED * len(potentials.n_states), compile_program):
        compile_program = plain(compile_program)
    fields = compile_program(potentials.n_states, starts, scopes, potentials.n_potentials, triangulation)
    return Tree(Program(*fields), triangulation.n_entries, shelf)


# Plans


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
        Variables that are in one clique.
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
        """Return where each of the network's n variables is in the tree, −1 when it is not."""
        if self.variables is None:
            return np.arange(n)
        places = np.full(max(n, int(self.variables.max(initial=-1)) + 1), -1, np.int64)
        places[self.variables] = np.arange(len(self.variables))
        return places[:n]

    def findings(self, evidence: Evidence, places: np.ndarray | None) -> propagation.Evidence:
        """Return the evidence as the kernels read it."""
        n_states = self.potentials.n_states
        codes, is_soft = np.empty((len(n_states), 1), np.int64), np.zeros(len(n_states), np.int64)
        codes.fill(-1)  # np.full takes five times as long for a small array, and most are
        if self.variables is None:
            for v, code in evidence.hard.items():
                codes[v, 0] = code
        if not evidence.soft:
            return propagation.Evidence(codes, _NO_LIKELIHOODS, is_soft)
        soft = np.empty((int(n_states.sum()), 1))
        for v, likelihood in evidence.soft.items():
            if (i := v if places is None else int(places[v])) >= 0:
                is_soft[i] = 1
                start = int(n_states[:i].sum())
                soft[start : start + len(likelihood), 0] = likelihood
        return propagation.Evidence(codes, soft, is_soft)


# Runs


class Answer(NamedTuple):
    """The result of one run.

    Parameters
    ----------
    log_evidence : float
        The logarithm of the probability of the evidence; −∞ when it is impossible (the rest is then undefined).
    marginals : ndarray
        The distributions of all variables, concatenated; those that were not wanted are not filled.
    joint : ndarray or None
        The joint distribution of the targets, one axis each in the order asked.
    knows_evidence : bool
        Whether all findings took part. Those that do not bear on the targets may have been left out.
    """

    log_evidence: float
    marginals: np.ndarray
    joint: np.ndarray | None = None
    knows_evidence: bool = True


class States(NamedTuple):
    """The number of states of each variable of a network, and where each begins in an array over all states."""

    n_states: np.ndarray
    starts: list[int]

    def put(self, v: int, part: np.ndarray, marginals: np.ndarray) -> None:
        """Put a variable's distribution among those of all."""
        marginals[self.starts[v] : self.starts[v + 1]] = part


def run_tree(
    plan: Plan, evidence: Evidence, states: States, wanted: Sequence[int] | None, joint: Sequence[int]
) -> Answer:
    """Return the marginals of the wanted variables (None: of all) and the joint distribution, by a compiled tree."""
    n = len(states.n_states)
    places = None if plan.variables is None else plan.places(n)
    findings = plan.findings(evidence, places)
    asked = _NOTHING if not joint else _in_tree_order(plan, places, joint)
    shape = [1 if findings.codes[v, 0] >= 0 else int(plan.potentials.n_states[v]) for v in asked]
    size = math.prod(shape) if joint else 0
    if size:
        check_memory("the joint distribution", 8.0 * size, ways_out="Ask for fewer variables at once.")
    marks = _marks(len(findings.codes), places, wanted)
    run = plan.tree.take(plan.potentials, extra=size)
    at, x, _ = run
    plan.tree.propagate(run, findings, marks, asked)
    marginals = x[at.marginals : at.up].copy()
    table = x[at.end : at.end + size].copy() if joint else _NOTHING
    log_probability = float(x[at.log_evidence]) + plan.log_factor + evidence.log_factor
    plan.tree.give_back(run)
    if plan.variables is not None:
        marginals = _spread(plan, evidence, states, marginals)
    if not joint:
        return Answer(log_probability, marginals, None, plan.knows_evidence)
    scope = asked.tolist() if plan.variables is None else plan.variables[asked].tolist()
    table = table.reshape(shape) if len(asked) else np.ones(())
    joint_table = arranged(table, scope, evidence, states, joint)
    return Answer(log_probability, marginals, joint_table, plan.knows_evidence)


def _marks(n: int, places: np.ndarray | None, wanted: Sequence[int] | None) -> np.ndarray:
    """Mark the tree's variables whose marginals are wanted."""
    marks = np.zeros(n, np.int64)
    if wanted is None:
        marks.fill(1)
        return marks
    for v in wanted:
        at = v if places is None else places[v]
        if at >= 0:
            marks[at] = 1
    return marks


def _in_tree_order(plan: Plan, places: np.ndarray | None, joint: Sequence[int]) -> np.ndarray:
    """Return the places of a joint distribution's variables in the order of their clique's axes; observed ones lack."""
    inside = [int(v if places is None else places[v]) for v in joint]
    inside = [v for v in inside if v >= 0]
    return np.array([v for v in plan.tree.clique_of(inside) if v in inside] if inside else [], np.int64)


def _spread(plan: Plan, evidence: Evidence, states: States, found: np.ndarray) -> np.ndarray:
    """Put the marginals of a tree where they belong among all of the network's variables."""
    assert plan.variables is not None
    marginals = np.zeros(states.starts[-1])
    starts = [0, *np.cumsum(plan.potentials.n_states).tolist()]
    for i, v in enumerate(plan.variables.tolist()):
        if v < len(states.n_states):
            states.put(v, found[starts[i] : starts[i + 1]], marginals)
    for v, code in evidence.hard.items():
        marginals[states.starts[v] + code] = 1.0
    return marginals


def arranged(
    table: np.ndarray, scope: list[int], evidence: Evidence, states: States, joint: Sequence[int]
) -> np.ndarray:
    """Return a joint table with an axis for each variable asked, in that order; observed ones are certain."""
    certain = [v for v in joint if v not in scope]
    table = table.reshape(table.shape + (1,) * len(certain))
    table = table.transpose([[*scope, *certain].index(v) for v in joint])
    if not evidence.hard:
        return np.ascontiguousarray(table)
    wide = np.zeros(states.n_states[list(joint)])
    wide[tuple(slice(c, c + 1) if (c := evidence.hard.get(v, -1)) >= 0 else slice(None) for v in joint)] = table
    return wide


def _with_logarithms(findings: propagation.Evidence) -> propagation.Evidence:
    """Return evidence with the logarithms of its likelihoods, as :mod:`array_propagation` takes it."""
    with np.errstate(all="ignore"):  # likelihoods of variables that have none are not filled
        return findings._replace(likelihoods=np.log(findings.likelihoods))


def needs_logarithms(logs: np.ndarray) -> np.ndarray:
    """Return for which rows (columns) a possible likelihood is too small for a product, the largest being 1."""
    return np.any((logs < _LOG_SMALL) & (logs > -np.inf), axis=0)


def run_lanes(
    tree: Tree,
    potentials: Potentials,
    codes: np.ndarray,
    soft: Mapping[int, np.ndarray],
    asked: Sequence[int],
    starts: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return ln P(evidence) and the marginals of some variables, side by side, for several rows in one run.

    Parameters
    ----------
    tree, potentials
        The compiled tree of the whole network, and its numbers.
    codes : ndarray of shape (n_variables, lanes)
        The states of each row, −1 where they are missing.
    soft : mapping of int to ndarray of shape (n_states, lanes)
        The logarithms of the likelihoods of the states of some variables in each row, the largest 0.
    asked : sequence of int
        The variables whose marginals are returned.
    starts : sequence of int
        Where the states of each variable begin among all states.
    """
    n_states, lanes = potentials.n_states, codes.shape[1]
    findings = np.full((len(n_states), lanes), -1, np.int64)
    findings[: len(codes)] = codes
    wanted, is_soft = np.zeros(len(n_states), np.int64), np.zeros(len(n_states), np.int64)
    wanted[list(asked)] = 1
    likelihoods = np.empty((int(n_states.sum()), lanes))
    is_wide = any(needs_logarithms(logs).any() for logs in soft.values())
    for v, logs in soft.items():
        is_soft[v] = 1
        likelihoods[starts[v] : starts[v + 1]] = logs if is_wide else np.exp(logs)
    evidence = propagation.Evidence(findings, likelihoods, is_soft)
    with tree.borrow(potentials, lanes) as run:
        (tree.propagate_logarithms if is_wide else tree.propagate)(run, evidence, wanted, _NOTHING)
        at, x, _ = run
        log_evidence = x[at.log_evidence : at.marginals].copy()
        marginals = x[at.marginals : at.up].reshape(-1, lanes)
        chosen = [marginals[starts[v] : starts[v + 1]] for v in asked]
        found = np.concatenate(chosen).T if chosen else np.empty((lanes, 0))
    found[np.isneginf(log_evidence)] = np.nan
    return log_evidence, found
