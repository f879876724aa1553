"""Kernels as Python functions, for work that takes less time than compiling."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pytest
from numba import njit

from tunbridge.kernels import compiled
from tunbridge.kernels.compiled import announce, is_compiled, itself, kernels_forced, plain


def _scaled_by(factor):
    @njit
    def scaled(x):
        return factor * x

    return scaled


_twice = _scaled_by(2.0)


@njit
def _mixed(word):
    return word * np.uint64(0x9E3779B97F4A7C15)


@njit
def _total(values):
    total = 0.0
    for value in values:
        total += _twice(value)
    return total


def test_a_plain_kernel_and_those_it_calls_are_not_compiled():
    assert plain(_total)(np.arange(5.0)) == 20.0
    assert not _total.signatures
    assert not _twice.signatures


def test_words_overflow_silently():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plain(_mixed)(np.uint64(2**63 + 1)) == (2**63 + 1) * 0x9E3779B97F4A7C15 % 2**64


def test_a_function_that_is_no_kernel_calls_plain_ones():
    def total_of(n):
        return _total(np.arange(float(n)))

    assert plain(total_of)(5) == 20.0
    assert itself(_total) is _total


def test_forcing_kernels_nests():
    assert not is_compiled(_total)
    with kernels_forced():
        with kernels_forced():
            pass
        assert is_compiled(_total)
    assert not is_compiled(_total)


@pytest.mark.parametrize(("terminal", "notebook"), [(True, False), (False, True), (False, False)])
def test_a_wait_for_the_compiler_is_announced(monkeypatch, capsys, caplog, terminal, notebook):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with caplog.at_level("INFO", "tunbridge"):
        announce(_total, "exact inference", 20)
    assert ("compiling exact inference for this machine" in capsys.readouterr().err) == (terminal or notebook)
    assert caplog.messages == ["compiling exact inference for this machine, which takes about 20 s"]


@pytest.mark.parametrize(("seconds", "n_lines"), [(0.0, 1), (100.0, 0)])
def test_a_long_wait_for_the_compiler_is_told_once_without_a_terminal(monkeypatch, caplog, seconds, n_lines):
    monkeypatch.setattr(compiled, "_told", False)
    monkeypatch.setattr(compiled, "_compiled_for", 0.0)
    monkeypatch.setattr(compiled, "_TELL_AFTER", seconds)
    for _ in range(2):
        with compiled.compiling():
            time.sleep(0.3)
    assert len(caplog.messages) == n_lines
    assert all(line.startswith("tunbridge: compiling kernels for this machine, once;") for line in caplog.messages)
    assert compiled._compiled_for >= 0.3


def test_who_asks_again_and_again_has_the_kernel_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "_taken", {})
    monkeypatch.setattr(compiled, "_spent", -np.inf)  # no process for later
    monkeypatch.setattr(compiled, "is_compiled", lambda kernel: False)
    answers = [compiled.is_numpy_quicker(2**25, "counting.histograms", "add_joint") for _ in range(6)]
    assert answers == [True, True, True, True, False, False]
    assert not compiled.is_numpy_quicker(2**25 + 1, "counting.planes", "fill_planes")


def test_kernels_of_other_processes_are_found_in_time(monkeypatch):
    on_disk = []

    class Kernel:
        py_func, signatures, is_on_disk = _total.py_func, (), lambda _: bool(on_disk)

    kernel = Kernel()
    now = 100.0
    monkeypatch.setattr(compiled.time, "monotonic", lambda: now)
    assert not is_compiled(kernel)
    on_disk.append("_total")
    assert not is_compiled(kernel)  # the disk is not looked at for every call
    now += 3.0
    assert is_compiled(kernel)
