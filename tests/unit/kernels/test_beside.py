"""A second process compiles a kernel; the call of the kernel finds it on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers.averages import _members
from tunbridge.inference import expectations
from tunbridge.kernels import beside, compiled
from tunbridge.kernels.compiled import kernels_forced
from tunbridge.kernels.counting import planes
from tunbridge.kernels.inference.expectations import expect

CODE = """
import numpy as np
from tunbridge.kernels import beside
from tunbridge.kernels.counting.scores import take_pairs

integers = np.zeros(2, np.int64)
arguments = np.zeros((2, 2), np.int64), np.array([0, 1, 2]), 0, integers[:1], integers, np.zeros(1, np.int32)
beside.compile_beside((take_pairs, arguments))
print(len(beside._running))
take_pairs(*arguments)
print(len(beside._running), sum(take_pairs.stats.cache_hits.values()), sum(take_pairs.stats.cache_misses.values()))
"""


def run(folder, **environment):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "TUNBRIDGE_BACKGROUND": "1", **environment}
    return subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_a_kernel_is_loaded_that_another_process_compiled(tmp_path):
    assert run(tmp_path).split() == ["1", "0", "1", "0"]
    assert run(tmp_path).split() == ["0", "0", "1", "0"]  # nothing is left to compile


def test_it_can_be_turned_off(tmp_path):
    assert run(tmp_path, TUNBRIDGE_BACKGROUND="0").split() == ["0", "0", "0", "1"]


def test_a_process_that_fails_is_no_obstacle(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    monkeypatch.setitem(beside._running, test_it_can_be_turned_off, process)
    beside.wait_for(test_it_can_be_turned_off)
    assert process.returncode == 1


def test_the_types_are_those_of_expected_counts():
    net = tb.example_network("asia")
    rows = net.sample(100, random_state=0).to_pandas()
    with kernels_forced():
        tb.fit_parameters(
            net.dag, rows.mask(np.random.default_rng(0).random(rows.shape) < 0.2), missing=tb.EM(max_iterations=500)
        )
    assert tuple(map(numba.typeof, expectations._EXPECTED)) in expect.overloads


def test_the_types_are_those_of_extensions(monkeypatch):
    asked = []
    monkeypatch.setattr(beside, "compile_beside", lambda *given: asked.append(given))
    with kernels_forced():
        columns = {str(i): np.arange(30_000) % (i + 2) for i in range(9)}
        tb.learn_structure(tb.as_table(columns, kinds="categorical"))
    ((kernel, arguments),) = asked[0]
    assert kernel is planes.extend_family
    assert tuple(map(numba.typeof, arguments)) in kernel.overloads


def test_the_types_are_those_of_forests(monkeypatch):
    asked = []
    monkeypatch.setattr(_members, "compile_beside", lambda *given: asked.extend(given))
    rng = np.random.default_rng(0)
    with kernels_forced():
        clf = tb.BayesForestClassifier(2, random_state=0).fit(rng.normal(size=(100, 2)), rng.integers(0, 2, 100))
        clf.predict_proba(rng.normal(size=(100, 2)))
    assert [kernel for kernel, arguments in asked if tuple(map(numba.typeof, arguments)) not in kernel.overloads] == []
    assert len(asked) == 3


class TestAllForLater:
    @pytest.fixture
    def started(self, monkeypatch, tmp_path):
        """Return the options of the processes that are started, none of them really."""
        started = []

        def start(code, **options):
            started.append(options | {"code": code})
            return SimpleNamespace(pid=1, wait=int)

        monkeypatch.setattr(beside, "start_python", start)
        monkeypatch.setattr(beside, "_stamp", lambda: tmp_path / "stamp")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.setenv("TUNBRIDGE_BACKGROUND", "1")
        beside._compile_all.cache_clear()
        yield started
        beside._compile_all.cache_clear()

    def test_a_process_that_outlives_this_one(self, started, tmp_path, caplog):
        with caplog.at_level("INFO", "tunbridge"):
            beside.compile_all()
            beside.compile_all()
        assert [options["start_new_session"] for options in started] == [True]
        assert str(tmp_path / "stamp") in started[0]["code"]
        assert "TUNBRIDGE_BACKGROUND=0" in caplog.text

    def test_not_where_it_is_done(self, started, tmp_path):
        (tmp_path / "stamp").write_text("done")
        beside.compile_all()
        assert started == []

    def test_not_where_it_is_not_wanted(self, started, monkeypatch):
        monkeypatch.setenv("CI", "true")
        beside.compile_all()
        monkeypatch.delenv("CI")
        monkeypatch.setenv("TUNBRIDGE_BACKGROUND", "0")
        beside._compile_all.cache_clear()
        beside.compile_all()
        monkeypatch.setenv("TUNBRIDGE_BACKGROUND", "1")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
        beside._compile_all.cache_clear()
        beside.compile_all()
        assert started == []

    def test_not_where_kernels_are_not_kept(self, started, monkeypatch):
        monkeypatch.setattr(beside, "_stamp", lambda: None)
        beside.compile_all()
        assert started == []

    def test_after_half_a_second_of_numpy(self, started, monkeypatch):
        monkeypatch.setattr(compiled, "_spent", 0.0)
        compiled.spend(0.3)
        assert started == []
        compiled.spend(0.3)
        assert len(started) == 1

    def test_not_while_everything_is_compiled(self, started):
        with kernels_forced():
            beside.compile_all()
        assert started == []


def test_a_process_that_hangs_is_given_up(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(beside, "_SECONDS", 0.1)
    monkeypatch.setitem(beside._running, expect.py_func, process)
    beside.wait_for(expect.py_func)
    assert process.poll() is not None


def test_processes_import_nothing_from_the_current_folder(monkeypatch, tmp_path):
    (tmp_path / "numba.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert beside.start_python("import numba").wait(60) == 0


def test_an_installation_without_source_files(monkeypatch, tmp_path):
    monkeypatch.setattr(beside, "__file__", str(tmp_path / "beside.pyc"))
    assert beside._stamp().name.startswith("warm-")


def test_the_stamp_is_beside_the_kernels():
    assert beside._stamp().parent == Path(beside.cache_of(beside._stamp).cache_path)
