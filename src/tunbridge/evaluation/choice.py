"""The best of several models: by cross-validation of all, or by a race within a time budget.

In a race all models learn from the same folds, which are run one by one. After each fold the loss of every row,
−log P(c | x), is compared with that of the best model so far; a model whose mean difference is more than three standard
errors above zero cannot win and is dropped. No fold is begun for which the time would not suffice, by what the models
took before. Large tables are represented by some of their rows. The winner is learned from all rows; if that would take
too long, the next best that does not.

Within the budget the result does not depend on the speed of the machine; a table that needs more than the budget may
give another model on a faster one.

References
----------
O. Maron, A. W. Moore (1997). The racing algorithm: model selection for lazy learners. Artificial Intelligence Review
11, 193–225.
"""

from __future__ import annotations

import html
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import as_list, check_known, check_number, counted, shortened, warn_user
from tunbridge._core.grid import seconds_text
from tunbridge._core.progress import Progress, Report, watched
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.data import Frame
from tunbridge.data.remarks import remarks, text_columns, useless_columns
from tunbridge.errors import DataError, DataWarning, TunbridgeError, UnseenStateWarning
from tunbridge.evaluation.candidates import Candidate, Models, as_candidates
from tunbridge.evaluation.comparison import CRITERION, Comparison, FoldResult
from tunbridge.evaluation.cross_validation import (
    Wanted,
    cross_validated,
    frequencies_of,
    notes_on,
    run_once,
    scores_of,
    show_bar,
    splits_of,
    with_texts,
)
from tunbridge.evaluation.labelled import Labelled, labelled
from tunbridge.evaluation.scores import Scores, plain_name
from tunbridge.evaluation.splits import Splits

if TYPE_CHECKING:
    import pandas

RACERS = ("nb", "bayes-forest", "aode", "tan", "skdb")
"""The models that race by default: a simple one, which always has the time, then those that most often are the best."""

BUDGET = 20.0
"""The default time budget in seconds."""

_ROWS, _PROBE = 5_000, 500  # rows of a large table that are looked at, and those that tell the time of a fold
_RARE = 20  # rows of a rare class among those that are looked at, at least
_FAR = 3.0  # standard errors behind the best
_LEAST_GROWTH = 0.3  # of the time of a fold that grows with the rows, at least
_TOO_LONG = "would take too long to learn from all rows"
_LEAST_LOG = -700.0  # of a probability: a zero counts as this
_KEPT = Wanted(keep_predictions=True)


@dataclass(frozen=True, eq=False)
class ClassifierChoice:
    """A classifier, and the comparison it was chosen by.

    It can be used as the classifier itself: ``predict``, ``explain``, ``save`` and all else that it has.

    Parameters
    ----------
    classifier : estimator
        The chosen one, fitted on all rows.
    comparison : Comparison
        The results of all models.
    name : str
        The name of the chosen one.
    reason : str
        Why it was chosen.
    remarks : tuple of str
        What looked odd about the data (see :func:`tunbridge.remarks`), and which columns were left out.
    """

    classifier: Any
    comparison: Comparison
    name: str
    reason: str
    remarks: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "classifier" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.classifier, name)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the comparison as a frame (see :meth:`Comparison.to_pandas`)."""
        return self.comparison.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the classifier as JSON values."""
        return {"chosen": self.name, "reason": self.reason, "remarks": list(self.remarks), **self.comparison.to_dict()}

    def __str__(self) -> str:
        notes = "".join(f"Note: {text}.\n" for text in self.remarks)
        return f"{self.comparison}\n\n{notes}Chosen: {self.reason}\n{self.classifier!r}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.comparison._repr_html_()}<p>Chosen: {html.escape(self.reason)}</p>"


