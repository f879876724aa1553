"""How large the exact computation in a network of categories and numbers would be, before it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tunbridge._memory import memory_limit
from tunbridge.errors import MemoryForecastError
from tunbridge.inference import forecasting
from tunbridge.inference.evidence import find_variable
from tunbridge.inference.forecasting import Forecast
from tunbridge.inference.hybrid_components import Component, n_bytes_of
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_evidence import absorb, read_findings


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
    counts = {c: hybrid.part.n_configurations(d for d in c.scope if d not in fixed) for c in components}
    sizes = {c: n_bytes_of(hybrid.part, c, n) for c, n in counts.items()}
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
    n = hybrid.part.n_configurations(scope)
    names = tuple(hybrid.variables[d].name for d in scope)
    return Forecast(len(hybrid.discrete) + 1, n, names, n, n_bytes, memory_limit())
