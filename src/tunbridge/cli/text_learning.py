"""A classifier learned from raw texts or from sequences: one that is named, or the best of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tunbridge.cli.classifier_learning import FOLDS, check_structure, choose_best, class_lines, show_choice
from tunbridge.cli.documents import NOUNS, SEQUENCE, TEXT, innermost
from tunbridge.cli.failures import UsageError
from tunbridge.cli.models import check_model_output
from tunbridge.cli.options import Learning, Reading
from tunbridge.cli.output import amount, counted, note, say, say_fields, shortlist
from tunbridge.cli.remarks import SHOWN, model_name, same_reading
from tunbridge.cli.structure import Structure
from tunbridge.cli.text_models import ABOUT, AUTO, new_text_classifier, text_model_names
from tunbridge.cli.text_options import Texts
from tunbridge.cli.text_training import Corpus, find_corpus, learn_in_batches

if TYPE_CHECKING:
    from tunbridge.cli.training import Training
    from tunbridge.evaluation.candidates import Candidate

_LETTERS = 40


def learn_texts(
    data: Path,
    target: str | None,
    output: Path | None,
    model: list[str] | None,
    folds: int | None,
    unlabelled_weight: str | None,
    structure: Structure,
    learning: Learning,
    texts: Texts,
    reading: Reading,
) -> None:
    """Learn a classifier from documents or sequences, write it to a file, and tell what was found."""
    kind = texts.kind(data)
    names = text_model_names("--model", model, kind)
    chooses = len(names) > 1
    if structure.search is not None:
        raise UsageError(f"--{kind} must come without --search, which learns a network.")
    check_structure(structure, output, chance=chooses or unlabelled_weight is not None)
    _check_choice(folds, unlabelled_weight, learning, chooses=chooses)
    models = {name: new_text_classifier(name, kind, texts, learning) for name in names}
    if unlabelled_weight is not None:
        models = {name: _partly_labelled(one, unlabelled_weight, structure.seed or 0) for name, one in models.items()}
    file = output or model_name(data if data.suffix else data.resolve())
    check_model_output(file)
    corpus = find_corpus(data, target, kind, texts.column, learning, reading)
    candidates = _candidates(models, structure.seed or 0)
    choice = None
    if chooses:
        choice = choose_best(candidates, corpus.training(), folds or FOLDS, structure.seed or 0)
    learned, n_empty = (choice.classifier, 0) if choice else _learned(candidates[0], corpus)
    learned.save(file)
    say_fields(_summary(corpus, n_empty, learned, learning))
    if choice is not None:
        show_choice(choice, [])
    _show_next(file, kind, data, reading)
    if choice is not None and choice.comparison.is_interrupted:
        raise KeyboardInterrupt(f"{choice.comparison.notes[-1]}; the best so far is in {file}.")


def text_contest(
    path: Path,
    target: str | None,
    models: Sequence[str] | None,
    seed: int,
    learning: Learning,
    texts: Texts,
    reading: Reading,
) -> tuple[Training, tuple[Candidate, ...]]:
    """Return documents or sequences, and the models that are to be compared on them."""
    kind = texts.kind(path)
    names = text_model_names("--models", models, kind)
    made = {name: new_text_classifier(name, kind, texts, learning) for name in names}
    corpus = find_corpus(path, target, kind, texts.column, learning, reading)
    return corpus.training(), _candidates(made, seed)


def _candidates(models: dict[str, Any], seed: int) -> tuple[Candidate, ...]:
    from tunbridge.evaluation.candidates import as_candidates

    return as_candidates(models, random_state=seed)


def _check_choice(folds: int | None, unlabelled_weight: str | None, learning: Learning, *, chooses: bool) -> None:
    """Raise for options that do not go together."""
    if folds is not None and not chooses:
        raise UsageError("--folds must come with --model auto, or with several models to choose from.")
    if unlabelled_weight is None:
        return
    if chooses:
        raise UsageError("--unlabelled-weight must come with one --model; several are compared on rows with a class.")
    if learning.calibrate is not None:
        raise UsageError("--unlabelled-weight must come without --calibrate, which needs the classes of all rows.")


def _partly_labelled(model: Any, weight: str, seed: int) -> Any:
    """Return a classifier that learns from rows without a class too."""
    from tunbridge.classifiers import SemiSupervisedClassifier

    if not (model._has_joint and model._goes_on):
        rule = "--unlabelled-weight must come with a model that says how documents arise, such as multinomial"
        raise UsageError(f"{rule}; {model.model!r} does not.")
    number = _weight(weight)
    return SemiSupervisedClassifier(model, unlabelled_weight=number, unlabelled=None, random_state=seed)


def _weight(text: str) -> float | str:
    """Return the weight of a row without a class.

    Examples
    --------
    >>> _weight("0.1"), _weight("auto")
    (0.1, 'auto')
    """
    if text.lower() == AUTO:
        return AUTO
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UsageError(f"--unlabelled-weight must be a number from 0 to 1, or auto; got {text!r}.")
    return number


def _learned(candidate: Candidate, corpus: Corpus) -> tuple[Any, int]:
    """Return the model, learned batch by batch where that is possible, and the number of empty documents."""
    from sklearn.base import clone

    from tunbridge.evaluation.labelled import Labelled
    from tunbridge.text import TextClassifier

    model = candidate.estimator
    if isinstance(model, TextClassifier) and model._goes_on and corpus.can_be_streamed:
        learned = clone(model)
        return learned, learn_in_batches(learned, corpus)
    training = corpus.training()
    rows = Labelled(training.whole, training.target) if hasattr(model, "unlabelled_weight") else training.labelled()
    return candidate.fitted(rows), rows.table.missing.get(corpus.column, 0)


# What is told


def _summary(corpus: Corpus, n_empty: int, model: Any, learning: Learning) -> list[tuple[str, str]]:
    inner, partly = innermost(model), hasattr(model, "unlabelled_weight_")
    where = f" in column {corpus.column}" if corpus.folder is None else ""
    return [
        ("Read", f"{corpus.path}: {counted(corpus.n_rows, NOUNS[corpus.kind])}{where}"),
        ("Left out", "" if partly else corpus.classes.left_out),
        ("Unlabelled", _unlabelled(corpus, model) if partly else ""),
        ("Weights", learning.weights or ""),
        ("Empty", counted(n_empty, NOUNS[corpus.kind]) if n_empty else ""),
        ("Model", f"{inner.model}: {ABOUT[inner.model]}" if inner.model in ABOUT else inner.model),
        ("Calibrated", f"by {model.method_}" if learning.calibrate is not None else ""),
        *(_word_fields(inner) if corpus.kind == TEXT else _letter_fields(inner)),
        ("Classes", f"{corpus.target}: {shortlist(class_lines(model), most=SHOWN)}"),
    ]


def _unlabelled(corpus: Corpus, model: Any) -> str:
    how = "" if model.unlabelled_weight != AUTO else ", chosen by rows held out"
    weight = f"of weight {model.unlabelled_weight_:g}{how}"
    return f"{corpus.classes.left_out or 'no rows'}, {weight}; {counted(model.n_iter_, 'iteration')}"


def _word_fields(model: Any) -> list[tuple[str, str]]:
    low, high = model.ngrams if isinstance(model.ngrams, tuple) else (1, model.ngrams)
    runs = "" if high == 1 else f", runs of {low if low == high else f'{low} to {high}'}"
    unit = "character" if model.tokens == "characters" else "word"
    if model.n_buckets:
        return [(f"{unit.capitalize()}s", f"in {counted(model.n_buckets, 'bucket')}{runs}")]
    n_seen, n_used = len(model.statistics_.vocabulary), len(model._model.vocabulary)
    if not n_used:
        note(f"No {unit} is left to learn from, so that every text gets the prior; {counted(n_seen, unit)} were read.")
    left_out = f" of {amount(n_seen)}, the others left out" if n_used < n_seen else ""
    return [(f"{unit.capitalize()}s", f"{amount(n_used)} different{left_out}{runs}")]


def _letter_fields(model: Any) -> list[tuple[str, str]]:
    letters = [str(s) for s in model.alphabet_]
    how = {"cv": ", chosen by leaving sequences out", "bic": ", chosen by BIC"}.get(str(model.order), "")
    length = getattr(model.statistics_, "length", None)
    return [
        ("Letters", f"{shortlist(letters, most=_LETTERS, separator=' ')}"),
        ("Length", f"{length}, aligned" if length else ""),
        ("Order", f"{model.order_}{how}"),
    ]


def _show_next(file: Path, kind: str, data: Path, reading: Reading) -> None:
    name, again = quote(str(file)), same_reading(reading)
    rows = "new/" if data.is_dir() else "rows.csv"
    say()
    say(f"The model is in {file}. What next:")
    say(f"  tunbridge predict {name} {rows} -o predicted.csv{again}")
    say(f"  tunbridge explain {name} {'rows.csv --row 1' if kind == SEQUENCE else quote('some text')}{again}")
