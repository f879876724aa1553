"""Cross-validation: each part of the rows is held out once, while models learn from the others.

All models see the same parts, in which the classes are spread evenly, so that differences between models are not
differences between rows. Whatever a model learns, it learns from the training rows of a fold alone: cut points,
structures, smoothing and choices of features included.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tunbridge._check import counted, shortened
from tunbridge.errors import DataError, TunbridgeError, UnseenStateWarning
from tunbridge.evaluation.candidates import Candidate, as_candidates
from tunbridge.evaluation.comparison import Comparison, FoldResult
from tunbridge.evaluation.families import DEFAULT_MODELS
from tunbridge.evaluation.folds import assign_folds, possible_folds
from tunbridge.evaluation.labelled import Labelled, labelled
from tunbridge.evaluation.progress import Report, watched
from tunbridge.evaluation.scores import Scores
from tunbridge.inference.forward import entropy_of


def compare_classifiers(
    frame: Any,
    target: Any,
    models: Any = None,
    *,
    folds: int = 10,
    random_state: Any = 0,
    weights: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> Comparison:
    """Return how well models predict rows that they have not seen, by stratified cross-validation.

    Parameters
    ----------
    frame : frame, dict of columns, Table, or array
        The rows. Those without a class are left out.
    target : str or array-like
        The name of the column of the classes, or the classes.
    models : str, estimator, sequence of these, or mapping of names to these
        Names such as ``"nb"``, ``"tan"``, ``"kdb2"``, ``"forest"`` (the page *Evaluation* lists them), or estimators of
        any make that have ``predict_proba``. An estimator of another make gets numbers, and categories as columns of
        zeros and ones; one that is made of others, such as a pipeline, gets the rows as they are.
    folds : int
        How many parts are held out in turns; fewer where no class has so many rows. A rarer class is in some parts
        only, and its only row is never held out.
    random_state : int, numpy Generator or None
        What decides which rows come into which part, and the seed of models that need one.
    weights : str or array-like, optional
        The column that holds the rows' weights, or the weights.
    n_jobs : int, optional
        Threads of models that have such a parameter; ``None`` takes every core. Times depend on it, results do not.
    progress : callable or False, optional
        Called with what is going on and the share of the work that is done. By default a bar in a terminal, and
        nothing elsewhere.

    Returns
    -------
    Comparison
        The results of each model and fold, a table of them, and the best model.

    Notes
    -----
    Ctrl-C ends the comparison; what is returned has the folds that were done. A model that cannot be learned is left
    out, and stands in ``failed`` with the reason; it is an error only if all are.

    References
    ----------
    R. Kohavi (1995). A study of cross-validation and bootstrap for accuracy estimation and model selection. IJCAI,
    1137–1143.

    Examples
    --------
    >>> import tunbridge as tb
    >>> found = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"], folds=5)
    >>> found.ranked
    ('tan', 'nb')
    """
    seed = entropy_of(random_state)
    candidates = as_candidates(DEFAULT_MODELS if models is None else models, random_state=seed, n_jobs=n_jobs)
    rows = labelled(frame, target, weights=weights)
    return cross_validated(rows, candidates, folds, seed=seed, progress=progress)


def cross_validated(
    rows: Labelled,
    candidates: Sequence[Candidate],
    folds: int,
    *,
    seed: int,
    progress: Report | Literal[False] | None = None,
) -> Comparison:
    """Return the comparison of models on labelled rows."""
    if not rows.weights.sum() > 0:
        raise DataError("some row must have a weight above zero; all weights are zero.")
    used, notes = possible_folds(rows.codes, folds, rows.classes, weights=rows.table.weights)
    if rows.left_out:
        notes.insert(0, f"{counted(rows.left_out, 'row')} without {rows.target} left out")
    fold_of = assign_folds(rows.codes, used, seed, weights=rows.table.weights)
    contest = _Contest(rows, tuple(candidates), fold_of, used)
    with watched(progress) as report:
        interrupted = contest.run(report)
    if interrupted:
        notes.append(f"interrupted after {len(contest.baseline)} of {counted(used, 'fold')}")
    return Comparison(
        rows.target,
        used,
        seed,
        {c.name: tuple(contest.results[c.name]) for c in candidates if c.name not in contest.failed},
        tuple(contest.baseline),
        str(rows.classes[int(np.bincount(rows.codes, rows.weights).argmax())]),
        tuple(notes),
        contest.failed,
        interrupted,
    )


@dataclass
class _Contest:
    """The work of a comparison: fold by fold, so that an interruption leaves all models with the same folds."""

    rows: Labelled
    candidates: tuple[Candidate, ...]
    fold_of: np.ndarray
    n_folds: int
    results: dict[str, list[FoldResult]] = field(default_factory=dict)
    baseline: list[Scores] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def run(self, report: Report) -> bool:
        """Do all folds; return whether somebody has interrupted after the first of them."""
        try:
            with warnings.catch_warnings():
                # A state that only a held-out row has is to be expected here, and says nothing about the data.
                warnings.simplefilter("ignore", UnseenStateWarning)
                for fold in range(self.n_folds):
                    self._run_fold(fold, report)
        except KeyboardInterrupt:
            if not self.baseline:
                raise
            return True
        return False

    def _run_fold(self, fold: int, report: Report) -> None:
        train, held_out = self.rows.take(self.fold_of != fold), self.rows.take(self.fold_of == fold)
        found = {}
        for n, candidate in enumerate(self.candidates):
            report(f"{candidate.name}, fold {fold + 1}", (fold + n / len(self.candidates)) / self.n_folds)
            if candidate.name not in self.failed:
                try:
                    found[candidate.name] = run_once(candidate, train, held_out, fold)
                except Exception as error:
                    self._fail(candidate.name, error)
        for name, result in found.items():
            self.results.setdefault(name, []).append(result)
        self.baseline.append(_baseline(train, held_out))

    def _fail(self, name: str, error: Exception) -> None:
        """Note why a model has failed; raise when none is left."""
        if len(self.failed) == len(self.candidates) - 1:
            raise error
        reason = str(error) if isinstance(error, TunbridgeError) else f"{type(error).__name__}: {error}"
        self.failed[name] = shortened(" ".join(reason.split()), 300)


def run_once(candidate: Candidate, train: Labelled, held_out: Labelled, fold: int) -> FoldResult:
    """Return how a model does on rows held out, having learned from others."""
    began = time.perf_counter()
    model = candidate.fitted(train)
    learned = time.perf_counter()
    log_proba = candidate.log_proba(model, held_out)
    predicted = time.perf_counter()
    return FoldResult(fold, _scores(held_out, log_proba), learned - began, predicted - learned)


def _baseline(train: Labelled, held_out: Labelled) -> Scores:
    """Return the scores of the frequencies that the classes have in the training rows."""
    counts = np.bincount(train.codes, train.weights, len(train.classes))
    with np.errstate(divide="ignore", invalid="ignore"):
        frequencies = np.log(counts / counts.sum())
    return _scores(held_out, np.broadcast_to(frequencies, (held_out.n_rows, len(counts))))


def _scores(rows: Labelled, log_proba: np.ndarray) -> Scores:
    return Scores.of(tuple(map(str, rows.classes)), rows.codes, log_proba, rows.weights)
