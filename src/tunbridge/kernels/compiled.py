"""Whether a kernel is compiled, in this process or earlier and cached on disk, and when to use it."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

    Kernel = Dispatcher[Callable[..., Any]]

FEW = 20_000
"""Bytes, symbols or words that take less time without a kernel than compiling one does."""

_COLD = 2**25  # values for which NumPy takes no longer than the compiler
_VALUE = 8e-9  # seconds that NumPy takes for each
_MOST_COLD = 4 * _COLD  # values that NumPy takes in place of one kernel before this process has it compiled
_PATIENCE = 0.5  # seconds of NumPy's work in place of kernels before a second process compiles all of them
_LOOK_AGAIN = 2.0  # seconds after which it is looked again whether a kernel is on disk
_forced = False  # whether kernels are used whatever the size of the work: the warm-up has small data
_COMPILED: set[Any] = set()  # kernels known to be compiled: looking again costs more than a small network's answer
_looked: dict[Any, float] = {}  # when it was looked on disk for a kernel that was not there
_taken: dict[str, int] = {}  # values that NumPy has taken in place of each kernel
_spent = 0.0  # seconds of NumPy's work in place of kernels
_TELL_AFTER = 2.0  # seconds of compiling before a line says so where nobody watches a terminal
_LOADING = 0.2  # seconds that loading a kernel from the disk takes at most
_told = False  # whether a line said that kernels are being compiled
_compiled_for = 0.0  # seconds that the compiler took


def is_compiled(kernel: Kernel) -> bool:
    """Return whether a kernel can be called without compiling it first (as far as the files in the cache show)."""
    if kernel not in _COMPILED and (bool(getattr(kernel, "signatures", True)) or _is_on_disk(kernel)):
        _COMPILED.add(kernel)
    return _forced or kernel in _COMPILED


def is_forced() -> bool:
    """Return whether kernels are used whatever the size of the work."""
    return _forced


@contextmanager
def kernels_forced() -> Iterator[None]:
    """Use kernels everywhere, also where NumPy would be done before a kernel is compiled (in all threads)."""
    global _forced
    before, _forced = _forced, True
    try:
        yield
    finally:
        _forced = before


def _is_on_disk(kernel: Kernel) -> bool:
    """Return whether a file has a kernel of this version; another process may write it at any time."""
    now = time.monotonic()
    if now < _looked.get(kernel, -math.inf) + _LOOK_AGAIN:
        return False
    _looked[kernel] = now
    return bool(getattr(kernel, "is_on_disk", bool)())


def is_worth(kernel: Kernel, size: int, few: int = FEW) -> bool:
    """Return whether to use a kernel: it is compiled, or the work is large enough to compile it."""
    return size > few or is_compiled(kernel)


def is_numpy_quicker(size: int, module: str, kernel: str) -> bool:
    """Return whether NumPy does some work as fast as a kernel of a module here, or before that would be compiled.

    Small work does not even load Numba. Such a kernel takes 0.3 to 2 s to compile, and NumPy 5 to 10 ns a value. Who
    asks again and again has the kernel compiled in the end.
    """
    if size <= FEW or _forced:
        return not _forced
    name = f"{module}.{kernel}"
    taken = _taken.get(name, 0) + size
    if size > _COLD or taken > _MOST_COLD or is_compiled(getattr(import_module(f"tunbridge.kernels.{module}"), kernel)):
        return False
    _taken[name] = taken
    spend(_VALUE * size)
    return True


def spend(seconds: float) -> None:
    """Note that NumPy works so long in place of a kernel; after a while another process compiles all kernels."""
    global _spent
    _spent += seconds
    if _spent >= _PATIENCE:
        _compile_all()


def _compile_all() -> None:
    import_module("tunbridge.kernels.beside").compile_all()


def ready(kernel: Kernel, size: int, few: int = FEW) -> Callable[..., Any]:
    """Return a kernel, or the Python function behind it where compiling would take longer than the work."""
    return kernel if is_worth(kernel, size, few) else plain(kernel)


def itself(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as it is: the other way to use it than :func:`plain`."""
    return kernel


def plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as a Python function that calls other kernels as Python functions, so that nothing is compiled.

    It is a hundred times as slow: what takes a kernel less than a millisecond, it answers before a compiler would.
    Kernels that call themselves, or hold other kernels in a closure, are not supported.
    """

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):  # as in a kernel
            return _uncompiled(kernel)(*args)

    return run


@cache
def _uncompiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    function = getattr(kernel, "py_func", kernel)
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = _uncompiled(names[name])
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that is not written: for arrays that may be written Numba would compile a kernel once more."""
    view = array.view()
    view.flags.writeable = False
    return view


@contextmanager
def compiling() -> Iterator[None]:
    """Warn in the log, once, when the compiler takes longer than two seconds in all and nothing was said before.

    Without handlers Python writes warnings of the log on the standard error, where batch jobs and pipes keep them.
    """
    global _compiled_for
    if _told or _forced:
        yield
        return
    timer, began = threading.Timer(max(0.0, _TELL_AFTER - _compiled_for), _tell), time.monotonic()
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        took = time.monotonic() - began
        _compiled_for += took if took > _LOADING else 0.0


def _tell() -> None:
    global _told
    if not _told:
        _told = True
        hint = "once; later runs start at once. «tunbridge warmup» compiles everything beforehand."
        logging.getLogger("tunbridge").warning("tunbridge: compiling kernels for this machine, %s", hint)


def announce(kernel: Kernel, what: str, seconds: int) -> None:
    """Say in a terminal, a notebook and the log that a kernel is being compiled, and about how long that takes."""
    global _told
    if is_compiled(kernel):
        return
    _compile_all()  # who waits now will need the others, too
    text = f"compiling {what} for this machine, which takes about {seconds} s"
    hint = "once; «tunbridge warmup» compiles everything beforehand"
    logging.getLogger("tunbridge").info(text)
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        _told = True
        print(f"tunbridge: {text} ({hint})", file=sys.stderr)
