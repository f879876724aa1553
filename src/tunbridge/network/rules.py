"""What holds during an update, checked once: fading, what tables without counts are worth, which tables are fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_number, did_you_mean, listed
from tunbridge._threads import n_threads
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.network.arriving import NEW_STATES
from tunbridge.probability import CPT, ConditionalTable, SparseCPT

_ONE_ROW = 1.0


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of an update.

    Attributes
    ----------
    fading : dict of str to float
        The factor of each table.
    ess : dict of str to float
        How many rows a configuration without counts is worth, for the tables for which that was said.
    fixed : frozenset of str
        The variables whose tables stay as they are.
    new_states : str
        What becomes of values that are no states.
    n_jobs : int or None
        Threads.
    """

    fading: dict[str, float]
    ess: dict[str, float]
    fixed: frozenset[str]
    new_states: str
    n_jobs: int | None

    def ess_of(self, name: str) -> float:
        """Return how many rows a configuration is worth that has no counts: one unless that was said."""
        return self.ess.get(name, _ONE_ROW)

    def starting(self, tables: tuple[ConditionalTable, ...]) -> tuple[ConditionalTable, ...]:
        """Return the tables with counts behind all that are to be updated; raise where nobody says what one is worth.

        Counts that are there stay as they are.
        """
        bare = [cpt for cpt in tables if cpt.variable.name not in self.fixed and cpt.counts is None]
        _check_kinds(bare)
        absent = [cpt.variable.name for cpt in bare if cpt.variable.name not in self.ess]
        if absent:
            raise DataError(
                "ess must say how many rows the tables without counts are worth; "
                f"got none for {listed(absent, most=4)}. "
                "ess=100 makes every row of such a table worth 100 rows of data, ess={name: number} says it by "
                "variable, and fixed=[name] leaves a table as it is."
            )
        names = {cpt.variable.name for cpt in bare}
        return tuple(
            _with_counts(cpt, self.ess[cpt.variable.name]) if cpt.variable.name in names else cpt for cpt in tables
        )


def _check_kinds(bare: list[ConditionalTable]) -> None:
    """Raise for tables that store no rows, and so can have no counts."""
    odd = [cpt for cpt in bare if not isinstance(cpt, CPT | SparseCPT)]
    if odd:
        name, kind = odd[0].variable.name, type(odd[0]).__name__
        raise DataError(
            f"tables must store their rows to be updated; that of {name!r} is a {kind}. Leave it as it is with "
            f"fixed=[{name!r}], or turn it into a CPT first: CPT(variable, parents, table.table())."
        )


def _with_counts(cpt: Any, ess: float) -> ConditionalTable:
    counts = ess * cpt.probabilities
    if isinstance(cpt, CPT):
        return CPT._trusted(cpt.variable, cpt.parents, cpt.probabilities, counts)
    return SparseCPT._trusted(
        cpt.variable, cpt.parents, cpt.configurations, cpt.probabilities, cpt.default, np.asarray(counts)
    )


def checked_rules(
    cpts: Mapping[str, ConditionalTable],
    *,
    fading: Any = 1.0,
    ess: Any = None,
    fixed: str | Iterable[str] = (),
    new_states: str = "add",
    n_jobs: int | None = None,
) -> Rules:
    """Return the rules that arguments stand for; raise an error that names the one that is wrong."""
    check_choice("new_states", new_states, NEW_STATES)
    check_discrete(cpts, "updated")
    n_threads(n_jobs)
    kept = [fixed] if isinstance(fixed, str) or not isinstance(fixed, Iterable) else list(fixed)
    for name in kept:
        _check_known("fixed", name, cpts)
    factors = dict.fromkeys(cpts, 1.0) | _by_name("fading", fading, cpts, high=1.0)
    worth = {} if ess is None else _by_name("ess", ess, cpts, high=None)
    return Rules(factors, worth, frozenset(kept), new_states, n_jobs)


def check_discrete(cpts: Mapping[str, Any], done: str) -> None:
    """Raise for a network with numbers among its variables."""
    numbers = [name for name, cpt in cpts.items() if cpt.variable.is_continuous]
    if numbers:
        hint = "Cut the numbers into intervals, or fit it again."
        raise DataError(f"a network must have states only to be {done}; {listed(numbers)} holds numbers. {hint}")


def _by_name(what: str, given: Any, names: Mapping[str, Any], *, high: float | None) -> dict[str, float]:
    """Return a number for each variable, or for those that a mapping names."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, check_number(what, given, above=0.0, high=high))
    for name in given:
        _check_known(what, name, names)
    return {name: check_number(f"{what} of {name!r}", number, above=0.0, high=high) for name, number in given.items()}


def _check_known(what: str, name: object, names: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or name not in names:
        hint = did_you_mean(name, names)
        raise UnknownVariableError(f"{what} must name variables of the network; got {name!r}. {hint}")
