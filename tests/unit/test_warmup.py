"""The warm-up compiles what real work calls: after it, nothing is compiled any more."""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

import tunbridge as tb
from tunbridge import _warmup
from tunbridge._warmup import kernels, warm_up


def signatures() -> dict[str, set[object]]:
    return {name: set(kernel.signatures) for name, kernel in kernels().items()}


def work() -> None:
    """Do what users do, on data large enough for the kernels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30_000)
    numbers, codes = rng.normal(size=(30_000, 3)), rng.integers(0, 300, (30_000, 2))
    for X in (numbers, numbers.astype(np.float32), np.asfortranarray(numbers), {"a": numbers[:, 0], "b": codes[:, 0]}):
        tb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
    for numeric in ("kernel", "discretise"):
        tb.NaiveBayesClassifier(numeric=numeric).fit(numbers, y).predict_proba(numbers)
    tb.NaiveBayesClassifier(categorical="all").fit(codes, y, sample_weight=rng.random(30_000)).predict_proba(codes)
    tb.NaiveBayesClassifier().fit(codes, y).predict(codes)
    words = tb.as_table({"w": codes[:, 0].astype(str), "v": (codes[:, 1] % 7).astype(str), "y": y}, kinds="categorical")
    for table in (words, words.with_weights(rng.random(30_000))):
        counter = tb.Counter(table)
        counter.pairs()
        counter.pairs_within("y")
        counter.extend("y", ["v"])
        counter.family("y", ["w", "v"])
    tb.NaiveBayesClassifier().fit(words, "y").predict(words)
    classify(words, numbers, y)
    read_texts()
    follow_states()
    ask()
    learn()


def follow_states() -> None:
    """Learn hidden Markov models and ask them, dense and sparse, one long sequence and many short ones."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 5, 30_000)
    for emissions, data in (("categorical", x), ("gaussian", np.split(rng.normal(size=(30_000, 2)), 300))):
        hmm = tb.HiddenMarkovModel(3, emissions, restarts=0, random_state=0, tolerance=1.0).fit(data)
        for question in (hmm.predict, hmm.predict_proba, hmm.filter, hmm.log_likelihood, hmm.forecast):
            question(data)
    few = tb.HiddenMarkovModel(30, "poisson", topology="banded", hard=True, restarts=0, tolerance=1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.DataWarning)  # states that are not used
        few.fit(x[:2000])
    hmm = tb.HiddenMarkovModel(2, "gaussian", topology="left-to-right", restarts=0, random_state=0)
    hmm.fit(np.array([0.0, 0.1, 9.0, 9.1, 9.0])).log_likelihood(np.array([9.0, 1e9, 0.0]))
    umbrella = tb.DynamicBayesianNetwork(
        {"R": [0, 1], "U": [0, 1]}, first={"R": [0.5, 0.5]}, arcs=[("R[t-1]", "R"), ("R", "U")],
        cpts={"R": [[0.7, 0.3], [0.3, 0.7]], "U": [[0.9, 0.1], [0.2, 0.8]]})  # fmt: skip
    umbrella.smooth_proba({"U": x % 2}, "R")


def read_texts() -> None:
    """Learn from documents in every way, in batches and from a file, with weights that are locked or strided."""
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{k}é"[: 2 + k % 3] for k in rng.integers(0, 3_000, 40)) for _ in range(600)]
    y, weights = rng.integers(0, 3, 600), rng.random(1200)
    weights.flags.writeable = False
    for model in ("multinomial", "bernoulli", "complement", "nb-svm"):
        clf = tb.TextClassifier(model, idf=True if model == "complement" else "auto").fit(texts, y)
        clf.predict_proba(texts)
        tb.TextClassifier.from_content(clf.to_content()).predict_proba(pa.array(texts))
    for options in ({"tokens": "characters", "ngrams": (2, 3)}, {"n_buckets": 100}, {"stop_words": texts[0].split()}):
        clf = tb.TextClassifier(**options).fit(texts, y, sample_weight=weights[:600])
        clf.partial_fit(pa.array(texts, pa.string_view()), y, sample_weight=weights[::2])
    tb.CalibratedClassifier(tb.TextClassifier()).fit(texts, y).predict_proba(texts)
    some = [label if k % 2 else -1 for k, label in enumerate(y.tolist())]
    tb.SemiSupervisedClassifier(tb.TextClassifier(), max_iter=2, tol=1.0).fit(texts, some).predict(texts)


def classify(words: tb.Table, numbers: np.ndarray, y: np.ndarray) -> None:
    """Learn and ask classifiers of every make."""
    forest = tb.BayesForestClassifier(2, random_state=0)
    for X, target in ((words.take(slice(0, 3000)), "y"), (numbers[:3000], y[:3000])):
        for clf in (tb.TANClassifier(), tb.KDBClassifier(), tb.AODEClassifier(), forest):
            clf.fit(X, target).predict_proba(X)


