"""Options that do not fit each other, and how failures end: one sentence on stderr and an exit code.

The library names parameters; on the command line they are options: :func:`in_options` writes ``--max-parents must …``
for ``max_parents must …``, and ``Use --method gibbs.`` for ``Use method='gibbs'.``, for all parameters of the verb that
runs. Every warning is one line.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import typer
from typer.exceptions import TyperException

from tunbridge._core.check import did_you_mean
from tunbridge.cli.signals import ended_by, received, working
from tunbridge.errors import DataError, TunbridgeError, TunbridgeWarning

FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
_SHOWN_WARNINGS = 3
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|[\w.-]*\w"
_RULES = {
    "greater_than_equal": "at least {ge}", "less_than_equal": "at most {le}", "int_parsing": "an integer",
    "float_parsing": "a number",
}  # fmt: skip

option_names: ContextVar[Mapping[str, str]] = ContextVar("option_names", default=MappingProxyType({}))
"""The options of the verb that runs, by the parameters of the library that they set; flags as ``--on/--off``."""

given_options: ContextVar[Mapping[str, str]] = ContextVar("given_options", default=MappingProxyType({}))
"""The options that were given, as they are spelled, and the parameter or the field of a record that each sets."""


class UsageError(TunbridgeError):
    """Options that do not fit each other, or are not written as they should be."""


def refuse(*rules: tuple[object, str]) -> None:
    """Raise the sentence of the first rule whose condition holds.

    Examples
    --------
    >>> refuse((False, "--a must come without --b."), (1 > 0, "--c must come with --d."))
    Traceback (most recent call last):
    tunbridge.cli.usage.UsageError: --c must come with --d.
    """
    for holds, text in rules:
        if holds:
            raise UsageError(text)


@contextmanager
def as_usage(text: str = "{}") -> Iterator[None]:
    """Turn an error about the data into one about the options, with this text, in which {} is the message."""
    try:
        yield
    except DataError as error:
        raise UsageError(text.replace("{}", str(error))) from None


def near_hint(name: object, known: Iterable[object]) -> str:
    """Return a question after the nearest known name, with a blank before it; no text if none is near.

    Examples
    --------
    >>> near_hint("tabuu", ["tabu", "ges"]), near_hint("x", ["tabu", "ges"])
    (" Did you mean 'tabu'?", '')
    """
    hint = did_you_mean(name, known)
    return f" {hint}" if hint.startswith("Did") else ""


def given_for(*parameters: str) -> list[str]:
    """Return the options that were given for some parameters of the verb, or fields of its records."""
    given = given_options.get().items()
    return [option for parameter in parameters for option, owner in given if owner == parameter]


def refuse_options(parameters: Iterable[str], why: str) -> None:
    """Raise for the first option of some parameters that was given although it does nothing here."""
    refuse(*((option, f"{option} must {why}") for option in given_for(*parameters)))


# Warnings and errors


def guarded(work: Callable[[], Any], *, debug: bool) -> int:
    """Run the work and return the program's exit code; failures are reported on stderr.

    Examples
    --------
    >>> guarded(lambda: None, debug=False)
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack a character
    with _warnings_as_lines(debug=debug):
        code = 0
        try:
            with working():
                try:
                    work()
                except typer.Exit as end:
                    code = end.exit_code
            sys.stdout.flush()
        except BrokenPipeError:
            with suppress(OSError, ValueError, AttributeError):  # or the interpreter complains at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            number = received()
            if isinstance(error, SystemExit) and number is None:
                raise
            if debug:
                traceback.print_exc()
            if number is not None and not isinstance(error, KeyboardInterrupt):  # whatever the signal made of the work
                print(f"tunbridge: {ended_by(number)}", file=sys.stderr)
                return 128 + number
            print(f"tunbridge: {sentence(error)}", file=sys.stderr)
            return exit_code(error)
    return code


def sentence(error: BaseException) -> str:
    r"""Return what went wrong, on one line.

    Examples
    --------
    >>> from tunbridge.errors import DataError
    >>> sentence(DataError("byte 7 must be text;\n  got 0xe9."))
    'byte 7 must be text; got 0xe9.'
    """
    if isinstance(error, TyperException):
        text = _usage(error)
    elif isinstance(error, KeyboardInterrupt | typer.Abort):
        text = str(error) or "interrupted."
    elif isinstance(error, TunbridgeError):
        text = in_options(str(error))
    elif isinstance(error, MemoryError):
        ours = type(error) is MemoryError and str(error)
        text = ours or "there is not enough memory. Ignore columns, or take fewer rows."
    elif isinstance(error, OSError):
        reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
        what = "" if error.filename is None else f"the file {str(error.filename)!r} cannot be used; "
        text = f"{what}the system says: {reason}."
    else:
        text = f"an error that should not happen, {type(error).__name__}: {error}. --debug shows where."
    return " ".join(text.split())


