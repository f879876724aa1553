"""Models of numbers in naive Bayes, on sets other than those on which the settings of ``numeric="auto"`` were chosen.

They are no untouched test: they were looked at beside the others while settings were tried, and confirmed the choice.
Three sets of scikit-learn, tables with columns of several kinds, and tables of regression whose target is cut into
three classes. Up to 2000 rows of each, drawn with seed 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn import datasets

import tunbridge as tb
from benchmarks.accuracy.folds import FOLDS, cross_validated
from benchmarks.accuracy.sets import Labelled
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

MODELS = {
    numeric: tb.NaiveBayesClassifier(numeric=numeric) for numeric in ("auto", "gaussian", "kernel", "discretise")
} | {"TAN": tb.TANClassifier(), "Bayes forest": tb.BayesForestClassifier(random_state=0)}
_MIXED = ("autos.csv", "horse_colic.csv", "adult_train.csv.gz", "titanic_passengers.csv", "pima_missing.csv")
_ROWS = 2000


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    found = {each.name: cross_validated(each, MODELS) for each in sets(data)}
    rows = [
        (name, *(f"{scores[m].accuracy:.1f} / {scores[m].log_loss:.3f}" for m in MODELS))
        for name, scores in found.items()
    ]
    means = [np.mean([(s[m].accuracy, s[m].log_loss) for s in found.values()], axis=0) for m in MODELS]
    rows.append(("**mean**", *(f"**{accuracy:.2f} / {loss:.3f}**" for accuracy, loss in means)))
    return [Grid((f"accuracy (%) / log-loss, {FOLDS} folds", *MODELS), tuple(rows))]


def sets(data: Path) -> list[Labelled]:
    """Return the tables, each with its class as the last column."""
    found = []
    for name in ("digits", "wine", "breast_cancer"):
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        found.append(_some(name, tb.as_table({**bunch.data, "class": bunch.target.astype(str)})))
    found += [_some(name, tb.read_table(data / "tabular" / name)) for name in _MIXED]
    return found + [_in_thirds(file) for file in sorted((data / "regression").glob("*.arff"))]


def _in_thirds(file: Path) -> Labelled:
    frame = tb.read_table(file).to_pandas()
    target = frame.columns[-1]
    frame = frame[frame[target].notna()]
    classes = np.searchsorted(np.quantile(frame[target], [1 / 3, 2 / 3]), frame[target])
    return _some(file.stem, tb.as_table(frame.assign(**{target: classes.astype(str)})))


def _some(name: str, table: tb.Table) -> Labelled:
    rows = np.random.default_rng(0).permutation(table.n_rows)[:_ROWS]
    return Labelled(name, table.take(rows), table.names[-1])
