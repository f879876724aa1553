"""What a user waits for before anything happens: imports, help, compilation of the kernels."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from benchmarks.harness import Result, run_python

IMPORT = "import time; s = time.perf_counter(); import tunbridge; print(time.perf_counter() - s)"
MODULES = "import sys, tunbridge; print('numba' in sys.modules, 'sklearn' in sys.modules, 'pyarrow' in sys.modules)"
WARMUP = """
import time
start = time.perf_counter()
from tunbridge._warmup import warm_up
warm_up()
print(time.perf_counter() - start)
"""


def run() -> list[Result]:
    imported = min(float(run_python(IMPORT)) for _ in range(5))
    helped = min(command_time("--help") for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        compiled = float(run_python(WARMUP, NUMBA_CACHE_DIR=folder))
        loaded = float(run_python(WARMUP, NUMBA_CACHE_DIR=folder))
    return [
        Result(
            "import tunbridge",
            imported,
            goal="< 0.3 s",
            reached=imported < 0.3,
            remark=f"numba, sklearn, pyarrow loaded: {run_python(MODULES).strip()}",
        ),
        Result("tunbridge --help (whole process)", helped, goal="< 0.5 s", reached=helped < 0.5),
        Result("tunbridge warmup: all kernels compiled", compiled),
        Result("the same from the cache", loaded),
    ]


def command_time(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tunbridge", *arguments], capture_output=True, check=True)
    return time.perf_counter() - start
