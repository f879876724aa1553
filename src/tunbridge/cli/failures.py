"""How the program ends: every failure one sentence on stderr and an exit code, every warning one line."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from tunbridge.errors import TunbridgeError, TunbridgeWarning

FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
_SHOWN_WARNINGS = 3


class UsageError(TunbridgeError):
    """Options that do not fit each other, or are not written as they should be."""


# Typer does not export the class of usage errors (it was Click's, and is now its own), only this child of it.
_TyperUsageError = typer.BadParameter.__mro__[1]


def _chosen(found: re.Match[str]) -> str:
    """Return an argument of the library, of which there may be a second value, as an option."""
    return f"--{found[1]} {found[2]}{f' or {found[4]}' if found[4] else ''}"


# The library speaks of arguments; on the command line the same things are options.
_OPTIONS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"\bdownload=True"), "--download"),
    (re.compile(r"\b(?:the )?(encoding|format|delimiter)=('[^']*'|\"[^\"]*\")"), r"--\1 \2"),
    (re.compile(r"\bAdd them to missing to count"), "Use --missing to count"),
    (re.compile(r"^class_prior must"), "--prior must"),
    (re.compile(r"\bUse smoothing above 0"), "Learn with --smoothing above 0"),
    (re.compile(r" A model is written by save\(\)\."), " Make a model with tunbridge learn."),
    (re.compile(r"\bmethod='([a-z-]+)'"), r"--method \1"),
    (re.compile(r"\bask posterior\(\) for one variable approximately"), "ask for one --target approximately"),
    (re.compile(r"\bwith of=\[[^\]]*\]"), "with --target"),
    (re.compile(r"^target must"), "--target must"),
    (re.compile(r"\b(Raise )?max_samples\b"), r"\1--max-samples"),
    (re.compile(r"^(precision|interval|format) must"), r"--\1 must"),
    (re.compile(r"^evidence must"), "--given must"),
    (re.compile(r" Learn the tables from data, or give CPT\(.*\)\."), " A .tb file keeps them."),
    (re.compile(r" load\(\) reads other models\."), " For classifiers there are tunbridge predict and explain."),
    (re.compile(r"\b(score|search)='([a-z-]+)'( or '([a-z-]+)')?"), _chosen),
    (re.compile(r"\btb\.StructuralEM\b"), "--structural-em"),
    (re.compile(r"^score must"), "--score must"),
    (re.compile(r"^(an arc of )?required must"), r"\1--require must"),
    (re.compile(r"^(an arc of )?forbidden must"), r"\1--forbid must"),
    (re.compile(r"^tiers must name"), "--tier must name"),
    (re.compile(r"^roots must name"), "--root must name"),
    (re.compile(r"^leaves must name"), "--leaf must name"),
    (re.compile(r"\bmax_parents\b"), "--max-parents"),
    (re.compile(r"\bmissing='(em|gradient|available|complete)'"), r"--missing \1"),
    (re.compile(r"\bmax_iterations\b"), "--max-iterations"),
    (re.compile(r"\bGive net\.dag to take"), "Use --states-from-data to take"),
    (re.compile(r"\b(impute|update)\(\) must be asked of"), r"tunbridge \1 must be given"),
    (re.compile(r" or discretise first \(tb\.discretise\)"), " or learn with --cuts frequency"),
    (re.compile(r"\bDiscretise first \(tb\.discretise\)"), "Learn one with --cuts frequency"),
)


def guarded(work: Callable[[], Any], *, debug: bool) -> int:
    """Run the work and return the program's exit code; failures are told on stderr.

    Examples
    --------
    >>> guarded(lambda: None, debug=False)
    0
    """
    _tolerate_any_text()
    with _warnings_as_lines(debug=debug):
        try:
            work()
            sys.stdout.flush()
        except typer.Exit as end:
            return end.exit_code
        except BrokenPipeError:
            _abandon_output()
            return BROKEN_PIPE
        except BaseException as error:
            if not isinstance(error, Exception | KeyboardInterrupt):
                raise
            if debug:
                traceback.print_exc()
            print(f"tunbridge: {sentence(error)}", file=sys.stderr)
            return exit_code(error)
    return 0


def sentence(error: BaseException) -> str:
    """Return what went wrong, on one line.

    Examples
    --------
    >>> from tunbridge.errors import DataError
    >>> sentence(DataError("the file must be utf-8 text; byte 7 is 0xe9. Try encoding='latin-1'."))
    "the file must be utf-8 text; byte 7 is 0xe9. Try --encoding 'latin-1'."
    """
    if isinstance(error, _TyperUsageError):
        return _one_line(_usage(error))
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _one_line(str(error)) or "interrupted."
    if isinstance(error, TunbridgeError):
        return in_options(_one_line(str(error)))
    if isinstance(error, MemoryError):
        return "there is not enough memory. Ignore columns, or take fewer rows."
    if isinstance(error, OSError):
        return _one_line(_system(error))
    return _one_line(f"an error that should not happen, {type(error).__name__}: {error}. --debug shows where.")


def exit_code(error: BaseException) -> int:
    """Return the exit code that stands for an error."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    return USAGE if isinstance(error, _TyperUsageError | UsageError) else FAILED


def in_options(message: str) -> str:
    """Return a message of the library with the names of options in place of those of arguments."""
    for pattern, replacement in _OPTIONS:
        message = pattern.sub(replacement, message)
    return message


def _usage(error: Any) -> str:
    context = error.ctx
    where = context.command_path if context is not None else "tunbridge"
    message = error.format_message().replace(": Value error, ", ": ").strip()
    end = "" if message.endswith((".", "?")) else "."
    if where.endswith(" explain") and "--target" in message:
        end += " A network is asked with tunbridge query --target NAME --explain."
    if where.endswith(" learn") and "unexpected extra argument" in message:
        end += " --text and --sequence take no value: --column names the column."
    return f"{message[:1].lower()}{message[1:]}{end} See {where} --help."


def _system(error: OSError) -> str:
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    if error.filename is None:
        return f"the system says: {reason}."
    return f"the file {str(error.filename)!r} cannot be used; the system says: {reason}."


def _one_line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _warnings_as_lines(*, debug: bool) -> Iterator[None]:
    """Print our warnings as lines, of one kind a few only; those of other libraries under ``debug`` only."""
    told: Counter[type[Warning]] = Counter()
    texts: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_options(_one_line(str(message)))
        if text in texts:
            return
        texts.add(text)
        told[category] += 1
        if told[category] <= _SHOWN_WARNINGS:
            print(f"warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default" if debug else "ignore")
        warnings.simplefilter("always", TunbridgeWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            hidden = sum(max(0, n - _SHOWN_WARNINGS) for n in told.values())
            if hidden:
                print(f"warning: {hidden} more of the same kind.", file=sys.stderr)


def _tolerate_any_text() -> None:
    """Let a terminal that lacks a character show its code instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """Make what is still buffered go nowhere, so that the interpreter does not complain at its end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
