"""Options, generated from signatures and docstrings.

A verb is a plain function: its parameters are the arguments and options, its numpydoc docstring is their help. Three
kinds of parameters are treated in a special way by :func:`spread`, which makes the function that Typer gets:

* A record such as :class:`Reading`: its fields become options, in a panel of their own.
* ``Annotated[dict, From("text", "TextClassifier", "ngrams tokens")]``: these parameters of the library become options,
  with the types, defaults and descriptions that the library has. The verb gets a dictionary of those that were given.
* Everything else: ``max_parents: int | None = None`` becomes ``--max-parents``.

In the docstring of a verb or record, ``output, -o : FILE`` names further spellings and what stands for the value,
``row : N >= 1`` also the least value, and the section «Other Parameters» has the options that only ``--help-all``
shows. Source files of the library are read, not imported, so that help is fast.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_origin, get_type_hints

import typer

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.registry import entries
from tunbridge.cli.usage import UsageError, given_options, near_hint, option_names, refuse
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data.reading import Reading as Record

_ROOT = Path(__file__).parents[1]
MISSING = ("", "?", "NA", "NaN", "null")
"""What is missing by default, as in :func:`tunbridge.read_table`."""

_COMMON = {"encoding": "--encoding", "format": "--format", "delimiter": "--delimiter", "download": "--download"}

# Docstrings


class Described(NamedTuple):
    """What a docstring says of a parameter: other spellings, its type, its description, whether it is a rare one."""

    spellings: tuple[str, ...]
    type: str
    text: str
    is_rare: bool


def described(docstring: str) -> dict[str, Described]:
    r"""Return what a numpydoc docstring says of each parameter.

    Examples
    --------
    >>> described("A verb.\n\nParameters\n----------\noutput, -o : FILE\n    The file.")["output"]
    Described(spellings=('-o',), type='FILE', text='The file.', is_rare=False)
    """
    found: dict[str, Described] = {}
    for title, body in re.findall(r"^((?:Other )?Parameters)\n-+\n(.*?)(?=\n\S[^\n]*\n---|\Z)", docstring, re.M | re.S):
        for head, text in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n(?=[ \t]))*)", body + "\n", re.M):
            names, _, kind = head.partition(" : ")
            words = [word.strip() for word in names.split(",")]
            dashed = tuple(word for word in words if word.startswith("-"))
            for name in (word for word in words if not word.startswith("-")):
                found[name] = Described(dashed, kind, _prose(text), title.startswith("Other"))
    return found


def _prose(text: str) -> str:
    """Return text without markup, on one line."""
    text = re.sub(r"\{(search|score|classifier|table_format|network_format)\}", lambda role: _registered(role[1]), text)
    plain = re.sub(r":\w+:`~?(?:tunbridge\.)?([^`]*)`", r"\1", " ".join(text.split()))
    return re.sub(r'``"?([^`]*?)"?``', r"\1", plain).replace("\\|", "|")


def _registered(role: str) -> str:
    """Return the names that the registry has for a role; of file formats the ends of file names."""
    found = [entry for entry in entries(role).values() if entry.details.get("compared", True)]
    return ", ".join(entry.details.get("suffixes", [entry.name])[0] for entry in found)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    first = re.split(r"(?<=[a-z\d)][.])\s", text, maxsplit=1)[0]
    return first if first.endswith(".") else f"{first}."


# Parameters of the library


@dataclass(frozen=True)
class From:
    """Options that are parameters of the library.

    Parameters
    ----------
    room : str
        The folder in which the source is.
    source : str
        The function, class or method.
    common, rare : str
        The parameters, those in ``rare`` for ``--help-all``; ``n_buckets=buckets`` is called ``--buckets`` here, and
        ``lower_case=lower-case/keep-case`` has this spelling of false; ``class_prior=prior:uniform|CLASS=P`` says what
        stands for the value.
    panel : str
        The title of the options in the help.
    shows_defaults : bool
        Whether the help has the defaults of the library; not if an option that is not given means something else.
    """

    room: str
    source: str
    common: str = ""
    rare: str = ""
    panel: str | None = None
    shows_defaults: bool = True

    def options(self) -> Iterator[tuple[str, LibraryOption]]:
        """Yield the options and the parameters that they set."""
        signature, docs = _definition(self.room, self.source)
        for text, is_rare in ((self.common, False), (self.rare, True)):
            for word in text.split():
                name, _, spelling = word.partition("=")
                spelling, _, metavar = spelling.partition(":")
                doc = docs.get(name, _UNDESCRIBED)
                kind = Kind.of(doc.type, signature[name][0], metavar)
                opts = "--" + (spelling or name.replace("_", "-")).replace("/", "/--")
                default = signature[name][1] if self.shows_defaults or kind.is_flag else None
                yield name, LibraryOption(opts, kind, doc.text, default, self.panel, is_rare)


@dataclass(frozen=True)
class Kind:
    """What values a parameter of the library takes, by its documented type; ``form`` says what stands for the value."""

    words: tuple[str, ...]
    types: frozenset[str]
    form: str = ""

    @classmethod
    def of(cls, documented: str, annotated: str, form: str = "") -> Kind:
        """Return the kind that a type in a docstring, or else an annotation, stands for."""
        text = documented.partition(", default")[0].removesuffix(", optional") or annotated.replace("| None", "")
        text += " bool" if annotated == "bool" else ""
        plain = re.sub(r"[\"'][^\"']+[\"']", "", text)
        types = frozenset(re.findall(r"\(int, int\)|\b[A-Za-z]+\b", plain))
        return cls(tuple(re.findall(r"[\"']([^\"']+)[\"']", text)), types, form)

    def _has(self, *names: str) -> bool:
        return not self.types.isdisjoint(names)

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false, and anything else only by default."""
        return self._has("bool") and not self.is_mapping

    @property
    def is_mapping(self) -> bool:
        """Whether each of several names may have its own value."""
        return self._has("mapping", "dict", "Mapping")

    @property
    def is_repeated(self) -> bool:
        """Whether the option may be given several times."""
        return self.is_mapping or self._has("iterable", "Iterable", "sequence", "Sequence")

    @property
    def metavar(self) -> str:
        """What stands for the value in the help."""
        one = "|".join(self._forms("N" if self._has("int") else "X" if self._has("float", "number") else "")) or "TEXT"
        return self.form or (f"{one}|NAME={one}" if self.is_mapping and not self.words else one)

    def _forms(self, number: str) -> list[str]:
        """Return the forms that a value may have."""
        pair, none = "A-B" if self._has("(int, int)") else "", "none" if self._has("None") else ""
        return [form for form in (number, pair, *self.words, none) if form]

    def read(self, option: str, text: str) -> Any:
        """Return the value that a text stands for; raise with what it may be."""
        word = text.strip().lower()
        near = [known for known in self.words if known.lower() == word or known.lower().endswith(f" {word}")]
        if near or (self._has("None") and word == "none"):
            return near[0] if near else None
        if self._has("(int, int)") and (pair := re.fullmatch(r"\s*(\d+)\s*[-:,–]\s*(\d+)\s*", text)):
            return int(pair[1]), int(pair[2])
        if (number := self._number(text)) is not None:
            refuse((isinstance(number, int) and number < 0, f"{option} must be at least 0; got {number}."))
            return number
        if self._has("collection"):
            return _words_or_file(option, text)
        if self._has("states") and all(states := text.split("|")) and len(states) > 1:
            return states
        if self.words or self._has(*_NUMBERS) or self.is_mapping:
            raise UsageError(f"{option} must be {self._choices()}; got {text!r}.{near_hint(word, self.words)}")
        return text

    def _number(self, text: str) -> float | None:
        makers = [maker for name, maker in _NUMBERS.items() if name in self.types] or [float] * self.is_mapping
        for maker in makers:
            try:
                return maker(text) if text.isascii() else None
            except ValueError:
                continue
        return None

    def read_all(self, option: str, texts: list[str]) -> Any:
        """Return what a repeated option stands for: one value, one for each of several names, or a list of values."""
        if not self.is_mapping:
            return texts
        if len(texts) == 1 and "=" not in texts[0] and (self.words or not self.form):
            return self.read(option, texts[0])
        pairs: dict[str, Any] = {}
        for text in (pair for each in texts for pair in _pairs(each)):
            name, sign, value = text.rpartition("=")
            refuse(
                (not (sign and name), f"{option} must be {self._choices()}; got {', '.join(texts)!r}."),
                (name in pairs, f"{option} must name each variable once; got {name!r} twice."),
            )
            pairs[name] = self.read(option, value)
        return pairs

    def _choices(self) -> str:
        if self.is_mapping and not (self.words and not self.form):
            return self.form or "a number or NAME=NUMBER"
        if not self._has(*_NUMBERS):
            return f"one of {listed(self.words, most=len(self.words))}"
        *first, last = self._forms("a number" if self._has("float", "number") else "an integer")
        return f"{', '.join(first)} or {last}" if first else last


