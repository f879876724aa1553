"""Missing cells: dropping rows, available cases and EM compared on real tables.

The survey of care is complete: holes are made in it so that they depend on what is seen (missing at random), and the
truth is known. The horses have holes of their own: rows of which the tables know nothing are left for testing, and what
is observed in them is to be made probable.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared

WAYS = {"dropping rows": "complete", "available cases": "available", "EM": "em"}
_FOLDS = 10


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    folder = data / "tabular"
    return [_survey(folder), _horses(folder / "horse_colic.csv"), _votes(data / "uci" / "vote.csv")]


def _survey(folder: Path) -> Grid:
    """People who cannot do without help at the first two questions are asked half of the others only."""
    train, test = (tb.read_table(folder / f"nltcs_{part}.csv", kinds="categorical") for part in ("train", "test"))
    dag = tb.learn_structure(train, search="tabu")
    whole = tb.fit_parameters(dag, train)
    truth = _shares(whole)
    rng = np.random.default_rng(0)
    helped = (train.codes("V1") == 1) | (train.codes("V2") == 1)
    holes = helped[:, None] & (rng.random((train.n_rows, 16)) < 0.5)
    holes[:, :2] = False
    seen = tb.as_table(train.to_pandas().mask(holes), kinds="categorical")
    n_whole = int((~holes.any(axis=1)).sum())
    rows = [("nothing missing", str(train.n_rows), f"{whole.log_likelihood(test).mean():.4f}", "–")]
    for name, way in WAYS.items():
        net = tb.fit_parameters(dag, seen, missing=way)
        used = str(n_whole) if way == "complete" else str(train.n_rows)
        error = float(np.abs(_shares(net) - truth).max())
        rows.append((name, used, f"{net.log_likelihood(test).mean():.4f}", f"{error:.3f}"))
    columns = ("survey of care, 16 181 × 16", "rows used", "log-likelihood of a test row", "largest error of a share")
    return Grid(columns, tuple(rows))


def _shares(net: tb.BayesianNetwork) -> np.ndarray:
    """Return the probability of the second state of each variable."""
    return np.array([list(d.values())[1] for d in net.posteriors().values()])


def _horses(file: Path) -> Grid:
    """Ten folds; the graph is the Chow–Liu tree of all rows, so that ways and not graphs are compared."""
    table, _ = tb.discretise(tb.read_table(file), "frequency", n_bins=3)
    dag = tb.learn_structure(table, search="chow-liu")
    fold = np.random.default_rng(0).permutation(table.n_rows) % _FOLDS
    cells = np.stack([table.codes(name) >= 0 for name in table.names]).sum()
    whole = np.stack([table.codes(name) >= 0 for name in table.names]).all(axis=0)
    rows = []
    for name, way in WAYS.items():
        total = 0.0
        for k in range(_FOLDS):
            net = tb.fit_parameters(dag, table.take(fold != k), missing=way)
            total += float(net.log_likelihood(table.take(fold == k)).sum())
        used = int(whole.sum()) if way == "complete" else table.n_rows
        rows.append((name, str(used), f"{total / cells:.4f}"))
    columns = (
        f"horses, {table.n_rows} × {table.n_columns}",
        "rows used",
        "held-out log-likelihood of an observed cell",
    )
    return Grid(columns, tuple(rows))


def _votes(file: Path) -> Grid:
    """Naive Bayes counted, and by gradient ascent on the likelihood of the class, in five folds."""
    table = tb.read_table(file)
    target = table.names[-1]
    dag = tb.DAG(table.names, [(target, name) for name in table.names[:-1]])
    fold, classes = np.random.default_rng(0).permutation(table.n_rows) % 5, table.codes(target)
    rows = []
    for name, way in {"counted": "available", "by the class": tb.GradientAscent(target=target)}.items():
        losses = []
        for k in range(5):
            net = tb.fit_parameters(dag, table.take(fold != k), missing=way)
            shares = net.predict_proba(table.take(fold == k), target)
            losses += (-np.log(shares[np.arange(len(shares)), classes[fold == k]])).tolist()
        rows.append((name, f"{np.mean(losses):.3f}"))
    return Grid(("votes, naive Bayes, 435 × 17, five folds", "log-loss of the class"), tuple(rows))
