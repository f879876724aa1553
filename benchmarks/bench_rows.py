"""One posterior for each row of a frame, against a loop over rows with pyAgrum's LazyPropagation.

The rows are an Arrow table of strings in which cells are missing at random. The loop has an easier start: its rows are
ready as dicts of numbers. It is measured on the first 2 000 rows, in turns with all 100 000 of ours, and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import tunbridge as tb
from benchmarks.agrum import ABSENT, ENGINES, agrum_engine, agrum_network
from benchmarks.harness import Result, Section, best_of, interleaved, skipped
from benchmarks.samples import NO_NETWORKS, network_files

N_ROWS, N_LOOP = 100_000, 2_000
TARGET = "HYPOVOLEMIA"


def run() -> Section:
    files = network_files()
    if "alarm" not in files:
        return skipped(NO_NETWORKS)
    net = tb.read_network(files["alarm"])
    posteriors = [posterior_per_row(net, missing) for missing in (0.1, 0.5, 0.9)]
    return [*posteriors, likelihood_per_row(net, 0.1)]


def posterior_per_row(net: tb.BayesianNetwork, missing: float) -> Result:
    frame, rows = incomplete(net, missing, leave_out=TARGET)
    ours = lambda: net.predict_proba(frame, TARGET)  # noqa: E731
    work = f"predict_proba, {missing:.0%} missing"
    goal, least = ("≥ 100 ×", 100.0) if missing == 0.1 else ("–", None)
    return compared(work, ours, lambda: posterior_loop(net, rows), goal, least)


def likelihood_per_row(net: tb.BayesianNetwork, missing: float) -> Result:
    frame, rows = incomplete(net, missing)
    ours = lambda: np.exp(net.log_likelihood(frame))  # noqa: E731
    return compared(f"log_likelihood, {missing:.0%} missing", ours, lambda: evidence_loop(net, rows), "–", None)


def compared(
    work: str, ours: Callable[[], np.ndarray], loop: Callable[[], np.ndarray], goal: str, least: float | None
) -> Result:
    work = f"{work}, {N_ROWS:,} rows".replace(",", " ").replace("  ", ", ")
    if not ENGINES:
        return Result(work, best_of(ours, 3), remark=ABSENT)
    assert np.allclose(ours()[:N_LOOP], loop(), rtol=1e-9, atol=1e-12), "the two sides do not compute the same thing"
    mine, theirs = interleaved(ours, loop, 3)
    theirs *= N_ROWS / N_LOOP
    told = f"{mine / N_ROWS * 1e6:.2f} µs a row; peer on {N_LOOP} rows, times {N_ROWS // N_LOOP}"
    return Result(work, mine, theirs, "pyAgrum loop", goal, None if least is None else theirs >= least * mine, told)


def incomplete(
    net: tb.BayesianNetwork, missing: float, *, leave_out: str | None = None
) -> tuple[pa.Table, list[dict[int, int]]]:
    """Return rows with missing cells: all as a table of strings, the first ones as dicts of numbers for the loop."""
    table, rng = net.sample(N_ROWS, random_state=11), np.random.default_rng(12)
    columns, rows = {}, [{} for _ in range(N_LOOP)]
    for v, variable in enumerate(net.variables):
        codes, gone = table.codes(variable.name), rng.random(N_ROWS) < missing
        columns[variable.name] = pa.array(np.array(variable.states, object)[codes], pa.string(), mask=gone)
        for row, code, absent in zip(rows, codes.tolist(), gone.tolist(), strict=False):
            if not absent and variable.name != leave_out:
                row[v] = code
    return pa.table(columns), rows


def posterior_loop(net: tb.BayesianNetwork, rows: list[dict[int, int]]) -> np.ndarray:
    target = net.nodes.index(TARGET)
    engine = loop_engine(net)
    engine.setTargets({target})
    found = []
    for row in rows:
        engine.setEvidence(row)
        engine.makeInference()
        found.append(engine.posterior(target).toarray())
    return np.array(found)


def evidence_loop(net: tb.BayesianNetwork, rows: list[dict[int, int]]) -> np.ndarray:
    engine, found = loop_engine(net), []
    for row in rows:
        engine.setEvidence(row)
        found.append(engine.evidenceProbability())
    return np.array(found)


def loop_engine(net: tb.BayesianNetwork) -> Any:
    return agrum_engine("LazyPropagation", agrum_network(tuple(net.cpts.values())))