_NUMBERS: dict[str, Callable[[str], float]] = {"int": int, "float": float, "number": float, "probability": float}


def _pairs(text: str) -> list[str]:
    """Return the parts of ``A=x,B=y``; any other text is one part.

    Examples
    --------
    >>> _pairs("no=0.4,yes=0.6"), _pairs("Paris, France=0.5")
    (['no=0.4', 'yes=0.6'], ['Paris, France=0.5'])
    """
    parts = text.split(",")
    return parts if all(re.fullmatch("[^=]+=[^=]+", part) for part in parts) else [text]


def _words_or_file(option: str, text: str) -> list[str]:
    """Return the words that an option names, or those in the file that it names."""
    path = Path(text)
    if path.is_file():
        return path.read_text("utf-8", errors="replace").split()
    if path.suffix.lower() == ".txt":
        raise UsageError(f"{option} must be a number, words, or a file that exists; got {text!r}.")
    return [word for word in re.split(r"[,\s]+", text) if word]


class LibraryOption(NamedTuple):
    """An option that sets a parameter of the library."""

    spelling: str
    kind: Kind
    text: str
    default: Any
    panel: str | None
    is_rare: bool

    @property
    def option(self) -> str:
        """The name of the option in messages."""
        return self.spelling.partition("/")[0]

    @property
    def key(self) -> str:
        """The name of the option as a parameter of Typer."""
        return f"library_{self.option[2:].replace('-', '_')}"

    def parameter(self) -> inspect.Parameter:
        """Return the option as Typer takes it."""
        kind, default = self.kind, self.default
        hint: Any = bool if kind.is_flag else list[str] if kind.is_repeated else str
        both = kind.is_flag and "/" not in self.spelling and default is not False
        spelling = f"{self.spelling}/--no-{self.option[2:]}" if both else self.spelling
        metavar = "" if kind.is_flag else kind.metavar
        doc = Described((), metavar, _first_sentence(self.text), self.is_rare)
        shown = "" if kind.is_flag or default in (None, "", (), "auto", 0) else str(default)
        info = _option([spelling], doc, self.panel, shown=shown, repeatable=kind.is_repeated)
        return inspect.Parameter(
            self.key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint | None, info]
        )

    def read(self, value: Any) -> Any:
        """Return the value for the library."""
        if self.kind.is_flag:
            return value
        return self.kind.read_all(self.option, value) if self.kind.is_repeated else self.kind.read(self.option, value)


