"""How scores and comparisons are shown, and the bar while models are compared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tunbridge.cli.output import amount, say, say_table

if TYPE_CHECKING:
    from tunbridge.evaluation import Comparison, Scores

_CLASS_COLUMNS = ("precision", "recall", "specificity", "npv", "f1", "auc", "support")
_HEADINGS = {"npv": "NPV", "f1": "F1", "auc": "AUC"}
_TWO = 2


def show_comparison(found: Comparison) -> None:
    """Print the table of several models, and which is the best."""
    say_table(*found.rows())
    if found.verdict():
        say(found.verdict())


def show_classes(scores: Scores) -> None:
    """Print what is said of each class, and the confusion matrix."""
    from tunbridge.evaluation.texts import number_text

    shown = [key for key in _CLASS_COLUMNS if key != "auc" or len(scores.classes) > _TWO]  # of two both have the same
    header = ["class", *(_HEADINGS.get(key, key) for key in shown)]
    by_class = scores.by_class().items()
    say_table(header, [[name, *(_cell(key, line[key], number_text) for key in shown)] for name, line in by_class])
    say("precision is the positive predictive value (PPV), recall the sensitivity")
    say()
    say("Rows by true class (down) and predicted class (across):")
    say_table(["", *scores.classes], list(_confusion_lines(scores)))


def _cell(key: str, value: float, text: Callable[[float], str]) -> str:
    return amount(value) if key == "support" else text(value)


def _confusion_lines(scores: Scores) -> Iterator[list[str]]:
    from tunbridge.evaluation.scores import UNKNOWN

    names = (*scores.classes, *([UNKNOWN] if scores.support[-1] else []))
    for name, row in zip(names, scores.confusion, strict=False):
        yield [name, *map(amount, row)]


@contextmanager
def comparing(what: str) -> Iterator[Callable[[str, float], None] | Literal[False]]:
    """Give the function to which a comparison reports, which shows a bar in a terminal; elsewhere False."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns: Any = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    hint = TextColumn("(Ctrl-C keeps what is done)", style="dim")
    with Progress(*columns, hint, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda step, share: progress.update(task, description=f"{what}: {step}", completed=share)
