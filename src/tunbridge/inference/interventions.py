"""Interventions: what happens when variables are set from outside (Pearl's do-operator).

Setting a variable cuts it off from its parents: its table is replaced by the state it is put in, or by a distribution
that does not depend on anything. All other tables stay as they are.

References
----------
J. Pearl (2009). Causality, 2nd ed., section 1.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import find_variable, state_of
from tunbridge.probability import CPT, ConditionalTable, as_cpt


def do(engine: Engine, setting: Mapping[str, Any]) -> tuple[ConditionalTable, ...]:
    """Return the tables of the network after the variables were set to a state, or to a distribution over states."""
    if not isinstance(setting, Mapping):
        hint = "Write {variable: state}."
        raise DataError(
            f"an intervention must be a dict from variable to state; got {shortened(repr(setting))}. {hint}"
        )
    tables = list(engine.cpts)
    for name, value in setting.items():
        v = find_variable(engine.index, name, "an intervention")
        tables[v] = set_table(engine.variables[v], value)
    return tuple(tables)


def set_table(variable: Variable, value: Any) -> ConditionalTable:
    """Return the table of a variable that was set to a state, or to a distribution over states."""
    if isinstance(value, Mapping):
        return as_cpt(variable, (), value)
    row = np.zeros(variable.n_states)
    row[state_of(variable, value, "an intervention")] = 1.0
    return CPT(variable, (), row)
