"""Whether a kernel has been compiled: in this process, or earlier and kept on disk."""

from __future__ import annotations

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
