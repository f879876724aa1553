"""Numba's decorator with a cache that is never in the way of the work.

Numba keeps compiled kernels next to their source files, or in the user's cache folder; where neither can be written, as
in many containers and for service users, it raises an error at import. Here the temporary folder comes next, in a
folder that only this user can write, because the cache holds code; then no cache. One line in the log of the logger
``tunbridge`` says so. ``NUMBA_CACHE_DIR`` comes first, as in Numba. A cache that cannot be read or written later, on a
full disk for example, is not used.

A signal whose handler raises an exception, as Ctrl-C does, waits until the kernel is loaded or compiled: the callbacks
of LLVM lose exceptions, and the kernel that is called afterwards would be one that was not loaded (a segmentation
fault). When a kernel returns an array, Numba calls a function of Python, where such an exception is raised too. Its
own code for tuples does not look whether that failed, and hands out a tuple with an empty place (a SystemError, or a
crash); the code for tuples here does.

A process with a limit on its addresses (``ulimit -v``) ends without a word when LLVM gets none; so the room is looked
at before a kernel is compiled.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial, wraps
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name
from numba.core import caching

from tunbridge.kernels.compiled import compiling

_NOT_WRITABLE = "neither the package folder nor the user's cache folder can be written"
_HINT = "Set NUMBA_CACHE_DIR to a folder that can be written."
_ROOM = 2**28  # bytes of addresses that LLVM is given to compile or load a kernel
_USED = "/proc/self/statm"
_RAISING = [  # signals whose handlers may raise an exception: Ctrl-C, time limits
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
]


def njit(function: Callable[..., Any] | None = None, /, *, cache: bool = False, **options: Any) -> Any:
    """Return a function compiled by Numba when it is first called, and kept on disk if it can be.

    A private kernel (``_name``) must be called by other kernels only: it is compiled into them, without the wrapper
    that Python would call and without a file of its own, which saves a quarter of the time. Constants that kernels give
    it are numbers like any other: Numba would compile it once more for each.
    """
    if function is None:
        return partial(njit, cache=cache, **options)
    is_part = function.__name__.startswith("_")
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": is_part}
    kernel: Any = numba.njit(function, **options)
    if not hasattr(kernel, "py_func"):  # NUMBA_DISABLE_JIT is set
        return kernel
    if is_part:
        kernel._compile_for_args, kernel._insert = _refuse, _forget
        kernel.get_call_template = _without_literals(kernel.get_call_template)
    else:
        kernel._compile_for_args = _uninterrupted(kernel._compile_for_args, function)
        kernel._cache = cache_of(function) if cache else _NoCache()
        kernel.is_on_disk = kernel._cache.has_kernels
    return kernel


def _without_literals(template: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that finds the code of a call for the types of its constants, not for the constants."""

    @wraps(template)
    def run(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        unliteral = numba.types.unliteral
        return template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    return run


def _refuse(*_: Any, **__: Any) -> None:
    """Raise TypeError, in place of a crash: a private kernel has no entry for Python."""
    raise TypeError("a private kernel must be called by a kernel; in Python call plain(kernel)")


def _forget(*_: Any, **__: Any) -> None:
    """Keep the missing entry of a private kernel from those that Python may call."""


def _uninterrupted(load: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that loads or compiles a kernel and hands over the signals of that time at its end."""

    @wraps(load)
    def run(*args: Any, **kwargs: Any) -> Any:
        if (beside := sys.modules.get("tunbridge.kernels.beside")) is not None:
            beside.wait_for(function)
        with compiling(), _HeldSignals(), _no_collection():
            return load(*args, **kwargs)

    return run


@contextmanager
def _no_collection() -> Iterator[None]:
    """Let Python not look for cycles among the many objects of the compiler, which takes 7 % of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _HeldSignals:
    """Signals that wait: a handler in place of those that raise exceptions, which hands over to them later."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any]] | None = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread of Python gets signals
        self._handlers = {n: f for n in _RAISING if callable(f := signal.getsignal(n))}
        try:
            for number in self._handlers:
                signal.signal(number, self._handle)
        except BaseException:  # of a signal that is not held yet
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        waiting, self._waiting = self._waiting or [], None
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        with ExitStack() as calls:  # all are handed over, whatever the first one raises
            for number, frame in reversed(waiting):
                calls.callback(self._handlers[number], number, frame)

    def _handle(self, number: int, frame: Any) -> None:
        if self._waiting is None:  # it came between the end of the work and the return of its handler
            self._handlers[number](number, frame)
        else:
            self._waiting.append((number, frame))


@cache
def _mend_tuples() -> None:
    """Replace Numba's code for tuples; called when something is compiled, because that code takes a while to import."""
    from numba.core import boxing, cgutils, types
    from numba.core.pythonapi import _boxers

    def box(kind: Any, value: Any, context: Any) -> Any:
        """Write the code that turns a tuple into one of Python, or into nothing where an item fails."""
        builder, api = context.builder, context.pyapi
        result = cgutils.alloca_once_value(builder, api.tuple_new(kind.count))
        end = builder.append_basic_block("tuple.end")
        for i, item in enumerate(kind):
            boxed = context.box(item, builder.extract_value(value, i))
            with builder.if_then(cgutils.is_null(builder, boxed), likely=False):
                api.decref(builder.load(result))
                builder.store(cgutils.get_null_value(api.pyobj), result)
                builder.branch(end)
            api.tuple_setitem(builder.load(result), i, boxed)
        builder.branch(end)
        builder.position_at_end(end)
        return builder.load(result)

    for kind in (types.Tuple, types.UniTuple):
        if _boxers.functions[kind] is boxing.box_tuple:
            _boxers.functions[kind] = box


def cache_of(function: Callable[..., Any]) -> Any:
    """Return where the compiled kernels of a function are kept, one without ``cache_path`` if nowhere."""
    try:
        return _KernelCache(function)
    except RuntimeError:  # no folder can be written
        _log(f"compiled kernels are not kept, each process compiles them again: {_NOT_WRITABLE}. {_HINT}")
        return _NoCache()


@cache
def _log(text: str) -> None:
    """Write a line to the log, once."""
    logging.getLogger("tunbridge").warning(text)


class _InTemporaryFolder(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """The place of a kernel in the temporary folder."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return os.path.join(_own_folder(), self.get_suitable_cache_subpath(self._py_file))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _InTemporaryFolder | None:
        found: _InTemporaryFolder | None = super().from_function(py_func, py_file)
        if found is not None:
            _log(f"compiled kernels are kept in {_own_folder()}: {_NOT_WRITABLE}.")
        return found


def _own_folder() -> str:
    """Return a folder in the temporary one that belongs to this user alone; raise OSError if there is none."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"tunbridge-{owner}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or (os.name == "posix" and (found.st_uid != owner or found.st_mode & 0o077)):
        raise PermissionError(f"{folder} must be a folder of this user alone")
    return folder


class _Folders(caching.CompileResultCacheImpl):
    _locator_classes = [*caching.CompileResultCacheImpl._locator_classes, _InTemporaryFolder]  # noqa: RUF012


class _KernelCache(caching.FunctionCache):
    """The compiled kernels of a function on disk; what goes wrong there costs time, nothing else."""

    _impl_class = _Folders

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _check_room()
        found = super().load_overload(sig, target_context)
        if found is None:
            _mend_tuples()
        return found

    def has_kernels(self) -> bool:
        """Return whether there are compiled kernels of this source, by this version of Numba, for this processor."""
        cpu = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
        with suppress(OSError, EOFError, ValueError, pickle.PickleError):
            return any(repr(cpu) in repr(key) for key in self._cache_file._load_index())
        return False

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log(f"a compiled kernel cannot be read from {self.cache_path} or saved there: {error.strerror}. {_HINT}")


class _NoCache(caching.NullCache):
    """No compiled kernels on disk."""

    def has_kernels(self) -> bool:
        """Return False."""
        return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _check_room()
        _mend_tuples()


def _check_room() -> None:
    """Raise MemoryError if the limit on addresses leaves too few of them for the compiler, which would abort."""
    with suppress(ImportError, OSError, ValueError):  # other systems
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return
        with open(_USED) as file:
            left = limit - int(file.read().split()[0]) * resource.getpagesize()
        if left < _ROOM:
            room, least = f"{max(0, left) >> 20} MiB", f"{_ROOM >> 20} MiB"
            raise MemoryError(
                f"to compile a kernel there must be {least} of free addresses; the limit of this process (ulimit -v) "
                f"leaves {room}. Raise it."
            )
