"""Where compiled kernels are kept: next to the package, in the user's cache, in the temporary folder, or nowhere."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tunbridge.kernels import caching


def doubled(x):
    """Return twice the number."""
    return 2 * x


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """Leave no folder to Numba's cache but what the test allows, and the temporary folder."""
    caching._log.cache_clear()
    monkeypatch.setattr(caching._Folders, "_locator_classes", [caching._InTemporaryFolder])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_the_temporary_folder_is_used_with_one_line_in_the_log(nowhere, caplog):
    with caplog.at_level(logging.INFO, "tunbridge"):
        kernels = [caching.njit(cache=True, nogil=True)(doubled) for _ in range(3)]
    assert [kernel(4) for kernel in kernels] == [8, 8, 8]
    folder = nowhere / f"tunbridge-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert kernels[2].stats.cache_hits.total() == 1
    assert [record.name for record in caplog.records] == ["tunbridge"]
    assert str(folder) in caplog.text


@pytest.mark.parametrize("squatter", ["open to all", "link", "file"])
def test_a_folder_that_others_can_write_is_not_used(nowhere, caplog, squatter):
    folder = nowhere / f"tunbridge-{os.getuid()}"
    if squatter == "file":
        folder.touch(mode=0o700)
    elif squatter == "link":
        (nowhere / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(nowhere / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    kernels = [caching.njit(cache=True)(doubled) for _ in range(3)]
    assert kernels[0](4) == 8
    assert kernels[0].stats.cache_path is None
    assert len(caplog.records) == 1
    assert "each process compiles them again" in caplog.text


def test_a_full_disk_does_not_stop_the_work(nowhere, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    kernel = caching.njit(cache=True)(doubled)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    caplog.clear()
    assert kernel(4) == 8
    assert kernel(4.0) == 8.0
    assert "No space left on device" in caplog.text
    assert len(caplog.records) == 1


def test_the_users_own_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "own"))
    assert Path(caching.njit(cache=True)(doubled).stats.cache_path).parent == tmp_path / "own"


def test_too_few_addresses_for_the_compiler_are_an_error_before_it_aborts(monkeypatch):
    kernel = caching.njit(cache=True)(doubled)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**28, 2**28))
    with pytest.raises(MemoryError, match=r"the limit of this process \(ulimit -v\) leaves 0 MiB. Raise it."):
        kernel(np.ones(2))


READ_ONLY = """
set -e
mount --bind {package} {package} && mount -o remount,ro,bind {package}
mount -t tmpfs -o ro,size=4k tmpfs {home}
exec env -u NUMBA_CACHE_DIR HOME={home} XDG_CACHE_HOME={home}/cache TMPDIR={temporary} {python} -c "{code}"
"""
ANSWER = (
    "import tunbridge.kernels.counting.histograms, tunbridge as tb; print(tb.example_network('asia').posterior('lung'))"
)


def may_mount() -> bool:
    """Return whether read-only folders can be made."""
    return shutil.which("unshare") is not None and not subprocess.run(["unshare", "--mount", "true"]).returncode


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_a_read_only_package_and_home(tmp_path):
    places = {name: tmp_path / name for name in ("home", "temporary")}
    for place in places.values():
        place.mkdir()
    script = READ_ONLY.format(package=Path(caching.__file__).parents[1], python=sys.executable, code=ANSWER, **places)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "yes" in done.stdout
    assert done.stderr.count("\n") == 1
    assert f"compiled kernels are kept in {places['temporary']}/tunbridge-{os.getuid()}" in done.stderr


def raised(number, frame):
    """Raise an exception, as the handler of Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_signals_wait_until_a_kernel_is_loaded(number):
    kernel = caching.njit(doubled)
    load, steps = kernel._compile_for_args.__wrapped__, []

    def interrupted_load(*args):
        signal.raise_signal(number)
        steps.append("not interrupted")
        return load(*args)

    before = signal.signal(number, raised)
    try:
        kernel._compile_for_args = caching._uninterrupted(interrupted_load, doubled)
        with pytest.raises(KeyboardInterrupt):
            kernel(4)
        assert steps == ["not interrupted"]
        assert signal.getsignal(number) is raised
        assert kernel(4) == 8
    finally:
        signal.signal(number, before)


def test_a_signal_before_all_are_held_leaves_the_handlers_as_they_were(monkeypatch):
    install, before = signal.signal, signal.signal(signal.SIGINT, raised)

    def interrupted(number, handler):
        if number == signal.SIGTERM:
            raise SystemExit
        return install(number, handler)

    install(signal.SIGTERM, raised)
    try:
        monkeypatch.setattr(signal, "signal", interrupted)
        with pytest.raises(SystemExit), caching._HeldSignals():
            pass
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is raised
    finally:
        install(signal.SIGINT, before)
        install(signal.SIGTERM, signal.SIG_DFL)


def test_every_signal_that_waited_is_handed_over():
    got = []

    def handle(number, frame):
        got.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGALRM)}
    try:
        with pytest.raises(KeyboardInterrupt), caching._HeldSignals():
            _ = [signal.raise_signal(number) for number in before]
        assert got == [signal.SIGINT, signal.SIGALRM]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


RETURNED = """
import signal, sys, threading
import numpy as np
from tunbridge.kernels.caching import njit

def interrupt(number, frame):
    raise KeyboardInterrupt

@njit(nogil=True)
def kernel(steps):
    total = 0.0
    for i in range(steps):
        total += np.sin(i)
    return np.full(3, total), (np.full(2, total), steps), np.zeros(1)

kernel(1)

signal.signal(signal.SIGALRM, interrupt)
for _ in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        kernel(20_000_000)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_signal_while_a_kernel_runs_is_raised_where_it_returns():
    done = subprocess.run([sys.executable, "-c", RETURNED], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr, done.returncode) == (["interrupted"] * 3, "", 0)


@caching.njit
def _sum(x, y):
    return x + y


@caching.njit
def sums(x):
    """Return a sum of sums with different constants."""
    return _sum(x, 1) + _sum(2, x) + _sum(x, x)


def test_a_private_kernel_is_not_compiled_for_every_constant():
    assert sums(5) == 23
    assert len(_sum.overloads) == 1
