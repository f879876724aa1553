"""``tunbridge evaluate``: how good a model is, on rows it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import is_network_name
from tunbridge.cli.options import AsJson, Learning, Reading, check_column
from tunbridge.cli.output import amount, counted, note, say, say_json, say_table, tracked
from tunbridge.errors import DataError, UnseenStateWarning

if TYPE_CHECKING:
    import numpy as np

    from tunbridge.cli.scores import Scores
    from tunbridge.cli.training import Training


class Evaluation(NamedTuple):
    """The scores of a model and of the baseline, and what was done to get them."""

    title: str
    scores: Scores
    baseline: Scores
    usual: str
    notes: list[str]
    folds: list[float]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        baseline = {k: v for k, v in self.baseline.to_dict().items() if not isinstance(v, dict) and k != "rows"}
        folds = {"accuracy_by_fold": self.folds} if self.folds else {}
        return {**self.scores.to_dict(), "baseline": {"class": self.usual, **baseline}, **folds, "notes": self.notes}


def evaluate(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|DATA", help="A model, for the table that follows; or a table, for cross-validation."
        ),
    ],
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="Rows that the model has not seen.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The column of the classes.")
    ] = None,
    folds: Annotated[int, typer.Option(help="The number of parts that are held out in turns.", min=2)] = 10,
    seed: Annotated[int, typer.Option(help="What decides which rows come into which part.", min=0)] = 0,
    as_json: AsJson = False,
    *,
    learning: Learning,
    reading: Reading,
) -> None:
    """Evaluate a model on new rows, or learning by cross-validation.

    Accuracy, balanced accuracy, log-loss and Brier score stand beside those of the baseline, which always says the
    commonest class, with the frequencies of the classes as probabilities.

    Examples
    --------
    tunbridge evaluate model.tb new_rows.csv
    tunbridge evaluate tennis.csv --target play
    tunbridge evaluate patients.csv --target drug --folds 5 --numeric kernel --json
    """
    if data is not None:
        _check_no_learning(learning)
        found = evaluate_model(model, data, target, learning.weights, reading)
    elif target is None or is_network_name(model):
        raise UsageError(_what_is_meant(model))
    else:
        found = cross_validate(model, target, folds, seed, learning, reading)
    if as_json:
        say_json(found.to_dict())
    else:
        _show(found)


def evaluate_model(
    model_file: Path, path: Path, target: str | None, weights: str | None, reading: Reading
) -> Evaluation:
    """Return the scores of a model on the rows of a file, which is read in batches."""
    from tunbridge.cli.models import load_model
    from tunbridge.cli.rows import iter_rows

    model = load_model(model_file, swapped_with=path)
    column = target or model.target_name_
    if column is None:
        raise UsageError("--target must name the column of the classes; the model does not know it.")
    parts, without_class, strangers, known_any = [], 0, set(), False
    for rows in tracked(iter_rows(model, path, reading, verbatim=False), "evaluating"):
        _check_target(column, path, rows.features.column_names)
        true, unknown = _true_codes(model, rows.features[column])
        weight = _weights(rows.features, weights, path)
        present = true >= -1
        without_class += int((~present).sum())
        strangers |= unknown
        known_any = known_any or bool((true >= 0).any())
        if present.any():
            batch = rows.features.filter(present)
            parts.append(_scored(model, batch, true[present], weight[present]))
    if not parts:
        raise DataError(f"{path.name} must have rows with a class; every cell of column {column!r} is missing.")
    notes = [f"{counted(without_class, 'row')} without {column} left out"] if without_class else []
    if strangers and not known_any:
        raise DataError(
            f"column {column!r} must hold classes of the model, {listed(model.classes_.tolist())}; got "
            f"{listed(sorted(strangers))} only."
        )
    if strangers:
        notes.append(f"the model does not know the classes {listed(sorted(strangers))}; their rows count as wrong")
    return _evaluation(f"{model_file} on {path}", parts, _usual(model), notes, folds=[])


def cross_validate(
    path: Path, target: str, n_folds: int, seed: int, learning: Learning, reading: Reading
) -> Evaluation:
    """Return the scores of rows that were held out, each once, while the others were learned from."""
    from tunbridge.cli.training import new_classifier, read_training

    training = read_training(path, target, learning, reading)
    used, notes = _possible_folds(training, n_folds)
    fold_of = assign_folds(training.table.codes(target), used, seed)
    parts = []
    with warnings.catch_warnings():
        # A state that only a held-out row has is to be expected here, and says nothing about the data.
        warnings.simplefilter("ignore", UnseenStateWarning)
        for fold in tracked(range(used), "cross-validation", total=used):
            model = new_classifier(training, learning).fit(training.table.take(fold_of != fold), target)
            held_out = training.table.take(fold_of == fold)
            parts.append(_scored(model, held_out, held_out_codes(model, held_out, target), _table_weights(held_out)))
    title = f"{used}-fold cross-validation on {path}, target {target}, seed {seed}"
    whole = new_classifier(training, learning).fit(training.table, target)
    return _evaluation(title, parts, _usual(whole), notes, folds=[scores.accuracy for scores, _ in parts])


def assign_folds(codes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, the classes spread evenly; −1 for the only row of a class, which is never held out.

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.array([0, 0, 0, 0, 1, 1, 2]), 2, seed=0)
    >>> [sorted(folds[:4].tolist()), sorted(folds[4:6].tolist()), folds[6:].tolist()]
    [[0, 0, 1, 1], [0, 1], [-1]]
    """
    import numpy as np

    shuffled = np.random.default_rng(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), np.int64)
    folds[by_class] = np.arange(len(codes)) % n_folds
    folds[np.bincount(codes)[codes] == 1] = -1
    return folds


