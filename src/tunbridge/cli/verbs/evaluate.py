"""``tunbridge evaluate``: how good a model is, or which of several is best, on rows they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.grid import number_text, seconds_text
from tunbridge._core.registry import verb
from tunbridge.cli import held_out
from tunbridge.cli.documents import READ, SEQUENCE, TEXT, column_of, find_corpus, key_of, kind_read, reading_of
from tunbridge.cli.files import is_model, is_network_name, load_model
from tunbridge.cli.held_out import Looking
from tunbridge.cli.models import RareLetters, RareWords, TableChoosing, kind_of_models, say_comparison
from tunbridge.cli.options import AsJson, Reading, check_column, options_of
from tunbridge.cli.output import SHOWN, amount, counted, note, reporting, say, say_json, say_table, tracked
from tunbridge.cli.rows import Rows, feature_names, iter_rows
from tunbridge.cli.training import Columns, Training, evaluation, oddities, read_columns, training_key, with_classes
from tunbridge.cli.usage import refuse, refuse_options
from tunbridge.data import Variable
from tunbridge.data.columns import distinct_values, to_floats
from tunbridge.data.remarks import text_columns
from tunbridge.data.table import check_weights
from tunbridge.data.variable import number_of
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.evaluation import Comparison, Mistake, Predictions, Scores
    from tunbridge.evaluation.candidates import Candidate
    from tunbridge.evaluation.labelled import Labelled
    from tunbridge.evaluation.scores import Ranking

_FOLDS, _TWO = 10, 2
_CLASS_COLUMNS = ("precision", "recall", "specificity", "npv", "f1", "auc", "support")
_HEADINGS = {"npv": "NPV", "f1": "F1", "auc": "AUC"}
_LEARNED = "be left out when a model is evaluated; it has been learned already."


@dataclass(frozen=True)
class Texts:
    """Texts and sequences.

    Other Parameters
    ----------------
    text
        Cross-validate models of raw text, in one column of the table; a folder means text anyway.
    sequence
        Cross-validate models of sequences.
    column : COL
        The column of the texts or sequences (default: the one called text or sequence, or the only one of text).
    characters
        With --text: count runs of characters, not words; of 1 to 4 by default (--ngrams).
    """

    text: bool = False
    sequence: bool = False
    column: str | None = None
    characters: bool = False

    def kind(self, path: Path, models: Sequence[str] = ()) -> str:
        """Return what a path holds: texts, sequences, or, with an empty name, a table; raise for other options.

        Models that only texts or only sequences have say it too.
        """
        refuse((self.text and self.sequence, "--text and --sequence must not come together."))
        kind = SEQUENCE if self.sequence else TEXT if self.text or path.is_dir() else kind_of_models(models)
        refuse_options(("words", "characters") if kind != TEXT else (), "come with --text.")
        refuse_options(("letters",) if kind != SEQUENCE else (), "come with --sequence.")
        refuse_options(() if kind else ("column",), "come with --text or --sequence.")
        return kind


@dataclass(frozen=True, kw_only=True)
class Comparing(TableChoosing):
    """Options.

    Parameters
    ----------
    models, --models, --model : A,B,…
        The models to compare by cross-validation: {classifier}, forest, boosting, logistic (default: nb); of texts
        multinomial (default), complement, …; of sequences markov (default), position; auto for the usual ones.
    folds : N >= 2
        The number of cross-validation folds (default: 10).
    groups : COL
        The column of groups, such as patients: all rows of a group are in one fold.

    Other Parameters
    ----------------
    repeats : N >= 1
        How often the rows are divided into folds anew.
    time : COL
        The column of times: every fold is predicted by models of earlier rows only.
    """

    repeats: int = 1
    groups: str | None = None
    time: str | None = None

    columns: Columns
    texts: Texts
    words: RareWords
    letters: RareLetters

    def check_unused(self, data: Path) -> None:
        """Raise for what is given although a model is evaluated on the rows of a file."""
        together = ",".join([*self.models, str(data)]).replace(",,", ",")
        rule = f"--models must be one word, with commas and without spaces; got {str(data)!r} beside it."
        flag = "--text" if self.texts.text else "--sequence" if self.texts.sequence else ""
        refuse((self.models and not data.exists(), f"{rule} Write --models {together}."))
        rule = f"{flag} must have no value; got {str(data)!r}."
        refuse((flag and not data.exists(), f"{rule} Write {flag} --column {data}."))
        refuse_options(
            (
                "models",
                "folds",
                "repeats",
                "groups",
                "time",
                "random_state",
                "calibration",
                "settings",
                "words",
                "letters",
            ),
            _LEARNED,
        )
        refuse_options(("text", "sequence", "characters", "categorical", "ignore"), _LEARNED)


@verb("evaluate", rank=3)
def evaluate(
    model: Path,
    data: Path | None = None,
    *,
    target: str | None = None,
    comparing: Comparing,
    looking: Looking,
    as_json: AsJson = False,
    reading: Reading,
) -> None:
    """Evaluate a model on new rows, or several by cross-validation.

    Accuracy, balanced accuracy, log-loss, Brier score and AUC are shown beside those of the baseline, which always
    predicts the most frequent class, with the frequencies of the classes as probabilities. Several models are compared
    on the same folds, with standard errors and times; then the best of them is shown class by class.

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
    tunbridge evaluate loans.csv --target paid --cost no:yes=5 --thresholds 0.1,0.3,0.5 --plot curves.png
    tunbridge evaluate visits.csv --target ill --groups patient --errors 5 --predictions held_out.csv
    tunbridge evaluate sales.csv --target bought --time date -o scores.json
    tunbridge evaluate sms.csv --target label --models multinomial,complement
    tunbridge evaluate spam.tb mails/
    """
    looking.check([model] if data is None else [model, data])
    if data is not None:
        comparing.check_unused(data)
        _evaluate(model, data, target, comparing, looking, reading, as_json=as_json)
        return
    refuse(((target is None and not model.is_dir()) or is_network_name(model), _what_is_meant(model)))
    columns, texts, settings = comparing.columns.split(model, reading), comparing.texts, comparing.settings
    kind = texts.kind(model, comparing.models)
    if kind:
        refuse_options(("settings",) if "numeric" in settings else (), "be left out: it is about columns of numbers.")
        tokens = {"tokens": "characters"} if texts.characters else {}
        chosen = comparing.candidates({**comparing.words, **comparing.letters, **tokens, **settings}, kind)
        training = find_corpus(model, target, kind, texts.column, columns, reading).training()
        remarks = []
    else:
        chosen = comparing.candidates(settings, categorical=[n for n in columns.kept_categorical if n != target])
        training = with_classes(read_columns(model, columns, reading, target), str(target))
        keep = [*columns.categorical, *(name for name in (comparing.groups, comparing.time) if name is not None)]
        training = training.useful(keep)
        remarks = [*comparing.remarks(settings), *(f"left out: {line}" for line in training.gone)]
        remarks += _without_texts(training, chosen)
    gone = [name for name in (comparing.groups, comparing.time) if name is not None]
    rows = _labelled(training, comparing)
    if not kind:
        kept = replace(training, table=rows.table, whole=training.whole.drop(gone))
        remarks += oddities(kept)[:SHOWN]
    losses = looking.losses(rows.classes)
    found = _cross_validated(rows, chosen, comparing, looking, losses)
    for line in remarks:
        note(f"Note: {line}.")
    best = found.predictions() if looking.needs_rows else None
    mistakes = found.mistakes(n=looking.errors or 0)
    shown = _plain_single(found) if len(chosen) == 1 else _plain_several(found)
    shown |= held_out.plain(looking, best, mistakes, losses)
    if as_json:
        say_json(shown)
    else:
        for line in found.remarks():
            note(line)
        say(found.title().replace("cross-validation,", f"cross-validation on {model},"))
        say()
        _show_single(found) if len(chosen) == 1 else _show_several(found)
        held_out.show(looking, best, mistakes, losses)
    models = {name: found.predictions(name) for name in found.ranked} if looking.needs_rows else {}
    held_out.write(looking, models, found.best, losses, shown)
    if found.is_interrupted:
        raise KeyboardInterrupt(f"{found.notes[-1]}; the numbers are those of these folds.")


# Cross-validation


def _labelled(training: Training, comparing: Comparing) -> Labelled:
    """Return the rows with a class, their groups or times taken out."""
    for option, name in (("--groups", comparing.groups), ("--time", comparing.time)):
        if name is not None:
            others = [each for each in training.table.names if each != training.target]
            if name not in others:
                hint = did_you_mean(name, others)
                raise DataError(f"{option} must name a column of the table beside the target; got {name!r}. {hint}")
    present = training.whole.codes(training.target) >= 0
    rows = replace(training.labelled(), numbers=np.flatnonzero(present))
    return evaluation.labelled.with_splits_by(rows, groups=comparing.groups, time=comparing.time)


def _cross_validated(
    rows: Labelled, chosen: tuple[Candidate, ...], comparing: Comparing, looking: Looking, losses: np.ndarray | None
) -> Comparison:
    wanted = evaluation.cross_validation.Wanted(losses, looking.needs_rows, looking.errors or 0, looking.reject)
    with reporting("cross-validation", shares=True) as report:
        return evaluation.cross_validation.cross_validated(
            rows, chosen, comparing.folds or _FOLDS, seed=comparing.seed, repeats=comparing.repeats, wanted=wanted,
            progress=report,
        )  # fmt: skip


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
    say_comparison(found)
    say()
    say(f"{found.best}, class by class:")
    _show_classes(found.scores(found.best))


def _show_single(found: Comparison) -> None:
    usual = found.baseline_summary()
    lines = [
        [name, number_text(value.mean), number_text(value.error), number_text(usual[name].mean)]
        for name, value in found.summary(found.best).items()
    ]
    say_table(["", found.best, "± s.e.", found.baseline_name], lines)
    accuracies = [part.scores.accuracy for part in found.folds[found.best]]
    fit, predict = map(seconds_text, found.seconds(found.best))
    say(f"Accuracy of the folds: {min(accuracies):.3f} to {max(accuracies):.3f}")
    say(f"Time per fold: {fit} to learn, {predict} to predict")
    if found.verdict():
        say(found.verdict())
    say()
    _show_classes(found.scores(found.best))


# A model on new rows


def _evaluate(
    file: Path,
    data: Path,
    target: str | None,
    comparing: Comparing,
    looking: Looking,
    reading: Reading,
    *,
    as_json: bool,
) -> None:
    """Print the scores of a model on the rows of a file, which is read in batches, and those of the baseline."""
    model = load_model(file, swapped_with=data)
    column = target or model.target_name_
    refuse((column is None, "--target must name the column of the classes; the model does not know it."))
    losses = looking.losses(model.classes_.tolist())
    tally = _Tally(model, data, str(column), comparing.columns.weights, looking, reading)
    for rows in tracked(iter_rows(model, data, reading, comparing.texts.column, verbatim=False), "evaluating"):
        tally.add(rows)
    scores, baseline = tally.scores()
    usual = str(model.classes_.tolist()[int(model.class_count_.argmax())])
    found, mistakes = tally.predictions(), tally.worst()
    shown = {**scores.to_dict(), "baseline": _plain_baseline(usual, baseline), "notes": tally.notes()}
    shown |= held_out.plain(looking, found, mistakes, losses)
    if as_json:
        say_json(shown)
    else:
        for line in tally.notes():
            note(f"Note: {line}.")
        say(f"{file} on {data}: {counted(scores.n_rows, 'row')}")
        say()
        others = baseline.summary()
        cells = [[name, number_text(value), number_text(others[name])] for name, value in scores.summary().items()]
        say_table(["", "model", f"always {usual}"], cells)
        say()
        _show_classes(scores)
        held_out.show(looking, found, mistakes, losses)
    held_out.write(looking, {} if found is None else {file.stem: found}, file.stem, losses, shown)


@dataclass
class _Tally:
    """The scores of a model, added up over the batches of a file."""

    model: BayesClassifier
    path: Path
    column: str
    weights: str | None
    looking: Looking
    reading: Reading
    kept: list[Predictions] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    n_seen: int = 0
    parts: list[tuple[Scores, Scores]] = field(default_factory=list)
    ranking: Ranking | None = None
    without_class: int = 0
    unseen: set[str] = field(default_factory=set)
    known_any: bool = False
    names: tuple[str, ...] = ()
    key: int = 0
    n_keyed: int = 0

    def add(self, rows: Rows) -> None:
        """Add the rows of a batch that have a class."""
        _check_target(self.column, self.path, rows.features.column_names)
        self.names = tuple(rows.features.column_names)
        weights = _weights(rows.features, self.weights, self.path)
        true, unknown = _true_codes(self.model, rows.features[self.column])
        present = true >= -1
        self.without_class += int((~present).sum())
        self.unseen |= unknown
        self.known_any = self.known_any or bool((true >= 0).any())
        if present.any():
            numbers = self.n_seen + np.flatnonzero(present)
            self._add_scores(
                Rows(rows.features.filter(present), rows.verbatim), true[present], weights[present], numbers
            )
        self.n_seen += len(rows)

    def _add_scores(self, rows: Rows, true: np.ndarray, weights: np.ndarray, numbers: np.ndarray) -> None:
        classes = tuple(map(str, self.model.classes_.tolist()))
        log_proba = self.model.predict_log_proba(rows.read)
        if getattr(self.model, "training_key_", ""):
            self.key += key_of(self.model, rows.features)
            self.n_keyed += len(rows)
        with np.errstate(divide="ignore"):
            frequency = np.log(self.model.class_count_ / self.model.class_count_.sum())
        usual = np.broadcast_to(frequency, log_proba.shape)
        ranking = evaluation.scores.Ranking.of(true, log_proba, weights)
        self.ranking = ranking if self.ranking is None else self.ranking.merge(ranking)
        scores = evaluation.Scores.of(classes, true, log_proba, weights, ranking=ranking)
        self.parts.append((scores, evaluation.Scores.of(classes, true, usual, weights)))
        if self.looking.needs_rows or self.looking.errors:
            self._keep(rows, true, log_proba, weights, numbers)

    def _keep(
        self, rows: Rows, true: np.ndarray, log_proba: np.ndarray, weights: np.ndarray, numbers: np.ndarray
    ) -> None:
        """Keep the predictions of rows of known classes, and the worst mistakes with their explanations."""
        known = np.flatnonzero(true >= 0)
        folds = np.zeros(len(known), np.int64)
        labels = tuple(self.model.classes_.tolist())
        found = evaluation.Predictions(labels, numbers[known], true[known], log_proba[known], weights[known], folds)
        if self.looking.needs_rows:
            self.kept.append(found)
        for i in found.worst(self.looking.errors or 0).tolist():
            one = rows.read.take(pa.array([known[i]]))
            values = rows.features.drop_columns([READ] if READ in rows.features.column_names else [])
            named = values.take(pa.array([known[i]])).to_pylist()[0]
            truth, predicted = labels[found.true[i]], labels[found.predicted[i]]
            why = self.model.explain(one, label=predicted, against=truth)[0]
            p = float(np.exp(found.log_proba[i, found.true[i]]))
            self.mistakes.append(evaluation.Mistake(int(found.rows[i]), truth, predicted, p, named, why))

    @property
    def are_learned_from(self) -> bool:
        """Whether the rows are those that the model was learned from."""
        known = getattr(self.model, "training_key_", "")
        return bool(known) and known == training_key(self.n_keyed, self.key)

    def worst(self) -> list[Mistake]:
        """Return the worst mistakes of all batches."""
        return sorted(self.mistakes, key=lambda each: each.probability)[: self.looking.errors or 0]

    def predictions(self) -> Predictions | None:
        """Return the predictions of all batches, where they were kept."""
        if not self.kept:
            return None
        names = ("rows", "true", "log_proba", "weights", "folds")
        joined = [np.concatenate([getattr(part, name) for part in self.kept]) for name in names]
        return evaluation.Predictions(self.kept[0].classes, *joined)

    def scores(self) -> tuple[Scores, Scores]:
        """Return the scores of the model and of the baseline; raise when there are none."""
        if not self.parts or self.ranking is None:
            rule = f"{self.path.name} must have rows with a class"
            raise DataError(f"{rule}; every value of column {self.column!r} is missing.")
        if self.unseen and not self.known_any:
            known, got = listed(self.model.classes_.tolist()), listed(sorted(self.unseen))
            raise DataError(f"column {self.column!r} must hold classes of the model, {known}; got {got} only.")
        scores, baseline = (evaluation.scores.merged(which) for which in zip(*self.parts, strict=True))
        if not scores.weight:
            raise DataError("some row must have a weight above zero; all weights are zero.")
        return scores.ranked(self.ranking), baseline

    def notes(self) -> list[str]:
        """Return notes about the rows."""
        notes = [f"{counted(self.without_class, 'row')} without {self.column} left out"] if self.without_class else []
        if self.unseen:
            known = f"the model has not seen the classes {listed(sorted(self.unseen))}"
            notes.append(f"{known}; their rows count as wrong")
        if self.are_learned_from:
            rule = "the model was learned from these rows, so the scores are optimistic"
            notes.append(f"{rule}; cross-validation: {self._again()}")
        return notes

    def _again(self) -> str:
        """Return the command that cross-validates models on these rows, read as they were to learn this one."""
        command, kind = f"tunbridge evaluate {quote(str(self.path))}", kind_read(self.model)
        if self.path.is_dir():
            return command
        command += f" --target {quote(self.column)}"
        if kind:
            return f"{command} --{kind} --column {quote(column_of(self.model) or kind)}{self.reading.again}"
        known = reading_of(self.model)
        features = feature_names(self.model)
        rest = [name for name in self.names if name not in (*features, self.column, self.weights)]
        codes = [v.name for v in self.model.variables_ if _are_digits(v)]
        for option, some in (("--ignore", rest), ("--categorical", codes)):
            joined = [",".join(some)] if some and not any("," in name for name in some) else some
            command += "".join(f" {option} {quote(text)}" for text in joined)
        command += f" --weights {quote(self.weights)}" if self.weights is not None else ""
        return command + (self.reading.again if known is None else options_of(known))


def _are_digits(variable: Variable) -> bool:
    """Return whether categories are written as numbers: more than two, which would be read as numbers by themselves."""
    states = variable.states or ()
    return len(states) > _TWO and all(isinstance(s, str) and number_of(s) is not None for s in states)


def _check_target(column: str, path: Path, names: list[str]) -> None:
    if column not in names and path.is_dir():
        raise DataError(f"a folder to evaluate on must have a subfolder for each class; {str(path)!r} has none.")
    names = [name for name in names if name != READ]
    if column not in names:
        raise DataError(f"{path.name} must have the column of the classes, {column!r}. {did_you_mean(column, names)}")


def _true_codes(model: BayesClassifier, column: pa.ChunkedArray) -> tuple[np.ndarray, set[str]]:
    """Return the codes of classes (−1: not the model's, −2: missing), and the classes that are not the model's.

    A text may be the number that a class is: 0.0 where the classes are 0 and 1.
    """
    distinct, codes = distinct_values("class", column)
    find = Variable("class", model.classes_.tolist()).find
    known = np.array([find(value) if find(value) >= 0 else find(number_of(value)) for value in distinct] + [-2])
    return known[codes], {str(value) for value, code in zip(distinct, known, strict=False) if code == -1}


def _weights(features: pa.Table, name: str | None, path: Path) -> np.ndarray:
    if name is None:
        return np.ones(features.num_rows)
    check_column("--weights", name, path, features.column_names)
    return check_weights(to_floats(name, features[name]), features.num_rows)


# Both


def _plain_baseline(usual: str, scores: Scores) -> dict[str, Any]:
    """Return the baseline as plain values: its class and its numbers."""
    plain = scores.to_dict()
    return {"class": usual, **{k: v for k, v in plain.items() if not isinstance(v, dict) and k != "rows"}}


def _show_classes(scores: Scores) -> None:
    """Print the scores of each class, and the confusion matrix."""
    shown = [key for key in _CLASS_COLUMNS if key != "auc" or len(scores.classes) > _TWO]  # of two both have the same
    header = ["class", *(_HEADINGS.get(key, key) for key in shown)]
    say_table(
        header,
        [
            [name, *(amount(line[key]) if key == "support" else number_text(line[key]) for key in shown)]
            for name, line in scores.by_class().items()
        ],
    )
    say("precision is the positive predictive value (PPV), recall the sensitivity")
    say()
    counts = scores.confusion if scores.support[-1] else scores.confusion[:-1]
    held_out.show_matrix("Confusion matrix", list(scores.classes), counts)


def _without_texts(training: Training, chosen: Sequence[Candidate]) -> list[str]:
    """Return a line about the columns of free text, if some models do not learn from them."""
    texts = text_columns(training.table)
    others = [c.name for c in chosen if isinstance(c.estimator, evaluation.labelled.Coded)] if texts else []
    return [f"{', '.join(others)} without {', '.join(texts)}, which is free text"] if others else []


def _what_is_meant(path: Path) -> str:
    if is_network_name(path):
        rule = "what is evaluated must be a classifier or a table"
        return f"{rule}; {path.name!r} is a network. Query it with tunbridge network query."
    if is_model(path):
        return f"a model must be evaluated on a table; got {str(path)!r} alone. Name the table after it."
    return "--target must name the column of the classes when a table is cross-validated."
