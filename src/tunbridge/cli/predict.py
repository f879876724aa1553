"""``tunbridge predict``: classes, probabilities or decisions for the rows of a file of any size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import listed
from tunbridge.cli.document_rows import check_files
from tunbridge.cli.documents import OtherColumn, as_read, is_loose
from tunbridge.cli.failures import UsageError
from tunbridge.cli.network_rows import ImpossibleRows, NetworkTarget
from tunbridge.cli.options import ModelFile, Reading, check_column
from tunbridge.cli.output import counted, say, shortlist, tracked
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tunbridge.cli.losses import Losses
    from tunbridge.cli.rows import Rows

PREDICTION, RISK = "prediction", "risk"
_SHOWN = 12


@dataclass(frozen=True)
class Deciding:
    """What is done with the probabilities of a row."""

    proba: Annotated[bool, typer.Option("--proba", help="Add a column P(class) for each class.")] = False
    loss: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Losses to minimise: JSON {true: {chosen: loss}}, or CSV with true classes down, chosen ones across.",
        ),
    ] = None
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRUE:CHOSEN=LOSS",
            help="The loss of a choice, where it is not 1 if wrong, 0 if right; TRUE=LOSS: of missing a class. LOSS is "
            "a number, or a column of the rows. Repeatable.",
        ),
    ] = None
    reject: Annotated[
        float | None, typer.Option(metavar="LOSS", help="The loss of no decision; rows that risk more get none.")
    ] = None

    def losses(self, classes: list[Any], rows: Path, reading: Reading) -> Losses | None:
        """Return the losses; None when the most probable class is to be chosen."""
        from tunbridge.cli.losses import given_losses

        if self.loss is None and not self.cost and self.reject is None:
            return None
        columns = reading.column_names(rows) if self.cost and not is_loose(rows, reading) else None
        return given_losses(classes, self.loss, self.cost or [], columns)


def predict(
    model: ModelFile,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="ROWS",
            help="The rows: .csv, .tsv, .parquet, .arrow, .arff or .jsonl, also .gz; where the model reads text also a "
            "folder or .txt files.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv, .tsv or .parquet file. Otherwise CSV to stdout."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="NAME", help="The variable to predict, where the model is a network."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Write this column of the rows and no other; repeatable.")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Write the predictions without the rows' columns.")] = False,
    column: OtherColumn = None,
    *,
    deciding: Deciding,
    reading: Reading,
) -> None:
    """Predict the class of every row of a file of any size.

    The model is a classifier, or a network with a target: what a row does not know of its variables stays unknown. The
    columns of the rows come out as they came in. With losses the choice of least expected loss is written, beside its
    risk; a row without a decision has an empty prediction. A model of texts reads one column, a folder, or text files.

    Examples
    --------
    tunbridge predict model.tb rows.csv
    tunbridge predict model.tb rows.csv -o predicted.parquet --proba
    tunbridge predict model.tb patients.csv --keep patient_id --cost ill:well=20 --reject 0.5
    tunbridge predict model.tb loans.csv --cost bad=amount --cost good=100
    tunbridge predict alarm.bif rows.csv --target HYPOVOLEMIA
    tunbridge predict spam.tb new.csv --column body --proba
    tunbridge predict spam.tb inbox/ -o sorted.csv --cost ham:spam=10
    tunbridge predict spam.tb one.txt two.txt
    """
    from tunbridge.cli.rows import iter_rows
    from tunbridge.cli.writers import check_output, write_batches

    if output == Path("-"):
        output = None
    check_output(output, inputs=[*files, model])
    if only and keep:
        raise UsageError("--only must stand without --keep; got both.")
    rows = files[0]
    classifier = _predictor(model, rows, target)
    check_files(classifier, files, reading)
    work = _Work(classifier, rows, deciding)
    if work.is_number and deciding != Deciding():
        raise UsageError(f"--proba and losses must come with a target that has states; {target!r} is continuous.")
    work.losses = None if work.is_number else deciding.losses(classifier.classes_.tolist(), rows, reading)
    if isinstance(classifier, NetworkTarget):
        reading = classifier.reading(reading)
    batches = iter_rows(classifier, files, reading, column, verbatim=not only)

    def predicted() -> Iterator[pa.Table]:
        for batch in tracked(batches, "predicting", hidden=output is None):
            kept = _typed(classifier, batch) if _is_typed(output) else batch
            yield _combined(kept, work.added(batch), rows, keep=[] if only else keep or None)

    write_batches(output, predicted())
    work.impossible.tell()
    if output is not None:
        work.tell(output, target)


@dataclass
class _Work:
    """The predictions of one file, batch by batch, and what is added up on the way."""

    classifier: Any
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
        import numpy as np
        import pyarrow as pa

        if self.is_number:
            values = self.classifier.predict_numbers(batch.features)
            self.impossible.add(np.isnan(values))
            return pa.table({PREDICTION: pa.array(values, from_pandas=True)})
        scores, proba = _probabilities(self.classifier, batch)
        self.impossible.add(np.isnan(proba[:, 0]))
        losses = None if self.losses is None else self.losses.of(batch.features, self.path, self.chosen.total())
        found = _predictions(self.classifier, scores, proba, losses, self.deciding)
        self.chosen.update(_counts(found[PREDICTION]))
        if losses is not None:
            self.expected += float(np.nansum(found[RISK].to_numpy()))
        return found

    def tell(self, output: Path, target: str | None) -> None:
        """Say what is in the file that was written."""
        if self.is_number:
            say(f"{counted(self.impossible.seen, 'row')} in {output}; {PREDICTION}: the expected {target}")
            return
        counts = shortlist([f"{name} {n}" for name, n in self.chosen.most_common()], most=_SHOWN)
        say(f"{counted(self.chosen.total(), 'row')} in {output}; {PREDICTION}: {counts}")
        if self.losses is not None:
            n = self.chosen.total() - self.impossible.n
            say(f"Expected loss: {self.expected:.6g} in all, {self.expected / n if n else 0.0:.4g} a row")


def _predictor(path: Path, rows: Path, target: str | None) -> Any:
    """Return the classifier in a file, or the network in it with its target."""
    from tunbridge.cli.models import is_network, load_any

    model = load_any(path, swapped_with=rows)
    if is_network(model):
        return NetworkTarget.of(model, target, path)
    if target not in (None, model.target_name_):
        raise UsageError(f"--target must be left out with a classifier; {path.name} predicts {model.target_name_!r}.")
    return model


def _probabilities(model: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return what is largest for the most probable class, and the probabilities; NaN in rows that are impossible."""
    import numpy as np

    if isinstance(model, NetworkTarget):
        proba = model.predict_proba(rows.features)
        return proba, proba
    log_proba = model.predict_log_proba(as_read(rows.features))
    return log_proba, np.exp(log_proba)


