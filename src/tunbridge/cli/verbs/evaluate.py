"""``tunbridge evaluate``: how good a model is, or which of several is best, on rows they have not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.grid import number_text, seconds_text
from tunbridge._core.registry import verb
from tunbridge.cli.files import is_model, is_network_name, load_model
from tunbridge.cli.models import (
    Calibration,
    RareLetters,
    RareWords,
    Settings,
    candidates,
    check_settings,
    model_names,
    show_comparison,
    text_candidates,
    usual_ones,
)
from tunbridge.cli.options import AsJson, Reading, Seed, check_apart, check_column
from tunbridge.cli.output import (
    UsageError,
    amount,
    counted,
    note,
    option_names,
    reporting,
    say,
    say_json,
    say_table,
    tracked,
)
from tunbridge.cli.rows import READ, SEQUENCE, TEXT, as_read, iter_rows
from tunbridge.cli.training import (
    SHOWN,
    Columns,
    Training,
    evaluation,
    find_corpus,
    oddities,
    read_columns,
    with_classes,
)
from tunbridge.data import Variable
from tunbridge.data.columns import distinct_values, to_floats
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.evaluation import Comparison, Scores
    from tunbridge.evaluation.candidates import Candidate

_FOLDS, _TWO = 10, 2
_CLASS_COLUMNS = ("precision", "recall", "specificity", "npv", "f1", "auc", "support")
_HEADINGS = {"npv": "NPV", "f1": "F1", "auc": "AUC"}


@dataclass(frozen=True)
class Texts:
    """Texts and sequences.

    Parameters
    ----------
    text
        Cross-validate models of raw text, in one column of the table; a folder means text anyway.
    sequence
        Cross-validate models of sequences.
    column : COL
        The column of the texts or sequences (default: the one called text or sequence, or the only one of text).

    Other Parameters
    ----------------
    characters
        With --text: count runs of characters, not words; of 1 to 4 by default (--ngrams).
    """

    text: bool = False
    sequence: bool = False
    column: str | None = None
    characters: bool = False

    def kind(self, path: Path, words: dict[str, Any], letters: dict[str, Any]) -> str:
        """Return what a path holds: texts, sequences, or, with an empty name, a table; raise for other options."""
        if self.text and self.sequence:
            raise UsageError("--text and --sequence must not come together.")
        kind = SEQUENCE if self.sequence else TEXT if self.text or path.is_dir() else ""
        if kind != TEXT:
            check_apart({**_options(words), "--characters": self.characters}, "come with --text.")
        if kind != SEQUENCE:
            check_apart(_options(letters), "come with --sequence.")
        if not kind:
            check_apart({"--column": self.column}, "come with --text or --sequence.")
        return kind


def _options(settings: dict[str, Any]) -> dict[str, bool]:
    """Return the options that were given, for messages."""
    names = option_names.get()
    return {_given_as(names[name], value): True for name, value in settings.items()}


def _given_as(spelling: str, value: object) -> str:
    on, _, off = spelling.partition("/")
    return (off or f"--no-{on[2:]}") if value is False else on


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """Options.

    Parameters
    ----------
    models, --models, --model : A,B,…
        The models to compare by cross-validation: {classifier}, forest, boosting, logistic (default: nb); of texts
        multinomial (default), complement, …; of sequences markov (default), position; auto for the usual ones.
    folds : N >= 2
        The number of cross-validation folds (default: 10).
    """

    models: list[str] = ()  # type: ignore[assignment]
    folds: int | None = None
    random_state: Seed = None
    settings: Settings
    calibration: Calibration
    columns: Columns
    texts: Texts
    words: RareWords
    letters: RareLetters

    def check_unused(self, data: Path) -> None:
        """Raise for what is given although a model is evaluated on the rows of a file."""
        models, texts, columns = self.models, self.texts, self.columns
        if models and not data.exists():
            together = ",".join([*models, str(data)]).replace(",,", ",")
            rule = "--models must be one word, with commas and without spaces"
            raise UsageError(f"{rule}; got {str(data)!r} beside it. Write --models {together}.")
        flag = "--text" if texts.text else "--sequence" if texts.sequence else ""
        if flag and not data.exists():
            raise UsageError(f"{flag} must have no value; got {str(data)!r}. Write {flag} --column {data}.")
        given: dict[str, object] = {"--models": models, "--folds": self.folds, "--seed": self.random_state}
        given |= {"--calibrate": self.calibration, **_options({**self.settings, **self.words, **self.letters})}
        given |= {"--text": texts.text, "--sequence": texts.sequence, "--characters": texts.characters}
        given |= {"--categorical": columns.categorical, "--ignore": columns.ignore}
        check_apart(given, "be left out when a model is evaluated; it has been learned already.")


@verb("evaluate", rank=3)
def evaluate(
    model: Path,
    data: Path | None = None,
    *,
    target: str | None = None,
    comparing: Comparing,
    as_json: AsJson = False,
    reading: Reading,
) -> None:
    """Evaluate a model on new rows, or several by cross-validation.

    Accuracy, balanced accuracy, log-loss, Brier score and AUC are shown beside those of the baseline, which always
    predicts the commonest class, with the frequencies of the classes as probabilities. Several models are compared on
    the same folds, with standard errors and times; then the best of them is shown class by class.

    Parameters
    ----------
    model : MODEL|DATA
        A model, for the table that follows; or a table, or a folder of texts, for cross-validation.
    data : DATA
        Rows that the model has not seen.
    target, -t : COL
        The column of the classes.

    Examples
    --------
    tunbridge evaluate model.tb new_rows.csv
    tunbridge evaluate tennis.csv --target play
    tunbridge evaluate visits.csv --target diseased --models nb,tan,kdb2,forest
    tunbridge evaluate patients.csv --target drug --folds 5 --numeric kernel --json
    tunbridge evaluate sms.csv --target label --text --models multinomial,complement
    tunbridge evaluate spam.tb mails/
    """
    columns, texts, models = comparing.columns, comparing.texts, comparing.models
    words, letters, settings = comparing.words, comparing.letters, comparing.settings
    if data is not None:
        comparing.check_unused(data)
        _show_evaluation(_evaluated(model, data, target, columns.weights, reading, texts.column), as_json=as_json)
        return
    if (target is None and not model.is_dir()) or is_network_name(model):
        raise UsageError(_what_is_meant(model))
    kind = texts.kind(model, words, letters)
    remarks: list[str] = []
    seed, calibrate = comparing.random_state or 0, comparing.calibration.get("method")
    names = model_names("--models", models, kind)
    if kind:
        check_apart({"--numeric": settings.pop("numeric", None)}, "be left out: it is about columns of numbers.")
        tokens = {"tokens": "characters"} if texts.characters else {}
        chosen = text_candidates(
            names, kind, {**words, **letters, **tokens, **settings}, calibrate=calibrate, seed=seed
        )
        training = find_corpus(model, target, kind, texts.column, columns, reading).training()
    else:
        usual = usual_ones(models)
        remarks = check_settings(names, settings, usual)
        training = with_classes(read_columns(model, columns, reading, target), str(target))
        chosen = candidates(
            names, training, settings, categorical=columns.categorical, calibrate=calibrate, seed=seed, usual=usual
        )
        remarks += oddities(training)[:SHOWN]
    _cross_validate(model, training, chosen, comparing.folds or _FOLDS, seed, remarks, as_json=as_json)


# Cross-validation


def _cross_validate(
    path: Path,
    training: Training,
    chosen: tuple[Candidate, ...],
    folds: int,
    seed: int,
    remarks: list[str],
    *,
    as_json: bool,
) -> None:
    """Compare models by cross-validation, and print what was found."""
    with reporting("cross-validation", shares=True) as report:
        found = evaluation.cross_validation.cross_validated(
            training.labelled(), chosen, folds, seed=seed, progress=report
        )
    for line in remarks:
        note(f"Note: {line}.")
    if as_json:
        say_json(_plain_single(found) if len(chosen) == 1 else _plain_several(found))
    else:
        for line in found.remarks():
            note(line)
        say(found.title().replace("cross-validation,", f"cross-validation on {path},"))
        say()
        _show_single(found) if len(chosen) == 1 else _show_several(found)
    if found.is_interrupted:
        raise KeyboardInterrupt(f"{found.notes[-1]}; the numbers are those of these folds.")


def _plain_single(found: Comparison) -> dict[str, Any]:
    fit, predict = found.seconds(found.best)
    return {
        "model": found.best,
        **found.scores(found.best).to_dict(),
        "standard_errors": {evaluation.scores.plain_name(m): e.error for m, e in found.summary(found.best).items()},
        "baseline": _plain_baseline(found.usual, evaluation.scores.merged(found.baseline)),
        "accuracy_by_fold": [part.scores.accuracy for part in found.folds[found.best]],
        "fit_seconds": fit,
        "predict_seconds": predict,
        "notes": list(found.notes),
    }


def _plain_several(found: Comparison) -> dict[str, Any]:
    return {**found.to_dict(), "scores_of_best": found.scores(found.best).to_dict()}


def _show_several(found: Comparison) -> None:
    show_comparison(found)
    say()
    say(f"{found.best}, class by class:")
    _show_classes(found.scores(found.best))


def _show_single(found: Comparison) -> None:
    usual = found.baseline_summary()
    lines = [
        [name, number_text(value.mean), number_text(value.error), number_text(usual[name].mean)]
        for name, value in found.summary(found.best).items()
    ]
    say_table(["", found.best, "± s.e.", f"always {found.usual}"], lines)
    accuracies = [part.scores.accuracy for part in found.folds[found.best]]
    fit, predict = map(seconds_text, found.seconds(found.best))
    say(f"Accuracy of the folds: {min(accuracies):.3f} to {max(accuracies):.3f}")
    say(f"Time per fold: {fit} to learn, {predict} to predict")
    if found.verdict():
        say(found.verdict())
    say()
    _show_classes(found.scores(found.best))


# A model on new rows


class _Evaluation(NamedTuple):
    """The scores of a model and of the baseline, and notes about the rows."""

    title: str
    scores: Scores
    baseline: Scores
    usual: str
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {**self.scores.to_dict(), "baseline": _plain_baseline(self.usual, self.baseline), "notes": self.notes}


def _evaluated(
    model_file: Path, path: Path, target: str | None, weights: str | None, reading: Reading, read: str | None
) -> _Evaluation:
    """Return the scores of a model on the rows of a file, which is read in batches.

    A model of texts or sequences reads the column ``read``, where it is not the one learned from.
    """
    model = load_model(model_file, swapped_with=path)
    column = target or model.target_name_
    if column is None:
        raise UsageError("--target must name the column of the classes; the model does not know it.")
    tally = _Tally(model)
    for rows in tracked(iter_rows(model, path, reading, read, verbatim=False), "evaluating"):
        _check_target(column, path, rows.features.column_names)
        tally.add(rows.features, column, _weights(rows.features, weights, path))
    scores, baseline = tally.scores(column, path)
    usual = str(model.classes_.tolist()[int(model.class_count_.argmax())])
    return _Evaluation(f"{model_file} on {path}", scores, baseline, usual, tally.notes(column))


class _Tally:
    """Scores, added up over the batches of a file."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes = tuple(map(str, model.classes_.tolist()))
        self.parts: list[tuple[Scores, Scores]] = []
        self.ranking: Any = None
        self.without_class, self.unseen, self.known_any = 0, set[str](), False

    def add(self, features: Any, column: str, weights: np.ndarray) -> None:
        """Add the rows of a batch that have a class."""
        true, unknown = _true_codes(self.model, features[column])
        present = true >= -1
        self.without_class += int((~present).sum())
        self.unseen |= unknown
        self.known_any = self.known_any or bool((true >= 0).any())
        if present.any():
            self._add_scores(features.filter(present), true[present], weights[present])

    def _add_scores(self, rows: Any, true: np.ndarray, weights: np.ndarray) -> None:
        log_proba = self.model.predict_log_proba(as_read(rows))
        with np.errstate(divide="ignore"):
            frequency = np.log(self.model.class_count_ / self.model.class_count_.sum())
        usual = np.broadcast_to(frequency, log_proba.shape)
        ranking = evaluation.scores.Ranking.of(true, log_proba, weights)
        self.ranking = ranking if self.ranking is None else self.ranking.merge(ranking)
        scores = evaluation.Scores.of(self.classes, true, log_proba, weights, ranking=ranking)
        self.parts.append((scores, evaluation.Scores.of(self.classes, true, usual, weights)))

    def scores(self, column: str, path: Path) -> tuple[Scores, Scores]:
        """Return the scores of the model and of the baseline; raise when there are none."""
        if not self.parts:
            raise DataError(f"{path.name} must have rows with a class; every value of column {column!r} is missing.")
        if self.unseen and not self.known_any:
            raise DataError(
                f"column {column!r} must hold classes of the model, {listed(self.model.classes_.tolist())}; got "
                f"{listed(sorted(self.unseen))} only."
            )
        scores, baseline = (evaluation.scores.merged(which) for which in zip(*self.parts, strict=True))
        if not scores.weight:
            raise DataError("some row must have a weight above zero; all weights are zero.")
        return scores.ranked(self.ranking), baseline

    def notes(self, column: str) -> list[str]:
        """Return notes about the rows."""
        notes = [f"{counted(self.without_class, 'row')} without {column} left out"] if self.without_class else []
        if self.unseen:
            known = f"the model has not seen the classes {listed(sorted(self.unseen))}"
            notes.append(f"{known}; their rows count as wrong")
        return notes


