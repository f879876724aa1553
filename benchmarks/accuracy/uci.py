"""The sets of the classic comparison of naive Bayes and TAN: ours beside Weka's measured and the published figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tunbridge as tb
from benchmarks.accuracy.folds import FOLDS, cross_validated
from benchmarks.accuracy.sets import UCI, published, uci_set
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

KEPT = Path(__file__).parent / "uci.json"
"""Where the figures are kept that the page «Which classifier?» shows."""

MODELS = {
    "NB": tb.NaiveBayesClassifier(numeric="discretise"),
    "NB Gaussian": tb.NaiveBayesClassifier(numeric="gaussian"),
    "NB auto": tb.NaiveBayesClassifier(),
    "TAN": tb.TANClassifier(smoothing=0.5),
    "TAN smoothed": tb.TANClassifier(smoothing=tb.MEstimate(5, "marginal")),
    "TAN hierarchical": tb.TANClassifier(),
    "network": tb.BayesNetClassifier(),
    "selective NB": tb.SelectiveNaiveBayesClassifier(),
    "joined NB": tb.JoinedNaiveBayesClassifier(),
    "weighted NB": tb.WeightedNaiveBayesClassifier(),
    "2-DB": tb.KDBClassifier(2),
    "selective k-DB": tb.SelectiveKDBClassifier(),
    "AODE": tb.AODEClassifier(),
    "A2DE": tb.A2DEClassifier(),
    "multinet": tb.MultinetClassifier(),
    "Bayes forest": tb.BayesForestClassifier(random_state=0),
    "random forest": "forest",
}
WEKA = {"NB": "NB-D", "NB Gaussian": "NB-G", "TAN": "TAN", "AODE": "AODE", "random forest": "RF"}
PUBLISHED = {"NB": "naive Bayes", "joined NB": "BSEJ"}
_LEFT_OUT = {
    "joined NB": ("letter", "satimage", "shuttle", "waveform-21"),
    "A2DE": ("satimage", "shuttle"),
    "network": ("shuttle",),
    "selective NB": ("shuttle",),
}
"""What would take long: minutes a fold, or gigabytes."""


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    measure(data, MODELS)
    return report(data)


def measure(data: Path, which: Iterable[str]) -> None:
    """Cross-validate some of the models, and keep their figures beside those that are kept."""
    for name in UCI:
        models = {m: MODELS[m] for m in which if name not in _LEFT_OUT.get(m, ())}
        kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
        new = {m: [round(v, 4) for v in s[:3]] for m, s in cross_validated(uci_set(data, name), models).items()}
        kept[name] = {m: figures for m, figures in (kept.get(name, {}) | new).items() if m in MODELS}
        lines = [f"{json.dumps(n)}: {json.dumps(models, ensure_ascii=False)}" for n, models in kept.items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def report(data: Path) -> Section:
    """Return what is kept as tables, beside what others measured."""
    kept = json.loads(KEPT.read_text("utf-8"))
    found = {name: {m: Figures(*each) for m, each in kept[name].items()} for name in UCI if name in kept}
    weka, papers = published(data / "WEKA.md"), published(data / "FRIEDMAN1997.md")
    complete = [name for name in found if name in weka and "NBTree" in weka[name]]
    beside = _beside(found, weka, WEKA, "Weka"), _beside(found, papers, PUBLISHED, "published")
    return [_all(found), _means(found, complete, weka), *beside]


class Figures(NamedTuple):
    """Accuracy in per cent, its standard error, log-loss."""

    accuracy: float
    error: float
    log_loss: float


Found = Mapping[str, Mapping[str, Figures]]


def _all(found: Found) -> Grid:
    rows = []
    for name, models in found.items():
        best = max(s.accuracy for s in models.values())
        cells = [_cell(models[m], best) if m in models else "–" for m in MODELS]
        rows.append((name, *cells))
    return Grid((f"accuracy (%), {FOLDS} folds", *MODELS), tuple(rows))


def _cell(scored: Figures, best: float) -> str:
    text = f"{scored.accuracy:.2f}"
    return f"**{text}**" if scored.accuracy >= best - 0.005 else text


def _means(found: Found, complete: list[str], weka: Mapping[str, Mapping[str, float]]) -> Grid:
    rows = []
    for m in MODELS:
        ours = [found[name][m] for name in complete if m in found[name]]
        if len(ours) < len(complete):
            continue
        theirs = f"{np.mean([weka[name][WEKA[m]] for name in complete]):.2f}" if m in WEKA else "–"
        accuracy, loss = np.mean([s.accuracy for s in ours]), np.mean([s.log_loss for s in ours])
        rows.append((m, f"{accuracy:.2f}", theirs, f"{loss:.4f}"))
    columns = (f"mean of the {len(complete)} complete rows of WEKA.md", "accuracy (%)", "Weka", "log-loss")
    return Grid(columns, tuple(rows))


def _beside(
    found: Found,
    theirs: Mapping[str, Mapping[str, float]],
    pairs: Mapping[str, str],
    who: str,
) -> Grid:
    """Both figures; in bold where they differ by more than two standard errors of the difference of two runs."""
    rows = []
    for name, models in found.items():
        if name in theirs:
            cells = []
            for m, column in pairs.items():
                if m not in models or column not in theirs[name]:
                    cells.append("–")
                    continue
                ours, other = models[m], theirs[name][column]
                text = f"{ours.accuracy:.2f} ± {ours.error:.2f} / {other:.2f}"
                cells.append(f"**{text}**" if abs(ours.accuracy - other) > 2 * max(ours.error, 0.05) else text)
            rows.append((name, *cells))
    return Grid((f"ours ± standard error / {who}", *(f"{m} / {c}" for m, c in pairs.items())), tuple(rows))


if __name__ == "__main__":  # to measure some models again: python -m benchmarks.accuracy.uci "Bayes forest"
    folder = shared()
    assert folder is not None
    measure(folder, sys.argv[1:])
    for grid in report(folder):
        print("\n".join(grid.lines()) if isinstance(grid, Grid) else grid)
