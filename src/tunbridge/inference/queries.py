"""Questions about a network: posteriors, probabilities of events, most probable states, interventions.

With evidence e and the joint distribution P(x) = Π_v P(x_v | parents of v),

    posterior          P(x_v | e) = Σ P(x, e) / P(e)
    event              P(A | e) = P(A, e) / P(e)
    most probable      argmax_x P(x, e);  marginal MAP: argmax_y Σ_z P(y, z, e)

Answers are exact: the junction tree multiplies and adds the same numbers as summing over all configurations would. For
most probable states it maximises where it otherwise sums. Marginal MAP sums out the other variables
first, which restricts the elimination order and makes larger tables: it is harder than either alone (Park 2004).

Continuous variables. Categorical variables have categorical parents only; a continuous one depends linearly on
continuous parents and in any way on categorical ones. Then, given all categories, the continuous variables are jointly
Gaussian, and every question has an exact answer (Lauritzen 1992):

    P(d | e)  ∝  P(d) Π_c φ_c(d_c),        φ_c(d_c) = p(observed values of component c | d_c),
    p(x | e)  =  Σ_d P(d | e) N(x; μ_d, σ_d²).

The factors φ join the discrete network (:mod:`tunbridge.inference.hybrid.evidence`). The posterior of a continuous
variable is a mixture over the configurations of the categories that its component depends on. The cost is that of the
discrete network with the factors in it, and O(q m³) for a component of m families and q configurations. Evidence about
continuous variables has a density: its logarithm may be positive, and changes with the unit.

References
----------
A. P. Dawid (1992). Applications of a general propagation algorithm for probabilistic expert systems. Statistics and
Computing 2, 25–36.
J. D. Park, A. Darwiche (2004). Complexity results and approximation strategies for MAP explanations. JAIR 21, 101–133.
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models.
Journal of the American Statistical Association 87, 1098–1108.
J. Pearl (2009). Causality, 2nd ed., section 1.3 (interventions).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, listed, shortened
from tunbridge._core.grid import data_frame, html_grid, probability_text, text_grid
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError, ImpossibleEvidenceError, MemoryForecastError, UnknownVariableError
from tunbridge.graph.walks import closure
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, Given, find_variable, read_evidence, state_of
from tunbridge.inference.flat import gather_potentials
from tunbridge.inference.hybrid.components import Solution, check_solution, solve
from tunbridge.inference.hybrid.evidence import Absorbed, absorb
from tunbridge.inference.tree import Answer, Plan, Sketch, triangulate
from tunbridge.probability import CPT, ConditionalTable, Distribution, LinearGaussian, Mixture, as_cpt

if TYPE_CHECKING:
    import pandas

_SHOWN = 60
_LARGEST_UNION = 2**16  # joint states; for more a union is one minus the probability of none
_MOST_AXES = 64  # of a NumPy array
_MOST_SUBSETS = 2000  # of impossible evidence that are tried


@dataclass(frozen=True, eq=False, repr=False)
class Posteriors(Mapping[str, Any]):
    """The posterior of every variable: a mapping from names to a Distribution, or a Mixture if it is continuous.

    Attributes
    ----------
    log_evidence : float
        The natural logarithm of the probability (or density) of the evidence; 0 without evidence.
    """

    engine: Engine
    marginals: np.ndarray
    log_evidence: float
    mixtures: Mapping[int, Mixture] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        v = find_variable(self.engine.index, name, "a posterior")
        if v in self.mixtures:
            return self.mixtures[v]
        part = self.marginals[self.engine.starts[v] : self.engine.starts[v + 1]]
        return Distribution.of_valid((self.engine.variables[v],), part)

    def values(self) -> Any:
        """Return the distributions, in the order of the variables."""
        if self.mixtures:
            return [self[name] for name in self]
        marginals, make = self.marginals, Distribution.of_locked
        families = self.engine.singles
        return [
            make(v, marginals[low:high]) for v, (low, high) in zip(families, pairwise(self.engine.starts), strict=True)
        ]

    def __contains__(self, name: object) -> bool:
        return name in self.engine.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.engine.names)

    def __len__(self) -> int:
        return len(self.engine.variables)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a line for each state of each variable; a continuous one has a mean and a std."""
        lines: list[tuple[Any, ...]] = []
        for name in self:
            found = self[name]
            if isinstance(found, Mixture):
                lines.append((name, None, math.nan, found.mean, found.std))
            else:
                lines += [(name, state, p, math.nan, math.nan) for state, p in found.items()]
        columns = ["variable", "state", "probability", *(["mean", "std"] if self.mixtures else [])]
        return data_frame({c: [line[k] for line in lines] for k, c in enumerate(columns)})

    def _grid(self) -> tuple[list[str], list[list[object]], str]:
        columns = ["mode or mean", "probability or std"] if self.mixtures else ["most probable", "probability"]
        rows: list[list[object]] = [[name, *summary(self[name])] for name in list(self)[:_SHOWN]]
        more = f"… the first {_SHOWN} of {len(self)} variables" if len(self) > _SHOWN else ""
        return ["variable", *columns], rows, more

    def __repr__(self) -> str:
        header, rows, more = self._grid()
        return text_grid(header, rows) + (more and f"\n{more}")

    def _repr_html_(self) -> str:
        header, rows, more = self._grid()
        return html_grid(header, rows, caption=more or "Posteriors")


