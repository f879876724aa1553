"""The result of a comparison of models by cross-validation.

Every score is computed over all held-out rows. Its uncertainty is estimated from the differences between folds: with
values v_1 … v_k of the folds, the standard error of their mean is

    √(Σ (v_i − v̄)² / (k − 1)) / √k.

Folds share most of their training rows, so it is somewhat too small; because all models use the same folds, the
paired differences of two models are more precise than the score of either.

References
----------
Y. Bengio, Y. Grandvalet (2004). No unbiased estimator of the variance of K-fold cross-validation. JMLR 5, 1089–1105.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, counted, did_you_mean
from tunbridge._core.grid import data_frame, grid_lines, html_table, number_text, seconds_text
from tunbridge.errors import DataError
from tunbridge.evaluation.scores import METRICS, Scores, merged, plain_name

if TYPE_CHECKING:
    import pandas

    from tunbridge.evaluation.predictions import Mistake, Predictions

CRITERION = "log-loss"
COST = "cost"
SHOWN = ("accuracy", "log-loss", "Brier score", "AUC")
_WIDTH = 80
_LEFT_OUT = ("predict", "fit", "Brier score", "AUC")
_PER_ROW = ("rows", "true", "log_proba", "weights", "folds")
_FEWEST, _MOST_DIGITS = 3, 5
_TIME_WIDTH = 7


class Estimate(NamedTuple):
    """A number and its standard error (NaN if there is only one fold)."""

    mean: float
    error: float

    def text(self, digits: int = 4) -> str:
        """Return both as text.

        Examples
        --------
        >>> Estimate(0.12345, 0.006789).text(), Estimate(math.inf, math.nan).text()
        ('0.1235 ± 0.0068', '∞')
        """
        mean = number_text(self.mean, digits)
        return f"{mean} ± {self.error:.{digits}f}" if math.isfinite(self.error) else mean

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False)
class FoldResult:
    """The result of a model on one fold: its scores on the held-out rows, and its times in seconds.

    Where they were asked for, also the mean ``cost`` of a row, the ``predictions``, and the worst ``mistakes``.
    """

    fold: int
    scores: Scores
    fit_seconds: float
    predict_seconds: float
    cost: float = math.nan
    predictions: Predictions | None = None
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models compared by cross-validation, all on the same folds.

    Parameters
    ----------
    target : str
        The column of the classes.
    n_folds, random_state : int
        The number of cross-validation folds, and the random seed.
    folds : mapping of str to tuple of FoldResult
        The results of each model on each fold, in the given order of the models.
    baseline : tuple of Scores
        The scores of the class frequencies on each fold.
    usual : str
        The most frequent class, which they predict.
    notes : tuple of str
        Remarks on the data and the folds.
    failed : mapping of str to str
        Models that could not be fitted, and why.
    is_interrupted : bool
        Whether Ctrl-C ended it before all folds were done.
    how : str
        What is special about the folds: groups kept together, or the order of time.
    n_repeats : int
        How often the rows were divided into folds.
    baseline_costs : tuple of float
        The cost of the class frequencies on each fold, if there are losses.
    classes : tuple
        The classes.
    compared : ndarray of int, optional
        The numbers of the rows, counted from 0, on which models were compared: some of a large table. Those that are
        not in a held-out fold are the training rows of its models.

    Examples
    --------
    >>> import tunbridge as tb
    >>> found = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"], folds=5)
    >>> found.best
    'tan'
    >>> found.summary("nb")["accuracy"].mean
    0.83
    """

    target: str
    n_folds: int
    random_state: int
    folds: Mapping[str, tuple[FoldResult, ...]]
    baseline: tuple[Scores, ...]
    usual: str = ""
    notes: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    is_interrupted: bool = False
    how: str = ""
    n_repeats: int = 1
    baseline_costs: tuple[float, ...] = ()
    classes: tuple[Any, ...] = ()
    compared: np.ndarray | None = None

    # Results

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the given order."""
        return tuple(self.folds)

    @property
    def n_rows(self) -> int:
        """The number of held-out rows; repetitions do not count."""
        n = sum(part.n_rows for part in self.baseline[: self.n_folds])
        return n if self.n_repeats > 1 else merged(self.baseline).n_rows

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The models, the one of least log-loss first (of equals the one of least Brier score)."""
        pooled = {name: self.scores(name) for name in self.models}
        return tuple(sorted(pooled, key=lambda name: (pooled[name].log_loss, pooled[name].brier)))

    @property
    def best(self) -> str:
        """The model of least log-loss."""
        return self.ranked[0]

    def scores(self, model: str) -> Scores:
        """Return the scores of a model over all held-out rows, including its confusion matrix."""
        return merged([part.scores for part in self._parts(model)])

    def summary(self, model: str) -> dict[str, Estimate]:
        """Return accuracy, balanced accuracy, log-loss, Brier score and AUC, each with its standard error.

        With losses, also the mean cost of a row.
        """
        parts = self._parts(model)
        return self._estimates([part.scores for part in parts], [part.cost for part in parts])

    @property
    def baseline_name(self) -> str:
        """What the baseline is called: the class that it always predicts, where that is the same one in all folds.

        Its decision of least cost may be another class, and so may the most frequent class of earlier rows.
        """
        return "class frequencies" if self.baseline_costs or self.how else f"always {self.usual}"

    def baseline_summary(self) -> dict[str, Estimate]:
        """Return the same for the class frequencies."""
        return self._estimates(self.baseline, self.baseline_costs)

    def predictions(self, model: str | None = None) -> Predictions:
        """Return the probabilities that a model (default: the best) gave to the held-out rows."""
        name = self.best if model is None else model
        kept = [part.predictions for part in self._parts(name)]
        if any(each is None for each in kept):
            raise DataError(
                "predictions must be kept to be returned. Use compare_classifiers(…, keep_predictions=True)."
            )
        found = [each for each in kept if each is not None]
        joined = [np.concatenate([getattr(p, f) for p in found]) for f in _PER_ROW]
        return type(found[0])(found[0].classes, *joined)

    def mistakes(self, model: str | None = None, n: int = 10) -> tuple[Mistake, ...]:
        """Return the worst mistakes of a model (default: the best), those with the least P(true class) first."""
        parts = self._parts(self.best if model is None else model)
        found: dict[int, Mistake] = {}
        for each in sorted((m for part in parts for m in part.mistakes), key=lambda m: m.probability):
            found.setdefault(each.row, each)  # once, whatever the number of repetitions
        return tuple(found.values())[:n]

    def seconds(self, model: str) -> tuple[float, float]:
        """Return the median time to fit and to predict a fold, in seconds."""
        parts = self._parts(model)
        return tuple(float(np.median([getattr(p, f"{what}_seconds") for p in parts])) for what in ("fit", "predict"))  # type: ignore[return-value]

    def difference(self, model: str, to: str | None = None, *, metric: str = CRITERION) -> Estimate:
        """Return the difference of a model and another (default: the best), with the standard error of paired folds."""
        check_choice("metric", metric, METRICS)
        one, other = self._parts(model), self._parts(self.best if to is None else to)
        a, b = (np.array([part.scores.summary()[metric] for part in parts]) for parts in (one, other))
        mean = self.scores(model).summary()[metric] - self.scores(self.best if to is None else to).summary()[metric]
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return Estimate(0.0 if one is other else mean, math.nan)
        return Estimate(mean, self._error(a - b))

    def near_best(self) -> tuple[str, ...]:
        """Return the models whose log-loss is within one standard error of the best, in the given order.

        The error is that of the paired differences; the best model is included.
        """
        found = {name: self.difference(name) for name in self.models}
        return tuple(name for name, d in found.items() if name == self.best or d.mean <= d.error)

    # Tables

    def table(self) -> str:
        """Return the table as text: the best model first, the baseline last, median times per fold."""
        return "\n".join(grid_lines(*self.rows()))

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table.

        Columns are left out where it would be wider than 80 characters: the times first, then the Brier score.
        """
        digits = self._digits()
        shown = (*SHOWN, COST) if self.baseline_costs else SHOWN
        lines = [[name, *_texts(self.summary(name), digits, shown), *self._times(name)] for name in self.ranked]
        usual = [self.baseline_name, *_texts(self.baseline_summary(), digits, shown), "", ""]
        table = [["model", *shown, "fit", "predict"], *lines, usual]
        for name in _LEFT_OUT:
            if sum(max(map(len, column)) + 2 for column in zip(*table, strict=True)) - 2 > _WIDTH:
                place = table[0].index(name)
                table = [line[:place] + line[place + 1 :] for line in table]
        return table[0], table[1:]

    def title(self) -> str:
        """Return a description of the cross-validation on one line."""
        done, all_folds = len(self.baseline), self.n_folds * self.n_repeats
        folds = f"{self.n_folds}-fold" if done == all_folds else f"{counted(done, 'fold')} of {self.n_folds}-fold"
        times = f"repeated {self.n_repeats} times" if self.n_repeats > 1 else ""
        special = "".join(f", {what}" for what in (self.how, times) if what)
        return f"{folds} cross-validation{special}, target {self.target}, seed {self.random_state}: {self.n_rows} rows"

    def verdict(self) -> str:
        """Return a sentence on which model is the best, and which are as good."""
        usual = self.baseline_summary()[CRITERION].mean
        best = self.summary(self.best)[CRITERION].mean
        if math.isinf(best) and math.isinf(usual):
            return f"Every {CRITERION} is infinite: held-out rows have classes that no training row has."
        if not best < usual:
            what = "No model is" if len(self.models) > 1 else f"{self.best} is no"
            return f"{what} better than the class frequencies ({CRITERION} {best:.3f} against {usual:.3f})."
        if len(self.models) == 1:
            return ""
        rivals = [name for name in self.near_best() if name != self.best]
        near = f"; within one standard error of it: {', '.join(rivals)}" if rivals else ""
        return f"Lowest {CRITERION}: {self.best}{near}."

    def remarks(self) -> list[str]:
        """Return the notes, and the models that could not be fitted."""
        return [*(f"Note: {text}." for text in self.notes), *(f"{m} failed: {why}" for m, why in self.failed.items())]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per model, the best first, and the baseline last.

        Columns are the scores, their standard errors (``accuracy_error``, …), ``fit_seconds`` and ``predict_seconds``.
        """
        rows = [(self.summary(name), self.seconds(name)) for name in self.ranked]
        rows.append((self.baseline_summary(), (math.nan, math.nan)))
        columns: dict[str, list[float]] = {}
        for metric in rows[0][0]:
            columns[plain_name(metric)] = [summary[metric].mean for summary, _ in rows]
            columns[f"{plain_name(metric)}_error"] = [summary[metric].error for summary, _ in rows]
        for i, name in enumerate(("fit_seconds", "predict_seconds")):
            columns[name] = [seconds[i] for _, seconds in rows]
        return data_frame(columns, index=[*self.ranked, self.baseline_name])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; each model with its means, errors and folds."""
        return {
            "target": self.target,
            "rows": self.n_rows,
            "folds": len(self.baseline),
            **({"repeats": self.n_repeats} if self.n_repeats > 1 else {}),
            **({"splits": self.how} if self.how else {}),
            "random_state": self.random_state,
            "best": self.best,
            "models": {name: self._plain(name) for name in self.ranked},
            "baseline": {"class": self.usual, **_plain(self.baseline_summary())},
            "notes": list(self.notes),
            "failed": dict(self.failed),
        }

    def __str__(self) -> str:
        lines = [*self.remarks(), self.title(), "", self.table(), "", self.verdict()]
        return "\n".join(lines).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        above = "".join(f"<p>{html.escape(text)}</p>" for text in [*self.remarks(), self.title()])
        return f"{above}{html_table(*self.rows())}<p>{html.escape(self.verdict())}</p>"

    def _parts(self, model: str) -> tuple[FoldResult, ...]:
        if model not in self.folds:
            hint = did_you_mean(model, self.models)
            raise DataError(f"model must be one that was compared; got {model!r}. {hint}", parameter="model")
        return self.folds[model]

    def _plain(self, model: str) -> dict[str, Any]:
        fit, predict = self.seconds(model)
        by_fold = {plain_name(m): [part.scores.summary()[m] for part in self._parts(model)] for m in METRICS}
        behind = self.difference(model)
        return {
            **_plain(self.summary(model)),
            "log_loss_behind_best": {"mean": behind.mean, "error": behind.error},
            "fit_seconds": fit,
            "predict_seconds": predict,
            "by_fold": by_fold,
        }

    def _times(self, model: str) -> list[str]:
        return [seconds_text(seconds).rjust(_TIME_WIDTH) for seconds in self.seconds(model)]

    def _estimates(self, parts: Sequence[Scores], costs: Sequence[float]) -> dict[str, Estimate]:
        by_fold = [scores.summary() for scores in parts]
        pooled = merged(parts).summary()
        found = {m: Estimate(pooled[m], self._error(np.array([s[m] for s in by_fold]))) for m in METRICS}
        if self.baseline_costs:
            weights = np.array([scores.weight for scores in parts])
            found[COST] = Estimate(float(np.average(costs, weights=weights)), self._error(np.array(costs)))
        return found

    def _error(self, by_fold: np.ndarray) -> float:
        """Return the standard error of a mean over folds; over repetitions it is averaged, not made smaller."""
        starts = range(0, len(by_fold), self.n_folds)
        errors = np.array([standard_error(by_fold[start : start + self.n_folds]) for start in starts])
        known = errors[~np.isnan(errors)]
        return float(np.sqrt(np.mean(known**2))) if known.size else math.nan

    def _digits(self) -> int:
        """Return the number of digits that show the smallest standard error of the accuracy and the log-loss."""
        shown = [self.summary(name)[metric].error for name in self.models for metric in SHOWN[:2]]
        errors = [error for error in shown if 0 < error < math.inf]
        needed = math.ceil(-math.log10(min(errors))) if errors else _FEWEST
        return min(max(needed, _FEWEST), _MOST_DIGITS)


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of a mean; NaN if there are fewer than two finite values.

    Examples
    --------
    >>> standard_error(np.array([1.0, 2.0, 3.0])).__round__(6)
    0.57735
    """
    known = values[~np.isnan(values)]
    if len(known) < 2 or not np.isfinite(known).all():
        return math.nan
    return float(known.std(ddof=1) / math.sqrt(len(known)))


def _texts(summary: Mapping[str, Estimate], digits: int, shown: Sequence[str]) -> list[str]:
    return [summary[metric].text(digits) for metric in shown]


def _plain(summary: Mapping[str, Estimate]) -> dict[str, Any]:
    return {plain_name(m): {"mean": e.mean, "error": e.error} for m, e in summary.items()}
