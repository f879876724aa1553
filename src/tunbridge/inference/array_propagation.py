"""Propagation in a junction tree with NumPy, clique by clique, on probabilities or on their logarithms.

The program of a tree (:mod:`tunbridge.kernels.inference.propagation`) is run without a compiler:

    table      T(x_c)              = Π inputs of c and the evidence about what c eliminates
    up         message(c → parent) = Σ_residual T
    down       message(c → child)  = Σ_rest T / message(child → c)
    marginal   P(x_v, evidence)    = Σ_rest T of the clique that eliminates v

(Jensen, Lauritzen and Olesen 1990). With logarithms a product is a sum, and a sum is taken beside its largest term.

It serves two cases. As long as the kernels are not compiled it answers first: to compile them takes 20 seconds, and
a posterior of ANDES (223 variables) takes NumPy 0.1 s. And where products of probabilities leave the range of a double,
the run is repeated on logarithms: a state that has vanished beside another could not come back, whatever later factors
say. On tables of a few entries it is some hundred times as slow as the kernels, on large ones about three times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tunbridge.kernels.compiled import is_compiled, spend
from tunbridge.kernels.inference.propagation import (
    AXES,
    BOUNDS,
    HOME,
    INPUTS,
    MEMBERS,
    N_RESIDUAL,
    N_STATES,
    PARENT,
    SAFE,
    SCOPE,
    SOURCE,
    STATES,
    TABLE,
    UNIT,
    Evidence,
    Layout,
    Program,
)

if TYPE_CHECKING:
    from tunbridge.kernels.compiled import Kernel

_TOO_SMALL = 1e-290  # a product below is not trusted
_ENTRY, _CLIQUE = 4e-8, 2e-4  # seconds that a run takes for each entry of its tables, and for each clique
_MOST_PYTHON = 3.0  # seconds that Python takes for a part of the work; its kernels are compiled in about as long
_COPIES = 7  # of the largest table that NumPy has at once, for products and what is possible
_left = 15.0  # seconds of work that this process does with NumPy before it has the kernels compiled, in 20 seconds

Axes = tuple[int, ...]


def seconds(program: Program, n_entries: float) -> float:
    """Return about how long a run takes; the entries are those of all cliques and lanes."""
    return _ENTRY * n_entries + _CLIQUE * (len(program.cliques) - 1)


def is_quicker(seconds: float, kernel: Kernel) -> bool:
    """Return whether work of so many seconds is done without a kernel before that would be compiled."""
    return seconds <= _left and not is_compiled(kernel)


def is_python_quicker(seconds: float, kernel: Kernel) -> bool:
    """Return whether Python does a part of the work, of so many seconds, before its kernel would be compiled."""
    if seconds > _MOST_PYTHON or not is_quicker(seconds, kernel):
        return False
    _spend(seconds)
    return True


def _spend(seconds: float) -> None:
    """Note that work was done without kernels, for which they are needed the sooner."""
    global _left
    _left -= seconds
    spend(seconds)


def peak(program: Program, lanes: int) -> float:
    """Return about how many bytes a run takes: all tables, and several of the largest one at once."""
    n_states = program.variables[:, N_STATES].tolist()
    sizes = [math.prod(n_states[v] for v in clique.variables) for clique in _cliques(program)]
    return 8.0 * lanes * (sum(sizes) + _COPIES * max(sizes, default=0))


class Algebra(NamedTuple):
    """What numbers stand for: probabilities, or their logarithms.

    Parameters
    ----------
    zero, one : float
        An impossible and a certain state.
    of : callable
        From probabilities to such numbers.
    times, over : callable
        Product and quotient; 0 / 0 is 0.
    total : callable
        Sum over some axes, which are kept with length one.
    scale : callable
        Return a table of which every lane is scaled, and the logarithms of the scales.
    """

    zero: float
    one: float
    of: Callable[[np.ndarray], np.ndarray]
    times: Callable[[np.ndarray, np.ndarray], np.ndarray]
    over: Callable[[np.ndarray, np.ndarray], np.ndarray]
    total: Callable[[np.ndarray, Axes], np.ndarray]
    scale: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)


def _sum(table: np.ndarray, axes: Axes) -> np.ndarray:
    return table.sum(axis=axes, keepdims=True)


def _scale(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums = _sum(table, tuple(range(table.ndim - 1)))
    return _divide(table, sums), np.log(sums).reshape(-1)


def _subtract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.subtract(a, b, out=np.full_like(a, -np.inf), where=b > -np.inf)


def _log_sum(table: np.ndarray, axes: Axes) -> np.ndarray:
    top = table.max(axis=axes, keepdims=True)
    top = np.where(top > -np.inf, top, 0.0)
    found: np.ndarray = np.log(np.exp(table - top).sum(axis=axes, keepdims=True)) + top
    return found


def _log_scale(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tops = table.max(axis=tuple(range(table.ndim - 1)), keepdims=True)
    return _subtract(table, tops), tops.reshape(-1)


PROBABILITIES = Algebra(0.0, 1.0, lambda x: x, np.multiply, _divide, _sum, _scale)
LOGARITHMS = Algebra(-np.inf, 0.0, np.log, np.add, _subtract, _log_sum, _log_scale)


class _Clique(NamedTuple):
    """A clique: its variables, the first ``n_residual`` of which it eliminates, its parent, and sources with axes."""

    variables: list[int]
    n_residual: int
    parent: int
    inputs: list[tuple[int, list[int]]]


class _Underflow(Exception):  # noqa: N818 - caught here
    """A product of probabilities left the range of a double."""


class _Run:
    """The arrays of one run: potentials, evidence, and the messages so far.

    Every array has the lanes (rows of a batch) as its last axis, of length one where all lanes are alike.
    """

    def __init__(self, program: Program, x: np.ndarray, at: Layout, evidence: Evidence, algebra: Algebra) -> None:
        self.algebra, self.evidence, self.lanes = algebra, evidence, evidence.codes.shape[1]
        self.n_states, self.starts = program.variables[:, N_STATES].tolist(), program.variables[:, STATES].tolist()
        self.home = program.variables[:, HOME].tolist()
        self.n_potentials = len(program.potentials) - 1
        self.cliques = _cliques(program)
        self._potentials = algebra.of(x[at.potentials : at.log_evidence])
        self._table_starts = program.potentials[:, TABLE].tolist()
        self._up: list[np.ndarray] = []
        self._down: dict[int, np.ndarray] = {}
        if algebra is PROBABILITIES:  # there are no kernels for logarithms
            n_entries = sum(math.prod(self.n_states[v] for v in clique.variables) for clique in self.cliques)
            _spend(seconds(program, float(n_entries) * self.lanes))

    def about(self, v: int) -> np.ndarray | None:
        """Return the evidence about a variable as an array of (states, lanes); None where there is none."""
        codes, is_soft = self.evidence.codes[v], bool(self.evidence.is_soft[v])
        if not is_soft and not (codes >= 0).any():
            return None
        states = np.arange(self.n_states[v])[:, None]
        found = np.where((codes < 0) | (codes == states), self.algebra.one, self.algebra.zero)
        if is_soft:
            start = self.starts[v]
            found = self.algebra.times(found, self.evidence.likelihoods[start : start + self.n_states[v]])
        return found

    def table(self, c: int, *, is_down: bool) -> np.ndarray:
        """Return the product of the inputs of a clique, on the way down with its parent's."""
        clique = self.cliques[c]
        shape = [self.n_states[v] for v in clique.variables]
        parts = []
        for source, axes in clique.inputs:
            given = self._input(c, source, is_down)
            if given is not None:
                wide = [1] * len(shape)
                for j in axes:
                    wide[j] = shape[j]
                parts.append(given.reshape(*wide, -1))
        for j, v in enumerate(clique.variables[: clique.n_residual]):
            found = self.about(v)
            if found is not None:
                parts.append(found.reshape(*(n if i == j else 1 for i, n in enumerate(shape)), -1))
        parts.sort(key=lambda part: part.size)
        table = reduce(self.algebra.times, parts, np.full((1,) * (len(shape) + 1), self.algebra.one))
        if self.algebra is PROBABILITIES and table.min() < _TOO_SMALL:
            is_possible = reduce(np.logical_and, [part > 0.0 for part in parts])
            if (is_possible & (table < _TOO_SMALL)).any():
                raise _Underflow
        return np.broadcast_to(table, (*shape, self.lanes))

    def _input(self, c: int, source: int, is_down: bool) -> np.ndarray | None:
        child = source - self.n_potentials
        if child < 0:
            return self._potentials[self._table_starts[source] : self._table_starts[source + 1]]
        if child < len(self.cliques):
            return self._up[child]
        return self._down[c] if is_down else None

    def collect(self, is_maximised: np.ndarray) -> np.ndarray:
        """Send the messages up; return the logarithm of the sum (or maximum) of all, for each lane."""
        log_total, self._up = np.zeros(self.lanes), []
        for c, clique in enumerate(self.cliques):
            table, residual = self.table(c, is_down=False), tuple(range(clique.n_residual))
            if is_maximised[clique.variables[0]]:
                message = table.max(axis=residual, keepdims=True)
            else:
                message = self.algebra.total(table, residual)
            scaled, log_scales = self.algebra.scale(message.reshape(message.shape[clique.n_residual :]))
            self._up.append(scaled)
            log_total += log_scales
        return log_total

    def send_down(self, c: int, table: np.ndarray, needed: Sequence[bool]) -> None:
        """Send the messages of a clique to the children that are needed, from its table."""
        for source, axes in self.cliques[c].inputs:
            child = source - self.n_potentials
            if 0 <= child < len(self.cliques) and needed[child]:
                belief = self.over_others(table, axes)
                self._down[child] = self.algebra.scale(self.algebra.over(belief, self._up[child]))[0]

    def over_others(self, table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Return the sum of a table over all but some of its axes and the lanes."""
        found = self.algebra.total(table, tuple(j for j in range(table.ndim - 1) if j not in axes))
        return found.reshape(*(table.shape[j] for j in axes), -1)

    def distribution(self, table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Return the distribution over some axes of a table, for each lane."""
        found = self.algebra.scale(self.over_others(table, axes))[0]
        return found if self.algebra is PROBABILITIES else PROBABILITIES.scale(np.exp(found))[0]

    def needed(self, wanted: np.ndarray, joint: np.ndarray) -> list[bool]:
        """Mark the cliques that eliminate a wanted variable, and all above them."""
        needed = [False] * len(self.cliques)
        for v in [*np.flatnonzero(wanted).tolist(), *joint[:1].tolist()]:
            c = self.home[v]
            while c >= 0 and not needed[c]:
                needed[c] = True
                c = self.cliques[c].parent
        return needed


def _cliques(program: Program) -> list[_Clique]:
    rows, inputs, members = program.cliques.tolist(), program.inputs.tolist(), program.members.tolist()
    found = []
    for row, after in pairwise(rows):
        sources = [
            (inputs[i][SOURCE], members[inputs[i][AXES] : inputs[i + 1][AXES]])
            for i in range(row[INPUTS], after[INPUTS])
        ]
        found.append(_Clique(members[row[MEMBERS] : after[MEMBERS]], row[N_RESIDUAL], row[PARENT], sources))
    return found


def load(program: Program, scopes: np.ndarray, tables: np.ndarray, x: np.ndarray, at: Layout) -> None:
    """Do as :func:`tunbridge.kernels.inference.propagation.load_potentials`."""
    n_states = program.variables[:, N_STATES]
    for f, (row, after) in enumerate(pairwise(program.potentials.tolist())):
        given, ordered = scopes[row[SCOPE] : after[SCOPE]].tolist(), program.members[row[SCOPE] : after[SCOPE]].tolist()
        table = tables[row[TABLE] : after[TABLE]].reshape(n_states[given])
        moved = table.transpose([given.index(v) for v in ordered])
        x[at.potentials + row[TABLE] : at.potentials + after[TABLE]] = moved.reshape(-1)
        x[BOUNDS + f] = table.min(where=table > 0.0, initial=1.0)
    x[UNIT] = 1.0


def propagate(
    program: Program,
    x: np.ndarray,
    at: Layout,
    evidence: Evidence,
    wanted: np.ndarray,
    joint: np.ndarray,
    algebra: Algebra = PROBABILITIES,
) -> None:
    """Compute what :func:`tunbridge.kernels.inference.propagation.propagate` does, and write it to the same places.

    With :data:`LOGARITHMS` the likelihoods of the evidence are logarithms, too; here and below.
    """
    with np.errstate(all="ignore"):
        run = _Run(program, x, at, evidence, algebra)
        x[SAFE] = 0.0
        try:
            x[at.log_evidence : at.marginals] = run.collect(np.zeros(len(run.n_states), bool))
            _distribute(run, x, at, wanted, joint)
            x[SAFE] = 1.0
        except _Underflow:
            return


def _distribute(run: _Run, x: np.ndarray, at: Layout, wanted: np.ndarray, joint: np.ndarray) -> None:
    """Pass the tree from the root down, and write the marginals of the wanted variables and the joint distribution."""
    needed, targets = run.needed(wanted, joint), joint.tolist()
    for c in reversed(range(len(run.cliques))):
        if not needed[c]:
            continue
        table, clique = run.table(c, is_down=True), run.cliques[c]
        run.send_down(c, table, needed)
        for j, v in enumerate(clique.variables[: clique.n_residual]):
            if wanted[v]:
                low = at.marginals + run.starts[v] * run.lanes
                x[low : low + run.n_states[v] * run.lanes] = run.distribution(table, [j]).reshape(-1)
        if targets and run.home[targets[0]] == c:
            found = run.distribution(table, [clique.variables.index(v) for v in targets])[..., 0]
            codes = run.evidence.codes[targets, 0].tolist()
            found = found[tuple(slice(None) if code < 0 else slice(code, code + 1) for code in codes)]
            x[at.end : at.end + found.size] = found.reshape(-1)


def maximise(
    program: Program,
    x: np.ndarray,
    at: Layout,
    evidence: Evidence,
    is_maximised: np.ndarray,
    chosen: np.ndarray,
    algebra: Algebra = PROBABILITIES,
) -> float:
    """Find what :func:`tunbridge.kernels.inference.propagation.maximise` does."""
    with np.errstate(all="ignore"):
        run = _Run(program, x, at, evidence, algebra)
        x[SAFE] = 0.0
        try:
            log_largest = run.collect(is_maximised)
            chosen[:] = evidence.codes[:, 0]
            for c in reversed(range(len(run.cliques))):
                variables, n_residual = run.cliques[c].variables, run.cliques[c].n_residual
                if is_maximised[variables[0]]:
                    separator = tuple(chosen[variables[n_residual:]].tolist())
                    table = run.table(c, is_down=False)[(..., *separator, 0)]
                    chosen[variables[:n_residual]] = np.unravel_index(table.argmax(), table.shape)
        except _Underflow:
            return -np.inf
        x[SAFE] = 1.0
        return float(log_largest[0])


def condition(
    program: Program,
    x: np.ndarray,
    at: Layout,
    evidence: Evidence,
    table_start: np.ndarray,
    tables: np.ndarray,
    algebra: Algebra = PROBABILITIES,
) -> float:
    """Write what :func:`tunbridge.kernels.inference.propagation.condition` does."""
    with np.errstate(all="ignore"):
        run = _Run(program, x, at, evidence, algebra)
        x[SAFE] = 0.0
        try:
            log_evidence = run.collect(np.zeros(len(run.n_states), bool))
            for c, clique in enumerate(run.cliques):
                v = clique.variables[0]
                table = run.table(c, is_down=False).reshape(run.n_states[v], -1)  # each column a configuration
                shares = table.copy() if algebra is PROBABILITIES else np.exp(algebra.scale(table)[0])
                shares[0, shares.sum(axis=0) == 0.0] = 1.0
                tables[table_start[v] : table_start[v] + shares.size] = (shares / shares.sum(axis=0)).T.reshape(-1)
        except _Underflow:
            return -np.inf
        x[SAFE] = 1.0
        return float(log_evidence[0])
