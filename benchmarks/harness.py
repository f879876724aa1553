"""Timing, peak memory, and the table of results."""

from __future__ import annotations

import datetime
import gc
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("tunbridge", "numpy", "numba", "pyarrow", "scikit-learn", "pgmpy", "pyagrum", "hmmlearn")


@dataclass(frozen=True)
class Result:
    """One line of the report; times in seconds."""

    work: str
    ours: float
    peer: float | None = None
    peer_name: str = "–"
    goal: str = "–"
    reached: bool | None = None
    remark: str = ""

    @property
    def ratio(self) -> str:
        return "–" if self.peer is None else f"{self.peer / self.ours:.1f} ×"

    def cells(self) -> list[str]:
        peer = "–" if self.peer is None else f"{seconds(self.peer)} ({self.peer_name})"
        reached = {None: "", True: "yes", False: "**no**"}[self.reached]
        return [self.work, seconds(self.ours), peer, self.ratio, self.goal, reached, self.remark]


@dataclass(frozen=True)
class Grid:
    """A table of its own below the lines of a section, for what is measured on many things alike."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> list[str]:
        rule = ["---"] * len(self.columns)
        return ["| " + " | ".join(cells) + " |" for cells in (self.columns, rule, *self.rows)]


Section = list[Result | Grid]


def skipped(reason: str) -> Section:
    """Return a section that says why nothing was measured."""
    return [Grid(("not measured",), ((reason,),))]


def seconds(value: float) -> str:
    return f"{value * 1e3:.2f} ms" if value < 0.1 else f"{value:.2f} s"


def ratio(value: float) -> str:
    """Return a ratio for a grid, in bold where the peer is faster."""
    return f"{value:.1f} ×" if value >= 1 else f"**{value:.2f} ×**"


def best_of(function: Callable[[], object], repeat: int = 5) -> float:
    """Return the least time of several runs, after one that warms up (compilation, caches, page faults)."""
    function()
    return min(timed(function) for _ in range(repeat))


def interleaved(ours: Callable[[], object], peer: Callable[[], object], repeat: int = 3) -> tuple[float, float]:
    """Return the least time of each side, run in turns so that a busy moment does not fall on one side only."""
    ours()
    peer()
    pairs = [(timed(ours), timed(peer)) for _ in range(repeat)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def in_turns(sides: Sequence[Callable[[int], object]], *, most: int = 30, budget: float = 1.5) -> list[float]:
    """Return the median time of each side over turns, after one that warms up.

    Every side gets the number of the turn, so that all of them do the same new work in it. Turns end when there were
    ``most`` of them or the budget (in seconds) is spent.
    """
    for side in sides:
        side(0)
    turns: list[list[float]] = []
    gc.collect()
    gc.disable()
    try:
        while not turns or (len(turns) < most and sum(map(sum, turns)) < budget):
            turns.append([_clocked(side, len(turns) + 1) for side in sides])
    finally:
        gc.enable()
    return [statistics.median(times) for times in zip(*turns, strict=True)]


def _clocked(side: Callable[[int], object], turn: int) -> float:
    start = time.perf_counter()
    side(turn)
    return time.perf_counter() - start


def timed(function: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def run_python(code: str, **environment: str) -> str:
    """Return what a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout


def peak_memory() -> int:
    """Return the most memory, in bytes, that this process has held at once (Linux; elsewhere 0)."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found.group(1)) * 1024 if found else 0


def machine() -> str:
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()} {platform.machine()}"


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} absent")
    return ", ".join(found)


def write_results(sections: dict[str, Section], titles: Sequence[str]) -> None:
    """Write sections into RESULTS.md, in the order of the titles, then others; those not measured now stay."""
    kept = _read_sections() | {title: _section_lines(section) for title, section in sections.items()}
    lines = [
        "# Results",
        "",
        "`make bench` measures everything anew, `python -m benchmarks --write NAME …` some sections. Both sides in one "
        "run on the same data, in turns (pgmpy once); the least of several runs (inference and single network files: "
        "the median); compilation apart. Tunbridge uses all cores, as do BLAS, pyarrow and pyAgrum; scikit-learn's "
        "naive Bayes uses one.",
    ]
    for title in sorted(kept, key=lambda title: titles.index(title) if title in titles else len(titles)):
        lines += ["", f"## {title}", "", *kept[title]]
    RESULTS.write_text("\n".join(lines) + "\n")


def _section_lines(section: Section) -> list[str]:
    lines = [f"Measured {datetime.date.today().isoformat()} on {machine()}; {versions()}."]
    results = [item for item in section if isinstance(item, Result)]
    if results:
        header = "| work | Tunbridge | peer | ratio | goal | reached | remark |"
        lines += ["", header, "|---|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(result.cells()) + " |" for result in results]
    for item in section:
        lines += ["", *item.lines()] if isinstance(item, Grid) else []
    return lines


def _read_sections() -> dict[str, list[str]]:
    """Return the sections that RESULTS.md has, by title."""
    if not RESULTS.exists():
        return {}
    parts = RESULTS.read_text().split("\n## ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip("\n").split("\n") for part in parts}
