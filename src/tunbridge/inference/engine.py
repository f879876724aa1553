"""A network ready for questions: its potentials, and the junction trees compiled for the questions so far.

The tree of the whole network is compiled once. Where it is small, every question uses it: evidence shortens the axes of
its tables, and the way down visits only the cliques that are needed. Where it is large, a question gets a tree of its
own if that is much cheaper: tables that cannot matter (barren and d-separated nodes) are dropped and observed variables
leave the graph before it is triangulated. Such trees are kept, too: new findings about the same variables reuse them.

Continuous variables have no tables in the junction tree. They form the engine's continuous part
(:mod:`tunbridge.inference.hybrid.components`), which is empty in a discrete network; observed values reach the
categorical variables as factors (:mod:`tunbridge.inference.hybrid.evidence`), each an observed child of the categories
it depends on in an extended engine.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tunbridge._core.check import listed
from tunbridge._core.memory import check_memory, memory_limit
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.graph.separation import requisite
from tunbridge.graph.walks import closure
from tunbridge.inference.array_propagation import is_quicker
from tunbridge.inference.evidence import NO_EVIDENCE, Evidence
from tunbridge.inference.flat import (
    FlatNetwork,
    Potentials,
    children_of,
    flatten,
    gather_potentials,
    is_chained,
    is_large_sparse,
)
from tunbridge.inference.hybrid.components import ContinuousPart
from tunbridge.inference.tree import (
    COUNTABLE,
    Answer,
    Plan,
    Shelf,
    Sketch,
    States,
    Tree,
    Triangulation,
    compile_tree,
    needs_logarithms,
    run_lanes,
    run_tree,
    triangulate,
)
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian

if TYPE_CHECKING:
    from tunbridge.kernels.compiled import Kernel

_SMALL_TREE = 200_000  # entries: below, the tree of the whole network answers at once
_TINY_TREE = 10_000  # entries: no memory check needed
_WORTH_A_TREE = 0.5  # a tree for one question must have at most this share of the entries
_KEPT_TREES = 32
_KEPT_BYTES = 2**30
_KEPT_ENGINES = 512  # extended by auxiliary variables
_MANY_VARIABLES = 100  # in a larger network a question is first looked at by itself
_LANES, _LANE_ENTRIES = 16, 2**22  # rows that go through the tree together, and entries of all their tables
_NOTHING = np.empty(0, np.int64)
_NO_NUMBERS = ContinuousPart((), {})
_FEW_ENTRIES = 5000  # of tables that are concatenated from the start
WAYS_OUT = (
    "Ways out: ask for fewer variables, or observe more; give nodes fewer parents or states; or ask for "
    "one variable approximately, with method='likelihood-weighting'."
)

Scope = tuple[int, ...]
"""Categorical variables by number, in ascending order."""


@dataclass(eq=False)
class _Compiled:
    """What engines of one structure share, whatever the numbers in their tables."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    shelf: Shelf = field(default_factory=lambda: Shelf(_KEPT_BYTES))
    trees: OrderedDict[tuple[bytes, ...], Tree | None] = field(default_factory=OrderedDict)  # None: use the whole tree
    engines: OrderedDict[tuple[str | Scope, ...], Engine] = field(default_factory=OrderedDict)
    clusters: dict[Scope, CPT] = field(default_factory=dict)