def held_out_codes(model: Any, table: Any, target: str) -> np.ndarray:
    """Return the codes of the rows' classes among those of the model."""
    import numpy as np

    known = np.array([model.statistics_.target.find(s) for s in table.variable(target).states or ()])
    return known[table.codes(target)]


def _possible_folds(training: Training, asked: int) -> tuple[int, list[str]]:
    """Return how many folds the classes allow, and what to say about it."""
    import numpy as np

    table, notes = training.table, [f"{training.left_out} left out"] if training.left_out else []
    counts = np.bincount(table.codes(training.target))
    counts = counts[counts > 0]
    if (counts < 2).all():
        raise DataError("cross-validation must have a class with two rows or more; every class has one row only.")
    single = int((counts == 1).sum())
    used = min(asked, max(2, int(counts[counts > 1].min())))
    if used < asked:
        notes.append(f"{used} folds instead of {asked}, because a class has only {used} rows")
    if single:
        notes.append(f"{counted(single, 'row')} never held out, being the only one of a class")
    return used, notes


def _check_target(column: str, path: Path, names: list[str]) -> None:
    if column not in names:
        raise DataError(f"{path.name} must have the column of the classes, {column!r}. {did_you_mean(column, names)}")


def _true_codes(model: Any, column: Any) -> tuple[np.ndarray, set[str]]:
    """Return the codes of classes (−1: not the model's, −2: missing), and the classes that are not the model's."""
    import numpy as np

    from tunbridge.data.columns import distinct_values

    distinct, codes = distinct_values("class", column)
    find = model.statistics_.target.find
    known = np.array([find(value) if find(value) >= 0 else find(_as_number(value)) for value in distinct] + [-2])
    return known[codes], {str(value) for value, code in zip(distinct, known, strict=False) if code == -1}


def _as_number(value: Any) -> Any:
    """Return the number that a text means: 0.0 where the classes are 0 and 1; anything else as it is."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _weights(features: Any, name: str | None, path: Path) -> np.ndarray:
    import numpy as np

    from tunbridge.data.columns import to_floats
    from tunbridge.data.table import check_weights

    if name is None:
        return np.ones(features.num_rows)
    check_column("--weights", name, path, features.column_names)
    return check_weights(to_floats(name, features[name]), features.num_rows)


def _table_weights(table: Any) -> np.ndarray:
    import numpy as np

    return np.ones(table.n_rows) if table.weights is None else table.weights


def _scored(model: Any, rows: Any, true: np.ndarray, weights: np.ndarray) -> tuple[Scores, Scores]:
    """Return the scores of the model and of the baseline on some rows."""
    import numpy as np

    from tunbridge.cli.scores import Scores

    classes = tuple(map(str, model.classes_.tolist()))
    with np.errstate(divide="ignore"):
        frequency = np.log(model.class_count_ / model.class_count_.sum())
    usual = np.broadcast_to(frequency, (len(true), len(classes)))
    return Scores.of(classes, true, model.predict_log_proba(rows), weights), Scores.of(classes, true, usual, weights)


def _usual(model: Any) -> str:
    return str(model.classes_.tolist()[int(model.class_count_.argmax())])


def _evaluation(title: str, parts: Any, usual: str, notes: list[str], *, folds: list[float]) -> Evaluation:
    scores, baseline = (reduce(lambda a, b: a.merge(b), which) for which in zip(*parts, strict=True))
    if not scores.confusion.sum():
        raise DataError("some row must have a weight above zero; all weights are zero.")
    return Evaluation(title, scores, baseline, usual, notes, folds)


def _check_no_learning(learning: Learning) -> None:
    """Raise for options that would do nothing: a model from a file has been learned already."""
    default = Learning()
    for name in ("numeric", "smoothing", "prior", "categorical", "ignore"):
        if getattr(learning, name) != getattr(default, name) and getattr(learning, name) != []:
            raise UsageError(f"--{name} must be left out when a model is evaluated; it has been learned already.")


def _what_is_meant(path: Path) -> str:
    from tunbridge.cli.models import is_model

    if is_network_name(path):
        rule = "what is evaluated must be a classifier or a table"
        return f"{rule}; {path.name!r} is a network. Ask it with tunbridge query."
    if is_model(path):
        return f"a model must be evaluated on a table; got {str(path)!r} alone. Name the table after it."
    return "--target must name the column of the classes when a table is cross-validated."


def _show(found: Evaluation) -> None:
    scores = found.scores
    for line in found.notes:
        note(f"Note: {line}.")
    say(f"{found.title}: {counted(scores.n_rows, 'row')}")
    say()
    usual = found.baseline.summary()
    say_table(
        ["", "model", f"always {found.usual}"],
        [[name, _number(value), _number(usual[name])] for name, value in scores.summary().items()],
    )
    if len(found.folds) > 1:
        say(f"Accuracy of the folds: {min(found.folds):.3f} to {max(found.folds):.3f}")
    say()
    say_table(["class", "precision", "recall", "support"], list(_class_lines(scores)))
    say()
    say("Rows by true class (down) and predicted class (across):")
    say_table(["", *scores.classes], list(_confusion_lines(scores)))


def _class_lines(scores: Scores) -> Iterator[list[str]]:
    for line in zip(scores.classes, scores.precision, scores.recall, scores.support[:-1], strict=True):
        yield [line[0], _number(line[1]), _number(line[2]), amount(line[3])]


def _confusion_lines(scores: Scores) -> Iterator[list[str]]:
    from tunbridge.cli.scores import UNKNOWN

    names = (*scores.classes, *([UNKNOWN] if scores.support[-1] else []))
    for name, row in zip(names, scores.confusion, strict=False):
        yield [name, *map(amount, row)]


def _number(value: float) -> str:
    return "–" if value != value else "∞" if value == float("inf") else f"{value:.4f}"
