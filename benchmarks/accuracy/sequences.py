"""Accuracy on sequences: promoters (leave-one-out), splice junctions (ten-fold), protein secondary structure (split).

Published figures, recalled and not checked: promoters, errors of 106 by leave-one-out: naive Bayes 7 to 9, KBANN 4, a
network by back-propagation 8, ID3 19 (Towell, Shavlik & Noordewier 1990). Splice junctions: naive Bayes 95 to 96 %.
Proteins: 62.7 % for a network with windows of 13 residues, 64.3 % with a second one behind it (Qian & Sejnowski 1988).
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import tunbridge as tb
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

HALVES = (6, 8)
PADDING = "."
AMBIGUOUS = "DNRS"

Make = Callable[[], Any]


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    folder = data / "sequences"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.UnseenStateWarning)
        return [_promoters(folder), _splice(folder), _proteins(folder)]


def _position(order: int | str = 0, **rest: Any) -> Make:
    return lambda: tb.SequenceClassifier("position", order, max_order=2, **rest)


def _markov(order: int | str, **rest: Any) -> Make:
    return lambda: tb.SequenceClassifier("markov", order, **rest)


def _promoters(folder: Path) -> Grid:
    """Leave-one-out, as everybody did."""
    X, y = _columns(folder / "promoters.csv")
    models = {
        "by place": _position(),
        "by place, m = 1": _position(smoothing=1),
        "by place, order 1": _position(1),
        "by place, order by cross-validation": _position("cv"),
        "chain, order 3": _markov(3),
        "chain, order by cross-validation": _markov("cv"),
    }
    rows = [(name, f"{_left_out_errors(make, X, y)}") for name, make in models.items()]
    return Grid(("promoters, 106 sequences", "errors, leave-one-out (naive Bayes 7–9, KBANN 4)"), tuple(rows))


def _left_out_errors(make: Make, X: np.ndarray, y: np.ndarray) -> int:
    others = [np.arange(len(y)) != i for i in range(len(y))]
    return sum(make().fit(X[m], y[m]).predict(X[~m])[0] != y[~m][0] for m in others)


def _splice(folder: Path) -> Grid:
    X, y = _columns(folder / "splice.csv")
    models = {
        "by place": _position(),
        "by place, m = 1": _position(smoothing=1),
        "by place, order 1": _position(1),
        "by place, order 2": _position(2),
        "by place, order by cross-validation": _position("cv"),
        "by place, order 1, ambiguous letters as gaps": _position(1, gaps=AMBIGUOUS),
        "the same, calibrated": lambda: tb.CalibratedClassifier(_position(1, gaps=AMBIGUOUS)()),
    }
    rows = []
    for name, make in models.items():
        right, cost = _ten_fold(make, X, y)
        rows.append((name, f"{100 * right:.2f} %", f"{cost:.4f}"))
    return Grid(("splice junctions, 3 190 × 60", "accuracy, ten-fold (naive Bayes 95–96 %)", "log-loss"), tuple(rows))


def _ten_fold(make: Make, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    found = np.empty((len(y), 2))
    for learn, test in StratifiedKFold(10, shuffle=True, random_state=1).split(X, y):
        model = make().fit(X[learn], y[learn])
        logs = model.predict_log_proba(X[test])
        found[test, 0] = model.classes_[logs.argmax(axis=1)] == y[test]
        found[test, 1] = -logs[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    return float(found[:, 0].mean()), float(found[:, 1].mean())


def _proteins(folder: Path) -> Grid:
    """Each residue by the window around it, on the train and test files of the paper."""
    with (folder / "protein_secondary_structure.csv").open() as file:
        proteins = list(csv.DictReader(file))
    models = {
        "by place": _position(),
        "by place, padding as gap": _position(gaps=PADDING),
        "by place, order 1": _position(1),
    }
    models["by place, order by cross-validation"] = _position("cv")
    rows = []
    for name, make in models.items():
        scores = []
        for half in HALVES:
            (X, y), test = (_windows(proteins, split, half) for split in ("train", "test"))
            scores.append(f"{100 * make().fit(X, y).score(*test):.2f} %")
        rows.append((name, *scores))
    titles = [f"windows of {2 * half + 1}" for half in HALVES]
    return Grid(("protein structure, 18 105 / 3 520 residues (networks 62.7–64.3 %)", *titles), tuple(rows))


def _windows(proteins: list[dict[str, str]], split: str, half: int) -> tuple[list[str], list[str]]:
    X: list[str] = []
    y: list[str] = []
    for protein in (p for p in proteins if p["split"] == split):
        padded = PADDING * half + protein["sequence"] + PADDING * half
        X += [padded[i : i + 2 * half + 1] for i in range(len(protein["sequence"]))]
        y += protein["structure"]
    return X, y


def _columns(file: Path) -> tuple[np.ndarray, np.ndarray]:
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    return np.array([r["sequence"] for r in rows], object), np.array([r["class"] for r in rows], object)
