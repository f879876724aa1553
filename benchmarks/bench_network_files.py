"""Reading and writing network files: every repository network in BIF, and one of the size of MUNIN.

The large one is random, once with probabilities of four digits, as most are in the repository networks, and once with
all the digits that learned ones have, which makes the file nearly twice as long. Each side reads a file into its own
network. pyAgrum cannot read CHILD; pgmpy takes seconds for the larger ones, so it reads only those below 10 kB, once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tunbridge as tb
from benchmarks.agrum import pyagrum
from benchmarks.harness import Grid, Result, Section, best_of, in_turns, interleaved, ratio, seconds, timed
from benchmarks.samples import NO_NETWORKS, network_files

N_NODES, WINDOW = 1041, 12
SMALL = 10_000  # bytes
FORMATS = ("bif", "xmlbif", "net", "dsc", "uai", "tb")


def run() -> Section:
    lines: Section = []
    with tempfile.TemporaryDirectory() as folder:
        for told, digits in (("four digits", 4), ("all digits", None)):
            net, path = munin_size(digits), Path(folder) / f"large_{digits}.bif"
            net.write(path)
            n_numbers = sum(int(np.prod(cpt.shape)) for cpt in net.cpts.values())
            told = f"{N_NODES} variables, {n_numbers} numbers, {told}, {path.stat().st_size / 2**20:.2f} MiB"
            lines += [read_line(path, told), write_line(net, path, told)]
        return [*lines, formats_grid(munin_size(4), Path(folder)), files_grid()]


def read_line(path: Path, told: str) -> Result:
    work, goal = "read a BIF file of MUNIN's size", "< 0.3 s"
    if pyagrum is None:
        ours = best_of(lambda: tb.read_network(path))
        return Result(work, ours, goal=goal, reached=ours < 0.3, remark=told)
    ours, peer = interleaved(lambda: tb.read_network(path), lambda: pyagrum.loadBN(str(path)))
    return Result(work, ours, peer, "pyAgrum", goal, ours < 0.3, told)


def write_line(net: tb.BayesianNetwork, path: Path, told: str) -> Result:
    work, written = "write it", path.with_name("written.bif")
    if pyagrum is None:
        return Result(work, best_of(lambda: net.write(written)), remark=told)
    theirs, their_file = pyagrum.loadBN(str(path)), str(path.with_name("theirs.bif"))
    ours, peer = interleaved(lambda: net.write(written), lambda: pyagrum.saveBN(theirs, their_file))
    return Result(work, ours, peer, "pyAgrum", remark=told)


def formats_grid(net: tb.BayesianNetwork, folder: Path) -> Grid:
    """Return our times for the large network in every format."""
    rows = []
    for suffix in FORMATS:
        path = folder / f"every.{suffix}"
        written = best_of(lambda path=path: net.write(path), 2)
        read = best_of(lambda path=path: tb.read_network(path), 2)
        rows.append((suffix, seconds(read), seconds(written), f"{path.stat().st_size / 2**20:.2f} MiB"))
    return Grid(("the large network (four digits), format", "read", "write", "size"), tuple(rows))


def files_grid() -> Grid:
    files = network_files()
    if not files:
        return Grid(("not measured",), ((NO_NETWORKS,),))
    rows = [file_row(name, path) for name, path in files.items()]
    return Grid(("read", "kB", "Tunbridge", "pyAgrum", "ratio", "pgmpy", "ratio"), tuple(rows))


def file_row(name: str, path: Path) -> tuple[str, ...]:
    sides: list[Callable[[int], object]] = [lambda turn: tb.read_network(path)]
    if pyagrum is not None and name != "child":
        sides.append(lambda turn: pyagrum.loadBN(str(path)))
    ours, *theirs = in_turns(sides, most=10, budget=0.7)
    row = [name, f"{path.stat().st_size / 1000:.1f}", seconds(ours)]
    for peer in (theirs[0] if theirs else None, pgmpy_time(path)):
        row += ["–", "–"] if peer is None else [seconds(peer), ratio(peer / ours)]
    return tuple(row)


def pgmpy_time(path: Path) -> float | None:
    if path.stat().st_size > SMALL:
        return None
    try:
        from pgmpy.readwrite import BIFReader
    except ImportError:
        return None
    return timed(lambda: BIFReader(str(path)).get_model())


def munin_size(digits: int | None) -> tb.BayesianNetwork:
    """Return a random network with as many variables as MUNIN, up to 21 states and three parents each."""
    rng, variables, cpts = np.random.default_rng(3), [], []
    for i in range(N_NODES):
        variable = tb.Variable(f"node_{i}", [f"state_{k}" for k in range(int(rng.choice([2, 3, 4, 5, 6, 7, 21])))])
        near = variables[-WINDOW:]
        parents = [near[j] for j in rng.permutation(len(near))[: rng.integers(0, 4)]]
        while np.prod([p.n_states for p in parents], initial=variable.n_states) > 500:
            parents.pop()
        weights = rng.gamma(0.5, size=(*(p.n_states for p in parents), variable.n_states)) + 1e-9
        rows = weights / weights.sum(axis=-1, keepdims=True)
        if digits is not None:
            rows = np.random.default_rng(i).multinomial(10**digits, rows) / 10**digits
        variables.append(variable)
        cpts.append(tb.CPT(variable, parents, rows))
    return tb.BayesianNetwork.from_tables(cpts, name="large")
