"""Random networks against enumeration: ``python -m tools.exactness --networks 20000 [--seed S]``.

Runs the property tests of ``tests/property/test_tiny_probabilities.py`` on many more random networks than the test
suite does, on every core: tables with entries from 1e-300 to 1, and every path to an answer. A network counts once,
however many paths it is tried on. The tests allow an error of 1e-10 (1e-8 in networks with continuous variables, whose
oracle inverts matrices).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

from tunbridge.inference import array_propagation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from property import test_tiny_probabilities as tests


def _without_kernels(test: Callable[..., None], seed: int) -> None:
    """Run a test as before anything is compiled."""
    with mock.patch.multiple(array_propagation, is_compiled=lambda kernel: False, _left=math.inf):
        test(seed=seed)


_PATHS = {
    "rows by components": partial(tests.test_rows.hypothesis.inner_test, largest_component=4096),
    "rows by the junction tree": partial(tests.test_rows.hypothesis.inner_test, largest_component=0),
    "single queries": tests.test_queries.hypothesis.inner_test,
    "rows without kernels": tests.test_rows_without_kernels.hypothesis.inner_test,
    "single queries without kernels": partial(_without_kernels, tests.test_queries.hypothesis.inner_test),
    "soft evidence": tests.test_soft_evidence.hypothesis.inner_test,
    "imputation": partial(tests.test_imputation.hypothesis.inner_test, most_entries=4096),
    "expected counts (EM)": tests.test_expected_counts.hypothesis.inner_test,
    "continuous variables": tests.test_networks_with_continuous_variables.hypothesis.inner_test,
}


def _try(seed: int) -> list[tuple[str, int, str]]:
    """Return the paths on which the network of a seed fails."""
    warnings.simplefilter("ignore")
    failures = []
    for name, test in _PATHS.items():
        try:
            test(seed=seed)
        except Exception as error:
            failures.append((name, seed, " ".join(str(error).split())[:200]))
    return failures


def main() -> None:
    """Try the networks and report."""
    parser = argparse.ArgumentParser(description="Compare random networks with enumeration.")
    parser.add_argument("--networks", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed of the first (default: 0)")
    given = parser.parse_args()
    bad: Counter[Any] = Counter()
    with get_context("spawn").Pool(os.cpu_count()) as pool:
        for failures in pool.imap_unordered(_try, range(given.seed, given.seed + given.networks), chunksize=20):
            for name, seed, what in failures:
                bad[name] += 1
                print(f"{name}, seed {seed}: {what}", flush=True)
    print(f"{given.networks} networks on {len(_PATHS)} paths, {sum(bad.values())} wrong: {dict(bad)}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
