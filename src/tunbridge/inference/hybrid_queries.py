"""Questions put to a network of categories and numbers: exact inference in conditional linear Gaussian networks.

Categories have categorical parents only; a number depends on numbers linearly and on categories in any way. Then, given
all categories, the numbers are jointly Gaussian, and every question has an exact answer (Lauritzen 1992):

    P(d | e)  ∝  P(d) Π_c φ_c(d_c),        φ_c(d_c) = p(observed numbers of component c | d_c),
    p(x | e)  =  Σ_d P(d | e) N(x; μ_d, σ_d²).

What the numbers say about categories is a factor for each component of the continuous part
(:mod:`tunbridge.inference.hybrid_components`). A factor joins the discrete network as an observed child of its
categories, and the junction tree of that network answers. The posterior of a number is a mixture over the
configurations of the categories that its own component depends on.

The cost is that of the discrete network with the factors in it, and for a component of m families and q configurations
of categories O(q m³). Evidence about numbers is a density: logarithms of it may be positive, and change with the unit.

References
----------
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models.
Journal of the American Statistical Association 87, 1098–1108.

S. L. Lauritzen, F. Jensen (2001). Stable local computation with conditional Gaussian distributions. Statistics and
Computing 11, 191–203.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import check_number, listed, shortened
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.inference import explaining, queries
from tunbridge.inference.conflicts import Conflict
from tunbridge.inference.evidence import find_variable, read_evidence
from tunbridge.inference.explaining import EvidenceExplanation
from tunbridge.inference.hybrid_components import Solution, check_solution, solve
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_evidence import Absorbed, absorb, read_findings
from tunbridge.inference.interventions import set_table
from tunbridge.inference.queries import Event, MostProbable
from tunbridge.probability import ConditionalTable, Distribution, LinearGaussian, Mixture
from tunbridge.probability.grid import html_grid, probability_text, text_grid

_SHOWN = 60


def posterior(hybrid: HybridEngine, target: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Any:
    """Return the distribution of a variable (a Mixture of a continuous one), or the joint one of several categories."""
    numbers = [v for v in _targets(hybrid, target) if hybrid.is_number(v)]
    if numbers and not isinstance(target, str):
        names = listed(hybrid.variables[v].name for v in numbers)
        hint = "Ask for each number by its name."
        raise DataError(f"a joint distribution must be of categorical variables; {names} is continuous. {hint}")
    absorbed = absorb(hybrid, evidence)
    if numbers:
        return mixture(hybrid, numbers[0], absorbed)
    return queries.posterior(absorbed.engine, target, absorbed.evidence)


def _targets(hybrid: HybridEngine, target: str | Iterable[str], what: str = "target") -> list[int]:
    names = [target] if isinstance(target, str) or not isinstance(target, Iterable) else list(target)
    return [find_variable(hybrid.index, name, what) for name in names]


def mixture(hybrid: HybridEngine, target: int, absorbed: Absorbed, solution: Solution | None = None) -> Mixture:
    """Return the distribution of a number given the evidence that was absorbed; its component may be solved already."""
    findings, variable = absorbed.findings, hybrid.variables[target]
    if target in findings.values:
        _weights(hybrid, (), absorbed)  # for evidence that is impossible there is no answer
        return Mixture._trusted(variable, np.ones(1), np.array([findings.values[target]]), np.zeros(1))
    if solution is None:
        solution = solve(hybrid.part, hybrid.part.telling(findings.values, [target])[target], findings.fixed)
    means, variances = solution.moments(target, findings.z(solution.component))
    return Mixture._trusted(variable, _weights(hybrid, solution.scope, absorbed), means[0], variances)


def _weights(hybrid: HybridEngine, scope: tuple[int, ...], absorbed: Absorbed) -> np.ndarray:
    """Return the probability of each configuration of some categories given the evidence."""
    engine = absorbed.engine
    if scope:
        names = [hybrid.variables[d].name for d in scope]
        return queries.posterior(engine, names, absorbed.evidence).probabilities.ravel()
    findings = read_evidence(engine.variables, engine.index, absorbed.evidence)
    queries.possible(engine, findings, engine.run(findings, []))
    return np.ones(1)


@dataclass(frozen=True, eq=False, repr=False)
class HybridPosteriors(Mapping[str, Any]):
    """The posterior of every variable: a mapping from names to a Distribution, or the Mixture of a continuous one.

    Attributes
    ----------
    log_evidence : float
        The natural logarithm of the density of the evidence; 0 without any.
    """

    distributions: dict[str, Distribution | Mixture]
    log_evidence: float

    def __getitem__(self, name: str) -> Any:
        return list(self.distributions.values())[find_variable(_numbered(self.distributions), name, "a posterior")]

    def __iter__(self) -> Iterator[str]:
        return iter(self.distributions)

    def __len__(self) -> int:
        return len(self.distributions)

    def _rows(self) -> tuple[list[list[object]], str]:
        rows: list[list[object]] = [
            [name, *summary(found)] for name, found in list(self.distributions.items())[:_SHOWN]
        ]
        return rows, f"… the first {_SHOWN} of {len(self)} variables" if len(self) > _SHOWN else ""

    def __repr__(self) -> str:
        rows, more = self._rows()
        return text_grid(_HEADER, rows) + (more and f"\n{more}")

    def _repr_html_(self) -> str:
        rows, more = self._rows()
        return html_grid(_HEADER, rows, caption=more or "Posteriors")


_HEADER = ["variable", "mode or mean", "probability or std"]


def summary(found: Distribution | Mixture) -> tuple[str, str]:
    """Return a distribution in two texts: the mode and its probability, or the mean and the standard deviation."""
    if isinstance(found, Mixture):
        return f"{found.mean:.6g}", f"± {found.std:.6g}"
    return str(found.mode), probability_text(max(found.values()))


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def posteriors(hybrid: HybridEngine, evidence: Mapping[str, Any] | None = None) -> HybridPosteriors:
    """Return the distribution of every variable given evidence."""
    absorbed = absorb(hybrid, evidence)
    part, findings = hybrid.part, absorbed.findings
    components = part.telling(findings.values, part.numbers)
    distinct = dict.fromkeys(components.values())
    for c in distinct:  # before the first of them is solved
        check_solution(part, c, [d for d in c.scope if d not in findings.fixed])
    solved = {c: solve(part, c, findings.fixed) for c in distinct}
    found = queries.posteriors(absorbed.engine, absorbed.evidence)
    each = {
        variable.name: mixture(hybrid, v, absorbed, solved[components[v]] if v in components else None)
        if hybrid.is_number(v)
        else found[variable.name]
        for v, variable in enumerate(hybrid.variables)
    }
    return HybridPosteriors(each, found.log_evidence + absorbed.log_factor)


def log_probability(hybrid: HybridEngine, evidence: Mapping[str, Any]) -> float:
    """Return ln p(evidence), a density where numbers were observed; −∞ when it is impossible."""
    absorbed = absorb(hybrid, evidence, may_be_impossible=True)
    if absorbed.log_factor == -math.inf:
        return -math.inf
    return queries.log_probability(absorbed.engine, absorbed.evidence) + absorbed.log_factor


def probability(
    hybrid: HybridEngine, event: Event, evidence: Mapping[str, Any] | None = None, *, of: Sequence[str] = ()
) -> float:
    """Return the probability of an event about categories given evidence of any kind."""
    events = [event] if isinstance(event, Mapping) else event if isinstance(event, list | tuple) else []
    named = [name for each in events if isinstance(each, Mapping) for name in each]
    _check_discrete(hybrid, [*named, *([of] if isinstance(of, str) else of)], "an event")
    absorbed = absorb(hybrid, evidence)
    return queries.probability(absorbed.engine, event, absorbed.evidence, of=of)


def most_probable(
    hybrid: HybridEngine, evidence: Mapping[str, Any] | None = None, *, of: Iterable[str] | None = None
) -> MostProbable:
    """Return the most probable states of categories, the other variables summed and integrated out."""
    if of is None:
        names = listed(hybrid.variables[v].name for v in hybrid.part.numbers)
        hint = "Name categories with of=[…]."
        raise DataError(f"most_probable() must be asked of categorical variables; {names}: continuous. {hint}")
    wanted = [of] if isinstance(of, str) else list(of)
    _check_discrete(hybrid, wanted, "of")
    absorbed = absorb(hybrid, evidence)
    found = queries.most_probable(absorbed.engine, absorbed.evidence, of=wanted)
    return MostProbable(found.states, found.log_probability + absorbed.log_factor, found.probability)


def _check_discrete(hybrid: HybridEngine, names: Iterable[str], what: str) -> None:
    for v in _targets(hybrid, list(names), what):
        if hybrid.is_number(v):
            name = hybrid.variables[v].name
            hint = f"posterior({name!r}).cdf(x) gives the probability of at most x."
            raise DataError(f"{what} must be about categorical variables; {name!r} is continuous. {hint}")


# What if, and why


def do(hybrid: HybridEngine, setting: Mapping[str, Any]) -> tuple[ConditionalTable, ...]:
    """Return the tables of the network after categories were set to states (or distributions), numbers to values."""
    if not isinstance(setting, Mapping):
        hint = "Write {variable: state or number}."
        raise DataError(
            f"an intervention must be a dict from variable to what it is set to; got {shortened(repr(setting))}. {hint}"
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
