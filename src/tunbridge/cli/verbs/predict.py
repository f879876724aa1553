"""``tunbridge predict``: classes, probabilities or decisions for the rows of a file of any size.

Losses come from a file, from ``--cost TRUE:CHOSEN=LOSS``, or from both, the options on top. ``TRUE=LOSS`` is the loss
of missing a class, whatever is chosen instead. A loss is a number, or the column of the rows that holds it: the amount
of a loan, the value of a part.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.registry import verb
from tunbridge.cli.documents import check_files, is_loose
from tunbridge.cli.files import check_reads_rows, is_a, is_typed, load_any, null_if_blank, table_output, write_batches
from tunbridge.cli.networks import ImpossibleRows, NetworkTarget
from tunbridge.cli.options import ModelFile, Reading, TableOutput, check_column
from tunbridge.cli.output import counted, say, shortlist, tracked
from tunbridge.cli.rows import FarValues, OtherColumn, Rows, dialect_of_rows, iter_rows
from tunbridge.cli.usage import UsageError, near_hint, refuse
from tunbridge.data.columns import to_floats
from tunbridge.data.variable import number_of
from tunbridge.decisions import REJECT, loss_matrix, minimum_risk
from tunbridge.errors import DataError, FormatError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier

PREDICTION, RISK = "prediction", "risk"
_FORM = "TRUE:CHOSEN=LOSS"


@dataclass(frozen=True)
class Deciding:
    """Decisions.

    Parameters
    ----------
    proba
        Add a column P(class) for each class.
    loss : FILE
        Losses to minimize: JSON {true: {chosen: loss}}, or CSV with true classes in rows and chosen ones in columns.
    cost : TRUE:CHOSEN=LOSS
        The loss of a choice (default: 1 if wrong, 0 if right); TRUE=LOSS: of missing a class. LOSS is a number, or a
        column of the rows.
    reject : LOSS
        The loss of no decision; rows whose risk is higher get none.
    """

    proba: bool = False
    loss: Path | None = None
    cost: list[str] = ()  # type: ignore[assignment]
    reject: float | None = None

    @property
    def has_losses(self) -> bool:
        """Whether a decision of least expected loss is made, instead of the most probable class."""
        return self.loss is not None or bool(self.cost) or self.reject is not None


@dataclass(frozen=True)
class Writing:
    """Options.

    Parameters
    ----------
    target, -t : NAME
        The variable to predict, if the model is a network.
    keep : COL
        Write this column of the rows and no other.
    only
        Write the predictions without the columns of the rows.
    """

    output: TableOutput = None
    target: str | None = None
    keep: list[str] = ()  # type: ignore[assignment]
    only: bool = False
    column: OtherColumn = None


@verb("predict", rank=2)
def predict(
    model: ModelFile,
    files: list[Path],
    *,
    writing: Writing,
    deciding: Deciding,
    reading: Reading,
) -> None:
    """Predict the class of every row of a file of any size.

    The model is a classifier, or a network with a target: values that a row does not have stay unknown. The columns of
    the rows come out as they were. With losses the choice of least expected loss is written, and its risk; a row
    without a decision has an empty prediction. A model of texts reads one column, a folder, or text files.

    Parameters
    ----------
    files : ROWS
        The rows: {table_format}, also with .gz, or several such files; for a model of texts also a folder or .txt
        files.

    Examples
    --------
    tunbridge predict model.tb rows.csv
    tunbridge predict model.tb rows.csv -o predicted.parquet --proba
    tunbridge predict model.tb patients.csv --keep patient_id --cost diseased:healthy=20 --reject 0.5
    tunbridge predict model.tb loans.csv --cost bad=amount --cost good=100
    tunbridge predict alarm.bif rows.csv --target HYPOVOLEMIA
    tunbridge predict spam.tb new.csv --column body --proba
    tunbridge predict spam.tb inbox/ -o sorted.csv --cost ham:spam=10
    tunbridge predict spam.tb one.txt two.txt
    """
    output, only, keep = table_output(writing.output, [*files, model]), writing.only, writing.keep
    refuse((only and keep, "--only must come without --keep; got both."))
    rows, target = files[0], writing.target
    classifier = _predictor(model, rows, target)
    check_files(classifier, files, reading)
    work = _Work(classifier, rows, deciding)
    rule = f"--proba and losses must come with a target that has states; {target!r} is continuous."
    refuse((work.is_number and (deciding.proba or deciding.has_losses), rule))
    if isinstance(classifier, NetworkTarget):
        reading = classifier.reading(reading)
    batches = iter_rows(classifier, files, reading, writing.column, verbatim=not only)
    has_columns = not is_loose(rows, reading)

    far = FarValues(classifier)

    def predicted() -> Iterator[pa.Table]:
        for n, batch in enumerate(tracked(batches, "predicting", hidden=output is None)):
            far.add(batch.features)
            if n == 0 and deciding.has_losses:
                columns = batch.features.column_names if has_columns else []
                work.losses = given_losses(classifier.classes_.tolist(), deciding.loss, deciding.cost, columns)
            kept = _typed(classifier, batch) if is_typed(output) else batch.verbatim
            yield _combined(kept, work.added(batch), rows, keep=[] if only else keep or None)

    write_batches(output, predicted(), dialect_of_rows(rows, reading, classifier))
    work.impossible.warn("no class is predicted for them")
    far.say()
    if output is not None:
        work.report(output, target)


@dataclass
class _Work:
    """The predictions of one file, batch by batch, and what is added up on the way."""

    classifier: BayesClassifier | NetworkTarget
    path: Path
    deciding: Deciding
    losses: Losses | None = None
    chosen: Counter[str] = field(default_factory=Counter)
    expected: float = 0.0
    impossible: ImpossibleRows = field(default_factory=ImpossibleRows)

    @property
    def is_number(self) -> bool:
        """Whether the target is a number, of which a network gives the expected value."""
        return isinstance(self.classifier, NetworkTarget) and self.classifier.is_number

    def added(self, batch: Rows) -> pa.Table:
        """Return the columns that are added to the rows of a batch."""
        model = self.classifier
        if isinstance(model, NetworkTarget) and model.is_number:
            values = model.predict_numbers(batch.features)
            self.impossible.add(np.isnan(values))
            return pa.table({PREDICTION: pa.array(values, from_pandas=True)})
        if isinstance(model, NetworkTarget):
            scores = proba = model.predict_proba(batch.features)
        else:
            scores = model.predict_log_proba(batch.read)
            proba = np.exp(scores)
        self.impossible.add(np.isnan(proba[:, 0]))
        found = pa.table(
            {name: pa.array(column, from_pandas=True) for name, column in self._columns(batch, scores, proba).items()}
        )
        pairs = found[PREDICTION].value_counts().to_pylist()
        self.chosen.update({"(none)" if p["values"] is None else str(p["values"]): p["counts"] for p in pairs})
        return found

    def _columns(self, batch: Rows, scores: np.ndarray, proba: np.ndarray) -> dict[str, pa.Array | np.ndarray]:
        """Return predictions and what goes with them; ``scores`` are largest for the most probable class."""
        columns: dict[str, pa.Array | np.ndarray] = {}
        labels, impossible = self.classifier.classes_.tolist(), np.isnan(proba[:, 0])
        if self.losses is None:
            choices = scores.argmax(axis=1)
        else:
            losses = self.losses.of(batch.features, self.path, self.chosen.total())
            decided = minimum_risk(proba, losses, reject=self.deciding.reject)
            choices, columns[RISK] = decided.choices, decided.risks
            self.expected += float(np.nansum(decided.risks))
        choices = np.where(impossible, REJECT, choices)  # which is −1 and means no decision
        columns = {PREDICTION: pa.array(labels).take(pa.array(choices, mask=choices < 0)), **columns}
        if self.deciding.proba:
            columns |= {f"P({label})": p.copy() for label, p in zip(labels, proba.T, strict=True)}
        return columns

    def report(self, output: Path, target: str | None) -> None:
        """Print what is in the file that was written."""
        if self.is_number:
            say(f"{counted(self.impossible.seen, 'row')} in {output}; {PREDICTION}: the expected {target}")
            return
        counts = shortlist([f"{name} {n}" for name, n in self.chosen.most_common()])
        say(f"{counted(self.chosen.total(), 'row')} in {output}; {PREDICTION}: {counts}")
        if self.losses is not None:
            n = self.chosen.total() - self.impossible.n
            say(f"Expected loss: {self.expected:.6g} in total, {self.expected / n if n else 0.0:.4g} per row")


def _predictor(path: Path, rows: Path, target: str | None) -> BayesClassifier | NetworkTarget:
    """Return the classifier in a file, or the network in it with its target."""
    model = load_any(path, swapped_with=rows)
    if is_a("BayesianNetwork", model):
        return NetworkTarget.of(model, target, path)
    check_reads_rows(path, model)
    rule = f"--target must be left out with a classifier; {path.name} predicts {model.target_name_!r}."
    refuse((target not in (None, model.target_name_), rule))
    return model


def _typed(model: BayesClassifier | NetworkTarget, rows: Rows) -> pa.Table:
    """Return the rows for a typed file: the model's numbers as numbers, its classes as such, empty values as null."""
    numbers = {v.name for v in model.variables_ if v.is_continuous}
    classes = pa.array(model.classes_.tolist()).type
    is_read = not isinstance(model, NetworkTarget)  # which does not look at the column of its target
    columns = []
    for name, column in zip(rows.verbatim.column_names, rows.verbatim.columns, strict=True):
        if pa.types.is_string(column.type):
            column = rows.features[name] if name in numbers else null_if_blank(column)
            if name == model.target_name_ and is_read and pa.types.is_integer(classes):
                column = column.cast(classes)
        columns.append(column)
    return pa.table(columns, names=rows.verbatim.column_names)


