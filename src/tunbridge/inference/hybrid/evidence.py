"""Evidence about continuous variables: the factors it gives categorical ones, and the discrete network with them.

A component of the continuous part of a network gives the observed values a density for each configuration of its
categories, φ(d) = p(observed | d): a factor like a conditional table. It joins the discrete network as an observed
child of its categories, and then that network answers every question about categories.

Factors are kept as logarithms. Only ratios matter for posteriors, so the largest entry is taken out first and goes into
the density of the evidence. Factors about the same categories, or some of them, are added up as logarithms: a thousand
measurements of one case do not underflow.

An entry far below the largest cannot be kept next to it in a table of doubles, and other factors may make it the most
probable one. So a factor with a wide range becomes several observed children, each with a root of it: φ = Π φ^(1/n).
The junction tree notices that their product underflows, and takes logarithms. Only where the range is enormous
(10⁻⁵⁰⁰⁰⁰⁰) all factors are united in one, and the configurations that are impossible in the discrete network are
dropped before the largest of the others is taken out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_number, listed, shortened
from tunbridge.data import Variable
from tunbridge.data.arrow import is_pandas
from tunbridge.data.variable import is_missing, seconds_of
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, Given, find_variable, read_evidence
from tunbridge.inference.hybrid.components import Component, solve
from tunbridge.probability import CPT

SMALLEST = 1e-300
"""What is possible stays possible, however small it is next to the largest entry."""

LARGEST_UNION = 2**20
"""The entries of the largest factor in which others are united."""

_PART, _MOST_PARTS = 600.0, 2000  # the range of logarithms of a factor, and how many factors a wider one becomes


class LogFactor(NamedTuple):
    """The logarithms of a factor for each of some rows.

    Parameters
    ----------
    scope : tuple of int
        Categorical variables, in ascending order.
    logs : ndarray of shape (n_rows, *numbers of states)
        ln φ.
    """

    scope: tuple[int, ...]
    logs: np.ndarray


def combined(factors: Iterable[LogFactor], n_rows: int) -> tuple[list[LogFactor], np.ndarray]:
    """Return factors none of whose scopes is part of another's, and the constants: those about no category.

    The product of all, with the constants, is what it was.
    """
    constants, kept = np.zeros(n_rows), list[LogFactor]()
    for factor in sorted(factors, key=lambda f: (-len(f.scope), f.scope)):
        if not factor.scope:
            constants = constants + factor.logs.reshape(n_rows)
            continue
        place = next((i for i, f in enumerate(kept) if set(factor.scope) <= set(f.scope)), None)
        if place is None:
            kept.append(factor)
        else:
            wide = kept[place]
            kept[place] = wide._replace(logs=wide.logs + widened(factor, wide.scope))
    return kept, constants


def widened(factor: LogFactor, scope: tuple[int, ...]) -> np.ndarray:
    """Return the logarithms with an axis for each variable of a wider scope, of length one where it has none."""
    sizes = dict(zip(factor.scope, factor.logs.shape[1:], strict=True))
    return factor.logs.reshape(len(factor.logs), *(sizes.get(v, 1) for v in scope))


def _range(factor: LogFactor) -> float:
    """Return how far the least finite logarithm of a factor is below the largest."""
    finite = factor.logs[np.isfinite(factor.logs)]
    return float(np.ptp(finite)) if finite.size else 0.0


def _parts(factor: LogFactor) -> list[LogFactor]:
    """Return factors whose product is this one, and whose entries a double can hold."""
    n = min(_MOST_PARTS, 1 + int(_range(factor) / _PART))
    return [factor._replace(logs=factor.logs / n)] * n


def united(factors: Sequence[LogFactor], n_states: np.ndarray) -> LogFactor:
    """Return the product of factors, over all of their variables."""
    scope = tuple(sorted({v for factor in factors for v in factor.scope}))
    logs = np.zeros((len(factors[0].logs), *(int(n_states[v]) for v in scope)))
    for factor in factors:
        logs = logs + widened(factor, scope)
    return LogFactor(scope, logs)


def scaled(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return factors whose largest entry in each row is 1, flat, and the logarithms of what they were divided by.

    Examples
    --------
    >>> scaled(np.log([[0.2, 0.4]]))
    (array([[0.5, 1. ]]), array([-0.91629073]))
    """
    flat = logs.reshape(len(logs), -1)
    tops = flat.max(axis=1)
    known = np.where(np.isfinite(tops), tops, 0.0)
    with np.errstate(under="ignore"):
        table = np.exp(flat - known[:, None])
    return np.where(flat == -np.inf, 0.0, np.maximum(table, SMALLEST)), tops


# Evidence


class Absorbed(NamedTuple):
    """The discrete network that evidence leaves, and the evidence about it.

    Parameters
    ----------
    engine : Engine
        The network with an auxiliary child for each factor; without continuous variables, the network itself.
    evidence : Evidence
        The findings about categories, and that every auxiliary child is observed; its factor holds the density.
    values : dict of int to float
        The observed values of continuous variables.
    """

    engine: Engine
    evidence: Evidence
    values: dict[int, float]

    def z(self, component: Component) -> np.ndarray:
        """Return (1, observed values) of a component as a row."""
        return np.array([[1.0, *(self.values[v] for v in component.observed)]])


