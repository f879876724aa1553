"""What ``tunbridge evaluate`` shows and writes of predictions for rows that a model has not seen.

Costs, thresholds, curves, the worst mistakes, and files with all of it: of a cross-validation, and of a model on new
rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._core.grid import number_text
from tunbridge.cli.files import check_output, check_picture, replacing, table_output, write_batches, write_picture
from tunbridge.cli.output import amount, json_ready, note, say, say_table
from tunbridge.cli.usage import UsageError, refuse
from tunbridge.cli.verbs.predict import given_losses
from tunbridge.data.variable import number_of
from tunbridge.decisions import minimum_risk

if TYPE_CHECKING:
    from tunbridge.evaluation import Mistake, Predictions

_WIDTH = 80
_PAIRS = 15
_NONE = "(none)"


@dataclass(frozen=True)
class Looking:
    """Costs, curves and mistakes.

    Parameters
    ----------
    cost : TRUE:CHOSEN=LOSS
        The loss of a choice (default: 1 if wrong, 0 if right); TRUE=LOSS: of missing a class. The mean cost of the
        decisions of least expected loss is shown.
    errors : N >= 1
        Show the N worst mistakes, and why they were made.
    plot : FILE
        Draw ROC, precision–recall, lift, calibration and cost curves into a .png, .svg or .pdf file.

    Other Parameters
    ----------------
    loss : FILE
        Losses: JSON {true: {chosen: loss}}, or CSV with true classes in rows and chosen ones in columns.
    reject : LOSS
        The loss of no decision; rows whose risk is higher get none.
    positive : CLASS
        The class that thresholds and curves are about (default: the rarest one).
    thresholds : P,P,…
        Show what these thresholds on its probability do.
    predictions : FILE
        Write the probabilities of every row to a .csv, .tsv or .parquet file.
    output, -o : FILE
        Write the results as JSON into a file, too.
    """

    cost: list[str] = ()  # type: ignore[assignment]
    loss: Path | None = None
    reject: float | None = None
    positive: str | None = None
    thresholds: str | None = None
    errors: int | None = None
    plot: Path | None = None
    predictions: Path | None = None
    output: Path | None = None

    def check(self, inputs: Iterable[Path]) -> None:
        """Raise for files that cannot be written, and options that do nothing."""
        inputs = list(inputs)
        check_picture(self.plot, inputs)
        table_output(self.predictions, inputs)
        if self.output is not None:
            check_output(self.output, inputs, (".json",))
        needs = self.thresholds or self.plot
        refuse((self.positive and not needs, "--positive must come with --thresholds or --plot."))
        _ = self.levels

    @property
    def needs_rows(self) -> bool:
        """Whether the probabilities of all rows are needed."""
        return bool(self.has_losses or self.thresholds or self.plot or self.predictions)

    @property
    def has_losses(self) -> bool:
        """Whether there are costs."""
        return self.loss is not None or bool(self.cost) or self.reject is not None

    @property
    def levels(self) -> list[float]:
        """The thresholds; raise for what is no probability."""
        found = []
        for text in (self.thresholds or "").replace(",", " ").split():
            number = number_of(text)
            if number is None or not 0 <= number <= 1:
                raise UsageError(f"--thresholds must be numbers from 0 to 1, such as 0.1,0.5; got {text!r}.")
            found.append(float(number))
        return found

    def losses(self, classes: Iterable[Any]) -> np.ndarray | None:
        """Return the losses λ_ij, or None where there are none."""
        return given_losses(list(classes), self.loss, self.cost).matrix if self.has_losses else None


def plain(
    looking: Looking, found: Predictions | None, mistakes: Iterable[Mistake], losses: np.ndarray | None
) -> dict[str, Any]:
    """Return what the options ask for as JSON values."""
    out: dict[str, Any] = {}
    if found is not None and losses is not None:
        out["cost"] = found.cost(losses, reject=looking.reject)
    if found is not None and looking.levels:
        k = found.code_of(looking.positive)
        header, lines = found.thresholds(looking.positive).rows(looking.levels, **_costs(losses, k))
        out["positive"] = str(found.classes[k])
        out["thresholds"] = [dict(zip(header, map(float, line), strict=True)) for line in lines]
    if looking.errors:
        out["mistakes"] = [each.to_dict() for each in mistakes]
    return out


def show(looking: Looking, found: Predictions | None, mistakes: Iterable[Mistake], losses: np.ndarray | None) -> None:
    """Print what the options ask for."""
    if found is not None and losses is not None:
        say()
        _show_decisions(found, losses, looking.reject)
    if found is not None and looking.levels:
        k = found.code_of(looking.positive)
        say()
        say(f"Thresholds on P({found.classes[k]}):")
        say_table(*found.thresholds(looking.positive).rows(looking.levels, **_costs(losses, k)))
    if looking.errors:
        shown = list(mistakes)
        say()
        say("The worst mistakes:" if shown else "No row is predicted wrong.")
        for each in shown:
            say()
            say(str(each))


def write(looking: Looking, models: Mapping[str, Predictions], best: str, losses: np.ndarray | None, data: Any) -> None:
    """Write the files that the options ask for: predictions, curves, and the results as JSON."""
    if looking.predictions is not None:
        write_batches(looking.predictions, iter([_prediction_table(models)]))
        note(f"The predictions are in {looking.predictions}.")
    if looking.plot is not None:
        _draw(looking, models, best, losses)
    if looking.output is not None:
        text = json.dumps(json_ready(data), ensure_ascii=False, indent=2, default=str)
        with replacing(looking.output) as file:
            file.write_text(text + "\n", encoding="utf-8")
        note(f"The results are in {looking.output}.")


def _prediction_table(models: Mapping[str, Predictions]) -> pa.Table:
    """Return the predictions of all models, one below the other, with their names where they are several."""
    tables = []
    for name, found in models.items():
        table = found.to_arrow()
        tables.append(table.add_column(0, "model", [[name] * len(found)]) if len(models) > 1 else table)
    return pa.concat_tables(tables)


def _draw(looking: Looking, models: Mapping[str, Predictions], best: str, losses: np.ndarray | None) -> None:
    found = models[best]
    k = found.code_of(looking.positive)
    n = len(found.classes)
    matrix = np.zeros((n, n))
    np.add.at(matrix, (found.true, found.predicted), found.weights)
    shown = dict(list({best: found, **models}.items())[:7])
    same_rows = {name: each.proba[np.argsort(each.rows, kind="stable"), k] for name, each in shown.items()}
    order = np.argsort(found.rows, kind="stable")
    write_picture(
        looking.plot,  # type: ignore[arg-type]
        lambda plots: plots.performance(
            found.true[order] == k, same_rows, label=str(found.classes[k]), sample_weight=found.weights[order],
            matrix=(matrix, [str(c) for c in found.classes]), **_costs(losses, k),
        ),
    )  # fmt: skip


def _costs(losses: np.ndarray | None, k: int) -> dict[str, float]:
    """Return what it costs to miss a class, and a false alarm, on average over the other classes."""
    if losses is None:
        return {}
    others = np.arange(len(losses)) != k
    return {"false_negative": float(losses[k, others].mean()), "false_positive": float(losses[others, k].mean())}


def _show_decisions(found: Predictions, losses: np.ndarray, reject: float | None) -> None:
    """Print the decisions of least expected cost by true class, and what they cost."""
    choices = minimum_risk(found.proba, losses, reject=reject).choices
    n = len(found.classes)
    counts = np.zeros((n, n + 1))
    np.add.at(counts, (found.true, np.where(choices < 0, n, choices)), found.weights)
    by_class = np.bincount(found.true, found.weights, n)
    constant = (by_class @ losses) / by_class.sum()
    names = [str(c) for c in found.classes]
    cheapest = int(constant.argmin())
    say(f"Cost per row: {number_text(found.cost(losses, reject=reject))} with the decisions of least expected cost")
    say(f"              {number_text(float(constant[cheapest]))} if {names[cheapest]} is always chosen")
    say()
    show_matrix("Decisions of least expected cost", names, counts if reject is not None else counts[:, :n])


def show_matrix(title: str, names: list[str], counts: np.ndarray) -> None:
    """Print a matrix of true and predicted classes; only the most frequent mistakes where it is too wide.

    There may be a further row, of classes that the model does not know, and a further column, of no decision.
    """
    columns = [*names, *([_NONE] if counts.shape[1] > len(names) else [])]
    rows = [*names, *(["(unknown to the model)"] if len(counts) > len(names) else [])]
    cells = [[name, *map(amount, line)] for name, line in zip(rows, counts, strict=True)]
    width = max(map(len, rows)) + sum(
        2 + max(map(len, column)) for column in zip(columns, *(c[1:] for c in cells), strict=True)
    )
    if width <= _WIDTH:
        say(f"{title} (rows: true class, columns: {'chosen' if _NONE in columns else 'predicted'} class):")
        say_table(["", *columns], cells)
        return
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS]
    pairs = [(int(i // wrong.shape[1]), int(i % wrong.shape[1])) for i in order.tolist()]
    say(f"{title}: the most frequent mistakes (--output FILE.json writes all)")
    say_table(
        ["true class", "predicted", "rows"],
        [[rows[i], columns[j], amount(wrong[i, j])] for i, j in pairs if wrong[i, j] > 0],
        left=(0, 1),
    )
