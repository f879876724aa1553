"""Run all benchmarks, or those named: ``python -m benchmarks [counts] [naive_bayes] [reading] [start]``."""

from __future__ import annotations

import importlib
import sys

from benchmarks.harness import Result, machine, write_results

TITLES = {
    "counts": "Counting",
    "naive_bayes": "Naive Bayes, 1 000 000 × 50, 5 classes",
    "reading": "Reading",
    "start": "Cold start and compilation",
}


def main(chosen: list[str]) -> None:
    print(machine())
    sections: dict[str, list[Result]] = {}
    for name in chosen or list(TITLES):
        print(f"\n{TITLES[name]}")
        sections[TITLES[name]] = importlib.import_module(f"benchmarks.bench_{name}").run()
        for result in sections[TITLES[name]]:
            print("  " + " | ".join(result.cells()))
    if not chosen:
        write_results(sections)


if __name__ == "__main__":
    main(sys.argv[1:])
