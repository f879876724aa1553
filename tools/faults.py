"""Break the program while it works, and see what is left: ``python -m tools.faults`` (``make faults``).

Trials run the command line in a process of its own, in a fresh folder, and disturb it: kill it, send it a signal at a
random moment, fill the disk, take away the home folder, memory, threads, open files or the terminal. Writers are killed
in the library too, by the hundred, in forks that do nothing but write. What must hold:

* a file that is written is complete, old or new, never half of it;
* no temporary file is left behind, or the next run removes it;
* a signal ends the program within two seconds, with exit code 130 (SIGINT) or 143 (SIGTERM) and one sentence;
* whatever is missing, the program works or ends with a sentence: no traceback, no crash.

The verbs and the file formats come from the registry. The table of what was tried and what held is printed, and
written into ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
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
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
_PROGRAM = [sys.executable, "-m", "tunbridge"]
_LONGEST = 2.0
_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
_CRASHES = re.compile(r"Traceback|Fatal Python|LLVM ERROR|terminate called|Segmentation|core dumped|Check failed")


@dataclass
class Line:
    """A line of the table: what was tried, how often, how long the slowest took, and what went wrong."""

    what: str
    trials: int = 0
    slowest: float = 0.0
    remark: str = ""
    failures: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        held = f"{self.trials - len(self.failures)}" if self.trials else "–"
        slowest = f"{self.slowest:.1f} s" if self.slowest else ""
        return [self.what, str(self.trials), held, slowest, self.remark]


# The commands

VERBS: dict[str, list[str]] = {
    "learn": ["learn", "asia.csv", "--target", "lung", "--model", "bayes-forest", "-o", "out.tb"],
    "predict": ["predict", "model.tb", "large.csv", "--proba", "-o", "out.parquet"],
    "evaluate": ["evaluate", "large.csv", "--target", "lung", "--models", "nb,tan,aode,bayes-forest"],
    "explain": ["explain", "model.tb", "large.csv", "--row", "3", "--html", "out.html", "--plot", "out.png"],
    "describe": ["describe", "large.csv"],
    "datasets": ["datasets", "play_tennis", "-o", "out.csv"],
    "bayes": ["bayes", "--prior", "a=0.1", "--prior", "b=0.9", "--likelihood", "a=0.9,b=0.2", "--plot", "out.svg"],
    "test": ["test", "--sensitivity", "0.9", "--specificity", "0.95", "--prevalence", "0.01"],
    "warmup": ["warmup"],
    "network learn": ["network", "learn", "large.csv", "--search", "orders", "-o", "out.tb"],
    "network fit": ["network", "fit", "asia.bif", "missing.csv", "-o", "out.tb", "--trace", "out.pdf"],
    "network query": ["network", "query", "asia.bif", "--target", "lung", "--given", "xray=yes"],
    "network sample": ["network", "sample", "asia.bif", "-n", "2000000", "--seed", "1", "-o", "out.csv"],
    "network impute": ["network", "impute", "asia.bif", "missing.csv", "-o", "out.tsv"],
    "network update": ["network", "update", "fitted.tb", "large.csv", "-o", "out.tb"],
    "network convert": ["network", "convert", "asia.bif", "out.xmlbif"],
    "text learn": ["text", "learn", "texts.csv", "--target", "label", "-o", "out.tb"],
    "sequence learn": ["sequence", "learn", "texts.csv", "--target", "label", "--column", "text", "-o", "out.tb"],
}
"""A command for each verb; one that is not here is tried with ``--help``."""


_LONG = "warmup"
"""A verb that takes minutes and does what all others do; signals are tried on it, not every lack."""
_LATEST = 8.0
"""Seconds after which signals are sent at the latest."""
_PAUSE = 0.005
"""Seconds between two signals."""


def commands(*, long: bool = True) -> dict[str, list[str]]:
    """Return a command for every verb that is registered."""
    from tunbridge._core.registry import entries

    found = {name: VERBS.get(name, [*name.split(), "--help"]) for name in entries("verb")}
    return {name: words for name, words in found.items() if long or name != _LONG}


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
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen([*program, *words], cwd=folder, **(pipes | options))


def strays(folder: Path) -> list[str]:
    """Return the temporary files in a folder."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".tunbridge-")]


