"""``tunbridge bayes`` and ``tunbridge test``: Bayes' rule for a few hypotheses, and for a diagnostic test.

Numbers are read as they are typed: 0.008, 1/125 and 0.8 % are the same, and none of them is rounded. A decimal stands
for itself, and results computed from decimals are shown as decimals. With a slash, or with ``--exact``, a number is a
fraction, and what is computed from fractions alone is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import tunbridge as tb
from tunbridge._core.check import shortened
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_picture, write_picture
from tunbridge.cli.output import say, say_fields, say_json, say_table
from tunbridge.cli.usage import as_usage, given_for, refuse, refuse_options
from tunbridge.reasoning import BayesUpdate, Derivation, DiagnosticTest
from tunbridge.reasoning.diagnostic import DISEASED, HEALTHY, MEASURES, as_results, measured, percent_text
from tunbridge.reasoning.numbers import (
    Number,
    as_float,
    as_number,
    as_probability,
    decimal_text,
    exact_value,
    like,
    number_text,
)
from tunbridge.reasoning.proportions import CELLS

_SHOWN = 40


@dataclass(frozen=True)
class Showing:
    """Output.

    Parameters
    ----------
    derivation
        Show the formulas with the numbers in them as well.
    latex
        Write these formulas in LaTeX, and nothing else.
    exact
        Show exact fractions too.
    plot : FILE
        Draw the result into a .png, .svg or .pdf file as well.
    as_json, --json
        Write JSON.
    """

    derivation: bool = False
    latex: bool = False
    exact: bool = False
    plot: Path | None = None
    as_json: bool = False

    def check(self) -> None:
        """Raise for forms of an answer that exclude each other, and for a picture that cannot be written."""
        chosen = given_for("latex", "as_json", "derivation")
        clash = self.latex and (self.as_json or self.derivation)
        refuse((clash, f"an answer must have one form; got {' and '.join(chosen)}."))
        check_picture(self.plot)

    def present(
        self, data: Callable[[], dict[str, Any]], show: Callable[[], None], derive: Callable[[], Derivation]
    ) -> None:
        """Print an answer in the form that is wanted."""
        if self.as_json:
            say_json({**data(), "derivation": str(derive())} if self.derivation else data())
        elif self.latex:
            say(derive().latex)
        else:
            show()
            if self.derivation:
                say(f"\n{derive()}")


def read_probability(what: str, text: str, *, exact: bool) -> Number:
    """Return a typed probability.

    Examples
    --------
    >>> read_probability("--prior", "0.8 %", exact=False), read_probability("--prior", "1/3", exact=False)
    (0.008, Fraction(1, 3))
    """
    with as_usage():
        value = as_probability(what, text)
    short = exact_value(float(value)) == value  # otherwise no float stands for it
    return float(value) if short and not exact and "/" not in text else value


def exact_text(value: object) -> str:
    """Return a fraction as text; no text for what is none.

    Examples
    --------
    >>> exact_text(Fraction(49, 235)), exact_text(0.25)
    ('49/235', '')
    """
    return str(value) if isinstance(value, Fraction) else ""


# Bayes' rule


@verb("bayes", rank=70)
def bayes(*, prior: list[str], likelihood: list[str], showing: Showing) -> None:
    """Update the probabilities of hypotheses by observations.

    Numbers are written 0.008, 1/125 or 0.8%. The posterior after one observation is the prior of the next; observations
    are assumed to be independent given the hypothesis.

    Parameters
    ----------
    prior : NAME=P
        The prior probability of a hypothesis, or A=P,B=Q for several. One of them may be left out and gets the rest.
        The word uniform gives all hypotheses the same prior.
    likelihood : NAME=P,…
        The probability of an observation under each hypothesis, A=P,B=Q; once for each observation.

    Examples
    --------
    tunbridge bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03
    tunbridge bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03 --derivation
    tunbridge bayes --prior fair=1/2,two-headed=1/2 --likelihood fair=1/2,two-headed=1 --exact
    tunbridge bayes --prior uniform --likelihood "urn A=0.7,urn B=0.4" --likelihood "urn A=0.3,urn B=0.6"
    """
    showing.check()
    fractions = showing.exact or "/" in "".join([*prior, *likelihood])  # with decimals they do not mix well
    before = None if prior == ["uniform"] else _named("--prior", ",".join(prior), fractions)
    seen = [_named("--likelihood", text, fractions) for text in likelihood]
    rule = f"--likelihood must name every hypothesis, at least two; got {likelihood[0]!r}."
    refuse((len(seen[0]) < 2, f"{rule} Example: cancer=0.98,healthy=0.03."))
    found = tb.bayes_rule(before, seen)
    showing.present(lambda: _as_dict(found), lambda: _show(found, showing.exact), found.derivation)
    if showing.plot is not None:
        write_picture(showing.plot, lambda plots: plots.evolution(found))


def _named(option: str, text: str, exact: bool) -> dict[str, Number]:
    """Return the probabilities of an option by name.

    Examples
    --------
    >>> _named("--prior", "cancer=0.008, all healthy = 99.2%", False)
    {'cancer': 0.008, 'all healthy': 0.992}
    """
    found: dict[str, Number] = {}
    hint = "Write decimals with a point, and names without commas." if "=" in text else "Example: cancer=0.008."
    for part in text.split(","):
        name, sign, number = (piece.strip() for piece in part.rpartition("="))
        rule = f"{option} must be NAME=P, or several separated by commas; got {part.strip()!r}."
        refuse(
            (not (sign and name), f"{rule} {hint}"),
            (name in found, f"{option} must name a hypothesis once; got {name!r} twice."),
        )
        found[name] = read_probability(f"{option} of {name!r}", number, exact=exact)
    return found


def _show(found: BayesUpdate, exact: bool) -> None:
    header = [found.variable.name, "prior", "likelihood", "joint", "posterior", "Bayes factor", "odds"]
    rows = [[shortened(str(h), _SHOWN), *map(_text, _numbers(found, i))] for i, h in enumerate(found)]
    if exact:
        header.append("exact")
        rows = [[*row, exact_text(found[h])] for row, h in zip(rows, found, strict=True)]
    say_table(header, rows)
    say()
    fields = [("Probability of the data", _both(found.evidence, exact))]
    say_fields([*fields, ("Most probable", f"{found.map}, {_text(found[found.map])}")])
    if len(found.steps) > 1:
        say("\nAfter each observation:")
        say(repr(found.evolution()))


def _numbers(found: BayesUpdate, i: int) -> list[Number | None]:
    """Return what the table says of a hypothesis: of a Bayes factor nothing where it leaves no prior to the others."""
    hypothesis = found.hypotheses[i]
    prior, likelihood = found.steps[0].prior[i], found.likelihood(hypothesis)
    joint = like(exact_value(prior) * exact_value(likelihood), [prior, likelihood])
    factor = found.bayes_factor(hypothesis) if prior < 1 else None
    return [prior, likelihood, joint, found[hypothesis], factor, found.odds(hypothesis)]


def _text(value: Number | None) -> str:
    return "-" if value is None else decimal_text(value)


def _both(value: Number, exact: bool) -> str:
    fraction = exact_text(value) if exact else ""
    return f"{_text(value)} = {fraction}" if "/" in fraction else _text(value)


def _as_dict(found: BayesUpdate) -> dict[str, Any]:
    keys = ("prior", "likelihood", "joint", "posterior", "bayes_factor", "odds")
    shown: dict[str, Any] = {"hypotheses": {}, "evidence": as_float(found.evidence), "map": found.map, "ml": found.ml}
    for i, h in enumerate(found):
        numbers = {k: None if v is None else as_float(v) for k, v in zip(keys, _numbers(found, i), strict=True)}
        shown["hypotheses"][h] = {**numbers, **({"exact": exact_text(found[h])} if exact_text(found[h]) else {})}
    shown["posteriors"] = [dict(zip(found, map(as_float, step.posterior), strict=True)) for step in found.steps]
    return shown


# Diagnostic tests


@dataclass(frozen=True)
class Numbers:
    """The test.

    Parameters
    ----------
    prevalence : P
        P(diseased): the share of diseased people among those who are tested.
    sensitivity : P
        P(+ | diseased): the share of the diseased whom the test finds.
    specificity : P
        P(- | healthy): the share of the healthy whom the test clears.
    counts : TP,FP,FN,TN
        Instead of these: true positives, false positives, false negatives, true negatives.
    level : P
        With --counts: the level of intervals (default: 0.95).
    interval
        With --counts: Wilson's score interval (default), or quantiles of the Beta posterior under a uniform or
        Jeffreys' prior.
    """

    prevalence: str | None = None
    sensitivity: str | None = None
    specificity: str | None = None
    counts: str | None = None
    level: str | None = None
    interval: Literal["wilson", "beta", "jeffreys"] | None = None

    def test(self, exact: bool) -> DiagnosticTest:
        """Return the test; raise unless the options describe one."""
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
        counted, got = self.counts is not None, "got neither" if len(absent) == 2 else f"{''.join(absent)} is missing"
        rule = "a test must have --sensitivity and --specificity, or --counts TP,FP,FN,TN"
        follow = "--counts must come without --sensitivity and --specificity: they follow from it."
        refuse((not counted and absent, f"{rule}; {got}."), (counted and len(absent) < 2, follow))
        if not counted:
            refuse_options(("level", "interval"), "come with --counts: without counts there are no intervals.")

    @property
    def how(self) -> dict[str, Any]:
        """How intervals are computed."""
        level = 0.95 if self.level is None else read_probability("--level", self.level, exact=False)
        return {"level": level, "method": self.interval or "wilson"}


@verb("test", rank=71)
def diagnose(
    *,
    numbers: Numbers,
    result: list[str] = (),  # type: ignore[assignment]
    ppv: str | None = None,
    npv: str | None = None,
    per: int | None = None,
    showing: Showing,
) -> None:
    """Show what the result of a diagnostic test says.

    From prevalence, sensitivity and specificity, or from counted cases: predictive values, likelihood ratios, error
    rates, with intervals if there are counts. Numbers are written 0.008, 1/125 or 0.8%. Counts of a case-control study
    say nothing about the prevalence: give it too.

    Parameters
    ----------
    result : +|-
        A result of the test, or several as in ++-: show the patient's probability then.
    ppv, --ppv : P
        Find the prevalence at which the positive predictive value is P.
    npv, --npv : P
        Find the prevalence at which the negative predictive value is P.
    per : N >= 1
        Show what it means for N people (default: 1000 or more).

    Examples
    --------
    tunbridge test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97
    tunbridge test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97 --result ++ --derivation
    tunbridge test --counts 400,210,310,1200 --level 0.9 --interval beta
    tunbridge test --counts 400,210,310,1200 --prevalence 1% --ppv 0.5 --plot ppv.png
    """
    showing.check()
    exact, known, how = showing.exact, numbers.test(showing.exact), numbers.how
    rule = "must come with --prevalence"
    refuse(
        (per and known.prevalence is None, f"--per {rule}, which says how many of N people are diseased."),
        (result and known.prevalence is None, f"--result {rule}: the probability before the test."),
    )
    update = known.posterior([sign for text in result for sign in _signs(text)]) if result else None
    wanted = {name: text for name, text in (("ppv", ppv), ("npv", npv)) if text is not None}
    found = [_prevalence_for(known, name, text, exact) for name, text in wanted.items()]

    def show() -> None:
        _show_test(known, how, exact)
        _show_more(known, per, update, found, exact)

    showing.present(lambda: _as_dict_test(known, how, update, found), show, lambda: _derivations(known, update))
    if showing.plot is not None:
        write_picture(showing.plot, lambda plots: plots.predictive_values(known))


# The question


def _four(text: str) -> dict[str, Number]:
    parts = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    refuse((len(parts) != 4, f"--counts must be TP,FP,FN,TN, four numbers; got {len(parts)}, {text!r}."))
    with as_usage(f"--counts must be four numbers, such as 400,210,310,1200; got {text!r}."):
        return {name: as_number("a count", part) for name, part in zip(CELLS, parts, strict=True)}


def _signs(text: str) -> list[str]:
    """Return the results that an option names.

    Examples
    --------
    >>> _signs("++-"), _signs("negative")
    (['+', '+', '-'], ['-'])
    """
    with as_usage(f"--result must be +, - or several of them, such as ++-; got {text!r}."):
        return as_results(text)


def _prevalence_for(test: DiagnosticTest, name: str, text: str, exact: bool) -> tuple[str, Number, Number]:
    """Return the name of a predictive value, what it is to be, and the prevalence at which it is."""
    wanted = read_probability(f"--{name}", text, exact=exact)
    with as_usage("--{}"):
        return name, wanted, test.prevalence_for(**{name: wanted})


def _derivations(test: DiagnosticTest, update: BayesUpdate | None) -> Derivation:
    """Return how the answers come about: of predictive values if there is a prevalence, else of likelihood ratios."""
    if update is not None:
        return update.derivation()
    first = "ppv" if test.prevalence is not None else "positive_likelihood_ratio"
    second = "npv" if test.prevalence is not None else "negative_likelihood_ratio"
    shown = test.to_dict()["measures"]
    known = [test.derivation(name) for name in (first, second) if shown[name]["value"] is not None]  # one is not 0/0
    return known[0] + known[1] if len(known) == 2 else known[0]


# The answer


def _show_test(test: DiagnosticTest, how: dict[str, Any], exact: bool) -> None:
    """Print the measures as a table, below that of the counts."""
    if test.counts is not None:
        tp, fp, fn, tn = (number_text(n) for n in test.counts.cells)
        say_table(["", DISEASED, HEALTHY], [["positive", tp, fp], ["negative", fn, tn]])
        say()
    rows = [[*MEASURES[m.name], m.value_text, m.interval_text, exact_text(m.value)] for m in measured(test, **how)]
    shown = [0, 1, 2, *([3] if test.counts is not None else []), *([4] if exact else [])]
    header = ["measure", "", "value", f"{percent_text(how['level'])} interval", "exact"]
    say_table([header[j] for j in shown], [[row[j] for j in shown] for row in rows], left=range(len(shown)))


def _show_more(
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
        say(f"\nAfter {seen} P({DISEASED}) is {_percent(update[DISEASED], exact)}; most probable: {update.map}.")
    for name, wanted, prevalence in found:
        say(f"\n{name.upper()} is {_percent(wanted)} at prevalence {_percent(prevalence, exact)}.")


def _percent(share: Number, exact: bool = False) -> str:
    fraction = exact_text(share) if exact else ""
    return f"{percent_text(share)} = {fraction}" if fraction else percent_text(share)


def _as_dict_test(
    test: DiagnosticTest,
    how: dict[str, Any],
    update: BayesUpdate | None,
    found: list[tuple[str, Number, Number]],
) -> dict[str, Any]:
    shown = test.to_dict(**how)
    if update is not None:
        seen = [step.observation for step in update.steps]
        shown["posterior"] = {"results": seen, **{state: float(p) for state, p in update.items()}, "map": update.map}
    if found:
        shown["prevalence_for"] = {name: {"value": float(w), "prevalence": float(p)} for name, w, p in found}
    return shown
