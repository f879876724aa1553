"""Run the fuzzer: ``python -m tools.fuzz [--minutes M] [--seed S] [target …]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.fuzz import guided
from tools.fuzz.models import ROOT
from tools.fuzz.targets import TARGETS
from tools.fuzz.trial import Failure, fuzz, minimised, retried, save, stop_slow
from tunbridge._warmup import warm_up

_GUIDED = 1 / 3  # of the time, where atheris is installed
_PAGE, _MARKS = ROOT / "docs" / "reliability.md", ("<!-- fuzz: begin -->", "<!-- fuzz: end -->")


def _run(task: tuple[str, int, float]) -> tuple[str, int, list[Failure]]:
    """Try one target by mutations, and by coverage where that is possible."""
    name, seed, seconds = task
    share = _GUIDED if guided.is_available() else 0.0
    count, failures = fuzz(name, seed, time.monotonic() + seconds * (1.0 - share))
    if share:
        with TemporaryDirectory() as folder:
            more, inputs = guided.run(name, Path(folder), seconds=seconds * share, seed=seed)
        count += more
        failures += [failure for data in inputs if (failure := retried(name, data)) is not None]
    return name, count, failures


def _record(counts: dict[str, int], n_bad: int) -> None:
    """Rewrite the table of the page about reliability."""
    before, _, rest = _PAGE.read_text().partition(_MARKS[0])
    rows = [f"| {name} | {count:,} |".replace(",", " ") for name, count in sorted(counts.items())]
    total = f"{sum(counts.values()):,}".replace(",", " ")
    table = "\n".join(["| input | mutated inputs |", "|---|---:|", *rows, f"| **all** | **{total}**, {n_bad} bad |"])
    _PAGE.write_text(f"{before}{_MARKS[0]}\n{table}\n{_MARKS[1]}{rest.partition(_MARKS[1])[2]}")


def main() -> None:
    """Fuzz the targets in turns, on every core, and report."""
    parser = argparse.ArgumentParser(description="Give mutated input to every reader.")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=f"default: {' '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    parser.add_argument("--record", action="store_true", help="write the counts to docs/reliability.md")
    parser.add_argument("--keep", action="store_true", help="write bad inputs to the regression corpus")
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    seconds = given.minutes * 60 * cores / len(given.targets)
    tasks = [(name, given.seed, seconds) for name in given.targets]
    warm_up(n_jobs=None)  # to compile a kernel would count as the time of an input
    counts: dict[str, int] = {}
    bad: dict[tuple[str, str], Failure] = {}
    with ThreadPool(cores) as pool:
        for name, count, failures in pool.imap_unordered(_run, tasks):
            new = {f.signature: f for f in sorted(failures, key=lambda f: -len(f.data))}
            bad |= {(name, signature): f for signature, f in new.items()}
            counts[name] = count
            print(f"{name:10} {count:9} inputs, {len(failures)} bad of {len(new)} kinds", flush=True)
            for signature, failure in new.items():
                print(f"           {signature}: {failure.data[:60]!r}", flush=True)
    print(f"{sum(counts.values())} inputs, {len(bad)} kinds of failures")
    if given.record:
        _record(counts, len(bad))
    if given.keep:
        signal.signal(signal.SIGPROF, stop_slow)
        for failure in bad.values():
            is_safe = not failure.signature.startswith(("the process", "no answer", "more than"))
            print("kept", save(minimised(failure) if is_safe else failure).relative_to(ROOT))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
