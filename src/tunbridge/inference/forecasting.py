"""The size of an exact computation, told before it is run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunbridge._check import counted
from tunbridge._memory import memory_limit, size_text
from tunbridge.errors import MemoryForecastError
from tunbridge.inference.engine import WAYS_OUT, Engine
from tunbridge.inference.evidence import Evidence, read_evidence
from tunbridge.inference.queries import target_numbers


@dataclass(frozen=True, repr=False)
class Forecast:
    """What an exact computation would take.

    Attributes
    ----------
    n_cliques : int
        The cliques of the junction tree, counting those of single steps of elimination.
    n_entries : float
        The entries of all their tables: what the time is in proportion to.
    largest_clique : tuple of str
        The variables of the largest clique.
    largest_entries : float
        The entries of its table.
    n_bytes : float
        The memory a query takes (at least, when the tree is too large to be counted).
    limit : int
        What may be taken: half the free memory, or ``TUNBRIDGE_MEMORY_LIMIT``.
    """

    n_cliques: int
    n_entries: float
    largest_clique: tuple[str, ...]
    largest_entries: float
    n_bytes: float
    limit: int

    @property
    def fits(self) -> bool:
        """Whether the memory suffices."""
        return self.n_bytes <= self.limit

    def __repr__(self) -> str:
        names = ", ".join(self.largest_clique[:6]) + (", …" if len(self.largest_clique) > 6 else "")
        verdict = "fits" if self.fits else f"does not fit. {WAYS_OUT}"
        n = len(self.largest_clique)
        entries = "too many entries to count" if math.isinf(self.n_entries) else f"{self.n_entries:.3g} entries"
        return (
            f"Forecast: {entries} in {self.n_cliques} cliques, {size_text(self.n_bytes)} of {size_text(self.limit)}: "
            f"{verdict}\nlargest clique: {self.largest_entries:.3g} entries over {counted(n, 'variable')} ({names})"
        )


def forecast(
    engine: Engine, evidence: Mapping[str, Any] | None = None, target: str | Sequence[str] | None = None
) -> Forecast:
    """Return the size of the computation that posteriors (of targets, or of all variables) given evidence take."""
    findings = read_evidence(engine.variables, engine.index, evidence)
    targets = None if target is None else target_numbers(engine, target)
    joint = [] if targets is None or isinstance(target, str) else targets
    try:
        sketch = engine.sketch(findings, targets, joint)
    except MemoryForecastError:
        return _largest_table(engine, findings, targets)
    members, size = sketch.found.largest_clique(sketch.potentials.n_states)
    numbers = sorted(int(sketch.variables[v]) for v in members)
    names = tuple(engine.variables[v].name for v in numbers if v < engine.n_variables)
    n_entries = _whole(sketch.found.n_entries)
    return Forecast(len(sketch.found.order), n_entries, names, _whole(size), sketch.n_bytes(), memory_limit())


def _whole(entries: float) -> float:
    """Return a count without the rounding errors of the logarithms it was added up from."""
    return float(round(entries)) if entries < 2**50 else entries


def _largest_table(engine: Engine, findings: Evidence, targets: Sequence[int] | None) -> Forecast:
    """Return the forecast where a single table is too large to be written out: its family is the largest clique."""
    needed = engine.needed_tables(findings, targets)
    sizes = {}
    for v, cpt in enumerate(engine.cpts):
        if needed[v]:
            left = [p.n_states for p in cpt.parents if engine.index[p.name] not in findings.hard]
            sizes[v] = cpt.variable.n_states * math.prod(left)
    v = max(sizes, key=sizes.__getitem__)
    names = (*(p.name for p in engine.cpts[v].parents), engine.variables[v].name)
    size = float(sizes[v])
    return Forecast(len(engine.cpts), float(sum(sizes.values())), names, size, 8.0 * size, memory_limit())
