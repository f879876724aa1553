"""What `tunbridge learn` gives without options: the winner of a race of 20 seconds, on held-out rows.

Each fold is held out of the whole choice. The sets are no independent test of the race: on them the models were tuned
in the past and the five that start were chosen, and on some of them it was tried how many rows and seconds it needs.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter

import numpy as np

import tunbridge as tb
from benchmarks.accuracy.sets import UCI, uci_set
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared
from tunbridge.evaluation.cross_validation import assign_folds

FOLDS = 5


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    rows, figures = [], []
    for name in UCI:
        accuracy, loss, usual, slowest, winners = _measured(*uci_set(data, name)[1:])
        chosen = ", ".join(f"{model} {n}" for model, n in winners.most_common())
        rows.append((name, f"{accuracy:.2f}", f"{loss:.3f}", f"{usual:.3f}", f"{slowest:.1f} s", chosen))
        figures.append((name, accuracy, loss))
        print("  ", *rows[-1], file=sys.stderr, flush=True)
    means = np.mean([each[1:] for each in figures if each[0] not in ("letter", "shuttle")], axis=0)
    rows.append(
        ("**mean of 22, without letter and shuttle**", f"**{means[0]:.2f}**", f"**{means[1]:.3f}**", "", "", "")
    )
    columns = ("data set", "accuracy (%)", "log-loss", "class frequencies", "slowest fold", "winners")
    return [Grid(columns, tuple(rows))]


def _measured(table: tb.Table, target: str) -> tuple[float, float, float, float, Counter[str]]:
    codes, states = table.codes(target), list(table.variable(target).states or ())
    fold_of = assign_folds(codes, FOLDS, 1)
    losses, usual, hits, slowest, winners = [], [], [], 0.0, Counter[str]()
    for fold in range(FOLDS):
        train, test = table.take(fold_of != fold), table.take(fold_of == fold)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            choice = tb.classify(train, target, progress=False)
            slowest = max(slowest, time.perf_counter() - began)
            p = np.zeros((test.n_rows, len(states)))
            p[:, [states.index(c) for c in choice.classifier.classes_.tolist()]] = choice.predict_proba(
                test.drop([target])
            )
        true = test.codes(target)
        shares = np.bincount(train.codes(target), minlength=len(states)) / train.n_rows
        with np.errstate(divide="ignore"):
            losses.append(-np.log(p[np.arange(len(true)), true]))
            usual.append(-np.log(shares[true]))
        hits.append(p.argmax(axis=1) == true)
        winners[choice.name] += 1
    mean = [float(np.concatenate(each).mean()) for each in (hits, losses, usual)]
    return 100 * mean[0], mean[1], mean[2], slowest, winners
