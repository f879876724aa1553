"""Options that several verbs share, as records.

A verb takes a record such as :class:`Reading` as one argument; :func:`spread` puts the options that the record's fields
describe in its place when the verb is handed to Typer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.failures import UsageError
from tunbridge.errors import DataError

_FILE_PANEL = "How the file is read"
_MODEL_PANEL = "How the model is learned"

DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="The table: .csv, .tsv, .parquet, .arrow, .arff or .jsonl, also with .gz."),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="The model, as tunbridge learn wrote it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MARK",
            help="A further text that stands for a missing value, beside empty, ?, NA, NaN and null; repeatable.",
            rich_help_panel=_FILE_PANEL,
        ),
    ] = None
    not_missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MARK",
            help="One of these five that is a value here, such as NA for Namibia; repeatable.",
            rich_help_panel=_FILE_PANEL,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR",
            help="What stands between fields; found by itself if , ; or tab.",
            rich_help_panel=_FILE_PANEL,
        ),
    ] = None
    encoding: Annotated[
        str, typer.Option(metavar="NAME", help="The text encoding, such as latin-1.", rich_help_panel=_FILE_PANEL)
    ] = "utf-8"
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="csv, …, where the file's name does not say.", rich_help_panel=_FILE_PANEL),
    ] = None

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that stand for a missing value."""
        from tunbridge.data.readers import DEFAULT_MISSING

        kept = self.not_missing or []
        for mark in kept:
            if mark not in DEFAULT_MISSING:
                raise UsageError(f"--not-missing must be one of {listed(DEFAULT_MISSING)}; got {mark!r}.")
        return tuple(m for m in DEFAULT_MISSING if m not in kept) + tuple(self.missing or ())

    def how(self) -> dict[str, Any]:
        """Return the arguments for ``read_table`` and ``iter_batches``, but for the missing markers."""
        delimiter = {r"\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter)
        return {"format": self.format, "encoding": self.encoding, "delimiter": delimiter}

    def column_names(self, path: Path) -> list[str]:
        """Return the names of a file's columns."""
        from tunbridge.data.readers import iter_batches

        first = next(iter(iter_batches(path, missing=self.markers, batch_rows=1, **self.how())))
        return list(first.column_names)


class Numeric(StrEnum):
    """How numeric columns are modelled."""

    gaussian = "gaussian"
    kernel = "kernel"
    discretise = "discretise"


class Calibrate(StrEnum):
    """How posteriors are calibrated."""

    auto = "auto"
    isotonic = "isotonic"
    platt = "platt"
    temperature = "temperature"


@dataclass(frozen=True)
class Learning:
    """How a classifier is learned; but for the prior and calibration, these options have a meaning for networks too."""

    numeric: Annotated[
        Numeric | None,
        typer.Option(
            help="What numbers follow in each class, in naive Bayes: a normal density (unless said), a kernel density, "
            "or intervals.",
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None
    smoothing: Annotated[
        float | None,
        typer.Option(
            metavar="G",
            help="Laplace's γ, added to every count; 0 for none. Unless said 1 in naive Bayes, one row's worth in a "
            "network, and by hierarchy in other models.",
            min=0,
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="uniform|CLASS=P",
            help="The classes' probabilities before any evidence; repeat CLASS=P for each. Otherwise as in the data.",
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None
    calibrate: Annotated[
        Calibrate | None,
        typer.Option(
            help="Put the probabilities right by rows that are held out in turns; auto takes the best way.",
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="A column of numbers that are names of categories; repeatable.",
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A column to leave out; repeatable.", rich_help_panel=_MODEL_PANEL),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column that holds the rows' weights.", rich_help_panel=_MODEL_PANEL),
    ] = None

    @property
    def class_prior(self) -> str | dict[str, float] | None:
        """The prior, as the classifier takes it."""
        if not self.prior:
            return None
        if self.prior == ["uniform"]:
            return "uniform"
        return dict(named_number("--prior", "CLASS=P", p) for p in self.prior)


def named_number(option: str, form: str, text: str) -> tuple[str, float]:
    """Return the name and the number of an option's ``name=number``.

    Examples
    --------
    >>> named_number("--prior", "CLASS=P", "yes=0.3")
    ('yes', 0.3)
    """
    name, sign, number = text.rpartition("=")
    try:
        if sign and name:
            return name, float(number)
    except ValueError:
        pass
    raise UsageError(f"{option} must be {form} with a number; got {text!r}.")


def check_column(option: str, name: str, path: Path, names: list[str]) -> None:
    """Raise unless an option names a column of a file."""
    if name not in names:
        raise DataError(f"{option} must name a column of {path.name}; got {name!r}. {did_you_mean(name, names)}")


def spread(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return the verb with each argument that is a record of options replaced by these options."""
    hints = get_type_hints(verb, include_extras=True)
    records: dict[str, Any] = {n: hint for n, hint in hints.items() if n != "return" and is_dataclass(hint)}

    def run(**values: Any) -> Any:
        built = {
            name: record(**{f.name: values.pop(f.name) for f in fields(record)}) for name, record in records.items()
        }
        return verb(**values, **built)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb).parameters.values():
        hint = hints[parameter.name]
        parameters += _fields(hint) if parameter.name in records else [parameter.replace(annotation=hint)]
    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__name__, run.__doc__ = verb.__name__, _help(inspect.getdoc(verb) or "")
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in keyword_only}
    return run


def _help(text: str) -> str:
    """Return a docstring as help: each paragraph on one line, to be filled; the examples kept as they are."""
    prose, _, examples = text.partition("\n\nExamples\n--------\n")
    paragraphs = [" ".join(p.split()) for p in prose.split("\n\n")]
    kept = "\n".join(f"  {line.strip()}" for line in examples.splitlines())
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{kept}"] if kept else paragraphs)


def _fields(record: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(record)
    ]
