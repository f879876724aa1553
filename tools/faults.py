"""Break the program while it works, and see what is left: ``python -m tools.faults`` (``make faults``).

Every trial runs the command line in a process of its own, in a fresh folder, and disturbs it: kills it while it writes,
sends a signal at a random moment, fills the disk, takes away the home folder, limits memory or threads. What must hold:

* a file that is written is complete, old or new, never half of it;
* no stray file is left behind, or the next run removes it;
* a signal ends the program within two seconds, with exit code 130 (SIGINT) or 143 (SIGTERM);
* no traceback is printed.

A table of what was tried and what held is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PROGRAM = [sys.executable, "-m", "tunbridge"]


@dataclass
class Line:
    """A line of the table: what was tried, how often, and what went wrong."""

    what: str
    trials: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        held = "all" if not self.failures else f"all but {len(self.failures)}: {self.failures[0][:80]}"
        slowest = f"{self.slowest:.2f} s" if self.slowest else "–"
        return [self.what, str(self.trials), held, slowest]


VERBS: dict[str, list[str]] = {
    "learn": ["learn", "asia.csv", "--target", "lung", "--model", "bayes-forest", "-o", "out.tb"],
    "predict": ["predict", "model.tb", "large.csv", "--proba", "-o", "out.csv"],
    "evaluate": ["evaluate", "large.csv", "--target", "lung", "--models", "nb,tan,aode,bayes-forest"],
    "explain": ["explain", "model.tb", "large.csv", "--row", "3"],
    "describe": ["describe", "large.csv"],
    "network learn": ["network", "learn", "large.csv", "--search", "orders", "-o", "out.tb"],
    "network fit": ["network", "fit", "asia.bif", "missing.csv", "-o", "out.tb"],
    "network query": ["network", "query", "asia.bif", "--target", "lung", "--given", "xray=yes"],
    "network sample": ["network", "sample", "asia.bif", "-n", "2000000", "--seed", "1", "-o", "out.csv"],
    "network impute": ["network", "impute", "asia.bif", "missing.csv", "-o", "out.csv"],
    "network update": ["network", "update", "fitted.tb", "large.csv", "-o", "out.tb"],
    "network convert": ["network", "convert", "asia.bif", "out.xmlbif"],
    "text learn": ["text", "learn", "texts.csv", "--target", "label", "-o", "out.tb"],
}
WRITERS = ("learn", "predict", "network learn", "network fit", "network sample", "network impute", "network update",
           "network convert", "text learn")  # fmt: skip


def prepare(folder: Path) -> None:
    """Write the files that the verbs read."""
    import numpy as np

    import tunbridge as tb

    net = tb.example_network("asia")
    net.write(folder / "asia.bif")
    net.sample(5_000, random_state=0).to_pandas().to_csv(folder / "asia.csv", index=False)
    large = net.sample(200_000, random_state=1).to_pandas()
    large.to_csv(folder / "large.csv", index=False)
    large.mask(np.random.default_rng(0).random(large.shape) < 0.2).to_csv(folder / "missing.csv", index=False)
    tb.fit_parameters(net.dag, large).write(folder / "fitted.tb")
    tb.NaiveBayesClassifier().fit(large, "lung").save(folder / "model.tb")
    texts = "".join(f"{'spam' if i % 2 else 'ham'},words {i} and {i % 97} more\n" for i in range(20_000))
    (folder / "texts.csv").write_text(f"label,text\n{texts}")


@contextmanager
def workplace(source: Path) -> Iterator[Path]:
    """Make a folder with links to the files that the verbs read."""
    with tempfile.TemporaryDirectory() as name:
        for path in source.iterdir():
            os.symlink(path, Path(name) / path.name)
        yield Path(name)


def start(words: list[str], folder: Path, *, program: list[str] = _PROGRAM, **options: Any) -> subprocess.Popen[str]:
    """Start the program."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*program, *words], cwd=folder, stdout=pipe, stderr=pipe, text=True, **options)