def summary(found: Distribution | Mixture) -> tuple[object, str]:
    """Return a distribution in two cells: the mode and its probability, or the mean and the standard deviation."""
    if isinstance(found, Mixture):
        return found.number_text(found.mean), f"± {found.width_text(found.std)}"
    return found.mode, probability_text(max(found.values()))


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
            raise UnknownVariableError(f"{name!r} must be one of the requested variables. {hint}")
        return self.states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame of one row, with the state of each variable and the probability of all together."""
        return data_frame({**{name: [state] for name, state in self.states.items()}, "probability": [self.probability]})

    def __repr__(self) -> str:
        rows: list[list[object]] = [[name, state] for name, state in self.states.items()]
        return f"{text_grid(['variable', 'state'], rows)}\nprobability {probability_text(self.probability)}"

    def _repr_html_(self) -> str:
        rows: list[list[object]] = [[name, state] for name, state in self.states.items()]
        caption = f"Most probable states, probability {probability_text(self.probability)}"
        return html_grid(["variable", "state"], rows, caption=caption)


# Impossible evidence


def possible(engine: Engine, evidence: Evidence, answer: Answer) -> Answer:
    """Return the answer, or raise an error that names a smallest impossible part of the evidence.

    Findings that do not matter for the question were left out of it; they must be possible, too. That is checked
    unless it would not fit into memory.
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
    message = f"the evidence must be possible; {shown} {together}. Leave out some evidence, or check the tables."
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
    """Return whether findings are impossible; False where finding out would not fit into memory."""
    try:
        return engine.log_probability(evidence.only(variables)) == -math.inf
    except MemoryForecastError:
        return False


# Posteriors


def posterior(engine: Engine, target: str | Sequence[str], evidence: Given = None) -> Any:
    """Return the distribution of a variable (a Mixture if it is continuous), or the joint one of several categories."""
    targets = target_numbers(engine, target)
    numbers = [v for v in targets if engine.is_number(v)]
    if numbers and not isinstance(target, str):
        names = listed(engine.variables[v].name for v in numbers)
        hint = "Ask for each continuous variable by its name."
        raise DataError(f"a joint distribution must be of categorical variables; {names} is continuous. {hint}")
    absorbed = absorb(engine, evidence)
    if numbers:
        return _mixture(engine, numbers[0], absorbed)
    if not isinstance(target, str):
        return _joint(absorbed.engine, targets, absorbed.evidence)
    v, findings, engine = targets[0], absorbed.evidence, absorbed.engine
    answer = possible(engine, findings, engine.run(findings, [v]))
    return Distribution.of_valid((engine.variables[v],), answer.marginals[engine.starts[v] : engine.starts[v + 1]])


