"""``tunbridge learn``, ``tunbridge text learn`` and ``tunbridge sequence learn``: a classifier of rows or documents.

One model is learned, or several are compared by cross-validation and the best is learned from all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.documents import (
    BATCH_ROWS,
    NOUNS,
    READ,
    SEQUENCE,
    TEXT,
    Corpus,
    find_corpus,
    innermost,
    iter_documents,
    key_of,
)
from tunbridge.cli.files import check_model_output, check_table, is_a, is_network_name, model_name
from tunbridge.cli.models import ABOUT, AUTO, Choosing, Letters, Racing, Words, say_comparison, text_model
from tunbridge.cli.options import DataFile, From, Reading
from tunbridge.cli.output import amount, counted, lines, note, reporting, say, say_fields, say_next, shortlist
from tunbridge.cli.training import (
    Columns,
    Training,
    class_lines,
    evaluation,
    read_columns,
    table_fields,
    training_key,
    with_classes,
    with_rows,
)
from tunbridge.cli.usage import as_usage, refuse

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.evaluation import ClassifierChoice
    from tunbridge.evaluation.candidates import Candidate

_FOLDS = 5
_BMA = "bayes-optimal"
_LETTERS = 40
_GENERATIVE = ("multinomial", "bernoulli", "markov", "position")
_NO_SEED = "--seed must come with a model that uses random numbers, or with several; this one uses none."

Fields = list[tuple[str, str]]


Unlabelled = Annotated[
    dict[str, Any],
    From("classifiers", "SemiSupervisedClassifier", "unlabelled_weight=unlabelled-weight:W|auto", "", "Model", False),
]
RareUnlabelled = Annotated[
    dict[str, Any],
    From("classifiers", "SemiSupervisedClassifier", "", "unlabelled_weight=unlabelled-weight:W|auto", "Model", False),
]


@verb("learn", rank=1)
def learn(
    data: DataFile,
    *,
    target: str,
    output: Path | None = None,
    unlabelled: list[Path] = (),  # type: ignore[assignment]
    choosing: Racing,
    share: RareUnlabelled,
    columns: Columns,
    reading: Reading,
) -> None:
    """Learn a classifier from a table.

    Text and numbers, missing values and row weights are all fine. Raw texts, sequences and networks have commands of
    their own: text learn, sequence learn, network learn.

    Parameters
    ----------
    target, -t : COL
        The column to predict.
    output, -o : FILE
        The model file (default: the table's name with .tb).
    unlabelled : FILE
        Rows without a class to learn from, too, by EM; with --unlabelled-weight alone those of the table itself.

    Examples
    --------
    tunbridge learn tennis.csv --target play
    tunbridge learn patients.csv --target drug -o drug.tb --numeric kernel
    tunbridge learn visits.csv --target diseased --model auto
    tunbridge learn visits.csv --target diseased --ignore patient_id --missing -99 --categorical ward
    tunbridge learn labelled.csv --target diseased --unlabelled more.csv
    """
    check_table(data)
    partly = bool(unlabelled or share)
    choosing = choosing.with_default("nb") if partly else choosing
    names, file, columns = choosing.names(), output or model_name(data), columns.split(data, reading)
    families = [evaluation.families.find_family(name) for name in names]
    rule = "--unlabelled must come"
    refuse(
        (partly and len(names) > 1, f"{rule} with one --model; several are compared on rows with a class."),
        (partly and choosing.calibration, f"{rule} without --calibrate, which needs the classes of all rows."),
    )
    has_seed = partly or len(names) > 1 or "random_state" in families[0].make().get_params()
    hint = " tunbridge network learn --search tan learns a network around the target."
    refuse((choosing.random_state is not None and not has_seed, _NO_SEED), *_rules(choosing, names, output, hint))
    for family in families:
        rule = f"--model must name one that can be kept in a file; {family.name!r} is scikit-learn's."
        refuse((not family.is_ours, f"{rule} Compare with it by tunbridge evaluate --models nb,{family.name}."))
    categorical = [name for name in columns.kept_categorical if name != target]
    models = choosing.candidates(choosing.settings, categorical=categorical)
    remarks = choosing.remarks(choosing.settings)
    check_model_output(file)
    training = with_classes(read_columns(data, columns, reading, target), target).useful(columns.categorical)
    choice = _choice(models, training, choosing)
    if partly:
        learned, more = _learned_partly(models[0], training, unlabelled, share, choosing)
    else:
        learned, more = choice.classifier if choice else models[0].fitted(training.labelled()), []
    if choice is None and not partly and len(models) > 1:
        note("Note: no class has two rows, so models could not be compared; naive Bayes was learned.")
    chosen = choice.name if choice else names[0] if len(names) == 1 else ""
    why = "" if choosing.models or choice else choosing.why_one
    learned.training_key_ = training_key(training.table.n_rows, learned.key_of_rows(training.table))
    fields = table_fields(data, training, columns, partly=partly) + more + _about_model(chosen, learned, target, why)
    commands = [f"predict {quote(str(file))} rows.csv -o predicted.csv", f"explain {quote(str(file))} rows.csv --row 1"]
    _finish(learned, file, fields, choice, remarks, commands)


def _learned_partly(
    candidate: Candidate, training: Training, files: list[Path], share: dict[str, Any], choosing: Racing
) -> tuple[BayesClassifier, Fields]:
    """Return a classifier that also learns from rows without a class, and what to print about these."""
    whole = with_rows(training, files)
    n_labelled = int((whole.codes(training.target) >= 0).sum())
    weight = share.get("unlabelled_weight", AUTO)
    is_share = weight == AUTO or (isinstance(weight, float) and 0.0 <= weight <= 1.0)
    refuse((not is_share, f"--unlabelled-weight must be a number from 0 to 1, or auto; got {weight!r}."))
    model: BayesClassifier = candidate.estimator
    rule = "--unlabelled must come with a model of how rows arise, such as nb or tan"
    refuse((not model.has_joint, f"{rule}; {candidate.name!r} is none."))
    if model.get_params(deep=False).get("numeric") == "auto":  # EM needs P(x), without weights
        model = model.set_params(numeric="gaussian")
    partly = tb.SemiSupervisedClassifier(
        model, unlabelled_weight=weight, unlabelled=None, random_state=choosing.seed, folds=choosing.folds or _FOLDS
    )
    with as_usage():
        partly.check_parameters()
    learned = partly.fit(whole, training.target)
    counts = f"{counted(n_labelled, 'row')} with a class, {amount(whole.n_rows - n_labelled)} without"
    losses, chosen = learned.losses_, learned.unlabelled_weight_
    how = f"weight {chosen:g} of these; {counted(learned.n_iter_, 'iteration')}"
    held_out = f"log-loss {losses[chosen]:.4g} (without them {losses[0.0]:.4g})" if losses else ""
    return learned, [("Unlabelled", lines([counts, how])), ("Held out", held_out and f"cross-validated {held_out}")]


def _rules(choosing: Choosing, names: Sequence[str], output: Path | None, hint: str = "") -> list[tuple[object, str]]:
    """Return what must not be given together, for any model."""
    named = f"the name of a classifier's file must not be that of a network; got {output.name if output else ''!r}."
    folds = "--folds must come with --model auto, or with several models to choose from."
    return [
        (output is not None and is_network_name(output), f"{named}{hint}"),
        (choosing.folds is not None and len(names) == 1, folds),
    ]


def _choice(models: tuple[Candidate, ...], training: Training, choosing: Choosing) -> ClassifierChoice | None:
    """Return the best of several models by cross-validation, learned from all rows; None if there is one only.

    Without two rows of a class nothing can be compared; the first model is learned if none was named.
    """
    if len(models) == 1 or (not choosing.models and not training.is_comparable):
        return None
    with reporting("comparing", shares=True) as report:
        return evaluation.choice.choose(
            training.labelled(), models, choosing.folds or _FOLDS,
            seed=choosing.seed, budget=choosing.seconds, progress=report,
        )  # fmt: skip


def _finish(
    learned: BayesClassifier,
    file: Path,
    fields: Fields,
    choice: ClassifierChoice | None,
    remarks: list[str],
    commands: list[str],
) -> None:
    """Write a classifier; print what was learned, how it was chosen, and what to do next."""
    learned.save(file)
    say_fields(fields)
    if choice is not None:
        for line in [*(f"Note: {text}." for text in remarks), *choice.comparison.remarks()]:
            note(line)
        say(f"\n{choice.comparison.title()}")
        say_comparison(choice.comparison)
        say(f"Chosen: {choice.reason}")
    say_next("model", file, commands)
    if choice is not None and choice.comparison.is_interrupted:
        raise KeyboardInterrupt(f"{choice.comparison.notes[-1]}; the best so far is in {file}.")


def _about_model(name: str, model: BayesClassifier, target: str, why: str) -> Fields:
    inner = innermost(model)
    return [
        ("Model", f"{name}: {evaluation.families.find_family(name).about}{why}" if name else ""),
        ("Averaged", ", ".join(f"{n} {w:.3g}" for n, w in inner.weights_.items()) if name == _BMA else ""),
        ("Calibrated", _calibrated(model)),
        ("Features", _features(inner)),
        ("Not used", _not_used(inner)),
        ("Classes", f"{target}: {shortlist(class_lines(model))}"),
    ]


def _calibrated(model: BayesClassifier) -> str:
    return f"by {model.method_}" if is_a("CalibratedClassifier", model) else ""


def _features(model: BayesClassifier) -> str:
    numeric = sum(v.is_continuous for v in model.variables_)
    how = model.get_params(deep=False).get("numeric")
    roles = Counter(getattr(model, "numeric_", {}).values()) or {how if isinstance(how, str) else "in bins": numeric}
    models = " + ".join(role if n == numeric else f"{n} {role}" for role, n in roles.items())
    words = [(len(model.variables_) - numeric, "categorical"), (numeric, f"numeric ({models})")]
    words += [(len(model.text_columns_), f"free text ({shortlist(model.text_columns_)})")]
    return ", ".join(f"{n} {what}" for n, what in words if n)


def _not_used(model: BayesClassifier) -> str:
    """Return the numeric columns in one bin, because no cut separates the classes."""
    cuts = getattr(getattr(model.statistics_, "encoding", None), "cuts", {})
    names = [model.variables_[j].name for j, each in cuts.items() if not each.cuts]
    return f"{shortlist(names)}: in one bin, because no cut separates the classes" if names else ""


# Texts and sequences


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
class TextChoosing(Choosing):
    """Options.

    Parameters
    ----------
    models, --model : NAME
        The model: multinomial (default), bernoulli, complement, normalised-complement or nb-svm. auto chooses the best
        by cross-validation, A,B,… the best of these.
    """


@dataclass(frozen=True, kw_only=True)
class SequenceChoosing(Choosing):
    """Options.

    Parameters
    ----------
    models, --model : NAME
        The model: markov (default) or position. auto chooses the best by cross-validation.
    """


@dataclass(frozen=True, kw_only=True)
class Task:
    """Options.

    Parameters
    ----------
    target, -t : COL
        The column of the classes.
    column : COL
        The column of the texts or sequences (default: the one called text or sequence, or the only one of text).
    output, -o : FILE
        The model file (default: the table's name with .tb).
    """

    target: str | None = None
    column: str | None = None
    output: Path | None = None
    choosing: Choosing
    unlabelled: Unlabelled

    @property
    def weight(self) -> float | str | None:
        """The weight of rows without a class; None to leave them out."""
        return self.unlabelled.get("unlabelled_weight")


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """Options.

    Parameters
    ----------
    characters
        Count runs of characters, not words; of 1 to 4 by default (--ngrams).
    """

    choosing: TextChoosing
    words: Words
    characters: bool = False


@dataclass(frozen=True, kw_only=True)
class SequenceTask(Task):
    """Options."""

    choosing: SequenceChoosing
    letters: Letters


@verb("text learn", rank=21)
def learn_texts(data: Path, *, task: TextTask, columns: RareColumns, reading: Reading) -> None:
    """Learn a classifier of raw text.

    One column of the table is read, or a folder that has a subfolder for each class and in it a file for each text.
    Words are counted batch by batch, so that the file may be larger than memory.

    Parameters
    ----------
    data : DATA
        The table: {table_format}, also with .gz; or a folder with a subfolder for each class.

    Examples
    --------
    tunbridge text learn sms.csv --target label -o spam.tb
    tunbridge text learn mails/ --model auto --ngrams 2 --stop-words 100
    tunbridge text learn news.jsonl.gz --target group --column body --unlabelled-weight 0.1
    """
    named = task.words.get("tokens", "characters")
    refuse((task.characters and named != "characters", f"--characters must come without --tokens {named}."))
    settings = {**task.words, "tokens": "characters"} if task.characters else task.words
    _learn(TEXT, data, task, settings, columns, reading)


@verb("sequence learn", rank=22)
def learn_sequences(data: DataFile, *, task: SequenceTask, columns: RareColumns, reading: Reading) -> None:
    """Learn a classifier of sequences of symbols.

    The model is a Markov chain for each class, or, for aligned sequences of one length, a distribution at each place.

    Examples
    --------
    tunbridge sequence learn promoters.csv --target class --order cv
    tunbridge sequence learn names.csv --target sex --ignore-case --no-ends
    tunbridge sequence learn sites.csv --target class --model position --alphabet acgt
    """
    _learn(SEQUENCE, data, task, task.letters, columns, reading)


def _learn(kind: str, data: Path, task: Task, settings: dict[str, Any], columns: Columns, reading: Reading) -> None:
    """Learn a classifier from documents or sequences, write it to a file, and print what was found."""
    choosing, weight, names = task.choosing, task.weight, task.choosing.names(kind)
    if not data.is_dir():
        check_table(data)
    columns = columns.split(data, reading)
    chooses, calibrates, rule = len(names) > 1, choosing.calibration, "--unlabelled-weight must come"
    refuse(
        *_rules(choosing, names, task.output),
        (choosing.random_state is not None and not chooses and weight is None, _NO_SEED),
        (weight is not None and chooses, f"{rule} with one --model; several are compared on rows with a class."),
        (weight is not None and calibrates, f"{rule} without --calibrate, which needs the classes of all rows."),
    )
    models = choosing.candidates(settings, kind)
    file = task.output or model_name(data if data.suffix else data.resolve())
    check_model_output(file)
    learner = (
        models[0] if weight is None else _partly_labelled(text_model(names[0], kind, settings), weight, choosing.seed)
    )
    corpus = find_corpus(data, task.target, kind, task.column, columns, reading)
    choice = _choice(models, corpus.training(), choosing) if chooses else None
    learned, n_empty = (choice.classifier, 0) if choice else _learned(learner, corpus)
    name, some_text = quote(str(file)), "rows.csv --row 1" if kind == SEQUENCE else quote("some text")
    commands = [
        f"predict {name} {'new/' if data.is_dir() else 'rows.csv'} -o predicted.csv", f"explain {name} {some_text}",
    ]  # fmt: skip
    fields = _document_summary(corpus, n_empty, learned, columns)
    learned.reading_ = corpus.record
    learned.training_key_ = _key_of_documents(learned, corpus)
    _finish(learned, file, fields, choice, [], commands)


def _partly_labelled(model: BayesClassifier, weight: float | str, seed: int) -> Candidate:
    """Return a classifier that learns from rows without a class too."""
    rule = "--unlabelled-weight must come with a model of how documents arise, such as multinomial"
    refuse((model.model not in _GENERATIVE, f"{rule}; {model.model!r} is none."))
    is_share = weight == AUTO or (isinstance(weight, float) and 0.0 <= weight <= 1.0)
    refuse((not is_share, f"--unlabelled-weight must be a number from 0 to 1, or auto; got {weight!r}."))
    partly = tb.SemiSupervisedClassifier(model, unlabelled_weight=weight, unlabelled=None, random_state=seed)
    return evaluation.candidates.as_candidates({model.model: partly}, random_state=seed)[0]


def _learned(candidate: Candidate, corpus: Corpus) -> tuple[BayesClassifier, int]:
    """Return the model, learned batch by batch if that is possible, and the number of empty documents."""
    model = candidate.estimator
    if is_a("TextClassifier", model) and hasattr(model, "partial_fit") and corpus.can_be_streamed:
        return model, corpus.fit(model)
    training = corpus.training()
    is_partly = is_a("SemiSupervisedClassifier", model)
    rows = evaluation.labelled.Labelled(training.whole, training.target) if is_partly else training.labelled()
    return candidate.fitted(rows), rows.table.missing.get(corpus.column, 0)


def _key_of_documents(model: BayesClassifier, corpus: Corpus) -> str:
    """Return what a model keeps of the documents that it was learned from, after another pass over the file."""
    n_rows = key = 0
    folder, target = corpus.folder, corpus.classes.target
    if folder is not None:
        documents = iter(
            [folder.rename_columns([READ if name == corpus.column else name for name in folder.column_names])]
        )
    else:
        documents = iter_documents(model, [corpus.path], corpus.reading, None, BATCH_ROWS)
    for batch in documents:
        labelled = batch.filter(batch[target].is_valid())
        n_rows, key = n_rows + len(labelled), key + key_of(model, labelled)
    return training_key(n_rows, key)


def _document_summary(corpus: Corpus, n_empty: int, model: BayesClassifier, columns: Columns) -> Fields:
    inner, partly = innermost(model), is_a("SemiSupervisedClassifier", model)
    where = f" in column {corpus.column}" if corpus.folder is None else ""
    return [
        ("Read", f"{corpus.path}: {counted(corpus.classes.whole.n_rows, NOUNS[corpus.kind])}{where}"),
        ("Left out", "" if partly else corpus.classes.left_out),
        ("Not used", f"{shortlist(corpus.others)} (tunbridge learn uses all columns)" if corpus.others else ""),
        ("Unlabelled", _unlabelled(corpus, model) if partly else ""),
        ("Weights", columns.weights or ""),
        ("Empty", counted(n_empty, NOUNS[corpus.kind]) if n_empty else ""),
        ("Model", f"{inner.model}: {ABOUT[inner.model]}" if inner.model in ABOUT else inner.model),
        ("Calibrated", _calibrated(model)),
        *(_word_fields(inner) if corpus.kind == TEXT else _letter_fields(inner)),
        ("Classes", f"{corpus.classes.target}: {shortlist(class_lines(model))}"),
    ]


def _unlabelled(corpus: Corpus, model: BayesClassifier) -> str:
    how = "" if model.unlabelled_weight != AUTO else ", chosen by cross-validation"
    weight = f"weight {model.unlabelled_weight_:g}{how}"
    return f"{corpus.classes.left_out or 'no rows'}, {weight}; {counted(model.n_iter_, 'iteration')}"


def _word_fields(model: BayesClassifier) -> Fields:
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


def _letter_fields(model: BayesClassifier) -> Fields:
    how = {"cv": ", chosen by cross-validation", "bic": ", chosen by BIC"}.get(str(model.order), "")
    length = getattr(model.statistics_, "length", None)
    return [
        ("Letters", shortlist([str(s) for s in model.alphabet_], most=_LETTERS, separator=" ")),
        ("Length", f"{length}, aligned" if length else ""),
        ("Order", f"{model.order_}{how}"),
    ]