def _check_target(column: str, path: Path, names: list[str]) -> None:
    if column not in names and path.is_dir():
        raise DataError(f"a folder to evaluate on must have a subfolder for each class; {str(path)!r} has none.")
    names = [name for name in names if name != READ]
    if column not in names:
        raise DataError(f"{path.name} must have the column of the classes, {column!r}. {did_you_mean(column, names)}")


def _true_codes(model: Any, column: Any) -> tuple[np.ndarray, set[str]]:
    """Return the codes of classes (−1: not the model's, −2: missing), and the classes that are not the model's."""
    distinct, codes = distinct_values("class", column)
    find = Variable("class", model.classes_.tolist()).find
    known = np.array([find(value) if find(value) >= 0 else find(_as_number(value)) for value in distinct] + [-2])
    return known[codes], {str(value) for value, code in zip(distinct, known, strict=False) if code == -1}


def _as_number(value: Any) -> Any:
    """Return the number that a text means: 0.0 where the classes are 0 and 1; anything else as it is."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _weights(features: Any, name: str | None, path: Path) -> np.ndarray:
    if name is None:
        return np.ones(features.num_rows)
    check_column("--weights", name, path, features.column_names)
    return check_weights(to_floats(name, features[name]), features.num_rows)


def _plain_baseline(usual: str, scores: Scores) -> dict[str, Any]:
    """Return the baseline as plain values: its class and its numbers."""
    plain = scores.to_dict()
    return {"class": usual, **{k: v for k, v in plain.items() if not isinstance(v, dict) and k != "rows"}}


def _show_evaluation(found: _Evaluation, *, as_json: bool) -> None:
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
    _show_classes(found.scores)


def _show_classes(scores: Scores) -> None:
    """Print the scores of each class, and the confusion matrix."""
    shown = [key for key in _CLASS_COLUMNS if key != "auc" or len(scores.classes) > _TWO]  # of two both have the same
    header = ["class", *(_HEADINGS.get(key, key) for key in shown)]
    by_class = scores.by_class().items()
    say_table(
        header,
        [
            [name, *(amount(line[key]) if key == "support" else number_text(line[key]) for key in shown)]
            for name, line in by_class
        ],
    )
    say("precision is the positive predictive value (PPV), recall the sensitivity")
    say()
    say("Rows by true class (down) and predicted class (across):")
    say_table(["", *scores.classes], list(_confusion_lines(scores)))


def _confusion_lines(scores: Scores) -> Iterator[list[str]]:
    names = (*scores.classes, *([evaluation.scores.UNKNOWN] if scores.support[-1] else []))
    for name, row in zip(names, scores.confusion, strict=False):
        yield [name, *map(amount, row)]


def _what_is_meant(path: Path) -> str:
    if is_network_name(path):
        rule = "what is evaluated must be a classifier or a table"
        return f"{rule}; {path.name!r} is a network. Query it with tunbridge network query."
    if is_model(path):
        return f"a model must be evaluated on a table; got {str(path)!r} alone. Name the table after it."
    return "--target must name the column of the classes when a table is cross-validated."
