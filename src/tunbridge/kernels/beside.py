"""Kernels that a second process compiles while this one works: in one process Numba compiles one at a time.

:func:`compile_beside` starts a process that compiles kernels for the types of some arguments and leaves them on disk,
where their calls find them: :mod:`tunbridge.kernels.caching` waits for them there. If nothing came of it, the call
compiles the kernel as ever.

:func:`compile_all` starts a process that compiles everything for later, at the lowest priority, and outlives this one:
once for each installation, version and kind of processor. A file among the kernels says that it was done or tried,
and is locked while it is being done. It is not for continuous integration (``CI``), whose machines are thrown away.

``TUNBRIDGE_BACKGROUND=0`` turns both off.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name

from tunbridge.kernels.caching import cache_of
from tunbridge.kernels.compiled import is_compiled, is_forced

_SECONDS = 120.0  # after which a process is given up
_SOME = "from tunbridge.kernels import beside; beside.serve({parent})"
_PAUSE = 20.0  # before everything is compiled: the cores are for those who wait for an answer now
_ALL = "import time; time.sleep({pause}); from tunbridge._warmup import warm_up_for_later as run; run({stamp!r})"
_PYTHON = re.compile(r"(?i)python[0-9.]*w?(\.exe)?")
_running: dict[Callable[..., Any], subprocess.Popen[bytes]] = {}


def compile_beside(*calls: tuple[Any, tuple[Any, ...]]) -> None:
    """Start to compile kernels in another process, if that pays; each is given with arguments of the right types."""
    left = [(kernel.py_func, types) for kernel, types in calls if _is_left(kernel)]
    if not left or is_forced():
        return
    order = pickle.dumps([(f.__module__, f.__name__, tuple(map(numba.typeof, types))) for f, types in left])
    with suppress(OSError, subprocess.SubprocessError):  # no process can be started
        process = start_python(_SOME.format(parent=os.getpid()), stdin=subprocess.PIPE)
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(order)
        if not _running:
            atexit.register(_end_all)
        for function, _ in left:
            _running[function] = process
            logging.getLogger("tunbridge").info("%s is compiled in a process of its own", function.__name__)


def compile_all() -> None:
    """Start to compile all kernels for later, unless that is done, was tried, or may not be done here."""
    if not is_forced():
        _compile_all()


@cache
def _compile_all() -> None:
    with suppress(OSError, subprocess.SubprocessError):
        if os.environ.get("CI") or not _is_allowed() or (stamp := _stamp()) is None or _is_written(stamp):
            return
        code = _ALL.format(pause=_PAUSE, stamp=str(stamp))
        process = start_python(code, stdin=subprocess.DEVNULL, start_new_session=True, cwd=os.path.abspath(os.sep))
        threading.Thread(target=process.wait, daemon=True).start()  # or it would stay in the list of processes
        logging.getLogger("tunbridge").info(
            "all kernels are compiled for later, at low priority, by process %d; TUNBRIDGE_BACKGROUND=0 turns that off",
            process.pid,
        )


def mark_all() -> None:
    """Note on disk that all kernels are compiled."""
    with suppress(OSError):
        if (stamp := _stamp()) is not None:
            stamp.write_text("All kernels are compiled.\n")


def wait_for(function: Callable[..., Any]) -> None:
    """Wait for the process that compiles a function, if there is one."""
    if (process := _running.pop(function, None)) is not None:
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS)
        finally:
            _end(process)


def serve(parent: int) -> None:
    """Compile the kernels that are named on standard input: what the other process runs."""
    end_with(parent)
    for module, name, types in pickle.load(sys.stdin.buffer):
        getattr(import_module(module), name).compile(types)


def end_with(parent: int) -> None:
    """End this process when its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_left(kernel: Any) -> bool:
    """Return whether a kernel is to be compiled, and another process may do it and leave it where this one finds it."""
    if not hasattr(kernel, "py_func") or kernel.py_func in _running or is_compiled(kernel):
        return False
    return getattr(kernel.stats, "cache_path", None) is not None and _is_allowed()


def _is_allowed() -> bool:
    """Return whether a second process is wanted, and has a core and an interpreter."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_python = _PYTHON.fullmatch(Path(sys.executable or "").name) is not None  # not a program that embeds Python
    return cores > 1 and is_python and os.environ.get("TUNBRIDGE_BACKGROUND", "1") != "0"


def _stamp() -> Path | None:
    """Return the file that says that all kernels are compiled; None where they are not kept."""
    folder = getattr(cache_of(_stamp), "cache_path", None)
    if folder is None:
        return None
    newest = max((path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.py")), default=0)
    known = f"{sys.version} {numba.__version__} {get_host_cpu_name()} {newest}"
    return Path(folder) / f"warm-{hashlib.sha256(known.encode()).hexdigest()[:16]}"


def _is_written(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_size > 0
    return False


def start_python(code: str, **options: Any) -> subprocess.Popen[Any]:
    """Start Python with the same modules as here, and none from the current folder; it prints nothing by default."""
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
    return subprocess.Popen([sys.executable, "-P", "-c", code], env={**os.environ, "PYTHONPATH": paths}, **options)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _end_all() -> None:
    for function in list(_running):
        _end(_running.pop(function))
