"""A network of categories and numbers, ready to be asked: its discrete part, its continuous part, what was compiled."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunbridge.data import Variable
from tunbridge.inference.engine import Engine
from tunbridge.inference.hybrid_components import ContinuousPart
from tunbridge.probability import CPT, ConditionalTable

Scope = tuple[int, ...]
"""Categorical variables by the discrete engine's numbers, in ascending order."""

_KEPT_ENGINES = 512


class HybridEngine:
    """A network with continuous variables, ready to be asked. Safe to share between threads.

    Parameters
    ----------
    cpts : sequence of ConditionalTable
        One for each variable; the variables are numbered in this order.

    Attributes
    ----------
    variables, index : tuple of Variable, dict of str to int
        The variables, and their numbers by name.
    part : ContinuousPart
        The continuous families.
    engine : Engine
        The discrete network; it numbers its variables by itself.
    discrete : tuple of int
        The numbers of the categorical variables, in the engine's order.
    place : dict of int to int
        The engine's number of each categorical variable.
    """

    def __init__(self, cpts: Sequence[ConditionalTable]) -> None:
        self.cpts = tuple(cpts)
        self.part = ContinuousPart(self.cpts)
        self.variables: tuple[Variable, ...] = self.part.variables
        self.index = {variable.name: v for v, variable in enumerate(self.variables)}
        self.discrete = tuple(v for v, variable in enumerate(self.variables) if variable.is_categorical)
        self.place = {v: i for i, v in enumerate(self.discrete)}
        self.engine = Engine([self.cpts[v] for v in self.discrete])
        self._engines: OrderedDict[Any, Engine] = OrderedDict()
        self._clustered: dict[Any, Engine] = {}
        self._tables: dict[Scope, CPT] = {}
        self._lock = threading.RLock()

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.variables)

    def is_number(self, v: int) -> bool:
        """Return whether a variable is continuous."""
        return v in self.part.tables

    def with_tables(self, cpts: Sequence[ConditionalTable]) -> HybridEngine:
        """Return the same network with other numbers in its tables; what was compiled is shared."""
        other = HybridEngine(cpts)
        other.engine = self.engine.with_tables(other.engine.cpts)
        other._engines, other._tables, other._lock = self._engines, self._tables, self._lock
        return other

    def with_children(self, scopes: Sequence[Scope], tables: Sequence[ConditionalTable]) -> Engine:
        """Return the discrete network with an auxiliary child, its table given, for each scope."""
        return self._extended(("child", *scopes), tables)

    def with_clusters(self, scopes: Sequence[Scope]) -> Engine:
        """Return the discrete network with an auxiliary variable for each scope that tells its configuration."""
        key = ("cluster", *scopes)
        with self._lock:
            if key not in self._clustered:
                self._clustered[key] = self._extended(key, [self._cluster(scope) for scope in scopes])
            return self._clustered[key]

    def _cluster(self, scope: Scope) -> CPT:
        if scope not in self._tables:
            self._tables[scope] = _cluster(self.engine, scope)
        return self._tables[scope]

    def _extended(self, key: tuple[Any, ...], tables: Sequence[ConditionalTable]) -> Engine:
        """Return the discrete network with further tables; what was compiled for the same structure is shared."""
        if not tables:
            return self.engine
        whole = [*self.engine.cpts, *tables]
        with self._lock:
            known = self._engines.get(key)
        found = Engine(whole) if known is None else known.with_tables(whole)
        with self._lock:
            self._engines[key] = found  # the last one, since what it has compiled is shared with the others
            self._engines.move_to_end(key)
            if len(self._engines) > _KEPT_ENGINES:
                self._engines.popitem(last=False)
        return found


def _cluster(engine: Engine, scope: Scope) -> CPT:
    """Return the table of the auxiliary variable whose states are the configurations of some others."""
    parents = tuple(engine.variables[d] for d in scope)
    q = math.prod(p.n_states for p in parents)
    variable = Variable("together: " + ", ".join(p.name for p in parents), range(q))
    return CPT._trusted(variable, parents, np.eye(q).reshape(*(p.n_states for p in parents), q))
