"""The 20 newsgroups: what each model of words reaches, what leaks would make of it, and how accuracy grows with labels.

Five random splits of the collection of 19 997 messages, two thirds of each group to learn from, and the split by date
beside scikit-learn.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import tunbridge as tb
from benchmarks.accuracy.newsgroup_data import Newsgroups, by_date, collection, random_split
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

KEPT = Path(__file__).parent / "newsgroups.json"
"""Where the figures are kept that the documentation shows."""

SPLITS = range(5)
SIZES = (100, 200, 500, 1000, 2000, 5000, None)
"""How many labelled messages the learning curve has; None: all that are to learn from."""
GOALS = {"multinomial": 89.0, "NB-SVM": 92.0}

_TEXTBOOK = {"stop_words": 100, "min_count": 3}
_WEIGHTED = {"model": "complement", "counts": "log", "length": "unit", "idf": True}
_BIGRAMS = {"ngrams": 2, "min_documents": 2}
_EQUAL = tb.TextClassifier(**_TEXTBOOK, length=100, smoothing=tb.MEstimate(5000, "marginal"))

MODELS = {
    "multinomial": tb.TextClassifier(**_TEXTBOOK),
    "multinomial, letters": tb.TextClassifier(**_TEXTBOOK, tokens="letters", shortest=3),
    "multinomial, m-estimate": tb.TextClassifier(**_TEXTBOOK, smoothing=tb.MEstimate("n_states", "marginal")),
    "multinomial, equal length": tb.TextClassifier(**_TEXTBOOK, length=100),
    "multinomial, equal length, m-estimate": _EQUAL,
    "Bernoulli": tb.TextClassifier("bernoulli", **_TEXTBOOK),
    "complement": tb.TextClassifier("complement"),
    "complement, weighted": tb.TextClassifier(**_WEIGHTED),
    "complement, weighted, bigrams": tb.TextClassifier(**_WEIGHTED, **_BIGRAMS),
    "NB-SVM": tb.TextClassifier("nb-svm"),
    "NB-SVM, bigrams": tb.TextClassifier("nb-svm", **_BIGRAMS),
}
SETTINGS = {
    "multinomial": "as in the textbook: the 100 commonest words and those that occur fewer than three times left out, "
    "one occurrence added",
    "multinomial, letters": "words are runs of three letters or more",
    "multinomial, m-estimate": "as many occurrences added as there are words, by their shares in all groups",
    "multinomial, equal length": "counts of a message add up to 100",
    "multinomial, equal length, m-estimate": "and 5 000 occurrences added by their shares in all groups",
    "Bernoulli": "words occur or do not; selected as in the textbook",
    "complement": "all words, counts as they are",
    "complement, weighted": "all words, log (1 + n), unit length, inverse document frequency",
    "complement, weighted, bigrams": "and pairs of words, what is in two messages or more",
    "NB-SVM": "all words, its defaults",
    "NB-SVM, bigrams": "and pairs of words, what is in two messages or more",
}
CURVES = {
    "multinomial": MODELS["multinomial"],
    "complement": MODELS["complement, weighted"],
    "NB-SVM": MODELS["NB-SVM"],
    "equal length": _EQUAL,
}
UNLABELLED = {
    "equal length, words of all": tb.SemiSupervisedClassifier(_EQUAL, unlabelled_weight=0.0),
    "equal length, EM": tb.SemiSupervisedClassifier(_EQUAL, unlabelled_weight=0.1, tol=0.1),
}
"""Which words there are, and how common, follows from all messages; with a weight above 0 also what goes together."""

LEAKS = {
    "subject and body": ("subject", False),
    "subject and body, with repeats": ("subject", True),
    "all headers": ("all", False),
    "all headers, with repeats": ("all", True),
}
_LEAK_MODELS = ("multinomial", "NB-SVM")
BY_DATE = {
    "multinomial": (tb.TextClassifier(), MultinomialNB()),
    "complement": (tb.TextClassifier("complement", class_prior="uniform"), ComplementNB()),
    "complement, weighted": (MODELS["complement, weighted"], None),
    "NB-SVM": (MODELS["NB-SVM"], None),
    "NB-SVM, bigrams": (MODELS["NB-SVM, bigrams"], None),
}
NOTES = (
    "Multinomial, Bernoulli and complement are as in the literature. Their variants are some of several that were "
    "looked at on these splits; the defaults of NB-SVM were found by trials on the split by date and on random splits "
    "of this collection; the weight of messages without a label (0.1) and the strength of the m-estimate (5 000) by "
    "trials on some of these splits.",
    "The 89 % that are published for the multinomial model are reached with counts that add up to the same in all "
    "messages, and otherwise only with headers that give the group away. Messages that were sent to several groups and "
    "stay in all of them lower accuracy: a copy says that its group is another one.",
    "«Equal length» is the multinomial model with counts that add up to 100 and an m-estimate; «words of all»: the "
    "messages without a label say which words there are and how common; «EM»: also which of them go together.",
)
_DATED = {"as distributed": "all", "subject and body": "subject"}

Figures = dict[str, np.ndarray]


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    measure(data, PARTS)
    return report()


def measure(data: Path, parts: Iterable[str]) -> None:
    """Measure some parts, and keep their figures beside those that are kept."""
    for part in parts:
        began = time.perf_counter()
        by_split = [PARTS[part](data, seed) for seed in (SPLITS if part != "by_date" else (0,))]
        keep(part, by_split)
        print(f"  {part}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def keep(part: str, by_split: list[Figures]) -> None:
    """Put the mean of the figures of all splits, and its standard error, beside what is kept."""
    kept: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    kept[part] = {name: _summed([figures[name] for figures in by_split]) for name in by_split[0]}
    if part == "curves":
        kept["sizes"] = [int(n) for n in by_split[0]["sizes"]]
        del kept[part]["sizes"]
    lines = [f"{json.dumps(key)}: {_lines(kept[key])}" for key in ("sizes", *PARTS) if key in kept]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _lines(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n}"


def _summed(values: list[np.ndarray]) -> dict[str, list[float | None]]:
    each = np.array(values, np.float64)
    if len(each) == 1:
        return {"mean": _rounded(each[0])}
    return {"mean": _rounded(each.mean(axis=0)), "error": _rounded(each.std(axis=0, ddof=1) / np.sqrt(len(each)))}


def _rounded(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def model_figures(data: Path, seed: int) -> Figures:
    """Return the accuracy in per cent and the log-loss of every model on one split."""
    learn, test = _split(collection(data), seed)
    return {name: _scored(model, learn, test) for name, model in MODELS.items()}


def leak_figures(data: Path, seed: int) -> Figures:
    """Return the accuracies of two models on one split, by what is left in."""
    found = {}
    for name, (headers, repeats) in LEAKS.items():
        learn, test = _split(collection(data, headers, repeats=repeats), seed)
        found[name] = np.array([_scored(MODELS[m], learn, test)[0] for m in _LEAK_MODELS])
    return found


def curve_figures(data: Path, seed: int) -> Figures:
    """Return the accuracy of models on one split by how many messages have a label, and these numbers."""
    learn, test = _split(collection(data), seed)
    order = np.random.default_rng(seed).permutation(len(learn.texts))
    labelled = [order[:size] for size in SIZES]
    found = {"sizes": np.array([len(some) for some in labelled])}
    for name, model in CURVES.items():
        found[name] = np.array([_accuracy(_fitted(model, learn.take(some)), test) for some in labelled])
    for name, model in UNLABELLED.items():
        found[name] = np.array([_accuracy(_fitted(model, _partly(learn, some)), test) for some in labelled])
    return found


def by_date_figures(data: Path, _: int) -> Figures:
    """Return, for both contents of messages, our accuracy, scikit-learn's, and how many predictions differ."""
    found: dict[str, list[float]] = {name: [] for name in BY_DATE}
    for headers in _DATED.values():
        learn, test = by_date(data, headers)
        for name, (model, peer) in BY_DATE.items():
            ours, other = _fitted(model, learn).predict(test.texts), [np.nan, np.nan]
            if peer is not None:
                theirs = _fitted(make_pipeline(CountVectorizer(), peer), learn).predict(test.texts)
                other = [_right(theirs, test), float(np.sum(ours != theirs))]
            found[name] += [_right(ours, test), *other]
    return {name: np.array(values) for name, values in found.items()}


