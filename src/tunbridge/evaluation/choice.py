"""The classifier that suits a table best, chosen by cross-validated log-loss.

The log-loss, the mean of −log P(true class | x), is least on average for the model whose probabilities are true: unlike
the accuracy it tells a cautious model from a rash one, and it needs fewer rows to tell two models apart. Where several
are as good, the rule of one standard error takes the simplest of them.

References
----------
L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees, section 3.4.3 (one standard
error).
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Literal

from tunbridge._check import counted
from tunbridge.evaluation.candidates import as_candidates
from tunbridge.evaluation.comparison import CRITERION, Comparison
from tunbridge.evaluation.cross_validation import cross_validated
from tunbridge.evaluation.families import DEFAULT_MODELS
from tunbridge.evaluation.labelled import Labelled, labelled
from tunbridge.evaluation.progress import Report
from tunbridge.inference.forward import entropy_of


@dataclass(frozen=True, eq=False)
class ClassifierChoice:
    """A classifier, and the comparison by which it was chosen.

    Parameters
    ----------
    classifier : estimator
        The chosen one, learned from all rows.
    comparison : Comparison
        How well each model has done.
    name : str
        The name of the chosen one.
    reason : str
        Why it was chosen, in words.
    """

    classifier: Any
    comparison: Comparison
    name: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the classifier as plain values, for JSON."""
        return {"chosen": self.name, "reason": self.reason, **self.comparison.to_dict()}

    def __str__(self) -> str:
        return f"{self.comparison}\n\nChosen: {self.reason}\n{self.classifier!r}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.comparison._repr_html_()}<p>Chosen: {html.escape(self.reason)}</p>"


def classify(
    frame: Any,
    target: Any,
    models: Any = None,
    *,
    folds: int = 5,
    one_standard_error: bool = False,
    random_state: Any = 0,
    weights: Any = None,
    n_jobs: int | None = None,
    progress: Report | Literal[False] | None = None,
) -> ClassifierChoice:
    """Return the classifier of least cross-validated log-loss, learned from all rows, with the table of results.

    Parameters
    ----------
    frame, target, folds, random_state, weights, n_jobs, progress
        As in :func:`compare_classifiers`.
    models : as in :func:`compare_classifiers`
        What to choose from; by default eight models from naive Bayes to a forest of networks.
    one_standard_error : bool
        Take the first of the models, in the order given, whose log-loss is within one standard error (of the paired
        differences) of the least. Name the simple ones first.

    Returns
    -------
    ClassifierChoice
        The ``classifier``, the ``comparison``, and the ``reason``.

    Notes
    -----
    The log-loss of the winner is a little too good to be true, as it was the least of several. To know how good the
    choice is, hold rows out before it is made.

    Examples
    --------
    >>> import tunbridge as tb
    >>> choice = tb.classify(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"])
    >>> choice.classifier
    TANClassifier()
    >>> choice.reason
    'tan has the least log-loss of 2 models in 5-fold cross-validation.'
    >>> choice.classifier.predict({"flu": "yes", "malaria": "no"}).tolist()
    ['yes']
    """
    seed = entropy_of(random_state)
    rows = labelled(frame, target, weights=weights)
    named = DEFAULT_MODELS if models is None else models
    return choose(
        rows, as_candidates(named, random_state=seed, n_jobs=n_jobs), folds,
        seed=seed, one_standard_error=one_standard_error, progress=progress,
    )  # fmt: skip


def choose(
    rows: Labelled,
    candidates: Any,
    folds: int,
    *,
    seed: int,
    one_standard_error: bool = False,
    progress: Report | Literal[False] | None = None,
) -> ClassifierChoice:
    """Return the best of some candidates, learned from all rows."""
    comparison = cross_validated(rows, candidates, folds, seed=seed, progress=progress)
    name = comparison.near_best()[0] if one_standard_error else comparison.best
    winner = next(c for c in candidates if c.name == name)
    return ClassifierChoice(winner.fitted_on_all(rows), comparison, name, _reason(comparison, name))


def _reason(comparison: Comparison, name: str) -> str:
    n_models = len(comparison.models)
    if n_models == 1:
        return f"{name} is the only model."
    how = f"in {len(comparison.baseline)}-fold cross-validation"
    if name == comparison.best:
        return f"{name} has the least {CRITERION} of {counted(n_models, 'model')} {how}."
    return (
        f"{name} is the first of {counted(n_models, 'model')} whose {CRITERION} is within one standard error of the "
        f"least, that of {comparison.best}, {how}."
    )
