"""One run: a question answered by a junction tree, or plainly where nothing has been compiled yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.inference.elimination import eliminate, factors_of
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.plans import Plan
from tunbridge.kernels import propagation
from tunbridge.kernels.buffer import END, MARGINALS, UP

if TYPE_CHECKING:
    from tunbridge.probability import ConditionalTable

_NOTHING = np.empty(0, np.int64)


class Answer(NamedTuple):
    """What one run tells.

    Parameters
    ----------
    log_evidence : float
        The logarithm of the probability of the evidence; −∞ when it is impossible (and then nothing else is told).
    marginals : ndarray
        The distributions of all variables end to end; those that were not wanted are not filled.
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
    codes, soft, is_soft = plan.findings(evidence, places)
    asked = _NOTHING if not joint else _in_tree_order(plan, places, joint)
    shape = [1 if codes[v, 0] >= 0 else int(plan.potentials.n_states[v]) for v in asked]
    size, log_evidence = math.prod(shape) if joint else 0, np.empty(1)
    if size:
        check_memory("the joint distribution", 8.0 * size, ways_out="Ask for fewer variables at once.")
    marks = _marks(len(codes), places, wanted)
    run = plan.tree.take(plan.potentials, extra=size)
    parts, buffer, _ = run
    propagation.propagate(plan.tree.program, parts, buffer, codes, soft, is_soft, marks, asked, log_evidence)
    marginals = buffer[parts[MARGINALS] : parts[UP]].copy()
    table = buffer[parts[END] : parts[END] + size].copy() if joint else _NOTHING
    plan.tree.give_back(run)
    log_probability = float(log_evidence[0]) + plan.log_factor + evidence.log_factor
    if plan.variables is not None:
        marginals = _spread(plan, evidence, states, marginals)
    if not joint:
        return Answer(log_probability, marginals, None, plan.knows_evidence)
    scope = asked.tolist() if plan.variables is None else plan.variables[asked].tolist()
    table = table.reshape(shape) if len(asked) else np.ones(())
    joint_table = _arranged(table, scope, evidence, states, joint)
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


def _arranged(
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


def run_plainly(
    cpts: Sequence[ConditionalTable],
    parents: Sequence[Sequence[int]],
    evidence: Evidence,
    states: States,
    wanted: Sequence[int] | None,
    joint: Sequence[int],
) -> Answer:
    """Return the same as :func:`run_tree` by plain variable elimination."""
    factors = factors_of(cpts, parents, evidence)
    whole, log_scale = eliminate(factors, (), states.n_states)
    log_evidence = log_scale + math.log(whole.table) if whole.table > 0.0 else -math.inf
    marginals = np.zeros(states.starts[-1])
    if log_evidence == -math.inf:
        return Answer(log_evidence, marginals, np.zeros(states.n_states[list(joint)]))
    for v in range(len(cpts)) if wanted is None else wanted:
        if v in evidence.hard:
            marginals[states.starts[v] + evidence.hard[v]] = 1.0
        else:
            found, _ = eliminate(factors, [v], states.n_states)
            states.put(v, found.table / found.table.sum(), marginals)
    log_probability = log_evidence + evidence.log_factor
    if not joint:
        return Answer(log_probability, marginals)
    found, _ = eliminate(factors, joint, states.n_states)
    table = _arranged(found.table / found.table.sum(), list(found.scope), evidence, states, joint)
    return Answer(log_probability, marginals, table)
