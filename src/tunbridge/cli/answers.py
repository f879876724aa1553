"""Answers of a network: for every kind of question how it is put, how the answer is shown, and what it is as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge.cli.findings import finding_text
from tunbridge.cli.output import say, say_fields, say_json, say_table, shortlist

if TYPE_CHECKING:
    from tunbridge.inference import EvidenceExplanation, Forecast, MostProbable
    from tunbridge.network import BayesianNetwork
    from tunbridge.probability import Distribution

_SHOWN_MEMBERS = 6
_WRITTEN_OUT = 1e9  # entries: larger numbers are rounded


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


def tell(kind: str, net: BayesianNetwork, asked: Asked, *, as_json: bool) -> None:
    """Put a question of one of the :data:`KINDS` to a network, and print the answer."""
    chosen = KINDS[kind]
    found = chosen.answer(net, asked)
    if as_json:
        say_json(chosen.data(found, asked))
    else:
        chosen.show(found, asked)


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
    return [str(found.mode), _probability_text(float(found.probabilities.max()))]


def _is_mixture(found: Any) -> bool:
    from tunbridge.probability import Mixture

    return isinstance(found, Mixture)


def _show_mixture(found: Any, asked: Asked) -> None:
    """Show the distribution of a number: mean and standard deviation, and of what Gaussians it is a mixture."""
    say(f"{found.variable.name}: {found.mean:.6g} ± {found.std:.3g}")
    low, high = found.interval(0.95)
    say(f"95 % between {low:.6g} and {high:.6g}")
    if len(found) > 1:
        lines = [[_probability_text(part["weight"]), *(f"{part[k]:.6g}" for k in _PARTS)] for part in _parts(found)]
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
        lines.append([*states, _probability_text(p), *error, *(map(_probability_text, ends[key]) if ends else ())])
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
    say(f"All of them together have probability {_probability_text(found.probability)}.")


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
        before, after = _probability_text(e.prior[e.state]), _probability_text(e.posterior[e.state])
        say(f"P({e.target} = {e.state}) = {after}; without any finding {before}")
        say()
        lines = [
            [f"{f.name} = {finding_text(f.finding)}", _weight(f.weight), _weight(f.alone),
             _probability_text(f.without[e.state])]
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
    shown = _probability_text(found.value) if found.value > 0.0 or impossible else "too small for a number"
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
    from tunbridge._memory import size_text

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


def _probability_text(probability: float) -> str:
    from tunbridge.probability.grid import probability_text

    return probability_text(probability)


KINDS: dict[str, Kind] = {
    "posteriors": Kind(_posteriors, _show_posteriors, _posteriors_data),
    "joint": Kind(_joint, _show_distribution, _joint_data),
    "most_probable": Kind(_most_probable, _show_most_probable, _most_probable_data),
    "explain": Kind(_explanations, _show_explanations, _explanations_data),
    "probability": Kind(_log_probability, _show_log_probability, _log_probability_data),
    "forecast": Kind(_forecast, _show_forecast, _forecast_data),
}
"""What can be asked."""
