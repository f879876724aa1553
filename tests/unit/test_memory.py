from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tunbridge._core import memory as _memory
from tunbridge._core.memory import available_memory, check_memory, memory_limit, size_text
from tunbridge.errors import DataError, MemoryForecastError

GIB = 2**30


@pytest.fixture(autouse=True)
def eight_gibibytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the system have 8 GiB and no container; return the folder in which a test may put one."""
    monkeypatch.delenv("TUNBRIDGE_MEMORY_LIMIT", raising=False)
    (tmp_path / "meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    monkeypatch.setattr(_memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_CONTAINERS", ((tmp_path, "memory.max", "memory.current", "inactive_file"),))
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path / "cgroup")
    return tmp_path


def test_available_memory_is_what_the_system_says() -> None:
    assert available_memory() == 8 * GIB


def test_available_memory_respects_a_container(eight_gibibytes: Path) -> None:
    (eight_gibibytes / "memory.max").write_text(f"{3 * GIB}\n")
    (eight_gibibytes / "memory.current").write_text(f"{2 * GIB}\n")
    (eight_gibibytes / "memory.stat").write_text(f"anon 1\ninactive_file {GIB}\n")
    assert available_memory() == 2 * GIB
    (eight_gibibytes / "memory.current").write_text(f"{9 * GIB}\n")
    assert available_memory() == 0


def test_a_container_without_limit_leaves_the_system_s_word(eight_gibibytes: Path) -> None:
    (eight_gibibytes / "memory.max").write_text("max\n")
    assert available_memory() == 8 * GIB


def _limit(folder: Path, limit: int, used: int, names: tuple[str, str], cached: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"{cached} 0\n")


@pytest.mark.parametrize("tightest", ["", "service.slice", "service.slice/worker"])
def test_the_tightest_control_group_around_the_process_counts(eight_gibibytes: Path, tightest: str) -> None:
    (eight_gibibytes / "cgroup").write_text("1:cpu:/elsewhere\n0::/service.slice/worker\n")
    for folder in ("", "service.slice", "service.slice/worker"):
        limit = 2 * GIB if folder == tightest else 6 * GIB
        _limit(eight_gibibytes / folder, limit, GIB, ("memory.max", "memory.current"), "inactive_file")
    _limit(eight_gibibytes / "elsewhere", GIB, GIB, ("memory.max", "memory.current"), "inactive_file")
    assert available_memory() == GIB


def test_control_groups_of_version_1(monkeypatch: pytest.MonkeyPatch, eight_gibibytes: Path) -> None:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    (eight_gibibytes / "cgroup").write_text("4:memory:/job/7\n0::/\n")
    _limit(eight_gibibytes, 9223372036854771712, GIB, names, "total_inactive_file")
    _limit(eight_gibibytes / "job" / "7", 5 * GIB, 2 * GIB, names, "total_inactive_file")
    monkeypatch.setattr(_memory, "_CONTAINERS", ((eight_gibibytes, *names, "total_inactive_file"),))
    assert available_memory() == 3 * GIB


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space and their use are read from /proc")
@pytest.mark.parametrize("which", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process_count(which: str) -> None:
    script = f"""
import resource, tunbridge as tb
from tunbridge._core.memory import available_memory
net = tb.example_network("asia")
resource.setrlimit(resource.{which}, (3 * 2**30, 3 * 2**30))
assert 2**30 < available_memory() < 3 * 2**30, available_memory()
try:
    net.sample(10**9)
except tb.MemoryForecastError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1000000000 rows of 8 variables would need 7.5 GiB, and the limit is 1")


def test_available_memory_where_nobody_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_memory, "_SYSTEM", tmp_path / "absent")
    monkeypatch.setattr(_memory.os, "sysconf", lambda _: 1024, raising=False)
    assert available_memory() == 1024 * 1024 // 2
    monkeypatch.delattr(_memory.os, "sysconf")
    assert available_memory() == 2 * GIB


def test_the_limit_is_half_the_free_memory_or_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_limit() == 4 * GIB
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e6")
    assert memory_limit() == 1_000_000
    assert memory_limit(500) == 500


@pytest.mark.parametrize("text", ["lots", "-1", "nan", "0"])
def test_a_bad_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", text)
    message = f"TUNBRIDGE_MEMORY_LIMIT must be a number of bytes above 0; got '{text}'. Unset it for"
    with pytest.raises(DataError, match=message):
        memory_limit()


def test_a_bad_limit_is_refused() -> None:
    with pytest.raises(DataError, match=r"the memory limit \(bytes\) must be greater than 0; got -5"):
        memory_limit(-5)


def test_check_memory_raises_before_anything_is_allocated() -> None:
    check_memory("the table", 4 * GIB, ways_out="")
    with pytest.raises(MemoryForecastError) as error:
        check_memory("the table", 5 * GIB, ways_out="Take fewer parents.")
    assert str(error.value) == "the table would need 5.0 GiB, and the limit is 4.0 GiB. Take fewer parents."
    assert isinstance(error.value, MemoryError)


def test_a_small_request_obeys_a_limit_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    check_memory("it", 2000, ways_out="")
    with pytest.raises(MemoryForecastError, match=r"would need 2\.0 KiB, and the limit is 1000 bytes"):
        check_memory("it", 2000, ways_out="", limit=1000)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError):
        check_memory("it", 2000, ways_out="")


@pytest.mark.parametrize("n_bytes", [float("inf"), 2**400, 64 * 2**40])
def test_absurd_sizes_are_refused(n_bytes: float) -> None:
    with pytest.raises(MemoryForecastError):
        check_memory("it", n_bytes, ways_out="")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (2_500_000, "2.4 MiB"),
        (64 * 2**40, "64.0 TiB"),
        (2**59, "512.0 PiB"),
        (2**400, "more than 1000 PiB"),
        (float("inf"), "more than 1000 PiB"),
    ],
)
def test_size_text(n_bytes: float, text: str) -> None:
    assert size_text(n_bytes) == text
