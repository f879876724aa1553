"""Ctrl-C and SIGTERM at the command line: soon, one sentence, the right exit code, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from tunbridge.cli import signals
signals.listen()
from tunbridge.cli.usage import guarded
from tunbridge.cli.output import reporting
from tunbridge._core.replacing import replacing

def begun():
    print("begun", flush=True)

def work():
    {work}

signals.leave(guarded(work, debug=False))
"""
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.usefixtures("foreground"),
]
ENDS = {signal.SIGINT: (130, "tunbridge: interrupted.\n"), signal.SIGTERM: (143, "tunbridge: terminated.\n")}


@pytest.fixture
def foreground():
    """Let programs that are started here get Ctrl-C: shells let background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ended(work: str, number: int, folder: Path, *, again: bool = False) -> tuple[int, str]:
    """Return the exit code of a program, and what it wrote to stderr, after a signal in the midst of its work."""
    code = PROGRAM.format(work=textwrap.indent(textwrap.dedent(work), "    ").strip())
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(number)
    if again:
        assert process.stdout.readline() == "saving\n"
        process.send_signal(number)
    said = process.communicate()[1]
    return process.returncode, said


WRITING = """
with replacing("out.csv") as file:
    file.write_text("half"); begun(); time.sleep(60)
"""
STUCK = """
with replacing("out.csv") as file:
    file.write_text("half")
    while True:  # an interruption that gets lost, as in a callback of the compiler
        try:
            begun(); time.sleep(60)
        except BaseException:
            pass
"""
TRANSLATED = """
try:
    begun()
    time.sleep(60)
except BaseException:
    raise RuntimeError("no compiled object yet") from None
"""


@pytest.mark.parametrize("work", [WRITING, STUCK, TRANSLATED], ids=["writing", "stuck", "translated"])
@pytest.mark.parametrize("number", list(ENDS), ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_program_with_one_sentence(number, work, tmp_path):
    assert ended(work, number, tmp_path) == ENDS[number]
    assert list(tmp_path.iterdir()) == []


KEPT = """
with reporting("searching"):
    try:
        begun()
        time.sleep(60)
    except KeyboardInterrupt:
        pass
print("saving", flush=True)
time.sleep({seconds})
open("best.tb", "w").close()
raise KeyboardInterrupt("the best so far is in best.tb.")
"""


def test_there_is_time_to_save_the_best_result(tmp_path):
    work = KEPT.format(seconds=2.5)
    assert ended(work, signal.SIGINT, tmp_path) == (130, "tunbridge: the best so far is in best.tb.\n")
    assert (tmp_path / "best.tb").exists()


def test_a_second_signal_ends_the_program_at_once(tmp_path):
    assert ended(KEPT.format(seconds=60), signal.SIGINT, tmp_path, again=True) == ENDS[signal.SIGINT]
    assert not (tmp_path / "best.tb").exists()


def test_a_signal_that_the_caller_ignores_stays_ignored(tmp_path):
    code = "import signal as s; from tunbridge.cli.signals import listen; listen(); print(s.getsignal(1) is s.SIG_IGN)"
    found = subprocess.run(["nohup", sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout == "True\n"


def test_a_signal_during_the_imports(tmp_path):
    for seconds in (0.02, 0.1, 0.2, 0.4):
        command = [sys.executable, "-m", "tunbridge", "describe", "missing.csv"]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        status = Path(f"/proc/{process.pid}/status")
        while status.exists() and not int(status.read_text().partition("SigCgt:")[2].split()[0], 16) >> 14 & 1:
            time.sleep(0.001)  # until the program listens
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        if process.returncode != 1:  # the error about the file came first
            assert (process.returncode, said) == ENDS[signal.SIGINT]


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1, 2)])
def test_closed_streams(closed, tmp_path):
    def close() -> None:
        for number in closed:
            os.close(number)

    command = [sys.executable, "-m", "tunbridge", "datasets", "play_tennis", "-o", "tennis.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=close)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "tennis.csv").read_text().count("\n") == 15
