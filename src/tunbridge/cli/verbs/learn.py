"""``tunbridge learn``: from a table to a classifier, one that is named or the best of several by cross-validation."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

from tunbridge._core.registry import verb
from tunbridge.cli.files import check_model_output, is_network_name, model_name
from tunbridge.cli.models import (
    Calibration,
    Settings,
    candidates,
    check_settings,
    choose_best,
    model_names,
    show_choice,
    usual_ones,
)
from tunbridge.cli.options import DataFile, Reading, Seed
from tunbridge.cli.output import UsageError, say, say_fields, shortlist
from tunbridge.cli.training import (
    SHOWN,
    Columns,
    Training,
    class_lines,
    evaluation,
    missing_lines,
    oddities,
    read_columns,
    size_text,
    with_classes,
)

FOLDS = 5


@verb("learn", rank=1)
def learn(
    data: DataFile,
    *,
    target: str,
    output: Path | None = None,
    model: list[str] = (),  # type: ignore[assignment]
    folds: int | None = None,
    random_state: Seed = None,
    settings: Settings,
    calibration: Calibration,
    columns: Columns,
    reading: Reading,
) -> None:
    """Learn a classifier from a table.

    Text and numbers, missing values and row weights are all fine. Raw texts, sequences and networks have verbs of their
    own: text learn, sequence learn, network learn.

    Parameters
    ----------
    target, -t : COL
        The column to predict.
    output, -o : FILE
        The model file (default: the table's name with .tb).
    model : NAME
        The classifier: {classifier} (default: nb). auto chooses the best by cross-validation, A,B,… the best of these.
    folds : N >= 2
        The folds of that cross-validation (default: 5).

    Examples
    --------
    tunbridge learn tennis.csv --target play
    tunbridge learn patients.csv --target drug -o drug.tb --numeric kernel
    tunbridge learn visits.csv --target diseased --model auto
    tunbridge learn visits.csv --target diseased --ignore patient_id --missing -99 --categorical ward
    """
    names, usual, seed = model_names("--model", model), usual_ones(model), random_state or 0
    chooses = len(names) > 1
    _check(names, output, folds, random_state)
    remarks = check_settings(names, settings, usual)
    file = output or model_name(data)
    check_model_output(file)
    training = with_classes(read_columns(data, columns, reading, target), target)
    calibrate = calibration.get("method")
    models = candidates(
        names, training, settings, categorical=columns.categorical, calibrate=calibrate, seed=seed, usual=usual
    )
    choice = choose_best(models, training, folds or FOLDS, seed) if chooses else None
    learned = choice.classifier if choice else models[0].fitted(training.labelled())
    learned.save(file)
    chosen = (choice.name if choice else names[0]) if model else ""
    say_fields(_summary(training, data, columns, learned, chosen, is_calibrated=calibrate is not None))
    if choice is not None:
        show_choice(choice, remarks)
    say()
    say(f"The model is in {file}. Next steps:")
    say(f"  tunbridge predict {quote(str(file))} rows.csv -o predicted.csv{reading.again}")
    say(f"  tunbridge explain {quote(str(file))} rows.csv --row 1{reading.again}")
    if choice is not None and choice.comparison.is_interrupted:
        raise KeyboardInterrupt(f"{choice.comparison.notes[-1]}; the best so far is in {file}.")


def _check(names: tuple[str, ...], output: Path | None, folds: int | None, seed: int | None) -> None:
    """Raise for options that do not fit each other, and for models that have no file format."""
    chooses = len(names) > 1
    if (
        seed is not None
        and not chooses
        and "random_state" not in evaluation.families.find_family(names[0]).make().get_params()
    ):
        raise UsageError("--seed must come with a model that uses random numbers, or with several; this one uses none.")
    if output is not None and is_network_name(output):
        rule = "the name of a classifier's file must not be that of a network"
        hint = "tunbridge network learn --search tan learns a network around the target."
        raise UsageError(f"{rule}; got {output.name!r}. {hint}")
    if folds is not None and not chooses:
        raise UsageError("--folds must come with --model auto, or with several models to choose from.")
    for name in names:
        if not evaluation.families.find_family(name).is_ours:
            hint = f"Compare with it by tunbridge evaluate --models nb,{name}."
            raise UsageError(f"--model must name one that can be kept in a file; {name!r} is scikit-learn's. {hint}")


def _summary(
    training: Training, data: Path, columns: Columns, model: Any, name: str, *, is_calibrated: bool
) -> list[tuple[str, str]]:
    table, inner = training.whole, getattr(model, "estimator_", model)
    return [
        ("Read", size_text(data, table)),
        ("Left out", training.left_out),
        ("Ignored", shortlist(columns.ignore, most=SHOWN)),
        ("Weights", columns.weights or ""),
        ("Missing", shortlist(missing_lines(table), most=SHOWN, separator="\n")),
        ("Check", shortlist(oddities(training), most=SHOWN, separator="\n")),
        ("Model", _about(name)),
        ("Calibrated", f"by {model.method_}" if is_calibrated else ""),
        ("Features", _features(inner)),
        ("Not used", _not_used(inner)),
        ("Classes", f"{training.target}: {shortlist(class_lines(model), most=SHOWN)}"),
    ]


def _about(name: str) -> str:
    return f"{name}: {evaluation.families.find_family(name).about}" if name else ""


def _features(model: Any) -> str:
    numeric = sum(v.is_continuous for v in model.variables_)
    how = model.get_params(deep=False).get("numeric")
    words = [
        (len(model.variables_) - numeric, "categorical"),
        (numeric, f"numeric ({how if isinstance(how, str) else 'in bins'})"),
    ]
    return ", ".join(f"{n} {what}" for n, what in words if n)


def _not_used(model: Any) -> str:
    """Return the numeric columns in one bin, because no cut separates the classes."""
    cuts = getattr(getattr(model.statistics_, "encoding", None), "cuts", {})
    names = [model.variables_[j].name for j, each in cuts.items() if not each.cuts]
    return f"{shortlist(names, most=SHOWN)}: in one bin, because no cut separates the classes" if names else ""
