"""``tunbridge explain``: why a row is given its class."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import did_you_mean
from tunbridge.cli.documents import OtherColumn, kind_read
from tunbridge.cli.explained_texts import check_text_use, file_of, given_text, text_case, write_page
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import AsJson, ModelFile, Reading
from tunbridge.cli.output import counted, say, say_json, shortlist
from tunbridge.cli.pictures import PICTURE_SUFFIXES, write_picture
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.decisions import Explanation, Importance, WhatIf

_SHOWN = 6
_PAGES = (".html", ".htm")


def explain(
    model: ModelFile,
    rows: Annotated[
        str | None,
        typer.Argument(
            metavar="ROWS",
            help="A table from which a row is taken; of texts also a folder, a .txt file, or the text itself.",
        ),
    ] = None,
    row: Annotated[int | None, typer.Option(metavar="N", help="Which row, counted from 1.", min=1)] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What is known of a case, instead of a row; repeatable."),
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="CLASS", help="The class to explain.")] = None,
    against: Annotated[str | None, typer.Option(metavar="CLASS", help="The class to compare it with.")] = None,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Show which single changes would give the case another class.")
    ] = False,
    to: Annotated[str | None, typer.Option(metavar="CLASS", help="With --what-if: the class that is wanted.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --what-if: a feature that may change; repeatable. All unless said."),
    ] = None,
    importance: Annotated[
        bool, typer.Option("--importance", help="Show what each feature tells about the class over all rows.")
    ] = False,
    nomogram: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the nomogram of a naive Bayes model into a .png, .svg or .pdf file."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the explanation, or the importances, into such a file as well."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the explanation as a page too: a text with its words coloured."),
    ] = None,
    column: OtherColumn = None,
    as_json: AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Explain a prediction: the weight of evidence of every feature.

    A weight is the natural logarithm of the factor by which a value multiplies the odds of the class against the other
    one. What is not given counts as missing, with weight 0. In JSON an infinite weight is the text "Infinity". Of a
    text or a sequence the weights are those of its words or letters, shown in place.

    Examples
    --------
    tunbridge explain tennis.tb --given outlook=Sunny --given wind=Strong
    tunbridge explain model.tb rows.csv --row 3 --against no
    tunbridge explain model.tb rows.csv --row 3 --plot why.png
    tunbridge explain model.tb rows.csv --row 3 --what-if --change income --change debt
    tunbridge explain model.tb --importance
    tunbridge explain model.tb --nomogram nomogram.pdf
    tunbridge explain spam.tb "You have won a prize" --html why.html
    tunbridge explain spam.tb new.csv --row 3
    """
    from tunbridge.cli.models import load_model
    from tunbridge.cli.writers import check_output

    for file in (plot, nomogram):
        check_output(file, inputs=[], suffixes=PICTURE_SUFFIXES)
    check_output(html, inputs=[], suffixes=_PAGES)
    has_case = rows is not None or bool(given)
    _check_use(
        what_if=what_if,
        importance=importance,
        has_case=has_case,
        plots=plot is not None,
        changes=to is not None or bool(change),
        compares=label is not None or against is not None,
        draws_all=nomogram is not None,
        is_page=html is not None,
    )
    if (rows is None) == (not given) and (has_case or not (importance or nomogram)):
        raise UsageError(
            "an explanation must have a case: a table with --row N, --given NAME=VALUE, or a text for models of texts."
        )
    if row is not None and rows is None:
        raise UsageError(f"--row must come with a table; got {'--given' if given else 'none'}.")
    classifier = load_model(model, swapped_with=None if rows is None else file_of(rows))
    if kind_read(classifier):
        check_text_use(classifier, what_if=what_if, importance=importance, draws_all=nomogram is not None)
    found: Any = None
    if importance:
        found = classifier.importance()
    elif has_case:
        case = _case(classifier, rows, row or 1, given or [], reading, column)
        found = (
            classifier.what_if(case, to=to, features=change or None)
            if what_if
            else classifier.explain(case, label=label, against=against)
        )
    if found is not None and as_json:
        say_json(found.to_dict())
    elif found is not None:
        _show(found)
    if plot is not None:
        write_picture(plot, lambda plots: getattr(plots, _picture(found))(found))
    if html is not None:
        write_page(html, found)
    if nomogram is not None:
        write_picture(nomogram, lambda plots: plots.nomogram(classifier, label, against), called="nomogram")


