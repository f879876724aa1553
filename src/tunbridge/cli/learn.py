"""``tunbridge learn``: from a table, or texts, to a model file, of a classifier or of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Learning, Reading
from tunbridge.cli.structure import Structure
from tunbridge.cli.text_options import Texts


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="The table: .csv, .tsv, .parquet, .arrow, .arff or .jsonl, also with .gz; or a folder of texts with a "
            "subfolder for each class.",
        ),
    ],
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
            help="The classifier: nb (unless said), tan, kdb2, aode, bn, …; of texts multinomial (unless said), "
            "complement, …; of sequences markov (unless said) or position. auto takes the best by cross-validation, "
            "A,B,… the best of these.",
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Parts of that cross-validation; 5 unless said.")
    ] = None,
    unlabelled_weight: Annotated[
        str | None,
        typer.Option(
            metavar="W|auto",
            help="Learn from texts and sequences without a class too: each counts like W of those that have one.",
        ),
    ] = None,
    *,
    learning: Learning,
    texts: Texts,
    structure: Structure,
    reading: Reading,
) -> None:
    """Learn a classifier or a network from a table.

    With --target it is a classifier, naive Bayes or another --model: text and numbers, missing cells and weights are
    all welcome. Without, or with --search, it is a Bayesian network of all columns: its arcs are searched for, then its
    tables are counted. Numbers must be cut into intervals for it, or be left as they are (--cuts). Ctrl-C ends a
    search, and the best network so far is written. With --text or --sequence one column is read, letter by letter.

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
    tunbridge learn sms.csv --target label --text -o spam.tb
    tunbridge learn mails/ --model auto --ngrams 2 --stop-words 100
    tunbridge learn news.jsonl.gz --target group --text --column body --unlabelled-weight 0.1
    tunbridge learn promoters.csv --target class --sequence --order cv
    """
    if texts.kind(data):
        from tunbridge.cli.text_learning import learn_texts

        learn_texts(data, target, output, model, folds, unlabelled_weight, structure, learning, texts, reading)
        return
    if unlabelled_weight is not None:
        raise UsageError("--unlabelled-weight must come with --text or --sequence.")
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
