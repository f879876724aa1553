"""Kernels that a second process compiles while this one works: in one process Numba compiles one at a time.

:func:`compile_beside` starts a process that compiles a kernel for the types of some arguments and leaves it on disk,
where the call of the kernel finds it: :mod:`tunbridge.kernels.caching` waits for it there. If nothing came of it, the
call compiles the kernel as ever. ``TUNBRIDGE_BACKGROUND=0`` turns it off.
"""

from __future__ import annotations

import atexit
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
from importlib import import_module
from pathlib import Path
from typing import Any

import numba

from tunbridge.kernels.compiled import is_compiled, is_forced

_SECONDS = 120.0  # after which a process is given up
_CODE = "from tunbridge.kernels import beside; beside.serve({parent})"
_PYTHON = re.compile(r"(?i)python[0-9.]*w?(\.exe)?")
_running: dict[Callable[..., Any], subprocess.Popen[bytes]] = {}


def compile_beside(kernel: Any, *arguments: Any) -> None:
    """Start to compile a kernel for arguments of these types in another process, if that pays."""
    function = kernel.py_func if hasattr(kernel, "py_func") else None
    if function is None or function in _running or is_forced() or is_compiled(kernel) or not _is_possible(kernel):
        return
    order = pickle.dumps((function.__module__, function.__name__, tuple(map(numba.typeof, arguments))))
    with suppress(OSError, subprocess.SubprocessError):  # no process can be started
        process = _start(order)
        if not _running:
            atexit.register(_end_all)
        _running[function] = process
        logging.getLogger("tunbridge").info("%s is compiled in a process of its own", function.__name__)


def wait_for(function: Callable[..., Any]) -> None:
    """Wait for the process that compiles a function, if there is one."""
    if (process := _running.pop(function, None)) is not None:
        try:
            process.wait(_SECONDS)
        finally:
            _end(process)


def serve(parent: int) -> None:
    """Compile the kernel that is named on standard input: what the other process runs."""
    end_with(parent)
    module, name, types = pickle.load(sys.stdin.buffer)
    getattr(import_module(module), name).compile(types)


def end_with(parent: int) -> None:
    """End this process when its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_possible(kernel: Any) -> bool:
    """Return whether a second process has a core, an interpreter, and a folder where this one finds the kernel."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_python = _PYTHON.fullmatch(Path(sys.executable or "").name) is not None  # not a program that embeds Python
    is_kept = getattr(kernel.stats, "cache_path", None) is not None
    return cores > 1 and is_python and is_kept and os.environ.get("TUNBRIDGE_BACKGROUND", "1") != "0"


def _start(order: bytes) -> subprocess.Popen[bytes]:
    null, code = subprocess.DEVNULL, _CODE.format(parent=os.getpid())
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=null, stderr=null,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(order)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _end_all() -> None:
    for function in list(_running):
        _end(_running.pop(function))
