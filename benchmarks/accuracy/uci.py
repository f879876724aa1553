"""The sets of the classic comparison of naive Bayes and TAN: ours beside Weka's measured and the published figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.accuracy.folds import FOLDS, Scored, cross_validated
from benchmarks.accuracy.sets import UCI, published, uci_set
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

KEPT = Path(__file__).parent / "uci.json"
"""Where the figures are kept that the page «Which classifier?» shows."""

MODELS = {
    "NB": tb.NaiveBayesClassifier(numeric="discretise"),
    "NB Gaussian": tb.NaiveBayesClassifier(),
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
_LARGE = ("shuttle",)
_SLOW = ("joined NB", "selective NB", "A2DE", "network")
"""What is left out on the large set."""


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    found: dict[str, dict[str, Scored]] = {}
    for name in UCI:
        models = {m: made for m, made in MODELS.items() if not (name in _LARGE and m in _SLOW)}
        found[name] = cross_validated(uci_set(data, name), models)
    keep(found)
    weka, papers = published(data / "WEKA.md"), published(data / "FRIEDMAN1997.md")
    complete = [name for name in UCI if name in weka and "NBTree" in weka[name]]
    return [_all(found), _means(found, complete, weka), _beside(found, weka, WEKA, "Weka"), *_paper(found, papers)]


def keep(found: Mapping[str, Mapping[str, Scored]]) -> None:
    """Write the figures where the documentation looks for them."""
    plain = {name: {m: [round(v, 4) for v in s[:3]] for m, s in models.items()} for name, models in found.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(models, ensure_ascii=False)}" for name, models in plain.items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _all(found: Mapping[str, Mapping[str, Scored]]) -> Grid:
    rows = []
    for name, models in found.items():
        best = max(s.accuracy for s in models.values())
        cells = [_cell(models[m], best) if m in models else "–" for m in MODELS]
        rows.append((name, *cells))
    return Grid((f"accuracy (%), {FOLDS} folds", *MODELS), tuple(rows))


def _cell(scored: Scored, best: float) -> str:
    text = f"{scored.accuracy:.2f}"
    return f"**{text}**" if scored.accuracy >= best - 0.005 else text


def _means(
    found: Mapping[str, Mapping[str, Scored]], complete: list[str], weka: Mapping[str, Mapping[str, float]]
) -> Grid:
    rows = []
    for m in MODELS:
        ours = [found[name][m] for name in complete]
        theirs = f"{np.mean([weka[name][WEKA[m]] for name in complete]):.2f}" if m in WEKA else "–"
        accuracy, loss = np.mean([s.accuracy for s in ours]), np.mean([s.log_loss for s in ours])
        rows.append((m, f"{accuracy:.2f}", theirs, f"{loss:.4f}", f"{sum(s.seconds for s in ours):.0f} s"))
    columns = (f"mean of the {len(complete)} complete rows of WEKA.md", "accuracy (%)", "Weka", "log-loss", "all folds")
    return Grid(columns, tuple(rows))


def _beside(
    found: Mapping[str, Mapping[str, Scored]],
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


def _paper(found: Mapping[str, Mapping[str, Scored]], papers: Mapping[str, Mapping[str, float]]) -> Section:
    return [_beside(found, papers, PUBLISHED, "published")]
