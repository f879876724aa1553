"""``tunbridge explain``: why a row gets its class."""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from tunbridge._core.check import did_you_mean, shortened
from tunbridge._core.registry import verb
from tunbridge.cli.documents import NOUNS, READ, SEQUENCE, column_of, is_loose, kind_read
from tunbridge.cli.files import (
    check_exists,
    check_output,
    check_picture,
    load_model,
    replacing,
    suffix_of,
    write_picture,
)
from tunbridge.cli.networks import given_number
from tunbridge.cli.options import AsJson, ModelFile, Reading
from tunbridge.cli.output import counted, note, say, say_json, shortlist
from tunbridge.cli.rows import COLUMN_RULE, FarValues, OtherColumn, feature_names, row_of
from tunbridge.cli.usage import UsageError, near_hint, refuse
from tunbridge.data import Variable
from tunbridge.data.formats.source import table_suffixes
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.data.reading import Reading as Record
    from tunbridge.decisions import Explanation, Importance, WhatIf

    Answer = Explanation | WhatIf | Importance

_SHOWN = 6
_PAGES = (".html", ".htm")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family: sans-serif; max-width: 60em; margin: 2em auto">{body}</body>
</html>
"""


@dataclass(frozen=True)
class Question:
    """Question.

    Parameters
    ----------
    label : CLASS
        The class to explain (default: the most probable one).
    against : CLASS
        The class to compare it with (default: the most probable other one).
    what_if
        Show which single changes would give the case another class.
    to : CLASS
        With --what-if: the class that is wanted (default: any other one).
    change : NAME
        With --what-if: a feature that may change (default: all).
    importance
        Show how much information each feature has about the class over all rows.
    nomogram : FILE
        Draw the nomogram of a naive Bayes model into a .png, .svg or .pdf file.
    plot : FILE
        Draw the explanation, or the importances, into such a file as well.
    html : FILE
        Write the explanation as a page too: a text with its words coloured.
    """

    label: str | None = None
    against: str | None = None
    what_if: bool = False
    to: str | None = None
    change: list[str] = ()  # type: ignore[assignment]
    importance: bool = False
    nomogram: Path | None = None
    plot: Path | None = None
    html: Path | None = None

    def check(self, *, has_case: bool) -> None:
        """Raise for options that do not go together, and for files that cannot be written."""
        check_picture(self.plot)
        check_picture(self.nomogram)
        if self.html is not None:
            check_output(self.html, suffixes=_PAGES)
        what_if, importance, draws = self.what_if, self.importance, self.plot is not None
        compares = (self.label is not None or self.against is not None) and self.nomogram is None
        hint = "--to names the class that is wanted" if what_if else "importance is about all classes"
        if importance and (has_case or what_if):
            raise UsageError("--importance must come alone: it is about all rows that the model was learned from.")
        if draws and what_if:
            raise UsageError("--plot must come without --what-if: it draws an explanation. --json writes the changes.")
        rule = "--label and --against must come with an explanation or --nomogram"
        refuse(
            ((self.to is not None or self.change) and not what_if, "--to and --change must come with --what-if."),
            (compares and (what_if or importance), f"{rule}; {hint}."),
            (draws and not (has_case or importance), "--plot must have something to draw: a case, or --importance."),
            (self.html and (what_if or not has_case), "--html must have the explanation of a case to write."),
        )

    def check_text(self, model: BayesClassifier) -> None:
        """Raise for what only models of columns can do; words have an importance, letters have none."""
        letters = self.importance and kind_read(model) == SEQUENCE
        given = (("--what-if", self.what_if), ("--nomogram", self.nomogram), ("--importance", letters))
        reads = f"must come with a model of columns; this one reads {_plural(model)}."
        refuse(*((asked, f"{option} {reads}") for option, asked in given))


@dataclass(frozen=True)
class Case:
    """Options.

    Parameters
    ----------
    row : N >= 1
        Which row, counted from 1.
    given : NAME=VALUE
        A value of the case, instead of a row.
    """

    row: int | None = None
    given: list[str] = ()  # type: ignore[assignment]
    column: OtherColumn = None


@verb("explain", rank=4)
def explain(
    model: ModelFile,
    rows: str | None = None,
    *,
    case: Case,
    question: Question,
    as_json: AsJson = False,
    reading: Reading,
) -> None:
    """Explain a prediction: the weight of evidence of every feature.

    A weight is the natural logarithm of the factor by which a value multiplies the odds of the class against the other
    one. Values that are not given are missing, with weight 0. In JSON an infinite weight is the text "Infinity". For a
    text or a sequence the weights are those of its words or letters, shown in place.

    Parameters
    ----------
    rows : ROWS
        A table from which a row is taken; for texts also a folder, a .txt file, or the text itself.

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
    has_case, nomogram, given = rows is not None or bool(case.given), question.nomogram, case.given
    question.check(has_case=has_case)
    if not has_case and suffix_of(model) in table_suffixes():
        hint = f"Write tunbridge explain MODEL {quote(str(model))} --row 1."
        raise DataError(f"the model must come first; {str(model)!r} is a table. {hint}")
    is_empty = not has_case and not question.importance and not nomogram
    if is_empty:
        load_model(model)  # which raises if the argument is a table
    refuse(
        (is_empty, "nothing to explain: give a table with --row, --given NAME=VALUE, or a text."),
        (rows is not None and given, "--given must come without a table or a text."),
        (case.row and rows is None, f"--row must come with a table; got {'--given' if given else 'none'}."),
    )
    classifier = load_model(model, swapped_with=None if rows is None else file_of(rows))
    if kind_read(classifier):
        question.check_text(classifier)
    found: Answer | None = classifier.importance() if question.importance else None
    values = _values(classifier, rows, case, reading) if has_case else None
    if has_case and question.what_if:
        found = cast("WhatIf", classifier.what_if(values, to=question.to, features=question.change or None))
    elif has_case:
        found = classifier.explain(values, label=question.label, against=question.against)
    if found is not None and as_json:
        say_json(found.to_dict())
    elif found is not None:
        _show(found)
    if question.plot is not None and found is not None:
        write_picture(question.plot, lambda plots: getattr(plots, _picture(found))(found))
    if question.html is not None:
        _write_page(question.html, cast("Explanation", found))
    if nomogram is not None:
        sides = question.label, question.against
        write_picture(nomogram, lambda plots: plots.nomogram(classifier, *sides), called="nomogram")


