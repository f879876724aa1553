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
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory, memory_limit
from tunbridge.data import Variable
from tunbridge.errors import MemoryForecastError
from tunbridge.graph.separation import requisite
from tunbridge.graph.walks import closure
from tunbridge.inference.elimination import TooLargeError
from tunbridge.inference.evidence import NO_EVIDENCE, Evidence
from tunbridge.inference.flat import FlatNetwork, flatten, starts_of
from tunbridge.inference.plans import COUNTABLE, Plan, Sketch
from tunbridge.inference.potentials import Potentials, gather_potentials, is_chained, is_large_sparse
from tunbridge.inference.running import Answer, States, run_plainly, run_tree
from tunbridge.inference.tree import Shelf, Tree, Triangulation, compile_tree, triangulate
from tunbridge.kernels import propagation
from tunbridge.kernels.compiled import announce, is_compiled

if TYPE_CHECKING:
    from tunbridge.probability import ConditionalTable

_SMALL_TREE = 200_000  # entries: below, the tree of the whole network answers at once
_TINY_TREE = 10_000  # entries: no need to look at the memory
_WORTH_A_TREE = 0.5  # a tree for one question must have at most this share of the entries
_KEPT_TREES = 32
_KEPT_BYTES = 2**30
_MANY_VARIABLES = 100  # in a larger network a question is first looked at by itself
_NOTHING = np.empty(0, np.int64)
_FEW_VARIABLES, _FEW_ENTRIES, _PLAIN_RUNS = 80, 5000, 100  # what plain NumPy answers while nothing is compiled
_LARGEST_PLAIN = 100_000  # entries of a joint distribution; for a larger one the tree forecasts its memory
WAYS_OUT = (
    "Ways out: ask for fewer variables, or observe more; give nodes fewer parents or states; or ask posterior() for "
    "one variable approximately, with method='likelihood-weighting'."
)


