"""Text at scale: 500 000 documents of 46 classes, streamed into 2²⁰ hash buckets.

The documents are made up while they are read, so that they never stand in memory together: 100 words each, half of them
drawn from all 3 000 000 words by Zipf's law, half from the words of the class, which are the same words in an order of
its own. A fresh process learns from an iterator of batches; its peak of resident memory counts everything, interpreter
and libraries too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tunbridge as tb
from benchmarks.harness import Result, Section, peak_memory, run_python, timed

N_DOCUMENTS, N_WORDS, N_CLASSES, LENGTH, BATCH = 500_000, 3_000_000, 46, 100, 10_000
N_BUCKETS, MOST_BYTES = 2**20, 2e9


def run() -> Section:
    found = json.loads(run_python("from benchmarks.bench_text_scale import measure; measure()"))
    remark = f"peak {found['peak'] / 1e9:.2f} GB; {found['cells'] / 1e6:.1f} million counts kept"
    return [
        Result(
            "fit, 500 000 documents × 100 words, 46 classes, 2²⁰ buckets", found["fit"],
            goal="< 2 GB", reached=found["peak"] < MOST_BYTES, remark=remark,
        ),
        Result("making up these documents (part of the above)", found["make"]),
        Result("predict_proba, 10 000 further documents", found["predict"], remark=f"accuracy {found['accuracy']:.3f}"),
    ]  # fmt: skip


def measure() -> None:
    """Print what learning from the stream takes."""
    made = timed(lambda: [None for _ in batches(N_DOCUMENTS // 10)]) * 10
    learned: list[tb.TextClassifier] = []
    fit = timed(lambda: learned.append(tb.TextClassifier(n_buckets=N_BUCKETS).fit(batches(N_DOCUMENTS))))
    clf, peak = learned[0], peak_memory()
    texts, y = next(batches(BATCH, seed=1))
    predict = timed(lambda: clf.predict_proba(texts))
    told = {"fit": fit, "make": made, "predict": predict, "peak": peak, "cells": int(clf.statistics_.amounts.nnz)}
    print(json.dumps(told | {"accuracy": clf.score(texts, y)}))


def batches(n_documents: int, seed: int = 0) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """Yield documents and their classes."""
    rng = np.random.default_rng(seed)
    starts = pa.array(np.arange(0, BATCH * LENGTH + 1, LENGTH, dtype=np.int32))
    for _ in range(0, n_documents, BATCH):
        classes = rng.integers(0, N_CLASSES, BATCH)
        ranks = np.exp(rng.random((BATCH, LENGTH)) * np.log(N_WORDS)).astype(np.int64)  # a share of 1 / rank
        own = (ranks * 7919 + classes[:, None] * 104_729) % N_WORDS
        ranks[:, ::2] = own[:, ::2]
        words = pa.array(ranks.ravel() + 10).cast(pa.string())  # of two figures or more
        yield pc.binary_join(pa.ListArray.from_arrays(starts, words), " "), classes