PARTS = {"models": model_figures, "leaks": leak_figures, "by_date": by_date_figures, "curves": curve_figures}


def _split(news: Newsgroups, seed: int) -> tuple[Newsgroups, Newsgroups]:
    learn, test = random_split(news.groups, seed)
    return news.take(learn), news.take(test)


def _partly(news: Newsgroups, labelled: np.ndarray) -> Newsgroups:
    """Return messages of which only some have their group."""
    groups = np.full(len(news.groups), None, object)
    groups[labelled] = news.groups[labelled]
    return Newsgroups(news.texts, groups)


def _fitted(model: Any, news: Newsgroups) -> Any:
    return clone(model).fit(news.texts, news.groups)


def _accuracy(fitted: Any, test: Newsgroups) -> float:
    return _right(fitted.predict(test.texts), test)


def _right(predicted: np.ndarray, test: Newsgroups) -> float:
    return 100.0 * float(np.mean(predicted == test.groups))


def _scored(model: Any, learn: Newsgroups, test: Newsgroups) -> np.ndarray:
    fitted = _fitted(model, learn)
    logs = fitted.predict_log_proba(test.texts)
    own = logs[np.arange(len(logs)), np.searchsorted(fitted.classes_.astype(str), test.groups.astype(str))]
    return np.array([_right(fitted.classes_[logs.argmax(axis=1)], test), -own.mean()])


