"""Variables, arcs and tables of a network in any of the accepted forms, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.graph import DAG
from tunbridge.probability import ConditionalTable, LinearGaussian, as_cpt

GivenVariables = Mapping[str, Iterable[State] | None] | Iterable[Variable]
"""Variables, or their states by name (None: continuous)."""

GivenArcs = DAG | Iterable[Iterable[str]]
"""A graph, or pairs (parent, child)."""

GivenTables = Mapping[str, Any] | Iterable[ConditionalTable]
"""Tables, or what :func:`as_cpt` makes a table of, by variable."""


def as_variables(given: GivenVariables) -> tuple[Variable, ...]:
    """Return the variables of a list of them, or of a mapping from names to states (None: continuous).

    Examples
    --------
    >>> as_variables({"Rain": ["no", "yes"]})
    (Variable('Rain', ['no', 'yes']),)
    """
    if isinstance(given, Mapping):
        variables = tuple(Variable(name, states) for name, states in given.items())
    elif isinstance(given, Iterable) and not isinstance(given, str):
        variables = tuple(given)
    else:
        raise DataError(f"variables must be a dict from name to states; got {shortened(repr(given))}.")
    for variable in variables:
        _check_variable(variable)
    names = [v.name for v in variables]
    if len(set(names)) < len(names):
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        raise DataError(f"variables must have distinct names; got {listed(twice)} twice.")
    return variables


def _check_variable(variable: object) -> None:
    if not isinstance(variable, Variable):
        hint = "Write {name: [states, …]}."
        raise DataError(f"variables must be a dict from name to states; got {shortened(repr(variable))}. {hint}")
    if variable.is_categorical and not variable.n_states:
        raise DataError(f"every variable of a network must have states; {variable.name!r} has none.")


def as_tables(variables: Sequence[Variable], dag: DAG, cpts: GivenTables) -> tuple[ConditionalTable, ...]:
    """Return one table for each variable, with the parents of the graph; raise an error that names what is wrong."""
    given = _by_name(cpts)
    known = {v.name: v for v in variables}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UnknownVariableError(f"cpts must name variables of the network; got {name!r}. {hint}")
    absent = [name for name in known if name not in given]
    if absent:
        has = "has" if len(absent) == 1 else "have"
        raise DataError(f"cpts must have a table for every variable; {listed(absent)} {has} none.")
    return tuple(_as_table(v, [known[p] for p in dag.parents(v.name)], given[v.name]) for v in variables)


def _as_table(variable: Variable, parents: list[Variable], given: object) -> ConditionalTable:
    """Return the table of a variable; a continuous one may have its parents in another order."""
    if variable.is_categorical:
        return as_cpt(variable, parents, given)
    if isinstance(given, Mapping) and set(given) <= {"intercepts", "coefficients", "variances"}:
        return LinearGaussian(variable, parents, **given)
    if not isinstance(given, LinearGaussian):
        hint = "None instead of states makes a variable continuous."
        what = f"the table of the continuous variable {variable.name!r}"
        raise DataError(f"{what} must be a LinearGaussian; got {shortened(repr(given))}. {hint}")
    if given.variable != variable or {p.name: p for p in given.parents} != {p.name: p for p in parents}:
        wanted = f"{variable.name!r} given {listed(p.name for p in parents) or 'nothing'}"
        raise DataError(f"the table must be that of {wanted}, with the same states; got {given!r}.")
    return given


def _by_name(cpts: GivenTables) -> dict[str, Any]:
    if isinstance(cpts, Mapping):
        return dict(cpts)
    if isinstance(cpts, Iterable) and not isinstance(cpts, str):
        tables = list(cpts)
        if all(isinstance(table, ConditionalTable) for table in tables):
            names = [table.variable.name for table in tables]
            if len(set(names)) < len(names):
                twice = [name for i, name in enumerate(names) if name in names[:i]]
                raise DataError(f"cpts must have one table for every variable; got several for {listed(twice)}.")
            return dict(zip(names, tables, strict=True))
    raise DataError(f"cpts must be a dict from variable to table; got {shortened(repr(cpts))}.")


def as_dag(variables: Sequence[Variable], arcs: GivenArcs) -> DAG:
    """Return the graph over the variables; arcs are pairs of names, or a graph over the same nodes."""
    names = [v.name for v in variables]
    if isinstance(arcs, DAG):
        if set(arcs.nodes) != set(names):
            differ = sorted(set(arcs.nodes) ^ set(names))
            are = "is" if len(differ) == 1 else "are"
            raise DataError(f"the graph must have the variables as its nodes; {listed(differ)} {are} in one only.")
        return arcs
    return DAG(names, arcs)
