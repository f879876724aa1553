"""What the verbs print: text, tables, JSON and progress.

In a terminal tables are drawn by Rich, which folds what is too wide; elsewhere they are plain columns, never cut.
Progress is shown on stderr, and only where that is a terminal.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import typer


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
        say("\n".join(plain_table(header, rows, left=left)))


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> list[str]:
    """Return the lines of a table in plain text.

    Examples
    --------
    >>> for line in plain_table(["class", "rows"], [["no", "5"], ["maybe", "12"]]):
    ...     print(line)
    class  rows
    no        5
    maybe    12
    """
    lines = [header, *rows]
    widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
    sides = [str.ljust if j in left else str.rjust for j in range(len(header))]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]


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
def searching(what: str) -> Iterator[Callable[[str, float], None] | Literal[False]]:
    """Give the function to which a search reports, which shows a line in a terminal; elsewhere False."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    hint = TextColumn("(Ctrl-C keeps the best so far)", style="dim")
    with Progress(*columns, hint, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def report(step: str, score: float) -> None:
            shown = "" if math.isnan(score) else f", score {score:.8g}"
            progress.update(task, description=f"{what}: {step}{shown}")

        yield report
