"""Whether a kernel has been compiled, in this process or earlier and kept on disk; and a word to who has to wait."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

_COMPILED: set[Any] = set()  # what is known to be: it stays so, and to look costs more than a small network's answer


def is_compiled(kernel: Any) -> bool:
    """Return whether calling a kernel will not have to wait for the compiler (as far as the files tell)."""
    if kernel not in _COMPILED and (bool(getattr(kernel, "signatures", True)) or _is_on_disk(kernel)):
        _COMPILED.add(kernel)
    return kernel in _COMPILED


@cache
def _is_on_disk(kernel: Any) -> bool:
    function = kernel.py_func
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-*.nbi"
    return any(Path(kernel.stats.cache_path).glob(name))


def announce(kernel: Any, what: str) -> None:
    """Say in a terminal, once, that the compiler will take its time; elsewhere stay silent."""
    if not is_compiled(kernel) and sys.stderr.isatty():
        hint = "this once; «tunbridge warmup» does it beforehand"
        print(f"tunbridge: compiling {what} for this machine, which may take half a minute ({hint})", file=sys.stderr)
