"""A model on the rows of a file that it has not seen, read in batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.documents import READ, as_read
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Reading, check_column
from tunbridge.cli.output import counted, tracked
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from tunbridge.evaluation import Scores


class Evaluation(NamedTuple):
    """The scores of a model and of the baseline, and what was done to get them."""

    title: str
    scores: Scores
    baseline: Scores
    usual: str
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {**self.scores.to_dict(), "baseline": plain_baseline(self.usual, self.baseline), "notes": self.notes}


def evaluate_model(
    model_file: Path,
    path: Path,
    target: str | None,
    weights: str | None,
    reading: Reading,
    *,
    read: str | None = None,
) -> Evaluation:
    """Return the scores of a model on the rows of a file, which is read in batches.

    A model of texts or sequences reads the column ``read``, where it is not the one learned from.
    """
    from tunbridge.cli.models import load_model
    from tunbridge.cli.rows import iter_rows

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
    return Evaluation(f"{model_file} on {path}", scores, baseline, usual, tally.notes(column))


class _Tally:
    """What is added up over the batches of a file."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes = tuple(map(str, model.classes_.tolist()))
        self.parts: list[tuple[Scores, Scores]] = []
        self.ranking: Any = None
        self.without_class, self.strangers, self.known_any = 0, set[str](), False

    def add(self, features: Any, column: str, weights: np.ndarray) -> None:
        """Add the rows of a batch that have a class."""
        true, unknown = _true_codes(self.model, features[column])
        present = true >= -1
        self.without_class += int((~present).sum())
        self.strangers |= unknown
        self.known_any = self.known_any or bool((true >= 0).any())
        if present.any():
            self._add_scores(features.filter(present), true[present], weights[present])

    def _add_scores(self, rows: Any, true: np.ndarray, weights: np.ndarray) -> None:
        import numpy as np

        from tunbridge.evaluation.ranking import Ranking
        from tunbridge.evaluation.scores import Scores

        log_proba = self.model.predict_log_proba(as_read(rows))
        with np.errstate(divide="ignore"):
            frequency = np.log(self.model.class_count_ / self.model.class_count_.sum())
        usual = np.broadcast_to(frequency, log_proba.shape)
        ranking = Ranking.of(true, log_proba, weights)
        self.ranking = ranking if self.ranking is None else self.ranking.merge(ranking)
        scores = Scores.of(self.classes, true, log_proba, weights, ranking=ranking)
        self.parts.append((scores, Scores.of(self.classes, true, usual, weights)))

    def scores(self, column: str, path: Path) -> tuple[Scores, Scores]:
        """Return the scores of the model and of the baseline; raise when there are none."""
        from tunbridge.evaluation.scores import merged

        if not self.parts:
            raise DataError(f"{path.name} must have rows with a class; every cell of column {column!r} is missing.")
        if self.strangers and not self.known_any:
            raise DataError(
                f"column {column!r} must hold classes of the model, {listed(self.model.classes_.tolist())}; got "
                f"{listed(sorted(self.strangers))} only."
            )
        scores, baseline = (merged(which) for which in zip(*self.parts, strict=True))
        if not scores.weight:
            raise DataError("some row must have a weight above zero; all weights are zero.")
        return scores.ranked(self.ranking), baseline

    def notes(self, column: str) -> list[str]:
        """Return what is to be said of the rows."""
        notes = [f"{counted(self.without_class, 'row')} without {column} left out"] if self.without_class else []
        if self.strangers:
            known = f"the model does not know the classes {listed(sorted(self.strangers))}"
            notes.append(f"{known}; their rows count as wrong")
        return notes


def _check_target(column: str, path: Path, names: list[str]) -> None:
    if column not in names and path.is_dir():
        raise DataError(f"a folder that is evaluated on must have a subfolder for each class; {str(path)!r} has none.")
    names = [name for name in names if name != READ]
    if column not in names:
        raise DataError(f"{path.name} must have the column of the classes, {column!r}. {did_you_mean(column, names)}")


def _true_codes(model: Any, column: Any) -> tuple[np.ndarray, set[str]]:
    """Return the codes of classes (−1: not the model's, −2: missing), and the classes that are not the model's."""
    import numpy as np

    from tunbridge.data import Variable
    from tunbridge.data.columns import distinct_values

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
    import numpy as np

    from tunbridge.data.columns import to_floats
    from tunbridge.data.table import check_weights

    if name is None:
        return np.ones(features.num_rows)
    check_column("--weights", name, path, features.column_names)
    return check_weights(to_floats(name, features[name]), features.num_rows)


def plain_baseline(usual: str, scores: Scores) -> dict[str, Any]:
    """Return the baseline as plain values: its class and its numbers."""
    plain = scores.to_dict()
    return {"class": usual, **{k: v for k, v in plain.items() if not isinstance(v, dict) and k != "rows"}}
