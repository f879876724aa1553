"""The warm-up: every kernel compiled for the types that real work calls it with.

Numba compiles a kernel when it is first called with arrays of certain types and keeps the result on disk. The warm-up
moves that wait away from the first real work, for example to the building of an image. It uses the library as people
do, on small data: every registered classifier, search and score, questions to networks, text and sequences. So a new
learner is warmed up because it is registered, and nothing here repeats the signature of a kernel.

The size of a table decides whether kernels run (small inputs take a NumPy path), and the number of states the type of
its codes (int8, int16 or int32); so the tables here are of several kinds.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa

import tunbridge as tb
from tunbridge import kernels as kernel_package
from tunbridge._core.memory import available_memory
from tunbridge._core.registry import entries
from tunbridge._core.threads import n_threads
from tunbridge.data.formats.request import text_column
from tunbridge.kernels.beside import end_with, mark_all, start_python
from tunbridge.kernels.caching import cache_of
from tunbridge.kernels.compiled import kernels_forced
from tunbridge.temporal.chain import Chain, Frames, best_paths, expectations, sampled_paths

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

_ROWS = 30_000  # enough cells for the kernels
_MOST_SECONDS = 1800.0  # that a warm-up for later may take
_LEAST_MEMORY = 2**31  # bytes that must be free for it


def kernels() -> dict[str, Any]:
    """Return every compiled function that Python calls, by its module and name; the private ones call each other."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(kernel_package.__path__, f"{kernel_package.__name__}."):
        own = {
            n: f for n, f in vars(import_module(info.name)).items() if not n.startswith("_") and hasattr(f, "py_func")
        }
        found |= {f"{info.name}.{n}": f for n, f in own.items() if f.py_func.__module__ == info.name}
    return found


def warm_up(report: Callable[[str], object] | None = None, *, n_jobs: int | None = 1) -> int:
    """Use everything once; return how many kernels there are.

    Parameters
    ----------
    report : callable, optional
        Called with the name of each part when it is done.
    n_jobs : int or None
        Processes that compile side by side and leave the kernels on disk, where others find them; None: one for each
        core.
    """
    n_processes, left = n_threads(n_jobs), list(PARTS)
    if n_processes > 1 and cache_of(warm_up).cache_path is not None:
        left = _in_processes(n_processes, report)
    for name in left:
        warm_part(name)
        if report is not None:
            report(name)
    mark_all()
    return len(kernels())