def _check_use(
    *,
    what_if: bool,
    importance: bool,
    has_case: bool,
    plots: bool,
    changes: bool,
    compares: bool,
    draws_all: bool,
    is_page: bool,
) -> None:
    """Raise for options that do not go together."""
    if importance and (has_case or what_if):
        raise UsageError("--importance must stand alone: it is about all rows that the model was learned from.")
    if changes and not what_if:
        raise UsageError("--to and --change must come with --what-if.")
    if compares and not draws_all and (what_if or importance):
        hint = "--to names the class that is wanted" if what_if else "importance is about all classes"
        raise UsageError(f"--label and --against must come with an explanation or --nomogram; {hint}.")
    if plots and what_if:
        raise UsageError("--plot must come without --what-if: it draws an explanation. --json writes the changes.")
    if plots and not (has_case or importance):
        raise UsageError("--plot must have something to draw: a case, or --importance.")
    if is_page and (what_if or not has_case):
        raise UsageError("--html must have the explanation of a case to write.")


def _case(model: Any, rows: str | None, row: int, given: list[str], reading: Reading, column: str | None) -> Any:
    """Return what is to be explained: a value for each feature, or a text or sequence."""
    if kind_read(model):
        return given_text(model, given) if rows is None else text_case(model, rows, row, reading, column)
    if column is not None:
        raise UsageError("--column must come with a model of texts or sequences; this one reads several columns.")
    return given_case(model, given) if rows is None else row_case(model, Path(rows), row, reading)


def given_case(model: Any, given: list[str]) -> dict[str, Any]:
    """Return a value for each feature of the model, None where nothing is given."""
    variables = {v.name: v for v in model.variables_}
    case: dict[str, Any] = dict.fromkeys(variables)
    for text in given:
        name = max((n for n in variables if text.startswith(f"{n}=")), key=len, default=None)
        if name is None:
            raise _no_such_feature(text, list(variables))
        if case[name] is not None:
            raise DataError(f"--given must name a feature once; got {name!r} twice.")
        case[name] = _value(variables[name], text[len(name) + 1 :])
    return case


def row_case(model: Any, path: Path, row: int, reading: Reading) -> dict[str, Any]:
    """Return the features of a row of a file, counted from one."""
    from tunbridge.cli.rows import iter_rows

    seen = 0
    for batch in iter_rows(model, path, reading, verbatim=False):
        if row <= seen + batch.n_rows:
            cells = batch.features.slice(row - 1 - seen, 1).to_pylist()[0]
            return {v.name: cells[v.name] for v in model.variables_}
        seen += batch.n_rows
    raise DataError(f"--row must be a row of {path.name}, which has {counted(seen, 'row')}; got {row}.")


def _no_such_feature(text: str, names: list[str]) -> Exception:
    name, sign, _ = text.partition("=")
    if not sign:
        return UsageError(f"--given must be NAME=VALUE; got {text!r}.")
    return DataError(f"--given must name a feature of the model; got {name!r}. {did_you_mean(name, names)}")


def _value(variable: Any, text: str) -> Any:
    if variable.is_categorical:
        return variable.states[variable.code(text)]
    from tunbridge.data.columns import to_floats

    try:
        return float(to_floats(variable.name, [text])[0])
    except DataError:
        raise DataError(f"--given must have a number for {variable.name!r}; got {text!r}.") from None


def _show(found: Explanation | WhatIf | Importance) -> None:
    lines = [str(found)]
    if hasattr(found, "probabilities"):
        ranked = sorted(found.probabilities.items(), key=lambda pair: -pair[1])
        lines += ["", shortlist([f"P({c}) = {p:.3g}" for c, p in ranked], most=_SHOWN)]
    if not sys.stdout.isatty():
        say("\n".join(lines))
        return
    from rich.console import Console
    from rich.text import Text

    if hasattr(found, "to_rich"):
        Console(highlight=False, soft_wrap=True).print(Text("\n").join([found.to_rich(), *map(Text, lines[1:])]))
        return
    text = Text("\n".join(lines))
    text.highlight_regex(r"(?m) (\++|flips)$", "bold blue")
    text.highlight_regex(r"(?m) -+$", "bold dark_orange")
    text.highlight_regex("▲", "bold blue")
    text.highlight_regex("▼", "bold dark_orange")
    Console(highlight=False, soft_wrap=True).print(text)


def _picture(found: Any) -> str:
    """Return the function of :mod:`tunbridge.plots` that draws something: of a sequence, the log-odds along it."""
    if hasattr(found, "cumulative"):
        return "log_odds"
    return "explanation" if hasattr(found, "evidence") else "importance"
