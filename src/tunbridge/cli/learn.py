"""``tunbridge learn``: from a table to a model file, of a classifier or of a network."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.models import check_model_output
from tunbridge.cli.networks import is_network_name
from tunbridge.cli.options import DataFile, Learning, Reading
from tunbridge.cli.output import amount, say, say_fields, shortlist
from tunbridge.cli.remarks import (
    SHOWN,
    missing_lines,
    model_name,
    odd_number_lines,
    same_reading,
    size_text,
    useless_columns,
)
from tunbridge.cli.structure import Structure

if TYPE_CHECKING:
    from tunbridge.cli.training import Training


def learn(
    data: DataFile,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The column to predict. Without it a network is learned."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The model file; a network's may end in .bif, .xmlbif, .net, … Otherwise the table's name with .tb.",
        ),
    ] = None,
    *,
    learning: Learning,
    structure: Structure,
    reading: Reading,
) -> None:
    """Learn a classifier or a network from a table.

    With --target it is a naive Bayes classifier: text and numbers, missing cells and weights are all welcome. Without,
    or with --search, it is a Bayesian network of all columns: its arcs are searched for, then its tables are counted.
    Numbers must be cut into intervals for it, or be left as they are (--cuts). Ctrl-C ends a search, and the best
    network so far is written.

    Examples
    --------
    tunbridge learn tennis.csv --target play
    tunbridge learn patients.csv --target drug -o drug.tb --numeric kernel
    tunbridge learn visits.csv --target ill --ignore patient_id --missing -99 --categorical ward
    tunbridge learn visits.csv --search tabu -o visits.bif
    tunbridge learn visits.csv --score bdeu:10 --max-parents 4 --forbid 'ill->age' --cuts frequency
    tunbridge learn visits.csv --search tan --target ill
    tunbridge learn visits.csv --bootstrap 200 -o consensus.bif
    """
    if target is not None and structure.search is None:
        _learn_classifier(data, target, output, structure, learning, reading)
        return
    from tunbridge.cli.network_learning import learn_network

    learn_network(data, target, output, structure, learning, reading)


def _learn_classifier(
    data: Path, target: str, output: Path | None, structure: Structure, learning: Learning, reading: Reading
) -> None:
    _check_no_structure(structure, output)
    file = output or model_name(data)
    check_model_output(file)
    from tunbridge.cli.training import new_classifier, read_training

    training = read_training(data, target, learning, reading)
    model = new_classifier(training, learning).fit(training.table, target)
    model.save(file)
    say_fields(_summary(training, data, learning, model))
    say()
    say(f"The model is in {file}. What next:")
    say(f"  tunbridge predict {quote(str(file))} rows.csv -o predicted.csv{same_reading(reading)}")
    say(f"  tunbridge explain {quote(str(file))} rows.csv --row 1{same_reading(reading)}")


def _check_no_structure(structure: Structure, output: Path | None) -> None:
    """Raise for options that a classifier does not know."""
    hint = "With --target alone a naive Bayes classifier is learned."
    if structure.given:
        raise UsageError(
            f"{structure.given[0]} must come with --search, or without --target: it is for networks. {hint}"
        )
    if output is not None and is_network_name(output):
        rule = "the name of a classifier's file must not be that of a network"
        raise UsageError(f"{rule}; got {output.name!r}. {hint} Add --search tan for a network around the target.")


def _summary(training: Training, data: Path, learning: Learning, model: Any) -> list[tuple[str, str]]:
    table = training.whole
    return [
        ("Read", size_text(data, table)),
        ("Left out", training.left_out),
        ("Ignored", shortlist(learning.ignore or [], most=SHOWN)),
        ("Weights", learning.weights or ""),
        ("Missing", shortlist(missing_lines(table), most=SHOWN, separator="\n")),
        ("Look at", shortlist(_oddities(training), most=SHOWN, separator="\n")),
        ("Features", _features(model)),
        ("Classes", f"{training.target}: {shortlist(_classes(model), most=SHOWN)}"),
    ]


def _oddities(training: Training) -> list[str]:
    useless = useless_columns(training.whole).items()
    lines = [
        f"{name} {what}: --ignore {quote(name)} leaves it out" for name, what in useless if name != training.target
    ]
    return lines + odd_number_lines(training.whole, but=training.target)


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
