"""Questions put to a network: posteriors, probabilities of events, most probable states.

With evidence e and the joint distribution P(x) = Π_v P(x_v | parents of v),

    posterior          P(x_v | e) = Σ P(x, e) / P(e)
    event              P(A | e) = P(A, e) / P(e)
    most probable      argmax_x P(x, e);  marginal MAP: argmax_y Σ_z P(y, z, e)

Answers are exact: the junction tree multiplies and adds the same numbers as summing over all configurations would.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.errors import DataError, MemoryForecastError, UnknownVariableError
from tunbridge.inference.conflicts import impossible
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, find_variable, read_evidence
from tunbridge.inference.maximum import most_probable_codes
from tunbridge.inference.running import Answer
from tunbridge.probability import Distribution
from tunbridge.probability.grid import html_grid, probability_text, text_grid

_SHOWN = 60
_LARGEST_UNION = 2**16  # joint states; for more a union is one minus the probability of none
_MOST_AXES = 64  # of a NumPy array


@dataclass(frozen=True, eq=False, repr=False)
class Posteriors(Mapping[str, Distribution]):
    """The posterior distribution of every variable: a mapping from names to distributions.

    Attributes
    ----------
    log_evidence : float
        The natural logarithm of the probability of the evidence; 0 without any.
    """

    engine: Engine
    marginals: np.ndarray
    log_evidence: float

    def __getitem__(self, name: str) -> Distribution:
        v = find_variable(self.engine.index, name, "a posterior")
        part = self.marginals[self.engine.starts[v] : self.engine.starts[v + 1]]
        return Distribution._trusted((self.engine.variables[v],), part)

    def values(self) -> Any:
        """Return the distributions, in the order of the variables."""
        marginals, make = self.marginals, Distribution._of_locked
        families = self.engine.singles
        return [
            make(v, marginals[low:high]) for v, (low, high) in zip(families, pairwise(self.engine.starts), strict=True)
        ]

    def __contains__(self, name: object) -> bool:
        return name in self.engine.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.engine.index)

    def __len__(self) -> int:
        return self.engine.n_variables

    def _rows(self) -> tuple[list[list[object]], str]:
        names = list(self)[:_SHOWN]
        rows: list[list[object]] = [[n, self[n].mode, probability_text(max(self[n].values()))] for n in names]
        return rows, f"… the first {_SHOWN} of {len(self)} variables" if len(self) > _SHOWN else ""

    def __repr__(self) -> str:
        rows, more = self._rows()
        return text_grid(["variable", "most probable", "probability"], rows) + (more and f"\n{more}")

    def _repr_html_(self) -> str:
        rows, more = self._rows()
        return html_grid(["variable", "most probable", "probability"], rows, caption=more or "Posteriors")


@dataclass(frozen=True, eq=False, repr=False)
class MostProbable(Mapping[str, Any]):
    """The most probable states of some variables given the evidence: a mapping from names to states.

    Attributes
    ----------
    log_probability : float
        The natural logarithm of the probability of these states and the evidence together.
    probability : float
        Their probability given the evidence.
    """

    states: dict[str, Any]
    log_probability: float
    probability: float

    def __getitem__(self, name: str) -> Any:
        if name not in self.states:
            hint = did_you_mean(name, self.states)
            raise UnknownVariableError(f"{name!r} must be one of the variables asked for. {hint}")
        return self.states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        rows: list[list[object]] = [[name, state] for name, state in self.states.items()]
        return f"{text_grid(['variable', 'state'], rows)}\nprobability {probability_text(self.probability)}"

    def _repr_html_(self) -> str:
        rows: list[list[object]] = [[name, state] for name, state in self.states.items()]
        caption = f"Most probable states, probability {probability_text(self.probability)}"
        return html_grid(["variable", "state"], rows, caption=caption)


def possible(engine: Engine, evidence: Evidence, answer: Answer) -> Answer:
    """Return the answer, or raise an error that names a smallest impossible part of the evidence.

    Findings that do not bear on the question were left out of it; they must be possible all the same. Only where that
    cannot be found out within the memory are they taken on trust.
    """
    log_evidence = answer.log_evidence
    if not answer.knows_evidence and engine.has_zeros and log_evidence > -math.inf:
        with suppress(MemoryForecastError):
            log_evidence = engine.log_probability(evidence)
    if log_evidence == -math.inf:
        raise impossible(engine, evidence)
    return answer


def target_numbers(engine: Engine, targets: str | Iterable[str], what: str = "target") -> list[int]:
    """Return the numbers of one or more variables; raise when one is unknown or named twice."""
    names = [targets] if isinstance(targets, str) or not isinstance(targets, Iterable) else list(targets)
    numbers = [find_variable(engine.index, name, what) for name in names]
    if not numbers:
        raise DataError(f"{what} must name at least one variable.")
    if len(set(numbers)) < len(numbers):
        raise DataError(f"{what} must name every variable once; got {listed(names)}.")
    return numbers


def posterior(engine: Engine, target: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Distribution:
    """Return the distribution of one variable, or the joint one of several, given evidence."""
    targets, findings = target_numbers(engine, target), read_evidence(engine.variables, engine.index, evidence)
    if isinstance(target, str):
        v = targets[0]
        answer = possible(engine, findings, engine.run(findings, [v]))
        part = answer.marginals[engine.starts[v] : engine.starts[v + 1]]
        return Distribution._trusted((engine.variables[v],), part)
    if len(targets) > _MOST_AXES:
        raise DataError(f"target must name at most {_MOST_AXES} variables at once; got {len(targets)}.")
    n_entries = math.prod(engine.variables[v].n_states for v in targets)
    check_memory("the joint distribution", 8 * n_entries, ways_out="Ask for fewer variables at once.")
    answer = possible(engine, findings, engine.run(findings, [], joint=targets))
    assert answer.joint is not None
    return Distribution._trusted(tuple(engine.variables[v] for v in targets), answer.joint)


def posteriors(engine: Engine, evidence: Mapping[str, Any] | None = None) -> Posteriors:
    """Return the distribution of every variable given evidence."""
    findings = read_evidence(engine.variables, engine.index, evidence)
    answer = possible(engine, findings, engine.run(findings))
    answer.marginals.setflags(write=False)
    return Posteriors(engine, answer.marginals, answer.log_evidence)


def log_probability(engine: Engine, evidence: Mapping[str, Any]) -> float:
    """Return the natural logarithm of the probability of evidence; −∞ when it is impossible."""
    return engine.log_probability(read_evidence(engine.variables, engine.index, evidence))


Event = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Callable[..., bool]


def probability(
    engine: Engine, event: Event, evidence: Mapping[str, Any] | None = None, *, of: Sequence[str] = ()
) -> float:
    """Return the probability of an event given evidence.

    Parameters
    ----------
    engine : Engine
        The network.
    event : mapping, list of mappings, or function
        A mapping from variables to a state or a list of states holds when all of its parts do; a list of mappings when
        any of them does; a function gets the states of the variables ``of`` and returns whether the event holds.
    evidence : mapping, optional
        What is known.
    of : sequence of str
        The variables whose states a function gets, in this order.
    """
    findings = read_evidence(engine.variables, engine.index, evidence)
    if isinstance(event, Mapping):
        return _conjunction(engine, event, findings)
    if callable(event):
        if not of:
            raise DataError("of must name the variables that the function gets, as in of=['A', 'B'].")
        joint = posterior(engine, [of] if isinstance(of, str) else list(of), evidence)
        cells = itertools.product(*(v.states or () for v in joint.variables))
        return float(sum(p for states, p in zip(cells, joint.values(), strict=True) if event(*states)))
    return _disjunction(engine, event, evidence)


def _conjunction(engine: Engine, event: Mapping[str, Any], findings: Evidence) -> float:
    whole = engine.log_probability(findings)
    if whole == -math.inf:
        raise impossible(engine, findings)
    asked = _indicators(engine, event)
    hard, soft = dict(findings.hard), dict(findings.soft)
    for v, indicator in asked.items():
        if v in hard:
            if not indicator[hard[v]]:
                return 0.0
        else:
            combined = soft.get(v, 1.0) * indicator
            if not combined.any():
                return 0.0
            soft[v] = combined
    both = engine.log_probability(Evidence(hard, soft, findings.log_factor))
    return min(1.0, math.exp(both - whole))


def _disjunction(engine: Engine, events: Any, evidence: Mapping[str, Any] | None) -> float:
    if not isinstance(events, list | tuple) or not all(isinstance(event, Mapping) for event in events):
        rule = "a dict, a list of dicts, or a function with of=[…]"
        raise DataError(f"an event must be {rule}; got {shortened(repr(events))}.")
    asked = [_indicators(engine, event) for event in events]
    numbers = sorted({v for indicators in asked for v in indicators})
    if not numbers:
        return float(any(not event for event in events))
    if math.prod(engine.variables[v].n_states for v in numbers) > _LARGEST_UNION and max(map(len, asked)) == 1:
        return 1.0 - _none_of(engine, asked, evidence)
    joint = posterior(engine, [engine.variables[v].name for v in numbers], evidence).probabilities
    holds = np.zeros(joint.shape, bool)
    for indicators in asked:
        part = np.ones(joint.shape, bool)
        for v, indicator in indicators.items():
            axis = numbers.index(v)
            part &= indicator.astype(bool).reshape([-1 if i == axis else 1 for i in range(joint.ndim)])
        holds |= part
    return min(1.0, float(joint[holds].sum()))


def _none_of(engine: Engine, asked: list[dict[int, np.ndarray]], evidence: Mapping[str, Any] | None) -> float:
    """Return the probability that none of some events holds, each of which is about one variable."""
    left: dict[int, np.ndarray] = {}
    for indicators in asked:
        for v, indicator in indicators.items():
            left[v] = left.get(v, 1.0) * (1.0 - indicator)
    if not all(possible.any() for possible in left.values()):
        return 0.0
    states = {v: engine.variables[v].states or () for v in left}
    rest = {engine.variables[v].name: [s for s, p in zip(states[v], left[v], strict=True) if p] for v in left}
    return probability(engine, rest, evidence)


def _indicators(engine: Engine, event: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """Return, for each variable of an event, which of its states the event allows."""
    for name, finding in event.items():
        if isinstance(finding, Mapping):
            hint = "Likelihoods are evidence, not an event."
            raise DataError(f"an event must name states; got {shortened(repr(finding))} for {name!r}. {hint}")
    read = read_evidence(engine.variables, engine.index, event, "an event")
    indicators = {v: (likelihood > 0).astype(float) for v, likelihood in read.soft.items()}
    for v, code in read.hard.items():
        indicators[v] = np.zeros(engine.variables[v].n_states)
        indicators[v][code] = 1.0
    return indicators


def most_probable(
    engine: Engine, evidence: Mapping[str, Any] | None = None, *, of: Iterable[str] | None = None
) -> MostProbable:
    """Return the most probable states of all variables (or of some, the others summed out) given evidence."""
    findings = read_evidence(engine.variables, engine.index, evidence)
    wanted = None if of is None else target_numbers(engine, of, "of")
    whole = engine.log_probability(findings)
    if whole == -math.inf:
        raise impossible(engine, findings)
    codes, log_joint = most_probable_codes(engine, findings, wanted)
    numbers = range(engine.n_variables) if wanted is None else wanted
    states = {engine.variables[v].name: (engine.variables[v].states or ())[codes[v]] for v in numbers}
    return MostProbable(states, log_joint, min(1.0, math.exp(log_joint - whole)))