def _joint(engine: Engine, targets: Sequence[int], findings: Evidence) -> Distribution:
    """Return the joint distribution of several variables."""
    if len(targets) > _MOST_AXES:
        raise DataError(f"target must name at most {_MOST_AXES} variables at once; got {len(targets)}.")
    n_entries = math.prod(engine.variables[v].n_states for v in targets)
    check_memory("the joint distribution", 8 * n_entries, ways_out="Ask for fewer variables at once.")
    answer = possible(engine, findings, engine.run(findings, [], joint=targets))
    assert answer.joint is not None
    return Distribution.of_valid(tuple(engine.variables[v] for v in targets), answer.joint)


def _mixture(engine: Engine, target: int, absorbed: Absorbed, solution: Solution | None = None) -> Mixture:
    """Return the distribution of a continuous variable given evidence; its component may have been solved before."""
    values, variable = absorbed.values, engine.variables[target]
    if target in values:
        _weights((), absorbed)  # there is no answer for impossible evidence
        return Mixture.of_valid(variable, np.ones(1), np.array([values[target]]), np.zeros(1))
    if solution is None:
        solution = solve(engine.part, engine.part.components_of(values, [target])[target], absorbed.evidence.hard)
    means, variances = solution.moments(target, absorbed.z(solution.component))
    return Mixture.of_valid(variable, _weights(solution.scope, absorbed), means[0], variances)


def _weights(scope: tuple[int, ...], absorbed: Absorbed) -> np.ndarray:
    """Return the probability of each configuration of some categories given the evidence."""
    engine, findings = absorbed.engine, absorbed.evidence
    if scope:
        return _joint(engine, scope, findings).probabilities.ravel()
    possible(engine, findings, engine.run(findings, []))
    return np.ones(1)


def posteriors(engine: Engine, evidence: Given = None) -> Posteriors:
    """Return the distribution of every variable given evidence."""
    absorbed = absorb(engine, evidence)
    mixtures = _mixtures(engine, absorbed) if engine.part.numbers else {}
    answer = possible(absorbed.engine, absorbed.evidence, absorbed.engine.run(absorbed.evidence))
    answer.marginals.setflags(write=False)
    return Posteriors(engine, answer.marginals, _without_rounding(absorbed, answer.log_evidence), mixtures)


def _mixtures(engine: Engine, absorbed: Absorbed) -> dict[int, Mixture]:
    """Return the distribution of every continuous variable; components that they share are solved once."""
    part, fixed = engine.part, absorbed.evidence.hard
    components = part.components_of(absorbed.values, part.numbers)
    distinct = dict.fromkeys(components.values())
    for c in distinct:  # before the first of them is solved
        check_solution(part, c, [d for d in c.scope if d not in fixed])
    solved = {c: solve(part, c, fixed) for c in distinct}
    return {v: _mixture(engine, v, absorbed, solved[components[v]] if v in components else None) for v in part.numbers}


def log_probability(engine: Engine, evidence: Given) -> float:
    """Return ln P(evidence), a density where continuous variables are observed; −∞ when it is impossible."""
    absorbed = absorb(engine, evidence, may_be_impossible=True)
    return _without_rounding(absorbed, absorbed.engine.log_probability(absorbed.evidence))


def _without_rounding(absorbed: Absorbed, log_evidence: float) -> float:
    """Return ln P(evidence), at most ln 1, or what the scaled likelihoods add to it; a density may have any value."""
    return log_evidence if absorbed.values else min(log_evidence, absorbed.evidence.log_factor)


# Events


Event = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Callable[..., bool]