def classify(
    frame: Frame,
    target: str | ArrayLike,
    models: Models | None = None,
    *,
    folds: int = 5,
    budget: float | None = None,
    one_standard_error: bool = False,
    random_state: RandomState = 0,
    weights: str | ArrayLike | None = None,
    keep: Sequence[str] = (),
    n_jobs: int | None = None,
    progress: Progress = None,
) -> ClassifierChoice:
    """Return the classifier of least cross-validated log-loss, fitted on all rows, with the comparison.

    Columns that look like identifiers or have only one value are left out, with a warning.

    Parameters
    ----------
    frame, target, folds, random_state, weights, n_jobs, progress
        As in :func:`compare_classifiers`.
    models : as in :func:`compare_classifiers`
        The models to choose from; default: five models from naive Bayes to a forest of networks.
    budget : float, optional
        A time budget in seconds. Models race: those that cannot win are dropped after each fold, and no fold is begun
        for which the time does not suffice; of more than 5000 rows some are compared, and the comparison has their
        ``predictions()``. Default: 20 without ``models``; with them all run all folds. ``math.inf`` is a race without a
        limit.
    keep : sequence of str
        Columns to learn from although they look like identifiers, or have only one value.
    one_standard_error : bool
        Whether to take the first of the models, in the given order, whose log-loss is within one standard error (of the
        paired differences) of the least. Name simple models first.

    Returns
    -------
    ClassifierChoice
        The ``classifier``, the ``comparison``, the ``reason``, and ``remarks`` about the data. It can be used like the
        classifier itself.

    Notes
    -----
    The log-loss of the winner is slightly optimistic, as it is the least of several. To evaluate the choice itself,
    hold out rows before it is made. A race that the budget ends may have another winner on another machine.

    Examples
    --------
    >>> import tunbridge as tb
    >>> choice = tb.classify(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"])
    >>> choice.classifier
    TANClassifier()
    >>> choice.reason
    'tan has the least log-loss of 2 models in 5-fold cross-validation.'
    >>> choice.predict({"flu": "yes", "malaria": "no"}).tolist()
    ['yes']
    """
    seed = entropy_of(random_state)
    rows = labelled(frame, target, weights=weights)
    gone = _useless(rows, as_list("keep", keep, "column names"))
    if gone:
        told = "; ".join(f"{name!r} {what}" for name, what in gone.items())
        warn_user(f"columns are left out: {told}. keep=[{next(iter(gone))!r}] keeps a column.", DataWarning)
    rows, found = rows.without(gone), remarks(rows.table, rows.target)
    candidates = as_candidates(RACERS if models is None else with_texts(models), random_state=seed, n_jobs=n_jobs)
    if models is None and budget is None:
        budget = BUDGET
    choice = choose(
        rows, candidates, folds, seed=seed, budget=budget, one_standard_error=one_standard_error, progress=progress
    )
    return replace(choice, remarks=tuple(found))


def _useless(rows: Labelled, keep: Sequence[str]) -> dict[str, str]:
    """Return the features to leave out, and why: none if there are no others, or features have no names."""
    names = rows.features.names
    check_known("keep must name columns of the data", keep, names)
    found = useless_columns(rows.table, keep=[rows.target, *keep, *text_columns(rows.features)])
    is_named = rows.is_named or rows.source is None or hasattr(rows.source, "columns")
    return found if is_named and len(found) < len(names) else {}


def choose(
    rows: Labelled,
    candidates: Sequence[Candidate],
    folds: int,
    *,
    seed: int,
    budget: float | None = None,
    one_standard_error: bool = False,
    progress: Progress = None,
) -> ClassifierChoice:
    """Return the best of several candidates, fitted on all rows; with a budget they race."""
    candidates = _able(rows, candidates)
    if budget is not None and len(candidates) > 1:
        seconds = budget if budget == math.inf else check_number("budget", budget, above=0)
        race = _raced(rows, tuple(candidates), folds, seed, seconds, progress)
        winner, comparison = race.winner(one_standard_error), race.comparison(seed)
        is_late = any(note.endswith(_TOO_LONG) for note in comparison.notes)
    else:
        wanted = None if budget is None else _KEPT
        comparison = cross_validated(rows, candidates, folds, seed=seed, wanted=wanted, progress=progress)
        name = comparison.near_best()[0] if one_standard_error else comparison.best
        winner, is_late = next(c for c in candidates if c.name == name), False
    classifier = winner.fitted_on_all(rows)
    if isinstance(classifier, BayesClassifier):
        classifier.evaluation_ = _recorded(comparison, winner.name)
    reason = _reason(comparison, winner.name, len(candidates))
    if is_late:
        reason = f"{winner.name} has the least {CRITERION} of the models that can be learned from all rows in time."
    return ClassifierChoice(classifier, comparison, winner.name, reason)