def is_complete(path: Path) -> bool:
    """Return whether a file that a verb wrote is whole."""
    import pyarrow.parquet

    import tunbridge as tb

    ends = {".html": b"</html>", ".svg": b"</svg>", ".pdf": b"%%EOF", ".png": b"IEND\xaeB`\x82"}
    try:
        if path.suffix in ends:
            return path.read_bytes().rstrip().endswith(ends[path.suffix])
        if path.suffix == ".parquet":
            return bool(pyarrow.parquet.read_table(path).num_rows)
        if path.suffix in (".csv", ".tsv"):
            text = path.read_bytes()
            mark = b"\t" if path.suffix == ".tsv" else b","
            return text.endswith(b"\n") and len({line.count(mark) for line in text.splitlines()}) == 1
        tb.load(path) if path.suffix == ".tb" else tb.read_network(path)
    except Exception:
        return False
    return True


def wrong_files(folder: Path, *, swept: bool = True) -> str:
    """Return what is wrong with the files that a verb left, or nothing."""
    half = [path.name for path in folder.glob("out.*") if not is_complete(path)]
    left = strays(folder) if swept else []
    return f"half a file {half}" if half else f"left {left}" if left else ""


# Signals


def listens(process: subprocess.Popen[str]) -> bool:
    """Wait until the program has taken over its signals, which is after the start of Python; False if it has ended."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = status.read_text().partition("SigCgt:")[2].split()
        if caught and int(caught[0], 16) >> (signal.SIGTERM - 1) & 1:
            return True
        time.sleep(0.001)
    return False


def duration(words: list[str], source: Path) -> float:
    """Return how long a command takes undisturbed; raise where it fails."""
    with workplace(source) as folder:
        process = start(words, folder)
        listens(process)
        begin = time.monotonic()
        try:
            said = process.communicate(timeout=_LATEST)[1]
            if process.returncode:
                raise RuntimeError(f"{' '.join(words)} fails undisturbed: {said}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return time.monotonic() - begin


def disturb(verb: str, number: signal.Signals, source: Path, delay: float, line: Line, *, twice: bool = False) -> None:
    """Run a verb, send it a signal some time after it began, and look at how it ends and what it leaves."""
    with workplace(source) as folder:
        process = start(commands()[verb], folder)
        if not listens(process):
            return
        time.sleep(delay)
        process.send_signal(number)
        if twice:
            time.sleep(_PAUSE)
            process.send_signal(number)
        begin = time.monotonic()
        _, said = process.communicate()
        took = time.monotonic() - begin
        line.trials, line.slowest = line.trials + 1, max(line.slowest, took)
        if number == signal.SIGKILL and strays(folder):
            start(commands()["network convert"], folder).communicate()
        what = f"{verb} after {delay:.2f} s"
        if process.returncode not in (0, _CODES[number]):  # it may have ended before
            line.failures.append(f"{what}: exit code {process.returncode}: {said[-200:]!r}")
        elif took > _LONGEST or _CRASHES.search(said):
            line.failures.append(f"{what}: {took:.1f} s, {said[-200:]!r}")
        elif wrong := wrong_files(folder):
            line.failures.append(f"{what}: {wrong}")


def interruptions(source: Path, trials: int, rng: random.Random) -> Iterator[Line]:
    """Kill and interrupt every verb at random moments."""
    lasts = {verb: duration(words, source) for verb, words in commands().items()}
    names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGKILL: "kill −9"}
    for number, twice in (
        (signal.SIGINT, False),
        (signal.SIGINT, True),
        (signal.SIGTERM, False),
        (signal.SIGKILL, False),
    ):
        line = Line(f"{names[number]}{' twice' if twice else ''} at a random moment, each of {len(lasts)} commands")
        for verb, longest in lasts.items():
            for _ in range(trials):
                disturb(verb, number, source, rng.uniform(0, longest), line, twice=twice)
        yield line


# Writers

Write = Callable[[Path, int], None]


def writers(source: Path) -> dict[str, dict[str, Write]]:
    """Return functions by kind and suffix that write one of two versions of a file."""
    import tunbridge as tb
    from tunbridge._core.registry import entries
    from tunbridge.cli.files import write_batches
    from tunbridge.data.readers import read_table
    from tunbridge.learning.searches.sparse_candidate import _write as write_checkpoint

    os.environ["SOURCE_DATE_EPOCH"] = "0"
    nets = [tb.example_network("asia"), tb.read_network(source / "fitted.tb")]
    rows = [read_table(source / "asia.csv").to_arrow(), read_table(source / "asia.csv").to_arrow().slice(0, 3_000)]
    models = [tb.BayesForestClassifier(5, random_state=i).fit(rows[i], "lung") for i in (0, 1)]
    suffixes = [s for e in entries("network_format").values() for s in e.details["suffixes"]]
    packed = [f"{s}.gz" for s in suffixes if s != ".tb"]

    def checkpoint(path: Path, i: int) -> None:
        names = nets[0].nodes[i:]
        write_checkpoint(path, SimpleNamespace(families=SimpleNamespace(names=names)), ((),) * len(names))  # type: ignore[arg-type]

    return {
        "a model": {".tb": lambda path, i: models[i].save(path)},
        "a network": {s: lambda path, i: nets[i].write(path) for s in (*suffixes, *packed)},
        "a table": {s: lambda path, i: write_batches(path, iter([rows[i]])) for s in (".csv", ".tsv", ".parquet")},
        "a picture": dict.fromkeys((".png", ".svg", ".pdf"), _picture),
        "a checkpoint": {".json": checkpoint},
    }


def _picture(path: Path, i: int) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from tunbridge.cli.files import replacing

    mpl.rcParams["svg.hashsalt"] = "faults"
    figure = Figure()
    figure.subplots().plot(range(100 * (i + 1)))
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:])


def in_fork(work: Callable[[], None]) -> int:
    """Start some work in a fork of this process; return the process."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def killed_writers(source: Path, trials: int, rng: random.Random) -> Iterator[Line]:
    """Kill processes that do nothing but write, hundreds of times."""
    for kind, by_suffix in writers(source).items():
        line = Line(f"kill −9 while writing {kind} ({', '.join(by_suffix)})")
        n_left = 0
        for suffix, write in by_suffix.items():
            with tempfile.TemporaryDirectory() as name:
                target = Path(name) / f"out{suffix}"
                whole, longest = _versions(write, target)
                for _ in range(-(-trials // len(by_suffix))):
                    n_left += _kill(write, target, whole, rng.uniform(0, 2 * longest), line)
        line.remark = f"{n_left} temporary files left, all removed by the next writer" if not line.failures else ""
        yield line


def _versions(write: Write, target: Path) -> tuple[list[bytes], float]:
    """Return the two versions of a file, and how long it takes to write both."""
    whole, longest = [], 0.0
    for i in (0, 1):
        begin = time.monotonic()
        os.waitpid(in_fork(lambda i=i: write(target, i)), 0)  # type: ignore[misc]
        longest += time.monotonic() - begin
        whole.append(target.read_bytes())
    assert whole[0] != whole[1]
    return whole, longest


def _kill(write: Write, target: Path, whole: list[bytes], delay: float, line: Line) -> int:
    """Kill a process that writes two versions in turns; return how many temporary files the next one removed."""

    def write_on() -> None:
        for i in range(10**6):
            write(target, i % 2)

    child = in_fork(write_on)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left = len(strays(target.parent))
    line.trials += 1
    if target.exists() and target.read_bytes() not in whole:
        line.failures.append(f"half a file {target.name} after {delay:.4f} s")
    os.waitpid(in_fork(lambda: write(target, 0)), 0)
    if strays(target.parent) or target.read_bytes() != whole[0]:
        line.failures.append(f"a temporary file beside {target.name}, or a file that the next run does not replace")
    return left


# Things that are missing


@dataclass(frozen=True)
class Lack:
    """Something that is missing while the commands run: how it is taken away, and the exit codes that are right."""

    what: str
    take: Callable[[], None] | None = None
    environment: dict[str, str | None] = field(default_factory=dict)
    codes: tuple[int, ...] = (0, 1)
    stdout: str | None = None
    program: list[str] = field(default_factory=lambda: _PROGRAM)


def _limit(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


_NO_THREADS = (
    "import _thread, sys, threading\n"
    'def refuse(*_, **__): raise RuntimeError("can\'t start new thread")\n'
    "_thread.start_new_thread = threading._start_new_thread = refuse\n"
    "from tunbridge.cli import main\nmain()"
)
LACKS = [
    Lack("2 GiB of address space (ulimit -v)", _limit(resource.RLIMIT_AS, 2 * 2**30)),
    Lack("1 GiB of address space", _limit(resource.RLIMIT_AS, 2**30)),
    Lack("0.5 GiB of address space", _limit(resource.RLIMIT_AS, 2**29)),
    Lack("files of at most 1 MiB", _limit(resource.RLIMIT_FSIZE, 2**20)),
    Lack("64 open files", _limit(resource.RLIMIT_NOFILE, 64)),
    Lack("no thread can be started", program=[sys.executable, "-c", _NO_THREADS]),
    Lack("stdin closed", lambda: os.close(0)),
    Lack("stdout closed", lambda: os.close(1)),
    Lack("stdout on a full disk", stdout="/dev/full"),
    Lack("stdout is a broken pipe", stdout="|", codes=(0, 1, 141)),
    Lack("locale C, ASCII only", environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Lack("no HOME and no temporary folder", environment={"HOME": None, "TMPDIR": "/nowhere", "XDG_CACHE_HOME": None}),
]


def lacking(source: Path, lack: Lack) -> Line:
    """Run every command while something is missing."""
    line = Line(f"{lack.what}, each command")
    given = {**os.environ, **lack.environment}
    for verb, words in commands(long=False).items():
        with workplace(source) as folder:
            options: dict[str, Any] = {"env": {k: v for k, v in given.items() if v is not None}}
            reader, writer = os.pipe()
            os.close(reader)
            out = writer if lack.stdout == "|" else open(lack.stdout, "w") if lack.stdout else subprocess.PIPE  # noqa: SIM115
            process = start(words, folder, program=lack.program, preexec_fn=lack.take, stdout=out, **options)
            os.close(writer)
            try:
                said = process.communicate(timeout=300)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                said = f"more than 300 s {process.communicate()[1]}"
            line.trials += 1
            if process.returncode not in lack.codes or _CRASHES.search(said):
                line.failures.append(f"{verb}: exit code {process.returncode}: {said[-300:]!r}")
            elif wrong := wrong_files(folder):
                line.failures.append(f"{verb}: {wrong}")
    return line


def full_disk(source: Path) -> Line:
    """Write to a file system that is full (needs the right to mount one)."""
    line = Line("full disk, each command that writes a file")
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", name], capture_output=True)
        if mounted.returncode:
            return Line(line.what, remark="not tried: mounting is not permitted")
        try:
            for verb, words in commands().items():
                if not any(word.startswith("out.") for word in words):
                    continue
                full = [str(Path(name) / word) if word.startswith("out.") else word for word in words]
                with workplace(source) as folder:
                    process = start(full, folder)
                    said = process.communicate()[1]
                line.trials += 1
                if process.returncode not in (0, 1) or _CRASHES.search(said) or wrong_files(Path(name)):
                    line.failures.append(f"{verb}: exit code {process.returncode}, {wrong_files(Path(name))}, {said!r}")
                for path in Path(name).iterdir():
                    path.unlink()
        finally:
            subprocess.run(["umount", name], check=True)
    return line


def read_only(source: Path) -> Line:
    """Run with the package and the home folder on read-only file systems (needs the right to mount them)."""
    line = Line("read-only package and home folder, each command")
    package = ROOT / "src" / "tunbridge"
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as temporary:
        mounts = (
            f"mount --bind {package} {package} && mount -o remount,ro,bind {package}"
            f' && mount -t tmpfs -o ro,size=4k tmpfs {home} && exec "$@"'
        )
        alone = ["unshare", "--mount", "sh", "-c", mounts, "sh"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode:
            return Line(line.what, remark="not tried: mounting is not permitted")
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "TMPDIR": temporary}
        for verb, words in commands(long=False).items():
            with workplace(source) as folder:
                process = start(words, folder, program=[*alone, *_PROGRAM], env=environment)
                said = process.communicate()[1]
            line.trials += 1
            if process.returncode or _CRASHES.search(said):
                line.failures.append(f"{verb}: exit code {process.returncode}: {said[-300:]!r}")
    return line


# Forks

_FORKS = {
    "os.fork beside a thread that learns": """
        stop = threading.Event()
        def learn():
            while not stop.is_set(): model.partial_fit(rows, "lung")
        threading.Thread(target=learn).start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                model.partial_fit(rows, "lung"); model.predict_proba(rows); os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()""",
    "multiprocessing, fork": """
        with mp.get_context("fork").Pool(2) as pool: same(pool.map(model.predict_proba, [rows] * 4))""",
    "multiprocessing, spawn": """
        with mp.get_context("spawn").Pool(2) as pool: same(pool.map(model.predict_proba, [rows] * 4))""",
}
_FORKED = """
import multiprocessing as mp, os, threading, numpy as np, tunbridge as tb
def same(found):
    assert all(np.array_equal(each, expected) for each in found)
if __name__ == "__main__":
    rows = tb.read_table("large.csv")
    model = tb.TANClassifier(n_jobs=2).fit(rows, "lung")
    expected = model.predict_proba(rows)
    {work}
"""


def forks(source: Path) -> Line:
    """Fork and spawn processes that share a model, beside threads."""
    line = Line(f"forks: {', '.join(_FORKS)}")
    for what, work in _FORKS.items():
        with workplace(source) as folder:
            body = "\n".join(text[4:] for text in work.strip("\n").splitlines())
            (folder / "forked.py").write_text(_FORKED.format(work=body.strip()))
            process = start(["forked.py"], folder, program=[sys.executable])
            try:
                said = process.communicate(timeout=120)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                said = "more than 120 s"
            line.trials += 1
            if process.returncode:
                line.failures.append(f"{what}: exit code {process.returncode}: {said[-300:]!r}")
    return line


# The table


def write_table(lines: list[Line]) -> None:
    """Write the lines into the table of the page, between its marks; other lines of the table stay."""
    begin, end = "<!-- faults: begin -->", "<!-- faults: end -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    old, _, after = rest.partition(end)
    busy = os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)
    about = f"Run on a machine with {os.cpu_count()} cores{', busy with other work at the time' if busy else ''}."
    header = ["What was done", "Times", "Held", "Slowest end", "Remarks"]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in old.splitlines() if row.startswith("|")][2:]
    found = {row[0]: row for row in rows} | {line.what: line.cells() for line in lines}
    table = [header, ["---", "--:", "--:", "--:", "---"], *found.values()]
    shown = "\n".join("| " + " | ".join(row) + " |" for row in table)
    PAGE.write_text(f"{before}{begin}\n\n{about}\n\n{shown}\n\n{end}{after}", "utf-8")


def parts(source: Path, trials: int, kills: int, rng: random.Random) -> dict[str, Callable[[], Iterator[Line]]]:
    """Return what can be tried, by name."""
    return {
        "writers": lambda: killed_writers(source, kills, rng),
        "lacks": lambda: (lacking(source, lack) for lack in LACKS),
        "disk": lambda: iter([full_disk(source)]),
        "read-only": lambda: iter([read_only(source)]),
        "forks": lambda: iter([forks(source)]),
        "signals": lambda: interruptions(source, trials, rng),
    }


def main() -> None:
    """Try everything, print the table, and write it into the page."""
    parser = argparse.ArgumentParser(description="Disturb the program while it works.")
    parser.add_argument("--trials", type=int, default=10, help="signals of each kind for each verb (default: 10)")
    parser.add_argument("--kills", type=int, default=240, help="kills of writers for each kind of file (default: 240)")
    parser.add_argument("--seed", type=int, default=0, help="the random seed (default: 0)")
    parser.add_argument("--only", action="append", help="one of the parts only, and its lines of the page")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for part, lines_of in parts(Path(name), given.trials, given.kills, random.Random(given.seed)).items():
            for line in lines_of() if not given.only or part in given.only else ():
                lines.append(line)
                print(*line.cells(), sep=" | ", flush=True)
                print(*(f"  {failure}" for failure in line.failures), sep="\n", flush=True)
    write_table(lines)
    sys.exit(any(line.failures for line in lines))


if __name__ == "__main__":
    main()
