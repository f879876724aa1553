"""One input, one target: whether an input is bad, and the processes that try many of them.

A target is tried in a process of its own, because an input may crash it or hang in compiled code. The process sends
every input before it tries it, so that the one that killed it is known.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import resource
import signal
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, gettempdir
from typing import NamedTuple

from tools.fuzz.models import ROOT
from tools.fuzz.targets import TARGETS, Target
from tunbridge.errors import TunbridgeError

SECONDS, MEMORY = 5.0, 2 * 2**30
_INPUTS = ROOT / "tests" / "regressions" / "inputs"
_TO_START, _TO_ANSWER = 900.0, 120.0  # seconds: to compile kernels on a busy machine; for an input that no alarm ends
_CORPUS = 200  # mutated inputs that are kept as seeds for further ones


class TooSlowError(BaseException):
    """An input took more processor time than it may."""


class Failure(NamedTuple):
    """A bad input: its target, the kind of failure and where it happened, and the input."""

    target: str
    signature: str
    data: bytes


def judge(target: Target, data: bytes, folder: Path, seconds: float = SECONDS) -> str | None:
    """Return the signature of the failure that an input causes; else None if it is refused, "" if it is accepted.

    It may take so many seconds of processor time, which other programs do not use up; with 0 any time, as the first
    inputs do, for which kernels are compiled.
    """
    path = folder / f"input{target.suffix}"
    path.write_bytes(data)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        target.use(path)
    except TunbridgeError:
        return None
    except TooSlowError:
        return "more than 5 seconds"
    except Exception as error:
        return f"{type(error).__name__} in {_place(error)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def _place(error: Exception) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "tunbridge" in f.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.name}"


def stop_slow(*_: object) -> None:
    """Raise TooSlowError: the handler of the alarm."""
    raise TooSlowError


def _limited() -> None:
    """Let timers end slow inputs, and allocations far above the limit fail before the machine does."""
    signal.signal(signal.SIGPROF, stop_slow)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (8 * MEMORY, 8 * MEMORY))  # of addresses: threads and pools reserve many
    warnings.simplefilter("ignore")


def _peak() -> int:
    """Return the most memory that this process has had at once, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def work(name: str, seed: int, end: float, pipe: Connection) -> None:
    """Try mutated inputs until the time is over; send the number of each before it is tried, and every failure."""
    target = TARGETS[name]
    corpus = target.seeds()
    with TemporaryDirectory() as folder:
        for data in corpus:
            if signature := judge(target, data, Path(folder), 0.0):  # also loads everything before memory is limited
                pipe.send(Failure(name, f"{signature} (a seed)", data))
        _limited()
        n, n_seeds, most = 0, len(corpus), _peak() + MEMORY
        while time.monotonic() < end:
            rng = Random(f"{name} {seed} {n}")
            data = target.mutate(rng.choice(corpus), rng)
            pipe.send((n, data))
            if signature := judge(target, data, Path(folder)):
                pipe.send(Failure(name, signature, data))
            elif _peak() > most:
                pipe.send(Failure(name, "more than 2 GB", data))
                most = _peak()
            elif signature == "" and rng.random() < 0.1:  # change further what was read
                corpus[n_seeds:] = [*corpus[n_seeds:], data][-_CORPUS:]
            n += 1
    pipe.send(None)


def fuzz(name: str, seed: int, end: float) -> tuple[int, list[Failure]]:
    """Try one target in a process of its own, which is started again when an input kills it."""
    count, failures = 0, []
    while time.monotonic() < end:
        reader, writer = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("spawn").Process(target=work, args=(name, seed, end, writer))
        process.start()
        writer.close()
        last = b""
        try:
            while (found := _received(reader, _TO_START if not last else _TO_ANSWER)) is not None:
                if isinstance(found, Failure):
                    failures.append(noted(found))
                else:
                    count, last = count + 1, found[1]
            process.join()
            break
        except (EOFError, TimeoutError) as error:
            process.kill()
            process.join()
            if not last:
                raise RuntimeError(f"the process that tries {name} does not start") from None
            what = "no answer" if isinstance(error, TimeoutError) else f"the process died ({process.exitcode})"
            failures.append(noted(Failure(name, what, last)))
            seed += 1_000_000
    return count, failures


def retried(name: str, data: bytes) -> Failure | None:
    """Return what an input does in a process of its own where nothing is instrumented; None if that is not bad."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_retry, args=(name, data, writer))
    process.start()
    writer.close()
    try:
        signature = _received(reader, _TO_START + _TO_ANSWER)
    except EOFError:
        process.join()
        signature = f"the process died ({process.exitcode})"
    except TimeoutError:
        signature = "no answer"
    process.kill()
    process.join()
    return noted(Failure(name, str(signature), data)) if signature else None


def _retry(name: str, data: bytes, pipe: Connection) -> None:
    target = TARGETS[name]
    with TemporaryDirectory() as folder:
        for seed in target.seeds():
            judge(target, seed, Path(folder), 0.0)
        _limited()
        pipe.send(judge(target, data, Path(folder)))


def noted(failure: Failure) -> Failure:
    """Write a bad input to the temporary folder as soon as it is found: a campaign may be ended early."""
    path = save(failure, Path(gettempdir()) / "tunbridge-fuzz")
    print(f"{failure.target}: {failure.signature}: {path}", flush=True)
    return failure


def _received(reader: Connection, seconds: float) -> object:
    if not (reader.poll(seconds) or reader.poll(seconds)):  # twice: both processes may have been stopped for a while
        raise TimeoutError
    return reader.recv()


def minimised(failure: Failure, seconds: float = 20.0) -> Failure:
    """Return a smaller input that fails in the same way: runs of bytes are left out while it still does."""
    target, data, end = TARGETS[failure.target], failure.data, time.monotonic() + seconds
    size = max(len(data) // 2, 1)
    with TemporaryDirectory() as folder:
        while size and time.monotonic() < end:
            at = 0
            while at < len(data) and time.monotonic() < end:
                shorter = data[:at] + data[at + size :]
                if judge(target, shorter, Path(folder)) == failure.signature:
                    data = shorter
                else:
                    at += size
            size //= 2
    return failure._replace(data=data)


def save(failure: Failure, folder: Path = _INPUTS) -> Path:
    """Write a bad input to a folder, by default the regression corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(failure.data).hexdigest()[:10]
    path = folder / f"{failure.target}-{digest}{TARGETS[failure.target].suffix}"
    path.write_bytes(failure.data)
    return path
