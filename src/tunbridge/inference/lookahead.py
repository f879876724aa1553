"""A state of positive probability that agrees with evidence, found by drawing forward while looking ahead.

Where tables hold zeros, evidence can be so rare that no forward sample meets it, though a state that agrees with it is
easy to see: if an alarm sounds only when all of thirty switches are on, they are on. So every variable keeps the set of
states that may still lead to a possible whole. A table lets a state of one of its members stand when some entry above
zero has it together with states that stand; whatever has no such support is struck out, which can take away the support
of others, until nothing changes (generalised arc consistency). Then the variables are drawn in topological order from
what is left of their rows, and after each draw the consequences are struck out again. A draw that leaves some variable
without a state is taken back. In networks without undirected cycles this never ends in a blind alley; in others it may,
and then begins anew.

References
----------
A. K. Mackworth (1977). Consistency in networks of relations. Artificial Intelligence 8, 99–118.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tunbridge._check import listed
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.flat import FlatNetwork

_ATTEMPTS = 30

Domains = dict[int, np.ndarray]
"""For each variable which of its states still stand; the arrays are replaced, never changed."""


@dataclass(frozen=True, eq=False)
class _Relations:
    """Which entries of the tables are possible, the variables along their axes, and the tables that each is in."""

    possible: dict[int, np.ndarray]
    members: dict[int, list[int]]
    tables_with: dict[int, list[int]]


def possible_state(
    flat: FlatNetwork, order: np.ndarray, likelihoods: Mapping[int, np.ndarray], rng: np.random.Generator
) -> np.ndarray | None:
    """Return codes of positive probability that agree with the evidence; None when none was found.

    Parameters
    ----------
    flat : FlatNetwork
        The network.
    order : ndarray
        The variables that matter, with all their ancestors, parents first; the codes of others are zero.
    likelihoods : mapping of int to ndarray
        The evidence.
    rng : numpy.random.Generator
        Where the draws come from.

    Raises
    ------
    ImpossibleEvidenceError
        When the evidence is impossible for certain.
    """
    relations, domains = _relations(flat, order.tolist()), _domains(flat, order.tolist(), likelihoods)
    if not _strike_out(relations, domains, order.tolist()):
        names = listed(flat.variables[v].name for v in likelihoods)
        raise ImpossibleEvidenceError(
            f"the evidence on {names} must be possible; no state of the network agrees with it."
        )
    attempts = (_attempt(flat, order, relations, dict(domains), rng) for _ in range(_ATTEMPTS))
    return next((codes for codes in attempts if codes is not None), None)


def _relations(flat: FlatNetwork, order: list[int]) -> _Relations:
    members = {v: [*flat.parents_of(v).tolist(), v] for v in order}
    possible = {v: (flat.table_of(v) > 0.0).reshape(flat.n_states[members[v]]) for v in order}
    tables_with: dict[int, list[int]] = {v: [] for v in order}
    for table, variables in members.items():
        for v in variables:
            tables_with[v].append(table)
    return _Relations(possible, members, tables_with)


def _domains(flat: FlatNetwork, order: list[int], likelihoods: Mapping[int, np.ndarray]) -> Domains:
    whole: Domains = {v: np.ones(flat.n_states[v], bool) for v in order}
    return whole | {v: np.asarray(likelihood) > 0.0 for v, likelihood in likelihoods.items()}


def _strike_out(relations: _Relations, domains: Domains, tables: Iterable[int]) -> bool:
    """Strike out what has lost its support, from these tables on; return whether every variable keeps a state."""
    waiting = dict.fromkeys(tables)
    while waiting:
        table = next(iter(waiting))
        del waiting[table]
        for v, stands in _supported(relations, domains, table):
            if not stands.any():
                return False
            if stands.sum() < domains[v].sum():
                domains[v] = stands
                waiting.update(dict.fromkeys(t for t in relations.tables_with[v] if t != table))
    return True


def _supported(relations: _Relations, domains: Domains, table: int) -> list[tuple[int, np.ndarray]]:
    """Return for each member of a table which of its states have an entry that supports them."""
    members, allowed = relations.members[table], relations.possible[table]
    axes = range(len(members))
    for axis, v in enumerate(members):
        allowed = allowed & domains[v].reshape([-1 if a == axis else 1 for a in axes])
    return [(v, np.asarray(allowed.any(axis=tuple(a for a in axes if a != axis)))) for axis, v in enumerate(members)]


def _attempt(
    flat: FlatNetwork, order: np.ndarray, relations: _Relations, domains: Domains, rng: np.random.Generator
) -> np.ndarray | None:
    """Return codes drawn in topological order from what stands; None in a blind alley."""
    codes = np.zeros(flat.n_variables, np.int64)
    for v in order.tolist():
        row = flat.table_of(v)[_configuration(flat, codes, v)]
        while True:
            chances = row * domains[v]
            if not chances.any():
                return None
            codes[v] = rng.choice(row.size, p=chances / chances.sum())
            held = np.arange(row.size) == codes[v]
            trial = domains | {v: held}
            if _strike_out(relations, trial, relations.tables_with[v]):
                domains = trial
                break
            domains = domains | {v: domains[v] & ~held}
    return codes


def _configuration(flat: FlatNetwork, codes: np.ndarray, v: int) -> int:
    number = 0
    for parent in flat.parents_of(v).tolist():
        number = number * int(flat.n_states[parent]) + int(codes[parent])
    return number
