"""What the program prints and writes: text, tables, JSON, progress, pictures, warnings and errors; never half a file.

Every failure is one sentence on stderr and an exit code, every warning one line. The library names parameters; on the
command line they are options: :func:`in_options` writes ``--max-parents must …`` for ``max_parents must …``, and
``Use --method gibbs.`` for ``Use method='gibbs'.``, for all parameters of the verb that runs.

In a terminal Rich draws tables and folds what is too wide; elsewhere they are plain columns, never cut. Progress is
shown on stderr, and only if that is a terminal. :func:`replacing` gives a temporary file that takes the place of the
named one when all is written; until then, and after Ctrl-C, what was there before stays.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import typer
from typer.exceptions import TyperException

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.grid import grid_lines
from tunbridge.errors import DataError, TunbridgeError, TunbridgeWarning

PICTURES = (".png", ".svg", ".pdf")
FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
_SHOWN_WARNINGS = 3
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|[\w.-]*\w"

option_names: ContextVar[Mapping[str, str]] = ContextVar("option_names", default=MappingProxyType({}))
"""The options of the verb that runs, by the parameters of the library that they set; flags as ``--on/--off``."""


class UsageError(TunbridgeError):
    """Options that do not fit each other, or are not written as they should be."""


def say(text: str = "") -> None:
    """Print a text as it is."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a remark on stderr, where it does not get into results that are piped on."""
    typer.echo(text, err=True)


def say_fields(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values, the values one below the other; lines of one value are indented alike."""
    shown = [(name, text.split("\n")) for name, text in pairs if text]
    width = max((len(name) for name, _ in shown), default=0)
    for name, lines in shown:
        say(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            say(f"{'':<{width}}  {line}")


def say_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> None:
    """Print a table; the columns at these positions are set to the left, the others, of numbers, to the right."""
    if sys.stdout.isatty():
        _draw(header, rows, left)
    else:
        say("\n".join(grid_lines(header, rows, left=left)))


def _draw(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for j, name in enumerate(header):
        table.add_column(Text(name), justify="left" if j in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def say_json(data: Any) -> None:
    """Print data as JSON; infinities, which JSON does not have, become the texts "Infinity" and "-Infinity"."""
    say(json.dumps(json_ready(data), ensure_ascii=False, indent=2, default=str))


def json_ready(value: Any) -> Any:
    """Return data in which every float is one that JSON has.

    Examples
    --------
    >>> json_ready({"weights": [1.5, float("-inf"), float("nan")]})
    {'weights': [1.5, '-Infinity', None]}
    """
    if isinstance(value, dict):
        return {str(k): json_ready(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def counted(n: float, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2400, "row")
    ('1 row', '2400 rows')
    """
    return f"{amount(n)} {noun}{'' if n == 1 else 's'}"


def amount(n: float) -> str:
    """Return a number of rows, or a weight, without digits that say nothing.

    Examples
    --------
    >>> amount(14.0), amount(4705230123.0), amount(2.123456789)
    ('14', '4705230123', '2.12346')
    """
    return str(int(n)) if n == int(n) else f"{n:.6g}"


def shortlist(items: Sequence[str], *, most: int, separator: str = ", ") -> str:
    """Return items in a row, of a long list the first ones and the number of the others.

    Examples
    --------
    >>> shortlist(["a", "b", "c"], most=2)
    'a, b, … and 1 more'
    """
    rest = [f"… and {len(items) - most} more"] if len(items) > most else []
    return separator.join([*items[:most], *rest])


def tracked(steps: Iterable[Any], what: str, *, total: int | None = None, hidden: bool = False) -> Iterator[Any]:
    """Yield the steps, with a progress bar in a terminal; a step that has a length counts that many rows."""
    if hidden or not sys.stderr.isatty():
        yield from steps
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = TextColumn("{task.completed:.0f}/{task.total:.0f}" if total else "{task.completed:.0f} rows")
    columns = (TextColumn("{task.description}"), BarColumn(), shown, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        for step in steps:
            yield step
            progress.advance(task, 1 if total else step.n_rows)


@contextmanager
def reporting(what: str, *, shares: bool = False) -> Iterator[Callable[[str, float], None] | Literal[False]]:
    """Give the function to which long work reports, which shows a line in a terminal; elsewhere False.

    It is called with a text and the present score or, with ``shares``, the share of the work that is done.
    """
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    text, time = TextColumn("{task.description}"), TimeElapsedColumn()
    columns: Any = (text, BarColumn(), TaskProgressColumn(), time) if shares else (SpinnerColumn(), text, time)
    hint = TextColumn(f"(Ctrl-C keeps {'what is done' if shares else 'the best so far'})", style="dim")
    with Progress(*columns, hint, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0 if shares else None)

        def report(step: str, value: float) -> None:
            shown = "" if shares or math.isnan(value) else f", score {value:.8g}"
            progress.update(task, description=f"{what}: {step}{shown}", completed=value if shares else None)

        yield report


# Files


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file that becomes ``path`` in the end, or goes away when something fails."""
    check_place(path)
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        yield target  # a device or a pipe cannot be replaced, only written to
        return
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (temporary, str(temporary)):
            error.filename = str(path)
        raise


def check_place(path: Path) -> None:
    """Raise unless a file can be made, or replaced, under this name."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"the output must be a file; {str(path)!r} is a folder.")
    if not target.parent.is_dir():
        raise DataError(f"the output must go to a folder that exists; there is no {str(target.parent)!r}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is write-protected", str(path))


def check_output(path: Path | None, *, inputs: Iterable[Path], suffixes: Iterable[str]) -> None:
    """Raise unless a file name can be written to: its suffix is known, and it is not that of an input."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise DataError(f"the name of the output must end in {listed(suffixes)}; got {path.name!r}.")
    check_not_input(path, inputs)


def check_not_input(path: Path, inputs: Iterable[Path]) -> None:
    """Raise when a file to be written is one of those that are read."""
    for file in inputs:
        if path.exists() and file.exists() and path.samefile(file):
            raise DataError(f"the output must not replace the input; got {str(path)!r} for both. Name another file.")


def check_picture(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Raise unless a picture can be written under this name."""
    if path is not None:
        check_output(path, inputs=inputs, suffixes=PICTURES)
        check_place(path)


def write_picture(path: Path, draw: Callable[[Any], Any], *, called: str = "picture") -> None:
    """Write what a function draws with :mod:`tunbridge.plots`, and print where it is."""
    tb.plots.draw_off_screen()
    figure: Any = draw(tb.plots).figure
    with replacing(path) as file:
        figure.savefig(file, dpi=150)
    note(f"The {called} is in {path}.")


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
        try:
            work()
            sys.stdout.flush()
        except typer.Exit as end:
            return end.exit_code
        except BrokenPipeError:
            with suppress(OSError, ValueError, AttributeError):  # or the interpreter complains at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            print(f"tunbridge: {sentence(error)}", file=sys.stderr)
            return exit_code(error)
    return 0


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
        text = "there is not enough memory. Ignore columns, or take fewer rows."
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


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "tunbridge"
    message = error.format_message().replace(": Value error, ", ": ").strip()
    end = "" if message.endswith((".", "?")) else "."
    if where.endswith(" explain") and "--target" in message:
        end += " For a network use tunbridge network query --target NAME --explain."
    if where.endswith((" text learn", " sequence learn")) and "unexpected extra argument" in message:
        end += " --column names the column."
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
