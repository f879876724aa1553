"""Files that are written whole or not at all, and what killed processes leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tunbridge._core import replacing as subject
from tunbridge._core.replacing import replacing

posix = pytest.mark.skipif(os.name != "posix", reason="locks and signals of POSIX")


@pytest.fixture(autouse=True)
def new_process():
    """Forget which folders were swept, as a new process would."""
    subject._sweep_once.cache_clear()


def writer(folder: Path) -> subprocess.Popen[str]:
    """Start a process that is in the middle of writing a file."""
    code = (
        "import sys, time\nfrom tunbridge._core.replacing import replacing\n"
        f"with replacing({str(folder / 'out.csv')!r}) as file:\n"
        "    file.write_text('half'); print('writing', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@posix
def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_else(tmp_path):
    killed, alive = writer(tmp_path), writer(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    others = [".tunbridge-0123456789abcdef.tmp", ".tunbridge-00000000-0123456789abcdef.tmp", ".tunbridge-notes.tmp"]
    for name in others:
        (tmp_path / name).write_text("of another machine, or something else")
    assert len(names(tmp_path)) == 5
    with replacing(tmp_path / "mine.csv") as file:
        file.write_text("whole")
    left = set(names(tmp_path)) - {"mine.csv", *others}
    assert len(left) == 1  # the living one's
    assert (tmp_path / left.pop()).read_text() == "half"
    alive.kill()
    alive.wait()
    subject._sweep_once.cache_clear()
    day_ago = time.time() - 90_000
    os.utime(tmp_path / others[0], (day_ago, day_ago))
    os.utime(tmp_path / others[2], (day_ago, day_ago))
    with replacing(tmp_path / "mine.csv") as file:
        file.write_text("whole")
    assert names(tmp_path) == [others[1], others[2], "mine.csv"]


def test_a_file_swept_before_it_is_locked_is_begun_again(tmp_path, monkeypatch):
    opened, taken = os.open, []

    def swept(path, *rest):
        descriptor = opened(path, *rest)
        if not taken:
            taken.append(path)
            os.unlink(path)
        return descriptor

    monkeypatch.setattr("os.open", swept)
    with replacing(tmp_path / "a.csv") as file:
        file.write_text("whole")
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "whole"


def test_unfinished_files_are_discarded_at_the_end_of_a_process(tmp_path):
    with replacing(tmp_path / "a.csv") as file:
        subject.discard_unfinished()
        assert names(tmp_path) == []
        file.touch()
    assert not subject._writing


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o640])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model.tb"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        assert file.stat().st_mode & 0o777 == mode  # also while it is written
        file.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)
