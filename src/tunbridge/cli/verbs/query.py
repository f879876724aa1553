"""``tunbridge network query``: what a network says about its variables, given what is known.

For every kind of question there is a function that asks the network and prints the answer, as JSON if that is wanted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tunbridge._core.grid import probability_text
from tunbridge._core.registry import verb
from tunbridge.cli.files import load_network
from tunbridge.cli.networks import Findings, check_targets, finding_text, forecast_fields, read_state
from tunbridge.cli.options import AsJson, From, NetworkFile, NetworkFormat
from tunbridge.cli.output import say, say_fields, say_json, say_table
from tunbridge.cli.usage import given_for, refuse
from tunbridge.probability import Distribution, Mixture

if TYPE_CHECKING:
    from tunbridge.inference import EvidenceExplanation
    from tunbridge.network import BayesianNetwork

_SHOWN_PARTS = 12
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
        The weight of each piece of evidence for the most probable state of a target.
    state : STATE
        With --explain: the state of the target in question.
    probability
        The probability of the evidence itself.
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
        """The kind of question, by its name among those that can be answered."""
        names = ("forecast", "most_probable", "explain", "probability", "joint")
        return next((name for name in names if getattr(self, name)), "posteriors")

    def check(self, targets: list[str], given: list[str]) -> None:
        """Raise unless the options fit each other."""
        joint = ("joint",) if self.joint and not self.forecast else ()
        chosen = given_for(*joint, "most_probable", "explain", "probability", "forecast")
        known, alone, n_targets = "evidence, --given NAME=STATE", given and not targets, len(targets) or "none"
        single, shown = self.explain and len(targets) == 1, targets and self.kind in ("posteriors", "joint")
        refuse(
            (len(chosen) > 1, f"a query must ask for one thing; got {' and '.join(chosen)}."),
            (self.joint and len(targets) < 2, f"--joint must come with several --target; got {n_targets}."),
            (self.explain and not (targets and given), f"--explain must come with a --target and with {known}."),
            (self.state is not None and not single, "--state must come with --explain and a single --target."),
            (self.probability and not alone, f"--probability must come with {known}, and without --target."),
            (self.top is not None and not shown, "--top must come with --target, and with distributions only."),
        )


Computing = Annotated[
    dict[str, Any],
    From(
        "network", "BayesianNetwork.posterior", "method precision max_samples interval random_state=seed",
        panel="Computation",
    ),
]  # fmt: skip


def _check_computing(computing: dict[str, Any], kind: str, targets: list[str]) -> None:
    """Raise unless the options fit each other, and the question."""
    method, interval = computing.get("method", _EXACT), computing.get("interval")
    sampled, rule = method != _EXACT, "must come with a --method of sampling"
    option = f"--method {method}" if sampled else "--interval" if interval is not None else ""
    refuse(
        (not sampled and "precision" in computing, f"--precision {rule}, such as likelihood-weighting."),
        (not sampled and "max_samples" in computing, f"--max-samples {rule}, such as likelihood-weighting."),
        (sampled and interval is not None, "--interval must come with exact answers; got a --method of sampling."),
        ("random_state" in computing and not option, f"--seed {rule}, or with --interval."),
    )
    rule = f"{option} must come with --target, and gives the distribution of each target only."
    refuse((option and not (kind == "posteriors" and targets), rule))


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

    Evidence is A=x; A=x|y if it is one of several states; A=x:0.8,y:0.2 if the observation is more likely in some
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
    asked = Asked(net, target, evidence, question, state, {"random_state": 0, **computing}, as_json)
    _ANSWERS[question.kind](asked)


# Questions and answers


@dataclass(frozen=True)
class Asked:
    """A question: the variables it is about (none: all), what is known, and how the answer is wanted."""

    net: BayesianNetwork
    targets: list[str]
    evidence: dict[str, Any]
    question: Question
    state: object
    settings: dict[str, Any]
    as_json: bool

    def cells(self, distribution: Distribution) -> list[tuple[Any, float]]:
        """Return the states and probabilities of a distribution that are wanted."""
        top = self.question.top
        return list(distribution.items()) if top is None else distribution.top(top)


# Distributions


def _answer_posteriors(asked: Asked) -> None:
    net, targets = asked.net, asked.targets
    every: Any = {} if targets else net.posteriors(asked.evidence)
    found: dict[str, Distribution | Mixture] = (
        {name: net.posterior(name, asked.evidence, **asked.settings) for name in targets}
        if targets
        else {name: every[name] for name in net.nodes}
    )
    if asked.as_json:
        data: dict[str, Any] = {"posteriors": {name: _cells_data(d, asked) for name, d in found.items()}}
        for key in ("standard_errors", "interval"):
            plain = {name: getattr(d, key) for name, d in found.items() if isinstance(d, Distribution)}
            extra = {name: value for name, value in plain.items() if value is not None}
            data |= {key: extra} if extra else {}
        say_json(data)
    elif targets:
        for n, distribution in enumerate(found.values()):
            if n:
                say()
            _show_distribution(distribution, asked)
    else:
        numbers = any(isinstance(d, Mixture) for d in found.values())
        header = ["variable", "most probable", "probability"]
        header = ["variable", "most probable or mean", "probability or deviation"] if numbers else header
        say_table(header, [[name, *_in_short(d)] for name, d in found.items()], left=range(3))


def _answer_joint(asked: Asked) -> None:
    found = asked.net.posterior(asked.targets, asked.evidence)
    if not asked.as_json:
        _show_distribution(found, asked)
        return
    names = [v.name for v in found.variables]
    cells = asked.cells(found)
    say_json({"joint": [{"states": dict(zip(names, key, strict=True)), "probability": p} for key, p in cells]})


def _in_short(found: Distribution | Mixture) -> list[str]:
    if isinstance(found, Mixture):
        return [found.number_text(found.mean), f"± {_width(found)}"]
    return [str(found.mode), probability_text(float(found.probabilities.max()))]


def _show_distribution(found: Distribution | Mixture, asked: Asked) -> None:
    if isinstance(found, Mixture):
        _show_mixture(found, asked.question.top or _SHOWN_PARTS)
        return
    errors, ends = found.standard_errors, found.interval
    names = [v.name for v in found.variables]
    header = [*names, "probability", *(["error"] if errors else []), *(["from", "to"] if ends else [])]
    cells = []
    for key, p in asked.cells(found):
        states = [str(key)] if len(names) == 1 else [str(state) for state in key]
        error = [f"± {errors[key]:.2g}"] if errors else []
        cells.append([*states, probability_text(p), *error, *(map(probability_text, ends[key]) if ends else ())])
    say_table(header, cells, left=range(len(header)))  # so that the points of decimals are one below the other


def _show_mixture(found: Mixture, most: int) -> None:
    """Show the distribution of a number: mean and standard deviation, and of what Gaussians it is a mixture."""
    say(f"{found.variable.name}: {found.number_text(found.mean)} ± {_width(found)}")
    low, high = map(found.number_text, found.interval(0.95))
    say(f"95 % between {low} and {high}")
    if len(found) > 1:
        cells = [[probability_text(w), found.number_text(m), found.width_text(s)] for w, m, s in _parts(found)]
        say_table(["weight", "mean", "deviation"], cells[:most], left=range(3))
        if len(cells) > most:
            say(f"… the weightiest of {len(cells)}")


def _width(found: Mixture) -> str:
    """Return the standard deviation with three digits."""
    return found.width_text(float(f"{found.std:.3g}"))


def _parts(found: Mixture) -> list[tuple[float, float, float]]:
    """Return weight, mean and standard deviation of each Gaussian."""
    columns = zip(found.weights.tolist(), found.means.tolist(), found.variances.tolist(), strict=True)
    return [(weight, mean, math.sqrt(variance)) for weight, mean, variance in columns]


def _cells_data(found: Distribution | Mixture, asked: Asked) -> dict[str, Any]:
    if isinstance(found, Distribution):
        return dict(asked.cells(found))
    names = ("weight", "mean", "standard_deviation")
    parts = [dict(zip(names, part, strict=True)) for part in _parts(found)[: asked.question.top]]
    return {"mean": found.mean, "standard_deviation": found.std, "mixture": parts}


# Other questions


def _answer_most_probable(asked: Asked) -> None:
    found = asked.net.most_probable(asked.evidence, of=asked.targets or None)
    if asked.as_json:
        joint = {"log_probability_with_evidence": found.log_probability}
        say_json({"most_probable": dict(found), "probability": found.probability, **joint})
        return
    say_table(["variable", "most probable"], [[name, str(state)] for name, state in found.items()], left=(0, 1))
    say()
    say(f"All of them together have probability {probability_text(found.probability)}.")


def _answer_explain(asked: Asked) -> None:
    found = [asked.net.explain(name, asked.evidence, state=asked.state) for name in asked.targets]
    if asked.as_json:
        say_json({"explanations": list(map(_explanation_data, found))})
        return
    for n, e in enumerate(found):
        if n:
            say()
        before, after = probability_text(e.prior[e.state]), probability_text(e.posterior[e.state])
        say(f"P({e.target} = {e.state}) = {after}; without evidence {before}")
        say()
        cells = [
            [f"{f.name} = {finding_text(f.finding)}", _weight(f.weight), _weight(f.alone),
             probability_text(f.without[e.state])]
            for f in e.findings
        ]  # fmt: skip
        say_table(["evidence", "weight", "alone", "without it"], cells, left=(0, 3))


def _weight(weight: float) -> str:
    if math.isinf(weight):
        return "+∞" if weight > 0 else "-∞"
    return f"{weight if abs(weight) >= 0.005 else 0.0:+.2f}"


def _explanation_data(e: EvidenceExplanation) -> dict[str, Any]:
    findings = [
        {"variable": f.name, "finding": f.finding, "weight": f.weight, "alone": f.alone, "without": dict(f.without)}
        for f in e.findings
    ]
    return {
        "target": e.target, "state": e.state, "prior": dict(e.prior), "posterior": dict(e.posterior),
        "findings": findings,
    }  # fmt: skip


def _answer_probability(asked: Asked) -> None:
    """Print the probability of the findings, or their density if numbers are among them."""
    logarithm = asked.net.log_probability(asked.evidence)
    name = "density" if any(asked.net.variable(v).is_continuous for v in asked.evidence) else "probability"
    value, impossible = math.exp(min(logarithm, 700.0)), logarithm == -math.inf
    if asked.as_json:
        say_json({name: value, f"log_{name}": logarithm})
        return
    shown = probability_text(value) if value > 0.0 or impossible else "too small for a number"
    say_fields([(name, shown), ("logarithm", "-∞" if impossible else f"{logarithm:.6g}")])


def _answer_forecast(asked: Asked) -> None:
    net, targets = asked.net, asked.targets
    if asked.question.joint or not targets:
        found = net.forecast(asked.evidence, targets or None)
    else:
        found = max((net.forecast(asked.evidence, name) for name in targets), key=lambda f: f.n_bytes)
    if not asked.as_json:
        say_fields(forecast_fields(found))
        return
    say_json({
        "fits": found.fits, "entries": found.n_entries, "cliques": found.n_cliques, "bytes": found.n_bytes,
        "limit": found.limit, "largest_clique": list(found.largest_clique), "largest_entries": found.largest_entries,
    })  # fmt: skip


_ANSWERS = {
    "posteriors": _answer_posteriors,
    "joint": _answer_joint,
    "most_probable": _answer_most_probable,
    "explain": _answer_explain,
    "probability": _answer_probability,
    "forecast": _answer_forecast,
}
"""What can be asked."""
