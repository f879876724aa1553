"""AODE and A2DE: time of fit and predict_proba on ADULT, and the memory forecast for A2DE beside what it takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Result, Section, best_of, run_python, skipped
from benchmarks.samples import shared
from tunbridge._core.memory import size_text

SETS = {"ADULT": "tabular/adult_train.csv.gz", "letter": "uci/letter.csv", "satimage": "uci/satimage.csv"}

PEAK = """
import json, pathlib, re
import tunbridge as tb
table = tb.read_table({path!r})
target = table.names[-1]
status = pathlib.Path("/proc/self/status")
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text()).group(1)) * 1024
tb.AODEClassifier().fit(table, target).predict_proba(table)
few = table.take(slice(0, 2000)).select([*table.names[:6], target])
tb.A2DEClassifier().fit(few, target).predict_proba(few)          # loads and compiles everything
before = peak()
model = tb.A2DEClassifier().fit(table, target)
fitted = peak()
model.predict_proba(table)
forecast = model.forecast(model.statistics_.coding.coded, len(model.classes_))
arrays = [model.statistics_.triples.cells.nbytes, model._model.tables.nbytes]
print(json.dumps([table.n_rows, len(table.names) - 1, forecast.counts, forecast.tables, forecast.total, arrays,
                  fitted - before, peak() - before]))
"""


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not beside the repository")
    return [*adult(data), memory(data)]


def adult(data: Path) -> list[Result]:
    table = adult_table(data)
    rows = f"ADULT, {table.n_rows} × {len(table.names) - 1} mixed"
    found = []
    for model, goal in ((tb.AODEClassifier(), 1.0), (tb.A2DEClassifier(), None)):
        name = type(model).__name__.removesuffix("Classifier")
        fit = best_of(lambda model=model: model.fit(table, "income"), 3)
        predict = best_of(lambda model=model: model.predict_proba(table), 3)
        remark = f"fit {fit:.2f} s with discretisation, predict_proba {predict:.2f} s"
        reached = None if goal is None else fit + predict < goal
        work = f"{rows}: {name}, fit and predict_proba"
        found.append(Result(work, fit + predict, goal="< 1 s" if goal else "–", reached=reached, remark=remark))
    return found


def adult_table(data: Path) -> tb.Table:
    """Return the rows for training and testing together."""
    parts = [tb.read_table(data / "tabular" / f"adult_{part}.csv.gz").to_pandas() for part in ("train", "test")]
    return tb.as_table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def memory(data: Path) -> Grid:
    """Return the memory forecast for A2DE beside the arrays it holds, and what the process took beyond its data."""
    lines = []
    for name, file in SETS.items():
        rows, columns, counts, tables, total, arrays, fitted, all_in_all = json.loads(
            run_python(PEAK.format(path=str(data / file)))
        )
        assert [counts, tables] == arrays, "the arrays are not of the size that was forecast"
        forecast = f"{size_text(counts)} + {size_text(tables)}"
        lines.append(
            (f"{name}, {rows} × {columns}", forecast, size_text(total), size_text(fitted), size_text(all_in_all))
        )
    heads = (
        "A2DE, memory",
        "forecast: counts + tables",
        "forecast: peak of fit",
        "measured: fit",
        "measured: fit and predict_proba",
    )
    return Grid(heads, tuple(lines))