def _combined(rows: pa.Table, added: pa.Table, path: Path, *, keep: list[str] | None) -> pa.Table:
    """Return the columns of the rows that are kept, and behind them the new ones."""
    names = rows.column_names if keep is None else keep
    for name in names:
        check_column("--keep", name, path, rows.column_names)
    twice = [n for n in added.column_names if n in names]
    if twice:
        rule = f"{path.name} must not have the columns that are added; it has {listed(twice)}."
        raise DataError(f"{rule} Rename them, or choose columns with --keep.")
    return pa.table([*(rows[n] for n in names), *added.columns], names=[*names, *added.column_names])


# Losses


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses λ_ij of choosing j when i is true, and the columns of the rows that hold some of them.

    Parameters
    ----------
    matrix : ndarray
        The losses that are the same in all rows.
    columns : mapping of (int, int) to str
        Those that the rows hold: the column of each pair.
    """

    matrix: np.ndarray
    columns: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def of(self, rows: pa.Table, path: Path, start: int = 0) -> np.ndarray:
        """Return the matrix, or one a row; ``start`` is the number of rows before these."""
        if not self.columns:
            return self.matrix
        out = np.tile(self.matrix, (rows.num_rows, 1, 1))
        for (i, j), name in self.columns.items():
            out[:, i, j] = _amounts(rows, name, path, start)
        return out


def given_losses(classes: list[Any], file: Path | None, costs: list[str], columns: list[str] | None = None) -> Losses:
    """Return the losses that options give; ``columns`` are those of the rows.

    Examples
    --------
    >>> given_losses(["diseased", "healthy"], None, ["diseased:healthy=10"]).matrix.tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    >>> given_losses(["bad", "good"], None, ["bad=5"]).matrix.tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    >>> dict(given_losses(["bad", "good"], None, ["bad=amount"], ["age", "amount"]).columns)
    {(0, 1): 'amount'}
    """
    matrix = loss_matrix({} if file is None else _read(file), classes)
    names = [str(c) for c in classes]
    held: dict[tuple[int, int], str] = {}
    for cost in costs:
        what, value = _cost(cost, columns or [])
        for pair in _pairs(what, names):
            held.pop(pair, None)
            if isinstance(value, str):
                held[pair] = value
            else:
                matrix[pair] = value
    return Losses(loss_matrix(matrix, classes), held)


def _cost(text: str, columns: list[str]) -> tuple[str, float | str]:
    """Return what an option gives the loss of, and the loss: a number, or the name of a column."""
    for name in sorted(columns, key=len, reverse=True):
        if text.endswith(f"={name}") and number_of(name) is None:
            return text[: -len(name) - 1], name
    what, sign, value = text.rpartition("=")
    if sign and what and number_of(value) is not None:
        return what, float(value)
    hint = near_hint(value, columns) if sign else ""
    raise UsageError(f"--cost must be {_FORM} with a number or a column of the rows; got {text!r}.{hint}")


def _pairs(text: str, names: list[str]) -> list[tuple[int, int]]:
    """Return the pairs (true, chosen) of ``TRUE:CHOSEN``, or of ``TRUE`` and all others; names may hold colons."""
    if text in names:
        i = names.index(text)
        return [(i, j) for j in range(len(names)) if j != i]
    cuts = [i for i, c in enumerate(text) if c == ":"]
    for i in cuts:
        if text[:i] in names and text[i + 1 :] in names:
            return [(names.index(text[:i]), names.index(text[i + 1 :]))]
    true, _, chosen = text.partition(":")
    wrong = true if true not in names else chosen
    raise DataError(f"--cost must name classes of the model; got {wrong!r}. {did_you_mean(wrong, names)}")


def _amounts(rows: pa.Table, name: str, path: Path, start: int) -> np.ndarray:
    """Return the losses in a column of the rows."""
    found = np.asarray(to_floats(name, rows[name]))
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise DataError(
            f"{path.name} must have a number in column {name!r} of every row, because it is a loss; row "
            f"{start + int(bad[0]) + 1} has none."
        )
    return found


def _read(file: Path) -> Any:  # what JSON holds is checked by the library
    if file.suffix.lower() not in (".json", ".csv"):
        raise DataError(f"--loss must be a .json or .csv file; got {file.name!r}.")
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text) if file.suffix.lower() == ".json" else _table(text, file)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{file.name} must hold losses in {file.suffix[1:].upper()}; {error}.") from None


def _table(text: str, file: Path) -> dict[str, dict[str, float]]:
    """Return the losses in a CSV file: a header with the chosen classes, then a line for each true one."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    header, *others = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line] or [[]]
    if len(header) < 2 or not others:
        rule = f"{file.name} must hold a header with the chosen classes and a line for each true one"
        raise FormatError(f"{rule}; got {first!r} and {len(others)} more lines.")
    losses: dict[str, dict[str, float]] = {}
    for number, (true, *values) in enumerate(others, start=2):
        if len(values) + 1 != len(header):
            rule = f"{file.name} must have as many fields in every line as in its first, {len(header)}"
            raise FormatError(f"{rule}; got {len(values) + 1}.", line=number)
        if true in losses:
            raise FormatError(f"{file.name} must have one line for each true class; {true!r} has two.", line=number)
        losses[true] = dict(zip(header[1:], map(float, values), strict=True))
    return losses