@cache
def _definition(room: str, source: str) -> tuple[dict[str, tuple[str, Any]], dict[str, Described]]:
    """Return the parameters of something in the source files of a folder: annotation and default, and descriptions."""
    owner, _, method = source.partition(".")
    start = re.compile(rf"^(?:class|def) {owner}\b", re.MULTILINE)
    for path in sorted((_ROOT / room).rglob("*.py")):
        text = path.read_text("utf-8")
        if start.search(text):
            node = _named(ast.parse(text), owner)
            inner = _named(node, method or "__init__")
            doc = ast.get_docstring(inner if method else node) or ""  # type: ignore[arg-type]
            return dict(_signature(inner or node)), described(doc)
    raise LookupError(f"{source} is not in {room}")


def _named(node: ast.AST | None, name: str) -> ast.AST | None:
    """Return the function or class of a name that is defined in a module, class or function."""
    return next((n for n in getattr(node, "body", ()) if getattr(n, "name", "") == name), None)


def _signature(node: Any) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield the annotation and the default of each parameter of a function, or of each field of a dataclass."""
    if isinstance(node, ast.ClassDef):
        pairs = [(n.target.id, n.annotation, n.value) for n in node.body if isinstance(n, ast.AnnAssign)]  # type: ignore[union-attr]
    else:
        a = node.args
        plain, free = [*a.posonlyargs, *a.args], len(a.posonlyargs) + len(a.args) - len(a.defaults)
        values = [None] * free + list(a.defaults) + list(a.kw_defaults)
        pairs = [(p.arg, p.annotation, v) for p, v in zip([*plain, *a.kwonlyargs], values, strict=True)]
    for name, annotation, value in pairs:
        try:
            default = None if value is None else ast.literal_eval(value)
        except ValueError:
            default = None
        yield name, (ast.unparse(annotation) if annotation is not None else "", default)


# Verbs


def spread(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb as Typer takes it: records and parameters of the library replaced by their options."""
    whole = _made_of(verb)
    names = _COMMON | whole.names | verb.registry_entry.details.get("names", {})  # type: ignore[attr-defined]

    def run(**values: Any) -> Any:
        option_names.set(names)
        given_options.set(dict(_given(whole, values)))
        return whole.build(values)

    parameters = whole.parameters
    if any(getattr(_info(p), "hidden", False) for p in parameters):
        parameters = [*parameters, _HELP_ALL]
    run.__name__, run.__doc__ = verb.__name__, _help(inspect.getdoc(verb) or "")
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


