"""Rows drawn from ALARM, against NumPy filling an array of that shape with random numbers, and pyAgrum's generator."""

from __future__ import annotations

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ENGINES, agrum_network, pyagrum
from benchmarks.harness import Result, Section, interleaved, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

N_ROWS, N_PEER = 1_000_000, 100_000
FINDINGS = {"HR": "HIGH", "CVP": "LOW", "CATECHOL": "HIGH", "BP": "LOW", "SAO2": "LOW"}


def run() -> Section:
    files = network_files()
    if "alarm" not in files:
        return skipped(NO_NETWORKS)
    net = tb.read_network(files["alarm"])
    lines = [
        against_numpy(net, "into a Table"),
        against_numpy(net, "into an Arrow table", arrow=True),
        against_numpy(net, f"given {len(FINDINGS)} findings, into a Table", evidence=FINDINGS, goal=False),
    ]
    return lines + (against_agrum(net) if ENGINES else [])


def against_numpy(
    net: tb.BayesianNetwork,
    work: str,
    *,
    arrow: bool = False,
    evidence: dict[str, str] | None = None,
    goal: bool = True,
) -> Result:
    def ours() -> object:
        table = net.sample(N_ROWS, random_state=0, evidence=evidence)
        return table.to_arrow() if arrow else table

    mine, theirs = interleaved(ours, lambda: np.random.default_rng(0).random((N_ROWS, len(net.nodes))), 5)
    told = f"{mine / N_ROWS * 1e9:.0f} ns a row"
    reached = mine <= theirs if goal else None
    return Result(work, mine, theirs, "rng.random((1 000 000, 37))", "≥ 1 ×" if goal else "–", reached, told)


def against_agrum(net: tb.BayesianNetwork) -> list[Result]:
    theirs = agrum_network(tuple(net.cpts.values()))

    def draw() -> object:
        generator = pyagrum.BNDatabaseGenerator(theirs)
        generator.drawSamples(N_PEER)
        return generator.to_pandas()

    ours = min(timed(lambda: net.sample(N_ROWS, random_state=0).to_pandas()) for _ in range(3))
    told = f"peer on {N_PEER} rows, times {N_ROWS // N_PEER}"
    return [Result("into a pandas frame", ours, timed(draw) * N_ROWS / N_PEER, "pyAgrum", remark=told)]
