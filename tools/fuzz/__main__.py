"""Run the fuzzer: ``python -m tools.fuzz [--minutes M] [--seed S] [target …]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from multiprocessing.pool import ThreadPool

from tools.fuzz.models import ROOT
from tools.fuzz.targets import TARGETS
from tools.fuzz.trial import Failure, fuzz, minimised, save, stop_slow


def _run(task: tuple[str, int, float]) -> tuple[str, int, list[Failure]]:
    name, seed, seconds = task
    return name, *fuzz(name, seed, time.monotonic() + seconds)


def main() -> None:
    """Fuzz the targets in turns, on every core, and report."""
    parser = argparse.ArgumentParser(description="Give mutated input to every reader.")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=f"default: {' '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    parser.add_argument("--keep", action="store_true", help="write bad inputs to the regression corpus")
    given = parser.parse_args()
    cores = os.cpu_count() or 1
    seconds = given.minutes * 60 * cores / len(given.targets)
    tasks = [(name, given.seed, seconds) for name in given.targets]
    total, bad = 0, {}
    with ThreadPool(cores) as pool:
        for name, count, failures in pool.imap_unordered(_run, tasks):
            new = {f.signature: f for f in sorted(failures, key=lambda f: -len(f.data))}
            bad |= {(name, signature): f for signature, f in new.items()}
            total += count
            print(f"{name:10} {count:9} inputs, {len(failures)} bad of {len(new)} kinds", flush=True)
            for signature, failure in new.items():
                print(f"           {signature}: {failure.data[:60]!r}", flush=True)
    print(f"{total} inputs, {len(bad)} kinds of failures")
    if given.keep:
        signal.signal(signal.SIGALRM, stop_slow)
        for failure in bad.values():
            is_safe = not failure.signature.startswith(("the process", "no answer", "more than"))
            print("kept", save(minimised(failure) if is_safe else failure).relative_to(ROOT))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
