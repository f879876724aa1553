"""Memory forecasts, made before anything large is allocated.

The free memory is the least of three: what the system has; what the control groups of the process leave, its own and
all around it (the container, the slice of the service); and what the limits of the process leave of its address space
and data (``ulimit -v`` and ``-d``). psutil would replace the first reading only: it reports the memory of the host.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tunbridge._core.check import check_number
from tunbridge.errors import DataError, MemoryForecastError

_VARIABLE = "TUNBRIDGE_MEMORY_LIMIT"
_FALLBACK = 2 * 2**30
_SMALL = _FALLBACK // 64
_SYSTEM = Path("/proc/meminfo")
_GROUPS = Path("/proc/self/cgroup")
_USED = Path("/proc/self/statm")
_CONTAINERS = (  # folder, limit, use and file cache of the control groups of version 2, alone or beside 1, and 1
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (Path("/sys/fs/cgroup/unified"), "memory.max", "memory.current", "inactive_file"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_UNLIMITED = 2**63


def available_memory() -> int:
    """Return the bytes that can be taken without swapping or leaving the container (2 GiB where it is unknown)."""
    return max(0, min(_system_memory(), _container_memory(), _process_memory()))


def memory_limit(limit: float | None = None) -> int:
    """Return the limit in bytes: the argument, else TUNBRIDGE_MEMORY_LIMIT, else half the free memory."""
    if limit is not None:
        return int(check_number("the memory limit (bytes)", limit, above=0))
    text = os.environ.get(_VARIABLE)
    if not text:
        return available_memory() // 2
    try:
        return int(check_number(_VARIABLE, float(text), above=0))
    except ValueError as error:
        reason = f"{_VARIABLE} must be a number of bytes above 0; got {text!r}. Unset it for half the free memory."
        raise DataError(reason) from error


def check_memory(what: str, n_bytes: float, *, ways_out: str, limit: float | None = None) -> None:
    """Raise MemoryForecastError when ``what`` would need more than the limit."""
    if n_bytes <= _SMALL and limit is None and not os.environ.get(_VARIABLE):
        return  # no need to look at the system
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
    if n_bytes >= 1000 * 2**50:
        return "more than 1000 PiB"
    size, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 1024:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "bytes" else f"{size:.1f} {units[0]}"


def _system_memory() -> int:
    try:
        return _entry(_SYSTEM, "MemAvailable:") * 1024
    except (OSError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) // 2
    except (OSError, ValueError, AttributeError):
        return _FALLBACK


def _container_memory() -> int:
    """Return what the limits of all control groups leave, file cache not counted as used."""
    free = _UNLIMITED
    for folder, limit, used, cached in _group_files(_GROUPS, _CONTAINERS):
        try:
            most = int((folder / limit).read_text())
            if most < _UNLIMITED // 2:  # version 1 writes the largest number of pages for no limit
                free = min(free, most - int((folder / used).read_text()) + _entry(folder / "memory.stat", cached))
        except (OSError, ValueError):  # no such files, or the limit is the word «max»
            continue
    return free


@cache
def _group_files(groups: Path, containers: tuple[tuple[Path, str, str, str], ...]) -> list[tuple[Path, str, str, str]]:
    """Return the folders that may limit the process: of its control groups, of all around them, and the topmost."""
    try:
        lines = [line.split(":", 2) for line in groups.read_text().splitlines()]
    except OSError:
        lines = []
    paths = [Path(path.lstrip("/")) for _, kinds, path in lines if not kinds or "memory" in kinds.split(",")]
    inner = dict.fromkeys(folder for path in paths for folder in (path, *path.parents) if ".." not in folder.parts)
    return [
        (top / folder, limit, used, cached)
        for top, limit, used, cached in containers
        for folder in inner or {Path(): None}
        if os.path.exists(top / folder / limit)
    ]


def _process_memory() -> int:
    """Return what the limits on address space and data leave the process."""
    try:
        import resource
    except ImportError:  # not on Windows
        return _UNLIMITED
    limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if all(limit == resource.RLIM_INFINITY for limit in limits):
        return _UNLIMITED
    try:
        pages = _USED.read_text().split()
        used = [int(pages[column]) * resource.getpagesize() for column in (0, 5)]  # all, and data with stack
    except (OSError, ValueError, IndexError):
        used = [0, 0]
    return min(most - now for most, now in zip(limits, used, strict=True) if most != resource.RLIM_INFINITY)


def _entry(file: Path, key: str) -> int:
    """Return the number behind a key in one of the system's lists."""
    for line in file.read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    raise ValueError(f"{file} has no entry {key}")
