"""``tunbridge network query``: what a network says about its variables, given what is known.

For every kind of question there is a function that answers it, one that shows the answer, and one that gives it as
JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tunbridge._core.grid import probability_text
from tunbridge._core.memory import size_text
from tunbridge._core.registry import verb
from tunbridge.cli.files import load_network
from tunbridge.cli.networks import Findings, check_targets, finding_text, read_state
from tunbridge.cli.options import AsJson, From, NetworkFile, NetworkFormat
from tunbridge.cli.output import UsageError, say, say_fields, say_json, say_table, shortlist
from tunbridge.probability import Distribution, Mixture

if TYPE_CHECKING:
    from tunbridge.inference import EvidenceExplanation, Forecast, MostProbable
    from tunbridge.network import BayesianNetwork

_SHOWN_MEMBERS = 6
_WRITTEN_OUT = 1e9  # entries: larger numbers are rounded
_EXACT = "exact"


@dataclass(frozen=True)
class Question:
    """Question.

    Parameters
    ----------
    joint
        The joint distribution of the targets.
    most_probable
        The most probable states together, of the targets or of all variables.
    explain
        How much each finding weighs for the most probable state of a target.
    state : STATE
        With --explain: the state of the target in question.
    probability
        The probability of the findings themselves.
    forecast
        The size of the exact computation, without running it.
    top : N >= 1
        Only the N most probable states of each target.
    """

    joint: bool = False
    most_probable: bool = False
    explain: bool = False
    state: str | None = None
    probability: bool = False
    forecast: bool = False
    top: int | None = None

    @property
    def kind(self) -> str:
        """The kind of question, by its name among the :data:`KINDS`."""
        names = ("forecast", "most_probable", "explain", "probability", "joint")
        return next((name for name in names if getattr(self, name)), "posteriors")

    def check(self, targets: list[str], given: list[str]) -> None:
        """Raise unless the options fit each other."""
        names = ("most_probable", "explain", "probability", "forecast")
        chosen = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name)]
        chosen = [*(["--joint"] if self.joint and not self.forecast else []), *chosen]
        if len(chosen) > 1:
            raise UsageError(f"a query must ask for one thing; got {' and '.join(chosen)}.")
        if self.joint and len(targets) < 2:
            raise UsageError(f"--joint must come with several --target; got {len(targets) or 'none'}.")
        if self.explain and not (targets and given):
            raise UsageError("--explain must come with a --target and with findings, --given NAME=STATE.")
        if self.state is not None and not (self.explain and len(targets) == 1):
            raise UsageError("--state must come with --explain and a single --target.")
        if self.probability and (targets or not given):
            raise UsageError("--probability must come with findings, --given NAME=STATE, and without --target.")
        if self.top is not None and (not targets or self.kind not in ("posteriors", "joint")):
            raise UsageError("--top must come with --target, and with distributions only.")


Computing = Annotated[
    dict[str, Any],
    From(
        "network", "BayesianNetwork.posterior", "method precision max_samples interval random_state=seed",
        panel="Computation",
    ),
]  # fmt: skip


def _check_computing(computing: dict[str, Any], kind: str, targets: list[str]) -> None:
    """Raise unless the options fit each other, and the question."""
    method = computing.get("method", _EXACT)
    sampled, interval = method != _EXACT, computing.get("interval")
    for name, option in (("precision", "--precision"), ("max_samples", "--max-samples")):
        if not sampled and name in computing:
            raise UsageError(f"{option} must come with a --method of sampling, such as likelihood-weighting.")
    if sampled and interval is not None:
        raise UsageError("--interval must come with exact answers; got a --method of sampling.")
    option = f"--method {method}" if sampled else "--interval" if interval is not None else ""
    if "random_state" in computing and not option:
        raise UsageError("--seed must come with a --method of sampling, or with --interval.")
    if option and not (kind == "posteriors" and targets):
        raise UsageError(f"{option} must come with --target, and gives the distribution of each target only.")


@verb("network query", old="query", names={"of": "--target"}, rank=32)
def query(
    network: NetworkFile,
    *,
    target: list[str] = (),  # type: ignore[assignment]
    findings: Findings,
    question: Question,
    computing: Computing,
    format: NetworkFormat = None,
    as_json: AsJson = False,
) -> None:
    """Ask a network for the probabilities of its variables.

    Findings are A=x; A=x|y if it is one of several states; A=x:0.8,y:0.2 if the observation is more likely in some
    states than in others. Without a target the most probable state of every variable is shown.

    Parameters
    ----------
    target, -t : NAME
        A variable to ask about (default: all).

    Examples
    --------
    tunbridge network query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --given CVP=LOW
    tunbridge network query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --given CVP=LOW --explain
    tunbridge network query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --explain --state TRUE
    tunbridge network query alarm.bif --given "HR=HIGH|NORMAL" --do VENTMACH=HIGH
    tunbridge network query large.bif --target X --method likelihood-weighting --precision 0.001
    """
    question.check(target, findings.evidence)
    _check_computing(computing, question.kind, target)
    net, evidence = findings.applied(load_network(network, format))
    check_targets(net, target, network)
    state = None if question.state is None else read_state(net, target[0], question.state)
    asked = Asked(target, evidence, question.joint, question.top, state, {"random_state": 0, **computing})
    kind = KINDS[question.kind]
    found = kind.answer(net, asked)
    if as_json:
        say_json(kind.data(found, asked))
    else:
        kind.show(found, asked)


# Questions and answers


@dataclass(frozen=True)
class Asked:
    """A question: the variables it is about (none: all), what is known, and how the answer is wanted."""

    targets: list[str]
    evidence: dict[str, Any]
    joint: bool = False
    top: int | None = None
    state: Any = None
    settings: Mapping[str, Any] | None = None

    def cells(self, distribution: Distribution) -> list[tuple[Any, float]]:
        """Return the states and probabilities of a distribution that are wanted."""
        return list(distribution.items()) if self.top is None else distribution.top(self.top)


class Kind(NamedTuple):
    """A kind of question: the function that answers it, the one that shows the answer, and the one that gives data."""

    answer: Callable[[BayesianNetwork, Asked], Any]
    show: Callable[[Any, Asked], None]
    data: Callable[[Any, Asked], dict[str, Any]]


# Distributions


def _posteriors(net: BayesianNetwork, asked: Asked) -> dict[str, Distribution]:
    if not asked.targets:
        found: Any = net.posteriors(asked.evidence)
        return {name: found[name] for name in net.nodes}
    return {name: net.posterior(name, asked.evidence, **(asked.settings or {})) for name in asked.targets}


def _show_posteriors(found: dict[str, Distribution], asked: Asked) -> None:
    if asked.targets:
        for n, distribution in enumerate(found.values()):
            if n:
                say()
            _show_distribution(distribution, asked)
        return
    lines = [[name, *_in_short(d)] for name, d in found.items()]
    say_table(_HEADERS[any(map(_is_mixture, found.values()))], lines, left=range(3))


_HEADERS = {
    False: ["variable", "most probable", "probability"],
    True: ["variable", "most probable or mean", "probability or deviation"],
}


def _in_short(found: Any) -> list[str]:
    if _is_mixture(found):
        return [f"{found.mean:.6g}", f"± {found.std:.3g}"]
    return [str(found.mode), probability_text(float(found.probabilities.max()))]


def _is_mixture(found: Any) -> bool:
    return isinstance(found, Mixture)


def _show_mixture(found: Any, asked: Asked) -> None:
    """Show the distribution of a number: mean and standard deviation, and of what Gaussians it is a mixture."""
    say(f"{found.variable.name}: {found.mean:.6g} ± {found.std:.3g}")
    low, high = found.interval(0.95)
    say(f"95 % between {low:.6g} and {high:.6g}")
    if len(found) > 1:
        lines = [[probability_text(part["weight"]), *(f"{part[k]:.6g}" for k in _PARTS)] for part in _parts(found)]
        say_table(["weight", "mean", "deviation"], lines[: asked.top or _SHOWN_PARTS], left=range(3))
        if len(lines) > (asked.top or _SHOWN_PARTS):
            say(f"… the weightiest of {len(lines)}")


_PARTS = ("mean", "standard_deviation")
_SHOWN_PARTS = 12


def _parts(found: Any) -> list[dict[str, float]]:
    columns = zip(found.weights.tolist(), found.means.tolist(), found.variances.tolist(), strict=True)
    return [{"weight": w, "mean": m, "standard_deviation": math.sqrt(v)} for w, m, v in columns]


def _cells_data(found: Any, asked: Asked) -> Any:
    if not _is_mixture(found):
        return dict(asked.cells(found))
    return {"mean": found.mean, "standard_deviation": found.std, "mixture": _parts(found)[: asked.top]}


def _show_distribution(distribution: Distribution, asked: Asked) -> None:
    if _is_mixture(distribution):
        _show_mixture(distribution, asked)
        return
    errors, ends = distribution.standard_errors, distribution.interval
    names = [v.name for v in distribution.variables]
    header = [*names, "probability", *(["error"] if errors else []), *(["from", "to"] if ends else [])]
    lines = []
    for key, p in asked.cells(distribution):
        states = [str(key)] if len(names) == 1 else [str(state) for state in key]
        error = [f"± {errors[key]:.2g}"] if errors else []
        lines.append([*states, probability_text(p), *error, *(map(probability_text, ends[key]) if ends else ())])
    say_table(header, lines, left=range(len(header)))  # so that the points of decimals are one below the other


def _posteriors_data(found: dict[str, Distribution], asked: Asked) -> dict[str, Any]:
    data: dict[str, Any] = {"posteriors": {name: _cells_data(d, asked) for name, d in found.items()}}
    plain = {name: d for name, d in found.items() if not _is_mixture(d)}
    for key in ("standard_errors", "interval"):
        extra = {name: getattr(d, key) for name, d in plain.items() if getattr(d, key) is not None}
        data |= {key: extra} if extra else {}
    return data


def _joint(net: BayesianNetwork, asked: Asked) -> Distribution:
    return net.posterior(asked.targets, asked.evidence)


def _joint_data(found: Distribution, asked: Asked) -> dict[str, Any]:
    names = [v.name for v in found.variables]
    cells = asked.cells(found)
    return {"joint": [{"states": dict(zip(names, key, strict=True)), "probability": p} for key, p in cells]}


# The most probable states


def _most_probable(net: BayesianNetwork, asked: Asked) -> MostProbable:
    return net.most_probable(asked.evidence, of=asked.targets or None)


def _show_most_probable(found: MostProbable, _: Asked) -> None:
    say_table(["variable", "most probable"], [[name, str(state)] for name, state in found.items()], left=(0, 1))
    say()
    say(f"All of them together have probability {probability_text(found.probability)}.")


def _most_probable_data(found: MostProbable, _: Asked) -> dict[str, Any]:
    joint = {"log_probability_with_evidence": found.log_probability}
    return {"most_probable": dict(found), "probability": found.probability, **joint}


# Explanations


def _explanations(net: BayesianNetwork, asked: Asked) -> list[EvidenceExplanation]:
    return [net.explain(name, asked.evidence, state=asked.state) for name in asked.targets]


def _show_explanations(found: list[EvidenceExplanation], _: Asked) -> None:
    for n, e in enumerate(found):
        if n:
            say()
        before, after = probability_text(e.prior[e.state]), probability_text(e.posterior[e.state])
        say(f"P({e.target} = {e.state}) = {after}; without any finding {before}")
        say()
        lines = [
            [f"{f.name} = {finding_text(f.finding)}", _weight(f.weight), _weight(f.alone),
             probability_text(f.without[e.state])]
            for f in e.findings
        ]  # fmt: skip
        say_table(["finding", "weight", "alone", "without it"], lines, left=(0, 3))


def _weight(weight: float) -> str:
    if math.isinf(weight):
        return "+∞" if weight > 0 else "-∞"
    return f"{weight if abs(weight) >= 0.005 else 0.0:+.2f}"


def _explanations_data(found: list[EvidenceExplanation], _: Asked) -> dict[str, Any]:
    return {"explanations": list(map(_explanation_data, found))}


def _explanation_data(e: EvidenceExplanation) -> dict[str, Any]:
    findings = [
        {"variable": f.name, "finding": f.finding, "weight": f.weight, "alone": f.alone, "without": dict(f.without)}
        for f in e.findings
    ]
    return {
        "target": e.target, "state": e.state, "prior": dict(e.prior), "posterior": dict(e.posterior),
        "findings": findings,
    }  # fmt: skip


# The probability of the findings


class _Chance(NamedTuple):
    """A probability by its logarithm, or the density of findings among which are numbers."""

    logarithm: float
    name: str

    @property
    def value(self) -> float:
        return math.exp(min(self.logarithm, 700.0))


def _log_probability(net: BayesianNetwork, asked: Asked) -> _Chance:
    numbers = [name for name in asked.evidence if net.variable(name).is_continuous]
    return _Chance(net.log_probability(asked.evidence), "density" if numbers else "probability")


def _show_log_probability(found: _Chance, _: Asked) -> None:
    impossible = found.logarithm == -math.inf
    shown = probability_text(found.value) if found.value > 0.0 or impossible else "too small for a number"
    say_fields([(found.name, shown), ("logarithm", "-∞" if impossible else f"{found.logarithm:.6g}")])


def _log_probability_data(found: _Chance, _: Asked) -> dict[str, Any]:
    return {found.name: found.value, f"log_{found.name}": found.logarithm}


# Forecasts


def _forecast(net: BayesianNetwork, asked: Asked) -> Forecast:
    if asked.joint or not asked.targets:
        return net.forecast(asked.evidence, asked.targets or None)
    return max((net.forecast(asked.evidence, name) for name in asked.targets), key=lambda f: f.n_bytes)


def _show_forecast(found: Forecast, _: Asked) -> None:
    say_fields(forecast_fields(found))


def forecast_fields(found: Forecast) -> list[tuple[str, str]]:
    """Return a forecast as names and values."""
    verdict = "it fits" if found.fits else "it does not fit: observe more, or use --method likelihood-weighting"
    members = shortlist(list(found.largest_clique), most=_SHOWN_MEMBERS)
    return [
        ("exact inference", f"{_entries(found.n_entries)} in {found.n_cliques} cliques"),
        ("largest clique", f"{_entries(found.largest_entries)}{members and f': {members}'}"),
        ("memory", f"{size_text(found.n_bytes)} of {size_text(found.limit)}: {verdict}"),
    ]


def _entries(n: float) -> str:
    if math.isinf(n):
        return "too many entries to count"
    noun = "entry" if n == 1 else "entries"
    return f"{round(n)} {noun}" if n < _WRITTEN_OUT else f"{n:.3g} {noun}"


def _forecast_data(found: Forecast, _: Asked) -> dict[str, Any]:
    return {
        "fits": found.fits, "entries": found.n_entries, "cliques": found.n_cliques, "bytes": found.n_bytes,
        "limit": found.limit, "largest_clique": list(found.largest_clique), "largest_entries": found.largest_entries,
    }  # fmt: skip


KINDS: dict[str, Kind] = {
    "posteriors": Kind(_posteriors, _show_posteriors, _posteriors_data),
    "joint": Kind(_joint, _show_distribution, _joint_data),
    "most_probable": Kind(_most_probable, _show_most_probable, _most_probable_data),
    "explain": Kind(_explanations, _show_explanations, _explanations_data),
    "probability": Kind(_log_probability, _show_log_probability, _log_probability_data),
    "forecast": Kind(_forecast, _show_forecast, _forecast_data),
}
"""What can be asked."""
