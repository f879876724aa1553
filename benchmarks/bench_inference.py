"""All marginals of every repository network, against pyAgrum's LazyPropagation and ShaferShenoyInference.

Three questions, each a turn by turn comparison on the same findings, every posterior made on both sides:

- no findings, and a network that was never asked before: the tree is built as well (files and tables are ready);
- five findings, and again a network that was never asked before;
- five new findings, on other variables each time, and a network that was asked before.

Findings are states of randomly chosen variables in a row drawn from the network, so that they are possible; a network
of n variables gets at most n − 2. The peer of a line is the faster of the two engines.

MUNIN1 takes pyAgrum half a minute a question and LINK more memory than most machines have. So these two are asked in a
process of their own, with limits on its memory and time: MUNIN1 once, by LazyPropagation only; LINK by Tunbridge only.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.agrum import ENGINES, agrum_engine, agrum_network, all_posteriors
from benchmarks.harness import Grid, Result, Section, in_turns, peak_memory, ratio, seconds, skipped, timed
from benchmarks.samples import NO_NETWORKS, network_files

QUESTIONS = ("no findings, first", "5 findings, first", "5 new findings, again")
APART = {"munin1": ("LazyPropagation",), "link": ()}  # the engines that are asked, in a process of its own
MEMORY, TIME = 12 * 2**30, 90  # its limits, in bytes and seconds
N_TURNS = 30
INITIALS = {"LazyPropagation": "L", "ShaferShenoyInference": "S"}
Findings = dict[int, int]


@dataclass(frozen=True)
class Answered:
    """The times of one network: ours and those of the peers by question; and our peak memory where it was measured."""

    name: str
    n_nodes: int
    ours: dict[str, float] = field(default_factory=dict)
    peers: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: int = 0

    def peer(self, question: str) -> tuple[float, str] | None:
        """Return the time and name of the faster peer."""
        found = self.peers.get(question)
        return min((time, name) for name, time in found.items()) if found else None

    def ratio(self, question: str) -> float | None:
        peer = self.peer(question)
        return None if peer is None or question not in self.ours else peer[0] / self.ours[question]


def run() -> Section:
    files = network_files()
    if not files:
        return skipped(NO_NETWORKS)
    answered = [measured(name, path) for name, path in files.items()]
    lines = [line for question in QUESTIONS for line in summary(answered, question)]
    by_name = {a.name: a for a in answered}
    lines += large_peer(by_name["munin1"]) if "munin1" in by_name else []
    lines += large_alone(by_name["link"]) if "link" in by_name else []
    return [*lines, grid(answered)]


def measured(name: str, path: Path) -> Answered:
    if name in APART:
        return apart(name, path)
    asked = Asked(path, ENGINES)
    asked.check()
    found = Answered(name, asked.n_nodes)
    for question in QUESTIONS:
        sides = {engine: asked.peer(engine, question) for engine in ENGINES}
        ours, *peers = in_turns([asked.ours(question), *sides.values()], most=N_TURNS, budget=1.0)
        found.ours[question] = ours
        found.peers[question] = dict(zip(sides, peers, strict=True))
    return found


class Asked:
    """A network, ready to be asked by both sides."""

    def __init__(self, path: Path, engines: tuple[str, ...]) -> None:
        net = tb.read_network(path)
        self.cpts = tuple(net.cpts.values())
        self.n_nodes = len(self.cpts)
        self.theirs = agrum_network(self.cpts) if engines else None
        self.engines = engines
        self.findings = list(drawn_findings(net, N_TURNS + 1))
        self.named = [
            {self.cpts[v].variable.name: self.cpts[v].variable.states[k] for v, k in findings.items()}
            for findings in self.findings
        ]

    def ours(self, question: str) -> Callable[[int], object]:
        """Return what a turn asks of us. A fresh network for every turn is made beforehand, as the peer's is."""
        if question == QUESTIONS[0]:
            nets = [self.fresh() for _ in self.named]
            return lambda turn: list(nets.pop().posteriors().values())
        if question == QUESTIONS[1]:
            nets = [self.fresh() for _ in self.named]
            return lambda turn: list(nets.pop().posteriors(self.named[turn]).values())
        net = self.fresh()
        net.posteriors()
        return lambda turn: list(net.posteriors(self.named[turn]).values())

    def fresh(self) -> tb.BayesianNetwork:
        return tb.BayesianNetwork.from_tables(self.cpts)

    def peer(self, engine: str, question: str) -> Callable[[int], object]:
        n = self.n_nodes
        if question == QUESTIONS[0]:
            return lambda turn: all_posteriors(agrum_engine(engine, self.theirs), {}, n)
        if question == QUESTIONS[1]:
            return lambda turn: all_posteriors(agrum_engine(engine, self.theirs), self.findings[turn], n)
        kept = agrum_engine(engine, self.theirs)
        kept.makeInference()
        return lambda turn: all_posteriors(kept, self.findings[turn], n)

    def check(self) -> None:
        """Assert that all sides give the same answers."""
        for engine in self.engines:
            for question in QUESTIONS[:2]:
                agree(self.ours(question)(0), self.peer(engine, question)(0))


def drawn_findings(net: tb.BayesianNetwork, n: int) -> Iterator[Findings]:
    rng, rows = np.random.default_rng(5), net.sample(n, random_state=5)
    for row in range(n):
        chosen = rng.permutation(len(net.nodes))[: min(5, len(net.nodes) - 2)]
        yield {int(v): int(rows.codes(net.nodes[v])[row]) for v in chosen}


