"""All sets of categories with a class and 1 000 rows or more: one setting of ours against scikit-learn's ensembles."""

from __future__ import annotations

import numpy as np

import tunbridge as tb
from benchmarks.accuracy.folds import Scored, cross_validated
from benchmarks.accuracy.sets import categorical_sets
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

MODELS = {
    "Bayes forest": tb.BayesForestClassifier(random_state=0),
    "naive Bayes": tb.NaiveBayesClassifier(),
    "TAN": tb.TANClassifier(),
    "selective k-DB": tb.SelectiveKDBClassifier(),
    "AODE": tb.AODEClassifier(),
    "RandomForest(100)": "forest",
    "HistGradientBoosting": "boosting",
}


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    found = {each.name: cross_validated(each, MODELS) for each in categorical_sets(data)}
    return [_grid("error (%)", found, lambda s: 100 - s.accuracy, 2), _grid("log-loss", found, lambda s: s.log_loss, 4)]


def _grid(what: str, found: dict[str, dict[str, Scored]], of: object, digits: int) -> Grid:
    values = np.array([[of(models[m]) for m in MODELS] for models in found.values()])  # type: ignore[operator]
    rows = [(name, *(f"{v:.{digits}f}" for v in line)) for name, line in zip(found, values, strict=True)]
    rows.append(("**mean**", *(f"{v:.{digits}f}" for v in values.mean(axis=0))))
    ranks = np.array(
        [[(line < v - 1e-9).sum() + ((np.abs(line - v) <= 1e-9).sum() + 1) / 2 for v in line] for line in values]
    )
    rows.append(("mean rank", *(f"{v:.2f}" for v in ranks.mean(axis=0))))
    return Grid((what, *MODELS), tuple(rows))
