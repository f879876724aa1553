"""What a user waits for before anything happens: imports, help, the first call on a fresh installation, each command.

Every line is a fresh process. For the first calls the cache of compiled kernels is empty; the time is that of the call
alone, after imports and reading. A kernel is counted once for each combination of types that it is compiled for. What
the call lets another process compile beside it counts in the time, not in the processor time and the kernels; ``CI`` is
set, so that no process compiles everything for later, beside the next line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Result, Section, run_python
from benchmarks.samples import network_files

IMPORT = "import time; s = time.perf_counter(); import tunbridge; print(time.perf_counter() - s)"
MODULES = "import sys, tunbridge; print('numba' in sys.modules, 'sklearn' in sys.modules, 'pyarrow' in sys.modules)"
FIRST = """
import json, time
import numpy as np
from numba.core import event
import tunbridge as tb
{prepare}
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
start, used = time.perf_counter(), time.process_time()
{call}
found = time.perf_counter() - start, time.process_time() - used
print(json.dumps([*found, sum(e.is_start for _, e in compiled.buffer)]))
"""
ALARM = "rows = tb.read_table('alarm.parquet')"
MIXED = "rows = tb.read_table('mixed.parquet')"
FOREST = "tb.BayesForestClassifier().fit(rows, 'HYPOVOLEMIA').predict_proba(rows)"
JOBS: dict[str, tuple[str, str, float | None]] = {
    "posterior, ANDES (223 variables)": (
        "net = tb.read_network('andes.bif')", "net.posterior('SNode_4', {'GOAL_49': 'false'})", 1.0),
    "all posteriors, ANDES": ("net = tb.read_network('andes.bif')", "net.posteriors({'GOAL_49': 'false'})", 1.0),
    "one posterior per row, ALARM 1 000, 10 % missing": (
        "net = tb.read_network('alarm.bif'); rows = tb.read_table('incomplete.parquet').take(slice(0, 1000))",
        "net.predict_proba(rows, 'HYPOVOLEMIA')", 1.0),
    "EM, ALARM 100 000, 20 % missing": (
        "net = tb.read_network('alarm.bif'); rows = tb.read_table('incomplete.parquet')",
        "tb.fit_parameters(net.dag, rows, missing='em')", 4.0),
    "hill-climbing, ALARM 100 000": (ALARM, "tb.learn_structure(rows)", 3.0),
    "Bayes forest, ALARM 10 000: fit, then predict_proba": (
        f"{ALARM}.take(slice(0, 10_000))", FOREST, 3.0),
    "Bayes forest, ALARM 100 000 (scikit-learn's random forest: see *Classifiers*)": (ALARM, FOREST, None),
    "TextClassifier fit, 7 700 documents": ("data = json.load(open('texts.json'))",
        "tb.TextClassifier().fit(data['texts'], data['y'])", 2.0),
    "naive Bayes fit, 100 000 × 20": (MIXED, "tb.NaiveBayesClassifier().fit(rows, 'y').predict_proba(rows)", 1.0),
    "TAN, 100 000 × 20": (MIXED, "tb.TANClassifier().fit(rows, 'y').predict_proba(rows)", 1.0),
    "AODE, 100 000 × 20": (MIXED, "tb.AODEClassifier().fit(rows, 'y').predict_proba(rows)", 1.0),
}  # fmt: skip
"""The first calls: what comes before, the call, and the goal in seconds."""


def run() -> Section:
    imported = min(float(run_python(IMPORT)) for _ in range(5))
    helped = min(command_time("--help") for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        compiled = command_time("warmup", NUMBA_CACHE_DIR=folder)
        loaded = command_time("warmup", NUMBA_CACHE_DIR=folder)
    return [
        Result(
            "import tunbridge",
            imported,
            goal="< 0.3 s",
            reached=imported < 0.3,
            remark=f"numba, sklearn, pyarrow loaded: {run_python(MODULES).strip()}",
        ),
        Result("tunbridge --help (whole process)", helped, goal="< 0.5 s", reached=helped < 0.5),
        Result("tunbridge warmup: all kernels compiled", compiled, goal="≤ 45 s", reached=compiled <= 45.0),
        Result("the same from the cache", loaded),
        *commands(),
        first_calls(),
    ]


def command_time(*arguments: str, folder: Path | None = None, **environment: str) -> float:
    start, env = time.perf_counter(), {**os.environ, **environment}
    subprocess.run(
        [sys.executable, "-m", "tunbridge", *arguments], capture_output=True, check=True, cwd=folder, env=env
    )
    return time.perf_counter() - start


def commands() -> list[Result]:
    """Time whole commands on small files, their kernels compiled."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tb.example_network("asia").sample(1_000, random_state=0).to_pandas().to_csv(folder / "rows.csv", index=False)
        for words, goal in (
            ("learn rows.csv --target lung --model nb -o model.tb", 1.0),
            ("predict model.tb rows.csv -o out.csv", 0.6),
            ("explain model.tb rows.csv --row 3", 0.6),
            ("network learn rows.csv -o net.tb", 1.0),
            ("network query net.tb --target lung --given xray=yes", 0.6),
        ):
            least = min(command_time(*words.split(), folder=folder) for _ in range(4))
            found.append(Result(f"tunbridge {words}", least, goal=f"≤ {goal:g} s", reached=least <= goal))
    return found


def first_calls() -> Grid:
    """Time every first call with an empty cache."""
    columns = ("first call on a fresh installation", "time", "processor", "kernels compiled", "goal", "reached")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for job, (before, call, goal) in JOBS.items():
            wall, used, n = first_call(before, call, Path(name))
            wanted, reached = ("", "") if goal is None else (f"≤ {goal:g} s", "yes" if wall <= goal else "**no**")
            rows.append((job, f"{wall:.2f} s", f"{used:.2f} s", str(n), wanted, reached))
    return Grid(columns, tuple(rows))


def first_call(before: str, call: str, folder: Path) -> tuple[float, float, int]:
    """Return the time of a call in a fresh process with an empty cache, its processor time, and what was compiled."""
    with tempfile.TemporaryDirectory() as cache:
        code = f"import os; os.chdir({str(folder)!r})\n{FIRST.format(prepare=before, call=call)}"
        wall, used, n = json.loads(run_python(code, NUMBA_CACHE_DIR=cache, CI="1").splitlines()[-1])
    return wall, used, n


def prepare(folder: Path) -> None:
    """Write the data of the first calls."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for name in ("alarm", "andes"):
        (folder / f"{name}.bif").write_bytes(network_files()[name].read_bytes())
    rows = tb.read_network(network_files()["alarm"]).sample(100_000, random_state=0)
    pq.write_table(rows.to_arrow(), folder / "alarm.parquet")
    frame = rows.to_pandas()
    pq.write_table(tb.as_table(frame.mask(rng.random(frame.shape) < 0.2)).to_arrow(), folder / "incomplete.parquet")
    numbers = {f"x{i}": rng.normal(size=100_000) for i in range(10)}
    words = {f"c{i}": rng.choice(["a", "b", "c", "d"], 100_000) for i in range(10)}
    mixed = tb.as_table(numbers | words | {"y": rng.choice(["no", "yes"], 100_000)})
    pq.write_table(mixed.to_arrow(), folder / "mixed.parquet")
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.3, 120) % 50_000) for _ in range(7_700)]
    (folder / "texts.json").write_text(json.dumps({"texts": texts, "y": rng.choice(["a", "b"], 7_700).tolist()}))
