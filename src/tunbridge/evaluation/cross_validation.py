"""Stratified cross-validation: models are compared, and the best one is chosen, on folds held out one after the other.

All models use the same folds, over which the classes are spread evenly, so that differences between models are not
differences between rows. A model is fitted on the training rows of a fold only, including bins, structures, smoothing
and selection of features.

The choice is by the log-loss, the mean of −log P(true class | x). Its expected value is least for the model with the
true probabilities: unlike the accuracy it distinguishes calibrated from overconfident models, and it needs fewer rows
to separate two models. If several are equally good, the one-standard-error rule takes the simplest of them.

References
----------
L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees, section 3.4.3 (one standard
error).
R. Kohavi (1995). A study of cross-validation and bootstrap for accuracy estimation and model selection. IJCAI,
1137–1143.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_integer, counted, listed, shortened
from tunbridge._core.progress import Progress, Report, watched
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.classifiers._rows import Frame
from tunbridge.decisions import loss_matrix
from tunbridge.decisions.losses import Losses
from tunbridge.errors import DataError, TunbridgeError, UnseenStateWarning
from tunbridge.evaluation.candidates import Candidate, Models, as_candidates
from tunbridge.evaluation.comparison import Comparison, FoldResult
from tunbridge.evaluation.families import classifier_names, default_models
from tunbridge.evaluation.labelled import Labelled, labelled
from tunbridge.evaluation.predictions import Mistake, Predictions, realised_cost
from tunbridge.evaluation.scores import Scores
from tunbridge.evaluation.splits import NEVER, Splits, copies_note, group_folds, time_folds

_BAR = 24
_FEW_ROWS = 20  # from which scores say little: the standard error of an accuracy of 0.7 is 0.1 and more


def compare_classifiers(
    frame: Frame,
    target: str | ArrayLike,
    models: Models | None = None,
    *,
    folds: int = 10,
    repeats: int = 1,
    groups: str | ArrayLike | None = None,
    time: str | ArrayLike | None = None,
    loss: Losses = None,
    keep_predictions: bool = False,
    n_mistakes: int = 0,
    random_state: RandomState = 0,
    weights: str | ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Comparison:
    """Return how well models predict held-out rows, by stratified cross-validation.

    Parameters
    ----------
    frame : frame, dict of columns, Table, or array
        The rows. Those without a class are left out.
    target : str or array-like
        The name of the column of the classes, or the classes.
    models : str, estimator, sequence of these, or mapping of names to these
        Names such as ``"nb"``, ``"tan"``, ``"kdb2"``, ``"forest"`` (the page *Evaluation* lists them), of models of
        texts and sequences such as ``"complement"`` and ``"markov"``, or any scikit-learn estimators with
        ``predict_proba``. These get numbers, and one-hot encoded categories; composite ones, such as pipelines, get the
        rows unchanged.
    folds : int
        The number of folds; fewer if no class has that many rows. A rarer class is in some folds only, and its only row
        is never held out.
    repeats : int
        How often the rows are divided into folds anew. Every row is then held out that often.
    groups : str or array-like, optional
        The group of each row, or its column: a patient, a machine, an author. All rows of a group are in one fold.
    time : str or array-like, optional
        The time of each row, or its column: every fold is predicted by models of earlier rows only. Numbers, dates, or
        texts such as 2026-11-19.
    loss : None, array-like, pandas frame, or mapping, optional
        What wrong decisions cost, as in :meth:`tunbridge.NaiveBayesClassifier.decide`: the mean cost of the decisions
        of least expected cost is one more score.
    keep_predictions : bool
        Whether the result has the probabilities of all held-out rows (:meth:`Comparison.predictions`).
    n_mistakes : int
        How many of the worst mistakes the result has for each model (:meth:`Comparison.mistakes`).
    random_state : int, numpy Generator or None
        The random seed of the folds, and of models that need one.
    weights : str or array-like, optional
        The column of the weights of the rows, or the weights.
    n_jobs : int, optional
        Threads of models that have such a parameter; ``None`` for all cores. Times depend on it, results do not.
    progress : callable or False, optional
        Called with a short text and the share of the work that is done. Default: a bar in a terminal or
        notebook.

    Returns
    -------
    Comparison
        The results of each model and fold, a table of them, and the best model.

    Notes
    -----
    Ctrl-C ends the comparison; the result has the finished folds. A model that cannot be fitted is left out and listed
    in ``failed`` with the reason; it is an error only if all fail.

    Examples
    --------
    >>> import tunbridge as tb
    >>> found = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"], folds=5)
    >>> found.ranked
    ('tan', 'nb')
    """
    seed = entropy_of(random_state)
    named = default_models() if models is None else with_texts(models)
    candidates = as_candidates(named, random_state=seed, n_jobs=n_jobs)
    rows = labelled(frame, target, weights=weights, groups=groups, time=time)
    wanted = Wanted(loss, keep_predictions, n_mistakes)
    return cross_validated(rows, candidates, folds, seed=seed, repeats=repeats, wanted=wanted, progress=progress)


def with_texts(models: Models) -> Models:
    """Return models with those of texts and sequences that were named as estimators under their names."""
    words = [word.strip() for word in models.split(",")] if isinstance(models, str) else models
    if isinstance(words, Mapping):
        return {name: _text_model(model) or model for name, model in words.items()}
    if hasattr(words, "fit") or not isinstance(words, Iterable):
        return models
    words = list(words)
    found = [_text_model(word) for word in words]
    pairs = list(zip(words, found, strict=True))
    if any(found) and all(isinstance(word, str) for word in words) and len(set(words)) == len(words):
        return {word: made or word for word, made in pairs}
    return [made or word for word, made in pairs]


def _text_model(name: object) -> Any:
    """Return the model of texts or sequences of a name; None where there is none."""
    if not isinstance(name, str) or name.lower() in classifier_names():
        return None
    from tunbridge.sequences.classifier import MODELS as SEQUENCES, SequenceClassifier
    from tunbridge.text.text_classifier import MODELS as TEXTS, TextClassifier

    plain = name.strip().lower().replace("_", "-")
    return TextClassifier(plain) if plain in TEXTS else SequenceClassifier(plain) if plain in SEQUENCES else None


@dataclass(frozen=True)
class Wanted:
    """What a comparison returns besides scores and times: costs, predictions, and the worst mistakes of each model."""

    loss: Losses = None
    keep_predictions: bool = False
    n_mistakes: int = 0
    reject: float | None = None


def cross_validated(
    rows: Labelled,
    candidates: Sequence[Candidate],
    folds: int,
    *,
    seed: int,
    repeats: int = 1,
    wanted: Wanted | None = None,
    progress: Progress = None,
) -> Comparison:
    """Return the comparison of models on labelled rows."""
    if not rows.weights.sum() > 0:
        raise DataError("some row must have a weight above zero; all weights are zero.")
    splits, how, notes = splits_of(rows, folds, seed, repeats)
    if splits.is_ordered and (n := int(np.count_nonzero(splits.folds[0] == NEVER))):
        notes.append(f"{counted(n, 'row')}, the earliest, only learned from")
    if rows.left_out:
        notes.insert(0, f"{counted(rows.left_out, 'row')} without {rows.target} left out")
    notes += notes_on(rows, splits)
    contest = _Contest(rows, tuple(candidates), splits, wanted or Wanted())
    with watched(progress, show_bar, "share") as report:
        interrupted = contest.run(report or (lambda what, share: None))
    if interrupted:
        notes.append(f"interrupted after {len(contest.baseline)} of {counted(len(splits), 'fold')}")
    return Comparison(
        rows.target,
        splits.n_folds,
        seed,
        {c.name: tuple(contest.results[c.name]) for c in candidates if c.name not in contest.failed},
        tuple(contest.baseline),
        str(rows.classes[int(np.bincount(rows.codes, rows.weights).argmax())]),
        tuple(notes),
        contest.failed,
        interrupted,
        how=how,
        n_repeats=len(splits.folds),
        baseline_costs=tuple(contest.baseline_costs),
        classes=rows.classes,
        compared=rows.numbers,
    )


def splits_of(rows: Labelled, folds: int, seed: int, repeats: int) -> tuple[Splits, str, list[str]]:
    """Return which rows are held out when, in words where the folds are special, and remarks."""
    check_integer("repeats", repeats, low=1)
    if rows.groups is not None and rows.times is not None:
        raise DataError("groups and time must not come together; got both.", parameter="groups")
    if rows.times is not None:
        if repeats > 1:
            raise DataError(f"repeats must be 1 with time, which has one order; got {repeats}.", parameter="repeats")
        check_integer("folds", folds, low=2)
        fold_of = _all_held_out(time_folds(rows.times, folds), rows.weights, "time", "times", folds)
        used = int(fold_of.max()) + 1
        return Splits((fold_of,), used, is_ordered=True), "in the order of time", []
    if rows.groups is not None:
        check_integer("folds", folds, low=2)
        n = int(rows.groups.max()) + 1
        used = min(folds, n)
        if used < 2:
            raise DataError("groups must be two at least; all rows are in one group.", parameter="groups")
        notes = [f"{used} folds instead of {folds}, because there are {n} groups"] if used < folds else []
        found = tuple(group_folds(rows.codes, rows.groups, used, seed + r) for r in range(repeats))
        return Splits(found, used), f"{n} groups kept together", notes
    used, notes = possible_folds(rows.codes, folds, rows.classes, weights=rows.table.weights)
    found = tuple(assign_folds(rows.codes, used, seed + r, weights=rows.table.weights) for r in range(repeats))
    return Splits(found, used), "", notes


def notes_on(rows: Labelled, splits: Splits) -> list[str]:
    """Return remarks on rows from which scores are too uncertain, or too good."""
    few = f"scores from {counted(rows.n_rows, 'row')} say little: other rows may give very different ones"
    return [*([few] if rows.n_rows < _FEW_ROWS else []), *filter(None, [copies_note(rows.table, splits)])]


def _all_held_out(fold_of: np.ndarray, weights: np.ndarray, parameter: str, what: str, folds: int) -> np.ndarray:
    """Return the folds in the order of time without rows of weight zero; raise unless there are two at least."""
    found = np.where(weights > 0, fold_of, NEVER)
    if found.max() < 1:
        rule = f"{parameter} must have at least three different {what} to make folds"
        raise DataError(f"{rule}; got {found.max() + 2}. Leave it out.", parameter=parameter)
    return found


@dataclass
class _Contest:
    """The state of a comparison, fold by fold, so that after an interruption all models have the same folds."""

    rows: Labelled
    candidates: tuple[Candidate, ...]
    splits: Splits
    wanted: Wanted
    results: dict[str, list[FoldResult]] = field(default_factory=dict)
    baseline: list[Scores] = field(default_factory=list)
    baseline_costs: list[float] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def run(self, report: Report) -> bool:
        """Run all folds; return whether Ctrl-C ended them after the first."""
        try:
            with warnings.catch_warnings():
                # Unseen categories in held-out rows are to be expected.
                warnings.simplefilter("ignore", UnseenStateWarning)
                for fold, (train, held_out) in enumerate(self.splits):
                    self._run_fold(fold, train, held_out, report)
        except KeyboardInterrupt:
            if not self.baseline:
                raise
            return True
        return False

    def _run_fold(self, fold: int, train_mask: np.ndarray, held_out_mask: np.ndarray, report: Report) -> None:
        train, held_out = self.rows.take(train_mask), self.rows.take(held_out_mask)
        numbers = np.arange(self.rows.n_rows) if self.rows.numbers is None else self.rows.numbers
        found = {}
        for n, candidate in enumerate(self.candidates):
            report(f"{candidate.name}, fold {fold + 1}", (fold + n / len(self.candidates)) / len(self.splits))
            if candidate.name not in self.failed:
                try:
                    found[candidate.name] = run_once(
                        candidate, train, held_out, fold, wanted=self.wanted, numbers=numbers[held_out_mask]
                    )
                except Exception as error:
                    self._fail(candidate.name, error)
        for name, result in found.items():
            self.results.setdefault(name, []).append(result)
        usual = frequencies_of(train, held_out)
        self.baseline.append(scores_of(held_out, usual))
        if self.wanted.loss is not None:
            self.baseline_costs.append(_cost(held_out, usual, self.wanted))

    def _fail(self, name: str, error: Exception) -> None:
        """Record why a model failed; raise if none is left."""
        if len(self.failed) == len(self.candidates) - 1:
            raise error
        reason = str(error) if isinstance(error, TunbridgeError) else f"{type(error).__name__}: {error}"
        self.failed[name] = shortened(" ".join(reason.split()), 300)


def run_once(
    candidate: Candidate,
    train: Labelled,
    held_out: Labelled,
    fold: int,
    *,
    wanted: Wanted | None = None,
    numbers: np.ndarray | None = None,
) -> FoldResult:
    """Return the result of a model on held-out rows, of these numbers, after fitting it on others."""
    wanted = wanted or Wanted()
    began = time.perf_counter()
    model = candidate.fitted(train)
    learned = time.perf_counter()
    log_proba = candidate.log_proba(model, held_out)
    predicted = time.perf_counter()
    found = _predictions(held_out, log_proba, fold, numbers)
    return FoldResult(
        fold,
        scores_of(held_out, log_proba),
        learned - began,
        predicted - learned,
        cost=np.nan if wanted.loss is None else _cost(held_out, log_proba, wanted),
        predictions=found if wanted.keep_predictions else None,
        mistakes=_mistakes(candidate, model, held_out, found, wanted.n_mistakes),
    )


def _predictions(held_out: Labelled, log_proba: np.ndarray, fold: int, numbers: np.ndarray | None) -> Predictions:
    rows = np.arange(held_out.n_rows) if numbers is None else numbers
    folds = np.full(len(rows), fold)
    return Predictions(held_out.classes, rows, held_out.codes, log_proba, held_out.weights, folds)


def _mistakes(candidate: Candidate, model: Any, held_out: Labelled, found: Predictions, n: int) -> tuple[Mistake, ...]:
    """Return the worst mistakes of a model among held-out rows, explained where the model can."""
    worst = found.worst(n) if n else np.empty(0, np.int64)
    values = held_out.features.take(worst).to_arrow().to_pylist() if len(worst) else []
    explains = candidate.takes_tables and hasattr(model, "explain")
    mistakes = []
    for i, row in zip(worst.tolist(), values, strict=True):
        true, predicted = (held_out.classes[k] for k in (found.true[i], found.predicted[i]))
        known = true in model.classes_.tolist()
        why = (
            model.explain(held_out.features.take([i]), label=predicted, against=true)[0] if explains and known else None
        )
        p = float(np.exp(found.log_proba[i, found.true[i]]))
        mistakes.append(Mistake(int(found.rows[i]), true, predicted, p, row, why))
    return tuple(mistakes)


def frequencies_of(train: Labelled, held_out: Labelled) -> np.ndarray:
    """Return the logarithms of the class frequencies in the training rows, for each held-out row."""
    counts = np.bincount(train.codes, train.weights, len(train.classes))
    with np.errstate(divide="ignore", invalid="ignore"):
        frequencies = np.log(counts / counts.sum())
    return np.broadcast_to(frequencies, (held_out.n_rows, len(counts)))


def _cost(held_out: Labelled, log_proba: np.ndarray, wanted: Wanted) -> float:
    losses = loss_matrix(wanted.loss, list(held_out.classes))
    return realised_cost(held_out.codes, log_proba, held_out.weights, losses, wanted.reject)


def scores_of(rows: Labelled, log_proba: np.ndarray) -> Scores:
    """Return the scores of log P(c | x)."""
    return Scores.of(tuple(map(str, rows.classes)), rows.codes, log_proba, rows.weights)


def show_bar(what: str, share: float) -> str:
    """Return the line that a terminal shows."""
    bar = "█" * round(_BAR * share)
    return f"{bar:·<{_BAR}} {share:4.0%} {what} (Ctrl-C keeps what is done)"


# Folds


def assign_folds(codes: np.ndarray, n_folds: int, seed: int, *, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the fold of each row, the classes spread evenly.

    Rows that are never held out have −1: the only row of a class, without which nothing is known of the class, and rows
    of weight zero.

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.array([0, 0, 0, 0, 1, 1, 2]), 2, seed=0)
    >>> [sorted(folds[:4].tolist()), sorted(folds[4:6].tolist()), folds[6:].tolist()]
    [[0, 0, 1, 1], [0, 1], [-1]]
    """
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    by_class = by_class if weights is None else by_class[weights[by_class] > 0]
    folds = np.full(len(codes), NEVER, np.int64)
    folds[by_class] = np.arange(len(by_class)) % n_folds
    folds[np.bincount(codes[by_class], minlength=codes.max() + 1)[codes] == 1] = NEVER
    return folds