class Engine:
    """A network's tables, compiled as questions need it. Safe to share between threads.

    Variables are numbered: first the categorical ones, then the continuous ones, each in the order of their tables.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        One for each variable.

    Attributes
    ----------
    names : tuple of str
        The variables in the order of ``cpts``.
    variables, index : tuple of Variable, dict of str to int
        The variables by number, and their numbers by name.
    tables : tuple of ConditionalTable
        The tables of the categorical variables, by number.
    part : ContinuousPart
        The continuous variables; it is empty in a discrete network.
    parents : list of list of int
        The parents of each categorical variable, in the order of its table.
    n_states, starts : ndarray, list of int
        The number of states of each categorical variable, and where each begins in an array over all states.
    needs_reduction : bool
        Whether a table is too large to be written out before evidence has fixed some of its parents.
    """

    def __init__(self, cpts: Sequence[ConditionalTable], compiled: _Compiled | None = None) -> None:
        self.cpts = self.tables = tuple(cpts)
        self.part = _NO_NUMBERS
        gaussian = [cpt for cpt in self.cpts if isinstance(cpt, LinearGaussian)]
        if gaussian:
            self.tables = tuple(cpt for cpt in self.cpts if not isinstance(cpt, LinearGaussian))
        self.variables: tuple[Variable, ...] = tuple(cpt.variable for cpt in (*self.tables, *gaussian))
        self.index = {variable.name: v for v, variable in enumerate(self.variables)}
        if gaussian:
            self.part = ContinuousPart(self.variables, {self.index[c.variable.name]: c for c in gaussian})
        self.parents = [[self.index[p.name] for p in cpt.parents] for cpt in self.tables]
        n_states = [cpt.variable.n_states for cpt in self.tables]
        self.n_states, self.starts = np.array(n_states, np.int64), [0, *accumulate(n_states)]
        self.needs_reduction = any(map(is_large_sparse, self.tables))
        self._clustered: dict[tuple[Scope, ...], Engine] = {}
        n_entries = sum(math.prod(n_states[u] for u in (*family, v)) for v, family in enumerate(self.parents))
        if n_entries <= _FEW_ENTRIES and not self.needs_reduction:
            self.__dict__["potentials"] = gather_potentials(self.tables, self.parents, self.n_states)
        self._compiled = compiled or _Compiled()

    def __reduce__(self) -> tuple[type[Engine], tuple[Sequence[ConditionalTable]]]:
        return Engine, (self.cpts,)  # what is compiled holds a lock, and is made again

    # The network as arrays

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the order of their tables."""
        return tuple(cpt.variable.name for cpt in self.cpts)

    @property
    def n_variables(self) -> int:
        """The number of categorical variables."""
        return len(self.tables)

    def is_number(self, v: int) -> bool:
        """Return whether a variable is continuous."""
        return v >= len(self.tables)

    def check_categorical(self, what: str) -> None:
        """Raise where the network has continuous variables, which ``what`` cannot handle."""
        names = [self.variables[v].name for v in self.part.numbers]
        if names:
            are = "is" if len(names) == 1 else "are"
            hint = "Discretise first (tb.discretise)."
            raise DataError(
                f"{what} must have a network of categorical variables; {listed(names)} {are} continuous. {hint}"
            )

    @cached_property
    def singles(self) -> list[tuple[Variable, ...]]:
        """Each categorical variable in a tuple of its own."""
        return [(variable,) for variable in self.variables[: self.n_variables]]

    @property
    def states(self) -> States:
        """The number of states of each variable, and where each begins in an array over all states."""
        return States(self.n_states, self.starts)

    @cached_property
    def children(self) -> list[list[int]]:
        """The numbers of the children of each variable."""
        return children_of(self.parents)

    @cached_property
    def flat(self) -> FlatNetwork:
        """The network with every table written out; auxiliary variables of noisy tables come behind the others."""
        return self.potentials.as_network(self.variables) if any(map(is_chained, self.tables)) else flatten(self.tables)

    @cached_property
    def is_flat(self) -> bool:
        """Whether every table may be written out: none is large and sparse or a long chain."""
        return not self.needs_reduction and not any(map(is_chained, self.tables))

    @cached_property
    def potentials(self) -> Potentials:
        """The tables as potentials; those of noisy nodes with many parents as chains of small ones."""
        return gather_potentials(self.tables, self.parents, self.n_states)

    @cached_property
    def has_zeros(self) -> bool:
        """Whether some table holds a zero; without one, no evidence is impossible."""
        return self.needs_reduction or not self.potentials.tables.all()

    @cached_property
    def is_small(self) -> bool:
        """Whether the first elimination order that is tried makes small tables of the whole network."""
        with self._compiled.lock:
            found = triangulate(self.potentials, most_orders=1)
            if found.n_entries > _SMALL_TREE:
                return False
            self.__dict__["whole"] = self._sketched(found)
            return True

    @cached_property
    def whole(self) -> Sketch:
        """The whole network with the best triangulation found."""
        with self._compiled.lock:
            return self._sketched(triangulate(self.potentials))

    def _sketched(self, found: Triangulation) -> Sketch:
        return Sketch(self.potentials, np.arange(len(self.potentials.n_states)), 0.0, found, _NOTHING)

    @cached_property
    def tree(self) -> Tree:
        """The compiled tree of the whole network."""
        with self._compiled.lock:
            return self.compile(self.whole)

    def with_tables(self, cpts: Sequence[ConditionalTable]) -> Engine:
        """Return the same network with other numbers in its tables; what was compiled is shared."""
        other = Engine(cpts, self._compiled)
        other.__dict__.update({name: self.__dict__[name] for name in ("is_small", "tree") if name in self.__dict__})
        if "whole" in self.__dict__:
            other.__dict__["whole"] = self.whole._replace(potentials=other.potentials)
        return other

    # Auxiliary variables

    def with_children(self, scopes: Sequence[Scope], tables: Sequence[ConditionalTable]) -> Engine:
        """Return the discrete network with an auxiliary child, its table given, for each scope."""
        return self._extended(("child", *scopes), tables)

    def with_clusters(self, scopes: Sequence[Scope]) -> Engine:
        """Return the discrete network with an auxiliary variable for each scope whose states are its configurations."""
        key, clusters = tuple(scopes), self._compiled.clusters
        with self._compiled.lock:
            if key not in self._clustered:
                for scope in scopes:
                    if scope not in clusters:
                        clusters[scope] = _cluster(tuple(self.variables[d] for d in scope))
                self._clustered[key] = self._extended(("cluster", *scopes), [clusters[s] for s in scopes])
            return self._clustered[key]

    def _extended(self, key: tuple[str | Scope, ...], tables: Sequence[ConditionalTable]) -> Engine:
        """Return the discrete network with more tables; what was compiled for the same structure is shared."""
        if not tables:
            return self
        whole = [*self.tables, *tables]
        lock, engines = self._compiled.lock, self._compiled.engines
        with lock:
            known = engines.get(key)
        found = Engine(whole) if known is None else known.with_tables(whole)
        with lock:
            engines[key] = found  # the latest, since it shares what it has compiled with the others
            engines.move_to_end(key)
            if len(engines) > _KEPT_ENGINES:
                engines.popitem(last=False)
        return found

    # Runs

    def compile(self, sketch: Sketch) -> Tree:
        """Return a compiled tree; raise MemoryForecastError before anything large is allocated."""
        n_entries = sketch.found.n_entries
        if n_entries > COUNTABLE:
            limit = min(memory_limit(), COUNTABLE)
            check_memory(f"{self._in_words(sketch)}, and more,", 8.0 * COUNTABLE, ways_out=WAYS_OUT, limit=limit)
        tree = compile_tree(sketch.potentials, sketch.found, sketch.together, self._compiled.shelf)
        if n_entries > _TINY_TREE:
            check_memory(self._in_words(sketch), tree.n_bytes(), ways_out=WAYS_OUT)
        return tree

    def _in_words(self, sketch: Sketch) -> str:
        """Describe a computation for a message about memory, naming its largest clique."""
        members, size = sketch.found.largest_clique(sketch.potentials.n_states)
        numbers = sorted(int(sketch.variables[v]) for v in members)
        names = listed([self.variables[v].name for v in numbers if v < self.n_variables], most=4)
        return f"exact inference (largest clique: {len(members)} variables, {size:.3g} entries: {names})"

    def run(
        self, evidence: Evidence = NO_EVIDENCE, wanted: Iterable[int] | None = None, *, joint: Sequence[int] = ()
    ) -> Answer:
        """Return the probability of the evidence, the wanted marginals (None: all) and a joint distribution."""
        asked = None if wanted is None else list(wanted)
        plan = self.plan(evidence, None if asked is None else [*asked, *joint], joint)
        return run_tree(plan, evidence, self.states, asked, joint)

    def log_probability(self, evidence: Evidence) -> float:
        """Return the logarithm of the probability of the evidence (−∞: impossible)."""
        return self.run(evidence, []).log_evidence

    def run_rows(
        self,
        codes: np.ndarray,
        asked: Sequence[int],
        soft: Mapping[int, np.ndarray] | None = None,
        *,
        lanes: int = _LANES,
        n_jobs: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ln P(evidence) and the marginals of some variables, side by side, for rows of hard and soft evidence.

        Soft evidence is the logarithms of likelihoods, the largest 0. Rows go through the tree in batches of up to
        ``lanes``, or one by one where its tables are too large for that.
        """
        n, soft = codes.shape[1], soft or {}
        log_evidence = np.zeros(n)
        found = np.full((n, int(self.n_states[list(asked)].sum())), np.nan)
        size = self._lanes(lanes) if self.n_variables else 0

        def run(piece: tuple[int, int]) -> None:
            at = np.minimum(np.arange(piece[0], piece[0] + size), piece[1] - 1)  # unused lanes repeat the last row
            evidence = {v: logs[:, at] for v, logs in soft.items()}
            answer = run_lanes(self.tree, self.potentials, codes[:, at], evidence, asked, self.starts)
            log_evidence[slice(*piece)], found[slice(*piece)] = (part[: piece[1] - piece[0]] for part in answer)

        if size > 1:
            map_threads(run, row_pieces(n, size), n_jobs)
        elif size == 1:
            for i in range(n):  # one at a time: each may need all the memory
                if not self.is_large and any(needs_logarithms(logs[:, i : i + 1]).any() for logs in soft.values()):
                    run((i, i + 1))
                    continue
                hard = {v: int(code) for v, code in enumerate(codes[:, i]) if code >= 0}
                evidence = Evidence(hard, {v: np.exp(logs[:, i]) for v, logs in soft.items()})
                log_evidence[i] = self.log_probability(evidence)
                if asked and log_evidence[i] > -math.inf:
                    marginals = self.run(evidence, asked).marginals
                    found[i] = np.concatenate([marginals[self.starts[v] : self.starts[v + 1]] for v in asked])
        return log_evidence, found

    def is_array_quicker(self, kernel: Kernel, n_rows: int, lanes: int) -> bool:
        """Return whether NumPy takes rows through the tree of the whole network before a kernel would be compiled."""
        if not n_rows or not self.n_variables or not is_quicker(0.0, kernel) or self.is_large:
            return False
        size = min(self._lanes(lanes), n_rows)
        return self.tree.is_array_quicker(kernel, size, -(-n_rows // size))

    @property
    def is_large(self) -> bool:
        """Whether rows go through the tree of the whole network one by one, or each needs a tree of its own."""
        return self.needs_reduction or self.whole.found.n_entries > _LANE_ENTRIES

    def _lanes(self, most: int) -> int:
        """Return how many rows go through the tree together: a power of two, 1 where each needs a tree of its own."""
        if self.needs_reduction or most == 1:
            return 1
        room = _LANE_ENTRIES / self.whole.found.n_entries
        return int(min(most, 2 ** max(0, math.floor(math.log2(room))))) if room >= 1.0 else 1

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
        """Return whether to look at the whole network at all; in a large one few variables may matter."""
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
        trees = self._compiled.trees
        with self._compiled.lock:
            if key not in trees or (trees[key] is None and not whole_will_do):
                found = triangulate(reduced, together=together)
                is_needless = whole_will_do and self._is_cheap_whole(found, evidence)
                sketch = Sketch(reduced, variables, log_factor, found, together)
                trees[key] = None if is_needless else self.compile(sketch)
            tree = trees[key]
            trees.move_to_end(key)
            if len(trees) > _KEPT_TREES:
                _, oldest = trees.popitem(last=False)
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
        return gather_potentials(self.tables, self.parents, self.n_states, fixed=evidence.hard, needed=needed)

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


def _cluster(parents: tuple[Variable, ...]) -> CPT:
    """Return the table of the auxiliary variable whose states are the configurations of some others."""
    q = math.prod(p.n_states for p in parents)
    variable = Variable("together: " + ", ".join(p.name for p in parents), range(q))
    return CPT.of_valid(variable, parents, np.eye(q).reshape(*(p.n_states for p in parents), q))
