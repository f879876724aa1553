"""``tunbridge learn``: from a table to a model file, of a classifier or of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import DataFile, Learning, Reading
from tunbridge.cli.structure import Structure


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
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The classifier: nb (unless said), tan, kdb2, aode, bn, …; auto takes the best by cross-validation, "
            "A,B,… the best of these.",
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Parts of that cross-validation; 5 unless said.")
    ] = None,
    *,
    learning: Learning,
    structure: Structure,
    reading: Reading,
) -> None:
    """Learn a classifier or a network from a table.

    With --target it is a classifier, naive Bayes or another --model: text and numbers, missing cells and weights are
    all welcome. Without, or with --search, it is a Bayesian network of all columns: its arcs are searched for, then its
    tables are counted. Numbers must be cut into intervals for it, or be left as they are (--cuts). Ctrl-C ends a
    search, and the best network so far is written.

    Examples
    --------
    tunbridge learn tennis.csv --target play
    tunbridge learn patients.csv --target drug -o drug.tb --numeric kernel
    tunbridge learn visits.csv --target ill --model auto
    tunbridge learn visits.csv --target ill --ignore patient_id --missing -99 --categorical ward
    tunbridge learn visits.csv --search tabu -o visits.bif
    tunbridge learn visits.csv --score bdeu:10 --max-parents 4 --forbid 'ill->age' --cuts frequency
    tunbridge learn visits.csv --search tan --target ill
    tunbridge learn visits.csv --bootstrap 200 -o consensus.bif
    """
    if target is not None and structure.search is None:
        from tunbridge.cli.classifier_learning import learn_classifier

        learn_classifier(data, target, output, model, folds, structure, learning, reading)
        return
    for option, value in (("--model", model), ("--folds", folds)):
        if value not in (None, []):
            rule = "with --target" if target is None else "without --search, which learns a network"
            raise UsageError(f"{option} must come {rule}.")
    from tunbridge.cli.network_learning import learn_network

    learn_network(data, target, output, structure, learning, reading)