class Made(NamedTuple):
    """A parameter of a verb: the options that it becomes, and how its value is built of theirs.

    ``names`` are the options by the parameters of the library, for messages; ``owners`` say for each option which
    parameter or field it sets.
    """

    parameters: list[inspect.Parameter]
    build: Callable[[dict[str, Any]], Any]
    names: dict[str, str]
    owners: dict[str, str]


def _made_of(source: Callable[..., Any], panel: str | None = None) -> Made:
    """Return a verb, or a record in it, with the options of all its parameters; a field may be a record itself."""
    made = dict(_fields(source, panel))
    return Made(
        [parameter for each in made.values() for parameter in each.parameters],
        lambda values: source(**{name: each.build(values) for name, each in made.items()}),
        {key: spelling for each in made.values() for key, spelling in each.names.items()},
        {key: owner for each in made.values() for key, owner in each.owners.items()},
    )


def _fields(source: Callable[..., Any], panel: str | None) -> Iterator[tuple[str, Made]]:
    """Yield the parameters of a verb, or the fields of a record, as options."""
    hints, docs = get_type_hints(source, include_extras=True), _docs(source)
    for name, parameter in inspect.signature(source).parameters.items():
        hint, metadata = hints[name], getattr(hints[name], "__metadata__", ())
        spec = next((m for m in metadata if isinstance(m, From)), None)
        if spec is not None:
            yield name, _made_of_library(name, spec)
        elif is_dataclass(hint):
            yield name, _made_of(hint, (hint.__doc__ or "").partition("\n")[0].rstrip("."))  # type: ignore[arg-type]
        else:
            plain = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) if is_dataclass(source) else parameter
            doc = docs.get(name) or next((m for m in metadata if isinstance(m, Described)), _UNDESCRIBED)
            options = [_parameter(plain, hint, doc, panel)]
            yield name, Made(options, _value_of(name, hint), {name: _spellings(name, doc)[0]}, {name: name})


def _info(parameter: inspect.Parameter) -> typer.models.ParameterInfo:
    """Return what Typer knows of an option or argument."""
    found: typer.models.ParameterInfo = parameter.annotation.__metadata__[-1]
    return found


