"""Which emission the columns of some sequences get, and which columns an emission needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunbridge._core.check import check_choice, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.temporal.emissions import FAMILIES, Categorical, Emission, Gaussian, Independent

Emissions = str | Emission | Mapping[str, Any]
"""A name, an emission, or one of these for each column."""


def kind_of(emissions: Any) -> Any:
    """Return the kind of columns that an emission must have; None where any will do."""
    if isinstance(emissions, str):
        if emissions == "auto":
            return None
        check_choice("emissions", emissions, ("auto", *(name for name in FAMILIES if name != "independent")))
        return "categorical" if emissions == "categorical" else "continuous"
    if isinstance(emissions, Independent):
        return None
    if isinstance(emissions, Categorical):
        return "categorical"
    if not all(hasattr(emissions, name) for name in ("log_likelihood", "fit", "sample")):
        raise DataError(
            f"emissions must be a name, or an object with the methods log_likelihood, fit and sample; "
            f"got {shortened(repr(emissions))}.",
            parameter="emissions",
        )
    return "continuous"


def emission_for(emissions: Emissions, variables: Sequence[Variable]) -> Emission:
    """Return an emission for all columns."""
    if isinstance(emissions, Mapping):
        absent = [name for name in emissions if name not in {v.name for v in variables}]
        if absent:
            raise DataError(f"emissions must name columns of the data; got {listed(absent)}.", parameter="emissions")
        each = [emission_for(emissions.get(v.name, "auto"), [v]) for v in variables]
        return each[0] if len(each) == 1 else Independent(tuple(((i,), one) for i, one in enumerate(each)))
    categorical = [i for i, v in enumerate(variables) if v.is_categorical]
    numbers = [i for i, v in enumerate(variables) if v.is_continuous]
    if emissions == "categorical" or (emissions == "auto" and categorical):
        symbols = [((i,), Categorical(n_symbols=max(1, variables[i].n_states))) for i in categorical]
        rest = [(tuple(numbers), Gaussian(covariance="diagonal"))] if numbers else []
        return symbols[0][1] if len(variables) == 1 else Independent((*symbols, *rest))
    if isinstance(emissions, str):
        return FAMILIES["gaussian" if emissions == "auto" else emissions]()
    if isinstance(emissions, Independent):
        own = [(columns, emission_for(part, [variables[c] for c in columns])) for columns, part in emissions.parts]
        return replace(emissions, parts=tuple(own))
    if isinstance(emissions, Categorical) and emissions.n_symbols is None:
        if len(variables) > 1:
            alike = [replace(emissions, n_symbols=max(1, v.n_states)) for v in variables]
            return Independent(tuple(((i,), one) for i, one in enumerate(alike)))
        return replace(emissions, n_symbols=max(1, variables[0].n_states))
    return emissions


def variables_of(emission: Any, symbols: Sequence[State] | None, columns: Sequence[str] | None) -> tuple[Variable, ...]:
    """Return the observed variables of an emission with parameters."""
    if isinstance(emission, Independent):
        kinds: list[Any] = [None] * sum(len(own) for own, _ in emission.parts)
        for own, part in emission.parts:
            for column in own:
                kinds[column] = part.n_symbols if isinstance(part, Categorical) else None
    elif isinstance(emission, Categorical):
        kinds = [emission.n_symbols]
    else:
        kinds = [None] * _width(emission)
    names = [f"x{i}" for i in range(len(kinds))] if len(kinds) > 1 else ["x"]
    if columns is not None:
        if len(columns) != len(kinds):
            raise DataError(f"columns must have {len(kinds)} names; got {listed(columns)}.", parameter="columns")
        names = list(columns)
    states = [None if n is None else tuple(range(n)) for n in kinds]
    if symbols is not None:
        if len(states) != 1 or states[0] is None or len(symbols) != len(states[0]):
            raise DataError(f"symbols must be as many as the emission has; got {len(symbols)}.", parameter="symbols")
        return (Variable(names[0], symbols),)
    return tuple(Variable(name, own) for name, own in zip(names, states, strict=True))


def _width(emission: Any) -> int:
    """Return the number of columns that an emission draws."""
    drawn = np.asarray(emission.sample(np.zeros(1, np.int64), np.random.default_rng(0)))
    return int(drawn.shape[1])
