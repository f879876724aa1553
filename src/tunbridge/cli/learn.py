"""``tunbridge learn``: from a table to a model file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.models import is_model
from tunbridge.cli.options import DataFile, Learning, Reading
from tunbridge.cli.output import amount, counted, say, say_fields, shortlist
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.cli.training import Training
    from tunbridge.data import Column, Table

_SHOWN = 12


def learn(
    data: DataFile,
    target: Annotated[str, typer.Option("--target", "-t", metavar="COL", help="The column to predict.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The model file. Otherwise the table's name with .tb."),
    ] = None,
    *,
    learning: Learning,
    reading: Reading,
) -> None:
    """Learn a classifier from a table and write it to a file.

    The classifier is naive Bayes: text and numbers, missing cells and weights are all welcome. The summary tells what
    was read as missing, and which columns look like a mistake.

    Examples
    --------
    tunbridge learn tennis.csv --target play
    tunbridge learn patients.csv --target drug -o drug.tb --numeric kernel
    tunbridge learn visits.csv --target ill --ignore patient_id --missing -99 --categorical ward
    """
    file = output or model_name(data)
    _check_model_output(file)
    from tunbridge.cli.training import new_classifier, read_training

    training = read_training(data, target, learning, reading)
    model = new_classifier(training, learning).fit(training.table, target)
    model.save(file)
    say_fields(_summary(training, data, learning, model))
    say()
    say(f"The model is in {file}. What next:")
    say(f"  tunbridge predict {quote(str(file))} rows.csv -o predicted.csv{_same_missing(reading)}")
    say(f"  tunbridge explain {quote(str(file))} rows.csv --row 1{_same_missing(reading)}")


def model_name(data: Path) -> Path:
    """Return where a model goes when nobody says: the table's name, with .tb, in the folder of work.

    Examples
    --------
    >>> print(model_name(Path("data/adult.csv.gz")))
    adult.tb
    """
    stem = data.name.removesuffix(".gz")
    return Path(Path(stem).stem + ".tb")


def _check_model_output(file: Path) -> None:
    """Raise when the model would take the place of something else, such as the data."""
    if not file.is_file() or file.stat().st_size == 0:
        return
    if not is_model(file):
        raise DataError(
            f"the model must not replace a file that is no model; got {str(file)!r}. Name another one with -o."
        )


def _summary(training: Training, data: Path, learning: Learning, model: Any) -> list[tuple[str, str]]:
    table = training.whole
    rows, columns = counted(table.n_rows, "row"), counted(table.n_columns, "column")
    return [
        ("Read", f"{data}: {rows}, {columns}"),
        ("Left out", training.left_out),
        ("Ignored", shortlist(learning.ignore or [], most=_SHOWN)),
        ("Weights", learning.weights or ""),
        ("Missing", shortlist(_missing(table), most=_SHOWN, separator="\n")),
        ("Look at", shortlist(_oddities(table, training.target), most=_SHOWN, separator="\n")),
        ("Features", _features(model)),
        ("Classes", f"{training.target}: {shortlist(_classes(model), most=_SHOWN)}"),
    ]


def _missing(table: Table) -> list[str]:
    """Return a line for each column with missing cells, with what was read as missing there."""
    return [f"{name}: {n} ({_markers(table.read_as_missing.get(name, {}))})" for name, n in table.missing.items()]


def _markers(found: Any) -> str:
    shown = [f"{repr(mark) if mark else 'empty'} {n}" for mark, n in found.items()]
    return shortlist(shown, most=5) if shown else "no value"


def _oddities(table: Table, target: str) -> list[str]:
    odd = dict.fromkeys(table.constants, "holds one value only")
    odd |= {name: "holds nothing but missing cells" for name, n in table.missing.items() if n == table.n_rows}
    odd |= dict.fromkeys(table.identifiers, "looks like an identifier")
    lines = [f"{name} {what}: --ignore {quote(name)} leaves it out" for name, what in odd.items() if name != target]
    return lines + [line for c in table if c.variable.name != target and (line := _nearly_numbers(c))]


def _nearly_numbers(column: Column) -> str:
    """Return a line about a column of numbers that a few other texts have made categorical."""
    import numpy as np

    states = column.variable.states or ()
    odd = [code for code, state in enumerate(states) if isinstance(state, str) and not _is_number(state)]
    if not odd or len(odd) > len(states) / 2 or not all(isinstance(state, str) for state in states):
        return ""
    n_odd, n_all = int(np.isin(column.values, odd).sum()), int((column.values >= 0).sum())
    if n_odd > n_all / 10:
        return ""
    word = str(states[odd[0]])
    numbers = f"{column.variable.name} is categorical, but {n_all - n_odd} of its {n_all} cells are numbers"
    return f"{numbers}; {word!r} is none: --missing {quote(word)} leaves it empty"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _features(model: Any) -> str:
    roles = list(model.statistics_.roles)
    words = [
        (roles.count("categorical"), "categorical"),
        (len(roles) - roles.count("categorical"), f"numeric ({model.numeric})"),
    ]
    return ", ".join(f"{n} {what}" for n, what in words if n)


def _classes(model: Any) -> list[str]:
    total = model.class_count_.sum()
    return [
        f"{c} {amount(n)} ({100 * n / total:.1f} %)"
        for c, n in zip(model.classes_.tolist(), model.class_count_, strict=True)
    ]


def _same_missing(reading: Reading) -> str:
    """Return the options about missing values again: the model does not remember how its table was read."""
    said = [("--missing", m) for m in reading.missing or ()] + [("--not-missing", m) for m in reading.not_missing or ()]
    return "".join(f" {option} {quote(mark)}" for option, mark in said)