def agree(ours: list[tb.Distribution], theirs: list[Any]) -> None:
    apart = max(float(np.abs(a.probabilities - b.toarray()).max()) for a, b in zip(ours, theirs, strict=True))
    assert apart < 1e-9, f"the two sides do not compute the same thing: {apart}"


# Large networks, in a process of their own


def apart(name: str, path: Path) -> Answered:
    """Measure in a process that says one line as soon as it knows it, so that a limit loses only what comes after."""
    command = [sys.executable, "-m", "benchmarks.bench_inference", name, str(path)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=TIME, check=False)
        if done.returncode > 0:  # below 0: killed, for want of memory
            raise RuntimeError(f"the process that measures {name} failed")
        told = done.stdout
    except subprocess.TimeoutExpired as error:
        told = error.stdout or b""
    lines = [json.loads(line) for line in told.splitlines()]
    if not lines:
        raise RuntimeError(f"{name} was not read within {TIME} s")
    found = Answered(name, lines[0]["n_nodes"], memory=max(line.get("memory", 0) for line in lines))
    for line in lines[1:]:
        if line["engine"]:
            found.peers.setdefault(line["question"], {})[line["engine"]] = line["time"]
        else:
            found.ours[line["question"]] = line["time"]
    return found


def tell_apart(name: str, path: Path) -> None:
    """Be that process: at each question ours several times, then each peer once and without a warm-up."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    engines = tuple(engine for engine in APART[name] if engine in ENGINES)
    asked = Asked(path, engines)
    kept = {engine: agrum_engine(engine, asked.theirs) for engine in engines}
    tell(n_nodes=asked.n_nodes)
    for question in (QUESTIONS[0], QUESTIONS[2], QUESTIONS[1]):  # the first two by the same engine of the peer
        time = in_turns([asked.ours(question)], most=5)[0]
        tell(engine="", question=question, time=time, memory=peak_memory())
        for engine in engines:
            if question == QUESTIONS[1]:
                kept[engine] = agrum_engine(engine, asked.theirs)
            tell_answer(asked, engine, question, kept[engine])


def tell_answer(asked: Asked, engine: str, question: str, theirs: Any) -> None:
    findings, named = ({}, None) if question == QUESTIONS[0] else (asked.findings[1], asked.named[1])
    answers: list[Any] = []
    try:
        time = timed(lambda: answers.extend(all_posteriors(theirs, findings, asked.n_nodes)))
    except MemoryError:
        return
    tell(engine=engine, question=question, time=time)
    agree(list(asked.fresh().posteriors(named).values()), answers)


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


# The report


def summary(answered: list[Answered], question: str) -> list[Result]:
    """Return the network with the least ratio, and for repeated questions the one with the median ratio."""
    compared = sorted((times, a.name) for a in answered if (times := a.ratio(question)) is not None)
    if not compared:
        return []
    by_name = {a.name: a for a in answered}
    slower = [f"{name} {times:.2f} ×" for times, name in compared if times < 1]
    told = f"slower on {', '.join(slower)}" if slower else f"faster on all {len(compared)}"
    ratios = [times for times, _ in compared]
    told = f"{told}; geometric mean {statistics.geometric_mean(ratios):.1f} ×"
    least = by_name[compared[0][1]]
    lines = [line(least, question, f"least ratio ({least.name})", "> 1 × on every network", not slower, told)]
    if question == QUESTIONS[2]:
        middle = by_name[compared[(len(compared) - 1) // 2][1]]
        reached = statistics.median_low(ratios) >= 5
        lines.append(line(middle, question, f"median ratio ({middle.name})", "≥ 5 ×", reached, "the lower median"))
    return lines


def line(a: Answered, question: str, which: str, goal: str, reached: bool, remark: str) -> Result:
    peer = a.peer(question)
    assert peer is not None
    return Result(f"{question}: {which}", a.ours[question], peer[0], peer[1], goal, reached, remark)


def large_peer(a: Answered) -> list[Result]:
    told = f"peer once, at most {TIME} s and {MEMORY / 2**30:.0f} GiB for all its questions"
    return [
        line(a, question, a.name.upper(), "≥ 5 ×", times >= 5, told)
        for question in QUESTIONS
        if (times := a.ratio(question)) is not None
    ]


def large_alone(a: Answered) -> list[Result]:
    told = f"peak memory of the process {a.memory / 2**30:.2f} GiB; pyAgrum: out of 23 GiB"
    times = {f"{question}: {a.name.upper()}": a.ours[question] for question in QUESTIONS if question in a.ours}
    return [
        Result(work, time, goal="< 3 s, 2 GB", reached=time < 3 and a.memory < 2e9, remark=told)
        for work, time in times.items()
    ]


def grid(answered: list[Answered]) -> Grid:
    """Return a line for each network."""
    columns = [
        cell for question in QUESTIONS for cell in (question, f"pyAgrum ({'/'.join(INITIALS.values())})", "ratio")
    ]
    rows = [
        (a.name, str(a.n_nodes), *(cell for question in QUESTIONS for cell in cells(a, question))) for a in answered
    ]
    return Grid(("network", "variables", *columns), tuple(rows))


def cells(a: Answered, question: str) -> tuple[str, str, str]:
    ours, peer, times = a.ours.get(question), a.peer(question), a.ratio(question)
    return (
        "–" if ours is None else seconds(ours),
        "–" if peer is None else f"{seconds(peer[0])} {INITIALS[peer[1]]}",
        "–" if times is None else ratio(times),
    )


if __name__ == "__main__":
    tell_apart(sys.argv[1], Path(sys.argv[2]))
