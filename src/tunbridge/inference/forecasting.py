"""The size of an exact computation before it is run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tunbridge._core.check import counted
from tunbridge._core.memory import memory_limit, size_text
from tunbridge.errors import MemoryForecastError
from tunbridge.inference.engine import WAYS_OUT, Engine
from tunbridge.inference.evidence import Evidence, Given
from tunbridge.inference.hybrid.components import n_bytes_of
from tunbridge.inference.hybrid.evidence import absorb, read_findings
from tunbridge.inference.queries import target_numbers


@dataclass(frozen=True, repr=False)
class Forecast:
    """The size of an exact computation.

    Attributes
    ----------
    n_cliques : int
        The number of cliques of the junction tree, one for each step of elimination.
    n_entries : float
        The entries of all their tables; the run time is proportional to it.
    largest_clique : tuple of str
        The variables of the largest clique.
    largest_entries : float
        The entries of its table.
    n_bytes : float
        The memory a query takes (at least, when the tree is too large to be counted).
    limit : int
        The memory limit: half the free memory, or ``TUNBRIDGE_MEMORY_LIMIT``.
    """

    n_cliques: int
    n_entries: float
    largest_clique: tuple[str, ...]
    largest_entries: float
    n_bytes: float
    limit: int

    @property
    def fits(self) -> bool:
        """Whether the computation fits into memory."""
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


def forecast(engine: Engine, evidence: Given = None, target: str | Sequence[str] | None = None) -> Forecast:
    """Return the size of the computation that posteriors (of targets, or of all variables) given evidence take."""
    targets = None if target is None else target_numbers(engine, target)
    if not engine.part.numbers:
        findings, _ = read_findings(engine, evidence)
        return _tree_size(engine, findings, targets, [] if targets is None or isinstance(target, str) else targets)
    return _mixed_size(engine, evidence, targets, is_joint=target is not None and not isinstance(target, str))


def _tree_size(engine: Engine, findings: Evidence, targets: Sequence[int] | None, joint: Sequence[int]) -> Forecast:
    """Return the size of the junction tree that answers a question about categorical variables."""
    try:
        sketch = engine.sketch(findings, targets, joint)
    except MemoryForecastError:
        return _largest_table(engine, findings, targets)
    members, size = sketch.found.largest_clique(sketch.potentials.n_states)
    numbers = sorted(int(sketch.variables[v]) for v in members)
    names = tuple(engine.variables[v].name for v in numbers if v < engine.n_variables)
    n_entries = _whole(sketch.found.n_entries)
    return Forecast(len(sketch.found.order), n_entries, names, _whole(size), sketch.n_bytes(), memory_limit())


def _mixed_size(engine: Engine, evidence: Given, targets: Sequence[int] | None, *, is_joint: bool) -> Forecast:
    """Return the size where there are continuous variables: their components, and the tree with their factors."""
    (findings, values), part = read_findings(engine, evidence), engine.part
    numbers = [v for v in (part.numbers if targets is None else targets) if engine.is_number(v)]
    components = {c: None for v in (None, *numbers) for c in part.cut(values, [] if v is None else [v])}
    left = {c: [d for d in c.scope if d not in findings.hard] for c in components}
    sizes = {c: n_bytes_of(c, part.n_configurations(scope)) for c, scope in left.items()}
    largest = max(sizes, key=sizes.__getitem__, default=None)

    def too_large() -> Forecast:
        assert largest is not None
        n, names = part.n_configurations(left[largest]), tuple(engine.variables[d].name for d in left[largest])
        return Forecast(engine.n_variables + 1, n, names, n, sizes[largest], memory_limit())

    if largest is not None and sizes[largest] > memory_limit():
        return too_large()
    try:
        absorbed = absorb(engine, evidence)
        if targets is not None and numbers:  # the categories that the continuous targets depend on
            targets = sorted({d for c in components if set(c.members) & set(targets) for d in c.scope}) or None
            is_joint = targets is not None
        joint = targets if is_joint and targets is not None else []
        found = _tree_size(absorbed.engine, absorbed.evidence, targets, joint)
    except MemoryForecastError:
        return too_large()
    names = tuple(name for name in found.largest_clique if name in engine.index)
    return replace(found, largest_clique=names, n_bytes=found.n_bytes + sum(sizes.values()))


def _whole(entries: float) -> float:
    """Return a count without the rounding errors of the logarithms it was added up from."""
    return float(round(entries)) if entries < 2**50 else entries


def _largest_table(engine: Engine, findings: Evidence, targets: Sequence[int] | None) -> Forecast:
    """Return the forecast where a single table is too large to be written out: its family is the largest clique."""
    needed = engine.needed_tables(findings, targets)
    sizes = {}
    for v, cpt in enumerate(engine.tables):
        if needed[v]:
            left = [p.n_states for p in cpt.parents if engine.index[p.name] not in findings.hard]
            sizes[v] = cpt.variable.n_states * math.prod(left)
    v = max(sizes, key=sizes.__getitem__)
    names = (*(p.name for p in engine.tables[v].parents), engine.variables[v].name)
    size = float(sizes[v])
    return Forecast(len(engine.tables), float(sum(sizes.values())), names, size, 8.0 * size, memory_limit())
