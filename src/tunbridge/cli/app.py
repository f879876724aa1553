"""The program: its verbs, its own options, and how it ends.

A verb is a file in ``cli/verbs`` with a function that is decorated ``@verb("network query")``: the registry finds it by
reading the files, and only the module of the verb that is called is imported. The first word of a name of two words
is a group. A verb may have an old spelling (``old="query"``), which still works with a notice, or a second one
(``also="impute"``).

``--debug`` may stand anywhere before a ``--``. All verbs run under :func:`tunbridge.cli.output.guarded`, which gives
every failure one sentence and an exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from tunbridge._core.check import listed
from tunbridge._core.registry import Entry, entries
from tunbridge._version import __version__
from tunbridge.cli.options import spread
from tunbridge.cli.usage import UsageError, guarded, near_hint, option_names, value_error
from tunbridge.errors import MemoryForecastError, TunbridgeError

_DEBUG = "--debug"
_SHOWN_COLUMNS = 30
_HELP = ("-h", "--help", "--help-all")
_GROUPS = {
    "network": "Bayesian networks: learn, fit, query, sample.",
    "text": "Text classifiers.",
    "sequence": "Sequence classifiers.",
    "hmm": "Hidden Markov models: learn, decode, forecast, sample.",
}
_ALSO = {"train": "learn", "info": "describe", "summary": "describe", "classify": "predict", "score": "evaluate"}
_MEANT = {
    "show": "describe", "fit": "learn", "fill": "impute", "cv": "evaluate", "infer": "query", "posterior": "query",
}  # fmt: skip
_MEANT_OF_HMM = {
    "predict": "decode",
    "viterbi": "decode",
    "smooth": "decode",
    "generate": "sample",
    "simulate": "sample",
}
_PICTURES = (
    "Pictures: network draw, --plot of evaluate, explain, bayes and test, and explain --nomogram. "
    "Use tunbridge describe for text."
)
_LEAST_ADDRESSES = 2**30
_FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Boxes and colours are for terminals; elsewhere they would only be in the way of grep.
_SETTINGS: dict[str, Any] = {"rich_markup_mode": "rich" if sys.stdout.isatty() else None}


class Command(TyperCommand):
    """A verb whose arguments stand in the usage line as DATA, not {DATA}."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; raise if an option that has one value comes twice."""
        words = args[: args.index("--")] if "--" in args else args
        for option in [p for p in self.params if p.param_type_name == "option"]:
            n = sum(word.partition("=")[0] in option.opts for word in words)
            if n > 1 and not (option.multiple or option.is_flag):  # type: ignore[attr-defined]
                raise UsageError(f"{max(option.opts, key=len)} must be given once; got it {n} times. Leave one out.")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class Program(TyperGroup):
    """A group of verbs, imported one at a time, whose failures are sentences."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any) -> NoReturn:  # type: ignore[override]
        """Run the verb that the arguments name, and exit."""
        words, debug = _without_debug(list(sys.argv[1:] if args is None else args))
        option_names.set({})

        def work() -> None:
            now, notice = current_spelling(words)
            if notice:
                typer.echo(f"{notice}; the old spelling still works.", err=True)
            try:
                with self.make_context(prog_name or "tunbridge", now) as context:
                    self.invoke(context)
            except TyperException as error:
                raise value_error(error) or _with_owner(error) from None

        sys.exit(guarded(work, debug=debug))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; without any, show the help."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs and groups in this group."""
        return list(_children(self._group))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb for the list in the help: its name and summary, nothing imported."""
        found = _children(self._group).get(cmd_name)
        if found is None:
            return None
        if isinstance(found, str):
            return Program(name=cmd_name, help=found, context_settings=self.context_settings, **_SETTINGS)
        return TyperCommand(cmd_name, help=f"{found.summary}.", **_SETTINGS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb that the arguments name, its module imported."""
        found = _children(self._group).get(args[0])
        if found is None:
            where = f"tunbridge {self._group}".strip()
            raise UsageError(f"{where} has no command {args[0]!r}.{self._hint(args[0])} See {where} --help.")
        if isinstance(found, str):
            return args[0], self.get_command(ctx, args[0]), args[1:]
        _mind_address_space()
        command = command_of(found)
        for finder in [each for each in sys.meta_path if isinstance(each, NoPandas)]:
            finder.retire()
        return args[0], command, args[1:]

    def _hint(self, word: str) -> str:
        """Return which command was meant, or all commands, with a blank before it."""
        if word in ("draw", "plot"):
            return f" {_PICTURES}"
        words = _MEANT_OF_HMM | _MEANT if self._group == "hmm" else _MEANT
        known, meant = list(_children(self._group)), words.get(word, word)
        if meant in known:
            return f" Did you mean {meant!r}?"
        if self._group and meant in _children(""):
            return f" Use tunbridge {meant}."
        return near_hint(word, known) or f" Known: {', '.join(known)}."

    @property
    def _group(self) -> str:
        return "" if self.name not in _GROUPS else str(self.name)