def possible_folds(
    codes: np.ndarray, asked: int, classes: Sequence[Any], *, weights: np.ndarray | None = None
) -> tuple[int, list[str]]:
    """Return how many folds are possible, and remarks on them.

    It is the requested number if some class has that many rows; a rarer class is in some of the folds only.

    Examples
    --------
    >>> import numpy as np
    >>> possible_folds(np.array([0, 0, 0, 0, 1, 1, 1]), 4, ["no", "yes"])
    (4, ["fewer rows than folds, so not in every fold: 'yes' (3)"])
    """
    check_integer("folds", asked, low=2)
    counts = np.bincount(codes if weights is None else codes[weights > 0], minlength=len(classes))
    if (counts < 2).all():
        raise DataError(
            f"cross-validation must have a class with two rows or more; got {counted(len(codes), 'row')}, each of "
            "another class. Collect more rows."
        )
    used, notes = min(asked, int(counts.max())), []
    if used < asked:
        notes.append(f"{used} folds instead of {asked}, because no class has more than {counted(used, 'row')}")
    rare = {str(classes[c]): int(counts[c]) for c in np.flatnonzero((counts > 1) & (counts < used)).tolist()}
    if rare:
        notes.append(f"fewer rows than folds, so not in every fold: {_with_counts(rare)}")
    if single := int((counts == 1).sum()):
        notes.append(f"{counted(single, 'row')} never held out, being the only one of a class")
    return used, notes


def _with_counts(rare: dict[str, int], most: int = 5) -> str:
    shown = ", ".join(f"{listed([name])} ({n})" for name, n in list(rare.items())[:most])
    return shown if len(rare) <= most else f"{shown}, … ({len(rare)} classes in all)"