def strays(folder: Path) -> list[str]:
    """Return the temporary files in a folder."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".tunbridge-")]


def is_complete(path: Path) -> bool:
    """Return whether a file that a verb wrote is whole; one that is not there is fine."""
    import tunbridge as tb

    if not path.exists():
        return True
    try:
        if path.suffix == ".tb":
            tb.load(path)
        elif path.suffix == ".xmlbif":
            tb.read_network(path)
        else:
            text = path.read_bytes()
            return text.endswith(b"\n") and len({line.count(b",") for line in text.splitlines()}) == 1
    except Exception:
        return False
    return True


def duration(verb: str, source: Path) -> float:
    """Return how long a verb takes undisturbed."""
    with workplace(source) as folder:
        begin = time.monotonic()
        start(VERBS[verb], folder).communicate()
        return time.monotonic() - begin


def disturb(verb: str, number: int, source: Path, delay: float, line: Line) -> None:
    """Run a verb, send it a signal after a delay, and look at how it ends and what it leaves."""
    with workplace(source) as folder:
        process = start(VERBS[verb], folder)
        time.sleep(delay)
        process.send_signal(number)
        begin = time.monotonic()
        _, said = process.communicate()
        line.trials += 1
        line.slowest = max(line.slowest, time.monotonic() - begin)
        wanted = {signal.SIGINT: (0, 130, -2), signal.SIGTERM: (0, 143, -15), signal.SIGKILL: (0, -9)}[
            signal.Signals(number)
        ]
        if process.returncode not in wanted:
            line.failures.append(f"{verb}: exit {process.returncode} after {delay:.2f} s: {said[-120:]!r}")
        elif "Traceback" in said:
            line.failures.append(f"{verb}: a traceback after {delay:.2f} s")
        elif not all(is_complete(path) for path in folder.glob("out.*")):
            line.failures.append(f"{verb}: half a file after {delay:.2f} s")
        elif number != signal.SIGKILL and strays(folder):
            line.failures.append(f"{verb}: a stray file after {delay:.2f} s")
        elif strays(folder):
            start(VERBS["network convert"], folder).communicate()
            if strays(folder):
                line.failures.append(f"{verb}: a stray file that the next run does not remove")


def signals(source: Path, trials: int, rng: random.Random) -> Iterator[Line]:
    """Kill writers, and interrupt every verb, at random moments."""
    for number, verbs in ((signal.SIGKILL, WRITERS), (signal.SIGINT, VERBS), (signal.SIGTERM, VERBS)):
        line = Line(f"{signal.Signals(number).name} at a random moment, {len(verbs)} verbs")
        for verb in verbs:
            longest = duration(verb, source)
            for _ in range(trials):
                disturb(verb, number, source, rng.uniform(0, longest), line)
        yield line


def full_disk(source: Path) -> Line:
    """Write to a file system that is full (needs the right to mount one)."""
    line = Line("full disk, every writer")
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", name], capture_output=True)
        if mounted.returncode:
            return Line("full disk: not tried, mounting is not permitted")
        try:
            for verb in WRITERS:
                words = [str(Path(name) / word) if word.startswith("out.") else word for word in VERBS[verb]]
                with workplace(source) as folder:
                    process = start(words, folder)
                    _, said = process.communicate()
                line.trials += 1
                if process.returncode not in (0, 1) or "Traceback" in said or strays(Path(name)):
                    line.failures.append(f"{verb}: exit {process.returncode}, {strays(Path(name))}, {said[-120:]!r}")
                for path in Path(name).iterdir():
                    path.unlink()
        finally:
            subprocess.run(["umount", name], check=True)
    return line


def read_only(source: Path) -> Line:
    """Run with the package and the home folder on read-only file systems (needs the right to mount them)."""
    line = Line("read-only package and home folder")
    package = ROOT / "src" / "tunbridge"
    with tempfile.TemporaryDirectory() as home:
        mounts = (
            f"mount --bind {package} {package} && mount -o remount,ro,bind {package}"
            f' && mount -t tmpfs -o ro,size=4k tmpfs {home} && exec "$@"'
        )
        alone = ["unshare", "--mount", "sh", "-c", mounts, "sh"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode:
            return Line("read-only package and home folder: not tried, mounting is not permitted")
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"}
        for verb in ("network query", "learn", "network learn", "predict"):
            with workplace(source) as folder:
                process = start(VERBS[verb], folder, program=[*alone, *_PROGRAM], env=environment)
                _, said = process.communicate()
            line.trials += 1
            if process.returncode or "Traceback" in said:
                line.failures.append(f"{verb}: exit {process.returncode}: {said[-150:]!r}")
    return line


def limits(source: Path) -> Iterator[Line]:
    """Run with little memory, and with few threads."""
    gigabyte = 2**30
    cases: dict[str, Callable[[], None]] = {
        "2 GiB of addresses": lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * gigabyte, 2 * gigabyte)),
        "1 MiB files": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)),
        "64 open files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    }
    for what, limit in cases.items():
        line = Line(f"{what}, every verb")
        for verb, words in VERBS.items():
            with workplace(source) as folder:
                process = start(words, folder, preexec_fn=limit)
                _, said = process.communicate()
                line.trials += 1
                if process.returncode not in (0, 1) or "Traceback" in said:
                    line.failures.append(f"{verb}: exit {process.returncode}: {said[-150:]!r}")
                elif not all(is_complete(path) for path in folder.glob("out.*")):
                    line.failures.append(f"{verb}: half a file")
        yield line


def main() -> None:
    """Try everything and print the table."""
    parser = argparse.ArgumentParser(description="Disturb the program while it works.")
    parser.add_argument("--trials", type=int, default=10, help="signals for each verb (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    given = parser.parse_args()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        prepare(source)
        source.chmod(0o755)
        for line in (*limits(source), full_disk(source), read_only(source)):
            lines.append(line)
            print(*line.cells(), sep=" | ", flush=True)
        for line in signals(source, given.trials, random.Random(given.seed)):
            lines.append(line)
            print(*line.cells(), sep=" | ", flush=True)
            print(*line.failures, sep="\n", flush=True)
    sys.exit(any(line.failures for line in lines))


if __name__ == "__main__":
    main()