def exit_code(error: BaseException) -> int:
    """Return the exit code that stands for an error."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    return USAGE if isinstance(error, TyperException | UsageError) else FAILED


def value_error(error: TyperException) -> UsageError | None:
    """Return the error about a value that is no number, or out of range, in our words; None for other errors."""
    details: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    rule = _RULES.get(details[0]["type"]) if details else None
    if rule is None:
        return None
    parameter, value = error.param, details[0]["input"]  # type: ignore[attr-defined]
    limits = details[0].get("ctx", {})
    got = value if {"ge", "le"}.intersection(limits) else repr(value)
    return UsageError(f"{max(parameter.opts, key=len)} must be {rule.format(**limits)}; got {got}.")


def in_options(message: str, names: Mapping[str, str] | None = None) -> str:
    """Return a message of the library with options in place of parameters.

    Examples
    --------
    >>> names = {"method": "--method", "n_buckets": "--buckets", "jointly": "--jointly/--cell-wise"}
    >>> in_options("method must be exact. Use method='gibbs' or jointly=False, or lower n_buckets.", names)
    '--method must be exact. Use --method gibbs or --cell-wise, or lower --buckets.'
    """
    names = option_names.get() if names is None else names
    if not names:
        return message
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    pattern = (
        rf"(?<![\w.'\"-])(?P<name>{known})(?:=(?P<value>{_VALUE})(?P<more>(?: or '[\w-]+')*)|(?P<end>\b(?![\w=(-])))"
    )

    def option(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        on, _, off = names[name].partition("/")
        if value is None:
            begins = re.search(r"(^|[.:] |^an arc of )$", message[: found.start()])
            is_subject = begins and re.match(r" (of '[^']*' )?must\b", message[found.end() :])
            return on if is_subject or "_" in name else found[0]
        if value in ("True", "False"):
            return on if value == "True" else off or f"--no-{on[2:]}"
        return f"{on} {_plain(value)}".rstrip() + (found["more"] or "").replace("'", "")

    return re.sub(pattern, option, message)


def _plain(value: str) -> str:
    """Return a value as it is written on the command line."""
    inside = value.strip("[]{}…")
    bare = inside.replace(": ", "=") if value[0] == "{" else inside
    return bare.strip("'\"") if re.fullmatch(r"(['\"]?)[\w.-]*\1", bare) else bare


def _either(options: str) -> str:
    return options.replace(", ", " or ")


def _begin_with(name: str | None, context: Any) -> list[str]:
    """Return the options of a command that begin with what is none, if they are few."""
    params = getattr(getattr(context, "command", None), "params", [])
    found = [each for param in params for each in param.opts if name and len(name) > 3 and each.startswith(name)]
    return found if len(found) <= 3 else []


_TAKES_TABLES = (
    " learn", " evaluate", " describe", " impute", " explain", " network fit", " network update", " network impute",
)  # fmt: skip


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "tunbridge"
    message = error.format_message().replace(": Value error, ", ": ").strip()
    message = re.sub(r" \(Possible options: (.*)\)$", lambda found: f". Did you mean {_either(found[1])}?", message)
    if starts := _begin_with(getattr(error, "option_name", None), context):
        message = f"no such option: {error.option_name}. Did you mean {' or '.join(starts)}?"
    end = "" if message.endswith((".", "?")) else "."
    if where.endswith(" explain") and "--target" in message:
        end += " For a network use tunbridge network query --target NAME --explain."
    if where.endswith((" text learn", " sequence learn")) and "unexpected extra argument" in message:
        end += " --column names the column."
    elif where.endswith(_TAKES_TABLES) and "unexpected extra argument" in message:
        end += " Several files are one pattern in quotes, such as 'visits-*.csv'."
    return f"{message[:1].lower()}{message[1:]}{end} See {where} --help."


@contextmanager
def _warnings_as_lines(*, debug: bool) -> Iterator[None]:
    """Print our warnings as lines, a few of each kind; those of other libraries under ``debug`` only."""
    shown: Counter[type[Warning]] = Counter()
    texts: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_options(" ".join(str(message).split()))
        if text in texts:
            return
        texts.add(text)
        shown[category] += 1
        if shown[category] <= _SHOWN_WARNINGS:
            print(f"warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default" if debug else "ignore")
        warnings.simplefilter("always", TunbridgeWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            hidden = sum(max(0, n - _SHOWN_WARNINGS) for n in shown.values())
            if hidden:
                print(f"warning: {hidden} more of the same kind.", file=sys.stderr)
