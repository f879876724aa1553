"""Time two versions of the package in turns: ``python -m benchmarks.turns ../older/src``, or that and another folder.

Every job runs in a fresh process that imports one version; the versions take turns, so that a busy moment does not fall
on one of them only. A process prepares its data, does the job once to load or compile kernels, and reports the least
time of several repetitions. The table shows the least time of each version over all turns, and their ratio. Only public
names that both versions have are used. ``--write`` puts the table into RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.__main__ import TITLES
from benchmarks.accuracy.newsgroup_data import by_date
from benchmarks.harness import Grid, machine, run_python, write_results
from benchmarks.samples import NO_NETWORKS, network_files, shared

Job = Callable[[], object]


def _rows(name: str, n: int) -> tb.Table:
    return tb.read_network(network_files()[name]).sample(n, random_state=0)


def _incomplete(name: str, n: int, share: float) -> tb.Table:
    frame = _rows(name, n).to_pandas()
    return tb.as_table(frame.mask(np.random.default_rng(1).random(frame.shape) < share))


def _count() -> Job:
    table = _rows("alarm", 100_000)
    return lambda: tb.Counter(table).pairs()


def _fit_gaussian() -> Job:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500_000, 50)), rng.integers(0, 5, 500_000)
    return lambda: tb.NaiveBayesClassifier(numeric="gaussian").fit(X, y)


def _predict_gaussian() -> Job:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500_000, 50)), rng.integers(0, 5, 500_000)
    model = tb.NaiveBayesClassifier(numeric="gaussian").fit(X, y)
    return lambda: model.predict_proba(X)


def _fit_categorical() -> Job:
    table = _rows("alarm", 500_000)
    return lambda: tb.NaiveBayesClassifier().fit(table, "HYPOVOLEMIA")


def _search(name: str, n: int, search: str) -> Callable[[], Job]:
    def prepare() -> Job:
        table = _rows(name, n)
        return lambda: tb.learn_structure(table, search=search)

    return prepare


def _marginals(name: str) -> Callable[[], Job]:
    def prepare() -> Job:
        net = tb.read_network(network_files()[name])
        return lambda: [net.posteriors() for _ in range(10)]

    return prepare


def _posteriors() -> Job:
    net, table = tb.read_network(network_files()["alarm"]), _incomplete("alarm", 50_000, 0.1)
    return lambda: net.predict_proba(table, "HYPOVOLEMIA")


def _em() -> Job:
    net, table = tb.read_network(network_files()["alarm"]), _incomplete("alarm", 10_000, 0.2)
    return lambda: tb.fit_parameters(net.dag, table, 1.0)


def _fit_tan() -> Job:
    table = _rows("alarm", 500_000)
    return lambda: tb.TANClassifier().fit(table, "HYPOVOLEMIA")


def _predict_tan() -> Job:
    table = _rows("alarm", 500_000)
    model = tb.TANClassifier().fit(table, "HYPOVOLEMIA")
    return lambda: model.predict_proba(table)


def _text(model: str) -> Callable[[], Job]:
    def prepare() -> Job:
        learn, _ = by_date(shared() or Path())
        return lambda: tb.TextClassifier(model).fit(learn.texts, learn.groups).predict(learn.texts)

    return prepare


JOBS: dict[str, Callable[[], Job]] = {
    "all pairwise counts, ALARM 100 000": _count,
    "naive Bayes (Gaussian) fit, 500 000 × 50": _fit_gaussian,
    "naive Bayes (Gaussian) predict_proba": _predict_gaussian,
    "naive Bayes (categories) fit, ALARM 500 000": _fit_categorical,
    "hill-climbing, ALARM 100 000": _search("alarm", 100_000, "hill-climbing"),
    "hill-climbing, HEPAR II 50 000": _search("hepar2", 50_000, "hill-climbing"),
    "tabu, INSURANCE 50 000": _search("insurance", 50_000, "tabu"),
    "all marginals, ALARM": _marginals("alarm"),
    "all marginals, ANDES": _marginals("andes"),
    "all marginals, PIGS": _marginals("pigs"),
    "one posterior per row, ALARM 50 000, 10 % missing": _posteriors,
    "EM, ALARM 10 000, 20 % missing": _em,
    "TAN fit, ALARM 500 000": _fit_tan,
    "TAN predict_proba, ALARM 500 000": _predict_tan,
    "text, multinomial, 11 314 messages": _text("multinomial"),
    "text, NB-SVM, 11 314 messages": _text("nb-svm"),
}


def measure(name: str, source: Path) -> float:
    """Return the least time of a job in a fresh process that imports the package from a folder."""
    code = f"from benchmarks import harness, turns; print(harness.best_of(turns.JOBS[{name!r}](), 5))"
    return float(run_python(code, PYTHONPATH=str(source.resolve())).split()[-1])


def compare(older: Path, newer: Path, turns: int) -> Grid:
    """Return the table of all jobs."""
    rows = []
    for name in JOBS:
        pairs = [(measure(name, older), measure(name, newer)) for _ in range(turns)]
        a, b = (min(times) for times in zip(*pairs, strict=True))
        rows.append((name, f"{a * 1e3:.2f} ms", f"{b * 1e3:.2f} ms", f"{b / a:.2f}"))
        print(*rows[-1], sep=" | ", flush=True)
    return Grid(("job", "older", "newer", "newer / older"), tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time two versions of the package in turns.")
    parser.add_argument("older", type=Path, help="the folder that holds the older version's tunbridge/")
    parser.add_argument("newer", type=Path, nargs="?", default=Path(tb.__file__).parents[1], help="default: this one")
    parser.add_argument("--turns", type=int, default=3, help="how often both are run (default: 3)")
    parser.add_argument("--write", metavar="TITLE", help="write the table into RESULTS.md under this title")
    given = parser.parse_args()
    if not network_files():
        sys.exit(NO_NETWORKS)
    print(machine())
    grid = compare(given.older, given.newer, given.turns)
    if given.write:
        write_results({given.write: [grid]}, list(TITLES.values()))


if __name__ == "__main__":
    main()