def warm_up_for_later(stamp: str) -> None:
    """Compile all kernels at the lowest priority, once; not while another process is doing it.

    What the process that :func:`tunbridge.kernels.beside.compile_all` starts runs. It ends after half an hour at the
    latest, and does nothing where memory is short.
    """
    clock = threading.Timer(_MOST_SECONDS, os._exit, [1])
    clock.daemon = True
    clock.start()
    _step_back()
    with suppress(BlockingIOError), open(stamp, "a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # released when the process ends, however it ends
        if available_memory() >= _LEAST_MEMORY:
            file.write("Tried.\n")  # not again and again where it fails or takes too long
            file.flush()
            warm_up()
    clock.cancel()


def _step_back() -> None:
    """Leave the processor to others."""
    with suppress(AttributeError, OSError):
        os.nice(19)
    with suppress(OSError):  # where Linux groups processes by session, priorities count within a group only
        Path("/proc/self/autogroup").write_text("19")


def warm_part(name: str) -> None:
    """Use one of the parts once."""
    with warnings.catch_warnings(), kernels_forced():
        warnings.simplefilter("ignore")
        PARTS[name]()


def _in_processes(n: int, report: Callable[[str], object] | None) -> list[str]:
    """Use the parts in ``n`` processes, each one part after the other; return those of which nothing came."""
    left: list[str] = []
    workers: list[_Worker] = []
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for _ in range(n):
        workers.append(_Worker())
        idle.put(workers[-1])

    def use(name: str) -> tuple[str, bool]:
        worker = idle.get()
        try:
            return name, worker.use(name)
        finally:
            idle.put(worker)

    try:
        with ThreadPool(n) as pool:
            for name, is_done in pool.imap_unordered(use, PARTS):
                if not is_done:
                    left.append(name)
                elif report is not None:
                    report(name)
    finally:
        for worker in workers:
            worker.end()
    return left


class _Worker:
    """A process that uses the parts it is given, and ends with the caller; one that failed is started again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def use(self, name: str) -> bool:
        """Use a part in the process; return whether it did."""
        with suppress(OSError):  # no process can be started, or it has ended
            if self._process is None:
                self._process = _process()
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(f"{name}\n")
            self._process.stdin.flush()
            if self._process.stdout.readline() == f"{name}\n":
                return True
        self.end()
        return False

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def _process() -> subprocess.Popen[str]:
    code = f"from tunbridge import _warmup; _warmup.serve({os.getpid()})"
    return start_python(code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def serve(parent: int) -> None:
    """Use the parts whose names come on standard input, and repeat each name when it is done: what a worker runs."""
    end_with(parent)
    for line in sys.stdin:
        warm_part(line.rstrip())
        print(line, end="", flush=True)


def _codes(n_rows: int = _ROWS, seed: int = 0) -> dict[str, np.ndarray]:
    """Return columns of few and of 300 states, one of them a function of another, and a class."""
    rng = np.random.default_rng(seed)
    sizes = {"many": 300, "class": 3} | {name: 2 + i % 4 for i, name in enumerate("abcdefghij")}
    columns = {name: rng.integers(0, k, n_rows) for name, k in sizes.items()}
    return {name: column.astype(str) for name, column in (columns | {"coarse": columns["many"] // 50}).items()}


def _count() -> None:
    text_column("text", pa.chunked_array([_codes()["many"].tolist()]))  # as in a large file
    rng = np.random.default_rng(1)
    wide = {"huge": np.arange(_ROWS + 3_000).astype(str)[-_ROWS:]}
    for columns in (_codes(), _codes() | wide):
        table = tb.as_table(columns, kinds="categorical")
        for rows in (table, table.with_weights(rng.random(_ROWS))):
            counter = tb.Counter(rows)
            tb.mutual_information(counter.pairs(_codes(1)))
            counter.pairs_within("class", ["a", "b", "c"])
            counter.extend("class", ["a"])
            counter.family("class", ["many", "a", "b"])


def _classify() -> None:
    rng = np.random.default_rng(2)
    words = tb.as_table(_codes(), kinds="categorical")
    numbers, y = rng.normal(size=(_ROWS, 3)), rng.integers(0, 3, _ROWS)
    for X in (numbers, numbers.astype(np.float32), np.asfortranarray(numbers), rng.integers(0, 300, (_ROWS, 3))):
        for numeric, n in (("gaussian", _ROWS), ("kernel", 1_000), ("discretise", _ROWS)):
            tb.NaiveBayesClassifier(numeric=numeric).fit(X[:n], y[:n]).predict_proba(X[:n])
    shifted = rng.normal(size=(_ROWS, 12)) + y[:, None]
    tb.NaiveBayesClassifier().fit(shifted, y).predict_proba(shifted)  # some of its columns are Gaussian
    whole = rng.integers(0, 300, (_ROWS, 5))
    tb.NaiveBayesClassifier(categorical="all").fit(whole, y, sample_weight=rng.random(_ROWS)).predict_proba(whole)
    tb.AODEClassifier(subsumption=100).fit(words, "class").predict_proba(words)
    words = words.take(slice(0, 10_000))
    tables: list[tuple[Any, Any]] = [(words, "class"), (numbers[:1_000], y[:1_000])]
    for entry in entries("classifier").values():
        for rows, target in tables if entry.details.get("compared", True) else ():
            entry.load()().fit(rows, target).predict_proba(rows)


def _read_texts() -> None:
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{k}é" for k in rng.integers(0, 3_000, 40)) for _ in range(600)]
    y = rng.integers(0, 3, 600)
    for model in ("multinomial", "bernoulli", "complement", "nb-svm"):
        tb.TextClassifier(model).fit(texts, y).predict_proba(texts)
    for options in ({"tokens": "characters", "ngrams": (2, 3)}, {"n_buckets": 100}, {"stop_words": ["w1é"]}):
        tb.TextClassifier(**options).fit(texts, y, sample_weight=rng.random(600)).predict_proba(texts)


def _read_sequences() -> None:
    rng = np.random.default_rng(4)
    letters = [["".join(rng.choice(list(some), 60)) for _ in range(600)] for some in ("acgt", "acgtäöüß")]
    y = rng.integers(0, 2, 600)
    options: tuple[dict[str, Any], ...] = (
        {"order": 0}, {"order": 2}, {"model": "position"}, {"model": "position", "order": 1},
    )  # fmt: skip
    for texts, order in ((letters[0], 8), (letters[1], 8), (rng.integers(0, 300, (600, 60)).tolist(), 4)):
        for each in (*options, {"order": order}):
            for weights in (None, rng.random(600)):
                tb.SequenceClassifier(**each).fit(texts, y, sample_weight=weights).predict_proba(texts)
        tb.CalibratedClassifier(tb.SequenceClassifier(), method="platt").fit(texts, y)
        tb.SequenceClassifier().fit(texts, y).stream().update(texts[0]).finish()
    tb.SequenceClassifier(gaps="a").fit(letters[0], y).predict(letters[0])


def _network(n: int = 30, smallest: float = 1.0) -> tb.BayesianNetwork:
    """Return a network that is too large for the NumPy path; products of its tables underflow if ``smallest`` does."""
    variables = {f"v{i}": ["a", "b", "c"] for i in range(n)}
    arcs = [(f"v{i}", f"v{j}") for i in range(n) for j in (i + 1, i + 7) if j < n]
    rows = np.random.default_rng(5).dirichlet(np.ones(3), 3**2) * [smallest, 1.0, 1.0]
    rows /= rows.sum(axis=1, keepdims=True)
    parents = {name: [a for a, b in arcs if b == name] for name in variables}
    return tb.BayesianNetwork(variables, arcs, {name: rows[: 3 ** len(parents[name])] for name in variables})


def _ask() -> None:
    evidence = {"v3": "a", "v9": ["a", "b"], "v20": {"a": 0.5, "b": 0.2, "c": 0.1}}
    for net in (_network(smallest=1e-250), _network()):
        net.posteriors(evidence)
        net.posterior(["v0", "v29"], evidence)
        net.most_probable(evidence)
        net.most_probable(evidence, of=["v0", "v5"])
        net.sample(100, random_state=0, evidence=evidence)
    table = net.sample(200, random_state=0)
    net.predict_proba(table, "v0")
    net.predict_proba(table.select(["v8", "v21"]), "v0")
    net.log_likelihood(table)
    for method in ("likelihood-weighting", "gibbs", "forward"):
        net.posterior("v0", {"v3": "a"}, method=method, precision=0.05, random_state=0)


def _learn() -> None:
    table = tb.as_table(_codes(2_000, seed=6), kinds="categorical")
    few = table.select(["a", "b", "c", "d", "class"])
    tb.learn_structure(_network(12).sample(2_000, random_state=0), search="exact", max_parents=2)
    wide = np.random.default_rng(8).integers(0, 2, (2_000, 600)).astype(str)
    tb.learn_structure(tb.as_table(wide, kinds="categorical"), search="chow-liu")
    for search in entries("search").values():
        chosen = search.load()("class") if search.details.get("needs") == "target" else search.load()()
        tb.learn_structure(table, search=chosen, random_state=0)
    for score in entries("score"):
        tb.learn_structure(table, score)
        tb.learn_structure(few, score, search="exact")
    tb.posterior_structure(few.take(slice(0, 2_000)), n_samples=20, burn_in=10, chains=2, random_state=0)


def _complete() -> None:
    net = _network()
    table = net.sample(300, random_state=7)
    rng = np.random.default_rng(7)
    frame = {name: np.where(rng.random(300) < 0.3, None, table.to_arrow()[name].to_pylist()) for name in table.names}
    incomplete = tb.as_table(frame, kinds="categorical")
    for rows in (incomplete, incomplete.with_weights(np.ones(300))):
        net = tb.fit_parameters(net.dag, rows, missing=tb.EM(max_iterations=3))
    net.impute(incomplete)
    net.impute(incomplete, jointly=False)
    net.impute(incomplete, "sample", random_state=0)
    net.posteriors(incomplete)


def _follow_states() -> None:
    """Learn from sequences with hidden states: all transitions, and few of many; paths, draws, far observations."""
    x = np.arange(20) % 3
    model = tb.HiddenMarkovModel(2, "categorical", restarts=0, max_iterations=2, random_state=0).fit(x)
    for question in (model.predict, model.predict_proba, model.log_likelihood, model.decode):
        question(x)
    model.sample(5, random_state=0)
    for n in (2, 32):
        chain = Chain(np.eye(n)[0], np.eye(n)[None])
        logs = np.zeros((2, n))
        for far in (0.0, -1e4):  # the second leaves the range of floats
            logs[:, 0] = far
            frames = Frames(logs, x % 2, np.array([0, 20]))
            expectations(chain, frames)
            best_paths(chain, frames)
            sampled_paths(chain, frames, 1, random_state=0)


PARTS: dict[str, Callable[[], None]] = {
    "inference": _ask,
    "counting": _count,
    "classifiers": _classify,
    "missing values": _complete,
    "sequences": _read_sequences,
    "hidden states": _follow_states,
    "structure learning": _learn,
    "text": _read_texts,
}
"""What is warmed up, the longest first."""
