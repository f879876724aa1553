"""Forecasts of memory, made before anything large is allocated."""

from __future__ import annotations

import os

from tunbridge._check import check_number
from tunbridge.errors import MemoryForecastError

_FALLBACK = 2 * 2**30


def available_memory() -> int:
    """Return the bytes that can be taken without swapping (2 GiB where the system does not say)."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) // 2
    except (OSError, ValueError, AttributeError):
        return _FALLBACK


def memory_limit(limit: float | None = None) -> int:
    """Return the limit in bytes: the argument, else TUNBRIDGE_MEMORY_LIMIT, else half the free memory."""
    value: object = limit if limit is not None else os.environ.get("TUNBRIDGE_MEMORY_LIMIT")
    if value is None:
        return available_memory() // 2
    return int(check_number("the memory limit (bytes)", value, above=0))


def check_memory(what: str, n_bytes: float, *, ways_out: str, limit: float | None = None) -> None:
    """Raise MemoryForecastError when ``what`` would need more than the limit."""
    if n_bytes > _FALLBACK // 64:  # smaller requests need no look at the system
        allowed = memory_limit(limit)
        if n_bytes > allowed:
            raise MemoryForecastError(
                f"{what} would need {size_text(n_bytes)}, and the limit is {size_text(allowed)}. {ways_out}"
            )


def size_text(n_bytes: float) -> str:
    """Return a size as people write it.

    Examples
    --------
    >>> size_text(2_500_000)
    '2.4 MiB'
    """
    size, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "bytes" else f"{size:.1f} {units[0]}"
