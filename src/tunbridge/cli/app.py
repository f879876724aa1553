"""The program: its verbs, its own options, and its way to end.

``--debug`` may stand anywhere before a ``--``. All verbs run under :func:`tunbridge.cli.failures.guarded`, which gives
every failure one sentence and an exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tunbridge._version import __version__
from tunbridge.cli.bayes import bayes
from tunbridge.cli.convert import convert
from tunbridge.cli.datasets import datasets
from tunbridge.cli.describe import describe
from tunbridge.cli.diagnose import diagnose
from tunbridge.cli.evaluate import evaluate
from tunbridge.cli.explain import explain
from tunbridge.cli.failures import guarded
from tunbridge.cli.fit import fit
from tunbridge.cli.impute import impute
from tunbridge.cli.learn import learn
from tunbridge.cli.options import spread
from tunbridge.cli.predict import predict
from tunbridge.cli.query import query
from tunbridge.cli.sample import sample
from tunbridge.cli.update import update
from tunbridge.cli.warmup import warmup

_DEBUG = "--debug"
_VERBS = (
    learn, fit, update, evaluate, predict, explain, query, sample, impute, convert, describe, datasets, bayes, diagnose,
    warmup,
)  # fmt: skip
_CALLED: dict[Any, str] = {diagnose: "test"}  # a function of that name would be taken for one of a test suite


class Program(TyperGroup):
    """A group of verbs whose failures are sentences."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any) -> NoReturn:  # type: ignore[override]
        """Run the verb that the arguments name, and exit."""
        given = list(sys.argv[1:] if args is None else args)
        words, debug = _without_debug(given)

        def work() -> None:
            with self.make_context(prog_name or "tunbridge", words) as context:
                self.invoke(context)

        sys.exit(guarded(work, debug=debug))


# Boxes and colours are for terminals; elsewhere they would only be in the way of grep.
app = typer.Typer(
    cls=Program,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tunbridge {__version__}")
        raise typer.Exit


@app.callback(
    epilog="A first model: tunbridge datasets play_tennis -o tennis.csv; tunbridge learn tennis.csv --target play"
)
def program(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option(_DEBUG, help="Show the traceback when something fails.")] = False,
) -> None:
    """Bayesian learning: learn a classifier or a network from a table, evaluate it, predict with it, see why."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


for _verb in _VERBS:
    app.command(_CALLED.get(_verb))(spread(_verb))


def _without_debug(words: list[str]) -> tuple[list[str], bool]:
    """Return the arguments without ``--debug``, and whether it was among them."""
    end = words.index("--") if "--" in words else len(words)
    return [w for w in words[:end] if w != _DEBUG] + words[end:], _DEBUG in words[:end]
