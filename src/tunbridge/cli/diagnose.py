"""``tunbridge test``: what the result of a diagnostic test says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import AsJson
from tunbridge.cli.output import say, say_json, say_table
from tunbridge.cli.pictures import PlotFile, check_picture, write_picture
from tunbridge.cli.typed_numbers import AsLatex, Exact, WithDerivation, check_forms, exact_text, read_probability
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.reasoning import BayesUpdate, Derivation, DiagnosticTest
    from tunbridge.reasoning.numbers import Number

_COUNTS = "Counts"


class IntervalMethod(StrEnum):
    """How the interval of a share of counts is computed."""

    wilson = "wilson"
    beta = "beta"
    jeffreys = "jeffreys"


@dataclass(frozen=True)
class Numbers:
    """What is known of the test."""

    prevalence: Annotated[
        str | None, typer.Option(metavar="P", help="P(ill): how frequent the illness is among those who are tested.")
    ] = None
    sensitivity: Annotated[
        str | None, typer.Option(metavar="P", help="P(+ | ill): the share of the ill whom the test finds.")
    ] = None
    specificity: Annotated[
        str | None, typer.Option(metavar="P", help="P(- | well): the share of the well whom it leaves in peace.")
    ] = None
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="TP,FP,FN,TN",
            help="Instead of these: true positives, false positives, false negatives, true negatives.",
            rich_help_panel=_COUNTS,
        ),
    ] = None
    level: Annotated[
        str | None,
        typer.Option(metavar="P", help="How sure intervals are; 0.95 unless said.", rich_help_panel=_COUNTS),
    ] = None
    interval: Annotated[
        IntervalMethod | None,
        typer.Option(
            help="Wilson's score interval (unless said), or quantiles of the Beta posterior under a uniform or "
            "Jeffreys' prior.",
            rich_help_panel=_COUNTS,
        ),
    ] = None

    def test(self, exact: bool) -> DiagnosticTest:
        """Return the test; raise unless the options describe one."""
        from tunbridge.reasoning import DiagnosticTest

        names = ("sensitivity", "specificity")
        absent = [f"--{name}" for name in names if getattr(self, name) is None]
        self._check(absent)
        typed = [getattr(self, name) or "" for name in ("prevalence", *names)]
        exact = exact or any("/" in text for text in typed)  # fractions and decimals do not mix well
        before = None if self.prevalence is None else self._number("prevalence", exact)
        if self.counts is not None:
            return DiagnosticTest.from_counts(**_four(self.counts), prevalence=before)
        return DiagnosticTest(before, *(self._number(name, exact) for name in names))

    def _number(self, name: str, exact: bool) -> Number:
        return read_probability(f"--{name}", getattr(self, name), exact=exact)

    def _check(self, absent: list[str]) -> None:
        if self.counts is None and absent:
            got = "got neither" if len(absent) == 2 else f"{absent[0]} is not there"
            raise UsageError(f"a test must have --sensitivity and --specificity, or --counts TP,FP,FN,TN; {got}.")
        if self.counts is not None and len(absent) < 2:
            raise UsageError("--counts must come without --sensitivity and --specificity: they follow from it.")
        if self.counts is None and (self.level is not None or self.interval is not None):
            option = "--level" if self.level is not None else "--interval"
            raise UsageError(f"{option} must come with --counts: without counts there are no intervals.")

    @property
    def how(self) -> dict[str, Any]:
        """How intervals are computed."""
        level = 0.95 if self.level is None else read_probability("--level", self.level, exact=False)
        return {"level": level, "method": str(self.interval or IntervalMethod.wilson)}


def diagnose(
    *,
    numbers: Numbers,
    result: Annotated[
        list[str] | None,
        typer.Option(metavar="+|-", help="A result: what is the patient's probability then? Repeatable, or ++-."),
    ] = None,
    ppv: Annotated[
        str | None, typer.Option(metavar="P", help="At which prevalence is the positive predictive value P?")
    ] = None,
    npv: Annotated[
        str | None, typer.Option(metavar="P", help="At which prevalence is the negative predictive value P?")
    ] = None,
    per: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Tell what it means for N people; 1000 or more unless said.")
    ] = None,
    derivation: WithDerivation = False,
    latex: AsLatex = False,
    exact: Exact = False,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what the result of a diagnostic test says.

    From prevalence, sensitivity and specificity, or from counted cases: predictive values, likelihood ratios, error
    rates, with intervals where there are counts. Numbers are 0.008, 1/125 or 0.8%. Counts of a case-control study say
    nothing about the prevalence: give it too.

    Examples
    --------
    tunbridge test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97
    tunbridge test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97 --result ++ --derivation
    tunbridge test --counts 400,210,310,1200 --level 0.9 --interval beta
    tunbridge test --counts 400,210,310,1200 --prevalence 1% --ppv 0.5 --plot ppv.png
    """
    check_forms(derivation=derivation, latex=latex, as_json=as_json)
    check_picture(plot)
    known = numbers.test(exact)
    if per is not None and known.prevalence is None:
        raise UsageError("--per must come with --prevalence: how many of N people are ill?")
    update = None if not result else _update(known, result)
    found = [
        _prevalence_for(known, name, text, exact) for name, text in (("ppv", ppv), ("npv", npv)) if text is not None
    ]
    if as_json:
        say_json(_as_dict(known, numbers.how, update, found, _derivations(known, update) if derivation else None))
    elif latex:
        say(_derivations(known, update).latex)
    else:
        _tell(known, numbers.how, exact)
        _tell_more(known, per, update, found, exact)
        if derivation:
            say(f"\n{_derivations(known, update)}")
    if plot is not None:
        write_picture(plot, lambda plots: plots.predictive_values(known))


