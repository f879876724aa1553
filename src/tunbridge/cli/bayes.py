"""``tunbridge bayes``: Bayes' rule for a handful of hypotheses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import AsJson
from tunbridge.cli.output import say, say_fields, say_json, say_table
from tunbridge.cli.pictures import PlotFile, check_picture, write_picture
from tunbridge.cli.typed_numbers import AsLatex, Exact, WithDerivation, check_forms, exact_text, read_probability

if TYPE_CHECKING:
    from tunbridge.reasoning import BayesUpdate
    from tunbridge.reasoning.numbers import Number

_SHOWN = 40


def bayes(
    prior: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=P",
            help="How probable a hypothesis is beforehand; repeatable, or A=P,B=Q. One of them may be left out and "
            "gets the rest. The word uniform makes all alike.",
        ),
    ],
    likelihood: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=P,…",
            help="How probable what was seen is under each hypothesis, A=P,B=Q; repeatable, for what was seen next.",
        ),
    ],
    derivation: WithDerivation = False,
    latex: AsLatex = False,
    exact: Exact = False,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Update the probabilities of hypotheses by what was seen.

    Numbers are 0.008, 1/125 or 0.8%. The posterior after one observation is the prior of the next, and observations are
    taken to be independent of each other once the hypothesis is known.

    Examples
    --------
    tunbridge bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03
    tunbridge bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03 --derivation
    tunbridge bayes --prior fair=1/2,two-headed=1/2 --likelihood fair=1/2,two-headed=1 --exact
    tunbridge bayes --prior uniform --likelihood "urn A=0.7,urn B=0.4" --likelihood "urn A=0.3,urn B=0.6"
    """
    from tunbridge.reasoning import bayes_rule

    check_forms(derivation=derivation, latex=latex, as_json=as_json)
    check_picture(plot)
    fractions = exact or any("/" in text for text in [*prior, *likelihood])  # with decimals they do not mix well
    before = None if prior == ["uniform"] else _named("--prior", ",".join(prior), fractions)
    seen = [_named("--likelihood", text, fractions) for text in likelihood]
    if len(seen[0]) < 2:
        rule = "must name every hypothesis, two of them at least"
        raise UsageError(f"--likelihood {rule}; got {likelihood[0]!r}. Such as cancer=0.98,healthy=0.03.")
    found = bayes_rule(before, seen)
    if as_json:
        say_json(_as_dict(found, derivation))
    elif latex:
        say(found.derivation().latex)
    else:
        _tell(found, exact)
        if derivation:
            say(f"\n{found.derivation()}")
    if plot is not None:
        write_picture(plot, lambda plots: plots.evolution(found))


def _named(option: str, text: str, exact: bool) -> dict[str, Number]:
    """Return the probabilities of an option by name.

    Examples
    --------
    >>> _named("--prior", "cancer=0.008, all well = 99.2%", False)
    {'cancer': 0.008, 'all well': 0.992}
    """
    found: dict[str, Number] = {}
    for part in text.split(","):
        name, sign, number = (piece.strip() for piece in part.rpartition("="))
        if not (sign and name):
            rule = "must be NAME=P, or several of them with commas between"
            raise UsageError(f"{option} {rule}; got {part.strip()!r}. {_hint(text)}")
        if name in found:
            raise UsageError(f"{option} must name a hypothesis once; got {name!r} twice.")
        found[name] = read_probability(f"{option} of {name!r}", number, exact=exact)
    return found


def _hint(text: str) -> str:
    if "=" not in text:
        return "Such as cancer=0.008."
    return "Decimals are written with a point, and names hold no commas."


def _tell(found: BayesUpdate, exact: bool) -> None:
    header = [found.variable.name, "prior", "likelihood", "joint", "posterior", "Bayes factor", "odds"]
    rows = [[_name(h), *map(_text, _numbers(found, i))] for i, h in enumerate(found)]
    if exact:
        header.append("exact")
        rows = [[*row, exact_text(found[h])] for row, h in zip(rows, found, strict=True)]
    say_table(header, rows)
    say()
    fields = [("Probability of what was seen", _both(found.evidence, exact))]
    say_fields([*fields, ("Most probable", f"{found.map}, {_text(found[found.map])}")])
    if len(found.steps) > 1:
        say("\nAfter each observation:")
        say(repr(found.evolution()))


def _numbers(found: BayesUpdate, i: int) -> list[Number | None]:
    """Return what the table says of a hypothesis: of a Bayes factor nothing where it leaves no prior to the others."""
    from tunbridge.reasoning.numbers import exact_value, like

    hypothesis = found.hypotheses[i]
    prior, likelihood = found.steps[0].prior[i], found.likelihood(hypothesis)
    joint = like(exact_value(prior) * exact_value(likelihood), [prior, likelihood])
    factor = found.bayes_factor(hypothesis) if prior < 1 else None
    return [prior, likelihood, joint, found[hypothesis], factor, found.odds(hypothesis)]


def _name(hypothesis: object) -> str:
    from tunbridge._check import shortened

    return shortened(str(hypothesis), _SHOWN)


def _text(value: Number | None) -> str:
    from tunbridge.reasoning.numbers import decimal_text

    return "-" if value is None else decimal_text(value)


def _both(value: Number, exact: bool) -> str:
    fraction = exact_text(value) if exact else ""
    return f"{_text(value)} = {fraction}" if "/" in fraction else _text(value)


def _as_dict(found: BayesUpdate, derivation: bool) -> dict[str, Any]:
    from tunbridge.reasoning.numbers import as_float

    keys = ("prior", "likelihood", "joint", "posterior", "bayes_factor", "odds")
    told: dict[str, Any] = {"hypotheses": {}, "evidence": as_float(found.evidence), "map": found.map, "ml": found.ml}
    for i, h in enumerate(found):
        numbers = {k: None if v is None else as_float(v) for k, v in zip(keys, _numbers(found, i), strict=True)}
        told["hypotheses"][h] = {**numbers, **({"exact": exact_text(found[h])} if exact_text(found[h]) else {})}
    told["posteriors"] = [dict(zip(found, map(as_float, step.posterior), strict=True)) for step in found.steps]
    return {**told, "derivation": str(found.derivation())} if derivation else told
