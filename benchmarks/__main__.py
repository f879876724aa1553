"""Run all benchmarks and rewrite RESULTS.md, or those named: ``python -m benchmarks inference rows``.

Named ones are only shown, unless ``--write`` puts them into RESULTS.md beside the others.
"""

from __future__ import annotations

import importlib
import sys

from benchmarks.harness import Grid, Section, machine, write_results

TITLES = {
    "counts": "Counting",
    "naive_bayes": "Naive Bayes, 1 000 000 × 50, 5 classes",
    "ande": "AODE and A2DE: ADULT, and the memory of A2DE",
    "reading": "Reading",
    "inference": "Exact inference: all marginals of the repository networks",
    "rows": "One posterior per row, ALARM",
    "sampling": "Sampling, ALARM 1 000 000 × 37",
    "network_files": "Network files",
    "structure": "Structure learning: hill-climbing and tabu, BIC",
    "trees": "Structure learning: Chow–Liu and TAN",
    "structure_quality": "Structure learning: how good the graphs are",
    "structure_scale": "Structure learning: many states, rows and columns",
    "parameters": "Parameter learning",
    "em": "Parameters: EM",
    "missing_data": "Missing cells: dropping rows, available cases and EM",
    "structural_em": "Missing cells: structure and tables together",
    "imputation": "Imputation, ALARM",
    "update": "Updating a network, ALARM",
    "classifiers": "Classifiers with dependences: speed",
    "accuracy.uci": "Accuracy: the sets of the classic comparison",
    "accuracy.defaults": "Accuracy: learn without options, the race of 20 seconds",
    "accuracy.numbers": "Accuracy: models of numbers in naive Bayes, other sets",
    "accuracy.categorical": "Accuracy: categorical sets of 1 000 rows or more",
    "semi_supervised": "Semi-supervised learning: rows without a class",
    "concepts": "Concept learning, 1 000 000 × 20",
    "sequences": "Sequences: Markov chains, 10⁸ letters",
    "temporal": "Hidden Markov models: learning, paths, streams",
    "dynamic": "Dynamic networks: long sequences, many sequences, large slices",
    "accuracy.tagging": "Accuracy: tags and structures by hidden Markov models",
    "accuracy.sequences": "Accuracy: promoters, splice junctions, protein structure",
    "text": "Text: from raw strings to models and predictions",
    "accuracy.newsgroups": "Accuracy: the 20 newsgroups",
    "accuracy.sms": "Accuracy: SMS spam",
    "accuracy.texts": "Accuracy: texts beside other columns",
    "text_scale": "Text at scale: 500 000 documents streamed",
    "start": "Cold start and compilation",
}


def main(given: list[str]) -> None:
    chosen = [word for word in given if word != "--write"]
    unknown = [name for name in chosen if name not in TITLES]
    if unknown:
        raise SystemExit(f"benchmarks must be among {', '.join(TITLES)}; got {', '.join(unknown)}.")
    print(machine())
    sections: dict[str, Section] = {}
    for name in chosen or list(TITLES):
        print(f"\n{TITLES[name]}", flush=True)
        sections[TITLES[name]] = importlib.import_module(module_of(name)).run()
        show(sections[TITLES[name]])
        if not chosen or "--write" in given:
            write_results(sections, list(TITLES.values()))


def module_of(name: str) -> str:
    return f"benchmarks.{name}" if "." in name else f"benchmarks.bench_{name}"


def show(section: Section) -> None:
    for item in section:
        for line in item.lines() if isinstance(item, Grid) else [" | ".join(item.cells())]:
            print("  " + line)


if __name__ == "__main__":
    main(sys.argv[1:])
