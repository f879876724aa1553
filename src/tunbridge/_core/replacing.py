"""Files that are written whole or not at all.

A file is written under a temporary name in the same folder, forced to the disk, and renamed: whoever looks sees the old
file or the new one. An error or an interruption deletes the temporary file. A process that is killed cannot, so the
next one that writes into the folder does.

It must not delete what another process is still writing. The writer holds a lock (``flock``) on its temporary file,
which the system releases when the process ends, however it ends: a file whose lock can be taken was left behind. Other
machines that share the folder may not see the lock, so the name says on which machine the lock holds; files of others,
and all files where there are no locks, are deleted when they are a day old.
"""

from __future__ import annotations

import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.tunbridge-(?:([0-9a-f]{8})-)?[0-9a-f]{16}\.tmp")
_OLD = 86_400.0  # seconds
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_writing: set[str] = set()  # the temporary files of this process


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of a new temporary file that replaces ``path`` on success, and is deleted on failure.

    A link stays a link, to the new file, which has the permissions of the one it replaces. Raises OSError if the file
    cannot be written.
    """
    target = os.path.realpath(path)
    replaced = os.stat(target) if os.path.exists(target) else None
    if replaced and not os.access(target, os.W_OK):
        raise PermissionError(13, "the existing file is write-protected", os.fspath(path))
    folder = os.path.dirname(target)
    _sweep_once(folder)
    temporary, descriptor = _opened(folder, 0o600 if replaced else 0o666)
    try:
        try:
            if replaced:
                _give_permissions(descriptor, replaced)
            yield Path(temporary)
            os.fsync(descriptor)
            if fcntl is not None:
                os.replace(temporary, target)
        finally:
            os.close(descriptor)  # and with it the lock
        if fcntl is None:  # here an open file cannot be renamed
            os.replace(temporary, target)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
        _writing.discard(temporary)


def discard_unfinished() -> None:
    """Delete the temporary files of this process, which is about to end."""
    for temporary in tuple(_writing):
        with suppress(OSError):
            os.unlink(temporary)


def _give_permissions(descriptor: int, replaced: os.stat_result) -> None:
    """Give a file the owner, where that is permitted, and the permissions of the one that it replaces."""
    with suppress(OSError, AttributeError):  # not everywhere
        os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
    with suppress(OSError, AttributeError):  # a file system without permissions
        os.fchmod(descriptor, stat.S_IMODE(replaced.st_mode))


def _opened(folder: str, mode: int) -> tuple[str, int]:
    """Return the name of a new temporary file and its descriptor, which holds the lock."""
    while True:
        temporary = os.path.join(folder, f".tunbridge-{_machine()}-{os.urandom(8).hex()}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        _writing.add(temporary)
        if _is_locked(descriptor):
            return temporary, descriptor
        os.close(descriptor)  # another process takes it for one that was left behind, and deletes it
        _writing.discard(temporary)


def _is_locked(descriptor: int) -> bool:
    """Lock a new file; return False if another process was faster."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return bool(os.fstat(descriptor).st_nlink)


@cache
def _sweep_once(folder: str) -> None:
    """Delete the temporary files in a folder that processes left behind; once is enough for a process."""
    with suppress(OSError), os.scandir(folder or ".") as files:
        for file in files:
            found = _NAME.fullmatch(file.name)
            if found and file.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _sweep(file, is_here=found[1] == _machine())


def _sweep(file: os.DirEntry[str], *, is_here: bool) -> None:
    if is_here and fcntl is not None:
        lock = os.open(file.path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the writer lives
            os.unlink(file.path)
        finally:
            os.close(lock)
    elif time.time() - file.stat(follow_symlinks=False).st_mtime > _OLD:
        os.unlink(file.path)


@cache
def _machine() -> str:
    """Return eight digits for the running system whose processes share locks, containers included."""
    try:
        return _BOOT.read_text()[:8]
    except OSError:
        name = getattr(os, "uname", lambda: ("", os.environ.get("COMPUTERNAME", "")))()[1]
        return f"{zlib.crc32(name.encode()):08x}"