def probability(engine: Engine, event: Event, evidence: Given = None, *, of: str | Sequence[str] = ()) -> float:
    """Return the probability of an event about categorical variables given evidence.

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
    events = [event] if isinstance(event, Mapping) else event if isinstance(event, list | tuple) else []
    names = [of] if isinstance(of, str) else list(of)
    if engine.part.numbers:
        named = [name for each in events if isinstance(each, Mapping) for name in each]
        _check_categorical(engine, [*named, *names], "an event")
    absorbed = absorb(engine, evidence)
    tables, findings = absorbed.engine, absorbed.evidence
    if isinstance(event, Mapping):
        return _conjunction(tables, _indicators(tables, event), findings)
    if not callable(event):
        return _disjunction(tables, event, findings)
    if not names:
        raise DataError("of must name the variables that the function gets, as in of=['A', 'B'].")
    joint = _joint(tables, target_numbers(engine, names), findings)
    cells = itertools.product(*(v.states or () for v in joint.variables))
    return float(sum(p for states, p in zip(cells, joint.values(), strict=True) if event(*states)))


def _check_categorical(engine: Engine, names: Iterable[str], what: str) -> None:
    for name in names:
        if engine.is_number(find_variable(engine.index, name, what)):
            hint = f"posterior({name!r}).cdf(x) gives the probability of at most x."
            raise DataError(f"{what} must be about categorical variables; {name!r} is continuous. {hint}")


def _conjunction(engine: Engine, asked: Mapping[int, np.ndarray], findings: Evidence) -> float:
    """Return the probability that each of some variables is in a state that its indicator allows."""
    whole = engine.log_probability(findings)
    if whole == -math.inf:
        raise impossible(engine, findings)
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


def _disjunction(engine: Engine, events: object, findings: Evidence) -> float:
    """Return the probability that at least one of several events holds."""
    if not isinstance(events, list | tuple) or not all(isinstance(event, Mapping) for event in events):
        rule = "a dict, a list of dicts, or a function with of=[…]"
        raise DataError(f"an event must be {rule}; got {shortened(repr(events))}.")
    asked = [_indicators(engine, event) for event in events]
    numbers = sorted({v for indicators in asked for v in indicators})
    if not numbers:
        return float(any(not event for event in events))
    if math.prod(engine.variables[v].n_states for v in numbers) > _LARGEST_UNION and max(map(len, asked)) == 1:
        none = {v: np.prod([1.0 - own[v] for own in asked if v in own], axis=0) for v in numbers}
        return 1.0 - (_conjunction(engine, none, findings) if all(left.any() for left in none.values()) else 0.0)
    joint = _joint(engine, numbers, findings).probabilities
    holds = np.zeros(joint.shape, bool)
    for indicators in asked:
        part = np.ones(joint.shape, bool)
        for v, indicator in indicators.items():
            axis = numbers.index(v)
            part &= indicator.astype(bool).reshape([-1 if i == axis else 1 for i in range(joint.ndim)])
        holds |= part
    return min(1.0, float(joint[holds].sum()))


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


# Most probable states


def most_probable(engine: Engine, evidence: Given = None, *, of: str | Iterable[str] | None = None) -> MostProbable:
    """Return the most probable states of all variables, or of some with the others summed or integrated out."""
    if of is None and engine.part.numbers:
        names = listed(engine.variables[v].name for v in engine.part.numbers)
        hint = "Name categorical variables with of=[…]."
        raise DataError(f"most_probable() must be about categorical variables; continuous: {names}. {hint}")
    wanted = None if of is None else target_numbers(engine, of, "of")
    _check_categorical(engine, [engine.variables[v].name for v in wanted or ()], "of")
    absorbed = absorb(engine, evidence)
    tables, findings = absorbed.engine, absorbed.evidence
    whole = tables.log_probability(findings)
    if whole == -math.inf:
        raise impossible(tables, findings)
    codes, log_joint = most_probable_codes(tables, findings, wanted)
    numbers = range(engine.n_variables) if wanted is None else wanted
    states = {engine.variables[v].name: (engine.variables[v].states or ())[codes[v]] for v in numbers}
    return MostProbable(states, _without_rounding(absorbed, log_joint), min(1.0, math.exp(log_joint - whole)))


def most_probable_codes(engine: Engine, evidence: Evidence, wanted: Sequence[int] | None) -> tuple[list[int], float]:
    """Return the most probable state of each wanted variable (None: of all), and log P(these states, evidence).

    Of several equally probable ones, always the same is returned. Entries of other variables are −1. The evidence
    must be possible.
    """
    asked = range(engine.n_variables) if wanted is None else wanted
    codes = [evidence.hard.get(v, -1) for v in range(engine.n_variables)]
    if all(codes[v] >= 0 for v in asked):
        return codes, engine.log_probability(evidence)
    plan, is_maximised = _maximising_plan(engine, evidence, None if wanted is None else set(wanted))
    places = plan.places(engine.n_variables)
    findings = plan.findings(evidence, places)
    chosen = np.empty(len(findings.codes), np.int64)
    with plan.tree.borrow(plan.potentials) as run:
        log_largest = plan.tree.maximise(run, findings, is_maximised, chosen)
    for v in asked:
        if codes[v] < 0:
            codes[v] = int(chosen[places[v]])
    return codes, log_largest + plan.log_factor + evidence.log_factor


def _maximising_plan(engine: Engine, evidence: Evidence, wanted: set[int] | None) -> tuple[Plan, np.ndarray]:
    """Return a tree of what matters without the observed variables, and which of its variables are maximised."""
    needed = np.ones(engine.n_variables, np.int64)
    if wanted is not None:
        needed[:] = 0
        needed[list(closure(engine.parents, [*wanted, *evidence]))] = 1
    try:
        whole = gather_potentials(
            engine.tables,
            engine.parents,
            engine.n_states,
            fixed=evidence.hard,
            needed=needed,
            chains=wanted is not None,
        )
    except MemoryForecastError as error:
        reason = str(error).partition(", and the limit")[0]
        hint = "Name some of the variables with of=[…], or observe more."
        raise MemoryForecastError(
            f"the most probable states of all variables cannot be found: {reason}. {hint}"
        ) from None
    variables, potentials, log_factor = whole.observed(evidence.codes(len(whole.n_states)), needed[whole.owner])
    last = np.array([wanted is None or int(v) in wanted for v in variables], np.int64)
    sketch = Sketch(potentials, variables, log_factor, triangulate(potentials, last=last), np.empty(0, np.int64))
    return Plan(engine.compile(sketch), potentials, variables, log_factor), last


# Interventions


def do(engine: Engine, setting: Mapping[str, Any]) -> tuple[ConditionalTable, ...]:
    """Return the tables of the network after variables were set from outside (Pearl's do-operator).

    A variable that is set no longer depends on its parents: its table is replaced by the state it is set to, by a
    distribution over states, or, of a continuous variable, by a number. All other tables stay as they are.
    """
    if not isinstance(setting, Mapping):
        what = "state or number" if engine.part.numbers else "state"
        hint = f"Write {{variable: {what}}}."
        raise DataError(
            f"an intervention must be a dict from variable to {what}; got {shortened(repr(setting))}. {hint}"
        )
    tables = {cpt.variable.name: cpt for cpt in engine.cpts}
    for name, value in setting.items():
        variable = engine.variables[find_variable(engine.index, name, "an intervention")]
        if variable.is_continuous:
            number = check_number(f"an intervention on {name!r}", value)
            tables[name] = LinearGaussian(variable, (), number, variances=0.0)
        elif isinstance(value, Mapping):
            tables[name] = as_cpt(variable, (), value)
        else:
            tables[name] = CPT(variable, (), np.eye(variable.n_states)[state_of(variable, value, "an intervention")])
    return tuple(tables.values())
