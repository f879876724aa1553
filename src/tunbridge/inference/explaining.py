"""Why a posterior is what it is, and whether findings fit together.

For a state h of the target, the weight of a finding e_i is the change it makes to the log-odds of h,

    W(h : e_i | rest) = ln [O(h | e) / O(h | e without e_i)],      O(h) = P(h) / (1 − P(h)),

in natural units (0.69 doubles the odds), given all the other findings, and likewise by itself, against the prior. Where
findings depend on one another the two differ, and the weights do not add up to the total.

The conflict measure of Jensen et al. compares the findings taken one by one with the findings together,

    conf(e) = ln [ Π_i P(e_i) / P(e) ].

Findings that support one another make conf(e) negative; a positive value hints at a faulty finding, or at a case that
the model does not cover. Units of continuous variables cancel.

References
----------
I. J. Good (1985). Weight of evidence: a brief survey. Bayesian Statistics 2, 249–270.
F. V. Jensen, B. Chamberlain, T. Nordahl, F. Jensen (1991). Analysis in HUGIN of data conflict. UAI 6, 519–528.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tunbridge._core.grid import data_frame, html_grid, probability_text, text_grid
from tunbridge.data.variable import State, is_missing
from tunbridge.errors import DataError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import find_variable
from tunbridge.inference.hybrid.evidence import read_findings
from tunbridge.inference.queries import log_probability, posterior
from tunbridge.probability import Distribution

if TYPE_CHECKING:
    import pandas

_HEADER = ["evidence", "weight", "alone", "without it"]


@dataclass(frozen=True)
class FindingWeight:
    """The weight of one finding for a state of the target.

    Attributes
    ----------
    name : str
        The variable.
    finding : object
        A state, a list of states, likelihoods, or a number.
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
        The target variable.
    state : object
        The state that the weights refer to.
    prior, posterior : Distribution
        Of the target, without and with the evidence.
    findings : tuple of FindingWeight
        The findings, by decreasing weight.
    """

    target: str
    state: Any
    prior: Distribution
    posterior: Distribution
    findings: tuple[FindingWeight, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a row for each finding: ``variable``, ``finding``, ``weight``, ``alone``, ``without``.

        ``without`` is the probability of :attr:`state` without this finding.
        """
        found = self.findings
        return data_frame(
            {
                "variable": [f.name for f in found],
                "finding": [f.finding for f in found],
                "weight": [f.weight for f in found],
                "alone": [f.alone for f in found],
                "without": [f.without[self.state] for f in found],
            }
        )

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


def explain(
    engine: Engine, target: str, evidence: Mapping[str, Any], *, state: State | None = None
) -> EvidenceExplanation:
    """Return the weight of each finding for a state of the target (default: its most probable one)."""
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.")
    if engine.is_number(find_variable(engine.index, target, "target")):
        raise DataError(f"explain() must have a categorical target; {target!r} is continuous.")
    after, before = posterior(engine, target, evidence), posterior(engine, target)
    variable = after.variables[0]
    chosen = after.mode if state is None else (variable.states or ())[variable.code(state)]
    findings = []
    known = {name: finding for name, finding in (evidence or {}).items() if not is_missing(finding)}
    for name, finding in known.items():
        without = posterior(engine, target, _without(known, name))
        alone = posterior(engine, target, {name: finding})
        weight = _difference(_log_odds(after, chosen), _log_odds(without, chosen))
        own = _difference(_log_odds(alone, chosen), _log_odds(before, chosen))
        findings.append(FindingWeight(name, finding, weight, own, without))
    findings.sort(key=lambda f: -abs(f.weight))
    return EvidenceExplanation(target, chosen, before, after, tuple(findings))


def _without(findings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {other: finding for other, finding in findings.items() if other != name}


def _log_odds(distribution: Distribution, state: State) -> float:
    """Return ln [P(state) / P(any other)]; the others are added up, as 1 − P(state) would be 0 near certainty."""
    p, others = distribution[state], sum(q for other, q in distribution.items() if other != state)
    if p <= 0.0:
        return -math.inf
    return math.log(p) - math.log(others) if others > 0.0 else math.inf


def _difference(after: float, before: float) -> float:
    """Return how much log-odds grew; 0 where both are the same infinity."""
    return 0.0 if after == before else after - before


def _text(finding: object) -> str:
    return " or ".join(map(str, finding)) if isinstance(finding, list | tuple | set | frozenset) else str(finding)


# Conflicts


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
        verdict = "the evidence disagrees" if self.measure > 0 else "the evidence agrees"
        head = f"Conflict {self.measure:+.3f}: {verdict}"
        return head if not rows else head + "\n" + text_grid(["without", "conflict"], rows)


def conflict(engine: Engine, evidence: Mapping[str, Any]) -> Conflict:
    """Return the conflict measure of all findings, and of all but each one."""
    read_findings(engine, evidence)
    known = {name: finding for name, finding in (evidence or {}).items() if not is_missing(finding)}
    together = log_probability(engine, known)
    if together == -math.inf:
        posterior(engine, next(iter(known)), known)  # raises an error that names what is impossible
    alone = {name: log_probability(engine, {name: finding}) for name, finding in known.items()}
    without = {}
    for name in known:
        rest = _without(known, name)
        without[name] = sum(alone[other] for other in rest) - log_probability(engine, rest)
    return Conflict(sum(alone.values()) - together, without)