def _given(verb: Made, values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the options that were given, as they are spelled, and what each sets."""
    for parameter in verb.parameters:
        value, info = values[parameter.name], _info(parameter)
        if isinstance(info, typer.models.OptionInfo) and value not in (None, [], parameter.default):
            on, _, off = str(info.default).partition("/")  # where Typer keeps the first spelling
            yield off if value is False else on, verb.owners[parameter.name]


def _docs(source: Callable[..., Any]) -> dict[str, Described]:
    """Return what the docstring of a verb says of its parameters, or those of a record and its bases of the fields."""
    owners = reversed(source.__mro__) if isinstance(source, type) else [source]
    return {name: doc for owner in owners for name, doc in described(inspect.cleandoc(owner.__doc__ or "")).items()}


def _made_of_library(name: str, spec: From) -> Made:
    options = dict(spec.options())

    def build(values: dict[str, Any]) -> dict[str, Any]:
        given = {p: values[o.key] for p, o in options.items()}
        return {p: options[p].read(value) for p, value in given.items() if value not in (None, [])}

    names = {p: o.spelling for p, o in options.items()}
    owners = {o.key: name for o in options.values()}
    return Made([option.parameter() for option in options.values()], build, names, owners)


def _value_of(name: str, hint: Any) -> Callable[[dict[str, Any]], Any]:
    """Return how the value of a parameter is found: a list is empty where the option was not given."""
    if get_origin(hint) is list:
        return lambda values: list(values[name] or ())
    return lambda values: values[name]


def _parameter(parameter: inspect.Parameter, hint: Any, doc: Described, panel: str | None) -> inspect.Parameter:
    """Return an argument, or an option where the parameter has a name only, as Typer takes it."""
    default, is_list = None if parameter.default == () else parameter.default, get_origin(hint) is list
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        metavar = doc.type or parameter.name.upper()
        info: Any = typer.Argument(metavar=metavar, help=_escaped(doc.text), show_default=False)
    else:
        shown = "" if default in (None, False, inspect.Parameter.empty) else str(default)
        first, *others = _spellings(parameter.name, doc)
        first = f"{first}/--no-{first[2:]}" if hint == bool | None else first
        info = _option([first, *others], doc, panel, shown=shown, repeatable=is_list)
    optional = hint | None if default is None and is_list else hint
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[optional, info])


def _spellings(name: str, doc: Described) -> list[str]:
    """Return the spellings of an option, a long one first."""
    long = [word for word in doc.spellings if word.startswith("--")]
    return [*(long or [f"--{name.replace('_', '-')}"]), *(word for word in doc.spellings if word not in long)]


def _option(spellings: list[str], doc: Described, panel: str | None, *, shown: str, repeatable: bool) -> Any:
    """Return an option of Typer; its default and whether it is repeatable stand at the end of the help."""
    metavar, _, least = doc.type.partition(" >= ")
    notes = ", ".join(filter(None, [f"default: {shown}" if shown else "", "repeatable" if repeatable else ""]))
    text = doc.text.rstrip(".") + (f" ({notes})." if notes else ".")
    return typer.Option(
        *spellings, metavar=metavar or None, help=_escaped(text), show_default=False, hidden=doc.is_rare,
        rich_help_panel=panel, min=int(least) if least else None,
    )  # fmt: skip


def _escaped(text: str) -> str:
    """Return help in which no bracket is taken for markup."""
    return text.replace("[", r"\[") if sys.stdout.isatty() else text


def _help(text: str) -> str:
    """Return a docstring as help: each paragraph on one line, to be filled; the examples kept as they are."""
    prose, *_ = re.split(r"\n\n(?:Other )?Parameters\n-+\n|\n\nExamples\n-+\n", text)
    examples = text.partition("\n\nExamples\n--------\n")[2]
    paragraphs = [" ".join(p.split()) for p in prose.split("\n\n")]
    kept = "\n".join(f"  {line.strip()}" for line in examples.splitlines())
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{kept}"] if kept else paragraphs)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


_UNDESCRIBED = Described((), "", "", False)
_HELP_ALL = inspect.Parameter(
    "help_all", inspect.Parameter.KEYWORD_ONLY, default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", help="Show all options, rare ones too.", callback=_show_all, is_eager=True)
    ],
)  # fmt: skip


# What several verbs share

_TABLE = f"The table: {_registered('table_format')}, also with .gz."
_NETWORK = f"The network: {_registered('network_format')}, all but .tb also with .gz."
_OUTPUT = "A .csv, .tsv or .parquet file, the first two also with .gz (default: CSV to stdout)."
_FORMAT = (
    "The format of the network, if the end of its name does not say it: bif, xmlbif, net, dsc, xdsl, dsl, uai or tb."
)

DataFile = Annotated[Path, Described((), "DATA", _TABLE, False)]
ModelFile = Annotated[Path, Described((), "MODEL", "The model, as tunbridge learn wrote it.", False)]
NetworkFile = Annotated[Path, Described((), "NETWORK", _NETWORK, False)]
NetworkFormat = Annotated[str | None, Described((), "NAME", _FORMAT, True)]
TableOutput = Annotated[Path | None, Described(("-o",), "FILE", _OUTPUT, False)]
AsJson = Annotated[bool, Described(("--json",), "", "Write JSON.", False)]
Seed = Annotated[int | None, Described(("--seed",), "N >= 0", "The random seed (default: 0).", False)]


@dataclass(frozen=True)
class Reading:
    """Reading the file.

    Parameters
    ----------
    missing : MARK
        A further text that marks a missing value, besides an empty value, ?, NA, NaN and null.
    delimiter : CHAR
        The delimiter; detected if it is a comma, semicolon, tab or vertical bar.

    Other Parameters
    ----------------
    header
        Whether the file has a header; detected. Without one the columns are x0, x1, …
    day_first
        Whether the day comes before the month in dates such as 03/04/2025; detected.
    decimal : .|,
        The decimal mark of numbers such as 25.000, which may be fractions or thousands; detected.
    not_missing : MARK
        One of these five texts that is a value here, such as NA for Namibia.
    dates : numbers|parts
        Derive year, month, weekday and hour of dates (parts), or not (default: numbers).
    encoding : NAME
        The text encoding, such as latin-1; detected if it is UTF-8, UTF-16 or Windows-1252.
    format : NAME
        The format of the file, if the end of its name does not say it: csv, tsv, parquet, arrow, arff, jsonl, json,
        excel, sqlite or duckdb.
    """

    missing: list[str] = ()  # type: ignore[assignment]
    delimiter: str | None = None
    header: bool | None = None
    not_missing: list[str] = ()  # type: ignore[assignment]
    day_first: bool | None = None
    decimal: str | None = None
    dates: str | None = None
    encoding: str | None = None
    format: str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that mean a missing value."""
        return self.markers_beside(None)

    def markers_beside(self, known: Record | None) -> tuple[str, ...]:
        """Return the texts that mean a missing value, those included that did so in another table."""
        before = MISSING if known is None else known.missing
        return tuple(dict.fromkeys([*(mark for mark in before if mark not in self._values), *self.missing]))

    @property
    def _values(self) -> list[str]:
        """The default markers that are values."""
        for mark in self.not_missing:
            if mark not in MISSING:
                raise UsageError(f"--not-missing must be one of {listed(MISSING)}; got {mark!r}.")
        return self.not_missing

    @property
    def missing_marks(self) -> dict[str, Any]:
        """The arguments of ``read_table`` and ``iter_batches`` about missing markers."""
        return {"missing": self.missing or None, "not_missing": self._values}

    @property
    def how(self) -> dict[str, Any]:
        """The arguments of ``read_table`` and ``iter_batches``, without the missing markers."""
        delimiter = {r"\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter)
        found = {"format": self.format, "encoding": self.encoding, "delimiter": delimiter}
        return {**found, "header": self.header, "day_first": self.day_first, "decimal": self.decimal}

    @property
    def how_whole(self) -> dict[str, Any]:
        """The arguments of ``read_table``, without the missing markers."""
        return {**self.how, "dates": self.dates}

    @property
    def again(self) -> str:
        """The options about missing values, for the next command, if a model does not remember them."""
        given = [("--missing", mark) for mark in self.missing] + [("--not-missing", mark) for mark in self.not_missing]
        return "".join(f" {option} {quote(mark)}" for option, mark in given)


def options_of(known: Record) -> str:
    """Return the options by which a file is read as another one was, where they are not detected anyway.

    Examples
    --------
    >>> from tunbridge.data.reading import DEFAULT_MISSING, Reading as Record
    >>> options_of(Record(missing=(*DEFAULT_MISSING, "-99", "-99.0"), spellings={"sex": {"f": ("F",)}}))
    ' --missing=-99 --merge-categories'
    """
    further = [mark for mark in known.missing if mark not in MISSING]
    shorter = [mark.rstrip("0").rstrip(".,") if mark.endswith("0") else mark for mark in further]
    marks = [mark for mark, start in zip(further, shorter, strict=True) if start == mark or start not in further]
    found = [f" --missing={quote(mark)}" for mark in marks]
    found += [f" --not-missing={quote(mark)}" for mark in MISSING if mark not in known.missing]
    found += [" --merge-categories"] if known.spellings else []
    return "".join([*found, *([" --dates parts"] if known.date_parts else [])])


def check_column(option: str, name: str, path: Path, names: Collection[str]) -> None:
    """Raise unless an option names a column of a file."""
    if name not in names:
        hint = did_you_mean(name, names)
        if list(names) == [f"x{j}" for j in range(len(names))]:
            hint = f"{hint} No header was found in the file: --header reads its first line as names."
        if len(names) == 1 and any(mark in next(iter(names)) for mark in ",;\t|"):
            hint = f"{hint} The file was read as one column: leave out --delimiter, or give another one."
        raise DataError(f"{option} must name a column of {path.name}; got {name!r}. {hint}")
