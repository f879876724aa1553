"""Holes filled in all rows of a frame, against loops over rows with pyAgrum and pgmpy.

No peer has a method for it. The loops do, row by row, what a user would write: the posterior of each missing cell and
its most probable state (pyAgrum); the most probable states together (pgmpy's ``map_query``); a draw cell by cell, each
given those before it (pyAgrum). Their rows are ready as dicts of numbers, ours are an Arrow table of strings. They are
measured on the first rows and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import tunbridge as tb
from benchmarks.agrum import ABSENT, ENGINES, agrum_engine, agrum_network
from benchmarks.harness import Result, Section, best_of, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

N_ROWS = 100_000
N_SINGLE, N_JOINT, N_DRAWN = 300, 20, 100

Row = tuple[dict[int, int], list[int]]
"""The states that are known by the numbers of their variables, and the numbers of the variables that are missing."""


def run() -> Section:
    files = network_files()
    if "alarm" not in files:
        return skipped(NO_NETWORKS)
    net = tb.read_network(files["alarm"])
    lines: Section = []
    for missing in (0.1, 0.4):
        frame, rows = incomplete(net, missing)
        lines += [jointly(net, frame, rows, missing), cell_wise(net, frame, rows, missing)]
        lines.append(drawn(net, frame, rows, missing))
    return lines


def jointly(net: tb.BayesianNetwork, frame: pa.Table, rows: list[Row], missing: float) -> Result:
    ours, work = best_of(lambda: net.impute(frame), 3), f"most probable, jointly, {missing:.0%} missing"
    theirs = pgmpy_states(net) if missing < 0.2 else None  # where more is missing it takes minutes
    if theirs is None:
        return result(work, ours)
    table = codes_of(net, net.impute(frame.slice(0, N_JOINT)))
    states = [theirs(row) for row in rows[:N_JOINT]]
    assert all(np.isclose(log_p(net, table[i]), log_p(net, s), rtol=1e-9) for i, s in enumerate(states))
    return result(work, ours, timed(lambda: [theirs(row) for row in rows[:N_JOINT]]), N_JOINT, "pgmpy map_query loop")


def cell_wise(net: tb.BayesianNetwork, frame: pa.Table, rows: list[Row], missing: float) -> Result:
    ours = best_of(lambda: net.impute(frame, jointly=False), 3)
    work = f"most probable, cell by cell, {missing:.0%} missing"
    if not ENGINES:
        return result(work, ours, remark=ABSENT)
    table = codes_of(net, net.impute(frame.slice(0, N_SINGLE), jointly=False))
    assert (table == np.array(single_loop(net, rows[:N_SINGLE]))).mean() > 0.999  # but for ties
    return result(work, ours, timed(lambda: single_loop(net, rows[:N_SINGLE])), N_SINGLE, "pyAgrum loop")


def drawn(net: tb.BayesianNetwork, frame: pa.Table, rows: list[Row], missing: float) -> Result:
    ours = best_of(lambda: net.impute(frame, "sample", random_state=0), 3)
    work = f"drawn, {missing:.0%} missing"
    if not ENGINES:
        return result(work, ours, remark=ABSENT)
    return result(work, ours, timed(lambda: drawing_loop(net, rows[:N_DRAWN])), N_DRAWN, "pyAgrum loop, cell by cell")


def result(
    work: str, ours: float, theirs: float | None = None, n: int = 1, name: str = "–", *, remark: str = ""
) -> Result:
    told = f"{N_ROWS / ours:,.0f} rows/s".replace(",", " ")
    if theirs is not None:
        told += f"; peer on {n} rows, times {N_ROWS // n}"
    goal, reached = ("a few seconds", ours < 5.0) if "10%" in work else ("–", None)
    peer = None if theirs is None else theirs * N_ROWS / n
    return Result(f"{work}, 100 000 rows", ours, peer, name, goal, reached, "; ".join(filter(None, [told, remark])))


def incomplete(net: tb.BayesianNetwork, missing: float) -> tuple[pa.Table, list[Row]]:
    """Return rows with missing cells: all as a table of strings, the first ones as numbers for the loops."""
    table, rng = net.sample(N_ROWS, random_state=11), np.random.default_rng(12)
    columns, rows = {}, [({}, []) for _ in range(N_SINGLE)]
    for v, variable in enumerate(net.variables):
        codes, gone = table.codes(variable.name), rng.random(N_ROWS) < missing
        columns[variable.name] = pa.array(np.array(variable.states, object)[codes], pa.string(), mask=gone)
        for (known, holes), code, absent in zip(rows, codes.tolist(), gone.tolist(), strict=False):
            if absent:
                holes.append(v)
            else:
                known[v] = code
    return pa.table(columns), rows


def codes_of(net: tb.BayesianNetwork, table: tb.Table) -> np.ndarray:
    return np.array([table.recode([v]).codes(v.name) for v in net.variables]).T


def log_p(net: tb.BayesianNetwork, codes: Any) -> float:
    return float(net.log_likelihood({v.name: [v.states[c]] for v, c in zip(net.variables, codes, strict=True)})[0])


def single_loop(net: tb.BayesianNetwork, rows: list[Row]) -> list[list[int]]:
    engine, found = agrum_engine("LazyPropagation", agrum_network(tuple(net.cpts.values()))), []
    for known, holes in rows:
        engine.setEvidence(known)
        engine.setTargets(set(holes))
        engine.makeInference()
        best = {v: int(engine.posterior(v).toarray().argmax()) for v in holes}
        found.append([known.get(v, best.get(v)) for v in range(len(net.nodes))])
    return found


def drawing_loop(net: tb.BayesianNetwork, rows: list[Row]) -> None:
    engine, rng = agrum_engine("LazyPropagation", agrum_network(tuple(net.cpts.values()))), np.random.default_rng(0)
    for known, holes in rows:
        states = dict(known)
        for v in holes:
            engine.setEvidence(states)
            engine.setTargets({v})
            engine.makeInference()
            limits = np.cumsum(engine.posterior(v).toarray())
            states[v] = int(np.searchsorted(limits, rng.random() * limits[-1]))


def pgmpy_states(net: tb.BayesianNetwork) -> Callable[[Row], list[int]] | None:
    """Return a function that gives the most probable states of a row, by pgmpy; None where it is not installed."""
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.inference import VariableElimination
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError:
        return None
    number = {name: i for i, name in enumerate(net.nodes)}
    model = DiscreteBayesianNetwork([(number[a], number[b]) for a, b in net.dag.arcs])
    for cpt in net.cpts.values():
        parents = [number[p.name] for p in cpt.parents]
        values = cpt.table().reshape(-1, cpt.variable.n_states).T
        sizes = [p.n_states for p in cpt.parents]
        model.add_cpds(TabularCPD(number[cpt.variable.name], cpt.variable.n_states, values, parents, sizes))
    asked = VariableElimination(model)

    def states(row: Row) -> list[int]:
        known, holes = row
        found = asked.map_query(holes, known, show_progress=False) if holes else {}
        return [int(known.get(v, found.get(v, -1))) for v in range(len(number))]

    return states