class Engine:
    """A network's tables, compiled as questions need it. Safe to share between threads.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        One for each variable; the variables are numbered in this order.

    Attributes
    ----------
    variables, index : tuple of Variable, dict of str to int
        The variables, and their numbers by name.
    parents : list of list of int
        The numbers of the parents of each variable, in the order of its table.
    n_states, starts : ndarray, list of int
        The number of states of each variable, and where each begins in an array over all states.
    needs_reduction : bool
        Whether a table is too large to be written out before evidence has fixed some of its parents.
    has_small_tables : bool
        Whether all tables together are so small that NumPy answers before a compiler would.
    """

    def __init__(self, cpts: Sequence[ConditionalTable]) -> None:
        self.cpts = tuple(cpts)
        self.variables: tuple[Variable, ...] = tuple(cpt.variable for cpt in self.cpts)
        self.index = {variable.name: v for v, variable in enumerate(self.variables)}
        self.parents = [[self.index[p.name] for p in cpt.parents] for cpt in self.cpts]
        self.n_states = np.array([v.n_states for v in self.variables], np.int64)
        self.starts: list[int] = [0, *accumulate(v.n_states for v in self.variables)]
        self.needs_reduction = any(map(is_large_sparse, self.cpts))
        self._lock = threading.RLock()
        self._shelf = Shelf(_KEPT_BYTES)
        self._trees: OrderedDict[Any, Tree | None] = OrderedDict()  # None: the whole network's tree is as good
        n_entries = sum(math.prod(cpt.shape) for cpt in self.cpts)
        self.has_small_tables = len(self.cpts) <= _FEW_VARIABLES and n_entries <= _FEW_ENTRIES
        if n_entries <= _FEW_ENTRIES and not self.needs_reduction:  # small tables lie end to end from the start
            self.__dict__["potentials"] = gather_potentials(self.cpts, self.parents, self.n_states)
        self._plain_runs = 0 if not self.has_small_tables or is_compiled(propagation.propagate) else _PLAIN_RUNS

    # The network as arrays

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @cached_property
    def singles(self) -> list[tuple[Variable, ...]]:
        """Each variable in a tuple of its own."""
        return [(variable,) for variable in self.variables]

    @property
    def states(self) -> States:
        """The number of states of each variable, and where each begins in an array over all states."""
        return States(self.n_states, self.starts)

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
        children = np.array([child for some in self.children for child in some], np.int64)
        return starts_of(map(len, self.children)), children

    @cached_property
    def potentials(self) -> Potentials:
        """The tables as potentials; those of noisy nodes with many parents as chains of small ones."""
        return gather_potentials(self.cpts, self.parents, self.n_states)

    @cached_property
    def has_zeros(self) -> bool:
        """Whether some table holds a zero; without one, no evidence is impossible."""
        return self.needs_reduction or not self.potentials.tables.all()

    @cached_property
    def is_small(self) -> bool:
        """Whether the first elimination order that comes to hand makes small tables of the whole network."""
        with self._lock:
            found = triangulate(self.potentials, most_orders=1)
            if found.n_entries > _SMALL_TREE:
                return False
            self.__dict__["whole"] = self._sketched(found)
            return True

    @cached_property
    def whole(self) -> Sketch:
        """The whole network, triangulated as well as may be."""
        with self._lock:
            return self._sketched(triangulate(self.potentials))

    def _sketched(self, found: Triangulation) -> Sketch:
        return Sketch(self.potentials, np.arange(len(self.potentials.n_states)), 0.0, found, _NOTHING)

    @cached_property
    def tree(self) -> Tree:
        """The compiled tree of the whole network."""
        with self._lock:
            return self.compile(self.whole)

    def with_tables(self, cpts: Sequence[ConditionalTable]) -> Engine:
        """Return the same network with other numbers in its tables; what was compiled is shared."""
        other = Engine(cpts)
        other._trees, other._lock, other._shelf = self._trees, self._lock, self._shelf
        other._plain_runs = self._plain_runs
        other.__dict__.update({name: self.__dict__[name] for name in ("is_small", "tree") if name in self.__dict__})
        if "whole" in self.__dict__:
            other.__dict__["whole"] = self.whole._replace(potentials=other.potentials)
        return other

    def compile(self, sketch: Sketch) -> Tree:
        """Return a compiled tree; raise MemoryForecastError before anything large is allocated."""
        n_entries = sketch.found.n_entries
        if n_entries > COUNTABLE:
            limit = min(memory_limit(), COUNTABLE)
            check_memory(f"{self._in_words(sketch)}, and more,", 8.0 * COUNTABLE, ways_out=WAYS_OUT, limit=limit)
        tree = compile_tree(sketch.potentials, sketch.found, sketch.together, self._shelf)
        if n_entries > _TINY_TREE:
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
        asked = None if wanted is None else list(wanted)
        if self._is_plain() and math.prod(self.variables[v].n_states for v in joint) <= _LARGEST_PLAIN:
            try:
                return run_plainly(self.cpts, self.parents, evidence, self.states, asked, joint)
            except TooLargeError:
                self._plain_runs = 0
        announce(propagation.propagate, "exact inference")
        plan = self.plan(evidence, None if asked is None else [*asked, *joint], joint)
        return run_tree(plan, evidence, self.states, asked, joint)

    def _is_plain(self) -> bool:
        """Return whether this run goes without kernels: a small network, while they have never been compiled."""
        if self._plain_runs > 0:
            self._plain_runs -= 1
        return self._plain_runs > 0

    def log_probability(self, evidence: Evidence) -> float:
        """Return the logarithm of the probability of the evidence (−∞: impossible)."""
        return self.run(evidence, []).log_evidence

    def plan(self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int] = ()) -> Plan:
        """Choose the tree for a question: that of the whole network, or a cheaper one of its own."""
        if self.needs_reduction or not self._is_near(evidence, targets):
            plan = self._own_plan(evidence, targets, joint, whole_will_do=False)
        elif self._whole_answers(joint) or (targets is None and not evidence):
            plan = None
        else:
            plan = self._own_plan(evidence, targets, joint, whole_will_do=len(joint) < 2 and "whole" in self.__dict__)
        if plan is not None:
            return plan
        try:
            return Plan(self.tree, self.potentials)
        except MemoryForecastError:
            plan = self._own_plan(evidence, targets, joint, whole_will_do=False)  # which may be small enough
            assert plan is not None
            return plan

    def _whole_answers(self, joint: Sequence[int]) -> bool:
        """Return whether the tree of the whole network is small and has the variables of a joint in one clique."""
        return self.is_small and (len(joint) < 2 or set(joint) <= set(self.tree.clique_of(joint)))

    def _is_near(self, evidence: Evidence, targets: Sequence[int] | None) -> bool:
        """Return whether to look at the whole network at all; in a large one few variables may be asked for."""
        if "is_small" in self.__dict__ or self.n_variables <= _MANY_VARIABLES or targets is None:
            return True
        return self.sketch(evidence, targets).found.n_entries > _SMALL_TREE

    def _own_plan(
        self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int], *, whole_will_do: bool
    ) -> Plan | None:
        """Return a tree of what matters for a question; None where that of the whole network costs about as little."""
        needed = self.needed_tables(evidence, targets)
        reduced, variables, log_factor, together = self._reduced(evidence, needed, joint)
        key = tuple(array.tobytes() for array in (reduced.scope_start, reduced.scope_vars, variables, together))
        with self._lock:
            if key not in self._trees or (self._trees[key] is None and not whole_will_do):
                found = triangulate(reduced, together=together)
                is_needless = whole_will_do and self._is_cheap_whole(found, evidence)
                sketch = Sketch(reduced, variables, log_factor, found, together)
                self._trees[key] = None if is_needless else self.compile(sketch)
            tree = self._trees[key]
            self._trees.move_to_end(key)
            if len(self._trees) > _KEPT_TREES:
                _, oldest = self._trees.popitem(last=False)
                if oldest is not None:
                    oldest.clear()
        knows_evidence = not targets or bool(needed[list(closure(self.parents, evidence))].all())
        return None if tree is None else Plan(tree, reduced, variables, log_factor, knows_evidence)

    def _reduced(
        self, evidence: Evidence, needed: np.ndarray, joint: Sequence[int]
    ) -> tuple[Potentials, np.ndarray, float, np.ndarray]:
        """Return the needed tables without the observed variables, and the places of a joint's variables."""
        whole = self.potentials_for(evidence, needed)
        codes = evidence.codes(len(whole.n_states))
        variables, potentials, log_factor = whole.observed(codes, needed[whole.owner])
        number = {int(v): i for i, v in enumerate(variables)} if joint else {}
        together = np.array([number[v] for v in joint if v in number], np.int64)
        return potentials, variables, log_factor, together

    def sketch(self, evidence: Evidence, targets: Sequence[int] | None, joint: Sequence[int] = ()) -> Sketch:
        """Return the tree that a question would get by itself, not compiled."""
        if targets is None and not evidence and not self.needs_reduction:
            return self.whole
        needed = self.needed_tables(evidence, targets)
        potentials, variables, log_factor, together = self._reduced(evidence, needed, joint)
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
