"""A network ready to be asked: its potentials, and the junction trees compiled for the questions asked so far.

The tree of the whole network is compiled once. Where it is small, every question uses it: evidence shortens the axes of
its tables, and the way down is only walked to what is asked for. Where it is large, a question gets a tree of its own
if that is much cheaper: tables that cannot matter (barren and d-separated nodes) are dropped and observed variables
leave the graph before it is triangulated. Such trees are kept, too: new findings on the same variables reuse them.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge.data import Variable
from tunbridge.graph.separation import requisite
from tunbridge.graph.walks import closure
from tunbridge.inference.evidence import NO_EVIDENCE, Evidence
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.inference.potentials import Potentials, gather_potentials, is_chained, is_large_sparse
from tunbridge.inference.tree import Tree, Triangulation, compile_tree, triangulate
from tunbridge.kernels import propagation

if TYPE_CHECKING:
    from tunbridge.probability import ConditionalTable

_SMALL_TREE = 30_000  # entries: below, the tree of the whole network answers at once
_WORTH_A_TREE = 0.5  # a tree for one question must have at most this share of the entries
_KEPT_TREES = 32
_COUNTABLE = 2.0**55  # entries: more are never compiled
_NOTHING = np.empty(0, np.int64)
WAYS_OUT = (
    "Ways out: observe more variables; give nodes fewer parents or states; or ask for an approximate answer with "
    "method='likelihood-weighting'."
)


@dataclass(frozen=True)
class Answer:
    """What one run tells.

    Parameters
    ----------
    log_evidence : float
        The logarithm of the probability of the evidence; −∞ when it is impossible (and then nothing else is told).
    marginals : ndarray
        The distributions of all variables end to end; those that were not wanted are not filled.
    joint : ndarray or None
        The joint distribution of the targets, one axis each in the order asked.
    """

    log_evidence: float
    marginals: np.ndarray
    joint: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Sketch:
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
        """Return the memory that a run takes, or a bound of it where that is beyond measure."""
        if self.found.n_entries > _COUNTABLE:
            return 8.0 * self.found.n_entries
        return float(compile_tree(self.potentials, self.found, self.together).n_bytes())


@dataclass(frozen=True)
class Plan:
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
    """

    tree: Tree
    potentials: Potentials
    variables: np.ndarray | None = None
    log_factor: float = 0.0

    def places(self, n: int) -> np.ndarray:
        """Return where each of the network's n variables is in the tree, −1 when it is not there."""
        if self.variables is None:
            return np.arange(n)
        places = np.full(max(n, int(self.variables.max(initial=-1)) + 1), -1, np.int64)
        places[self.variables] = np.arange(len(self.variables))
        return places[:n]

    def findings(self, evidence: Evidence, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the evidence as the kernels read it: codes, likelihoods, and which variables have likelihoods."""
        n_states = self.potentials.n_states
        codes = np.full((len(n_states), 1), -1, np.int64)
        soft, is_soft = np.empty((int(n_states.sum()), 1)), np.zeros(len(n_states), np.int64)
        if self.variables is None:
            for v, code in evidence.hard.items():
                codes[v, 0] = code
        for v, likelihood in evidence.soft.items():
            if (i := int(places[v])) >= 0:
                is_soft[i] = 1
                start = int(n_states[:i].sum())
                soft[start : start + len(likelihood), 0] = likelihood
        return codes, soft, is_soft


class Engine:
    """A network's tables, compiled as questions need it. Safe to share between threads.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        One for each variable; the variables are numbered in this order.
    """

    def __init__(self, cpts: Sequence[ConditionalTable]) -> None:
        self.cpts = tuple(cpts)
        self.variables: tuple[Variable, ...] = tuple(cpt.variable for cpt in self.cpts)
        self.index = {variable.name: v for v, variable in enumerate(self.variables)}
        self._lock = threading.RLock()
        self._trees: OrderedDict[Any, Tree] = OrderedDict()

    # The network as arrays

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @cached_property
    def n_states(self) -> np.ndarray:
        """The number of states of each variable."""
        return np.array([v.n_states for v in self.variables], np.int64)

    @cached_property
    def starts(self) -> list[int]:
        """Where the states of each variable begin in an array over all of them, and last its length."""
        return [0, *np.cumsum(self.n_states).tolist()]

    @cached_property
    def parents(self) -> list[list[int]]:
        """The numbers of the parents of each variable, in the order of its table."""
        return [[self.index[p.name] for p in cpt.parents] for cpt in self.cpts]

    @cached_property
    def children(self) -> list[list[int]]:
        """The numbers of the children of each variable."""
        children: list[list[int]] = [[] for _ in self.cpts]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(child)
        return children

    @cached_property
    def flat(self) -> FlatNetwork:
        """The network with every table written out; auxiliary variables of noisy tables come behind the others."""
        return self.potentials.as_network(self.variables) if any(map(is_chained, self.cpts)) else flatten(self.cpts)

    @cached_property
    def is_flat(self) -> bool:
        """Whether every table may be written out: none is large and sparse or a long chain."""
        return not self.needs_reduction and not any(map(is_chained, self.cpts))

    @cached_property
    def child_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The children of all variables end to end, and where those of each begin."""
        starts = np.cumsum([0, *map(len, self.children)], dtype=np.int64)
        return starts, np.array([child for some in self.children for child in some], np.int64)

    @cached_property
    def needs_reduction(self) -> bool:
        """Whether a table is too large to be written out before evidence has fixed some of its parents."""
        return any(map(is_large_sparse, self.cpts))

    @cached_property
    def potentials(self) -> Potentials:
        """The tables as potentials; those of noisy nodes with many parents as chains of small ones."""
        return gather_potentials(self.cpts, self.parents, self.n_states)

    @cached_property
    def whole(self) -> Sketch:
        """The whole network, triangulated."""
        with self._lock:
            found = triangulate(self.potentials)
            return Sketch(self.potentials, np.arange(len(self.potentials.n_states)), 0.0, found, _NOTHING)

    @cached_property
    def tree(self) -> Tree:
        """The compiled tree of the whole network."""
        with self._lock:
            return self.compile(self.whole)

    def with_tables(self, cpts: Sequence[ConditionalTable]) -> Engine:
        """Return the same network with other numbers in its tables; what was compiled is shared."""
        other = Engine(cpts)
        other._trees = self._trees
        other._lock = self._lock
        if not self.needs_reduction:
            other.__dict__["whole"] = replace(self.whole, potentials=other.potentials)
            other.__dict__["tree"] = self.tree
        return other

    def compile(self, sketch: Sketch) -> Tree:
        """Return a compiled tree; raise MemoryForecastError before anything large is allocated."""
        n_entries = sketch.found.n_entries
        if n_entries > _COUNTABLE:
            check_memory(self._in_words(sketch), 8.0 * n_entries, ways_out=WAYS_OUT, limit=_COUNTABLE)
        tree = compile_tree(sketch.potentials, sketch.found, sketch.together)
        if n_entries > _SMALL_TREE:
            check_memory(self._in_words(sketch), tree.n_bytes(), ways_out=WAYS_OUT)
        return tree

    def _in_words(self, sketch: Sketch) -> str:
        """Return a computation in words for a message about memory: its largest clique by name."""
        members, size = sketch.found.largest_clique(sketch.potentials.n_states)
        numbers = sorted(int(sketch.variables[v]) for v in members)
        names = listed([self.variables[v].name for v in numbers if v < self.n_variables], most=4)
        return f"exact inference (largest clique: {len(members)} variables, {size:.3g} entries: {names})"

    # Runs

    def run(
        self, evidence: Evidence = NO_EVIDENCE, wanted: Iterable[int] | None = None, *, joint: Sequence[int] = ()
    ) -> Answer:
        """Return the probability of the evidence, the wanted marginals (None: all) and a joint distribution."""
        targets = list(range(self.n_variables)) if wanted is None else list(wanted)
        plan = self.plan(evidence, None if wanted is None else [*targets, *joint], joint)
        return self._execute(plan, evidence, targets, list(joint))

    def log_probability(self, evidence: Evidence) -> float:
        """Return the logarithm of the probability of the evidence (−∞: impossible)."""
        return self.run(evidence, []).log_evidence

    def plan(self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int] = ()) -> Plan:
        """Choose the tree for a question: that of the whole network, or a cheaper one of its own."""
        if self._whole_answers(joint):
            if self.whole.found.n_entries <= _SMALL_TREE or (targets is None and not evidence):
                return Plan(self.tree, self.potentials)
            return self._own_plan(evidence, targets, joint, whole_will_do=True) or Plan(self.tree, self.potentials)
        plan = self._own_plan(evidence, targets, joint, whole_will_do=False)
        assert plan is not None
        return plan

    def _whole_answers(self, joint: Sequence[int]) -> bool:
        """Return whether the tree of the whole network can answer, if need be at some cost."""
        if self.needs_reduction:
            return False
        return len(joint) < 2 or (self.whole.found.n_entries <= _SMALL_TREE and self._holds(joint))

    def _holds(self, joint: Sequence[int]) -> bool:
        return set(joint) <= set(self.tree.clique_of(joint))

    def _own_plan(
        self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int], *, whole_will_do: bool
    ) -> Plan | None:
        """Return a tree of what matters for a question; None where that of the whole network costs about as little."""
        reduced, variables, log_factor, together = self._reduced(evidence, targets, joint)
        key = tuple(array.tobytes() for array in (reduced.scope_start, reduced.scope_vars, variables, together))
        with self._lock:
            tree = self._trees.get(key)
            if tree is None:
                found = triangulate(reduced, together=together)
                if whole_will_do and self._is_cheap_whole(found, evidence):
                    return None
                tree = self._trees[key] = self.compile(Sketch(reduced, variables, log_factor, found, together))
            self._trees.move_to_end(key)
            if len(self._trees) > _KEPT_TREES:
                self._trees.popitem(last=False)
        return Plan(tree, reduced, variables, log_factor)

    def _reduced(
        self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int]
    ) -> tuple[Potentials, np.ndarray, float, np.ndarray]:
        """Return the tables that matter without the observed variables, and the places of a joint's variables."""
        needed = self.needed_tables(evidence, targets)
        whole = self.potentials_for(evidence, needed)
        codes = evidence.codes(len(whole.n_states))
        variables, potentials, log_factor = whole.observed(codes, needed[whole.owner])
        number = {int(v): i for i, v in enumerate(variables)} if joint else {}
        together = np.array([number[v] for v in joint if v in number], np.int64)
        return potentials, variables, log_factor, together

    def sketch(self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int] = ()) -> Sketch:
        """Return the tree that a question would get, not compiled."""
        if targets is None and not evidence and not self.needs_reduction:
            return self.whole
        potentials, variables, log_factor, together = self._reduced(evidence, targets, joint)
        return Sketch(potentials, variables, log_factor, triangulate(potentials, together=together), together)

    def _is_cheap_whole(self, found: Triangulation, evidence: Evidence) -> bool:
        """Return whether the tree of the whole network, with what the evidence leaves of it, costs about as little."""
        n_states = self.potentials.n_states
        left = np.where(evidence.codes(len(n_states)) >= 0, 1, n_states)
        return float(self.whole.found.sizes(left).sum()) * _WORTH_A_TREE <= found.n_entries

    def potentials_for(self, evidence: Evidence, needed: np.ndarray) -> Potentials:
        """Return the potentials; needed tables that are too large are first cut down to what the evidence leaves."""
        if not self.needs_reduction:
            return self.potentials
        return gather_potentials(self.cpts, self.parents, self.n_states, fixed=evidence.hard, needed=needed)

    def needed_tables(self, evidence: Evidence, targets: Sequence[int] | None) -> np.ndarray:
        """Mark the variables whose tables matter for the targets, and for the probability of the evidence."""
        if targets is None:
            return np.ones(self.n_variables, np.int64)
        needed = np.zeros(self.n_variables, np.int64)
        if targets:
            found = requisite(self.parents, self.children, targets, evidence.hard, soft=evidence.soft).tables
        else:
            found = tuple(closure(self.parents, evidence))
        needed[list(found)] = 1
        return needed

    def _execute(self, plan: Plan, evidence: Evidence, wanted: list[int], joint: list[int]) -> Answer:
        places = plan.places(self.n_variables)
        codes, soft, is_soft = plan.findings(evidence, places)
        marks = np.zeros(len(codes), np.int64)
        inside = places[wanted]
        marks[inside[inside >= 0]] = 1
        asked = [int(places[v]) for v in joint if places[v] >= 0]
        asked = [v for v in plan.tree.clique_of(asked) if v in asked] if asked else []  # in the order of its axes
        shape = [1 if codes[v, 0] >= 0 else int(plan.potentials.n_states[v]) for v in asked]
        size, log_evidence = math.prod(shape) if asked else 0, np.empty(1)
        check_memory("the joint distribution", 8.0 * size, ways_out="Ask for fewer variables at once.")
        with plan.tree.borrow(plan.potentials, extra=size) as (parts, buffer, _):
            propagation.propagate(
                plan.tree.program, parts, buffer, codes, soft, is_soft, marks, np.array(asked, np.int64), log_evidence
            )
            marginals = buffer[parts[1] : parts[2]].copy()
            table = buffer[parts[-1] : parts[-1] + size].reshape(shape).copy() if asked else np.ones(())
        log_probability = float(log_evidence[0]) + plan.log_factor + evidence.log_factor
        marginals = self._spread(plan, evidence, marginals)
        if not joint:
            return Answer(log_probability, marginals)
        order = [int(np.flatnonzero(places == v)[0]) for v in asked]
        return Answer(log_probability, marginals, self._arranged(table, order, evidence, joint))

    def _spread(self, plan: Plan, evidence: Evidence, found: np.ndarray) -> np.ndarray:
        """Put the marginals of a tree where they belong among all of the network's variables."""
        if plan.variables is None:
            return found
        marginals = np.zeros(self.starts[-1])
        starts = np.concatenate([[0], np.cumsum(plan.potentials.n_states)])
        for i, v in enumerate(plan.variables.tolist()):
            if v < self.n_variables:
                marginals[self.starts[v] : self.starts[v + 1]] = found[starts[i] : starts[i + 1]]
        for v, code in evidence.hard.items():
            marginals[self.starts[v] + code] = 1.0
        return marginals

    def _arranged(self, table: np.ndarray, order: list[int], evidence: Evidence, joint: list[int]) -> np.ndarray:
        """Return a joint table with an axis for each variable asked, in that order; observed ones are certain."""
        certain = [v for v in joint if v not in order]
        table = table.reshape(table.shape + (1,) * len(certain))
        table = table.transpose([[*order, *certain].index(v) for v in joint])
        for axis, v in enumerate(joint):
            if v in evidence.hard and table.shape[axis] < self.n_states[v]:
                at = [slice(None)] * table.ndim
                at[axis] = slice(evidence.hard[v], evidence.hard[v] + 1)
                wide = np.zeros([*table.shape[:axis], int(self.n_states[v]), *table.shape[axis + 1 :]])
                wide[tuple(at)] = table
                table = wide
        return np.ascontiguousarray(table)