def read_findings(engine: Engine, given: Given, what: str = "evidence") -> tuple[Evidence, dict[int, float]]:
    """Return the evidence about categories and the observed values; raise an error that names the problem."""
    if not engine.part.numbers:
        return read_evidence(engine.variables, engine.index, given, what), {}
    if given is not None and is_pandas(given, "Series"):
        given = dict(given.items())
    if given is not None and not hasattr(given, "items"):
        shown = shortened(" ".join(repr(given).split()))
        raise DataError(f"{what} must be a dict from variable to state or number; got {shown}.")
    states, values = {}, {}
    for name, finding in (given or {}).items():
        v = find_variable(engine.index, name, what)
        if not engine.is_number(v):
            states[name] = finding
        elif not is_missing(finding):
            values[v] = _number(name, _in_seconds(engine.variables[v], finding), what)
    return read_evidence(engine.variables, engine.index, states, what), values


def _in_seconds(variable: Variable, finding: object) -> object:
    """Return a date in ISO form in seconds where the variable holds dates; every other finding as it is."""
    number = seconds_of(finding) if variable.dates and isinstance(finding, str) else None
    return finding if number is None else number


def _number(name: str, finding: object, what: str) -> float:
    try:
        return check_number(f"{what} about {name!r}", finding)
    except DataError as error:
        raise DataError(f"{error} It is continuous.") from None


def absorb(engine: Engine, given: Given, *, may_be_impossible: bool = False) -> Absorbed:
    """Return the discrete network that evidence leaves; it answers every question about categories."""
    evidence, values = read_findings(engine, given)
    if not values:
        return Absorbed(engine, evidence, values)
    found, factors = Absorbed(engine, evidence, values), []
    for component in engine.part.cut(values):
        solution = solve(engine.part, component, evidence.hard)
        logs = solution.log_density(found.z(component))
        factors.append(LogFactor(solution.scope, logs.reshape(1, *engine.part.shape(solution.scope))))
    kept, constants = combined(factors, 1)
    kept = possible_only(engine, kept, evidence)
    extended, whole = with_factors(engine, kept, evidence, float(constants[0]))
    if whole.log_factor == -math.inf and not may_be_impossible:
        raise _contradicted(engine, values)
    return Absorbed(extended, whole, values)


def with_factors(
    engine: Engine, factors: Sequence[LogFactor], evidence: Evidence, log_constant: float
) -> tuple[Engine, Evidence]:
    """Return the network with an observed child for each factor of one row, and the evidence with these children."""
    tables, log_factor = [], evidence.log_factor + log_constant
    factors = [part for factor in factors for part in _parts(factor)]
    for number, factor in enumerate(factors):
        rows, tops = scaled(factor.logs)
        parents = tuple(engine.variables[d] for d in factor.scope)
        names = ", ".join(p.name for p in parents)
        variable = Variable(f"numbers {number} that depend on {names}", ["as found", "otherwise"])
        table = np.stack([rows[0], 1.0 - rows[0]], axis=-1).reshape(*factor.logs.shape[1:], 2)
        tables.append(CPT.of_valid(variable, parents, table))
        log_factor += float(tops[0])
    children = {engine.n_variables + k: 0 for k in range(len(tables))}
    extended = engine.with_children([factor.scope for factor in factors], tables)
    return extended, Evidence(evidence.hard | children, evidence.soft, log_factor)


def possible_only(engine: Engine, factors: list[LogFactor], evidence: Evidence) -> list[LogFactor]:
    """Return the factors of one row; if one has too wide a range, united, without what is impossible without them."""
    if all(_range(factor) <= _PART * _MOST_PARTS for factor in factors):
        return factors
    scope = sorted({d for factor in factors for d in factor.scope})
    if math.prod(map(float, engine.n_states[scope])) > LARGEST_UNION:
        names = listed([engine.variables[d].name for d in scope], most=4)
        raise DataError(f"observed numbers must be nearer to what the network expects, given {names}. Leave some out.")
    chances = engine.run(evidence, [], joint=scope)
    if chances.log_evidence == -math.inf or chances.joint is None:
        return factors  # the next question reports it
    whole = united(factors, engine.n_states)
    return [whole._replace(logs=np.where(chances.joint[None] > 0.0, whole.logs, -np.inf))]


def _contradicted(engine: Engine, values: dict[int, float]) -> ImpossibleEvidenceError:
    exact = {v: x for v, x in values.items() if engine.part.tables[v].is_exact}
    named = {engine.variables[v].name: x for v, x in (exact or values).items()}
    shown = " and ".join(f"{name}={value:g}" for name, value in named.items())
    what = "contradicts the network's exact value" if exact else "is so far off that its density is not a number"
    return ImpossibleEvidenceError(
        f"the evidence must be possible; {shown} {what}. Leave it out.", conflict=dict(named)
    )
