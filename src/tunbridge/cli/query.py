"""``tunbridge query``: what a network says about its variables, given what is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import Do, Given, NetworkFile, NetworkFormat, load_network
from tunbridge.cli.options import AsJson

_PANEL = "How the answer is computed"
_PRECISION = 0.005


class Method(StrEnum):
    """How a posterior is computed."""

    exact = "exact"
    likelihood_weighting = "likelihood-weighting"
    gibbs = "gibbs"
    forward = "forward"


@dataclass(frozen=True)
class Question:
    """What is asked, where it is not the distribution of each target."""

    joint: Annotated[bool, typer.Option("--joint", help="The joint distribution of the targets.")] = False
    most_probable: Annotated[
        bool, typer.Option("--most-probable", help="The most probable states together, of the targets or of all.")
    ] = False
    explain: Annotated[
        bool, typer.Option("--explain", help="How much each finding weighs for the most probable state of a target.")
    ] = False
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="With --explain: the state of the target in question.")
    ] = None
    probability: Annotated[bool, typer.Option("--probability", help="The probability of the findings themselves.")] = (
        False
    )
    forecast: Annotated[
        bool, typer.Option("--forecast", help="The size of the exact computation, without running it.")
    ] = False
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the N most probable states of each target.")
    ] = None

    @property
    def kind(self) -> str:
        """The kind of question, by its name among those of :mod:`tunbridge.cli.answers`."""
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


@dataclass(frozen=True)
class Computing:
    """How distributions are computed."""

    method: Annotated[
        Method, typer.Option(help="Exactly, or from samples, with standard errors.", rich_help_panel=_PANEL)
    ] = Method.exact
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="The standard error at which sampling stops; 0.005 unless said.", rich_help_panel=_PANEL
        ),
    ] = None
    max_samples: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Where sampling stops at the latest.", rich_help_panel=_PANEL),
    ] = None
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Credible intervals too, such as 0.95, where tables have counts.", rich_help_panel=_PANEL
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="What decides the samples; 0 unless said.", rich_help_panel=_PANEL),
    ] = None

    def check(self, kind: str, targets: list[str]) -> None:
        """Raise unless the options fit each other, and what is asked."""
        sampled = self.method is not Method.exact
        if not sampled and (self.precision is not None or self.max_samples is not None):
            option = "--precision" if self.precision is not None else "--max-samples"
            raise UsageError(f"{option} must come with a --method of sampling, such as likelihood-weighting.")
        if sampled and self.interval is not None:
            raise UsageError("--interval must come with exact answers; got a --method of sampling.")
        option = f"--method {self.method}" if sampled else "--interval" if self.interval is not None else ""
        if self.seed is not None and not option:
            raise UsageError("--seed must come with a --method of sampling, or with --interval.")
        if option and not (kind == "posteriors" and targets):
            raise UsageError(f"{option} must come with --target, and gives the distribution of each target only.")

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that go with a target and the evidence."""
        given: dict[str, Any] = {"random_state": self.seed or 0}
        if self.method is Method.exact:
            return {} if self.interval is None else {**given, "interval": self.interval}
        if self.max_samples is not None:
            given["max_samples"] = self.max_samples
        precision = _PRECISION if self.precision is None else self.precision
        return {**given, "method": str(self.method), "precision": precision}


def query(
    network: NetworkFile,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="NAME", help="A variable to ask about; repeatable. Otherwise all."),
    ] = None,
    given: Given = None,
    do: Do = None,
    *,
    question: Question,
    computing: Computing,
    format: NetworkFormat = None,
    as_json: AsJson = False,
) -> None:
    """Ask a network for the probabilities of its variables.

    Findings are A=x; A=x|y where it is one of several states; A=x:0.8,y:0.2 where what was seen is more likely in some
    states than in others. Without a target the most probable state of every variable is shown.

    Examples
    --------
    tunbridge query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --given CVP=LOW
    tunbridge query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --given CVP=LOW --explain
    tunbridge query alarm.bif --target HYPOVOLEMIA --given HR=HIGH --explain --state TRUE
    tunbridge query alarm.bif --given "HR=HIGH|NORMAL" --do VENTMACH=HIGH
    tunbridge query large.bif --target X --method likelihood-weighting --precision 0.001
    """
    from tunbridge.cli.answers import Asked, tell
    from tunbridge.cli.findings import check_targets, read_findings, read_state

    targets = target or []
    question.check(targets, given or [])
    computing.check(question.kind, targets)
    net = load_network(network, format, do=do)
    check_targets(net, targets, network)
    evidence = read_findings(net, given or [])
    state = None if question.state is None else read_state(net, targets[0], question.state)
    asked = Asked(targets, evidence, question.joint, question.top, state, computing.settings)
    tell(question.kind, net, asked, as_json=as_json)