def _predictions(model: Any, scores: np.ndarray, proba: np.ndarray, losses: Any, deciding: Deciding) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    from tunbridge.decisions import REJECT, minimum_risk

    impossible = np.isnan(proba[:, 0])
    columns: dict[str, Any] = {}
    if losses is None:
        columns[PREDICTION] = _labels(model, np.where(impossible, REJECT, scores.argmax(axis=1)))
    else:
        decided = minimum_risk(proba, losses, reject=deciding.reject)
        columns[PREDICTION] = _labels(model, np.where(impossible, REJECT, decided.choices))
        columns[RISK] = decided.risks
    if deciding.proba:
        names = [f"P({label})" for label in model.classes_.tolist()]
        columns |= dict(zip(names, proba.T.copy(), strict=True))
    return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})


def _counts(predictions: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each class was chosen."""
    pairs = predictions.value_counts().to_pylist()
    return {"(none)" if p["values"] is None else str(p["values"]): p["counts"] for p in pairs}


def _labels(model: Any, choices: np.ndarray) -> pa.Array:
    """Return the classes by their indices; −1, which stands for no decision, is missing."""
    import pyarrow as pa

    return pa.array(model.classes_.tolist()).take(pa.array(choices, mask=choices < 0))


def _typed(model: Any, rows: Rows) -> Rows:
    """Return the rows for a typed file: the model's numbers as numbers, its classes as such, empty cells as null."""
    import pyarrow as pa

    numbers = {v.name for v in model.variables_ if v.is_continuous}
    classes = pa.array(model.classes_.tolist()).type
    is_read = not isinstance(model, NetworkTarget)  # which does not look at the column of its target
    columns = []
    for name, column in zip(rows.verbatim.column_names, rows.verbatim.columns, strict=True):
        if pa.types.is_string(column.type):
            column = rows.features[name] if name in numbers else _null_if_blank(column)
            if name == model.target_name_ and is_read and pa.types.is_integer(classes):
                column = column.cast(classes)
        columns.append(column)
    return rows._replace(verbatim=pa.table(columns, names=rows.verbatim.column_names))


def _combined(rows: Rows, added: pa.Table, path: Path, *, keep: list[str] | None) -> pa.Table:
    """Return the columns of the rows that are kept, and behind them the new ones."""
    import pyarrow as pa

    names = rows.verbatim.column_names if keep is None else keep
    for name in names:
        check_column("--keep", name, path, rows.verbatim.column_names)
    twice = [n for n in added.column_names if n in names]
    if twice:
        raise DataError(
            f"{path.name} must not have the columns that are added; it has {listed(twice)}. "
            "Rename them, or choose columns with --keep."
        )
    return pa.table([*(rows.verbatim[n] for n in names), *added.columns], names=[*names, *added.column_names])


def _null_if_blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text whose empty cells are null: a typed file has a word for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _is_typed(output: Path | None) -> bool:
    return output is not None and output.suffix.lower() not in (".csv", ".tsv")
