"""Evidence that does not fit together: impossible evidence, and evidence that is merely surprising.

The conflict measure of Jensen et al. compares the findings taken one by one with the findings together,

    conf(e) = ln [ Π_i P(e_i) / P(e) ].

Findings of one coherent story support one another, and conf(e) is negative; a positive value hints at a faulty finding,
or at a case that the model does not know.

References
----------
F. V. Jensen, B. Chamberlain, T. Nordahl, F. Jensen (1991). Analysis in HUGIN of data conflict. UAI 6, 519–528.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tunbridge.errors import ImpossibleEvidenceError, MemoryForecastError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, read_evidence
from tunbridge.probability.grid import text_grid

_MOST_SUBSETS = 2000


@dataclass(frozen=True, repr=False)
class Conflict:
    """How well findings fit together.

    Attributes
    ----------
    measure : float
        ln [Π P(finding) / P(all findings)]: above 0 they contradict one another more than they agree.
    without : dict of str to float
        The measure when one finding is left out: a finding whose absence lowers it is the odd one.
    """

    measure: float
    without: dict[str, float]

    def __repr__(self) -> str:
        rows: list[list[object]] = [[name, f"{value:+.3f}"] for name, value in self.without.items()]
        verdict = "the findings disagree" if self.measure > 0 else "the findings agree"
        head = f"Conflict {self.measure:+.3f}: {verdict}"
        return head if not rows else head + "\n" + text_grid(["without", "conflict"], rows)


def conflict(engine: Engine, evidence: Mapping[str, Any]) -> Conflict:
    """Return the conflict measure of evidence, as a whole and without each finding."""
    findings = read_evidence(engine.variables, engine.index, evidence)
    if engine.log_probability(findings) == -math.inf:
        raise impossible(engine, findings)
    alone = {v: engine.log_probability(findings.only([v])) for v in findings}
    without = {}
    for v in findings:
        rest = findings.without([v])
        name = engine.variables[v].name
        without[name] = sum(alone[u] for u in rest) - engine.log_probability(rest)
    total = sum(alone.values()) - engine.log_probability(findings.only(findings))
    return Conflict(total, without)


def impossible(engine: Engine, evidence: Evidence) -> ImpossibleEvidenceError:
    """Return the error for evidence of probability zero, naming a smallest part of it that is impossible."""
    smallest = smallest_conflict(engine, evidence)
    named: dict[str, Any] = {}
    for v in smallest:
        states = engine.variables[v].states or ()
        if v in evidence.hard:
            named[engine.variables[v].name] = states[evidence.hard[v]]
        else:
            named[engine.variables[v].name] = [s for s, p in zip(states, evidence.soft[v], strict=True) if p > 0]
    shown = " and ".join(f"{name}={state!r}" for name, state in named.items())
    together = "have probability zero together" if len(named) > 1 else "has probability zero"
    message = f"the evidence must be possible; {shown} {together}. Leave out a finding, or check the tables."
    return ImpossibleEvidenceError(message, conflict=named)


def smallest_conflict(engine: Engine, evidence: Evidence) -> list[int]:
    """Return the variables of a smallest impossible part of impossible evidence, or of one that cannot be made smaller.

    Findings are first left out one by one while the rest stays impossible, which leaves a part that cannot be made
    smaller; then all smaller subsets are tried, smallest first, as long as there are few enough of them.
    """
    part = list(evidence)
    for v in list(part):
        rest = [u for u in part if u != v]
        if _is_impossible(engine, evidence, rest):
            part = rest
    everything = list(evidence)
    for size in range(1, len(part)):
        if math.comb(len(everything), size) > _MOST_SUBSETS:
            break
        for subset in itertools.combinations(everything, size):
            if _is_impossible(engine, evidence, list(subset)):
                return list(subset)
    return part


def _is_impossible(engine: Engine, evidence: Evidence, variables: list[int]) -> bool:
    """Return whether findings are impossible, as far as is known: less evidence can need more memory than there is."""
    try:
        return engine.log_probability(evidence.only(variables)) == -math.inf
    except MemoryForecastError:
        return False
