"""``tunbridge text learn`` and ``tunbridge sequence learn``: a classifier of raw texts or of sequences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_model_output, is_network_name, model_name
from tunbridge.cli.models import (
    ABOUT,
    AUTO,
    Calibration,
    Letters,
    Words,
    choose_best,
    model_names,
    show_choice,
    text_candidates,
    text_model,
)
from tunbridge.cli.options import DataFile, From, Reading
from tunbridge.cli.output import UsageError, amount, counted, note, say, say_fields, shortlist
from tunbridge.cli.rows import NOUNS, SEQUENCE, TEXT, innermost
from tunbridge.cli.training import SHOWN, Columns, Corpus, class_lines, evaluation, find_corpus, learn_in_batches
from tunbridge.cli.verbs.learn import FOLDS

if TYPE_CHECKING:
    from tunbridge.evaluation.candidates import Candidate

_LETTERS = 40
_GENERATIVE = ("multinomial", "bernoulli", "markov", "position")

Unlabelled = Annotated[
    dict[str, Any],
    From("classifiers", "SemiSupervisedClassifier", "unlabelled_weight=unlabelled-weight:W|auto", "", "Model", False),
]


@dataclass(frozen=True)
class RareColumns(Columns):
    """Columns.

    Parameters
    ----------
    weights : COL
        The column of the row weights.

    Other Parameters
    ----------------
    categorical : COL
        The target, if it holds numbers that are classes.
    ignore : COL
        A column that is not the one of the texts or sequences.
    """


@dataclass(frozen=True, kw_only=True)
class Task:
    """Model.

    Parameters
    ----------
    target, -t : COL
        The column of the classes.
    column : COL
        The column of the texts or sequences (default: the one called text or sequence, or the only one of text).
    output, -o : FILE
        The model file (default: the table's name with .tb).
    model : NAME
        The model. auto chooses the best by cross-validation, A,B,… the best of these; of texts multinomial (default),
        bernoulli, complement, normalised-complement or nb-svm, of sequences markov (default) or position.
    folds : N >= 2
        The folds of that cross-validation (default: 5).
    random_state, --seed : N >= 0
        The random seed (default: 0).
    """

    target: str | None = None
    column: str | None = None
    output: Path | None = None
    model: list[str] = ()  # type: ignore[assignment]
    folds: int | None = None
    random_state: int | None = None
    unlabelled: Unlabelled
    calibration: Calibration

    @property
    def weight(self) -> float | str | None:
        """The weight of rows without a class; None to leave them out."""
        return self.unlabelled.get("unlabelled_weight")

    @property
    def calibrate(self) -> str | None:
        """How the probabilities are calibrated, if at all."""
        return self.calibration.get("method")


@verb("text learn", rank=21)
def learn_texts(
    data: Path,
    *,
    task: Task,
    words: Words,
    characters: bool = False,
    columns: RareColumns,
    reading: Reading,
) -> None:
    """Learn a classifier of raw text.

    One column of the table is read, or a folder that has a subfolder for each class and in it a file for each text.
    Words are counted batch by batch, so that the file may be larger than memory.

    Parameters
    ----------
    data : DATA
        The table: {table_format}, also with .gz; or a folder with a subfolder for each class.
    characters
        Count runs of characters, not words; of 1 to 4 by default (--ngrams).

    Examples
    --------
    tunbridge text learn sms.csv --target label -o spam.tb
    tunbridge text learn mails/ --model auto --ngrams 2 --stop-words 100
    tunbridge text learn news.jsonl.gz --target group --column body --unlabelled-weight 0.1
    """
    named = words.get("tokens")
    if characters and named not in (None, "characters"):
        raise UsageError(f"--characters must come without --tokens {named}.")
    settings = {**words, "tokens": "characters"} if characters else words
    _learn(TEXT, data, task, settings, columns, reading)


@verb("sequence learn", rank=22)
def learn_sequences(
    data: DataFile,
    *,
    task: Task,
    letters: Letters,
    columns: RareColumns,
    reading: Reading,
) -> None:
    """Learn a classifier of sequences of symbols.

    The model is a Markov chain for each class, or, for aligned sequences of one length, a distribution at each place.

    Examples
    --------
    tunbridge sequence learn promoters.csv --target class --order cv
    tunbridge sequence learn names.csv --target sex --ignore-case --no-ends
    tunbridge sequence learn sites.csv --target class --model position --alphabet acgt
    """
    _learn(SEQUENCE, data, task, letters, columns, reading)


def _learn(kind: str, data: Path, task: Task, settings: dict[str, Any], columns: Columns, reading: Reading) -> None:
    """Learn a classifier from documents or sequences, write it to a file, and print what was found."""
    names, seed = model_names("--model", task.model, kind), task.random_state or 0
    chooses = len(names) > 1
    _check(task, chooses=chooses)
    models = text_candidates(names, kind, settings, calibrate=task.calibrate, seed=seed)
    file = task.output or model_name(data if data.suffix else data.resolve())
    check_model_output(file)
    if task.weight is None:
        learner: Any = models[0]
    else:
        learner = _partly_labelled(text_model(names[0], kind, settings), task.weight, seed)
    corpus = find_corpus(data, task.target, kind, task.column, columns, reading)
    choice = choose_best(models, corpus.training(), task.folds or FOLDS, seed) if chooses else None
    learned, n_empty = (choice.classifier, 0) if choice else _learned(learner, corpus)
    learned.save(file)
    say_fields(_summary(corpus, n_empty, learned, columns, is_calibrated=task.calibrate is not None))
    if choice is not None:
        show_choice(choice, [])
    _show_next(file, kind, data, reading)
    if choice is not None and choice.comparison.is_interrupted:
        raise KeyboardInterrupt(f"{choice.comparison.notes[-1]}; the best so far is in {file}.")


def _check(task: Task, *, chooses: bool) -> None:
    """Raise for options that do not go together."""
    if task.output is not None and is_network_name(task.output):
        raise UsageError(f"the name of a classifier's file must not be that of a network; got {task.output.name!r}.")
    if task.folds is not None and not chooses:
        raise UsageError("--folds must come with --model auto, or with several models to choose from.")
    if task.random_state is not None and not chooses and task.weight is None:
        raise UsageError("--seed must come with a model that uses random numbers, or with several; this one uses none.")
    if task.weight is not None and chooses:
        raise UsageError("--unlabelled-weight must come with one --model; several are compared on rows with a class.")
    if task.weight is not None and task.calibrate is not None:
        raise UsageError("--unlabelled-weight must come without --calibrate, which needs the classes of all rows.")


def _partly_labelled(model: Any, weight: float | str, seed: int) -> Candidate:
    """Return a classifier that learns from rows without a class too."""
    if model.model not in _GENERATIVE:
        rule = "--unlabelled-weight must come with a model of how documents arise, such as multinomial"
        raise UsageError(f"{rule}; {model.model!r} is none.")
    if weight != AUTO and not 0.0 <= float(weight) <= 1.0:
        raise UsageError(f"--unlabelled-weight must be a number from 0 to 1, or auto; got {weight!r}.")
    partly = tb.SemiSupervisedClassifier(model, unlabelled_weight=weight, unlabelled=None, random_state=seed)
    return evaluation.candidates.as_candidates({model.model: partly}, random_state=seed)[0]


def _learned(candidate: Candidate, corpus: Corpus) -> tuple[Any, int]:
    """Return the model, learned batch by batch if that is possible, and the number of empty documents."""
    model = candidate.estimator
    if isinstance(model, tb.TextClassifier) and hasattr(model, "partial_fit") and corpus.can_be_streamed:
        return model, learn_in_batches(model, corpus)
    training = corpus.training()
    rows = (
        evaluation.labelled.Labelled(training.whole, training.target)
        if hasattr(model, "unlabelled_weight")
        else training.labelled()
    )
    return candidate.fitted(rows), rows.table.missing.get(corpus.column, 0)


# The summary


def _summary(
    corpus: Corpus, n_empty: int, model: Any, columns: Columns, *, is_calibrated: bool
) -> list[tuple[str, str]]:
    inner, partly = innermost(model), hasattr(model, "unlabelled_weight_")
    where = f" in column {corpus.column}" if corpus.folder is None else ""
    return [
        ("Read", f"{corpus.path}: {counted(corpus.n_rows, NOUNS[corpus.kind])}{where}"),
        ("Left out", "" if partly else corpus.classes.left_out),
        ("Unlabelled", _unlabelled(corpus, model) if partly else ""),
        ("Weights", columns.weights or ""),
        ("Empty", counted(n_empty, NOUNS[corpus.kind]) if n_empty else ""),
        ("Model", f"{inner.model}: {ABOUT[inner.model]}" if inner.model in ABOUT else inner.model),
        ("Calibrated", f"by {model.method_}" if is_calibrated else ""),
        *(_word_fields(inner) if corpus.kind == TEXT else _letter_fields(inner)),
        ("Classes", f"{corpus.target}: {shortlist(class_lines(model), most=SHOWN)}"),
    ]


def _unlabelled(corpus: Corpus, model: Any) -> str:
    how = "" if model.unlabelled_weight != AUTO else ", chosen by cross-validation"
    weight = f"weight {model.unlabelled_weight_:g}{how}"
    return f"{corpus.classes.left_out or 'no rows'}, {weight}; {counted(model.n_iter_, 'iteration')}"


def _word_fields(model: Any) -> list[tuple[str, str]]:
    low, high = model.ngrams if isinstance(model.ngrams, tuple) else (1, model.ngrams)
    runs = "" if high == 1 else f", runs of {low if low == high else f'{low} to {high}'}"
    unit = "character" if model.tokens == "characters" else "word"
    if model.n_buckets:
        return [(f"{unit.capitalize()}s", f"in {counted(model.n_buckets, 'bucket')}{runs}")]
    n_seen, n_used = len(model.statistics_.vocabulary), len(model.model_.vocabulary)
    if not n_used:
        note(f"No {unit} is left to learn from, so that every text gets the prior; {counted(n_seen, unit)} were read.")
    left_out = f" of {amount(n_seen)}, the others left out" if n_used < n_seen else ""
    return [(f"{unit.capitalize()}s", f"{amount(n_used)} different{left_out}{runs}")]


def _letter_fields(model: Any) -> list[tuple[str, str]]:
    letters = [str(s) for s in model.alphabet_]
    how = {"cv": ", chosen by cross-validation", "bic": ", chosen by BIC"}.get(str(model.order), "")
    length = getattr(model.statistics_, "length", None)
    return [
        ("Letters", f"{shortlist(letters, most=_LETTERS, separator=' ')}"),
        ("Length", f"{length}, aligned" if length else ""),
        ("Order", f"{model.order_}{how}"),
    ]


def _show_next(file: Path, kind: str, data: Path, reading: Reading) -> None:
    name, again = quote(str(file)), reading.again
    rows = "new/" if data.is_dir() else "rows.csv"
    say()
    say(f"The model is in {file}. Next steps:")
    say(f"  tunbridge predict {name} {rows} -o predicted.csv{again}")
    say(f"  tunbridge explain {name} {'rows.csv --row 1' if kind == SEQUENCE else quote('some text')}{again}")