# The case


def _values(model: BayesClassifier, rows: str | None, case: Case, reading: Reading) -> dict[str, object] | str:
    """Return what is to be explained: a value for each feature, or a text or sequence."""
    if kind_read(model):
        return _given_text(model, case.given) if rows is None else _text(model, rows, case, reading)
    refuse((case.column, COLUMN_RULE))
    if rows is None:
        found = _given_case(model, case.given)
    else:
        if file_of(rows) is None:
            example = f"--given {quote(model.variables_[0].name)}=…"
            rule = "what is explained must be a row of a table, because the model reads columns"
            raise DataError(f"{rule}; got the text {shortened(repr(rows))}. Give a table with --row, or {example}.")
        values = _row(model, Path(rows), case, reading, "row")
        found = {name: values[name] for name in feature_names(model)}
    _note_far(model, found)
    return found


def _row(model: BayesClassifier, path: Path, case: Case, reading: Reading, what: str) -> dict[str, object]:
    """Return the row of a file, counted from one."""
    found = row_of(model, path, reading, case.row or 1, case.column)
    if isinstance(found, int):
        raise DataError(f"--row must be a {what} of {path.name}, which has {counted(found, what)}; got {case.row}.")
    return found


def _given_case(model: BayesClassifier, given: list[str]) -> dict[str, object]:
    """Return a value for each feature of the model, None where nothing is given."""
    variables = {v.name: v for v in model.variables_}
    case: dict[str, object] = dict.fromkeys(feature_names(model))
    for text in given:
        name = max((n for n in case if text.startswith(f"{n}=")), key=len, default=None)
        if name is None:
            raise _no_such_feature(text, list(case))
        if case[name] is not None:
            raise DataError(f"--given must name a feature once; got {name!r} twice.")
        value = text[len(name) + 1 :]
        is_text = name not in variables
        case[name] = value if is_text else _value(variables[name], value, getattr(model, "reading_", None))
    return case


