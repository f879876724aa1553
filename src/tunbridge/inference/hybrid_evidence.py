"""Evidence about categories and numbers, and the discrete network that is left once the numbers have been taken in.

What observed numbers say about categories is a factor for each component of the continuous part; it joins the discrete
network as an observed child of its categories. Then every question about categories can be put to that network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tunbridge._check import check_number, shortened
from tunbridge.data import Variable
from tunbridge.data.arrow import is_pandas
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.inference import queries
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import find_variable, read_evidence
from tunbridge.inference.hybrid_components import Component, solve
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_factors import LARGEST_UNION, LogFactor, combined, has_small, scaled, united
from tunbridge.probability import CPT

FOUND = "as found"
"""The state in which the auxiliary child of a factor is observed."""


class Findings(NamedTuple):
    """Evidence: about categories by name, as it was given, with the codes of those that are certain; and numbers."""

    discrete: dict[str, Any]
    fixed: dict[int, int]
    values: dict[int, float]

    def z(self, component: Component) -> np.ndarray:
        """Return (1, observed numbers) of a component as a row."""
        return np.array([[1.0, *(self.values[v] for v in component.observed)]])


def read_findings(hybrid: HybridEngine, given: Mapping[str, Any] | None, what: str = "evidence") -> Findings:
    """Return evidence by kind; raise an error that names what is wrong with it."""
    if given is not None and is_pandas(given, "Series"):
        given = dict(given.items())
    if given is not None and not isinstance(given, Mapping):
        shown = shortened(" ".join(repr(given).split()))
        raise DataError(f"{what} must be a dict from variable to state or number; got {shown}.")
    discrete, values = {}, {}
    for name, finding in (given or {}).items():
        v = find_variable(hybrid.index, name, what)
        if is_missing(finding):
            continue
        if hybrid.is_number(v):
            values[v] = _number(name, finding, what)
        else:
            discrete[name] = finding
    engine = hybrid.engine
    read = read_evidence(engine.variables, engine.index, discrete, what)
    return Findings(discrete, {hybrid.discrete[i]: code for i, code in read.hard.items()}, values)


def _number(name: str, finding: Any, what: str) -> float:
    try:
        return check_number(f"{what} about {name!r}", finding)
    except DataError as error:
        raise DataError(f"{error} It is continuous.") from None


class Absorbed(NamedTuple):
    """The discrete network that is left once the observed numbers have been taken into it.

    Parameters
    ----------
    engine : Engine
        The discrete network with an auxiliary child for each factor.
    evidence : dict
        The evidence about categories, and that every auxiliary variable is as found.
    log_factor : float
        The logarithm of what the factors were divided by.
    findings : Findings
        The evidence as it was given.
    """

    engine: Engine
    evidence: dict[str, Any]
    log_factor: float
    findings: Findings


def absorb(hybrid: HybridEngine, given: Mapping[str, Any] | None, *, may_be_impossible: bool = False) -> Absorbed:
    """Return the discrete network that evidence leaves; every question about categories can be put to it."""
    findings = read_findings(hybrid, given)
    factors = []
    for component in hybrid.part.cut(findings.values):
        solution = solve(hybrid.part, component, findings.fixed)
        logs = solution.log_density(findings.z(component))
        scope = tuple(hybrid.place[d] for d in solution.scope)
        factors.append(LogFactor(scope, logs.reshape(1, *hybrid.part.shape(solution.scope))))
    kept, constants = combined(factors, 1)
    if np.any(has_small(kept)):
        kept = _possible_only(hybrid, kept, findings.discrete)
    tables, log_factor = [], float(constants[0])
    for i, factor in enumerate(kept):
        table, top = factor_child(hybrid.engine, factor, i)
        tables.append(table)
        log_factor += top
    if log_factor == -math.inf and not may_be_impossible:
        raise _contradicted(hybrid, findings)
    engine = hybrid.with_children([factor.scope for factor in kept], tables)
    evidence = findings.discrete | {table.variable.name: FOUND for table in tables}
    return Absorbed(engine, evidence, log_factor, findings)


def _possible_only(hybrid: HybridEngine, factors: list[LogFactor], evidence: Mapping[str, Any]) -> list[LogFactor]:
    """Return the factors united, without what the discrete network holds for impossible."""
    scope = sorted({d for factor in factors for d in factor.scope})
    if math.prod(map(float, hybrid.engine.n_states[scope])) > LARGEST_UNION:
        return factors
    whole = united(factors, hybrid.engine.n_states)
    names = [hybrid.engine.variables[d].name for d in scope]
    try:
        chances = queries.posterior(hybrid.engine, names, evidence).probabilities
    except ImpossibleEvidenceError:
        return factors  # whoever asks next is told
    return [whole._replace(logs=np.where(chances[None] > 0.0, whole.logs, -np.inf))]


def factor_child(engine: Engine, factor: LogFactor, number: int) -> tuple[CPT, float]:
    """Return a factor as the table of an auxiliary child, and the logarithm of what it was divided by."""
    rows, tops = scaled(factor.logs)
    parents = tuple(engine.variables[d] for d in factor.scope)
    names = ", ".join(p.name for p in parents)
    variable = Variable(f"numbers {number} that depend on {names}", [FOUND, "otherwise"])
    table = np.stack([rows[0], 1.0 - rows[0]], axis=-1).reshape(*factor.logs.shape[1:], 2)
    return CPT._trusted(variable, parents, table), float(tops[0])


def _contradicted(hybrid: HybridEngine, findings: Findings) -> ImpossibleEvidenceError:
    exact = {v: x for v, x in findings.values.items() if hybrid.part.tables[v].is_exact}
    named = {hybrid.variables[v].name: x for v, x in (exact or findings.values).items()}
    shown = " and ".join(f"{name}={value:g}" for name, value in named.items())
    what = "is not what the network says exactly" if exact else "is so far off that its density is no number"
    return ImpossibleEvidenceError(
        f"the evidence must be possible; {shown} {what}. Leave it out.", conflict=dict(named)
    )