def report() -> Section:
    """Return what is kept as tables."""
    kept = json.loads(KEPT.read_text("utf-8"))
    tables = {"models": _models, "leaks": _leaks, "by_date": _by_date, "curves": _curves}
    found: Section = [table(kept) for part, table in tables.items() if part in kept]
    return [*found, Grid(("notes",), tuple((note,) for note in NOTES))]


def _models(kept: Mapping[str, Any]) -> Grid:
    rows = []
    for name, found in kept["models"].items():
        (accuracy, loss), goal = found["mean"], GOALS.get(name)
        reached = "–" if goal is None else f"{goal:.0f} %: {'yes' if accuracy >= goal else '**no**'}"
        rows.append((name, SETTINGS[name], f"{accuracy:.2f} ± {found['error'][0]:.2f}", f"{loss:.3f}", reached))
    columns = ("19 997 messages, subject and body, five splits", "what is counted", "accuracy (%)", "log-loss", "goal")
    return Grid(columns, tuple(rows))


def _leaks(kept: Mapping[str, Any]) -> Grid:
    rows = [(name, *_cells(found)) for name, found in kept["leaks"].items()]
    return Grid(("what is left in, five splits: accuracy (%)", *_LEAK_MODELS), tuple(rows))


def _by_date(kept: Mapping[str, Any]) -> Grid:
    rows = [(name, *_dated_cells(found["mean"])) for name, found in kept["by_date"].items()]
    heads = (f"{what}: {who}" for what in _DATED for who in ("Tunbridge", "scikit-learn", "predictions that differ"))
    return Grid(("by date, 11 314 and 7 532 messages: accuracy (%)", *heads), tuple(rows))


def _dated_cells(values: list[float | None]) -> Iterator[str]:
    for i, value in enumerate(values):
        yield "–" if value is None else f"{value:.0f}" if i % 3 == 2 else f"{value:.2f}"


def _curves(kept: Mapping[str, Any]) -> Grid:
    rows = [(name, *_cells(found)) for name, found in kept["curves"].items()]
    return Grid(
        ("labelled messages, five splits: accuracy (%)", *(f"{n:,}".replace(",", " ") for n in kept["sizes"])),
        tuple(rows),
    )


def _cells(found: Mapping[str, list[float]]) -> list[str]:
    return [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(found["mean"], found["error"], strict=True)]


if __name__ == "__main__":  # to measure some parts again: python -m benchmarks.accuracy.newsgroups leaks curves
    folder = shared()
    assert folder is not None
    measure(folder, sys.argv[1:])
    for grid in report():
        print("\n".join(grid.lines()) if isinstance(grid, Grid) else grid)
