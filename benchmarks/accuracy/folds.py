"""Ten-fold cross-validation of several models on the same folds."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.accuracy.sets import Labelled
from tunbridge.evaluation import candidates, cross_validation
from tunbridge.evaluation.labelled import labelled

FOLDS = 10
SEED = 1


class Scored(NamedTuple):
    """Means over the folds, the standard error of the accuracy, and the seconds of all folds."""

    accuracy: float
    error: float
    log_loss: float
    seconds: float


def cross_validated(data: Labelled, models: Mapping[str, Any]) -> dict[str, Scored]:
    """Return the scores of models on one data set; accuracy in per cent, over all rows as Weka counts it."""
    rows = labelled(data.table, data.target)
    fold_of = cross_validation.assign_folds(rows.codes, FOLDS, SEED)
    found = {}
    for candidate in candidates.as_candidates(models, random_state=0):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            parts = [
                cross_validation.run_once(candidate, rows.take(fold_of != f), rows.take(fold_of == f), f).scores
                for f in range(FOLDS)
            ]
        seconds = time.perf_counter() - began
        each, size = np.array([p.accuracy for p in parts]), np.array([p.n_rows for p in parts])
        error = 100 * each.std(ddof=1) / np.sqrt(FOLDS)
        log_loss = float(size @ [p.log_loss for p in parts] / size.sum())
        found[candidate.name] = Scored(100 * float(size @ each / size.sum()), error, log_loss, seconds)
    told = ", ".join(f"{name} {s.accuracy:.2f}" for name, s in found.items())
    print(f"  {data.name}: {told}", file=sys.stderr, flush=True)
    return found
