"""Every kernel has the decorator that finds a folder for its cache: numba's own fails in read-only places."""

from __future__ import annotations

from pathlib import Path

import tunbridge.kernels


def test_no_kernel_uses_numbas_decorator():
    folder = Path(tunbridge.kernels.__file__).parent
    using = [path.name for path in folder.rglob("*.py") if "from numba import njit" in path.read_text()]
    assert using in ([], ["caching.py"])