def _note_far(model: BayesClassifier, case: Mapping[str, object]) -> None:
    """Print a note if a number is far outside of what was learned."""
    far = FarValues(model)
    numbers = {name: [value] for name, value in case.items() if isinstance(value, float)}
    far.add(pa.table(numbers))
    far.say()


def _no_such_feature(text: str, names: list[str]) -> Exception:
    name, sign, _ = text.partition("=")
    if not sign:
        return UsageError(f"--given must be NAME=VALUE; got {text!r}.")
    return DataError(f"--given must name a feature of the model; got {name!r}. {did_you_mean(name, names)}")


def _value(variable: Variable, text: str, record: Record | None) -> object:
    """Return a value; numbers and dates may be written as in the table that was learned from, dates in ISO form."""
    if variable.is_categorical:
        states = variable.states or ()
        is_typo = variable.find(text) < 0 and near_hint(text, states)
        return states[variable.code(text)] if variable.find(text) >= 0 or is_typo else text
    found = given_number(variable.name, text, record)
    if found is None:
        what = "a date such as 2025-12-24" if variable.dates else "a number such as 12.5, or a date such as 2025-12-24,"
        raise DataError(f"--given must have {what} for {variable.name!r}; got {text!r}.")
    return found


def file_of(text: str) -> Path | None:
    """Return the file that an argument may name; None where it can only be a text.

    Examples
    --------
    >>> print(file_of("new.csv"), file_of("You have won a prize"))
    new.csv None
    """
    path = Path(text or " ")
    try:
        return path if path.exists() or not any(c.isspace() for c in text) else None
    except (OSError, ValueError):  # longer than a file's name can be, or with characters that no name has
        return None


def _text(model: BayesClassifier, text: str, case: Case, reading: Reading) -> str:
    """Return a document of a table, a folder or a text file, counted from one; or the argument itself as text."""
    path = file_of(text)
    if path is None or not (path.exists() or _looks_like_a_file(path)):
        option = "--column" if case.column is not None else "--row"
        refuse((case.column or (case.row or 1) > 1, f"{option} must come with a file; got {shortened(repr(text))}."))
        return text
    check_exists("what is explained, if it is no text,", path)
    what = NOUNS[kind_read(model)] if is_loose(path, reading) else "row"
    return str(_row(model, path, case, reading, what)[READ] or "")


def _given_text(model: BayesClassifier, given: list[str]) -> str:
    """Return the text of ``--given text=…``, which may also be called by the name of its column."""
    kind = kind_read(model)
    names = list(dict.fromkeys([column_of(model) or kind, kind]))
    refuse((len(given) > 1, f"--given must come once: the model reads one {NOUNS[kind]}."))
    for name in names:
        if given[0].startswith(f"{name}="):
            return given[0][len(name) + 1 :]
    rule = f"--given must be {names[0]}=… where the model reads {_plural(model)}"
    raise UsageError(f"{rule}; got {shortened(given[0])!r}.")


def _looks_like_a_file(path: Path) -> bool:
    """Return whether a name that no file has was meant for one: it ends as files do, or is in a folder."""
    known = (*table_suffixes(), ".gz", ".txt", ".tb", ".html", ".xlsx", ".json")
    return path.suffix.lower() in known or len(path.parts) > 1


def _plural(model: BayesClassifier) -> str:
    return "sequences" if kind_read(model) == SEQUENCE else "texts"


# The answer


def _write_page(path: Path, found: Explanation) -> None:
    """Write an explanation as an HTML page."""
    if hasattr(found, "to_html"):
        page = found.to_html(full_page=True)
    else:
        title = f"{found.label!s} rather than {found.against!s}"
        page = _PAGE.format(title=html.escape(title), body=found._repr_html_())
    with replacing(path) as file:
        file.write_text(page, encoding="utf-8")
    note(f"The page is in {path}.")


def _show(found: Answer) -> None:
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


def _picture(found: Answer) -> str:
    """Return the function of :mod:`tunbridge.plots` that draws something: of a sequence, the log-odds along it."""
    if hasattr(found, "cumulative"):
        return "log_odds"
    return "explanation" if hasattr(found, "evidence") else "importance"
