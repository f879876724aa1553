"""What else is asked of a network of categories and numbers: interventions, reasons, conflicts, forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tunbridge._check import check_number, shortened
from tunbridge._memory import memory_limit
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.inference import explaining, forecasting
from tunbridge.inference.conflicts import Conflict
from tunbridge.inference.evidence import find_variable
from tunbridge.inference.explaining import EvidenceExplanation
from tunbridge.inference.forecasting import Forecast
from tunbridge.inference.hybrid import log_probability, posterior
from tunbridge.inference.hybrid_components import Component, n_bytes_of
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_evidence import absorb, read_findings
from tunbridge.inference.interventions import set_table
from tunbridge.probability import ConditionalTable, LinearGaussian


def do(hybrid: HybridEngine, setting: Mapping[str, Any]) -> tuple[ConditionalTable, ...]:
    """Return the tables of the network after categories were set to states (or distributions), numbers to values."""
    if not isinstance(setting, Mapping):
        hint = "Write {variable: state or number}."
        raise DataError(
            f"an intervention must be a dict from variable to what it is set to; got {_shown(setting)}. {hint}"
        )
    tables = list(hybrid.cpts)
    for name, value in setting.items():
        v = find_variable(hybrid.index, name, "an intervention")
        if hybrid.is_number(v):
            number = check_number(f"an intervention on {name!r}", value)
            tables[v] = LinearGaussian(hybrid.variables[v], (), number, variances=0.0)
        else:
            tables[v] = set_table(hybrid.variables[v], value)
    return tuple(tables)


def _shown(value: Any) -> str:
    return shortened(repr(value))


def explain(
    hybrid: HybridEngine, target: str, evidence: Mapping[str, Any], *, state: Any = None
) -> EvidenceExplanation:
    """Return the weight of each finding, numbers too, for a state of a category."""
    if isinstance(target, str) and hybrid.is_number(find_variable(hybrid.index, target, "target")):
        raise DataError(f"explain() must be asked about a categorical variable; {target!r} is continuous.")
    return explaining.explain_by(lambda *question: posterior(hybrid, *question), target, evidence, state=state)


def conflict(hybrid: HybridEngine, evidence: Mapping[str, Any]) -> Conflict:
    """Return ln [Π p(finding) / p(all)] and the same without each finding; units of numbers cancel."""
    read_findings(hybrid, evidence)
    known = {name: finding for name, finding in evidence.items() if not is_missing(finding)}
    if log_probability(hybrid, known) == -math.inf:
        posterior(hybrid, next(iter(known)), known)  # which names what is impossible
    alone = {name: log_probability(hybrid, {name: finding}) for name, finding in known.items()}
    without = {}
    for name in known:
        rest = {other: finding for other, finding in known.items() if other != name}
        without[name] = sum(alone[other] for other in rest) - log_probability(hybrid, rest)
    return Conflict(sum(alone.values()) - log_probability(hybrid, known), without)


def forecast(
    hybrid: HybridEngine, evidence: Mapping[str, Any] | None = None, target: str | Sequence[str] | None = None
) -> Forecast:
    """Return the size of the computation that posteriors (of targets, or of all variables) given evidence take."""
    findings = read_findings(hybrid, evidence)
    names = [target] if isinstance(target, str) else list(target or [])
    asked = [find_variable(hybrid.index, name, "target") for name in names]
    numbers = [v for v in (asked if target is not None else hybrid.part.numbers) if hybrid.is_number(v)]
    components = {c: None for v in (None, *numbers) for c in hybrid.part.cut(findings.values, [] if v is None else [v])}
    fixed = findings.fixed
    sizes = {c: n_bytes_of(hybrid.part, c, [d for d in c.scope if d not in fixed]) for c in components}
    largest = max(sizes, key=sizes.__getitem__, default=None)
    if largest is not None and sizes[largest] > memory_limit():
        return _too_large(hybrid, largest, fixed, sizes[largest])
    try:
        absorbed = absorb(hybrid, evidence)
        wanted = _wanted(hybrid, target, asked, list(components))
        found = forecasting.forecast(absorbed.engine, absorbed.evidence, wanted)
    except MemoryForecastError:
        assert largest is not None
        return _too_large(hybrid, largest, fixed, sizes[largest])
    names_here = tuple(name for name in found.largest_clique if name in hybrid.index)
    return replace(found, largest_clique=names_here, n_bytes=found.n_bytes + sum(sizes.values()))


def _wanted(
    hybrid: HybridEngine, target: str | Sequence[str] | None, asked: list[int], components: list[Component]
) -> str | list[str] | None:
    """Return the categories that have to be asked for: the targets, or those that a number depends on."""
    if target is None or not any(map(hybrid.is_number, asked)):
        return target if target is None or isinstance(target, str) else list(target)
    scope = {d for c in components if any(v in c.members for v in asked) for d in c.scope}
    return [hybrid.variables[d].name for d in sorted(scope)] or None


def _too_large(hybrid: HybridEngine, component: Component, fixed: Mapping[int, int], n_bytes: float) -> Forecast:
    scope = [d for d in component.scope if d not in fixed]
    n = math.prod(map(float, hybrid.part.shape(scope)))
    names = tuple(hybrid.variables[d].name for d in scope)
    return Forecast(len(hybrid.discrete) + 1, n, names, n, n_bytes, memory_limit())