def ask() -> None:
    """Put every kind of question to a network that is too large for a NumPy path."""
    variables = {f"v{i}": ["a", "b", "c"] for i in range(30)}
    arcs = [(f"v{i}", f"v{j}") for i in range(30) for j in (i + 1, i + 7) if j < 30]
    rows = np.random.default_rng(1).dirichlet(np.ones(3), 3**4)
    parents = {name: [a for a, b in arcs if b == name] for name in variables}
    net = tb.BayesianNetwork(variables, arcs, {n: rows[: 3 ** len(parents[n])] for n in variables})
    evidence = {"v3": "a", "v9": ["a", "b"], "v20": {"a": 0.5, "b": 0.2, "c": 0.1}}
    net.posteriors(evidence)
    net.posterior("v0", evidence)
    net.posterior(["v0", "v29"], evidence)
    net.most_probable(evidence, of=["v0", "v5"])
    table = net.sample(100, random_state=0)
    net.sample(100, random_state=0, evidence=evidence)
    net.predict_proba(table, "v0")
    net.predict_proba(table.select(["v8", "v21"]), "v0")
    net.posteriors(table)
    holes = table.to_pandas().mask(np.random.default_rng(2).random((100, 30)) < 0.3)
    tb.fit_parameters(net.dag, tb.as_table(holes).with_weights(np.ones(100)))
    for method in ("likelihood-weighting", "gibbs", "forward"):
        net.posterior("v0", {"v3": "a"}, method=method, precision=0.05, random_state=0)


def learn() -> None:
    """Look for structures in every way: columns with few and many states, large families, holes."""
    rng = np.random.default_rng(2)
    frame = {f"v{i}": rng.integers(0, 2 + i % 3, 20_000) for i in range(12)}
    frame |= {"w": rng.integers(0, 40, 20_000), "u": rng.integers(0, 300, 20_000), "c": frame["v0"] + frame["v1"]}
    table = tb.as_table({name: column.astype(str) for name, column in frame.items()}, kinds="categorical")
    few = table.select([f"v{i}" for i in range(6)])
    for search in ("hill-climbing", "tabu", "ges", "orders", "sparse-candidate", "chow-liu", tb.TAN("c")):
        tb.learn_structure(table, search=search, random_state=0)
    for score in ("bdeu", "bds", "k2", "qnml"):
        tb.learn_structure(table, score)
        tb.learn_structure(few, score, search="exact")
    tb.posterior_structure(few.take(slice(0, 2_000)), n_samples=20, burn_in=10, chains=2, random_state=0)
    start = tb.DAG(table.names, [(name, "c") for name in ("w", "u", "v2", "v3")])
    tb.learn_structure(table, start=start)
    holes = {name: np.where(rng.random(20_000) < 0.1, None, column.astype(str)) for name, column in frame.items()}
    tb.learn_structure(tb.as_table(holes, kinds="categorical"), "nal", search="tabu")


def test_nothing_is_left_to_compile():
    warm_up()
    before = signatures()
    work()
    assert {name: found - before[name] for name, found in signatures().items() if found - before[name]} == {}


def test_parts_are_compiled_by_processes_and_here_if_these_fail(monkeypatch):
    done, reported, started = [], [], []
    monkeypatch.setattr(_warmup, "PARTS", {name: partial(done.append, name) for name in "abcd"})
    code = "import sys\nfor line in sys.stdin:\n  if line == 'b\\n': break\n  print(line, end='', flush=True)"

    def process():
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True))
        return started[-1]

    monkeypatch.setattr(_warmup, "_process", process)
    warm_up(reported.append, n_jobs=2)
    assert (done, sorted(reported)) == (["b"], ["a", "b", "c", "d"])
    assert len(started) <= 3
    assert all(each.poll() is not None for each in started)


def test_all_parts_are_compiled_here_if_no_process_can_be_started(monkeypatch):
    done = []
    monkeypatch.setattr(_warmup, "PARTS", {name: partial(done.append, name) for name in "abc"})
    monkeypatch.setattr(_warmup.subprocess, "Popen", Mock(side_effect=BlockingIOError))
    warm_up(n_jobs=2)
    assert sorted(done) == ["a", "b", "c"]


class TestForLater:
    @pytest.fixture
    def done(self, monkeypatch):
        done = []
        monkeypatch.setattr(_warmup, "PARTS", {"a": partial(done.append, "a")})
        monkeypatch.setattr(_warmup, "_step_back", lambda: None)
        return done

    def test_the_stamp_is_written_at_the_end(self, done, tmp_path):
        _warmup.warm_up_for_later(str(tmp_path / "stamp"))
        assert done == ["a"]
        assert (tmp_path / "stamp").stat().st_size > 0

    def test_one_process_is_enough(self, done, tmp_path):
        fcntl = pytest.importorskip("fcntl")
        with open(tmp_path / "stamp", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _warmup.warm_up_for_later(str(tmp_path / "stamp"))
        assert done == []

    def test_nothing_is_done_where_memory_is_short(self, done, tmp_path, monkeypatch):
        monkeypatch.setattr(_warmup, "available_memory", lambda: 2**30)
        _warmup.warm_up_for_later(str(tmp_path / "stamp"))
        assert done == []
        assert (tmp_path / "stamp").stat().st_size == 0


def test_a_process_of_the_warm_up_ends_with_its_parent():
    code = "import time; from tunbridge import _warmup; _warmup.end_with(1); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 1


def test_it_does_without_pandas():
    code = """
import sys

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'")

sys.meta_path.insert(0, NoPandas())
from tunbridge import _warmup
_warmup.warm_part("missing values")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_all_kernels_are_warm():
    assert warm_up() == len(kernels()) >= 17
    assert all(signatures().values())
