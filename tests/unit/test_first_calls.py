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
few = {name: rng.choice(["a", "b", "c"], 200) for name in names[::3]}

jobs = {
    "posterior": lambda: net.posterior("v0", evidence),
    "posteriors": lambda: net.posteriors(evidence),
    "most probable states": lambda: net.most_probable(evidence),
    "a posterior per row": lambda: net.predict_proba(few, "v1"),
    "naive Bayes": lambda: tb.NaiveBayesClassifier().fit(rows, "y").predict_proba(rows),
    "TAN": lambda: tb.TANClassifier().fit(rows, "y").predict_proba(rows),
    "AODE": lambda: tb.AODEClassifier().fit(rows, "y").predict_proba(rows),
    "pairs": lambda: tb.Counter(rows).pairs(),
    "gaussian": lambda: tb.NaiveBayesClassifier().fit(rng.normal(size=(20_000, 3)), rng.integers(0, 2, 20_000)),
}
found = {}
for name, job in jobs.items():
    compiled = event.RecordingListener()
    with event.install_listener("numba:compile", compiled):
        job()
    found[name] = sum(e.is_start for _, e in compiled.buffer)
print(json.dumps(found))
"""
COMPILED = {"gaussian": 9}  # moments of numbers; all others: none


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return how many functions each job compiles, those of NumPy included, in a process with an empty cache."""
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("kernels"))}
    done = subprocess.run([sys.executable, "-c", JOBS], capture_output=True, text=True, env=given, check=True)
    return json.loads(done.stdout)


def test_first_answers_compile_no_more_than_they_did(compiled):
    assert {name: n for name, n in compiled.items() if n > COMPILED.get(name, 0)} == {}


def test_the_compiler_is_seen_where_it_runs(compiled):
    assert compiled["gaussian"] > 0