def _able(rows: Labelled, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the models that can learn from the rows: of texts alone not those that must have other columns."""
    features = rows.features
    if len(text_columns(features)) < features.n_columns:
        return candidates
    return [c for c in candidates if not getattr(c.estimator, "needs_columns", False)] or candidates


def _recorded(comparison: Comparison, name: str) -> dict[str, float]:
    """Return the scores that a model keeps of the comparison it was chosen by; infinite ones are left out."""
    scores = comparison.scores(name).summary()
    known = {plain_name(metric): value for metric, value in scores.items() if np.isfinite(value)}
    return {**known, "folds": float(len(comparison.baseline))}


def _reason(comparison: Comparison, name: str, n_models: int) -> str:
    if n_models == 1:
        return f"{name} is the only model."
    done = len(comparison.baseline)
    how = f"in {done}-fold cross-validation" if done == comparison.n_folds else f"in {counted(done, 'fold')}"
    if name == comparison.best:
        return f"{name} has the least {CRITERION} of {counted(n_models, 'model')} {how}."
    return (
        f"{name} is the first of {counted(n_models, 'model')} whose {CRITERION} is within one standard error of the "
        f"least, that of {comparison.best}, {how}."
    )


# The race


def _raced(
    rows: Labelled, candidates: tuple[Candidate, ...], folds: int, seed: int, budget: float, progress: Progress
) -> _Race:
    """Return a race that is over."""
    began = time.perf_counter()
    if not rows.weights.sum() > 0:
        raise DataError("some row must have a weight above zero; all weights are zero.")
    some, notes = rows, []
    if rows.n_rows > _ROWS:
        some = rows.take(_some(rows, _ROWS, seed))
        notes = [f"compared on {some.n_rows} of {rows.n_rows} rows"]
    splits, _, more = splits_of(some, folds, seed, 1)
    more += notes_on(some, splits)
    if rows.left_out:
        notes.append(f"{counted(rows.left_out, 'row')} without {rows.target} left out")
    race = _Race(some, candidates, splits, rows.n_rows, budget, began, notes=[*notes, *more])
    with watched(progress, show_bar, "share") as report:
        race.run(report or (lambda what, share: None))
    return race


def _some(rows: Labelled, n: int, seed: int) -> np.ndarray:
    """Return a mask of so many rows that have a weight, each class with its share of them.

    A rare class has some rows at least, all of them if it has no more.
    """
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(rows.weights > 0))
    by_class = drawn[np.argsort(rows.codes[drawn], kind="stable")]
    codes = rows.codes[by_class]
    counts = np.bincount(codes, minlength=len(rows.classes))
    place = np.arange(len(codes)) - (np.cumsum(counts) - counts)[codes]
    least = min(_RARE, n // (2 * len(counts)))
    order = np.argsort(np.where(place < least, 0.0, (place + 0.5) / counts[codes]), kind="stable")
    mask = np.zeros(rows.n_rows, np.bool_)
    mask[by_class[order[:n]]] = True
    return mask


@dataclass
class _Race:
    """The state of a race.

    Parameters
    ----------
    rows : Labelled
        The rows.
    candidates : tuple of Candidate
        Those that are still in the race.
    splits : Splits
        The folds.
    n_all : int
        The number of rows that the winner is learned from.
    budget : float
        Seconds.
    began : float
        When it began.
    """

    rows: Labelled
    candidates: tuple[Candidate, ...]
    splits: Splits
    n_all: int
    budget: float
    began: float
    notes: list[str]
    results: dict[str, list[FoldResult]] = field(default_factory=dict)
    losses: dict[str, list[np.ndarray]] = field(default_factory=dict)
    masses: list[np.ndarray] = field(default_factory=list)
    baseline: list[Scores] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    probes: dict[str, float] = field(default_factory=dict)
    is_interrupted: bool = False

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.budget - (time.perf_counter() - self.began)

    def run(self, report: Report) -> None:
        """Run as many folds as the time permits, until Ctrl-C ends them after the first."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenStateWarning)  # in held-out rows they are to be expected
                for fold, (train, held_out) in enumerate(self.splits):
                    if fold and not self._has_time():
                        done = f"{counted(fold, 'fold')} of {self.splits.n_folds}"
                        self.notes.append(f"the time budget of {self.budget:g} s sufficed for {done}")
                        break
                    self._run_fold(fold, self.rows.take(train), self.rows.take(held_out), report)
                    if fold + 1 < self.splits.n_folds:
                        self._drop_far(fold)
        except KeyboardInterrupt:
            if not self.baseline:
                raise
            self.notes.append(f"interrupted after {len(self.baseline)} of {counted(self.splits.n_folds, 'fold')}")
            self.is_interrupted = True

    def winner(self, one_standard_error: bool) -> Candidate:
        """Return the best candidate that can be learned from all rows in the time that is left."""
        order = self._order()
        if one_standard_error:
            near = self.comparison(0).near_best()
            order = sorted(order, key=lambda c: c.name not in near)
        inside = [c for c in order if self._seconds_for_all(c.name) <= self.left]
        quickest = min(order, key=lambda c: self._seconds_for_all(c.name))
        chosen = inside[0] if inside else quickest
        if chosen is not order[0]:
            self.notes.append(f"{order[0].name} {_TOO_LONG}")
        return chosen

    def comparison(self, seed: int) -> Comparison:
        """Return the results of the candidates that ran all folds."""
        return Comparison(
            self.rows.target,
            self.splits.n_folds,
            seed,
            {c.name: tuple(self.results[c.name]) for c in self.candidates},
            tuple(self.baseline),
            str(self.rows.classes[int(np.bincount(self.rows.codes, self.rows.weights).argmax())]),
            tuple(self.notes),
            self.failed,
            self.is_interrupted,
            classes=self.rows.classes,
            compared=self.rows.numbers,
        )

    def _order(self) -> list[Candidate]:
        """Return the candidates, the one of least loss first."""
        return sorted(self.candidates, key=lambda c: self._mean(c.name))

    def _mean(self, name: str) -> float:
        mass = np.concatenate(self.masses)
        return float(np.concatenate(self.losses[name]) @ mass / mass.sum())

    def _run_fold(self, fold: int, train: Labelled, held_out: Labelled, report: Report) -> None:
        if not fold:
            self.probes = self._probed(train)
        found: dict[str, FoldResult] = {}
        for n, candidate in enumerate(self.candidates):
            name, share = candidate.name, (fold + n / len(self.candidates)) / self.splits.n_folds
            report(f"{name}, fold {fold + 1}", share)
            expected = self.probes.get(name, 0.0) * train.n_rows / _PROBE if not fold else 0.0
            if found and 1.5 * expected > self.left:
                about = f"a fold would take about {seconds_text(expected).strip()}"
                self.notes.append(f"{name} left out: {about if expected else 'the time budget is used up'}")
                continue
            try:
                found[name] = run_once(candidate, train, held_out, fold, wanted=_KEPT, numbers=held_out.numbers)
            except Exception as error:
                self._fail(name, error, is_last=not found and n == len(self.candidates) - 1)
        self.candidates = tuple(c for c in self.candidates if c.name in found)
        for name, result in found.items():
            assert result.predictions is not None
            logs = result.predictions.log_proba[np.arange(held_out.n_rows), held_out.codes]
            self.losses.setdefault(name, []).append(-np.maximum(logs, _LEAST_LOG))
            self.results.setdefault(name, []).append(result)
        self.baseline.append(scores_of(held_out, frequencies_of(train, held_out)))
        self.masses.append(held_out.weights)

    def _fail(self, name: str, error: Exception, *, is_last: bool) -> None:
        """Record why a model failed; raise if none is left."""
        if is_last:
            raise error
        reason = str(error) if isinstance(error, TunbridgeError) else f"{type(error).__name__}: {error}"
        self.failed[name] = shortened(" ".join(reason.split()), 300)

    def _probed(self, train: Labelled) -> dict[str, float]:
        """Return how long each model takes for some of the rows, if they are many."""
        if train.n_rows <= 4 * _PROBE or not math.isfinite(self.budget):
            return {}
        few = train.take(_some(train, _PROBE, 0))
        found = {}
        for candidate in self.candidates:
            began = time.perf_counter()
            try:
                candidate.log_proba(candidate.fitted(few), few)
            except Exception:
                continue  # the fold tells why
            found[candidate.name] = time.perf_counter() - began
        return found

    def _seconds_for_all(self, name: str) -> float:
        """Return about how long it takes to learn a model from all rows, part of which does not grow with the rows."""
        if name == RACERS[0]:
            return 0.0  # one pass over the rows
        n_rows = self.rows.n_rows * (1.0 - 1.0 / self.splits.n_folds)
        most = max(part.fit_seconds for part in self.results[name])
        if name not in self.probes:
            return most * self.n_all / n_rows
        slope = (most - self.probes[name]) / (n_rows - _PROBE)
        return self.probes[name] + max(slope, _LEAST_GROWTH * most / n_rows) * self.n_all

    def _has_time(self) -> bool:
        last = [self.results[c.name][-1] for c in self.candidates]
        fold = sum(part.fit_seconds + part.predict_seconds for part in last)
        return fold + self._seconds_for_all(self._order()[0].name) <= self.left

    def _drop_far(self, fold: int) -> None:
        """Drop the candidates that are far behind the best."""
        best, mass = self._order()[0].name, np.concatenate(self.masses)
        kept = []
        for candidate in self.candidates:
            behind = np.concatenate(self.losses[candidate.name]) - np.concatenate(self.losses[best])
            mean = float(behind @ mass / mass.sum())
            error = math.sqrt(float((behind - mean) ** 2 @ mass / mass.sum()) / max(1, len(mass)))
            if candidate.name == best or mean <= _FAR * error:
                kept.append(candidate)
                continue
            ours, least = self._mean(candidate.name), self._mean(best)
            when = f"after {counted(fold + 1, 'fold')}"
            self.notes.append(f"{candidate.name} left out {when}: {CRITERION} {ours:.3f}, {best} {least:.3f}")
        self.candidates = tuple(kept)
