"""What the program prints: text, tables, JSON and progress.

In a terminal Rich draws tables and folds what is too wide; elsewhere they are plain columns, never cut. Progress is
shown on stderr, and only if that is a terminal.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeVar

import typer

from tunbridge._core.grid import grid_lines
from tunbridge.cli.signals import PATIENCE, received, saving

SHOWN = 12
"""How many items of a list are shown."""

T = TypeVar("T")


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


def say_next(what: str, file: Path, commands: Iterable[str]) -> None:
    """Print where the result is, and commands that go on with it."""
    say(f"\n{what.capitalize()} saved to {file}. Next steps:")
    for command in commands:
        say(f"  tunbridge {command}")


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


def shortlist(items: Sequence[str], *, most: int = SHOWN, separator: str = ", ") -> str:
    """Return items in a row, of a long list the first ones and the number of the others.

    Examples
    --------
    >>> shortlist(["a", "b", "c"], most=2)
    'a, b, … and 1 more'
    """
    rest = [f"… and {len(items) - most} more"] if len(items) > most else []
    return separator.join([*items[:most], *rest])


def lines(items: Sequence[str]) -> str:
    """Return items one below the other, of a long list the first ones."""
    return shortlist(items, separator="\n")


def tracked(steps: Iterable[T], what: str, *, total: int | None = None, hidden: bool = False) -> Iterator[T]:
    """Yield the steps, with a progress bar in a terminal; without a total they are batches, and their rows count."""
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
            progress.advance(task, 1 if total else len(step))  # type: ignore[arg-type]


@contextmanager
def reporting(
    what: str, *, shares: bool = False, keeps: bool = True
) -> Iterator[Callable[[str, float], None] | Literal[False]]:
    """Give the function to which long work reports, which shows a line in a terminal; elsewhere False.

    It is called with a text and the present score or, with ``shares``, the share of the work that is done. Work that
    ends here although it was interrupted has a result, which there will be time to save; ``keeps`` is false for work
    that never has one.
    """
    shown: AbstractContextManager[Any] = _reporting(what, shares, keeps) if sys.stderr.isatty() else nullcontext(False)
    with shown as report:
        yield report
    if received() is not None:
        saving()


@contextmanager
def _reporting(what: str, shares: bool, keeps: bool) -> Iterator[Callable[[str, float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    text, time = TextColumn("{task.description}"), TimeElapsedColumn()
    columns: Any = (text, BarColumn(), TaskProgressColumn(), time) if shares else (SpinnerColumn(), text, time)
    hint, last = f"(Ctrl-C keeps {'what is done' if shares else 'the best so far'})", math.inf
    shown_hint = TextColumn("{task.fields[hint]}", style="dim")
    with Progress(*columns, shown_hint, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0 if shares else None, hint="")

        def report(step: str, value: float) -> None:
            nonlocal last
            before, last = last, monotonic()
            shown = "" if shares or math.isnan(value) else f", score {value:.8g}"
            progress.update(
                task,
                description=f"{what}: {step}{shown}",
                completed=value if shares else None,
                hint=hint
                if keeps and abs(last - before) < PATIENCE
                else "",  # a longer step is ended without its result
            )

        yield report
