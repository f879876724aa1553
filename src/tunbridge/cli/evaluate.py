"""``tunbridge evaluate``: how good a model is, or which of several is best, on rows they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import is_network_name
from tunbridge.cli.options import AsJson, Learning, Reading
from tunbridge.cli.output import counted, note, say, say_json, say_table
from tunbridge.cli.remarks import SHOWN
from tunbridge.cli.scored_rows import Evaluation, evaluate_model, plain_baseline
from tunbridge.cli.text_options import Texts

if TYPE_CHECKING:
    from tunbridge.cli.training import Training
    from tunbridge.evaluation import Comparison
    from tunbridge.evaluation.candidates import Candidate

_FOLDS = 10


def evaluate(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|DATA",
            help="A model, for the table that follows; or a table, or a folder of texts, for cross-validation.",
        ),
    ],
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="Rows that the model has not seen.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The column of the classes.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            "--model",
            metavar="A,B,…",
            help="What to compare by cross-validation: nb (unless said), tan, kdb2, aode, bn, forest, …; of texts "
            "multinomial (unless said), complement, …; of sequences markov (unless said), position; auto for the usual "
            "ones; repeatable.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="The number of parts that are held out in turns; 10 unless said.", min=2),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="What decides which rows come into which part; 0 unless said.", min=0),
    ] = None,
    as_json: AsJson = False,
    *,
    learning: Learning,
    texts: Texts,
    reading: Reading,
) -> None:
    """Evaluate a model on new rows, or learning by cross-validation.

    Accuracy, balanced accuracy, log-loss, Brier score and AUC stand beside those of the baseline, which always says the
    commonest class, with the frequencies of the classes as probabilities. Several models are compared on the same
    parts of the rows, with standard errors and times; then the best of them is shown class by class.

    Examples
    --------
    tunbridge evaluate model.tb new_rows.csv
    tunbridge evaluate tennis.csv --target play
    tunbridge evaluate visits.csv --target ill --models nb,tan,kdb2,forest
    tunbridge evaluate patients.csv --target drug --folds 5 --numeric kernel --json
    tunbridge evaluate sms.csv --target label --text --models multinomial,complement
    tunbridge evaluate spam.tb mails/
    """
    if data is not None:
        _check_no_spaces(models, data)
        _check_no_learning(learning, {"models": models, "folds": folds, "seed": seed})
        _check_no_texts(texts, data)
        found = evaluate_model(model, data, target, learning.weights, reading, read=texts.column)
        _finish(found, as_json=as_json)
    elif (target is None and not model.is_dir()) or is_network_name(model):
        raise UsageError(_what_is_meant(model))
    else:
        cross_validate(model, target, models, folds or _FOLDS, seed or 0, learning, texts, reading, as_json=as_json)


# Cross-validation


def cross_validate(
    path: Path,
    target: str | None,
    models: list[str] | None,
    folds: int,
    seed: int,
    learning: Learning,
    texts: Texts,
    reading: Reading,
    *,
    as_json: bool,
) -> None:
    """Compare models on rows held out, each once, while the others are learned from; tell what was found."""
    from tunbridge.cli.scores import comparing
    from tunbridge.evaluation.cross_validation import cross_validated

    training, chosen, remarks = _contest(path, target, models, seed, learning, texts, reading)
    with comparing("cross-validation") as report:
        found = cross_validated(training.labelled(), chosen, folds, seed=seed, progress=report)
    for line in remarks:
        note(f"Note: {line}.")
    if as_json:
        say_json(_plain_single(found) if len(chosen) == 1 else _plain_several(found))
    else:
        _show_single(found, path) if len(chosen) == 1 else _show_several(found, path)
    if found.is_interrupted:
        raise KeyboardInterrupt(f"{found.notes[-1]}; the numbers are those of these folds.")


def _contest(
    path: Path,
    target: str | None,
    models: list[str] | None,
    seed: int,
    learning: Learning,
    texts: Texts,
    reading: Reading,
) -> tuple[Training, tuple[Candidate, ...], list[str]]:
    """Return the rows, the models that are to be compared on them, and what is to be said about both."""
    from tunbridge.cli.model_names import candidates, check_settings, model_names, usual_ones
    from tunbridge.cli.training import oddities, read_training

    if texts.kind(path):
        from tunbridge.cli.text_learning import text_contest

        return *text_contest(path, target, models, seed, learning, texts, reading), []
    names, usual = model_names("--models", models), usual_ones(models)
    remarks = check_settings(names, learning, usual)
    training = read_training(path, str(target), learning, reading)
    chosen = candidates(names, training, learning, seed=seed, usual=usual)
    return training, chosen, [*remarks, *oddities(training)[:SHOWN]]


def _plain_single(found: Comparison) -> dict[str, Any]:
    from tunbridge.evaluation.scores import merged, plain_name

    fit, predict = found.seconds(found.best)
    return {
        "model": found.best,
        **found.scores(found.best).to_dict(),
        "standard_errors": {plain_name(m): e.error for m, e in found.summary(found.best).items()},
        "baseline": plain_baseline(found.usual, merged(found.baseline)),
        "accuracy_by_fold": [part.scores.accuracy for part in found.folds[found.best]],
        "fit_seconds": fit,
        "predict_seconds": predict,
        "notes": list(found.notes),
    }


def _plain_several(found: Comparison) -> dict[str, Any]:
    return {**found.to_dict(), "scores_of_best": found.scores(found.best).to_dict()}


def _show_several(found: Comparison, path: Path) -> None:
    from tunbridge.cli.scores import show_classes, show_comparison

    for line in found.remarks():
        note(line)
    say(found.title().replace("cross-validation,", f"cross-validation on {path},"))
    say()
    show_comparison(found)
    say()
    say(f"{found.best}, class by class:")
    show_classes(found.scores(found.best))


def _show_single(found: Comparison, path: Path) -> None:
    from tunbridge.cli.scores import show_classes
    from tunbridge.evaluation.texts import number_text, seconds_text

    for line in found.remarks():
        note(line)
    say(found.title().replace("cross-validation,", f"cross-validation on {path},"))
    say()
    usual = found.baseline_summary()
    lines = [
        [name, number_text(value.mean), number_text(value.error), number_text(usual[name].mean)]
        for name, value in found.summary(found.best).items()
    ]
    say_table(["", found.best, "± s.e.", f"always {found.usual}"], lines)
    accuracies = [part.scores.accuracy for part in found.folds[found.best]]
    fit, predict = map(seconds_text, found.seconds(found.best))
    say(f"Accuracy of the folds: {min(accuracies):.3f} to {max(accuracies):.3f}")
    say(f"Time a fold: {fit} to learn, {predict} to predict")
    if found.verdict():
        say(found.verdict())
    say()
    show_classes(found.scores(found.best))


# What is said


def _finish(found: Evaluation, *, as_json: bool) -> None:
    from tunbridge.cli.scores import show_classes
    from tunbridge.evaluation.texts import number_text

    if as_json:
        say_json(found.to_dict())
        return
    for line in found.notes:
        note(f"Note: {line}.")
    say(f"{found.title}: {counted(found.scores.n_rows, 'row')}")
    say()
    usual = found.baseline.summary()
    say_table(
        ["", "model", f"always {found.usual}"],
        [[name, number_text(value), number_text(usual[name])] for name, value in found.scores.summary().items()],
    )
    say()
    show_classes(found.scores)


def _check_no_learning(learning: Learning, given: dict[str, Any]) -> None:
    """Raise for options that would do nothing: a model from a file has been learned already."""
    names = ("numeric", "smoothing", "prior", "calibrate", "categorical", "ignore")
    for name, value in (given | {n: getattr(learning, n) for n in names}).items():
        if value not in (None, []):
            raise UsageError(f"--{name} must be left out when a model is evaluated; it has been learned already.")


def _check_no_texts(texts: Texts, data: Path) -> None:
    """Raise for options that would do nothing: a model knows whether it reads texts, and how."""
    given = [option for option in texts.given if option != "--column"]
    if given and (texts.text or texts.sequence) and not data.exists():
        raise UsageError(f"{given[0]} must have no value; got {str(data)!r}. Say {given[0]} --column {data}.")
    if given:
        raise UsageError(f"{given[0]} must be left out when a model is evaluated; it has been learned already.")


def _check_no_spaces(models: list[str] | None, data: Path) -> None:
    """Raise when a list of models was taken apart by spaces: the second one then stands where a table should."""
    if models and not data.exists():
        raise UsageError(
            f"--models must be one word, with commas and without spaces; got {str(data)!r} beside it. "
            f"Write --models {','.join([*models, str(data)]).replace(',,', ',')}."
        )


def _what_is_meant(path: Path) -> str:
    from tunbridge.cli.models import is_model

    if is_network_name(path):
        rule = "what is evaluated must be a classifier or a table"
        return f"{rule}; {path.name!r} is a network. Ask it with tunbridge query."
    if is_model(path):
        return f"a model must be evaluated on a table; got {str(path)!r} alone. Name the table after it."
    return "--target must name the column of the classes when a table is cross-validated."