def _mind_address_space() -> None:
    """Where the address space is limited (``ulimit -v``), let libraries reserve little; raise if it is too small.

    Below, Arrow and OpenBLAS end the process by themselves.
    """
    with suppress(ImportError):  # other systems
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return
        for name, value in _FRUGAL.items():
            os.environ.setdefault(name, value)
        if limit < _LEAST_ADDRESSES:
            got = f"{limit / 2**30:.2f} GiB"
            raise MemoryForecastError(
                f"the address space (ulimit -v) must be at least 1 GiB; got {got}. Raise the limit."
            )


class NoPandas:
    """A finder of modules that finds no pandas, in the process of a command until its verb is imported.

    Arrow imports pandas, where it is installed, to make its first array. That takes half a second, and a command is
    given files, not frames. Arrow looks for it once; what needs frames later can import pandas.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Leave every module but pandas to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not imported by this command", name=name)

    def retire(self) -> None:
        """Let Arrow look now, if the verb needs Arrow, and find pandas from now on."""
        if "pyarrow" in sys.modules:
            import pyarrow

            pyarrow.array([])
        sys.meta_path.remove(self)


def _children(group: str) -> dict[str, Entry | str]:
    """Return what a group holds by name: verbs, and in the program itself the summaries of groups."""
    verbs = entries("verb").values()
    if group:
        return {v.name.partition(" ")[2]: v for v in verbs if v.name.partition(" ")[0] == group and " " in v.name}
    plain: dict[str, Entry | str] = {
        v.details.get("also", v.name): v for v in verbs if " " not in v.details.get("also", v.name)
    }
    return plain | _GROUPS


def command_of(entry: Entry) -> Any:
    """Return a verb as a command, with its options."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, **_SETTINGS)
    single.command(entry.name.rpartition(" ")[2], cls=Command)(spread(entry.load()))
    command: Any = typer.main.get_command(single)
    for argument in (p for p in command.params if p.param_type_name == "argument"):
        argument.display_type_rich = lambda ctx: None  # the type in Python says nothing beside the description
    return command


def _options_of(verb: str) -> set[str]:
    """Return all spellings of the options of a verb."""
    return {option for p in command_of(entries("verb")[verb]).params for option in (*p.opts, *p.secondary_opts)}


def _with_owner(error: TyperException) -> TyperException | UsageError:
    """Return the error about an unknown option with the verb that has it, if one of the same name does."""
    option, path = getattr(error, "option_name", None), getattr(error.ctx, "command_path", "tunbridge")[10:]  # type: ignore[attr-defined]
    if option in ("--threshold", "--cutoff") and path == "predict":
        how = "--cost diseased:healthy=4 predicts diseased from a probability of 0.2"
        return UsageError(f"tunbridge predict has no option {option}; costs set the threshold: {how}.")
    for name in entries("verb"):
        alike = name != path and name.rpartition(" ")[2] == path.rpartition(" ")[2]
        if option and alike and option in _options_of(name):
            return UsageError(f"tunbridge {path} has no option {option}; it belongs to tunbridge {name}.")
    return error


