"""Coverage-guided fuzzing of one target with atheris: inputs that reach new code are kept and changed further.

``python -m tools.fuzz.guided TARGET FOLDER --seconds S --seed N`` runs in a process of its own, because an input may
kill it: the last one is always in the folder. Failures are written there too, and do not stop it. The package is
imported under instrumentation; half of the changes are those of the target's own mutation, half are libFuzzer's.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
import signal
import subprocess
import sys
import time
import warnings
import zlib
from importlib import import_module
from pathlib import Path
from random import Random

_RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def is_available() -> bool:
    """Return whether atheris is installed."""
    try:
        import atheris  # noqa: F401
    except ImportError:
        return False
    return True


def run(name: str, folder: Path, *, seconds: float, seed: int) -> tuple[int, list[bytes]]:
    """Fuzz a target in processes of its own; return how many inputs were tried, and those that failed."""
    count, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 1.0:
        command = [
            sys.executable,
            "-m",
            "tools.fuzz.guided",
            name,
            str(folder),
            f"--seconds={left:.0f}",
            f"--seed={seed}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=left + 60.0)
        except subprocess.TimeoutExpired:
            (folder / "last").replace(folder / f"failed-{seed}")
            break
        count += sum(map(int, _RUNS.findall(done.stderr)))
        if done.returncode == 0:
            break
        if not (folder / "last").exists():
            raise RuntimeError(f"atheris did not start: {done.stderr[-500:]}")
        (folder / "last").replace(folder / f"failed-{seed}")  # the input that killed the process
        seed += 1
    return count, [path.read_bytes() for path in sorted(folder.glob("failed-*"))]


def main() -> None:
    """Fuzz one target until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    import atheris

    import tunbridge.kernels

    folder, seeds = given.folder, given.folder / "seeds"
    seeds.mkdir(parents=True, exist_ok=True)
    for info in pkgutil.walk_packages(tunbridge.kernels.__path__, "tunbridge.kernels."):
        import_module(info.name)  # numba does not compile what is instrumented
    with atheris.instrument_imports(include=["tunbridge"]):
        from tools.fuzz.targets import TARGETS
        from tools.fuzz.trial import judge, stop_slow

        target = TARGETS[given.target]
        for i, data in enumerate(target.seeds()):
            (seeds / f"{i}").write_bytes(data)
            judge(target, data, folder, 0.0)  # imports what reading needs

    def try_one(data: bytes) -> None:
        (folder / "last").write_bytes(data)
        if (signature := judge(target, data, folder)) and judge(target, data, folder):  # twice: not by chance
            print(signature, file=sys.stderr)
            (folder / f"failed-{zlib.crc32(data):08x}").write_bytes(data)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return target.mutate(data, rng)[:most]

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop_slow)
    options = [f"-max_total_time={given.seconds}", f"-seed={given.seed + 1}", "-max_len=100000", "-print_final_stats=1"]
    options += ["-timeout=100000", "-rss_limit_mb=6000", f"-artifact_prefix={folder}/failed-"]
    atheris.Setup([sys.argv[0], *options, str(seeds)], try_one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
