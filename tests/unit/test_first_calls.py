"""On a fresh installation the first answers do not wait for the compiler: how many kernels typical calls compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

JOBS = """
import json
import numpy as np
from numba.core import event
import tunbridge as tb

rng = np.random.default_rng(0)
names = [f"v{i}" for i in range(150)]
arcs = [(f"v{i}", f"v{j}") for i in range(150) for j in (i + 1, i + 5) if j < 150]
parents = {name: sum(b == name for _, b in arcs) for name in names}
tables = {name: rng.dirichlet(np.ones(3), 3**k) if k else rng.dirichlet(np.ones(3)) for name, k in parents.items()}
net = tb.BayesianNetwork({name: ["a", "b", "c"] for name in names}, arcs, tables)
evidence = {"v149": "a", "v75": ["a", "b"]}
words = {f"c{i}": rng.choice(["a", "b", "c"], 20_000) for i in range(10)}
rows = tb.as_table(words | {"y": rng.choice(["no", "yes"], 20_000)})
numbers = rng.normal(size=(20_000, 3))
few = {name: rng.choice(["a", "b", "c"], 200) for name in names[::3]}
wide = tb.as_table(words | {f"d{i}": rng.choice(["a", "b", "c"], 20_000) for i in range(20)})
hidden = {name: np.where(rng.random(1_000) < 0.3, None, rng.choice(["a", "b", "c"], 1_000)) for name in names[:40]}
part = tb.DAG(names[:40], [(a, b) for a, b in arcs if {a, b} <= set(names[:40])])
texts = [" ".join(f"w{k}" for k in rng.integers(0, 3_000, 60)) for _ in range(2_000)]

jobs = {
    "posterior": lambda: net.posterior("v0", evidence),
    "posteriors": lambda: net.posteriors(evidence),
    "most probable states": lambda: net.most_probable(evidence),
    "a posterior per row": lambda: net.predict_proba(few, "v1"),
    "naive Bayes": lambda: tb.NaiveBayesClassifier().fit(rows, "y").predict_proba(rows),
    "TAN": lambda: tb.TANClassifier().fit(rows, "y").predict_proba(rows),
    "AODE": lambda: tb.AODEClassifier().fit(rows, "y").predict_proba(rows),
    "pairs": lambda: tb.Counter(rows).pairs(),
    "gaussian": lambda: tb.NaiveBayesClassifier(numeric="gaussian").fit(numbers, rng.integers(0, 2, 20_000)),
    "text": lambda: tb.TextClassifier().fit(texts, rng.integers(0, 2, 2_000)),
    "EM": lambda: tb.fit_parameters(part, hidden, missing="em"),
    "forest": lambda: tb.BayesForestClassifier().fit(rows, "y").predict_proba(rows),
    "hill-climbing": lambda: tb.learn_structure(wide),
}
found = {}
for name, job in jobs.items():
    compiled = event.RecordingListener()
    with event.install_listener("numba:compile", compiled):
        job()
    found[name] = sum(e.is_start for _, e in compiled.buffer)
print(json.dumps(found))
"""
COMPILED = {"gaussian": 9, "text": 11, "EM": 37, "forest": 14, "hill-climbing": 22}  # all others: none


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return how many functions each job compiles, those of NumPy included, in a process with an empty cache."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("kernels")), "TUNBRIDGE_BACKGROUND": "0"}
    done = subprocess.run([sys.executable, "-c", JOBS], capture_output=True, text=True, env=given, check=True)
    return json.loads(done.stdout)


def test_first_answers_compile_no_more_than_they_did(compiled):
    assert {name: n for name, n in compiled.items() if n > 1.1 * COMPILED.get(name, 0)} == {}


def test_the_compiler_is_seen_where_it_runs(compiled):
    assert compiled["gaussian"] > 0