def current_spelling(words: list[str]) -> tuple[list[str], str]:
    """Return arguments in the current spelling, and what is to be said about an old one.

    Examples
    --------
    >>> current_spelling(["query", "asia.bif"])
    (['network', 'query', 'asia.bif'], '`tunbridge query` is now `tunbridge network query`')
    >>> current_spelling(["learn", "sms.csv", "--text", "-t", "label"])
    (['text', 'learn', 'sms.csv', '-t', 'label'], '`tunbridge learn --text` is now `tunbridge text learn`')
    """
    if not words:
        return words, ""
    verb, rest = words[0], words[1:]
    if verb in ("help", "version"):
        return [*rest, f"--{verb}"], ""
    if verb == "fit" and _has_target(rest):
        return current_spelling(["learn", *rest])
    if verb in _ALSO:
        return current_spelling([_ALSO[verb], *rest])
    if verb == "evaluate" and "--json" in rest[1:-1]:
        place = words.index("--json")
        if words[place + 1].lower().endswith(".json"):  # a file that takes the results, not rows to evaluate on
            return [*words[:place], "--output", *words[place + 1 :]], ""
    if verb == "describe" and "--holes" in rest:
        return [w if w != "--holes" else "--missing-values" for w in words], "`--holes` is now `--missing-values`"
    old = {entry.details["old"]: entry.name for entry in entries("verb").values() if "old" in entry.details}
    if verb in old:
        return [*old[verb].split(), *rest], f"`tunbridge {verb}` is now `tunbridge {old[verb]}`"
    if verb == "learn" and rest and not set(rest).intersection(_HELP):
        for kind in ("text", "sequence"):
            if f"--{kind}" in rest:
                left = [word for word in rest if word != f"--{kind}"]
                return [kind, "learn", *left], f"`tunbridge learn --{kind}` is now `tunbridge {kind} learn`"
        return _other_learning(rest)
    return words, ""


def _has_target(words: list[str]) -> bool:
    return any(word.startswith("-t") or word.partition("=")[0] == "--target" for word in words)


def _other_learning(rest: list[str]) -> tuple[list[str], str]:
    """Return the arguments of ``learn`` as those of the verb that they are for: of texts, networks, or its own."""
    if any(Path(word).is_dir() for word in rest[:1]):
        return ["text", "learn", *rest], "`tunbridge learn FOLDER` is now `tunbridge text learn FOLDER`"
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    if _has_target(rest) and "--search" not in options:
        return ["learn", *rest], ""
    own, of_networks = _options_of("learn"), _options_of("network learn")
    for what in options:
        if what in of_networks - own:
            return ["network", "learn", *rest], f"`tunbridge learn {what}` is now `tunbridge network learn {what}`"
    if not (_options_of("text learn") - own).isdisjoint(options):
        return ["learn", *rest], ""  # where the error says whose option it is
    raise _no_target(next((Path(word) for word in rest if Path(word).is_file()), None))


def _no_target(data: Path | None) -> UsageError:
    """Return the error for a classifier without a target, with the columns that it could be; raise for no table."""
    from tunbridge.cli.files import check_table  # they import Arrow, for which help must not wait
    from tunbridge.cli.training import column_names

    if data is not None:
        check_table(data)
    names: list[str] = []
    with suppress(TunbridgeError, OSError):
        names = column_names(data) if data is not None else []
    columns = f" {data.name} has the columns {listed(names, most=_SHOWN_COLUMNS)}." if data and names else ""
    hint = "For a network use tunbridge network learn."
    return UsageError(f"--target is missing; it names the column to predict.{columns} {hint}")


app = typer.Typer(
    cls=Program,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tunbridge {__version__}")
        raise typer.Exit


@app.callback(
    epilog="A first model: tunbridge datasets play_tennis -o tennis.csv; tunbridge learn tennis.csv --target play"
)
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option(_DEBUG, help="Show the traceback when something fails.")] = False,
) -> None:
    """Bayesian learning: learn a classifier or a network from a table, evaluate it, predict with it, explain it."""


def _without_debug(words: list[str]) -> tuple[list[str], bool]:
    """Return the arguments without ``--debug``, and whether it was among them."""
    end = words.index("--") if "--" in words else len(words)
    return [w for w in words[:end] if w != _DEBUG] + words[end:], _DEBUG in words[:end]