# What is asked


def _four(text: str) -> dict[str, Number]:
    from tunbridge.reasoning.diagnosis.case_counts import CELLS
    from tunbridge.reasoning.numbers import as_number

    parts = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    if len(parts) != 4:
        raise UsageError(f"--counts must be TP,FP,FN,TN, four numbers; got {len(parts)}, {text!r}.")
    try:
        return {name: as_number("a count", part) for name, part in zip(CELLS, parts, strict=True)}
    except DataError as error:
        raise UsageError(f"--counts must be four numbers, such as 400,210,310,1200; got {text!r}.") from error


def _update(test: DiagnosticTest, results: list[str]) -> BayesUpdate:
    if test.prevalence is None:
        raise UsageError("--result must come with --prevalence: the probability before the test.")
    found: BayesUpdate = test.posterior([sign for text in results for sign in as_signs(text)])
    return found


def as_signs(text: str) -> list[str]:
    """Return the results that an option names.

    Examples
    --------
    >>> as_signs("++-"), as_signs("negative")
    (['+', '+', '-'], ['-'])
    """
    from tunbridge.reasoning.diagnosis.several import as_results

    try:
        return as_results(text)
    except DataError as error:
        raise UsageError(f"--result must be +, - or a row of them, such as ++-; got {text!r}.") from error


def _prevalence_for(test: DiagnosticTest, name: str, text: str, exact: bool) -> tuple[str, Number, Number]:
    """Return the name of a predictive value, what it is to be, and the prevalence at which it is."""
    wanted = read_probability(f"--{name}", text, exact=exact)
    try:
        return name, wanted, test.prevalence_for(**{name: wanted})
    except DataError as error:
        raise UsageError(f"--{error}") from error


def _derivations(test: DiagnosticTest, update: BayesUpdate | None) -> Derivation:
    """Return how the answers come about: of predictive values if there is a prevalence, else of likelihood ratios."""
    if update is not None:
        found: Derivation = update.derivation()
        return found
    first = "ppv" if test.prevalence is not None else "positive_likelihood_ratio"
    second = "npv" if test.prevalence is not None else "negative_likelihood_ratio"
    told = test.to_dict()["measures"]
    known = [test.derivation(name) for name in (first, second) if told[name]["value"] is not None]  # one is not 0/0
    return known[0] + known[1] if len(known) == 2 else known[0]


# What is told


def _tell(test: DiagnosticTest, how: dict[str, Any], exact: bool) -> None:
    """Print the measures as a table, below that of the counts."""
    from tunbridge.reasoning.diagnosis.measure_table import MEASURES, measured, percent_text
    from tunbridge.reasoning.numbers import number_text

    if test.counts is not None:
        tp, fp, fn, tn = (number_text(n) for n in test.counts.cells)
        say_table(["", "ill", "well"], [["positive", tp, fp], ["negative", fn, tn]])
        say()
    rows = [[*MEASURES[m.name], m.value_text, m.interval_text, exact_text(m.value)] for m in measured(test, **how)]
    shown = [0, 1, 2, *([3] if test.counts is not None else []), *([4] if exact else [])]
    header = ["measure", "", "value", f"{percent_text(how['level'])} interval", "exact"]
    say_table([header[j] for j in shown], [[row[j] for j in shown] for row in rows], left=range(len(shown)))


def _tell_more(
    test: DiagnosticTest,
    per: int | None,
    update: BayesUpdate | None,
    found: list[tuple[str, Number, Number]],
    exact: bool,
) -> None:
    """Print what the numbers mean for people, for a patient, and for the prevalence."""
    if test.prevalence is None:
        say("\nPredictive values need a --prevalence.")
    else:
        say(f"\n{test.natural_frequencies(per)}")
    if update is not None:
        seen = "".join(step.observation for step in update.steps)
        say(f"\nAfter {seen} P(ill) is {_percent(update['ill'], exact)}; most probable: {update.map}.")
    for name, wanted, prevalence in found:
        say(f"\n{name.upper()} is {_percent(wanted)} at prevalence {_percent(prevalence, exact)}.")


def _percent(share: Number, exact: bool = False) -> str:
    from tunbridge.reasoning.diagnosis.measure_table import percent_text

    fraction = exact_text(share) if exact else ""
    return f"{percent_text(share)} = {fraction}" if fraction else percent_text(share)


def _as_dict(
    test: DiagnosticTest,
    how: dict[str, Any],
    update: BayesUpdate | None,
    found: list[tuple[str, Number, Number]],
    derivation: Derivation | None,
) -> dict[str, Any]:
    told = test.to_dict(**how)
    if update is not None:
        seen = [step.observation for step in update.steps]
        told["posterior"] = {"results": seen, **{state: float(p) for state, p in update.items()}, "map": update.map}
    if found:
        told["prevalence_for"] = {name: {"value": float(w), "prevalence": float(p)} for name, w, p in found}
    return told if derivation is None else {**told, "derivation": str(derivation)}
