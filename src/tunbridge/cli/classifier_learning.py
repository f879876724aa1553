"""A classifier learned from a table: one that is named, or the best of several by cross-validation."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tunbridge.cli.failures import UsageError
from tunbridge.cli.models import check_model_output
from tunbridge.cli.networks import is_network_name
from tunbridge.cli.options import Learning, Reading
from tunbridge.cli.output import amount, note, say, say_fields, shortlist
from tunbridge.cli.remarks import SHOWN, missing_lines, model_name, same_reading, size_text
from tunbridge.cli.structure import Structure
from tunbridge.cli.training import Training, oddities, read_training

if TYPE_CHECKING:
    from tunbridge.evaluation import ClassifierChoice
    from tunbridge.evaluation.candidates import Candidate

FOLDS = 5


def learn_classifier(
    data: Path,
    target: str,
    output: Path | None,
    model: list[str] | None,
    folds: int | None,
    structure: Structure,
    learning: Learning,
    reading: Reading,
) -> None:
    """Learn a classifier from a table, write it to a file, and tell what was found."""
    from tunbridge.cli.model_names import candidates, check_settings, model_names, needs_chance, usual_ones

    names, usual = model_names("--model", model), usual_ones(model)
    chooses = len(names) > 1
    check_structure(structure, output, chance=chooses or needs_chance(names[0]))
    if folds is not None and not chooses:
        raise UsageError("--folds must come with --model auto, or with several models to choose from.")
    _check_written(names)
    remarks = check_settings(names, learning, usual)
    file = output or model_name(data)
    check_model_output(file)
    training = read_training(data, target, learning, reading)
    models = candidates(names, training, learning, seed=structure.seed or 0, usual=usual)
    choice = choose_best(models, training, folds or FOLDS, structure.seed or 0) if chooses else None
    learned = choice.classifier if choice else models[0].fitted(training.labelled())
    learned.save(file)
    chosen = choice.name if choice else names[0]
    say_fields(_summary(training, data, learning, learned, chosen if model else ""))
    if choice is not None:
        show_choice(choice, remarks)
    _show_next(file, reading)
    if choice is not None and choice.comparison.is_interrupted:
        raise KeyboardInterrupt(f"{choice.comparison.notes[-1]}; the best so far is in {file}.")


def choose_best(models: tuple[Candidate, ...], training: Training, folds: int, seed: int) -> ClassifierChoice:
    """Return the best of some models by cross-validation, learned from all rows."""
    from tunbridge.cli.scores import comparing
    from tunbridge.evaluation.choice import choose

    with comparing("comparing") as report:
        return choose(training.labelled(), models, folds, seed=seed, progress=report)


def check_structure(structure: Structure, output: Path | None, *, chance: bool) -> None:
    """Raise for options that a classifier does not know."""
    hint = "With --target alone a classifier is learned, which --model names."
    given = [option for option in structure.given if not (chance and option == "--seed")]
    if given == ["--k"]:
        raise UsageError(f"--k must be part of the model's name: --model kdb{structure.k}.")
    if given == ["--seed"]:
        raise UsageError("--seed must come with a model that needs chance, or with several; this one needs none.")
    if given:
        raise UsageError(f"{given[0]} must come with --search, or without --target: it is for networks. {hint}")
    if output is not None and is_network_name(output):
        rule = "the name of a classifier's file must not be that of a network"
        raise UsageError(f"{rule}; got {output.name!r}. {hint} Add --search tan for a network around the target.")


def _check_written(names: tuple[str, ...]) -> None:
    """Raise for models that have no file format."""
    from tunbridge.evaluation.families import find_family

    for name in names:
        if not find_family(name).is_ours:
            hint = f"Compare with it by tunbridge evaluate --models nb,{name}."
            raise UsageError(f"--model must name one that can be kept in a file; {name!r} is scikit-learn's. {hint}")


def show_choice(choice: ClassifierChoice, remarks: list[str]) -> None:
    """Print the table of the models that were compared, and which was chosen."""
    from tunbridge.cli.scores import show_comparison

    for line in [*(f"Note: {text}." for text in remarks), *choice.comparison.remarks()]:
        note(line)
    say()
    say(choice.comparison.title())
    show_comparison(choice.comparison)
    say(f"Chosen: {choice.reason}")


def _show_next(file: Path, reading: Reading) -> None:
    say()
    say(f"The model is in {file}. What next:")
    say(f"  tunbridge predict {quote(str(file))} rows.csv -o predicted.csv{same_reading(reading)}")
    say(f"  tunbridge explain {quote(str(file))} rows.csv --row 1{same_reading(reading)}")


def _summary(training: Training, data: Path, learning: Learning, model: Any, name: str) -> list[tuple[str, str]]:
    table = training.whole
    return [
        ("Read", size_text(data, table)),
        ("Left out", training.left_out),
        ("Ignored", shortlist(learning.ignore or [], most=SHOWN)),
        ("Weights", learning.weights or ""),
        ("Missing", shortlist(missing_lines(table), most=SHOWN, separator="\n")),
        ("Look at", shortlist(oddities(training), most=SHOWN, separator="\n")),
        ("Model", _about(name)),
        ("Calibrated", f"by {model.method_}" if learning.calibrate is not None else ""),
        ("Features", _features(getattr(model, "estimator_", model))),
        ("Not used", _not_used(getattr(model, "estimator_", model))),
        ("Classes", f"{training.target}: {shortlist(class_lines(model), most=SHOWN)}"),
    ]


def _about(name: str) -> str:
    from tunbridge.evaluation.families import find_family

    return f"{name}: {find_family(name).about}" if name else ""


def _features(model: Any) -> str:
    numeric = sum(v.is_continuous for v in model.variables_)
    how = model.get_params(deep=False).get("numeric")
    words = [
        (len(model.variables_) - numeric, "categorical"),
        (numeric, f"numeric ({how if isinstance(how, str) else 'in intervals'})"),
    ]
    return ", ".join(f"{n} {what}" for n, what in words if n)


def _not_used(model: Any) -> str:
    """Return the numbers that say nothing because no cut point parts the classes."""
    cuts = getattr(model.statistics_, "cuts", None) or getattr(getattr(model.statistics_, "coding", None), "cuts", {})
    names = [model.variables_[j].name for j, each in cuts.items() if not each.cuts]
    return f"{shortlist(names, most=SHOWN)}: in one interval, as no cut parts the classes" if names else ""


def class_lines(model: Any) -> list[str]:
    """Return a line for each class: how many rows have it, and which share."""
    total = model.class_count_.sum()
    return [
        f"{c} {amount(n)} ({100 * n / total:.1f} %)"
        for c, n in zip(model.classes_.tolist(), model.class_count_, strict=True)
    ]
