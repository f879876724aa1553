"""Whether a kernel has been compiled: in this process, or earlier and kept on disk."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any


def is_compiled(kernel: Any) -> bool:
    """Return whether calling a kernel will not have to wait for the compiler (as far as the files tell)."""
    return bool(getattr(kernel, "signatures", True)) or _is_on_disk(kernel)


@cache
def _is_on_disk(kernel: Any) -> bool:
    function = kernel.py_func
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-*.nbi"
    return any(Path(kernel.stats.cache_path).glob(name))


def announce(kernel: Any, what: str) -> None:
    """Say in a terminal, once, that the compiler will take its time; elsewhere stay silent."""
    if not is_compiled(kernel) and sys.stderr.isatty():
        hint = "this once; «tunbridge warmup» does it beforehand"
        print(f"tunbridge: compiling {what} for this machine, about half a minute ({hint})", file=sys.stderr)
