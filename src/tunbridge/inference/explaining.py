"""Why a posterior is what it is: the weight of each finding, and what the answer would be without it.

For a state h of the target, the weight of a finding e_i is the change it makes to the log-odds of h,

    W(h : e_i | rest) = ln [O(h | e) / O(h | e without e_i)],      O(h) = P(h) / (1 − P(h)),

in natural units (0.69 doubles the odds), given all the other findings, and likewise by itself, against the prior. Where
findings depend on one another the two differ, and the weights do not add up to the total.

References
----------
I. J. Good (1985). Weight of evidence: a brief survey. Bayesian Statistics 2, 249–270.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.inference.engine import Engine
from tunbridge.inference.queries import posterior
from tunbridge.probability import Distribution
from tunbridge.probability.grid import html_grid, probability_text, text_grid

_HEADER = ["finding", "weight", "alone", "without it"]


@dataclass(frozen=True)
class FindingWeight:
    """What one finding does for a state of the target.

    Attributes
    ----------
    name : str
        The variable.
    finding : object
        What was found: a state, a list of states, or likelihoods.
    weight : float
        How much it adds to the log-odds of the state, given all the other findings.
    alone : float
        How much it adds by itself, to the prior.
    without : Distribution
        The posterior of the target without this finding.
    """

    name: str
    finding: Any
    weight: float
    alone: float
    without: Distribution


@dataclass(frozen=True, repr=False)
class EvidenceExplanation:
    """How evidence led from the prior of a target to its posterior.

    Attributes
    ----------
    target : str
        The variable asked about.
    state : object
        The state the weights are for.
    prior, posterior : Distribution
        Of the target, without and with the evidence.
    findings : tuple of FindingWeight
        The findings, those that weigh most first.
    """

    target: str
    state: Any
    prior: Distribution
    posterior: Distribution
    findings: tuple[FindingWeight, ...]

    def _rows(self) -> list[list[object]]:
        return [
            [f"{f.name} = {_text(f.finding)}", f"{f.weight:+.2f}", f"{f.alone:+.2f}",
             probability_text(f.without[self.state])]
            for f in self.findings
        ]  # fmt: skip

    def _head(self) -> str:
        before, after = probability_text(self.prior[self.state]), probability_text(self.posterior[self.state])
        return f"{self.target} = {_text(self.state)}: {after} (before the evidence {before})"

    def __repr__(self) -> str:
        return f"{self._head()}\n{text_grid(_HEADER, self._rows())}" if self.findings else self._head()

    def _repr_html_(self) -> str:
        return html_grid(_HEADER, self._rows(), caption=self._head())


def explain(engine: Engine, target: str, evidence: Mapping[str, Any], *, state: Any = None) -> EvidenceExplanation:
    """Return the weight of each finding for a state of the target (by default its most probable one)."""
    return explain_by(lambda *question: posterior(engine, *question), target, evidence, state=state)


def explain_by(
    ask: Callable[..., Distribution], target: str, evidence: Mapping[str, Any], *, state: Any = None
) -> EvidenceExplanation:
    """Return the same from a function that answers questions: a target, and evidence or none."""
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.")
    after, before = ask(target, evidence), ask(target)
    variable = after.variables[0]
    chosen = after.mode if state is None else (variable.states or ())[variable.code(state)]
    findings = []
    known = {name: finding for name, finding in (evidence or {}).items() if not is_missing(finding)}
    for name, finding in known.items():
        without = ask(target, {k: v for k, v in known.items() if k != name})
        alone = ask(target, {name: finding})
        weight = _log_odds(after, chosen) - _log_odds(without, chosen)
        own = _log_odds(alone, chosen) - _log_odds(before, chosen)
        findings.append(FindingWeight(name, finding, _settled(weight), _settled(own), without))
    findings.sort(key=lambda f: -abs(f.weight))
    return EvidenceExplanation(target, chosen, before, after, tuple(findings))


def _log_odds(distribution: Distribution, state: Any) -> float:
    """Return ln [P(state) / P(any other)]; the others are added up, as 1 − P(state) would be 0 near certainty."""
    p, others = distribution[state], sum(q for other, q in distribution.items() if other != state)
    if p <= 0.0:
        return -math.inf
    return math.log(p) - math.log(others) if others > 0.0 else math.inf


def _settled(weight: float) -> float:
    """Return a weight, 0 where certainty stayed certainty (∞ − ∞)."""
    return 0.0 if math.isnan(weight) else weight


def _text(finding: Any) -> str:
    return " or ".join(map(str, finding)) if isinstance(finding, list | tuple | set | frozenset) else str(finding)
