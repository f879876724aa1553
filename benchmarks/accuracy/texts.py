"""Texts beside other columns: newsgroup messages, and what their headers say.

The 20 newsgroups by date: learned from the earlier messages, judged on the later ones. The columns are the domain of
the sender, the organisation, the number of lines, the subject and the text. The settings of the words were chosen on
the bodies of some of these messages and on SMS texts, never on this split or with other columns.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tunbridge as tb
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

_GROUPS = ("rec.autos", "rec.motorcycles", "sci.electronics", "comp.sys.mac.hardware", "comp.sys.ibm.pc.hardware")
_TEXTS, _CATEGORIES, _NUMBERS = ["subject", "body"], ["domain", "organization"], ["lines"]


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    train, test = _messages(data)
    linear = dict.fromkeys(_TEXTS, tb.TextClassifier("nb-svm"))
    models: dict[str, Any] = {
        "naive Bayes, columns and words": tb.NaiveBayesClassifier(),
        "naive Bayes, columns and NB-SVM": tb.NaiveBayesClassifier(text=linear),
        "naive Bayes, without the texts": (tb.NaiveBayesClassifier(), _TEXTS),
        "naive Bayes, texts alone": (tb.NaiveBayesClassifier(), [*_CATEGORIES, *_NUMBERS]),
        "tan, columns and words": tb.TANClassifier(),
        "scikit-learn: tf-idf, one-hot, logistic regression": _pipeline(),
    }
    rows = []
    for name, model in models.items():
        classifier, dropped = model if isinstance(model, tuple) else (model, [])
        rows.append((name, *_measured(classifier, train.drop(columns=dropped), test.drop(columns=dropped))))
    columns = (f"{len(train)} messages learned, {len(test)} judged, {len(_GROUPS)} groups",)
    return [Grid((*columns, "accuracy (%)", "log-loss", "learn (s)", "predict (s)"), tuple(rows))]


def _measured(model: Any, train: pd.DataFrame, test: pd.DataFrame) -> tuple[str, ...]:
    features = test.drop(columns="group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):  # the first one compiles
            began = time.perf_counter()
            model.fit(train.drop(columns="group"), train["group"])
            learned = time.perf_counter()
            p = model.predict_proba(features)
            done = time.perf_counter()
    classes = list(model.classes_)
    truth = np.array([classes.index(g) for g in test["group"]])
    loss = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-300)).mean()
    hits = 100 * np.mean(p.argmax(axis=1) == truth)
    return f"{hits:.2f}", f"{loss:.3f}", f"{learned - began:.2f}", f"{done - learned:.2f}"


def _pipeline() -> Any:
    texts = [(name, TfidfVectorizer(sublinear_tf=True), name) for name in _TEXTS]
    others = [
        ("categories", OneHotEncoder(handle_unknown="ignore"), _CATEGORIES),
        ("numbers", StandardScaler(), _NUMBERS),
    ]
    return make_pipeline(ColumnTransformer([*texts, *others]), LogisticRegression(max_iter=1000))


def _messages(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return earlier and later messages as frames."""
    with gzip.open(data / "text" / "20news_bydate.jsonl.gz", "rt", encoding="utf-8") as file:
        found = [each for each in map(json.loads, file) if each["group"] in _GROUPS]
    frames = (pd.DataFrame([_row(m) for m in found if m["split"] == split]) for split in ("train", "test"))
    train, test = frames
    return train, test


def _row(message: dict[str, str]) -> dict[str, Any]:
    head, _, body = message["text"].partition("\n\n")

    def header(name: str) -> str:
        match = re.search(rf"(?mi)^{name}: *(.*)$", head)
        return match.group(1).strip() if match else ""

    domain = re.search(r"@[\w.-]*?([\w-]+\.[\w-]+)(?:$|[^\w.-])", header("From") + " ")
    return {
        "domain": domain.group(1).lower() if domain else "unknown",
        "organization": header("Organization") or "none",
        "lines": float(body.count("\n")),
        "subject": re.sub(r"(?i)^(re: *)+", "", header("Subject")),
        "body": body,
        "group": message["group"],
    }
